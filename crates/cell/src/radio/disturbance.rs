//! Noise and interference at the UEs of large networks, where distant cells count by their mean power.

use super::gains::{Gains, LinkId};
use super::on_air::Floor;
use crate::identity::CellId;
use crate::mac::sched::Rbgs;
use airwnd_phy::fading::trace::Way;

/// Fraction of the noise and interference below which an interferer's fading is neglected.
pub(super) const WEAK: f64 = 0.01;

/// RBGs that are added at once, and their number with room for all of a carrier.
const LANES: usize = 4;
type Lanes = [f32; LANES];
const ROOM: usize = 32;

/// One for each RBG of a set of four, by the bits of the set.
const MEMBERS: [Lanes; 1 << LANES] = {
    let mut members = [[0.0; LANES]; 1 << LANES];
    let mut set = 0;
    while set < members.len() {
        let mut lane = 0;
        while lane < LANES {
            members[set][lane] = (set >> lane & 1) as f32;
            lane += 1;
        }
        set += 1;
    }
    members
};

/// Gains of a cell that does not fade, or whose fading is neglected.
const CONSTANT: [f32; ROOM] = [1.0; ROOM];

/// Noise and interference of one UE in a TTI.
pub(super) struct Disturbance {
    /// Power per PRB in mW by RBG, with room up to whole lanes.
    by_rbg: Vec<Lanes>,
    rbgs: usize,
    // Scratch, by neighbour: what it sends, and the places of those that are added one by one.
    sent: Vec<Rbgs>,
    apart: Vec<u8>,
}

/// Transmissions of the cells in a TTI.
pub(super) struct Transmissions<F> {
    /// RBGs on which a cell sends.
    pub rbgs: F,
    /// The set on which most of them send: the whole carrier.
    pub whole: Rbgs,
    /// Whether it is the same in all TTIs: all cells send everywhere.
    pub is_constant: bool,
}

impl Disturbance {
    /// Space for a carrier of this many RBGs and UEs with this many neighbours.
    pub fn new(rbgs: usize, neighbours: usize) -> Disturbance {
        Disturbance {
            by_rbg: vec![[0.0; LANES]; rbgs.div_ceil(LANES)],
            rbgs,
            sent: vec![Rbgs::default(); neighbours],
            apart: vec![0; neighbours],
        }
    }

    /// The power per PRB in mW of noise and all cells but the serving one, by RBG. `way`: how interferers fade.
    pub fn measure(
        &mut self,
        gains: &Gains,
        LinkId { ue, cell: serving }: LinkId,
        floor: Floor<'_>,
        sent: &Transmissions<impl Fn(CellId) -> Rbgs>,
        way: Option<&Way<'_>>,
    ) -> &[f32] {
        let near = gains.near(ue);
        let senders = near.iter().zip(&mut self.sent[..near.len()]);
        let mut total = floor.mean();
        for (near, sends) in senders {
            let cell = near.cell;
            *sends = if cell == serving { Rbgs::default() } else { (sent.rbgs)(cell) };
            total += if sends.is_empty() { 0.0 } else { near.received };
        }
        let fades_from = way.map_or(f64::INFINITY, |_| WEAK * total);
        // Most are weak and send on the whole carrier or not at all.
        let (mut alike, mut apart) = (0.0, 0);
        let senders = near.iter().zip(&self.sent[..near.len()]).enumerate();
        for (place, (near, sends)) in senders {
            let is_alike = (near.received < fades_from) & (*sends == sent.whole);
            alike += if is_alike { near.received } else { 0.0 };
            self.apart[apart] = place as u8;
            apart += usize::from(!is_alike & !sends.is_empty());
        }
        let add = |by_rbg: &mut [Lanes], cell: CellId, received: f64, sends: Rbgs| {
            let fading = way.filter(|_| received >= fades_from).map(|way| way.to(cell.0.into()));
            let (received, gains) = (received as f32, fading.unwrap_or(&CONSTANT));
            // Most cells send on the whole carrier. RBGs beyond its end do not count.
            if sends == sent.whole {
                add_everywhere(by_rbg, received, gains);
            } else {
                add(by_rbg, sends, received, gains);
            }
        };
        self.by_rbg.fill([floor.noise as f32; LANES]);
        for place in self.apart[..apart].iter().map(|place| usize::from(*place)) {
            add(&mut self.by_rbg, near[place].cell, near[place].received, self.sent[place]);
        }
        add_everywhere(&mut self.by_rbg, alike as f32, &CONSTANT);
        let min = self.by_rbg.as_flattened()[..self.rbgs].iter().copied().fold(f32::INFINITY, f32::min);
        let others = gains.distant(ue, min.into());
        if !others.is_empty() {
            let mut alike = 0.0;
            for other in others {
                let (received, sends) = (f64::from(other.received), (sent.rbgs)(other.cell));
                if received < fades_from && sends == sent.whole {
                    alike += received;
                } else {
                    add(&mut self.by_rbg, other.cell, received, sends);
                }
            }
            add_everywhere(&mut self.by_rbg, alike as f32, &CONSTANT);
        }
        let floor = floor.without(others);
        let by_rbg = &mut self.by_rbg.as_flattened_mut()[..self.rbgs];
        for (rbg, power) in by_rbg.iter_mut().enumerate() {
            *power += floor.interference(rbg) as f32;
        }
        by_rbg
    }
}

/// Adds a received power that fades by these gains in the RBGs of a set.
#[inline(always)]
fn add(by_rbg: &mut [Lanes], set: Rbgs, received: f32, gains: &[f32]) {
    let (gains, _) = gains.as_chunks::<LANES>();
    let mut rest = set.0;
    for (powers, gains) in by_rbg.iter_mut().zip(gains) {
        let members = &MEMBERS[rest as usize % MEMBERS.len()];
        for lane in 0..LANES {
            powers[lane] += received * members[lane] * gains[lane];
        }
        rest >>= LANES;
    }
}

/// Adds a received power that fades by these gains in all RBGs.
#[inline(always)]
fn add_everywhere(by_rbg: &mut [Lanes], received: f32, gains: &[f32]) {
    let (gains, _) = gains.as_chunks::<LANES>();
    for (powers, gains) in by_rbg.iter_mut().zip(gains) {
        for lane in 0..LANES {
            powers[lane] += received * gains[lane];
        }
    }
}
