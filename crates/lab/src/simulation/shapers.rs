//! Shapers of UEs: what they observe of TCP, and their rates.

use super::{Content, Happening, Simulation};
use crate::results::tap::{Carried, Stage};
use crate::scenario::{SHAPER, Scenario};
use airwnd_kernel::Direction;
use airwnd_network::{LinkId, Packet, Topology};
use airwnd_shape::{Control, Echo, Segment, TICK};
use airwnd_tcp::segment::{Flags, Timestamps};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Least time between two departures of a flow whose echoes are awaited, and number of those that are awaited. These and
/// the next ones are those of the guard's program that observes packets, crates/guard/bpf/shape.bpf.c.
const DEPARTURES: Span = Span::from_millis(4);
const ECHOES_MAX: usize = 256;
/// Least time between two reports of a flow without an echo, and more for each flow.
const REPORTS: Span = Span::from_millis(2);
const REPORTS_COST: Span = Span::from_micros(50);

/// The shapers of all UEs that have them.
#[derive(Default)]
pub(super) struct Shapers(Vec<Shaper>);

/// The shapers of a UE.
struct Shaper {
    link: LinkId,
    ue: u32,
    control: Box<dyn Control>,
    /// Bytes that have arrived over the access link, and left for it.
    received: Bytes,
    sent: Bytes,
    flows: BTreeMap<u32, Flow>,
}

/// A TCP connection that the UE's side has begun to send on.
#[derive(Default)]
struct Flow {
    /// Last TSval that has left.
    ts_val: Option<u32>,
    reported: Time,
    departed: Time,
    awaited: VecDeque<(u32, Echo)>,
}

impl Shapers {
    /// Finds the shapers of a scenario among the links of its network, where they are in the order of the UEs.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Shapers {
        let links = topology.links().filter(|(_, link)| link.name == SHAPER).map(|(id, _)| id);
        let ues = scenario
            .ue
            .iter()
            .flat_map(|group| (0..group.count).map(|_| group.shaper.as_ref().map(|shaper| &shaper.rates)));
        let specs = (0..).zip(ues).filter_map(|(ue, spec)| Some((ue, spec?)));
        let shaper = |(link, (ue, spec)): (LinkId, (u32, &airwnd_shape::Spec))| Shaper {
            link,
            ue,
            control: spec.build(),
            received: Bytes::ZERO,
            sent: Bytes::ZERO,
            flows: BTreeMap::new(),
        };
        Shapers(links.zip(specs).map(shaper).collect())
    }

    /// Notes the answer to a ping of a UE.
    pub fn on_ping(&mut self, now: Time, ue: u32, rtt: Span) {
        if let Some(shaper) = self.at(ue) {
            shaper.control.on_ping(now, rtt);
        }
    }

    /// Sets the rates of a UE's shapers from outside. Returns their link; `None`: they take no rates.
    pub fn set(&mut self, ue: u32, rates: [Option<BitRate>; 2]) -> Option<LinkId> {
        let shaper = self.at(ue)?;
        shaper.control.set_rates(rates).then_some(shaper.link)
    }

    fn at(&mut self, ue: u32) -> Option<&mut Shaper> {
        self.0.iter_mut().find(|shaper| shaper.ue == ue)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes a packet before the shaper of the downlink or behind that of the uplink.
    pub fn note(&mut self, now: Time, link: LinkId, stage: Stage, packet: &Packet<Content>) {
        // Their numbers are consecutive.
        let Some(place) = self.0.first().and_then(|first| link.0.checked_sub(first.link.0)) else { return };
        let shaper = &mut self.0[place as usize];
        match (packet.direction, stage) {
            (Direction::Down, Stage::Arrival) => shaper.received += packet.size,
            (Direction::Up, Stage::Departure) => shaper.sent += packet.size,
            _ => return,
        }
        let Carried::Segment(segment) = &packet.content.carried else { return };
        let (Some(stamps), false) = (segment.timestamps, segment.flags.has(Flags::SYN)) else { return };
        match packet.direction {
            Direction::Down => shaper.on_arrival(now, packet.flow, stamps),
            Direction::Up => shaper.on_departure(now, packet.flow, stamps.val),
        }
    }
}

impl Shaper {
    fn on_departure(&mut self, now: Time, flow: u32, ts_val: u32) {
        let flow = self.flows.entry(flow).or_default();
        // An echo is that of the first segment with its value.
        let is_first = flow.ts_val.is_none_or(|last| ts_val.wrapping_sub(last).cast_signed() > 0);
        if !is_first {
            return;
        }
        flow.ts_val = Some(ts_val);
        if now.since(flow.departed) < DEPARTURES {
            return;
        }
        flow.departed = now;
        if flow.awaited.len() == ECHOES_MAX {
            flow.awaited.pop_front();
        }
        flow.awaited.push_back((ts_val, Echo { sent: now, sent_bytes: self.sent }));
    }

    fn on_arrival(&mut self, now: Time, number: u32, Timestamps { val: ts_val, ecr }: Timestamps) {
        let interval = REPORTS.max(REPORTS_COST * self.flows.len() as u64);
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let place = flow.awaited.iter().position(|(ts_val, _)| *ts_val == ecr);
        let echo = place.and_then(|place| flow.awaited.remove(place)).map(|(_, echo)| echo);
        if echo.is_none() && now.since(flow.reported) < interval {
            return;
        }
        flow.reported = now;
        let received = self.received;
        self.control.on_segment(&Segment { now, flow: number.into(), ts_val, echo, received });
    }
}

impl Simulation<'_> {
    /// Begins to set the rates of shapers, if there are any.
    pub(super) fn start_shapers(&mut self) {
        if !self.network.observer().shapers.is_empty() {
            self.shape(Time::ZERO);
        }
    }

    /// Sets the rates of all shapers.
    pub(super) fn shape(&mut self, now: Time) {
        let mut shapers = std::mem::take(&mut self.network.observer_mut().shapers);
        for shaper in &mut shapers.0 {
            let rates = shaper.control.tick(now, shaper.received, shaper.sent);
            self.limit(shaper.link, rates);
            // Flows that are over are forgotten together with their connections.
            shaper.flows.retain(|number, _| self.flows[*number as usize].connection.is_some());
        }
        self.network.observer_mut().shapers = shapers;
        self.queue.schedule(now + TICK, Happening::Shape);
    }

    /// Sets the rates of a UE's shapers from outside. Returns whether they take them.
    pub(super) fn set_shaper(&mut self, ue: u32, rates: [Option<BitRate>; 2]) -> bool {
        let link = self.network.observer_mut().shapers.set(ue, rates);
        link.map(|link| self.limit(link, rates)).is_some()
    }

    fn limit(&mut self, link: LinkId, rates: [Option<BitRate>; 2]) {
        for (direction, rate) in Direction::BOTH.into_iter().zip(rates) {
            self.network.set_rate(link, direction, rate);
        }
    }
}
