//! Receive-window controls that use exact link state.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn scenario(toml: &str) -> Result<Scenario, String> {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).map_err(|error| error.to_string())
}

fn outcome(toml: &str) -> Outcome {
    outcome_with("", toml)
}

fn outcome_with(quirks: &str, toml: &str) -> Outcome {
    let mut scenario = scenario(toml).unwrap();
    scenario.set_quirks(quirks).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

const TCP: &str = "tcp = {mss = 1400, send_buffer = \"4MiB\", receive_buffer = \"4MiB\"}\n";

/// Goodput in Mbit/s and the 95th percentile of the one-way delay in ms, of all flows.
fn result(duration: &str, network: &str, rwnd: &str) -> (f64, f64) {
    let toml = format!(
        "preset = \"airwnd-0.1\"\nduration = \"{duration}\"\n{TCP}{network}[[flow]]\nrwnd = {rwnd}\n"
    );
    let totals = outcome(&toml).totals();
    (totals.goodput_kbps / 1e3, totals.delay_ms_p95.unwrap())
}

/// The oracle nearly reaches the rate of full buffers with almost no queue: on a wire, on a link trace, and in a cell with
/// ten UEs with fading channels.
#[test]
fn an_oracle_gets_the_rate_without_the_queue() {
    let wire = "[[link]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = 1000\n[[ue]]\n";
    let recording = "core.server_delay = \"0ms\"\n[[link]]\nkind = \"trace\"\ndown = \"nyc-times\"\nrate_up = \"50Mbps\"\n\
                     delay = \"20ms\"\nqueue = 1000\n[[ue]]\n";
    let cell = "core.server_delay = \"20ms\"\nradio.fading = {kind = \"epa\", speed = \"3km/h\"}\n\
                rlc.queue = {kind = \"drop-tail\", buffer = \"500KiB\"}\n[[site]]\n[[ue]]\ncount = 10\n";
    for (network, part, max) in [(wire, 0.98, 36.0), (recording, 0.97, 45.0), (cell, 0.95, 46.0)] {
        let (full, bloated) = result("6s", network, "\"fixed\"");
        let (rate, delay) = result("6s", network, "\"oracle\"");
        assert!(rate >= part * full, "{rate} of {full} Mbit/s over\n{network}");
        assert!(delay <= max && bloated > 2.0 * delay, "{delay} ms, not {bloated}, over\n{network}");
    }
}

/// Several connections of a UE advertise together as much as one connection, and other UEs get their share.
#[test]
fn connections_and_ues_share() {
    let network = "preset = \"airwnd-0.1\"\nduration = \"6s\"\n[[link]]\nrate = \"12Mbps\"\ndelay = \"20ms\"\nqueue = 1000\n\
                   [[ue]]\nname = \"one\"\n[[ue]]\nname = \"other\"\n";
    let flows = "[[flow]]\nid = \"a\"\nue = \"one\"\nrwnd = \"oracle\"\n[[flow]]\nid = \"b\"\nue = \"one\"\nrwnd = \"oracle\"\n\
                 [[flow]]\nid = \"c\"\nue = \"other\"\nrwnd = \"oracle\"\nstart = \"500ms\"\n";
    let outcome = outcome(&format!("{TCP}{network}{flows}"));
    let mbps: Vec<f64> = outcome.flows().iter().map(|flow| flow.goodput_kbps / 1e3).collect();
    assert!((mbps[0] - mbps[1]).abs() < 0.2 && (mbps[0] + mbps[1] - mbps[2]).abs() < 0.8, "{mbps:?}");
    assert!(outcome.totals().delay_ms_p95.unwrap() < 50.0, "{:?}", outcome.totals().delay_ms_p95);
}

/// The oracle leaves the capacity used by UDP traffic (half of the cell's blocks here, padding included) to it.
#[test]
fn capacity_used_by_udp_is_left_to_it() {
    let cell = |rate: &str| {
        format!(
            "core.server_delay = \"20ms\"\n\
             rlc.queue = {{kind = \"drop-tail\", buffer = \"500KiB\"}}\n[[site]]\n\
             [[ue]]\nname = \"far\"\n[[ue]]\nname = \"near\"\n\
             [[flow]]\nid = \"video\"\nue = \"far\"\ntraffic = {{kind = \"cbr\", rate = \"{rate}\"}}\n"
        )
    };
    let totals = |rate: &str| {
        let toml = format!(
            "preset = \"airwnd-0.1\"\nduration = \"4s\"\n{TCP}{}[[flow]]\nid = \"bulk\"\nue = \"near\"\nrwnd = \"oracle\"\n",
            cell(rate)
        );
        let outcome = outcome_with("mac.buffer_reports = \"ideal\"", &toml);
        let delay = outcome.flows()[1].delay_ms.p95.unwrap();
        (outcome.flows()[0].pdf_percent, outcome.flows()[1].goodput_kbps / 1e3, delay)
    };
    let (_, alone, _) = totals("10kbps");
    let (delivered, beside, delay) = totals("8Mbps");
    assert!(delivered.unwrap() > 99.0 && beside > 15.0 && alone > 30.0, "{delivered:?} {alone} {beside}");
    assert!(delay < 45.0, "{delay}");
}

/// With handover between two cells data keeps flowing and the queue stays short.
#[test]
fn handover_keeps_the_rate_and_a_short_queue() {
    let toml = format!(
        "preset = \"airwnd-0.1\"\nduration = \"14s\"\n{TCP}handover.algorithm = \"a3-rsrp\"\nrlc.queue = {{kind = \"drop-tail\", buffer = \"500KiB\"}}\n\
         [[site]]\n[[site]]\nposition = [\"600m\", \"0m\"]\n\
         [[ue]]\nplacement = {{kind = \"line\", from = [\"100m\", \"30m\"]}}\nmobility = {{kind = \"constant-velocity\", speed = \"35m/s\"}}\n\
         [[flow]]\ncc = \"cubic\"\nrwnd = \"oracle\"\n"
    );
    let outcome = outcome(&toml);
    let flow = &outcome.flows()[0];
    assert!(outcome.ues()[0].handovers >= 1);
    assert!(flow.goodput_kbps > 8000.0 && flow.delay_ms.p95.unwrap() < 40.0, "{flow:?}");
}

/// The reconstruction drains a queue left by another flow if it uses the minimum RTT; with the mean RTT a standing queue
/// remains.
#[test]
fn rate_matching_needs_the_minimum_rtt() {
    let usual_delay = |rwnd: &str| {
        let network = "[[link]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = 1000\n[[ue]]\n";
        let passing = "[[flow]]\nid = \"passing\"\nstart = \"1s\"\nstop = \"2s\"\n";
        let toml = format!(
            "preset = \"airwnd-0.1\"\nduration = \"10s\"\n{TCP}{network}[[flow]]\nrwnd = {rwnd}\n{passing}"
        );
        let outcome = outcome(&toml);
        (outcome.totals().goodput_kbps, outcome.flows()[0].delay_ms.p50.unwrap())
    };
    let (min, mean) = (usual_delay("\"rtfc\""), usual_delay("{kind = \"rtfc\", filter = \"mean\"}"));
    assert!(min.0 > 9000.0 && min.1 < 35.0, "{min:?}");
    assert!(mean.1 > 1.5 * min.1, "{mean:?} {min:?}");
}

#[test]
fn undefined_link_rates_are_rejected() {
    let refusal = |network: &str, flow: &str| {
        scenario(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"1s\"\n{network}[[ue]]\nname = \"some\"\n[[flow]]\n{flow}\n"
        ))
        .unwrap_err()
    };
    let wire = "[[link]]\nrate = \"1Mbps\"\n";
    let wifi = "[[link]]\nname = \"hall\"\nkind = \"wifi\"\n";
    for rwnd in ["oracle", "rtfc"] {
        let rwnd_is = format!("rwnd = \"{rwnd}\"");
        assert_eq!(
            refusal(wifi, &rwnd_is),
            format!(
                "test:9: flow[0].rwnd: `{rwnd}` requires the rates of all links, and the rate of `hall`, a shared \
                 Wi-Fi link, is not defined"
            )
        );
        assert_eq!(
            refusal(wire, &format!("direction = \"up\"\n{rwnd_is}")),
            format!(
                "test:9: flow[0].rwnd: `{rwnd}` requires link rates, defined for downlink data only; set direction = \"down\""
            )
        );
        assert_eq!(
            refusal(wire, &format!("traffic = \"cbr\"\n{rwnd_is}")),
            format!(
                "test:9: flow[0].rwnd: `cbr` sends UDP datagrams, which have no receive window; remove `{rwnd}`"
            )
        );
    }
    // A Wi-Fi link on the path of other UEs is allowed.
    let beside = format!(
        "{wire}name = \"w\"\n{wifi}[[ue]]\nname = \"home\"\nvia = [\"hall\"]\n[[ue]]\nvia = [\"w\"]\nname = \"some\"\n"
    );
    let toml = format!(
        "preset = \"airwnd-0.1\"\nduration = \"1s\"\n{beside}[[flow]]\nue = \"some\"\nrwnd = \"oracle\"\n[[flow]]\nid = \"h\"\nue = \"home\"\n"
    );
    run(&scenario(&toml).unwrap(), 1, None, &mut |_| true).unwrap();
    let impossible = refusal(wire, "rwnd = {kind = \"oracle\", standing = \"-1ms\"}");
    assert!(impossible.contains("flow[0].rwnd.standing"), "{impossible}");
}
