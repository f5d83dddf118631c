//! A test as text and as JSON.

use super::results::{Measured, Phase, Point, RANKS, RULE, Row};
use super::schedule::Load;
use serde_json::{Value, json};

const COLUMNS: usize = 9;
const HEADINGS: [[&str; COLUMNS]; 2] = [
    ["", "down", "up", "ping p50", "p95", "p99", "lost", "added", "grade"],
    ["", "Mbit/s", "Mbit/s", "ms", "ms", "ms", "%", "ms", ""],
];
const NONE: &str = "-";

/// Returns the table, the figures to quote, and what follows from them.
pub(super) fn text(measured: &Measured) -> String {
    let rows = measured.rows();
    let guard = measured.rwnd.as_ref().map_or("no guard".to_string(), |rwnd| format!("guard: {rwnd}"));
    let [down, up] = &measured.congestion_control;
    let mut lines = vec![format!(
        "{} ({}), flows in each direction: {}, {down} down, {up} up, {guard}",
        measured.server, measured.address, measured.flows
    )];
    lines.extend(table(&rows));
    lines.push(legend(measured));
    lines.push(RULE.to_string());
    lines.push(quote(measured, &rows));
    lines.extend(advice(measured, &rows));
    lines.extend(measured.notes.iter().cloned());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn legend(measured: &Measured) -> String {
    let phase = measured.phases.iter().find(|phase| phase.step.load != Load::Idle);
    let left_out = phase.map_or(0.0, |phase| phase.counted_s - phase.begin_s);
    format!(
        "goodput: of whole phases; ping: UDP, without the first {left_out:.1} s of a load, percentiles by nearest rank"
    )
}

fn table(rows: &[Row]) -> Vec<String> {
    let mut cells: Vec<[String; COLUMNS]> = HEADINGS.map(|heading| heading.map(String::from)).to_vec();
    for row in rows {
        cells.push(line(row));
        if row.step.is_guarded
            && let Some(without) = Measured::row_of(rows, row.step.load, false)
        {
            cells.push(difference(without, row));
        }
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let aligned = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    cells.iter().map(aligned).collect()
}

fn line(row: &Row) -> [String; COLUMNS] {
    let figure =
        |value: Option<f64>, digits: usize| value.map_or(NONE.to_string(), |value| fixed(value, digits));
    let mbps = |kbps: Option<f64>| figure(kbps.map(|kbps| kbps / 1e3), 2);
    let [p50, p95, p99] = row.rtt_ms.map(|rtt_ms| figure(rtt_ms, 1));
    let guarded = if row.step.is_guarded { ", guarded" } else { "" };
    [
        format!("{}{guarded}", row.step.load.word()),
        mbps(row.down_kbps),
        mbps(row.up_kbps),
        p50,
        p95,
        p99,
        figure(row.loss_percent, 1),
        figure(row.added_ms, 1),
        row.grade().unwrap_or(NONE).to_string(),
    ]
}

/// A number without the sign of a zero.
fn fixed(value: f64, digits: usize) -> String {
    without_sign_of_zero(format!("{value:.digits$}"))
}

fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix(['-', '+']) {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_string(),
        _ => text,
    }
}

/// Differences of a row with the guard from that without.
fn difference(without: &Row, with: &Row) -> [String; COLUMNS] {
    let change = |value: &dyn Fn(&Row) -> Option<f64>, digits: usize| match (value(without), value(with)) {
        (Some(without), Some(with)) => without_sign_of_zero(format!("{:+.digits$}", with - without)),
        _ => String::new(),
    };
    [
        "  difference".to_string(),
        change(&|row| Some(row.down_kbps? / 1e3), 2),
        change(&|row| Some(row.up_kbps? / 1e3), 2),
        change(&|row| row.rtt_ms[0], 1),
        change(&|row| row.rtt_ms[1], 1),
        change(&|row| row.rtt_ms[2], 1),
        change(&|row| row.loss_percent, 1),
        String::new(),
        String::new(),
    ]
}

/// The figures in one line.
fn quote(measured: &Measured, rows: &[Row]) -> String {
    let row = |load, is_guarded| Measured::row_of(rows, load, is_guarded);
    let summary = |row: Option<&Row>| {
        let row = row?;
        let mbps = row.down_kbps.or(row.up_kbps)? / 1e3;
        Some(format!("{mbps:.2} Mbit/s at {:.0} ms ({})", row.rtt_ms[0]?, row.grade()?))
    };
    let none = || "not measured".to_string();
    let download = summary(row(Load::Download, false)).unwrap_or_else(none);
    let guarded = measured.rwnd.as_ref().and(summary(row(Load::Download, true)));
    let guarded = guarded.map(|text| format!(" without the guard, {text} with it")).unwrap_or_default();
    let upload = summary(row(Load::Upload, false)).unwrap_or_else(none);
    let idle = row(Load::Idle, false).and_then(|row| row.rtt_ms[0]);
    let idle = idle.map_or_else(none, |ms| format!("{ms:.0} ms"));
    format!("to quote: download {download}{guarded}; upload {upload}; idle {idle} (median ping)")
}

/// Advice for the uploads, which the guard does not change.
fn advice(measured: &Measured, rows: &[Row]) -> Option<String> {
    let upload = Measured::row_of(rows, Load::Upload, false)?;
    let interface = measured.interface.as_deref().unwrap_or("INTERFACE");
    Some(format!(
        "the guard limits windows of downloads only; uploads here: {}; for uploads and other traffic: airwnd guard \
         shape {interface}",
        upload.grade().map_or("no grade".to_string(), |grade| format!("grade {grade}"))
    ))
}

/// Returns all figures, and the samples that they are computed from. Keys are stable.
pub(super) fn to_json(measured: &Measured) -> Value {
    let rows = measured.rows();
    let [down, up] = &measured.congestion_control;
    json!({
        "version": 1,
        "unix_s": measured.unix_s,
        "server": measured.server,
        "address": measured.address,
        "flows": measured.flows,
        "rwnd": measured.rwnd,
        "congestion_control": {"down": down, "up": up},
        "grade_rule": RULE,
        "rows": rows.iter().map(row_json).collect::<Vec<_>>(),
        "notes": measured.notes,
        "phases": measured.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "pings": measured.pings.iter().map(|ping| json!([ping.at_s, ping.rtt_ms])).collect::<Vec<_>>(),
    })
}

pub(super) fn row_json(row: &Row) -> Value {
    let mut object = json!({
        "id": row.id(),
        "load": row.step.load.word(),
        "guarded": row.step.is_guarded,
        "down_goodput_kbps": row.down_kbps,
        "up_goodput_kbps": row.up_kbps,
    });
    for (rank, rtt_ms) in RANKS.into_iter().zip(row.rtt_ms) {
        object[format!("rtt_ms_p{rank}")] = rtt_ms.into();
    }
    object["loss_percent"] = row.loss_percent.into();
    object["added_ms"] = row.added_ms.into();
    object["grade"] = row.grade().into();
    object
}

fn phase_json(phase: &Phase) -> Value {
    let points =
        |points: &[Point]| points.iter().map(|point| json!([point.at_s, point.bytes])).collect::<Vec<_>>();
    json!({
        "load": phase.step.load.word(),
        "guarded": phase.step.is_guarded,
        "begin_s": phase.begin_s,
        "counted_from_s": phase.counted_s,
        "end_s": phase.end_s,
        "down": points(&phase.down),
        "up": points(&phase.up),
        "server_received_bytes": phase.server_received_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::results::tests::example;

    #[test]
    fn the_table_has_the_difference_below_each_guarded_row() {
        let text = text(&example());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..7],
            [
                "test.example (192.0.2.1:9551), flows in each direction: 4, cubic down, cubic up, guard: standing",
                "                     down      up  ping p50     p95     p99  lost  added  grade",
                "                   Mbit/s  Mbit/s        ms      ms      ms     %     ms",
                "idle                    -       -      20.0    20.0    20.0   0.0      -      -",
                "download             9.60       -     420.0   420.0   420.0   1.2  400.0      F",
                "download, guarded    9.40       -      45.0    45.0    45.0   0.0   25.0      A",
                "  difference        -0.20            -375.0  -375.0  -375.0  -1.2",
            ]
        );
        assert!(lines[7].starts_with("upload                  -    4.00      95.0"), "{text}");
        assert!(lines[8].contains("without the first 2.0 s of a load"), "{text}");
        assert_eq!(
            lines[10],
            "to quote: download 9.60 Mbit/s at 420 ms (F) without the guard, 9.40 Mbit/s at 45 ms (A) with it; upload \
             4.00 Mbit/s at 95 ms (C); idle 20 ms (median ping)"
        );
        assert!(
            lines[11]
                .ends_with("uploads here: grade C; for uploads and other traffic: airwnd guard shape wlan0")
        );
        assert_eq!(lines.len(), 12);
    }

    #[test]
    fn without_a_guard_nothing_is_said_of_it_but_why() {
        let mut measured = example();
        measured.rwnd = None;
        measured.phases.retain(|phase| !phase.step.is_guarded);
        measured.notes.push("measured without the guard: no permission".to_string());
        let text = text(&measured);
        assert!(text.contains(", no guard\n") && !text.contains("with it"), "{text}");
        assert!(text.ends_with("measured without the guard: no permission\n"), "{text}");
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!([-0.04, -0.06, 0.0, 2.0].map(|value| fixed(value, 1)), ["0.0", "-0.1", "0.0", "2.0"]);
    }

    #[test]
    fn nothing_measured_is_no_panic() {
        let mut measured = example();
        measured.phases.clear();
        measured.pings.clear();
        assert!(text(&measured).contains("to quote: download not measured"));
        assert_eq!(to_json(&measured)["rows"], json!([]));
    }

    #[test]
    fn the_keys_of_the_object_are_stable() {
        let object = to_json(&example());
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(
            keys(&object),
            "version unix_s server address flows rwnd congestion_control grade_rule rows notes phases pings"
        );
        assert_eq!(
            keys(&object["rows"][2]),
            "id load guarded down_goodput_kbps up_goodput_kbps rtt_ms_p50 rtt_ms_p95 rtt_ms_p99 loss_percent added_ms \
             grade"
        );
        assert_eq!(
            keys(&object["phases"][0]),
            "load guarded begin_s counted_from_s end_s down up server_received_bytes"
        );
        assert_eq!(object["rows"][2]["grade"], "A");
        assert_eq!(object["pings"][200], json!([10.0, null]));
    }
}
