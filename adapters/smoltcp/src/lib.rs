//! [smoltcp](https://docs.rs/smoltcp), a TCP/IP stack without an operating system, at the ends of a path of [`airwnd`].
//!
//! ```no_run
//! use airwnd::{Scenario, Trial};
//! use airwnd_smoltcp::{Control, OPTIONS, download};
//!
//! let scenario = Scenario::read("cell.toml")?;
//! let report = Trial::new(&scenario).options(OPTIONS).run(|seed| download(Control::Cubic, seed))?;
//! report.goodput_kbps().assert_at_least(5000.0);
//! # Ok::<(), airwnd::TrialError>(())
//! ```
//!
//! smoltcp makes whole IP packets, so the flow adds no headers ([`OPTIONS`]). Its clock counts microseconds. The seed is
//! that of its initial sequence numbers; it has no other randomness.
#![deny(missing_docs)]

use airwnd::{Ecn, Endpoint, FlowOptions, Protocol, Received, Transmit};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address, Ipv4Packet, TcpPacket, TcpSeqNumber};
use std::collections::VecDeque;
use std::time::Duration;

/// Properties of a flow between smoltcp's endpoints.
pub const OPTIONS: FlowOptions = FlowOptions::ip(Protocol::Tcp);

/// Maximum IP packet in bytes.
const MTU: usize = 1500;
/// Send and receive buffer in bytes, so that only the congestion control limits a transfer.
const BUFFER: usize = 2 << 20;
const UE: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const UE_PORT: u16 = 5000;
const SERVER_PORT: u16 = 5201;

/// smoltcp's congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// CUBIC.
    Cubic,
    /// Reno.
    Reno,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 2] = [Control::Cubic, Control::Reno];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Control::Cubic => "cubic",
            Control::Reno => "reno",
        }
    }
}

/// Makes the endpoints of a transfer without end from the server to the UE: that at the UE, which connects, and that at
/// the server.
pub fn download(control: Control, seed: u64) -> (Tcp, Tcp) {
    pair(control, seed, false)
}

/// Makes the endpoints of a transfer without end from the UE to the server: that at the UE, which connects, and that at
/// the server.
pub fn upload(control: Control, seed: u64) -> (Tcp, Tcp) {
    pair(control, seed, true)
}

fn pair(control: Control, seed: u64, is_upload: bool) -> (Tcp, Tcp) {
    let mut ue = Tcp::new(UE, control, seed, is_upload);
    let mut server = Tcp::new(SERVER, control, seed + 1, !is_upload);
    let peer = (IpAddress::Ipv4(SERVER), SERVER_PORT);
    let socket = ue.sockets.get_mut::<Socket<'_>>(ue.handle);
    socket.connect(ue.interface.context(), peer, UE_PORT).expect("the socket is new");
    server.sockets.get_mut::<Socket<'_>>(server.handle).listen(SERVER_PORT).expect("the socket is new");
    (ue, server)
}

/// A TCP endpoint with one connection and an application that sends without end, or reads.
pub struct Tcp {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    wire: Wire,
    sends: bool,
    received: u64,
    /// Set if smoltcp has not been polled since its state changed.
    is_dirty: bool,
}

impl Tcp {
    fn new(address: Ipv4Address, control: Control, seed: u64, sends: bool) -> Tcp {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address.into(), 24)).expect("there is room for one address");
        });
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(match control {
            Control::Cubic => CongestionControl::Cubic,
            Control::Reno => CongestionControl::Reno,
        });
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Tcp { interface, sockets, handle, wire, sends, received: 0, is_dirty: true }
    }

    /// The socket.
    pub fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    /// Lets smoltcp process what has arrived and send what it may, and the application read and write.
    fn poll(&mut self, now: Duration) {
        self.interface.poll(micros(now), &mut self.wire, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        // A window that has opened is announced, and data is sent, by the next poll.
        while let Ok(read) = socket.recv(|data| (data.len(), data.len()))
            && read > 0
        {
            self.received += read as u64;
            self.is_dirty = true;
        }
        if self.sends && socket.may_send() {
            // The content does not matter.
            while socket.send(|room| (room.len(), room.len())).is_ok_and(|sent| sent > 0) {
                self.is_dirty = true;
            }
        }
    }
}

fn micros(now: Duration) -> Instant {
    Instant::from_micros(now.as_micros() as i64)
}

impl Endpoint for Tcp {
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        while self.wire.outgoing.is_empty() && self.is_dirty {
            self.is_dirty = false;
            self.poll(now);
        }
        let packet = self.wire.outgoing.pop_front()?;
        Some(Transmit { datagram: packet.into(), ecn: Ecn::NotEct })
    }

    fn handle(&mut self, _: Duration, received: Received) {
        self.wire.incoming.push_back(received.datagram.into_bytes());
        self.is_dirty = true;
    }

    fn timeout(&mut self, now: Duration) -> Option<Duration> {
        let at = self.interface.poll_at(micros(now), &self.sockets)?;
        Some(Duration::from_micros(u64::try_from(at.total_micros()).unwrap_or(0)))
    }

    fn handle_timeout(&mut self, _: Duration) {
        self.is_dirty = true;
    }

    fn received(&self) -> u64 {
        self.received
    }

    fn retransmissions(&self) -> u64 {
        self.wire.retransmissions
    }
}

/// Packets between smoltcp and the path.
#[derive(Default)]
struct Wire {
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
    /// End of the data sent so far.
    highest: Option<TcpSeqNumber>,
    retransmissions: u64,
}

impl Wire {
    fn send(&mut self, packet: Vec<u8>) {
        let ip = Ipv4Packet::new_unchecked(&packet[..]);
        let segment = TcpPacket::new_unchecked(ip.payload());
        if !segment.payload().is_empty() {
            let end = segment.seq_number() + segment.payload().len();
            let repeats = self.highest.is_some_and(|highest| segment.seq_number() < highest);
            self.retransmissions += u64::from(repeats);
            self.highest = Some(self.highest.map_or(end, |highest| highest.max(end)));
        }
        self.outgoing.push_back(packet);
    }
}

/// An incoming packet.
struct Incoming(Vec<u8>);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// A place for an outgoing packet.
struct Outgoing<'w>(&'w mut Wire);

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.send(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'w> = Incoming;
    type TxToken<'w> = Outgoing<'w>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        let packet = self.incoming.pop_front()?;
        Some((Incoming(packet), Outgoing(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}
