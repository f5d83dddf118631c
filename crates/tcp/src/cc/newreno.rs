//! Additive increase, multiplicative decrease (AIMD).

use super::slow_start::{self, SlowStart};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::Bytes;

/// Unit in which ACKs are counted for window growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Growth {
    /// Each ACK counts once: +1 segment in slow start, +MSS * MSS / cwnd in congestion avoidance. Delayed ACKs halve
    /// the growth.
    #[word = "per-ack"]
    PerAck,
    /// Each acknowledged byte counts (appropriate byte counting); in slow start at most two segments per ACK, or what a
    /// parameter of the algorithm permits.
    #[word = "per-byte"]
    PerByte,
}

/// Quirks of ns-3's Reno.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 TcpLinuxReno")]
pub struct Quirks {
    /// With `growth = "per-byte"`, whether growth that has not filled a segment yet outlives a loss: acknowledged
    /// segments that have not enlarged the window are counted on after it, at the smaller window.
    //= exception credit-ends-with-a-loss
    #[param(default = false, unit = "1", source = "ns-3.44 TcpLinuxReno::CongestionAvoidance: m_cWndCnt")]
    pub credit_outlives_loss: bool,
}

/// NewReno: loss-based AIMD; cwnd + 1 segment per RTT in congestion avoidance, halved at a congestion event.
///
/// In slow start each ACK adds one segment. In congestion avoidance each ACK adds
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \frac{\mathrm{MSS} \cdot \mathrm{MSS}}{\mathrm{cwnd}}
/// ```
///
/// A congestion event sets, with beta = 1/2,
///
/// ```math
/// \mathrm{cwnd} = \mathrm{ssthresh} = \max(\beta \cdot \mathrm{FlightSize}, \, 2 \, \mathrm{MSS})
/// ```
///
/// After a timeout cwnd is one segment. With `growth = "per-ack"` the window grows as in ns-3's TcpNewReno, which
/// counts ACKs: in slow start an ACK that covers several segments adds only one. If the window thereby reaches
/// ssthresh, the remaining segments of that ACK count as one ACK of congestion avoidance. With "per-byte" it grows by
/// RFC 3465.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 5681, RFC 6582")]
pub struct Params {
    /// Unit in which ACKs are counted for window growth.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3; RFC 3465 §2")]
    pub growth: Growth,
    /// Maximum growth per ACK in slow start with `growth = "per-byte"`.
    #[param(expert, default = 2.0, range = 1.0..=1000.0, unit = "segments", source = "RFC 3465 §2.3 (L)")]
    pub slow_start_limit: f64,
    /// Detection of the end of slow start before a loss.
    #[param(default = slow_start::Spec::Standard(Default::default()), unit = "1", source = "RFC 9406 §4")]
    pub slow_start: slow_start::Spec,
    /// Multiplicative decrease: fraction of the bytes in flight kept at a congestion event.
    #[param(basic, default = 0.5, range = 0.01..=0.99, unit = "1", source = "RFC 5681 §3.1 eq. 4")]
    pub beta: f64,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// State of NewReno.
#[derive(Debug)]
pub struct Newreno {
    params: Params,
    slow_start: Box<dyn SlowStart>,
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Acknowledged bytes not yet counted for growth.
    credit: u64,
}

impl Newreno {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Newreno {
        let SenderContext { mss, initial_window, initial_ssthresh, .. } = *ctx;
        Newreno {
            slow_start: params.slow_start.build(),
            params,
            mss: mss.0,
            cwnd: initial_window.0,
            ssthresh: initial_ssthresh.0,
            credit: 0,
        }
    }

    /// Returns the fraction of slow start's growth that this ACK may contribute, and ends slow start if required.
    fn part(&mut self, ack: &Ack) -> f64 {
        if self.cwnd >= self.ssthresh {
            return 0.0;
        }
        let part = self.slow_start.growth(ack, self.cwnd as f64 / self.mss as f64);
        part.unwrap_or_else(|| {
            self.ssthresh = self.cwnd;
            0.0
        })
    }

    fn grow_per_ack(&mut self, acked: u64, part: f64) {
        self.credit += acked;
        let mut segments = self.credit / self.mss;
        self.credit %= self.mss;
        if self.cwnd < self.ssthresh && segments > 0 {
            self.cwnd += (part * self.mss as f64) as u64;
            segments -= 1;
        }
        if self.cwnd >= self.ssthresh && segments > 0 {
            //= RFC 5681 §3.1 eq. 3: cwnd += SMSS*SMSS/cwnd, rounded up to one byte
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
        }
    }

    fn grow_per_byte(&mut self, mut acked: u64, part: f64) {
        if self.cwnd < self.ssthresh {
            let limit = (self.params.slow_start_limit * self.mss as f64) as u64;
            let max = (part * acked.min(limit) as f64) as u64;
            let step = max.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            acked = max - step;
        }
        if self.cwnd >= self.ssthresh {
            //= RFC 3465 §2.1: one segment for each window of acknowledged bytes
            self.credit += acked;
            while self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += self.mss;
            }
        }
    }
}

impl CongestionControl for Newreno {
    fn on_ack(&mut self, ack: &Ack) {
        let part = self.part(ack);
        match self.params.growth {
            Growth::PerAck => self.grow_per_ack(ack.acked.0, part),
            Growth::PerByte => self.grow_per_byte(ack.acked.0, part),
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.signal != Signal::RepeatedTimeout {
            //= RFC 5681 §3.1 eq. 4: ssthresh = max(FlightSize / 2, 2*SMSS)
            let kept = (event.in_flight.0 as f64 * self.params.beta) as u64;
            self.ssthresh = kept.max(2 * self.mss);
        }
        self.cwnd = if !event.signal.is_timeout() { self.ssthresh } else { self.mss };
        if !self.params.quirks.credit_outlives_loss {
            self.credit = 0;
        }
        self.slow_start.on_congestion();
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.0.max(self.mss);
    }

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set_cwnd(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh.0);
    }

    //= RFC 4015 §3.4: the whole earlier window is restored, as in Linux (tcp_undo_cwnd_reduction)
    fn on_spurious(&mut self, before: &Before) {
        self.cwnd = self.cwnd.max(before.cwnd.0);
        self.ssthresh = self.ssthresh.max(before.ssthresh.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};

    #[test]
    fn slow_start_doubles_per_round_trip_without_delayed_acks() {
        let mut reno = Newreno::new(Params::default(), &ctx(1000, 10));
        for _ in 0..10 {
            reno.on_ack(&ack(1000));
        }
        assert_eq!(reno.cwnd(), Bytes(20_000));
    }

    #[test]
    fn delayed_acks_halve_the_growth() {
        let mut reno = Newreno::new(Params::default(), &ctx(1000, 10));
        for _ in 0..5 {
            reno.on_ack(&ack(2000));
        }
        assert_eq!(reno.cwnd(), Bytes(15_000));
        reno.on_congestion(&congestion(Signal::Loss, 15_000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(7500), Bytes(7500)));
        reno.on_ack(&ack(2000));
        // 1000 * 1000 / 7500 = 133.3
        assert_eq!(reno.cwnd(), Bytes(7633));
    }

    #[test]
    fn byte_counting_adds_one_segment_per_window_of_data() {
        let params = Params { growth: Growth::PerByte, ..Params::default() };
        let mut reno = Newreno::new(params, &ctx(1000, 20));
        reno.on_congestion(&congestion(Signal::Loss, 20_000));
        for _ in 0..5 {
            reno.on_ack(&ack(2000));
        }
        assert_eq!(reno.cwnd(), Bytes(11_000));
    }

    #[test]
    fn repeated_timeout_keeps_ssthresh() {
        let mut reno = Newreno::new(Params::default(), &ctx(1000, 10));
        reno.on_congestion(&congestion(Signal::Timeout, 10_000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1000), Bytes(5000)));
        reno.on_congestion(&congestion(Signal::RepeatedTimeout, 1000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1000), Bytes(5000)));
    }
}
