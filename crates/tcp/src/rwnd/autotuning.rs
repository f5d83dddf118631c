//! The ordinary window of a real receiver: it grows so that it never limits.

use super::{Advertisement, Ctx, RecvView, RwndController};
use airwnd_catalog::params;
use airwnd_units::{Bytes, Span, Time};

params! {
    /// Receive-buffer autotuning (dynamic right-sizing) as in Linux: twice what the last round trip brought.
    ///
    /// Once per round trip, when data is copied to the application: if more was copied than in any round trip
    /// before, the window becomes 2 * copied + 16 segments, enlarged by twice the growth rate, so that a
    /// sender in slow start is not held back. It only grows, up to `max`. The buffer is counted in payload;
    /// Linux sets half of it aside for packet overhead (`tcp_adv_win_scale` = 1), which `overhead` does here.
    /// The gradual opening of a new connection's window (rcv_ssthresh) is left out: a sender's initial window
    /// is smaller than the initial receive window.
    pub struct Params ("Feng et al., Dynamic right-sizing, 2001; Linux 5.4 net/ipv4/tcp_input.c tcp_rcv_space_adjust") {
        /// The buffer to begin with (tcp_rmem, second value).
        pub initial: Bytes = Bytes(131_072), unit "B", range Bytes(2_048)..=Bytes(1 << 30), source "Linux Documentation/networking/ip-sysctl.rst tcp_rmem";
        /// The largest buffer (tcp_rmem, third value).
        pub max: Bytes = Bytes(6_291_456), unit "B", range Bytes(2_048)..=Bytes(1 << 30), source "Linux Documentation/networking/ip-sysctl.rst tcp_rmem";
        /// The part of a buffer that payload can use.
        pub overhead: f64 = 0.5, unit "1", range 0.01..=1.0, source "Linux Documentation/networking/ip-sysctl.rst tcp_adv_win_scale = 1";
        /// Whether it grows (tcp_moderate_rcvbuf).
        pub grow: bool = true, unit "1", source "Linux Documentation/networking/ip-sysctl.rst tcp_moderate_rcvbuf";
    }
}

/// The state of autotuning.
#[derive(Clone, Debug)]
pub struct Autotuning {
    window: u64,
    max: u64,
    mss: u64,
    grow: bool,
    /// The most that one round trip brought (rcvq_space.space).
    space: u64,
    copied: u64,
    since: Option<Time>,
}

impl Autotuning {
    /// An initial window.
    pub fn new(params: Params, ctx: &Ctx) -> Autotuning {
        let payload = |buffer: Bytes| (buffer.0 as f64 * params.overhead) as u64;
        //= exception autotuning-opens-at-once
        let window = payload(params.initial);
        Autotuning {
            window,
            max: payload(params.max).max(window),
            mss: ctx.mss.0,
            grow: params.grow,
            space: window.min(10 * ctx.mss.0),
            copied: 0,
            since: None,
        }
    }

    fn end_of_round_trip(&mut self) {
        if self.copied > self.space {
            let window = 2 * self.copied + 16 * self.mss;
            let growth = window * (self.copied - self.space) / self.space;
            if self.grow {
                self.window = self.window.max((window + 2 * growth).min(self.max));
            }
            self.space = self.copied;
        }
    }
}

impl RwndController for Autotuning {
    fn on_copied(&mut self, now: Time, copied: Bytes, view: &RecvView) {
        self.copied += copied.0;
        let since = *self.since.get_or_insert(now);
        if now.since(since) < view.rtt.unwrap_or(Span::MAX) {
            return;
        }
        self.end_of_round_trip();
        self.copied = 0;
        self.since = Some(now);
    }

    fn window(&mut self, _: Time, view: &RecvView) -> Advertisement {
        Advertisement::Window(Bytes(self.window).min(view.free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rwnd::tests_support::{MSS, ctx, view};

    fn after(params: Params, per_round_trip: &[u64]) -> u64 {
        let mut auto = Autotuning::new(params, &ctx());
        let view = view(Some(Span::from_millis(50)));
        auto.on_copied(Time::ZERO, Bytes::ZERO, &view);
        let mut now = Time::ZERO;
        for &segments in per_round_trip {
            now += Span::from_millis(50);
            auto.on_copied(now, Bytes(segments * MSS), &view);
        }
        auto.window
    }

    #[test]
    fn window_is_twice_what_a_round_trip_brought_and_room_for_slow_start() {
        // Half of 128 KiB to begin with.
        assert_eq!(after(Params::default(), &[10, 10]), 65_536);
        // 20 after 10: 2 * 20 + 16 = 56 segments, plus twice 56 * (20 - 10) / 10.
        assert_eq!(after(Params::default(), &[10, 20]), 168 * MSS);
        // Less brings it not down.
        assert_eq!(after(Params::default(), &[10, 20, 5]), 168 * MSS);
    }

    #[test]
    fn window_stops_at_the_maximum_or_does_not_move() {
        assert_eq!(after(Params::default(), &[20, 40, 80, 160, 320, 640]), 6_291_456 / 2);
        assert_eq!(after(Params { grow: false, ..Params::default() }, &[20, 40, 80]), 65_536);
    }
}
