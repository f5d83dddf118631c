//! ProbeRTT, and the least round-trip time that it measures.

use super::Params;
use airwnd_units::{Span, Time};

/// ProbeRTT.
//= draft-ietf-ccwg-bbr-06 §5.3.4.3: HandleProbeRTT()
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeRtt {
    /// More is in flight than the window allows.
    Emptying,
    /// The round-trip time is measured, at least until then and for a round trip.
    Measuring { until: Time, round_done: bool },
}

impl ProbeRtt {
    /// Whether the least time is over.
    pub fn is_over(&self, now: Time) -> bool {
        matches!(self, ProbeRtt::Measuring { until, .. } if now > *until)
    }
}

/// The least round-trip time of late, and that since the last probe.
//= draft-ietf-ccwg-bbr-06 §5.3.4.3
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    least: Option<Span>,
    at: Time,
    recent: Option<Span>,
    recent_at: Time,
    /// Whether a probe is due.
    pub expired: bool,
}

impl MinRtt {
    /// No sample yet.
    pub const NONE: MinRtt =
        MinRtt { least: None, at: Time::ZERO, recent: None, recent_at: Time::ZERO, expired: false };

    /// The least of late; `None` before the first sample.
    pub fn get(&self) -> Option<Span> {
        self.least
    }

    /// The handshake's round-trip time stands for samples if there are none.
    pub fn begin(&mut self, now: Time, rtt: Span) {
        if self.least.is_none() {
            (self.least, self.at) = (Some(rtt), now);
            (self.recent, self.recent_at) = (Some(rtt), now);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: UpdateMinRTT()
    pub fn update(&mut self, now: Time, rtt: Option<Span>, params: &Params) {
        self.expired = now > self.recent_at + params.probe_rtt_interval;
        if let Some(rtt) = rtt
            && (self.expired || self.recent.is_none_or(|min| rtt < min))
        {
            (self.recent, self.recent_at) = (Some(rtt), now);
        }
        let outdated = now > self.at + params.min_rtt_window;
        let Some(recent) = self.recent else { return };
        if outdated || self.least.is_none_or(|min| recent < min) {
            (self.least, self.at) = (Some(recent), self.recent_at);
        }
    }

    /// A probe ends: the next one is due an interval from now.
    pub fn probed(&mut self, now: Time) {
        self.recent_at = now;
    }
}
