//! Link adaptation of blocks on several layers.

use airwnd_phy::access::Access;
use airwnd_phy::amc::{self, Amc};
use airwnd_phy::error_model::ErrorModel;
use airwnd_phy::{Cqi, Prbs, Sinr};
use airwnd_units::Db;
use std::sync::Arc;

/// Link adaptation by rank, from one layer on.
pub(super) fn by_rank(
    spec: &amc::Spec,
    receiver: &Arc<dyn ErrorModel>,
    access: &Arc<Access>,
) -> Vec<Box<dyn Amc>> {
    if access.layers.is_empty() {
        return vec![spec.build(receiver, access)];
    }
    let at_rank = |(rank, gains): (u8, &Vec<Db>)| -> Box<dyn Amc> {
        let amc = spec.build(receiver, &Arc::new(access.of_rank(rank)));
        Box::new(Layered { amc, gains: gains.clone() })
    };
    (1..).zip(&access.layers).map(at_rank).collect()
}

/// A rule for blocks on several layers, by the SINR of one antenna at each end.
struct Layered {
    /// The rule, for the block sizes of this rank.
    amc: Box<dyn Amc>,
    /// SINR of each layer over that of one antenna at each end.
    gains: Vec<Db>,
}

impl Layered {
    /// Applies a rule to the channel of the layers.
    fn with_layers<T>(&self, sinr: Sinr, rule: impl FnOnce(Sinr) -> T) -> T {
        match sinr {
            Sinr::Flat(sinr) => rule(Sinr::Layers(&[(sinr, Prbs(1))], &self.gains)),
            Sinr::Groups(groups) => rule(Sinr::Layers(groups, &self.gains)),
            Sinr::Layers(..) => rule(sinr),
        }
    }
}

impl Amc for Layered {
    fn cqi(&self, sinr: Sinr, blocks: Prbs) -> Cqi {
        self.with_layers(sinr, |layers| self.amc.cqi(layers, blocks))
    }

    fn reaches(&self, cqi: Cqi, sinr: Sinr, blocks: Prbs) -> bool {
        self.with_layers(sinr, |layers| self.amc.reaches(cqi, layers, blocks))
    }
}
