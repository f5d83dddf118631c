//! FQ-PIE.

use super::QueueContext;
use super::parts::flows::{Flows, Settings};
use super::parts::limit::Limit;
use super::pie::{self, Estimator, Pie};
use airwnd_catalog::params;
use airwnd_units::{Bytes, Span};

params! {
    /// FQ-PIE: a queue with PIE for each flow, served in turn, new flows first.
    ///
    /// Flows and turns are those of `fq-codel`.
    pub struct Params ("Linux sch_fq_pie.c; ns-3 FqPieQueueDisc") {
        /// Queues that there may be.
        pub flows: u32 = 1024, unit "queues", range 1..=65_536, source "Linux sch_fq_pie.c, fq_pie_init";
        /// Bytes that a queue sends in its turn.
        pub quantum: Bytes = Bytes(1514), unit "B", range Bytes(64)..=Bytes(1_000_000), source "Linux sch_fq_pie.c, fq_pie_init: the device's MTU";
        /// The delay to hold.
        pub qdelay_ref: Span = Span::from_millis(15), unit "time", range Span(1)..=Span::from_secs(10), source "RFC 8033 appendix A, QDELAY_REF";
        /// How often p is computed.
        pub t_update: Span = Span::from_millis(15), unit "time", range Span::from_micros(10)..=Span::from_secs(10), source "RFC 8033 appendix A, T_UPDATE";
        /// For how long a burst passes.
        pub max_burst: Span = Span::from_millis(150), unit "time", range Span(0)..=Span::from_secs(10), source "RFC 8033 appendix A, MAX_BURST";
        /// Gain of the distance from the reference.
        pub alpha: f64 = 0.125, unit "1/s", range 0.0..=1000.0, source "RFC 8033 appendix A, alpha";
        /// Gain of the change.
        pub beta: f64 = 1.25, unit "1/s", range 0.0..=1000.0, source "RFC 8033 appendix A, beta";
        /// Size of a packet, for "a queue of two packets".
        pub mean_pktsize: Bytes = Bytes(1024), unit "B", range Bytes(0)..=Bytes(1_000_000), source "RFC 8033 appendix A, MEAN_PKTSIZE; RFC 8034 appendix A";
        /// What is taken for the delay.
        pub estimator: Estimator = Estimator::Timestamps, unit "word", source "RFC 8033 appendix A; `departure-rate`: §5.2 and appendix B";
        /// Bytes after which the departure rate is known.
        pub dq_threshold: Bytes = Bytes(1 << 14), unit "B", range Bytes(1)..=Bytes(1 << 16), source "RFC 8033 appendix B, DQ_THRESHOLD";
        /// Keep drops from following each other too soon or too late: none before p sums to 0.85, one at 8.5.
        pub derandomize: bool = true, unit "true or false", source "RFC 8033 §5.4";
        /// Above 0.1, p grows by no more than 0.02 at once.
        pub cap_adjustment: bool = true, unit "true or false", source "RFC 8033 §5.5";
        /// Mark packets that can say so instead of dropping them.
        pub ecn: bool = true, unit "true or false", source "RFC 8033 §5.1";
        /// p from which on they are dropped as well.
        pub mark_ecnth: f64 = 0.1, unit "1", range 0.0..=1.0, source "RFC 8033 §5.1, mark_ecnth";
        /// Largest number of packets in all queues, counting a partly sent one.
        pub packets: Option<u64> = Some(10_240), unit "packets", range 1..=1_000_000_000, source "Linux sch_fq_pie.c, fq_pie_init";
        /// Most bytes in all queues; none: no limit in bytes.
        pub buffer: Option<Bytes> = None, unit "B", range Bytes(1)..=Bytes(1 << 40), source "ns-3 FqPieQueueDisc: packets only";
        /// Most packets that go at once when there are too many.
        pub drop_batch: u32 = 64, unit "packets", range 1..=1_000_000, source "ns-3 FqPieQueueDisc::DropBatchSize";
    }
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
