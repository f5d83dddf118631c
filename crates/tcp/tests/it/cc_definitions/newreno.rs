use super::{AckInfo, Definition, compare};

/// RFC 5681 §3.1 with the byte counting of RFC 3465 §2, L = 2. ssthresh is in whole bytes.
struct Newreno {
    cwnd: f64,
    ssthresh: f64,
    bytes_acked: f64,
}

fn half(flight: f64) -> f64 {
    f64::max(f64::floor(flight * 1000.0 / 2.0 + 1e-6) / 1000.0, 2.0)
}

impl Definition for Newreno {
    fn ack(&mut self, info: &AckInfo) {
        let mut n = info.acked;
        if self.cwnd < self.ssthresh {
            // RFC 3465 §2.2: slow start grows by the data acknowledged, at most L segments; the part beyond ssthresh
            // counts for congestion avoidance.
            n = f64::min(n, 2.0);
            let step = f64::min(n, self.ssthresh - self.cwnd);
            self.cwnd += step;
            n -= step;
        }
        if self.cwnd >= self.ssthresh {
            // RFC 3465 §2.1
            self.bytes_acked += n;
            while self.bytes_acked >= self.cwnd - 1e-9 {
                self.bytes_acked -= self.cwnd;
                self.cwnd += 1.0;
            }
        }
    }

    fn loss(&mut self, _: f64, flight: f64) {
        self.ssthresh = half(flight);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0.0;
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = half(flight);
        }
        self.cwnd = 1.0;
        self.bytes_acked = 0.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn newreno() {
    compare("kind = \"newreno\"\ngrowth = \"per-byte\"", |cwnd| {
        Box::new(Newreno { cwnd, ssthresh: f64::INFINITY, bytes_acked: 0.0 })
    });
}
