//! A download from a source of limited speed.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// FTP: one TCP connection fed at a constant rate.
///
/// The application writes pieces of `chunk` bytes evenly in time. A piece for which TCP's send buffer has
/// no room is not written, as ns-3's OnOffApplication of that time did.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 OnOffApplication; ARWA 2019 Table 1: FTP of 512 bytes")]
pub struct Params {
    /// Rate at which the application produces data.
    #[param(default = BitRate(500_000), range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "ns-3 OnOffApplication::DataRate")]
    pub rate: BitRate,
    /// Bytes of one write.
    #[param(default = Bytes(512), range = Bytes(1)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "ns-3 OnOffApplication::PacketSize")]
    pub chunk: Bytes,
}

/// A source that writes pieces at a constant rate.
pub struct Ftp {
    params: Params,
}

impl Ftp {
    /// A source with this rate.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Ftp { params }
    }
}

impl Source for Ftp {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn write(&mut self, now: Time) -> Write {
        Write::Piece(self.params.chunk, now + self.params.rate.transmission_time(self.params.chunk))
    }
}
