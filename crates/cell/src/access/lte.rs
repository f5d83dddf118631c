//! LTE.

use airwnd_catalog::Params;

/// LTE in FDD: TTIs of 1 ms, PRBs of 180 kHz, 8 HARQ processes, turbo codes.
///
/// `radio.error_model` selects the block errors.
#[derive(Clone, Debug, PartialEq, Eq, Params)]
#[params(source = "TS 36.211 to TS 36.213; ns-3 LENA")]
pub struct Params {}
