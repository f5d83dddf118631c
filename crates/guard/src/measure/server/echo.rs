//! Answers to pings.

use super::Shared;
use crate::measure::protocol::Echo;
use crate::measure::server::registry::Network;
use crate::system;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Datagrams that are answered before the server looks for connections.
const BATCH: usize = 256;

/// A socket whose datagrams have the time of their arrival, and the address that they were sent to: a host with several
/// addresses must reply from the same one.
pub(super) fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    if address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
    } else {
        setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
    }
    Ok(socket)
}

/// A datagram that has arrived.
struct Arrival {
    bytes: [u8; Echo::SIZE + 1],
    length: usize,
    from: SockaddrStorage,
    /// By the real-time clock.
    at: Option<Duration>,
    to: Option<Local>,
}

/// The address that a datagram was sent to.
enum Local {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

/// Answers the pings that have arrived.
pub(super) fn answer(socket: &UdpSocket, shared: &Shared) {
    for _ in 0..BATCH {
        let arrival = match receive(socket) {
            Ok(Some(arrival)) => arrival,
            // An ICMP message, about a client that has gone.
            Ok(None) => continue,
            Err(_) => return,
        };
        if let Some(reply) = reply(&arrival, shared) {
            send(socket, &reply, &arrival);
        }
    }
}

/// Receives a datagram; `None`: there was an error of an earlier one. `Err`: there are no more.
fn receive(socket: &UdpSocket) -> Result<Option<Arrival>, Errno> {
    // One byte more than a ping: a longer datagram is none.
    let mut bytes = [0; Echo::SIZE + 1];
    let mut space = cmsg_space!(libc::timespec, libc::in_pktinfo, libc::in6_pktinfo);
    let mut pieces = [IoSliceMut::new(&mut bytes)];
    let received =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut pieces, Some(&mut space), MsgFlags::empty());
    let message = match received {
        Err(Errno::EAGAIN | Errno::EBADF | Errno::ENOTSOCK) => return Err(Errno::EAGAIN),
        Err(_) => return Ok(None),
        Ok(message) => message,
    };
    let Some(from) = message.address else { return Ok(None) };
    let (mut at, mut to) = (None, None);
    for control in message.cmsgs().into_iter().flatten() {
        match control {
            ControlMessageOwned::ScmTimestampns(time) => at = Some(time.into()),
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                to = Some(Local::V4(libc::in_pktinfo { ipi_ifindex: 0, ..info }));
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => to = Some(Local::V6(info)),
            _ => {}
        }
    }
    let length = message.bytes;
    Ok(Some(Arrival { bytes, length, from, at, to }))
}

fn reply(arrival: &Arrival, shared: &Shared) -> Option<Echo> {
    let echo = Echo::parse(arrival.bytes.get(..arrival.length)?).filter(|echo| !echo.is_reply)?;
    let network = Network::of(address(&arrival.from)?);
    let is_answered = shared.registry().may_echo(echo.token, network, shared.now());
    let held = arrival.at.map(|at| system::real_time().saturating_sub(at)).unwrap_or_default();
    is_answered.then_some(Echo { is_reply: true, held, ..echo })
}

fn send(socket: &UdpSocket, reply: &Echo, arrival: &Arrival) {
    let bytes = reply.encoded();
    let pieces = [IoSlice::new(&bytes)];
    let from = arrival.to.as_ref().map(|local| match local {
        Local::V4(info) => ControlMessage::Ipv4PacketInfo(info),
        Local::V6(info) => ControlMessage::Ipv6PacketInfo(info),
    });
    // Without room in a queue the reply is lost, as on the path.
    let _ = sendmsg(socket.as_raw_fd(), &pieces, from.as_slice(), MsgFlags::empty(), Some(&arrival.from));
}

fn address(from: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = from.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
    v4.or_else(|| from.as_sockaddr_in6().map(|address| IpAddr::from(address.ip())))
}
