//! BBR with a concurrent flow, and over a cell with ACK aggregation in the uplink.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// Two downloads that share a link of 10 Mbit/s and 25 ms; the second starts 2 s later. The BDP is 60 packets.
const SHARED: &str = r#"
    preset = "airwnd-0.1"
    duration = "60s"
    warmup = "0s"
    tcp = {mss = 1000, send_buffer = "4MiB", receive_buffer = "4MiB"}
    core = {server_rate = "0bps", server_delay = "0ms"}
    [[link]]
    rate = "10Mbps"
    delay = "25ms"
    queue = 300
    [[ue]]
    count = 2
    [[flow]]
    stagger = "2s"
"#;

/// A download over an empty cell of 50 PRB.
const CELL: &str = r#"
    preset = "airwnd-0.1"
    duration = "20s"
    warmup = "0s"
    tcp = {send_buffer = "4MiB", receive_buffer = "4MiB"}
    rlc.queue = {kind = "drop-tail", buffer = "500KiB"}
    [[site]]
    [[ue]]
    [[flow]]
"#;

fn simulate(toml: &str, changes: &[(&str, &str)]) -> Outcome {
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    run(&Scenario::from_node(&node).unwrap(), 1, None, &mut |_| true).unwrap()
}

/// Goodput in kbit/s and 95th percentile of the delay in ms.
fn over_a_cell(cc: &str, loss: &str) -> (f64, f64) {
    let outcome = simulate(CELL, &[("flow[0].cc", cc), ("core.server_loss", loss)]);
    let flow = outcome.to_json()["flows"][0].clone();
    let figures = (flow["goodput_kbps"].as_f64().unwrap(), flow["delay_ms_p95"].as_f64().unwrap());
    println!("{cc}, loss {loss}: {:.0} kbit/s, {:.1} ms", figures.0, figures.1);
    figures
}

/// At most two BDPs are in flight, independent of the buffer size, so the queue exceeds that of one flow by less than
/// 1.6 BDPs.
#[test]
fn two_flows_share() {
    for cc in ["bbr", "bbr3"] {
        let outcome = simulate(SHARED, &[("flow[0].cc", cc)]);
        let json = outcome.to_json();
        let goodputs = [0, 1].map(|flow| json["flows"][flow]["goodput_kbps"].as_f64().unwrap());
        let delay = json["totals"]["delay_ms_mean"].as_f64().unwrap();
        println!("{cc}: {goodputs:.0?} kbit/s, {delay:.1} ms");
        assert!(goodputs.iter().all(|&goodput| goodput > 0.35 * 9470.0), "{cc}: {goodputs:?}");
        assert!(goodputs.iter().sum::<f64>() > 0.93 * 9470.0, "{cc}: {goodputs:?}");
        assert!(delay < 25.8 + 1.6 * 50.0, "{cc}: {delay} ms");
        assert_eq!(outcome.totals().retransmissions, 0, "{cc}");
    }
}

#[test]
fn ack_aggregation_costs_no_rate() {
    let (rate_of_cubic, delay_of_cubic) = over_a_cell("cubic", "none");
    for cc in ["bbr", "bbr3"] {
        let (rate, delay) = over_a_cell(cc, "none");
        assert!(rate > 0.95 * rate_of_cubic, "{cc}: {rate} kbit/s, CUBIC {rate_of_cubic}");
        assert!(delay < 0.5 * delay_of_cubic, "{cc}: {delay} ms, CUBIC {delay_of_cubic}");
    }
}

#[test]
fn losses_before_the_cell_cost_little() {
    let loss = "{kind = \"packet-error\", rate = 0.01}";
    let (cubic, _) = over_a_cell("cubic", loss);
    for (cc, part) in [("bbr", 0.9), ("bbr3", 0.4)] {
        let (rate, _) = over_a_cell(cc, loss);
        let (clean, _) = over_a_cell(cc, "none");
        assert!(rate > part * clean, "{cc}: {rate} of {clean} kbit/s");
        assert!(rate > 10.0 * cubic, "{cc}: {rate} kbit/s, CUBIC {cubic}");
    }
}
