//! Turns observations of flows into windows.

use crate::arrivals::Arrivals;
use crate::carried::{Carried, Interfaces};
use crate::observation::{Event, Observation, TimestampUnit};
use crate::paths::{FLOWS_MAX, PathKey, Paths};
use crate::rules::Rules;
use airwnd_rwnd::{
    Advertisement, Arrival, Device, Incoming, Observer, Outgoing, QueuedMeter, ReceiverContext, RecvView,
    RwndController, Seq, SeqRange, Spec,
};
use airwnd_shape::PeerClock;
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

/// A path with a shorter RTT is local: its queue is not the one to be kept short, and a window of a few segments would
/// restrict its rate.
const LOCAL_RTT: Span = Span::from_millis(2);
/// Round trips without restriction at the start: slow start is to find the rate of the path first.
const FREE_ROUNDS: u32 = 4;
/// A flow that receives less in one RTT is restricted by its application, if it leaves most of the window unused.
const BULK_SEGMENTS: u64 = 4;
/// Consecutive round trips with less, after which a flow is no longer restricted.
const QUIET_ROUNDS: u32 = 2;
/// Time without an observation after which a flow starts anew, and after which it is removed.
const IDLE: Span = Span::from_secs(1);
const GONE: Span = Span::from_secs(10);
/// Reciprocal of the share of flows that are removed when there are too many: finding them takes a pass over all.
const EVICTED: usize = 8;
/// Windows lapse unless they are renewed.
const VALID: Span = Span::from_secs(2);
/// Windows are never smaller than this number of segments.
const FLOOR_SEGMENTS: u64 = 2;
/// Window while the minimum RTT of a path is measured again, in segments: as in BBR's ProbeRTT.
const DIP_SEGMENTS: u64 = 4;
/// Round trips with a lowered window after which a connection may begin a dip. Before, what was in flight at the end of
/// slow start is still queued, longer than a dip drains: the dip's minimum would contain that queue.
const DRAINING_ROUNDS: u32 = 4;
/// Round trips after a change of the route whose RTTs may be those of the former route.
const UNSETTLED_ROUNDS: u32 = 3;
/// Largest window (RFC 7323 §2.3): sequence numbers of a connection are not farther from each other.
const FARTHEST: u32 = 1 << 30;
/// RTT of a round before the first sample.
const UNKNOWN_RTT: Span = Span::from_millis(100);
/// Bytes of the timestamps option in each segment (RFC 7323 appendix A).
const TIMESTAMPS_OPTION: u32 = 12;
/// Interval in which the state of the device is computed.
const DEVICE_INTERVAL: Span = Span::from_millis(10);
/// More time per flow, so that the effort does not grow with their number.
const DEVICE_COST: Span = Span::from_micros(10);
/// Least interval between reports of a flow: with few flows; per flow that receives; with many flows.
pub(crate) const REPORT_INTERVAL: Span = Span::from_millis(1);
const REPORT_COST: Span = Span::from_micros(100);
const REPORT_INTERVAL_MAX: Span = Span::from_millis(50);
/// Weight of a new RTT towards the receiver in its mean (RFC 6298 §2: alpha = 1/8).
const LAN_GAIN: u64 = 8;

/// Why a flow has its own window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A rule says so, or no rule applies.
    Rule,
    /// The peer is this host or near: the RTT is below 2 ms.
    Local,
    /// The RTT is not known yet, or the connection or a transfer has begun a few round trips ago.
    Starting,
    /// Idle, restricted by its application, or sending.
    Quiet,
    /// The queue is that of others, or an upload delays the ACKs: the sender's own congestion control competes.
    Competitor,
}

/// Treatment of a flow by the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Offers at most this window.
    Window(Bytes),
    /// Leaves the flow alone.
    Untouched(Reason),
}

/// The window that a flow is to offer from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// At most this many bytes; `None`: the receiver's own window.
    pub window: Option<Bytes>,
    /// The receiver offers its own window from this time on.
    pub valid_until: Time,
}

/// State of a flow for display.
#[derive(Clone, Debug)]
pub struct Status {
    /// Identifier.
    pub flow: u64,
    /// Address of the receiver.
    pub local: SocketAddr,
    /// Address of the sender.
    pub remote: SocketAddr,
    /// Index of the interface; 0: unknown.
    pub interface: u32,
    /// Identifier of the cgroup; 0: unknown.
    pub cgroup: u64,
    /// Rate at which payload has arrived in the last round trip.
    pub rate: BitRate,
    /// Mean RTT of the last round trip; `None`: no sample.
    pub rtt: Option<Span>,
    /// Least RTT of the path; `None`: unknown.
    pub min_rtt: Option<Span>,
    /// Beginning and end of the current or last interval in which it was measured again; `None`: not for some time.
    pub measured: Option<(Time, Time)>,
    /// Bytes received in order since the flow was first seen.
    pub received: Bytes,
    /// Bytes offered and not yet received.
    pub offered: Bytes,
    /// Window in force; `None`: the receiver's own.
    pub clamp: Option<Bytes>,
    /// Treatment in force.
    pub treatment: Treatment,
    /// Time of the last observation.
    pub seen: Time,
}

/// The controllers of all flows.
///
/// It does no I/O and has no clock: time comes with the observations.
#[derive(Debug)]
pub struct Policy {
    rules: Rules,
    /// In boxes: a table has up to twice as many places as entries.
    flows: HashMap<u64, Box<Flow>>,
    /// Flows that were removed to make room, until [`Policy::expire`] returns them.
    evicted: Vec<u64>,
    paths: Paths,
    device: Device,
    device_at: Time,
    /// Interfaces of the flows, with the traffic that they carry.
    interfaces: Interfaces,
    /// Bytes that have arrived in all flows to which a rule applies.
    received: Bytes,
    /// Bytes that arrived in the presence of a queue.
    queued: QueuedMeter,
}

impl Policy {
    /// Creates a policy without flows.
    pub fn new(rules: Rules) -> Policy {
        let paths = Paths::new(rules.confirm);
        Policy {
            rules,
            flows: HashMap::new(),
            evicted: Vec::new(),
            paths,
            device: Device::default(),
            device_at: Time::ZERO,
            interfaces: Interfaces::default(),
            received: Bytes::ZERO,
            queued: QueuedMeter::default(),
        }
    }

    /// Returns the least interval between two reports of a flow, so that those of all flows are not too many.
    pub fn report_interval(&self) -> Span {
        (REPORT_COST * u64::from(self.device.connections)).clamp(REPORT_INTERVAL, REPORT_INTERVAL_MAX)
    }

    /// Processes a report; returns the window of the flow from now on; `None`: the flow has ended.
    pub fn on_observation(&mut self, seen: &Observation) -> Option<Target> {
        if seen.event == Event::Closed {
            self.flows.remove(&seen.flow);
            return None;
        }
        self.refresh_device(seen.time);
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&seen.flow) {
            self.evict();
        }
        let flow = self.flows.entry(seen.flow).or_insert_with(|| Box::new(Flow::new(seen)));
        if seen.time.since(flow.seen) >= GONE || !flow.can_follow(seen) {
            **flow = Flow::new(seen);
        }
        // Reports of several processors may be out of order, and a recording may have any times.
        let late;
        let seen = if seen.time < flow.seen {
            late = Observation { time: flow.seen, ..seen.clone() };
            &late
        } else {
            seen
        };
        let has_timestamps = flow.note_timestamps(seen);
        let before = flow.arrivals.total();
        let interface = self.interfaces.of_flow(seen.interface);
        let device = Device {
            received: self.received,
            others: interface.others,
            sent: interface.sent,
            queued: Some(self.queued.total()),
            ..self.device
        };
        let target =
            flow.on_observation(seen, self.rules.choose(seen, has_timestamps), &mut self.paths, device);
        let is_of_device = flow.is_of_device();
        let new = Bytes(if is_of_device { flow.arrivals.total() - before } else { 0 });
        self.received += new;
        interface.receive(new);
        let queueing_delay = flow.controller.as_ref().and_then(|controller| controller.queueing_delay());
        if let Some(delay) = queueing_delay.filter(|_| new > Bytes::ZERO) {
            self.queued.add(seen.time, self.received, delay);
        }
        Some(target)
    }

    /// Returns the indices of the interfaces of the flows.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> {
        self.interfaces.indices()
    }

    /// Notes what an interface has carried up to now, flows of any kind, so that controllers know what else uses the link.
    pub fn note_carried(&mut self, interface: u32, carried: Carried) {
        self.interfaces.note(interface, carried);
    }

    /// Removes the flows that have not been observed for longest. They have their own windows again.
    fn evict(&mut self) {
        let mut seen: Vec<(Time, u64)> = self.flows.iter().map(|(id, flow)| (flow.seen, *id)).collect();
        let number = seen.len() / EVICTED;
        seen.select_nth_unstable(number);
        for (_, id) in &seen[..number] {
            self.flows.remove(id);
            self.evicted.push(*id);
        }
    }

    /// Removes flows that have not been observed for ten seconds, and paths that are not used; returns the identifiers of
    /// all flows that were removed since the last call.
    pub fn expire(&mut self, now: Time) -> Vec<u64> {
        self.paths.expire(now);
        let mut gone = std::mem::take(&mut self.evicted);
        self.flows.retain(|id, flow| {
            let stays = now.since(flow.seen) < GONE;
            if !stays {
                gone.push(*id);
            }
            stays
        });
        let used: HashSet<u32> = self.flows.values().map(|flow| flow.path.0).collect();
        self.interfaces.keep(&used);
        if self.flows.len() < self.flows.capacity() / 4 {
            self.flows.shrink_to_fit();
        }
        gone
    }

    /// Replaces the rules. Every flow starts anew.
    pub fn set_rules(&mut self, rules: Rules) {
        self.paths.confirm = rules.confirm;
        self.rules = rules;
        self.flows.values_mut().for_each(|flow| flow.restart());
    }

    /// Learns the minimum RTTs over an interface anew, because its routes have changed.
    pub fn forget_paths(&mut self, interface: u32) {
        self.paths.forget(interface);
        for flow in self.flows.values_mut().filter(|flow| flow.path.0 == interface) {
            flow.leave_path();
        }
    }

    /// Returns the flows, in no particular order.
    pub fn flows(&self) -> impl Iterator<Item = Status> {
        self.flows.iter().map(|(id, flow)| flow.status(*id, &self.paths))
    }

    fn refresh_device(&mut self, now: Time) {
        if now.since(self.device_at) < DEVICE_INTERVAL.max(DEVICE_COST * self.flows.len() as u64) {
            return;
        }
        self.device_at = now;
        let (mut connections, mut min, mut max) = (0, None::<u64>, 0);
        for flow in self.flows.values().filter(|flow| flow.is_of_device() && flow.is_receiving(now)) {
            let received = flow.observer.received();
            connections += 1;
            min = Some(min.map_or(received, |min| min.min(received)));
            max = max.max(received);
        }
        let min_received = Bytes(min.unwrap_or_default());
        self.device = Device { connections, min_received, max_received: Bytes(max), ..Device::default() };
    }
}

/// A connection that receives data.
#[derive(Debug)]
struct Flow {
    local: SocketAddr,
    remote: SocketAddr,
    path: PathKey,
    cgroup: u64,
    mss: Bytes,
    observer: Observer,
    arrivals: Arrivals,
    /// `None`: no timestamps so far.
    peer_clock: Option<PeerClock>,
    /// `None`: the flow is not controlled since its last round trips.
    controller: Option<Box<dyn RwndController>>,
    round: Round,
    treatment: Treatment,
    clamp: Option<Bytes>,
    seen: Time,
    segments: u32,
    copied: u64,
    /// Changes of the path's minimum RTT that the controller knows of.
    changes: u32,
    /// Round trips to come whose RTTs are not those of the path.
    unsettled: u32,
    /// Least RTT by the kernel.
    kernel_rtt: Option<Span>,
    /// Mean RTT between router and receiver; zero at the receiver.
    lan_rtt: Span,
}

impl Flow {
    fn new(seen: &Observation) -> Flow {
        let option = if seen.timestamps.is_some() { TIMESTAMPS_OPTION } else { 0 };
        let mss = Bytes(u64::from(seen.mss - option));
        let mut observer = Observer::new(mss, false);
        // Data up to here was not observed.
        observer.synchronise(seen.ack - 1, Some(seen.unit.clock()));
        observer.set_shift(seen.shift);
        Flow {
            local: seen.local,
            remote: seen.remote,
            path: (seen.interface, seen.remote.ip()),
            cgroup: seen.cgroup,
            mss,
            observer,
            arrivals: Arrivals::new(mss.0),
            peer_clock: None,
            controller: None,
            round: Round::new(seen.time),
            treatment: Treatment::Untouched(Reason::Starting),
            clamp: None,
            seen: seen.time,
            segments: seen.segments,
            copied: 0,
            changes: 0,
            unsettled: 0,
            kernel_rtt: None,
            lan_rtt: Span::ZERO,
        }
    }

    /// The RTT of both halves of the path: on a router the observer sees that towards the sender.
    fn rtt(&self) -> Option<Span> {
        Some(self.observer.rtt()? + self.lan_rtt)
    }

    /// The half of the path between router and receiver.
    fn lan(&self) -> PathKey {
        (self.path.0, self.local.ip())
    }

    /// Whether the sequence numbers are those of the same connection a short time later. On a router they are not validated.
    fn can_follow(&self, seen: &Observation) -> bool {
        let next = self.observer.nxt();
        let is_near = |seq: Seq| (seq - next).min(next - seq) < FARTHEST;
        let is_empty = seen.range.start == seen.range.end;
        is_near(seen.ack)
            && seen.edge - seen.ack <= FARTHEST
            && (is_empty || is_near(seen.range.start) && is_near(seen.range.end))
    }

    /// Returns whether the flow has timestamps. Those that begin late change its controller.
    fn note_timestamps(&mut self, seen: &Observation) -> bool {
        let had_timestamps = self.peer_clock.is_some();
        if seen.timestamps.is_some() && !had_timestamps {
            self.restart();
        }
        had_timestamps || seen.timestamps.is_some()
    }

    /// The next data is treated as that of a new transfer.
    fn restart(&mut self) {
        self.controller = None;
        self.round = Round::new(self.seen);
    }

    /// The path has become another one.
    fn leave_path(&mut self) {
        self.restart();
        self.unsettled = UNSETTLED_ROUNDS;
    }

    /// `spec`: the controller; `None`: the receiver's own windows.
    fn on_observation(
        &mut self,
        seen: &Observation,
        spec: Option<&Spec>,
        paths: &mut Paths,
        device: Device,
    ) -> Target {
        let delay = self.begin(seen, spec);
        let is_dip = paths.is_dip(seen.time, self.path.0) && matches!(self.treatment, Treatment::Window(_));
        let mut controller = self.controller.take().unwrap_or_else(|| self.build(seen, spec));
        // A dip says nothing about the rate of the path.
        let observer = (!is_dip).then_some(&mut controller);
        self.receive(seen, delay, device, observer);
        if seen.event == Event::Ack {
            self.on_ack(seen, paths);
        }
        let view = with_lan(self.observer.view(seen.free, seen.unread, device), self.lan_rtt);
        let copied = self.observer.received().saturating_sub(seen.unread.0);
        if copied > self.copied {
            if !is_dip {
                controller.on_copied(seen.time, Bytes(copied - self.copied), &view);
            }
            self.copied = copied;
        }
        if let Some(min) = self.learn_rtt(seen, paths) {
            controller.on_path_rtt(seen.time, min);
        }
        let advertisement = controller.window(seen.time, &view);
        let (Advertisement::Window(window) | Advertisement::Code { window, .. }) = advertisement;
        // Its queue would be in the minimum. Without other traffic a longer path looks like a competitor, too.
        let may_dip = !controller.is_beside_others();
        self.controller = Some(controller);
        let has_ended = self.round.end(seen.time, self.rtt(), self.mss, view.offered);
        self.unsettled -= self.unsettled.min(u32::from(has_ended));
        self.treatment = self.treat(spec.map(|_| window));
        if self.round.quiet >= QUIET_ROUNDS {
            self.controller = None;
            self.round.count = 0;
        }
        self.dip(seen, paths, may_dip);
        let changes = paths.changes(self.path) + paths.changes(self.lan());
        if self.changes != changes {
            self.changes = changes;
            // The controller knows the former minimum.
            self.restart();
        }
        let window = match self.treatment {
            Treatment::Window(window) => Some(window),
            Treatment::Untouched(_) => None,
        };
        Target { window, valid_until: seen.time + VALID }
    }

    /// Notes when and where an observation was made, and starts anew after a pause or a correction of the sender's clock.
    /// Returns the one-way delay.
    fn begin(&mut self, seen: &Observation, spec: Option<&Spec>) -> Option<Span> {
        let rtt = self.rtt();
        if seen.time.since(self.seen) >= IDLE.max(rtt.unwrap_or_default() * 4) {
            self.seen = seen.time;
            // It would contain the time of an interruption.
            self.observer.forget_rtt(seen.time);
            self.restart();
        }
        self.seen = seen.time;
        self.clamp = seen.clamp;
        self.path.0 = seen.interface;
        let delay = seen.timestamps.map(|newest| {
            let clock = self.peer_clock.get_or_insert_with(|| PeerClock::new(seen.time, newest.val));
            clock.delay(seen.time, newest.val)
        })?;
        if delay.is_corrected && spec.is_some_and(|spec| spec.capabilities().uses_one_way_delay) {
            self.restart();
        }
        Some(delay.span)
    }

    /// Builds the controller; where no rule applies, one that observes only.
    fn build(&self, seen: &Observation, spec: Option<&Spec>) -> Box<dyn RwndController> {
        let buffer = Bytes(u64::from(u16::MAX) << seen.shift);
        let observer = Spec::Fixed(Default::default());
        spec.unwrap_or(&observer).build(&ReceiverContext { mss: self.mss, buffer, seed: seen.flow })
    }

    /// Passes the segments since the last observation to the observer, and to the controller if there is one.
    fn receive(
        &mut self,
        seen: &Observation,
        delay: Option<Span>,
        device: Device,
        mut controller: Option<&mut Box<dyn RwndController>>,
    ) {
        // Data may have used a window that was offered since the last observation.
        let before = Outgoing { ack: self.observer.nxt(), edge: seen.edge, ts_val: None };
        self.observer.on_sent(seen.time, &before);
        let segments = seen.segments.wrapping_sub(self.segments);
        // Reports of several processors may be out of order.
        let segments = if segments < FARTHEST { segments } else { 0 };
        self.segments = self.segments.wrapping_add(segments);
        let arrived = self.observer.arrived();
        for segment in incoming(&self.observer, seen, segments) {
            let segment = Incoming { one_way_delay: delay, ..segment };
            let mut observed = self.observer.on_segment(seen.time, &segment);
            observed.arrival.rtt = observed.arrival.rtt.map(|rtt| rtt + self.lan_rtt);
            if let Some(controller) = &mut controller {
                let view = with_lan(self.observer.view(seen.free, seen.unread, device), self.lan_rtt);
                controller.on_segment(&observed.arrival, &view);
            }
            self.round.add(&observed.arrival);
        }
        self.arrivals.add(self.observer.arrived() - arrived, segments, self.observer.has_gap());
    }

    /// Handles an ACK that has been sent, and the RTT between a router and the receiver.
    fn on_ack(&mut self, seen: &Observation, paths: &mut Paths) {
        let sent = Outgoing { ack: seen.ack, edge: seen.edge, ts_val: seen.ack_ts_val };
        self.observer.on_sent(seen.time, &sent);
        if let Some(sample) = seen.lan_rtt {
            paths.add(seen.time, self.lan(), sample);
            self.lan_rtt = mean(self.lan_rtt, sample);
        }
    }

    /// Adds the RTTs of an observation to the path; returns its minimum if that is lower than the known one.
    fn learn_rtt(&mut self, seen: &Observation, paths: &mut Paths) -> Option<Span> {
        // The kernel keeps its minimum although the path has changed.
        let kernel_rtt = seen.min_rtt.filter(|rtt| Some(*rtt) != self.kernel_rtt);
        self.kernel_rtt = seen.min_rtt;
        let samples = [kernel_rtt, self.observer.rtt().filter(|_| self.unsettled == 0)];
        for sample in samples.into_iter().flatten() {
            paths.add(seen.time, self.path, sample);
        }
        let min = min_rtt(paths, self.path, self.lan())?;
        let is_lower = self.round.min.is_none_or(|known| min < known);
        is_lower.then(|| {
            self.round.min = Some(min);
            min
        })
    }

    /// Replaces the window by that of a dip, if one is due that `may_begin`, or in progress.
    fn dip(&mut self, seen: &Observation, paths: &mut Paths, may_begin: bool) {
        let rtt = self.rtt();
        let (Treatment::Window(window), Some(rtt)) = (&mut self.treatment, rtt) else { return };
        if self.round.count >= FREE_ROUNDS + DRAINING_ROUNDS && may_begin {
            paths.measure_again(seen.time, self.path, rtt);
        }
        if paths.is_dip(seen.time, self.path.0) {
            *window = self.mss * DIP_SEGMENTS;
        }
    }

    /// `window`: what the controller offers; `None`: no rule applies.
    fn treat(&self, window: Option<Bytes>) -> Treatment {
        let Some(window) = window else { return Treatment::Untouched(Reason::Rule) };
        let is_near = self.round.min.is_some_and(|min| min < LOCAL_RTT);
        let reason = if is_near || self.remote.ip().is_loopback() || self.local.ip() == self.remote.ip() {
            Reason::Local
        } else if self.round.quiet >= QUIET_ROUNDS {
            Reason::Quiet
        } else if self.round.count < FREE_ROUNDS {
            Reason::Starting
        } else if self.controller.as_ref().is_some_and(|controller| controller.is_released()) {
            Reason::Competitor
        } else {
            return Treatment::Window(window.max(self.mss * FLOOR_SEGMENTS));
        };
        Treatment::Untouched(reason)
    }

    /// Whether the guard controls it or will.
    fn is_of_device(&self) -> bool {
        !matches!(self.treatment, Treatment::Untouched(Reason::Rule | Reason::Local))
    }

    fn is_receiving(&self, now: Time) -> bool {
        self.round.quiet < QUIET_ROUNDS && now.since(self.seen) < IDLE
    }

    fn status(&self, flow: u64, paths: &Paths) -> Status {
        Status {
            flow,
            local: self.local,
            remote: self.remote,
            interface: self.path.0,
            cgroup: self.cgroup,
            rate: self.round.rate,
            rtt: self.rtt(),
            min_rtt: min_rtt(paths, self.path, self.lan()),
            measured: paths.last_dip(self.path.0),
            received: Bytes(self.observer.received()),
            offered: Bytes(u64::from(self.observer.offered())),
            clamp: self.clamp,
            treatment: self.treatment,
            seen: self.seen,
        }
    }
}

/// The minimum RTT of both halves of a path; `None`: unknown.
fn min_rtt(paths: &Paths, path: PathKey, lan: PathKey) -> Option<Span> {
    Some(paths.min(path)? + paths.min(lan).unwrap_or_default())
}

/// The state that the observer sees on a router, with the RTT between router and receiver.
fn with_lan(view: RecvView, lan_rtt: Span) -> RecvView {
    let both = |rtt| rtt + lan_rtt;
    RecvView { rtt: view.rtt.map(both), min_rtt: view.min_rtt.map(both), ..view }
}

/// The mean RTT between router and receiver after a sample.
fn mean(rtt: Span, sample: Span) -> Span {
    if rtt == Span::ZERO { sample } else { (rtt * (LAN_GAIN - 1) + sample) / LAN_GAIN }
}

/// Returns the data that has arrived in this number of segments since the last observation, as at most two runs of
/// consecutive bytes: those that came in order, and those beyond a gap.
fn incoming(
    observer: &Observer,
    seen: &Observation,
    segments: u32,
) -> impl Iterator<Item = Incoming> + use<> {
    let first = observer.nxt();
    let is_on_the_way = seen.unit == TimestampUnit::Unknown;
    // A router sees each segment, also those that bring nothing new.
    let advance = if is_on_the_way { 0 } else { seen.ack.since(first) };
    let in_order = SeqRange { start: first, end: first + advance };
    let mut beyond = seen.range;
    // The receiver reports a range beyond a gap again until the gap is filled.
    while !is_on_the_way && let Some(known) = observer.already_received(beyond) {
        if known.start != beyond.start || known.is_empty() {
            break;
        }
        beyond.start = known.end;
    }
    let mut left = segments.max(1);
    let timestamps = seen.timestamps;
    [in_order, beyond].into_iter().filter(|range| range.start.is_before(range.end)).map(move |range| {
        Incoming {
            seq: range.start,
            len: range.end - range.start,
            segments: std::mem::replace(&mut left, 1),
            fin: false,
            timestamps,
            one_way_delay: None,
        }
    })
}

/// Bytes of a flow per round trip.
#[derive(Debug)]
struct Round {
    since: Time,
    bytes: u64,
    rate: BitRate,
    /// Round trips since the start of the transfer, without quiet ones.
    count: u32,
    /// Consecutive quiet round trips.
    quiet: u32,
    /// Least RTT that the controller knows.
    min: Option<Span>,
}

impl Round {
    fn new(now: Time) -> Round {
        Round { since: now, bytes: 0, rate: BitRate(0), count: 0, quiet: 0, min: None }
    }

    fn add(&mut self, arrival: &Arrival) {
        self.bytes += arrival.new.0;
    }

    /// Ends the round trip if it is complete; returns whether it is.
    fn end(&mut self, now: Time, rtt: Option<Span>, mss: Bytes, offered: Bytes) -> bool {
        let elapsed = now.since(self.since);
        let length = rtt.unwrap_or(UNKNOWN_RTT);
        if elapsed < length || elapsed == Span::ZERO {
            return false;
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.since = now;
        self.rate = BitRate::of(Bytes(bytes), elapsed);
        let per_rtt = (u128::from(bytes) * u128::from(length.0) / u128::from(elapsed.0)) as u64;
        if per_rtt < BULK_SEGMENTS * mss.0 && per_rtt < offered.0 / 2 {
            self.quiet += 1;
        } else {
            self.quiet = 0;
            self.count = self.count.saturating_add(u32::from(rtt.is_some()));
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::machine::Machine;
    use airwnd_catalog::{Node, Param};
    use airwnd_rwnd::Timestamps;
    use proptest::prelude::*;

    const MSS: u32 = 1000;
    /// The law of the paper, whose windows follow from RTTs alone.
    const OF_PAPER: &str = r#"{"kind": "drwa", "lambda": 2.0, "alpha": 0.0, "queue": "round-trip",
        "competes": false}"#;

    fn spec(text: &str) -> Spec {
        Spec::read(&Node::from_json(text, "test").unwrap()).unwrap()
    }

    fn policy(text: &str) -> Policy {
        Policy::new(Rules::all(spec(text)))
    }

    fn fixed() -> Policy {
        policy(r#"{"kind": "fixed", "limit": "20000B"}"#)
    }

    /// Of a connection from 198.51.100.1, port 443, over interface 2, in cgroup 1.
    pub(crate) fn observation(rtt: Span) -> Observation {
        Observation {
            time: START,
            flow: 1,
            cgroup: 1,
            event: Event::Ack,
            ack: Seq(u32::MAX - 5 * MSS),
            edge: Seq(u32::MAX - 5 * MSS) + (1 << 20),
            range: SeqRange::default(),
            segments: 0,
            timestamps: None,
            ack_ts_val: None,
            unit: TimestampUnit::Microseconds,
            mss: MSS + TIMESTAMPS_OPTION,
            unread: Bytes::ZERO,
            free: Bytes(1 << 20),
            clamp: None,
            min_rtt: Some(rtt),
            lan_rtt: None,
            interface: 2,
            local: SocketAddr::new([192, 0, 2, 1].into(), 40_000),
            remote: SocketAddr::new([198, 51, 100, 1].into(), 443),
            shift: 7,
        }
    }

    /// A connection with constant RTT that receives the same number of segments in each.
    struct Connection {
        seen: Observation,
        rtt: Span,
        offered: u32,
    }

    impl Connection {
        fn open(flow: u64, at: Time, rtt: Span) -> Connection {
            let seen = observation(rtt);
            let seen = Observation { time: at, flow, ..seen };
            let seen = Observation { timestamps: echo(at, rtt), ..seen };
            Connection { seen, rtt, offered: 1 << 20 }
        }

        /// A connection with an RTT of 20 ms that has received data for longer than the free round trips.
        fn controlled(policy: &mut Policy) -> Connection {
            let mut connection = Connection::open(1, START, Span::from_millis(20));
            connection.offered = 10 * MSS;
            connection.seen.edge = connection.seen.ack + connection.offered;
            policy.on_observation(&connection.seen);
            for _ in 0..8 {
                connection.receive(policy, 10);
            }
            connection
        }

        /// Data arrives one RTT after the last.
        fn advance(&mut self, segments: u32) {
            self.seen.time += self.rtt;
            self.seen.ack += segments * MSS;
            let edge = self.seen.ack + self.offered;
            // An offered window is not taken back.
            if self.seen.edge.is_before(edge) {
                self.seen.edge = edge;
            }
            self.seen.segments += segments;
            self.seen.timestamps = echo(self.seen.time, self.rtt);
        }

        /// Data that arrives one RTT after the last, and is reported.
        fn receive(&mut self, policy: &mut Policy, segments: u32) -> Option<Bytes> {
            self.advance(segments);
            policy.on_observation(&self.seen).and_then(|target| target.window)
        }

        /// Segments that a sender with a cwnd of ten may send.
        fn sendable(&self) -> u32 {
            ((self.seen.edge - self.seen.ack) / MSS).min(10)
        }

        /// These segments arrive one RTT after the last; the window is offered from then on.
        fn receive_sendable(&mut self, policy: &mut Policy) -> Option<Bytes> {
            let window = self.receive(policy, self.sendable());
            self.offered = window.map_or(10 * MSS, |window| window.0 as u32);
            window
        }

        fn treatment(&self, policy: &Policy) -> Treatment {
            policy.flows().find(|status| status.flow == self.seen.flow).unwrap().treatment
        }
    }

    fn echo(at: Time, rtt: Span) -> Option<Timestamps> {
        Some(Timestamps { val: (at.0 / 1000) as u32, ecr: ((at.0 - rtt.0) / 1000) as u32 })
    }

    const START: Time = Time(1 << 50);

    #[test]
    fn a_bulk_receiver_is_controlled_after_its_first_round_trips() {
        let mut policy = fixed();
        let mut connection = Connection::open(1, START, Span::from_millis(20));
        policy.on_observation(&connection.seen);
        let windows: Vec<_> = (0..8).map(|_| connection.receive(&mut policy, 10)).collect();
        let limit = Some(Bytes(20_000));
        assert_eq!(windows, [None, None, None, limit, limit, limit, limit, limit]);
        let status = policy.flows().next().unwrap();
        // 10 segments in 20 ms
        assert_eq!(status.rate, BitRate(4_000_000));
        assert_eq!((status.rtt, status.received), (Some(Span::from_millis(20)), Bytes(80_000)));
    }

    #[test]
    fn timestamps_that_begin_late_change_the_controller() {
        let rules = r#"
            [[rule]]
            timestamps = true
            rwnd = { kind = "fixed", limit = "20000B" }
            [[rule]]
            rwnd = { kind = "fixed", limit = "30000B" }
        "#;
        let mut policy = Policy::new(Rules::read(rules, "rules.toml", &Machine).unwrap());
        let mut connection = Connection::open(1, START, Span::from_millis(20));
        connection.seen.timestamps = None;
        // Without timestamps a round trip is the time in which the offered window arrives.
        connection.offered = 40 * MSS;
        connection.seen.edge = connection.seen.ack + connection.offered;
        policy.on_observation(&connection.seen);
        let mut window = |connection: &mut Connection, has_timestamps: bool| {
            connection.advance(40);
            connection.seen.timestamps = connection.seen.timestamps.filter(|_| has_timestamps);
            policy.on_observation(&connection.seen).unwrap().window
        };
        let without: Vec<_> = (0..20).map(|_| window(&mut connection, false)).collect();
        assert_eq!(without.last(), Some(&Some(Bytes(30_000))));
        let with: Vec<_> = (0..8).map(|_| window(&mut connection, true)).collect();
        // The first round trips are free again.
        assert_eq!((with[0], with[7]), (None, Some(Bytes(20_000))));
    }

    #[test]
    fn an_application_limited_receiver_is_released_and_starts_anew() {
        let mut policy = fixed();
        let mut connection = Connection::controlled(&mut policy);
        assert_eq!(connection.receive(&mut policy, 1), Some(Bytes(20_000)));
        assert_eq!(connection.receive(&mut policy, 1), None);
        assert_eq!(connection.treatment(&policy), Treatment::Untouched(Reason::Quiet));
        assert_eq!(connection.receive(&mut policy, 10), None);
        assert_eq!(connection.treatment(&policy), Treatment::Untouched(Reason::Starting));
    }

    #[test]
    fn a_receiver_held_at_two_segments_is_not_application_limited() {
        let mut policy = policy(r#"{"kind": "fixed", "limit": "2000B"}"#);
        let mut connection = Connection::open(1, START, Span::from_millis(20));
        connection.offered = 2 * MSS;
        connection.seen.edge = connection.seen.ack + 2 * MSS;
        policy.on_observation(&connection.seen);
        let window = (0..20).map(|_| connection.receive(&mut policy, 2)).last().unwrap();
        assert_eq!(window, Some(Bytes(2000)));
    }

    #[test]
    fn a_competitor_releases_the_window() {
        let mut policy = policy(r#"{"kind": "drwa", "lambda": 1.5, "alpha": 0.0, "queue": "round-trip"}"#);
        let mut connection = Connection::controlled(&mut policy);
        // A queue of 80 ms that stays whatever arrives, as much as the last window allowed.
        connection.rtt = Span::from_millis(100);
        let mut arrive = |connection: &mut Connection, rounds: u32| {
            let mut released = 0;
            for _ in 0..rounds {
                let window = connection.receive_sendable(&mut policy);
                released += u32::from(window.is_none());
            }
            (released, connection.treatment(&policy))
        };
        let (_, treatment) = arrive(&mut connection, 40);
        assert_eq!(treatment, Treatment::Untouched(Reason::Competitor));
        // Without the competitor the window is in force again within the wait of 64 round trips and a probe.
        connection.rtt = Span::from_millis(20);
        let (_, treatment) = arrive(&mut connection, 80);
        assert!(matches!(treatment, Treatment::Window(_)), "{treatment:?}");
    }

    #[test]
    fn a_competitor_at_the_same_interface_releases_the_window_soon() {
        let rounds_to_release = |is_counted: bool| {
            let mut policy =
                policy(r#"{"kind": "drwa", "lambda": 1.5, "alpha": 0.0, "queue": "round-trip"}"#);
            let mut connection = Connection::controlled(&mut policy);
            let mut carried = Carried::default();
            for round in 0..40 {
                // As much for another program from the tenth round trip on, and a queue of 80 ms.
                let has_begun = round >= 10;
                connection.rtt = Span::from_millis(if has_begun { 100 } else { 20 });
                carried.down += Bytes(u64::from(MSS) * if has_begun { 20 } else { 10 });
                if is_counted {
                    policy.note_carried(connection.seen.interface, carried);
                }
                let window = connection.receive(&mut policy, 10);
                connection.offered = window.map_or(10 * MSS, |window| window.0 as u32);
                if connection.treatment(&policy) == Treatment::Untouched(Reason::Competitor) {
                    return Some(round - 10);
                }
            }
            None
        };
        let (unknown, known) = (rounds_to_release(false), rounds_to_release(true));
        assert!(known.is_some_and(|rounds| rounds <= 5), "{known:?}");
        assert!(unknown.is_none_or(|rounds| rounds > 10), "{unknown:?}");
    }

    #[test]
    fn a_flow_without_a_rule_does_not_take_a_share() {
        let rules = r#"
            [[rule]]
            peer = "203.0.113.0/24"
            rwnd = "standing"
        "#;
        let mut policy = Policy::new(Rules::read(rules, "rules.toml", &Machine).unwrap());
        let mut other = Connection::controlled(&mut policy);
        let mut own = Connection::open(2, other.seen.time, Span::from_millis(20));
        own.seen.remote.set_ip("203.0.113.7".parse().unwrap());
        policy.on_observation(&own.seen);
        for _ in 0..8 {
            other.receive(&mut policy, 10);
            own.receive(&mut policy, 10);
        }
        assert_eq!((policy.device.connections, policy.received), (1, Bytes(80_000)));
    }

    #[test]
    fn an_idle_connection_starts_anew() {
        let mut policy = fixed();
        let mut connection = Connection::controlled(&mut policy);
        connection.seen.time += Span::from_secs(5);
        assert_eq!(connection.receive(&mut policy, 10), None);
        assert_eq!(connection.treatment(&policy), Treatment::Untouched(Reason::Starting));
    }

    #[test]
    fn a_report_that_comes_late_is_taken_as_of_now() {
        let mut policy = policy(r#"{"kind": "rledbat"}"#);
        let mut connection = Connection::controlled(&mut policy);
        connection.seen.time = START;
        assert!(connection.receive(&mut policy, 10).is_some());
    }

    #[test]
    fn a_local_peer_is_left_alone() {
        let mut policy = fixed();
        let mut connection = Connection::open(1, START, Span::from_micros(500));
        policy.on_observation(&connection.seen);
        assert!((0..20).all(|_| connection.receive(&mut policy, 10).is_none()));
        assert_eq!(connection.treatment(&policy), Treatment::Untouched(Reason::Local));
    }

    #[test]
    fn a_late_connection_uses_the_minimum_rtt_of_its_path() {
        let mut policy = policy(OF_PAPER);
        let first = Connection::controlled(&mut policy);
        // All that it sees is 80 ms, 60 of them in the queue.
        let mut late = Connection::open(2, first.seen.time, Span::from_millis(80));
        policy.on_observation(&late.seen);
        let window = (0..8).map(|_| late.receive(&mut policy, 40)).last().unwrap();
        // lambda RTTmin / RTT cwnd = 2 * 20/80 * 40 segments
        assert_eq!(window, Some(Bytes(20_000)));
        policy.forget_paths(2);
        let window = (0..8).map(|_| late.receive(&mut policy, 40)).last().unwrap();
        assert_eq!(window, Some(Bytes(80_000)));
    }

    #[test]
    fn after_a_change_of_the_route_the_minimum_rtt_is_measured_anew() {
        let mut policy = policy(OF_PAPER);
        let mut connection = Connection::controlled(&mut policy);
        // The kernel's measurements stay those of the former route.
        policy.forget_paths(2);
        connection.rtt = Span::from_millis(80);
        let window = (0..12).map(|_| connection.receive(&mut policy, 40)).last().unwrap();
        assert_eq!(window, Some(Bytes(80_000)));
        assert_eq!(policy.flows().next().unwrap().min_rtt, Some(Span::from_millis(80)));
    }

    #[test]
    fn a_longer_path_that_was_not_announced_is_learned_in_a_dip() {
        let mut policy = policy(OF_PAPER);
        let mut connection = Connection::controlled(&mut policy);
        connection.rtt = Span::from_millis(80);
        let dipped =
            (0..300_000 / 80 + 3).filter(|_| connection.receive(&mut policy, 40) == Some(Bytes(4000)));
        assert_eq!(dipped.count(), 4);
        let window = (0..8).map(|_| connection.receive(&mut policy, 40)).last().unwrap();
        assert_eq!(window, Some(Bytes(80_000)));
    }

    /// The minimum RTT of a new path is measured again after 30 s; a download may begin then.
    #[test]
    fn a_dip_waits_until_the_queue_of_slow_start_has_drained() {
        let mut policy = policy(OF_PAPER);
        let first = Connection::controlled(&mut policy);
        let later = first.seen.time + Span::from_secs(40);
        let mut second = Connection::open(2, later, Span::from_millis(20));
        policy.on_observation(&second.seen);
        for rtt_ms in [20, 60, 220, 480, 680, 780, 400, 22] {
            second.rtt = Span::from_millis(rtt_ms);
            second.receive(&mut policy, 40);
        }
        let min_rtt = |policy: &Policy| policy.flows().find(|status| status.flow == 2).unwrap().min_rtt;
        let windows: Vec<_> = (0..40).map(|_| second.receive(&mut policy, 40)).collect();
        assert!(windows.contains(&Some(Bytes(4000))), "a dip: {windows:?}");
        assert_eq!(min_rtt(&policy), Some(Span::from_millis(20)));
    }

    /// The minimum RTT of the path is due to be measured again while the control probes whether a competitor has gone.
    #[test]
    fn a_dip_measures_a_longer_path_and_not_the_queue_of_other_traffic() {
        let min_rtt = |is_shared: bool| {
            let mut policy =
                policy(r#"{"kind": "drwa", "lambda": 1.5, "alpha": 0.0, "queue": "round-trip"}"#);
            let mut connection = Connection::controlled(&mut policy);
            connection.rtt = Span::from_millis(500);
            let mut carried = Carried::default();
            for _ in 0..800 {
                let others = if is_shared { 20 } else { 0 };
                carried.down += Bytes(u64::from(MSS * (connection.sendable() + others)));
                policy.note_carried(connection.seen.interface, carried);
                connection.receive_sendable(&mut policy);
            }
            policy.flows().next().unwrap().min_rtt
        };
        assert_eq!(min_rtt(true), Some(Span::from_millis(20)));
        assert_eq!(min_rtt(false), Some(Span::from_millis(500)));
    }

    #[test]
    fn a_closed_connection_is_forgotten_and_a_silent_one_after_ten_seconds() {
        let mut policy = fixed();
        let connection = Connection::open(1, START, Span::from_millis(20));
        policy.on_observation(&connection.seen);
        let closed = Observation { event: Event::Closed, ..connection.seen.clone() };
        assert_eq!(policy.on_observation(&closed), None);
        assert_eq!(policy.flows().count(), 0);
        policy.on_observation(&connection.seen);
        assert!(policy.expire(START + Span::from_secs(9)).is_empty());
        assert_eq!(policy.expire(START + Span::from_secs(10)), [1]);
    }

    #[test]
    fn too_many_flows_displace_those_that_were_silent_for_longest() {
        let mut policy = fixed();
        let mut connection = Connection::controlled(&mut policy);
        for flow in 2..40_000 {
            let at = connection.seen.time + Span::from_micros(1);
            policy.on_observation(&Connection::open(flow, at, Span::from_millis(20)).seen);
            assert!(policy.flows.len() <= FLOWS_MAX);
            if flow % 1000 == 0 {
                assert_eq!(connection.receive(&mut policy, 10), Some(Bytes(20_000)), "{flow}");
            }
        }
        let evicted = policy.expire(connection.seen.time);
        assert_eq!(evicted.len() + policy.flows.len(), 39_999);
        assert!(!evicted.contains(&1) && evicted.contains(&2));
    }

    #[test]
    fn after_hours_without_time_a_connection_starts_anew() {
        for hours in [1, 100, 10_000] {
            let mut policy = fixed();
            let mut connection = Connection::controlled(&mut policy);
            connection.seen.time += Span::from_secs(3600 * hours);
            assert_eq!(connection.receive(&mut policy, 10), None);
            assert_eq!(connection.treatment(&policy), Treatment::Untouched(Reason::Starting));
            let window = (0..20).map(|_| connection.receive(&mut policy, 10)).last().unwrap();
            assert_eq!(window, Some(Bytes(20_000)));
        }
    }

    /// The clock of the other end stood still, or data waited while this machine was suspended.
    #[test]
    fn an_rtt_of_hours_is_forgotten() {
        let mut policy = policy(OF_PAPER);
        let mut connection = Connection::controlled(&mut policy);
        connection.seen.time += Span::from_secs(1000);
        connection.seen.timestamps = echo(connection.seen.time, Span::from_secs(1000));
        connection.seen.ack += 10 * MSS;
        policy.on_observation(&connection.seen);
        let window = (0..20).map(|_| connection.receive(&mut policy, 10)).last().unwrap();
        // lambda * 10 segments
        assert_eq!(window, Some(Bytes(20_000)));
        assert_eq!(policy.flows().next().unwrap().rtt, Some(Span::from_millis(20)));
    }

    #[test]
    fn lost_reports_change_no_window() {
        let mut policy = fixed();
        let mut connection = Connection::controlled(&mut policy);
        for number in 0..40 {
            if number % 3 < 2 {
                connection.advance(5);
            } else {
                assert_eq!(connection.receive(&mut policy, 5), Some(Bytes(20_000)));
            }
        }
        // The content of lost reports is in the next one.
        let status = policy.flows().next().unwrap();
        assert_eq!(status.received, Bytes(u64::from(8 * 10 * MSS + 39 * 5 * MSS)));
        assert_eq!((status.rate, status.rtt), (BitRate(2_000_000), Some(Span::from_millis(20))));
    }

    /// On a router the observer sees the RTT towards the sender; that towards the receiver is measured separately.
    #[test]
    fn the_rtt_of_a_path_has_two_halves() {
        let mut policy = policy(OF_PAPER);
        let mut first = Connection::open(1, START, Span::from_millis(20));
        first.seen.lan_rtt = Some(Span::from_millis(4));
        policy.on_observation(&first.seen);
        for _ in 0..8 {
            first.receive(&mut policy, 12);
        }
        let rtts = |policy: &Policy, flow| {
            let status = policy.flows().find(|status| status.flow == flow).unwrap();
            (status.rtt.unwrap(), status.min_rtt.unwrap())
        };
        let ms = Span::from_millis;
        assert_eq!(rtts(&policy, 1), (ms(24), ms(24)));
        // Another device, with a slower way to the router, uses the same path towards the sender.
        let mut second = Connection::open(2, first.seen.time, ms(30));
        second.seen.local = SocketAddr::new([192, 0, 2, 2].into(), 40_000);
        second.seen.lan_rtt = Some(ms(10));
        policy.on_observation(&second.seen);
        let window = (0..8).map(|_| second.receive(&mut policy, 40)).last().unwrap();
        assert_eq!(rtts(&policy, 2), (ms(40), ms(30)));
        assert_eq!(rtts(&policy, 1), (ms(24), ms(24)));
        // lambda RTTmin / RTT cwnd, with what arrives in two intervals of 30 ms: 2 * 30/40 * 80 segments
        assert_eq!(window, Some(Bytes(120_000)));
    }

    proptest! {
        /// Whatever is reported, a window has at least two segments, and memory is bounded by the number of flows.
        #[test]
        fn any_report_yields_a_window_of_at_least_two_segments(
            kind in prop::sample::select(vec!["drwa", "dfcsd", "rtac", "rledbat", "fixed", "autotuning"]),
            is_likely in any::<bool>(),
            reports in prop::collection::vec(prop::array::uniform32(any::<u32>()), 1..200),
        ) {
            let mut policy = policy(&format!("\"{kind}\""));
            let mut time = START;
            for words in reports {
                let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                // One of the three events.
                bytes[Observation::EVENT] %= 3;
                let Some(seen) = Observation::read(&bytes) else { continue };
                time += Span(seen.time.0 % 100_000_000);
                let mut seen = Observation { time, flow: seen.flow % 4, ..seen };
                if is_likely {
                    // Numbers of a connection that goes on, received in any order.
                    let base = Seq(u32::MAX - 5000);
                    seen.ack = base + seen.ack.0 % 20_000;
                    seen.edge = seen.ack + seen.edge.0 % 20_000;
                    let start = base + seen.range.start.0 % 30_000;
                    seen.range = SeqRange { start, end: start + seen.range.end.0 % 5000 };
                }
                if let Some(Target { window: Some(window), valid_until, .. }) = policy.on_observation(&seen) {
                    let mss = policy.flows[&seen.flow].mss;
                    prop_assert!(window >= mss * 2, "{window:?} {mss:?}");
                    prop_assert_eq!(valid_until, time + VALID);
                }
                prop_assert!(policy.flows.len() <= 4);
            }
        }
    }
}
