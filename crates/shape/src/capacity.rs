//! Rates by the measured capacity of both directions.

use crate::baseline::Baseline;
use crate::law::{Law, Passed, Phase};
use crate::peer_clock::PeerClock;
use crate::standing::Standing;
use crate::{Control, Echo, Segment};
use airwnd_catalog::{Choice, Params as Declared};
use airwnd_rwnd::{Queued, QueuedMeter};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::BTreeMap;

/// Interval between two packets of a busy link, several of which it could have sent, that is a pause.
const PAUSE: Span = Span::from_millis(100);
/// Time after which a flow is forgotten.
const GONE: Span = Span::from_secs(30);
/// Maximum number of flows; the one that was silent for longest makes room.
const FLOWS_MAX: usize = 4096;
/// Ticks of the other end's clock that are too long to divide delays.
const COARSE: Span = Span::from_millis(10);

/// Directions with a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Ways {
    /// Both directions.
    #[word = "both"]
    Both,
    /// From the link to the UE.
    #[word = "down"]
    Down,
    /// From the UE to the link.
    #[word = "up"]
    Up,
}

/// Capacity: rates that follow the capacity of the link, measured from TCP segments that pass; the law of `airwnd guard
/// shape`.
///
/// The delay from the other end of a connection to the UE is the time of arrival less TSval, up to a constant; the delay
/// to the other end is the RTT sample less that. The excess of each over its minimum of the last 10 to 30 s is the
/// queueing delay of that direction. With it, the bytes of all packets while the bottleneck was not idle give the
/// capacity. Without TCP segments with timestamps nothing is limited.
#[derive(Clone, Debug, PartialEq, Declared)]
#[params(source = "airwnd guard shape")]
pub struct Params {
    /// Directions with a shaper.
    #[param(basic, default = Ways::Both, unit = "1", source = "airwnd guard shape")]
    pub ways: Ways,
}

/// A direction of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the link to this machine.
    Down,
    /// From this machine to the link.
    Up,
}

/// State of a direction for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rate of the shaper; `None`: it does not limit.
    pub rate: Option<BitRate>,
    /// Rate of the packets that pass.
    pub load: BitRate,
    /// Capacity while there is a queue; `None`: there is none.
    pub capacity: Option<BitRate>,
    /// Delay of the standing queue of the link; `None`: not known.
    pub queue: Option<Span>,
    /// State of the law.
    pub phase: Phase,
}

/// A connection, by the segments that arrive.
#[derive(Clone, Debug)]
struct Flow {
    clock: PeerClock,
    seen: Time,
    /// Of the delay to this machine, and of the delay from it; each up to a constant.
    down: Baseline,
    up: Baseline,
}

#[derive(Clone, Debug, Default)]
struct OneWay {
    law: Law,
    standing: Standing,
    meter: QueuedMeter,
    /// Intervals with a queue since the last tick, without pauses of the link.
    queued: Queued,
    /// Time and bytes at the last tick; `None`: there was none.
    bytes: Option<(Time, Bytes)>,
    /// Time and bytes of the last segment at the bottleneck.
    last: (Time, Bytes),
    queue: Option<Span>,
}

impl OneWay {
    /// Ends a tick, in which all packets until then had this number of bytes; returns whether minima are out of date.
    fn tick(&mut self, now: Time, bytes: Bytes) -> bool {
        self.queue = self.standing.delay(now);
        let queued = std::mem::take(&mut self.queued);
        let (since, before) = self.bytes.replace((now, bytes)).unwrap_or((now, bytes));
        let (time, bytes) = (now.since(since), bytes.saturating_sub(before));
        let is_stale = self.law.tick(&Passed { time, bytes, queued, queue: self.queue });
        if is_stale {
            self.standing.clear();
        }
        is_stale
    }

    /// Adds a segment that the bottleneck has sent at a time, with all bytes until then. Samples of several connections,
    /// and of several processors, may be out of order.
    fn add(&mut self, now: Time, flow: u64, (sent, bytes): (Time, Bytes), queue: Span) {
        self.standing.add(now, flow, queue);
        self.last = (self.last.0.max(sent), self.last.1.max(bytes));
        let interval = self.meter.add(self.last.0, self.last.1, queue);
        let rate = self.law.rate().unwrap_or_else(|| self.law.load());
        if interval.time <= PAUSE.max(rate.transmission_time(interval.bytes) * 4) {
            self.queued += interval;
        }
    }

    fn status(&self) -> Status {
        let Self { law, queue, .. } = self;
        Status {
            rate: law.rate(),
            load: law.load(),
            capacity: law.capacity(),
            queue: *queue,
            phase: law.phase(),
        }
    }
}

/// Measured capacities of both directions, and the rates of their shapers.
///
/// The delay from the other end of a connection to this machine is the time of arrival less TSval, up to a constant;
/// the delay to the other end is the RTT sample less that, up to a constant. The excess of each over its minimum of the
/// last 10 to 30 s is the queueing delay of that direction. The bottleneck was not idle between two segments if the
/// later one had a queueing delay of at least the time between them ([`QueuedMeter`]): between arrivals for the downlink,
/// and for the uplink between the times at which the bottleneck has sent them, which are their departures plus their
/// queueing delays. The bytes of all packets in between, of any protocol, over that time are the capacity.
#[derive(Clone, Debug)]
pub struct Capacity {
    ways: Ways,
    flows: BTreeMap<u64, Flow>,
    down: OneWay,
    up: OneWay,
}

impl Capacity {
    /// Creates the state without traffic.
    pub fn new(params: Params) -> Capacity {
        let (down, up) = (OneWay::default(), OneWay::default());
        Capacity { ways: params.ways, flows: BTreeMap::new(), down, up }
    }

    /// Returns the number of connections that are known.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the state of a direction.
    pub fn status(&self, way: Way) -> Status {
        match way {
            Way::Down => self.down.status(),
            Way::Up => self.up.status(),
        }
    }
}

impl Control for Capacity {
    fn on_segment(&mut self, seen: &Segment) {
        let Segment { now, flow, ts_val, echo, received } = *seen;
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&flow) {
            let oldest = self.flows.iter().min_by_key(|(id, flow)| (flow.seen, **id)).map(|(id, _)| *id);
            oldest.and_then(|id| self.flows.remove(&id));
        }
        let fresh = || Flow {
            clock: PeerClock::new(now, ts_val),
            seen: now,
            down: Baseline::default(),
            up: Baseline::default(),
        };
        let state = self.flows.entry(flow).or_insert_with(fresh);
        if now.since(state.seen) >= GONE || now < state.seen {
            *state = fresh();
        }
        state.seen = now;
        let delay = state.clock.delay(now, ts_val);
        if delay.is_corrected {
            (state.down, state.up) = (Baseline::default(), Baseline::default());
        }
        if state.clock.tick() >= COARSE {
            return;
        }
        let down_ns = i64::try_from(delay.span.0).unwrap_or(i64::MAX);
        let queue = state.down.excess(now, down_ns);
        self.down.add(now, flow, (now, received), queue);
        let Some(Echo { sent, sent_bytes }) = echo else { return };
        let rtt_ns = i64::try_from(now.since(sent).0).unwrap_or(i64::MAX);
        let queue = state.up.excess(now, rtt_ns.saturating_sub(down_ns));
        self.up.add(now, flow, (sent + queue, sent_bytes), queue);
    }

    fn tick(&mut self, now: Time, received: Bytes, sent: Bytes) -> [Option<BitRate>; 2] {
        self.flows.retain(|_, flow| now.since(flow.seen) < GONE);
        if self.down.tick(now, received) {
            self.flows.values_mut().for_each(|flow| flow.down = Baseline::default());
        }
        if self.up.tick(now, sent) {
            self.flows.values_mut().for_each(|flow| flow.up = Baseline::default());
        }
        let down = self.down.law.rate().filter(|_| self.ways != Ways::Up);
        let up = self.up.law.rate().filter(|_| self.ways != Ways::Down);
        [down, up]
    }
}

#[cfg(test)]
mod tests;
