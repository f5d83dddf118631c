//! The stack `linux` beside Linux.

mod case;
#[path = "../support/mod.rs"]
mod support;

use case::{ours, theirs};

#[test]
fn scratch() {
    let all = include_str!("data/summary.csv");
    for line in all.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let name = line.split(',').next().unwrap();
        if name.starts_with("bbr") { continue; }
        let (t, o) = (theirs(name), ours(name));
        println!("SUM {name}: goodput {:.1}/{:.1} queueing {:.2}/{:.2} retx {}/{} to {}/{} tlp {}/{}",
            o.sums.goodput_kbps, t.sums.goodput_kbps, o.sums.queueing_ms, t.sums.queueing_ms, o.sums.retransmissions, t.sums.retransmissions,
            o.sums.timeouts, t.sums.timeouts, o.sums.probes, t.sums.probes);
        let mut out = String::new();
        for (t, c, w) in &o.windows { out += &format!("{t},{c},{w}\n"); }
        std::fs::write(format!("/tmp/linref_scratch/{name}.ours.csv"), out).unwrap();
        let mut out = String::new();
        for p in &t.packets { out += &format!("{p:?}\n"); }
        std::fs::write(format!("/tmp/linref_scratch/{name}.theirs.txt"), out).unwrap();
        let mut out = String::new();
        for p in &o.packets { out += &format!("{p:?}\n"); }
        std::fs::write(format!("/tmp/linref_scratch/{name}.ours.txt"), out).unwrap();
    }
}
