//! Aggregation of arrivals: the same trace segment by segment and merged, and bounds on the difference of each
//! controller's windows.
//!
//! The trace is that of a cell: each millisecond brings a burst of segments, or none. It is played segment by segment;
//! in runs of 2 to 40 consecutive segments, as merged by GRO; and as one report at the end of each millisecond. Windows
//! are compared and not applied, so that all variants process the same data.

use airwnd_catalog::{Node, Param};
use airwnd_kernel::Stream;
use airwnd_rwnd::{
    Advertisement, Device, DeviceLink, Incoming, Observer, Outgoing, ReceiverContext, Seq, Spec,
    TimestampClock, Timestamps, timestamps,
};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u32 = 1448;
const TICK: Span = Span::from_millis(1);
const BUFFER: Bytes = Bytes(1 << 24);

/// Bound on the difference of windows in nine of ten milliseconds. A controller that decides once per RTT may decide up
/// to two RTTs later. Windows for merged segments are therefore compared with the range of windows for single segments
/// within two RTTs.
struct Bound {
    rwnd: &'static str,
    /// Maximum difference outside that range, as a share of the window.
    share: f64,
    why: &'static str,
}

const BOUNDS: [Bound; 14] = [
    Bound { rwnd: r#"kind = "fixed""#, share: 0.0, why: "the window is constant" },
    Bound { rwnd: r#"kind = "oracle""#, share: 0.0, why: "the window depends on the link's figures only" },
    Bound {
        rwnd: "kind = \"autotuning\"\nvariant = \"linux-5.4\"\nmax = \"6 MiB\"",
        share: 0.2,
        why: "the maximum of bytes per RTT persists, and one RTT may contain one more burst",
    },
    Bound {
        rwnd: "kind = \"autotuning\"\nvariant = \"linux-6.18\"",
        share: 0.5,
        why: "as before, and the growth rate multiplies the burst",
    },
    Bound {
        rwnd: r#"kind = "drwa""#,
        share: 0.15,
        why: "an RTT may contain one more burst, and its mean has fewer samples",
    },
    Bound { rwnd: r#"kind = "dfcsd""#, share: 0.1, why: "as drwa; more where no queue can be measured" },
    Bound {
        rwnd: "kind = \"dfcsd\"\nupdate = \"step\"",
        share: 3.0,
        why: "when it begins to follow its target the window falls from four times the bytes of an RTT to those bytes",
    },
    Bound {
        rwnd: r#"kind = "rtac""#,
        share: 7.0,
        why: "the first mark is random, and reduces the window from four times the bytes of an RTT to half of them",
    },
    Bound { rwnd: r#"kind = "rtfc""#, share: 0.0, why: "the minimum sample is that of a burst" },
    Bound {
        rwnd: "kind = \"rtfc\"\nfilter = \"mean\"",
        share: 0.01,
        why: "samples are of whole ticks, few of which fall into a burst",
    },
    Bound {
        rwnd: r#"kind = "rledbat""#,
        share: 3.0,
        why: "slow start and each slowdown may end one RTT earlier or later, a factor of two",
    },
    Bound {
        rwnd: r#"kind = "standing""#,
        share: 1.0,
        why: "slow start may end one RTT earlier or later, a factor of two",
    },
    Bound {
        rwnd: r#"kind = "arwa""#,
        share: 0.0,
        why: "the window is constant; codes have a separate bound",
    },
    Bound { rwnd: "kind = \"arwa\"\ndelay = \"queueing\"", share: 0.0, why: "as before" },
];

/// Maximum difference in percentage points of the mean change of cwnd that ARWA's codes request. ARWA estimates after
/// 16 packets or more, and merging raises that number; a code that follows another closely is reduced by the earlier
/// one.
const CODES: f64 = 10.0;

/// Parameters of a trace: seed, base RTT, and maximum number of segments in a burst.
#[derive(Clone, Copy, Debug)]
struct Setting {
    seed: u64,
    base_ms: u64,
    burst: u64,
    /// Lost segments per thousand.
    lost: u64,
}

const LENGTH_MS: u64 = 4000;

/// Returns the arriving segments in chronological order.
fn trace(setting: Setting) -> Vec<(Time, Incoming)> {
    let mut random = Stream::new(setting.seed, "trace");
    let mut draw = |below: u64| random.next_u64() % below;
    let base = Span::from_millis(setting.base_ms);
    let (mut arrivals, mut next) = (Vec::new(), Seq(1));
    let mut lost: Vec<(Time, Seq)> = Vec::new();
    // The queueing delay rises or falls for some time, always more slowly than time passes; there is no queue in the
    // first RTTs.
    let (mut queue, mut slope, mut until, mut newest) = (0.0, 0.0, 4 * setting.base_ms, 0);
    for ms in setting.base_ms..LENGTH_MS {
        if ms >= until {
            slope = draw(101) as f64 / 100.0 - 0.5;
            until = ms + setting.base_ms * (1 + draw(8));
        }
        queue = f64::clamp(queue + slope, 0.0, 2.0 * setting.base_ms as f64);
        let rtt = base + Span((queue * 1e6) as u64);
        let segments = if draw(10) == 0 { 0 } else { 1 + draw(setting.burst) };
        for place in 0..segments {
            let now = Time(ms * 1_000_000 + place * 10_000);
            let is_again = lost.first().is_some_and(|(due, _)| *due <= now);
            let seq = if is_again {
                lost.remove(0).1
            } else {
                let seq = next;
                next += MSS;
                if draw(1000) < setting.lost && place > 0 {
                    lost.push((now + rtt, seq));
                    continue;
                }
                seq
            };
            let echoed = timestamps::ticks(TICK, now - rtt).max(newest);
            newest = echoed;
            let one_way_delay = rtt - base / 2;
            let segment = Incoming {
                seq,
                len: MSS,
                segments: 1,
                fin: false,
                timestamps: Some(Timestamps {
                    val: timestamps::ticks(TICK, now - one_way_delay),
                    ecr: echoed,
                }),
                one_way_delay: Some(one_way_delay),
            };
            arrivals.push((now, segment));
        }
    }
    arrivals
}

/// Merges consecutive segments of each millisecond while `joins`, given their number, returns true. `at` maps the time
/// of the last merged segment to the arrival time.
fn merge(
    whole: &[(Time, Incoming)],
    mut joins: impl FnMut(u32) -> bool,
    at: impl Fn(Time) -> Time,
) -> Vec<(Time, Incoming)> {
    let mut merged: Vec<(Time, Incoming)> = Vec::new();
    for &(now, segment) in whole {
        match merged.last_mut() {
            Some((last, run))
                if last.0 / 1_000_000 == now.0 / 1_000_000
                    && run.seq + run.len == segment.seq
                    && joins(run.segments) =>
            {
                *last = now;
                let (seq, len, segments) = (run.seq, run.len + segment.len, run.segments + 1);
                *run = Incoming { seq, len, segments, ..segment };
            }
            _ => merged.push((now, segment)),
        }
    }
    merged.iter().map(|(now, segment)| (at(*now), *segment)).collect()
}

/// Returns the controller's advertisement at the end of each millisecond. `asked`: number of calls of `window` each
/// time; if above one, also with each arrival.
fn decisions(spec: &Spec, base: Span, arrivals: &[(Time, Incoming)], asked: u32) -> Vec<Advertisement> {
    let mut control = spec.build(&ReceiverContext { mss: Bytes(u64::from(MSS)), buffer: BUFFER, seed: 1 });
    let mut observer = Observer::new(Bytes(u64::from(MSS)), false);
    observer.synchronise(Seq(0), Some(TimestampClock::Ticks(TICK)));
    observer.set_shift(14);
    let link = Some(DeviceLink { rate: BitRate(50_000_000), base_rtt: base });
    let mut advertised = Vec::new();
    let mut arrivals = arrivals.iter().peekable();
    for ms in 0..LENGTH_MS {
        let end = Time((ms + 1) * 1_000_000);
        while let Some((now, segment)) = arrivals.next_if(|(now, _)| *now < end) {
            let edge = observer.nxt() + BUFFER.0 as u32;
            observer.on_sent(*now, &Outgoing { ack: observer.nxt(), edge, ts_val: None });
            let observed = observer.on_segment(*now, segment);
            let received = Bytes(observer.received());
            let device = Device {
                connections: 2,
                min_received: Bytes(received.0 / 2),
                max_received: received,
                link,
                ..Device::default()
            };
            let view = observer.view(BUFFER, Bytes::ZERO, device);
            control.on_segment(&observed.arrival, &view);
            if observed.in_order > 0 {
                control.on_copied(*now, Bytes(u64::from(observed.in_order)), &view);
            }
            for _ in 1..asked {
                control.window(*now, &view);
            }
        }
        let device = Device { connections: 2, link, ..Device::default() };
        let view = observer.view(BUFFER, Bytes::ZERO, device);
        let now = control.window(end, &view);
        for _ in 1..asked {
            assert_eq!(control.window(end, &view), now);
        }
        control.on_advertised(end, &now);
        advertised.push(now);
    }
    advertised
}

fn bytes(advertised: &Advertisement) -> f64 {
    match advertised {
        Advertisement::Window(window) | Advertisement::Code { window, .. } => window.0 as f64,
    }
}

/// Returns, in ascending order over the milliseconds, the share by which windows of merged arrivals are outside the
/// range of windows of single segments within two RTTs.
fn excess(whole: &[Advertisement], merged: &[Advertisement], reach: usize) -> Vec<f64> {
    let mut all: Vec<f64> = merged
        .iter()
        .enumerate()
        .map(|(place, advertised)| {
            let near = &whole[place.saturating_sub(reach)..(place + reach + 1).min(whole.len())];
            let min = near.iter().map(bytes).fold(f64::INFINITY, f64::min);
            let max = near.iter().map(bytes).fold(0.0, f64::max);
            f64::max(0.0, f64::max(min / bytes(advertised), bytes(advertised) / max) - 1.0)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn read(text: &str) -> Spec {
    let node = Node::from_toml(text, "test").expect("valid TOML");
    Spec::read(&node).expect("a receive-window controller")
}

/// Returns the trace merged as by GRO, and as reports at the end of each millisecond.
fn merges(setting: Setting, whole: &[(Time, Incoming)]) -> [Vec<(Time, Incoming)>; 2] {
    let mut random = Stream::new(setting.seed, "runs");
    let gro = merge(whole, |segments| u64::from(segments) < 2 + random.next_u64() % 39, |last| last);
    let reports = merge(whole, |_| true, |last| Time(last.0 / 1_000_000 * 1_000_000 + 999_999));
    [gro, reports]
}

/// Returns the mean change of cwnd in percent that the codes request.
fn mean_change(advertised: &[Advertisement]) -> Option<f64> {
    let changes: Vec<f64> = advertised
        .iter()
        .filter_map(|advertised| match advertised {
            Advertisement::Code { code, .. } if code.get() <= 100 => Some(-f64::from(code.get())),
            Advertisement::Code { code, .. } => Some(f64::from(code.get()) - 100.0),
            Advertisement::Window(_) => None,
        })
        .collect();
    (!changes.is_empty()).then(|| changes.iter().sum::<f64>() / changes.len() as f64)
}

fn settings() -> impl Strategy<Value = Setting> {
    (0..1_000_000_u64, 20..150_u64, 2..46_u64, 0..4_u64).prop_map(|(seed, base_ms, burst, lost)| Setting {
        seed,
        base_ms,
        burst,
        lost,
    })
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() }
}

#[test]
fn every_controller_has_a_bound() {
    for kind in Spec::built_in() {
        assert!(BOUNDS.iter().any(|bound| read(bound.rwnd).kind() == kind), "no bound for {kind}");
    }
}

#[test]
fn merged_arrivals_change_windows_within_the_bounds() {
    proptest!(cases(16), |(setting in settings())| {
        let whole = trace(setting);
        let merged = merges(setting, &whole);
        let base = Span::from_millis(setting.base_ms);
        // With the queue an RTT is at most three times the base RTT.
        let reach = 2 * 3 * setting.base_ms as usize;
        for bound in &BOUNDS {
            let spec = read(bound.rwnd);
            let of_whole = decisions(&spec, base, &whole, 1);
            for arrivals in &merged {
                let of_merged = decisions(&spec, base, arrivals, 1);
                let excess = excess(&of_whole, &of_merged, reach);
                let found = excess[excess.len() * 9 / 10];
                prop_assert!(found <= bound.share, "{}: {found}, though {}", bound.rwnd, bound.why);
                let changes = mean_change(&of_whole).zip(mean_change(&of_merged));
                let differ = changes.map_or(0.0, |(one, other)| (one - other).abs());
                prop_assert!(differ <= CODES, "{}: {changes:?} % of cwnd", bound.rwnd);
            }
        }
    });
}

/// `window` has no side effects.
#[test]
fn repeated_calls_of_window_change_nothing() {
    proptest!(cases(4), |(setting in settings())| {
        let whole = trace(setting);
        let base = Span::from_millis(setting.base_ms);
        for bound in &BOUNDS {
            let spec = read(bound.rwnd);
            prop_assert_eq!(decisions(&spec, base, &whole, 1), decisions(&spec, base, &whole, 5));
        }
    });
}

/// Without timestamps an RTT sample is the time in which one window arrives: merged, it differs by at most a burst.
#[test]
fn an_rtt_sample_by_window_differs_by_at_most_a_burst() {
    let rtt = |arrivals: &[(Time, Incoming)], window: u32| {
        let mut observer = Observer::new(Bytes(u64::from(MSS)), false);
        observer.synchronise(Seq(0), None);
        observer.set_shift(10);
        let offer = |observer: &mut Observer, now| {
            let ack = observer.nxt();
            observer.on_sent(now, &Outgoing { ack, edge: ack + window, ts_val: None });
        };
        offer(&mut observer, Time::ZERO);
        for (now, segment) in arrivals {
            observer.on_segment(*now, segment);
            offer(&mut observer, *now);
        }
        observer.rtt().expect("several windows arrived")
    };
    // Ten segments per millisecond.
    let bursts: Vec<(Time, Incoming)> = (0..4000_u32)
        .map(|place| {
            let now = Time(u64::from(place / 10) * 1_000_000 + u64::from(place % 10) * 10_000);
            let (seq, one_way_delay) = (Seq(1) + place * MSS, None);
            let segment =
                Incoming { seq, len: MSS, segments: 1, fin: false, timestamps: None, one_way_delay };
            (now, segment)
        })
        .collect();
    for window in [35, 200, 1000] {
        let one = rtt(&bursts, window * MSS);
        for arrivals in merges(Setting { seed: 1, base_ms: 0, burst: 10, lost: 0 }, &bursts) {
            let other = rtt(&arrivals, window * MSS);
            assert!(one.0.abs_diff(other.0) <= 1_000_000, "{one} {other} for {window} segments");
        }
    }
}
