//! RFC 9406 §4.2 with the constants of §4.3.

use super::AckInfo;

const MIN_RTT_THRESH: f64 = 0.004;
const MAX_RTT_THRESH: f64 = 0.016;
const MIN_RTT_DIVISOR: f64 = 8.0;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// The first slow start of a connection.
pub struct HystartPlusPlus {
    in_css: bool,
    css_rounds: u32,
    css_baseline_min_rtt: f64,
    round: Option<u64>,
    last_round_min_rtt: f64,
    current_round_min_rtt: f64,
    rtt_sample_count: u32,
}

impl HystartPlusPlus {
    pub fn new() -> HystartPlusPlus {
        HystartPlusPlus {
            in_css: false,
            css_rounds: 0,
            css_baseline_min_rtt: f64::INFINITY,
            round: None,
            last_round_min_rtt: f64::INFINITY,
            current_round_min_rtt: f64::INFINITY,
            rtt_sample_count: 0,
        }
    }

    /// Returns the divisor of growth; `None`: congestion avoidance begins.
    pub fn divisor(&mut self, info: &AckInfo) -> Option<f64> {
        if self.round != Some(info.round) {
            self.round = Some(info.round);
            self.last_round_min_rtt = self.current_round_min_rtt;
            self.current_round_min_rtt = f64::INFINITY;
            self.rtt_sample_count = 0;
            if self.in_css {
                self.css_rounds += 1;
                if self.css_rounds > CSS_ROUNDS {
                    return None;
                }
            }
        }
        self.current_round_min_rtt = f64::min(self.current_round_min_rtt, info.rtt);
        self.rtt_sample_count += 1;
        self.judge();
        Some(if self.in_css { CSS_GROWTH_DIVISOR } else { 1.0 })
    }

    fn judge(&mut self) {
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        if self.in_css {
            if self.current_round_min_rtt < self.css_baseline_min_rtt {
                self.css_baseline_min_rtt = f64::INFINITY;
                self.in_css = false;
            }
        } else if self.last_round_min_rtt != f64::INFINITY {
            let part = f64::min(self.last_round_min_rtt / MIN_RTT_DIVISOR, MAX_RTT_THRESH);
            let rtt_thresh = f64::max(MIN_RTT_THRESH, part);
            // Half a nanosecond of tolerance for the sum of two rounded numbers.
            if self.current_round_min_rtt >= self.last_round_min_rtt + rtt_thresh - 5e-10 {
                self.css_baseline_min_rtt = self.current_round_min_rtt;
                self.in_css = true;
                self.css_rounds = 1;
            }
        }
    }
}
