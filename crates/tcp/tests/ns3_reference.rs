//! Runs of ns-3 3.44 repeated here: one flow over 10 Mbit/s, 25 ms one way, 100 packets of queue.

mod support;

use airwnd_tcp::{Config, Stack};
use airwnd_units::{BitRate, Bytes, Span, Time};
use support::{Link, Net, newreno, plain_window};

/// 1 Gbit/s and 1 us before the bottleneck, as in the reference, add 8.4 us; they are part of the delay here.
fn bottleneck() -> [Link; 2] {
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
    [link(), link()]
}

fn run(config: &Config, seconds: u64) -> Net {
    let mut net = Net::new(config, &newreno(), &plain_window(), bottleneck());
    net.ends[0].write_endlessly();
    net.open();
    net.run_until(Time::ZERO + Span::from_secs(seconds));
    net
}

fn ns3(buffer: u64) -> Config {
    Config { mss: 1000, send_buffer: Bytes(buffer), receive_buffer: Bytes(buffer), ..Stack::Ns3v44.config() }
}

#[test]
fn newreno_alone() {
    let net = run(&ns3(4_194_304), 60);
    println!("{} {} {:?} drops {}", net.goodput_kbps(1), net.mean_delay_ms(1), net.ends[0].stats(), net.links[0].drops);
}
