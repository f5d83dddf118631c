use super::{AckInfo, Definition, Event, MSS, compare, play};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::cc::{SenderContext, Spec};
use airwnd_units::Bytes;
use std::rc::Rc;

/// Constants of Sprout's receiver.
#[derive(Clone, Copy)]
struct Constants {
    tick: f64,
    bins: usize,
    max_rate: f64,
    sigma: f64,
    escape: f64,
    percentile: f64,
    lookahead: usize,
    exact: bool,
}

const RECEIVER: Constants = Constants {
    tick: 0.02,
    bins: 256,
    max_rate: 1000.0,
    sigma: 200.0,
    escape: 1.0,
    percentile: 0.05,
    lookahead: 5,
    exact: false,
};

/// A function of the rate, sampled at the midpoints of bins except for the first, which is zero.
type Pmf = Vec<f64>;

struct Model {
    constants: Constants,
    /// [old rate][new rate - first]
    transitions: Vec<(usize, Vec<f64>)>,
    /// [ticks][current rate][packets]
    count_probability: Vec<Vec<Vec<f64>>>,
}

fn poisson_pdf(mean: f64, count: usize) -> f64 {
    if mean == 0.0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    let log_factorial: f64 = (1..=count).map(|k| f64::ln(k as f64)).sum();
    f64::exp(count as f64 * f64::ln(mean) - mean - log_factorial)
}

fn normal_cdf(x: f64, stddev: f64) -> f64 {
    0.5 * libm::erfc(-x / (stddev * f64::sqrt(2.0)))
}

fn normalize(pmf: &mut Pmf) {
    let sum: f64 = pmf.iter().sum();
    pmf.iter_mut().for_each(|value| *value /= sum);
}

impl Model {
    fn new(constants: Constants) -> Model {
        let mut model = Model { constants, transitions: Vec::new(), count_probability: Vec::new() };
        model.transitions = (0..=constants.bins).map(|old| model.transition(old)).collect();
        let limit = f64::ceil(1.5 * constants.max_rate * constants.tick) as usize;
        // The last count holds the remaining probability.
        let counts_at = |rate: f64| {
            let mut counts: Vec<f64> = (0..limit).map(|k| poisson_pdf(rate * constants.tick, k)).collect();
            counts.push(f64::max(1.0 - counts.iter().sum::<f64>(), 0.0));
            counts
        };
        let tick_forecast: Vec<Vec<f64>> =
            (0..=constants.bins).map(|bin| counts_at(model.mid(bin))).collect();
        for ticks in 1..=1 + constants.lookahead {
            let of_component = |component: usize| {
                let mut pmf = vec![0.0; constants.bins + 1];
                pmf[component] = 1.0;
                let mut counts = vec![1.0];
                for _ in 0..ticks {
                    let this_tick: Vec<f64> = (0..=limit)
                        .map(|k| pmf.iter().zip(&tick_forecast).map(|(p, forecast)| p * forecast[k]).sum())
                        .collect();
                    let mut sum = vec![0.0; counts.len() + limit];
                    for (old, a) in counts.iter().enumerate() {
                        for (new, b) in this_tick.iter().enumerate() {
                            sum[old + new] += a * b;
                        }
                    }
                    counts = sum;
                    pmf = model.evolved(&pmf);
                    normalize(&mut pmf);
                }
                counts
            };
            let all = (0..=constants.bins).map(of_component).collect();
            model.count_probability.push(all);
        }
        model
    }

    fn width(&self) -> f64 {
        self.constants.max_rate / self.constants.bins as f64
    }

    fn mid(&self, bin: usize) -> f64 {
        if bin == 0 { 0.0 } else { (bin as f64 + 0.5) * self.width() }
    }

    fn floor(&self, bin: usize) -> f64 {
        if bin == 0 { -1e6 } else { bin as f64 * self.width() }
    }

    fn ceil(&self, bin: usize) -> f64 {
        if bin == self.constants.bins { 1e6 } else { (bin + 1) as f64 * self.width() }
    }

    fn bin(&self, rate: f64) -> usize {
        ((rate / self.width()) as i64).clamp(0, self.constants.bins as i64) as usize
    }

    fn transition(&self, old: usize) -> (usize, Vec<f64>) {
        let stddev = self.constants.sigma * f64::sqrt(self.constants.tick);
        let zero_escape = 1.0 - poisson_pdf(self.constants.tick * self.constants.escape, 0);
        let rate = self.mid(old);
        let cdf = |edge: f64| normal_cdf(edge - rate, stddev);
        let first = self.bin(rate - 5.0 * stddev);
        let weight = |new: usize| {
            let zfactor = match (old, new) {
                (0, 0) => 1.0 - zero_escape,
                (0, _) => zero_escape,
                _ => 1.0,
            };
            zfactor * (cdf(self.ceil(new)) - cdf(self.floor(new)))
        };
        (first, (first..=self.bin(rate + 5.0 * stddev)).map(weight).collect())
    }

    fn evolved(&self, pmf: &Pmf) -> Pmf {
        let mut new_pmf = vec![0.0; pmf.len()];
        for (old_prob, (first, weights)) in pmf.iter().zip(&self.transitions) {
            for (new, weight) in weights.iter().enumerate() {
                new_pmf[first + new] += old_prob * weight;
            }
        }
        new_pmf
    }

    fn lower_quantile(&self, ticks: usize, pmf: &Pmf) -> usize {
        let forecast = &self.count_probability[ticks - 1];
        let mut sum = 0.0;
        for k in 0..forecast[0].len() {
            sum += pmf.iter().zip(forecast).map(|(p, counts)| p * counts[k]).sum::<f64>();
            if sum >= self.constants.percentile {
                return k;
            }
        }
        panic!("probabilities sum to one")
    }
}

/// Sprout's receiver, with ACKs as input, and its sender's window after a forecast.
struct Sprout {
    model: Rc<Model>,
    pmf: Pmf,
    time: Option<f64>,
    count_this_tick: f64,
    window: f64,
}

impl Sprout {
    fn observe(&mut self, counts: usize) {
        for bin in 0..self.pmf.len() {
            self.pmf[bin] *= poisson_pdf(self.model.mid(bin) * self.model.constants.tick, counts);
        }
        normalize(&mut self.pmf);
    }

    fn observe_at_least(&mut self, counts: usize) {
        for bin in 0..self.pmf.len() {
            let mean = self.model.mid(bin) * self.model.constants.tick;
            self.pmf[bin] *= 1.0 - (0..counts).map(|k| poisson_pdf(mean, k)).sum::<f64>();
        }
        normalize(&mut self.pmf);
    }
}

impl Definition for Sprout {
    fn measure(&mut self, info: &AckInfo) {
        let tick = self.model.constants.tick;
        let mut time = *self.time.get_or_insert(info.now);
        // Earliest possible arrival, without queueing, of a packet sent together with the acknowledged one. The ACK of
        // a single packet may have been delayed by half a second.
        let waits = if self.window < 1.0005 { 0.5 } else { 0.0 };
        let score_time = f64::max(info.now - info.rtt, 0.0) + f64::min(info.min_rtt + waits, info.rtt);
        let mut forecast = false;
        while time + tick < info.now + 1e-10 {
            self.pmf = self.model.evolved(&self.pmf);
            normalize(&mut self.pmf);
            let busy = time + tick > score_time + 1e-10;
            let count = f64::floor(self.count_this_tick + 0.5) as usize;
            match self.count_this_tick > 0.0 {
                false if busy => self.observe(0),
                false => {}
                true if busy || self.model.constants.exact => self.observe(usize::max(count, 1)),
                true => self.observe_at_least(usize::max(count, 1)),
            }
            self.count_this_tick = 0.0;
            time += tick;
            forecast = true;
        }
        self.time = Some(time);
        if forecast {
            let ahead = |ticks: usize| self.model.lower_quantile(ticks, &self.pmf) as f64;
            self.window = f64::max(ahead(1 + self.model.constants.lookahead) - ahead(1), 2.0);
        }
        self.count_this_tick += info.acked;
    }

    fn ack(&mut self, _: &AckInfo) {}

    fn loss(&mut self, _: f64, _: f64) {}

    fn timeout(&mut self, _: f64, _: f64, _: bool) {
        self.window = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.window
    }
}

fn definition(constants: Constants) -> impl Fn(f64) -> Box<dyn Definition> {
    let model = Rc::new(Model::new(constants));
    move |window| {
        let even = 1.0 / (constants.bins + 1) as f64;
        let pmf = vec![even; constants.bins + 1];
        Box::new(Sprout { model: model.clone(), pmf, time: None, count_this_tick: 0.0, window })
    }
}

#[test]
fn sprout() {
    compare("kind = \"sprout\"\nbins = 32", definition(Constants { bins: 32, ..RECEIVER }));
}

#[test]
fn sprout_with_other_settings() {
    let other = Constants {
        tick: 0.01,
        bins: 20,
        max_rate: 300.0,
        sigma: 50.0,
        escape: 5.0,
        percentile: 0.2,
        lookahead: 3,
        exact: true,
    };
    let settings = "kind = \"sprout\"\ntick = \"10ms\"\nbins = 20\nmax_rate = 300.0\nvolatility = 50.0\n\
                    escape_rate = 5.0\npercentile = 0.2\nlookahead = 3\n\
                    partial_ticks = \"exact\"";
    compare(settings, definition(other));
}

/// With all bins, over a link that changes from 50 to 500 segments per second, then to zero, and back.
#[test]
fn sprout_with_all_bins() {
    let node = Node::from_toml("kind = \"sprout\"", "test").unwrap();
    let ctx = SenderContext {
        mss: Bytes(MSS),
        initial_window: Bytes(10 * MSS),
        initial_ssthresh: Bytes(u64::MAX),
        seed: 1,
        identity: Default::default(),
    };
    let ack = |gap_us, queue_us| Event::Ack {
        bytes: MSS,
        gap_us,
        queue_us,
        new_round: false,
        recovering: false,
        limited: true,
    };
    let mut events: Vec<Event> =
        (1..=40).flat_map(|n| (0..10).map(move |_| ack(20_000 / n + 1000, 0))).collect();
    events.push(ack(150_000, 100_000));
    events.extend((0..100).map(|_| ack(7_000, 50_000)));
    let mut ours = Spec::read(&node).unwrap().build(&ctx);
    play(&mut *ours, &mut *definition(RECEIVER)(10.0), &events, u64::MAX).unwrap();
}
