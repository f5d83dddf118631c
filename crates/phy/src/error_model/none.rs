//! Error-free channel.

use super::{ErrorModel, SoftBits};
use crate::{Scheme, Sinr};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Db};

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
    fn loss(&self, _scheme: Scheme) -> Db {
        Db(0.0)
    }

    fn information(&self, _scheme: Scheme, _sinr: Sinr) -> f64 {
        1.0
    }

    fn receive_mean(&self, before: SoftBits, _scheme: Scheme, _block: Bytes, _mean: f64) -> SoftBits {
        before
    }

    fn block_error(&self, _block: Bytes, _soft: SoftBits) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model::Transmission;
    use crate::tables::scheme;
    use crate::{Mcs, Sinr};
    use airwnd_units::Db;

    #[test]
    fn the_worst_channel_has_no_errors() {
        let sent = Transmission { scheme: scheme(Mcs(28)), block: Bytes(9422), sinr: Sinr::Flat(Db(-40.0)) };
        assert_eq!(NoErrors.first_block_error(&sent), 0.0);
    }
}
