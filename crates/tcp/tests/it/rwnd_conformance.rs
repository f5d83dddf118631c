//! Requirements on every receive-window control with a real sender and receiver.
//!
//! The minimum window under random events is tested next to the trait (`crates/rwnd/src/lib.rs`).

use crate::support::{Link, Net, newreno};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Config, Seq, Stack, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;

fn spec(text: &str) -> rwnd::Spec {
    let node = Node::from_toml(text, "test").expect("it is TOML");
    rwnd::Spec::read(&node).expect("it is a receive-window control")
}

fn all_controls() -> impl Iterator<Item = (String, rwnd::Spec)> {
    rwnd::Spec::built_in().into_iter().map(|name| (name.clone(), spec(&format!("kind = \"{name}\""))))
}

fn config() -> Config {
    let buffer = Bytes(1 << 20);
    Config { mss: MSS as u16, send_buffer: buffer, receive_buffer: buffer, ..Stack::Linux.config() }
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Behaviour of the reading application.
#[derive(Clone, Copy, Debug)]
enum Reader {
    AtOnce,
    /// Reads this many bytes per millisecond.
    Slowly(u64),
    /// Reads all data every 400 ms: the window closes in between.
    NowAndThen,
}

/// Returns the completion time of a transfer in seconds, or infinity if it exceeds one minute.
fn transfer(config: &Config, rwnd: &rwnd::Spec, link: (u64, u64), bytes: Bytes, reader: Reader) -> f64 {
    let (kbps, base_ms) = link;
    let wire = || Link::new(BitRate(kbps * 1000), Span::from_millis(base_ms) / 2, 1_000_000);
    let mut net = Net::new(config, &newreno(), rwnd, [wire(), wire()]);
    net.ends[1].read_at_once(matches!(reader, Reader::AtOnce));
    let mut left = bytes;
    net.open();
    let mut taken = Bytes::ZERO;
    for at in 1..60_000 {
        net.run_until(ms(at));
        left -= net.ends[0].write(left);
        net.pump(0);
        let now = net.now;
        match reader {
            Reader::AtOnce => taken = net.ends[1].bytes_received(),
            Reader::Slowly(rate) => taken += net.ends[1].read(now, Bytes(rate)),
            Reader::NowAndThen if at % 400 == 0 => taken += net.ends[1].read(now, Bytes(u64::MAX)),
            Reader::NowAndThen => {}
        }
        net.pump(1);
        if taken == bytes {
            return now.as_secs();
        }
    }
    f64::INFINITY
}

/// At most three times the link's duration plus ten RTTs: rLEDBAT has periodic slowdowns, and DFCSD oscillates.
#[test]
fn a_lossless_link_is_utilized() {
    for (name, rwnd) in all_controls() {
        for (kbps, base_ms) in [(500, 200), (10_000, 50), (100_000, 10)] {
            let bytes = Bytes(kbps * 1000 / 8 * 3 / 2);
            let max = 3.0 * 1.5 + 10.0 * base_ms as f64 / 1000.0;
            let took = transfer(&config(), &rwnd, (kbps, base_ms), bytes, Reader::AtOnce);
            assert!(took <= max, "{name}: {took} s over {kbps} kbit/s and {base_ms} ms");
            if !rwnd.capabilities().needs_timestamps {
                let config = Config { timestamps: false, ..config() };
                let took = transfer(&config, &rwnd, (kbps, base_ms), bytes, Reader::AtOnce);
                assert!(took <= max, "{name}: {took} s over {kbps} kbit/s, {base_ms} ms, no timestamps");
            }
        }
    }
}

/// At most a fifth longer than the reader takes plus two seconds, even with a window that closes repeatedly.
#[test]
fn a_slow_reader_receives_all_bytes() {
    let bytes = Bytes(100_000);
    for (name, rwnd) in all_controls() {
        for (reader, buffer, reads_s) in [
            (Reader::Slowly(50), 1 << 16, 100_000.0 / 50e3),
            (Reader::NowAndThen, 1 << 16, 0.4 * 100_000.0 / 65_536.0),
            (Reader::NowAndThen, 5000, 0.4 * 100_000.0 / 5e3),
        ] {
            let config = Config { receive_buffer: Bytes(buffer), ..config() };
            let took = transfer(&config, &rwnd, (10_000, 50), bytes, reader);
            assert!(took <= 1.2 * reads_s + 2.0, "{name}: {took} s for {reader:?} with {buffer} B");
        }
    }
}

/// The unit of the scaled window, up to 16 KiB, may exceed the window.
#[test]
fn no_window_scale_shift_closes_the_window() {
    let two_segments = ("two segments".to_string(), spec("kind = \"fixed\"\nlimit = \"1072B\""));
    for (name, rwnd) in all_controls().chain([two_segments]) {
        for shift in 7..=14 {
            let config = Config { mss: 536, receive_buffer: Bytes(65_535 << shift), ..config() };
            let took = transfer(&config, &rwnd, (2_000, 20), Bytes(100_000), Reader::AtOnce);
            // 94 RTTs of two segments; the link needs 0.45 s.
            assert!(took <= 0.5 + 94.0 * 0.03, "{name}: {took} s with a shift of {shift}");
        }
    }
}

/// Two connections of a UE through one queue of 100 packets: both receive data in every two seconds.
#[test]
fn neither_of_two_connections_starves() {
    let fixed = spec("kind = \"fixed\"");
    for (name, rwnd) in all_controls() {
        for other in [&rwnd, &fixed] {
            let link = |limit| Link::new(BitRate(5_000_000), Span::from_millis(25), limit);
            let mut net = Net::new(&config(), &newreno(), &rwnd, [link(100), link(1000)]);
            net.add(&config(), &newreno(), other, [Seq(0), Seq(0)]);
            for end in [0, 2] {
                net.ends[end].write_endlessly();
                net.open_from(end);
            }
            let mut before = [Bytes::ZERO; 2];
            for second in (3..25).step_by(2) {
                net.run_until(ms(second * 1000));
                let now = [net.ends[1].bytes_received(), net.ends[3].bytes_received()];
                assert!(
                    now[0] > before[0] && now[1] > before[1],
                    "{name} with {} at {second} s",
                    other.kind()
                );
                before = now;
            }
        }
    }
}

/// Returns true at random in `percent` of the calls, from a linear congruential sequence.
fn chance(mut state: u64, percent: u64) -> impl FnMut() -> bool {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100 < percent
    }
}

/// Over a path that loses, delays and reorders, with an application that reads at once or slowly.
#[test]
fn the_advertised_edge_never_moves_back_and_fits_the_buffer() {
    let setting = (1..u64::MAX, 0..4_u64, 0..4_u64, 1_000..20_000_u64, 20..200_u64, prop::bool::ANY);
    let runs = ProptestConfig { cases: 8, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    proptest!(runs, |((seed, losses, overtaken, kbps, base_ms, reads) in setting)| {
        for (name, rwnd) in all_controls() {
            let config = Config { receive_buffer: Bytes(1 << 17), ..config() };
            let link = || Link::new(BitRate(kbps * 1000), Span::from_millis(base_ms) / 2, 200);
            let (mut is_lost, mut is_delayed) = (chance(seed, losses), chance(seed + 1, overtaken));
            let mut forward = link();
            forward.loses = Box::new(move |_| is_lost());
            forward.extra_delay =
                Box::new(move |_| if is_delayed() { Span::from_millis(7) } else { Span::ZERO });
            let mut back = link();
            let may_be_code = rwnd.capabilities().sender_half == Some(rwnd::Carriage::WindowField);
            let minimum = if reads && !may_be_code { MSS } else { 0 };
            back.loses = Box::new(move |ack| {
                // 128 KiB need a shift of 2; the window may be one segment below two, so that no silly windows are
                // advertised.
                assert!(ack.window_scale.is_some() || u64::from(ack.window) << 2 >= minimum, "{ack:?}");
                false
            });
            let mut net = Net::new(&config, &newreno(), &rwnd, [forward, back]);
            net.ends[1].read_at_once(reads);
            net.ends[0].write_endlessly();
            net.open();
            let may_shrink = rwnd.capabilities().may_shrink;
            let mut edge = Bytes::ZERO;
            for at in 1..1500 {
                net.run_until(ms(at));
                let end = &net.ends[1];
                prop_assert!(end.offered_window() + end.unread() <= config.receive_buffer, "{}", name);
                let now = end.bytes_received() + end.offered_window();
                prop_assert!(now >= edge || may_shrink, "{name}: {edge} became {now} at {at} ms");
                edge = now;
                if !reads && at % 200 < 20 {
                    let time = net.now;
                    net.ends[1].read(time, Bytes(3000));
                    net.pump(1);
                }
            }
            prop_assert!(net.ends[1].bytes_received() > Bytes(10 * MSS), "{}", name);
        }
    });
}
