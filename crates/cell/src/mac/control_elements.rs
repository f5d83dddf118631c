//! What a UE's MAC adds to the data of a block (TS 36.321 §6.1.3).

use super::power_control;
use crate::phy::Prbs;
use airwnd_units::{Bytes, Db};

/// What a UE's power headroom in a block follows from.
pub(crate) struct Headroom<'a> {
    pub control: &'a power_control::Params,
    pub prbs: Prbs,
    pub loss: Db,
}

/// What a UE's MAC adds to a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elements {
    /// Buffer status report.
    pub buffer: Option<Bytes>,
    /// Power headroom report, in whole decibels.
    pub headroom: Option<Db>,
}
