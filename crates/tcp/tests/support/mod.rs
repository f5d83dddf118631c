//! Two endpoints and a path of links between them.
#![allow(dead_code, reason = "each test uses its part")]

pub mod script;

use airwnd_tcp::segment::Codepoint;
use airwnd_tcp::{Config, Endpoint, Segment, Seq, Setup, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A link behind a drop-tail queue.
pub struct Link {
    pub rate: BitRate,
    pub delay: Span,
    /// Packets that wait; the one being sent does not count.
    pub limit: usize,
    /// Link-layer bytes on each packet.
    pub overhead: Bytes,
    /// Ends of transmission of the packets inside, the one being sent included.
    inside: VecDeque<Time>,
    pub drops: u64,
    /// Mark ECN-capable packets that find so many or more inside.
    pub mark_above: usize,
    /// Lose each packet for which this says so.
    pub loses: Box<dyn FnMut(&Segment) -> bool>,
    /// Deliver each packet so much later, past those behind it.
    pub detains: Box<dyn FnMut(&Segment) -> Span>,
    /// From when on it sends nothing, once, and for how long.
    pub pause: Option<(Time, Span)>,
}

impl Link {
    pub fn new(rate: BitRate, delay: Span, limit: usize) -> Link {
        let inside = VecDeque::with_capacity(limit.min(10_000) + 1);
        Link {
            rate,
            delay,
            limit,
            overhead: Bytes(2),
            inside,
            drops: 0,
            mark_above: usize::MAX,
            loses: Box::new(|_| false),
            detains: Box::new(|_| Span::ZERO),
            pause: None,
        }
    }

    /// Packets inside, the one being sent included.
    pub fn inside(&self, now: Time) -> usize {
        self.inside.iter().filter(|end| **end > now).count()
    }

    /// When the packet arrives at the other end, if it does.
    fn send(&mut self, now: Time, segment: &mut Segment) -> Option<Time> {
        while self.inside.front().is_some_and(|end| *end <= now) {
            self.inside.pop_front();
        }
        if self.inside.len() > self.limit {
            self.drops += 1;
            return None;
        }
        if self.inside.len() >= self.mark_above && segment.ecn.is_capable() {
            segment.ecn = Codepoint::Ce;
        }
        let mut start = self.inside.back().copied().unwrap_or(now);
        if let Some((_, span)) = self.pause.take_if(|(from, _)| *from <= start) {
            start += span;
        }
        let end = start + self.rate.transmission_time(segment.wire_bytes() + self.overhead);
        self.inside.push_back(end);
        (!(self.loses)(segment)).then(|| end + self.delay + (self.detains)(segment))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival { to: usize, slot: usize },
    Timer { at: usize },
}

/// The two ends: 0 is the client, 1 the server; `links[0]` leads from 0 to 1.
pub struct Net {
    pub now: Time,
    pub ends: [Endpoint; 2],
    pub links: [Link; 2],
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    slots: Vec<Segment>,
    free: Vec<usize>,
    armed: [Option<Time>; 2],
    /// Sum of one-way delays of what arrived at each end, and how many that was.
    pub delay: [(Span, u64); 2],
    pub sent: [u64; 2],
}

impl Net {
    pub fn new(config: &Config, cc: &cc::Spec, rwnd: &rwnd::Spec, links: [Link; 2]) -> Net {
        Net::with_iss(config, cc, rwnd, links, [Seq(0), Seq(0)])
    }

    pub fn with_iss(
        config: &Config,
        cc: &cc::Spec,
        rwnd: &rwnd::Spec,
        links: [Link; 2],
        iss: [Seq; 2],
    ) -> Net {
        let setup = |iss| Setup { config, cc, rwnd, peer_rwnd: rwnd, iss, seed: 1 };
        Net {
            now: Time::ZERO,
            ends: [Endpoint::new(&setup(iss[0])), Endpoint::new(&setup(iss[1]))],
            links,
            events: BinaryHeap::with_capacity(100_000),
            count: 0,
            slots: Vec::with_capacity(100_000),
            free: Vec::with_capacity(100_000),
            armed: [None; 2],
            delay: [(Span::ZERO, 0); 2],
            sent: [0; 2],
        }
    }

    /// Opens from end 0 to end 1.
    pub fn open(&mut self) {
        self.ends[1].listen();
        self.ends[0].connect();
        self.pump(0);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// Lets an end send, and arms its timer.
    pub fn pump(&mut self, end: usize) {
        while let Some(mut segment) = self.ends[end].poll_transmit(self.now) {
            self.sent[end] += 1;
            let Some(at) = self.links[end].send(self.now, &mut segment) else { continue };
            let slot = match self.free.pop() {
                Some(slot) => {
                    self.slots[slot] = segment;
                    slot
                }
                None => {
                    self.slots.push(segment);
                    self.slots.len() - 1
                }
            };
            self.schedule(at, Event::Arrival { to: 1 - end, slot });
        }
        if let Some(at) = self.ends[end].next_timeout()
            && self.armed[end].is_none_or(|armed| at < armed)
        {
            self.armed[end] = Some(at);
            self.schedule(at, Event::Timer { at: end });
        }
    }

    /// Runs until `end`, or until nothing is left to happen.
    pub fn run_until(&mut self, end: Time) {
        while let Some(Reverse((at, _, _))) = self.events.peek() {
            if *at > end {
                break;
            }
            let Reverse((at, _, event)) = self.events.pop().expect("peeked");
            self.now = at;
            match event {
                Event::Arrival { to, slot } => {
                    let segment = self.slots[slot];
                    self.free.push(slot);
                    let delay = &mut self.delay[to];
                    *delay = (delay.0 + (at - segment.sent_at), delay.1 + 1);
                    self.ends[to].on_segment(at, &segment);
                    self.pump(to);
                }
                Event::Timer { at: who } => {
                    if self.armed[who] == Some(at) {
                        self.armed[who] = None;
                    }
                    self.ends[who].on_timeout(at);
                    self.pump(who);
                }
            }
        }
        self.now = end;
    }

    pub fn goodput_kbps(&self, end: usize) -> f64 {
        self.ends[end].stats().bytes_received.bits() as f64 / self.now.as_secs() / 1e3
    }

    pub fn mean_delay_ms(&self, end: usize) -> f64 {
        let (sum, count) = self.delay[end];
        sum.as_millis() / count as f64
    }
}

/// The first member of each family that changes nothing.
pub fn newreno() -> cc::Spec {
    cc::Spec::Newreno(cc::newreno::Params::default())
}

pub fn plain_window() -> rwnd::Spec {
    rwnd::Spec::Fixed(rwnd::fixed::Params::default())
}
