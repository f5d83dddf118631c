//! Congestion controls compared with literal transcriptions of their definitions, over random sequences of events.
//!
//! A definition counts in segments and seconds and follows the text of its source, without optimization and without the
//! engine's helper functions.

mod bbr;
mod bbr3;
mod bic;
mod c2tcp;
mod compound;
mod constant;
mod copa;
mod cubic;
mod cubic_linux;
mod dctcp;
mod fast;
mod highspeed;
mod htcp;
mod hybla;
mod hystart_plus_plus;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod lp;
mod model;
mod newreno;
mod nice;
mod prague;
mod scalable;
mod sprout;
mod vegas;
mod veno;
mod verus;
mod westwood;
mod yeah;

use airwnd_catalog::{Node, Param};
use airwnd_tcp::cc::{Ack, Congestion, CongestionControl, SenderContext, Signal, Spec};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;

/// ACK information for a definition, in segments and seconds.
#[derive(Clone, Copy, Debug)]
struct AckInfo {
    now: f64,
    acked: f64,
    rtt: f64,
    srtt: f64,
    min_rtt: f64,
    one_way: f64,
    round: u64,
    limited: bool,
    /// Marked part of `acked`.
    marked: f64,
}

/// An algorithm as defined by its source.
trait Definition {
    /// Processes an ACK, also during loss recovery.
    fn measure(&mut self, _info: &AckInfo) {}
    fn ack(&mut self, info: &AckInfo);
    fn loss(&mut self, now: f64, flight: f64);
    /// Processes a timeout; `again`: of a segment that has timed out before.
    fn timeout(&mut self, now: f64, flight: f64, again: bool);
    /// Processes the first marks in a window of data.
    fn mark(&mut self, _now: f64) {}
    fn cwnd(&self) -> f64;
}

#[derive(Clone, Debug)]
enum Event {
    Ack { bytes: u64, gap_us: u64, queue_us: u64, new_round: bool, recovering: bool, limited: bool },
    Loss { part: f64 },
    Timeout { again: bool },
}

/// A path of 80 ms with up to 120 ms of queueing delay, ACKs of up to three segments, few losses.
fn event() -> impl Strategy<Value = Event> {
    let ack = (
        1..3001_u64,
        0..60_000_u64,
        0..120_000_u64,
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.05),
        prop::bool::weighted(0.9),
    );
    prop_oneof![
        100 => ack.prop_map(|(bytes, gap_us, queue_us, new_round, recovering, limited)| {
            Event::Ack { bytes, gap_us, queue_us, new_round, recovering, limited }
        }),
        1 => (0.8..1.0_f64).prop_map(|part| Event::Loss { part }),
        1 => prop::bool::weighted(0.3).prop_map(|again| Event::Timeout { again }),
    ]
}

/// Compares with constant settings.
fn compare(cc: &str, definition: impl Fn(f64) -> Box<dyn Definition>) {
    compare_over(Just(()), |()| cc.to_string(), |(), cwnd| definition(cwnd));
}

/// Compares over a path that marks packets above a queueing delay.
fn compare_marked(mark_above_us: u64, cc: &str, definition: impl Fn(f64) -> Box<dyn Definition>) {
    compare_all(mark_above_us, Just(()), |()| cc.to_string(), |(), cwnd| definition(cwnd));
}

/// Compares with random `settings`, which `cc` converts to a scenario's keys.
fn compare_over<S: Strategy>(
    settings: S,
    cc: impl Fn(&S::Value) -> String,
    definition: impl Fn(&S::Value, f64) -> Box<dyn Definition>,
) {
    compare_all(u64::MAX, settings, cc, definition);
}

/// Applies events to both and compares windows after each event, to a relative error of 1e-6 plus two bytes.
fn compare_all<S: Strategy>(
    mark_above_us: u64,
    settings: S,
    cc: impl Fn(&S::Value) -> String,
    definition: impl Fn(&S::Value, f64) -> Box<dyn Definition>,
) {
    let events = prop::collection::vec(event(), 1..600);
    let config = ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    proptest!(config, |(settings in settings, initial in 2..100_u64, events in events)| {
        let node = Node::from_toml(&cc(&settings), "test").expect("it is TOML");
        let spec = Spec::read(&node).expect("it is a congestion control");
        let ctx = SenderContext {
            mss: Bytes(MSS),
            initial_window: Bytes(initial * MSS),
            initial_ssthresh: Bytes(u64::MAX),
            seed: 1,
            identity: Default::default(),
        };
        let mut ours = spec.build(&ctx);
        let mut theirs = definition(&settings, initial as f64);
        play(&mut *ours, &mut *theirs, &events, mark_above_us)?;
    });
}

fn play(
    ours: &mut dyn CongestionControl,
    theirs: &mut dyn Definition,
    events: &[Event],
    mark_above_us: u64,
) -> Result<(), TestCaseError> {
    let mut now = Time::ZERO;
    let mut may_mark_from = 0;
    let mut ack = Ack { now, cwnd_limited: true, ..Ack::default() };
    for event in events {
        match *event {
            Event::Ack { bytes, gap_us, queue_us, new_round, recovering, limited } => {
                now += Span::from_micros(gap_us);
                let rtt = Span::from_micros(80_000 + queue_us);
                let one_way = Span::from_micros(25_000 + queue_us);
                let srtt = ack.srtt.map_or(rtt, |srtt| Span((7 * srtt.0 + rtt.0) / 8));
                let min_rtt = ack.min_rtt.map_or(rtt, |min| min.min(rtt));
                ack = Ack {
                    now,
                    acked: Bytes(bytes),
                    rtt: Some(rtt),
                    srtt: Some(srtt),
                    min_rtt: Some(min_rtt),
                    one_way_delay: Some(one_way),
                    round: ack.round + u64::from(new_round),
                    delivered: ack.delivered + Bytes(bytes),
                    cwnd_limited: limited,
                    recovering,
                    marked: if queue_us > mark_above_us { Bytes(bytes) } else { Bytes::ZERO },
                    prior_in_flight: ours.cwnd(),
                    ..Ack::default()
                };
                let info = AckInfo {
                    now: now.as_secs(),
                    acked: bytes as f64 / MSS as f64,
                    rtt: rtt.as_secs(),
                    srtt: srtt.as_secs(),
                    min_rtt: min_rtt.as_secs(),
                    one_way: one_way.as_secs(),
                    round: ack.round,
                    limited,
                    marked: ack.marked.0 as f64 / MSS as f64,
                };
                ours.on_delivery(&ack);
                theirs.measure(&info);
                if ack.marked > Bytes::ZERO && !recovering && ack.round >= may_mark_from {
                    may_mark_from = ack.round + 1;
                    ours.on_congestion(&Congestion { now, signal: Signal::Ecn, in_flight: ours.cwnd() });
                    theirs.mark(info.now);
                }
                if !recovering {
                    ours.on_ack(&ack);
                    theirs.ack(&info);
                }
            }
            Event::Loss { part } => {
                let in_flight = Bytes((part * ours.cwnd().0 as f64) as u64);
                ours.on_congestion(&Congestion { now, signal: Signal::Loss, in_flight });
                theirs.loss(now.as_secs(), in_flight.0 as f64 / MSS as f64);
            }
            Event::Timeout { again } => {
                let in_flight = ours.cwnd();
                let signal = if again { Signal::RepeatedTimeout } else { Signal::Timeout };
                ours.on_congestion(&Congestion { now, signal, in_flight });
                theirs.timeout(now.as_secs(), in_flight.0 as f64 / MSS as f64, again);
            }
        }
        let (our_window, their_window) = (ours.cwnd().0 as f64, theirs.cwnd() * MSS as f64);
        prop_assert!(
            (our_window - their_window).abs() <= 2.0 + 1e-6 * their_window,
            "{our_window} B, definition {their_window} B after {event:?}"
        );
    }
    Ok(())
}
