//! The round-trip time that a receiver sees, where the true one is known.

use crate::support::{Link, Net, newreno};
use airwnd_tcp::{Config, Stack, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Segments that the receiver's window has room for.
const WINDOW: u64 = 20;
/// The way there and back, and the time of 1054 B and of an acknowledgment of 54 B on a link of 40 Mbit/s.
const TRUE_MS: f64 = 50.0 + 0.2108 + 0.0108;

const TICKS: [Option<Span>; 4] =
    [Some(Span::from_micros(100)), Some(Span::from_millis(1)), Some(Span::from_millis(10)), None];

fn config(tick: Option<Span>, delayed_ack_count: u32) -> Config {
    Config {
        mss: 1000,
        receive_buffer: Bytes(1 << 20),
        send_buffer: Bytes(1 << 20),
        timestamps: tick.is_some(),
        timestamp_tick: tick.unwrap_or(Span::from_millis(1)),
        delayed_ack_count,
        delayed_ack_timeout: Span::from_millis(40),
        ..Stack::Ns3v44.config()
    }
}

/// Mean of the receiver's round-trip time over 10 s, and its least and greatest values, in ms.
fn seen(config: &Config, mut write: impl FnMut(&mut Net)) -> (f64, f64, f64) {
    let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params { limit: Some(Bytes(WINDOW * 1000)) });
    let link = || Link::new(BitRate(40_000_000), Span::from_millis(25), 1000);
    let mut net = Net::new(config, &newreno(), &rwnd, [link(), link()]);
    net.open();
    let (mut sum, mut least, mut most) = (0.0, f64::INFINITY, 0.0);
    for at_ms in 0..11_000 {
        net.run_until(Time(at_ms * 1_000_000));
        write(&mut net);
        net.pump(0);
        if at_ms >= 1000 {
            let rtt = net.ends[1].receiver_rtt().unwrap().as_millis();
            sum += rtt;
            least = f64::min(least, rtt);
            most = f64::max(most, rtt);
        }
    }
    (sum / 10_000.0, least, most)
}

/// RFC 9840 §4.2.1: a receiver that sends no data must have its TSvals differ. Ours are read from a clock that goes on, and
/// so each acknowledgment after a tick begins a sample: some in a round trip at least.
#[test]
fn acknowledgments_carry_a_new_timestamp_each_tick() {
    for tick in [Span::from_millis(1), Span::from_millis(10)] {
        let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params::default());
        let wire = || Link::new(BitRate(40_000_000), Span::from_millis(25), 1000);
        let (told, heard) = (Rc::new(RefCell::new(BTreeSet::new())), Rc::new(RefCell::new(BTreeSet::new())));
        let (acks, data) = (told.clone(), heard.clone());
        let (mut there, mut back) = (wire(), wire());
        there.loses = Box::new(move |segment| {
            data.borrow_mut().insert(segment.timestamps.unwrap().ecr);
            false
        });
        back.loses = Box::new(move |ack| {
            acks.borrow_mut().insert(ack.timestamps.unwrap().val);
            false
        });
        let mut net = Net::new(&config(Some(tick), 2), &newreno(), &rwnd, [there, back]);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(3_000_000_000));
        let (told, heard) = (told.borrow().len(), heard.borrow().len());
        let ticks = Span::from_secs(3).0 / tick.0;
        assert!(told.min(heard) as u64 * 10 >= ticks * 8, "{told} told, {heard} echoed with ticks of {tick}");
    }
}

/// A write of so many segments each `gap_ms`.
fn seen_of_writes(config: &Config, segments: u64, gap_ms: u64) -> (f64, f64, f64) {
    let mut count = 0;
    seen(config, |net| {
        count += 1;
        if count % gap_ms == 0 {
            net.write(0, Bytes(segments * 1000));
        }
    })
}

#[test]
fn a_sender_that_fills_the_window_shows_the_round_trip() {
    for tick in TICKS {
        for delayed_ack_count in [1, 2] {
            let found = seen(&config(tick, delayed_ack_count), |net| net.ends[0].write_endlessly());
            let (mean, least, most) = found;
            // A mean of samples in whole ticks; without timestamps an offer of two segments is used up by the second.
            let tick_ms = tick.map_or(0.25, Span::as_millis);
            assert!((mean - TRUE_MS).abs() < tick_ms / 2.0 + 0.1, "{tick:?}, {delayed_ack_count}: {found:?}");
            assert!(least > TRUE_MS - tick_ms && most < TRUE_MS + tick_ms, "{tick:?}: {found:?}");
        }
    }
}

/// The sender answers with the data that it has next.
#[test]
fn a_sender_that_waits_for_its_application_lengthens_the_samples() {
    for (tick, delayed_ack_count) in
        [(Span::from_millis(1), 1), (Span::from_millis(1), 2), (Span::from_millis(10), 1)]
    {
        for (gap_ms, expected_ms) in [(7, 56.0), (30, 60.0)] {
            let (mean, least, most) = seen_of_writes(&config(Some(tick), delayed_ack_count), 1, gap_ms);
            let tick_ms = tick.as_millis();
            assert!((mean - expected_ms).abs() < tick_ms, "{mean} ms for a write each {gap_ms} ms");
            assert!(least > TRUE_MS - tick_ms && most <= expected_ms + tick_ms, "{least}..{most} ms");
        }
    }
}

/// The window is a measure of the round trip only for one who fills it.
#[test]
fn without_timestamps_it_is_the_time_that_a_window_takes() {
    for (gap_ms, delayed_ack_count) in [(7, 1), (7, 2), (30, 1)] {
        let (mean, _, _) = seen_of_writes(&config(None, delayed_ack_count), 1, gap_ms);
        let expected = (WINDOW * gap_ms) as f64;
        assert!((mean - expected).abs() < 1.0, "{mean} ms for {expected} ms");
    }
}
