use super::{AckInfo, Definition, compare_over};

/// Nice as the paper's operations per ACK and per round; every sample of the connection is stored.
struct Nice {
    t: f64,
    f: f64,
    alpha: f64,
    beta: f64,
    gamma: f64,
    min: f64,
    /// May be below one segment; the amount sent at once is at least one segment.
    w: f64,
    ssthresh: f64,
    all: Vec<f64>,
    round_samples: Vec<f64>,
    num_cong: f64,
    round: u64,
}

impl Nice {
    fn slow_start(&self) -> bool {
        self.w >= 1.0 && self.w < self.ssthresh
    }
}

impl Definition for Nice {
    fn measure(&mut self, info: &AckInfo) {
        self.all.push(info.rtt);
        self.round_samples.push(info.rtt);
        let max_rtt = self.all.iter().copied().fold(0.0, f64::max);
        if info.rtt > (1.0 - self.t) * info.min_rtt + self.t * max_rtt {
            self.num_cong += info.acked;
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        if info.round != self.round {
            self.round = info.round;
            if let Some(rtt) = self.round_samples.drain(..).reduce(f64::min) {
                let diff = (self.w / info.min_rtt - self.w / rtt) * info.min_rtt;
                if self.num_cong > self.f * self.w {
                    self.w = f64::max(self.w / 2.0, self.min);
                    self.ssthresh = f64::max(self.w, 2.0);
                } else if self.slow_start() {
                    if diff > self.gamma {
                        self.ssthresh = f64::max(self.w, 2.0);
                    }
                } else if diff < self.alpha {
                    self.w += 1.0;
                } else if diff > self.beta {
                    self.w = f64::max(self.w - 1.0, 1.0);
                    self.ssthresh = f64::max(f64::min(self.ssthresh, self.w), 2.0);
                }
                self.num_cong = 0.0;
            }
        }
        if self.slow_start() {
            self.w = f64::min(self.w + f64::min(info.acked, 1.0), self.ssthresh);
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.round_samples.clear();
        self.num_cong = 0.0;
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.w = f64::min(self.w, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        self.round_samples.clear();
        self.num_cong = 0.0;
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
        }
        self.w = f64::min(self.w, 1.0);
    }

    fn cwnd(&self) -> f64 {
        f64::max(self.w, 1.0)
    }
}

#[test]
fn nice() {
    // Fractions that no sample equals exactly.
    let settings =
        (0.0501..0.9_f64, 0.101..0.9_f64, 0.5..3.0_f64, 3.0..6.0_f64, 0.5..2.0_f64, 0.001..1.0_f64);
    compare_over(
        settings,
        |(t, f, alpha, beta, gamma, min)| {
            format!(
                "kind = \"nice\"\nthreshold = {t:?}\nfraction = {f:?}\nalpha = {alpha:?}\nbeta = {beta:?}\ngamma = {gamma:?}\nmin = {min:?}"
            )
        },
        |&(t, f, alpha, beta, gamma, min), w| {
            Box::new(Nice {
                t,
                f,
                alpha,
                beta,
                gamma,
                min,
                w,
                ssthresh: f64::INFINITY,
                all: Vec::new(),
                round_samples: Vec::new(),
                num_cong: 0.0,
                round: 0,
            })
        },
    );
}
