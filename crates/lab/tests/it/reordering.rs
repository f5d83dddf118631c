//! Loss detection and D-SACK on links that reorder and duplicate.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// A download for 15 s over 20 Mbit/s and 20 ms each way, with these keys of the link and of `[tcp]`.
fn download(link: &str, tcp: &str) -> Outcome {
    let text = format!(
        "duration = \"15s\"\ncore = {{server_rate = \"0bps\", server_delay = \"0ms\"}}\ntcp = {{{tcp}}}\n\
         [[link]]\nrate = \"20Mbps\"\ndelay = \"20ms\"\nqueue = 200\n{link}\n[[ue]]\n[[flow]]\ncc = \"cubic\"\n"
    );
    run(&Scenario::from_node(&Node::from_toml(&text, "test").unwrap()).unwrap(), 1, None, &mut |_| true)
        .unwrap()
}

/// Retransmissions of segments that were not dropped.
fn spurious(outcome: &Outcome) -> u64 {
    outcome.totals().retransmissions - outcome.totals().drops.link_queue_full
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.totals().goodput_kbps
}

/// A packet in a hundred is 6 ms late, overtaken by ten others. A quarter of the minimum RTT is 8.5 ms: once RACK has seen
/// reordering, it waits for the late packets (RFC 8985 §6.2 step 4). A sender that counts duplicates and undoes nothing
/// takes each of them for a loss.
#[test]
fn packets_late_by_less_than_the_reordering_window_cost_nothing() {
    let late = "reorder = {probability = 0.99, delay = \"14ms\"}";
    let found = download(late, "");
    assert!(spurious(&found) <= 10, "{}", spurious(&found));
    assert!(goodput(&found) > 0.99 * goodput(&download("", "")), "{}", goodput(&found));
    let counting =
        download(late, "loss_detection = \"duplicates\", undo = false, dsack = false, frto = false");
    assert!(goodput(&counting) < 0.5 * goodput(&found), "{}", goodput(&counting));
}

/// A packet in a hundred is 15 ms late, more than a quarter of the minimum RTT of 25 ms: each D-SACK enlarges the window
/// by another quarter, up to SRTT (RFC 8985 §6.2 step 4). Without D-SACKs every late packet is retransmitted.
#[test]
fn d_sacks_enlarge_the_reordering_window() {
    let late = "reorder = {probability = 0.99, delay = \"5ms\"}";
    let (with, without) = (download(late, ""), download(late, "dsack = false"));
    assert!(spurious(&with) < 30 && spurious(&without) > 150, "{} {}", spurious(&with), spurious(&without));
    assert!(goodput(&with) > 0.99 * goodput(&download("", "")), "{}", goodput(&with));
}

/// Copies of segments that were sent once are no evidence of a spurious reduction (RFC 3708 §3): losses, reductions and
/// goodput are those of the link without copies.
#[test]
fn copies_undo_no_reductions() {
    for copies in ["duplicate = {probability = 0.01}", "duplicate = {probability = 0.2}"] {
        let (plain, copied) = (download("", ""), download(copies, ""));
        let recoveries = |outcome: &Outcome| outcome.flows()[0].fast_retransmits;
        assert!(
            recoveries(&copied) <= recoveries(&plain) + 2,
            "{} {}",
            recoveries(&plain),
            recoveries(&copied)
        );
        assert!(spurious(&copied) < 10, "{}", spurious(&copied));
        assert!((goodput(&copied) / goodput(&plain) - 1.0).abs() < 0.01, "{}", goodput(&copied));
    }
}
