use super::model::{Definition, Packet, Queue, Signals, compare};
use airwnd_kernel::Stream;

/// Feng et al. 2002, figure 2, where an empty queue counts as an idle link, in repeated events. The random draws are
/// those of the discipline.
struct Blue {
    freeze_time: f64,
    d1: f64,
    d2: f64,
    l: Option<usize>,
    limit: usize,
    ecn: bool,
    random: Stream,
    queue: Queue,
    pm: f64,
    last_update: f64,
}

impl Blue {
    fn upon_packet_loss(&mut self, now: f64) {
        if now - self.last_update > self.freeze_time {
            self.pm = (self.pm + self.d1).min(1.0);
            self.last_update = now;
        }
    }

    fn upon_link_idle(&mut self, now: f64) {
        if now - self.last_update > self.freeze_time {
            self.pm = (self.pm - self.d2).max(0.0);
            self.last_update = now;
        }
    }
}

impl Definition for Blue {
    fn enqueue(&mut self, now: f64, mut packet: Packet, held: f64, signals: &mut Signals) {
        while self.queue.0.is_empty() && now - self.last_update > self.freeze_time {
            self.pm = (self.pm - self.d2).max(0.0);
            self.last_update += self.freeze_time;
        }
        if self.queue.0.len() + usize::from(held > 0.0) + 1 > self.limit {
            self.upon_packet_loss(now);
            signals.full.push(packet.id);
            return;
        }
        if self.l.is_some_and(|l| self.queue.0.len() > l) {
            self.upon_packet_loss(now);
        }
        if self.random.uniform() < self.pm && !(self.ecn && signals.mark(&mut packet)) {
            signals.early.push(packet.id);
            return;
        }
        self.queue.0.push_back(packet);
    }

    fn dequeue(&mut self, now: f64, _signals: &mut Signals) -> Option<Packet> {
        let packet = self.queue.0.pop_front();
        if packet.is_some() && self.queue.0.is_empty() {
            self.upon_link_idle(now);
        }
        packet
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

#[test]
fn blue() {
    let seen = compare(|draws, random| {
        let (freeze_ns, limit) = (draws.whole(100_000, 100_000_000), draws.whole(3, 60));
        let (d1, d2) = (draws.between(0.0, 0.2), draws.between(0.0, 0.02));
        let (l, ecn) = (draws.flag().then(|| draws.whole(0, 30)), draws.flag());
        let level = l.map_or(String::new(), |l| format!("level = {l}\n"));
        let toml = format!(
            "kind = \"blue\"\nfreeze_time = \"{freeze_ns}ns\"\nd1 = {d1:?}\nd2 = {d2:?}\npackets = {limit}\n\
             ecn = {ecn}\n{level}"
        );
        let blue = Blue {
            freeze_time: freeze_ns as f64 / 1e9,
            d1,
            d2,
            l: l.map(|l| l as usize),
            limit: limit as usize,
            ecn,
            random,
            queue: Queue::default(),
            pm: 0.0,
            last_update: 0.0,
        };
        (toml, Box::new(blue))
    });
    assert!(seen.early > 1000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}
