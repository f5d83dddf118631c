//! Channel of a coded bit: mutual information and dispersion, tabulated over SINR.
//!
//! Computing the values takes 25 ms of quadrature, longer than a short run, so they are stored in `table.rs`. `cargo
//! run -p airwnd-cell --example bit_channel` regenerates it; a test compares it bit for bit.

mod table;

use crate::tables::Modulation;
use airwnd_units::Db;

pub use table::{BINARY_DISPERSION, INFORMATION};

/// Start of the SINR grid in decibels. At its ends none or all of the information is received.
pub const LOWEST: f64 = -30.0;
/// Step of the grid in decibels.
pub const STEP: f64 = 0.25;
/// Number of points of the grid.
pub const POINTS: usize = 281;

/// Information by grid point.
fn information_of(modulation: Modulation) -> &'static [f64; POINTS] {
    &INFORMATION[modulation as usize]
}

/// The mutual information between a coded bit and its soft value, 0 to 1.
pub fn information(modulation: Modulation, sinr: Db) -> f64 {
    let table = information_of(modulation);
    if sinr.0 < LOWEST {
        // Far below one, information is proportional to power.
        return table[0] * (sinr - Db(LOWEST)).linear();
    }
    interpolate(table, sinr)
}

/// The SINR at which a bit receives this information; the end of the grid for a full bit.
pub fn sinr(modulation: Modulation, information: f64) -> Db {
    let table = information_of(modulation);
    let above = table.partition_point(|entry| *entry < information);
    if above == 0 {
        return Db(LOWEST) + Db::from_linear(information / table[0]);
    }
    let Some(end) = table.get(above) else { return Db(LOWEST + STEP * (POINTS - 1) as f64) };
    let start = table[above - 1];
    Db(LOWEST + STEP * ((above - 1) as f64 + (information - start) / (end - start)))
}

/// The dispersion of a coded bit of QPSK, in bits squared.
pub fn binary_dispersion(sinr: Db) -> f64 {
    interpolate(&BINARY_DISPERSION, sinr)
}

/// Linear interpolation between grid points; constant beyond the ends.
fn interpolate(table: &[f64], sinr: Db) -> f64 {
    let place = ((sinr.0 - LOWEST) / STEP).clamp(0.0, (POINTS - 1) as f64);
    let row = (place as usize).min(POINTS - 2);
    let fraction = place - row as f64;
    table[row] + fraction * (table[row + 1] - table[row])
}

/// Computes the content of [`INFORMATION`] and [`BINARY_DISPERSION`].
pub fn tabulate() -> ([[f64; POINTS]; 4], [f64; POINTS]) {
    let tables = Modulation::ALL.map(|modulation| {
        let mut moments: [Moments; POINTS] =
            std::array::from_fn(|i| bit_channel(modulation, Db(LOWEST + STEP * i as f64)));
        // Near one, rounding errors of the quadrature exceed the growth from point to point.
        for i in 1..POINTS {
            moments[i].information = moments[i].information.clamp(moments[i - 1].information, 1.0);
        }
        moments
    });
    let dispersion = tables[Modulation::Qpsk as usize].map(|moments| moments.dispersion);
    (tables.map(|table| table.map(|moments| moments.information)), dispersion)
}

/// Mean and variance of the information density of a coded bit, in bits and bits squared.
#[derive(Clone, Copy, Debug)]
struct Moments {
    information: f64,
    dispersion: f64,
}

/// Computes the channel of a coded bit of a Gray-mapped modulation in white Gaussian noise.
///
/// A square constellation consists of two independent amplitude modulations, so the integral has one dimension. With
/// the amplitude x of energy 1, noise z and the labels' bits b, bit by bit, `i = sum_b 1 - log2(sum_x' p(y|x') /
/// sum_{x': b(x') = b(x)} p(y|x'))` (Caire et al. 1998, §III). The integral over z is a trapezoidal sum, which for a
/// Gaussian weight converges as fast as Gauss-Hermite quadrature (Goodwin 1949); its step and range leave an error
/// below 1e-6.
fn bit_channel(modulation: Modulation, sinr: Db) -> Moments {
    const HALF_POINTS: i32 = 64;
    const NOISE_STEP: f64 = 0.125;
    let bits = modulation.order() / 2;
    let levels = 1usize << bits;
    let spacing = libm::sqrt(3.0 / ((levels * levels - 1) as f64)) * libm::sqrt(sinr.linear());
    let amplitude = |level: usize| (2.0 * level as f64 - (levels - 1) as f64) * spacing;
    let gray = |level: usize| level ^ (level >> 1);
    let (mut mean, mut square) = (0.0, 0.0);
    // The constellation is symmetric: half of its levels are sufficient.
    for sent in 0..levels / 2 {
        for point in -HALF_POINTS..=HALF_POINTS {
            let noise = NOISE_STEP * f64::from(point);
            let weight = NOISE_STEP * libm::exp(-noise * noise / 2.0) / libm::sqrt(std::f64::consts::TAU);
            let mut likelihood = [0.0; 16];
            for (level, entry) in likelihood[..levels].iter_mut().enumerate() {
                let off = amplitude(sent) - amplitude(level);
                *entry = libm::exp(-off * (off / 2.0 + noise));
            }
            let all: f64 = likelihood.iter().sum();
            let density: f64 = (0..bits)
                .map(|bit| {
                    let same = |level: &usize| (gray(*level) ^ gray(sent)) >> bit & 1 == 0;
                    let agreeing: f64 = (0..levels).filter(same).map(|level| likelihood[level]).sum();
                    1.0 - libm::log2(all / agreeing)
                })
                .sum();
            mean += weight * density;
            square += weight * density * density;
        }
    }
    let sent = (levels / 2) as f64;
    let (mean, square, bits) = (mean / sent, square / sent, f64::from(bits));
    Moments { information: mean / bits, dispersion: (square - mean * mean).max(0.0) / bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_of_qpsk_at_known_points() {
        // The limit of rate 1/2 with binary input is Eb/N0 = 0.187 dB; a QPSK symbol carries 2 x 1/2 bit, so its Es/N0
        // is the same.
        assert!((information(Modulation::Qpsk, Db(0.187)) - 0.5).abs() < 1e-3);
        // low power: I = sinr / (2 ln 2) bits per coded bit of QPSK
        let weak = information(Modulation::Qpsk, Db(-29.0));
        assert!((weak / (Db(-29.0).linear() / (2.0 * std::f64::consts::LN_2)) - 1.0).abs() < 2e-3);
    }

    #[test]
    fn bit_interleaving_never_beats_shannon_and_higher_orders_need_more_power() {
        for half in -60..70 {
            let sinr = Db(f64::from(half) / 2.0);
            let per_bit = Modulation::ALL.map(|modulation| information(modulation, sinr));
            for (modulation, information) in Modulation::ALL.iter().zip(per_bit) {
                let symbol = f64::from(modulation.order()) * information;
                assert!(symbol <= libm::log2(1.0 + sinr.linear()) + 1e-6, "{modulation:?} {sinr:?}");
            }
            assert!(per_bit.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{sinr:?} {per_bit:?}");
        }
        // at high rates 256QAM carries more than 64QAM
        assert!(8.0 * information(Modulation::Qam256, Db(20.0)) > 6.0);
    }

    #[test]
    fn the_inverse_returns_the_ratio() {
        for modulation in Modulation::ALL {
            for ratio in [-35.0, -12.3, 0.0, 4.4, 9.1] {
                let back = sinr(modulation, information(modulation, Db(ratio)));
                assert!((back.0 - ratio).abs() < 1e-6, "{modulation:?} {ratio}: {back:?}");
            }
            assert_eq!(sinr(modulation, 1.1), Db(40.0));
        }
    }

    #[test]
    fn the_table_matches_the_quadrature() {
        let bits = |row: [f64; POINTS]| row.map(f64::to_bits);
        let (information, dispersion) = tabulate();
        assert!(INFORMATION.map(bits) == information.map(bits), "run the example bit_channel");
        assert!(bits(BINARY_DISPERSION) == bits(dispersion), "run the example bit_channel");
    }

    #[test]
    fn the_quadrature_has_converged() {
        // dispersion of a binary channel: at low power V = I 2 log2(e) (variance of a weak Gaussian LLR)
        let weak = bit_channel(Modulation::Qpsk, Db(-25.0));
        assert!((weak.dispersion / (2.0 * std::f64::consts::LOG2_E * weak.information) - 1.0).abs() < 0.01);
        // 64QAM at 12 dB by a sum that is independent of the quadrature
        let reference = fine_information_of_eight_levels(12.0);
        assert!((bit_channel(Modulation::Qam64, Db(12.0)).information - reference).abs() < 1e-6);
    }

    /// Direct transcription of the definition: 64QAM's bit information by a fine sum over y, without using symmetry.
    fn fine_information_of_eight_levels(sinr: f64) -> f64 {
        let levels: Vec<f64> = (0..8).map(|i| f64::from(2 * i - 7) / 21f64.sqrt()).collect();
        let labels = [0, 1, 3, 2, 6, 7, 5, 4];
        let variance = 10f64.powf(-sinr / 10.0);
        let step = 2e-4;
        let mut information = 0.0;
        for point in -20_000..=20_000 {
            let y = f64::from(point) * step;
            let p: Vec<f64> = levels.iter().map(|x| (-(y - x) * (y - x) / (2.0 * variance)).exp()).collect();
            let all: f64 = p.iter().sum();
            for bit in 0..3 {
                for value in 0..2 {
                    let part: f64 = (0..8).filter(|x| labels[*x] >> bit & 1 == value).map(|x| p[x]).sum();
                    if part > 0.0 {
                        information += part * (2.0 * part / all).log2();
                    }
                }
            }
        }
        information * step / (std::f64::consts::TAU * variance).sqrt() / 8.0 / 3.0
    }
}
