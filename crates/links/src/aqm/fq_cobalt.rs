//! FQ-COBALT: the core of CAKE.

use super::QueueContext;
use super::cobalt::{self, Cobalt};
use super::parts::flows::{Flows, Settings};
use super::parts::limit::Limit;
use airwnd_catalog::params;
use airwnd_units::{Bytes, Span};

params! {
    /// FQ-COBALT: CAKE without its shaper: a queue with COBALT for each flow, served in turn, new flows first.
    ///
    /// Turns are those of `fq-codel`. A flow whose place is taken by another one moves to the next of a set of `ways`
    /// places, so that flows share a queue only if their set is full. Of CAKE there are not: the shaper and what it
    /// tunes, tins for classes of service, fairness between hosts, the filter of ACKs, and the decay of queues that are
    /// empty.
    pub struct Params ("Linux sch_cake.c; Hoeiland-Joergensen, Taht and Morton, Piece of CAKE, LANMAN 2018") {
        /// Queues that there may be; rounded up to a multiple of `ways`.
        pub flows: u32 = 1024, unit "queues", range 1..=65_536, source "Linux sch_cake.c, CAKE_QUEUES";
        /// Places that a flow may take.
        pub ways: u32 = 8, unit "queues", range 1..=1024, source "Linux sch_cake.c, CAKE_SET_WAYS";
        /// Bytes that a queue sends in its turn.
        pub quantum: Bytes = Bytes(1514), unit "B", range Bytes(64)..=Bytes(1_000_000), source "Linux sch_cake.c, cake_set_rate";
        /// What a packet may wait.
        pub target: Span = Span::from_millis(5), unit "time", range Span(1)..=Span::from_secs(10), source "Linux sch_cake.c, cake_init";
        /// For how long packets of a flow may wait longer.
        pub interval: Span = Span::from_millis(100), unit "time", range Span::from_micros(1)..=Span::from_secs(100), source "Linux sch_cake.c, cake_init";
        /// What an overflow adds to BLUE's probability of the fattest queue.
        pub increment: f64 = 1.0 / 256.0, unit "1", range 0.0..=1.0, source "Linux sch_cake.c, p_inc";
        /// What an empty queue takes from it.
        pub decrement: f64 = 1.0 / 4096.0, unit "1", range 0.0..=1.0, source "Linux sch_cake.c, p_dec";
        /// Mark packets that can say so instead of dropping them.
        pub ecn: bool = true, unit "true or false", source "Linux sch_cake.c, cobalt_should_drop";
        /// Largest number of packets in all queues, counting a partly sent one; none: no limit in packets.
        pub packets: Option<u64> = Some(10_240), unit "packets", range 1..=1_000_000_000, source "ns-3 FqCobaltQueueDisc::MaxSize; Linux sch_cake.c, cake_init";
        /// Most bytes in all queues; none: no limit in bytes.
        pub buffer: Option<Bytes> = None, unit "B", range Bytes(1)..=Bytes(1 << 40), source "ns-3 FqCobaltQueueDisc: packets only";
        /// Most packets that go at once when there are too many.
        pub drop_batch: u32 = 1, unit "packets", range 1..=1_000_000, source "Linux sch_cake.c, cake_drop";
    }
}

/// COBALT for each flow.
pub type FqCobalt = Flows<Cobalt>;

impl FqCobalt {
    /// Empty queues.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let settings = Settings {
            queues: params.flows.next_multiple_of(params.ways),
            ways: params.ways,
            quantum: params.quantum,
            limit: Limit { bytes: params.buffer, packets: params.packets },
            drop_batch: params.drop_batch,
        };
        let Params { target, interval, increment, decrement, ecn, .. } = params;
        let each =
            cobalt::Params { target, interval, increment, decrement, ecn, packets: None, buffer: None };
        Flows::over(settings, each, ctx)
    }
}
