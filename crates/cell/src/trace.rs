//! Records of what the radio interface does, for an observer: grants, blocks, control elements and DRX of the MAC, PDUs
//! of RLC, SDUs of PDCP, RRC.
//!
//! There is no observer by default. Then each place that notes a record costs a branch.

use crate::identity::{BearerId, CarrierId, CellId, UeId};
use crate::mac::{Block, Reception};
use airwnd_kernel::{Direction, Key};
use airwnd_phy::access::Access;
use airwnd_phy::{Cqi, Mcs, Prbs};
use airwnd_rlc::DropCause;
use airwnd_rlc::trace::TracedPdu;
use airwnd_units::{Bytes, Db, Dbm, Span, Time};
use std::ops::Range;
use std::sync::Arc;

pub use crate::mac::drx::DrxState;

/// Layer of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Grants, blocks, control elements and DRX.
    Mac,
    /// PDUs.
    Rlc,
    /// SDUs.
    Pdcp,
    /// Handovers and failures.
    Rrc,
}

impl Layer {
    /// All layers.
    pub const ALL: [Layer; 4] = [Layer::Mac, Layer::Rlc, Layer::Pdcp, Layer::Rrc];
}

/// Records that an observer requests.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioFilter {
    /// Whether records of each layer are wanted, in the order of [`Layer::ALL`].
    pub layers: [bool; 4],
    /// Numbers of the UEs in ascending order; `None`: all.
    pub ues: Option<Arc<[u32]>>,
    /// Times of the records.
    pub window: Range<Time>,
}

impl RadioFilter {
    /// Whether a record is wanted.
    pub fn wants(&self, layer: Layer, at: Time, ue: UeId) -> bool {
        self.layers[layer as usize]
            && self.window.contains(&at)
            && self.ues.as_ref().is_none_or(|ues| ues.binary_search(&ue.0).is_ok())
    }

    /// The smallest filter with each record that one of two filters has.
    pub fn either(self, other: RadioFilter) -> RadioFilter {
        let layers = std::array::from_fn(|layer| self.layers[layer] || other.layers[layer]);
        let ues = self.ues.zip(other.ues).map(|(one, other)| {
            let mut both: Vec<u32> = one.iter().chain(&*other).copied().collect();
            both.sort_unstable();
            both.dedup();
            both.into()
        });
        let window = self.window.start.min(other.window.start)..self.window.end.max(other.window.end);
        RadioFilter { layers, ues, window }
    }
}

/// A record of the radio interface.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioRecord {
    /// Time: of a decision, of a transmission on air, or of an event.
    pub at: Time,
    /// UE.
    pub ue: UeId,
    /// Serving cell, before a change of the cell.
    pub cell: CellId,
    /// Event.
    pub event: RadioEvent,
}

impl RadioRecord {
    /// Its layer.
    pub fn layer(&self) -> Layer {
        self.event.layer()
    }
}

/// An event of the radio interface.
#[derive(Clone, Debug, PartialEq)]
pub enum RadioEvent {
    /// The eNB decides on a transmission.
    Grant(GrantRecord),
    /// A transport block ends.
    Block(BlockRecord),
    /// A UE sends control information.
    Control(ControlRecord),
    /// A UE with DRX wakes or falls asleep.
    Drx(DrxState),
    /// RLC puts a PDU into a transport block.
    Pdu(PduRecord),
    /// A packet enters or leaves a bearer.
    Sdu(SduRecord),
    /// A UE changes or loses its cell.
    Rrc(RrcRecord),
}

impl RadioEvent {
    /// The end of a transmission from this PRB on.
    pub(crate) fn ended(
        access: &Access,
        transmission: Transmission,
        first: u16,
        outcome: BlockOutcome,
    ) -> Self {
        let modulation = access.scheme(transmission.mcs).modulation.order() as u8;
        RadioEvent::Block(BlockRecord { transmission, modulation, first, outcome })
    }

    fn layer(&self) -> Layer {
        match self {
            RadioEvent::Grant(_) | RadioEvent::Block(_) | RadioEvent::Control(_) | RadioEvent::Drx(_) => {
                Layer::Mac
            }
            RadioEvent::Pdu(_) => Layer::Rlc,
            RadioEvent::Sdu(_) => Layer::Pdcp,
            RadioEvent::Rrc(_) => Layer::Rrc,
        }
    }
}

/// A transmission of a transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// Direction.
    pub direction: Direction,
    /// Carrier of the cell.
    pub carrier: CarrierId,
    /// HARQ process on the carrier.
    pub process: u8,
    /// Number of the transmission: 1 is new data, higher numbers are HARQ retransmissions.
    pub number: u8,
    /// Modulation and coding scheme.
    pub mcs: Mcs,
    /// Layers.
    pub layers: u8,
    /// PRBs.
    pub prbs: Prbs,
    /// Size of the transport block.
    pub size: Bytes,
}

impl Transmission {
    /// The transmission of a block on these PRBs.
    pub(crate) fn of(
        block: &Block,
        direction: Direction,
        carrier: CarrierId,
        process: u8,
        prbs: Prbs,
    ) -> Self {
        let &Block { mcs, rank: layers, size, transmissions: number, .. } = block;
        Transmission { direction, carrier, process, number, mcs, layers, prbs, size }
    }
}

/// A downlink assignment or an uplink grant, when the eNB decides it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantRecord {
    /// Transmission to come.
    pub transmission: Transmission,
    /// Time of the transmission on air.
    pub on_air: Time,
    /// First PRB.
    pub first: u16,
    /// RBGs of the downlink, one bit each; 0 in the uplink, whose PRBs are contiguous.
    pub rbgs: u32,
    /// CQI on which the MCS of a new downlink block is based.
    pub cqi: Option<Cqi>,
    /// TPC command of a grant for a new uplink block.
    pub command: Option<Db>,
    /// Whether it is a configured grant, which has no PDCCH.
    pub is_configured: bool,
}

/// Outcome of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOutcome {
    /// The block was decoded.
    Decoded,
    /// The block was not decoded.
    Failed,
    /// The UE did not decode the assignment or grant.
    GrantLost,
    /// There was nothing to send, so that nothing was on air.
    Unused,
}

impl BlockOutcome {
    /// Words of the outcomes in results, in the order of declaration.
    pub const WORDS: [&str; 4] = ["decoded", "failed", "grant-lost", "unused"];
}

impl From<Reception> for BlockOutcome {
    fn from(reception: Reception) -> BlockOutcome {
        match reception {
            Reception::Decoded => BlockOutcome::Decoded,
            Reception::Failed => BlockOutcome::Failed,
            Reception::AssignmentLost => BlockOutcome::GrantLost,
        }
    }
}

/// Outcome of an assignment or a grant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRecord {
    /// Transmission.
    pub transmission: Transmission,
    /// Bits per symbol of its modulation.
    pub modulation: u8,
    /// First PRB.
    pub first: u16,
    /// Outcome.
    pub outcome: BlockOutcome,
}

/// Control information of a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlRecord {
    /// Content.
    pub content: Control,
    /// HARQ process of the block that contains it; `None`: it is sent outside of blocks.
    pub process: Option<u8>,
}

/// Content of control information.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Scheduling request.
    Request,
    /// Buffer status report, not quantised.
    Buffer(Bytes),
    /// Power headroom report.
    Headroom(Db),
}

/// A packet that enters or leaves a bearer: an SDU of PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SduRecord {
    /// Direction.
    pub direction: Direction,
    /// Bearer.
    pub bearer: BearerId,
    /// Packet.
    pub packet: Key,
    /// Size with the headers of IP and PDCP.
    pub size: Bytes,
    /// Time since it has entered the bearer in its present cell.
    pub waited: Span,
    /// Event.
    pub event: SduEvent,
}

/// Event of an SDU of PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SduEvent {
    /// It enters the bearer at the transmitter; after a handover that forwards it once more.
    Arrived,
    /// The receiver delivers it, in order.
    Delivered,
    /// It is dropped.
    Dropped(DropCause),
}

/// A PDU in a transport block, when the block is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct PduRecord {
    /// Direction of the block.
    pub direction: Direction,
    /// Bearer.
    pub bearer: BearerId,
    /// Carrier of the block.
    pub carrier: CarrierId,
    /// HARQ process of the block on the carrier.
    pub process: u8,
    /// The PDU.
    pub pdu: TracedPdu,
    /// Bytes that wait in the bearer for their first transmission afterwards.
    pub queue: Bytes,
}

/// Event of RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcEvent {
    /// The UE leaves its cell for another one.
    HandoverStart,
    /// The new cell serves the UE.
    HandoverEnd,
    /// The target refuses the UE, or the UE does not reach it.
    HandoverFailure,
    /// Radio link failure.
    LinkFailure,
    /// A cell serves the UE again after a failure.
    Reestablishment,
    /// The promotion of a released UE has ended.
    Connected,
}

/// Cause of an event of RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcCause {
    /// A measurement report of the UE.
    MeasurementReport,
    /// The target has no free slot.
    NoSlot,
    /// The SINR of the control channels is too low.
    LowSinr,
    /// Expiry of the timer for an out-of-sync link.
    OutOfSync,
    /// RLC has reached its maximum of retransmissions.
    MaxRetransmissions,
    /// Cell search after a failure.
    CellSearch,
    /// Data of a released UE.
    Data,
}

/// An event of RRC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RrcRecord {
    /// Event.
    pub event: RrcEvent,
    /// Cause.
    pub cause: RrcCause,
    /// Other cell, if one is involved: the target of a handover.
    pub to: Option<CellId>,
    /// RSRP of the serving cell, if it is measured.
    pub rsrp: Option<Dbm>,
    /// RSRP of the other cell.
    pub to_rsrp: Option<Dbm>,
}

/// Collects the records that an observer requests, until it takes them.
#[derive(Default)]
pub(crate) struct Tracer(Option<Box<Tracing>>);

struct Tracing {
    filter: RadioFilter,
    records: Vec<RadioRecord>,
}

impl Tracer {
    /// Collects the records that pass a filter.
    pub fn observe(&mut self, filter: RadioFilter) {
        self.0 = Some(Box::new(Tracing { filter, records: Vec::new() }));
    }

    /// Whether there is an observer.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Notes a record, if it is wanted.
    #[cold]
    pub fn note(&mut self, record: RadioRecord) {
        if let Some(Tracing { filter, records }) = self.0.as_deref_mut()
            && filter.wants(record.layer(), record.at, record.ue)
        {
            records.push(record);
        }
    }

    /// Moves the records to the end of a list.
    pub fn take(&mut self, into: &mut Vec<RadioRecord>) {
        if let Some(tracing) = &mut self.0 {
            into.append(&mut tracing.records);
        }
    }
}
