//! Independent packet losses.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// Packet error: each packet is lost with probability p, independently of its size.
///
/// Loss bursts have mean length 1 / (1 - p).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 RateErrorModel, ERROR_UNIT_PACKET")]
pub struct Params {
    /// Probability that a packet is lost.
    #[param(basic, default = 0.01, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Al-Hasanat et al. 2017 Table 1: 0.001 to 0.05")]
    pub rate: f64,
}

/// Independent packet losses.
pub struct PacketError {
    params: Params,
    stream: Stream,
}

impl PacketError {
    /// Creates a model that draws losses from this stream.
    pub fn new(params: Params, stream: Stream, _start: Time) -> Self {
        PacketError { params, stream }
    }
}

impl Loss for PacketError {
    fn loses(&mut self, packet: Passing) -> bool {
        self.stream.at(packet.number) < self.params.rate
    }
}
