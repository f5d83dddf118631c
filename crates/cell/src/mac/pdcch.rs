//! Capacity of the PDCCH: which assignments and grants of a slot find control channel elements (CCEs).

use crate::identity::UeSlot;
use airwnd_catalog::Params;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::Prbs;
use airwnd_phy::access::{self, ControlRegion, Level};
use airwnd_units::{Db, Tti};

/// Capacity of the PDCCH: each downlink assignment and uplink grant takes CCEs of its slot.
///
/// An assignment or grant takes 1, 2, 4 or 8 CCEs, in NR also 16: the fewest with which the UE misses it with a
/// probability of at most 1 % at its present SINR of the control channels, and as many as there are if none suffices.
/// The error curve is that of 8 CCEs, and half of the CCEs need 3 dB more. The CCEs are in the UE's search space, which
/// differs from slot to slot. A UE whose candidates are all taken is not scheduled in this slot, and its resources go to
/// the UEs that are. Retransmissions of the downlink, and in NR of the uplink, need CCEs too; those of LTE's uplink
/// follow a NACK on the PHICH. Of the two directions, the first to choose alternates between slots with uplink grants.
//= exception pdcch-level-by-present-sinr
//= exception no-common-search-space
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.211 §6.8.1; TS 36.213 §9.1.1; TS 38.211 §7.3.2.2; TS 38.213 §10.1")]
pub struct Params {
    /// Symbols of the PDCCH; `none`: in LTE 3, in NR `radio.access.control_symbols`, which they cannot exceed. In LTE
    /// carriers of up to 10 PRBs have 2 to 4, others 1 to 3.
    #[param(basic, default = None, range = 1..=4, unit = "1", source = "TS 36.211 Table 6.7-1; ns-3 LENA: 3")]
    pub symbols: Option<u8>,
}

impl Params {
    /// Checks the number of symbols.
    ///
    /// # Errors
    /// A key and a message, if one of the carriers cannot have as many.
    pub fn check_on(
        &self,
        access: &access::Spec,
        carriers: &[ComponentCarrier],
    ) -> Result<(), (&'static str, String)> {
        for carrier in carriers {
            access.control_region(carrier.access.prbs, self.symbols).map_err(|why| ("symbols", why))?;
        }
        Ok(())
    }
}

/// SINR at which a UE misses 1 % of the PDCCHs of 8 CCEs: Q((SINR + 8 dB) / 2.42 dB) = 0.01.
// The target is that of the receivers' requirements, TS 36.101 §8.4.1.
const REQUIRED: Db = Db(-2.37);

/// The PDCCHs of a cell on a carrier.
pub(crate) struct Pdcch {
    region: ControlRegion,
    /// Levels that exist, with the SINR that they need.
    levels: Vec<(Level, Db)>,
    /// Slot on air.
    air: Tti,
    /// Taken CCEs, one bit each.
    taken: [u64; 3],
    /// New assignments or grants of the direction that is being scheduled.
    held: Vec<Held>,
    uplink_first: bool,
}

/// CCEs held for new data of a UE.
#[derive(Clone, Copy)]
struct Held {
    slot: UeSlot,
    level: Level,
    first: u16,
}

impl Pdcch {
    pub fn new(params: &Params, access: &access::Spec, prbs: Prbs) -> Pdcch {
        let region = access.control_region(prbs, params.symbols).expect("the symbols were checked");
        Pdcch {
            levels: region.levels().map(|level| (level, REQUIRED - level.gain())).collect(),
            held: Vec::with_capacity(region.cces.into()),
            air: Tti(0),
            taken: [0; 3],
            uplink_first: false,
            region,
        }
    }

    /// Starts the decisions for a slot on air. Returns whether the uplink is scheduled before the downlink.
    pub fn begin(&mut self, air: Tti, has_uplink: bool) -> bool {
        self.air = air;
        self.taken = [0; 3];
        self.held.clear();
        self.uplink_first ^= has_uplink;
        self.uplink_first && has_uplink
    }

    /// The level for a UE with this SINR.
    pub fn level(&self, sinr: Db) -> Level {
        let enough = self.levels.iter().find(|(_, required)| sinr >= *required);
        enough.or(self.levels.last()).expect("a control region has a CCE").0
    }

    /// Takes the first free candidate of the UE in a slot of the cell; returns its first CCE.
    pub fn take(&mut self, slot: UeSlot, level: Level) -> Option<u16> {
        let taken = &mut self.taken;
        let mut candidates = self.region.search_space(self.air, slot.0, level);
        let free = candidates.find(|first| {
            let (word, bits) = bits(*first, level);
            taken[word] & bits == 0
        })?;
        let (word, bits) = bits(free, level);
        taken[word] |= bits;
        Some(free)
    }

    /// Starts with the new data of a direction.
    pub fn start_direction(&mut self) {
        self.held.clear();
    }

    /// Takes CCEs for the new data of the UE in a slot of the cell; returns whether one of its candidates is free.
    pub fn hold(&mut self, slot: UeSlot, level: Level) -> bool {
        let first = self.take(slot, level);
        self.held.extend(first.map(|first| Held { slot, level, first }));
        first.is_some()
    }

    /// Whether CCEs are held for the new data of the UE in a slot of the cell.
    pub fn holds(&self, slot: UeSlot) -> bool {
        self.held.iter().any(|held| held.slot == slot)
    }

    /// The level of the CCEs held for the new data of the UE in a slot of the cell.
    pub fn held(&self, slot: UeSlot) -> Level {
        let held = self.held.iter().find(|held| held.slot == slot);
        held.expect("only UEs with an assignment or grant are served").level
    }

    /// Frees the CCEs held for other UEs than those that are granted resources.
    pub fn keep(&mut self, is_granted: impl Fn(UeSlot) -> bool) {
        let Pdcch { held, taken, .. } = self;
        held.retain(|held| {
            let stays = is_granted(held.slot);
            if !stays {
                let (word, bits) = bits(held.first, held.level);
                taken[word] &= !bits;
            }
            stays
        });
    }
}

/// The bits of some CCEs, in one word: a level divides the number of its first CCE.
fn bits(first: u16, level: Level) -> (usize, u64) {
    (usize::from(first / 64), ((1 << level.cces()) - 1) << (first % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_phy::control_error;

    /// LTE on 10 MHz with two symbols: 25 CCEs.
    fn pdcch() -> Pdcch {
        let params = Params { symbols: Some(2) };
        Pdcch::new(&params, &access::Spec::Lte(Default::default()), Prbs(50))
    }

    #[test]
    fn the_fewest_cces_that_suffice_are_used() {
        let pdcch = pdcch();
        for tenth in -150..=200 {
            let sinr = Db(f64::from(tenth) / 10.0);
            let error = |level: Level| control_error(sinr + level.gain());
            let chosen = pdcch.level(sinr);
            let suffices = |level: &Level| error(*level) <= 0.0101;
            let expected = pdcch.region.levels().find(suffices).unwrap_or(Level::OF_8);
            assert_eq!(chosen, expected, "{sinr}");
        }
        // 3 dB for each half
        let at = |sinr| pdcch.level(Db(sinr)).cces();
        assert_eq!([7.0, 4.0, 1.0, -2.0, -20.0].map(at), [1, 2, 4, 8, 8]);
    }

    #[test]
    fn no_cce_is_taken_twice() {
        let mut pdcch = pdcch();
        for tti in 0..40 {
            pdcch.begin(Tti(tti), true);
            let mut owners = [None; 25];
            for slot in UeSlot::all().take(60) {
                let level = Level::all().nth(slot.index() % 4).unwrap();
                let Some(first) = pdcch.take(slot, level) else { continue };
                for place in &mut owners[usize::from(first)..usize::from(first + level.cces())] {
                    assert_eq!(place.replace(slot), None);
                }
            }
            assert!(owners.iter().filter(|owner| owner.is_some()).count() > 12);
        }
    }

    #[test]
    fn the_directions_take_turns() {
        let mut pdcch = pdcch();
        let turns: Vec<bool> = (0..6).map(|tti| pdcch.begin(Tti(tti), tti != 2)).collect();
        assert_eq!(turns, [true, false, false, true, false, true]);
    }
}
