//! Transport blocks.

use airwnd_phy::error_model::SoftBits;
use airwnd_phy::{Mcs, Prbs};
use airwnd_rlc as rlc;
use airwnd_units::Bytes;

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
    pub mcs: Mcs,
    /// Layers of its transmissions.
    pub rank: u8,
    pub size: Bytes,
    /// Its content; a grant to an empty buffer is padding.
    pub content: Option<Content>,
    pub soft: SoftBits,
    /// Transmissions so far, this one included.
    pub transmissions: u8,
}

/// Outcome of a transmission at the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The block was decoded.
    Decoded,
    /// The block was not decoded; HARQ may retransmit it.
    Failed,
    /// The UE did not decode the assignment.
    AssignmentLost,
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
