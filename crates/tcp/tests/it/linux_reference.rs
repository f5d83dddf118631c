//! The stack `linux` compared with Linux 6.18, over the same path with the same losses.
//!
//! Linux was measured by `python/benches/linux_reference`, with a network namespace for each end and a path that
//! forwards packets between them; the tables in `data` name kernel and date. One segment per buffer (no GSO), no pacing
//! except BBR's. Linux runs vary randomly: the host delays one packet in a thousand by milliseconds. `cargo test -p
//! airwnd-tcp --test it linux_reference:: -- --nocapture` prints every comparison.

mod case;

use case::{Ours, Packet, Theirs, What, ours, theirs};

/// Returns both runs of a case and prints their comparison.
fn run(case: &str) -> (Ours, Theirs) {
    let (ours, theirs) = (ours(case), theirs(case));
    let (o, t) = (&ours.sums, &theirs.sums);
    println!(
        "{case}: goodput {:.1} / {:.1} kbit/s, queueing {:.2} / {:.2} ms, {} / {} retransmissions, {} / {} timeouts, \
         {} / {} tail probes",
        o.goodput_kbps,
        t.goodput_kbps,
        o.queueing_ms,
        t.queueing_ms,
        o.retransmissions,
        t.retransmissions,
        o.timeouts,
        t.timeouts,
        o.probes,
        t.probes,
    );
    (ours, theirs)
}

#[track_caller]
fn assert_near(what: &str, ours: f64, theirs: f64, part: f64) {
    assert!((ours / theirs - 1.0).abs() <= part, "{what}: {ours}, Linux {theirs}");
}

/// Returns the mean absolute difference of two series relative to the second one's mean; both are sampled every 100 ms.
fn distance(ours: impl Iterator<Item = f64>, theirs: &[(f64, f64)]) -> f64 {
    let pairs: Vec<_> = ours.zip(theirs.iter().map(|(_, value)| *value)).collect();
    let apart: f64 = pairs.iter().map(|(ours, theirs)| (ours - theirs).abs()).sum();
    apart / pairs.iter().map(|(_, theirs)| theirs).sum::<f64>()
}

fn windows_apart(ours: &Ours, theirs: &Theirs) -> f64 {
    distance(ours.windows.iter().map(|(_, cwnd, _)| *cwnd), &theirs.series("cwnd"))
}

/// Slow start into a queue of 100 packets, retransmission of about 146 segments, and sawteeth of 9.5 s.
#[test]
fn reno() {
    let (ours, theirs) = run("reno");
    assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.005);
    assert_near("queueing", ours.sums.queueing_ms, theirs.sums.queueing_ms, 0.03);
    assert_near("retransmissions", ours.sums.retransmissions, theirs.sums.retransmissions, 0.05);
    let apart = windows_apart(&ours, &theirs);
    println!("reno: windows differ by {:.2} % on average", 100.0 * apart);
    assert!(apart < 0.03, "{apart}");
}

/// HyStart ends slow start at 63 segments by its ACK train; 5 % growth per RTT until the first loss, then the cubic
/// function.
#[test]
fn cubic() {
    let (ours, theirs) = run("cubic");
    assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.005);
    assert_near("queueing", ours.sums.queueing_ms, theirs.sums.queueing_ms, 0.03);
    let apart = windows_apart(&ours, &theirs);
    println!("cubic: windows differ by {:.2} % on average", 100.0 * apart);
    assert!(apart < 0.05, "{apart}");
    let after_slow_start = (ours.windows[3].1, theirs.series("cwnd")[3].1);
    assert_near("after HyStart", after_slow_start.0, after_slow_start.1, 0.1);
}

/// BBR v1 paces from a model of the path; the initial phase of its cycle is random.
#[test]
fn bbr() {
    for case in ["bbr", "bbr-loss-0.1", "bbr-loss-1"] {
        let (ours, theirs) = run(case);
        assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.03);
        println!("{case}: windows differ by {:.1} % on average", 100.0 * windows_apart(&ours, &theirs));
        // 25 ms, and 1.2 ms of serialization. Four more runs of Linux queue 10.6 to 11.6 ms with 1 % loss, 8.9 and 9.1
        // ms without.
        assert_near("delay", 26.2 + ours.sums.queueing_ms, 26.2 + theirs.sums.queueing_ms, 0.05);
    }
}

/// The same packets are lost, by number, so the runs stay identical until a retransmission is one packet earlier in one
/// of them.
#[test]
fn one_packet_in_a_thousand_lost() {
    for (case, goodput, windows) in [("reno-loss-0.1", 0.03, 0.15), ("cubic-loss-0.1", 0.03, 0.15)] {
        let (ours, theirs) = run(case);
        assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, goodput);
        assert_near("retransmissions", ours.sums.retransmissions, theirs.sums.retransmissions, 0.05);
        let apart = windows_apart(&ours, &theirs);
        println!("{case}: windows differ by {:.1} % on average", 100.0 * apart);
        assert!(apart < windows, "{apart}");
    }
}

/// Losses are by packet number. Our numbers and Linux's diverge by one packet in the first overflow (Reno) and recovery
/// (CUBIC). From then on different segments are lost, and 75 to 150 losses give a mean within 5 to 10 %.
#[test]
fn one_packet_in_a_hundred_lost() {
    for case in ["reno-loss-1", "cubic-loss-1"] {
        let (ours, theirs) = run(case);
        assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.1);
        assert_near("retransmissions", ours.sums.retransmissions, theirs.sums.retransmissions, 0.15);
    }
}

/// Every hundredth packet is 5 ms late, the duration of four packets. It is retransmitted until timestamps reveal
/// reordering; then the sender waits a quarter of an RTT. 40 ms exceed that until D-SACKs enlarge the reordering
/// window.
#[test]
fn late_packets() {
    for case in ["reno-late-5", "reno-late-40"] {
        let (ours, theirs) = run(case);
        assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.01);
        assert_near("queueing", ours.sums.queueing_ms, theirs.sums.queueing_ms, 0.15);
    }
}

/// 1.5 s without service: timeouts, which F-RTO detects as spurious when the link resumes.
#[test]
fn an_outage() {
    let (ours, theirs) = run("outage");
    assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.01);
    assert_eq!(ours.sums.timeouts, theirs.sums.timeouts);
}

/// Returns the data packets in order of arrival.
fn data(packets: &[Packet]) -> Vec<(f64, u64)> {
    let timed_segment = |packet: &Packet| match packet.what {
        What::Data(segment) => Some((packet.at_ms, segment)),
        What::Ack { .. } => None,
    };
    packets.iter().filter_map(timed_segment).collect()
}

/// Returns the contents of each ACK of data, without its window.
fn answers(packets: &[Packet]) -> Vec<(u64, Vec<(u64, u64)>)> {
    let answer = |packet: &Packet| match &packet.what {
        What::Ack { acked, sack, .. } if *acked > 0 => Some((*acked, sack.clone())),
        _ => None,
    };
    packets.iter().filter_map(answer).collect()
}

/// Asserts the same segments in the same order. Linux counts time in jiffies (here 4 ms) and rounds timeouts up to one,
/// from 64 jiffies on to eight, from 512 on to 64 (kernel/time/timer.c): each pause may be longer by an eighth plus 12
/// ms.
#[track_caller]
fn assert_same_data(case: &str, ours: &Ours, theirs: &Theirs) {
    let (ours, theirs) = (data(&ours.packets), data(&theirs.packets));
    let order = |packets: &[(f64, u64)]| packets.iter().map(|(_, segment)| *segment).collect::<Vec<_>>();
    assert_eq!(order(&ours), order(&theirs), "{case}");
    for (our, their) in ours.windows(2).zip(theirs.windows(2)) {
        let (pause, late) = (our[1].0 - our[0].0, (their[1].0 - their[0].0) - (our[1].0 - our[0].0));
        assert!((-5.0..0.125 * pause + 12.0).contains(&late), "{case}, segment {}: {late} ms late", our[1].1);
    }
}

/// Tails of one to four lost segments, a lost tail with its probe, and a segment that is lost five times. The probe is
/// sent after two RTTs, for a single segment plus 200 ms for a delayed ACK; its SACK reveals the other losses at once.
#[test]
fn tails() {
    for case in ["tail-1", "tail-2", "tail-3", "tail-4", "rto", "back-off"] {
        let (ours, theirs) = run(case);
        assert_same_data(case, &ours, &theirs);
        assert_eq!(answers(&ours.packets), answers(&theirs.packets), "{case}");
        assert_eq!(ours.sums.timeouts, theirs.sums.timeouts, "{case}");
        assert_eq!(ours.sums.probes, theirs.sums.probes, "{case}");
    }
}

/// One segment is lost twice. RACK detects the loss of its retransmission by the ACK of later data.
#[test]
fn a_lost_retransmission() {
    let (ours, theirs) = run("lost-retransmission");
    let resent = |packets: &[Packet]| data(packets).iter().filter(|(_, n)| *n == 50).count();
    assert_eq!((resent(&ours.packets), resent(&theirs.packets)), (3, 3));
    assert_eq!((ours.sums.timeouts, ours.sums.retransmissions), (0.0, theirs.sums.retransmissions));
    let end = |packets: &[Packet]| data(packets).last().expect("data").0;
    assert_near("the last segment", end(&ours.packets), end(&theirs.packets), 0.03);
}

/// ACKs of a new connection: 16 segments are acknowledged at once, as is each segment that opens the window; then every
/// second one. The advertised windows agree within one unit of window scaling (1 KiB, rounded up by Linux and down
/// here) plus one segment's buffer.
#[test]
fn acks_and_windows_of_a_new_connection() {
    let (ours, theirs) = run("short");
    assert_same_data("short", &ours, &theirs);
    assert_eq!(answers(&ours.packets), answers(&theirs.packets));
    let offers = |packets: &[Packet], unit: u64| -> Vec<u64> {
        let offer = |packet: &Packet| match packet.what {
            What::Ack { acked, window, .. } if acked > 0 => Some(window * unit),
            _ => None,
        };
        packets.iter().filter_map(offer).collect()
    };
    for (our, their) in offers(&ours.packets, 1024).iter().zip(offers(&theirs.packets, 1)) {
        assert!(our.abs_diff(their) <= 2048 + 1448, "{our}, Linux {their}");
    }
}

/// An RTT of 200 ms: the window opens from 64 KiB to 4 MB, and HyStart ends at 480 segments by its delay criterion.
#[test]
fn a_long_path() {
    let (ours, theirs) = run("long-path");
    assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.01);
    assert_near("queueing", ours.sums.queueing_ms, theirs.sums.queueing_ms, 0.1);
    let cwnd = windows_apart(&ours, &theirs);
    let offered = distance(ours.windows.iter().map(|(_, _, window)| *window), &theirs.series("window"));
    println!(
        "long-path: cwnd differs by {:.2} %, the advertised window by {:.2} %",
        100.0 * cwnd,
        100.0 * offered
    );
    assert!(cwnd < 0.02 && offered < 0.02, "{cwnd} {offered}");
}

/// Marks above 30 packets. Linux reduces bytes in flight over an RTT, as after a loss, so a slowly draining queue marks
/// the next window, too, and halves it again (exception ecn-reduces-at-once).
#[test]
fn marks() {
    for case in ["ecn", "ecn-cubic"] {
        let (ours, theirs) = run(case);
        assert_near("goodput", ours.sums.goodput_kbps, theirs.sums.goodput_kbps, 0.03);
        assert_eq!((ours.sums.retransmissions, theirs.sums.retransmissions), (0.0, 0.0));
    }
}
