use super::{AckInfo, Definition, compare};

/// RFC 3649 §5 without the table. An ACK counts as the segments that it acknowledges, limited to `max`.
struct HighSpeed {
    max: f64,
    cwnd: f64,
    ssthresh: f64,
}

fn b(w: f64) -> f64 {
    if w <= 38.0 { 0.5 } else { (0.1 - 0.5) * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln()) + 0.5 }
}

fn a(w: f64) -> f64 {
    if w <= 38.0 {
        return 1.0;
    }
    let p = 0.078 / w.powf(1.2);
    w * w * p * 2.0 * b(w) / (2.0 - b(w))
}

impl Definition for HighSpeed {
    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(info.acked, self.max) * a(self.cwnd) / self.cwnd;
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, (1.0 - b(flight)) * flight);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, (1.0 - b(flight)) * flight);
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn highspeed() {
    compare("kind = \"highspeed\"\nresponse = \"formula\"", |cwnd| {
        Box::new(HighSpeed { max: f64::INFINITY, cwnd, ssthresh: f64::INFINITY })
    });
}

#[test]
fn highspeed_by_acks() {
    compare("kind = \"highspeed\"\nresponse = \"formula\"\ngrowth = \"per-ack\"", |cwnd| {
        Box::new(HighSpeed { max: 1.0, cwnd, ssthresh: f64::INFINITY })
    });
}
