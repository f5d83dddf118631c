//! COBALT: CoDel combined with BLUE.

use super::fifo::delegate_to_fifo;
use super::parts::control_law::{ControlLaw, Root};
use super::parts::flows::FlowQueue;
use super::parts::limit::Limit;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// Quirks of COBALT in ns-3.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 CobaltQueueDisc")]
pub struct Quirks {
    /// Never drop the last packet of the queue at its head, as in Linux sch_cake.c, cake_dequeue.
    #[param(default = true, unit = "true or false", source = "ns-3 CobaltQueueDisc::DoDequeue: false")]
    pub keep_last: bool,
}

/// COBALT: CoDel for responsive flows, combined with BLUE for unresponsive ones.
///
/// The CoDel part signals like `codel`, except that a packet below `target` does not end the dropping state at once:
/// the count of signals decreases as it increased, by one per interval / sqrt(n). The BLUE part drops at random. Its
/// probability grows by `increment` when the buffer is full and shrinks by `decrement` when it is empty, both at most
/// once per `target`. BLUE marks nothing.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Linux sch_cake.c, cobalt_*; Høiland-Jørgensen, Täht, Morton: Piece of CAKE: A Comprehensive \
              Queue Management Solution for Home Gateways, LANMAN 2018"
)]
pub struct Params {
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(5), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux sch_cake.c, cake_init")]
    pub target: Span,
    /// Time for which packets may exceed the target; about the maximum usual RTT.
    #[param(basic, default = Span::from_millis(100), range = Span::from_micros(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "Linux sch_cake.c, cake_init")]
    pub interval: Span,
    /// Increment of BLUE's probability when the buffer is full.
    #[param(default = 1.0 / 256.0, range = 0.0..=1.0, unit = "1", source = "Linux sch_cake.c, p_inc")]
    pub increment: f64,
    /// Decrement of BLUE's probability when the buffer is empty.
    #[param(default = 1.0 / 4096.0, range = 0.0..=1.0, unit = "1", source = "Linux sch_cake.c, p_dec")]
    pub decrement: f64,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "Linux sch_cake.c, cobalt_should_drop")]
    pub ecn: bool,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(1000), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "ns-3 CobaltQueueDisc, DEFAULT_COBALT_LIMIT")]
    pub packets: Option<u64>,
    /// Buffer size; `none`: no limit in bytes.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 CobaltQueueDisc: the same in bytes")]
    pub buffer: Option<Bytes>,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// A FIFO with COBALT at its head.
pub struct Cobalt {
    params: Params,
    law: ControlLaw,
    queue: Fifo,
    draws: Stream,
    dropping: bool,
    /// Signals of this dropping state, or the rest of those of the last one.
    count: u32,
    /// Time of the next signal, or of the next decrement of the count.
    drop_next: Time,
    /// BLUE's probability, and the time of its last change.
    probability: f64,
    changed: Time,
}

impl Cobalt {
    /// Creates an empty queue.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        Cobalt {
            // Linux approximates 1 / sqrt(n) by a table and Newton's method, within 0.1 %.
            law: ControlLaw::new(params.interval, Root::Exact),
            params,
            queue: Fifo::default(),
            draws: ctx.stream,
            dropping: false,
            count: 0,
            drop_next: Time::ZERO,
            probability: 0.0,
            changed: Time::ZERO,
        }
    }

    /// Returns BLUE's drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    fn change(&mut self, now: Time, probability: f64) {
        if now.since(self.changed) > self.params.target {
            self.probability = probability.clamp(0.0, 1.0);
            self.changed = now;
        }
    }

    //= Linux sch_cake.c, cobalt_queue_full
    fn on_full(&mut self, now: Time) {
        self.change(now, self.probability + self.params.increment);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    //= Linux sch_cake.c, cobalt_queue_empty
    fn on_empty(&mut self, now: Time) {
        if self.probability > 0.0 {
            self.change(now, self.probability - self.params.decrement);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step(self.count - 1);
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn step(&mut self, count: u32) {
        self.count = count;
        self.law.count(count);
        self.drop_next = self.law.after(self.drop_next);
    }

    /// Returns whether the departing packet is to be dropped; it may have been marked instead.
    //= Linux sch_cake.c, cobalt_should_drop
    fn should_drop(&mut self, packet: &mut Waiting, now: Time, events: &mut dyn QueueEvents) -> bool {
        let over = now.since(packet.arrived) > self.params.target;
        let (due, mut late) = (self.is_due(now), now > self.drop_next);
        if over && !self.dropping {
            self.drop_next = self.law.after(now);
        }
        if over {
            self.count = self.count.max(1);
        }
        self.dropping = over;
        let mut drop = false;
        if due && over {
            drop = !(self.params.ecn && packet.mark(events));
            self.step(self.count.saturating_add(1));
            late = now > self.drop_next;
        } else if due {
            while self.is_due(now) {
                self.step(self.count - 1);
            }
            late = now > self.drop_next;
        }
        if self.probability > 0.0 {
            drop |= self.draws.uniform() < self.probability;
        }
        if self.count == 0 {
            self.drop_next = now + self.params.interval;
        } else if late && !drop {
            self.drop_next = now;
        }
        drop
    }
}

impl QueueDisc for Cobalt {
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let limit = Limit { bytes: self.params.buffer, packets: self.params.packets };
        if limit.admits(self.queue.backlog(), held, packet.size) {
            self.queue.push(packet);
        } else {
            self.on_full(now);
            events.dropped(packet, Cause::Full);
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting> {
        while let Some(mut packet) = self.queue.pop() {
            if !self.should_drop(&mut packet, now, events)
                || (self.params.quirks.keep_last && self.queue.is_empty())
            {
                return Some(packet);
            }
            events.dropped(packet, Cause::Early);
        }
        self.on_empty(now);
        None
    }

    delegate_to_fifo!(queue, expire);
}

impl FlowQueue for Cobalt {
    type Params = Params;

    fn make(params: &Params, limit: Limit, ctx: &QueueContext) -> Self {
        Cobalt::new(Params { packets: limit.packets, buffer: limit.bytes, ..params.clone() }, ctx)
    }

    fn overflow(&mut self, now: Time) -> Option<Waiting> {
        self.on_full(now);
        self.queue.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_last_packet_is_dropped_on_request_only() {
        for (keep_last, expected) in [(true, (Some(2), 2)), (false, (None, 3))] {
            let quirks = Quirks { keep_last };
            let mut cobalt = Cobalt::new(Params { quirks, ..Params::default() }, &ctx());
            cobalt.probability = 1.0;
            let mut seen = Seen::default();
            for key in 0..3 {
                cobalt.enqueue(at(0), packet(key, 1000, at(0)), Bytes::ZERO, &mut seen);
            }
            let left = cobalt.dequeue(at(1), &mut seen).map(|packet| packet.packet.0);
            assert_eq!((left, seen.dropped.len()), expected);
        }
    }

    #[test]
    fn blue_adapts_to_full_and_empty_buffers_once_per_target() {
        let mut cobalt = Cobalt::new(Params { packets: Some(1), ..Params::default() }, &ctx());
        let mut seen = Seen::default();
        for ms in 10..16 {
            cobalt.enqueue(at(ms), packet(0, 1000, at(ms)), Bytes::ZERO, &mut seen);
        }
        // The first packet was queued, the second found the buffer full at 11 ms; the next change is possible after 16
        // ms.
        assert_eq!(cobalt.probability(), 1.0 / 256.0);
        cobalt.enqueue(at(17), packet(0, 1000, at(17)), Bytes::ZERO, &mut seen);
        assert_eq!(cobalt.probability(), 2.0 / 256.0);
        cobalt.dequeue(at(30), &mut seen);
        cobalt.dequeue(at(31), &mut seen);
        cobalt.dequeue(at(32), &mut seen);
        assert_eq!(cobalt.probability(), 2.0 / 256.0 - 1.0 / 4096.0);
    }
}
