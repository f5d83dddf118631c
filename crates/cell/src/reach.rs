//! Which UEs a cell reaches, and which cells a UE reaches.

use crate::mac::BlockFigures;
use crate::phy::{Cqi, Prbs};
use airwnd_units::Db;

/// Whether data gets across one direction of a UE's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Link adaptation allows transmissions.
    Reached,
    /// Nothing was ever decoded, and link adaptation allows no transmission or all of them failed.
    OutOfReach,
}

impl Reach {
    /// The words of the values, in their order.
    pub const WORDS: &'static [&'static str] = &["reached", "out of reach"];

    /// From what has become of the blocks, and whether link adaptation allows any now.
    pub(crate) fn of(blocks: &BlockFigures, allowed: bool) -> Reach {
        let decoded = blocks.all > blocks.all_failed;
        let all_failed = blocks.all > 0 && !decoded;
        if !decoded && (all_failed || !allowed) { Reach::OutOfReach } else { Reach::Reached }
    }
}

/// The best that link adaptation can expect of a UE's link: no other cell or UE sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBudget {
    /// SINR of the downlink without interference.
    pub downlink: Db,
    /// SINR of the downlink while all cells send on all their PRBs.
    pub downlink_at_full_load: Db,
    /// CQI of the downlink without interference.
    pub downlink_cqi: Cqi,
    /// The uplink.
    pub uplink: UplinkBudget,
}

/// The best that link adaptation can expect of a UE's uplink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkBudget {
    /// SINR on each PRB if it sends over the whole carrier.
    pub carrier: Db,
    /// SINR on each PRB of the narrowest grant.
    pub narrow: Db,
    /// The narrowest grant.
    pub narrowest: Prbs,
    /// CQI on which link adaptation bases the narrowest grant; out of range: the UE is never granted anything.
    pub cqi: Cqi,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_decoded_is_needed_to_be_out_of_reach() {
        let blocks = |all, all_failed| BlockFigures { all, all_failed, ..BlockFigures::default() };
        assert_eq!(Reach::of(&blocks(0, 0), true), Reach::Reached, "nothing was to be sent");
        assert_eq!(Reach::of(&blocks(0, 0), false), Reach::OutOfReach);
        assert_eq!(Reach::of(&blocks(9, 9), true), Reach::OutOfReach);
        assert_eq!(Reach::of(&blocks(9, 8), false), Reach::Reached, "it has been in reach");
    }
}
