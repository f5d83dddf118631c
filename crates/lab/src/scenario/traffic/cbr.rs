//! Datagrams at a constant rate.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// Constant bit rate: UDP datagrams of one size at equal intervals.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 UdpClient")]
pub struct Params {
    /// Payload rate.
    #[param(basic, default = BitRate(1_000_000), range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "ns-3 UdpClient: Interval and PacketSize")]
    pub rate: BitRate,
    /// Payload per datagram.
    #[param(basic, default = Bytes(1000), range = Bytes(1)..=Bytes(65507))]
    #[param(unit = "B", source = "ns-3 reference runs S1 and S2")]
    pub packet: Bytes,
}

/// A source of evenly spaced datagrams.
pub struct Cbr {
    params: Params,
}

impl Cbr {
    /// Creates a source with this rate.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Cbr { params }
    }
}

impl Source for Cbr {
    fn transport(&self) -> Transport {
        Transport::Udp
    }
    fn writes_per_second(&self) -> f64 {
        self.params.rate.0 as f64 / self.params.packet.bits() as f64
    }
    fn set_rate(&mut self, rate: BitRate) -> bool {
        self.params.rate = rate;
        true
    }
    fn write(&mut self, now: Time) -> Write {
        Write::Piece(self.params.packet, now + self.params.rate.transmission_time(self.params.packet))
    }
}
