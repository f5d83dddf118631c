//! The bytes of the packets inside the network.

use airwnd_capture::Frames as Bytewise;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of all packets inside the network, by number. Buffers are reused: memory does not grow beyond the largest
/// number of packets that were inside at the same time.
#[derive(Clone, Default)]
pub struct Frames(Arc<Mutex<Slots>>);

struct Slot {
    bytes: Vec<u8>,
    /// Number of copies inside the network.
    copies: u32,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Sum of all copies.
    inside: usize,
}

impl Frames {
    /// Copies a packet and returns its number.
    pub fn insert(&self, packet: &[u8]) -> u32 {
        let mut inside = self.slots();
        let number = inside.free.pop().unwrap_or_else(|| {
            inside.slots.push(Slot { bytes: Vec::with_capacity(1500), copies: 0 });
            inside.slots.len() as u32 - 1
        });
        let slot = &mut inside.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(packet);
        slot.copies = 1;
        inside.inside += 1;
        number
    }

    /// Counts a copy of a packet, which is removed separately.
    pub fn copy(&self, number: u32) {
        let mut inside = self.slots();
        inside.slots[number as usize].copies += 1;
        inside.inside += 1;
    }

    /// Removes a packet after passing its bytes to `take`.
    pub fn remove<T>(&self, number: u32, take: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut inside = self.slots();
        let slot = &mut inside.slots[number as usize];
        let taken = take(&mut slot.bytes);
        slot.copies -= 1;
        if slot.copies == 0 {
            inside.free.push(number);
        }
        inside.inside -= 1;
        taken
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().expect("never poisoned")
    }

    /// Number of packets inside, with copies.
    pub fn len(&self) -> usize {
        self.slots().inside
    }

    /// Access for captures.
    pub fn shared(&self) -> Arc<dyn Bytewise> {
        Arc::new(self.clone())
    }
}

impl Bytewise for Frames {
    fn append(&self, number: u32, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.slots().slots[number as usize].bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused() {
        let frames = Frames::default();
        let first = frames.insert(&[1, 2, 3]);
        let second = frames.insert(&[4]);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames.remove(first, |bytes| bytes.to_vec()), [1, 2, 3]);
        assert_eq!(frames.insert(&[5, 6]), first);
        assert_eq!(frames.remove(second, |bytes| bytes.to_vec()), [4]);
        let mut copy = Vec::new();
        frames.append(first, &mut copy);
        assert_eq!(copy, [5, 6]);
    }

    #[test]
    fn a_buffer_lasts_as_long_as_the_last_copy() {
        let frames = Frames::default();
        let number = frames.insert(&[1, 2]);
        frames.copy(number);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames.remove(number, |bytes| bytes.to_vec()), [1, 2]);
        assert_ne!(frames.insert(&[3]), number);
        assert_eq!(frames.remove(number, |bytes| bytes.to_vec()), [1, 2]);
        assert_eq!((frames.len(), frames.insert(&[4])), (1, number));
    }
}
