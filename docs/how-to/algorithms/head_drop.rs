//! Drop-head.

use super::fifo::delegate_to_fifo;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Head-drop: drops the oldest packets when an arriving packet does not fit into the buffer.
///
/// The sender detects the loss one queueing delay earlier than with drop-tail.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Lakshman, Neidhardt and Ott, INFOCOM 1996: The drop from front strategy")]
pub struct Params {
    /// Size of the buffer.
    #[param(basic, default = Bytes(10 * 1024), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 LteRlcUm::MaxTxBufferSize")]
    pub buffer: Bytes,
}

/// FIFO queue that drops its head.
pub struct HeadDrop {
    params: Params,
    queue: Fifo,
}

impl HeadDrop {
    /// Creates an empty queue.
    pub fn new(params: Params, _ctx: &QueueContext) -> Self {
        HeadDrop { params, queue: Fifo::default() }
    }
}

impl QueueDisc for HeadDrop {
    fn enqueue(&mut self, _now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        self.queue.push(packet);
        while self.queue.bytes() + held > self.params.buffer
            && let Some(oldest) = self.queue.pop()
        {
            events.dropped(oldest, Cause::Full);
        }
    }

    fn dequeue(&mut self, _now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        self.queue.pop()
    }

    delegate_to_fifo!(queue, expire);
}
