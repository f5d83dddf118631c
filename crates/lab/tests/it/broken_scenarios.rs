//! Every error in a scenario has one message on one line: file, line, key, and what is allowed.

use airwnd_catalog::{Error, Node};
use airwnd_lab::{Plugins, Scenario, run};
use airwnd_units::{Span, Time};
use std::fs;
use std::path::{Path, PathBuf};

const GOOD: &str = r#"
name = "good"
duration = "2s"
seed = 1
tcp = {stack = "ns3.44", mss = 1000, timestamps = false}
carrier.bandwidth = "5MHz"
radio.amc = {kind = "block-error-target", target = 0.1}
mac.scheduler = {kind = "pss", multiplexed = 2}
rlc.queue = {kind = "drop-tail", buffer = "50KiB"}
[[site]]
position = ["0m", "0m"]
antenna = {kind = "parabolic", beamwidth = "70deg"}
[[ue]]
name = "near"
count = 3
placement = {kind = "ring", radius = "300m"}
[[ue]]
name = "far"
placement = {kind = "disc", radius = "900m"}
[[flow]]
id = "web"
ue = "near"
traffic = {kind = "transfer", size = "1MB"}
rwnd = {kind = "drwa", lambda = 3.0}
start = "100ms"
stop = "1s"
[[flow]]
id = "call"
traffic = {kind = "cbr", rate = "64kbps"}
"#;

/// Replaced text of [`GOOD`], its replacement, and the message after the file name.
const BROKEN: &[(&str, &str, &str)] = &[
    // Invalid TOML and duplicate keys.
    ("seed = 1", "seed =", ":4: not valid TOML: string values must be quoted, expected literal string"),
    ("seed = 1", "seed = ", ":4: not valid TOML: string values must be quoted, expected literal string"),
    ("[[site]]", "[[site", ":10: not valid TOML: unclosed array table, expected `]]`"),
    (r#"name = "good""#, r#"name = "good"#, r#":2: not valid TOML: invalid basic string, expected `"`"#),
    ("seed = 1", "seed = 1979-05-27", r#":4: seed: 1979-05-27 is a date; a time is written as in "20ms""#),
    (
        "seed = 1",
        "seed = 9223372036854775808",
        ":4: seed: 9223372036854775808 is too large for a whole number",
    ),
    ("seed = 1", "seed = 1\nseed = 2", ":5: not valid TOML at `seed`: duplicate key"),
    ("[[site]]", "[site]", ":10: site: expected a list, found a table; a list of tables is written [[...]]"),
    ("[[site]]", "site = []\n[[site]]", ":11: not valid TOML at `site`: duplicate key"),
    // Misspelt keys, at every level.
    ("duration", "duraton", ":3: unknown key `duraton`; did you mean `duration`?; allowed: ..."),
    ("mss = 1000", "msss = 1000", ":5: tcp: unknown key `msss`; did you mean `mss`?; allowed: ..."),
    (
        "carrier.bandwidth",
        "carier.bandwidth",
        ":6: unknown key `carier`; did you mean `carrier`?; allowed: ...",
    ),
    (
        "carrier.bandwidth",
        "carrier.bandwith",
        ":6: carrier: unknown key `bandwith`; did you mean `bandwidth`?; allowed: `bandwidth`, `downlink_frequency`, `uplink_frequency`, `secondary`",
    ),
    ("target = 0.1", "bler = 0.1", ":7: radio.amc: unknown key `bler`; allowed: `target`"),
    (
        "multiplexed = 2",
        "nmux = 2",
        ":8: mac.scheduler: unknown key `nmux`; allowed: `window`, `multiplexed`, `frequency_metric`",
    ),
    (
        r#"mac.scheduler = {kind = "pss", multiplexed = 2}"#,
        r#"mac.scheduler = {kind = "rr", multiplexed = 2}"#,
        ":8: mac.scheduler: unknown key `multiplexed`; allowed: `remainder`",
    ),
    (
        "buffer =",
        "bufer =",
        ":9: rlc.queue: unknown key `bufer`; did you mean `buffer`?; allowed: `buffer`, `packets`",
    ),
    (
        "[[site]]\nposition",
        "radio.access = \"nr\"\ncompat = \"ns3.44\"\ncompat_without = [\"protocol\"]\n[[site]]\nposition",
        ":12: compat_without: ns-3 has no RLC of NR: `protocol` can be left out together with `conduct` only",
    ),
    (
        "[[site]]\nposition",
        "rlc.am.conduct = \"ns-3\"\n[[site]]\nposition",
        ":10: rlc.am: `conduct` is a quirk of another simulator (ns-3 LteRlcAm: ns-3) and no key; `compat` at the \
         top of the scenario selects the quirks of one",
    ),
    (
        "seed = 1",
        "seed = 1\ncompat = \"ns3.45\"",
        ":5: compat: unknown word `ns3.45`; did you mean `ns3.44`?; allowed: `none`, `airwnd-0.1`, `ns2`, `ns3.26`, \
         `ns3.44`, `5g-lena`",
    ),
    (
        "seed = 1",
        "seed = 1\ncompat_without = [\"sixteen_bits\"]",
        ":5: compat_without[0]: unknown quirk `sixteen_bits`; allowed: `count_sacked_retransmissions`, `grow_at_exit`, \
         `presumes_beyond`, `probe_small_windows`, `prr_duplicate_credit`, `prr_wraps`, `recount_at_exit`, \
         `sack_from_list`",
    ),
    (
        "[[site]]\nposition",
        "rlc.am.sn_size = 12\n[[site]]\nposition",
        ":10: rlc.am.sn_size: 12 is not a size in LTE; allowed: 10, 16",
    ),
    (
        "[[site]]\nposition",
        "radio.access = \"nr\"\nrlc.um.sn_size = 10\n[[site]]\nposition",
        ":11: rlc.um.sn_size: 10 is not a size in NR; allowed: 6, 12",
    ),
    (
        "[[site]]\nposition",
        "rlc.mode = \"tm\"\n[[site]]\nposition",
        ":10: rlc.mode: unknown word `tm`; allowed: `um`, `am`",
    ),
    (
        "[[site]]\nposition",
        "rlc.am = {status_prohibit = \"2s\"}\n[[site]]\nposition",
        ":10: rlc.am.status_prohibit: 2s is outside 0ns..1s",
    ),
    (
        "beamwidth =",
        "beam_width =",
        ":12: site[0].antenna: unknown key `beam_width`; did you mean `beamwidth`?; allowed: `beamwidth`, `max_attenuation`, `vertical_beamwidth`, `vertical_attenuation`, `downtilt`, `max_gain`",
    ),
    (
        "count =",
        "number =",
        ":15: ue[0]: unknown key `number`; allowed: `name`, `count`, `placement`, `mobility`, `replay`, `height`, `floors`, `noise_figure`, `carriers`, `configured_grant`, `qci`, `gbr`, `mbr`, `pbr`, `bearer`, `via`, `shaper`",
    ),
    (
        r#"radius = "300m""#,
        r#"distance = "300m""#,
        ":16: ue[0].placement: unknown key `distance`; allowed: `radius`, `bearing`, `centre`",
    ),
    (
        r#"id = "web""#,
        r#"name = "web""#,
        ":21: flow[0]: unknown key `name`; allowed: `id`, `ue`, `bearer`, `direction`, `traffic`, `cc`, `rwnd`, `tcp`, `read_rate`, `count`, `arrivals`, `start`, `stagger`, `stop`, `delay_budget`",
    ),
    ("lambda = 3.0", "gain = 3.0", ":24: flow[0].rwnd: unknown key `gain`; allowed: ..."),
    (
        r#"name = "good""#,
        r#""na\nme" = "good""#,
        r":2: unknown key `na\nme`; did you mean `name`?; allowed: ...",
    ),
    // Escape sequences that a terminal would interpret.
    (
        r#"name = "good""#,
        r#"name = "a\u001b[31mred""#,
        r#":2: name: control characters are not allowed in a text, found "a\u{1b}[31mred""#,
    ),
    // Too many events.
    (
        r#"rate = "64kbps""#,
        r#"rate = "1000Gbps", packet = "1B""#,
        ":29: flow[1].traffic: `cbr` makes about 1.0e12 writes in all; at most 1e10 are allowed: lower the rate, write more bytes at a time, or stop earlier",
    ),
    (
        r#"rate = "64kbps""#,
        r#"rate = "64kbps", packet = "0B""#,
        ":29: flow[1].traffic.packet: 0B is outside 1B..65507B",
    ),
    (
        r#"{kind = "drop-tail", buffer = "50KiB"}"#,
        r#"{kind = "dualpi2", target = "1ns"}"#,
        ":9: rlc.queue.target: 1ns is outside 10us..10s",
    ),
    // Units.
    (
        r#"duration = "2s""#,
        r#"duration = "2""#,
        r#":3: duration: `2` needs a unit, as in "20ms"; allowed units: ns, us, µs, ms, s, min, h"#,
    ),
    (
        r#"duration = "2s""#,
        "duration = 2",
        r#":3: duration: expected a time with its unit, as in "20ms", found 2"#,
    ),
    (
        r#"duration = "2s""#,
        r#"duration = "2 sec""#,
        ":3: duration: `sec` is not a unit of a time; allowed units: ns, us, µs, ms, s, min, h",
    ),
    (
        r#"duration = "2s""#,
        r#"duration = "2Mbps""#,
        ":3: duration: `Mbps` is not a unit of a time; allowed units: ns, us, µs, ms, s, min, h",
    ),
    (
        r#"duration = "2s""#,
        r#"duration = "two seconds""#,
        r#":3: duration: `two seconds` is not a time; write a number and a unit, as in "20ms""#,
    ),
    (r#"duration = "2s""#, r#"duration = "-2s""#, ":3: duration: `-2s` must not be negative"),
    (r#"duration = "2s""#, r#"duration = "1e30s""#, ":3: duration: `1e30s` is too large"),
    (r#"duration = "2s""#, r#"duration = "0s""#, ":3: duration: 0ns is outside 1ms..8760h"),
    (r#"duration = "2s""#, r#"duration = "9000h""#, ":3: duration: 9000h is outside 1ms..8760h"),
    (
        r#"buffer = "50KiB""#,
        r#"buffer = "50Kib""#,
        ":9: rlc.queue.buffer: `Kib` is not a unit of a number of bytes; allowed units: B, kB, KB, MB, GB, KiB, MiB, GiB",
    ),
    (
        r#"buffer = "50KiB""#,
        r#"buffer = "0.5B""#,
        ":9: rlc.queue.buffer: `0.5B` is not a whole number of bytes",
    ),
    (r#"buffer = "50KiB""#, r#"buffer = "0KiB""#, ":9: rlc.queue.buffer: 0B is outside 1B..1024GiB"),
    (r#"buffer = "50KiB""#, r#"buffer = "-5KiB""#, ":9: rlc.queue.buffer: `-5KiB` must not be negative"),
    (
        r#"rate = "64kbps""#,
        r#"rate = "-64kbps""#,
        ":29: flow[1].traffic.rate: `-64kbps` must not be negative",
    ),
    (r#"rate = "64kbps""#, r#"rate = "0bps""#, ":29: flow[1].traffic.rate: 0bps is outside 1bps..1000Gbps"),
    (r#"size = "1MB""#, r#"size = "0B""#, ":23: flow[0].traffic.size: 0B is outside 1B..1024GiB"),
    (r#"size = "1MB""#, r#"size = "-1MB""#, ":23: flow[0].traffic.size: `-1MB` must not be negative"),
    (
        r#"size = "1MB""#,
        r#"size = "paretto""#,
        ":23: flow[0].traffic.size: unknown size `paretto`; did you mean `pareto`?; allowed: ...",
    ),
    (
        r#"beamwidth = "70deg""#,
        r#"beamwidth = "70°C""#,
        ":12: site[0].antenna.beamwidth: `°C` is not a unit of an angle; allowed units: deg, °",
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["0m", 5]"#,
        r#":11: site[0].position[1]: expected a distance with its unit, as in "500m", found 5"#,
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["0m"]"#,
        ":11: site[0].position: expected a list of 2 values, found 1",
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["0m", "1e9km"]"#,
        ":11: site[0].position: 1000000000km is outside -1000km..1000km",
    ),
    (
        r#"radius = "300m""#,
        r#"radius = "infm""#,
        r#":16: ue[0].placement.radius: `infm` is not a distance; write a number and a unit, as in "500m""#,
    ),
    (
        r#"kind = "parabolic", beamwidth = "70deg""#,
        r#"kind = "parabolic", max_gain = "18dBi""#,
        ":12: site[0].antenna.max_gain: `dBi` is not a unit of a ratio; allowed units: dB",
    ),
    (
        "position",
        r#"power = "43W"
position"#,
        ":11: site[0].power: `W` is not a unit of a power; allowed units: dBm",
    ),
    // Types.
    (r#"name = "good""#, "name = 5", ":2: name: expected a text, found 5"),
    ("mss = 1000", r#"mss = "1000""#, r#":5: tcp.mss: expected a whole number, found "1000""#),
    ("mss = 1000", "mss = 1000.5", ":5: tcp.mss: expected a whole number, found 1000.5"),
    (
        r#"tcp = {stack = "ns3.44", mss = 1000, timestamps = false}"#,
        r#"tcp = "ns3.44""#,
        r#":5: tcp: expected a table of settings, found "ns3.44""#,
    ),
    (
        r#"tcp = {stack = "ns3.44", mss = 1000, timestamps = false}"#,
        "tcp = [1]",
        ":5: tcp: expected a table of settings, found a list",
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = {x = "0m", y = "0m"}"#,
        ":11: site[0].position: expected a list of 2 values, found a table",
    ),
    (r#"kind = "transfer""#, "kind = 1", ":23: flow[0].traffic.kind: expected a word, found 1"),
    (
        r#"traffic = {kind = "transfer", size = "1MB"}"#,
        "traffic = true",
        r#":23: flow[0].traffic: expected a kind of traffic, as in "bulk" or {kind = "bulk", ...}, found true"#,
    ),
    (
        r#"traffic = {kind = "transfer", size = "1MB"}"#,
        r#"traffic = {size = "1MB"}"#,
        ":23: flow[0].traffic: the `kind` of traffic is missing; allowed: `bulk`, `transfer`, `ftp`, `cbr`, `video`, `web`, `ping`, `plugin`, `python`",
    ),
    (
        "[[site]]\nposition",
        "[site]\nposition",
        ":10: site: expected a list, found a table; a list of tables is written [[...]]",
    ),
    ("mss = 1000", r#"mss = 1000, sack = "yes""#, r#":5: tcp.sack: expected true or false, found "yes""#),
    ("count = 3", "count = 2.5", ":15: ue[0].count: expected a whole number, found 2.5"),
    (
        r#""300m""#,
        "300",
        r#":16: ue[0].placement.radius: expected a distance with its unit, as in "500m", found 300"#,
    ),
    (
        r#"{kind = "ring", radius = "300m"}"#,
        r#"{kind = "list", points = [["1m", "0m"], ["1m", 0], ["1m", "1m"]]}"#,
        r#":16: ue[0].placement.points[1][1]: expected a distance with its unit, as in "500m", found 0"#,
    ),
    (
        r#"{kind = "ring", radius = "300m"}"#,
        r#"{kind = "list", points = "1m"}"#,
        r#":16: ue[0].placement.points: expected a list, found "1m""#,
    ),
    // Ranges.
    ("seed = 1", "seed = -1", ":4: seed: -1 is outside 0..9223372036854775807"),
    ("mss = 1000", "mss = 70000", ":5: tcp.mss: 70000 is outside 64..65000"),
    ("mss = 1000", "mss = 10", ":5: tcp.mss: 10 is outside 64..65000"),
    ("count = 3", "count = 0", ":15: ue[0].count: 0 is outside 1..100000"),
    ("count = 3", "count = -3", ":15: ue[0].count: -3 is outside 1..100000"),
    ("count = 3", "count = 1_000_000_000", ":15: ue[0].count: 1000000000 is outside 1..100000"),
    ("lambda = 3.0", "lambda = nan", ":24: flow[0].rwnd.lambda: expected a finite number, found NaN"),
    ("lambda = 3.0", "lambda = inf", ":24: flow[0].rwnd.lambda: expected a finite number, found inf"),
    ("lambda = 3.0", "lambda = 1e400", ":24: flow[0].rwnd.lambda: expected a finite number, found inf"),
    ("lambda = 3.0", "lambda = -3", ":24: flow[0].rwnd.lambda: -3.0 is outside 0.1..100.0"),
    ("target = 0.1", "target = 1.5", ":7: radio.amc.target: 1.5 is outside 1e-6..0.9"),
    // Dynamic flows.
    (r#"start = "100ms""#, "count = 0", ":25: flow[0].count: 0 is outside 1..10000"),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "poisson", rate = 0}"#,
        ":25: flow[0].arrivals.rate: 0.0 is outside 1e-6..1000000.0",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "poisson", rate = 1e6}"#,
        ":25: flow[0].arrivals: about 3000000 flows in all; at most 1000000 are allowed",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "schedule", times = []}"#,
        ":25: flow[0].arrivals.times: the list is empty; at least one time is required",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "schedule", times = ["200ms", "100ms"]}"#,
        ":25: flow[0].arrivals.times: 100ms comes after 200ms; times must ascend",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "schedule", times = ["200ms", "1s"]}"#,
        ":25: flow[0].arrivals.times: 1s is not before the end of the arrivals at 1s",
    ),
    (
        r#"rate = "64kbps"}"#,
        r#"rate = "64kbps"}
arrivals = "poisson""#,
        ":30: flow[1].arrivals: `poisson` arrivals continue until the end, and flows of `cbr` never complete; use `transfer`, `web` with `pages`, or `schedule` arrivals",
    ),
    (
        r#"{kind = "transfer", size = "1MB"}"#,
        r#""web"
arrivals = "periodic""#,
        ":24: flow[0].arrivals: `periodic` arrivals continue until the end, and flows of `web` never complete; use `transfer`, `web` with `pages`, or `schedule` arrivals",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "file", path = "nowhere.csv"}"#,
        ":25: flow[0].arrivals.path: nowhere.csv cannot be read: No such file or directory",
    ),
    (
        r#"start = "100ms""#,
        r#"arrivals = {kind = "file", path = "x.csv", rows = [[1, -1], [0.5, -1]]}"#,
        ":25: flow[0].arrivals.rows: row 1: 0.5 s comes after 1 s; times must ascend",
    ),
    (
        r#"rate = "64kbps"}"#,
        r#"rate = "64kbps"}
arrivals = {kind = "file", path = "x.csv", rows = [[0, 1000]]}"#,
        ":30: flow[1].arrivals.path: x.csv has flow sizes, but flows of `cbr` have no size; use `transfer`",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "pareto", min = "2MB", max = "1MB"}"#,
        ":23: flow[0].traffic.size.max: the maximum size 1MB is not above the minimum 2MB",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "pareto", min = "1MB", max = "1MB"}"#,
        ":23: flow[0].traffic.size.max: the maximum size 1MB is not above the minimum 1MB",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "exponential", mean = "1kB", min = "1MB"}"#,
        ":23: flow[0].traffic.size.min: less than 1e-9 of the distribution lies between min and max",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "exponential", mean = "0B"}"#,
        ":23: flow[0].traffic.size.mean: 0B is outside 1B..1024GiB",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "empirical", path = "nowhere.csv"}"#,
        ":23: flow[0].traffic.size.path: nowhere.csv cannot be read: No such file or directory",
    ),
    (
        r#"size = "1MB""#,
        r#"size = {kind = "empirical", path = "x.csv", rows = [[5, 0.5], [9, 0.9]]}"#,
        ":23: flow[0].traffic.size.rows: row 1: cdf ends at 0.9, not at 1",
    ),
    (
        r#"{kind = "transfer", size = "1MB"}"#,
        r#"{kind = "web", object = "0B"}"#,
        ":23: flow[0].traffic.object: 0B is outside 1B..1024GiB",
    ),
    // Bearers.
    (r#"name = "far""#, "qci = 91", ":18: ue[1].qci: 91 is outside 1..90"),
    (
        r#"name = "far""#,
        "qci = 11",
        ":18: ue[1].qci: QCI 11 is not standardized; allowed: 5 to 10, 69 to 70, 79 to 80, and with gbr 1 to 4, 65 to \
         67, 71 to 76, 82 to 90",
    ),
    (
        r#"name = "far""#,
        "qci = 2",
        ":18: ue[1].qci: QCI 2 is a GBR class; set gbr, or use QCI 5 to 10, 69 to 70, 79 to 80",
    ),
    (
        r#"name = "far""#,
        r#"qci = 9
gbr = "1Mbps""#,
        ":18: ue[1].qci: QCI 9 is a non-GBR class; remove gbr, or use QCI 1 to 4, 65 to 67, 71 to 76, 82 to 90",
    ),
    (
        r#"name = "far""#,
        r#"mbr = "1Mbps""#,
        ":18: ue[1].mbr: a maximum bit rate requires a guaranteed bit rate; set gbr",
    ),
    (
        r#"name = "far""#,
        r#"gbr = "2Mbps"
mbr = "1Mbps""#,
        ":19: ue[1].mbr: the maximum bit rate 1Mbps is below gbr, 2Mbps",
    ),
    (
        r#"name = "far""#,
        r#"bearer = [{name = "call", qci = 2}]"#,
        ":18: ue[1].bearer[0].qci: QCI 2 is a GBR class; set gbr, or use QCI 5 to 10, 69 to 70, 79 to 80",
    ),
    (r#"name = "far""#, r#"bearer = [{name = ""}]"#, ":18: ue[1].bearer[0].name: a bearer needs a name"),
    (
        r#"name = "far""#,
        r#"bearer = [{filter = [{server_ports = [5, 3]}]}]"#,
        ":18: ue[1].bearer[0].filter[0].server_ports: the first port, 5, is above the last, 3",
    ),
    (
        r#"name = "far""#,
        r#"bearer = [{filter = [{protocol = "icmp", ue_ports = [3, 3]}]}]"#,
        ":18: ue[1].bearer[0].filter[0].ue_ports: only tcp and udp have ports; remove it, or set protocol to one of them",
    ),
    (
        r#"name = "far""#,
        r#"bearer = [{name = "call"}, {name = "call"}]"#,
        ":18: ue[1].bearer: two bearers are named `call`; names must be unique",
    ),
    (
        r#"name = "far""#,
        r#"bearer = [{name = "a"}, {name = "b"}, {name = "c"}, {name = "d"}, {name = "e"}, {name = "f"}, {name = "g"}, {name = "h"}]"#,
        ":18: ue[1].bearer: 8 dedicated bearers; a UE has at most 7",
    ),
    (
        r#"name = "far""#,
        r#"bearer = [{name = "call", mode = "tm"}]"#,
        ":18: ue[1].bearer[0].mode: unknown word `tm`; allowed: `um`, `am`",
    ),
    (
        r#"id = "web""#,
        "id = \"web\"\nbearer = \"call\"",
        ":22: flow[0].bearer: unknown bearer of group `near` `call`; there are none",
    ),
    (
        r#"kind = "pss", multiplexed = 2"#,
        r#"kind = "mt", domain = "space""#,
        ":8: mac.scheduler.domain: unknown word `space`; allowed: `time`, `frequency`",
    ),
    (
        r#"kind = "pss", multiplexed = 2"#,
        r#"kind = "m-lwdf", violation = 1.0"#,
        ":8: mac.scheduler.violation: 1.0 is outside 1e-9..0.99",
    ),
    (r#"name = "far""#, r#"gbr = "0bps""#, ":18: ue[1].gbr: 0bps is outside 1bps..10Gbps"),
    (
        r#"name = "far""#,
        r#"gbr = "1Tbps""#,
        ":18: ue[1].gbr: `Tbps` is not a unit of a rate; allowed units: bps, kbps, Mbps, Gbps, bit/s, kbit/s, Mbit/s, Gbit/s",
    ),
    ("multiplexed = 2", "multiplexed = 0", ":8: mac.scheduler.multiplexed: 0 is outside 1..1000"),
    (
        "mac.scheduler",
        "mac.harq_transmissions = 0\nmac.scheduler",
        ":8: mac.harq_transmissions: 0 is outside 1..8",
    ),
    ("lambda = 3.0", "lambda = 3, alpha = 1", ":24: flow[0].rwnd.alpha: 1.0 is outside 0.0..0.999"),
    ("position", "sectors = 13\nposition", ":11: site[0].sectors: 13 is outside 1..12"),
    // Words.
    (
        r#""5MHz""#,
        r#""0MHz""#,
        ":6: carrier.bandwidth: unknown word `0MHz`; did you mean `90MHz`?; allowed: `1.4MHz`, `3MHz`, `5MHz`, `7MHz`, `10MHz`, `15MHz`, `20MHz`, `25MHz`, `30MHz`, `35MHz`, `40MHz`, `45MHz`, `50MHz`, `60MHz`, `70MHz`, `80MHz`, `90MHz`, `100MHz`, `200MHz`, `400MHz`",
    ),
    (
        r#""5MHz""#,
        r#""8MHz""#,
        ":6: carrier.bandwidth: unknown word `8MHz`; did you mean `80MHz`?; allowed: `1.4MHz`, `3MHz`, `5MHz`, `7MHz`, `10MHz`, `15MHz`, `20MHz`, `25MHz`, `30MHz`, `35MHz`, `40MHz`, `45MHz`, `50MHz`, `60MHz`, `70MHz`, `80MHz`, `90MHz`, `100MHz`, `200MHz`, `400MHz`",
    ),
    (
        r#""ns3.44""#,
        r#""ns3.45""#,
        ":5: tcp.stack: unknown word `ns3.45`; did you mean `ns3.44`?; allowed: `ns2-reno`, `ns3.26`, `ns3.44`, `linux`",
    ),
    (
        r#"kind = "pss""#,
        r#"kind = "psss""#,
        ":8: mac.scheduler.kind: unknown sched `psss`; did you mean `pss`?; allowed: `rr`, `pf`, `pss`, `mt`, `bet`, `tta`, `tbfq`, `lwdf`, `m-lwdf`, `exp-pf`, `cqa`, `plugin`, `python`",
    ),
    (
        r#"kind = "drop-tail""#,
        r#"kind = "drop-tale""#,
        ":9: rlc.queue.kind: unknown aqm `drop-tale`; did you mean `drop-tail`?; allowed: `drop-tail`, `drop-head`, \
         `red`, `gentle-red`, `adaptive-red`, `smred`, `blue`, `avq`, `codel`, `pie`, `cobalt`, `fq-codel`, `fq-pie`, \
         `fq-cobalt`, `dualpi2`, `plugin`, `python`",
    ),
    (
        r#"rlc.queue = {kind = "drop-tail", buffer = "50KiB"}"#,
        r#"core = {server_queue = 5, server_aqm = "red"}"#,
        ":9: core.server_queue: not allowed with `server_aqm` = \"red\"; set the parameters of \"red\"",
    ),
    (
        r#"rlc.queue = {kind = "drop-tail", buffer = "50KiB"}"#,
        r#"core.server_aqm = {kind = "red", max_th = 5.0}"#,
        ":9: core.server_aqm.max_th: 5 packets is not above min_th, 5",
    ),
    (
        r#"rlc.queue = {kind = "drop-tail", buffer = "50KiB"}"#,
        r#"rlc.discard_timer = "60ms""#,
        ":9: rlc.discard_timer: unknown word `60ms`; did you mean `50ms`?; allowed: `50ms`, `100ms`, `150ms`, `300ms`, \
         `500ms`, `750ms`, `1500ms`, `infinity`",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "red", min_th = 20.0, max_th = 20.0"#,
        ":9: rlc.queue.max_th: 20 packets is not above min_th, 20",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "gentle-red", min_th = 16.0"#,
        ":9: rlc.queue.max_th: 15 packets is not above min_th, 16",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "adaptive-red", max_th = 4.0"#,
        ":9: rlc.queue.max_th: 4 packets is not above min_th, 5",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "adaptive-red", bottom = 0.6"#,
        ":9: rlc.queue.bottom: 0.6 exceeds top, 0.5",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "smred", min_th = 60.0"#,
        ":9: rlc.queue.max_th: 60 packets is not above min_th, 60",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "red", max_p = 1.01"#,
        ":9: rlc.queue.max_p: 1.01 is outside 0.0..1.0",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "smred", i = 1"#,
        ":9: rlc.queue.i: 1 is outside 2..1000",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "smred", i = 2.5"#,
        ":9: rlc.queue.i: expected a whole number, found 2.5",
    ),
    (
        r#"kind = "drop-tail", buffer = "50KiB""#,
        r#"kind = "avq", gamma = 1.5"#,
        ":9: rlc.queue.gamma: 1.5 is outside 0.0..1.0",
    ),
    (
        r#"kind = "drwa""#,
        r#"kind = "drva""#,
        ":24: flow[0].rwnd.kind: unknown rwnd `drva`; did you mean `drwa`?; allowed: ...",
    ),
    (
        r#"kind = "ring""#,
        r#"kind = "circle""#,
        ":16: ue[0].placement.kind: unknown placement `circle`; allowed: `disc`, `sector`, `ring`, `line`, `list`, `file`",
    ),
    (
        r#"kind = "cbr""#,
        r#"kind = "http""#,
        ":29: flow[1].traffic.kind: unknown traffic `http`; allowed: `bulk`, `transfer`, `ftp`, `cbr`, `video`, `web`, `ping`, `plugin`, `python`",
    ),
    (
        r#"ue = "near""#,
        r#"direction = "sideways""#,
        ":22: flow[0].direction: unknown word `sideways`; allowed: `down`, `up`",
    ),
    (r#"ue = "near""#, r#"cc = "tahoe""#, ":22: flow[0].cc: unknown cc `tahoe`; allowed: ..."),
    (
        r#"rwnd = {kind = "drwa", lambda = 3.0}"#,
        r#"rwnd = "autotunning""#,
        ":24: flow[0].rwnd: unknown rwnd `autotunning`; did you mean `autotuning`?; allowed: ...",
    ),
    // Conditions between values.
    (
        r#"duration = "2s"
"#,
        "",
        ":1: `duration` is missing",
    ),
    (
        r#"[[site]]
position = ["0m", "0m"]
antenna = {kind = "parabolic", beamwidth = "70deg"}
"#,
        "",
        ":1: there are no sites and no links; add [[site]] or [[link]]",
    ),
    (
        r#"[[site]]
position = ["0m", "0m"]
antenna = {kind = "parabolic", beamwidth = "70deg"}
"#,
        "[[link]]\n",
        ":10: link[0]: `rate` is missing",
    ),
    (
        r#"name = "far""#,
        r#"name = "near""#,
        ":18: ue[1].name: another group is named `near`; names must be unique",
    ),
    (r#"name = "far""#, r#"via = ["x"]"#, ":18: ue[1].via: unknown link `x`; there are none"),
    (r#"name = "far""#, r#"name = """#, ":18: ue[1].name: a group needs a name"),
    (r#"name = "far""#, "count = 99_999", ":13: ue: 100002 UEs in all; at most 100000 are allowed"),
    ("count = 3", "count = 400", ":13: ue: 401 UEs in all; 320 sounding offsets per cell allow at most 320"),
    (
        "mac.scheduler",
        "mac.srs_period = 2\nmac.scheduler",
        ":8: mac.srs_period: 4 UEs in all; 2 sounding offsets per cell allow at most 2",
    ),
    ("position", "sectors = 0\nposition", ":11: site[0].sectors: 0 is outside 1..12"),
    (r#"id = "call""#, r#"id = "web""#, ":28: flow[1].id: another flow has the id `web`; ids must be unique"),
    (r#"id = "call""#, r#"id = """#, ":28: flow[1].id: a flow needs a name"),
    (
        r#"ue = "near""#,
        r#"ue = "nearby""#,
        ":22: flow[0].ue: there is no group `nearby`; groups: `near`, `far`",
    ),
    (
        r#"ue = "near""#,
        r#"ue = "ne\nar""#,
        r#":22: flow[0].ue: control characters are not allowed in a text, found "ne\nar""#,
    ),
    (
        r#"rate = "64kbps"}"#,
        "rate = \"64kbps\"}\nread_rate = \"1Mbps\"",
        ":30: flow[1].read_rate: `cbr` sends UDP datagrams, which are read at once",
    ),
    (
        r#"start = "100ms""#,
        r#"start = "2s""#,
        ":25: flow[0].start: the start at 2s is not before the end at 2s",
    ),
    (
        r#"stop = "1s""#,
        r#"stop = "100ms""#,
        ":26: flow[0].stop: the stop at 100ms is not after the start at 100ms",
    ),
    (
        "mss = 1000",
        r#"min_rto = "30s", max_rto = "2s""#,
        ":5: tcp.min_rto: the minimum timeout 30s exceeds the maximum 2s",
    ),
    (
        "mac.scheduler",
        r#"mac.power_control = {max_power = "-30dBm", min_power = "-20dBm"}
mac.scheduler"#,
        ":8: mac.power_control.max_power: the maximum power -30dBm is below the minimum -20dBm",
    ),
    (
        "mac.scheduler",
        r#"radio.fading = {kind = "eva", speed = "60km/h", doppler = "70Hz"}
mac.scheduler"#,
        ":8: radio.fading.doppler: `speed` = 60km/h already sets it; give one of the two",
    ),
    (
        "mac.scheduler",
        r#"radio.fading = {kind = "eva", speed = "60"}
mac.scheduler"#,
        r#":8: radio.fading.speed: `60` needs a unit, as in "3km/h"; allowed units: m/s, km/h"#,
    ),
    (
        "mac.scheduler",
        r#"radio.fading = {kind = "etu", speed = "900km/h"}
mac.scheduler"#,
        ":8: radio.fading.speed: 250m/s is outside 0m/s..200m/s",
    ),
    (
        "mac.scheduler",
        "mac.olla.target = 1.0\nmac.scheduler",
        ":8: mac.olla.target: 1.0 is outside 0.001..0.9",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "arwa""#,
        ":24: flow[0].rwnd: `arwa` measures delay by timestamps; set tcp.timestamps = true",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "rledbat""#,
        ":24: flow[0].rwnd: `rledbat` measures delay by timestamps; set tcp.timestamps = true",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "rledbat", target = "0ms""#,
        ":24: flow[0].rwnd.target: 0ns is outside 1ms..10s",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "rledbat", base_history = 0"#,
        ":24: flow[0].rwnd.base_history: 0 is outside 1..1000",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "standing", probe_interval = "10ms""#,
        ":24: flow[0].rwnd.probe_interval: 10ms is outside 1s..24h",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "drwa", base_history = "10ms""#,
        ":24: flow[0].rwnd.base_history: 10ms is outside 1s..24h",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "dfcsd", backlog = 0.0"#,
        ":24: flow[0].rwnd.backlog: 0.0 is outside 0.1..10000.0",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "dfcsd", update = "slow""#,
        ":24: flow[0].rwnd.update: unknown word `slow`; allowed: `direct`, `step`",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "rtac", max_p = 2.0"#,
        ":24: flow[0].rwnd.max_p: 2.0 is outside 0.0..1.0",
    ),
    (
        r#"kind = "drwa", lambda = 3.0"#,
        r#"kind = "rtac", max_th = 0.5"#,
        ":24: flow[0].rwnd.max_th: 0.5 of the queue is not above min_th, 0.8",
    ),
    // Radio access and its carrier.
    (
        "carrier.bandwidth = \"5MHz\"",
        "carrier.bandwidth = \"100MHz\"",
        ":6: carrier.bandwidth: LTE has no carrier of 100MHz; NR has: radio.access",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{bandwidth = \"100MHz\", downlink_frequency = \"1.8GHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary[0].bandwidth: LTE has no carrier of 100MHz; NR has: radio.access",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{bandwidth = \"20MHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary[0]: `downlink_frequency` is missing",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{downlink_frequency = \"6.5GHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary[0].downlink_frequency: 6500MHz is above 6GHz, where LTE ends",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{downlink_frequency = \"2.12GHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary[0].downlink_frequency: 2120MHz overlaps the carrier at 2120MHz; their centres are at least 4500kHz apart",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{downlink_frequency = \"1.8GHz\"}, {downlink_frequency = \"1803MHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary[1].downlink_frequency: 1803MHz overlaps the carrier at 1800MHz; their centres are at least 4500kHz apart",
    ),
    (
        "carrier.bandwidth",
        "carrier.secondary = [{downlink_frequency = \"1GHz\"}, {downlink_frequency = \"1.1GHz\"}, \
         {downlink_frequency = \"1.2GHz\"}, {downlink_frequency = \"1.3GHz\"}]\ncarrier.bandwidth",
        ":6: carrier.secondary: 4 secondary carriers; at most 3 are allowed",
    ),
    ("count = 3", "count = 3\ncarriers = 5", ":16: ue[0].carriers: 5 is outside 1..4"),
    ("count = 3", "count = 3\ncarriers = 0", ":16: ue[0].carriers: 0 is outside 1..4"),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", numerology = 2}\ncarrier.bandwidth",
        ":7: carrier.bandwidth: NR has no carrier of 5MHz with numerology 2 (60 kHz) in FR1; allowed: 10MHz, 15MHz, \
         20MHz, 25MHz, 30MHz, 35MHz, 40MHz, 45MHz, 50MHz, 60MHz, 70MHz, 80MHz, 90MHz, 100MHz",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", numerology = 3}\ncarrier.bandwidth",
        ":7: carrier.bandwidth: NR has no carrier of 5MHz with numerology 3 (120 kHz) in FR1; FR1 does not have this \
         numerology",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"DDDDD\"}\ncarrier.bandwidth",
        ":6: radio.access.pattern: `DDDDD` has no uplink",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"DDDDS\"}\ncarrier.bandwidth",
        ":6: radio.access.pattern: `DDDDS` has no uplink slot `U`, which user data needs",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"UDDUD\"}\ncarrier.bandwidth",
        ":6: radio.access.pattern: `UDDUD` is not one pattern or two, each of slots `D`, then `S`, then `U`",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"DSU\"}\ncarrier.bandwidth",
        ":6: radio.access.pattern: `DSU` takes 3 ms; with numerology 0 a pattern takes 1, 2, 3, 4, 5 or 10 ms, and one alone or two together must divide 20 ms",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"DDDSU\", special_uplink = 9}\ncarrier.bandwidth",
        ":6: radio.access.special_downlink: 19 downlink and uplink symbols (special_downlink, special_uplink) in a slot of 14",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", numerology = 3, k2 = 2}\ncarrier.bandwidth",
        ":6: radio.access.k2: a UE needs 3 slots to prepare a PUSCH, found 2",
    ),
    (
        "carrier.bandwidth",
        "radio.access = \"nr\"\nmac.pdcch = {symbols = 2}\ncarrier.bandwidth",
        ":7: mac.pdcch.symbols: found 2, but radio.access.control_symbols = 1 leaves the other symbols to data",
    ),
    (
        "name = \"near\"",
        "name = \"near\"\nconfigured_grant = {prbs = 13}",
        ":15: ue[0].configured_grant.prbs: a cell of 25 PRBs configures grants of up to 12, found 13",
    ),
    (
        "name = \"near\"",
        "name = \"near\"\nconfigured_grant = {prbs = 7}",
        ":15: ue[0].configured_grant.prbs: LTE's uplink has no 7 PRBs: only products of 2, 3 and 5",
    ),
    (
        "name = \"near\"",
        "name = \"near\"\nconfigured_grant = {period = \"2500us\"}",
        ":15: ue[0].configured_grant.period: 2500us is not a multiple of a slot, 1ms",
    ),
    (
        "carrier.bandwidth",
        "mac.pdcch = {symbols = 4}\ncarrier.bandwidth",
        ":6: mac.pdcch.symbols: LTE has 1 to 3 symbols of PDCCH on 25 PRBs, found 4",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", mimo = {cell_antennas = 4, ue_antennas = 2, max_rank = 3}}\ncarrier.bandwidth",
        ":6: radio.access.mimo.max_rank: 3 layers need as many antennas at both ends; a cell has 4, a UE 2",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"lte\", mimo = {cell_antennas = 3, ue_antennas = 4}}\ncarrier.bandwidth",
        ":6: radio.access.mimo: an LTE cell has 1, 2 or 4 antennas, not 3",
    ),
    (
        "carrier.bandwidth",
        "radio.propagation = {kind = \"tr38901\", scenario = \"inh-open\", indoor = 0.5}\ncarrier.bandwidth",
        ":6: radio.propagation.indoor: an office has its cells in the same building: only 0",
    ),
    (
        "carrier.bandwidth",
        "radio.propagation = {kind = \"tr38901\", scenario = \"rma\", penetration = \"high\"}\ncarrier.bandwidth",
        ":6: radio.propagation.penetration: rural buildings have walls of low loss: only \"low\"",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"lte\", mcs_table = \"1024qam\"}\ncarrier.bandwidth",
        ":6: radio.access.mcs_table: unknown word `1024qam`; allowed: `64qam`, `256qam`",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", overhead = 7}\ncarrier.bandwidth",
        ":6: radio.access.overhead: an overhead is 0, 6, 12 or 18, not 7",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", pattern = \"DDDSU\"}\ncarrier.uplink_frequency = \"1930MHz\"\ncarrier.bandwidth",
        ":7: carrier.uplink_frequency: a TDD carrier has one frequency: 1930MHz is not the downlink's 2120MHz; \
         omit the key",
    ),
    (
        "carrier.bandwidth",
        "radio.access = \"nr\"\ncarrier.uplink_frequency = \"2120MHz\"\ncarrier.bandwidth",
        ":7: carrier.uplink_frequency: FDD needs two frequencies; 2120MHz is the downlink's, too: set \
         radio.access.pattern for TDD",
    ),
    (
        "carrier.bandwidth",
        "carrier.uplink_frequency = \"2120MHz\"\ncarrier.bandwidth",
        ":6: carrier.uplink_frequency: FDD needs two frequencies; 2120MHz is the downlink's, too",
    ),
    (
        "carrier.bandwidth",
        "radio.access = \"nr\"\ncarrier.downlink_frequency = \"3.5GHz\"\ncarrier.bandwidth",
        ":7: carrier.downlink_frequency: NR has no FDD band at 3500MHz: set radio.access.pattern for TDD, or \
         carrier.uplink_frequency",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"nr\", block_sizes = \"5g-lena\"}\ncarrier.bandwidth",
        ":6: radio.access: `block_sizes` is a quirk of another simulator (5G-LENA NrAmc::CalculateTbSize, \
         NrEesmErrorModel::GetPayloadSize) and no key; `compat` at the top of the scenario selects the quirks of one",
    ),
    (
        "carrier.bandwidth",
        "radio.access = {kind = \"lte\", first_blocks = \"5g-lena\"}\ncarrier.bandwidth",
        ":6: radio.access: unknown key `first_blocks`; allowed: `mcs_table`, `mimo`",
    ),
    (
        "[[site]]",
        "[[site]]\nwrap_around = true",
        ":11: site[0].wrap_around: a grid needs at least one of `rings`",
    ),
    (
        "[[ue]]",
        "[[ue]]\nfloors = [4, 8]",
        ":14: ue[0].floors: no UE is in a building: set radio.propagation = {kind = \"tr38901\", indoor = ...}",
    ),
    // Losses on links.
    (
        "carrier.bandwidth",
        r#"core.server_loss = {kind = "packet-error", rate = 1.5}
carrier.bandwidth"#,
        ":6: core.server_loss.rate: 1.5 is outside 0.0..1.0",
    ),
    (
        "carrier.bandwidth",
        r#"core.server_loss = {kind = "bit-error", rate = -1e-6}
carrier.bandwidth"#,
        ":6: core.server_loss.rate: -1e-6 is outside 0.0..1.0",
    ),
    (
        "carrier.bandwidth",
        r#"core.server_loss_up = {kind = "gilbert-elliott-time", bad = "0ms"}
carrier.bandwidth"#,
        ":6: core.server_loss_up.bad: 0ns is outside 10us..24h",
    ),
    (
        "carrier.bandwidth",
        r#"core.server_loss = {kind = "scripted", packets = [3, 7, 5]}
carrier.bandwidth"#,
        ":6: core.server_loss.packets: 5 follows 7; the list must be in ascending order",
    ),
    (
        "carrier.bandwidth",
        r#"core.server_loss_up = {kind = "scripted", instants = ["1s", "1s"]}
carrier.bandwidth"#,
        ":6: core.server_loss_up.instants: 1s follows 1s; the list must be in ascending order",
    ),
    (
        "carrier.bandwidth",
        r#"core.server_loss = "packet-eror"
carrier.bandwidth"#,
        ":6: core.server_loss: unknown loss `packet-eror`; did you mean `packet-error`?; allowed: ...",
    ),
    // Positions.
    (
        r#"{kind = "ring", radius = "300m"}"#,
        r#"{kind = "list", points = [["1m", "0m"], ["9m", "0m"]]}"#,
        ":15: ue[0].count: 3 UEs, but the placement has 2 points",
    ),
    (r#"{kind = "ring", radius = "300m"}"#, r#""list""#, ":16: ue[0].placement: `points` is missing"),
    (
        r#"{kind = "ring", radius = "300m"}"#,
        r#"{kind = "ring", radius = "0.5m"}"#,
        ":16: ue[0].placement: UE 0 at (0.5m, 0m) is less than 1m from a mast of site 0",
    ),
    (
        r#"radius = "900m""#,
        r#"radius = "30m""#,
        ":19: ue[1].placement.min_radius: the minimum radius 35m exceeds the radius 30m",
    ),
    (
        r#"{kind = "disc", radius = "900m"}"#,
        r#"{kind = "sector", radius = "3m", min_radius = "4m"}"#,
        ":19: ue[1].placement.min_radius: the minimum radius 4m exceeds the radius 3m",
    ),
    (
        r#"{kind = "disc", radius = "900m"}"#,
        r#"{kind = "file", path = "nowhere.csv"}"#,
        ":19: ue[1].placement.path: nowhere.csv cannot be read: No such file or directory",
    ),
    (r#"{kind = "disc", radius = "900m"}"#, r#""file""#, ":19: ue[1].placement: `path` is missing"),
    (
        r#"{kind = "ring", radius = "300m"}"#,
        r#"{kind = "list", points = [["5m", "0m"], ["0.1m", "0.2m"], ["9m", "0m"]]}"#,
        ":16: ue[0].placement: UE 1 at (0.1m, 0.2m) is less than 1m from a mast of site 0",
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["0m", "0m"]
[[site]]
position = ["0.5m", "0m"]"#,
        ":13: site[1].position: the mast at (0.5m, 0m) is less than 1m from a mast of site 0; for several cells at one place use `sectors`",
    ),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["500m", "0m"]
[[site]]
rings = 1"#,
        ":12: site[1].position: the mast at (500m, 0m) is less than 1m from a mast of site 0; for several cells at one place use `sectors`",
    ),
    (r#"position = ["0m", "0m"]"#, r#"rings = 11"#, ":11: site[0].rings: 11 is outside 0..10"),
    (
        r#"position = ["0m", "0m"]"#,
        r#"position = ["0m", "0m"]
rings = 10
sectors = 4"#,
        ":10: site: 1324 cells in all; at most 1000 are allowed",
    ),
    // Mobility.
    (
        "count = 3",
        r#"mobility = "walk""#,
        ":15: ue[0].mobility: unknown mobility `walk`; allowed: `static`, `constant-velocity`, `random-walk-2d`, `random-waypoint`, `path`",
    ),
    (
        "count = 3",
        r#"mobility = {kind = "constant-velocity", speed = "20"}"#,
        r#":15: ue[0].mobility.speed: `20` needs a unit, as in "3km/h"; allowed units: m/s, km/h"#,
    ),
    (
        "count = 3",
        r#"mobility = {kind = "random-walk-2d", x = ["0m", "200m"]}"#,
        ":15: ue[0].mobility.x: a UE is placed at x = 300m, outside 0m..200m; a walk begins inside",
    ),
    (
        "count = 3",
        r#"mobility = {kind = "random-waypoint", min_speed = "9m/s"}"#,
        ":15: ue[0].mobility.min_speed: the lowest speed 9m/s exceeds the highest 0.7m/s",
    ),
    (
        "count = 3",
        r#"mobility = {kind = "path", path = "nowhere.csv"}"#,
        ":15: ue[0].mobility.path: nowhere.csv cannot be read: No such file or directory",
    ),
    (
        "count = 3",
        r#"mobility = {kind = "path", path = "x.csv", rows = [[0, 0, 0], [1, 500, 0]]}"#,
        ":15: ue[0].mobility.rows: row 1: a jump: 500m in 1s are 500.0 m/s; at most 150m/s are allowed (max_speed)",
    ),
    // Handover.
    (
        "mac.scheduler",
        r#"handover.algorithm = {kind = "a3-rsrp", hysteresis = "16dB"}
mac.scheduler"#,
        ":8: handover.algorithm.hysteresis: 16dB is outside 0dB..15dB",
    ),
    (
        "mac.scheduler",
        r#"handover.forwarding = "all"
mac.scheduler"#,
        ":8: handover.forwarding: unknown word `all`; allowed: `waiting`, `arriving`, `nothing`",
    ),
    (
        "mac.scheduler",
        r#"handover.link_failure = {q_out = "0dB"}
mac.scheduler"#,
        ":8: handover.link_failure.q_out: Qout 0dB exceeds Qin -3.9dB",
    ),
    (
        "mac.scheduler",
        r#"mac.drx = {on_duration = "50ms"}
mac.scheduler"#,
        ":8: mac.drx.on_duration: an on-duration of 50ms exceeds the cycle of 40ms",
    ),
    (
        "mac.scheduler",
        r#"mac.drx = {cycle = "100ms"}
mac.scheduler"#,
        ":8: mac.drx.short_cycle: the long cycle of 100ms is not a multiple of the short cycle of 40ms",
    ),
    (
        "mac.scheduler",
        r#"mac.drx = {short_cycles = 17}
mac.scheduler"#,
        ":8: mac.drx.short_cycles: 17 is outside 1..16",
    ),
    (
        "mac.scheduler",
        r#"rrc = {paging_cycle = "0ms"}
mac.scheduler"#,
        ":8: rrc.paging_cycle: 0ns is outside 10ms..10240ms",
    ),
];

/// Incomplete scenarios, and the whole message.
const INCOMPLETE: &[(&str, &str)] = &[
    ("", "x:1: `duration` is missing"),
    ("duration = '1s'", "x:1: `ue` is missing"),
    ("duration = '1s'\nue = []\nflow = []\n[[site]]", "x:2: ue: there are no UEs; add [[ue]]"),
    (
        "duration = '1s'\n[[site]]\n[[ue]]\ncount = 321\n[[flow]]",
        "x:3: ue: 321 UEs in all; 320 sounding offsets per cell allow at most 320",
    ),
];

fn read(text: &str, origin: &str) -> Result<Scenario, Error> {
    Scenario::from_node(&Node::from_toml(text, origin)?)
}

fn refusal(text: &str, origin: &str) -> String {
    read(text, origin).err().map_or("accepted".into(), |error| error.to_string())
}

#[test]
fn the_original_scenario_is_valid() {
    read(GOOD, "good.toml").unwrap();
}

#[test]
fn every_error_has_its_message() {
    assert!(BROKEN.len() >= 40);
    for (old, new, expected) in BROKEN {
        assert!(GOOD.contains(old), "{old} is in the good scenario");
        let found = refusal(&GOOD.replacen(old, new, 1), "broken.toml");
        let agrees = match expected.strip_suffix("allowed: ...") {
            Some(begin) => found.starts_with(&format!("broken.toml{begin}allowed: `")),
            None => found == format!("broken.toml{expected}"),
        };
        assert!(agrees, "{old} -> {new}\nexpected broken.toml{expected}\n   found {found}");
        assert!(!found.contains('\n'));
    }
}

#[test]
fn missing_keys_are_named() {
    for (text, expected) in INCOMPLETE {
        assert_eq!(refusal(text, "x"), *expected);
    }
    let sites = "[[site]]\nsectors = 12\n".repeat(84);
    let found = refusal(&format!("duration = '1s'\n{sites}[[ue]]\n[[flow]]"), "x");
    assert_eq!(found, "x:2: site: 1008 cells in all; at most 1000 are allowed");
}

/// Invalid position files, and the message after the folder.
const TABLES: &[(&str, &str)] = &[
    ("", "t.csv:1: the file is empty"),
    (
        "x,y\n1,2\n",
        "t.csv:1: unknown column `x`; known: `x_m`, `y_m`, `cell`, `srs_offset`, `ue`, `sinr_db`, `goodput_kbps`, \
         `error_kbps`, `delay_ms`",
    ),
    ("x_m;cell\n1;2\n", "t.csv:1: there is no column `y_m`"),
    ("x_m;y_m\n1;2,5\n", "t.csv:2: `2,5` in column `y_m` is not a number; decimals have a point"),
    ("x_m,y_m\n1,two\n", "t.csv:2: `two` in column `y_m` is not a number"),
    ("x_m,y_m\n50,1\n\n60\n", "t.csv:4: 1 fields in a line, but 2 columns in line 1"),
    ("x_m,y_m\n50,1\n60,2,3\n", "t.csv:3: 3 fields in a line, but 2 columns in line 1"),
    ("x_m,x_m,y_m\n1,2,3\n", "t.csv:1: duplicate column `x_m`"),
    ("x_m,y_m\n1,nan\n", "t.csv:2: `nan` in column `y_m` is not a number"),
    ("x_m,y_m\n1,1e9\n", "t.csv:2: 1000000000 in column `y_m` is outside -1000000..1000000"),
    ("x_m,y_m,cell\n50,1,0\n", "t.csv:2: 0 in column `cell` is outside 1..65535"),
    ("x_m,y_m,srs_offset\n50,1,0.5\n", "t.csv:2: 0.5 in column `srs_offset` is not a whole number"),
    ("x_m,y_m\n50,1\n", "s.toml:4: ue[0].count: 2 UEs, but the placement has 1 points"),
    (
        "x_m,y_m,cell\n50,1,1\n9,9,2\n",
        "s.toml:5: ue[0].placement: UE 1 is assigned to cell 2; allowed: 1 to 1",
    ),
];

#[test]
fn position_files_are_read_strictly() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let scenario = folder.join("s.toml");
    let text =
        "duration = '1s'\n[[site]]\n[[ue]]\ncount = 2\nplacement = {kind = 'file', path = 't.csv'}\n[[flow]]";
    let refusal = || refusal(text, scenario.to_str().unwrap());
    for (table, expected) in TABLES {
        fs::write(folder.join("t.csv"), table).unwrap();
        assert_eq!(refusal(), folder.join(expected).to_str().unwrap(), "{table}");
    }
    fs::write(folder.join("t.csv"), b"\x1f\x8b\x08\0").unwrap();
    let compressed = "it is compressed with gzip; decompress it, or give it as a pipe, as in <(zcat FILE)";
    assert!(refusal().ends_with(compressed), "{}", refusal());
    fs::write(folder.join("t.csv"), b"x_m,y_m\n\xff,1\n").unwrap();
    assert!(refusal().ends_with("cannot be read: it is not a text in UTF-8"));
    let whole = "x_m,y_m\n50,1\n60,2\n";
    let others = [whole.replace(',', ";"), whole.replace(',', "\t"), whole.replace('\n', "\r")];
    for text in others.into_iter().chain([whole.into(), format!("\u{feff}{whole}")]) {
        fs::write(folder.join("t.csv"), text).unwrap();
        assert_eq!(refusal(), "accepted");
    }
}

/// A device may have no end, and a pipe may have no writer.
#[test]
fn only_regular_files_are_read() {
    let refusal = |path: &str| {
        let text = format!(
            "duration = '1s'\n[[site]]\n[[ue]]\nplacement = {{kind = 'file', path = '{path}'}}\n[[flow]]"
        );
        refusal(&text, "s.toml")
    };
    let why = |path: &str, why: &str| format!("s.toml:4: ue[0].placement.path: {path} cannot be read: {why}");
    assert_eq!(refusal("/dev/zero"), why("/dev/zero", "it is not a regular file"));
    assert_eq!(refusal("/"), why("/", "it is a folder"));
}

/// Two UEs of one file, in each format; an error has the line of the file.
#[test]
fn paths_of_sumo_and_ns2_are_read_by_their_ids() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let read = |file: &str, keys: [&str; 2]| {
        let ue = |name: &str, key: &str| {
            format!("[[ue]]\nname = '{name}'\nmobility = {{kind = 'path', path = '{file}', {key}}}\n")
        };
        let text = format!("duration = '1s'\n[[site]]\n{}{}[[flow]]", ue("one", keys[0]), ue("two", keys[1]));
        let node = Node::from_toml(&text, folder.join("s.toml").to_str().unwrap()).unwrap();
        let scenario = Scenario::from_node(&node).map_err(|error| error.to_string())?.to_json();
        Ok([0, 1].map(|ue| scenario["ue"][ue]["mobility"]["rows"].to_string()))
    };
    let step = |time: u32| {
        let vehicle = |id: &str, x: u32| format!("<vehicle id='{id}' x='{x}' y='0'/>");
        format!(
            "<timestep time='{time}'>{}{}</timestep>\n",
            vehicle("a", 5 + time),
            vehicle("b", 9 + 2 * time)
        )
    };
    let fcd = format!("<fcd-export>\n{}{}</fcd-export>", step(0), step(1));
    fs::write(folder.join("fcd.xml"), &fcd).unwrap();
    let rows = ["[[0.0,5.0,0.0],[1.0,6.0,0.0]]", "[[0.0,9.0,0.0],[1.0,11.0,0.0]]"].map(String::from);
    assert_eq!(read("fcd.xml", ["id = 'a'", "id = 'b', format = 'sumo-fcd'"]), Ok(rows.clone()));
    let node = |id: &str, x: u32| format!("$node_({id}) set X_ {x}\n$node_({id}) set Y_ 0\n");
    let go = |id: &str, x: u32, speed: u32| format!("$ns_ at 0 \"$node_({id}) setdest {x} 0 {speed}\"\n");
    let text = [node("a", 5), node("b", 9), go("a", 6, 1), go("b", 11, 2)];
    fs::write(folder.join("moves.tcl"), text.concat()).unwrap();
    assert_eq!(read("moves.tcl", ["id = 'a'", "id = 'b'"]), Ok(rows));
    let refusal = |line: usize, why: &str| Err(format!("{}:{line}: {why}", folder.join("fcd.xml").display()));
    let several = "several UEs; select one by `id`: `a`, `b`";
    assert_eq!(read("fcd.xml", ["max_speed = '9m/s'", "id = 'b'"]), refusal(4, several));
    let jump = "a jump: 2m in 1s are 2.0 m/s; at most 1m/s are allowed (max_speed)";
    assert_eq!(read("fcd.xml", ["id = 'a'", "id = 'b', max_speed = '1m/s'"]), refusal(3, jump));
    fs::write(folder.join("fcd.xml"), format!("<!DOCTYPE a SYSTEM '/etc/passwd'>\n{fcd}")).unwrap();
    let document_type = "document types, entities and unparsed sections are not read";
    assert_eq!(read("fcd.xml", ["id = 'a'", "id = 'b'"]), refusal(1, document_type));
}

/// The caller reads what is neither a file nor a folder, also where nothing is any more.
#[test]
fn pipes_are_read_by_the_caller() {
    let read = |path: &str| {
        let text = format!(
            "duration = '1s'\n[[site]]\n[[ue]]\nplacement = {{kind = 'file', path = '{path}'}}\n[[flow]]"
        );
        let read_pipe = |path: &Path| match path.to_str() {
            Some("/dev/null") => Some(Err("/dev/null: broken".into())),
            Some("/proc/gone") => Some(Ok("x_m,y_m\n50,1\n".into())),
            _ => None,
        };
        let node = Node::from_toml(&text, "s.toml").unwrap();
        Scenario::with_pipes(&node, &Plugins::default(), &read_pipe)
            .map(|scenario| scenario.to_json()["ue"][0]["placement"]["rows"].to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("/proc/gone"), Ok("[[50.0,1.0,-1.0,-1.0]]".into()));
    assert_eq!(read("/dev/null"), Err("s.toml:4: ue[0].placement.path: /dev/null: broken".into()));
    let absent = "s.toml:4: ue[0].placement.path: /nowhere cannot be read: No such file or directory";
    assert_eq!(read("/nowhere"), Err(absent.into()));
}

/// Serving cells are known only when the network is built.
#[test]
fn errors_of_the_network_are_reported_when_it_is_built() {
    let rows = |rows: &str| {
        format!(
            "name = 'n'\nduration = '1s'\nmac.srs_period = 2\n[[site]]\nsectors = 3\n[[ue]]\ncount = 3\n\
             placement = {{kind = 'file', path = '', rows = {rows}}}\n[[flow]]"
        )
    };
    for (places, expected) in [
        (
            "[[50, 0, 0, -1], [60, 0, 0, -1], [70, 0, 0, -1]]",
            "n: mac.srs_period: a sounding period of 2 TTI has offsets for 2 UEs per cell, but one cell has 3",
        ),
        (
            "[[50, 0, 0, 1], [60, 0, 0, 1], [70, 0, 1, -1]]",
            "n: mac.srs_period: two UEs of cell 0 have the sounding offset 1",
        ),
        (
            "[[50, 0, 0, 2], [60, 0, 1, 1], [70, 0, 2, -1]]",
            "n: mac.srs_period: a sounding offset of 2 does not fit a period of 2 TTI",
        ),
    ] {
        let scenario = read(&rows(places), "x").unwrap();
        assert_eq!(run(&scenario, 1, None, &mut |_| true).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_run_can_be_refused_or_stopped() {
    let scenario = read(GOOD, "good.toml").unwrap();
    let error = |period, go_on: bool| run(&scenario, 1, period, &mut |_| go_on).unwrap_err().to_string();
    assert_eq!(error(Some(Span::ZERO), true), "good: time series need a period above 0ns");
    assert_eq!(error(None, false), "good: stopped at 100ms");
}

#[test]
fn a_run_with_many_events_can_be_stopped_within_a_period() {
    let text = "duration = '90ms'\nwarmup = '0s'\n[[link]]\nrate = '20Gbps'\n[[ue]]\n[[flow]]\n\
                traffic = {kind = 'cbr', rate = '10Gbps', packet = '100B'}";
    let scenario = read(text, "x").unwrap();
    let mut instants = Vec::new();
    let stopped = run(&scenario, 1, None, &mut |now| {
        instants.push(now);
        instants.len() < 3
    });
    assert_eq!(stopped.unwrap_err().to_string(), format!("unnamed: stopped at {}", instants[2]));
    assert!(instants.is_sorted() && instants[2] < Time::ZERO + Span::from_millis(90));
}
