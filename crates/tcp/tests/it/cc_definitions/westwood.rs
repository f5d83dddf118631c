use super::{AckInfo, Definition, compare, compare_over};
use proptest::prelude::*;

/// A bandwidth estimator, in segments per second.
trait Estimate {
    fn ack(&mut self, info: &AckInfo);
    fn bwe(&self) -> f64;
}

/// Reno's growth; a loss sets the window to BWE * RTTmin.
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

    /// Rounded to whole bytes, so that both leave slow start at the same ACK.
    fn product(&self) -> f64 {
        (1000.0 * self.estimate.bwe() * self.min_rtt).floor() / 1000.0
    }
}

impl<E: Estimate> Definition for Westwood<E> {
    fn measure(&mut self, info: &AckInfo) {
        self.min_rtt = info.min_rtt;
        self.estimate.ack(info);
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(info.acked, 1.0) / self.cwnd;
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

/// Tustin's filter with a constant a, over one sample per RTT.
#[derive(Default)]
struct Plus {
    /// (start, segments) of the current RTT.
    sample: Option<(f64, f64)>,
    previous_sample: f64,
    bwe: f64,
}

impl Estimate for Plus {
    fn ack(&mut self, info: &AckInfo) {
        let Some((began, segments)) = self.sample else {
            self.sample = Some((info.now, 0.0));
            return;
        };
        let segments = segments + info.acked;
        self.sample = Some((began, segments));
        // A nanosecond of tolerance: the engine's times are whole nanoseconds.
        if info.now - began >= info.rtt - 1e-9 {
            let b = segments / (info.now - began);
            self.bwe = 0.9 * self.bwe + 0.1 * (b + self.previous_sample) / 2.0;
            self.previous_sample = b;
            self.sample = Some((info.now, 0.0));
        }
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

/// Mascolo et al. 2001: b_k = acked_k / (t_k - t_(k-1)) for every ACK k, BWE_k = a_k BWE_(k-1) + (1 - a_k) (b_k +
/// b_(k-1)) / 2 with a_k = (2 tau - D_k) / (2 tau + D_k), D_k = t_k - t_(k-1). After tau / 2 without an ACK a sample b
/// = 0 is taken. ACKs of the same instant count as one.
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
    fn ack(&mut self, info: &AckInfo) {
        let Some(last) = self.last else {
            self.last = Some(info.now);
            return;
        };
        self.waiting += info.acked;
        let whole = info.now - last;
        if whole < 1e-9 {
            return;
        }
        let mut since = last;
        while info.now - since > self.tau / 2.0 + 1e-12 {
            self.filter(0.0, self.tau / 2.0);
            since += self.tau / 2.0;
        }
        self.filter(self.waiting / whole, info.now - since);
        self.last = Some(info.now);
        self.waiting = 0.0;
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

/// ns-3.26: an ACK's segments over the smoothed RTT, a = 0.9.
#[derive(Default)]
struct Ns3 {
    began: bool,
    at: f64,
    waiting: f64,
    b: f64,
    bwe: f64,
}

impl Estimate for Ns3 {
    fn ack(&mut self, info: &AckInfo) {
        if !self.began {
            (self.began, self.at) = (true, info.now);
            return;
        }
        self.waiting += info.acked;
        if info.now - self.at < 1e-9 {
            return;
        }
        let b = self.waiting / info.srtt;
        self.bwe = 0.9 * self.bwe + 0.1 * (b + self.b) / 2.0;
        (self.b, self.waiting, self.at) = (b, 0.0, info.now);
    }

    fn bwe(&self) -> f64 {
        self.bwe
    }
}

#[test]
fn westwood_plus() {
    compare("kind = \"westwood\"", |cwnd| Box::new(Westwood::new(cwnd, Plus::default())));
}

/// With the paper's time constant, and with one that divides the pauses.
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
