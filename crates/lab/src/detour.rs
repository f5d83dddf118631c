//! Packets that follow their terminal to another cell, in order.
//!
//! Behind a path switch packets come on two ways: from the old cell over X2, and straight from the gateway. The second
//! ones wait in the new cell until the last of the first ones has come, which a real gateway marks (TS 36.300 §10.1.2.2,
//! end marker); here they are counted.

use airwnd_engine::Key;
use std::collections::VecDeque;

/// What the gateway and the cells know of a terminal's path.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The cell that the gateway sends to.
    pub cell: u16,
    /// How often the path has been switched.
    epoch: u32,
    /// Packets under way by the epoch in which they left the gateway, up to the present one.
    under_way: VecDeque<u32>,
    /// Packets that have come before some of an earlier epoch.
    held: Vec<(u32, Key)>,
}

/// Where a packet between gateway and bearer is going, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Road {
    /// The cell.
    pub cell: u16,
    epoch: u32,
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
        Anchor { cell, epoch: 0, under_way: VecDeque::from([0]), held: Vec::new() }
    }

    /// A packet leaves the gateway.
    pub fn set_out(&mut self) -> Road {
        *self.under_way.back_mut().expect("there is a present epoch") += 1;
        Road { cell: self.cell, epoch: self.epoch }
    }

    /// A packet that has waited in a bearer sets out for another cell, before all that are under way.
    pub fn set_out_again(&mut self, cell: u16) -> Road {
        *self.under_way.front_mut().expect("there is a present epoch") += 1;
        Road { cell, epoch: self.oldest() }
    }

    /// Whether packets that set out before a path switch are still under way, while this one set out behind it.
    pub fn is_early(&self, road: Road) -> bool {
        road.epoch > self.oldest()
    }

    /// An early packet waits.
    pub fn hold(&mut self, road: Road, packet: Key) {
        self.held.push((road.epoch, packet));
    }

    /// A packet has entered the bearer, or was dropped on its way there.
    pub fn arrive(&mut self, road: Road) {
        let place = (road.epoch - self.oldest()) as usize;
        self.under_way[place] -= 1;
        self.forget_arrived();
    }

    /// A packet that has waited and is early no longer.
    pub fn release(&mut self) -> Option<Key> {
        let oldest = self.oldest();
        let ready = self.held.iter().position(|(epoch, _)| *epoch <= oldest)?;
        Some(self.held.remove(ready).1)
    }

    /// The gateway sends to another cell from now on.
    pub fn switch(&mut self, cell: u16) {
        self.cell = cell;
        self.epoch += 1;
        self.under_way.push_back(0);
        self.forget_arrived();
    }

    /// The packets that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn oldest(&self) -> u32 {
        self.epoch + 1 - self.under_way.len() as u32
    }

    fn forget_arrived(&mut self) {
        while self.under_way.len() > 1 && self.under_way[0] == 0 {
            self.under_way.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_on_the_new_path_waits_for_the_old_one() {
        let mut anchor = Anchor::new(3);
        let (old, older) = (anchor.set_out(), anchor.set_out());
        assert!(!anchor.is_early(old));
        anchor.switch(5);
        let new = anchor.set_out();
        assert_eq!((old.cell, new.cell), (3, 5));
        assert!(anchor.is_early(new));
        anchor.hold(new, Key(7));
        anchor.arrive(older);
        assert_eq!(anchor.release(), None);
        anchor.arrive(old);
        assert_eq!(anchor.release(), Some(Key(7)));
        assert!(!anchor.is_early(new));
        anchor.arrive(new);
        assert_eq!((anchor.held(), anchor.release()), (0, None));
    }

    #[test]
    fn several_switches_keep_the_order() {
        let mut anchor = Anchor::new(0);
        let first = anchor.set_out();
        anchor.switch(1);
        let second = anchor.set_out();
        anchor.switch(0);
        let third = anchor.set_out();
        anchor.hold(third, Key(3));
        anchor.hold(second, Key(2));
        let forwarded = anchor.set_out_again(0);
        anchor.arrive(first);
        assert_eq!(anchor.release(), None, "what was forwarded goes first");
        anchor.arrive(forwarded);
        assert_eq!(anchor.release(), Some(Key(2)));
        assert!(anchor.is_early(third));
        anchor.arrive(second);
        assert_eq!(anchor.release(), Some(Key(3)));
    }

    #[test]
    fn a_switch_with_nothing_under_way_holds_nobody() {
        let mut anchor = Anchor::new(0);
        let road = anchor.set_out();
        anchor.arrive(road);
        anchor.switch(1);
        let road = anchor.set_out();
        assert!(!anchor.is_early(road));
    }
}
