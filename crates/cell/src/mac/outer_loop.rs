//! Outer-loop link adaptation (OLLA): the eNB corrects CQI reports by HARQ feedback.

use crate::identity::UeSlot;
use airwnd_catalog::Params;
use airwnd_kernel::Direction;
use airwnd_phy::access::Access;
use airwnd_phy::error_model::{ErrorModel, Transmission};
use airwnd_phy::{Cqi, Mcs, Sinr};
use airwnd_units::Db;
use std::sync::Arc;

/// Outer-loop link adaptation: a per-UE SINR offset, driven by HARQ feedback, holds the initial BLER at its target.
///
/// CQI reports are delayed, coarse and conservative. A first transmission that fails lowers the UE's offset by `step`.
/// One that is decoded raises it by
///
/// ```math
/// \mathrm{step} \cdot \frac{\mathrm{target}}{1 - \mathrm{target}}
/// ```
///
/// The two balance where a fraction `target` of first transmissions fails. The MCS of a block is the highest one whose
/// required SINR, for `target` errors over the whole carrier, is at most that of the reported CQI's MCS plus the
/// offset. The scheduler still uses the reports themselves.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Sampath, Kumar and Holtzman, VTC 1997: On setting reverse link power control target SIR in a \
              CDMA system; Pedersen et al., VTC 2007: Frequency domain scheduling for OFDMA with limited \
              and noisy channel feedback"
)]
pub struct Params {
    /// Target fraction of first transmissions that fail.
    #[param(basic, default = 0.1, range = 0.001..=0.9, unit = "1", source = "TS 36.213 §7.2.3")]
    pub target: f64,
    /// Decrease of the offset per failure.
    #[param(basic, default = Db(0.5), range = Db(0.001)..=Db(5.0))]
    #[param(unit = "dB", source = "a choice: about half the distance between two MCSs")]
    pub step: Db,
    /// Bound of the offset on either side of zero, which it reaches while no MCS is low or high enough.
    #[param(default = Db(10.0), range = Db(0.0)..=Db(30.0))]
    #[param(unit = "dB", source = "a choice: half the distance between CQI 1 and CQI 15")]
    pub bound: Db,
}

/// Outer loops of a cell's UEs.
#[derive(Clone, Debug)]
pub(crate) struct OuterLoop {
    params: Params,
    /// SINR at which a block of each MCS over the whole carrier fails with the target probability.
    needs: Vec<Db>,
    access: Arc<Access>,
    /// By slot.
    offsets: Vec<Db>,
}

impl OuterLoop {
    /// Loops without UEs, for receivers that decode as `receiver` does.
    pub fn new(params: Params, receiver: &dyn ErrorModel, access: &Arc<Access>) -> OuterLoop {
        let need = |mcs| needed_sinr(receiver, access, mcs, params.target);
        let needs = access.schemes().map(need).collect();
        OuterLoop { params, needs, access: access.clone(), offsets: Vec::new() }
    }

    /// Adds a UE at a slot.
    pub fn admit(&mut self, slot: UeSlot) {
        let place = slot.index();
        if place == self.offsets.len() {
            self.offsets.push(Db(0.0));
        }
        self.offsets[place] = Db(0.0);
    }

    /// The MCS for a UE that reports this CQI.
    pub fn mcs(&self, slot: UeSlot, cqi: Cqi) -> Mcs {
        let reported = self.access.mcs_of(cqi);
        let need = self.needs[usize::from(reported.0)];
        let allowed = need + self.offsets[slot.index()];
        let fits = |mcs: &Mcs| self.needs[usize::from(mcs.0)] <= allowed;
        if allowed >= need {
            // An MCS that requires no more SINR is no correction: without errors all require the same.
            let harder = |mcs: &Mcs| *mcs > reported && self.needs[usize::from(mcs.0)] > need;
            self.access.schemes().filter(|mcs| harder(mcs) && fits(mcs)).last().unwrap_or(reported)
        } else {
            self.access.schemes().take_while(|mcs| *mcs < reported).filter(fits).last().unwrap_or(Mcs(0))
        }
    }

    /// Handles the HARQ feedback of a first transmission.
    pub fn on_feedback(&mut self, slot: UeSlot, decoded: bool) {
        let Params { target, step, bound } = self.params;
        let offset = &mut self.offsets[slot.index()];
        let change = if decoded { step.0 * target / (1.0 - target) } else { -step.0 };
        *offset = Db((offset.0 + change).clamp(-bound.0, bound.0));
    }
}

/// The SINR, within -30 to 60 dB, at which a block of an MCS fails with this probability.
fn needed_sinr(receiver: &dyn ErrorModel, access: &Access, mcs: Mcs, target: f64) -> Db {
    let (scheme, block) = (access.scheme(mcs), access.block(Direction::Down, mcs, access.prbs));
    let fails = |sinr: f64| {
        receiver.first_block_error(&Transmission { scheme, block, sinr: Sinr::Flat(Db(sinr)) }) > target
    };
    let (mut low, mut high) = (-30.0, 60.0);
    // Resolution of a ten-thousandth of a decibel: 90 dB / 2^20.
    for _ in 0..20 {
        let middle = (low + high) / 2.0;
        if fails(middle) { low = middle } else { high = middle }
    }
    Db(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::Stream;
    use airwnd_phy::Prbs;
    use airwnd_phy::amc::{Amc, block_error_target::BlockErrorTarget};
    use airwnd_phy::error_model::mutual_information::MutualInformation;
    use airwnd_phy::error_model::none::{self, NoErrors};
    use airwnd_phy::tables::{mcs_of, scheme, transport_block};

    fn receiver() -> MutualInformation {
        MutualInformation::new(Default::default())
    }

    fn access() -> Arc<Access> {
        Arc::new(Access::lte(Prbs(50)))
    }

    fn outer_loop(receiver: &dyn ErrorModel) -> OuterLoop {
        let mut outer = OuterLoop::new(Params::default(), receiver, &access());
        outer.admit(UeSlot(0));
        outer
    }

    #[test]
    fn without_feedback_the_report_decides() {
        let outer = outer_loop(&receiver());
        for cqi in (0..=15).map(Cqi) {
            assert_eq!(outer.mcs(UeSlot(0), cqi), mcs_of(cqi), "{cqi:?}");
        }
    }

    #[test]
    fn nine_blocks_decoded_make_up_for_one_lost() {
        // 9 x 0.5 dB x 0.1 / 0.9 = 0.5 dB
        let mut outer = outer_loop(&receiver());
        outer.on_feedback(UeSlot(0), false);
        assert_eq!(outer.offsets[0], Db(-0.5));
        assert!(outer.mcs(UeSlot(0), Cqi(9)) < mcs_of(Cqi(9)));
        (0..9).for_each(|_| outer.on_feedback(UeSlot(0), true));
        assert!(outer.offsets[0].0.abs() < 1e-12);
        (0..1000).for_each(|_| outer.on_feedback(UeSlot(0), false));
        assert_eq!((outer.offsets[0], outer.mcs(UeSlot(0), Cqi(3))), (Db(-10.0), Mcs(0)));
        (0..1000).for_each(|_| outer.on_feedback(UeSlot(0), true));
        assert_eq!((outer.offsets[0], outer.mcs(UeSlot(0), Cqi(14))), (Db(10.0), Mcs(28)));
        outer.admit(UeSlot(0));
        assert_eq!(outer.offsets[0], Db(0.0));
    }

    #[test]
    fn without_errors_nothing_is_corrected() {
        let mut outer = outer_loop(&NoErrors::new(none::Params {}));
        (0..1000).for_each(|_| outer.on_feedback(UeSlot(0), true));
        assert_eq!(outer.mcs(UeSlot(0), Cqi(7)), mcs_of(Cqi(7)));
    }

    /// Fraction of failed blocks of a UE at a constant SINR whose reports exceed it by `bias`.
    fn failing(outer: &mut OuterLoop, sinr: Db, bias: Db) -> f64 {
        let receiver: Arc<dyn ErrorModel> = Arc::new(receiver());
        let rule = BlockErrorTarget::new(Default::default(), &receiver, &access());
        let cqi = rule.cqi(Sinr::Flat(sinr + bias), Prbs(50));
        let stream = Stream::new(1, "blocks");
        let (mut failed, mut counted) = (0, 0);
        for number in 0..12_000 {
            let mcs = outer.mcs(UeSlot(0), cqi);
            let block = transport_block(Direction::Down, mcs, Prbs(50));
            let sent = Transmission { scheme: scheme(mcs), block, sinr: Sinr::Flat(sinr) };
            let decoded = stream.at(number) >= receiver.first_block_error(&sent);
            outer.on_feedback(UeSlot(0), decoded);
            if number >= 2000 {
                counted += 1;
                failed += u32::from(!decoded);
            }
        }
        f64::from(failed) / f64::from(counted)
    }

    #[test]
    fn biased_reports_converge_to_the_target() {
        // An offset that stays within its bounds has fallen as far as it has risen: failed x step equals decoded x step
        // x target / (1 - target), except for the width of the bounds over the blocks: 20 / 0.5 / 10 000.
        for bias in [-4.0, 0.0, 4.0] {
            for sinr in [3.0, 9.0, 15.0] {
                let mut outer = outer_loop(&receiver());
                let share = failing(&mut outer, Db(sinr), Db(bias));
                assert!((share - 0.1).abs() < 0.004, "{sinr} dB, {bias} dB: {share}");
            }
        }
    }
}
