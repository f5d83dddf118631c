//! Medium access control: scheduling, HARQ, buffer status, power control.

pub(crate) mod channel_reports;
pub mod configured_grant;
pub(crate) mod confined;
pub(crate) mod control_elements;
pub(crate) mod downlink;
pub mod drx;
pub(crate) mod known_channels;
pub(crate) mod log;
pub mod outer_loop;
pub mod pdcch;
pub mod power_control;
pub(crate) mod prioritization;
pub mod scell;
pub mod sched;
pub(crate) mod slots;
pub(crate) mod uplink;
pub mod uplink_adaptation;
pub mod uplink_sched;
pub(crate) mod views;

use crate::phy::Prbs;
use crate::rlc;
use airwnd_units::{Bytes, Tti};

/// Content of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// PDUs of the only bearer of a UE.
    One(rlc::Content),
    /// PDUs of the bearers of a UE with several, stored with the UE under the number of the block's HARQ process.
    Several(u8),
}

/// A transport block and what is needed to send it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub mcs: crate::phy::Mcs,
    /// Layers of its transmissions.
    pub rank: u8,
    pub size: Bytes,
    /// Its content; a grant to an empty buffer is padding.
    pub content: Option<Content>,
    pub soft: crate::phy::error_model::SoftBits,
    /// Transmissions so far, this one included.
    pub transmissions: u8,
}

/// Work due in a later TTI, less than its depth ahead.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline<T> {
    stages: Vec<Vec<T>>,
}

impl<T> Pipeline<T> {
    /// A pipeline of this depth, a power of two, with space for this many entries per TTI.
    pub fn new(depth: usize, entries: usize) -> Self {
        assert!(depth.is_power_of_two(), "{depth} is no power of two");
        Pipeline { stages: (0..depth).map(|_| Vec::with_capacity(entries)).collect() }
    }
    fn place(&self, tti: Tti) -> usize {
        tti.0 as usize & (self.stages.len() - 1)
    }
    /// Reserves capacity for this many entries per TTI.
    pub fn reserve(&mut self, most: usize) {
        self.stages.iter_mut().for_each(|stage| make_room(stage, most));
    }
    /// Adds work to the TTI in which it is due.
    pub fn push(&mut self, due: Tti, work: T) {
        let place = self.place(due);
        self.stages[place].push(work);
    }
    /// Swaps the entries due in this TTI with an empty list.
    pub fn take(&mut self, tti: Tti, into: &mut Vec<T>) {
        into.clear();
        let place = self.place(tti);
        std::mem::swap(&mut self.stages[place], into);
    }
    /// The entry due in this TTI at this place.
    pub fn get(&self, tti: Tti, index: usize) -> Option<T>
    where
        T: Copy,
    {
        self.at(tti).get(index).copied()
    }
    /// Removes the entries due in this TTI.
    pub fn clear(&mut self, tti: Tti) {
        let place = self.place(tti);
        self.stages[place].clear();
    }
    /// Removes entries that are obsolete.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.stages.iter_mut().for_each(|stage| stage.retain(&mut keep));
    }
    /// Entries due in this TTI.
    pub fn at(&self, tti: Tti) -> &[T] {
        &self.stages[self.place(tti)]
    }
    pub fn is_empty(&self) -> bool {
        self.stages.iter().all(Vec::is_empty)
    }
}

/// Reserves capacity for this many entries in total.
pub(crate) fn make_room<T>(list: &mut Vec<T>, most: usize) {
    list.reserve(most.saturating_sub(list.len()));
}

/// Counters of a UE's transport blocks in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockFigures {
    /// First transmissions.
    pub first: u64,
    /// First transmissions that were not decoded.
    pub first_failed: u64,
    /// All transmissions, including retransmissions.
    pub all: u64,
    /// Transmissions after which the block was not decoded.
    pub all_failed: u64,
    /// Sum of the MCS over first transmissions.
    pub mcs_sum: u64,
    /// Sum of the sizes over first transmissions.
    pub bytes_sum: u64,
    /// Bytes of decoded blocks.
    pub decoded_bytes: u64,
    /// Sum of the PRBs over all transmissions.
    pub prbs_sum: u64,
}

impl BlockFigures {
    pub(crate) fn count(&mut self, block: &Block, prbs: Prbs, failed: bool) {
        if block.transmissions == 1 {
            self.first += 1;
            self.first_failed += u64::from(failed);
            self.mcs_sum += u64::from(block.mcs.0);
            self.bytes_sum += block.size.0;
        }
        self.all += 1;
        self.prbs_sum += u64::from(prbs.0);
        self.all_failed += u64::from(failed);
        if !failed {
            self.decoded_bytes += block.size.0;
        }
    }
}
