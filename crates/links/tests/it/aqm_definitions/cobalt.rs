use super::model::{Definition, Draws, Packet, Queue, Signals, compare};
use airwnd_kernel::Stream;

/// COBALT as in Linux's sch_cake: cobalt_queue_full, cobalt_queue_empty and cobalt_should_drop, without the shaper's
/// mtu_time; times in seconds, exact inverse root. The random draws are those of the discipline.
pub struct Cobalt {
    target: f64,
    interval: f64,
    p_inc: f64,
    p_dec: f64,
    ecn: bool,
    limit: Option<usize>,
    random: Stream,
    queue: Queue,
    count: u32,
    drop_next: f64,
    blue_timer: f64,
    p_drop: f64,
    dropping: bool,
}

impl Cobalt {
    fn control(&self, t: f64) -> f64 {
        t + self.interval / f64::from(self.count.max(1)).sqrt()
    }

    fn queue_full(&mut self, now: f64) {
        if now - self.blue_timer > self.target {
            self.p_drop = f64::min(self.p_drop + self.p_inc, 1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    fn queue_empty(&mut self, now: f64) {
        if self.p_drop > 0.0 && now - self.blue_timer > self.target {
            self.p_drop = f64::max(self.p_drop - self.p_dec, 0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0.0 {
            self.count -= 1;
            self.drop_next = self.control(self.drop_next);
        }
    }

    fn should_drop(&mut self, now: f64, packet: &mut Packet, signals: &mut Signals) -> bool {
        let mut drop = false;
        let sojourn = now - packet.tstamp;
        let mut schedule = now - self.drop_next;
        let over_target = sojourn > self.target;
        let mut next_due = self.count > 0 && schedule >= 0.0;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            drop = !(self.ecn && signals.mark(packet));
            self.count += 1;
            self.drop_next = self.control(self.drop_next);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.drop_next = self.control(self.drop_next);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0.0;
            }
        }
        if self.p_drop > 0.0 {
            drop |= self.random.uniform() < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if schedule > 0.0 && !drop {
            self.drop_next = now;
        }
        drop
    }

    pub fn head_drop(&mut self, now: f64) -> Option<Packet> {
        self.queue_full(now);
        self.queue.0.pop_front()
    }

    pub fn bytes(&self) -> f64 {
        self.queue.bytes()
    }
}

impl Definition for Cobalt {
    fn enqueue(&mut self, now: f64, packet: Packet, held: f64, signals: &mut Signals) {
        if self.limit.is_some_and(|limit| self.queue.0.len() + usize::from(held > 0.0) + 1 > limit) {
            self.queue_full(now);
            signals.full.push(packet.id);
        } else {
            self.queue.0.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: f64, signals: &mut Signals) -> Option<Packet> {
        loop {
            let Some(mut packet) = self.queue.0.pop_front() else {
                self.queue_empty(now);
                return None;
            };
            if !self.should_drop(now, &mut packet, signals) || self.queue.0.is_empty() {
                return Some(packet);
            }
            signals.early.push(packet.id);
        }
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

/// Scenario settings, and the definition with these settings.
pub fn settings(draws: &mut Draws) -> (String, impl Fn(Option<usize>, Stream) -> Cobalt + use<>) {
    let (target, interval) = (draws.whole(100, 30_000), draws.whole(1000, 200_000));
    let (p_inc, p_dec, ecn) = (draws.between(0.0, 0.1), draws.between(0.0, 0.05), draws.flag());
    let toml = format!(
        "target = \"{target}us\"\ninterval = \"{interval}us\"\nincrement = {p_inc}\ndecrement = {p_dec}\necn = {ecn}\n"
    );
    let make = move |limit, random| Cobalt {
        target: target as f64 / 1e6,
        interval: interval as f64 / 1e6,
        p_inc,
        p_dec,
        ecn,
        limit,
        random,
        queue: Queue::default(),
        count: 0,
        drop_next: 0.0,
        blue_timer: 0.0,
        p_drop: 0.0,
        dropping: false,
    };
    (toml, make)
}

#[test]
fn cobalt() {
    let seen = compare(|draws, random| {
        let (toml, make) = settings(draws);
        let limit = draws.whole(10, 600);
        let toml = format!("kind = \"cobalt\"\npackets = {limit}\n{toml}");
        (toml, Box::new(make(Some(limit as usize), random)))
    });
    assert!(seen.early > 10_000 && seen.marked > 5000 && seen.full > 1000, "{seen:?}");
}
