//! Properties of every receive-window controller.
//!
//! The minimum window under random events is tested next to the family (`src/lib.rs`). Tests that need a sender and a
//! network are in `crates/tcp/tests/it/rwnd_conformance.rs`.

use airwnd_catalog::{Node, Param};
use airwnd_rwnd::{Advertisement, Arrival, Device, ReceiverContext, RecvView, RwndController, Spec};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;

fn spec(text: &str) -> Spec {
    let node = Node::from_toml(text, "test").expect("valid TOML");
    Spec::read(&node).expect("a receive-window controller")
}

fn build(spec: &Spec) -> Box<dyn RwndController> {
    spec.build(&ReceiverContext { mss: Bytes(MSS), buffer: Bytes(1 << 20), seed: 1 })
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

#[test]
fn declared_capabilities_agree_with_the_controller() {
    for name in Spec::built_in() {
        let spec = spec(&format!("kind = \"{name}\""));
        let (declared, controller) = (spec.capabilities(), build(&spec));
        assert_eq!(declared, controller.capabilities(), "{name}: equal for all connections");
        assert_eq!(declared.sender_half.is_some(), controller.sender_half().is_some(), "{name}");
        assert!(declared.max_window_scale <= 14, "{name}: RFC 7323 §2.3 has no larger shift");
    }
}

/// An arrival in the history of a controller.
#[derive(Clone, Copy, Debug)]
struct Sample {
    gap_ms: u64,
    queue_ms: u64,
    segments: u64,
}

/// Returns the window after a history of arrivals on a path with a base RTT of 50 ms.
fn after(spec: &Spec, history: impl IntoIterator<Item = Sample>) -> Bytes {
    let mut rwnd = build(spec);
    let (mut now, mut received) = (ms(1000), Bytes::ZERO);
    let mut window = Bytes::ZERO;
    for Sample { gap_ms, queue_ms, segments } in history {
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
        let Advertisement::Window(offered) = rwnd.window(now, &view) else { panic!("no codes") };
        window = offered;
    }
    window
}

/// Controllers that reduce the window on delay by definition. `standing` is none of them: it measures the rate while
/// there is a queue.
const DELAY_BASED: [&str; 4] = ["drwa", "dfcsd", "rtac", "rledbat"];

#[test]
fn a_longer_rtt_never_gives_a_larger_window() {
    let sample = (1..100_u64, 0..150_u64, 1..20_u64).prop_map(|(gap_ms, queue_ms, segments)| Sample {
        gap_ms,
        queue_ms,
        segments,
    });
    let histories = (prop::collection::vec(sample, 1..100), 0..300_u64, 0..300_u64, 1..100_u64);
    let runs = ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    proptest!(runs, |((history, one, other, segments) in histories)| {
        for name in DELAY_BASED {
            let spec = spec(&format!("kind = \"{name}\""));
            // The first arrival has no queueing delay, so that both histories have the base RTT; the last one comes
            // after more than an RTT.
            let first = Sample { gap_ms: 0, queue_ms: 0, segments: 1 };
            let window = |queue_ms| {
                let last = Sample { gap_ms: 400, queue_ms, segments };
                after(&spec, [first].into_iter().chain(history.iter().copied()).chain([last]))
            };
            prop_assert!(window(one.min(other)) >= window(one.max(other)), "{}", name);
        }
    });
}

#[test]
fn beyond_its_target_rledbat_reduces_the_window_to_two_segments() {
    let spec = spec("kind = \"rledbat\"");
    let quiet = [Sample { gap_ms: 50, queue_ms: 0, segments: 20 }; 10];
    let window = |round_trips| {
        let full = [Sample { gap_ms: 150, queue_ms: 100, segments: 20 }].repeat(round_trips);
        after(&spec, quiet.into_iter().chain(full))
    };
    // After four RTTs the filter has no sample without queueing; after ten the first slowdown is over.
    let windows: Vec<u64> = (10..17).map(|round_trips| window(round_trips).0).collect();
    assert_eq!(windows, [44_333, 22_166, 11_083, 5_541, 2_770, 2_000, 2_000]);
}
