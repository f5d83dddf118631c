//! Acknowledged mode of ns-3 LENA.

use super::super::rules::{Filling, Rules};
use super::super::{Rx, Tx};
use crate::BufferStatus;
use airwnd_units::{Bytes, Time};

/// The decisions of LteRlcAm, and of LteUeMac on what a block gets.
//= exception rlc-am-as-in-ns3
pub(super) struct LteRlcAm;

impl Rules for LteRlcAm {
    /// It is answered without waiting for the gaps below it.
    fn on_poll(&self, rx: &mut Rx, now: Time, _sn: u64) {
        rx.trigger(now);
    }

    fn on_reordering(&self, rx: &mut Rx, _now: Time) {
        rx.be_due();
    }

    fn reports_after_prohibition(&self) -> bool {
        false
    }

    /// A UE's MAC gives it no more.
    fn status_size(&self, _rx: &Rx) -> Bytes {
        Bytes(4)
    }

    /// A retransmission waits for a block that holds all of it.
    fn part(&self, _tx: &Tx, _begin: u64, _to: u64, _room: Bytes) -> Option<(u64, Bytes)> {
        None
    }

    fn has_long_headers(&self) -> bool {
        true
    }

    fn reports_missing(&self) -> bool {
        false
    }

    fn unanswered_from(&self, tx: &Tx) -> u64 {
        tx.first_unacknowledged()
    }

    /// Unacknowledged PDUs count as waiting.
    fn reported(&self, tx: &Tx) -> (Bytes, Bytes) {
        tx.unacknowledged_and_new()
    }

    /// A block holds one STATUS PDU or one data PDU; in the uplink both, if the UE's MAC has reported them.
    fn fill(&self, filling: &mut Filling<'_>, size: Bytes, reported: Option<BufferStatus>) {
        let mut room = size;
        if let Some(reported) =
            reported.filter(|reported| reported.status > Bytes::ZERO && size > reported.status)
        {
            filling.send_status(reported.status);
            room -= reported.status;
            if room <= Bytes(7) || reported.again + reported.new == Bytes::ZERO {
                return;
            }
        }
        if filling.send_status(room).is_none() {
            filling.send_data(room);
        }
    }
}
