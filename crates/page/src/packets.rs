//! Packets of a UE on their way, for a timeline.

use airwnd_kernel::Direction;
use airwnd_lab::radio::{BlockOutcome, PduRecord, RadioEvent, RadioRecord};
use airwnd_lab::tap::{Carried, Crossing, Node, Passage, Sight, Tap};
use airwnd_lab::{Column, NOTHING, Table};
use airwnd_units::{Span, Time};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// Rows of each table that are kept: older ones leave.
const ROWS: usize = 1 << 16;

/// Stages of a packet in the column `stage`.
const STAGES: [&str; 5] = ["sent", "queued", "block", "received", "dropped"];
const SENT: u32 = 0;
const QUEUED: u32 = 1;
const BLOCK: u32 = 2;
const RECEIVED: u32 = 3;
const DROPPED: u32 = 4;

/// A stage of a packet.
#[derive(Clone, Copy)]
struct Step {
    at: Span,
    stage: u32,
    flow: u32,
    direction: Direction,
    identification: u16,
    /// Payload in bytes.
    bytes: Option<u32>,
    /// Carrier and HARQ process of the block that has a part of it.
    process: Option<u32>,
}

/// A transmission of a transport block.
#[derive(Clone, Copy)]
struct Round {
    at: Span,
    direction: Direction,
    process: u32,
    number: u8,
    prbs: u16,
    mcs: u8,
    bytes: u32,
    outcome: BlockOutcome,
}

#[derive(Default)]
struct Kept {
    steps: VecDeque<Step>,
    rounds: VecDeque<Round>,
}

/// Packets of a UE at the ends of the network and in the cell, and its transport blocks.
#[derive(Clone)]
pub(crate) struct Packets {
    ue: u32,
    /// End of the warm-up.
    begin: Time,
    kept: Arc<Mutex<Kept>>,
}

impl Packets {
    /// Packets of the UE with this number; `begin` is the end of the warm-up.
    pub fn new(ue: u32, begin: Time) -> Packets {
        Packets { ue, begin, kept: Arc::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no call panics while it holds the lock")
    }

    fn step(&self, step: Step) {
        push(&mut self.kept().steps, step);
    }

    /// Takes the stages of packets since the last call, in the order of the events. A stage `block` is that of a decision:
    /// its block is the next one of this direction and process in [`Packets::take_blocks`] whose number is 1.
    pub fn take_packets(&self) -> Table {
        let steps = std::mem::take(&mut self.kept().steps);
        let whole = |value: fn(&Step) -> u32| Column::U32(steps.iter().map(value).collect());
        named([
            ("time_s", Column::F64(steps.iter().map(|step| step.at.as_secs()).collect())),
            ("stage", words(steps.iter().map(|step| step.stage), &STAGES)),
            ("flow", whole(|step| step.flow)),
            ("up", whole(|step| step.direction as u32)),
            ("id", whole(|step| u32::from(step.identification))),
            ("bytes", whole(|step| step.bytes.unwrap_or(NOTHING))),
            ("process", whole(|step| step.process.unwrap_or(NOTHING))),
        ])
    }

    /// Takes the transmissions of transport blocks since the last call.
    pub fn take_blocks(&self) -> Table {
        let rounds = std::mem::take(&mut self.kept().rounds);
        let whole = |value: fn(&Round) -> u32| Column::U32(rounds.iter().map(value).collect());
        named([
            ("time_s", Column::F64(rounds.iter().map(|round| round.at.as_secs()).collect())),
            ("up", whole(|round| round.direction as u32)),
            ("process", whole(|round| round.process)),
            ("transmission", whole(|round| u32::from(round.number))),
            ("prbs", whole(|round| u32::from(round.prbs))),
            ("mcs", whole(|round| u32::from(round.mcs))),
            ("bytes", whole(|round| round.bytes)),
            ("outcome", words(rounds.iter().map(|round| round.outcome as u32), &BlockOutcome::WORDS)),
        ])
    }
}

impl Tap for Packets {
    fn packet(&mut self, sight: &Sight) {
        let stage = match (sight.node, sight.crossing, sight.direction) {
            (Node::Server, Crossing::Out, _) | (Node::Ue(_), Crossing::Out, _) => SENT,
            (Node::Enb(_), Crossing::In, Direction::Down) => QUEUED,
            (Node::Server, Crossing::In, _) | (Node::Ue(_), Crossing::In, _) => RECEIVED,
            _ => return,
        };
        if sight.ue != self.ue {
            return;
        }
        let bytes = match sight.carried {
            Carried::Segment(segment) => Some(u32::from(segment.len)),
            Carried::Datagram(bytes) => u32::try_from(bytes.0).ok(),
            Carried::Frame { .. } => None,
        };
        let &Sight { at, flow, direction, identification, .. } = sight;
        self.step(Step { at, stage, flow, direction, identification, bytes, process: None });
    }

    fn dropped(&mut self, passage: &Passage) {
        if passage.ue == self.ue {
            self.step(Step::of(passage, DROPPED, None));
        }
    }

    fn in_block(&mut self, passage: &Passage, pdu: &PduRecord) {
        if passage.ue == self.ue {
            self.step(Step::of(passage, BLOCK, Some(process(pdu.carrier.0, pdu.process))));
        }
    }

    fn radio(&mut self, record: &RadioRecord) {
        let RadioEvent::Block(block) = record.event else { return };
        let sent = block.transmission;
        let round = Round {
            at: record.at.since(self.begin.min(record.at)),
            direction: sent.direction,
            process: process(sent.carrier.0, sent.process),
            number: sent.number,
            prbs: sent.prbs.0,
            mcs: sent.mcs.0,
            bytes: u32::try_from(sent.size.0).unwrap_or(NOTHING),
            outcome: block.outcome,
        };
        push(&mut self.kept().rounds, round);
    }
}

impl Step {
    fn of(passage: &Passage, stage: u32, process: Option<u32>) -> Step {
        let &Passage { at, flow, direction, identification, .. } = passage;
        Step { at, stage, flow, direction, identification, bytes: None, process }
    }
}

/// A number for each process of each carrier.
fn process(carrier: u8, process: u8) -> u32 {
    u32::from(carrier) << 8 | u32::from(process)
}

fn push<T>(rows: &mut VecDeque<T>, row: T) {
    if rows.len() == ROWS {
        rows.pop_front();
    }
    rows.push_back(row);
}

fn words(places: impl Iterator<Item = u32>, words: &[&str]) -> Column {
    Column::Words(places.collect(), words.iter().map(ToString::to_string).collect())
}

fn named<const N: usize>(columns: [(&str, Column); N]) -> Table {
    columns.into_iter().map(|(name, column)| (name.to_string(), column)).collect()
}
