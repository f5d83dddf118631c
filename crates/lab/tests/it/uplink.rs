//! The uplink with the settings of ns-3 LENA and with the defaults.

use airwnd_catalog::Node;
use airwnd_cell::Reach;
use airwnd_lab::{Outcome, Scenario, run};

/// A UE of 23 dBm without line of sight, with an RSRP of -111 dBm.
const PHONE: &str = r#"
preset = "airwnd-0.1"
duration = "10s"
tcp.mss = 1400
radio.propagation = {kind = "hybrid-buildings", los_to_nlos = "200m"}
rlc.queue = {kind = "drop-tail", buffer = "300kB"}
[[site]]
power = "43dBm"
[[ue]]
placement = {kind = "ring", radius = "310m"}
[[flow]]
"#;

const AS_IN_NS3: [(&str, &str); 2] = [("preset", "ns3.44"), ("carrier.bandwidth", "10MHz")];

fn simulate(toml: &str, changes: &[(&str, &str)], seed: u64) -> Outcome {
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    run(&Scenario::from_node(&node).unwrap(), seed, None, &mut |_| true).unwrap()
}

/// The SINR of its SRS is -2.6 dB, slightly too low for CQI 1: log2(1 + 0.54 / 5.53) = 0.136 < 0.15.
#[test]
fn a_cell_edge_ue_is_out_of_reach_in_ns3() {
    let outcome = simulate(PHONE, &AS_IN_NS3, 1);
    let (ue, flow) = (&outcome.ues()[0], &outcome.flows()[0]);
    assert!((ue.rsrp_dbm + 111.0).abs() < 0.5, "{}", ue.rsrp_dbm);
    assert_eq!((ue.uplink_reach, ue.downlink_reach), (Reach::OutOfReach, Reach::Reached));
    assert!(ue.uplink_sinr_db.unwrap() < -2.2 && ue.uplink_narrow_sinr_db > 5.0);
    assert_eq!((flow.goodput_kbps, flow.pdf_percent), (0.0, None), "only SYNs were sent");
    assert_eq!(outcome.totals().pdf_percent, None);
}

/// With 43 dBm its downlink has 12.5 dB, MCS 18 on 48 PRBs: 15.8 Mbit/s. Over 25 PRBs its uplink has
/// -2.6 + 10 log10(50 / 25) = 0.4 dB, MCS 6: 2.6 Mbit/s.
#[test]
fn the_same_ue_works_by_default() {
    let down = simulate(PHONE, &[], 1);
    assert_eq!(down.ues()[0].uplink_reach, Reach::Reached);
    let goodput = down.flows()[0].goodput_kbps;
    assert!((12_000.0..15_840.0).contains(&goodput), "{goodput} kbit/s");
    let up = simulate(PHONE, &[("flow[0].direction", "up")], 1);
    let goodput = up.flows()[0].goodput_kbps;
    assert!((1_500.0..2_700.0).contains(&goodput), "{goodput} kbit/s");
}

/// Between two cells, UEs lose a grant in six. The eNB notices it, so that neither packets of the UE nor the
/// acknowledgements of RLC wait for retxBSR-Timer (320 ms), and no handover costs TCP a retransmission.
#[test]
fn a_lost_grant_is_repeated() {
    let driving = r#"
        duration = "50s"
        tcp.stack = "linux"
        core.server_delay = "15ms"
        core.x2_delay = "5ms"
        carrier.bandwidth = "5MHz"
        radio.propagation = "log-distance"
        radio.shadowing.correlation_distance = "none"
        radio.fading = {kind = "eva", speed = "25m/s", interference = false}
        rlc = {mode = "am", queue = {kind = "drop-tail", buffer = "2MB"}}
        handover = {algorithm = "a3-rsrp", preparation = "30ms", random_access = "20ms", path_switch = "20ms"}
        [[site]]
        [[site]]
        position = ["600m", "0m"]
        [[site]]
        position = ["1200m", "0m"]
        [[ue]]
        placement = {kind = "list", points = [["-160m", "60m"]]}
        mobility = {kind = "constant-velocity", speed = "25m/s"}
        [[flow]]
        id = "download"
        cc = "cubic"
        rwnd = {kind = "drwa", lambda = 1.5}
        [[flow]]
        id = "up"
        traffic = {kind = "cbr", rate = "13440bps", packet = "84B"}
        direction = "up"
    "#;
    for seed in 1..=3 {
        let outcome = simulate(driving, &[], seed);
        let [download, packets] = outcome.flows() else { panic!() };
        assert_eq!(outcome.ues()[0].handovers, 2);
        assert_eq!(download.retransmissions, 0, "seed {seed}");
        let delay = packets.delay_ms;
        assert!(delay.p99.unwrap() < 80.0, "seed {seed}: {delay:?}");
    }
}

/// Three sectors with interfering UEs: no UE starves, no PRB is used twice, and the ledger balances (otherwise the run
/// panics).
#[test]
fn ues_of_neighbouring_cells_share_the_uplink() {
    let town = r#"
        preset = "airwnd-0.1"
        duration = "5s"
        radio.propagation = {kind = "hybrid-buildings", los_to_nlos = "200m"}
        [[site]]
        sectors = 3
        antenna = "parabolic"
        power = "43dBm"
        [[ue]]
        count = 15
        placement = {kind = "disc", radius = "350m"}
        [[flow]]
        direction = "up"
    "#;
    for (seed, scheduler) in [(1, "rr"), (2, "pf"), (3, "rr")] {
        let outcome = simulate(town, &[("mac.uplink_scheduler", scheduler)], seed);
        for (ue, flow) in outcome.ues().iter().zip(outcome.flows()) {
            assert_eq!(ue.uplink_reach, Reach::Reached, "{ue:?}");
            assert!(flow.goodput_kbps > 20.0, "{ue:?} {}", flow.goodput_kbps);
        }
        assert!(outcome.cells().iter().all(|cell| cell.uplink_prb_use <= 1.0));
        assert!(outcome.totals().goodput_kbps > 3000.0, "{}", outcome.totals().goodput_kbps);
    }
}

/// Near the mast closed-loop power control removes the excess SINR: 37 dB are reduced to 20 dB.
#[test]
fn the_closed_loop_reaches_its_target() {
    for (target, expected) in [("20dB", 20.0), ("12dB", 12.0)] {
        let near = [("ue[0].placement.radius", "100m"), ("mac.power_control.target_sinr", target)];
        let outcome = simulate(PHONE, &near, 1);
        let sinr = outcome.ues()[0].uplink_sinr_db.unwrap();
        assert!((sinr - expected).abs() < 1.0, "{sinr} dB");
    }
}
