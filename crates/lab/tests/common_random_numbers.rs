//! Swapping an algorithm leaves every user's channel as it was, so that algorithms are compared on common
//! random numbers.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, UeRow, run};

fn simulate(seed: u64, changes: &[(&str, &str)]) -> Outcome {
    let toml = r#"
        duration = "5s"
        tcp.mss = 512
        radio = {propagation = "hybrid-buildings", shadowing = {sigma = "6dB"}}
        mac.power_control = {max_power = "60dBm"}
        rlc.queue = {kind = "drop-tail", buffer = "51200B"}
        [[site]]
        [[ue]]
        count = 12
        placement = {kind = "disc", radius = "600m"}
        [[flow]]
    "#;
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    run(&Scenario::from_node(&node).unwrap(), seed, None, &mut |_| true).unwrap()
}

/// What is the channel's in a terminal's row. With one cell nobody interferes, so the SINR is a constant.
fn channel(row: &UeRow) -> (f64, f64, u16, f64, Option<f64>) {
    (row.x_m, row.y_m, row.cell, row.rsrp_dbm, row.sinr_db.map(|sinr| (sinr * 1e9).round()))
}

#[test]
fn the_channel_does_not_depend_on_who_sends_how() {
    let reference = simulate(1, &[]);
    for changes in [
        [("flow[0].cc", "{kind = \"fixed\"}")],
        [("flow[0].rwnd", "arwa")],
        [("flow[0].rwnd", "drwa")],
        [("flow[0].traffic", "video")],
        [("mac.scheduler", "pss")],
        [("rlc.queue.buffer", "10KiB")],
    ] {
        let changed = simulate(1, &changes);
        assert_ne!(changed.totals(), reference.totals(), "{changes:?} changes something");
        let rows = |outcome: &Outcome| outcome.ues().iter().map(channel).collect::<Vec<_>>();
        assert_eq!(rows(&changed), rows(&reference), "{changes:?}");
    }
}

#[test]
fn a_larger_group_begins_with_the_smaller_one() {
    let (small, large) = (simulate(1, &[]), simulate(1, &[("ue[0].count", "30")]));
    for (few, many) in small.ues().iter().zip(large.ues()) {
        assert_eq!((few.x_m, few.y_m, few.rsrp_dbm), (many.x_m, many.y_m, many.rsrp_dbm));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let text = |seed| simulate(seed, &[]).to_json().to_string();
    let first = text(1);
    let parallel: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| text(1))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(parallel, [first.clone(), first.clone()]);
    assert_ne!(text(2), first);
}
