//! UEs whose channel a cell knows from their blocks, as in 5G-LENA.

use crate::identity::UeSlot;
use crate::mac::sched::settle;
use airwnd_kernel::Direction;
use airwnd_phy::Cqi;
use airwnd_phy::access::Access;
use airwnd_units::{Span, Tti};

/// CQI of the lowest MCS, assumed of the other UEs.
pub(crate) const LOWEST: Cqi = Cqi(1);
/// Time for which a channel is known after a block, in slots of the block's direction.
// 5G-LENA v4.0, NrMacSchedulerNs3::CqiTimerThreshold
const LIFETIME: Span = Span::from_secs(1);

/// When a cell last learned the channel of each UE.
pub(crate) struct KnownChannels {
    lifetime: u64,
    /// By slot.
    last: Vec<Option<Tti>>,
}

impl KnownChannels {
    /// The known channels of a direction; `None`: all are.
    pub fn new(access: &Access, direction: Direction) -> Option<KnownChannels> {
        let [down, up] = access.timing.shares();
        let share = if direction == Direction::Down { down } else { up };
        let lifetime = (access.clock.count(LIFETIME) as f64 / share) as u64;
        access.learns_by_blocks.then(|| KnownChannels { lifetime, last: Vec::new() })
    }

    /// Adds a UE at a slot.
    pub fn admit(&mut self, slot: UeSlot) {
        settle(&mut self.last, slot, None);
    }

    /// Learns the channel of a UE.
    pub fn learn(&mut self, slot: UeSlot, tti: Tti) {
        self.last[slot.index()] = Some(tti);
    }

    /// Forgets the channels of UEs without blocks.
    pub fn forget(&mut self, tti: Tti) {
        let lifetime = self.lifetime;
        self.last.iter_mut().for_each(|last| *last = last.filter(|last| tti.0 - last.0 < lifetime));
    }

    /// Whether the channel of a UE is known.
    pub fn contains(&self, slot: UeSlot) -> bool {
        self.last[slot.index()].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};
    use airwnd_phy::access::nr;
    use airwnd_phy::{Mcs, Prbs};

    fn params(further: &str) -> nr::Params {
        nr::Params::read(&Node::from_toml(&format!("numerology = 1\n{further}"), "test").unwrap()).unwrap()
    }

    fn access(further: &str) -> Access {
        params(further).on(Prbs(51))
    }

    #[test]
    fn the_assumed_cqi_is_that_of_the_lowest_mcs() {
        for table in ["64qam", "256qam", "64qam-low-se"] {
            let access = access(&format!("mcs_table = \"{table}\""));
            assert_eq!(access.mcs_of(LOWEST), Mcs(0), "{table}");
        }
    }

    #[test]
    fn a_channel_is_known_for_a_second_of_slots_of_its_direction() {
        assert!(KnownChannels::new(&access(""), Direction::Down).is_none());
        let quirks = nr::Quirks { first_blocks: nr::FirstBlocks::Lena, ..nr::Quirks::default() };
        let tdd = nr::Params { quirks, ..params("pattern = \"DDDSU\"") }.on(Prbs(51));
        for (direction, slots) in [(Direction::Down, 2500), (Direction::Up, 10_000)] {
            let mut known = KnownChannels::new(&tdd, direction).unwrap();
            known.admit(UeSlot(0));
            assert!(!known.contains(UeSlot(0)));
            known.learn(UeSlot(0), Tti(7));
            known.forget(Tti(6 + slots));
            assert!(known.contains(UeSlot(0)));
            known.forget(Tti(7 + slots));
            assert!(!known.contains(UeSlot(0)));
        }
    }
}
