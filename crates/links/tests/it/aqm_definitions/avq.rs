use super::model::{Definition, Packet, Queue, Signals, compare};

/// Kunniyur and Srikant 2001, figure 1, in bytes and seconds.
struct Avq {
    b: f64,
    c: f64,
    alpha: f64,
    gamma: f64,
    ecn: bool,
    queue: Queue,
    vq: f64,
    c_tilde: f64,
    s: f64,
}

impl Definition for Avq {
    fn enqueue(&mut self, t: f64, mut packet: Packet, held: f64, signals: &mut Signals) {
        let b = packet.size;
        self.vq = (self.vq - self.c_tilde * (t - self.s)).max(0.0);
        let mark = self.vq + b > self.b;
        if !mark {
            self.vq += b;
        }
        self.c_tilde = ((self.c_tilde + self.alpha * self.gamma * self.c * (t - self.s)).min(self.c)
            - self.alpha * b)
            .max(0.0);
        self.s = t;
        if mark && !(self.ecn && packet.ecn != 0) {
            signals.early.push(packet.id);
        } else if self.queue.bytes() + held + b > self.b {
            signals.full.push(packet.id);
        } else {
            if mark {
                signals.mark(&mut packet);
            }
            self.queue.0.push_back(packet);
        }
    }

    fn dequeue(&mut self, _t: f64, _signals: &mut Signals) -> Option<Packet> {
        self.queue.0.pop_front()
    }

    fn len(&self) -> usize {
        self.queue.0.len()
    }
}

#[test]
fn avq() {
    let seen = compare(|draws, _| {
        let (alpha, gamma) = (draws.between(0.0, 2.0), draws.between(0.5, 1.0));
        let (buffer, rate, ecn) =
            (draws.whole(3000, 60_000), draws.whole(1_000_000, 20_000_000), draws.flag());
        let toml = format!(
            "kind = \"avq\"\nalpha = {alpha:?}\ngamma = {gamma:?}\ncapacity = \"{rate}bps\"\nbuffer = \"{buffer}B\"\n\
             ecn = {ecn}\n"
        );
        let c = rate as f64 / 8.0;
        let queue = Queue::default();
        let avq = Avq { b: buffer as f64, c, alpha, gamma, ecn, queue, vq: 0.0, c_tilde: c, s: 0.0 };
        (toml, Box::new(avq))
    });
    assert!(seen.early > 1000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}
