//! CoDel: controlled delay.

use super::fifo::delegate_to_fifo;
use super::parts::control_law::ControlLaw;
use super::parts::flows::FlowQueue;
use super::parts::limit::Limit;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

pub use super::parts::control_law::Root;

/// CoDel: drops or marks at the head once queueing delay exceeds a target for an interval, then at rising frequency.
///
/// If every packet leaves after more than `target` for a whole `interval`, CoDel enters the dropping state. There it
/// signals congestion by a drop at the head of the queue, or a mark. The time from the n-th signal to the next is
///
/// ```math
/// t_{n+1} - t_n = \frac{\mathrm{interval}}{\sqrt{n}}
/// ```
///
/// The dropping state ends with a packet that has waited less than `target`, or when at most `mtu` bytes are left. If
/// CoDel re-enters it soon after, it resumes at the former rate.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 8289")]
pub struct Params {
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(5), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8289 §5.3, TARGET")]
    pub target: Span,
    /// Time for which every packet may exceed the target; about the maximum usual RTT.
    #[param(basic, default = Span::from_millis(100), range = Span::from_micros(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "RFC 8289 §5.3, INTERVAL")]
    pub interval: Span,
    /// Backlog up to which nothing is dropped.
    #[param(default = Bytes(1500), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 8289 §5.3, maxpacket: the interface's MTU")]
    pub mtu: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "RFC 7567 §4.2.1")]
    pub ecn: bool,
    /// Computation of 1 / sqrt(n).
    #[param(expert, default = Root::Exact)]
    #[param(
        unit = "word",
        source = "RFC 8289 §5.6, control_law; `newton`: Linux codel_impl.h and ns-3, \
                  CoDelQueueDisc::NewtonStep"
    )]
    pub root: Root,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(1000), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_codel.c, DEFAULT_CODEL_LIMIT")]
    pub packets: Option<u64>,
    /// Buffer size; `none`: no limit in bytes.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "Linux sch_codel: packets only")]
    pub buffer: Option<Bytes>,
}

/// A FIFO with CoDel at its head.
pub struct Codel {
    params: Params,
    law: ControlLaw,
    queue: Fifo,
    /// Whether the dropping state is active.
    dropping: bool,
    /// Time from which the delay counts as above the target for a whole interval.
    first_above: Option<Time>,
    /// Time of the next signal in the dropping state.
    drop_next: Time,
    /// Signals in this dropping state, and their number at its start.
    count: u32,
    last_count: u32,
}

/// Number of intervals within which a new dropping state resumes the rate of the last one.
//= RFC 8289 §5.5
const MEMORY: u64 = 16;

impl Codel {
    /// Creates an empty queue.
    pub fn new(params: Params, _ctx: &QueueContext) -> Self {
        Codel {
            law: ControlLaw::new(params.interval, params.root),
            params,
            queue: Fifo::default(),
            dropping: false,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Removes the head and returns whether it may be dropped: packets have waited longer than the target for an
    /// interval.
    //= RFC 8289 §5.6
    fn take(&mut self, now: Time) -> Option<(Waiting, bool)> {
        let Some(packet) = self.queue.pop() else {
            self.first_above = None;
            return None;
        };
        if now.since(packet.arrived) < self.params.target || self.queue.bytes() <= self.params.mtu {
            self.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.first_above.get_or_insert(now + self.params.interval);
        Some((packet, now >= first_above))
    }

    /// Signals congestion to the packet's sender: marks the packet and returns it, or drops it.
    fn signal(&self, mut packet: Waiting, events: &mut dyn QueueEvents) -> Option<Waiting> {
        if self.params.ecn && packet.mark(events) {
            return Some(packet);
        }
        events.dropped(packet, Cause::Early);
        None
    }

    /// Applies the due signals of the dropping state; a long queue may receive several at once.
    //= RFC 8289 §5.5
    fn continue_dropping(
        &mut self,
        mut packet: Waiting,
        now: Time,
        events: &mut dyn QueueEvents,
    ) -> Option<Waiting> {
        while now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            self.law.count(self.count);
            if let Some(marked) = self.signal(packet, events) {
                self.drop_next = self.law.after(self.drop_next);
                return Some(marked);
            }
            let (next, may_drop) = self.take(now).unzip();
            if may_drop != Some(true) {
                self.dropping = false;
                return next;
            }
            packet = next?;
            self.drop_next = self.law.after(self.drop_next);
        }
        Some(packet)
    }

    /// Enters the dropping state with its first signal.
    //= RFC 8289 §5.5
    fn start_dropping(
        &mut self,
        packet: Waiting,
        now: Time,
        events: &mut dyn QueueEvents,
    ) -> Option<Waiting> {
        let packet = match self.signal(packet, events) {
            Some(marked) => Some(marked),
            None => self.take(now).map(|(next, _)| next),
        };
        self.dropping = true;
        let recent = now.since(self.drop_next) < self.params.interval * MEMORY;
        match self.count - self.last_count {
            delta if delta > 1 && recent => {
                self.count = delta;
                self.law.count(delta);
            }
            _ => {
                self.count = 1;
                self.law.restart();
            }
        }
        self.last_count = self.count;
        self.drop_next = self.law.after(now);
        packet
    }
}

impl QueueDisc for Codel {
    fn enqueue(&mut self, _now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let limit = Limit { bytes: self.params.buffer, packets: self.params.packets };
        if limit.admits(self.queue.backlog(), held, packet.size) {
            self.queue.push(packet);
        } else {
            events.dropped(packet, Cause::Full);
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting> {
        let Some((packet, may_drop)) = self.take(now) else {
            self.dropping = false;
            return None;
        };
        if !may_drop {
            self.dropping = false;
            Some(packet)
        } else if self.dropping {
            self.continue_dropping(packet, now, events)
        } else {
            self.start_dropping(packet, now, events)
        }
    }

    delegate_to_fifo!(queue, expire);
}

impl FlowQueue for Codel {
    type Params = Params;

    fn make(params: &Params, limit: Limit, ctx: &QueueContext) -> Self {
        Codel::new(Params { packets: limit.packets, buffer: limit.bytes, ..params.clone() }, ctx)
    }

    fn overflow(&mut self, _now: Time) -> Option<Waiting> {
        self.queue.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};
    use airwnd_kernel::Codepoint;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Returns the signals for packets that arrive at once and leave one per 10 ms. The signal comes after 110 ms, one
    /// interval after the first packet that exceeds the target.
    fn signals(ecn: Codepoint) -> (Vec<u32>, Vec<u32>) {
        let mut codel = Codel::new(Params::default(), &ctx());
        let mut seen = Seen::default();
        for key in 0..40 {
            let packet = Waiting { ecn, ..packet(key, 1500, at(0)) };
            codel.enqueue(at(0), packet, Bytes::ZERO, &mut seen);
        }
        for step in 0..14 {
            codel.dequeue(at(10 * step), &mut seen).expect("the queue has packets");
        }
        (seen.dropped.into_iter().map(|(key, _)| key).collect(), seen.marked)
    }

    #[test]
    fn the_first_signal_comes_an_interval_after_the_target_is_exceeded() {
        // Packet 1 leaves at 10 ms, after more than 5 ms; packet 11 leaves at 110 ms.
        assert_eq!(signals(Codepoint::NotEct), (vec![11], vec![]));
        assert_eq!(signals(Codepoint::Ect0), (vec![], vec![11]));
    }

    /// Nothing is dropped at any delay while at most an MTU is left behind the packet.
    #[test]
    fn a_backlog_of_one_mtu_is_never_dropped() {
        let (mut codel, mut seen) = (Codel::new(Params::default(), &ctx()), Seen::default());
        for ms in 0..1000 {
            codel.enqueue(at(ms + 200), packet(0, 750, at(ms)), Bytes::ZERO, &mut seen);
            if ms >= 2 {
                codel.dequeue(at(ms + 200), &mut seen);
            }
        }
        assert!(seen.dropped.is_empty());
    }
}
