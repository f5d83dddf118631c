//! ProbeBW: the cycle of pacing gains.

use super::super::Ack;
use super::{Bbr, Mode};
use airwnd_units::Time;

impl Bbr {
    pub(super) fn gain_of(&self, phase: u32) -> f64 {
        match phase {
            0 => self.params.probe_gain,
            1 => self.params.relief_gain,
            _ => 1.0,
        }
    }

    /// Starts the gain cycle at a random phase, except the draining one: no queue was built before it.
    pub(super) fn cycle(&mut self, now: Time) {
        let phases = self.params.cycle_phases;
        let skipped = (self.random.uniform() * f64::from(phases - 1)) as u32;
        self.mode = Mode::ProbeBw { phase: (phases - skipped) % phases, began: now };
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4.3
    pub(super) fn advance_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeBw { phase, began } = self.mode else { return };
        let is_long = self.min_rtt.is_some_and(|rtt| ack.now - began > rtt);
        let before = ack.prior_in_flight.0 as f64;
        let ends = if self.pacing_gain == 1.0 {
            is_long
        } else if self.pacing_gain > 1.0 {
            is_long && (ack.lost.0 > 0 || before >= self.inflight(self.pacing_gain))
        } else {
            is_long || before <= self.inflight(1.0)
        };
        if ends {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % self.params.cycle_phases, began: ack.now };
        }
    }
}
