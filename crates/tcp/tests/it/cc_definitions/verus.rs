use super::{AckInfo, Definition, compare};
use std::collections::BTreeMap;

/// Verus with the constants of its code; the whole history is stored, and the curve is computed point by point.
struct Verus {
    r: f64,
    m: f64,
    epoch: f64,
    w: f64,
    /// (time, window) of each change.
    windows: Vec<(f64, f64)>,
    /// Window at the transmission of the most recently acknowledged packet.
    sent_with: f64,
    slow_start: bool,
    loss_phase: bool,
    w_list: BTreeMap<u64, f64>,
    curve: Vec<(f64, f64)>,
    drawn: f64,
    epoch_began: f64,
    delays: Vec<f64>,
    limited: bool,
    d_min: f64,
    d_max_last: f64,
    d_est: f64,
    last_ack: f64,
}

/// The engine's times are whole nanoseconds.
fn reaches(time: f64, other: f64) -> bool {
    time - other > -1e-10
}

impl Verus {
    fn set(&mut self, now: f64, w: f64) {
        // No window exceeds 1 GiB (RFC 7323).
        self.w = f64::clamp(w, 1.0, 1073741.824);
        self.windows.push((now, self.w));
    }

    /// The closest non-decreasing curve to the points: max over j <= i of min over k >= i of the mean of j to k.
    fn draw(&mut self, now: f64) {
        let points: Vec<(f64, f64)> = self.w_list.iter().map(|(w, d)| (*w as f64, *d)).collect();
        let sums: Vec<f64> = (0..=points.len()).map(|n| points[..n].iter().map(|p| p.1).sum()).collect();
        let mean = |j: usize, k: usize| (sums[k + 1] - sums[j]) / (k - j + 1) as f64;
        let fit = |i: usize| {
            let min_mean = |j: usize| (i..points.len()).map(|k| mean(j, k)).fold(f64::INFINITY, f64::min);
            (0..=i).map(min_mean).fold(f64::NEG_INFINITY, f64::max)
        };
        self.curve = (0..points.len()).map(|i| (points[i].0, fit(i))).collect();
        self.drawn = now;
    }

    /// Returns the maximum window with at most this delay on the curve.
    fn f_inverse(&self, delay: f64) -> Option<f64> {
        let (first, last) = (self.curve.first()?, self.curve.last()?);
        if delay < first.1 - 1e-9 {
            return Some(first.0 * delay / first.1);
        }
        let at = self.curve.iter().rposition(|point| point.1 <= delay + 1e-9).unwrap();
        if at + 1 == self.curve.len() {
            return Some(last.0 * delay / last.1);
        }
        let (a, b) = (self.curve[at], self.curve[at + 1]);
        Some(a.0 + (b.0 - a.0) * (delay - a.1) / (b.1 - a.1))
    }

    fn f(&self, w: f64) -> Option<f64> {
        let (first, last) = (self.curve.first()?, self.curve.last()?);
        if w <= first.0 {
            return Some(if w == first.0 { first.1 } else { first.1 * w / first.0 });
        }
        if w >= last.0 {
            return Some(last.1 * w / last.0);
        }
        let at = self.curve.iter().rposition(|point| point.0 <= w).unwrap();
        let (a, b) = (self.curve[at], self.curve[at + 1]);
        Some(a.1 + (b.1 - a.1) * (w - a.0) / (b.0 - a.0))
    }

    fn multiplicative_decrease(&mut self, now: f64, w: f64) {
        self.set(now, f64::min(self.w, w));
        if self.slow_start {
            self.draw(now);
        }
        self.d_est = self.f(self.w).unwrap_or(0.0);
        self.slow_start = false;
        self.loss_phase = true;
    }

    fn end_epoch(&mut self) {
        let end = self.epoch_began + self.epoch;
        let d_max = if self.delays.is_empty() {
            f64::max(f64::max(self.d_max_last, 0.0), end - self.last_ack)
        } else {
            self.delays.drain(..).fold(0.0, f64::max)
        };
        if self.d_max_last < 0.0 {
            self.d_max_last = d_max;
        }
        if self.d_max_last / self.d_min > self.r {
            self.d_est = f64::max(self.d_min, self.d_est - 0.002);
        } else if d_max - self.d_max_last > 0.0001e-3 {
            self.d_est = f64::max(self.d_min, self.d_est - 0.001);
        } else if self.limited {
            self.d_est = f64::max(self.d_min, self.d_est + 0.002);
        } else {
            self.d_est = f64::max(self.d_min, self.d_est);
        }
        self.d_max_last = 0.2 * self.d_max_last + 0.8 * d_max;
        self.epoch_began = end;
    }
}

impl Definition for Verus {
    fn measure(&mut self, info: &AckInfo) {
        // Rounded to whole bytes, 1000 per segment.
        let lone = f64::floor(self.w * 1000.0) <= 1000.0;
        if !self.slow_start && !self.loss_phase && reaches(info.now, self.epoch_began + self.epoch) {
            while reaches(info.now, self.epoch_began + self.epoch) {
                self.end_epoch();
            }
            self.limited = false;
            if reaches(info.now, self.drawn + 1.0) {
                self.draw(info.now);
            }
            if let Some(w) = self.f_inverse(self.d_est) {
                self.set(info.now, f64::max(w, 2.0));
            }
        }
        self.last_ack = info.now;
        self.limited |= info.limited;
        // The ACK may have been delayed, unlike the original's ACKs.
        if lone {
            return;
        }
        // Packets are acknowledged in the order in which they were sent.
        let sent = f64::max(info.now - info.rtt, 0.0);
        while self.windows.len() > 1 && reaches(sent, self.windows[1].0) {
            self.windows.remove(0);
        }
        self.sent_with = self.windows[0].1;
        self.d_min = f64::min(self.d_min, info.rtt);
        self.delays.push(info.rtt);
        if self.loss_phase && self.sent_with <= self.w {
            self.loss_phase = false;
            self.delays = vec![info.rtt];
            self.epoch_began = info.now;
            self.limited = info.limited;
        }
        if !self.loss_phase {
            let point = self.w_list.entry((self.sent_with as u64).min(40_000)).or_insert(info.rtt);
            *point = 0.875 * *point + 0.125 * info.rtt;
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        if !info.limited {
        } else if self.slow_start {
            self.set(info.now, self.w + info.acked);
        } else if self.loss_phase {
            self.set(info.now, self.w + info.acked / self.w);
        }
    }

    fn loss(&mut self, now: f64, _: f64) {
        if !self.loss_phase {
            self.multiplicative_decrease(now, self.m * self.windows[0].1);
        }
    }

    fn timeout(&mut self, now: f64, _: f64, _: bool) {
        self.multiplicative_decrease(now, 1.0);
        self.d_est = f64::min(self.d_est, self.d_min);
    }

    fn cwnd(&self) -> f64 {
        self.w
    }
}

fn definition(r: f64, m: f64, epoch: f64) -> impl Fn(f64) -> Box<dyn Definition> {
    move |w| {
        Box::new(Verus {
            r,
            m,
            epoch,
            w,
            windows: vec![(0.0, w)],
            sent_with: w,
            slow_start: true,
            loss_phase: false,
            w_list: BTreeMap::new(),
            curve: Vec::new(),
            drawn: 0.0,
            epoch_began: 0.0,
            delays: Vec::new(),
            limited: false,
            d_min: f64::INFINITY,
            d_max_last: -10.0,
            d_est: 0.0,
            last_ack: 0.0,
        })
    }
}

#[test]
fn verus() {
    compare("kind = \"verus\"", definition(6.0, 0.7, 0.005));
}

#[test]
fn verus_with_other_settings() {
    let other = "kind = \"verus\"\nratio = 1.5\nkeep = 0.5\nepoch = \"20ms\"";
    compare(other, definition(1.5, 0.5, 0.02));
}
