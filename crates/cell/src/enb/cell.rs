//! A cell: its slots, and its MAC.

use super::downlink::Downlink;
use super::uplink::Uplink;
use super::versions::ReportTiming;
use crate::bearer::Bearer;
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::outer_loop::OuterLoop;
use crate::mac::power_control;
use crate::mac::uplink_adaptation::Schemes;
use crate::radio::{Air, Radio, Receivers};
use crate::settings::RanSetup;
use crate::ue::{MacSide, UeTable};
use airwnd_phy::ComponentCarrier;
use airwnd_rlc::BufferStatus;
use airwnd_units::Tti;
use std::ops::Range;

/// Entry of a free slot.
pub(crate) const FREE_SLOT: UeId = UeId(u32::MAX);

/// A cell with a downlink on each carrier, and an uplink on the primary one.
pub(crate) struct Cell {
    /// By slot; [`FREE_SLOT`] in free slots.
    pub users: Vec<UeId>,
    /// By carrier.
    pub downlinks: Vec<Downlink>,
    pub uplink: Uplink,
    /// Slots by offset of the sounding signal; at most one per offset, since each offset is one resource.
    pub sounding: Vec<Option<UeSlot>>,
}

/// Properties that all cells have in common.
pub(crate) struct CellPlan<'a> {
    pub setup: &'a RanSetup,
    pub carriers: &'a [ComponentCarrier],
    /// Link adaptation of the uplink.
    pub schemes: &'a Schemes,
    /// Outer loops of the downlink, by carrier.
    pub outer_loops: &'a [Option<OuterLoop>],
    pub reports: ReportTiming,
    pub srs_period: u64,
}

impl Cell {
    /// The cell with this number and the UEs of its slots.
    ///
    /// # Errors
    /// A message, if two UEs have the same sounding offset, or one does not fit the period.
    pub fn new(plan: &CellPlan<'_>, number: CellId, users: Vec<UeId>) -> Result<Cell, String> {
        let &CellPlan { setup, carriers, schemes, outer_loops, reports, srs_period: period } = plan;
        let downlinks = carriers.iter().zip(outer_loops);
        let mut cell = Cell {
            downlinks: downlinks
                .map(|(carrier, own)| Downlink::new(setup, number, carrier, reports, own.clone()))
                .collect(),
            uplink: Uplink::new(setup, number, &carriers[0].access, schemes.clone(), users.len()),
            sounding: vec![None; period as usize],
            users: Vec::new(),
        };
        for (slot, ue) in UeSlot::all().zip(&users) {
            let site = &setup.ues[ue.index()];
            cell.admit(slot, Bearer::together(site.bearers.iter().map(|bearer| bearer.qos)));
            let offset = site.srs_offset.unwrap_or(slot.0);
            match cell.sounding.get_mut(usize::from(offset)) {
                Some(free @ None) => *free = Some(slot),
                Some(_) => {
                    return Err(format!("two UEs of cell {} have the sounding offset {offset}", number.0));
                }
                None => {
                    return Err(format!(
                        "a sounding offset of {offset} does not fit a period of {period} TTI"
                    ));
                }
            }
        }
        Ok(Cell { users, ..cell })
    }

    /// Reports the backlog of the UE in a slot to the carriers that serve it.
    #[inline(always)]
    pub fn report(&mut self, slot: UeSlot, carriers: u8, waiting: BufferStatus) {
        let (primary, secondary) = self.downlinks.split_first_mut().expect("a cell has carriers");
        primary.on_report(slot, waiting);
        // Mostly there is none, and each packet is reported: a loop over all would cost more than the report.
        if carriers > 1 {
            secondary[..usize::from(carriers) - 1]
                .iter_mut()
                .for_each(|downlink| downlink.on_report(slot, waiting));
        }
    }

    /// Makes the decisions of a TTI on all carriers, and passes the grants that reach the UEs.
    pub fn schedule(
        &mut self,
        tti: Tti,
        radio: &Radio,
        receivers: &mut [Receivers],
        table: &mut UeTable,
        control: &power_control::Params,
    ) {
        let is_uplink_first = self.downlinks[0].begin(tti);
        // The order of the directions matters only if the PDCCH is limited.
        for is_second in [false, true] {
            let Cell { users, downlinks, uplink, .. } = &mut *self;
            let ues = &mut MacSide::new(table, users);
            let air = Air { radio, receivers: &mut receivers[0] };
            if is_uplink_first != is_second {
                uplink.schedule(tti, ues, downlinks[0].confined(air));
                continue;
            }
            downlinks[0].schedule(tti, air, ues);
            if downlinks.len() > 1 {
                self.schedule_secondary(tti, radio, receivers, table);
            }
        }
        let ues = &mut MacSide::new(table, &self.users);
        self.uplink.deliver_grants(tti, Air { radio, receivers: &mut receivers[0] }, ues, control);
    }

    /// Makes the decisions on the secondary carriers, each for what the carriers before it have left in RLC.
    #[cold]
    fn schedule_secondary(
        &mut self,
        tti: Tti,
        radio: &Radio,
        receivers: &mut [Receivers],
        table: &mut UeTable,
    ) {
        let mut index = 0;
        while let Some((slot, left)) = self.downlinks[0].served(index) {
            let air = tti + self.downlinks[0].decision_to_air();
            MacSide::new(table, &self.users).on_primary(slot, air, left.total());
            index += 1;
        }
        self.share_backlogs(0, table);
        for (carrier, receivers) in receivers.iter_mut().enumerate().skip(1) {
            let downlink = &mut self.downlinks[carrier];
            downlink.begin(tti);
            let air = Air { radio: radio.carrier(carrier), receivers };
            downlink.schedule(tti, air, &mut MacSide::new(table, &self.users));
            self.share_backlogs(carrier, table);
        }
    }

    /// Reports what the last decision on a carrier has left in RLC.
    fn share_backlogs(&mut self, carrier: usize, table: &mut UeTable) {
        let mut index = 0;
        while let Some((slot, waiting)) = self.downlinks[carrier].served(index) {
            let carriers = MacSide::new(table, &self.users).carriers(slot);
            self.report(slot, carriers, waiting);
            index += 1;
        }
    }

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        self.downlinks.iter().all(Downlink::is_idle) && self.uplink.is_idle()
    }

    /// Accounts for TTIs without transmissions: averages decay.
    pub fn on_idle(&mut self, ttis: Range<Tti>) {
        self.downlinks.iter_mut().for_each(|downlink| downlink.on_idle(ttis.clone()));
        self.uplink.on_idle(ttis);
    }

    /// Reserves a slot for a UE, if a slot and a sounding resource are free. Returns the slot, and whether it is new.
    pub fn reserve(&mut self, number: UeId, bearer: Bearer) -> Option<(UeSlot, bool)> {
        let Cell { users, sounding, .. } = self;
        let slot = users.iter().position(|user| *user == FREE_SLOT).unwrap_or(users.len());
        let is_new = slot == users.len();
        if is_new {
            if slot == sounding.len() {
                return None;
            }
            users.push(FREE_SLOT);
        }
        users[slot] = number;
        let slot = UeSlot(slot as u16);
        self.admit(slot, bearer);
        Some((slot, is_new))
    }

    /// Gives the UE of a reserved slot a sounding resource.
    pub fn attach(&mut self, slot: UeSlot) {
        let resource = self.sounding.iter_mut().find(|user| user.is_none());
        *resource.expect("each slot has a sounding resource") = Some(slot);
    }

    /// Sets the weight of a UE on all carriers. Returns whether the scheduler has weights.
    pub fn set_weight(&mut self, slot: UeSlot, weight: f64) -> bool {
        self.downlinks.iter_mut().all(|downlink| downlink.set_weight(slot, weight))
    }

    /// Frees a slot.
    pub fn vacate(&mut self, slot: UeSlot) {
        self.release(slot);
        self.users[slot.index()] = FREE_SLOT;
        self.sounding.iter_mut().filter(|user| **user == Some(slot)).for_each(|user| *user = None);
    }

    /// Discards the state of a UE, which keeps its slot.
    pub fn restart(&mut self, slot: UeSlot, bearer: Bearer) {
        self.release(slot);
        self.admit(slot, bearer);
    }

    fn admit(&mut self, slot: UeSlot, bearer: Bearer) {
        self.downlinks.iter_mut().for_each(|downlink| downlink.admit(slot, bearer));
        self.uplink.admit(slot);
    }

    fn release(&mut self, slot: UeSlot) {
        self.downlinks.iter_mut().for_each(|downlink| downlink.release(slot));
        self.uplink.release(slot);
    }
}
