use super::{AckInfo, Definition, compare_over};

/// FAST TCP: the paper's window equation; a step in progress is (from, to, acknowledged segments).
struct Fast {
    alpha: f64,
    gamma: f64,
    period: u64,
    w: f64,
    ssthresh: f64,
    rtt: Option<f64>,
    round: u64,
    /// RTTs since the last step.
    since: u64,
    step: Option<(f64, f64, f64)>,
}

impl Definition for Fast {
    fn measure(&mut self, info: &AckInfo) {
        let eta = f64::min(3.0 / self.w, 0.25);
        self.rtt = Some(self.rtt.map_or(info.rtt, |rtt| (1.0 - eta) * rtt + eta * info.rtt));
    }

    fn ack(&mut self, info: &AckInfo) {
        if info.round != self.round {
            self.round = info.round;
            self.step = None;
            let rtt = f64::max(self.rtt.unwrap(), info.min_rtt);
            if self.w < self.ssthresh {
                if self.w - self.w * info.min_rtt / rtt > self.alpha {
                    self.ssthresh = f64::max(self.w, 2.0);
                }
            } else {
                self.since += 1;
                if self.since >= self.period {
                    let equation =
                        (1.0 - self.gamma) * self.w + self.gamma * (info.min_rtt / rtt * self.w + self.alpha);
                    self.step = Some((self.w, f64::min(2.0 * self.w, equation), 0.0));
                    self.since = 0;
                }
            }
        }
        if self.w < self.ssthresh {
            self.step = None;
            self.w = f64::min(self.w + f64::min(info.acked, 1.0), self.ssthresh);
        } else if let Some((from, to, acked)) = &mut self.step {
            *acked += info.acked;
            self.w = f64::max(*from + (*to - *from) * f64::min(*acked / *from, 1.0), 1.0);
            self.ssthresh = f64::max(f64::min(self.ssthresh, self.w), 2.0);
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.w = f64::min(self.w, self.ssthresh);
        (self.step, self.since) = (None, self.period);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
        }
        self.w = 1.0;
        (self.step, self.since) = (None, self.period);
    }

    fn cwnd(&self) -> f64 {
        self.w
    }
}

#[test]
fn fast() {
    compare_over(
        (0.5..60.0_f64, 0.05..1.0_f64, 1..5_u64),
        |(alpha, gamma, period)| {
            format!("kind = \"fast\"\nalpha = {alpha:?}\ngamma = {gamma:?}\nperiod = {period}")
        },
        |&(alpha, gamma, period), w| {
            Box::new(Fast {
                alpha,
                gamma,
                period,
                w,
                ssthresh: f64::INFINITY,
                rtt: None,
                round: 0,
                since: period,
                step: None,
            })
        },
    );
}
