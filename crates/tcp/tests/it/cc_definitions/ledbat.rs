use super::{AckInfo, Definition, compare};

/// RFC 6817 with a target of 100 ms, with RTTs as delays; the whole history is stored.
struct Ledbat {
    cwnd: f64,
    ssthresh: f64,
    delays: Vec<f64>,
    /// (start, minimum delay) of each minute.
    minutes: Vec<(f64, f64)>,
}

impl Definition for Ledbat {
    fn measure(&mut self, info: &AckInfo) {
        self.delays.push(info.rtt);
        match self.minutes.last_mut() {
            Some((began, min)) if info.now - *began < 60.0 => *min = f64::min(*min, info.rtt),
            _ => self.minutes.push((info.now, info.rtt)),
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        // §2.4.2, §3.4.2: CURRENT_FILTER = 4, BASE_HISTORY = 10
        let current = self.delays.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min);
        let base = self.minutes.iter().rev().take(10).map(|minute| minute.1).fold(f64::INFINITY, f64::min);
        let queuing_delay = f64::max(current - base, 0.0);
        let off_target = (0.1 - queuing_delay) / 0.1;
        let mut cwnd = self.cwnd + off_target * info.acked / self.cwnd;
        // In this test only the data acknowledged now is in flight.
        let max_allowed_cwnd = info.acked + 1.0;
        if cwnd > max_allowed_cwnd {
            cwnd = f64::min(cwnd, f64::max(max_allowed_cwnd, self.cwnd));
        }
        self.cwnd = f64::max(cwnd, 2.0);
        self.ssthresh = f64::min(self.ssthresh, self.cwnd);
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, flight / 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn ledbat() {
    compare("kind = \"ledbat\"", |cwnd| {
        Box::new(Ledbat { cwnd, ssthresh: f64::INFINITY, delays: Vec::new(), minutes: Vec::new() })
    });
}
