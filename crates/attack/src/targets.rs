//! Fuzz targets. The tests call them with the stored corpus.
//!
//! A target returns an error or panics if it finds a defect. Texts are read like a user's files, with an origin in a
//! folder that does not exist.

use crate::guard;
use crate::legal;
use crate::owner;
use crate::trial::{self, ORIGIN};
use airwnd_capture::{Capture, Format, Settings};
use airwnd_catalog::{Error, Node, Param as _};
use airwnd_cell::mobility;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::tap::{Carried, Crossing, Node as At, Sight, Tap as _};
use airwnd_lab::{Scenario, arrivals, placement, size};
use airwnd_links::link::trace;
use airwnd_rwnd::SeqRange;
use airwnd_tcp::segment::{Flags, Timestamps};
use airwnd_tcp::{Segment, Seq};
use airwnd_units::{Bytes, Span, Speed, Time};
use arbitrary::{Result as Drawn, Unstructured};
use etherparse::{IpNumber, SlicedPacket, TransportSlice};
use pcap_parser::{Block, PcapCapture, PcapNGCapture};
use std::num::{NonZeroU8, NonZeroU16};

/// A function that takes any bytes.
pub type Target = fn(&[u8]) -> Result<(), String>;

/// Targets by the names of their folders in the corpus.
pub const ALL: [(&str, Target); 13] = [
    ("scenario_toml", scenario_toml),
    ("scenario_json", scenario_json),
    ("scenario_legal", scenario_legal),
    ("overrides", overrides),
    ("trace", trace),
    ("csv", csv),
    ("path_calls", owner::calls),
    ("pcap", pcap),
    ("guard_rules", guard::rules),
    ("guard_reports", guard::reports),
    ("guard_recording", guard::recording),
    ("guard_answer", guard::answer),
    ("guard_message", guard::message),
];

/// Number of calls of `progress` before a run is stopped.
const CALLS: u32 = 3;

/// Base scenario of the overrides.
const OVERRIDDEN: &str = r#"
duration = "40ms"
warmup = "0s"
[[link]]
name = "wan"
rate = "50Mbps"
delay = "5ms"
[[site]]
[[ue]]
name = "near"
count = 2
[[ue]]
name = "far"
placement = {kind = "list", points = [["500m", "1m"]]}
[[flow]]
ue = "near"
[[flow]]
id = "video"
traffic = "video"
"#;

fn read_and_run(node: Result<Node, Error>) -> Result<(), String> {
    match trial::read(node)? {
        Some(scenario) if is_small(&scenario) => trial::run(&scenario, CALLS).map(drop),
        _ => Ok(()),
    }
}

/// Limits the size of a network: building one with ten thousand UEs takes too long for a fuzzer.
fn is_small(scenario: &Scenario) -> bool {
    scenario.nodes().len() <= 300
}

/// Reads and runs a scenario in TOML.
///
/// # Errors
/// The defect found.
pub fn scenario_toml(bytes: &[u8]) -> Result<(), String> {
    read_and_run(Node::from_toml(&String::from_utf8_lossy(bytes), ORIGIN))
}

/// Reads and runs a scenario in JSON.
///
/// # Errors
/// The defect found.
pub fn scenario_json(bytes: &[u8]) -> Result<(), String> {
    read_and_run(Node::from_json(&String::from_utf8_lossy(bytes), ORIGIN))
}

/// Runs a valid scenario drawn from the bytes.
///
/// # Errors
/// The defect found.
pub fn scenario_legal(bytes: &[u8]) -> Result<(), String> {
    let Ok(scenario) = legal::scenario(&mut Unstructured::new(bytes)) else { return Ok(()) };
    let scenario = trial::settled(scenario)?;
    trial::scenario(&scenario, CALLS).map(drop).map_err(|what| format!("{what}\n{scenario}"))
}

/// Applies lines of `key=value` as overrides, in the syntax of `--set`.
///
/// # Errors
/// The defect found.
pub fn overrides(bytes: &[u8]) -> Result<(), String> {
    let mut node = Node::from_toml(OVERRIDDEN, ORIGIN).expect("the scenario is valid");
    for line in String::from_utf8_lossy(bytes).lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if let Err(error) = node.set(key, value) {
            return read_and_run(Err(error));
        }
    }
    read_and_run(Ok(node))
}

/// Returns the parsed rows, or `None` for a valid error message with a line.
fn line_of<T>(parsed: Result<T, (usize, String)>) -> Result<Option<T>, String> {
    match parsed {
        Ok(rows) => Ok(Some(rows)),
        Err((0, message)) => Err(format!("an error has line 0: {message:?}")),
        Err((line, message)) => trial::check_message(&Error::new(ORIGIN, Some(line), message)).map(|()| None),
    }
}

/// Parses a link trace; the first byte selects the format.
///
/// # Errors
/// The defect found.
pub fn trace(bytes: &[u8]) -> Result<(), String> {
    let Some((first, text)) = bytes.split_first() else { return Ok(()) };
    let format = if first % 2 == 0 { trace::Format::Mahimahi } else { trace::Format::Rate };
    let mut recording =
        trace::Recording::read(&Node::from_json("\"r\"", ORIGIN).expect("a name")).expect("a name");
    if line_of(recording.read_text(&String::from_utf8_lossy(text), format))?.is_some()
        && recording.period().is_none_or(|period| period == Span::ZERO)
    {
        return Err("the recording has no length".into());
    }
    Ok(())
}

/// Parses a file of positions, trajectories, arrivals or sizes; the first byte selects the kind.
///
/// # Errors
/// The defect found.
pub fn csv(bytes: &[u8]) -> Result<(), String> {
    let Some((first, text)) = bytes.split_first() else { return Ok(()) };
    let text = &String::from_utf8_lossy(text);
    let is_finite = |rows: &[f64]| rows.iter().all(|value| value.is_finite());
    let finite = match first % 4 {
        0 => line_of(placement::file::parse(text))?.is_none_or(|rows| is_finite(rows.as_flattened())),
        1 => line_of(arrivals::file::parse(text))?.is_none_or(|rows| is_finite(rows.as_flattened())),
        2 => line_of(size::empirical::parse(text))?.is_none_or(|rows| is_finite(rows.as_flattened())),
        _ => line_of(mobility::path::parse(text, Speed(150.0)))?
            .is_none_or(|rows| is_finite(rows.as_flattened())),
    };
    if finite { Ok(()) } else { Err("a value is not finite".into()) }
}

/// Writes a capture of packets drawn from the bytes, and reads it back with independent pcap readers.
///
/// # Errors
/// The defect found.
pub fn pcap(bytes: &[u8]) -> Result<(), String> {
    let mut u = Unstructured::new(bytes);
    match drawn_capture(&mut u) {
        Ok((settings, scenario, sights)) => written_and_read(&settings, &scenario, &sights),
        Err(_) => Ok(()),
    }
}

fn drawn_capture(u: &mut Unstructured<'_>) -> Drawn<(Settings, Scenario, Vec<Sight>)> {
    let name: String = u.arbitrary()?;
    let text = format!(
        "name = {}\nduration = '1s'\n[[site]]\nsectors = 3\n[[ue]]\ncount = 3\n[[flow]]",
        serde_json::Value::from(name)
    );
    let scenario = Node::from_toml(&text, ORIGIN).and_then(|node| Scenario::from_node(&node));
    // The name may contain control characters, which are rejected.
    let Ok(scenario) = scenario else { return Err(arbitrary::Error::IncorrectFormat) };
    let all = scenario.nodes();
    let format = *u.choose(&[Format::Pcap, Format::Pcapng])?;
    let nodes = if format == Format::Pcap { vec![*u.choose(&all)?] } else { all.clone() };
    let snaplen = *u.choose(&[None, Some(0), Some(1), Some(60), Some(100_000)])?;
    let mut sights = Vec::new();
    while !u.is_empty() && sights.len() < 50 {
        sights.push(sight(u, &all)?);
    }
    Ok((Settings { format, nodes, snaplen, real_only: false, radio: Vec::new() }, scenario, sights))
}

fn sight(u: &mut Unstructured<'_>, nodes: &[At]) -> Drawn<Sight> {
    let carried = if u.arbitrary()? {
        Carried::Segment(segment(u)?)
    } else {
        // Maximum payload of a UDP datagram over IPv4.
        Carried::Datagram(Bytes(u.int_in_range(0..=65_507)?))
    };
    Ok(Sight {
        // pcap stores seconds in 32 bits.
        at: Span(u.int_in_range(0..=u64::from(u32::MAX) * 1_000_000_000)?),
        node: *u.choose(nodes)?,
        crossing: *u.choose(&[Crossing::In, Crossing::Out])?,
        flow: u.int_in_range(0..=1_000_000)?,
        ue: u.int_in_range(0..=2)?,
        direction: *u.choose(&Direction::BOTH)?,
        identification: u.arbitrary()?,
        carried,
    })
}

/// Draws a segment with a combination of options that fits into the header (RFC 2018 §3: three blocks with timestamps).
fn segment(u: &mut Unstructured<'_>) -> Drawn<Segment> {
    let is_first = u.arbitrary()?;
    let mut sack = [SeqRange::default(); 3];
    let blocks = if is_first { 0 } else { u.int_in_range(0..=3)? };
    for block in &mut sack[..blocks] {
        let start = Seq(u.arbitrary()?);
        *block = SeqRange { start, end: start + u.int_in_range(1..=1_000_000)? };
    }
    let mss = if is_first { NonZeroU16::new(u.arbitrary()?) } else { None };
    let window_scale = if is_first { Some(u.int_in_range(0..=14)?) } else { None };
    let timestamps =
        if u.arbitrary()? { Some(Timestamps { val: u.arbitrary()?, ecr: u.arbitrary()? }) } else { None };
    Ok(Segment {
        sent_at: Time::ZERO,
        seq: Seq(u.arbitrary()?),
        ack: Seq(u.arbitrary()?),
        timestamps,
        sack,
        len: u.int_in_range(0..=65_000)?,
        window: u.arbitrary()?,
        mss,
        window_scale,
        code: if blocks < 3 { NonZeroU8::new(u.arbitrary()?) } else { None },
        flags: Flags(u.int_in_range(0..=0x1ff)?),
        ecn: *u.choose(&[Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce])?,
        sack_permitted: is_first,
        retransmission: false,
    })
}

fn written_and_read(settings: &Settings, scenario: &Scenario, sights: &[Sight]) -> Result<(), String> {
    let mut file = Vec::new();
    let failed = |error: &dyn std::fmt::Display| format!("{settings:?}: {error}");
    let mut capture =
        Capture::new(&mut file, settings.clone(), scenario, 1).map_err(|error| failed(&error))?;
    sights.iter().for_each(|sight| capture.packet(sight));
    capture.finish().map_err(|error| failed(&error))?;

    let seen: Vec<&Sight> = sights.iter().filter(|sight| settings.nodes.contains(&sight.node)).collect();
    let packets = if settings.format == Format::Pcap { pcap_packets(&file) } else { pcapng_packets(&file) }?;
    if packets.len() != seen.len() {
        return Err(format!("{} packets were written, {} are read", seen.len(), packets.len()));
    }
    for (sight, (at, length, bytes)) in seen.into_iter().zip(packets) {
        if at != sight.at.0 {
            return Err(format!("{sight:?} is read at {at} ns"));
        }
        if settings.snaplen == Some(0) {
            whole(sight, length, bytes)?;
        }
    }
    Ok(())
}

/// A packet of a file: time in nanoseconds, original length, and captured bytes.
type Packet<'a> = (u64, u32, &'a [u8]);

fn pcap_packets(file: &[u8]) -> Result<Vec<Packet<'_>>, String> {
    let capture = PcapCapture::from_file(file).map_err(|error| error.to_string())?;
    Ok(capture
        .blocks
        .into_iter()
        .map(|packet| {
            // The file has nanoseconds in the field that is microseconds in the original format.
            let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_usec);
            (at, packet.origlen, &packet.data[..packet.caplen as usize])
        })
        .collect())
}

fn pcapng_packets(file: &[u8]) -> Result<Vec<Packet<'_>>, String> {
    let capture = PcapNGCapture::from_file(file).map_err(|error| error.to_string())?;
    let blocks = capture.sections.into_iter().flat_map(|section| section.blocks);
    Ok(blocks
        .filter_map(|block| match block {
            Block::EnhancedPacket(packet) => Some(packet),
            _ => None,
        })
        .map(|packet| {
            let at = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            (at, packet.origlen, &packet.data[..packet.caplen as usize])
        })
        .collect())
}

/// Checks headers, checksums and length of a packet that was captured in full.
fn whole(sight: &Sight, length: u32, bytes: &[u8]) -> Result<(), String> {
    let in_tunnel = matches!(sight.node, At::Enb(_));
    let (payload, header, protocol) = match sight.carried {
        Carried::Segment(segment) => (u64::from(segment.len), segment.header_bytes().0, IpNumber::TCP),
        Carried::Datagram(payload) => (payload.0, 28, IpNumber::UDP),
        Carried::Frame { .. } => unreachable!("simulations carry no frames"),
    };
    let expected = payload + header + if in_tunnel { 40 } else { 0 };
    if u64::from(length) != expected || bytes.len() as u64 != expected {
        return Err(format!("{sight:?} has {length} bytes, {} of them kept, not {expected}", bytes.len()));
    }
    // The length field of the tunnel header cannot represent a tunnelled packet of maximum length.
    if expected > u64::from(u16::MAX) {
        return Ok(());
    }
    let packet = SlicedPacket::from_ip(&bytes[if in_tunnel { 40 } else { 0 }..]);
    let packet = packet.map_err(|error| format!("{sight:?}: {error}"))?;
    let Some(ip) = packet.net.as_ref().and_then(|net| net.ipv4_ref()).map(|slice| slice.header()) else {
        return Err(format!("{sight:?} is not IPv4"));
    };
    let ip = ip.to_header();
    let sums = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            tcp.calc_checksum_ipv4(ip.source, ip.destination) == Ok(tcp.checksum())
        }
        Some(TransportSlice::Udp(udp)) => {
            udp.to_header().calc_checksum_ipv4_raw(ip.source, ip.destination, udp.payload())
                == Ok(udp.checksum())
        }
        _ => false,
    };
    if ip.protocol != protocol || !sums || ip.calc_header_checksum() != ip.header_checksum {
        return Err(format!("{sight:?} has a wrong checksum"));
    }
    Ok(())
}
