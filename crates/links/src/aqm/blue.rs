//! BLUE.

use super::fifo::delegate_to_fifo;
use super::parts::limit::Limit;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// BLUE: drops arriving packets at random; the probability rises on buffer overflow and falls when the queue is idle.
///
/// The drop probability pm increases by d1 when a packet finds no room, or more than `level` packets. It decreases by
/// d2 when the queue becomes empty, and again while the queue stays empty. Consecutive changes are more than
/// `freeze_time` apart. Queue lengths have no other effect.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Feng, Shin, Kandlur, Saha: The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4), \
              2002"
)]
pub struct Params {
    /// Minimum time between two changes of pm.
    #[param(basic, default = Span::from_millis(100), range = Span(1)..=Span::from_secs(1000))]
    #[param(unit = "time", source = "Feng et al. 2002 §III; ns-1.1 blue.cc")]
    pub freeze_time: Span,
    /// Increment of pm on a loss.
    #[param(basic, default = 0.0025, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Feng et al. 2002 §III; ns-1.1 blue.cc")]
    pub d1: f64,
    /// Decrement of pm on idleness.
    #[param(basic, default = 0.00025, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Feng et al. 2002 §III; ns-1.1 blue.cc")]
    pub d2: f64,
    /// Number of queued packets above which an arrival counts as a loss; `none`: buffer overflows only.
    #[param(default = None, range = 0..=1_000_000_000)]
    #[param(unit = "packets", source = "Feng et al. 2002, figure 2, L")]
    pub level: Option<u64>,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "Feng et al. 2002 §III")]
    pub ecn: bool,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(100), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "ns-3 reference run S5")]
    pub packets: Option<u64>,
    /// Buffer size; `none`: no limit in bytes.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40), unit = "B", source = "ns-3 reference run S5")]
    pub buffer: Option<Bytes>,
}

/// A FIFO managed by BLUE.
pub struct Blue {
    params: Params,
    limit: Limit,
    queue: Fifo,
    stream: Stream,
    pm: f64,
    last_update: Time,
}

impl Blue {
    /// Creates an empty queue.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let limit = Limit { bytes: params.buffer, packets: params.packets };
        let (queue, stream) = (Fifo::default(), ctx.stream);
        Blue { params, limit, queue, stream, pm: 0.0, last_update: Time::ZERO }
    }

    //= Feng et al. 2002, figure 2
    fn on_loss(&mut self, now: Time) {
        if now.since(self.last_update) > self.params.freeze_time {
            self.pm = (self.pm + self.params.d1).min(1.0);
            self.last_update = now;
        }
    }

    /// Handles an idle event: the queue becomes empty, or has been empty until now.
    //= Feng et al. 2002, figure 2
    fn on_idle(&mut self, now: Time) {
        if now.since(self.last_update) > self.params.freeze_time {
            self.pm = (self.pm - self.params.d2).max(0.0);
            self.last_update = now;
        }
    }

    /// Applies the idle events since the queue became empty.
    fn catch_up(&mut self, now: Time) {
        let changes = now.since(self.last_update).0.saturating_sub(1) / self.params.freeze_time.0;
        // The queue is not notified when the link behind it becomes idle: while the queue stays empty, each freeze_time
        // counts as an idle event.
        self.pm = (self.pm - changes as f64 * self.params.d2).max(0.0);
        self.last_update += self.params.freeze_time * changes;
    }
}

impl QueueDisc for Blue {
    fn enqueue(&mut self, now: Time, mut packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        if self.queue.is_empty() {
            self.catch_up(now);
        }
        if !self.limit.admits(self.queue.backlog(), held, packet.size) {
            self.on_loss(now);
            return events.dropped(packet, Cause::Full);
        }
        if self.params.level.is_some_and(|level| self.queue.packets() > level) {
            self.on_loss(now);
        }
        let is_hit = self.stream.uniform() < self.pm;
        if is_hit && !(self.params.ecn && packet.mark(events)) {
            return events.dropped(packet, Cause::Early);
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        let packet = self.queue.pop()?;
        if self.queue.is_empty() {
            self.on_idle(now);
        }
        Some(packet)
    }

    fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        let was_empty = self.queue.is_empty();
        self.queue.expire(now, lifetime, expired);
        if !was_empty && self.queue.is_empty() {
            self.on_idle(now);
        }
    }

    delegate_to_fifo!(queue);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};

    /// Losses every 30 ms for 3.05 s change pm every 120 ms, the first change after more than 100 ms.
    #[test]
    fn losses_raise_the_probability_once_per_freeze_time() {
        let mut queue = Blue::new(Params { packets: Some(1), ..Params::default() }, &ctx());
        let mut seen = Seen::default();
        for step in 0..=100 {
            let now = Time::ZERO + Span::from_millis(30 * step);
            queue.enqueue(now, packet(step as u32, 1000, now), Bytes::ZERO, &mut seen);
        }
        assert!((queue.pm - 25.0 * 0.0025).abs() < 1e-12, "{}", queue.pm);
    }

    /// An empty queue lowers pm once per freeze time, down to zero.
    #[test]
    fn idleness_lowers_the_probability() {
        let mut queue = Blue::new(Params::default(), &ctx());
        let mut seen = Seen::default();
        let mut serve = |queue: &mut Blue, ms| {
            let now = Time::ZERO + Span::from_millis(ms);
            queue.enqueue(now, packet(0, 1000, now), Bytes::ZERO, &mut seen);
            assert!(queue.dequeue(now, &mut seen).is_some() || queue.pm > 0.0);
            queue.pm
        };
        queue.pm = 0.01;
        queue.last_update = Time::ZERO;
        // The queue is empty from the start: decrements at 100, 200, 300 and 400 ms, and none when it becomes empty
        // again at 450 ms.
        assert!((serve(&mut queue, 450) - (0.01 - 4.0 * 0.00025)).abs() < 1e-12);
        assert_eq!(serve(&mut queue, 100_000), 0.0);
    }

    /// Above `level` an arrival counts as a loss even if it fits.
    #[test]
    fn an_arrival_above_level_counts_as_a_loss() {
        let mut queue = Blue::new(Params { level: Some(2), ..Params::default() }, &ctx());
        let mut seen = Seen::default();
        let mut arrive = |key| {
            let now = Time::ZERO + Span::from_secs(u64::from(key) + 1);
            queue.enqueue(now, packet(key, 1000, now), Bytes::ZERO, &mut seen);
            queue.pm
        };
        assert_eq!((0..4).map(&mut arrive).collect::<Vec<_>>(), [0.0, 0.0, 0.0, 0.0025]);
        assert_eq!(queue.backlog().packets, 4);
    }
}
