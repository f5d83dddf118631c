//! Recognition of flows by protocol, addresses and ports.

use crate::packet::{Content, Packet, Segment};
use crate::watch::{Seen, Watch};
use airwnd_kernel::Direction;
use airwnd_lab::{Live, Protocol, Signature};
use airwnd_units::{Span, Time};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;

/// Maximum number of recognised flows; packets of further ones are counted together, per UE. A flow keeps its row of
/// results until the end, about 2 kB.
pub const MAX_FLOWS: usize = 65_536;
/// Time after which an ended TCP connection is forgotten: late retransmissions still belong to it.
const AFTER_THE_END: Span = Span::from_secs(5);
/// Idle time after which other flows are forgotten; a later packet begins a new one (RFC 4787 §4.3 suggests 5 minutes
/// for UDP mappings).
const IDLE: Span = Span::from_secs(300);
/// Flows checked for their end at a time, so that no check takes long.
const CHECKED: usize = 16;

/// Identification of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Number of the UE.
    pub ue: u32,
    /// Protocol.
    pub protocol: Word,
    /// UE's end.
    pub ue_end: SocketAddr,
    /// Server's end.
    pub server_end: SocketAddr,
}

/// A protocol as part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word(&'static str);

impl Key {
    /// Identifies the flow of a packet.
    pub fn of(packet: &Packet, ue: u32, direction: Direction) -> Key {
        let (ue_end, server_end) = match direction {
            Direction::Up => (packet.from, packet.to),
            Direction::Down => (packet.to, packet.from),
        };
        Key { ue, protocol: Word(packet.protocol.word()), ue_end, server_end }
    }

    /// Identifies a TCP connection by its ends.
    pub fn tcp(ue: u32, ue_end: SocketAddr, server_end: SocketAddr) -> Key {
        Key { ue, protocol: Word(Protocol::Tcp.word()), ue_end, server_end }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} - {}", self.protocol.0, text(self.ue_end), text(self.server_end))
    }
}

/// A recognised flow.
struct Entry {
    key: Key,
    /// `None` once the flow is forgotten.
    watch: Option<Box<Watch>>,
    /// Time of the last packet.
    last: Time,
    recent: Recent,
}

/// Activity of a flow since the last snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent {
    /// Bytes delivered: downlink, uplink.
    pub bytes: [u64; 2],
    /// Last RTT.
    pub rtt: Option<Span>,
}

/// All flows of real packets.
#[derive(Default)]
pub struct Flows {
    by_key: HashMap<Key, u32>,
    /// By number, from the first real flow on.
    entries: Vec<Entry>,
    /// Number of the first real flow.
    first: u32,
    /// Flow of all unrecognised packets of a UE.
    others: HashMap<u32, u32>,
    /// Flows with activity since the last snapshot.
    active: Vec<u32>,
    /// Next flow to check for its end.
    cursor: usize,
}

impl Flows {
    /// Returns the flow of a packet that enters the network; opens it if it is new.
    pub fn enter(
        &mut self,
        live: &mut Live<'_>,
        now: Time,
        packet: &Packet,
        ue: u32,
        direction: Direction,
    ) -> u32 {
        let key = Key::of(packet, ue, direction);
        let known = match packet.protocol {
            Protocol::Other => self.others.get(&ue),
            _ => self.by_key.get(&key).or_else(|| self.others.get(&ue).filter(|_| self.is_full())),
        };
        let known = known.copied().filter(|flow| !self.begins_anew(live, *flow, packet));
        let flow = known.unwrap_or_else(|| self.open(live, now, packet, key, direction));
        let Some(entry) = self.entry(flow) else { return flow };
        entry.last = now;
        if let Some(watch) = &mut entry.watch {
            let seen = watch.sent(now, direction, &packet.content);
            report(live, flow, direction, seen);
        }
        flow
    }

    /// Records that a packet has reached its receiver.
    pub fn arrive(
        &mut self,
        live: &mut Live<'_>,
        now: Time,
        flow: u32,
        (direction, size): (Direction, u64),
        content: &Content,
    ) {
        let Some(entry) = self.entry(flow) else { return };
        let is_first = entry.recent.bytes == [0; 2];
        entry.recent.bytes[direction as usize] += size;
        let mut seen = Seen::default();
        if let Some(watch) = &mut entry.watch {
            seen = watch.received(now, direction, content);
            entry.recent.rtt = seen.rtt.map(|(_, rtt)| rtt).or(entry.recent.rtt);
        }
        if is_first {
            self.active.push(flow);
        }
        report(live, flow, direction, seen);
    }

    /// Forgets a few flows that have ended.
    pub fn check_ends(&mut self, live: &mut Live<'_>, now: Time) {
        for _ in 0..CHECKED.min(self.entries.len()) {
            let place = self.cursor % self.entries.len();
            self.cursor = place + 1;
            let flow = self.first + place as u32;
            let entry = &mut self.entries[place];
            let Some(watch) = &entry.watch else { continue };
            let idle = now.since(entry.last);
            if (watch.has_ended() && idle > AFTER_THE_END) || idle > IDLE {
                self.forget(live, flow);
            }
        }
    }

    /// Returns whether a packet opens a new connection with the ports of one that has ended, which is then forgotten.
    fn begins_anew(&mut self, live: &mut Live<'_>, flow: u32, packet: &Packet) -> bool {
        let Content::Segment(Segment { syn: true, ack: None, .. }) = packet.content else { return false };
        let watch = self.entry(flow).and_then(|entry| entry.watch.as_ref());
        let begins = watch.is_some_and(|watch| watch.has_ended());
        if begins {
            self.forget(live, flow);
        }
        begins
    }

    fn forget(&mut self, live: &mut Live<'_>, flow: u32) {
        let Some(entry) = self.entry(flow) else { return };
        entry.watch = None;
        let key = entry.key;
        if self.by_key.get(&key) == Some(&flow) {
            self.by_key.remove(&key);
        }
        live.close(flow);
    }

    /// Takes the flows with activity since the last call.
    pub fn take_active(&mut self) -> Vec<(u32, Key, Recent)> {
        let active = std::mem::take(&mut self.active);
        active
            .into_iter()
            .filter_map(|flow| {
                let entry = self.entry(flow)?;
                Some((flow, entry.key, std::mem::take(&mut entry.recent)))
            })
            .collect()
    }

    /// Returns the number of a flow.
    pub fn find(&self, key: &Key) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= MAX_FLOWS
    }

    fn entry(&mut self, flow: u32) -> Option<&mut Entry> {
        self.entries.get_mut(flow.checked_sub(self.first)? as usize)
    }

    fn open(
        &mut self,
        live: &mut Live<'_>,
        now: Time,
        packet: &Packet,
        key: Key,
        direction: Direction,
    ) -> u32 {
        let is_recognised = packet.protocol != Protocol::Other && !self.is_full();
        let (signature, ends) = match is_recognised {
            true => (signature(packet, &key), [text(key.ue_end), text(key.server_end)]),
            false => (Signature::of(Protocol::Other), ["any".into(), "any".into()]),
        };
        let flow = live.open(now, key.ue, direction, &signature, ends);
        if self.entries.is_empty() {
            self.first = flow;
        }
        self.entries.push(Entry {
            key,
            watch: is_recognised.then(Box::default),
            last: now,
            recent: Recent::default(),
        });
        match is_recognised {
            true => self.by_key.insert(key, flow),
            false => self.others.insert(key.ue, flow),
        };
        flow
    }
}

/// Properties of a flow for packet filters. Fragments and pings have no ports.
fn signature(packet: &Packet, key: &Key) -> Signature {
    let has_ports = matches!(packet.content, Content::Segment(_) | Content::Datagram(_));
    let ports = has_ports.then(|| [key.ue_end.port(), key.server_end.port()]);
    Signature { protocol: packet.protocol, ports, dscp: packet.dscp }
}

/// An end of a flow; without the port if there is none.
fn text(end: SocketAddr) -> String {
    if end.port() == 0 { end.ip().to_string() } else { end.to_string() }
}

fn report(live: &mut Live<'_>, flow: u32, direction: Direction, seen: Seen) {
    if let Some((direction, payload)) = seen.payload {
        live.set_payload(flow, direction, payload);
    }
    if let Some((direction, rtt)) = seen.rtt {
        live.record_rtt(flow, direction, rtt);
    }
    if seen.is_retransmission {
        live.count_retransmission(flow, direction);
    }
}
