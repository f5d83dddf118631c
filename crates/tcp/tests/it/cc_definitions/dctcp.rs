use super::{AckInfo, Definition, compare, compare_marked};

/// RFC 8257 §3.3 on top of RFC 5681.
struct Dctcp {
    g: f64,
    cwnd: f64,
    ssthresh: f64,
    alpha: f64,
    bytes_acked: f64,
    bytes_marked: f64,
    window_end: u64,
    /// True if the feedback counts marks.
    counts: bool,
}

impl Definition for Dctcp {
    fn measure(&mut self, info: &AckInfo) {
        self.bytes_acked += info.acked;
        self.bytes_marked += info.marked;
        self.counts |= info.marked > 0.0;
        if info.round > self.window_end {
            let m = self.bytes_marked / self.bytes_acked;
            self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
            self.window_end = info.round;
            self.bytes_acked = 0.0;
            self.bytes_marked = 0.0;
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(info.acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(info.acked, 1.0) / self.cwnd;
        }
    }

    fn mark(&mut self, _: f64) {
        let alpha = if self.counts { self.alpha } else { 1.0 };
        self.ssthresh = f64::max(2.0, self.cwnd * (1.0 - alpha / 2.0));
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
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

fn definition(g: f64) -> impl Fn(f64) -> Box<dyn Definition> {
    move |cwnd| {
        Box::new(Dctcp {
            g,
            cwnd,
            ssthresh: f64::INFINITY,
            alpha: 1.0,
            bytes_acked: 0.0,
            bytes_marked: 0.0,
            window_end: 0,
            counts: false,
        })
    }
}

#[test]
fn dctcp() {
    compare("kind = \"dctcp\"", definition(1.0 / 16.0));
    compare_marked(100_000, "kind = \"dctcp\"", definition(1.0 / 16.0));
}

#[test]
fn dctcp_with_another_gain() {
    compare_marked(60_000, "kind = \"dctcp\"\ngain = 0.3", definition(0.3));
}
