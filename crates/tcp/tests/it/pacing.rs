//! Pacing: transmission times of segments, in scripts and over a path.

use crate::support::script::{Script, segments};
use airwnd_tcp::stack::Pacing;
use airwnd_tcp::{Config, Stack};
use airwnd_units::{Bytes, Span, Time};

fn config(pacing: Pacing) -> Config {
    Config { mss: 1000, initial_rto: Span::from_secs(1), pacing, ..Stack::Ns3v44.config() }
}

/// In slow start pacing is at two windows per RTT: ten segments of a window, one per 50 ms / 2 / 10.
#[test]
fn a_window_is_spread_over_the_rtt() {
    let mut script = Script::new(&config(Pacing::Always));
    script.connect(None);
    script.end.write(Bytes(100_000));
    for number in 0..10 {
        script.expect_data(&segments(number, 1));
        if number < 9 {
            script.expect_timer_in(Span::from_micros(2500));
            let next = script.now + Span::from_micros(2500);
            script.at_time(next);
        }
    }
    // The window is full: the timer is the earliest of ACK, retransmission timeout, and pacing of the last segment.
    script.expect_data(&[]);
}

#[test]
fn without_pacing_the_window_is_sent_at_once() {
    for pacing in [Pacing::Never, Pacing::AsAsked] {
        let mut script = Script::new(&config(pacing));
        script.connect(None);
        script.end.write(Bytes(100_000));
        script.expect_data(&segments(0, 10));
    }
}

/// The eleventh segment, which waits for an ACK, is late by more than half an interval of 50 ms / 2 / 20; later ones are
/// punctual.
#[test]
fn a_late_segment_shortens_the_next_wait_by_half_at_most() {
    for (pacing_credit, first_wait_us) in [(true, 625), (false, 1250)] {
        let mut script = Script::new(&Config { pacing_credit, ..config(Pacing::Always) });
        script.connect(None);
        script.end.write(Bytes(100_000));
        for number in 0..10 {
            script.at_time(Time(50_000_000 + 2_500_000 * number)).expect_data(&segments(number as u32, 1));
        }
        script.at(100);
        for acked in 1..=10 {
            script.ack(1000 * acked);
        }
        script.expect_cwnd(20_000).expect_data(&segments(10, 1));
        script.expect_timer_in(Span::from_micros(first_wait_us));
        let next = script.now + Span::from_micros(first_wait_us);
        script.at_time(next).expect_data(&segments(11, 1)).expect_timer_in(Span::from_micros(1250));
    }
}

/// A timeout expires while segments wait for pacing: the retransmission waits, too, and is not lost.
#[test]
fn a_retransmission_is_paced() {
    let mut script = Script::new(&config(Pacing::Always));
    script.connect(None);
    script.end.write(Bytes(10_000));
    let mut sent = script.sent().len();
    while sent < 10 {
        let due = script.end.next_timeout().expect("a segment is waiting");
        script.at_time(due);
        sent += script.sent().len();
    }
    script.at_time(Time(3_000_000_000));
    script.expect_data(&segments(0, 1));
    assert_eq!(script.end.stats().timeouts, 1);
}
