use super::{AckInfo, Definition, compare_over};
use proptest::prelude::*;

/// Parameters of Compound TCP, named as in the draft.
#[derive(Clone, Debug)]
struct Settings {
    alpha: f64,
    beta: f64,
    k: f64,
    zeta: f64,
    lambda: f64,
    low_window: f64,
}

/// Compound TCP with separate cwnd and dwnd, as in the draft.
struct Compound {
    settings: Settings,
    cwnd: f64,
    dwnd: f64,
    ssthresh: f64,
    base_rtt: f64,
    round: u64,
    gamma: f64,
    diff_reno: Option<f64>,
}

impl Compound {
    fn win(&self) -> f64 {
        self.cwnd + self.dwnd
    }

    fn once_per_rtt(&mut self, rtt: f64) {
        let Settings { alpha, k, zeta, low_window, .. } = self.settings;
        let diff_of = |window: f64| (window / self.base_rtt - window / rtt) * self.base_rtt;
        self.diff_reno = Some(f64::max(diff_of(self.cwnd), 0.0));
        if self.win() < low_window {
            return;
        }
        let diff = f64::max(diff_of(self.win()), 0.0);
        self.dwnd = if diff < self.gamma {
            self.dwnd + f64::max(alpha * self.win().powf(k) - 1.0, 0.0)
        } else {
            f64::max(self.dwnd - zeta * diff, 0.0)
        };
        self.ssthresh = f64::max(f64::min(self.ssthresh, self.win()), 2.0);
    }
}

impl Definition for Compound {
    fn measure(&mut self, info: &AckInfo) {
        self.base_rtt = f64::min(self.base_rtt, info.rtt);
    }

    fn ack(&mut self, info: &AckInfo) {
        let ends = info.round != self.round;
        self.round = info.round;
        // The sum of the two windows is not exact.
        if self.win() < self.ssthresh - 1e-9 {
            self.cwnd += f64::min(f64::min(info.acked, 1.0), self.ssthresh - self.win());
            return;
        }
        self.cwnd += f64::min(info.acked, 1.0) / self.win();
        if ends {
            self.once_per_rtt(info.srtt);
        }
    }

    fn loss(&mut self, _: f64, _: f64) {
        let Settings { beta, lambda, .. } = self.settings;
        if let Some(diff_reno) = self.diff_reno.take() {
            self.gamma = f64::clamp((1.0 - lambda) * self.gamma + lambda * 0.75 * diff_reno, 5.0, 30.0);
        }
        let before = self.win();
        self.dwnd = f64::max(before * (1.0 - beta) - self.cwnd / 2.0, 0.0);
        self.ssthresh = f64::max(self.cwnd / 2.0 + self.dwnd, 2.0);
        // No loss increases the window; cwnd is the remainder beyond dwnd under the minimum ssthresh.
        self.cwnd = f64::min(before, self.ssthresh) - self.dwnd;
    }

    fn timeout(&mut self, _: f64, flight: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, flight / 2.0);
        }
        (self.cwnd, self.dwnd, self.gamma) = (1.0, 0.0, 30.0);
        self.base_rtt = f64::INFINITY;
        self.diff_reno = None;
    }

    fn cwnd(&self) -> f64 {
        self.win()
    }
}

#[test]
fn compound() {
    let settings = (0.05..0.5_f64, 0.2..0.8_f64, 0.5..0.9_f64, 0.1..2.0_f64, 0.0..1.0_f64, 2.0..60.0_f64);
    compare_over(
        settings.prop_map(|(alpha, beta, k, zeta, lambda, low_window)| Settings {
            alpha,
            beta,
            k,
            zeta,
            lambda,
            low_window,
        }),
        |Settings { alpha, beta, k, zeta, lambda, low_window }| {
            format!(
                "kind = \"compound\"\nalpha = {alpha:?}\nbeta = {beta:?}\nk = {k:?}\nzeta = {zeta:?}\nlambda = {lambda:?}\nlow_window = {low_window:?}"
            )
        },
        |settings, cwnd| {
            Box::new(Compound {
                settings: settings.clone(),
                cwnd,
                dwnd: 0.0,
                ssthresh: f64::INFINITY,
                base_rtt: f64::INFINITY,
                round: 0,
                gamma: 30.0,
                diff_reno: None,
            })
        },
    );
}
