//! Exact results of small scenarios, with their physical bounds.
//!
//! A change that intentionally changes results replaces the expected values by those that the failure prints; the
//! bounds remain.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    run(&Scenario::from_node(&Node::from_toml(toml, "golden").unwrap()).unwrap(), 1, None, &mut |_| true)
        .unwrap()
}

/// A line per flow: goodput in kbit/s, delay and RTT in ms, packets sent, retransmissions.
fn figures(outcome: &Outcome) -> String {
    let show = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
    let line = |flow: &airwnd_lab::FlowRow| {
        format!(
            "{} {:.3} {} {} {} {}",
            flow.id,
            flow.goodput_kbps,
            show(flow.delay_ms.mean),
            show(flow.rtt_ms.mean),
            flow.packets_sent,
            flow.retransmissions
        )
    };
    outcome.flows().iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(outcome: &Outcome, golden: &str) {
    let found = figures(outcome);
    assert!(found == golden, "expected\n{golden}\nfound\n{found}");
}

/// One download at 10 MHz. MCS 28 on 48 PRBs carries 35160 bit per TTI (TS 36.213 Table 7.1.7.2.1-1). A segment of 1000
/// B has 1054 B with TCP (32 B), IP and PDCP headers: at most 33359 kbit/s. A segment takes 10 ms to the eNB and 3 ms
/// over the air; its ACK takes at least 4 ms over the air and 10 ms back.
#[test]
fn one_download() {
    let outcome = simulate(
        r#"
        preset = "airwnd-0.1"
        duration = "5s"
        tcp = {mss = 1000, timestamps = true}
        rlc.queue = {kind = "drop-tail", buffer = "150kB"}
        [[site]]
        [[ue]]
        placement = {kind = "ring", radius = "400m"}
        [[flow]]
        rwnd = "autotuning"
        "#,
    );
    check(&outcome, "flow-0 24140.800 15.942 41.764 15137 0");
    let flow = &outcome.flows()[0];
    assert!(flow.goodput_kbps < 35_160.0 * 1000.0 / 1054.0);
    assert!(flow.delay_ms.mean.unwrap() >= 13.0 && flow.rtt_ms.mean.unwrap() >= 27.0);
    // The buffer has 150 kB, 35 TTIs of blocks.
    assert!(flow.delay_ms.mean.unwrap() <= 13.0 + 1.0 + 150_000.0 * 8.0 / 35_160.0);
}

/// Four UEs of one sector with a download and a call each: the sum is below the capacity, no call receives more than it
/// sends, and no packet is faster than the path.
#[test]
fn a_cell_with_calls_and_downloads() {
    let outcome = simulate(
        r#"
        preset = "airwnd-0.1"
        duration = "5s"
        carrier.bandwidth = "5MHz"
        mac.scheduler = "pss"
        rlc.queue = {kind = "drop-tail", buffer = "51200B"}
        tcp = {mss = 512, timestamps = true}
        [[site]]
        sectors = 3
        antenna = "parabolic"
        power = "15dBm"
        [[ue]]
        count = 4
        placement = {kind = "sector", radius = "3km"}
        [[flow]]
        id = "get"
        rwnd = "drwa"
        [[flow]]
        id = "call"
        traffic = {kind = "cbr", rate = "64kbps", packet = "160B"}
        "#,
    );
    check(
        &outcome,
        "get-0 1214.054 87.762 112.269 1517 0\n\
         get-1 1597.440 79.728 104.102 1989 0\n\
         get-2 1216.512 89.993 113.627 1516 0\n\
         get-3 303.104 140.130 174.244 378 4\n\
         call-0 62.720 89.902 - 251 0\n\
         call-1 62.976 81.858 - 250 0\n\
         call-2 62.720 91.788 - 250 0\n\
         call-3 63.744 128.715 - 250 0",
    );
    // MCS 28 on 24 PRBs: 17568 bit per TTI in each of three cells.
    assert!(outcome.totals().throughput_kbps < 3.0 * 17_568.0);
    let (downloads, calls) = outcome.flows().split_at(4);
    // One packet more than the rate gives in 5 s, since the first is sent at once.
    assert!(calls.iter().all(|call| call.goodput_kbps <= 64.0 + 160.0 * 8.0 / 5e3));
    assert!(downloads.iter().chain(calls).all(|flow| flow.delay_ms.mean.unwrap() >= 13.0));
    for cell in outcome.cells() {
        assert!(cell.downlink_prb_use <= 0.96, "24 of 25 PRBs form whole RBGs: {cell:?}");
    }
}

/// Two downloads over a wire of 10 Mbit/s and 25 ms: each segment of 1000 B has 1054 B on the wire. At most 100 packets
/// in the queue and one in transmission take 0.8432 ms each.
#[test]
fn two_downloads_over_a_wire() {
    let outcome = simulate(
        r#"
        preset = "airwnd-0.1"
        duration = "20s"
        tcp = {mss = 1000, timestamps = true, send_buffer = "1MiB", receive_buffer = "1MiB"}
        core = {server_rate = "0bps", server_delay = "0ms"}
        [[link]]
        rate = "10Mbps"
        delay = "25ms"
        queue = 100
        [[ue]]
        count = 2
        [[flow]]
        "#,
    );
    check(
        &outcome,
        "flow-0 5699.200 86.810 113.004 14387 46\n\
         flow-1 3716.400 87.354 113.926 9371 41",
    );
    assert!(outcome.totals().goodput_kbps <= 10_000.0 * 1000.0 / 1054.0);
    for flow in outcome.flows() {
        let delay = flow.delay_ms.mean.unwrap();
        assert!((25.8432..=25.0 + 101.0 * 0.8432).contains(&delay), "{delay} ms");
        assert!(flow.rtt_ms.mean.unwrap() >= 50.0);
    }
}

/// Three downloads with all defaults: Linux's CUBIC in a macro cell with shadowing and fading. MCS 28 on 48 PRBs
/// carries 35160 bit per TTI; with three full buffers of 1 MB the queueing delay is at most 3 x 8 x 10^6 / 35160 ms.
#[test]
fn three_downloads_by_default() {
    let outcome = simulate("duration = \"5s\"\n[[site]]\n[[ue]]\ncount = 3\n[[flow]]\n");
    check(
        &outcome,
        "flow-0 5706.278 234.703 259.293 2641 0\n\
         flow-1 2191.693 158.495 237.101 1021 0\n\
         flow-2 9452.544 111.453 141.438 4273 0",
    );
    assert!(outcome.totals().goodput_kbps < 35_160.0 * 1448.0 / 1502.0);
    for flow in outcome.flows() {
        let delay = flow.delay_ms.mean.unwrap();
        assert!((13.0..13.0 + 3.0 * 8e6 / 35_160.0).contains(&delay), "{delay} ms");
    }
}
