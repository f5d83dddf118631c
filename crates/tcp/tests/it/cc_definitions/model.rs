//! Events for controllers with a model of the path: delivery rate samples, single losses, ends of recovery.
//!
//! Definitions count in bytes and microseconds, with rates in bytes per microsecond.

use airwnd_catalog::{Node, Param};
use airwnd_kernel::Stream;
use airwnd_tcp::Seq;
use airwnd_tcp::cc::{
    Ack, Before, Congestion, CongestionControl, Departure, Loss, RateSample, SenderContext, Signal, Spec,
};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 1000;
pub const SEED: u64 = 7;

/// RS with its rate sample, if any, and the state of C after it.
#[derive(Clone, Copy, Debug)]
pub struct Rs {
    pub now: u64,
    pub newly_acked: f64,
    pub newly_lost: f64,
    pub inflight: f64,
    pub prior_inflight: f64,
    pub delivered: u64,
    pub has_selective_acks: bool,
    pub sample: Option<Sample>,
}

#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub delivered: f64,
    pub interval: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: f64,
    pub lost: f64,
    pub is_app_limited: bool,
    pub rtt: Option<u64>,
}

/// A lost packet P.
#[derive(Clone, Copy, Debug)]
pub struct P {
    pub now: u64,
    pub start: u64,
    pub size: f64,
    pub tx_in_flight: f64,
    /// C.lost - P.lost
    pub lost: f64,
    pub is_app_limited: bool,
}

pub trait Model {
    fn transmit(&mut self, now: u64, inflight: f64, size: f64, app_limited: bool, srtt: Option<u64>);
    fn ack(&mut self, rs: &Rs);
    fn lost(&mut self, p: &P);
    fn enter_recovery(&mut self, now: u64);
    fn enter_rto(&mut self, now: u64);
    fn exit_recovery(&mut self);
    fn spurious(&mut self, now: u64);
    fn cwnd(&self) -> f64;
    fn pacing_rate(&self) -> f64;
}

/// C.app_limited set by the controller, and its value recorded in packets: a packet is marked if C.app_limited was not
/// zero at the number of delivered bytes when it was sent.
#[derive(Default)]
pub struct AppLimited {
    pub value: u64,
    history: Vec<(u64, bool)>,
}

impl AppLimited {
    pub fn clear_if_past(&mut self, delivered: u64) {
        if self.value != 0 && delivered > self.value {
            self.value = 0;
        }
    }

    pub fn mark(&mut self, delivered: u64, inflight: f64) {
        self.value = u64::max(delivered + inflight as u64, 1);
    }

    /// Called at the end of an ACK.
    pub fn remember(&mut self, delivered: u64) {
        self.history.push((delivered, self.value != 0));
    }

    pub fn when_sent(&self, prior_delivered: u64) -> bool {
        self.history
            .iter()
            .rev()
            .find(|(delivered, _)| *delivered <= prior_delivered)
            .is_some_and(|(_, is)| *is)
    }
}

/// Linux lib/win_minmax.c: best, second and third best of a window, each with its time.
pub struct Minmax {
    pub s: [(u64, f64); 3],
}

impl Minmax {
    pub fn new() -> Minmax {
        Minmax { s: [(0, 0.0); 3] }
    }

    pub fn get(&self) -> f64 {
        self.s[0].1
    }

    pub fn running_max(&mut self, win: u64, t: u64, v: f64) {
        let val = (t, v);
        if v >= self.s[0].1 || t - self.s[2].0 > win {
            self.s = [val, val, val];
            return;
        }
        if v >= self.s[1].1 {
            self.s[2] = val;
            self.s[1] = val;
        } else if v >= self.s[2].1 {
            self.s[2] = val;
        }
        let dt = t - self.s[0].0;
        if dt > win {
            self.s[0] = self.s[1];
            self.s[1] = self.s[2];
            self.s[2] = val;
            if t - self.s[0].0 > win {
                self.s[0] = self.s[1];
                self.s[1] = self.s[2];
                self.s[2] = val;
            }
        } else if self.s[1].0 == self.s[0].0 && dt > win / 4 {
            self.s[2] = val;
            self.s[1] = val;
        } else if self.s[2].0 == self.s[1].0 && dt > win / 2 {
            self.s[2] = val;
        }
    }
}

pub fn random(name: &str) -> Stream {
    Stream::new(SEED, name)
}

#[derive(Clone, Debug)]
enum Event {
    Ack { gap: u64, bytes: u64, lost: u64, in_flight: u64, sample: Option<Drawn> },
    Losses { count: u64, step: u64, in_flight: u64, lost: u64, recovers: bool },
    Timeout,
    Repaired,
    Spurious,
    Send { gap: u64, in_flight: u64, app_limited: bool },
}

/// A rate sample of the packet sent `acks_ago` ACKs before.
#[derive(Clone, Debug)]
struct Drawn {
    acks_ago: usize,
    rtt: u64,
    wait: u64,
    tx_in_flight: u64,
    lost: u64,
    app_limited: bool,
    clean: bool,
}

/// A path of 40 to 140 ms; ACKs of up to 20 segments, so that rounds are short; pauses of seconds.
fn event() -> impl Strategy<Value = Event> {
    let gap = || prop_oneof![60 => 1..30_000_u64, 1 => 1..3_000_000_u64];
    let rarely = |max: u64| prop_oneof![30 => Just(0_u64), 1 => 1..max];
    let flight = || prop_oneof![3 => 0..150_000_u64, 1 => 0..6000_u64];
    let drawn = (
        (1..9_usize, 40_000..140_000_u64, 0..20_000_u64),
        (1000..200_000_u64, rarely(9000), prop::bool::weighted(0.05), prop::bool::weighted(0.9)),
    )
        .prop_map(|((acks_ago, rtt, wait), (tx_in_flight, lost, app_limited, clean))| Drawn {
            acks_ago,
            rtt,
            wait,
            tx_in_flight,
            lost,
            app_limited,
            clean,
        });
    let ack = (gap(), 1..20_000_u64, rarely(9000), flight(), prop::option::weighted(0.95, drawn));
    let losses = (1..9_u64, 1..3_u64, 1000..200_000_u64, 1000..9000_u64, prop::bool::weighted(0.7));
    prop_oneof![
        80 => ack.prop_map(|(gap, bytes, lost, in_flight, sample)| Event::Ack { gap, bytes, lost, in_flight, sample }),
        4 => losses.prop_map(|(count, step, in_flight, lost, recovers)| {
            Event::Losses { count, step, in_flight, lost, recovers }
        }),
        1 => Just(Event::Timeout),
        4 => Just(Event::Repaired),
        1 => Just(Event::Spurious),
        12 => (gap(), prop_oneof![1 => Just(0_u64), 3 => 0..250_000_u64], any::<bool>())
            .prop_map(|(gap, in_flight, app_limited)| Event::Send { gap, in_flight, app_limited }),
    ]
}

/// Applies events to both and compares window and pacing rate after each event, to a relative error of 1e-6 plus two
/// units.
pub fn compare(cc: &str, definition: impl Fn(f64) -> Box<dyn Model>) {
    let node = Node::from_toml(cc, "test").expect("it is TOML");
    let spec = Spec::read(&node).expect("it is a congestion control");
    let events = prop::collection::vec(event(), 1..1500);
    let config = ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    let path = (prop::bool::weighted(0.8), prop::bool::weighted(0.2));
    proptest!(config, |(initial in 2..40_u64, (selective, policed) in path, events in events)| {
        let ctx = SenderContext {
            mss: Bytes(MSS),
            initial_window: Bytes(initial * MSS),
            initial_ssthresh: Bytes(u64::MAX),
            seed: SEED,
            identity: Default::default(),
        };
        let mut ours = spec.build(&ctx);
        let mut theirs = definition((initial * MSS) as f64);
        play(&mut *ours, &mut *theirs, selective, policed, &events)?;
    });
}

fn play(
    ours: &mut dyn CongestionControl,
    theirs: &mut dyn Model,
    selective: bool,
    policed: bool,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let mut now = 0;
    let at = |now: u64| Time(1000 * now);
    let srtt = Some(Span::from_micros(60_000));
    let mut delivered = vec![0_u64];
    let mut recovering = false;
    let mut seq = 0;
    for event in events {
        let total = *delivered.last().expect("there is one");
        match event {
            Event::Ack { gap, bytes, lost, in_flight, sample } => {
                now += gap;
                let total = total + bytes;
                // A policer drops a quarter of the data sent.
                let lost = if policed { &(bytes / 3) } else { lost };
                let sample = sample.as_ref().map(|drawn| {
                    let prior = delivered[delivered.len().saturating_sub(drawn.acks_ago)];
                    Sample {
                        delivered: (total - prior) as f64,
                        interval: drawn.rtt + drawn.wait,
                        prior_delivered: prior,
                        tx_in_flight: drawn.tx_in_flight as f64,
                        lost: drawn.lost as f64,
                        is_app_limited: drawn.app_limited,
                        rtt: drawn.clean.then_some(drawn.rtt),
                    }
                });
                delivered.push(total);
                let rs = Rs {
                    now,
                    newly_acked: *bytes as f64,
                    newly_lost: *lost as f64,
                    inflight: *in_flight as f64,
                    prior_inflight: (in_flight + bytes) as f64,
                    delivered: total,
                    has_selective_acks: selective,
                    sample,
                };
                theirs.ack(&rs);
                ours.on_delivery(&Ack {
                    now: at(now),
                    acked: Bytes(*bytes),
                    srtt,
                    in_flight: Bytes(*in_flight),
                    prior_in_flight: Bytes(in_flight + bytes),
                    lost: Bytes(*lost),
                    delivered: Bytes(total),
                    recovering,
                    selective,
                    rate: sample.map(|sample| RateSample {
                        delivered: Bytes(sample.delivered as u64),
                        interval: Span::from_micros(sample.interval),
                        prior_delivered: Bytes(sample.prior_delivered),
                        in_flight_at_send: Bytes(sample.tx_in_flight as u64),
                        lost: Bytes(sample.lost as u64),
                        app_limited: sample.is_app_limited,
                        rtt: sample.rtt.map(Span::from_micros),
                    }),
                    ..Ack::default()
                });
            }
            Event::Losses { count, step, in_flight, lost, recovers } => {
                for n in 0..*count {
                    seq += step * MSS;
                    let lost = lost + n * MSS;
                    let p = P {
                        now,
                        start: seq,
                        size: MSS as f64,
                        tx_in_flight: *in_flight as f64,
                        lost: lost as f64,
                        is_app_limited: false,
                    };
                    theirs.lost(&p);
                    ours.on_lost(&Loss {
                        now: at(now),
                        seq: Seq(seq as u32),
                        len: Bytes(MSS),
                        delivered: Bytes(total),
                        in_flight_at_send: Bytes(*in_flight),
                        lost_since_send: Bytes(lost),
                        delivered_since_send: Bytes(0),
                        app_limited: false,
                    });
                }
                if *recovers && !recovering {
                    recovering = true;
                    theirs.enter_recovery(now);
                    ours.on_congestion(&Congestion {
                        now: at(now),
                        signal: Signal::Loss,
                        in_flight: Bytes(0),
                    });
                }
            }
            Event::Timeout => {
                recovering = true;
                theirs.enter_rto(now);
                ours.on_congestion(&Congestion {
                    now: at(now),
                    signal: Signal::Timeout,
                    in_flight: Bytes(0),
                });
            }
            Event::Repaired if recovering => {
                recovering = false;
                theirs.exit_recovery();
                ours.on_repaired();
            }
            Event::Spurious if recovering => {
                theirs.spurious(now);
                ours.on_spurious(&Before { cwnd: Bytes(MSS), ssthresh: Bytes(MSS) });
            }
            Event::Repaired | Event::Spurious => {}
            Event::Send { gap, in_flight, app_limited } => {
                now += gap;
                theirs.transmit(now, *in_flight as f64, MSS as f64, *app_limited, Some(60_000));
                ours.on_send(&Departure {
                    now: at(now),
                    len: Bytes(MSS),
                    in_flight: Bytes(*in_flight),
                    app_limited: *app_limited,
                    srtt,
                });
            }
        }
        let (our_window, their_window) = (ours.cwnd().0 as f64, theirs.cwnd());
        prop_assert!(
            (our_window - their_window).abs() <= 2.0 + 1e-6 * their_window,
            "{our_window} B, definition {their_window} B after {event:?}"
        );
        let our_pace = ours.pacing_rate().expect("it paces").0 as f64;
        let their_pace = 8e6 * theirs.pacing_rate();
        prop_assert!(
            (our_pace - their_pace).abs() <= 2.0 + 1e-6 * their_pace,
            "{our_pace} bit/s, definition {their_pace} bit/s after {event:?}"
        );
    }
    Ok(())
}
