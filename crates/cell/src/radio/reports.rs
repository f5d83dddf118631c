//! Cache of channel reports, keyed by the transmissions of the other cells during the measurement.

use crate::identity::{UeId, UeSlot};
use crate::mac::sched::{ChannelState, MAX_RBGS, Rbgs};
use airwnd_phy::Cqi;
use airwnd_units::Db;

/// Patterns cached per cell.
const CACHED: usize = 256;

/// Rows of reports besides those of the places.
const OTHER_ROWS: usize = 2;

/// Place of hashes without a pattern.
const NO_PLACE: u16 = u16::MAX;

/// Channel reports of one cell's UEs: a direct-mapped cache, whose places are patterns or TTIs.
#[derive(Default)]
pub(crate) struct Reports {
    /// Maximum number of places. Memory for all of them is reserved, but not touched before they are used.
    max: usize,
    /// Places in use: all of them if they are TTIs.
    places: usize,
    /// Place by hash of the pattern. Empty if places are TTIs.
    by_hash: Vec<u16>,
    /// Transmissions of the other cells, `[place * cells + cell]`, own entry empty. Empty if places are TTIs.
    patterns: Vec<Rbgs>,
    cells: usize,
    /// Number of times that a place has got another pattern. Empty if places are TTIs.
    replaced: Vec<u64>,
    /// The pattern last looked up, by its number, and its place.
    last_place: Option<(u64, usize)>,
    /// Rows of one report per slot: the newest ones, those that are held, and those of each place.
    states: Vec<ChannelState>,
    measured: Vec<Measured>,
    slots: usize,
}

/// UE and channel state of a cached report, its mean SINR, and a copy of what is read in every TTI.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    ue: UeId,
    rank: u8,
    wideband: Cqi,
    flat: Option<Cqi>,
    version: u64,
    sinr: Db,
}

const NO_REPORT: ChannelState = ChannelState {
    rank: 1,
    wideband: Cqi::OUT_OF_RANGE,
    flat: Some(Cqi::OUT_OF_RANGE),
    subband: [Cqi::OUT_OF_RANGE; MAX_RBGS],
};

const EMPTY: Measured = Measured {
    ue: UeId(u32::MAX),
    rank: 1,
    wideband: Cqi::OUT_OF_RANGE,
    flat: None,
    version: 0,
    sinr: Db(0.0),
};

/// A report that has just been measured.
#[derive(Clone, Copy)]
pub(super) struct NewReport {
    pub state: ChannelState,
    /// Mean SINR over the PRBs.
    pub sinr: Db,
}

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

impl Measured {
    /// The mean SINR, if the report is of this UE and this state of the channel.
    #[inline]
    pub fn sinr_of(&self, ue: UeId, version: u64) -> Option<Db> {
        (self.ue == ue && self.version == version).then_some(self.sinr)
    }
}

impl Reports {
    /// A cache by the transmissions of all other cells.
    pub fn by_pattern(cells: usize) -> Reports {
        Reports {
            max: CACHED,
            by_hash: vec![NO_PLACE; CACHED],
            patterns: Vec::with_capacity(CACHED * cells),
            replaced: Vec::with_capacity(CACHED),
            cells,
            ..Reports::default()
        }
    }

    /// A cache by this number of TTIs.
    pub fn by_tti(places: usize) -> Reports {
        Reports { max: places, places, ..Reports::default() }
    }

    /// Reserves space for this many UEs; growing clears the cache.
    pub fn reserve(&mut self, slots: usize) {
        if slots > self.slots {
            let rows = [self.places, self.max].map(|places| OTHER_ROWS + places);
            grow(&mut self.states, self.slots, slots, rows, NO_REPORT);
            grow(&mut self.measured, self.slots, slots, rows, EMPTY);
            self.slots = slots;
        }
    }

    /// The place of a pattern, the transmissions of all other cells, which follows from its number.
    #[inline]
    pub fn place(&mut self, number: u64, other: impl Fn(usize) -> Rbgs) -> usize {
        match self.last_place {
            // Only another pattern could have taken its place since.
            Some((last, place)) if last == number => place,
            _ => {
                let place = self.find_place(other);
                self.last_place = Some((number, place));
                place
            }
        }
    }

    fn find_place(&mut self, other: impl Fn(usize) -> Rbgs) -> usize {
        let hash = (0..self.cells)
            .fold(0u32, |hash, index| (hash ^ other(index).0).wrapping_mul(0x9e37_79b1).rotate_left(13));
        let hash = hash as usize % CACHED;
        let place = match self.by_hash[hash] {
            NO_PLACE => {
                let place = self.add_place();
                self.by_hash[hash] = place as u16;
                place
            }
            place => place.into(),
        };
        let pattern = &mut self.patterns[place * self.cells..][..self.cells];
        if pattern.iter().enumerate().any(|(index, sent)| *sent != other(index)) {
            for (index, sent) in pattern.iter_mut().enumerate() {
                *sent = other(index);
            }
            self.replaced[place] += 1;
            self.measured[(OTHER_ROWS + place) * self.slots..][..self.slots].fill(EMPTY);
        }
        place
    }

    /// Adds a place with the pattern of silence.
    fn add_place(&mut self) -> usize {
        let place = self.places;
        self.places += 1;
        self.patterns.resize(self.places * self.cells, Rbgs::default());
        self.replaced.push(0);
        let reports = (OTHER_ROWS + self.places) * self.slots;
        self.states.resize(reports, NO_REPORT);
        self.measured.resize(reports, EMPTY);
        place
    }

    /// Number of times that a place has got another pattern.
    pub fn replaced(&self, place: usize) -> u64 {
        self.replaced[place]
    }

    /// The pattern of a place.
    pub fn pattern(&self, place: usize) -> &[Rbgs] {
        &self.patterns[place * self.cells..][..self.cells]
    }

    /// A UE's report for a pattern, if it is cached for this state of the channel.
    #[inline]
    pub fn find(&self, place: usize, slot: UeSlot, ue: UeId, version: u64) -> Option<Report> {
        let index = self.index(place, slot);
        let Measured { rank, wideband, flat, .. } = self.measured[index];
        let is_known = self.measured[index].ue == ue && self.measured[index].version == version;
        is_known.then_some(Report { index: index as u32, rank, wideband, flat })
    }

    /// The cached reports for a pattern, by slot.
    pub fn known_at(&self, place: usize) -> &[Measured] {
        &self.measured[self.index(place, UeSlot(0))..][..self.slots]
    }

    /// Stores a UE's report for a pattern.
    pub fn keep(
        &mut self,
        place: usize,
        slot: UeSlot,
        ue: UeId,
        version: u64,
        NewReport { state, sinr }: NewReport,
    ) -> Report {
        let index = self.index(place, slot);
        let ChannelState { rank, wideband, flat, .. } = state;
        self.states[index] = state;
        self.measured[index] = Measured { ue, rank, wideband, flat, version, sinr };
        Report { index: index as u32, rank, wideband, flat }
    }

    fn index(&self, place: usize, slot: UeSlot) -> usize {
        (OTHER_ROWS + place) * self.slots + slot.index()
    }

    /// Stores a UE's newest report, which remains at its index when its place gets another pattern.
    pub fn keep_newest(&mut self, slot: UeSlot, report: Report) -> Report {
        let index = u32::from(slot.0);
        self.states[slot.index()] = self.states[report.index as usize];
        Report { index, ..report }
    }

    /// Holds a report of a UE that goes to sleep.
    pub fn hold(&mut self, slot: UeSlot, report: Report) {
        let (from, to) = (report.index as usize, self.slots + slot.index());
        (self.states[to], self.measured[to]) = (self.states[from], self.measured[from]);
    }

    /// The held report of a UE, if there is one.
    pub fn held(&self, slot: UeSlot, ue: UeId) -> Option<Report> {
        let index = self.slots + slot.index();
        let Measured { rank, wideband, flat, .. } = self.measured[index];
        (self.measured[index].ue == ue).then_some(Report { index: index as u32, rank, wideband, flat })
    }

    /// Drops the held report of a slot.
    pub fn drop_held(&mut self, slot: UeSlot) {
        self.measured[self.slots + slot.index()] = EMPTY;
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

/// Makes rows longer, keeps those that are not of places, and reserves memory for the largest number of rows.
fn grow<T: Clone>(rows: &mut Vec<T>, before: usize, slots: usize, [count, max]: [usize; 2], empty: T) {
    let others = rows[..OTHER_ROWS * before].to_vec();
    *rows = Vec::with_capacity(max * slots);
    for row in 0..OTHER_ROWS {
        rows.extend_from_slice(&others[row * before..][..before]);
        rows.resize((row + 1) * slots, empty.clone());
    }
    rows.resize(count * slots, empty);
}
