use super::{AckInfo, Definition, compare_over};
use proptest::prelude::*;

/// TCP-LP as in the paper's pseudocode, with explicit indication and inference phase.
struct Lp {
    delta: f64,
    gamma: f64,
    phase: f64,
    linux: bool,
    cwnd: f64,
    ssthresh: f64,
    sd: Option<f64>,
    d_min: f64,
    d_max: f64,
    /// Linux: the maximum of all delays; `d_max` lags behind it.
    reserve: f64,
    rtt: f64,
    /// Start of the inference phase.
    itti: Option<f64>,
}

impl Lp {
    fn sample(&mut self, d: f64) {
        self.sd = Some(self.sd.map_or(d, |sd| (1.0 - self.gamma) * sd + self.gamma * d));
        if d < self.d_min {
            self.d_min = d;
        }
        if !self.linux {
            self.d_max = f64::max(self.d_max, d);
        } else if d > self.d_max {
            if d > self.reserve {
                self.d_max = if self.reserve == 0.0 { d } else { self.reserve };
                self.reserve = d;
            } else {
                self.d_max = d;
            }
        }
    }

    fn increase(&mut self, acked: f64) {
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + f64::min(acked, 1.0), self.ssthresh);
        } else {
            self.cwnd += f64::min(acked, 1.0) / self.cwnd;
        }
    }
}

impl Definition for Lp {
    fn measure(&mut self, info: &AckInfo) {
        self.rtt = info.rtt;
        self.sample(info.one_way);
    }

    fn ack(&mut self, info: &AckInfo) {
        let sd = self.sd.unwrap();
        let cong_ind = sd > self.d_min + (self.d_max - self.d_min) * self.delta;
        // A nanosecond of tolerance: the engine's times are whole nanoseconds.
        let itti = self.itti.is_some_and(|began| info.now - began < self.phase * self.rtt - 1e-9);
        if cong_ind {
            self.cwnd = if itti { 1.0 } else { f64::max(self.cwnd / 2.0, 1.0) };
            self.itti = Some(info.now);
            if self.linux {
                (self.d_min, self.d_max, self.reserve) = (sd, 2.0 * sd, 2.0 * sd);
            } else {
                self.ssthresh = f64::max(self.cwnd, 2.0);
            }
        }
        if self.linux {
            if self.cwnd < self.ssthresh || !itti {
                self.increase(info.acked);
            }
        } else if !cong_ind && !itti {
            self.increase(info.acked);
        }
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

#[test]
fn lp() {
    let settings = (0.05..0.95_f64, 0.02..1.0_f64, 0.0..6.0_f64, any::<bool>());
    compare_over(
        settings,
        |(delta, gamma, phase, linux)| {
            let extremes = if *linux { "renewed" } else { "kept" };
            format!(
                "kind = \"lp\"\nthreshold = {delta:?}\nsmoothing = {gamma:?}\ninference = {phase:?}\nextremes = \"{extremes}\""
            )
        },
        |&(delta, gamma, phase, linux), cwnd| {
            Box::new(Lp {
                delta,
                gamma,
                phase,
                linux,
                cwnd,
                ssthresh: f64::INFINITY,
                sd: None,
                d_min: f64::INFINITY,
                d_max: 0.0,
                reserve: 0.0,
                rtt: 0.0,
                itti: None,
            })
        },
    );
}
