//! A network in virtual time.

use crate::radio::{RadioTable, Trace};
use crate::{Datagram, End, Event, Fate, Flow, FlowOptions, PathError, Scenario, Ue};
use airwnd_catalog::Error;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::tap::Tap;
use airwnd_lab::{Frame, Live, Outcome, Records, Signature, Socket};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// Largest count of bytes or packets that an owner reports: the bits of all [`Path::MAX_FLOWS`] flows are counted in 64
/// bits.
const MAX_COUNT: u64 = 1 << 44;
/// Largest IP packet (RFC 791 §3.1, total length).
const MAX_PACKET: usize = 65_535;

/// A network whose owner sends packets, receives them, and advances the time.
///
/// A path has no clock, no threads and no I/O. Times are durations since the end of the scenario's warm-up, where a path
/// begins. The same scenario, seed and calls give the same events and results, on any machine. Flows of the scenario are
/// simulated beside the owner's, without limit of time.
///
/// # Polling
///
/// An owner repeats three steps:
///
/// 1. [`send`](Path::send) what its endpoints want to send now.
/// 2. [`advance`](Path::advance) to its next timer, or to the end. Time stops at the first instant at which a packet of
///    the owner leaves the network, and `advance` returns that instant.
/// 3. [`poll`](Path::poll) events until there are no more, and pass them to the endpoints.
///
/// A packet that is sent in response to an event at its instant takes part in the rest of that instant, as with the
/// endpoints of a simulation: an ACK enters the queue of the UE before the slot that delivered its data transmits. An
/// owner therefore polls after every call of `advance`; until then time stands still, and a further call returns the same instant.
///
/// An owner that handles an event later than at its time, because it advances in fixed steps, only delays itself: the
/// step size changes nothing in the network. A timer of the owner that expires at the same time as an event of the
/// network comes first in a simulation. [`advance_before`](Path::advance_before) keeps this order; [`run`](Path::run)
/// uses it.
///
/// ```
/// use airwnd::{Datagram, Ecn, Fate, FlowOptions, Path, Scenario};
/// use std::time::Duration;
///
/// let scenario = Scenario::from_toml(r#"
///     duration = "10s"
///     [[link]]
///     rate = "10Mbps"
///     delay = "20ms"
///     [[ue]]
/// "#)?;
/// let mut path = Path::new(&scenario, 1)?;
/// let flow = path.open(path.ue("ue")?, FlowOptions::udp())?;
/// path.send(Duration::ZERO, flow.server(), Datagram::of_size(1200), Ecn::NotEct)?;
/// let end = Duration::from_secs(1);
/// while path.advance(end)? < end {
///     while let Some(event) = path.poll() {
///         assert_eq!((event.to, event.fate), (flow.ue(), Fate::Delivered));
///         assert!(event.at > Duration::from_millis(20));
///     }
/// }
/// let outcome = path.finish()?;
/// assert_eq!(outcome.flows()[0].packets_received, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// After the end nothing can be sent:
///
/// ```compile_fail,E0382
/// # use airwnd::*;
/// # let scenario = Scenario::from_toml("duration = \"1s\"\n[[site]]\n[[ue]]")?;
/// let mut path = Path::new(&scenario, 1)?;
/// path.finish()?;
/// path.advance(std::time::Duration::from_secs(1))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Path {
    live: Live<'static>,
    begin: Time,
    /// Present of the owner; the network has executed no event after it.
    now: Time,
    names: Vec<String>,
    flows: Vec<Opened>,
    /// Datagrams in the network, by the number of their frame.
    inside: Vec<Option<Inside>>,
    free: Vec<u32>,
    events: VecDeque<Event>,
    failure: Option<Error>,
    trace: Option<Trace>,
}

/// A flow and its number in the simulation.
struct Opened {
    number: u32,
    headers: usize,
    is_closed: bool,
    min_delay: [Option<Span>; 2],
}

/// A datagram in the network.
struct Inside {
    datagram: Datagram,
    /// Packets with it: links may duplicate.
    copies: u32,
}

impl Path {
    /// Latest time of a path: a year, the longest duration of a scenario.
    pub const MAX_TIME: Duration = Duration::from_secs(31_536_000);
    /// Maximum number of flows of an owner.
    pub const MAX_FLOWS: usize = 65_536;

    /// Builds the network of a scenario with a seed.
    ///
    /// # Errors
    /// A scenario whose network cannot be built.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Path, Error> {
        Path::recorded(scenario, seed, &Records::default())
    }

    /// Builds the network of a scenario with a seed, and keeps the requested records: time series, or the tables of
    /// [`radio`](Path::radio).
    ///
    /// # Errors
    /// A scenario whose network cannot be built, or records that it cannot provide.
    pub fn recorded(scenario: &Scenario, seed: u64, records: &Records) -> Result<Path, Error> {
        let trace = records.radio.clone().map(|filter| Trace::new(scenario.checked(), filter));
        let tap = trace.clone().map(|trace| Box::new(trace) as Box<dyn Tap>);
        let mut live = Live::new(scenario.checked().clone(), seed, records, &[], tap)?;
        let begin = live.begin();
        // Packets that an owner sends at the beginning precede events of the network at that instant, as those of
        // simulated flows do.
        if begin > Time::ZERO {
            live.advance(Time(begin.0 - 1))?;
        }
        Ok(Path {
            live,
            begin,
            now: begin,
            names: scenario.ue_names(),
            flows: Vec::new(),
            inside: Vec::new(),
            free: Vec::new(),
            events: VecDeque::new(),
            failure: None,
            trace,
        })
    }

    /// Present of the path.
    pub fn now(&self) -> Duration {
        self.since_begin(self.now)
    }

    /// Number of UEs.
    pub fn ues(&self) -> u32 {
        self.names.len() as u32
    }

    /// Finds a UE by its name: that of its group and a number within it, such as `phone-0`. The number may be omitted.
    ///
    /// # Errors
    /// A name that no UE has.
    pub fn ue(&self, name: &str) -> Result<Ue, PathError> {
        let first = format!("{name}-0");
        let place = self.names.iter().position(|known| known == name);
        let place = place.or_else(|| self.names.iter().position(|known| *known == first));
        place.map(|place| Ue(place as u32)).ok_or_else(|| self.unknown(name.into()))
    }

    fn unknown(&self, ue: String) -> PathError {
        let names = &self.names;
        let known = match names.as_slice() {
            [first, .., last] if names.len() > 8 => format!("{first} to {last}"),
            _ => names.join(", "),
        };
        PathError::UnknownUe { ue, known }
    }

    /// Opens a flow between a UE and the server at the present of the path.
    ///
    /// # Errors
    /// An unknown UE, a code point above 63, or more than [`Path::MAX_FLOWS`] flows.
    pub fn open(&mut self, ue: Ue, options: FlowOptions) -> Result<Flow, PathError> {
        if ue.0 as usize >= self.names.len() {
            return Err(self.unknown(ue.0.to_string()));
        }
        if self.flows.len() == Path::MAX_FLOWS {
            return Err(PathError::TooManyFlows);
        }
        let FlowOptions { protocol, headers, ports, dscp } = options;
        if dscp > 63 {
            return Err(PathError::UnknownCodePoint(dscp));
        }
        let signature = Signature { protocol, ports, dscp };
        let port = |index: usize| ports.map_or(String::new(), |ports| format!(":{}", ports[index]));
        let ends = [format!("{}{}", self.names[ue.0 as usize], port(0)), format!("server{}", port(1))];
        let number = self.live.open(self.now, ue.0, Direction::Down, &signature, ends);
        self.flows.push(Opened { number, headers, is_closed: false, min_delay: [None; 2] });
        Ok(Flow(self.flows.len() as u32 - 1))
    }

    /// Sends a datagram from an end of a flow to the other.
    ///
    /// `now` may be later than the present of the path, which then advances without a stop; events in between are
    /// polled later. A packet that the first queue drops is an event at once.
    ///
    /// # Errors
    /// A time before the present, an unknown or closed flow, an empty or oversized packet, or a failed simulation.
    pub fn send(
        &mut self,
        now: Duration,
        from: End,
        datagram: impl Into<Datagram>,
        ecn: Codepoint,
    ) -> Result<(), PathError> {
        let datagram = datagram.into();
        let at = self.time(now)?;
        let Opened { number: flow, headers, .. } = *self.opened(from.flow)?;
        let size = datagram.size().saturating_add(headers);
        if size > MAX_PACKET {
            let max = MAX_PACKET.saturating_sub(headers);
            return Err(PathError::Oversized { size: datagram.size(), max });
        }
        if size == 0 {
            return Err(PathError::EmptyPacket);
        }
        self.pass_over(at)?;
        let number = self.free.pop().unwrap_or(self.inside.len() as u32);
        let entry = Some(Inside { datagram, copies: 1 });
        match self.inside.get_mut(number as usize) {
            Some(place) => *place = entry,
            None => self.inside.push(entry),
        }
        let frame = Frame { number, flow, direction: from.direction(), size: Bytes(size as u64), ecn };
        self.live.send(self.now, frame);
        self.collect();
        Ok(())
    }

    /// Time of the next event inside the network, not before the present; `None`: nothing happens unless the owner
    /// sends.
    ///
    /// Not every event inside delivers a packet. An owner that only wants to know when it is needed calls
    /// [`advance`](Path::advance), which is cheaper.
    pub fn next_event(&self) -> Option<Duration> {
        if !self.events.is_empty() {
            return Some(self.now());
        }
        self.live.next_event().map(|at| self.since_begin(at.max(self.now)))
    }

    /// Advances to `to`, or to the first instant at which packets of the owner leave the network, and returns the time.
    ///
    /// The events of that instant up to `to` are then executed, `to` included. If events have not been polled, time does
    /// not advance.
    ///
    /// # Errors
    /// A time before the present, or a failed simulation.
    pub fn advance(&mut self, to: Duration) -> Result<Duration, PathError> {
        let to = self.time(to)?;
        self.advance_within(to)?;
        Ok(self.now())
    }

    /// Advances as [`advance`](Path::advance) does, but executes the events before `to` only: what the owner does at `to`
    /// precedes the events of the network at `to`.
    ///
    /// # Errors
    /// As [`advance`](Path::advance).
    pub fn advance_before(&mut self, to: Duration) -> Result<Duration, PathError> {
        let to = self.time(to)?;
        if to > self.now {
            let last = Time(to.0 - 1);
            self.advance_within(last)?;
            if self.events.is_empty() {
                self.now = to;
            }
        }
        Ok(self.now())
    }

    fn advance_within(&mut self, to: Time) -> Result<(), PathError> {
        self.check()?;
        while self.events.is_empty() {
            match self.live.advance_to_exit(to) {
                Ok(reached) => self.now = reached.max(self.now),
                Err(error) => return Err(self.fail(error)),
            }
            if !self.collect() {
                break;
            }
        }
        Ok(())
    }

    /// Executes the events before `at` without a stop.
    fn pass_over(&mut self, at: Time) -> Result<(), PathError> {
        self.check()?;
        if at > self.now {
            if let Err(error) = self.live.advance(Time(at.0 - 1)) {
                return Err(self.fail(error));
            }
            self.now = at;
            self.collect();
        }
        Ok(())
    }

    /// Returns the next event, in chronological order; `None`: time may advance.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Closes a flow: nothing more is sent on it. What is inside is still delivered or dropped.
    ///
    /// # Errors
    /// An unknown flow, or one that is closed already.
    pub fn close(&mut self, flow: Flow) -> Result<(), PathError> {
        let number = self.opened(flow)?.number;
        self.flows[flow.number()].is_closed = true;
        self.live.close(number);
        Ok(())
    }

    /// Sets the payload that the application at an end has received so far, the base of goodput in results. A smaller
    /// value than before has no effect.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn set_received(&mut self, end: End, payload: u64) -> Result<(), PathError> {
        let number = self.known(end.flow)?.number;
        self.live.set_payload(number, end.peer().direction(), Bytes(payload.min(MAX_COUNT)));
        Ok(())
    }

    /// Records an RTT sample of the sender at an end.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn record_rtt(&mut self, end: End, rtt: Duration) -> Result<(), PathError> {
        let number = self.known(end.flow)?.number;
        let rtt = Span(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
        self.live.record_rtt(number, end.direction(), rtt);
        Ok(())
    }

    /// Sets the number of packets from this end that repeat data sent before. A smaller number than before has no effect.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn set_retransmissions(&mut self, end: End, packets: u64) -> Result<(), PathError> {
        let number = self.known(end.flow)?.number;
        self.live.set_retransmissions(number, end.direction(), packets.min(MAX_COUNT));
        Ok(())
    }

    /// Sets the state of the sender at an end, which time series contain, and the name of its congestion control.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn set_sender(&mut self, end: End, sender: Socket, cc: Option<&str>) -> Result<(), PathError> {
        let number = self.known(end.flow)?.number;
        self.live.set_socket(self.now, number, end.direction(), sender, cc);
        Ok(())
    }

    /// Minimum one-way delay of the packets delivered to an end so far; `None` before the first one.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn min_delay(&self, end: End) -> Result<Option<Duration>, PathError> {
        let delay = self.known(end.flow)?.min_delay[end.peer().direction() as usize];
        Ok(delay.map(|delay| Duration::from_nanos(delay.0)))
    }

    /// Id of a flow in results.
    ///
    /// # Errors
    /// An unknown flow.
    pub fn id(&self, flow: Flow) -> Result<String, PathError> {
        Ok(self.live.flow_id(self.known(flow)?.number))
    }

    /// Takes the tables of the radio interface that are full, so that memory stays bounded: `radio_grants`,
    /// `radio_blocks` and so on, with the columns that `airwnd explain` lists. Empty unless
    /// [`Records::radio`](crate::Records::radio) is set, as by [`Scenario::radio_filter`].
    pub fn radio(&mut self) -> Vec<RadioTable> {
        self.trace.as_ref().map_or(Vec::new(), Trace::take_full)
    }

    /// Ends the path at its present and returns the results, as `airwnd run` has them. The measurement lasts from the
    /// beginning to the present.
    ///
    /// # Errors
    /// A failed simulation.
    pub fn finish(self) -> Result<Outcome, PathError> {
        Ok(self.finish_traced()?.0)
    }

    /// Ends the path as [`finish`](Path::finish) does, and also returns the rest of the tables of the radio interface.
    ///
    /// # Errors
    /// As [`finish`](Path::finish).
    pub fn finish_traced(mut self) -> Result<(Outcome, Vec<RadioTable>), PathError> {
        self.check()?;
        self.live.advance(self.now)?;
        let outcome = self.live.finish();
        Ok((outcome, self.trace.as_ref().map_or(Vec::new(), Trace::take_all)))
    }

    /// Turns the packets that have left the network into events. Returns whether any have left or were copied.
    fn collect(&mut self) -> bool {
        let (begin, mut any) = (self.begin, false);
        let first = self.flows.first().map_or(0, |flow| flow.number);
        for exit in self.live.exits() {
            any = true;
            let place = &mut self.inside[exit.number as usize];
            let inside = place.as_mut().expect("a frame leaves once for each copy");
            let fate = match exit.fate {
                airwnd_lab::Fate::Copied => {
                    inside.copies += 1;
                    continue;
                }
                airwnd_lab::Fate::Delivered => Fate::Delivered,
                airwnd_lab::Fate::Dropped(cause) => Fate::Dropped(cause),
            };
            inside.copies -= 1;
            let datagram = match inside.copies {
                0 => {
                    self.free.push(exit.number);
                    place.take().expect("it is inside").datagram
                }
                _ => inside.datagram.clone(),
            };
            let flow = Flow(exit.flow - first);
            if fate == Fate::Delivered {
                let min = &mut self.flows[flow.number()].min_delay[exit.direction as usize];
                let delay = exit.at - exit.sent_at;
                *min = Some(min.map_or(delay, |min| min.min(delay)));
            }
            let since = |at: Time| Duration::from_nanos(at.since(begin).0);
            let to = End::sender(flow, exit.direction).peer();
            self.events.push_back(Event {
                at: since(exit.at),
                sent_at: since(exit.sent_at),
                to,
                ecn: exit.ecn,
                marked_at: exit.marked_at.map(since),
                datagram,
                fate,
            });
        }
        any
    }

    fn known(&self, flow: Flow) -> Result<&Opened, PathError> {
        self.flows.get(flow.number()).ok_or(PathError::UnknownFlow(flow.number()))
    }

    fn opened(&self, flow: Flow) -> Result<&Opened, PathError> {
        let opened = self.known(flow)?;
        if opened.is_closed { Err(PathError::ClosedFlow(flow.number())) } else { Ok(opened) }
    }

    fn check(&self) -> Result<(), PathError> {
        self.failure.clone().map_or(Ok(()), |error| Err(PathError::Failed(error)))
    }

    fn fail(&mut self, error: Error) -> PathError {
        self.failure = Some(error.clone());
        PathError::Failed(error)
    }

    fn since_begin(&self, at: Time) -> Duration {
        Duration::from_nanos(at.since(self.begin).0)
    }

    pub(crate) fn time(&self, to: Duration) -> Result<Time, PathError> {
        if to > Path::MAX_TIME {
            return Err(PathError::TimeTooLarge(to));
        }
        if to < self.now() {
            return Err(PathError::TimeWentBack { to, now: self.now() });
        }
        Ok(self.begin + Span(to.as_nanos() as u64))
    }
}
