//! No input makes a parser panic, every error message is one line, and accepted scenarios run.

use airwnd_catalog::{Error, Node, Param};
use airwnd_lab::{Scenario, placement, run};
use airwnd_links::link::trace::{Format, Recording};
use airwnd_units::{BitRate, Bytes, Db, Dbm, Hertz, Span, Time};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

const VALID: &str = r#"
name = "valid"
duration = "100ms"
[tcp]
stack = "ns3.26"
mss = 512
[carrier]
bandwidth = "3MHz"
[radio]
propagation = {kind = "hybrid-buildings", los_to_nlos = "200m"}
shadowing = {sigma = "4dB"}
[mac]
scheduler = {kind = "pss", multiplexed = 2}
[rlc]
queue = {kind = "drop-tail", buffer = "50KiB"}
[[site]]
position = ["0m", "0m"]
sectors = 3
antenna = "parabolic"
[[link]]
name = "wan"
rate = "50Mbps"
delay = "5ms"
mark_above = 30
[[link]]
name = "radio"
kind = "trace"
down = "nyc-times"
rate_up = "5Mbps"
[[ue]]
name = "near"
count = 2
placement = {kind = "ring", radius = "100m"}
[[ue]]
name = "far"
via = ["radio", "wan"]
placement = {kind = "list", points = [["500m", "1m"]]}
[[flow]]
ue = "near"
rwnd = "drwa"
[[flow]]
id = "video"
traffic = "video"
start = "10ms"
stop = "50ms"
"#;

/// Replacements for mutations: words, numbers and quantities that are valid somewhere, and some that are not.
const PIECES: [&str; 32] = [
    "\"\"",
    "\"pf\"",
    "\"20ms\"",
    "\"-1s\"",
    "\"1e40B\"",
    "\"10Mbps\"",
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "true",
    "[]",
    "{}",
    "[[]]",
    "\"near\"",
    "9223372036854775807",
    "1979-05-27",
    "\"1ns\"",
    "\"60s\"",
    "\"0B\"",
    "\"1B\"",
    "\"-100dB\"",
    "\"1e6m\"",
    "\"360deg\"",
    "\"a\\nb\"",
    "{kind = \"arwa\"}",
    "=",
    "\n",
    "[",
    "#",
    "\u{fffd}",
];

/// Keys with a value of each kind, in every section.
const KEYS: [&str; 39] = [
    "warmup",
    "duration",
    "seed",
    "tcp.mss",
    "tcp.min_rto",
    "tcp.initial_window",
    "tcp.send_buffer",
    "tcp.receive_buffer",
    "core.server_delay",
    "core.server_rate",
    "core.server_queue",
    "carrier.downlink_frequency",
    "radio.shadowing.sigma",
    "radio.cqi_period",
    "radio.cqi_delay",
    "mac.srs_period",
    "mac.harq_transmissions",
    "mac.power_control.alpha",
    "mac.power_control.max_power",
    "rlc.queue.buffer",
    "rlc.reordering",
    "site[0].height",
    "site[0].power",
    "site[0].antenna.beamwidth",
    "ue[0].height",
    "ue[0].placement.radius",
    "ue[1].placement.points[0][0]",
    "flow[0].rwnd.lambda",
    "flow[0].stagger",
    "flow[1].traffic.packet",
    "link[0].queue",
    "link[0].queue_bytes",
    "link[0].mark_above_delay",
    "link[0].per",
    "link[0].rate",
    "link[0].rate_up",
    "link[1].start",
    "link[1].down",
    "ue[1].via",
];

/// Checks that an error is one line, and that an accepted scenario runs, or begins to run if it is long.
fn check(scenario: Result<Scenario, Error>) -> Result<(), TestCaseError> {
    let begin = Time::ZERO + Span::from_millis(600);
    let done = scenario.and_then(|scenario| run(&scenario, 1, None, &mut |now| now < begin));
    if let Err(error) = done {
        let message = error.to_string();
        prop_assert!(!message.contains(char::is_control), "{message:?}");
        prop_assert!(message.contains(": "), "{message:?} says where");
    }
    Ok(())
}

fn read(text: &str) -> Result<(), TestCaseError> {
    check(Node::from_toml(text, "fuzz.toml").and_then(|node| Scenario::from_node(&node)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        // The cases are the same on every machine; PROPTEST_RNG_SEED selects others.
        rng_seed: RngSeed::Fixed(std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}|([a-z]{1,8}(\\.[a-z]{1,4})? = [-a-z0-9\"\\[{]{0,12}\n){0,6}") {
        read(&text)?;
    }

    #[test]
    fn any_json_is_read_or_refused(text in "(?s).{0,100}|[\\[\\]{}:,\"0-9a-z.eE+-]{0,60}", value in any::<f64>()) {
        for json in [text, format!("{{\"duration\": {value:e}}}"), format!("{{\"seed\": {value}}}")] {
            check(Node::from_json(&json, "fuzz").and_then(|node| Scenario::from_node(&node)))?;
        }
    }

    /// Tokens of a valid scenario are removed, duplicated or replaced.
    #[test]
    fn a_mutated_scenario_is_read_or_refused(
        changes in prop::collection::vec((any::<Index>(), 0u8..3, select(PIECES.to_vec())), 1..4),
    ) {
        let mut tokens: Vec<&str> = VALID.split_inclusive([' ', '\n', '=', ',', '{', '}']).collect();
        for (place, kind, piece) in &changes {
            let at = place.index(tokens.len());
            match kind {
                0 => { tokens.remove(at); }
                1 => tokens.insert(at, tokens[at]),
                _ => tokens[at] = piece,
            }
        }
        read(&tokens.concat())?;
    }

    #[test]
    fn any_override_is_taken_or_refused(
        path in "(?s)[a-z.\\[\\]0-9_]{0,20}|.{0,10}|(ue|flow|site|link)\\[[0-9]\\]\\.[a-z]{1,8}|mac\\.scheduler\\.[a-z]{1,6}",
        value in prop_oneof![select(PIECES.to_vec()).prop_map(String::from), "(?s).{0,20}"],
    ) {
        let mut node = Node::from_toml(VALID, "fuzz.toml").unwrap();
        check(node.set(&path, &value).and_then(|()| Scenario::from_node(&node)))?;
    }

    /// Overrides of existing keys.
    #[test]
    fn any_known_key_is_set_or_refused(
        key in select(KEYS.to_vec()),
        value in prop_oneof![select(PIECES.to_vec()).prop_map(String::from), "[-0-9]{1,4}(ms|m|B|dB|dBm|kbps|deg)?"],
    ) {
        let mut node = Node::from_toml(VALID, "fuzz.toml").unwrap();
        check(node.set(key, &value).and_then(|()| Scenario::from_node(&node)))?;
    }

    #[test]
    fn any_positions_file_is_read_or_refused(
        text in "(?s)(x_m,y_m(,cell)?(,srs_offset)?\r?\n)?([-0-9.e,a-z ]{0,30}\n){0,5}|.{0,60}",
    ) {
        match placement::file::parse(&text) {
            Ok(rows) => prop_assert!(rows.iter().flatten().all(|value| value.abs() <= 1e6)),
            Err((line, message)) => prop_assert!(line >= 1 && !message.contains('\n')),
        }
    }

    #[test]
    fn any_recording_is_read_or_refused(
        text in "(?s)([0-9]{1,3}\n){0,6}|([0-9.e-]{1,4}[ \t][0-9.e+-]{1,6}\r?\n){0,6}|([-+0-9.e\t xn]{0,12}\n){0,5}|.{0,60}",
        rates in any::<bool>(),
    ) {
        let mut recording = Recording::read(&Node::from_json("\"fuzz\"", "fuzz").unwrap()).unwrap();
        match recording.read_text(&text, if rates { Format::Rate } else { Format::Mahimahi }) {
            Ok(()) => prop_assert!(recording.period().is_some_and(|period| period > Span::ZERO)),
            Err((line, message)) => prop_assert!(line >= 1 && !message.contains('\n'), "{line} {message:?}"),
        }
    }

    #[test]
    fn any_quantity_is_read_or_refused(text in "[-+0-9.eE_]{0,12} ?[a-zA-Zµ/°]{0,6}|\\PC{0,20}") {
        let one_line = |error: airwnd_units::UnitError| !error.to_string().contains('\n');
        prop_assert!(text.parse::<Span>().map_or_else(one_line, |span| span.to_string().parse() == Ok(span)));
        prop_assert!(text.parse::<Bytes>().map_or_else(one_line, |bytes| bytes.to_string().parse() == Ok(bytes)));
        prop_assert!(text.parse::<BitRate>().map_or_else(one_line, |rate| rate.to_string().parse() == Ok(rate)));
        prop_assert!(text.parse::<Db>().map_or_else(one_line, |db| db.0.is_finite()));
        prop_assert!(text.parse::<Dbm>().map_or_else(one_line, |dbm| dbm.0.is_finite()));
        prop_assert!(text.parse::<Hertz>().map_or_else(one_line, |hertz| hertz.0.is_finite()));
    }
}

#[test]
fn the_original_scenario_is_valid() {
    Scenario::from_node(&Node::from_toml(VALID, "valid.toml").unwrap()).unwrap();
}
