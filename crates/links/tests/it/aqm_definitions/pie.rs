use super::model::{Definition, Draws, Packet, Queue, Signals, compare};
use airwnd_kernel::Stream;

/// RFC 8033, appendix A, with the departure rate of appendix B, ECN (§5.1), de-randomization (§5.4) and the cap of the
/// adjustment (§5.5) as in appendix B. The random draws are those of the discipline.
pub struct Pie {
    qdelay_ref: f64,
    t_update: f64,
    max_burst: f64,
    alpha: f64,
    beta: f64,
    mean_pktsize: f64,
    by_rate: bool,
    dq_threshold: f64,
    derandomize: bool,
    cap: bool,
    ecn: bool,
    max_ecnth: f64,
    limit: Option<usize>,
    random: Stream,
    queue: Queue,
    updates: u64,
    drop_prob: f64,
    accu_prob: f64,
    /// In updates: MAX_BURST less a number of them.
    burst_allowance: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: f64,
    avg_dq_time: f64,
}

impl Pie {
    fn calculate_drop_prob(&mut self) {
        if self.by_rate {
            self.current_qdelay = self.queue.bytes() * self.avg_dq_time / self.dq_threshold;
        }
        let mut p = self.alpha * (self.current_qdelay - self.qdelay_ref)
            + self.beta * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = f64::max(0.0, self.burst_allowance - self.t_update);
    }

    /// Timer.
    fn pass(&mut self, now: f64) {
        while (self.updates + 1) as f64 * self.t_update <= now + 1e-12 {
            self.updates += 1;
            self.calculate_drop_prob();
        }
    }

    fn drop_early(&mut self) -> bool {
        if (self.qdelay_old < self.qdelay_ref / 2.0 && self.drop_prob < 0.2)
            || self.queue.bytes() <= 2.0 * self.mean_pktsize
        {
            return false;
        }
        if self.derandomize {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        self.random.uniform() < self.drop_prob
    }

    pub fn head_drop(&mut self) -> Option<Packet> {
        self.queue.0.pop_front()
    }

    pub fn bytes(&self) -> f64 {
        self.queue.bytes()
    }
}

impl Definition for Pie {
    fn enqueue(&mut self, now: f64, mut packet: Packet, held: f64, signals: &mut Signals) {
        self.pass(now);
        if self.limit.is_some_and(|limit| self.queue.0.len() + usize::from(held > 0.0) + 1 > limit) {
            signals.full.push(packet.id);
            self.accu_prob = 0.0;
            return;
        }
        if self.drop_prob == 0.0
            && self.current_qdelay < self.qdelay_ref / 2.0
            && self.qdelay_old < self.qdelay_ref / 2.0
        {
            self.burst_allowance = self.max_burst;
        }
        if self.burst_allowance < 1e-9 && self.drop_early() {
            self.accu_prob = 0.0;
            if !(self.ecn && self.drop_prob < self.max_ecnth && signals.mark(&mut packet)) {
                signals.early.push(packet.id);
                return;
            }
        }
        self.queue.0.push_back(packet);
    }

    fn dequeue(&mut self, now: f64, _signals: &mut Signals) -> Option<Packet> {
        self.pass(now);
        let packet = self.queue.0.pop_front()?;
        if !self.by_rate {
            self.current_qdelay = if self.queue.0.is_empty() { 0.0 } else { now - packet.tstamp };
            return Some(packet);
        }
        if self.in_measurement {
            self.dq_count += packet.size;
            if self.dq_count >= self.dq_threshold {
                let dq_time = now - self.measurement_start;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = self.dq_threshold / 65536.0;
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.in_measurement = false;
            }
        }
        if self.queue.bytes() >= self.dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0.0;
        }
        Some(packet)
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

/// Scenario settings, and the definition with these settings.
pub fn settings(draws: &mut Draws) -> (String, impl Fn(Option<usize>, Stream) -> Pie + use<>) {
    let (reference, update, burst) =
        (draws.whole(500, 40_000), draws.whole(500, 40_000), draws.whole(0, 200_000));
    let (alpha, beta, mean) = (draws.between(0.01, 2.0), draws.between(0.1, 10.0), draws.whole(0, 1500));
    let (by_rate, threshold) = (draws.flag(), draws.whole(1000, 1 << 14));
    let (derandomize, cap, ecn, mark) = (draws.flag(), draws.flag(), draws.flag(), draws.between(0.0, 1.0));
    let estimator = if by_rate { "departure-rate" } else { "timestamps" };
    let toml = format!(
        "qdelay_ref = \"{reference}us\"\nt_update = \"{update}us\"\nmax_burst = \"{burst}us\"\nalpha = {alpha}\n\
         beta = {beta}\nmean_pktsize = \"{mean}B\"\nestimator = \"{estimator}\"\ndq_threshold = \"{threshold}B\"\n\
         derandomize = {derandomize}\ncap_adjustment = {cap}\necn = {ecn}\nmark_ecnth = {mark}\n"
    );
    let make = move |limit, random| Pie {
        qdelay_ref: reference as f64 / 1e6,
        t_update: update as f64 / 1e6,
        max_burst: burst as f64 / 1e6,
        alpha,
        beta,
        mean_pktsize: mean as f64,
        by_rate,
        dq_threshold: threshold as f64,
        derandomize,
        cap,
        ecn,
        max_ecnth: mark,
        limit,
        random,
        queue: Queue::default(),
        updates: 0,
        drop_prob: 0.0,
        accu_prob: 0.0,
        burst_allowance: 0.0,
        current_qdelay: 0.0,
        qdelay_old: 0.0,
        in_measurement: false,
        measurement_start: 0.0,
        dq_count: 0.0,
        avg_dq_time: 0.0,
    };
    (toml, make)
}

#[test]
fn pie() {
    let seen = compare(|draws, random| {
        let (toml, make) = settings(draws);
        let limit = draws.whole(10, 600);
        let toml = format!("kind = \"pie\"\npackets = {limit}\n{toml}");
        (toml, Box::new(make(Some(limit as usize), random)))
    });
    assert!(seen.early > 10_000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}
