use super::{AckInfo, Definition, compare};

/// Kelly's rules with a = 0.01, b = 0.125 and a legacy window of 16.
struct Scalable {
    cwnd: f64,
    ssthresh: f64,
}

fn kept(flight: f64) -> f64 {
    if flight <= 16.0 { flight / 2.0 } else { flight - 0.125 * flight }
}

impl Definition for Scalable {
    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
            return;
        }
        self.cwnd += info.acked * if self.cwnd <= 16.0 { 1.0 / self.cwnd } else { 0.01 };
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = f64::max(2.0, kept(flight));
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, kept(flight));
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn scalable() {
    compare("kind = \"scalable\"", |cwnd| Box::new(Scalable { cwnd, ssthresh: f64::INFINITY }));
}
