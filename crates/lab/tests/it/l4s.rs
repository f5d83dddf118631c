//! L4S and classic senders, on links and in a bearer.

use airwnd_catalog::Node;
use airwnd_kernel::Direction;
use airwnd_lab::{Column, Outcome, Scenario, run};
use airwnd_units::Span;

fn simulate(toml: &str) -> Outcome {
    simulate_with("", toml)
}

fn simulate_with(quirks: &str, toml: &str) -> Outcome {
    let mut scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    scenario.set_quirks(quirks).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// A Prague and a CUBIC flow: goodputs in kbit/s and mean one-way delays in milliseconds.
fn side_by_side([network, quirks]: [&str; 2]) -> [(f64, f64); 2] {
    let toml = format!(
        "preset = \"airwnd-0.1\"\nduration = \"60s\"\nwarmup = \"20s\"\ntcp.ecn = \"accurate\"\n{network}\n[[ue]]\n\
         [[flow]]\nid = \"l4s\"\ncc = \"prague\"\n[[flow]]\nid = \"classic\"\ncc = \"cubic\"\n"
    );
    let outcome = simulate_with(quirks, &toml);
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
    let [(l4s, l4s_delay), (classic, classic_delay)] = side_by_side([&link("dualpi2"), ""]);
    println!("{l4s:.0} and {classic:.0} kbit/s, {l4s_delay:.2} and {classic_delay:.2} ms");
    assert!((0.5..2.0).contains(&(l4s / classic)), "{l4s} {classic} kbit/s");
    assert!(l4s + classic > 0.9 * 40_000.0, "{l4s} {classic} kbit/s");
    // 12 ms of propagation, 0.3 ms for a packet, and half of the threshold.
    assert!(l4s_delay < 13.0 && (24.0..30.0).contains(&classic_delay), "{l4s_delay} {classic_delay} ms");
    let [(l4s, _), (classic, _)] = side_by_side([&link("codel"), ""]);
    println!("one queue: {l4s:.0} and {classic:.0} kbit/s");
    assert!(l4s > 5.0 * classic, "{l4s} {classic} kbit/s");
}

/// In a bearer the rate depends on the channel and the scheduler. It is served once per millisecond, so the ramp must
/// begin above the waiting time between two transport blocks.
#[test]
fn a_bearer_has_two_coupled_queues() {
    let cell = "rlc.queue = {kind = \"dualpi2\", min_th = \"4ms\", range = \"2ms\"}\nradio.propagation = \"friis\"\n[[site]]\n";
    let [(l4s, l4s_delay), (classic, classic_delay)] = side_by_side([cell, "mac.buffer_reports = \"ideal\""]);
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
        println!("{queue}: {:.0} kbit/s, {:.1} ms", totals.goodput_kbps, totals.delay_ms_mean.unwrap());
        (totals.goodput_kbps, totals.delay_ms_mean.unwrap())
    };
    let (full, long) = mean_delay("{kind = \"drop-tail\", buffer = \"1MB\"}");
    for kind in ["codel", "pie", "cobalt", "fq-codel", "fq-pie", "fq-cobalt", "dualpi2"] {
        let (goodput, delay) = mean_delay(&format!("\"{kind}\""));
        assert!(goodput > 0.85 * full, "{kind}: {goodput} of {full} kbit/s");
        assert!(delay < 0.35 * long, "{kind}: {delay} ms, {long} ms in a full buffer");
    }
}

/// A Prague flow with default settings negotiates accurate ECN, and a CUBIC flow beside it none: the marks are those of
/// Prague's packets. With `ecn = "accurate"` for CUBIC alone both have it.
#[test]
fn a_control_that_needs_ecn_has_it_beside_flows_without() {
    let run = |cubic: &str| {
        let outcome = simulate(&format!(
            "duration = \"20s\"\ncore = {{server_delay = \"0ms\", server_rate = \"0bps\"}}\n[[link]]\nrate = \"100Mbps\"\n\
             delay = \"10ms\"\naqm = \"dualpi2\"\n[[ue]]\n[[flow]]\nid = \"prague\"\ncc = \"prague\"\n\
             [[flow]]\nid = \"cubic\"\n{cubic}\n"
        ));
        let flows = outcome.flows();
        let prague = &flows[0];
        (prague.goodput_kbps, prague.delay_ms.mean.unwrap(), flows[1].retransmissions)
    };
    let (goodput, delay, retransmissions) = run("");
    println!("beside a sender without ECN: {goodput:.0} kbit/s, {delay:.2} ms, {retransmissions}");
    assert!(delay < 11.0, "{delay} ms: Prague is in the queue with low latency");
    assert!(goodput > 30_000.0, "{goodput} kbit/s");
    assert!(retransmissions > 0, "the queue drops packets of a sender without ECN");
    let (_, _, retransmissions) = run("tcp = {ecn = \"classic\"}");
    println!("beside a sender with ECN: {retransmissions}");
    assert_eq!(retransmissions, 0, "and marks those of a sender with ECN");
}

#[test]
fn ecn_that_does_not_count_marks_is_refused_for_a_control_that_needs_it() {
    let refused = |text: &str| {
        let text = format!("duration = \"1s\"\n{text}");
        Scenario::from_node(&Node::from_toml(&text, "s.toml").unwrap()).unwrap_err().to_string()
    };
    let network = "[[site]]\n[[ue]]\n[[flow]]\ncc = \"prague\"\n";
    let of_scenario = refused(&format!("tcp.ecn = \"off\"\n{network}"));
    assert!(of_scenario.contains("tcp.ecn = \"off\" does not report"), "{of_scenario}");
    let of_flow = refused(&format!("tcp.ecn = \"accurate\"\n{network}tcp = {{ecn = \"classic\"}}\n"));
    assert!(of_flow.starts_with("s.toml:7") && of_flow.contains("flow[0].tcp.ecn"), "{of_flow}");
    let datagrams = refused("[[site]]\n[[ue]]\n[[flow]]\ntraffic = \"cbr\"\ntcp.mss = 500\n");
    assert!(datagrams.contains("`cbr` sends UDP datagrams, which have no TCP settings"), "{datagrams}");
}

/// Marks are counted where they arrive, by flow, group, run and sample, and where they are set: by link, or by bearer, UE
/// and cell.
#[test]
fn marks_are_counted_where_they_are_set_and_where_they_arrive() {
    let flows = "[[ue]]\n[[flow]]\nid = \"l4s\"\ncc = \"prague\"\n[[flow]]\nid = \"classic\"\n";
    let cell = "[[site]]\nrlc.queue = {kind = \"dualpi2\", min_th = \"4ms\", range = \"2ms\"}\n";
    let (table, value) = cell.split_once('\n').unwrap();
    for (network, is_cell) in [(format!("{value}{table}\n"), true), (link("dualpi2"), false)] {
        let node = Node::from_toml(&format!("duration = \"5s\"\n{network}{flows}"), "test").unwrap();
        let scenario = Scenario::from_node(&node).unwrap();
        let outcome = run(&scenario, 1, Some(Span::from_millis(100)), &mut |_| true).unwrap();
        let [l4s, classic] = [0, 1].map(|flow: usize| outcome.flows()[flow].packets_marked);
        assert!(l4s > 50 && classic == 0, "{l4s} {classic}: a sender without ECN cannot be marked");
        assert_eq!(outcome.groups().iter().map(|group| group.packets_marked).sum::<u64>(), l4s);
        assert_eq!(outcome.totals().packets_marked, l4s);
        let Some((_, Column::F64(samples))) =
            outcome.series().iter().find(|(name, _)| *name == "packets_marked")
        else {
            panic!("a column of numbers")
        };
        let sampled = samples.iter().sum::<f64>() as u64;
        // The last sample is that of the end, before the events of that instant.
        assert!(sampled <= l4s && l4s - sampled < 20, "{sampled} of {l4s}");
        let marks: u64 = outcome.links().iter().map(|link| link.marks).sum();
        // Marked packets arrive, but for those still on the way.
        let arrived = |set: u64| (l4s..l4s + 100).contains(&set);
        if is_cell {
            let rows: Vec<_> = outcome.bearers().iter().map(|row| (row.direction, row.marks)).collect();
            let [(Direction::Down, down), (Direction::Up, 0)] = rows[..] else { panic!("{rows:?}") };
            assert!(arrived(down), "{down}, {l4s}");
            let ues = outcome.ues().iter().map(|ue| (ue.marks, ue.uplink_marks));
            assert_eq!(ues.collect::<Vec<_>>(), [(down, 0)]);
            let cells = outcome.cells().iter().map(|cell| (cell.marks, cell.uplink_marks));
            assert_eq!(cells.collect::<Vec<_>>(), [(down, 0)]);
            assert_eq!(marks, 0, "of links");
        } else {
            assert!(arrived(marks), "{marks}, {l4s}");
            assert!(outcome.bearers().is_empty());
        }
    }
}
