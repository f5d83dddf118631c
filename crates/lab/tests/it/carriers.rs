//! Carrier aggregation: secondary carriers in the downlink.

use crate::support::saturated;
use airwnd_catalog::Node;
use airwnd_lab::{Column, Outcome, Records, Scenario, Table, run, run_tapped};
use airwnd_units::Span;

fn scenario(toml: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap()
}

fn simulate(toml: &str) -> Outcome {
    run(&scenario(toml), 1, None, &mut |_| true).unwrap()
}

/// Bytes of decoded blocks by cell, carrier and UE, for the numbers that occur.
fn decoded(table: &Table) -> Vec<([u32; 3], u64)> {
    let column = |name: &str| &table.iter().find(|(column, _)| column == name).unwrap().1;
    let whole = |name: &str| match column(name) {
        Column::U32(values) => values,
        other => panic!("{name} is {other:?}"),
    };
    let Column::Words(receptions, words) = column("reception") else { panic!("receptions are words") };
    let mut sums = std::collections::BTreeMap::new();
    for row in 0..receptions.len() {
        if words[receptions[row] as usize] == "decoded" {
            let place = ["cell", "carrier", "ue"].map(|name| whole(name)[row]);
            *sums.entry(place).or_insert(0) += u64::from(whole("bytes")[row]);
        }
    }
    sums.into_iter().collect()
}

/// Bytes of a whole run, by cell, carrier and UE.
fn decoded_in(toml: &str) -> Vec<([u32; 3], u64)> {
    let records = Records { allocations: Some(Span::ZERO..Span::from_secs(60)), ..Records::default() };
    let outcome = run_tapped(&scenario(toml), 1, &records, None, &mut |_| true).unwrap();
    decoded(outcome.allocations())
}

/// Part of a run of 1 s after the first packet is received: 10 ms to the cell and 3.07 ms over the air.
const RECEIVING: f64 = 1.0 - 0.013_07;

/// Peak rates by hand: the blocks of MCS 28 (I_TBS 26) on the whole RBGs of 20, 10 and 5 MHz are 75376, 35160 and 17568
/// bits (TS 36.213 Table 7.1.7.2.1-1), of which each carrier sends one per TTI; on 100 MHz of NR 288 x 1025 - 24 bits per
/// slot of 0.5 ms, as in the tests of NR.
#[test]
fn the_peak_rates_of_the_carriers_add_up() {
    let lte = "kind = \"lte\"";
    let nr = "kind = \"nr\", numerology = 1";
    let first = "{downlink_frequency = \"1.8GHz\"}";
    let three = "{downlink_frequency = \"1.8GHz\", bandwidth = \"10MHz\"}, \
                 {downlink_frequency = \"806MHz\", bandwidth = \"5MHz\"}";
    let adjacent = "{downlink_frequency = \"2.1398GHz\"}, {downlink_frequency = \"2.1002GHz\"}, \
                    {downlink_frequency = \"2.16GHz\"}";
    let mid_band = "downlink_frequency = \"3.5GHz\", uplink_frequency = \"3.4GHz\", bandwidth = \"100MHz\"";
    for (carrier, access, secondary, bits, per_second) in [
        ("bandwidth = \"20MHz\"", lte, first, 2.0 * 75_376.0, 1e3),
        ("bandwidth = \"20MHz\"", lte, three, 75_376.0 + 35_160.0 + 17_568.0, 1e3),
        ("bandwidth = \"20MHz\"", lte, adjacent, 4.0 * 75_376.0, 1e3),
        (mid_band, nr, "{downlink_frequency = \"3.6GHz\"}", 2.0 * (288.0 * 1025.0 - 24.0), 2e3),
    ] {
        let carrier = format!("{carrier}, secondary = [{secondary}]");
        let outcome = saturated::alone(&carrier, access, 20, "3Gbps");
        // 1400 B of 1428 B, less the headers of PDCP and RLC: 2 B and 1.5 B per packet
        let expected = bits * per_second / 1e6 * 1400.0 / 1431.5;
        let payload = outcome.flows()[0].goodput_kbps / 1e3 / RECEIVING;
        println!("{carrier}: {payload:.1} of {expected:.1} Mbit/s");
        assert_eq!(outcome.ues()[0].bler, Some(0.0));
        assert!((payload / expected - 1.0).abs() < 0.005, "{carrier}: {payload} {expected}");
        let used = outcome.cells()[0].downlink_prb_use;
        assert!((0.97..=1.0).contains(&used), "{carrier}: {used}");
    }
}

/// TCP with all defaults but fading: RLC puts the PDUs of both carriers in order.
#[test]
fn a_second_carrier_doubles_the_goodput_of_tcp() {
    let goodput = |mode: &str, secondary: &str| {
        let outcome = simulate(&format!(
            r#"
            duration = "5s"
            warmup = "1s"
            carrier = {{bandwidth = "20MHz", secondary = [{secondary}]}}
            radio = {{shadowing = "none", fading = "none"}}
            rlc.mode = "{mode}"
            [[site]]
            [[ue]]
            placement = {{kind = "ring", radius = "150m"}}
            [[flow]]
            "#
        ));
        outcome.totals().goodput_kbps
    };
    for mode in ["am", "um"] {
        let [one, two] = ["", "{downlink_frequency = \"1.8GHz\"}"].map(|secondary| goodput(mode, secondary));
        println!("{mode}: {one:.0} and {two:.0} kbit/s");
        assert!((1.85..2.05).contains(&(two / one)), "{mode}: {one} {two}");
    }
}

/// Two UEs share the primary carrier; the one that aggregates has the secondary carrier for itself.
#[test]
fn a_ue_uses_the_carriers_that_it_can() {
    let toml = r#"
        duration = "1s"
        warmup = "100ms"
        carrier = {bandwidth = "20MHz", secondary = [{downlink_frequency = "1.8GHz"}]}
        radio = {propagation = "friis", shadowing = "none", fading = "none"}
        mac = {scheduler = {kind = "rr", remainder = "in-turn"}, olla = "none", scell = "none"}
        [[site]]
        [[ue]]
        name = "old"
        carriers = 1
        placement = {kind = "list", points = [["50m", "0m"]]}
        [[ue]]
        name = "new"
        placement = {kind = "list", points = [["50m", "0m"]]}
        [[flow]]
        traffic = {kind = "cbr", rate = "300Mbps", packet = "1400B"}
    "#;
    let shares = decoded_in(toml);
    let [([0, 0, 0], old), ([0, 0, 1], new), ([0, 1, 1], other)] = shares[..] else { panic!("{shares:?}") };
    let carrier = 75_376.0 / 8.0 * 1e3;
    for (bytes, part) in [(old, 0.5), (new, 0.5), (other, 1.0)] {
        assert!((bytes as f64 / carrier / part - 1.0).abs() < 0.05, "{shares:?}");
    }
    let figures = simulate(toml);
    let ratio = figures.flows()[1].goodput_kbps / figures.flows()[0].goodput_kbps;
    assert!((2.9..3.1).contains(&ratio), "{ratio}");
}

/// The path loss in free space grows by 17.4 dB from 800 MHz to 5.9 GHz: far away the high carrier is below CQI 1.
#[test]
fn a_far_ue_gets_the_low_carrier_only() {
    let toml = |radius: u32, secondary: &str| {
        format!(
            r#"
            duration = "1s"
            carrier = {{bandwidth = "5MHz", downlink_frequency = "800MHz", secondary = [{secondary}]}}
            radio = {{propagation = "friis", shadowing = "none", fading = "none"}}
            [[site]]
            power = "20dBm"
            [[ue]]
            placement = {{kind = "ring", radius = "{radius}m"}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "30Mbps", packet = "1400B"}}
            "#
        )
    };
    let high = "{downlink_frequency = \"5.9GHz\"}";
    let carriers = |radius| {
        let found = decoded_in(&toml(radius, high));
        found.into_iter().map(|([_, carrier, _], _)| carrier).collect::<Vec<_>>()
    };
    assert_eq!(carriers(200), [0, 1]);
    assert_eq!(carriers(20_000), [0]);
    // More power brings it back.
    let strong = "{downlink_frequency = \"5.9GHz\", power = \"46dBm\"}";
    assert_eq!(decoded_in(&toml(20_000, strong)).len(), 2);
    let alone = |secondary| simulate(&toml(20_000, secondary)).totals().goodput_kbps;
    assert_eq!(alone(high), alone(""));
}

/// Mean completion time of a transfer every 5 s, near a cell of 5 and 20 MHz: 18 and 93 Mbit/s without and with the
/// secondary carrier, which is inactive at the start of each.
fn completion_ms(scell: &str, size: &str) -> f64 {
    let outcome = simulate(&format!(
        r#"
        duration = "20s"
        carrier = {{bandwidth = "5MHz", secondary = [{{downlink_frequency = "1.8GHz", bandwidth = "20MHz"}}]}}
        radio = {{propagation = "friis", shadowing = "none", fading = "none"}}
        mac.scell = {scell}
        [[site]]
        [[ue]]
        placement = {{kind = "ring", radius = "50m"}}
        [[flow]]
        traffic = {{kind = "transfer", size = "{size}"}}
        arrivals = {{kind = "periodic", period = "5s"}}
        "#
    ));
    outcome.groups()[0].fct_s.mean.unwrap() * 1e3
}

/// A carrier is activated by a backlog, after a delay, and deactivated by its timer: a transfer after a pause waits for the
/// delay again, a small one does not use the carrier.
#[test]
fn a_secondary_carrier_is_activated_by_a_backlog() {
    let always = "\"none\"";
    let [small, large] = ["10kB", "2MB"].map(|size| {
        let cases = [always, "{delay = \"24ms\"}", "{delay = \"124ms\"}", "{backlog = \"1GB\"}"];
        cases.map(|scell| completion_ms(scell, size))
    });
    println!("ms: {small:.1?} {large:.1?}");
    // A small transfer does not activate the carrier.
    assert!(small[0] < small[1] && small[1..].iter().all(|ms| *ms == small[1]), "{small:?}");
    // TCP's slow start hides the short delay; during the long one the primary carrier sends a part.
    let [at_once, soon, late, never] = large;
    assert!(at_once <= soon && (50.0..100.0).contains(&(late - soon)), "{large:?}");
    // 16 Mbit at 18 Mbit/s less headers
    assert!(never > 890.0 && late < 600.0, "{large:?}");
}

/// A UE passes from one site to the other; both serve it on both carriers. In acknowledged mode no packet is lost at
/// the handover.
#[test]
fn secondary_carriers_follow_the_primary_one() {
    for mode in ["am", "um"] {
        let toml = format!(
            r#"
            duration = "20s"
            carrier.secondary = [{{downlink_frequency = "1.8GHz"}}]
            radio = {{shadowing = "none", fading = "none"}}
            rlc.mode = "{mode}"
            handover.algorithm = "a3-rsrp"
            [[site]]
            [[site]]
            position = ["500m", "0m"]
            [[ue]]
            placement = {{kind = "list", points = [["100m", "20m"]]}}
            mobility = {{kind = "constant-velocity", speed = "20m/s", direction = "0deg"}}
            [[flow]]
            "#
        );
        let places: Vec<[u32; 3]> = decoded_in(&toml).into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], "{mode}");
        let outcome = simulate(&toml);
        assert!(outcome.ues()[0].handovers >= 1);
        assert_eq!(outcome.totals().drops.handover > 0, mode == "um");
    }
}

/// The same scenario without the secondary carrier: that of a UE that does not aggregate has the same results.
#[test]
fn carriers_that_no_ue_aggregates_change_nothing() {
    let toml = |secondary: &str| {
        format!(
            r#"
            duration = "2s"
            carrier.secondary = [{secondary}]
            mac.drx = {{}}
            [[site]]
            sectors = 3
            antenna = "parabolic"
            [[ue]]
            count = 6
            carriers = 1
            [[flow]]
            "#
        )
    };
    let [without, with] = ["", "{downlink_frequency = \"1.8GHz\"}"].map(|secondary| {
        let outcome = simulate(&toml(secondary));
        (outcome.flows().to_vec(), outcome.totals().goodput_kbps)
    });
    assert_eq!(without.1, with.1);
    assert_eq!(without.0, with.0);
}
