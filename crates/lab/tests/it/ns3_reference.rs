//! Comparison with ns-3 LENA 3.44, run by run.
//!
//! `cargo test -p airwnd-lab --test it ns3_reference:: -- --include-ignored --nocapture` prints every comparison.

use crate::support::csv::rows;
use crate::support::s3;
use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reference.toml");
    let scenario = Scenario::from_node(&Node::from_toml(toml, origin).unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// |ours / theirs - 1|, and zero where both are zero.
fn deviation(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { ours.abs() } else { (ours / theirs - 1.0).abs() }
}

fn single_user(row: &impl Fn(&str) -> &'static str) -> Outcome {
    let loss = match row("loss") {
        "friis" => "\"friis\"",
        "hybrid" => "\"hybrid-buildings\"",
        _ => "{kind = \"hybrid-buildings\", los_to_nlos = \"1001m\"}",
    };
    let amc = if row("amc") == "piro" { "piro-ew2010" } else { "block-error-target" };
    simulate(&format!(
        r#"
        preset = "ns3.44"
        duration = "{}s"
        carrier.bandwidth = "10MHz"
        radio = {{propagation = {loss}, amc = "{amc}"}}
        mac.scheduler = "rr"
        [[site]]
        power = "{}dBm"
        [[ue]]
        placement = {{kind = "list", points = [["{}m", "0m"]]}}
        [[flow]]
        traffic = {{kind = "cbr", rate = "{}Mbps", packet = "1000B"}}
        "#,
        row("duration_s"),
        row("power_dbm"),
        row("distance_m"),
        row("offered_mbps"),
    ))
}

/// S1: SINR within 0.1 dB at all distances. With the Piro AMC equal MCS and TBS at all distances, and throughput within
/// 1 %. With the error-target AMC the same, except where the SINR is within 0.5 dB of a switching point.
#[test]
fn one_user_at_every_distance() {
    let rows = rows(include_str!("../data/s1.csv"));
    let mut off_by_a_step = Vec::new();
    for row in &rows {
        let outcome = single_user(row);
        let (ue, flow) = (&outcome.ues()[0], &outcome.flows()[0]);
        let (sinr, blocks) = (number(row("sinr_db")), number(row("blocks")));
        let name = format!(
            "{} {} {} m {} dBm {sinr:.2} dB",
            row("loss"),
            row("amc"),
            row("distance_m"),
            row("power_dbm")
        );
        assert!((ue.sinr_db.unwrap() - sinr).abs() < 0.1, "{name}: SINR {:?}", ue.sinr_db);
        // ns-3 sends a few blocks at MCS 0 before the first CQI report arrives.
        let reachable = blocks > 100.0;
        let (mcs, goodput) = (ue.mcs.unwrap_or(-1.0), flow.goodput_kbps);
        println!("{name}: MCS {mcs:.2} / {}, {goodput:.1} / {} kbit/s", row("mcs"), row("goodput_kbps"));
        if !reachable {
            assert!(ue.blocks < 100, "{name}: {} blocks", ue.blocks);
            continue;
        }
        if (mcs - number(row("mcs"))).abs() > 0.1 {
            off_by_a_step.push(sinr);
            assert_eq!(row("amc"), "mi", "{name}: MCS {mcs}");
            assert!((mcs - number(row("mcs"))).abs() < 2.1, "{name}: MCS {mcs}");
            continue;
        }
        // In short runs near the edge of coverage the start-up of about a second depends on random draws.
        let tolerance = if row("duration_s") == "1" { 0.20 } else { 0.01 };
        if row("duration_s") != "1" || sinr > 0.0 {
            assert!(deviation(goodput, number(row("goodput_kbps"))) < tolerance, "{name}: {goodput}");
        }
    }
    assert!(off_by_a_step.len() <= 2, "only next to a switching point: {off_by_a_step:?}");
}

/// Name of a scheduler of the ns-3 runs.
fn as_in_ns3(scheduler: &str) -> &'static str {
    match scheduler {
        "rr" => r#""rr""#,
        "pf" => r#""pf""#,
        "pss" => r#""pss""#,
        "fd-mt" => r#"{kind = "mt", domain = "frequency"}"#,
        "td-mt" => r#"{kind = "mt", domain = "time"}"#,
        "fd-bet" => r#"{kind = "bet", domain = "frequency"}"#,
        "td-bet" => r#"{kind = "bet", domain = "time"}"#,
        "tta" => r#""tta""#,
        "fd-tbfq" => r#"{kind = "tbfq", domain = "frequency"}"#,
        "td-tbfq" => r#"{kind = "tbfq", domain = "time"}"#,
        "cqa" => r#""cqa""#,
        other => panic!("{other} is no scheduler of the reference"),
    }
}

/// Ten UEs of S2, in the order of their RNTIs in ns-3, which breaks ties: goodput and mean delay of each.
fn ten_users(power: &str, scheduler: &str, users: &[(u32, f64)], mbr: &str) -> Outcome {
    let points: Vec<String> = users.iter().map(|(_, x)| format!("[\"{x}m\", \"0m\"]")).collect();
    let rate = if mbr == "0" { String::new() } else { format!("gbr = \"{mbr}kbps\"") };
    simulate(&format!(
        r#"
        preset = "ns3.44"
        duration = "10s"
        carrier.bandwidth = "3MHz"
        mac.scheduler = {scheduler}
        [[site]]
        power = "{power}dBm"
        [[ue]]
        count = 10
        placement = {{kind = "list", points = [{}]}}
        {rate}
        [[flow]]
        traffic = {{kind = "cbr", rate = "12Mbps", packet = "1000B"}}
        stagger = "10us"
        "#,
        points.join(", "),
    ))
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// S2: throughput and delay per UE within 3 %, Jain's index within 0.02. Exceptions: the third UE at 13 dBm, where
/// ns-3's wideband CQI is one step higher than here (11.19 dB is 0.04 dB from its switching point and 0.2 dB from
/// ours), and tokens of signalling bearers under `tbfq`.
///
/// Bearers without rates have no tokens in ns-3. Transmissions under `tbfq` use tokens of the signalling bearers, which
/// have a rate until the attach is complete: 30 kB for ten UEs, 24 kbit/s over 10 s.
#[test]
fn ten_ues_under_every_scheduler() {
    let rows = rows(include_str!("../data/s2.csv"));
    let mut cases: Vec<_> =
        rows.iter().map(|row| (row("power_dbm"), row("scheduler"), row("mbr_kbps"))).collect();
    cases.dedup();
    assert_eq!(cases.len(), 31);
    for (power, scheduler, mbr) in cases {
        let mut reference: Vec<_> = rows
            .iter()
            .filter(|row| (row("power_dbm"), row("scheduler"), row("mbr_kbps")) == (power, scheduler, mbr))
            .collect();
        reference.sort_by_key(|row| row("rnti").parse::<u32>().unwrap());
        let users: Vec<_> = reference
            .iter()
            .map(|row| row("ue").parse().unwrap())
            .map(|ue: u32| (ue, 500.0 * f64::from(ue + 1)))
            .collect();
        let outcome = ten_users(power, as_in_ns3(scheduler), &users, mbr);
        let name = format!("{power} dBm {scheduler} {mbr}");
        let (ours, theirs): (Vec<f64>, Vec<f64>) = outcome
            .flows()
            .iter()
            .zip(&reference)
            .map(|(flow, row)| (flow.goodput_kbps, number(row("goodput_kbps"))))
            .unzip();
        let of_signalling = if scheduler.ends_with("tbfq") { 30.0 } else { 0.0 };
        for ((flow, row), (ue, _)) in outcome.flows().iter().zip(&reference).zip(&users) {
            let (rate, delay) = (flow.goodput_kbps, flow.delay_ms.mean.unwrap_or(0.0));
            println!(
                "{name} user {ue}: {rate:.1} / {} kbit/s, {delay:.1} / {} ms",
                row("goodput_kbps"),
                row("delay_ms")
            );
            let tolerance = if power == "13" && *ue == 2 { 0.06 } else { 0.03 };
            let off = rate - number(row("goodput_kbps"));
            let same_rate = off.abs() <= tolerance * number(row("goodput_kbps"));
            let same_delay = deviation(delay, number(row("delay_ms"))) < tolerance;
            assert!(same_rate && same_delay || off.abs() < of_signalling, "{name} user {ue}");
        }
        println!("{name}: Jain {:.3} / {:.3}", jain(&ours), jain(&theirs));
        if ours.iter().sum::<f64>() > 10.0 * of_signalling {
            assert!((jain(&ours) - jain(&theirs)).abs() < 0.02, "{name}");
        }
    }
}

/// S3: total throughput within 5 %, mean delay within 10 %, Jain's index within 0.03.
#[test]
fn newreno_over_three_sectors() {
    for row in rows(include_str!("../data/s3_totals.csv")) {
        let (variant, users) = (row("variant"), row("users"));
        let toml = s3::scenario(variant, users, users, row("duration_s"), row("srs_period"));
        let outcome = simulate(&toml);
        let totals = outcome.totals();
        let (delay, jain) = (totals.delay_ms_mean.unwrap(), totals.jain.unwrap());
        println!(
            "S3 {variant} {users}: {:.0} / {} kbit/s, {delay:.1} / {} ms, Jain {jain:.3} / {}",
            totals.goodput_kbps,
            row("goodput_kbps"),
            row("delay_ms"),
            row("jain"),
        );
        assert!(deviation(totals.goodput_kbps, number(row("goodput_kbps"))) < 0.05, "{variant} {users}");
        assert!(deviation(delay, number(row("delay_ms"))) < 0.10, "{variant} {users}");
        assert!((jain - number(row("jain"))).abs() < 0.03, "{variant} {users}");
    }
}

/// One UE with a small window: with 16 KiB the UE waits for an uplink grant in each RTT, with 32 KiB in none. Goodput
/// within 1 %, delay within 2 %.
#[test]
fn waiting_for_grants_depends_on_the_window() {
    for row in rows(include_str!("../data/s3_windows.csv")) {
        let window = row("receive_buffer");
        let toml = s3::scenario("a", "1", "20", "5", "40")
            .replace("tcp.mss = 512", &format!("tcp = {{mss = 512, receive_buffer = \"{window}B\"}}"))
            .replace("51200B", "2GB")
            .replace("{kind = \"file\", path = \"s3a_20.csv\"}", "{kind = \"ring\", radius = \"100m\"}")
            .replace("radio.", "core.server_delay = \"0ms\"\n        radio.");
        let totals = simulate(&toml).totals();
        let (goodput, delay) = (totals.goodput_kbps, totals.delay_ms_mean.unwrap());
        let name = format!(
            "{window} B: {goodput:.0} / {} kbit/s, {delay:.2} / {} ms",
            row("goodput_kbps"),
            row("delay_ms")
        );
        println!("S3 a, one user, {name}");
        assert!(deviation(goodput, number(row("goodput_kbps"))) < 0.01, "{name}");
        assert!(deviation(delay, number(row("delay_ms"))) < 0.02, "{name}");
    }
}

/// S3 in acknowledged mode, in which ns-3 has two thirds of the goodput of unacknowledged mode: means over three seeds
/// within 2 % for goodput, 10 % for delay and 0.01 for Jain's index.
#[test]
fn newreno_over_three_sectors_in_acknowledged_mode() {
    for row in rows(include_str!("../data/s3_am.csv")) {
        let (users, duration) = (row("users"), row("duration_s"));
        let toml = s3::scenario(row("variant"), users, users, duration, row("srs_period"));
        let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reference.toml");
        let node = Node::from_toml(&format!("rlc.mode = \"am\"\n{toml}"), origin).unwrap();
        let scenario = Scenario::from_node(&node).unwrap();
        let totals: Vec<_> =
            (1..=3).map(|seed| run(&scenario, seed, None, &mut |_| true).unwrap().totals()).collect();
        let goodput = totals.iter().map(|totals| totals.goodput_kbps).sum::<f64>() / 3.0;
        let delay = totals.iter().map(|totals| totals.delay_ms_mean.unwrap()).sum::<f64>() / 3.0;
        let jain = totals.iter().map(|totals| totals.jain.unwrap()).sum::<f64>() / 3.0;
        let name = format!(
            "{goodput:.0} / {} kbit/s, {delay:.1} / {} ms, Jain {jain:.3} / {}",
            row("goodput_kbps"),
            row("delay_ms"),
            row("jain")
        );
        println!("S3 in acknowledged mode: {name}");
        assert!(deviation(goodput, number(row("goodput_kbps"))) < 0.02, "{name}");
        assert!(deviation(delay, number(row("delay_ms"))) < 0.10, "{name}");
        assert!((jain - number(row("jain"))).abs() < 0.01, "{name}");
    }
}

/// S3's site over 20 MHz with thirty users in acknowledged mode, means over four seeds, against six runs of ns-3 3.44
/// (100 PRB, line of sight up to 1001 m, no cap on the UEs' power, RLC AM 51200 B, 10 s, RngRun 1 to 6 with the same
/// positions; the file has their means and the standard error of the throughput).
///
/// With ns-3's conduct total goodput is within 5 % and mean delay within 10 %. For UEs below 8 dB some PDUs are sized
/// by a report without interference and are too large for the channel. Their goodput is within 10 % of that in ns-3
/// because of the integer overflow of its HARQ sums; without that overflow some of them starve. With the standard's
/// conduct such PDUs are retransmitted in segments, and each UE gets more than in ns-3, with or without outer-loop link
/// adaptation.
#[test]
fn cell_edge_ues_in_acknowledged_mode() {
    let rows = rows(include_str!("../data/s3b_30.csv"));
    let theirs = |column: &str| rows.iter().map(|row| number(row(column))).collect::<Vec<_>>();
    let (rates, delays) = (theirs("goodput_kbps"), theirs("delay_ms"));
    let total: f64 = rates.iter().sum();
    // Of packets, as ours.
    let delay = rates.iter().zip(&delays).map(|(rate, delay)| rate * delay).sum::<f64>() / total;
    let site = |changes: &str| {
        let scenario = s3::scenario("b", "30", "30", "10", "40")
            .replace("\"23dBm\"", "\"90dBm\"")
            .replace("\"10MHz\"", "\"20MHz\"");
        let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reference.toml");
        let mut node = Node::from_toml(&scenario, origin).unwrap();
        for change in format!("rlc.mode=am {changes}").split_whitespace() {
            let (key, value) = change.split_once('=').unwrap();
            node.set(key, value).unwrap();
        }
        let scenario = Scenario::from_node(&node).unwrap();
        let outcomes: Vec<_> =
            (1..=4).map(|seed| run(&scenario, seed, None, &mut |_| true).unwrap()).collect();
        let mean = |figure: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(figure).sum::<f64>() / 4.0;
        let rates: Vec<f64> = (0..30).map(|ue| mean(&|outcome| outcome.flows()[ue].goodput_kbps)).collect();
        let delay = mean(&|outcome| outcome.totals().delay_ms_mean.unwrap());
        println!("{changes}: {:.0} / {total:.0} kbit/s, {delay:.1} ms", rates.iter().sum::<f64>());
        (rates, delay)
    };
    let (ours, our_delay) = site("");
    assert!(deviation(ours.iter().sum(), total) < 0.05, "{ours:.0?}");
    assert!(deviation(our_delay, delay) < 0.10, "{our_delay:.1} / {delay:.1} ms");
    let edge: Vec<usize> = (0..30).filter(|ue| number(rows[*ue]("sinr_db")) < 8.0).collect();
    assert_eq!(edge.len(), 7);
    for ue in &edge {
        println!("user {ue}: {:.0} / {:.0} kbit/s", ours[*ue], rates[*ue]);
        assert!(deviation(ours[*ue], rates[*ue]) < 0.10, "user {ue}: {:.0} / {:.0}", ours[*ue], rates[*ue]);
    }
    let (without_wrap, _) = site("compat_without=['sixteen_bits']");
    assert!(edge.iter().any(|ue| without_wrap[*ue] < 0.2 * rates[*ue]), "{without_wrap:.0?}");
    for by_standard in ["compat_without=['conduct']", "compat_without=['conduct'] mac.olla.target=0.1"] {
        let (ours, _) = site(by_standard);
        assert!(ours.iter().zip(&rates).all(|(ours, theirs)| ours > theirs), "{by_standard}: {ours:.0?}");
    }
}

/// Twenty-two UEs under round robin with two PRBs each. With ns-3's code block sizes: equal MCS except for the UE
/// nearest to a switching point, BLER within 0.10, and goodput within 2 %. Without them three UEs have another MCS.
#[test]
fn small_blocks_under_round_robin() {
    let rows = rows(include_str!("../data/rr_small_blocks.csv"));
    let points: Vec<String> =
        rows.iter().map(|row| format!("[\"{}m\", \"0m\"]", row("distance_m"))).collect();
    for (without, of_another_scheme, percent) in [("", 1, 2.0), ("\"code_blocks\"", 3, 32.0)] {
        let outcome = simulate(&format!(
            r#"
            preset = "ns3.44"
            duration = "4s"
            compat_without = [{without}]
            mac.scheduler = "rr"
            [[site]]
            power = "13dBm"
            [[ue]]
            count = 22
            placement = {{kind = "list", points = [{}]}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "2Mbps", packet = "1000B"}}
            stagger = "10us"
            "#,
            points.join(", "),
        ));
        let mut others = 0;
        for ((ue, flow), row) in outcome.ues().iter().zip(outcome.flows()).zip(&rows) {
            let (mcs, errors) = (ue.mcs.unwrap(), ue.bler.unwrap());
            let name = format!(
                "{without}, {} dB: MCS {mcs:.1} / {}, {errors:.4} / {} failed, {:.0} / {} kbit/s",
                row("sinr_db"),
                row("mcs"),
                row("errors"),
                flow.goodput_kbps,
                row("goodput_kbps")
            );
            println!("{name}");
            if (mcs - number(row("mcs"))).abs() > 0.1 {
                others += 1;
                continue;
            }
            assert!((errors - number(row("errors"))).abs() < 0.10, "{name}");
            assert!(deviation(flow.goodput_kbps, number(row("goodput_kbps"))) < percent / 100.0, "{name}");
        }
        assert_eq!(others, of_another_scheme, "{without}");
    }
}

/// Both modes of RLC under TCP. With a buffer that drops nothing goodput agrees within 0.1 % and delay within 0.2 %,
/// including STATUS PDUs that occupy whole blocks, padding that blocks HARQ processes, and early grants for ACKs. With
/// drops the times of TCP's loss recoveries differ by single packets.
#[test]
fn tcp_over_both_modes_of_rlc() {
    for row in rows(include_str!("../data/rlc_tcp.csv")) {
        let (mode, distance, buffer) = (row("mode"), row("distance_m"), row("buffer_bytes"));
        let outcome = simulate(&format!(
            r#"
            preset = "ns3.44"
            duration = "10s"
            tcp.mss = 1400
            carrier.bandwidth = "10MHz"
            rlc = {{mode = "{mode}", queue = {{kind = "drop-tail", buffer = "{buffer}B"}}}}
            [[site]]
            power = "{}dBm"
            [[ue]]
            placement = {{kind = "list", points = [["0m", "{distance}m"]]}}
            [[flow]]
            cc = "newreno"
            "#,
            row("power_dbm"),
        ));
        let flow = &outcome.flows()[0];
        let delay = flow.delay_ms.mean.unwrap();
        let name = format!(
            "{mode} {distance} m {buffer} B: {:.0} / {} kbit/s, {delay:.2} / {} ms",
            flow.goodput_kbps,
            row("goodput_kbps"),
            row("delay_ms")
        );
        println!("{name}");
        let (off, late) = if buffer == "512000" { (0.001, 0.002) } else { (0.04, 0.08) };
        assert!(deviation(flow.goodput_kbps, number(row("goodput_kbps"))) < off, "{name}");
        assert!(deviation(delay, number(row("delay_ms"))) < late, "{name}");
    }
}

/// Both modes with blocks lost after all HARQ transmissions. The error model here has the same loss a few metres nearer
/// to the site, where the UE is placed; the means over seeds then agree within 3 % for goodput and 6 % for delay.
#[test]
fn both_modes_of_rlc_over_lost_blocks() {
    let rows = rows(include_str!("../data/rlc_losses.csv"));
    for mode in ["um", "am"] {
        for (theirs, ours) in [("2000", "1993.6"), ("2800", "2791.7")] {
            for (rate, buffer) in [("1", "51200"), ("20", "10240")] {
                let chosen: Vec<_> = rows
                    .iter()
                    .filter(|row| {
                        row("mode") == mode && row("distance_m") == theirs && row("rate_mbps") == rate
                    })
                    .collect();
                let mean = |column: &str| {
                    chosen.iter().map(|row| number(row(column))).sum::<f64>() / chosen.len() as f64
                };
                let toml = format!(
                    r#"
                    preset = "ns3.44"
                    duration = "20s"
                    carrier.bandwidth = "10MHz"
                    radio.amc = {{kind = "piro-ew2010", ber = 0.03}}
                    mac.harq_transmissions = 1
                    rlc = {{mode = "{mode}", queue = {{kind = "drop-tail", buffer = "{buffer}B"}}}}
                    [[site]]
                    power = "13dBm"
                    [[ue]]
                    placement = {{kind = "list", points = [["{ours}m", "0m"]]}}
                    [[flow]]
                    traffic = {{kind = "cbr", rate = "{rate}Mbps", packet = "1000B"}}
                    "#
                );
                let scenario = Scenario::from_node(&Node::from_toml(&toml, "losses").unwrap()).unwrap();
                let runs: Vec<_> =
                    (1..=4).map(|seed| run(&scenario, seed, None, &mut |_| true).unwrap()).collect();
                let our_mean = |figure: &dyn Fn(&Outcome) -> f64| runs.iter().map(figure).sum::<f64>() / 4.0;
                let errors = our_mean(&|outcome| outcome.ues()[0].bler.unwrap());
                let goodput = our_mean(&|outcome| outcome.flows()[0].goodput_kbps);
                let delay = our_mean(&|outcome| outcome.flows()[0].delay_ms.mean.unwrap());
                let name = format!(
                    "{mode} {theirs} m {rate} Mbit/s: {errors:.4} / {:.4} lost, {goodput:.0} / {:.0} kbit/s, {delay:.1} / {:.1} ms",
                    mean("errors"),
                    mean("goodput_kbps"),
                    mean("delay_ms"),
                );
                println!("{name}");
                assert!(deviation(errors, mean("errors")) < 0.05, "{name}");
                assert!(deviation(goodput, mean("goodput_kbps")) < 0.03, "{name}");
                assert!(deviation(delay, mean("delay_ms")) < 0.06, "{name}");
            }
        }
    }
}

/// An idle UE takes half of a cell under ns-3's BET: beside one without data a saturated UE has 4966 kbit/s there, in both
/// domains, and 4992 beside another saturated one. Without the quirk it has the whole cell.
#[test]
fn bet_serves_idle_ues() {
    for domain in ["frequency", "time"] {
        let goodput = |without: &str| {
            let toml = format!(
                r#"
                preset = "ns3.44"
                compat_without = [{without}]
                duration = "4s"
                carrier.bandwidth = "3MHz"
                mac.scheduler = {{kind = "bet", domain = "{domain}"}}
                [[site]]
                power = "43dBm"
                [[ue]]
                name = "near"
                placement = {{kind = "list", points = [["500m", "0m"]]}}
                [[ue]]
                placement = {{kind = "list", points = [["1000m", "0m"]]}}
                [[flow]]
                ue = "near"
                traffic = {{kind = "cbr", rate = "40Mbps", packet = "1000B"}}
                "#
            );
            let scenario = Scenario::from_node(&Node::from_toml(&toml, "idle").unwrap()).unwrap();
            run(&scenario, 1, None, &mut |_| true).unwrap().totals().goodput_kbps
        };
        let (theirs, ours, alone) = (4966.0, goodput(""), goodput(r#""serves_idle""#));
        assert!(deviation(ours, theirs) < 0.005, "{domain}: {ours} / {theirs} kbit/s");
        assert!(deviation(alone, 2.0 * theirs) < 0.01, "{domain}: {alone} kbit/s");
    }
}

/// Ten CUBIC downloads from 500 m to 5 km on 25 PRBs for 20 s with buffers of 10 KiB: the sum of the goodputs, as a mean
/// over eight common starts, with its standard error. ns-3's figure under round robin at 30 dBm is such a mean, too, since
/// its runs differ by 4 %.
#[test]
#[ignore = "nightly: 64 runs"]
fn tcp_under_schedulers() {
    let schedulers = [
        (r#"{kind = "bet"}"#, [12_882.0, 2846.0], [0.02, 0.02]),
        (r#"{kind = "bet", domain = "time"}"#, [13_683.0, 3169.0], [0.02, 0.02]),
        (r#""pf""#, [14_469.0, 4502.0], [0.01, 0.02]),
        (r#""rr""#, [11_451.0, 3304.0], [0.02, 0.02]),
    ];
    let points: Vec<_> = (1..=10).map(|place| format!(r#"["{}m", "0m"]"#, 500 * place)).collect();
    for (scheduler, theirs, tolerances) in schedulers {
        for ((power, theirs), tolerance) in [30, 13].into_iter().zip(theirs).zip(tolerances) {
            let goodputs: Vec<f64> = (0..8)
                .map(|start| {
                    let toml = format!(
                        r#"
                        preset = "ns3.44"
                        duration = "20s"
                        carrier.bandwidth = "5MHz"
                        mac.scheduler = {scheduler}
                        tcp.mss = 1400
                        [[site]]
                        power = "{power}dBm"
                        [[ue]]
                        count = 10
                        placement = {{kind = "list", points = [{}]}}
                        [[flow]]
                        traffic = "bulk"
                        cc = "cubic"
                        start = "{}ms"
                        stagger = "0ms"
                        "#,
                        points.join(", "),
                        5 * start
                    );
                    let scenario = Scenario::from_node(&Node::from_toml(&toml, "s2").unwrap()).unwrap();
                    run(&scenario, 1, None, &mut |_| true).unwrap().totals().goodput_kbps
                })
                .collect();
            let off = mean(&goodputs) / theirs - 1.0;
            println!(
                "{scheduler}, {power} dBm: {:.0} ± {:.0} / {theirs} kbit/s ({:+.1} %)",
                mean(&goodputs),
                mean(&goodputs) * error_percent(&goodputs) / 100.0,
                100.0 * off
            );
            assert!(off.abs() < tolerance, "{scheduler}, {power} dBm: {off}");
        }
    }
}

/// Goodput and delay of one flow over ns-3's chain topology, by seed; the server link replaces its first two hops.
fn chain(cc: &str, per: f64, [tcp, without]: [&str; 2], seeds: u64) -> [Vec<f64>; 2] {
    let runs = (1..=seeds).map(|seed| {
        let toml = format!(
            r#"
            preset = "ns3.44"
            compat_without = [{without}]
            duration = "100s"
            warmup = "0s"
            tcp = {{mss = 1448, send_buffer = "4MiB", receive_buffer = "4MiB"{tcp}}}
            core = {{server_rate = "1Gbps", server_delay = "3.03ms"}}
            [[link]]
            rate = "25Mbps"
            delay = "5ms"
            loss = {{kind = "packet-error", rate = {per:?}}}
            [[ue]]
            [[flow]]
            cc = {cc}
            "#
        );
        let scenario = Scenario::from_node(&Node::from_toml(&toml, "s4").unwrap()).unwrap();
        let totals = run(&scenario, seed, None, &mut |_| true).unwrap().totals();
        (totals.goodput_kbps, totals.delay_ms_mean.unwrap())
    });
    let (goodputs, delays) = runs.unzip();
    [goodputs, delays]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean in percent of it.
fn error_percent(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    100.0 * (square / count).sqrt() / mean
}

/// S4: goodput of each sender over random losses.
///
/// The mean of our seeds differs from that of ns-3's by at most 5 %. At 3 and 5 % loss, where few timeouts of a second
/// decide a run, three standard errors of the difference count if they are more.
fn compare_senders(losses: &[(f64, u64)]) {
    let rows = rows(include_str!("../data/s4.csv"));
    let senders = [
        ("newreno", r#""newreno""#, ""),
        ("linux-reno", r#"{kind = "newreno", growth = "per-byte"}"#, r#", loss_flight = "window""#),
        ("westwood", r#""westwood""#, ""),
        ("hybla", r#""hybla""#, ""),
        ("highspeed", r#""highspeed""#, ""),
        ("cubic", r#""cubic""#, ""),
    ];
    for (name, cc, tcp) in senders {
        for &(per, seeds) in losses {
            let [goodputs, delays] = chain(cc, per, [tcp, ""], seeds);
            let chosen = rows.iter().filter(|row| row("cc") == name && number(row("per")) == per);
            let (theirs, their_delays): (Vec<f64>, Vec<f64>) =
                chosen.map(|row| (number(row("goodput_kbps")), number(row("delay_ms")))).unzip();
            if theirs.is_empty() {
                continue;
            }
            let off = 100.0 * (mean(&goodputs) / mean(&theirs) - 1.0);
            let error = error_percent(&goodputs).hypot(error_percent(&theirs));
            println!(
                "{name} {per}: {:.0} / {:.0} kbit/s ({off:+.1} ± {error:.1} %), {:.2} / {:.2} ms",
                mean(&goodputs),
                mean(&theirs),
                mean(&delays),
                mean(&their_delays)
            );
            let max = if per > 0.01 { f64::max(5.0, 3.0 * error) } else { 5.0 };
            assert!(off.abs() <= max, "{name} {per}: {off:+.1} ± {error:.1} %");
        }
    }
}

#[test]
fn senders_over_packet_errors() {
    compare_senders(&[(0.0, 1), (0.001, 3), (0.01, 6)]);
}

/// Runs with frequent losses differ most, and have the fewest packets.
#[test]
#[ignore = "nightly: more losses and seeds"]
fn senders_over_packet_errors_of_the_whole_range() {
    compare_senders(&[(0.0, 1), (0.001, 8), (0.003, 8), (0.01, 8), (0.03, 32), (0.05, 32)]);
}

/// Effect of the exception `recount-at-recovery-end`: a bandwidth estimate that counts bytes twice.
#[test]
fn westwood_counts_each_byte_once() {
    let [once, twice] = ["\"recount_at_exit\"", ""].map(|without| {
        mean(&chain(r#"{kind = "westwood", variant = "westwood-plus"}"#, 0.01, ["", without], 8)[0])
    });
    println!("westwood 0.01: {once:.0} kbit/s, with bytes counted twice {twice:.0}");
    assert!(twice > 1.4 * once, "{once} {twice}");
}
