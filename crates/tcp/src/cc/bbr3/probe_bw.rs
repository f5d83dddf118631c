//! ProbeBW: cycles of DOWN, CRUISE, REFILL and UP.

use super::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// Maximum number of doublings of inflight_longterm's growth rate (draft-ietf-ccwg-bbr-06 §5.3.3.9).
const MAX_DOUBLINGS: u32 = 30;

/// Phase of a bandwidth-probing cycle.
//= draft-ietf-ccwg-bbr-06 §5.3.3
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProbeBw {
    /// Drains the queue.
    Down(Cycle),
    /// Keeps the pipe full and leaves headroom to other flows.
    Cruise(Cycle),
    /// Fills the pipe for one round trip.
    Refill,
    /// Probes for more bandwidth.
    Up(Up),
}

/// Interval between two probes, from the beginning of DOWN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cycle {
    began: Time,
    wait: Span,
    /// Round trips so far; its initial value is 0 or 1 at random.
    rounds: u64,
}

impl Cycle {
    /// Begins a cycle.
    //= draft-ietf-ccwg-bbr-06 §5.3.3.8: PickProbeWait()
    pub fn begin(now: Time, random: &mut Stream, params: &Params) -> Cycle {
        let rounds = u64::from(random.uniform() >= 0.5);
        let spread = random.uniform() * params.probe_wait_spread.as_secs();
        Cycle { began: now, wait: params.probe_wait + Span::from_secs_f64(spread), rounds }
    }

    /// Counts a round trip.
    pub fn on_round(&mut self) {
        self.rounds += 1;
    }

    /// Returns whether the next probe is due, with `segments` the target number of segments in flight.
    //= draft-ietf-ccwg-bbr-06 §5.3.3.8: IsTimeToProbeBW()
    pub fn is_over(&self, now: Time, segments: f64, params: &Params) -> bool {
        let rounds = segments.min(f64::from(params.probe_rounds));
        now > self.began + self.wait || self.rounds as f64 >= rounds
    }

    #[cfg(test)]
    pub fn wait(&self) -> Span {
        self.wait
    }
}

/// Growth of inflight_longterm in UP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Up {
    rounds: u32,
    acked: f64,
    acked_per_increase: f64,
}

impl Up {
    /// Begins with the slowest growth: one segment per round trip.
    pub fn begin(cwnd: f64, mss: f64) -> Up {
        let mut up = Up { rounds: 0, acked: 0.0, acked_per_increase: f64::INFINITY };
        up.raise_slope(cwnd, mss);
        up
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: RaiseInflightLongtermSlope()
    fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = f64::from(1_u32 << self.rounds);
        self.rounds = (self.rounds + 1).min(MAX_DOUBLINGS);
        self.acked_per_increase = (cwnd / growth).max(mss);
    }

    /// Adds `acked` bytes acknowledged while inflight_longterm was the limit. Returns the number of segments by which
    /// it rises.
    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: ProbeInflightLongtermUpward()
    pub fn raise(&mut self, acked: f64, begins_round: bool, cwnd: f64, mss: f64) -> f64 {
        self.acked += acked;
        let mut segments = 0.0;
        if self.acked >= self.acked_per_increase {
            segments = (self.acked / self.acked_per_increase).floor();
            self.acked -= segments * self.acked_per_increase;
        }
        if begins_round {
            self.raise_slope(cwnd, mss);
        }
        segments
    }
}

/// Part of a bandwidth probe in which the data of this ACK was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Outside a probe.
    Init,
    /// REFILL.
    Refilling,
    /// First round trip of UP, whose ACKs are for data sent before it.
    Starting,
    /// UP.
    Feedback,
    /// Data in flight at the end of UP.
    Stopping,
}

/// Result of the last probe. It outlives UP, whose last ACKs arrive in DOWN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub phase: AckPhase,
    /// Whether samples are for data sent during a probe.
    pub sampled: bool,
    /// Whether the loss rate exceeded the threshold.
    pub too_high: bool,
    /// Whether the probe ended before that, at the limit found by the previous one.
    pub precautionary: bool,
}

impl Feedback {
    /// State before the first probe.
    pub const NONE: Feedback =
        Feedback { phase: AckPhase::Init, sampled: false, too_high: false, precautionary: false };
}
