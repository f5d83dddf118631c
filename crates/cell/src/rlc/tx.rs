//! The transmitting half: queue, segmentation, concatenation.

use super::{Fate, PDCP_HEADER, Pdu, RLC_FIXED_HEADER, Sdu, Told};
use airwnd_engine::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Time};

/// The longest piece that an 11-bit length indicator can describe (TS 36.322 §6.2.2.5): a longer one must
/// be the last of its PDU.
const LONGEST_CONCATENATED: Bytes = Bytes(2047);

/// An unacknowledged-mode transmitter (TS 36.322 §5.1.2.1).
pub struct RlcTx {
    queue: Box<dyn QueueDisc>,
    /// The SDU of which a part has been sent, and the bytes that remain of it.
    partial: Option<(Sdu, Bytes)>,
    next_sn: u64,
    /// End of the stream of bytes that have been put into PDUs.
    sent: u64,
}

impl RlcTx {
    /// A transmitter with an empty queue.
    pub fn new(queue: Box<dyn QueueDisc>) -> Self {
        RlcTx { queue, partial: None, next_sn: 0, sent: 0 }
    }

    /// A packet arrives from above, its size that with its IP header.
    pub fn enqueue(&mut self, packet: Sdu, fate: &mut dyn Fate) {
        let sdu = Sdu { size: packet.size + PDCP_HEADER, ..packet };
        self.queue.enqueue(sdu.arrived, sdu, self.held(), &mut Told(fate));
    }

    /// Fills a grant of `grant` bytes. Each SDU that goes on air for the first time is handed to `begun`, in
    /// the order of the stream. Returns nothing if nothing waits or the grant is too small.
    ///
    /// The header has 2 bytes plus a length indicator of 12 bits for each piece but the last, which packs
    /// into 2, 1, 2, 1, ... bytes. Up to two bytes are left unused rather than spent on a piece that its
    /// length indicator would eat, as in ns-3 LENA.
    pub fn transmit(
        &mut self,
        now: Time,
        grant: Bytes,
        begun: &mut impl FnMut(Sdu),
        fate: &mut dyn Fate,
    ) -> Option<Pdu> {
        //= exception pdcp-never-discards
        if grant <= RLC_FIXED_HEADER {
            return None;
        }
        let begin = self.sent;
        let mut room = grant - RLC_FIXED_HEADER;
        let mut odd = true;
        loop {
            let (sdu, remaining) = match self.partial.take() {
                Some(partial) => partial,
                None => match self.queue.dequeue(now, &mut Told(fate)) {
                    Some(sdu) => {
                        begun(sdu);
                        (sdu, sdu.size)
                    }
                    None => break,
                },
            };
            if remaining > room || remaining > LONGEST_CONCATENATED {
                let taken = remaining.min(room);
                self.sent += taken.0;
                if taken < remaining {
                    self.partial = Some((sdu, remaining - taken));
                }
                break;
            }
            self.sent += remaining.0;
            room -= remaining;
            //= exception rlc-leaves-two-bytes
            if room <= Bytes(2) {
                break;
            }
            room -= Bytes(if odd { 2 } else { 1 });
            odd = !odd;
        }
        if self.sent == begin {
            return None;
        }
        self.next_sn += 1;
        Some(Pdu { sn: self.next_sn - 1, begin, end: self.sent })
    }

    /// Re-establishment: what waits and has not been begun is handed to `waiting` in its order, the rest of what has
    /// been begun is forgotten, and the stream begins anew.
    //= TS 36.322 §5.4
    pub fn re_establish(&mut self, now: Time, waiting: &mut impl FnMut(Sdu), fate: &mut dyn Fate) {
        self.partial = None;
        self.next_sn = 0;
        self.sent = 0;
        while let Some(sdu) = self.queue.dequeue(now, &mut Told(fate)) {
            waiting(Sdu { size: sdu.size - PDCP_HEADER, ..sdu });
        }
    }

    /// What waits, counting the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        let queued = self.queue.backlog();
        Backlog {
            bytes: queued.bytes + self.held(),
            packets: queued.packets + u64::from(self.partial.is_some()),
        }
    }

    /// The bytes that the MAC is told of: the backlog and two bytes of header for each SDU; zero if nothing
    /// waits.
    pub fn reported(&self) -> Bytes {
        let backlog = self.backlog();
        backlog.bytes + RLC_FIXED_HEADER * backlog.packets
    }

    /// SDUs of which nothing has been sent yet.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.queue.inside()
    }

    fn held(&self) -> Bytes {
        self.partial.map_or(Bytes::ZERO, |(_, remaining)| remaining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::DropCause;
    use crate::rlc::tests::{packet, transmitter};

    /// A saturated bearer: SDUs of `sdu` bytes of IP, `blocks` grants of `grant` bytes.
    fn whole_sdus_sent(sdu: u64, grant: u64, blocks: u64) -> u64 {
        let mut tx = transmitter(Bytes(10240));
        let mut fate = |_: Sdu, _: DropCause| {};
        let mut end = 0;
        for _ in 0..blocks {
            for _ in 0..12 {
                tx.enqueue(packet(0, sdu), &mut fate);
            }
            end = tx.transmit(Time::ZERO, Bytes(grant), &mut |_| {}, &mut fate).expect("saturated").end;
        }
        end / (sdu + PDCP_HEADER.0)
    }

    /// Grants and delivered datagrams of the ns-3 runs S1 and S2 (1000 B of UDP payload).
    #[test]
    fn packing_agrees_with_ns3() {
        for (grant, blocks, datagrams) in [
            (185, 6991, 1239),
            (1287, 998, 1242),
            (1287, 1072, 1335),
            (693, 1050, 703),
            (533, 1102, 567),
            (453, 1005, 439),
            (241, 1003, 232),
            (185, 898, 159),
            (97, 6990, 643),
            (22, 6991, 135),
            (4395, 9987, 42531),
        ] {
            assert_eq!(whole_sdus_sent(1028, grant, blocks), datagrams, "{blocks} grants of {grant} B");
        }
    }

    #[test]
    fn a_grant_of_headers_only_sends_nothing() {
        let mut tx = transmitter(Bytes(10240));
        let mut fate = |_: Sdu, _: DropCause| {};
        tx.enqueue(packet(0, 100), &mut fate);
        assert_eq!(tx.transmit(Time::ZERO, Bytes(2), &mut |_| {}, &mut fate), None);
        assert_eq!(tx.reported(), Bytes(104));
        let pdu = tx.transmit(Time::ZERO, Bytes(200), &mut |_| {}, &mut fate);
        assert_eq!(pdu, Some(Pdu { sn: 0, begin: 0, end: 102 }));
        assert_eq!(
            (tx.reported(), tx.transmit(Time::ZERO, Bytes(200), &mut |_| {}, &mut fate)),
            (Bytes(0), None)
        );
    }
}
