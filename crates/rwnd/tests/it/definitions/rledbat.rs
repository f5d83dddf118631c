use super::{BUFFER, Definition, Input, MSS, compare_over};

/// Phase of rLEDBAT.
#[derive(PartialEq)]
enum Phase {
    FirstSlowStart,
    Avoidance,
    /// A slowdown at the minimum of two segments.
    Frozen,
    SlowStart,
}

/// rLEDBAT by RFC 9840 §4 with the window of the LEDBAT++ draft; it keeps the whole history of delays.
struct Rledbat {
    target: f64,
    rlwnd: f64,
    ssthresh: f64,
    delays: Vec<f64>,
    minutes: Vec<(f64, f64)>,
    rtt: f64,
    phase: Phase,
    /// Start of the slowdown, end of its freeze, and time of the next slowdown.
    began: f64,
    thaw: f64,
    due: f64,
    /// Time until which no further decrease is allowed.
    no_decrease_until: f64,
    no_halving_until: f64,
    factor: f64,
}

const M: f64 = MSS as f64;
/// Tolerance of time comparisons, since the code under test counts whole nanoseconds.
const TOLERANCE: f64 = 3e-9;

impl Rledbat {
    fn start_avoidance(&mut self, due: f64) {
        self.phase = Phase::Avoidance;
        self.due = due;
    }

    fn halve(&mut self, now: f64) {
        if now < self.no_halving_until - TOLERANCE {
            return;
        }
        self.rlwnd = f64::max(self.rlwnd / 2.0, 2.0 * M);
        self.ssthresh = self.rlwnd;
        self.no_halving_until = now + self.rtt;
        self.no_decrease_until = now + self.rtt;
        match self.phase {
            Phase::FirstSlowStart => self.start_avoidance(now + 2.0 * self.rtt),
            Phase::Frozen | Phase::SlowStart => {
                self.start_avoidance(now + self.factor * (now - self.began));
            }
            Phase::Avoidance => {}
        }
    }

    fn grow_to_threshold(&mut self, bytes: f64) -> bool {
        self.rlwnd = f64::min(self.rlwnd + bytes, self.ssthresh);
        self.rlwnd >= self.ssthresh
    }
}

impl Definition for Rledbat {
    fn segment(&mut self, input: &Input) {
        if let Some(sample) = input.sample {
            self.delays.push(sample);
            match self.minutes.last_mut() {
                Some((began, min)) if input.now - *began < 60.0 => *min = f64::min(*min, sample),
                _ => self.minutes.push((input.now, sample)),
            }
        }
        self.rtt = input.rtt;
        if input.retransmission {
            self.halve(input.now);
            return;
        }
        let base = self.minutes.iter().rev().take(10).map(|minute| minute.1).fold(f64::INFINITY, f64::min);
        let current = self.delays.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min);
        let qd = f64::max(current - base, 0.0);
        let gain = 1.0 / f64::min(16.0, (2.0 * self.target / base).ceil());
        if self.phase == Phase::Frozen && input.now >= self.thaw - TOLERANCE {
            self.phase = Phase::SlowStart;
        }
        match self.phase {
            Phase::FirstSlowStart if qd > 0.75 * self.target => {
                self.ssthresh = self.rlwnd;
                self.start_avoidance(input.now + 2.0 * self.rtt);
            }
            Phase::FirstSlowStart => {
                self.rlwnd += gain * input.new;
            }
            Phase::Frozen => {}
            Phase::SlowStart => {
                if self.grow_to_threshold(input.new) {
                    self.start_avoidance(input.now + self.factor * (input.now - self.began));
                }
            }
            Phase::Avoidance if input.now >= self.due - TOLERANCE => {
                self.ssthresh = self.rlwnd;
                self.rlwnd = 2.0 * M;
                self.phase = Phase::Frozen;
                (self.began, self.thaw) = (input.now, input.now + 2.0 * self.rtt);
            }
            Phase::Avoidance if qd <= self.target => {
                self.rlwnd += gain * M * input.new / self.rlwnd;
            }
            Phase::Avoidance => {
                let change = f64::max(gain * M - self.rlwnd * (qd / self.target - 1.0), -self.rlwnd / 2.0);
                if change >= 0.0 {
                    self.rlwnd += change * input.new / self.rlwnd;
                } else if input.now >= self.no_decrease_until - TOLERANCE {
                    self.rlwnd = f64::max(self.rlwnd + change, 2.0 * M);
                    self.no_decrease_until = input.now + self.rtt;
                }
            }
        }
        self.rlwnd = f64::min(self.rlwnd, BUFFER as f64);
    }

    fn window(&mut self) -> Option<f64> {
        Some(self.rlwnd)
    }
}

#[test]
fn rledbat() {
    compare_over(
        (20..120_u32, 0.5..20.0_f64),
        |(target_ms, factor)| {
            format!("kind = \"rledbat\"\ntarget = \"{target_ms} ms\"\ninterval = {factor:?}")
        },
        |&(target_ms, factor)| {
            Box::new(Rledbat {
                target: f64::from(target_ms) / 1000.0,
                rlwnd: 2.0 * M,
                ssthresh: f64::INFINITY,
                delays: Vec::new(),
                minutes: Vec::new(),
                rtt: 0.0,
                phase: Phase::FirstSlowStart,
                began: 0.0,
                thaw: 0.0,
                due: 0.0,
                no_decrease_until: 0.0,
                no_halving_until: 0.0,
                factor,
            })
        },
    );
}
