//! Addresses, ports and tunnel identifiers.

use std::net::Ipv4Addr;

/// Port of all servers.
pub const SERVER_PORT: u16 = 40_000;
/// First dynamic port, which needs no registration (RFC 6335 §6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u32 = 16_384;

/// Address of a flow's server: 10.1.0.1 for the first 16384 flows, 10.1.0.2 for the next.
pub fn server(flow: u32) -> Ipv4Addr {
    numbered(Ipv4Addr::new(10, 1, 0, 1), flow / DYNAMIC_PORTS)
}

/// Address of a UE: 7.0.0.2 is the first, as in ns-3's EPC.
pub fn ue(ue: u32) -> Ipv4Addr {
    numbered(Ipv4Addr::new(7, 0, 0, 2), ue)
}

/// Address of the gateway as the endpoint of all tunnels.
pub fn gateway() -> Ipv4Addr {
    Ipv4Addr::new(10, 2, 0, 1)
}

/// Address of a cell's eNB as a tunnel endpoint: 10.3.0.1 for the first cell.
pub fn enb(cell: u16) -> Ipv4Addr {
    numbered(Ipv4Addr::new(10, 3, 0, 1), u32::from(cell))
}

/// Port of a flow at its UE. Together with the server's address it identifies the flow.
pub fn ue_port(flow: u32) -> u16 {
    FIRST_DYNAMIC_PORT + (flow % DYNAMIC_PORTS) as u16
}

/// Tunnel endpoint identifier of a UE's bearer, in both directions (TS 29.281 §5.1: 0 is not for user data).
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
        assert_eq!((server(0), ue_port(0)), (Ipv4Addr::new(10, 1, 0, 1), 49_152));
        assert_eq!((server(16_383), ue_port(16_383)), (Ipv4Addr::new(10, 1, 0, 1), 65_535));
        assert_eq!((server(16_384), ue_port(16_384)), (Ipv4Addr::new(10, 1, 0, 2), 49_152));
    }

    #[test]
    fn ue_addresses_carry_across_octets() {
        assert_eq!(ue(0), Ipv4Addr::new(7, 0, 0, 2));
        assert_eq!(ue(99_999), Ipv4Addr::new(7, 1, 134, 161));
    }
}
