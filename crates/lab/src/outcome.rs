//! What a run gives.

use crate::table::Table;
use airwnd_kernel::Direction;
use airwnd_network::{Cause, Count, Ledger};
use airwnd_tcp::Limited;
use airwnd_units::Span;
use serde_json::{Value as Json, json};

/// The result of a run: plain figures, the same bytes for the same scenario and seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) duration: Span,
    pub(crate) handled: u64,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) groups: Vec<GroupRow>,
    pub(crate) ues: Vec<UeRow>,
    pub(crate) cells: Vec<CellRow>,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) totals: Totals,
    pub(crate) ledger: Ledger,
    pub(crate) inside: Count,
    pub(crate) completions: Table,
    pub(crate) series: Table,
    pub(crate) incidents: Table,
    pub(crate) allocations: Table,
}

/// Mean and percentiles in milliseconds; none where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// A flow's figures. Packets, delay and throughput are those of the direction in which data goes, counted as
/// IP packets: handshake and retransmissions included.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// The flow's name: that of its group and a number.
    pub id: String,
    /// The id that the scenario gives the group.
    pub group: String,
    /// Number of its terminal.
    pub ue: u32,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; none for UDP.
    pub cc: Option<String>,
    /// Receive-window control; none for UDP.
    pub rwnd: Option<String>,
    /// Payload that arrived, in order for TCP, over the measurement.
    pub goodput_kbps: f64,
    /// Bytes of IP packets that arrived over the measurement.
    pub throughput_kbps: f64,
    /// One-way delay from the sender's IP to the receiver's.
    pub delay_ms: Percentiles,
    /// The sender's round-trip time samples.
    pub rtt_ms: Percentiles,
    /// Packet delivery fraction: packets received of those sent.
    pub pdf_percent: Option<f64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Packets dropped on the way, whatever the cause.
    pub packets_dropped: u64,
    /// Segments with bytes that had been sent before.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Loss recoveries that began without such an expiry.
    pub fast_retransmits: u64,
    /// Duplicate ACKs that came; with SACK, ACKs that reported something new above the cumulative one.
    pub duplicate_acks: u64,
    /// Segments that came and offered no window.
    pub zero_windows: u64,
    /// For how long what has kept a TCP sender from sending more.
    pub limited: Option<Limited>,
    /// Flow completion time of a transfer that was completed.
    pub fct_s: Option<f64>,
}

/// The figures of a group of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// The id that the scenario gives it.
    pub group: String,
    /// Kind of traffic.
    pub kind: String,
    /// Congestion control; none for UDP.
    pub cc: Option<String>,
    /// Receive-window control; none for UDP.
    pub rwnd: Option<String>,
    /// Its flows.
    pub flows: u64,
    /// Those of them that began before the end.
    pub started: u64,
    /// Transfers and pages that were completed.
    pub completed: u64,
    /// Transfers and pages that began and were not completed.
    pub unfinished: u64,
    /// Sum of the flows' goodputs.
    pub goodput_kbps: f64,
    /// Sum of the flows' throughputs.
    pub throughput_kbps: f64,
    /// One-way delay over all packets of the group's flows.
    pub delay_ms: Percentiles,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets dropped on the way.
    pub packets_dropped: u64,
    /// Segments with bytes that had been sent before.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Completion times of what was completed.
    pub fct_s: CompletionTimes,
}

/// Mean and percentiles of completion times in seconds; none where nothing was completed. Percentiles lie between two
/// samples as their ranks do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompletionTimes {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The longest.
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

    fn to_json(self) -> Json {
        json!({"mean": self.mean, "p50": self.p50, "p95": self.p95, "p99": self.p99, "max": self.max})
    }
}

/// A terminal's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeRow {
    /// East of the origin, at the end.
    pub x_m: f64,
    /// North of the origin.
    pub y_m: f64,
    /// The cell that serves it at the end, counted from 0.
    pub cell: u16,
    /// Mean over time of the reported SINR.
    pub sinr_db: Option<f64>,
    /// Power of one reference-signal element.
    pub rsrp_dbm: f64,
    /// Mean MCS of first transmissions.
    pub mcs: Option<f64>,
    /// Mean size of a first transmission.
    pub block_bytes: Option<f64>,
    /// First transmissions.
    pub blocks: u64,
    /// Part of the first transmissions that failed.
    pub bler: Option<f64>,
    /// The same in the uplink.
    pub uplink_bler: Option<f64>,
    /// How often it was handed over, the warm-up included.
    pub handovers: u64,
    /// How often its radio link failed.
    pub link_failures: u64,
}

/// A cell's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellRow {
    /// Terminals that it serves.
    pub users: u64,
    /// Part of the measurement's PRBs that carried downlink data.
    pub downlink_prb_use: f64,
    /// Part of the measurement's PRBs that carried uplink data.
    pub uplink_prb_use: f64,
    /// Downlink bits decoded per second and hertz of the PRBs used.
    pub spectral_efficiency: Option<f64>,
}

/// The figures of a link in one direction. Bytes are those on the link, with its framing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Its name: that of the scenario, `server`, or `s1u`.
    pub link: String,
    /// The group, the number of the terminal or of the cell that has it for itself; none: it is shared by all.
    pub of: Option<String>,
    /// Which way.
    pub direction: Direction,
    /// Packets that it brought to its end.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that its queue had no room for.
    pub refused: u64,
    /// Packets that its queue discipline dropped before the queue was full.
    pub early: u64,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that it marked (ECN).
    pub marks: u64,
    /// Packets that waited, without the one in transmission.
    pub queue_packets: Queued,
    /// Bytes that waited.
    pub queue_bytes: Queued,
    /// Part of what it could have sent over the measurement that it sent; none without a rate. Of a shared medium: the
    /// part of the measurement that this direction's attempts took.
    pub utilisation: Option<f64>,
    /// What contention for a shared medium cost; none: nobody contends.
    pub contention: Option<Contention>,
}

/// Attempts to send on a shared medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contention {
    /// Attempts.
    pub attempts: u64,
    /// Those that met another sender's.
    pub collisions: u64,
    /// Those behind a failed one with the same packet.
    pub retries: u64,
    /// Packets given up after as many attempts as there may be.
    pub given_up: u64,
}

/// What waited in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queued {
    /// Mean over the time of the measurement.
    pub mean: f64,
    /// Most at any time.
    pub max: u64,
}

/// Figures over all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Sum of the goodputs.
    pub goodput_kbps: f64,
    /// Sum of the throughputs.
    pub throughput_kbps: f64,
    /// Mean one-way delay over all packets.
    pub delay_ms: Option<f64>,
    /// 95th percentile of the one-way delay over all packets.
    pub delay_ms_p95: Option<f64>,
    /// Packets received of those sent.
    pub pdf_percent: Option<f64>,
    /// Packets dropped of those sent.
    pub loss_percent: Option<f64>,
    /// Jain's index of the goodputs.
    pub jain: Option<f64>,
    /// Sum of the retransmissions.
    pub retransmissions: u64,
    /// Sum of the timeouts.
    pub timeouts: u64,
    /// Mean over the cells of the PRBs that carried downlink data; none without cells.
    pub downlink_prb_use: Option<f64>,
    /// The same in the uplink.
    pub uplink_prb_use: Option<f64>,
}

impl Outcome {
    /// The flows.
    pub fn flows(&self) -> &[FlowRow] {
        &self.flows
    }
    /// The groups of flows.
    pub fn groups(&self) -> &[GroupRow] {
        &self.groups
    }
    /// The terminals; none without cells.
    pub fn ues(&self) -> &[UeRow] {
        &self.ues
    }
    /// The cells; none without cells.
    pub fn cells(&self) -> &[CellRow] {
        &self.cells
    }
    /// The links, each way: that of the server, those of the scenario, those to the cells.
    pub fn links(&self) -> &[LinkRow] {
        &self.links
    }
    /// Figures over all flows.
    pub fn totals(&self) -> Totals {
        self.totals
    }
    /// How many happenings the event loop handled.
    pub fn handled(&self) -> u64 {
        self.handled
    }
    /// The transfers and pages that began, empty if there are none: `start_s` from the end of the warm-up, `flow`,
    /// `size_bytes`, and `fct_s`, which is not a number if it was not completed.
    pub fn completions(&self) -> &Table {
        &self.completions
    }
    /// Time series of the flows, empty unless asked for: `time_s`, `flow`, a column for each quantity, and the
    /// serving `cell`.
    pub fn series(&self) -> &Table {
        &self.series
    }
    /// What befell the flows, empty unless time series were asked for: `time_s`, `flow`, `event`, for drops
    /// `cause` and `bytes`, and for handovers the new `cell`.
    pub fn events(&self) -> &Table {
        &self.incidents
    }
    /// The downlink's transmissions, empty unless asked for: `time_s`, `cell`, `ue`, `rbgs` (the resource-block groups, a
    /// bit each, the least significant one the first), `transmission` of its block (1 is new data), `mcs`, `bytes`, and
    /// `reception`.
    pub fn allocations(&self) -> &Table {
        &self.allocations
    }
    /// The tables by name, to keep.
    pub fn into_tables(self) -> [(&'static str, Table); 4] {
        [
            ("series", self.series),
            ("events", self.incidents),
            ("allocations", self.allocations),
            ("completions", self.completions),
        ]
    }

    /// The whole but the tables as one object.
    pub fn to_json(&self) -> Json {
        let flows: Vec<Json> = self.flows.iter().map(FlowRow::to_json).collect();
        let groups: Vec<Json> = self.groups.iter().map(GroupRow::to_json).collect();
        let cells: Vec<Json> = self.cells.iter().enumerate().map(|(cell, row)| row.to_json(cell)).collect();
        let links: Vec<Json> = self.links.iter().map(LinkRow::to_json).collect();
        let ues: Vec<Json> = self.ues.iter().enumerate().map(|(ue, row)| row.to_json(ue)).collect();
        let drops: serde_json::Map<String, Json> = Cause::ALL
            .iter()
            .map(|cause| (cause.name().to_string(), json!(self.ledger.dropped(*cause).packets)))
            .collect();
        let dropped_bytes: serde_json::Map<String, Json> = Cause::ALL
            .iter()
            .map(|cause| (cause.name().to_string(), json!(self.ledger.dropped(*cause).bytes.0)))
            .collect();
        json!({
            "scenario": self.name,
            "seed": self.seed,
            "duration_s": self.duration.as_secs(),
            "events": self.handled,
            "flows": flows,
            "groups": groups,
            "cells": cells,
            "links": links,
            "ues": ues,
            "totals": {
                "goodput_kbps": self.totals.goodput_kbps,
                "throughput_kbps": self.totals.throughput_kbps,
                "delay_ms": self.totals.delay_ms,
                "delay_ms_p95": self.totals.delay_ms_p95,
                "pdf_percent": self.totals.pdf_percent,
                "loss_percent": self.totals.loss_percent,
                "jain": self.totals.jain,
                "retransmissions": self.totals.retransmissions,
                "timeouts": self.totals.timeouts,
                "downlink_prb_use": self.totals.downlink_prb_use,
                "uplink_prb_use": self.totals.uplink_prb_use,
                "drops": drops,
            },
            "conservation": {
                "offered_bytes": self.ledger.offered.bytes.0,
                "delivered_bytes": self.ledger.delivered.bytes.0,
                "dropped_bytes": dropped_bytes,
                "inside_bytes": self.inside.bytes.0,
            },
        })
    }
}

impl Percentiles {
    fn to_json(self) -> Json {
        json!({"mean": self.mean, "p50": self.p50, "p95": self.p95, "p99": self.p99})
    }
}

impl FlowRow {
    fn to_json(&self) -> Json {
        json!({
            "id": self.id,
            "group": self.group,
            "ue": self.ue,
            "kind": self.kind,
            "cc": self.cc,
            "rwnd": self.rwnd,
            "goodput_kbps": self.goodput_kbps,
            "throughput_kbps": self.throughput_kbps,
            "delay_ms": self.delay_ms.to_json(),
            "rtt_ms": self.rtt_ms.to_json(),
            "pdf_percent": self.pdf_percent,
            "packets_sent": self.packets_sent,
            "packets_received": self.packets_received,
            "packets_dropped": self.packets_dropped,
            "retransmissions": self.retransmissions,
            "timeouts": self.timeouts,
            "fast_retransmits": self.fast_retransmits,
            "duplicate_acks": self.duplicate_acks,
            "zero_windows": self.zero_windows,
            "limited_s": limits(self.limited),
            "fct_s": self.fct_s,
        })
    }
}

impl GroupRow {
    fn to_json(&self) -> Json {
        json!({
            "group": self.group,
            "kind": self.kind,
            "cc": self.cc,
            "rwnd": self.rwnd,
            "flows": self.flows,
            "started": self.started,
            "completed": self.completed,
            "unfinished": self.unfinished,
            "goodput_kbps": self.goodput_kbps,
            "throughput_kbps": self.throughput_kbps,
            "delay_ms": self.delay_ms.to_json(),
            "packets_sent": self.packets_sent,
            "packets_dropped": self.packets_dropped,
            "retransmissions": self.retransmissions,
            "timeouts": self.timeouts,
            "fct_s": self.fct_s.to_json(),
        })
    }
}

fn limits(limited: Option<Limited>) -> Json {
    let seconds = |of: fn(&Limited) -> Span| limited.as_ref().map(|limited| of(limited).as_secs());
    json!({
        "application": seconds(|limited| limited.application),
        "cwnd": seconds(|limited| limited.congestion_window),
        "rwnd": seconds(|limited| limited.receive_window),
        "pacing": seconds(|limited| limited.pacing),
    })
}

impl UeRow {
    fn to_json(self, ue: usize) -> Json {
        json!({
            "ue": ue,
            "x_m": self.x_m,
            "y_m": self.y_m,
            "cell": self.cell,
            "sinr_db": self.sinr_db,
            "rsrp_dbm": self.rsrp_dbm,
            "mcs": self.mcs,
            "block_bytes": self.block_bytes,
            "blocks": self.blocks,
            "bler": self.bler,
            "uplink_bler": self.uplink_bler,
            "handovers": self.handovers,
            "link_failures": self.link_failures,
        })
    }
}

impl CellRow {
    fn to_json(self, cell: usize) -> Json {
        json!({
            "cell": cell,
            "users": self.users,
            "downlink_prb_use": self.downlink_prb_use,
            "uplink_prb_use": self.uplink_prb_use,
            "spectral_efficiency": self.spectral_efficiency,
        })
    }
}

impl LinkRow {
    fn to_json(&self) -> Json {
        json!({
            "link": self.link,
            "of": self.of,
            "direction": self.direction.word(),
            "packets": self.packets,
            "bytes": self.bytes,
            "drops": {
                Cause::LinkQueue.name(): self.refused,
                Cause::LinkEarly.name(): self.early,
                Cause::LinkError.name(): self.lost,
                Cause::RetryLimit.name(): self.contention.map_or(0, |contention| contention.given_up),
            },
            "attempts": self.contention.map(|contention| contention.attempts),
            "collisions": self.contention.map(|contention| contention.collisions),
            "retries": self.contention.map(|contention| contention.retries),
            "marks": self.marks,
            "queue_packets": self.queue_packets.to_json(),
            "queue_bytes": self.queue_bytes.to_json(),
            "utilisation": self.utilisation,
        })
    }
}

impl Queued {
    fn to_json(self) -> Json {
        json!({"mean": self.mean, "max": self.max})
    }
}

/// Jain's index: (sum x)^2 / (n sum x^2), from 1/n (one takes all) to 1 (equal shares).
pub(crate) fn jain(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let sum: f64 = values.clone().sum();
    let squares: f64 = values.clone().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.count() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn jain_runs_from_one_over_n_to_one() {
        assert_eq!(jain([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([5.0, 0.0].into_iter()), Some(0.5));
        assert_eq!(jain([0.0].into_iter()), None);
    }
}
