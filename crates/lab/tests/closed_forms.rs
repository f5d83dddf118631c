//! The whole against formulas that can be worked out by hand.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    run(&Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap(), 1, None, &mut |_| true)
        .unwrap()
}

fn saturated(users: u32, scheduler: &str) -> Outcome {
    simulate(&format!(
        r#"
        duration = "5s"
        mac.scheduler = "{scheduler}"
        rlc.queue = {{kind = "drop-tail", buffer = "100kB"}}
        [[site]]
        [[ue]]
        count = {users}
        placement = {{kind = "ring", radius = "300m"}}
        [[flow]]
        traffic = {{kind = "cbr", rate = "40Mbps", packet = "1000B"}}
        "#
    ))
}

/// T = S / tau: MCS 28 on 48 PRBs carries 4395 B per TTI (TS 36.213 Table 7.1.7.2.1-1, I_TBS 26: 35160 bit).
/// A datagram of 1000 B takes 28 B of IP and UDP and 2 B of PDCP; a PDU takes 2 B and about 1.5 B for each of
/// its 4395 / 1030 boundaries.
#[test]
fn one_user_gets_a_block_in_each_tti() {
    let block = 4395.0;
    let headers = 2.0 + 1.5 * block / 1030.0;
    let goodput = (block - headers) * 8.0 * 1000.0 / 1030.0;
    let measured = saturated(1, "pf").flows()[0].goodput_kbps;
    assert!((measured / goodput - 1.0).abs() < 0.004, "{measured} / {goodput}");
}

/// Equal users share the TTIs under proportional fair, and the groups under round robin.
#[test]
fn equal_users_get_equal_shares() {
    let alone = saturated(1, "pf").totals().goodput_kbps;
    for (scheduler, users) in [("pf", 4), ("pss", 4), ("rr", 4), ("rr", 8)] {
        let outcome = saturated(users, scheduler);
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

fn wired(rwnd: &str, receive_buffer: &str) -> Outcome {
    simulate(&format!(
        r#"
        duration = "60s"
        warmup = "0s"
        tcp = {{mss = 1000, send_buffer = "4MiB", receive_buffer = "{receive_buffer}"}}
        core = {{server_rate = "0bps", server_delay = "0ms"}}
        [wired]
        rate = "10Mbps"
        delay = "25ms"
        queue = 1000
        [[ue]]
        [[flow]]
        rwnd = {rwnd}
        "#
    ))
}

/// A full wire carries 1000 B of each 1000 + 52 (IP, TCP, timestamps) + 2 (framing).
#[test]
fn a_wire_is_filled() {
    let capacity = 10_000.0 * 1000.0 / 1054.0;
    let goodput = wired("\"fixed\"", "4MiB").totals().goodput_kbps;
    assert!((0.99..=1.0).contains(&(goodput / capacity)), "{goodput} / {capacity}");
}

/// A window below the bandwidth-delay product gives W / RTT. The window holds whole segments; the round trip is
/// 2 x 25 ms, the wire's time for a segment (0.84 ms) and for an ACK (0.04 ms). The buffer is small enough for
/// windows without scaling, which would round them down.
#[test]
fn a_small_window_gives_itself_per_round_trip() {
    let goodput = wired("{kind = \"fixed\", limit = \"20kB\"}", "60kB").totals().goodput_kbps;
    let round_trip_ms = 50.0 + 1054.0 * 8.0 / 10_000.0 + 54.0 * 8.0 / 10_000.0;
    let expected = 20_000.0 * 8.0 / round_trip_ms;
    // delayed ACKs cost up to one segment's time
    assert!((0.96..=1.0).contains(&(goodput / expected)), "{goodput} / {expected}");
}

/// DRWA settles at RTT = lambda RTTmin = 3 x 51 ms: one-way 25 ms and the queue's 102 ms.
#[test]
fn drwa_settles_at_three_times_the_least_round_trip() {
    let rtt = wired("\"drwa\"", "4MiB").flows()[0].rtt_ms.p50.unwrap();
    assert!((rtt / (3.0 * 51.0) - 1.0).abs() < 0.05, "{rtt} ms");
}
