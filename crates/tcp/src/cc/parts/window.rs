//! Window, threshold, slow start and Reno's growth, shared by the loss-based controllers.

use crate::cc::newreno::Growth;
use crate::cc::{Before, Congestion, SenderContext, Signal};
use airwnd_rwnd::ledbat::{self, Sign};
use airwnd_units::Bytes;

pub(in crate::cc) use airwnd_rwnd::ledbat::LARGEST;

/// Implements the methods of [`CongestionControl`](crate::cc::CongestionControl) that delegate to the [`Window`] in the
/// given field: reading window and threshold, overriding the window, restarting and restoring it.
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

        fn restart(&mut self, cwnd: airwnd_units::Bytes, ssthresh: airwnd_units::Bytes) {
            self.$($window).+.restart(cwnd, ssthresh);
        }

        fn on_spurious(&mut self, before: &$crate::cc::Before) {
            self.$($window).+.restore(before);
        }
    };
}
pub(in crate::cc) use keeps_window;

/// Window and threshold of a sender: LEDBAT's, which sender and receiver share, with operations that only senders need.
#[derive(Clone, Debug)]
pub(crate) struct Window(ledbat::Window);

impl Window {
    pub fn new(ctx: &SenderContext) -> Window {
        Window(ledbat::Window::new(ctx.mss, ctx.initial_window, ctx.initial_ssthresh))
    }

    pub fn segments(&self) -> f64 {
        self.0.segments()
    }

    /// Converts bytes to segments.
    pub fn count(&self, bytes: Bytes) -> f64 {
        self.0.count(bytes)
    }

    /// Returns the segments that an ACK contributes to growth above ssthresh: all that it acknowledges, or at most one.
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

    /// Sets the window, at least one segment.
    pub fn set(&mut self, segments: f64) {
        self.0.set(segments);
    }

    pub fn add(&mut self, segments: f64) {
        self.set(self.segments() + segments);
    }

    //= RFC 5681 §3.1 eq. 2 and 3
    //= RFC 3465 §2.3: L = 2
    /// Grows as NewReno: in slow start by one segment per ACK, or by the acknowledged ones up to two; then by 1 / cwnd
    /// per ACK or per acknowledged segment.
    pub fn grow_as_reno(&mut self, acked: Bytes, growth: Growth) {
        let counted = self.counted(acked, growth);
        if self.in_slow_start() {
            self.slow_start(counted.min(2.0));
        } else {
            self.add(counted / self.segments());
        }
    }

    /// Grows in slow start by `segments`, up to the threshold.
    pub fn slow_start(&mut self, segments: f64) {
        self.0.slow_start(segments);
    }

    /// Sets the threshold, at least two segments. Slow start ends if the window has reached it.
    pub fn set_threshold(&mut self, segments: f64) {
        self.0.set_threshold(segments);
    }

    /// Lowers the threshold to the window, see [`ledbat::Window::end_slow_start`].
    pub fn end_slow_start(&mut self) {
        self.0.end_slow_start();
    }

    /// Reduces the window to `kept` segments at a congestion event, or to one segment at a timeout, see
    /// [`ledbat::Window::reduce`].
    pub fn reduce(&mut self, event: &Congestion, kept: f64) {
        self.0.reduce(event.signal.into(), kept);
    }

    /// Reduces the window as [`reduce`](Window::reduce) does, and then adds its part beyond whole segments.
    pub fn reduce_keeping_part(&mut self, event: &Congestion, kept: f64) {
        let part = self.segments() - libm::floor(self.segments());
        self.reduce(event, kept);
        self.add(part);
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

    /// Sets the window after an idle period, and raises the threshold to at least `ssthresh`.
    pub fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set_cwnd(cwnd);
        self.0.restore(Bytes::ZERO, ssthresh);
    }

    /// Undoes a spurious reduction, see [`ledbat::Window::restore`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::ctx;

    #[test]
    fn bytes_count_in_slow_start_up_to_two_segments() {
        for (growth, grown) in [(Growth::PerAck, [1, 1, 1]), (Growth::PerByte, [1, 2, 2])] {
            for (segments, by) in [1, 2, 3].into_iter().zip(grown) {
                let mut window = Window::new(&ctx(1000, 10));
                window.grow_as_reno(Bytes(segments * 1000), growth);
                assert_eq!(window.cwnd(), Bytes(10_000 + by * 1000), "{segments} segments, {growth:?}");
            }
        }
    }
}
