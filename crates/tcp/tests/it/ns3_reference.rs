//! Runs of ns-3 3.44 reproduced: one NewReno flow, delayed ACKs, a drop-tail queue of 100 packets.
//!
//! The expected numbers are ns-3's. Goodput is application bytes over the whole run, delay the mean over all forward
//! packets from sending host to receiving host. Links add two bytes of PPP to each packet. `cargo test -p airwnd-tcp
//! --test it ns3_reference:: -- --nocapture` prints every comparison.

use crate::support::{Link, Net, newreno, plain_window};
use airwnd_tcp::{Config, Segment, Stack};
use airwnd_units::{BitRate, Bytes, Span, Time};

fn stack(mss: u16, buffer: u64) -> Config {
    let buffer = Bytes(buffer);
    Config { mss, send_buffer: buffer, receive_buffer: buffer, ..Stack::Ns3v44.config() }
}

/// Runs a bulk flow; `loses` selects the forward packets lost on the last hop.
fn run(
    config: &Config,
    link: &dyn Fn() -> Link,
    loses: Box<dyn FnMut(&Segment) -> bool>,
    seconds: u64,
) -> Net {
    let mut links = [link(), link()];
    links[0].loses = loses;
    let mut net = Net::new(config, &newreno(), &plain_window(), links);
    net.ends[0].write_endlessly();
    net.open();
    net.run_until(Time::ZERO + Span::from_secs(seconds));
    net
}

#[track_caller]
fn assert_within(what: &str, ours: f64, theirs: f64, percent: f64) {
    let off = 100.0 * (ours / theirs - 1.0);
    println!("{what}: {ours:.4} / {theirs} ({off:+.3} %)");
    assert!(off.abs() <= percent, "{what}: {ours:.3} differs from ns-3's {theirs:.3} by {off:.2} %");
}

/// 10 Mbit/s, 25 ms one way (ns-3's 1 Gbit/s, 1 us hop before it adds 9 us of delay).
fn slow() -> Link {
    Link::new(BitRate(10_000_000), Span::from_millis(25), 100)
}

/// 25 Mbit/s behind two fast hops of 3 and 0.03 ms.
fn lossy() -> Link {
    Link::new(BitRate(25_000_000), Span::from_micros(8030), 100)
}

#[test]
fn sawtooth_with_a_full_buffer() {
    let net = run(&stack(1000, 4_194_304), &slow, Box::new(|_| false), 60);
    let stats = net.ends[0].stats();
    assert_within("goodput in kbit/s", net.goodput_kbps(1), 9452.13, 0.1);
    assert_within("delay in ms", net.mean_delay_ms(1), 80.0884, 1.0);
    assert_within("packets", net.sent[0] as f64, 71_088.0, 0.1);
    assert_within("drops", net.links[0].drops as f64, 84.0, 1.0);
    assert_eq!((stats.fast_retransmits, stats.timeouts), (4, 0));
}

/// ns-3's trace enters recovery at 0.6405, 11.573, 29.489 and 47.404 s, with thresholds 119500 and 79500 B.
#[test]
fn times_of_the_sawtooth() {
    let mut links = [slow(), slow()];
    links[0].loses = Box::new(|_| false);
    let mut net = Net::new(&stack(1000, 4_194_304), &newreno(), &plain_window(), links);
    net.ends[0].write_endlessly();
    net.open();
    let mut began = Vec::new();
    let mut recovering = false;
    for tick in 1..60_000 {
        net.run_until(Time(tick * 1_000_000));
        let now_recovering = net.ends[0].is_recovering();
        if now_recovering && !recovering {
            began.push((net.now.as_secs(), net.ends[0].ssthresh().0 as f64));
        }
        recovering = now_recovering;
    }
    let theirs = [(0.6405, 119_500.0), (11.573, 79_500.0), (29.489, 79_500.0), (47.404, 79_500.0)];
    assert_eq!(began.len(), theirs.len(), "{began:?}");
    for ((at, threshold), (their_at, their_threshold)) in began.into_iter().zip(theirs) {
        assert_within("start of recovery in s", at, their_at, 1.0);
        assert_within("ssthresh in B", threshold, their_threshold, 0.01);
    }
}

#[test]
fn flow_limited_by_the_receive_window() {
    let net = run(&stack(1000, 131_072), &slow, Box::new(|_| false), 60);
    assert_within("goodput in kbit/s", net.goodput_kbps(1), 9452.13, 0.1);
    assert_within("delay in ms", net.mean_delay_ms(1), 84.7859, 0.1);
}

#[test]
fn lossless_25_mbps() {
    let net = run(&stack(1448, 4_194_304), &lossy, Box::new(|_| false), 100);
    assert_within("goodput in kbit/s", net.goodput_kbps(1), 24_088.2, 0.1);
    assert_within("delay in ms", net.mean_delay_ms(1), 41.8996, 1.0);
}

/// Loses the same data packets as ns-3's run with an error model that uses this hash.
pub fn hash_loss(seed: u64, rate: f64) -> Box<dyn FnMut(&Segment) -> bool> {
    let mut count = 0_u64;
    Box::new(move |segment| {
        if segment.len < 500 {
            return false;
        }
        count += 1;
        let mut x =
            count.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seed.wrapping_mul(0xD1B5_4A32_D192_ED03));
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        ((x >> 11) as f64) / ((1_u64 << 53) as f64) < rate
    })
}

#[test]
fn losses_of_single_packets() {
    // (loss rate, buffer, goodput and delay of seeds 1 to 3, tolerance in percent)
    let runs = [
        (0.001, 4_194_304, [(16_562.7, 10.5795), (17_194.7, 10.4572), (17_233.4, 11.4318)], 1.0),
        (0.01, 4_194_304, [(4457.52, 8.83896), (4998.03, 8.84051), (4620.97, 8.85374)], 2.0),
        // Lost retransmissions and timeouts dominate here, and the first difference grows.
        (0.03, 131_072, [(1979.71, 8.82031), (2037.74, 8.82172), (1859.0, 8.83167)], 4.0),
    ];
    for (rate, buffer, theirs, percent) in runs {
        for (seed, (goodput, delay)) in (1..).zip(theirs) {
            let net = run(&stack(1448, buffer), &lossy, hash_loss(seed, rate), 100);
            assert_within("goodput in kbit/s", net.goodput_kbps(1), goodput, percent);
            assert_within("delay in ms", net.mean_delay_ms(1), delay, 1.0);
        }
    }
}
