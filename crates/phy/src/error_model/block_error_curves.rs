//! Block errors from simulated curves of LTE's turbo code.

use super::segment::{block_error, with_all_crcs, with_crc};
use super::{ErrorModel, SoftBits, upper_tail};
use crate::Scheme;
use crate::bit_channel::{information, sinr};
use crate::tables::Modulation;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Db};

/// Block-error curves: block error rates of LTE's turbo code from link-level simulation, mapped by MIESM.
///
/// The curves are airwnd's own: turbo code, rate matching, modulation, max-log demapping and max-log-MAP decoding with
/// 8 iterations over white noise (`tools/linklevel`; the header of the data file states the number of simulated
/// blocks). Each modulation, code rate and code block size has two numbers, half and width: a code block fails with
/// probability Q((SINR - half) / width). Between simulated sizes K, two quantities are interpolated linearly in 1 /
/// sqrt(K): the width, and the distance of half from the information-theoretic limit, the SINR at which a coded bit
/// receives R bits of information. Between simulated rates R they are interpolated linearly; beyond them they are
/// constant.
///
/// The SINR is that of a flat channel with the same mutual information per coded bit as the average over resource
/// blocks and transmissions (MIESM). Each transmission lowers the code rate R: bits of the block and its CRCs over all
/// coded bits received. Below the lowest simulated rate, coded bits count as repeated: the information I of each bit,
/// repeated r times, becomes that of a binary channel with r times the SINR. A transport block fails if one of its code
/// blocks does.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "airwnd tools/linklevel after TS 36.212 §5.1 and TS 36.211 §7.1; MIESM: Wan, Tsai and Almgren, \
              IEEE WCNC 2006"
)]
pub struct Params {
    /// Receiver loss before decoding, for example due to channel estimation; the simulated receiver has none.
    #[param(default = Db(0.0), range = Db(-10.0)..=Db(20.0))]
    #[param(unit = "dB", source = "perfect channel estimation")]
    pub loss: Db,
}

/// Q_m, K and coded bits of a curve, then half and width in decibels.
const CURVES: &str = include_str!("../../data/block_error_curves.csv");

/// Link-to-system mapping by simulated curves.
#[derive(Clone, Debug)]
pub struct BlockErrorCurves {
    params: Params,
    /// By modulation, smallest code blocks first.
    sizes: [Vec<Size>; 4],
}

/// Curves of a modulation and a code block size.
#[derive(Clone, Debug)]
struct Size {
    bits: u32,
    /// Lowest rate first.
    rates: Vec<Rate>,
}

/// A curve.
#[derive(Clone, Copy, Debug)]
struct Rate {
    rate: f64,
    shape: Shape,
}

/// Error curve: a code block fails with probability Q((SINR - `half`) / `width`), in decibels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// SINR at which half of the blocks fail.
    pub half: Db,
    /// Standard deviation of the threshold.
    pub width: Db,
}

impl Curve {
    /// The probability that a code block fails.
    pub fn error(self, sinr: Db) -> f64 {
        upper_tail((sinr - self.half).0 / self.width.0)
    }

    /// SINR at which one in ten blocks fails: Q(1.2816) = 0.1.
    pub fn tenth(self) -> Db {
        Db(self.half.0 + 1.281_551_565_544_6 * self.width.0)
    }
}

/// Shape of a curve: distance from the information-theoretic limit, and slope.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// From the limit to the SINR at which half of the blocks fail, in decibels.
    gap: f64,
    /// In decibels.
    width: f64,
}

impl Shape {
    fn between(a: Shape, b: Shape, part: f64) -> Shape {
        let linear = |a: f64, b: f64| a + part * (b - a);
        Shape { gap: linear(a.gap, b.gap), width: linear(a.width, b.width) }
    }
}

impl Size {
    fn at(&self, rate: f64) -> Shape {
        let above = self.rates.partition_point(|entry| entry.rate < rate);
        if above == 0 || above == self.rates.len() {
            return self.rates[above.saturating_sub(1)].shape;
        }
        let (low, high) = (self.rates[above - 1], self.rates[above]);
        Shape::between(low.shape, high.shape, (rate - low.rate) / (high.rate - low.rate))
    }
}

impl BlockErrorCurves {
    /// A model with the simulated curves.
    pub fn new(params: Params) -> BlockErrorCurves {
        BlockErrorCurves { params, sizes: Modulation::ALL.map(curves) }
    }

    /// The curve for code blocks of `size` bits, including their CRC, at a code rate.
    pub fn curve(&self, modulation: Modulation, size: u32, rate: f64) -> Curve {
        let sizes = &self.sizes[modulation as usize];
        let above = sizes.partition_point(|entry| entry.bits < size).clamp(1, sizes.len() - 1);
        let (low, high) = (&sizes[above - 1], &sizes[above]);
        let scale = |bits: u32| 1.0 / libm::sqrt(f64::from(bits));
        let part = (scale(size) - scale(low.bits)) / (scale(high.bits) - scale(low.bits));
        let shape = Shape::between(low.at(rate), high.at(rate), part);
        Curve { half: Db(sinr(modulation, rate).0 + shape.gap), width: Db(shape.width) }
    }
}

/// The lowest simulated rate of each modulation: below it bits are repeated.
const LOWEST_RATES: [f64; 4] = [0.025, 0.295, 0.36, 0.36];

/// Code rate and mean information per bit after combining repeated bits.
fn without_repetition(modulation: Modulation, rate: f64, mean: f64) -> (f64, f64) {
    let lowest = LOWEST_RATES[modulation as usize];
    if rate >= lowest {
        return (rate, mean);
    }
    let binary = sinr(Modulation::Qpsk, mean) + Db::from_linear(lowest / rate);
    (lowest, information(Modulation::Qpsk, binary))
}

/// The curves of a modulation.
fn curves(modulation: Modulation) -> Vec<Size> {
    let mut sizes: Vec<Size> = Vec::new();
    for line in CURVES.lines().filter(|line| !line.starts_with('#')) {
        let number = |column: usize| -> f64 {
            let text = line.split(',').nth(column).expect("a curve has five columns");
            text.parse().expect("a curve's columns are numbers")
        };
        if number(0) != f64::from(modulation.order()) {
            continue;
        }
        let (bits, rate) = (number(1) as u32, number(1) / number(2));
        if sizes.last().is_none_or(|size| size.bits != bits) {
            sizes.push(Size { bits, rates: Vec::new() });
        }
        let shape = Shape { gap: number(3) - sinr(modulation, rate).0, width: number(4) };
        sizes.last_mut().expect("it was just added").rates.push(Rate { rate, shape });
    }
    sizes
}

impl ErrorModel for BlockErrorCurves {
    fn loss(&self, _scheme: Scheme) -> Db {
        self.params.loss
    }

    fn receive_mean(&self, before: SoftBits, scheme: Scheme, block: Bytes, mean: f64) -> SoftBits {
        let coded = f64::from(with_crc(block)) / scheme.rate;
        SoftBits {
            coded: before.coded + coded,
            information: before.information + coded * mean,
            scheme,
            uncounted: None,
        }
    }

    fn block_error(&self, block: Bytes, soft: SoftBits) -> f64 {
        if soft.information <= 0.0 {
            return 1.0;
        }
        let modulation = soft.scheme.modulation;
        let rate = f64::from(with_all_crcs(block)) / soft.coded;
        //= exception combined-code-rate
        let (rate, mean) = without_repetition(modulation, rate, soft.information / soft.coded);
        let flat = sinr(modulation, mean);
        block_error(block, |size| self.curve(modulation, size, rate).error(flat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model::Transmission;
    use crate::tables::{code_rate, modulation, scheme, transport_block};
    use crate::{Mcs, Prbs, Sinr};
    use airwnd_kernel::Direction;
    use proptest::prelude::*;

    fn model() -> BlockErrorCurves {
        BlockErrorCurves::new(Params::default())
    }

    fn sent(mcs: u8, prbs: u16, sinr: Sinr) -> Transmission {
        let block = transport_block(Direction::Down, Mcs(mcs), Prbs(prbs));
        Transmission { scheme: scheme(Mcs(mcs)), block, sinr }
    }

    /// The minimum SINR, in hundredths of a decibel, at which the n-th transmission fails with at most 10 %.
    fn needed(mcs: u8, prbs: u16, transmissions: usize) -> f64 {
        let model = model();
        let error = |hundredth: &i32| {
            let sent = sent(mcs, prbs, Sinr::Flat(Db(f64::from(*hundredth) / 100.0)));
            let soft = (0..transmissions).fold(SoftBits::default(), |soft, _| model.receive(soft, &sent));
            model.block_error(sent.block, soft)
        };
        let sweep: Vec<i32> = (-2500..3500).collect();
        f64::from(sweep[sweep.partition_point(|hundredth| error(hundredth) > 0.1)]) / 100.0
    }

    #[test]
    fn a_simulated_size_and_rate_has_its_own_curve() {
        let model = model();
        for line in CURVES.lines().filter(|line| !line.starts_with('#')) {
            let number: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
            let modulation = Modulation::ALL
                .into_iter()
                .find(|modulation| f64::from(modulation.order()) == number[0])
                .expect("an order");
            let curve = model.curve(modulation, number[1] as u32, number[1] / number[2]);
            assert!((curve.half.0 - number[3]).abs() < 1e-9, "{line}: {curve:?}");
            assert!((curve.width.0 - number[4]).abs() < 1e-9, "{line}: {curve:?}");
        }
    }

    #[test]
    fn curves_are_beyond_the_limit_and_steeper_for_large_blocks() {
        let model = model();
        for mcs in Mcs::all() {
            let (modulation, rate) = (modulation(Direction::Down, mcs), code_rate(mcs));
            let sizes = [200, 1000, 3000, 6144].map(|size| model.curve(modulation, size, rate));
            for pair in sizes.windows(2) {
                assert!(
                    pair[1].tenth() < pair[0].tenth() && pair[1].width < pair[0].width,
                    "{mcs:?}: {pair:?}"
                );
            }
            // for example 0.187 dB for QPSK and rate 1/2
            assert!(sizes[3].half > sinr(modulation, rate), "{mcs:?}: {sizes:?}");
        }
    }

    #[test]
    fn a_repetition_of_a_repeated_code_gains_three_decibels() {
        let gain = needed(0, 50, 1) - needed(0, 50, 2);
        assert!((gain - 3.0103).abs() < 0.05, "{gain}");
    }

    #[test]
    fn each_retransmission_gains_and_the_first_one_three_decibels_at_least() {
        for mcs in 0..=28 {
            let needs = [1, 2, 3, 4].map(|transmissions| needed(mcs, 50, transmissions));
            assert!(needs[0] - needs[1] > 2.9, "MCS {mcs}: {needs:?}");
            assert!(needs[1] - needs[2] > 1.5 && needs[2] - needs[3] > 1.0, "MCS {mcs}: {needs:?}");
        }
    }

    #[test]
    fn groups_count_by_their_information() {
        let model = model();
        let flat = model.first_block_error(&sent(12, 12, Sinr::Flat(Db(4.5))));
        let alike = [(Db(4.5), Prbs(3)), (Db(4.5), Prbs(9))];
        assert!((model.first_block_error(&sent(12, 12, Sinr::Groups(&alike))) - flat).abs() < 1e-12);
        // half the blocks 3 dB better, half 3 dB worse: information is concave in decibels in this range, so there is
        // less of it
        let spread = [(Db(7.5), Prbs(6)), (Db(1.5), Prbs(6))];
        let mean =
            [7.5, 1.5].map(|decibels| information(Modulation::Qam16, Db(decibels))).iter().sum::<f64>() / 2.0;
        let equal = model.first_block_error(&sent(12, 12, Sinr::Flat(sinr(Modulation::Qam16, mean))));
        let error = model.first_block_error(&sent(12, 12, Sinr::Groups(&spread)));
        assert!((error - equal).abs() < 1e-9, "{error} {equal}");
    }

    #[test]
    fn a_loss_shifts_every_curve() {
        let lossy = BlockErrorCurves::new(Params { loss: Db(1.5) });
        for mcs in [0, 9, 16, 28] {
            let sinr = needed(mcs, 50, 1);
            let there = lossy.first_block_error(&sent(mcs, 50, Sinr::Flat(Db(sinr + 1.5))));
            let here = model().first_block_error(&sent(mcs, 50, Sinr::Flat(Db(sinr))));
            assert!((there - here).abs() < 1e-9, "MCS {mcs}: {there} {here}");
        }
    }

    #[test]
    fn nothing_received_means_nothing_decoded() {
        assert_eq!(model().block_error(Bytes(100), SoftBits::default()), 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn errors_are_probabilities_that_fall_with_sinr_and_rise_with_the_scheme(
            mcs in 0u8..28, prbs in 2u16..=110, sinr in -25.0f64..35.0, more in 0.0f64..5.0,
        ) {
            thread_local!(static MODEL: BlockErrorCurves = model());
            MODEL.with(|model| {
                let error = |mcs, sinr| model.first_block_error(&sent(mcs, prbs, Sinr::Flat(Db(sinr))));
                prop_assert!((0.0..=1.0).contains(&error(mcs, sinr)));
                prop_assert!(error(mcs, sinr + more) <= error(mcs, sinr) + 1e-12);
                prop_assert!(error(mcs + 1, sinr) >= error(mcs, sinr) - 1e-6);
                Ok(())
            })?;
        }
    }
}
