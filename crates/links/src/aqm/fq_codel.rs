//! FQ-CoDel.

use super::QueueContext;
use super::codel::{self, Codel, Root};
use super::parts::flows::{Flows, Settings};
use super::parts::limit::Limit;
use airwnd_catalog::params;
use airwnd_units::{Bytes, Span};

params! {
    /// FQ-CoDel: a queue with CoDel for each flow, served in turn, new flows first.
    ///
    /// Flows are told apart by a hash of addresses and ports with a random salt, so that some may share a queue. A
    /// queue sends `quantum` bytes in its turn; one whose packets leave at once stays new and overtakes the others. What
    /// exceeds the limit goes from the head of the fattest queue.
    pub struct Params ("RFC 8290") {
        /// Queues that there may be.
        pub flows: u32 = 1024, unit "queues", range 1..=65_536, source "RFC 8290 §5.2.4";
        /// Bytes that a queue sends in its turn.
        pub quantum: Bytes = Bytes(1514), unit "B", range Bytes(64)..=Bytes(1_000_000), source "RFC 8290 §5.2.5";
        /// What a packet may wait.
        pub target: Span = Span::from_millis(5), unit "time", range Span(1)..=Span::from_secs(10), source "RFC 8290 §5.2.2";
        /// For how long all of a flow may wait longer.
        pub interval: Span = Span::from_millis(100), unit "time", range Span::from_micros(1)..=Span::from_secs(100), source "RFC 8290 §5.2.1";
        /// Nothing of a flow is dropped while no more than this of it waits.
        pub mtu: Bytes = Bytes(1500), unit "B", range Bytes(0)..=Bytes(1_000_000), source "RFC 8289 §5.3, maxpacket: the interface's MTU";
        /// Mark packets that can say so instead of dropping them.
        pub ecn: bool = true, unit "true or false", source "RFC 8290 §5.2.6";
        /// How 1 / sqrt(n) is computed.
        pub root: Root = Root::Exact, unit "word", source "RFC 8289 §5.6, control_law; `newton`: Linux codel_impl.h and ns-3, CoDelQueueDisc::NewtonStep";
        /// Largest number of packets in all queues, counting a partly sent one.
        pub packets: Option<u64> = Some(10_240), unit "packets", range 1..=1_000_000_000, source "RFC 8290 §5.2.3";
        /// Most bytes in all queues; none: no limit in bytes.
        pub buffer: Option<Bytes> = None, unit "B", range Bytes(1)..=Bytes(1 << 40), source "RFC 8290 §5.2.3: packets only";
        /// Most packets that go at once when there are too many.
        pub drop_batch: u32 = 64, unit "packets", range 1..=1_000_000, source "RFC 8290 §4.1";
    }
}

/// CoDel for each flow.
pub type FqCodel = Flows<Codel>;

impl FqCodel {
    /// Empty queues.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let settings = Settings {
            queues: params.flows,
            ways: 1,
            quantum: params.quantum,
            limit: Limit { bytes: params.buffer, packets: params.packets },
            drop_batch: params.drop_batch,
        };
        let Params { target, interval, mtu, ecn, root, .. } = params;
        let each = codel::Params { target, interval, mtu, ecn, root, packets: None, buffer: None };
        Flows::over(settings, each, ctx)
    }
}
