//! Packet filters, which map real flows to bearers.

use airwnd_catalog::{Choice, Params};

/// Protocol of a real flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Protocol {
    /// TCP (RFC 9293).
    #[word = "tcp"]
    Tcp,
    /// UDP (RFC 768), QUIC included.
    #[word = "udp"]
    Udp,
    /// ICMP or ICMPv6 (RFC 792, RFC 4443).
    #[word = "icmp"]
    Icmp,
    /// Any other.
    #[word = "other"]
    Other,
}

impl Protocol {
    /// Whether its flows have ports.
    fn has_ports(self) -> bool {
        matches!(self, Protocol::Tcp | Protocol::Udp)
    }
}

/// Properties of a real flow that a filter compares: those of its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Protocol.
    pub protocol: Protocol,
    /// Ports of the UE's end and of the server's end, of TCP and UDP only.
    pub ports: Option<[u16; 2]>,
    /// DSCP (RFC 2474) of the first packet.
    pub dscp: u8,
}

impl Signature {
    /// A flow of which only the protocol is known.
    pub fn of(protocol: Protocol) -> Signature {
        Signature { protocol, ports: None, dscp: 0 }
    }
}

/// A packet filter of a bearer: flows of `airwnd link` that have all its properties are mapped to the bearer.
///
/// A flow is mapped by its first packet, in both directions, to the first bearer with a filter that matches, without one
/// to the default bearer. Flows of the scenario name their bearer instead.
//= exception filters-by-first-packet
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 24.008 §10.5.6.12, traffic flow template", check)]
pub struct PacketFilter {
    /// Protocol; `none`: any.
    #[param(basic, default = None, unit = "word", source = "TS 24.008 §10.5.6.12: an optional component")]
    pub protocol: Option<Protocol>,
    /// First and last port at the server, of TCP or UDP; `none`: any.
    #[param(basic, default = None, range = 1..=65_535, unit = "1")]
    #[param(source = "TS 24.008 §10.5.6.12: remote port range")]
    pub server_ports: Option<[u16; 2]>,
    /// First and last port at the UE, of TCP or UDP; `none`: any.
    #[param(default = None, range = 1..=65_535, unit = "1")]
    #[param(source = "TS 24.008 §10.5.6.12: local port range")]
    pub ue_ports: Option<[u16; 2]>,
    /// Differentiated services code point (DSCP) of the flow's first packet; `none`: any.
    #[param(default = None, range = 0..=63, unit = "1")]
    #[param(source = "TS 24.008 §10.5.6.12: type of service; RFC 2474")]
    pub dscp: Option<u8>,
}

impl PacketFilter {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, ports) in [("server_ports", self.server_ports), ("ue_ports", self.ue_ports)] {
            match ports {
                Some([first, last]) if first > last => {
                    return Err((key, format!("the first port, {first}, is above the last, {last}")));
                }
                Some(_) if self.protocol.is_some_and(|protocol| !protocol.has_ports()) => {
                    return Err((
                        key,
                        "only tcp and udp have ports; remove it, or set protocol to one of them".into(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a flow has all properties.
    pub(crate) fn matches(&self, flow: &Signature) -> bool {
        let [ue_port, server_port] = flow.ports.map_or([None; 2], |ports| ports.map(Some));
        let within = |ports: Option<[u16; 2]>, port: Option<u16>| match (ports, port) {
            (None, _) => true,
            (Some([first, last]), Some(port)) => (first..=last).contains(&port),
            (Some(_), None) => false,
        };
        self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && within(self.server_ports, server_port)
            && within(self.ue_ports, ue_port)
            && self.dscp.is_none_or(|dscp| dscp == flow.dscp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Signature = Signature { protocol: Protocol::Udp, ports: Some([40_000, 3478]), dscp: 46 };
    const ANY: PacketFilter = PacketFilter { protocol: None, server_ports: None, ue_ports: None, dscp: None };

    #[test]
    fn all_properties_must_match() {
        let matching = PacketFilter {
            protocol: Some(Protocol::Udp),
            server_ports: Some([3478, 3481]),
            ue_ports: Some([40_000, 40_000]),
            dscp: Some(46),
        };
        assert!(ANY.matches(&CALL) && matching.matches(&CALL));
        for other in [
            PacketFilter { protocol: Some(Protocol::Tcp), ..matching },
            PacketFilter { server_ports: Some([3479, 3481]), ..matching },
            PacketFilter { ue_ports: Some([1, 39_999]), ..matching },
            PacketFilter { dscp: Some(0), ..matching },
        ] {
            assert!(!other.matches(&CALL), "{other:?}");
        }
    }

    #[test]
    fn a_flow_without_ports_matches_no_port() {
        let ping = Signature::of(Protocol::Icmp);
        assert!(ANY.matches(&ping));
        assert!(!PacketFilter { server_ports: Some([0, u16::MAX]), ..ANY }.matches(&ping));
    }
}
