//! One flow per congestion control as run by ns-3 3.44: 10 Mbit/s, 25 ms one way, a drop-tail queue of 100 packets,
//! 1000-byte segments, delayed ACKs, 60 s.
//!
//! Goodput is application bytes over the whole run; queueing delay is the mean forward delay minus that of an empty
//! path. `cargo test -p airwnd-tcp --test suite ns3_senders:: -- --nocapture` prints every comparison.

use crate::ns3_reference::hash_loss;
use crate::support::{Link, Net, plain_window};
use airwnd_catalog::{Defaults, Node, Param};
use airwnd_kernel::Stream;
use airwnd_tcp::stack::Flight;
use airwnd_tcp::{Quirks, Segment, Seq, Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// 25 ms plus 1054 bytes at 10 Mbit/s and over the preceding 1 Gbit/s, 1 us hop.
const EMPTY_PATH_MS: f64 = 25.0 + 0.8432 + 0.0094;

type Loses = Box<dyn FnMut(&Segment) -> bool>;

struct Reference {
    goodput_kbps: f64,
    delay_ms: f64,
}

fn run(cc: &str) -> Net {
    let node = Node::from_toml(cc, "test").expect("it is TOML");
    let cc = cc::Spec::read(&node).expect("it is a congestion control");
    let buffer = Bytes(4_194_304);
    // One flow at a time: what its recoveries count twice, and where its PRR overflows, is of the tests below.
    let quirks = Quirks { recount_at_exit: false, prr_wraps: false, ..Stack::Ns3v44.config().quirks };
    let config = airwnd_tcp::Config {
        mss: 1000,
        send_buffer: buffer,
        receive_buffer: buffer,
        quirks,
        ..Stack::Ns3v44.config()
    };
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
    let mut net = Net::new(&config, &cc, &plain_window(), [link(), link()]);
    net.ends[0].write_endlessly();
    net.open();
    net
}

#[track_caller]
fn assert_near(cc: &str, theirs: &Reference) {
    let mut net = run(cc);
    net.run_until(Time(60_000_000_000));
    let goodput = net.goodput_kbps(1);
    let queueing = net.mean_delay_ms(1) - EMPTY_PATH_MS;
    let their_queueing = theirs.delay_ms - EMPTY_PATH_MS;
    let off = |ours: f64, theirs: f64| 100.0 * (ours / theirs - 1.0);
    let (of_goodput, of_delay) = (off(goodput, theirs.goodput_kbps), off(queueing, their_queueing));
    println!(
        "{cc:?}: goodput {goodput:.1} / {:.1} kbit/s ({of_goodput:+.2} %), queueing {queueing:.2} / {their_queueing:.2} ms ({of_delay:+.2} %), {} drops",
        theirs.goodput_kbps, net.links[0].drops
    );
    assert!(of_goodput.abs() <= 5.0, "{cc}: goodput off by {of_goodput:.2} %");
    assert!(of_delay.abs() <= 10.0, "{cc}: queueing delay off by {of_delay:.2} %");
}

/// CUBIC as in ns-3.44, with the limits of its HyStart: an ACK train as long as the RTT, a smoothed RTT of twice its
/// minimum.
const CUBIC: &str = r#"
kind = "cubic"
variant = "linux"
slow_start = {kind = "hystart", train = 1.0, delay = 1.0, delay_max = "1 s", rtt = "smoothed"}
"#;

#[test]
fn cubic() {
    assert_near(CUBIC, &Reference { goodput_kbps: 9459.2, delay_ms: 68.5319 });
}

#[test]
fn westwood_plus() {
    assert_near("kind = \"westwood\"", &Reference { goodput_kbps: 9212.13, delay_ms: 69.2022 });
}

#[test]
fn highspeed() {
    assert_near("kind = \"highspeed\"", &Reference { goodput_kbps: 9420.0, delay_ms: 69.2039 });
}

#[test]
fn hybla() {
    let cc = "kind = \"hybla\"\nreference_rtt = \"50 ms\"";
    assert_near(cc, &Reference { goodput_kbps: 9452.13, delay_ms: 80.272 });
}

/// ns-3's Veno counts the samples of one ACK per RTT: fewer than three, so it always behaves as NewReno. Ours grows
/// half as fast with a standing queue; its sawteeth are longer but as high, and give the same means.
#[test]
fn veno() {
    assert_near("kind = \"veno\"", &Reference { goodput_kbps: 9452.13, delay_ms: 80.0854 });
}

/// With ns-3's constants.
#[test]
fn scalable() {
    let cc = "kind = \"scalable\"\nincrease = 0.02\nlegacy_window = 50.0";
    assert_near(cc, &Reference { goodput_kbps: 9381.87, delay_ms: 92.6778 });
}

/// ns-3 reduces Wmax further after the second loss of an overflow (exception bic-fast-convergence), so its sawteeth are
/// shorter: 1.87 s; ours 2.03 s with that rule, 2.87 s without.
#[test]
fn bic() {
    assert_near("kind = \"bic\"", &Reference { goodput_kbps: 9383.33, delay_ms: 82.6607 });
}

/// ns-3's run (3451.2 kbit/s, 26.28 ms) is not reproduced: its Vegas truncates cwnd RTTmin / RTT to whole segments. On
/// this path RTTmin is the 50 ms of the handshake and RTT 52.3 ms with data, so 23 - floor(23 x 50 / 52.3) = 2
/// segments, not less than alpha, and the window stays at 23 instead of the required 60. Without truncation the queue
/// is 23 (1 - 50 / 52.3) = 1.01.
#[test]
fn vegas() {
    let mut net = run("kind = \"vegas\"");
    net.run_until(Time(60_000_000_000));
    let queued_segments = (net.mean_delay_ms(1) - EMPTY_PATH_MS) / 0.8432;
    println!("vegas: goodput {:.1} kbit/s, {queued_segments:.2} segments queued", net.goodput_kbps(1));
    assert!(net.goodput_kbps(1) > 9300.0, "{} kbit/s", net.goodput_kbps(1));
    assert!((0.5..4.0).contains(&queued_segments), "{queued_segments}");
    assert_eq!(net.links[0].drops, 0);
}

/// ns-3's queueing delay (48.07 ms) is not reproduced: it counts growth in whole segments per ACK, so that two segments
/// times alpha < 0.5 give none, and uses smoothed RTTs as samples. With both rules here the window stays at 119
/// segments from 7 s on (120 in ns-3), and the queueing delay is 47.4 ms; with either rule alone it keeps growing.
#[test]
fn illinois() {
    let mut net = run("kind = \"illinois\"");
    net.run_until(Time(60_000_000_000));
    println!("illinois: goodput {:.1} / 9452.0 kbit/s, {:.2} ms", net.goodput_kbps(1), net.mean_delay_ms(1));
    assert!((net.goodput_kbps(1) / 9452.0 - 1.0).abs() < 0.05, "{} kbit/s", net.goodput_kbps(1));
    assert!(net.ends[0].stats().fast_retransmits > 4, "the window grows until the buffer is full");
}

/// ns-3 adds alpha bytes per ACK instead of alpha / cwnd segments (exception htcp-growth): losses are 5.15 s apart
/// there, here 5.13 s with that rule and 2.7 s without. The sawteeth are equally high, so the means agree.
#[test]
fn htcp() {
    assert_near("kind = \"htcp\"", &Reference { goodput_kbps: 9420.93, delay_ms: 68.1635 });
}

/// ns-3 divides 1 by phi in integer arithmetic, which gives 0: any queue counts as slow. So Reno's estimate starts
/// earlier, at a smaller window, and the drain at 6.7 s goes down to 71 segments instead of the estimate's 103.
#[test]
fn yeah() {
    assert_near("kind = \"yeah\"\nphi = 1000.0", &Reference { goodput_kbps: 9452.13, delay_ms: 78.6293 });
}

/// ns-3 has no ALLOWED_INCREASE, so a full window cannot grow.
#[test]
fn ledbat() {
    assert_near(
        "kind = \"ledbat\"\nallowed_increase = 0.0",
        &Reference { goodput_kbps: 9452.13, delay_ms: 75.6496 },
    );
}

/// ns-3's queueing delay (66.24 ms) is not reproduced: its rate sample persists beyond the ACK.
/// `TcpRateLinux::SkbDelivered` keeps the interval of an earlier packet unless more had been delivered when this one
/// was sent. Three packets between two ACKs therefore raise the next rate by one in 60, more than the 1 % margin
/// subtracts, and the queue grows until the window of two BDPs stops it. With that rule here the queueing delay is 41
/// ms, without it 3.9 ms. ns-3's window also leaves ProbeRTT by an overflow (4294967295 B) and slow start.
#[test]
fn bbr() {
    let cc = "kind = \"bbr\"\nquantum = \"segment\"\npolicer = false\nequal_refreshes = true";
    let mut net = run(cc);
    // As in ns-3: two BDPs and a little more, four segments in ProbeRTT.
    for (ms, theirs) in [(450, 181_000.0), (8000, 128_000.0), (10_200, 4000.0)] {
        net.run_until(Time(ms * 1_000_000));
        let ours = net.ends[0].cwnd().0 as f64;
        assert!((ours / theirs - 1.0).abs() < 0.05, "cwnd {ours} B, {theirs} B in ns-3 after {ms} ms");
    }
    net.run_until(Time(60_000_000_000));
    let queueing = net.mean_delay_ms(1) - EMPTY_PATH_MS;
    println!("bbr: goodput {:.1} / 9165.2 kbit/s, queueing {queueing:.2} ms", net.goodput_kbps(1));
    assert!((net.goodput_kbps(1) / 9165.2 - 1.0).abs() < 0.05, "{} kbit/s", net.goodput_kbps(1));
    assert!(queueing < 8.0, "{queueing} ms");
}

/// Goodputs in kbit/s of eight seeds over 25 Mbit/s and 16 ms, 60 s each.
fn over_losses(cc: &cc::Spec, loss_flight: Flight, loses: &dyn Fn(u64) -> Loses) -> Vec<f64> {
    let goodput = |seed: u64| {
        let buffer = Bytes(4_194_304);
        let config = airwnd_tcp::Config {
            mss: 1448,
            send_buffer: buffer,
            receive_buffer: buffer,
            loss_flight,
            ..Stack::Ns3v44.config()
        };
        let link = || Link::new(BitRate(25_000_000), Span::from_micros(8030), 100);
        let mut net = Net::new(&config, cc, &plain_window(), [link(), link()]);
        net.links[0].loses = loses(seed);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(60_000_000_000));
        net.goodput_kbps(1)
    };
    (1..=8).map(goodput).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn control(cc: &str) -> cc::Spec {
    cc::Spec::read(&Node::from_toml(cc, "test").expect("it is TOML")).expect("a control")
}

/// The control with ns-3's credit for acknowledged segments that outlives a loss.
fn keeping_credit(cc: &str) -> cc::Spec {
    let mut control = control(cc);
    let table = format!("[family.cc.{}]\ncredit_outlives_loss = true", control.kind());
    control.adopt(None, &Defaults::from_toml(&table, "test").expect("it is TOML")).expect("a quirk");
    control
}

/// Mean goodput in kbit/s of eight seeds with random losses.
fn over_packet_errors(cc: &cc::Spec, loss: f64, loss_flight: Flight) -> f64 {
    mean(&over_losses(cc, loss_flight, &|seed| {
        let mut losses = Stream::new(seed, "losses");
        Box::new(move |segment| segment.len > 0 && losses.uniform() < loss)
    }))
}

/// 2 and 5 % loss, where a lost retransmission waits one second for its timeout; ns-3 loses the same packets.
///
/// With its rule of samples ours sends the same first 234, 256 and 357 packets as ns-3 at 5 % with seeds 1 to 3, by
/// Westwood+'s 137, 142 and 153. ssthresh of the recovery at 0.171 s is the first difference with seed 1: its ACKs are
/// 33 ms apart, nearly two RTTs, which a sample of Westwood+ contains and one of ns-3 does not (exception
/// westwood-plus-samples).
#[test]
fn westwood_plus_over_packet_errors() {
    let cases = [
        (0.02, [13_516.2, 13_561.4, 12_081.9, 15_660.4, 15_096.8, 15_374.7, 13_828.8, 13_869.9]),
        (0.05, [3977.56, 3979.88, 4135.87, 3365.35, 4494.79, 3124.78, 3217.65, 3175.95]),
    ];
    for (loss, theirs) in cases {
        let run = |variant: &str| {
            let cc = format!("kind = \"westwood\"\nvariant = \"{variant}\"");
            mean(&over_losses(&control(&cc), Flight::Pipe, &|seed| hash_loss(seed, loss)))
        };
        let (own, as_in_ns3, theirs) = (run("westwood-plus"), run("ns3.44"), mean(&theirs));
        println!("westwood, {loss}: {own:.0} kbit/s, with ns-3's samples {as_in_ns3:.0} / {theirs:.0}");
        assert!((as_in_ns3 / theirs - 1.0).abs() < 0.08, "{loss}: {as_in_ns3} of {theirs} kbit/s");
        assert!(own < as_in_ns3, "{loss}: {own} kbit/s, with ns-3's samples {as_in_ns3}");
    }
}

/// 0.3, 1 and 5 % loss; ns-3's means of six seeds have standard errors of 1 to 3 %. It counts acknowledged segments that
/// have not enlarged the window on after a loss, at half the window (exception credit-ends-with-a-loss). TcpLinuxReno also
/// halves cwnd, not the bytes in flight, and halves the larger window of PRR at a timeout within a recovery.
#[test]
fn senders_that_count_segments_over_packet_errors() {
    let senders = [
        ("kind = \"highspeed\"", Flight::Pipe, [17_102.0, 8759.0, 2003.0]),
        ("kind = \"hybla\"\nreference_rtt = \"50ms\"", Flight::Pipe, [16_421.0, 8683.0, 2183.0]),
        ("kind = \"newreno\"\ngrowth = \"per-byte\"", Flight::Window, [17_106.0, 9820.0, 2346.0]),
    ];
    for (cc, flight, theirs) in senders {
        for (loss, theirs) in [0.003, 0.01, 0.05].into_iter().zip(theirs) {
            let as_in_ns3 = over_packet_errors(&keeping_credit(cc), loss, flight);
            let own = over_packet_errors(&control(cc), loss, Flight::Pipe);
            println!("{cc:?}, {loss}: {own:.0} kbit/s, with ns-3's rules {as_in_ns3:.0} / {theirs:.0}");
            let off = as_in_ns3 / theirs - 1.0;
            assert!(off.abs() < 0.08, "{cc}, {loss}: {as_in_ns3} of {theirs} kbit/s");
            assert!(own < as_in_ns3, "{cc}, {loss}: {own} kbit/s, with ns-3's rules {as_in_ns3}");
        }
    }
}

/// Two flows, the second 0.1 s later: ns-3 has 9424.7 kbit/s, 85.38 ms and 254 drops. Its PRR multiplies bytes in 32
/// bits, so that after 45 segments nothing is sent until bytes in flight are at ssthresh (exception
/// prr-thirty-two-bits); and Wmax survives a timeout. With correct arithmetic the sender continues, and more packets
/// are lost.
#[test]
fn two_cubic_flows() {
    let run = |prr_wraps: bool| {
        let cc::Spec::Cubic(params) = control(CUBIC) else { panic!("not CUBIC") };
        let quirks = cc::cubic::Quirks { max_outlives_timeout: true, min_rtt: cc::cubic::MinRtt::Smoothed };
        let cc = cc::Spec::Cubic(cc::cubic::Params { quirks, ..params });
        let buffer = Bytes(4_194_304);
        let config = airwnd_tcp::Config {
            mss: 1000,
            send_buffer: buffer,
            receive_buffer: buffer,
            quirks: Quirks { prr_wraps, ..Stack::Ns3v44.config().quirks },
            ..Stack::Ns3v44.config()
        };
        let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
        let mut net = Net::new(&config, &cc, &plain_window(), [link(), link()]);
        net.add(&config, &cc, &plain_window(), [Seq(0), Seq(0)]);
        net.ends[0].write_endlessly();
        net.ends[2].write_endlessly();
        net.open();
        net.run_until(Time(100_000_000));
        net.open_from(2);
        net.run_until(Time(1_500_000_000));
        let at_first = net.links[0].drops;
        net.run_until(Time(60_000_000_000));
        let goodput = net.goodput_kbps(1) + net.goodput_kbps(3);
        let (sum, count) = [1, 3].iter().fold((0.0, 0), |(sum, count), &end| {
            (sum + net.delay[end].0.as_millis(), count + net.delay[end].1)
        });
        let (delay, drops) = (sum / count as f64, net.links[0].drops);
        println!(
            "two CUBIC flows: {goodput:.1} kbit/s, {delay:.2} ms, {drops} drops, {at_first} in the first overflow"
        );
        (goodput, delay, drops as f64, at_first)
    };
    let (goodput, delay, drops, at_first) = run(true);
    assert_eq!(at_first, 76, "as in ns-3");
    assert!((goodput / 9424.67 - 1.0).abs() < 0.01, "{goodput} kbit/s");
    assert!((delay / 85.3775 - 1.0).abs() < 0.04, "{delay} ms");
    assert!((drops / 254.0 - 1.0).abs() < 0.1, "{drops} drops");
    let (_, shorter, more, _) = run(false);
    assert!(shorter < delay && more > 1.15 * drops, "{shorter} ms, {more} drops");
}

/// Linux counts segments instead of ACKs. It halves cwnd where ours halves bytes in flight, which are equal here.
#[test]
fn linux_reno() {
    let cc = "kind = \"newreno\"\ngrowth = \"per-byte\"";
    assert_near(cc, &Reference { goodput_kbps: 9460.13, delay_ms: 80.4389 });
}

/// Both stay between one and three segments. At three the third segment's ACK is delayed for an RTT, which timestamps
/// report as one-way delay: 78 ms instead of 26, an indication of congestion.
#[test]
fn lp() {
    let cc = "kind = \"lp\"\nextremes = \"renewed\"";
    assert_near(cc, &Reference { goodput_kbps: 313.467, delay_ms: 26.4986 });
}
