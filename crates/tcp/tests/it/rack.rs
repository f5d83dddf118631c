//! RACK loss detection and undo of reductions, in scripts: time, segment in, segments out.
//!
//! RTT and minimum RTT are 50 ms, so the reordering window is 12.5 ms.

use crate::support;
use crate::support::script::{IRS, ISS, Script, segments};
use airwnd_tcp::segment::{SackBlock, SackBlocks, Timestamps};
use airwnd_tcp::{Config, Segment, Seq, Stack, cc};
use airwnd_units::{Bytes, Span};

/// Linux without timestamps, which scripts handle in a special way, and with segments of 1000 bytes.
fn config() -> Config {
    Config { mss: 1000, timestamps: false, ..Stack::Linux.config() }
}

/// Returns a connection established at 50 ms that has written `bytes` bytes.
fn sending(config: &Config, bytes: u64) -> Script {
    let mut script = Script::new(config);
    script.connect(None);
    script.end.write(Bytes(bytes));
    script
}

/// Returns a sender with more data that sent ten segments at 50 ms.
fn ten_sent() -> Script {
    let mut script = sending(&config(), 100_000);
    script.expect_data(&segments(0, 10));
    script
}

/// Returns a sender without further data that sent ten segments at 50 ms.
fn last_ten_sent() -> Script {
    let mut script = sending(&config(), 10_000);
    script.expect_data(&segments(0, 10));
    script
}

/// Injects an ACK that also echoes a timestamp of `sent_ms`.
fn ack_echoing(script: &mut Script, acked: u32, sent_ms: u32) {
    let template = script.blank();
    let timestamps = template.timestamps.map(|stamps| Timestamps { ecr: sent_ms, ..stamps });
    script.inject(Segment { ack: ISS + 1 + acked, timestamps, ..template });
}

mod reordering {
    use super::*;

    #[test]
    fn an_arrival_within_the_window_is_not_retransmitted() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 2000)]).expect_data(&[(10_000, 1000)]);
        // Sent at 50 ms, lost one RTT and a quarter after that.
        script.expect_timer_in(Span::from_micros(12_500));
        script.at(112).ack(2000).expect_data(&segments(11, 2));
        script.at(130);
        let stats = script.end.stats();
        assert_eq!((stats.retransmissions, stats.fast_retransmits), (0, 0));
    }

    #[test]
    fn a_later_segment_is_retransmitted() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 2000)]).expect_data(&[(10_000, 1000)]);
        script.at(113).expect_data(&[(0, 1000)]);
        assert!(script.end.is_recovering());
        assert_eq!(script.end.ssthresh(), Bytes(5000));
        script.at(163).ack(11_000).expect_cwnd(5000);
        assert_eq!(script.end.stats().timeouts, 0);
    }

    #[test]
    fn three_sacks_above_suffice_before_any_reordering() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 3000)]).expect_data(&segments(10, 2));
        assert!(!script.end.is_recovering());
        script.ack_sack(0, &[(1000, 4000)]).expect_data(&[(0, 1000)]);
        assert!(script.end.is_recovering());
    }

    #[test]
    fn three_sacks_above_do_not_suffice_after_reordering() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 2000)]).ack(2000);
        // Two delivered, and one more because the window was full.
        assert_eq!(script.data_out(), segments(10, 3));
        script.at(101).ack_sack(2000, &[(3000, 8000)]);
        assert!(!script.data_out().contains(&(2000, 1000)));
        // 50 + 51 + 12.5 ms
        script.at(113);
        assert!(!script.end.is_recovering());
        script.at(114);
        assert_eq!(script.data_out()[0], (2000, 1000));
        assert!(script.end.is_recovering());
    }

    #[test]
    fn a_spurious_retransmission_enlarges_the_window() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 2000)]);
        script.at(113);
        script.sent();
        // The original arrived, and then its retransmission.
        script.at(115).ack(2000);
        script.at(165).ack_sack(10_000, &[(0, 1000)]);
        assert_eq!((script.end.stats().dsacks, script.end.stats().reductions_undone), (1, 1));
        assert_eq!(
            script.end.cwnd(),
            Bytes(11_000),
            "the reduction is undone, and the ACK enlarges the window"
        );
        script.sent();
        script.at(215).ack_sack(10_000, &[(11_000, 12_000)]);
        let timer = script.end.next_timeout().map(|at| at - script.now);
        let quarter = script.end.min_rtt().map(|min| Span(min.0 / 4));
        assert!(timer > quarter, "{timer:?} after the arrival instead of {quarter:?}");
    }
}

mod lost_retransmission {
    use super::*;

    #[test]
    fn is_detected_by_later_data() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 4000)]);
        assert_eq!(script.data_out()[0], (0, 1000));
        script.at(101).ack_sack(0, &[(1000, 10_000)]);
        let later = script.data_out();
        assert!(!later.is_empty() && later.iter().all(|(seq, _)| *seq >= 10_000));
        // The retransmission is lost; data sent 1 ms later is not.
        script.at(151).ack_sack(0, &[(1000, 11_000)]);
        assert_eq!(script.data_out()[0], (0, 1000));
        script.at(201).ack(11_000);
        let stats = script.end.stats();
        assert_eq!((stats.retransmissions, stats.fast_retransmits, stats.timeouts), (2, 1, 0));
    }

    #[test]
    fn is_not_detected_by_counting() {
        let loss_detection = airwnd_tcp::stack::LossDetection::Duplicates;
        let mut script = sending(&Config { loss_detection, tail_loss_probe: false, ..config() }, 100_000);
        script.expect_data(&segments(0, 10));
        script.at(100).ack_sack(0, &[(1000, 4000)]);
        assert_eq!(script.data_out()[0], (0, 1000));
        script.at(101).ack_sack(0, &[(1000, 10_000)]);
        script.sent();
        script.at(151).ack_sack(0, &[(1000, 14_000)]);
        assert!(!script.data_out().contains(&(0, 1000)));
    }
}

mod tail {
    use super::*;

    #[test]
    fn is_probed_with_new_data_after_two_rtts() {
        let mut script = ten_sent();
        script.expect_timer_in(Span::from_millis(100));
        script.at(150).expect_data(&[(10_000, 1000)]);
        assert_eq!((script.end.stats().tail_probes, script.end.stats().retransmissions), (1, 0));
        // One probe at a time: the timeout follows 250 ms after the probe.
        script.expect_timer_in(Span::from_millis(250)).at(400).expect_data(&[(0, 1000)]);
        assert_eq!((script.end.stats().tail_probes, script.end.stats().timeouts), (1, 1));
    }

    #[test]
    fn is_probed_with_its_last_segment_without_new_data() {
        let mut script = last_ten_sent();
        script.at(150).expect_data(&[(9000, 1000)]).expect_cwnd(10_000);
    }

    /// 2 SRTT = 100 ms and 200 ms for a delayed ACK of a lone segment, with or without a FIN, but at most the
    /// retransmission timeout of 250 ms.
    #[test]
    fn a_lone_segment_waits_for_a_delayed_ack() {
        for closes in [false, true] {
            let mut script = sending(&config(), 1000);
            if closes {
                script.end.close();
            }
            assert_eq!(script.sent().len(), 1);
            script.expect_timer_in(Span::from_millis(250));
        }
        let mut script = sending(&config(), 100);
        script.sent();
        script.end.write(Bytes(100));
        assert_eq!(script.sent().len(), 1);
        script.expect_timer_in(Span::from_millis(100));
    }

    #[test]
    fn is_repaired_by_fast_recovery() {
        let mut script = last_ten_sent();
        // Seven segments arrive, the last three do not.
        script.at(100).ack(7000).expect_data(&[]).expect_timer_in(Span::from_millis(100));
        script.at(200).expect_data(&[(9000, 1000)]);
        script.at(250).ack_sack(7000, &[(9000, 10_000)]);
        script.expect_data(&[(7000, 1000)]);
        assert!(script.end.is_recovering());
        script.at(300).ack_sack(8000, &[(9000, 10_000)]).expect_data(&[(8000, 1000)]);
        script.at(350).ack(10_000);
        let stats = script.end.stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits, stats.retransmissions), (0, 1, 3));
    }

    #[test]
    fn a_loss_repaired_by_the_probe_reduces_the_window() {
        let mut script = last_ten_sent();
        script.at(100).ack(9000).at(200);
        // One segment is outstanding: 200 ms for a delayed ACK, but the retransmission timeout is earlier.
        script.expect_data(&[]).expect_timer_in(Span::from_millis(150));
        script.at(350).expect_data(&[(9000, 1000)]);
        script.at(400).ack(10_000);
        let before = script.end.cwnd();
        script.end.write(Bytes(1000));
        script.expect_data(&[(10_000, 1000)]);
        script.at(450).ack(11_000);
        assert!(script.end.cwnd() < before, "{} after {before}", script.end.cwnd());
        assert_eq!((script.end.stats().timeouts, script.end.stats().fast_retransmits), (0, 0));
    }

    #[test]
    fn a_probe_of_delivered_data_is_no_loss() {
        let mut script = last_ten_sent();
        script.at(100).ack(9000).at(350);
        script.expect_data(&[(9000, 1000)]);
        // The delayed ACK was lost; the duplicate is reported.
        script.at(400).ack_sack(10_000, &[(9000, 10_000)]);
        let before = script.end.cwnd();
        script.end.write(Bytes(1000));
        script.expect_data(&[(10_000, 1000)]);
        script.at(450).ack(11_000);
        assert!(script.end.cwnd() >= before);
        assert_eq!(script.end.stats().dsacks, 1);
    }

    #[test]
    fn is_not_probed_while_a_gap_is_known() {
        let mut script = last_ten_sent();
        script.at(100).ack_sack(0, &[(1000, 10_000)]);
        assert_eq!(script.data_out(), [(0, 1000)]);
        script.at(340);
        assert_eq!((script.end.stats().tail_probes, script.data_out().len()), (0, 0));
    }
}

mod duplicates {
    use super::*;

    fn block(start: u32, end: u32) -> SackBlock {
        SackBlock { start: IRS + 1 + start, end: IRS + 1 + end }
    }

    fn receiving() -> Script {
        let mut script = Script::new(&config());
        script.connect(None);
        script.sent();
        script
    }

    fn blocks(script: &mut Script) -> SackBlocks {
        script.sent().pop().expect("an ACK at once").sack
    }

    #[test]
    fn are_reported_once_below_the_acknowledgment() {
        let mut script = receiving();
        script.at(100).data(0, 1000).expect_acks(&[1000]);
        script.data(0, 1000);
        assert_eq!(blocks(&mut script), [block(0, 1000), SackBlock::default(), SackBlock::default()]);
        script.data(1000, 1000);
        assert_eq!(blocks(&mut script), SackBlocks::default());
        script.data(1500, 1000);
        assert_eq!(blocks(&mut script)[0], block(1500, 2000), "the duplicate part");
    }

    #[test]
    fn are_reported_before_the_block_that_contains_them() {
        let mut script = receiving();
        script.at(100).data(2000, 1000).data(5000, 1000);
        script.sent();
        script.data(2000, 1000);
        assert_eq!(blocks(&mut script), [block(2000, 3000), block(2000, 3000), block(5000, 6000)]);
        // The ACK of the fourth out-of-order segment is delayed.
        script.data(3000, 1000).at(102);
        assert_eq!(blocks(&mut script), [block(2000, 4000), block(5000, 6000), SackBlock::default()]);
    }

    /// Linux sends three at once, then one per 1.1 ms or at the 45th segment; a segment that fills the gap is
    /// acknowledged at once.
    #[test]
    fn acks_of_out_of_order_segments_are_compressed_from_the_fourth_on() {
        let mut script = receiving();
        let mut sent = Vec::new();
        for place in 1..=50 {
            script.at(100).data(1000 * place, 1000);
            sent.push(script.sent().len());
        }
        let expected: Vec<usize> = (1..=50).map(|place| usize::from(place <= 3 || place == 48)).collect();
        assert_eq!(sent, expected);
        script.expect_timer_in(Span::from_micros(1100));
        script.at(102);
        assert_eq!(blocks(&mut script)[0], block(1000, 51_000));
        script.data(52_000, 1000);
        assert!(script.sent().is_empty());
        script.data(0, 1000);
        assert_eq!(blocks(&mut script)[0], block(52_000, 53_000));
    }

    #[test]
    fn are_not_reported_by_stacks_without_dsack() {
        let mut script = Script::new(&Config { dsack: false, ..config() });
        script.connect(None);
        script.sent();
        script.at(100).data(0, 1000).data(0, 1000);
        assert!(blocks(&mut script)[0].is_empty());
    }

    /// Segment 0 is lost and retransmitted, and the network delivers segment 2, which was sent once, twice: that says
    /// nothing about the retransmission (RFC 3708 §3; Linux tcp_sacktag_one).
    #[test]
    fn of_a_segment_sent_once_do_not_undo_a_reduction() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 4000)]);
        assert_eq!(script.data_out()[0], (0, 1000));
        script.at(101).ack_sack(0, &[(2000, 3000), (1000, 4000)]);
        assert_eq!((script.end.stats().dsacks, script.end.stats().reductions_undone), (1, 0));
        assert!(script.end.is_recovering());
        script.at(150).ack(10_000).expect_cwnd(5000);
        assert_eq!(script.end.stats().reductions_undone, 0);
    }

    /// A D-SACK of the retransmitted segment itself, in flight: above the next gap.
    #[test]
    fn of_a_segment_in_flight_that_was_retransmitted_undo_the_reduction() {
        let mut script = ten_sent();
        script.at(100).ack_sack(0, &[(1000, 4000)]);
        script.sent();
        script.at(101).ack_sack(1000, &[(0, 1000)]);
        assert_eq!(script.end.stats().reductions_undone, 1);
        assert!(!script.end.is_recovering());
    }

    #[test]
    fn made_by_the_network_are_counted_but_disable_undo() {
        let mut script = ten_sent();
        script.at(100).ack_sack(5000, &[(0, 1000)]);
        script.sent();
        assert_eq!(script.end.stats().dsacks, 1);
        script.at(120).ack_sack(5000, &[(6000, 7000)]);
        // No retransmission is involved, so the reordering window is unchanged: sent at 50 ms, 70 ms to the arrival,
        // and 12.5 ms.
        script.expect_timer_in(Span::from_micros(12_500));
    }
}

mod timeout {
    use super::*;

    fn timed_out(config: &Config) -> Script {
        let mut script = sending(&Config { tail_loss_probe: false, ..config.clone() }, 100_000);
        script.expect_data(&segments(0, 10));
        script.at(300).expect_data(&[(0, 1000)]).expect_cwnd(1000);
        script
    }

    #[test]
    fn a_spurious_one_restores_the_window() {
        let mut script = timed_out(&config());
        // The ACKs of the first flight were late. Two new segments are sent instead of old ones.
        script.at(310).ack(1000).expect_data(&segments(10, 2));
        assert!(script.end.is_recovering());
        script.at(311).ack(2000);
        assert!(!script.end.is_recovering());
        let stats = script.end.stats();
        assert_eq!((stats.timeouts, stats.retransmissions, stats.reductions_undone), (1, 1, 1));
        assert!(script.end.cwnd() >= Bytes(10_000), "{}", script.end.cwnd());
        assert!(script.end.ssthresh() > Bytes(1 << 30), "no loss, so ssthresh is unlimited");
        assert!(script.data_out().iter().all(|(seq, _)| *seq >= 12_000), "no retransmissions");
    }

    #[test]
    fn a_genuine_one_does_not_restore_the_window() {
        let mut script = timed_out(&config());
        script.at(350).ack(1000).expect_data(&segments(10, 2));
        // The new data arrives; old data is missing.
        script.at(400).ack_sack(1000, &[(10_000, 11_000)]);
        assert_eq!(script.data_out()[0], (1000, 1000));
        assert!(script.end.is_recovering());
        assert_eq!(script.end.ssthresh(), Bytes(5000));
        assert_eq!(script.end.stats().reductions_undone, 0);
    }

    #[test]
    fn without_sack_two_consecutive_acks_decide() {
        let mut script = timed_out(&Config { sack: false, ..config() });
        script.at(310).ack(1000).expect_data(&segments(10, 2));
        script.at(311).ack(2000);
        assert_eq!(script.end.stats().reductions_undone, 1);
        let mut script = timed_out(&Config { sack: false, ..config() });
        // The ACK covers the head's retransmission and earlier arrivals: no proof.
        script.at(350).ack(4000).expect_data(&segments(10, 2));
        assert!(script.end.is_recovering());
        script.at(400).ack(4000);
        assert_eq!(script.data_out()[0], (4000, 1000));
        assert_eq!(script.end.stats().reductions_undone, 0);
    }

    #[test]
    fn retransmits_lost_segments_at_once_without_new_data() {
        let mut script = sending(&Config { tail_loss_probe: false, ..config() }, 10_000);
        script.expect_data(&segments(0, 10));
        script.at(300).expect_data(&[(0, 1000)]);
        script.at(350).ack(1000).expect_data(&segments(1, 2));
    }

    #[test]
    fn does_not_mark_recent_segments_lost() {
        let mut script = sending(&Config { tail_loss_probe: false, ..config() }, 5000);
        script.expect_data(&segments(0, 5));
        script.at(100).ack(1000).expect_data(&[]);
        script.at(340).end.write(Bytes(1000));
        script.expect_data(&[(5000, 1000)]);
        // The RTT is 50 ms: data sent at 50 ms is late, data sent at 340 ms is not.
        script.at(350).expect_data(&[(1000, 1000)]).expect_cwnd(2000);
        assert_eq!((script.end.stats().timeouts, script.end.in_flight()), (1, Bytes(2000)));
    }

    #[test]
    fn waits_for_the_reordering_timer() {
        let mut script = sending(&Config { tail_loss_probe: false, ..config() }, 100_000);
        script.expect_data(&segments(0, 10));
        script.at(295).ack_sack(0, &[(1000, 2000)]).expect_data(&[(10_000, 1000)]);
        // The retransmission timeout would be at 300 ms; the newest arrival took 245 ms.
        script.expect_timer_in(Span::from_micros(12_500));
        script.at(308).expect_data(&[(0, 1000)]);
        assert_eq!((script.end.stats().timeouts, script.end.stats().fast_retransmits), (0, 1));
    }

    #[test]
    fn doubles_until_the_next_rtt_sample() {
        let mut script = timed_out(&config());
        script.expect_timer_in(Span::from_millis(500)).at(800).expect_data(&[(0, 1000)]);
        script.expect_timer_in(Span::from_millis(1000)).at(1800).expect_data(&[(0, 1000)]);
        assert_eq!(script.end.ssthresh(), Bytes(5000), "unchanged for the same segment");
        assert_eq!(script.end.stats().timeouts, 3);
    }
}

mod timestamps {
    use super::*;

    fn stamped() -> Script {
        let mut script =
            sending(&Config { timestamps: true, frto: false, tail_loss_probe: false, ..config() }, 100_000);
        script.expect_data(&segments(0, 10));
        script
    }

    #[test]
    fn of_the_original_transmission_undo_a_timeout() {
        let mut script = stamped();
        script.at(300).expect_data(&[(0, 1000)]);
        script.at(310);
        ack_echoing(&mut script, 1000, 50);
        assert!(!script.end.is_recovering());
        assert_eq!(script.end.stats().reductions_undone, 1);
        assert!(script.end.cwnd() >= Bytes(10_000));
    }

    /// An ACK that another has overtaken carries the only report of segment 5 (Linux tcp_disordered_ack). One that
    /// acknowledges less than SND.UNA is old.
    #[test]
    fn of_an_overtaken_ack_are_accepted_with_its_blocks() {
        let sacked = |config: &Config| {
            let mut script = sending(&Config { timestamps: true, ..config.clone() }, 100_000);
            script.expect_data(&segments(0, 10));
            script.at(110).ack(1000);
            let late = |script: &Script, acked: u32, val: u32| {
                let mut sack = SackBlocks::default();
                sack[0] = SackBlock { start: ISS + 5001, end: ISS + 6001 };
                let template = script.blank();
                let timestamps = template.timestamps.map(|stamps| Timestamps { val, ..stamps });
                Segment { ack: ISS + 1 + acked, sack, timestamps, ..template }
            };
            // The ACK before left at 1,000,110 ms of the peer's clock.
            let old = late(&script, 0, 1_000_105);
            script.inject(old);
            assert_eq!(script.end.stats().segments_refused, 1);
            let late = late(&script, 1000, 1_000_105);
            script.inject(late);
            script.end.stats().segments_refused
        };
        let linux = config();
        assert_eq!([sacked(&linux), sacked(&Config { accept_late_acks: false, ..linux })], [1, 2]);
    }

    #[test]
    fn of_the_retransmission_do_not_undo_a_timeout() {
        let mut script = stamped();
        script.at(300).expect_data(&[(0, 1000)]);
        script.at(350);
        ack_echoing(&mut script, 1000, 300);
        assert!(script.end.is_recovering());
        assert_eq!(script.end.stats().reductions_undone, 0);
    }

    #[test]
    fn undo_a_fast_recovery() {
        let mut script = stamped();
        script.at(100).ack_sack(0, &[(1000, 4000)]);
        assert_eq!(script.data_out()[0], (0, 1000));
        script.at(102);
        ack_echoing(&mut script, 4000, 50);
        assert!(!script.end.is_recovering());
        assert_eq!(script.end.stats().reductions_undone, 1);
        assert!(script.end.cwnd() >= Bytes(10_000));
    }
}

#[test]
fn d_sacks_of_all_retransmissions_restore_the_window_after_recovery() {
    let mut script = ten_sent();
    script.at(100).ack_sack(0, &[(1000, 4000)]);
    assert_eq!(script.data_out()[0], (0, 1000));
    script.at(101).ack(10_000);
    assert!(!script.end.is_recovering());
    script.expect_cwnd(5000);
    script.sent();
    script.at(150).ack_sack(10_000, &[(0, 1000)]);
    assert_eq!(script.end.stats().reductions_undone, 1);
    script.expect_cwnd(10_000);
}

#[test]
fn a_closed_window_is_probed_after_a_retransmission_timeout() {
    let mut script = Script::new(&config());
    script.connect(None);
    script.ack_window(0, 0);
    script.end.write(Bytes(5000));
    script.expect_data(&[]).expect_timer_in(Span::from_millis(250));
    script.at(300).expect_data(&[(0, 1)]).expect_timer_in(Span::from_millis(500));
}

/// The examples of RFC 9937 §8: twenty segments are in flight and cwnd is twenty.
mod proportional_rate_reduction {
    use super::*;

    fn twenty_sent() -> Script {
        let mut script = sending(&Config { initial_window: 20, ..config() }, 100_000);
        script.expect_data(&segments(0, 20));
        script.at(100);
        script
    }

    /// Figure 1: segment 0 is lost. Two segments by limited transmit, the retransmission, then new data on every second
    /// ACK. In the figure the last but two is sent on ACK 19, when bytes in flight equal ssthresh and §6.2 allows none;
    /// here it is sent on ACK 20.
    #[test]
    fn one_loss_halves_bytes_in_flight_evenly() {
        let mut script = twenty_sent();
        let mut next = 20;
        for number in 1..=21 {
            // The ACKs of the two limited-transmit segments arrive one RTT after these were sent.
            let at = if number < 20 { 100 + number } else { 131 + number };
            script.at(u64::from(at)).ack_sack(0, &[(1000, 1000 * (number + 1))]);
            let expected = match number {
                3 => vec![(0, 1000)],
                1 | 2 => segments(next, 1),
                19 => vec![],
                20 => segments(next, 1),
                _ => segments(next, number % 2),
            };
            next += expected.iter().filter(|(seq, _)| *seq > 0).count() as u32;
            script.expect_data(&expected);
        }
        assert_eq!(script.end.in_flight(), Bytes(10_000));
        script.at(153).ack(22_000).expect_data(&segments(next, 1)).expect_cwnd(10_000);
    }

    /// Figure 2: segments 0 to 14 are lost. Each delivered segment allows one retransmission.
    #[test]
    fn many_losses_are_retransmitted_one_per_delivered_segment() {
        let mut script = twenty_sent();
        script.ack_sack(0, &[(15_000, 16_000)]).expect_data(&segments(20, 1));
        script.ack_sack(0, &[(15_000, 17_000)]).expect_data(&segments(21, 1));
        for number in 0..3 {
            script.ack_sack(0, &[(15_000, 18_000 + 1000 * number)]).expect_data(&segments(number, 1));
            assert_eq!(script.end.in_flight(), Bytes(5000));
        }
        // ACKs of new data allow one more each.
        script.at(150).ack_sack(1000, &[(15_000, 20_000)]).expect_data(&segments(3, 2));
        script.ack_sack(2000, &[(15_000, 20_000)]).expect_data(&segments(5, 2));
    }
}

/// Behaviour expected by the public packetdrill scripts for Linux (google/packetdrill, gtests/net/tcp).
mod as_linux {
    use super::*;

    fn cubic(bytes: u64) -> Script {
        let cubic = cc::Spec::Cubic(cc::cubic::Params::rfc9438());
        let mut script = Script::with(&config(), cubic, support::plain_window(), Seq(0), IRS);
        script.connect(None);
        script.end.write(Bytes(bytes));
        script
    }

    /// fast_recovery/prr-ss-10pkt-lost-1
    #[test]
    fn one_segment_per_delivered_one_while_in_flight_equals_ssthresh() {
        let mut script = cubic(10_000);
        script.expect_data(&segments(0, 10));
        script.at(105).ack_sack(0, &[(1000, 2000)]).at(106).ack_sack(0, &[(1000, 3000)]).expect_data(&[]);
        script.at(107).ack_sack(0, &[(1000, 4000)]).expect_data(&[(0, 1000)]).expect_cwnd(7000);
        assert_eq!(script.end.ssthresh(), Bytes(7000));
        script.end.write(Bytes(7000));
        for arrived in 5..=10 {
            script.at(103 + u64::from(arrived)).ack_sack(0, &[(1000, 1000 * arrived)]);
            script.expect_data(&[(5000 + 1000 * arrived, 1000)]);
        }
        script.at(157).ack(10_000).expect_data(&[(16_000, 1000)]).expect_cwnd(7000);
        assert!(!script.end.is_recovering());
    }

    /// fast_recovery/prr-ss-30pkt-lost1_4
    #[test]
    fn four_losses_are_retransmitted_one_for_one_and_ssthresh_limits_afterwards() {
        let mut script = cubic(10_000);
        script.expect_data(&segments(0, 10));
        script.at(105).ack_sack(0, &[(4000, 5000)]).at(107).ack_sack(0, &[(4000, 6000)]).expect_data(&[]);
        for lost in 0..4 {
            script.ack_sack(0, &[(4000, 7000 + 1000 * lost)]).expect_data(&[(1000 * lost, 1000)]);
        }
        script.at(157);
        for arrived in 1..4 {
            script.ack_sack(1000 * arrived, &[(4000, 10_000)]).expect_data(&[]);
        }
        script.ack(10_000);
        script.end.write(Bytes(10_000));
        script.at(167).expect_data(&segments(10, 7));
    }

    /// fast_retransmit/fr-4pkt-sack
    #[test]
    fn three_sacks_of_four_segments_indicate_a_loss() {
        let mut script = sending(&config(), 4000);
        script.expect_data(&segments(0, 4));
        script.at(100).ack_sack(0, &[(1000, 2000)]).ack_sack(0, &[(1000, 3000)]).expect_data(&[]);
        script.ack_sack(0, &[(1000, 4000)]).expect_data(&[(0, 1000)]);
        script.at(150).ack(4000).expect_data(&[]);
    }

    /// limited_transmit/limited-transmit-sack
    #[test]
    fn the_first_two_sacks_allow_one_segment_each() {
        let mut script = sending(&config(), 15_000);
        script.expect_data(&segments(0, 10));
        script.at(110).ack_sack(0, &[(1000, 2000)]).expect_data(&[(10_000, 1000)]);
        script.at(120).ack_sack(0, &[(1000, 3000)]).expect_data(&[(11_000, 1000)]);
        script.ack(3000);
        assert_eq!(script.data_out(), segments(12, 2));
        script.at(150).ack(5000);
        assert_eq!(script.data_out(), segments(14, 1));
        assert_eq!(script.end.stats().retransmissions, 0);
    }
}
