//! Pool with small keys for items of limited lifetime.

use crate::prefetch;

/// Key of an item in a [`Slab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u32);

/// A pool of items. Freed slots are reused, the most recently freed first.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Creates an empty slab with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Stores an item and returns its key.
    pub fn insert(&mut self, item: T) -> Key {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(item);
                Key(place)
            }
            None => {
                self.places.push(Some(item));
                Key(self.places.len() as u32 - 1)
            }
        }
    }

    /// Returns the item under `key`.
    ///
    /// # Panics
    /// If the item was removed.
    pub fn get(&self, key: Key) -> &T {
        self.places[key.0 as usize].as_ref().expect("the slab holds an item under the key")
    }

    /// Mutable variant of [`Slab::get`].
    pub fn get_mut(&mut self, key: Key) -> &mut T {
        self.places[key.0 as usize].as_mut().expect("the slab holds an item under the key")
    }

    /// Requests an item that will soon be used, see [`prefetch`].
    #[inline(always)]
    pub fn prefetch(&self, key: Key) {
        prefetch(&self.places[key.0 as usize]);
    }

    /// Removes and returns the item under `key`.
    ///
    /// # Panics
    /// If the item was removed before.
    pub fn remove(&mut self, key: Key) -> T {
        // First, so that the item moves only once.
        self.free.push(key.0);
        self.places[key.0 as usize].take().expect("an item is removed once")
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns true if the slab is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the items, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_reused() {
        let mut slab = Slab::with_capacity(2);
        let a = slab.insert('a');
        let b = slab.insert('b');
        assert_eq!(slab.remove(a), 'a');
        let c = slab.insert('c');
        assert_eq!((c, slab.len(), *slab.get(b)), (a, 2, 'b'));
        assert_eq!(slab.iter().collect::<String>(), "cb");
    }
}
