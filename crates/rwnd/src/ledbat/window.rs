//! A congestion window and a slow-start threshold, counted in segments.

use airwnd_units::Bytes;

/// Maximum window of a receiver (RFC 7323 §2.3); a larger cwnd has no effect.
pub const LARGEST: f64 = (1_u64 << 30) as f64;
const NO_THRESHOLD: f64 = u64::MAX as f64;

/// Congestion event that reduces a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A loss or a congestion mark.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// The timer expired again for the same segment.
    RepeatedTimeout,
}

/// A congestion window and a slow-start threshold, both in segments.
#[derive(Clone, Debug)]
pub struct Window {
    mss: f64,
    segments: f64,
    ssthresh: f64,
}

impl Window {
    /// Creates a window and a threshold in bytes, for segments of `mss` bytes.
    pub fn new(mss: Bytes, cwnd: Bytes, ssthresh: Bytes) -> Window {
        let mss = mss.0 as f64;
        let segments = cwnd.0 as f64 / mss;
        Window { mss, segments, ssthresh: ssthresh.0 as f64 / mss }
    }

    /// Returns the window in segments.
    pub fn segments(&self) -> f64 {
        self.segments
    }

    /// Converts bytes to segments.
    pub fn count(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.mss
    }

    /// Returns whether the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }

    /// Sets the window, to at least one segment.
    pub fn set(&mut self, segments: f64) {
        self.segments = segments.clamp(1.0, LARGEST / self.mss);
    }

    /// Grows the window by `segments` in slow start, up to the threshold.
    pub fn slow_start(&mut self, segments: f64) {
        self.set((self.segments + segments).min(self.ssthresh));
    }

    /// Sets the threshold, to at least two segments. A threshold at or below the window ends slow start.
    pub fn set_threshold(&mut self, segments: f64) {
        self.ssthresh = segments.max(2.0);
    }

    /// Lowers the threshold to the window if it is higher, so that slow start does not undo a delay-based reduction.
    pub fn end_slow_start(&mut self) {
        if self.in_slow_start() {
            self.set_threshold(self.segments);
        }
    }

    /// Reduces the window at a congestion event: to `kept` segments after a loss, to one segment after a timeout. A
    /// repeated timeout leaves the threshold unchanged.
    pub fn reduce(&mut self, sign: Sign, kept: f64) {
        if sign != Sign::RepeatedTimeout {
            //= RFC 5681 §3.1 eq. 4
            self.set_threshold(kept);
        }
        let target = if sign == Sign::Loss { self.segments.min(self.ssthresh) } else { 1.0 };
        self.set(target);
    }

    /// Returns the window in bytes.
    pub fn cwnd(&self) -> Bytes {
        Bytes((self.segments * self.mss) as u64)
    }

    /// Returns the threshold in bytes; `u64::MAX`: not set.
    pub fn ssthresh(&self) -> Bytes {
        Bytes((self.ssthresh * self.mss).min(NO_THRESHOLD) as u64)
    }

    /// Sets the window in bytes.
    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.set(self.count(cwnd));
    }

    //= RFC 4015 §3.4: the whole earlier window is restored, as in Linux (tcp_undo_cwnd_reduction)
    /// Undoes a spurious reduction: restores at least the earlier window and threshold.
    pub fn restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set(self.segments.max(self.count(cwnd)));
        self.ssthresh = self.ssthresh.max(self.count(ssthresh));
    }
}
