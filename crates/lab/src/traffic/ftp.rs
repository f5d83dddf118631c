//! A download from a source of limited speed.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::params;
use airwnd_units::{BitRate, Bytes, Time};

params! {
    /// FTP: one TCP connection fed at a constant rate.
    ///
    /// The application writes pieces of `chunk` bytes evenly in time. A piece for which TCP's send buffer has
    /// no room is not written, as ns-3's OnOffApplication of that time did.
    pub struct Params ("ns-3 OnOffApplication; ARWA 2019 Table 1: FTP of 512 bytes") {
        /// Rate at which the application produces data.
        pub rate: BitRate = BitRate(500_000), unit "bit/s", range BitRate(1)..=BitRate(1_000_000_000_000), source "ns-3 OnOffApplication::DataRate";
        /// Bytes of one write.
        pub chunk: Bytes = Bytes(512), unit "B", range Bytes(1)..=Bytes(1 << 30), source "ns-3 OnOffApplication::PacketSize";
    }
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
