//! What classic controllers share: a window, a threshold, slow start and the halving of Reno.

use crate::cc::newreno::Growth;
use crate::cc::{Before, Congestion, SenderContext, Signal};
use airwnd_rwnd::ledbat::{self, Sign};
use airwnd_units::Bytes;

pub(in crate::cc) use airwnd_rwnd::ledbat::LARGEST;

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

/// The window and threshold of a sender: those that LEDBAT has at either end, and what only senders do with them.
#[derive(Clone, Debug)]
pub(crate) struct Window(ledbat::Window);

impl Window {
    pub fn new(ctx: &SenderContext) -> Window {
        Window(ledbat::Window::new(ctx.mss, ctx.initial_window, ctx.initial_ssthresh))
    }

    pub fn segments(&self) -> f64 {
        self.0.segments()
    }

    /// So many bytes as segments.
    pub fn count(&self, bytes: Bytes) -> f64 {
        self.0.count(bytes)
    }

    /// The segments that growth above ssthresh counts for an ACK: all that it acknowledges, or one at most.
    pub fn counted(&self, acked: Bytes, growth: Growth) -> f64 {
        let segments = self.count(acked);
        match growth {
            Growth::PerAck => segments.min(1.0),
            Growth::PerByte => segments,
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    /// Sets the window, but never to less than one segment.
    pub fn set(&mut self, segments: f64) {
        self.0.set(segments);
    }

    pub fn add(&mut self, segments: f64) {
        self.set(self.segments() + segments);
    }

    //= RFC 5681 §3.1 eq. 2 and 3
    /// Grows as NewReno: in slow start by a segment for each ACK, then by 1 / cwnd; or by what was acknowledged.
    pub fn grow_as_reno(&mut self, acked: Bytes, growth: Growth) {
        if self.in_slow_start() {
            self.slow_start(self.count(acked).min(1.0));
        } else {
            self.add(self.counted(acked, growth) / self.segments());
        }
    }

    /// Slow start by so many segments, not beyond the threshold.
    pub fn slow_start(&mut self, segments: f64) {
        self.0.slow_start(segments);
    }

    /// The threshold, two segments at least; slow start ends where the window is.
    pub fn set_threshold(&mut self, segments: f64) {
        self.0.set_threshold(segments);
    }

    /// Lowers the threshold to the window, see [`ledbat::Window::end_slow_start`].
    pub fn end_slow_start(&mut self) {
        self.0.end_slow_start();
    }

    /// Keeps so many segments at a sign of congestion, see [`ledbat::Window::reduce`].
    pub fn reduce(&mut self, event: &Congestion, kept: f64) {
        self.0.reduce(event.signal.into(), kept);
    }

    pub fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }

    pub fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }

    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.0.set_cwnd(cwnd);
    }

    /// Undoes a reduction without a reason, see [`ledbat::Window::restore`].
    pub fn restore(&mut self, before: &Before) {
        self.0.restore(before.cwnd, before.ssthresh);
    }
}

impl From<Signal> for Sign {
    fn from(signal: Signal) -> Sign {
        match signal {
            Signal::Loss | Signal::Ecn => Sign::Loss,
            Signal::Timeout => Sign::Timeout,
            Signal::RepeatedTimeout => Sign::RepeatedTimeout,
        }
    }
}
