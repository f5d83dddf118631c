//! CUBIC with CoDel's eye on the delay.

use super::cubic::{self, Cubic};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// Which delay is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// A multiple of the least round-trip time, which is the interval as well.
    #[word = "relative"]
    Relative,
    /// A round-trip time that is set, and an interval that is.
    #[word = "absolute"]
    Absolute,
}

/// C2TCP: CUBIC that also watches the round-trip time, as CoDel watches a queue.
///
/// Up to the setpoint each ACK adds (setpoint / RTT) / cwnd segments to what CUBIC adds. If the round-trip time
/// has been above it for an interval, CUBIC's threshold for a loss is taken and slow start begins at one segment;
/// while it stays above, the k-th such step is followed by the next after interval / sqrt(k). With `variant =
/// "relative"` setpoint and interval are alpha RTTmin. CUBIC has its defaults. While the window is below two
/// segments, when round-trip times are those of delayed ACKs, it is CUBIC alone.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Abbasloo, Xu and Chao, IEEE JSAC 37(4), 2019; Abbasloo, Li, Xu and Chao, IFIP Networking 2018"
)]
pub struct Params {
    /// Which delay is too much.
    #[param(default = Variant::Relative)]
    #[param(unit = "word", source = "Abbasloo et al. 2019 (relative) and 2018 (absolute)")]
    pub variant: Variant,
    /// The setpoint as a multiple of the least round-trip time, and the interval.
    #[param(default = 2.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "Soheil-ab/C2TCP@4b5b241 TCP_C2TCP_ALPHA_INIT (a comment there says 3)")]
    pub alpha: f64,
    /// The setpoint of the variant "absolute".
    #[param(default = Span::from_millis(100), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Soheil-ab/C2TCP-IFIP sysctl_tcp_c2tcp_target")]
    pub target: Span,
    /// The interval of the variant "absolute".
    #[param(default = Span::from_millis(100), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Soheil-ab/C2TCP-IFIP sysctl_tcp_c2tcp_interval")]
    pub interval: Span,
}

/// State of C2TCP.
#[derive(Debug)]
pub struct C2tcp {
    params: Params,
    cubic: Cubic,
    above: Option<Above>,
}

/// The round-trip time is above the setpoint.
#[derive(Clone, Copy, Debug)]
struct Above {
    next_step: Time,
    steps: u64,
}

impl C2tcp {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> C2tcp {
        C2tcp { params, cubic: Cubic::new(cubic::Params::rfc9438(), ctx), above: None }
    }

    /// The setpoint and the interval.
    fn bounds(&self, min_rtt: Span) -> (Span, Span) {
        match self.params.variant {
            Variant::Relative => {
                let bound = Span::from_secs_f64(self.params.alpha * min_rtt.as_secs());
                (bound, bound)
            }
            Variant::Absolute => (self.params.target, self.params.interval),
        }
    }

    // The papers' fraction; the authors' code adds a whole number of segments, whatever limits the sender.
    fn grow(&mut self, setpoint: Span, rtt: Span) {
        let window = self.cubic.window_mut();
        window.add(setpoint.as_secs() / rtt.max(Span(1)).as_secs() / window.segments());
    }

    fn step_back(&mut self, now: Time) {
        let in_flight = self.cubic.cwnd();
        self.cubic.on_congestion(&Congestion { now, signal: Signal::Loss, in_flight });
        self.cubic.window_mut().set(1.0);
    }

    fn watch(&mut self, ack: &Ack, rtt: Span, min_rtt: Span) {
        let (setpoint, interval) = self.bounds(min_rtt);
        if rtt <= setpoint {
            self.above = None;
            if ack.cwnd_limited {
                self.grow(setpoint, rtt);
            }
            return;
        }
        match &mut self.above {
            None => self.above = Some(Above { next_step: ack.now + interval, steps: 0 }),
            Some(above) if ack.now > above.next_step => {
                above.steps += 1;
                let pause = interval.as_secs() / libm::sqrt(above.steps as f64);
                above.next_step = ack.now + Span::from_secs_f64(pause);
                self.step_back(ack.now);
            }
            Some(_) => {}
        }
    }
}

impl CongestionControl for C2tcp {
    fn on_ack(&mut self, ack: &Ack) {
        //= exception c2tcp-lone-segments
        let lone = self.cubic.window_mut().segments() < 2.0;
        self.cubic.on_ack(ack);
        if let (Some(rtt), Some(min_rtt), false) = (ack.rtt, ack.min_rtt, lone) {
            self.watch(ack, rtt, min_rtt);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.cubic.on_congestion(event);
    }

    fn cwnd(&self) -> Bytes {
        self.cubic.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.cubic.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cubic.set_cwnd(cwnd);
    }

    fn on_spurious(&mut self, before: &Before) {
        self.cubic.on_spurious(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};

    /// An ACK of a segment on a path of 40 ms: setpoint and interval are 80 ms.
    fn at(ms: u64, rtt_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { now: Time(ms * 1_000_000), rtt, srtt: rtt, min_rtt: Some(Span::from_millis(40)), ..ack(1000) }
    }

    #[test]
    fn below_the_setpoint_the_window_grows_faster_than_cubic() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 10));
        // a segment of slow start, then 80 ms / 50 ms / 11
        c2tcp.on_ack(&at(0, 50));
        assert_eq!(c2tcp.cwnd(), Bytes(11_145));
        c2tcp.on_ack(&Ack { cwnd_limited: false, ..at(1, 50) });
        assert_eq!(c2tcp.cwnd(), Bytes(11_145));
    }

    #[test]
    fn an_interval_above_the_setpoint_restarts_slow_start() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 100));
        c2tcp.on_congestion(&congestion(Signal::Loss, 100_000));
        let mut stepped = Vec::new();
        for ms in 0..400 {
            c2tcp.on_ack(&at(ms, 81));
            if c2tcp.cwnd() == Bytes(1000) {
                stepped.push(ms);
            }
        }
        // strictly after 80 ms, then after 80 / sqrt(1), 80 / sqrt(2), ... ms
        assert_eq!(stepped, [81, 162, 219, 266, 307, 343, 376]);
    }

    #[test]
    fn a_packet_below_the_setpoint_ends_the_interval() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 100));
        c2tcp.on_congestion(&congestion(Signal::Loss, 100_000));
        for ms in 0..400 {
            c2tcp.on_ack(&at(ms, if ms % 70 == 69 { 80 } else { 200 }));
            assert!(c2tcp.cwnd() >= Bytes(70_000));
        }
    }

    #[test]
    fn a_lone_segment_waits_for_a_delayed_ack_and_not_in_a_queue() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 1));
        for _ in 0..2 {
            c2tcp.on_congestion(&congestion(Signal::Timeout, 1000));
            c2tcp.on_ack(&at(1000, 250));
            assert!(c2tcp.above.is_none());
        }
        c2tcp.on_ack(&at(1250, 250));
        assert!(c2tcp.above.is_some(), "two segments are acknowledged at once");
    }

    #[test]
    fn the_threshold_is_cubics() {
        let mut c2tcp =
            C2tcp::new(Params { variant: Variant::Absolute, ..Params::default() }, &ctx(1000, 100));
        c2tcp.on_congestion(&congestion(Signal::Loss, 100_000));
        c2tcp.on_ack(&at(0, 101));
        let before = c2tcp.cwnd().0 as f64;
        c2tcp.on_ack(&at(101, 101));
        // 0.7 of the window, to which the ACK had added its share before
        assert_eq!(c2tcp.cwnd(), Bytes(1000));
        assert!((c2tcp.ssthresh().0 as f64 - 0.7 * before).abs() < 100.0, "{}", c2tcp.ssthresh());
    }
}
