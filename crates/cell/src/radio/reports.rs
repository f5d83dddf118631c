//! Cache of channel reports, keyed by the transmissions of the other cells during the measurement.

use crate::mac::sched::{ChannelState, Rbgs};
use crate::phy::Cqi;
use airwnd_units::Db;

/// Patterns cached per cell.
const CACHED: usize = 256;

/// Channel reports of one cell's UEs: a direct-mapped cache, whose places are patterns or TTIs.
#[derive(Default)]
pub(crate) struct Reports {
    places: usize,
    /// Transmissions of the other cells, `[place * cells + cell]`, own entry empty. Empty if places are TTIs.
    patterns: Vec<Rbgs>,
    cells: usize,
    /// `[place * slots + slot]`; the row after the last place has the reports that are held.
    states: Vec<ChannelState>,
    measured: Vec<Measured>,
    slots: usize,
    /// The last report of each UE's flat channel, by slot, if places are TTIs.
    last: Vec<Last>,
}

/// A report of a UE's flat channel, and what it depends on.
#[derive(Clone)]
struct Last {
    ue: u32,
    version: u64,
    /// Transmissions of the UE's neighbours; empty if its own cell was silent.
    sent: Vec<Rbgs>,
    report: (ChannelState, Db),
}

/// UE and channel state of a cached report, its mean SINR, and a copy of what is read in every TTI.
#[derive(Clone, Copy)]
struct Measured {
    ue: u32,
    rank: u8,
    wideband: Cqi,
    flat: Option<Cqi>,
    version: u64,
    sinr: Db,
}

const EMPTY: Measured =
    Measured { ue: u32::MAX, rank: 1, wideband: Cqi::OUT_OF_RANGE, flat: None, version: 0, sinr: Db(0.0) };

/// A cached report.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    /// Index of the report among those of its cell.
    pub index: u32,
    /// Layers of a block.
    pub rank: u8,
    /// CQI for a block over the whole carrier.
    pub wideband: Cqi,
    /// CQI for a block in an RBG, if it is the same in all of them.
    pub flat: Option<Cqi>,
}

impl Reports {
    /// A cache by the transmissions of all other cells.
    pub fn by_pattern(cells: usize) -> Reports {
        Reports {
            places: CACHED,
            patterns: vec![Rbgs::default(); CACHED * cells],
            cells,
            ..Reports::default()
        }
    }

    /// A cache by this number of TTIs.
    pub fn by_tti(places: usize) -> Reports {
        Reports { places, ..Reports::default() }
    }

    /// Reserves space for this many UEs; growing clears the cache.
    pub fn reserve(&mut self, slots: usize) {
        if slots > self.slots {
            let (states, measured) =
                (self.states.split_off(self.held_row()), self.measured.split_off(self.held_row()));
            self.slots = slots;
            self.states.clear();
            self.states.resize(self.held_row(), ChannelState::new(Cqi::OUT_OF_RANGE, []));
            self.states.extend(states);
            self.states.resize(self.held_row() + slots, ChannelState::new(Cqi::OUT_OF_RANGE, []));
            self.measured.clear();
            self.measured.resize(self.held_row(), EMPTY);
            self.measured.extend(measured);
            self.measured.resize(self.held_row() + slots, EMPTY);
            if self.patterns.is_empty() {
                let report = (ChannelState::new(Cqi::OUT_OF_RANGE, []), Db(0.0));
                self.last.resize(slots, Last { ue: u32::MAX, version: 0, sent: Vec::new(), report });
            }
        }
    }

    /// The last report of a UE's flat channel, if its neighbours sent the same then. Otherwise their transmissions are
    /// noted for the next one.
    pub fn repeated(
        &mut self,
        slot: u16,
        (ue, version): (u32, u64),
        sent: impl Iterator<Item = Rbgs> + Clone,
    ) -> Option<(ChannelState, Db)> {
        let last = &mut self.last[usize::from(slot)];
        if last.ue == ue && last.version == version && last.sent.iter().copied().eq(sent.clone()) {
            return Some(last.report);
        }
        (last.ue, last.version) = (ue, version);
        last.sent.clear();
        last.sent.extend(sent);
        None
    }

    /// Stores the last report of a UE's flat channel.
    pub fn note_last(&mut self, slot: u16, report: (ChannelState, Db)) {
        self.last[usize::from(slot)].report = report;
    }

    /// The place of a pattern, the transmissions of all other cells.
    pub fn place(&mut self, other: impl Fn(usize) -> Rbgs) -> usize {
        let hash = (0..self.cells)
            .fold(0u32, |hash, index| (hash ^ other(index).0).wrapping_mul(0x9e37_79b1).rotate_left(13));
        let place = hash as usize % CACHED;
        let pattern = &mut self.patterns[place * self.cells..][..self.cells];
        if pattern.iter().enumerate().any(|(index, sent)| *sent != other(index)) {
            for (index, sent) in pattern.iter_mut().enumerate() {
                *sent = other(index);
            }
            self.measured[place * self.slots..][..self.slots].fill(EMPTY);
        }
        place
    }

    /// The pattern of a place.
    pub fn pattern(&self, place: usize) -> &[Rbgs] {
        &self.patterns[place * self.cells..][..self.cells]
    }

    /// A UE's report for a pattern, if it is cached for this state of the channel.
    #[inline]
    pub fn find(&self, place: usize, slot: u16, ue: u32, version: u64) -> Option<Report> {
        let index = place * self.slots + slot as usize;
        let Measured { rank, wideband, flat, .. } = self.measured[index];
        let is_known = self.measured[index].ue == ue && self.measured[index].version == version;
        is_known.then_some(Report { index: index as u32, rank, wideband, flat })
    }

    /// Stores a UE's report for a pattern.
    pub fn keep(
        &mut self,
        place: usize,
        slot: u16,
        (ue, version): (u32, u64),
        (state, sinr): (ChannelState, Db),
    ) -> Report {
        let index = place * self.slots + slot as usize;
        let ChannelState { rank, wideband, flat, .. } = state;
        self.states[index] = state;
        self.measured[index] = Measured { ue, rank, wideband, flat, version, sinr };
        Report { index: index as u32, rank, wideband, flat }
    }

    fn held_row(&self) -> usize {
        self.places * self.slots
    }

    /// Holds a report of a UE that goes to sleep.
    pub fn hold(&mut self, slot: u16, report: Report) {
        let (from, to) = (report.index as usize, self.held_row() + usize::from(slot));
        (self.states[to], self.measured[to]) = (self.states[from], self.measured[from]);
    }

    /// The held report of a UE, if there is one.
    pub fn held(&self, slot: u16, ue: u32) -> Option<Report> {
        let index = self.held_row() + usize::from(slot);
        let Measured { rank, wideband, flat, .. } = self.measured[index];
        (self.measured[index].ue == ue).then_some(Report { index: index as u32, rank, wideband, flat })
    }

    /// Drops the held report of a slot.
    pub fn drop_held(&mut self, slot: u16) {
        let index = self.held_row() + usize::from(slot);
        self.measured[index] = EMPTY;
    }

    /// All reports, by index.
    pub fn states(&self) -> &[ChannelState] {
        &self.states
    }

    /// The mean SINR over the PRBs of a report.
    pub fn sinr(&self, at: usize) -> Db {
        self.measured[at].sinr
    }
}
