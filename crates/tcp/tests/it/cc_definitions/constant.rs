use super::{AckInfo, Definition, compare};

/// The paper's pseudocode with Westwood's filter, k = 10 and beta = 0.5.
struct Constant {
    cwnd: f64,
    slow_start_state: bool,
    rtt_arc: Option<f64>,
    last: Option<(f64, f64)>,
    pending: f64,
    bwe: f64,
}

impl Definition for Constant {
    fn measure(&mut self, info: &AckInfo) {
        let Some((t, b_before)) = self.last else {
            self.last = Some((info.now, 0.0));
            return;
        };
        self.pending += info.acked;
        let delta = info.now - t;
        if delta > 0.0 {
            let b = self.pending / delta;
            let alpha = (2.0 * 0.5 - delta) / (2.0 * 0.5 + delta);
            self.bwe = alpha * self.bwe + (1.0 - alpha) * (b + b_before) / 2.0;
            self.last = Some((info.now, b));
            self.pending = 0.0;
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        if self.slow_start_state && info.round < 10 {
            self.cwnd += f64::min(info.acked, 1.0);
            return;
        }
        let changed = match self.rtt_arc {
            None => true,
            Some(rtt_arc) => f64::abs(rtt_arc - info.srtt) / rtt_arc > 0.5,
        };
        if changed {
            self.slow_start_state = false;
            self.cwnd = f64::max(self.bwe * info.min_rtt, 1.0);
            self.rtt_arc = Some(info.srtt);
        }
    }

    fn loss(&mut self, _: f64, _: f64) {
        self.slow_start_state = false;
    }

    fn timeout(&mut self, _: f64, _: f64, _: bool) {
        self.slow_start_state = false;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[test]
fn constant() {
    compare("kind = \"constant\"", |cwnd| {
        Box::new(Constant { cwnd, slow_start_state: true, rtt_arc: None, last: None, pending: 0.0, bwe: 0.0 })
    });
}
