//! ProbeRTT and the minimum RTT that it measures.

use super::Params;
use airwnd_units::{Span, Time};

/// State of ProbeRTT.
//= draft-ietf-ccwg-bbr-06 §5.3.4.3: HandleProbeRTT()
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeRtt {
    /// Waiting until the bytes in flight are at most the window.
    Emptying,
    /// Measuring the RTT, at least until `until` and for one round trip.
    Measuring { until: Time, round_done: bool },
}

impl ProbeRtt {
    /// Returns whether the minimum duration has passed.
    pub fn is_over(&self, now: Time) -> bool {
        matches!(self, ProbeRtt::Measuring { until, .. } if now > *until)
    }
}

/// Minimum RTT of the filter window, and of the time since the last probe.
//= draft-ietf-ccwg-bbr-06 §5.3.4.3
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    min: Option<Span>,
    at: Time,
    recent: Option<Span>,
    recent_at: Time,
    /// Whether a probe is due.
    pub expired: bool,
}

impl MinRtt {
    /// State before the first sample.
    pub const NONE: MinRtt =
        MinRtt { min: None, at: Time::ZERO, recent: None, recent_at: Time::ZERO, expired: false };

    /// Returns the minimum RTT; `None` before the first sample.
    pub fn get(&self) -> Option<Span> {
        self.min
    }

    /// Uses the RTT of the handshake if there is no sample yet.
    pub fn begin(&mut self, now: Time, rtt: Span) {
        if self.min.is_none() {
            (self.min, self.at) = (Some(rtt), now);
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
        if outdated || self.min.is_none_or(|min| recent < min) {
            (self.min, self.at) = (Some(recent), self.recent_at);
        }
    }

    /// Handles the end of a probe: the next one is due an interval from now.
    pub fn probed(&mut self, now: Time) {
        self.recent_at = now;
    }
}
