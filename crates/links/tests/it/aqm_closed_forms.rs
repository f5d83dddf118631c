//! Queue disciplines under loads with known solutions.

use airwnd_catalog::{Node, Param};
use airwnd_kernel::{Codepoint, Key, Stream};
use airwnd_links::aqm::{Cause, QueueContext, QueueDisc, QueueEvents, Spec, Waiting};
use airwnd_units::{Bytes, Span, Time};

/// Service time of a packet.
const SERVICE: Span = Span::from_millis(1);

fn discipline(toml: &str) -> Box<dyn QueueDisc> {
    let ctx = QueueContext { stream: Stream::new(1, "test queue"), rate: None, identity: Default::default() };
    Spec::read(&Node::from_toml(toml, "test").unwrap()).unwrap().build(&ctx)
}

/// A constant stream of packets of one flow.
#[derive(Clone, Copy)]
struct Source {
    flow: u32,
    size: Bytes,
    gap: Span,
    ecn: Codepoint,
}

/// Counters of a flow's packets.
#[derive(Clone, Debug, Default)]
struct Figures {
    sent: u64,
    dropped_at: Vec<Time>,
    marked: u64,
    /// Waiting times of sent packets in seconds.
    waits: Vec<f64>,
}

impl Figures {
    fn dropped_share(&self) -> f64 {
        self.dropped_at.len() as f64 / (self.sent as f64 + self.dropped_at.len() as f64)
    }
    fn marked_share(&self) -> f64 {
        self.marked as f64 / self.sent as f64
    }
    fn mean_wait(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len() as f64
    }
    fn max_wait(&self) -> f64 {
        self.waits.iter().copied().fold(0.0, f64::max)
    }
}

struct Noted<'a> {
    now: Time,
    counts: bool,
    figures: &'a mut [Figures],
}

impl QueueEvents for Noted<'_> {
    fn dropped(&mut self, packet: Waiting, cause: Cause) {
        assert_eq!(cause, Cause::Early, "the queue must not become full");
        if self.counts {
            self.figures[packet.flow as usize].dropped_at.push(self.now);
        }
    }
    fn marked(&mut self, packet: Key) {
        self.figures[packet.0 as usize].marked += u64::from(self.counts);
    }
}

/// Runs unresponsive sources, served one packet per millisecond; counters start at `from`.
fn run(toml: &str, sources: &[Source], from: Span, until: Span) -> Vec<Figures> {
    let mut queue = discipline(toml);
    let mut figures = vec![Figures::default(); sources.len()];
    // The sources have different phases.
    let mut next: Vec<Time> =
        (0..sources.len() as u64).map(|number| Time::ZERO + Span::from_micros(37) * number).collect();
    let mut free = Time::ZERO;
    while free < Time::ZERO + until {
        while let Some(source) =
            (0..sources.len()).filter(|one| next[*one] <= free).min_by_key(|one| next[*one])
        {
            let (now, Source { flow, size, gap, ecn }) = (next[source], sources[source]);
            let mut noted = Noted { now, counts: now >= Time::ZERO + from, figures: &mut figures };
            let packet = Waiting { packet: Key(flow), size, arrived: now, flow, ecn };
            queue.enqueue(now, packet, Bytes::ZERO, &mut noted);
            next[source] += gap;
        }
        let counts = free >= Time::ZERO + from;
        let mut noted = Noted { now: free, counts, figures: &mut figures };
        if let Some(packet) = queue.dequeue(free, &mut noted)
            && counts
        {
            let figures = &mut figures[packet.flow as usize];
            figures.sent += 1;
            figures.waits.push((free - packet.arrived).as_secs());
        }
        free += SERVICE;
    }
    figures
}

/// Returns a flow of 1000-byte packets with `load` times the service rate.
fn overload(load: f64) -> Source {
    let gap = Span::from_secs_f64(SERVICE.as_secs() / load);
    Source { flow: 0, size: Bytes(1000), gap, ecn: Codepoint::NotEct }
}

/// RFC 8289 §5.6: the n-th drop of a dropping state is followed by the next after interval / sqrt(n), in whole service
/// times.
#[test]
fn codel_drop_times_follow_the_inverse_square_root() {
    let figures =
        run("kind = \"codel\"\npackets = 100_000", &[overload(1.5)], Span::ZERO, Span::from_secs(5));
    let drops = &figures[0].dropped_at;
    assert!(drops.len() > 400, "{}", drops.len());
    for n in 1..=400 {
        let since_first = (drops[n - 1] - drops[0]).as_secs();
        let expected: f64 = (1..n).map(|count| 0.1 / (count as f64).sqrt()).sum();
        assert!((since_first - expected).abs() <= 1.01 * SERVICE.as_secs(), "{n}: {since_first} {expected}");
    }
}

/// Under an unresponsive load the drop probability must equal the excess, 1 - 1 / load, and the integral part settles
/// with the delay at its target.
#[test]
fn pie_settles_at_the_excess_load() {
    for (load, estimator) in
        [(1.05, "timestamps"), (1.2, "timestamps"), (1.2, "departure-rate"), (2.0, "timestamps")]
    {
        let pie = format!(
            "kind = \"pie\"\nderandomize = false\npackets = 10_000\nestimator = \"{estimator}\"\ndq_threshold = \"8000B\""
        );
        let figures = run(&pie, &[overload(load)], Span::from_secs(100), Span::from_secs(400));
        let (share, wait) = (figures[0].dropped_share(), figures[0].mean_wait());
        println!("{estimator}, load {load}: {share:.4} dropped, {:.4}, delay {wait:.4} s", 1.0 - 1.0 / load);
        assert!((share - (1.0 - 1.0 / load)).abs() < 0.002, "{load}: {share}");
        assert!((wait / 0.015 - 1.0).abs() < 0.15, "{load}: {wait} s");
    }
}

/// RFC 9332 §2.1: p_C = (p_CL / k)^2. An unresponsive classic load loses p_C = 1 - 1 / load of its packets. A sparse
/// L4S flow, each packet of which leaves at once, has k sqrt(p_C) of its packets marked.
#[test]
fn dualpi2_couples_by_the_square() {
    for (load, k) in [(1.02, 2.0), (1.1, 2.0), (1.1, 1.0)] {
        let sparse =
            Source { flow: 1, size: Bytes(1000), gap: Span::from_micros(19_003), ecn: Codepoint::Ect1 };
        let dualpi2 = format!("kind = \"dualpi2\"\nk = {k:?}");
        let sources = [overload(load), sparse];
        let figures = run(&dualpi2, &sources, Span::from_secs(50), Span::from_secs(500));
        let served = 1.0 - SERVICE.as_secs() / sparse.gap.as_secs();
        let classic = 1.0 - served / load;
        let (dropped, marked) = (figures[0].dropped_share(), figures[1].marked_share());
        println!(
            "load {load}, k {k}: {dropped:.4} dropped, {classic:.4}; {marked:.4} marked, {:.4}",
            k * classic.sqrt()
        );
        assert!((dropped / classic - 1.0).abs() < 0.02, "{dropped} {classic}");
        assert!((marked / (k * classic.sqrt()) - 1.0).abs() < 0.03, "{marked}");
        assert!((figures[0].mean_wait() / 0.015 - 1.0).abs() < 0.1, "{} s", figures[0].mean_wait());
        assert!(figures[1].max_wait() <= 2.0 * SERVICE.as_secs(), "{} s", figures[1].max_wait());
    }
}

/// RFC 9332 appendix A.2: L4S packets of a sender that ignores marks are dropped like classic ones, and do not wait
/// longer.
#[test]
fn dualpi2_drops_packets_of_senders_that_ignore_marks() {
    let unresponsive = Source { ecn: Codepoint::Ect1, ..overload(1.5) };
    let figures = run("kind = \"dualpi2\"", &[unresponsive], Span::from_secs(50), Span::from_secs(200));
    assert!((figures[0].dropped_share() - 1.0 / 3.0).abs() < 0.002, "{}", figures[0].dropped_share());
    assert!((figures[0].mean_wait() / 0.015 - 1.0).abs() < 0.1, "{} s", figures[0].mean_wait());
    assert_eq!(figures[0].marked_share(), 1.0);
}

/// RFC 8290 §4: a flow that sends less than its share finds its queue empty and is new. It waits at most for the packet
/// in transmission and those of other new flows; in a shared queue it would wait as long as the others.
#[test]
fn fair_queues_isolate_a_sparse_flow() {
    let bulk = |flow| Source { flow, gap: Span::from_micros(1900), ..overload(1.0) };
    let sparse = Source { flow: 3, size: Bytes(100), gap: Span::from_micros(20_007), ecn: Codepoint::NotEct };
    let sources = [bulk(0), bulk(1), bulk(2), sparse];
    for kind in ["fq-codel", "fq-pie", "fq-cobalt"] {
        let each = kind.strip_prefix("fq-").unwrap();
        let fair = run(&format!("kind = \"{kind}\""), &sources, Span::from_secs(10), Span::from_secs(60));
        let one = run(
            &format!("kind = \"{each}\"\npackets = 100_000"),
            &sources,
            Span::from_secs(10),
            Span::from_secs(60),
        );
        println!("{kind}: {:?}", fair.iter().map(Figures::mean_wait).collect::<Vec<_>>());
        assert!(fair[3].max_wait() <= SERVICE.as_secs(), "{kind}: {} s", fair[3].max_wait());
        assert!(fair[3].dropped_at.is_empty(), "{kind}");
        assert!(one[3].mean_wait() > 5.0 * fair[3].mean_wait(), "{each}: {} s", one[3].mean_wait());
        let shares: Vec<f64> = fair[..3].iter().map(|bulk| bulk.sent as f64).collect();
        assert!(shares.iter().all(|share| (share / shares[0] - 1.0).abs() < 0.01), "{kind}: {shares:?}");
    }
}

/// Deficit round robin shares bytes, not packets.
#[test]
fn small_packets_get_an_equal_share_of_bytes() {
    let small = Source { flow: 0, size: Bytes(300), gap: Span::from_micros(600), ecn: Codepoint::NotEct };
    let large = Source { flow: 1, size: Bytes(1500), ..small };
    let figures = run(
        "kind = \"fq-codel\"\nquantum = \"1500B\"\npackets = 100_000",
        &[small, large],
        Span::from_secs(5),
        Span::from_secs(20),
    );
    let bytes = [300.0 * figures[0].sent as f64, 1500.0 * figures[1].sent as f64];
    assert!((bytes[0] / bytes[1] - 1.0).abs() < 0.01, "{bytes:?}");
}

#[derive(Default)]
struct Causes {
    full: u64,
    early: u64,
}

impl QueueEvents for Causes {
    fn dropped(&mut self, _: Waiting, cause: Cause) {
        match cause {
            Cause::Full => self.full += 1,
            Cause::Early => self.early += 1,
        }
    }
    fn marked(&mut self, _: Key) {}
}

/// An unresponsive load of 2, for which CoDel drops too little for a long time: when the buffer overflows BLUE takes
/// over, until it drops the excess and the buffer has room.
#[test]
fn cobalt_settles_at_the_excess_load() {
    let mut queue = discipline("kind = \"cobalt\"\npackets = 50\nincrement = 0.01");
    let mut causes = Causes::default();
    for ms in 0..100_000u64 {
        let now = Time::ZERO + SERVICE * ms;
        let packet =
            Waiting { packet: Key(0), size: Bytes(1000), arrived: now, flow: 0, ecn: Codepoint::NotEct };
        for _ in 0..2 {
            queue.enqueue(now, packet, Bytes::ZERO, &mut causes);
        }
        queue.dequeue(now, &mut causes);
        if ms == 90_000 {
            causes = Causes::default();
        }
    }
    let share = causes.early as f64 / 20_000.0;
    println!("{share:.3} dropped early, {} on overflow", causes.full);
    assert!((share - 0.5).abs() < 0.02 && causes.full < causes.early / 20, "{share} {}", causes.full);
}

/// An overload of 5 % requires a drop of one packet in 21, p' = 1 - 1 / 1.05. Gaps between drops have a mean of 1 / p,
/// (1 + 1 / p) / 2 or 3 / (2 p), depending on spacing. So p follows from p', and the queue from the inverse of the
/// curve.
#[test]
fn red_settles_where_its_curve_drops_the_excess() {
    let needed = 1.0 - 1.0 / 1.05;
    for (spacing, p) in [("none", needed), ("uniform", 1.0 / (2.0 / needed - 1.0)), ("wait", 1.5 * needed)] {
        let expected = 20.0 + 40.0 * p / 0.1;
        for kind in ["red", "gentle-red"] {
            let toml = format!(
                "kind = \"{kind}\"\nmin_th = 20.0\nmax_th = 60.0\nmax_p = 0.1\nspacing = \"{spacing}\"\npackets = 1000"
            );
            let figures = run(&toml, &[overload(1.05)], Span::from_secs(20), Span::from_secs(300));
            let queue = figures[0].mean_wait() / SERVICE.as_secs();
            println!("{kind}, {spacing}: {queue:.2} / {expected:.2} packets");
            assert!((figures[0].dropped_share() / needed - 1.0).abs() < 0.03, "{figures:?}");
            assert!((queue / expected - 1.0).abs() < 0.05, "{kind}, {spacing}: {queue} {expected}");
        }
    }
}

/// If the excess is within SmRED's jump, from max_p / 2^i to max_p / 2^(1/i), the average settles at Target.
#[test]
fn smred_settles_at_its_jump() {
    for i in [2, 4] {
        let toml = format!("kind = \"smred\"\ni = {i}\npackets = 1000");
        let figures = run(&toml, &[overload(1.05)], Span::from_secs(20), Span::from_secs(300));
        let queue = figures[0].mean_wait() / SERVICE.as_secs();
        println!("smred, {i}: {queue:.2} / 40 packets");
        assert!((queue / 40.0 - 1.0).abs() < 0.05, "SmRED-{i}: {queue}");
    }
}

/// Adaptive RED adapts max_p until the average is within the middle fifth between 20 and 60 packets.
#[test]
fn adaptive_red_moves_its_curve_to_the_middle() {
    for load in [1.02, 1.1, 1.3] {
        let toml = "kind = \"adaptive-red\"\nmin_th = 20.0\nmax_th = 60.0\npackets = 1000";
        let figures = run(toml, &[overload(load)], Span::from_secs(60), Span::from_secs(300));
        let queue = figures[0].mean_wait() / SERVICE.as_secs();
        println!("adaptive-red, {load}: {queue:.2} packets");
        assert!((36.0..44.0).contains(&queue), "{load}: {queue}");
    }
}
