//! NewReno flows through queue disciplines, compared with runs of ns-3 3.44 (S5): 10 Mbit/s, 25 ms one-way delay, flow
//! starts 0.1 s apart, disciplines over a device queue of one packet; four flows for 60 s, and one for 30 s.
//!
//! Queue lengths include both queues. Randomized disciplines are compared by means over seeds. `cargo test -p
//! airwnd-lab --test suite ns3_disciplines:: -- --nocapture` prints every comparison.

use crate::support::csv::rows;
use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};

struct Figures {
    goodput_kbps: f64,
    delay_ms: f64,
    mean_queue: f64,
}

/// Settings of a run besides its discipline: number of flows, bytes of a segment, segments per ACK and duration.
struct Transfer {
    flows: u32,
    mss: u32,
    segments_per_ack: u32,
    seconds: u32,
}

const FOUR: Transfer = Transfer { flows: 4, mss: 1000, segments_per_ack: 2, seconds: 60 };
const ONE: Transfer = Transfer { flows: 1, mss: 500, segments_per_ack: 1, seconds: 30 };

fn simulate(aqm: &str, transfer: &Transfer, seed: u64) -> Figures {
    let Transfer { flows, mss, segments_per_ack, seconds } = *transfer;
    let flow =
        |number| format!("[[flow]]\nid = \"{number}\"\ncc = \"newreno\"\nstart = \"{}ms\"\n", 100 * number);
    let flows: String = (0..flows).map(flow).collect();
    let toml = format!(
        r#"
        preset = "ns3.44"
        duration = "{seconds}s"
        warmup = "0s"
        [tcp]
        mss = {mss}
        send_buffer = "4MiB"
        receive_buffer = "4MiB"
        delayed_ack_count = {segments_per_ack}
        [core]
        server_rate = "1Gbps"
        server_delay = "1us"
        [[link]]
        rate = "10Mbps"
        delay = "25ms"
        ring = 1
        aqm = {aqm}
        [[ue]]
        {flows}
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "s5").unwrap()).unwrap();
    let outcome = run(&scenario, seed, None, &mut |_| true).unwrap();
    let link = outcome.links().iter().find(|row| row.link == "link").unwrap();
    let totals = outcome.totals();
    Figures {
        goodput_kbps: totals.goodput_kbps,
        delay_ms: totals.delay_ms_mean.unwrap(),
        mean_queue: link.queue_packets.mean,
    }
}

/// Parameters of a discipline of the ns-3 runs. ns-3's PIE has a threshold of two packets of this size rather than in
/// bytes.
fn as_in_ns3(discipline: &str, packets: &str, size: u32) -> String {
    let settings = match discipline {
        "DropTail" => "kind = \"drop-tail\", buffer = \"1GB\"",
        "CoDel" => "kind = \"codel\"",
        "Pie" => "kind = \"pie\"",
        "Cobalt" => "kind = \"cobalt\"",
        "FqCoDel" => "kind = \"fq-codel\"",
        "FqPie" => "kind = \"fq-pie\"",
        "FqCobalt" => "kind = \"fq-cobalt\"",
        other => unreachable!("no row of {other}"),
    };
    let of_pie =
        if discipline.contains("Pie") { format!(", mean_pktsize = \"{size}B\"") } else { String::new() };
    format!("{{{settings}, packets = {packets}{of_pie}}}")
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

#[track_caller]
fn assert_near(aqm: &str, goodput_kbps: f64, mean_queue: f64) {
    let runs: Vec<Figures> = (1..=3).map(|seed| simulate(aqm, &FOUR, seed)).collect();
    let mean = |figure: fn(&Figures) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    let (goodput, queue) = (mean(|run| run.goodput_kbps), mean(|run| run.mean_queue));
    let of_goodput = 100.0 * (goodput / goodput_kbps - 1.0);
    let of_queue = 100.0 * (queue / mean_queue - 1.0);
    println!(
        "{aqm}: {goodput:.0} / {goodput_kbps} kbit/s ({of_goodput:+.2} %), {queue:.2} / {mean_queue:.2} packets ({of_queue:+.2} %)"
    );
    assert!(of_goodput.abs() <= 3.0, "{aqm}: goodput off by {of_goodput:.2} %");
    assert!(of_queue.abs() <= 10.0, "{aqm}: mean queue off by {of_queue:.2} %");
}

#[test]
fn four_flows_through_every_discipline() {
    for row in rows(include_str!("../data/s5_aqm.csv")) {
        let aqm = as_in_ns3(row("discipline"), row("packets"), 1054);
        let queue = number(row("mean_qdisc_pkts")) + number(row("mean_devq_pkts"));
        assert_near(&aqm, number(row("goodput_kbps")), queue);
    }
}

/// One flow has the same goodput and delay through a discipline and through its variant with a queue per flow, whose
/// queue is full before all queues together are.
#[test]
fn one_flow_through_every_discipline() {
    for row in rows(include_str!("../data/s5_aqm_one.csv")) {
        let aqm = as_in_ns3(row("discipline"), "100", 554);
        let is_random = !row("discipline").contains("CoDel");
        let seeds = if is_random { 12 } else { 1 };
        let runs: Vec<Figures> = (1..=seeds).map(|seed| simulate(&aqm, &ONE, seed)).collect();
        let mean = |figure: fn(&Figures) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
        let (goodput, delay) = (mean(|run| run.goodput_kbps), mean(|run| run.delay_ms));
        let of_goodput = 100.0 * (goodput / number(row("goodput_kbps")) - 1.0);
        let of_delay = 100.0 * (delay / number(row("delay_ms")) - 1.0);
        println!("{aqm}: {goodput:.0} kbit/s ({of_goodput:+.2} %), {delay:.2} ms ({of_delay:+.2} %)");
        // Means of the random ones are known within 1.5 %.
        let percent = if is_random { 4.0 } else { 0.1 };
        assert!(of_goodput.abs() <= percent, "{aqm}: goodput off by {of_goodput:.2} %");
        assert!(of_delay.abs() <= percent, "{aqm}: delay off by {of_delay:.2} %");
    }
}

/// ns-3's adaptive RED can lower max_p to 8 s / RTT for a packet transmission time of s seconds.
#[test]
fn four_flows_through_red() {
    for row in rows(include_str!("../data/s5_red.csv")) {
        let (kind, bottom) = match (row("ared"), row("gentle")) {
            ("true", _) => ("adaptive-red", "bottom = 0.00008, "),
            (_, "true") => ("gentle-red", ""),
            _ => ("red", ""),
        };
        let spacing = if row("wait") == "true" { "wait" } else { "uniform" };
        let aqm = format!(
            "{{kind = \"{kind}\", {bottom}spacing = \"{spacing}\", \
             min_th = {:?}, max_th = {:?}, max_p = {:?}, mean_packet = \"1kB\", packets = 100}}",
            number(row("min_th")),
            number(row("max_th")),
            1.0 / number(row("linterm"))
        );
        let queue = number(row("mean_qdisc_pkts")) + number(row("mean_devq_pkts"));
        assert_near(&aqm, number(row("goodput_kbps")), queue);
    }
}
