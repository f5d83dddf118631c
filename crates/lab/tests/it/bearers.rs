//! Several bearers of a UE: delays and rates of flows beside each other.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// A cell of LTE, and one of NR in TDD.
const CELLS: [(&str, &str); 2] = [
    ("lte", ""),
    (
        "nr",
        "carrier = {bandwidth = \"20MHz\", downlink_frequency = \"3.5GHz\"}\n\
         radio.access = {kind = \"nr\", numerology = 1, pattern = \"DDDSU\"}\n",
    ),
];

/// One UE with these bearers and flows, and a second UE with a download.
fn cell(network: &str, keys: &str, bearers: &str, flows: &str) -> Outcome {
    simulate(&format!(
        "duration = \"12s\"\nwarmup = \"3s\"\nrlc.queue = {{kind = \"drop-tail\", buffer = \"3MB\"}}\n{network}{keys}\
         [[site]]\n[[ue]]\nname = \"phone\"\nplacement = {{kind = \"ring\", radius = \"400m\"}}\n{bearers}\n\
         [[ue]]\nname = \"other\"\nplacement = {{kind = \"ring\", radius = \"400m\"}}\n\
         [[flow]]\nid = \"other\"\nue = \"other\"\n{flows}"
    ))
}

const DOWNLOAD: &str = "[[flow]]\nid = \"download\"\nue = \"phone\"\n";
const CALL: &str = "[[flow]]\nid = \"call\"\nue = \"phone\"\n\
                    traffic = {kind = \"cbr\", rate = \"64kbps\", packet = \"160B\"}\n";

fn p95(outcome: &Outcome, flow: &str) -> f64 {
    let row = outcome.flows().iter().find(|row| row.id.starts_with(flow)).unwrap();
    row.delay_ms.p95.unwrap()
}

fn goodput(outcome: &Outcome, flow: &str) -> f64 {
    outcome.flows().iter().find(|row| row.id.starts_with(flow)).unwrap().goodput_kbps
}

/// A call waits behind the download in a shared bearer, and hardly in its own, in either direction.
#[test]
fn a_call_in_its_own_bearer_does_not_wait_for_a_download() {
    let own = "[[ue.bearer]]\nname = \"call\"\nqci = 1\ngbr = \"100kbps\"\nmode = \"um\"\n";
    for (name, network) in CELLS {
        for direction in ["down", "up"] {
            let turned = |flow: &str| format!("{flow}direction = \"{direction}\"\n");
            let alone = cell(network, "", "", &turned(CALL));
            let shared = cell(network, "", "", &(turned(DOWNLOAD) + &turned(CALL)));
            let flows = format!("{}{}bearer = \"call\"\n", turned(DOWNLOAD), turned(CALL));
            let apart = cell(network, "", own, &flows);
            let [alone, waits, quick] = [&alone, &shared, &apart].map(|outcome| p95(outcome, "call"));
            let downloads = [&shared, &apart].map(|outcome| goodput(outcome, "download"));
            println!(
                "{name} {direction}: p95 {alone:.1} ms without download, {waits:.0} ms behind it, {quick:.1} ms in its \
                 own bearer; download {:.0} and {:.0} kbit/s",
                downloads[0], downloads[1]
            );
            assert!(waits > 400.0 && quick < alone + 12.0, "{name} {direction}");
            assert!(downloads[1] > 0.9 * downloads[0], "{name} {direction}");
        }
    }
}

/// The ACKs of a download wait behind an upload of the same UE, unless that has a bearer of a lower priority.
#[test]
fn an_upload_of_low_priority_does_not_starve_the_acks_of_a_download() {
    let upload = "[[flow]]\nid = \"upload\"\nue = \"phone\"\ndirection = \"up\"\n";
    let background = "qci = 8\n[[ue.bearer]]\nname = \"background\"\nqci = 9\n";
    for (name, network) in CELLS {
        let shared = cell(network, "", "", &format!("{DOWNLOAD}{upload}"));
        let apart = cell(network, "", background, &format!("{DOWNLOAD}{upload}bearer = \"background\"\n"));
        let goodputs = |outcome: &Outcome| ["download", "upload"].map(|flow| goodput(outcome, flow));
        let ([before, up_before], [after, up_after]) = (goodputs(&shared), goodputs(&apart));
        println!(
            "{name}: download {before:.0} kbit/s beside upload {up_before:.0} kbit/s; apart {after:.0} and {up_after:.0}"
        );
        assert!(after > 1.3 * before && up_after > 0.2 * up_before, "{name}");
    }
}

/// Each bearer has its own discipline: DualPI2 keeps the delay of one short beside a full drop-tail buffer in the other.
#[test]
fn each_bearer_has_its_own_queue_discipline() {
    let bearer =
        "[[ue.bearer]]\nname = \"l4s\"\nqueue = {kind = \"dualpi2\", min_th = \"4ms\", range = \"2ms\"}\n";
    let l4s = "[[flow]]\nid = \"l4s\"\nue = \"phone\"\ncc = \"prague\"\nbearer = \"l4s\"\n";
    for (name, network) in CELLS {
        let outcome = cell(network, "tcp.ecn = \"accurate\"\n", bearer, &format!("{DOWNLOAD}{l4s}"));
        let [short, long] = ["l4s", "download"].map(|flow| p95(&outcome, flow));
        let rates = ["l4s", "download"].map(|flow| goodput(&outcome, flow));
        println!("{name}: p95 {short:.1} and {long:.0} ms, {:.0} and {:.0} kbit/s", rates[0], rates[1]);
        assert!(short < 120.0 && long > 4.0 * short, "{name}");
    }
}

/// The highest priority of a UE's data ranks it among others: with M-LWDF a call beside a download is in time.
#[test]
fn delay_aware_schedulers_rank_a_ue_by_its_most_urgent_bearer() {
    let late =
        |scheduler: &str, bearers: &str, bearer: &str| {
            let outcome = simulate(&format!(
            "duration = \"8s\"\ncarrier.bandwidth = \"3MHz\"\nmac.scheduler = \"{scheduler}\"\n[[site]]\n\
             rlc.queue = {{kind = \"drop-tail\", buffer = \"300kB\"}}\n\
             [[ue]]\nname = \"phone\"\nplacement = {{kind = \"ring\", radius = \"900m\"}}\n{bearers}\n\
             [[ue]]\nname = \"others\"\ncount = 15\nplacement = {{kind = \"ring\", radius = \"400m\"}}\n\
             [[flow]]\nid = \"others\"\n{DOWNLOAD}{CALL}{bearer}"
        )
        .replace("[[site]]\nrlc.queue", "rlc.queue")
        .replacen("[[ue]]", "[[site]]\n[[ue]]", 1));
            (p95(&outcome, "call"), goodput(&outcome, "call"))
        };
    let bearers = "[[ue.bearer]]\nname = \"call\"\nqci = 1\ngbr = \"100kbps\"\nmode = \"um\"\n";
    for scheduler in ["m-lwdf", "exp-pf", "cqa", "pss"] {
        let (shared, _) = late(scheduler, "", "");
        let (apart, rate) = late(scheduler, bearers, "bearer = \"call\"\n");
        println!("{scheduler}: p95 {shared:.0} ms in one bearer, {apart:.0} ms apart at {rate:.1} kbit/s");
        assert!(apart < 150.0 && apart < 0.1 * shared, "{scheduler}");
    }
}
