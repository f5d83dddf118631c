//! BBR on a wire of 10 Mbit/s and 25 ms each way: one packet per 0.845 ms, 60 packets in flight.

use crate::support::{Link, Net, plain_window};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};

const MSS: u64 = 1000;
/// The BDP is 60 segments.
const BDP: f64 = 60.0 * MSS as f64;
/// 10 Mbit/s minus 56 bytes of headers per 1000 bytes.
const FULL_KBPS: f64 = 9470.0;
const EMPTY_PATH_MS: f64 = 25.84;
const BOTH: [&str; 2] = ["bbr", "bbr3"];

fn wire(cc: &str, queue: usize) -> Net {
    wire_between(Stack::Ns3v44, cc, queue)
}

fn wire_between(stack: Stack, cc: &str, queue: usize) -> Net {
    let node = Node::from_json(&format!("\"{cc}\""), "test").expect("it is JSON");
    let cc = cc::Spec::read(&node).expect("it is a congestion control");
    let buffer = Bytes(4_194_304);
    let config =
        airwnd_tcp::Config { mss: MSS as u16, send_buffer: buffer, receive_buffer: buffer, ..stack.config() };
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), queue);
    Net::new(&config, &cc, &plain_window(), [link(), link()])
}

fn bulk(cc: &str, queue: usize) -> Net {
    let mut net = wire(cc, queue);
    net.ends[0].write_endlessly();
    net.open();
    net
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Returns goodput in kbit/s and mean queueing delay in ms from now until `end`.
fn measure(net: &mut Net, end: Time) -> (f64, f64) {
    let (start, delay) = (net.now, net.delay[1]);
    let received = net.ends[1].stats().bytes_received;
    net.run_until(end);
    let bytes = (net.ends[1].stats().bytes_received.0 - received.0) as f64;
    let waited = (net.delay[1].0 - delay.0).as_millis() / (net.delay[1].1 - delay.1) as f64;
    (8e-3 * bytes / (end - start).as_secs(), waited - EMPTY_PATH_MS)
}

/// Measured with Linux 6.18, 10 Mbit/s, 25 ms, 100 packets. With its own buffer Startup ends at 0.79 to 0.80 s. With
/// SO_SNDBUF of 128 KiB it ends at 0.44 s if the writer blocks, and never if it writes 16 or 256 KiB whenever possible,
/// because Linux checks for an idle sender at the start of a write.
#[test]
fn a_full_send_buffer_does_not_prolong_startup() {
    for stack in [Stack::Ns3v44, Stack::Linux] {
        for (cc, endless) in [("bbr", true), ("bbr", false), ("bbr3", true)] {
            let node = Node::from_json(&format!("\"{cc}\""), "test").expect("it is JSON");
            let spec = cc::Spec::read(&node).expect("it is a congestion control");
            let config = airwnd_tcp::Config { mss: MSS as u16, ..stack.config() };
            let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
            let mut net = Net::new(&config, &spec, &plain_window(), [link(), link()]);
            if endless {
                net.ends[0].write_endlessly()
            } else {
                net.write(0, Bytes(100_000_000))
            }
            net.open();
            net.run_until(ms(1000));
            // In Startup the sender would send at 2.9 times the bandwidth, or the whole buffer would wait in the queue.
            let (goodput, queueing) = measure(&mut net, ms(10_000));
            println!("{cc}, {stack:?}: {goodput:.0} kbit/s, {queueing:.2} ms queued from 1 s on");
            assert!(goodput > 0.9 * FULL_KBPS, "{cc}, {stack:?}: {goodput} kbit/s");
            assert!(queueing < 10.0, "{cc}, {stack:?}: {queueing} ms");
            let limited = net.ends[0].limited(net.now);
            assert_eq!(limited.application, Span::ZERO, "{cc}, {stack:?}");
            assert_eq!(limited.send_buffer > Span::ZERO, stack == Stack::Ns3v44, "{cc}, {stack:?}");
        }
    }
}

#[test]
fn no_standing_queue_in_a_large_buffer() {
    for cc in BOTH {
        let mut net = bulk(cc, 1000);
        net.run_until(ms(5000));
        let (goodput, queueing) = measure(&mut net, ms(65_000));
        println!("{cc}: {goodput:.0} kbit/s, {queueing:.2} ms queued, {} drops", net.links[0].drops);
        // A probe of 200 ms and two RTTs every 5 or 10 s costs at most a twentieth.
        assert!(goodput > 0.95 * FULL_KBPS, "{cc}: {goodput} kbit/s");
        // A window of two BDPs would queue for 50 ms.
        assert!(queueing < 8.0, "{cc}: {queueing} ms");
        assert_eq!(net.links[0].drops, 0, "{cc}");
    }
}

/// A queue of five packets: version 1 does not react to losses, version 3 keeps them below 2 %.
#[test]
fn a_small_buffer_limits_losses_of_version_3_only() {
    let [one, three] = BOTH.map(|cc| {
        let mut net = bulk(cc, 5);
        net.run_until(ms(60_000));
        let lost = net.links[0].drops as f64 / net.sent[0] as f64;
        println!("{cc}: {:.0} kbit/s, {:.2} % lost", net.goodput_kbps(1), 100.0 * lost);
        (net.goodput_kbps(1), lost)
    });
    assert!(one.0 > 0.9 * FULL_KBPS && three.0 > 0.8 * FULL_KBPS, "{one:?} {three:?} kbit/s");
    assert!(three.1 < 0.02 && three.1 < one.1 / 5.0, "{one:?} {three:?} lost");
}

/// Startup doubles the rate each RTT and ends after three RTTs without growth; Drain empties the queue in the next RTT.
#[test]
fn startup_fills_the_pipe_and_drains_it() {
    for (cc, max) in [("bbr", 3.2), ("bbr3", 2.4)] {
        let mut net = bulk(cc, 1000);
        let mut in_flight = [0.0_f64; 2];
        for step in 0..150 {
            net.run_until(ms(10 * step));
            let after = usize::from(step > 110);
            in_flight[after] = in_flight[after].max(net.ends[0].in_flight().0 as f64 / BDP);
        }
        assert!((1.8..max).contains(&in_flight[0]), "{cc}: {} BDPs in Startup", in_flight[0]);
        assert!(in_flight[1] < 1.45, "{cc}: {} BDPs after it", in_flight[1]);
    }
}

/// ProbeRTT: every 10 s for 200 ms with four segments, or every 5 s with half a BDP.
#[test]
fn probe_rtt_is_periodic() {
    for (cc, low, dips) in [("bbr", 4500.0, 5), ("bbr3", 0.55 * BDP, 11)] {
        let mut net = bulk(cc, 100);
        let (mut began, mut lengths) = (None, Vec::new());
        for step in 200..6000 {
            net.run_until(ms(10 * step));
            let is_low = (net.ends[0].cwnd().0 as f64) < low;
            match began {
                None if is_low => began = Some(step),
                Some(since) if !is_low => {
                    lengths.push(10 * (step - since));
                    began = None;
                }
                _ => {}
            }
        }
        assert_eq!(lengths.len(), dips, "{cc}: {lengths:?} ms");
        assert!(lengths.iter().all(|length| (200..400).contains(length)), "{cc}: {lengths:?} ms");
    }
}

/// 10, 2 and 20 Mbit/s for 20 s each. At the end the queue is shorter than the BDP: version 3 loses packets in each probe
/// and sends below the bandwidth for a while, and without RACK a lost retransmission costs a timeout.
#[test]
fn the_rate_follows_the_path() {
    for (cc, part) in [("bbr", 0.95), ("bbr3", 0.8)] {
        let mut net = bulk(cc, 100);
        net.run_until(ms(20_000));
        net.links[0].rate = BitRate(2_000_000);
        net.run_until(ms(30_000));
        let (slow, queueing) = measure(&mut net, ms(40_000));
        net.links[0].rate = BitRate(20_000_000);
        net.run_until(ms(52_000));
        let (fast, _) = measure(&mut net, ms(60_000));
        println!("{cc}: {slow:.0} kbit/s with {queueing:.1} ms queued, then {fast:.0} kbit/s");
        assert!(slow > 0.9 * FULL_KBPS / 5.0, "{cc}: {slow} kbit/s of 2 Mbit/s");
        assert!(queueing < 60.0, "{cc}: {queueing} ms at 2 Mbit/s");
        assert!(fast > part * FULL_KBPS * 2.0, "{cc}: {fast} kbit/s of 20 Mbit/s");
    }
}

/// 4 MB at once let the sender measure the path. Subsequent writes of an eighth of the rate neither lower nor raise the
/// estimates, except for an occasional ProbeRTT where no pause takes its place.
#[test]
fn an_application_limited_flow_keeps_its_estimates() {
    for cc in BOTH {
        let mut net = wire(cc, 1000);
        net.write(0, Bytes(4_000_000));
        net.open();
        net.run_until(ms(3000));
        let before = net.ends[0].cwnd().0 as f64;
        let mut probes = 0;
        for step in 50..400 {
            net.run_until(ms(100 * step));
            net.write(0, Bytes(15_000));
            net.pump(0);
            let now = net.ends[0].cwnd().0 as f64;
            assert!(now / before < 1.2, "{cc}: {before} B, {now} B after {step} writes");
            probes += u32::from(now / before < 0.85);
        }
        assert!(probes <= 20, "{cc}: in {probes} of 350 cases the window is small");
        assert_eq!(net.ends[0].stats().retransmissions, 0, "{cc}");
        net.write(0, Bytes(4_000_000));
        net.pump(0);
        let (goodput, _) = measure(&mut net, ms(42_000));
        assert!(goodput > 0.85 * FULL_KBPS, "{cc}: {goodput} kbit/s at once");
    }
}

/// One percent of packets is lost at random, unrelated to congestion: NewReno's goodput falls to a ninth.
#[test]
fn random_losses_cost_little() {
    let goodput = |cc: &str, one_of: u64| {
        let mut net = bulk(cc, 100);
        let mut draw = 1_u64;
        net.links[0].loses = Box::new(move |_| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33).is_multiple_of(one_of)
        });
        net.run_until(ms(60_000));
        net.goodput_kbps(1)
    };
    let [one, three, newreno] = ["bbr", "bbr3", "newreno"].map(|cc| goodput(cc, 100));
    println!("1 % lost: {one:.0}, {three:.0} and NewReno {newreno:.0} kbit/s");
    assert!(one > 0.9 * FULL_KBPS, "{one} kbit/s");
    // Each RTT of CRUISE with a loss costs 1 % until the next probe.
    assert!(three > 0.65 * FULL_KBPS && three > 4.0 * newreno, "{three} kbit/s, {newreno}");
}

/// The path pauses for a second, so that the timer expires without a loss. The ACK of the original transmission undoes
/// the reduction and ends recovery in the model, too. Version 3 saves its state at the first loss and again when losses
/// end a probe (draft-ietf-ccwg-bbr-06 §5.5.10.2 and §5.3.3.9), so headroom is left.
#[test]
fn a_spurious_timeout_after_a_pause_is_undone() {
    for cc in BOTH {
        let mut net = wire_between(Stack::Linux, cc, 100);
        net.links[0].pause = Some((ms(8000), Span::from_secs(1)));
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(ms(7900));
        let before = net.ends[0].cwnd().0 as f64;
        net.run_until(ms(8900));
        assert!(net.ends[0].cwnd() < Bytes(2 * MSS), "{cc}: {}", net.ends[0].cwnd());
        net.run_until(ms(9400));
        let stats = net.ends[0].stats();
        assert!(stats.timeouts >= 1 && stats.reductions_undone == 1, "{cc}: {stats:?}");
        let after = net.ends[0].cwnd().0 as f64;
        assert!((0.8..1.3).contains(&(after / before)), "{cc}: {before} B, then {after} B");
        assert!(format!("{:?}", net.ends[0]).contains("recovering: false"), "{cc}");
    }
}
