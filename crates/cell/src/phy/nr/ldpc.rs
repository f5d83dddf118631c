//! Block errors of NR's LDPC code, from the tables of Sionna.

use super::tables::{Modulation, Scheme, Table};
use super::transport_block::Segmentation;
use crate::phy::error_model::upper_tail;
use crate::phy::{Mcs, Sinr};
use airwnd_units::Db;

/// MCS, code block bits and errors by SNR: Apache-2.0, see its header.
const TABLES: &str = include_str!("../../../data/nr_block_errors.csv");

/// SNRs of the tables.
const POINTS: usize = 15;
/// The first SNR in dB.
const FIRST: f64 = -5.0;
/// Distance of SNRs in dB.
const STEP: f64 = 25.0 / 14.0;

/// Quantile beyond which an error is 0 or 1: an error of 5e-5, which the tables round to 0.
const CERTAIN: f64 = 3.8906;
/// Q(x) = 0.1.
const TENTH: f64 = 1.2816;

/// Parameter β of the exponential effective SINR mapping for MCS 0 to 28 of table 1: Copyright 2021-2025 NVIDIA
/// CORPORATION & AFFILIATES, Apache-2.0, github.com/NVlabs/sionna, src/sionna/sys/esm_params, eesm_beta_table.json.
const BETA: [f64; 29] = [
    1.60, 1.61, 1.63, 1.65, 1.67, 1.70, 1.73, 1.76, 1.79, 1.82, 3.97, 4.27, 4.71, 5.16, 5.66, 6.16, 6.50,
    9.95, 10.97, 12.92, 14.96, 17.06, 19.33, 21.85, 24.51, 27.14, 29.94, 32.05, 34.28,
];

/// The SINR of a flat channel with as many block errors as this one, for an MCS of table 1 (EESM): -β ln mean exp(-γ /
/// β).
///
/// Panics above MCS 28.
pub fn effective_sinr(mcs: Mcs, sinr: Sinr) -> Db {
    let beta = BETA[usize::from(mcs.0)];
    if let Sinr::Flat(flat) = sinr {
        return flat;
    }
    let mean = sinr.mean(|group| libm::exp(-libm::pow(10.0, group.0 / 10.0) / beta));
    Db(10.0 * libm::log10(-beta * libm::log(mean)))
}

/// The way in which HARQ combines the transmissions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combining {
    /// Every transmission repeats the same bits: their SINRs add up.
    Chase,
    /// Every transmission brings new coded bits: the code rate falls, and SINRs are averaged. Below the lowest rate of
    /// the tables for a modulation, further bits count as repeated.
    IncrementalRedundancy,
}

/// Code rate and SINR with which a block is decoded after these transmissions of equal length.
///
/// Panics without transmissions.
pub fn combine(combining: Combining, scheme: Scheme, sinrs: &[Db]) -> (f64, Db) {
    assert!(!sinrs.is_empty(), "a block is decoded from at least one transmission");
    let sum: f64 = sinrs.iter().map(|sinr| libm::pow(10.0, sinr.0 / 10.0)).sum();
    let count = sinrs.len() as f64;
    match combining {
        Combining::Chase => (scheme.rate.ratio(), Db(10.0 * libm::log10(sum))),
        Combining::IncrementalRedundancy => {
            (scheme.rate.ratio() / count, Db(10.0 * libm::log10(sum / count)))
        }
    }
}

/// Block errors by SINR of one MCS and code block size.
#[derive(Clone, Debug)]
struct Curve {
    scheme: Scheme,
    bits: u32,
    /// x of the error Q(x) at each SNR, ascending.
    quantiles: [f64; POINTS],
    /// SINR in dB at which one in ten blocks fails.
    tenth: f64,
}

impl Curve {
    fn new(scheme: Scheme, bits: u32, errors: [f64; POINTS]) -> Curve {
        let quantiles = errors.map(quantile);
        let above = quantiles.partition_point(|x| *x < TENTH).clamp(1, POINTS - 1);
        let (low, high) = (quantiles[above - 1], quantiles[above]);
        let tenth = FIRST + STEP * (above as f64 - 1.0 + (TENTH - low) / (high - low));
        Curve { scheme, bits, quantiles, tenth }
    }

    /// The error at an SINR in dB: between the points of the table, quantiles are interpolated linearly.
    fn error(&self, sinr: f64) -> f64 {
        let place = (sinr - FIRST) / STEP;
        let below = (place.max(0.0) as usize).min(POINTS - 2);
        let (low, high) = (self.quantiles[below], self.quantiles[below + 1]);
        let x = low + (high - low) * (place - below as f64);
        if x >= CERTAIN {
            0.0
        } else if x <= -CERTAIN {
            1.0
        } else {
            upper_tail(x)
        }
    }
}

/// The x with Q(x) = `error`, between the bounds at which an error is certain.
fn quantile(error: f64) -> f64 {
    if error <= 0.0 || error >= 1.0 {
        return if error <= 0.0 { CERTAIN } else { -CERTAIN };
    }
    let (mut low, mut high) = (-CERTAIN, CERTAIN);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if upper_tail(middle) > error { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Linear interpolation of `value` in `at`, constant beyond the ends.
fn between(at: f64, (low, low_value): (f64, f64), (high, high_value): (f64, f64)) -> f64 {
    if high == low {
        return low_value;
    }
    low_value + (high_value - low_value) * ((at - low) / (high - low)).clamp(0.0, 1.0)
}

/// Block errors of QPSK, 16QAM and 64QAM.
///
/// Sionna simulated MCS 3 to 28 of table 1 with code blocks of 24 to 2000 bits, at SNRs 1.79 dB apart: a curve of long
/// blocks falls from 1 to 0 within one step, and its 10 % point is known to within a fraction of that step. A code
/// block of another size or rate has the shape of the table's nearest smaller one; its 10 % point is interpolated
/// linearly in the rate and in 1 / sqrt(bits), and constant beyond the simulated sizes. Below the lowest simulated rate
/// of a modulation, coded bits count as repeated: the SINR rises in proportion. There are no curves for 256QAM.
#[derive(Clone, Debug)]
pub struct BlockErrors {
    /// By modulation, rate and size, ascending.
    curves: Vec<Curve>,
}

impl Default for BlockErrors {
    fn default() -> BlockErrors {
        let number = |text: &str| text.parse::<u32>().expect("the table has whole numbers");
        let curve = |line: &str| {
            let mut fields = line.split(',').map(number);
            let mut next = || fields.next().expect("a row has 17 fields");
            let scheme = Table::Qam64.mcs(Mcs(next() as u8)).expect("an MCS of table 1");
            let bits = next();
            Curve::new(scheme, bits, std::array::from_fn(|_| f64::from(next()) / 1e4))
        };
        let lines = TABLES.lines().filter(|line| !line.starts_with('#'));
        BlockErrors { curves: lines.map(curve).collect() }
    }
}

impl BlockErrors {
    /// The probability that a code block of `bits` with CRCs fails at a rate and a flat SINR; `None` for 256QAM.
    pub fn code_block_error(&self, modulation: Modulation, rate: f64, bits: u32, sinr: Db) -> Option<f64> {
        let (curve, tenth, repetition) = self.place(modulation, rate, bits)?;
        Some(curve.error(sinr.0 + repetition - tenth + curve.tenth))
    }

    /// SINR at which one in ten code blocks fails; `None` for 256QAM.
    pub fn tenth(&self, modulation: Modulation, rate: f64, bits: u32) -> Option<Db> {
        self.place(modulation, rate, bits).map(|(_, tenth, repetition)| Db(tenth - repetition))
    }

    /// The probability that one of the code blocks of a transport block fails; `None` for 256QAM.
    pub fn block_error(
        &self,
        modulation: Modulation,
        rate: f64,
        cut: &Segmentation,
        sinr: Db,
    ) -> Option<f64> {
        let error = self.code_block_error(modulation, rate, cut.filled, sinr)?;
        Some(1.0 - libm::pow(1.0 - error, f64::from(cut.blocks)))
    }

    /// The curve with the shape for a code block, its 10 % point, and the gain of repeated bits in dB.
    fn place(&self, modulation: Modulation, rate: f64, bits: u32) -> Option<(&Curve, f64, f64)> {
        let alike = |curve: &&Curve| curve.scheme.modulation == modulation;
        let lowest = self.curves.iter().find(alike)?.scheme.rate;
        let below = |curve: &&Curve| alike(curve) && curve.scheme.rate.ratio() <= rate;
        let low = self.curves.iter().rfind(below).map_or(lowest, |curve| curve.scheme.rate);
        let above = |curve: &&Curve| alike(curve) && curve.scheme.rate.ratio() >= rate;
        let high = self.curves.iter().find(above).map_or(low, |curve| curve.scheme.rate).max(low);
        // at a rate: the curve of the nearest smaller size and the interpolated 10 % point
        let at_rate = |wanted| {
            let sizes =
                || self.curves.iter().filter(move |curve| alike(curve) && curve.scheme.rate == wanted);
            let smallest = sizes().next().expect("each rate has sizes");
            let small = sizes().rfind(|curve| curve.bits <= bits).unwrap_or(smallest);
            let large = sizes().find(|curve| curve.bits >= bits).unwrap_or(small);
            let inverse = |bits: u32| 1.0 / libm::sqrt(f64::from(bits));
            let tenth = between(
                inverse(bits),
                (inverse(small.bits), small.tenth),
                (inverse(large.bits), large.tenth),
            );
            (small, tenth)
        };
        let (curve, low_tenth) = at_rate(low);
        let (_, high_tenth) = at_rate(high);
        let tenth = between(rate, (low.ratio(), low_tenth), (high.ratio(), high_tenth));
        let repetition = 10.0 * libm::log10((lowest.ratio() / rate).max(1.0));
        Some((curve, tenth, repetition))
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport_block::segment;
    use super::*;
    use crate::phy::Prbs;

    #[test]
    fn points_of_the_tables_are_reproduced() {
        let model = BlockErrors::default();
        assert_eq!(model.curves.len(), 26 * 5);
        for line in TABLES.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<u32> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let Scheme { modulation, rate } = Table::Qam64.mcs(Mcs(fields[0] as u8)).unwrap();
            for (point, error) in fields[2..].iter().enumerate() {
                let sinr = Db(FIRST + STEP * point as f64);
                let found = model.code_block_error(modulation, rate.ratio(), fields[1], sinr).unwrap();
                assert!((found - f64::from(*error) / 1e4).abs() < 2e-4, "{line}: {sinr:?} {found}");
            }
        }
    }

    #[test]
    fn ten_percent_points_lie_between_the_points_of_the_tables() {
        let model = BlockErrors::default();
        for curve in &model.curves {
            let Scheme { modulation, rate } = curve.scheme;
            let tenth = model.tenth(modulation, rate.ratio(), curve.bits).unwrap();
            let error = model.code_block_error(modulation, rate.ratio(), curve.bits, tenth).unwrap();
            assert!((error - 0.1).abs() < 1e-4, "{curve:?} {error}");
            let place = (tenth.0 - FIRST) / STEP;
            if curve.quantiles[POINTS - 1] < TENTH {
                // MCS 26 and 100 bits still fails with 12.6 % at the last point, 20 dB
                assert!(place < POINTS as f64 - 0.8, "{curve:?}");
                continue;
            }
            assert!((0.0..=(POINTS - 1) as f64).contains(&place), "{curve:?}");
            let (low, high) = (curve.quantiles[place as usize], curve.quantiles[place as usize + 1]);
            assert!(low <= TENTH && high >= TENTH, "{curve:?}");
        }
    }

    #[test]
    fn schemes_that_no_table_has() {
        let model = BlockErrors::default();
        assert_eq!(model.tenth(Modulation::Qam256, 0.7, 1000), None);
        // half the lowest rate of QPSK, MCS 3 with 251 / 1024: 3.01 dB less
        let lowest = 251.0 / 1024.0;
        let [half, whole] =
            [lowest / 2.0, lowest].map(|rate| model.tenth(Modulation::Qpsk, rate, 500).unwrap().0);
        assert!((whole - half - 3.0103).abs() < 1e-4);
        // between two rates and two sizes
        let point = |rate, bits| model.tenth(Modulation::Qam16, rate, bits).unwrap().0;
        let middle = point(400.0 / 1024.0, 700);
        assert!(point(378.0 / 1024.0, 700) < middle && middle < point(434.0 / 1024.0, 700));
        assert_eq!(point(0.5, 2000), point(0.5, 8448));
    }

    #[test]
    fn a_transport_block_needs_all_its_code_blocks() {
        let model = BlockErrors::default();
        let rate = Table::Qam64.mcs(Mcs(20)).unwrap().rate;
        let cut = segment(38936, rate);
        let sinr = model.tenth(Modulation::Qam64, rate.ratio(), cut.filled).unwrap();
        let error = model.block_error(Modulation::Qam64, rate.ratio(), &cut, sinr).unwrap();
        assert!((error - (1.0 - 0.9f64.powi(5))).abs() < 1e-3, "{error}");
    }

    #[test]
    fn combining_adds_energy_or_lowers_the_rate() {
        let scheme = Table::Qam64.mcs(Mcs(16)).unwrap();
        let sinrs = [Db(3.0), Db(3.0)];
        let (rate, sinr) = combine(Combining::Chase, scheme, &sinrs);
        assert!(rate == scheme.rate.ratio() && (sinr.0 - 6.0103).abs() < 1e-4);
        let (rate, sinr) = combine(Combining::IncrementalRedundancy, scheme, &sinrs);
        assert!(rate == scheme.rate.ratio() / 2.0 && (sinr.0 - 3.0).abs() < 1e-9);
        // redundancy is worth at least the repeated energy
        let model = BlockErrors::default();
        let tenth = |rate| model.tenth(Modulation::Qam16, rate, 1000).unwrap().0;
        assert!(tenth(scheme.rate.ratio()) - tenth(rate) > 3.0103);
    }

    #[test]
    fn the_effective_sinr_is_below_the_mean() {
        let same = [(Db(4.0), Prbs(3)), (Db(4.0), Prbs(9))];
        assert!((effective_sinr(Mcs(12), Sinr::Groups(&same)).0 - 4.0).abs() < 1e-9);
        assert_eq!(effective_sinr(Mcs(12), Sinr::Flat(Db(4.0))), Db(4.0));
        // 2 and 8 with β = 4.71: -4.71 ln((exp(-2 / 4.71) + exp(-8 / 4.71)) / 2)
        let groups = [(Db(10.0 * 2f64.log10()), Prbs(1)), (Db(10.0 * 8f64.log10()), Prbs(1))];
        let expected = -4.71 * (((-2.0 / 4.71f64).exp() + (-8.0 / 4.71f64).exp()) / 2.0).ln();
        let found = effective_sinr(Mcs(12), Sinr::Groups(&groups));
        assert!((10f64.powf(found.0 / 10.0) - expected).abs() < 1e-9 && expected < 5.0);
    }
}
