//! Rows of the tables of figures of a run.

use crate::results::columns::{Columns, FlowNumber};
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
    /// Events handled by the event loop.
    pub events: u64,
}

/// Mean and percentiles; `None` without samples. The mean is exact; percentiles have two significant digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Percentiles {
    /// Mean.
    #[column(short = "", label = "mean")]
    pub mean: Option<f64>,
    /// Median.
    #[column(label = "median", rank = 6)]
    pub p50: Option<f64>,
    /// 95th percentile.
    #[column(label = "95th percentile", rank = 2)]
    pub p95: Option<f64>,
    /// 99th percentile.
    #[column(label = "99th percentile", rank = 3)]
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[column(label = "99.9th percentile", rank = 7)]
    pub p999: Option<f64>,
}

/// A row per flow. Packets, delay and throughput refer to the direction of the data and count IP packets, including the
/// handshake and retransmissions.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct FlowRow {
    /// Id of the flow: the id of its group and a number.
    #[column(short = "flow")]
    pub id: String,
    /// Id of its group in the scenario.
    pub group: String,
    /// Number of its UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; a plug-in by its class or name, with the parameters that differ from its defaults. Null for UDP, and
    /// for a real flow whose congestion control is unknown.
    pub cc: Option<String>,
    /// Receive-window control, a plug-in as in `cc`; null for UDP and for real flows.
    pub rwnd: Option<String>,
    /// Goodput: payload received per measurement time; for TCP, payload received in order.
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// Throughput: IP packets received per measurement time.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// One-way delay between the IP layers of sender and receiver.
    #[column(unit = "ms", short = "delay", label = "one-way delay", rank = 1)]
    pub delay_ms: Percentiles,
    /// Jitter: mean absolute difference between the one-way delays of consecutive packets (RFC 3393), in the order of
    /// their arrival; null for fewer than two packets.
    #[column(unit = "ms", short = "jitter", rank = 7)]
    pub jitter_ms: Option<f64>,
    /// Packets received within `delay_budget` divided by packets sent. Null without a budget, or if nothing or only a
    /// handshake was sent.
    #[column(unit = "%", range = 0.0..=100.0, short = "on time", label = "packets within the delay budget", rank = 7)]
    pub on_time_percent: Option<f64>,
    /// RTT samples of the sender.
    #[column(unit = "ms", short = "RTT", rank = 5)]
    pub rtt_ms: Percentiles,
    /// Packet delivery fraction (PDF): packets received divided by packets sent. Null if nothing or only a handshake
    /// was sent: a connection that was never established has delivered no data, even if SYNs arrived.
    #[column(unit = "%", range = 0.0..=100.0, short = "PDF", label = "delivery fraction", rank = 2)]
    pub pdf_percent: Option<f64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Packets dropped on the path, for any cause.
    pub packets_dropped: u64,
    /// Packets received with a congestion mark (ECN CE).
    #[column(short = "marks", label = "marked packets")]
    pub packets_marked: u64,
    /// Segments sent that contained bytes sent before.
    #[column(short = "retrans.", label = "retransmissions", rank = 4)]
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Loss recoveries that began without a timeout.
    pub fast_retransmits: u64,
    /// Duplicate ACKs received by the sender; with SACK, ACKs that reported new data above the cumulative ACK.
    pub duplicate_acks: u64,
    /// Segments received by the sender that advertised a zero window.
    pub zero_windows: u64,
    /// Time during which the TCP sender was limited (null for UDP).
    #[column(unit = "s", range = 0.0..=f64::INFINITY)]
    pub limited_s: Option<Limited>,
    /// Flow completion time (FCT); null for a flow without a size, or one that did not complete.
    #[column(unit = "s", range = 0.0..=f64::INFINITY, short = "FCT", label = "completion time", rank = 2)]
    pub fct_s: Option<f64>,
}

/// Time per limit of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Limited {
    /// By the application (no data to send).
    pub application: f64,
    /// By a full send buffer.
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

/// A row per flow of real packets in an emulation; no rows in a simulation.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct ConnectionRow {
    /// Id of the flow.
    pub flow: String,
    /// Protocol: tcp, udp (QUIC included), icmp, or other for all packets of a UE that belong to no other flow.
    pub protocol: String,
    /// Address and port of the UE.
    pub ue_end: String,
    /// Address and port of the server.
    pub server_end: String,
    /// Time of the first packet, from the end of the warm-up.
    #[column(unit = "s")]
    pub start_s: f64,
}

/// A row per group of flows (`[[flow]]` of the scenario).
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct GroupRow {
    /// Id of the group in the scenario.
    pub group: String,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; a plug-in by its class or name, with the parameters that differ from its defaults. Null for UDP.
    pub cc: Option<String>,
    /// Receive-window control, a plug-in as in `cc`; null for UDP.
    pub rwnd: Option<String>,
    /// Flows of the group.
    pub flows: u64,
    /// Flows that began before the end of the run.
    pub started: u64,
    /// Transfers and pages that completed.
    #[column(short = "done", label = "completed")]
    pub completed: u64,
    /// Transfers and pages that began but did not complete.
    #[column(short = "not done", label = "unfinished", rank = 2)]
    pub unfinished: u64,
    /// Sum of the flows' goodputs.
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// Sum of the flows' throughputs.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// One-way delay of all packets of the group.
    #[column(unit = "ms", short = "delay", label = "one-way delay", rank = 5)]
    pub delay_ms: Percentiles,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets dropped on the path.
    pub packets_dropped: u64,
    /// Packets received with a congestion mark (ECN CE).
    #[column(short = "marks", label = "marked packets")]
    pub packets_marked: u64,
    /// Segments sent that contained bytes sent before.
    #[column(short = "retrans.", label = "retransmissions")]
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Completion times of the transfers and pages that completed.
    #[column(unit = "s", range = 0.0..=f64::INFINITY, short = "FCT", label = "completion time", rank = 1)]
    pub fct_s: CompletionTimes,
}

/// Mean and percentiles of completion times; `None` if nothing completed. Percentiles are interpolated between the two
/// nearest ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct CompletionTimes {
    /// Mean.
    #[column(short = "", label = "mean")]
    pub mean: Option<f64>,
    /// Median.
    #[column(label = "median", rank = 6)]
    pub p50: Option<f64>,
    /// 95th percentile.
    #[column(label = "95th percentile", rank = 2)]
    pub p95: Option<f64>,
    /// 99th percentile.
    #[column(label = "99th percentile", rank = 3)]
    pub p99: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

impl CompletionTimes {
    /// Computes the statistics of times in ascending order.
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

/// A row per UE; no rows without cells.
#[derive(Clone, Copy, Debug, PartialEq, Columns)]
pub struct UeRow {
    /// Number of the UE, from 0.
    #[column(short = "UE")]
    pub ue: u32,
    /// Position at the end of the run, east of the origin.
    #[column(unit = "m", short = "east", rank = 2)]
    pub x_m: f64,
    /// Position at the end of the run, north of the origin.
    #[column(unit = "m", short = "north", rank = 2)]
    pub y_m: f64,
    /// Number of the serving cell at the end of the run.
    pub cell: u16,
    /// Mean over time of the reported SINR.
    #[column(unit = "dB", short = "SINR")]
    pub sinr_db: Option<f64>,
    /// Reference signal received power at the end of the run.
    #[column(unit = "dBm", short = "RSRP")]
    pub rsrp_dbm: f64,
    /// Mean MCS of first downlink transmissions.
    #[column(range = 0.0..=f64::INFINITY, short = "MCS", digits = 1)]
    pub mcs: Option<f64>,
    /// Mean transport block size of first downlink transmissions.
    #[column(unit = "bytes")]
    pub block_bytes: Option<f64>,
    /// First downlink transmissions of transport blocks.
    pub blocks: u64,
    /// Block error rate: fraction of first downlink transmissions that failed, 0 to 1.
    #[column(range = 0.0..=1.0, short = "BLER")]
    pub bler: Option<f64>,
    /// Block error rate of the uplink, 0 to 1.
    #[column(range = 0.0..=1.0, short = "up BLER", label = "uplink BLER")]
    pub uplink_bler: Option<f64>,
    /// First uplink transmissions of transport blocks.
    pub uplink_blocks: u64,
    /// Mean MCS of first uplink transmissions.
    #[column(short = "up MCS", label = "uplink MCS", digits = 0, rank = 4)]
    pub uplink_mcs: Option<f64>,
    /// SINR of the last sounding reference signal, which covers the carrier; null if the run ended before the first
    /// one.
    #[column(unit = "dB", short = "up, all PRBs", label = "uplink SINR, all PRBs", rank = 3)]
    pub uplink_sinr_db: Option<f64>,
    /// SINR of the narrowest uplink grant at the end of the run, without interference.
    #[column(unit = "dB", short = "up, narrow", label = "uplink SINR, narrowest grant")]
    pub uplink_narrow_sinr_db: f64,
    /// PRBs of the narrowest uplink grant.
    #[column(unit = "PRB", short = "narrow", label = "narrowest grant", rank = 5)]
    pub uplink_narrow_prbs: u16,
    /// `out of reach` if no downlink transmission was ever decoded and, at the end of the run, link adaptation allowed
    /// none or all had failed; otherwise `reached`.
    pub downlink_reach: Reach,
    /// The same for the uplink: `reached` or `out of reach`.
    pub uplink_reach: Reach,
    /// Handovers, including those during the warm-up.
    pub handovers: u64,
    /// Radio link failures, including RLC maximum retransmissions and failures during the warm-up.
    pub link_failures: u64,
    /// Downlink packets marked (ECN CE) by the queues of its bearers at the eNB.
    #[column(label = "marked packets")]
    pub marks: u64,
    /// Uplink packets marked (ECN CE) by the queues of its bearers at the UE.
    #[column(short = "up marks", label = "marked packets, uplink")]
    pub uplink_marks: u64,
    /// Fraction of the time in which the UE monitored the PDCCH, 0 to 1, including the warm-up; 1 without `mac.drx` and
    /// `rrc`.
    #[column(range = 0.0..=1.0)]
    pub awake: f64,
}

/// A row per cell; no rows without cells.
#[derive(Clone, Copy, Debug, PartialEq, Columns)]
pub struct CellRow {
    /// Number of the cell, from 0.
    pub cell: u16,
    /// UEs served at the end of the run.
    pub users: u64,
    /// Fraction of the PRBs that carried downlink data, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub downlink_prb_use: f64,
    /// Fraction of the PRBs that carried uplink data, 0 to 1.
    #[column(range = 0.0..=1.0)]
    pub uplink_prb_use: f64,
    /// Decoded downlink bits per second and hertz of the used PRBs.
    #[column(unit = "bit/s/Hz")]
    pub spectral_efficiency: Option<f64>,
    /// Downlink packets marked (ECN CE) by the queues of the bearers of the UEs that it served at that time.
    #[column(label = "marked packets")]
    pub marks: u64,
    /// Uplink packets marked (ECN CE) by the queues of the bearers of the UEs that it served at that time.
    #[column(short = "up marks", label = "marked packets, uplink")]
    pub uplink_marks: u64,
}

/// A row per bearer and direction; no rows without cells.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct BearerRow {
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// Name of the bearer in the scenario; `default` for the default bearer.
    pub bearer: String,
    /// Direction: `down` (to the UE) or `up`.
    #[column(short = "way")]
    pub direction: Direction,
    /// QoS class identifier: QCI in LTE, 5QI in NR.
    #[column(short = "QCI", label = "QCI or 5QI")]
    pub qci: u8,
    /// Packets that crossed the air.
    #[column(short = "delivered")]
    pub packets: u64,
    /// Bytes of the packets that crossed the air, with IP headers.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Packets dropped in the bearer.
    pub drops: BearerDrops,
    /// Packets marked (ECN CE) by the queue of the bearer.
    pub marks: u64,
}

/// Packets dropped in a bearer, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct BearerDrops {
    /// RLC queue full.
    #[column(short = "full")]
    pub rlc_queue_full: u64,
    /// Dropped by the queue discipline of RLC before its queue was full.
    #[column(short = "early")]
    pub rlc_queue_early: u64,
    /// PDCP discard timer expired.
    #[column(short = "discarded")]
    pub pdcp_discard: u64,
    /// HARQ transmissions exhausted for a transport block with a part of the packet.
    #[column(short = "radio")]
    pub radio_loss: u64,
    /// In flight on the air during a handover, or not forwarded.
    pub handover: u64,
    /// In flight on the air at a radio link failure.
    #[column(short = "link failure")]
    pub radio_link_failure: u64,
}

/// A row per link and direction: the server link (`server`), the links of the scenario, the links to the cells (`s1u`)
/// and between cells (`x2`, in NR Xn, one direction). Bytes include the framing of the link.
#[derive(Clone, Debug, PartialEq, Columns)]
pub struct LinkRow {
    /// Name of the link: as in the scenario, or `server`, `s1u` or `x2`.
    pub link: String,
    /// Owner of the link: name of a group of UEs, number of a UE or number of a cell; null for a link shared by all
    /// UEs.
    pub of: Option<String>,
    /// Direction: `down` (to the UEs) or `up`.
    #[column(short = "way")]
    pub direction: Direction,
    /// Packets delivered.
    #[column(short = "delivered")]
    pub packets: u64,
    /// Bytes delivered.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Copies that a link with `duplicate` has made; they count as delivered, too.
    #[column(rank = 7)]
    pub copies: u64,
    /// Packets dropped.
    pub drops: LinkDrops,
    /// Contention on a shared medium; `None` for other links.
    #[column(flatten)]
    pub contention: Option<Contention>,
    /// Packets marked (ECN).
    #[column(rank = 6)]
    pub marks: u64,
    /// Packets in the queue, excluding the one in transmission; for a shared medium: in the queues of all senders of
    /// this direction.
    #[column(unit = "packets", short = "queue", rank = 1)]
    pub queue_packets: Queued,
    /// Bytes in the queue, excluding the packet in transmission; for a shared medium: in the queues of all senders of
    /// this direction.
    #[column(unit = "bytes")]
    pub queue_bytes: Queued,
    /// Used fraction of the link's capacity over the measurement, 0 to 1; null for a link without a rate. For a shared
    /// medium: fraction of the time with an attempt of this direction on the air; colliding attempts count once.
    #[column(range = 0.0..=1.0, short = "use", label = "utilisation")]
    pub utilisation: Option<f64>,
}

/// Packets dropped by a link, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct LinkDrops {
    /// Queue full.
    #[column(short = "full", rank = 2)]
    pub link_queue_full: u64,
    /// Dropped by the queue discipline before the queue was full.
    #[column(short = "early", rank = 4)]
    pub link_queue_early: u64,
    /// Dropped by the policer, or larger than the burst of the shaper.
    #[column(short = "policed", rank = 7)]
    pub link_policed: u64,
    /// Lost in transmission.
    #[column(short = "lost", rank = 3)]
    pub link_error: u64,
    /// Retry limit of a shared medium reached.
    #[column(rank = 7)]
    pub retry_limit: u64,
}

/// Transmission attempts on a shared medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Contention {
    /// Transmission attempts on a shared medium; null for other links.
    pub attempts: u64,
    /// Attempts that collided with an attempt of another station; null for other links.
    pub collisions: u64,
    /// Retries of failed attempts; null for other links.
    pub retries: u64,
}

/// Backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Queued {
    /// Mean over the measurement.
    pub mean: f64,
    /// Maximum.
    #[column(rank = 4)]
    pub max: u64,
}

/// Totals over all flows and cells; null where there are no samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct Totals {
    /// Sum of the flows' goodputs (payload).
    #[column(unit = "kbit/s")]
    pub goodput_kbps: f64,
    /// Sum of the flows' throughputs (IP packets).
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// Mean one-way delay of all packets.
    #[column(unit = "ms", short = "delay", label = "one-way delay, mean", formerly = "delay_ms")]
    pub delay_ms_mean: Option<f64>,
    /// 95th percentile of the one-way delay of all packets.
    #[column(unit = "ms", short = "delay p95", label = "one-way delay, 95th percentile")]
    pub delay_ms_p95: Option<f64>,
    /// Packet delivery fraction (PDF) over the flows that have one: packets received divided by packets sent.
    #[column(unit = "%", range = 0.0..=100.0, short = "PDF", label = "delivery fraction")]
    pub pdf_percent: Option<f64>,
    /// Packets dropped divided by packets sent.
    #[column(unit = "%", range = 0.0..=100.0, label = "packet loss")]
    pub loss_percent: Option<f64>,
    /// Jain's fairness index of the goodputs, from 1/n (one flow has all) to 1 (equal shares).
    #[column(range = 0.0..=1.0, short = "Jain", label = "Jain's index", digits = 4)]
    pub jain: Option<f64>,
    /// Packets received with a congestion mark (ECN CE), over all flows.
    #[column(short = "marks", label = "marked packets")]
    pub packets_marked: u64,
    /// Segments sent that contained bytes sent before.
    #[column(short = "retrans.", label = "retransmissions")]
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Mean over the cells of the fraction of PRBs that carried downlink data, 0 to 1; null without cells.
    #[column(range = 0.0..=1.0)]
    pub downlink_prb_use: Option<f64>,
    /// Mean over the cells of the fraction of PRBs that carried uplink data, 0 to 1; null without cells.
    #[column(range = 0.0..=1.0)]
    pub uplink_prb_use: Option<f64>,
    /// Packets dropped since the beginning of the warm-up.
    pub drops: Drops,
}

/// Drops by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Drops {
    /// Queue of a link full.
    pub link_queue_full: u64,
    /// Dropped by the queue discipline of a link before its queue was full.
    pub link_queue_early: u64,
    /// Dropped by the policer of a link, or larger than the burst of its shaper.
    pub link_policed: u64,
    /// Lost on a link.
    pub link_error: u64,
    /// Retry limit of a shared medium reached.
    pub retry_limit: u64,
    /// RLC queue full.
    pub rlc_queue_full: u64,
    /// Dropped by the queue discipline of RLC before its queue was full.
    pub rlc_queue_early: u64,
    /// PDCP discard timer expired.
    pub pdcp_discard: u64,
    /// HARQ transmissions exhausted for a transport block with a part of the packet.
    pub radio_loss: u64,
    /// In flight on the air during a handover, or not forwarded.
    pub handover: u64,
    /// In flight on the air at a radio link failure.
    pub radio_link_failure: u64,
}

impl Drops {
    /// Collects the count of each cause.
    pub(crate) fn of(count: impl Fn(Cause) -> u64) -> Drops {
        Drops {
            link_queue_full: count(Cause::LinkQueue),
            link_queue_early: count(Cause::LinkEarly),
            link_policed: count(Cause::LinkPoliced),
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

/// Ledger of all packets since the beginning of the warm-up: offered plus copied bytes equal delivered plus dropped plus inside
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Columns)]
pub struct Conservation {
    /// Bytes of the packets that entered the network.
    #[column(unit = "bytes")]
    pub offered_bytes: u64,
    /// Bytes of the copies that links with `duplicate` have made.
    #[column(unit = "bytes")]
    pub copied_bytes: u64,
    /// Bytes of the packets that reached their destination.
    #[column(unit = "bytes")]
    pub delivered_bytes: u64,
    /// Bytes of the dropped packets.
    #[column(unit = "bytes")]
    pub dropped_bytes: Drops,
    /// Bytes of the packets in the network at the end of the run.
    #[column(unit = "bytes")]
    pub inside_bytes: u64,
}

/// A row per transfer or page that began, in the order of the flows and in chronological order within a flow.
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
    /// Completion time; null if the transfer or page did not complete before the end of the run.
    #[column(unit = "s", range = 0.0..=f64::INFINITY, short = "FCT", label = "completion time")]
    pub fct_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns;

    #[test]
    fn drops_have_a_column_for_each_cause() {
        let drops = Drops::of(|cause| cause as u64);
        let expected = Cause::ALL.map(|cause| format!("\"{}\":{}", cause.name(), cause as u64)).join(",");
        assert_eq!(columns::to_json(&drops).to_string(), format!("{{{expected}}}"));
        for column in <LinkDrops as columns::Row>::columns() {
            assert!(Cause::ALL.iter().any(|cause| cause.name() == column.name), "{}", column.name);
        }
    }

    #[test]
    fn percentiles_of_completion_times_are_interpolated() {
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
