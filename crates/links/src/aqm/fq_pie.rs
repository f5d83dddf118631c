//! FQ-PIE.

use super::QueueContext;
use super::parts::flows::{Flows, Settings};
use super::parts::limit::Limit;
use super::pie::{Control, Pie};
use airwnd_catalog::Params;
use airwnd_units::Bytes;

/// FQ-PIE: a queue with PIE for each flow, served in turn, new flows first.
///
/// Flows and turns are those of `fq-codel`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_fq_pie.c; ns-3 FqPieQueueDisc")]
pub struct Params {
    /// Queues that there may be.
    #[param(default = 1024, range = 1..=65_536, unit = "queues", source = "Linux sch_fq_pie.c, fq_pie_init")]
    pub flows: u32,
    /// Bytes that a queue sends in its turn.
    #[param(default = Bytes(1514), range = Bytes(64)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "Linux sch_fq_pie.c, fq_pie_init: the device's MTU")]
    pub quantum: Bytes,
    /// The parameters of [`Control`].
    #[param(flatten)]
    pub control: Control,
    /// Largest number of packets in all queues, counting a partly sent one.
    #[param(default = Some(10_240), range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Linux sch_fq_pie.c, fq_pie_init")]
    pub packets: Option<u64>,
    /// Most bytes in all queues; none: no limit in bytes.
    #[param(default = None, range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FqPieQueueDisc: packets only")]
    pub buffer: Option<Bytes>,
    /// Most packets that go at once when there are too many.
    #[param(default = 64, range = 1..=1_000_000)]
    #[param(unit = "packets", source = "ns-3 FqPieQueueDisc::DropBatchSize")]
    pub drop_batch: u32,
}

/// PIE for each flow.
pub type FqPie = Flows<Pie>;

impl FqPie {
    /// Empty queues.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        let settings = Settings {
            queues: params.flows,
            ways: 1,
            quantum: params.quantum,
            limit: Limit { bytes: params.buffer, packets: params.packets },
            drop_batch: params.drop_batch,
        };
        Flows::over(settings, params.control, ctx)
    }
}
