//! Handover legs: in-order delivery to a UE that changes cells.
//!
//! After a handover, packets reach the new cell over several legs: forwarded by the old cell over X2, and directly from
//! the gateway. A packet that overtakes one that left the gateway earlier waits in the cell. A real gateway sends an
//! end marker on the old path (TS 36.300 §10.1.2.2), and acknowledged mode numbers packets (TS 36.323 §5.1.2). Here all
//! packets are numbered.

use airwnd_kernel::Key;
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The leg of a packet behind the gateway: its target cell, and its sequence number among the packets that have left
/// the gateway for the device.
///
/// Packed into eight bytes, because every packet in flight has room for one: the cell in the upper 16 bits, the number,
/// from 1, in the lower 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg(NonZeroU64);

const NUMBER_BITS: u32 = 48;

impl Leg {
    fn new(cell: u16, number: u64) -> Leg {
        debug_assert!(number < 1 << NUMBER_BITS, "a device receives fewer packets");
        Leg(NonZeroU64::new(u64::from(cell) << NUMBER_BITS | number).expect("numbers begin at 1"))
    }

    /// Returns the target cell.
    pub fn cell(self) -> u16 {
        (self.0.get() >> NUMBER_BITS) as u16
    }

    fn number(self) -> u64 {
        self.0.get() & ((1 << NUMBER_BITS) - 1)
    }

    /// Returns the leg of the same packet to another cell.
    pub fn to(self, cell: u16) -> Leg {
        Leg::new(cell, self.number())
    }
}

/// The legs of one device's packets.
#[derive(Clone, Debug)]
pub(crate) struct Legs {
    /// The cell to which the gateway sends.
    pub cell: u16,
    /// Number of the next packet to leave the gateway.
    next: u64,
    /// Numbers of the packets between gateway and bearer, ascending.
    under_way: VecDeque<u64>,
    /// Packets held in a cell until an earlier one arrives.
    held: Vec<(u64, Key)>,
}

impl Legs {
    /// Creates the legs of a device without packets, with this first cell.
    pub fn new(cell: u16) -> Legs {
        Legs { cell, next: 1, under_way: VecDeque::new(), held: Vec::new() }
    }

    /// Assigns a leg to a packet that leaves the gateway.
    pub fn depart(&mut self) -> Leg {
        self.under_way.push_back(self.next);
        self.next += 1;
        Leg::new(self.cell, self.next - 1)
    }

    /// Assigns a leg to a packet that leaves a bearer's queue for another cell.
    pub fn depart_again(&mut self, leg: Leg, cell: u16) -> Leg {
        if let Err(place) = self.under_way.binary_search(&leg.number()) {
            self.under_way.insert(place, leg.number());
        }
        leg.to(cell)
    }

    /// Removes a packet that enters the bearer; returns false, and leaves it, if an earlier one is still under way.
    //= exception detours-keep-the-order
    #[inline]
    pub fn settle_in_order(&mut self, leg: Leg) -> bool {
        let is_first = self.under_way.front() == Some(&leg.number());
        if is_first {
            self.under_way.pop_front();
        }
        is_first
    }

    /// Holds an early packet.
    pub fn hold(&mut self, leg: Leg, packet: Key) {
        self.held.push((leg.number(), packet));
    }

    /// Removes a packet that was dropped.
    pub fn settle(&mut self, leg: Leg) {
        if let Ok(place) = self.under_way.binary_search(&leg.number()) {
            self.under_way.remove(place);
        }
    }

    /// Returns a held packet that is no longer early.
    #[inline]
    pub fn release(&mut self) -> Option<Key> {
        if self.held.is_empty() {
            return None;
        }
        let first = self.under_way.front()?;
        let ready = self.held.iter().position(|(number, _)| number == first)?;
        Some(self.held.swap_remove(ready).1)
    }

    /// Returns the number of held packets.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_on_the_new_leg_wait_for_those_on_the_old_one() {
        let mut legs = Legs::new(3);
        let (old, lost) = (legs.depart(), legs.depart());
        legs.cell = 5;
        let new = legs.depart();
        assert_eq!((old.cell(), new.cell()), (3, 5));
        assert!(!legs.settle_in_order(new));
        legs.hold(new, Key(7));
        assert!(legs.settle_in_order(old));
        assert_eq!(legs.release(), None);
        legs.settle(lost);
        assert_eq!((legs.release(), legs.held()), (Some(Key(7)), 0));
        assert!(legs.settle_in_order(new));
    }

    #[test]
    fn packets_that_leave_a_bearer_again_precede_later_ones() {
        let mut legs = Legs::new(0);
        let (first, second, third) = (legs.depart(), legs.depart(), legs.depart());
        assert!(legs.settle_in_order(first) && legs.settle_in_order(second));
        legs.hold(third, Key(3));
        let second = legs.depart_again(second, 1);
        let first = legs.depart_again(first, 1);
        assert_eq!(first.cell(), 1);
        assert!(!legs.settle_in_order(second) && legs.release().is_none());
        assert!(legs.settle_in_order(first) && legs.settle_in_order(second));
        assert_eq!(legs.release(), Some(Key(3)));
    }
}
