//! Flows and their applications.

use super::real::Real;
use super::{Happening, Simulation, UDP_HEADERS};
use crate::results::meter::{Meter, Sampled, Spread};
use crate::results::outcome::FlowRow;
use crate::results::tap::Carried;
use crate::scenario::traffic::{FlowContext, Part, Source, Transport, Write};
use crate::scenario::{self, UeGroup};
use airwnd_cell::{BearerId, UeId};
use airwnd_kernel::{Direction, Stream};
use airwnd_rwnd as rwnd;
use airwnd_tcp::cc::{self, Identity};
use airwnd_tcp::{Config, Endpoint, EndpointSetup, Seq, State};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::sync::Arc;

/// Flows of one `[[flow]]` of the scenario.
pub(crate) struct Group {
    pub(super) id: String,
    pub(super) kind: String,
    /// `None` for UDP.
    pub(super) cc: Option<String>,
    /// `None` for UDP.
    pub(super) rwnd: Option<String>,
    /// TCP parameters of both ends; `None` for UDP and real packets.
    pub(super) config: Option<Arc<Config>>,
    /// Number of its first flow.
    pub(super) first: u32,
    /// Number of the first flow of the next group.
    pub(super) end: u32,
    /// Set if flows are dynamic: each connection is created when the flow begins, and released when it is over.
    pub(super) is_dynamic: bool,
    /// Delays of the flows that are over.
    pub(super) delay: Spread,
}

impl Group {
    /// Id of one of its flows in results.
    pub(super) fn flow_id(&self, number: u32) -> String {
        format!("{}-{}", self.id, number - self.first)
    }
}

pub(crate) struct Flow {
    /// Index of its group.
    pub(super) group: u32,
    pub ue: u32,
    /// Bearer of the UE.
    pub(super) bearer: BearerId,
    /// Direction of its data.
    pub(super) direction: Direction,
    pub(super) source: Box<dyn Source>,
    /// Total size, if known.
    pub(super) size: Option<Bytes>,
    /// Set if the receiver of the data requests it.
    pub(super) is_requested: bool,
    /// Start time.
    pub(super) start: Time,
    pub(super) connection: Option<Box<Connection>>,
    pub(super) stopped: bool,
    /// Packets of the flow in the network.
    pub(super) on_way: u32,
    pub(super) meter: Meter,
    pub(super) sampled: Sampled,
    /// Timeouts and loss recoveries of the sender recorded so far.
    pub(super) noted: (u64, u64),
    /// Packets sent by each end, modulo 65536: the server, the UE.
    pub(super) identifications: [u16; 2],
    /// Results, once the flow is over and its connection released.
    pub(super) row: Option<Box<FlowRow>>,
    /// Set for a flow of real packets.
    pub(super) real: Option<Box<Real>>,
}

/// A completed page.
pub(super) struct Page {
    pub(super) flow: u32,
    pub(super) part: Part,
    pub(super) at: Time,
}

/// A TCP connection.
pub(super) struct Connection {
    /// The server, which sends downlink, and the UE, which sends uplink.
    peers: [Peer; 2],
    pub(super) reader: Option<Reader>,
    /// Device state required by the receive-window control.
    pub(super) needs: rwnd::DeviceNeeds,
}

/// An end of a connection, with its application.
pub(super) struct Peer {
    pub(super) endpoint: Endpoint,
    /// Due time of its timer, if an event is scheduled for it.
    pub(super) timer: Option<Time>,
    /// Application data not yet written, for lack of space in the send buffer.
    unwritten: Bytes,
    /// Set if the application writes no more data: the connection closes once it is established and all data is
    /// written.
    closing: bool,
}

/// A receiving application with a limited read rate.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) rate: BitRate,
    /// Maximum bytes per read.
    pub(super) max: Bytes,
    /// Bytes of the current read.
    pub(super) piece: Bytes,
}

impl Connection {
    /// The peer that sends in a direction.
    pub(super) fn sender(&mut self, direction: Direction) -> &mut Peer {
        &mut self.peers[direction as usize]
    }

    /// The peer that receives in a direction.
    pub(super) fn receiver(&mut self, direction: Direction) -> &mut Peer {
        self.sender(direction.reverse())
    }

    fn endpoint(&self, direction: Direction) -> &Endpoint {
        &self.peers[direction as usize].endpoint
    }

    /// Returns whether data may still be transferred: at least one end has neither sent nor received a FIN.
    pub(super) fn is_open(&self) -> bool {
        self.peers.iter().any(|peer| peer.endpoint.state().is_open())
    }

    /// Returns whether the connection has ended and neither end has a timer that could send another segment.
    fn is_over(&self) -> bool {
        let is_closed = |peer: &Peer| peer.endpoint.state() == State::Closed;
        let has_no_timer = |peer: &Peer| peer.endpoint.next_timeout().is_none();
        let ends = !self.is_open() || self.peers.iter().any(is_closed);
        ends && self.peers.iter().all(has_no_timer)
    }
}

/// Name of a group's control in results. Two plug-ins of one name are named with their files or modules.
fn named<'a, T: 'a>(own: &T, all: impl Iterator<Item = &'a T>, label: fn(&T, bool) -> String) -> String {
    let (short, whole) = (label(own, false), label(own, true));
    let mut others = all.filter(|other| label(other, false) == short);
    if others.all(|other| label(other, true) == whole) { short } else { whole }
}

impl Simulation<'_> {
    pub(super) fn add_flows(&mut self) {
        let scenario = self.scenario.clone();
        let arriving = Stream::new(self.seed, "arrivals");
        let drawing = Stream::new(self.seed, "traffic");
        let first_ue = |group: usize| scenario.ue[..group].iter().map(|group| group.count).sum::<u32>();
        for (place, group) in (0..).zip(&scenario.flow) {
            let chosen = (0..scenario.ue.len())
                .filter(|index| group.ue.as_ref().is_none_or(|name| scenario.ue[*index].name == *name));
            let ues = chosen.flat_map(|index| first_ue(index)..first_ue(index) + scenario.ue[index].count);
            let (arrivals, window) = (group.arrivals.build(), group.window(scenario.duration));
            let begin = self.begin + group.start;
            let mut flows = Vec::new();
            for (index, ue) in (0u64..).zip(ues).filter(|(_, ue)| !self.is_replaced(*ue)) {
                let of_ue = |stream: Stream| stream.child(u64::from(place)).child(index);
                for (number, arrival) in (0u64..).zip(arrivals.times(window, of_ue(arriving))) {
                    for copy in 0..u64::from(group.count) {
                        let later = group.stagger * (index * u64::from(group.count) + copy);
                        let stream = of_ue(drawing).child(number).child(copy);
                        let identity = Identity { ue, ..Identity::default() };
                        let transport = group.traffic.transport();
                        let ctx = FlowContext { stream, size: arrival.size, transport, identity };
                        flows.push((begin + arrival.at + later, ue, ctx));
                    }
                }
            }
            flows.sort_by_key(|(start, _, _)| *start);
            let tcp = group.traffic.transport() == Transport::Tcp;
            let first = self.flows.len() as u32;
            self.groups.push(Group {
                id: group.id.clone(),
                kind: group.traffic.kind(),
                cc: tcp
                    .then(|| named(&group.cc, scenario.flow.iter().map(|group| &group.cc), cc::Spec::label)),
                rwnd: tcp.then(|| {
                    named(&group.rwnd, scenario.flow.iter().map(|group| &group.rwnd), rwnd::Spec::label)
                }),
                config: tcp.then(|| Arc::new(scenario.tcp_of(group))),
                first,
                end: first + flows.len() as u32,
                is_dynamic: !group.is_once(),
                delay: Spread::new(),
            });
            for (start, ue, ctx) in flows {
                self.add_flow(place, group, start, ue, &ctx);
            }
            if !group.is_once() && (first as usize) < self.flows.len() {
                self.queue.schedule(self.flows[first as usize].start, Happening::Write(first));
            }
        }
    }

    fn add_flow(&mut self, place: u32, group: &scenario::Flow, start: Time, ue: u32, ctx: &FlowContext) {
        let number = self.flows.len() as u32;
        let identity = Identity { flow: number, ..ctx.identity };
        let source = group.traffic.build(&FlowContext { identity, ..*ctx });
        let bearer = self.bearer_of(ue, group);
        let budget = group.delay_budget.or_else(|| self.delay_budget(ue, bearer));
        self.flows.push(Flow {
            group: place,
            ue,
            bearer,
            direction: group.direction,
            size: source.size(),
            is_requested: source.is_requested(),
            start,
            connection: None,
            stopped: false,
            on_way: 0,
            meter: if group.is_once() {
                Meter::new(Spread::lasting(), Spread::lasting(), budget)
            } else {
                Meter::new(Spread::new(), Spread::new(), budget)
            },
            sampled: Sampled::default(),
            noted: (0, 0),
            identifications: [0; 2],
            row: None,
            real: None,
            source,
        });
        if group.is_once() {
            self.prepare(number);
            self.queue.schedule(start, Happening::Write(number));
            self.schedule_stop(number);
        }
    }

    /// The bearer of a UE that carries the flows of a group.
    fn bearer_of(&self, ue: u32, flow: &scenario::Flow) -> BearerId {
        let bearer = self.group_of(ue).bearer_named(flow.bearer.as_ref());
        bearer.expect("checked: each group of the flow has the bearer")
    }

    /// The delay that the class of a bearer allows; `None` without cells.
    pub(super) fn delay_budget(&self, ue: u32, bearer: BearerId) -> Option<Span> {
        self.network.ran().map(|_| self.group_of(ue).qci(bearer).whole_delay_budget())
    }

    /// The group of a UE.
    pub(super) fn group_of(&self, ue: u32) -> &UeGroup {
        let mut first = 0;
        let groups = &mut self.scenario.ue.iter();
        let group = groups.find(|group| {
            first += group.count;
            ue < first
        });
        group.expect("each UE is in a group")
    }

    /// Creates the endpoints of a flow's connection.
    fn prepare(&mut self, number: u32) {
        if self.record.is_some() {
            self.observed.push(number);
            if let Some(ran) = self.network.ran() {
                // The UE may have had other flows before.
                let flow = &mut self.flows[number as usize];
                let blocks = ran.ue_figures(UeId(flow.ue)).blocks(flow.direction);
                flow.sampled.decoded = Bytes(blocks.decoded_bytes);
            }
        }
        let flow = &self.flows[number as usize];
        let group = &self.scenario.flow[flow.group as usize];
        if group.traffic.transport() == Transport::Udp {
            return;
        }
        let config = self.groups[flow.group as usize].config.as_ref().expect("TCP flows have parameters");
        let data = flow.direction;
        let plain = rwnd::Spec::Fixed(Default::default());
        // The end without data needs a congestion control, too; its choice has no effect.
        let idle = airwnd_tcp::cc::Spec::Newreno(Default::default());
        let peer = |direction: Direction| {
            let (cc, rwnd, peer_rwnd) = if direction == data {
                (&group.cc, &plain, &group.rwnd)
            } else {
                (&idle, &group.rwnd, &plain)
            };
            // Initial sequence numbers of zero keep captures readable; there is no attacker to guess them.
            let seed = Stream::new(self.seed, "congestion control").child(u64::from(number)).next_u64();
            let identity = Identity { flow: number, ue: flow.ue };
            let setup = EndpointSetup { config, cc, rwnd, peer_rwnd, iss: Seq(0), seed, identity };
            Peer { endpoint: Endpoint::new(&setup), timer: None, unwritten: Bytes::ZERO, closing: false }
        };
        let reader = |rate| Reader { rate, max: Bytes(config.mss.into()), piece: Bytes::ZERO };
        let mut connection = Connection {
            peers: Direction::BOTH.map(peer),
            reader: group.read_rate.map(reader),
            needs: rwnd::DeviceNeeds::default(),
        };
        let at_once = connection.reader.is_none();
        let receiver = &mut connection.receiver(data).endpoint;
        receiver.read_at_once(at_once);
        connection.needs = receiver.device_needs();
        self.flows[number as usize].connection = Some(Box::new(connection));
    }

    fn schedule_stop(&mut self, number: u32) {
        let flow = &self.flows[number as usize];
        let group = &self.scenario.flow[flow.group as usize];
        if let Some(stop) = group.stop.filter(|_| group.is_once() || !group.traffic.ends()) {
            self.queue.schedule((self.begin + stop).max(flow.start), Happening::Stop(number));
        }
    }

    /// Starts a flow: opens its connection, and schedules the next flow of its group.
    fn start_flow(&mut self, now: Time, number: u32) {
        let group = &self.groups[self.flows[number as usize].group as usize];
        if group.is_dynamic {
            let next = number + 1;
            if next < group.end {
                self.queue.schedule(self.flows[next as usize].start, Happening::Write(next));
            }
            self.prepare(number);
            self.schedule_stop(number);
        }
        let flow = &mut self.flows[number as usize];
        flow.meter.started = Some(now);
        let request = if flow.is_requested { flow.direction.reverse() } else { flow.direction };
        if let Some(connection) = &mut flow.connection {
            connection.receiver(request).endpoint.listen();
            connection.sender(request).endpoint.connect();
            let data = flow.direction;
            if connection.needs.connections {
                self.devices.open(flow.ue, data, number);
            }
            self.report_device(now, number, data);
        }
    }

    /// Returns whether a dynamic flow has begun and is not over; `true` for other flows.
    pub(crate) fn is_active(&self, number: u32) -> bool {
        let flow = &self.flows[number as usize];
        let is_dynamic = self.groups[flow.group as usize].is_dynamic;
        !is_dynamic || (flow.meter.started.is_some() && flow.row.is_none())
    }

    /// Releases the connection of a dynamic flow once it is over and has no packets in the network.
    #[inline]
    pub(super) fn release(&mut self, number: u32) {
        if self.flows[number as usize].on_way == 0 {
            self.release_if_over(number);
        }
    }

    #[inline(never)]
    fn release_if_over(&mut self, number: u32) {
        let flow = &self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let is_over = || flow.connection.as_ref().is_some_and(|connection| connection.is_over());
        if !(group.is_dynamic && is_over()) {
            return;
        }
        self.conclude(number);
        let flow = &mut self.flows[number as usize];
        // A rate-driven source has further writes scheduled.
        flow.stopped = true;
        if let Some(receiver) = flow.receiving() {
            self.devices.close(flow.ue, flow.direction, number, receiver);
        }
        flow.connection = None;
    }

    /// Stores the results of a dynamic flow that is over, and releases its histograms.
    pub(super) fn conclude(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        let group = &mut self.groups[flow.group as usize];
        let row = flow.row(group, number, self.begin, self.measured);
        group.delay.add(&flow.meter.delay);
        flow.row = Some(Box::new(row));
        flow.meter.delay = Spread::new();
        flow.meter.rtt = Spread::new();
        self.observed.retain(|observed| *observed != number);
    }

    // The application.

    pub(super) fn write(&mut self, now: Time, number: u32) {
        if self.flows[number as usize].stopped {
            return;
        }
        if self.flows[number as usize].meter.started.is_none() {
            self.start_flow(now, number);
        }
        let flow = &mut self.flows[number as usize];
        let data = flow.direction;
        let written = flow.source.write(now);
        if let Write::Piece(_, next) | Write::Later(next) = written {
            self.queue.schedule(next, Happening::Write(number));
        }
        match &mut flow.connection {
            Some(connection) => {
                let mut direction = data;
                match written {
                    Write::Endless => connection.sender(data).endpoint.write_endlessly(),
                    Write::Whole(size) => {
                        let sender = connection.sender(data);
                        sender.unwritten = size;
                        sender.closing = true;
                    }
                    Write::Piece(size, _) => {
                        connection.sender(data).endpoint.write(size);
                    }
                    Write::Request(size) => {
                        direction = data.reverse();
                        connection.sender(direction).unwritten += size;
                    }
                    Write::Later(_) => {}
                }
                self.pump(now, number, direction);
            }
            None => match written {
                Write::Piece(payload, _) | Write::Whole(payload) => {
                    self.emit(now, number, data, payload + UDP_HEADERS, Carried::Datagram(payload));
                }
                Write::Later(_) => {}
                Write::Endless | Write::Request(_) => unreachable!("no datagram source is endless or asked"),
            },
        }
    }

    /// Handles data received at an end of a request-driven flow: the application responds, or sends the next request.
    pub(super) fn on_data(&mut self, now: Time, number: u32, direction: Direction) {
        let flow = &mut self.flows[number as usize];
        let Some(connection) = &mut flow.connection else { return };
        let peer = connection.receiver(direction);
        let received = peer.endpoint.bytes_received();
        if direction != flow.direction {
            if !flow.stopped {
                peer.unwritten += flow.source.answer(received);
            }
            return;
        }
        let reaction = flow.source.arrived(now, received);
        peer.closing |= reaction.is_last;
        if let Some(next) = reaction.write_at {
            self.queue.schedule(next, Happening::Write(number));
        }
        if let Some(part) = reaction.completed {
            self.pages.push(Page { flow: number, part, at: now });
        }
    }

    /// Starts the next read of a rate-limited receiving application, unless a read is in progress.
    pub(super) fn start_reading(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        let data = flow.direction;
        let Some(connection) = &mut flow.connection else { return };
        let Some(mut reader) = connection.reader.filter(|reader| reader.piece == Bytes::ZERO) else { return };
        reader.piece = connection.receiver(data).endpoint.unread().min(reader.max);
        connection.reader = Some(reader);
        if reader.piece > Bytes::ZERO {
            self.queue.schedule(now + reader.rate.transmission_time(reader.piece), Happening::Read(number));
        }
    }

    pub(super) fn read(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        let data = flow.direction;
        let Some(connection) = &mut flow.connection else { return };
        let piece =
            connection.reader.as_mut().map_or(Bytes::ZERO, |reader| std::mem::take(&mut reader.piece));
        connection.receiver(data).endpoint.read(now, piece);
        self.pump(now, number, data.reverse());
        self.start_reading(now, number);
    }

    pub(super) fn stop(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        flow.stopped = true;
        let data = flow.direction;
        if let Some(connection) = &mut flow.connection {
            let sender = connection.sender(data);
            sender.unwritten = Bytes::ZERO;
            sender.closing = true;
            self.pump(now, number, data);
        }
    }

    /// Writes application data as far as the send buffer has space, and closes the connection after the last byte.
    pub(super) fn write_rest(&mut self, number: u32, direction: Direction) {
        let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is written to");
        let peer = connection.sender(direction);
        if peer.unwritten > Bytes::ZERO {
            let taken = peer.endpoint.write(peer.unwritten);
            peer.unwritten -= taken;
        }
        let is_writable = || matches!(peer.endpoint.state(), State::Established | State::CloseWait);
        if peer.closing && peer.unwritten == Bytes::ZERO && is_writable() {
            peer.endpoint.close();
            peer.closing = false;
        }
    }
}

impl Flow {
    /// Measurements of the packets in a direction; `None`: they are not measured.
    #[inline]
    pub(super) fn meter_of(&mut self, direction: Direction) -> Option<&mut Meter> {
        if direction == self.direction {
            return Some(&mut self.meter);
        }
        self.real.as_mut().map(|real| &mut real.reverse)
    }

    /// Whether its receive-window control counts the connections of the device, which include it.
    pub(super) fn is_of_device(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.needs.connections)
    }

    /// Sender of the data.
    pub(super) fn sending(&self) -> Option<&Endpoint> {
        self.connection.as_ref().map(|connection| connection.endpoint(self.direction))
    }

    /// Receiver of the data.
    pub fn receiving(&self) -> Option<&Endpoint> {
        self.connection.as_ref().map(|connection| connection.endpoint(self.direction.reverse()))
    }
}
