//! Threads change the time that a run takes, and nothing else.

use crate::support::threads::run_on;
use airwnd_catalog::Node;
use airwnd_lab::Scenario;

/// Seven sites with three sectors each; UEs move between them over fading channels, and some of them change regions.
const MOVING: &str = r#"
preset = "airwnd-0.1"
duration = "750ms"
radio.fading = {kind = "eva"}
radio.position_period = "20ms"
handover.algorithm = "a3-rsrp"
rlc.queue = {kind = "codel"}

[[site]]
rings = 1
sectors = 3
azimuth = "30deg"
antenna = {kind = "parabolic", beamwidth = "70deg"}

[[ue]]
count = 60
placement = {kind = "disc", radius = "700m"}
mobility = {kind = "random-waypoint", min_speed = "60m/s", max_speed = "90m/s", pause = "0s"}

[[flow]]
[[flow]]
id = "upload"
direction = "up"
"#;

/// Up to two layers in LTE.
const LAYERS: &str = "radio.access = {kind = \"lte\", mcs_table = \"256qam\", mimo = {}}\nradio.fading";

/// Carriers of other frequencies and widths.
const CARRIERS: &str = "carrier.secondary = [{downlink_frequency = \"800MHz\", bandwidth = \"5MHz\"}, \
                        {downlink_frequency = \"3.5GHz\"}]\nradio.fading";

/// TDD on up to two layers.
const NR: &str = "carrier = {bandwidth = \"20MHz\", downlink_frequency = \"3.5GHz\"}\n\
                  radio.access = {kind = \"nr\", numerology = 1, pattern = \"DDDSU\", mimo = {}}\nradio.fading";

/// Each UE has its own neighbours, as in large networks.
const NEIGHBOURS: &str = "radio.neighbour_threshold = 0.0002\nradio.fading";
/// UEs that stay, and download files.
const STAYING: &str = "\n[[ue]]\nname = \"staying\"\ncount = 40\n\
                       placement = {kind = \"disc\", radius = \"700m\"}\n\n[[flow]]\n[[flow]]";

/// The results, the time series and the events of a run, and its number of handovers.
fn results(toml: &str, threads: usize) -> (String, u64) {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "moving").unwrap()).unwrap();
    let outcome = run_on(threads, &scenario);
    let figures = outcome.to_json();
    let handovers =
        figures["ues"].as_array().unwrap().iter().map(|ue| ue["handovers"].as_u64().unwrap()).sum();
    (format!("{figures}{:?}", outcome.into_tables()), handovers)
}

#[test]
fn results_do_not_depend_on_threads() {
    let layered = MOVING.replace("radio.fading", LAYERS);
    let aggregating = MOVING.replace("radio.fading", CARRIERS);
    let nr = MOVING.replace("radio.fading", NR);
    let neighbours = MOVING.replace("radio.fading", NEIGHBOURS).replacen("\n[[flow]]\n[[flow]]", STAYING, 1);
    let cases =
        [(MOVING, &[2, 5][..]), (&layered, &[3]), (&aggregating, &[2]), (&nr, &[3]), (&neighbours, &[3])];
    for (toml, counts) in cases {
        let (alone, handovers) = results(toml, 1);
        assert!(handovers > 3, "{handovers} handovers");
        for threads in counts {
            assert!(results(toml, *threads).0 == alone, "{threads} threads");
        }
    }
}

/// Moving UEs of several regions, which sleep, are released and change cells.
const SLEEPING: &str = r#"
duration = "2s"
radio = {fading = "eva", position_period = "20ms"}
handover = {algorithm = "a3-rsrp", preparation = "30ms"}
core.x2_delay = "5ms"
mac.drx = {inactivity = "40ms", cycle = "160ms"}
rrc = {inactivity = "400ms", promotion = "50ms", paging_cycle = "320ms"}
[[site]]
rings = 1
sectors = 3
azimuth = "30deg"
antenna = {kind = "parabolic", beamwidth = "70deg"}
[[ue]]
count = 40
placement = {kind = "disc", radius = "700m"}
mobility = {kind = "random-waypoint", min_speed = "60m/s", max_speed = "90m/s", pause = "0s"}
[[flow]]
traffic = {kind = "web", reading = "1s"}
[[flow]]
id = "up"
direction = "up"
traffic = {kind = "cbr", rate = "1kbps", packet = "100B"}
"#;

#[test]
fn results_with_sleep_do_not_depend_on_threads() {
    let scenario = Scenario::from_node(&Node::from_toml(SLEEPING, "sleeping").unwrap()).unwrap();
    let results = |threads: usize| {
        let outcome = run_on(threads, &scenario);
        let handovers: u64 = outcome.ues().iter().map(|ue| ue.handovers).sum();
        assert!(handovers > 10, "{handovers}");
        assert!(outcome.ues().iter().all(|ue| ue.awake < 0.9), "{:?}", outcome.ues());
        format!("{}{:?}", outcome.to_json(), outcome.into_tables())
    };
    assert!(results(3) == results(1));
}
