//! Sockets of a network namespace: TCP connections as `ss -ti` lists them, and the ports of servers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_packet_sock_diag::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP, SockDiagMessage};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::netlink::Netlink;

/// State of a TCP connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of RFC 9293")]
pub enum TcpState {
    Established,
    SynSent,
    FinWait1,
    FinWait2,
    CloseWait,
    LastAck,
    Closing,
}

impl TcpState {
    /// Name as in RFC 9293.
    pub fn name(self) -> &'static str {
        match self {
            TcpState::Established => "ESTABLISHED",
            TcpState::SynSent => "SYN-SENT",
            TcpState::FinWait1 => "FIN-WAIT-1",
            TcpState::FinWait2 => "FIN-WAIT-2",
            TcpState::CloseWait => "CLOSE-WAIT",
            TcpState::LastAck => "LAST-ACK",
            TcpState::Closing => "CLOSING",
        }
    }

    /// From the numbers of Linux' `net/tcp_states.h`.
    fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => TcpState::Established,
            2 => TcpState::SynSent,
            4 => TcpState::FinWait1,
            5 => TcpState::FinWait2,
            8 => TcpState::CloseWait,
            9 => TcpState::LastAck,
            11 => TcpState::Closing,
            _ => return None,
        })
    }
}

/// A connection.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSocket {
    /// Address and port in the namespace.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// State of the connection.
    pub state: TcpState,
    /// Congestion control: `cubic`.
    pub congestion_control: Option<String>,
    /// State of sender and receiver.
    pub info: TcpInfo,
}

/// State of a TCP sender and receiver: `struct tcp_info` of Linux' `linux/tcp.h`. `None`: this kernel does not
/// report the value, or has not measured it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window in segments of `snd_mss`.
    pub snd_cwnd: Option<u32>,
    /// Slow-start threshold in segments.
    pub snd_ssthresh: Option<u32>,
    /// Size of a sent segment's data in bytes.
    pub snd_mss: Option<u32>,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: Option<u32>,
    /// Mean deviation of the round-trip time in microseconds.
    pub rttvar_us: Option<u32>,
    /// Minimum round-trip time in the kernel's window (5 minutes) in microseconds.
    pub min_rtt_us: Option<u32>,
    /// Round-trip time that the receiver estimates, in microseconds.
    pub rcv_rtt_us: Option<u32>,
    /// Retransmission timeout in microseconds.
    pub rto_us: Option<u32>,
    /// Segments in flight.
    pub unacked: Option<u32>,
    /// Segments considered lost and not retransmitted yet.
    pub lost: Option<u32>,
    /// Retransmitted segments of the connection.
    pub total_retrans: Option<u32>,
    /// Rate at which the sender paces, in bytes per second; `None` without pacing.
    pub pacing_rate: Option<u64>,
    /// Latest delivery rate in bytes per second.
    pub delivery_rate: Option<u64>,
    /// Bytes acknowledged by the other end.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order.
    pub bytes_received: Option<u64>,
    /// Bytes sent, with retransmissions.
    pub bytes_sent: Option<u64>,
    /// Bytes in the send buffer that have not been sent.
    pub notsent_bytes: Option<u32>,
    /// Time in which the receive window limited the sender, in microseconds.
    pub rwnd_limited_us: Option<u64>,
    /// Delivered segments with a CE mark.
    pub delivered_ce: Option<u32>,
    /// Window advertised by the other end in bytes. Linux 5.4.
    pub snd_wnd: Option<u32>,
    /// Window advertised to the other end in bytes. Linux 6.2.
    pub rcv_wnd: Option<u32>,
    /// Receiver's target of its buffer's automatic size in bytes.
    pub rcv_space: Option<u32>,
}

impl TcpInfo {
    /// Reads the kernel's structure, which grows with its version. Values beyond its end are `None`.
    fn parse(bytes: &[u8]) -> Self {
        let long = |offset: usize| bytes.get(offset..offset + 8)?.try_into().ok().map(u64::from_ne_bytes);
        let int = |offset: usize| bytes.get(offset..offset + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let time = |offset| int(offset).filter(|&us| us > 0);
        Self {
            rto_us: time(8),
            snd_mss: int(16),
            unacked: int(24),
            lost: int(32),
            srtt_us: time(68),
            rttvar_us: time(72),
            // The kernel's "infinite".
            snd_ssthresh: int(76).filter(|&segments| segments < 0x7fff_ffff),
            snd_cwnd: int(80),
            rcv_rtt_us: time(92),
            rcv_space: int(96),
            total_retrans: int(100),
            pacing_rate: long(104).filter(|&rate| rate != u64::MAX),
            bytes_acked: long(120),
            bytes_received: long(128),
            notsent_bytes: int(144),
            min_rtt_us: time(148).filter(|&us| us != u32::MAX),
            delivery_rate: long(160).filter(|&rate| rate > 0),
            rwnd_limited_us: long(176),
            delivered_ce: int(196),
            bytes_sent: long(200),
            snd_wnd: int(228),
            rcv_wnd: int(232),
        }
    }
}

/// A NETLINK_SOCK_DIAG socket of a namespace.
#[derive(Debug)]
pub struct Diag(Netlink);

impl Diag {
    /// Opens a socket in the current network namespace.
    pub(crate) fn open() -> io::Result<Self> {
        Netlink::open(NETLINK_SOCK_DIAG).map(Self)
    }

    /// The namespace's TCP connections over IPv4 and IPv6, without listening sockets and without those in
    /// TIME-WAIT.
    ///
    /// # Errors
    ///
    /// The kernel's error: ENOENT if it lacks `tcp_diag`.
    pub fn tcp(&mut self) -> io::Result<Vec<TcpSocket>> {
        let mut sockets = Vec::new();
        let extensions = ExtensionFlags::INFO | ExtensionFlags::CONG;
        self.list(IPPROTO_TCP, connected(), extensions, |response| sockets.extend(socket(response)))?;
        Ok(sockets)
    }

    /// Ports at which TCP sockets listen.
    ///
    /// # Errors
    ///
    /// As [`Diag::tcp`].
    pub fn listening_ports(&mut self) -> io::Result<Vec<u16>> {
        self.ports(IPPROTO_TCP, StateFlags::LISTEN)
    }

    /// Ports of UDP sockets that receive from any address.
    ///
    /// # Errors
    ///
    /// The kernel's error: ENOENT if it lacks `udp_diag`.
    pub fn udp_ports(&mut self) -> io::Result<Vec<u16>> {
        // The kernel gives sockets of UDP the state ESTABLISHED with a remote address, and CLOSE without.
        self.ports(IPPROTO_UDP, StateFlags::CLOSE)
    }

    fn ports(&mut self, protocol: u8, states: StateFlags) -> io::Result<Vec<u16>> {
        let mut ports = Vec::new();
        let port = |response: &InetResponse| ports.push(response.header.socket_id.source_port);
        self.list(protocol, states, ExtensionFlags::empty(), port)?;
        Ok(ports)
    }

    fn list(
        &mut self,
        protocol: u8,
        states: StateFlags,
        extensions: ExtensionFlags,
        mut each: impl FnMut(&InetResponse),
    ) -> io::Result<()> {
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            let request = InetRequest {
                family,
                protocol,
                extensions: extensions.clone(),
                states: states.clone(),
                socket_id,
            };
            self.0.dump(SockDiagMessage::InetRequest(request), |reply| {
                if let SockDiagMessage::InetResponse(response) = reply {
                    each(&response);
                }
            })?;
        }
        Ok(())
    }
}

/// States in which the kernel keeps a `tcp_info`.
fn connected() -> StateFlags {
    StateFlags::ESTABLISHED
        | StateFlags::SYN_SENT
        | StateFlags::FIN_WAIT1
        | StateFlags::FIN_WAIT2
        | StateFlags::CLOSE_WAIT
        | StateFlags::LAST_ACK
        | StateFlags::CLOSING
}

fn socket(response: &InetResponse) -> Option<TcpSocket> {
    let id = &response.header.socket_id;
    let mut info = None;
    let mut congestion_control = None;
    for attribute in &response.nlas {
        match attribute {
            Nla::TcpInfo(bytes) => info = Some(TcpInfo::parse(bytes)),
            Nla::Congestion(name) => congestion_control = Some(name.clone()),
            _ => {}
        }
    }
    Some(TcpSocket {
        local: address(id.source_address, id.source_port),
        remote: address(id.destination_address, id.destination_port),
        state: TcpState::from_number(response.header.state)?,
        congestion_control,
        info: info?,
    })
}

/// IPv4 connections of IPv6 sockets are listed with mapped addresses.
fn address(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip.to_canonical(), port)
}

impl From<OwnedFd> for Diag {
    fn from(fd: OwnedFd) -> Self {
        Self(fd.into())
    }
}

impl AsRawFd for Diag {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_end_of_an_older_kernels_structure_are_unknown() {
        let mut bytes = vec![0; 240];
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[232..236].copy_from_slice(&65535u32.to_ne_bytes());
        let info = TcpInfo::parse(&bytes);
        assert_eq!((info.snd_cwnd, info.rcv_wnd, info.min_rtt_us), (Some(10), Some(65535), None));
        // Linux 4.1: up to tcpi_segs_in.
        let info = TcpInfo::parse(&bytes[..144]);
        assert_eq!((info.snd_cwnd, info.bytes_acked), (Some(10), Some(0)));
        assert_eq!((info.min_rtt_us, info.delivery_rate, info.snd_wnd), (None, None, None));
        assert_eq!(TcpInfo::parse(&[]), TcpInfo::default());
    }
}
