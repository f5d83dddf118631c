//! DCTCP for the Internet.

use super::parts::marking::Marking;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Span, Time};

/// Prague: DCTCP, paced, that on short paths grows and gives way as on a longer one.
///
/// alpha <- (1 - g) alpha + g M, M the part of bytes that met congestion, 1 until the first mark; marks take cwnd
/// to cwnd (1 - alpha / 2). Both happen once in a round trip, and not before RTTvirt = `rtt_virtual` has passed.
/// An unmarked segment adds a / cwnd segments, a = min(SRTT / RTTvirt, 1)^2, so that a flow of a short path gets
/// the rate of one of RTTvirt. RTTvirt counts from so many updates of alpha after slow start on. A loss leaves
/// `beta` of the window. Segments are paced at cwnd / SRTT, twice that while cwnd is below half the threshold. It
/// needs `tcp.ecn = "accurate"` and a queue that marks; packets are sent as ECT(1).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331 §4")]
pub struct Params {
    /// Weight of a round trip's marks (g).
    #[param(default = 0.0625, range = 0.0001..=1.0)]
    #[param(
        unit = "1",
        source = "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c \
                  PRAGUE_SHIFT_G"
    )]
    pub gain: f64,
    /// The round-trip time that shorter paths count as.
    #[param(default = Span::from_millis(25), range = Span(0)..=Span::from_secs(1))]
    #[param(
        unit = "time",
        source = "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c \
                  prague_rtt_target"
    )]
    pub rtt_virtual: Span,
    /// Updates of alpha after slow start until they do.
    #[param(default = 500, range = 0..=1_000_000)]
    #[param(unit = "1", source = "L4STeam/linux tcp_prague.c DEFAULT_RTT_TRANSITION")]
    pub transition: u32,
    /// Part of the window that is kept at a loss.
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
    /// When alpha was updated, and how often since slow start.
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

    /// The time between two steps, beside the round trip.
    fn pause(&self) -> Span {
        let independent = !self.window.in_slow_start() && self.updates >= self.params.transition;
        if independent { self.params.rtt_virtual } else { Span::ZERO }
    }

    /// Segments that a round trip adds.
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

    /// An ACK of a segment over a path of so many milliseconds, after slow start.
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
    fn a_short_path_grows_as_one_of_the_virtual_round_trip_time() {
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
        assert_eq!(prague.cwnd(), Bytes(10_202), "a long path as any");
    }

    #[test]
    fn marks_are_heeded_once_in_a_virtual_round_trip() {
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
    fn segments_are_paced_at_the_window_over_the_round_trip_time() {
        let mut prague = Prague::new(Params::default(), &ctx(1000, 20));
        prague.on_delivery(&at(100, 100, 1));
        // 2 x 160 kbit in 100 ms in slow start
        assert_eq!(prague.pacing_rate(), Some(BitRate(3_200_000)));
        prague.on_congestion(&congestion(Signal::Loss, 20_000));
        assert_eq!(prague.pacing_rate(), Some(BitRate(800_000)));
    }
}
