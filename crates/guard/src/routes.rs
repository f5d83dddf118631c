//! Changes of routes and interfaces, as the kernel announces them (rtnetlink).

use crate::Error;
use libc::{RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE, RTMGRP_LINK};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::route::RouteAttribute;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Bytes of a datagram; the kernel announces one change in each.
const DATAGRAM: usize = 32 * 1024;

/// A change after which paths may have another RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Index of the interface.
    pub interface: u32,
    /// Whether a default route has changed.
    pub is_default: bool,
}

/// Announcements for the network namespace of the process.
pub(crate) struct Routes(Socket);

impl Routes {
    pub fn open() -> Result<Routes, Error> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            let groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
            socket.bind(&SocketAddr::new(0, groups.cast_unsigned()))?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        Ok(Routes(open().map_err(|why| Error::failed("cannot follow changes of routes", &why))?))
    }

    /// Passes each change since the last call to `on_change`. Announcements that found the buffer full are lost: a
    /// longer path is then learned later.
    pub fn changed(&self, mut on_change: impl FnMut(Change)) {
        let mut datagram = Vec::with_capacity(DATAGRAM);
        loop {
            datagram.clear();
            match self.0.recv(&mut datagram, 0) {
                Ok(_) => {}
                Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => continue,
                Err(_) => return,
            }
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&datagram);
            let Ok(NetlinkMessage { payload: NetlinkPayload::InnerMessage(message), .. }) = message else {
                continue;
            };
            if let Some(change) = change(&message) {
                on_change(change);
            }
        }
    }
}

/// Readable when changes wait.
impl AsFd for Routes {
    #[expect(unsafe_code, reason = "netlink-sys gives the descriptor as number only")]
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the socket.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}

/// Reads the announcement of a new or removed route, or of an interface that has gone down. Other changes of an
/// interface, and those of addresses, are announced also when nothing changes, as with each IPv6 router advertisement.
fn change(message: &RouteNetlinkMessage) -> Option<Change> {
    match message {
        RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
            let is_default = route.header.destination_prefix_length == 0;
            route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Oif(interface) => Some(Change { interface: *interface, is_default }),
                _ => None,
            })
        }
        RouteNetlinkMessage::DelLink(link) => {
            Some(Change { interface: link.header.index, is_default: false })
        }
        RouteNetlinkMessage::NewLink(link) => {
            let is_down = !link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp);
            is_down.then_some(Change { interface: link.header.index, is_default: false })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::LinkMessage;
    use netlink_packet_route::route::RouteMessage;

    #[test]
    fn routes_and_interfaces_that_go_down_are_changes() {
        let mut route = RouteMessage::default();
        let over = |route: &RouteMessage| change(&RouteNetlinkMessage::NewRoute(route.clone()));
        assert_eq!(over(&route), None);
        route.attributes.push(RouteAttribute::Oif(3));
        assert_eq!(over(&route), Some(Change { interface: 3, is_default: true }));
        route.header.destination_prefix_length = 24;
        assert_eq!(over(&route), Some(Change { interface: 3, is_default: false }));
        let mut link = LinkMessage::default();
        link.header.index = 4;
        let down = Some(Change { interface: 4, is_default: false });
        assert_eq!(change(&RouteNetlinkMessage::NewLink(link.clone())), down);
        link.header.flags = LinkFlags::Up | LinkFlags::LowerUp;
        assert_eq!(change(&RouteNetlinkMessage::NewLink(link.clone())), None);
        assert_eq!(change(&RouteNetlinkMessage::DelLink(link)), down);
    }
}
