//! Transmitted power, received power and noise per resource block.

use super::Prbs;
use airwnd_units::{Db, Dbm, Hertz};

/// Twelve subcarriers of 15 kHz (TS 36.211 §6.2.3).
pub const PRB_BANDWIDTH: Hertz = Hertz(180e3);
/// Subcarriers, hence resource elements of one symbol, in a resource block (TS 36.211 Table 6.2.3-1).
pub const SUBCARRIERS_PER_PRB: f64 = 12.0;
/// Thermal noise kT at 290 K in dBm per hertz, -173.98 rounded as link budgets do (and ns-3).
pub const THERMAL_NOISE_DBM_PER_HERTZ: f64 = -174.0;

/// The receiver's noise on one resource block of this bandwidth B: kTB, raised by the noise figure.
pub fn noise_per_prb(noise_figure: Db, prb: Hertz) -> Dbm {
    Dbm(THERMAL_NOISE_DBM_PER_HERTZ) + Db::from_linear(prb.0) + noise_figure
}

/// The power on one resource block of a transmitter that spreads `total` evenly over `blocks`.
pub fn power_per_prb(total: Dbm, blocks: Prbs) -> Dbm {
    total - Db::from_linear(f64::from(blocks.0))
}

/// Reference signal received power: the received power of one resource element (TS 36.214 §5.1.1).
pub fn rsrp(received_per_prb: Dbm) -> Dbm {
    received_per_prb - elements()
}

/// Ratio of the power of a PRB to that of one resource element.
pub fn elements() -> Db {
    Db::from_linear(SUBCARRIERS_PER_PRB)
}

/// Ratio of the signal to the sum of noise and interferers, all on the same resource block.
pub fn sinr(signal: Dbm, noise: Dbm, interferers: impl IntoIterator<Item = Dbm>) -> Db {
    let disturbance: f64 = interferers.into_iter().map(Dbm::milliwatts).sum();
    signal - Dbm::from_milliwatts(noise.milliwatts() + disturbance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_ktb_and_noise_figure() {
        // -174 + 10 log10(180e3) + 9 = -174 + 52.5527 + 9
        assert!((noise_per_prb(Db(9.0), PRB_BANDWIDTH).0 + 112.4473).abs() < 1e-4);
    }

    #[test]
    fn power_is_split_over_blocks_and_elements() {
        // 43 dBm - 10 log10(50) = 26.0103 dBm; - 10 log10(12) = 15.2185 dBm
        let per_prb = power_per_prb(Dbm(43.0), Prbs(50));
        assert!((per_prb.0 - 26.0103).abs() < 1e-4);
        assert!((rsrp(per_prb).0 - 15.2185).abs() < 1e-4);
    }

    #[test]
    fn interference_as_strong_as_noise_costs_three_decibels() {
        // 10 log10(2) = 3.0103
        let alone = sinr(Dbm(-90.0), Dbm(-110.0), []);
        let disturbed = sinr(Dbm(-90.0), Dbm(-110.0), [Dbm(-110.0)]);
        assert!((alone.0 - 20.0).abs() < 1e-9);
        assert!((alone.0 - disturbed.0 - 3.0103).abs() < 1e-4);
    }
}
