//! HyStart++: slow down before leaving slow start, in case the delay was an accident.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::Params;
use airwnd_units::Span;

/// HyStart++: when the delay rises, growth goes on at a quarter for some rounds; if the delay falls again slow
/// start resumes, else it ends.
///
/// Rounds are compared by the least of their round-trip times, once they have `samples` of them. A rise is
/// last / `divisor`, within `threshold_min` and `threshold_max`. It watches the first slow start only: later
/// ones know a threshold (§4.3).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9406")]
pub struct Params {
    /// The least rise that counts (MIN_RTT_THRESH).
    #[param(default = Span::from_millis(4), range = Span(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "RFC 9406 §4.3")]
    pub threshold_min: Span,
    /// The greatest rise that is waited for (MAX_RTT_THRESH).
    #[param(default = Span::from_millis(16), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9406 §4.3")]
    pub threshold_max: Span,
    /// The part of the last round's least round-trip time that is a rise is 1 / divisor (MIN_RTT_DIVISOR).
    #[param(default = 8.0, range = 0.1..=1000.0, unit = "1", source = "RFC 9406 §4.3")]
    pub divisor: f64,
    /// Samples that a round needs (N_RTT_SAMPLE).
    #[param(default = 8, range = 1..=1000, unit = "1", source = "RFC 9406 §4.3")]
    pub samples: u32,
    /// Growth of conservative slow start is divided by this (CSS_GROWTH_DIVISOR).
    #[param(default = 4.0, range = 1.0..=1000.0, unit = "1", source = "RFC 9406 §4.3")]
    pub growth_divisor: f64,
    /// Rounds of conservative slow start before congestion avoidance begins (CSS_ROUNDS).
    #[param(default = 5, range = 1..=1000, unit = "rounds", source = "RFC 9406 §4.3")]
    pub rounds: u32,
}

/// Where slow start is.
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    params: Params,
    round: Option<u64>,
    last_least: Option<Span>,
    least: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
    watches: bool,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The least round-trip time with which it began (cssBaselineMinRtt).
    baseline: Span,
    /// Rounds that it has begun in, the first one's rest included.
    rounds: u32,
}

impl HystartPlusPlus {
    /// At the beginning of a connection.
    pub fn new(params: Params) -> HystartPlusPlus {
        HystartPlusPlus {
            params,
            round: None,
            last_least: None,
            least: None,
            samples: 0,
            conservative: None,
            watches: true,
        }
    }

    /// A round begins. Returns whether conservative slow start has lasted long enough.
    fn begin_round(&mut self, round: u64) -> bool {
        if self.round.replace(round) == Some(round) {
            return false;
        }
        (self.last_least, self.least, self.samples) = (self.least, None, 0);
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds > self.params.rounds
    }

    fn compare(&mut self) {
        let Params { threshold_min, threshold_max, divisor, samples, .. } = self.params;
        if self.samples < samples {
            return;
        }
        let Some(least) = self.least else { return };
        match self.conservative {
            //= RFC 9406 §4.2: the rise was spurious
            Some(Conservative { baseline, .. }) if least < baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let Some(last) = self.last_least else { return };
                let part = Span::from_secs_f64(last.as_secs() / divisor);
                if least >= last + part.min(threshold_max).max(threshold_min) {
                    self.conservative = Some(Conservative { baseline: least, rounds: 1 });
                }
            }
        }
    }
}

impl SlowStart for HystartPlusPlus {
    fn growth(&mut self, ack: &Ack, _cwnd: f64) -> Option<f64> {
        if !self.watches {
            return Some(1.0);
        }
        if self.begin_round(ack.round) {
            self.watches = false;
            return None;
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.compare();
        Some(if self.conservative.is_some() { 1.0 / self.params.growth_divisor } else { 1.0 })
    }

    //= RFC 9406 §4.3: the first slow start only
    fn on_congestion(&mut self) {
        self.watches = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::ack;

    /// Rounds of ten samples each, at these milliseconds: what the last ACK of each round brought.
    fn rounds(rtts_ms: &[u64]) -> Vec<Option<f64>> {
        let mut slow_start = HystartPlusPlus::new(Params::default());
        let mut brought = Vec::new();
        for (round, rtt_ms) in (0..).zip(rtts_ms) {
            let sample = Ack { rtt: Some(Span::from_millis(*rtt_ms)), round, ..ack(1000) };
            let growth: Vec<_> = (0..10).map(|_| slow_start.growth(&sample, 100.0)).collect();
            if growth.contains(&None) {
                brought.push(None);
                break;
            }
            brought.push(growth[9]);
        }
        brought
    }

    #[test]
    fn a_rise_of_an_eighth_slows_growth_and_five_rounds_of_it_end_slow_start() {
        let quarter = Some(0.25);
        // 80 ms / 8 = 10 ms
        assert_eq!(
            rounds(&[80, 89, 99, 101, 103, 105, 107, 109, 111]),
            [
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0),
                Some(1.0)
            ],
            "each round is compared with the last"
        );
        assert_eq!(
            rounds(&[80, 90, 91, 92, 93, 94, 95, 96]),
            [Some(1.0), quarter, quarter, quarter, quarter, quarter, None]
        );
    }

    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        let quarter = Some(0.25);
        assert_eq!(rounds(&[80, 95, 96, 94, 95]), [Some(1.0), quarter, quarter, Some(1.0), Some(1.0)]);
    }

    #[test]
    fn thresholds_bound_the_rise() {
        // an eighth of 10 ms is below 4 ms, one of 400 ms above 16 ms
        assert_eq!(rounds(&[10, 13]), [Some(1.0), Some(1.0)]);
        assert_eq!(rounds(&[10, 14]), [Some(1.0), Some(0.25)]);
        assert_eq!(rounds(&[400, 415]), [Some(1.0), Some(1.0)]);
        assert_eq!(rounds(&[400, 416]), [Some(1.0), Some(0.25)]);
    }

    #[test]
    fn a_round_with_few_samples_tells_nothing() {
        let mut slow_start = HystartPlusPlus::new(Params { samples: 11, ..Params::default() });
        for (round, rtt_ms) in [(0, 80), (1, 200)] {
            let sample = Ack { rtt: Some(Span::from_millis(rtt_ms)), round, ..ack(1000) };
            assert!((0..10).all(|_| slow_start.growth(&sample, 100.0) == Some(1.0)));
        }
    }
}
