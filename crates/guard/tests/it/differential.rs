//! The guard and the simulator with the same trace: the windows of `Policy`, which processes reports of the kernel, and
//! those of the controller as the simulated endpoint drives it.
//!
//! The trace is generated: data, losses and RTTs of a cell. It does not depend on the windows, which are compared and
//! not applied, so that both sides process the same data. The simulated side is driven as in `receiver.rs` of
//! `airwnd-tcp`: each segment is processed and read at once, and each ACK asks for a window. The guard gets what the
//! eBPF program reports: with an ACK, at most once per millisecond.
//!
//! The recorded traces (`airwnd-guard --record`, made by `data/record.sh`) are downloads by a real kernel. Their windows
//! were applied, so that both sides must give those that the guard wrote.

use airwnd_catalog::{Node, Param};
use airwnd_guard::{Event, Observation, Policy, Recorded, Rules, TimestampUnit, read_recording};
use airwnd_kernel::Stream;
use airwnd_rwnd::{
    Advertisement, Device, Incoming, Observer, Outgoing, ReceiverContext, Seq, SeqRange, Spec,
    TimestampClock, Timestamps, timestamps,
};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

const MSS: u32 = 1448;
/// Bytes of the timestamps option, which the MSS of an observation includes.
const OPTION: u32 = 12;
const TICK: Span = Span::from_millis(1);
const SHIFT: u8 = 10;
const BUFFER: Bytes = Bytes((u16::MAX as u64) << SHIFT);
const FLOW: u64 = 7;
const REPORT_INTERVAL: Span = Span::from_millis(1);
const FLOOR: Bytes = Bytes(2 * MSS as u64);
const FIRST: Seq = Seq(u32::MAX - 50 * MSS);
const LENGTH_MS: u64 = 4000;

/// Controllers, each with the maximum difference for merged arrivals as a share of the window, and its reason.
const CONTROLLERS: [(&str, f64, &str); 6] = [
    (
        "kind = \"drwa\"\nqueue = \"round-trip\"\ncompetes = false",
        0.1,
        "an RTT may contain one more burst, and its mean has fewer samples",
    ),
    ("kind = \"drwa\"\nlambda = 1.5\nqueue = \"round-trip\"\ncompetes = false", 0.1, "as before"),
    ("kind = \"dfcsd\"", 0.1, "as drwa"),
    (
        "kind = \"dfcsd\"\nupdate = \"step\"",
        0.5,
        "it may begin to follow its target some RTTs earlier or later",
    ),
    (
        "kind = \"rledbat\"\nqueue = \"round-trip\"",
        3.5,
        "slow start and each slowdown may end some RTTs earlier or later, a factor of two each",
    ),
    ("kind = \"rtac\"", 0.5, "marks are random"),
];

/// Parameters of a trace: seed, base RTT, maximum number of segments in a millisecond.
#[derive(Clone, Copy, Debug)]
struct Setting {
    seed: u64,
    base_ms: u64,
    burst: u64,
    /// Lost runs per thousand.
    lost: u64,
}

/// Returns the data of each millisecond, as one run of segments with its arrival time, or nothing. A run has at least
/// two segments, so that it is acknowledged at once.
///
/// The queueing delay rises or falls for some time, always more slowly than time passes; there is no queue in the first
/// RTTs. A lost run arrives one RTT later, in place of other data.
fn trace(setting: Setting) -> Vec<(Time, Incoming)> {
    let mut random = Stream::new(setting.seed, "trace");
    let mut draw = |below: u64| random.next_u64() % below;
    let base = Span::from_millis(setting.base_ms);
    let (mut arrivals, mut next) = (Vec::new(), FIRST + 1);
    let mut lost: Vec<(Time, Seq, u32)> = Vec::new();
    let (mut queue, mut slope, mut until, mut newest) = (0.0, 0.0, 4 * setting.base_ms, 0);
    for ms in setting.base_ms..LENGTH_MS {
        if ms >= until {
            slope = draw(101) as f64 / 100.0 - 0.5;
            until = ms + setting.base_ms * (1 + draw(8));
        }
        queue = f64::clamp(queue + slope, 0.0, 2.0 * setting.base_ms as f64);
        let rtt = base + Span((queue * 1e6) as u64);
        let now = Time(ms * 1_000_000);
        let is_again = lost.first().is_some_and(|(due, ..)| *due <= now);
        let (seq, segments) = if is_again {
            let (_, seq, segments) = lost.remove(0);
            (seq, segments)
        } else if draw(10) == 0 {
            continue;
        } else {
            let (seq, segments) = (next, 2 + draw(setting.burst - 1) as u32);
            next += segments * MSS;
            if draw(1000) < setting.lost {
                lost.push((now + rtt, seq, segments));
                continue;
            }
            (seq, segments)
        };
        newest = timestamps::ticks(TICK, now - rtt).max(newest);
        let val = timestamps::ticks(TICK, now - (rtt - base / 2));
        arrivals.push((
            now,
            Incoming {
                seq,
                len: segments * MSS,
                segments,
                fin: false,
                timestamps: Some(Timestamps { val, ecr: newest }),
                one_way_delay: None,
            },
        ));
    }
    arrivals
}

/// Returns the segments of each run one by one, 10 µs apart.
fn single(runs: &[(Time, Incoming)]) -> Vec<(Time, Incoming)> {
    let split = |(now, run): &(Time, Incoming)| {
        let (now, run) = (*now, *run);
        (0..run.segments).map(move |place| {
            let segment = Incoming { seq: run.seq + place * MSS, len: MSS, segments: 1, ..run };
            (now + Span(u64::from(place) * 10_000), segment)
        })
    };
    runs.iter().flat_map(split).collect()
}

/// Returns the window that the simulated receiver asks for after each arrival.
fn simulated(spec: &Spec, arrivals: &[(Time, Incoming)]) -> Vec<Bytes> {
    let mss = Bytes(u64::from(MSS));
    let mut control = spec.build(&ReceiverContext { mss, buffer: BUFFER, seed: FLOW });
    let mut observer = Observer::new(mss, false);
    observer.synchronise(FIRST, Some(TimestampClock::Ticks(TICK)));
    observer.set_shift(SHIFT);
    let offer = |observer: &mut Observer, now| {
        let ack = observer.nxt();
        observer.on_sent(now, &Outgoing { ack, edge: ack + BUFFER.0 as u32, ts_val: None });
    };
    offer(&mut observer, Time::ZERO);
    let windows = arrivals.iter().map(|(now, segment)| {
        let observed = observer.on_segment(*now, segment);
        let received = Bytes(observer.received());
        let device =
            Device { connections: 1, min_received: received, max_received: received, ..Device::default() };
        let view = observer.view(BUFFER, Bytes::ZERO, device);
        control.on_segment(&observed.arrival, &view);
        if observed.in_order > 0 {
            control.on_copied(*now, Bytes(u64::from(observed.in_order)), &view);
        }
        let advertised = control.window(*now, &view);
        offer(&mut observer, *now);
        control.on_advertised(*now, &advertised);
        match advertised {
            Advertisement::Window(window) | Advertisement::Code { window, .. } => window.max(FLOOR),
        }
    });
    windows.collect()
}

/// Returns the reports of the eBPF program about these arrivals, each with the number of arrivals before it. Every
/// second segment is acknowledged, and at once what leaves, fills or follows a gap.
fn reports(arrivals: &[(Time, Incoming)]) -> Vec<(usize, Observation)> {
    // The state of the kernel: what has arrived, without any estimate.
    let mut kernel = Observer::new(Bytes(u64::from(MSS)), false);
    kernel.synchronise(FIRST, None);
    let edge = |ack: Seq| ack + BUFFER.0 as u32;
    let handshake = Observation {
        time: arrivals[0].0 - Span::from_millis(20),
        flow: FLOW,
        cgroup: 0,
        event: Event::Ack,
        ack: kernel.nxt(),
        edge: edge(kernel.nxt()),
        range: SeqRange::default(),
        segments: 0,
        timestamps: arrivals[0].1.timestamps,
        ack_ts_val: None,
        unit: TimestampUnit::Milliseconds,
        mss: MSS + OPTION,
        unread: Bytes::ZERO,
        free: BUFFER,
        clamp: None,
        min_rtt: None,
        lan_rtt: None,
        interface: 1,
        local: SocketAddr::new([192, 0, 2, 1].into(), 40_000),
        remote: SocketAddr::new([198, 51, 100, 1].into(), 443),
        shift: SHIFT,
    };
    let mut reported = vec![(0, handshake.clone())];
    let mut state = handshake;
    let mut unacknowledged = 0;
    for (place, (now, segment)) in arrivals.iter().enumerate() {
        let ack = kernel.nxt();
        kernel.on_sent(*now, &Outgoing { ack, edge: edge(ack), ts_val: None });
        let had_gap = kernel.has_gap();
        let observed = kernel.on_segment(*now, segment);
        // The newest block of SACK; none without a gap.
        state.range = observed.early.unwrap_or(state.range);
        if !kernel.has_gap() {
            state.range = SeqRange::default();
        }
        state.segments += segment.segments;
        state.timestamps = segment.timestamps;
        unacknowledged += segment.segments;
        if unacknowledged < 2 && !had_gap && !kernel.has_gap() {
            continue;
        }
        unacknowledged = 0;
        if now.since(state.time) >= REPORT_INTERVAL {
            state.time = *now;
            state.ack = kernel.nxt();
            state.edge = edge(state.ack);
            reported.push((place + 1, state.clone()));
        }
    }
    reported
}

/// Returns the window after each report; `None`: the receiver's own.
fn guarded(spec: &Spec, reports: &[(usize, Observation)]) -> Vec<Option<Bytes>> {
    let mut policy = Policy::new(Rules::all(spec.clone()));
    let mut window = |seen| policy.on_observation(seen).expect("the flow is open").window;
    reports.iter().map(|(_, seen)| window(seen)).collect()
}

fn read(text: &str) -> Spec {
    let node = Node::from_toml(text, "test").expect("valid TOML");
    Spec::read(&node).expect("a receive-window controller")
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

/// Returns the place of the first window that the guard sets. It sets all later ones.
fn controlled_from(windows: &[Option<Bytes>]) -> Option<usize> {
    let first = windows.iter().position(Option::is_some)?;
    windows[first..].iter().all(Option::is_some).then_some(first)
}

/// Where each report describes one arrival, merged or single, the windows are equal from the first one on that the
/// guard sets: after four round trips.
#[test]
fn with_a_report_per_arrival_the_windows_are_equal() {
    proptest!(cases(16), |(setting in settings())| {
        let runs = trace(setting);
        let reports = reports(&runs);
        prop_assert_eq!(reports.len(), runs.len() + 1);
        for (text, ..) in CONTROLLERS {
            let spec = read(text);
            let simulated = simulated(&spec, &runs);
            let guarded = guarded(&spec, &reports);
            let first = controlled_from(&guarded);
            prop_assert!(first.is_some_and(|first| reports[first].1.time < Time::ZERO + Span::from_secs(2)),
                "{text}: {first:?}");
            prop_assert!(guarded.iter().flatten().any(|window| Some(*window) != guarded[reports.len() - 1]));
            for place in first.unwrap_or_default()..reports.len() {
                let (arrived, seen) = &reports[place];
                let window = simulated[arrived - 1];
                prop_assert_eq!(guarded[place], Some(window), "{} at {:?}", text, seen.time);
            }
        }
    });
}

/// The least or the most of ranges whose ends both move forward, each value considered once.
struct Extremes {
    precedes: fn(&f64, &f64) -> bool,
    /// Values that may still be the extreme one, the present one first.
    candidates: VecDeque<usize>,
    end: usize,
}

impl Extremes {
    fn new(precedes: fn(&f64, &f64) -> bool) -> Extremes {
        Extremes { precedes, candidates: VecDeque::new(), end: 0 }
    }

    fn within(&mut self, values: &[f64], range: Range<usize>) -> f64 {
        for place in self.end..range.end {
            while self.candidates.back().is_some_and(|last| !(self.precedes)(&values[*last], &values[place]))
            {
                self.candidates.pop_back();
            }
            self.candidates.push_back(place);
        }
        self.end = range.end;
        while self.candidates.front().is_some_and(|first| *first < range.start) {
            self.candidates.pop_front();
        }
        values[self.candidates[0]]
    }
}

/// Returns, in ascending order over the reports, the share by which the guard's window is outside the range of the
/// simulated ones within `reach`.
fn excess(
    reports: &[(usize, Observation)],
    guarded: &[Option<Bytes>],
    arrivals: &[(Time, Incoming)],
    simulated: &[Bytes],
    reach: Span,
) -> Vec<f64> {
    let windows: Vec<f64> = simulated.iter().map(|window| window.0 as f64).collect();
    let (mut min, mut max) = (Extremes::new(f64::lt), Extremes::new(f64::gt));
    let mut all = Vec::new();
    for ((_, seen), window) in reports.iter().zip(guarded) {
        let Some(window) = window else { continue };
        let window = window.0 as f64;
        let from = arrivals.partition_point(|(now, _)| *now + reach < seen.time);
        let to = arrivals.partition_point(|(now, _)| *now <= seen.time + reach);
        let [min, max] = [&mut min, &mut max].map(|extremes| extremes.within(&windows, from..to));
        all.push(f64::max(0.0, f64::max(min / window, window / max) - 1.0));
    }
    all.sort_by(f64::total_cmp);
    all
}

/// Where a report describes all segments of a millisecond, nine of ten windows differ from those for single segments by
/// at most a share of the window. A report comes up to a millisecond later, and a controller that decides once per RTT
/// may decide up to two RTTs later; windows are therefore compared with the range of windows within two RTTs.
#[test]
fn with_a_report_per_millisecond_the_windows_differ_within_the_bounds() {
    proptest!(cases(12), |(setting in settings())| {
        let arrivals = single(&trace(setting));
        let reports = reports(&arrivals);
        // With the queue an RTT is at most three times the base RTT.
        let reach = Span::from_millis(2 * 3 * setting.base_ms);
        for (text, bound, why) in CONTROLLERS {
            let spec = read(text);
            let guarded = guarded(&spec, &reports);
            prop_assert!(controlled_from(&guarded).is_some());
            let excess = excess(&reports, &guarded, &arrivals, &simulated(&spec, &arrivals), reach);
            let found = excess[excess.len() * 9 / 10];
            prop_assert!(found <= bound, "{text}: {found}, though {why}");
        }
    });
}

/// Recorded downloads with the controller of the guard, which had the laws of the paper and of the RFC then.
const RECORDINGS: [(&str, &[u8]); 3] = [
    (
        "kind = \"drwa\"\nlambda = 1.5\nqueue = \"round-trip\"\ncompetes = false",
        include_bytes!("../data/drwa.record"),
    ),
    ("kind = \"dfcsd\"\nupdate = \"step\"", include_bytes!("../data/dfcsd.record")),
    ("kind = \"rledbat\"\nqueue = \"round-trip\"", include_bytes!("../data/rledbat.record")),
];

/// Returns the observations of a recording with the windows that the guard wrote.
fn recorded(bytes: &[u8]) -> Vec<(Observation, Option<Bytes>)> {
    let records = read_recording(bytes).expect("a recording");
    let answered = records.into_iter().filter_map(|record| match record.what {
        Recorded::Seen(seen, Some(target)) => Some((seen, target.window)),
        _ => None,
    });
    answered.collect()
}

#[test]
fn a_recording_replayed_gives_the_windows_that_the_guard_wrote() {
    for (text, bytes) in RECORDINGS {
        let mut policy = Policy::new(Rules::all(read(text)));
        let mut windows = 0;
        for record in read_recording(bytes).expect("a recording") {
            match record.what {
                Recorded::Seen(seen, target) => {
                    assert_eq!(policy.on_observation(&seen), target, "{text} at {:?}", seen.time);
                    windows += usize::from(target.is_some_and(|target| target.window.is_some()));
                }
                Recorded::RoutesChanged(interface) => policy.forget_paths(interface),
                Recorded::Counted(interface, carried) => policy.note_carried(interface, carried),
                Recorded::RulesRead => policy.set_rules(Rules::all(read(text))),
            }
        }
        assert!(windows > 400, "{text}: {windows}");
    }
}

/// Returns the data that has arrived since the last observation, as far as `receiver` has not received it.
fn arrived(receiver: &Observer, seen: &Observation, segments: u32) -> Vec<Incoming> {
    let mut beyond = seen.range;
    while let Some(known) = receiver.already_received(beyond).filter(|known| known.start == beyond.start) {
        if known.is_empty() {
            break;
        }
        beyond.start = known.end;
    }
    let in_order = SeqRange { start: receiver.nxt(), end: seen.ack };
    let runs = [in_order, beyond].into_iter().filter(|run| run.start.is_before(run.end));
    let timestamps = seen.timestamps;
    let arrival = |(place, run): (usize, SeqRange)| Incoming {
        seq: run.start,
        len: run.end - run.start,
        segments: if place == 0 { segments.max(1) } else { 1 },
        fin: false,
        timestamps,
        one_way_delay: None,
    };
    runs.enumerate().map(arrival).collect()
}

/// Returns the windows that the simulated receiver asks for with the data of a recording. It offers the edges that the
/// kernel has offered, and knows the kernel's minimum RTT.
fn simulated_recording(spec: &Spec, trace: &[(Observation, Option<Bytes>)]) -> Vec<Bytes> {
    let (first, _) = &trace[0];
    let option = if first.timestamps.is_some() { OPTION } else { 0 };
    let mss = Bytes(u64::from(first.mss - option));
    let buffer = Bytes(u64::from(u16::MAX) << first.shift);
    let mut control = spec.build(&ReceiverContext { mss, buffer, seed: first.flow });
    let mut receiver = Observer::new(mss, false);
    receiver.synchronise(first.ack - 1, Some(TimestampClock::Ticks(TICK)));
    receiver.set_shift(first.shift);
    let (mut copied, mut segments, mut min) = (0, first.segments, None);
    let windows = trace.iter().map(|(seen, _)| {
        let now = seen.time;
        receiver.on_sent(now, &Outgoing { ack: receiver.nxt(), edge: seen.edge, ts_val: None });
        let received = Bytes(receiver.received());
        let device =
            Device { connections: 1, min_received: received, max_received: received, ..Device::default() };
        for segment in arrived(&receiver, seen, seen.segments.wrapping_sub(segments)) {
            let observed = receiver.on_segment(now, &segment);
            control.on_segment(&observed.arrival, &receiver.view(seen.free, seen.unread, device));
        }
        segments = seen.segments;
        receiver.on_sent(now, &Outgoing { ack: seen.ack, edge: seen.edge, ts_val: None });
        let view = receiver.view(seen.free, seen.unread, device);
        let read = receiver.received().saturating_sub(seen.unread.0);
        if read > copied {
            control.on_copied(now, Bytes(read - copied), &view);
            copied = read;
        }
        let shortest = seen.min_rtt.into_iter().chain(receiver.rtt()).min();
        if let Some(rtt) = shortest.filter(|rtt| min.is_none_or(|min| *rtt < min)) {
            min = Some(rtt);
            control.on_path_rtt(now, rtt);
        }
        let advertised = control.window(now, &view);
        control.on_advertised(now, &advertised);
        match advertised {
            Advertisement::Window(window) | Advertisement::Code { window, .. } => window.max(mss * 2),
        }
    });
    windows.collect()
}

/// Equal, through losses and after them, from the first window on that the guard sets.
#[test]
fn the_simulated_receiver_gives_the_windows_of_a_recording() {
    for (text, bytes) in RECORDINGS {
        let trace = recorded(bytes);
        let has_losses = trace.iter().any(|(seen, _)| seen.range != SeqRange::default());
        assert!(has_losses, "{text}");
        for ((seen, written), simulated) in trace.iter().zip(simulated_recording(&read(text), &trace)) {
            if let Some(written) = written {
                assert_eq!(*written, simulated, "{text} at {:?}", seen.time);
            }
        }
    }
}
