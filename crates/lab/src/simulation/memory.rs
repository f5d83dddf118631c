//! Memory of a run: the initial demand is estimated, growth is monitored.
//!
//! The memory of packets and tables depends on the course of the run. The memory of flows, UEs and their radio links
//! follows from the scenario; the sizes below were measured as resident memory per item (`docs/resources.md`).

use super::{Happening, Page, Simulation};
use crate::results::incidents::Incidents;
use crate::results::outcome::CompletionRow;
use crate::results::records::Records;
use crate::results::series::Series;
use crate::results::table::Rows;
use crate::scenario::{S1U, SERVER, SHAPER, Scenario, X2};
use airwnd_catalog::Error;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Span, Time};

/// A flow whose connection exists from the start: two TCP endpoints and histograms.
const OPEN_FLOW: f64 = 40e3;
/// A dynamic flow: its row, also in JSON and in data frames.
const FLOW: f64 = 3.3e3;
/// A UE: default bearer, HARQ processes, measurements.
const UE: f64 = 40e3;
/// A dedicated bearer of a UE, in acknowledged mode.
const BEARER: f64 = 55e3;
/// A UE's radio link to a cell: gains and fading.
const RADIO_LINK: f64 = 100.0;

/// Memory budget of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Limit; `None`: no limit.
    max: Option<Bytes>,
    /// Memory that does not grow.
    fixed: u64,
    /// Set when the limit is reached: the run ends.
    exhausted: bool,
}

/// A part of the initial memory demand.
struct Need {
    key: String,
    /// Kind and number of the items.
    what: String,
    remedy: String,
    bytes: f64,
}

impl Memory {
    /// Estimates the memory of a run.
    ///
    /// # Errors
    /// An initial demand above the limit.
    pub fn of(scenario: &Scenario, records: &Records) -> Result<Memory, Error> {
        let fixed = fixed(scenario);
        let sum = |needs: &[Need]| needs.iter().map(|need| need.bytes).sum::<f64>();
        let memory = Memory { max: records.memory, fixed: sum(&fixed) as u64, exhausted: false };
        let Some(max) = records.memory else { return Ok(memory) };
        let left = max.0 as f64 - sum(&fixed);
        let needs: Vec<Need> = fixed.into_iter().chain(series(scenario, records, left)).collect();
        if sum(&needs) <= max.0 as f64 {
            return Ok(memory);
        }
        let largest = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes)).expect("the sum is above zero");
        let Need { key, what, remedy, bytes } = largest;
        let message = format!(
            "{what} need about {}, above the memory limit of {}: {remedy}, or raise the limit (--max-memory)",
            size(*bytes),
            size(max.0 as f64)
        );
        Err(Error::new(&scenario.name, None, message).within(key))
    }
}

/// Memory of flows, UEs and radio links.
fn fixed(scenario: &Scenario) -> Vec<Need> {
    let ues: f64 = scenario.ue.iter().map(|group| f64::from(group.count)).sum();
    let links = ues * scenario.radio.max_neighbours(scenario.cells() as usize) as f64;
    let bearers: f64 =
        scenario.ue.iter().map(|group| f64::from(group.count) * group.bearer.len() as f64).sum();
    let mut needs = Vec::new();
    for (place, flow) in scenario.flow.iter().enumerate() {
        let flows = scenario.flows_of(flow);
        let (kind, each) = if flow.is_once() { ("open from the start", OPEN_FLOW) } else { ("in all", FLOW) };
        needs.push(Need {
            key: format!("flow[{place}]"),
            what: format!("{} flows {kind}", count(flows)),
            remedy: "use fewer flows".into(),
            bytes: flows * each,
        });
    }
    if links > 0.0 {
        needs.push(Need {
            key: "ue".into(),
            what: format!("{} UEs with {} radio links to cells", count(ues), count(links)),
            remedy: "use fewer UEs or cells".into(),
            bytes: ues * UE + bearers * BEARER + links * RADIO_LINK,
        });
    }
    needs
}

/// Memory of the time series of flows that exist during the whole run.
fn series(scenario: &Scenario, records: &Records, left: f64) -> Option<Need> {
    let period = records.series?;
    let flows: f64 =
        scenario.flow.iter().filter(|flow| flow.is_once()).map(|flow| scenario.flows_of(flow)).sum();
    let row = Series::row_bytes() as f64;
    let rows = (scenario.duration.0 / period.0.max(1)) as f64 * flows;
    let fit = (left / row / flows).max(1.0);
    Some(Need {
        key: String::new(),
        what: format!("series: {} rows (one every {period} for each of {} flows)", count(rows), count(flows)),
        remedy: format!(
            "sample at intervals of at least {}, or use fewer flows",
            round(scenario.duration.0 as f64 / fit)
        ),
        bytes: rows * row,
    })
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn round(nanos: f64) -> Span {
    let power = libm::pow(10.0, libm::floor(libm::log10(nanos.max(1.0))));
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= nanos).unwrap_or(10.0);
    Span((step * power) as u64)
}

/// Formats a number for messages.
fn count(number: f64) -> String {
    if number < 1e6 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

fn size(bytes: f64) -> String {
    let (value, unit) = if bytes < 1e9 { (bytes / 1e6, "MB") } else { (bytes / 1e9, "GB") };
    if value < 1e4 { format!("{value:.1} {unit}") } else { format!("{value:.1e} {unit}") }
}

impl Simulation<'_> {
    /// Ends the run if it exceeds its memory limit; otherwise limits the number of packets to the remaining memory.
    pub(super) fn watch_memory(&mut self, now: Time) {
        let Some(max) = self.memory.max else { return };
        let each = self.network.packet_bytes() as u64;
        match max.0.checked_sub(self.memory.fixed + self.tables_bytes()) {
            Some(left) if self.network.packets() as u64 <= left / each => {
                self.network.limit_packets(u32::try_from(left / each).unwrap_or(u32::MAX));
            }
            _ => self.exhaust(now),
        }
    }

    /// Schedules the end of the run.
    pub(super) fn exhaust(&mut self, now: Time) {
        if !self.memory.exhausted {
            self.memory.exhausted = true;
            self.queue.schedule(now, Happening::Exhausted);
        }
    }

    /// Memory of the tables that grow.
    fn tables_bytes(&self) -> u64 {
        let series = self.record.as_ref().map_or(0, |record| {
            record.series.len() * Series::row_bytes() + record.incidents.len() * Incidents::row_bytes()
        });
        let page = size_of::<Page>() + Rows::<CompletionRow>::row_bytes();
        let allocations = self.network.ran().map_or(0, |ran| ran.allocations_bytes());
        (series + self.pages.len() * page + allocations) as u64
    }

    /// Error of a run that reached its limit; names the largest consumer of memory.
    pub(super) fn exhaustion(&self, now: Time) -> Error {
        let max = self.memory.max.expect("there is a limit").0 as f64;
        let packets = self.network.packets();
        let (tables, held) = (self.tables_bytes() as f64, (packets * self.network.packet_bytes()) as f64);
        let why = if tables > held {
            let remedy = "record less: a longer period, a shorter run, fewer flows";
            format!("tables of {}: {remedy}", size(tables))
        } else {
            format!("{} packets in the network{}", count(packets as f64), self.crowd())
        };
        let at = now.since(self.begin).as_secs();
        let message = format!(
            "the memory limit of {} was reached after {at:.3} s: {why}, or raise the limit (--max-memory)",
            size(max)
        );
        Error::new(&self.scenario.name, None, message)
    }

    /// Names the flow with most packets in the network and the link with most packets, and a remedy.
    fn crowd(&self) -> String {
        let flow = (0..self.flows.len()).max_by_key(|number| self.flows[*number].on_way).map(|number| {
            let flow = &self.flows[number];
            let group = &self.groups[flow.group as usize];
            format!(
                ", {} of flow `{}-{}`",
                count(f64::from(flow.on_way)),
                group.id,
                number as u32 - group.first
            )
        });
        let place = self.network.fullest_link().map(|(id, direction, packets)| {
            let link = self.network.link(id);
            let name = &link.name;
            let key = match name.as_str() {
                SERVER => "core.server_queue",
                S1U => "core.s1u_queue",
                X2 => "core.x2_queue",
                SHAPER => "ue.shaper.aqm",
                _ => "its `queue`",
            };
            let word = if direction == Direction::Down { "down" } else { "up" };
            format!(", {} of them on link `{name}` ({word}): limit {key}", count(packets as f64))
        });
        format!("{}{}, lower the sending rate", flow.unwrap_or_default(), place.unwrap_or_default())
    }
}
