//! Requirements on every congestion control with a real sender.
//!
//! The bounds on windows under random events are tested next to the trait (`src/cc/mod.rs`); these tests include a
//! sender, a path and a receiver.

use crate::support::{Link, Net, plain_window};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::stack::WindowUse;
use airwnd_tcp::{Config, Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};

const MSS: u64 = 1000;

/// Controls with a fixed window or rate by definition.
const UNRESPONSIVE: [&str; 2] = ["fixed", "constant"];

/// Controls with a model of the path. The first ten segments double the window regardless of what limits it
/// (draft-ietf-ccwg-bbr-06 §5.6.4.6), and two BDPs have room added for send quanta and ACK aggregation.
const MODELS: [&str; 2] = ["bbr", "bbr3"];
/// Its window is a forecast of the link's deliveries, independent of its use.
const FORECASTS: &str = "sprout";
/// It takes the delay of a delayed ACK for queueing delay and stays at a few segments if ACKs are delayed.
const YIELDS_TO_DELAYED_ACKS: &str = "lp";
/// Background transports keep little of a lossy path.
const YIELDING: [&str; 2] = ["lp", "ledbat-plus-plus"];

fn all_controls() -> impl Iterator<Item = (String, cc::Spec)> {
    cc::Spec::built_in().into_iter().map(|name| {
        let node = Node::from_json(&format!("\"{name}\""), "test").expect("it is JSON");
        let spec = cc::Spec::read(&node).expect("it is a congestion control");
        (name, spec)
    })
}

fn config() -> Config {
    let buffer = Bytes(4 << 20);
    Config {
        mss: MSS as u16,
        send_buffer: buffer,
        receive_buffer: buffer,
        validate_window: true,
        quirks: Stack::Linux.config().quirks,
        ..Stack::Ns3v44.config()
    }
}

/// 10 Mbit/s, 25 ms each way, and a queue of 100 packets.
fn net(config: &Config, cc: &cc::Spec) -> Net {
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
    Net::new(config, cc, &plain_window(), [link(), link()])
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// An application that writes two segments every 50 ms never uses ten: its use is no measure of the path.
#[test]
fn an_application_limited_window_does_not_grow() {
    // `fixed` has its configured window from the start.
    let controls = || all_controls().filter(|(name, _)| name != "fixed" && name != FORECASTS);
    let rules = [WindowUse::AtAck, WindowUse::AtLastSegment, WindowUse::PerWindow];
    for (window_use, (name, spec)) in
        rules.into_iter().flat_map(|rule| controls().map(move |control| (rule, control)))
    {
        let mut net = net(&Config { window_use, ..config() }, &spec);
        net.open();
        let mut max = Bytes::ZERO;
        for step in 0..600 {
            net.run_until(ms(100 + 50 * step));
            net.write(0, Bytes(2 * MSS));
            net.pump(0);
            max = max.max(net.ends[0].cwnd());
        }
        let allowed = if MODELS.contains(&name.as_str()) { 20 } else { 10 };
        assert!(max <= Bytes(allowed * MSS), "{name}: {max} with two segments per RTT");
        net.run_until(ms(31_000));
        assert_eq!(net.ends[1].stats().bytes_received, Bytes(1200 * MSS), "{name}");
        let limited = net.ends[0].limited(net.now);
        // A model paces even small amounts of data.
        assert!(limited.application + limited.pacing > Span::from_secs(30), "{name}: {limited:?}");
    }
}

/// A receiver that advertises twenty segments is the limit: the window may double the used window, but not exceed that.
#[test]
fn a_receiver_limited_window_does_not_grow() {
    let config = Config { receive_buffer: Bytes(20 * MSS), ..config() };
    let bounded = |name: &str| !UNRESPONSIVE.contains(&name) && name != FORECASTS;
    for (name, spec) in all_controls().filter(|(name, _)| bounded(name)) {
        let mut net = net(&config, &spec);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(ms(30_000));
        let cwnd = net.ends[0].cwnd();
        let allowed = if MODELS.contains(&name.as_str()) { 50 } else { 40 };
        assert!(cwnd <= Bytes(allowed * MSS), "{name}: {cwnd} while 20 segments are advertised");
        if name == YIELDS_TO_DELAYED_ACKS {
            continue;
        }
        let goodput = net.goodput_kbps(1);
        // 20 segments of 8 kbit in 50.9 ms
        assert!(goodput > 0.9 * 3143.0, "{name}: {goodput} kbit/s at the receiver's limit");
        let limited = net.ends[0].limited(net.now);
        // A model paces at the rate that the receiver's window allows.
        let limit = limited.receive_window + limited.pacing;
        assert!(limit > Span::from_secs(29), "{name}: {limited:?}");
    }
}

/// Five losses in one window cause one reduction.
#[test]
fn losses_of_one_window_are_one_congestion_event() {
    for (name, spec) in all_controls().filter(|(name, _)| name != YIELDS_TO_DELAYED_ACKS) {
        let mut net = net(&config(), &spec);
        let mut count = 0;
        net.links[0].loses = Box::new(move |segment| {
            if segment.len > 0 && !segment.retransmission {
                count += 1;
            }
            segment.len > 0 && !segment.retransmission && [61, 63, 65, 66, 70].contains(&count)
        });
        net.write(0, Bytes(75 * MSS));
        net.open();
        net.run_until(ms(10_000));
        let stats = net.ends[0].stats();
        assert_eq!(net.ends[1].stats().bytes_received, Bytes(75 * MSS), "{name}");
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0), "{name}: {stats:?}");
        assert_eq!(stats.retransmissions, 5, "{name}: each lost segment is retransmitted once");
    }
}

/// One packet in fifty is lost by a fixed rule: the flow continues and uses the remaining capacity.
#[test]
fn no_flow_starves_on_a_lossy_path() {
    for (name, spec) in all_controls() {
        let mut net = net(&config(), &spec);
        let mut draw = 1_u64;
        net.links[0].loses = Box::new(move |_| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33).is_multiple_of(50)
        });
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(ms(60_000));
        let goodput = net.goodput_kbps(1);
        println!("{name}: {goodput:.0} kbit/s");
        let minimum = if YIELDING.contains(&name.as_str()) { 100.0 } else { 500.0 };
        assert!(goodput > minimum, "{name}: {goodput} kbit/s");
    }
}
