//! Radio channel between cells and UEs.
//!
//! Gains change when UEs move ([`Radio::place`]); from TTI to TTI only the pattern of transmissions changes. Channel
//! reports are cached by that pattern and the state of the UE's channel, so that a saturated cell computes each of them
//! once.

mod decoder;
mod fading;
mod gains;
mod map;
mod reports;

use crate::mac::Block;
use crate::mac::power_control;
use crate::mac::sched::{ChannelState, Rbgs};
use crate::phy::amc::Amc;
use crate::phy::amc::steps::Steps;
use crate::phy::error_model::{self, ErrorModel};
use crate::phy::tables::rbg_size;
use crate::phy::{Cqi, Position, Prbs, Sinr};
use crate::settings::RanSetup;
use airwnd_units::{Db, Dbm, Time, Tti};
use decoder::Decoder;
use fading::LinkFading;
use gains::Gains;
pub use map::{Listener, RadioMap};
pub(crate) use reports::Report;
use reports::Reports;
use std::sync::Arc;

/// The radio channel between all cells and all UEs.
pub(crate) struct Radio {
    prbs: Prbs,
    rbg_prbs: u16,
    rbgs: u8,
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

impl Radio {
    pub fn new(setup: &RanSetup) -> Radio {
        let prbs = setup.carrier.bandwidth.prbs();
        let rbg_prbs = rbg_size(prbs).0;
        let errors: Arc<dyn ErrorModel> = setup.radio.error_model.build().into();
        // Link adaptation assumes the receiver's error model; with an error-free one, mutual information.
        let receiver = match &setup.radio.error_model {
            error_model::Spec::NoErrors(_) => {
                error_model::Spec::MutualInformation(Default::default()).build().into()
            }
            _ => errors.clone(),
        };
        let gains = Gains::new(setup, prbs);
        let amc = setup.radio.amc.build(&receiver);
        let fading = LinkFading::of(setup, prbs, rbg_prbs)
            .map(|links| Faded { links, steps: Steps::new(&*amc, Prbs(rbg_prbs)) });
        let strongest = |ue| (strongest(gains.received(ue)), Db(0.0));
        Radio {
            prbs,
            rbg_prbs,
            //= exception whole-groups-only
            rbgs: (prbs.0 / rbg_prbs) as u8,
            amc,
            decoder: Decoder::new(errors),
            serving: (0..setup.ues.len()).map(strongest).collect(),
            reports: setup.cells.iter().map(|_| Reports::new(setup.cells.len(), 0)).collect(),
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

    /// The strongest cell at a UE; the first of several equal ones.
    pub fn strongest(&self, ue: usize) -> usize {
        strongest(self.gains.received(ue))
    }

    /// Reserves space for this many UEs of a cell.
    pub fn reserve(&mut self, cell: usize, slots: usize) {
        self.reports[cell].reserve(slots);
    }

    /// Sets the serving cell of a UE.
    pub fn serve(&mut self, ue: usize, cell: usize) {
        self.serving[ue] = (cell, self.gains.loss(ue, cell));
    }

    /// Moves a UE.
    pub fn place(&mut self, now: Time, ue: usize, position: Position) {
        self.gains.place(ue, position);
        if let Some(faded) = &mut self.fading {
            faded.links.place(now, ue, position);
        }
        self.serve(ue, self.serving[ue].0);
    }

    /// Number of RBGs that can be scheduled.
    pub fn rbgs(&self) -> u8 {
        self.rbgs
    }
    /// The PRBs of a set of RBGs.
    pub fn prbs_of(&self, rbgs: Rbgs) -> Prbs {
        Prbs(rbgs.count() as u16 * self.rbg_prbs)
    }
    /// PRBs of a whole RBG.
    pub fn rbg_prbs(&self) -> Prbs {
        Prbs(self.rbg_prbs)
    }
    /// PRBs of the carrier.
    pub fn prbs(&self) -> Prbs {
        self.prbs
    }
    /// The received power of one reference-signal resource element, averaged over fading.
    //= exception rsrp-averages-fading
    pub fn rsrp(&self, ue: usize, cell: usize) -> Dbm {
        crate::phy::link_budget::rsrp(Dbm::from_milliwatts(self.gains.received(ue)[cell]))
    }

    /// The received power per PRB in mW of each cell at a UE, and the noise.
    pub fn received(&self, ue: usize) -> (&[f64], f64) {
        (self.gains.received(ue), self.gains.ue_noise(ue))
    }

    /// The strongest cell at a UE other than this one.
    pub fn strongest_but(&self, ue: usize, serving: usize) -> Option<usize> {
        let received = self.gains.received(ue);
        let others = (0..received.len()).filter(|cell| *cell != serving);
        others.reduce(|best, cell| if received[cell] > received[best] { cell } else { best })
    }

    fn disturbance(&self, ue: usize, serving: usize, on_air: &[Rbgs], group: u8) -> f64 {
        let others = self.gains.received(ue).iter().zip(on_air).enumerate();
        let interference = others
            .filter(|(cell, (_, sent))| *cell != serving && sent.contains(group))
            .map(|(_, (power, _))| *power);
        self.gains.ue_noise(ue) + interference.sum::<f64>()
    }

    /// Receives a block at a UE on `rbgs` while the cells send on `on_air`. Adds to the block's soft bits and returns
    /// the probability that it is not decoded.
    pub fn receive_downlink(
        &mut self,
        ue: u32,
        serving: usize,
        rbgs: Rbgs,
        on_air: &[Rbgs],
        block: &mut Block,
    ) -> f64 {
        self.measure_block(ue as usize, serving, rbgs, on_air);
        self.decoder.decode(&self.runs, block)
    }

    fn measure_block(&mut self, ue: usize, serving: usize, rbgs: Rbgs, on_air: &[Rbgs]) {
        if let Some(Faded { links, .. }) = &mut self.fading {
            let sinrs = links.downlink(&self.gains, (ue, serving), |cell| on_air[cell], self.now);
            let width = usize::from(self.rbg_prbs);
            let used = rbgs.iter().flat_map(|group| &sinrs[usize::from(group) * width..][..width]);
            self.runs.clear();
            self.runs.extend(used.map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            return;
        }
        let signal = self.gains.received(ue)[serving];
        self.runs.clear();
        let mut rest = rbgs;
        // All RBGs with the same interfering cells share one SINR.
        while let Some(first) = rest.iter().next() {
            let mut alike = rest;
            for (_, sent) in on_air.iter().enumerate().filter(|(cell, _)| *cell != serving) {
                let unlike = if sent.contains(first) { Rbgs(!sent.0) } else { *sent };
                alike = alike.without(unlike);
            }
            let sinr = Db::from_linear(signal / self.disturbance(ue, serving, on_air, first));
            self.runs.push((sinr, self.prbs_of(alike)));
            rest = rest.without(alike);
        }
    }

    /// The SINR of control channels over a fading channel in the TTI on air. `None` if channels do not fade.
    pub fn faded_control_sinr(&mut self, ue: usize) -> Option<Db> {
        let Faded { links, .. } = self.fading.as_mut()?;
        let everywhere = |_| Rbgs(u32::MAX);
        Some(effective(links.downlink(&self.gains, (ue, self.serving[ue].0), everywhere, self.now)))
    }

    /// The SINR of control channels, which every cell sends at full power in every TTI.
    //= exception control-at-full-load
    pub fn control_sinr(&self, ue: usize, serving: usize) -> Db {
        let received = self.gains.received(ue);
        let signal = received[serving];
        let others: f64 = received.iter().sum::<f64>() - signal;
        Db::from_linear(signal / (self.gains.ue_noise(ue) + others.max(0.0)))
    }

    /// The cache entry for reports of a cell's UEs after a TTI in which the cells sent on `on_air`.
    ///
    /// The signal is that of the reference symbols, the interference that of the other cells' data. A UE measures
    /// interference only while its own cell sends data; otherwise it reports noise alone, as in ns-3 LENA.
    pub fn pattern(&mut self, cell: usize, on_air: &[Rbgs]) -> usize {
        //= exception cqi-needs-own-data
        let quiet = on_air[cell].is_empty();
        self.reports[cell].place(|index| if quiet || index == cell { Rbgs::default() } else { on_air[index] })
    }

    /// The report of the UE in `slot` for a pattern; it is computed if it is not cached. `measured` is the TTI at whose
    /// start it is, or was, measured.
    #[inline]
    pub fn report(&mut self, cell: usize, place: usize, slot: u16, ue: usize, measured: Tti) -> Report {
        // A fading channel differs in each TTI.
        let version = if self.fading.is_some() { measured.0 } else { self.gains.version(ue) };
        match self.reports[cell].find(place, slot, ue as u32, version) {
            Some(report) => report,
            None => {
                let report = self.measure(ue, cell, place, measured);
                self.reports[cell].keep(place, slot, (ue as u32, version), report)
            }
        }
    }

    /// A cell's reports, by the indices in the results of [`Radio::report`].
    pub fn reports(&self, cell: usize) -> &[ChannelState] {
        self.reports[cell].states()
    }

    /// The mean SINR over the PRBs of a UE's report.
    pub fn mean_sinr(&mut self, cell: usize, place: usize, slot: u16, ue: usize, measured: Tti) -> Db {
        if let Some(Faded { links, .. }) = &mut self.fading {
            let on_air = self.reports[cell].pattern(place);
            let sinrs = links.downlink(&self.gains, (ue, cell), |other| on_air[other], measured);
            let scheduled = &sinrs[..usize::from(self.rbgs) * usize::from(self.rbg_prbs)];
            return Db::from_linear(scheduled.iter().sum::<f64>() / scheduled.len() as f64);
        }
        let report = self.report(cell, place, slot, ue, measured);
        self.reports[cell].sinr(report.index as usize)
    }

    /// A report of a fading channel.
    fn measure_faded(&mut self, ue: usize, cell: usize, place: usize, measured: Tti) -> (ChannelState, Db) {
        let Faded { links, steps } = self.fading.as_mut().expect("called for fading channels only");
        let on_air = self.reports[cell].pattern(place);
        let sinrs = links.downlink(&self.gains, (ue, cell), |other| on_air[other], measured);
        let width = usize::from(self.rbg_prbs);
        let scheduled = &sinrs[..usize::from(self.rbgs) * width];
        let mean = Db::from_linear(scheduled.iter().sum::<f64>() / scheduled.len() as f64);
        self.runs.clear();
        self.runs.extend(scheduled.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
        self.runs.push((mean, Prbs(self.prbs.0 - scheduled.len() as u16)));
        let wideband = self.amc.cqi(Sinr::Groups(&self.runs), self.prbs);
        let groups = scheduled.chunks_exact(width).map(|prbs| steps.cqi(effective(prbs)));
        (ChannelState::new(wideband, groups), mean)
    }

    /// PRBs beyond the last whole RBG are never scheduled; their SINR is taken as the mean of the others.
    fn measure(&mut self, ue: usize, cell: usize, place: usize, measured: Tti) -> (ChannelState, Db) {
        if self.fading.is_some() {
            return self.measure_faded(ue, cell, place, measured);
        }
        let signal = self.gains.received(ue)[cell];
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let on_air = self.reports[cell].pattern(place);
        let mut sum = 0.0;
        for group in 0..self.rbgs {
            let sinr = signal / self.disturbance(ue, cell, on_air, group);
            sum += sinr;
            runs.push((Db::from_linear(sinr), Prbs(self.rbg_prbs)));
        }
        // ns-3 divides by one PRB less than there are (LteUePhy::GenerateMixedCqiReport), an off-by-one.
        let mean = Db::from_linear(sum / f64::from(self.rbgs));
        let beyond = self.prbs.0 - u16::from(self.rbgs) * self.rbg_prbs;
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
        let received = self.uplink_power(ue, prbs, control, commanded) * self.gains.uplink(ue, cell);
        Db::from_linear(received / self.gains.cell_noise(cell))
    }

    /// The SINR of a UE's downlink without interference, and its CQI.
    pub fn downlink_snr(&self, ue: usize) -> (Db, Cqi) {
        let sinr = Db::from_linear(self.gains.received(ue)[self.serving[ue].0] / self.gains.ue_noise(ue));
        (sinr, self.amc.cqi(Sinr::Flat(sinr), self.prbs))
    }

    /// Receives a block at a cell while other UEs send to other cells. Adds to the block's soft bits and returns the
    /// probability that it is not decoded.
    pub fn receive_uplink<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
        block: &mut Block,
    ) -> f64 {
        self.measure_uplink(cell, signal, others);
        self.decoder.decode(&self.runs, block)
    }

    /// The SINR of a UE's sounding signal, which covers the carrier evenly.
    pub fn sounding_sinr<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
    ) -> Db {
        if let Some(Faded { links, .. }) = &mut self.fading {
            //= exception sounding-over-carrier
            return effective(links.uplink(&self.gains, cell, signal, others, self.now));
        }
        self.measure_uplink(cell, signal, others);
        self.runs[0].0
    }

    fn measure_uplink<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
    ) {
        if let Some(Faded { links, .. }) = &mut self.fading {
            let sinrs = links.uplink(&self.gains, cell, signal, others, self.now);
            self.runs.clear();
            self.runs.extend(sinrs.iter().map(|sinr| (Db::from_linear(*sinr), Prbs(1))));
            return;
        }
        let received = |signal: &UplinkSignal| signal.power * self.gains.uplink(signal.ue as usize, cell);
        let own = received(signal);
        let end = signal.first + signal.prbs;
        self.runs.clear();
        let mut at = signal.first;
        while at < end {
            let mut until = end;
            let mut disturbance = self.gains.cell_noise(cell);
            for other in others.clone() {
                let (from, to) = (other.first, other.first + other.prbs);
                if from <= at && at < to {
                    disturbance += received(other);
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

/// The cell with the highest received power; the first of several equal ones.
fn strongest(received: &[f64]) -> usize {
    (1..received.len()).fold(0, |best, cell| if received[cell] > received[best] { cell } else { best })
}
