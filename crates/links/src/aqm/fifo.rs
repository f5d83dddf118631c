//! Packets in the order in which they came, and their bytes.

use super::{Backlog, Waiting};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// The methods of a [`QueueDisc`](super::QueueDisc) that only pass on to its [`Fifo`], the field of this name: what
/// waits in it. `expire` stays with who has more to do when packets go.
macro_rules! tells_of {
    ($fifo:ident, expire) => {
        fn expire(
            &mut self,
            now: airwnd_units::Time,
            lifetime: airwnd_units::Span,
            expired: &mut dyn FnMut($crate::aqm::Waiting),
        ) {
            self.$fifo.expire(now, lifetime, expired);
        }

        $crate::aqm::fifo::tells_of!($fifo);
    };
    ($fifo:ident) => {
        fn backlog(&self) -> $crate::aqm::Backlog {
            self.$fifo.backlog()
        }

        fn oldest(&self) -> Option<airwnd_units::Time> {
            self.$fifo.oldest()
        }

        fn inside(&self) -> Box<dyn Iterator<Item = &$crate::aqm::Waiting> + '_> {
            Box::new(self.$fifo.iter())
        }
    };
}
pub(in crate::aqm) use tells_of;

/// A queue without a discipline.
#[derive(Clone, Debug)]
pub struct Fifo {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
}

impl Default for Fifo {
    fn default() -> Self {
        Fifo { packets: VecDeque::with_capacity(64), bytes: Bytes::ZERO }
    }
}

impl Fifo {
    /// Appends a packet.
    pub fn push(&mut self, packet: Waiting) {
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    /// Takes the oldest packet.
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    /// Takes out the packets that have waited for a lifetime.
    pub fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        while self.oldest().is_some_and(|arrived| now.since(arrived) >= lifetime)
            && let Some(packet) = self.pop()
        {
            expired(packet);
        }
    }

    /// The oldest packet.
    pub fn head(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// When the oldest packet arrived.
    pub fn oldest(&self) -> Option<Time> {
        self.head().map(|packet| packet.arrived)
    }

    /// How many packets wait.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.packets() }
    }

    /// The packets, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.packets.iter()
    }
}
