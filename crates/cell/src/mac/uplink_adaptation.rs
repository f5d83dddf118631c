//! Link adaptation in the uplink: width and MCS of a grant.

use airwnd_catalog::Choice;
use airwnd_kernel::Direction;
use airwnd_phy::access::Access;
use airwnd_phy::amc::steps::Steps;
use airwnd_phy::amc::{self, Amc};
use airwnd_phy::error_model::ErrorModel;
use airwnd_phy::{Cqi, Mcs, Prbs};
use airwnd_units::{Bytes, Db};
use std::sync::Arc;

/// The narrowest allocation, if one MCS serves all widths (ns-3 rr-ff-mac-scheduler.cc).
pub const SMALLEST_SHARE: u16 = 3;
/// The minimum block size for a grant with fitted widths: RLC's and PDCP's headers, a buffer status report, a power
/// headroom report.
const SMALLEST_BLOCK: Bytes = Bytes(8);
/// The PRBs over which the SINR thresholds of CQIs are computed: a narrow grant, whose short blocks need the highest
/// SINR.
const STEPS_WIDTH: Prbs = Prbs(3);

/// Selection of width and MCS of an uplink grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum UplinkAdaptation {
    /// Width and MCS are independent: the sounding over the whole carrier determines the MCS of every grant, so a UE
    /// whose power cannot fill the carrier is out of reach.
    #[word = "carrier"]
    Carrier,
    /// Width and MCS are chosen together: from the UE's power headroom, the eNB grants the width that carries the
    /// most data, so narrow grants extend coverage.
    #[word = "headroom"]
    Headroom,
}

/// The eNB's knowledge of a UE's uplink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// One MCS for all widths: the CQI of the last sounding; `None` before the first one.
    Carrier(Option<Cqi>),
    /// The MCS depends on the width; `None` before the first sounding.
    Headroom(Option<Density>),
}

/// A UE's SINR as a function of the width of a grant: in wide grants its maximum power is spread over the PRBs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// SINR per PRB while the UE's power is not the limit.
    pub ceiling: Db,
    /// Power headroom of a grant of one PRB; `None` if the UE has not reported any yet: the SINR is then assumed equal
    /// for all widths.
    pub headroom: Option<Db>,
}

impl Density {
    /// The density of a UE with this headroom and SINR on a single PRB.
    pub fn alone(headroom: Db, sinr: Db) -> Density {
        Density { ceiling: Db(sinr.0 + (-headroom.0).max(0.0)), headroom: Some(headroom) }
    }

    /// SINR per PRB of a grant of this width, 10 log10(PRBs) in decibels.
    pub fn sinr(&self, width: Db) -> Db {
        Db(self.ceiling.0 - self.headroom.map_or(0.0, |headroom| (width - headroom).0.max(0.0)))
    }
}

/// 10 log10 of a number of PRBs.
pub fn width(prbs: Prbs) -> Db {
    Db::from_linear(f64::from(prbs.0))
}

/// Maps the state of a link to the width and MCS of grants.
#[derive(Clone, Debug)]
pub struct Schemes {
    access: Arc<Access>,
    /// Width of a grant to a UE without power headroom or sounding reports to fit one: the narrowest on which MCS 0
    /// carries [`SMALLEST_BLOCK`].
    blind: u16,
    by_width: Option<ByWidth>,
}

#[derive(Clone, Debug)]
struct ByWidth {
    steps: Steps,
    schemes: [Mcs; Cqi::MAX.0 as usize + 1],
    /// Widths that can be granted, in PRBs and in decibels.
    widths: Vec<(u16, Db)>,
}

impl Schemes {
    /// The rule for a carrier of this width and blocks received according to the error model.
    pub fn new(
        adaptation: UplinkAdaptation,
        receiver: &Arc<dyn ErrorModel>,
        access: &Arc<Access>,
    ) -> Schemes {
        let by_width = || {
            let rule = amc::Spec::BlockErrorTarget(Default::default()).build(receiver, access);
            ByWidth::new(&*rule, access)
        };
        Schemes::with((adaptation == UplinkAdaptation::Headroom).then(by_width), access)
    }

    /// One MCS for all widths.
    pub fn for_carrier(access: &Arc<Access>) -> Schemes {
        Schemes::with(None, access)
    }

    fn with(by_width: Option<ByWidth>, access: &Arc<Access>) -> Schemes {
        let carries = |prbs: &u16| access.block(Direction::Up, Mcs(0), Prbs(*prbs)) >= SMALLEST_BLOCK;
        let blind = (1..access.prbs.0).find(carries).unwrap_or(access.prbs.0);
        Schemes { access: access.clone(), blind, by_width }
    }

    /// The transport block size of a grant.
    pub fn block(&self, mcs: Mcs, prbs: Prbs) -> Bytes {
        self.access.block(Direction::Up, mcs, prbs)
    }

    /// Whether widths are fitted to the UEs' power.
    pub fn fits_widths(&self) -> bool {
        self.by_width.is_some()
    }

    /// The MCS of a grant over these PRBs; `None` if the UE is out of reach.
    pub fn mcs(&self, link: Link, prbs: Prbs) -> Option<Mcs> {
        match (link, &self.by_width) {
            (Link::Carrier(None) | Link::Headroom(None), _) => Some(Mcs(0)),
            (Link::Carrier(Some(cqi)), _) => (cqi > Cqi::OUT_OF_RANGE).then(|| self.access.mcs_of(cqi)),
            (Link::Headroom(Some(density)), Some(by_width)) => by_width.mcs(density, width(prbs)),
            (Link::Headroom(Some(_)), None) => unreachable!("only fitted widths have densities"),
        }
    }

    /// The narrowest grant of at most `max` PRBs that carries `wanted`, otherwise the one that carries the most;
    /// `None` if the UE is out of reach.
    pub fn fit(&self, link: Link, wanted: Bytes, max: u16) -> Option<(u16, Mcs)> {
        let blind = (self.blind.min(max), Mcs(0));
        match (link, &self.by_width) {
            (Link::Headroom(None), _) => Some(blind),
            (Link::Headroom(Some(density)), Some(by_width)) => by_width
                .fit(&self.access, density, wanted, max)
                .or(density.headroom.is_none().then_some(blind)),
            (Link::Carrier(_), _) => {
                let mcs = self.mcs(link, Prbs(max))?;
                let enough = |prbs: &u16| self.block(mcs, Prbs(*prbs)) >= wanted;
                Some(((SMALLEST_SHARE..max).find(enough).unwrap_or(max), mcs))
            }
            (Link::Headroom(Some(_)), None) => unreachable!("only fitted widths have densities"),
        }
    }

    /// PRBs and CQI of the narrowest grant to a link without interference.
    pub(crate) fn narrowest(&self, carrier: Db, density: Density) -> (Prbs, Cqi) {
        match &self.by_width {
            None => (Prbs(SMALLEST_SHARE), sounded_cqi(&self.access, carrier)),
            Some(by_width) => match by_width.fit(&self.access, density, SMALLEST_BLOCK, u16::MAX) {
                Some((prbs, _)) => (Prbs(prbs), by_width.cqi(density, width(Prbs(prbs)))),
                None => (Prbs(self.blind), Cqi::OUT_OF_RANGE),
            },
        }
    }
}

impl ByWidth {
    fn new(rule: &dyn Amc, access: &Access) -> ByWidth {
        let fits = |prbs: &u16| !access.precodes_uplink || is_transformable(*prbs);
        ByWidth {
            steps: Steps::new(rule, STEPS_WIDTH),
            schemes: std::array::from_fn(|cqi| access.mcs_of(Cqi(cqi as u8))),
            widths: (1..=access.prbs.0).filter(fits).map(|prbs| (prbs, width(Prbs(prbs)))).collect(),
        }
    }

    fn cqi(&self, density: Density, width: Db) -> Cqi {
        self.steps.cqi(density.sinr(width))
    }

    fn mcs(&self, density: Density, width: Db) -> Option<Mcs> {
        let cqi = self.cqi(density, width);
        (cqi > Cqi::OUT_OF_RANGE).then(|| self.schemes[usize::from(cqi.0)])
    }

    fn fit(&self, access: &Access, density: Density, wanted: Bytes, max: u16) -> Option<(u16, Mcs)> {
        let wanted = wanted.max(SMALLEST_BLOCK);
        let mut best = None;
        let mut carried = SMALLEST_BLOCK - Bytes(1);
        for (prbs, width) in self.widths.iter().take_while(|(prbs, _)| *prbs <= max) {
            // At maximum power, wider grants only lower the SINR.
            let Some(mcs) = self.mcs(density, *width) else { break };
            let size = access.block(Direction::Up, mcs, Prbs(*prbs));
            if size > carried {
                (best, carried) = (Some((*prbs, mcs)), size);
            }
            if carried >= wanted {
                break;
            }
        }
        best
    }
}

/// Whether a width has only the factors 2, 3 and 5, as the uplink's DFT requires.
//= TS 36.211 §5.3.3
pub(crate) fn is_transformable(prbs: u16) -> bool {
    let mut rest = prbs;
    for factor in [2, 3, 5] {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    rest == 1
}

/// Gap of link adaptation to Shannon capacity, linear, for a bit error rate of 5e-5.
fn shannon_gap() -> f64 {
    -libm::log(5.0 * 5e-5) / 1.5
}

/// The CQI for a sounding signal. The SINR is quantised to eighths of a decibel, truncated towards zero, as in the
/// scheduler interface of ns-3.
pub(crate) fn sounded_cqi(access: &Access, sinr: Db) -> Cqi {
    let eighths = (sinr.0 * 8.0) as i32;
    access.cqi_below(libm::log2(1.0 + Db(f64::from(eighths) / 8.0).linear() / shannon_gap()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_phy::error_model;

    fn schemes() -> Schemes {
        let access = Arc::new(Access::lte(Prbs(50)));
        let receiver = error_model::Spec::MutualInformation(Default::default()).build();
        let rule = amc::Spec::BlockErrorTarget(Default::default()).build(&receiver.into(), &access);
        Schemes::with(Some(ByWidth::new(&*rule, &access)), &access)
    }

    fn link(ceiling: f64, headroom: f64) -> Link {
        Link::Headroom(Some(Density { ceiling: Db(ceiling), headroom: Some(Db(headroom)) }))
    }

    #[test]
    fn maximum_power_is_spread_over_the_prbs() {
        // 20 dB on a PRB, and power for 2 PRBs: over 20 PRBs a tenth of it, 10 dB less
        let density = Density { ceiling: Db(20.0), headroom: Some(width(Prbs(2))) };
        assert_eq!(density.sinr(width(Prbs(1))), Db(20.0));
        assert_eq!(density.sinr(width(Prbs(2))), Db(20.0));
        assert!((density.sinr(width(Prbs(20))).0 - 10.0).abs() < 1e-9);
    }

    #[test]
    fn widths_have_small_factors() {
        let widths: Vec<u16> = (1..=32).filter(|prbs| is_transformable(*prbs)).collect();
        assert_eq!(widths, [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32]);
    }

    #[test]
    fn a_grant_is_as_narrow_as_the_data_allows_and_no_wider_than_power_carries() {
        let schemes = schemes();
        let size = |(prbs, mcs): (u16, Mcs)| schemes.block(mcs, Prbs(prbs));
        let near = link(30.0, 20.0);
        let small = schemes.fit(near, Bytes(60), 50).unwrap();
        assert!(size(small) >= Bytes(60) && small.0 <= 2, "{small:?}");
        assert_eq!(schemes.fit(near, Bytes(1 << 20), 50).unwrap().0, 50);
        // Wider grants than power allows carry less, although they have more PRBs.
        let far = link(2.0, -1.0);
        let widest = schemes.fit(far, Bytes(1 << 20), 50).unwrap();
        assert!(widest.0 < 20, "{widest:?}");
        for prbs in 1..=50 {
            if let Some(mcs) = schemes.mcs(far, Prbs(prbs)).filter(|_| is_transformable(prbs)) {
                assert!(size((prbs, mcs)) <= size(widest), "{prbs}");
            }
        }
    }

    #[test]
    fn grants_never_exceed_what_is_free() {
        let schemes = schemes();
        let stream = airwnd_kernel::Stream::new(1, "grants");
        for number in 0..2000 {
            let at = |place: u64| stream.child(number).at(place);
            let link = link(-20.0 + 60.0 * at(0), -20.0 + 50.0 * at(1));
            let max = 1 + (49.0 * at(2)) as u16;
            let wanted = Bytes((2000.0 * at(3)) as u64);
            if let Some((prbs, mcs)) = schemes.fit(link, wanted, max) {
                assert!(prbs >= 1 && prbs <= max);
                assert_eq!(schemes.mcs(link, Prbs(prbs)), Some(mcs));
            }
        }
    }

    #[test]
    fn too_weak_a_ue_is_out_of_reach() {
        assert_eq!(schemes().fit(link(-12.0, 0.0), Bytes(100), 50), None);
        assert_eq!(schemes().fit(Link::Headroom(None), Bytes(100), 50), Some((4, Mcs(0))));
    }
}
