//! DualPI2: a low-latency and a classic queue with coupled signals.

use super::parts::limit::Limit;
use super::parts::ticks::Ticks;
use super::{Backlog, Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Codepoint;
use airwnd_units::{Bytes, Span, Time};

/// Scheduler of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Scheduler {
    /// Weighted round robin by credit; the low-latency queue has the larger weight.
    #[word = "wrr"]
    Wrr,
    /// The queue whose head has waited longer, with a lead for the low-latency queue.
    #[word = "ts-fifo"]
    TsFifo,
}

/// DualPI2: separate queues for L4S packets (ECT(1), CE) and classic ones, with coupled signals for equal flow rates.
///
/// A PI controller updates a base probability p' every T = min(`target`, `rtt_max` / 3), and so at most 100,000 times
/// per second. The delay is that of the queue whose head has waited longer:
///
/// ```math
/// p' \leftarrow p' + \alpha \, (\mathrm{delay} - \mathrm{target}) +
/// \beta \, (\mathrm{delay} - \mathrm{delay}_{\mathrm{old}})
/// ```
///
/// ```math
/// \alpha = \frac{0.1 \, T}{\mathrm{rtt\_max}^2}, \, \beta = \frac{0.3}{\mathrm{rtt\_max}}
/// ```
///
/// A classic packet is marked or dropped with probability p'^2. An L4S packet is marked with probability `k` p', or
/// with that of a ramp over its own delay if that is larger. When k p' reaches 1, both queues drop with probability
/// p'^2, and the remaining L4S packets are marked. A bearer is served once per TTI; there the ramp should begin at
/// several milliseconds.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9332 appendix A")]
pub struct Params {
    /// Target queueing delay of classic packets.
    #[param(basic, default = Span::from_millis(15), range = Span::from_micros(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, target")]
    pub target: Span,
    /// Maximum RTT for which the controller is tuned.
    #[param(default = Span::from_millis(100), range = Span::from_micros(100)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, RTT_max")]
    pub rtt_max: Span,
    /// Coupling factor; 2 gives equal windows.
    #[param(default = 2.0, range = 0.1..=100.0, unit = "1", source = "RFC 9332 appendix A.1, k")]
    pub k: f64,
    /// Delay at which marking of L4S packets begins.
    #[param(default = Span::from_micros(800), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, minTh")]
    pub min_th: Span,
    /// Width of the marking ramp, above which every L4S packet is marked; zero: a step.
    #[param(default = Span::from_micros(400), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.1, range")]
    pub range: Span,
    /// Number of L4S packets that must remain in the queue for a mark by the ramp.
    #[param(expert)]
    #[param(default = 1, range = 0..=1_000_000, unit = "packets", source = "RFC 9332 appendix A.1, Th_len")]
    pub th_len: u64,
    /// Scheduler of the two queues.
    #[param(default = Scheduler::Wrr, unit = "word", source = "RFC 9332 appendix A.2")]
    pub scheduler: Scheduler,
    /// Share of the classic queue while both have packets, with `wrr`.
    #[param(default = 0.0625, range = 0.0..=1.0, unit = "1", source = "RFC 9332 appendix A.2: 1/16")]
    pub classic_weight: f64,
    /// Lead of the low-latency queue with `ts-fifo`.
    #[param(default = Span::from_millis(50), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9332 appendix A.2, tshift")]
    pub tshift: Span,
    /// Minimum free space for a packet of any size; also the initial credit of the low-latency queue.
    #[param(expert, default = Bytes(1500), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 9332 appendix A.1, MTU")]
    pub mtu: Bytes,
    /// Maximum number of packets in both queues, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(10_000), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_dualpi2.c, dualpi2_reset_default")]
    pub packets: Option<u64>,
    /// Maximum number of bytes in both queues; `none`: no limit.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 40))]
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
    /// Above zero the classic queue is next.
    credit: f64,
    base: f64,
    delay_before: f64,
}

#[derive(Default)]
struct Side {
    queue: Fifo,
    /// Fraction of the next signal accumulated so far.
    count: f64,
}

impl Side {
    /// Returns the waiting time of the head.
    fn delay(&self, now: Time) -> Span {
        self.queue.head().map_or(Span::ZERO, |head| now.since(head.arrived))
    }

    /// Returns true for this share of the packets, as evenly as possible.
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
    /// Creates empty queues.
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

    /// Returns the base probability p'.
    pub fn base_probability(&self) -> f64 {
        self.base
    }

    /// Returns the credit after an idle time, which favours the low-latency queue.
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

    /// Returns whether the low-latency queue is next; at least one queue has a packet.
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

    /// Removes the next packet; returns it, whether it is an L4S packet, and the credit that its departure costs.
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

    /// Returns the marking probability from the delay of the low-latency queue.
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

    /// Returns whether an L4S packet is dropped; otherwise it may be marked.
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

    /// Returns whether a classic packet is dropped; otherwise it may be marked.
    //= RFC 9332 appendix A.2, figure 7
    fn drops_classic(&mut self, packet: &mut Waiting, events: &mut dyn QueueEvents) -> bool {
        let probability = self.base * self.base;
        let max = (1.0 / (self.params.k * self.params.k)).min(1.0);
        self.classic.recur(probability) && (probability >= max || !packet.mark(events))
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

    /// In the order of the scheduler, if none is dropped and no time passes.
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

    /// Returns the order in which packets leave at 10 ms; classic packets 0 to 9 arrive at 0 ms, L4S packets 10 to 19
    /// at 10 ms.
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
    fn l4s_packets_precede_all_but_a_share_of_classic_ones() {
        // Credit: -1500 (1 - 1/2) at first; an L4S packet adds 1/4 of its size, a classic packet subtracts 3/4.
        let left = order(Params { classic_weight: 0.25, ..Params::default() });
        assert_eq!(left[..11], [10, 11, 12, 13, 0, 14, 15, 16, 1, 17, 18]);
    }

    #[test]
    fn a_time_shift_delays_classic_packets() {
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
    fn a_share_is_marked_evenly() {
        let mut side = Side::default();
        let marked: Vec<u32> = (1..=12).filter(|_| side.recur(0.25)).collect();
        assert_eq!(marked, [5, 9]);
    }
}
