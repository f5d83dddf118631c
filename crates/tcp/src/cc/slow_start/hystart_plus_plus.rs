//! HyStart++: conservative slow start before leaving slow start, in case the delay increase was spurious.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::Params;
use airwnd_units::Span;

/// HyStart++: on an RTT increase, grows at a quarter of the rate for some rounds, then ends or resumes slow start.
///
/// The minimum RTT of each round, over at least `samples` samples, is compared with that of the last round.
/// Conservative slow start begins when
///
/// ```math
/// \mathit{RTT}_{\text{round}} \ge \mathit{RTT}_{\text{last}}
/// + \max(T_{\min}, \, \min(\mathit{RTT}_{\text{last}} / \mathrm{divisor}, \, T_{\max}))
/// ```
///
/// with T_min = `threshold_min` and T_max = `threshold_max`. If the RTT falls below that at the beginning of
/// conservative slow start, the increase was spurious and slow start resumes. Otherwise slow start ends after `rounds`
/// rounds. HyStart++ is active in the first slow start only; later ones have a finite ssthresh (§4.3).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9406")]
pub struct Params {
    /// Minimum RTT increase threshold (MIN_RTT_THRESH).
    #[param(basic, default = Span::from_millis(4), range = Span(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "RFC 9406 §4.3")]
    pub threshold_min: Span,
    /// Maximum RTT increase threshold (MAX_RTT_THRESH).
    #[param(basic, default = Span::from_millis(16), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9406 §4.3")]
    pub threshold_max: Span,
    /// Divisor of the last round's minimum RTT that yields the threshold (MIN_RTT_DIVISOR).
    #[param(default = 8.0, range = 0.1..=1000.0, unit = "1", source = "RFC 9406 §4.3")]
    pub divisor: f64,
    /// Minimum number of RTT samples per round (N_RTT_SAMPLE).
    #[param(default = 8, range = 1..=1000, unit = "1", source = "RFC 9406 §4.3")]
    pub samples: u32,
    /// Divisor of the growth in conservative slow start (CSS_GROWTH_DIVISOR).
    #[param(default = 4.0, range = 1.0..=1000.0, unit = "1", source = "RFC 9406 §4.3")]
    pub growth_divisor: f64,
    /// Rounds of conservative slow start before congestion avoidance (CSS_ROUNDS).
    #[param(default = 5, range = 1..=1000, unit = "rounds", source = "RFC 9406 §4.3")]
    pub rounds: u32,
}

/// State of HyStart++.
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    params: Params,
    round: Option<u64>,
    last_min: Option<Span>,
    min: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
    active: bool,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// Minimum RTT at its beginning (cssBaselineMinRtt).
    baseline: Span,
    /// Rounds so far, including the rest of the first one.
    rounds: u32,
}

impl HystartPlusPlus {
    /// Creates the state of a new connection.
    pub fn new(params: Params) -> HystartPlusPlus {
        HystartPlusPlus {
            params,
            round: None,
            last_min: None,
            min: None,
            samples: 0,
            conservative: None,
            active: true,
        }
    }

    /// Begins a new round if there is one. Returns whether conservative slow start is complete.
    fn begin_round(&mut self, round: u64) -> bool {
        if self.round.replace(round) == Some(round) {
            return false;
        }
        (self.last_min, self.min, self.samples) = (self.min, None, 0);
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds > self.params.rounds
    }

    fn compare(&mut self) {
        let Params { threshold_min, threshold_max, divisor, samples, .. } = self.params;
        if self.samples < samples {
            return;
        }
        let Some(min) = self.min else { return };
        match self.conservative {
            //= RFC 9406 §4.2: the rise was spurious
            Some(Conservative { baseline, .. }) if min < baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let Some(last) = self.last_min else { return };
                let part = Span::from_secs_f64(last.as_secs() / divisor);
                if min >= last + part.min(threshold_max).max(threshold_min) {
                    self.conservative = Some(Conservative { baseline: min, rounds: 1 });
                }
            }
        }
    }
}

impl SlowStart for HystartPlusPlus {
    fn growth(&mut self, ack: &Ack, _cwnd: f64) -> Option<f64> {
        if !self.active {
            return Some(1.0);
        }
        if self.begin_round(ack.round) {
            self.active = false;
            return None;
        }
        if let Some(rtt) = ack.rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        self.compare();
        Some(if self.conservative.is_some() { 1.0 / self.params.growth_divisor } else { 1.0 })
    }

    //= RFC 9406 §4.3: the first slow start only
    fn on_congestion(&mut self) {
        self.active = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::ack;

    /// Runs rounds of ten samples each with these RTTs; returns the growth of the last ACK of each round.
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
    fn an_increase_of_an_eighth_slows_growth_and_ends_slow_start_after_five_rounds() {
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
    fn an_rtt_below_the_baseline_resumes_slow_start() {
        let quarter = Some(0.25);
        assert_eq!(rounds(&[80, 95, 96, 94, 95]), [Some(1.0), quarter, quarter, Some(1.0), Some(1.0)]);
    }

    #[test]
    fn thresholds_bound_the_increase() {
        // an eighth of 10 ms is below 4 ms, one of 400 ms above 16 ms
        assert_eq!(rounds(&[10, 13]), [Some(1.0), Some(1.0)]);
        assert_eq!(rounds(&[10, 14]), [Some(1.0), Some(0.25)]);
        assert_eq!(rounds(&[400, 415]), [Some(1.0), Some(1.0)]);
        assert_eq!(rounds(&[400, 416]), [Some(1.0), Some(0.25)]);
    }

    #[test]
    fn a_round_with_few_samples_is_ignored() {
        let mut slow_start = HystartPlusPlus::new(Params { samples: 11, ..Params::default() });
        for (round, rtt_ms) in [(0, 80), (1, 200)] {
            let sample = Ack { rtt: Some(Span::from_millis(rtt_ms)), round, ..ack(1000) };
            assert!((0..10).all(|_| slow_start.growth(&sample, 100.0) == Some(1.0)));
        }
    }
}
