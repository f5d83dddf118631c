//! Radio channel between cells and UEs.
//!
//! [`Radio`] is common to all cells: gains and transmissions, which do not change while a TTI is received. [`Receivers`]
//! measure it for some of the cells and their UEs, so that several threads can do so at the same time.
//!
//! Gains change when UEs move ([`Radio::place`]); from TTI to TTI only the pattern of transmissions changes. Channel
//! reports are cached by that pattern and the state of the UE's channel, so that a saturated cell computes each of them
//! once.

mod decoder;
mod disturbance;
mod fading;
mod gains;
mod layered;
mod map;
mod on_air;
mod receivers;
mod reports;
mod uplink;

use crate::crew::{Crew, SHARES};
use crate::identity::{CellId, UeId};
use crate::mac::power_control;
use crate::mac::sched::Rbgs;
use crate::replay::{self, Replay};
use crate::settings::{RanSetup, UeSite};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::amc::Amc;
use airwnd_phy::amc::steps::Steps;
use airwnd_phy::error_model::ErrorModel;
use airwnd_phy::link_budget::noise_per_prb;
use airwnd_phy::{Cqi, Position, Prbs, Sinr};
use airwnd_units::{Db, Dbm, Time, Tti};
use fading::{MotionsShare, Scattering};
use gains::{Gains, strongest};
pub(crate) use gains::{Link, LinkId};
pub use map::{Listener, RadioMap};
use on_air::{Activity, Floor, OnAir, add};
pub(crate) use receivers::{Measurement, Receivers, Repeatable};
pub(crate) use reports::Report;
use std::iter::repeat;
use std::sync::Arc;
pub(crate) use uplink::UplinkSignal;
use uplink::{Interference, UplinkOnAir};

/// The radio channel between all cells and all UEs.
pub(crate) struct Radio {
    prbs: Prbs,
    rbg_prbs: u16,
    rbgs: u8,
    /// PRBs that the last RBG lacks.
    beyond: u16,
    /// Link adaptation by rank.
    amc: Vec<Box<dyn Amc>>,
    /// Efficiency of each CQI on one layer.
    efficiencies: [f64; Cqi::MAX.0 as usize + 1],
    /// Gains of the layers by rank; empty: one antenna at each end.
    layers: Vec<Vec<Db>>,
    errors: Arc<dyn ErrorModel>,
    gains: Gains,
    /// `None`: channels are flat, and change only when UEs move.
    scattering: Option<Scattering>,
    /// SINR threshold of each CQI in an RBG, by rank; empty if most reports are found in a cache.
    steps: Vec<Steps>,
    /// The TTI on air.
    now: Tti,
    /// Serving cell of each UE, and the downlink's path loss from it.
    serving: Vec<(CellId, Db)>,
    /// Number of times that UEs have moved or changed cells.
    moves: u64,
    /// The cells' data transmissions.
    on_air: OnAir,
    /// UEs whose neighbours have been selected anew, by share.
    reselected: Vec<Vec<UeId>>,
    /// The UEs' sounding signals and data transmissions in the TTI on air.
    soundings: UplinkOnAir,
    uplink: UplinkOnAir,
    /// The secondary carriers, which follow the UEs' positions and cells.
    secondary: Vec<Radio>,
}

/// The channel as the receivers in some cells measure it.
pub(crate) struct Air<'a> {
    pub radio: &'a Radio,
    pub receivers: &'a mut Receivers,
}

impl Air<'_> {
    /// Borrows the channel for a shorter time.
    pub fn reborrow(&mut self) -> Air<'_> {
        Air { radio: self.radio, receivers: self.receivers }
    }
}

/// Position-dependent state of a range of UEs, updated by one thread.
struct Share<'a> {
    /// Number of the first UE.
    first: usize,
    gains: gains::Share<'a>,
    /// `None`: channels are flat.
    motions: Option<MotionsShare<'a>>,
    serving: &'a mut [(CellId, Db)],
    reselected: &'a mut Vec<UeId>,
}

impl Share<'_> {
    fn place(&mut self, now: Time, ue: UeId, position: Position) {
        let serving = self.serving[ue.index() - self.first].0;
        let is_new = self.gains.place(ue, position, serving);
        if let Some(motions) = &mut self.motions {
            motions.place(now, ue, position);
            if is_new {
                self.reselected.push(ue);
            }
        }
        self.serve(ue, serving);
    }

    fn serve(&mut self, ue: UeId, cell: CellId) {
        self.gains.include(ue, cell);
        self.serving[ue.index() - self.first] = (cell, self.gains.loss(ue, cell));
    }
}

impl Radio {
    /// The channel of a setup on these carriers. Transmissions are kept for `kept` TTIs for channel reports.
    pub fn new(setup: &RanSetup, carriers: &[ComponentCarrier], kept: u64, crew: &Crew) -> Radio {
        let [primary, secondary @ ..] = carriers else { unreachable!("there is a primary carrier") };
        let secondary = secondary.iter().map(|carrier| Radio::on(setup, carrier, kept, crew)).collect();
        Radio { secondary, ..Radio::on(setup, primary, kept, crew) }
    }

    /// The channel on one carrier.
    fn on(setup: &RanSetup, carrier: &ComponentCarrier, kept: u64, crew: &Crew) -> Radio {
        let access = &carrier.access;
        let (prbs, rbg_prbs) = (access.prbs, access.rbg_prbs.0);
        let errors: Arc<dyn ErrorModel> = setup.radio.errors().into();
        let receiver = setup.radio.receiver();
        let amc = layered::by_rank(&setup.radio.amc, &receiver, access);
        let mut gains = Gains::new(setup, carrier, crew);
        let replay = |(number, ue): (UeId, &UeSite)| {
            let noise = noise_per_prb(ue.noise_figure, access.prb_bandwidth);
            let receiver = replay::Receiver { noise, amc: &*amc[0], prbs };
            Some((number, Replay::new(ue.replay.as_ref()?, &receiver)))
        };
        gains.replay(setup, UeId(0).onwards().zip(&setup.ues).filter_map(replay).collect());
        let scattering = Scattering::of(setup, carrier);
        let is_cached = scattering.is_none() && gains.are_complete();
        let steps = amc.iter().filter(|_| !is_cached).map(|amc| Steps::new(&**amc, Prbs(rbg_prbs))).collect();
        let strongest = |ue| (gains.strongest(ue), Db(0.0));
        let rbgs = access.rbgs;
        let on_air = OnAir::new(setup.cells.len(), access, kept, !gains.are_complete());
        Radio {
            prbs,
            rbg_prbs,
            rbgs,
            beyond: (u16::from(rbgs) * rbg_prbs).saturating_sub(prbs.0),
            amc,
            efficiencies: std::array::from_fn(|cqi| access.cqi_efficiency(Cqi(cqi as u8))),
            layers: access.layers.clone(),
            errors,
            serving: UeId::all(setup.ues.len()).map(strongest).collect(),
            moves: 0,
            on_air,
            reselected: Vec::new(),
            soundings: UplinkOnAir::new(setup),
            uplink: UplinkOnAir::new(setup),
            gains,
            scattering,
            steps,
            now: Tti(0),
            secondary: Vec::new(),
        }
    }

    /// All carriers, the primary one first.
    pub fn all(&self) -> impl Iterator<Item = &Radio> {
        std::iter::once(self).chain(&self.secondary)
    }

    /// The carrier with this number.
    #[inline]
    pub fn carrier(&self, number: usize) -> &Radio {
        if number == 0 { self } else { &self.secondary[number - 1] }
    }

    /// Starts a TTI.
    pub fn begin(&mut self, tti: Tti) {
        self.now = tti;
        self.secondary.iter_mut().for_each(|radio| radio.begin(tti));
    }

    /// Notes that no cell sent data in the last `skipped` TTIs before `tti`.
    pub fn skip(&mut self, tti: Tti, skipped: u64) {
        self.on_air.skip(tti, skipped);
        self.secondary.iter_mut().for_each(|radio| radio.skip(tti, skipped));
    }

    /// Sets the data transmissions of the TTI on air, by cell. `counts`: it is not one of TDD's without downlink.
    pub fn transmit(&mut self, counts: bool, sent: impl Iterator<Item = Rbgs>) {
        self.on_air.note(self.now, counts, sent);
    }

    /// Sets the data transmissions on the secondary carriers, which `sent` gets by index.
    pub fn transmit_secondary<I: Iterator<Item = Rbgs>>(&mut self, counts: bool, sent: impl Fn(usize) -> I) {
        for (index, radio) in self.secondary.iter_mut().enumerate() {
            radio.transmit(counts, sent(index));
        }
    }

    /// Number of the pattern of transmissions that reports measured at the start of a TTI depend on.
    pub fn pattern_before(&self, measured: Tti) -> u64 {
        self.on_air.pattern(self.on_air.row(Tti(measured.0.saturating_sub(1))))
    }

    /// The strongest cell at a UE; the first of several equal ones.
    pub fn strongest(&self, ue: UeId) -> CellId {
        self.gains.strongest(ue)
    }

    /// Sets the serving cell of a UE.
    pub fn serve(&mut self, ue: UeId, cell: CellId) {
        self.whole().serve(ue, cell);
        self.secondary.iter_mut().for_each(|radio| radio.serve(ue, cell));
    }

    /// The cell that serves a UE.
    pub fn serving(&self, ue: UeId) -> CellId {
        self.serving[ue.index()].0
    }

    /// A UE's position.
    pub fn position(&self, ue: UeId) -> Position {
        self.gains.position(ue)
    }

    /// Moves a UE.
    pub fn place(&mut self, now: Time, ue: UeId, position: Position) {
        self.whole().place(now, ue, position);
        self.secondary.iter_mut().for_each(|radio| radio.place(now, ue, position));
    }

    /// Moves UEs, which are in ascending order.
    pub fn place_all(&mut self, now: Time, moves: &[(UeId, Position)], crew: &Crew) {
        let size = self.ues().div_ceil(SHARES).max(1);
        let first_move = |index: usize| moves.partition_point(|(ue, _)| ue.index() < index * size);
        let mut shares: Vec<Share<'_>> = self.shares(size).collect();
        crew.each(&mut shares, |index, share| {
            let moves = &moves[first_move(index)..first_move(index + 1)];
            moves.iter().for_each(|(ue, position)| share.place(now, *ue, *position));
        });
        self.secondary.iter_mut().for_each(|radio| radio.place_all(now, moves, crew));
    }

    /// Advances blockage and recorded channels to a time. `changed` receives the UEs to be placed again, in ascending
    /// order: the same on all carriers.
    pub fn advance(&mut self, now: Time, changed: &mut Vec<UeId>) {
        self.gains.advance(now, changed);
        self.secondary.iter_mut().for_each(|radio| radio.advance(now, changed));
    }

    /// All UEs in one share.
    fn whole(&mut self) -> Share<'_> {
        let ues = self.ues();
        self.shares(ues).next().expect("there are UEs")
    }

    /// Divides what depends on the UEs' positions into shares of this many UEs.
    fn shares(&mut self, size: usize) -> impl Iterator<Item = Share<'_>> {
        self.moves += 1;
        let shares = self.serving.len().div_ceil(size);
        self.reselected.resize_with(shares.max(self.reselected.len()), Vec::new);
        let mut motions = self.scattering.as_mut().map(|scattering| scattering.shares(size));
        let parts = self.gains.shares(size).zip(self.serving.chunks_mut(size)).zip(&mut self.reselected);
        parts.enumerate().map(move |(index, ((gains, serving), reselected))| Share {
            first: index * size,
            gains,
            motions: motions.as_mut().and_then(Iterator::next),
            serving,
            reselected,
        })
    }

    /// Takes the UEs out whose neighbours on any carrier have been selected anew, for [`Receivers::keep`].
    pub fn take_reselected(&mut self, into: &mut Vec<UeId>) {
        into.clear();
        let secondary = self.secondary.iter_mut().flat_map(|radio| &mut radio.reselected);
        self.reselected.iter_mut().chain(secondary).for_each(|ues| into.append(ues));
    }

    /// A number that changes with every change of a UE's gains.
    pub fn version(&self, ue: UeId) -> u64 {
        self.gains.version(ue)
    }

    /// A number that changes with every change of any UE's gains.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.serving.len()
    }

    /// Whether each UE has its own neighbours: what a TTI reads of them is more than caches hold.
    pub fn is_large(&self) -> bool {
        !self.gains.are_complete()
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.gains.cells()
    }

    /// Number of RBGs that can be scheduled.
    pub fn rbgs(&self) -> u8 {
        self.rbgs
    }
    /// The PRBs of a set of RBGs.
    pub fn prbs_of(&self, rbgs: Rbgs) -> Prbs {
        let beyond = if rbgs.contains(self.rbgs - 1) { self.beyond } else { 0 };
        Prbs(rbgs.count() as u16 * self.rbg_prbs - beyond)
    }
    /// PRBs of the carrier.
    pub fn prbs(&self) -> Prbs {
        self.prbs
    }
    /// The received power of one reference-signal resource element, averaged over fading.
    //= exception rsrp-averages-fading
    pub fn rsrp(&self, ue: UeId, cell: CellId) -> Dbm {
        airwnd_phy::link_budget::rsrp(self.gains.link(ue, cell).power)
    }

    /// The cells that a UE measures, and the received power per PRB in mW of noise and all other cells.
    pub fn measurable(&self, ue: UeId) -> (&[Link], f64) {
        (self.gains.links(ue), self.gains.ue_noise(ue) + self.gains.far(ue))
    }

    /// The strongest cell at a UE other than this one.
    pub fn strongest_but(&self, ue: UeId, serving: CellId) -> Option<CellId> {
        strongest(self.gains.near(ue).iter().copied().filter(|near| near.cell != serving))
    }

    /// Noise and mean interference at a UE.
    fn floor<'a>(&self, ue: UeId, activity: &'a Activity) -> Floor<'a> {
        Floor { noise: self.gains.ue_noise(ue), far: self.gains.far(ue), activity }
    }

    /// The SINR of control channels, which every cell sends at full power in every TTI.
    //= exception control-at-full-load
    pub fn control_sinr(&self, ue: UeId, serving: CellId) -> Db {
        let signal = self.gains.received(ue, serving);
        let near = self.gains.near(ue).iter();
        let others = near.map(|near| near.received).sum::<f64>() - signal + self.gains.far(ue);
        Db::from_linear(signal / (self.gains.ue_noise(ue) + others.max(0.0)))
    }

    /// The path loss of a UE's downlink with antenna gains, as the UE estimates it.
    pub fn loss(&self, ue: UeId) -> Db {
        self.serving[ue.index()].1
    }

    /// The SINR per PRB of a UE on `prbs` at its cell without interference.
    pub fn uplink_snr(&self, ue: UeId, prbs: Prbs, control: &power_control::Params, commanded: Db) -> Db {
        let cell = self.serving[ue.index()].0;
        let power = control.power_per_prb(prbs, self.loss(ue), commanded);
        let received = power * self.gains.uplink(ue, cell);
        Db::from_linear(received / self.gains.cell_noise(cell))
    }

    /// The SINR of a UE's downlink without interference, and its CQI.
    pub fn downlink_snr(&self, ue: UeId) -> (Db, Cqi) {
        let sinr = self.snr(ue);
        (sinr, self.rank(Sinr::Flat(sinr), self.prbs).1)
    }

    /// Whether the SINR of a UE's downlink without interference suffices for any CQI.
    pub fn reaches(&self, ue: UeId) -> bool {
        let sinr = Sinr::Flat(self.snr(ue));
        self.amc.iter().any(|amc| amc.reaches(Cqi(1), sinr, self.prbs))
    }

    /// The SINR of a UE's downlink without interference.
    fn snr(&self, ue: UeId) -> Db {
        Db::from_linear(self.gains.received(ue, self.serving[ue.index()].0) / self.gains.ue_noise(ue))
    }

    /// Link adaptation of blocks with this many layers.
    fn amc(&self, rank: u8) -> &dyn Amc {
        &*self.amc[usize::from(rank) - 1]
    }

    /// The rank with the highest efficiency over these resource blocks, the lowest of several, and its CQI.
    fn rank(&self, sinr: Sinr, blocks: Prbs) -> (u8, Cqi) {
        self.rank_by(|rank| self.amc(rank).cqi(sinr, blocks))
    }

    /// The rank with the highest efficiency, the lowest of several, and its CQI, given the CQI by rank.
    fn rank_by(&self, cqi: impl FnMut(u8) -> Cqi) -> (u8, Cqi) {
        best_rank(self.amc.len() as u8, &self.efficiencies, cqi)
    }

    /// SINR of each layer of a downlink block over that of one antenna at each end. Empty without MIMO.
    fn layers(&self, rank: u8) -> &[Db] {
        self.layers.get(usize::from(rank) - 1).map_or(&[], Vec::as_slice)
    }

    /// Starts the uplink of the TTI on air: no UE sends yet.
    pub fn begin_uplink(&mut self) {
        self.soundings.clear();
        self.uplink.clear();
    }

    /// Adds a sounding signal of a UE to a cell.
    pub fn sound(&mut self, cell: CellId, signal: UplinkSignal) {
        self.soundings.add(&mut self.gains, self.prbs, cell, signal);
    }

    /// Adds a transmission of a UE to a cell.
    pub fn send_uplink(&mut self, cell: CellId, signal: UplinkSignal) {
        self.uplink.add(&mut self.gains, self.prbs, cell, signal);
    }

    /// Noise and interference per PRB in mW at a UE in each of these RBGs.
    fn disturbances(&self, floor: Floor<'_>, ue: UeId, serving: CellId, on_air: &[Rbgs], by_rbg: &mut [f64]) {
        let mut others = self.gains.near(ue).iter().filter(|near| near.cell != serving);
        // Most cells send in all RBGs or in none. Up to the first other one, the sum is the same in all of them.
        let (all, mut sum) = (Rbgs::first(by_rbg.len() as u8), 0.0);
        let differs = others.find(|near| {
            let sent = on_air[near.cell.index()];
            if sent == all {
                sum += near.received;
                return false;
            }
            !sent.is_empty()
        });
        by_rbg.fill(sum);
        for near in differs.into_iter().chain(others) {
            add(by_rbg, on_air[near.cell.index()], repeat(near.received));
        }
        by_rbg.iter_mut().enumerate().for_each(|(rbg, interference)| *interference += floor.at(rbg));
    }

    /// Noise and interference per PRB in mW at a UE in an RBG, and those of these RBGs in which the same cells interfere.
    fn disturbance(
        &self,
        floor: Floor<'_>,
        LinkId { ue, cell: serving }: LinkId,
        on_air: &[Rbgs],
        group: u8,
        rbgs: Rbgs,
    ) -> (f64, Rbgs) {
        let (mut interference, mut alike) = (0.0, rbgs);
        let add = |cell: CellId, received: f64, interference: &mut f64, alike: &mut Rbgs| {
            let sent = on_air[cell.index()];
            if sent.contains(group) {
                *interference += received;
                *alike = alike.without(Rbgs(!sent.0));
            } else {
                *alike = alike.without(sent);
            }
        };
        for near in self.gains.near(ue).iter().filter(|near| near.cell != serving) {
            add(near.cell, near.received, &mut interference, &mut alike);
        }
        let others = self.gains.distant(ue, floor.noise + interference);
        for other in others {
            add(other.cell, other.received.into(), &mut interference, &mut alike);
        }
        (floor.without(others).at(group.into()) + interference, alike)
    }
}

/// The rank with the highest efficiency, the lowest of several, and its CQI, given the efficiency of a layer by CQI and the
/// CQI by rank. With many layers and groups a CQI is costly, so it is left out of ranks that cannot be better.
fn best_rank(
    highest: u8,
    efficiencies: &[f64; Cqi::MAX.0 as usize + 1],
    mut cqi: impl FnMut(u8) -> Cqi,
) -> (u8, Cqi) {
    let efficiency = |(rank, cqi): (u8, Cqi)| f64::from(rank) * efficiencies[usize::from(cqi.0)];
    let mut best = (highest, cqi(highest));
    for rank in (1..highest).rev() {
        if efficiency((rank, Cqi::MAX)) < efficiency(best) {
            break;
        }
        let report = (rank, cqi(rank));
        if efficiency(report) >= efficiency(best) {
            best = report;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::disturbance::{Disturbance, Transmissions, WEAK};
    use super::*;
    use crate::RadioSettings;
    use crate::identity::UeSlot;
    use crate::settings::{CellSite, UeSite};
    use airwnd_kernel::Stream;
    use airwnd_phy::fading::trace::Trace;
    use airwnd_phy::link_budget::PRB_BANDWIDTH;
    use airwnd_phy::tables::McsTable;
    use airwnd_phy::{antenna, fading};
    use airwnd_units::{Degrees, Speed};
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// Leaving reports out changes nothing.
        #[test]
        fn the_best_rank_is_that_of_all_reports(steps in prop::array::uniform15(0_u8..3), cqis in vec(0_u8..16, 1..5)) {
            let mut efficiencies = [0.0; 16];
            for (cqi, step) in (1..).zip(steps) {
                efficiencies[cqi] = efficiencies[cqi - 1] + f64::from(step);
            }
            let reports = (1_u8..).zip(cqis.iter().map(|cqi| Cqi(*cqi)));
            let efficiency = |(rank, cqi): (u8, Cqi)| f64::from(rank) * efficiencies[usize::from(cqi.0)];
            let better = |best, next| if efficiency(next) > efficiency(best) { next } else { best };
            let all = reports.reduce(better).unwrap();
            prop_assert_eq!(best_rank(cqis.len() as u8, &efficiencies, |rank| Cqi(cqis[usize::from(rank) - 1])), all);
        }
    }

    const UES: usize = 300;
    const LAST: u64 = 4000;
    /// TTIs between two measurements.
    const APART: u64 = 100;

    /// A hexagonal network of 57 cells, and UEs between them.
    fn network(fading: fading::Spec, threshold: f64) -> (Radio, Receivers) {
        network_of(57, fading, threshold)
    }

    /// The innermost cells of a hexagonal network of sites 500 m apart with three cells each, and UEs between them.
    fn network_of(cells: usize, fading: fading::Spec, threshold: f64) -> (Radio, Receivers) {
        let height = 500.0 * libm::sqrt(0.75);
        let row = |row: i32| {
            let (sites, y) = (9 - row.abs(), f64::from(row) * height);
            (0..sites).map(move |site| [(f64::from(site) - f64::from(sites - 1) / 2.0) * 500.0, y])
        };
        let mut sites: Vec<[f64; 2]> = (-4..=4).flat_map(row).collect();
        sites.sort_by(|[x, y], [u, v]| libm::hypot(*x, *y).total_cmp(&libm::hypot(*u, *v)));
        let sector = |(site, [x, y]): (u32, &[f64; 2])| {
            [30.0, 150.0, 270.0].map(|boresight| CellSite {
                site,
                boresight: Degrees(boresight),
                antenna: antenna::Spec::Parabolic(Default::default()),
                power: Dbm(46.0),
                ..CellSite::at(Position::new(*x, *y, 30.0))
            })
        };
        let mut places = Stream::new(7, "places");
        let width = 2000.0 * libm::sqrt(cells as f64 / 57.0);
        let mut between = || ((places.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * width;
        let ue = |_| UeSite::at(Position::new(between(), between(), 1.5));
        let sites = (0..).zip(&sites).flat_map(sector).take(cells).collect();
        let setup = RanSetup {
            radio: RadioSettings { fading, neighbour_threshold: Some(threshold), ..Default::default() },
            ..RanSetup::new(sites, (0..UES).map(ue).collect())
        };
        let carriers = setup.carriers().unwrap();
        let mut radio = Radio::new(&setup, &carriers, 8, &Crew::default());
        UeId::all(UES).for_each(|ue| radio.serve(ue, radio.strongest(ue)));
        let mut receivers = Receivers::new(&setup, &carriers[0], &radio, 0..setup.cells.len(), true);
        CellId(0).onwards().take(setup.cells.len()).for_each(|cell| receivers.reserve(cell, UES));
        (radio, receivers)
    }

    /// Lets each cell send on each RBG with this probability in a TTI.
    fn transmit(radio: &mut Radio, load: f64, tti: u64) {
        let sending = Stream::new(3, "sending");
        radio.begin(Tti(tti));
        let sends =
            |cell: CellId, rbg: u8| sending.child(cell.0.into()).child(rbg.into()).at(tti) < load || rbg == 0;
        let rbgs = radio.rbgs();
        let sent = |cell| {
            let rbgs = (0..rbgs).filter(|rbg| sends(cell, *rbg));
            rbgs.map(Rbgs::one).fold(Rbgs::default(), Rbgs::union)
        };
        let cells = radio.cells();
        radio.transmit(true, CellId(0).onwards().take(cells).map(sent));
    }

    /// The mean efficiency in bit/s/Hz of the CQIs of each UE's reports, while each cell sends on each RBG with this
    /// probability.
    fn efficiencies((radio, receivers): &mut (Radio, Receivers), load: f64) -> Vec<f64> {
        let rbgs = radio.rbgs();
        let mut found = Vec::new();
        for tti in 0..=LAST {
            transmit(radio, load, tti);
            if tti >= LAST / 4 && tti.is_multiple_of(APART) {
                for ue in UeId::all(UES) {
                    let cell = radio.serving[ue.index()].0;
                    let measured = Tti(tti + 1);
                    let pattern = receivers.pattern(radio, cell, measured);
                    let measurement = Measurement { cell, slot: UeSlot(ue.0 as u16), ue, pattern, measured };
                    let report = receivers.report(radio, measurement);
                    let state = &receivers.reports(cell)[report.index as usize];
                    let cqis =
                        (0..rbgs).map(|rbg| McsTable::Qam64.cqi_efficiency(state.subband[usize::from(rbg)]));
                    found.push(cqis.sum::<f64>() / f64::from(rbgs));
                }
            }
        }
        found
    }

    fn flat() -> fading::Spec {
        fading::Spec::NoFading(Default::default())
    }

    #[test]
    fn neighbours_give_the_reports_of_all_cells() {
        for load in [0.03, 0.1, 0.3, 1.0] {
            let exact = efficiencies(&mut network(flat(), 0.0), load);
            let near = efficiencies(&mut network(flat(), 0.0002), load);
            let errors: Vec<f64> = exact.iter().zip(&near).map(|(exact, near)| near - exact).collect();
            let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / errors.len() as f64;
            let level = mean(&mut exact.iter().copied());
            let error = mean(&mut errors.iter().copied()) / level;
            let rms = libm::sqrt(mean(&mut errors.iter().map(|error| error * error))) / level;
            assert!(error.abs() < 0.001 && rms < 0.005, "load {load}: {error} {rms}");
        }
    }

    /// Lets each cell send on the whole carrier with this probability in a TTI.
    fn transmit_wide(radio: &mut Radio, load: f64, tti: u64) {
        let sending = Stream::new(3, "sending");
        radio.begin(Tti(tti));
        let (all, cells) = (Rbgs::first(radio.rbgs()), radio.cells());
        let sent = |cell| if sending.child(cell).at(tti) < load { all } else { Rbgs::default() };
        radio.transmit(true, (0..cells as u64).map(sent));
    }

    /// Lets UEs walk 100 to 190 m, so that they are at all distances from where their neighbours were selected.
    fn walk(radio: &mut Radio) {
        for ue in UeId::all(UES) {
            let (from, direction) = (radio.position(ue), f64::from(ue.0));
            for way in (0..20 - ue.0 % 10).map(|step| 10.0 * f64::from(step)) {
                let (east, north) = (way * libm::cos(direction), way * libm::sin(direction));
                radio.place(Time(0), ue, Position::new(from.x.0 + east, from.y.0 + north, 1.5));
            }
        }
    }

    /// Asserts that 99 % of the SINRs of served blocks, which occupy all RBGs on which their cells send, have errors of
    /// less than 0.1 dB in networks of 57 and 133 cells at any load.
    fn assert_sinrs_of_all_cells(fading: &fading::Spec) {
        const WARM_UP: u64 = 500;
        type Transmit = fn(&mut Radio, f64, u64);
        let patterns: [(&str, Transmit); 2] = [("RBGs", transmit), ("carrier", transmit_wide)];
        for (cells, (name, transmit)) in
            [57, 133].into_iter().flat_map(|cells| patterns.map(|pattern| (cells, pattern)))
        {
            for load in [0.03, 0.1, 0.3, 0.6] {
                let (mut exact, mut of_all) = network_of(cells, fading.clone(), 0.0);
                let (mut near, mut of_near) = network_of(cells, fading.clone(), 0.0002);
                // The same interferers fade in the same way.
                exact.scattering = network_of(cells, fading.clone(), 0.0002).0.scattering;
                [&mut near, &mut exact].into_iter().for_each(walk);
                (0..WARM_UP).for_each(|tti| transmit(&mut near, load, tti));
                let mut errors = Vec::new();
                for tti in WARM_UP.. {
                    transmit(&mut near, load, tti);
                    transmit(&mut exact, load, tti);
                    for ue in UeId::all(UES) {
                        let cell = near.serving[ue.index()].0;
                        let rbgs = near.on_air.at(near.on_air.row(Tti(tti)))[cell.index()];
                        let sinr = |radio: &Radio, receivers: &mut Receivers| {
                            receivers.measure_block(radio, LinkId { ue, cell }, rbgs, radio.prbs_of(rbgs));
                            // No MCS needs more than 23 dB.
                            receivers.received_sinr().0.min(23.0)
                        };
                        if !rbgs.is_empty() {
                            errors.push(sinr(&near, &mut of_near) - sinr(&exact, &mut of_all));
                        }
                    }
                    if errors.len() > 2000 {
                        break;
                    }
                }
                let count = errors.len() as f64;
                let within = errors.iter().filter(|error| error.abs() < 0.1).count() as f64 / count;
                let mean = errors.iter().sum::<f64>() / count;
                let case = format!("{cells} cells, load {load} by {name}");
                println!("{case}: {:.2} % within 0.1 dB, on average {mean:.4} dB", 100.0 * within);
                assert!(within >= 0.99 && mean.abs() < 0.01, "{case}: {within} {mean}");
            }
        }
    }

    #[test]
    fn receivers_that_remember_measure_as_those_that_do_not() {
        assert_memory_changes_nothing(&flat());
        assert_memory_changes_nothing(&fading::Spec::Epa(Default::default()));
    }

    /// Asserts that receivers of blocks and reports measure in each TTI as those without a past.
    fn assert_memory_changes_nothing(fading: &fading::Spec) {
        let (mut radio, mut receivers) = network_of(3, fading.clone(), 0.0);
        let (all, part) = (Rbgs::first(radio.rbgs()), Rbgs::first(radio.rbgs() / 2));
        let sending = Stream::new(3, "sending");
        for tti in 0..120 {
            // Equal transmissions follow one another, and return.
            let sent = [0, 1, 2].map(|cell| match sending.child(cell).at(tti / 10 % 4) {
                draw if tti % 20 < 5 => Rbgs((draw * f64::from(all.0)) as u32),
                draw if draw < 0.7 => all,
                _ => Rbgs::default(),
            });
            radio.begin(Tti(tti));
            radio.transmit(true, sent.into_iter());
            if tti == 60 {
                walk(&mut radio);
            }
            let (_, mut anew) = network_of(3, fading.clone(), 0.0);
            for ue in UeId::all(UES / 5) {
                let cell = radio.serving[ue.index()].0;
                let rbgs = if tti % 3 == 0 { part } else { sent[cell.index()] };
                let [known, measured] = [&mut receivers, &mut anew].map(|receivers| {
                    receivers.measure_block(&radio, LinkId { ue, cell }, rbgs, radio.prbs_of(rbgs));
                    let sinr = receivers.received_sinr();
                    let measured = Tti(tti + 1);
                    let pattern = receivers.pattern(&radio, cell, measured);
                    let measurement = Measurement { cell, slot: UeSlot(ue.0 as u16), ue, pattern, measured };
                    let report = receivers.report(&radio, measurement);
                    (sinr, format!("{:?}", receivers.reports(cell)[report.index as usize]))
                });
                assert_eq!(known, measured);
            }
        }
    }

    #[test]
    fn disturbance_is_the_sum_of_noise_and_cells() {
        let taps = fading::Spec::Epa(Default::default()).build().taps().to_vec();
        let trace = Trace::new(&taps, Prbs(50), PRB_BANDWIDTH, Prbs(3), Stream::new(5, "way"));
        let (mut radio, _) = network(flat(), 0.0002);
        let mut disturbance = Disturbance::new(17, 48);
        let patterns: [fn(&mut Radio, f64, u64); 2] = [transmit, transmit_wide];
        for (transmit, load) in
            patterns.into_iter().flat_map(|transmit| [0.03, 0.5, 1.0].map(|load| (transmit, load)))
        {
            (0..200).for_each(|tti| transmit(&mut radio, load, tti));
            let on_air = radio.on_air.at(radio.on_air.row(radio.now));
            for ue in UeId::all(UES) {
                let (serving, floor) = (radio.serving(ue), radio.floor(ue, radio.on_air.activity()));
                let way = trace.way(ue.0.into(), 0.1 * f64::from(ue.0));
                let sent = Transmissions {
                    rbgs: |cell: CellId| on_air[cell.index()],
                    whole: Rbgs::first(17),
                    is_constant: false,
                };
                let link = LinkId { ue, cell: serving };
                let measured = disturbance.measure(&radio.gains, link, floor, &sent, Some(&way)).to_vec();

                let senders = radio.gains.near(ue).iter().map(|near| (near.cell, near.received));
                let senders = senders.filter(|(cell, _)| *cell != serving);
                let sends = |cell: CellId| !on_air[cell.index()].is_empty();
                let sending = senders.clone().filter(|(cell, _)| sends(*cell));
                let total = floor.mean() + sending.map(|(_, received)| received).sum::<f64>();
                let power = |rbg: usize, (cell, received): (CellId, f64)| {
                    let gain = if received < WEAK * total { 1.0 } else { way.to(cell.0.into())[rbg].into() };
                    if on_air[cell.index()].contains(rbg as u8) { received * gain } else { 0.0 }
                };
                let near = |rbg| floor.noise + senders.clone().map(|sender| power(rbg, sender)).sum::<f64>();
                let others = radio.gains.distant(ue, (0..17).map(near).fold(f64::INFINITY, f64::min));
                for (rbg, measured) in measured.iter().enumerate() {
                    let distant = others.iter().map(|other| power(rbg, (other.cell, other.received.into())));
                    let mean = floor.without(others).interference(rbg);
                    let expected = near(rbg) + distant.sum::<f64>() + mean;
                    let ratio = f64::from(*measured) / expected;
                    assert!((ratio - 1.0).abs() < 1e-5, "{ue:?}, RBG {rbg}, load {load}: {ratio}");
                }
            }
        }
    }

    #[test]
    fn neighbours_give_the_sinr_of_blocks_of_all_cells() {
        assert_sinrs_of_all_cells(&flat());
    }

    /// At low load most blocks are far above the SINR of the highest MCS without fading, and in those in a fade single
    /// cells matter that are not neighbours.
    #[test]
    fn fading_neighbours_give_the_sinr_of_blocks_of_all_cells() {
        let speed = Some(Speed(1.0));
        assert_sinrs_of_all_cells(&fading::Spec::Epa(fading::epa::Params { speed, ..Default::default() }));
    }

    #[test]
    fn fading_neighbours_give_the_distribution_of_reports_of_all_cells() {
        let car = fading::eva::Params { speed: Some(Speed(20.0)), ..Default::default() };
        let faded = || fading::Spec::Eva(car.clone());
        for load in [0.1, 1.0] {
            let mut exact = efficiencies(&mut network(faded(), 0.0), load);
            let mut near = efficiencies(&mut network(faded(), 0.0002), load);
            exact.sort_by(f64::total_cmp);
            near.sort_by(f64::total_cmp);
            // Their interferers fade independently.
            for percent in [5, 25, 50, 75, 95] {
                let at = exact.len() * percent / 100;
                assert!((exact[at] - near[at]).abs() < 0.05, "{percent} %: {} {}", exact[at], near[at]);
            }
        }
    }

    #[test]
    fn neighbours_are_few_and_include_the_serving_cell() {
        let mut radio = network(flat(), 0.0002).0;
        let counts: Vec<usize> = UeId::all(UES).map(|ue| radio.gains.links(ue).len()).collect();
        let mean = counts.iter().sum::<usize>() as f64 / UES as f64;
        assert!(mean < 35.0, "{mean}");
        let mut cells = CellId(0).onwards().take(57);
        let far =
            cells.find(|cell| radio.gains.links(UeId(0)).iter().all(|link| link.cell != *cell)).unwrap();
        let received = radio.gains.link(UeId(0), far).received;
        radio.serve(UeId(0), far);
        let now = radio.gains.links(UeId(0)).iter().find(|link| link.cell == far).unwrap();
        assert_eq!(now.received, received);
    }

    #[test]
    fn beyond_the_maximum_of_neighbours_the_weakest_are_left_out() {
        let (mut near, exact) = (network(flat(), 1e-12).0, network(flat(), 0.0).0);
        for ue in UeId::all(UES) {
            let mut by_power = exact.gains.links(ue).to_vec();
            by_power.sort_by(|a, b| b.received.total_cmp(&a.received));
            let weakest = by_power[56].cell;
            let mut expected: Vec<CellId> = by_power[..48].iter().map(|link| link.cell).collect();
            let cells =
                |radio: &Radio| radio.gains.links(ue).iter().map(|link| link.cell).collect::<Vec<_>>();
            expected.sort_unstable();
            assert_eq!(cells(&near), expected);
            // The serving cell stays.
            near.serve(ue, weakest);
            expected.retain(|cell| *cell != by_power[47].cell);
            expected.push(weakest);
            expected.sort_unstable();
            assert_eq!(cells(&near), expected);
        }
    }

    #[test]
    fn the_uplink_of_a_ue_that_has_sent_follows_its_position() {
        let [mut sender, mut silent] = [(); 2].map(|()| network(flat(), 0.0002).0);
        let factor = |radio: &Radio, cell: CellId| radio.gains.uplink(UeId(0), cell);
        let factors = |radio: &Radio| {
            radio.gains.near(UeId(0)).iter().map(|near| factor(radio, near.cell)).collect::<Vec<_>>()
        };
        for step in 0..100 {
            let here = Position::new(f64::from(step) * 3.0 - 150.0, 130.0, 1.5);
            [&mut sender, &mut silent].into_iter().for_each(|radio| radio.place(Time(0), UeId(0), here));
            sender.send_uplink(
                sender.serving(UeId(0)),
                UplinkSignal { ue: UeId(0), first: 0, prbs: 1, power: 1.0 },
            );
            assert_eq!(factors(&sender), factors(&silent), "{step}");
        }
    }

    #[test]
    fn the_powers_of_all_cells_add_up_wherever_a_ue_goes() {
        let (mut near, mut exact) = (network(flat(), 0.0002).0, network(flat(), 0.0).0);
        let total = |radio: &Radio| {
            let links = radio.gains.links(UeId(0)).iter();
            links.map(|link| link.received).sum::<f64>() + radio.gains.far(UeId(0))
        };
        for step in 0..200 {
            let here = Position::new(f64::from(step) * 10.0 - 1000.0, 130.0, 1.5);
            near.place(Time(0), UeId(0), here);
            exact.place(Time(0), UeId(0), here);
            let error = Db::from_linear(total(&near) / total(&exact)).0;
            assert!(error.abs() < 0.2, "{step}: {error} dB");
            let best = exact.strongest(UeId(0));
            let strongest = |radio: &Radio| radio.gains.link(UeId(0), best).received;
            let error = Db::from_linear(strongest(&near) / strongest(&exact)).0;
            assert!(error.abs() < 0.1, "{step}: {error} dB");
        }
    }
}
