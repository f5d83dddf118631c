//! The relay: reads packets from the devices, passes them through the simulated network in real time, and writes them
//! to the devices at the other ends.

use crate::clock::{Clock, cpu_time};
use crate::flows::{Flows, Key};
use crate::frames::Frames;
use crate::offload::{self, Partial};
use crate::packet::{Content, Packet};
use crate::report::{FlowView, Packets, Snapshot, Totals, UeSnapshot};
use crate::writer::{Departure, Writer, Writing};
use airwnd_capture::headers;
use airwnd_catalog::Error;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::{Exit, Fate, Frame, Live, Socket};
use airwnd_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Packets read from a device before the other devices and the network have their turn.
const BATCH: usize = 64;
/// Largest packet that a device can pass, with the header in front of it: the length field of IPv6 and its header.
const LARGEST: usize = offload::HEADER + 65_575;
/// Longest sleep, so that a request to stop is noticed.
const LONGEST_SLEEP: Span = Span::from_millis(20);
/// Pause after packets have moved. Each sleep and wake-up costs as much CPU time as several packets, so that at high
/// rates the packets of one pause are handled together; it adds to the lateness.
const PAUSE: Span = Span::from_micros(30);
/// With `busy_wait`: time before an event in which the relay polls, and longest time without a sleep. A thread under
/// SCHED_FIFO that runs for 95 % of a second is stopped for the rest of it (`sched_rt_runtime_us`), so the relay rests
/// for a tenth of the time.
const SPIN: Span = Span::from_micros(100);
const LONGEST_SPIN: Span = Span::from_millis(1);
const REST: Span = Span::from_micros(100);
const _: () = assert!(LONGEST_SPIN.0 * 100 < 95 * (LONGEST_SPIN.0 + REST.0));
/// Maximum time between a read and the simulated time at which its packets enter. Each read of a busy turn would otherwise
/// be as early as the turn is long: milliseconds while other programs run.
const GRAIN: Span = Span::from_micros(50);
/// Period of the snapshots.
const SNAPSHOT_PERIOD: Span = Span::from_millis(200);
/// Maximum number of addresses learned from packets, besides those of the devices.
const MAX_LEARNED: usize = 4096;
/// Flows in a snapshot.
const MAX_SHOWN: usize = 12;

/// A TUN device at an end of the network; non-blocking, with a header in front of each packet (`offload.rs`).
pub struct Port {
    /// The device.
    pub device: OwnedFd,
    /// UE and its name; `None`: the server's end.
    pub ue: Option<(u32, String)>,
    /// Addresses of the end.
    pub addresses: Vec<IpAddr>,
}

/// State of a socket, from the kernel.
#[derive(Clone, Debug)]
pub struct SocketState {
    /// Local and remote end.
    pub ends: [SocketAddr; 2],
    /// Set for a socket at the server's end.
    pub at_server: bool,
    /// Its state.
    pub state: Socket,
    /// Congestion control.
    pub cc: Option<String>,
}

/// State that the relay shares with the thread that started it.
pub struct Shared<'s> {
    /// Set to end the session.
    pub stop: &'s AtomicBool,
    /// Receives snapshots.
    pub snapshots: Sender<Snapshot>,
    /// Delivers socket states.
    pub sockets: Receiver<Vec<SocketState>>,
    /// Poll instead of sleeping shortly before an event.
    pub busy_wait: bool,
    /// Time after which no packet moves; `None`: no limit.
    pub limit: Option<Span>,
}

/// A device with its state.
struct End {
    device: Arc<File>,
    /// Index in [`Relay::ues`]; `None`: the server's end.
    ue: Option<usize>,
    writer: Writer,
}

/// A real UE.
struct Ue {
    number: u32,
    name: String,
    /// Index of its device.
    end: usize,
    recent: [RecentTraffic; 2],
    dropped: [u64; 2],
    mcs: (u64, u64),
}

/// Traffic since the last snapshot.
#[derive(Clone, Copy, Default)]
struct RecentTraffic {
    bytes: u64,
    delay: Span,
    packets: u64,
}

/// The relay.
pub struct Relay<'s> {
    live: Live<'s>,
    clock: Clock,
    /// Simulated time that the network has reached.
    reached: Time,
    ends: Vec<End>,
    ues: Vec<Ue>,
    /// Index of the device behind which an address lies.
    routes: HashMap<IpAddr, usize>,
    learned: usize,
    flows: Flows,
    frames: Frames,
    /// Contents of the frames, by number.
    contents: Vec<Content>,
    totals: Totals,
    /// Largest lag since the last snapshot.
    behind: Span,
    /// Packets that had entered or left at the last turn that slept.
    moved: u64,
    /// End of the last sleep, with `busy_wait`.
    rested: Span,
    buffer: Vec<u8>,
    segment: Vec<u8>,
    exits: Vec<Exit>,
    next_snapshot: Span,
    last_snapshot: (Span, Span),
}

impl<'s> Relay<'s> {
    /// Creates a relay between the server's device and those of the UEs, and simulates the warm-up.
    ///
    /// # Errors
    /// As [`Live::advance`].
    pub fn new(
        mut live: Live<'s>,
        frames: Frames,
        ports: Vec<Port>,
        writing: Writing,
    ) -> Result<Relay<'s>, Error> {
        let begin = live.begin();
        live.advance(begin)?;
        let mut ends = Vec::new();
        let mut ues = Vec::new();
        let mut routes = HashMap::new();
        for (place, port) in ports.into_iter().enumerate() {
            let ue = port.ue.map(|(number, name)| {
                ues.push(Ue {
                    number,
                    name,
                    end: place,
                    recent: Default::default(),
                    dropped: [0; 2],
                    mcs: (0, 0),
                });
                ues.len() - 1
            });
            if ue.is_some() {
                routes.extend(port.addresses.into_iter().map(|address| (address, place)));
            }
            let device: Arc<File> = Arc::new(port.device.into());
            ends.push(End { ue, writer: Writer::new(device.clone(), writing), device });
        }
        Ok(Relay {
            live,
            clock: Clock::start(begin),
            reached: begin,
            ends,
            ues,
            routes,
            learned: 0,
            flows: Flows::default(),
            frames,
            contents: Vec::new(),
            totals: Totals::default(),
            behind: Span::ZERO,
            moved: 0,
            rested: Span::ZERO,
            buffer: vec![0; LARGEST],
            segment: Vec::new(),
            exits: Vec::new(),
            next_snapshot: SNAPSHOT_PERIOD,
            last_snapshot: (Span::ZERO, cpu_time()),
        })
    }

    /// Relays packets until the session ends; returns the simulation and the totals.
    ///
    /// # Errors
    /// As [`Live::advance`].
    pub fn run(mut self, shared: &Shared<'_>) -> Result<(Live<'s>, Totals), Error> {
        let cpu = self.cpu();
        self.totals.began_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        self.clock = Clock::start(self.live.begin());
        let is_over = |elapsed| shared.limit.is_some_and(|limit| elapsed >= limit);
        while !shared.stop.load(Ordering::Relaxed) && !is_over(self.clock.elapsed()) {
            self.turn(shared)?;
        }
        // Packets inside stay there; those that are due still leave.
        let now = self.clock.now();
        let end = shared.limit.map_or(now, |limit| now.min(self.live.begin() + limit));
        self.totals.is_time_up = is_over(self.clock.elapsed());
        self.advance(end)?;
        self.ends.iter_mut().for_each(|end| end.writer.finish(&mut self.totals));
        self.totals.elapsed = self.clock.elapsed();
        self.totals.cpu = Span(self.cpu().0 - cpu.0);
        self.totals.packets.inside = self.inside();
        Ok((self.live, self.totals))
    }

    /// Advances the network to the present, reads what has arrived, and sleeps until something is due.
    fn turn(&mut self, shared: &Shared<'_>) -> Result<(), Error> {
        let clock = self.clock;
        self.advance(clock.now())?;
        let mut is_busy = false;
        for place in 0..self.ends.len() {
            is_busy |= self.read(place, || clock.now())?;
        }
        let now = self.reached;
        self.flows.check_ends(&mut self.live, now);
        if self.clock.elapsed() >= self.next_snapshot {
            self.note_sockets(now, shared);
            let snapshot = self.snapshot(now);
            // The receiver is gone only if the session is ending.
            let _ = shared.snapshots.send(snapshot);
        }
        if !is_busy && shared.busy_wait {
            self.wait_busily();
        } else if !is_busy {
            let moved = self.totals.packets.entered + self.totals.packets.out;
            let has_moved = std::mem::replace(&mut self.moved, moved) != moved;
            if has_moved {
                thread::sleep(Duration::from_nanos(PAUSE.0));
            } else {
                self.sleep(self.until_event());
            }
        }
        Ok(())
    }

    /// Executes the events that are due, and writes the packets that leave.
    fn advance(&mut self, now: Time) -> Result<(), Error> {
        self.live.advance(now)?;
        self.reached = now;
        let mut exits = std::mem::take(&mut self.exits);
        exits.extend(self.live.exits());
        for exit in exits.drain(..) {
            self.leave(&exit);
        }
        self.exits = exits;
        for end in &mut self.ends {
            end.writer.flush(&self.clock, &mut self.totals);
        }
        let behind = Span(self.clock.now().0.saturating_sub(now.0));
        self.behind = self.behind.max(behind);
        Ok(())
    }

    fn leave(&mut self, exit: &Exit) {
        let Some(ue) = self.ues.iter().position(|ue| ue.number == exit.ue) else { return };
        let direction = exit.direction as usize;
        match exit.fate {
            Fate::Delivered => {}
            Fate::Dropped(cause) => {
                self.frames.remove(exit.number, |_, _| ());
                self.totals.packets.dropped[cause as usize] += 1;
                self.ues[ue].dropped[direction] += 1;
                return;
            }
            Fate::Copied => {
                self.frames.copy(exit.number);
                self.totals.packets.copied += 1;
                return;
            }
        }
        let place = match exit.direction {
            Direction::Down => self.ues[ue].end,
            Direction::Up => 0,
        };
        let writer = &mut self.ends[place].writer;
        let size = self.frames.remove(exit.number, |bytes, partial| {
            let is_changed = headers::set_ecn(bytes, exit.ecn);
            let is_marked = is_changed && exit.ecn == Codepoint::Ce;
            writer.append(bytes, partial, Departure { at: exit.at, is_marked });
            bytes.len() as u64
        });
        if writer.is_full() {
            writer.flush(&self.clock, &mut self.totals);
        }
        let recent = &mut self.ues[ue].recent[direction];
        recent.bytes += size;
        recent.delay += exit.at.since(exit.sent_at);
        recent.packets += 1;
        let content = self.contents[exit.number as usize];
        self.flows.arrive(&mut self.live, exit.at, exit.flow, (exit.direction, size), &content);
    }

    /// Reads packets from a device. Returns whether more may be waiting.
    fn read(&mut self, place: usize, now: impl Fn() -> Time) -> Result<bool, Error> {
        let (mut buffer, mut segment) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.segment));
        let mut may_have_more = true;
        let mut entered = 0;
        while may_have_more && entered < BATCH {
            match (&*self.ends[place].device).read(&mut buffer) {
                Ok(length) if length > 0 => {
                    let present = now();
                    if present.since(self.reached) > GRAIN {
                        self.advance(present)?;
                    }
                    let each = |packet: &[u8], partial| {
                        entered += 1;
                        self.enter(self.reached, place, packet, partial);
                    };
                    if offload::split(&buffer[..length], &mut segment, each).is_err() {
                        self.totals.packets.malformed += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The device is empty, or gone with its namespace.
                Ok(_) | Err(_) => may_have_more = false,
            }
        }
        (self.buffer, self.segment) = (buffer, segment);
        Ok(may_have_more)
    }

    /// Sends a packet into the network; its checksum may be partial.
    fn enter(&mut self, now: Time, place: usize, bytes: &[u8], partial: Option<Partial>) {
        let fits = |packet: &Packet| partial.is_none_or(|partial| partial.fits(packet.size.0 as usize));
        let Some(packet) = Packet::parse(bytes).ok().filter(fits) else {
            self.totals.packets.malformed += 1;
            return;
        };
        let (direction, ue) = match self.ends[place].ue {
            Some(ue) => {
                self.learn(packet.from.ip(), place);
                (Direction::Up, ue)
            }
            None => match self.routes.get(&packet.to.ip()).and_then(|place| self.ends[*place].ue) {
                Some(ue) => (Direction::Down, ue),
                None => {
                    self.totals.packets.unroutable += 1;
                    return;
                }
            },
        };
        let number = self.frames.insert(&bytes[..packet.size.0 as usize], partial);
        if self.contents.len() <= number as usize {
            self.contents.resize(number as usize + 1, Content::Reply(0, packet.size));
        }
        self.contents[number as usize] = packet.content;
        let flow = self.flows.enter(&mut self.live, now, &packet, self.ues[ue].number, direction);
        self.totals.packets.entered += 1;
        self.live.send(now, Frame { number, flow, direction, size: packet.size, ecn: packet.ecn });
    }

    /// Notes the device behind which an address lies: a nested emulator forwards packets of other addresses.
    fn learn(&mut self, address: IpAddr, place: usize) {
        let is_host = !address.is_unspecified() && !address.is_multicast();
        if is_host && self.learned < MAX_LEARNED && !self.routes.contains_key(&address) {
            self.learned += 1;
            self.routes.insert(address, place);
        }
    }

    /// Returns at once if an event is due soon, otherwise sleeps until then; in any case sleeps at times.
    fn wait_busily(&mut self) {
        let left = self.until_event();
        let is_soon = left <= SPIN;
        if is_soon && self.clock.elapsed() - self.rested < LONGEST_SPIN {
            return;
        }
        if is_soon {
            thread::sleep(Duration::from_nanos(REST.0))
        } else {
            self.sleep(left - SPIN)
        }
        self.rested = self.clock.elapsed();
    }

    /// Time until an event is due, at most [`LONGEST_SLEEP`].
    fn until_event(&self) -> Span {
        let left = |at: Time| Span(at.0.saturating_sub(self.clock.now().0)).min(LONGEST_SLEEP);
        self.live.next_event().map_or(LONGEST_SLEEP, left)
    }

    /// Sleeps until a packet arrives, or until this time is over.
    fn sleep(&self, left: Span) {
        let mut devices: Vec<PollFd<'_>> =
            self.ends.iter().map(|end| PollFd::new(end.device.as_fd(), PollFlags::POLLIN)).collect();
        // An interrupted sleep is a short one.
        let _ = ppoll(&mut devices, Some(TimeSpec::new(0, left.0 as i64)), None);
    }

    /// Passes the latest socket states to the simulation, for its series.
    fn note_sockets(&mut self, now: Time, shared: &Shared<'_>) {
        let Some(states) = shared.sockets.try_iter().last() else { return };
        for SocketState { ends: [local, remote], at_server, state, cc } in states {
            let (ue_end, server_end) = if at_server { (remote, local) } else { (local, remote) };
            let direction = if at_server { Direction::Down } else { Direction::Up };
            let Some(place) = self.routes.get(&ue_end.ip()) else { continue };
            let Some(ue) = self.ends[*place].ue else { continue };
            let key = Key::tcp(self.ues[ue].number, ue_end, server_end);
            if let Some(flow) = self.flows.find(&key) {
                self.live.set_socket(now, flow, direction, state, cc.as_deref());
            }
        }
    }

    /// CPU time of this thread and of those of the devices.
    fn cpu(&self) -> Span {
        cpu_time() + self.totals.cpu_of_writers
    }

    /// Packets that have entered and neither left nor been dropped, those included that await a thread.
    fn inside(&self) -> u64 {
        self.frames.len() as u64 + self.ends.iter().map(|end| end.writer.pending()).sum::<u64>()
    }

    fn snapshot(&mut self, now: Time) -> Snapshot {
        let elapsed = self.clock.elapsed();
        let cpu = self.cpu();
        let (then, cpu_then) = std::mem::replace(&mut self.last_snapshot, (elapsed, cpu));
        self.next_snapshot = elapsed + SNAPSHOT_PERIOD;
        let span = Span(elapsed.0 - then.0);
        let kbps = |bytes: u64| bytes as f64 * 8.0 / span.as_secs() / 1e3;
        let live = &mut self.live;
        let ues = self.ues.iter_mut().map(|ue| {
            let view = live.ue(now, ue.number);
            let before = std::mem::replace(&mut ue.mcs, view.mcs);
            let [down, up] = std::mem::take(&mut ue.recent);
            let blocks = view.mcs.1 - before.1;
            UeSnapshot {
                ue: ue.number,
                name: ue.name.clone(),
                down_kbps: kbps(down.bytes),
                up_kbps: kbps(up.bytes),
                delay_down_ms: down.delay_ms(),
                delay_up_ms: up.delay_ms(),
                queue_bytes: view.queue_bytes.0,
                queue_packets: view.queue_packets,
                mcs: (blocks > 0).then(|| (view.mcs.0 - before.0) as f64 / blocks as f64),
                sinr_db: view.sinr_db,
                cell: view.cell,
                dropped_down: ue.dropped[0],
                dropped_up: ue.dropped[1],
            }
        });
        let ues = ues.collect();
        let mut active = self.flows.take_active();
        active.sort_by_key(|(_, _, recent)| std::cmp::Reverse(recent.bytes.iter().sum::<u64>()));
        active.truncate(MAX_SHOWN);
        let flows = active.into_iter().map(|(flow, key, recent)| {
            let socket = self.live.socket(flow);
            FlowView {
                id: self.live.flow_id(flow),
                ue: key.ue,
                what: key.to_string(),
                down_kbps: kbps(recent.bytes[0]),
                up_kbps: kbps(recent.bytes[1]),
                rtt_ms: recent.rtt.map(Span::as_millis),
                cc: socket.and_then(|(_, cc)| cc.map(String::from)),
                cwnd_bytes: socket.map(|(socket, _)| socket.cwnd.0),
            }
        });
        let flows = flows.collect();
        let behind = std::mem::take(&mut self.behind);
        self.totals.behind = self.totals.behind.max(behind);
        let packets = Packets { inside: self.inside(), ..self.totals.packets };
        Snapshot {
            t_s: elapsed.as_secs(),
            ues,
            flows,
            lateness_us: self.totals.lateness.figures(),
            cpu_percent: 100.0 * (cpu.0 - cpu_then.0) as f64 / span.0.max(1) as f64,
            behind_ms: behind.as_millis(),
            packets,
        }
    }
}

impl RecentTraffic {
    /// Mean one-way delay; `None` without packets.
    fn delay_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delay.as_millis() / self.packets as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Node;
    use airwnd_lab::{RealUe, Records, Scenario};
    use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader};
    use proptest::prelude::*;
    use std::os::unix::net::UnixDatagram;

    const WIRE: &str = r#"
        duration = "1s"
        core = {server_rate = "0bps", server_delay = "0ms"}
        [[link]]
        rate = "10Mbps"
        delay = "10ms"
        queue = 50
        [[ue]]
    "#;
    type TcpStep = PacketBuilderStep<TcpHeader>;

    const SERVER: [u8; 4] = [100, 64, 0, 1];
    const UE: [u8; 4] = [100, 64, 0, 2];

    fn scenario(text: &str) -> Scenario {
        Scenario::from_node(&Node::from_toml(text, "test").unwrap()).unwrap()
    }

    /// A relay whose devices are sockets, and the far ends of these; time is an argument, no clock is read for it.
    fn relay(scenario: &Scenario) -> (Relay<'_>, [UnixDatagram; 2]) {
        relay_that(scenario, Writing::default())
    }

    fn relay_that(scenario: &Scenario, writing: Writing) -> (Relay<'_>, [UnixDatagram; 2]) {
        let real = [RealUe { ue: 0, keeps_flows: false }];
        let live = Live::new(scenario, 1, &Records::default(), &real, None).unwrap();
        let pair = || {
            let (ours, theirs) = UnixDatagram::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            theirs.set_nonblocking(true).unwrap();
            (OwnedFd::from(ours), theirs)
        };
        let ((server, far_server), (ue, far_ue)) = (pair(), pair());
        let ports = vec![
            Port { device: server, ue: None, addresses: vec![SERVER.into()] },
            Port { device: ue, ue: Some((0, "phone".into())), addresses: vec![UE.into()] },
        ];
        (Relay::new(live, Frames::default(), ports, writing).unwrap(), [far_server, far_ue])
    }

    fn datagram(from: [u8; 4], to: [u8; 4], ports: (u16, u16), payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1);
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    fn received(socket: &UnixDatagram) -> Option<Vec<u8>> {
        let mut buffer = vec![0; LARGEST];
        let length = socket.recv(&mut buffer).ok()?;
        buffer.truncate(length);
        Some(buffer.split_off(offload::HEADER))
    }

    /// Checks the accounting with the packets that are inside now.
    fn unaccounted(relay: &Relay<'_>) -> i64 {
        Packets { inside: relay.inside(), ..relay.totals.packets }.unaccounted()
    }

    #[test]
    fn bytes_cross_unchanged_in_both_directions_and_pings_give_the_rtt() {
        let scenario = scenario(WIRE);
        let (mut relay, [server, ue]) = relay(&scenario);
        let begin = relay.live.begin();
        let mut request = Vec::new();
        let builder = PacketBuilder::ipv4(UE, SERVER, 64).icmpv4_echo_request(9, 1);
        builder.write(&mut request, &[1; 56]).unwrap();
        relay.enter(begin, 1, &request, None);
        relay.advance(begin + Span::from_millis(9)).unwrap();
        assert_eq!(received(&server), None);
        let there = begin + Span::from_millis(11);
        relay.advance(there).unwrap();
        assert_eq!(received(&server).as_ref(), Some(&request));
        let mut reply = Vec::new();
        let builder = PacketBuilder::ipv4(SERVER, UE, 64).icmpv4_echo_reply(9, 1);
        builder.write(&mut reply, &[1; 56]).unwrap();
        relay.enter(there, 0, &reply, None);
        relay.advance(begin + Span::from_millis(30)).unwrap();
        assert_eq!(received(&ue).as_ref(), Some(&reply));
        assert_eq!(unaccounted(&relay), 0);
        let outcome = relay.live.finish();
        let row = &outcome.flows()[0];
        assert_eq!(outcome.flows().len(), 1, "request and reply are one flow");
        // 1 ms of processing at the server, and 86 bytes at 10 Mbit/s each way.
        let rtt = row.rtt_ms.mean.unwrap();
        assert!((rtt - 21.07).abs() < 0.01, "{rtt}");
    }

    #[test]
    fn marks_are_counted() {
        let scenario = scenario(&WIRE.replace("queue = 50", "queue = 50\nmark_above = 5"));
        let (mut relay, [_, ue]) = relay(&scenario);
        let begin = relay.live.begin();
        for number in 0..20 {
            let mut packet = datagram(SERVER, UE, (4433, 5000), 1200);
            // Every second packet is ECN-capable.
            headers::set_ecn(&mut packet, if number % 2 == 0 { Codepoint::Ect0 } else { Codepoint::NotEct });
            relay.enter(begin, 0, &packet, None);
        }
        relay.advance(begin + Span::from_secs(1)).unwrap();
        let marked = std::iter::from_fn(|| received(&ue)).filter(|packet| packet[1] & 3 == 3).count();
        assert!(marked > 0, "no marks");
        assert_eq!((relay.totals.packets.marked, relay.totals.packets.out), (marked as u64, 20));
    }

    /// Segments that a device hands over at once cross the network one by one, and those that leave in the same turn
    /// are written at once if they are to be, but no more than do not await the rest.
    #[test]
    fn segments_are_separated_and_joined() {
        let scenario = scenario(&WIRE.replace("10Mbps", "1Gbps"));
        let (from, to) = (SERVER, UE);
        let mut whole = Vec::new();
        PacketBuilder::ipv4(from, to, 64)
            .tcp(80, 5000, 1, 1000)
            .ack(1)
            .write(&mut whole, &[7; 40_000])
            .unwrap();
        // Header of a packet of TCP over IPv4 that stands for segments of 1000 bytes.
        let mut read = vec![1, 1, 40, 0, 232, 3, 20, 0, 16, 0];
        read.extend(&whole);
        for (coalesces, writes) in [(false, [1040; 40].as_slice()), (true, &[32_040, 8_040])] {
            let (mut relay, [server, ue]) = relay_that(&scenario, Writing { coalesces, is_threaded: false });
            let begin = relay.live.begin();
            server.send(&read).unwrap();
            assert!(!relay.read(0, || begin).unwrap());
            relay.advance(begin + Span::from_millis(20)).unwrap();
            let written: Vec<usize> =
                std::iter::from_fn(|| received(&ue)).map(|packet| packet.len()).collect();
            assert_eq!(written, writes);
            let packets = relay.totals.packets;
            assert_eq!((packets.entered, packets.out, unaccounted(&relay)), (40, 40, 0));
            assert_eq!(relay.totals.lateness.figures().count, 40);
        }
    }

    /// A packet that is sent while a turn lasts enters when it is read, not when the turn began.
    #[test]
    fn a_packet_enters_when_it_is_read() {
        let scenario = scenario(WIRE);
        let (mut relay, [server, ue]) = relay(&scenario);
        let begin = relay.live.begin();
        let packet = datagram(SERVER, UE, (4433, 5000), 99);
        server.send(&[&[0; offload::HEADER], packet.as_slice()].concat()).unwrap();
        let read_at = begin + Span::from_millis(5);
        relay.read(0, || read_at).unwrap();
        relay.advance(read_at + Span::from_millis(9)).unwrap();
        assert_eq!(received(&ue), None);
        relay.advance(read_at + Span::from_millis(11)).unwrap();
        assert_eq!(received(&ue), Some(packet));
    }

    /// The client of a download sends first, and the server sends the data.
    #[test]
    fn the_socket_of_a_flow_is_that_of_the_sender_of_the_data() {
        let scenario = scenario(WIRE);
        let (mut relay, _) = relay(&scenario);
        let now = relay.live.begin();
        let segment = |from, to, ports: (u16, u16), sequence, ack, payload| {
            let mut bytes = Vec::new();
            let builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, sequence, 1000);
            builder.ack(ack).write(&mut bytes, &vec![7; payload]).unwrap();
            bytes
        };
        let (up, down) = ((UE, SERVER, (5000, 80)), (SERVER, UE, (80, 5000)));
        let mut later = now;
        for (place, (from, to, ports), sequence, ack, payload) in
            [(1, up, 1, 1, 100), (0, down, 1, 101, 1000), (1, up, 101, 1001, 0)]
        {
            relay.enter(later, place, &segment(from, to, ports, sequence, ack, payload), None);
            later += Span::from_millis(30);
            relay.advance(later).unwrap();
        }
        for (direction, cwnd, control) in
            [(Direction::Up, 14_000, "reno"), (Direction::Down, 50_000, "cubic")]
        {
            let state = Socket { cwnd: airwnd_units::Bytes(cwnd), ..Socket::default() };
            relay.live.set_socket(later, 0, direction, state, Some(control));
        }
        let shown = relay.snapshot(later).flows;
        assert_eq!(shown.len(), 1);
        assert_eq!((shown[0].cwnd_bytes, shown[0].cc.as_deref()), (Some(50_000), Some("cubic")));
    }

    /// A datagram that follows a burst overtakes it in a bearer of its own, and waits behind it in the default bearer.
    #[test]
    fn a_packet_filter_maps_a_flow_to_its_bearer() {
        let scenario = scenario(
            r#"
            duration = "1s"
            [[site]]
            [[ue]]
            [[ue.bearer]]
            name = "names"
            qci = 7
            filter = [{protocol = "udp", server_ports = [53, 53]}]
            "#,
        );
        for (port, overtakes) in [(53, true), (54, false)] {
            let (mut relay, [_, ue]) = relay(&scenario);
            let begin = relay.live.begin();
            for _ in 0..50 {
                relay.enter(begin, 0, &datagram(SERVER, UE, (4433, 5000), 1200), None);
            }
            relay.enter(begin, 0, &datagram(SERVER, UE, (port, 5000), 99), None);
            relay.advance(begin + Span::from_secs(1)).unwrap();
            let arrived: Vec<usize> =
                std::iter::from_fn(|| received(&ue)).map(|packet| packet.len()).collect();
            assert_eq!(arrived.len(), 51);
            let place = arrived.iter().position(|length| *length == 99 + 28).unwrap();
            assert_eq!(place < 25, overtakes, "port {port}: at {place}");
        }
    }

    /// A field beyond the packet that the IP header describes, in bytes that follow it.
    #[test]
    fn a_checksum_outside_the_packet_is_malformed() {
        let scenario = scenario(WIRE);
        let (mut relay, [server, _]) = relay(&scenario);
        let begin = relay.live.begin();
        let packet = datagram(SERVER, UE, (4433, 5000), 10);
        // Header: a partial checksum at byte 40 of a packet that has 38.
        let read = [&[1, 0, 0, 0, 0, 0, 20, 0, 20, 0], packet.as_slice(), &[0; 10]].concat();
        server.send(&read).unwrap();
        relay.read(0, || begin).unwrap();
        assert_eq!((relay.totals.packets.malformed, relay.totals.packets.entered), (1, 0));
    }

    #[test]
    fn unroutable_and_malformed_packets_are_counted_and_nested_addresses_learned() {
        let scenario = scenario(WIRE);
        let (mut relay, [server, ue]) = relay(&scenario);
        let begin = relay.live.begin();
        let nested = [100, 64, 1, 2];
        relay.enter(begin, 0, &datagram(SERVER, nested, (1, 2), 10), None);
        relay.enter(begin, 0, &[0x45; 12], None);
        assert_eq!((relay.totals.packets.unroutable, relay.totals.packets.malformed), (1, 1));
        relay.enter(begin, 1, &datagram(nested, SERVER, (2, 1), 10), None);
        relay.enter(begin, 0, &datagram(SERVER, nested, (1, 2), 10), None);
        relay.advance(begin + Span::from_millis(20)).unwrap();
        assert!(received(&server).is_some() && received(&ue).is_some());
        assert_eq!((relay.totals.packets.entered, relay.totals.packets.out), (2, 2));
    }

    #[test]
    fn flows_are_separate_up_to_the_limit_and_counted_together_beyond() {
        let scenario = scenario(WIRE);
        let (mut relay, _) = relay(&scenario);
        let begin = relay.live.begin();
        let extra = 100;
        for number in 0..(crate::flows::MAX_FLOWS + extra) as u32 {
            let [_, high, middle, low] = number.to_be_bytes();
            let packet = datagram([10, high, middle, low], SERVER, (5, 6), 0);
            let now = begin + Span::from_micros(100) * number.into();
            relay.advance(now).unwrap();
            relay.enter(now, 1, &packet, None);
        }
        relay.advance(begin + Span::from_secs(60)).unwrap();
        assert_eq!(unaccounted(&relay), 0);
        let outcome = relay.live.finish();
        assert_eq!(outcome.flows().len(), crate::flows::MAX_FLOWS + 1);
        let last = outcome.flows().last().unwrap();
        assert_eq!((last.kind.as_str(), last.packets_sent), ("other", extra as u64));
    }

    #[test]
    fn a_connection_with_the_ports_of_an_ended_one_is_another_flow() {
        let scenario = scenario(WIRE);
        let (mut relay, _) = relay(&scenario);
        let mut now = relay.live.begin();
        let segment = |flags: fn(TcpStep) -> TcpStep| {
            let mut bytes = Vec::new();
            let builder = PacketBuilder::ipv4(UE, SERVER, 64).tcp(5, 6, 100, 1000);
            flags(builder).write(&mut bytes, &[]).unwrap();
            bytes
        };
        for packet in
            [segment(TcpStep::syn), segment(TcpStep::syn), segment(TcpStep::rst), segment(TcpStep::syn)]
        {
            now += Span::from_millis(20);
            relay.advance(now).unwrap();
            relay.enter(now, 1, &packet, None);
        }
        relay.advance(now + Span::from_millis(20)).unwrap();
        let sent: Vec<u64> = relay.live.finish().flows().iter().map(|flow| flow.packets_sent).collect();
        assert_eq!(sent, [3, 1]);
    }

    #[test]
    fn an_idle_flow_is_forgotten_and_its_row_kept() {
        let scenario = scenario(WIRE);
        let (mut relay, _) = relay(&scenario);
        let begin = relay.live.begin();
        relay.enter(begin, 1, &datagram(UE, SERVER, (5, 6), 100), None);
        let later = begin + Span::from_secs(400);
        relay.advance(later).unwrap();
        relay.flows.check_ends(&mut relay.live, later);
        relay.enter(later, 1, &datagram(UE, SERVER, (5, 6), 100), None);
        relay.advance(later + Span::from_millis(20)).unwrap();
        let outcome = relay.live.finish();
        let sent: Vec<u64> = outcome.flows().iter().map(|flow| flow.packets_sent).collect();
        assert_eq!(sent, [1, 1]);
    }

    /// Packets in every state of correctness.
    fn packet() -> impl Strategy<Value = Vec<u8>> {
        let valid = (any::<bool>(), any::<[u16; 2]>(), 0_usize..1472, any::<bool>()).prop_map(
            |(is_tcp, [from, to], payload, is_six)| {
                let mut bytes = Vec::new();
                let payload = vec![0; payload];
                let ip = match is_six {
                    true => PacketBuilder::ipv6([1; 16], [2; 16], 9),
                    false => PacketBuilder::ipv4(UE, SERVER, 64),
                };
                match is_tcp {
                    true => ip.tcp(from, to, from.into(), to).ack(to.into()).write(&mut bytes, &payload),
                    false => ip.udp(from, to).write(&mut bytes, &payload),
                }
                .unwrap();
                bytes
            },
        );
        let damaged = (valid.clone(), proptest::collection::vec((0_usize..80, any::<u8>()), 1..8)).prop_map(
            |(mut bytes, changes)| {
                for (place, value) in changes {
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte = value;
                    }
                }
                bytes
            },
        );
        let cut = (valid.clone(), 0_usize..100).prop_map(|(mut bytes, length)| {
            bytes.truncate(length);
            bytes
        });
        let random = proptest::collection::vec(any::<u8>(), 1..LARGEST);
        prop_oneof![4 => valid, 4 => damaged, 2 => cut, 1 => random]
    }

    /// Sends packets that arrive at either device at random times, and checks the accounting.
    fn relay_any(packets: &[(Vec<u8>, bool, u64)], duplicates: bool, coalesces: bool) {
        let duplicate = "[[link]]\nduplicate = {probability = 0.3}\njitter = {time = \"5ms\"}";
        let scenario = scenario(&if duplicates { WIRE.replace("[[link]]", duplicate) } else { WIRE.into() });
        let (mut relay, far) = relay_that(&scenario, Writing { coalesces, is_threaded: false });
        let mut now = relay.live.begin();
        for (packet, is_up, wait) in packets {
            now += Span(*wait);
            relay.advance(now).unwrap();
            relay.enter(now, usize::from(*is_up), packet, None);
            relay.flows.check_ends(&mut relay.live, now);
            assert_eq!(unaccounted(&relay), 0);
            far.iter().for_each(|end| while received(end).is_some() {});
        }
        let all = relay.totals.packets;
        assert_eq!(all.entered + all.malformed + all.unroutable, packets.len() as u64);
        relay.advance(now + Span::from_secs(10)).unwrap();
        assert_eq!(relay.frames.len(), 0);
        assert_eq!(unaccounted(&relay), 0);
        relay.live.finish();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn packets_in_every_state_are_accounted_for(
            packets in proptest::collection::vec((packet(), any::<bool>(), 0_u64..2_000_000), 1..200),
            duplicates in any::<bool>(),
            coalesces in any::<bool>(),
        ) {
            relay_any(&packets, duplicates, coalesces);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        #[ignore = "a million packets: make nightly"]
        fn a_million_packets_in_every_state_are_accounted_for(
            packets in proptest::collection::vec((packet(), any::<bool>(), 0_u64..2_000_000), 1000..1001),
            duplicates in any::<bool>(),
            coalesces in any::<bool>(),
        ) {
            relay_any(&packets, duplicates, coalesces);
        }
    }
}
