//! Fixed points of receive-window controls on a constant-rate link with a real sender.

use crate::support::{Link, Net};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Config, Stack, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// Steady state of a long flow.
#[derive(Clone, Copy, Debug)]
struct Settled {
    /// Mean of the receiver's RTT, which the controllers use, and its minimum since the start. The sender's RTT also
    /// includes the delay of ACKs.
    rtt_ms: f64,
    min_rtt_ms: f64,
    /// Mean number of packets waiting.
    waiting: f64,
    /// Mean waiting time.
    queued_ms: f64,
    /// Fraction of the link's rate used by the flow.
    used: f64,
}

fn controller(text: &str) -> rwnd::Spec {
    rwnd::Spec::read(&Node::from_toml(text, "test").unwrap()).unwrap()
}

/// The buffer exceeds the BDPs of the links below by little: DRWA takes minutes to drain what slow start fills at
/// first, because it acts once per RTT, which is long at that time.
fn config() -> Config {
    Config { mss: 1000, receive_buffer: Bytes(1 << 20), send_buffer: Bytes(8 << 20), ..Stack::Linux.config() }
}

/// Runs a long flow over a link of `mbps` and an RTT of `base_ms`, measured between two times in seconds.
fn settle(config: &Config, cc: &str, rwnd: &str, mbps: f64, base_ms: u64, from: u64, to: u64) -> Settled {
    let cc = cc::Spec::read(&Node::from_toml(&format!("kind = \"{cc}\""), "test").unwrap()).unwrap();
    let rate = BitRate((mbps * 1e6) as u64);
    let links = [
        Link::new(rate, Span::from_millis(base_ms) / 2, 100_000),
        Link::new(BitRate(1_000_000_000), Span::from_millis(base_ms) / 2, 100_000),
    ];
    let mut net = Net::new(config, &cc, &controller(rwnd), links);
    net.ends[0].write_endlessly();
    net.open();
    let (mut rtt, mut min, mut waiting, mut samples) = (0.0, f64::INFINITY, 0, 0);
    let (from, to) = (Time(from * 1_000_000_000), Time(to * 1_000_000_000));
    let mut before = Bytes::ZERO;
    while net.now < to {
        net.run_until(net.now + Span::from_millis(2));
        let Some(now) = net.ends[1].receiver_rtt() else { continue };
        min = f64::min(min, now.as_millis());
        if net.now <= from {
            before = net.ends[1].bytes_received();
            continue;
        }
        rtt += now.as_millis();
        waiting += net.links[0].inside(net.now).saturating_sub(1);
        samples += 1;
    }
    let waiting = waiting as f64 / f64::from(samples);
    let packets = (net.ends[1].bytes_received() - before).0 as f64 / f64::from(config.mss);
    // IP and TCP headers, timestamps, and link overhead
    let packet_ms = (f64::from(config.mss) + 40.0 + 12.0 + 2.0) * 8.0 / mbps / 1e3;
    Settled {
        rtt_ms: rtt / f64::from(samples),
        min_rtt_ms: min,
        waiting,
        queued_ms: waiting * packet_ms,
        used: packets * packet_ms / 1e3 / (to - from).as_secs(),
    }
}

#[track_caller]
fn within(part: f64, value: f64, expected: f64, what: &dyn std::fmt::Debug) {
    assert!((value / expected - 1.0).abs() <= part, "{value:.2} for {expected:.2}: {what:?}");
}

/// Rates in Mbit/s and base RTTs in ms.
const LINKS: [(f64, u64); 4] = [(5.0, 20), (10.0, 50), (2.0, 100), (20.0, 100)];

#[test]
fn drwa_settles_at_lambda_times_the_minimum_rtt() {
    for (mbps, base_ms) in LINKS {
        for (lambda, cc) in [(1.5, "newreno"), (2.0, "newreno"), (3.0, "cubic")] {
            let rwnd = format!("kind = \"drwa\"\nlambda = {lambda:?}");
            let settled = settle(&config(), cc, &rwnd, mbps, base_ms, 40, 50);
            within(0.05, settled.rtt_ms / settled.min_rtt_ms, lambda, &(cc, mbps, base_ms, settled));
            within(0.01, settled.used, 1.0, &settled);
        }
    }
}

#[test]
fn rledbat_settles_at_its_target_delay() {
    for (mbps, base_ms) in LINKS {
        for (target_ms, cc) in [(60.0, "cubic"), (100.0, "newreno")] {
            // The measurement starts after the first slowdown; the next one is far off.
            let rwnd = format!("kind = \"rledbat\"\ntarget = \"{target_ms} ms\"\ninterval = 1000.0");
            let settled = settle(&config(), cc, &rwnd, mbps, base_ms, 60, 75);
            within(0.05, settled.queued_ms, target_ms, &(cc, mbps, base_ms, settled));
            within(0.01, settled.used, 1.0, &settled);
        }
    }
}

/// At most a tenth of the throughput (draft-irtf-iccrg-ledbat-plus-plus-01 §4.4).
#[test]
fn slowdowns_cost_rledbat_at_most_a_tenth() {
    for (mbps, base_ms) in LINKS {
        let settled = settle(&config(), "newreno", "kind = \"rledbat\"", mbps, base_ms, 40, 80);
        assert!((0.9..0.97).contains(&settled.used), "{mbps} Mbit/s, {base_ms} ms: {settled:?}");
    }
}

/// With `update = "step"` the window oscillates by one segment, much of a smaller backlog. With ticks of one
/// millisecond a backlog of 8 segments would be 3 ticks at 20 Mbit/s.
#[test]
fn dfcsd_settles_at_its_backlog() {
    let config = Config { timestamp_tick: Span::from_micros(10), ..config() };
    for (mbps, base_ms) in LINKS {
        for (backlog, cc) in [(8.0, "newreno"), (16.0, "cubic")] {
            let rwnd = format!("kind = \"dfcsd\"\nupdate = \"step\"\nbacklog = {backlog:?}");
            let settled = settle(&config, cc, &rwnd, mbps, base_ms, 60, 75);
            within(0.05, settled.waiting, backlog, &(cc, mbps, base_ms, settled));
            within(0.01, settled.used, 1.0, &settled);
        }
    }
}

/// With immediate updates it settles there only if the BDP of the link does not exceed the backlog: here 12 and 24
/// segments.
#[test]
fn dfcsd_with_immediate_updates_settles_on_short_links() {
    let config = Config { timestamp_tick: Span::from_micros(10), ..config() };
    for (mbps, base_ms, settles) in [(5.0, 20, true), (2.0, 100, true), (20.0, 100, false)] {
        let settled = settle(&config, "newreno", "kind = \"dfcsd\"\nbacklog = 32.0", mbps, base_ms, 60, 75);
        if settles {
            within(0.05, settled.waiting, 32.0, &(mbps, base_ms, settled));
        } else {
            assert!(settled.waiting > 2.0 * 32.0 && settled.used < 0.8, "{settled:?}");
        }
    }
}

/// The RTT of an empty link, plus 2 ms, plus two segments. The window is rounded down to segments, and a delayed ACK
/// withholds one, so ACKs are not delayed here.
#[test]
fn the_oracle_settles_at_its_target_queue() {
    let config = Config { delayed_ack_count: 1, ..config() };
    for (mbps, base_ms) in LINKS {
        for cc in ["newreno", "cubic"] {
            let settled = settle(&config, cc, "kind = \"oracle\"", mbps, base_ms, 20, 30);
            let packet_ms = 1054.0 * 8.0 / mbps / 1e3;
            let (empty, queue) = (base_ms as f64 + packet_ms, 2.0 / packet_ms + 2.0);
            within(0.05, settled.rtt_ms, empty + queue * packet_ms, &(mbps, base_ms, settled));
            within(0.01, settled.used, 1.0, &settled);
            assert!((-1.0..=0.1).contains(&(settled.waiting - queue)), "{queue} segments: {settled:?}");
        }
    }
}
