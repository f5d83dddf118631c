//! Who hears whom how well.
//!
//! Without fading and mobility all gains are constants. What changes from TTI to TTI is who transmits where;
//! channel reports are remembered by that pattern, so that a saturated cell computes each of them once.

use crate::mac::Block;
use crate::mac::power_control;
use crate::mac::sched::{ChannelState, MAX_RBGS, Rbgs};
use crate::phy::amc::Amc;
use crate::phy::antenna::Bearing;
use crate::phy::error_model::mutual_information::{self, MutualInformation};
use crate::phy::error_model::{self, ErrorModel, SoftBits, Transmission};
use crate::phy::link_budget::{noise_per_prb, power_per_prb};
use crate::phy::propagation::LinkGeometry;
use crate::phy::shadowing::{self, Shadowing};
use crate::phy::tables::rbg_size;
use crate::phy::{Cqi, Mcs, Prbs, Sinr, antenna};
use crate::settings::Setup;
use airwnd_engine::Stream;
use airwnd_units::{Bytes, Db, Dbm, Hertz};

/// Patterns remembered per cell.
const REMEMBERED: usize = 256;

/// The radio channel between all cells and all terminals.
pub(crate) struct Radio {
    prbs: Prbs,
    rbg_prbs: u16,
    rbgs: u8,
    cells: usize,
    amc: Box<dyn Amc>,
    errors: Box<dyn ErrorModel>,
    /// Received power per PRB in mW, `[ue * cells + cell]`.
    heard: Vec<f64>,
    /// Factor from a terminal's transmit power to a cell's received power, `[ue * cells + cell]`.
    uplink_gain: Vec<f64>,
    /// Downlink loss with antenna gains to the serving cell, as the terminal estimates it.
    loss: Vec<Db>,
    /// Noise per PRB in mW.
    ue_noise: Vec<f64>,
    cell_noise: Vec<f64>,
    memory: Vec<Memory>,
    decoded: Vec<Decoded>,
    /// Scratch: SINR of each run of PRBs.
    runs: Vec<(Db, Prbs)>,
}

/// Channel reports of one cell's users by what the other cells sent: a direct-mapped cache.
struct Memory {
    /// What the other cells sent, `[place * cells + cell]`, own entry empty.
    patterns: Vec<Rbgs>,
    /// `[place * users + slot]`; what is not known has no SINR.
    reports: Vec<ChannelState>,
    sinrs: Vec<Option<Db>>,
    users: usize,
}

/// What became of a first transmission over a flat channel.
#[derive(Clone, Copy, Default)]
struct Decoded {
    sinr: Db,
    size: Bytes,
    mcs: Mcs,
    soft: SoftBits,
    error: f64,
}

/// A transmission of a terminal: PRBs and power on each in mW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UplinkSignal {
    pub ue: u32,
    pub first: u16,
    pub prbs: u16,
    pub power: f64,
}

impl Radio {
    pub fn new(setup: &Setup) -> Radio {
        let prbs = setup.carrier.bandwidth.prbs();
        let rbg_prbs = rbg_size(prbs).0;
        // Link adaptation sees the channel as the receiver does, also where that never errs.
        let (receiver, errors): (_, Box<dyn ErrorModel>) = match &setup.radio.error_model {
            error_model::Spec::MutualInformation(params) => {
                let receiver = MutualInformation::new(params.clone());
                (receiver.clone(), Box::new(receiver))
            }
            other => (MutualInformation::new(mutual_information::Params::default()), other.build()),
        };
        let mut radio = Radio {
            prbs,
            rbg_prbs,
            //= exception whole-groups-only
            rbgs: (prbs.0 / rbg_prbs) as u8,
            cells: setup.cells.len(),
            amc: setup.radio.amc.build(&receiver),
            errors,
            heard: Vec::new(),
            uplink_gain: Vec::new(),
            loss: Vec::new(),
            ue_noise: Vec::new(),
            cell_noise: Vec::new(),
            memory: Vec::new(),
            decoded: vec![Decoded::default(); 4 * REMEMBERED],
            runs: Vec::with_capacity(MAX_RBGS + 1),
        };
        radio.compute_gains(setup);
        radio
    }

    //= exception no-mobility
    //= exception no-fading
    fn compute_gains(&mut self, setup: &Setup) {
        let propagation = setup.radio.propagation.build();
        let antennas: Vec<Box<dyn antenna::Antenna>> =
            setup.cells.iter().map(|cell| cell.antenna.build()).collect();
        let shadowing = Shadowing::new(
            setup.radio.shadowing.clone().unwrap_or(shadowing::Params { sigma: Db(0.0) }),
            Stream::new(setup.seed, "shadowing"),
        );
        self.cell_noise =
            setup.cells.iter().map(|cell| noise_per_prb(cell.noise_figure).milliwatts()).collect();
        for (ue, terminal) in (0..).zip(&setup.ues) {
            self.ue_noise.push(noise_per_prb(terminal.noise_figure).milliwatts());
            for (cell, antenna) in setup.cells.iter().zip(&antennas) {
                let gain = antenna.gain(Bearing::towards(terminal.position, cell.position, cell.boresight))
                    - shadowing.loss(ue, cell.site);
                let loss = |frequency: Hertz| {
                    let link = LinkGeometry { a: cell.position, b: terminal.position, frequency };
                    propagation.path_loss(&link) - gain
                };
                let heard = power_per_prb(cell.power, self.prbs) - loss(setup.carrier.downlink_frequency);
                self.heard.push(heard.milliwatts());
                self.uplink_gain.push((-loss(setup.carrier.uplink_frequency)).linear());
            }
        }
    }

    /// The cell that a terminal hears best, the first of equals.
    pub fn strongest(&self, ue: usize) -> usize {
        let heard = &self.heard[ue * self.cells..][..self.cells];
        (1..self.cells).fold(0, |best, cell| if heard[cell] > heard[best] { cell } else { best })
    }

    /// Fixes who serves whom. `serving` by terminal, `users` the number of users by cell.
    pub fn attach(&mut self, setup: &Setup, serving: &[usize], users: &[usize]) {
        self.loss = (0..serving.len())
            .map(|ue| {
                let power = power_per_prb(setup.cells[serving[ue]].power, self.prbs);
                power - Dbm::from_milliwatts(self.heard[ue * self.cells + serving[ue]])
            })
            .collect();
        self.memory = users
            .iter()
            .map(|users| Memory {
                patterns: vec![Rbgs::default(); REMEMBERED * self.cells],
                reports: vec![ChannelState::new(Cqi::OUT_OF_RANGE, []); REMEMBERED * users],
                sinrs: vec![None; REMEMBERED * users],
                users: *users,
            })
            .collect();
    }

    /// Groups that can be scheduled.
    pub fn rbgs(&self) -> u8 {
        self.rbgs
    }
    /// The PRBs of a set of groups.
    pub fn prbs_of(&self, rbgs: Rbgs) -> Prbs {
        Prbs(rbgs.count() as u16 * self.rbg_prbs)
    }
    /// PRBs of a whole group.
    pub fn rbg_prbs(&self) -> Prbs {
        Prbs(self.rbg_prbs)
    }
    /// PRBs of the carrier.
    pub fn prbs(&self) -> Prbs {
        self.prbs
    }
    /// The received power of one reference-signal element.
    pub fn rsrp(&self, ue: usize, cell: usize) -> Dbm {
        crate::phy::link_budget::rsrp(Dbm::from_milliwatts(self.heard[ue * self.cells + cell]))
    }

    fn disturbance(&self, ue: usize, serving: usize, on_air: &[Rbgs], group: u8) -> f64 {
        let heard = &self.heard[ue * self.cells..][..self.cells];
        let others = heard.iter().zip(on_air).enumerate();
        let interference = others
            .filter(|(cell, (_, sent))| *cell != serving && sent.contains(group))
            .map(|(_, (power, _))| *power);
        self.ue_noise[ue] + interference.sum::<f64>()
    }

    /// A terminal receives a block on `rbgs` while the cells send on `on_air`: its soft buffer grows, and the
    /// probability that it cannot be decoded is returned.
    pub fn receive_downlink(
        &mut self,
        ue: u32,
        serving: usize,
        rbgs: Rbgs,
        on_air: &[Rbgs],
        block: &mut Block,
    ) -> f64 {
        self.measure_block(ue as usize, serving, rbgs, on_air);
        self.decode(block)
    }

    /// The soft buffer after a transmission over `runs`, and the probability that it does not suffice. The
    /// outcomes of first transmissions over a flat channel are remembered.
    fn decode(&mut self, block: &mut Block) -> f64 {
        let sinr = match self.runs[..] {
            [(sinr, _)] => Sinr::Flat(sinr),
            _ => Sinr::Groups(&self.runs),
        };
        let place = match sinr {
            Sinr::Flat(sinr) if block.transmissions == 1 => {
                let mixed = sinr.0.to_bits() ^ block.size.0.rotate_left(32) ^ u64::from(block.mcs.0);
                let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.decoded.len();
                let known = &self.decoded[place];
                if known.sinr == sinr && known.size == block.size && known.mcs == block.mcs {
                    block.soft = known.soft;
                    return known.error;
                }
                Some((place, sinr))
            }
            _ => None,
        };
        let transmission = Transmission { mcs: block.mcs, block: block.size, sinr };
        block.soft = self.errors.receive(block.soft, &transmission);
        let error = self.errors.block_error(block.size, block.soft);
        if let Some((place, sinr)) = place {
            self.decoded[place] = Decoded { sinr, size: block.size, mcs: block.mcs, soft: block.soft, error };
        }
        error
    }

    fn measure_block(&mut self, ue: usize, serving: usize, rbgs: Rbgs, on_air: &[Rbgs]) {
        let signal = self.heard[ue * self.cells + serving];
        self.runs.clear();
        let mut rest = rbgs;
        // All groups on which the same cells interfere share one SINR.
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

    /// The SINR of control channels, which every cell sends at full power in every TTI.
    //= exception control-at-full-load
    pub fn control_sinr(&self, ue: usize, serving: usize) -> Db {
        let heard = &self.heard[ue * self.cells..][..self.cells];
        let signal = heard[serving];
        let others: f64 = heard.iter().sum::<f64>() - signal;
        Db::from_linear(signal / (self.ue_noise[ue] + others.max(0.0)))
    }

    /// What a cell's users report after a TTI in which the cells sent on `on_air`: where reports of that
    /// pattern are kept.
    ///
    /// The signal is that of the reference symbols, the interference that of the other cells' data. A
    /// terminal measures interference only while its own cell sends data; otherwise it reports noise alone, as
    /// in ns-3 LENA.
    pub fn pattern(&mut self, cell: usize, on_air: &[Rbgs]) -> usize {
        //= exception cqi-needs-own-data
        let quiet = on_air[cell].is_empty();
        let other = |index: usize| {
            if quiet || index == cell { Rbgs::default() } else { on_air[index] }
        };
        let hash = (0..self.cells)
            .fold(0u32, |hash, index| (hash ^ other(index).0).wrapping_mul(0x9e37_79b1).rotate_left(13));
        let place = hash as usize % REMEMBERED;
        let memory = &mut self.memory[cell];
        let pattern = &mut memory.patterns[place * self.cells..][..self.cells];
        if pattern.iter().enumerate().any(|(index, sent)| *sent != other(index)) {
            for (index, sent) in pattern.iter_mut().enumerate() {
                *sent = other(index);
            }
            memory.sinrs[place * memory.users..][..memory.users].fill(None);
        }
        place
    }

    /// Where the report of the user in `slot` lies for a pattern; it is measured if nobody asked before.
    pub fn report(&mut self, cell: usize, place: usize, slot: u16, ue: usize) -> u32 {
        let at = place * self.memory[cell].users + slot as usize;
        if self.memory[cell].sinrs[at].is_none() {
            let (report, sinr) = self.measure(ue, cell, place);
            self.memory[cell].reports[at] = report;
            self.memory[cell].sinrs[at] = Some(sinr);
        }
        at as u32
    }

    /// A cell's reports, by the places that [`Radio::report`] gives.
    pub fn reports(&self, cell: usize) -> &[ChannelState] {
        &self.memory[cell].reports
    }

    /// The mean SINR over the PRBs behind a report.
    pub fn reported_sinr(&self, cell: usize, report: u32) -> Db {
        self.memory[cell].sinrs[report as usize].expect("the report has been measured")
    }

    /// PRBs beyond the last whole group are never scheduled; their SINR is taken as the mean of the others.
    fn measure(&mut self, ue: usize, cell: usize, place: usize) -> (ChannelState, Db) {
        let signal = self.heard[ue * self.cells + cell];
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let on_air = &self.memory[cell].patterns[place * self.cells..][..self.cells];
        let mut sum = 0.0;
        for group in 0..self.rbgs {
            let sinr = signal / self.disturbance(ue, cell, on_air, group);
            sum += sinr;
            runs.push((Db::from_linear(sinr), Prbs(self.rbg_prbs)));
        }
        //= exception cqi-last-prbs
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

    /// The power per PRB in mW at which a terminal sends on `prbs`.
    pub fn uplink_power(&self, ue: usize, prbs: Prbs, control: &power_control::Params) -> f64 {
        (control.total_power(prbs, self.loss[ue]) - Db::from_linear(f64::from(prbs.0))).milliwatts()
    }

    /// A cell receives a block from a terminal while others send to the other cells: the soft buffer grows,
    /// and the probability that it cannot be decoded is returned.
    pub fn receive_uplink<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
        block: &mut Block,
    ) -> f64 {
        self.measure_uplink(cell, signal, others);
        self.decode(block)
    }

    /// The SINR of a terminal's sounding signal, which covers the carrier evenly.
    pub fn sounding_sinr<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
    ) -> Db {
        self.measure_uplink(cell, signal, others);
        self.runs[0].0
    }

    fn measure_uplink<'a>(
        &mut self,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
    ) {
        let cells = self.cells;
        let received =
            |signal: &UplinkSignal| signal.power * self.uplink_gain[signal.ue as usize * cells + cell];
        let own = received(signal);
        let end = signal.first + signal.prbs;
        self.runs.clear();
        let mut at = signal.first;
        while at < end {
            let mut until = end;
            let mut disturbance = self.cell_noise[cell];
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
