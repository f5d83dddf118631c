//! Constant-cwnd TCP: a window computed once and then kept.

use super::parts::bandwidth::{Bandwidth, Filter, Variant};
use super::parts::window::Window;
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// Constant-cwnd TCP: cwnd = estimated bandwidth x RTTmin, kept regardless of loss until the smoothed RTT changes.
///
/// Slow start lasts for `startup_rounds` round trips. The window is then recalculated, with B Westwood's bandwidth
/// estimate:
///
/// ```math
/// \mathrm{cwnd} = \max(B \, \mathit{RTT}_{\min}, \, 1 \, \mathrm{MSS})
/// ```
///
/// The smoothed RTT of that time is archived. The window stays constant until the next recalculation, which happens
/// when
///
/// ```math
/// \frac{|\mathrm{archived} - \mathit{SRTT}|}{\mathrm{archived}} > \mathrm{threshold}
/// ```
///
/// Neither a loss nor a timeout reduces the window; losses are repaired. A loss ends slow start. The constant phase
/// alone is `fixed`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Verma: Updated congestion control algorithm for TCP throughput improvement in wired and \
              wireless 5G network, sections IV and V")]
pub struct Params {
    /// Round trips of slow start before the first calculation (k); the paper does not specify a value.
    #[param(basic, default = 10, range = 1..=10_000, unit = "1", source = "Verma, section IV.A (k)")]
    pub startup_rounds: u64,
    /// Relative change of the smoothed RTT that triggers a recalculation (beta); the paper does not specify a value.
    #[param(basic, default = 0.5, range = 0.001..=100.0, unit = "1", source = "Verma, section IV.C (beta)")]
    pub threshold: f64,
    /// Definition of a bandwidth sample. With "westwood", bunched ACKs, as from a cell's uplink, make the window far
    /// too large; use "westwood-plus" there.
    #[param(default = Variant::Westwood, unit = "word", source = "Verma, section II")]
    pub variant: Variant,
    /// Filter of the bandwidth samples.
    #[param(default = Filter::Tustin, unit = "word", source = "Verma, section II")]
    pub filter: Filter,
    /// Time constant of Tustin's filter (tau), with variant "westwood".
    #[param(default = Span::from_millis(500), range = Span::from_millis(1)..=Span::from_secs(60))]
    #[param(unit = "time", source = "Mascolo et al. 2001, section 2.2")]
    pub tau: Span,
}

/// State of constant-cwnd TCP.
#[derive(Clone, Debug)]
pub struct Constant {
    params: Params,
    window: Window,
    bandwidth: Bandwidth,
    startup: bool,
    archived: Option<Span>,
}

impl Constant {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Constant {
        let bandwidth = Bandwidth::new(params.variant, params.filter, params.tau, Span(0));
        Constant { params, window: Window::new(ctx), bandwidth, startup: true, archived: None }
    }

    fn recalculate(&mut self, ack: &Ack) {
        self.window.set(self.window.count(self.bandwidth.bytes_within(ack.min_rtt)));
        self.window.set_threshold(self.window.segments());
        self.archived = ack.srtt;
    }

    //= exception constant-both-directions
    fn has_changed(&self, srtt: Span) -> bool {
        self.archived.is_none_or(|archived| {
            srtt.0.abs_diff(archived.0) as f64 > self.params.threshold * archived.0 as f64
        })
    }
}

impl CongestionControl for Constant {
    fn on_delivery(&mut self, ack: &Ack) {
        self.bandwidth.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.startup && ack.round < self.params.startup_rounds {
            self.window.slow_start(self.window.count(ack.acked).min(1.0));
        } else if ack.srtt.is_some_and(|srtt| self.has_changed(srtt)) {
            self.startup = false;
            self.recalculate(ack);
        }
    }

    // In the paper slow start lasts k round trips regardless of loss. With a full buffer nothing else would end it.
    fn on_congestion(&mut self, _: &Congestion) {
        self.startup = false;
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.set_cwnd(cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Time;

    /// One segment per ms, or 1 MB/s, on a path of 100 ms.
    fn at(ms: u64, srtt_ms: u64) -> Ack {
        let min_rtt = Some(Span::from_millis(100));
        let srtt = Some(Span::from_millis(srtt_ms));
        Ack { now: Time(ms * 1_000_000), srtt, min_rtt, round: ms / 100, ..ack(1000) }
    }

    fn deliver(constant: &mut Constant, ack: &Ack) {
        constant.on_delivery(ack);
        constant.on_ack(ack);
    }

    #[test]
    fn cwnd_is_the_bdp_after_startup_and_then_constant() {
        let params = Params { startup_rounds: 100, threshold: 0.3, ..Params::default() };
        let mut constant = Constant::new(params, &ctx(1000, 10));
        for ms in 0..10_000 {
            deliver(&mut constant, &at(ms, 150));
        }
        assert_eq!(constant.cwnd(), Bytes(10_010_000));
        deliver(&mut constant, &at(10_000, 150));
        // 1 MB/s x 0.1 s
        assert_eq!(constant.cwnd().0.div_ceil(10), 10_000);
        let before = constant.cwnd();
        for signal in [Signal::Loss, Signal::Timeout, Signal::RepeatedTimeout] {
            constant.on_congestion(&congestion(signal, 100_000));
        }
        // 190 ms is 27 % more than 150 ms
        for ms in 10_001..12_000 {
            constant.on_delivery(&Ack { acked: Bytes(500), ..at(ms, 190) });
            constant.on_ack(&at(ms, 190));
        }
        assert_eq!(constant.cwnd(), before);
    }

    #[test]
    fn an_rtt_change_in_either_direction_recalculates() {
        for srtt_ms in [100, 200] {
            let params = Params { startup_rounds: 1, threshold: 0.3, ..Params::default() };
            let mut constant = Constant::new(params, &ctx(1000, 10));
            deliver(&mut constant, &at(0, 150));
            deliver(&mut constant, &at(100, 150));
            for ms in 101..10_000 {
                constant.on_delivery(&at(ms, 150));
            }
            assert!(constant.cwnd() < Bytes(10_000));
            // 100 and 200 ms are 33 % from 150 ms
            constant.on_ack(&at(10_000, srtt_ms));
            assert_eq!(constant.cwnd().0.div_ceil(10), 10_000, "{srtt_ms} ms");
        }
    }
}
