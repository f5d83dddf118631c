//! Startup and Drain: the pipe is filled, and what is too much flows out.

use super::Params;

/// Whether the pipe is full: Startup ends when it is, and each UP looks anew.
//= draft-ietf-ccwg-bbr-06 §5.3.1.2
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Whether it has ever been, since Startup began.
    pub reached: bool,
    /// Whether it is, by the rounds since the last [`reset`](FullPipe::reset).
    pub now: bool,
    bw: f64,
    rounds: u32,
}

impl FullPipe {
    /// Looks anew for growth over this delivery rate.
    pub fn reset(&mut self, bw: f64) {
        *self = FullPipe { reached: self.reached, now: false, bw, rounds: 0 };
    }

    /// The path does not bear more, by its losses.
    pub fn reach(&mut self) {
        (self.reached, self.now) = (true, true);
    }

    /// A round has begun, at this delivery rate, which the application did not limit.
    //= draft-ietf-ccwg-bbr-06 §5.3.1.2: CheckFullBWReached()
    pub fn on_round(&mut self, rate: f64, params: &Params) {
        if self.now {
            return;
        }
        if rate >= self.bw * params.full_growth {
            self.reset(rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= params.full_rounds;
        self.reached |= self.now;
    }
}

/// Drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drain {
    /// The round in which it began.
    pub since_round: u64,
}

impl Drain {
    /// Whether it has taken as many rounds as it may.
    //= draft-ietf-ccwg-bbr-06 §5.3.2: CheckDrainDone()
    pub fn is_long(&self, round: u64, params: &Params) -> bool {
        round > self.since_round + u64::from(params.drain_rounds)
    }
}
