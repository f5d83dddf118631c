//! Adaptive modulation and coding: mapping of the channel to a CQI.

pub mod known;
pub mod steps;

use crate::access::Access;
use crate::error_model::ErrorModel;
use crate::{Cqi, Prbs, Sinr};
use airwnd_catalog::family;
use std::sync::Arc;

/// Link adaptation: the CQI that a UE reports for its channel.
#[family(name = "amc", build = fn(receiver: &Arc<dyn ErrorModel>, access: &Arc<Access>) -> Box<dyn Amc>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    BlockErrorTarget(block_error_target::Params),
    Fixed(fixed::Params),
    PiroEw2010(piro_ew2010::Params),
}

/// A mapping of a channel to a CQI, from which the MCS follows: [`Access::mcs_of`].
pub trait Amc: Send + Sync {
    /// The CQI for `blocks` resource blocks with the channel `sinr`: the whole bandwidth for a wideband report, one RBG
    /// for a sub-band report.
    fn cqi(&self, sinr: Sinr, blocks: Prbs) -> Cqi;

    /// Whether that CQI is at least this one, for a rule that can tell with less computation.
    fn reaches(&self, cqi: Cqi, sinr: Sinr, blocks: Prbs) -> bool {
        self.cqi(sinr, blocks) >= cqi
    }
}
