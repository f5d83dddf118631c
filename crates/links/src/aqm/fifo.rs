//! A first-in, first-out queue and its backlog in bytes.

use super::{Backlog, Waiting};
use airwnd_kernel::prefetch;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Implements the methods of a [`QueueDisc`](super::QueueDisc) that delegate to its [`Fifo`], the field of this name.
/// `expire` is optional, for disciplines that must react to expired packets.
macro_rules! delegate_to_fifo {
    ($fifo:ident, expire) => {
        fn expire(
            &mut self,
            now: airwnd_units::Time,
            lifetime: airwnd_units::Span,
            expired: &mut dyn FnMut($crate::aqm::Waiting),
        ) {
            self.$fifo.expire(now, lifetime, expired);
        }

        $crate::aqm::fifo::delegate_to_fifo!($fifo);
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
pub(in crate::aqm) use delegate_to_fifo;

/// A FIFO queue without a discipline.
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

    /// Removes and returns the oldest packet.
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        if let Some(next) = self.packets.front() {
            // It may have waited for long, and will be needed soon.
            prefetch(next);
        } else {
            // A ring that begins anew stays in the cache lines of its first slots.
            self.packets.clear();
        }
        Some(packet)
    }

    /// Removes the packets that have waited for `lifetime`.
    pub fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        while self.oldest().is_some_and(|arrived| now.since(arrived) >= lifetime)
            && let Some(packet) = self.pop()
        {
            expired(packet);
        }
    }

    /// Returns the oldest packet.
    pub fn head(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// Returns the arrival time of the oldest packet.
    pub fn oldest(&self) -> Option<Time> {
        self.head().map(|packet| packet.arrived)
    }

    /// Returns the number of packets.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the backlog.
    pub fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.packets() }
    }

    /// Returns the packets, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.packets.iter()
    }
}
