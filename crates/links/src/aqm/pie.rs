//! PIE: proportional integral controller enhanced.

use super::fifo::delegate_to_fifo;
use super::parts::flows::FlowQueue;
use super::parts::limit::Limit;
use super::parts::ticks::Ticks;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// Estimator of the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Estimator {
    /// Waiting time of the last departed packet; zero if the queue is empty.
    #[word = "timestamps"]
    Timestamps,
    /// Backlog over the departure rate.
    #[word = "departure-rate"]
    DepartureRate,
}

/// Controller of a PIE queue, alone or one of many.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 8033")]
pub struct Control {
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(15), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, QDELAY_REF")]
    pub qdelay_ref: Span,
    /// Interval between updates of p.
    #[param(default = Span::from_millis(15), range = Span::from_micros(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, T_UPDATE")]
    pub t_update: Span,
    /// Duration of a burst that passes without drops.
    #[param(default = Span::from_millis(150), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, MAX_BURST")]
    pub max_burst: Span,
    /// Gain of the deviation from the target delay.
    #[param(default = 0.125, range = 0.0..=1000.0, unit = "1/s", source = "RFC 8033 appendix A, alpha")]
    pub alpha: f64,
    /// Gain of the change of the delay.
    #[param(default = 1.25, range = 0.0..=1000.0, unit = "1/s", source = "RFC 8033 appendix A, beta")]
    pub beta: f64,
    /// Packet size that defines "a queue of two packets".
    #[param(expert, default = Bytes(1024), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 8033 appendix A, MEAN_PKTSIZE; RFC 8034 appendix A")]
    pub mean_pktsize: Bytes,
    /// Estimator of the queueing delay.
    #[param(expert, default = Estimator::Timestamps)]
    #[param(unit = "word", source = "RFC 8033 appendix A; `departure-rate`: §5.2 and appendix B")]
    pub estimator: Estimator,
    /// Number of bytes per measurement of the departure rate.
    #[param(expert, default = Bytes(1 << 14), range = Bytes(1)..=Bytes(1 << 16))]
    #[param(unit = "B", source = "RFC 8033 appendix B, DQ_THRESHOLD")]
    pub dq_threshold: Bytes,
    /// Limit the gaps between drops: no drop before p sums to 0.85, always one at 8.5.
    #[param(expert, default = true, unit = "true or false", source = "RFC 8033 §5.4")]
    pub derandomize: bool,
    /// Limit the increase of p to 0.02 per update above 0.1.
    #[param(expert, default = true, unit = "true or false", source = "RFC 8033 §5.5")]
    pub cap_adjustment: bool,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "RFC 8033 §5.1")]
    pub ecn: bool,
    /// Value of p at and above which ECN-capable packets are dropped as well.
    #[param(default = 0.1, range = 0.0..=1.0, unit = "1", source = "RFC 8033 §5.1, mark_ecnth")]
    pub mark_ecnth: f64,
}

/// PIE: drops arriving packets at random; a proportional-integral controller sets the probability from queueing delay.
///
/// Every `t_update` the controller updates the drop probability p:
///
/// ```math
/// p \leftarrow p + \alpha \, (\mathrm{delay} - \mathrm{qdelay\_ref}) +
/// \beta \, (\mathrm{delay} - \mathrm{delay}_{\mathrm{old}})
/// ```
///
/// The step is scaled down for small p: by 2 below 0.1, up to 2048 below 10^-6. p decays by 2 % per update while there
/// is no delay. Nothing is dropped while the delay is below half of its target and p below 0.2, from a queue of at most
/// two packets, or in the first `max_burst` of a congestion period. Below `mark_ecnth` ECN-capable packets are marked
/// instead. PIE is never turned off (§5.3).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 8033")]
pub struct Params {
    /// The parameters of [`Control`].
    #[param(flatten)]
    pub control: Control,
    /// Maximum number of packets, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(1000), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_pie.c, pie_params_init")]
    pub packets: Option<u64>,
    /// Buffer size; `none`: no limit in bytes.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "Linux sch_pie: packets only")]
    pub buffer: Option<Bytes>,
}

/// A FIFO managed by PIE.
pub struct Pie {
    control: Control,
    limit: Limit,
    queue: Fifo,
    draws: Stream,
    ticks: Ticks,
    probability: f64,
    /// Sum of p since the last signal.
    accumulated: f64,
    burst_allowance: Span,
    delay: Span,
    delay_before: Span,
    departures: Departures,
}

/// Time in which DQ_THRESHOLD bytes leave.
//= RFC 8033 appendix B
#[derive(Clone, Copy, Default)]
struct Departures {
    /// Start of the current measurement, and bytes since then.
    measured: Option<(Time, Bytes)>,
    /// Mean in seconds; zero before the first measurement.
    mean: f64,
}

impl Departures {
    fn note(&mut self, now: Time, left: Bytes, waiting: Bytes, threshold: Bytes) {
        if let Some((start, bytes)) = &mut self.measured {
            *bytes += left;
            if *bytes >= threshold {
                let time = now.since(*start).as_secs();
                let weight = if self.mean == 0.0 { 1.0 } else { threshold.0 as f64 / f64::from(1 << 16) };
                self.mean = time * weight + self.mean * (1.0 - weight);
                self.measured = None;
            }
        }
        if self.measured.is_none() && waiting >= threshold {
            self.measured = Some((now, Bytes::ZERO));
        }
    }
}

/// Upper bounds of p, and the divisor of the step of p below them.
//= RFC 8033 §4.2
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];

impl Pie {
    /// Creates an empty queue.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let limit = Limit { bytes: params.buffer, packets: params.packets };
        Pie::within(limit, params.control, ctx)
    }

    fn within(limit: Limit, control: Control, ctx: &QueueContext) -> Self {
        Pie {
            ticks: Ticks::new(control.t_update),
            control,
            limit,
            queue: Fifo::default(),
            draws: ctx.stream,
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance: Span::ZERO,
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            departures: Departures::default(),
        }
    }

    /// Returns the drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    fn catch_up(&mut self, now: Time) {
        while !self.is_at_rest() && self.ticks.take(now).is_some() {
            self.update();
        }
        self.ticks.skip(now);
    }

    /// Returns whether an update would change only values that the next arrival resets.
    fn is_at_rest(&self) -> bool {
        self.probability == 0.0
            && self.delay == Span::ZERO
            && self.delay_before == Span::ZERO
            && self.queue.is_empty()
    }

    //= RFC 8033 §4.2
    fn update(&mut self) {
        if self.control.estimator == Estimator::DepartureRate {
            let drained = self.queue.bytes().0 as f64 / self.control.dq_threshold.0 as f64;
            self.delay = Span::from_secs_f64(drained * self.departures.mean);
        }
        let (delay, reference) = (self.delay.as_secs(), self.control.qdelay_ref.as_secs());
        let step = self.control.alpha * (delay - reference)
            + self.control.beta * (delay - self.delay_before.as_secs());
        let tuned = TUNING.iter().find(|(below, _)| self.probability < *below);
        let mut step = tuned.map_or(step, |(_, divisor)| step / divisor);
        //= RFC 8033 §5.5
        if self.control.cap_adjustment && self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        // Appendix B already decays p below half of the target.
        if self.delay == Span::ZERO && self.delay_before == Span::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = self.delay;
        self.burst_allowance = Span(self.burst_allowance.0.saturating_sub(self.control.t_update.0));
    }

    /// Returns whether the arriving packet is to be dropped or marked.
    //= RFC 8033 §4.1, §4.4
    fn signals(&mut self) -> bool {
        let half = self.control.qdelay_ref / 2;
        let calm = self.probability == 0.0 && self.delay < half && self.delay_before < half;
        if calm {
            self.burst_allowance = self.control.max_burst;
        }
        let spared = (self.delay_before < half && self.probability < 0.2)
            || self.queue.bytes() <= self.control.mean_pktsize * 2;
        if self.burst_allowance > Span::ZERO || spared {
            return false;
        }
        if !self.control.derandomize {
            return self.draws.uniform() < self.probability;
        }
        self.is_due()
    }

    //= RFC 8033 §5.4
    fn is_due(&mut self) -> bool {
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        self.accumulated >= 8.5 || self.draws.uniform() < self.probability
    }
}

impl QueueDisc for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        self.catch_up(now);
        if !self.limit.admits(self.queue.backlog(), held, packet.size) {
            self.accumulated = 0.0;
            events.dropped(packet, Cause::Full);
        } else if self.signals() {
            self.accumulated = 0.0;
            if self.control.ecn && self.probability < self.control.mark_ecnth && packet.mark(events) {
                self.queue.push(packet);
            } else {
                events.dropped(packet, Cause::Early);
            }
        } else {
            self.queue.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        self.catch_up(now);
        let packet = self.queue.pop()?;
        match self.control.estimator {
            Estimator::Timestamps if self.queue.is_empty() => self.delay = Span::ZERO,
            Estimator::Timestamps => self.delay = now.since(packet.arrived),
            Estimator::DepartureRate => {
                self.departures.note(now, packet.size, self.queue.bytes(), self.control.dq_threshold);
            }
        }
        Some(packet)
    }

    delegate_to_fifo!(queue, expire);
}

impl FlowQueue for Pie {
    type Params = Control;

    fn make(control: &Control, limit: Limit, ctx: &QueueContext) -> Self {
        Pie::within(limit, control.clone(), ctx)
    }

    fn overflow(&mut self, _now: Time) -> Option<Waiting> {
        self.queue.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};

    fn controlled(control: Control) -> Params {
        Params { control, ..Params::default() }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Returns the times of drops under a load of twice the service rate, one packet per millisecond.
    fn dropped_at(params: Params, until_ms: u64) -> Vec<u64> {
        let mut pie = Pie::new(params, &ctx());
        let mut drops = Vec::new();
        for ms in 0..until_ms {
            let mut seen = Seen::default();
            pie.enqueue(at(ms), packet(0, 1000, at(ms)), Bytes::ZERO, &mut seen);
            if ms % 2 == 0 {
                pie.dequeue(at(ms), &mut seen);
            }
            drops.extend(seen.dropped.iter().map(|_| ms));
        }
        drops
    }

    #[test]
    fn a_burst_passes_without_drops() {
        // The delay exceeds half of its target with the eighth queued packet; then 150 ms pass.
        let first = |max_burst| dropped_at(controlled(Control { max_burst, ..Control::default() }), 2000)[0];
        let (at_once, later) = (first(Span::ZERO), first(Span::from_millis(400)));
        assert!(at_once < 400 && later > 400, "{at_once} {later}");
    }

    /// The gains of the RFC are for p >= 0.1; for smaller p the step is divided as listed.
    #[test]
    fn a_small_probability_grows_slowly() {
        let mut pie = Pie::new(controlled(Control { max_burst: Span::ZERO, ..Control::default() }), &ctx());
        for (before, divisor) in
            [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)]
        {
            pie.probability = before;
            pie.delay = Span::from_millis(23);
            pie.delay_before = Span::from_millis(23);
            pie.update();
            // 1/8 (23 - 15) ms
            assert!(
                (pie.probability - before - 0.001 / divisor).abs() < 1e-15,
                "{before}: {}",
                pie.probability
            );
        }
    }

    #[test]
    fn derandomized_drops_are_more_even() {
        let spread = |derandomize| {
            let mut pie = Pie::new(controlled(Control { derandomize, ..Control::default() }), &ctx());
            pie.probability = 0.1;
            let gaps: Vec<f64> = (0..100)
                .map(|_| {
                    let gap = (1..).find(|_| {
                        let due = if derandomize { pie.is_due() } else { pie.draws.uniform() < 0.1 };
                        pie.accumulated *= f64::from(!due);
                        due
                    });
                    f64::from(gap.unwrap())
                })
                .collect();
            let mean = gaps.iter().sum::<f64>() / 100.0;
            (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 100.0).sqrt() / mean
        };
        assert!(spread(true) < 0.7 * spread(false), "{} {}", spread(true), spread(false));
    }
}
