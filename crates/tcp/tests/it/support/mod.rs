//! Endpoints, and a path of two links between them.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod script;

use airwnd_tcp::segment::Codepoint;
use airwnd_tcp::{Config, Endpoint, EndpointSetup, Segment, Seq, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A link behind a drop-tail queue.
pub struct Link {
    pub rate: BitRate,
    pub delay: Span,
    /// Capacity of the queue in packets, without the packet in transmission.
    pub limit: usize,
    /// Link-layer bytes on each packet.
    pub overhead: Bytes,
    /// End of transmission of each packet inside, including the one in transmission.
    inside: VecDeque<Time>,
    pub drops: u64,
    /// Marks ECN-capable packets that find at least this many packets inside.
    pub mark_above: usize,
    /// Returns true for packets to lose.
    pub loses: Box<dyn FnMut(&Segment) -> bool>,
    /// Additional delay of each packet, which later ones may overtake.
    pub extra_delay: Box<dyn FnMut(&Segment) -> Span>,
    /// A single pause: start and duration.
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
            extra_delay: Box::new(|_| Span::ZERO),
            pause: None,
        }
    }

    /// Returns the number of packets inside, including the one in transmission.
    pub fn inside(&self, now: Time) -> usize {
        self.inside.iter().filter(|end| **end > now).count()
    }

    /// Returns the arrival time of the packet at the other end, unless it is dropped or lost.
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
        (!(self.loses)(segment)).then(|| end + self.delay + (self.extra_delay)(segment))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival { to: usize, slot: usize },
    Timer { at: usize },
}

/// Connections over a pair of links. End 0 is the client, 1 the server; `links[0]` leads from 0 to 1. Further
/// connections may share the links: 2 and 3, and so on.
pub struct Net {
    pub now: Time,
    pub ends: Vec<Endpoint>,
    pub links: [Link; 2],
    mss: Bytes,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    slots: Vec<Segment>,
    free: Vec<usize>,
    armed: Vec<Option<Time>>,
    /// Data of the application at each end that awaits room in the send buffer.
    unwritten: Vec<Bytes>,
    /// Sum of one-way delays of packets that arrived at each end, and their number.
    pub delay: Vec<(Span, u64)>,
    pub sent: Vec<u64>,
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
        let mut net = Net {
            now: Time::ZERO,
            ends: Vec::new(),
            links,
            mss: Bytes(u64::from(config.mss)),
            events: BinaryHeap::with_capacity(100_000),
            count: 0,
            slots: Vec::with_capacity(100_000),
            free: Vec::with_capacity(100_000),
            armed: Vec::new(),
            unwritten: Vec::new(),
            delay: Vec::new(),
            sent: Vec::new(),
        };
        net.add(config, cc, rwnd, iss);
        net
    }

    /// Adds a connection over the same links.
    pub fn add(&mut self, config: &Config, cc: &cc::Spec, rwnd: &rwnd::Spec, iss: [Seq; 2]) {
        let config = &Arc::new(config.clone());
        for iss in iss {
            self.ends.push(Endpoint::new(&EndpointSetup {
                config,
                cc,
                rwnd,
                peer_rwnd: rwnd,
                iss,
                seed: 1,
                identity: Default::default(),
            }));
            self.armed.push(None);
            self.unwritten.push(Bytes::ZERO);
            self.delay.push((Span::ZERO, 0));
            self.sent.push(0);
        }
    }

    /// Opens the connection from end 0 to end 1.
    pub fn open(&mut self) {
        self.open_from(0);
    }

    /// Opens a connection from an even end to the next.
    pub fn open_from(&mut self, end: usize) {
        self.ends[end + 1].listen();
        self.ends[end].connect();
        self.pump(end);
    }

    /// Returns the device information of an end: number of connections, and payload rate and base RTT of full segments.
    fn device_of(&self, end: usize) -> rwnd::Device {
        let received = || self.ends.iter().skip(end % 2).step_by(2).map(Endpoint::bytes_received);
        let (ack, full) = (Bytes(52), Bytes(52) + self.mss);
        let (to, from) = (&self.links[1 - end % 2], &self.links[end % 2]);
        let time = |link: &Link, packet| link.delay + link.rate.transmission_time(packet + link.overhead);
        let payload = self.mss.0 as f64 / (full + to.overhead).0 as f64;
        rwnd::Device {
            connections: self.ends.len() as u32 / 2,
            min_received: received().min().unwrap_or_default(),
            max_received: received().max().unwrap_or_default(),
            received: self.ends.iter().skip(end % 2).step_by(2).map(Endpoint::bytes_arrived).sum(),
            link: Some(rwnd::DeviceLink {
                rate: BitRate((to.rate.0 as f64 * payload) as u64),
                base_rtt: time(to, full) + time(from, ack),
            }),
            ..rwnd::Device::default()
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// Writes data; what exceeds the room in the send buffer is written when there is room.
    pub fn write(&mut self, end: usize, bytes: Bytes) {
        self.unwritten[end] += bytes;
    }

    /// Sends an end's segments and sets its timer.
    pub fn pump(&mut self, end: usize) {
        if self.unwritten[end] > Bytes::ZERO {
            let taken = self.ends[end].write(self.unwritten[end]);
            self.unwritten[end] -= taken;
        }
        while let Some(mut segment) = self.ends[end].poll_transmit(self.now) {
            self.sent[end] += 1;
            let Some(at) = self.links[end % 2].send(self.now, &mut segment) else { continue };
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
            self.schedule(at, Event::Arrival { to: end ^ 1, slot });
        }
        if let Some(at) = self.ends[end].next_timeout()
            && self.armed[end].is_none_or(|armed| at < armed)
        {
            self.armed[end] = Some(at);
            self.schedule(at, Event::Timer { at: end });
        }
    }

    /// Runs until `end`, or until no events are pending.
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
                    if segment.len > 0 && self.ends[to].device_needs() != rwnd::DeviceNeeds::default() {
                        let device = self.device_of(to);
                        self.ends[to].set_device(device);
                    }
                    self.ends[to].on_segment(at, &segment);
                    self.pump(to);
                }
                Event::Timer { at: index } => {
                    if self.armed[index] == Some(at) {
                        self.armed[index] = None;
                    }
                    self.ends[index].on_timeout(at);
                    self.pump(index);
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

/// Baseline congestion control.
pub fn newreno() -> cc::Spec {
    cc::Spec::Newreno(cc::newreno::Params::default())
}

/// Baseline receive-window control.
pub fn plain_window() -> rwnd::Spec {
    rwnd::Spec::Fixed(rwnd::fixed::Params::default())
}
