//! Congestion control: how much a sender may have in the network.
//!
//! A controller is policy. What is lost, what is sent again and when, and how the flight comes down during
//! recovery belong to the [`Endpoint`](crate::Endpoint).

pub mod outside;
pub(crate) mod parts;
pub mod plugins;
pub mod slow_start;

use crate::Seq;
use airwnd_catalog::{Error, Node, family};
use airwnd_units::{BitRate, Bytes, Span, Time};
use plugins::Plugins;
use std::fmt::Debug;
use std::path::Path;

/// Congestion control: how much the sender may have in the network.
#[family(name = "cc", build = fn(ctx: &SenderContext) -> Box<dyn CongestionControl>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Newreno(newreno::Params),
    Cubic(cubic::Params),
    Westwood(westwood::Params),
    Highspeed(highspeed::Params),
    Hybla(hybla::Params),
    Constant(constant::Params),
    Vegas(vegas::Params),
    Veno(veno::Params),
    Scalable(scalable::Params),
    Bic(bic::Params),
    Illinois(illinois::Params),
    Htcp(htcp::Params),
    Yeah(yeah::Params),
    Ledbat(ledbat::Params),
    LedbatPlusPlus(ledbat_plus_plus::Params),
    Lp(lp::Params),
    Nice(nice::Params),
    Compound(compound::Params),
    Fast(fast::Params),
    C2tcp(c2tcp::Params),
    Verus(verus::Params),
    Sprout(sprout::Params),
    Copa(copa::Params),
    Dctcp(dctcp::Params),
    Prague(prague::Params),
    Bbr(bbr::Params),
    Bbr3(bbr3::Params),
    Fixed(fixed::Params),
    Plugin(plugin::Params),
    Python(python::Params),
}

impl Spec {
    /// Whether it comes from outside the engine, and may therefore [fail](CongestionControl::failure).
    pub fn is_outside(&self) -> bool {
        matches!(self, Spec::Plugin(_) | Spec::Python(_))
    }

    /// Finds what makes a controller from outside; the engine's own have it already. `node` is what the
    /// user wrote, `folder` the one that files are relative to.
    ///
    /// # Errors
    /// A plug-in that is not registered, or what it has against its settings.
    pub fn link(&mut self, node: &Node, folder: &Path, plugins: &Plugins) -> Result<(), Error> {
        match self {
            Spec::Plugin(params) => *params = plugins.find_plugin(&params.head, node, folder)?,
            Spec::Python(params) => *params = plugins.find_python(&params.head, node, folder)?,
            _ => {}
        }
        Ok(())
    }
}

/// What a controller is told when the handshake ends.
#[derive(Clone, Copy, Debug)]
pub struct SenderContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The window to begin with.
    pub initial_window: Bytes,
    /// The slow-start threshold to begin with.
    pub initial_ssthresh: Bytes,
    /// Names the random draws of this connection; the same in every run with the same seed.
    pub seed: u64,
}

/// An ACK that made progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it newly reports as arrived, cumulatively or by SACK. Zero is possible: an ACK may
    /// advance over bytes that SACKs reported before.
    pub acked: Bytes,
    /// The round-trip time that it measured, if it measured one. By timestamps only an ACK does that moves SND.UNA.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Least round-trip time so far.
    pub min_rtt: Option<Span>,
    /// How long the newest segment that it echoes was under way to the receiver, by timestamps: right up to the
    /// difference of the two clocks, in ticks of theirs, and with the time that a delayed ACK waited.
    pub one_way_delay: Option<Span>,
    /// Bytes in the network after it.
    pub in_flight: Bytes,
    /// Bytes in the network before it.
    pub prior_in_flight: Bytes,
    /// Bytes given up on since the last ACK that made progress, those that its SACKs betray included.
    pub lost: Bytes,
    /// Of `acked`, the bytes that the receiver says met congestion (CE). Zero unless the feedback is that
    /// accurate, see [`Ecn`](crate::stack::Ecn).
    pub marked: Bytes,
    /// Round trips so far: a new one begins when data is acknowledged that was sent after the last began.
    pub round: u64,
    /// Bytes delivered to the receiver so far.
    pub delivered: Bytes,
    /// Whether the congestion window was what limited the sender: without this ACK it had no room for a segment.
    pub cwnd_limited: bool,
    /// Whether a loss is being repaired.
    pub recovering: bool,
    /// Whether SACK tells losses apart: without it a round trip tells of one at most.
    pub selective: bool,
    /// The rate at which data was delivered, if the controller asks for it and there is a sample.
    pub rate: Option<RateSample>,
}

/// How fast data was delivered in the last round trip
/// (draft-cheng-iccrg-delivery-rate-estimation-02 §3).
///
/// About the newest sent of the segments that an ACK reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered since that segment was sent.
    pub delivered: Bytes,
    /// The time in which they were, or in which they were sent if that took longer.
    pub interval: Span,
    /// [`Ack::delivered`] when that segment was sent.
    pub prior_delivered: Bytes,
    /// Bytes in the network right after that segment was sent.
    pub in_flight_at_send: Bytes,
    /// Bytes given up on since that segment was sent.
    pub lost: Bytes,
    /// Whether the application had too little to send then, so that the path may be faster.
    pub app_limited: bool,
    /// The time since that segment was sent, unless it was sent more than once and this may be an answer to any.
    pub rtt: Option<Span>,
}

impl RateSample {
    /// The delivery rate.
    pub fn rate(&self) -> BitRate {
        BitRate(
            (u128::from(self.delivered.bits()) * 1_000_000_000 / u128::from(self.interval.0.max(1))) as u64,
        )
    }
}

/// A segment with data that goes out, for the first time or again.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When.
    pub now: Time,
    /// Payload bytes.
    pub len: Bytes,
    /// Bytes in the network before it.
    pub in_flight: Bytes,
    /// Whether the application has been what limits the sender.
    pub app_limited: bool,
    /// Smoothed round-trip time: before the first data that of the handshake.
    pub srtt: Option<Span>,
}

/// A segment that is given up on.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was noticed.
    pub now: Time,
    /// Its first byte.
    pub seq: Seq,
    /// Payload bytes.
    pub len: Bytes,
    /// Bytes delivered to the receiver so far.
    pub delivered: Bytes,
    /// Bytes in the network right after it was sent.
    pub in_flight_at_send: Bytes,
    /// Bytes given up on since it was sent, itself included.
    pub lost_since_send: Bytes,
    /// Bytes delivered since it was sent.
    pub delivered_since_send: Bytes,
    /// Whether the application had too little to send when it was sent.
    pub app_limited: bool,
}

/// Window and threshold before a reduction that turns out to have had no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold.
    pub ssthresh: Bytes,
}

/// What happened to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate ACKs or SACKs showed a loss; at most once per window of data.
    Loss,
    /// The retransmission timer expired for a segment that it had not expired for before.
    Timeout,
    /// The timer expired once more for the same segment.
    RepeatedTimeout,
    /// The receiver reports packets that a queue has marked (RFC 3168); at most once per window of data.
    Ecn,
}

impl Signal {
    /// Whether the retransmission timer expired.
    pub fn is_timeout(self) -> bool {
        matches!(self, Signal::Timeout | Signal::RepeatedTimeout)
    }
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was noticed.
    pub now: Time,
    /// Which sign.
    pub signal: Signal,
    /// The flight to compute a new threshold from, as `loss_flight` of [`Config`](crate::Config) has it.
    pub in_flight: Bytes,
}

/// Decides the congestion window.
///
/// [`on_ack`](CongestionControl::on_ack) comes for ACKs of new data outside loss recovery (after a timeout
/// slow start is part of it again), [`on_congestion`](CongestionControl::on_congestion) once when recovery
/// begins and at timeouts; [`cwnd`](CongestionControl::cwnd) is read after either and must be at least one
/// segment. [`on_delivery`](CongestionControl::on_delivery) is for measuring: it comes for every ACK with news,
/// whatever state the sender is in. While a loss is being repaired the endpoint limits the flight itself and comes
/// down to `cwnd`, unless the controller [`governs_recovery`](CongestionControl::governs_recovery).
pub trait CongestionControl: Debug + Send + Sync {
    /// An ACK made progress.
    fn on_ack(&mut self, ack: &Ack);
    /// An ACK reported an arrival, be it during loss recovery too; before [`on_ack`](CongestionControl::on_ack)
    /// if that comes as well. Without SACK a duplicate ACK counts as one segment.
    fn on_delivery(&mut self, _ack: &Ack) {}
    /// The network showed congestion: `cwnd` is what it shall be when the loss is repaired, one segment after
    /// a timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// The congestion window.
    fn cwnd(&self) -> Bytes;
    /// The slow-start threshold.
    fn ssthresh(&self) -> Bytes;
    /// Decided elsewhere: by the sender's half of a receive-window control ([`SenderHalf`](crate::rwnd::SenderHalf)), or
    /// by a restart after idleness.
    fn set_cwnd(&mut self, cwnd: Bytes);
    /// A segment with data goes out. Only for controllers that [ask for rates](CongestionControl::wants_rates).
    fn on_send(&mut self, _departure: &Departure) {}
    /// A segment is given up on; before [`on_congestion`](CongestionControl::on_congestion) if that comes as well.
    /// Only for controllers that [ask for rates](CongestionControl::wants_rates).
    fn on_lost(&mut self, _loss: &Loss) {}
    /// The last reduction had no reason: what was taken for lost had arrived (RFC 4015, RFC 5682). Controllers
    /// with a threshold restore that as well.
    fn on_spurious(&mut self, before: &Before) {
        if before.cwnd > self.cwnd() {
            self.set_cwnd(before.cwnd);
        }
    }
    /// The loss is repaired, whether it began with duplicate ACKs or with a timeout, or it was none: then after
    /// [`on_spurious`](CongestionControl::on_spurious).
    fn on_repaired(&mut self) {}
    /// The rate of payload to pace at, if at all.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Whether `cwnd` is the window during loss recovery too, and after idleness. Such a controller acts in
    /// [`on_delivery`](CongestionControl::on_delivery).
    fn governs_recovery(&self) -> bool {
        false
    }
    /// Windows of data that an autotuned send buffer holds, see `send_buffer_autotuning` of
    /// [`Config`](crate::Config).
    fn send_buffer_windows(&self) -> u64 {
        2
    }
    /// Whether ACKs shall come with [`Ack::rate`], and departures and losses be told one by one. Asked once.
    fn wants_rates(&self) -> bool {
        false
    }
    /// Whether packets are sent as ECT(1), which queues for low latency, low loss and scalable throughput know
    /// senders like DCTCP by (RFC 9331 §4.1). Asked once.
    fn is_l4s(&self) -> bool {
        false
    }
    /// Why it cannot go on, if it cannot: the run ends with this. The engine's own never fail, and are not
    /// asked.
    fn failure(&self) -> Option<&Error> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub fn ctx(mss: u64, segments: u64) -> SenderContext {
        SenderContext {
            mss: Bytes(mss),
            initial_window: Bytes(mss * segments),
            initial_ssthresh: Bytes(u64::MAX),
            seed: 1,
        }
    }

    pub fn ack(bytes: u64) -> Ack {
        Ack { acked: Bytes(bytes), delivered: Bytes(bytes), cwnd_limited: true, ..Ack::default() }
    }

    pub fn congestion(signal: Signal, in_flight: u64) -> Congestion {
        Congestion { now: Time::ZERO, signal, in_flight: Bytes(in_flight) }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::{ack, congestion, ctx};
    use super::*;
    use airwnd_catalog::{Node, Param};
    use proptest::prelude::*;

    /// Every member of the engine's own, with its defaults.
    fn everyone() -> Vec<(String, Box<dyn CongestionControl>)> {
        Spec::kinds()
            .into_iter()
            .filter(|name| !["plugin", "python"].contains(&name.as_str()))
            .map(|name| {
                let node = Node::from_json(&format!("\"{name}\""), "test").unwrap();
                let cc = Spec::read(&node).unwrap().build(&ctx(1000, 10));
                (name, cc)
            })
            .collect()
    }

    /// Those that by their definition take no loss for congestion.
    const HEEDLESS: [&str; 2] = ["fixed", "constant"];

    #[derive(Clone, Debug)]
    enum Event {
        Ack { bytes: u64, rtt_us: u64, recovering: bool, rate: Option<(u64, u64)> },
        Lost { in_flight: u64, lost: u64 },
        Repaired,
        Congestion { signal: Signal, in_flight: u64 },
        Set { cwnd: u64 },
    }

    fn event() -> impl Strategy<Value = Event> {
        let signals = vec![Signal::Loss, Signal::Timeout, Signal::RepeatedTimeout, Signal::Ecn];
        let signal = prop::sample::select(signals);
        let rate = prop::option::of((0..200_000_u64, 1..10_000_000_u64));
        let ack = (0..20_000_u64, 1..10_000_000_u64, prop::bool::weighted(0.1), rate);
        prop_oneof![
            30 => ack.prop_map(|(bytes, rtt_us, recovering, rate)| Event::Ack { bytes, rtt_us, recovering, rate }),
            2 => (1000..2_000_000_u64, 1000..50_000_u64).prop_map(|(in_flight, lost)| Event::Lost { in_flight, lost }),
            1 => Just(Event::Repaired),
            2 => (signal, 0..2_000_000_u64).prop_map(|(signal, in_flight)| Event::Congestion { signal, in_flight }),
            1 => (0..2_000_000_u64).prop_map(|cwnd| Event::Set { cwnd }),
        ]
    }

    proptest! {
        /// What every member must keep, whatever happens in whatever order.
        #[test]
        fn windows_stay_in_order(
            events in prop::collection::vec((0..3_000_000_u64, event()), 1..300),
        ) {
            for (name, mut cc) in everyone() {
                let mut now = Time::ZERO;
                let mut last = ack(0);
                for (gap_us, event) in &events {
                    now += Span::from_micros(*gap_us);
                    let before = cc.cwnd();
                    match *event {
                        Event::Ack { bytes, rtt_us, recovering, rate } => {
                            let rtt = Span::from_micros(rtt_us);
                            let delivered = last.delivered + Bytes(bytes);
                            let rate = rate.map(|(most, interval_us)| RateSample {
                                delivered: delivered.min(Bytes(most)),
                                interval: Span::from_micros(interval_us),
                                prior_delivered: delivered.saturating_sub(Bytes(most)),
                                in_flight_at_send: before,
                                lost: last.lost,
                                app_limited: interval_us % 8 == 0,
                                rtt: Some(rtt),
                            });
                            last = Ack {
                                now,
                                acked: Bytes(bytes),
                                rtt: Some(rtt),
                                srtt: Some(last.srtt.map_or(rtt, |srtt| Span((7 * srtt.0 + rtt.0) / 8))),
                                min_rtt: Some(last.min_rtt.map_or(rtt, |min| min.min(rtt))),
                                round: last.round + gap_us % 2,
                                delivered,
                                rate,
                                ..ack(bytes)
                            };
                            cc.on_delivery(&last);
                            if !recovering {
                                cc.on_ack(&last);
                            }
                        }
                        Event::Lost { in_flight, lost } => cc.on_lost(&Loss {
                            now,
                            seq: Seq(0),
                            len: Bytes(1000),
                            delivered: last.delivered,
                            in_flight_at_send: Bytes(in_flight),
                            lost_since_send: Bytes(lost),
                            delivered_since_send: Bytes::ZERO,
                            app_limited: false,
                        }),
                        Event::Repaired => cc.on_repaired(),
                        Event::Congestion { signal, in_flight } => {
                            let in_flight = in_flight.min(before.0);
                            cc.on_congestion(&Congestion { now, ..congestion(signal, in_flight) });
                            let (most, heeds) = match signal {
                                Signal::Loss | Signal::Ecn => (before.max(Bytes(2000)), true),
                                _ => (Bytes(1000), !HEEDLESS.contains(&name.as_str())),
                            };
                            prop_assert!(!heeds || cc.cwnd() <= most, "{}: {} after {:?}", name, cc.cwnd(), signal);
                        }
                        Event::Set { cwnd } => {
                            cc.set_cwnd(Bytes(cwnd));
                            let off = cc.cwnd().0.abs_diff(cwnd.max(1000));
                            prop_assert!(off <= 1, "{}: {} was set to {}", name, cc.cwnd(), cwnd);
                        }
                    }
                    prop_assert!(cc.cwnd() >= Bytes(1000), "{}: {} after {:?}", name, cc.cwnd(), event);
                    prop_assert!(cc.cwnd() <= Bytes(1 << 40), "{}: {} after {:?}", name, cc.cwnd(), event);
                    prop_assert!(cc.ssthresh() >= Bytes(1000), "{}: ssthresh {}", name, cc.ssthresh());
                }
            }
        }
    }

    /// An ACK each second, or each twentieth, with no loss for days and round-trip times from nothing to ten seconds.
    #[test]
    fn a_week_overflows_nothing() {
        for (name, mut cc) in everyone() {
            // Sprout looks back on up to eight ticks for each ACK.
            let step = if name == "sprout" { 20 } else { 1 };
            for second in (0..7 * 24 * 3600_u64).step_by(step) {
                let rtt = Span::from_micros(second * second % 10_000_000);
                let ack = Ack {
                    now: Time(second * 1_000_000_000),
                    rtt: Some(rtt),
                    srtt: Some(rtt),
                    min_rtt: Some(Span(if second < 1000 { 5_000_000_000 } else { 0 })),
                    round: second,
                    ..ack(1_000_000)
                };
                cc.on_delivery(&ack);
                cc.on_ack(&ack);
                if second % 200_000 == 100_000 {
                    cc.on_congestion(&congestion(Signal::Loss, cc.cwnd().0));
                }
                assert!((1000..1 << 40).contains(&cc.cwnd().0), "{name}: {} after {second} s", cc.cwnd());
            }
        }
    }
}
