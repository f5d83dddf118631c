//! ProbeBW: cycles of DOWN, CRUISE, REFILL and UP.

use super::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// Doublings after which inflight_longterm grows no faster (draft-ietf-ccwg-bbr-06 §5.3.3.9).
const MOST_DOUBLINGS: u32 = 30;

/// A phase of a probe for bandwidth.
//= draft-ietf-ccwg-bbr-06 §5.3.3
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProbeBw {
    /// Empties the queue.
    Down(Cycle),
    /// Keeps the pipe full and leaves headroom to others.
    Cruise(Cycle),
    /// Fills the pipe for a round trip.
    Refill,
    /// Looks for more bandwidth.
    Up(Up),
}

/// The time between two probes, which DOWN begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cycle {
    began: Time,
    wait: Span,
    /// Round trips so far; it may begin with one.
    rounds: u64,
}

impl Cycle {
    /// A cycle that begins now.
    //= draft-ietf-ccwg-bbr-06 §5.3.3.8: PickProbeWait()
    pub fn begin(now: Time, random: &mut Stream, params: &Params) -> Cycle {
        let rounds = u64::from(random.uniform() >= 0.5);
        let spread = random.uniform() * params.probe_wait_spread.as_secs();
        Cycle { began: now, wait: params.probe_wait + Span::from_secs_f64(spread), rounds }
    }

    /// A round trip begins.
    pub fn on_round(&mut self) {
        self.rounds += 1;
    }

    /// Whether the next probe is due, if its target are so many segments in flight.
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

/// How UP raises inflight_longterm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Up {
    rounds: u32,
    acked: f64,
    acked_per_increase: f64,
}

impl Up {
    /// It begins slowly: by a segment a round trip.
    pub fn begin(cwnd: f64, mss: f64) -> Up {
        let mut up = Up { rounds: 0, acked: 0.0, acked_per_increase: f64::INFINITY };
        up.raise_slope(cwnd, mss);
        up
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: RaiseInflightLongtermSlope()
    fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = f64::from(1_u32 << self.rounds);
        self.rounds = (self.rounds + 1).min(MOST_DOUBLINGS);
        self.acked_per_increase = (cwnd / growth).max(mss);
    }

    /// So much was acknowledged while inflight_longterm was the limit; returns by how many segments it rises.
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

/// The part of a probe for bandwidth that sent the data of this ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// None.
    Init,
    /// REFILL.
    Refilling,
    /// The first round trip of UP, whose ACKs are of what was sent before.
    Starting,
    /// UP.
    Feedback,
    /// What UP had in flight when it ended.
    Stopping,
}

/// What the last probe has found. It outlives UP, whose last ACKs come in DOWN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub phase: AckPhase,
    /// Whether samples are of data that a probe sent.
    pub sampled: bool,
    /// Whether too much was lost.
    pub too_high: bool,
    /// Whether it ended before that, at the limit that the one before had found.
    pub precautionary: bool,
}

impl Feedback {
    /// No probe yet.
    pub const NONE: Feedback =
        Feedback { phase: AckPhase::Init, sampled: false, too_high: false, precautionary: false };
}
