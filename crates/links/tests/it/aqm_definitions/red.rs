use super::model::{Definition, Draws, Packet, Queue, Signals, compare};
use airwnd_kernel::Stream;

/// pb over avg and maxp, below the average at which every packet is marked.
type Curve = Box<dyn Fn(f64, f64) -> f64>;

/// Floyd and Jacobson 1993, figure 2, with §8's queues in bytes, ns-2's `wait_`, and the other curves of its family;
/// the average decays once per idle time. A packet to be marked that is not ECN-capable is dropped. The random draws
/// are those of the discipline.
struct Red {
    minth: f64,
    /// Average at which the curve ends.
    last: f64,
    maxp: f64,
    wq: f64,
    /// f(t) = t / s.
    s: f64,
    curve: Curve,
    spacing: &'static str,
    /// ns-2's rule: nothing is marked below this queue length.
    min: usize,
    in_bytes: bool,
    mean: f64,
    ecn: bool,
    limit: usize,
    random: Stream,
    queue: Queue,
    avg: f64,
    count: f64,
    q_time: f64,
    /// Floyd, Gummadi and Shenker 2001, figure 4.
    adaptive: Option<Adaptive>,
}

struct Adaptive {
    interval: f64,
    alpha: f64,
    beta: f64,
    target: (f64, f64),
    updates: u64,
}

impl Red {
    /// "Every interval seconds"
    fn adapt(&mut self, now: f64) {
        let Some(adaptive) = &mut self.adaptive else { return };
        while (adaptive.updates + 1) as f64 * adaptive.interval <= now {
            adaptive.updates += 1;
            if self.avg > adaptive.target.1 && self.maxp <= 0.5 {
                let alpha = if adaptive.alpha < self.maxp / 4.0 { adaptive.alpha } else { self.maxp / 4.0 };
                self.maxp += alpha;
            } else if self.avg < adaptive.target.0 && self.maxp >= 0.01 {
                self.maxp *= adaptive.beta;
            }
        }
    }
}

impl Definition for Red {
    fn enqueue(&mut self, now: f64, mut packet: Packet, held: f64, signals: &mut Signals) {
        self.adapt(now);
        let q = if self.in_bytes { self.queue.bytes() / self.mean } else { self.queue.0.len() as f64 };
        if q > 0.0 {
            self.avg = (1.0 - self.wq) * self.avg + self.wq * q;
        } else {
            let m = (now - self.q_time) / self.s;
            self.avg *= (1.0 - self.wq).powf(m);
            self.q_time = now;
        }
        let mut mark = false;
        let mut drop = false;
        if self.queue.0.len() < self.min {
            self.count = -1.0;
        } else if self.minth <= self.avg && self.avg < self.last {
            self.count += 1.0;
            let mut pb = (self.curve)(self.avg, self.maxp);
            if self.in_bytes {
                pb = pb * packet.size / self.mean;
            }
            let pa = match self.spacing {
                "none" => pb,
                "uniform" => pb / (1.0 - self.count * pb),
                _ => {
                    if self.count * pb < 1.0 {
                        0.0
                    } else {
                        pb / (2.0 - self.count * pb)
                    }
                }
            };
            // Past the last packet of a gap the formula of pa becomes negative: probability one.
            let certain = pa.is_infinite() || pa < 0.0;
            if self.random.uniform() < if certain { 1.0 } else { pa } {
                mark = true;
                self.count = 0.0;
            }
        } else if self.last <= self.avg {
            drop = true;
            self.count = 0.0;
        } else {
            self.count = -1.0;
        }
        let full = self.queue.0.len() + usize::from(held > 0.0) + 1 > self.limit;
        if drop || (mark && !(self.ecn && packet.ecn != 0)) {
            signals.early.push(packet.id);
        } else if full {
            signals.full.push(packet.id);
        } else {
            if mark {
                signals.mark(&mut packet);
            }
            self.queue.0.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: f64, _signals: &mut Signals) -> Option<Packet> {
        let packet = self.queue.0.pop_front();
        if packet.is_some() && self.queue.0.is_empty() {
            self.q_time = now;
        }
        packet
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

/// Random common parameters of the family.
fn family(
    draws: &mut Draws,
    random: Stream,
    kind: &str,
    last: f64,
    curve: impl Fn(f64, f64, f64) -> Curve,
) -> (String, Red) {
    let minth = draws.between(0.0, 20.0);
    let maxth = minth + draws.between(0.5, 30.0);
    let (maxp, wq) = (draws.between(0.0, 1.0).powi(2), draws.between(0.05, 0.8).powi(3));
    let (s_us, mean, limit) = (draws.whole(50, 20_000), draws.whole(200, 1500), draws.whole(5, 120));
    let spacing = ["none", "uniform", "wait"][draws.whole(0, 2) as usize];
    let min = [0, draws.whole(1, 5)][draws.whole(0, 1) as usize];
    let (unit, ecn) = (["packets", "bytes"][draws.whole(0, 1) as usize], draws.flag());
    let toml = format!(
        "min_queue = {min}\n# parameters\nkind = \"{kind}\"\nmin_th = {minth:?}\nmax_th = {maxth:?}\n\
         max_p = {maxp:?}\nweight = {wq:?}\n\
         spacing = \"{spacing}\"\nunit = \"{unit}\"\nmean_packet = \"{mean}B\"\npacket_time = \"{s_us}us\"\n\
         ecn = {ecn}\npackets = {limit}\n"
    );
    let red = Red {
        minth,
        last: last * maxth,
        maxp,
        wq,
        s: s_us as f64 / 1e6,
        curve: curve(minth, maxth, maxp),
        spacing,
        min: min as usize,
        in_bytes: unit == "bytes",
        mean: mean as f64,
        ecn,
        limit: limit as usize,
        random,
        queue: Queue::default(),
        avg: 0.0,
        count: -1.0,
        q_time: 0.0,
        adaptive: None,
    };
    (toml, red)
}

fn linear(minth: f64, maxth: f64) -> impl Fn(f64, f64) -> f64 {
    move |avg, maxp| maxp * (avg - minth) / (maxth - minth)
}

/// Floyd 2000: from maxp to 1 between maxth and 2 maxth.
fn gentle(minth: f64, maxth: f64) -> Curve {
    Box::new(move |avg, maxp| {
        if avg < maxth {
            linear(minth, maxth)(avg, maxp)
        } else {
            maxp + (avg - maxth) / maxth * (1.0 - maxp)
        }
    })
}

#[test]
fn red() {
    let seen = compare(|draws, random| {
        let (toml, red) = family(draws, random, "red", 1.0, |minth, maxth, _| Box::new(linear(minth, maxth)));
        (toml, Box::new(red))
    });
    assert!(seen.early > 10_000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}

#[test]
fn gentle_red() {
    let seen = compare(|draws, random| {
        let (toml, red) = family(draws, random, "gentle-red", 2.0, |minth, maxth, _| gentle(minth, maxth));
        (toml, Box::new(red))
    });
    assert!(seen.early > 10_000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}

#[test]
fn adaptive_red() {
    let seen = compare(|draws, random| {
        let (interval_ms, alpha, beta) =
            (draws.whole(1, 600), draws.between(0.0, 0.1), draws.between(0.5, 1.0));
        let (toml, mut red) =
            family(draws, random, "adaptive-red", 2.0, |minth, maxth, _| gentle(minth, maxth));
        let third = (red.last / 2.0 - red.minth) * 0.4;
        red.adaptive = Some(Adaptive {
            interval: interval_ms as f64 / 1e3,
            alpha,
            beta,
            target: (red.minth + third, red.last / 2.0 - third),
            updates: 0,
        });
        (format!("{toml}interval = \"{interval_ms}ms\"\nalpha = {alpha:?}\nbeta = {beta:?}\n"), Box::new(red))
    });
    assert!(seen.early > 10_000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}

/// SmRED 2017, equations 2 to 5.
#[test]
fn smred() {
    let seen = compare(|draws, random| {
        let i = draws.whole(2, 9);
        let (toml, red) = family(draws, random, "smred", 1.0, |minth, maxth, _| {
            let target = minth + (maxth - minth) / 2.0;
            Box::new(move |avg, maxp| {
                let x: f64 = (avg - minth) / (maxth - minth);
                if avg < target { maxp * x.powf(i as f64) } else { maxp * x.powf(1.0 / i as f64) }
            })
        });
        (format!("{toml}i = {i}\n"), Box::new(red))
    });
    assert!(seen.early > 10_000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}
