//! L4S and classic senders, on links and in a bearer.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// A Prague and a CUBIC flow: goodputs in kbit/s and mean one-way delays in milliseconds.
fn side_by_side(network: &str) -> [(f64, f64); 2] {
    let outcome = simulate(&format!(
        "preset = \"airwnd-0.1\"\nduration = \"60s\"\nwarmup = \"20s\"\ntcp.ecn = \"accurate\"\n{network}\n[[ue]]\n\
         [[flow]]\nid = \"l4s\"\ncc = \"prague\"\n[[flow]]\nid = \"classic\"\ncc = \"cubic\"\n"
    ));
    let flows: Vec<_> =
        outcome.flows().iter().map(|flow| (flow.goodput_kbps, flow.delay_ms.mean.unwrap())).collect();
    [flows[0], flows[1]]
}

fn link(aqm: &str) -> String {
    let core = "core = {server_rate = \"1Gbps\", server_delay = \"1us\"}";
    format!("{core}\n[[link]]\nrate = \"40Mbps\"\ndelay = \"12ms\"\naqm = \"{aqm}\"\n")
}

/// RFC 9332 §2.1: with the squared probability both have about the same rate; with two queues L4S packets have little
/// queueing delay. In a single queue with equal marking for both, the L4S sender takes most of the rate.
#[test]
fn a_coupled_queue_shares_between_l4s_and_classic() {
    let [(l4s, l4s_delay), (classic, classic_delay)] = side_by_side(&link("dualpi2"));
    println!("{l4s:.0} and {classic:.0} kbit/s, {l4s_delay:.2} and {classic_delay:.2} ms");
    assert!((0.5..2.0).contains(&(l4s / classic)), "{l4s} {classic} kbit/s");
    assert!(l4s + classic > 0.9 * 40_000.0, "{l4s} {classic} kbit/s");
    // 12 ms of propagation, 0.3 ms for a packet, and half of the threshold.
    assert!(l4s_delay < 13.0 && (24.0..30.0).contains(&classic_delay), "{l4s_delay} {classic_delay} ms");
    let [(l4s, _), (classic, _)] = side_by_side(&link("codel"));
    println!("one queue: {l4s:.0} and {classic:.0} kbit/s");
    assert!(l4s > 5.0 * classic, "{l4s} {classic} kbit/s");
}

/// In a bearer the rate depends on the channel and the scheduler. It is served once per millisecond, so the ramp must
/// begin above the waiting time between two transport blocks.
#[test]
fn a_bearer_has_two_coupled_queues() {
    let cell = "rlc.queue = {kind = \"dualpi2\", min_th = \"4ms\", range = \"2ms\"}\nradio.propagation = \"friis\"\n\
                mac.buffer_reports = \"ideal\"\n[[site]]\n";
    let [(l4s, l4s_delay), (classic, classic_delay)] = side_by_side(cell);
    println!("{l4s:.0} and {classic:.0} kbit/s, {l4s_delay:.2} and {classic_delay:.2} ms");
    assert!((0.4..2.5).contains(&(l4s / classic)), "{l4s} {classic} kbit/s");
    assert!(l4s_delay + 8.0 < classic_delay, "{l4s_delay} {classic_delay} ms");
}

/// Each discipline keeps the delay of a bearer near its target; drop-tail keeps the buffer full.
#[test]
fn every_discipline_works_in_a_bearer() {
    let mean_delay = |queue: &str| {
        let outcome = simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"20s\"\nwarmup = \"5s\"\nrlc.queue = {queue}\nradio.propagation = \"friis\"\n[[site]]\n\
             [[ue]]\ncount = 2\n[[flow]]\n[[flow]]\nid = \"second\"\ncc = \"cubic\"\n"
        ));
        let totals = outcome.totals();
        println!("{queue}: {:.0} kbit/s, {:.1} ms", totals.goodput_kbps, totals.delay_ms.unwrap());
        (totals.goodput_kbps, totals.delay_ms.unwrap())
    };
    let (full, long) = mean_delay("{kind = \"drop-tail\", buffer = \"1MB\"}");
    for kind in ["codel", "pie", "cobalt", "fq-codel", "fq-pie", "fq-cobalt", "dualpi2"] {
        let (goodput, delay) = mean_delay(&format!("\"{kind}\""));
        assert!(goodput > 0.85 * full, "{kind}: {goodput} of {full} kbit/s");
        assert!(delay < 0.35 * long, "{kind}: {delay} ms, {long} ms in a full buffer");
    }
}
