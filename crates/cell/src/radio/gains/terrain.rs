//! Links between positions and cells.

use super::replayed::Replayed;
use super::{Link, MAX_DISTANT, Surroundings};
use crate::identity::{CellId, UeId};
use crate::settings::{CellSite, RanSetup};
use airwnd_kernel::Stream;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::antenna::{Antenna, Bearing};
use airwnd_phy::blockage::Blockage;
use airwnd_phy::link_budget::power_per_prb;
use airwnd_phy::propagation::{Draws, LinkGeometry, Propagation};
use airwnd_phy::shadowing::{Losses, ScaledPosition, Shadowing, Spread};
use airwnd_phy::{Position, Prbs};
use airwnd_units::{Db, Dbm, Hertz, Metres};

/// Fraction of its ground distance to a neighbour by which a UE moves before the link is computed anew: 0.08 dB with
/// the same path loss.
pub(super) const MOVED_LITTLE: f64 = 1.0 / 200.0;
/// Fraction of the correlation distance of its shadowing by which a UE moves before the link is computed anew: a standard
/// deviation of 0.13 dB if that of the shadowing is 8 dB.
const ALIKE: f64 = 1.0 / 256.0;
const UNSHADOWED: Spread = Spread { sigma: Db(0.0), correlation_distance: Metres(f64::INFINITY) };

/// Models that determine the gain of a link at a position.
pub(super) struct Terrain {
    propagation: Box<dyn Propagation>,
    /// Draws of models with chance.
    chance: Stream,
    /// `None`: no shadowing.
    shadowing: Option<Shadowing>,
    /// Whether the shadowing of a UE changes along its way.
    pub is_shadowed_along: Vec<bool>,
    pub cells: Vec<Mast>,
    /// Vectors to the copies of the network; the nearest copy of a site counts.
    pub copies: Vec<[Metres; 2]>,
    downlink_frequency: Hertz,
    uplink_frequency: Hertz,
    /// Fraction of noise and interference that makes a cell a neighbour; `None`: all cells are neighbours.
    pub threshold: Option<f64>,
    /// Maximum number of neighbours of a UE.
    pub max: usize,
    /// Maximum number of other cells of a UE that are known one by one.
    pub max_distant: usize,
}

/// Antenna and transmit power of a cell.
pub(in crate::radio) struct Mast {
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

impl Terrain {
    pub fn new(setup: &RanSetup, carrier: &ComponentCarrier) -> Terrain {
        let mast = |site: &CellSite| {
            let power = carrier.power.unwrap_or(site.power);
            Mast::new(&CellSite { power, ..site.clone() }, carrier.access.prbs)
        };
        // Carriers share the obstacles in the way: one stream for all of them.
        let stream = Stream::new(setup.seed, "shadowing");
        let shadowing = setup.radio.shadowing.clone().map(|params| Shadowing::new(params, stream));
        let changes = shadowing.as_ref().is_some_and(Shadowing::changes);
        let cells = setup.cells.len();
        let threshold = setup.radio.neighbours(cells);
        Terrain {
            propagation: setup.radio.propagation.build(),
            chance: crate::settings::Radio::chance(setup.seed),
            is_shadowed_along: setup.ues.iter().map(|ue| changes && ue.trajectory().moves()).collect(),
            shadowing,
            cells: setup.cells.iter().map(mast).collect(),
            copies: setup.copies.clone(),
            downlink_frequency: carrier.downlink_frequency,
            uplink_frequency: carrier.uplink_frequency,
            threshold,
            max: setup.radio.max_neighbours(cells),
            max_distant: threshold.map_or(0, |_| cells.min(MAX_DISTANT)),
        }
    }

    /// Computes links, whose cells and shadowing are given, at a position. `changed` receives those that have changed.
    pub fn measure(
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
    pub fn losses(&self, ue: UeId, along: bool) -> Option<Losses<'_>> {
        let shadowing = self.shadowing.as_ref().filter(|_| self.is_shadowed_along[ue.index()] == along)?;
        Some(shadowing.of(ue.0))
    }

    /// The link between a UE and a cell with its shadowing and blockage, before it is measured at a position.
    pub fn unmeasured(
        &self,
        ue: UeId,
        cell: CellId,
        losses: &mut Option<Losses<'_>>,
        blockage: Option<&Blockage>,
    ) -> Link {
        let site = self.cells[cell.index()].site.site;
        let shadowed = losses.as_mut().map_or(0.0, |losses| losses.to(site, cell.0.into(), None));
        let blocked = blockage.map_or(Db(0.0), |blockage| blockage.loss(ue.index(), site));
        Link { cell, shadowed, blocked, ..Link::default() }
    }

    /// The link between a UE at a position and a cell.
    pub fn link(&self, ue: UeId, at: &Surroundings, cell: CellId, blockage: Option<&Blockage>) -> Link {
        let Surroundings { position, replayed, .. } = *at;
        let mut link = [self.unmeasured(ue, cell, &mut self.losses(ue, false), blockage)];
        self.measure(ue, position, replayed, &mut link, |_, _| ());
        link[0]
    }

    /// Square of the distance within which a link that is not kept remains that of a cell without significance, in square
    /// metres.
    pub fn valid_within(&self, ue: UeId, position: Position, link: &Link) -> f32 {
        if !self.is_shadowed_along[ue.index()] {
            return link.valid_within;
        }
        // Shadowing changes a link sooner than its distance, but the selection is for long.
        let site = self.cells[link.cell.index()].site.position;
        let valid = MOVED_LITTLE * site.nearest_copy(&self.copies, position).ground_distance(position).0;
        (valid * valid) as f32
    }
}
