//! Congestion control at the sender: window and pacing rate.
//!
//! A controller is policy. Loss detection, retransmission and the reduction of the bytes in flight during recovery
//! belong to the [`Endpoint`](crate::Endpoint).

pub mod outside;
pub(crate) mod parts;
pub mod slow_start;

use crate::Seq;
use crate::stack::Ecn;
use airwnd_catalog::{Error, family};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;

/// Congestion control: limits the sender's bytes in flight (cwnd) and, for some algorithms, its pacing rate.
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
    #[outside]
    Plugin(plugin::Params),
    #[outside]
    Python(python::Params),
    // An example of docs/how-to/add-an-algorithm.md.
    #[cfg(test)]
    #[path = "../../../../docs/how-to/algorithms/aimd.rs"]
    Aimd(aimd::Params),
}

impl Spec {
    /// Name in results; a plug-in's with its settings, and `whole` with its file or module.
    pub fn label(&self, whole: bool) -> String {
        match self {
            Spec::Plugin(plugin) => plugin.name(whole),
            Spec::Python(class) => class.name(whole),
            _ => self.kind(),
        }
    }
}

impl Spec {
    /// Returns the [ECN feedback that the controller needs](CongestionControl::needed_ecn). External controllers need
    /// none.
    pub fn needed_ecn(&self) -> Option<Ecn> {
        // The answer does not depend on the connection.
        let ctx = SenderContext {
            mss: Bytes(1),
            initial_window: Bytes(1),
            initial_ssthresh: Bytes(u64::MAX),
            seed: 0,
            identity: Identity::default(),
        };
        if self.is_outside() { None } else { self.build(&ctx).needed_ecn() }
    }
}

/// Connection properties passed to a controller when the handshake ends.
#[derive(Clone, Copy, Debug)]
pub struct SenderContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Initial congestion window.
    pub initial_window: Bytes,
    /// Initial slow-start threshold.
    pub initial_ssthresh: Bytes,
    /// Seed of this connection's random draws; identical in every run with the same seed.
    pub seed: u64,
    /// Identity of the connection. No built-in controller depends on it.
    pub identity: Identity,
}

/// Identity of a connection in a simulation, for external controllers that learn or keep records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Number of the flow, in the order of results.
    pub flow: u32,
    /// Number of its UE.
    pub ue: u32,
}

/// An ACK that reports progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival time.
    pub now: Time,
    /// Bytes newly reported as received, cumulatively or by SACK. Zero is possible: an ACK may advance over bytes that
    /// earlier SACKs reported.
    pub acked: Bytes,
    /// RTT sample of this ACK, if any. With timestamps, only an ACK that advances SND.UNA yields a sample.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Minimum RTT so far.
    pub min_rtt: Option<Span>,
    /// One-way delay of the newest segment whose timestamp this ACK echoes. It is exact up to the offset between the
    /// two clocks, is quantized to their ticks, and includes the wait of a delayed ACK.
    pub one_way_delay: Option<Span>,
    /// Bytes in flight after this ACK.
    pub in_flight: Bytes,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// Bytes declared lost since the last ACK that reported progress, including those that this ACK's SACK blocks
    /// reveal.
    pub lost: Bytes,
    /// Bytes of `acked` that the receiver reports as CE-marked. Zero unless the feedback counts marks, see
    /// [`Ecn`](crate::stack::Ecn).
    pub marked: Bytes,
    /// Round-trip counter. A round trip ends when data is acknowledged that was sent after the round trip began.
    pub round: u64,
    /// Total bytes delivered to the receiver so far.
    pub delivered: Bytes,
    /// Whether cwnd limits the sender, by the rule that `window_use` of [`Config`](crate::Config) selects.
    pub cwnd_limited: bool,
    /// Whether loss recovery is in progress.
    pub recovering: bool,
    /// Whether SACK is in use. Without SACK at most one loss per round trip can be detected.
    pub selective: bool,
    /// Delivery-rate sample, if the controller [requests rates](CongestionControl::needs_rate_samples) and a sample exists.
    pub rate: Option<RateSample>,
}

/// Delivery-rate sample of the last round trip (draft-cheng-iccrg-delivery-rate-estimation-02 §3).
///
/// It refers to the most recently sent of the segments that an ACK reports as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered since that segment was sent.
    pub delivered: Bytes,
    /// Interval of that delivery, or of the transmission of those bytes if that is longer.
    pub interval: Span,
    /// [`Ack::delivered`] when that segment was sent.
    pub prior_delivered: Bytes,
    /// Bytes in flight right after that segment was sent.
    pub in_flight_at_send: Bytes,
    /// Bytes declared lost since that segment was sent.
    pub lost: Bytes,
    /// Whether the sender was application-limited at that time, so that the path may be faster than the sample.
    pub app_limited: bool,
    /// Time since that segment was sent; `None` if it was sent more than once and the ACK is ambiguous.
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

/// Transmission of a data segment, original or retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Time of transmission.
    pub now: Time,
    /// Payload bytes.
    pub len: Bytes,
    /// Bytes in flight before this segment.
    pub in_flight: Bytes,
    /// Whether the sender is application-limited.
    pub app_limited: bool,
    /// Smoothed RTT; before the first data, that of the handshake.
    pub srtt: Option<Span>,
}

/// A segment declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// Payload bytes.
    pub len: Bytes,
    /// Total bytes delivered to the receiver so far.
    pub delivered: Bytes,
    /// Bytes in flight right after the segment was sent.
    pub in_flight_at_send: Bytes,
    /// Bytes declared lost since the segment was sent, including the segment itself.
    pub lost_since_send: Bytes,
    /// Bytes delivered since the segment was sent.
    pub delivered_since_send: Bytes,
    /// Whether the sender was application-limited when it sent the segment.
    pub app_limited: bool,
}

/// Window and threshold before a reduction that proves spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold.
    pub ssthresh: Bytes,
}

/// Kind of congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate ACKs or SACKs showed a loss; at most once per window of data.
    Loss,
    /// The retransmission timer expired for a segment, for the first time.
    Timeout,
    /// The retransmission timer expired again for the same segment.
    RepeatedTimeout,
    /// The receiver reports CE-marked packets (RFC 3168); at most once per window of data.
    Ecn,
}

impl Signal {
    /// Whether the retransmission timer expired.
    pub fn is_timeout(self) -> bool {
        matches!(self, Signal::Timeout | Signal::RepeatedTimeout)
    }
}

/// A congestion event or a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Time of detection.
    pub now: Time,
    /// Kind of signal.
    pub signal: Signal,
    /// Bytes in flight from which the new ssthresh is computed, by the rule that `loss_flight` of
    /// [`Config`](crate::Config) selects.
    pub in_flight: Bytes,
}

/// Congestion control of one connection.
///
/// [`on_delivery`](CongestionControl::on_delivery) is for measurement. It is called for every ACK that reports
/// progress, in any state of the sender. [`on_ack`](CongestionControl::on_ack) is called for ACKs of new data outside
/// loss recovery; slow start after a timeout counts as outside. [`on_congestion`](CongestionControl::on_congestion) is
/// called once when recovery begins, and at each timeout. [`cwnd`](CongestionControl::cwnd) is read after either call
/// and must be at least one segment. During loss recovery the endpoint itself limits the bytes in flight and reduces
/// them to `cwnd`, unless the controller [`governs_recovery`](CongestionControl::governs_recovery).
pub trait CongestionControl: Debug + Send + Sync {
    /// Handles an ACK of new data outside loss recovery.
    fn on_ack(&mut self, ack: &Ack);
    /// Handles an ACK that reports received data, including ACKs during loss recovery. Called before
    /// [`on_ack`](CongestionControl::on_ack) if that is called for the same ACK. Without SACK a duplicate ACK counts as
    /// one segment.
    fn on_delivery(&mut self, _ack: &Ack) {}
    /// Handles a congestion event or a timeout. Afterwards `cwnd` is the window to have when recovery ends, or one
    /// segment after a timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// The congestion window.
    fn cwnd(&self) -> Bytes;
    /// The slow-start threshold.
    fn ssthresh(&self) -> Bytes;
    /// Overrides the window. Called by the sender's half of a receive-window control
    /// ([`SenderHalf`](crate::rwnd::SenderHalf)), and from outside.
    fn set_cwnd(&mut self, cwnd: Bytes);
    /// Reduces the window after an idle period to `cwnd`. Controllers with a slow-start threshold raise it to `ssthresh`,
    /// which remembers the window before. What the controller knows of the path stays valid.
    fn restart(&mut self, cwnd: Bytes, _ssthresh: Bytes) {
        self.set_cwnd(cwnd);
    }
    /// Handles the first transmission after a pause: nothing was outstanding, and the last data was sent `pause` ago.
    fn on_resume(&mut self, _now: Time, _pause: Span) {}
    /// Handles the transmission of a data segment. Called only if the controller [requests
    /// rates](CongestionControl::needs_rate_samples).
    fn on_send(&mut self, _departure: &Departure) {}
    /// Handles a segment declared lost. Called before [`on_congestion`](CongestionControl::on_congestion) if that is
    /// called for the same loss, and only if the controller [requests rates](CongestionControl::needs_rate_samples).
    fn on_lost(&mut self, _loss: &Loss) {}
    /// Undoes the last reduction, which proved spurious: the segments declared lost had arrived (RFC 4015, RFC 5682).
    /// Controllers with a slow-start threshold restore it as well.
    fn on_spurious(&mut self, before: &Before) {
        if before.cwnd > self.cwnd() {
            self.set_cwnd(before.cwnd);
        }
    }
    /// Handles the end of loss recovery, whether duplicate ACKs or a timeout began it. If the loss was spurious,
    /// [`on_spurious`](CongestionControl::on_spurious) is called first.
    fn on_repaired(&mut self) {}
    /// Sets the pacing rate from outside; `None`: no pacing. Returns whether the controller takes it.
    fn pace_at(&mut self, _rate: Option<BitRate>) -> bool {
        false
    }
    /// Pacing rate of the payload; `None`: no pacing.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Whether `cwnd` is also the window during loss recovery and after idle periods. Such a controller acts in
    /// [`on_delivery`](CongestionControl::on_delivery).
    fn governs_recovery(&self) -> bool {
        false
    }
    /// Size of an autotuned send buffer in windows of data, see `send_buffer_autotuning` of [`Config`](crate::Config).
    fn send_buffer_windows(&self) -> u64 {
        2
    }
    /// Whether the controller is notified of ACKs of a part of a segment, whose bytes count with its last part. Of those
    /// built in only the last part is an event, as in Linux.
    fn takes_partial_acks(&self) -> bool {
        false
    }
    /// Whether the controller needs [`Ack::rate`], [`on_send`](CongestionControl::on_send) and
    /// [`on_lost`](CongestionControl::on_lost). Read once, when the connection begins.
    fn needs_rate_samples(&self) -> bool {
        false
    }
    /// Feedback of ECN marks without which the controller does not work as designed; `None`: it works without ECN. Flows
    /// with this controller negotiate it, see [`Settings::for_flow`](crate::Settings::for_flow).
    fn needed_ecn(&self) -> Option<Ecn> {
        None
    }
    /// Whether packets are sent as ECT(1), the identifier of scalable (L4S) senders for low-latency queues (RFC 9331
    /// §4.1). Read once, when the connection begins.
    fn is_l4s(&self) -> bool {
        false
    }
    /// Error that prevents the controller from continuing; it ends the run. Built-in controllers never fail and are not
    /// queried.
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
            identity: Identity::default(),
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

    /// All built-in controllers with default parameters.
    fn built_in() -> Vec<(String, Box<dyn CongestionControl>)> {
        Spec::built_in()
            .into_iter()
            .map(|name| {
                let node = Node::from_json(&format!("\"{name}\""), "test").unwrap();
                let cc = Spec::read(&node).unwrap().build(&ctx(1000, 10));
                (name, cc)
            })
            .collect()
    }

    /// Controllers that by definition do not reduce the window on loss.
    const LOSS_BLIND: [&str; 2] = ["fixed", "constant"];

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
        /// Bounds on window and threshold that every controller must satisfy under any sequence of events.
        #[test]
        fn windows_stay_within_bounds(
            events in prop::collection::vec((0..3_000_000_u64, event()), 1..300),
        ) {
            for (name, mut cc) in built_in() {
                let mut now = Time::ZERO;
                let mut last = ack(0);
                for (gap_us, event) in &events {
                    now += Span::from_micros(*gap_us);
                    let before = cc.cwnd();
                    match *event {
                        Event::Ack { bytes, rtt_us, recovering, rate } => {
                            let rtt = Span::from_micros(rtt_us);
                            let delivered = last.delivered + Bytes(bytes);
                            let rate = rate.map(|(max, interval_us)| RateSample {
                                delivered: delivered.min(Bytes(max)),
                                interval: Span::from_micros(interval_us),
                                prior_delivered: delivered.saturating_sub(Bytes(max)),
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
                            let (max, reacts) = match signal {
                                Signal::Loss | Signal::Ecn => (before.max(Bytes(2000)), true),
                                _ => (Bytes(1000), !LOSS_BLIND.contains(&name.as_str())),
                            };
                            prop_assert!(!reacts || cc.cwnd() <= max, "{}: {} after {:?}", name, cc.cwnd(), signal);
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

    /// A restart after an idle time. Controls without a slow-start threshold, or with one of their own, ignore it.
    #[test]
    fn a_restart_sets_the_window_and_raises_the_threshold() {
        let mut raised = Vec::new();
        for (name, mut cc) in built_in() {
            cc.on_congestion(&congestion(Signal::Loss, 10_000));
            cc.restart(Bytes(3000), Bytes(1 << 20));
            let off = cc.cwnd().0.abs_diff(3000);
            assert!(off <= 1, "{name}: {}", cc.cwnd());
            if cc.ssthresh() == Bytes(1 << 20) {
                raised.push(name);
            }
        }
        for name in [
            "newreno",
            "cubic",
            "c2tcp",
            "westwood",
            "dctcp",
            "prague",
            "compound",
            "nice",
            "ledbat-plus-plus",
        ] {
            assert!(raised.iter().any(|raised| raised == name), "{name} is not among {raised:?}");
        }
    }

    /// One ACK per second (Sprout: every minute) over seven days, RTTs from 0 to 10 s, a loss only every 200,000 s.
    #[test]
    fn a_week_without_overflow() {
        for (name, mut cc) in built_in() {
            // Sprout evaluates up to eight silent ticks for each ACK.
            let step = if name == "sprout" { 60 } else { 1 };
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
