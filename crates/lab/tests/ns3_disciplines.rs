//! Four NewReno flows through queue disciplines as ns-3 3.44 ran them (S5): 10 Mbit/s, 25 ms one way, 60 s, flows 0.1 s
//! apart.
//!
//! `cargo test -p airwnd-lab --test ns3_disciplines -- --nocapture` prints every comparison.

use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};

fn simulate(aqm: &str) -> (f64, f64, f64, u64, f64) {
    let flows: String = (0..4).map(|flow| format!("[[flow]]\nid=\"f{flow}\"\nstart = \"{}ms\"\n", 100 * flow)).collect();
    let toml = format!(
        "duration = \"60s\"\nwarmup = \"0s\"\n\
         tcp = {{mss = 1000, send_buffer = \"4MiB\", receive_buffer = \"4MiB\", recount_at_exit = true}}\n\
         core = {{server_rate = \"1Gbps\", server_delay = \"1us\"}}\n\
         [[link]]\nrate = \"10Mbps\"\ndelay = \"25ms\"\nring = 1\naqm = {aqm}\n[[ue]]\n{flows}"
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "s5").unwrap()).unwrap();
    let outcome = run(&scenario, 1, None, &mut |_| true).unwrap();
    let totals = outcome.totals();
    let link = outcome.links().iter().find(|row| row.link == "link").unwrap();
    (totals.goodput_kbps, totals.delay_ms.unwrap(), link.queue_packets.mean, link.early + link.refused, totals.jain.unwrap())
}

#[test]
fn explore() {
    for (name, aqm, goodput, delay, queue, drops) in [
        ("droptail", "{kind=\"drop-tail\", buffer=\"1MB\", packets=100}", 9457.73, 89.57, 74.39+0.997, 139),
        ("codel", "{kind = \"codel\", root = \"newton\", packets = 100}", 9165.2, 30.8846, 4.91629+0.88, 182),
        ("codel exact", "{kind = \"codel\", packets = 100}", 9165.2, 30.8846, 4.91629+0.88, 182),
        ("pie100", "{kind = \"pie\", derandomize = false, mean_pktsize = \"1054B\", packets = 100}", 9284.4, 42.1369, 17.9558+0.946, 209),
        ("pie1000", "{kind = \"pie\", derandomize = false, mean_pktsize = \"1054B\", packets = 1000}", 9323.47, 42.7778, 18.7787+0.951, 201),
        ("cobalt100", "{kind = \"cobalt\", packets = 100}", 9142.8, 30.7621, 4.77629+0.875, 195),
        ("cobalt1000", "{kind = \"cobalt\", packets = 1000}", 9159.87, 30.6615, 4.65796+0.878, 177),
        ("fq-codel", "{kind = \"fq-codel\", root = \"newton\", quantum = \"1500B\"}", 8858.13, 30.1361, 4.00796+0.82, 200),
        ("fq-pie", "{kind = \"fq-pie\", derandomize = false, mean_pktsize = \"1054B\", quantum = \"1500B\"}", 9350.67, 46.1777, 22.8032+0.975, 433),
        ("fq-cobalt", "{kind = \"fq-cobalt\", quantum = \"1500B\"}", 8890.67, 29.944, 3.82523+0.82, 247),
    ] {
        let (g, d, q, n, j) = simulate(aqm);
        println!("{name}: goodput {g:.1}/{goodput} {:+.2}%, delay {:.2}/{:.2} {:+.2}%, queue {q:.2}/{queue:.2} {:+.2}%, drops {n}/{drops}, jain {j:.4}", 100.*(g/goodput-1.), d-25.85, delay-25.85, 100.*((d-25.85)/(delay-25.85)-1.), 100.*(q/queue-1.));
    }
}
