//! ARWA in a cell, also with hosts that have different clocks.

use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};

/// Mean one-way delay in ms and goodput in Mbit/s of twelve UEs in a narrow cell.
fn result(rwnd: &str) -> (f64, f64) {
    let toml = format!(
        r#"
        preset = "airwnd-0.1"
        duration = "6s"
        tcp = {{stack = "ns3.26", mss = 512}}
        carrier.bandwidth = "3MHz"
        rlc.queue = {{kind = "drop-tail", buffer = "51200B"}}
        [[site]]
        [[ue]]
        count = 12
        placement = {{kind = "ring", radius = "300m"}}
        [[flow]]
        rwnd = {rwnd}
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    let totals = run(&scenario, 1, None, &mut |_| true).unwrap().totals();
    (totals.delay_ms_mean.unwrap(), totals.goodput_kbps / 1e3)
}

/// A TCP option carries the codes as well as the window field does, and differences of delays tolerate a clock offset
/// of 100 ms.
#[test]
fn a_deployable_variant_performs_like_the_papers() {
    let (bloated, full) = result("\"fixed\"");
    let (paper, _) = result("\"arwa\"");
    assert!(paper < 0.35 * bloated, "{paper} ms, {bloated} without");
    for clock_offset in [-100.0, 100.0] {
        let params = format!("kind = \"arwa\", carriage = \"tcp-option\", clock_offset = {clock_offset:.1}");
        let (delay, rate) = result(&format!("{{{params}, delay = \"queueing\"}}"));
        assert!(
            delay < 1.3 * paper && rate > 0.95 * full,
            "{delay} ms, {rate} of {full} Mbit/s at {clock_offset} ms"
        );
        let (spoiled, _) = result(&format!("{{{params}}}"));
        assert!(spoiled > 2.0 * paper, "{spoiled} ms at {clock_offset} ms");
    }
}
