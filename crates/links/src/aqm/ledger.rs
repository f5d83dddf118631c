//! Packets of a queue whose order of departure is decided outside the engine.

use super::{Backlog, Cause, QueueEvents, Waiting};
use airwnd_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A drop or mark that has not been reported to the owner.
#[derive(Clone, Copy, Debug)]
enum Happened {
    Dropped(Waiting, Cause),
    Marked(Waiting),
}

/// The packets of a queue, each under the number of its arrival.
///
/// A discipline outside the engine refers to packets by number. Whatever it does, each packet leaves once, or is dropped
/// once, and the backlog is that of the packets inside.
#[derive(Debug, Default)]
pub struct Ledger {
    inside: BTreeMap<u64, Waiting>,
    bytes: Bytes,
    arrivals: u64,
    /// Packets that have waited for too long, until the discipline returns or drops them.
    expired: BTreeSet<u64>,
    happened: Vec<Happened>,
}

impl Ledger {
    /// Adds an arriving packet and returns its number.
    pub fn enter(&mut self, packet: Waiting) -> u64 {
        let number = self.arrivals;
        self.arrivals += 1;
        self.bytes += packet.size;
        self.inside.insert(number, packet);
        number
    }

    /// Removes a packet; `None`: it is not inside.
    pub fn leave(&mut self, number: u64) -> Option<Waiting> {
        let packet = self.inside.remove(&number)?;
        self.bytes -= packet.size;
        Some(packet)
    }

    /// Removes the packet that has been inside for the longest time.
    pub fn leave_first(&mut self) -> Option<Waiting> {
        let (_, packet) = self.inside.pop_first()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    /// Drops a packet. Returns whether it was inside, or has [expired](Ledger::expire).
    pub fn drop(&mut self, number: u64, cause: Cause) -> bool {
        let Some(packet) = self.leave(number) else { return self.forget(number) };
        self.happened.push(Happened::Dropped(packet, cause));
        true
    }

    /// Marks a packet if its transport is ECN-capable. Returns whether it is; `None`: the packet is not inside.
    //= RFC 3168 §5
    pub fn mark(&mut self, number: u64) -> Option<bool> {
        let Some(packet) = self.inside.get_mut(&number) else {
            return self.expired.contains(&number).then_some(false);
        };
        let capable = packet.ecn.is_capable();
        if capable {
            packet.ecn = airwnd_kernel::Codepoint::Ce;
            self.happened.push(Happened::Marked(*packet));
        }
        Some(capable)
    }

    /// Removes the packets that have waited for `lifetime`.
    pub fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        while let Some((&number, packet)) = self.inside.first_key_value()
            && now.since(packet.arrived) >= lifetime
            && let Some(packet) = self.leave(number)
        {
            self.expired.insert(number);
            expired(packet);
        }
    }

    /// Forgets an expired packet. Returns whether it was one.
    pub fn forget(&mut self, number: u64) -> bool {
        self.expired.remove(&number)
    }

    /// Reports the drops and marks since the last call.
    pub fn report(&mut self, events: &mut dyn QueueEvents) {
        for happened in self.happened.drain(..) {
            match happened {
                Happened::Dropped(packet, cause) => events.dropped(packet, cause),
                Happened::Marked(packet) => events.marked(packet.packet),
            }
        }
    }

    /// Whether a packet is inside.
    pub fn contains(&self, number: u64) -> bool {
        self.inside.contains_key(&number)
    }

    /// Returns the backlog.
    pub fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.inside.len() as u64 }
    }

    /// Returns the packets in the order of their arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.inside.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, packet};
    use airwnd_kernel::Codepoint;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is asked, in any order and of any packet, each packet has one fate.
        #[test]
        fn packets_are_conserved(steps in prop::collection::vec((0u8..5, 0u64..30), 0..200)) {
            let (mut ledger, mut seen) = (Ledger::default(), Seen::default());
            let (mut arrived, mut left) = (0u32, Vec::new());
            for (step, number) in steps {
                match step {
                    0 | 1 => {
                        let number = ledger.enter(packet(arrived, 100 + u64::from(arrived), Time::ZERO));
                        prop_assert_eq!(number, u64::from(arrived));
                        arrived += 1;
                    }
                    2 => left.extend(ledger.leave(number).map(|packet| packet.packet.0)),
                    3 => {
                        let inside = ledger.contains(number);
                        prop_assert_eq!(ledger.drop(number, Cause::Early), inside);
                    }
                    _ => left.extend(ledger.leave_first().map(|packet| packet.packet.0)),
                }
                ledger.report(&mut seen);
                let bytes: u64 = ledger.iter().map(|packet| packet.size.0).sum();
                let packets = ledger.iter().count() as u64;
                prop_assert_eq!(ledger.backlog(), Backlog { bytes: Bytes(bytes), packets });
            }
            let mut fates: Vec<u32> = left;
            fates.extend(seen.dropped.iter().map(|(key, _)| *key));
            fates.extend(ledger.iter().map(|packet| packet.packet.0));
            fates.sort_unstable();
            prop_assert_eq!(fates, (0..arrived).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_mark_is_that_of_the_packet_that_leaves() {
        let (mut ledger, mut seen) = (Ledger::default(), Seen::default());
        let plain = ledger.enter(packet(0, 100, Time::ZERO));
        let capable = ledger.enter(Waiting { ecn: Codepoint::Ect1, ..packet(1, 100, Time::ZERO) });
        assert_eq!(
            (ledger.mark(plain), ledger.mark(capable), ledger.mark(7)),
            (Some(false), Some(true), None)
        );
        ledger.report(&mut seen);
        assert_eq!((ledger.leave(capable).unwrap().ecn, seen.marked), (Codepoint::Ce, vec![1]));
    }

    #[test]
    fn an_expired_packet_is_forgotten_once() {
        let mut ledger = Ledger::default();
        let old = ledger.enter(packet(0, 100, Time::ZERO));
        ledger.enter(packet(1, 100, Time::ZERO + Span::from_millis(5)));
        let mut expired = Vec::new();
        let mut note = |packet: Waiting| expired.push(packet.packet.0);
        ledger.expire(Time::ZERO + Span::from_millis(10), Span::from_millis(10), &mut note);
        assert_eq!((expired, ledger.mark(old), ledger.backlog().packets), (vec![0], Some(false), 1));
        assert!(ledger.drop(old, Cause::Full) && !ledger.drop(old, Cause::Full));
    }
}
