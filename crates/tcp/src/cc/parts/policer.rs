//! Detection of token-bucket policers.

use airwnd_units::{Span, Time};

/// Minimum interval from which a rate is computed.
const SHORTEST: Span = Span::from_millis(1);
/// Maximum length of an interval as a multiple of its minimum number of round trips; a longer one is discarded.
const LONGEST: u32 = 4;

/// Criteria for a policer, and how long its rate applies.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Criteria {
    /// Minimum number of round trips of an interval.
    pub rounds: u32,
    /// Minimum ratio of lost to delivered bytes of an interval.
    pub loss: f64,
    /// Maximum relative difference of the rates of two intervals.
    pub ratio: f64,
    /// Difference of the two rates that is always accepted, in bytes per second.
    pub difference: f64,
    /// Number of round trips for which a detected policer's rate applies.
    pub hold: u32,
}

/// Long-term bandwidth sampling of Linux: two consecutive intervals with high loss and the same rate indicate a
/// policer, whose rate then applies for a number of round trips.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Policer {
    criteria: Criteria,
    /// Total bytes declared lost.
    pub lost: u64,
    sampling: bool,
    in_force: bool,
    /// Rate of the last interval or of the policer, in bytes per second.
    rate: f64,
    rounds: u32,
    /// Start of the interval, and the bytes delivered and lost before it.
    began: Time,
    delivered: u64,
    lost_before: u64,
}

/// Input of the detector from an ACK or a timeout.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Step {
    pub now: Time,
    /// Total bytes delivered so far.
    pub delivered: u64,
    pub has_loss: bool,
    pub app_limited: bool,
    pub begins_round: bool,
    /// Whether the pacing gain is being cycled (ProbeBW).
    pub cycles: bool,
}

impl Policer {
    /// Creates a detector without a detected policer.
    pub fn new(criteria: Criteria) -> Policer {
        Policer {
            criteria,
            lost: 0,
            sampling: false,
            in_force: false,
            rate: 0.0,
            rounds: 0,
            began: Time::ZERO,
            delivered: 0,
            lost_before: 0,
        }
    }

    /// Returns the policer's rate while it applies.
    pub fn rate(&self) -> Option<f64> {
        self.in_force.then_some(self.rate)
    }

    /// Advances the detector. Returns whether the policer's rate has just expired.
    pub fn update(&mut self, step: &Step) -> bool {
        if self.in_force {
            self.rounds += u32::from(step.cycles && step.begins_round);
            let done = self.rounds >= self.criteria.hold;
            if done {
                self.reset();
            }
            return done;
        }
        // The first loss shows that the bucket's saved tokens are used up.
        if !self.sampling {
            if !step.has_loss {
                return false;
            }
            self.begin(step);
            self.sampling = true;
        }
        self.rounds += u32::from(step.begins_round);
        if step.app_limited || self.rounds > LONGEST * self.criteria.rounds {
            self.reset();
        } else if self.rounds >= self.criteria.rounds && step.has_loss {
            self.end(step);
        }
        false
    }

    /// Discards all measurements.
    pub fn reset(&mut self) {
        (self.rate, self.in_force, self.sampling) = (0.0, false, false);
    }

    fn begin(&mut self, step: &Step) {
        (self.began, self.delivered, self.lost_before) = (step.now, step.delivered, self.lost);
        self.rounds = 0;
    }

    fn end(&mut self, step: &Step) {
        let delivered = (step.delivered - self.delivered) as f64;
        let lost = (self.lost - self.lost_before) as f64;
        let length = step.now - self.began;
        if delivered == 0.0 || lost < self.criteria.loss * delivered || length < SHORTEST {
            return;
        }
        let rate = delivered / length.as_secs();
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0
            && (difference <= self.criteria.ratio * self.rate || difference <= self.criteria.difference)
        {
            (self.rate, self.in_force, self.rounds) = ((self.rate + rate) / 2.0, true, 0);
        } else {
            self.rate = rate;
            self.begin(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Criteria of Linux.
    const CRITERIA: Criteria = Criteria { rounds: 4, loss: 0.195, ratio: 0.125, difference: 500.0, hold: 48 };

    fn step(ms: u64, delivered: u64, has_loss: bool) -> Step {
        let now = Time(ms * 1_000_000);
        Step { now, delivered, has_loss, app_limited: false, begins_round: true, cycles: true }
    }

    /// Runs twelve round trips of 100 ms with `lost` bytes lost in each and `delivered` bytes in total; returns the
    /// detected rate.
    fn detected_rate(lost: u64, delivered: impl Fn(u64) -> u64) -> Option<f64> {
        let mut policer = Policer::new(CRITERIA);
        for round in 0..12 {
            policer.lost += lost;
            policer.update(&step(100 * round, delivered(round), lost > 0));
        }
        policer.rate()
    }

    #[test]
    fn two_equal_intervals_with_high_loss_indicate_a_policer() {
        let steady = |round| 10_000 * round;
        assert_eq!(detected_rate(2500, steady), Some(100_000.0));
        // below 50/256 of what is delivered
        assert_eq!(detected_rate(1500, steady), None);
        // each interval twice the one before
        assert_eq!(detected_rate(2_500_000, |round| 10_000 << round), None);
    }

    #[test]
    fn a_policers_rate_expires_after_48_round_trips() {
        let mut policer = Policer::new(CRITERIA);
        let mut round = 0;
        while policer.rate().is_none() {
            policer.lost += 3000;
            assert!(!policer.update(&step(100 * round, 10_000 * round, true)));
            round += 1;
        }
        for more in 1..=48 {
            assert_eq!(policer.update(&step(100 * (round + more), 10_000 * round, true)), more == 48);
        }
        assert_eq!(policer.rate(), None);
    }
}
