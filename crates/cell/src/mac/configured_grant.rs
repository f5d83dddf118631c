//! Configured grants of the uplink: semi-persistent scheduling in LTE, configured grants of type 1 and 2 in NR.

use super::uplink_adaptation::is_transformable;
use crate::identity::UeSlot;
use airwnd_catalog::Params;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::Mcs;
use airwnd_phy::access::Access;
use airwnd_units::{Span, Tti};

/// Configured grant: PRBs in which a UE may send at periodic occasions without a scheduling request and a grant.
///
/// The cell reserves the PRBs of every occasion, used or not, and gives them to no other UE. A UE without data sends
/// nothing, and one with a grant or a retransmission for the same slot follows that. Data that does not fit is reported
/// in the block, as in any other. The cell chooses offset and PRBs when the UE accesses it, so that the grants of its UEs
/// do not overlap and take at most half of the carrier. A UE for which it has no place sends scheduling requests.
//= exception configured-grants-without-signalling
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.321 §5.10.2; TS 38.321 §5.8.2; TS 38.331 §6.3.2, ConfiguredGrantConfig")]
pub struct Params {
    /// Time between two occasions: whole slots, and in TDD whole periods of the pattern.
    #[param(basic)]
    #[param(default = Span::from_millis(10), range = Span::from_nanos(125_000)..=Span::from_millis(640))]
    #[param(unit = "time", source = "TS 36.331 §6.3.2, SPS-Config, sf10")]
    pub period: Span,
    /// PRBs of an occasion.
    #[param(basic, default = 3, range = 1..=275, unit = "PRBs", source = "a choice: 50 B and more at 5 dB")]
    pub prbs: u16,
    /// MCS; `none`: that of a grant of as many PRBs at this time, as if activated anew by each.
    #[param(default = None, range = 0..=28, unit = "1", source = "TS 38.331 §6.3.2, mcsAndTBS")]
    pub mcs: Option<u8>,
    /// Whether data waits for the next occasion, instead of sending a scheduling request as well.
    #[param(default = true, unit = "1", source = "TS 36.321 §5.4.5, logicalChannelSR-Mask")]
    pub masks_requests: bool,
}

impl Params {
    /// Checks the grant on the primary carrier of a network.
    ///
    /// # Errors
    /// The key at fault, and a message.
    pub fn check_on(&self, carrier: &ComponentCarrier) -> Result<(), (&'static str, String)> {
        let access = carrier.access.in_uplink();
        let unit = Span(access.clock.slot().0 * access.timing.plan.len() as u64);
        if !self.period.0.is_multiple_of(unit.0) {
            let unit_name = if access.timing.plan.len() > 1 { "the TDD pattern" } else { "a slot" };
            return Err(("period", format!("{} is not a multiple of {unit_name}, {unit}", self.period)));
        }
        let (carrier, max) = (access.prbs.0, max_prbs(access.prbs.0));
        if self.prbs > max {
            let message =
                format!("a cell of {carrier} PRBs configures grants of up to {max}, found {}", self.prbs);
            return Err(("prbs", message));
        }
        if access.precodes_uplink && !is_transformable(self.prbs) {
            let message = format!("LTE's uplink has no {} PRBs: only products of 2, 3 and 5", self.prbs);
            return Err(("prbs", message));
        }
        let highest = access.schemes().last().map_or(0, |mcs| mcs.0);
        match self.mcs.filter(|mcs| *mcs > highest) {
            Some(mcs) => Err(("mcs", format!("the highest MCS of the uplink is {highest}, found {mcs}"))),
            None => Ok(()),
        }
    }
}

/// The PRBs of a carrier that configured grants may take in a slot.
// A choice: UEs without them are still served.
fn max_prbs(carrier: u16) -> u16 {
    carrier / 2
}

/// The configured grant of a UE in a cell. Slots are those of the transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Configured {
    /// Slot of the UE in the cell.
    pub slot: UeSlot,
    pub first: u16,
    pub prbs: u16,
    pub mcs: Option<Mcs>,
    offset: u64,
    period: u64,
}

impl Configured {
    /// Whether a slot on air is an occasion.
    pub fn is_at(&self, air: Tti) -> bool {
        air.0 % self.period == self.offset
    }

    /// Whether both have occasions in the same slots.
    fn meets(&self, other: &Configured) -> bool {
        let common = greatest_common_divisor(self.period, other.period);
        self.offset % common == other.offset % common
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The first place for the grant of a UE beside the others of its cell: UEs admitted one after the other have different
/// slots, and in one slot the PRBs beside the others.
pub(crate) fn find_place(
    params: &Params,
    access: &Access,
    slot: UeSlot,
    others: &[Configured],
) -> Option<Configured> {
    let (timing, carrier) = (&access.timing, access.prbs.0);
    let period = access.clock.count(params.period);
    let uplink: Vec<u64> = (0..period).filter(|offset| timing.is_granted(Tti(*offset))).collect();
    let mut offsets = uplink.iter().cycle().skip(slot.index() % uplink.len()).take(uplink.len());
    let at = |offset: u64| {
        let mut first = 0;
        loop {
            let mcs = params.mcs.map(Mcs);
            let found = Configured { slot, first, prbs: params.prbs, mcs, offset, period };
            if first + params.prbs > max_prbs(carrier) {
                return None;
            }
            let blocks = |other: &&Configured| {
                let overlaps = first < other.first + other.prbs && other.first < first + params.prbs;
                overlaps && found.meets(other)
            };
            match others.iter().find(blocks) {
                Some(other) => first = other.first + other.prbs,
                None => return Some(found),
            }
        }
    };
    offsets.find_map(|offset| at(*offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_phy::Prbs;

    /// No PRB belongs to two UEs in any slot, and places are found as long as there are any.
    #[test]
    fn grants_of_a_cell_do_not_overlap() {
        let access = Access::lte(Prbs(25));
        let periods = [10, 20, 8, 5, 40].map(Span::from_millis);
        let mut all: Vec<Configured> = Vec::new();
        for slot in UeSlot::all().take(60) {
            let params = Params { period: periods[slot.index() % 5], ..Params::default() };
            all.extend(find_place(&params, &access, slot, &all));
        }
        assert!(all.len() > 20, "{}", all.len());
        for tti in 0..400 {
            let mut owner = [None; 25];
            for grant in all.iter().filter(|grant| grant.is_at(Tti(tti))) {
                for place in &mut owner[usize::from(grant.first)..usize::from(grant.first + grant.prbs)] {
                    assert_eq!(place.replace(grant.slot), None);
                }
            }
        }
        // Each of 4 places of 3 PRBs in each of 10 slots.
        let mut all = Vec::new();
        for slot in 0..100 {
            all.extend(find_place(&Params::default(), &access, UeSlot(slot), &all));
        }
        assert_eq!(all.len(), 40);
    }
}
