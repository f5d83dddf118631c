//! Plots the block-error curves against the reference: `cargo run --release -p airwnd-linklevel --example
//! curves_against_reference -- docs/img/block-error-curves.svg`.

use airwnd_kernel::Direction;
use airwnd_linklevel::crc::CRC_BITS;
use airwnd_linklevel::record;
use airwnd_phy::Mcs;
use airwnd_phy::error_model::block_error_curves::{self, BlockErrorCurves, Curve};
use airwnd_phy::tables::{MAX_CODE_BLOCK, code_block_at_least, code_rate, modulation};
use airwnd_units::Db;
use std::fmt::Write;

const OURS: &str = "#0072b2";
const THEIRS: &str = "#d55e00";
/// Left, top, width and height of the upper and the lower panel in points.
const CURVES: (f64, f64, f64, f64) = (42.0, 20.0, 620.0, 190.0);
const DIFFERENCES: (f64, f64, f64, f64) = (42.0, 262.0, 620.0, 110.0);
/// Size of the plotted code blocks.
const DRAWN: u32 = 6144;
/// Axes: SINR in dB, decades of the error rate, difference in dB.
const SINR: (f64, f64) = (-9.0, 21.0);
const DECADES: f64 = 2.5;
const DIFFERENCE: f64 = 0.5;

/// Position of a value between the ends of an axis.
fn along(start: f64, length: f64, (from, to): (f64, f64), value: f64) -> f64 {
    start + length * (value - from) / (to - from)
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
}

fn frame((left, top, width, height): (f64, f64, f64, f64), title: &str) -> String {
    format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#999\" stroke-width=\"0.5\"/>\n\
         <text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{title}</text>\n",
        top - 6.0
    )
}

/// Block error rate over SINR.
fn curves(model: &BlockErrorCurves, reference: &[Row]) -> String {
    let (left, top, width, height) = CURVES;
    let x = |sinr: f64| along(left, width, SINR, sinr);
    let y = |error: f64| top + height * -libm::log10(error) / DECADES;
    let mut svg =
        frame(CURVES, &format!("block error rate over SINR in dB, MCS 0 to 28, code blocks of {DRAWN} bits"));
    for sinr in (-8..=20).step_by(4).map(f64::from) {
        svg += &text(x(sinr), top + height + 11.0, "middle", &format!("{sinr}"));
    }
    for error in [1.0, 0.1, 0.01] {
        svg += &text(left - 4.0, y(error) + 3.0, "end", &format!("{error}"));
    }
    svg += &format!(
        "<path d=\"M{left} {0:.1}H{1}\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\n",
        y(0.1),
        left + width
    );
    for mcs in Mcs::all() {
        let modulation = modulation(Direction::Down, mcs);
        let theirs = reference
            .iter()
            .find(|row| row.mcs == mcs && row.bits == DRAWN)
            .expect("every MCS has this size");
        let curve = model.curve(modulation, DRAWN, theirs.checked_rate());
        let mut line = String::new();
        for step in -30..=30 {
            let sinr = Db(curve.half.0 + 0.1 * f64::from(step) * curve.width.0);
            if curve.error(sinr) > libm::pow(10.0, -DECADES) {
                write!(line, "{:.1},{:.1} ", x(sinr.0), y(curve.error(sinr))).expect("text grows");
            }
        }
        svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{OURS}\" stroke-width=\"0.9\"/>\n",
            line.trim_end()
        );
        let (x, y) = (x(theirs.tenth), y(0.1));
        svg += &format!("<path d=\"M{x:.1} {:.1}v8\" stroke=\"{THEIRS}\" stroke-width=\"1.6\"/>\n", y - 4.0);
    }
    svg + &simulated(model, reference, x, y)
}

/// The simulated points, shifted from the code rate of our MCS to the reference's.
fn simulated(
    model: &BlockErrorCurves,
    reference: &[Row],
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) -> String {
    let mut svg = String::new();
    let all = record::points(include_str!("../data/block_errors.csv")).expect("points");
    for row in reference.iter().filter(|row| row.bits == DRAWN) {
        let modulation = modulation(Direction::Down, row.mcs);
        let (_, points) = all
            .iter()
            .find(|(format, _)| {
                let rate = f64::from(DRAWN) / format.coded_bits as f64;
                let size = format.block_bits + CRC_BITS;
                format.modulation == modulation
                    && size == DRAWN as usize
                    && (rate / code_rate(row.mcs) - 1.0).abs() < 1e-3
            })
            .expect("every MCS was simulated");
        let [here, there] =
            [code_rate(row.mcs), row.checked_rate()].map(|rate| model.curve(modulation, DRAWN, rate).half.0);
        for point in points.iter().filter(|point| point.failed > 0) {
            let error = f64::from(point.failed) / f64::from(point.blocks);
            svg += &format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.2\" fill=\"{OURS}\"/>\n",
                x(point.snr.0 + there - here),
                y(error)
            );
        }
    }
    svg
}

/// SINR at 10 %, minus the reference's.
fn differences(model: &BlockErrorCurves, reference: &[Row]) -> String {
    let (left, top, width, height) = DIFFERENCES;
    let y = |decibels: f64| along(top, height, (DIFFERENCE, -DIFFERENCE), decibels);
    let mut svg = frame(
        DIFFERENCES,
        "SINR at 10 % block errors minus the reference's, in dB, by MCS; larger dots: larger code blocks",
    );
    svg += &format!(
        "<rect x=\"{left}\" y=\"{:.1}\" width=\"{width}\" height=\"{:.1}\" fill=\"#eee\"/>\n",
        y(0.3),
        y(-0.3) - y(0.3)
    );
    for (decibels, label) in [(-0.3, "-0.3"), (0.0, "0"), (0.3, "+0.3")] {
        svg += &text(left - 4.0, y(decibels) + 3.0, "end", label);
    }
    svg += &format!("<path d=\"M{left} {:.1}h{width}\" stroke=\"#999\" stroke-width=\"0.5\"/>\n", y(0.0));
    for mcs in Mcs::all() {
        let x = |shift: f64| along(left, width, (-0.7, 28.7), f64::from(mcs.0) + shift);
        svg += &text(x(0.0), top + height + 11.0, "middle", &format!("{}", mcs.0));
        let rows: Vec<&Row> = reference.iter().filter(|row| row.mcs == mcs).collect();
        for (place, row) in rows.iter().enumerate() {
            let shift = 0.08 * (place as f64 - (rows.len() - 1) as f64 / 2.0);
            let off = row.ours(model).tenth().0 - row.tenth;
            let radius = 0.9 + 0.35 * (libm::log2(f64::from(row.bits)) - 5.0) / 2.0;
            svg += &format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{OURS}\"/>\n",
                x(shift),
                y(off)
            );
        }
    }
    svg
}

/// An MCS and a code block size in the reference, both without the CRC.
struct Row {
    mcs: Mcs,
    rate: f64,
    bits: u32,
    tenth: f64,
}

impl Row {
    fn checked_rate(&self) -> f64 {
        self.rate * f64::from(self.bits + CRC_BITS as u32) / f64::from(self.bits)
    }

    fn ours(&self, model: &BlockErrorCurves) -> Curve {
        let size = code_block_at_least((self.bits + CRC_BITS as u32).min(MAX_CODE_BLOCK));
        model.curve(modulation(Direction::Down, self.mcs), size, self.checked_rate())
    }
}

fn main() {
    let file = std::env::args().nth(1).expect("a file to write to");
    let model = BlockErrorCurves::new(block_error_curves::Params::default());
    let read = |line: &str| {
        let number: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
        Row { mcs: Mcs(number[0] as u8), rate: number[1], bits: number[2] as u32, tenth: number[3] }
    };
    let lines = include_str!("../tests/data/reference.csv").lines();
    let reference: Vec<Row> = lines.filter(|line| !line.starts_with('#')).map(read).collect();
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 406\" font-family=\"sans-serif\" font-size=\"8\">\n\
                   <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        .to_string();
    svg += &curves(&model, &reference);
    svg += &differences(&model, &reference);
    svg += &format!(
        "<text x=\"42\" y=\"398\"><tspan fill=\"{OURS}\">lines and dots: airwnd, fitted and simulated</tspan>; \
         <tspan fill=\"{THEIRS}\">vertical ticks: 10 % in the error model of ns-3 3.44</tspan></text>\n</svg>\n"
    );
    std::fs::write(file, svg).expect("the file can be written");
}
