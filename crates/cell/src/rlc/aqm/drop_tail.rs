//! Drop-tail.

use super::{Backlog, QueueDisc};
use crate::rlc::{DropCause, Fate, Sdu};
use airwnd_catalog::params;
use airwnd_units::{Bytes, Time};
use std::collections::VecDeque;

params! {
    /// Drop-tail: an SDU that does not fit into the buffer is dropped.
    ///
    /// The limit is in bytes (with PDCP headers), in packets, or both. What RLC still holds of a partly sent
    /// SDU counts against it, as in ns-3 LENA.
    pub struct Params ("ns-3 lte-rlc-um.cc, DoTransmitPdcpPdu") {
        /// Size of the buffer; every TCP result depends on it.
        pub buffer: Bytes = Bytes(10 * 1024), unit "B", range Bytes(1)..=Bytes(1 << 40), source "ns-3 LteRlcUm::MaxTxBufferSize";
        /// Largest number of SDUs, counting a partly sent one.
        pub packets: Option<u64> = None, unit "packets", range 1..=1_000_000_000, source "no limit in ns-3 LENA";
    }
}

/// A FIFO with a limit.
pub struct DropTail {
    params: Params,
    queue: VecDeque<Sdu>,
    bytes: Bytes,
}

impl DropTail {
    /// An empty queue.
    pub fn new(params: Params) -> Self {
        DropTail { params, queue: VecDeque::with_capacity(64), bytes: Bytes::ZERO }
    }
}

impl QueueDisc for DropTail {
    fn enqueue(&mut self, _now: Time, sdu: Sdu, held: Bytes, fate: &mut dyn Fate) {
        let packets = self.queue.len() as u64 + u64::from(held > Bytes::ZERO) + 1;
        let fits = self.bytes + held + sdu.size <= self.params.buffer
            && self.params.packets.is_none_or(|limit| packets <= limit);
        if fits {
            self.bytes += sdu.size;
            self.queue.push_back(sdu);
        } else {
            fate.dropped(sdu, DropCause::QueueFull);
        }
    }

    //= exception pdcp-never-discards
    fn dequeue(&mut self, _now: Time, _fate: &mut dyn Fate) -> Option<Sdu> {
        let sdu = self.queue.pop_front()?;
        self.bytes -= sdu.size;
        Some(sdu)
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, sdus: self.queue.len() as u64 }
    }

    fn inside(&self) -> Box<dyn Iterator<Item = &Sdu> + '_> {
        Box::new(self.queue.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_engine::Key;

    fn offer(queue: &mut DropTail, size: u64, held: u64) -> bool {
        let mut dropped = false;
        let sdu = Sdu { packet: Key(0), size: Bytes(size), arrived: Time::ZERO };
        queue.enqueue(Time::ZERO, sdu, Bytes(held), &mut |_: Sdu, cause| {
            assert_eq!(cause, DropCause::QueueFull);
            dropped = true;
        });
        !dropped
    }

    #[test]
    fn the_limit_counts_bytes_and_what_rlc_holds() {
        let mut queue = DropTail::new(Params { buffer: Bytes(3000), packets: None });
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 941));
        assert!(offer(&mut queue, 1030, 940));
        assert_eq!(queue.backlog(), Backlog { bytes: Bytes(2060), sdus: 2 });
    }

    #[test]
    fn the_limit_counts_packets() {
        let mut queue = DropTail::new(Params { buffer: Bytes(1 << 30), packets: Some(2) });
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 1));
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 0));
    }
}
