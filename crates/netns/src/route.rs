//! Devices, addresses and routes of a network namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, Stats64};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink::Netlink;

/// Counters of a device since its creation, as seen by the namespace: it receives what the caller writes to the
/// TUN device, and transmits what the caller reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Received packets that the kernel dropped.
    pub rx_dropped: u64,
    /// Written packets that the device did not accept.
    pub rx_errors: u64,
    /// Packets that the caller has read.
    pub tx_packets: u64,
    /// Bytes that the caller has read.
    pub tx_bytes: u64,
    /// Packets dropped because the device's queue was full: the caller read too slowly.
    pub tx_dropped: u64,
}

/// Requests about devices, of a NETLINK_ROUTE socket.
impl Netlink {
    /// Returns the device `name`.
    ///
    /// # Errors
    ///
    /// The kernel's error, if there is no such device.
    pub fn link_of_name(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut query = LinkMessage::default();
        query.attributes.push(LinkAttribute::IfName(name.to_string()));
        self.link(query)
    }

    /// Returns the counters of the device with this index.
    ///
    /// # Errors
    ///
    /// The kernel's error, if there is no such device.
    pub fn stats_of_index(&mut self, index: u32) -> io::Result<LinkStats> {
        let mut query = LinkMessage::default();
        query.header.index = index;
        stats(&self.link(query)?)
    }

    /// Returns the link type of the device with this index (`linux/if_arp.h`).
    ///
    /// # Errors
    ///
    /// The kernel's error, if there is no such device.
    pub fn link_type_of_index(&mut self, index: u32) -> io::Result<u16> {
        let mut query = LinkMessage::default();
        query.header.index = index;
        Ok(self.link(query)?.header.link_layer_type.into())
    }

    fn link(&mut self, query: LinkMessage) -> io::Result<LinkMessage> {
        let mut found = None;
        self.request(RouteNetlinkMessage::GetLink(query), 0, |reply| {
            if let RouteNetlinkMessage::NewLink(link) = reply {
                found = Some(link);
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn stats(link: &LinkMessage) -> io::Result<LinkStats> {
    let stats = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Stats64(stats) => Some(LinkStats::from(stats)),
        _ => None,
    });
    stats.ok_or_else(|| io::Error::other("the kernel reports no counters"))
}

/// A NETLINK_ROUTE socket of a namespace.
#[derive(Debug)]
pub struct Route(Netlink);

impl Route {
    /// Opens a socket in the current network namespace.
    pub(crate) fn open() -> io::Result<Self> {
        Netlink::open(NETLINK_ROUTE).map(Self)
    }

    /// Counters of the device `name`.
    ///
    /// # Errors
    ///
    /// The kernel's error, if the device does not exist any more.
    pub fn link_stats(&mut self, name: &str) -> io::Result<LinkStats> {
        stats(&self.0.link_of_name(name)?)
    }

    pub(crate) fn index(&mut self, name: &str) -> io::Result<u32> {
        Ok(self.0.link_of_name(name)?.header.index)
    }

    /// Sets MTU and length of the transmit queue, of a device that is down.
    pub(crate) fn dimension(&mut self, index: u32, mtu: u32, queue_packets: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue_packets)];
        self.change(RouteNetlinkMessage::SetLink(link))
    }

    pub(crate) fn up(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(link))
    }

    /// Adds an address. An IPv6 address is usable at once: the device has one neighbour, so duplicates are not
    /// looked for.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.create(RouteNetlinkMessage::NewAddress(message))
    }

    /// Routes `destination` to the device.
    pub(crate) fn add_route(&mut self, index: u32, destination: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(destination),
            destination_prefix_length: prefix,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Boot,
            scope: if destination.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        if prefix > 0 {
            message.attributes.push(RouteAttribute::Destination(destination.into()));
        }
        self.create(RouteNetlinkMessage::NewRoute(message))
    }

    /// Whether the namespace receives packets to `address` itself.
    pub(crate) fn is_local(&mut self, address: IpAddr) -> io::Result<bool> {
        Ok(self.route_to(address)? == Some(RouteType::Local))
    }

    /// Whether the namespace sends packets for `address` to one of its devices.
    pub(crate) fn is_reached(&mut self, address: IpAddr) -> io::Result<bool> {
        Ok(self.route_to(address)? == Some(RouteType::Unicast))
    }

    fn route_to(&mut self, address: IpAddr) -> io::Result<Option<RouteType>> {
        let mut query = RouteMessage::default();
        query.header.address_family = family(address);
        query.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        query.attributes = vec![RouteAttribute::Destination(address.into())];
        let mut kind = None;
        let answer = self.0.request(RouteNetlinkMessage::GetRoute(query), 0, |reply| {
            if let RouteNetlinkMessage::NewRoute(route) = reply {
                kind = Some(route.header.kind);
            }
        });
        match answer {
            Err(why) if why.kind() == io::ErrorKind::NetworkUnreachable => Ok(None),
            answer => answer.map(|()| kind),
        }
    }

    pub(crate) fn add_default_route(&mut self, index: u32, ipv6: bool) -> io::Result<()> {
        let any: IpAddr = if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        self.add_route(index, any, 0)
    }

    fn create(&mut self, message: RouteNetlinkMessage) -> io::Result<()> {
        self.0.request(message, NLM_F_CREATE | NLM_F_EXCL, |_| {})
    }

    fn change(&mut self, message: RouteNetlinkMessage) -> io::Result<()> {
        self.0.request(message, 0, |_| {})
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

impl From<&Stats64> for LinkStats {
    fn from(stats: &Stats64) -> Self {
        Self {
            rx_packets: stats.rx_packets,
            rx_bytes: stats.rx_bytes,
            rx_dropped: stats.rx_dropped,
            rx_errors: stats.rx_errors,
            tx_packets: stats.tx_packets,
            tx_bytes: stats.tx_bytes,
            tx_dropped: stats.tx_dropped,
        }
    }
}

impl From<OwnedFd> for Route {
    fn from(fd: OwnedFd) -> Self {
        Self(fd.into())
    }
}

impl AsRawFd for Route {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
