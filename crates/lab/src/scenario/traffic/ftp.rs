//! A transfer from a rate-limited source.

use super::on_off::{OnOff, Pieces};
use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// FTP: one TCP connection fed at a constant rate, continuously or in on/off periods.
///
/// The application writes chunks of `chunk` bytes at equal intervals. With `off` above zero it produces data only
/// during on periods: it starts with an off period, writes a chunk when its last bit is produced, and carries a chunk
/// interrupted by an off period over to the next on period. The defaults of ns-3's OnOffApplication are 1 s on and 1 s
/// off. A chunk that does not fit into TCP's send buffer is discarded, as in ns-3's OnOffApplication at the time of
/// ARWA 2019.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 OnOffApplication; ARWA 2019 Table 1: FTP of 512 bytes")]
pub struct Params {
    /// Data rate of the application during on periods.
    #[param(basic, default = BitRate(500_000), range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "ns-3 OnOffApplication::DataRate")]
    pub rate: BitRate,
    /// Bytes per write.
    #[param(default = Bytes(512), range = Bytes(1)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "ns-3 OnOffApplication::PacketSize")]
    pub chunk: Bytes,
    /// The parameters of [`OnOff`].
    #[param(flatten)]
    pub on_off: OnOff,
}

/// A source that writes chunks at a constant rate.
pub struct Ftp(Pieces);

impl Ftp {
    /// Creates a source with this rate.
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
    fn set_rate(&mut self, rate: BitRate) -> bool {
        self.0.set_rate(rate)
    }
    fn write(&mut self, now: Time) -> Write {
        self.0.write(now)
    }
}
