use super::{AckInfo, Definition, compare_over};

/// State of LEDBAT++.
#[derive(PartialEq)]
enum State {
    InitialSlowStart,
    Ledbat,
    /// At two segments.
    Frozen,
    RampingUp,
}

/// LEDBAT++ as in its draft; the whole history of delays is stored.
struct LedbatPlusPlus {
    target: f64,
    constant: f64,
    factor: f64,
    w: f64,
    ssthresh: f64,
    delays: Vec<f64>,
    minutes: Vec<(f64, f64)>,
    srtt: f64,
    state: State,
    /// Start of the last slowdown, end of its freeze, and time of the next slowdown.
    began: f64,
    thaw: f64,
    due: f64,
}

impl LedbatPlusPlus {
    fn resume(&mut self, now: f64) {
        self.state = State::Ledbat;
        self.due = now + self.factor * (now - self.began);
    }

    fn end_initial(&mut self, now: f64) {
        self.state = State::Ledbat;
        self.due = now + 2.0 * self.srtt;
    }

    fn after_loss(&mut self, now: f64) {
        match self.state {
            State::InitialSlowStart => self.end_initial(now),
            State::Frozen | State::RampingUp => self.resume(now),
            State::Ledbat => {}
        }
    }
}

/// Tolerance of time comparisons: the engine's times are whole nanoseconds.
const TOLERANCE: f64 = 3e-9;

impl Definition for LedbatPlusPlus {
    fn measure(&mut self, info: &AckInfo) {
        self.srtt = info.srtt;
        self.delays.push(info.rtt);
        match self.minutes.last_mut() {
            Some((began, min)) if info.now - *began < 60.0 => *min = f64::min(*min, info.rtt),
            _ => self.minutes.push((info.now, info.rtt)),
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        let current = self.delays.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min);
        let base = self.minutes.iter().rev().take(10).map(|minute| minute.1).fold(f64::INFINITY, f64::min);
        let delay = f64::max(current - base, 0.0);
        let gain = 1.0 / f64::min(16.0, (2.0 * self.target / base).ceil());
        if self.state == State::Frozen && info.now >= self.thaw - TOLERANCE {
            self.state = State::RampingUp;
        }
        match self.state {
            State::InitialSlowStart => {
                if delay > 0.75 * self.target {
                    self.ssthresh = f64::max(self.w, 2.0);
                } else {
                    self.w = f64::min(self.w + gain * info.acked, self.ssthresh);
                }
                if self.w >= self.ssthresh {
                    self.end_initial(info.now);
                }
            }
            State::Frozen => {}
            State::RampingUp => {
                self.w = f64::min(self.w + info.acked, self.ssthresh);
                if self.w >= self.ssthresh {
                    self.resume(info.now);
                }
            }
            // After a timeout.
            State::Ledbat if self.w < self.ssthresh => {
                self.w = f64::min(self.w + f64::min(info.acked, 1.0), self.ssthresh);
            }
            State::Ledbat if info.now >= self.due - TOLERANCE => {
                self.ssthresh = f64::max(self.w, 2.0);
                self.w = 2.0;
                self.state = State::Frozen;
                (self.began, self.thaw) = (info.now, info.now + 2.0 * self.srtt);
            }
            State::Ledbat => {
                let per_round_trip = if delay <= self.target {
                    gain
                } else {
                    f64::max(gain - self.constant * self.w * (delay / self.target - 1.0), -self.w / 2.0)
                };
                self.w = f64::max(self.w + per_round_trip * info.acked / self.w, 2.0);
                self.ssthresh = f64::min(self.ssthresh, self.w);
            }
        }
    }

    fn loss(&mut self, now: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.w = f64::min(self.w, self.ssthresh);
        self.after_loss(now);
    }

    fn timeout(&mut self, now: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
            self.after_loss(now);
        }
        self.w = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.w
    }
}

#[test]
fn ledbat_plus_plus() {
    compare_over(
        (20..200_u32, 0.1..3.0_f64, 0.5..20.0_f64),
        |(target_ms, constant, factor)| {
            format!(
                "kind = \"ledbat-plus-plus\"\ntarget = \"{target_ms} ms\"\nconstant = {constant:?}\ninterval = {factor:?}"
            )
        },
        |&(target_ms, constant, factor), cwnd| {
            Box::new(LedbatPlusPlus {
                target: f64::from(target_ms) / 1000.0,
                constant,
                factor,
                w: f64::min(cwnd, 2.0),
                ssthresh: f64::INFINITY,
                delays: Vec::new(),
                minutes: Vec::new(),
                srtt: 0.0,
                state: State::InitialSlowStart,
                began: 0.0,
                thaw: 0.0,
                due: 0.0,
            })
        },
    );
}
