//! Simulated formats and their points.

use super::decoder::Settings;
use super::link::{Format, Link};
use crate::campaign::{ENOUGH, SEED, at_most};
use crate::curve::{self, Point};
use crate::lanes::BATCH;
use airwnd_kernel::Stream;
use airwnd_phy::bit_channel;
use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::nr::tables::Modulation;
use airwnd_phy::nr::transport_block::BaseGraph;
use airwnd_units::Db;

/// Positions of the points, in standard deviations from the middle of the curve: error rates of 84 % to 0.8 %.
const SCORES: [f64; 6] = [-1.0, 0.0, 0.7, 1.3, 1.9, 2.4];

/// Every modulation.
pub const MODULATIONS: [Modulation; 4] =
    [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256];

/// Code block sizes K' of base graph 1, which transport blocks of more than 292 bits use, and code rates: from the
/// lowest without repetition, 1/3, to the highest of the MCS tables, 948/1024.
const LARGE: ([usize; 6], [f64; 8]) =
    ([352, 704, 1408, 2816, 5632, 8448], [0.334, 0.4, 0.5, 0.6, 0.7, 0.8, 0.875, 0.926]);

/// The same of base graph 2, whose lowest rate is 1/5. Blocks above 3824 bits use it below rate 1/4 only, those above
/// 292 bits below 0.67. Small blocks are closer together: with their lifting size, the share of punctured bits varies
/// from size to size, which shifts curves of high rates by some tenths of a decibel.
const SMALL: ([usize; 16], [f64; 6]) = (
    [40, 56, 72, 88, 104, 120, 144, 168, 200, 240, 304, 448, 640, 1280, 2560, 3840],
    [0.2, 0.25, 0.333, 0.43, 0.54, 0.67],
);
/// Further rates of base graph 2 for blocks up to this size.
const SMALLEST: (usize, [f64; 5]) = (304, [0.74, 0.79, 0.84, 0.885, 0.926]);

/// A code block with about this code rate per transmission, or the next lower one of whole symbols.
pub fn format(
    graph: BaseGraph,
    modulation: Modulation,
    rate: f64,
    block_bits: usize,
    transmissions: usize,
) -> Format {
    let order = modulation.order() as usize;
    let symbols = libm::ceil(block_bits as f64 / rate / order as f64) as usize;
    Format { graph, block_bits, coded_bits: symbols * order, modulation, transmissions }
}

/// All formats with a curve: single transmissions, then some retransmissions for comparison with the error model.
pub fn formats() -> Vec<Format> {
    let mut formats = Vec::new();
    for modulation in MODULATIONS {
        for size in SMALL.0 {
            let further = if size <= SMALLEST.0 { &SMALLEST.1[..] } else { &[] };
            let rates = SMALL.1.iter().chain(further);
            formats.extend(rates.map(|rate| format(BaseGraph::Two, modulation, *rate, size, 1)));
        }
        for size in LARGE.0 {
            formats.extend(LARGE.1.map(|rate| format(BaseGraph::One, modulation, rate, size, 1)));
        }
    }
    // for small blocks several rates give the same number of symbols
    formats.dedup();
    for modulation in MODULATIONS {
        for count in [2, 3, 4] {
            formats.push(format(BaseGraph::Two, modulation, 0.54, 640, count));
            formats.extend([0.6, 0.875].map(|rate| format(BaseGraph::One, modulation, rate, 2816, count)));
        }
    }
    formats
}

/// Simulates the points of a format's curve. A coarse search determines their positions.
pub fn points(format: Format) -> Vec<Point> {
    let mut link = Link::new(format, Settings::default());
    let Format { graph, block_bits, coded_bits, modulation, transmissions } = format;
    let stream = [graph as usize, modulation as usize, block_bits, coded_bits, transmissions]
        .into_iter()
        .fold(Stream::new(SEED, "NR block errors"), |stream, number| stream.child(number as u64));
    let coarse = search(&mut link, format, stream.child(0));
    let at_most = at_most(block_bits);
    let at = |score: f64| libm::round((coarse.half.0 + score * coarse.width.0) * 100.0) / 100.0;
    (1..)
        .zip(SCORES)
        .map(|(number, score)| point(&mut link, Db(at(score)), stream.child(number), ENOUGH, at_most))
        .collect()
}

/// Simulates one point.
pub fn point(link: &mut Link, snr: Db, stream: Stream, enough: u32, at_most: u32) -> Point {
    let (mut blocks, mut failed, mut batch) = (0, 0, 0);
    while blocks < at_most && failed.min(blocks - failed) < enough {
        failed += link.failures(snr, stream.child(batch)) as u32;
        blocks += BATCH as u32;
        batch += 1;
    }
    Point { snr, blocks, failed }
}

/// A coarse curve: a bisection above the information-theoretic limit and a fit to its points.
fn search(link: &mut Link, format: Format, stream: Stream) -> Curve {
    const BLOCKS: u32 = 4 * BATCH as u32;
    let limit = bit_channel::sinr(format.modulation, format.rate()).0;
    let (mut low, mut high) = (limit - 2.0, limit + 10.0);
    let mut seen = Vec::new();
    for step in 0..8 {
        let middle = Db((low + high) / 2.0);
        let found = point(link, middle, stream.child(step), BLOCKS, BLOCKS);
        if 2 * found.failed > BLOCKS {
            low = middle.0
        } else {
            high = middle.0
        }
        seen.push(found);
    }
    let guess = Curve { half: Db((low + high) / 2.0), width: Db(4.0 / libm::sqrt(format.block_bits as f64)) };
    for (step, score) in (100..).zip([-1.0, 1.0, 1.5]) {
        let snr = Db(guess.half.0 + score * guess.width.0);
        seen.push(point(link, snr, stream.child(step), BLOCKS, BLOCKS));
    }
    curve::fit(&seen, guess)
}
