//! Simulations against closed-form results.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    run(&Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap(), 1, None, &mut |_| true)
        .unwrap()
}

fn saturated(users: u32, scheduler: &str, bandwidth: &str) -> Outcome {
    simulate(&format!(
        r#"
        preset = "airwnd-0.1"
        duration = "5s"
        carrier.bandwidth = "{bandwidth}"
        mac.scheduler = "{scheduler}"
        rlc.queue = {{kind = "drop-tail", buffer = "100kB"}}
        [[site]]
        [[ue]]
        count = {users}
        placement = {{kind = "ring", radius = "300m"}}
        [[flow]]
        traffic = {{kind = "cbr", rate = "90Mbps", packet = "1000B"}}
        "#
    ))
}

/// Goodput in kbit/s of a UE with a block of this many bytes in each TTI. A datagram of 1000 B has 28 B of IP and UDP
/// and 2 B of PDCP headers; a PDU has 2 B and about 1.5 B for each boundary between packets.
fn goodput(block: f64) -> f64 {
    let headers = 2.0 + 1.5 * block / 1030.0;
    (block - headers) * 8.0 * 1000.0 / 1030.0
}

/// T = S / tau: MCS 28 (I_TBS 26) over the whole RBGs of the carrier carries S per TTI (TS 36.213 Tables 7.1.6.1-1 and
/// 7.1.7.2.1-1). Under round robin each of two UEs gets half of the RBGs, rounded down.
#[test]
fn a_ue_gets_the_tbs_of_its_rbgs_in_each_tti() {
    for (bandwidth, prbs, bits, prbs_of_two, bits_of_two) in [
        ("1.4MHz", 6, 4392, 3, 2216),
        ("3MHz", 14, 10296, 6, 4392),
        ("5MHz", 24, 17568, 12, 8760),
        ("10MHz", 48, 35160, 24, 17568),
        ("15MHz", 72, 52752, 36, 26416),
        ("20MHz", 100, 75376, 48, 35160),
    ] {
        for (users, prbs, bits) in [(1, prbs, bits), (2, prbs_of_two, bits_of_two)] {
            let outcome = saturated(users, "rr", bandwidth);
            let what = format!("{users} users, {bandwidth}, {prbs} PRB");
            for (flow, ue) in outcome.flows().iter().zip(outcome.ues()) {
                let (expected, measured) = (goodput(f64::from(bits) / 8.0), flow.goodput_kbps);
                assert_eq!(ue.mcs, Some(28.0), "{what}");
                assert!((measured / expected - 1.0).abs() < 0.005, "{what}: {measured} / {expected}");
            }
            // Only one UE's datagrams arrive before the first TTI, in which it has the whole carrier.
            let block = outcome.ues()[0].block_bytes.unwrap();
            assert!((block * 8.0 / f64::from(bits) - 1.0).abs() < 0.002, "{what}: blocks of {block} B");
        }
    }
}

/// Without a queue a packet waits for the next TTI, is scheduled two TTIs ahead and is on the air for one TTI: it
/// arrives 3 ms after the beginning of the first TTI that follows its arrival at the eNB. The server link of 100 Gbit/s
/// and 10 ms carries 1030 B (28 B of UDP and IP, 2 B of framing); S1-U of 10 Gbit/s adds 40 B of tunnel header.
#[test]
fn a_single_packet_arrives_three_milliseconds_after_the_next_tti() {
    let wire_ns = 10_000_000 + (1030 * 8_u64).div_ceil(100) + 1070 * 8 / 10;
    for sent_ns in [500_000_000, 500_500_000, 500_999_000_u64, 501_000_000 - 939, 501_000_000 - 938] {
        let outcome = simulate(&format!(
            r#"
            preset = "airwnd-0.1"
            duration = "1s"
            warmup = "{sent_ns}ns"
            [[site]]
            [[ue]]
            [[flow]]
            traffic = {{kind = "cbr", rate = "100kbps", packet = "1000B"}}
            "#
        ));
        let tti = (sent_ns + wire_ns).next_multiple_of(1_000_000);
        let expected = (tti + 3_000_000 - sent_ns) as f64 / 1e6;
        let measured = outcome.flows()[0].delay_ms.mean.unwrap();
        assert!((measured - expected).abs() < 1e-9, "{sent_ns} ns: {measured} ms, not {expected} ms");
    }
}

/// Equal UEs share the TTIs under proportional fair, and the RBGs under round robin.
#[test]
fn equal_ues_get_equal_shares() {
    let alone = saturated(1, "pf", "10MHz").totals().goodput_kbps;
    for (scheduler, users) in [("pf", 4), ("pss", 4), ("rr", 4), ("rr", 8)] {
        let outcome = saturated(users, scheduler, "10MHz");
        let share = alone / f64::from(users);
        for flow in outcome.flows() {
            assert!(
                (flow.goodput_kbps / share - 1.0).abs() < 0.02,
                "{scheduler} {users}: {}",
                flow.goodput_kbps
            );
        }
    }
}

fn over_a_wire(rwnd: &str, receive_buffer: &str) -> Outcome {
    simulate(&format!(
        r#"
        preset = "airwnd-0.1"
        duration = "60s"
        warmup = "0s"
        tcp = {{mss = 1000, send_buffer = "4MiB", receive_buffer = "{receive_buffer}"}}
        core = {{server_rate = "0bps", server_delay = "0ms"}}
        [[link]]
        rate = "10Mbps"
        delay = "25ms"
        queue = 1000
        [[ue]]
        [[flow]]
        rwnd = {rwnd}
        "#
    ))
}

/// A saturated wire carries 1000 B of payload in each 1000 + 52 (IP, TCP, timestamps) + 2 (framing).
#[test]
fn a_wire_is_filled() {
    let capacity = 10_000.0 * 1000.0 / 1054.0;
    let goodput = over_a_wire("\"fixed\"", "4MiB").totals().goodput_kbps;
    assert!((0.99..=1.0).contains(&(goodput / capacity)), "{goodput} / {capacity}");
}

/// A window below the BDP gives a throughput of W / RTT. The window is a whole number of segments. The RTT is 2 x 25 ms
/// plus the transmission of a segment (0.84 ms) and of an ACK (0.04 ms). The buffer is small enough for an unscaled
/// window; scaling would round it down.
#[test]
fn a_small_window_is_sent_once_per_rtt() {
    let goodput = over_a_wire("{kind = \"fixed\", limit = \"20kB\"}", "60kB").totals().goodput_kbps;
    let round_trip_ms = 50.0 + 1054.0 * 8.0 / 10_000.0 + 54.0 * 8.0 / 10_000.0;
    let expected = 20_000.0 * 8.0 / round_trip_ms;
    // Delayed ACKs cost up to the transmission time of one segment.
    assert!((0.96..=1.0).contains(&(goodput / expected)), "{goodput} / {expected}");
}

/// DRWA settles at RTT = lambda RTTmin = 3 x 51 ms, of which 102 ms are queueing delay.
#[test]
fn drwa_settles_at_three_times_the_minimum_rtt() {
    let rtt = over_a_wire("\"drwa\"", "4MiB").flows()[0].rtt_ms.p50.unwrap();
    assert!((rtt / (3.0 * 51.0) - 1.0).abs() < 0.05, "{rtt} ms");
}

/// Slow start over a wire without queueing: windows of 10, 20, 40, ... segments, one per RTT. The last of n segments is
/// in window k = ceil(log2(n / 10 + 1)). It is sent k RTTs after the SYN and arrives half an RTT later.
#[test]
fn slow_start_doubles_once_per_rtt() {
    for (segments, windows) in [(1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (71, 4), (150, 4)] {
        let outcome = simulate(&format!(
            r#"
            preset = "airwnd-0.1"
            duration = "2s"
            tcp = {{mss = 1000, initial_window = 10, delayed_ack_count = 1}}
            core = {{server_rate = "0bps", server_delay = "0ms"}}
            [[link]]
            rate = "100Gbps"
            delay = "50ms"
            [[ue]]
            [[flow]]
            traffic = {{kind = "transfer", size = "{segments}kB"}}
            "#
        ));
        assert!(f64::from(windows) == (f64::from(segments) / 10.0 + 1.0).log2().ceil());
        let (measured, expected) = (outcome.flows()[0].fct_s.unwrap(), 0.1 * f64::from(windows) + 0.05);
        assert!((measured - expected).abs() < 1e-4, "{segments} segments: {measured} s, not {expected} s");
    }
}
