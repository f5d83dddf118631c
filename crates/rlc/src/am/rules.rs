//! Decisions of acknowledged mode in which other simulators differ from the standard.

use super::{Block, Rx, Tx};
use crate::{BearerEvents, BufferStatus};
use airwnd_units::{Bytes, Time};

/// Decisions of both entities, chosen once for a bearer: those of the standard, or those of another simulator
/// ([`compat`](super::compat)).
pub(crate) trait Rules: Send + Sync {
    /// A PDU that is new to the receiver polls for a STATUS PDU.
    fn on_poll(&self, rx: &mut Rx, now: Time, sn: u64);
    /// t-Reordering has expired.
    fn on_reordering(&self, rx: &mut Rx, now: Time);
    /// Whether the end of t-StatusProhibit lets the MAC know of a STATUS PDU that has waited for it.
    fn reports_after_prohibition(&self) -> bool;
    /// Size of a STATUS PDU that is due, as reported to the MAC.
    fn status_size(&self, rx: &Rx) -> Bytes;
    /// End and size of the part of a PDU from `begin` to `to` that is retransmitted in `room` bytes, which do not hold all of
    /// it.
    fn part(&self, tx: &Tx, begin: u64, to: u64, room: Bytes) -> Option<(u64, Bytes)>;
    /// Whether every header has the fields of a part.
    fn has_long_headers(&self) -> bool;
    /// Whether a PDU reported missing is reported to the MAC at once.
    fn reports_missing(&self) -> bool;
    /// The first PDU to retransmit when t-PollRetransmit expires and there is nothing else to send.
    fn unanswered_from(&self, tx: &Tx) -> u64;
    /// Bytes to retransmit and new bytes, as reported to the MAC.
    fn reported(&self, tx: &Tx) -> (Bytes, Bytes);
    /// Fills a block of this size, of which the UE's MAC has reported this.
    fn fill(&self, filling: &mut Filling<'_>, size: Bytes, reported: Option<BufferStatus>);
}

/// A block that is filled, with the entities whose PDUs it gets.
pub(crate) struct Filling<'a> {
    pub tx: &'a mut Tx,
    pub rx: &'a mut Rx,
    /// The receiver of the opposite direction, whose STATUS PDUs share the block.
    pub answered: &'a mut Rx,
    pub block: &'a mut Block,
    pub events: &'a mut dyn BearerEvents,
    pub now: Time,
    /// Start of timers.
    pub sent_at: Time,
}

impl Filling<'_> {
    /// Adds the STATUS PDU that is due, if it fits into `room`. Returns its size.
    pub fn send_status(&mut self, room: Bytes) -> Option<Bytes> {
        let size = self.answered.send_status(self.sent_at, room, &mut self.block.status);
        self.block.has_status |= size.is_some();
        size
    }

    /// Adds a data PDU, if one fits into `room`. Returns its size.
    pub fn send_data(&mut self, room: Bytes) -> Option<Bytes> {
        let Filling { tx, rx, block, events, now, sent_at, .. } = self;
        let pdu = tx.transmit(*now, *sent_at, room, &mut |sdu| rx.expect(sdu), *events)?;
        block.data.push(pdu);
        Some(pdu.size)
    }
}

/// The decisions of TS 36.322, TS 38.322 and TS 36.321.
pub(super) struct Standard;

impl Rules for Standard {
    fn on_poll(&self, rx: &mut Rx, _now: Time, sn: u64) {
        rx.answer_after_gaps(sn);
    }

    fn on_reordering(&self, rx: &mut Rx, now: Time) {
        rx.trigger(now);
    }

    fn reports_after_prohibition(&self) -> bool {
        true
    }

    fn status_size(&self, rx: &Rx) -> Bytes {
        rx.status_size()
    }

    fn part(&self, tx: &Tx, begin: u64, to: u64, room: Bytes) -> Option<(u64, Bytes)> {
        tx.part(begin, to, room)
    }

    fn has_long_headers(&self) -> bool {
        false
    }

    fn reports_missing(&self) -> bool {
        true
    }

    fn unanswered_from(&self, tx: &Tx) -> u64 {
        tx.last_unacknowledged()
    }

    fn reported(&self, tx: &Tx) -> (Bytes, Bytes) {
        tx.to_send()
    }

    /// The STATUS PDU first, then retransmissions, then new data.
    //= TS 36.322 §5.1.3.1.1
    fn fill(&self, filling: &mut Filling<'_>, size: Bytes, _reported: Option<BufferStatus>) {
        let mut room = size;
        if let Some(size) = filling.send_status(room) {
            room -= size;
        }
        while let Some(size) = filling.send_data(room) {
            room -= size;
        }
    }
}
