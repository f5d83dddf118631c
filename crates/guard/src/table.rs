//! The state of a guard as a table.

use crate::processes::PROCESS;
use serde_json::Value;

const COLUMNS: usize = 9;
const HEADINGS: [&str; COLUMNS] =
    ["process", "receiver", "sender", "Mbit/s", "RTT ms", "RTTmin ms", "window B", "in force B", "untouched"];

/// Returns one line per flow below a line per place.
pub fn table(process: &str, state: &Value) -> String {
    let mut lines = Vec::new();
    for place in list(&state["places"]) {
        let flows = list(&place["flows"]);
        let name = place["place"].as_str().unwrap_or_default();
        lines.push(format!("guard {process}, {name}: {} flows", flows.len()));
        let mut rows: Vec<[String; COLUMNS]> = flows.iter().map(row).collect();
        if rows.is_empty() {
            continue;
        }
        rows.insert(0, HEADINGS.map(String::from));
        let length = |row: &[String; COLUMNS], column: usize| row[column].chars().count();
        let width = |column: usize| rows.iter().map(|row| length(row, column)).max().unwrap_or_default();
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            lines.push(cells.join("  ").trim_end().to_string());
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The elements of an array; of anything else none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text of a flow; `-`: unknown.
pub(crate) fn text(flow: &Value, key: &str) -> String {
    flow[key].as_str().unwrap_or("-").to_string()
}

/// A number of a flow in a unit, with one decimal; `-`: unknown.
pub(crate) fn number(flow: &Value, key: &str, unit: f64) -> String {
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
            {"place": "receiver", "flows": [{
                "receiver": "192.0.2.1:4000", "sender": "198.51.100.1:443", "rate_kbps": 9650.0, "rtt_ms": 30.04,
                "rtt_ms_min": 20.3, "window_bytes": 37000, "clamp_bytes": null, "untouched": null,
                "process": "curl 5",
            }]},
            {"place": "forward lan", "flows": []},
        ]});
        let expected = "\
guard 7, receiver: 1 flows
process  receiver        sender            Mbit/s  RTT ms  RTTmin ms  window B  in force B  untouched
curl 5   192.0.2.1:4000  198.51.100.1:443  9.7     30.0    20.3       37000     -           -
guard 7, forward lan: 0 flows
";
        assert_eq!(table("7", &state), expected);
    }
}
