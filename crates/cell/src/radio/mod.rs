//! Radio channel between cells and UEs.
//!
//! Gains change when UEs move ([`Radio::place`]); from TTI to TTI only the pattern of transmissions changes. Channel
//! reports are cached by that pattern and the state of the UE's channel, so that a saturated cell computes each of them
//! once.

mod decoder;
mod fading;
mod gains;
mod map;
mod on_air;
mod reports;

use crate::access::Access;
use crate::mac::Block;
use crate::mac::power_control;
use crate::mac::sched::{ChannelState, Rbgs};
use crate::phy::amc::Amc;
use crate::phy::amc::steps::Steps;
use crate::phy::error_model::ErrorModel;
use crate::phy::{Cqi, Position, Prbs, Sinr};
use crate::settings::RanSetup;
use airwnd_units::{Db, Dbm, Time, Tti};
use decoder::Decoder;
use fading::LinkFading;
pub(crate) use gains::Link;
use gains::{Gains, strongest};
pub use map::{Listener, RadioMap};
use on_air::{Activity, Floor, OnAir};
pub(crate) use reports::Report;
use reports::Reports;
use std::sync::Arc;

/// Interfering transmissions per cell and TTI with preallocated memory.
const RESERVED: usize = 256;

/// The radio channel between all cells and all UEs.
pub(crate) struct Radio {
    prbs: Prbs,
    rbg_prbs: u16,
    rbgs: u8,
    /// PRBs that the last RBG lacks.
    beyond: u16,
    amc: Box<dyn Amc>,
    decoder: Decoder,
    gains: Gains,
    /// `None`: channels are flat, and change only when UEs move.
    fading: Option<Faded>,
    /// The TTI on air.
    now: Tti,
    /// Serving cell of each UE, and the downlink's path loss from it.
    serving: Vec<(usize, Db)>,
    /// By cell.
    reports: Vec<Reports>,
    /// The cells' data transmissions.
    on_air: OnAir,
    /// The transmissions of other cells' UEs in the TTI on air, by cell.
    interference: Vec<Vec<Interference>>,
    /// Received power per PRB in mW of UEs that are not near a cell, averaged over cells and PRBs.
    uplink_floor: f64,
    /// Scratch: SINR of each run of PRBs.
    runs: Vec<(Db, Prbs)>,
}

/// Fading channels, and the SINR threshold of each CQI in an RBG.
struct Faded {
    links: LinkFading,
    steps: Steps,
}

/// A transmission of a UE: PRBs and power on each in mW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UplinkSignal {
    pub ue: u32,
    pub first: u16,
    pub prbs: u16,
    pub power: f64,
}

/// A transmission of a UE of another cell, and its received power per PRB in mW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interference {
    pub signal: UplinkSignal,
    pub received: f64,
}

impl Radio {
    /// The channel of a setup. Transmissions are kept for `kept` TTIs for channel reports.
    pub fn new(setup: &RanSetup, access: &Arc<Access>, kept: u64) -> Radio {
        let (prbs, rbg_prbs) = (access.prbs, access.rbg_prbs.0);
        let errors: Arc<dyn ErrorModel> = setup.radio.errors().into();
        let receiver = setup.radio.receiver();
        let gains = Gains::new(setup, access);
        let amc = setup.radio.amc.build(&receiver, access);
        let fading = LinkFading::of(setup, access)
            .map(|links| Faded { links, steps: Steps::new(&*amc, Prbs(rbg_prbs)) });
        let strongest = |ue| (strongest(gains.links(ue)), Db(0.0));
        let rbgs = access.rbgs;
        let on_air = OnAir::new(setup.cells.len(), rbgs, kept);
        let reports = || match gains.are_complete() {
            true => Reports::by_pattern(setup.cells.len()),
            // The last place is that of a silent cell.
            false => Reports::by_tti(on_air.rows() + 1),
        };
        Radio {
            prbs,
            rbg_prbs,
            rbgs,
            beyond: (u16::from(rbgs) * rbg_prbs).saturating_sub(prbs.0),
            amc,
            decoder: Decoder::new(errors, access),
            serving: (0..setup.ues.len()).map(strongest).collect(),
            reports: setup.cells.iter().map(|_| reports()).collect(),
            on_air,
            interference: setup
                .cells
                .iter()
                .map(|_| Vec::with_capacity(setup.ues.len().min(RESERVED)))
                .collect(),
            uplink_floor: 0.0,
            gains,
            fading,
            now: Tti(0),
            runs: Vec::with_capacity(usize::from(prbs.0) + 1),
        }
    }

    /// Starts a TTI.
    pub fn begin(&mut self, tti: Tti) {
        self.now = tti;
    }

    /// Notes that no cell sent data in the last `skipped` TTIs before `tti`.
    pub fn skip(&mut self, tti: Tti, skipped: u64) {
        self.on_air.skip(tti, skipped);
    }

    /// Sets the data transmissions of the TTI on air, by cell.
    pub fn transmit(&mut self, sent: impl Iterator<Item = Rbgs>) {
        self.on_air.note(self.now, sent);
    }

    /// The strongest cell at a UE; the first of several equal ones.
    pub fn strongest(&self, ue: usize) -> usize {
        strongest(self.gains.links(ue))
    }

    /// Reserves space for this many UEs of a cell.
    pub fn reserve(&mut self, cell: usize, slots: usize) {
        self.reports[cell].reserve(slots);
    }

    /// Sets the serving cell of a UE.
    pub fn serve(&mut self, ue: usize, cell: usize) {
        self.gains.include(ue, cell);
        self.serving[ue] = (cell, self.gains.loss(ue, cell));
    }

    /// Moves a UE.
    pub fn place(&mut self, now: Time, ue: usize, position: Position) {
        let serving = self.serving[ue].0;
        let selected = self.gains.place(ue, position, serving);
        if let Some(Faded { links, .. }) = &mut self.fading {
            links.place(now, ue, position);
            if selected {
                links.keep(ue, self.gains.links(ue));
            }
        }
        self.serve(ue, serving);
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
    pub fn rsrp(&self, ue: usize, cell: usize) -> Dbm {
        crate::phy::link_budget::rsrp(Dbm::from_milliwatts(self.gains.link(ue, cell).received))
    }

    /// The cells that a UE measures, and the received power per PRB in mW of noise and all other cells.
    pub fn measurable(&self, ue: usize) -> (&[Link], f64) {
        (self.gains.links(ue), self.gains.ue_noise(ue) + self.gains.far(ue))
    }

    /// The strongest cell at a UE other than this one.
    pub fn strongest_but(&self, ue: usize, serving: usize) -> Option<usize> {
        let others = self.gains.links(ue).iter().filter(|link| link.cell as usize != serving);
        let best = others.reduce(|best, link| if link.received > best.received { link } else { best });
        best.map(|link| link.cell as usize)
    }

    /// Noise and mean interference at a UE.
    fn floor<'a>(&self, ue: usize, activity: &'a Activity) -> Floor<'a> {
        Floor { noise: self.gains.ue_noise(ue), far: self.gains.far(ue), activity }
    }

    /// Noise and interference per PRB in mW at a UE in an RBG.
    fn disturbance(&self, floor: Floor<'_>, ue: usize, serving: usize, on_air: &[Rbgs], group: u8) -> f64 {
        let links = self.gains.links(ue).iter();
        let interference = links
            .filter(|link| link.cell as usize != serving && on_air[link.cell as usize].contains(group))
            .map(|link| link.received);
        floor.at(group.into()) + interference.sum::<f64>()
    }

    /// Receives a block at a UE on `rbgs` in the TTI on air. Adds to the block's soft bits and returns
    /// the probability that it is not decoded.
    pub fn receive_downlink(&mut self, ue: u32, serving: usize, rbgs: Rbgs, block: &mut Block) -> f64 {
        self.measure_block(ue as usize, serving, rbgs);
        self.decoder.decode(&self.runs, block)
    }

    fn measure_block(&mut self, ue: usize, serving: usize, rbgs: Rbgs) {
        let floor = self.floor(ue, self.on_air.activity());
        let on_air = self.on_air.at(self.on_air.row(self.now));
        if let Some(Faded { links, .. }) = &mut self.fading {
            let sinrs = links.downlink(&self.gains, (ue, serving), floor, |cell| on_air[cell], self.now);
            let width = usize::from(self.rbg_prbs);
            let used = rbgs.iter().flat_map(|group| sinrs[usize::from(group) * width..].iter().take(width));
            self.runs.clear();
            self.runs.extend(used.map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            return;
        }
        let signal = self.gains.link(ue, serving).received;
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let mut rest = rbgs;
        // All RBGs with the same interfering cells share one SINR.
        while let Some(first) = rest.iter().next() {
            let mut alike = rest;
            let others = self.gains.links(ue).iter().map(|link| link.cell as usize);
            for sent in others.filter(|cell| *cell != serving).map(|cell| on_air[cell]) {
                let unlike = if sent.contains(first) { Rbgs(!sent.0) } else { sent };
                alike = alike.without(unlike);
            }
            let sinr = Db::from_linear(signal / self.disturbance(floor, ue, serving, on_air, first));
            runs.push((sinr, self.prbs_of(alike)));
            rest = rest.without(alike);
        }
        self.runs = runs;
    }

    /// The SINR of control channels over a fading channel in the TTI on air. `None` if channels do not fade.
    pub fn faded_control_sinr(&mut self, ue: usize) -> Option<Db> {
        let floor = self.floor(ue, &Activity::FULL);
        let Faded { links, .. } = self.fading.as_mut()?;
        let everywhere = |_| Rbgs(u32::MAX);
        Some(effective(links.downlink(&self.gains, (ue, self.serving[ue].0), floor, everywhere, self.now)))
    }

    /// The SINR of control channels, which every cell sends at full power in every TTI.
    //= exception control-at-full-load
    pub fn control_sinr(&self, ue: usize, serving: usize) -> Db {
        let signal = self.gains.link(ue, serving).received;
        let links = self.gains.links(ue).iter();
        let others = links.map(|link| link.received).sum::<f64>() - signal + self.gains.far(ue);
        Db::from_linear(signal / (self.gains.ue_noise(ue) + others.max(0.0)))
    }

    /// The place of a cell's reports that are measured at the start of a TTI, after the transmissions of the one before.
    ///
    /// The signal is that of the reference symbols, the interference that of the other cells' data. A UE measures
    /// interference only while its own cell sends data; otherwise it reports noise alone, as in ns-3 LENA.
    pub fn pattern(&mut self, cell: usize, measured: Tti) -> usize {
        let row = self.on_air.row(Tti(measured.0.saturating_sub(1)));
        let on_air = self.on_air.at(row);
        //= exception cqi-needs-own-data
        let quiet = on_air[cell].is_empty();
        if !self.gains.are_complete() {
            return if quiet { self.on_air.rows() } else { row };
        }
        self.reports[cell].place(|index| if quiet || index == cell { Rbgs::default() } else { on_air[index] })
    }

    /// The transmissions at a place of a cell's reports, by cell, with noise and mean interference at a UE.
    fn place_of(&self, cell: usize, place: usize, ue: usize) -> (&[Rbgs], Floor<'_>) {
        if self.gains.are_complete() {
            (self.reports[cell].pattern(place), self.floor(ue, &Activity::NONE))
        } else if place == self.on_air.rows() {
            (self.on_air.silence(), self.floor(ue, &Activity::NONE))
        } else {
            (self.on_air.at(place), self.floor(ue, self.on_air.activity()))
        }
    }

    /// The report of the UE in `slot` at a place; it is computed if it is not cached. `measured` is the TTI at whose
    /// start it is, or was, measured.
    #[inline]
    pub fn report(&mut self, cell: usize, place: usize, slot: u16, ue: usize, measured: Tti) -> Report {
        // A fading channel differs in each TTI, and so does a place without a pattern.
        let by_tti = self.fading.is_some() || !self.gains.are_complete();
        let version = if by_tti { measured.0 } else { self.gains.version(ue) };
        match self.reports[cell].find(place, slot, ue as u32, version) {
            Some(report) => report,
            None => {
                let report = match &self.fading {
                    Some(_) => self.measure_faded(ue, cell, place, measured),
                    None if by_tti => self.measure_or_repeat(ue, cell, place, slot),
                    None => self.measure(ue, cell, place),
                };
                self.reports[cell].keep(place, slot, (ue as u32, version), report)
            }
        }
    }

    /// A report of a flat channel; it is computed if any transmission of the UE's neighbours has changed since the last.
    fn measure_or_repeat(&mut self, ue: usize, cell: usize, place: usize, slot: u16) -> (ChannelState, Db) {
        // Both grow, so that equal sums are equal numbers.
        let version = self.gains.version(ue) + self.on_air.updates();
        let quiet = place == self.on_air.rows();
        let on_air = if quiet { self.on_air.silence() } else { self.on_air.at(place) };
        let heard = if quiet { &[] } else { self.gains.links(ue) };
        let sent = heard.iter().map(|link| on_air[link.cell as usize]);
        match self.reports[cell].repeated(slot, (ue as u32, version), sent) {
            Some(report) => report,
            None => {
                let report = self.measure(ue, cell, place);
                self.reports[cell].note_last(slot, report);
                report
            }
        }
    }

    /// A cell's reports, by the indices in the results of [`Radio::report`].
    pub fn reports(&self, cell: usize) -> &[ChannelState] {
        self.reports[cell].states()
    }

    /// The mean SINR over the PRBs of a UE's report.
    pub fn mean_sinr(&mut self, cell: usize, place: usize, slot: u16, ue: usize, measured: Tti) -> Db {
        if self.fading.is_some() {
            let scheduled = self.faded(ue, cell, place, measured);
            return Db::from_linear(scheduled.iter().sum::<f64>() / scheduled.len() as f64);
        }
        let report = self.report(cell, place, slot, ue, measured);
        self.reports[cell].sinr(report.index as usize)
    }

    /// The linear SINR of a report of a fading channel on each PRB that can be scheduled.
    fn faded(&mut self, ue: usize, cell: usize, place: usize, measured: Tti) -> &[f64] {
        let mut fading = self.fading.take().expect("called for fading channels only");
        let (on_air, floor) = self.place_of(cell, place, ue);
        fading.links.downlink(&self.gains, (ue, cell), floor, |other| on_air[other], measured);
        let scheduled = usize::from((u16::from(self.rbgs) * self.rbg_prbs).min(self.prbs.0));
        &self.fading.insert(fading).links.sinrs()[..scheduled]
    }

    /// A report of a fading channel.
    fn measure_faded(&mut self, ue: usize, cell: usize, place: usize, measured: Tti) -> (ChannelState, Db) {
        let mut runs = std::mem::take(&mut self.runs);
        let (prbs, width) = (self.prbs, usize::from(self.rbg_prbs));
        let scheduled = self.faded(ue, cell, place, measured);
        let mean = Db::from_linear(scheduled.iter().sum::<f64>() / scheduled.len() as f64);
        runs.clear();
        runs.extend(scheduled.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
        runs.push((mean, Prbs(prbs.0 - scheduled.len() as u16)));
        let Some(Faded { links, steps }) = &self.fading else {
            unreachable!("called for fading channels only")
        };
        let wideband = self.amc.cqi(Sinr::Groups(&runs), prbs);
        let groups = links.sinrs()[..runs.len() - 1].chunks(width).map(|prbs| steps.cqi(effective(prbs)));
        let state = ChannelState::new(wideband, groups);
        self.runs = runs;
        (state, mean)
    }

    /// PRBs beyond the last whole RBG are never scheduled; their SINR is taken as the mean of the others.
    fn measure(&mut self, ue: usize, cell: usize, place: usize) -> (ChannelState, Db) {
        let signal = self.gains.link(ue, cell).received;
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let (on_air, floor) = self.place_of(cell, place, ue);
        let mut sum = 0.0;
        for group in 0..self.rbgs {
            let sinr = signal / self.disturbance(floor, ue, cell, on_air, group);
            sum += sinr;
            runs.push((Db::from_linear(sinr), self.prbs_of(Rbgs::one(group))));
        }
        // ns-3 divides by one PRB less than there are (LteUePhy::GenerateMixedCqiReport), an off-by-one.
        let mean = Db::from_linear(sum / f64::from(self.rbgs));
        let beyond = self.prbs.0.saturating_sub(u16::from(self.rbgs) * self.rbg_prbs);
        let flat = runs.iter().all(|(sinr, _)| *sinr == runs[0].0);
        let group_cqi = |sinr: Db| self.amc.cqi(Sinr::Flat(sinr), Prbs(self.rbg_prbs));
        let report = if flat {
            let wideband = self.amc.cqi(Sinr::Flat(runs[0].0), self.prbs);
            ChannelState::new(wideband, std::iter::repeat_n(group_cqi(runs[0].0), self.rbgs.into()))
        } else {
            if beyond > 0 {
                runs.push((mean, Prbs(beyond)));
            }
            let wideband = self.amc.cqi(Sinr::Groups(&runs), self.prbs);
            ChannelState::new(wideband, runs[..self.rbgs.into()].iter().map(|(sinr, _)| group_cqi(*sinr)))
        };
        self.runs = runs;
        (report, mean)
    }

    /// The transmit power per PRB in mW of a UE on `prbs` after these TPC commands.
    pub fn uplink_power(&self, ue: usize, prbs: Prbs, control: &power_control::Params, commanded: Db) -> f64 {
        let total = control.total_power(prbs, self.serving[ue].1, commanded);
        (total - Db::from_linear(f64::from(prbs.0))).milliwatts()
    }

    /// The path loss of a UE's downlink with antenna gains, as the UE estimates it.
    pub fn loss(&self, ue: usize) -> Db {
        self.serving[ue].1
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

    /// The SINR per PRB of a UE on `prbs` at its cell without interference.
    pub fn uplink_snr(&self, ue: usize, prbs: Prbs, control: &power_control::Params, commanded: Db) -> Db {
        let cell = self.serving[ue].0;
        let received = self.uplink_power(ue, prbs, control, commanded) * self.gains.link(ue, cell).uplink;
        Db::from_linear(received / self.gains.cell_noise(cell))
    }

    /// The SINR of a UE's downlink without interference, and its CQI.
    pub fn downlink_snr(&self, ue: usize) -> (Db, Cqi) {
        let signal = self.gains.link(ue, self.serving[ue].0).received;
        let sinr = Db::from_linear(signal / self.gains.ue_noise(ue));
        (sinr, self.amc.cqi(Sinr::Flat(sinr), self.prbs))
    }

    /// Starts the uplink of the TTI on air: no UE sends yet.
    pub fn begin_uplink(&mut self) {
        self.interference.iter_mut().for_each(Vec::clear);
        self.uplink_floor = 0.0;
    }

    /// Adds a transmission of a UE to a cell.
    pub fn send_uplink(&mut self, cell: usize, signal: UplinkSignal) {
        let ue = signal.ue as usize;
        for link in self.gains.links(ue).iter().filter(|link| link.cell as usize != cell) {
            let received = signal.power * link.uplink;
            self.interference[link.cell as usize].push(Interference { signal, received });
        }
        let share = f64::from(signal.prbs) / f64::from(self.prbs.0) / self.reports.len() as f64;
        self.uplink_floor += signal.power * share * self.gains.far_uplink(ue);
    }

    /// Receives a block at a cell while other UEs send to other cells. Adds to the block's soft bits and returns the
    /// probability that it is not decoded.
    pub fn receive_uplink(&mut self, cell: usize, signal: &UplinkSignal, block: &mut Block) -> f64 {
        self.measure_uplink(cell, signal);
        self.decoder.decode(&self.runs, block)
    }

    /// The SINR of a UE's sounding signal, which covers the carrier evenly.
    pub fn sounding_sinr(&mut self, cell: usize, signal: &UplinkSignal) -> Db {
        if let Some(Faded { links, .. }) = &mut self.fading {
            let floor = self.gains.cell_noise(cell) + self.uplink_floor;
            //= exception sounding-over-carrier
            return effective(links.uplink(
                &self.gains,
                (cell, floor),
                signal,
                &self.interference[cell],
                self.now,
            ));
        }
        self.measure_uplink(cell, signal);
        self.runs[0].0
    }

    fn measure_uplink(&mut self, cell: usize, signal: &UplinkSignal) {
        let floor = self.gains.cell_noise(cell) + self.uplink_floor;
        let others = &self.interference[cell];
        if let Some(Faded { links, .. }) = &mut self.fading {
            let sinrs = links.uplink(&self.gains, (cell, floor), signal, others, self.now);
            self.runs.clear();
            self.runs.extend(sinrs.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            return;
        }
        let own = signal.power * self.gains.link(signal.ue as usize, cell).uplink;
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

/// The SINR of a flat channel with the mean capacity of these PRBs, whose SINR is linear.
//= exception groups-by-capacity
fn effective(prbs: &[f64]) -> Db {
    // One logarithm of a product replaces four; four factors do not overflow.
    let product = |prbs: &[f64]| prbs.iter().map(|sinr| 1.0 + sinr).product();
    let capacity = prbs.chunks(4).map(|prbs| libm::log2(product(prbs))).sum::<f64>();
    let sinr = libm::exp2(capacity / prbs.len() as f64) - 1.0;
    // Values far below 1 lose precision in 1 + SINR; there capacity is proportional to SINR.
    let is_small = sinr < 1e-9;
    Db::from_linear(if is_small { prbs.iter().sum::<f64>() / prbs.len() as f64 } else { sinr })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::Bearer;
    use crate::phy::tables::cqi_efficiency;
    use crate::phy::{antenna, fading};
    use crate::settings::{CellSite, UeSite};
    use crate::{RadioSettings, mobility};
    use airwnd_kernel::Stream;
    use airwnd_units::{Degrees, Span, Speed};

    const UES: usize = 300;
    const LAST: u64 = 4000;
    /// TTIs between two measurements.
    const APART: u64 = 100;

    /// A hexagonal network of 19 sites, 500 m apart, with 57 cells, and UEs between them.
    fn network(fading: fading::Spec, threshold: f64) -> Radio {
        let height = 500.0 * libm::sqrt(0.75);
        let row = |row: i32| {
            let (sites, y) = (5 - row.abs(), f64::from(row) * height);
            (0..sites).map(move |site| [(f64::from(site) - f64::from(sites - 1) / 2.0) * 500.0, y])
        };
        let sites: Vec<[f64; 2]> = (-2..=2).flat_map(row).collect();
        let sector = |(site, [x, y]): (u32, &[f64; 2])| {
            [30.0, 150.0, 270.0].map(|boresight| CellSite {
                site,
                position: Position::new(*x, *y, 30.0),
                boresight: Degrees(boresight),
                antenna: antenna::Spec::Parabolic(Default::default()),
                power: Dbm(46.0),
                noise_figure: Db(5.0),
            })
        };
        let mut places = Stream::new(7, "places");
        let mut between = || (places.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * 2000.0 - 1000.0;
        let ue = |_| UeSite {
            position: Position::new(between(), between(), 1.5),
            mobility: mobility::Spec::Static(Default::default()),
            way: Stream::new(1, "mobility"),
            noise_figure: Db(9.0),
            cell: None,
            srs_offset: None,
            bearer: Bearer::default(),
        };
        let setup = RanSetup {
            carrier: Default::default(),
            radio: RadioSettings { fading, neighbour_threshold: Some(threshold), ..Default::default() },
            mac: Default::default(),
            rlc: Default::default(),
            handover: Default::default(),
            x2_delay: Span::ZERO,
            cells: (0..).zip(&sites).flat_map(sector).collect(),
            ues: (0..UES).map(ue).collect(),
            seed: 1,
        };
        let mut radio = Radio::new(&setup, &Arc::new(setup.access().unwrap()), 8);
        (0..setup.cells.len()).for_each(|cell| radio.reserve(cell, UES));
        (0..UES).for_each(|ue| radio.serve(ue, radio.strongest(ue)));
        radio
    }

    /// The mean efficiency in bit/s/Hz of the CQIs of each UE's reports, while each cell sends on each RBG with this
    /// probability.
    fn efficiencies(radio: &mut Radio, load: f64) -> Vec<f64> {
        let sending = Stream::new(3, "sending");
        let mut found = Vec::new();
        for tti in 0..=LAST {
            radio.begin(Tti(tti));
            let sends = |cell: usize, rbg: u8| {
                sending.child(cell as u64).child(rbg.into()).at(tti) < load || rbg == 0
            };
            let rbgs = radio.rbgs();
            let sent = |cell| {
                let rbgs = (0..rbgs).filter(|rbg| sends(cell, *rbg));
                rbgs.map(Rbgs::one).fold(Rbgs::default(), Rbgs::union)
            };
            let cells = radio.reports.len();
            radio.transmit((0..cells).map(sent));
            if tti >= LAST / 4 && tti.is_multiple_of(APART) {
                for ue in 0..UES {
                    let cell = radio.serving[ue].0;
                    let place = radio.pattern(cell, Tti(tti + 1));
                    let report = radio.report(cell, place, ue as u16, ue, Tti(tti + 1));
                    let state = &radio.reports(cell)[report.index as usize];
                    let cqis = (0..rbgs).map(|rbg| cqi_efficiency(state.subband[usize::from(rbg)]));
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

    #[test]
    fn neighbours_give_the_sinr_of_all_cells() {
        for load in [0.03, 0.1, 0.3, 0.6] {
            let (mut exact, mut near) = (network(flat(), 0.0), network(flat(), 0.0002));
            efficiencies(&mut exact, load);
            efficiencies(&mut near, load);
            let on_air = exact.on_air.at(exact.on_air.row(Tti(LAST)));
            let sinr = |radio: &Radio, ue: usize, rbg: u8| {
                let (cell, floor) = (radio.serving[ue].0, radio.floor(ue, radio.on_air.activity()));
                let sinr =
                    radio.gains.link(ue, cell).received / radio.disturbance(floor, ue, cell, on_air, rbg);
                // No MCS needs more than 23 dB.
                Db::from_linear(sinr.min(200.0)).0
            };
            let served = (0..UES).flat_map(|ue| {
                let sent = on_air[exact.serving[ue].0];
                (0..exact.rbgs).filter(move |rbg| sent.contains(*rbg)).map(move |rbg| (ue, rbg))
            });
            let errors = served.map(|(ue, rbg)| (sinr(&near, ue, rbg) - sinr(&exact, ue, rbg)).abs());
            let errors: Vec<f64> = errors.collect();
            let within = errors.iter().filter(|error| **error < 0.1).count();
            let within = within as f64 / errors.len() as f64;
            println!("load {load}: {:.2} % of {} SINRs within 0.1 dB", 100.0 * within, errors.len());
            assert!(within >= 0.99, "load {load}: {within}");
        }
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
        let mut radio = network(flat(), 0.0002);
        let counts: Vec<usize> = (0..UES).map(|ue| radio.gains.links(ue).len()).collect();
        let mean = counts.iter().sum::<usize>() as f64 / UES as f64;
        assert!(mean < 35.0, "{mean}");
        let far = (0..57).find(|cell| radio.gains.links(0).iter().all(|link| link.cell != *cell)).unwrap();
        let received = radio.gains.link(0, far as usize).received;
        radio.serve(0, far as usize);
        let now = radio.gains.links(0).iter().find(|link| link.cell == far).unwrap();
        assert_eq!(now.received, received);
    }

    #[test]
    fn the_powers_of_all_cells_add_up_wherever_a_ue_goes() {
        let (mut near, mut exact) = (network(flat(), 0.0002), network(flat(), 0.0));
        let total = |radio: &Radio| {
            let links = radio.gains.links(0).iter();
            links.map(|link| link.received).sum::<f64>() + radio.gains.far(0)
        };
        for step in 0..200 {
            let here = Position::new(f64::from(step) * 10.0 - 1000.0, 130.0, 1.5);
            near.place(Time(0), 0, here);
            exact.place(Time(0), 0, here);
            let error = Db::from_linear(total(&near) / total(&exact)).0;
            assert!(error.abs() < 0.2, "{step}: {error} dB");
            let best = exact.strongest(0);
            let strongest = |radio: &Radio| radio.gains.link(0, best).received;
            let error = Db::from_linear(strongest(&near) / strongest(&exact)).0;
            assert!(error.abs() < 0.1, "{step}: {error} dB");
        }
    }
}
