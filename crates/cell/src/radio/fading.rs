//! Fading of all links, TTI by TTI.

use super::gains::{Gains, Link};
use super::on_air::Floor;
use super::uplink::{Interference, UplinkSignal};
use crate::access::Access;
use crate::mac::sched::Rbgs;
use crate::phy::Position;
use crate::phy::fading::delay_line::{DelayLine, Sinusoid, Wavelengths};
use crate::phy::fading::{LEAST_SPEED, Pace};
use crate::phy::propagation::wavelength;
use crate::settings::{RanSetup, UeSite};
use airwnd_kernel::Stream;
use airwnd_units::{Hertz, SlotClock, Time, Tti};

/// Links per direction with cached gains in all cells, and least number in a part of them: control channels, block and
/// report use the same.
const CACHED: usize = 64;
const LEAST_CACHED: usize = 8;
/// Maximum number of links with preallocated sinusoids, 1.7 kB each.
const RESERVED: usize = 1 << 16;
/// Fraction of the noise and interference below which an interferer's fading is neglected.
const WEAK: f64 = 0.01;

/// Place of a UE without links.
const UNUSED: u32 = u32::MAX;

/// Steps of a UE's position per wavelength at which the gains of coarse interferers are computed: errors of at most 0.2
/// radians.
const STEPS: f64 = 16.0;

/// Positions and velocities of all UEs, as far as fading follows them.
pub(super) struct Motions {
    /// By UE.
    motions: Vec<Motion>,
    /// Whether fading follows the motion of the UEs instead of a configured speed.
    own_pace: bool,
    clock: SlotClock,
    /// Carrier frequency of the downlink, to which wavelengths refer.
    frequency: Hertz,
}

/// Small-scale fading between cells and UEs.
///
/// A gain is a function of the seed, the link and the UE's position; it does not depend on the order of queries.
pub(super) struct LinkFading {
    rbg_prbs: usize,
    interference: bool,
    downlink: Links,
    uplink: Links,
    // Scratch, by PRB: linear SINR, and noise plus interference in mW.
    sinrs: Vec<f64>,
    disturbance: Vec<f64>,
}

/// Last position of a UE and its velocity, in wavelengths and wavelengths per second, which is the Doppler shift.
#[derive(Clone, Copy)]
struct Motion {
    place: Wavelengths,
    since: Time,
    velocity: Wavelengths,
}

impl Motion {
    fn at(&self, now: Time) -> Wavelengths {
        let seconds = now.as_secs() - self.since.as_secs();
        Wavelengths {
            east: self.place.east + seconds * self.velocity.east,
            north: self.place.north + seconds * self.velocity.north,
        }
    }
}

/// The motions of some UEs.
pub(super) struct MotionsShare<'a> {
    /// Number of the first UE.
    first: usize,
    motions: &'a mut [Motion],
    own_pace: bool,
    frequency: Hertz,
}

impl MotionsShare<'_> {
    /// Moves a UE and extrapolates its velocity.
    // When a UE changes direction, its fading jumps by at most the distance it covers in a `radio.position_period`.
    pub fn place(&mut self, now: Time, ue: usize, position: Position) {
        if !self.own_pace {
            return;
        }
        let motion = &mut self.motions[ue - self.first];
        let (from, to) = (motion.place, in_wavelengths(position, self.frequency));
        let seconds = now.since(motion.since).as_secs();
        let velocity = if seconds > 0.0 {
            Wavelengths { east: (to.east - from.east) / seconds, north: (to.north - from.north) / seconds }
        } else {
            motion.velocity
        };
        *motion = Motion { place: to, since: now, velocity };
    }
}

impl Motions {
    /// The motions of a setup's UEs; `None`: no fading.
    pub fn of(setup: &RanSetup, access: &Access) -> Option<Motions> {
        let fading = setup.radio.fading.build();
        if fading.taps().is_empty() {
            return None;
        }
        let frequency = setup.carrier.downlink_frequency;
        let wavelength = wavelength(frequency).0;
        let velocity = |ue: &UeSite| match fading.pace() {
            Pace::Speed(speed) => speed.0 / wavelength,
            Pace::Doppler(shift) => shift.0,
            Pace::Own if ue.mobility.build([ue.position.x, ue.position.y], ue.way).moves() => 0.0,
            Pace::Own => LEAST_SPEED.0 / wavelength,
        };
        let motion = |ue: &UeSite| Motion {
            place: in_wavelengths(ue.position, frequency),
            since: Time::ZERO,
            velocity: Wavelengths::east(velocity(ue)),
        };
        Some(Motions {
            motions: setup.ues.iter().map(motion).collect(),
            own_pace: fading.pace() == Pace::Own,
            clock: access.clock,
            frequency,
        })
    }

    /// Divides the motions into shares of this many UEs.
    pub fn shares(&mut self, size: usize) -> impl Iterator<Item = MotionsShare<'_>> {
        let (own_pace, frequency) = (self.own_pace, self.frequency);
        let shares = self.motions.chunks_mut(size.max(1)).enumerate();
        shares.map(move |(index, motions)| MotionsShare { first: index * size, motions, own_pace, frequency })
    }

    fn at(&self, ue: usize, tti: Tti) -> Wavelengths {
        self.motions[ue].at(self.clock.start(tti))
    }
}

impl LinkFading {
    /// The fading of a setup's links, none of which has been used yet, for receivers in one of this many parts of the
    /// cells; `None`: no fading.
    pub fn of(setup: &RanSetup, access: &Access, parts: usize) -> Option<LinkFading> {
        let Access { prbs, rbg_prbs, prb_bandwidth, .. } = *access;
        let fading = setup.radio.fading.build();
        if fading.taps().is_empty() {
            return None;
        }
        let carrier = &setup.carrier;
        let direction = |name, frequency: Hertz, line: DelayLine| {
            let links = setup.ues.len() * setup.cells.len() / parts;
            let cached = (CACHED / parts).max(LEAST_CACHED);
            LinkDirection {
                stream: Stream::new(setup.seed, name),
                scale: frequency.0 / carrier.downlink_frequency.0,
                cells: setup.cells.len(),
                // Unused capacity is never touched.
                sinusoids: Vec::with_capacity(links.min(RESERVED) * line.sinusoids()),
                drawn: Vec::new(),
                places: vec![UNUSED; setup.ues.len()],
                free: Vec::new(),
                known: vec![None; cached],
                gains: vec![0.0; cached * line.points()],
                cached,
                line,
            }
        };
        let coarse = setup.radio.neighbours(setup.cells.len()).is_some();
        let links = |[own, interferers]: [&'static str; 2], frequency| Links {
            own: direction(own, frequency, DelayLine::new(fading.taps(), prbs, prb_bandwidth)),
            interferers: coarse.then(|| {
                let line = DelayLine::coarse(fading.taps(), prbs, prb_bandwidth, rbg_prbs);
                direction(interferers, frequency, line)
            }),
        };
        Some(LinkFading {
            rbg_prbs: rbg_prbs.0.into(),
            interference: fading.fades_interference(),
            // The duplex distance (190 MHz in band 1) is hundreds of times the coherence bandwidth of the profiles.
            downlink: links(
                ["downlink fading", "downlink fading of interferers"],
                carrier.downlink_frequency,
            ),
            uplink: links(["uplink fading", "uplink fading of interferers"], setup.uplink_frequency()),
            sinrs: vec![0.0; prbs.0.into()],
            disturbance: vec![0.0; prbs.0.into()],
        })
    }

    /// Frees the memory of a UE's links to other cells than these.
    pub fn keep(&mut self, ue: usize, links: &[Link]) {
        self.downlink.keep(ue, links);
        self.uplink.keep(ue, links);
    }

    /// Frees the memory of a UE's downlink.
    pub fn leave(&mut self, ue: usize) {
        self.downlink.keep(ue, &[]);
    }

    /// The linear SINR of the last computation on each PRB.
    pub fn sinrs(&self) -> &[f64] {
        &self.sinrs
    }

    /// The linear SINR of a UE's cell on each PRB in a TTI, while the other cells send on these RBGs.
    pub fn downlink(
        &mut self,
        (gains, motions): (&Gains, &Motions),
        (ue, serving): (usize, usize),
        floor: Floor<'_>,
        sent: impl Fn(usize) -> Rbgs,
        tti: Tti,
    ) -> &[f64] {
        let others = || {
            let sent = |link: &Link| (link.cell as usize, link.received, sent(link.cell as usize));
            gains.links(ue).iter().map(sent).filter(|(cell, _, sent)| *cell != serving && !sent.is_empty())
        };
        let total = floor.mean() + others().map(|(_, received, _)| received).sum::<f64>();
        let place = motions.at(ue, tti);
        for (rbg, group) in self.disturbance.chunks_mut(self.rbg_prbs).enumerate() {
            group.fill(floor.at(rbg));
        }
        for (cell, received, sent) in others() {
            // Each fading interferer costs as much as the signal. Forty of those kept constant would change the sum by
            // 0.3 dB.
            if self.interference && received >= WEAK * total {
                let (faded, width) = self.downlink.interferer((ue, cell), place, tti, self.rbg_prbs);
                let values = faded.chunks(self.rbg_prbs / width);
                let groups = self.disturbance.chunks_mut(self.rbg_prbs).zip(values);
                for (_, (group, faded)) in (0..).zip(groups).filter(|(rbg, _)| sent.contains(*rbg)) {
                    if let [gain] = faded {
                        group.iter_mut().for_each(|disturbance| *disturbance += received * f64::from(*gain));
                    } else {
                        for (disturbance, gain) in group.iter_mut().zip(faded) {
                            *disturbance += received * f64::from(*gain);
                        }
                    }
                }
            } else {
                let groups = self.disturbance.chunks_mut(self.rbg_prbs);
                for (_, group) in (0..).zip(groups).filter(|(rbg, _)| sent.contains(*rbg)) {
                    group.iter_mut().for_each(|disturbance| *disturbance += received);
                }
            }
        }
        let signal = gains.link(ue, serving).received;
        let own = self.downlink.own.gains((ue, serving), place, tti);
        for (prb, sinr) in self.sinrs.iter_mut().enumerate() {
            *sinr = signal * f64::from(own[prb]) / self.disturbance[prb];
        }
        &self.sinrs
    }

    /// The linear SINR of a UE at a cell on each PRB of its transmission, while others send to other cells. `floor` is
    /// the power per PRB in mW of noise and distant UEs.
    pub fn uplink(
        &mut self,
        (gains, motions): (&Gains, &Motions),
        (cell, floor): (usize, f64),
        signal: &UplinkSignal,
        others: &[Interference],
        tti: Tti,
    ) -> &[f64] {
        let range =
            |signal: &UplinkSignal| usize::from(signal.first)..usize::from(signal.first + signal.prbs);
        let total = floor + others.iter().map(|other| other.received).sum::<f64>();
        self.disturbance.fill(floor);
        for Interference { signal: other, received } in others {
            if self.interference && *received >= WEAK * total {
                let ue = other.ue as usize;
                let place = motions.at(ue, tti);
                let (faded, width) = self.uplink.interferer((ue, cell), place, tti, self.rbg_prbs);
                for prb in range(other) {
                    self.disturbance[prb] += received * f64::from(faded[prb / width]);
                }
            } else {
                for prb in range(other) {
                    self.disturbance[prb] += received;
                }
            }
        }
        let ue = signal.ue as usize;
        let received = signal.power * gains.link(ue, cell).uplink;
        let own = self.uplink.own.gains((ue, cell), motions.at(ue, tti), tti);
        for prb in range(signal) {
            self.sinrs[prb] = received * f64::from(own[prb]) / self.disturbance[prb];
        }
        &self.sinrs[range(signal)]
    }
}

/// Links of one direction.
struct Links {
    own: LinkDirection,
    /// Interferers, if distant cells count by their mean power: coarse, since several add up. `None`: they are like the
    /// UE's own link.
    interferers: Option<LinkDirection>,
}

impl Links {
    /// The gains of an interferer, and the number of PRBs for which one of them is valid.
    fn interferer(
        &mut self,
        link: (usize, usize),
        place: Wavelengths,
        tti: Tti,
        rbg_prbs: usize,
    ) -> (&[f32], usize) {
        match &mut self.interferers {
            Some(interferers) => (interferers.gains_in_steps(link, place), rbg_prbs),
            None => (self.own.gains(link, place, tti), 1),
        }
    }

    /// Frees the memory of a UE's links to other cells than these.
    fn keep(&mut self, ue: usize, links: &[Link]) {
        self.own.keep(ue, links);
        if let Some(interferers) = &mut self.interferers {
            interferers.keep(ue, links);
        }
    }
}

/// UE and cell of a link, and the TTI or the steps of the place for which its gains were computed.
type Known = ((usize, usize), [i64; 2]);

/// One direction of all links, or of those to interferers.
struct LinkDirection {
    line: DelayLine,
    stream: Stream,
    /// Ratio of this direction's carrier frequency to the downlink's.
    scale: f64,
    cells: usize,
    /// Sinusoids of the links used so far, one after the other.
    sinusoids: Vec<Sinusoid>,
    /// Cells of each UE's links used so far, in order, with the start of their sinusoids; of UEs that have used any.
    drawn: Vec<Vec<(u32, usize)>>,
    /// Place in `drawn` by UE, or [`UNUSED`].
    places: Vec<u32>,
    /// Starts of sinusoids that no link uses.
    free: Vec<usize>,
    /// Number of rows that links share, unless each has its own.
    cached: usize,
    /// What each row of `gains` holds.
    known: Vec<Option<Known>>,
    /// `[row * prbs + prb]`
    gains: Vec<f32>,
}

impl LinkDirection {
    /// Frees the sinusoids of a UE's links to other cells than these.
    fn keep(&mut self, ue: usize, links: &[Link]) {
        let LinkDirection { drawn, free, .. } = self;
        let Some(drawn) = drawn.get_mut(self.places[ue] as usize) else { return };
        drawn.retain(|(cell, first)| {
            let stays = links.binary_search_by_key(cell, |link| link.cell).is_ok();
            if !stays {
                free.push(*first);
            }
            stays
        });
    }

    /// The gain of each PRB of a link whose UE is at `place` in this TTI.
    fn gains(&mut self, link: (usize, usize), place: Wavelengths, tti: Tti) -> &[f32] {
        let row = (link.0 * self.cells + link.1) % self.cached;
        let key = (link, [tti.0 as i64, 0]);
        if self.known[row] != Some(key) {
            self.known[row] = Some(key);
            let first = self.sinusoids_of(link);
            self.compute(first, row, place);
        }
        self.row(row)
    }

    /// The gain of each point of a link whose UE is at `place`, in steps of the place. Each link has a row of its own.
    fn gains_in_steps(&mut self, link: (usize, usize), place: Wavelengths) -> &[f32] {
        let first = self.sinusoids_of(link);
        let row = first / self.line.sinusoids();
        if row >= self.known.len() {
            self.known.resize(row + 1, None);
            self.gains.resize((row + 1) * self.line.points(), 0.0);
        }
        let step = |wavelengths: f64| libm::floor(wavelengths * STEPS) as i64;
        let steps = [step(place.east), step(place.north)];
        if self.known[row] != Some((link, steps)) {
            self.known[row] = Some((link, steps));
            let [east, north] = steps.map(|steps| steps as f64 / STEPS);
            self.compute(first, row, Wavelengths { east, north });
        }
        self.row(row)
    }

    /// Start of a link's sinusoids, which are drawn when it is used first.
    fn sinusoids_of(&mut self, (ue, cell): (usize, usize)) -> usize {
        let count = self.line.sinusoids();
        let place = &mut self.places[ue];
        if *place == UNUSED {
            *place = self.drawn.len() as u32;
            self.drawn.push(Vec::new());
        }
        let drawn = &mut self.drawn[*place as usize];
        match drawn.binary_search_by_key(&(cell as u32), |(cell, _)| *cell) {
            Ok(index) => drawn[index].1,
            Err(index) => {
                let first = self.free.pop().unwrap_or(self.sinusoids.len());
                self.sinusoids.resize(self.sinusoids.len().max(first + count), Sinusoid::default());
                let stream = self.stream.child(ue as u64).child(cell as u64);
                self.line.draw(stream, &mut self.sinusoids[first..first + count]);
                drawn.insert(index, (cell as u32, first));
                first
            }
        }
    }

    fn compute(&mut self, first: usize, row: usize, place: Wavelengths) {
        let points = self.line.points();
        let sinusoids = &self.sinusoids[first..][..self.line.sinusoids()];
        let place = Wavelengths { east: place.east * self.scale, north: place.north * self.scale };
        self.line.gains(sinusoids, place, &mut self.gains[row * points..][..points]);
    }

    fn row(&self, row: usize) -> &[f32] {
        let points = self.line.points();
        &self.gains[row * points..][..points]
    }
}

fn in_wavelengths(position: Position, frequency: Hertz) -> Wavelengths {
    let wavelength = wavelength(frequency).0;
    Wavelengths { east: position.x.0 / wavelength, north: position.y.0 / wavelength }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::Bearer;
    use crate::mobility;
    use crate::phy::{antenna, fading, propagation};
    use crate::radio::on_air::Activity;
    use crate::settings::CellSite;
    use airwnd_units::{Db, Dbm, Degrees, Span, Speed};

    /// A UE 400 m from its cell, and another cell at this distance from it.
    fn setup(other: f64, fading: fading::Spec) -> RanSetup {
        let cell = |x| CellSite {
            site: 0,
            position: Position::new(x, 0.0, 30.0),
            boresight: Degrees(0.0),
            antenna: antenna::Spec::Isotropic(Default::default()),
            power: Dbm(43.0),
            noise_figure: Db(5.0),
        };
        let ue = UeSite {
            position: Position::new(400.0, 0.0, 1.5),
            mobility: mobility::Spec::Static(Default::default()),
            way: Stream::new(1, "mobility"),
            noise_figure: Db(9.0),
            cell: None,
            srs_offset: None,
            bearer: Bearer::default(),
        };
        let free_space = propagation::Spec::Friis(Default::default());
        let radio =
            crate::RadioSettings { propagation: free_space, shadowing: None, fading, ..Default::default() };
        RanSetup {
            carrier: Default::default(),
            radio,
            mac: Default::default(),
            rlc: Default::default(),
            handover: Default::default(),
            x2_delay: Span::ZERO,
            cells: vec![cell(0.0), cell(400.0 + other)],
            ues: vec![ue],
            seed: 1,
        }
    }

    fn eva(speed: Option<Speed>, interference: bool) -> fading::Spec {
        fading::Spec::Eva(fading::eva::Params { speed, doppler: None, interference })
    }

    fn noise(gains: &Gains) -> Floor<'static> {
        Floor { noise: gains.ue_noise(0), far: 0.0, activity: &Activity::NONE }
    }

    /// Noise plus interference of each PRB relative to the noise while the other cell sends.
    fn disturbance(other: f64, interference: bool) -> Vec<f64> {
        let setup = setup(other, eva(None, interference));
        let access = setup.access().unwrap();
        let gains = Gains::new(&setup, &access);
        let motions = Motions::of(&setup, &access).unwrap();
        let mut links = LinkFading::of(&setup, &access, 1).unwrap();
        let noise = noise(&gains);
        let alone = links.downlink((&gains, &motions), (0, 0), noise, |_| Rbgs::default(), Tti(7)).to_vec();
        let disturbed = links.downlink((&gains, &motions), (0, 0), noise, |_| Rbgs::first(17), Tti(7));
        alone.iter().zip(disturbed).map(|(alone, disturbed)| alone / disturbed).collect()
    }

    fn varies(prbs: &[f64]) -> bool {
        prbs.iter().any(|prb| (prb / prbs[0] - 1.0).abs() > 1e-3)
    }

    #[test]
    fn interference_fades_if_enabled_and_strong_enough() {
        assert!(varies(&disturbance(600.0, true)));
        assert!(!varies(&disturbance(600.0, false)));
        // 26 dBm on a PRB, Friis at 2.12 GHz: equal to the noise of -112.4 dBm at 94 km, a hundredth of it at 940 km.
        let (near, far) = (disturbance(600e3, true), disturbance(1200e3, true));
        assert!(varies(&near) && !varies(&far));
        assert!(far[0] > 1.005, "it still disturbs");
    }

    #[test]
    fn a_signal_has_its_mean_power_and_reproducible_gains() {
        let setup = setup(600.0, eva(Some(Speed(20.0)), true));
        let access = setup.access().unwrap();
        let gains = Gains::new(&setup, &access);
        let motions = Motions::of(&setup, &access).unwrap();
        let mut links = LinkFading::of(&setup, &access, 1).unwrap();
        let mut mean = |tti: u64| {
            let sinrs =
                links.downlink((&gains, &motions), (0, 0), noise(&gains), |_| Rbgs::default(), Tti(tti));
            sinrs.iter().sum::<f64>() / 50.0
        };
        let means: Vec<f64> = (0..20_000).map(&mut mean).collect();
        let expected = gains.link(0, 0).received / gains.ue_noise(0);
        let ratio = means.iter().sum::<f64>() / 20_000.0 / expected;
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        for tti in [19_000, 5, 777] {
            assert_eq!(mean(tti), means[tti as usize]);
        }
    }

    #[test]
    fn the_uplink_fades_independently() {
        let setup = setup(600.0, eva(None, true));
        let access = setup.access().unwrap();
        let gains = Gains::new(&setup, &access);
        let motions = Motions::of(&setup, &access).unwrap();
        let mut links = LinkFading::of(&setup, &access, 1).unwrap();
        let down =
            links.downlink((&gains, &motions), (0, 0), noise(&gains), |_| Rbgs::default(), Tti(1)).to_vec();
        let signal = UplinkSignal { ue: 0, first: 10, prbs: 20, power: 1.0 };
        let up = links.uplink((&gains, &motions), (0, gains.cell_noise(0)), &signal, &[], Tti(1));
        assert_eq!(up.len(), 20);
        let ratios: Vec<f64> = up.iter().zip(&down[10..30]).map(|(up, down)| up / down).collect();
        assert!(varies(&ratios));
    }
}
