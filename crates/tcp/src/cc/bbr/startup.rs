//! Startup and Drain: growth until the pipe is full, and the end of the queue that it leaves.

use super::{Bbr, Mode};
use airwnd_units::Time;

impl Bbr {
    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.2.2
    pub(super) fn check_full_pipe(&mut self, app_limited: bool) {
        if self.filled || !self.begins_round || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * self.params.full_growth {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.filled = self.full_rounds >= self.params.full_rounds;
    }

    pub(super) fn check_drain(&mut self, now: Time) {
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(1.0).max(self.mss);
        }
        if self.mode == Mode::Drain && self.in_flight <= self.inflight(1.0) {
            self.cycle(now);
        }
    }
}
