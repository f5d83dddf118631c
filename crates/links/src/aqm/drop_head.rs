//! Drop-head.

use super::fifo::delegate_to_fifo;
use super::parts::limit::Limit;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Drop-head: an arriving packet that does not fit into the buffer displaces the oldest packets.
///
/// The sender detects the loss one queueing delay earlier than with drop-tail, and the delivered packets are newer. A
/// packet larger than the whole buffer is dropped itself.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Lakshman, Neidhardt, Ott: The Drop from Front Strategy in TCP and in TCP over ATM, INFOCOM \
              1996"
)]
pub struct Params {
    /// Buffer size; in a bearer with PDCP headers.
    #[param(basic, default = Bytes(10 * 1024), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 LteRlcUm::MaxTxBufferSize")]
    pub buffer: Bytes,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic)]
    #[param(default = None, range = 1..=1_000_000_000, unit = "packets", source = "no limit in ns-3 LENA")]
    pub packets: Option<u64>,
}

/// A FIFO that drops its head.
pub struct DropHead {
    limit: Limit,
    queue: Fifo,
}

impl DropHead {
    /// Creates an empty queue.
    pub fn new(params: Params, _ctx: &QueueContext) -> Self {
        let limit = Limit { bytes: Some(params.buffer), packets: params.packets };
        DropHead { limit, queue: Fifo::default() }
    }
}

impl QueueDisc for DropHead {
    fn enqueue(&mut self, _now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        while !self.limit.admits(self.queue.backlog(), held, packet.size) {
            match self.queue.pop() {
                Some(oldest) => events.dropped(oldest, Cause::Full),
                None => return events.dropped(packet, Cause::Full),
            }
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        self.queue.pop()
    }

    delegate_to_fifo!(queue, expire);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};

    /// Returns the drops of a queue with these limits for consecutive packets of these sizes.
    fn dropped(params: Params, sizes: &[u64], held: u64) -> Vec<u32> {
        let (mut queue, mut seen) = (DropHead::new(params, &ctx()), Seen::default());
        for (key, size) in (0..).zip(sizes) {
            queue.enqueue(Time::ZERO, packet(key, *size, Time::ZERO), Bytes(held), &mut seen);
        }
        assert!(seen.dropped.iter().all(|(_, cause)| *cause == Cause::Full));
        seen.dropped.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn the_oldest_packets_are_dropped() {
        let bytes = |buffer| Params { buffer: Bytes(buffer), packets: None };
        assert_eq!(dropped(bytes(3000), &[1000, 1000, 1000, 500], 0), [0]);
        assert_eq!(dropped(bytes(3000), &[1000, 1000, 1000, 1500], 0), [0, 1]);
        assert_eq!(dropped(bytes(3000), &[1000, 1000, 1000], 1), [0]);
        let packets = Params { buffer: Bytes(1 << 30), packets: Some(2) };
        assert_eq!(dropped(packets.clone(), &[1, 1, 1, 1], 0), [0, 1]);
        assert_eq!(dropped(packets, &[1, 1, 1], 1), [0, 1]);
    }

    /// A packet that can never fit displaces all others and is then dropped itself.
    #[test]
    fn a_packet_larger_than_the_buffer_is_dropped() {
        let params = Params { buffer: Bytes(3000), packets: None };
        assert_eq!(dropped(params.clone(), &[1000, 3001], 0), [0, 1]);
        assert_eq!(dropped(params, &[1000], 2500), [0]);
    }
}
