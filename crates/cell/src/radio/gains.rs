//! Gains of links, as far as they depend on positions.

mod replayed;

use crate::crew::{Crew, SHARES};
use crate::identity::{CellId, UeId};
use crate::replay::Replay;
use crate::settings::{CellSite, RanSetup, UeSite};
use airwnd_kernel::{Stream, prefetch};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::antenna::{Antenna, Bearing};
use airwnd_phy::blockage::Blockage;
use airwnd_phy::link_budget::{noise_per_prb, power_per_prb};
use airwnd_phy::propagation::{Draws, LinkGeometry, Propagation};
use airwnd_phy::shadowing::{Losses, ScaledPosition, Shadowing, Spread};
use airwnd_phy::{Position, Prbs};
use airwnd_units::{Db, Dbm, Hertz, Metres, Time};
use replayed::Replayed;

/// Fraction of the distance to the nearest cell that is not a neighbour by which a UE moves before its neighbours are
/// selected anew. With a path loss of 37.6 dB per decade such a cell gains at most 0.3 dB meanwhile, and as much on the
/// edge of a sector. With an eighth 4 % of the SINRs of walking UEs have errors above 0.1 dB at low load.
const MOVED: f64 = 1.0 / 64.0;
/// Fraction of its ground distance to a neighbour by which a UE moves before the link is computed anew: 0.08 dB with
/// the same path loss.
const MOVED_LITTLE: f64 = 1.0 / 200.0;
/// Fraction of the correlation distance of its shadowing by which a UE moves before the link is computed anew: a standard
/// deviation of 0.13 dB if that of the shadowing is 8 dB.
const ALIKE: f64 = 1.0 / 256.0;
const UNSHADOWED: Spread = Spread { sigma: Db(0.0), correlation_distance: Metres(f64::INFINITY) };

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

/// Models that determine the gain of a link at a position.
struct Terrain {
    propagation: Box<dyn Propagation>,
    /// Draws of models with chance.
    chance: Stream,
    /// `None`: no shadowing.
    shadowing: Option<Shadowing>,
    /// Whether the shadowing of a UE changes along its way.
    is_shadowed_along: Vec<bool>,
    cells: Vec<Mast>,
    /// Vectors to the copies of the network; the nearest copy of a site counts.
    copies: Vec<[Metres; 2]>,
    downlink_frequency: Hertz,
    uplink_frequency: Hertz,
    /// Fraction of noise and interference that makes a cell a neighbour; `None`: all cells are neighbours.
    threshold: Option<f64>,
    /// Maximum number of neighbours of a UE.
    max: usize,
    /// Maximum number of other cells of a UE that are known one by one.
    max_distant: usize,
}

/// The gains of some UEs, which change independently of those of the others.
pub(super) struct Share<'a> {
    terrain: &'a Terrain,
    blockage: Option<&'a Blockage>,
    /// Number of the first UE.
    first: usize,
    links: &'a mut [Link],
    near: &'a mut [Near],
    uplinks: &'a mut [f64],
    distant: &'a mut [Distant],
    ues: &'a mut [Surroundings],
    scratch: &'a mut Scratch,
}

/// Ratio of the factor of a link's uplink to the power received in its downlink. Mostly it is the same for all cells, and
/// computed once.
#[derive(Default)]
struct UplinkRatio {
    ratio_db: f64,
    ratio: f64,
}

impl UplinkRatio {
    fn of(&mut self, link: &Link) -> f64 {
        let ratio = -link.uplink_loss.0 - link.power.0;
        if (ratio - self.ratio_db).abs() > 1e-9 {
            *self = UplinkRatio { ratio_db: ratio, ratio: Db(ratio).linear() };
        }
        self.ratio
    }
}

/// Cells of a UE while its neighbours are selected.
struct Scratch {
    all: Vec<Link>,
    distant: Vec<Distant>,
    /// Cells that can be neighbours, with their received power per PRB in mW.
    powers: Vec<(f64, CellId)>,
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

/// Common part of the links from a UE to the sectors of a site.
struct Shared {
    site: Position,
    /// Path loss in the downlink and in the uplink.
    losses: [Db; 2],
    spread: Spread,
    direction: Bearing,
    /// Square of the distance within which they are valid, in square metres.
    valid_within: f32,
}

/// Antenna and transmit power of a cell.
pub(super) struct Mast {
    pub site: CellSite,
    antenna: Box<dyn Antenna>,
    pub power_per_prb: Dbm,
}

impl Mast {
    pub fn new(site: &CellSite, prbs: Prbs) -> Mast {
        Mast {
            antenna: site.antenna.build(),
            power_per_prb: power_per_prb(site.power, prbs),
            site: site.clone(),
        }
    }

    /// The antenna's gain from its place, or a copy of it, towards a position.
    pub fn gain(&self, place: Position, position: Position) -> Db {
        self.gain_towards(Bearing::of(position, place))
    }

    /// The antenna's gain in a direction from its site.
    fn gain_towards(&self, direction: Bearing) -> Db {
        self.antenna.gain(direction.relative_to(self.site.boresight))
    }
}

impl Terrain {
    /// Computes links, whose cells and shadowing are given, at a position. `changed` receives those that have changed.
    fn measure(
        &self,
        ue: UeId,
        position: Position,
        replayed: Option<Replayed>,
        links: &mut [Link],
        mut changed: impl FnMut(usize, &Link),
    ) {
        // The sectors of a site share it.
        let mut before: Option<Shared> = None;
        let mut along = self.losses(ue, true);
        for (place, link) in links.iter_mut().enumerate().filter(|(_, link)| !link.is_valid(position)) {
            let mast = &self.cells[link.cell.index()];
            let shared = match before.take() {
                Some(shared) if shared.site == mast.site.position => shared,
                _ => self.measure_site(ue, position, &mast.site),
            };
            let [down, up] = shared.losses;
            if let Some(along) = &mut along {
                let here = ScaledPosition::of(position, shared.spread.correlation_distance);
                link.shadowed = along.to(mast.site.site, link.cell.0.into(), Some(here));
            }
            let shadowed = Db(shared.spread.sigma.0 * link.shadowed);
            let gain = mast.gain_towards(shared.direction) - shadowed - link.blocked;
            link.power = mast.power_per_prb - (down - gain);
            link.uplink_loss = up - gain;
            if self.threshold.is_some() {
                link.measured_at = [position.x.0 as f32, position.y.0 as f32];
                link.valid_within = shared.valid_within;
            }
            if let Some(replayed) = replayed {
                replayed.set(link, mast.power_per_prb);
            }
            link.received = link.power.milliwatts();
            before = Some(shared);
            changed(place, link);
        }
    }

    /// Computes what the links to the sectors of a site share.
    fn measure_site(&self, ue: UeId, position: Position, site: &CellSite) -> Shared {
        let draws = Draws::new(self.chance, ue.index(), site.site);
        let place = site.position.nearest_copy(&self.copies, position);
        let downlink = LinkGeometry::new(place, position, self.downlink_frequency, draws);
        let links = [downlink, downlink.at(self.uplink_frequency)];
        let own = self.propagation.shadowing(&downlink);
        let spread = own.or(self.shadowing.as_ref().map(Shadowing::spread)).unwrap_or(UNSHADOWED);
        let ground = downlink.ground_distance();
        let shadowed_alike = if self.is_shadowed_along[ue.index()] {
            ALIKE * spread.correlation_distance.0
        } else {
            f64::INFINITY
        };
        let valid = (MOVED_LITTLE * ground.0).min(shadowed_alike);
        Shared {
            site: site.position,
            losses: links.map(|link| self.propagation.path_loss(&link)),
            spread,
            direction: Bearing::over(ground, position, place),
            valid_within: (valid * valid) as f32,
        }
    }

    /// The shadowing of a UE's links, if it changes along the UE's way or, on the contrary, if it stays.
    fn losses(&self, ue: UeId, along: bool) -> Option<Losses<'_>> {
        let shadowing = self.shadowing.as_ref().filter(|_| self.is_shadowed_along[ue.index()] == along)?;
        Some(shadowing.of(ue.0))
    }

    /// The link between a UE at a position and a cell.
    fn link(&self, ue: UeId, at: &Surroundings, cell: CellId, blockage: Option<&Blockage>) -> Link {
        let Surroundings { position, replayed, .. } = *at;
        let site = self.cells[cell.index()].site.site;
        let shadowed = self.losses(ue, false).map_or(0.0, |mut losses| losses.to(site, cell.0.into(), None));
        let blocked = blockage
            .map_or(Db(0.0), |blockage| blockage.loss(ue.index(), self.cells[cell.index()].site.site));
        let mut link = [Link { cell, shadowed, blocked, ..Link::default() }];
        self.measure(ue, position, replayed, &mut link, |_, _| ());
        link[0]
    }
}

impl Share<'_> {
    /// Moves a UE that this cell serves. Returns whether its neighbours have been selected anew.
    pub fn place(&mut self, ue: UeId, position: Position, serving: CellId) -> bool {
        let surroundings = &mut self.ues[ue.index() - self.first];
        surroundings.position = position;
        if position.distance(surroundings.selected_at) > surroundings.valid_within {
            self.select(ue, Some(serving));
            return true;
        }
        let Share { terrain, first, links, near, uplinks, ues, .. } = self;
        let Surroundings { neighbours, replayed, ref mut changes, ref mut knows_uplinks, .. } =
            ues[ue.index() - *first];
        let start = (ue.index() - *first) * terrain.max;
        let mut has_changed = false;
        let links = &mut links[start..][..neighbours as usize];
        terrain.measure(ue, position, replayed, links, |place, link| {
            has_changed = true;
            near[start + place] = link.near();
            uplinks[start + place] = UNKNOWN;
            *knows_uplinks = false;
        });
        *changes += u64::from(has_changed);
        false
    }

    /// The links to a UE's neighbours, by cell.
    fn links_of(&self, ue: UeId) -> &[Link] {
        let index = ue.index() - self.first;
        &self.links[index * self.terrain.max..][..self.ues[index].neighbours as usize]
    }

    /// Computes the links to all cells, and keeps those to the neighbours.
    fn select(&mut self, ue: UeId, serving: Option<CellId>) {
        let Share { terrain, blockage, first, links, near, uplinks, distant, ues, scratch } = self;
        let Scratch { all, distant: others, powers } = &mut **scratch;
        let surroundings = &mut ues[ue.index() - *first];
        let position = surroundings.position;
        all.clear();
        let mut losses = terrain.losses(ue, false);
        all.extend(CellId(0).onwards().zip(&terrain.cells).map(|(cell, mast)| {
            let shadowed =
                losses.as_mut().map_or(0.0, |losses| losses.to(mast.site.site, cell.0.into(), None));
            let blocked = blockage.map_or(Db(0.0), |blockage| blockage.loss(ue.index(), mast.site.site));
            Link { cell, shadowed, blocked, ..Link::default() }
        }));
        terrain.measure(ue, position, surroundings.replayed, all, |_, _| ());
        surroundings.changes += 1;
        surroundings.selected_at = position;
        (surroundings.far, surroundings.far_uplink) = (0.0, 0.0);
        surroundings.valid_within = Metres(f64::INFINITY);
        if let Some(threshold) = terrain.threshold {
            let serving = serving.or_else(|| strongest(all.iter().map(Link::near))).expect("there are cells");
            let interferers = all.iter().filter(|link| link.cell != serving);
            let min = threshold * (surroundings.noise + interferers.map(|link| link.received).sum::<f64>());
            let significant = SIGNIFICANT * surroundings.noise;
            others.clear();
            let mut nearest = f32::INFINITY;
            let is_replayed = surroundings.replayed.is_some();
            let valid_within = |link: &Link| {
                if is_replayed {
                    // Other cells stay out of reach.
                    return f32::INFINITY;
                }
                if !terrain.is_shadowed_along[ue.index()] {
                    return link.valid_within;
                }
                // Shadowing changes a link sooner than its distance, but the selection is for long.
                let site = terrain.cells[link.cell.index()].site.position;
                let valid =
                    MOVED_LITTLE * site.nearest_copy(&terrain.copies, position).ground_distance(position).0;
                (valid * valid) as f32
            };
            let mut uplink = UplinkRatio::default();
            let mut leave = |link: &Link| {
                nearest = nearest.min(valid_within(link));
                surroundings.far += link.received;
                surroundings.far_uplink += link.received * uplink.of(link);
                if link.received >= significant {
                    others.push(Distant { cell: link.cell, received: link.received as f32, weaker: 0.0 });
                }
            };
            all.retain(|link| {
                let stays = link.cell == serving || link.received >= min;
                if !stays {
                    leave(link);
                }
                stays
            });
            if all.len() > terrain.max {
                // The serving cell first, then by power.
                let rank = |link: &Link| if link.cell == serving { f64::INFINITY } else { link.received };
                powers.clear();
                powers.extend(all.iter().map(|link| (rank(link), link.cell)));
                let order = |a: &(f64, CellId), b: &(f64, CellId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
                let (.., weakest) = powers.select_nth_unstable_by(terrain.max - 1, order);
                weakest.sort_unstable_by(order);
                for (_, cell) in weakest {
                    let place = all.binary_search_by_key(cell, |link| link.cell);
                    leave(&all.remove(place.expect("it is one of them")));
                }
            }
            surroundings.valid_within = Metres(MOVED / MOVED_LITTLE * f64::from(nearest.sqrt()));
            let by_power =
                |a: &Distant, b: &Distant| b.received.total_cmp(&a.received).then(a.cell.cmp(&b.cell));
            if others.len() > terrain.max_distant {
                others.select_nth_unstable_by(terrain.max_distant, by_power);
                others.truncate(terrain.max_distant);
            }
            others.sort_unstable_by(by_power);
            let mut weaker = surroundings.far;
            for other in others.iter_mut() {
                weaker -= f64::from(other.received);
                other.weaker = weaker.max(0.0) as f32;
            }
            distant[(ue.index() - *first) * terrain.max_distant..][..others.len()].copy_from_slice(others);
            surroundings.distant = others.len() as u32;
            surroundings.strongest_distant = others.first().map_or(0.0, |other| other.received);
        }
        (surroundings.neighbours, surroundings.knows_uplinks) = (all.len() as u32, false);
        let first = (ue.index() - *first) * terrain.max;
        links[first..][..all.len()].copy_from_slice(all);
        near[first..].iter_mut().zip(all).for_each(|(near, link)| *near = link.near());
        uplinks[first..][..terrain.max].fill(UNKNOWN);
    }

    /// Makes a cell a neighbour of a UE, if it is not.
    pub fn include(&mut self, ue: UeId, cell: CellId) {
        if find(self.links_of(ue), cell).is_none() {
            self.select(ue, Some(cell));
        }
    }

    /// The path loss of a UE's downlink from a neighbour, with antenna gains, as the UE estimates it.
    pub fn loss(&mut self, ue: UeId, cell: CellId) -> Db {
        let power = self.terrain.cells[cell.index()].power_per_prb;
        power - find(self.links_of(ue), cell).expect("the cell is a neighbour").power
    }
}

impl Gains {
    pub fn new(setup: &RanSetup, carrier: &ComponentCarrier, crew: &Crew) -> Gains {
        let access = &carrier.access;
        let cells = setup.cells.len();
        let ue = |ue: &UeSite| Surroundings {
            position: ue.position,
            noise: noise_per_prb(ue.noise_figure, access.prb_bandwidth).milliwatts(),
            neighbours: 0,
            distant: 0,
            strongest_distant: 0.0,
            knows_uplinks: false,
            far: 0.0,
            far_uplink: 0.0,
            selected_at: ue.position,
            valid_within: Metres(0.0),
            changes: 0,
            replayed: None,
        };
        let mast = |site: &CellSite| {
            let power = carrier.power.unwrap_or(site.power);
            Mast::new(&CellSite { power, ..site.clone() }, access.prbs)
        };
        // Carriers share the obstacles in the way: one stream for all of them.
        let shadowing = setup
            .radio
            .shadowing
            .clone()
            .map(|params| Shadowing::new(params, Stream::new(setup.seed, "shadowing")));
        let terrain = Terrain {
            propagation: setup.radio.propagation.build(),
            chance: crate::settings::Radio::chance(setup.seed),
            is_shadowed_along: setup
                .ues
                .iter()
                .map(|ue| shadowing.as_ref().is_some_and(Shadowing::changes) && ue.trajectory().moves())
                .collect(),
            shadowing,
            cells: setup.cells.iter().map(mast).collect(),
            copies: setup.copies.clone(),
            downlink_frequency: carrier.downlink_frequency,
            uplink_frequency: carrier.uplink_frequency,
            threshold: setup.radio.neighbours(cells),
            max: setup.radio.max_neighbours(cells),
            max_distant: setup.radio.neighbours(cells).map_or(0, |_| cells.min(MAX_DISTANT)),
        };
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
