//! Channel reports, remembered by what the other cells sent when they were measured.

use crate::mac::sched::{ChannelState, Rbgs};
use crate::phy::Cqi;
use airwnd_units::Db;

/// Patterns remembered per cell.
const REMEMBERED: usize = 256;

/// Channel reports of one cell's users: a direct-mapped cache.
#[derive(Default)]
pub(crate) struct Reports {
    /// What the other cells sent, `[place * cells + cell]`, own entry empty.
    patterns: Vec<Rbgs>,
    cells: usize,
    /// `[place * slots + slot]`
    states: Vec<ChannelState>,
    measured: Vec<Measured>,
    slots: usize,
}

/// Whose report it is, of which of its channel's states, and the mean SINR behind it.
#[derive(Clone, Copy)]
struct Measured {
    ue: u32,
    version: u64,
    sinr: Db,
}

const NOBODY: Measured = Measured { ue: u32::MAX, version: 0, sinr: Db(0.0) };

impl Reports {
    /// An empty memory with a place for this many users.
    pub fn new(cells: usize, slots: usize) -> Reports {
        let mut reports =
            Reports { patterns: vec![Rbgs::default(); REMEMBERED * cells], cells, ..Reports::default() };
        reports.reserve(slots);
        reports
    }

    /// Makes room for this many users; what is known is forgotten if there was none.
    pub fn reserve(&mut self, slots: usize) {
        if slots > self.slots {
            self.slots = slots;
            self.states.clear();
            self.states.resize(REMEMBERED * slots, ChannelState::new(Cqi::OUT_OF_RANGE, []));
            self.measured.clear();
            self.measured.resize(REMEMBERED * slots, NOBODY);
        }
    }

    /// Where the reports of a pattern are kept: what each other cell sends.
    pub fn place(&mut self, other: impl Fn(usize) -> Rbgs) -> usize {
        let hash = (0..self.cells)
            .fold(0u32, |hash, index| (hash ^ other(index).0).wrapping_mul(0x9e37_79b1).rotate_left(13));
        let place = hash as usize % REMEMBERED;
        let pattern = &mut self.patterns[place * self.cells..][..self.cells];
        if pattern.iter().enumerate().any(|(index, sent)| *sent != other(index)) {
            for (index, sent) in pattern.iter_mut().enumerate() {
                *sent = other(index);
            }
            self.measured[place * self.slots..][..self.slots].fill(NOBODY);
        }
        place
    }

    /// What the other cells send in the pattern of a place.
    pub fn pattern(&self, place: usize) -> &[Rbgs] {
        &self.patterns[place * self.cells..][..self.cells]
    }

    /// Where a user's report lies for a pattern, and whether it is that of this state of its channel.
    pub fn find(&self, place: usize, slot: u16, ue: u32, version: u64) -> (usize, bool) {
        let at = place * self.slots + slot as usize;
        let known = &self.measured[at];
        (at, known.ue == ue && known.version == version)
    }

    /// Keeps a report where [`Reports::find`] said.
    pub fn keep(&mut self, at: usize, ue: u32, version: u64, (state, sinr): (ChannelState, Db)) {
        self.states[at] = state;
        self.measured[at] = Measured { ue, version, sinr };
    }

    /// All reports, by where they lie.
    pub fn states(&self) -> &[ChannelState] {
        &self.states
    }

    /// The mean SINR over the PRBs behind a report.
    pub fn sinr(&self, at: usize) -> Db {
        self.measured[at].sinr
    }
}
