//! Terminals change cells: packets follow them.

use crate::detour::{Anchor, Road};
use crate::incidents::Incident;
use crate::ledger::Cause;
use crate::path::{End, Simulation};
use airwnd_cell::handover::Forwarding;
use airwnd_cell::{Forward, Notice, UeId};
use airwnd_kernel::Key;
use airwnd_units::Time;

/// What the gateway and the cells know of all terminals' paths.
pub(crate) struct Paths {
    /// The S1-U link of each cell.
    pub s1u: Vec<u32>,
    /// The X2 link of the first cell, behind which are the others'; none if nobody changes cells.
    pub x2: Option<u32>,
    /// By terminal.
    pub anchors: Vec<Anchor>,
    pub forwarding: Forwarding,
    // Scratch lists, kept for their capacity.
    pub notices: Vec<Notice>,
    pub forwards: Vec<Forward>,
}

impl Paths {
    /// Whether a link is that of a cell to the others.
    pub fn is_x2(&self, link: u32) -> bool {
        self.x2.is_some_and(|first| link >= first)
    }
}

impl Simulation<'_> {
    /// A packet goes onto the S1-U link of the cell that the gateway sends to, or of the one that received it.
    pub(crate) fn onto_s1u(&mut self, now: Time, key: Key, flow: u32, to: End) {
        let ue = self.flows[flow as usize].ue;
        let packet = self.packets.get_mut(key);
        let cell = match to {
            End::Ue if self.paths.x2.is_some() => {
                packet.road.insert(self.paths.anchors[ue as usize].set_out()).cell
            }
            End::Ue => self.paths.anchors[ue as usize].cell,
            End::Server => self.network.as_ref().expect("S1-U leads to cells").cell_of(UeId(ue)).0,
        };
        let size = packet.size;
        self.onto_link(now, key, self.paths.s1u[usize::from(cell)], to, size);
    }

    /// A downlink packet has come to a cell: it enters the bearer if the terminal is there, and follows it otherwise.
    //= TS 36.300 §10.1.2.3
    pub(crate) fn at_cell(&mut self, now: Time, key: Key) {
        let packet = self.packets.get(key);
        let ue = self.flows[packet.flow as usize].ue;
        let Some(road) = packet.road else { return self.enter_bearer(now, key) };
        let serving = self.cells().cell_of(UeId(ue)).0;
        let anchor = &mut self.paths.anchors[ue as usize];
        if road.cell != serving {
            match self.paths.forwarding {
                Forwarding::Nothing => self.drop_packet(now, key, Cause::Handover),
                Forwarding::Waiting | Forwarding::Arriving => {
                    self.onto_x2(now, key, road.cell, road.to(serving));
                }
            }
        } else if anchor.is_early(road) {
            anchor.hold(road, key);
        } else {
            anchor.forget(road);
            self.enter_bearer(now, key);
            self.release_held(now, ue);
        }
    }

    fn onto_x2(&mut self, now: Time, key: Key, from: u16, road: Road) {
        let packet = self.packets.get_mut(key);
        packet.road = Some(road);
        let size = packet.size;
        let first = self.paths.x2.expect("terminals change cells");
        self.onto_link(now, key, first + u32::from(from), End::Ue, size);
    }

    /// What has waited for packets on the old path goes on.
    pub(crate) fn release_held(&mut self, now: Time, ue: u32) {
        while let Some(key) = self.paths.anchors[ue as usize].release() {
            self.at_cell(now, key);
        }
    }

    /// Terminals have moved, and may have changed cells.
    pub(crate) fn cells_turn(&mut self, now: Time) {
        self.cells().advance(now);
        self.settle_fates(now);
        let mut forwards = std::mem::take(&mut self.paths.forwards);
        self.cells().take_forwards(&mut forwards);
        for Forward { ue, from, packet } in &forwards {
            let serving = self.cells().cell_of(*ue).0;
            let road = self.packets.get(*packet).road.expect("it has come from the gateway");
            let road = self.paths.anchors[ue.0 as usize].set_out_again(road, serving);
            self.onto_x2(now, *packet, from.0, road);
        }
        self.paths.forwards = forwards;
        let mut notices = std::mem::take(&mut self.paths.notices);
        self.cells().take_notices(&mut notices);
        for notice in &notices {
            match *notice {
                Notice::HandoverStart(ue, cell) => self.note_of(now, ue, Incident::HandoverStart(cell.0)),
                Notice::HandoverEnd(ue, cell) => self.note_of(now, ue, Incident::HandoverEnd(cell.0)),
                Notice::HandoverFailure(ue, cell) => self.note_of(now, ue, Incident::HandoverFailure(cell.0)),
                Notice::LinkFailure(ue) => self.note_of(now, ue, Incident::LinkFailure),
                Notice::Reestablished(ue, cell) => self.note_of(now, ue, Incident::Reestablishment(cell.0)),
                Notice::PathSwitch(ue, cell) => {
                    self.paths.anchors[ue.0 as usize].cell = cell.0;
                }
            }
        }
        self.paths.notices = notices;
        self.watch_cells();
        self.wake_cells(now);
    }

    /// Notes what befell a terminal with each of its flows, once they are measured; with those that come and go while they
    /// are there.
    fn note_of(&mut self, now: Time, ue: UeId, incident: Incident) {
        for flow in 0..self.flows.len() {
            if self.flows[flow].ue == ue.0 && now >= self.begin && self.is_there(flow as u32) {
                self.note(now, flow as u32, incident);
            }
        }
    }
}
