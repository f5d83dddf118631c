//! Shapers of UEs, and pings beside transfers, in complete runs.

use airwnd_catalog::{Error, Node};
use airwnd_kernel::Direction;
use airwnd_lab::{Column, FlowRow, Outcome, Scenario, run};
use airwnd_units::Span;

fn read(toml: &str) -> Result<Scenario, Error> {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap())
}

fn simulate(toml: &str) -> Outcome {
    run(&read(toml).unwrap(), 1, Some(Span::from_secs(1)), &mut |_| true).unwrap()
}

fn flow<'a>(outcome: &'a Outcome, id: &str) -> &'a FlowRow {
    outcome.flows().iter().find(|row| row.id == id).unwrap()
}

const PING: &str = "[[flow]]\nid = \"ping\"\ntraffic = \"ping\"\ndirection = \"up\"\n";
const DOWNLOAD: &str = "[[flow]]\nid = \"download\"\ncc = \"cubic\"\n";
const UPLOAD: &str = "[[flow]]\nid = \"upload\"\ncc = \"cubic\"\ndirection = \"up\"\n";

/// A wire of 10/5 Mbit/s with an RTT of 20 ms and a second of buffer, and a UE with these keys.
fn wire(ue: &str, flows: &str) -> String {
    format!(
        "duration = \"60s\"\ntcp.stack = \"linux\"\ncore = {{server_rate = \"0bps\", server_delay = \"0ms\"}}\n\
         [[link]]\nrate = \"10Mbps\"\nrate_up = \"5Mbps\"\ndelay = \"10ms\"\nframing = \"0B\"\n\
         aqm = {{kind = \"drop-tail\", buffer = \"1MB\"}}\n[[ue]]\n{ue}\n{flows}"
    )
}

/// 92 B with their headers take 0.0736 ms down and 0.1472 ms up.
#[test]
fn a_ping_measures_the_rtt_in_both_directions() {
    let outcome = simulate(&wire(
        "",
        &format!("{PING}{}", PING.replace("up", "down").replace("ping\"\nt", "back\"\nt")),
    ));
    for id in ["ping-0", "back-0"] {
        let ping = flow(&outcome, id);
        let mean = ping.rtt_ms.mean.unwrap();
        assert!((mean - 20.2208).abs() < 0.05, "{id}: {mean}");
        assert_eq!((ping.packets_sent, ping.packets_dropped), (1201, 0));
    }
    let (_, rtts) = outcome.series().iter().find(|(name, _)| name == "rtt_ms").unwrap();
    let Column::F64(rtts) = rtts else { panic!("RTTs are numbers") };
    assert!(rtts.len() == 120 && rtts.iter().all(|rtt| (rtt - 20.2208).abs() < 0.05), "{rtts:?}");
    // The delay is that of the requests.
    let delay = flow(&outcome, "ping-0").delay_ms.mean.unwrap();
    assert!((delay - 10.1472).abs() < 0.05, "{delay}");
}

#[test]
fn fixed_shapers_move_the_queue_to_the_ue() {
    let flows = [DOWNLOAD, UPLOAD, PING].concat();
    let ue = "shaper.rates = {kind = \"fixed\", rate = \"8Mbps\", rate_up = \"4Mbps\"}";
    let (free, shaped) = (simulate(&wire("", &flows)), simulate(&wire(ue, &flows)));
    let p95 = |outcome: &Outcome| flow(outcome, "ping-0").rtt_ms.p95.unwrap();
    assert!(p95(&free) > 500.0 && p95(&shaped) < 30.0, "{} {}", p95(&free), p95(&shaped));
    let rows =
        |way| shaped.links().iter().find(move |row| row.link == "shaper" && row.direction == way).unwrap();
    for (way, rate_bps) in [(Direction::Down, 8e6), (Direction::Up, 4e6)] {
        let used = 8.0 * rows(way).bytes as f64 / 60.0 / rate_bps;
        assert!((0.95..1.0).contains(&used), "{way:?}: {used}");
        assert_eq!((rows(way).of.as_deref(), rows(way).utilisation), (Some("0"), None));
    }
}

/// `capacity` knows nothing of the link. The figures of the guard with CAKE over a wire are 98 to 99 % of the throughput.
#[test]
fn capacity_finds_the_rates_of_a_wire() {
    for (flows, goodputs) in [
        ([DOWNLOAD, PING].concat(), vec![("download-0", 10_000.0)]),
        ([UPLOAD, PING].concat(), vec![("upload-0", 5_000.0)]),
        ([DOWNLOAD, UPLOAD, PING].concat(), vec![("download-0", 10_000.0), ("upload-0", 5_000.0)]),
    ] {
        let shaped = simulate(&wire("shaper = {}", &flows));
        let ping = flow(&shaped, "ping-0").rtt_ms;
        assert!(ping.p95.unwrap() < 60.0, "{goodputs:?}: {ping:?}");
        for (id, rate_kbps) in goodputs {
            let used = flow(&shaped, id).goodput_kbps / rate_kbps;
            // Headers take 3.5 %, the ACKs of the other direction 2 to 4 %, and the rate is found while both begin.
            assert!(used > 0.8, "{id}: {used}");
        }
    }
    let down =
        simulate(&wire("shaper.rates = {kind = \"capacity\", ways = \"down\"}", &[UPLOAD, PING].concat()));
    assert!(flow(&down, "ping-0").rtt_ms.p95.unwrap() > 500.0);
}

/// Without timestamps nothing of a flow is visible.
#[test]
fn capacity_does_not_limit_what_it_cannot_see() {
    let hidden = DOWNLOAD.replace("cc", "tcp.timestamps = false\ncc") + PING;
    let (free, shaped) = (simulate(&wire("", &hidden)), simulate(&wire("shaper = {}", &hidden)));
    assert_eq!(flow(&free, "download-0").goodput_kbps, flow(&shaped, "download-0").goodput_kbps);
}

#[test]
fn autorate_stays_between_its_bounds() {
    let rates = "kind = \"autorate\", min = \"2Mbps\", base = \"4Mbps\", max = \"6Mbps\", min_up = \"1Mbps\", \
                 base_up = \"2Mbps\", max_up = \"3Mbps\"";
    let ue = format!("shaper.rates = {{{rates}}}");
    let shaped = simulate(&wire(&ue, &[DOWNLOAD, UPLOAD, PING].concat()));
    let rate = |id| flow(&shaped, id).goodput_kbps;
    assert!((5_300.0..6_000.0).contains(&rate("download-0")), "{}", rate("download-0"));
    assert!((2_600.0..3_000.0).contains(&rate("upload-0")), "{}", rate("upload-0"));
    let error = read(&wire(&ue, DOWNLOAD)).unwrap_err().to_string();
    assert!(error.contains("ue[0].shaper.rates") && error.contains("traffic = \"ping\""), "{error}");
    let error = read(&wire(&ue.replace("4Mbps", "7Mbps"), PING)).unwrap_err().to_string();
    assert!(error.contains("7Mbps is not between the minimum, 2Mbps, and the maximum, 6Mbps"), "{error}");
}

/// Only the second group has shapers, beyond a handover, with Wi-Fi before and radio behind.
#[test]
fn each_ue_has_its_shapers_in_cells() {
    let cells = |shaper: &str| {
        format!(
            "duration = \"12s\"\ntcp.stack = \"linux\"\nhandover.algorithm = \"a3-rsrp\"\n[[site]]\n[[site]]\n\
             position = [\"600m\", \"0m\"]\n[[ue]]\nname = \"plain\"\ncount = 2\n[[ue]]\nname = \"shaped\"\ncount = 2\n\
             placement = {{kind = \"disc\", min_radius = \"0m\", radius = \"20m\", centre = [\"200m\", \"40m\"]}}\n\
             mobility = {{kind = \"constant-velocity\", speed = \"25m/s\"}}\n{shaper}\n{DOWNLOAD}{UPLOAD}{PING}"
        )
    };
    let (free, shaped) = (simulate(&cells("")), simulate(&cells("shaper = {}")));
    let shapers: Vec<_> = shaped.links().iter().filter(|row| row.link == "shaper").collect();
    assert_eq!(shapers.iter().filter_map(|row| row.of.as_deref()).collect::<Vec<_>>(), ["2", "2", "3", "3"]);
    assert!(shapers.iter().all(|row| row.packets > 100));
    let p95 = |outcome: &Outcome, id: &str| flow(outcome, id).rtt_ms.p95.unwrap();
    for id in ["ping-2", "ping-3"] {
        assert!(p95(&shaped, id) < p95(&free, id) / 2.0, "{id}: {} {}", p95(&shaped, id), p95(&free, id));
    }
}

#[test]
fn the_name_of_the_shapers_is_reserved() {
    let error =
        read(&wire("", PING).replace("[[link]]\n", "[[link]]\nname = \"shaper\"\n")).unwrap_err().to_string();
    assert!(error.contains("`shaper` is the link of ue.shaper"), "{error}");
}
