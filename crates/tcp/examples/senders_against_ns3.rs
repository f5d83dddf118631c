//! Plots the congestion window of each sender over that of ns-3: `cargo run --release -p airwnd-tcp --example
//! senders_against_ns3 -- docs/img/senders-against-ns3.svg`.

#[path = "../tests/it/support/mod.rs"]
mod support;

use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::fmt::Write;
use support::{Link, Net, plain_window};

/// ns-3's name, and our algorithm with ns-3's settings.
const SENDERS: [(&str, &str); 15] = [
    ("newreno", "kind = \"newreno\""),
    ("linux-reno", "kind = \"newreno\"\ngrowth = \"per-byte\""),
    (
        "cubic",
        "kind = \"cubic\"\nvariant = \"linux\"\nslow_start = {kind = \"hystart\", train = 1.0, delay = 1.0, delay_max = \"1s\", rtt = \"smoothed\"}",
    ),
    ("westwood", "kind = \"westwood\""),
    ("highspeed", "kind = \"highspeed\""),
    ("hybla", "kind = \"hybla\"\nreference_rtt = \"50ms\""),
    ("veno", "kind = \"veno\""),
    ("scalable", "kind = \"scalable\"\nincrease = 0.02\nlegacy_window = 50.0"),
    ("bic", "kind = \"bic\""),
    ("vegas", "kind = \"vegas\""),
    ("illinois", "kind = \"illinois\""),
    ("htcp", "kind = \"htcp\""),
    ("yeah", "kind = \"yeah\"\nphi = 1000.0"),
    ("ledbat", "kind = \"ledbat\"\nallowed_increase = 0.0"),
    ("lp", "kind = \"lp\"\nextremes = \"renewed\""),
];

const STEP: Span = Span::from_millis(200);
const STEPS: u64 = 299;
const COLUMNS: usize = 3;
/// Size of a panel in points, its frame, and the maximum window of its axis in segments.
const PANEL: (f64, f64) = (230.0, 120.0);
const FRAME: (f64, f64, f64, f64) = (30.0, 18.0, 192.0, 78.0);
const HIGHEST: f64 = 250.0;

fn ours(settings: &str) -> Vec<f64> {
    let node = Node::from_toml(settings, "senders").expect("it is TOML");
    let cc = cc::Spec::read(&node).expect("it is a congestion control");
    let buffer = Bytes(4_194_304);
    let config = airwnd_tcp::Config {
        mss: 1000,
        send_buffer: buffer,
        receive_buffer: buffer,
        ..Stack::Ns3v44.config()
    };
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
    let mut net = Net::new(&config, &cc, &plain_window(), [link(), link()]);
    net.ends[0].write_endlessly();
    net.open();
    let at = |step: u64| Time::ZERO + STEP * step;
    (1..=STEPS)
        .map(|step| {
            net.run_until(at(step));
            net.ends[0].cwnd().0 as f64 / 1000.0
        })
        .collect()
}

fn path(windows: &[f64], style: &str) -> String {
    let (left, top, width, height) = FRAME;
    let mut points = String::new();
    for (step, window) in windows.iter().enumerate() {
        let x = left + width * (step + 1) as f64 / (STEPS + 1) as f64;
        let y = top + height * (1.0 - window.min(HIGHEST) / HIGHEST);
        write!(points, "{x:.1},{y:.1} ").expect("it fits in memory");
    }
    format!("<polyline points=\"{}\" fill=\"none\" {style}/>\n", points.trim_end())
}

fn panel(number: usize, name: &str, theirs: &[f64], ours: &[f64]) -> String {
    let (x, y) = ((number % COLUMNS) as f64 * PANEL.0, (number / COLUMNS) as f64 * PANEL.1);
    let (left, top, width, height) = FRAME;
    let bottom = top + height;
    let mut svg = format!("<g transform=\"translate({x},{y})\">\n");
    svg += &format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#999\" stroke-width=\"0.5\"/>\n"
    );
    svg += &format!("<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{name}</text>\n", top - 4.0);
    for window in [0.0, 100.0, 200.0] {
        let y = bottom - height * window / HIGHEST + 3.0;
        svg += &format!("<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{window}</text>\n", left - 3.0);
    }
    for second in [0.0, 20.0, 40.0, 60.0] {
        let x = left + width * second / 60.0;
        svg +=
            &format!("<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{second}</text>\n", bottom + 10.0);
    }
    svg += &path(theirs, "stroke=\"#d55e00\" stroke-width=\"2\" stroke-opacity=\"0.55\"");
    svg += &path(ours, "stroke=\"#0072b2\" stroke-width=\"0.8\"");
    svg + "</g>\n"
}

fn main() {
    let file = std::env::args().nth(1).expect("a file to write to");
    let reference = include_str!("../tests/data/s5_cwnd.csv");
    let (width, height) = (PANEL.0 * COLUMNS as f64, PANEL.1 * SENDERS.len().div_ceil(COLUMNS) as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" font-size=\"8\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        height + 16.0
    );
    for (number, (name, settings)) in SENDERS.into_iter().enumerate() {
        let line = reference.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(','));
        let theirs: Vec<f64> =
            line.expect("a reference").split(',').map(|cell| cell.parse().unwrap()).collect();
        svg += &panel(number, name, &theirs, &ours(settings));
    }
    let y = height + 8.0;
    svg += &format!(
        "<text x=\"30\" y=\"{y}\">congestion window in segments over seconds; <tspan fill=\"#d55e00\">wide: ns-3 3.44</tspan>, \
         <tspan fill=\"#0072b2\">narrow: ours</tspan></text>\n</svg>\n"
    );
    std::fs::write(file, svg).expect("the file can be written");
}
