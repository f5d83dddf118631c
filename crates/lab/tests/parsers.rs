//! No input makes a parser panic, and every complaint is one line.

use airwnd_catalog::Node;
use airwnd_lab::{Scenario, placement};
use airwnd_units::{BitRate, Bytes, Db, Dbm, Hertz, Span};
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
[[ue]]
name = "near"
count = 2
placement = {kind = "ring", radius = "100m"}
[[ue]]
name = "far"
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

/// What a mutation puts in: words, numbers and quantities that mean something somewhere, and some that do not.
const PIECES: [&str; 24] = [
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
    "{kind = \"arwa\"}",
    "=",
    "\n",
    "[",
    "#",
    "\u{fffd}",
];

fn read(text: &str) {
    if let Err(error) = Node::from_toml(text, "fuzz.toml").and_then(|node| Scenario::from_node(&node)) {
        let message = error.to_string();
        assert!(!message.contains('\n') && message.starts_with("fuzz.toml"), "{message:?} for\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        // The same cases on every machine; PROPTEST_RNG_SEED asks for others.
        rng_seed: RngSeed::Fixed(std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        read(&text);
    }

    /// Tokens of a valid scenario are dropped, doubled or replaced.
    #[test]
    fn a_mutilated_scenario_is_read_or_refused(
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
        read(&tokens.concat());
    }

    #[test]
    fn any_override_is_taken_or_refused(
        path in "[a-z.\\[\\]0-9_]{0,20}|(ue|flow|site)\\[[0-9]\\]\\.[a-z]{1,8}|mac\\.scheduler\\.[a-z]{1,6}",
        value in select(PIECES.to_vec()),
    ) {
        let mut node = Node::from_toml(VALID, "fuzz.toml").unwrap();
        if let Err(error) = node.set(&path, value).and_then(|()| Scenario::from_node(&node).map(drop)) {
            prop_assert!(!error.to_string().trim_end().contains('\n') || value.contains('\n'), "{}", error);
        }
    }

    #[test]
    fn any_positions_file_is_read_or_refused(text in "(x_m,y_m(,cell)?(,srs_offset)?\n)?([-0-9.,a-z ]{0,30}\n){0,5}") {
        if let Err((line, message)) = placement::file::parse(&text) {
            prop_assert!(line >= 1 && !message.contains('\n'));
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
fn the_unharmed_scenario_is_valid() {
    Scenario::from_node(&Node::from_toml(VALID, "valid.toml").unwrap()).unwrap();
}
