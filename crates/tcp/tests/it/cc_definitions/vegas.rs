use super::{AckInfo, Definition, compare};

/// Vegas with alpha = 2, beta = 4, gamma = 1; expected and actual rates as in the paper.
struct Vegas {
    cwnd: f64,
    ssthresh: f64,
    samples: Vec<f64>,
    round: u64,
}

impl Definition for Vegas {
    fn measure(&mut self, info: &AckInfo) {
        self.samples.push(info.rtt);
    }

    fn ack(&mut self, info: &AckInfo) {
        if info.round != self.round {
            self.round = info.round;
            if let Some(rtt) = self.samples.drain(..).reduce(f64::min) {
                let expected = self.cwnd / info.min_rtt;
                let actual = self.cwnd / rtt;
                let diff = (expected - actual) * info.min_rtt;
                if self.cwnd < self.ssthresh {
                    if diff > 1.0 {
                        self.cwnd = f64::max(f64::min(self.cwnd, actual * info.min_rtt + 1.0), 1.0);
                        self.ssthresh = f64::max(self.cwnd, 2.0);
                    }
                } else if diff < 2.0 {
                    self.cwnd += 1.0;
                } else if diff > 4.0 {
                    self.cwnd = f64::max(self.cwnd - 1.0, 1.0);
                    self.ssthresh = f64::max(self.cwnd, 2.0);
                }
            }
        }
        if self.cwnd < self.ssthresh && info.round.is_multiple_of(2) {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.samples.clear();
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        self.samples.clear();
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
fn vegas() {
    compare("kind = \"vegas\"", |cwnd| {
        Box::new(Vegas { cwnd, ssthresh: f64::INFINITY, samples: Vec::new(), round: 0 })
    });
}
