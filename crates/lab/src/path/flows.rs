//! Flows, and the applications that write and read them.

use super::{End, Happening, Simulation, UDP_HEADERS};
use crate::meter::Meter;
use crate::scenario::{DataDirection, Scenario};
use crate::tap::Carried;
use crate::traffic::{Source, Transport, Write};
use airwnd_catalog::Error;
use airwnd_engine::Stream;
use airwnd_tcp::{Endpoint, Seq, Setup, State, rwnd};
use airwnd_units::{BitRate, Bytes, Time};

pub(crate) struct Flow {
    pub(super) id: String,
    pub(super) group: String,
    pub ue: u32,
    pub(super) kind: String,
    pub(super) cc: Option<String>,
    pub(super) rwnd: Option<String>,
    /// The end that sends data.
    pub(super) sender: End,
    pub(super) source: Box<dyn Source>,
    pub(super) connection: Option<Connection>,
    pub(super) stopped: bool,
    /// The congestion control comes from outside and may fail.
    pub(super) can_fail: bool,
    pub(super) meter: Meter,
    pub(super) sampled: Sampled,
    /// Timeouts and loss recoveries of the sender that are on record.
    pub(super) noted: (u64, u64),
    /// Packets that each end has sent, modulo 65536: the server, the terminal.
    pub(super) identifications: [u16; 2],
}

/// Sums at the last sample: the next one tells what has come since.
#[derive(Default)]
pub(super) struct Sampled {
    pub(super) payload: Bytes,
    /// Of the one-way delays, and their number.
    pub(super) delays: (u128, u64),
    /// Of the MCS of first transmissions, and their number.
    pub(super) blocks: (u64, u64),
}

/// A TCP connection: its two ends and when their timers are due.
pub(super) struct Connection {
    pub(super) server: Endpoint,
    pub(super) ue: Endpoint,
    pub(super) server_timer: Option<Time>,
    pub(super) ue_timer: Option<Time>,
    /// What the application has for TCP as soon as the send buffer has room.
    pub(super) unwritten: Bytes,
    /// The application will have no more: the connection closes once it stands and all is written.
    pub(super) closing: bool,
    pub(super) reader: Option<Reader>,
    /// What the receive-window control wants to know of the device.
    pub(super) wants: rwnd::Wants,
}

/// An application that takes its time to read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) rate: BitRate,
    /// The most that it reads at once.
    pub(super) most: Bytes,
    /// What it is reading.
    pub(super) piece: Bytes,
}

impl Connection {
    pub(super) fn end(&mut self, end: End) -> (&mut Endpoint, &mut Option<Time>) {
        match end {
            End::Server => (&mut self.server, &mut self.server_timer),
            End::Ue => (&mut self.ue, &mut self.ue_timer),
        }
    }
}

impl Simulation<'_> {
    pub(super) fn add_flows(&mut self, scenario: &Scenario, seed: u64) {
        let config = scenario.tcp.config();
        let stream = Stream::new(seed, "congestion control");
        let begin = self.begin;
        let first_ue = |group: usize| scenario.ue[..group].iter().map(|group| group.count).sum::<u32>();
        for group in &scenario.flow {
            let chosen = (0..scenario.ue.len())
                .filter(|index| group.ue.as_ref().is_none_or(|name| scenario.ue[*index].name == *name));
            let ues = chosen.flat_map(|index| first_ue(index)..first_ue(index) + scenario.ue[index].count);
            for (number, ue) in ues.enumerate() {
                let flow = self.flows.len() as u32;
                let source = group.traffic.build();
                let tcp = source.transport() == Transport::Tcp;
                let sender = match group.direction {
                    DataDirection::Down => End::Server,
                    DataDirection::Up => End::Ue,
                };
                let connection = tcp.then(|| {
                    let plain = rwnd::Spec::Fixed(Default::default());
                    // The end without data needs a controller, but not one that a user has to see.
                    let idle = airwnd_tcp::cc::Spec::Newreno(Default::default());
                    let end = |end: End| {
                        let (cc, rwnd, peer_rwnd) = if end == sender {
                            (&group.cc, &plain, &group.rwnd)
                        } else {
                            (&idle, &group.rwnd, &plain)
                        };
                        //= exception initial-sequence-zero
                        let seed = stream.child(u64::from(flow)).next_u64();
                        Endpoint::new(&Setup { config: &config, cc, rwnd, peer_rwnd, iss: Seq(0), seed })
                    };
                    let reader = |rate| Reader { rate, most: Bytes(config.mss.into()), piece: Bytes::ZERO };
                    let mut connection = Connection {
                        server: end(End::Server),
                        ue: end(End::Ue),
                        server_timer: None,
                        ue_timer: None,
                        unwritten: Bytes::ZERO,
                        closing: false,
                        reader: group.read_rate.map(reader),
                        wants: rwnd::Wants::default(),
                    };
                    let at_once = connection.reader.is_none();
                    let receiver = connection.end(sender.other()).0;
                    receiver.read_at_once(at_once);
                    connection.wants = receiver.wants_of_device();
                    connection
                });
                self.flows.push(Flow {
                    id: format!("{}-{number}", group.id),
                    group: group.id.clone(),
                    ue,
                    kind: group.traffic.kind(),
                    cc: tcp.then(|| group.cc.kind()),
                    rwnd: tcp.then(|| group.rwnd.kind()),
                    sender,
                    source,
                    connection,
                    stopped: false,
                    can_fail: tcp && group.cc.is_outside(),
                    meter: Meter::new(),
                    sampled: Sampled::default(),
                    noted: (0, 0),
                    identifications: [0; 2],
                });
                let start = begin + group.start + group.stagger * number as u64;
                self.queue.schedule(start, Happening::Write(flow));
                if let Some(stop) = group.stop {
                    self.queue.schedule((begin + stop).max(start), Happening::Stop(flow));
                }
            }
        }
    }

    // The application.

    pub(super) fn write(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.stopped {
            return;
        }
        let first = flow.meter.started.is_none();
        flow.meter.started.get_or_insert(now);
        let sender = flow.sender;
        if let Some(connection) = flow.connection.as_mut().filter(|_| first) {
            connection.end(sender.other()).0.listen();
            connection.end(sender).0.connect();
            self.devices.open(flow.ue, sender, number);
            self.tell_of_device(now, number, sender.other());
        }
        let flow = &mut self.flows[number as usize];
        let written = flow.source.write(now);
        if let Write::Piece(_, next) = written {
            self.queue.schedule(next, Happening::Write(number));
        }
        match &mut flow.connection {
            Some(connection) => {
                match written {
                    Write::Endless => connection.end(sender).0.write_endlessly(),
                    Write::Whole(size) => {
                        connection.unwritten = size;
                        connection.closing = true;
                    }
                    Write::Piece(size, _) => {
                        connection.end(sender).0.write(size);
                    }
                }
                self.pump(now, number, sender);
            }
            None => {
                let (Write::Piece(payload, _) | Write::Whole(payload)) = written else {
                    unreachable!("no datagram source is endless")
                };
                let content = Carried::Datagram(payload);
                self.emit(now, number, sender, payload + UDP_HEADERS, content);
            }
        }
    }

    /// A slow receiving application begins to read what there is, unless it is still reading.
    pub(super) fn start_reading(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        let receiver = flow.sender.other();
        let Some(connection) = &mut flow.connection else { return };
        let Some(mut reader) = connection.reader.filter(|reader| reader.piece == Bytes::ZERO) else { return };
        reader.piece = connection.end(receiver).0.unread().min(reader.most);
        connection.reader = Some(reader);
        if reader.piece > Bytes::ZERO {
            self.queue.schedule(now + reader.rate.transmission_time(reader.piece), Happening::Read(number));
        }
    }

    pub(super) fn read(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        let receiver = flow.sender.other();
        let connection = flow.connection.as_mut().expect("only TCP is read slowly");
        let piece =
            connection.reader.as_mut().map_or(Bytes::ZERO, |reader| std::mem::take(&mut reader.piece));
        connection.end(receiver).0.read(now, piece);
        self.pump(now, number, receiver);
        self.start_reading(now, number);
    }

    pub(super) fn stop(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        flow.stopped = true;
        let sender = flow.sender;
        if let Some(connection) = &mut flow.connection {
            connection.unwritten = Bytes::ZERO;
            connection.closing = true;
            self.pump(now, number, sender);
        }
    }

    /// The application writes what the send buffer has room for, and closes when there is no more.
    pub(super) fn write_rest(&mut self, number: u32, at: End) {
        let connection = self.flows[number as usize].connection.as_mut().expect("only TCP is written to");
        let rest = connection.unwritten;
        if rest > Bytes::ZERO {
            let taken = connection.end(at).0.write(rest);
            connection.unwritten -= taken;
        }
        if connection.closing && connection.unwritten == Bytes::ZERO {
            let endpoint = connection.end(at).0;
            if matches!(endpoint.state(), State::Established | State::CloseWait) {
                endpoint.close();
                connection.closing = false;
            }
        }
    }

    /// Ends the run if the flow's congestion control has failed.
    pub(super) fn watch(&mut self, now: Time, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.can_fail && flow.failure().is_some() {
            flow.can_fail = false;
            self.queue.schedule(now, Happening::Failure(number));
        }
    }

    pub(super) fn failure(&self, number: u32) -> Error {
        self.flows[number as usize].failure().expect("scheduled by a failure").clone()
    }
}

impl Flow {
    /// The end of its connection that sends data.
    pub(super) fn sending(&self) -> Option<&Endpoint> {
        self.connection.as_ref().map(|connection| match self.sender {
            End::Server => &connection.server,
            End::Ue => &connection.ue,
        })
    }

    /// The end of its connection that receives data.
    pub fn receiving(&self) -> Option<&Endpoint> {
        self.connection.as_ref().map(|connection| match self.sender {
            End::Server => &connection.ue,
            End::Ue => &connection.server,
        })
    }

    /// Why its congestion control cannot go on, if it cannot.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.sending()?.cc().failure()
    }
}
