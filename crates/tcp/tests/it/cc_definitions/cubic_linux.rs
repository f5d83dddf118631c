use super::{AckInfo, Definition, compare_over};

/// CUBIC with Linux's variables: windows, counters and targets in whole segments.
struct CubicLinux {
    c: f64,
    beta: f64,
    /// Slow start may end between two segments; all other code uses whole segments.
    cwnd: f64,
    ssthresh: f64,
    last_max_cwnd: f64,
    epoch_start: Option<f64>,
    origin_point: f64,
    k: f64,
    ack_cnt: f64,
    tcp_cwnd: f64,
    cwnd_cnt: f64,
    previous: f64,
}

impl CubicLinux {
    fn cnt(&mut self, info: &AckInfo) -> f64 {
        let cwnd = self.cwnd.floor();
        if self.epoch_start.is_none() {
            self.epoch_start = Some(info.now);
            (self.ack_cnt, self.tcp_cwnd) = (0.0, cwnd);
            (self.k, self.origin_point) = (0.0, cwnd);
            if self.last_max_cwnd > cwnd {
                self.k = ((self.last_max_cwnd - cwnd) / self.c).cbrt();
                self.origin_point = self.last_max_cwnd;
            }
        }
        self.ack_cnt += info.acked;
        let t = info.now + info.min_rtt - self.epoch_start.unwrap();
        let delta = (self.c * (t - self.k).abs().powi(3)).floor();
        let target = if t < self.k { self.origin_point - delta } else { self.origin_point + delta };
        let mut cnt = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
        if self.last_max_cwnd == 0.0 {
            cnt = f64::min(cnt, 20.0);
        }
        let scale = (8.0 * (1.0 + self.beta) / 3.0 / (1.0 - self.beta)).floor();
        let delta = f64::max((cwnd * scale / 8.0).floor(), 1.0);
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1.0;
        }
        if self.tcp_cwnd > cwnd {
            cnt = f64::min(cnt, (cwnd / (self.tcp_cwnd - cwnd)).floor());
        }
        f64::max(cnt, 2.0)
    }

    fn reduced(&mut self) -> f64 {
        let cwnd = self.cwnd.floor();
        self.last_max_cwnd =
            if cwnd < self.last_max_cwnd { (cwnd * (1.0 + self.beta) / 2.0).floor() } else { cwnd };
        self.epoch_start = None;
        f64::max((cwnd * self.beta).floor(), 2.0)
    }
}

impl Definition for CubicLinux {
    fn ack(&mut self, info: &AckInfo) {
        let pause = info.now - self.previous;
        self.previous = info.now;
        if !info.limited {
            self.epoch_start = self.epoch_start.map(|start| start + pause);
        } else if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + info.acked, self.ssthresh);
        } else {
            let cnt = self.cnt(info);
            self.cwnd_cnt += info.acked;
            if self.cwnd_cnt >= cnt {
                self.cwnd_cnt -= cnt;
                self.cwnd += 1.0;
            }
        }
    }

    fn loss(&mut self, _: f64, _: f64) {
        self.ssthresh = self.reduced();
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, _: f64, again: bool) {
        let reduced = self.reduced();
        if !again {
            self.ssthresh = reduced;
        }
        self.cwnd = 1.0;
        self.last_max_cwnd = 0.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn cubic_linux() {
    compare_over(
        (0.1..2.0_f64, 0.3..0.9_f64),
        |(c, beta)| {
            format!(
                "kind = \"cubic\"\nvariant = \"linux\"\nslow_start = \"standard\"\nc = {c:?}\nbeta = {beta:?}"
            )
        },
        |&(c, beta), cwnd| {
            Box::new(CubicLinux {
                c,
                beta,
                cwnd,
                ssthresh: f64::INFINITY,
                last_max_cwnd: 0.0,
                epoch_start: None,
                origin_point: 0.0,
                k: 0.0,
                ack_cnt: 0.0,
                tcp_cwnd: 0.0,
                cwnd_cnt: 0.0,
                previous: 0.0,
            })
        },
    );
}
