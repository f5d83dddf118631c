//! Rates by the delay of pings.

use crate::Control;
use crate::law::TICK;
use airwnd_catalog::Params as Declared;
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// Autorate: the rule of cake-autorate, by the RTT of pings that the UE sends.
///
/// Half of an RTT counts as the delay of each direction; its excess over a baseline, which follows the delay with the
/// weights 0.9 downwards and 0.001 upwards, is the queueing delay. If three of the last six samples exceed 30 ms and the
/// time of a packet, the rates are multiplied by 0.99 to 0.75, the less the longer the mean excess is, at most once in 300
/// ms. Otherwise, if the traffic of a direction uses more than 75 % of its rate, the rate is multiplied by at most 1.04
/// every 200 ms; if it uses less, the rate returns to `base` by 1 % a second. Not included: the choice of reflectors,
/// stalls, and sleeping while the link is idle. Needs a flow with `traffic = "ping"` and `direction = "up"` at each UE,
/// whose interval is that between two samples: 50 ms with six reflectors.
#[derive(Clone, Debug, PartialEq, Declared)]
#[params(source = "cake-autorate 94238bef6184, README.md (Theory of Operation), defaults.sh", check)]
pub struct Params {
    /// Minimum rate of the downlink.
    #[param(basic, default = BitRate(5_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, min_dl_shaper_rate_kbps")]
    pub min: BitRate,
    /// Rate of the downlink without load, and at the start.
    #[param(basic, default = BitRate(20_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, base_dl_shaper_rate_kbps")]
    pub base: BitRate,
    /// Maximum rate of the downlink.
    #[param(basic, default = BitRate(80_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, max_dl_shaper_rate_kbps")]
    pub max: BitRate,
    /// Minimum rate of the uplink.
    #[param(basic, default = BitRate(5_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, min_ul_shaper_rate_kbps")]
    pub min_up: BitRate,
    /// Rate of the uplink without load, and at the start.
    #[param(basic, default = BitRate(20_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, base_ul_shaper_rate_kbps")]
    pub base_up: BitRate,
    /// Maximum rate of the uplink.
    #[param(basic, default = BitRate(35_000_000), range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "cake-autorate defaults.sh, max_ul_shaper_rate_kbps")]
    pub max_up: BitRate,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let ways =
            [("base", self.min, self.base, self.max), ("base_up", self.min_up, self.base_up, self.max_up)];
        match ways.into_iter().find(|(_, min, base, max)| base < min || base > max) {
            Some((key, min, base, max)) => {
                Err((key, format!("{base} is not between the minimum, {min}, and the maximum, {max}")))
            }
            None => Ok(()),
        }
    }
}

/// Constants of the rule, from defaults.sh.
const WINDOW: usize = 6;
const DELAYED: usize = 3;
/// Mean excess up to which the rate rises fully, of a delayed sample, and of a full reduction.
const RAISE_MS: f64 = 10.0;
const DELAY_MS: f64 = 30.0;
const REDUCE_MS: f64 = 60.0;
const REDUCE: [f64; 2] = [0.99, 0.75];
const RAISE: [f64; 2] = [1.04, 1.0];
const DECAY_DOWN: f64 = 0.99;
const DECAY_UP: f64 = 1.01;
const HIGH_LOAD: f64 = 0.75;
const REFRACTORY: Span = Span::from_millis(300);
const DECAY: Span = Span::from_secs(1);
/// Ticks over which the load is measured: 200 ms.
const LOAD_TICKS: u64 = 4;
const BASELINE_DOWN: f64 = 0.9;
const BASELINE_UP: f64 = 0.001;
/// Bits of a packet of full size with its Ethernet header, by whose time thresholds are longer.
const PACKET_BITS: f64 = 1514.0 * 8.0;

/// Rates by the delay of pings.
pub struct Autorate {
    /// Queueing delays of the last pings in ms, and the baseline of the delay.
    excess_ms: VecDeque<f64>,
    baseline_ms: Option<f64>,
    ways: [OneWay; 2],
    ticks: u64,
}

/// A direction. Rates are in kbit/s, which are bits per ms.
struct OneWay {
    min: f64,
    base: f64,
    max: f64,
    rate: f64,
    /// Bytes that had passed when the load was measured.
    passed: Bytes,
    reduced: Option<Time>,
    decayed: Option<Time>,
}

impl Autorate {
    /// Creates the rule at its base rates.
    pub fn new(params: Params) -> Autorate {
        let way = |min: BitRate, base: BitRate, max: BitRate| OneWay {
            min: min.as_kbps(),
            base: base.as_kbps(),
            max: max.as_kbps(),
            rate: base.as_kbps(),
            passed: Bytes::ZERO,
            reduced: None,
            decayed: None,
        };
        let Params { min, base, max, min_up, base_up, max_up } = params;
        let ways = [way(min, base, max), way(min_up, base_up, max_up)];
        Autorate { excess_ms: VecDeque::new(), baseline_ms: None, ways, ticks: 0 }
    }
}

impl Control for Autorate {
    fn on_ping(&mut self, now: Time, rtt: Span) {
        let delay_ms = rtt.as_millis() / 2.0;
        let baseline_ms = self.baseline_ms.unwrap_or(delay_ms);
        let weight = if delay_ms > baseline_ms { BASELINE_UP } else { BASELINE_DOWN };
        let baseline_ms = baseline_ms + weight * (delay_ms - baseline_ms);
        self.baseline_ms = Some(baseline_ms);
        if self.excess_ms.len() == WINDOW {
            self.excess_ms.pop_front();
        }
        self.excess_ms.push_back(delay_ms - baseline_ms);
        for way in &mut self.ways {
            way.reduce(now, &self.excess_ms);
        }
    }

    fn tick(&mut self, now: Time, received: Bytes, sent: Bytes) -> [Option<BitRate>; 2] {
        self.ticks += 1;
        if self.ticks.is_multiple_of(LOAD_TICKS) {
            for (way, bytes) in self.ways.iter_mut().zip([received, sent]) {
                let load = BitRate::of(bytes.saturating_sub(way.passed), TICK * LOAD_TICKS).as_kbps();
                way.passed = bytes;
                way.follow_load(now, load, &self.excess_ms);
            }
        }
        self.ways.each_ref().map(|way| Some(BitRate((way.rate * 1e3) as u64)))
    }
}

impl OneWay {
    fn reduce(&mut self, now: Time, excess_ms: &VecDeque<f64>) {
        if self.is_bloated(excess_ms) && has_passed(now, self.reduced, REFRACTORY) {
            let thresholds = [DELAY_MS, REDUCE_MS].map(|threshold| self.widened(threshold));
            self.multiply(between(mean(excess_ms), thresholds, REDUCE));
            self.reduced = Some(now);
        }
    }

    fn follow_load(&mut self, now: Time, load: f64, excess_ms: &VecDeque<f64>) {
        let is_bloated = self.is_bloated(excess_ms);
        if load > HIGH_LOAD * self.rate {
            if !is_bloated && has_passed(now, self.reduced, REFRACTORY) {
                let thresholds = [RAISE_MS, self.widened(DELAY_MS)];
                self.multiply(between(mean(excess_ms), thresholds, RAISE));
            }
        } else if !is_bloated && has_passed(now, self.reduced.max(self.decayed), DECAY) {
            self.rate = if self.rate > self.base {
                (self.rate * DECAY_DOWN).max(self.base)
            } else {
                (self.rate * DECAY_UP).min(self.base)
            };
            self.decayed = Some(now);
        }
    }

    fn is_bloated(&self, excess_ms: &VecDeque<f64>) -> bool {
        excess_ms.iter().filter(|excess| **excess > self.widened(DELAY_MS)).count() >= DELAYED
    }

    /// Adds the time of a packet at the present rate.
    fn widened(&self, threshold_ms: f64) -> f64 {
        threshold_ms + PACKET_BITS / self.rate
    }

    fn multiply(&mut self, factor: f64) {
        self.rate = (self.rate * factor).clamp(self.min, self.max);
    }
}

fn has_passed(now: Time, since: Option<Time>, span: Span) -> bool {
    since.is_none_or(|since| now.since(since) > span)
}

fn mean(values: &VecDeque<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Interpolates linearly between two values, constant outside of the thresholds.
fn between(value: f64, [low, high]: [f64; 2], [at_low, at_high]: [f64; 2]) -> f64 {
    let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
    at_low + share * (at_high - at_low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: BitRate = BitRate(10_000_000);

    fn rule() -> Autorate {
        let (min, max) = (BitRate(2_500_000), BitRate(20_000_000));
        Autorate::new(Params { min, base: BASE, max, min_up: min, base_up: BASE, max_up: max })
    }

    /// Runs for some seconds with pings of this RTT and traffic of these shares of the rates; returns the rates.
    fn run(rule: &mut Autorate, from_s: u64, seconds: u64, rtt_ms: u64, shares: [f64; 2]) -> [f64; 2] {
        let mut passed = rule.ways.each_ref().map(|way| way.passed.0 as f64);
        let mut rates = [0.0; 2];
        for tick in 0..seconds * 20 {
            let now = Time::ZERO + Span::from_secs(from_s) + TICK * (tick + 1);
            rule.on_ping(now, Span::from_millis(rtt_ms));
            for (passed, (way, share)) in passed.iter_mut().zip(rule.ways.iter().zip(shares)) {
                *passed += way.rate * share * 1e3 / 8.0 * TICK.as_secs();
            }
            let [down, up] = passed.map(|bytes| Bytes(bytes as u64));
            rates = rule.tick(now, down, up).map(|rate| rate.unwrap().as_kbps());
        }
        rates
    }

    #[test]
    fn the_rate_of_a_loaded_direction_rises_to_its_maximum() {
        let mut rule = rule();
        let [down, up] = run(&mut rule, 0, 1, 40, [0.9, 0.1]);
        // Five times a factor of 1.04.
        assert!((down / 10_000.0 - 1.04f64.powi(5)).abs() < 0.001, "{down}");
        assert_eq!(up, 10_000.0);
        assert_eq!(run(&mut rule, 1, 60, 40, [0.9, 0.1]), [20_000.0, 10_000.0]);
    }

    #[test]
    fn rates_fall_by_a_quarter_each_300_ms_beside_a_long_queue() {
        let mut rule = rule();
        run(&mut rule, 0, 1, 40, [0.5, 0.5]);
        // The baseline is 20 ms; 150 ms are an excess of 55 ms and more in the mean of six.
        let [down, _] = run(&mut rule, 1, 3, 300, [0.9, 0.9]);
        assert!(down < 10_000.0 * 0.75f64.powi(4), "{down}");
        assert_eq!(run(&mut rule, 4, 10, 300, [0.9, 0.9]), [2_500.0; 2]);
    }

    #[test]
    fn without_load_rates_return_to_their_base() {
        let mut rule = rule();
        run(&mut rule, 0, 60, 40, [0.9, 0.9]);
        // 1 % a second: ln 2 / 0.01 s.
        let [down, _] = run(&mut rule, 60, 30, 40, [0.1, 0.1]);
        assert!((down / 20_000.0 - 0.99f64.powi(28)).abs() < 0.03, "{down}");
        assert_eq!(run(&mut rule, 90, 90, 40, [0.1, 0.1]), [10_000.0; 2]);
    }
}
