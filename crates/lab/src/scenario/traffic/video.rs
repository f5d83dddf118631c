//! Video over UDP.

use super::on_off::{OnOff, Pieces};
use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// Video: H.264 over UDP at a constant 750 kbit/s in packets of 375 bytes, continuously or in on/off periods.
///
/// With `off` above zero datagrams are produced only during on periods, as by ns-3's OnOffApplication (1 s on and 1 s
/// off by default). The source starts with an off period, sends a datagram when its last bit is produced, and carries a
/// datagram interrupted by an off period over to the next on period.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ARWA 2019 Table 1")]
pub struct Params {
    /// Payload rate during on periods.
    #[param(basic, default = BitRate(750_000), range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "ARWA 2019 Table 1")]
    pub rate: BitRate,
    /// Payload per datagram.
    #[param(default = Bytes(375), range = Bytes(1)..=Bytes(65507), unit = "B", source = "ARWA 2019 Table 1")]
    pub packet: Bytes,
    /// The parameters of [`OnOff`].
    #[param(flatten)]
    pub on_off: OnOff,
}

/// A video source.
pub struct Video(Pieces);

impl Video {
    /// Creates a source with this rate.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Video(Pieces::new(params.packet, params.rate, params.on_off))
    }
}

impl Source for Video {
    fn transport(&self) -> Transport {
        Transport::Udp
    }
    fn writes_per_second(&self) -> f64 {
        self.0.per_second()
    }
    //= exception video-without-frames
    fn set_rate(&mut self, rate: BitRate) -> bool {
        self.0.set_rate(rate)
    }
    fn write(&mut self, now: Time) -> Write {
        self.0.write(now)
    }
}
