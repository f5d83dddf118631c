//! Recorded downlink transmissions match the results.

use airwnd_catalog::Node;
use airwnd_lab::{Column, Outcome, Records, Scenario, Table, run, run_tapped};
use airwnd_units::Span;
use std::ops::Range;

/// Two sites of three sectors with failed blocks and lost downlink assignments.
const SECTORS: &str = r#"
preset = "airwnd-0.1"
duration = "1s"
radio.amc = {kind = "piro-ew2010", ber = 0.01}
[[site]]
sectors = 3
antenna = "parabolic"
[[site]]
position = ["600m", "0m"]
sectors = 3
azimuth = "60deg"
antenna = "parabolic"
[[ue]]
count = 30
placement = {kind = "disc", radius = "600m"}
[[flow]]
"#;

fn scenario(toml: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap()
}

fn record(toml: &str, window: Range<Span>) -> Result<Outcome, String> {
    let records = Records { allocations: Some(window), ..Records::default() };
    run_tapped(&scenario(toml), 1, &records, None, &mut |_| true).map_err(|error| error.to_string())
}

/// The last TTI of a run begins at its end.
fn whole_run() -> Outcome {
    record(SECTORS, Span::ZERO..Span::from_secs(2)).unwrap()
}

/// A transmission: time, cell, UE, RBGs, transmission number, MCS, bytes and reception.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    time_s: f64,
    cell: u32,
    ue: u32,
    rbgs: u32,
    transmission: u32,
    mcs: u32,
    bytes: u32,
    reception: String,
}

fn rows(table: &Table) -> Vec<Row> {
    let column = |name: &str| &table.iter().find(|(column, _)| column == name).unwrap().1;
    let whole = |name: &str| match column(name) {
        Column::U32(values) => values.clone(),
        other => panic!("{name} is {other:?}"),
    };
    let (Column::F64(times), Column::Words(places, words)) = (column("time_s"), column("reception")) else {
        panic!("times are numbers and receptions words")
    };
    let names = ["cell", "ue", "rbgs", "transmission", "mcs", "bytes"].map(whole);
    (0..times.len())
        .map(|row| {
            let [cell, ue, rbgs, transmission, mcs, bytes] =
                [0, 1, 2, 3, 4, 5].map(|name: usize| names[name][row]);
            let reception = words[places[row] as usize].clone();
            Row { time_s: times[row], cell, ue, rbgs, transmission, mcs, bytes, reception }
        })
        .collect()
}

#[test]
fn transmissions_add_up_to_the_results() {
    let outcome = whole_run();
    let rows = rows(outcome.allocations());
    for (number, ue) in (0..).zip(outcome.ues()) {
        let first = rows.iter().filter(|row| row.ue == number && row.transmission == 1);
        // The UE does not count a block if it lost the assignment.
        let assigned: Vec<&Row> = first.filter(|row| row.reception != "assignment-lost").collect();
        assert_eq!(assigned.len() as u64, ue.blocks, "UE {number}");
        let part = |sum: f64| sum / assigned.len() as f64;
        let failed = assigned.iter().filter(|row| row.reception == "failed").count();
        assert!((ue.bler.unwrap() - part(failed as f64)).abs() < 1e-12, "UE {number}");
        assert!((ue.mcs.unwrap() - part(assigned.iter().map(|row| f64::from(row.mcs)).sum())).abs() < 1e-9);
        assert!(
            (ue.block_bytes.unwrap() - part(assigned.iter().map(|row| f64::from(row.bytes)).sum())).abs()
                < 1e-6
        );
        assert!(rows.iter().filter(|row| row.ue == number).all(|row| row.cell == u32::from(ue.cell)));
    }
    for (number, cell) in (0..).zip(outcome.cells()) {
        // RBGs of 3 PRBs on a carrier of 50 PRBs, over 1000 TTIs.
        let groups: u32 = rows.iter().filter(|row| row.cell == number).map(|row| row.rbgs.count_ones()).sum();
        assert!((cell.downlink_prb_use - f64::from(3 * groups) / 50_000.0).abs() < 1e-12, "cell {number}");
    }
    for reception in ["decoded", "failed", "assignment-lost"] {
        assert!(rows.iter().any(|row| row.reception == reception), "the scenario has none {reception}");
    }
}

#[test]
fn an_rbg_is_used_once_per_tti() {
    let rows = rows(whole_run().allocations());
    let together = |a: &&Row, b: &&Row| a.time_s == b.time_s && a.cell == b.cell;
    let (mut used, mut before) = (0, None::<&Row>);
    for row in &rows {
        used = if before.is_some_and(|before| together(&before, &row)) { used } else { 0 };
        assert_eq!(used & row.rbgs, 0, "{row:?}");
        used |= row.rbgs;
        before = Some(row);
    }
    assert!(rows.iter().all(|row| row.rbgs != 0 && row.rbgs < 1 << 16), "there are 16 groups");
    assert!(rows.is_sorted_by_key(|row| (row.time_s, row.cell)));
}

#[test]
fn retransmissions_follow_failures() {
    // A retransmission follows a failure after 7 ms, or later if there is no free RBG.
    let rows = rows(whole_run().allocations());
    let again: Vec<&Row> = rows.iter().filter(|row| row.transmission > 1 && row.time_s > 0.1).collect();
    assert!(again.len() > 20);
    for row in again {
        let first = rows.iter().any(|other| {
            let same = (other.ue, other.mcs, other.bytes, other.transmission + 1)
                == (row.ue, row.mcs, row.bytes, row.transmission);
            same && other.reception == "failed" && row.time_s - other.time_s > 0.007 - 1e-9
        });
        assert!(first, "{row:?}");
    }
}

/// LTE repeats a block 8 TTIs later, ns-3 and with it the presets 7 TTIs later (TS 36.213 §8 and §10.1).
#[test]
fn a_retransmission_follows_after_the_round_trip_of_harq() {
    let failing = SECTORS.replace("preset = \"airwnd-0.1\"", "");
    let shorter = format!("compat = \"ns3.44\"\n{failing}");
    let mut cases = vec![(failing, 8), (shorter, 7)];
    let presets = ["airwnd-0.1", "ns3.26", "ns3.44"];
    cases.extend(presets.map(|preset| (SECTORS.replace("airwnd-0.1", preset), 7)));
    for (toml, ttis) in cases {
        let rows = rows(record(&toml, Span::ZERO..Span::from_secs(2)).unwrap().allocations());
        let again: Vec<&Row> = rows.iter().filter(|row| row.transmission == 2 && row.time_s > 0.1).collect();
        let after = |ttis: u64| {
            let follows = |row: &&&Row| {
                rows.iter().any(|first| {
                    (first.ue, first.mcs, first.bytes, first.transmission) == (row.ue, row.mcs, row.bytes, 1)
                        && first.reception == "failed"
                        && ((row.time_s - first.time_s) * 1e3).round() == ttis as f64
                })
            };
            again.iter().filter(follows).count() as f64 / again.len() as f64
        };
        // Blocks of the same size often fail in TTIs that follow each other.
        let (found, other) = (after(ttis), after(15 - ttis));
        assert!(again.len() > 20 && found > 0.9 && other < 0.8, "{ttis} TTIs: {found} {other} {toml}");
    }
}

#[test]
fn a_window_selects_transmissions_that_begin_in_it() {
    let window = Span::from_millis(250)..Span::from_millis(300);
    let part = rows(record(SECTORS, window).unwrap().allocations());
    let mut whole = rows(whole_run().allocations());
    whole.retain(|row| (0.25 - 1e-9..0.3 - 1e-9).contains(&row.time_s));
    assert_eq!(part, whole);
    assert!(part.len() > 50);
}

#[test]
fn recording_does_not_change_results() {
    let plain = run(&scenario(SECTORS), 1, None, &mut |_| true).unwrap();
    assert!(plain.allocations().is_empty());
    assert_eq!(plain.to_json(), whole_run().to_json());
}

#[test]
fn invalid_windows_are_rejected() {
    let millis = Span::from_millis;
    for (toml, window, message) in [
        (SECTORS, millis(5)..millis(5), "the window begins at 5ms, not before its end at 5ms"),
        (SECTORS, millis(2000)..millis(3000), "the window begins at 2s, but the run ends at 1s"),
        (
            "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]\n",
            millis(1)..millis(2),
            "links have no resource blocks; add a [[site]]",
        ),
    ] {
        let error = record(toml, window).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
