//! Errors in links, paths and link traces: each has one message on one line.

use airwnd_catalog::Node;
use airwnd_lab::Scenario;
use std::fs;
use std::path::PathBuf;

fn refusal(text: &str, origin: &str) -> String {
    let read = Node::from_toml(text, origin).and_then(|node| Scenario::from_node(&node));
    read.err().map_or("accepted".into(), |error| error.to_string())
}

/// Invalid links, and the message after the file name.
const LINKS: &[(&str, &str)] = &[
    ("link = 3", ":1: link: expected a list, found 3"),
    ("link = [3]", ":1: link[0]: expected a table of settings, found 3"),
    (
        "link = {rate = '1Mbps'}",
        ":1: link: expected a list, found a table; a list of tables is written [[...]]",
    ),
    ("link = [{name = '', rate = '1Mbps'}]", ":1: link[0].name: a link needs a name"),
    (
        "link = [{name = 's1u', rate = '1Mbps'}]",
        ":1: link[0].name: `s1u` is a link of [core]; choose another name",
    ),
    (
        "link = [{rate = '1Mbps'}, {rate = '1Mbps'}]",
        ":1: link[1].name: another link is named `link`; names must be unique",
    ),
    (
        "link = [{kind = 'wyre'}]",
        ":1: link[0].kind: unknown link `wyre`; did you mean `wire`?; allowed: `wire`, `trace`, `wifi`",
    ),
    ("link = [{kind = 3}]", ":1: link[0].kind: expected a word, found 3"),
    (
        "link = [{kind = 'wifi', rate = '3Mbps'}]",
        ":1: link[0].rate: \"dsss\" has no rate 3Mbps; allowed: \"1Mbps\", \"2Mbps\", \"5500kbps\", \"11Mbps\"",
    ),
    ("link = [{kind = 'wifi', rate = '100Mbps'}]", ":1: link[0].rate: 100Mbps is outside 1Mbps..54Mbps"),
    (
        "link = [{kind = 'wifi', rate = '1Mbps', basic_rate = '2Mbps'}]",
        ":1: link[0].basic_rate: 2Mbps exceeds the rate of data, 1Mbps",
    ),
    (
        "link = [{kind = 'wifi', phy = 'ofdm', preamble = 'short'}]",
        ":1: link[0].preamble: only \"dsss\" has a short preamble; allowed: \"long\"",
    ),
    ("link = [{kind = 'wifi', cw_max = 15}]", ":1: link[0].cw_max: 15 is below cw_min, 31"),
    (
        "link = [{kind = 'wifi', delay = '1ms'}]",
        ":1: link[0].delay: \"wifi\" has no propagation delay; add a \"wire\" link",
    ),
    (
        "link = [{kind = 'wifi', delay_up = '1ms'}]",
        ":1: link[0].delay_up: \"wifi\" has no propagation delay; add a \"wire\" link",
    ),
    (
        "link = [{kind = 'wifi', reroute = [{at = '1s', delay = '1ms'}]}]",
        ":1: link[0].reroute: \"wifi\" has no propagation delay; add a \"wire\" link",
    ),
    (
        "link = [{rate = '1Mbps', reroute = [{at = '2s', delay = '61s'}]}]",
        ":1: link[0].reroute[0].delay: 61s is outside 0ns..1min",
    ),
    ("link = [{rate = '1Mbps', reroute = [{delay = '1s'}]}]", ":1: link[0].reroute[0]: `at` is missing"),
    (
        "link = [{kind = 'wifi', mark_above_delay = '1ms'}]",
        ":1: link[0].mark_above_delay: the queueing delay of \"wifi\" is not known in advance; use mark_above",
    ),
    (
        "link = [{kind = 'wifi', aqm = 'drop-tail'}]",
        ":1: link[0].aqm: \"wifi\" has a drop-tail queue at each station; use queue and mark_above",
    ),
    (
        "link = [{rate = '1Mbps', aqm = 'drop-tail', queue = 5}]",
        ":1: link[0].queue: not allowed with `aqm` = \"drop-tail\"; set the parameters of \"drop-tail\"",
    ),
    (
        "link = [{rate = '1Mbps', aqm = 'drop-tail', queue_bytes = '5kB'}]",
        ":1: link[0].queue_bytes: not allowed with `aqm` = \"drop-tail\"; set the parameters of \"drop-tail\"",
    ),
    (
        "link = [{rate = '1Mbps', aqm = 'drop-tail', mark_above = 5}]",
        ":1: link[0].mark_above: not allowed with `aqm` = \"drop-tail\"; set the parameters of \"drop-tail\"",
    ),
    (
        "link = [{rate = '1Mbps', aqm = 'drop-tail', mark_above_delay = '5ms'}]",
        ":1: link[0].mark_above_delay: not allowed with `aqm` = \"drop-tail\"; set the parameters of \"drop-tail\"",
    ),
    (
        "link = [{rate = '1Mbps', aqm = {kind = 'red', min_th = 30.0}}]",
        ":1: link[0].aqm.max_th: 15 packets is not above min_th, 30",
    ),
    (
        "link = [{kind = 'wifi', errors = 'frames'}]",
        ":1: link[0].errors: unknown word `frames`; allowed: `attempts`, `packets`",
    ),
    ("link = [{kind = 'trace'}]", ":1: link[0]: `down` is missing"),
    (
        "link = [{rate = '1Mbps', ring = 1}]",
        ":1: link[0].ring: the ring takes packets from a queue discipline; set `aqm`",
    ),
    (
        "link = [{rate = '1Mbps', aqm = {kind = 'fq-codel', flows = 0}}]",
        ":1: link[0].aqm.flows: 0 is outside 1..65536",
    ),
    (
        "link = [{rate = '1Mbps', aqm = {kind = 'pie', mark_ecnth = 1.5}}]",
        ":1: link[0].aqm.mark_ecnth: 1.5 is outside 0.0..1.0",
    ),
    (
        "link = [{rate = '1Mbps', aqm = {kind = 'dualpi2', scheduler = 'priority'}}]",
        ":1: link[0].aqm.scheduler: unknown word `priority`; allowed: `wrr`, `ts-fifo`",
    ),
    (
        "link = [{kind = 'wifi', jitter_up = {time = '1ms'}}]",
        ":1: link[0].jitter_up: not allowed for \"wifi\", which is shared; add a \"wire\" link",
    ),
    (
        "link = [{kind = 'wifi', police = {rate = '1Mbps', burst = '10kB'}}]",
        ":1: link[0].police: not allowed for \"wifi\", which is shared; add a \"wire\" link",
    ),
    (
        "link = [{rate = '1Mbps', jitter = '1ms'}]",
        ":1: link[0].jitter: expected a table of settings, found \"1ms\"",
    ),
    ("link = [{rate = '1Mbps', jitter = {}}]", ":1: link[0].jitter: `time` is missing"),
    (
        "link = [{rate = '1Mbps', jitter = {time = '1ms', distribution = 'gauss'}}]",
        ":1: link[0].jitter.distribution: unknown word `gauss`; allowed: `uniform`, `normal`, `pareto`, `paretonormal`",
    ),
    (
        "link = [{rate = '1Mbps', jitter = {time = '61s'}}]",
        ":1: link[0].jitter.time: 61s is outside 0ns..1min",
    ),
    (
        "link = [{rate = '1Mbps', reorder = {correlation = 25.0}}]",
        ":1: link[0].reorder.correlation: 25.0 is outside 0.0..1.0",
    ),
    (
        "link = [{rate = '1Mbps', reorder_up = {gap = 0}}]",
        ":1: link[0].reorder_up.gap: 0 is outside 1..1000000000",
    ),
    ("link = [{rate = '1Mbps', duplicate = {}}]", ":1: link[0].duplicate: `probability` is missing"),
    ("link = [{rate = '1Mbps', police = {rate = '1Mbps'}}]", ":1: link[0].police: `burst` is missing"),
    (
        "link = [{rate = '1Mbps', tbf = {rate = '1Mbps', burst = '1kB'}}]",
        ":1: link[0].tbf.burst: 1kB is outside 1500B..1000GB",
    ),
    (
        "link = [{rate = '1Mbps', police_up = {rate = '1Mbps', burst = '1501B'}}]",
        ":1: link[0].police_up.burst: 1501B is below 1502B, a packet of 1500B with the link's framing of 2B: no such \
         packet would pass",
    ),
    (
        "link = [{rate = '1Mbps', queue = 5, tbf = {rate = '1Mbps', burst = '2kB', limit = '9kB'}}]",
        ":1: link[0].queue: not allowed with `tbf.limit`, the limit of the same queue",
    ),
    (
        "link = [{rate = '1Mbps', aqm_up = 'codel', tbf_up = {rate = '1Mbps', burst = '2kB', limit = '9kB'}}]",
        ":1: link[0].aqm_up: not allowed with `tbf_up.limit`, the limit of the same queue",
    ),
    (
        "link = [{rate = '1Mbps', down = 'x'}]",
        ":1: link[0]: unknown key `down`; allowed: `kind`, `name`, `delay`, `delay_up`, `jitter`, `jitter_up`, `reorder`, \
         `reorder_up`, `duplicate`, `duplicate_up`, `police`, `police_up`, `tbf`, `tbf_up`, `reroute`, `queue`, `queue_bytes`, \
         `queue_up`, `queue_bytes_up`, `mark_above`, `mark_above_delay`, `aqm`, `aqm_up`, `ring`, `loss`, `loss_up`, \
         `per`, `rate`, `rate_up`, `framing`",
    ),
    (
        "link = [{rate = '1Mbps', queue_up = 5, aqm_up = 'codel'}]",
        ":1: link[0].queue_up: not allowed with `aqm_up` = \"codel\"; set the parameters of \"codel\"",
    ),
    (
        "link = [{kind = 'wifi', queue_up = 5}]",
        ":1: link[0].queue_up: \"wifi\" has the same queue at each station and at the access point; use queue",
    ),
    (
        "link = [{kind = 'trace', down = 'norway-bus-1', format = 'rate', opportunity = '1504B'}]",
        ":1: link[0].opportunity: a link trace of rates has no opportunities",
    ),
    ("link = [{}]", ":1: link[0]: `rate` is missing"),
    ("link = [{rate = '0bps'}]", ":1: link[0].rate: 0bps is outside 1bps..1000Gbps"),
    ("link = [{rate = '1Mbps', queue = 0}]", ":1: link[0].queue: 0 is outside 1..100000000"),
    ("link = [{rate = '1Mbps', queue_bytes = '0B'}]", ":1: link[0].queue_bytes: 0B is outside 1B..1000GB"),
    (
        "link = [{rate = '1Mbps', per = 'flow'}]",
        ":1: link[0].per: unknown word `flow`; allowed: `all`, `group`, `terminal`",
    ),
    (
        "link = [{rate = '1Mbps', loss = {kind = 'scripted', packets = [2, 1]}}]",
        ":1: link[0].loss.packets: 1 follows 2; the list must be in ascending order",
    ),
    (
        "link = [{kind = 'trace', down = ''}]",
        ":1: link[0].down: a link trace needs a file, or the name of one included in airwnd",
    ),
    (
        "link = [{kind = 'trace', down = 'nyc-subway', format = 'rates'}]",
        ":1: link[0].format: unknown word `rates`; did you mean `rate`?; allowed: `mahimahi`, `rate`",
    ),
    (
        "link = [{kind = 'trace', down = 'nyc-subway', up = 'nyc-subway', rate_up = '1Mbps'}]",
        ":1: link[0].rate_up: the uplink has a link trace, `up`, or a rate, not both",
    ),
    (
        "link = [{kind = 'trace', down = 'nyc-subway', format = 'rate'}]",
        // The name of the included link trace: it is not in the scenario's folder.
        "nyc-subway:1: only `0`; a line has a time in seconds and a rate in Mbit/s",
    ),
];

#[test]
fn invalid_links_have_one_message() {
    for (link, expected) in LINKS {
        let found = refusal(&format!("{link}\nduration = '1s'\n[[ue]]\n[[flow]]"), "x");
        let expected = if expected.starts_with(':') { format!("x{expected}") } else { expected.to_string() };
        assert_eq!(found, expected, "{link}");
    }
}

/// Paths over links `a` and `b`.
const PATHS: &[(&str, &str)] = &[
    ("via = 'a'", "x:4: ue[0].via: expected a list, found \"a\""),
    ("via = [3]", "x:4: ue[0].via[0]: expected a text, found 3"),
    ("via = []", "x:4: ue[0].via: the list is empty; without a [[site]] a group needs at least one link"),
    ("via = ['a', 'c']", "x:4: ue[0].via: unknown link `c`; allowed: `a`, `b`"),
    (
        "via = ['a', 'b', 'a']",
        "x:4: ue[0].via: link `a` is listed twice; a path passes each link at most once",
    ),
    ("via = ['b']", "x:1: link[0].name: no group of UEs is routed over link `a`"),
    ("via = ['b', 'a']", "accepted"),
];

#[test]
fn invalid_paths_have_one_message() {
    for (via, expected) in PATHS {
        let links = "link = [{name = 'a', rate = '1Mbps'}, {name = 'b', rate = '1Mbps'}]";
        let found = refusal(&format!("{links}\nduration = '1s'\n[[ue]]\n{via}\n[[flow]]"), "x");
        assert_eq!(found, *expected, "{via}");
    }
}

/// Invalid recordings by format, and the message after the folder.
const RECORDINGS: &[(&str, &[u8], &str)] = &[
    ("mahimahi", b"", "r.txt:1: the file is empty"),
    ("mahimahi", b"0\n0\n", "r.txt:1: all times are 0: a link trace needs a duration"),
    ("mahimahi", b"1\n3\n2\n", "r.txt:3: 2 follows 3; times must not decrease"),
    ("mahimahi", b"1\n1.5\n", "r.txt:2: `1.5` is not a whole number of milliseconds"),
    ("mahimahi", b"0.0 1.5\n", "r.txt:1: `0.0 1.5` is not a whole number of milliseconds"),
    (
        "mahimahi",
        b"1\n99999999999\n",
        "r.txt:2: 99999999999 ms exceeds the maximum length of a link trace, 4294967295ms",
    ),
    ("mahimahi", b"\xff\n", "s.toml:2: link[0].down: r.txt cannot be read: it is not a text in UTF-8"),
    ("rate", b"1 2\n0.5 2\n", "r.txt:2: 0.5 s is not after the previous line; times must ascend"),
    ("rate", b"1 0\n2 0\n", "r.txt:1: all rates are 0: no packet would ever be sent"),
    ("rate", b"1 -2\n", "r.txt:1: -2 Mbit/s is outside 0..1000000"),
    ("rate", b"1 1e9\n", "r.txt:1: 1000000000 Mbit/s is outside 0..1000000"),
    ("rate", b"17\n", "r.txt:1: only `17`; a line has a time in seconds and a rate in Mbit/s"),
];

#[test]
fn recordings_are_read_strictly() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recordings");
    fs::create_dir_all(&folder).unwrap();
    let origin = folder.join("s.toml");
    let at = |rest: &str| format!("{}/{rest}", folder.display());
    for (format, text, expected) in RECORDINGS {
        fs::write(folder.join("r.txt"), text).unwrap();
        let link = format!("{{kind = 'trace', down = 'r.txt', format = '{format}'}}");
        let found =
            refusal(&format!("duration = '1s'\nlink = [{link}]\n[[ue]]\n[[flow]]"), origin.to_str().unwrap());
        let expected = at(&expected.replace(": r.txt cannot", &format!(": {} cannot", at("r.txt"))));
        assert!(found.starts_with(&expected), "{text:?}\nexpected {expected}\n   found {found}");
        assert!(!found.contains('\n'));
    }
}

#[test]
fn a_missing_recording_is_named() {
    let found = refusal(
        "duration = '1s'\nlink = [{kind = 'trace', down = 'no.txt'}]\n[[ue]]\n[[flow]]",
        "/nowhere/s.toml",
    );
    let expected = "/nowhere/s.toml:2: link[0].down: /nowhere/no.txt cannot be read: No such file or \
                    directory; included link traces: `";
    assert!(found.starts_with(expected), "{found}");
}

#[test]
fn a_digest_is_checked() {
    let link = |more: &str| {
        format!("duration = '1s'\nlink = [{{kind = 'trace', down = 'nyc-subway'{more}}}]\n[[ue]]\n[[flow]]")
    };
    let scenario = Scenario::from_node(&Node::from_toml(&link(""), "x").unwrap()).unwrap();
    let digest = scenario.to_json()["link"][0]["digest"].as_str().unwrap().to_string();
    assert_eq!(refusal(&link(&format!(", digest = '{digest}'")), "x"), "accepted");
    assert_eq!(
        refusal(&link(", digest = '0'"), "x"),
        format!("x:2: link[0].digest: the link traces have changed: their digest is {digest}, not 0"),
    );
}
