//! Startup and Drain: full-pipe detection and drain of the excess.

use super::Params;

/// Full-pipe detector. Startup ends when the pipe is full; each UP restarts the detection.
//= draft-ietf-ccwg-bbr-06 §5.3.1.2
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the pipe has been full since Startup began.
    pub reached: bool,
    /// Whether the pipe is full, by the round trips since the last [`reset`](FullPipe::reset).
    pub now: bool,
    bw: f64,
    rounds: u32,
}

impl FullPipe {
    /// Restarts the detection, with growth measured from this delivery rate.
    pub fn reset(&mut self, bw: f64) {
        *self = FullPipe { reached: self.reached, now: false, bw, rounds: 0 };
    }

    /// Marks the pipe as full because of losses.
    pub fn reach(&mut self) {
        (self.reached, self.now) = (true, true);
    }

    /// Handles the beginning of a round trip with a delivery rate that is not application-limited.
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

/// State of Drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drain {
    /// Round trip in which Drain began.
    pub since_round: u64,
}

impl Drain {
    /// Returns whether Drain has exceeded its maximum number of round trips.
    //= draft-ietf-ccwg-bbr-06 §5.3.2: CheckDrainDone()
    pub fn is_long(&self, round: u64, params: &Params) -> bool {
        round > self.since_round + u64::from(params.drain_rounds)
    }
}
