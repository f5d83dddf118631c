//! Reports of the eBPF programs.

use airwnd_rwnd::{Seq, SeqRange, TimestampClock, Timestamps};
use airwnd_units::{Bytes, Span, Time};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Event of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An ACK leaves the receiver, with or without data that has arrived since the last observation.
    Ack,
    /// Data has passed the router.
    Data,
    /// The connection has ended.
    Closed,
}

/// Unit of the receiver's timestamps (RFC 7323).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampUnit {
    /// The monotonic clock of this host in milliseconds.
    Milliseconds,
    /// The monotonic clock of this host in microseconds.
    Microseconds,
    /// The clock of another host.
    Unknown,
}

impl TimestampUnit {
    pub(crate) fn clock(self) -> TimestampClock {
        match self {
            TimestampUnit::Milliseconds => TimestampClock::Ticks(Span::from_millis(1)),
            TimestampUnit::Microseconds => TimestampClock::Ticks(Span::from_micros(1)),
            TimestampUnit::Unknown => TimestampClock::Unknown,
        }
    }
}

/// State of a flow when an ACK leaves the receiver, or when data or an ACK passes the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Time by the monotonic clock.
    pub time: Time,
    /// Identifier of the flow, never used again.
    pub flow: u64,
    /// Identifier of the cgroup of the socket; 0: unknown.
    pub cgroup: u64,
    /// Event that is reported.
    pub event: Event,
    /// Next byte that the receiver expects.
    pub ack: Seq,
    /// Right edge of the offered window.
    pub edge: Seq,
    /// At the receiver: newest range that has arrived beyond `ack`. On a router: data since the last observation.
    pub range: SeqRange,
    /// Data segments that the receiver has received in total.
    pub segments: u32,
    /// Timestamps of the newest incoming segment.
    pub timestamps: Option<Timestamps>,
    /// TSval of the ACK, on a router; `None`: an earlier ACK had it, and an echo would be that of it.
    pub ack_ts_val: Option<u32>,
    /// Unit of the receiver's timestamps.
    pub unit: TimestampUnit,
    /// Maximum segment size (RFC 9293 §3.7.1), which includes TCP options.
    pub mss: u32,
    /// Bytes in order that the application has not read.
    pub unread: Bytes,
    /// Largest window that the receiver would offer by itself.
    pub free: Bytes,
    /// Window in force instead of the receiver's own; `None`: its own.
    pub clamp: Option<Bytes>,
    /// Least RTT that the kernel has measured; on a router that between router and sender.
    pub min_rtt: Option<Span>,
    /// Newest RTT between router and receiver, on a router.
    pub lan_rtt: Option<Span>,
    /// Index of the interface; 0: unknown.
    pub interface: u32,
    /// Address of the receiver.
    pub local: SocketAddr,
    /// Address of the sender.
    pub remote: SocketAddr,
    /// Shift of the receiver's window fields.
    pub shift: u8,
}

impl Observation {
    /// Bytes of a report: `struct observation` of `bpf/shared.h`.
    pub const SIZE: usize = 128;
    /// Place of the event in a report.
    pub(crate) const EVENT: usize = 120;

    /// Reads a report; `None` if it is none.
    pub fn read(report: &[u8]) -> Option<Observation> {
        let mut fields = Fields(report.get(..Self::SIZE)?);
        let (time, flow, cgroup) = (Time(fields.u64()), fields.u64(), fields.u64());
        let (ack, edge) = (Seq(fields.u32()), Seq(fields.u32()));
        let range = SeqRange { start: Seq(fields.u32()), end: Seq(fields.u32()) };
        let segments = fields.u32();
        let (val, ecr, ack_ts_val) = (fields.u32(), fields.u32(), fields.u32());
        let (mss, unread, free) = (fields.u32(), fields.u32(), fields.u32());
        let (clamp, min_rtt, lan_rtt, interface) = (fields.u32(), fields.u32(), fields.u32(), fields.u32());
        let (local, remote) = (fields.address(), fields.address());
        let (local_port, remote_port) = (fields.u16(), fields.u16());
        let event = match fields.u8() {
            0 => Event::Ack,
            1 => Event::Data,
            2 => Event::Closed,
            _ => return None,
        };
        let (flags, shift) = (fields.u8(), fields.u8());
        let has_timestamps = flags & HAS_TIMESTAMPS != 0;
        let is_on_the_way = flags & ON_THE_WAY != 0;
        let unit = match flags {
            flags if flags & ON_THE_WAY != 0 => TimestampUnit::Unknown,
            flags if flags & MICROSECOND_TICKS != 0 => TimestampUnit::Microseconds,
            _ => TimestampUnit::Milliseconds,
        };
        Some(Observation {
            time,
            flow,
            cgroup,
            event,
            ack,
            edge,
            range,
            segments,
            // Zero: nothing to echo yet.
            timestamps: (has_timestamps && ecr != 0).then_some(Timestamps { val, ecr }),
            ack_ts_val: (has_timestamps && is_on_the_way && ack_ts_val != 0).then_some(ack_ts_val),
            unit,
            mss: mss.clamp(MSS_MIN, u32::from(u16::MAX)),
            unread: Bytes(u64::from(unread)),
            free: Bytes(u64::from(free)),
            clamp: (clamp > 0).then_some(Bytes(u64::from(clamp))),
            min_rtt: (min_rtt > 0).then_some(Span::from_micros(u64::from(min_rtt))),
            lan_rtt: (lan_rtt > 0).then_some(Span::from_micros(u64::from(lan_rtt))),
            interface,
            local: SocketAddr::new(local, local_port),
            remote: SocketAddr::new(remote, remote_port),
            shift: shift.min(14),
        })
    }

    /// Writes the report that reads as this observation.
    pub(crate) fn write(&self) -> [u8; Self::SIZE] {
        let is_on_the_way = self.unit == TimestampUnit::Unknown;
        let has_timestamps = self.timestamps.is_some() || self.ack_ts_val.is_some();
        let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
        let flags = flag(HAS_TIMESTAMPS, has_timestamps)
            | flag(MICROSECOND_TICKS, self.unit == TimestampUnit::Microseconds)
            | flag(ON_THE_WAY, is_on_the_way);
        let Timestamps { val, ecr } = self.timestamps.unwrap_or(Timestamps { val: 0, ecr: 0 });
        let bytes = |Bytes(bytes): Bytes| u32::try_from(bytes).unwrap_or(u32::MAX);
        let micros = |Span(nanos): Span| u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        let words = [
            self.ack.0,
            self.edge.0,
            self.range.start.0,
            self.range.end.0,
            self.segments,
            val,
            ecr,
            self.ack_ts_val.unwrap_or_default(),
            self.mss,
            bytes(self.unread),
            bytes(self.free),
            self.clamp.map_or(0, bytes),
            self.min_rtt.map_or(0, micros),
            self.lan_rtt.map_or(0, micros),
            self.interface,
        ];
        let mut report = Vec::with_capacity(Self::SIZE);
        for word in [self.time.0, self.flow, self.cgroup] {
            report.extend(word.to_ne_bytes());
        }
        report.extend(words.into_iter().flat_map(u32::to_ne_bytes));
        for end in [self.local, self.remote] {
            report.extend(match end.ip() {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            });
        }
        for end in [self.local, self.remote] {
            report.extend(end.port().to_ne_bytes());
        }
        let event = match self.event {
            Event::Ack => 0,
            Event::Data => 1,
            Event::Closed => 2,
        };
        report.extend([event, flags, self.shift]);
        report.resize(Self::SIZE, 0);
        report.try_into().expect("the fields are shorter than a report")
    }
}

/// Linux accepts no smaller segments (TCP_MIN_MSS is 88 with 40 bytes of options).
const MSS_MIN: u32 = 88;

/// `enum observation_flags` of `bpf/shared.h`.
const HAS_TIMESTAMPS: u8 = 1;
const MICROSECOND_TICKS: u8 = 2;
const ON_THE_WAY: u8 = 4;

/// Consecutive fields of a structure in the byte order of this machine.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the fields are shorter than a report");
        self.0 = rest;
        *field
    }
    fn u8(&mut self) -> u8 {
        u8::from_ne_bytes(self.take())
    }
    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }
    fn address(&mut self) -> IpAddr {
        Ipv6Addr::from(self.take::<16>()).to_canonical()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_report_that_is_written_reads_as_before(words in prop::array::uniform32(any::<u32>())) {
            let mut report: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            report[Observation::EVENT] %= 3;
            let seen = Observation::read(&report).expect("one of the three events");
            prop_assert_eq!(Observation::read(&seen.write()), Some(seen));
        }
    }
}
