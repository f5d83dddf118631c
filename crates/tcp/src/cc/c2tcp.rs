//! C2TCP: CUBIC with a CoDel-like bound on the RTT.

use super::cubic::{self, Cubic};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// Definition of setpoint and interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// Setpoint and interval are a multiple of the minimum RTT.
    #[word = "relative"]
    Relative,
    /// Setpoint and interval are configured as `target` and `interval`.
    #[word = "absolute"]
    Absolute,
}

/// C2TCP: CUBIC that restarts from one segment when the RTT stays above a setpoint for an interval, by CoDel's control
/// law.
///
/// While the RTT is at most the setpoint, each ACK adds to CUBIC's growth
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \frac{\mathrm{setpoint}}{\mathit{RTT}} \cdot \frac{1}{\mathrm{cwnd}}
/// ```
///
/// When the RTT has been above the setpoint for an interval, ssthresh is set as CUBIC sets it at a loss, and slow start
/// begins at one segment. While the RTT stays above, the k-th such step is followed by the next one after
/// `interval / sqrt(k)`. With `variant = "relative"` setpoint and interval are alpha times RTTmin. CUBIC runs as
/// specified in RFC 9438.
///
/// Below two segments, where RTTs include the wait of delayed ACKs, it is CUBIC alone.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Abbasloo, Xu, Chao: C2TCP: A Flexible Cellular TCP to Meet Stringent Delay Requirements, \
              IEEE JSAC 37(4), 2019; Abbasloo, Li, Xu, Chao: Cellular Controlled Delay TCP (C2TCP), IFIP \
              Networking 2018"
)]
pub struct Params {
    /// Definition of setpoint and interval.
    #[param(basic, default = Variant::Relative)]
    #[param(unit = "word", source = "Abbasloo et al. 2019 (relative) and 2018 (absolute)")]
    pub variant: Variant,
    /// Setpoint and interval as a multiple of the minimum RTT (alpha).
    #[param(basic, default = 2.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "Soheil-ab/C2TCP@4b5b241 TCP_C2TCP_ALPHA_INIT (a comment there says 3)")]
    pub alpha: f64,
    /// Setpoint with variant "absolute".
    #[param(default = Span::from_millis(100), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Soheil-ab/C2TCP-IFIP sysctl_tcp_c2tcp_target")]
    pub target: Span,
    /// Interval with variant "absolute".
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

/// State while the RTT is above the setpoint.
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

    /// Returns the setpoint and the interval.
    fn bounds(&self, min_rtt: Span) -> (Span, Span) {
        match self.params.variant {
            Variant::Relative => {
                let bound = Span::from_secs_f64(self.params.alpha * min_rtt.as_secs());
                (bound, bound)
            }
            Variant::Absolute => (self.params.target, self.params.interval),
        }
    }

    // The fraction of the papers. The authors' code adds a whole number of segments, even if the sender is not limited
    // by cwnd.
    fn grow(&mut self, setpoint: Span, rtt: Span) {
        let window = self.cubic.window_mut();
        window.add(setpoint.as_secs() / rtt.max(Span(1)).as_secs() / window.segments());
    }

    fn step_back(&mut self, now: Time) {
        let in_flight = self.cubic.cwnd();
        self.cubic.on_congestion(&Congestion { now, signal: Signal::Loss, in_flight });
        self.cubic.window_mut().set(1.0);
    }

    fn check_delay(&mut self, ack: &Ack, rtt: Span, min_rtt: Span) {
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
            self.check_delay(ack, rtt, min_rtt);
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

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.cubic.restart(cwnd, ssthresh);
    }

    fn on_resume(&mut self, now: Time, pause: Span) {
        self.cubic.on_resume(now, pause);
    }

    fn on_spurious(&mut self, before: &Before) {
        self.cubic.on_spurious(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};

    /// Returns an ACK of one segment on a path of 40 ms: setpoint and interval are 80 ms.
    fn at(ms: u64, rtt_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { now: Time(ms * 1_000_000), rtt, srtt: rtt, min_rtt: Some(Span::from_millis(40)), ..ack(1000) }
    }

    #[test]
    fn below_the_setpoint_the_window_grows_faster_than_cubic() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 10));
        // one segment of slow start, then 80 ms / 50 ms / 11
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
    fn an_rtt_below_the_setpoint_ends_the_interval() {
        let mut c2tcp = C2tcp::new(Params::default(), &ctx(1000, 100));
        c2tcp.on_congestion(&congestion(Signal::Loss, 100_000));
        for ms in 0..400 {
            c2tcp.on_ack(&at(ms, if ms % 70 == 69 { 80 } else { 200 }));
            assert!(c2tcp.cwnd() >= Bytes(70_000));
        }
    }

    #[test]
    fn the_rtt_of_a_single_segment_in_flight_is_ignored() {
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
    fn ssthresh_is_that_of_cubic() {
        let mut c2tcp =
            C2tcp::new(Params { variant: Variant::Absolute, ..Params::default() }, &ctx(1000, 100));
        c2tcp.on_congestion(&congestion(Signal::Loss, 100_000));
        c2tcp.on_ack(&at(0, 101));
        let before = c2tcp.cwnd().0 as f64;
        c2tcp.on_ack(&at(101, 101));
        // 0.7 of the window, to which CUBIC had already added this ACK's growth
        assert_eq!(c2tcp.cwnd(), Bytes(1000));
        assert!((c2tcp.ssthresh().0 as f64 - 0.7 * before).abs() < 100.0, "{}", c2tcp.ssthresh());
    }
}
