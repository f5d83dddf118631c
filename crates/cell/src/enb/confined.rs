//! Assignments and grants in a PDCCH of limited capacity.

use crate::identity::{UeId, UeSlot};
use crate::mac::pdcch::Pdcch;
use crate::radio::Air;
use crate::ue::MacSide;
use airwnd_phy::access::Level;

/// The PDCCHs of a cell with the channel that they are sent on.
pub(crate) struct Confined<'a> {
    pub pdcch: &'a mut Pdcch,
    pub air: Air<'a>,
}

impl Confined<'_> {
    /// Takes CCEs for the UE in a slot of the cell; `None`: all of its candidates are taken.
    pub fn assign(&mut self, slot: UeSlot, ues: &MacSide<'_>) -> Option<Level> {
        let level = self.level(ues.number(slot));
        self.pdcch.take(slot, level).map(|_| level)
    }

    /// Takes CCEs for the new data of a direction, in this order. Returns whether all UEs have got some.
    pub fn hold(&mut self, ues: &MacSide<'_>, slots: impl Iterator<Item = UeSlot>) -> bool {
        self.pdcch.start_direction();
        let mut all = true;
        for slot in slots {
            let level = self.level(ues.number(slot));
            all &= self.pdcch.hold(slot, level);
        }
        all
    }

    fn level(&mut self, ue: UeId) -> Level {
        let Air { radio, ref mut receivers } = self.air;
        self.pdcch.level(receivers.control_sinr(radio, ue))
    }
}
