//! Queue disciplines: what may wait before a link or a radio bearer, what of it is dropped or marked, and what
//! leaves first.
//!
//! A discipline works on whole packets. In a bearer it stands above segmentation: once RLC has sent part of an
//! SDU, the rest belongs to RLC.

mod fifo;
mod parts;

use airwnd_catalog::family;
use airwnd_kernel::{Codepoint, Key, Stream};
use airwnd_units::{BitRate, Bytes, Span, Time};

pub use fifo::Fifo;

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
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct QueueContext {
    /// Its random numbers, and nobody else's.
    pub stream: Stream,
    /// The constant rate at which it is served; none: the rate varies.
    pub rate: Option<BitRate>,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet's key in the owner's slab.
    pub packet: Key,
    /// Its size on the link, or of the SDU, with headers.
    pub size: Bytes,
    /// When it entered the queue.
    pub arrived: Time,
    /// The flow that it belongs to: what a hash of its addresses and ports would tell.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Codepoint,
}

impl Waiting {
    /// Marks the packet, if its transport heeds marks; tells whether it does.
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

/// How much waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes, with the headers that count against the buffer.
    pub bytes: Bytes,
    /// Packets; in a bearer, SDUs.
    pub packets: u64,
}

/// Why a queue dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// There was no room for it, or for what came after it.
    Full,
    /// The discipline dropped it before the queue was full, to tell its sender of congestion.
    Early,
}

/// What becomes of packets that a queue does not just pass on.
pub trait QueueEvents {
    /// Called once for each packet that is dropped, whether it was inside or not.
    fn dropped(&mut self, packet: Waiting, cause: Cause);
    /// The packet goes on with its ECN field set to "congestion experienced".
    fn marked(&mut self, packet: Key);
}

/// A queue that decides what to drop or mark, and in what order packets leave.
///
/// Time comes as an argument and never runs back. Between two calls the queue's contents do not change: a
/// discipline with a clock of its own catches up at the next call.
pub trait QueueDisc: Send {
    /// A packet arrives. `held` is what the owner still holds of a partly sent packet: it counts against the buffer,
    /// but can no longer be dropped. The packet is queued, or handed to `events`; so may others be.
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents);
    /// The owner takes the next packet. Packets dropped on the way are handed to `events`.
    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting>;
    /// Takes out the packets that have waited for a lifetime, for whoever limits it. A discipline that does not keep
    /// packets in their order leaves them until they are dequeued.
    fn expire(&mut self, _now: Time, _lifetime: Span, _expired: &mut dyn FnMut(Waiting)) {}
    /// What waits now.
    fn backlog(&self) -> Backlog;
    /// When the oldest packet inside arrived; none: nothing waits. Schedulers ask for it in each TTI.
    fn oldest(&self) -> Option<Time>;
    /// The packets inside, in the order in which they would leave if nothing were dropped.
    fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use airwnd_units::Span;

    /// A place whose service varies.
    pub fn ctx() -> QueueContext {
        QueueContext { stream: Stream::new(1, "test queue"), rate: None }
    }

    /// A packet of flow 0 whose transport does not know ECN.
    pub fn packet(key: u32, size: u64, arrived: Time) -> Waiting {
        Waiting { packet: Key(key), size: Bytes(size), arrived, flow: 0, ecn: Codepoint::NotEct }
    }

    /// What a queue told.
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
    fn only_what_knows_ecn_is_marked() {
        let mut seen = Seen::default();
        let mut deaf = packet(0, 100, Time::ZERO);
        assert!(!deaf.mark(&mut seen));
        let mut capable = Waiting { ecn: Codepoint::Ect0, ..packet(1, 100, Time::ZERO) };
        assert!(capable.mark(&mut seen));
        assert_eq!((capable.ecn, seen.marked), (Codepoint::Ce, vec![1]));
    }

    #[test]
    fn every_discipline_knows_its_oldest_packet() {
        for kind in Spec::kinds() {
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
