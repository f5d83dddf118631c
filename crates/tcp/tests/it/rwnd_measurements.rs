//! The receiver's RTT estimate compared with the known RTT.

use crate::support::{Link, Net, newreno};
use airwnd_tcp::{Config, Stack, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Receive window in segments.
const WINDOW: u64 = 20;
/// Propagation both ways, and serialization of 1054 B and of an ACK of 54 B at 40 Mbit/s.
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

/// Returns mean, minimum and maximum of the receiver's RTT over 10 s, in ms.
fn measure(config: &Config, mut write: impl FnMut(&mut Net)) -> (f64, f64, f64) {
    let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params { limit: Some(Bytes(WINDOW * 1000)) });
    let link = || Link::new(BitRate(40_000_000), Span::from_millis(25), 1000);
    let mut net = Net::new(config, &newreno(), &rwnd, [link(), link()]);
    net.open();
    let (mut sum, mut min, mut max) = (0.0, f64::INFINITY, 0.0);
    for at_ms in 0..11_000 {
        net.run_until(Time(at_ms * 1_000_000));
        write(&mut net);
        net.pump(0);
        if at_ms >= 1000 {
            let rtt = net.ends[1].receiver_rtt().unwrap().as_millis();
            sum += rtt;
            min = f64::min(min, rtt);
            max = f64::max(max, rtt);
        }
    }
    (sum / 10_000.0, min, max)
}

/// RFC 9840 §4.2.1: a receiver that sends no data must vary its TSvals. Here a continuous clock provides them, so each
/// ACK after a tick starts a sample: at least several per RTT.
#[test]
fn acks_carry_a_new_timestamp_each_tick() {
    for tick in [Span::from_millis(1), Span::from_millis(10)] {
        let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params::default());
        let wire = || Link::new(BitRate(40_000_000), Span::from_millis(25), 1000);
        let (sent, echoed) = (Rc::new(RefCell::new(BTreeSet::new())), Rc::new(RefCell::new(BTreeSet::new())));
        let (acks, data) = (sent.clone(), echoed.clone());
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
        let (sent, echoed) = (sent.borrow().len(), echoed.borrow().len());
        let ticks = Span::from_secs(3).0 / tick.0;
        assert!(
            sent.min(echoed) as u64 * 10 >= ticks * 8,
            "{sent} sent, {echoed} echoed with ticks of {tick}"
        );
    }
}

/// Measures a sender that writes `segments` segments every `gap_ms`.
fn measure_writes(config: &Config, segments: u64, gap_ms: u64) -> (f64, f64, f64) {
    let mut count = 0;
    measure(config, |net| {
        count += 1;
        if count % gap_ms == 0 {
            net.write(0, Bytes(segments * 1000));
        }
    })
}

#[test]
fn a_sender_that_fills_the_window_gives_the_true_rtt() {
    for tick in TICKS {
        for delayed_ack_count in [1, 2] {
            let found = measure(&config(tick, delayed_ack_count), |net| net.ends[0].write_endlessly());
            let (mean, min, max) = found;
            // Samples are whole ticks. Without timestamps, an advertisement of two more segments is filled by the second.
            let tick_ms = tick.map_or(0.25, Span::as_millis);
            assert!((mean - TRUE_MS).abs() < tick_ms / 2.0 + 0.1, "{tick:?}, {delayed_ack_count}: {found:?}");
            assert!(min > TRUE_MS - tick_ms && max < TRUE_MS + tick_ms, "{tick:?}: {found:?}");
        }
    }
}

/// The sender echoes the timestamp with its next data.
#[test]
fn an_application_limited_sender_lengthens_the_samples() {
    for (tick, delayed_ack_count) in
        [(Span::from_millis(1), 1), (Span::from_millis(1), 2), (Span::from_millis(10), 1)]
    {
        for (gap_ms, expected_ms) in [(7, 56.0), (30, 60.0)] {
            let (mean, min, max) = measure_writes(&config(Some(tick), delayed_ack_count), 1, gap_ms);
            let tick_ms = tick.as_millis();
            assert!((mean - expected_ms).abs() < tick_ms, "{mean} ms for a write each {gap_ms} ms");
            assert!(min > TRUE_MS - tick_ms && max <= expected_ms + tick_ms, "{min}..{max} ms");
        }
    }
}

/// Without timestamps the estimate is the time that one window of data takes.
#[test]
fn without_timestamps_the_estimate_is_the_time_of_one_window() {
    for (gap_ms, delayed_ack_count) in [(7, 1), (7, 2), (30, 1)] {
        let (mean, _, _) = measure_writes(&config(None, delayed_ack_count), 1, gap_ms);
        let expected = (WINDOW * gap_ms) as f64;
        assert!((mean - expected).abs() < 1.0, "{mean} ms for {expected} ms");
    }
}

/// A path shorter than a tick: echoes give no samples, so the time in which a window's data arrives does. In Linux 6.18.44
/// the window reaches 11.3 MB at 700 Mbit/s, 0.1 ms one way and 1000 packets of queue, the delay 12.4 ms (full queue: 17
/// ms), and the queue drops 80 packets.
#[test]
fn autotuning_opens_the_window_on_a_path_shorter_than_a_tick() {
    for rate in [700_000_000, 2_000_000_000] {
        let rwnd = rwnd::Spec::Autotuning(rwnd::autotuning::Params::default());
        let cubic = cc::Spec::Cubic(cc::cubic::Params::default());
        let link = || Link::new(BitRate(rate), Span::from_micros(100), 1000);
        let mut net = Net::new(&Stack::Linux.config(), &cubic, &rwnd, [link(), link()]);
        net.ends[0].write_endlessly();
        net.open();
        net.run_until(Time(2_000_000_000));
        let window = net.ends[1].offered_window();
        assert!(window > Bytes(4 << 20), "{window} at {rate} bit/s");
        assert!(net.links[0].drops > 0, "the queue has been full");
    }
}

/// With a tick of 100 ms most echoes on a path of 50 ms are zero, the others a tick: neither is below the RTT.
#[test]
fn a_tick_longer_than_the_rtt_gives_no_sample_below_it() {
    for stack in Stack::ALL {
        let config =
            Config { timestamps: true, timestamp_tick: Span::from_millis(100), mss: 1000, ..stack.config() };
        let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params { limit: Some(Bytes(WINDOW * 1000)) });
        let link = || Link::new(BitRate(40_000_000), Span::from_millis(25), 1000);
        let mut net = Net::new(&config, &newreno(), &rwnd, [link(), link()]);
        net.ends[0].write_endlessly();
        net.open();
        for at_ms in 0..5000 {
            net.run_until(Time(at_ms * 1_000_000));
            let samples = [net.ends[0].take_rtt_sample(), net.ends[1].receiver_rtt()];
            for sample in samples.into_iter().flatten() {
                assert!(sample >= Span::from_millis(50), "{stack:?}: {sample}");
            }
        }
        assert!(net.ends[0].min_rtt() >= Some(Span::from_millis(50)));
    }
}
