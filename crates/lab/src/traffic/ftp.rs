//! A download from a source of limited speed.

use super::on_off::{OnOff, Pieces};
use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// FTP: one TCP connection fed at a constant rate, continuously or on and off in turn.
///
/// The application writes pieces of `chunk` bytes evenly in time. With `off` above zero it does so in on times only: it
/// starts with an off time, writes a piece when its last bit is produced, and keeps the part of a piece that an off time
/// cuts short. ns-3's OnOffApplication is on and off for 1 s each by default. A piece for which TCP's send buffer has
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
    /// The parameters of [`OnOff`].
    #[param(flatten)]
    pub on_off: OnOff,
}

/// A source that writes pieces at a constant rate.
pub struct Ftp(Pieces);

impl Ftp {
    /// A source with this rate.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Ftp(Pieces::new(params.chunk, params.rate, params.on_off))
    }
}

impl Source for Ftp {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn writes_per_second(&self) -> f64 {
        self.0.per_second()
    }
    fn write(&mut self, now: Time) -> Write {
        self.0.write(now)
    }
}
