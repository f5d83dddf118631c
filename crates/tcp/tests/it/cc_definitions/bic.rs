use super::{AckInfo, Definition, compare};

/// BIC as acknowledged segments per segment of growth, as in Linux, without rounding.
struct Bic {
    cwnd: f64,
    ssthresh: f64,
    /// Zero before the first loss.
    w_max: f64,
}

const BETA: f64 = 0.8;
const S_MAX: f64 = 16.0;
const B: f64 = 4.0;
const SMOOTH: f64 = 5.0;

impl Bic {
    fn cnt(&self) -> f64 {
        let w = self.cwnd;
        if w < 14.0 {
            return w;
        }
        let cnt = if w < self.w_max {
            let dist = (self.w_max - w) / B;
            if dist > S_MAX {
                w / S_MAX
            } else if dist <= 1.0 {
                w * SMOOTH / B
            } else {
                w / dist
            }
        } else if w < self.w_max + B {
            w * SMOOTH / B
        } else if w < self.w_max + S_MAX * (B - 1.0) {
            w * (B - 1.0) / (w - self.w_max)
        } else {
            w / S_MAX
        };
        f64::max(if self.w_max == 0.0 { f64::min(cnt, 20.0) } else { cnt }, 1.0)
    }

    fn kept(&self, flight: f64) -> f64 {
        if self.cwnd < 14.0 { flight / 2.0 } else { flight * BETA }
    }
}

impl Definition for Bic {
    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        self.cwnd += info.acked / self.cnt();
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.w_max = if self.cwnd < self.w_max { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        self.ssthresh = f64::max(2.0, self.kept(flight));
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, self.kept(flight));
        }
        self.w_max = 0.0;
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn bic() {
    compare("kind = \"bic\"", |cwnd| Box::new(Bic { cwnd, ssthresh: f64::INFINITY, w_max: 0.0 }));
}
