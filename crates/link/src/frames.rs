//! The bytes of the packets inside the network.

use airwnd_capture::Frames as Bytewise;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of all packets inside the network, by number. Buffers are reused: memory does not grow beyond the largest
/// number of packets that were inside at the same time.
#[derive(Clone, Default)]
pub struct Frames(Rc<RefCell<Slots>>);

#[derive(Default)]
struct Slots {
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Frames {
    /// Copies a packet and returns its number.
    pub fn insert(&self, packet: &[u8]) -> u32 {
        let mut inside = self.0.borrow_mut();
        let number = inside.free.pop().unwrap_or_else(|| {
            inside.slots.push(Vec::with_capacity(1500));
            inside.slots.len() as u32 - 1
        });
        let slot = &mut inside.slots[number as usize];
        slot.clear();
        slot.extend_from_slice(packet);
        number
    }

    /// Removes a packet after passing its bytes to `take`.
    pub fn remove<T>(&self, number: u32, take: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut inside = self.0.borrow_mut();
        let taken = take(&mut inside.slots[number as usize]);
        inside.free.push(number);
        taken
    }

    /// Number of packets inside.
    pub fn len(&self) -> usize {
        let inside = self.0.borrow();
        inside.slots.len() - inside.free.len()
    }

    /// Access for captures.
    pub fn shared(&self) -> Rc<dyn Bytewise> {
        Rc::new(self.clone())
    }
}

impl Bytewise for Frames {
    fn append(&self, number: u32, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0.borrow().slots[number as usize]);
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
}
