//! Terminals that change cells, beside ns-3 LENA 3.44, and what must hold whatever they do.
//!
//! `cargo test -p airwnd-lab --test handover -- --nocapture` prints every comparison.

use airwnd_catalog::Node;
use airwnd_lab::{Column, NOTHING, Outcome, Scenario, Table, run};
use airwnd_units::Span;

fn simulate(toml: &str, seed: u64) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, seed, Some(Span::from_secs(1)), &mut |_| true).unwrap()
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("there is no {name}")).1
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let Column::F64(values) = column(table, name) else { panic!("{name} holds no numbers") };
    values
}

/// When events of this kind happened, in seconds from the end of the warm-up, and the cell that they are about.
fn events(outcome: &Outcome, kind: &str) -> Vec<(f64, u32)> {
    let table = outcome.events();
    let (times, Column::Words(words, names)) = (numbers(table, "time_s"), column(table, "event")) else {
        panic!("events have words")
    };
    let Column::U32(cells) = column(table, "cell") else { panic!("cells are whole") };
    let word = names.iter().position(|name| name == kind).unwrap() as u32;
    (0..times.len()).filter(|row| words[*row] == word).map(|row| (times[row], cells[row])).collect()
}

/// The rows of a CSV text with comment lines, as named columns.
fn rows(csv: &'static str) -> Vec<impl Fn(&str) -> &'static str> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let (names, cells): (_, Vec<&str>) = (names.clone(), line.split(',').collect());
            move |name: &str| cells[names.iter().position(|known| *known == name).unwrap()]
        })
        .collect()
}

/// CUBIC as ns-3 3.44 has it.
const CUBIC: &str = "{kind = \"cubic\", variant = \"linux\", slow_start = {kind = \"hystart\", train = 1.0, delay = 1.0, delay_max = \"1s\"}}";

/// The ns-3 reference run S6.
fn s6(tcp: &str, buffer: &str, loss: &str) -> String {
    let cc = if tcp == "TcpCubic" { CUBIC } else { "\"newreno\"" };
    let loss = match loss {
        "friis" => "\"friis\"",
        _ => "{kind = \"hybrid-buildings\", los_to_nlos = \"1001m\"}",
    };
    format!(
        r#"
        duration = "50s"
        tcp = {{stack = "ns3.44", mss = 1400}}
        handover = {{algorithm = "a3-rsrp", forwarding = "arriving"}}
        rlc.queue = {{kind = "drop-tail", buffer = "{buffer}B"}}
        radio.propagation = {loss}
        [[site]]
        position = ["0m", "0m"]
        [[site]]
        position = ["500m", "0m"]
        [[site]]
        position = ["1000m", "0m"]
        [[ue]]
        placement = {{kind = "list", points = [["0m", "50m"]]}}
        mobility = {{kind = "constant-velocity", speed = "20m/s"}}
        [[flow]]
        cc = {cc}
        "#
    )
}

#[test]
fn one_user_past_three_sites() {
    let (throughput, handovers) =
        (rows(include_str!("data/s6.csv")), rows(include_str!("data/s6_handovers.csv")));
    for (tcp, buffer, loss) in [
        ("TcpCubic", "51200", "friis"),
        ("TcpCubic", "10240", "friis"),
        ("TcpNewReno", "51200", "friis"),
        ("TcpCubic", "51200", "hybridlos"),
    ] {
        let outcome = simulate(&s6(tcp, buffer, loss), 1);
        macro_rules! ours {
            ($rows:expr) => {
                $rows.iter().filter(|row| {
                    row("tcp") == tcp
                        && row("rlc") == "um"
                        && row("buffer_bytes") == buffer
                        && row("loss") == loss
                })
            };
        }
        println!(
            "{tcp} {buffer} {loss}: {:?} {:?}",
            events(&outcome, "handover_start"),
            events(&outcome, "handover_end")
        );
        for row in ours!(handovers) {
            println!("   ns-3 {} {}", row("event"), row("t_s"));
        }
        let rates = numbers(outcome.series(), "rate_kbps");
        let mut sums = (0.0, 0.0);
        for (row, ours) in ours!(throughput).zip(rates) {
            let theirs: f64 = row("throughput_kbps").parse().unwrap();
            sums.0 += ours;
            sums.1 += theirs;
            println!("  {} {ours:.0} / {theirs:.0} ({:+.1} %)", row("second"), 100.0 * (ours / theirs - 1.0));
        }
        println!("  delay {:?} rtt {:?}", outcome.flows()[0].delay_ms, outcome.flows()[0].rtt_ms);
        println!("  all {:+.2} %", 100.0 * (sums.0 / sums.1 - 1.0));
    }
}
