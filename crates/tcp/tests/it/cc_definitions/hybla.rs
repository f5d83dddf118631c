use super::{AckInfo, Definition, compare};

/// Caini and Firrincieli's rules with RTT0 = 25 ms. An ACK counts as the segments that it acknowledges, limited to
/// `max`.
struct Hybla {
    max: f64,
    cwnd: f64,
    ssthresh: f64,
    rho: f64,
}

impl Definition for Hybla {
    fn measure(&mut self, info: &AckInfo) {
        self.rho = f64::max(info.min_rtt / 0.025, 1.0);
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            let increment = (2_f64.powf(self.rho) - 1.0) * f64::min(info.acked, 1.0);
            self.cwnd = f64::min(self.cwnd + increment, self.ssthresh);
        } else {
            self.cwnd += f64::min(info.acked, self.max) * self.rho.powi(2) / self.cwnd;
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn hybla() {
    compare("kind = \"hybla\"", |cwnd| {
        Box::new(Hybla { max: f64::INFINITY, cwnd, ssthresh: f64::INFINITY, rho: 1.0 })
    });
}

#[test]
fn hybla_by_acks() {
    compare("kind = \"hybla\"\ngrowth = \"per-ack\"", |cwnd| {
        Box::new(Hybla { max: 1.0, cwnd, ssthresh: f64::INFINITY, rho: 1.0 })
    });
}
