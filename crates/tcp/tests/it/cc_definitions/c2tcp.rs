use super::cubic::Cubic;
use super::{AckInfo, Definition, compare};

/// C2TCP as in the paper's pseudocode, on top of RFC 9438.
struct C2tcp {
    cubic: Cubic,
    /// Setpoint and interval in seconds; `None`: alpha times the minimum RTT.
    fixed: Option<(f64, f64)>,
    alpha: f64,
    first_time: bool,
    next_time: f64,
    num_backoffs: f64,
}

impl Definition for C2tcp {
    fn ack(&mut self, info: &AckInfo) {
        let lone = self.cubic.cwnd < 2.0;
        self.cubic.ack(info);
        if lone {
            return;
        }
        let (setpoint, interval) =
            self.fixed.unwrap_or((self.alpha * info.min_rtt, self.alpha * info.min_rtt));
        // The engine's times are in nanoseconds.
        let ticks = |seconds: f64| f64::round(seconds * 1e9);
        if ticks(info.rtt) <= ticks(setpoint) {
            self.first_time = true;
            if info.limited {
                self.cubic.cwnd += (setpoint / info.rtt) / self.cubic.cwnd;
            }
        } else if self.first_time {
            self.first_time = false;
            self.next_time = info.now + interval;
            self.num_backoffs = 1.0;
        } else if ticks(info.now) > ticks(self.next_time) {
            self.next_time = info.now + interval / f64::sqrt(self.num_backoffs);
            self.num_backoffs += 1.0;
            // Rounded to whole bytes, 1000 per segment.
            let flight = f64::floor(self.cubic.cwnd * 1000.0) / 1000.0;
            self.cubic.loss(info.now, flight);
            self.cubic.cwnd = 1.0;
        }
    }

    fn loss(&mut self, now: f64, flight: f64) {
        self.cubic.loss(now, flight);
    }

    fn timeout(&mut self, now: f64, flight: f64, again: bool) {
        self.cubic.timeout(now, flight, again);
    }

    fn cwnd(&self) -> f64 {
        self.cubic.cwnd()
    }
}

fn definition(alpha: f64, fixed: Option<(f64, f64)>) -> impl Fn(f64) -> Box<dyn Definition> {
    move |cwnd| {
        Box::new(C2tcp {
            cubic: Cubic::new(cwnd),
            fixed,
            alpha,
            first_time: true,
            next_time: 0.0,
            num_backoffs: 1.0,
        })
    }
}

#[test]
fn c2tcp() {
    compare("kind = \"c2tcp\"", definition(2.0, None));
}

#[test]
fn c2tcp_with_other_settings() {
    compare("kind = \"c2tcp\"\nalpha = 1.3", definition(1.3, None));
    let absolute = "kind = \"c2tcp\"\nvariant = \"absolute\"\ntarget = \"120ms\"\ninterval = \"50ms\"";
    compare(absolute, definition(f64::NAN, Some((0.12, 0.05))));
}
