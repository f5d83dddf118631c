//! What every receive-window control keeps to, whatever its rule.
//!
//! The least window under random events is beside the family (`src/lib.rs`); what takes a sender and a network is in
//! `crates/tcp/tests/rwnd_conformance.rs`.

use airwnd_catalog::{Node, Param};
use airwnd_rwnd::{Advertisement, Arrival, Device, ReceiverContext, RecvView, RwndController, Spec};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;

fn spec(text: &str) -> Spec {
    let node = Node::from_toml(text, "test").expect("it is TOML");
    Spec::read(&node).expect("it is a receive-window control")
}

fn build(spec: &Spec) -> Box<dyn RwndController> {
    spec.build(&ReceiverContext { mss: Bytes(MSS), buffer: Bytes(1 << 20), seed: 1 })
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

#[test]
fn what_is_declared_agrees() {
    for name in Spec::kinds() {
        let spec = spec(&format!("kind = \"{name}\""));
        let (declared, controller) = (spec.capabilities(), build(&spec));
        assert_eq!(declared, controller.capabilities(), "{name} declares the same for any connection");
        assert_eq!(declared.sender_half.is_some(), controller.sender_half().is_some(), "{name}");
        assert!(declared.max_window_scale <= 14, "{name}: RFC 7323 §2.3 has no larger shift");
    }
}

/// A segment of the history that a controller goes by.
#[derive(Clone, Copy, Debug)]
struct Heard {
    gap_ms: u64,
    queue_ms: u64,
    segments: u64,
}

/// The window after data that came over a path of 50 ms and its queue.
fn after(spec: &Spec, history: impl IntoIterator<Item = Heard>) -> Bytes {
    let mut rwnd = build(spec);
    let (mut now, mut received) = (ms(1000), Bytes::ZERO);
    let mut window = Bytes::ZERO;
    for Heard { gap_ms, queue_ms, segments } in history {
        now += Span::from_millis(gap_ms);
        let rtt = Some(Span::from_millis(50 + queue_ms));
        let new = Bytes(segments * MSS);
        received += new;
        let view = RecvView {
            mss: Bytes(MSS),
            free: Bytes(1 << 20),
            unread: Bytes::ZERO,
            early: Bytes::ZERO,
            offered: window,
            received,
            rtt,
            min_rtt: Some(Span::from_millis(50)),
            device: Device { connections: 1, ..Device::default() },
        };
        let arrival = Arrival {
            now,
            one_way_delay: Some(Span::from_millis(25 + queue_ms)),
            segments: 1,
            len: new,
            new,
            in_order: true,
            rtt,
            retransmission: false,
        };
        rwnd.on_segment(&arrival, &view);
        rwnd.on_copied(now, new, &view);
        let Advertisement::Window(told) = rwnd.window(now, &view) else { panic!("no codes") };
        window = told;
    }
    window
}

/// Those that give way to delay, by their definitions.
const YIELDS_TO_DELAY: [&str; 4] = ["drwa", "dfcsd", "rtac", "rledbat"];

#[test]
fn the_longer_the_round_trip_the_smaller_the_window() {
    let heard = (1..100_u64, 0..150_u64, 1..20_u64).prop_map(|(gap_ms, queue_ms, segments)| Heard {
        gap_ms,
        queue_ms,
        segments,
    });
    let histories = (prop::collection::vec(heard, 1..100), 0..300_u64, 0..300_u64, 1..100_u64);
    let runs = ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    proptest!(runs, |((history, one, other, segments) in histories)| {
        for name in YIELDS_TO_DELAY {
            let spec = spec(&format!("kind = \"{name}\""));
            // The first without a queue, so that both know the path; the last after more than a round trip.
            let first = Heard { gap_ms: 0, queue_ms: 0, segments: 1 };
            let window = |queue_ms| {
                let last = Heard { gap_ms: 400, queue_ms, segments };
                after(&spec, [first].into_iter().chain(history.iter().copied()).chain([last]))
            };
            prop_assert!(window(one.min(other)) >= window(one.max(other)), "{}", name);
        }
    });
}

#[test]
fn beyond_its_target_rledbat_comes_down_to_two_segments() {
    let spec = spec("kind = \"rledbat\"");
    let quiet = [Heard { gap_ms: 50, queue_ms: 0, segments: 20 }; 10];
    let window = |round_trips| {
        let full = [Heard { gap_ms: 150, queue_ms: 100, segments: 20 }].repeat(round_trips);
        after(&spec, quiet.into_iter().chain(full))
    };
    // After four round trips the filter holds no quiet one, after ten the first slowdown is over.
    let windows: Vec<u64> = (10..17).map(|round_trips| window(round_trips).0).collect();
    assert_eq!(windows, [44_333, 22_166, 11_083, 5_541, 2_770, 2_000, 2_000]);
}
