//! Outer-loop link adaptation: the base station corrects the UEs' reports by what became of its blocks.

use crate::phy::error_model::{ErrorModel, Transmission};
use crate::phy::tables::{mcs_of, transport_block};
use crate::phy::{Cqi, Mcs, Prbs, Sinr};
use airwnd_catalog::Params;
use airwnd_kernel::Direction;
use airwnd_units::Db;

/// Outer-loop link adaptation: an offset to each user's CQI, in decibels, that holds the share of first
/// transmissions that fail at its target.
///
/// Reports are old, coarse and cautious. A first transmission that fails lowers the user's offset by `step`,
/// one that is decoded raises it by step target / (1 - target): the two balance where a share of `target`
/// fails. A block's scheme is the fastest one that needs at most as much SINR for `target` errors over the
/// whole carrier as the scheme of the CQI, plus the offset. The scheduler still sees the reports themselves.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Sampath, Kumar and Holtzman, VTC 1997: On setting reverse link power control target SIR in a \
              CDMA system; Pedersen et al., VTC 2007: Frequency domain scheduling for OFDMA with limited \
              and noisy channel feedback"
)]
pub struct Params {
    /// Share of first transmissions that fails.
    #[param(default = 0.1, range = 0.001..=0.9, unit = "1", source = "TS 36.213 §7.2.3")]
    pub target: f64,
    /// How far one failure lowers the offset.
    #[param(default = Db(0.5), range = Db(0.001)..=Db(5.0))]
    #[param(unit = "dB", source = "a choice: about half of what lies between two schemes")]
    pub step: Db,
    /// The offset at the least and at the most, on either side of zero: what it may gather while no scheme is
    /// slow or fast enough.
    #[param(default = Db(10.0), range = Db(0.0)..=Db(30.0))]
    #[param(unit = "dB", source = "a choice: half of what lies between CQI 1 and CQI 15")]
    pub bound: Db,
}

/// Schemes that have a transport block size of their own.
const SCHEMES: usize = Mcs::MAX.0 as usize + 1;

/// The outer loops of a cell's users.
#[derive(Clone, Debug)]
pub(crate) struct OuterLoop {
    params: Params,
    /// The SINR at which a block of each scheme over the whole carrier fails with the target's probability.
    needs: [Db; SCHEMES],
    /// By slot.
    offsets: Vec<Db>,
}

impl OuterLoop {
    /// Loops without users, for UEs that decode as `receiver` does.
    pub fn new(params: Params, receiver: &dyn ErrorModel, carrier: Prbs) -> OuterLoop {
        let mut needs = [Db(0.0); SCHEMES];
        for (mcs, need) in Mcs::all().zip(&mut needs) {
            *need = needed_sinr(receiver, mcs, carrier, params.target);
        }
        OuterLoop { params, needs, offsets: Vec::new() }
    }

    /// A user joins at a slot.
    pub fn admit(&mut self, slot: u16) {
        let place = usize::from(slot);
        if place == self.offsets.len() {
            self.offsets.push(Db(0.0));
        }
        self.offsets[place] = Db(0.0);
    }

    /// The scheme for a user who reports this CQI.
    pub fn mcs(&self, slot: u16, cqi: Cqi) -> Mcs {
        let reported = mcs_of(cqi);
        let need = self.needs[usize::from(reported.0)];
        let allowed = need + self.offsets[usize::from(slot)];
        let fits = |mcs: &Mcs| self.needs[usize::from(mcs.0)] <= allowed;
        if allowed >= need {
            // A scheme that needs no more is no correction: where nothing fails all need the same.
            let harder = |mcs: &Mcs| *mcs > reported && self.needs[usize::from(mcs.0)] > need;
            Mcs::all().filter(|mcs| harder(mcs) && fits(mcs)).last().unwrap_or(reported)
        } else {
            Mcs::all().take_while(|mcs| *mcs < reported).filter(fits).last().unwrap_or(Mcs(0))
        }
    }

    /// The feedback of a first transmission to a user has come.
    pub fn on_feedback(&mut self, slot: u16, decoded: bool) {
        let Params { target, step, bound } = self.params;
        let offset = &mut self.offsets[usize::from(slot)];
        let change = if decoded { step.0 * target / (1.0 - target) } else { -step.0 };
        *offset = Db((offset.0 + change).clamp(-bound.0, bound.0));
    }
}

/// The SINR at which a block of a scheme fails with this probability, within -30 to 60 dB.
fn needed_sinr(receiver: &dyn ErrorModel, mcs: Mcs, prbs: Prbs, target: f64) -> Db {
    let block = transport_block(Direction::Down, mcs, prbs);
    let fails = |sinr: f64| {
        receiver.first_block_error(&Transmission { mcs, block, sinr: Sinr::Flat(Db(sinr)) }) > target
    };
    let (mut low, mut high) = (-30.0, 60.0);
    // To a ten-thousandth of a decibel: 90 dB / 2^20.
    for _ in 0..20 {
        let middle = (low + high) / 2.0;
        if fails(middle) { low = middle } else { high = middle }
    }
    Db(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::amc::{Amc, block_error_target::BlockErrorTarget};
    use crate::phy::error_model::mutual_information::MutualInformation;
    use crate::phy::error_model::none::{self, NoErrors};
    use airwnd_kernel::Stream;
    use std::sync::Arc;

    fn receiver() -> MutualInformation {
        MutualInformation::new(Default::default())
    }

    fn outer_loop(receiver: &dyn ErrorModel) -> OuterLoop {
        let mut outer = OuterLoop::new(Params::default(), receiver, Prbs(50));
        outer.admit(0);
        outer
    }

    #[test]
    fn without_feedback_the_report_decides() {
        let outer = outer_loop(&receiver());
        for cqi in (0..=15).map(Cqi) {
            assert_eq!(outer.mcs(0, cqi), mcs_of(cqi), "{cqi:?}");
        }
    }

    #[test]
    fn nine_blocks_decoded_make_up_for_one_lost() {
        // 9 x 0.5 dB x 0.1 / 0.9 = 0.5 dB
        let mut outer = outer_loop(&receiver());
        outer.on_feedback(0, false);
        assert_eq!(outer.offsets[0], Db(-0.5));
        assert!(outer.mcs(0, Cqi(9)) < mcs_of(Cqi(9)));
        (0..9).for_each(|_| outer.on_feedback(0, true));
        assert!(outer.offsets[0].0.abs() < 1e-12);
        (0..1000).for_each(|_| outer.on_feedback(0, false));
        assert_eq!((outer.offsets[0], outer.mcs(0, Cqi(3))), (Db(-10.0), Mcs(0)));
        (0..1000).for_each(|_| outer.on_feedback(0, true));
        assert_eq!((outer.offsets[0], outer.mcs(0, Cqi(14))), (Db(10.0), Mcs(28)));
        outer.admit(0);
        assert_eq!(outer.offsets[0], Db(0.0));
    }

    #[test]
    fn where_nothing_fails_nothing_is_corrected() {
        let mut outer = outer_loop(&NoErrors::new(none::Params {}));
        (0..1000).for_each(|_| outer.on_feedback(0, true));
        assert_eq!(outer.mcs(0, Cqi(7)), mcs_of(Cqi(7)));
    }

    /// A user at a constant SINR who reports as if it were `bias` more: the share of blocks that fail.
    fn failing(outer: &mut OuterLoop, sinr: Db, bias: Db) -> f64 {
        let receiver: Arc<dyn ErrorModel> = Arc::new(receiver());
        let rule = BlockErrorTarget::new(Default::default(), &receiver);
        let cqi = rule.cqi(Sinr::Flat(sinr + bias), Prbs(50));
        let stream = Stream::new(1, "blocks");
        let (mut failed, mut counted) = (0, 0);
        for number in 0..12_000 {
            let mcs = outer.mcs(0, cqi);
            let block = transport_block(Direction::Down, mcs, Prbs(50));
            let sent = Transmission { mcs, block, sinr: Sinr::Flat(sinr) };
            let decoded = stream.at(number) >= receiver.first_block_error(&sent);
            outer.on_feedback(0, decoded);
            if number >= 2000 {
                counted += 1;
                failed += u32::from(!decoded);
            }
        }
        f64::from(failed) / f64::from(counted)
    }

    #[test]
    fn reports_too_good_or_too_bad_end_at_the_target() {
        // An offset that stays between its bounds has fallen as far as it has risen: failed x step equals decoded x
        // step x target / (1 - target), but for the width of the bounds over the blocks: 20 / 0.5 / 10 000.
        for bias in [-4.0, 0.0, 4.0] {
            for sinr in [3.0, 9.0, 15.0] {
                let mut outer = outer_loop(&receiver());
                let share = failing(&mut outer, Db(sinr), Db(bias));
                assert!((share - 0.1).abs() < 0.004, "{sinr} dB, {bias} dB: {share}");
            }
        }
    }
}
