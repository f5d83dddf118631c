//! Reception in neighbouring cells: by the cells, and by the UEs that they serve.

use super::decoder::Decoder;
use super::disturbance::Transmissions;
use super::fading::{Channel, LinkFading};
use super::on_air::{Activity, Floor};
use super::reports::{Measured, NewReport, Report, Reports};
use super::uplink::{Powers, UplinkOnAir};
use super::{Interference, LinkId, Radio, UplinkSignal};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::Block;
use crate::mac::power_control;
use crate::mac::sched::{ChannelState, Rbgs};
use crate::settings::RanSetup;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::Level;
use airwnd_phy::amc::known::KnownCqis;
use airwnd_phy::capacity::{effective, exceeds, mean, nearly_decibels};
use airwnd_phy::{CONTROL_CURVE_END_LINEAR, Cqi, Prbs, Sinr, control_error};
use airwnd_units::{Db, Tti};
use std::ops::Range;

/// Cached SINRs of blocks over flat channels.
const FLATS: usize = 256;

/// The SINR of a UE's blocks over a flat channel.
#[derive(Clone, Copy, Default)]
struct Flat {
    link: LinkId,
    /// Sum of the version of the UE's gains and the number of the pattern of transmissions.
    version: u64,
    /// The RBGs to which it applies: the same cells interfere in all of them.
    alike: Rbgs,
    sinr: Db,
}

/// Inputs of a cell's reports besides the gains: the place of the transmissions, and the number of times that it has been
/// reused. Equal inputs give equal reports.
pub(crate) type Repeatable = (usize, u64);

/// A report of a UE's channel.
#[derive(Clone, Copy)]
pub(crate) struct Measurement {
    pub cell: CellId,
    /// Slot of the UE in the cell.
    pub slot: UeSlot,
    /// Number of the UE.
    pub ue: UeId,
    /// Transmissions that interfere: their index among those remembered, from [`Receivers::pattern`].
    pub pattern: usize,
    /// TTI at whose start it is, or was, measured.
    pub measured: Tti,
}

/// The receivers in a range of cells: what they remember of the channel, which does not change results.
pub(crate) struct Receivers {
    /// The first cell.
    first: usize,
    /// By cell.
    reports: Vec<Reports>,
    downlink: Decoder,
    uplink: Decoder,
    powers: Powers,
    /// The SINRs of UEs' last blocks over flat channels: a direct-mapped cache.
    flats: Vec<Flat>,
    /// Whether reports have a wideband CQI.
    wideband: bool,
    /// CQIs of flat channels over the carrier and in an RBG, by rank.
    known_cqis: [Vec<KnownCqis>; 2],
    /// `None`: channels are flat.
    fading: Option<LinkFading>,
    /// Scratch: SINR of each run of PRBs.
    runs: Vec<(Db, Prbs)>,
    /// Scratch: linear SINR of each RBG that can be scheduled.
    sinrs: Vec<f64>,
}

impl Receivers {
    /// The receivers of these cells of a setup on a carrier. `wideband`: their schedulers use the wideband CQI.
    pub fn new(
        setup: &RanSetup,
        carrier: &ComponentCarrier,
        radio: &Radio,
        cells: Range<usize>,
        wideband: bool,
    ) -> Receivers {
        let reports = |_| match radio.gains.are_complete() {
            true => Reports::by_pattern(radio.cells()),
            // The last place is that of a silent cell.
            false => Reports::by_tti(radio.on_air.rows() + 1),
        };
        let access = &carrier.access;
        let parts = radio.cells() / cells.len().max(1);
        Receivers {
            first: cells.start,
            fading: LinkFading::of(setup, carrier, parts),
            reports: cells.map(reports).collect(),
            downlink: Decoder::new(radio.errors.clone(), access, parts),
            uplink: Decoder::new(radio.errors.clone(), &access.in_uplink(), parts),
            powers: Powers::new(),
            flats: vec![Flat::default(); FLATS],
            // The rank follows from the wideband CQI of each rank.
            wideband: wideband || !radio.layers.is_empty(),
            known_cqis: std::array::from_fn(|_| vec![KnownCqis::default(); radio.amc.len()]),
            runs: Vec::with_capacity(usize::from(radio.prbs.0) + 1),
            sinrs: vec![0.0; radio.rbgs.into()],
        }
    }

    /// Reserves space for this many UEs of a cell.
    pub fn reserve(&mut self, cell: CellId, slots: usize) {
        self.reports_of(cell).reserve(slots);
    }

    /// Frees the memory of fading of a UE's links to other cells than its neighbours.
    pub fn keep(&mut self, radio: &Radio, ue: UeId) {
        if let Some(links) = &mut self.fading {
            links.keep(ue, radio.gains.links(ue));
        }
    }

    /// Frees the memory of fading of a UE that is served by another cell than these.
    pub fn leave(&mut self, ue: UeId) {
        if let Some(links) = &mut self.fading {
            links.leave(ue);
        }
    }

    /// Requests the memory that blocks and reports of a UE in a TTI need first. In large networks most of it is in no cache.
    pub fn prefetch(&self, radio: &Radio, ue: UeId) {
        radio.gains.prefetch(ue);
        if let Some((links, scattering)) = self.fading.as_ref().zip(radio.scattering.as_ref()) {
            links.prefetch(scattering, ue);
        }
    }

    /// Requests the memory that blocks and sounding signals of a UE need first.
    pub fn prefetch_uplink(&self, radio: &Radio, ue: UeId) {
        radio.gains.prefetch(ue);
        if let Some((links, scattering)) = self.fading.as_ref().zip(radio.scattering.as_ref()) {
            links.prefetch_uplink(scattering, ue);
        }
    }

    /// Receives a block at a UE on these RBGs, which have `prbs`, in the TTI on air. Returns whether it fails: whether
    /// `draw`, uniform in [0, 1), is less than the probability that it is not decoded. Adds to the soft bits of a block that
    /// fails.
    pub fn receive_downlink(
        &mut self,
        radio: &Radio,
        link: LinkId,
        rbgs: Rbgs,
        prbs: Prbs,
        block: &mut Block,
        draw: f64,
    ) -> bool {
        self.measure_block(radio, link, rbgs, prbs);
        self.downlink.fails(&self.runs, radio.layers(block.rank), block, draw)
    }

    pub(super) fn measure_block(&mut self, radio: &Radio, link: LinkId, rbgs: Rbgs, prbs: Prbs) {
        if self.fading.is_some() {
            return self.measure_faded_block(radio, link, rbgs);
        }
        self.runs.clear();
        let mut rest = rbgs;
        // All RBGs with the same interfering cells share one SINR.
        while let Some(first) = rest.iter().next() {
            let Flat { sinr, alike, .. } = self.flat(radio, link, first);
            let is_whole = rbgs.without(alike).is_empty();
            self.runs.push((sinr, if is_whole { prbs } else { radio.prbs_of(rest.common(alike)) }));
            rest = rest.without(alike);
        }
    }

    /// The SINR of a UE's block over a flat channel in an RBG.
    #[inline]
    fn flat(&mut self, radio: &Radio, link: LinkId, rbg: u8) -> Flat {
        // Both grow, so that equal sums are equal numbers.
        let version = radio.gains.version(link.ue) + radio.on_air.pattern(radio.on_air.row(radio.now));
        let known = self.flats[link.ue.index() % FLATS];
        let is_known = (known.link, known.version) == (link, version);
        // Other cells than neighbours interfere by their mean activity, too.
        if is_known && known.alike.contains(rbg) && radio.gains.are_complete() {
            return known;
        }
        self.measure_flat(radio, link, rbg, version)
    }

    #[inline(never)]
    fn measure_flat(&mut self, radio: &Radio, link: LinkId, rbg: u8, version: u64) -> Flat {
        let LinkId { ue, cell: serving } = link;
        let floor = radio.floor(ue, radio.on_air.activity());
        let on_air = radio.on_air.at(radio.on_air.row(radio.now));
        let (disturbance, alike) = radio.disturbance(floor, link, on_air, rbg, Rbgs::first(radio.rbgs));
        let sinr = Db::from_linear(radio.gains.received(ue, serving) / disturbance);
        self.flats[ue.index() % FLATS] = Flat { link, version, alike, sinr };
        self.flats[ue.index() % FLATS]
    }

    // Apart: inlined in the loop over the blocks, it would make those over flat channels slower.
    #[inline(never)]
    fn measure_faded_block(&mut self, radio: &Radio, link: LinkId, rbgs: Rbgs) {
        let Some((links, scattering)) = self.fading.as_mut().zip(radio.scattering.as_ref()) else { return };
        let floor = radio.floor(link.ue, radio.on_air.activity());
        let on_air = radio.on_air.at(radio.on_air.row(radio.now));
        let channel = Channel { gains: &radio.gains, scattering };
        let sent = Transmissions {
            rbgs: |cell: CellId| on_air[cell.index()],
            whole: Rbgs::first(radio.rbgs),
            is_constant: false,
        };
        let sinrs = links.downlink(channel, link, floor, &sent, radio.now);
        let width = usize::from(radio.rbg_prbs);
        let used = rbgs.iter().flat_map(|group| sinrs[usize::from(group) * width..].iter().take(width));
        self.runs.clear();
        if radio.gains.are_complete() {
            self.runs.extend(used.map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
        } else {
            self.runs.extend(used.map(|sinr| (nearly_decibels(*sinr), Prbs(1))));
        }
    }

    /// The probability of losing control channels over a fading channel in the TTI on air. `None` if channels do not
    /// fade.
    #[inline]
    pub fn faded_control_error(&mut self, radio: &Radio, ue: UeId, level: Level) -> Option<f64> {
        if self.fading.is_some() { self.measure_faded_control(radio, ue, level) } else { None }
    }

    #[inline(never)]
    fn measure_faded_control(&mut self, radio: &Radio, ue: UeId, level: Level) -> Option<f64> {
        let sinrs = self.faded_control(radio, ue)?;
        if level != Level::OF_8 {
            return Some(control_error(effective(sinrs) + level.gain()));
        }
        let is_lossless = exceeds(sinrs, CONTROL_CURVE_END_LINEAR);
        Some(if is_lossless { 0.0 } else { control_error(effective(sinrs)) })
    }

    /// The SINR of the control channels at a UE now.
    pub fn control_sinr(&mut self, radio: &Radio, ue: UeId) -> Db {
        match self.faded_control(radio, ue) {
            Some(sinrs) => effective(sinrs),
            None => radio.control_sinr(ue, radio.serving[ue.index()].0),
        }
    }

    /// The SINRs of the control channels at a UE by PRB; `None`: the channel is flat.
    #[inline]
    fn faded_control(&mut self, radio: &Radio, ue: UeId) -> Option<&[f64]> {
        let floor = radio.floor(ue, &Activity::FULL);
        let links = self.fading.as_mut()?;
        let channel = Channel { gains: &radio.gains, scattering: radio.scattering.as_ref()? };
        let link = LinkId { ue, cell: radio.serving[ue.index()].0 };
        let everywhere = Transmissions { rbgs: |_| Rbgs(u32::MAX), whole: Rbgs(u32::MAX), is_constant: true };
        Some(links.downlink(channel, link, floor, &everywhere, radio.now))
    }

    /// The place of a cell's reports that are measured at the start of a TTI, after the transmissions of the one before.
    ///
    /// The signal is that of the reference symbols, the interference that of the other cells' data. A UE measures
    /// interference only while its own cell sends data; otherwise it reports noise alone, as in ns-3 LENA.
    pub fn pattern(&mut self, radio: &Radio, cell: CellId, measured: Tti) -> usize {
        let row = radio.on_air.row(Tti(measured.0.saturating_sub(1)));
        let on_air = radio.on_air.at(row);
        //= exception cqi-needs-own-data
        let quiet = on_air[cell.index()].is_empty();
        if !radio.gains.are_complete() {
            return if quiet { radio.on_air.rows() } else { row };
        }
        let other = |index| if quiet || index == cell.index() { Rbgs::default() } else { on_air[index] };
        self.reports_of(cell).place(radio.on_air.pattern(row), other)
    }

    /// Inputs of the reports of a cell besides the gains, if they do not differ in each TTI.
    pub fn repeatable(&mut self, radio: &Radio, cell: CellId, measured: Tti) -> Repeatable {
        let place = self.pattern(radio, cell, measured);
        (place, self.reports[cell.index() - self.first].replaced(place))
    }

    /// A fading channel differs in each TTI, and so does a place without a pattern.
    pub fn differs_by_tti(&self, radio: &Radio) -> bool {
        self.fading.is_some() || !radio.gains.are_complete()
    }

    /// The transmissions at a place of a cell's reports, by cell, with noise and mean interference at a UE.
    fn place_of<'a>(
        reports: &'a Reports,
        radio: &'a Radio,
        place: usize,
        ue: UeId,
    ) -> (&'a [Rbgs], Floor<'a>) {
        if radio.gains.are_complete() {
            (reports.pattern(place), radio.floor(ue, &Activity::NONE))
        } else if place == radio.on_air.rows() {
            (radio.on_air.silence(), radio.floor(ue, &Activity::NONE))
        } else {
            (radio.on_air.at(place), radio.floor(ue, radio.on_air.activity()))
        }
    }

    /// A report; it is computed if it is not cached.
    #[inline]
    pub fn report(&mut self, radio: &Radio, measurement: Measurement) -> Report {
        let Measurement { cell, slot, ue, pattern, measured } = measurement;
        let by_tti = self.differs_by_tti(radio);
        let version = if by_tti { measured.0 } else { radio.gains.version(ue) };
        match self.reports_of(cell).find(pattern, slot, ue, version) {
            Some(report) => report,
            None => {
                let report = match &self.fading {
                    Some(_) => self.measure_faded(radio, measurement),
                    None => self.measure(radio, measurement),
                };
                self.reports_of(cell).keep(pattern, slot, ue, version, report)
            }
        }
    }

    /// Measures the newest report of the UE, which remains at its index until the next one.
    pub fn newest_report(&mut self, radio: &Radio, measurement: Measurement) -> Report {
        let report = self.report(radio, measurement);
        self.reports_of(measurement.cell).keep_newest(measurement.slot, report)
    }

    /// Holds a report of the UE in a slot, which goes to sleep.
    pub fn hold(&mut self, cell: CellId, slot: UeSlot, report: Report) {
        self.reports_of(cell).hold(slot, report);
    }

    /// The held report of the UE in a slot, if there is one.
    pub fn held(&self, cell: CellId, slot: UeSlot, ue: UeId) -> Option<Report> {
        self.reports[cell.index() - self.first].held(slot, ue)
    }

    /// Drops the held report of a slot.
    pub fn drop_held(&mut self, cell: CellId, slot: UeSlot) {
        self.reports_of(cell).drop_held(slot);
    }

    /// A cell's reports, by the indices in the results of [`Receivers::report`].
    pub fn reports(&self, cell: CellId) -> &[ChannelState] {
        self.reports[cell.index() - self.first].states()
    }

    fn reports_of(&mut self, cell: CellId) -> &mut Reports {
        &mut self.reports[cell.index() - self.first]
    }

    /// The known reports of a cell with this pattern, by slot; none if they differ in each TTI.
    pub fn known_at(&self, radio: &Radio, cell: CellId, pattern: usize) -> &[Measured] {
        if self.differs_by_tti(radio) {
            &[]
        } else {
            self.reports[cell.index() - self.first].known_at(pattern)
        }
    }

    /// The mean SINR over the PRBs of a UE's report.
    #[inline(never)]
    pub fn mean_sinr(&mut self, radio: &Radio, measurement: Measurement) -> Db {
        if self.fading.is_some() {
            return mean(self.faded(radio, measurement));
        }
        let report = self.report(radio, measurement);
        self.reports_of(measurement.cell).sinr(report.index as usize)
    }

    /// The linear SINR of a report of a fading channel on each PRB that can be scheduled.
    fn faded(&mut self, radio: &Radio, measurement: Measurement) -> &[f64] {
        let Measurement { cell, ue, pattern, measured, .. } = measurement;
        let Receivers { first, reports, fading, .. } = self;
        let links = fading.as_mut().expect("called for fading channels only");
        let scattering = radio.scattering.as_ref().expect("called for fading channels only");
        let (on_air, floor) = Receivers::place_of(&reports[cell.index() - *first], radio, pattern, ue);
        let scheduled = usize::from((u16::from(radio.rbgs) * radio.rbg_prbs).min(radio.prbs.0));
        let channel = Channel { gains: &radio.gains, scattering };
        let sent = Transmissions {
            rbgs: |cell: CellId| on_air[cell.index()],
            whole: Rbgs::first(radio.rbgs),
            is_constant: false,
        };
        let sinrs = links.downlink(channel, LinkId { ue, cell }, floor, &sent, measured);
        &sinrs[..scheduled]
    }

    /// A report of a fading channel.
    fn measure_faded(&mut self, radio: &Radio, measurement: Measurement) -> NewReport {
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let has_wideband = self.wideband;
        let scheduled = self.faded(radio, measurement);
        let mean = mean(scheduled);
        let (rank, wideband) = if has_wideband {
            runs.extend(scheduled.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            runs.push((mean, Prbs(radio.prbs.0 - scheduled.len() as u16)));
            radio.rank(Sinr::Groups(&runs), radio.prbs)
        } else {
            (1, Cqi::OUT_OF_RANGE)
        };
        let steps = &radio.steps[usize::from(rank) - 1];
        let groups = scheduled.chunks(radio.rbg_prbs.into()).map(|prbs| steps.cqi_over(prbs));
        let state = ChannelState { rank, ..ChannelState::new(wideband, groups) };
        self.runs = runs;
        NewReport { state, sinr: mean }
    }

    /// A report of a flat channel. PRBs beyond the last whole RBG are never scheduled; their SINR is taken as the mean of
    /// the others.
    fn measure(&mut self, radio: &Radio, measurement: Measurement) -> NewReport {
        let Measurement { cell, ue, pattern, .. } = measurement;
        let signal = radio.gains.received(ue, cell);
        let (mut runs, mut sinrs) = (std::mem::take(&mut self.runs), std::mem::take(&mut self.sinrs));
        let (on_air, floor) =
            Receivers::place_of(&self.reports[cell.index() - self.first], radio, pattern, ue);
        radio.disturbances(floor, ue, cell, on_air, &mut sinrs);
        sinrs.iter_mut().for_each(|sinr| *sinr = signal / *sinr);
        // ns-3 divides by one PRB less than there are (LteUePhy::GenerateMixedCqiReport), an off-by-one.
        let mean = Db::from_linear(sinrs.iter().sum::<f64>() / f64::from(radio.rbgs));
        let is_even = sinrs.iter().all(|sinr| *sinr == sinrs[0]);
        let [whole, of_rbg] = &mut self.known_cqis;
        let (rank, wideband) = if !self.wideband {
            (1, Cqi::OUT_OF_RANGE)
        } else if is_even {
            let sinr = Db::from_linear(sinrs[0]);
            radio.rank_by(|rank| {
                let rule = || radio.amc(rank).cqi(Sinr::Flat(sinr), radio.prbs);
                whole[usize::from(rank) - 1].cqi(sinr, rule)
            })
        } else {
            let mut before = (sinrs[0], Db::from_linear(sinrs[0]));
            runs.clear();
            runs.extend((0..).zip(&sinrs).map(|(rbg, sinr)| {
                // Mostly runs of RBGs share a SINR.
                if *sinr != before.0 {
                    before = (*sinr, Db::from_linear(*sinr));
                }
                (before.1, radio.prbs_of(Rbgs::one(rbg)))
            }));
            runs.push((mean, Prbs(radio.prbs.0.saturating_sub(u16::from(radio.rbgs) * radio.rbg_prbs))));
            radio.rank(Sinr::Groups(&runs), radio.prbs)
        };
        let mut cqi = |sinr: f64| match radio.steps.get(usize::from(rank) - 1) {
            Some(steps) => steps.cqi_over(&[sinr]),
            None => {
                let sinr = Db::from_linear(sinr);
                let rule = || radio.amc(rank).cqi(Sinr::Flat(sinr), Prbs(radio.rbg_prbs));
                of_rbg[usize::from(rank) - 1].cqi(sinr, rule)
            }
        };
        let first = cqi(sinrs[0]);
        let state = if is_even {
            ChannelState::flat(wideband, first, sinrs.len())
        } else {
            let mut before = (sinrs[0], first);
            let groups = sinrs.iter().map(|sinr| {
                if *sinr != before.0 {
                    before = (*sinr, cqi(*sinr));
                }
                before.1
            });
            ChannelState::new(wideband, groups)
        };
        let state = ChannelState { rank, ..state };
        (self.runs, self.sinrs) = (runs, sinrs);
        NewReport { state, sinr: mean }
    }

    /// The transmit power per PRB in mW of a UE on `prbs` after these TPC commands.
    pub fn uplink_power(
        &mut self,
        radio: &Radio,
        ue: UeId,
        prbs: Prbs,
        control: &power_control::Params,
        commanded: Db,
    ) -> f64 {
        self.powers.of(prbs, control, radio.loss(ue), commanded)
    }

    /// The SINR of the last received uplink block: that of a flat channel with the same capacity.
    pub fn received_sinr(&self) -> Db {
        match self.runs[..] {
            [(sinr, _)] => sinr,
            _ => {
                let capacity = Sinr::Groups(&self.runs).mean(|sinr| libm::log2(1.0 + sinr.linear()));
                Db::from_linear(libm::exp2(capacity) - 1.0)
            }
        }
    }

    /// Receives a block at a cell while other UEs send to other cells. Returns whether it fails, as in the downlink.
    pub fn receive_uplink(
        &mut self,
        radio: &Radio,
        cell: CellId,
        signal: &UplinkSignal,
        block: &mut Block,
        draw: f64,
    ) -> bool {
        self.measure_uplink(radio, &radio.uplink, cell, signal);
        self.uplink.fails(&self.runs, &[], block, draw)
    }

    /// The SINR of a UE's sounding signal, which covers the carrier evenly.
    pub fn sounding_sinr(&mut self, radio: &Radio, cell: CellId, signal: &UplinkSignal) -> Db {
        if let Some((links, scattering)) = self.fading.as_mut().zip(radio.scattering.as_ref()) {
            let floor = radio.gains.cell_noise(cell) + radio.soundings.floor;
            //= exception sounding-over-carrier
            return effective(links.uplink(
                Channel { gains: &radio.gains, scattering },
                cell,
                floor,
                signal,
                radio.soundings.at(cell),
                radio.now,
            ));
        }
        self.measure_uplink(radio, &radio.soundings, cell, signal);
        self.runs[0].0
    }

    fn measure_uplink(&mut self, radio: &Radio, air: &UplinkOnAir, cell: CellId, signal: &UplinkSignal) {
        let floor = radio.gains.cell_noise(cell) + air.floor;
        let others = air.at(cell);
        if let Some((links, scattering)) = self.fading.as_mut().zip(radio.scattering.as_ref()) {
            let channel = Channel { gains: &radio.gains, scattering };
            let sinrs = links.uplink(channel, cell, floor, signal, others, radio.now);
            self.runs.clear();
            self.runs.extend(sinrs.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            return;
        }
        let own = signal.power * radio.gains.uplink(signal.ue, cell);
        let end = signal.first + signal.prbs;
        self.runs.clear();
        let mut at = signal.first;
        while at < end {
            let mut until = end;
            let mut disturbance = floor;
            for Interference { signal: other, received } in others {
                let (from, to) = (other.first, other.first + other.prbs);
                if from <= at && at < to {
                    disturbance += received;
                    until = until.min(to);
                } else if from > at {
                    until = until.min(from);
                }
            }
            self.runs.push((Db::from_linear(own / disturbance), Prbs(until - at)));
            at = until;
        }
    }
}
