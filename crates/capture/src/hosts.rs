//! Who has which address and which port.

use std::net::Ipv4Addr;

/// The port of all servers.
pub const SERVER_PORT: u16 = 40_000;
/// The first of the ports that need no registration (RFC 6335 §6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u32 = 16_384;

/// The server of a flow: 10.1.0.1 has the first 16384 flows, 10.1.0.2 the next.
pub fn server(flow: u32) -> Ipv4Addr {
    numbered(Ipv4Addr::new(10, 1, 0, 1), flow / DYNAMIC_PORTS)
}

/// A UE: 7.0.0.2 is the first, as in ns-3's EPC.
pub fn ue(ue: u32) -> Ipv4Addr {
    numbered(Ipv4Addr::new(7, 0, 0, 2), ue)
}

/// The end of all tunnels in the gateway.
pub fn gateway() -> Ipv4Addr {
    Ipv4Addr::new(10, 2, 0, 1)
}

/// The end of a base station's tunnels: 10.3.0.1 is the first cell's.
pub fn base_station(cell: u16) -> Ipv4Addr {
    numbered(Ipv4Addr::new(10, 3, 0, 1), u32::from(cell))
}

/// A flow's port at its UE, which with the server's address tells it from all others.
pub fn terminal_port(flow: u32) -> u16 {
    FIRST_DYNAMIC_PORT + (flow % DYNAMIC_PORTS) as u16
}

/// The tunnel endpoint identifier of a UE's bearer, both ways (TS 29.281 §5.1: 0 is not for user data).
pub fn tunnel(ue: u32) -> u32 {
    ue + 1
}

fn numbered(first: Ipv4Addr, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(first.to_bits() + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_ue_differ_in_port_or_server() {
        assert_eq!((server(0), terminal_port(0)), (Ipv4Addr::new(10, 1, 0, 1), 49_152));
        assert_eq!((server(16_383), terminal_port(16_383)), (Ipv4Addr::new(10, 1, 0, 1), 65_535));
        assert_eq!((server(16_384), terminal_port(16_384)), (Ipv4Addr::new(10, 1, 0, 2), 49_152));
    }

    #[test]
    fn ues_are_counted_over_the_dots() {
        assert_eq!(ue(0), Ipv4Addr::new(7, 0, 0, 2));
        assert_eq!(ue(99_999), Ipv4Addr::new(7, 1, 134, 161));
    }
}
