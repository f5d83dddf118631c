//! Downloads with a receive-window control beside traffic that it does not control.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

const FREE: &str = "{kind = \"autotuning\", variant = \"linux-6.18\", max = \"32MiB\"}";
const STANDING: &str = "\"standing\"";
/// As the guard has it.
const DRWA: &str = "{kind = \"drwa\", queue = \"downlink\", competes = true}";

/// A wire with these rates in Mbit/s and this buffer in kB, and an RTT of 20 ms.
fn wire(down: u32, up: u32, buffer_kb: u32) -> String {
    format!(
        "[[link]]\nrate = \"{down}Mbps\"\nrate_up = \"{up}Mbps\"\ndelay = \"10ms\"\nqueue_bytes = \"{buffer_kb}kB\"\n\
         queue_bytes_up = \"{buffer_kb}kB\"\n[[ue]]\nname = \"own\"\n[[ue]]\nname = \"other\"\n"
    )
}

fn outcome(seconds: u32, network: &str, flows: &str) -> Outcome {
    let tcp = "tcp.stack = \"linux\"\ncore.server_delay = \"0ms\"";
    let toml = format!("name = \"beside\"\n{tcp}\nduration = \"{seconds}s\"\n{network}{flows}");
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

fn download(rwnd: &str) -> String {
    format!("[[flow]]\nid = \"own\"\nue = \"own\"\ncc = \"cubic\"\nrwnd = {rwnd}\n")
}

/// Goodput in Mbit/s of the first flow with this control.
fn own_mbps(network: &str, rwnd: &str, beside: &str) -> f64 {
    outcome(60, network, &format!("{}{beside}", download(rwnd))).flows()[0].goodput_kbps / 1e3
}

fn upload(start: &str) -> String {
    format!(
        "[[flow]]\nid = \"upload\"\nue = \"own\"\ncc = \"cubic\"\ndirection = \"up\"\nstart = \"{start}\"\n\
         traffic = {{kind = \"transfer\", size = \"1GiB\"}}\n"
    )
}

fn competitor(cc: &str, times: &str) -> String {
    format!("[[flow]]\nid = \"competitor\"\nue = \"own\"\ncc = \"{cc}\"\nrwnd = {FREE}\n{times}\n")
}

/// Small datagrams in an interval, whose delays are those of the queue.
fn ping(id: &str, start: u32, stop: u32) -> String {
    format!(
        "[[flow]]\nid = \"{id}\"\nue = \"own\"\nstart = \"{start}s\"\nstop = \"{stop}s\"\n\
         traffic = {{kind = \"cbr\", rate = \"16kbps\", packet = \"100B\"}}\n"
    )
}

/// An upload's queue delays the ACKs. The paper's law takes it for its own; with the downlink's queue alone, and released
/// while that of the uplink is long, the download keeps almost what it has without a control.
#[test]
fn an_upload_does_not_take_the_window_from_a_download() {
    for (network, min) in [(wire(50, 5, 300), 0.9), (wire(10, 10, 500), 0.85)] {
        let goodput = |rwnd| own_mbps(&network, rwnd, &upload("0s"));
        let free = goodput(FREE);
        let of_paper = goodput("\"drwa\"");
        assert!(of_paper < 0.25 * free, "{of_paper} of {free} Mbit/s");
        for rwnd in [STANDING, DRWA] {
            let own = goodput(rwnd);
            assert!(own >= min * free, "{rwnd}: {own} of {free} Mbit/s over\n{network}");
        }
    }
}

/// A download of the same device without a control, from the start on: the control is released within round trips.
#[test]
fn a_download_of_the_same_device_is_a_competitor_at_once() {
    let network = wire(10, 10, 500);
    for cc in ["cubic", "bbr"] {
        let goodput = |rwnd| own_mbps(&network, rwnd, &competitor(cc, ""));
        let free = goodput(FREE);
        for rwnd in [STANDING, DRWA] {
            let own = goodput(rwnd);
            assert!(own >= 0.8 * free, "{rwnd}, {cc}: {own} of {free} Mbit/s");
        }
    }
}

/// A constant rate beside the download does not yield, and needs no more than its rate: the queue stays short.
#[test]
fn beside_a_constant_rate_the_control_stays_in_force() {
    let constant = "[[flow]]\nid = \"constant\"\nue = \"own\"\n\
                    traffic = {kind = \"cbr\", rate = \"35Mbps\", packet = \"1200B\"}\n";
    let flows = format!("{}{constant}{}", download(STANDING), ping("ping", 3, 20));
    let outcome = outcome(20, &wire(50, 5, 300), &flows);
    let (own, p95) = (outcome.flows()[0].goodput_kbps / 1e3, outcome.flows()[2].delay_ms.p95.unwrap());
    assert!(own >= 12.0 && p95 <= 20.0, "{own} Mbit/s, {p95} ms");
}

/// Beside a later download without control: at least 85 % of an equal share of what both have, or 70 % beside BBR, whose
/// queue of about one RTT `standing` takes for that of another control.
#[test]
fn a_later_download_without_control_gets_little_more_than_its_share() {
    for network in [wire(10, 10, 500), wire(50, 5, 300)] {
        for (cc, min) in [("cubic", 0.85), ("bbr", 0.7)] {
            for rwnd in [STANDING, DRWA] {
                let flows = format!("{}{}", download(rwnd), competitor(cc, "start = \"5s\""));
                let outcome = outcome(20, &network, &flows);
                let mbps = |flow: usize| outcome.flows()[flow].goodput_kbps / 1e3;
                let (own, other) = (mbps(0), mbps(1));
                let share = own / ((own + other) / 2.0);
                assert!(share >= min, "{rwnd}, {cc}: {own} and {other} Mbit/s over\n{network}");
            }
        }
    }
}

/// When the competitor has gone the control is in force again: within 12 s the queue is as short as before.
#[test]
fn the_queue_is_short_again_after_a_competitor() {
    let network = wire(50, 5, 300);
    let passing = competitor("cubic", "start = \"3s\"\nstop = \"13s\"");
    let flows = format!("{}{passing}{}{}", download(STANDING), ping("beside", 6, 13), ping("after", 25, 35));
    let outcome = outcome(35, &network, &flows);
    let p95 = |flow: usize| outcome.flows()[flow].delay_ms.p95.unwrap();
    assert!(p95(2) > 40.0 && p95(3) < 15.0, "{} and {} ms", p95(2), p95(3));
}

/// Alone on the link nothing is released: all the rate, with a queue of the target and two segments.
#[test]
fn alone_the_control_stays_in_force() {
    for (network, rate, max) in [(wire(10, 10, 500), 9.5, 16.0), (wire(50, 5, 300), 47.5, 14.0)] {
        let outcome = outcome(20, &network, &format!("{}{}", download(STANDING), ping("ping", 3, 20)));
        let (own, p95) = (outcome.flows()[0].goodput_kbps / 1e3, outcome.flows()[1].delay_ms.p95.unwrap());
        assert!(own >= rate && p95 <= max, "{own} Mbit/s, {p95} ms over\n{network}");
    }
}

/// Connections of a device that begin one after the other in its queue keep no longer one than the first alone, and take
/// none for a competitor's: the queue in which they begin is in their minimum one-way delays.
#[test]
fn downloads_of_a_device_keep_one_queue() {
    for (rwnd, max) in [(STANDING, 20.0), (DRWA, 55.0)] {
        for spacing in [0, 7, 90, 700] {
            let flows: String = (0..4)
                .map(|at| {
                    let id = download(rwnd).replacen("\"own\"", &format!("\"{at}\""), 1);
                    format!("{id}start = \"{}ms\"\n", at * spacing)
                })
                .collect();
            let outcome = outcome(16, &wire(10, 10, 1000), &format!("{flows}{}", ping("ping", 8, 16)));
            let p95 = outcome.flows()[4].delay_ms.p95.unwrap();
            assert!(p95 <= max, "{rwnd}, {spacing} ms: {p95} ms");
        }
    }
}

/// Two devices that do not know of each other share the rate, behind BBR with a queue far below that of full buffers
/// (57 ms). CUBIC uses what the windows of two controls allow that take each other for competitors.
#[test]
fn two_controlled_devices_share() {
    for (cc, max_ms) in [("cubic", 60.0), ("bbr", 45.0)] {
        let own = download(STANDING).replace("\"cubic\"", &format!("\"{cc}\""));
        let late = own.replace("\"own\"", "\"other\"");
        let flows = format!("{own}{late}start = \"2s\"\n{}", ping("ping", 5, 30));
        let outcome = outcome(30, &wire(50, 5, 300), &flows);
        let mbps: Vec<f64> = outcome.flows()[..2].iter().map(|flow| flow.goodput_kbps / 1e3).collect();
        let p95 = outcome.flows()[2].delay_ms.p95.unwrap();
        assert!(mbps.iter().all(|mbps| *mbps > 15.0) && p95 < max_ms, "{cc}: {mbps:?} Mbit/s, {p95} ms");
    }
}

/// Transfers that end between two arrivals of the download, in a deep queue of others, remain received by the device: a
/// total that shrinks would be a rate without bounds.
#[test]
fn transfers_that_end_remain_received() {
    let network = wire(10, 10, 500).replace("10Mbps", "300kbps");
    let short = "[[flow]]\nid = \"short\"\nue = \"own\"\ncc = \"cubic\"\n\
                 traffic = {kind = \"transfer\", size = \"20kB\"}\n\
                 arrivals = {kind = \"periodic\", period = \"2s\"}\n";
    let flows = format!("{}{}{short}", download(STANDING), competitor("cubic", ""));
    let outcome = outcome(120, &network, &flows);
    let own = outcome.flows()[0].goodput_kbps;
    assert!((10.0..150.0).contains(&own), "{own} kbit/s");
}
