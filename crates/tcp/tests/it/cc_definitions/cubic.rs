use super::hystart_plus_plus::HystartPlusPlus;
use super::{AckInfo, Definition, compare};

/// RFC 9438 with its constants.
pub struct Cubic {
    pub cwnd: f64,
    pub ssthresh: f64,
    w_max: f64,
    cwnd_prior: f64,
    /// No loss since the start or a timeout.
    lossless: bool,
    in_avoidance: bool,
    t_epoch: f64,
    k: f64,
    w_est: f64,
    previous: f64,
    /// Until the first congestion event.
    hystart_plus_plus: Option<HystartPlusPlus>,
}

const C: f64 = 0.4;
const BETA: f64 = 0.7;

impl Cubic {
    pub fn new(cwnd: f64) -> Cubic {
        Cubic {
            cwnd,
            ssthresh: f64::INFINITY,
            w_max: 0.0,
            cwnd_prior: 0.0,
            lossless: true,
            in_avoidance: false,
            t_epoch: 0.0,
            k: 0.0,
            w_est: 0.0,
            previous: 0.0,
            hystart_plus_plus: None,
        }
    }
}

impl Definition for Cubic {
    fn ack(&mut self, info: &AckInfo) {
        let pause = info.now - self.previous;
        self.previous = info.now;
        // §5.8
        if !info.limited {
            if self.in_avoidance {
                self.t_epoch += pause;
            }
            return;
        }
        if self.cwnd < self.ssthresh {
            let divisor = self.hystart_plus_plus.as_mut().map_or(Some(1.0), |watch| watch.divisor(info));
            match divisor {
                Some(divisor) => {
                    self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 8.0) / divisor, self.ssthresh);
                }
                None => {
                    self.ssthresh = self.cwnd;
                    self.hystart_plus_plus = None;
                }
            }
            return;
        }
        if !self.in_avoidance {
            self.in_avoidance = true;
            self.t_epoch = info.now;
            self.w_est = self.cwnd;
            // §4.8, §4.10
            if self.lossless {
                self.w_max = self.cwnd;
                self.cwnd_prior = self.cwnd;
            }
            // §4.2 eq. 2
            self.k = f64::powf(f64::max(self.w_max - self.cwnd, 0.0) / C, 1.0 / 3.0);
            self.w_max = f64::max(self.w_max, self.cwnd);
        }
        let w_cubic = |t: f64| C * f64::powi(t - self.k, 3) + self.w_max;
        let t = info.now - self.t_epoch;
        // §4.2
        let mut target = w_cubic(t + info.srtt);
        if target < self.cwnd {
            target = self.cwnd;
        } else if target > 1.5 * self.cwnd {
            target = 1.5 * self.cwnd;
        }
        // §4.3
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.w_est += alpha * info.acked / self.cwnd;
        if w_cubic(t) < self.w_est {
            self.cwnd = f64::max(self.cwnd, self.w_est);
        } else {
            // §4.4, §4.5
            self.cwnd += info.acked * (target - self.cwnd) / self.cwnd;
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        // §4.7
        self.w_max =
            if !self.lossless && self.cwnd < self.w_max { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        // §4.6
        self.cwnd_prior = self.cwnd;
        self.ssthresh = f64::max(flight * BETA, 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
        self.lossless = false;
        self.hystart_plus_plus = None;
        self.in_avoidance = false;
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(flight * BETA, 2.0);
        }
        self.cwnd = 1.0;
        self.lossless = true;
        self.hystart_plus_plus = None;
        self.in_avoidance = false;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

fn definition(cwnd: f64, hystart_plus_plus: Option<HystartPlusPlus>) -> Box<dyn Definition> {
    Box::new(Cubic { hystart_plus_plus, ..Cubic::new(cwnd) })
}

#[test]
fn cubic() {
    compare("kind = \"cubic\"\nvariant = \"rfc9438\"\nslow_start = \"standard\"", |cwnd| {
        definition(cwnd, None)
    });
}

#[test]
fn cubic_with_hystart_plus_plus() {
    let cc = "kind = \"cubic\"\nvariant = \"rfc9438\"\nslow_start = \"hystart-plus-plus\"";
    compare(cc, |cwnd| definition(cwnd, Some(HystartPlusPlus::new())));
}
