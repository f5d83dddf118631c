//! FQ-PIE.

use super::QueueContext;
use super::parts::flows::{Flows, Quirks, Settings};
use super::parts::limit::Limit;
use super::pie::{Control, Pie};
use airwnd_catalog::Params;
use airwnd_units::Bytes;

/// FQ-PIE: per-flow queues with PIE, served by deficit round robin, new flows first.
///
/// Flows are classified and queues are served as in `fq-codel`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_fq_pie.c; ns-3 FqPieQueueDisc")]
pub struct Params {
    /// Maximum number of queues.
    #[param(default = 1024, range = 1..=65_536, unit = "queues", source = "Linux sch_fq_pie.c, fq_pie_init")]
    pub flows: u32,
    /// Bytes that a queue sends per round.
    #[param(default = Bytes(1514), range = Bytes(64)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "Linux sch_fq_pie.c, fq_pie_init: the device's MTU")]
    pub quantum: Bytes,
    /// The parameters of [`Control`].
    #[param(flatten)]
    pub control: Control,
    /// Maximum number of packets in all queues, including a partly sent one; `none`: no limit.
    #[param(basic, default = Some(10_240), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_fq_pie.c, fq_pie_init")]
    pub packets: Option<u64>,
    /// Maximum number of bytes in all queues; `none`: no limit.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FqPieQueueDisc: packets only")]
    pub buffer: Option<Bytes>,
    /// Maximum number of packets dropped at once on overflow.
    #[param(expert, default = 64, range = 1..=1_000_000)]
    #[param(unit = "packets", source = "ns-3 FqPieQueueDisc::DropBatchSize")]
    pub drop_batch: u32,
    /// Behaviour of ns-3.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// Per-flow queues with PIE.
pub type FqPie = Flows<Pie>;

impl FqPie {
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
        Flows::over(settings, params.control, ctx)
    }
}
