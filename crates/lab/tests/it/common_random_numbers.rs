//! A change of algorithm does not change the channels of the UEs, so that algorithms are compared on common random
//! numbers.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, UeRow, run};

fn simulate(seed: u64, changes: &[(&str, &str)]) -> Outcome {
    let toml = r#"
        preset = "airwnd-0.1"
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

/// Channel quantities in a UE's row. With one cell there is no interference, so the SINR is constant.
fn channel(row: &UeRow) -> (f64, f64, u16, f64, Option<f64>) {
    (row.x_m, row.y_m, row.cell, row.rsrp_dbm, row.sinr_db.map(|sinr| (sinr * 1e9).round()))
}

#[test]
fn the_channel_does_not_depend_on_the_algorithms() {
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

/// A saturated UE whose surroundings do not change: the other UE's cell is 900 km away. Its blocks are sent in the same
/// TTIs, and since errors are drawn per UE and TTI, the same blocks fail.
#[test]
fn block_errors_do_not_depend_on_draws_for_other_ues() {
    let blocks = |changes: &[(&str, &str)]| {
        let toml = r#"
            preset = "airwnd-0.1"
            duration = "3s"
            radio.amc = {kind = "piro-ew2010", ber = 0.03}
            [[site]]
            power = "13dBm"
            [[site]]
            position = ["900km", "0m"]
            power = "13dBm"
            [[ue]]
            name = "near"
            placement = {kind = "list", points = [["2km", "0m"]]}
            [[ue]]
            name = "far"
            placement = {kind = "list", points = [["902km", "0m"]]}
            [[flow]]
            id = "load"
            ue = "near"
            traffic = {kind = "cbr", rate = "40Mbps"}
            [[flow]]
            ue = "far"
        "#;
        let mut node = Node::from_toml(toml, "test").unwrap();
        changes.iter().for_each(|(key, value)| node.set(key, value).unwrap());
        let outcome = run(&Scenario::from_node(&node).unwrap(), 1, None, &mut |_| true).unwrap();
        let (near, far) = (outcome.ues()[0], outcome.ues()[1]);
        assert_eq!((near.cell, far.cell), (0, 1));
        let errors = near.bler.unwrap() * near.blocks as f64;
        ((near.blocks, errors.round(), near.mcs, near.block_bytes), far.blocks, outcome.flows()[0].clone())
    };
    let (near, far, load) = blocks(&[]);
    assert!(near.1 > 10.0, "some of its blocks fail: {near:?}");
    for (key, value) in [
        ("flow[1].cc", "{kind = \"fixed\", segments = 5}"),
        ("flow[1].rwnd", "arwa"),
        ("flow[1].rwnd", "{kind = \"fixed\", limit = \"3kB\"}"),
        ("flow[1].traffic", "video"),
        ("flow[1].direction", "up"),
    ] {
        let changed = blocks(&[(key, value)]);
        assert_ne!(changed.1, far, "{key} = {value} changes what the other sends");
        assert_eq!((changed.0, changed.2), (near, load.clone()), "{key} = {value}");
    }
}
