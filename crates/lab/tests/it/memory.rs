//! The memory limit: a run stays below it or ends with an error; results do not depend on it.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Records, Scenario, run_tapped};
use airwnd_units::{Bytes, Span};

fn outcome(toml: &str, records: &Records) -> Result<Outcome, String> {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run_tapped(&scenario, 1, records, None, &mut |_| true).map_err(|error| error.to_string())
}

fn within(megabytes: u64) -> Records {
    Records { memory: Some(Bytes(megabytes * 1_000_000)), ..Records::default() }
}

const FLOOD: &str =
    "duration = \"2s\"\n[[site]]\n[[ue]]\n[[flow]]\ntraffic = {kind = \"cbr\", rate = \"1000Gbps\"}";
const LINK: &str = "duration = \"2s\"\n[[link]]\nrate = \"10Mbps\"\n[[ue]]\n[[flow]]\n";

#[test]
fn an_unlimited_queue_ends_the_run_at_the_memory_limit() {
    let why = outcome(FLOOD, &within(20)).unwrap_err();
    let parts =
        ["unnamed: the memory limit of 20.0 MB was reached after 0.001 s: ", " packets in the network, "];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    let remedy =
        "on link `server` (down): limit core.server_queue, lower the sending rate, or raise the limit";
    assert!(why.contains(remedy), "{why}");
    // The suggested remedy works.
    let limited = FLOOD.replace("2s", "2ms").replace("[[site]]", "core.server_queue = 100\n[[site]]");
    assert!(outcome(&limited, &within(20)).is_ok());
}

#[test]
fn time_series_are_estimated() {
    let sampled =
        |period, megabytes| outcome(LINK, &Records { series: Some(Span(period)), ..within(megabytes) });
    assert_eq!(
        sampled(1, 1000).unwrap_err(),
        "unnamed: series: 2.0e9 rows (one every 1ns for each of 1 flows) need about 656.0 GB, above the memory limit of \
         1.0 GB: sample at intervals of at least 1us, or use fewer flows, or raise the limit (--max-memory)"
    );
    assert!(sampled(1_000_000, 1000).is_ok());
}

#[test]
fn growing_tables_are_monitored() {
    // The number of flows open at a time is not known in advance.
    let toml = LINK.replace("[[flow]]", "[[flow]]\ntraffic = \"transfer\"\narrivals = \"periodic\"");
    let records = Records { series: Some(Span(1000)), ..within(2) };
    let why = outcome(&toml, &records).unwrap_err();
    assert!(why.contains(" s: tables of 2.0 MB: record less"), "{why}");
}

#[test]
fn memory_of_flows_and_ues_is_estimated() {
    let many = LINK.replace("[[flow]]", "[[flow]]\ncount = 10_000").replace("[[ue]]", "[[ue]]\ncount = 100");
    assert_eq!(
        outcome(&many, &within(1000)).unwrap_err(),
        "unnamed: flow[0]: 1.0e6 flows open from the start need about 40.0 GB, above the memory limit of 1.0 GB: use \
         fewer flows, or raise the limit (--max-memory)"
    );
    let wide = "duration = \"1s\"\n[[site]]\nrings = 10\nsectors = 3\n[[ue]]\ncount = 100_000\n\
         placement = {kind = \"ring\", radius = \"333m\"}\n[[flow]]\ntraffic = \"transfer\"\narrivals = {kind = \"schedule\", times = [\"0s\"]}";
    let why = outcome(wide, &within(1000)).unwrap_err();
    assert!(why.starts_with("unnamed: ue: 100000 UEs with 4.8e6 radio links to cells need about "), "{why}");
    let all = format!("radio.neighbour_threshold = 0\n{wide}");
    let why = outcome(&all, &within(1000)).unwrap_err();
    assert!(why.starts_with("unnamed: ue: 100000 UEs with 9.9e7 radio links to cells need about "), "{why}");
}

#[test]
fn results_do_not_depend_on_the_limit() {
    let records = |memory| Records { series: Some(Span::from_millis(10)), memory, ..Records::default() };
    let [free, limited] =
        [None, Some(Bytes(50_000_000))].map(|memory| outcome(LINK, &records(memory)).unwrap());
    assert_eq!(free.to_json(), limited.to_json());
    // Compared as text: NaN, which represents null, is not equal to itself.
    assert_eq!(format!("{:?}", free.series()), format!("{:?}", limited.series()));
}
