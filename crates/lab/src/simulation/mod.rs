//! A simulation: the network, with TCP flows, applications and meters at its ends.
//!
//! `airwnd_network` simulates the network itself; its documentation follows the path of a packet. In this module
//! applications write, TCP sends, and packets delivered or dropped by the network are passed to TCP and to the meters.
//! Both have separate event queues; [`Simulation::step`] merges them.

mod build;
mod devices;
mod flows;
mod live;
mod map;
mod measurement;
mod memory;
mod oracle;
mod real;
mod session;
mod shapers;
mod topology;
mod views;

use crate::results::incidents::{Incident, Incidents};
use crate::results::outcome::Outcome;
use crate::results::radio::{PduRecord, RadioRecord};
use crate::results::records::{self, Records};
use crate::results::series::Series;
use crate::results::table::Rows;
use crate::results::tap::{Carried, Crossing, LinkSight, Node, Passage, Sight, Stage, Tap};
use crate::scenario::Scenario;
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_cell::{Notice, UeId};
use airwnd_kernel::{Codepoint, Direction, Event, EventQueue};
use airwnd_network::{Cause, LinkId, Network, Observer, Outcome as NetworkOutcome, Packet};
use airwnd_rwnd as rwnd;
use airwnd_tcp::Segment;
use airwnd_units::{Bytes, Span, Time};
use devices::{Devices, Sizes};
use flows::{Flow, Group, Page};
pub use live::{Exit, Fate, Frame, Live, RealUe};
pub use map::resource_grid;
use memory::Memory;
pub use real::Socket;
pub(crate) use real::SocketRow;
pub use session::Session;
use shapers::Shapers;
use std::borrow::Cow;
use std::num::NonZeroUsize;
use topology::topology;
pub use views::{CellView, FlowView, UeView};

/// IPv4 and UDP headers (RFC 791, RFC 768).
const UDP_HEADERS: Bytes = Bytes(28);
/// Period of the calls of `progress`.
const PROGRESS_PERIOD: Span = Span::from_millis(100);
/// Steps of the event loop after which `progress` is also called within a period, since any number of events may share
/// an instant.
const PROGRESS_STEPS: u32 = 1 << 16;

/// An event at the ends of the network.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A flow's application writes.
    Write(u32),
    /// A flow's application stops.
    Stop(u32),
    /// A flow's receiving application has completed a read.
    Read(u32),
    /// The timer of the peer that sends in this direction expires.
    Timer(u32, Direction),
    /// The rates of shapers are set.
    Shape,
    /// Time series are sampled.
    Sample,
    /// `progress` is called.
    Progress,
    /// `progress` is called within a period, after [`PROGRESS_STEPS`]; never scheduled.
    Busy,
    /// A plug-in has failed; never scheduled.
    Failure,
    /// The memory limit of the run is reached.
    Exhausted,
}

impl Event for Happening {
    /// Order at equal instants: timers, applications, the network, observation.
    fn class(&self) -> u8 {
        match self {
            Happening::Timer(..) | Happening::Shape | Happening::Failure | Happening::Exhausted => 0,
            Happening::Write(_) | Happening::Stop(_) | Happening::Read(_) => 1,
            Happening::Sample | Happening::Progress | Happening::Busy => AFTER_THE_NETWORK,
        }
    }
}

/// First class of events that follow those of the network at equal instants.
const AFTER_THE_NETWORK: u8 = 2;

/// Content of a packet.
#[derive(Clone, Copy, Debug)]
struct Content {
    /// Time from which its delay counts: that of the request, if it is an answer.
    sent_at: Time,
    /// Number of the packet among those sent by this end of the flow, modulo 65536 (RFC 791 §3.1, identification).
    identification: u16,
    carried: Carried,
}

/// Passes packets to the tap, if there is one, and to shapers.
struct Tapped<'t> {
    tap: Option<Box<dyn Tap + 't>>,
    shapers: Shapers,
    /// Whether there is either.
    is_watching: bool,
    /// End of the warm-up.
    begin: Time,
}

impl Observer<Content> for Tapped<'_> {
    #[inline]
    fn is_watching(&self) -> bool {
        self.is_watching
    }

    fn on_crossing(&mut self, now: Time, node: Node, crossing: Crossing, packet: &Packet<Content>) {
        if let Some(tap) = &mut self.tap {
            tap.packet(&sight(now - self.begin, node, crossing, packet));
        }
    }

    fn on_link(&mut self, now: Time, link: LinkId, stage: Stage, packet: &Packet<Content>) {
        self.shapers.note(now, link, stage, packet);
        if let Some(tap) = &mut self.tap {
            let Packet { direction, size, content: Content { carried, .. }, .. } = *packet;
            tap.at_link(&LinkSight { at: now - self.begin, link: link.0, direction, stage, size, carried });
        }
    }

    fn on_mark(&mut self, now: Time, packet: &mut Packet<Content>) {
        if let Carried::Frame { marked_at, .. } = &mut packet.content.carried {
            marked_at.get_or_insert(now);
        }
    }

    fn on_drop(&mut self, now: Time, packet: &Packet<Content>) {
        if let Some(tap) = &mut self.tap {
            tap.dropped(&passage(now, self.begin, packet));
        }
    }

    fn on_part(&mut self, at: Time, packet: &Packet<Content>, pdu: &PduRecord) {
        if let Some(tap) = &mut self.tap {
            tap.in_block(&passage(at, self.begin, packet), pdu);
        }
    }

    fn on_record(&mut self, record: &RadioRecord) {
        if let Some(tap) = &mut self.tap {
            tap.radio(record);
        }
    }
}

/// A separate cold function, so that a run without a tap costs one branch only.
#[cold]
fn sight(at: Span, node: Node, crossing: Crossing, packet: &Packet<Content>) -> Sight {
    let mut packet = *packet;
    set_ecn(&mut packet);
    let Packet { device, direction, flow, content, .. } = packet;
    let Content { identification, carried, .. } = content;
    Sight { at, node, crossing, flow, ue: device, direction, identification, carried }
}

fn passage(now: Time, begin: Time, packet: &Packet<Content>) -> Passage {
    let Packet { device: ue, direction, flow, content, .. } = packet;
    let (direction, identification) = (*direction, content.identification);
    Passage { at: now - begin, flow: *flow, ue: *ue, direction, identification }
}

/// Copies the ECN field of the packet, which queues may have marked, to its content.
fn set_ecn(packet: &mut Packet<Content>) {
    match &mut packet.content.carried {
        Carried::Segment(segment) => segment.ecn = packet.ecn,
        Carried::Frame { ecn, .. } => *ecn = packet.ecn,
        Carried::Datagram(_) => {}
    }
}

/// Records requested for the run.
struct Record {
    period: Span,
    series: Series,
    incidents: Incidents,
    sockets: Rows<SocketRow>,
}

struct Simulation<'t> {
    queue: EventQueue<Happening>,
    network: Network<Content, Tapped<'t>>,
    /// Steps since the last [`Happening::Busy`].
    steps: u32,
    flows: Vec<Flow>,
    groups: Vec<Group>,
    /// Completed pages, in chronological order.
    pages: Vec<Page>,
    devices: Devices,
    record: Option<Record>,
    /// Flows that are sampled, if there is a record.
    observed: Vec<u32>,
    scenario: Cow<'t, Scenario>,
    /// Failures of plug-ins.
    failures: Failures,
    seed: u64,
    /// End of the warm-up.
    begin: Time,
    /// Time from the end of the warm-up to the end of the run; in an emulation, until now.
    measured: Span,
    memory: Memory,
    /// UEs whose packets come from real programs.
    real_ues: Vec<RealUe>,
    /// Frames that have left the network, in chronological order.
    exits: Vec<Exit>,
    /// Time of the network event at which a [`Live`] simulation has paused.
    paused: Option<Time>,
}

/// Runs a scenario with a seed.
///
/// `series` is the period of the time series; `None`: not recorded. `progress` is called every 100 ms of simulated
/// time, and more often if these contain many events; it stops the run by returning false.
///
/// # Errors
/// A scenario whose network cannot be built, a series period of zero, a stopped run, a run that exceeds its memory
/// limit, or a failed congestion control of a plug-in.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    series: Option<Span>,
    progress: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, Error> {
    run_tapped(scenario, seed, &Records { series, ..Records::default() }, None, progress)
}

/// Runs a scenario as [`run`] does, keeps the requested records, and passes every packet at every node to the tap.
///
/// # Errors
/// As [`run`], also for records that the scenario cannot provide. A tap can stop the run, too.
pub fn run_tapped<'t>(
    scenario: &'t Scenario,
    seed: u64,
    records: &Records,
    tap: Option<&'t mut dyn Tap>,
    progress: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, Error> {
    scenario.check_flows()?;
    let tap = tap.map(|tap| Box::new(tap) as Box<dyn Tap>);
    let mut simulation = Simulation::new(Cow::Borrowed(scenario), seed, records, tap, Vec::new())?;
    let end = Time::ZERO + scenario.warmup + scenario.duration;
    while let Some((now, happening)) = simulation.step(end) {
        if let Happening::Progress | Happening::Busy = happening
            && !progress(now)
        {
            return Err(simulation.stopped(now));
        }
        simulation.handle(now, happening)?;
    }
    Ok(simulation.finish())
}

impl Scenario {
    /// Performs the checks that precede a run with this seed.
    ///
    /// # Errors
    /// No flows, records that the scenario cannot provide, a memory limit that is too low, or cells that cannot be built.
    pub fn check_run(&self, seed: u64, records: &Records) -> Result<(), Error> {
        self.check_flows()?;
        self.check_live(seed, records)
    }

    /// Performs the checks that precede a [`Live`] simulation, which needs no flows.
    ///
    /// # Errors
    /// As [`Scenario::check_run`].
    pub fn check_live(&self, seed: u64, records: &Records) -> Result<(), Error> {
        records.check(self)?;
        Memory::of(self, records)?;
        build::ran(self, seed, NonZeroUsize::MIN).map(drop)
    }
}

impl<'t> Simulation<'t> {
    fn new(
        mut scenario: Cow<'t, Scenario>,
        seed: u64,
        records: &Records,
        tap: Option<Box<dyn Tap + 't>>,
        real_ues: Vec<RealUe>,
    ) -> Result<Simulation<'t>, Error> {
        records.check(&scenario)?;
        let failures = Failures::default();
        if scenario.has_plugins() {
            scenario.to_mut().attach(&failures);
        }
        let memory = Memory::of(&scenario, records)?;
        let ues: usize = scenario.ue.iter().map(|group| group.count as usize).sum();
        let begin = Time::ZERO + scenario.warmup;
        let threads = records.threads.filter(|_| !scenario.has_plugins_in_cells());
        let mut ran = build::ran(&scenario, seed, threads.unwrap_or(NonZeroUsize::MIN))?;
        if let Some((window, ran)) = records.allocations.as_ref().zip(ran.as_mut()) {
            ran.log_allocations(records::ttis(ran.clock(), begin, window));
        }
        if let Some((filter, ran)) = records.radio.as_ref().zip(ran.as_mut()) {
            ran.observe(filter);
        }
        let topology = topology(&scenario, seed, ran);
        let shapers = Shapers::new(&scenario, &topology);
        let is_watching = tap.is_some() || !shapers.is_empty();
        let network = Network::new(topology, Tapped { tap, shapers, is_watching, begin });
        let mut simulation = Simulation {
            queue: EventQueue::with_capacity(4 * ues + 64),
            network,
            steps: 0,
            flows: Vec::new(),
            groups: Vec::with_capacity(scenario.flow.len()),
            pages: Vec::new(),
            devices: Devices::new(ues),
            record: records.series.map(|period| Record {
                period,
                series: Series::default(),
                incidents: Incidents::default(),
                sockets: Rows::default(),
            }),
            observed: Vec::new(),
            seed,
            begin,
            measured: scenario.duration,
            scenario,
            failures,
            memory,
            real_ues,
            exits: Vec::new(),
            paused: None,
        };
        simulation.watch_memory(Time::ZERO);
        simulation.add_flows();
        simulation.track_links();
        simulation.start_shapers();
        simulation.queue.schedule(Time::ZERO + PROGRESS_PERIOD, Happening::Progress);
        if let Some(record) = &simulation.record {
            simulation.queue.schedule(simulation.begin + record.period, Happening::Sample);
        }
        Ok(simulation)
    }

    /// Advances the network to the next event at its ends and returns that event; `None`: no more events until `end`.
    fn step(&mut self, end: Time) -> Option<(Time, Happening)> {
        while self.failures.first().is_none()
            && let Some(limit) = self.network_goes_until(end)
            && let Some(now) = self.network.advance(limit)
        {
            // All outcomes of a network event are handled before other events at its instant.
            loop {
                if let Some(packet) = self.network.next_delivered() {
                    self.deliver(now, packet);
                } else if let Some(outcome) = self.network.next_outcome() {
                    self.settle(now, outcome);
                } else {
                    break;
                }
            }
            if self.is_busy() {
                return Some((now, Happening::Busy));
            }
        }
        if self.failures.first().is_some() {
            return Some((self.queue.now(), Happening::Failure));
        }
        if self.is_busy() {
            return Some((self.queue.now(), Happening::Busy));
        }
        self.queue.pop_until(end)
    }

    /// Handles an event at the ends of the network.
    fn handle(&mut self, now: Time, happening: Happening) -> Result<(), Error> {
        match happening {
            Happening::Write(flow) => self.write(now, flow),
            Happening::Stop(flow) => self.stop(now, flow),
            Happening::Read(flow) => self.read(now, flow),
            Happening::Timer(flow, direction) => self.timer(now, flow, direction),
            Happening::Shape => self.shape(now),
            Happening::Sample => self.sample(now),
            Happening::Progress | Happening::Busy => {
                if self.network.observer().tap.as_ref().is_some_and(|tap| !tap.continues()) {
                    return Err(self.stopped(now));
                }
                if let Happening::Progress = happening {
                    self.queue.schedule(now + PROGRESS_PERIOD, Happening::Progress);
                    self.watch_memory(now);
                }
            }
            Happening::Failure => {
                return Err(self.failures.first().expect("the event follows a failure").clone());
            }
            Happening::Exhausted => return Err(self.exhaustion(now)),
        }
        Ok(())
    }

    fn stopped(&self, now: Time) -> Error {
        Error::new(&self.scenario.name, None, format!("stopped at {now}"))
    }

    /// Counts a step. Returns whether `progress` is due within the period.
    fn is_busy(&mut self) -> bool {
        self.steps += 1;
        let is_busy = self.steps == PROGRESS_STEPS;
        if is_busy {
            self.steps = 0;
        }
        is_busy
    }

    /// Returns the last instant at which network events precede the next event at the ends.
    fn network_goes_until(&self, end: Time) -> Option<Time> {
        let limit = match self.queue.peek() {
            Some((at, happening)) if happening.class() < AFTER_THE_NETWORK => Time(at.0.checked_sub(1)?),
            Some((at, _)) => at,
            None => end,
        };
        Some(limit.min(end))
    }

    // TCP.

    /// Transmits pending segments of the peer that sends in this direction, and arms its timer.
    fn pump(&mut self, now: Time, number: u32, direction: Direction) {
        if self.record.is_some() && direction == self.flows[number as usize].direction {
            self.note_repairs(now, number);
        }
        self.write_rest(number, direction);
        loop {
            let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is pumped");
            let peer = connection.sender(direction);
            if let Some(segment) = peer.endpoint.poll_transmit(now) {
                self.emit(now, number, direction, segment.wire_bytes(), Carried::Segment(segment));
                continue;
            }
            let due = peer.endpoint.next_timeout();
            if let Some(due) = due.filter(|due| peer.timer.is_none_or(|armed| *due < armed)) {
                peer.timer = Some(due);
                self.queue.schedule(due.max(now), Happening::Timer(number, direction));
            }
            break;
        }
    }

    /// Handles a timer event. An event superseded by an earlier one, or of a flow that is over, is ignored; a timer
    /// that fires too early is armed again.
    fn timer(&mut self, now: Time, number: u32, direction: Direction) {
        let Some(connection) = &mut self.flows[number as usize].connection else { return };
        let peer = connection.sender(direction);
        if peer.timer != Some(now) {
            return;
        }
        peer.timer = None;
        peer.endpoint.on_timeout(now);
        self.pump(now, number, direction);
        self.release(number);
    }

    // The network.

    /// Sends a packet of a flow into the network.
    fn emit(&mut self, now: Time, number: u32, direction: Direction, size: Bytes, carried: Carried) {
        self.emit_since(now, now, number, direction, size, carried);
    }

    /// Sends a packet whose delay counts from `since`.
    // A copy for each caller: most packets count from now on.
    #[inline(always)]
    fn emit_since(
        &mut self,
        now: Time,
        since: Time,
        number: u32,
        direction: Direction,
        size: Bytes,
        carried: Carried,
    ) {
        let flow = &mut self.flows[number as usize];
        flow.on_way += 1;
        let identification = flow.identifications[direction as usize];
        flow.identifications[direction as usize] = identification.wrapping_add(1);
        let ecn = match &carried {
            Carried::Segment(segment) => segment.ecn,
            Carried::Datagram(_) => Codepoint::NotEct,
            Carried::Frame { ecn, .. } => *ecn,
        };
        let (ue, bearer) = (flow.ue, flow.bearer);
        if let Some(meter) = flow.meter_of(direction) {
            meter.sent += 1;
            meter.has_sent_data |= match &carried {
                Carried::Segment(segment) => segment.len > 0,
                Carried::Datagram(_) | Carried::Frame { .. } => true,
            };
        }
        self.devices.send(ue, direction, size);
        let content = Content { sent_at: since, identification, carried };
        let packet = Packet { device: ue, direction, bearer, size, ecn, flow: number, content };
        self.network.send(now, packet);
        while let Some(outcome) = self.network.poll() {
            self.settle(now, outcome);
        }
    }

    /// Handles an outcome of the network.
    fn settle(&mut self, now: Time, outcome: NetworkOutcome<Content>) {
        match outcome {
            NetworkOutcome::Delivered(packet) => self.deliver(now, packet),
            NetworkOutcome::Dropped(packet, cause) => self.drop_packet(now, &packet, cause),
            NetworkOutcome::Copied(packet) => self.note_copy(now, &packet),
            NetworkOutcome::Mobility(notice) => self.note_mobility(now, notice),
            NetworkOutcome::Crowded => self.exhaust(now),
        }
    }

    /// Delivers a packet to its destination.
    fn deliver(&mut self, now: Time, mut packet: Packet<Content>) {
        let (number, direction) = (packet.flow, packet.direction);
        set_ecn(&mut packet);
        if let Carried::Segment(segment) = &packet.content.carried
            && segment.len > 0
        {
            self.report_device(now, number, direction);
        }
        let flow = &mut self.flows[number as usize];
        flow.on_way -= 1;
        if !flow.is_of_device() && direction == flow.direction {
            self.devices.arrive_beside(flow.ue, direction, packet.size);
        }
        let delay = now.since(packet.content.sent_at);
        if let Some(meter) = flow.meter_of(direction) {
            meter.received += 1;
            meter.received_bytes += packet.size;
            meter.marked += u64::from(packet.ecn == Codepoint::Ce);
            // Recorded when the endpoint has received the segment: its bin is in no cache.
            meter.delay.prefetch(delay);
        }
        if let Carried::Segment(segment) = &packet.content.carried {
            self.receive(now, number, direction, segment);
        }
        let flow = &mut self.flows[number as usize];
        if let Some(meter) = flow.meter_of(direction) {
            meter.record_delay(delay);
        }
        match &packet.content.carried {
            Carried::Datagram(payload) => {
                let (payload, since) = (*payload, packet.content.sent_at);
                self.receive_datagram(now, number, direction, payload, since);
            }
            Carried::Frame { .. } => self.leave(now, &packet, Fate::Delivered),
            Carried::Segment(segment) => {
                let connection = flow.connection.as_ref().expect("segments belong to TCP flows");
                let is_read_slowly = connection.reader.is_some();
                if flow.is_requested && segment.len > 0 {
                    self.on_data(now, number, direction);
                }
                self.pump(now, number, direction.reverse());
                if is_read_slowly {
                    self.start_reading(now, number);
                }
                self.release(number);
            }
        }
    }

    /// Receives a datagram whose delay counts from `since`, and returns it if it is a request.
    fn receive_datagram(
        &mut self,
        now: Time,
        number: u32,
        direction: Direction,
        payload: Bytes,
        since: Time,
    ) {
        let flow = &mut self.flows[number as usize];
        if direction != flow.direction {
            let rtt = now.since(since);
            flow.meter.rtt.record(rtt);
            if flow.direction == Direction::Up {
                let ue = flow.ue;
                self.network.observer_mut().shapers.on_ping(now, ue, rtt);
            }
            return;
        }
        flow.meter.payload += payload;
        if flow.source.is_echoed() {
            let (size, back) = (payload + UDP_HEADERS, direction.reverse());
            self.emit_since(now, since, number, back, size, Carried::Datagram(payload));
        }
    }

    /// Passes a segment to its endpoint, and measures its effect.
    #[inline]
    fn receive(&mut self, now: Time, number: u32, direction: Direction, segment: &Segment) {
        let flow = &mut self.flows[number as usize];
        let is_data = direction == flow.direction;
        let connection = flow.connection.as_mut().expect("segments belong to TCP flows");
        let measures = is_data && segment.len > 0 && connection.needs.connections;
        let endpoint = &mut connection.receiver(direction).endpoint;
        let arrived = endpoint.bytes_arrived();
        endpoint.on_segment(now, segment);
        if measures && let Some(delay) = endpoint.queueing_delay() {
            let new = endpoint.bytes_arrived() - arrived;
            self.devices.arrive(now, flow.ue, direction, new, delay);
        }
        if is_data {
            flow.meter.payload = endpoint.bytes_received();
            let whole = flow.size;
            if flow.meter.completed.is_none() && whole.is_some_and(|size| flow.meter.payload >= size) {
                flow.meter.completed = Some(now);
            }
        } else if let Some(sample) = endpoint.take_rtt_sample() {
            flow.meter.rtt.record(sample);
        }
    }

    /// Counts the copy of a packet as another packet that its flow has sent.
    fn note_copy(&mut self, now: Time, packet: &Packet<Content>) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.on_way += 1;
        if let Some(meter) = flow.meter_of(packet.direction) {
            meter.sent += 1;
        }
        self.leave(now, packet, Fate::Copied);
    }

    fn drop_packet(&mut self, now: Time, packet: &Packet<Content>, cause: Cause) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.on_way -= 1;
        if let Some(meter) = flow.meter_of(packet.direction) {
            meter.dropped += 1;
        }
        self.leave(now, packet, Fate::Dropped(cause));
        self.note(now, packet.flow, Incident::Drop(cause, packet.size));
    }

    /// Records a mobility event of a UE for each of its flows that is active, after the warm-up.
    fn note_mobility(&mut self, now: Time, notice: Notice) {
        let (ue, incident) = match notice {
            Notice::HandoverStart(ue, cell) => (ue, Incident::HandoverStart(cell.0)),
            Notice::HandoverEnd(ue, cell) => (ue, Incident::HandoverEnd(cell.0)),
            Notice::HandoverFailure(ue, cell) => (ue, Incident::HandoverFailure(cell.0)),
            Notice::LinkFailure(ue) => (ue, Incident::LinkFailure),
            Notice::Reestablished(ue, cell) => (ue, Incident::Reestablishment(cell.0)),
            Notice::PathSwitch(..) => return,
        };
        for number in 0..self.flows.len() as u32 {
            if UeId(self.flows[number as usize].ue) == ue && now >= self.begin && self.is_active(number) {
                self.note(now, number, incident);
            }
        }
    }

    /// Passes the device state to a receiver before it receives data, if its receive-window control requires it.
    #[inline]
    fn report_device(&mut self, now: Time, number: u32, direction: Direction) {
        let flow = &self.flows[number as usize];
        let Some(connection) = &flow.connection else { return };
        if connection.needs != rwnd::DeviceNeeds::default() && direction == flow.direction {
            self.report_needed(now, number, direction);
        }
    }

    #[inline(never)]
    fn report_needed(&mut self, now: Time, number: u32, direction: Direction) {
        let flow = &self.flows[number as usize];
        let connection = flow.connection.as_ref().expect("TCP flows have connections");
        let (ue, needs) = (flow.ue, connection.needs);
        let mut device = self.devices.view(ue, direction, &self.flows);
        let config = self.groups[flow.group as usize].config.as_ref().filter(|_| needs.link);
        let sizes = config.map(|config| Sizes::of(config));
        device.link = sizes.map(|sizes| self.link_to(now, ue, &sizes));
        let connection = self.flows[number as usize].connection.as_mut().expect("TCP flows have connections");
        connection.receiver(direction).endpoint.set_device(device);
    }
}
