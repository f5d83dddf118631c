//! Datagrams at a constant rate.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::params;
use airwnd_units::{BitRate, Bytes, Time};

params! {
    /// Constant bit rate: UDP datagrams of one size, evenly in time.
    pub struct Params ("ns-3 UdpClient") {
        /// Rate of the payload.
        pub rate: BitRate = BitRate(1_000_000), unit "bit/s", range BitRate(1)..=BitRate(1_000_000_000_000), source "ns-3 UdpClient: Interval and PacketSize";
        /// Payload of a datagram.
        pub packet: Bytes = Bytes(1000), unit "B", range Bytes(1)..=Bytes(65507), source "ns-3 reference runs S1 and S2";
    }
}

/// A source of evenly spaced datagrams.
pub struct Cbr {
    params: Params,
}

impl Cbr {
    /// A source with this rate.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Cbr { params }
    }
}

impl Source for Cbr {
    fn transport(&self) -> Transport {
        Transport::Udp
    }
    fn write(&mut self, now: Time) -> Write {
        Write::Piece(self.params.packet, now + self.params.rate.transmission_time(self.params.packet))
    }
}
