//! The measured Linux cases, and the same cases with our endpoints.

use crate::support::{Link, Net};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::stack::Ecn;
use airwnd_tcp::{Config, Segment, Seq, Stack, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

pub const MSS: u64 = 1448;
/// CUBIC with Linux's additions to RFC 9438.
const CUBIC: &str = "kind = \"cubic\"\nvariant = \"linux\"\nslow_start = \"hystart\"";
const SUMMARY: &str = include_str!("data/summary.csv");
const WINDOWS: &str = include_str!("data/windows.csv");
const PACKETS: &str = include_str!("data/packets.csv");

/// A line of a table by column name.
pub type Row = BTreeMap<&'static str, &'static str>;

/// Returns the rows of a case.
fn rows(table: &'static str, case: &str) -> Vec<Row> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<_> = lines.next().expect("a table has a head").split(',').collect();
    lines
        .map(|line| names.iter().copied().zip(line.split(',')).collect::<Row>())
        .filter(|row| row["case"] == case)
        .collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {} is {:?}", row["case"], row[column]))
}

/// Totals of a run.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    pub goodput_kbps: f64,
    pub queueing_ms: f64,
    pub retransmissions: f64,
    pub timeouts: f64,
    pub probes: f64,
}

/// A packet at the entry of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub at_ms: f64,
    pub what: What,
}

/// Contents of a packet; segments are counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Data(u64),
    Ack { acked: u64, sack: Vec<(u64, u64)>, window: u64 },
}

/// A run of Linux.
pub struct Theirs {
    pub sums: Sums,
    pub packets: Vec<Packet>,
    windows: Vec<Row>,
}

impl Theirs {
    /// Returns a column of the samples (every 100 ms), with times in ms.
    pub fn series(&self, column: &str) -> Vec<(f64, f64)> {
        self.windows.iter().map(|row| (number(row, "t_ms"), number(row, column))).collect()
    }
}

/// A run of our endpoints.
pub struct Ours {
    pub sums: Sums,
    pub packets: Vec<Packet>,
    /// Time in ms, cwnd in segments, advertised window in bytes, every 100 ms.
    pub windows: Vec<(f64, f64, f64)>,
}

pub fn theirs(case: &str) -> Theirs {
    let row = summary(case);
    let sums = Sums {
        goodput_kbps: number(&row, "goodput_kbps"),
        queueing_ms: number(&row, "queueing_ms"),
        retransmissions: number(&row, "retransmissions"),
        timeouts: number(&row, "timeouts"),
        probes: number(&row, "loss_probes"),
    };
    Theirs { sums, packets: rows(PACKETS, case).iter().map(packet).collect(), windows: rows(WINDOWS, case) }
}

fn summary(case: &str) -> Row {
    rows(SUMMARY, case).pop().unwrap_or_else(|| panic!("case {case} was not measured"))
}

fn packet(row: &Row) -> Packet {
    let whole = |text: &str| text.parse().expect("a whole number");
    let what = if row["kind"] == "data" {
        What::Data(whole(row["segment"]))
    } else {
        let sack = row["sack"].split_whitespace().map(|block| {
            let (first, last) = block.split_once('-').expect("two segments");
            (whole(first), whole(last))
        });
        What::Ack { acked: whole(row["acked"]), sack: sack.collect(), window: whole(row["window"]) }
    };
    Packet { at_ms: number(row, "t_us") / 1e3, what }
}

/// Returns true if packet `number` belongs to a random fraction of all packets: SplitMix64 of the number, as in the
/// measurement rig.
fn is_hit(number: u64, part: f64) -> bool {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) < (part * 2_f64.powi(64)) as u64
}

/// Runs a case with the same path, the same losses and the stack `linux`.
pub fn ours(case: &str) -> Ours {
    let row = summary(case);
    let packets = Rc::new(RefCell::new(Vec::new()));
    let (mut net, end) = net(&row, &packets);
    if row["send_bytes"].is_empty() {
        net.ends[0].write_endlessly();
    } else {
        net.write(0, Bytes(number(&row, "send_bytes") as u64));
    }
    net.open();
    let mut windows = Vec::new();
    while net.now < end {
        net.run_until(net.now + Span::from_millis(100));
        let cwnd = net.ends[0].cwnd().0 as f64 / MSS as f64;
        windows.push((net.now.0 as f64 / 1e6, cwnd, net.ends[1].offered_window().0 as f64));
    }
    let stats = net.ends[0].stats();
    let full = net.links[0].rate.transmission_time(Bytes(MSS + 52));
    let sums = Sums {
        goodput_kbps: net.goodput_kbps(1),
        queueing_ms: net.mean_delay_ms(1) - (net.links[0].delay + full).as_millis(),
        retransmissions: stats.retransmissions as f64,
        timeouts: stats.timeouts as f64,
        probes: stats.tail_probes as f64,
    };
    Ours { sums, packets: packets.take(), windows }
}

fn net(row: &Row, packets: &Rc<RefCell<Vec<Packet>>>) -> (Net, Time) {
    let word = match row["cc"] {
        "reno" => "kind = \"newreno\"\ngrowth = \"per-byte\"",
        "cubic" => CUBIC,
        other => &format!("kind = \"{other}\""),
    };
    let node = Node::from_toml(word, "test").expect("it is TOML");
    let cc = cc::Spec::read(&node).expect("it is a congestion control");
    let node = Node::from_toml("kind = \"autotuning\"\nvariant = \"linux-6.18\"\nmax = \"32 MiB\"", "test");
    let rwnd = rwnd::Spec::read(&node.expect("it is TOML")).expect("it is a receive-window control");
    let ecn = if row["mark_above"].is_empty() { Ecn::Off } else { Ecn::Classic };
    let config = Config { ecn, segmentation_offload: false, ..Stack::Linux.config() };
    let mut links = [link(row), link(row)];
    impair(&mut links[0], row, packets);
    let log = Rc::clone(packets);
    links[1].loses = Box::new(move |segment| {
        log.borrow_mut()
            .push(Packet { at_ms: segment.sent_at.0 as f64 / 1e6, what: acknowledgment(segment) });
        false
    });
    let end = Time((number(row, "duration_s") * 1e9) as u64);
    (Net::new(&config, &cc, &rwnd, links), end)
}

fn link(row: &Row) -> Link {
    let delay = Span::from_secs_f64(number(row, "delay_ms") / 1e3);
    let mut link = Link::new(BitRate(number(row, "rate_bps") as u64), delay, number(row, "queue") as usize);
    link.overhead = Bytes::ZERO;
    link
}

fn impair(link: &mut Link, row: &Row, packets: &Rc<RefCell<Vec<Packet>>>) {
    link.pause = row["outage_s"].split_once(' ').map(|(from, to)| {
        let seconds = |text: &str| text.parse::<f64>().expect("a number");
        (Time((1e9 * seconds(from)) as u64), Span::from_secs_f64(seconds(to) - seconds(from)))
    });
    // The rig marks packets behind more than this many others, the link here behind at least as many.
    link.mark_above = row["mark_above"].parse().map_or(usize::MAX, |max: usize| max + 1);
    let data = Rc::new(Cell::new(0_u64));
    let (late_every, late) = (number(row, "late_every") as u64, number(row, "late_ms") / 1e3);
    let count = Rc::clone(&data);
    link.extra_delay = Box::new(move |segment| {
        let is_late = segment.len > 0 && late_every > 0 && count.get().is_multiple_of(late_every);
        if is_late { Span::from_secs_f64(late) } else { Span::ZERO }
    });
    let loss = number(row, "loss");
    let mut to_lose: BTreeMap<u64, u64> = row["to_lose"]
        .split_whitespace()
        .map(|pair| pair.split_once(':').expect("a segment and how often"))
        .map(|(segment, times)| (segment.parse().expect("a segment"), times.parse().expect("a number")))
        .collect();
    let log = Rc::clone(packets);
    link.loses = Box::new(move |segment| {
        if segment.len == 0 {
            return false;
        }
        data.set(data.get() + 1);
        let place = number_of(segment.seq) + 1;
        log.borrow_mut().push(Packet { at_ms: segment.sent_at.0 as f64 / 1e6, what: What::Data(place) });
        let left = to_lose.entry(place).or_insert(0);
        let listed = *left > 0;
        *left = left.saturating_sub(1);
        listed || is_hit(data.get(), loss)
    });
}

/// Returns the number of whole segments before a sequence number, where the SYN is 0.
fn number_of(seq: Seq) -> u64 {
    u64::from(seq - Seq(1)) / MSS
}

fn acknowledgment(segment: &Segment) -> What {
    let blocks = segment.sack.iter().filter(|block| !block.is_empty());
    What::Ack {
        acked: if segment.ack == Seq(0) { 0 } else { number_of(segment.ack) },
        sack: blocks.map(|block| (number_of(block.start) + 1, number_of(block.end))).collect(),
        window: u64::from(segment.window),
    }
}
