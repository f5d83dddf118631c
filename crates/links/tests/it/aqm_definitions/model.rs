//! Runs a discipline and its definition side by side.

use airwnd_catalog::{Defaults, Node, Param};
use airwnd_kernel::{Codepoint, Key, Stream};
use airwnd_links::aqm::{Cause, QueueContext, QueueDisc, QueueEvents, Spec, Waiting};
use airwnd_units::{Bytes, Time};
use std::collections::VecDeque;

/// Packet as the input of a definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub id: u32,
    pub size: f64,
    /// Arrival time in seconds.
    pub tstamp: f64,
    pub flow: u32,
    /// The two bits of the ECN field.
    pub ecn: u8,
}

/// Drops and marks of one step.
#[derive(Debug, Default, PartialEq)]
pub struct Signals {
    pub full: Vec<u32>,
    pub early: Vec<u32>,
    pub marked: Vec<u32>,
}

impl Signals {
    /// Marks the packet if it is ECN-capable; returns whether it is.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn == 0 {
            return false;
        }
        packet.ecn = 3;
        self.marked.push(packet.id);
        true
    }
}

impl QueueEvents for Signals {
    fn dropped(&mut self, packet: Waiting, cause: Cause) {
        match cause {
            Cause::Full => self.full.push(packet.packet.0),
            Cause::Early => self.early.push(packet.packet.0),
        }
    }
    fn marked(&mut self, packet: Key) {
        self.marked.push(packet.0);
    }
}

/// A plain queue for definitions.
#[derive(Clone, Debug, Default)]
pub struct Queue(pub VecDeque<Packet>);

impl Queue {
    pub fn bytes(&self) -> f64 {
        self.0.iter().map(|packet| packet.size).sum()
    }
}

/// Definition of a discipline as in its source.
pub trait Definition {
    /// Enqueues a packet; `held` bytes of an earlier one count against the buffer.
    fn enqueue(&mut self, now: f64, packet: Packet, held: f64, signals: &mut Signals);
    fn dequeue(&mut self, now: f64, signals: &mut Signals) -> Option<Packet>;
    /// Returns the number of queued packets.
    fn len(&self) -> usize;
}

/// Random settings, for the scenario and for the definition.
pub struct Draws(pub Stream);

impl Draws {
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + (self.0.uniform() * (high - low + 1) as f64) as u64
    }
    pub fn flag(&mut self) -> bool {
        self.0.uniform() < 0.5
    }
}

/// Steps per run: an arrival or a departure each.
const STEPS: usize = 4000;
const RUNS: u64 = 60;

/// The discipline with these parameters; quirks are before `# parameters`.
fn discipline(toml: &str, ctx: &QueueContext) -> Box<dyn QueueDisc> {
    let (quirks, parameters) = toml.split_once("# parameters\n").unwrap_or(("", toml));
    let mut spec = Spec::read(&Node::from_toml(parameters, "test").unwrap()).unwrap();
    let table = format!("[family.aqm.{}]\n{quirks}", spec.kind());
    spec.adopt(None, &Defaults::from_toml(&table, "quirks").unwrap()).unwrap();
    spec.build(ctx)
}

/// Totals of a run: a comparison without signals would prove nothing.
#[derive(Debug, Default)]
pub struct Seen {
    pub early: usize,
    pub full: usize,
    pub marked: usize,
    pub sent: usize,
}

/// Runs discipline and definition many times with settings made by `draw`, which receives the random stream of the
/// discipline.
pub fn compare(draw: impl Fn(&mut Draws, Stream) -> (String, Box<dyn Definition>)) -> Seen {
    let mut seen = Seen::default();
    for run in 0..RUNS {
        let ctx =
            QueueContext { stream: Stream::new(run, "discipline"), rate: None, identity: Default::default() };
        let mut draws = Draws(Stream::new(run, "settings"));
        let (toml, mut theirs) = draw(&mut draws, ctx.stream);
        let mut ours = discipline(&toml, &ctx);
        side_by_side(&mut *ours, &mut *theirs, &mut draws, &mut seen, &format!("run {run}: {toml}"));
    }
    seen
}

/// Periods of light and heavy load, bursts and idle times; some packets arrive while `held` bytes of the last one
/// remain.
fn side_by_side(
    ours: &mut dyn QueueDisc,
    theirs: &mut dyn Definition,
    draws: &mut Draws,
    seen: &mut Seen,
    name: &str,
) {
    let mut now = 1_000_000u64;
    let (mut arrivals, mut flows, mut pace) = (0.5, 4, 1e6);
    for step in 0..STEPS {
        if step % 400 == 0 {
            arrivals = draws.between(0.35, 0.8);
            flows = draws.whole(1, 40) as u32;
            pace = draws.between(1e4, 3e6);
            now += if draws.flag() { draws.whole(0, 3_000_000_000) } else { 0 };
        }
        now += draws.between(0.0, pace) as u64;
        let (mut signals, mut expected) = (Signals::default(), Signals::default());
        if draws.0.uniform() < arrivals {
            let (size, held) = (draws.whole(40, 1500), if draws.flag() { 0 } else { draws.whole(0, 1500) });
            let (flow, ecn) = (draws.whole(0, u64::from(flows)) as u32, draws.whole(0, 3) as u8);
            let codepoint =
                [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce][ecn as usize];
            let id = step as u32;
            let packet =
                Waiting { packet: Key(id), size: Bytes(size), arrived: Time(now), flow, ecn: codepoint };
            ours.enqueue(Time(now), packet, Bytes(held), &mut signals);
            let packet = Packet { id, size: size as f64, tstamp: now as f64 / 1e9, flow, ecn };
            theirs.enqueue(now as f64 / 1e9, packet, held as f64, &mut expected);
        } else {
            let packet = ours.dequeue(Time(now), &mut signals).map(|packet| packet.packet.0);
            let same = theirs.dequeue(now as f64 / 1e9, &mut expected).map(|packet| packet.id);
            assert_eq!(packet, same, "{name}: step {step}");
            seen.sent += usize::from(packet.is_some());
        }
        assert_eq!(signals, expected, "{name}: step {step}");
        let backlog = ours.backlog();
        assert_eq!(backlog.packets, theirs.len() as u64, "{name}: step {step}");
        if step % 100 == 0 {
            let inside = ours.inside();
            let (count, bytes) = inside.fold((0, Bytes::ZERO), |sum, one| (sum.0 + 1, sum.1 + one.size));
            assert_eq!((count, bytes), (backlog.packets, backlog.bytes), "{name}: step {step}");
        }
        seen.early += signals.early.len();
        seen.full += signals.full.len();
        seen.marked += signals.marked.len();
    }
}
