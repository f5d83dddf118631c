use super::{Definition, Told, compare_over};

/// What LEDBAT++ is about.
#[derive(PartialEq)]
enum Doing {
    InitialSlowStart,
    Ledbat,
    /// Two segments.
    Frozen,
    RampingUp,
}

/// LEDBAT++ by its draft; the whole history of delays is kept.
struct LedbatPlusPlus {
    target: f64,
    constant: f64,
    factor: f64,
    w: f64,
    ssthresh: f64,
    delays: Vec<f64>,
    minutes: Vec<(f64, f64)>,
    srtt: f64,
    doing: Doing,
    /// When the last slowdown began, when its freeze ends, and when the next is due.
    began: f64,
    thaw: f64,
    due: f64,
}

impl LedbatPlusPlus {
    fn resume(&mut self, now: f64) {
        self.doing = Doing::Ledbat;
        self.due = now + self.factor * (now - self.began);
    }

    fn end_initial(&mut self, now: f64) {
        self.doing = Doing::Ledbat;
        self.due = now + 2.0 * self.srtt;
    }

    fn after_loss(&mut self, now: f64) {
        match self.doing {
            Doing::InitialSlowStart => self.end_initial(now),
            Doing::Frozen | Doing::RampingUp => self.resume(now),
            Doing::Ledbat => {}
        }
    }
}

/// Of room where times are compared, since they are whole nanoseconds there.
const ROOM: f64 = 3e-9;

impl Definition for LedbatPlusPlus {
    fn measure(&mut self, told: &Told) {
        self.srtt = told.srtt;
        self.delays.push(told.rtt);
        match self.minutes.last_mut() {
            Some((began, least)) if told.now - *began < 60.0 => *least = f64::min(*least, told.rtt),
            _ => self.minutes.push((told.now, told.rtt)),
        }
    }

    fn ack(&mut self, told: &Told) {
        let current = self.delays.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min);
        let base = self.minutes.iter().rev().take(10).map(|minute| minute.1).fold(f64::INFINITY, f64::min);
        let delay = f64::max(current - base, 0.0);
        let gain = 1.0 / f64::min(16.0, (2.0 * self.target / base).ceil());
        if self.doing == Doing::Frozen && told.now >= self.thaw - ROOM {
            self.doing = Doing::RampingUp;
        }
        match self.doing {
            Doing::InitialSlowStart => {
                if delay > 0.75 * self.target {
                    self.ssthresh = f64::max(self.w, 2.0);
                } else {
                    self.w = f64::min(self.w + gain * told.acked, self.ssthresh);
                }
                if self.w >= self.ssthresh {
                    self.end_initial(told.now);
                }
            }
            Doing::Frozen => {}
            Doing::RampingUp => {
                self.w = f64::min(self.w + told.acked, self.ssthresh);
                if self.w >= self.ssthresh {
                    self.resume(told.now);
                }
            }
            // After a timeout.
            Doing::Ledbat if self.w < self.ssthresh => {
                self.w = f64::min(self.w + f64::min(told.acked, 1.0), self.ssthresh);
            }
            Doing::Ledbat if told.now >= self.due - ROOM => {
                self.ssthresh = f64::max(self.w, 2.0);
                self.w = 2.0;
                self.doing = Doing::Frozen;
                (self.began, self.thaw) = (told.now, told.now + 2.0 * self.srtt);
            }
            Doing::Ledbat => {
                let per_round_trip = if delay <= self.target {
                    gain
                } else {
                    f64::max(gain - self.constant * self.w * (delay / self.target - 1.0), -self.w / 2.0)
                };
                self.w = f64::max(self.w + per_round_trip * told.acked / self.w, 2.0);
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
                doing: Doing::InitialSlowStart,
                began: 0.0,
                thaw: 0.0,
                due: 0.0,
            })
        },
    );
}
