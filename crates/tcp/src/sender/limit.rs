//! Send limits, and the time spent in each.

use airwnd_units::{Span, Time};

/// Reason why a sender does not send more (RFC 4898 tcpEStatsPerfSndLimState).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The application has no data, or too little to send.
    Application,
    /// The application has more data than fits into the send buffer.
    SendBuffer,
    /// The congestion window is exhausted.
    CongestionWindow,
    /// The receiver's advertised window is exhausted.
    ReceiveWindow,
    /// The next segment waits for its pacing time.
    Pacing,
}

/// Time spent in each send limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// Limited by the application.
    pub application: Span,
    /// Limited by a full send buffer.
    pub send_buffer: Span,
    /// Limited by the congestion window.
    pub congestion_window: Span,
    /// Limited by the receiver's advertised window.
    pub receive_window: Span,
    /// Limited by pacing.
    pub pacing: Span,
}

/// Accumulates the time of each limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    now: Option<(Limit, Time)>,
    sums: Limited,
}

impl Limits {
    /// Sets the limit from `now` on. No time is counted before the first call.
    #[inline]
    pub fn note(&mut self, now: Time, limit: Limit) {
        if self.now.is_none_or(|(current, _)| current != limit) {
            self.change(now, limit);
        }
    }

    // Out of line: a limit is noted for each segment and seldom changes.
    #[inline(never)]
    fn change(&mut self, now: Time, limit: Limit) {
        self.sums = self.until(now);
        self.now = Some((limit, now));
    }

    /// Returns the sums up to `now`.
    pub fn until(&self, now: Time) -> Limited {
        let mut sums = self.sums;
        if let Some((limit, since)) = self.now {
            let sum = match limit {
                Limit::Application => &mut sums.application,
                Limit::SendBuffer => &mut sums.send_buffer,
                Limit::CongestionWindow => &mut sums.congestion_window,
                Limit::ReceiveWindow => &mut sums.receive_window,
                Limit::Pacing => &mut sums.pacing,
            };
            *sum += now - since;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_accumulates_per_limit() {
        let mut limits = Limits::default();
        assert_eq!(limits.until(Time(7)), Limited::default());
        limits.note(Time(10), Limit::Application);
        limits.note(Time(15), Limit::CongestionWindow);
        limits.note(Time(20), Limit::CongestionWindow);
        limits.note(Time(40), Limit::ReceiveWindow);
        let sums = limits.until(Time(41));
        let expected = Limited {
            application: Span(5),
            send_buffer: Span(0),
            congestion_window: Span(25),
            receive_window: Span(1),
            pacing: Span(0),
        };
        assert_eq!(sums, expected);
    }
}
