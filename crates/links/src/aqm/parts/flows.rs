//! Per-flow queues, served by deficit round robin.

use super::limit::Limit;
use crate::aqm::{Backlog, Cause, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Time};
use std::collections::VecDeque;

/// A discipline for the queue of one flow.
pub trait FlowQueue: QueueDisc {
    /// Settings, the same for all flows.
    type Params: Clone + Send;
    /// Creates an empty queue with a limit of its own.
    fn make(params: &Self::Params, limit: Limit, ctx: &QueueContext) -> Self;
    /// Removes and returns the oldest packet when all queues together exceed the limit.
    fn overflow(&mut self, now: Time) -> Option<Waiting>;
}

/// Quirks of ns-3's queues of flows.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 FqCoDelQueueDisc, FqPieQueueDisc, FqCobaltQueueDisc")]
pub struct Quirks {
    /// Apply `packets` and `buffer` to each queue, too, which then drops packets that arrive.
    #[param(default = false, unit = "true or false")]
    #[param(
        source = "ns-3 InitializeParams of FqCoDelQueueDisc, FqPieQueueDisc and FqCobaltQueueDisc: true"
    )]
    pub limits_each: bool,
}

/// Classification and service of flows.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Maximum number of queues.
    pub queues: u32,
    /// Number of queues among which a flow is placed; `queues` is a multiple of it.
    pub ways: u32,
    /// Bytes that a queue may send per round.
    pub quantum: Bytes,
    /// Limit of all queues together.
    pub limit: Limit,
    /// Limit of each queue, which drops arriving packets.
    pub each: Limit,
    /// Maximum number of packets dropped at once from the longest queue.
    pub drop_batch: u32,
}

/// Deficit round robin over the queues of flows, new flows first.
pub struct Flows<Q: FlowQueue> {
    settings: Settings,
    params: Q::Params,
    ctx: QueueContext,
    hashes: Stream,
    places: Vec<Place>,
    /// Queues that have had a packet; they are kept.
    flows: Vec<Flow<Q>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    backlog: Backlog,
}

/// Mapping of flows with a hash to their queue.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Hash of the last flow in this place.
    tag: u32,
    flow: Option<u32>,
}

struct Flow<Q> {
    queue: Q,
    /// Bytes that the queue may still send in this round.
    deficit: i64,
    /// Whether the queue is in one of the lists.
    active: bool,
}

impl<Q: FlowQueue> Flows<Q> {
    /// Creates the queues without packets.
    pub fn over(settings: Settings, params: Q::Params, ctx: &QueueContext) -> Self {
        Flows {
            settings,
            params,
            ctx: *ctx,
            hashes: ctx.stream.child(0),
            places: vec![Place::default(); settings.queues as usize],
            flows: Vec::new(),
            new: VecDeque::with_capacity(64),
            old: VecDeque::with_capacity(64),
            backlog: Backlog::default(),
        }
    }

    /// Returns the place of the queue for a flow with this hash. With one way that is the hash's place; with more,
    /// another one of its set while that place belongs to another flow.
    //= Linux sch_cake.c, cake_hash
    fn place(&self, hash: u32) -> u32 {
        let (ways, home) = (self.settings.ways, hash % self.settings.queues);
        let set = home - home % ways;
        let places = (0..ways).map(|step| set + (home + step) % ways);
        let is_its_own = |place: &u32| {
            let Place { tag, flow } = self.places[*place as usize];
            flow.is_some() && tag == hash
        };
        let is_free = |place: &u32| {
            let flow = self.places[*place as usize].flow;
            flow.is_none_or(|flow| !self.flows[flow as usize].active)
        };
        places.clone().find(is_its_own).or_else(|| places.clone().find(is_free)).unwrap_or(home)
    }

    /// Returns the queue of a packet's flow.
    //= RFC 8290 §4.1
    // SplitMix64 of the flow's number replaces Jenkins' hash of addresses and ports, which packets do not have here.
    fn classify(&mut self, flow: u32) -> u32 {
        let hash = self.hashes.child(u64::from(flow)).next_u64() as u32;
        let place = self.place(hash);
        let Place { tag, flow } = &mut self.places[place as usize];
        *tag = hash;
        *flow.get_or_insert_with(|| {
            let ctx = QueueContext { stream: self.ctx.stream.child(1 + u64::from(place)), ..self.ctx };
            self.flows.push(Flow {
                queue: Q::make(&self.params, self.settings.each, &ctx),
                deficit: 0,
                active: false,
            });
            self.flows.len() as u32 - 1
        })
    }

    /// Calls `work` on a queue and updates the total backlog.
    fn with<T>(&mut self, flow: u32, work: impl FnOnce(&mut Q) -> T) -> T {
        let queue = &mut self.flows[flow as usize].queue;
        let before = queue.backlog();
        let result = work(queue);
        let after = queue.backlog();
        self.backlog.bytes = self.backlog.bytes + after.bytes - before.bytes;
        self.backlog.packets = self.backlog.packets + after.packets - before.packets;
        result
    }

    /// Drops packets from the head of the longest queue until half of its bytes are gone, at most `drop_batch` packets.
    //= RFC 8290 §4.1
    // The RFC counts packets; Linux and ns-3 count bytes, by which the queue was chosen.
    fn shed(&mut self, now: Time, events: &mut dyn QueueEvents) {
        let sizes = self.flows.iter().map(|flow| flow.queue.backlog().bytes);
        let (mut longest, mut max) = (0, Bytes::ZERO);
        for (number, bytes) in (0..).zip(sizes) {
            if bytes > max {
                (longest, max) = (number, bytes);
            }
        }
        let mut gone = Bytes::ZERO;
        for _ in 0..self.settings.drop_batch {
            let Some(packet) = self.with(longest, |queue| queue.overflow(now)) else { return };
            gone += packet.size;
            events.dropped(packet, Cause::Full);
            if gone * 2 >= max {
                return;
            }
        }
    }

    /// Returns the queue that is next.
    fn head(&self) -> Option<u32> {
        self.new.front().or(self.old.front()).copied()
    }

    /// Removes the head of the lists; returns whether it was new.
    fn take_head(&mut self) -> bool {
        let new = self.new.pop_front().is_some();
        if !new {
            self.old.pop_front();
        }
        new
    }
}

impl<Q: FlowQueue> QueueDisc for Flows<Q> {
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let number = self.classify(packet.flow);
        self.with(number, |queue| queue.enqueue(now, packet, Bytes::ZERO, events));
        let flow = &mut self.flows[number as usize];
        if !flow.active && flow.queue.backlog().packets > 0 {
            flow.active = true;
            flow.deficit = self.settings.quantum.0 as i64;
            self.new.push_back(number);
        }
        while self.settings.limit.is_exceeded(self.backlog, held) && self.backlog.packets > 0 {
            self.shed(now, events);
        }
    }

    //= RFC 8290 §4.2
    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting> {
        loop {
            let number = self.head()?;
            let flow = &mut self.flows[number as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.settings.quantum.0 as i64;
                self.take_head();
                self.old.push_back(number);
                continue;
            }
            if let Some(packet) = self.with(number, |queue| queue.dequeue(now, events)) {
                self.flows[number as usize].deficit -= packet.size.0 as i64;
                return Some(packet);
            }
            // An empty new queue goes to the old list first, so that a flow of single packets cannot stay new
            // indefinitely and starve the others.
            if self.take_head() {
                self.old.push_back(number);
            } else {
                self.flows[number as usize].active = false;
            }
        }
    }

    fn oldest(&self) -> Option<Time> {
        let active = self.new.iter().chain(&self.old);
        active.filter_map(|number| self.flows[*number as usize].queue.oldest()).min()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        let mut queues: Vec<_> =
            self.flows.iter().map(|flow| (flow.deficit, flow.queue.inside().peekable())).collect();
        let mut turns: VecDeque<u32> = self.new.iter().chain(&self.old).copied().collect();
        let quantum = self.settings.quantum.0 as i64;
        Box::new(std::iter::from_fn(move || {
            loop {
                let number = *turns.front()?;
                let (deficit, packets) = &mut queues[number as usize];
                if packets.peek().is_none() {
                    turns.pop_front();
                } else if *deficit <= 0 {
                    *deficit += quantum;
                    turns.rotate_left(1);
                } else {
                    let packet = packets.next()?;
                    *deficit -= packet.size.0 as i64;
                    return Some(packet);
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::codel::{self, Codel};
    use crate::aqm::tests::{Seen, ctx, packet};
    use proptest::prelude::*;

    fn flows(queues: u32, ways: u32, packets: u64) -> Flows<Codel> {
        let limit = Limit { bytes: None, packets: Some(packets) };
        let settings =
            Settings { queues, ways, quantum: Bytes(1500), limit, each: Limit::default(), drop_batch: 64 };
        Flows::over(settings, codel::Params::default(), &ctx())
    }

    fn of(flow: u32, key: u32, size: u64) -> Waiting {
        Waiting { flow, ..packet(key, size, Time::ZERO) }
    }

    /// Returns the number of flows 0 to 63, all active, that have a separate queue among 64.
    fn separate(ways: u32) -> usize {
        let mut flows = flows(64, ways, 1000);
        for flow in 0..64 {
            flows.enqueue(Time::ZERO, of(flow, flow, 100), Bytes::ZERO, &mut Seen::default());
        }
        flows.flows.iter().filter(|flow| flow.queue.backlog().packets == 1).count()
    }

    /// By chance 24 of 64 flows have a separate queue, 64 (1 - 1/64)^63; with sets of 8 a flow shares a queue only if
    /// its set is full.
    #[test]
    fn larger_sets_reduce_shared_queues() {
        assert!((14..34).contains(&separate(1)), "{}", separate(1));
        assert!(separate(8) > 44, "{}", separate(8));
        assert_eq!(separate(64), 64);
    }

    #[test]
    fn half_of_the_longest_queue_is_dropped_from_its_head() {
        let (mut flows, mut seen) = (flows(1024, 1, 10), Seen::default());
        for key in 0..8 {
            flows.enqueue(Time::ZERO, of(7, key, 1000), Bytes::ZERO, &mut seen);
        }
        for key in 8..11 {
            flows.enqueue(Time::ZERO, of(8, key, 1000), Bytes::ZERO, &mut seen);
        }
        let dropped: Vec<u32> = seen.dropped.into_iter().map(|(key, _)| key).collect();
        assert_eq!((dropped, flows.backlog().packets), (vec![0, 1, 2, 3], 7));
    }

    proptest! {
        /// `inside` returns the packets in the order in which they leave without drops.
        #[test]
        fn inside_predicts_the_order_of_departure(
            packets in prop::collection::vec((0u32..6, 40u64..3000), 1..80),
            taken in 0usize..60,
        ) {
            let (mut flows, mut seen) = (flows(8, 1, 1000), Seen::default());
            for (key, (flow, size)) in (0..).zip(&packets) {
                flows.enqueue(Time::ZERO, of(*flow, key, *size), Bytes::ZERO, &mut seen);
                if (key as usize) < taken && key % 2 == 0 {
                    flows.dequeue(Time::ZERO, &mut seen);
                }
            }
            let predicted: Vec<u32> = flows.inside().map(|packet| packet.packet.0).collect();
            let left = std::iter::from_fn(|| flows.dequeue(Time::ZERO, &mut seen));
            prop_assert_eq!(predicted, left.map(|packet| packet.packet.0).collect::<Vec<_>>());
            prop_assert!(seen.dropped.is_empty());
        }
    }
}
