//! The rows of a run's tables of figures.

use crate::columns::{Columns, FlowNumber};
use airwnd_cell::Reach;
use airwnd_kernel::Direction;
use airwnd_network::Cause;

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct RunRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Simulated time after the warm-up.
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub duration_s: f64,
    /// Events that the event loop handled.
    pub events: u64,
}

/// Mean and percentiles; none of them where nothing was measured. The mean is exact, percentiles have two significant
/// digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Percentiles {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// A row per flow. Packets, delay and throughput are those of the direction of the data, counted as IP packets with
/// handshake and retransmissions.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct FlowRow {
    /// Id of the flow: that of its group and a number.
    pub id: String,
    /// Id of its group in the scenario.
    pub group: String,
    /// Number of its UE.
    pub ue: u32,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; null for UDP.
    pub cc: Option<String>,
    /// Receive-window control; null for UDP.
    pub rwnd: Option<String>,
    /// Payload received over the measurement, in order for TCP.
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// IP packets received over the measurement.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// One-way delay from the sender's IP to the receiver's.
    #[column(unit = "ms")]
    pub delay_ms: Percentiles,
    /// Round-trip time samples of the sender.
    #[column(unit = "ms")]
    pub rtt_ms: Percentiles,
    /// Packet delivery fraction: packets received of those sent. Null if nothing was sent, or nothing but a handshake:
    /// a connection that was never established has delivered none of its data, however many of its SYNs arrived.
    #[column(unit = "%", range = 0.0..=100.0)]
    pub pdf_percent: Option<f64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Packets dropped on the way, for any cause.
    pub packets_dropped: u64,
    /// Segments sent that contained bytes sent before.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Loss recoveries that began without a timeout.
    pub fast_retransmits: u64,
    /// Duplicate ACKs received by the sender; with SACK, ACKs that reported new data above the cumulative ACK.
    pub duplicate_acks: u64,
    /// Segments received by the sender that offered a window of zero.
    pub zero_windows: u64,
    /// Time during which a TCP sender was kept from sending; null for UDP.
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub limited_s: Option<Limited>,
    /// Flow completion time; null for a flow without a size, or one that was not completed.
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub fct_s: Option<f64>,
}

/// Time by the limit of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Limited {
    /// By the application, which had no data.
    pub application: f64,
    /// By the send buffer, which was full.
    pub send_buffer: f64,
    /// By the congestion window.
    pub cwnd: f64,
    /// By the receive window.
    pub rwnd: f64,
    /// By pacing.
    pub pacing: f64,
}

impl From<airwnd_tcp::Limited> for Limited {
    fn from(limited: airwnd_tcp::Limited) -> Limited {
        Limited {
            application: limited.application.as_secs(),
            send_buffer: limited.send_buffer.as_secs(),
            cwnd: limited.congestion_window.as_secs(),
            rwnd: limited.receive_window.as_secs(),
            pacing: limited.pacing.as_secs(),
        }
    }
}

/// A row per group of flows, which is a `[[flow]]` of the scenario.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct GroupRow {
    /// Id of the group in the scenario.
    pub group: String,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; null for UDP.
    pub cc: Option<String>,
    /// Receive-window control; null for UDP.
    pub rwnd: Option<String>,
    /// Flows of the group.
    pub flows: u64,
    /// Flows that began before the end of the run.
    pub started: u64,
    /// Transfers and pages that were completed.
    pub completed: u64,
    /// Transfers and pages that began and were not completed.
    pub unfinished: u64,
    /// Sum of the flows' goodputs.
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// Sum of the flows' throughputs.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// One-way delay of all packets of the group.
    #[column(unit = "ms")]
    pub delay_ms: Percentiles,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets dropped on the way.
    pub packets_dropped: u64,
    /// Segments sent that contained bytes sent before.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Completion times of the transfers and pages that were completed.
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub fct_s: CompletionTimes,
}

/// Mean and percentiles of completion times; none of them where nothing was completed. Percentiles are interpolated
/// between the two nearest ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct CompletionTimes {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
}

impl CompletionTimes {
    /// Of these times in ascending order.
    pub(crate) fn of(times: &[f64]) -> CompletionTimes {
        let Some(last) = times.len().checked_sub(1) else { return CompletionTimes::default() };
        let at = |part: f64| {
            let rank = part * last as f64;
            let (below, above) = (times[rank as usize], times[(rank as usize + 1).min(last)]);
            Some(below + (above - below) * rank.fract())
        };
        CompletionTimes {
            mean: Some(times.iter().sum::<f64>() / times.len() as f64),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: Some(times[last]),
        }
    }
}

/// A row per UE; none without cells.
#[derive(Clone, Copy, Debug, PartialEq, Columns)]
pub struct UeRow {
    /// Number of the UE, from 0.
    pub ue: u32,
    /// Position at the end of the run, east of the origin.
    #[column(unit = "m")]
    pub x_m: f64,
    /// Position at the end of the run, north of the origin.
    #[column(unit = "m")]
    pub y_m: f64,
    /// Number of the serving cell at the end of the run.
    pub cell: u16,
    /// Mean over time of the reported SINR.
    #[column(unit = "dB")]
    pub sinr_db: Option<f64>,
    /// Reference signal received power at the end of the run.
    #[column(unit = "dBm")]
    pub rsrp_dbm: f64,
    /// Mean MCS of first downlink transmissions.
    #[column(range = 0.0..=f64::INFINITY)]
    pub mcs: Option<f64>,
    /// Mean transport block size of first downlink transmissions.
    #[column(unit = "bytes")]
    pub block_bytes: Option<f64>,
    /// First downlink transmissions of transport blocks.
    pub blocks: u64,
    /// Block error rate: fraction of first downlink transmissions that failed, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub bler: Option<f64>,
    /// Block error rate of the uplink, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub uplink_bler: Option<f64>,
    /// First uplink transmissions of transport blocks.
    pub uplink_blocks: u64,
    /// Mean MCS of first uplink transmissions.
    pub uplink_mcs: Option<f64>,
    /// SINR of the last sounding signal, which covers the carrier; null if the run ended before the first one.
    #[column(unit = "dB")]
    pub uplink_sinr_db: Option<f64>,
    /// SINR of the narrowest uplink grant at the end of the run, without interference.
    #[column(unit = "dB")]
    pub uplink_narrow_sinr_db: f64,
    /// PRBs of the narrowest uplink grant.
    #[column(unit = "PRB")]
    pub uplink_narrow_prbs: u16,
    /// `out of reach` if no downlink transmission was ever decoded, and link adaptation allowed none at the end of the
    /// run or all of them failed; else `reached`.
    pub downlink_reach: Reach,
    /// The same of the uplink: `reached` or `out of reach`.
    pub uplink_reach: Reach,
    /// Handovers, including those during the warm-up.
    pub handovers: u64,
    /// Radio link failures, including those by RLC's maximum of retransmissions and those during the warm-up.
    pub link_failures: u64,
}

/// A row per cell; none without cells.
#[derive(Clone, Copy, Debug, PartialEq, Columns)]
pub struct CellRow {
    /// Number of the cell, from 0.
    pub cell: u16,
    /// UEs that the cell serves at the end of the run.
    pub users: u64,
    /// Fraction of the PRBs that carried downlink data, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub downlink_prb_use: f64,
    /// Fraction of the PRBs that carried uplink data, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub uplink_prb_use: f64,
    /// Decoded downlink bits per second and hertz of the PRBs used.
    #[column(unit = "bit/s/Hz")]
    pub spectral_efficiency: Option<f64>,
}

/// A row per link and direction: that of the server, those of the scenario, and those to the cells (`s1u`). Bytes are
/// those on the link, with its framing.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct LinkRow {
    /// Name of the link: that of the scenario, `server` or `s1u`.
    pub link: String,
    /// Owner of the link: a group of UEs, the number of a UE or that of a cell; null for a shared link.
    pub of: Option<String>,
    /// `down` (to the UEs) or `up`.
    pub direction: Direction,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Packets dropped.
    pub drops: LinkDrops,
    /// Cost of contention on a shared medium; `None` for a link without contention.
    #[column(flatten)]
    pub contention: Option<Contention>,
    /// Packets marked (ECN).
    pub marks: u64,
    /// Packets waiting in the queue, without the one in transmission; for a shared medium: in the queues of all senders
    /// of this direction.
    #[column(unit = "packets")]
    pub queue_packets: Queued,
    /// Bytes waiting in the queue, without the packet in transmission; for a shared medium: in the queues of all senders
    /// of this direction.
    #[column(unit = "bytes")]
    pub queue_bytes: Queued,
    /// Fraction of its capacity over the measurement that the link used, 0 to 1; null without a rate. For a shared
    /// medium: fraction of the time with an attempt of this direction on the air; several that collide count once.
    #[column(range = 0.0..=1.0)]
    pub utilisation: Option<f64>,
}

/// Packets dropped by a link, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct LinkDrops {
    /// Its queue was full.
    pub link_queue_full: u64,
    /// Its queue discipline dropped them before the queue was full.
    pub link_queue_early: u64,
    /// Lost in transmission.
    pub link_error: u64,
    /// Given up after the largest number of attempts on a shared medium.
    pub retry_limit: u64,
}

/// Attempts to send on a shared medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Contention {
    /// Attempts to send on a shared medium; null for other links.
    pub attempts: u64,
    /// Attempts that collided with one of another station.
    pub collisions: u64,
    /// Attempts that repeated a failed one.
    pub retries: u64,
}

/// Backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Queued {
    /// Mean over the measurement.
    pub mean: f64,
    /// Maximum.
    pub max: u64,
}

/// Totals over all flows and cells; null where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Totals {
    /// Sum of the flows' goodputs (payload).
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// Sum of the flows' throughputs (IP packets).
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// Mean one-way delay of all packets.
    #[column(unit = "ms")]
    pub delay_ms: Option<f64>,
    /// 95th percentile of the one-way delay of all packets.
    #[column(unit = "ms")]
    pub delay_ms_p95: Option<f64>,
    /// Packet delivery fraction over the flows that have one: packets received of those sent.
    #[column(unit = "%", range = 0.0..=100.0)]
    pub pdf_percent: Option<f64>,
    /// Packets dropped of those sent.
    #[column(unit = "%", range = 0.0..=100.0)]
    pub loss_percent: Option<f64>,
    /// Jain's index of the goodputs: from 1/n (one flow has all) to 1 (equal shares).
    #[column(range = 0.0..=1.0)]
    pub jain: Option<f64>,
    /// Segments sent that contained bytes sent before.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Mean over the cells of the fraction of PRBs that carried downlink data, 0 to 1; null without cells.
    #[column(range = 0.0..=1.0)]
    pub downlink_prb_use: Option<f64>,
    /// Mean over the cells of the fraction of PRBs that carried uplink data, 0 to 1; null without cells.
    #[column(range = 0.0..=1.0)]
    pub uplink_prb_use: Option<f64>,
    /// Packets dropped, from the beginning of the warm-up.
    pub drops: Drops,
}

/// An amount for each cause of a drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Drops {
    /// The queue before a link was full.
    pub link_queue_full: u64,
    /// The queue discipline before a link dropped them before its queue was full.
    pub link_queue_early: u64,
    /// Lost on a link.
    pub link_error: u64,
    /// Given up after the largest number of attempts on a shared medium.
    pub retry_limit: u64,
    /// The queue before RLC was full.
    pub rlc_queue_full: u64,
    /// The queue discipline before RLC dropped them before its queue was full.
    pub rlc_queue_early: u64,
    /// PDCP's discard timer expired.
    pub pdcp_discard: u64,
    /// HARQ gave up a transport block that contained a part of them.
    pub radio_loss: u64,
    /// On air during a handover, or not forwarded.
    pub handover: u64,
    /// On air when the radio link failed.
    pub radio_link_failure: u64,
}

impl Drops {
    /// What is counted for each cause.
    pub(crate) fn of(count: impl Fn(Cause) -> u64) -> Drops {
        Drops {
            link_queue_full: count(Cause::LinkQueue),
            link_queue_early: count(Cause::LinkEarly),
            link_error: count(Cause::LinkError),
            retry_limit: count(Cause::RetryLimit),
            rlc_queue_full: count(Cause::RlcQueue),
            rlc_queue_early: count(Cause::RlcEarly),
            pdcp_discard: count(Cause::Discarded),
            radio_loss: count(Cause::Radio),
            handover: count(Cause::Handover),
            radio_link_failure: count(Cause::LinkFailure),
        }
    }
}

/// The ledger of all packets, from the beginning of the warm-up: bytes offered are delivered, dropped, or inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Conservation {
    /// Bytes of the packets that entered the network.
    #[column(unit = "bytes")]
    pub offered_bytes: u64,
    /// Bytes of the packets that reached their destination.
    #[column(unit = "bytes")]
    pub delivered_bytes: u64,
    /// Bytes of the packets dropped.
    #[column(unit = "bytes")]
    pub dropped_bytes: Drops,
    /// Bytes of the packets in the network at the end of the run.
    #[column(unit = "bytes")]
    pub inside_bytes: u64,
}

/// A row per transfer and page that began, in the order of the flows and chronologically within a flow.
#[derive(Clone, Copy, Debug, PartialEq, Columns)]
pub(crate) struct CompletionRow {
    /// Time of the request, from the end of the warm-up.
    #[column(unit = "s")]
    pub start_s: f64,
    /// Id of the flow.
    pub flow: FlowNumber,
    /// Size of the transfer or page.
    #[column(unit = "bytes")]
    pub size_bytes: f64,
    /// Completion time; null if the run ended before.
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub fct_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns;

    #[test]
    fn drops_have_a_column_for_each_cause() {
        let drops = Drops::of(|cause| cause as u64);
        let expected = Cause::ALL.map(|cause| format!("\"{}\":{}", cause.name(), cause as u64)).join(",");
        assert_eq!(columns::to_json(&drops).to_string(), format!("{{{expected}}}"));
        for column in columns::columns::<LinkDrops>() {
            assert!(Cause::ALL.iter().any(|cause| cause.name() == column.name), "{}", column.name);
        }
    }

    #[test]
    fn percentiles_of_completion_times_lie_between_ranks() {
        assert_eq!(CompletionTimes::of(&[]), CompletionTimes::default());
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        let found = CompletionTimes::of(&hundred);
        assert_eq!(
            [found.mean, found.p50, found.p95, found.p99, found.max],
            [50.0, 50.0, 95.0, 99.0, 100.0].map(Some)
        );
        assert_eq!(CompletionTimes::of(&[1.0, 2.0]).p50, Some(1.5));
        assert_eq!(CompletionTimes::of(&[3.0]).p99, Some(3.0));
    }
}
