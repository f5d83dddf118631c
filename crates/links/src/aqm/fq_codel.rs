//! FQ-CoDel.

use super::QueueContext;
use super::codel::{self, Codel, Root};
use super::parts::flows::{Flows, Quirks, Settings};
use super::parts::limit::Limit;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// FQ-CoDel: per-flow queues with CoDel, served by deficit round robin, new flows first.
///
/// Flows are classified by a hash of addresses and ports with a random salt, so some may share a queue. A queue sends
/// `quantum` bytes per round. A sparse flow, whose packets leave at once, counts as new again and precedes the others.
/// On overflow packets are dropped from the head of the longest queue.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 8290")]
pub struct Params {
    /// Maximum number of queues.
    #[param(default = 1024, range = 1..=65_536, unit = "queues", source = "RFC 8290 §5.2.4")]
    pub flows: u32,
    /// Bytes that a queue sends per round.
    #[param(default = Bytes(1514), range = Bytes(64)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 8290 §5.2.5")]
    pub quantum: Bytes,
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(5), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8290 §5.2.2")]
    pub target: Span,
    /// Time for which every packet of a flow may exceed the target.
    #[param(basic, default = Span::from_millis(100), range = Span::from_micros(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "RFC 8290 §5.2.1")]
    pub interval: Span,
    /// Backlog of a flow up to which none of its packets is dropped.
    #[param(default = Bytes(1500), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 8289 §5.3, maxpacket: the interface's MTU")]
    pub mtu: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "RFC 8290 §5.2.6")]
    pub ecn: bool,
    /// Computation of 1 / sqrt(n).
    #[param(expert, default = Root::Exact)]
    #[param(
        unit = "word",
        source = "RFC 8289 §5.6, control_law; `newton`: Linux codel_impl.h and ns-3, \
                  CoDelQueueDisc::NewtonStep"
    )]
    pub root: Root,
    /// Maximum number of packets in all queues, including a partly sent one; `none`: no limit.
    #[param(basic)]
    #[param(default = Some(10_240), range = 1..=1_000_000_000, unit = "packets", source = "RFC 8290 §5.2.3")]
    pub packets: Option<u64>,
    /// Maximum number of bytes in all queues; `none`: no limit.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "RFC 8290 §5.2.3: packets only")]
    pub buffer: Option<Bytes>,
    /// Maximum number of packets dropped at once on overflow.
    #[param(expert, default = 64, range = 1..=1_000_000, unit = "packets", source = "RFC 8290 §4.1")]
    pub drop_batch: u32,
    /// Behaviour of ns-3.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// Per-flow queues with CoDel.
pub type FqCodel = Flows<Codel>;

impl FqCodel {
    /// Creates empty queues.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let limit = Limit { bytes: params.buffer, packets: params.packets };
        let settings = Settings {
            queues: params.flows,
            ways: 1,
            quantum: params.quantum,
            limit,
            each: if params.quirks.limits_each { limit } else { Limit::default() },
            drop_batch: params.drop_batch,
        };
        let Params { target, interval, mtu, ecn, root, .. } = params;
        let each = codel::Params { target, interval, mtu, ecn, root, packets: None, buffer: None };
        Flows::over(settings, each, ctx)
    }
}
