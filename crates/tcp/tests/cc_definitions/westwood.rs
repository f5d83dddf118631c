use super::{Definition, Told, compare, compare_over};
use proptest::prelude::*;

/// How bandwidth is estimated, in segments per second.
trait Estimate {
    fn ack(&mut self, told: &Told);
    fn bwe(&self) -> f64;
}

/// Reno's growth; a loss leaves BWE * RTTmin.
struct Westwood<E> {
    cwnd: f64,
    ssthresh: f64,
    min_rtt: f64,
    estimate: E,
}

impl<E: Estimate> Westwood<E> {
    fn new(cwnd: f64, estimate: E) -> Westwood<E> {
        Westwood { cwnd, ssthresh: f64::INFINITY, min_rtt: 0.0, estimate }
    }

    /// In whole bytes, so that both leave slow start at the same ACK.
    fn product(&self) -> f64 {
        (1000.0 * self.estimate.bwe() * self.min_rtt).floor() / 1000.0
    }
}

impl<E: Estimate> Definition for Westwood<E> {
    fn measure(&mut self, told: &Told) {
        self.min_rtt = told.min_rtt;
        self.estimate.ack(told);
    }

    fn ack(&mut self, told: &Told) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(told.acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(told.acked, 1.0) / self.cwnd;
        }
    }

    fn loss(&mut self, _: f64, _: f64) {
        self.ssthresh = f64::max(2.0, self.product());
        if self.cwnd > self.ssthresh {
            self.cwnd = self.ssthresh;
        }
    }

    fn timeout(&mut self, _: f64, _: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, self.product());
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

/// Tustin's filter with a constant a, over samples of a round trip each.
#[derive(Default)]
struct Plus {
    /// (beginning, segments) of the round trip under way.
    sample: Option<(f64, f64)>,
    previous_sample: f64,
    bwe: f64,
}

impl Estimate for Plus {
    fn ack(&mut self, told: &Told) {
        let Some((began, segments)) = self.sample else {
            self.sample = Some((told.now, 0.0));
            return;
        };
        let segments = segments + told.acked;
        self.sample = Some((began, segments));
        // A nanosecond of room, since times are whole nanoseconds there.
        if told.now - began >= told.rtt - 1e-9 {
            let b = segments / (told.now - began);
            self.bwe = 0.9 * self.bwe + 0.1 * (b + self.previous_sample) / 2.0;
            self.previous_sample = b;
            self.sample = Some((told.now, 0.0));
        }
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

/// Mascolo et al. 2001: b_k = acked_k / (t_k - t_(k-1)) for every ACK k,
/// BWE_k = a_k BWE_(k-1) + (1 - a_k) (b_k + b_(k-1)) / 2 with a_k = (2 tau - D_k) / (2 tau + D_k), D_k = t_k - t_(k-1);
/// without an ACK for tau / 2 a sample b = 0 is taken there. ACKs of one instant are one.
struct EachAck {
    tau: f64,
    last: Option<f64>,
    waiting: f64,
    b: f64,
    bwe: f64,
}

impl EachAck {
    fn filter(&mut self, b: f64, interval: f64) {
        let a = (2.0 * self.tau - interval) / (2.0 * self.tau + interval);
        self.bwe = a * self.bwe + (1.0 - a) * (b + self.b) / 2.0;
        self.b = b;
    }
}

impl Estimate for EachAck {
    fn ack(&mut self, told: &Told) {
        let Some(last) = self.last else {
            self.last = Some(told.now);
            return;
        };
        self.waiting += told.acked;
        let whole = told.now - last;
        if whole < 1e-9 {
            return;
        }
        let mut since = last;
        while told.now - since > self.tau / 2.0 + 1e-12 {
            self.filter(0.0, self.tau / 2.0);
            since += self.tau / 2.0;
        }
        self.filter(self.waiting / whole, told.now - since);
        self.last = Some(told.now);
        self.waiting = 0.0;
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

/// ns-3.26: an ACK's segments over the smoothed round-trip time, a = 0.9.
#[derive(Default)]
struct Ns3 {
    began: bool,
    at: f64,
    waiting: f64,
    b: f64,
    bwe: f64,
}

impl Estimate for Ns3 {
    fn ack(&mut self, told: &Told) {
        if !self.began {
            (self.began, self.at) = (true, told.now);
            return;
        }
        self.waiting += told.acked;
        if told.now - self.at < 1e-9 {
            return;
        }
        let b = self.waiting / told.srtt;
        self.bwe = 0.9 * self.bwe + 0.1 * (b + self.b) / 2.0;
        (self.b, self.waiting, self.at) = (b, 0.0, told.now);
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

#[test]
fn westwood_plus() {
    compare("kind = \"westwood\"", |cwnd| Box::new(Westwood::new(cwnd, Plus::default())));
}

/// With the time constant of the paper, and with one of which pauses are a multiple.
#[test]
fn westwood() {
    compare_over(
        prop::sample::select(vec![500_u64, 33]),
        |tau| format!("kind = \"westwood\"\nvariant = \"westwood\"\ntau = \"{tau} ms\""),
        |tau, cwnd| {
            let tau = *tau as f64 / 1000.0;
            Box::new(Westwood::new(cwnd, EachAck { tau, last: None, waiting: 0.0, b: 0.0, bwe: 0.0 }))
        },
    );
}

#[test]
fn westwood_of_ns3() {
    compare("kind = \"westwood\"\nvariant = \"ns3.26\"", |cwnd| {
        Box::new(Westwood::new(cwnd, Ns3::default()))
    });
}
