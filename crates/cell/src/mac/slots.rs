//! Sets of a cell's slots.

use crate::identity::UeSlot;

const WIDTH: u16 = u64::BITS as u16;

/// A set of slots of a cell, one bit each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slots(Vec<u64>);

impl Slots {
    /// Reserves space for this many slots.
    pub fn reserve(&mut self, slots: usize) {
        let words = slots.div_ceil(WIDTH.into());
        self.0.resize(words.max(self.0.len()), 0);
    }

    /// Adds a slot.
    #[inline]
    pub fn insert(&mut self, slot: UeSlot) {
        self.0[usize::from(slot.0 / WIDTH)] |= 1 << (slot.0 % WIDTH);
    }

    /// Adds or removes a slot.
    #[inline]
    pub fn set(&mut self, slot: UeSlot, is_in: bool) {
        let word = &mut self.0[usize::from(slot.0 / WIDTH)];
        *word = *word & !(1 << (slot.0 % WIDTH)) | u64::from(is_in) << (slot.0 % WIDTH);
    }

    /// Whether a slot is in the set.
    #[inline]
    pub fn contains(&self, slot: UeSlot) -> bool {
        self.0[usize::from(slot.0 / WIDTH)] >> (slot.0 % WIDTH) & 1 == 1
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Removes all slots.
    #[inline]
    pub fn clear(&mut self) {
        // Mostly there is none, and a call would take longer.
        if !self.is_empty() {
            self.0.fill(0);
        }
    }

    /// Whether another set with space for as many slots has the same ones.
    // Without the call that a comparison of slices is.
    #[inline]
    pub fn equals(&self, other: &Slots) -> bool {
        self.0.iter().zip(&other.0).all(|(word, other)| word == other)
    }

    /// Adds all slots for which there is space.
    pub fn fill(&mut self) {
        self.0.fill(u64::MAX);
    }

    /// The slots in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = UeSlot> + Clone {
        let mut words = self.0.iter();
        let (mut next, mut first, mut word) = (0u16, 0, 0);
        std::iter::from_fn(move || {
            while word == 0 {
                word = *words.next()?;
                (first, next) = (next, next.wrapping_add(WIDTH));
            }
            let slot = UeSlot(first + word.trailing_zeros() as u16);
            word &= word - 1;
            Some(slot)
        })
    }

    /// Becomes a copy of another set with space for as many slots.
    pub fn copy_from(&mut self, other: &Slots) {
        self.0.copy_from_slice(&other.0);
    }

    /// Becomes the set of slots in `one` that are not in `other`.
    #[inline]
    pub fn set_difference(&mut self, one: &Slots, other: &Slots) {
        for (word, (one, other)) in self.0.iter_mut().zip(one.0.iter().zip(&other.0)) {
            *word = one & !other;
        }
    }

    /// Removes the slots for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(UeSlot) -> bool) {
        for index in 0..self.0.len() {
            for slot in slots_of(index as u16 * WIDTH, self.0[index]) {
                if !keep(slot) {
                    self.0[index] &= !(1 << (slot.0 % WIDTH));
                }
            }
        }
    }

    /// The slots that are also in `other`, in ascending order.
    pub fn iter_common(&self, other: &Slots) -> impl Iterator<Item = UeSlot> {
        let words = (0..).zip(self.0.iter().zip(&other.0));
        words.flat_map(|(index, (word, other))| slots_of(index * WIDTH, word & other))
    }

    /// Removes the slots that are also in `other`, and passes them to `removed`.
    #[inline]
    pub fn take_common(&mut self, other: &Slots, mut removed: impl FnMut(UeSlot)) {
        for (index, (word, other)) in self.0.iter_mut().zip(&other.0).enumerate() {
            slots_of(index as u16 * WIDTH, *word & other).for_each(&mut removed);
            *word &= !other;
        }
    }
}

/// The slots of a group that begins with `first`, in ascending order.
#[inline]
fn slots_of(first: u16, mut word: u64) -> impl Iterator<Item = UeSlot> {
    std::iter::from_fn(move || {
        let slot = UeSlot(first + word.trailing_zeros() as u16);
        (word != 0).then(|| {
            word &= word - 1;
            slot
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set with space for 130 slots.
    fn set(slots: &[u16]) -> Slots {
        let mut set = Slots::default();
        set.reserve(130);
        slots.iter().for_each(|slot| set.insert(UeSlot(*slot)));
        set
    }

    fn numbers(slots: &Slots) -> Vec<u16> {
        slots.iter().map(|slot| slot.0).collect()
    }

    #[test]
    fn slots_are_kept_in_ascending_order() {
        let mut slots = set(&[129, 3, 64, 63]);
        slots.set(UeSlot(64), false);
        slots.set(UeSlot(0), true);
        assert_eq!(numbers(&slots), [0, 3, 63, 129]);
        assert!(slots.contains(UeSlot(63)) && !slots.contains(UeSlot(64)));
        let (mut some, mut taken) = (slots.clone(), Vec::new());
        some.retain(|slot| slot > UeSlot(3));
        slots.take_common(&some, |slot| taken.push(slot.0));
        assert_eq!((numbers(&slots), taken), (vec![0, 3], vec![63, 129]));
        slots.insert(UeSlot(129));
        let mut rest = set(&[]);
        rest.set_difference(&slots, &some);
        assert_eq!(numbers(&rest), [0, 3]);
        assert!(!rest.equals(&some));
        rest.copy_from(&some);
        assert_eq!(rest, some);
        assert!(rest.equals(&some));
        slots.clear();
        assert_eq!(slots.iter().next(), None);
    }
}
