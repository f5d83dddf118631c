//! The state of a guard as a table.

use crate::processes::PROCESS;
use serde_json::Value;

const COLUMNS: usize = 9;
const BETWEEN: &str = "  ";
const HEADINGS: [&str; COLUMNS] =
    ["process", "receiver", "sender", "Mbit/s", "RTT ms", "RTTmin ms", "window B", "in force B", "untouched"];

/// The column that a narrow table leaves out: this machine's end of the flows.
const RECEIVER: usize = 1;

/// Returns one line per flow below a line per place, with the number of flows that are not shown.
pub fn table(process: &str, state: &Value) -> String {
    lines(process, state, None).iter().map(|line| format!("{line}\n")).collect()
}

/// The lines of a table; one that is wider than `width` has no receivers.
pub(crate) fn lines(process: &str, state: &Value, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(interface) = state["shape"]["interface"].as_str() {
        lines.push(shape(process, interface, &state["shape"]));
    }
    for place in list(&state["places"]) {
        let flows = list(&place["flows"]);
        lines.push(title(process, place));
        let mut rows: Vec<[String; COLUMNS]> = flows.iter().map(row).collect();
        if rows.is_empty() {
            continue;
        }
        rows.insert(0, HEADINGS.map(String::from));
        let length = |row: &[String; COLUMNS], column: usize| row[column].chars().count();
        let widest = |column: usize| rows.iter().map(|row| length(row, column)).max().unwrap_or_default();
        let widths: [usize; COLUMNS] = std::array::from_fn(widest);
        let whole = widths.iter().sum::<usize>() + BETWEEN.len() * (COLUMNS - 1);
        let is_narrow = width.is_some_and(|width| whole > width);
        for row in &rows {
            let shown = row.iter().zip(widths).enumerate();
            let shown = shown.filter(|(column, _)| !is_narrow || *column != RECEIVER);
            let cells: Vec<String> = shown.map(|(_, (cell, width))| format!("{cell:<width$}")).collect();
            lines.push(cells.join(BETWEEN).trim_end().to_string());
        }
        let others = (total(place, "flows") as usize).saturating_sub(flows.len());
        if others > 0 {
            lines.push(format!("and {} with a lower rate; --all shows all", count(others, "flow")));
        }
    }
    lines
}

/// The heading of a place: its totals.
fn title(process: &str, place: &Value) -> String {
    let name = place["place"].as_str().unwrap_or_default();
    let flows = count(total(place, "flows") as usize, "flow");
    let (controlled, mbps) = (total(place, "controlled"), total(place, "rate_kbps") / 1e3);
    format!("guard {process}, {name}: {flows}, {controlled} controlled, {mbps:.1} Mbit/s")
}

/// The shapers of an interface: both rates, loads and queues.
fn shape(process: &str, interface: &str, state: &Value) -> String {
    let way = |way: &str| {
        let shaper = &state[way];
        let (rate, load) = (number(shaper, "rate_kbps", 1e3), number(shaper, "load_kbps", 1e3));
        let (queue, phase) = (number(shaper, "queue_ms", 1.0), text(shaper, "phase"));
        format!("{way} {rate} Mbit/s (passes {load}, queue {queue} ms, {phase})")
    };
    let (qdisc, flows) = (text(state, "qdisc"), count(total_of(state), "flow"));
    format!("guard {process}, shape {interface} by {qdisc}: {}, {}, {flows}", way("down"), way("up"))
}

fn total_of(state: &Value) -> usize {
    state["flows"].as_u64().unwrap_or_default() as usize
}

fn total(place: &Value, key: &str) -> f64 {
    place["total"][key].as_f64().unwrap_or_default()
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The elements of an array; of anything else none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text of a flow; `-`: unknown.
fn text(flow: &Value, key: &str) -> String {
    flow[key].as_str().unwrap_or("-").to_string()
}

/// A number of a flow in a unit, with one decimal; `-`: unknown.
fn number(flow: &Value, key: &str, unit: f64) -> String {
    flow[key].as_f64().map_or("-".to_string(), |value| format!("{:.1}", value / unit))
}

fn row(flow: &Value) -> [String; COLUMNS] {
    let whole = |key: &str| flow[key].as_u64().map_or("-".to_string(), |value| value.to_string());
    [
        text(flow, PROCESS),
        text(flow, "receiver"),
        text(flow, "sender"),
        number(flow, "rate_kbps", 1000.0),
        number(flow, "rtt_ms", 1.0),
        number(flow, "rtt_ms_min", 1.0),
        whole("window_bytes"),
        whole("clamp_bytes"),
        text(flow, "untouched"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_aligned_and_unknown_values_dashes() {
        let state = json!({"places": [
            {"place": "receiver", "total": {"flows": 3, "controlled": 2, "rate_kbps": 9700.0}, "flows": [{
                "receiver": "192.0.2.1:4000", "sender": "198.51.100.1:443", "rate_kbps": 9650.0, "rtt_ms": 30.04,
                "rtt_ms_min": 20.3, "window_bytes": 37000, "clamp_bytes": null, "untouched": null,
                "process": "curl 5",
            }]},
            {"place": "forward lan", "total": {"flows": 0, "controlled": 0, "rate_kbps": 0.0}, "flows": []},
        ]});
        let expected = "\
guard 7, receiver: 3 flows, 2 controlled, 9.7 Mbit/s
process  receiver        sender            Mbit/s  RTT ms  RTTmin ms  window B  in force B  untouched
curl 5   192.0.2.1:4000  198.51.100.1:443  9.7     30.0    20.3       37000     -           -
and 2 flows with a lower rate; --all shows all
guard 7, forward lan: 0 flows, 0 controlled, 0.0 Mbit/s
";
        assert_eq!(table("7", &state), expected);
    }
}
