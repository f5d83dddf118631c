use super::cubic::Cubic;
use super::{Definition, Told, compare};

/// C2TCP as the paper's pseudocode has it, on top of RFC 9438.
struct C2tcp {
    cubic: Cubic,
    /// Setpoint and interval in seconds; without them alpha times the least round-trip time.
    fixed: Option<(f64, f64)>,
    alpha: f64,
    first_time: bool,
    next_time: f64,
    num_backoffs: f64,
}

impl Definition for C2tcp {
    fn ack(&mut self, told: &Told) {
        let lone = self.cubic.cwnd < 2.0;
        self.cubic.ack(told);
        if lone {
            return;
        }
        let (setpoint, interval) =
            self.fixed.unwrap_or((self.alpha * told.min_rtt, self.alpha * told.min_rtt));
        // Clocks tick in nanoseconds.
        let ticks = |seconds: f64| f64::round(seconds * 1e9);
        if ticks(told.rtt) <= ticks(setpoint) {
            self.first_time = true;
            if told.limited {
                self.cubic.cwnd += (setpoint / told.rtt) / self.cubic.cwnd;
            }
        } else if self.first_time {
            self.first_time = false;
            self.next_time = told.now + interval;
            self.num_backoffs = 1.0;
        } else if ticks(told.now) > ticks(self.next_time) {
            self.next_time = told.now + interval / f64::sqrt(self.num_backoffs);
            self.num_backoffs += 1.0;
            // In whole bytes, of which there are 1000 in a segment.
            let flight = f64::floor(self.cubic.cwnd * 1000.0) / 1000.0;
            self.cubic.loss(told.now, flight);
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
