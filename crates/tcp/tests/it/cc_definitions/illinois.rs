use super::{AckInfo, Definition, compare};

/// Illinois with the paper's constants and kappas.
struct Illinois {
    cwnd: f64,
    ssthresh: f64,
    samples: Vec<f64>,
    longest: f64,
    round: u64,
    alpha: f64,
    beta: f64,
    above: bool,
    below_in_a_row: u32,
}

impl Illinois {
    fn adapt(&mut self, base: f64) {
        let samples = std::mem::take(&mut self.samples);
        if self.cwnd < 15.0 {
            self.alpha = 1.0;
            self.beta = 0.5;
            return;
        }
        if samples.is_empty() {
            return;
        }
        let da = f64::max(samples.iter().sum::<f64>() / samples.len() as f64 - base, 0.0);
        let dm = self.longest - base;
        let (d1, d2, d3) = (0.01 * dm, 0.1 * dm, 0.8 * dm);
        if da <= d1 {
            self.below_in_a_row += 1;
            if !self.above || self.below_in_a_row >= 5 {
                self.alpha = 10.0;
                self.above = false;
                self.below_in_a_row = 0;
            }
        } else {
            let k1 = (dm - d1) * 0.3 * 10.0 / (10.0 - 0.3);
            let k2 = (dm - d1) * 0.3 / (10.0 - 0.3) - d1;
            self.alpha = k1 / (k2 + da);
            self.above = true;
            self.below_in_a_row = 0;
        }
        let k3 = (0.125 * d3 - 0.5 * d2) / (d3 - d2);
        let k4 = (0.5 - 0.125) / (d3 - d2);
        self.beta = if da <= d2 {
            0.125
        } else if da >= d3 {
            0.5
        } else {
            k3 + k4 * da
        };
    }
}

impl Definition for Illinois {
    fn measure(&mut self, info: &AckInfo) {
        self.samples.push(info.rtt);
        self.longest = f64::max(self.longest, info.rtt);
    }

    fn ack(&mut self, info: &AckInfo) {
        if info.round != self.round {
            self.round = info.round;
            self.adapt(info.min_rtt);
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        self.cwnd += info.acked * self.alpha / self.cwnd;
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, (1.0 - self.beta) * flight);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, (1.0 - self.beta) * flight);
        }
        self.cwnd = 1.0;
        self.alpha = 1.0;
        self.beta = 0.5;
        self.above = false;
        self.below_in_a_row = 0;
        self.samples.clear();
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn illinois() {
    compare("kind = \"illinois\"", |cwnd| {
        Box::new(Illinois {
            cwnd,
            ssthresh: f64::INFINITY,
            samples: Vec::new(),
            longest: 0.0,
            round: 0,
            alpha: 1.0,
            beta: 0.5,
            above: false,
            below_in_a_row: 0,
        })
    });
}
