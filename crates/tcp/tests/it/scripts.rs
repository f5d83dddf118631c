//! Endpoint tests in scripts: time, segment in, segments out.

use crate::support;
use crate::support::script::{IRS, Script, segments};
use airwnd_tcp::segment::{Flags, SackBlock, Timestamps};
use airwnd_tcp::stack::Recovery;
use airwnd_tcp::{Config, Failure, Quirks, Segment, Seq, Stack, State};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU16;

/// As in the RFCs: SACK, no ACK delays that a script would have to consider, an RTO of one second.
fn config() -> Config {
    Config {
        mss: 1000,
        recovery: Recovery::NewReno,
        quirks: Stack::Linux.config().quirks,
        impatient: false,
        quick_acks: 0,
        initial_rto: Span::from_secs(1),
        persist_timeout: Span::from_secs(5),
        ..Stack::Ns3v44.config()
    }
}

fn without_sack() -> Config {
    Config { sack: false, timestamps: false, ..config() }
}

fn established(config: &Config) -> Script {
    let mut script = Script::new(config);
    script.connect(None);
    script
}

/// Returns an established connection with ten segments in flight.
fn ten_sent(config: &Config) -> Script {
    let mut script = established(config);
    script.end.write(Bytes(100_000));
    script.expect_data(&segments(0, 10));
    script
}

mod handshake {
    use super::*;

    #[test]
    fn syn_carries_the_options_and_the_syn_ack_is_acknowledged() {
        let mut script = Script::new(&config());
        script.end.connect();
        let syn = script.sent()[0];
        assert_eq!((syn.flags, syn.seq, syn.space()), (Flags::SYN, Seq(0), 1));
        // 131072 >> 2 is the first value that fits 16 bits.
        assert_eq!((syn.mss.unwrap().get(), syn.window_scale, syn.sack_permitted), (1000, Some(2), true));
        assert_eq!(syn.timestamps, Some(Timestamps { val: 0, ecr: 0 }));
        script.at(50);
        let answer = Segment {
            seq: IRS,
            ack: Seq(1),
            flags: Flags::SYN | Flags::ACK,
            window_scale: Some(7),
            ..script.blank()
        };
        script.inject(answer).expect_acks(&[0]);
        assert_eq!(script.end.state(), State::Established);
        // The window of a SYN is not scaled; the next one is.
        assert_eq!(script.end.peer_window(), Bytes(60_000));
        script.ack(0);
        assert_eq!(script.end.peer_window(), Bytes(60_000 << 7));
        assert_eq!(script.end.srtt(), Some(Span::from_millis(50)));
    }

    #[test]
    fn the_listener_replies_with_the_clients_options_only() {
        let mut script = Script::new(&config());
        script.end.listen();
        let syn = Segment { seq: IRS, flags: Flags::SYN, timestamps: None, ..script.blank() };
        script.inject(syn);
        let answer = script.sent()[0];
        assert_eq!((answer.flags, answer.ack), (Flags::SYN | Flags::ACK, IRS + 1));
        assert_eq!((answer.window_scale, answer.sack_permitted, answer.timestamps), (None, false, None));
        let ack = Segment { timestamps: None, ..script.blank() };
        script.at(10).inject(ack);
        assert_eq!(script.end.state(), State::Established);
    }

    #[test]
    fn syn_is_retransmitted_with_back_off_until_failure() {
        let mut script = Script::new(&Config { max_retries: 2, ..config() });
        script.end.connect();
        script.sent();
        script.expect_timer_in(Span::from_secs(1)).at(1000);
        assert!(script.sent()[0].retransmission);
        script.expect_timer_in(Span::from_secs(2)).at(3000);
        assert_eq!(script.sent().len(), 1);
        script.expect_timer_in(Span::from_secs(4)).at(7000);
        assert_eq!((script.end.state(), script.end.failure()), (State::Closed, Some(Failure::TimedOut)));
    }

    #[test]
    fn simultaneous_open() {
        let mut script = Script::new(&config());
        script.end.connect();
        script.sent();
        let syn = Segment { seq: IRS, flags: Flags::SYN, sack_permitted: true, ..script.blank() };
        script.at(10).inject(syn);
        assert_eq!(script.end.state(), State::SynReceived);
        let answer = script.sent()[0];
        assert_eq!((answer.flags, answer.seq, answer.ack), (Flags::SYN | Flags::ACK, Seq(0), IRS + 1));
        let ack = script.blank();
        script.at(20).inject(ack);
        assert_eq!(script.end.state(), State::Established);
    }

    #[test]
    fn a_reset_ends_the_handshake_and_a_stray_segment_is_reset() {
        let mut script = Script::new(&config());
        script.end.connect();
        script.sent();
        let reset = Segment { seq: Seq(0), ack: Seq(1), flags: Flags::RST | Flags::ACK, ..script.blank() };
        script.inject(reset);
        assert_eq!((script.end.state(), script.end.failure()), (State::Closed, Some(Failure::Reset)));
        let stray = Segment { ack: Seq(77), ..script.blank() };
        script.inject(stray);
        let answer = script.sent()[0];
        assert_eq!((answer.flags, answer.seq), (Flags::RST, Seq(77)));
    }

    #[test]
    fn the_smaller_mss_applies() {
        let mut script = Script::new(&Config { mss: 1460, ..config() });
        script.connect(None);
        script.end.write(Bytes(3000));
        script.expect_data(&segments(0, 3)).expect_cwnd(10_000);
    }
}

mod recovery {
    use super::*;

    #[test]
    fn the_third_duplicate_ack_retransmits_the_head() {
        let mut script = ten_sent(&without_sack());
        script.at(100).ack(0).expect_data(&[(10_000, 1000)]);
        script.ack(0).expect_data(&[(11_000, 1000)]);
        script.ack(0).expect_data(&[(0, 1000)]);
        // ssthresh from 12 segments of which 3 have been delivered: 9 / 2
        assert_eq!(script.end.ssthresh(), Bytes(4500));
        assert!(script.end.is_recovering());
        // 12 sent, 3 delivered, 1 lost and retransmitted: 9 in flight. Each duplicate ACK subtracts one; at 4 one may
        // be sent.
        for _ in 0..4 {
            script.ack(0).expect_data(&[]);
        }
        script.ack(0).expect_data(&[]);
        assert_eq!(script.end.in_flight(), Bytes(4000));
        script.ack(0).expect_data(&[(12_000, 1000)]);
        script.at(150).ack(12_000);
        assert!(!script.end.is_recovering());
        script.expect_cwnd(4500);
    }

    #[test]
    fn without_limited_transmit_two_duplicates_send_nothing() {
        let mut script = ten_sent(&Config { limited_transmit: false, ..without_sack() });
        script.at(100).ack(0).expect_data(&[]);
        script.ack(0).expect_data(&[]);
        script.ack(0).expect_data(&[(0, 1000)]);
        // 10 sent, 3 delivered: 7 / 2
        assert_eq!(script.end.ssthresh(), Bytes(3500));
    }

    #[test]
    fn ssthresh_from_all_outstanding_data_as_in_rfc_5681() {
        let flight = airwnd_tcp::stack::Flight::Outstanding;
        let mut script = ten_sent(&Config { loss_flight: flight, limited_transmit: false, ..without_sack() });
        script.at(100).ack(0).ack(0).ack(0);
        assert_eq!(script.end.ssthresh(), Bytes(5000));
    }

    #[test]
    fn a_partial_ack_retransmits_the_next_hole_and_continues_recovery() {
        let mut script = ten_sent(&without_sack());
        script.at(100).ack(0).ack(0).ack(0);
        assert_eq!(script.data_out()[0], (0, 1000));
        for _ in 0..3 {
            script.ack(0);
        }
        script.sent();
        script.at(150).ack(4000);
        assert_eq!(script.data_out()[0], (4000, 1000));
        assert!(script.end.is_recovering());
        let fast_retransmits = script.end.stats().fast_retransmits;
        assert_eq!(fast_retransmits, 1);
        script.at(200).ack(9000);
        assert!(script.end.is_recovering());
        script.ack(10_000);
        assert!(!script.end.is_recovering(), "all data sent before the loss was detected is acknowledged");
    }

    #[test]
    fn reno_recovery_ends_with_the_first_new_ack() {
        let mut script = ten_sent(&Config { recovery: Recovery::Reno, ..without_sack() });
        script.at(100).ack(0).ack(0).ack(0);
        script.sent();
        script.at(150).ack(4000);
        assert!(!script.end.is_recovering());
        script.expect_cwnd(script.end.ssthresh().0);
    }

    #[test]
    fn sack_retransmits_each_hole_once_as_the_pipe_allows() {
        let mut script = ten_sent(&config());
        // Segments 0 and 4 are lost.
        script.at(100).ack_sack(0, &[(1000, 2000)]).expect_data(&[(10_000, 1000)]);
        script.ack_sack(0, &[(1000, 3000)]).expect_data(&[(11_000, 1000)]);
        script.ack_sack(0, &[(1000, 4000)]).expect_data(&[(0, 1000)]);
        // 12 sent, 3 SACKed, 1 lost: 8 / 2.
        script.expect_cwnd(4000);
        script.ack_sack(0, &[(5000, 6000), (1000, 4000)]).expect_data(&[]);
        script.ack_sack(0, &[(5000, 7000), (1000, 4000)]).expect_data(&[]);
        // The third SACK above segment 4 indicates its loss. 12 sent, 6 SACKed, 2 lost, 1 retransmitted: 5 in flight.
        script.ack_sack(0, &[(5000, 8000), (1000, 4000)]).expect_data(&[]);
        assert_eq!(script.end.in_flight(), Bytes(5000));
        script.ack_sack(0, &[(5000, 9000), (1000, 4000)]).expect_data(&[]);
        script.ack_sack(0, &[(5000, 10_000), (1000, 4000)]).expect_data(&[(4000, 1000)]);
        script.at(150).ack_sack(4000, &[(5000, 10_000)]).expect_data(&[(12_000, 1000)]);
        script.at(200).ack(12_000);
        assert!(!script.end.is_recovering());
        assert_eq!(script.end.stats().retransmissions, 2);
    }

    #[test]
    fn prr_sends_one_segment_per_two_acks_while_reducing() {
        let mut script = ten_sent(&Config { recovery: Recovery::Prr, limited_transmit: true, ..config() });
        script.at(100).ack_sack(0, &[(1000, 2000)]).ack_sack(0, &[(1000, 3000)]);
        script.expect_data(&segments(10, 2));
        script.ack_sack(0, &[(1000, 4000)]).expect_data(&[(0, 1000)]);
        // RecoverFS = 12 - 3 - 1 = 8, ssthresh = 4: from now on every second ACK allows one segment.
        let mut sent = 0;
        for end in 5..=10 {
            script.ack_sack(0, &[(1000, end * 1000)]);
            sent += script.data_out().len();
        }
        // Delivered 1 + 6 = 7 segments: 7 * 4 / 8 = 3.5 may be sent, including the head.
        assert_eq!(sent, 2);
    }

    #[test]
    fn a_second_loss_in_the_same_window_does_not_reduce_again() {
        let mut script = ten_sent(&without_sack());
        script.at(100).ack(0).ack(0).ack(0);
        script.sent();
        script.at(150).ack(5000).ack(5000).ack(5000).ack(5000).ack(5000);
        assert_eq!(script.end.stats().fast_retransmits, 1);
    }
}

mod timeout {
    use super::*;

    #[test]
    fn everything_is_retransmitted_in_slow_start() {
        let mut script = ten_sent(&config());
        script.expect_timer_in(Span::from_secs(1));
        script.at(1050).expect_data(&[(0, 1000)]).expect_cwnd(1000);
        assert_eq!(script.end.ssthresh(), Bytes(5000));
        script.at(1100).ack(1000).expect_cwnd(2000).expect_data(&[(1000, 1000), (2000, 1000)]);
        // The receiver had the other segments.
        script.at(1150).ack(10_000);
        assert_eq!(script.end.stats().timeouts, 1);
        assert_eq!(script.data_out()[0], (10_000, 1000));
    }

    /// ns-3 counts what the ACK covers beyond the recovery point, which here is nothing.
    #[test]
    fn the_ack_of_the_recovery_point_enlarges_no_window_as_in_ns3() {
        for (recount_at_exit, cwnd) in [(true, 1000), (false, 2000)] {
            let quirks = Quirks { recount_at_exit, ..config().quirks };
            let mut script = ten_sent(&Config { quirks, ..config() });
            script.at(1050).expect_data(&[(0, 1000)]);
            script.at(1100).ack(10_000).expect_cwnd(cwnd);
        }
    }

    #[test]
    fn sacked_segments_are_not_retransmitted() {
        let mut script = ten_sent(&config());
        script.at(100).ack_sack(0, &[(2000, 4000)]);
        script.sent();
        script.at(2000).expect_data(&[(0, 1000)]);
        script.at(2050).ack_sack(1000, &[(2000, 4000)]).expect_data(&[(1000, 1000), (4000, 1000)]);
    }

    #[test]
    fn rto_doubles_and_stays_until_a_sample_of_data_sent_once() {
        let mut script = ten_sent(&without_sack());
        script.expect_timer_in(Span::from_secs(1));
        script.at(1050);
        script.sent();
        script.expect_timer_in(Span::from_secs(2)).at(3050);
        script.sent();
        script.expect_timer_in(Span::from_secs(4));
        // ssthresh is kept for the same segment.
        assert_eq!(script.end.ssthresh(), Bytes(5000));
        script.at(3100).ack(1000);
        script.sent();
        assert_eq!(script.end.rto(), Span::from_secs(4), "an ACK of a retransmission is no sample");
        script.at(3200).ack(10_000);
        script.sent();
        script.at(3250).ack(11_000);
        assert_eq!(script.end.rto(), Span::from_secs(1), "an ACK of data sent once is a sample");
    }

    #[test]
    fn too_many_timeouts_abort_the_connection() {
        let mut script = ten_sent(&Config { max_retries: 2, ..config() });
        for at in [1050, 3050, 7050] {
            script.at(at);
            script.sent();
        }
        assert_eq!((script.end.state(), script.end.failure()), (State::Closed, Some(Failure::TimedOut)));
    }

    #[test]
    fn no_fast_retransmit_for_data_retransmitted_after_a_timeout() {
        let mut script = ten_sent(&without_sack());
        script.at(1050);
        script.sent();
        script.at(1100).ack(1000);
        script.sent();
        for _ in 0..5 {
            script.ack(1000);
        }
        assert_eq!(script.end.stats().fast_retransmits, 0);
    }
}

mod window {
    use super::*;

    #[test]
    fn no_byte_exceeds_it() {
        let mut script = established(&config());
        script.ack_window(0, 2500);
        script.end.write(Bytes(10_000));
        // 2500 bytes: two full segments; the rest would be a silly window.
        script.expect_data(&segments(0, 2));
        script.at(100).ack_window(2000, 2500).expect_data(&segments(2, 2));
    }

    #[test]
    fn a_closed_window_is_probed_at_doubling_intervals() {
        let mut script = established(&config());
        script.ack_window(0, 0);
        script.end.write(Bytes(5000));
        script.expect_data(&[]).expect_timer_in(Span::from_secs(5));
        script.at(5050).expect_data(&[(0, 1)]).expect_timer_in(Span::from_secs(10));
        script.at(5100).ack_window(0, 0).expect_data(&[]);
        script.at(15_050).expect_data(&[(0, 1)]);
        assert_eq!(script.end.stats().window_probes, 2);
        // The window opens: all data is sent from the first byte, unaffected by the probe.
        script.at(15_100).ack_window(0, 10_000).expect_data(&segments(0, 5));
        script.at(15_150).ack(5000);
        assert_eq!(script.end.outstanding(), Bytes(0));
        assert_eq!(script.end.next_timeout(), None);
    }

    #[test]
    fn an_accepted_probe_counts_as_sent() {
        let mut script = established(&config());
        script.ack_window(0, 0);
        script.end.write(Bytes(2001));
        script.expect_data(&[]).at(5050).expect_data(&[(0, 1)]);
        script.at(5100).ack_window(1, 10_000).expect_data(&[(1, 1000), (1001, 1000)]);
        assert_eq!(script.end.stats().bytes_sent, Bytes(2001));
    }

    /// The handshake took 50 ms. Without timestamps only the time of transmission gives a sample.
    #[test]
    fn an_accepted_probe_measures_the_rtt_since_it_was_sent() {
        for timestamps in [false, true] {
            let mut script = established(&Config { timestamps, ..config() });
            script.ack_window(0, 0);
            script.end.write(Bytes(2001));
            script.sent();
            script.end.take_rtt_sample();
            script.at(5050).expect_data(&[(0, 1)]);
            script.at(5100).ack_window(1, 10_000);
            assert_eq!(script.end.take_rtt_sample(), Some(Span::from_millis(50)));
            assert_eq!(script.end.min_rtt(), Some(Span::from_millis(50)));
        }
    }

    /// RFC 6298 §3 (Karn): which of two transmissions an ACK belongs to is unknown.
    #[test]
    fn a_probe_that_was_repeated_or_followed_by_data_gives_no_sample() {
        let probing = || {
            let mut script = established(&Config { timestamps: false, ..config() });
            script.ack_window(0, 0);
            script.end.write(Bytes(2001));
            script.sent();
            script.end.take_rtt_sample();
            script.at(5050).expect_data(&[(0, 1)]);
            script
        };
        let mut repeated = probing();
        repeated.at(15_050).expect_data(&[(0, 1)]).at(15_060).ack_window(1, 10_000);
        assert_eq!(repeated.end.take_rtt_sample(), None);
        let mut followed = probing();
        followed.at(5090).ack_window(0, 10_000).expect_data(&[(0, 1000), (1000, 1000), (2000, 1)]);
        followed.at(5100).ack(1);
        assert_eq!(followed.end.take_rtt_sample(), None);
        followed.at(5140).ack(2001);
        assert_eq!(followed.end.take_rtt_sample(), None, "the first byte was sent twice");
    }

    #[test]
    fn a_silly_window_is_used_only_after_the_probe_timeout() {
        let mut script = established(&config());
        script.ack_window(0, 300);
        script.end.write(Bytes(5000));
        script.expect_data(&[]);
        script.at(5050).expect_data(&[(0, 300)]);
        let quirks = Quirks { probe_small_windows: false, ..config().quirks };
        let mut script = established(&Config { quirks, ..config() });
        script.ack_window(0, 300);
        script.end.write(Bytes(5000));
        script.expect_data(&[]);
        assert_eq!(script.end.next_timeout(), None);
    }

    #[test]
    fn nagle_waits_for_the_ack() {
        let mut script = established(&Config { nagle: true, ..config() });
        script.end.write(Bytes(100));
        script.expect_data(&[(0, 100)]);
        script.end.write(Bytes(100));
        script.expect_data(&[]);
        script.at(100).ack(100).expect_data(&[(100, 100)]);
        let mut script = established(&config());
        script.end.write(Bytes(100));
        script.expect_data(&[(0, 100)]);
        script.end.write(Bytes(100));
        script.expect_data(&[(100, 100)]);
    }

    #[test]
    fn an_old_ack_does_not_reduce_it() {
        let mut script = ten_sent(&config());
        script.at(100).ack_window(5000, 60_000);
        script.sent();
        let old = Segment { ack: Seq(1001), window: 100, ..script.blank() };
        script.inject(old);
        assert_eq!(script.end.peer_window(), Bytes(60_000));
    }
}

mod receiver {
    use super::*;

    #[test]
    fn every_second_segment_is_acknowledged_or_after_200_ms() {
        let mut script = established(&config());
        script.expect_acks(&[0]);
        script.at(100).data(0, 1000).expect_acks(&[]).data(1000, 1000).expect_acks(&[2000]);
        script.data(2000, 1000).expect_acks(&[]).expect_timer_in(Span::from_millis(200));
        script.at(300).expect_acks(&[3000]);
    }

    #[test]
    fn outgoing_data_carries_the_ack() {
        let mut script = established(&config());
        script.sent();
        script.at(100).data(0, 1000);
        script.end.write(Bytes(1000));
        let sent = script.sent();
        assert_eq!((sent.len(), sent[0].len, sent[0].ack), (1, 1000, IRS + 1001));
        assert_eq!(script.end.stats().acks_sent, 1, "the ACK of the SYN/ACK");
    }

    #[test]
    fn a_gap_is_reported_at_once_newest_block_first() {
        let mut script = established(&config());
        script.sent();
        let block = |start: u32, end: u32| SackBlock { start: IRS + 1 + start, end: IRS + 1 + end };
        script.at(100).data(1000, 1000);
        assert_eq!(script.sent()[0].sack[0], block(1000, 2000));
        script.data(5000, 1000);
        let ack = script.sent()[0];
        assert_eq!((ack.ack, ack.sack[0], ack.sack[1]), (IRS + 1, block(5000, 6000), block(1000, 2000)));
        script.data(2000, 1000);
        let ack = script.sent()[0];
        assert_eq!((ack.sack[0], ack.sack[1]), (block(1000, 3000), block(5000, 6000)));
        script.data(0, 1000);
        let ack = script.sent()[0];
        assert_eq!((ack.ack, ack.sack[0]), (IRS + 3001, block(5000, 6000)));
        assert!(ack.sack[1].is_empty());
        script.data(0, 1000).expect_acks(&[3000]);
        let stats = script.end.stats();
        assert_eq!((stats.out_of_order_received, stats.segments_refused), (3, 1));
        assert_eq!(stats.bytes_received, Bytes(3000));
    }

    /// Of five blocks ns-3 lists four, and the first reported one does not join data that is no longer listed.
    #[test]
    fn blocks_grow_from_the_list_as_in_ns3() {
        let block = |start: u32, end: u32| SackBlock { start: IRS + 1 + start, end: IRS + 1 + end };
        for (sack_from_list, first) in [(true, block(2000, 4000)), (false, block(1000, 4000))] {
            let quirks = Quirks { sack_from_list, ..config().quirks };
            let mut script = established(&Config { quirks, ..config() });
            script.sent();
            script.at(100);
            for start in [1000, 3000, 5000, 7000, 9000] {
                script.data(start, 1000);
            }
            script.sent();
            script.data(2000, 1000);
            assert_eq!(script.sent()[0].sack, [first, block(9000, 10_000), block(7000, 8000)]);
            // a duplicate changes nothing
            script.data(2000, 1000);
            assert_eq!(script.sent()[0].sack[0], first);
        }
    }

    #[test]
    fn unread_data_closes_the_window_and_a_large_read_opens_it() {
        let mut script = established(&Config { receive_buffer: Bytes(4000), ..config() });
        script.end.read_at_once(false);
        assert_eq!(script.sent()[0].window, 4000);
        script.at(100).data(0, 1000).data(1000, 1000).data(2000, 1000).data(3000, 1000);
        let ack = script.sent().pop().unwrap();
        assert_eq!((ack.ack, ack.window), (IRS + 4001, 0));
        // A probe is refused and acknowledged.
        script.at(200).data(4000, 1).expect_acks(&[4000]);
        assert_eq!(script.end.read(script.now, Bytes(500)), Bytes(500));
        script.expect_acks(&[]);
        assert_eq!(script.end.read(script.now, Bytes(3500)), Bytes(3500));
        let update = script.sent()[0];
        assert_eq!((update.ack, update.window), (IRS + 4001, 4000));
        assert_eq!(script.end.stats().bytes_received, Bytes(4000));
    }

    #[test]
    fn the_echoed_timestamp_is_that_of_the_oldest_unacknowledged_segment() {
        let mut script = established(&config());
        script.sent();
        script.at(100).data(0, 1000);
        script.at(110).data(1000, 1000);
        // RFC 7323 §4.3: the sender's RTT includes the delay of the ACK.
        assert_eq!(script.sent()[0].timestamps.unwrap().ecr, 1_000_100);
        // A segment beyond a gap does not change it; one that fills the gap does.
        script.at(120).data(3000, 1000);
        assert_eq!(script.sent()[0].timestamps.unwrap().ecr, 1_000_100);
        script.at(130).data(2000, 1000);
        assert_eq!(script.sent()[0].timestamps.unwrap().ecr, 1_000_130);
    }

    #[test]
    fn timestamps_wrap_and_old_ones_are_refused() {
        let mut script = established(&Config { delayed_ack_count: 1, ..config() });
        script.sent();
        let stamped = |script: &Script, seq: u32, val: u32| Segment {
            seq: IRS + 1 + seq,
            len: 1000,
            timestamps: Some(Timestamps { val, ecr: 0 }),
            ..script.blank()
        };
        // Forward by almost 2^31 twice, across the wrap, and a little more.
        let first = 1_000_050_u32;
        let values = [0x7fff_0000, 0xfffe_0000, 0xfffe_0007].map(|step| first.wrapping_add(step));
        for (i, val) in values.into_iter().enumerate() {
            let segment = stamped(&script, i as u32 * 1000, val);
            script.inject(segment).expect_acks(&[(i as u32 + 1) * 1000]);
        }
        assert_eq!(script.end.stats().bytes_received, Bytes(3000));
        let old = stamped(&script, 3000, values[2] - 1);
        script.inject(old).expect_acks(&[3000]);
        assert_eq!(script.end.stats().segments_refused, 1);
    }
}

mod close {
    use super::*;

    #[test]
    fn actively_through_fin_wait_to_time_wait() {
        let mut script = established(&config());
        script.end.write(Bytes(1000));
        script.end.close();
        let sent = script.sent();
        assert_eq!((sent.len(), sent[0].len), (1, 1000));
        assert!(sent[0].flags.has(Flags::FIN), "the last data carries the FIN");
        assert_eq!(script.end.state(), State::FinWait1);
        script.at(100).ack(1001);
        assert_eq!(script.end.state(), State::FinWait2);
        assert_eq!(script.end.next_timeout(), None);
        script.data(0, 1000).at(150).fin(1000).expect_acks(&[1001]);
        assert_eq!(script.end.state(), State::TimeWait);
        script.expect_timer_in(Span::from_secs(240));
        // A retransmitted FIN is acknowledged and restarts the wait.
        script.at(1000).fin(1000).expect_acks(&[1001]).expect_timer_in(Span::from_secs(240));
        script.at(241_000);
        assert_eq!((script.end.state(), script.end.failure()), (State::Closed, None));
    }

    #[test]
    fn passively_through_close_wait_to_last_ack() {
        let mut script = established(&config());
        script.sent();
        script.at(100).fin(0).expect_acks(&[1]);
        assert_eq!(script.end.state(), State::CloseWait);
        script.end.write(Bytes(1000));
        script.expect_data(&[(0, 1000)]);
        script.end.close();
        let fin = script.sent()[0];
        assert_eq!((fin.flags, fin.len, fin.seq), (Flags::ACK | Flags::FIN, 0, Seq(1001)));
        assert_eq!(script.end.state(), State::LastAck);
        let last = Segment { seq: IRS + 2, ack: Seq(1002), ..script.blank() };
        script.at(150).inject(last);
        assert_eq!(script.end.state(), State::Closed);
    }

    #[test]
    fn simultaneously() {
        let mut script = established(&config());
        script.sent();
        script.end.close();
        script.sent();
        script.at(100).fin(0).expect_acks(&[1]);
        assert_eq!(script.end.state(), State::Closing);
        let last = Segment { seq: IRS + 2, ack: Seq(2), ..script.blank() };
        script.inject(last);
        assert_eq!(script.end.state(), State::TimeWait);
    }

    #[test]
    fn a_lost_fin_is_retransmitted() {
        let mut script = established(&config());
        script.sent();
        script.end.close();
        script.sent();
        script.at(1050);
        let fin = script.sent()[0];
        assert!(fin.flags.has(Flags::FIN) && fin.retransmission);
    }

    #[test]
    fn a_fin_beyond_a_gap_waits() {
        let mut script = established(&config());
        script.sent();
        script.at(100).fin(1000);
        script.sent();
        assert_eq!(script.end.state(), State::Established);
        script.data(0, 1000).expect_acks(&[1001]);
        assert_eq!(script.end.state(), State::CloseWait);
    }

    #[test]
    fn a_reset_must_match_rcv_nxt() {
        let mut script = established(&config());
        script.sent();
        let blind = Segment { seq: IRS + 100, flags: Flags::RST, ..script.blank() };
        script.inject(blind).expect_acks(&[0]);
        assert_eq!(script.end.state(), State::Established);
        let exact = Segment { flags: Flags::RST, ..script.blank() };
        script.inject(exact);
        assert_eq!((script.end.state(), script.end.failure()), (State::Closed, Some(Failure::Reset)));
    }

    #[test]
    fn abort_resets() {
        let mut script = established(&config());
        script.sent();
        script.end.abort();
        assert!(script.sent()[0].flags.has(Flags::RST));
        assert_eq!(script.end.state(), State::Closed);
    }
}

#[test]
fn sequence_numbers_wrap_during_recovery() {
    let mut script =
        Script::with(&config(), support::newreno(), support::plain_window(), Seq(u32::MAX - 3000), IRS);
    script.connect(None);
    script.end.write(Bytes(100_000));
    script.expect_data(&segments(0, 10));
    script.at(100).ack_sack(1000, &[(2000, 5000)]);
    assert_eq!(script.data_out()[0], (1000, 1000));
    script.at(150).ack(10_000);
    assert!(!script.end.is_recovering() || script.end.outstanding() > Bytes(0));
    assert_eq!(script.end.stats().bytes_acked, Bytes(10_000));
}

/// Use of the congestion window with Linux's rules. The peer acknowledges pairs of segments; one segment has 1000 B.
mod window_use {
    use super::*;
    use airwnd_tcp::cc;

    fn linux() -> Config {
        Config {
            mss: 1000,
            send_buffer_autotuning: false,
            timestamps: false,
            tail_loss_probe: false,
            ..Stack::Linux.config()
        }
    }

    /// A server with CUBIC whose slow start ends at ssthresh only; the handshake takes 100 ms.
    fn with_cubic(config: &Config) -> Script {
        let slow_start = cc::slow_start::Spec::Standard(Default::default());
        let cubic = cc::Spec::Cubic(cc::cubic::Params { slow_start, ..cc::cubic::Params::default() });
        let mut script = Script::with(config, cubic, support::plain_window(), Seq(0), IRS);
        script.end.listen();
        let syn = Segment {
            seq: IRS,
            flags: Flags::SYN,
            mss: NonZeroU16::new(1000),
            sack_permitted: true,
            window_scale: Some(10),
            ..script.blank()
        };
        script.inject(syn).sent();
        script.at(100).ack_window(0, 514);
        script
    }

    /// Writes a burst and acknowledges it in pairs, the first after 100 ms; returns cwnd in segments after each ACK.
    fn burst(script: &mut Script, acked: &mut u32, segments: u32) -> Vec<u64> {
        let end = *acked + segments;
        script.end.write(Bytes(1000 * u64::from(segments)));
        script.sent();
        let later = script.now.0 / 1_000_000 + 100;
        script.at(later);
        let mut windows = Vec::new();
        while *acked < end {
            *acked = (*acked + 2).min(end);
            script.ack(1000 * *acked).sent();
            windows.push(script.end.cwnd().0 / 1000);
        }
        windows
    }

    /// Google packetdrill, slow-start-app-limited, slow-start-app-limited-9-packets-out and
    /// slow-start-ack-per-2pkt-send-6pkt and -5pkt.
    #[test]
    fn a_burst_that_fills_the_window_doubles_it_and_a_smaller_one_doubles_itself() {
        assert_eq!(burst(&mut with_cubic(&linux()), &mut 0, 10), [12, 14, 16, 18, 20]);
        assert_eq!(burst(&mut with_cubic(&linux()), &mut 0, 9), [12, 14, 16, 18, 18]);
        assert_eq!(burst(&mut with_cubic(&linux()), &mut 0, 6), [12, 12, 12]);
        assert_eq!(burst(&mut with_cubic(&linux()), &mut 0, 5), [10, 10, 10]);
    }

    /// The window after a transfer of 9 segments that ends with a FIN is that of 9 segments.
    #[test]
    fn a_fin_takes_no_room() {
        let mut script = with_cubic(&linux());
        script.end.write(Bytes(9000));
        script.end.close();
        assert!(script.sent()[8].flags.has(Flags::FIN));
        script.at(200);
        for acked in [2000, 4000, 6000, 8000, 9001] {
            script.ack(acked);
        }
        script.expect_cwnd(18_000);
    }

    /// Bursts on one connection, as measured with Linux 6.18.44 and CUBIC over `airwnd link`.
    #[test]
    fn bursts_grow_the_window_as_in_linux() {
        let (mut script, mut acked) = (with_cubic(&linux()), 0);
        let after = [9, 18, 40].map(|segments| burst(&mut script, &mut acked, segments).pop());
        assert_eq!(after, [Some(18), Some(36), Some(76)]);
    }

    /// Returns a sender with nothing outstanding, after bursts.
    fn grown_by(config: &Config, bursts: &[u32]) -> Script {
        let (mut script, mut acked) = (with_cubic(config), 0);
        for &segments in bursts {
            burst(&mut script, &mut acked, segments);
        }
        script
    }

    /// Writes a burst after a pause of `percent` of the retransmission timeout; returns cwnd and ssthresh in segments.
    fn after_pause(mut script: Script, percent: u64) -> (u64, Option<u64>) {
        // The last data was sent 100 ms before its ACK.
        let sent_at = script.now.0 - 100_000_000;
        let rto = script.end.rto().0;
        script.at_time(Time(sent_at + rto / 100 * percent)).end.write(Bytes(30_000));
        script.sent();
        let ssthresh = Some(script.end.ssthresh().0).filter(|bytes| *bytes < u64::MAX);
        (script.end.cwnd().0 / 1000, ssthresh.map(|bytes| bytes / 1000))
    }

    #[test]
    fn an_idle_time_halves_the_window_once_for_each_timeout() {
        let windows = [99, 150, 250, 900].map(|percent| after_pause(grown_by(&linux(), &[10, 20]), percent));
        assert_eq!(windows, [(40, None), (20, None), (10, None), (10, None)]);
    }

    /// Google packetdrill, slow-start-after-idle: 26 segments, a window of 36, and a pause of 2 s.
    #[test]
    fn a_long_idle_time_leaves_the_initial_window() {
        let mut script = grown_by(&linux(), &[26]);
        script.expect_cwnd(36_000);
        script.at(2300).end.write(Bytes(20_000));
        assert_eq!(script.data_out().len(), 10);
        script.expect_cwnd(10_000);
    }

    /// As measured with bursts of 30 segments in Linux 6.18.44: 59 segments become 29.
    #[test]
    fn a_restart_counts_whole_segments() {
        assert_eq!(after_pause(grown_by(&linux(), &[49]), 150), (29, None));
    }

    #[test]
    fn a_restart_remembers_three_quarters_of_the_window() {
        let config = Config { initial_ssthresh: Some(Bytes(40_000)), ..linux() };
        let grown = |config: &Config| grown_by(config, &[60; 30]);
        let cwnd = grown(&config).end.cwnd().0 / 1000;
        assert!(cwnd / 2 + cwnd / 4 > 40, "{cwnd} segments");
        assert_eq!(after_pause(grown(&config), 150), (cwnd / 2, Some(cwnd / 2 + cwnd / 4)));
        let at_once = Config { restart_by_halving: false, ..config };
        assert_eq!(after_pause(grown(&at_once), 150), (10, Some(40)));
    }

    /// Google packetdrill, cubic-bulk-166k-idle-restart, which has no restart: the pause of 4 s is no time of the cubic
    /// function. Its fq queue paces the burst after the pause, so that the window grows one segment later there (after 30
    /// and 40 pairs).
    #[test]
    fn idle_time_does_not_advance_the_cubic_function() {
        let initial_ssthresh = Some(Bytes(48_000));
        let mut script = with_cubic(&Config { initial_ssthresh, restart_after_idle: false, ..linux() });
        let mut windows = vec![10];
        let mut acknowledge = |script: &mut Script, pairs: std::ops::RangeInclusive<u32>, start_ms: u64| {
            for (round, pair) in pairs.enumerate() {
                script.at(start_ms + 100 * round as u64).ack(2000 * pair).sent();
                windows.push(script.end.cwnd().0 / 1000);
            }
        };
        script.end.write(Bytes(40_000));
        script.sent();
        acknowledge(&mut script, 1..=20, 200);
        script.at(6100).end.write(Bytes(160_000));
        script.sent();
        acknowledge(&mut script, 21..=60, 6200);
        assert_eq!([5, 10, 15, 19, 50, 60].map(|pair| windows[pair]), [20, 30, 40, 48, 52, 58]);
    }

    /// The application cannot write while data waits for the receiver's window, so Linux does not restart.
    #[test]
    fn waiting_for_the_receivers_window_is_not_idleness() {
        for (restart_by_halving, cwnd) in [(true, 20_000), (false, 10_000)] {
            let mut script = with_cubic(&Config { restart_by_halving, ..linux() });
            script.end.write(Bytes(30_000));
            script.sent();
            script.at(200).ack_window(10_000, 0).sent();
            script.at(5000).ack_window(10_000, 514).sent();
            script.expect_cwnd(cwnd);
        }
    }

    /// Google packetdrill, cubic-bulk-166k: two of 400 segments are acknowledged every 100 ms, from an ssthresh of 48
    /// segments on. All are sent when cwnd is at 133.
    #[test]
    fn cubic_grows_on_when_the_last_of_a_full_window_is_sent() {
        let mut script = with_cubic(&Config { initial_ssthresh: Some(Bytes(48_000)), ..linux() });
        script.end.write(Bytes(400_000));
        script.sent();
        let mut windows = vec![10];
        for pair in 1..=200 {
            script.at(100 + 100 * u64::from(pair)).ack(2000 * pair).sent();
            windows.push(script.end.cwnd().0 / 1000);
        }
        assert_eq!(
            [5, 10, 15, 19, 30, 40, 50, 60].map(|pair| windows[pair]),
            [20, 30, 40, 48, 49, 50, 52, 58]
        );
        for pair in 61..=200 {
            assert_eq!(windows[pair], windows[pair - 1] + 1, "after {pair} pairs");
        }
        assert_eq!(windows[200], 198);
    }
}
