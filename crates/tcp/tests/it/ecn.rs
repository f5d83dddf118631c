//! Explicit congestion notification in scripts: time, segment in, segments out.

use crate::support::script::{IRS, Script, segments};
use airwnd_tcp::segment::{Codepoint, Flags};
use airwnd_tcp::stack::{Ecn, Recovery};
use airwnd_tcp::{Config, Segment, Stack};
use airwnd_units::{Bytes, Span};

const ECN_SETUP: Flags = Flags(0xc0);
const ACCURATE: Flags = Flags(0x1c0);

fn config(ecn: Ecn) -> Config {
    Config {
        mss: 1000,
        recovery: Recovery::NewReno,
        quirks: Stack::Linux.config().quirks,
        quick_acks: 0,
        initial_rto: Span::from_secs(1),
        ecn,
        ..Stack::Ns3v44.config()
    }
}

/// Returns a client whose peer replies with these bits.
fn client(ecn: Ecn, request: Flags, reply: Flags) -> Script {
    let mut script = Script::new(&config(ecn));
    script.connect_with(None, request, reply);
    script
}

/// Returns a client that has written 100 segments, ten of which fit the window.
fn sending(ecn: Ecn, request: Flags, reply: Flags) -> Script {
    let mut script = client(ecn, request, reply);
    script.end.write(Bytes(100_000));
    script
}

/// Injects an ACK of `acked` bytes with ECN bits.
fn ack(script: &mut Script, acked: u32, congestion: Flags) {
    let template = script.blank();
    let ack = template.ack + acked;
    script.inject(Segment { ack, flags: Flags::ACK | congestion, ..template });
}

/// Injects data from the peer with an ECN field and control bits.
fn data(script: &mut Script, number: u32, ecn: Codepoint, bits: Flags) {
    let seq = IRS + 1 + number * 1000;
    let template = script.blank();
    script.inject(Segment { seq, len: 1000, ecn, flags: Flags::ACK | bits, ..template });
}

fn congestion_bits(segment: &Segment) -> Flags {
    Flags::from_ace(segment.flags.ace())
}

mod handshake {
    use super::*;

    fn answer_to(ecn: Ecn, request: Flags) -> Flags {
        let mut script = Script::new(&config(ecn));
        script.end.listen();
        let syn = Segment { seq: IRS, flags: Flags::SYN | request, ..script.blank() };
        script.inject(syn);
        let answer = script.sent()[0];
        assert_eq!(answer.ecn, Codepoint::NotEct);
        congestion_bits(&answer)
    }

    /// RFC 3168 §6.1.1, RFC 9768 Table 2.
    #[test]
    fn a_listener_agrees_to_the_best_common_mode() {
        let nothing = Flags::default();
        for (ours, request, answer) in [
            (Ecn::Off, ECN_SETUP, nothing),
            (Ecn::Classic, nothing, nothing),
            (Ecn::Classic, ECN_SETUP, Flags::ECE),
            (Ecn::Classic, ACCURATE, Flags::ECE),
            (Ecn::Dctcp, ECN_SETUP, Flags::ECE),
            (Ecn::Accurate, ECN_SETUP, Flags::ECE),
            (Ecn::Accurate, ACCURATE, Flags::CWR),
        ] {
            assert_eq!(answer_to(ours, request), answer, "{ours:?} after a request {request:?}");
        }
    }

    #[test]
    fn a_client_sends_ecn_capable_packets_only_after_agreement() {
        for (ecn, request, reply, sent) in [
            (Ecn::Off, Flags::default(), Flags::ECE, Codepoint::NotEct),
            (Ecn::Classic, ECN_SETUP, Flags::default(), Codepoint::NotEct),
            (Ecn::Classic, ECN_SETUP, Flags::ECE, Codepoint::Ect0),
            // The peer echoes the request: it does not support ECN.
            (Ecn::Classic, ECN_SETUP, ECN_SETUP, Codepoint::NotEct),
            (Ecn::Dctcp, ECN_SETUP, Flags::ECE, Codepoint::Ect0),
            (Ecn::Accurate, ACCURATE, Flags::CWR, Codepoint::Ect0),
            (Ecn::Accurate, ACCURATE, Flags::ECE, Codepoint::Ect0),
            (Ecn::Accurate, ACCURATE, ACCURATE, Codepoint::NotEct),
        ] {
            let mut script = sending(ecn, request, reply);
            let first = script.sent();
            let data: Vec<&Segment> = first.iter().filter(|segment| segment.len > 0).collect();
            assert!(data.len() == 10 && data.iter().all(|segment| segment.ecn == sent), "{ecn:?}: {data:?}");
        }
    }

    /// RFC 3168 §6.1.1.1: a middlebox may drop packets with ECN bits.
    #[test]
    fn a_retransmitted_syn_has_no_ecn_request() {
        let mut script = Script::new(&config(Ecn::Accurate));
        script.end.connect();
        assert_eq!(script.sent()[0].flags, Flags::SYN | ACCURATE);
        script.at(1000);
        assert_eq!(script.sent()[0].flags, Flags::SYN);
    }

    /// RFC 9768 §3.2.2.1: the ACK of the SYN/ACK echoes its ECN field; later ACKs count from 5.
    #[test]
    fn the_first_ack_echoes_the_ecn_field_of_the_syn_ack() {
        let mut script = client(Ecn::Accurate, ACCURATE, Flags::CWR);
        assert_eq!(script.sent()[0].flags.ace(), 0b010);
        data(&mut script, 0, Codepoint::Ect0, Flags::default());
        data(&mut script, 1, Codepoint::Ect0, Flags::default());
        assert_eq!(script.sent()[0].flags.ace(), 5);
    }
}

mod classic {
    use super::*;

    fn ten_sent() -> Script {
        let mut script = sending(Ecn::Classic, ECN_SETUP, Flags::ECE);
        script.expect_data(&segments(0, 10));
        script
    }

    /// RFC 3168 §6.1.2: the window is halved once; CWR is on the next new segment only.
    #[test]
    fn an_echo_halves_the_window_once_per_rtt() {
        let mut script = ten_sent();
        script.at(50);
        ack(&mut script, 1000, Flags::ECE);
        // Half of the nine segments left in flight.
        script.expect_cwnd(4500);
        for acked in [2000, 3000, 4000, 5000] {
            ack(&mut script, acked, Flags::ECE);
        }
        // ACKs with ECE cause no growth, and nothing is sent while more than the window is in flight.
        script.expect_cwnd(4500).expect_data(&[]);
        for (acked, cwr) in [(7000, true), (8000, false)] {
            ack(&mut script, acked, Flags::ECE);
            let sent: Vec<bool> = script.sent().iter().map(|segment| segment.flags.has(Flags::CWR)).collect();
            assert_eq!(sent, [cwr]);
        }
        assert_eq!(script.end.stats().ecn_reductions, 1);
        // Data sent after the reduction encounters congestion again.
        script.at(100);
        ack(&mut script, 11_000, Flags::ECE);
        assert_eq!(script.end.stats().ecn_reductions, 2);
        script.expect_cwnd(2000);
    }

    /// RFC 3168 §6.1.3: ECE until CWR is received; a mark on the segment with CWR sets ECE again.
    #[test]
    fn the_receiver_sets_ece_until_it_receives_cwr() {
        let mut script = client(Ecn::Classic, ECN_SETUP, Flags::ECE);
        script.sent();
        let none = Flags::default();
        for (number, ecn, bits, echoed) in [
            (0, Codepoint::Ect0, none, false),
            (2, Codepoint::Ce, none, true),
            (4, Codepoint::Ect0, none, true),
            (6, Codepoint::Ect0, Flags::CWR, false),
            (8, Codepoint::Ce, Flags::CWR, true),
        ] {
            data(&mut script, number, ecn, bits);
            data(&mut script, number + 1, Codepoint::Ect0, none);
            let acks = script.sent();
            assert_eq!(acks.len(), 1, "a mark triggers no additional ACK");
            assert_eq!(acks[0].flags.has(Flags::ECE), echoed, "after segment {number}");
        }
        assert_eq!(script.end.stats().marked_received, 2);
    }

    /// RFC 3168 §6.1.5; a loss and marks in one window cause one reduction (§6.1.2).
    #[test]
    fn retransmissions_are_not_ecn_capable_and_loss_and_marks_reduce_once() {
        let mut script = ten_sent();
        script.at(50);
        for blocks in [[(1000, 2000)], [(1000, 3000)], [(1000, 4000)]] {
            script.ack_sack(0, &blocks);
        }
        let retransmission = script.sent()[0];
        assert_eq!((retransmission.retransmission, retransmission.ecn), (true, Codepoint::NotEct));
        let before = script.end.ssthresh();
        ack(&mut script, 4000, Flags::ECE);
        assert_eq!((script.end.stats().ecn_reductions, script.end.ssthresh()), (0, before));
    }

    #[test]
    fn segments_without_data_are_not_ecn_capable() {
        let mut script = ten_sent();
        script.at(50);
        data(&mut script, 0, Codepoint::Ect0, Flags::default());
        data(&mut script, 1, Codepoint::Ect0, Flags::default());
        let acks = script.sent();
        assert!(acks.iter().all(|segment| segment.len == 0 && segment.ecn == Codepoint::NotEct));
    }
}

mod dctcp {
    use super::*;

    /// RFC 8257 §3.2: a state change triggers a separate ACK of the earlier data.
    #[test]
    fn each_ack_reports_whether_its_data_was_marked() {
        let mut script = client(Ecn::Dctcp, ECN_SETUP, Flags::ECE);
        script.sent();
        data(&mut script, 0, Codepoint::Ect0, Flags::default());
        script.expect_acks(&[]);
        data(&mut script, 1, Codepoint::Ce, Flags::default());
        let acks = script.sent();
        let first_byte = IRS + 1;
        let report = |segment: &Segment| (segment.ack - first_byte, segment.flags.has(Flags::ECE));
        assert_eq!(acks.iter().map(report).collect::<Vec<_>>(), [(1000, false)]);
        data(&mut script, 2, Codepoint::Ce, Flags::default());
        assert_eq!(script.sent().iter().map(report).collect::<Vec<_>>(), [(3000, true)]);
        data(&mut script, 3, Codepoint::Ce, Flags::default());
        data(&mut script, 4, Codepoint::Ect0, Flags::default());
        assert_eq!(script.sent().iter().map(report).collect::<Vec<_>>(), [(4000, true)]);
    }
}

mod accurate {
    use super::*;

    fn ten_sent() -> Script {
        let mut script = sending(Ecn::Accurate, ACCURATE, Flags::CWR);
        script.expect_data(&segments(0, 10));
        script
    }

    /// RFC 9768 §3.2.2.5.1: an ACK at the first mark after unmarked data, and at every second mark.
    #[test]
    fn marks_trigger_acks_and_are_counted() {
        let mut script = client(Ecn::Accurate, ACCURATE, Flags::CWR);
        script.sent();
        let mut counts = Vec::new();
        for (number, ecn) in (0..).zip([
            Codepoint::Ce,
            Codepoint::Ce,
            Codepoint::Ce,
            Codepoint::Ect0,
            Codepoint::Ce,
            Codepoint::Ect0,
            Codepoint::Ect0,
        ]) {
            data(&mut script, number, ecn, Flags::default());
            counts.push(script.sent().first().map(|ack| ack.flags.ace()));
        }
        assert_eq!(counts, [Some(6), None, Some(0), None, Some(1), None, Some(1)]);
    }

    #[test]
    fn a_wrapped_count_is_decoded() {
        let mut script = ten_sent();
        script.at(50);
        // Five marks so far: the peer counts 5 + 5 = 10, and the field says 2.
        for (acked, count) in [(1000, 6), (3000, 0), (5000, 2)] {
            ack(&mut script, acked, Flags::from_ace(count));
        }
        assert_eq!(script.end.stats().ecn_reductions, 1, "once per window of data");
        ack(&mut script, 6000, Flags::from_ace(2));
        assert_eq!(script.end.stats().ecn_reductions, 1, "no new marks");
    }

    /// An old count on an ACK without progress is not interpreted as seven marks.
    #[test]
    fn an_ack_without_progress_reports_no_marks() {
        let mut script = ten_sent();
        script.at(50);
        ack(&mut script, 5000, Flags::from_ace(6));
        script.at(150);
        ack(&mut script, 10_000, Flags::from_ace(6));
        let before = script.end.stats().ecn_reductions;
        ack(&mut script, 10_000, Flags::from_ace(5));
        assert_eq!(script.end.stats().ecn_reductions, before);
    }
}
