//! Drop-tail.

use super::fifo::delegate_to_fifo;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Drop-tail: drops an arriving packet that does not fit into the buffer.
///
/// The limit is in bytes (in a bearer with PDCP headers), in packets, or both. The rest of a partly sent SDU in RLC
/// counts against it, as in ns-3 LENA.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 lte-rlc-um.cc, DoTransmitPdcpPdu")]
pub struct Params {
    /// Buffer size; every TCP result depends on it.
    #[param(basic, default = Bytes(1_000_000), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(
        unit = "B",
        source = "hundreds of ms to seconds of a cell (Jiang et al., CellNet 2012); ns-3 LENA: 10 KiB"
    )]
    pub buffer: Bytes,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic)]
    #[param(default = None, range = 1..=1_000_000_000, unit = "packets", source = "no limit in ns-3 LENA")]
    pub packets: Option<u64>,
}

/// A FIFO with a limit.
pub struct DropTail {
    params: Params,
    queue: Fifo,
}

impl DropTail {
    /// Creates an empty queue.
    pub fn new(params: Params, _ctx: &QueueContext) -> Self {
        DropTail { params, queue: Fifo::default() }
    }
}

impl QueueDisc for DropTail {
    fn enqueue(&mut self, _now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let packets = self.queue.packets() + u64::from(held > Bytes::ZERO) + 1;
        let fits = self.queue.bytes() + held + packet.size <= self.params.buffer
            && self.params.packets.is_none_or(|limit| packets <= limit);
        if fits {
            self.queue.push(packet);
        } else {
            events.dropped(packet, Cause::Full);
        }
    }

    fn dequeue(&mut self, _now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        self.queue.pop()
    }

    delegate_to_fifo!(queue, expire);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::tests::{Seen, ctx, packet};

    fn offer(queue: &mut DropTail, size: u64, held: u64) -> bool {
        let mut seen = Seen::default();
        queue.enqueue(Time::ZERO, packet(0, size, Time::ZERO), Bytes(held), &mut seen);
        assert!(seen.dropped.iter().all(|(_, cause)| *cause == Cause::Full));
        seen.dropped.is_empty()
    }

    #[test]
    fn the_limit_counts_bytes_including_those_held_by_rlc() {
        let mut queue = DropTail::new(Params { buffer: Bytes(3000), packets: None }, &ctx());
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 941));
        assert!(offer(&mut queue, 1030, 940));
        assert_eq!(queue.backlog(), Backlog { bytes: Bytes(2060), packets: 2 });
    }

    #[test]
    fn the_limit_counts_packets() {
        let mut queue = DropTail::new(Params { buffer: Bytes(1 << 30), packets: Some(2) }, &ctx());
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 1));
        assert!(offer(&mut queue, 1030, 0));
        assert!(!offer(&mut queue, 1030, 0));
    }
}
