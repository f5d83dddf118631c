//! Records during the run, and results at its end.

use super::flows::Group;
use super::{Flow, Happening, Record, Simulation};
use crate::results::columns::FlowNumber;
use crate::results::incidents::{Event, Incident};
use crate::results::meter::Spread;
use crate::results::outcome::{
    BearerDrops, BearerRow, CellRow, CompletionRow, CompletionTimes, Contention, Drops, FlowRow, GroupRow,
    LinkDrops, LinkRow, Outcome, Percentiles, Queued, Totals, UeRow, jain,
};
use crate::results::records;
use crate::results::series::Sample;
use crate::results::table::{Rows, Table};
use airwnd_cell::{BearerId, CellId, Ran, UeId};
use airwnd_kernel::Direction;
use airwnd_links::link;
use airwnd_network::{Cause, Duplex, OneWay, SharedMedium};
use airwnd_tcp::Endpoint;
use airwnd_units::{Bytes, Span, Time};

impl Simulation<'_> {
    pub(crate) fn note(&mut self, now: Time, flow: u32, incident: Incident) {
        if let Some(record) = &mut self.record {
            record.incidents.push(&Event::new(now - self.begin, flow, incident));
        }
    }

    /// Records timeouts and loss recoveries from the sender's counters.
    pub(super) fn note_repairs(&mut self, now: Time, number: u32) {
        if self.record.is_none() {
            return;
        }
        let flow = &mut self.flows[number as usize];
        let Some(stats) = flow.sending().map(Endpoint::stats) else { return };
        let before = std::mem::replace(&mut flow.noted, (stats.timeouts, stats.fast_retransmits));
        for _ in before.0..stats.timeouts {
            self.note(now, number, Incident::Timeout);
        }
        for _ in before.1..stats.fast_retransmits {
            self.note(now, number, Incident::Recovery);
        }
    }

    pub(super) fn sample(&mut self, now: Time) {
        let Some(Record { period, series, .. }) = &mut self.record else { return };
        let period = *period;
        self.queue.schedule(now + period, Happening::Sample);
        for number in &self.observed {
            let flow = &mut self.flows[*number as usize];
            let turned = flow.face_the_data();
            let mut before = std::mem::take(&mut flow.sampled);
            let mut sample = Sample {
                time_s: (now - self.begin).as_secs(),
                flow: FlowNumber(*number),
                rate_kbps: kbps(flow.meter.payload - before.payload, period),
                throughput_kbps: kbps(flow.meter.received_bytes - before.received, period),
                delay_ms: flow.meter.delay.mean_ms_since(before.delays),
                packets_marked: (flow.meter.marked - before.marked) as f64,
                ..Sample::default()
            };
            if flow.source.is_echoed() {
                sample.rtt_ms = flow.meter.rtt.mean_ms_since(before.rtts);
            }
            flow.sampled.note(&flow.meter);
            if let Some(connection) = flow.connection.as_mut().filter(|connection| connection.is_open()) {
                let endpoint = &connection.sender(flow.direction).endpoint;
                sample.cwnd_bytes = Some(endpoint.cwnd().0 as f64);
                let ssthresh = Some(endpoint.ssthresh().0).filter(|value| *value < 1 << 40);
                sample.ssthresh_bytes = ssthresh.map(|bytes| bytes as f64);
                sample.rwnd_bytes = Some(endpoint.peer_window().0 as f64);
                sample.in_flight_bytes = Some(endpoint.in_flight().0 as f64);
                sample.rtt_ms = endpoint.srtt().map(Span::as_millis);
            }
            if let Some(real) = &mut flow.real {
                real.sample(flow.direction, &mut sample);
            }
            if let Some(ran) = self.network.ran() {
                let ue = UeId(flow.ue);
                let (backlog, figures) = (ran.backlog_of(ue, flow.bearer), ran.ue_figures(ue));
                sample.queue_bytes = Some(backlog.bytes.0 as f64);
                sample.queue_packets = Some(backlog.packets as f64);
                sample.sinr_db = figures.sinr.map(|sinr| sinr.0);
                sample.cell = Some(figures.cell.0);
                sample.rsrp_dbm = Some(figures.rsrp.0);
                let neighbour = ran.neighbour(ue);
                sample.neighbour = neighbour.map(|(cell, _)| cell.0);
                sample.neighbour_rsrp_dbm = neighbour.map(|(_, rsrp)| rsrp.0);
                if ran.moves(ue) {
                    (sample.x_m, sample.y_m) = (Some(figures.position.x.0), Some(figures.position.y.0));
                }
                let blocks = (figures.downlink.mcs_sum, figures.downlink.first);
                let sent = blocks.1 - before.blocks.1;
                sample.mcs = (sent > 0).then(|| (blocks.0 - before.blocks.0) as f64 / sent as f64);
                flow.sampled.blocks = blocks;
                let decoded = Bytes(figures.blocks(flow.direction).decoded_bytes);
                if turned {
                    before.decoded = decoded;
                }
                sample.air_kbps = Some(kbps(decoded - before.decoded, period));
                flow.sampled.decoded = decoded;
            } else {
                let waiting = self.network.waiting_for(now, flow.ue);
                sample.queue_bytes = Some(waiting.bytes.0 as f64);
                sample.queue_packets = Some(waiting.packets as f64);
            }
            series.push(&sample);
        }
        self.watch_memory(now);
    }

    pub(super) fn finish(mut self) -> Outcome {
        self.network.pass_records();
        let (ledger, inside) = self.network.balance();
        let duration = self.measured;
        let rows = self.take_rows();
        let completions = self.completions();
        let connections = self.connection_rows();
        let sum = |figure: fn(&FlowRow) -> f64| rows.iter().map(figure).sum::<f64>();
        let sent = sum(|row| row.packets_sent as f64);
        let share = |packets: f64| (sent > 0.0).then(|| 100.0 * packets / sent);
        let pdf = {
            let sums = rows
                .iter()
                .filter(|row| row.pdf_percent.is_some())
                .fold((0, 0), |(all, got), row| (all + row.packets_sent, got + row.packets_received));
            (sums.0 > 0).then(|| 100.0 * sums.1 as f64 / sums.0 as f64)
        };
        let mut delay = Spread::new();
        self.groups.iter().for_each(|group| delay.add(&group.delay));
        let bearers = self.bearer_rows();
        let of_ues = bearers.chunk_by(|one, next| one.ue == next.ue);
        let (ues, cells): (_, Vec<CellRow>) = match self.network.ran().zip(self.network.bearers()) {
            None => (Vec::new(), Vec::new()),
            Some((ran, counts)) => (
                of_ues.map(|bearers| ue_row(ran, bearers, self.begin + duration)).collect(),
                (0..)
                    .zip(ran.cell_figures())
                    .map(|(cell, figures)| {
                        let marked =
                            Direction::BOTH.map(|direction| counts.marked_in(CellId(cell), direction));
                        cell_row(cell, &figures, marked, ran.clock().count(duration))
                    })
                    .collect(),
            ),
        };
        let media = self.network.media().iter().flat_map(|medium| medium_rows(medium, self.begin, duration));
        // An X2 link has one direction, from a cell to the others.
        let links = self.network.links().flat_map(|(id, link)| {
            let directions = if self.network.is_x2(id) { 1 } else { 2 };
            link_rows(link, self.begin, duration).into_iter().take(directions)
        });
        let links = links.chain(media).collect();
        let prb_use = |figure: fn(&CellRow) -> f64| {
            (!cells.is_empty()).then(|| cells.iter().map(figure).sum::<f64>() / cells.len() as f64)
        };
        let totals = Totals {
            goodput_kbps: sum(|row| row.goodput_kbps),
            throughput_kbps: sum(|row| row.throughput_kbps),
            delay_ms_mean: delay.mean_ms(),
            delay_ms_p95: delay.percentiles_ms([95.0])[0],
            pdf_percent: pdf,
            loss_percent: share(sum(|row| row.packets_dropped as f64)),
            jain: jain(rows.iter().map(|row| row.goodput_kbps)),
            packets_marked: rows.iter().map(|row| row.packets_marked).sum(),
            retransmissions: rows.iter().map(|row| row.retransmissions).sum(),
            timeouts: rows.iter().map(|row| row.timeouts).sum(),
            downlink_prb_use: prb_use(|cell| cell.downlink_prb_use),
            uplink_prb_use: prb_use(|cell| cell.uplink_prb_use),
            drops: Drops::of(|cause| ledger.dropped(cause).packets),
        };
        let (series, incidents, sockets) = match self.record {
            None => (Table::new(), Table::new(), Table::new()),
            Some(record) => {
                let ids = ids(&rows);
                let sockets = match record.sockets.len() {
                    0 => Table::new(),
                    _ => record.sockets.table(&ids),
                };
                (record.series.table(&ids), record.incidents.table(&ids), sockets)
            }
        };
        let allocations = self.network.ran().and_then(|ran| Some((ran.allocations()?, ran.clock())));
        let groups = self.groups.iter().map(|group| {
            let of_group = |completion: &&Completion| (group.first..group.end).contains(&completion.flow);
            let of_it: Vec<&Completion> = completions.iter().filter(of_group).collect();
            group_row(group, &rows[group.first as usize..group.end as usize], &self.flows, &of_it)
        });
        Outcome {
            connections,
            name: self.scenario.name.clone(),
            seed: self.seed,
            duration,
            handled: self.network.handled() + self.queue.scheduled() - self.queue.len() as u64,
            groups: groups.collect(),
            completions: completions_table(&completions, &rows, self.begin),
            flows: rows,
            ues,
            bearers,
            cells,
            links,
            totals,
            ledger,
            inside,
            series,
            incidents,
            sockets,
            allocations: allocations
                .map_or_else(Table::new, |(rows, clock)| records::table_of(&rows, clock, self.begin)),
        }
    }

    /// Returns the rows of all bearers, those of a UE together.
    fn bearer_rows(&self) -> Vec<BearerRow> {
        let Some((ran, counts)) = self.network.ran().zip(self.network.bearers()) else { return Vec::new() };
        let mut rows = Vec::new();
        for ue in 0..ran.ues() as u32 {
            let group = self.group_of(ue);
            for bearer in (0..ran.bearers_of(UeId(ue))).map(BearerId) {
                rows.extend(Direction::BOTH.map(|direction| {
                    let figures = counts.of(ue, bearer, direction);
                    BearerRow {
                        ue,
                        bearer: group.name_of(bearer).into(),
                        direction,
                        qci: group.qci(bearer).number(),
                        packets: figures.crossed.packets,
                        bytes: figures.crossed.bytes.0,
                        drops: BearerDrops {
                            rlc_queue_full: figures.dropped(Cause::RlcQueue),
                            rlc_queue_early: figures.dropped(Cause::RlcEarly),
                            pdcp_discard: figures.dropped(Cause::Discarded),
                            radio_loss: figures.dropped(Cause::Radio),
                            handover: figures.dropped(Cause::Handover),
                            radio_link_failure: figures.dropped(Cause::LinkFailure),
                        },
                        marks: figures.marked,
                    }
                }));
            }
        }
        rows
    }

    /// Returns the rows of all flows, and adds their delays to their groups.
    fn take_rows(&mut self) -> Vec<FlowRow> {
        let (begin, duration) = (self.begin, self.measured);
        let mut rows = Vec::with_capacity(self.flows.len());
        for (number, flow) in (0..).zip(&mut self.flows) {
            let group = &mut self.groups[flow.group as usize];
            rows.push(match flow.row.take() {
                // Rates refer to the whole measurement, whose end an emulation does not know earlier.
                Some(row) => FlowRow {
                    goodput_kbps: kbps(flow.meter.payload, duration),
                    throughput_kbps: kbps(flow.meter.received_bytes, duration),
                    ..*row
                },
                None => flow.row(group, number, begin, duration),
            });
            group.delay.add(&flow.meter.delay);
        }
        rows
    }

    /// Returns all transfers and pages, ordered by flow and then by time.
    fn completions(&self) -> Vec<Completion> {
        let mut completions = Vec::new();
        for (number, flow) in (0..).zip(&self.flows) {
            if let Some((began, size)) = flow.meter.started.zip(flow.size) {
                completions.push(Completion { flow: number, began, size, at: flow.meter.completed });
            }
            if let Some(part) = flow.source.unfinished() {
                completions.push(Completion { flow: number, began: part.began, size: part.size, at: None });
            }
        }
        let pages = self.pages.iter().map(|page| {
            let at = Some(page.at);
            Completion { flow: page.flow, began: page.part.began, size: page.part.size, at }
        });
        completions.extend(pages);
        completions.sort_by_key(|completion| (completion.flow, completion.began));
        completions
    }
}

/// Figures of a link over the measurement, downlink first.
fn link_rows(link: &Duplex, begin: Time, measured: Span) -> [LinkRow; 2] {
    let end = begin + measured;
    let row = |direction| {
        let one_way: &OneWay = link.one_way(direction);
        LinkRow {
            utilisation: one_way
                .link()
                .capacity(begin, end)
                .filter(|capacity| *capacity > Bytes::ZERO)
                .map(|capacity| one_way.link().sent_bytes(end).0 as f64 / capacity.0 as f64),
            ..link_row((&link.name, &link.owner), direction, &one_way.figures(end), measured)
        }
    };
    Direction::BOTH.map(row)
}

/// Figures of a shared medium over the measurement, downlink first.
fn medium_rows(shared: &SharedMedium, begin: Time, measured: Span) -> [LinkRow; 2] {
    let row = |direction| {
        let figures = shared.medium.figures(direction, begin + measured);
        let row = link_row((&shared.name, &shared.owner), direction, &figures.link, measured);
        LinkRow {
            utilisation: Some(figures.airtime.as_secs() / measured.as_secs()),
            contention: Some(Contention {
                attempts: figures.attempts,
                collisions: figures.collisions,
                retries: figures.retries,
            }),
            drops: LinkDrops { retry_limit: figures.given_up, ..row.drops },
            ..row
        }
    };
    Direction::BOTH.map(row)
}

/// Figures common to links and shared media, by name and owner.
fn link_row(
    (name, owner): (&str, &Option<String>),
    direction: Direction,
    figures: &link::Figures,
    measured: Span,
) -> LinkRow {
    let mean = |sum: u128| sum as f64 / measured.0 as f64;
    LinkRow {
        link: name.into(),
        of: owner.clone(),
        direction,
        packets: figures.packets,
        bytes: figures.bytes.0,
        copies: figures.copies,
        drops: LinkDrops {
            link_queue_full: figures.refused,
            link_queue_early: figures.early,
            link_policed: figures.policed,
            link_error: figures.lost,
            retry_limit: 0,
        },
        contention: None,
        marks: figures.marked,
        queue_packets: Queued { mean: mean(figures.packet_nanos), max: figures.max_packets },
        queue_bytes: Queued { mean: mean(figures.byte_nanos), max: figures.max_bytes.0 },
        utilisation: None,
    }
}

/// A transfer or page that began.
struct Completion {
    flow: u32,
    began: Time,
    size: Bytes,
    /// Completion time; `None`: not completed.
    at: Option<Time>,
}

impl Completion {
    fn seconds(&self) -> Option<f64> {
        self.at.map(|at| at.since(self.began).as_secs())
    }
}

fn completions_table(completions: &[Completion], rows: &[FlowRow], begin: Time) -> Table {
    if completions.is_empty() {
        return Table::new();
    }
    let row = |each: &Completion| CompletionRow {
        start_s: each.began.since(begin).as_secs(),
        flow: FlowNumber(each.flow),
        size_bytes: each.size.0 as f64,
        fct_s: each.seconds(),
    };
    completions.iter().map(row).collect::<Rows<_>>().table(&ids(rows))
}

fn ids(rows: &[FlowRow]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

fn group_row(group: &Group, rows: &[FlowRow], flows: &[Flow], completions: &[&Completion]) -> GroupRow {
    let mut times: Vec<f64> = completions.iter().filter_map(|each| each.seconds()).collect();
    times.sort_by(f64::total_cmp);
    let started = &flows[group.first as usize..group.end as usize];
    GroupRow {
        group: group.id.clone(),
        kind: group.kind.clone(),
        cc: group.cc.clone(),
        rwnd: group.rwnd.clone(),
        flows: rows.len() as u64,
        started: started.iter().filter(|flow| flow.meter.started.is_some()).count() as u64,
        completed: times.len() as u64,
        unfinished: (completions.len() - times.len()) as u64,
        goodput_kbps: rows.iter().map(|row| row.goodput_kbps).sum(),
        throughput_kbps: rows.iter().map(|row| row.throughput_kbps).sum(),
        delay_ms: percentiles(&group.delay),
        packets_sent: rows.iter().map(|row| row.packets_sent).sum(),
        packets_dropped: rows.iter().map(|row| row.packets_dropped).sum(),
        packets_marked: rows.iter().map(|row| row.packets_marked).sum(),
        retransmissions: rows.iter().map(|row| row.retransmissions).sum(),
        timeouts: rows.iter().map(|row| row.timeouts).sum(),
        fct_s: CompletionTimes::of(&times),
    }
}

fn percentiles(spread: &Spread) -> Percentiles {
    let [p50, p95, p99, p999] = spread.percentiles_ms([50.0, 95.0, 99.0, 99.9]);
    Percentiles { mean: spread.mean_ms(), p50, p95, p99, p999 }
}

impl Flow {
    pub(super) fn row(&self, group: &Group, number: u32, begin: Time, duration: Span) -> FlowRow {
        let meter = &self.meter;
        let real = self.real.as_deref();
        let stats = self.sending().map(Endpoint::stats);
        FlowRow {
            id: group.flow_id(number),
            group: group.id.clone(),
            ue: self.ue,
            kind: real.map_or_else(|| group.kind.clone(), |real| real.protocol.word().into()),
            cc: real.map_or_else(|| group.cc.clone(), |real| real.controls[self.direction as usize].clone()),
            rwnd: group.rwnd.clone(),
            goodput_kbps: kbps(meter.payload, duration),
            throughput_kbps: kbps(meter.received_bytes, duration),
            delay_ms: percentiles(&meter.delay),
            jitter_ms: meter.variation.mean_ms(),
            on_time_percent: meter.on_time_percent(),
            rtt_ms: percentiles(&meter.rtt),
            pdf_percent: meter.has_sent_data.then(|| 100.0 * meter.received as f64 / meter.sent as f64),
            packets_sent: meter.sent,
            packets_received: meter.received,
            packets_dropped: meter.dropped,
            packets_marked: meter.marked,
            retransmissions: match real {
                Some(real) => real.retransmissions[self.direction as usize],
                None => stats.map_or(0, |stats| stats.retransmissions),
            },
            timeouts: stats.map_or(0, |stats| stats.timeouts),
            fast_retransmits: stats.map_or(0, |stats| stats.fast_retransmits),
            duplicate_acks: stats.map_or(0, |stats| stats.duplicate_acks),
            zero_windows: stats.map_or(0, |stats| stats.zero_windows),
            limited_s: self.sending().map(|endpoint| endpoint.limited(begin + duration).into()),
            fct_s: meter.completed.zip(meter.started).map(|(end, start)| end.since(start).as_secs()),
        }
    }
}

/// Figures of the UE with these bearers.
fn ue_row(network: &Ran, bearers: &[BearerRow], end: Time) -> UeRow {
    let ue = UeId(bearers[0].ue);
    let marks =
        |direction| bearers.iter().filter(|row| row.direction == direction).map(|row| row.marks).sum();
    let figures = network.ue_figures(ue);
    let budget = network.link_budget(ue).uplink;
    let blocks = figures.downlink;
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    UeRow {
        ue: ue.0,
        x_m: figures.position.x.0,
        y_m: figures.position.y.0,
        cell: figures.cell.0,
        sinr_db: figures.mean_sinr.map(|sinr| sinr.0),
        rsrp_dbm: figures.rsrp.0,
        mcs: mean(blocks.mcs_sum, blocks.first),
        block_bytes: mean(blocks.bytes_sum, blocks.first),
        blocks: blocks.first,
        bler: mean(blocks.first_failed, blocks.first),
        uplink_bler: mean(figures.uplink.first_failed, figures.uplink.first),
        uplink_blocks: figures.uplink.first,
        uplink_mcs: mean(figures.uplink.mcs_sum, figures.uplink.first),
        uplink_sinr_db: figures.sounding_sinr.map(|sinr| sinr.0),
        uplink_narrow_sinr_db: budget.narrow.0,
        uplink_narrow_prbs: budget.narrowest.0,
        downlink_reach: figures.downlink_reach,
        uplink_reach: figures.uplink_reach,
        handovers: figures.handovers,
        link_failures: figures.failures,
        marks: marks(Direction::Down),
        uplink_marks: marks(Direction::Up),
        awake: network.awake(ue, end),
    }
}

fn cell_row(cell: u16, figures: &airwnd_cell::CellFigures, marked: [u64; 2], ttis: u64) -> CellRow {
    let offered =
        |direction: usize| ttis as f64 * figures.shares[direction] * f64::from(figures.prbs[direction].0);
    let [offered, offered_up] = [0, 1].map(offered);
    let used = figures.downlink_prbs as f64;
    CellRow {
        cell,
        users: figures.users as u64,
        downlink_prb_use: used / offered,
        uplink_prb_use: figures.uplink_prbs as f64 / offered_up,
        // Bits per PRB of 180 kHz and 1 ms.
        spectral_efficiency: (used > 0.0).then(|| figures.downlink_bytes as f64 * 8.0 / (used * 180.0)),
        marks: marked[Direction::Down as usize],
        uplink_marks: marked[Direction::Up as usize],
    }
}

pub(super) fn kbps(bytes: Bytes, span: Span) -> f64 {
    bytes.bits() as f64 / span.as_secs() / 1e3
}
