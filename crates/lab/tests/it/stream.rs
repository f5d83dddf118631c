//! Records of a session that are taken while it lasts.

use airwnd_catalog::Node;
use airwnd_lab::{Column, Outcome, Records, Scenario, Session, Table, run_tapped};
use airwnd_units::{Bytes, Span};
use std::collections::BTreeMap;

const SCENARIO: &str = r#"
duration = "2s"
warmup = "300ms"
rlc.queue = {kind = "drop-tail", buffer = "20kB"}
[[site]]
sectors = 3
[[ue]]
count = 4
placement = {kind = "disc", radius = "600m"}
mobility = {kind = "constant-velocity", speed = "10m/s"}
[[flow]]
id = "bulk"
cc = "cubic"
[[flow]]
id = "game"
traffic = {kind = "cbr", rate = "50kbps", packet = "100B"}
"#;

fn scenario(toml: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap()
}

fn records() -> Records {
    let allocations = Some(Span::ZERO..Span::from_secs(2));
    Records { series: Some(Span::from_millis(20)), allocations, ..Records::default() }
}

/// Figures as text.
fn figures(outcome: &Outcome) -> String {
    outcome.to_json().to_string()
}

/// Values of a table by column, as text: missing values are NaN, which are equal as text only.
type Texts = BTreeMap<String, Vec<String>>;

fn append(texts: &mut Texts, table: &Table) {
    for (name, column) in table {
        let values: Vec<String> = match column {
            Column::F64(values) => values.iter().map(f64::to_string).collect(),
            Column::U32(values) => values.iter().map(u32::to_string).collect(),
            Column::Words(places, words) => {
                places.iter().map(|at| words.get(*at as usize).cloned().unwrap_or_default()).collect()
            }
        };
        texts.entry(name.clone()).or_default().extend(values);
    }
}

#[test]
fn rows_that_are_taken_are_those_of_a_run() {
    let scenario = scenario(SCENARIO);
    let whole = run_tapped(&scenario, 1, &records(), None, &mut |_| true).unwrap();
    let tables = [whole.series(), whole.events(), whole.allocations()];
    let expected = tables.map(|table| {
        let mut texts = Texts::new();
        append(&mut texts, table);
        assert!(texts["time_s"].len() > 3);
        texts
    });
    for step in [Span(777_777), Span::from_millis(1), Span::from_millis(33), Span::from_secs(9)] {
        let mut session = Session::streaming(scenario.clone(), 1, &records(), None).unwrap();
        let mut taken = [const { Texts::new() }; 3];
        while session.now() < session.end() {
            session.advance(session.end().min(session.now() + step)).unwrap();
            let tables = [session.take_series(), session.take_events(), session.take_allocations()];
            taken.iter_mut().zip(&tables).for_each(|(texts, table)| append(texts, table));
        }
        assert!(taken == expected, "{step}: other tables");
        assert_eq!(figures(&session.finish()), figures(&whole), "{step}");
    }
}

#[test]
fn the_state_of_cells_and_ues_is_that_of_the_present() {
    let mut session = Session::streaming(scenario(SCENARIO), 1, &records(), None).unwrap();
    session.advance(session.begin() + Span::from_millis(1000)).unwrap();
    assert_eq!(session.tti(), Some(Span::from_millis(1)));
    let positions = |session: &mut Session| -> Vec<[f64; 2]> {
        (0..session.ues()).map(|ue| session.ue(ue).position_m.unwrap()).collect()
    };
    let (before, used) = (positions(&mut session), session.cells()[0].used);
    session.advance(session.now() + Span::from_millis(500)).unwrap();
    for ([x, y], [u, v]) in before.into_iter().zip(positions(&mut session)) {
        let metres = f64::hypot(u - x, v - y);
        // 10 m/s for 0.5 s; a position is updated once per measurement period.
        assert!((4.5..=5.5).contains(&metres), "{metres} m");
    }
    let cell = session.cells()[0];
    assert!(cell.used > used);
    // 10 MHz: 50 PRBs in 1,800 TTIs.
    assert_eq!(cell.offered_per_tti, 50.0);
    assert!(cell.used <= 50 * 1800, "{}", cell.used);
}

#[test]
fn series_that_are_taken_do_not_count_as_memory() {
    let long = SCENARIO.replace("duration = \"2s\"", "duration = \"10h\"");
    let records = Records { memory: Some(Bytes(3_000_000)), ..records() };
    assert!(Session::new(scenario(&long), 1, &records).is_err());
    let mut session = Session::streaming(scenario(&long), 1, &records, None).unwrap();
    while session.now() < session.begin() + Span::from_millis(1700) {
        session.advance(session.now() + Span::from_millis(50)).unwrap();
        session.take_series();
        session.take_events();
        session.take_allocations();
    }
}
