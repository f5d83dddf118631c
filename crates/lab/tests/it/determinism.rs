//! Results are a function of scenario and seed only.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};
use airwnd_units::Span;

/// All traffic models and receive-window controls, both directions, interference, shadowing and lost control channels.
const SCENARIO: &str = r#"
duration = "2s"
tcp.timestamps = true
radio = {propagation = "hybrid-buildings", shadowing = {sigma = "6dB"}}
mac.scheduler = "pss"
[[site]]
sectors = 3
antenna = "parabolic"
power = "30dBm"
[[ue]]
count = 9
placement = {kind = "disc", radius = "2km"}
[[flow]]
id = "bulk"
rwnd = "autotuning"
[[flow]]
id = "transfer"
traffic = "transfer"
rwnd = "drwa"
[[flow]]
id = "ftp"
traffic = "ftp"
rwnd = "arwa"
direction = "up"
[[flow]]
id = "cbr"
traffic = "cbr"
direction = "up"
[[flow]]
id = "video"
traffic = "video"
"#;

fn simulate(seed: u64) -> Outcome {
    simulate_changed(seed, SCENARIO)
}

fn simulate_changed(seed: u64, toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, seed, Some(Span::from_millis(20)), &mut |_| true).unwrap()
}

/// All results of a run, as text: missing values of a series are NaN, which compares equal as text only.
fn all(outcome: &Outcome) -> (String, String) {
    (outcome.to_json().to_string(), format!("{:?}", outcome.series()))
}

#[test]
fn the_same_seed_gives_the_same_figures_and_series() {
    let first = simulate(1);
    assert!(!first.series().is_empty());
    assert_eq!(all(&simulate(1)), all(&first));
}

#[test]
fn an_nr_cell_gives_the_same_figures_and_series() {
    let access = "carrier = {bandwidth = \"20MHz\", downlink_frequency = \"3.5GHz\"}\n\
                  radio = {access = {kind = \"nr\", numerology = 1, pattern = \"DDDSU\", mimo = {}}, ";
    let nr = SCENARIO.replace("radio = {", access);
    let [first, again, other] = [1, 1, 2].map(|seed| all(&simulate_changed(seed, &nr)));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn concurrent_and_sequential_runs_agree() {
    let seeds = [1, 2, 3];
    let in_turn = seeds.map(|seed| all(&simulate(seed)));
    let at_once = std::thread::scope(|scope| {
        seeds.map(|seed| scope.spawn(move || all(&simulate(seed)))).map(|run| run.join().unwrap())
    });
    assert_eq!(at_once, in_turn);
}

/// Time series change the number of events only.
#[test]
fn time_series_do_not_change_results() {
    let scenario = Scenario::from_node(&Node::from_toml(SCENARIO, "test").unwrap()).unwrap();
    let unwatched = run(&scenario, 1, None, &mut |_| true).unwrap();
    let watched = simulate(1);
    assert_eq!((unwatched.flows(), unwatched.cells()), (watched.flows(), watched.cells()));
    assert_eq!(unwatched.ues(), watched.ues());
}

#[test]
fn another_seed_changes_every_position_and_channel() {
    let (one, two) = (simulate(1), simulate(2));
    for (first, second) in one.ues().iter().zip(two.ues()) {
        assert_ne!((first.x_m, first.y_m), (second.x_m, second.y_m));
        assert_ne!(first.rsrp_dbm, second.rsrp_dbm);
    }
    assert_ne!(one.totals(), two.totals());
}
