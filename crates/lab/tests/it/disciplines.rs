//! Queue disciplines on links, in complete runs.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};
use airwnd_units::Span;

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, Some(Span::from_millis(10)), &mut |_| true).unwrap()
}

/// Results of a run except the number of events.
fn results(outcome: &Outcome) -> serde_json::Value {
    let mut results = outcome.to_json();
    results.as_object_mut().unwrap().remove("events");
    results
}

/// The drop-tail discipline, which serves packet by packet, and the plain queue, which computes departure times at
/// arrival, give the same results. The order of packets that arrive from several links at the same instant may differ;
/// therefore scenarios with instants in whole milliseconds have one UE with one flow.
#[test]
fn drop_tail_is_drop_tail() {
    let wires = "name = \"wan\"\nrate = \"20Mbps\"\ndelay = \"10ms\"\nloss = {kind = \"packet-error\", rate = 0.001}\n";
    let own = "name = \"access\"\nrate = \"7Mbps\"\nrate_up = \"3Mbps\"\nper = \"terminal\"\n";
    let flows = "[[flow]]\n[[flow]]\nid = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\n";
    let recording = "kind = \"trace\"\ndown = \"nyc-times\"\ndelay = \"5ms\"\n";
    for (links, users, flows) in [(vec![wires, own], 3, flows), (vec![recording], 1, "[[flow]]\n")] {
        let run = |queue: &str| {
            let links: String = links.iter().map(|link| format!("[[link]]\n{link}{queue}\n")).collect();
            simulate(&format!(
                "preset = \"airwnd-0.1\"\nduration = \"20s\"\n{links}[[ue]]\ncount = {users}\n{flows}"
            ))
        };
        let plain = run("queue = 30");
        let managed = run("aqm = {kind = \"drop-tail\", buffer = \"1MB\", packets = 30}");
        assert!(plain.links().iter().any(|row| row.drops.link_queue_full > 20));
        assert!(results(&plain) == results(&managed), "{}\n{}", results(&plain), results(&managed));
        let tables = |outcome: &Outcome| format!("{:?} {:?}", outcome.series(), outcome.events());
        assert!(tables(&plain) == tables(&managed), "the series and events of {links:?}");
    }
}

/// On the server link RED keeps the queue of a 10 Mbit/s wire shorter than drop-tail, and drops early.
#[test]
fn the_server_link_may_have_a_discipline() {
    let run = |queue: &str| {
        simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"20s\"\ncore = {{server_rate = \"10Mbps\", {queue}}}\n\
             [[link]]\nrate = \"1Gbps\"\n[[ue]]\n[[flow]]"
        ))
    };
    let (tail, red) = (run("server_queue = 100"), run("server_aqm = \"red\""));
    let server = |outcome: &Outcome| outcome.links().iter().find(|row| row.link == "server").unwrap().clone();
    let (tail, red) = (server(&tail), server(&red));
    assert!(
        tail.drops.link_queue_full > 0
            && tail.drops.link_queue_early == 0
            && red.drops.link_queue_early > 0
            && red.drops.link_queue_full == 0,
        "{tail:?} {red:?}"
    );
    assert!(red.queue_packets.mean < 15.0 && tail.queue_packets.mean > 50.0, "{tail:?} {red:?}");
}

/// Overload of one UE: delivered packets have waited no longer than the timer, and all discarded packets are counted.
#[test]
fn a_discard_timer_bounds_the_delay() {
    let overload = |timer: &str, mode: &str| {
        simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"5s\"\nrlc = {{mode = \"{mode}\", discard_timer = \"{timer}\", \
             queue = {{kind = \"drop-tail\", buffer = \"2MB\"}}}}\n\
             [[site]]\n[[ue]]\nplacement = {{kind = \"ring\", radius = \"300m\"}}\n\
             [[flow]]\ntraffic = {{kind = \"cbr\", rate = \"60Mbps\", packet = \"1000B\"}}"
        ))
    };
    // The cell carries 35.16 Mbit/s: 2 MB are a queueing delay of 455 ms.
    for mode in ["um", "am"] {
        for (timer, ms) in [("50ms", 50.0), ("150ms", 150.0), ("infinity", 455.0)] {
            let outcome = overload(timer, mode);
            let drops = outcome.totals().drops;
            let (discarded, full) = (drops.pdcp_discard, drops.rlc_queue_full);
            assert_eq!((discarded > 1000, full > 1000), (ms < 200.0, ms > 200.0), "{mode} {timer}");
            // 10 ms on the wire and 3 ms on the air; the last PDU of an SDU may follow the first by one or two TTIs.
            // Delays are recorded with a precision of 1 %.
            let delay = outcome.flows()[0].delay_ms.p99.unwrap();
            assert!(
                delay > 13.0 + 0.9 * ms && delay < 1.01 * (13.0 + ms + 3.0),
                "{mode} {timer}: {delay} ms"
            );
        }
    }
}
