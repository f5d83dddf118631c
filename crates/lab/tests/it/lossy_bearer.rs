//! TCP over bearers with block errors delivers all bytes.
//!
//! One UE at 2 km from a 13 dBm cell has 3.5 dB. With link adaptation for a bit error rate of 3 % about 5 % of its first
//! transmissions fail.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(transmissions: u8, rlc: &str, flow: &str) -> Outcome {
    let toml = format!(
        r#"
        preset = "airwnd-0.1"
        duration = "20s"
        {rlc}
        tcp.timestamps = true
        radio.amc = {{kind = "piro-ew2010", ber = 0.03}}
        mac = {{harq_transmissions = {transmissions}, olla = "none", uplink_adaptation = "carrier", power_control.mode = "open-loop"}}
        rlc.queue = {{kind = "drop-tail", buffer = "1MB"}}
        [[site]]
        power = "13dBm"
        [[ue]]
        placement = {{kind = "ring", radius = "2000m"}}
        [[flow]]
        {flow}
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// Four transmissions with soft combining, or acknowledged mode, leave no losses to TCP; a single transmission in
/// unacknowledged mode does. In an upload only ACKs are lost here, and the next ACK covers them.
#[test]
fn tcp_gets_every_byte_once_with_and_without_harq() {
    for direction in ["down", "up"] {
        for (mode, transmissions, hidden) in [("um", 4, true), ("um", 1, false), ("am", 1, true)] {
            for rwnd in ["fixed", "autotuning", "drwa", "arwa"] {
                let flow = format!(
                    "traffic = {{kind = \"transfer\", size = \"200kB\"}}\nrwnd = \"{rwnd}\"\ndirection = \"{direction}\""
                );
                let rlc = format!("rlc.mode = \"{mode}\"");
                let outcome = simulate(transmissions, &rlc, &flow);
                let flow = &outcome.flows()[0];
                let what = format!("{direction}, {mode}, {transmissions} transmissions, {rwnd}: {flow:?}");
                assert_eq!(flow.goodput_kbps, 80.0, "200 kB in 20 s; {what}");
                assert!(flow.fct_s.is_some(), "{what}");
                assert_eq!(flow.retransmissions == 0, hidden || direction == "up", "{what}");
            }
        }
    }
}
