//! What keeps a sender from sending more, and for how long it has.

use airwnd_units::{Span, Time};

/// What keeps a sender from sending more (RFC 4898 tcpEStatsPerfSndLimState).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The application has nothing more to send, or too little.
    Application,
    /// The application has more than the send buffer can hold.
    SendBuffer,
    /// The congestion window is used up.
    CongestionWindow,
    /// The receiver offers no more.
    ReceiveWindow,
    /// The next segment waits for its time.
    Pacing,
}

/// For how long a sender has been limited by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// By the application.
    pub application: Span,
    /// By the send buffer, which was full.
    pub send_buffer: Span,
    /// By the congestion window.
    pub congestion_window: Span,
    /// By the window that the receiver offers.
    pub receive_window: Span,
    /// By its pace.
    pub pacing: Span,
}

/// A clock for each limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    now: Option<(Limit, Time)>,
    sums: Limited,
}

impl Limits {
    /// From `now` on this is the limit; `None` before there is a connection.
    pub fn note(&mut self, now: Time, limit: Limit) {
        match self.now {
            Some((current, _)) if current == limit => {}
            _ => {
                self.sums = self.until(now);
                self.now = Some((limit, now));
            }
        }
    }

    /// The sums up to `now`.
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
    fn each_limit_has_its_time() {
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
