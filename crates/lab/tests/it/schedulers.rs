//! Schedulers of ns-3 in whole scenarios.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// UEs at one place that always have data, on 25 PRBs, as in runs of ns-3 3.44: runs of three PRBs, eight per TTI. In its
/// RR, PF, MT, BET and TTA all have the same rate, and in its PSS, CQA and TBFQ some have none.
#[test]
fn uploads_are_shared_as_in_the_uplink_of_each_scheduler_of_ns3() {
    let uploads = |scheduler: &str, count: u32| {
        let outcome = simulate(&format!(
            r#"
            preset = "ns3.44"
            duration = "2s"
            mac.scheduler = "{scheduler}"
            core = {{server_rate = "10Gbps", server_delay = "10ms"}}
            [[site]]
            height = "30m"
            [[ue]]
            count = {count}
            placement = {{kind = "ring", radius = "200m"}}
            [[flow]]
            direction = "up"
            traffic = {{kind = "cbr", rate = "5Mbps", packet = "1000B"}}
            "#
        ));
        outcome.flows().iter().map(|flow| flow.goodput_kbps).collect::<Vec<_>>()
    };
    for scheduler in ["rr", "pf", "mt", "bet", "tta"] {
        for (count, theirs) in [(9, 1872.0), (10, 1684.0), (12, 1404.0)] {
            for ours in uploads(scheduler, count) {
                assert!((ours / theirs - 1.0).abs() < 0.02, "{scheduler} {count}: {ours} {theirs}");
            }
        }
    }
    for scheduler in ["pss", "cqa", "tbfq"] {
        for (count, silent) in [(9, 1), (10, 2), (12, 4)] {
            let ours = uploads(scheduler, count);
            let (starved, others): (Vec<f64>, Vec<f64>) = ours.iter().partition(|rate| **rate < 25.0);
            assert_eq!(starved.len(), silent, "{scheduler} {count}: {ours:?}");
            assert!(
                others.iter().all(|rate| (rate / 2108.0 - 1.0).abs() < 0.02),
                "{scheduler} {count}: {ours:?}"
            );
        }
    }
}

/// Six UEs near the site, and six whose wideband CQI is above zero and no RBG's: ns-3's PSS selects the latter without
/// effect as long as they have packets. They lose them by radio link failures, every 2.4 s, and the cell goes on: ns-3 3.44
/// has 5.84, 5.94, 5.94 and 6.44 Mbit/s at 0.8, 1.0, 1.2 and 1.4 dBm in 12 s. Without radio link failures it has none, as
/// ns-3 without `EnableRlfDetection`.
#[test]
fn a_cell_that_ns3s_pss_blocks_goes_on_after_link_failures() {
    let rate = |power: &str, further: &str| {
        let outcome = simulate(&format!(
            r#"
            preset = "ns3.44"
            duration = "12s"
            mac.scheduler = "pss"
            core = {{server_rate = "10Gbps", server_delay = "10ms"}}
            tcp.mss = 1400
            {further}
            [[site]]
            height = "30m"
            power = "{power}"
            [[ue]]
            name = "near"
            count = 6
            placement = {{kind = "ring", radius = "202m"}}
            [[ue]]
            name = "far"
            count = 6
            placement = {{kind = "ring", radius = "2002m"}}
            [[flow]]
            "#
        ));
        outcome.totals().goodput_kbps / 1e3
    };
    for power in ["0.8dBm", "1dBm", "1.2dBm", "1.4dBm"] {
        let ours = rate(power, "");
        println!("{power}: {ours}");
        assert!((5.5..6.8).contains(&ours), "{power}: {ours}");
        assert_eq!(rate(power, "handover.link_failure = \"none\""), 0.0);
    }
}
