//! DualPI2: two queues, one for low latency.

use super::parts::limit::Limit;
use super::parts::ticks::Ticks;
use super::{Backlog, Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Codepoint;
use airwnd_units::{Bytes, Span, Time};

/// Which of the two queues sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Scheduler {
    /// The one that has a credit; that of the low-latency queue is larger.
    #[word = "wrr"]
    Wrr,
    /// The one whose head has waited longer, the low-latency one with a lead.
    #[word = "ts-fifo"]
    TsFifo,
}

/// DualPI2: L4S packets (ECT(1), CE) and the others in a queue each, coupled so that their flows share alike.
///
/// Every min(`target`, `rtt_max` / 3), and so at most 100,000 times a second, a base probability p' grows by alpha
/// (delay - `target`) + beta (delay - delay before), alpha = 0.1 T / `rtt_max`^2, beta = 0.3 / `rtt_max`, of the queue
/// whose head has waited longer. A classic packet is marked or dropped with probability p'^2; an L4S packet is marked
/// with `k` p', or with that of a ramp over its own delay if that is larger. When k p' reaches 1, both queues drop with
/// p'^2, and mark what they can. A bearer serves its queue once in a millisecond: there the ramp is to begin at some
/// milliseconds.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9332 appendix A")]
pub struct Params {
    /// The delay to hold of classic packets.
    #[param(default = Span::from_millis(15), range = Span::from_micros(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, target")]
    pub target: Span,
    /// The longest round-trip time for which it is tuned.
    #[param(default = Span::from_millis(100), range = Span::from_micros(100)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, RTT_max")]
    pub rtt_max: Span,
    /// Coupling factor: window fairness at 2.
    #[param(default = 2.0, range = 0.1..=100.0, unit = "1", source = "RFC 9332 appendix A.1, k")]
    pub k: f64,
    /// Delay from which on L4S packets are marked.
    #[param(default = Span::from_micros(800), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, minTh")]
    pub min_th: Span,
    /// By how much longer all are; zero: a step.
    #[param(default = Span::from_micros(400), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, range")]
    pub range: Span,
    /// L4S packets that must be left behind for that.
    #[param(default = 1, range = 0..=1_000_000, unit = "packets", source = "RFC 9332 appendix A.1, Th_len")]
    pub th_len: u64,
    /// Which queue sends next.
    #[param(default = Scheduler::Wrr, unit = "word", source = "RFC 9332 appendix A.2")]
    pub scheduler: Scheduler,
    /// Share of the classic queue while both have packets, with `wrr`.
    #[param(default = 0.0625, range = 0.0..=1.0, unit = "1", source = "RFC 9332 appendix A.2: 1/16")]
    pub classic_weight: f64,
    /// Lead of the low-latency queue with `ts-fifo`.
    #[param(default = Span::from_millis(50), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.2, tshift")]
    pub tshift: Span,
    /// Room that there must be for a packet, whatever its size; the head start of the low-latency queue.
    #[param(default = Bytes(1500), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 9332 appendix A.1, MTU")]
    pub mtu: Bytes,
    /// Largest number of packets in both queues, counting a partly sent one.
    #[param(default = Some(10_000), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_dualpi2.c, dualpi2_reset_default")]
    pub packets: Option<u64>,
    /// Most bytes in both queues; none: no limit in bytes.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "RFC 9332 appendix A.1, limit: 250 ms of the link's rate")]
    pub buffer: Option<Bytes>,
}

/// Two queues with a coupled probability.
pub struct DualPi2 {
    params: Params,
    ticks: Ticks,
    alpha: f64,
    beta: f64,
    low_latency: Side,
    classic: Side,
    /// Above zero it is the classic queue's turn.
    credit: f64,
    base: f64,
    delay_before: f64,
}

#[derive(Default)]
struct Side {
    queue: Fifo,
    /// What signals have been due in part.
    count: f64,
}

impl Side {
    /// How long the head has waited.
    fn delay(&self, now: Time) -> Span {
        self.queue.head().map_or(Span::ZERO, |head| now.since(head.arrived))
    }

    /// True for this share of the packets, as evenly as can be.
    //= RFC 9332 appendix A.1
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let due = self.count > 1.0;
        if due {
            self.count -= 1.0;
        }
        due
    }
}

impl DualPi2 {
    /// Empty queues.
    pub fn new(params: Params, _ctx: &QueueContext) -> Self {
        let period = params.target.min(params.rtt_max / 3);
        let rtt = params.rtt_max.as_secs();
        let mut queues = DualPi2 {
            ticks: Ticks::new(period),
            alpha: 0.1 * period.as_secs() / (rtt * rtt),
            beta: 0.3 / rtt,
            params,
            low_latency: Side::default(),
            classic: Side::default(),
            credit: 0.0,
            base: 0.0,
            delay_before: 0.0,
        };
        queues.credit = queues.head_start();
        queues
    }

    /// The base probability p'.
    pub fn base_probability(&self) -> f64 {
        self.base
    }

    /// The credit after an idle time: the low-latency queue's.
    //= Linux sch_dualpi2.c, dualpi2_calculate_c_protection
    fn head_start(&self) -> f64 {
        self.params.mtu.0 as f64 * (2.0 * self.params.classic_weight - 1.0)
    }

    fn catch_up(&mut self, now: Time) {
        while !(self.base == 0.0 && self.delay_before == 0.0 && self.backlog().packets == 0) {
            let Some(tick) = self.ticks.take(now) else { return };
            self.update(tick);
        }
        self.ticks.skip(now);
    }

    //= RFC 9332 appendix A.2
    fn update(&mut self, now: Time) {
        let delay = self.classic.delay(now).max(self.low_latency.delay(now)).as_secs();
        let step =
            self.alpha * (delay - self.params.target.as_secs()) + self.beta * (delay - self.delay_before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_before = delay;
    }

    /// Whether the low-latency queue sends next; one of them has a packet.
    //= RFC 9332 appendix A.2
    fn is_low_latency_next(&self, now: Time) -> bool {
        let (low, classic) = (&self.low_latency, &self.classic);
        if low.queue.is_empty() || classic.queue.is_empty() {
            return classic.queue.is_empty();
        }
        match self.params.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => low.delay(now) + self.params.tshift >= classic.delay(now),
        }
    }

    /// Takes the next packet out; tells whether it is an L4S packet, and what its going costs its queue.
    fn take(&mut self, now: Time) -> Option<(Waiting, bool, f64)> {
        if self.backlog().packets == 0 {
            self.credit = self.head_start();
            return None;
        }
        let contended = !self.low_latency.queue.is_empty() && !self.classic.queue.is_empty();
        let low_latency = self.is_low_latency_next(now);
        let side = if low_latency { &mut self.low_latency } else { &mut self.classic };
        let packet = side.queue.pop()?;
        let weight = self.params.classic_weight;
        let per_byte = if low_latency { weight } else { weight - 1.0 };
        let cost = if contended { per_byte * packet.size.0 as f64 } else { 0.0 };
        Some((packet, low_latency, cost))
    }

    /// The probability of a mark by the low-latency queue's own delay.
    //= RFC 9332 appendix A.1, figure 5
    fn native(&self, delay: Span) -> f64 {
        let Params { min_th, range, .. } = self.params;
        if delay >= min_th + range {
            1.0
        } else if delay > min_th {
            (delay - min_th).as_secs() / range.as_secs()
        } else {
            0.0
        }
    }

    /// Whether an L4S packet is dropped; it may be marked.
    //= RFC 9332 appendix A.2, figure 7
    fn drops_low_latency(&mut self, packet: &mut Waiting, now: Time, events: &mut dyn QueueEvents) -> bool {
        let coupled = self.params.k * self.base;
        let marks = if coupled < 1.0 {
            let native = if self.low_latency.queue.packets() > self.params.th_len {
                self.native(now.since(packet.arrived))
            } else {
                0.0
            };
            self.low_latency.recur(native.max(coupled))
        } else {
            if self.low_latency.recur(self.base * self.base) {
                return true;
            }
            self.low_latency.recur(coupled)
        };
        if marks {
            packet.mark(events);
        }
        false
    }

    /// Whether a classic packet is dropped; it may be marked.
    //= RFC 9332 appendix A.2, figure 7
    fn drops_classic(&mut self, packet: &mut Waiting, events: &mut dyn QueueEvents) -> bool {
        let probability = self.base * self.base;
        let most = (1.0 / (self.params.k * self.params.k)).min(1.0);
        self.classic.recur(probability) && (probability >= most || !packet.mark(events))
    }
}

impl QueueDisc for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        self.catch_up(now);
        let limit = Limit { bytes: self.params.buffer, packets: self.params.packets };
        if !limit.admits(self.backlog(), held, packet.size.max(self.params.mtu)) {
            events.dropped(packet, Cause::Full);
            return;
        }
        match packet.ecn {
            Codepoint::Ect1 | Codepoint::Ce => self.low_latency.queue.push(packet),
            Codepoint::NotEct | Codepoint::Ect0 => self.classic.queue.push(packet),
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting> {
        self.catch_up(now);
        loop {
            let (mut packet, low_latency, cost) = self.take(now)?;
            let drops = if low_latency {
                self.drops_low_latency(&mut packet, now, events)
            } else {
                self.drops_classic(&mut packet, events)
            };
            if !drops {
                self.credit += cost;
                return Some(packet);
            }
            events.dropped(packet, Cause::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        let (low, classic) = (self.low_latency.queue.backlog(), self.classic.queue.backlog());
        Backlog { bytes: low.bytes + classic.bytes, packets: low.packets + classic.packets }
    }

    fn oldest(&self) -> Option<Time> {
        [&self.low_latency, &self.classic].into_iter().filter_map(|part| part.queue.oldest()).min()
    }

    /// By turns of the scheduler, if none of them is dropped and no time passes.
    fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        let mut low = self.low_latency.queue.iter().peekable();
        let mut classic = self.classic.queue.iter().peekable();
        let (mut credit, weight) = (self.credit, self.params.classic_weight);
        Box::new(std::iter::from_fn(move || {
            let (Some(fast), Some(slow)) = (low.peek(), classic.peek()) else {
                return low.next().or_else(|| classic.next());
            };
            let low_latency = match self.params.scheduler {
                Scheduler::Wrr => credit <= 0.0,
                Scheduler::TsFifo => fast.arrived <= slow.arrived + self.params.tshift,
            };
            if low_latency {
                credit += weight * fast.size.0 as f64;
                low.next()
            } else {
                credit -= (1.0 - weight) * slow.size.0 as f64;
                classic.next()
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Classic packets 0 to 9 came at 0 ms, L4S packets 10 to 19 at 10 ms; what leaves at 10 ms.
    fn order(params: Params) -> Vec<u32> {
        let mut queues = DualPi2::new(params, &ctx());
        let mut seen = Seen::default();
        for key in 0..20 {
            let (arrived, ecn) = if key < 10 { (at(0), Codepoint::Ect0) } else { (at(10), Codepoint::Ect1) };
            queues.enqueue(arrived, Waiting { ecn, ..packet(key, 1000, arrived) }, Bytes::ZERO, &mut seen);
        }
        let inside: Vec<u32> = queues.inside().map(|packet| packet.packet.0).collect();
        let left: Vec<u32> =
            std::iter::from_fn(|| queues.dequeue(at(10), &mut seen)).map(|packet| packet.packet.0).collect();
        assert_eq!((inside, seen.dropped.len()), (left.clone(), 0));
        left
    }

    #[test]
    fn l4s_packets_go_first_but_for_a_share() {
        // Credit: -1500 (1 - 1/2) at first, 1/4 of what an L4S packet has, 3/4 of what a classic one has.
        let left = order(Params { classic_weight: 0.25, ..Params::default() });
        assert_eq!(left[..11], [10, 11, 12, 13, 0, 14, 15, 16, 1, 17, 18]);
    }

    #[test]
    fn a_time_shift_lets_classic_packets_wait_longer() {
        let shifted = |ms| {
            order(Params { scheduler: Scheduler::TsFifo, tshift: Span::from_millis(ms), ..Params::default() })
        };
        assert_eq!(shifted(10)[0], 10);
        assert_eq!(shifted(9)[..2], [0, 1]);
    }

    #[test]
    fn the_ramp_may_be_a_step() {
        let native = |range, delay| {
            let queues =
                DualPi2::new(Params { range: Span::from_micros(range), ..Params::default() }, &ctx());
            queues.native(Span::from_micros(delay))
        };
        assert_eq!([native(400, 800), native(400, 900), native(400, 1200)], [0.0, 0.25, 1.0]);
        assert_eq!([native(0, 799), native(0, 800)], [0.0, 1.0]);
    }

    #[test]
    fn a_share_is_marked_as_evenly_as_can_be() {
        let mut side = Side::default();
        let marked: Vec<u32> = (1..=12).filter(|_| side.recur(0.25)).collect();
        assert_eq!(marked, [5, 9]);
    }
}
