//! Error-free channel.

use super::{ErrorModel, SoftBits, Transmission};
use airwnd_catalog::Params;
use airwnd_units::Bytes;

/// None: every block is decoded at its first transmission on any channel.
///
/// Separates the effect of scheduling from that of block errors. Link adaptation still follows the channel.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 LteSpectrumPhy, DataErrorModelEnabled = false")]
pub struct Params {}

/// An error model without errors.
#[derive(Clone, Debug)]
pub struct NoErrors;

impl NoErrors {
    /// A model without parameters.
    pub fn new(_params: Params) -> NoErrors {
        NoErrors
    }
}

impl ErrorModel for NoErrors {
    fn receive(&self, before: SoftBits, _transmission: &Transmission) -> SoftBits {
        before
    }
    fn block_error(&self, _block: Bytes, _soft: SoftBits) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scheme;
    use crate::{Mcs, Sinr};
    use airwnd_units::Db;

    #[test]
    fn the_worst_channel_has_no_errors() {
        let sent = Transmission { scheme: scheme(Mcs(28)), block: Bytes(9422), sinr: Sinr::Flat(Db(-40.0)) };
        assert_eq!(NoErrors.first_block_error(&sent), 0.0);
    }
}
