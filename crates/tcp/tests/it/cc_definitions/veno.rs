use super::{AckInfo, Definition, compare};

/// Veno with beta = 3.
struct Veno {
    cwnd: f64,
    ssthresh: f64,
    base_rtt: f64,
    rtt: f64,
    skipped: bool,
}

impl Veno {
    fn n(&self) -> f64 {
        let expected = self.cwnd / self.base_rtt;
        let actual = self.cwnd / self.rtt;
        (expected - actual) * self.base_rtt
    }

    fn kept(&self, flight: f64) -> f64 {
        if self.rtt > 0.0 && self.n() >= 3.0 { flight / 2.0 } else { flight * 4.0 / 5.0 }
    }
}

impl Definition for Veno {
    fn measure(&mut self, info: &AckInfo) {
        self.base_rtt = info.min_rtt;
        self.rtt = info.srtt;
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        if self.n() < 3.0 || self.skipped {
            if self.n() >= 3.0 {
                self.skipped = false;
            }
            self.cwnd += f64::min(info.acked, 1.0) / self.cwnd;
        } else {
            self.skipped = true;
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, self.kept(flight));
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, self.kept(flight));
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn veno() {
    compare("kind = \"veno\"", |cwnd| {
        Box::new(Veno { cwnd, ssthresh: f64::INFINITY, base_rtt: 0.0, rtt: 0.0, skipped: false })
    });
}
