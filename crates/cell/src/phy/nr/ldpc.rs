//! Block errors of NR's LDPC code, from the tables of Sionna.

use super::bit_channel::{self, information};
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

/// Combination of the transmissions of a block by HARQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combining {
    /// Every transmission repeats the same bits at the same places of the same symbols: the SINRs add up.
    Chase,
    /// Every transmission brings new coded bits: the code rate falls. Below the lowest rate of the curves, further bits
    /// count as repeated.
    IncrementalRedundancy,
}

/// Soft buffer of a HARQ process: sums over the transmissions of a block. The default is an empty buffer.
///
/// The mapping from SINRs to a block error is by mutual information per coded bit (MIESM), as for LTE
/// ([`crate::phy::error_model::block_error_curves`]), and not by the exponential mapping (EESM) whose parameters Sionna
/// supplies with its tables: mutual information has no parameter to fit per MCS, covers 256QAM and any code rate, and
/// adds up over transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoftBits {
    /// Coded bits received.
    pub coded: f64,
    /// Mutual information between the bits sent and the soft values received, in bits.
    pub information: f64,
}

impl SoftBits {
    /// The soft buffer after one more transmission of `coded` bits (G of TS 38.212 §5.4.2.1) over all PRBs and layers.
    pub fn receive(self, combining: Combining, modulation: Modulation, coded: u32, sinr: Sinr) -> SoftBits {
        let coded = f64::from(coded);
        let mean = sinr.mean(|sinr| information(modulation, sinr));
        match combining {
            Combining::Chase if self.coded > 0.0 => {
                let flat = |mean| bit_channel::sinr(modulation, mean).linear();
                let sum = Db::from_linear(flat(self.information / self.coded) + flat(mean));
                SoftBits { coded, information: coded * information(modulation, sum) }
            }
            _ => SoftBits { coded: self.coded + coded, information: self.information + coded * mean },
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
/// linearly in the rate and in 1 / sqrt(bits), and constant beyond the simulated sizes and rates. Below the lowest
/// simulated rate of a modulation, [`BlockErrors::block_error`] counts coded bits as repeated. There are no curves for
/// 256QAM.
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
        let (curve, tenth) = self.place(modulation, rate, bits)?;
        Some(curve.error(sinr.0 - tenth + curve.tenth))
    }

    /// SINR at which one in ten code blocks fails; `None` for 256QAM.
    pub fn tenth(&self, modulation: Modulation, rate: f64, bits: u32) -> Option<Db> {
        self.place(modulation, rate, bits).map(|(_, tenth)| Db(tenth))
    }

    /// The probability that a transport block cannot be decoded from the soft buffer: one of its code blocks fails;
    /// `None` for 256QAM.
    pub fn block_error(&self, modulation: Modulation, cut: &Segmentation, soft: SoftBits) -> Option<f64> {
        if soft.information <= 0.0 {
            return Some(1.0);
        }
        let rate = f64::from(cut.blocks * cut.filled) / soft.coded;
        let (lowest, mean) = self.without_repetition(modulation, rate, soft.information / soft.coded)?;
        let flat = bit_channel::sinr(modulation, mean);
        let error = self.code_block_error(modulation, lowest, cut.filled, flat)?;
        Some(1.0 - libm::pow(1.0 - error, f64::from(cut.blocks)))
    }

    /// Code rate and mean information per bit after combining repeated bits: those of a binary channel with the sum of
    /// the SINRs.
    fn without_repetition(&self, of: Modulation, rate: f64, mean: f64) -> Option<(f64, f64)> {
        let lowest = self.curves.iter().find(|curve| curve.scheme.modulation == of)?.scheme.rate.ratio();
        if rate >= lowest {
            return Some((rate, mean));
        }
        let binary = bit_channel::sinr(Modulation::Qpsk, mean) + Db::from_linear(lowest / rate);
        Some((lowest, information(Modulation::Qpsk, binary)))
    }

    /// The curve with the shape for a code block, and its 10 % point in dB.
    fn place(&self, modulation: Modulation, rate: f64, bits: u32) -> Option<(&Curve, f64)> {
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
        Some((curve, tenth))
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport_block::segment;
    use super::*;

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
        // between two rates and two sizes
        let point = |rate, bits| model.tenth(Modulation::Qam16, rate, bits).unwrap().0;
        let middle = point(400.0 / 1024.0, 700);
        assert!(point(378.0 / 1024.0, 700) < middle && middle < point(434.0 / 1024.0, 700));
        assert_eq!(point(0.5, 2000), point(0.5, 8448));
    }

    /// A transport block of MCS 16 of table 1 (16QAM) and its coded bits in one transmission.
    fn medium() -> (Segmentation, u32) {
        let rate = Table::Qam64.mcs(Mcs(16)).unwrap().rate;
        let cut = segment(3752, rate);
        (cut, (f64::from(cut.blocks * cut.filled) / rate.ratio() / 4.0).round() as u32 * 4)
    }

    /// The SINR in hundredths of a decibel at which this many transmissions fail with at most 10 %.
    fn needed(combining: Combining, transmissions: usize) -> f64 {
        let (model, (cut, coded)) = (BlockErrors::default(), medium());
        let error = |hundredth: &i32| {
            let flat = Sinr::Flat(Db(f64::from(*hundredth) / 100.0));
            let soft = (0..transmissions)
                .fold(SoftBits::default(), |soft, _| soft.receive(combining, Modulation::Qam16, coded, flat));
            model.block_error(Modulation::Qam16, &cut, soft).unwrap()
        };
        let sweep: Vec<i32> = (-2000..3000).collect();
        f64::from(sweep[sweep.partition_point(|hundredth| error(hundredth) > 0.1)]) / 100.0
    }

    #[test]
    fn a_transport_block_needs_all_its_code_blocks() {
        let model = BlockErrors::default();
        let rate = Table::Qam64.mcs(Mcs(20)).unwrap().rate;
        let cut = segment(38936, rate);
        assert_eq!(cut.blocks, 5);
        let sinr = model.tenth(Modulation::Qam64, rate.ratio(), cut.filled).unwrap();
        let coded = (f64::from(cut.blocks * cut.filled) / rate.ratio()).round() as u32;
        let soft = SoftBits::default().receive(
            Combining::IncrementalRedundancy,
            Modulation::Qam64,
            coded,
            Sinr::Flat(sinr),
        );
        let error = model.block_error(Modulation::Qam64, &cut, soft).unwrap();
        assert!((error - (1.0 - 0.9f64.powi(5))).abs() < 2e-3, "{error}");
        assert_eq!(model.block_error(Modulation::Qam64, &cut, SoftBits::default()), Some(1.0));
    }

    #[test]
    fn retransmissions_gain_energy_and_new_bits_gain_more() {
        use Combining::{Chase, IncrementalRedundancy};
        let first = needed(Chase, 1);
        assert_eq!(first, needed(IncrementalRedundancy, 1));
        let twice = first - needed(Chase, 2);
        assert!((twice - 3.01).abs() < 0.011, "{twice}");
        let fresh = first - needed(IncrementalRedundancy, 2);
        assert!(fresh > twice + 0.5, "{fresh} {twice}");
        assert!(needed(IncrementalRedundancy, 4) < needed(IncrementalRedundancy, 3) - 1.0);
    }

    #[test]
    fn groups_count_by_their_information() {
        use crate::phy::Prbs;
        let (model, (cut, coded)) = (BlockErrors::default(), medium());
        let error = |sinr| {
            let soft = SoftBits::default().receive(Combining::Chase, Modulation::Qam16, coded, sinr);
            model.block_error(Modulation::Qam16, &cut, soft).unwrap()
        };
        let alike = [(Db(9.5), Prbs(3)), (Db(9.5), Prbs(9))];
        assert!((error(Sinr::Groups(&alike)) - error(Sinr::Flat(Db(9.5)))).abs() < 1e-12);
        let spread = [(Db(12.5), Prbs(6)), (Db(6.5), Prbs(6))];
        let mean = [12.5, 6.5].map(|sinr| information(Modulation::Qam16, Db(sinr))).iter().sum::<f64>() / 2.0;
        let equal = error(Sinr::Flat(bit_channel::sinr(Modulation::Qam16, mean)));
        assert!((error(Sinr::Groups(&spread)) - equal).abs() < 1e-9);
    }
}
