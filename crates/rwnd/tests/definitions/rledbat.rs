use super::{BUFFER, Definition, MSS, Told, compare_over};

/// What rLEDBAT is about.
#[derive(PartialEq)]
enum Doing {
    FirstSlowStart,
    Avoidance,
    /// A slowdown at two segments.
    Frozen,
    SlowStart,
}

/// rLEDBAT by RFC 9840 §4 with the window of the LEDBAT++ draft; the whole history of delays is kept.
struct Rledbat {
    target: f64,
    rlwnd: f64,
    ssthresh: f64,
    delays: Vec<f64>,
    minutes: Vec<(f64, f64)>,
    rtt: f64,
    doing: Doing,
    /// When the slowdown began, when its freeze ends, when the next is due.
    began: f64,
    thaw: f64,
    due: f64,
    /// Until when no decrease follows another.
    no_decrease_until: f64,
    no_halving_until: f64,
    factor: f64,
}

const M: f64 = MSS as f64;
/// Of room where times are compared, since they are whole nanoseconds there.
const ROOM: f64 = 3e-9;

impl Rledbat {
    fn start_avoidance(&mut self, due: f64) {
        self.doing = Doing::Avoidance;
        self.due = due;
    }

    fn halve(&mut self, now: f64) {
        if now < self.no_halving_until - ROOM {
            return;
        }
        self.rlwnd = f64::max(self.rlwnd / 2.0, 2.0 * M);
        self.ssthresh = self.rlwnd;
        self.no_halving_until = now + self.rtt;
        self.no_decrease_until = now + self.rtt;
        match self.doing {
            Doing::FirstSlowStart => self.start_avoidance(now + 2.0 * self.rtt),
            Doing::Frozen | Doing::SlowStart => {
                self.start_avoidance(now + self.factor * (now - self.began));
            }
            Doing::Avoidance => {}
        }
    }

    fn grow_to_threshold(&mut self, bytes: f64) -> bool {
        self.rlwnd = f64::min(self.rlwnd + bytes, self.ssthresh);
        self.rlwnd >= self.ssthresh
    }
}

impl Definition for Rledbat {
    fn segment(&mut self, told: &Told) {
        if let Some(sample) = told.sample {
            self.delays.push(sample);
            match self.minutes.last_mut() {
                Some((began, least)) if told.now - *began < 60.0 => *least = f64::min(*least, sample),
                _ => self.minutes.push((told.now, sample)),
            }
        }
        self.rtt = told.rtt;
        if told.retransmission {
            self.halve(told.now);
            return;
        }
        let base = self.minutes.iter().rev().take(10).map(|minute| minute.1).fold(f64::INFINITY, f64::min);
        let current = self.delays.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min);
        let qd = f64::max(current - base, 0.0);
        let gain = 1.0 / f64::min(16.0, (2.0 * self.target / base).ceil());
        if self.doing == Doing::Frozen && told.now >= self.thaw - ROOM {
            self.doing = Doing::SlowStart;
        }
        match self.doing {
            Doing::FirstSlowStart if qd > 0.75 * self.target => {
                self.ssthresh = self.rlwnd;
                self.start_avoidance(told.now + 2.0 * self.rtt);
            }
            Doing::FirstSlowStart => {
                self.rlwnd += gain * told.new;
            }
            Doing::Frozen => {}
            Doing::SlowStart => {
                if self.grow_to_threshold(told.new) {
                    self.start_avoidance(told.now + self.factor * (told.now - self.began));
                }
            }
            Doing::Avoidance if told.now >= self.due - ROOM => {
                self.ssthresh = self.rlwnd;
                self.rlwnd = 2.0 * M;
                self.doing = Doing::Frozen;
                (self.began, self.thaw) = (told.now, told.now + 2.0 * self.rtt);
            }
            Doing::Avoidance if qd <= self.target => {
                self.rlwnd += gain * M * told.new / self.rlwnd;
            }
            Doing::Avoidance => {
                let change = f64::max(gain * M - self.rlwnd * (qd / self.target - 1.0), -self.rlwnd / 2.0);
                if change >= 0.0 {
                    self.rlwnd += change * told.new / self.rlwnd;
                } else if told.now >= self.no_decrease_until - ROOM {
                    self.rlwnd = f64::max(self.rlwnd + change, 2.0 * M);
                    self.no_decrease_until = told.now + self.rtt;
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
                doing: Doing::FirstSlowStart,
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
