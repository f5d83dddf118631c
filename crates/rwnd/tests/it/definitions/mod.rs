//! Receive-window controllers compared with literal transcriptions of their definitions, over random sequences of
//! events.
//!
//! A definition uses bytes and seconds and the symbols of its source, without optimisation and without the engine's
//! helpers. The definitions of the other controllers are next to their code.

mod rledbat;

use airwnd_catalog::{Node, Param};
use airwnd_rwnd::{
    Advertisement, Arrival, Device, DeviceLink, ReceiverContext, RecvView, RwndController, Spec,
};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;
/// Receive buffer, without unread data.
const BUFFER: u64 = 1 << 20;

/// Input of a definition from one segment, in bytes and seconds.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each definition uses some of the fields")]
struct Input {
    now: f64,
    /// One-way delay.
    one_way: f64,
    /// Payload received for the first time; the application takes it at once.
    new: f64,
    /// RTT sample completed by the segment.
    sample: Option<f64>,
    /// Mean of the samples of the last round trip, and its minimum.
    rtt: f64,
    min_rtt: f64,
    retransmission: bool,
    device: Device,
}

/// Definition of an algorithm as in its source.
trait Definition {
    /// Processes a data segment.
    fn segment(&mut self, _input: &Input) {}
    /// Processes the application's read of the segment's data.
    fn copied(&mut self, _input: &Input) {}
    /// Returns the window in bytes without the limit of the buffer; `None`: not defined yet by the source.
    fn window(&mut self) -> Option<f64>;
}

#[derive(Clone, Copy, Debug)]
struct Event {
    gap_us: u64,
    bytes: u64,
    queue_us: u64,
    /// Whether the segment completes an RTT sample.
    sample: bool,
    retransmission: bool,
    /// Whether the segment brings no new bytes.
    old: bool,
    flows: u32,
    rate_kbps: u64,
}

/// A path with a base RTT of 80 ms and up to 120 ms of queueing delay, few losses, segments of up to three MSS.
fn event() -> impl Strategy<Value = Event> {
    let rare = |part| prop::bool::weighted(part);
    let numbers = (0..60_000_u64, 1..3001_u64, 0..120_000_u64, 1..5_u32, 100..50_000_u64);
    (numbers, rare(0.7), rare(0.01), rare(0.02)).prop_map(|(numbers, sample, retransmission, old)| {
        let (gap_us, bytes, queue_us, flows, rate_kbps) = numbers;
        Event { gap_us, bytes, queue_us, sample, retransmission, old, flows, rate_kbps }
    })
}

/// Compares over random `settings`, which `rwnd` turns into scenario text: windows after each event agree to one part
/// in a million and two bytes.
fn compare_over<S: Strategy>(
    settings: S,
    rwnd: impl Fn(&S::Value) -> String,
    definition: impl Fn(&S::Value) -> Box<dyn Definition>,
) {
    let events = prop::collection::vec(event(), 1..600);
    let config = ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    proptest!(config, |(settings in settings, events in events)| {
        let node = Node::from_toml(&rwnd(&settings), "test").expect("valid TOML");
        let spec = Spec::read(&node).expect("a receive-window controller");
        let mut ours = spec.build(&ReceiverContext { mss: Bytes(MSS), buffer: Bytes(BUFFER), seed: 1 });
        play(&mut *ours, &mut *definition(&settings), &events)?;
    });
}

fn play(
    ours: &mut dyn RwndController,
    theirs: &mut dyn Definition,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let base = Span::from_millis(80);
    let (mut now, mut received) = (Time(1_000_000_000), 0);
    let (mut rtt, mut min_rtt) = (None::<Span>, Span::MAX);
    for event in events {
        now += Span::from_micros(event.gap_us);
        let sample = base + Span::from_micros(event.queue_us);
        let one_way = sample - base / 2;
        // The first segment always brings a sample, as at an endpoint.
        let completes = event.sample || rtt.is_none();
        if completes {
            let mean = rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8);
            rtt = Some(mean);
            min_rtt = min_rtt.min(mean);
        }
        let new = if event.old { 0 } else { event.bytes };
        received += new;
        let device = Device {
            connections: event.flows,
            min_received: Bytes(received / u64::from(event.flows)),
            max_received: Bytes(received),
            link: Some(DeviceLink { rate: BitRate(event.rate_kbps * 1000), base_rtt: base }),
            ..Device::default()
        };
        let view = RecvView {
            mss: Bytes(MSS),
            free: Bytes(BUFFER),
            unread: Bytes::ZERO,
            early: Bytes::ZERO,
            offered: Bytes(BUFFER),
            received: Bytes(received),
            rtt,
            min_rtt: Some(min_rtt),
            device,
        };
        let input = Input {
            now: now.as_secs(),
            one_way: one_way.as_secs(),
            new: new as f64,
            sample: completes.then(|| sample.as_secs()),
            rtt: rtt.unwrap_or(sample).as_secs(),
            min_rtt: min_rtt.as_secs(),
            retransmission: event.retransmission,
            device,
        };
        let arrival = Arrival {
            now,
            one_way_delay: Some(one_way),
            segments: 1,
            len: Bytes(event.bytes),
            new: Bytes(new),
            in_order: !event.old,
            rtt: completes.then_some(sample),
            retransmission: event.retransmission,
        };
        ours.on_segment(&arrival, &view);
        theirs.segment(&input);
        if new > 0 {
            ours.on_copied(now, Bytes(new), &view);
            theirs.copied(&input);
        }
        let Advertisement::Window(window) = ours.window(now, &view) else { panic!("no codes") };
        let expected = theirs.window().unwrap_or(BUFFER as f64).min(BUFFER as f64);
        prop_assert!(
            (window.0 as f64 - expected).abs() <= 2.0 + 1e-6 * expected,
            "{window:?}, by the definition {expected} B after {event:?}"
        );
    }
    Ok(())
}
