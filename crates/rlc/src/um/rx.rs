//! Receiving entity: reordering and reassembly.

use super::{LTE_SIZES, Pdu, window};
use crate::{BearerEvents, DropCause, Sdu};
use airwnd_kernel::Key;
use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// An unacknowledged-mode receiver (TS 36.322 §5.1.2.2).
///
/// The caller reports each SDU that goes on air ([`Rx::expect`]; its boundary in the stream, which the real protocol
/// carries in length indicators) and each PDU that the MAC decoded, and calls [`Rx::expire`] when the reordering timer
/// is due.
pub struct Rx {
    reordering: Span,
    window: u64,
    /// SDUs on air or received in part, with the end of each in the stream.
    expected: VecDeque<(u64, Sdu)>,
    /// End of the newest of them.
    expected_to: u64,
    /// Received PDUs that wait for an earlier one, by sequence number.
    held: VecDeque<Pdu>,
    /// VR(UR): the earliest PDU still considered for reordering.
    next: u64,
    /// VR(UH): one past the highest received.
    highest: u64,
    /// VR(UX) and the expiry of t-Reordering, while it runs.
    timer: Option<(u64, Time)>,
    /// Start of the contiguous part of the stream.
    whole_from: u64,
    /// End of that part; it is delivered up to here.
    whole_to: u64,
}

impl Rx {
    /// A receiver with this t-Reordering.
    pub fn new(reordering: Span) -> Self {
        Rx {
            reordering,
            window: window(LTE_SIZES[1]),
            expected: VecDeque::with_capacity(64),
            expected_to: 0,
            held: VecDeque::with_capacity(128),
            next: 0,
            highest: 0,
            timer: None,
            whole_from: 0,
            whole_to: 0,
        }
    }

    /// Sets the size of sequence numbers in bits.
    pub fn numbering(self, sn_size: u16) -> Self {
        Rx { window: window(sn_size), ..self }
    }

    /// An SDU has gone on air, after all earlier ones.
    pub fn expect(&mut self, sdu: Sdu) {
        self.expected_to += sdu.size.0;
        self.expected.push_back((self.expected_to, sdu));
    }

    /// Handles a decoded PDU. Passes SDUs that are complete and in order to `deliver`.
    pub fn receive(
        &mut self,
        now: Time,
        pdu: Pdu,
        deliver: &mut impl FnMut(Sdu),
        events: &mut dyn BearerEvents,
    ) {
        if pdu.sn == self.next && self.held.is_empty() {
            self.next += 1;
            self.highest = self.highest.max(self.next);
            self.assemble(pdu, deliver, events);
        } else {
            let at = self.held.partition_point(|held| held.sn < pdu.sn);
            let is_held = self.held.get(at).is_some_and(|held| held.sn == pdu.sn);
            if pdu.sn < self.next || is_held {
                return;
            }
            self.held.insert(at, pdu);
            self.highest = self.highest.max(pdu.sn + 1);
            // §5.1.2.2.3: PDUs that fall out of the window are no longer expected.
            self.advance(self.highest.saturating_sub(self.window), deliver, events);
        }
        self.rearm(now);
    }

    /// Expiry of t-Reordering, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.timer.map(|(_, expiry)| expiry)
    }

    /// Handles the expiry of t-Reordering (§5.1.2.2.4): PDUs missing before VR(UX) are treated as lost.
    pub fn expire(&mut self, now: Time, deliver: &mut impl FnMut(Sdu), events: &mut dyn BearerEvents) {
        let Some((until, expiry)) = self.timer else { return };
        if now < expiry {
            return;
        }
        self.timer = None;
        self.advance(until, deliver, events);
        self.rearm(now);
    }

    /// Re-establishes the entity (TS 36.322 §5.4): incomplete SDUs on air are dropped with this cause.
    pub fn release(&mut self, cause: DropCause, events: &mut dyn BearerEvents) {
        for (_, sdu) in self.expected.drain(..) {
            events.dropped(sdu, cause);
        }
        *self = Rx {
            expected: std::mem::take(&mut self.expected),
            window: self.window,
            ..Rx::new(self.reordering)
        };
    }

    /// SDUs on air, neither delivered nor dropped.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.expected.iter().map(|(_, sdu)| sdu)
    }

    /// Begin and end in the stream of the SDUs on air, with their packets.
    pub(crate) fn stream(&self) -> impl Iterator<Item = (u64, u64, Key)> + '_ {
        self.expected.iter().map(|(end, sdu)| (end - sdu.size.0, *end, sdu.packet))
    }

    /// Moves VR(UR) at least to `min`, then to the first PDU not received, and reassembles SDUs from all PDUs before
    /// it.
    fn advance(&mut self, min: u64, deliver: &mut impl FnMut(Sdu), events: &mut dyn BearerEvents) {
        self.next = self.next.max(min);
        while self.held.front().is_some_and(|pdu| pdu.sn <= self.next) {
            let pdu = self.held.pop_front().expect("there is a front");
            self.next = self.next.max(pdu.sn + 1);
            self.assemble(pdu, deliver, events);
        }
    }

    /// §5.1.2.2.3, last part: stops the timer when its gap is closed, starts it for a new gap.
    fn rearm(&mut self, now: Time) {
        if self.timer.is_some_and(|(until, _)| until <= self.next) {
            self.timer = None;
        }
        if self.timer.is_none() && self.highest > self.next {
            self.timer = Some((self.highest, now + self.reordering));
        }
    }

    fn assemble(&mut self, pdu: Pdu, deliver: &mut impl FnMut(Sdu), events: &mut dyn BearerEvents) {
        if pdu.begin != self.whole_to {
            self.whole_from = pdu.begin;
        }
        self.whole_to = pdu.end;
        while let Some((end, sdu)) = self.expected.front().copied() {
            let begin = end - sdu.size.0;
            if begin < self.whole_from {
                events.dropped(sdu, DropCause::RadioLoss);
            } else if end <= self.whole_to {
                deliver(sdu);
            } else {
                break;
            }
            self.expected.pop_front();
        }
        if self.expected.is_empty() {
            // The ring begins anew, in the cache lines of its first slots.
            self.expected.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{packet, transmitter};
    use airwnd_units::Bytes;
    use proptest::prelude::*;

    /// Sends SDUs of these sizes in grants of these sizes and returns the PDUs.
    fn pdus(sizes: &[u64], grants: &[u64], rx: &mut Rx) -> Vec<Pdu> {
        let mut tx = transmitter(Bytes(1 << 30));
        let mut events = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
        for (key, size) in (0..).zip(sizes) {
            tx.enqueue(packet(key, *size), &mut events);
        }
        grants
            .iter()
            .filter_map(|grant| {
                tx.transmit(Time::ZERO, Bytes(*grant), &mut |sdu| rx.expect(sdu), &mut events)
            })
            .collect()
    }

    #[derive(Default)]
    struct Seen {
        delivered: Vec<u32>,
        dropped: Vec<u32>,
    }

    impl Seen {
        fn receive(&mut self, rx: &mut Rx, now: Time, pdu: Pdu) {
            let dropped = &mut self.dropped;
            let mut events = |sdu: Sdu, cause| {
                assert_eq!(cause, DropCause::RadioLoss);
                dropped.push(sdu.packet.0);
            };
            rx.receive(now, pdu, &mut |sdu| self.delivered.push(sdu.packet.0), &mut events);
        }
        fn expire(&mut self, rx: &mut Rx, now: Time) {
            let dropped = &mut self.dropped;
            let mut events = |sdu: Sdu, _: DropCause| dropped.push(sdu.packet.0);
            rx.expire(now, &mut |sdu| self.delivered.push(sdu.packet.0), &mut events);
        }
    }

    #[test]
    fn a_late_pdu_holds_back_the_later_ones() {
        let mut rx = Rx::new(Span::from_millis(100));
        let pdus = pdus(&[100, 100, 100], &[104, 104, 104], &mut rx);
        let mut seen = Seen::default();
        seen.receive(&mut rx, Time(0), pdus[0]);
        seen.receive(&mut rx, Time(1_000_000), pdus[2]);
        assert_eq!(seen.delivered, [0]);
        assert_eq!(rx.deadline(), Some(Time(101_000_000)));
        seen.receive(&mut rx, Time(8_000_000), pdus[1]);
        assert_eq!((seen.delivered, rx.deadline()), (vec![0, 1, 2], None));
    }

    /// PDU 0 is late. It is given up when the window of half the sequence numbers has passed it.
    #[test]
    fn a_pdu_below_the_window_is_given_up() {
        for (sn_size, window) in [(5, 16), (10, 512)] {
            let mut rx = Rx::new(Span::from_secs(10)).numbering(sn_size);
            let pdus = pdus(&vec![100; window + 1], &vec![104; window + 1], &mut rx);
            let mut seen = Seen::default();
            pdus[1..window].iter().for_each(|pdu| seen.receive(&mut rx, Time(0), *pdu));
            assert_eq!((seen.delivered.len(), seen.dropped.len()), (0, 0), "{sn_size}");
            seen.receive(&mut rx, Time(0), pdus[window]);
            assert_eq!((seen.delivered.len(), seen.dropped), (window, vec![0]), "{sn_size}");
        }
    }

    #[test]
    fn a_lost_pdu_is_skipped_after_t_reordering() {
        let mut rx = Rx::new(Span::from_millis(100));
        // 150 B grants: SDU 1 lies in PDUs 0 and 1, SDU 2 in PDUs 1 and 2
        let pdus = pdus(&[100, 100, 100], &[150, 100, 300], &mut rx);
        let mut seen = Seen::default();
        seen.receive(&mut rx, Time(0), pdus[0]);
        seen.receive(&mut rx, Time(0), pdus[2]);
        seen.expire(&mut rx, Time(99_000_000));
        assert_eq!((&seen.delivered, &seen.dropped), (&vec![0], &vec![]));
        seen.expire(&mut rx, Time(100_000_000));
        assert_eq!((seen.delivered, seen.dropped), (vec![0], vec![1, 2]));
        assert_eq!(rx.inside().count(), 0);
    }

    proptest! {
        /// With any losses, delays and duplicates: SDUs are delivered in order and at most once, none is both dropped
        /// and delivered, and all that are not affected by a loss are delivered.
        #[test]
        fn every_sdu_is_delivered_or_dropped_once(
            sizes in prop::collection::vec(1u64..400, 1..60),
            grants in prop::collection::vec(10u64..300, 1..60),
            events in prop::collection::vec(0u8..10, 60),
        ) {
            let mut rx = Rx::new(Span::from_millis(100));
            let pdus = pdus(&sizes, &grants, &mut rx);
            let mut seen = Seen::default();
            let mut late = Vec::new();
            for (pdu, events) in pdus.iter().zip(&events) {
                match events {
                    0 => {}
                    1 | 2 => late.push(*pdu),
                    3 => { seen.receive(&mut rx, Time(0), *pdu); seen.receive(&mut rx, Time(0), *pdu); }
                    _ => seen.receive(&mut rx, Time(0), *pdu),
                }
            }
            for pdu in late {
                seen.receive(&mut rx, Time(1), pdu);
            }
            seen.expire(&mut rx, Time(1_000_000_000));
            seen.expire(&mut rx, Time(2_000_000_000));
            prop_assert!(seen.delivered.windows(2).all(|pair| pair[0] < pair[1]));
            let mut all: Vec<u32> = seen.delivered.iter().chain(&seen.dropped).copied().collect();
            all.extend(rx.inside().map(|sdu| sdu.packet.0));
            all.sort_unstable();
            all.dedup();
            let begun = all.len() as u32;
            prop_assert_eq!(all, (0..begun).collect::<Vec<_>>());
            if events.iter().take(pdus.len()).all(|events| *events != 0) {
                prop_assert!(seen.dropped.is_empty());
            }
        }
    }
}
