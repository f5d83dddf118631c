use super::{Definition, Told, compare};

/// Westwood+ with Tustin's filter: one sample for each round trip, a = 0.9.
struct WestwoodPlus {
    cwnd: f64,
    ssthresh: f64,
    /// (beginning, segments) of the round trip under way.
    sample: Option<(f64, f64)>,
    previous_sample: f64,
    bwe: f64,
    min_rtt: f64,
}

impl WestwoodPlus {
    /// In whole bytes, so that both leave slow start at the same ACK.
    fn product(&self) -> f64 {
        (1000.0 * self.bwe * self.min_rtt).floor() / 1000.0
    }
}

impl Definition for WestwoodPlus {
    fn measure(&mut self, told: &Told) {
        self.min_rtt = told.min_rtt;
        let Some((began, segments)) = self.sample else {
            self.sample = Some((told.now, 0.0));
            return;
        };
        let segments = segments + told.acked;
        self.sample = Some((began, segments));
        // A nanosecond of room, since times are whole nanoseconds there.
        if told.now - began >= told.rtt - 1e-9 {
            let b = segments / (told.now - began);
            self.bwe = 0.9 * self.bwe + 0.1 * (b + self.previous_sample) / 2.0;
            self.previous_sample = b;
            self.sample = Some((told.now, 0.0));
        }
    }

    fn ack(&mut self, told: &Told) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(told.acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(told.acked, 1.0) / self.cwnd;
        }
    }

    fn loss(&mut self, _: f64, _: f64) {
        self.ssthresh = f64::max(2.0, self.product());
        if self.cwnd > self.ssthresh {
            self.cwnd = self.ssthresh;
        }
    }

    fn timeout(&mut self, _: f64, _: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, self.product());
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn westwood_plus() {
    compare("kind = \"westwood\"", |cwnd| {
        Box::new(WestwoodPlus {
            cwnd,
            ssthresh: f64::INFINITY,
            sample: None,
            previous_sample: 0.0,
            bwe: 0.0,
            min_rtt: 0.0,
        })
    });
}
