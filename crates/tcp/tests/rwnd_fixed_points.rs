//! Where receive-window controls settle on a constant link with a real sender.

mod support;

use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Config, Stack, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use support::{Link, Net};

/// What a long flow has come to.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    /// Mean of the sender's round-trip times, and their least since the start.
    rtt: f64,
    min_rtt: f64,
    /// Mean time that a packet would wait.
    queued_ms: f64,
    /// Mean number of packets that wait or are being sent.
    backlog: f64,
    /// Part of the link's rate that the flow has.
    used: f64,
}

fn controller(text: &str) -> rwnd::Spec {
    rwnd::Spec::read(&Node::from_toml(text, "test").unwrap()).unwrap()
}

fn config() -> Config {
    Config {
        mss: 1000,
        receive_buffer: Bytes(8 << 20),
        send_buffer: Bytes(8 << 20),
        timestamp_tick: Span::from_micros(100),
        ..Stack::Linux.config()
    }
}

/// A long flow over a link of `mbps` and a round trip of `base_ms`, looked at between two times in seconds.
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
    let (mut sum, mut count, mut inside, mut looks) = (0.0, 0, 0, 0);
    let second = 1_000_000_000;
    net.run_until(Time(from * second));
    let before = net.ends[1].bytes_received();
    while net.now < Time(to * second) {
        net.run_until(net.now + Span::from_millis(1));
        if let Some(sample) = net.ends[0].take_rtt_sample() {
            sum += sample.as_millis();
            count += 1;
        }
        inside += net.links[0].inside(net.now);
        looks += 1;
    }
    let backlog = inside as f64 / f64::from(looks);
    let packet = f64::from(u32::from(config.mss)) + 54.0;
    let bytes = net.ends[1].bytes_received() - before;
    Settled {
        rtt: sum / f64::from(count),
        min_rtt: net.ends[0].min_rtt().unwrap().as_millis(),
        queued_ms: backlog * packet * 8.0 / mbps / 1e3,
        backlog,
        used: bytes.bits() as f64 / ((to - from) as f64 * mbps * 1e6),
    }
}

#[test]
fn explore() {
    for cc in ["newreno"] {
        for (mbps, base) in [(2.0, 50), (5.0, 20), (10.0, 50), (20.0, 50), (20.0, 100), (50.0, 100)] {
            for from in [60, 120] {
            let s = settle(&config(), cc, "kind = \"rledbat\"\ninterval = 1000.0", mbps, base, from, from+60);
            println!("{cc} {mbps} {base} rledbat {from} {s:?}");
            }
        }
        for lambda in [1.5, 2.0, 3.0] {
            for (mbps, base) in [(5.0, 20), (10.0, 50), (20.0, 100)] {
                for from in [30, 60, 120] {
                let s = settle(&config(), cc, &format!("kind = \"drwa\"\nlambda = {lambda:?}"), mbps, base, from, from+20);
                println!("{cc} {mbps} {base} drwa {lambda} {from} {:.3} {s:?}", s.rtt / s.min_rtt);
                }
            }
        }
    }
}
