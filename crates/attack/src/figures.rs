//! Invariants of the results of every run.

use airwnd_kernel::Direction;
use airwnd_lab::columns::{Cell, ColumnInfo, Row};
use airwnd_lab::{BearerDrops, Column, Drops, LinkRow, Outcome, Percentiles, Scenario, Table, tables};
use airwnd_phy::access::Spec;
use airwnd_phy::tables::McsTable;
use serde_json::Value as Json;

/// Relative tolerance for sums of rounded numbers.
const ROUNDING: f64 = 1e-9;

/// Checks all figures and tables of a run.
///
/// # Errors
/// An impossible figure.
pub fn check(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    rows("flows", outcome.flows())?;
    rows("groups", outcome.groups())?;
    rows("ues", outcome.ues())?;
    rows("cells", outcome.cells())?;
    rows("links", outcome.links())?;
    rows("bearers", outcome.bearers())?;
    rows("totals", &[outcome.totals()])?;
    flows(scenario, outcome)?;
    totals(scenario, outcome)?;
    links(scenario, outcome)?;
    bearers(outcome)?;
    conservation(&outcome.to_json())?;
    let long = [
        ("series", outcome.series()),
        ("events", outcome.events()),
        ("allocations", outcome.allocations()),
        ("completions", outcome.completions()),
    ];
    long.into_iter().try_for_each(|(name, columns)| table(name, columns))
}

/// Fails with `text` unless the condition holds.
fn holds(is_so: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(text()) }
}

/// Checks that a number is finite, within its column's range, and not negative zero.
fn number(table: &str, column: &ColumnInfo, value: f64) -> Result<(), String> {
    let is_sound =
        value.is_finite() && column.range.contains(&value) && (value != 0.0 || value.is_sign_positive());
    holds(is_sound, || format!("{table}.{} = {value:?} is outside {:?}", column.name, column.range))
}

fn rows<R: Row>(name: &str, rows: &[R]) -> Result<(), String> {
    let columns = R::columns();
    rows.iter().try_for_each(|row| {
        let (mut column, mut result) = (columns.iter(), Ok(()));
        R::cells(Some(row), &mut |cell| {
            let column = column.next().expect("a cell for each column");
            if let (Cell::Number(value), Ok(())) = (cell, &result) {
                result = number(name, column, value);
            }
        });
        result
    })
}

/// Checks a table: all columns have equal length; NaN is a missing value.
fn table(name: &str, table: &Table) -> Result<(), String> {
    let declared =
        tables().into_iter().find(|info| info.name == name).map(|info| info.columns).unwrap_or_default();
    let length = |column: &Column| match column {
        Column::F64(values) => values.len(),
        Column::U32(values) | Column::Words(values, _) => values.len(),
    };
    let rows = table.first().map_or(0, |(_, column)| length(column));
    for (key, column) in table {
        holds(length(column) == rows, || format!("{name}.{key} has {} rows, not {rows}", length(column)))?;
        let info = declared.iter().find(|info| info.name == *key);
        let info = info.ok_or_else(|| format!("{name}.{key} is not declared"))?;
        if let Column::F64(values) = column {
            values.iter().filter(|value| !value.is_nan()).try_for_each(|value| number(name, info, *value))?;
        }
    }
    Ok(())
}

fn percentiles(id: &str, spread: Percentiles) -> Result<(), String> {
    let values = [spread.mean, spread.p50, spread.p95, spread.p99, spread.p999];
    let all_or_none = values.iter().all(Option::is_some) || values.iter().all(Option::is_none);
    let ordered = spread.p50 <= spread.p95 && spread.p95 <= spread.p99 && spread.p99 <= spread.p999;
    holds(all_or_none && ordered, || format!("{id}: {spread:?}"))
}

fn flows(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    let seconds = scenario.duration().as_secs();
    for flow in outcome.flows() {
        let say = |what: &str| format!("{what}: {flow:?}");
        percentiles(&flow.id, flow.delay_ms)?;
        percentiles(&flow.id, flow.rtt_ms)?;
        holds(flow.packets_received + flow.packets_dropped <= flow.packets_sent, || {
            say("more than was sent")
        })?;
        holds(flow.goodput_kbps <= flow.throughput_kbps, || say("goodput above throughput"))?;
        holds(flow.fct_s.is_none_or(|time| time <= seconds), || say("completed after the end"))?;
    }
    for group in outcome.groups() {
        percentiles(&group.group, group.delay_ms)?;
        let of_group = || outcome.flows().iter().filter(|flow| flow.group == group.group);
        let sum: f64 = of_group().map(|flow| flow.goodput_kbps).sum();
        let close = (sum - group.goodput_kbps).abs() <= ROUNDING * sum;
        holds(close, || format!("{}: goodput {} of flows with {sum}", group.group, group.goodput_kbps))?;
        let dropped: u64 = of_group().map(|flow| flow.packets_dropped).sum();
        let is_sum = dropped == group.packets_dropped && group.started <= group.flows;
        holds(is_sum, || format!("{dropped} packets dropped of {group:?}"))?;
    }
    Ok(())
}

fn totals(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    let totals = outcome.totals();
    let say = |what: &str| format!("{what}: {totals:?}");
    holds(totals.jain.is_none_or(|jain| jain > 0.0), || say("Jain's index is 0"))?;
    holds(totals.goodput_kbps <= totals.throughput_kbps, || say("goodput above throughput"))?;
    let sum: f64 = outcome.groups().iter().map(|group| group.goodput_kbps).sum();
    holds((sum - totals.goodput_kbps).abs() <= ROUNDING * sum, || say("not the sum of the groups"))?;
    // LTE's I_TBS 26 and 33 carry at most 55056 bits on 73 PRBs and 59256 on 59 (TS 36.213 Table 7.1.7.2.1-1; on two layers
    // 110136 and 119816). NR's MCS 27 of 256QAM carries 7.4063 bits on each of at most 156 resource elements (TS 38.214
    // §5.1.3.2), up to the steps of block sizes.
    let (max, mimo) = match &scenario.radio.access {
        Spec::Lte(lte) => (if lte.mcs_table == McsTable::Qam64 { 4.2 } else { 5.65 }, &lte.mimo),
        Spec::Nr(nr) => (6.5, &nr.mimo),
    };
    let max = max * f64::from(mimo.as_ref().map_or(1, |mimo| mimo.max_layers()));
    for cell in outcome.cells() {
        holds(cell.spectral_efficiency.is_none_or(|bits| bits <= max), || format!("{cell:?}"))?;
    }
    Ok(())
}

fn links(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    let written = scenario.to_json();
    for link in outcome.links() {
        let say = |what: &str| format!("{what}: {link:?}");
        holds(link.queue_packets.mean <= link.queue_packets.max as f64, || say("mean above maximum"))?;
        holds(link.queue_bytes.mean <= link.queue_bytes.max as f64, || say("mean above maximum"))?;
        let mut entries = written["link"].as_array().into_iter().flatten();
        match entries.find(|entry| entry["name"] == link.link.as_str()) {
            // Each station of a medium has its own queue.
            Some(entry) if entry["kind"] != "wifi" => limits(entry, link).map_err(|what| say(&what))?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks that a queue does not exceed its limits.
fn limits(written: &Json, link: &LinkRow) -> Result<(), String> {
    let bytes = |text: &Json| {
        text.as_str().and_then(|text| text.parse::<airwnd_units::Bytes>().ok()).map(|max| max.0)
    };
    let shaper = match link.direction {
        Direction::Down => "tbf",
        Direction::Up => "tbf_up",
    };
    // It takes the place of the link's own limits.
    if let Some(max) = bytes(&written[shaper]["limit"]) {
        return holds(link.queue_bytes.max <= max, || format!("more than {max} bytes"));
    }
    let keys_up = ["queue_up", "queue_bytes_up", "aqm_up"];
    let is_separate = keys_up.iter().any(|key| !written[key].is_null());
    let (packets, size) = match link.direction {
        Direction::Up if is_separate => ("queue_up", "queue_bytes_up"),
        _ => ("queue", "queue_bytes"),
    };
    if let Some(max) = written[packets].as_u64() {
        holds(link.queue_packets.max <= max, || format!("more than {max} packets"))?;
    }
    if let Some(max) = bytes(&written[size]) {
        holds(link.queue_bytes.max <= max, || format!("more than {max} bytes"))?;
    }
    Ok(())
}

/// Checks that the drops and marks of bearers are those of the run, its UEs and its cells.
fn bearers(outcome: &Outcome) -> Result<(), String> {
    let drops = outcome.totals().drops;
    let sum =
        |count: fn(&BearerDrops) -> u64| outcome.bearers().iter().map(|row| count(&row.drops)).sum::<u64>();
    let of_bearers = Drops {
        rlc_queue_full: sum(|drops| drops.rlc_queue_full),
        rlc_queue_early: sum(|drops| drops.rlc_queue_early),
        pdcp_discard: sum(|drops| drops.pdcp_discard),
        radio_loss: sum(|drops| drops.radio_loss),
        handover: sum(|drops| drops.handover),
        radio_link_failure: sum(|drops| drops.radio_link_failure),
        ..drops
    };
    holds(of_bearers == drops, || format!("bearers dropped {of_bearers:?} of {drops:?}"))?;
    for direction in Direction::BOTH {
        let way = direction as usize;
        let rows = outcome.bearers().iter().filter(|row| row.direction == direction);
        let marks: u64 = rows.map(|row| row.marks).sum();
        let ues = outcome.ues().iter().map(|ue| [ue.marks, ue.uplink_marks][way]);
        let cells = outcome.cells().iter().map(|cell| [cell.marks, cell.uplink_marks][way]);
        let (of_ues, of_cells): (u64, u64) = (ues.sum(), cells.sum());
        let is_sum = marks == of_ues && marks == of_cells;
        holds(is_sum, || format!("{marks} marks by bearers, {of_ues} by UEs, {of_cells} by cells"))?;
    }
    Ok(())
}

fn conservation(outcome: &Json) -> Result<(), String> {
    let count = |key: &str| outcome["conservation"][key].as_u64().unwrap_or(0);
    let dropped: u64 = outcome["conservation"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("dropped_bytes"))
        .filter_map(|(_, bytes)| bytes.as_u64())
        .sum();
    let entered = count("offered_bytes") + count("copied_bytes");
    let sum = count("delivered_bytes") + dropped + count("inside_bytes");
    holds(entered == sum, || format!("{entered} bytes were offered or copied, {sum} are accounted for"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Node;
    use airwnd_lab::run;
    use serde_json::json;

    /// A scenario of one upload, checked, and the row of its link upwards.
    fn upload(duration: &str, link: Json) -> (Scenario, LinkRow) {
        let text = json!({"duration": duration, "link": [link], "ue": [{}], "flow": [{"direction": "up"}]});
        let scenario = Scenario::from_node(&Node::from_json(&text.to_string(), "test").unwrap()).unwrap();
        let outcome = run(&scenario, 1, None, &mut |_| true).unwrap();
        check(&scenario, &outcome).unwrap();
        let is_shaped = |row: &&LinkRow| row.link == "link" && row.direction == Direction::Up;
        let up = outcome.links().iter().find(is_shaped).unwrap().clone();
        (scenario, up)
    }

    #[test]
    fn the_limit_of_a_tbf_takes_the_place_of_the_links() {
        // Scenario 97924 of a hundred thousand.
        let (scenario, up) = upload(
            "68ms",
            json!({
                "kind": "trace", "queue": 1, "down": "norway-bus-1", "format": "rate",
                "tbf_up": {"rate": "1981588bps", "burst": "5463540215B", "limit": "190872B"},
            }),
        );
        let mut written = scenario.to_json()["link"][0].clone();
        assert!(up.queue_packets.max > 1, "{up:?}");
        assert_eq!(limits(&written, &up), Ok(()), "{written}");
        written["tbf_up"]["limit"] = "1500B".into();
        assert_eq!(limits(&written, &up).unwrap_err(), "more than 1500 bytes");
        written["tbf_up"]["limit"] = Json::Null;
        assert_eq!(limits(&written, &up).unwrap_err(), "more than 1 packets");
    }

    #[test]
    fn the_limit_of_a_tbf_takes_the_place_of_a_discipline() {
        // Scenario 2060 of a hundred thousand, with more room.
        let tbf = json!({"rate": "1Mbps", "burst": "1930B", "limit": "20kB"});
        let (_, up) = upload("5s", json!({"aqm": "pie", "rate": "20Mbps", "tbf_up": tbf}));
        assert!((17_000..=20_000).contains(&up.queue_bytes.max), "{up:?}");
        assert_eq!(up.drops.link_queue_early, 0, "{up:?}");
    }
}
