//! A simulation: the network, with TCP flows, applications and meters at its ends.
//!
//! What happens inside the network is `airwnd_network`'s; its page reads in the order in which a packet travels. Here
//! applications write, TCP sends, and what the network delivers or drops comes back to TCP and to the meters. Both have
//! an event queue of their own; [`Simulation::step`] says which goes first.

mod devices;
mod flows;
mod measurement;
mod memory;
mod oracle;

use crate::build;
use crate::incidents::{Incident, Incidents};
use crate::outcome::Outcome;
use crate::records::{self, Records};
use crate::scenario::Scenario;
use crate::series::Series;
use crate::tap::{Carried, Crossing, Node, Sight, Tap};
use crate::topology::topology;
use airwnd_catalog::Error;
use airwnd_cell::{Notice, UeId};
use airwnd_kernel::{Codepoint, Direction, Event, EventQueue};
use airwnd_network::{Cause, Network, Observer, Outcome as NetworkOutcome, Packet};
use airwnd_rwnd as rwnd;
use airwnd_tcp::Config;
use airwnd_units::{Bytes, Span, Time};
use devices::Devices;
use flows::{Flow, Group, Page};
use memory::Memory;

/// IPv4 and UDP headers (RFC 791, RFC 768).
const UDP_HEADERS: Bytes = Bytes(28);
/// Period of the calls of `progress`.
const PROGRESS_PERIOD: Span = Span::from_millis(100);
/// Steps of the event loop after which `progress` is called within a period as well: an instant may hold any number.
const PROGRESS_STEPS: u32 = 1 << 16;

/// What happens at the ends of the network.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A flow's application writes.
    Write(u32),
    /// A flow's application stops.
    Stop(u32),
    /// A flow's receiving application has read a piece.
    Read(u32),
    /// The timer of the peer that sends in this direction.
    Timer(u32, Direction),
    /// Time series are sampled.
    Sample,
    /// `progress` is called.
    Progress,
    /// `progress` is called out of turn, after [`PROGRESS_STEPS`]; never scheduled.
    Busy,
    /// A flow's congestion control cannot go on.
    Failure(u32),
    /// The run takes more memory than it may.
    Exhausted,
}

impl Event for Happening {
    /// At equal instants timers of the past come first, then what applications do, then the network, then observation.
    fn class(&self) -> u8 {
        match self {
            Happening::Timer(..) | Happening::Failure(_) | Happening::Exhausted => 0,
            Happening::Write(_) | Happening::Stop(_) | Happening::Read(_) => 1,
            Happening::Sample | Happening::Progress | Happening::Busy => AFTER_THE_NETWORK,
        }
    }
}

/// The first class of events that follow the network's at equal instants.
const AFTER_THE_NETWORK: u8 = 2;

/// What a packet of a simulation carries.
#[derive(Clone, Copy, Debug)]
struct Content {
    sent_at: Time,
    /// Counts the packets that this end of the flow has sent, modulo 65536 (RFC 791 §3.1, identification).
    identification: u16,
    carried: Carried,
}

/// Passes packets to the tap, if there is one.
struct Tapped<'t> {
    tap: Option<&'t mut dyn Tap>,
    /// The end of the warm-up.
    begin: Time,
}

impl Observer<Content> for Tapped<'_> {
    #[inline]
    fn on_crossing(&mut self, now: Time, node: Node, crossing: Crossing, packet: &Packet<Content>) {
        if let Some(tap) = &mut self.tap {
            tap.packet(&sight(now - self.begin, node, crossing, packet));
        }
    }
}

/// Apart, so that a run without a tap pays a branch.
#[cold]
fn sight(at: Span, node: Node, crossing: Crossing, packet: &Packet<Content>) -> Sight {
    let mut packet = *packet;
    set_ecn(&mut packet);
    let Packet { device, direction, flow, content, .. } = packet;
    let Content { identification, carried, .. } = content;
    Sight { at, node, crossing, flow, ue: device, direction, identification, carried }
}

/// Gives a segment the ECN field that queues may have marked.
fn set_ecn(packet: &mut Packet<Content>) {
    if let Carried::Segment(segment) = &mut packet.content.carried {
        segment.ecn = packet.ecn;
    }
}

/// What is written down while a run goes on, if it was asked for.
struct Record {
    period: Span,
    series: Series,
    incidents: Incidents,
}

struct Simulation<'t> {
    queue: EventQueue<Happening>,
    network: Network<Content, Tapped<'t>>,
    /// Steps since `progress` was called out of turn.
    steps: u32,
    flows: Vec<Flow>,
    groups: Vec<Group>,
    /// Pages that were completed, in chronological order.
    pages: Vec<Page>,
    devices: Devices,
    record: Option<Record>,
    /// The flows that are sampled, if there is a record.
    observed: Vec<u32>,
    scenario: &'t Scenario,
    config: Config,
    seed: u64,
    /// The end of the warm-up.
    begin: Time,
    memory: Memory,
}

/// Runs a scenario with a seed.
///
/// `series` asks for time series with this period. `progress` is called every simulated 100 ms, and more often where
/// much happens in them; it stops the run by returning false.
///
/// # Errors
/// A scenario whose network cannot be built, series without a period, a run that was stopped, one that takes more memory
/// than it may, or a congestion control from outside that failed.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    series: Option<Span>,
    progress: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, Error> {
    run_tapped(scenario, seed, &Records { series, ..Records::default() }, None, progress)
}

/// Runs a scenario with a seed as [`run`] does, writes down what is asked for, and shows every packet at every node to
/// the tap.
///
/// # Errors
/// As [`run`]; records that the scenario cannot give; a tap that does not go on stops the run.
pub fn run_tapped<'t>(
    scenario: &'t Scenario,
    seed: u64,
    records: &Records,
    tap: Option<&'t mut dyn Tap>,
    progress: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, Error> {
    records.check(scenario)?;
    let mut simulation = Simulation::new(scenario, seed, records, tap)?;
    let end = Time::ZERO + scenario.warmup + scenario.duration;
    while let Some((now, happening)) = simulation.step(end) {
        match happening {
            Happening::Write(flow) => simulation.write(now, flow),
            Happening::Stop(flow) => simulation.stop(now, flow),
            Happening::Read(flow) => simulation.read(now, flow),
            Happening::Timer(flow, direction) => simulation.timer(now, flow, direction),
            Happening::Sample => simulation.sample(now),
            Happening::Progress | Happening::Busy => {
                let tap = simulation.network.observer().tap.as_ref();
                if !(progress(now) && tap.is_none_or(|tap| tap.goes_on())) {
                    return Err(Error::new(&scenario.name, None, format!("stopped at {now}")));
                }
                if let Happening::Progress = happening {
                    simulation.queue.schedule(now + PROGRESS_PERIOD, Happening::Progress);
                    simulation.watch_memory(now);
                }
            }
            Happening::Failure(flow) => return Err(simulation.failure(flow)),
            Happening::Exhausted => return Err(simulation.exhaustion(now)),
        }
    }
    Ok(simulation.finish())
}

impl Scenario {
    /// Checks what a run with this seed would refuse before it begins, besides what makes no valid scenario.
    ///
    /// # Errors
    /// Records that the scenario cannot give, too little memory, cells that cannot be built.
    pub fn check_run(&self, seed: u64, records: &Records) -> Result<(), Error> {
        records.check(self)?;
        Memory::of(self, records)?;
        build::ran(self, seed).map(drop)
    }
}

impl<'t> Simulation<'t> {
    fn new(
        scenario: &'t Scenario,
        seed: u64,
        records: &Records,
        tap: Option<&'t mut dyn Tap>,
    ) -> Result<Simulation<'t>, Error> {
        let memory = Memory::of(scenario, records)?;
        let ues: usize = scenario.ue.iter().map(|group| group.count as usize).sum();
        let begin = Time::ZERO + scenario.warmup;
        let mut ran = build::ran(scenario, seed)?;
        if let Some((window, ran)) = records.allocations.as_ref().zip(ran.as_mut()) {
            ran.log_allocations(records::ttis(begin, window));
        }
        let mut simulation = Simulation {
            queue: EventQueue::with_capacity(4 * ues + 64),
            network: Network::new(topology(scenario, seed, ran), Tapped { tap, begin }),
            steps: 0,
            flows: Vec::new(),
            groups: Vec::with_capacity(scenario.flow.len()),
            pages: Vec::new(),
            devices: Devices::new(ues),
            record: records.series.map(|period| Record {
                period,
                series: Series::default(),
                incidents: Incidents::default(),
            }),
            observed: Vec::new(),
            scenario,
            config: scenario.tcp.config(),
            seed,
            begin,
            memory,
        };
        simulation.watch_memory(Time::ZERO);
        simulation.add_flows();
        simulation.know_links();
        simulation.queue.schedule(Time::ZERO + PROGRESS_PERIOD, Happening::Progress);
        if let Some(record) = &simulation.record {
            simulation.queue.schedule(simulation.begin + record.period, Happening::Sample);
        }
        Ok(simulation)
    }

    /// Lets the network go on until something happens at its ends; `None`: nothing more until `end`.
    fn step(&mut self, end: Time) -> Option<(Time, Happening)> {
        while let Some(limit) = self.network_goes_until(end)
            && let Some(now) = self.network.advance(limit)
        {
            // An event of the network is finished before anything else happens at its instant.
            while let Some(outcome) = self.network.next_outcome() {
                self.settle(now, outcome);
            }
            if self.is_busy() {
                return Some((now, Happening::Busy));
            }
        }
        if self.is_busy() {
            return Some((self.queue.now(), Happening::Busy));
        }
        self.queue.pop_until(end)
    }

    /// Counts a step; whether it is time to call `progress` out of turn.
    fn is_busy(&mut self) -> bool {
        self.steps += 1;
        let is_busy = self.steps == PROGRESS_STEPS;
        if is_busy {
            self.steps = 0;
        }
        is_busy
    }

    /// The last instant whose events of the network precede what happens next at its ends.
    fn network_goes_until(&self, end: Time) -> Option<Time> {
        let limit = match self.queue.peek() {
            Some((at, happening)) if happening.class() < AFTER_THE_NETWORK => Time(at.0.checked_sub(1)?),
            Some((at, _)) => at,
            None => end,
        };
        Some(limit.min(end))
    }

    // TCP.

    /// Sends what the peer that sends in this direction has, and arms its timer.
    fn pump(&mut self, now: Time, number: u32, direction: Direction) {
        if direction == self.flows[number as usize].direction {
            self.note_repairs(now, number);
        }
        self.write_rest(number, direction);
        loop {
            let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is pumped");
            let Some(segment) = connection.sender(direction).endpoint.poll_transmit(now) else { break };
            self.emit(now, number, direction, segment.wire_bytes(), Carried::Segment(segment));
        }
        let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is pumped");
        let peer = connection.sender(direction);
        let due = peer.endpoint.next_timeout();
        if let Some(due) = due.filter(|due| peer.timer.is_none_or(|armed| *due < armed)) {
            peer.timer = Some(due);
            self.queue.schedule(due.max(now), Happening::Timer(number, direction));
        }
        self.watch(now, number);
    }

    /// A timer event that an earlier one has overtaken does nothing, nor does one of a flow that is over; one that comes
    /// too early is armed anew.
    fn timer(&mut self, now: Time, number: u32, direction: Direction) {
        let Some(connection) = &mut self.flows[number as usize].connection else { return };
        let peer = connection.sender(direction);
        if peer.timer != Some(now) {
            return;
        }
        peer.timer = None;
        peer.endpoint.on_timeout(now);
        self.pump(now, number, direction);
        self.give_up(number);
    }

    // The network.

    /// A packet of a flow enters the network.
    fn emit(&mut self, now: Time, number: u32, direction: Direction, size: Bytes, carried: Carried) {
        let flow = &mut self.flows[number as usize];
        flow.on_way += 1;
        flow.meter.sent += u64::from(direction == flow.direction);
        let identification = flow.identifications[direction as usize];
        flow.identifications[direction as usize] = identification.wrapping_add(1);
        let ecn = match &carried {
            Carried::Segment(segment) => segment.ecn,
            Carried::Datagram(_) => Codepoint::NotEct,
        };
        flow.meter.has_sent_data |= direction == flow.direction
            && match &carried {
                Carried::Segment(segment) => segment.len > 0,
                Carried::Datagram(_) => true,
            };
        let content = Content { sent_at: now, identification, carried };
        let packet = Packet { device: flow.ue, direction, size, ecn, flow: number, content };
        self.network.send(now, packet);
        while let Some(outcome) = self.network.poll() {
            self.settle(now, outcome);
        }
    }

    /// What the network gives back reaches the ends.
    fn settle(&mut self, now: Time, mut outcome: NetworkOutcome<Content>) {
        match &mut outcome {
            NetworkOutcome::Delivered(packet) => self.deliver(now, packet),
            NetworkOutcome::Dropped(packet, cause) => self.drop_packet(now, packet, *cause),
            NetworkOutcome::Mobility(notice) => self.note_mobility(now, *notice),
            NetworkOutcome::Crowded => self.exhaust(now),
        }
    }

    /// A packet has reached the end that it was sent to.
    fn deliver(&mut self, now: Time, packet: &mut Packet<Content>) {
        let (number, direction) = (packet.flow, packet.direction);
        set_ecn(packet);
        if let Carried::Segment(segment) = &packet.content.carried
            && segment.len > 0
        {
            self.tell_of_device(now, number, direction);
        }
        let flow = &mut self.flows[number as usize];
        let is_data = direction == flow.direction;
        flow.on_way -= 1;
        if is_data {
            flow.meter.received += 1;
            flow.meter.received_bytes += packet.size;
            flow.meter.delay.record(now.since(packet.content.sent_at));
        }
        match &packet.content.carried {
            Carried::Datagram(payload) => flow.meter.payload += *payload,
            Carried::Segment(segment) => {
                let connection = flow.connection.as_mut().expect("segments belong to TCP flows");
                let endpoint = &mut connection.receiver(direction).endpoint;
                endpoint.on_segment(now, segment);
                if is_data {
                    flow.meter.payload = endpoint.bytes_received();
                    let whole = flow.size;
                    if flow.meter.completed.is_none() && whole.is_some_and(|size| flow.meter.payload >= size)
                    {
                        flow.meter.completed = Some(now);
                    }
                } else if let Some(sample) = endpoint.take_rtt_sample() {
                    flow.meter.rtt.record(sample);
                }
                let is_read_slowly = connection.reader.is_some();
                if flow.is_asked && segment.len > 0 {
                    self.converse(now, number, direction);
                }
                self.pump(now, number, direction.reverse());
                if is_read_slowly {
                    self.start_reading(now, number);
                }
                self.give_up(number);
            }
        }
    }

    fn drop_packet(&mut self, now: Time, packet: &Packet<Content>, cause: Cause) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.on_way -= 1;
        flow.meter.dropped += u64::from(packet.direction == flow.direction);
        self.note(now, packet.flow, Incident::Drop(cause, packet.size));
    }

    /// Notes what happened to a UE with each of its flows, once they are measured; with flows that come and go while they
    /// are there.
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
            if UeId(self.flows[number as usize].ue) == ue && now >= self.begin && self.is_there(number) {
                self.note(now, number, incident);
            }
        }
    }

    /// Gives an end that is about to receive data what its receive-window control needs to know of the device.
    fn tell_of_device(&mut self, now: Time, number: u32, direction: Direction) {
        let flow = &self.flows[number as usize];
        let wants = flow.connection.as_ref().map_or(rwnd::Wants::default(), |connection| connection.wants);
        if direction != flow.direction || wants == rwnd::Wants::default() {
            return;
        }
        let ue = flow.ue;
        let mut device = self.devices.view(ue, direction, &self.flows);
        device.link = wants.link.then(|| self.link_to(now, ue));
        let connection = self.flows[number as usize].connection.as_mut().expect("it wants to know");
        connection.receiver(direction).endpoint.tell_of_device(device);
    }
}
