//! Block errors of NR's LDPC code, from simulated curves.

use super::tables::Modulation;
use super::transport_block::{BaseGraph, Segmentation};
use crate::Sinr;
use crate::bit_channel::{information, sinr};
use crate::error_model::block_error_curves::Curve;
use airwnd_units::Db;
use std::sync::LazyLock;

/// Base graph, Q_m, K' and coded bits of a curve, then half and width in decibels.
const CURVES: &str = include_str!("../../data/nr_block_error_curves.csv");

/// Combination of the transmissions of a block by HARQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combining {
    /// Every transmission repeats the same bits at the same places of the same symbols: the SINRs add up.
    Chase,
    /// Every transmission brings new coded bits: the code rate falls. Below the lowest rate of the curves, further bits
    /// count as repeated. This is optimistic: redundancy versions overlap earlier, and the places of bits in their
    /// symbols are left out. By 0.1 dB with QPSK (rms of nine cases simulated in `tools/linklevel`), 0.2 dB with 16QAM,
    /// 0.4 dB with 64QAM and 0.7 dB with 256QAM, at most 1.2 dB.
    IncrementalRedundancy,
}

/// Soft buffer of a HARQ process: sums over the transmissions of a block. The default is an empty buffer.
///
/// The mapping from SINRs to a block error is by mutual information per coded bit (MIESM), as for LTE
/// ([`crate::error_model::block_error_curves`]), and not by the exponential mapping (EESM): mutual information has
/// no parameter to fit per MCS, covers any code rate, and adds up over transmissions.
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
        self.receive_mean(combining, modulation, coded, sinr.mean(|sinr| information(modulation, sinr)))
    }

    /// The soft buffer after a transmission whose coded bits carry `mean` information each.
    pub fn receive_mean(
        self,
        combining: Combining,
        modulation: Modulation,
        coded: u32,
        mean: f64,
    ) -> SoftBits {
        let coded = f64::from(coded);
        match combining {
            Combining::Chase if self.coded > 0.0 => {
                let flat = |mean| sinr(modulation, mean).linear();
                let sum = Db::from_linear(flat(self.information / self.coded) + flat(mean));
                SoftBits { coded, information: coded * information(modulation, sum) }
            }
            _ => SoftBits { coded: self.coded + coded, information: self.information + coded * mean },
        }
    }
}

/// A simulated curve: its code rate, the distance from the information-theoretic limit to the SINR at which half of the
/// blocks fail, and the width, both in decibels.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rate: f64,
    gap: f64,
    width: f64,
}

impl Shape {
    fn between(a: Shape, b: Shape, part: f64) -> Shape {
        let linear = |a: f64, b: f64| a + part * (b - a);
        Shape { rate: linear(a.rate, b.rate), gap: linear(a.gap, b.gap), width: linear(a.width, b.width) }
    }
}

/// Curves of a base graph, a modulation and a code block size.
#[derive(Clone, Debug)]
struct Size {
    bits: u32,
    /// Lowest rate first.
    shapes: Vec<Shape>,
}

impl Size {
    fn at(&self, rate: f64) -> Shape {
        let above = self.shapes.partition_point(|entry| entry.rate < rate);
        if above == 0 || above == self.shapes.len() {
            return self.shapes[above.saturating_sub(1)];
        }
        let (low, high) = (self.shapes[above - 1], self.shapes[above]);
        Shape::between(low, high, (rate - low.rate) / (high.rate - low.rate))
    }
}

/// Block errors of NR's LDPC code.
///
/// The curves are airwnd's own: LDPC code, rate matching, modulation, max-log demapping and sum-product decoding in 10
/// iterations over white noise (`tools/linklevel`; the header of the data file states the number of simulated blocks).
/// Near 10 % errors they are within 0.25 dB of those that Sionna simulated with its decoder in 20 iterations, which a
/// test in `tools/linklevel` compares.
///
/// Each base graph, modulation, code rate and code block size has two numbers, half and width: a code block fails with
/// probability Q((SINR - half) / width). As for LTE, the width and the distance of half from the information-theoretic
/// limit are interpolated linearly in 1 / sqrt(K') between simulated sizes K', and linearly between simulated rates;
/// beyond the rates they are constant. Below the lowest rate of a base graph, 1/3 or 1/5, coded bits count as repeated.
/// Limited-buffer rate matching, which leaves fewer coded bits to the largest transport blocks of a carrier, is not
/// modelled.
#[derive(Clone, Debug)]
pub struct BlockErrors {
    sizes: &'static Sizes,
}

/// Curves by base graph and modulation, smallest code blocks first.
type Sizes = [[Vec<Size>; 4]; 2];

/// Read only once: that takes as long as dozens of slots of a cell.
static SIZES: LazyLock<Sizes> = LazyLock::new(sizes);

impl Default for BlockErrors {
    fn default() -> BlockErrors {
        BlockErrors { sizes: &SIZES }
    }
}

/// The curves of all base graphs and modulations.
fn sizes() -> Sizes {
    let mut all = Sizes::default();
    for line in CURVES.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split(',');
        let [graph, order, bits, coded, half, width]: [f64; 6] = std::array::from_fn(|_| {
            let text = columns.next().expect("a curve has six columns");
            text.parse().expect("a curve's columns are numbers")
        });
        let has_order = |modulation: &Modulation| f64::from(modulation.order()) == order;
        let modulation =
            Modulation::ALL.into_iter().find(has_order).expect("the order is that of a modulation");
        let rate = bits / coded;
        let shape = Shape { rate, gap: half - sinr(modulation, rate).0, width };
        let (sizes, bits) = (&mut all[graph as usize - 1][modulation as usize], bits as u32);
        match sizes.iter_mut().find(|size| size.bits == bits) {
            Some(size) => size.shapes.push(shape),
            None => sizes.push(Size { bits, shapes: vec![shape] }),
        }
    }
    all
}

/// The lowest simulated rate of each base graph: below it bits are repeated.
const LOWEST_RATES: [f64; 2] = [1.0 / 3.0, 0.2];

/// Code rate and mean information per bit after combining repeated bits.
fn without_repetition(graph: BaseGraph, rate: f64, mean: f64) -> (f64, f64) {
    let lowest = LOWEST_RATES[graph as usize];
    if rate >= lowest {
        return (rate, mean);
    }
    let binary = sinr(Modulation::Qpsk, mean) + Db::from_linear(lowest / rate);
    (lowest, information(Modulation::Qpsk, binary))
}

impl BlockErrors {
    /// The curve for code blocks of `bits` bits with their CRCs (K') at a code rate.
    pub fn curve(&self, graph: BaseGraph, modulation: Modulation, bits: u32, rate: f64) -> Curve {
        let sizes = &self.sizes[graph as usize][modulation as usize];
        let above = sizes.partition_point(|entry| entry.bits < bits).clamp(1, sizes.len() - 1);
        let (low, high) = (&sizes[above - 1], &sizes[above]);
        let scale = |bits: u32| 1.0 / libm::sqrt(f64::from(bits));
        let part = (scale(bits) - scale(low.bits)) / (scale(high.bits) - scale(low.bits));
        let shape = Shape::between(low.at(rate), high.at(rate), part);
        Curve { half: Db(sinr(modulation, rate).0 + shape.gap), width: Db(shape.width) }
    }

    /// The probability that a transport block cannot be decoded from the soft buffer: one of its code blocks fails.
    pub fn block_error(&self, modulation: Modulation, cut: &Segmentation, soft: SoftBits) -> f64 {
        if soft.information <= 0.0 {
            return 1.0;
        }
        let rate = f64::from(cut.blocks * cut.filled) / soft.coded;
        let (rate, mean) = without_repetition(cut.graph, rate, soft.information / soft.coded);
        let flat = sinr(modulation, mean);
        let error = self.curve(cut.graph, modulation, cut.filled, rate).error(flat);
        1.0 - libm::pow(1.0 - error, f64::from(cut.blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Table;
    use super::super::transport_block::segment;
    use super::*;
    use crate::{Mcs, Prbs};

    #[test]
    fn a_simulated_size_and_rate_has_its_own_curve() {
        let model = BlockErrors::default();
        for line in CURVES.lines().filter(|line| !line.starts_with('#')) {
            let number: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
            let graph = if number[0] == 1.0 { BaseGraph::One } else { BaseGraph::Two };
            let modulation = [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256]
                .into_iter()
                .find(|modulation| f64::from(modulation.order()) == number[1])
                .expect("an order");
            let curve = model.curve(graph, modulation, number[2] as u32, number[2] / number[3]);
            assert!((curve.half.0 - number[4]).abs() < 1e-9, "{line}: {curve:?}");
            assert!((curve.width.0 - number[5]).abs() < 1e-9, "{line}: {curve:?}");
        }
    }

    #[test]
    fn curves_are_beyond_the_limit_and_steeper_for_large_blocks() {
        let model = BlockErrors::default();
        for scheme in (0..=27).map(|mcs| Table::Qam256.mcs(Mcs(mcs)).unwrap()) {
            let (modulation, rate) = (scheme.modulation, scheme.rate.ratio());
            for (graph, sizes) in
                [(BaseGraph::One, [400, 1000, 3000, 8448]), (BaseGraph::Two, [60, 250, 1000, 3800])]
            {
                // base graph 2 has large blocks below 0.67 only
                if graph == BaseGraph::One && rate < 0.334
                    || graph == BaseGraph::Two && !(0.2..0.67).contains(&rate)
                {
                    continue;
                }
                let curves = sizes.map(|size| model.curve(graph, modulation, size, rate));
                for pair in curves.windows(2) {
                    assert!(
                        pair[1].tenth() < pair[0].tenth() && pair[1].width < pair[0].width,
                        "{scheme:?} {graph:?}: {pair:?}"
                    );
                }
                assert!(curves[3].half > sinr(modulation, rate), "{scheme:?} {graph:?}: {curves:?}");
            }
        }
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
            model.block_error(Modulation::Qam16, &cut, soft)
        };
        let sweep: Vec<i32> = (-2000..3000).collect();
        f64::from(sweep[sweep.partition_point(|hundredth| error(hundredth) > 0.1)]) / 100.0
    }

    #[test]
    fn a_transport_block_needs_all_its_code_blocks() {
        let model = BlockErrors::default();
        let rate = Table::Qam64.mcs(Mcs(20)).unwrap().rate;
        let cut = segment(38936, rate);
        assert_eq!((cut.graph, cut.blocks), (BaseGraph::One, 5));
        let coded = (f64::from(cut.blocks * cut.filled) / rate.ratio()).round() as u32;
        let tenth = model.curve(cut.graph, Modulation::Qam64, cut.filled, rate.ratio()).tenth();
        let chase = Combining::Chase;
        let soft = SoftBits::default().receive(chase, Modulation::Qam64, coded, Sinr::Flat(tenth));
        let error = model.block_error(Modulation::Qam64, &cut, soft);
        assert!((error - (1.0 - 0.9f64.powi(5))).abs() < 0.01, "{error}");
        assert_eq!(model.block_error(Modulation::Qam64, &cut, SoftBits::default()), 1.0);
    }

    #[test]
    fn a_repetition_of_a_repeated_code_gains_three_decibels() {
        // MCS 0 of table 3: 30 / 1024, far below the 1/5 of base graph 2
        let model = BlockErrors::default();
        let rate = Table::LowEfficiency.mcs(Mcs(0)).unwrap().rate;
        let cut = segment(2024, rate);
        let coded = (f64::from(cut.filled) / rate.ratio()) as u32;
        let error = |sinr: f64, count: usize| {
            let soft = (0..count).fold(SoftBits::default(), |soft, _| {
                let flat = Sinr::Flat(Db(sinr));
                soft.receive(Combining::IncrementalRedundancy, Modulation::Qpsk, coded, flat)
            });
            model.block_error(Modulation::Qpsk, &cut, soft)
        };
        for sinr in [-13.0, -12.5, -12.0, -11.5] {
            assert!((error(sinr, 1) - error(sinr - 3.0103, 2)).abs() < 5e-3, "{sinr}");
        }
        assert!(error(-14.0, 1) > 0.9 && error(-10.0, 1) < 0.01);
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
        let (model, (cut, coded)) = (BlockErrors::default(), medium());
        let error = |sinr| {
            let soft = SoftBits::default().receive(Combining::Chase, Modulation::Qam16, coded, sinr);
            model.block_error(Modulation::Qam16, &cut, soft)
        };
        let alike = [(Db(9.5), Prbs(3)), (Db(9.5), Prbs(9))];
        assert!((error(Sinr::Groups(&alike)) - error(Sinr::Flat(Db(9.5)))).abs() < 1e-12);
        let spread = [(Db(12.5), Prbs(6)), (Db(6.5), Prbs(6))];
        let mean = [12.5, 6.5].map(|sinr| information(Modulation::Qam16, Db(sinr))).iter().sum::<f64>() / 2.0;
        let equal = error(Sinr::Flat(sinr(Modulation::Qam16, mean)));
        assert!((error(Sinr::Groups(&spread)) - equal).abs() < 1e-9);
    }
}
