//! Fading of all links, TTI by TTI.

use super::disturbance::{Disturbance, Transmissions, WEAK};
use super::gains::{Gains, Link, LinkId};
use super::on_air::Floor;
use super::uplink::{Interference, UplinkSignal};
use crate::identity::{CellId, UeId};
use crate::mac::sched::Rbgs;
use crate::settings::{RanSetup, UeSite};
use airwnd_kernel::{Stream, prefetch};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::Access;
use airwnd_phy::fading::delay_line::{DelayLine, Node, POINTS_PER_WAVELENGTH, Sinusoid, Wavelengths};
use airwnd_phy::fading::trace::{Trace, Way};
use airwnd_phy::fading::{MIN_SPEED, Pace};
use airwnd_phy::propagation::wavelength;
use airwnd_phy::{Position, Prbs};
use airwnd_units::{Hertz, SlotClock, Time, Tti};

/// Cached gains of the downlink per cell, for some TTIs: a report uses those of the control channels and the block in the
/// TTI that it measures.
const DOWNLINK_CACHED: usize = 64;
/// Cached gains of the uplink per cell: signals at a cell have the same interferers.
const UPLINK_CACHED: usize = 16;
/// Cells for which there is room at least.
const MIN_CELLS: usize = 4;
/// Fewest TTIs between two points of a way between which taps are interpolated.
const MIN_TTIS: f64 = 4.0;
/// Maximum number of links with preallocated sinusoids, 1.7 kB each.
const RESERVED: usize = 1 << 16;

/// Place of a UE without links, and section of a link that has been on none.
const UNUSED: u32 = u32::MAX;

/// Common part of the fading of all links: the UEs' motions, and the way that interferers travel.
pub(super) struct Scattering {
    /// By UE.
    motions: Vec<Motion>,
    /// Gains per RBG of interferers, if distant cells count by their mean power. `None`: interferers fade like the UE's
    /// own link.
    trace: Option<Trace>,
    /// Whether fading follows the motion of the UEs instead of a configured speed.
    own_pace: bool,
    /// Most points per second of a way between which taps are interpolated; zero: none are.
    max_points: f64,
    clock: SlotClock,
    /// Carrier frequency of the downlink, to which wavelengths refer.
    frequency: Hertz,
}

/// Inputs of the gains of fading links besides the links.
#[derive(Clone, Copy)]
pub(super) struct Channel<'a> {
    pub gains: &'a Gains,
    pub scattering: &'a Scattering,
}

/// Small-scale fading between cells and UEs.
///
/// A gain is a function of the seed, the link and the UE's position; it does not depend on the order of queries.
pub(super) struct LinkFading {
    rbg_prbs: usize,
    rbgs: usize,
    interference: bool,
    downlink: Links,
    uplink: Links,
    /// Noise and interference of UEs while all cells send everywhere, `[row * RBGs + rbg]`, and what they depend on: a
    /// direct-mapped cache. UEs that stay are on a position of their interferers' way for several TTIs.
    at_full_load: Vec<f32>,
    full_loads: Vec<Option<FullLoad>>,
    // Scratch, by PRB: linear SINR, and noise plus interference in mW.
    sinrs: Vec<f64>,
    disturbance: Vec<f64>,
    /// Noise and interference by RBG in the downlink of large networks.
    by_rbg: Disturbance,
    /// Gains of a link that does not fade.
    constant: Vec<f32>,
}

/// Cache key of a UE's noise and interference at full load: its cell, the version of its gains, and its place on the way
/// that interferers travel.
type FullLoad = (UeId, CellId, u64, u32);

/// Last position of a UE and its velocity in its surroundings, in wavelengths and wavelengths per second, which is the
/// Doppler shift.
#[derive(Clone, Copy)]
struct Motion {
    position: Wavelengths,
    /// Way of the surroundings while the UE was at rest.
    drift: Wavelengths,
    since: Time,
    velocity: Wavelengths,
    /// Wavelengths covered until then.
    travelled: f64,
    /// Points per second of the way, if the velocity never changes.
    points: Option<f64>,
}

/// A part of a UE's way between two points, and where the UE is on it.
#[derive(Clone, Copy)]
struct Section {
    /// Number of the first point.
    number: u32,
    /// Positions of both points, and the vector from one point to the next.
    ends: [Wavelengths; 2],
    step: Wavelengths,
    /// Fraction of the section that the UE has covered.
    fraction: f32,
}

impl Motion {
    /// The part of the way that the UE is on, if taps are interpolated on it.
    fn section(&self, now: Time, max_points: f64) -> Option<Section> {
        let points = self.points.filter(|points| *points <= max_points)?;
        let way = (now.as_secs() - self.since.as_secs()) * points;
        let number = way as u32;
        let step = Wavelengths { east: self.velocity.east / points, north: self.velocity.north / points };
        // The same for both sections that a point ends.
        let ends = [number, number + 1].map(|point| Wavelengths {
            east: self.position.east + f64::from(point) * step.east,
            north: self.position.north + f64::from(point) * step.north,
        });
        Some(Section { number, ends, step, fraction: (way - f64::from(number)) as f32 })
    }

    /// Wavelengths covered until now.
    fn travelled(&self, now: Time) -> f64 {
        let seconds = now.as_secs() - self.since.as_secs();
        self.travelled + seconds * libm::hypot(self.velocity.east, self.velocity.north)
    }

    fn at(&self, now: Time) -> Wavelengths {
        let seconds = now.as_secs() - self.since.as_secs();
        Wavelengths {
            east: self.position.east + self.drift.east + seconds * self.velocity.east,
            north: self.position.north + self.drift.north + seconds * self.velocity.north,
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
    /// Moves a UE and extrapolates its velocity. If it has stayed where it was, its surroundings move on.
    // When a UE changes direction, its fading jumps by at most the distance it covers in a `radio.position_period`.
    //= exception fading-at-rest
    pub fn place(&mut self, now: Time, ue: UeId, position: Position) {
        if !self.own_pace {
            return;
        }
        let motion = &mut self.motions[ue.index() - self.first];
        let (from, to) = (motion.position, in_wavelengths(position, self.frequency));
        let seconds = now.since(motion.since).as_secs();
        let [east, north] = [to.east - from.east, to.north - from.north];
        let is_at_rest = east == 0.0 && north == 0.0;
        // The surroundings of a UE that never moves have their speed from the start on; they never change it.
        if is_at_rest && (motion.points.is_some() || seconds == 0.0) {
            return;
        }
        let travelled = motion.travelled(now);
        let (drift, velocity) = if is_at_rest {
            let there = motion.at(now);
            let drift = Wavelengths { east: there.east - to.east, north: there.north - to.north };
            (drift, Wavelengths::east(MIN_SPEED.0 / wavelength(self.frequency).0))
        } else {
            let velocity = Wavelengths { east: east / seconds, north: north / seconds };
            (motion.drift, if seconds > 0.0 { velocity } else { motion.velocity })
        };
        *motion = Motion { position: to, drift, since: now, velocity, travelled, points: None };
    }
}

impl Scattering {
    /// The fading of a setup; `None`: no fading.
    pub fn of(setup: &RanSetup, carrier: &ComponentCarrier) -> Option<Scattering> {
        let fading = setup.radio.fading.build();
        if fading.taps().is_empty() {
            return None;
        }
        let (access, frequency) = (&carrier.access, carrier.downlink_frequency);
        let wavelength = wavelength(frequency).0;
        let velocity = |ue: &UeSite| match fading.pace() {
            Pace::Speed(speed) => speed.0 / wavelength,
            Pace::Doppler(shift) => shift.0,
            Pace::Own if ue.trajectory().moves() => 0.0,
            Pace::Own => MIN_SPEED.0 / wavelength,
        };
        let motion = |ue: &UeSite| Motion {
            position: in_wavelengths(ue.position, frequency),
            drift: Wavelengths::default(),
            since: Time::ZERO,
            velocity: Wavelengths::east(velocity(ue)),
            travelled: 0.0,
            points: Some(POINTS_PER_WAVELENGTH * velocity(ue)).filter(|points| *points > 0.0),
        };
        let is_large = setup.radio.neighbours(setup.cells.len()).is_some();
        let has_trace = is_large && fading.fades_interference();
        let max_points = 1.0 / (MIN_TTIS * access.clock.slot().as_secs());
        let trace = || {
            let stream = carrier.stream(Stream::new(setup.seed, "fading of interferers"));
            Trace::new(fading.taps(), access.prbs, access.prb_bandwidth, access.rbg_prbs, stream)
        };
        Some(Scattering {
            trace: has_trace.then(trace),
            motions: setup.ues.iter().map(motion).collect(),
            own_pace: fading.pace() == Pace::Own,
            max_points: if is_large { max_points } else { 0.0 },
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

    fn at(&self, ue: UeId, tti: Tti) -> Wavelengths {
        self.motions[ue.index()].at(self.clock.start(tti))
    }

    fn section(&self, ue: UeId, tti: Tti) -> Option<Section> {
        self.motions[ue.index()].section(self.clock.start(tti), self.max_points)
    }

    fn travelled(&self, ue: UeId, tti: Tti) -> f64 {
        self.motions[ue.index()].travelled(self.clock.start(tti))
    }
}

impl LinkFading {
    /// The fading of a setup's links, none of which has been used yet, for receivers in one of this many parts of the
    /// cells; `None`: no fading.
    pub fn of(setup: &RanSetup, carrier: &ComponentCarrier, parts: usize) -> Option<LinkFading> {
        let Access { prbs, rbg_prbs, prb_bandwidth, .. } = *carrier.access;
        let fading = setup.radio.fading.build();
        if fading.taps().is_empty() {
            return None;
        }
        let cells = (setup.cells.len() / parts).max(MIN_CELLS);
        let is_large = setup.radio.neighbours(setup.cells.len()).is_some();
        let direction = |name, frequency: Hertz, cached: usize| {
            let cached = cells * cached;
            let stream = carrier.stream(Stream::new(setup.seed, name));
            let line = DelayLine::new(fading.taps(), prbs, prb_bandwidth, Prbs(1));
            let line = if is_large { line.symmetric(fading.taps(), prb_bandwidth) } else { line };
            let links = setup.ues.len() * setup.cells.len() / parts;
            Links {
                stream,
                starts: stream.child(u64::MAX),
                scale: frequency.0 / carrier.downlink_frequency.0,
                cells: setup.cells.len(),
                // Unused capacity is never touched.
                sinusoids: Vec::with_capacity(links.min(RESERVED) * line.sinusoids()),
                nodes: Vec::with_capacity(if is_large { links.min(RESERVED) * 2 * line.taps() } else { 0 }),
                sections: Vec::with_capacity(if is_large { links.min(RESERVED) } else { 0 }),
                drawn: Vec::new(),
                places: vec![UNUSED; setup.ues.len()],
                last: vec![[0; 2]; setup.ues.len()],
                free: Vec::new(),
                known: vec![None; cached],
                gains: vec![0.0; cached * line.points()],
                line,
            }
        };
        let rbgs = usize::from(prbs.0.div_ceil(rbg_prbs.0));
        let full_loads = if is_large { cells * DOWNLINK_CACHED } else { 0 };
        Some(LinkFading {
            rbg_prbs: rbg_prbs.0.into(),
            rbgs,
            at_full_load: vec![0.0; full_loads * rbgs],
            full_loads: vec![None; full_loads],
            interference: fading.fades_interference(),
            // The duplex distance (190 MHz in band 1) is hundreds of times the coherence bandwidth of the profiles.
            downlink: direction("downlink fading", carrier.downlink_frequency, DOWNLINK_CACHED),
            uplink: direction("uplink fading", carrier.uplink_frequency, UPLINK_CACHED),
            sinrs: vec![0.0; prbs.0.into()],
            disturbance: vec![0.0; prbs.0.into()],
            by_rbg: Disturbance::new(rbgs, setup.radio.max_neighbours(setup.cells.len())),
            constant: vec![1.0; prbs.0.into()],
        })
    }

    /// Frees the memory of a UE's links to other cells than these.
    pub fn keep(&mut self, ue: UeId, links: &[Link]) {
        self.downlink.keep(ue, links);
        self.uplink.keep(ue, links);
    }

    /// Requests the memory that the downlink of a UE in a TTI needs first.
    pub fn prefetch(&self, scattering: &Scattering, ue: UeId) {
        prefetch(&scattering.motions[ue.index()]);
        self.downlink.prefetch(ue);
    }

    /// Requests the memory that the uplink of a UE in a TTI needs first.
    pub fn prefetch_uplink(&self, scattering: &Scattering, ue: UeId) {
        prefetch(&scattering.motions[ue.index()]);
        self.uplink.prefetch(ue);
    }

    /// Frees the memory of a UE's downlink.
    pub fn leave(&mut self, ue: UeId) {
        self.downlink.keep(ue, &[]);
    }

    /// Whether an interferer with this received power fades. Each that does costs computation; forty of those that do not
    /// would change the sum of noise and interference by 0.3 dB.
    fn fades(&self, received: f64, total: f64) -> bool {
        self.interference && received >= WEAK * total
    }

    /// The linear SINR of a UE's cell on each PRB in a TTI, while the other cells send this.
    pub fn downlink(
        &mut self,
        channel: Channel<'_>,
        link: LinkId,
        floor: Floor<'_>,
        sent: &Transmissions<impl Fn(CellId) -> Rbgs>,
        tti: Tti,
    ) -> &[f64] {
        let Channel { gains, scattering } = channel;
        let LinkId { ue, cell: serving } = link;
        let place = scattering.at(ue, tti);
        if scattering.trace.is_some() || !gains.are_complete() {
            let travelled = scattering.travelled(ue, tti);
            let way = scattering.trace.as_ref().map(|trace| self.downlink.way(trace, ue, travelled));
            let by_rbg = if sent.is_constant {
                let position = way.as_ref().map_or(0, Way::position);
                let key = Some((ue, serving, gains.version(ue), position));
                let row = ue.index() % self.full_loads.len();
                let known = &mut self.at_full_load[row * self.rbgs..][..self.rbgs];
                if self.full_loads[row] != key {
                    self.full_loads[row] = key;
                    known.copy_from_slice(self.by_rbg.measure(gains, link, floor, sent, way.as_ref()));
                }
                known
            } else {
                self.by_rbg.measure(gains, link, floor, sent, way.as_ref())
            };
            let signal = gains.received(ue, serving);
            spread(by_rbg, |disturbance| signal / f64::from(disturbance), self.rbg_prbs, &mut self.sinrs);
            let own = self.downlink.own_gains(link, place, || scattering.section(ue, tti));
            self.sinrs.iter_mut().zip(own).for_each(|(sinr, own)| *sinr *= f64::from(*own));
        } else {
            let others = gains.near(ue).iter().filter(|near| near.cell != serving);
            let senders = others.map(|near| (near.cell, near.received, (sent.rbgs)(near.cell)));
            let senders = senders.filter(|(.., sent)| !sent.is_empty());
            let total = floor.mean() + senders.clone().map(|(_, received, _)| received).sum::<f64>();
            self.disturbance.fill(floor.noise);
            for (cell, received, sent) in senders {
                let faded = match self.fades(received, total) {
                    true => self.downlink.gains(LinkId { ue, cell }, place),
                    false => &self.constant,
                };
                let groups = self.disturbance.chunks_mut(self.rbg_prbs).zip(faded.chunks(self.rbg_prbs));
                for (_, (group, faded)) in (0..).zip(groups).filter(|(rbg, _)| sent.contains(*rbg)) {
                    for (disturbance, gain) in group.iter_mut().zip(faded) {
                        *disturbance += received * f64::from(*gain);
                    }
                }
            }
            let signal = gains.received(ue, serving);
            let own = self.downlink.gains(link, place);
            for ((sinr, own), disturbance) in self.sinrs.iter_mut().zip(own).zip(&self.disturbance) {
                *sinr = signal * f64::from(*own) / disturbance;
            }
        }
        &self.sinrs
    }

    /// The linear SINR of a UE at a cell on each PRB of its transmission, while others send to other cells. `floor` is
    /// the power per PRB in mW of noise and distant UEs.
    pub fn uplink(
        &mut self,
        channel: Channel<'_>,
        cell: CellId,
        floor: f64,
        signal: &UplinkSignal,
        others: &[Interference],
        tti: Tti,
    ) -> &[f64] {
        let Channel { gains, scattering } = channel;
        let range =
            |signal: &UplinkSignal| usize::from(signal.first)..usize::from(signal.first + signal.prbs);
        let total = floor + others.iter().map(|other| other.received).sum::<f64>();
        self.disturbance.fill(floor);
        for Interference { signal: other, received } in others {
            if self.fades(*received, total) {
                let ue = other.ue;
                let (faded, width) = match &scattering.trace {
                    Some(trace) => {
                        let way = self.uplink.way(trace, ue, scattering.travelled(ue, tti));
                        (way.to(cell.0.into()), self.rbg_prbs)
                    }
                    None => (self.uplink.gains(LinkId { ue, cell }, scattering.at(ue, tti)), 1),
                };
                for prb in range(other) {
                    self.disturbance[prb] += received * f64::from(faded[prb / width]);
                }
            } else {
                for prb in range(other) {
                    self.disturbance[prb] += received;
                }
            }
        }
        let ue = signal.ue;
        let received = signal.power * gains.uplink(ue, cell);
        let own = self.uplink.gains(LinkId { ue, cell }, scattering.at(ue, tti));
        for prb in range(signal) {
            self.sinrs[prb] = received * f64::from(own[prb]) / self.disturbance[prb];
        }
        &self.sinrs[range(signal)]
    }
}

/// Sets each PRB to a function of the value of its RBG; `width`: PRBs of an RBG.
fn spread(by_rbg: &[f32], value: impl Fn(f32) -> f64, width: usize, by_prb: &mut [f64]) {
    // The compiler knows the usual widths.
    match width {
        1 => spread_by::<1>(by_rbg, value, by_prb),
        2 => spread_by::<2>(by_rbg, value, by_prb),
        3 => spread_by::<3>(by_rbg, value, by_prb),
        4 => spread_by::<4>(by_rbg, value, by_prb),
        8 => spread_by::<8>(by_rbg, value, by_prb),
        _ => by_prb.chunks_mut(width).zip(by_rbg).for_each(|(group, rbg)| group.fill(value(*rbg))),
    }
}

fn spread_by<const WIDTH: usize>(by_rbg: &[f32], value: impl Fn(f32) -> f64, by_prb: &mut [f64]) {
    let (groups, rest) = by_prb.as_chunks_mut::<WIDTH>();
    rest.fill(value(by_rbg.last().copied().unwrap_or_default()));
    groups.iter_mut().zip(by_rbg).for_each(|(group, rbg)| *group = [value(*rbg); WIDTH]);
}

/// All links of one direction.
struct Links {
    line: DelayLine,
    stream: Stream,
    /// Where interferers start on the way that they travel.
    starts: Stream,
    /// Ratio of this direction's carrier frequency to the downlink's.
    scale: f64,
    cells: usize,
    /// Sinusoids of the links used so far, one after the other.
    sinusoids: Vec<Sinusoid>,
    /// Taps of the same links at both ends of the section that their UEs have been on last, `[(2 * link + end) * taps +
    /// tap]`, and its number by link, or [`UNUSED`]: so far as taps have been interpolated.
    nodes: Vec<Node>,
    sections: Vec<u32>,
    /// Cells of each UE's links used so far, in order, with the start of their sinusoids; of UEs that have used any.
    drawn: Vec<Vec<(CellId, usize)>>,
    /// Place in `drawn` by UE, or [`UNUSED`].
    places: Vec<u32>,
    /// The last link used of each UE, with one more than the number of its cell; zeros: none. Mostly a UE has one here.
    last: Vec<[u32; 2]>,
    /// Starts of sinusoids that no link uses.
    free: Vec<usize>,
    /// The link in each row of `gains`, and the place of its UE: a direct-mapped cache.
    known: Vec<Option<(LinkId, Wavelengths)>>,
    /// `[row * prbs + prb]`
    gains: Vec<f32>,
}

impl Links {
    /// Frees the sinusoids of a UE's links to other cells than these.
    fn keep(&mut self, ue: UeId, links: &[Link]) {
        let Links { drawn, free, .. } = self;
        let Some(drawn) = drawn.get_mut(self.places[ue.index()] as usize) else { return };
        self.last[ue.index()] = [0; 2];
        drawn.retain(|(cell, first)| {
            let stays = links.binary_search_by_key(cell, |link| link.cell).is_ok();
            if !stays {
                free.push(*first);
            }
            stays
        });
    }

    /// The gain of each PRB of a link whose UE is at `place`.
    fn gains(&mut self, link: LinkId, place: Wavelengths) -> &[f32] {
        self.own_gains(link, place, || None)
    }

    /// The gain of each PRB of a link, from taps that are interpolated over a section.
    // The link to a UE's own cell: others are used more rarely than UEs enter another section.
    #[inline]
    fn own_gains(
        &mut self,
        link: LinkId,
        place: Wavelengths,
        section: impl FnOnce() -> Option<Section>,
    ) -> &[f32] {
        let points = self.line.points();
        let way = place.east.to_bits() ^ place.north.to_bits().rotate_left(32);
        let mixed = way ^ (link.ue.index() * self.cells + link.cell.index()) as u64;
        let row = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.known.len();
        if self.known[row] != Some((link, place)) {
            self.known[row] = Some((link, place));
            let first = self.sinusoids_of(link);
            match section() {
                Some(section) => self.interpolate(first, section, row),
                None => {
                    let sinusoids = &self.sinusoids[first..][..self.line.sinusoids()];
                    let place = scaled(place, self.scale);
                    self.line.gains(sinusoids, place, &mut self.gains[row * points..][..points]);
                }
            }
        }
        &self.gains[row * points..][..points]
    }

    /// Interpolates the gains of the link with the sinusoids from `first` on.
    fn interpolate(&mut self, first: usize, section: Section, row: usize) {
        let Links { line, sinusoids, nodes, sections, gains, scale, .. } = self;
        let (taps, points) = (line.taps(), line.points());
        let link = first / line.sinusoids();
        if sections.len() <= link {
            sections.resize(link + 1, UNUSED);
            nodes.resize(2 * taps * (link + 1), Node::default());
        }
        let (before, after) = nodes[2 * taps * link..][..2 * taps].split_at_mut(taps);
        if sections[link] != section.number {
            let number = section.number;
            let sinusoids = &sinusoids[first..][..line.sinusoids()];
            let step = scaled(section.step, *scale);
            let [from, to] = section.ends.map(|end| scaled(end, *scale));
            // Mostly the UE has been on the section before.
            if sections[link] != UNUSED && sections[link] + 1 == number {
                before.copy_from_slice(after);
            } else {
                line.nodes(sinusoids, from, step, before);
            }
            line.nodes(sinusoids, to, step, after);
            sections[link] = number;
        }
        line.gains_between([before, after], section.fraction, &mut gains[row * points..][..points]);
    }

    /// Requests the memory that the gains of a UE's link need.
    fn prefetch(&self, ue: UeId) {
        let link = self.last[ue.index()][1] as usize;
        // An element of each cache line.
        if self.sections.get(link).is_some_and(|section| *section != UNUSED) {
            let nodes = self.nodes.iter().skip(2 * link * self.line.taps()).take(2 * self.line.taps());
            return nodes.step_by(4).for_each(prefetch);
        }
        let sinusoids = self.sinusoids.iter().skip(link * self.line.sinusoids()).take(self.line.sinusoids());
        sinusoids.step_by(5).for_each(prefetch);
    }

    /// The way of a UE's interferers, after this many wavelengths of the downlink.
    fn way<'a>(&self, trace: &'a Trace, ue: UeId, travelled: f64) -> Way<'a> {
        trace.way(self.starts.child(ue.0.into()).next_u64(), travelled * self.scale)
    }

    /// Start of a link's sinusoids, which are drawn when it is used first.
    #[inline]
    fn sinusoids_of(&mut self, link: LinkId) -> usize {
        let LinkId { ue, cell } = link;
        let count = self.line.sinusoids();
        let [last, known] = self.last[ue.index()];
        if last == u32::from(cell.0) + 1 {
            return known as usize * count;
        }
        let first = self.find_sinusoids(link);
        self.last[ue.index()] = [u32::from(cell.0) + 1, (first / count) as u32];
        first
    }

    #[inline(never)]
    fn find_sinusoids(&mut self, LinkId { ue, cell }: LinkId) -> usize {
        let count = self.line.sinusoids();
        let place = &mut self.places[ue.index()];
        if *place == UNUSED {
            *place = self.drawn.len() as u32;
            self.drawn.push(Vec::new());
        }
        let drawn = &mut self.drawn[*place as usize];
        match drawn.binary_search_by_key(&cell, |(cell, _)| *cell) {
            Ok(index) => drawn[index].1,
            Err(index) => {
                let first = self.free.pop().unwrap_or(self.sinusoids.len());
                self.sinusoids.resize(self.sinusoids.len().max(first + count), Sinusoid::default());
                let stream = self.stream.child(ue.0.into()).child(cell.0.into());
                self.line.draw(stream, &mut self.sinusoids[first..first + count]);
                if let Some(section) = self.sections.get_mut(first / count) {
                    *section = UNUSED;
                }
                drawn.insert(index, (cell, first));
                first
            }
        }
    }
}

fn scaled(place: Wavelengths, scale: f64) -> Wavelengths {
    Wavelengths { east: place.east * scale, north: place.north * scale }
}

fn in_wavelengths(position: Position, frequency: Hertz) -> Wavelengths {
    let wavelength = wavelength(frequency).0;
    Wavelengths { east: position.x.0 / wavelength, north: position.y.0 / wavelength }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Crew;
    use crate::radio::on_air::Activity;
    use crate::settings::CellSite;
    use airwnd_phy::{fading, propagation};
    use airwnd_units::{Db, Speed};

    /// A UE 400 m from its cell, and another cell at this distance from it.
    fn setup(other: f64, fading: fading::Spec) -> RanSetup {
        let cell = |x| CellSite::at(Position::new(x, 0.0, 30.0));
        let ue = UeSite::at(Position::new(400.0, 0.0, 1.5));
        let free_space = propagation::Spec::Friis(Default::default());
        let radio =
            crate::RadioSettings { propagation: free_space, shadowing: None, fading, ..Default::default() };
        RanSetup { radio, ..RanSetup::new(vec![cell(0.0), cell(400.0 + other)], vec![ue]) }
    }

    fn eva(speed: Option<Speed>, interference: bool) -> fading::Spec {
        fading::Spec::Eva(fading::eva::Params { speed, doppler: None, interference })
    }

    fn noise(gains: &Gains) -> Floor<'static> {
        Floor { noise: gains.ue_noise(UeId(0)), far: 0.0, activity: &Activity::NONE }
    }

    /// All cells send on these RBGs.
    fn sent(rbgs: Rbgs) -> Transmissions<impl Fn(CellId) -> Rbgs> {
        Transmissions { rbgs: move |_| rbgs, whole: Rbgs::first(17), is_constant: false }
    }

    /// Noise plus interference of each PRB relative to the noise while the other cell sends.
    fn disturbance(other: f64, interference: bool) -> Vec<f64> {
        let setup = setup(other, eva(None, interference));
        let carrier = &setup.carriers().unwrap()[0];
        let gains = Gains::new(&setup, carrier, &Crew::default());
        let scattering = Scattering::of(&setup, carrier).unwrap();
        let mut links = LinkFading::of(&setup, carrier, 1).unwrap();
        let noise = noise(&gains);
        let alone = links
            .downlink(
                Channel { gains: &gains, scattering: &scattering },
                LinkId::default(),
                noise,
                &sent(Rbgs::default()),
                Tti(7),
            )
            .to_vec();
        let disturbed = links.downlink(
            Channel { gains: &gains, scattering: &scattering },
            LinkId::default(),
            noise,
            &sent(Rbgs::first(17)),
            Tti(7),
        );
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
        let carrier = &setup.carriers().unwrap()[0];
        let gains = Gains::new(&setup, carrier, &Crew::default());
        let scattering = Scattering::of(&setup, carrier).unwrap();
        let mut links = LinkFading::of(&setup, carrier, 1).unwrap();
        let mut mean = |tti: u64| {
            let sinrs = links.downlink(
                Channel { gains: &gains, scattering: &scattering },
                LinkId::default(),
                noise(&gains),
                &sent(Rbgs::default()),
                Tti(tti),
            );
            sinrs.iter().sum::<f64>() / 50.0
        };
        let means: Vec<f64> = (0..20_000).map(&mut mean).collect();
        let expected = gains.link(UeId(0), CellId(0)).received / gains.ue_noise(UeId(0));
        let ratio = means.iter().sum::<f64>() / 20_000.0 / expected;
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        for tti in [19_000, 5, 777] {
            assert_eq!(mean(tti), means[tti as usize]);
        }
    }

    /// The SINR of each PRB of the UE in some TTIs while no other cell sends, and all cells are neighbours or not.
    fn sinrs(is_large: bool, ttis: impl Iterator<Item = u64>) -> Vec<(u64, Vec<f64>)> {
        let mut setup = setup(600.0, eva(Some(Speed(1.0)), true));
        setup.radio.neighbour_threshold = is_large.then_some(1e-12);
        let carrier = &setup.carriers().unwrap()[0];
        let gains = Gains::new(&setup, carrier, &Crew::default());
        let scattering = Scattering::of(&setup, carrier).unwrap();
        assert_eq!(scattering.section(UeId(0), Tti(1)).is_some(), is_large);
        let mut links = LinkFading::of(&setup, carrier, 1).unwrap();
        let (noise, silence) = (noise(&gains), sent(Rbgs::default()));
        let mut at = |tti| {
            links
                .downlink(
                    Channel { gains: &gains, scattering: &scattering },
                    LinkId::default(),
                    noise,
                    &silence,
                    Tti(tti),
                )
                .to_vec()
        };
        ttis.map(|tti| (tti, at(tti))).collect()
    }

    #[test]
    fn interpolated_gains_are_close_and_do_not_depend_on_earlier_ones() {
        let [exact, near] = [false, true].map(|is_large| sinrs(is_large, 0..4000));
        let errors = exact.iter().zip(&near).flat_map(|((_, exact), (_, near))| {
            exact.iter().zip(near).map(|(exact, near)| Db::from_linear(near / exact).0.abs())
        });
        let (wide, all) = errors.fold((0, 0), |(wide, all), error| (wide + u32::from(error > 0.02), all + 1));
        assert!(f64::from(wide) < 1e-3 * f64::from(all), "{wide} of {all}");
        for (tti, sinrs) in sinrs(true, (0..4000).rev().step_by(7).chain([3, 3999, 4, 17])) {
            assert_eq!(sinrs, near[tti as usize].1);
        }
    }

    /// The path of a UE until `end` that is placed every 100 ms, in wavelengths: at rest, or with pauses.
    fn travelled_by(mobility: &str, path: impl Fn(f64) -> f64, end: u64) -> Vec<f64> {
        let mut setup = setup(600.0, eva(None, true));
        let node = airwnd_catalog::Node::from_json(mobility, "test").unwrap();
        setup.ues[0].mobility = airwnd_catalog::Param::read(&node).unwrap();
        let carrier = &setup.carriers().unwrap()[0];
        let mut scattering = Scattering::of(&setup, carrier).unwrap();
        let places = (0..end).map(|tti| {
            let now = Time(tti * 1_000_000);
            if tti % 100 == 0 {
                let position = Position::new(path(now.as_secs()), 0.0, 1.5);
                scattering.shares(1).next().unwrap().place(now, UeId(0), position);
            }
            scattering.at(UeId(0), Tti(tti)).east
        });
        places.collect()
    }

    /// Blockage places UEs that stay again; their surroundings move on as without it.
    #[test]
    fn fading_of_a_ue_at_rest_goes_on_when_it_is_placed_again() {
        let ways = travelled_by(r#""static""#, |_| 400.0, 2000);
        let speed = MIN_SPEED.0 / wavelength(Hertz(2.12e9)).0;
        for (tti, way) in ways.iter().enumerate() {
            assert!((way - ways[0] - speed * tti as f64 / 1e3).abs() < 1e-6, "{tti}: {way}");
        }
    }

    /// A UE that moves has pauses: its surroundings move on, and never return to where they were.
    #[test]
    fn fading_goes_on_in_a_pause() {
        let mobility = r#"{"kind": "constant-velocity", "speed": "10m/s"}"#;
        // Ten metres in the first second, a pause of two, and on.
        let ways = travelled_by(mobility, |s| 400.0 + 10.0 * (s.min(1.0) + (s - 3.0).max(0.0)), 5000);
        let speed = |from: usize, to: usize| {
            (ways[to] - ways[from]) / (to - from) as f64 * 1e3 * wavelength(Hertz(2.12e9)).0
        };
        assert!((speed(300, 800) - 10.0).abs() < 1e-6 && (speed(3300, 4800) - 10.0).abs() < 1e-6);
        assert!((speed(1300, 2900) - MIN_SPEED.0).abs() < 1e-6, "{}", speed(1300, 2900));
    }

    #[test]
    fn the_uplink_fades_independently() {
        let setup = setup(600.0, eva(None, true));
        let carrier = &setup.carriers().unwrap()[0];
        let gains = Gains::new(&setup, carrier, &Crew::default());
        let scattering = Scattering::of(&setup, carrier).unwrap();
        let mut links = LinkFading::of(&setup, carrier, 1).unwrap();
        let down = links
            .downlink(
                Channel { gains: &gains, scattering: &scattering },
                LinkId::default(),
                noise(&gains),
                &sent(Rbgs::default()),
                Tti(1),
            )
            .to_vec();
        let signal = UplinkSignal { ue: UeId(0), first: 10, prbs: 20, power: 1.0 };
        let up = links.uplink(
            Channel { gains: &gains, scattering: &scattering },
            CellId(0),
            gains.cell_noise(CellId(0)),
            &signal,
            &[],
            Tti(1),
        );
        assert_eq!(up.len(), 20);
        let ratios: Vec<f64> = up.iter().zip(&down[10..30]).map(|(up, down)| up / down).collect();
        assert!(varies(&ratios));
    }
}
