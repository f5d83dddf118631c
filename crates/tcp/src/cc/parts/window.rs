//! What classic controllers share: a window, a threshold, slow start and the halving of Reno.

use crate::cc::newreno::Growth;
use crate::cc::{Before, Congestion, SenderContext, Signal};
use airwnd_units::Bytes;

/// No receiver can offer more (RFC 7323 §2.3), so no larger window means anything.
pub(in crate::cc) const LARGEST: f64 = (1_u64 << 30) as f64;
const NO_THRESHOLD: f64 = u64::MAX as f64;

/// The methods of a [`CongestionControl`](crate::cc::CongestionControl) that only pass on to its [`Window`], the
/// field of this path: what the window and the threshold are, and what others decide of them.
macro_rules! keeps_window {
    ($($window:ident).+) => {
        fn cwnd(&self) -> airwnd_units::Bytes {
            self.$($window).+.cwnd()
        }

        fn ssthresh(&self) -> airwnd_units::Bytes {
            self.$($window).+.ssthresh()
        }

        fn set_cwnd(&mut self, cwnd: airwnd_units::Bytes) {
            self.$($window).+.set_cwnd(cwnd);
        }

        fn on_spurious(&mut self, before: &$crate::cc::Before) {
            self.$($window).+.restore(before);
        }
    };
}
pub(in crate::cc) use keeps_window;

/// A congestion window and a slow-start threshold, both in segments.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    mss: f64,
    segments: f64,
    ssthresh: f64,
}

impl Window {
    pub fn new(ctx: &SenderContext) -> Window {
        let mss = ctx.mss.0 as f64;
        let segments = ctx.initial_window.0 as f64 / mss;
        Window { mss, segments, ssthresh: ctx.initial_ssthresh.0 as f64 / mss }
    }

    pub fn segments(&self) -> f64 {
        self.segments
    }

    /// So many bytes as segments.
    pub fn count(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.mss
    }

    pub fn in_slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }

    /// Sets the window, but never to less than one segment.
    pub fn set(&mut self, segments: f64) {
        self.segments = segments.clamp(1.0, LARGEST / self.mss);
    }

    pub fn add(&mut self, segments: f64) {
        self.set(self.segments + segments);
    }

    /// Slow start by so many segments, not beyond the threshold.
    pub fn slow_start(&mut self, segments: f64) {
        self.set((self.segments + segments).min(self.ssthresh));
    }

    //= RFC 5681 §3.1 eq. 2 and 3
    /// Grows as NewReno: in slow start by a segment for each ACK, then by 1 / cwnd; or by what was acknowledged.
    pub fn grow_as_reno(&mut self, acked: Bytes, growth: Growth) {
        if self.in_slow_start() {
            self.slow_start(self.count(acked).min(1.0));
        } else {
            let segments = self.count(acked);
            let counted = if growth == Growth::PerAck { segments.min(1.0) } else { segments };
            self.add(counted / self.segments);
        }
    }

    /// The threshold, two segments at least; slow start ends where the window is.
    pub fn set_threshold(&mut self, segments: f64) {
        self.ssthresh = segments.max(2.0);
    }

    /// Lowers the threshold to the window if it is higher: a window that came down by delay shall not leap back.
    pub fn end_slow_start(&mut self) {
        if self.in_slow_start() {
            self.set_threshold(self.segments);
        }
    }

    /// Keeps so many segments at a sign of congestion: the window comes down to them after a loss, to one
    /// segment after a timeout. A repeated timeout leaves the threshold.
    pub fn reduce(&mut self, event: &Congestion, kept: f64) {
        if event.signal != Signal::RepeatedTimeout {
            //= RFC 5681 §3.1 eq. 4
            self.set_threshold(kept);
        }
        let target = if !event.signal.is_timeout() { self.segments.min(self.ssthresh) } else { 1.0 };
        self.set(target);
    }

    pub fn cwnd(&self) -> Bytes {
        Bytes((self.segments * self.mss) as u64)
    }

    pub fn ssthresh(&self) -> Bytes {
        Bytes((self.ssthresh * self.mss).min(NO_THRESHOLD) as u64)
    }

    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.set(self.count(cwnd));
    }

    //= RFC 4015 §3.4: the whole earlier window is restored, as in Linux (tcp_undo_cwnd_reduction)
    /// What was before a reduction that had no reason, unless more has come since.
    pub fn restore(&mut self, before: &Before) {
        self.set(self.segments.max(self.count(before.cwnd)));
        self.ssthresh = self.ssthresh.max(self.count(before.ssthresh));
    }
}
