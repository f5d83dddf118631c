//! Gains of links, as far as they depend on positions.

mod replayed;
mod share;
mod terrain;

use crate::crew::{Crew, SHARES};
use crate::identity::{CellId, UeId};
use crate::replay::Replay;
use crate::settings::{RanSetup, UeSite};
use airwnd_kernel::{Stream, prefetch};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::Position;
use airwnd_phy::blockage::Blockage;
use airwnd_phy::link_budget::noise_per_prb;
use airwnd_units::{Db, Dbm, Metres, Time};
use replayed::Replayed;
use share::Scratch;
pub(super) use share::Share;
pub(super) use terrain::Mast;
use terrain::Terrain;

/// Fraction of the noise and of the neighbours' interference above which a cell that is not a neighbour interferes when
/// it sends, instead of by its mean: 0.04 dB. With twice as much, 1.4 % of SINRs have errors above 0.1 dB in 133 cells.
const SIGNIFICANT: f64 = 0.01;
/// Maximum number of such cells of a UE. With 64, 1 % of SINRs have errors above 0.1 dB in 133 cells at a load of 3 %.
const MAX_DISTANT: usize = 96;

/// Validity of a stale link.
const OUTDATED: f32 = -1.0;
/// In place of an uplink's factor that has not been computed: most UEs move more often than they send.
const UNKNOWN: f64 = -1.0;

/// A UE and a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkId {
    /// Number of the UE.
    pub ue: UeId,
    /// Number of the cell.
    pub cell: CellId,
}

/// The link between a UE and a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub cell: CellId,
    /// Shadowing in standard deviations.
    shadowed: f64,
    /// Loss by blockage.
    blocked: Db,
    /// Received power per PRB at the UE, and the same in mW.
    pub power: Dbm,
    pub received: f64,
    /// Loss in the uplink with antenna gains.
    uplink_loss: Db,
    /// Where the UE was when the link was computed, east and north in metres, and the square of the distance within
    /// which it is valid.
    measured_at: [f32; 2],
    valid_within: f32,
}

impl Link {
    /// Factor from the UE's transmit power to the cell's received power.
    fn uplink(&self) -> f64 {
        (-self.uplink_loss).linear()
    }

    fn near(&self) -> Near {
        Near { received: self.received, cell: self.cell }
    }

    fn is_valid(&self, position: Position) -> bool {
        let [x, y] = self.measured_at;
        let (east, north) = (position.x.0 - f64::from(x), position.y.0 - f64::from(y));
        east * east + north * north < f64::from(self.valid_within)
    }
}

/// Part of the link to a neighbour that interference reads in each TTI. The rest of the link is rarely read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Near {
    /// Received power per PRB at the UE in mW.
    pub received: f64,
    pub cell: CellId,
}

/// A cell that is not a UE's neighbour, but interferes noticeably while most of the neighbours send nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Distant {
    pub cell: CellId,
    /// Received power per PRB in mW where the neighbours were selected.
    pub received: f32,
    /// Sum of the received powers per PRB in mW of all weaker cells.
    pub weaker: f32,
}

/// Path loss, antennas and shadowing between UEs and cells: of all links, or of those to each UE's neighbours.
///
/// Neighbours are the cells whose received power is at least a fraction of the noise and of all other cells at full
/// power, and the serving cell. The others count by the sum of their powers, except the strongest of them while the
/// neighbours send little: at low load the sum of what others send differs much from its mean.
pub(crate) struct Gains {
    terrain: Terrain,
    /// Links to the neighbours of each UE by cell: `[ue * max + index]`.
    links: Vec<Link>,
    /// The parts that interference reads, and the factors of the uplinks, or [`UNKNOWN`].
    near: Vec<Near>,
    uplinks: Vec<f64>,
    /// The strongest other cells of each UE by power: `[ue * max_distant + index]`.
    distant: Vec<Distant>,
    /// By UE.
    ues: Vec<Surroundings>,
    cell_noise: Vec<f64>,
    /// `None`: no link is blocked.
    blockage: Option<Blockage>,
    /// Recorded channels, by UE.
    replays: Vec<(UeId, Replay)>,
    /// Scratch of each share.
    scratch: Vec<Scratch>,
}

/// A UE's position, its noise, and the cells that are not its neighbours.
#[derive(Clone, Copy)]
struct Surroundings {
    position: Position,
    /// Noise per PRB in mW.
    noise: f64,
    neighbours: u32,
    /// Other cells that are known one by one, and the received power per PRB in mW of the strongest of them.
    distant: u32,
    strongest_distant: f32,
    /// Whether the factors of all uplinks are known.
    knows_uplinks: bool,
    /// Sum of the received powers per PRB in mW of the other cells at full power.
    far: f64,
    /// Sum of the factors from the UE's transmit power to the other cells' received powers.
    far_uplink: f64,
    /// The neighbours were selected here, and are valid within this distance.
    selected_at: Position,
    valid_within: Metres,
    /// Number of changes of the links.
    changes: u64,
    /// `None`: the UE has no recorded channel.
    replayed: Option<Replayed>,
}

impl Surroundings {
    /// The state of a UE with this noise per PRB in mW, before its neighbours are selected.
    fn new(position: Position, noise: f64) -> Surroundings {
        Surroundings {
            position,
            noise,
            neighbours: 0,
            distant: 0,
            strongest_distant: 0.0,
            knows_uplinks: false,
            far: 0.0,
            far_uplink: 0.0,
            selected_at: position,
            valid_within: Metres(0.0),
            changes: 0,
            replayed: None,
        }
    }
}

impl Gains {
    pub fn new(setup: &RanSetup, carrier: &ComponentCarrier, crew: &Crew) -> Gains {
        let access = &carrier.access;
        let ue = |ue: &UeSite| {
            let noise = noise_per_prb(ue.noise_figure, access.prb_bandwidth).milliwatts();
            Surroundings::new(ue.position, noise)
        };
        let terrain = Terrain::new(setup, carrier);
        let sites = setup.cells.iter().map(|site| site.site as usize + 1).max().unwrap_or(0);
        let stream = Stream::new(setup.seed, "blockage");
        let blocked = |params| Blockage::new(params, stream, setup.ues.len(), sites);
        let mut gains = Gains {
            blockage: setup.radio.blockage.clone().map(blocked),
            links: vec![Link::default(); setup.ues.len() * terrain.max],
            near: vec![Near::default(); setup.ues.len() * terrain.max],
            uplinks: vec![UNKNOWN; setup.ues.len() * terrain.max],
            distant: vec![Distant::default(); setup.ues.len() * terrain.max_distant],
            terrain,
            ues: setup.ues.iter().map(ue).collect(),
            cell_noise: setup
                .cells
                .iter()
                .map(|cell| noise_per_prb(cell.noise_figure, access.prb_bandwidth).milliwatts())
                .collect(),
            replays: Vec::new(),
            scratch: Vec::new(),
        };
        // Each share has scratch.
        let shares = if crew.is_alone() { 1 } else { SHARES };
        let mut shares: Vec<Share<'_>> = gains.shares(setup.ues.len().div_ceil(shares)).collect();
        crew.each(&mut shares, |_, share| {
            let ues = share.first..share.first + share.ues.len();
            ues.map(UeId::at).for_each(|ue| share.select(ue, None));
        });
        drop(shares);
        gains
    }

    /// Divides the gains into shares of this many UEs.
    pub fn shares(&mut self, size: usize) -> impl Iterator<Item = Share<'_>> {
        let Gains { terrain, links, near, uplinks, distant, ues, scratch, blockage, .. } = self;
        let (terrain, blockage) = (&*terrain, blockage.as_ref());
        let size = size.max(1);
        let cells = terrain.cells.len();
        let shares = scratch.len().max(ues.len().div_ceil(size));
        scratch.resize_with(shares, || Scratch {
            all: Vec::with_capacity(cells),
            distant: Vec::with_capacity(cells),
            powers: Vec::with_capacity(cells),
        });
        let mut distant = distant.chunks_mut((size * terrain.max_distant).max(1));
        let max = size * terrain.max;
        let near = near.chunks_mut(max).zip(uplinks.chunks_mut(max));
        let parts = ues.chunks_mut(size).zip(links.chunks_mut(max)).zip(near).zip(scratch);
        parts.enumerate().map(move |(index, (((ues, links), (near, uplinks)), scratch))| Share {
            terrain,
            blockage,
            first: index * size,
            links,
            near,
            uplinks,
            // Empty if all cells are neighbours.
            distant: distant.next().unwrap_or_default(),
            ues,
            scratch,
        })
    }

    /// Replaces the channels of UEs, in ascending order, by recorded ones from the cells that are the strongest, or that
    /// serve them by the setup.
    pub fn replay(&mut self, setup: &RanSetup, replays: Vec<(UeId, Replay)>) {
        self.replays = replays;
        for index in 0..self.replays.len() {
            let (ue, replay) = &mut self.replays[index];
            let (ue, power, has_loss) = (*ue, replay.power(Time::ZERO), replay.has_loss);
            let cell = setup.ues[ue.index()].cell.unwrap_or_else(|| self.strongest(ue));
            self.ues[ue.index()].replayed = Some(Replayed { cell, power, has_loss });
            let ues = self.ues.len();
            self.shares(ues).next().expect("there are UEs").select(ue, Some(cell));
        }
    }

    /// Advances blockage and recorded channels to a time. `changed` receives the UEs with other losses, in ascending order;
    /// their links are computed anew when they are next placed.
    pub fn advance(&mut self, now: Time, changed: &mut Vec<UeId>) {
        let Gains { terrain, links, ues, blockage, replays, .. } = self;
        changed.clear();
        if let Some(blockage) = blockage {
            blockage.advance(now, |ue, _| {
                let ue = UeId::at(ue);
                if changed.last() != Some(&ue) {
                    changed.push(ue);
                }
            });
            for ue in changed.iter().copied() {
                for link in &mut links[ue.index() * terrain.max..][..ues[ue.index()].neighbours as usize] {
                    let blocked = blockage.loss(ue.index(), terrain.cells[link.cell.index()].site.site);
                    if blocked != link.blocked {
                        link.blocked = blocked;
                        link.valid_within = OUTDATED;
                    }
                }
            }
        }
        for (ue, replay) in replays {
            let replayed = ues[ue.index()].replayed.as_mut().expect("its channel is a recorded one");
            let power = replay.power(now);
            if std::mem::replace(&mut replayed.power, power) != power
                && let Err(place) = changed.binary_search(ue)
            {
                changed.insert(place, *ue);
            }
        }
    }

    /// The links to a UE's neighbours, by cell.
    pub fn links(&self, ue: UeId) -> &[Link] {
        &self.links[ue.index() * self.terrain.max..][..self.ues[ue.index()].neighbours as usize]
    }

    /// A UE's neighbours, by cell.
    pub fn near(&self, ue: UeId) -> &[Near] {
        &self.near[ue.index() * self.terrain.max..][..self.ues[ue.index()].neighbours as usize]
    }

    /// Requests the memory of a UE's neighbours.
    pub fn prefetch(&self, ue: UeId) {
        // Four of them are in a cache line.
        self.near(ue).iter().step_by(4).for_each(prefetch);
    }

    /// The neighbours of a UE that sends, by cell, with the factors from its transmit power to their received powers,
    /// which are kept until it moves.
    pub fn uplinks(&mut self, ue: UeId) -> impl Iterator<Item = (CellId, f64)> {
        let Gains { links, near, uplinks, ues, terrain, .. } = self;
        let first = ue.index() * terrain.max;
        let Surroundings { neighbours, ref mut knows_uplinks, .. } = ues[ue.index()];
        let places = first..first + neighbours as usize;
        let factors = &mut uplinks[places.clone()];
        if !std::mem::replace(knows_uplinks, true) {
            complete(factors, &links[places.clone()]);
        }
        near[places].iter().zip(&*factors).map(|(near, factor)| (near.cell, *factor))
    }

    /// The other cells, strongest first, that are significant at a UE beside this noise and interference per PRB in mW.
    pub fn distant(&self, ue: UeId, disturbance: f64) -> &[Distant] {
        let Surroundings { distant, strongest_distant, .. } = self.ues[ue.index()];
        let min = (SIGNIFICANT * disturbance) as f32;
        // Mostly none is, and their list is not read.
        if strongest_distant < min {
            return &[];
        }
        let known = &self.distant[ue.index() * self.terrain.max_distant..][..distant as usize];
        // Not by bisection: those that it would skip are not in the cache, those found are read next.
        let count = known.iter().take_while(|other| other.received >= min).count();
        &known[..count]
    }

    /// The link between a UE and a cell.
    pub fn link(&self, ue: UeId, cell: CellId) -> Link {
        let found = find(self.links(ue), cell).copied();
        found.unwrap_or_else(|| self.terrain.link(ue, &self.ues[ue.index()], cell, self.blockage.as_ref()))
    }

    /// The strongest cell at a UE; the first of several equal ones.
    pub fn strongest(&self, ue: UeId) -> CellId {
        strongest(self.near(ue).iter().copied()).expect("a UE has neighbours")
    }

    /// The received power per PRB in mW of a cell at a UE.
    pub fn received(&self, ue: UeId, cell: CellId) -> f64 {
        let near = self.near(ue);
        match place_of(near, cell, |near| near.cell) {
            Some(place) => near[place].received,
            None => self.link(ue, cell).received,
        }
    }

    /// Factor from a UE's transmit power to a cell's received power.
    pub fn uplink(&self, ue: UeId, cell: CellId) -> f64 {
        let known = place_of(self.near(ue), cell, |near| near.cell);
        let known = known.map(|place| self.uplinks[ue.index() * self.terrain.max + place]);
        known.filter(|factor| *factor != UNKNOWN).unwrap_or_else(|| self.link(ue, cell).uplink())
    }

    /// A UE's position.
    pub fn position(&self, ue: UeId) -> Position {
        self.ues[ue.index()].position
    }

    /// The sum of the received powers per PRB in mW, at full power, of the cells that are not neighbours of a UE.
    pub fn far(&self, ue: UeId) -> f64 {
        self.ues[ue.index()].far
    }

    /// The sum of the factors from a UE's transmit power to the received power of each cell that is not its neighbour.
    pub fn far_uplink(&self, ue: UeId) -> f64 {
        self.ues[ue.index()].far_uplink
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.terrain.cells.len()
    }

    /// Whether all cells are neighbours of all UEs.
    pub fn are_complete(&self) -> bool {
        self.terrain.threshold.is_none()
    }

    /// A number that changes with every change of a UE's gains.
    pub fn version(&self, ue: UeId) -> u64 {
        self.ues[ue.index()].changes
    }

    /// A UE's noise per PRB in mW.
    pub fn ue_noise(&self, ue: UeId) -> f64 {
        self.ues[ue.index()].noise
    }

    /// A cell's noise per PRB in mW.
    pub fn cell_noise(&self, cell: CellId) -> f64 {
        self.cell_noise[cell.index()]
    }
}

/// The link to a cell among links by cell.
fn find(links: &[Link], cell: CellId) -> Option<&Link> {
    place_of(links, cell, |link| link.cell).map(|place| &links[place])
}

/// Computes the factors of uplinks that are not known.
#[cold]
fn complete(factors: &mut [f64], links: &[Link]) {
    let unknown = factors.iter_mut().zip(links).filter(|(factor, _)| **factor == UNKNOWN);
    unknown.for_each(|(factor, link)| *factor = link.uplink());
}

/// The place of a cell in a list by cell.
fn place_of<T>(sorted: &[T], cell: CellId, number: impl Fn(&T) -> CellId) -> Option<usize> {
    match sorted.get(cell.index()) {
        Some(item) if number(item) == cell => Some(cell.index()),
        _ => sorted.binary_search_by_key(&cell, number).ok(),
    }
}

/// The cell with the highest received power; the first of several equal ones.
pub(super) fn strongest(near: impl Iterator<Item = Near>) -> Option<CellId> {
    let stronger = |best: Near, other: Near| if other.received > best.received { other } else { best };
    near.reduce(stronger).map(|best| best.cell)
}

/// The index of the highest power; the first of several equal ones.
pub(super) fn highest(powers: impl Iterator<Item = f64>) -> usize {
    let first = (0, f64::NEG_INFINITY);
    powers
        .enumerate()
        .fold(first, |best, (index, power)| if power > best.1 { (index, power) } else { best })
        .0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RadioSettings;
    use crate::mobility::{Spec, constant_velocity};
    use crate::settings::CellSite;
    use airwnd_phy::{Position, shadowing};

    /// Losses to the only cell around which UEs are led in a circle, so that only shadowing changes them.
    fn around(shadowing: shadowing::Params, mobility: Spec, threshold: f64) -> Vec<f64> {
        const UE: UeId = UeId(0);
        let at = |step: usize| {
            let (sin, cos) = (step as f64 / 100.0).sin_cos();
            Position::new(200.0 * cos, 200.0 * sin, 1.5)
        };
        let ue = UeSite { mobility, ..UeSite::at(at(0)) };
        let radio = RadioSettings {
            shadowing: Some(shadowing),
            neighbour_threshold: Some(threshold),
            ..Default::default()
        };
        let cell = CellSite::at(Position::new(0.0, 0.0, 30.0));
        let setup = RanSetup { radio, ..RanSetup::new(vec![cell], vec![ue]) };
        let carriers = setup.carriers().unwrap();
        let mut gains = Gains::new(&setup, &carriers[0], &Crew::default());
        let loss = |step| {
            let mut share = gains.shares(1).next().unwrap();
            share.place(UE, at(step), CellId(0));
            share.loss(UE, CellId(0)).0
        };
        (0..=100).map(loss).collect()
    }

    /// 2 m a step: neighbouring losses differ by 1.6 dB on average if their correlation is exp(-2 / 50) or a little more.
    #[test]
    fn shadowing_changes_along_the_way_of_a_ue() {
        let moving = || Spec::ConstantVelocity(constant_velocity::Params::default());
        let stays = shadowing::Params { correlation_distance: None, ..Default::default() };
        for threshold in [0.0, 0.0002] {
            let along = around(shadowing::Params::default(), moving(), threshold);
            let (low, high) = along
                .iter()
                .fold((f64::MAX, f64::MIN), |(low, high), loss| (low.min(*loss), high.max(*loss)));
            assert!((10.0..45.0).contains(&(high - low)), "{low} to {high} dB over 200 m");
            let steps = along.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            assert!((0.4..2.5).contains(&(steps.sum::<f64>() / 100.0)), "{along:?}");
            let at_rest =
                around(shadowing::Params::default(), UeSite::at(Position::default()).mobility, threshold);
            for constant in [around(stays.clone(), moving(), threshold), at_rest] {
                assert!(constant.iter().all(|loss| (loss - constant[0]).abs() < 1e-6), "{constant:?}");
            }
        }
    }
}
