//! Packet losses from independent bit errors.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// Bit error: each bit is wrong with probability p; a packet with a wrong bit is lost.
///
/// A packet of n bits on the wire, including headers and framing, is lost with the probability
///
/// ```math
/// 1 - (1 - p)^n
/// ```
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 RateErrorModel, ERROR_UNIT_BIT")]
pub struct Params {
    /// Probability that a bit is wrong.
    #[param(basic, default = 1e-6, range = 0.0..=1.0)]
    #[param(unit = "1", source = "1.2 % of 1500-byte packets, as `packet-error`")]
    pub rate: f64,
}

/// Independent bit errors.
pub struct BitError {
    /// ln(1 - p): the logarithm preserves the precision of a small p.
    log_intact: f64,
    stream: Stream,
}

impl BitError {
    /// Creates a model that draws losses from this stream.
    pub fn new(params: Params, stream: Stream, _start: Time) -> Self {
        BitError { log_intact: libm::log1p(-params.rate), stream }
    }
}

impl Loss for BitError {
    fn loses(&mut self, packet: Passing) -> bool {
        let lost = -libm::expm1(packet.size.bits() as f64 * self.log_intact);
        self.stream.at(packet.number) < lost
    }
}
