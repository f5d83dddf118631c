//! FQ-PIE.

use super::QueueContext;
use super::parts::flows::{Flows, Settings};
use super::parts::limit::Limit;
use super::pie::{self, Estimator, Pie};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

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
    /// The delay to hold.
    #[param(default = Span::from_millis(15), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, QDELAY_REF")]
    pub qdelay_ref: Span,
    /// How often p is computed.
    #[param(default = Span::from_millis(15), range = Span::from_micros(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, T_UPDATE")]
    pub t_update: Span,
    /// For how long a burst passes.
    #[param(default = Span::from_millis(150), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 8033 appendix A, MAX_BURST")]
    pub max_burst: Span,
    /// Gain of the distance from the reference.
    #[param(default = 0.125, range = 0.0..=1000.0, unit = "1/s", source = "RFC 8033 appendix A, alpha")]
    pub alpha: f64,
    /// Gain of the change.
    #[param(default = 1.25, range = 0.0..=1000.0, unit = "1/s", source = "RFC 8033 appendix A, beta")]
    pub beta: f64,
    /// Size of a packet, for "a queue of two packets".
    #[param(default = Bytes(1024), range = Bytes(0)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "RFC 8033 appendix A, MEAN_PKTSIZE; RFC 8034 appendix A")]
    pub mean_pktsize: Bytes,
    /// What is taken for the delay.
    #[param(default = Estimator::Timestamps)]
    #[param(unit = "word", source = "RFC 8033 appendix A; `departure-rate`: §5.2 and appendix B")]
    pub estimator: Estimator,
    /// Bytes after which the departure rate is known.
    #[param(default = Bytes(1 << 14), range = Bytes(1)..=Bytes(1 << 16))]
    #[param(unit = "B", source = "RFC 8033 appendix B, DQ_THRESHOLD")]
    pub dq_threshold: Bytes,
    /// Keep drops from following each other too soon or too late: none before p sums to 0.85, one at 8.5.
    #[param(default = true, unit = "true or false", source = "RFC 8033 §5.4")]
    pub derandomize: bool,
    /// Above 0.1, p grows by no more than 0.02 at once.
    #[param(default = true, unit = "true or false", source = "RFC 8033 §5.5")]
    pub cap_adjustment: bool,
    /// Mark packets that can say so instead of dropping them.
    #[param(default = true, unit = "true or false", source = "RFC 8033 §5.1")]
    pub ecn: bool,
    /// p from which on they are dropped as well.
    #[param(default = 0.1, range = 0.0..=1.0, unit = "1", source = "RFC 8033 §5.1, mark_ecnth")]
    pub mark_ecnth: f64,
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
        let each = pie::Params {
            qdelay_ref: params.qdelay_ref,
            t_update: params.t_update,
            max_burst: params.max_burst,
            alpha: params.alpha,
            beta: params.beta,
            mean_pktsize: params.mean_pktsize,
            estimator: params.estimator,
            dq_threshold: params.dq_threshold,
            derandomize: params.derandomize,
            cap_adjustment: params.cap_adjustment,
            ecn: params.ecn,
            mark_ecnth: params.mark_ecnth,
            packets: None,
            buffer: None,
        };
        Flows::over(settings, each, ctx)
    }
}
