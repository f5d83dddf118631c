//! Jitter, reordering and duplication on a link, as Linux netem has them.

use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Largest deviation in multiples of the jitter: the tables of netem have 16 bits with a scale of 8192.
//= Linux sch_netem.c, NETEM_DIST_SCALE
const MAX_DEVIATION: f64 = 32_767.0 / 8192.0;

/// Distribution of a packet's jitter, in multiples of `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Distribution {
    /// Uniform between -1 and 1.
    #[word = "uniform"]
    Uniform,
    /// Standard normal, cut at 4.
    #[word = "normal"]
    Normal,
    /// Pareto with shape 3, less its mean, times 4/3, cut at 4: a long tail of late packets.
    #[word = "pareto"]
    Pareto,
    /// A quarter of `normal` plus three quarters of `pareto`, both of the same draw.
    #[word = "paretonormal"]
    ParetoNormal,
}

/// Jitter: a random part of each packet's delay.
///
/// A packet takes the link's delay plus `time` times a draw from the distribution, at least zero. The draw comes from a
/// uniform number; with a correlation r the number is (1 - r) times a new one plus r times the number before, as in
/// netem, so that a strong correlation also narrows the distribution.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_netem.c, tabledist and get_crandom; tc-netem(8): delay TIME JITTER CORRELATION")]
pub struct Jitter {
    /// Scale of the jitter: half the width of `uniform`, the standard deviation of `normal`.
    #[param(range = Span::ZERO..=Span::from_secs(60), unit = "time", source = "the scenario")]
    pub time: Span,
    /// Distribution of the jitter.
    #[param(basic, default = Distribution::Uniform, unit = "1", source = "tc-netem(8): the default")]
    pub distribution: Distribution,
    /// Correlation of a packet's jitter with that of the packet before.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "tc-netem(8)")]
    pub correlation: f64,
    /// Whether packets keep their order: a packet that would overtake an earlier one arrives with it.
    #[param(basic)]
    #[param(default = false, unit = "1", source = "Linux sch_netem.c, tfifo_enqueue: packets overtake")]
    pub in_order: bool,
}

/// Reordering: some packets overtake those before them, because they do not take the link's delay.
///
/// After each packet that overtakes, the next `gap` - 1 packets do not; each of the following ones does with the
/// probability.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_netem.c, netem_enqueue; tc-netem(8): reorder PERCENT CORRELATION gap DISTANCE")]
pub struct Reorder {
    /// Probability that a packet overtakes.
    #[param(basic, default = 1.0, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Linux sch_netem.c, netem_change: a gap alone means every packet")]
    pub probability: f64,
    /// Correlation with the draw of the packet before, as for jitter. It changes the share of packets, too.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "tc-netem(8)")]
    pub correlation: f64,
    /// Distance in packets of one that overtakes to the next that may.
    #[param(default = 1, range = 1..=1_000_000_000, unit = "packets", source = "iproute2 q_netem.c: 1")]
    pub gap: u64,
    /// Delay of a packet that overtakes, without jitter, if it is below the link's.
    #[param(basic, default = Span::ZERO, range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "Linux sch_netem.c: sent at once")]
    pub delay: Span,
}

/// Duplication: some packets arrive twice.
///
/// The copy is made behind the transmission, so it takes none of the link's rate. It has a jitter of its own, and may
/// overtake or be overtaken. Lost packets have no copies, and copies are not lost on this link.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_netem.c, netem_enqueue; tc-netem(8): duplicate PERCENT CORRELATION")]
pub struct Duplicate {
    /// Probability that a packet arrives twice.
    #[param(range = 0.0..=1.0, unit = "1", source = "the scenario")]
    pub probability: f64,
    /// Correlation with the draw of the packet before, as for jitter. It changes the share of packets, too.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "tc-netem(8)")]
    pub correlation: f64,
}

/// Uniform draws, each correlated with the one before.
#[derive(Clone, Debug)]
struct Draws {
    stream: Stream,
    correlation: f64,
    last: f64,
}

impl Draws {
    fn new(stream: Stream, correlation: f64) -> Draws {
        // The first draw is correlated with a random one, at a position of no packet.
        Draws { stream, correlation, last: stream.at(u64::MAX) }
    }

    //= Linux sch_netem.c, get_crandom
    fn draw(&mut self, position: u64) -> f64 {
        self.last = self.stream.at(position) * (1.0 - self.correlation) + self.last * self.correlation;
        self.last
    }
}

impl Distribution {
    /// Returns the deviation at this share of all draws.
    fn deviation(self, share: f64) -> f64 {
        let normal = || normal_quantile(share).clamp(-MAX_DEVIATION, MAX_DEVIATION);
        //= iproute2 netem, pareto.c
        let pareto = || {
            let above_the_mean = 1.0 / libm::cbrt((1.0 - share).max(f64::MIN_POSITIVE)) - 1.5;
            (4.0 / 3.0 * above_the_mean).min(MAX_DEVIATION)
        };
        match self {
            Distribution::Uniform => 2.0 * share - 1.0,
            Distribution::Normal => normal(),
            Distribution::Pareto => pareto(),
            //= iproute2 netem, paretonormal.c
            Distribution::ParetoNormal => 0.25 * normal() + 0.75 * pareto(),
        }
    }
}

/// Returns the quantile of the standard normal distribution, up to 6 on both sides.
fn normal_quantile(share: f64) -> f64 {
    let tail = share.min(1.0 - share);
    let mut x = 0.0;
    // Newton's method on the lower tail. From 0 every step stays above the quantile, because the distribution function
    // is convex there.
    loop {
        let excess = 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2) - tail;
        let density = libm::exp(-x * x / 2.0) / libm::sqrt(core::f64::consts::TAU);
        let step = excess / density;
        x -= step;
        if step < 1e-9 || x < -6.0 {
            return if share < 0.5 { x } else { -x };
        }
    }
}

/// Delays of the packets on a link, and their copies.
#[derive(Clone, Debug)]
pub struct Impairments {
    jitter: Option<(Jitter, Draws)>,
    reorder: Option<(Reorder, Draws)>,
    duplicate: Option<(Duplicate, Draws)>,
    /// Packets since the last one that overtook.
    since_overtaking: u64,
    /// Latest arrival of a packet that did not overtake.
    latest: Time,
}

/// A packet's way over an impaired link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Time at which it arrives, or the copy if that is earlier.
    pub arrives: Time,
    /// Time at which the other one arrives; `None`: there is no copy.
    pub copy: Option<Time>,
}

impl Impairments {
    /// Creates impairments that draw from this stream; `None` if there are none.
    pub fn new(
        jitter: Option<&Jitter>,
        reorder: Option<&Reorder>,
        duplicate: Option<&Duplicate>,
        stream: Stream,
    ) -> Option<Impairments> {
        let draws = |purpose, correlation| Draws::new(stream.child(purpose), correlation);
        let impairments = Impairments {
            jitter: jitter.map(|jitter| (jitter.clone(), draws(0, jitter.correlation))),
            reorder: reorder.map(|reorder| (reorder.clone(), draws(1, reorder.correlation))),
            duplicate: duplicate.map(|duplicate| (duplicate.clone(), draws(2, duplicate.correlation))),
            since_overtaking: 0,
            latest: Time::ZERO,
        };
        let any = jitter.is_some() || reorder.is_some() || duplicate.is_some();
        any.then_some(impairments)
    }

    /// Returns the way of a packet whose transmission ends at `ends`, and which arrives at `arrives` without
    /// impairments. Called once per packet, in the order of their numbers.
    pub(super) fn way(&mut self, number: u64, ends: Time, arrives: Time, lost: bool) -> Way {
        let is_copied = self
            .duplicate
            .as_mut()
            .is_some_and(|(duplicate, draws)| draws.draw(number) < duplicate.probability && !lost);
        // Positions of the draws of a packet and of its copy.
        let copy = is_copied.then(|| self.arrival(2 * number + 1, ends, arrives));
        let own = self.arrival(2 * number, ends, arrives);
        Way { arrives: copy.map_or(own, |copy| copy.min(own)), copy: copy.map(|copy| copy.max(own)) }
    }

    //= Linux sch_netem.c, netem_enqueue
    fn arrival(&mut self, position: u64, ends: Time, arrives: Time) -> Time {
        if let Some((reorder, draws)) = &mut self.reorder {
            let overtakes =
                self.since_overtaking >= reorder.gap - 1 && draws.draw(position) < reorder.probability;
            if overtakes {
                self.since_overtaking = 0;
                return arrives.min(ends + reorder.delay);
            }
            self.since_overtaking += 1;
        }
        let Some((jitter, draws)) = &mut self.jitter else { return arrives };
        let deviation = jitter.distribution.deviation(draws.draw(position)) * jitter.time.0 as f64;
        let late = Span(libm::round(deviation.max(0.0)) as u64);
        let early = Span(libm::round((-deviation).max(0.0)) as u64);
        let jittered = Time((arrives + late).0.saturating_sub(early.0)).max(ends);
        if !jitter.in_order {
            return jittered;
        }
        self.latest = self.latest.max(jittered);
        self.latest
    }
}

/// A packet on its way to the end of an impaired link.
#[derive(Clone, Copy, Debug)]
struct Traveller<T> {
    arrives: Time,
    /// Position among the packets and copies that have entered: packets that arrive together keep their order.
    entered: u64,
    size: Bytes,
    lost: bool,
    copy: Option<Time>,
    item: T,
}

/// A packet at the end of an impaired link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived<T> {
    pub item: T,
    pub size: Bytes,
    pub lost: bool,
    pub copy: Option<Time>,
    /// Time of the event to schedule.
    pub event: Option<Time>,
}

/// Packets on an impaired link, by arrival.
pub(super) struct Travellers<T> {
    heap: BinaryHeap<Traveller<T>>,
    entered: u64,
    /// Time of the first event that is scheduled and not superseded.
    due: Option<Time>,
}

impl<T: Copy> Travellers<T> {
    pub fn new() -> Travellers<T> {
        Travellers { heap: BinaryHeap::with_capacity(64), entered: 0, due: None }
    }

    /// Adds a packet. Returns the time of the event to schedule, unless an earlier one is scheduled.
    pub fn enter(&mut self, way: Way, size: Bytes, lost: bool, item: T) -> Option<Time> {
        let Way { arrives, copy } = way;
        self.heap.push(Traveller { arrives, entered: self.entered, size, lost, copy, item });
        self.entered += 1;
        let event = self.due.is_none_or(|due| arrives < due).then_some(arrives);
        self.due = event.or(self.due);
        event
    }

    /// Removes the packet that arrives now; `None`: the event was superseded by an earlier one.
    pub fn leave(&mut self, now: Time) -> Option<Arrived<T>> {
        if self.heap.peek()?.arrives > now {
            return None;
        }
        let Traveller { size, lost, copy, item, .. } = self.heap.pop()?;
        self.due = self.heap.peek().map(|next| next.arrives);
        Some(Arrived { item, size, lost, copy, event: self.due })
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|traveller| &traveller.item)
    }
}

impl<T> Ord for Traveller<T> {
    /// The heap returns its greatest element: the first to arrive.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrives, other.entered).cmp(&(self.arrives, self.entered))
    }
}

impl<T> PartialOrd for Traveller<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Traveller<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Traveller<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 100_000;
    const DELAY: Span = Span::from_millis(100);

    fn jitter(time: Span, distribution: Distribution, correlation: f64, in_order: bool) -> Jitter {
        Jitter { time, distribution, correlation, in_order }
    }

    fn reorder(probability: f64, correlation: f64, gap: u64) -> Reorder {
        Reorder { probability, correlation, gap, delay: Span::ZERO }
    }

    fn impairments(
        jitter: Option<&Jitter>,
        reorder: Option<&Reorder>,
        duplicate: Option<&Duplicate>,
    ) -> Impairments {
        Impairments::new(jitter, reorder, duplicate, Stream::new(1, "test")).unwrap()
    }

    /// Returns the ways of packets that are sent each millisecond over a link with the delay.
    fn ways(mut impairments: Impairments) -> Vec<(Time, Way)> {
        let sent = (0..COUNT).map(|number| (number, Time::ZERO + Span::from_millis(number)));
        sent.map(|(number, at)| (at, impairments.way(number, at, at + DELAY, false))).collect()
    }

    /// Deviations from the delay in milliseconds.
    fn deviations(jitter: &Jitter) -> Vec<f64> {
        let late = |(sent, way): (Time, Way)| way.arrives.since(sent).as_millis() - DELAY.as_millis();
        ways(impairments(Some(jitter), None, None)).into_iter().map(late).collect()
    }

    fn share_of(count: usize) -> f64 {
        count as f64 / COUNT as f64
    }

    /// Four standard deviations of a share of independent packets.
    fn bound(p: f64) -> f64 {
        4.0 * (p * (1.0 - p) / COUNT as f64).sqrt()
    }

    /// The first entries of netem's tables are -32768 (normal) and -5461 (pareto), in units of 1 / 8192; `pareto` is at
    /// its cut for 1 / 91 of all draws.
    #[test]
    fn deviations_are_quantiles_of_their_distributions() {
        for (distribution, share, expected) in [
            (Distribution::Uniform, 0.0, -1.0),
            (Distribution::Uniform, 0.75, 0.5),
            (Distribution::Normal, 0.5, 0.0),
            (Distribution::Normal, 0.975, 1.959_963_985),
            (Distribution::Normal, 0.158_655_254, -1.0),
            (Distribution::Normal, 0.0, -MAX_DEVIATION),
            (Distribution::Normal, 1.0, MAX_DEVIATION),
            (Distribution::Pareto, 0.0, -2.0 / 3.0),
            (Distribution::Pareto, 0.5, (2_f64.cbrt() - 1.5) * 4.0 / 3.0),
            (Distribution::Pareto, 1.0 - 1.0 / 64.0, 2.5 * 4.0 / 3.0),
            (Distribution::Pareto, 1.0 - 1.0 / 92.0, MAX_DEVIATION),
            (Distribution::Pareto, 1.0, MAX_DEVIATION),
            (Distribution::ParetoNormal, 0.5, (2_f64.cbrt() - 1.5) * 0.75 * 4.0 / 3.0),
            (Distribution::ParetoNormal, 0.0, -0.25 * MAX_DEVIATION - 0.5),
        ] {
            let found = distribution.deviation(share);
            assert!((found - expected).abs() < 1e-8, "{distribution:?} {share}: {found} {expected}");
        }
    }

    /// The quantile is the inverse of the distribution function.
    #[test]
    fn the_normal_quantile_inverts_its_distribution_function() {
        for step in -55..=55 {
            let x = f64::from(step) / 10.0;
            let share = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            // Above 5 a share has few digits left.
            let allowed = if x > 3.0 { 1e-3 } else { 1e-8 };
            assert!((normal_quantile(share) - x).abs() < allowed, "{x}: {}", normal_quantile(share));
        }
    }

    #[test]
    fn packets_have_the_mean_and_the_spread_of_the_jitter() {
        let ms = Span::from_millis;
        // Standard deviations in multiples of the jitter.
        for (distribution, sigma) in
            [(Distribution::Uniform, 1.0 / 3_f64.sqrt()), (Distribution::Normal, 1.0)]
        {
            let found = deviations(&jitter(ms(10), distribution, 0.0, false));
            let mean = found.iter().sum::<f64>() / COUNT as f64;
            let variance = found.iter().map(|late| (late - mean).powi(2)).sum::<f64>() / COUNT as f64;
            assert!(mean.abs() < 40.0 * sigma / (COUNT as f64).sqrt(), "{distribution:?} {mean}");
            assert!((variance.sqrt() / (10.0 * sigma) - 1.0).abs() < 0.02, "{distribution:?} {variance}");
        }
        let late = deviations(&jitter(ms(10), Distribution::Pareto, 0.0, false));
        // At the cut the Pareto value is 4.5, which 1 / 4.5^3 of all draws exceed.
        let cut = share_of(late.iter().filter(|late| **late > 39.99).count());
        assert!((cut - 4.5_f64.powi(-3)).abs() < bound(cut), "{cut}");
    }

    /// x(n) = (1 - r) u + r x(n - 1): the correlation of neighbours is r, and the variance (1 - r) / (1 + r) of the
    /// uniform one.
    #[test]
    fn neighbours_are_correlated() {
        for r in [0.0, 0.25, 0.9] {
            let found = deviations(&jitter(Span::from_millis(10), Distribution::Uniform, r, false));
            let products: f64 = found.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let squares: f64 = found.iter().map(|late| late * late).sum();
            assert!((products / squares - r).abs() < 0.03, "{r}: {}", products / squares);
            let variance = squares / COUNT as f64 / (100.0 / 3.0);
            assert!((variance - (1.0 - r) / (1.0 + r)).abs() < 0.05, "{r}: {variance}");
        }
    }

    #[test]
    fn jitter_reorders_unless_packets_keep_their_order() {
        let overtaken = |in_order| {
            let jitter = jitter(Span::from_millis(10), Distribution::Normal, 0.0, in_order);
            let ways = ways(impairments(Some(&jitter), None, None));
            ways.windows(2).filter(|pair| pair[1].1.arrives < pair[0].1.arrives).count()
        };
        // A packet is overtaken by the next one if their jitters differ by 1 ms of sqrt(2) times 10 ms: 47 %.
        assert!((share_of(overtaken(false)) - 0.4718).abs() < bound(0.4718) * 2.0, "{}", overtaken(false));
        assert_eq!(overtaken(true), 0);
    }

    /// A jitter above the delay does not make a packet arrive before the end of its transmission.
    #[test]
    fn no_packet_arrives_before_it_was_sent() {
        let wide = jitter(Span::from_secs(60), Distribution::Normal, 0.0, false);
        let ways =
            ways(impairments(Some(&wide), None, Some(&Duplicate { probability: 0.5, correlation: 0.0 })));
        assert!(
            ways.iter()
                .all(|(sent, way)| way.arrives >= *sent && way.copy.is_none_or(|at| at >= way.arrives))
        );
        assert!(ways.iter().any(|(sent, way)| way.arrives == *sent));
    }

    #[test]
    fn each_packet_at_the_distance_of_the_gap_overtakes() {
        let early = |reorder: &Reorder| -> Vec<usize> {
            let ways = ways(impairments(None, Some(reorder), None));
            (0..ways.len()).filter(|number| ways[*number].1.arrives == ways[*number].0).collect()
        };
        assert_eq!(early(&reorder(1.0, 0.0, 5))[..4], [4, 9, 14, 19]);
        assert_eq!(early(&reorder(1.0, 0.0, 1))[..3], [0, 1, 2]);
        assert_eq!(early(&reorder(0.0, 0.0, 1)), [] as [usize; 0]);
        let share = share_of(early(&reorder(0.25, 0.0, 1)).len());
        assert!((share - 0.25).abs() < bound(0.25), "{share}");
        // 4 packets that cannot, then each with a probability of a half: a cycle of 4 + 2.
        let found = early(&reorder(0.5, 0.0, 5));
        assert!((share_of(found.len()) - 1.0 / 6.0).abs() < bound(1.0 / 6.0), "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= 5));
    }

    /// A packet that overtakes has its own delay, without jitter, and at most that of the link.
    #[test]
    fn a_packet_overtakes_by_a_given_time() {
        let jitter = jitter(Span::from_millis(10), Distribution::Uniform, 0.0, false);
        for (delay, expected) in [(Span::from_millis(95), Span::from_millis(95)), (Span::from_secs(1), DELAY)]
        {
            let reorder = Reorder { delay, ..reorder(1.0, 0.0, 2) };
            let ways = ways(impairments(Some(&jitter), Some(&reorder), None));
            assert!(ways.iter().skip(1).step_by(2).all(|(sent, way)| way.arrives == *sent + expected));
        }
    }

    /// The share is the probability only without a correlation, as in netem: correlated draws are narrower.
    #[test]
    fn packets_are_duplicated_with_the_probability() {
        let copied = |probability, correlation| {
            let ways = ways(impairments(None, None, Some(&Duplicate { probability, correlation })));
            assert!(ways.iter().all(|(sent, way)| way.copy.is_none_or(|at| at == *sent + DELAY)));
            share_of(ways.iter().filter(|(_, way)| way.copy.is_some()).count())
        };
        for p in [0.0, 0.01, 0.5, 1.0] {
            assert!((copied(p, 0.0) - p).abs() <= bound(p), "{p}: {}", copied(p, 0.0));
        }
        assert!(copied(0.1, 0.75) < 0.05, "{}", copied(0.1, 0.75));
    }

    #[test]
    fn a_lost_packet_has_no_copy() {
        let mut impairments =
            impairments(None, None, Some(&Duplicate { probability: 1.0, correlation: 0.0 }));
        assert_eq!(impairments.way(0, Time(0), Time(5), true), Way { arrives: Time(5), copy: None });
        assert_eq!(
            impairments.way(1, Time(1), Time(6), false),
            Way { arrives: Time(6), copy: Some(Time(6)) }
        );
    }

    /// Draws depend on seed and number only: other packets that overtake do not shift them.
    #[test]
    fn draws_are_those_of_the_packet() {
        let jitter = jitter(Span::from_millis(10), Distribution::Uniform, 0.0, false);
        let alone = ways(impairments(Some(&jitter), None, None));
        let reordered = ways(impairments(Some(&jitter), Some(&reorder(0.5, 0.0, 1)), None));
        assert!(alone.iter().zip(&reordered).all(|(one, other)| one == other || other.1.arrives == other.0));
        let other = Impairments::new(Some(&jitter), None, None, Stream::new(2, "test")).unwrap();
        assert_ne!(ways(other), alone);
    }
}
