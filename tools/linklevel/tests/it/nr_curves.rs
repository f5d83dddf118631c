//! NR's simulated curves against the simulator, Sionna's curves, and their use in the error model.

use airwnd_kernel::Stream;
use airwnd_linklevel::curve::Point;
use airwnd_linklevel::nr::campaign::{self, format, point};
use airwnd_linklevel::nr::decoder::Settings;
use airwnd_linklevel::nr::link::{Format, Link};
use airwnd_linklevel::nr::record;
use airwnd_linklevel::record::fit;
use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::nr::ldpc::{BlockErrors, Combining, SoftBits};
use airwnd_phy::nr::tables::{Modulation, Table};
use airwnd_phy::nr::transport_block::{BaseGraph, Segmentation, base_graph};
use airwnd_phy::{Mcs, Sinr};
use airwnd_units::Db;

const POINTS: &str = include_str!("../../data/nr_block_errors.csv");
const CURVES: &str = include_str!("../../../../crates/phy/data/nr_block_error_curves.csv");
const SIONNA: &str = include_str!("../data/nr_sionna.csv");

/// Formats with their points, of one transmission or of several.
fn simulated(several: bool) -> Vec<(Format, Vec<Point>)> {
    let all = record::points(POINTS).expect("points");
    all.into_iter().filter(|(format, _)| (format.transmissions > 1) == several).collect()
}

#[test]
fn the_curves_match_the_points() {
    assert!(record::curves(POINTS).expect("points") == CURVES, "run the tool's `fit-nr` again");
}

#[test]
fn a_simulation_gives_the_same_points_again() {
    for (format, points) in
        simulated(false).into_iter().filter(|(format, _)| format.block_bits == 40).step_by(9)
    {
        assert_eq!(campaign::points(format), points, "{format:?}");
    }
}

#[test]
fn points_lie_on_their_curves() {
    let model = BlockErrors::default();
    let (mut worst, mut squares, mut count) = (0.0f64, 0.0, 0.0);
    for (format, points) in simulated(false) {
        let curve = model.curve(format.graph, format.modulation, format.block_bits as u32, format.rate());
        for Point { snr, blocks, failed } in points {
            let expected = curve.error(snr);
            let chance = libm::sqrt(expected * (1.0 - expected) / f64::from(blocks));
            let off = f64::from(failed) / f64::from(blocks) - expected;
            // codes of small blocks with few parity bits have a heavier tail than Q
            let small = format.block_bits < 400 && format.rate() > 0.7;
            let form = if small { 0.12 } else { 0.05 };
            assert!(
                off.abs() < 4.0 * chance + form * expected.max(0.1),
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

#[test]
fn a_short_simulation_agrees_with_the_curves() {
    // sizes and rates between the simulated ones, and two that are simulated
    let model = BlockErrors::default();
    for (graph, modulation, rate, bits, margin) in [
        (BaseGraph::Two, Modulation::Qpsk, 0.2, 88, 0.05),
        (BaseGraph::One, Modulation::Qam256, 0.875, 704, 0.05),
        (BaseGraph::Two, Modulation::Qpsk, 0.301, 120, 0.15),
        (BaseGraph::Two, Modulation::Qpsk, 0.588, 1000, 0.15),
        (BaseGraph::Two, Modulation::Qam16, 0.370, 500, 0.15),
        (BaseGraph::Two, Modulation::Qam64, 0.5, 2000, 0.15),
        (BaseGraph::One, Modulation::Qam16, 0.643, 4000, 0.15),
        (BaseGraph::One, Modulation::Qam64, 0.554, 6000, 0.15),
        (BaseGraph::One, Modulation::Qam64, 0.853, 1000, 0.15),
        (BaseGraph::One, Modulation::Qam256, 0.736, 3000, 0.15),
        (BaseGraph::One, Modulation::Qam256, 0.925, 8000, 0.15),
    ] {
        let format = format(graph, modulation, rate, bits, 1);
        let curve = model.curve(graph, modulation, bits as u32, format.rate());
        let mut link = Link::new(format, Settings::default());
        // the interpolated curve is shifted by `margin` at most
        for offset in [-0.5, 1.3] {
            let snr = Db(curve.half.0 + offset * curve.width.0);
            let blocks = if bits > 2000 { 160 } else { 400 };
            let found = point(&mut link, snr, Stream::new(7, "test"), u32::MAX, blocks);
            let share = f64::from(found.failed) / f64::from(found.blocks);
            let [min, max] = [margin, -margin].map(|margin| curve.error(Db(snr.0 + margin)));
            let chance = 3.5 * libm::sqrt(0.25_f64.min(max.min(0.5) * (1.0 - min)) / f64::from(found.blocks));
            println!("{format:?}: {share:.3} for {:.3}", curve.error(snr));
            assert!(share > min - chance && share < max + chance, "{format:?}: {share}, {min} to {max}");
        }
    }
}

/// A code block of Sionna's tables: its scheme, its bits, and SNRs with their errors.
type Reference = ((u8, u8, u32), Vec<(f64, f64)>);

fn sionna() -> Vec<Reference> {
    let mut all: Vec<Reference> = Vec::new();
    for line in SIONNA.lines().filter(|line| !line.starts_with('#')) {
        let number: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
        let key = (number[0] as u8, number[1] as u8, number[2] as u32);
        match all.last_mut() {
            Some((last, points)) if *last == key => points.push((number[3], number[4])),
            _ => all.push((key, vec![(number[3], number[4])])),
        }
    }
    all
}

/// The SNR in decibels at which a curve has an error.
fn at_error(curve: Curve, error: f64) -> f64 {
    let (mut low, mut high) = (curve.half.0 - 20.0, curve.half.0 + 20.0);
    while high - low > 1e-6 {
        let middle = (low + high) / 2.0;
        if curve.error(Db(middle)) > error { low = middle } else { high = middle }
    }
    low
}

#[test]
fn curves_are_within_three_tenths_of_a_decibel_of_sionnas() {
    let model = BlockErrors::default();
    let (mut near, mut far, mut bounds) = (Vec::new(), Vec::new(), 0);
    for ((table, mcs, bits), errors) in sionna() {
        let table = if table == 1 { Table::Qam64 } else { Table::Qam256 };
        let scheme = table.mcs(Mcs(mcs)).expect("an MCS");
        let graph = base_graph(bits, scheme.rate);
        // whole symbols, as in Sionna
        let format = format(graph, scheme.modulation, scheme.rate.ratio(), bits as usize, 1);
        let curve = model.curve(graph, scheme.modulation, bits, format.rate());
        for (snr, error) in &errors {
            // the 10 % point is on the right side of every SNR
            let off = curve.tenth().0 - snr;
            let right = if *error > 0.1 { off > -0.3 } else { off < 0.3 };
            assert!(right, "{table:?} {mcs}, {bits} bits: {curve:?} {errors:?}");
            let off = at_error(curve, *error) - snr;
            match *error {
                0.03..0.5 => {
                    println!("{table:?} {mcs}, {bits} bits, {graph:?}: {error} at {snr} dB, {off:+.2} dB");
                    assert!(off.abs() < 0.3, "{table:?} {mcs}, {bits} bits: {off:+.2} dB at {error}");
                    near.push(off);
                }
                0.01..0.99 => far.push(off),
                _ => bounds += 1,
            }
        }
    }
    for (name, offs) in [("3 % to 50 %", near), ("other points", far)] {
        let count = offs.len() as f64;
        let mean = offs.iter().sum::<f64>() / count;
        let rms = libm::sqrt(offs.iter().map(|off| off * off).sum::<f64>() / count);
        let max = offs.iter().fold(0.0f64, |max, off| max.max(off.abs()));
        println!("{name}: {count} points, mean {mean:+.3} dB, rms {rms:.3} dB, at most {max:.2} dB");
        assert!(count > 80.0 && rms < 0.2);
    }
    println!("{bounds} bounds");
}

#[test]
fn retransmissions_match_the_simulation() {
    let model = BlockErrors::default();
    let (mut squares, mut count) = (0.0, 0.0);
    for (format, points) in simulated(true) {
        let simulated = fit(&points).tenth();
        let Format { graph, block_bits, coded_bits, modulation, transmissions } = format;
        let filled = block_bits as u32;
        let cut = Segmentation { graph, blocks: 1, filled, lifting: 0, size: 0 };
        let error = |hundredth: &i32| {
            let flat = Sinr::Flat(Db(f64::from(*hundredth) / 100.0));
            let soft = (0..transmissions).fold(SoftBits::default(), |soft, _| {
                soft.receive(Combining::IncrementalRedundancy, modulation, coded_bits as u32, flat)
            });
            model.block_error(modulation, &cut, soft)
        };
        let sweep: Vec<i32> = (-2000..3000).collect();
        let ours = f64::from(sweep[sweep.partition_point(|hundredth| error(hundredth) > 0.1)]) / 100.0;
        let off = ours - simulated.0;
        let rate = format.rate() * transmissions as f64;
        println!("{graph:?}, {modulation:?}, rate {rate:.3}, {transmissions} transmissions: {off:+.2} dB");
        // Versions overlap before all coded bits are sent, and with 16QAM and above it matters whether a repeated bit
        // has the same position in its symbol. Both are not part of the model.
        let min = match modulation {
            Modulation::Qpsk => -0.5,
            Modulation::Qam16 => -0.7,
            Modulation::Qam64 => -1.0,
            Modulation::Qam256 => -1.4,
        };
        assert!((min..0.2).contains(&off), "{format:?}: {off:.2} dB");
        squares += off * off;
        count += 1.0;
    }
    let rms = libm::sqrt(squares / count);
    println!("{count} cases, root mean square {rms:.2} dB");
    assert!(count == 36.0 && rms < 0.5);
}
