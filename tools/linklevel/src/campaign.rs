//! Simulated formats, their points and the stopping rule.

use crate::crc::CRC_BITS;
use crate::curve::{self, Point};
use crate::decoder::Settings;
use crate::lanes::BATCH;
use crate::link::{Format, Link};
use airwnd_kernel::Stream;
use airwnd_phy::bit_channel;
use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::tables::{McsTable, Modulation};
use airwnd_phy::{Mcs, Scheme};
use airwnd_units::Db;

/// Seed of all random numbers.
pub const SEED: u64 = 1;
/// Stopping rule: a point ends after this many failed and this many decoded blocks,
pub const ENOUGH: u32 = 100;
/// or after this many blocks. The curves of large code blocks are steep, so fewer blocks locate them equally well.
pub fn at_most(code_block_bits: usize) -> u32 {
    if code_block_bits <= 1024 { 4000 } else { (1 << 20) / code_block_bits as u32 }
}

/// Positions of the points, in standard deviations from the middle of the curve: error rates of 84 % to 0.8 %.
const SCORES: [f64; 6] = [-1.0, 0.0, 0.7, 1.3, 1.9, 2.4];

/// Code block sizes in bits.
const SIZES: [usize; 8] = [40, 104, 208, 416, 1024, 2048, 4096, 6144];

/// Code rates of a modulation, lowest first: those of its MCSs, for QPSK also some lower ones that repetition leads to,
/// for 64QAM one that is the lowest without repeated bits, and for 256QAM this one and one between it and the MCSs.
///
/// Bits that a single transmission of 16QAM or 64QAM repeats have the same position in their symbols each time (3 K +
/// 12 is a multiple of their bits). With retransmissions this is not the case, and a curve of such a transmission does
/// not apply to them.
fn rates(modulation: Modulation) -> Vec<f64> {
    let further: &[f64] = match modulation {
        Modulation::Qpsk => &[0.025, 0.05],
        Modulation::Qam16 => &[],
        Modulation::Qam64 => &[0.36],
        Modulation::Qam256 => &[0.36, 0.5],
    };
    let table = if modulation == Modulation::Qam256 { McsTable::Qam256 } else { McsTable::Qam64 };
    let schemes = table.mcss().map(|mcs| table.scheme(mcs)).filter(|scheme| scheme.modulation == modulation);
    further.iter().copied().chain(schemes.map(|scheme| scheme.rate)).collect()
}

/// A code block with its CRC, with about this code rate per transmission.
pub fn format(modulation: Modulation, rate: f64, size: usize, transmissions: usize) -> Format {
    let order = modulation.order() as usize;
    let symbols = libm::round(size as f64 / rate / order as f64) as usize;
    Format { block_bits: size - CRC_BITS, coded_bits: symbols * order, modulation, transmissions }
}

/// All formats with a curve: single transmissions, then some retransmissions for comparison with the error model.
pub fn formats() -> Vec<Format> {
    let mut formats = Vec::new();
    for size in SIZES {
        for modulation in Modulation::ALL {
            formats.extend(rates(modulation).into_iter().map(|rate| format(modulation, rate, size, 1)));
        }
    }
    // for small blocks several rates give the same number of symbols
    formats.dedup();
    for size in [208, 2048] {
        let up_to_64qam = [2, 5, 9, 10, 13, 16, 17, 20, 24, 28].map(|mcs| McsTable::Qam64.scheme(Mcs(mcs)));
        let beyond = [20, 24, 27].map(|mcs| McsTable::Qam256.scheme(Mcs(mcs)));
        for Scheme { modulation, rate } in up_to_64qam.into_iter().chain(beyond) {
            formats.extend([2, 3, 4].map(|count| format(modulation, rate, size, count)));
        }
    }
    formats
}

/// Simulates the points of a format's curve. A coarse search determines their positions.
pub fn points(format: Format) -> Vec<Point> {
    let mut link = Link::new(format, Settings::default());
    let stream = [format.modulation as usize, format.block_bits, format.coded_bits, format.transmissions]
        .into_iter()
        .fold(Stream::new(SEED, "block errors"), |stream, number| stream.child(number as u64));
    let coarse = search(&mut link, format, stream.child(0));
    let at_most = at_most(format.block_bits + CRC_BITS);
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
        failed += link.failures(&[snr], stream.child(batch)) as u32;
        blocks += BATCH as u32;
        batch += 1;
    }
    Point { snr, blocks, failed }
}

/// A coarse curve: a bisection above the information-theoretic limit and a fit to its points.
fn search(link: &mut Link, format: Format, stream: Stream) -> Curve {
    const BLOCKS: u32 = 4 * BATCH as u32;
    let rate = (format.block_bits + CRC_BITS) as f64 / (format.coded_bits * format.transmissions) as f64;
    let limit = bit_channel::sinr(format.modulation, rate).0;
    let (mut low, mut high) = (limit - 2.0, limit + 14.0);
    let mut seen = Vec::new();
    for step in 0..9 {
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
