//! A simulation in step with an outside clock, which carries the packets of real programs beside simulated flows.

use super::flows::{Flow, Group};
use super::real::{Outside, Real, Socket, SocketRow};
use super::views::UeView;
use super::{Content, Happening, Simulation};
use crate::results::meter::{Meter, Sampled, Spread};
use crate::results::outcome::Outcome;
use crate::results::records::Records;
use crate::results::tap::{Carried, Tap};
use crate::scenario::Scenario;
use crate::scenario::packet_filter::Signature;
use airwnd_catalog::Error;
use airwnd_cell::UeId;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_network::{Cause, Packet};
use airwnd_units::{Bytes, Span, Time};
use std::borrow::Cow;

/// Id of the group of real flows, unless the scenario uses it.
const REAL: &str = "real";

/// A UE whose packets come from real programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealUe {
    /// Number of the UE.
    pub ue: u32,
    /// Set if the scenario's flows of the UE are simulated, too.
    pub keeps_flows: bool,
}

/// A packet of a real program that enters the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number by which the owner finds its bytes.
    pub number: u32,
    /// Flow, as returned by [`Live::open`].
    pub flow: u32,
    /// Direction.
    pub direction: Direction,
    /// Size with the IP header.
    pub size: Bytes,
    /// ECN field of the IP header.
    pub ecn: Codepoint,
}

/// Outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reached the other end.
    Delivered,
    /// It was dropped or lost.
    Dropped(Cause),
    /// A link has made a copy: the frame is inside once more, and has one more exit later.
    Copied,
}

/// A frame that leaves the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Simulated time.
    pub at: Time,
    /// Simulated time at which it entered.
    pub sent_at: Time,
    /// Number given by the owner.
    pub number: u32,
    /// Flow.
    pub flow: u32,
    /// Number of the UE.
    pub ue: u32,
    /// Direction.
    pub direction: Direction,
    /// ECN field, which queues may have marked.
    pub ecn: Codepoint,
    /// Simulated time at which a queue marked it; `None`: none did.
    pub marked_at: Option<Time>,
    /// Outcome.
    pub fate: Fate,
}

/// A simulation whose owner advances the time and sends frames.
///
/// Time begins with the warm-up of the scenario; [`Live::begin`] is its end. The scenario's duration limits only the
/// arrivals of its flows: a live simulation goes on until [`Live::finish`].
pub struct Live<'s> {
    simulation: Simulation<'s>,
    /// Number of the group of real flows.
    group: u32,
}

/// Checks that no shaper of UEs with real programs needs to see their TCP segments.
fn check_shapers(scenario: &Scenario, real: &[RealUe]) -> Result<(), Error> {
    let mut first = 0;
    for (index, group) in scenario.ue.iter().enumerate() {
        let ues = first..first + group.count;
        first += group.count;
        let is_real = real.iter().any(|real| ues.contains(&real.ue));
        let rates = group.shaper.as_ref().map(|shaper| &shaper.rates);
        if let (true, Some(airwnd_shape::Spec::Capacity(_))) = (is_real, rates) {
            let message = "the packets of real programs are not read: use `fixed`, or run airwnd guard shape beside them";
            return Err(
                Error::new(&scenario.name, None, message).within(&format!("ue[{index}].shaper.rates"))
            );
        }
    }
    Ok(())
}

impl<'s> Live<'s> {
    /// Prepares a live simulation. Flows of `real` UEs are left out unless these keep them.
    ///
    /// # Errors
    /// A scenario whose network cannot be built, records that it cannot provide, or shapers of `real` UEs that need to see
    /// TCP segments.
    pub fn new(
        scenario: impl Into<Cow<'s, Scenario>>,
        seed: u64,
        records: &Records,
        real: &[RealUe],
        tap: Option<Box<dyn Tap + 's>>,
    ) -> Result<Live<'s>, Error> {
        let scenario = scenario.into();
        check_shapers(&scenario, real)?;
        let is_taken = |id: &String| scenario.flow.iter().any(|flow| flow.id == *id);
        let ids = (0..).map(|number| if number == 0 { REAL.to_string() } else { format!("{REAL}-{number}") });
        let id = ids.into_iter().find(|id| !is_taken(id)).expect("some number is free");
        let mut simulation = Simulation::new(scenario, seed, records, tap, real.to_vec())?;
        simulation.measured = Span(1);
        let first = simulation.flows.len() as u32;
        simulation.groups.push(Group {
            id,
            kind: REAL.into(),
            cc: None,
            rwnd: None,
            config: None,
            first,
            end: first,
            is_dynamic: true,
            delay: Spread::new(),
        });
        let group = simulation.groups.len() as u32 - 1;
        Ok(Live { simulation, group })
    }

    /// End of the warm-up.
    pub fn begin(&self) -> Time {
        self.simulation.begin
    }

    /// Time of the next event; `None`: nothing happens unless a frame is sent.
    pub fn next_event(&self) -> Option<Time> {
        if let Some(paused) = self.simulation.paused {
            return Some(paused);
        }
        let ends = self.simulation.queue.peek().map(|(at, _)| at);
        let network = self.simulation.network.next_event();
        [ends, network].into_iter().flatten().min()
    }

    /// Executes all events until `to`. [`Live::exits`] returns the frames that have left the network.
    ///
    /// # Errors
    /// A failed congestion control of a plug-in, or the memory limit.
    pub fn advance(&mut self, to: Time) -> Result<(), Error> {
        self.simulation.measure_until(to);
        while self.handle_next(to, false)?.is_some() {}
        Ok(())
    }

    /// Executes events until `to`, or until frames leave the network, and returns the time. [`Live::exits`] returns these
    /// frames; until it is called, time stands still.
    ///
    /// The event at which frames leave is finished by the next call. Frames that are sent before take part in the rest of
    /// it, as the packets of simulated endpoints do: an ACK enters the RLC of the UE before the TTI that delivered its
    /// data transmits.
    ///
    /// # Errors
    /// As [`Live::advance`].
    pub fn advance_to_exit(&mut self, to: Time) -> Result<Time, Error> {
        if let Some(exit) = self.simulation.exits.last() {
            return Ok(exit.at);
        }
        self.simulation.measure_until(to);
        while let Some(now) = self.handle_next(to, true)? {
            if !self.simulation.exits.is_empty() {
                self.simulation.measure_until(now);
                return Ok(now);
            }
        }
        Ok(to)
    }

    /// Executes the next event until `to` and returns its time; `None`: there is none.
    fn handle_next(&mut self, to: Time, pauses: bool) -> Result<Option<Time>, Error> {
        match self.simulation.step_live(to, pauses) {
            Step::Network(now) => Ok(Some(now)),
            Step::Ends(now, happening) => self.simulation.handle(now, happening).map(|()| Some(now)),
            Step::Done => Ok(None),
        }
    }

    /// Sends a frame at the time of the last [`Live::advance`].
    pub fn send(&mut self, now: Time, frame: Frame) {
        let Frame { number, flow, direction, size, ecn } = frame;
        self.simulation.emit(now, flow, direction, size, Carried::Frame { number, ecn, marked_at: None });
    }

    /// Takes the frames that have left the network, in chronological order.
    pub fn exits(&mut self) -> impl Iterator<Item = Exit> + '_ {
        self.simulation.exits.drain(..)
    }

    /// Opens a flow of real packets and returns its number. `direction` is that of its first packet; `ends` are
    /// addresses and ports of the UE's end and of the server's end.
    pub fn open(
        &mut self,
        now: Time,
        ue: u32,
        direction: Direction,
        signature: &Signature,
        ends: [String; 2],
    ) -> u32 {
        let protocol = signature.protocol;
        let simulation = &mut self.simulation;
        let bearer = simulation.group_of(ue).bearer_of_real(signature);
        let number = simulation.flows.len() as u32;
        let budget = simulation.delay_budget(ue, bearer);
        let mut meter = Meter::new(Spread::new(), Spread::new(), budget);
        meter.started = Some(now);
        let mut sampled = Sampled::default();
        if let Some(ran) = simulation.network.ran() {
            sampled.decoded = Bytes(ran.ue_figures(UeId(ue)).blocks(direction).decoded_bytes);
        }
        simulation.flows.push(Flow {
            group: self.group,
            ue,
            bearer,
            direction,
            source: Box::new(Outside(protocol)),
            size: None,
            is_requested: false,
            start: now,
            connection: None,
            stopped: false,
            on_way: 0,
            meter,
            sampled,
            noted: (0, 0),
            identifications: [0; 2],
            row: None,
            real: Some(Box::new(Real::new(protocol, ends, budget))),
        });
        simulation.groups[self.group as usize].end = number + 1;
        if simulation.record.is_some() {
            simulation.observed.push(number);
        }
        number
    }

    /// Declares that no packets of a flow follow. Its histograms are released when none is in the network.
    pub fn close(&mut self, flow: u32) {
        self.real(flow).is_over = true;
        self.simulation.conclude_if_over(flow);
    }

    /// Sets the total payload that has reached the receiver in a direction: in order for TCP.
    pub fn set_payload(&mut self, flow: u32, direction: Direction, payload: Bytes) {
        if let Some(meter) = self.simulation.flows[flow as usize].meter_of(direction) {
            meter.payload = meter.payload.max(payload);
        }
    }

    /// Records an RTT sample of the end that sends in this direction.
    pub fn record_rtt(&mut self, flow: u32, direction: Direction, rtt: Span) {
        if let Some(meter) = self.simulation.flows[flow as usize].meter_of(direction) {
            meter.rtt.record(rtt);
        }
    }

    /// Counts a segment that contained bytes sent before.
    pub fn count_retransmission(&mut self, flow: u32, direction: Direction) {
        self.real(flow).retransmissions[direction as usize] += 1;
    }

    /// Sets the number of segments that contained bytes sent before. A smaller number than before has no effect.
    pub fn set_retransmissions(&mut self, flow: u32, direction: Direction, segments: u64) {
        let count = &mut self.real(flow).retransmissions[direction as usize];
        *count = segments.max(*count);
    }

    /// Sets the state of the socket that sends in a direction, and its congestion control.
    pub fn set_socket(
        &mut self,
        now: Time,
        flow: u32,
        direction: Direction,
        socket: Socket,
        cc: Option<&str>,
    ) {
        let at = now - self.simulation.begin;
        if let Some(record) = &mut self.simulation.record {
            record.sockets.push(&SocketRow::new(at, flow, direction, &socket));
        }
        let real = self.real(flow);
        real.sockets[direction as usize] = Some(socket);
        let control = &mut real.controls[direction as usize];
        if control.as_deref() != cc {
            *control = cc.map(String::from);
        }
    }

    /// Latest state of the socket that has sent more of a flow's data so far, and its congestion control.
    pub fn socket(&self, flow: u32) -> Option<(Socket, Option<&str>)> {
        let flow = &self.simulation.flows[flow as usize];
        let real = flow.real.as_ref()?;
        let sender = flow.data_direction() as usize;
        Some((real.sockets[sender]?, real.controls[sender].as_deref()))
    }

    /// Id of a flow in results.
    pub fn flow_id(&self, flow: u32) -> String {
        self.simulation.flow_id(flow)
    }

    /// State of a UE.
    pub fn ue(&mut self, now: Time, ue: u32) -> UeView {
        self.simulation.ue_view(now, ue)
    }

    /// Ends the simulation at the time of the last [`Live::advance`] and returns its results.
    pub fn finish(mut self) -> Outcome {
        if let Some(now) = self.simulation.paused {
            self.simulation.step_live(now, false);
        }
        for flow in self.simulation.flows.iter_mut().filter(|flow| flow.row.is_none()) {
            flow.face_the_data();
        }
        self.simulation.finish()
    }

    fn real(&mut self, flow: u32) -> &mut Real {
        self.simulation.flows[flow as usize].real.as_mut().expect("opened as a real flow")
    }
}

/// A step of a live simulation.
enum Step {
    /// The network has executed a part of an event, or the whole.
    Network(Time),
    /// An event at the ends of the network is due.
    Ends(Time, Happening),
    /// No event is due.
    Done,
}

impl Simulation<'_> {
    /// Performs a step until `end`, as [`Simulation::step`] does. With `pauses` it ends as soon as a frame has left.
    fn step_live(&mut self, end: Time, pauses: bool) -> Step {
        if self.failures.first().is_some() {
            return Step::Ends(self.queue.now(), Happening::Failure);
        }
        let now = match self.paused.take() {
            Some(now) => now,
            None => match self.network_goes_until(end).and_then(|limit| self.network.advance(limit)) {
                Some(now) => now,
                None if self.is_busy() => return Step::Ends(self.queue.now(), Happening::Busy),
                None => {
                    let due = self.queue.pop_until(end);
                    return due.map_or(Step::Done, |(now, happening)| Step::Ends(now, happening));
                }
            },
        };
        loop {
            if pauses && !self.exits.is_empty() {
                self.paused = Some(now);
                return Step::Network(now);
            } else if let Some(packet) = self.network.next_delivered() {
                self.deliver(now, packet);
            } else if let Some(outcome) = self.network.next_outcome() {
                self.settle(now, outcome);
            } else {
                break;
            }
        }
        if self.is_busy() { Step::Ends(now, Happening::Busy) } else { Step::Network(now) }
    }

    /// Ends the measurement at `now`, or later.
    fn measure_until(&mut self, now: Time) {
        self.measured = Span(now.since(self.begin.min(now)).0.max(1));
    }

    /// Records that a packet has left the network, if it is a frame.
    pub(super) fn leave(&mut self, now: Time, packet: &Packet<Content>, fate: Fate) {
        let Carried::Frame { number, marked_at, .. } = packet.content.carried else { return };
        self.exits.push(Exit {
            at: now,
            sent_at: packet.content.sent_at,
            number,
            flow: packet.flow,
            ue: packet.device,
            direction: packet.direction,
            ecn: packet.ecn,
            marked_at,
            fate,
        });
        self.conclude_if_over(packet.flow);
    }

    fn conclude_if_over(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        let is_over = flow.real.as_ref().is_some_and(|real| real.is_over);
        if is_over && flow.on_way == 0 && flow.row.is_none() {
            flow.face_the_data();
            self.conclude(number);
        }
    }
}
