use super::model::{Definition, Packet, Queue, Signals, compare};

/// A buffer of `limit` bytes and `packets` packets that drops the newest or the oldest packet.
struct Drops {
    limit: f64,
    packets: usize,
    at_head: bool,
    queue: Queue,
}

impl Definition for Drops {
    fn enqueue(&mut self, _now: f64, packet: Packet, held: f64, signals: &mut Signals) {
        self.queue.0.push_back(packet);
        while self.queue.bytes() + held > self.limit
            || self.queue.0.len() + usize::from(held > 0.0) > self.packets
        {
            let dropped = if self.at_head { self.queue.0.pop_front() } else { self.queue.0.pop_back() };
            signals.full.push(dropped.expect("held bytes fit").id);
            if !self.at_head {
                break;
            }
        }
    }

    fn dequeue(&mut self, _now: f64, _signals: &mut Signals) -> Option<Packet> {
        self.queue.0.pop_front()
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

fn check(kind: &str, at_head: bool) {
    let seen = compare(|draws, _| {
        let (buffer, packets) = (draws.whole(1500, 40_000), draws.whole(1, 60));
        let toml = format!("kind = \"{kind}\"\nbuffer = \"{buffer}B\"\npackets = {packets}\n");
        let (limit, packets) = (buffer as f64, packets as usize);
        (toml, Box::new(Drops { limit, packets, at_head, queue: Queue::default() }))
    });
    assert!(seen.full > 10_000 && seen.early == 0 && seen.marked == 0 && seen.sent > 10_000, "{seen:?}");
}

#[test]
fn drop_tail() {
    check("drop-tail", false);
}

#[test]
fn drop_head() {
    check("drop-head", true);
}
