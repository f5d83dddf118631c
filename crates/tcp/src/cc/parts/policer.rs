//! Whether a token bucket drops what is above a rate.

use airwnd_units::{Span, Time};

/// The shortest interval that a rate is told from.
const SHORTEST: Span = Span::from_millis(1);
/// Multiple of the least rounds of an interval after which it is given up.
const LONGEST: u32 = 4;

/// When two intervals mean a policer, and for how long.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Criteria {
    /// The least round trips of an interval.
    pub rounds: u32,
    /// Lost bytes to delivered ones of an interval, at least.
    pub loss: f64,
    /// Part by which the rates of two intervals may differ.
    pub ratio: f64,
    /// Bytes per second by which they always may.
    pub difference: f64,
    /// Round trips for which a policer is believed in.
    pub hold: u32,
}

/// Linux's long-term sampling: two intervals in a row with much loss and the same rate mean a policer, whose rate is
/// then used for a while.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Policer {
    criteria: Criteria,
    /// Bytes given up on so far.
    pub lost: u64,
    sampling: bool,
    in_force: bool,
    /// Bytes per second of the last interval, or of the policer.
    rate: f64,
    rounds: u32,
    /// When the interval began, and what was delivered and lost until then.
    began: Time,
    delivered: u64,
    lost_before: u64,
}

/// What an ACK or a timeout tells it.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Step {
    pub now: Time,
    /// Bytes delivered so far.
    pub delivered: u64,
    pub has_loss: bool,
    pub app_limited: bool,
    pub begins_round: bool,
    /// Whether the gain is cycled.
    pub cycles: bool,
}

impl Policer {
    /// None found yet.
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

    /// The rate of the policer, while one is believed in.
    pub fn rate(&self) -> Option<f64> {
        self.in_force.then_some(self.rate)
    }

    /// Returns whether it has been believed in for long enough.
    pub fn update(&mut self, step: &Step) -> bool {
        if self.in_force {
            self.rounds += u32::from(step.cycles && step.begins_round);
            let done = self.rounds >= self.criteria.hold;
            if done {
                self.forget();
            }
            return done;
        }
        // The first loss tells that the tokens of the past are spent.
        if !self.sampling {
            if !step.has_loss {
                return false;
            }
            self.begin(step);
            self.sampling = true;
        }
        self.rounds += u32::from(step.begins_round);
        if step.app_limited || self.rounds > LONGEST * self.criteria.rounds {
            self.forget();
        } else if self.rounds >= self.criteria.rounds && step.has_loss {
            self.end(step);
        }
        false
    }

    /// All that was learnt is for nothing.
    pub fn forget(&mut self) {
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

    /// Linux's.
    const CRITERIA: Criteria = Criteria { rounds: 4, loss: 0.195, ratio: 0.125, difference: 500.0, hold: 48 };

    fn step(ms: u64, delivered: u64, has_loss: bool) -> Step {
        let now = Time(ms * 1_000_000);
        Step { now, delivered, has_loss, app_limited: false, begins_round: true, cycles: true }
    }

    /// Each 100 ms a round trip of 10 kB delivered, and `lost` bytes lost.
    fn believes(lost: u64, delivered: impl Fn(u64) -> u64) -> Option<f64> {
        let mut policer = Policer::new(CRITERIA);
        for round in 0..12 {
            policer.lost += lost;
            policer.update(&step(100 * round, delivered(round), lost > 0));
        }
        policer.rate()
    }

    #[test]
    fn two_like_intervals_with_much_loss_make_a_policer() {
        let steady = |round| 10_000 * round;
        assert_eq!(believes(2500, steady), Some(100_000.0));
        // below 50/256 of what is delivered
        assert_eq!(believes(1500, steady), None);
        // each interval twice the one before
        assert_eq!(believes(2_500_000, |round| 10_000 << round), None);
    }

    #[test]
    fn it_is_believed_in_for_so_many_round_trips() {
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
