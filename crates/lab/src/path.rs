//! The path of a segment.
//!
//! One loop takes the next event; the arms of its `match` follow a segment around: the server's application
//! writes, TCP sends, one link after the other carries, the base station queues, the TTI schedules and decodes,
//! the terminal's TCP receives and acknowledges, and the acknowledgment goes back the same way.

mod flows;
mod link_known;
mod measurement;

pub(crate) use flows::Flow;
use flows::{Group, Page};

use crate::build;
use crate::detour::Road;
use crate::devices::Devices;
use crate::handover::Paths;
use crate::incidents::{Incident, Incidents};
use crate::ledger::{Cause, Ledger};
use crate::outcome::Outcome;
use crate::records::{self, Records};
use crate::routes::{Duplex, OneWay, Routes, SERVER_LINK, Shared, Step};
use crate::scenario::Scenario;
use crate::series::Series;
use crate::tap::{Carried, Tap, Way};
use airwnd_catalog::{Error, Fault, Node, Value};
use airwnd_cell::{Arrival, Dropped, Ran, UeId};
use airwnd_kernel::{Codepoint, Direction, Event, EventQueue, Key, Slab};
use airwnd_links::aqm::{self, Waiting};
use airwnd_links::link::wifi::{Exit, Passed};
use airwnd_links::link::{Due, Lost, Refused};
use airwnd_tcp::{Config, rwnd};
use airwnd_units::{Bytes, Span, Time, Tti};

/// IPv4 and UDP headers (RFC 791, RFC 768).
const UDP_HEADERS: Bytes = Bytes(28);
/// How often the caller hears of progress.
const PROGRESS_PERIOD: Span = Span::from_millis(100);

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A flow's application writes.
    Write(u32),
    /// A flow's application stops.
    Stop(u32),
    /// A flow's receiving application has read a piece.
    Read(u32),
    /// The next packet leaves the queue before a link to one end.
    OntoLink(u32, End),
    /// The first of what a link carries to one end arrives there.
    OffLink(u32, End),
    /// Somebody begins or ends to send on a medium.
    OnMedium(u32),
    /// A TTI ends and the next one begins.
    Tti,
    /// Uplink blocks end.
    Uplink,
    /// Terminals have moved, and may change cells.
    Cells,
    /// A connection's timer at one end.
    Timer(u32, End),
    /// Time series are sampled.
    Sample,
    /// The caller hears of progress.
    Progress,
    /// A flow's congestion control cannot go on.
    Failure(u32),
}

impl Event for Happening {
    /// At equal instants the timers of the past come first, then packets, then the TTI that they may use.
    fn class(&self) -> u8 {
        match self {
            Happening::Timer(..) | Happening::Failure(_) => 0,
            Happening::Write(_) | Happening::Stop(_) | Happening::Read(_) => 1,
            Happening::OntoLink(..) | Happening::OffLink(..) | Happening::OnMedium(_) => 2,
            Happening::Uplink | Happening::Tti => 3,
            Happening::Cells => 4,
            Happening::Sample | Happening::Progress => 5,
        }
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Ue,
}

impl End {
    fn other(self) -> End {
        match self {
            End::Server => End::Ue,
            End::Ue => End::Server,
        }
    }

    /// The way that leads there.
    fn way(self) -> Direction {
        match self {
            End::Server => Direction::Up,
            End::Ue => Direction::Down,
        }
    }
}

/// An IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub flow: u32,
    to: End,
    /// The place of its next step in [`Routes::steps`].
    next: u32,
    sent_at: Time,
    pub size: Bytes,
    /// Where it is going since it has left the gateway, if terminals change cells.
    pub road: Option<Road>,
    /// Counts the packets of this end of the flow (RFC 791 §3.1, identification).
    identification: u16,
    content: Carried,
}

impl Packet {
    /// Itself as a queue sees it that it enters now.
    fn waiting(&self, now: Time, key: Key) -> Waiting {
        let ecn = match &self.content {
            Carried::Segment(segment) => segment.ecn,
            Carried::Datagram(_) => Codepoint::NotEct,
        };
        Waiting { packet: key, size: self.size, arrived: now, flow: self.flow, ecn }
    }

    /// Notes that it met congestion, if its sender has said that it may be told so.
    //= RFC 3168 §5
    fn mark(&mut self) -> bool {
        match &mut self.content {
            Carried::Segment(segment) if segment.ecn.is_capable() => {
                segment.ecn = Codepoint::Ce;
                true
            }
            _ => false,
        }
    }
}

/// A place on a packet's way.
#[derive(Clone, Copy, Debug)]
enum Stop {
    End(End),
    Gateway,
    /// The one that serves the terminal.
    BaseStation,
}

/// What is written down while a run goes on, if it was asked for.
struct Record {
    period: Span,
    series: Series,
    incidents: Incidents,
}

pub(crate) struct Simulation<'t> {
    queue: EventQueue<Happening>,
    pub packets: Slab<Packet>,
    links: Vec<Duplex>,
    media: Vec<Shared>,
    /// The ways of the terminals' packets, and where each begins.
    steps: Vec<Step>,
    begins: Vec<(u32, u32)>,
    /// The cells behind the links, if there are any.
    pub network: Option<Box<Ran>>,
    pub paths: Paths,
    pub flows: Vec<Flow>,
    groups: Vec<Group>,
    /// Pages that were completed, in the order of time.
    pages: Vec<Page>,
    devices: Devices,
    ledger: Ledger,
    /// The TTI that has been handled last, and whether the next one is scheduled.
    last_tti: Option<Tti>,
    tti_pending: bool,
    record: Option<Record>,
    /// The flows that are sampled, if there is a record.
    observed: Vec<u32>,
    tap: Option<&'t mut dyn Tap>,
    scenario: &'t Scenario,
    config: Config,
    seed: u64,
    /// The end of the warm-up.
    pub begin: Time,
    // Scratch lists, kept for their capacity.
    arrivals: Vec<Arrival>,
    drops: Vec<Dropped>,
    marks: Vec<Key>,
    fates: Fates,
    passed: Vec<Passed<Key>>,
}

/// What the queue before a link has just done.
struct Fates {
    drops: Vec<(Key, Cause)>,
    marks: Vec<Key>,
}

impl aqm::QueueEvents for Fates {
    fn dropped(&mut self, packet: Waiting, cause: aqm::Cause) {
        let cause = match cause {
            aqm::Cause::Full => Cause::LinkQueue,
            aqm::Cause::Early => Cause::LinkEarly,
        };
        self.drops.push((packet.packet, cause));
    }
    fn marked(&mut self, packet: Key) {
        self.marks.push(packet);
    }
}

/// Runs a scenario with a seed.
///
/// `series` asks for time series with this period. `progress` is called every simulated 100 ms and stops the
/// run by returning false.
///
/// # Errors
/// A scenario whose network cannot be built, series without a period, a run that was stopped, or a congestion
/// control from outside that failed.
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
    while let Some((now, happening)) = simulation.queue.pop_until(end) {
        match happening {
            Happening::Write(flow) => simulation.write(now, flow),
            Happening::Stop(flow) => simulation.stop(now, flow),
            Happening::Read(flow) => simulation.read(now, flow),
            Happening::OntoLink(link, end) => simulation.leave_queue(now, link, end),
            Happening::OffLink(link, end) => simulation.off_link(now, link, end),
            Happening::OnMedium(medium) => simulation.on_medium(now, medium),
            Happening::Tti => simulation.tti(now),
            Happening::Uplink => simulation.uplink(now),
            Happening::Cells => simulation.cells_turn(now),
            Happening::Timer(flow, end) => simulation.timer(now, flow, end),
            Happening::Sample => simulation.sample(now),
            Happening::Progress => {
                if !(progress(now) && simulation.tap.as_ref().is_none_or(|tap| tap.goes_on())) {
                    return Err(Error::new(&scenario.name, None, format!("stopped at {now}")));
                }
                simulation.queue.schedule(now + PROGRESS_PERIOD, Happening::Progress);
            }
            Happening::Failure(flow) => return Err(simulation.failure(flow)),
        }
    }
    Ok(simulation.finish())
}

impl<'t> Simulation<'t> {
    fn new(
        scenario: &'t Scenario,
        seed: u64,
        records: &Records,
        tap: Option<&'t mut dyn Tap>,
    ) -> Result<Simulation<'t>, Error> {
        let ues: usize = scenario.ue.iter().map(|group| group.count as usize).sum();
        let begin = Time::ZERO + scenario.warmup;
        let mut network = match scenario.site.is_empty() {
            true => None,
            false => Some(Box::new(Ran::new(&build::setup(scenario, seed)).map_err(|unbuildable| {
                let nowhere = Node::new(Value::Table(Vec::new()), &scenario.name);
                Fault::new("mac.srs_period", unbuildable.0).at(&nowhere)
            })?)),
        };
        if let Some((window, network)) = records.allocations.as_ref().zip(network.as_mut()) {
            network.log_allocations(records::ttis(begin, window));
        }
        let routes = Routes::new(scenario, seed, network.as_deref());
        let mut simulation = Simulation {
            queue: EventQueue::with_capacity(8 * ues + 64),
            packets: Slab::with_capacity(128 * ues),
            links: routes.links,
            media: routes.media,
            steps: routes.steps,
            begins: routes.begins,
            network,
            paths: routes.paths,
            flows: Vec::new(),
            groups: Vec::with_capacity(scenario.flow.len()),
            pages: Vec::new(),
            devices: Devices::new(ues),
            ledger: Ledger::default(),
            last_tti: None,
            tti_pending: false,
            record: records.series.map(|period| Record {
                period,
                series: Series::default(),
                incidents: Incidents::default(),
            }),
            observed: Vec::new(),
            tap,
            scenario,
            config: scenario.tcp.config(),
            seed,
            begin,
            arrivals: Vec::with_capacity(256),
            drops: Vec::with_capacity(256),
            marks: Vec::with_capacity(256),
            fates: Fates { drops: Vec::with_capacity(64), marks: Vec::with_capacity(64) },
            passed: Vec::with_capacity(16),
        };
        simulation.add_flows();
        simulation.know_links();
        simulation.watch_cells();
        simulation.queue.schedule(Time::ZERO + PROGRESS_PERIOD, Happening::Progress);
        if let Some(record) = &simulation.record {
            simulation.queue.schedule(simulation.begin + record.period, Happening::Sample);
        }
        Ok(simulation)
    }

    // TCP.

    /// Sends what an endpoint has to send and arms its timer.
    fn pump(&mut self, now: Time, number: u32, at: End) {
        if at == self.flows[number as usize].sender {
            self.note_repairs(now, number);
        }
        self.write_rest(number, at);
        loop {
            let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is pumped");
            let Some(segment) = connection.end(at).0.poll_transmit(now) else { break };
            self.emit(now, number, at, segment.wire_bytes(), Carried::Segment(segment));
        }
        let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is pumped");
        let (endpoint, timer) = connection.end(at);
        if let Some(due) = endpoint.next_timeout().filter(|due| timer.is_none_or(|armed| *due < armed)) {
            *timer = Some(due);
            self.queue.schedule(due.max(now), Happening::Timer(number, at));
        }
        self.watch(now, number);
    }

    /// A timer event that an earlier one has overtaken says nothing, nor does one of a flow that is over; one that comes
    /// too early is armed anew.
    fn timer(&mut self, now: Time, number: u32, at: End) {
        let Some(connection) = &mut self.flows[number as usize].connection else { return };
        let (endpoint, timer) = connection.end(at);
        if *timer != Some(now) {
            return;
        }
        *timer = None;
        endpoint.on_timeout(now);
        self.pump(now, number, at);
        self.give_up(number);
    }

    // The network.

    /// A packet enters the network at one end of a flow.
    fn emit(&mut self, now: Time, number: u32, from: End, size: Bytes, content: Carried) {
        let flow = &mut self.flows[number as usize];
        let to = from.other();
        flow.on_way += 1;
        if from == flow.sender {
            flow.meter.sent += 1;
        }
        self.ledger.offered.add(size);
        let (down, up) = self.begins[flow.ue as usize];
        let first = if from == End::Server { down } else { up };
        let identification = flow.identifications[from as usize];
        flow.identifications[from as usize] = identification.wrapping_add(1);
        let packet = Packet {
            flow: number,
            to,
            next: first + 1,
            sent_at: now,
            size,
            road: None,
            identification,
            content,
        };
        let key = self.packets.insert(packet);
        self.show(now, key, Stop::End(from), Way::Out);
        self.take_step(now, self.steps[first as usize], key, number, to, size);
    }

    /// A packet takes the next step of its way.
    fn forward(&mut self, now: Time, key: Key) {
        let packet = self.packets.get_mut(key);
        let Packet { flow, to, next, size, .. } = *packet;
        packet.next += 1;
        self.take_step(now, self.steps[next as usize], key, flow, to, size);
    }

    //= exception one-gateway
    #[inline]
    fn take_step(&mut self, now: Time, step: Step, key: Key, flow: u32, to: End, size: Bytes) {
        match step {
            Step::Link(link) => self.onto_link(now, key, link, to, size),
            Step::S1u => self.onto_s1u(now, key, flow, to),
            Step::Medium { medium, station } => self.onto_medium(now, key, medium, station),
            Step::Air if to == End::Ue => self.at_cell(now, key),
            Step::Air => self.enter_bearer(now, key),
            Step::End => self.deliver(now, key),
        }
    }

    /// A packet goes onto a link, or is booked if the link refuses it.
    #[inline]
    pub(crate) fn onto_link(&mut self, now: Time, key: Key, number: u32, to: End, size: Bytes) {
        if number == SERVER_LINK && to == End::Server {
            self.show(now, key, Stop::Gateway, Way::Out);
        }
        let link = match self.links[number as usize].towards(to) {
            OneWay::Plain(link) => link,
            OneWay::Managed(managed) => {
                let waiting = self.packets.get(key).waiting(now, key);
                let due = managed.send(now, waiting, &mut self.fates);
                return self.follow(now, number, to, due);
            }
        };
        match link.send(now, size, key) {
            Ok(sent) => {
                if sent.mark && self.packets.get_mut(key).mark() {
                    link.count_mark();
                }
                if let Some(at) = sent.event {
                    self.queue.schedule(at, Happening::OffLink(number, to));
                }
            }
            Err(Refused(key)) => self.drop_packet(now, key, Cause::LinkQueue),
        }
    }

    /// The next packet leaves the queue before a link.
    fn leave_queue(&mut self, now: Time, number: u32, to: End) {
        let OneWay::Managed(managed) = self.links[number as usize].towards(to) else {
            unreachable!("only managed links ask for departures")
        };
        let due = managed.depart(now, &mut self.fates);
        self.follow(now, number, to, due);
    }

    /// Schedules what a managed link asks for, and settles what its queue did.
    fn follow(&mut self, now: Time, number: u32, to: End, due: Due) {
        if let Some(at) = due.departure {
            self.queue.schedule(at, Happening::OntoLink(number, to));
        }
        if let Some(at) = due.arrival {
            self.queue.schedule(at, Happening::OffLink(number, to));
        }
        for key in self.fates.marks.drain(..) {
            self.packets.get_mut(key).mark();
        }
        let mut drops = std::mem::take(&mut self.fates.drops);
        for (key, cause) in drops.drain(..) {
            self.drop_packet(now, key, cause);
        }
        self.fates.drops = drops;
    }

    /// The first of what a link carries arrives and goes on, unless it was lost on the way.
    fn off_link(&mut self, now: Time, link: u32, end: End) {
        let (head, next) = self.links[link as usize].towards(end).link_mut().arrive(now);
        if let Some(at) = next {
            self.queue.schedule(at, Happening::OffLink(link, end));
        }
        match head {
            Ok(key) => {
                if link == SERVER_LINK && end == End::Ue {
                    self.show(now, key, Stop::Gateway, Way::In);
                }
                if self.paths.is_x2(link) {
                    self.at_cell(now, key);
                } else {
                    self.forward(now, key);
                }
            }
            Err(Lost(key)) => self.drop_packet(now, key, Cause::LinkError),
        }
    }

    /// A packet enters the queue of a station, or of the access point.
    fn onto_medium(&mut self, now: Time, key: Key, number: u32, station: u32) {
        let packet = self.packets.get_mut(key);
        let way = packet.to.way();
        let medium = &mut self.media[number as usize].medium;
        match medium.send(now, station, way, packet.size, key) {
            Ok(mark) => {
                if mark && packet.mark() {
                    medium.count_mark(way);
                }
                self.watch_medium(number);
            }
            Err(Refused(key)) => self.drop_packet(now, key, Cause::LinkQueue),
        }
    }

    /// Somebody begins or ends to send; what leaves the medium by it goes on. An event that an earlier one has
    /// overtaken says nothing.
    fn on_medium(&mut self, now: Time, number: u32) {
        let shared = &mut self.media[number as usize];
        if shared.due != Some(now) {
            return;
        }
        shared.due = None;
        let mut passed = std::mem::take(&mut self.passed);
        shared.medium.advance(now, &mut passed);
        for packet in passed.drain(..) {
            match packet.exit {
                Exit::Arrived => self.forward(now, packet.item),
                Exit::Lost => self.drop_packet(now, packet.item, Cause::LinkError),
                Exit::GivenUp => self.drop_packet(now, packet.item, Cause::RetryLimit),
            }
        }
        self.passed = passed;
        self.watch_medium(number);
    }

    fn watch_medium(&mut self, number: u32) {
        let shared = &mut self.media[number as usize];
        let next = shared.medium.next_event();
        if let Some(at) = next.filter(|at| shared.due.is_none_or(|due| *at < due)) {
            shared.due = Some(at);
            self.queue.schedule(at, Happening::OnMedium(number));
        }
    }

    /// A packet enters the queue of its terminal's bearer.
    pub(crate) fn enter_bearer(&mut self, now: Time, key: Key) {
        let Packet { flow, to, .. } = *self.packets.get(key);
        let direction = if to == End::Ue { Direction::Down } else { Direction::Up };
        if to == End::Ue {
            self.show(now, key, Stop::BaseStation, Way::In);
        }
        let ue = UeId(self.flows[flow as usize].ue);
        let waiting = self.packets.get(key).waiting(now, key);
        self.cells().send(ue, direction, waiting);
        self.settle_fates(now);
        self.wake_cells(now);
    }

    /// The end of a TTI and the start of the next: what has crossed the radio acts before anything is
    /// scheduled.
    fn tti(&mut self, now: Time) {
        self.tti_pending = false;
        let tti = Tti(now.0 / Tti::SPAN.0);
        self.last_tti = Some(tti);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        self.cells().receive(tti);
        self.cells().take_arrivals(&mut arrivals);
        for arrival in &arrivals {
            self.off_air(now, arrival);
        }
        self.arrivals = arrivals;
        self.cells().transmit(tti);
        if let Some(at) = self.cells().uplink_ends(tti) {
            self.queue.schedule(at, Happening::Uplink);
        }
        self.settle_fates(now);
        self.wake_cells(now);
    }

    /// Uplink blocks end before their TTI: what they bring goes on at once.
    fn uplink(&mut self, now: Time) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        self.cells().receive_uplink(now);
        self.cells().take_arrivals(&mut arrivals);
        for arrival in &arrivals {
            self.off_air(now, arrival);
        }
        self.arrivals = arrivals;
        self.settle_fates(now);
    }

    /// A packet has crossed the radio.
    fn off_air(&mut self, now: Time, arrival: &Arrival) {
        match arrival.direction {
            Direction::Down => self.deliver(now, arrival.packet),
            Direction::Up => {
                self.show(now, arrival.packet, Stop::BaseStation, Way::Out);
                self.forward(now, arrival.packet);
            }
        }
    }

    /// A packet reaches the end that it was sent to.
    fn deliver(&mut self, now: Time, key: Key) {
        self.show(now, key, Stop::End(self.packets.get(key).to), Way::In);
        let packet = self.packets.remove(key);
        self.ledger.delivered.add(packet.size);
        if let Carried::Segment(segment) = &packet.content
            && segment.len > 0
        {
            self.tell_of_device(now, packet.flow, packet.to);
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.on_way -= 1;
        if packet.to != flow.sender {
            flow.meter.received += 1;
            flow.meter.received_bytes += packet.size;
            flow.meter.delay.record(now.since(packet.sent_at));
        }
        match packet.content {
            Carried::Datagram(payload) => flow.meter.payload += payload,
            Carried::Segment(segment) => {
                let connection = flow.connection.as_mut().expect("segments belong to TCP flows");
                let endpoint = connection.end(packet.to).0;
                endpoint.on_segment(now, &segment);
                if packet.to == flow.sender {
                    if let Some(sample) = endpoint.take_rtt_sample() {
                        flow.meter.rtt.record(sample);
                    }
                } else {
                    flow.meter.payload = endpoint.bytes_received();
                    let whole = flow.size;
                    if flow.meter.completed.is_none() && whole.is_some_and(|size| flow.meter.payload >= size)
                    {
                        flow.meter.completed = Some(now);
                    }
                }
                let is_read_slowly = connection.reader.is_some();
                if flow.is_asked && segment.len > 0 {
                    self.converse(now, packet.flow, packet.to);
                }
                self.pump(now, packet.flow, packet.to);
                if is_read_slowly {
                    self.start_reading(now, packet.flow);
                }
                self.give_up(packet.flow);
            }
        }
    }

    /// Tells an end that is about to receive data what it wants to know of its device.
    fn tell_of_device(&mut self, now: Time, number: u32, to: End) {
        let flow = &self.flows[number as usize];
        let wants = flow.connection.as_ref().map_or(rwnd::Wants::default(), |connection| connection.wants);
        if to == flow.sender || wants == rwnd::Wants::default() {
            return;
        }
        let ue = flow.ue;
        let mut device = self.devices.view(ue, flow.sender, &self.flows);
        device.link = wants.link.then(|| self.link_to(now, ue));
        let connection = self.flows[number as usize].connection.as_mut().expect("it wants to know");
        connection.end(to).0.tell_of_device(device);
    }

    // The cells.

    pub(crate) fn cells(&mut self) -> &mut Ran {
        self.network.as_mut().expect("only cells have TTIs")
    }

    /// Schedules the next TTI if it has anything to do.
    pub(crate) fn wake_cells(&mut self, now: Time) {
        if self.tti_pending || self.cells().is_idle() {
            return;
        }
        let soonest = now.0.div_ceil(Tti::SPAN.0);
        let next = self.last_tti.map_or(soonest, |last| soonest.max(last.0 + 1));
        self.queue.schedule(Tti(next).start(), Happening::Tti);
        self.tti_pending = true;
    }

    /// Marks and drops what the cells have marked and dropped.
    /// Schedules what happens next in the cells besides TTIs.
    pub(crate) fn watch_cells(&mut self) {
        if let Some(at) = self.network.as_ref().and_then(|network| network.next_event()) {
            self.queue.schedule(at, Happening::Cells);
        }
    }

    pub(crate) fn settle_fates(&mut self, now: Time) {
        let mut marks = std::mem::take(&mut self.marks);
        self.cells().take_marks(&mut marks);
        for key in &marks {
            self.packets.get_mut(*key).mark();
        }
        self.marks = marks;
        let mut drops = std::mem::take(&mut self.drops);
        self.cells().take_drops(&mut drops);
        for drop in &drops {
            self.drop_packet(now, drop.packet, drop.cause.into());
        }
        self.drops = drops;
    }

    pub(crate) fn drop_packet(&mut self, now: Time, key: Key, cause: Cause) {
        let Packet { flow, to, size, road, .. } = self.packets.remove(key);
        if let Some(road) = road {
            let ue = self.flows[flow as usize].ue;
            self.paths.anchors[ue as usize].forget(road);
            self.release_held(now, ue);
        }
        self.ledger.drop(cause, size);
        let of = &mut self.flows[flow as usize];
        of.on_way -= 1;
        of.meter.dropped += u64::from(to != of.sender);
        self.note(now, flow, Incident::Drop(cause, size));
    }
}

impl Duplex {
    /// The direction that leads to an end.
    fn towards(&mut self, end: End) -> &mut OneWay {
        match end {
            End::Ue => &mut self.down,
            End::Server => &mut self.up,
        }
    }
}
