use super::{AckInfo, Definition, compare};

/// draft-leith-tcp-htcp-06 with Delta_L = 1 s.
struct Htcp {
    cwnd: f64,
    ssthresh: f64,
    beta: f64,
    last_backoff: f64,
    rtts: Vec<f64>,
    delivered: f64,
    last_b: Option<f64>,
}

impl Htcp {
    fn kept(&mut self, now: f64, flight: f64) -> f64 {
        let elapsed = now - self.last_backoff;
        let b = if elapsed > 0.0 { self.delivered / elapsed } else { 0.0 };
        let rtt_min = self.rtts.iter().copied().fold(f64::INFINITY, f64::min);
        let rtt_max = self.rtts.iter().copied().fold(0.0, f64::max);
        self.beta = match self.last_b {
            Some(last_b) if f64::abs(b - last_b) <= 0.2 * last_b && !self.rtts.is_empty() => {
                (rtt_min / rtt_max).clamp(0.5, 0.8)
            }
            _ => 0.5,
        };
        self.last_b = Some(b);
        self.last_backoff = now;
        self.rtts.clear();
        self.delivered = 0.0;
        f64::max(2.0, self.beta * flight)
    }
}

impl Definition for Htcp {
    fn measure(&mut self, info: &AckInfo) {
        self.rtts.push(info.rtt);
        self.delivered += info.acked;
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        let delta = info.now - self.last_backoff;
        let alpha =
            if delta <= 1.0 { 1.0 } else { 1.0 + 10.0 * (delta - 1.0) + f64::powi((delta - 1.0) / 2.0, 2) };
        self.cwnd += info.acked * f64::max(2.0 * (1.0 - self.beta) * alpha, 1.0) / self.cwnd;
    }

    fn loss(&mut self, now: f64, flight: f64) {
        self.ssthresh = self.kept(now, flight);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, now: f64, flight: f64, again: bool) {
        let kept = self.kept(now, flight);
        if !again {
            self.ssthresh = kept;
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn htcp() {
    compare("kind = \"htcp\"", |cwnd| {
        Box::new(Htcp {
            cwnd,
            ssthresh: f64::INFINITY,
            beta: 0.5,
            last_backoff: 0.0,
            rtts: Vec::new(),
            delivered: 0.0,
            last_b: None,
        })
    });
}
