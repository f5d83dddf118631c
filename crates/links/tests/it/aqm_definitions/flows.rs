use super::cobalt::{self, Cobalt};
use super::codel::{self, Codel};
use super::model::{Definition, Packet, Signals, compare};
use super::pie::{self, Pie};
use airwnd_kernel::Stream;
use std::collections::BTreeMap;

/// Definition of the queue of one flow.
trait Flow: Definition {
    fn head_drop(&mut self, now: f64) -> Option<Packet>;
    fn bytes(&self) -> f64;
}

impl Flow for Codel {
    fn head_drop(&mut self, _now: f64) -> Option<Packet> {
        self.head_drop()
    }
    fn bytes(&self) -> f64 {
        self.bytes()
    }
}

impl Flow for Pie {
    fn head_drop(&mut self, _now: f64) -> Option<Packet> {
        self.head_drop()
    }
    fn bytes(&self) -> f64 {
        self.bytes()
    }
}

impl Flow for Cobalt {
    fn head_drop(&mut self, now: f64) -> Option<Packet> {
        self.head_drop(now)
    }
    fn bytes(&self) -> f64 {
        self.bytes()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum List {
    New,
    Old,
}

/// RFC 8290 §4.1 and §4.2, and the set-associative hash of Linux's sch_cake. The hash function itself is the engine's.
struct FlowQueue {
    queues: u64,
    ways: u64,
    quantum: f64,
    limit: usize,
    batch: usize,
    hash: Stream,
    make: Box<dyn Fn(u64) -> Box<dyn Flow>>,
    places: BTreeMap<u64, Place>,
    new_queues: Vec<u64>,
    old_queues: Vec<u64>,
    /// Flows in the order of their first packets.
    order: Vec<u64>,
}

struct Place {
    tag: u32,
    queue: Box<dyn Flow>,
    credits: f64,
    list: Option<List>,
}

impl FlowQueue {
    fn place(&self, flow: u32) -> (u64, u32) {
        let hash = self.hash.child(u64::from(flow)).next_u64() as u32;
        let home = u64::from(hash) % self.queues;
        let inner = home % self.ways;
        let outer = home - inner;
        let mut k = inner;
        for _ in 0..self.ways {
            if self.places.get(&(outer + k)).is_some_and(|place| place.tag == hash) {
                return (outer + k, hash);
            }
            k = (k + 1) % self.ways;
        }
        for _ in 0..self.ways {
            if self.places.get(&(outer + k)).is_none_or(|place| place.list.is_none()) {
                return (outer + k, hash);
            }
            k = (k + 1) % self.ways;
        }
        (home, hash)
    }
}

impl Definition for FlowQueue {
    fn enqueue(&mut self, now: f64, packet: Packet, held: f64, signals: &mut Signals) {
        let (number, hash) = self.place(packet.flow);
        if !self.places.contains_key(&number) {
            let queue = (self.make)(number);
            self.places.insert(number, Place { tag: hash, queue, credits: 0.0, list: None });
            self.order.push(number);
        }
        let place = self.places.get_mut(&number).expect("the place exists");
        place.tag = hash;
        place.queue.enqueue(now, packet, 0.0, signals);
        if place.list.is_none() && place.queue.len() > 0 {
            place.list = Some(List::New);
            place.credits = self.quantum;
            self.new_queues.push(number);
        }
        // Repeated if a partly sent packet counts, too, and the only packet was dropped.
        while self.len() + usize::from(held > 0.0) > self.limit {
            let largest =
                self.order.iter().map(|number| self.places[number].queue.bytes()).fold(0.0, f64::max);
            let longest = self.order.iter().find(|number| self.places[number].queue.bytes() == largest);
            let queue = &mut self
                .places
                .get_mut(longest.expect("some queue is longest"))
                .expect("the queue exists")
                .queue;
            let (mut dropped, mut count) = (0.0, 0);
            while count < self.batch && dropped < largest / 2.0 {
                let packet = queue.head_drop(now).expect("less than half has been dropped");
                dropped += packet.size;
                count += 1;
                signals.full.push(packet.id);
            }
        }
    }

    fn dequeue(&mut self, now: f64, signals: &mut Signals) -> Option<Packet> {
        loop {
            let list = if self.new_queues.is_empty() { List::Old } else { List::New };
            let queues = if list == List::New { &mut self.new_queues } else { &mut self.old_queues };
            let number = *queues.first()?;
            let place = self.places.get_mut(&number).expect("listed");
            if place.credits <= 0.0 {
                place.credits += self.quantum;
                queues.remove(0);
                place.list = Some(List::Old);
                self.old_queues.push(number);
                continue;
            }
            if let Some(packet) = place.queue.dequeue(now, signals) {
                place.credits -= packet.size;
                return Some(packet);
            }
            queues.remove(0);
            if list == List::New {
                place.list = Some(List::Old);
                self.old_queues.push(number);
            } else {
                place.list = None;
            }
        }
    }

    fn len(&self) -> usize {
        self.places.values().map(|place| place.queue.len()).sum()
    }
}

/// Few queues and small limits, so that flows share queues and the longest queue has drops.
fn flows(
    kind: &str,
    make: impl Fn(&mut super::model::Draws, Stream) -> (String, Box<dyn Fn(u64) -> Box<dyn Flow>>),
) {
    let seen = compare(|draws, stream| {
        let (inner, make) = make(draws, stream);
        let ways = if kind == "fq-cobalt" { draws.whole(1, 4) } else { 1 };
        let queues = draws.whole(1, 12).next_multiple_of(ways);
        let (quantum, limit, batch) = (draws.whole(64, 4000), draws.whole(10, 500), draws.whole(1, 64));
        let set = if kind == "fq-cobalt" { format!("ways = {ways}\n") } else { String::new() };
        let toml = format!(
            "kind = \"{kind}\"\nflows = {queues}\nquantum = \"{quantum}B\"\npackets = {limit}\n\
             drop_batch = {batch}\n{set}{inner}"
        );
        let definition = FlowQueue {
            queues,
            ways,
            quantum: quantum as f64,
            limit: limit as usize,
            batch: batch as usize,
            hash: stream.child(0),
            make,
            places: BTreeMap::new(),
            new_queues: Vec::new(),
            old_queues: Vec::new(),
            order: Vec::new(),
        };
        (toml, Box::new(definition))
    });
    assert!(seen.early > 1000 && seen.marked > 1000 && seen.full > 1000, "{seen:?}");
}

#[test]
fn fq_codel() {
    flows("fq-codel", |draws, _| {
        let (toml, make) = codel::settings(draws);
        (toml, Box::new(move |_| Box::new(make(None))))
    });
}

#[test]
fn fq_pie() {
    flows("fq-pie", |draws, stream| {
        let (toml, make) = pie::settings(draws);
        (toml, Box::new(move |place| Box::new(make(None, stream.child(1 + place)))))
    });
}

#[test]
fn fq_cobalt() {
    flows("fq-cobalt", |draws, stream| {
        let (toml, make) = cobalt::settings(draws);
        (toml, Box::new(move |place| Box::new(make(None, stream.child(1 + place)))))
    });
}
