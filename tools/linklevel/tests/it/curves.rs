//! The simulated curves against the simulator, curves of other programs, and their use in the error model.

use airwnd_kernel::{Direction, Stream};
use airwnd_linklevel::campaign::{self, format};
use airwnd_linklevel::crc::CRC_BITS;
use airwnd_linklevel::curve::Point;
use airwnd_linklevel::decoder::Settings;
use airwnd_linklevel::lanes::BATCH;
use airwnd_linklevel::link::{Format, Link};
use airwnd_linklevel::record;
use airwnd_phy::bit_channel::information;
use airwnd_phy::error_model::block_error_curves::{self, BlockErrorCurves};
use airwnd_phy::error_model::{self, ErrorModel, SoftBits, Transmission};
use airwnd_phy::tables::{
    self, MAX_CODE_BLOCK, McsTable, Modulation, code_block_at_least, code_rate, modulation,
};
use airwnd_phy::{Mcs, Scheme, Sinr};
use airwnd_units::{Bytes, Db};

const POINTS: &str = include_str!("../../data/block_errors.csv");
const CURVES: &str = include_str!("../../../../crates/phy/data/block_error_curves.csv");
const REFERENCE: &str = include_str!("../data/reference.csv");

fn model() -> BlockErrorCurves {
    BlockErrorCurves::new(block_error_curves::Params::default())
}

/// Formats with their points, of one transmission or of several.
fn simulated(several: bool) -> Vec<(Format, Vec<Point>)> {
    let all = record::points(POINTS).expect("points");
    all.into_iter().filter(|(format, _)| (format.transmissions > 1) == several).collect()
}

fn size(format: &Format) -> u32 {
    (format.block_bits + CRC_BITS) as u32
}

#[test]
fn the_curves_match_the_points() {
    assert!(record::curves(POINTS).expect("points") == CURVES, "run the tool's `fit` again");
}

#[test]
fn points_lie_on_their_curves() {
    let model = model();
    let (mut worst, mut squares, mut count) = (0.0f64, 0.0, 0.0);
    for (format, points) in simulated(false) {
        let curve = model.curve(
            format.modulation,
            size(&format),
            f64::from(size(&format)) / format.coded_bits as f64,
        );
        for Point { snr, blocks, failed } in points {
            let expected = curve.error(snr);
            let chance = libm::sqrt(expected * (1.0 - expected) / f64::from(blocks));
            let off = f64::from(failed) / f64::from(blocks) - expected;
            assert!(
                off.abs() < 4.0 * chance + 0.04 * expected.max(0.1),
                "{format:?} {snr:?}: {off} of {expected}"
            );
            worst = worst.max(off.abs() / chance);
            squares += off * off / (chance * chance);
            count += 1.0;
        }
    }
    println!(
        "{count} points, off by {:.2} standard errors (rms), {worst:.1} at most",
        libm::sqrt(squares / count)
    );
}

/// The fraction of failed blocks in a short simulation and its standard error, assuming `expected` is true.
fn quick(format: Format, snrs: &[Db], expected: f64) -> (f64, f64) {
    quick_with(Settings::default(), format, snrs, expected)
}

fn quick_with(settings: Settings, format: Format, snrs: &[Db], expected: f64) -> (f64, f64) {
    let mut link = Link::new(format, settings);
    let batches = 50;
    let failed: usize =
        (0..batches).map(|batch| link.failures(snrs, Stream::new(7, "test").child(batch))).sum();
    let blocks = (batches as usize * BATCH) as f64;
    (failed as f64 / blocks, libm::sqrt(expected * (1.0 - expected) / blocks))
}

#[test]
fn a_short_simulation_agrees_with_the_curves() {
    let model = model();
    let up_to_64qam = [(0, 104), (5, 40), (9, 416), (12, 208), (16, 208), (20, 416), (28, 416)]
        .map(|(mcs, bits)| (tables::scheme(Mcs(mcs)), bits));
    let beyond = [(20, 104), (24, 416)].map(|(mcs, bits)| (McsTable::Qam256.scheme(Mcs(mcs)), bits));
    for (Scheme { modulation, rate }, bits) in up_to_64qam.into_iter().chain(beyond) {
        let format = format(modulation, rate, bits, 1);
        let curve = model.curve(modulation, bits as u32, bits as f64 / format.coded_bits as f64);
        for offset in [-0.5, 1.3] {
            let snr = Db(curve.half.0 + offset * curve.width.0);
            let (share, error) = quick(format, &[snr], curve.error(snr));
            assert!(
                (share - curve.error(snr)).abs() < 3.5 * error,
                "{modulation:?} at {rate}, {bits}: {share} for {}",
                curve.error(snr)
            );
        }
    }
}

#[test]
fn scaled_extrinsic_information_gains_a_quarter_of_a_decibel() {
    let model = model();
    for mcs in [5, 13, 22].map(Mcs) {
        let (modulation, rate) = (modulation(Direction::Down, mcs), code_rate(mcs));
        let curve = model.curve(modulation, 416, rate);
        let scaled = Settings { extrinsic_scale: 0.75, ..Settings::default() };
        let at = |off: f64| {
            quick_with(scaled, format(modulation, rate, 416, 1), &[Db(curve.tenth().0 + off)], 0.1).0
        };
        let (same, less) = (at(0.0), at(-0.5));
        println!("{mcs:?}: {same:.3} lost where the curve has a tenth, {less:.3} half a decibel below");
        assert!(same < 0.06 && less > 0.1, "{mcs:?}: {same} {less}");
    }
}

/// An MCS, its code rate, a code block size and the SINR at which 10 % fail in the reference.
fn reference() -> Vec<(Mcs, f64, u32, f64)> {
    let read = |line: &str| {
        let number: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
        (Mcs(number[0] as u8), number[1], number[2] as u32, number[3])
    };
    REFERENCE.lines().filter(|line| !line.starts_with('#')).map(read).collect()
}

#[test]
fn every_mcs_fails_at_the_sinr_of_the_reference() {
    let model = model();
    let mut squares = 0.0;
    for mcs in Mcs::all() {
        let rows: Vec<_> = reference().into_iter().filter(|row| row.0 == mcs).collect();
        let modulation = modulation(Direction::Down, mcs);
        let as_named: Vec<f64> = rows
            .iter()
            .map(|(_, rate, bits, tenth)| model.curve(modulation, *bits, *rate).tenth().0 - tenth)
            .collect();
        // The reference's sizes and rates are those of blocks without their CRC. With the CRC, the difference is the
        // same for all sizes; otherwise it grows to 2 dB with 24 / size.
        let with_check: Vec<f64> = rows
            .iter()
            .map(|(_, rate, bits, tenth)| {
                let checked = bits + CRC_BITS as u32;
                let rate = rate * f64::from(checked) / f64::from(*bits);
                model.curve(modulation, code_block_at_least(checked.min(MAX_CODE_BLOCK)), rate).tenth().0
                    - tenth
            })
            .collect();
        let range = |differences: &[f64]| {
            (
                differences.iter().copied().fold(f64::MAX, f64::min),
                differences.iter().copied().fold(f64::MIN, f64::max),
            )
        };
        let ((min, max), named) = (range(&with_check), range(&as_named));
        println!(
            "MCS {:2}: {min:+.2} to {max:+.2} dB; as named {:+.2} to {:+.2} dB",
            mcs.0, named.0, named.1
        );
        assert!(min > -0.3 && max < 0.3, "{mcs:?}: {with_check:?}");
        squares += with_check.iter().map(|off| off * off).sum::<f64>();
    }
    println!(
        "{} curves, root mean square {:.2} dB",
        reference().len(),
        libm::sqrt(squares / reference().len() as f64)
    );
}

#[test]
fn cqi_thresholds_are_near_those_of_lte_sim() {
    // The block size of LTE-Sim's curves is unknown: they are compared with blocks of 1024 bits.
    let model = model();
    let mut before = None;
    for row in include_str!("../data/cqi_reference.csv").lines().filter(|line| !line.starts_with('#')) {
        let number: Vec<f64> = row.split(',').map(|text| text.parse().expect("a number")).collect();
        let modulation = Modulation::ALL
            .into_iter()
            .find(|modulation| f64::from(modulation.order()) == number[1])
            .expect("an order");
        let ours = model.curve(modulation, 1024, number[2] / 1024.0).tenth();
        let off = ours.0 - number[3];
        println!("CQI {}: {:.2} dB, {off:+.2} dB from LTE-Sim", number[0], ours.0);
        assert!(off > -0.8 && off < 0.2 && before.is_none_or(|before| before < ours), "{row}: {ours:?}");
        before = Some(ours);
    }
}

/// The SINR at which 10 % of a format's blocks fail in a model.
fn tenth(model: &dyn ErrorModel, format: &Format) -> Db {
    let block = Bytes(format.block_bits as u64 / 8);
    let scheme = scheme(format);
    let error = |hundredth: &i32| {
        let sent = Transmission { scheme, block, sinr: Sinr::Flat(Db(f64::from(*hundredth) / 100.0)) };
        let soft = (0..format.transmissions).fold(SoftBits::default(), |soft, _| model.receive(soft, &sent));
        model.block_error(block, soft)
    };
    let sweep: Vec<i32> = (-2000..4000).collect();
    Db(f64::from(sweep[sweep.partition_point(|hundredth| error(hundredth) > 0.1)]) / 100.0)
}

/// Modulation and code rate of a format, as an MCS has them.
fn scheme(format: &Format) -> Scheme {
    let is = |scheme: &Scheme| {
        let single = campaign::format(scheme.modulation, scheme.rate, size(format) as usize, 1);
        Format { transmissions: format.transmissions, ..single } == *format
    };
    let schemes = [McsTable::Qam64, McsTable::Qam256]
        .into_iter()
        .flat_map(|table| table.mcss().map(move |mcs| table.scheme(mcs)));
    schemes.into_iter().find(is).expect("the format of a scheme")
}

#[test]
fn retransmissions_match_the_simulation() {
    let ours: Box<dyn ErrorModel> = Box::new(model());
    let theory = error_model::Spec::MutualInformation(Default::default()).build();
    let (mut squares, mut theory_squares, mut count) = (0.0, 0.0, 0.0);
    for (format, points) in simulated(true) {
        let simulated = record::fit(&points).tenth();
        let [off, theory_off] = [&ours, &theory].map(|model| (tenth(&**model, &format) - simulated).0);
        let Scheme { modulation, rate } = scheme(&format);
        let case = format!(
            "{modulation:?} at {rate:.3}, {} bits, {} transmissions",
            size(&format),
            format.transmissions
        );
        println!("{case}: {off:+.2} dB, mutual-information {theory_off:+.2} dB");
        // With 16QAM and more it matters whether a repeated bit has the same position in its symbol. This depends on
        // size and version and is not part of the model.
        let range = if modulation == Modulation::Qpsk { -0.15..0.15 } else { -1.4..0.6 };
        assert!(range.contains(&off), "{case}: {off:.2} dB");
        squares += off * off;
        theory_squares += theory_off * theory_off;
        count += 1.0;
    }
    let [rms, theory_rms] = [squares, theory_squares].map(|squares| libm::sqrt(squares / count));
    println!("{count} cases, root mean square {rms:.2} dB, mutual-information {theory_rms:.2} dB");
}

/// The thresholds of `mutual-information` for single transmissions of 256QAM, whose losses were fitted up to 64QAM.
#[test]
fn losses_fitted_up_to_64qam_hold_for_256qam() {
    let theory = error_model::Spec::MutualInformation(Default::default()).build();
    let offs: Vec<f64> = simulated(false)
        .iter()
        .filter(|(format, _)| format.modulation == Modulation::Qam256 && size(format) >= 208)
        .filter(|(format, _)| size(format) as f64 / format.coded_bits as f64 > 0.65)
        .map(|(format, points)| (tenth(&*theory, format) - record::fit(points).tenth()).0)
        .collect();
    let rms = libm::sqrt(offs.iter().map(|off| off * off).sum::<f64>() / offs.len() as f64);
    println!("{} curves: {rms:.2} dB rms, {offs:.2?}", offs.len());
    assert!(rms < 0.5, "{offs:?}");
}

#[test]
fn a_transport_block_fails_with_any_of_its_code_blocks() {
    // 6424 bits: 6448 with its CRC, two code blocks of (6448 + 48) / 2 = 3248 -> 3264 bits
    let mcs = Mcs(9);
    let (modulation, bits) = (modulation(Direction::Down, mcs), 6424);
    let coded = libm::round((bits + CRC_BITS) as f64 / code_rate(mcs) / 4.0) as usize * 4;
    let format = Format { block_bits: bits, coded_bits: coded, modulation, transmissions: 1 };
    let block = Bytes(bits as u64 / 8);
    let error = |snr: f64| {
        model().first_block_error(&Transmission {
            scheme: tables::scheme(mcs),
            block,
            sinr: Sinr::Flat(Db(snr)),
        })
    };
    let snr = (0..400)
        .map(|hundredth| f64::from(hundredth) / 100.0)
        .find(|snr| error(*snr) < 0.35)
        .expect("an SNR");
    let (share, chance) = quick(format, &[Db(snr)], error(snr));
    println!("{share:.3} lost, {:.3} by the curves", error(snr));
    // steep curves: 0.02 dB are 8 %
    assert!((share - error(snr)).abs() < 3.5 * chance + 0.08, "{share} for {}", error(snr));
}

#[test]
fn a_varying_channel_counts_by_its_mutual_information() {
    let model = model();
    for (mcs, bits) in [(7, 416), (14, 416), (22, 416)] {
        let (modulation, rate) = (modulation(Direction::Down, Mcs(mcs)), code_rate(Mcs(mcs)));
        let format = format(modulation, rate, bits, 1);
        let curve = model.curve(modulation, bits as u32, bits as f64 / format.coded_bits as f64);
        // symbols alternate between 4 dB above and 4 dB below `level`, whose mean information is that at the 10 % point
        let mean = |level: f64| {
            [4.0, -4.0].map(|off| information(modulation, Db(level + off))).iter().sum::<f64>() / 2.0
        };
        let target = information(modulation, curve.tenth());
        let level =
            (-1000..3000).map(|hundredth| f64::from(hundredth) / 100.0).find(|level| mean(*level) >= target);
        let level = level.expect("it exists");
        for (offset, range) in [(-0.4, 0.1..1.0), (0.4, 0.0..0.1)] {
            let (share, _) = quick(format, &[Db(level + 4.0 + offset), Db(level - 4.0 + offset)], 0.1);
            println!("MCS {mcs}: {share:.3} lost {offset:+} dB from the SINR where a tenth should be");
            assert!(range.contains(&share), "MCS {mcs}, {offset:+} dB: {share}");
        }
    }
}
