//! Counts of the packets of each bearer, and of the marks in each cell.

use crate::ledger::{Cause, Count};
use crate::packet::Packet;
use airwnd_cell::{BearerId, CellId, Ran, UeId};
use airwnd_kernel::Direction;

/// First of the causes of drops in bearers, which are the last of all.
const FIRST: usize = Cause::RlcQueue as usize;

/// Packets of a bearer in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct BearerFigures {
    /// Packets that have crossed the air.
    pub crossed: Count,
    /// Packets marked by its queue.
    pub marked: u64,
    dropped: [u64; Cause::ALL.len() - FIRST],
}

impl BearerFigures {
    /// Returns the number of packets dropped for a cause; zero for one of links.
    pub fn dropped(&self, cause: Cause) -> u64 {
        (cause as usize).checked_sub(FIRST).map_or(0, |place| self.dropped[place])
    }
}

/// Figures of all bearers, and marks in each cell.
pub struct Bearers {
    /// Index of the default bearer of each device.
    first: Vec<u32>,
    /// By bearer and direction.
    figures: Vec<[BearerFigures; 2]>,
    /// Marks by cell and direction.
    marked: Vec<[u64; 2]>,
}

impl Bearers {
    pub(crate) fn new(ran: &Ran) -> Bearers {
        let mut bearers = 0;
        let first = (0..ran.ues() as u32).map(|ue| {
            let first = bearers;
            bearers += u32::from(ran.bearers_of(UeId(ue)));
            first
        });
        let first = first.collect();
        Bearers {
            first,
            figures: vec![Default::default(); bearers as usize],
            marked: vec![[0; 2]; ran.cell_count()],
        }
    }

    /// Returns the figures of a bearer of a device.
    pub fn of(&self, device: u32, bearer: BearerId, direction: Direction) -> &BearerFigures {
        &self.figures[self.first[device as usize] as usize + usize::from(bearer.0)][direction as usize]
    }

    /// Returns the number of packets marked by the queues of the bearers that a cell served at that time.
    pub fn marked_in(&self, cell: CellId, direction: Direction) -> u64 {
        self.marked[cell.index()][direction as usize]
    }

    /// Counts a packet that has crossed the air.
    pub(crate) fn cross<C>(&mut self, packet: &Packet<C>) {
        self.figures_of(packet).crossed.add(packet.size);
    }

    /// Counts a mark by the queue of a bearer that a cell serves.
    pub(crate) fn mark<C>(&mut self, packet: &Packet<C>, cell: CellId) {
        self.figures_of(packet).marked += 1;
        self.marked[cell.index()][packet.direction as usize] += 1;
    }

    /// Counts a drop, unless its cause is one of links.
    pub(crate) fn drop<C>(&mut self, packet: &Packet<C>, cause: Cause) {
        if let Some(place) = (cause as usize).checked_sub(FIRST) {
            self.figures_of(packet).dropped[place] += 1;
        }
    }

    fn figures_of<C>(&mut self, packet: &Packet<C>) -> &mut BearerFigures {
        let place = self.first[packet.device as usize] as usize + usize::from(packet.bearer.0);
        &mut self.figures[place][packet.direction as usize]
    }
}
