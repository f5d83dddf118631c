use super::{AckInfo, Definition, compare};

/// Copa as in its paper; each ACK searches the window of samples completely.
struct Copa {
    delta: f64,
    default_delta: f64,
    may_compete: bool,
    cwnd: f64,
    slow_start: bool,
    /// (time, RTT) of the samples that may still be a minimum or maximum.
    samples: Vec<(f64, f64)>,
    /// Samples of the long window, at least 10 ms apart except for smaller ones.
    long: Vec<(f64, f64)>,
    /// Samples for the maximum, at least 1 ms apart except for larger ones.
    high: Vec<(f64, f64)>,
    v: f64,
    cwnd_at_start: f64,
    up: bool,
    same_direction: u32,
    round: u64,
    nearly_empty_at: u64,
}

/// The engine's times are whole nanoseconds.
const TICK: f64 = 1e-10;

/// Drops samples that a better one supersedes, then adds the sample unless the last one is less than `slot` old.
fn keep(samples: &mut Vec<(f64, f64)>, now: f64, rtt: f64, slot: f64, better: fn(f64, f64) -> bool) {
    while samples.last().is_some_and(|last| better(rtt, last.1)) {
        samples.pop();
    }
    if samples.last().is_none_or(|last| now - last.0 > slot - TICK) {
        samples.push((now, rtt));
    }
}

/// Discards samples older than the window, except the last one.
fn recent(samples: &mut Vec<(f64, f64)>, now: f64, window: f64) -> impl Iterator<Item = f64> {
    let newest = samples[samples.len() - 1].0;
    samples.retain(|sample| sample.0 == newest || now - sample.0 < window + TICK);
    samples.iter().map(|sample| sample.1)
}

impl Definition for Copa {
    fn measure(&mut self, info: &AckInfo) {
        let now = info.now;
        self.samples.push((now, info.rtt));
        keep(&mut self.long, now, info.rtt, 0.01, |new, old| new <= old);
        keep(&mut self.high, now, info.rtt, 0.001, |new, old| new >= old);
        let rtt_min = recent(&mut self.long, now, 10.0).fold(f64::INFINITY, f64::min);
        // §2.1: tau = srtt / 2, in whole nanoseconds
        let tau = f64::round(info.srtt / 2.0 * 1e9) / 1e9;
        let rtt_standing = recent(&mut self.samples, now, tau).fold(f64::INFINITY, f64::min);
        let rtt_max = recent(&mut self.high, now, 4.0 * info.srtt).fold(0.0, f64::max);
        let dq = f64::max(rtt_standing - rtt_min, 0.0);
        // §2.2
        if dq < 0.1 * (rtt_max - rtt_min) + TICK {
            self.nearly_empty_at = info.round;
        }
        if info.round != self.round {
            self.round = info.round;
            let competing = self.may_compete && info.round >= self.nearly_empty_at + 5;
            self.delta = if competing { 1.0 / (1.0 / self.delta + 1.0) } else { self.default_delta };
            // §2.1, velocity
            // Increases and decreases may have cancelled out.
            if (self.cwnd > self.cwnd_at_start + 1e-6) == self.up {
                self.same_direction += 1;
                if self.same_direction >= 3 {
                    self.v *= 2.0;
                }
            } else {
                self.up = !self.up;
                self.same_direction = 0;
                self.v = 1.0;
            }
            self.cwnd_at_start = self.cwnd;
            // At most a doubling per RTT.
            self.v = f64::min(self.v, f64::max(self.delta * self.cwnd, 1.0));
        }
        let target_rate = if dq > 0.0 { 1.0 / (self.delta * dq) } else { f64::INFINITY };
        let rate = self.cwnd / rtt_standing;
        let step = info.acked * self.v / (self.delta * self.cwnd);
        if rate > target_rate {
            self.slow_start = false;
            if self.cwnd > 2.0 {
                self.cwnd = f64::max(2.0, self.cwnd - step);
            }
        } else if info.limited {
            self.cwnd += if self.slow_start { info.acked } else { f64::min(step, info.acked) };
        }
    }

    fn ack(&mut self, _: &AckInfo) {}

    fn loss(&mut self, _: f64, _: f64) {
        self.delta = f64::min(2.0 * self.delta, self.default_delta);
    }

    fn timeout(&mut self, _: f64, _: f64, _: bool) {
        self.cwnd = 1.0;
        self.cwnd_at_start = 1.0;
        self.slow_start = true;
        self.v = 1.0;
        self.up = true;
        self.same_direction = 0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

fn definition(default_delta: f64, may_compete: bool) -> impl Fn(f64) -> Box<dyn Definition> {
    move |cwnd| {
        Box::new(Copa {
            delta: default_delta,
            default_delta,
            may_compete,
            cwnd,
            slow_start: true,
            samples: Vec::new(),
            long: Vec::new(),
            high: Vec::new(),
            v: 1.0,
            cwnd_at_start: cwnd,
            up: true,
            same_direction: 0,
            round: 0,
            nearly_empty_at: 0,
        })
    }
}

#[test]
fn copa() {
    compare("kind = \"copa\"", definition(0.5, true));
}

#[test]
fn copa_with_other_settings() {
    compare("kind = \"copa\"\ndelta = 0.04\ncompete = false", definition(0.04, false));
    compare("kind = \"copa\"\ndelta = 0.1", definition(0.1, true));
}
