//! Forecast of the packets that a link of varying rate will deliver.

use airwnd_units::Span;
use std::f64::consts::SQRT_2;

/// Model of a link of varying rate, and the parameters of the forecast.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct LinkModel {
    /// Interval between two packet counts.
    pub tick: Span,
    /// Number of ticks covered by a forecast, after the next one.
    pub lookahead: u32,
    /// Number of rate bins, without that of an outage.
    pub bins: u32,
    /// Maximum rate, in packets per second.
    pub max_rate: f64,
    /// Standard deviation of the rate after one second, in packets per second.
    pub volatility: f64,
    /// Rate at which an outage ends, per second.
    pub escape_rate: f64,
    /// Probability that fewer packets are delivered than forecast.
    pub percentile: f64,
}

/// Bayesian estimate of a link's rate and forecast of its deliveries. The rate follows a Brownian motion; packet counts
/// are Poisson (Winstein, Sivaraman and Balakrishnan, NSDI 2013, section 3).
///
/// The belief is a probability for each of `bins` + 1 rates. The lowest one is an outage, which ends at `escape_rate`.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Forecaster {
    percentile: f64,
    /// Mean number of packets per tick at each rate.
    means: Vec<f64>,
    log_means: Vec<f64>,
    /// Probability of no packet in a tick, at each rate.
    none: Vec<f64>,
    transitions: Vec<Transition>,
    belief: Vec<f64>,
    spare: Vec<f64>,
    near: Ahead,
    far: Ahead,
}

/// Distribution of the rate one tick later.
#[derive(Clone, Debug)]
struct Transition {
    first: usize,
    weights: Vec<f64>,
}

/// Distribution of the packets in the next ticks, given the current rate: for each number of packets, the probability
/// at each rate of at most that number.
#[derive(Clone, Debug)]
struct Ahead {
    at_most: Vec<Vec<f64>>,
}

/// Standard deviations beyond which the Gaussian is truncated (keithw/sprout@c838669 `Process::evolve`).
const CUT_OFF: f64 = 5.0;
/// Maximum packet count per tick in the forecast, relative to the mean at the maximum rate (MAX_ARRIVALS_PER_TICK in
/// keithw/sprout@c838669).
const MAX_COUNT_RATIO: f64 = 1.5;

impl Forecaster {
    pub fn new(link: &LinkModel) -> Forecaster {
        let bins = link.bins as usize;
        let width = link.max_rate / f64::from(link.bins);
        let tick = link.tick.as_secs();
        let rates: Vec<f64> =
            (0..=bins).map(|bin| if bin == 0 { 0.0 } else { (bin as f64 + 0.5) * width }).collect();
        let (deviation, lasts) = (link.volatility * libm::sqrt(tick), libm::exp(-link.escape_rate * tick));
        let means: Vec<f64> = rates.iter().map(|rate| rate * tick).collect();
        let transitions: Vec<Transition> =
            (0..=bins).map(|bin| Transition::new(bin, &rates, width, deviation, lasts)).collect();
        let counts = libm::ceil(MAX_COUNT_RATIO * link.max_rate * tick) as usize;
        let now: Vec<Vec<f64>> = means.iter().map(|mean| poisson(*mean, counts)).collect();
        let ticks = 1 + link.lookahead as usize;
        Forecaster {
            percentile: link.percentile,
            none: means.iter().map(|mean| libm::exp(-mean)).collect(),
            log_means: means.iter().map(|mean| libm::log(*mean)).collect(),
            means,
            belief: vec![1.0 / (bins + 1) as f64; bins + 1],
            spare: vec![0.0; bins + 1],
            near: Ahead::new(&transitions, &now, 1),
            far: Ahead::new(&transitions, &now, ticks),
            transitions,
        }
    }

    /// Advances the belief by one tick.
    pub fn evolve(&mut self) {
        self.spare.fill(0.0);
        for (from, belief) in self.transitions.iter().zip(&self.belief) {
            let to = &mut self.spare[from.first..];
            to.iter_mut().zip(&from.weights).for_each(|(sum, weight)| *sum += belief * weight);
        }
        std::mem::swap(&mut self.belief, &mut self.spare);
        self.normalize();
    }

    /// Updates the belief with the packet count of the last tick.
    pub fn observe(&mut self, count: u32) {
        if count == 0 {
            self.belief.iter_mut().zip(&self.none).for_each(|(belief, none)| *belief *= none);
        } else {
            let k = f64::from(count);
            let log_likelihood = |at: usize| k * self.log_means[at] - self.means[at];
            // Relative to the most likely rate, so that no count makes all likelihoods underflow.
            let likeliest = (0..self.means.len()).map(log_likelihood).fold(f64::NEG_INFINITY, f64::max);
            for (at, belief) in self.belief.iter_mut().enumerate() {
                *belief *= libm::exp(log_likelihood(at) - likeliest);
            }
        }
        self.normalize();
    }

    /// Updates the belief with a lower bound of the last tick's packet count: the sender left the link idle.
    pub fn observe_at_least(&mut self, count: u32) {
        let known = self.near.at_most.len() - 1;
        if let Some(fewer) = (count as usize).min(known).checked_sub(1) {
            let fewer = self.near.at_most[fewer].iter();
            self.belief.iter_mut().zip(fewer).for_each(|(belief, fewer)| *belief *= 1.0 - fewer);
            self.normalize();
        }
    }

    /// Normalizes the belief to a sum of one; resets it to a uniform distribution if the sum is zero.
    fn normalize(&mut self) {
        let sum: f64 = self.belief.iter().sum();
        let even = 1.0 / self.belief.len() as f64;
        self.belief.iter_mut().for_each(|belief| *belief = if sum > 0.0 { *belief / sum } else { even });
    }

    /// Returns the packets that will be delivered after the next tick and within the lookahead, at the configured
    /// percentile.
    pub fn deliveries(&self) -> u32 {
        let (near, far) = (&self.near, &self.far);
        far.quantile(&self.belief, self.percentile)
            .saturating_sub(near.quantile(&self.belief, self.percentile))
    }
}

impl Transition {
    /// Gaussian weights of the rates within the truncation; the ends of the scale absorb what lies beyond them. From an
    /// outage, the weights are multiplied by the probabilities that the outage `lasts` and that it ends.
    fn new(bin: usize, rates: &[f64], width: f64, deviation: f64, lasts: f64) -> Transition {
        let last = rates.len() - 1;
        let from = rates[bin];
        let bin_of = |rate: f64| ((rate / width).max(0.0) as usize).min(last);
        let (first, end) = (bin_of(from - CUT_OFF * deviation), bin_of(from + CUT_OFF * deviation));
        let below = |edge: f64| 0.5 * libm::erfc((from - edge) / (deviation * SQRT_2));
        let weights = (first..=end)
            .map(|to| {
                let low = if to == 0 { 0.0 } else { below(to as f64 * width) };
                let high = if to == last { 1.0 } else { below((to + 1) as f64 * width) };
                let outage = match (bin, to) {
                    (0, 0) => lasts,
                    (0, _) => 1.0 - lasts,
                    _ => 1.0,
                };
                outage * (high - low)
            })
            .collect();
        Transition { first, weights }
    }

    fn apply(&self, to: &[Vec<f64>], sum: &mut [f64]) {
        for (weight, row) in self.weights.iter().zip(&to[self.first..]) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

impl Ahead {
    /// Creates the distribution for a number of ticks. The counts of two ticks depend on each other only through the
    /// initial rate.
    fn new(transitions: &[Transition], now: &[Vec<f64>], ticks: usize) -> Ahead {
        let counts = now[0].len();
        let mut tick = now.to_vec();
        let mut sums = now.to_vec();
        for _ in 1..ticks {
            tick = transitions
                .iter()
                .map(|from| {
                    let mut later = vec![0.0; counts];
                    from.apply(&tick, &mut later);
                    later
                })
                .collect();
            for (sum, later) in sums.iter_mut().zip(&tick) {
                let whole: f64 = later.iter().sum();
                *sum = convolve(sum, later, 1.0 / whole);
            }
        }
        sums.iter_mut().for_each(|sum| accumulate(sum));
        let at_most = (0..sums[0].len()).map(|count| sums.iter().map(|sum| sum[count]).collect()).collect();
        Ahead { at_most }
    }

    /// Returns the smallest number of packets whose cumulative probability reaches `probability`.
    fn quantile(&self, belief: &[f64], probability: f64) -> u32 {
        let at_most = |row: &Vec<f64>| belief.iter().zip(row).map(|(b, p)| b * p).sum::<f64>();
        self.at_most.partition_point(|row| at_most(row) < probability) as u32
    }
}

/// Returns the Poisson probabilities of 0, 1, ... packets; the last one is of `counts` or more.
fn poisson(mean: f64, counts: usize) -> Vec<f64> {
    let mut probabilities = Vec::with_capacity(counts + 1);
    let mut next = libm::exp(-mean);
    for count in 0..counts {
        probabilities.push(next);
        next *= mean / (count + 1) as f64;
    }
    let rest = 1.0 - probabilities.iter().sum::<f64>();
    probabilities.push(rest.max(0.0));
    probabilities
}

fn convolve(a: &[f64], b: &[f64], scale: f64) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (at, a) in a.iter().enumerate() {
        sum[at..].iter_mut().zip(b).for_each(|(sum, b)| *sum += scale * a * b);
    }
    sum
}

fn accumulate(probabilities: &mut [f64]) {
    let mut sum = 0.0;
    for probability in probabilities {
        sum += *probability;
        *probability = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters of Sprout.
    const LINK: LinkModel = LinkModel {
        tick: Span::from_millis(20),
        lookahead: 5,
        bins: 256,
        max_rate: 1000.0,
        volatility: 200.0,
        escape_rate: 1.0,
        percentile: 0.05,
    };

    fn forecaster() -> Forecaster {
        Forecaster::new(&LINK)
    }

    /// Returns a forecaster after 100 repetitions of these packet counts in ticks of 20 ms.
    fn after(counts: &[u32]) -> Forecaster {
        let mut forecaster = forecaster();
        for _ in 0..100 {
            for count in counts {
                forecaster.evolve();
                forecaster.observe(*count);
            }
        }
        forecaster
    }

    fn mean_rate(forecaster: &Forecaster) -> f64 {
        let beliefs = forecaster.belief.iter().zip(&forecaster.means);
        beliefs.map(|(belief, mean)| belief * mean).sum::<f64>() / 0.02
    }

    #[test]
    fn the_belief_finds_a_constant_rate() {
        // 5 packets in 20 ms are 250 per second. The variance of the rate between ticks is small compared with that of
        // the counts, so the mean settles within one or two bins of it.
        let found = mean_rate(&after(&[5]));
        assert!((found - 250.0).abs() < 10.0, "{found}");
        let outage = after(&[0]);
        assert!(outage.belief[0] > 0.9, "{}", outage.belief[0]);
    }

    #[test]
    fn a_forecast_is_below_the_mean() {
        // 25 packets are expected in five ticks; in the middle of them the rate may be lower by 2 x 200 / s x sqrt(0.06
        // s)
        let forecast = after(&[5]).deliveries();
        assert!((8..20).contains(&forecast), "{forecast}");
        assert_eq!(after(&[0]).deliveries(), 0);
    }

    #[test]
    fn a_lower_bound_does_not_exclude_higher_rates() {
        let mut forecaster = after(&[5]);
        let before = mean_rate(&forecaster);
        forecaster.observe_at_least(0);
        assert!((mean_rate(&forecaster) - before).abs() < 1e-9);
        for _ in 0..50 {
            forecaster.evolve();
            forecaster.observe_at_least(3);
        }
        assert!(mean_rate(&forecaster) > before);
    }

    #[test]
    fn beliefs_and_forecasts_are_probabilities() {
        let mut forecaster = forecaster();
        for ahead in [&forecaster.near, &forecaster.far] {
            for bin in 0..=256 {
                let all: Vec<f64> = ahead.at_most.iter().map(|row| row[bin]).collect();
                assert!(all.is_sorted() && (all.last().unwrap() - 1.0).abs() < 1e-9, "{bin}");
            }
        }
        for count in [3, 0, 0, 17, 100_000, 0, 1] {
            forecaster.evolve();
            forecaster.observe(count);
            assert!((forecaster.belief.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{count}");
        }
    }
}
