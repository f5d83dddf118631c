//! Video over UDP.

use super::cbr::{self, Cbr};
use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::params;
use airwnd_units::{BitRate, Bytes, Time};

params! {
    /// Video: H.264 over UDP at a constant 750 kbit/s in packets of 375 bytes.
    pub struct Params ("ARWA 2019 Table 1") {
        /// Rate of the payload.
        pub rate: BitRate = BitRate(750_000), unit "bit/s", range BitRate(1)..=BitRate(1_000_000_000_000), source "ARWA 2019 Table 1";
        /// Payload of a datagram.
        pub packet: Bytes = Bytes(375), unit "B", range Bytes(1)..=Bytes(65507), source "ARWA 2019 Table 1";
    }
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
