//! Changes of routes and interfaces, as the kernel announces them (rtnetlink).

use crate::Error;
use airwnd_netns::Netlink;
use libc::{RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE, RTMGRP_LINK};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::route::{RouteAttribute, RouteHeader, RouteMessage};
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
            changes(&message).into_iter().for_each(&mut on_change);
        }
    }
}

/// Returns a warning if the default route leaves through an interface that should lead to receivers.
pub(crate) fn warning(interface: &str, index: u32) -> Option<String> {
    let mut routes = Vec::new();
    let request = RouteNetlinkMessage::GetRoute(RouteMessage::default());
    // Without the routes there is nothing to warn of.
    Netlink::open(NETLINK_ROUTE)
        .and_then(|mut netlink| netlink.dump(request, |route| routes.push(route)))
        .ok()?;
    has_default(&routes, index).then(|| {
        format!(
            "--forward {interface}: the default route leaves through it, so that it seems to lead to the senders; \
             name the interface that leads to the receivers"
        )
    })
}

/// Whether a default route of the main table leaves through an interface.
fn has_default(routes: &[RouteNetlinkMessage], index: u32) -> bool {
    routes.iter().any(|message| {
        let is_main = matches!(message, RouteNetlinkMessage::NewRoute(route) if route.header.table == RouteHeader::RT_TABLE_MAIN);
        is_main && changes(message).contains(&Change { interface: index, is_default: true })
    })
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
fn changes(message: &RouteNetlinkMessage) -> Vec<Change> {
    let of_link = |interface| vec![Change { interface, is_default: false }];
    match message {
        RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
            let is_default = route.header.destination_prefix_length == 0;
            let interfaces = route.attributes.iter().flat_map(|attribute| match attribute {
                RouteAttribute::Oif(interface) => vec![*interface],
                RouteAttribute::MultiPath(hops) => hops.iter().map(|hop| hop.interface_index).collect(),
                _ => Vec::new(),
            });
            interfaces.map(|interface| Change { interface, is_default }).collect()
        }
        RouteNetlinkMessage::DelLink(link) => of_link(link.header.index),
        RouteNetlinkMessage::NewLink(link)
            if !link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp) =>
        {
            of_link(link.header.index)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::LinkMessage;
    use netlink_packet_route::route::RouteNextHop;

    #[test]
    fn a_default_route_of_the_main_table_leads_to_the_senders() {
        let route = |table, length, interface| {
            let mut route = RouteMessage::default();
            route.header.table = table;
            route.header.destination_prefix_length = length;
            route.attributes.push(RouteAttribute::Oif(interface));
            RouteNetlinkMessage::NewRoute(route)
        };
        let main = RouteHeader::RT_TABLE_MAIN;
        let routes = [route(main, 24, 2), route(main, 0, 3), route(100, 0, 4)];
        assert_eq!([2, 3, 4].map(|index| has_default(&routes, index)), [false, true, false]);
    }

    #[test]
    fn routes_and_interfaces_that_go_down_are_changes() {
        let mut route = RouteMessage::default();
        let over = |route: &RouteMessage| changes(&RouteNetlinkMessage::NewRoute(route.clone()));
        let change = |interface, is_default| Change { interface, is_default };
        assert_eq!(over(&route), []);
        route.attributes.push(RouteAttribute::Oif(3));
        assert_eq!(over(&route), [change(3, true)]);
        route.header.destination_prefix_length = 24;
        assert_eq!(over(&route), [change(3, false)]);
        let hops = [5, 6].map(|interface_index| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = interface_index;
            hop
        });
        route.attributes = vec![RouteAttribute::MultiPath(hops.to_vec())];
        assert_eq!(over(&route), [change(5, false), change(6, false)]);
        let mut link = LinkMessage::default();
        link.header.index = 4;
        let down = [change(4, false)];
        assert_eq!(changes(&RouteNetlinkMessage::NewLink(link.clone())), down);
        link.header.flags = LinkFlags::Up | LinkFlags::LowerUp;
        assert_eq!(changes(&RouteNetlinkMessage::NewLink(link.clone())), []);
        assert_eq!(changes(&RouteNetlinkMessage::DelLink(link)), down);
    }
}
