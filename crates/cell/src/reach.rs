//! Coverage: whether data can be transmitted over a UE's link.

use crate::mac::BlockFigures;
use airwnd_phy::{Cqi, Prbs};
use airwnd_units::Db;

/// Whether data can be transmitted in one direction of a UE's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Link adaptation allows transmissions.
    Reached,
    /// No block was ever decoded, and link adaptation allows no transmission or all of them failed.
    OutOfReach,
}

impl Reach {
    /// Words of the values, in declaration order.
    pub const WORDS: &'static [&'static str] = &["reached", "out of reach"];

    /// The reach, from the counters of blocks and whether link adaptation currently allows a transmission.
    pub(crate) fn of(blocks: &BlockFigures, allowed: bool) -> Reach {
        let decoded = blocks.all > blocks.all_failed;
        let all_failed = blocks.all > 0 && !decoded;
        if !decoded && (all_failed || !allowed) { Reach::OutOfReach } else { Reach::Reached }
    }
}

/// Best case of link adaptation for a UE's link: no other cell or UE sends.
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

/// Best case of link adaptation for a UE's uplink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkBudget {
    /// SINR per PRB of a transmission over the whole carrier.
    pub carrier: Db,
    /// SINR per PRB of the narrowest grant.
    pub narrow: Db,
    /// The narrowest grant.
    pub narrowest: Prbs,
    /// CQI on which link adaptation bases the narrowest grant; out of range: the UE never gets a grant.
    pub cqi: Cqi,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_with_a_decoded_block_is_in_reach() {
        let blocks = |all, all_failed| BlockFigures { all, all_failed, ..BlockFigures::default() };
        assert_eq!(Reach::of(&blocks(0, 0), true), Reach::Reached, "no data to send");
        assert_eq!(Reach::of(&blocks(0, 0), false), Reach::OutOfReach);
        assert_eq!(Reach::of(&blocks(9, 9), true), Reach::OutOfReach);
        assert_eq!(Reach::of(&blocks(9, 8), false), Reach::Reached, "it has been in reach");
    }
}
