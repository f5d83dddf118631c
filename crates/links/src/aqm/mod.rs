//! Queue disciplines before a link or a radio bearer: admission, drops and marks, and the order of departure.
//!
//! A discipline processes whole packets. In a bearer it is above segmentation: once RLC has sent part of an SDU, the
//! rest is in RLC's buffer.

mod fifo;
mod ledger;
mod parts;

use airwnd_catalog::family;
use airwnd_kernel::{Codepoint, Direction, Key, Stream};
use airwnd_units::{BitRate, Bytes, Span, Time};

pub use fifo::Fifo;
pub use ledger::Ledger;

/// Queue discipline of a bearer's buffer before RLC, or of a link.
#[family(name = "aqm", build = fn(ctx: &QueueContext) -> Box<dyn QueueDisc>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    DropTail(drop_tail::Params),
    DropHead(drop_head::Params),
    Red(red::Params),
    GentleRed(gentle_red::Params),
    AdaptiveRed(adaptive_red::Params),
    Smred(smred::Params),
    Blue(blue::Params),
    Avq(avq::Params),
    Codel(codel::Params),
    Pie(pie::Params),
    Cobalt(cobalt::Params),
    FqCodel(fq_codel::Params),
    FqPie(fq_pie::Params),
    FqCobalt(fq_cobalt::Params),
    DualPi2(dualpi2::Params),
    #[outside]
    Plugin(plugin::Params),
    #[outside]
    Python(python::Params),
    // An example of docs/how-to/add-an-algorithm.md.
    #[cfg(test)]
    #[path = "../../../../docs/how-to/algorithms/head_drop.rs"]
    HeadDrop(head_drop::Params),
}

/// Environment of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueContext {
    /// Random numbers of this queue alone.
    pub stream: Stream,
    /// Constant service rate; `None`: the rate varies.
    pub rate: Option<BitRate>,
    /// Identity of the queue. No built-in discipline depends on it.
    pub identity: Identity,
}

/// Identity of a queue in a simulation, for external disciplines that learn or keep records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the link; `None`: a bearer, or the link of the server.
    pub link: Option<u32>,
    /// Number of the group of UEs, for a link that each group has.
    pub group: Option<u32>,
    /// Number of the UE; `None`: UEs share the queue.
    pub ue: Option<u32>,
    /// Number of the UE's bearer.
    pub bearer: Option<u8>,
    /// Direction of the packets.
    pub direction: Direction,
}

impl Default for Identity {
    fn default() -> Self {
        Identity { link: None, group: None, ue: None, bearer: None, direction: Direction::Down }
    }
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Key of the packet in the owner's slab.
    pub packet: Key,
    /// Size on the link, or of the SDU, with headers.
    pub size: Bytes,
    /// Time of entry into the queue.
    pub arrived: Time,
    /// Flow of the packet, as a hash of its addresses and ports would identify it.
    pub flow: u32,
    /// ECN field.
    pub ecn: Codepoint,
}

impl Waiting {
    /// Marks the packet if its transport is ECN-capable; returns whether it is.
    //= RFC 3168 §5
    pub fn mark(&mut self, events: &mut dyn QueueEvents) -> bool {
        let capable = self.ecn.is_capable();
        if capable {
            self.ecn = Codepoint::Ce;
            events.marked(self.packet);
        }
        capable
    }
}

/// Packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes, with the headers that count against the buffer.
    pub bytes: Bytes,
    /// Packets; in a bearer, SDUs.
    pub packets: u64,
}

/// Reason of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Buffer overflow: no room for the packet or for a later one.
    Full,
    /// Early drop by the discipline, before the queue is full, to signal congestion to the sender.
    Early,
}

/// Receiver of a queue's drops and marks.
pub trait QueueEvents {
    /// Called once per dropped packet, whether it was in the queue or not.
    fn dropped(&mut self, packet: Waiting, cause: Cause);
    /// Called when a packet in the queue is marked: its ECN field is "congestion experienced".
    fn marked(&mut self, packet: Key);
}

/// A queue discipline: selects the packets to drop or mark, and the order of departure.
///
/// Time is an argument and never decreases. Between two calls the queue's contents do not change: a discipline with a
/// timer catches up at the next call.
pub trait QueueDisc: Send {
    /// Enqueues an arriving packet, or passes it to `events`; other packets may be passed to `events`, too. `held`:
    /// bytes of a partly sent packet that the owner still holds. They count against the buffer but can no longer be
    /// dropped.
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents);
    /// Removes and returns the next packet. Packets dropped in the process are passed to `events`.
    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting>;
    /// Removes the packets that have waited for `lifetime`, for owners that limit it. A discipline that does not keep
    /// packets in order leaves them until they are dequeued.
    fn expire(&mut self, _now: Time, _lifetime: Span, _expired: &mut dyn FnMut(Waiting)) {}
    /// Returns the backlog.
    fn backlog(&self) -> Backlog;
    /// Returns the arrival time of the oldest packet; `None`: the queue is empty. Schedulers call it in each TTI.
    fn oldest(&self) -> Option<Time>;
    /// Returns the queued packets in the order in which they would leave without drops.
    fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use airwnd_units::Span;

    /// A context with a varying service rate.
    pub fn ctx() -> QueueContext {
        QueueContext { stream: Stream::new(1, "test queue"), rate: None, identity: Identity::default() }
    }

    /// Returns a packet of flow 0 that is not ECN-capable.
    pub fn packet(key: u32, size: u64, arrived: Time) -> Waiting {
        Waiting { packet: Key(key), size: Bytes(size), arrived, flow: 0, ecn: Codepoint::NotEct }
    }

    /// Drops and marks of a queue.
    #[derive(Default)]
    pub struct Seen {
        pub dropped: Vec<(u32, Cause)>,
        pub marked: Vec<u32>,
    }

    impl QueueEvents for Seen {
        fn dropped(&mut self, packet: Waiting, cause: Cause) {
            self.dropped.push((packet.packet.0, cause));
        }
        fn marked(&mut self, packet: Key) {
            self.marked.push(packet.0);
        }
    }

    #[test]
    fn only_ecn_capable_packets_are_marked() {
        let mut seen = Seen::default();
        let mut not_capable = packet(0, 100, Time::ZERO);
        assert!(!not_capable.mark(&mut seen));
        let mut capable = Waiting { ecn: Codepoint::Ect0, ..packet(1, 100, Time::ZERO) };
        assert!(capable.mark(&mut seen));
        assert_eq!((capable.ecn, seen.marked), (Codepoint::Ce, vec![1]));
    }

    #[test]
    fn every_discipline_reports_its_oldest_packet() {
        for kind in Spec::built_in() {
            let node = airwnd_catalog::Node::from_json(&format!("\"{kind}\""), "test").unwrap();
            let mut queue = <Spec as airwnd_catalog::Param>::read(&node).unwrap().build(&ctx());
            let mut seen = Seen::default();
            let mut now = Time::ZERO;
            for step in 0..200u32 {
                now += Span::from_millis(1);
                if step % 20 < 12 {
                    let ecn = if step % 2 == 0 { Codepoint::NotEct } else { Codepoint::Ect1 };
                    let arrival = Waiting { flow: step % 5, ecn, ..packet(step, 1000, now) };
                    queue.enqueue(now, arrival, Bytes::ZERO, &mut seen);
                } else {
                    queue.dequeue(now, &mut seen);
                }
                let oldest = queue.inside().map(|packet| packet.arrived).min();
                assert_eq!(queue.oldest(), oldest, "{kind}");
            }
        }
    }
}
