//! RED: random early detection.

use super::QueueContext;
use super::parts::early::{Common, Curve, Early, Settings, Spacing, Verdict, in_order, place};
use airwnd_catalog::Params;
use airwnd_units::Time;

/// RED: drops arriving packets at random; the probability grows with the average queue between two thresholds.
///
/// Between the thresholds the drop probability is linear in the average queue; at or above max_th every packet is
/// dropped:
///
/// ```math
/// p = \mathrm{max\_p} \, \frac{\mathrm{avg} - \mathrm{min\_th}}{\mathrm{max\_th} - \mathrm{min\_th}}
/// ```
///
/// `spacing` then spreads the drops. Each arrival updates the average with the queue q that it finds:
///
/// ```math
/// \mathrm{avg} \leftarrow (1 - \mathrm{weight}) \, \mathrm{avg} + \mathrm{weight} \cdot q
/// ```
///
/// While the queue is empty the average decays as if typical packets had arrived and found an empty queue. A partly
/// sent packet does not count in q, as on a link, where the packet in transmission does not count either.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993", check)]
pub struct Params {
    /// Average queue at which dropping begins.
    #[param(basic, default = 5.0, range = 0.0..=1e9, unit = "packets", source = "Floyd and Jacobson 1993 §5")]
    pub min_th: f64,
    /// Average queue at which every packet is dropped.
    #[param(basic)]
    #[param(default = 15.0, range = 0.0..=1e9, unit = "packets", source = "Floyd and Jacobson 1993 §5")]
    pub max_th: f64,
    /// Drop probability at `max_th`.
    #[param(basic)]
    #[param(default = 0.02, range = 0.0..=1.0, unit = "1", source = "Floyd and Jacobson 1993 §5: 1/50")]
    pub max_p: f64,
    /// Weight of the current queue in the average.
    #[param(default = 0.002, range = 1e-9..=1.0, unit = "1", source = "Floyd and Jacobson 1993 §5, w_q")]
    pub weight: f64,
    /// Spacing of drops.
    #[param(expert, default = Spacing::Uniform)]
    #[param(unit = "word", source = "Floyd and Jacobson 1993 §7; `wait`: ns-2 and ns-3, wait_")]
    pub spacing: Spacing,
    /// The parameters of [`Common`].
    #[param(flatten)]
    pub common: Common,
}

/// A queue with RED.
pub type Red = Early<Params>;

impl Params {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        in_order(self.min_th, self.max_th)
    }
}

impl Curve for Params {
    fn settings(&self, _ctx: &QueueContext) -> Settings {
        Settings { common: self.common.clone(), weight: self.weight, spacing: self.spacing }
    }

    //= Floyd and Jacobson 1993, figure 2
    fn verdict(&mut self, _now: Time, average: f64) -> Verdict {
        if average < self.min_th {
            Verdict::Pass
        } else if average < self.max_th {
            Verdict::Chance(self.max_p * place(average, self.min_th, self.max_th))
        } else {
            Verdict::Drop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};
    use crate::aqm::{QueueDisc, Waiting};
    use airwnd_kernel::Codepoint;
    use airwnd_units::{BitRate, Bytes, Span};

    /// Enqueues one packet of 1000 B per millisecond without service; returns the queue and its drops.
    fn fill(params: Params, count: u32, ecn: Codepoint) -> (Red, Seen) {
        let (mut queue, mut seen) = (Red::new(params, &ctx()), Seen::default());
        for key in 0..count {
            let now = Time::ZERO + Span::from_millis(key.into());
            queue.enqueue(now, Waiting { ecn, ..packet(key, 1000, now) }, Bytes::ZERO, &mut seen);
        }
        (queue, seen)
    }

    /// avg_n of a queue that grows by one packet per arrival: n - (1 - (1 - w)^n) (1 - w) / w, with q = 0 at first.
    //= Floyd and Jacobson 1993, equation 2
    #[test]
    fn the_average_follows_a_growing_queue() {
        let weight = 0.002_f64;
        let common = Common { packets: None, ..Common::default() };
        let params = Params { max_p: 0.0, max_th: 1e9, common, ..Params::default() };
        let (queue, seen) = fill(params, 101, Codepoint::NotEct);
        let expected = 100.0 - (1.0 - (1.0 - weight).powi(100)) * (1.0 - weight) / weight;
        assert!((queue.average() - expected).abs() < 1e-9, "{} {expected}", queue.average());
        assert_eq!(seen.dropped, []);
    }

    /// p is linear between the thresholds.
    #[test]
    fn the_curve_is_linear_with_a_jump_at_max_th() {
        let mut params = Params::default();
        let mut at = |average| params.verdict(Time::ZERO, average);
        assert_eq!((at(4.99), at(5.0)), (Verdict::Pass, Verdict::Chance(0.0)));
        assert_eq!((at(10.0), at(15.0)), (Verdict::Chance(0.01), Verdict::Drop));
    }

    /// With p = 1 / 50 and spacing the gaps are uniform on 1..50, or on 50..100: means of 25.5 and 75. Without spacing
    /// the mean is 50.
    #[test]
    fn spacing_sets_the_distribution_of_gaps() {
        for (spacing, min, max, mean) in [
            (Spacing::Uniform, 1, 50, 25.5),
            (Spacing::Wait, 50, 100, 75.0),
            (Spacing::None, 1, u64::MAX, 50.0),
        ] {
            // An average of 10 in 5..15: half of max_p.
            let params = Params { spacing, max_p: 0.04, ..Params::default() };
            let mut queue = Red::new(params, &ctx());
            let (mut gaps, mut gap) = (Vec::new(), 0);
            for _ in 0..200_000 {
                gap += 1;
                if queue.hits(0.02, Bytes(1000)) {
                    queue.reset_count();
                    gaps.push(std::mem::take(&mut gap));
                }
            }
            // The first gap started below the threshold.
            let gaps = &gaps[1..];
            assert!(gaps.iter().all(|gap| (min..=max).contains(gap)), "{spacing:?}");
            let found = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.03, "{spacing:?}: {found}");
        }
    }

    /// Ten packet times of idleness count as ten arrivals at an empty queue.
    #[test]
    fn the_average_decays_while_the_queue_is_empty() {
        let rate = Some(BitRate(8_000_000));
        let mut queue = Red::new(
            Params { weight: 0.1, max_p: 0.0, ..Params::default() },
            &QueueContext { rate, ..ctx() },
        );
        let mut seen = Seen::default();
        for key in 0..5 {
            queue.enqueue(Time::ZERO, packet(key, 1000, Time::ZERO), Bytes::ZERO, &mut seen);
        }
        while queue.dequeue(Time::ZERO, &mut seen).is_some() {}
        let before = queue.average();
        let now = Time::ZERO + Span::from_millis(10);
        queue.enqueue(now, packet(9, 1000, now), Bytes::ZERO, &mut seen);
        assert!((queue.average() / before - 0.9_f64.powi(10)).abs() < 1e-12);
    }

    /// Below max_th ECN-capable packets are marked; above it they are dropped like all others.
    #[test]
    fn marks_replace_drops_between_the_thresholds() {
        let params = Params { weight: 1.0, min_th: 0.0, max_p: 1.0, max_th: 10.0, ..Params::default() };
        let (queue, seen) = fill(params.clone(), 30, Codepoint::Ect0);
        assert!(!seen.marked.is_empty() && seen.marked.iter().all(|key| *key < 11), "{:?}", seen.marked);
        assert_eq!(seen.dropped.len(), 20);
        assert_eq!(queue.backlog().packets, 10);
        let common = Common { ecn: false, ..Common::default() };
        let (_, seen) = fill(Params { common, ..params }, 30, Codepoint::Ect0);
        assert!(seen.marked.is_empty() && !seen.dropped.is_empty());
    }
}
