//! Endpoints, path and algorithms against closed-form results.

use crate::support::{Link, Net, newreno, plain_window};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::rwnd::{self, Carriage};
use airwnd_tcp::stack::{Flight, Recovery};
use airwnd_tcp::{Config, Endpoint, EndpointSetup, Seq, Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::sync::Arc;

/// Slow-start threshold in segments.
const START: f64 = 20.0;

/// Returns the mean window in segments of a sender that loses every `period`-th packet on a path without queue, with an
/// ACK for each segment. Slow start ends at a window of `start`, by a loss unless `start` is `START`; the second half
/// of the time is measured.
fn mean_window(cc: &str, period: u64, rtt: Span, seconds: u64, start: f64) -> f64 {
    let cc = cc::Spec::read(&Node::from_toml(cc, "test").unwrap()).unwrap();
    let config = Config {
        mss: 1000,
        send_buffer: Bytes(1 << 26),
        receive_buffer: Bytes(1 << 26),
        delayed_ack_count: 1,
        initial_ssthresh: Some(Bytes((1000.0 * start) as u64)),
        recovery: Recovery::NewReno,
        loss_flight: Flight::Outstanding,
        quirks: Stack::Linux.config().quirks,
        ..Stack::Ns3v44.config()
    };
    let link = || Link::new(BitRate(10_000_000_000), Span(rtt.0 / 2), 1_000_000);
    let mut links = [link(), link()];
    // In slow start the n-th packet is sent at a window of n / 2.
    let first = if start == START { 0 } else { 2 * start as u64 };
    let mut count = 0;
    links[0].loses = Box::new(move |segment| {
        count += u64::from(segment.len > 0);
        segment.len > 0 && count % period == first % period
    });
    let mut net = Net::new(&config, &cc, &plain_window(), links);
    net.ends[0].write_endlessly();
    net.open();
    net.run_until(Time(seconds * 500_000_000));
    let before = net.ends[1].stats().bytes_received.0;
    net.run_until(Time(seconds * 1_000_000_000));
    let bytes = net.ends[1].stats().bytes_received.0 - before;
    bytes as f64 / 1000.0 * rtt.as_secs() / (seconds as f64 / 2.0)
}

#[track_caller]
fn assert_window(cc: &str, period: u64, measured: f64, law: f64, percent: f64) {
    let off = 100.0 * (measured / law - 1.0);
    println!("{cc}, p = 1/{period}: {measured:.1} segments, law {law:.1} ({off:+.1} %)");
    assert!(
        off.abs() < percent,
        "{cc}, p = 1/{period}: {measured:.1} segments, law {law:.1}, off by {off:.1} %"
    );
}

/// Every 1/p-th packet is lost. The window is a sawtooth between W and W/2 with 3/8 W^2 packets per period, so `W =
/// sqrt(8 / (3 p))`, the mean is 3/4 W, and throughput = MSS / RTT * sqrt(3 / (2 p)) (Mathis et al., 1997).
#[test]
fn newreno_follows_the_inverse_square_root_law() {
    let cc = "kind = \"newreno\"\ngrowth = \"per-byte\"";
    for period in [200_u64, 800, 3200] {
        let measured = mean_window(cc, period, Span::from_millis(100), 400, START);
        assert_window(cc, period, measured, (1.5 * period as f64).sqrt(), 5.0);
    }
}

/// RFC 9438 §5.1 eq. 5: the mean window is (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) where that exceeds
/// Reno's, if each loss occurs at Wmax. With evenly spaced losses the window converges to that, but slowly, because W
/// is flat at Wmax. It approaches from above and from below and ends within 12 % on either side.
#[test]
fn cubic_follows_its_response_function() {
    for (c, beta) in [(0.4_f64, 0.7_f64), (2.0, 0.8)] {
        let cc = format!(
            "kind = \"cubic\"\nvariant = \"rfc9438\"\nslow_start = \"standard\"\nc = {c:?}\nbeta = {beta:?}\nfast_convergence = false"
        );
        let (period, rtt) = (10_000, Span::from_millis(100));
        let law =
            (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25) * (rtt.as_secs() * period as f64).powf(0.75);
        for start in [1.25, 0.8] {
            // The mean of a sawtooth is a quarter of a reduction below its maximum.
            let top = start * law / (1.0 - (1.0 - beta) / 4.0);
            let measured = mean_window(&cc, period, rtt, 600, top);
            println!("{cc} from {start}: {measured:.1}, law {law:.1}, ratio {:.3}", measured / law);
            assert!(
                (1.0 - start) * (1.0 - measured / law) > 0.0,
                "{start}: {measured:.1} segments, law {law:.1}"
            );
            assert_window(&cc, period, measured, law, 12.0);
        }
    }
}

/// RFC 9438 §4.3, §5.2: over short or lossy paths CUBIC has Reno's mean window, sqrt(3 / (2 p)).
#[test]
fn cubic_is_reno_friendly() {
    let cc = "kind = \"cubic\"\nvariant = \"rfc9438\"\nslow_start = \"standard\"\nfast_convergence = false";
    for period in [200_u64, 800, 3200] {
        let measured = mean_window(cc, period, Span::from_millis(10), 100, START);
        assert_window(cc, period, measured, (1.5 * period as f64).sqrt(), 5.0);
    }
}

/// RFC 3649 §5 eq. 1: W = 0.12 / p^0.835 above 38 segments, Reno's below. The table of Appendix B rounds the growth up
/// to whole segments, a difference of 17 % where growth is 2 to 4.
#[test]
fn highspeed_follows_its_response_function() {
    for (response, percent) in [("table", 20.0), ("formula", 6.0)] {
        let cc = format!("kind = \"highspeed\"\nresponse = \"{response}\"");
        for period in [200_u64, 3000, 10_000, 50_000] {
            let measured = mean_window(&cc, period, Span::from_millis(100), 120, START);
            let p = 1.0 / period as f64;
            let law = if p > 0.0015 { (1.5 / p).sqrt() } else { 0.12 / p.powf(0.835) };
            assert_window(&cc, period, measured, law, percent);
        }
    }
}

/// A window W without queue: throughput = W / RTT.
#[test]
fn a_window_limited_flow_sends_one_window_per_rtt() {
    let cc = cc::Spec::Fixed(cc::fixed::Params { segments: 20 });
    let config = Config { mss: 1000, delayed_ack_count: 1, ..Stack::Ns3v44.config() };
    let link = || Link::new(BitRate(1_000_000_000), Span::from_millis(50), 1000);
    let mut net = Net::new(&config, &cc, &plain_window(), [link(), link()]);
    net.ends[0].write_endlessly();
    net.open();
    net.run_until(Time(100_000_000_000));
    // Serialization takes 8.4 us in each direction: negligible against 100 ms.
    let expected = 20.0 * 1000.0 * 8.0 / 0.1 / 1e3;
    assert!((net.goodput_kbps(1) / expected - 1.0).abs() < 0.01, "{} {expected}", net.goodput_kbps(1));
}

/// DRWA's fixed point is RTT = lambda * RTTmin for any buffer size.
#[test]
fn drwa_settles_at_lambda_times_the_minimum_rtt() {
    for lambda in [2.0, 3.0] {
        let drwa = rwnd::Spec::Drwa(rwnd::drwa::Params { lambda, ..Default::default() });
        let config = Config {
            mss: 1000,
            send_buffer: Bytes(1 << 24),
            receive_buffer: Bytes(1 << 24),
            delayed_ack_count: 1,
            ..Stack::Ns3v44.config()
        };
        let link = |limit| Link::new(BitRate(10_000_000), Span::from_millis(25), limit);
        let mut net = Net::new(&config, &newreno(), &drwa, [link(100_000), link(100)]);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(60_000_000_000));
        let srtt = net.ends[0].srtt().expect("data was acknowledged").as_millis();
        assert!((srtt / (lambda * 52.0) - 1.0).abs() < 0.05, "lambda {lambda}: {srtt} ms");
        assert!(net.goodput_kbps(1) > 9000.0, "{} kbit/s", net.goodput_kbps(1));
    }
}

/// With ARWA the window instead of the buffer determines the delay: 131072 B advertised without loss would keep 8 *
/// 131072 / 10 Mbit/s = 105 ms minus 25 ms of return path before the receiver.
#[test]
fn arwa_lowers_the_delay_with_either_carriage() {
    let run = |rwnd: &rwnd::Spec| {
        let link = |limit| Link::new(BitRate(10_000_000), Span::from_millis(25), limit);
        let config = Config { mss: 512, ..Stack::Ns3v26.config() };
        let mut net = Net::new(&config, &newreno(), rwnd, [link(100_000), link(100)]);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(60_000_000_000));
        net
    };
    let plain = run(&plain_window());
    assert!(plain.mean_delay_ms(1) > 80.0, "{} ms", plain.mean_delay_ms(1));
    let [in_field, in_option] = [Carriage::WindowField, Carriage::TcpOption].map(|carriage| {
        let net = run(&rwnd::Spec::Arwa(rwnd::arwa::Params { carriage, ..Default::default() }));
        assert!(net.mean_delay_ms(1) < 60.0, "{} ms", net.mean_delay_ms(1));
        assert!(net.goodput_kbps(1) > 8000.0, "{} kbit/s", net.goodput_kbps(1));
        let (applied, sent) = (net.ends[0].stats().codes_applied, net.ends[1].stats().codes_sent);
        assert!(sent - applied < 10, "all codes except those in flight are applied: {applied} of {sent}");
        net.goodput_kbps(1)
    });
    assert!((in_field / in_option - 1.0).abs() < 0.01, "{in_field} {in_option}");
}

/// A sender without ARWA ignores codes in an option and behaves as if there were none.
#[test]
fn a_plain_sender_ignores_codes_in_an_option() {
    let config = Arc::new(Config { mss: 512, ..Stack::Ns3v26.config() });
    let (cc, plain) = (newreno(), plain_window());
    let link = |limit| Link::new(BitRate(10_000_000), Span::from_millis(25), limit);
    let run = |receiver: &rwnd::Spec| {
        let mut net = Net::new(&config, &cc, receiver, [link(100_000), link(100)]);
        let sender = EndpointSetup {
            config: &config,
            cc: &cc,
            rwnd: &plain,
            peer_rwnd: &plain,
            iss: Seq(0),
            seed: 1,
            identity: Default::default(),
        };
        net.ends[0] = Endpoint::new(&sender);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(20_000_000_000));
        net
    };
    let carriage = Carriage::TcpOption;
    let (with_codes, without_codes) =
        (run(&rwnd::Spec::Arwa(rwnd::arwa::Params { carriage, ..Default::default() })), run(&plain));
    assert!(with_codes.ends[1].stats().codes_sent > 100 && with_codes.ends[0].stats().codes_applied == 0);
    assert_eq!(with_codes.goodput_kbps(1), without_codes.goodput_kbps(1));
}

/// A source slower than its path builds no queue, and all codes ask to raise cwnd: it stays at or below the window,
/// from which codes can lower it again.
#[test]
fn arwa_raises_cwnd_to_at_most_the_window() {
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(5), 1000);
    let config = Config { mss: 512, ..Stack::Ns3v26.config() };
    let arwa = rwnd::arwa::Params::default();
    let window = arwa.window;
    let mut net = Net::new(&config, &newreno(), &rwnd::Spec::Arwa(arwa), [link(), link()]);
    net.open();
    for piece in 0..5000 {
        net.write(0, Bytes(512));
        net.pump(0);
        net.run_until(Time(piece * 8_000_000));
    }
    assert!(net.ends[0].stats().codes_applied > 100);
    assert_eq!(net.ends[0].cwnd(), window);
}

/// Linux's send buffer of 400,000 B of memory, at 20 Mbit/s with a queue that holds all of it: two segments of 1448 B and
/// 832 B are a socket buffer, so the payload is at most 400,000 x 2896 / 3728 = 310,730 B. The application writes again
/// when two thirds of the memory are in use.
#[test]
fn two_thirds_to_all_of_a_full_send_buffer_are_in_flight() {
    let config = Config { send_buffer: Bytes(400_000), ..Stack::Linux.config() };
    let cubic = cc::Spec::Cubic(cc::cubic::Params::default());
    let link = || Link::new(BitRate(20_000_000), Span::from_millis(10), 1000);
    let rwnd = rwnd::Spec::Autotuning(rwnd::autotuning::Params::default());
    let mut net = Net::new(&config, &cubic, &rwnd, [link(), link()]);
    net.ends[0].write_endlessly();
    net.open();
    let mut in_flight = Vec::new();
    for ms in 5000..10_000 {
        net.run_until(Time(ms * 1_000_000));
        in_flight.push(net.ends[0].outstanding().0);
    }
    let (min, max) = (in_flight.iter().min().unwrap(), in_flight.iter().max().unwrap());
    assert!((305_000..=310_730).contains(max), "{max} B");
    assert!((202_000..=212_000).contains(min), "{min} B, two thirds are 207,153 B");
    assert!(net.goodput_kbps(1) > 0.93 * 20_000.0, "{} kbit/s", net.goodput_kbps(1));
}
