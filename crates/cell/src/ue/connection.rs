//! Attachment of UEs to cells, and their RRC connections.

use super::UeTable;
use super::bearers::RadioBearer;
use crate::identity::UeId;
use crate::trace::{RadioEvent, RrcCause, RrcEvent, RrcRecord};
use airwnd_kernel::Direction;
use airwnd_units::{Time, Tti};

impl UeTable {
    /// A packet arrives for a UE: a released one is promoted. Returns whether its release begins now.
    pub fn on_packet(&mut self, now: Time, number: UeId, direction: Direction) -> bool {
        let ue = self.get(number);
        let Some(connection) = &mut ue.connection else { return false };
        let under_way = connection.promotion();
        let Some(released) = under_way.map(|promotion| promotion.released).or(connection.released(now))
        else {
            connection.on_packet(now);
            return false;
        };
        // Packets that are still inside are data, too.
        if under_way.is_none() && ue.bearers.iter().any(RadioBearer::has_packets) {
            connection.on_packet(now);
            return false;
        }
        connection.promote(now, released, direction);
        if under_way.is_some() {
            return false;
        }
        ue.joined = false;
        self.promoting.push(number);
        self.reset_reports(number);
        true
    }

    /// Notes that packets have crossed the air: their UEs have data.
    pub fn note_arrivals(&mut self, now: Time) {
        let UeTable { ues, arrivals, .. } = self;
        for arrival in arrivals {
            if let Some(connection) = &mut ues[arrival.ue].connection {
                connection.on_packet(now);
            }
        }
    }

    /// Whether UEs are being promoted.
    pub fn has_promotions(&self) -> bool {
        !self.promoting.is_empty()
    }

    /// Takes a UE out whose promotion has ended, and connects it.
    #[cold]
    pub fn promote_next(&mut self, tti: Tti) -> Option<UeId> {
        let UeTable { ues, promoting, clock, .. } = self;
        let now = clock.start(tti);
        let mut promotions = promoting.iter().map(|number| {
            let connection = ues[*number].connection.as_ref();
            let connection = connection.expect("a UE with promotion has a connection");
            connection.promotion().expect("the UE is in the list while it is promoted")
        });
        let ended = promotions.position(|promotion| promotion.ends <= now)?;
        let number = promoting.remove(ended);
        let ue = &mut ues[number];
        if let Some(connection) = &mut ue.connection {
            let promotion = connection.promotion();
            connection.connect();
            if let Some((drx, promotion)) = ue.drx.as_mut().zip(promotion) {
                drx.skip(clock.from(promotion.released), clock.from(promotion.wakes));
            }
        }
        let (event, cause) = (RrcEvent::Connected, RrcCause::Data);
        let event = RrcRecord { event, cause, to: None, rsrp: None, to_rsrp: None };
        self.note(tti, number, RadioEvent::Rrc(event));
        Some(number)
    }

    /// A UE has accessed its cell, which can schedule it unless it is being promoted. Returns whether it can.
    pub fn join(&mut self, number: UeId, tti: Tti) -> bool {
        let ue = self.get(number);
        ue.joined = ue.connection.as_ref().is_none_or(|connection| connection.promotion().is_none());
        ue.deactivate();
        if let Some(drx) = ue.drx.as_mut().filter(|_| ue.joined) {
            drx.join(tti, ue.cell);
        }
        ue.joined
    }

    /// A UE leaves its cell.
    pub fn leave(&mut self, now: Time, number: UeId) {
        let UeTable { ues, report_timers, retx_bsr_timers, clock, .. } = self;
        let ue = &mut ues[number];
        if let Some(drx) = ue.drx.as_mut().filter(|_| ue.joined) {
            drx.leave(clock.from(now));
        }
        (ue.attached, ue.joined) = (false, false);
        for leg in ue.bearers.legs_mut() {
            report_timers[leg.timers()].disarm(&mut leg.report_at);
        }
        if let Some(timers) = retx_bsr_timers {
            timers.disarm(&mut ue.report_again_at);
        }
        self.reset_reports(number);
    }
}
