//! Common part of the RED family: the average queue, and random drops or marks of arriving packets.

use super::limit::Limit;
use super::pace::Pace;
use crate::aqm::fifo::delegate_to_fifo;
use crate::aqm::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// Unit of queue lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Unit {
    /// Packets.
    #[word = "packets"]
    Packets,
    /// Bytes, in packets of `mean_packet`; the drop probability grows with packet size.
    #[word = "bytes"]
    Bytes,
}

/// Spacing of drops at constant probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Spacing {
    /// Independent drops: geometrically distributed gaps.
    #[word = "none"]
    None,
    /// Probability rises with the packets since the last drop: gaps uniform up to 1 / p.
    #[word = "uniform"]
    Uniform,
    /// No drop before 1 / p packets: gaps uniform from 1 / p to 2 / p.
    #[word = "wait"]
    Wait,
}

/// Quirks of RED in other simulators.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-2 and ns-3")]
pub struct Quirks {
    /// Minimum number of queued packets for a drop; below it nothing is dropped and spacing restarts.
    #[param(default = 0, range = 0..=1_000_000_000)]
    #[param(unit = "packets", source = "ns-2 REDQueue::enque, ns-3 RedQueueDisc::DoEnqueue: 2")]
    pub min_queue: u64,
}

/// Parameters common to the RED family, besides the average and the curve.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN \
              1(4), 1993")]
pub struct Common {
    /// Unit of queue lengths and thresholds.
    #[param(default = Unit::Packets, unit = "word", source = "Floyd and Jacobson 1993 §8; SmRED 2017 §5.1")]
    pub unit: Unit,
    /// Typical packet size, for `unit = "bytes"` and for `packet_time`.
    #[param(expert, default = Bytes(1000), range = Bytes(1)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "Floyd and Jacobson 1993 §5; SmRED 2017 table 1")]
    pub mean_packet: Bytes,
    /// Transmission time of a packet, for the decay of the average; `none`: that of `mean_packet` at the rate, which is
    /// measured if it varies.
    #[param(expert, default = None, range = Span(1)..=Span::from_secs(60))]
    #[param(unit = "time", source = "Floyd and Jacobson 1993 §11, s")]
    pub packet_time: Option<Span>,
    /// Mark ECN-capable packets instead of dropping them, unless the average is in the range where every packet is
    /// dropped.
    #[param(basic, default = true)]
    #[param(unit = "true or false", source = "RFC 7567 §4.2.1; ns-3 RedQueueDisc::UseHardDrop")]
    pub ecn: bool,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(100), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "ns-3 reference run S5; SmRED 2017 §5.1")]
    pub packets: Option<u64>,
    /// Buffer size; `none`: no limit in bytes.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 reference run S5; SmRED 2017 §5.1: packets")]
    pub buffer: Option<Bytes>,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Common {
    /// Returns the limit of the queue.
    fn limit(&self) -> Limit {
        Limit { bytes: self.buffer, packets: self.packets }
    }
}

/// Settings of a RED queue except its curve.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Common parameters.
    pub common: Common,
    /// Weight of the current queue in the average.
    pub weight: f64,
    /// Spacing of drops.
    pub spacing: Spacing,
}

/// Verdict on an arriving packet for an average queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Pass.
    Pass,
    /// Drop or mark with this probability, before spacing.
    Chance(f64),
    /// Drop, even if the packet is ECN-capable.
    Drop,
}

/// Drop probability as a function of the average queue.
pub trait Curve: Send {
    /// Returns the settings of the queue.
    fn settings(&self, ctx: &QueueContext) -> Settings;
    /// Returns the verdict on a packet that finds this average, in packets.
    fn verdict(&mut self, now: Time, average: f64) -> Verdict;
}

/// A FIFO that drops or marks arriving packets by a curve over the average queue.
pub struct Early<C> {
    curve: C,
    settings: Settings,
    queue: Fifo,
    stream: Stream,
    average: f64,
    /// Time since which the queue has been empty; the average includes the decay until then.
    idle_since: Option<Time>,
    pace: Pace,
    /// Packets since the last drop or mark; -1: the average was below the threshold.
    count: i64,
}

impl<C: Curve> Early<C> {
    /// Creates an empty queue.
    pub fn new(params: impl Into<C>, ctx: &QueueContext) -> Self {
        let curve = params.into();
        Early {
            settings: curve.settings(ctx),
            curve,
            queue: Fifo::default(),
            stream: ctx.stream,
            average: 0.0,
            idle_since: Some(Time::ZERO),
            pace: Pace::new(ctx.rate),
            count: -1,
        }
    }

    /// Updates the average for an arriving packet.
    //= Floyd and Jacobson 1993, figure 2
    fn observe(&mut self, now: Time) -> f64 {
        let Settings { common: Common { unit, mean_packet, .. }, weight, .. } = self.settings;
        self.average = match self.idle_since {
            None => {
                let queue = match unit {
                    Unit::Packets => self.queue.packets() as f64,
                    Unit::Bytes => self.queue.bytes().0 as f64 / mean_packet.0 as f64,
                };
                (1.0 - weight) * self.average + weight * queue
            }
            Some(since) => {
                // Taken literally, a drop at an empty queue makes the average decay by the same idle time again. ns-2
                // and ns-3 count that time once, too.
                self.idle_since = Some(now);
                self.average * libm::pow(1.0 - weight, self.missed(now.since(since)))
            }
        };
        self.average
    }

    /// Returns the number of typical packets that could have been sent in an idle time.
    // The rate of a bearer is decided by the scheduler and not known in advance; the rate of recent departures replaces
    // it.
    fn missed(&self, time: Span) -> f64 {
        let Common { mean_packet, packet_time, .. } = self.settings.common;
        let packet_time = packet_time.or_else(|| self.pace.transmission_time(mean_packet));
        packet_time.map_or(0.0, |packet_time| time.0 as f64 / packet_time.0.max(1) as f64)
    }

    /// Draws whether a packet of this size, with this probability, is dropped or marked.
    //= Floyd and Jacobson 1993, figure 2, §8
    pub(in crate::aqm) fn hits(&mut self, probability: f64, size: Bytes) -> bool {
        self.count += 1;
        let p = match self.settings.common.unit {
            Unit::Packets => probability,
            Unit::Bytes => probability * size.0 as f64 / self.settings.common.mean_packet.0 as f64,
        };
        let sum = self.count as f64 * p;
        let spaced = match self.settings.spacing {
            Spacing::None => p,
            Spacing::Uniform if sum < 1.0 => p / (1.0 - sum),
            //= ns-2.35 red.cc, REDQueue::modify_p
            Spacing::Wait if sum < 1.0 => 0.0,
            Spacing::Wait if sum < 2.0 => p / (2.0 - sum),
            Spacing::Uniform | Spacing::Wait => 1.0,
        };
        self.stream.uniform() < spaced
    }
}

impl<C: Curve> QueueDisc for Early<C> {
    fn enqueue(&mut self, now: Time, mut packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let average = self.observe(now);
        let verdict = self.curve.verdict(now, average);
        let is_short = self.queue.packets() < self.settings.common.quirks.min_queue;
        let (is_hit, may_be_marked) = match verdict {
            Verdict::Chance(probability) if !is_short => {
                (self.hits(probability, packet.size), self.settings.common.ecn)
            }
            //= ns-3 red-queue-disc.cc, RedQueueDisc::UseHardDrop
            Verdict::Drop if !is_short => (true, false),
            _ => {
                self.count = -1;
                (false, false)
            }
        };
        if is_hit {
            self.count = 0;
        }
        if is_hit && !(may_be_marked && packet.ecn.is_capable()) {
            events.dropped(packet, Cause::Early);
        } else if !self.settings.common.limit().admits(self.queue.backlog(), held, packet.size) {
            events.dropped(packet, Cause::Full);
        } else {
            if is_hit {
                packet.mark(events);
            }
            self.queue.push(packet);
            self.idle_since = None;
        }
    }

    fn dequeue(&mut self, now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        let packet = self.queue.pop()?;
        self.pace.left(now, packet.size, !self.queue.is_empty());
        if self.queue.is_empty() {
            self.idle_since = Some(now);
        }
        Some(packet)
    }

    fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        self.queue.expire(now, lifetime, expired);
        if self.queue.is_empty() {
            self.idle_since.get_or_insert(now);
            self.pace.emptied();
        }
    }

    delegate_to_fifo!(queue);
}

/// Checks that the thresholds are in ascending order.
///
/// # Errors
/// The offending key and the message.
pub fn in_order(min_th: f64, max_th: f64) -> Result<(), (&'static str, String)> {
    if min_th < max_th {
        return Ok(());
    }
    Err(("max_th", format!("{max_th} packets is not above min_th, {min_th}")))
}

/// Returns the relative position of an average between `min_th` and `max_th`.
pub fn place(average: f64, min_th: f64, max_th: f64) -> f64 {
    (average - min_th) / (max_th - min_th)
}

#[cfg(test)]
impl<C> Early<C> {
    /// Returns the average that the last packet found.
    pub fn average(&self) -> f64 {
        self.average
    }
    /// Resets the count as after a drop or mark.
    pub fn reset_count(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};
    use crate::aqm::{adaptive_red, gentle_red, red, smred};
    use proptest::prelude::*;

    fn curves(min_th: f64, max_th: f64, max_p: f64, i: u32) -> [Box<dyn FnMut(f64) -> Verdict>; 4] {
        let mut red = red::Params { min_th, max_th, max_p, ..Default::default() };
        let mut gentle = gentle_red::Params { min_th, max_th, max_p, ..Default::default() };
        let mut smart = smred::Params { min_th, max_th, max_p, i, ..Default::default() };
        let adaptive = adaptive_red::Params { min_th, max_th, max_p, ..Default::default() };
        let (mut adaptive, mut now) = (adaptive_red::Adaptation::from(adaptive), Time::ZERO);
        [
            Box::new(move |average| red.verdict(Time::ZERO, average)),
            Box::new(move |average| gentle.verdict(Time::ZERO, average)),
            Box::new(move |average| smart.verdict(Time::ZERO, average)),
            Box::new(move |average| {
                now += Span::from_millis(300);
                adaptive.verdict(now, average)
            }),
        ]
    }

    proptest! {
        #[test]
        fn probabilities_are_between_zero_and_one(
            min_th in 0.0..100.0_f64, width in 0.001..100.0_f64, max_p in 0.0..=1.0_f64, i in 2u32..50,
            averages in prop::collection::vec(0.0..400.0_f64, 1..100),
        ) {
            for mut curve in curves(min_th, min_th + width, max_p, i) {
                for average in &averages {
                    if let Verdict::Chance(p) = curve(*average) {
                        prop_assert!((0.0..=1.0).contains(&p), "{}", p);
                    }
                }
            }
        }

        /// The average stays within the range of past queue lengths.
        #[test]
        fn the_average_stays_within_the_queue(
            weight in 1e-6..=1.0_f64,
            steps in prop::collection::vec((0u64..5000, prop::bool::weighted(0.6)), 1..300),
        ) {
            let common = Common { packets: Some(20), ..Common::default() };
            let params = red::Params { weight, common, ..Default::default() };
            let (mut queue, mut seen, mut now) = (red::Red::new(params, &ctx()), Seen::default(), Time::ZERO);
            let mut longest = 0.0_f64;
            for (key, (gap, arrives)) in (0..).zip(steps) {
                now += Span::from_micros(gap);
                if arrives {
                    queue.enqueue(now, packet(key, 1000, now), Bytes::ZERO, &mut seen);
                } else {
                    queue.dequeue(now, &mut seen);
                }
                longest = longest.max(queue.backlog().packets as f64);
                prop_assert!((0.0..=longest).contains(&queue.average), "{}", queue.average);
            }
        }
    }
}
