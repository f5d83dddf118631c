//! The fading of all links, TTI by TTI.

use super::UplinkSignal;
use super::gains::Gains;
use crate::mac::sched::Rbgs;
use crate::phy::fading::delay_line::{DelayLine, Sinusoid, Wavelengths};
use crate::phy::fading::{LEAST_SPEED, Pace};
use crate::phy::propagation::wavelength;
use crate::phy::{Position, Prbs};
use crate::settings::Setup;
use airwnd_engine::Stream;
use airwnd_units::{Hertz, Metres, Tti};

/// Links of a direction whose newest gains are remembered: control channels, block and report ask for the same.
const REMEMBERED: usize = 64;
/// The part of what disturbs a receiver below which a signal's fading is left out.
const WEAK: f64 = 0.01;

/// Small-scale fading between all cells and all terminals.
///
/// A gain follows from the seed, the link and the place of the terminal, whoever asks for it and when.
pub(crate) struct LinkFading {
    line: DelayLine,
    rbg_prbs: usize,
    interference: bool,
    downlink: Way,
    uplink: Way,
    /// By terminal.
    motions: Vec<Motion>,
    /// Whether fading goes with the terminals and not at a speed that the scenario sets.
    own_pace: bool,
    /// The downlink's carrier, which wavelengths are those of.
    frequency: Hertz,
    // Scratch, by PRB: SINR, linear, and the power that disturbs, in mW.
    sinrs: Vec<f64>,
    disturbance: Vec<f64>,
}

/// Where a terminal is, and how far it goes in a TTI.
#[derive(Clone, Copy)]
struct Motion {
    place: Wavelengths,
    since: Tti,
    step: Wavelengths,
}

impl Motion {
    fn at(&self, tti: Tti) -> Wavelengths {
        let ttis = tti.0 as f64 - self.since.0 as f64;
        Wavelengths {
            east: self.place.east + ttis * self.step.east,
            north: self.place.north + ttis * self.step.north,
        }
    }
}

impl LinkFading {
    /// The fading that a setup asks for, if any.
    pub fn of(setup: &Setup, prbs: Prbs, rbg_prbs: u16) -> Option<LinkFading> {
        let fading = setup.radio.fading.build();
        if fading.taps().is_empty() {
            return None;
        }
        let carrier = &setup.carrier;
        let per_tti = |metres: Metres| metres.0 / wavelength(carrier.downlink_frequency).0;
        let step = match fading.pace() {
            Pace::Speed(speed) => per_tti(speed * Tti::SPAN),
            Pace::Doppler(shift) => shift.0 * Tti::SPAN.as_secs(),
            Pace::Own => per_tti(LEAST_SPEED * Tti::SPAN),
        };
        let motion = |position: Position| Motion {
            place: in_wavelengths(position, carrier.downlink_frequency),
            since: Tti(0),
            step: Wavelengths::east(step),
        };
        let line = DelayLine::new(fading.taps(), prbs);
        let way = |name, frequency: Hertz| {
            let links = setup.ues.len() * setup.cells.len();
            Way {
                stream: Stream::new(setup.seed, name),
                scale: frequency.0 / carrier.downlink_frequency.0,
                cells: setup.cells.len(),
                sinusoids: vec![Sinusoid::default(); links * line.sinusoids()],
                drawn: vec![false; links],
                known: vec![None; REMEMBERED],
                gains: vec![0.0; REMEMBERED * usize::from(prbs.0)],
            }
        };
        Some(LinkFading {
            rbg_prbs: rbg_prbs.into(),
            interference: fading.fades_interference(),
            //= exception duplex-fades-apart
            downlink: way("downlink fading", carrier.downlink_frequency),
            uplink: way("uplink fading", carrier.uplink_frequency),
            motions: setup.ues.iter().map(|ue| motion(ue.position)).collect(),
            own_pace: fading.pace() == Pace::Own,
            frequency: carrier.downlink_frequency,
            sinrs: vec![0.0; prbs.0.into()],
            disturbance: vec![0.0; prbs.0.into()],
            line,
        })
    }

    /// A terminal is here in this TTI, and goes on as it has come.
    pub fn place(&mut self, ue: usize, position: Position, tti: Tti) {
        let motion = &mut self.motions[ue];
        if !self.own_pace || tti <= motion.since {
            return;
        }
        let (from, to) = (motion.place, in_wavelengths(position, self.frequency));
        let ttis = (tti - motion.since) as f64;
        let step = Wavelengths { east: (to.east - from.east) / ttis, north: (to.north - from.north) / ttis };
        *motion = Motion { place: to, since: tti, step };
    }

    /// The linear SINR at which a terminal hears its cell on each PRB in a TTI, while the other cells send on these
    /// groups.
    pub fn downlink(
        &mut self,
        gains: &Gains,
        (ue, serving): (usize, usize),
        sent: impl Fn(usize) -> Rbgs,
        tti: Tti,
    ) -> &[f64] {
        let heard = gains.heard(ue);
        let others = || (0..heard.len()).filter(|cell| *cell != serving && !sent(*cell).is_empty());
        let total = gains.ue_noise(ue) + others().map(|cell| heard[cell]).sum::<f64>();
        let place = self.motions[ue].at(tti);
        self.disturbance.fill(gains.ue_noise(ue));
        for cell in others() {
            let sent = sent(cell);
            //= exception weak-interference-is-steady
            if self.interference && heard[cell] >= WEAK * total {
                let faded = self.downlink.gains(&mut self.line, (ue, cell), place, tti);
                for (prb, disturbance) in self.disturbance.iter_mut().enumerate() {
                    if sent.contains((prb / self.rbg_prbs) as u8) {
                        *disturbance += heard[cell] * f64::from(faded[prb]);
                    }
                }
            } else {
                for (prb, disturbance) in self.disturbance.iter_mut().enumerate() {
                    if sent.contains((prb / self.rbg_prbs) as u8) {
                        *disturbance += heard[cell];
                    }
                }
            }
        }
        let own = self.downlink.gains(&mut self.line, (ue, serving), place, tti);
        for (prb, sinr) in self.sinrs.iter_mut().enumerate() {
            *sinr = heard[serving] * f64::from(own[prb]) / self.disturbance[prb];
        }
        &self.sinrs
    }

    /// The linear SINR at which a cell hears a terminal on each of the PRBs that it sends on, while others send to
    /// other cells.
    pub fn uplink<'a>(
        &mut self,
        gains: &Gains,
        cell: usize,
        signal: &UplinkSignal,
        others: impl Iterator<Item = &'a UplinkSignal> + Clone,
        tti: Tti,
    ) -> &[f64] {
        let received = |signal: &UplinkSignal| signal.power * gains.uplink(signal.ue as usize, cell);
        let range =
            |signal: &UplinkSignal| usize::from(signal.first)..usize::from(signal.first + signal.prbs);
        let total = gains.cell_noise(cell) + others.clone().map(received).sum::<f64>();
        self.disturbance.fill(gains.cell_noise(cell));
        for other in others {
            let power = received(other);
            if self.interference && power >= WEAK * total {
                let ue = other.ue as usize;
                let place = self.motions[ue].at(tti);
                let faded = self.uplink.gains(&mut self.line, (ue, cell), place, tti);
                for prb in range(other) {
                    self.disturbance[prb] += power * f64::from(faded[prb]);
                }
            } else {
                for prb in range(other) {
                    self.disturbance[prb] += power;
                }
            }
        }
        let ue = signal.ue as usize;
        let own = self.uplink.gains(&mut self.line, (ue, cell), self.motions[ue].at(tti), tti);
        for prb in range(signal) {
            self.sinrs[prb] = received(signal) * f64::from(own[prb]) / self.disturbance[prb];
        }
        &self.sinrs[range(signal)]
    }
}

/// One direction of all links.
struct Way {
    stream: Stream,
    /// Wavelengths of this direction's carrier in one of the downlink's.
    scale: f64,
    cells: usize,
    /// By link, `ue * cells + cell`; a link's are drawn when it first matters.
    sinusoids: Vec<Sinusoid>,
    drawn: Vec<bool>,
    /// Which link's gains of which TTI lie in each row of `gains`.
    known: Vec<Option<(usize, Tti)>>,
    /// `[row * prbs + prb]`
    gains: Vec<f32>,
}

impl Way {
    /// The gain of each PRB of a link whose terminal is at `place` in this TTI.
    fn gains(
        &mut self,
        line: &mut DelayLine,
        (ue, cell): (usize, usize),
        place: Wavelengths,
        tti: Tti,
    ) -> &[f32] {
        let link = ue * self.cells + cell;
        let prbs = self.gains.len() / REMEMBERED;
        let row = link % REMEMBERED;
        let gains = &mut self.gains[row * prbs..][..prbs];
        if self.known[row] != Some((link, tti)) {
            self.known[row] = Some((link, tti));
            let sinusoids = &mut self.sinusoids[link * line.sinusoids()..][..line.sinusoids()];
            if !std::mem::replace(&mut self.drawn[link], true) {
                line.draw(self.stream.child(ue as u64).child(cell as u64), sinusoids);
            }
            let place = Wavelengths { east: place.east * self.scale, north: place.north * self.scale };
            line.gains(sinusoids, place, gains);
        }
        gains
    }
}

fn in_wavelengths(position: Position, frequency: Hertz) -> Wavelengths {
    let wavelength = wavelength(frequency).0;
    Wavelengths { east: position.x.0 / wavelength, north: position.y.0 / wavelength }
}
