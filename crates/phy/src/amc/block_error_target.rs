//! Highest MCS that the receiver can decode.

use super::Amc;
use crate::access::Access;
use crate::error_model::{ErrorModel, SoftBits};
use crate::tables::Modulation;
use crate::{Cqi, Mcs, Prbs, Scheme, Sinr};
use airwnd_catalog::Params;
use airwnd_kernel::Direction;
use airwnd_units::Db;
use std::cell::Cell;
use std::sync::Arc;

/// Block-error target: reports the highest CQI whose transport blocks fail with at most 10 % probability.
///
/// The UE raises the MCS as long as a downlink block over the reported resource blocks would fail with a probability of
/// at most `target`. It reports the highest CQI that is less efficient than the last such MCS. TS 36.213 §7.2.3
/// requires the highest CQI at 10 % itself. As in ns-3, a CQI is reported only once the MCS above its own is decodable
/// too (CQI 15: once MCS 28 is), which costs up to one CQI and lowers the error rate. NR's CQIs follow the standard.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "TS 36.213 §7.2.3; Mezzavilla et al., A lightweight and accurate link abstraction model, MSWiM \
              2012"
)]
pub struct Params {
    /// Maximum acceptable probability that a first transmission fails.
    #[param(basic, default = 0.1, range = 1e-6..=0.9, unit = "1", source = "TS 36.213 §7.2.3")]
    pub target: f64,
}

/// Link adaptation by the receiver's own error model.
#[derive(Clone)]
pub struct BlockErrorTarget {
    target: f64,
    receiver: Arc<dyn ErrorModel>,
    access: Arc<Access>,
}

impl BlockErrorTarget {
    /// A rule for UEs with the error model `receiver`.
    pub fn new(params: Params, receiver: &Arc<dyn ErrorModel>, access: &Arc<Access>) -> BlockErrorTarget {
        BlockErrorTarget { target: params.target, receiver: receiver.clone(), access: access.clone() }
    }

    /// The highest MCS that meets the target, if any.
    pub fn fastest(&self, sinr: Sinr, blocks: Prbs) -> Option<Mcs> {
        let channel = Channel::new(&*self.receiver, sinr);
        let meets = |mcs: &Mcs| self.meets(*mcs, &channel, blocks);
        // With fading, each evaluation averages over many groups. Errors rise with the MCS within a modulation, but not
        // across modulations: with strong groups among weak ones, 64QAM may gain more from the strong ones than 16QAM
        // can.
        let mut fastest = None;
        for alike in self.access.schemes_by_modulation() {
            let met =
                if alike.last().is_some_and(meets) { alike.len() } else { alike.partition_point(meets) };
            fastest = alike[..met].last().copied().or(fastest);
            if met < alike.len() {
                break;
            }
        }
        fastest
    }

    /// Whether blocks of an MCS meet the target.
    fn meets(&self, mcs: Mcs, channel: &Channel, blocks: Prbs) -> bool {
        let (scheme, block) = (self.access.scheme(mcs), self.access.block(Direction::Down, mcs, blocks));
        let mean = channel.information(scheme);
        let soft = self.receiver.receive_mean(SoftBits::default(), scheme, block, mean);
        self.receiver.block_error(block, soft) <= self.target
    }
}

/// A channel and the information that the schemes judged last receive over it.
struct Channel<'a> {
    receiver: &'a dyn ErrorModel,
    sinr: Sinr<'a>,
    known: Cell<Option<((Modulation, Db), f64)>>,
}

impl<'a> Channel<'a> {
    fn new(receiver: &'a dyn ErrorModel, sinr: Sinr<'a>) -> Channel<'a> {
        Channel { receiver, sinr, known: Cell::new(None) }
    }

    fn information(&self, scheme: Scheme) -> f64 {
        let alike = (scheme.modulation, self.receiver.loss(scheme));
        if let Some((known, mean)) = self.known.get()
            && known == alike
        {
            return mean;
        }
        let mean = self.receiver.information(scheme, self.sinr);
        self.known.set(Some((alike, mean)));
        mean
    }
}

impl Amc for BlockErrorTarget {
    fn cqi(&self, sinr: Sinr, blocks: Prbs) -> Cqi {
        match self.fastest(sinr, blocks) {
            None => Cqi::OUT_OF_RANGE,
            Some(mcs) => self.access.cqi_of(mcs),
        }
    }

    fn reaches(&self, cqi: Cqi, sinr: Sinr, blocks: Prbs) -> bool {
        let channel = Channel::new(&*self.receiver, sinr);
        for alike in self.access.schemes_by_modulation() {
            if let Some(min) = alike.iter().find(|mcs| self.access.cqi_of(**mcs) >= cqi) {
                return self.meets(*min, &channel, blocks);
            }
            if !alike.last().is_some_and(|mcs| self.meets(*mcs, &channel, blocks)) {
                return false;
            }
        }
        cqi == Cqi::OUT_OF_RANGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model::{self, Transmission};
    use crate::tables::{scheme, transport_block};
    use airwnd_units::Db;

    fn rule() -> BlockErrorTarget {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build();
        BlockErrorTarget::new(Params::default(), &receiver.into(), &Arc::new(Access::lte(Prbs(50))))
    }

    #[test]
    fn the_reported_mcs_meets_the_target_within_two_steps() {
        let rule = rule();
        for tenth in -80..250 {
            let sinr = Sinr::Flat(Db(f64::from(tenth) / 10.0));
            let Some(fastest) = rule.fastest(sinr, Prbs(50)) else { continue };
            let chosen = crate::tables::mcs_of(rule.cqi(sinr, Prbs(50)));
            assert!(chosen <= fastest && fastest.0 - chosen.0 <= 2, "{fastest:?} {chosen:?}");
        }
    }

    #[test]
    fn a_cqi_is_reached_if_it_would_be_reported() {
        let rule = rule();
        for tenth in -100..300 {
            let sinr = Sinr::Flat(Db(f64::from(tenth) / 10.0));
            let reported = rule.cqi(sinr, Prbs(3));
            for cqi in (1..=15).map(Cqi) {
                assert_eq!(rule.reaches(cqi, sinr, Prbs(3)), reported >= cqi, "{sinr:?} {cqi:?}");
            }
        }
    }

    #[test]
    fn cqi_never_falls_as_the_channel_improves() {
        let rule = rule();
        let sweep: Vec<Cqi> =
            (-100..300).map(|tenth| rule.cqi(Sinr::Flat(Db(f64::from(tenth) / 10.0)), Prbs(3))).collect();
        assert!(sweep.windows(2).all(|pair| pair[1] >= pair[0]));
        assert_eq!((sweep[0], sweep[399]), (Cqi(0), Cqi(15)));
    }

    #[test]
    fn the_fastest_mcs_precedes_the_first_that_fails() {
        let rule = rule();
        let stream = airwnd_kernel::Stream::new(1, "groups");
        for number in 0..400 {
            let at = |place: u64| Db(-5.0 + 35.0 * stream.child(number).at(place));
            let groups: Vec<(Db, Prbs)> = (0..16).map(|group| (at(group), Prbs(3))).collect();
            let channel = if number % 2 == 0 { Sinr::Groups(&groups) } else { Sinr::Flat(at(0)) };
            let meets = |mcs: &Mcs| {
                let block = transport_block(Direction::Down, *mcs, Prbs(48));
                let sent = Transmission { scheme: scheme(*mcs), block, sinr: channel };
                rule.receiver.first_block_error(&sent) <= rule.target
            };
            let expected = Mcs::all().take_while(meets).last();
            assert_eq!(rule.fastest(channel, Prbs(48)), expected, "{groups:?}");
        }
    }

    #[test]
    fn one_faded_group_lowers_the_wideband_report() {
        let rule = rule();
        let even = rule.cqi(Sinr::Flat(Db(15.0)), Prbs(50));
        let faded = rule.cqi(Sinr::Groups(&[(Db(15.0), Prbs(40)), (Db(0.0), Prbs(10))]), Prbs(50));
        assert!(faded < even, "{faded:?} {even:?}");
    }
}
