//! NR cells: comparison with 5G-LENA v4.0 on ns-3 3.44, run by run, and scenarios of their own.
//!
//! `cargo test -p airwnd-lab --test suite nr:: -- --nocapture` prints every comparison.

use crate::support::csv::rows;
use airwnd_catalog::Node;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::{Frame, Live, Outcome, Protocol, RealUe, Records, Scenario, run};
use airwnd_units::{Bytes, Span};

fn simulate(toml: &str) -> Outcome {
    let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nr.toml");
    let scenario = Scenario::from_node(&Node::from_toml(toml, origin).unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The oracle's carrier and channel: one cell of 10 m height at the origin, 3.5 GHz, Friis, no fading.
///
/// Its receivers need about 3 dB more than ours and Sionna's, hence `receiver_loss`. Its flexible slots have 12 data
/// symbols, its TDD slots 13, and DMRS take one of 12 subcarriers.
fn oracle(run: &str, power_dbm: &str) -> String {
    let numerology = if run.starts_with("mu0") { 0 } else { 1 };
    let bandwidth = if run.contains("-100-") { 100 } else { 20 };
    let table = if run.ends_with("T1") { "64qam" } else { "256qam" };
    let duplex = if run.ends_with("DDDSU") {
        r#"pattern = "DDDSU", special_downlink = 13, special_uplink = 1, control_symbols = 1"#
    } else {
        "control_symbols = 2"
    };
    format!(
        r#"
        carrier = {{bandwidth = "{bandwidth}MHz", downlink_frequency = "3.5GHz", uplink_frequency = "3.5GHz"}}
        mac = {{scheduler = "rr", olla = "none"}}
        rlc = {{mode = "um", queue = {{kind = "drop-tail", buffer = "200000B"}}}}
        [radio]
        access = {{kind = "nr", numerology = {numerology}, mcs_table = "{table}", receiver_loss = "3dB", {duplex}}}
        propagation = "friis"
        shadowing = "none"
        fading = "none"
        [[site]]
        power = "{power_dbm}dBm"
        height = "10m"
        "#
    )
}

/// N1: SINR within 0.05 dB everywhere. Above 2 dB, UDP throughput within 2 % in the rows with the same MCS, which are all
/// but a few at the edge of an MCS: the oracle tests its link adaptation by blocks of one symbol.
#[test]
fn one_user_at_every_distance() {
    let rows = rows(include_str!("data/nr_n1.csv"));
    let (mut compared, mut other) = (0, 0);
    for row in &rows {
        let outcome = simulate(&format!(
            r#"
            duration = "2s"
            warmup = "100ms"
            {}
            [[ue]]
            height = "1.5m"
            noise_figure = "9dB"
            placement = {{kind = "list", points = [["{}m", "0m"]]}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "{}Mbps", packet = "1400B"}}
            "#,
            oracle(row("run"), row("power_dbm")),
            row("x_m"),
            row("offered_mbps"),
        ));
        let (ue, flow) = (&outcome.ues()[0], &outcome.flows()[0]);
        let name = format!("{} {} m", row("run"), row("x_m"));
        let (sinr, mcs, failed) = (number(row("sinr_db")), number(row("mcs")), number(row("failed")));
        // The flow starts after a round trip on the wires.
        let goodput = flow.goodput_kbps / 1e3 / (1.0 - FIRST_PACKET / 2.0);
        let theirs = number(row("app_mbps"));
        println!(
            "{name}: SINR {:.3} / {sinr:.3} dB, MCS {:.2} / {mcs}, {:.0} / {} B, {goodput:.3} / {theirs} Mbit/s, \
             BLER {:?}",
            ue.sinr_db.unwrap(),
            ue.mcs.unwrap(),
            ue.block_bytes.unwrap(),
            row("block_bytes"),
            ue.bler,
        );
        assert!((ue.sinr_db.unwrap() - sinr).abs() < 0.05, "{name}: {:?}", ue.sinr_db);
        if sinr < 2.0 {
            continue;
        }
        if failed > 0.0 || (ue.mcs.unwrap() - mcs).abs() > 0.05 {
            other += 1;
            assert!((ue.mcs.unwrap() - mcs).abs() < 2.05, "{name}: MCS {:?}", ue.mcs);
            continue;
        }
        compared += 1;
        assert!((goodput / theirs - 1.0).abs() < 0.02, "{name}: {goodput} {theirs}");
    }
    assert!(compared >= 43 && other <= 7, "{compared} {other}");
}

/// From the start of a flow to its first packet at the UE, in seconds.
const FIRST_PACKET: f64 = 0.012;

/// N4: mean one-way delay of a 40 B packet on an idle cell.
///
/// The oracle decodes for 0.1 ms and ends a downlink block one symbol before the slot; the comparison takes both into
/// account.
#[test]
fn packets_cross_an_idle_cell() {
    // numerology, TDD, uplink, milliseconds
    let theirs = [
        (0, false, false, 3.52712),
        (1, false, false, 1.82691),
        (2, false, false, 0.960567),
        (0, true, false, 3.81572),
        (1, true, false, 1.94054),
        (0, false, true, 8.54895),
        (1, false, true, 4.33214),
        (2, false, true, 2.21364),
        (0, true, true, 10.5489),
        (1, true, true, 5.35739),
    ];
    for (numerology, tdd, up, theirs) in theirs {
        let duplex = if tdd {
            r#"pattern = "DDDSU", special_downlink = 13, special_uplink = 1"#
        } else {
            "control_symbols = 2"
        };
        let outcome = simulate(&format!(
            r#"
            duration = "12s"
            warmup = "1s"
            carrier = {{bandwidth = "20MHz", downlink_frequency = "3.5GHz", uplink_frequency = "3.5GHz"}}
            core = {{s1u_rate = "10Gbps", s1u_delay = "0ms", server_rate = "10Gbps", server_delay = "0ms"}}
            mac = {{scheduler = "rr", olla = "none", request_period = "slot"}}
            rlc.mode = "um"
            [radio]
            access = {{kind = "nr", numerology = {numerology}, k2 = 2, {duplex}}}
            propagation = "friis"
            shadowing = "none"
            fading = "none"
            [[site]]
            power = "10dBm"
            height = "10m"
            [[ue]]
            height = "1.5m"
            noise_figure = "9dB"
            placement = {{kind = "list", points = [["25m", "0m"]]}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "15897bps", packet = "40B"}}
            direction = "{}"
            "#,
            if up { "up" } else { "down" },
        ));
        let slot = 1.0 / f64::from(1 << numerology);
        let last_symbol = if up { 0.0 } else { slot / 14.0 };
        let expected = theirs - 0.1 + last_symbol;
        let ours = outcome.flows()[0].delay_ms.mean.unwrap();
        let name = format!("numerology {numerology}, TDD {tdd}, up {up}");
        println!("{name}: {ours:.3} / {expected:.3} ms");
        // The oracle's 99 packets at intervals of 20.13 ms sample two and a half patterns of 5 ms.
        let tolerance = if tdd { 0.09 } else { 0.05 };
        assert!((ours - expected).abs() < tolerance, "{name}: {ours} {expected}");
    }
}

/// Bytes of TCP payload and their mean delay from the start of the flows on, and the part of packets lost.
struct Downloads {
    megabits: f64,
    packets: f64,
    delay_sum_ms: f64,
    dropped: f64,
    sent: f64,
}

fn downloads(cc: &str, ues: u8, seconds: u32) -> Downloads {
    let step = 250.0 / f64::from(ues.max(2) - 1);
    let points: Vec<String> =
        (0..ues).map(|ue| format!(r#"["{}m", "0m"]"#, 50.0 + step * f64::from(ue))).collect();
    let outcome = simulate(&format!(
        r#"
        preset = "ns3.44"
        duration = "{seconds}s"
        warmup = "100ms"
        tcp = {{mss = 1400, send_buffer = "4000000B", receive_buffer = "4000000B"}}
        core.server_delay = "10ms"
        {}
        [[ue]]
        count = {ues}
        height = "1.5m"
        noise_figure = "9dB"
        placement = {{kind = "list", points = [{}]}}
        [[flow]]
        traffic = "bulk"
        cc = "{cc}"
        "#,
        oracle("mu1-20-T2-DDDSU", "10").replace("200000B", "100000B"),
        points.join(", "),
    ));
    let flows = outcome.flows();
    let sum = |of: &dyn Fn(&airwnd_lab::FlowRow) -> f64| flows.iter().map(of).sum::<f64>();
    Downloads {
        megabits: sum(&|flow| flow.goodput_kbps) * f64::from(seconds) / 1e3,
        packets: sum(&|flow| flow.packets_received as f64),
        delay_sum_ms: sum(&|flow| flow.packets_received as f64 * flow.delay_ms.mean.unwrap()),
        dropped: sum(&|flow| flow.packets_dropped as f64),
        sent: sum(&|flow| flow.packets_sent as f64),
    }
}

/// N3: downloads by TCP in `DDDSU` at 30 kHz, from the second second on.
#[test]
fn downloads_in_tdd() {
    // congestion control, UEs, seconds, total goodput, mean delay in the downlink with 10 ms of the core, loss
    let theirs = [
        ("newreno", 1, 12, 59.71, 15.4, 0.002),
        ("cubic", 1, 12, 63.73, 16.3, 0.02),
        ("newreno", 10, 5, 32.70, 155.0, 0.42),
        ("cubic", 10, 5, 34.42, 164.2, 0.34),
    ];
    for (cc, ues, seconds, goodput, delay, loss) in theirs {
        let [first, all] = [1, 1 + seconds].map(|seconds| downloads(cc, ues, seconds));
        let packets = all.packets - first.packets;
        let found = [
            (all.megabits - first.megabits) / f64::from(seconds),
            (all.delay_sum_ms - first.delay_sum_ms) / packets,
            100.0 * (all.dropped - first.dropped) / (all.sent - first.sent),
        ];
        println!("{cc}, {ues} UEs: {found:.3?} / [{goodput}, {delay}, {loss}] Mbit/s, ms, % lost");
        let name = format!("{cc}, {ues} UEs: {found:?}");
        if ues == 1 {
            assert!((found[0] / goodput - 1.0).abs() < 0.05, "{name}");
            assert!((found[1] / delay - 1.0).abs() < 0.1, "{name}");
            assert!((found[2] - loss).abs() < 0.005, "{name}");
        } else {
            // Round robin over 13 RBGs gives one to each of ten UEs and leaves three unused, 22 % of the PRBs; the oracle
            // assigns single PRBs, whose small blocks it sends with MCSs two below ours.
            assert!((0.8..1.0).contains(&(found[0] / goodput)), "{name}");
            assert!((1.0..1.4).contains(&(found[1] / delay)), "{name}");
            assert!(found[2] < 1.0, "{name}");
        }
    }
}

/// A cell with this carrier, access and further settings, two near UEs, and TCP in a direction.
fn transfers(carrier: &str, access: &str, [amc, power]: [&str; 2], direction: &str) -> Outcome {
    simulate(&format!(
        r#"
        duration = "4s"
        carrier = {{{carrier}}}
        mac.olla = "none"
        [radio]
        access = {{kind = "nr"{access}}}
        amc = {amc}
        propagation = "friis"
        shadowing = "none"
        fading = "none"
        [[site]]
        power = "{power}"
        [[ue]]
        count = 2
        placement = {{kind = "list", points = [["60m", "0m"], ["90m", "10m"]]}}
        [[flow]]
        traffic = "bulk"
        direction = "{direction}"
        "#
    ))
}

const MID: &str = r#"bandwidth = "40MHz", downlink_frequency = "3.5GHz", uplink_frequency = "3.5GHz""#;

/// TCP runs through every numerology, in FDD and TDD, in both frequency ranges, and gets most of the carrier.
#[test]
fn tcp_fills_every_kind_of_carrier() {
    let high = r#"bandwidth = "100MHz", downlink_frequency = "28GHz", uplink_frequency = "28GHz""#;
    let low = r#"bandwidth = "20MHz", downlink_frequency = "2.12GHz", uplink_frequency = "1.93GHz""#;
    // In a whole slot 13 symbols less 12 elements of DMRS; in a special one 9.
    let special = (9.0 * 12.0 - 12.0) / 144.0;
    // carrier, numerology, pattern, PRBs, parts of the slots for downlink and uplink
    let cases = [
        (low, 0, "", 106.0, 1.0, 1.0),
        (low, 1, "", 51.0, 1.0, 1.0),
        (MID, 1, r#", pattern = "DDDSU""#, 106.0, (3.0 + special) / 5.0, 0.2),
        (MID, 1, r#", pattern = "DDDDDDDSUU""#, 106.0, (7.0 + special) / 10.0, 0.2),
        (MID, 2, r#", pattern = "DDSUU""#, 51.0, (2.0 + special) / 5.0, 0.4),
        (high, 2, "", 132.0, 1.0, 1.0),
        (high, 3, r#", pattern = "DDDSU""#, 66.0, (3.0 + special) / 5.0, 0.2),
    ];
    for (carrier, numerology, pattern, prbs, down, up) in cases {
        let access = format!(", numerology = {numerology}{pattern}");
        for (direction, share) in [("down", down), ("up", up)] {
            let outcome = transfers(carrier, &access, ["\"block-error-target\"", "46dBm"], direction);
            // bits of the highest MCS
            let kbps = prbs * 144.0 * 8.0 * 948.0 / 1024.0 * f64::from(1 << numerology) * share;
            let part = outcome.totals().goodput_kbps / kbps;
            let (ue, cell) = (&outcome.ues()[0], &outcome.cells()[0]);
            let [used, bler, mcs] = match direction {
                "down" => [Some(cell.downlink_prb_use), ue.bler, ue.mcs],
                _ => [Some(cell.uplink_prb_use), ue.uplink_bler, ue.uplink_mcs],
            }
            .map(Option::unwrap);
            let name = format!("numerology {numerology}{pattern} {direction}");
            println!("{name}: {part:.3} of {kbps:.0} kbit/s, PRBs {used:.3}, BLER {bler:.3}, MCS {mcs:.1}");
            // The closed loop of the uplink aims at 15 dB, MCS 15: less than half of the highest rate.
            let expected = if direction == "down" { 0.9..0.97 } else { 0.42..0.52 };
            assert!(expected.contains(&part) && used <= 1.0 && bler < 0.01, "{name}: {part} {used} {bler}");
        }
    }
}

/// The key alone turns a scenario of LTE with two cells, fading and handover into one of NR.
#[test]
fn one_key_turns_lte_into_nr() {
    let scenario = |access: &str| {
        simulate(&format!(
            r#"
            duration = "10s"
            radio.access = "{access}"
            handover.algorithm = "a3-rsrp"
            [[site]]
            position = ["0m", "0m"]
            [[site]]
            position = ["500m", "0m"]
            [[ue]]
            count = 4
            placement = {{kind = "list", points = [["100m", "30m"], ["200m", "0m"], ["300m", "-20m"], ["420m", "0m"]]}}
            [[ue]]
            name = "car"
            placement = {{kind = "list", points = [["100m", "0m"]]}}
            mobility = {{kind = "constant-velocity", speed = "30m/s"}}
            [[flow]]
            traffic = "bulk"
            "#
        ))
    };
    let [lte, nr] = ["lte", "nr"].map(scenario);
    let goodput = |outcome: &Outcome| outcome.totals().goodput_kbps;
    println!("{} and {} kbit/s", goodput(&lte), goodput(&nr));
    // 52 PRBs instead of 50, one symbol of PDCCH instead of three, 256QAM for the near UEs
    assert!((1.05..2.0).contains(&(goodput(&nr) / goodput(&lte))));
    for outcome in [&lte, &nr] {
        let ues = outcome.ues();
        assert_eq!(ues.iter().map(|ue| ue.handovers).sum::<u64>(), 1);
        assert_eq!(ues[4].handovers, 1);
        // the outer loop's target
        let bler = ues.iter().map(|ue| ue.bler.unwrap()).sum::<f64>() / ues.len() as f64;
        assert!((0.05..0.11).contains(&bler), "{bler}");
    }
}

/// Blocks that fail are retransmitted within the delays of the pattern: with an MCS beyond the channel, every block needs
/// several transmissions, and TCP still gets its data, more of it if they bring new coded bits.
#[test]
fn retransmissions_deliver_what_first_transmissions_do_not() {
    let goodputs = ["incremental", "chase"].map(|redundancy| {
        let access = format!(
            r#", numerology = 1, pattern = "DDDSU", receiver_loss = "20dB", redundancy = "{redundancy}""#
        );
        let outcome = transfers(MID, &access, [r#"{kind = "fixed", cqi = 12}"#, "26dBm"], "down");
        for ue in outcome.ues() {
            println!("{redundancy}: {:.1} dB less 20, BLER {:?}", ue.sinr_db.unwrap(), ue.bler);
            assert!(ue.bler.unwrap() > 0.99);
        }
        println!("{redundancy}: {:.0} kbit/s", outcome.totals().goodput_kbps);
        outcome.totals().goodput_kbps
    });
    assert!(goodputs[1] > 1e4 && goodputs[0] > 1.2 * goodputs[1], "{goodputs:?}");
}

/// Blockage removes its loss from the SINR for its part of the time, of UEs at rest as well, and is off in the result of
/// `none`: with a loss of zero the run is the same.
#[test]
fn blocked_links_lose_their_power() {
    let outcome = |blockage: &str| {
        simulate(&format!(
            r#"
            duration = "20s"
            carrier = {{bandwidth = "100MHz", downlink_frequency = "28GHz", uplink_frequency = "28GHz"}}
            [radio]
            access = {{kind = "nr", numerology = 3, pattern = "DDDSU"}}
            propagation = {{kind = "log-distance", exponent = 2.1, reference_loss = "61.4dB"}}
            shadowing = "none"
            fading = "none"
            blockage = {blockage}
            [[site]]
            power = "35dBm"
            [[ue]]
            count = 8
            placement = {{kind = "ring", radius = "100m"}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "2Mbps", packet = "1000B"}}
            "#
        ))
    };
    let part = |unblocked: &str, blocked: &str, loss: &str| {
        outcome(&format!(r#"{{unblocked = "{unblocked}", blocked = "{blocked}", loss = "{loss}"}}"#))
    };
    let sinr = |outcome: &Outcome| {
        let ues = outcome.ues();
        ues.iter().map(|ue| ue.sinr_db.unwrap()).sum::<f64>() / ues.len() as f64
    };
    let free = outcome(r#""none""#);
    let nothing = part("200ms", "200ms", "0dB");
    assert_eq!(format!("{:?}", free.flows()), format!("{:?}", nothing.flows()));
    // 8 UEs for 20 s with cycles of 0.4 s: 400 cycles, the part blocked has a standard error of 0.025.
    let half = part("200ms", "200ms", "10dB");
    println!("{:.2} dB, half of the time blocked {:.2} dB", sinr(&free), sinr(&half));
    assert!((sinr(&free) - sinr(&half) - 5.0).abs() < 1.0, "{} {}", sinr(&free), sinr(&half));
    let mostly = part("20ms", "100s", "10dB");
    assert!((sinr(&free) - sinr(&mostly) - 10.0).abs() < 0.2, "{}", sinr(&mostly));
    // Beyond what the lowest MCS bridges, packets wait for the end of the outage.
    let outages = part("1s", "300ms", "45dB");
    let delay =
        |outcome: &Outcome| outcome.flows().iter().map(|flow| flow.delay_ms.p95.unwrap()).fold(0.0, f64::max);
    println!("p95 of the delay {:.2} and {:.2} ms", delay(&free), delay(&outages));
    assert!(delay(&free) < 15.0 && delay(&outages) > 100.0);
}

/// N4: a frame and its echo, as a ping of `airwnd link` carries them, within 1 ms of 5G-LENA.
#[test]
fn an_echo_crosses_an_idle_cell_twice() {
    // numerology, TDD, mean in milliseconds
    let theirs = [
        (0, false, 12.5085),
        (1, false, 6.33719),
        (2, false, 3.22121),
        (0, true, 14.2863),
        (1, true, 7.37759),
    ];
    for (numerology, tdd, theirs) in theirs {
        let duplex = if tdd {
            r#"pattern = "DDDSU", special_downlink = 13, special_uplink = 1"#
        } else {
            "control_symbols = 2"
        };
        let toml = format!(
            r#"
            duration = "8s"
            carrier = {{bandwidth = "20MHz", downlink_frequency = "3.5GHz", uplink_frequency = "3.5GHz"}}
            core = {{s1u_rate = "10Gbps", s1u_delay = "0ms", server_rate = "10Gbps", server_delay = "0ms"}}
            mac.request_period = "slot"
            rlc.mode = "um"
            [radio]
            access = {{kind = "nr", numerology = {numerology}, k2 = 2, {duplex}}}
            propagation = "friis"
            shadowing = "none"
            fading = "none"
            [[site]]
            power = "10dBm"
            [[ue]]
            placement = {{kind = "list", points = [["25m", "0m"]]}}
            "#
        );
        let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
        let real = [RealUe { ue: 0, keeps_flows: false }];
        let mut live = Live::new(&scenario, 1, &Records::default(), &real, None).unwrap();
        let begin = live.begin();
        live.advance(begin).unwrap();
        let flow = live.open(begin, 0, Direction::Down, Protocol::Udp, ["a".into(), "b".into()]);
        let frame =
            |number, direction| Frame { number, flow, direction, size: Bytes(40), ecn: Codepoint::NotEct };
        let mut echoes = Vec::new();
        for number in 0..300 {
            let sent = begin + Span(u64::from(number) * 20_130_000);
            live.advance(sent).unwrap();
            live.send(sent, frame(2 * number, Direction::Down));
            let mut now = sent;
            let end = sent + Span::from_millis(20);
            while now < end {
                now = live.next_event().map_or(end, |next| next.max(now).min(end));
                live.advance(now).unwrap();
                let exits: Vec<_> = live.exits().collect();
                for exit in exits {
                    match exit.direction {
                        Direction::Down => live.send(now, frame(2 * number + 1, Direction::Up)),
                        Direction::Up => echoes.push(exit.at.since(sent).as_secs() * 1e3),
                    }
                }
            }
        }
        assert_eq!(echoes.len(), 300);
        let ours = echoes.iter().sum::<f64>() / echoes.len() as f64;
        println!("numerology {numerology}, TDD {tdd}: {ours:.3} / {theirs:.3} ms");
        assert!((ours - theirs).abs() < 1.0, "numerology {numerology}, TDD {tdd}: {ours} {theirs}");
    }
}
