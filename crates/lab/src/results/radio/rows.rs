//! Columns of the tables of a trace.

use super::{
    BlockOutcome, BlockRecord, Control, ControlRecord, DropCause, DrxState, GrantRecord, PduContent,
    PduRecord, RadioRecord, RlcMode, RrcCause, RrcEvent, RrcRecord, SduEvent, SduRecord, Transmission,
};
use crate::results::columns::{Cell, Columns, Kind, one_column};
use airwnd_kernel::Direction;
use airwnd_links::aqm;
use airwnd_units::Time;

/// A row per downlink assignment or uplink grant, at the time of the decision.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct GrantRow {
    /// Time of the decision, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Time of the transmission on air, from the end of the warm-up.
    #[column(unit = "s")]
    pub on_air_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// Number of the component carrier: 0 for the primary one.
    pub carrier: u8,
    /// Direction of the data: `down` or `up`.
    pub direction: Direction,
    /// HARQ process on the carrier.
    pub process: u8,
    /// Number of the transmission of the block: 1 for new data, 2 or more for HARQ retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    #[column(short = "MCS")]
    pub mcs: u8,
    /// Layers.
    pub layers: u8,
    /// First PRB.
    #[column(short = "first PRB")]
    pub first_prb: u16,
    /// PRBs.
    #[column(short = "PRBs")]
    pub prbs: u16,
    /// RBGs of the downlink as a bit mask, the least significant bit is the first RBG; 0 in the uplink, whose PRBs are
    /// contiguous.
    #[column(short = "RBGs")]
    pub rbgs: u32,
    /// Transport block size.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// CQI on which the MCS of a new downlink block is based; null for others.
    #[column(short = "CQI")]
    pub cqi: Option<u8>,
    /// TPC command in a grant for a new uplink block; null for others.
    #[column(unit = "dB", short = "TPC")]
    pub tpc_db: Option<f64>,
    /// `dynamic` on the PDCCH, `configured` without it.
    pub grant: GrantKind,
}

/// Whether a grant is sent on the PDCCH.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GrantKind {
    Dynamic,
    Configured,
}

one_column!(GrantKind, Kind::Word(&["dynamic", "configured"]), |kind| Cell::Place(*kind as u32));

impl GrantRow {
    pub fn of(record: &RadioRecord, event: &GrantRecord, begin: Time) -> GrantRow {
        let Transmission { direction, carrier, process, number, mcs, layers, prbs, size } =
            event.transmission;
        GrantRow {
            time_s: record.at.since(begin).as_secs(),
            on_air_s: event.on_air.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            carrier: carrier.0,
            direction,
            process,
            transmission: number,
            mcs: mcs.0,
            layers,
            first_prb: event.first,
            prbs: prbs.0,
            rbgs: event.rbgs,
            bytes: size.0,
            cqi: event.cqi.map(|cqi| cqi.0),
            tpc_db: event.command.map(|command| command.0),
            grant: if event.is_configured { GrantKind::Configured } else { GrantKind::Dynamic },
        }
    }
}

/// A row per transmission of a transport block and per grant for which nothing was sent.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct BlockRow {
    /// Beginning of the TTI on air, from the end of the warm-up; of a grant for which nothing was sent the time at which
    /// this is decided.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// Number of the component carrier: 0 for the primary one.
    pub carrier: u8,
    /// Direction of the data: `down` or `up`.
    pub direction: Direction,
    /// HARQ process on the carrier.
    pub process: u8,
    /// Number of the transmission of the block: 1 for new data, 2 or more for HARQ retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    #[column(short = "MCS")]
    pub mcs: u8,
    /// Bits per symbol of the modulation.
    pub modulation_order: u8,
    /// Layers.
    pub layers: u8,
    /// First PRB.
    #[column(short = "first PRB")]
    pub first_prb: u16,
    /// PRBs.
    #[column(short = "PRBs")]
    pub prbs: u16,
    /// Transport block size.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Outcome: `decoded` (ACK), `failed` (NACK), `grant-lost` if the UE missed the assignment or grant, or `unused` if
    /// there was nothing to send.
    pub outcome: BlockOutcome,
}

one_column!(BlockOutcome, Kind::Word(&BlockOutcome::WORDS), |outcome| { Cell::Place(*outcome as u32) });

impl BlockRow {
    pub fn of(record: &RadioRecord, event: &BlockRecord, begin: Time) -> BlockRow {
        let Transmission { direction, carrier, process, number, mcs, layers, prbs, size } =
            event.transmission;
        BlockRow {
            time_s: record.at.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            carrier: carrier.0,
            direction,
            process,
            transmission: number,
            mcs: mcs.0,
            modulation_order: event.modulation,
            layers,
            first_prb: event.first,
            prbs: prbs.0,
            bytes: size.0,
            outcome: event.outcome,
        }
    }
}

/// A row per scheduling request, and per report of a UE to the MAC of its cell, when it is sent.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct ControlRow {
    /// Time at which the UE sends it or puts it into a block, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// Scheduling request `sr`, buffer status report `bsr` or power headroom report `phr`.
    pub element: Element,
    /// HARQ process of the block that contains it; null outside of blocks.
    pub process: Option<u8>,
    /// Backlog in a buffer status report, before it is quantised; null for others.
    #[column(unit = "bytes", short = "backlog")]
    pub waiting_bytes: Option<u64>,
    /// Power headroom in a report; null for others.
    #[column(unit = "dB", short = "headroom")]
    pub headroom_db: Option<f64>,
}

/// Kind of control information.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    Request,
    Buffer,
    Headroom,
}

one_column!(Element, Kind::Word(&["sr", "bsr", "phr"]), |element| Cell::Place(*element as u32));

impl ControlRow {
    pub fn of(record: &RadioRecord, event: &ControlRecord, begin: Time) -> ControlRow {
        let (element, waiting_bytes, headroom_db) = match event.content {
            Control::Request => (Element::Request, None, None),
            Control::Buffer(waiting) => (Element::Buffer, Some(waiting.0), None),
            Control::Headroom(headroom) => (Element::Headroom, None, Some(headroom.0)),
        };
        ControlRow {
            time_s: record.at.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            element,
            process: event.process,
            waiting_bytes,
            headroom_db,
        }
    }
}

/// A row per change of a UE with DRX between awake and asleep.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct DrxRow {
    /// Beginning of the first TTI in this state, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// `asleep`; or awake, with what has woken the UE: the `on-duration` of a cycle, the `inactivity` timer, a scheduling
    /// `request`, or a `retransmission`.
    pub drx: DrxState,
}

one_column!(
    DrxState,
    Kind::Word(&["asleep", "on-duration", "inactivity", "request", "retransmission"]),
    |state| Cell::Place(*state as u32)
);

impl DrxRow {
    pub fn of(record: &RadioRecord, state: DrxState, begin: Time) -> DrxRow {
        let time_s = record.at.since(begin).as_secs();
        DrxRow { time_s, ue: record.ue.0, cell: record.cell.0, drx: state }
    }
}

/// A row per PDU that RLC puts into a transport block.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct PduRow {
    /// Time at which the block is filled, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// Direction of the PDU: `down` or `up`.
    pub direction: Direction,
    /// Number of the bearer of the UE: 0 for the default bearer.
    pub bearer: u8,
    /// Number of the component carrier of the block: 0 for the primary one.
    pub carrier: u8,
    /// HARQ process of the block on the carrier.
    pub process: u8,
    /// Unacknowledged mode `um` or acknowledged mode `am`.
    pub mode: RlcMode,
    /// `data`, or `status` for a STATUS PDU.
    pub pdu: PduKind,
    /// Sequence number, counted without wrap-around; null for a STATUS PDU, and for a whole SDU in NR's unacknowledged
    /// mode.
    #[column(short = "SN")]
    pub sn: Option<u64>,
    /// Segment offset: bytes of the PDU (LTE) or SDU (NR) before a segment.
    #[column(unit = "bytes")]
    pub offset_bytes: u64,
    /// Whether it is a segment: `segment`, or `whole`. In LTE of a PDU that is retransmitted, in NR of an SDU.
    pub part: PartKind,
    /// 1 if RLC has sent its data before, otherwise 0.
    pub retransmission: u8,
    /// Poll bit: 1 if it requests a STATUS PDU, otherwise 0.
    pub poll: u8,
    /// Size with RLC's header.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// SDU bytes in it.
    #[column(unit = "bytes")]
    pub data_bytes: u64,
    /// SDUs and parts of SDUs in it.
    #[column(short = "SDUs")]
    pub sdus: u32,
    /// ACK_SN of a STATUS PDU, counted without wrap-around; null for data.
    #[column(short = "ACK_SN")]
    pub ack_sn: Option<u64>,
    /// Missing PDUs and parts of PDUs that a STATUS PDU reports; null for data.
    #[column(short = "NACKs")]
    pub nacks: Option<u32>,
    /// Bytes of the bearer that wait for their first transmission after the block is filled.
    #[column(unit = "bytes", short = "queue")]
    pub queue_bytes: u64,
}

/// Kind of a PDU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PduKind {
    Data,
    Status,
}

one_column!(PduKind, Kind::Word(&["data", "status"]), |kind| Cell::Place(*kind as u32));

/// Whether a PDU is a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PartKind {
    Whole,
    Segment,
}

one_column!(PartKind, Kind::Word(&["whole", "segment"]), |kind| Cell::Place(*kind as u32));

one_column!(RlcMode, Kind::Word(&["um", "am"]), |mode| {
    Cell::Place(match mode {
        RlcMode::Um => 0,
        RlcMode::Am => 1,
    })
});

impl PduRow {
    pub fn of(record: &RadioRecord, event: &PduRecord, begin: Time) -> PduRow {
        let data = match &event.pdu.content {
            PduContent::Data(data) => Some(data),
            PduContent::Status { .. } => None,
        };
        let status = match &event.pdu.content {
            PduContent::Status { ack, nacks } => Some((*ack, nacks.len() as u32)),
            PduContent::Data(_) => None,
        };
        let is_segment = data.is_some_and(|data| data.is_segment);
        PduRow {
            time_s: record.at.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            direction: event.direction,
            bearer: event.bearer.0,
            carrier: event.carrier.0,
            process: event.process,
            mode: event.pdu.format.mode,
            pdu: if data.is_some() { PduKind::Data } else { PduKind::Status },
            sn: data.and_then(|data| data.sn),
            offset_bytes: data.map_or(0, |data| data.offset.into()),
            part: if is_segment { PartKind::Segment } else { PartKind::Whole },
            retransmission: data.is_some_and(|data| data.is_retransmission).into(),
            poll: data.is_some_and(|data| data.polls).into(),
            bytes: event.pdu.size.0,
            data_bytes: data.map_or(0, |data| data.data().0),
            sdus: data.map_or(0, |data| data.pieces.len() as u32),
            ack_sn: status.map(|(ack, _)| ack),
            nacks: status.map(|(_, nacks)| nacks),
            queue_bytes: event.queue.0,
        }
    }
}

/// A row per packet that enters or leaves a bearer.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct SduRow {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell.
    pub cell: u16,
    /// Direction of the packet: `down` or `up`.
    pub direction: Direction,
    /// Number of the bearer of the UE: 0 for the default bearer.
    pub bearer: u8,
    /// Event: `arrived` at the transmitter, after a handover that forwards it once more; `delivered` by the receiver, in
    /// order; or dropped by a full queue (`full`), early by a queue discipline (`early`), by PDCP's `discard-timer`, by a
    /// `radio-loss` that RLC does not repair, at a `handover`, or at a `link-failure`.
    pub sdu: SduEvent,
    /// Number of the packet among those in the network at the time; used again when the packet has left it.
    pub packet: u32,
    /// Size with the headers of IP and PDCP.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Time since it has entered the bearer of this cell.
    #[column(unit = "ms", short = "waited")]
    pub waited_ms: f64,
}

one_column!(
    SduEvent,
    Kind::Word(&[
        "arrived",
        "delivered",
        "full",
        "early",
        "discard-timer",
        "radio-loss",
        "handover",
        "link-failure",
    ]),
    |event| {
        Cell::Place(match event {
            SduEvent::Arrived => 0,
            SduEvent::Delivered => 1,
            SduEvent::Dropped(DropCause::Queue(aqm::Cause::Full)) => 2,
            SduEvent::Dropped(DropCause::Queue(aqm::Cause::Early)) => 3,
            SduEvent::Dropped(DropCause::Discarded) => 4,
            SduEvent::Dropped(DropCause::RadioLoss) => 5,
            SduEvent::Dropped(DropCause::Handover) => 6,
            SduEvent::Dropped(DropCause::LinkFailure) => 7,
        })
    }
);

impl SduRow {
    pub fn of(record: &RadioRecord, event: &SduRecord, begin: Time) -> SduRow {
        SduRow {
            time_s: record.at.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            direction: event.direction,
            bearer: event.bearer.0,
            sdu: event.event,
            packet: event.packet.0,
            bytes: event.size.0,
            waited_ms: event.waited.as_millis(),
        }
    }
}

/// A row per event of RRC.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct RrcRow {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Number of the serving cell: before a handover begins the source, when it has ended the target.
    pub cell: u16,
    /// Event: `handover_start`, `handover_end`, `handover_failure`, `radio_link_failure`, `reestablishment`, or
    /// `connected` for the end of the promotion of a released UE.
    pub event: RrcEvent,
    /// Cause of the event: a `measurement-report`; of a failure `no-slot` in the target, `low-sinr` of its control
    /// channels, an `out-of-sync` link or `max-retransmissions` of RLC; a `cell-search` after a failure; `data` of a
    /// released UE.
    pub reason: RrcCause,
    /// Number of the target of a handover or re-establishment; null where there is none.
    pub to_cell: Option<u16>,
    /// RSRP of the serving cell; null where it is not measured.
    #[column(unit = "dBm", short = "RSRP")]
    pub rsrp_dbm: Option<f64>,
    /// RSRP of the target; null where there is none.
    #[column(unit = "dBm", short = "target's RSRP")]
    pub to_rsrp_dbm: Option<f64>,
}

one_column!(
    RrcEvent,
    Kind::Word(&[
        "handover_start",
        "handover_end",
        "handover_failure",
        "radio_link_failure",
        "reestablishment",
        "connected",
    ]),
    |event| Cell::Place(*event as u32)
);

one_column!(
    RrcCause,
    Kind::Word(&[
        "measurement-report",
        "no-slot",
        "low-sinr",
        "out-of-sync",
        "max-retransmissions",
        "cell-search",
        "data",
    ]),
    |cause| Cell::Place(*cause as u32)
);

impl RrcRow {
    pub fn of(record: &RadioRecord, event: &RrcRecord, begin: Time) -> RrcRow {
        RrcRow {
            time_s: record.at.since(begin).as_secs(),
            ue: record.ue.0,
            cell: record.cell.0,
            event: event.event,
            reason: event.cause,
            to_cell: event.to.map(|cell| cell.0),
            rsrp_dbm: event.rsrp.map(|rsrp| rsrp.0),
            to_rsrp_dbm: event.to_rsrp.map(|rsrp| rsrp.0),
        }
    }
}
