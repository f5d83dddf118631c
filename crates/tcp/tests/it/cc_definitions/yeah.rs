use super::{AckInfo, Definition, compare};

/// YeAH with Linux's constants.
struct Yeah {
    cwnd: f64,
    ssthresh: f64,
    samples: Vec<f64>,
    round: u64,
    q: f64,
    reno_count: f64,
    doing_reno: u32,
    fast_count: u32,
}

impl Yeah {
    fn round_trip(&mut self, rtt: f64, base: f64) {
        self.q = self.cwnd * (rtt - base) / rtt;
        let l = (rtt - base) / base;
        if self.q > 80.0 || l > 1.0 / 8.0 {
            if self.q > 80.0 && self.cwnd > self.reno_count {
                self.cwnd = f64::max(self.cwnd - f64::min(self.q, self.cwnd / 2.0), self.reno_count);
                self.ssthresh = self.cwnd;
            }
            self.reno_count =
                if self.reno_count <= 2.0 { f64::max(self.cwnd / 2.0, 2.0) } else { self.reno_count + 1.0 };
            self.doing_reno += 1;
        } else {
            self.fast_count += 1;
            if self.fast_count > 50 {
                self.reno_count = 2.0;
                self.fast_count = 0;
            }
            self.doing_reno = 0;
        }
    }

    fn kept(&mut self, flight: f64) -> f64 {
        let half = f64::max(flight / 2.0, 2.0);
        let reduction =
            if self.doing_reno < 16 { f64::min(f64::max(self.q, flight / 8.0), half) } else { half };
        self.fast_count = 0;
        self.reno_count = f64::max(self.reno_count / 2.0, 2.0);
        self.samples.clear();
        f64::max(flight - reduction, 2.0)
    }
}

impl Definition for Yeah {
    fn measure(&mut self, info: &AckInfo) {
        self.samples.push(info.rtt);
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
        } else if self.doing_reno > 0 {
            self.cwnd += f64::min(info.acked, 1.0) / self.cwnd;
        } else {
            self.cwnd += info.acked / f64::min(self.cwnd, 100.0);
        }
        if info.round != self.round {
            self.round = info.round;
            if let Some(rtt) = self.samples.drain(..).reduce(f64::min) {
                self.round_trip(rtt, info.min_rtt);
            }
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = self.kept(flight);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        let kept = self.kept(flight);
        if !again {
            self.ssthresh = kept;
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn yeah() {
    compare("kind = \"yeah\"", |cwnd| {
        Box::new(Yeah {
            cwnd,
            ssthresh: f64::INFINITY,
            samples: Vec::new(),
            round: 0,
            q: 0.0,
            reno_count: 2.0,
            doing_reno: 0,
            fast_count: 0,
        })
    });
}
