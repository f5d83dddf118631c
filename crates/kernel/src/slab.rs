//! Storage for things that come and go, addressed by small keys.

/// The key of an item in a [`Slab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u32);

/// A pool of items; a freed place is used again, the last freed first.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty slab with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Stores an item.
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

    /// The item under `key`; a key that was removed is a broken invariant.
    pub fn get(&self, key: Key) -> &T {
        self.places[key.0 as usize].as_ref().expect("the key's item is in the slab")
    }

    /// As [`Slab::get`], to change it.
    pub fn get_mut(&mut self, key: Key) -> &mut T {
        self.places[key.0 as usize].as_mut().expect("the key's item is in the slab")
    }

    /// Takes the item under `key` out.
    pub fn remove(&mut self, key: Key) -> T {
        let item = self.places[key.0 as usize].take().expect("an item is removed once");
        self.free.push(key.0);
        item
    }

    /// How many items are inside.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items inside, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::with_capacity(2);
        let a = slab.insert('a');
        let b = slab.insert('b');
        assert_eq!(slab.remove(a), 'a');
        let c = slab.insert('c');
        assert_eq!((c, slab.len(), *slab.get(b)), (a, 2, 'b'));
        assert_eq!(slab.iter().collect::<String>(), "cb");
    }
}
