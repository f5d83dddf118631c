//! What the RED family shares: the average queue, and packets dropped or marked at random as they come.

use super::limit::Limit;
use super::pace::Pace;
use crate::aqm::fifo::tells_of;
use crate::aqm::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Choice;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// In what a queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Unit {
    /// Packets.
    #[word = "packets"]
    Packets,
    /// Bytes, in packets of `mean_packet`; a larger packet is more likely to be dropped.
    #[word = "bytes"]
    Bytes,
}

/// How drops at the same probability are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Spacing {
    /// Each packet by itself: geometrically distributed gaps.
    #[word = "none"]
    None,
    /// By the packets since the last one: gaps uniform up to 1 / p.
    #[word = "uniform"]
    Uniform,
    /// None before 1 / p packets: gaps uniform from 1 / p to 2 / p.
    #[word = "wait"]
    Wait,
}

/// What the members of the family have in common.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How much may wait.
    pub limit: Limit,
    /// In what the queue is measured.
    pub unit: Unit,
    /// Size of a packet, where a typical one counts.
    pub mean_packet: Bytes,
    /// Weight of a queue in the average.
    pub weight: f64,
    /// Time that a typical packet takes; none: from the rate.
    pub packet_time: Option<Span>,
    /// How drops are spaced.
    pub spacing: Spacing,
    /// Packets without which nothing is dropped.
    pub least_queue: u64,
    /// Mark packets that can say so instead of dropping them.
    pub ecn: bool,
}

/// What a discipline's parameters say of all that is not its curve; they have the same names.
macro_rules! settings_of {
    ($params:expr, weight $weight:expr) => {
        $crate::aqm::parts::early::Settings {
            limit: $crate::aqm::parts::limit::Limit { bytes: $params.buffer, packets: $params.packets },
            unit: $params.unit,
            mean_packet: $params.mean_packet,
            weight: $weight,
            packet_time: $params.packet_time,
            spacing: $params.spacing,
            least_queue: $params.least_queue,
            ecn: $params.ecn,
        }
    };
}
pub(in crate::aqm) use settings_of;

/// What an average says of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It is dropped or marked with this probability, before spacing.
    Chance(f64),
    /// It is dropped, whatever its sender knows of marks.
    Drop,
}

/// How the probability follows from the average.
pub trait Curve: Send {
    /// What the family has in common.
    fn settings(&self, ctx: &QueueContext) -> Settings;
    /// What becomes of a packet that finds this average, in packets.
    fn verdict(&mut self, now: Time, average: f64) -> Verdict;
}

/// A FIFO whose packets are dropped or marked by a curve over the average queue.
pub struct Early<C> {
    curve: C,
    settings: Settings,
    queue: Fifo,
    stream: Stream,
    average: f64,
    /// Since when the queue is empty; the average has decayed until then.
    idle_since: Option<Time>,
    pace: Pace,
    /// Packets since the last one dropped or marked; -1: the average was low.
    count: i64,
}

impl<C: Curve> Early<C> {
    /// An empty queue.
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

    /// The average that a packet finds.
    //= Floyd and Jacobson 1993, figure 2
    fn observe(&mut self, now: Time) -> f64 {
        let Settings { unit, mean_packet, weight, .. } = self.settings;
        self.average = match self.idle_since {
            None => {
                let queue = match unit {
                    Unit::Packets => self.queue.packets() as f64,
                    Unit::Bytes => self.queue.bytes().0 as f64 / mean_packet.0 as f64,
                };
                (1.0 - weight) * self.average + weight * queue
            }
            Some(since) => {
                //= exception red-idles-once
                self.idle_since = Some(now);
                self.average * libm::pow(1.0 - weight, self.missed(now.since(since)))
            }
        };
        self.average
    }

    /// How many typical packets could have passed in a time of idleness.
    //= exception red-idles-at-the-measured-rate
    fn missed(&self, time: Span) -> f64 {
        let Settings { mean_packet, packet_time, .. } = self.settings;
        let packet_time = packet_time.or_else(|| self.pace.transmission_time(mean_packet));
        packet_time.map_or(0.0, |packet_time| time.0 as f64 / packet_time.0.max(1) as f64)
    }

    /// Whether a packet of this size is hit that has this probability.
    //= Floyd and Jacobson 1993, figure 2 and §8
    pub(in crate::aqm) fn hits(&mut self, probability: f64, size: Bytes) -> bool {
        self.count += 1;
        let p = match self.settings.unit {
            Unit::Packets => probability,
            Unit::Bytes => probability * size.0 as f64 / self.settings.mean_packet.0 as f64,
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
        let is_short = self.queue.packets() < self.settings.least_queue;
        let (is_hit, may_be_marked) = match verdict {
            Verdict::Chance(probability) if !is_short => {
                (self.hits(probability, packet.size), self.settings.ecn)
            }
            //= ns-3 RedQueueDisc::UseHardDrop
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
        } else if !self.settings.limit.admits(self.queue.backlog(), held, packet.size) {
            events.dropped(packet, Cause::Full);
        } else {
            if is_hit {
                packet.mark(events);
            }
            self.queue.push(packet);
            self.idle_since = None;
        }
    }

    fn dequeue(&mut self, now: Time, _fate: &mut dyn QueueEvents) -> Option<Waiting> {
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

    tells_of!(queue);
}

/// Thresholds of an average are in order.
///
/// # Errors
/// The key at fault, and what is wrong with it.
pub fn in_order(min_th: f64, max_th: f64) -> Result<(), (&'static str, String)> {
    if min_th < max_th {
        return Ok(());
    }
    Err(("max_th", format!("{max_th} packets is not above min_th, {min_th}")))
}

/// The part of the way from `min_th` to `max_th` that an average has gone.
pub fn place(average: f64, min_th: f64, max_th: f64) -> f64 {
    (average - min_th) / (max_th - min_th)
}

#[cfg(test)]
impl<C> Early<C> {
    /// The average that the last packet found.
    pub fn average(&self) -> f64 {
        self.average
    }
    /// A packet has been hit.
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
        fn a_probability_is_one(
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

        /// The average never leaves the lengths that the queue has had.
        #[test]
        fn the_average_stays_within_the_queue(
            weight in 1e-6..=1.0_f64,
            steps in prop::collection::vec((0u64..5000, prop::bool::weighted(0.6)), 1..300),
        ) {
            let params = red::Params { weight, packets: Some(20), ..Default::default() };
            let (mut queue, mut seen, mut now) = (red::Red::new(params, &ctx()), Seen::default(), Time::ZERO);
            let mut longest = 0.0_f64;
            for (key, (gap, comes)) in (0..).zip(steps) {
                now += Span::from_micros(gap);
                if comes {
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
