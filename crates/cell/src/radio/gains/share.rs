//! The neighbours of UEs, and the links to them.

use super::terrain::{MOVED_LITTLE, Terrain};
use super::{Distant, Link, Near, SIGNIFICANT, Surroundings, UNKNOWN, find, strongest};
use crate::identity::{CellId, UeId};
use airwnd_phy::Position;
use airwnd_phy::blockage::Blockage;
use airwnd_units::{Db, Metres};

/// Fraction of the distance to the nearest cell that is not a neighbour by which a UE moves before its neighbours are
/// selected anew. With a path loss of 37.6 dB per decade such a cell gains at most 0.3 dB meanwhile, and as much on the
/// edge of a sector. With an eighth 4 % of the SINRs of walking UEs have errors above 0.1 dB at low load.
const MOVED: f64 = 1.0 / 64.0;

/// The gains of some UEs, which change independently of those of the others.
pub(in crate::radio) struct Share<'a> {
    pub(super) terrain: &'a Terrain,
    pub(super) blockage: Option<&'a Blockage>,
    /// Number of the first UE.
    pub(super) first: usize,
    pub(super) links: &'a mut [Link],
    pub(super) near: &'a mut [Near],
    pub(super) uplinks: &'a mut [f64],
    pub(super) distant: &'a mut [Distant],
    pub(super) ues: &'a mut [Surroundings],
    pub(super) scratch: &'a mut Scratch,
}

/// Cells of a UE while its neighbours are selected.
pub(super) struct Scratch {
    pub(super) all: Vec<Link>,
    pub(super) distant: Vec<Distant>,
    /// Cells that can be neighbours, with their received power per PRB in mW.
    pub(super) powers: Vec<(f64, CellId)>,
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
    pub(super) fn select(&mut self, ue: UeId, serving: Option<CellId>) {
        self.measure_all(ue);
        let index = ue.index() - self.first;
        let surroundings = &mut self.ues[index];
        surroundings.changes += 1;
        surroundings.selected_at = surroundings.position;
        (surroundings.far, surroundings.far_uplink) = (0.0, 0.0);
        surroundings.valid_within = Metres(f64::INFINITY);
        if let Some(threshold) = self.terrain.threshold {
            let strongest = || strongest(self.scratch.all.iter().map(Link::near)).expect("there are cells");
            let serving = serving.unwrap_or_else(strongest);
            self.set_apart(ue, serving, threshold);
        }
        let Share { terrain, links, near, uplinks, ues, scratch, .. } = self;
        let all = &scratch.all;
        (ues[index].neighbours, ues[index].knows_uplinks) = (all.len() as u32, false);
        let first = index * terrain.max;
        links[first..][..all.len()].copy_from_slice(all);
        near[first..].iter_mut().zip(all).for_each(|(near, link)| *near = link.near());
        uplinks[first..][..terrain.max].fill(UNKNOWN);
    }

    /// Computes the links to all cells.
    fn measure_all(&mut self, ue: UeId) {
        let Share { terrain, blockage, first, ues, scratch, .. } = self;
        let Surroundings { position, replayed, .. } = ues[ue.index() - *first];
        let all = &mut scratch.all;
        all.clear();
        let mut losses = terrain.losses(ue, false);
        let cells = CellId(0).onwards().take(terrain.cells.len());
        all.extend(cells.map(|cell| terrain.unmeasured(ue, cell, &mut losses, *blockage)));
        terrain.measure(ue, position, replayed, all, |_, _| ());
    }

    /// Removes the links to cells that are not neighbours, of which the sum of powers and the strongest ones are kept.
    fn set_apart(&mut self, ue: UeId, serving: CellId, threshold: f64) {
        let Share { terrain, first, distant, ues, scratch, .. } = self;
        let Scratch { all, distant: others, powers } = &mut **scratch;
        let index = ue.index() - *first;
        let surroundings = &mut ues[index];
        let interferers = all.iter().filter(|link| link.cell != serving);
        let min = threshold * (surroundings.noise + interferers.map(|link| link.received).sum::<f64>());
        let significant = SIGNIFICANT * surroundings.noise;
        let (position, is_replayed) = (surroundings.position, surroundings.replayed.is_some());
        others.clear();
        let mut nearest = f32::INFINITY;
        let mut uplink = UplinkRatio::default();
        let mut leave = |link: &Link| {
            // Other cells stay out of reach of a UE with a recorded channel.
            let valid_within =
                if is_replayed { f32::INFINITY } else { terrain.valid_within(ue, position, link) };
            nearest = nearest.min(valid_within);
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
        keep_strongest(others, surroundings.far, terrain.max_distant);
        distant[index * terrain.max_distant..][..others.len()].copy_from_slice(others);
        surroundings.distant = others.len() as u32;
        surroundings.strongest_distant = others.first().map_or(0.0, |other| other.received);
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

/// Keeps the strongest of these cells, at most `max`, by power. `far`: sum of the powers of all cells that are not
/// neighbours.
fn keep_strongest(others: &mut Vec<Distant>, far: f64, max: usize) {
    let by_power = |a: &Distant, b: &Distant| b.received.total_cmp(&a.received).then(a.cell.cmp(&b.cell));
    if others.len() > max {
        others.select_nth_unstable_by(max, by_power);
        others.truncate(max);
    }
    others.sort_unstable_by(by_power);
    let mut weaker = far;
    for other in others {
        weaker -= f64::from(other.received);
        other.weaker = weaker.max(0.0) as f32;
    }
}
