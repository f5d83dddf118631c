//! Dynamic flows: number, arrival times, sizes and completion times.

use airwnd_catalog::Node;
use airwnd_lab::{Column, Outcome, Scenario, Table, run};
use airwnd_units::Span;
use proptest::prelude::*;

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "flows.toml").unwrap())
        .unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, scenario.seed, None, &mut |_| true).unwrap()
}

/// An unloaded wire of 10 ms per direction, in addition to the 10 ms of the server link.
fn wire(rest: &str) -> String {
    format!(
        "preset = \"airwnd-0.1\"\nduration = \"20s\"\ntcp = {{mss = 1000, initial_window = 10, initial_ssthresh = \"1GB\", timestamps = true}}\n\
         core.server_delay = \"10ms\"\n[[link]]\nrate = \"100Mbps\"\ndelay = \"10ms\"\nqueue = 10000\n{rest}"
    )
}

fn numbers(outcome: &Outcome, name: &str) -> Vec<f64> {
    match outcome.completions().iter().find(|(column, _)| column == name) {
        Some((_, Column::F64(values))) => values.clone(),
        _ => panic!("there is no column {name}"),
    }
}

#[test]
fn count_sets_the_number_of_flows_per_ue() {
    let outcome =
        simulate(&wire("[[ue]]\ncount = 2\n[[flow]]\ncount = 3\nstagger = \"5ms\"\ntraffic = \"transfer\""));
    let ues: Vec<(&str, u32)> = outcome.flows().iter().map(|row| (row.id.as_str(), row.ue)).collect();
    let expected = [("flow-0", 0), ("flow-1", 0), ("flow-2", 0), ("flow-3", 1), ("flow-4", 1), ("flow-5", 1)];
    assert_eq!(ues, expected);
    assert_eq!(numbers(&outcome, "start_s"), [0.0, 0.005, 0.01, 0.015, 0.02, 0.025]);
}

#[test]
fn widely_spaced_flows_complete_like_a_single_one() {
    let times = |arrivals: &str| {
        let outcome = simulate(&wire(&format!(
            "[[ue]]\n[[flow]]\ntraffic = {{kind = \"transfer\", size = \"300kB\"}}\n{arrivals}"
        )));
        numbers(&outcome, "fct_s")
    };
    let alone = times("");
    assert_eq!(alone.len(), 1);
    let often = times("arrivals = {kind = \"periodic\", period = \"4s\"}");
    assert_eq!(often, [alone[0]; 5]);
    let listed = times("arrivals = {kind = \"schedule\", times = [\"1s\", \"9s\"]}");
    assert_eq!(listed, [alone[0]; 2]);
}

/// The connection of a dynamic flow is released when it is over; that of a static flow is kept. Their rows agree.
#[test]
fn releasing_a_connection_keeps_its_results() {
    let rows = |flows: &str| {
        let outcome = simulate(
            &wire(&format!(
                "loss = {{kind = \"packet-error\", rate = 0.02}}\nloss_up = {{kind = \"packet-error\", rate = 0.02}}\n\
                 [[ue]]\n[[flow]]\nrwnd = \"drwa\"\ntraffic = {{kind = \"transfer\", size = \"100kB\"}}\n{flows}"
            ))
            .replace("queue = 10000", "queue = 20"),
        );
        (outcome.flows().to_vec(), outcome.groups()[0].clone(), outcome.totals())
    };
    let stay = rows("count = 40\nstagger = \"500ms\"");
    let go = rows("arrivals = {kind = \"periodic\", period = \"500ms\"}");
    assert!(stay.1.retransmissions > 20 && stay.1.completed > 30, "{:?}", stay.1);
    assert_eq!(stay, go);
}

/// Over a link with 100 % loss the handshake fails; further writes of the application are discarded.
#[test]
fn writes_to_a_failed_connection_are_discarded() {
    let outcome = simulate(
        r#"
        preset = "airwnd-0.1"
        duration = "20s"
        tcp = {max_retries = 1, initial_rto = "500ms"}
        [[link]]
        rate = "1Mbps"
        loss = {kind = "packet-error", rate = 1.0}
        [[ue]]
        [[flow]]
        traffic = {kind = "ftp", rate = "80kbps", chunk = "1000B"}
        arrivals = {kind = "schedule", times = ["0s"]}
        "#,
    );
    let lost: u64 = outcome.links().iter().map(|row| row.drops.link_error).sum();
    assert_eq!((outcome.flows()[0].packets_sent, lost), (2, 2));
}

#[test]
fn flows_do_not_depend_on_the_algorithm() {
    let flows = |change: &str| {
        let outcome = simulate(&wire(&format!(
            "[[ue]]\ncount = 3\n[[flow]]\n{change}\nstop = \"8s\"\narrivals = {{kind = \"poisson\", rate = 5.0}}\n\
             traffic = {{kind = \"transfer\", size = {{kind = \"pareto\", max = \"1MB\"}}}}"
        )));
        (numbers(&outcome, "start_s"), numbers(&outcome, "size_bytes"))
    };
    let plain = flows("");
    assert!(plain.0.len() > 80 && plain.0.is_sorted());
    for rwnd in airwnd_rwnd::Spec::built_in() {
        assert_eq!(plain, flows(&format!("cc = \"cubic\"\nrwnd = \"{rwnd}\"")), "{rwnd}");
    }
    let mut sizes = plain.1.clone();
    sizes.dedup();
    assert_eq!(sizes.len(), plain.1.len(), "each flow draws its own size");
}

#[test]
fn flows_continue_after_the_end_of_arrivals() {
    let outcome = simulate(&wire(
        "[[ue]]\n[[flow]]\nstart = \"2s\"\nstop = \"5s\"\narrivals = {kind = \"poisson\", rate = 20.0}\n\
         traffic = {kind = \"transfer\", size = \"1MB\"}",
    ));
    let starts = numbers(&outcome, "start_s");
    assert!((30..90).contains(&starts.len()));
    assert!(starts[0] > 2.0 && *starts.last().unwrap() < 5.0);
    let group = &outcome.groups()[0];
    assert_eq!((group.completed, group.unfinished), (starts.len() as u64, 0));
}

#[test]
fn unfinished_transfers_are_counted() {
    let outcome = simulate(&wire(
        "[[ue]]\n[[flow]]\nstagger = \"19s\"\ncount = 3\ntraffic = {kind = \"transfer\", size = \"20MB\"}",
    ));
    let group = &outcome.groups()[0];
    assert_eq!((group.flows, group.started, group.completed, group.unfinished), (3, 2, 1, 1));
    assert!(numbers(&outcome, "fct_s")[1].is_nan());
    assert_eq!(group.fct_s.p50, outcome.flows()[0].fct_s);
}

/// The first page takes one RTT for the handshake and one for the main object, later pages one RTT. Sequential requests
/// add one RTT per object, concurrent requests one RTT in all. The RTT is four times 10 ms.
#[test]
fn pages_take_whole_rtts() {
    let pages = |more: &str, up: &str| {
        let outcome = simulate(&wire(&format!(
            "[[ue]]\n[[flow]]\n{up}\ntraffic = {{kind = \"web\", page = \"500B\", object = \"500B\", parsing = \"0s\", \
             reading = \"200ms\", pages = 12, objects_shape = 0.1, {more}}}"
        )));
        assert_eq!(outcome.groups()[0].unfinished, 0);
        numbers(&outcome, "fct_s")
    };
    let round_trips = |times: &[f64]| -> Vec<u32> {
        // The rest is transmission time.
        times.iter().map(|time| (time / 0.04) as u32).collect()
    };
    for up in ["", "direction = \"up\""] {
        let bare = pages("max_objects = 0", up);
        assert_eq!(round_trips(&bare), [2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert!(bare[1] - 0.04 < 0.001, "{bare:?}");
    }
    let in_turn = round_trips(&pages("max_objects = 4", ""));
    assert_eq!((in_turn[1..].iter().max(), in_turn.len()), (Some(&5), 12));
    let together = round_trips(&pages("max_objects = 4, requests = \"together\"", ""));
    assert!(together[1..].iter().all(|trips| (1..=2).contains(trips)), "{together:?}");
}

#[test]
fn requests_are_sent_with_their_size() {
    let outcome = simulate(&wire(
        "[[ue]]\n[[flow]]\ntraffic = {kind = \"web\", page = \"2MB\", max_objects = 0, request = \"30kB\", pages = 2, reading = \"1s\"}",
    ));
    let up = &outcome.links().iter().find(|link| link.link == "link" && link.packets > 0).unwrap();
    let back = outcome.links().iter().rfind(|link| link.link == "link").unwrap();
    assert!(up.bytes > 4_000_000 && back.bytes > 60_000, "{up:?} {back:?}");
    assert_eq!(numbers(&outcome, "size_bytes"), [2e6, 2e6]);
    let goodput = outcome.groups()[0].goodput_kbps;
    assert!((goodput - 4e6 * 8.0 / 20.0 / 1e3).abs() < 1e-6, "requests are no goodput: {goodput}");
}

/// A UE performs one handover. It is recorded for those of its sixty short flows that are active at the time. Each flow
/// is sampled while it is active.
#[test]
fn dynamic_flows_are_recorded_while_active() {
    let toml = r#"
        preset = "airwnd-0.1"
        duration = "12s"
        handover.algorithm = "a3-rsrp"
        rlc.queue = {kind = "drop-tail", buffer = "500kB"}
        [[site]]
        [[site]]
        position = ["200m", "0m"]
        [[ue]]
        placement = {kind = "list", points = [["-20m", "30m"]]}
        mobility = {kind = "constant-velocity", speed = "20m/s"}
        [[flow]]
        traffic = {kind = "transfer", size = "100kB"}
        arrivals = {kind = "periodic", period = "200ms"}
    "#;
    let scenario = Scenario::from_node(&Node::from_toml(toml, "drive.toml").unwrap()).unwrap();
    let outcome = run(&scenario, 1, Some(Span::from_millis(50)), &mut |_| true).unwrap();
    assert_eq!((outcome.ues()[0].handovers, outcome.groups()[0].started), (1, 60));
    let column =
        |table: &Table, name: &str| table.iter().find(|(column, _)| column == name).unwrap().1.clone();
    let Column::Words(events, words) = column(outcome.events(), "event") else { panic!("events are words") };
    let ends = events.iter().filter(|place| words[**place as usize] == "handover_end").count();
    assert!((1..=4).contains(&ends), "{ends}");
    let Column::Words(samples, _) = column(outcome.series(), "flow") else { panic!("flows are words") };
    assert!((60 * 2..60 * 20).contains(&samples.len()), "{}", samples.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The packet ledger is checked at the end of each run; this test checks the flows.
    #[test]
    fn random_flows_are_all_accounted_for(
        seed in 1u64..1000,
        rate in 0.5..20.0f64,
        count in 1u32..4,
        loss in 0.0..0.1f64,
        up in any::<bool>(),
        web in any::<bool>(),
    ) {
        let traffic = if web {
            "{kind = \"web\", pages = 2, reading = \"300ms\"}"
        } else {
            "{kind = \"transfer\", size = {kind = \"exponential\", mean = \"30kB\"}}"
        };
        let direction = if up { "up" } else { "down" };
        let toml = format!(
            "preset = \"airwnd-0.1\"\nduration = \"4s\"\nseed = {seed}\n[[link]]\nrate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = 30\n\
             loss = {{kind = \"packet-error\", rate = {loss:.3}}}\n[[ue]]\ncount = 2\n\
             [[flow]]\ncount = {count}\ndirection = \"{direction}\"\ntraffic = {traffic}\n\
             arrivals = {{kind = \"poisson\", rate = {rate:.3}}}\n"
        );
        let outcome = simulate(&toml);
        let group = &outcome.groups()[0];
        prop_assert_eq!(group.flows as usize, outcome.flows().len());
        let (sizes, times) = (numbers(&outcome, "size_bytes"), numbers(&outcome, "fct_s"));
        prop_assert_eq!(times.iter().filter(|time| !time.is_nan()).count() as u64, group.completed);
        prop_assert_eq!(times.len() as u64, group.completed + group.unfinished);
        let complete = sizes.iter().zip(&times).filter(|(_, time)| !time.is_nan());
        let bytes: f64 = complete.map(|(size, _)| size).sum();
        let arrived = group.goodput_kbps * 4.0 * 1e3 / 8.0;
        prop_assert!(arrived >= bytes - 1.0 && arrived <= sizes.iter().sum::<f64>() + 1.0);
        prop_assert_eq!(outcome.to_json().to_string(), simulate(&toml).to_json().to_string());
    }
}

/// `none` that a flow sets over a value of the scenario is a value: the resolved scenario has it.
#[test]
fn a_resolved_scenario_keeps_none_over_a_value() {
    let toml = "duration = '1s'\ntcp.initial_ssthresh = '20000B'\n[[link]]\nrate = '10Mbps'\n[[ue]]\n[[flow]]\ntcp.initial_ssthresh = 'none'";
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    let written = scenario.to_json();
    assert_eq!(written["flow"][0]["tcp"]["initial_ssthresh"], "none");
    let again = Node::from_json(&written.to_string(), "test").unwrap();
    let again = Scenario::from_node(&again).unwrap();
    assert_eq!(again.to_json(), written);
    let bytes = |scenario: &Scenario| run(scenario, 1, None, &mut |_| true).unwrap().to_json().to_string();
    assert_eq!(bytes(&again), bytes(&scenario));
}
