//! FQ-COBALT: the core of CAKE.

use super::QueueContext;
use super::cobalt::{self, Cobalt};
use super::parts::flows::{Flows, Quirks, Settings};
use super::parts::limit::Limit;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// FQ-COBALT: CAKE without its shaper; per-flow queues with COBALT, served by deficit round robin, new flows first.
///
/// Queues are served as in `fq-codel`. A flow whose queue is occupied by another flow takes the next free one of a set
/// of `ways` queues. Flows share a queue only if their set is full. Not included from CAKE: the shaper and the
/// parameters that it tunes, tins for classes of service, fairness between hosts, the ACK filter, and the decay of
/// empty queues.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_cake.c; Høiland-Jørgensen, Täht, Morton: Piece of CAKE: A Comprehensive Queue \
              Management Solution for Home Gateways, LANMAN 2018")]
pub struct Params {
    /// Maximum number of queues, rounded up to a multiple of `ways`.
    #[param(default = 1024, range = 1..=65_536, unit = "queues", source = "Linux sch_cake.c, CAKE_QUEUES")]
    pub flows: u32,
    /// Number of queues among which a flow is placed.
    #[param(expert)]
    #[param(default = 8, range = 1..=1024, unit = "queues", source = "Linux sch_cake.c, CAKE_SET_WAYS")]
    pub ways: u32,
    /// Bytes that a queue sends per round.
    #[param(default = Bytes(1514), range = Bytes(64)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "Linux sch_cake.c, cake_set_rate")]
    pub quantum: Bytes,
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(5), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux sch_cake.c, cake_init")]
    pub target: Span,
    /// Time for which packets of a flow may exceed the target.
    #[param(basic, default = Span::from_millis(100), range = Span::from_micros(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "Linux sch_cake.c, cake_init")]
    pub interval: Span,
    /// Increment of BLUE's probability of the longest queue on overflow.
    #[param(default = 1.0 / 256.0, range = 0.0..=1.0, unit = "1", source = "Linux sch_cake.c, p_inc")]
    pub increment: f64,
    /// Decrement of BLUE's probability of an empty queue.
    #[param(default = 1.0 / 4096.0, range = 0.0..=1.0, unit = "1", source = "Linux sch_cake.c, p_dec")]
    pub decrement: f64,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "Linux sch_cake.c, cobalt_should_drop")]
    pub ecn: bool,
    /// Maximum number of packets in all queues, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(10_240), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "ns-3 FqCobaltQueueDisc::MaxSize; Linux sch_cake.c, cake_init")]
    pub packets: Option<u64>,
    /// Maximum number of bytes in all queues; `none`: no limit.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FqCobaltQueueDisc: packets only")]
    pub buffer: Option<Bytes>,
    /// Maximum number of packets dropped at once on overflow.
    #[param(expert)]
    #[param(default = 1, range = 1..=1_000_000, unit = "packets", source = "Linux sch_cake.c, cake_drop")]
    pub drop_batch: u32,
    /// Behaviour of ns-3.
    #[param(quirks)]
    pub quirks: Quirks,
    /// Behaviour of ns-3's COBALT.
    #[param(quirks)]
    pub cobalt_quirks: cobalt::Quirks,
}

/// Per-flow queues with COBALT.
pub type FqCobalt = Flows<Cobalt>;

impl FqCobalt {
    /// Creates empty queues.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let limit = Limit { bytes: params.buffer, packets: params.packets };
        let settings = Settings {
            queues: params.flows.next_multiple_of(params.ways),
            ways: params.ways,
            quantum: params.quantum,
            limit,
            each: if params.quirks.limits_each { limit } else { Limit::default() },
            drop_batch: params.drop_batch,
        };
        let Params { target, interval, increment, decrement, ecn, cobalt_quirks: quirks, .. } = params;
        let (packets, buffer) = (None, None);
        let each = cobalt::Params { target, interval, increment, decrement, ecn, packets, buffer, quirks };
        Flows::over(settings, each, ctx)
    }
}
