//! Figures of the network, and records for observers.

use super::Ran;
use crate::enb::{Allocation, Cell, Downlink, FREE_SLOT};
use crate::identity::{BearerId, CellId, UeId};
use crate::mac::BlockFigures;
use crate::mac::uplink_adaptation::Density;
use crate::reach::{LinkBudget, Reach, UplinkBudget};
use crate::trace::{RadioFilter, RadioRecord};
use airwnd_kernel::{Direction, Key};
use airwnd_links::aqm::Backlog;
use airwnd_phy::{Cqi, Mcs, Position, Prbs};
use airwnd_units::{Db, Dbm, Span, Time, Tti};
use std::ops::Range;

/// A UE's figures so far.
#[derive(Clone, Copy, Debug)]
pub struct UeFigures {
    /// Position.
    pub position: Position,
    /// Serving cell.
    pub cell: CellId,
    /// Newest sample of the reported SINR.
    pub sinr: Option<Db>,
    /// Mean over time of the reported SINR, in dB.
    pub mean_sinr: Option<Db>,
    /// RSRP: power of one reference-signal resource element.
    pub rsrp: Dbm,
    /// Downlink blocks.
    pub downlink: BlockFigures,
    /// Uplink blocks.
    pub uplink: BlockFigures,
    /// SINR of the last sounding signal, which covers the carrier.
    pub sounding_sinr: Option<Db>,
    /// Whether data can be transmitted in the downlink.
    pub downlink_reach: Reach,
    /// Whether data can be transmitted in the uplink.
    pub uplink_reach: Reach,
    /// Radio link failures, including RLC maximum retransmissions (maxRetxThreshold).
    pub failures: u64,
    /// Number of handovers.
    pub handovers: u64,
}

impl UeFigures {
    /// Transport blocks of one direction.
    pub fn blocks(&self, direction: Direction) -> BlockFigures {
        match direction {
            Direction::Down => self.downlink,
            Direction::Up => self.uplink,
        }
    }
}

/// A cell's figures at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct CellFigures {
    /// Number of UEs served.
    pub users: usize,
    /// PRBs in one TTI of the downlink, with secondary carriers, and of the uplink.
    pub prbs: [Prbs; 2],
    /// Parts of the TTIs with downlink data and with uplink data: less than one in TDD.
    pub shares: [f64; 2],
    /// PRBs used for downlink data, retransmissions included.
    pub downlink_prbs: u64,
    /// Bytes of decoded downlink blocks.
    pub downlink_bytes: u64,
    /// PRBs used for uplink data.
    pub uplink_prbs: u64,
    /// Bytes of decoded uplink blocks.
    pub uplink_bytes: u64,
}

impl Ran {
    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.home.len()
    }

    /// Number of a UE's bearers, the default bearer included.
    pub fn bearers_of(&self, ue: UeId) -> u8 {
        self.ue(ue).bearers.count()
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells().count()
    }

    /// Time from the delivery of a packet by RLC until it leaves the receiver.
    pub fn decoding(&self) -> Span {
        self.access.timing.decoding
    }

    /// Time from the TTI at whose start a packet waits at an idle UE to its arrival at the eNB, averaged over the
    /// phases of scheduling requests.
    pub fn uplink_crossing(&self) -> Span {
        let timing = &self.access.timing;
        let table = &self.regions[0].table;
        let requested = table.request_grants();
        let until_request = if requested { table.request_period() / 2 } else { 0 };
        let slots = until_request + timing.uplink_wait(requested);
        Span(slots * self.access.clock.slot().0) + timing.uplink_duration + timing.decoding
    }

    /// Time from the TTI at whose start a packet waits at the eNB to its arrival at the UE, if one block carries it.
    pub fn downlink_crossing(&self) -> Span {
        let timing = &self.access.timing;
        Span((timing.downlink_wait() + 1) * self.access.clock.slot().0) + timing.decoding
    }

    /// The MCS of blocks to a UE that reports this CQI, without outer-loop link adaptation.
    pub fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.access.mcs_of(cqi)
    }

    /// The packets inside: queued, on air, or waiting for reassembly.
    pub fn inside(&self) -> impl Iterator<Item = Key> + '_ {
        UeId::all(self.ues())
            .map(|number| self.ue(number))
            .flat_map(|ue| ue.bearers.iter().flat_map(|bearer| [&bearer.downlink, &bearer.uplink]))
            .flat_map(|leg| leg.rlc.inside().map(|sdu| sdu.packet))
    }

    /// Downlink backlog of a UE's bearers at the eNB.
    pub fn backlog(&self, ue: UeId) -> Backlog {
        let mut sum = Backlog::default();
        for bearer in 0..self.ue(ue).bearers.count() {
            let backlog = self.backlog_of(ue, BearerId(bearer));
            sum = Backlog { bytes: sum.bytes + backlog.bytes, packets: sum.packets + backlog.packets };
        }
        sum
    }

    /// Downlink backlog of a bearer at the eNB.
    pub fn backlog_of(&self, ue: UeId, bearer: BearerId) -> Backlog {
        self.ue(ue).bearers[bearer.0].downlink.rlc.backlog()
    }

    /// A UE's figures so far.
    pub fn ue_figures(&self, ue: UeId) -> UeFigures {
        let region = &self.regions[usize::from(self.home[ue.index()])];
        let (number, ue) = (ue, &region.table.ues[ue]);
        let uplink = &region.cell(ue.cell).uplink;
        UeFigures {
            position: self.radio.position(number),
            cell: ue.cell,
            sinr: ue.sinr,
            mean_sinr: (ue.sinr_samples > 0).then(|| Db(ue.sinr_sum / ue.sinr_samples as f64)),
            rsrp: self.radio.rsrp(number, ue.cell),
            downlink: ue.downlink.blocks,
            uplink: ue.uplink.blocks,
            sounding_sinr: uplink.sounding_sinr(ue.slot),
            downlink_reach: Reach::of(&ue.downlink.blocks, self.radio.reaches(number)),
            uplink_reach: Reach::of(&ue.uplink.blocks, uplink.reaches(ue.slot)),
            failures: ue.failures,
            handovers: ue.handovers,
        }
    }

    /// A UE's downlink blocks so far.
    pub fn downlink_blocks(&self, ue: UeId) -> BlockFigures {
        self.ue(ue).downlink.blocks
    }

    /// Mean PRBs per TTI of the downlink carriers of a UE.
    pub fn downlink_prbs(&self, ue: UeId) -> f64 {
        let carriers = self.ue(ue).carriers.into();
        let prbs: u16 = self.radio.all().take(carriers).map(|radio| radio.prbs().0).sum();
        f64::from(prbs) * self.access.timing.shares()[0]
    }

    /// Fraction of the time until now in which a UE has monitored the PDCCH.
    pub fn awake(&self, ue: UeId, now: Time) -> f64 {
        self.ue(ue).awake(self.access.clock, now)
    }

    /// The best case of link adaptation for a UE's link at its current position.
    pub fn link_budget(&self, ue: UeId) -> LinkBudget {
        let number = ue;
        let snr = |prbs| self.radio.uplink_snr(number, prbs, &self.rules.power_control, Db(0.0));
        let carrier = snr(self.radio.prbs());
        let headroom = self.rules.power_control.headroom(Prbs(1), self.radio.loss(number), Db(0.0));
        let density = Density::alone(headroom, snr(Prbs(1)));
        let (narrowest, cqi) = self.schemes.narrowest(carrier, density);
        let (downlink, downlink_cqi) = self.radio.downlink_snr(number);
        LinkBudget {
            downlink,
            downlink_at_full_load: self.radio.control_sinr(number, self.radio.serving(number)),
            downlink_cqi,
            uplink: UplinkBudget { carrier, narrow: snr(narrowest), narrowest, cqi },
        }
    }

    /// Bytes per TTI that a cell carries to one of its UEs without errors if it serves no other: the sum over the RBGs of
    /// the block sizes of the newest channel report. `None` while the UE changes cells.
    pub fn whole_cell(&mut self, ue: UeId) -> Option<f64> {
        let Ran { radio, regions, home, next, .. } = self;
        regions[usize::from(home[ue.index()])].whole_cell(radio, ue, *next)
    }

    /// The strongest cell at a UE other than its serving one, and its RSRP.
    pub fn neighbour(&self, ue: UeId) -> Option<(CellId, Dbm)> {
        let number = ue;
        let best = self.radio.strongest_but(number, self.radio.serving(number))?;
        Some((best, self.radio.rsrp(number, best)))
    }

    /// The cells' figures so far.
    pub fn cell_figures(&self) -> impl Iterator<Item = CellFigures> + '_ {
        let downlink = Prbs(self.radio.all().map(|radio| radio.prbs().0).sum());
        self.cells().map(move |cell| CellFigures {
            users: cell.users.iter().filter(|user| **user != FREE_SLOT).count(),
            prbs: [downlink, self.radio.prbs()],
            shares: self.access.timing.shares(),
            downlink_prbs: cell.downlinks.iter().map(|downlink| downlink.figures.prbs).sum(),
            downlink_bytes: cell.downlinks.iter().map(|downlink| downlink.figures.bytes).sum(),
            uplink_prbs: cell.uplink.figures.prbs,
            uplink_bytes: cell.uplink.figures.bytes,
        })
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.regions.iter().flat_map(|region| &region.cells)
    }

    /// Logs the downlink transmissions on air in these TTIs.
    pub fn log_allocations(&mut self, ttis: Range<Tti>) {
        let cells = self.regions.iter_mut().flat_map(|region| &mut region.cells);
        for downlink in cells.flat_map(|cell| &mut cell.downlinks) {
            downlink.keep_log(ttis.clone());
        }
    }

    /// Memory for the logged downlink transmissions, in bytes.
    pub fn allocations_bytes(&self) -> usize {
        let logs = self.cells().flat_map(|cell| &cell.downlinks).filter_map(Downlink::log);
        // They are copied and converted to a table.
        logs.map(|log| 3 * log.rows.len() * size_of::<Allocation>()).sum()
    }

    /// The logged downlink transmissions, by TTI, cell and carrier; `None` if logging is disabled.
    pub fn allocations(&self) -> Option<Vec<Allocation>> {
        let downlinks = self.cells().flat_map(|cell| &cell.downlinks);
        let logs = downlinks.map(|downlink| downlink.log().map(|log| &log.rows));
        let mut all: Vec<Allocation> =
            logs.collect::<Option<Vec<_>>>()?.into_iter().flatten().copied().collect();
        all.sort_by_key(|allocation| (allocation.tti, allocation.cell, allocation.carrier));
        Some(all)
    }

    /// As [`Ran::allocations`], but clears the log.
    pub fn take_allocations(&mut self) -> Option<Vec<Allocation>> {
        let all = self.allocations();
        let cells = self.regions.iter_mut().flat_map(|region| &mut region.cells);
        cells.flat_map(|cell| &mut cell.downlinks).for_each(Downlink::clear_log);
        all
    }

    /// Keeps the records that pass a filter until the owner takes them.
    pub fn observe(&mut self, filter: &RadioFilter) {
        self.events.observe();
        for region in &mut self.regions {
            region.table.observe(filter);
            for cell in &mut region.cells {
                cell.downlinks.iter_mut().for_each(Downlink::observe);
                cell.uplink.observe();
            }
        }
    }

    /// Whether there is an observer.
    pub fn is_observed(&self) -> bool {
        self.regions.iter().any(|region| region.table.trace.is_on())
    }

    /// Moves the records before `now` to the end of a list, in the order of their times, those of one time in the order of
    /// the regions.
    pub fn take_records(&mut self, now: Time, into: &mut Vec<RadioRecord>) {
        let first = into.len();
        for region in &mut self.regions {
            if region.table.has_drx {
                region.table.note_drx(now);
            }
            region.table.trace.take(into);
        }
        into[first..].sort_by_key(|record| record.at);
    }
}
