//! The state of a guard as a table.

use serde_json::Value;

const HEADINGS: [&str; 8] =
    ["receiver", "sender", "Mbit/s", "RTT ms", "RTTmin ms", "window B", "in force B", "untouched"];

/// Returns one line per flow below a line per place.
pub(crate) fn table(process: &str, state: &Value) -> String {
    let mut lines = Vec::new();
    for place in list(&state["places"]) {
        let flows = list(&place["flows"]);
        let name = place["place"].as_str().unwrap_or_default();
        lines.push(format!("guard {process}, {name}: {} flows", flows.len()));
        let mut rows: Vec<[String; 8]> = flows.iter().map(row).collect();
        if rows.is_empty() {
            continue;
        }
        rows.insert(0, HEADINGS.map(String::from));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
        let widths: [usize; 8] = std::array::from_fn(width);
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            lines.push(cells.join("  ").trim_end().to_string());
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn row(flow: &Value) -> [String; 8] {
    let text = |key: &str| flow[key].as_str().unwrap_or("-").to_string();
    let number = |key: &str, unit: f64| match flow[key].as_f64() {
        Some(value) => format!("{:.1}", value / unit),
        None => "-".to_string(),
    };
    let whole = |key: &str| flow[key].as_u64().map_or("-".to_string(), |value| value.to_string());
    [
        text("receiver"),
        text("sender"),
        number("rate_kbps", 1000.0),
        number("rtt_ms", 1.0),
        number("rtt_ms_min", 1.0),
        whole("window_bytes"),
        whole("clamp_bytes"),
        text("untouched"),
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
            }]},
            {"place": "forward lan", "flows": []},
        ]});
        let expected = "\
guard 7, receiver: 1 flows
receiver        sender            Mbit/s  RTT ms  RTTmin ms  window B  in force B  untouched
192.0.2.1:4000  198.51.100.1:443  9.7     30.0    20.3       37000     -           -
guard 7, forward lan: 0 flows
";
        assert_eq!(table("7", &state), expected);
    }
}
