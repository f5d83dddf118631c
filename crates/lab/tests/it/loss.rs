//! Loss on links, in complete runs.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// A download over a wire of 10 Mbit/s and 25 ms.
const WIRE: &str = r#"
    preset = "airwnd-0.1"
    duration = "20s"
    warmup = "0s"
    tcp = {mss = 1000, timestamps = true}
    core = {server_rate = "0bps", server_delay = "0ms"}
    [[link]]
    rate = "10Mbps"
    delay = "25ms"
    [[ue]]
    [[flow]]
"#;

/// Datagrams of 1000 B, one per millisecond.
const DATAGRAMS: &str = "{kind = \"cbr\", rate = \"8Mbps\", packet = \"1000B\"}";

fn simulate(toml: &str, seed: u64, changes: &[(&str, &str)]) -> Outcome {
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    run(&Scenario::from_node(&node).unwrap(), seed, None, &mut |_| true).unwrap()
}

fn dropped(outcome: &Outcome, cause: &str) -> u64 {
    outcome.to_json()["totals"][format!("drops_{cause}")].as_u64().unwrap()
}

/// Binomial: of 20000 packets with p = 0.02, 400 are lost with a standard deviation of 20; the tolerance of 80 is four
/// of these.
#[test]
fn datagrams_are_lost_at_the_rate_with_their_cause() {
    let lossy = ("link[0].loss", "{kind = \"packet-error\", rate = 0.02}");
    let outcome = simulate(WIRE, 1, &[lossy, ("flow[0].traffic", DATAGRAMS)]);
    let (flow, lost) = (&outcome.flows()[0], dropped(&outcome, "link_error"));
    assert!(lost.abs_diff(400) < 80, "{lost}");
    // Packets of the last 26 ms are in flight.
    assert!((flow.packets_sent - flow.packets_received - lost) <= 26);
    assert_eq!(dropped(&outcome, "link_queue_full"), 0);
}

/// Data and ACKs of downloads and uploads are subject to the loss of their direction, on both links.
#[test]
fn each_direction_has_its_own_loss() {
    let all = "{kind = \"packet-error\", rate = 1.0}";
    for (key, direction, arrives) in [
        ("link[0].loss", "down", false),
        ("link[0].loss_up", "down", true),
        ("link[0].loss", "up", true),
        ("link[0].loss_up", "up", false),
        ("core.server_loss", "down", false),
        ("core.server_loss_up", "down", true),
        ("core.server_loss", "up", true),
        ("core.server_loss_up", "up", false),
    ] {
        let changes = [(key, all), ("flow[0].direction", direction), ("flow[0].traffic", DATAGRAMS)];
        let outcome = simulate(WIRE, 1, &changes);
        assert_eq!(outcome.flows()[0].packets_received > 0, arrives, "{key} {direction}");
        assert_eq!(dropped(&outcome, "link_error") == 0, arrives, "{key} {direction}");
    }
}

/// The server link also precedes cells.
#[test]
fn the_server_link_loses_packets_to_a_cell() {
    let cell = "preset = 'airwnd-0.1'\nduration = '2s'\ncore.server_loss = {kind = 'scripted', packets = [0, 5]}\n\
                [[site]]\n[[ue]]\n[[flow]]\ntraffic = 'cbr'";
    let outcome = simulate(cell, 1, &[]);
    assert_eq!(dropped(&outcome, "link_error"), 2);
}

/// The first packet is the SYN, which is retransmitted after the initial RTO; packet 9 is repaired by fast retransmit.
#[test]
fn a_scripted_loss_is_repaired() {
    let time = |size: &str, packets: &str| {
        let script = format!("{{kind = \"scripted\", packets = {packets}}}");
        let traffic = format!("{{kind = \"transfer\", size = \"{size}\"}}");
        let changes = [("link[0].loss", &*script), ("flow[0].traffic", &traffic), ("tcp.initial_rto", "1s")];
        let flow = simulate(WIRE, 1, &changes).flows()[0].clone();
        (flow.fct_s.unwrap(), flow.retransmissions)
    };
    let waits = time("1kB", "[0]").0 - time("1kB", "[]").0;
    assert!((waits - 1.0).abs() < 1e-6, "{waits}");
    let ((unharmed, none), (repaired, one)) = (time("60kB", "[]"), time("60kB", "[9]"));
    assert!((0.0..0.2).contains(&(repaired - unharmed)), "{repaired} {unharmed}");
    assert_eq!((none, one), (0, 1));
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    for loss in [
        "{kind = \"packet-error\", rate = 0.01}",
        "{kind = \"bit-error\", rate = 1e-6}",
        "{kind = \"gilbert-elliott\", good_to_bad = 0.01}",
        "{kind = \"gilbert-elliott-time\", good = \"500ms\"}",
    ] {
        let text = |seed| simulate(WIRE, seed, &[("link[0].loss", loss)]).to_json().to_string();
        assert_eq!(text(1), text(1), "{loss}");
        assert_ne!(text(1), text(2), "{loss}");
    }
}

/// The loss of packet n of a link does not depend on its content or size.
#[test]
fn losses_do_not_depend_on_the_traffic() {
    let received = |rate: &str, packet: &str| {
        let traffic = format!("{{kind = \"cbr\", rate = \"{rate}\", packet = \"{packet}\"}}");
        let lossy = ("link[0].loss", "{kind = \"packet-error\", rate = 0.02}");
        let changes = [lossy, ("flow[0].traffic", &traffic), ("flow[0].stop", "19s")];
        simulate(WIRE, 1, &changes).flows()[0].packets_received
    };
    let large = received("8Mbps", "1000B");
    assert!(large < 19_000);
    assert_eq!(received("4Mbps", "500B"), large);
}

/// Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997: W = sqrt(3/2) / sqrt(p) segments per RTT with an ACK for each
/// segment. The formula assumes losses at equal intervals. With independent losses the constant is 1.31 rather than
/// 1.22, and the RTT taken by each recovery has the opposite effect: tolerance 10 %.
#[test]
fn newreno_follows_the_square_root_law() {
    for p in [3e-4, 1e-3, 3e-3] {
        let rate = format!("{{kind = \"packet-error\", rate = {p:?}}}");
        let outcomes = (1..=2).map(|seed| {
            let changes = [
                ("duration", "1000s"),
                ("link[0].rate", "10Gbps"),
                ("link[0].delay", "50ms"),
                ("link[0].loss", &rate),
                ("tcp.delayed_ack_count", "1"),
                ("tcp.recovery", "newreno"),
                ("tcp.send_buffer", "64MiB"),
                ("tcp.receive_buffer", "64MiB"),
            ];
            simulate(WIRE, seed, &changes).flows()[0].goodput_kbps
        });
        let measured = outcomes.sum::<f64>() / 2.0;
        let expected = 8000.0 / 0.1 * f64::sqrt(1.5 / p) / 1e3;
        println!("p = {p}: {measured:.0} kbit/s, formula {expected:.0}, ratio {:.3}", measured / expected);
        assert!((measured / expected - 1.0).abs() < 0.1, "{p}: {measured} kbit/s, not {expected}");
    }
}
