//! Radio environment map: reception of a UE on the primary carrier at each point of a grid.

use super::gains::{Mast, highest};
use crate::mac::uplink_adaptation::Density;
use crate::settings::RanSetup;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::link_budget::{noise_per_prb, power_per_prb, rsrp};
use airwnd_phy::propagation::{Draws, LinkGeometry};
use airwnd_phy::{Position, Prbs};
use airwnd_units::{Db, Dbm, Metres};

/// The receiver of a map.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    /// Height above ground.
    pub height: Metres,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
}

/// Reception at the points of a grid, row by row: `[y * columns + x]`.
#[derive(Clone, Debug)]
pub struct RadioMap {
    /// SINR in dB of the strongest cell while all cells send on all their PRBs: P_best / (N + sum P - P_best), with N
    /// the noise and P the received powers.
    pub sinr_db: Vec<f64>,
    /// RSRP in dBm of that cell.
    pub rsrp_dbm: Vec<f64>,
    /// SINR in dB at which that cell receives a UE at this point that sends over the whole carrier, without
    /// interference.
    pub uplink_sinr_db: Vec<f64>,
    /// Uplink SINR in dB on each PRB of the narrowest grant.
    pub uplink_narrow_sinr_db: Vec<f64>,
    /// Number of that cell; the lowest of several equal ones.
    pub cell: Vec<u32>,
}

impl RadioMap {
    /// Computes the map of a setup over all points of the grid spanned by `x` (east) and `y` (north).
    ///
    /// Shadowing and fading are omitted because they are drawn per UE, not per position: the map shows medians. Its
    /// SINR is that of ns-3's RadioEnvironmentMapHelper.
    pub fn new(setup: &RanSetup, listener: Listener, x: &[Metres], y: &[Metres]) -> RadioMap {
        let carriers = setup.carriers().expect("a scenario is checked before its map is drawn");
        let ComponentCarrier { access, downlink_frequency, uplink_frequency, .. } = &carriers[0];
        let control = setup.power_control(access);
        let prbs = access.prbs;
        let masts: Vec<Mast> = setup.cells.iter().map(|site| Mast::new(site, prbs)).collect();
        let propagation = setup.radio.propagation.build();
        let draws = Draws::MEDIAN;
        let noise = noise_per_prb(listener.noise_figure, access.prb_bandwidth).milliwatts();
        let schemes = setup.uplink_schemes(access);
        let points = x.len() * y.len();
        let mut map = RadioMap {
            sinr_db: Vec::with_capacity(points),
            rsrp_dbm: Vec::with_capacity(points),
            uplink_sinr_db: Vec::with_capacity(points),
            uplink_narrow_sinr_db: Vec::with_capacity(points),
            cell: Vec::with_capacity(points),
        };
        let mut received = vec![0.0; masts.len()];
        for y in y {
            for x in x {
                let here = Position { x: *x, y: *y, z: listener.height };
                // The sectors of a site share their path loss.
                let mut before: Option<(Position, Db)> = None;
                for (power, mast) in received.iter_mut().zip(&masts) {
                    let there = mast.site.position.nearest_copy(&setup.copies, here);
                    let loss = before.filter(|(position, _)| *position == there).map(|(_, loss)| loss);
                    let loss = loss.unwrap_or_else(|| {
                        propagation.path_loss(&LinkGeometry::new(there, here, *downlink_frequency, draws))
                    });
                    before = Some((there, loss));
                    *power = (mast.power_per_prb + mast.gain(there, here) - loss).milliwatts();
                }
                let best = highest(received.iter().copied());
                let others: f64 =
                    received.iter().enumerate().filter(|(cell, _)| *cell != best).map(|(_, p)| p).sum();
                map.sinr_db.push(Db::from_linear(received[best] / (noise + others)).0);
                map.rsrp_dbm.push(rsrp(Dbm::from_milliwatts(received[best])).0);
                map.cell.push(best as u32);
                let mast = &masts[best];
                let there = mast.site.position.nearest_copy(&setup.copies, here);
                let link = LinkGeometry::new(there, here, *uplink_frequency, draws);
                let gain = mast.gain(there, here) - propagation.path_loss(&link);
                let noise = noise_per_prb(mast.site.noise_figure, access.prb_bandwidth);
                let loss = mast.power_per_prb - Dbm::from_milliwatts(received[best]);
                let control = &control;
                let snr =
                    |prbs: Prbs| power_per_prb(control.total_power(prbs, loss, Db(0.0)), prbs) + gain - noise;
                let density = Density::alone(control.headroom(Prbs(1), loss, Db(0.0)), snr(Prbs(1)));
                let (narrowest, _) = schemes.narrowest(snr(prbs), density);
                map.uplink_sinr_db.push(snr(prbs).0);
                map.uplink_narrow_sinr_db.push(snr(narrowest).0);
            }
        }
        map
    }
}
