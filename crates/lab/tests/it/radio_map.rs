//! Radio environment map: comparison with ns-3, and with the UEs of a run.

use airwnd_catalog::Node;
use airwnd_lab::{Column, RadioMap, Scenario, Table, run};
use airwnd_units::{Metres, Span};

/// ns-3's scenario, and UEs in it.
const TWO_SITES: &str = r#"
preset = "airwnd-0.1"
duration = "1s"
[[site]]
sectors = 3
antenna = {kind = "parabolic", beamwidth = "70deg", max_attenuation = "20dB"}
[[site]]
position = ["600m", "200m"]
sectors = 3
azimuth = "60deg"
antenna = {kind = "parabolic", beamwidth = "70deg", max_attenuation = "20dB"}
[[ue]]
count = 40
placement = {kind = "disc", radius = "900m"}
[[flow]]
"#;

fn scenario(changes: &[(&str, &str)]) -> Scenario {
    let mut node = Node::from_toml(TWO_SITES, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    Scenario::from_node(&node).unwrap()
}

fn at(scenario: &Scenario, x: f64, y: f64) -> RadioMap {
    scenario.radio_map(&[Metres(x)], &[Metres(y)], None).unwrap()
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let column = table.iter().find(|(column, _)| column == name);
    let Some((_, Column::F64(values))) = column else { panic!("{name} holds no numbers") };
    values
}

#[test]
fn the_map_agrees_with_ns3() {
    let town = [("radio.propagation", "{kind = \"hybrid-buildings\", los_to_nlos = \"200m\"}")];
    let (free, town) = (scenario(&[]), scenario(&town));
    let (mut compared, mut largest) = (0, 0f64);
    for line in include_str!("../data/radio_map.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |place: usize| fields[place].parse::<f64>().unwrap();
        let scenario = if fields[0] == "friis" { &free } else { &town };
        let ours = at(scenario, number(1), number(2)).sinr_db[0];
        largest = largest.max((ours - number(3)).abs());
        compared += 1;
    }
    assert_eq!(compared, 510);
    // 0.001 dB is the precision of the six digits that ns-3 prints.
    assert!(largest < 1e-3, "{largest}");
}

#[test]
fn a_ue_receives_what_the_map_shows() {
    // The strongest cell and its RSRP equal those of the run. The reported SINR is at least that of the map, since
    // there is less interference when a neighbour does not transmit.
    let scenario = scenario(&[]);
    let outcome = run(&scenario, 1, None, &mut |_| true).unwrap();
    let places = scenario.ues_table(1);
    for (ue, (x, y)) in outcome.ues().iter().zip(numbers(&places, "x_m").iter().zip(numbers(&places, "y_m")))
    {
        assert_eq!((ue.x_m, ue.y_m), (*x, *y));
        let map = at(&scenario, *x, *y);
        assert_eq!(map.cell[0], u32::from(ue.cell));
        assert!((map.rsrp_dbm[0] - ue.rsrp_dbm).abs() < 1e-9);
        assert!(ue.sinr_db.unwrap() > map.sinr_db[0] - 1e-9, "{ue:?}");
    }
}

#[test]
fn points_are_ordered_row_by_row() {
    let scenario = scenario(&[]);
    let (x, y) = ([Metres(-50.0), Metres(300.0), Metres(700.0)], [Metres(10.0), Metres(400.0)]);
    let map = scenario.radio_map(&x, &y, Some(Metres(5.0))).unwrap();
    for (row, y) in y.iter().enumerate() {
        for (column, x) in x.iter().enumerate() {
            let alone = scenario.radio_map(&[*x], &[*y], Some(Metres(5.0))).unwrap();
            assert_eq!(map.sinr_db[row * 3 + column], alone.sinr_db[0]);
        }
    }
    // The height has an effect: 1.5 m is the default.
    assert_ne!(at(&scenario, 300.0, 10.0).rsrp_dbm[0], map.rsrp_dbm[1]);
}

#[test]
fn shadowing_applies_to_ues_and_not_to_the_map() {
    let shadowed = scenario(&[("radio.shadowing", "{sigma = \"8dB\"}")]);
    assert_eq!(at(&shadowed, 100.0, 70.0).sinr_db, at(&scenario(&[]), 100.0, 70.0).sinr_db);
}

#[test]
fn cells_have_the_positions_of_the_scenario() {
    let cells = scenario(&[]).cells_table();
    assert_eq!(numbers(&cells, "x_m"), [0.0, 0.0, 0.0, 600.0, 600.0, 600.0]);
    assert_eq!(numbers(&cells, "boresight_deg"), [0.0, 120.0, 240.0, 60.0, 180.0, 300.0]);
}

#[test]
fn paths_equal_the_trajectories_of_a_run() {
    let moving = scenario(&[
        ("ue[0].mobility", "{kind = \"random-waypoint\", max_speed = \"30m/s\"}"),
        ("ue[0].count", "3"),
        ("handover.algorithm", "\"a3-rsrp\""),
        ("warmup", "\"500ms\""),
        ("duration", "\"4500ms\""),
    ]);
    let paths = moving.paths_table(1, 50);
    let outcome = run(&moving, 1, Some(Span::from_millis(100)), &mut |_| true).unwrap();
    let series = outcome.series();
    let (times, rsrp) = (numbers(series, "time_s"), numbers(series, "rsrp_dbm"));
    let mut compared = 0;
    for (row, time) in times.iter().enumerate() {
        // Three flows per sample; fifty intervals of 100 ms per path, five of them in the warm-up.
        let (flow, part) = (row % 3, (time * 10.0).round() as usize + 5);
        let point = flow * 51 + part;
        assert!((numbers(&paths, "time_s")[point] - time).abs() < 1e-9);
        let (x, y) = (numbers(series, "x_m")[row], numbers(series, "y_m")[row]);
        assert!((numbers(&paths, "x_m")[point] - x).abs() < 1e-9, "{time}: {x}");
        assert!((numbers(&paths, "y_m")[point] - y).abs() < 1e-9, "{time}: {y}");
        let best = rsrp[row].max(numbers(series, "neighbour_rsrp_dbm")[row]);
        assert!((at(&moving, x, y).rsrp_dbm[0] - best).abs() < 1e-9);
        compared += 1;
    }
    assert_eq!(compared, 3 * 45);
}

#[test]
fn static_ues_have_no_path() {
    assert!(numbers(&scenario(&[]).paths_table(1, 10), "x_m").is_empty());
}

#[test]
fn there_is_no_map_without_a_site() {
    let text = "preset = \"airwnd-0.1\"\nduration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]\n";
    let wire = Scenario::from_node(&Node::from_toml(text, "wire").unwrap()).unwrap();
    assert!(wire.radio_map(&[Metres(0.0)], &[Metres(0.0)], None).is_none());
    assert!(numbers(&wire.cells_table(), "x_m").is_empty());
}
