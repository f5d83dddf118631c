//! Handover legs: in-order delivery to a UE that changes cells.
//!
//! After a handover, packets reach the new cell over several legs: forwarded by the old cell over X2, and directly from
//! the gateway. A packet that overtakes one that left the gateway earlier waits in the cell. A real gateway sends an
//! end marker on the old path (TS 36.300 §10.1.2.2), and acknowledged mode numbers packets (TS 36.323 §5.1.2). Here all
//! packets are numbered.

use airwnd_kernel::Key;
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
///
/// Packets are under way between gateway and bearer. Most enter the bearer in the order of their numbers, so that the
/// numbers under way are an interval with few exceptions.
#[derive(Clone, Debug)]
pub(crate) struct Legs {
    /// The cell to which the gateway sends.
    pub cell: u16,
    /// Number of the next packet to leave the gateway.
    next: u64,
    /// Numbers from this one to the next are under way, except for those of `dropped`. It is not among these.
    first: u64,
    /// Later packets that were dropped, ascending.
    dropped: Vec<u64>,
    /// Earlier packets that are under way again, ascending.
    again: Vec<u64>,
    /// Packets held in a cell until an earlier one arrives.
    held: Vec<(u64, Key)>,
}

impl Legs {
    /// Creates the legs of a device without packets, with this first cell.
    pub fn new(cell: u16) -> Legs {
        Legs { cell, next: 1, first: 1, dropped: Vec::new(), again: Vec::new(), held: Vec::new() }
    }

    /// Assigns a leg to a packet that leaves the gateway.
    pub fn depart(&mut self) -> Leg {
        self.next += 1;
        Leg::new(self.cell, self.next - 1)
    }

    /// Assigns a leg to a packet that leaves a bearer's queue for another cell.
    pub fn depart_again(&mut self, leg: Leg, cell: u16) -> Leg {
        debug_assert!(leg.number() < self.first, "the packet has entered the bearer");
        if let Err(place) = self.again.binary_search(&leg.number()) {
            self.again.insert(place, leg.number());
        }
        leg.to(cell)
    }

    /// Removes a packet that enters the bearer; returns false, and leaves it, if an earlier one is still under way.
    //= exception detours-keep-the-order
    #[inline]
    pub fn settle_in_order(&mut self, leg: Leg) -> bool {
        let is_first = self.earliest() == Some(leg.number());
        if is_first {
            self.settle_first();
        }
        is_first
    }

    /// Removes a packet that was dropped.
    pub fn settle(&mut self, leg: Leg) {
        let number = leg.number();
        if number == self.first {
            self.pass_first();
        } else if number > self.first {
            if let Err(place) = self.dropped.binary_search(&number) {
                self.dropped.insert(place, number);
            }
        } else if let Ok(place) = self.again.binary_search(&number) {
            self.again.remove(place);
        }
    }

    /// Returns the number of the earliest packet under way.
    #[inline]
    fn earliest(&self) -> Option<u64> {
        self.again.first().copied().or((self.first < self.next).then_some(self.first))
    }

    #[inline]
    fn settle_first(&mut self) {
        if self.again.is_empty() {
            self.pass_first();
        } else {
            self.again.remove(0);
        }
    }

    /// Moves the beginning of the interval to the next packet under way.
    #[inline]
    fn pass_first(&mut self) {
        self.first += 1;
        if !self.dropped.is_empty() {
            self.skip_dropped();
        }
    }

    #[cold]
    fn skip_dropped(&mut self) {
        let passed =
            self.dropped.iter().zip(self.first..).take_while(|(dropped, first)| *dropped == first).count();
        self.dropped.drain(..passed);
        self.first += passed as u64;
    }

    /// Holds an early packet.
    pub fn hold(&mut self, leg: Leg, packet: Key) {
        self.held.push((leg.number(), packet));
    }

    /// Returns a held packet that is no longer early.
    pub fn release(&mut self) -> Option<Key> {
        let first = self.earliest()?;
        let ready = self.held.iter().position(|(number, _)| *number == first)?;
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

    #[test]
    fn dropped_packets_are_not_awaited() {
        let mut legs = Legs::new(0);
        let sent: Vec<Leg> = (0..6).map(|_| legs.depart()).collect();
        legs.settle(sent[4]);
        legs.settle(sent[2]);
        legs.settle(sent[1]);
        assert!(!legs.settle_in_order(sent[3]));
        assert!(legs.settle_in_order(sent[0]) && legs.settle_in_order(sent[3]));
        // It was dropped from the bearer's queue.
        legs.settle(sent[3]);
        legs.settle(sent[5]);
        assert_eq!(legs.earliest(), None);
        let again = legs.depart_again(sent[0], 1);
        let last = legs.depart();
        assert!(!legs.settle_in_order(last));
        legs.settle(again);
        assert!(legs.settle_in_order(last));
    }
}
