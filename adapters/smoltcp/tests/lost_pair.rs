//! A defect of smoltcp, after one lost packet and after two of the same window. The first ACK of new data ends its fast
//! recovery, so the second loss waits for the retransmission timer (RFC 6582 §3.2: a partial ACK is answered with the
//! next segment). The simulator's TCP repeats both at once.

use airwnd::{Scenario, Trial};
use airwnd_smoltcp::{Control, OPTIONS, download};

const LINK: &str = r#"
    duration = "8s"
    core = { server_delay = "0ms", server_rate = "0bps" }
    link = [{ rate = "20Mbps", delay = "25ms", queue = 3000 }]
    ue = [{}]
"#;

/// Goodput of smoltcp and of the simulator's CUBIC in kbit/s, if packets are lost at these instants.
fn goodput(control: Control, instants: &str) -> [f64; 2] {
    let loss = format!("{{ kind = \"scripted\", instants = {instants} }}");
    let scenario = Scenario::from_toml(LINK).unwrap().with("link[0].loss", &loss).unwrap();
    let trial = Trial::new(&scenario).seeds(1..=1).options(OPTIONS);
    let smoltcp = trial.run(|seed| download(control, seed)).unwrap().goodput_kbps().mean();
    let simulated = scenario.with("flow", "[{ cc = \"cubic\" }]").unwrap().run(1).unwrap();
    let found = [smoltcp, simulated.flows()[0].goodput_kbps];
    println!(
        "{control:?}, lost at {instants}: smoltcp {:.0} kbit/s, airwnd's CUBIC {:.0}",
        found[0], found[1]
    );
    found
}

#[test]
fn the_second_of_two_lost_packets_costs_smoltcp_a_third() {
    for control in Control::ALL {
        let one = goodput(control, r#"["5s"]"#);
        let two = goodput(control, r#"["5s", "5002ms"]"#);
        assert!(two[0] < 0.75 * one[0], "{control:?}: {} and {} kbit/s", one[0], two[0]);
        assert!(two[1] > 0.95 * one[1], "{} and {} kbit/s", one[1], two[1]);
    }
}
