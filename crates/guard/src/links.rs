//! Interfaces by name, and their counters.

use crate::Error;
use airwnd_netns::Netlink;
use airwnd_units::Bytes;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::net::if_::if_nametoindex;

/// Returns the index of an interface.
pub(crate) fn index(interface: &str) -> Result<u32, Error> {
    if_nametoindex(interface)
        .map_err(|_| Error::new(format!("interface {interface}: does not exist; ip link lists all")))
}

/// Reads the counters of interfaces in the network namespace of the process.
pub(crate) struct Links(Netlink);

impl Links {
    pub fn open() -> Result<Links, Error> {
        let open = Netlink::open(NETLINK_ROUTE);
        Ok(Links(open.map_err(|why| Error::failed("cannot read the counters of interfaces", &why))?))
    }

    /// Returns the bytes that an interface has received and sent; `None`: there is no such interface any more.
    pub fn counters(&mut self, index: u32) -> Option<(Bytes, Bytes)> {
        let stats = self.0.stats_of_index(index).ok()?;
        Some((Bytes(stats.rx_bytes), Bytes(stats.tx_bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn counters_are_those_of_the_interface() {
        let index = index("lo").unwrap();
        let mut links = Links::open().unwrap();
        let (received, sent) = links.counters(index).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 5000], socket.local_addr().unwrap()).unwrap();
        let (received_after, sent_after) = links.counters(index).unwrap();
        assert!(received_after - received >= Bytes(5028) && sent_after - sent >= Bytes(5028));
        assert_eq!(links.counters(u32::MAX / 2), None);
    }
}
