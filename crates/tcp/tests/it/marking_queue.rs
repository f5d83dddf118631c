//! ECN responses of senders to a queue that marks above a threshold.

use crate::support::{Link, Net, plain_window};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::stack::Ecn;
use airwnd_tcp::{Config, Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};

const RATE: BitRate = BitRate(10_000_000);
/// A segment with its headers and link overhead.
const PACKET: Bytes = Bytes(1000 + 52 + 2);
const ONE_WAY: Span = Span::from_millis(25);
/// Marking threshold (K) in packets.
const K: usize = 20;

/// Queue and window in steady state.
#[derive(Debug)]
struct Steady {
    queue: Vec<f64>,
    window: Vec<f64>,
    goodput_kbps: f64,
    drops: u64,
}

fn run(cc: &str, ecn: Ecn, mark_above: usize) -> Steady {
    let cc = cc::Spec::read(&Node::from_toml(cc, "test").unwrap()).unwrap();
    let buffer = Bytes(4 << 20);
    let config = Config {
        mss: 1000,
        send_buffer: buffer,
        receive_buffer: buffer,
        delayed_ack_count: 1,
        ecn,
        ..Stack::Ns3v44.config()
    };
    let link = || Link::new(RATE, ONE_WAY, 200);
    let mut links = [link(), link()];
    links[0].mark_above = mark_above;
    let mut net = Net::new(&config, &cc, &plain_window(), links);
    net.ends[0].write_endlessly();
    net.open();
    let warm_up = Time(30_000_000_000);
    net.run_until(warm_up);
    let before = net.ends[1].stats().bytes_received;
    let mut steady = Steady { queue: Vec::new(), window: Vec::new(), goodput_kbps: 0.0, drops: 0 };
    for step in 1..=60_000 {
        net.run_until(warm_up + Span::from_millis(1) * step);
        steady.queue.push(net.links[0].inside(net.now) as f64);
        steady.window.push(net.ends[0].cwnd().0 as f64 / 1000.0);
    }
    let bytes = net.ends[1].stats().bytes_received - before;
    steady.goodput_kbps = bytes.bits() as f64 / 60.0 / 1e3;
    steady.drops = net.links[0].drops;
    steady
}

fn min_of(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn max_of(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Returns the BDP in packets.
fn bdp_packets() -> f64 {
    RATE.0 as f64 * 2.0 * ONE_WAY.as_secs() / PACKET.bits() as f64
}

/// Returns the maximum goodput of the link.
fn full_kbps() -> f64 {
    RATE.0 as f64 / 1e3 * 1000.0 / PACKET.0 as f64
}

/// Between marks the window grows by one segment per RTT up to W* + 1, with W* = C RTT + K, and all packets of one RTT
/// are marked. So alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, the window decreases by D = (W* + 1) alpha / 2,
/// and the queue oscillates between K + 1 and K + 1 - D (Alizadeh et al., SIGCOMM 2010, section 3.3).
#[test]
fn dctcp_queue_oscillates_below_the_threshold_with_its_amplitude() {
    let star = bdp_packets() + K as f64;
    let right_hand_side = (2.0 * star + 1.0) / ((star + 1.0) * (star + 1.0));
    let mut alpha = right_hand_side.sqrt();
    for _ in 0..20 {
        alpha = (right_hand_side / (1.0 - alpha / 4.0)).sqrt();
    }
    let amplitude = (star + 1.0) * alpha / 2.0;
    for (settings, ecn) in [("", Ecn::Dctcp), ("growth = \"per-byte\"", Ecn::Accurate)] {
        let steady = run(&format!("kind = \"dctcp\"\n{settings}"), ecn, K);
        let (low, high) = (min_of(&steady.queue), max_of(&steady.queue));
        let swing = max_of(&steady.window) - min_of(&steady.window);
        assert!((swing / amplitude - 1.0).abs() < 0.1, "window amplitude {swing}, expected {amplitude}");
        assert!((high - (K as f64 + 1.0)).abs() <= 1.0, "maximum queue {high}");
        assert!(
            (low - (K as f64 + 1.0 - amplitude)).abs() <= 1.5,
            "minimum queue {low}, expected {amplitude} below the maximum"
        );
        assert!(steady.goodput_kbps > 0.995 * full_kbps(), "{} kbit/s", steady.goodput_kbps);
        assert_eq!(steady.drops, 0);
    }
}

/// The same queue with feedback that reports only the presence of marks: the window is halved, as by NewReno.
#[test]
fn with_rfc_3168_feedback_both_halve_the_window() {
    for cc in ["kind = \"dctcp\"", "kind = \"newreno\""] {
        let steady = run(cc, Ecn::Classic, K);
        let ratio = min_of(&steady.window) / max_of(&steady.window);
        assert!((ratio - 0.5).abs() < 0.02, "{cc}: {ratio}");
    }
}

#[test]
fn prague_keeps_the_queue_around_the_threshold() {
    let steady = run("kind = \"prague\"", Ecn::Accurate, K);
    let (low, high) = (min_of(&steady.queue), max_of(&steady.queue));
    assert!(high <= K as f64 + 2.0 && low >= K as f64 / 2.0, "queue from {low} to {high}");
    assert!(steady.goodput_kbps > 0.995 * full_kbps(), "{} kbit/s", steady.goodput_kbps);
    assert_eq!(steady.drops, 0);
}
