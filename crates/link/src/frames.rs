//! The bytes of the packets inside the network.

use crate::offload::Partial;
use airwnd_capture::Frames as Bytewise;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of all packets inside the network, by number. Buffers are reused: memory does not grow beyond the largest
/// number of packets that were inside at the same time.
#[derive(Clone, Default)]
pub struct Frames(Arc<Mutex<Slots>>);

struct Slot {
    bytes: Vec<u8>,
    partial: Option<Partial>,
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
    /// Copies a packet, whose checksum may be partial, and returns its number.
    pub fn insert(&self, packet: &[u8], partial: Option<Partial>) -> u32 {
        let mut inside = self.slots();
        let number = inside.free.pop().unwrap_or_else(|| {
            inside.slots.push(Slot { bytes: Vec::with_capacity(1500), partial: None, copies: 0 });
            inside.slots.len() as u32 - 1
        });
        let slot = &mut inside.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(packet);
        slot.partial = partial;
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

    /// Removes a packet after passing its bytes and its partial checksum to `take`.
    pub fn remove<T>(&self, number: u32, take: impl FnOnce(&mut [u8], Option<Partial>) -> T) -> T {
        let mut inside = self.slots();
        let slot = &mut inside.slots[number as usize];
        let taken = take(&mut slot.bytes, slot.partial);
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
        let inside = self.slots();
        let slot = &inside.slots[number as usize];
        let begin = to.len();
        to.extend_from_slice(&slot.bytes);
        if let Some(partial) = slot.partial {
            partial.complete(&mut to[begin..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused() {
        let frames = Frames::default();
        let first = frames.insert(&[1, 2, 3], None);
        let second = frames.insert(&[4], None);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames.remove(first, |bytes, _| bytes.to_vec()), [1, 2, 3]);
        assert_eq!(frames.insert(&[5, 6], None), first);
        assert_eq!(frames.remove(second, |bytes, _| bytes.to_vec()), [4]);
        let mut copy = Vec::new();
        frames.append(first, &mut copy);
        assert_eq!(copy, [5, 6]);
    }

    #[test]
    fn a_buffer_lasts_as_long_as_the_last_copy() {
        let frames = Frames::default();
        let number = frames.insert(&[1, 2], None);
        frames.copy(number);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames.remove(number, |bytes, _| bytes.to_vec()), [1, 2]);
        assert_ne!(frames.insert(&[3], None), number);
        assert_eq!(frames.remove(number, |bytes, _| bytes.to_vec()), [1, 2]);
        assert_eq!((frames.len(), frames.insert(&[4], None)), (1, number));
    }

    /// A capture has the checksum that the device would complete.
    #[test]
    fn a_copy_for_captures_has_a_complete_checksum() {
        let frames = Frames::default();
        let partial = Partial::of_tcp(0);
        let number = frames.insert(&[7; 20], Some(partial));
        let mut copy = vec![9];
        frames.append(number, &mut copy);
        let mut complete = [7; 20];
        partial.complete(&mut complete);
        assert_eq!((copy[0], &copy[1..]), (9, complete.as_slice()));
        assert_eq!(
            frames.remove(number, |bytes, partial| (bytes.to_vec(), partial)),
            (vec![7; 20], Some(partial))
        );
    }
}
