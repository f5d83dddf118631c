//! The fading of all links, TTI by TTI.

use super::UplinkSignal;
use super::gains::Gains;
use crate::mac::sched::Rbgs;
use crate::phy::fading::delay_line::{DelayLine, Sinusoid, Wavelengths};
use crate::phy::fading::{LEAST_SPEED, Pace};
use crate::phy::propagation::wavelength;
use crate::phy::{Position, Prbs};
use crate::settings::{Setup, UeSite};
use airwnd_engine::Stream;
use airwnd_units::{Hertz, Time, Tti};

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

/// Where a terminal was last, and how it goes on: in wavelengths in a second, which is its Doppler shift.
#[derive(Clone, Copy)]
struct Motion {
    place: Wavelengths,
    since: Time,
    velocity: Wavelengths,
}

impl Motion {
    fn at(&self, tti: Tti) -> Wavelengths {
        let seconds = tti.start().as_secs() - self.since.as_secs();
        Wavelengths {
            east: self.place.east + seconds * self.velocity.east,
            north: self.place.north + seconds * self.velocity.north,
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
        let wavelength = wavelength(carrier.downlink_frequency).0;
        let velocity = |ue: &UeSite| match fading.pace() {
            Pace::Speed(speed) => speed.0 / wavelength,
            Pace::Doppler(shift) => shift.0,
            Pace::Own if ue.mobility.build([ue.position.x, ue.position.y], ue.way).moves() => 0.0,
            Pace::Own => LEAST_SPEED.0 / wavelength,
        };
        let motion = |ue: &UeSite| Motion {
            place: in_wavelengths(ue.position, carrier.downlink_frequency),
            since: Time::ZERO,
            velocity: Wavelengths::east(velocity(ue)),
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
            motions: setup.ues.iter().map(motion).collect(),
            own_pace: fading.pace() == Pace::Own,
            frequency: carrier.downlink_frequency,
            sinrs: vec![0.0; prbs.0.into()],
            disturbance: vec![0.0; prbs.0.into()],
            line,
        })
    }

    /// A terminal is here now, and goes on as it has come.
    //= exception turns-seen-late
    pub fn place(&mut self, now: Time, ue: usize, position: Position) {
        if !self.own_pace {
            return;
        }
        let motion = &mut self.motions[ue];
        let (from, to) = (motion.place, in_wavelengths(position, self.frequency));
        let seconds = now.since(motion.since).as_secs();
        let velocity = if seconds > 0.0 {
            Wavelengths { east: (to.east - from.east) / seconds, north: (to.north - from.north) / seconds }
        } else {
            motion.velocity
        };
        *motion = Motion { place: to, since: now, velocity };
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
