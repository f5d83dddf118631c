//! MAC control elements of a UE (TS 36.321 §6.1.3).

use super::power_control;
use airwnd_phy::Prbs;
use airwnd_units::{Bytes, Db};

/// Inputs of a UE's power headroom.
pub(crate) struct Headroom<'a> {
    pub control: &'a power_control::Params,
    pub prbs: Prbs,
    pub loss: Db,
}

/// MAC control elements in a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elements {
    /// Buffer status report.
    pub buffer: Option<Bytes>,
    /// Power headroom report, in whole decibels.
    pub headroom: Option<Db>,
}
