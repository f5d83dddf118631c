use super::model::{Definition, Draws, Packet, Queue, Signals, compare};

/// RFC 8289 §5, with a mark in place of a drop for an ECN-capable packet, after which no further packet is dequeued.
pub struct Codel {
    target: f64,
    interval: f64,
    maxpacket: f64,
    ecn: bool,
    limit: Option<usize>,
    queue: Queue,
    first_above_time: f64,
    drop_next: f64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

struct DodequeueResult {
    p: Option<Packet>,
    ok_to_drop: bool,
}

impl Codel {
    fn new(target: f64, interval: f64, maxpacket: f64, ecn: bool, limit: Option<usize>) -> Codel {
        Codel {
            target,
            interval,
            maxpacket,
            ecn,
            limit,
            queue: Queue::default(),
            first_above_time: 0.0,
            drop_next: 0.0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    fn control_law(&self, t: f64, count: u32) -> f64 {
        t + self.interval / f64::from(count).sqrt()
    }

    fn dodequeue(&mut self, now: f64) -> DodequeueResult {
        let mut r = DodequeueResult { p: self.queue.0.pop_front(), ok_to_drop: false };
        let Some(p) = r.p else {
            self.first_above_time = 0.0;
            return r;
        };
        let sojourn_time = now - p.tstamp;
        if sojourn_time < self.target || self.queue.bytes() <= self.maxpacket {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    /// drop(), or a mark.
    fn signal(&mut self, p: &mut Packet, signals: &mut Signals) -> bool {
        if self.ecn && signals.mark(p) {
            return false;
        }
        signals.early.push(p.id);
        true
    }

    pub fn head_drop(&mut self) -> Option<Packet> {
        self.queue.0.pop_front()
    }

    pub fn bytes(&self) -> f64 {
        self.queue.bytes()
    }
}

impl Definition for Codel {
    fn enqueue(&mut self, _now: f64, packet: Packet, held: f64, signals: &mut Signals) {
        if self.limit.is_some_and(|limit| self.queue.0.len() + usize::from(held > 0.0) + 1 > limit) {
            signals.full.push(packet.id);
        } else {
            self.queue.0.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: f64, signals: &mut Signals) -> Option<Packet> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let mut p = r.p.expect("a packet that may be dropped");
                let dropped = self.signal(&mut p, signals);
                self.count += 1;
                if !dropped {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return Some(p);
                }
                r = self.dodequeue(now);
                if !r.ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if r.ok_to_drop {
            let mut p = r.p.expect("a packet that may be dropped");
            if self.signal(&mut p, signals) {
                r = self.dodequeue(now);
            } else {
                r.p = Some(p);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16.0 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

/// Scenario settings, and the definition with these settings.
pub fn settings(draws: &mut Draws) -> (String, impl Fn(Option<usize>) -> Codel + use<>) {
    let (target, interval) = (draws.whole(100, 30_000), draws.whole(1000, 200_000));
    let (mtu, ecn) = (draws.whole(0, 3000), draws.flag());
    let toml =
        format!("target = \"{target}us\"\ninterval = \"{interval}us\"\nmtu = \"{mtu}B\"\necn = {ecn}\n");
    let make = move |limit| Codel::new(target as f64 / 1e6, interval as f64 / 1e6, mtu as f64, ecn, limit);
    (toml, make)
}

#[test]
fn codel() {
    let seen = compare(|draws, _| {
        let (toml, make) = settings(draws);
        let limit = draws.whole(10, 600);
        (format!("kind = \"codel\"\npackets = {limit}\n{toml}"), Box::new(make(Some(limit as usize))))
    });
    assert!(seen.early > 10_000 && seen.marked > 10_000 && seen.full > 1000, "{seen:?}");
}
