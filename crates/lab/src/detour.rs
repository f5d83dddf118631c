//! Packets that follow their terminal to another cell, in order.
//!
//! Behind a handover packets come on several ways: from the old cell over X2, and straight from the gateway. One that
//! comes before another that has left the gateway earlier waits for it in its cell. A real gateway marks the last packet
//! on the old path (TS 36.300 §10.1.2.2, end marker), and in acknowledged mode packets are numbered (TS 36.323 §5.1.2);
//! here all are.

use airwnd_kernel::Key;
use std::collections::VecDeque;

/// What the gateway and the cells know of a terminal's path.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The cell that the gateway sends to.
    pub cell: u16,
    /// The number of the next packet that leaves the gateway.
    next: u64,
    /// The numbers of those that have not entered the bearer, ascending.
    under_way: VecDeque<u64>,
    /// Packets that have come before an earlier one.
    held: Vec<(u64, Key)>,
}

/// Where a packet that has left the gateway is going, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Road {
    /// The cell.
    pub cell: u16,
    number: u64,
}

impl Road {
    /// The same to another cell.
    pub fn to(self, cell: u16) -> Road {
        Road { cell, ..self }
    }
}

impl Anchor {
    /// The path to a terminal's first cell.
    pub fn new(cell: u16) -> Anchor {
        Anchor { cell, next: 0, under_way: VecDeque::new(), held: Vec::new() }
    }

    /// A packet leaves the gateway.
    pub fn set_out(&mut self) -> Road {
        self.under_way.push_back(self.next);
        self.next += 1;
        Road { cell: self.cell, number: self.next - 1 }
    }

    /// A packet that has waited in a bearer sets out for another cell.
    pub fn set_out_again(&mut self, road: Road, cell: u16) -> Road {
        if let Err(place) = self.under_way.binary_search(&road.number) {
            self.under_way.insert(place, road.number);
        }
        road.to(cell)
    }

    /// Whether an earlier packet is still under way.
    //= exception detours-keep-the-order
    pub fn is_early(&self, road: Road) -> bool {
        self.under_way.front() != Some(&road.number)
    }

    /// An early packet waits.
    pub fn hold(&mut self, road: Road, packet: Key) {
        self.held.push((road.number, packet));
    }

    /// A packet has entered the bearer, or is no more.
    pub fn forget(&mut self, road: Road) {
        if let Ok(place) = self.under_way.binary_search(&road.number) {
            self.under_way.remove(place);
        }
    }

    /// A packet that has waited and is early no longer.
    pub fn release(&mut self) -> Option<Key> {
        let first = self.under_way.front()?;
        let ready = self.held.iter().position(|(number, _)| number == first)?;
        Some(self.held.swap_remove(ready).1)
    }

    /// How many packets wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_on_the_new_path_waits_for_the_old_one() {
        let mut anchor = Anchor::new(3);
        let (old, lost) = (anchor.set_out(), anchor.set_out());
        anchor.cell = 5;
        let new = anchor.set_out();
        assert_eq!((old.cell, new.cell), (3, 5));
        assert!(!anchor.is_early(old) && anchor.is_early(new));
        anchor.hold(new, Key(7));
        anchor.forget(old);
        assert_eq!(anchor.release(), None);
        anchor.forget(lost);
        assert_eq!((anchor.release(), anchor.held()), (Some(Key(7)), 0));
        assert!(!anchor.is_early(new));
    }

    #[test]
    fn what_leaves_a_bearer_again_goes_before_what_came_later() {
        let mut anchor = Anchor::new(0);
        let (first, second, third) = (anchor.set_out(), anchor.set_out(), anchor.set_out());
        anchor.forget(first);
        anchor.forget(second);
        anchor.hold(third, Key(3));
        let second = anchor.set_out_again(second, 1);
        let first = anchor.set_out_again(first, 1);
        assert_eq!(first.cell, 1);
        assert!(!anchor.is_early(first) && anchor.is_early(second) && anchor.release().is_none());
        anchor.forget(first);
        anchor.forget(second);
        assert_eq!(anchor.release(), Some(Key(3)));
    }
}
