//! Video over UDP.

use super::cbr::{self, Cbr};
use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// Video: H.264 over UDP at a constant 750 kbit/s in packets of 375 bytes.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ARWA 2019 Table 1")]
pub struct Params {
    /// Rate of the payload.
    #[param(default = BitRate(750_000), range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "ARWA 2019 Table 1")]
    pub rate: BitRate,
    /// Payload of a datagram.
    #[param(default = Bytes(375), range = Bytes(1)..=Bytes(65507), unit = "B", source = "ARWA 2019 Table 1")]
    pub packet: Bytes,
}

/// A video stream.
pub struct Video(Cbr);

impl Video {
    /// A stream with this rate.
    pub fn new(params: Params, ctx: &FlowContext) -> Self {
        Video(Cbr::new(cbr::Params { rate: params.rate, packet: params.packet }, ctx))
    }
}

impl Source for Video {
    fn transport(&self) -> Transport {
        self.0.transport()
    }
    //= exception video-without-frames
    fn write(&mut self, now: Time) -> Write {
        self.0.write(now)
    }
}
