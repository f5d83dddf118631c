//! Additive increase, multiplicative decrease.

use super::slow_start::{self, SlowStart};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::Bytes;

/// What the window grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Growth {
    /// Each ACK: slow start by one segment, congestion avoidance by MSS * MSS / cwnd. Delayed ACKs halve it.
    #[word = "per-ack"]
    PerAck,
    /// Each acknowledged byte, at most `slow_start_limit` segments per ACK in slow start.
    #[word = "per-byte"]
    PerByte,
}

/// NewReno: slow start, then one segment per round trip; half of the flight at a loss.
///
/// With `growth = "per-ack"` it grows as ns-3's TcpNewReno, which counts ACKs: an ACK that covers several
/// segments grows slow start by one of them only, and if it thereby reaches ssthresh the others count as
/// one ACK of congestion avoidance. With "per-byte" it is RFC 3465.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 5681, RFC 6582")]
pub struct Params {
    /// What the window grows with.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3; RFC 3465 §2")]
    pub growth: Growth,
    /// Segments that one ACK may add in slow start when bytes are counted.
    #[param(default = 2.0, range = 1.0..=1000.0, unit = "segments", source = "RFC 3465 §2.3 (L)")]
    pub slow_start_limit: f64,
    /// How slow start notices that the path is full.
    #[param(default = slow_start::Spec::Standard(Default::default()), unit = "1", source = "RFC 9406 §4")]
    pub slow_start: slow_start::Spec,
    /// Part of the flight that is kept at a loss.
    #[param(default = 0.5, range = 0.01..=0.99, unit = "1", source = "RFC 5681 §3.1 eq. 4")]
    pub beta: f64,
}

/// The state of NewReno.
#[derive(Debug)]
pub struct Newreno {
    params: Params,
    slow_start: Box<dyn SlowStart>,
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Acknowledged bytes that did not grow the window yet.
    credit: u64,
}

impl Newreno {
    /// A controller at the beginning of a connection.
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

    /// The part of slow start's growth that this ACK may bring; slow start may end here.
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
            let most = (part * acked.min(limit) as f64) as u64;
            let step = most.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            acked = most - step;
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
        self.credit = 0;
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
    fn slow_start_doubles_per_round_trip_when_every_segment_is_acknowledged() {
        let mut reno = Newreno::new(Params::default(), &ctx(1000, 10));
        for _ in 0..10 {
            reno.on_ack(&ack(1000));
        }
        assert_eq!(reno.cwnd(), Bytes(20_000));
    }

    #[test]
    fn delayed_acks_grow_by_half() {
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
    fn counting_bytes_grows_one_segment_per_window_whatever_the_acks() {
        let params = Params { growth: Growth::PerByte, ..Params::default() };
        let mut reno = Newreno::new(params, &ctx(1000, 20));
        reno.on_congestion(&congestion(Signal::Loss, 20_000));
        for _ in 0..5 {
            reno.on_ack(&ack(2000));
        }
        assert_eq!(reno.cwnd(), Bytes(11_000));
    }

    #[test]
    fn a_timeout_restarts_and_a_repeated_one_keeps_the_threshold() {
        let mut reno = Newreno::new(Params::default(), &ctx(1000, 10));
        reno.on_congestion(&congestion(Signal::Timeout, 10_000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1000), Bytes(5000)));
        reno.on_congestion(&congestion(Signal::RepeatedTimeout, 1000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1000), Bytes(5000)));
    }
}
