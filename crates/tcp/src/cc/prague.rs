//! Prague: DCTCP for the Internet (L4S).

use super::parts::marking::Marking;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext, Signal};
use crate::stack::Ecn;
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Span, Time};

/// Prague: DCTCP for the Internet (L4S), paced; below a virtual RTT its growth and reductions do not depend on the RTT.
///
/// With M the fraction of acknowledged bytes that were CE-marked,
///
/// ```math
/// \alpha \leftarrow (1 - g) \, \alpha + g \, M
/// ```
///
/// and alpha = 1 until the first mark. Marks reduce the window:
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} \, (1 - \frac{\alpha}{2})
/// ```
///
/// Both happen once per round trip, and at most once per RTTvirt = `rtt_virtual`. Each unmarked segment adds
///
/// ```math
/// \frac{1}{\mathrm{cwnd}} \cdot \min(\frac{\mathit{SRTT}}{\mathit{RTT}_{\text{virt}}}, \, 1)^2
/// ```
///
/// so that a flow on a short path gets the rate of one with RTTvirt. RTTvirt applies from `transition` updates of alpha
/// after slow start on. A loss keeps `beta` of the window. Segments are paced at cwnd / SRTT, or twice that while cwnd
/// is below half of ssthresh. Prague needs `tcp.ecn = "accurate"`, the default of its flows, and a queue that marks.
/// Packets are sent as ECT(1).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331 §4")]
pub struct Params {
    /// Weight of a round trip's marked fraction in alpha (g).
    #[param(default = 0.0625, range = 0.0001..=1.0)]
    #[param(
        unit = "1",
        source = "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c \
                  PRAGUE_SHIFT_G"
    )]
    pub gain: f64,
    /// Virtual RTT: the RTT that shorter paths behave as.
    #[param(basic, default = Span::from_millis(25), range = Span(0)..=Span::from_secs(1))]
    #[param(
        unit = "time",
        source = "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c \
                  prague_rtt_target"
    )]
    pub rtt_virtual: Span,
    /// Number of updates of alpha after slow start before the virtual RTT applies.
    #[param(expert, default = 500, range = 0..=1_000_000)]
    #[param(unit = "1", source = "L4STeam/linux tcp_prague.c DEFAULT_RTT_TRANSITION")]
    pub transition: u32,
    /// Multiplicative decrease: fraction of the window kept at a loss.
    #[param(default = 0.5, range = 0.1..=0.99)]
    #[param(unit = "1", source = "L4STeam/linux tcp_prague.c prague_enter_loss")]
    pub beta: f64,
}

/// State of Prague.
//= exception prague-left-out
#[derive(Clone, Debug)]
pub struct Prague {
    params: Params,
    window: Window,
    marking: Marking,
    round: u64,
    /// Time of the last update of alpha, and number of updates since slow start.
    updated: Time,
    updates: u32,
    reduced: Option<Time>,
    srtt: Option<Span>,
}

impl Prague {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Prague {
        Prague {
            params,
            window: Window::new(ctx),
            marking: Marking::new(),
            round: 0,
            updated: Time::ZERO,
            updates: 0,
            reduced: None,
            srtt: None,
        }
    }

    /// Returns the minimum time between two updates, in addition to the round trip.
    fn pause(&self) -> Span {
        let independent = !self.window.in_slow_start() && self.updates >= self.params.transition;
        if independent { self.params.rtt_virtual } else { Span::ZERO }
    }

    /// Returns the segments that a round trip adds.
    fn increase(&self) -> f64 {
        let Some(srtt) = self.srtt.filter(|_| self.updates >= self.params.transition) else { return 1.0 };
        let part = (srtt.as_secs() / self.params.rtt_virtual.as_secs()).min(1.0);
        part * part
    }
}

impl CongestionControl for Prague {
    fn on_delivery(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.marking.on_delivery(ack);
        if ack.round == self.round || ack.now - self.updated < self.pause() {
            return;
        }
        (self.round, self.updated) = (ack.round, ack.now);
        if self.marking.counts() {
            self.marking.update(self.params.gain);
        } else {
            self.marking.restart();
        }
        if !self.window.in_slow_start() {
            self.updates = self.updates.saturating_add(1);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let unmarked = self.window.count(ack.acked.saturating_sub(ack.marked));
        if !ack.cwnd_limited {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(unmarked);
        } else {
            self.window.add(unmarked * self.increase() / self.window.segments());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let cwnd = self.window.segments();
        if event.signal != Signal::Ecn {
            self.window.reduce(event, self.params.beta * cwnd);
        } else if self.reduced.is_none_or(|last| event.now - last >= self.pause()) {
            self.reduced = Some(event.now);
            self.window.reduce(event, cwnd * (1.0 - self.marking.alpha() / 2.0));
        }
    }

    keeps_window!(window);

    // A Prague requirement of RFC 9331 (§4.2).
    fn needed_ecn(&self) -> Option<Ecn> {
        Some(Ecn::Accurate)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let srtt = self.srtt.filter(|srtt| srtt.0 > 0)?;
        let cwnd = self.window.cwnd();
        let factor = if cwnd.0 < self.window.ssthresh().0 / 2 { 2.0 } else { 1.0 };
        Some(BitRate((factor * cwnd.bits() as f64 / srtt.as_secs()) as u64))
    }

    fn is_l4s(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    /// Returns an ACK of one segment on a path with this SRTT.
    fn at(ms: u64, srtt_ms: u64, round: u64) -> Ack {
        Ack { now: Time(ms * 1_000_000), srtt: Some(Span::from_millis(srtt_ms)), round, ..ack(1000) }
    }

    fn after_slow_start(params: Params) -> Prague {
        let mut prague = Prague::new(params, &ctx(1000, 20));
        prague.on_congestion(&congestion(Signal::Loss, 20_000));
        assert_eq!(prague.cwnd(), Bytes(10_000));
        prague
    }

    #[test]
    fn a_short_path_grows_at_the_rate_of_the_virtual_rtt() {
        let mut prague = after_slow_start(Params { transition: 2, ..Params::default() });
        prague.on_delivery(&at(5, 5, 1));
        prague.on_ack(&at(5, 5, 1));
        assert_eq!(prague.cwnd(), Bytes(10_100), "not yet");
        prague.on_delivery(&at(10, 5, 2));
        prague.on_ack(&at(10, 5, 2));
        // (5 / 25)^2 / 10.1
        assert_eq!(prague.cwnd(), Bytes(10_103));
        prague.on_delivery(&at(15, 30, 3));
        prague.on_ack(&at(15, 30, 3));
        assert_eq!(prague.cwnd(), Bytes(10_202), "unchanged on a long path");
    }

    #[test]
    fn marks_reduce_cwnd_once_per_virtual_rtt() {
        let mut prague = after_slow_start(Params { transition: 0, ..Params::default() });
        prague.on_delivery(&Ack { marked: Bytes(1000), ..at(30, 5, 1) });
        let ecn = |ms: u64| Congestion { now: Time(ms * 1_000_000), ..congestion(Signal::Ecn, 10_000) };
        prague.on_congestion(&ecn(30));
        assert_eq!(prague.cwnd(), Bytes(5000), "alpha is 1 at first");
        prague.on_congestion(&ecn(54));
        assert_eq!(prague.cwnd(), Bytes(5000));
        prague.on_congestion(&ecn(55));
        assert_eq!(prague.cwnd(), Bytes(2500));
    }

    #[test]
    fn marked_segments_do_not_grow_the_window() {
        let mut prague = after_slow_start(Params::default());
        prague.on_ack(&Ack { marked: Bytes(1000), ..at(5, 50, 0) });
        assert_eq!(prague.cwnd(), Bytes(10_000));
    }

    #[test]
    fn pacing_rate_is_cwnd_over_srtt() {
        let mut prague = Prague::new(Params::default(), &ctx(1000, 20));
        prague.on_delivery(&at(100, 100, 1));
        // 2 x 160 kbit in 100 ms in slow start
        assert_eq!(prague.pacing_rate(), Some(BitRate(3_200_000)));
        prague.on_congestion(&congestion(Signal::Loss, 20_000));
        assert_eq!(prague.pacing_rate(), Some(BitRate(800_000)));
    }
}
