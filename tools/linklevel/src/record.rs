//! Text format of points and curves.

use crate::crc::CRC_BITS;
use crate::curve::{self, Point};
use crate::link::Format;
use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::tables::Modulation;
use airwnd_units::Db;
use std::fmt::Write;

/// The line of a point: modulation order, code block bits, coded bits, transmissions, SNR, blocks, failed blocks.
pub fn row(format: &Format, point: &Point) -> String {
    let Format { block_bits, coded_bits, modulation, transmissions } = format;
    let (order, size) = (modulation.order(), block_bits + CRC_BITS);
    let Point { snr, blocks, failed } = point;
    format!("{order},{size},{coded_bits},{transmissions},{:.2},{blocks},{failed}", snr.0)
}

/// Parses a file of points: the formats with their points, in file order.
///
/// Error messages name the line.
pub fn points(text: &str) -> Result<Vec<(Format, Vec<Point>)>, String> {
    let mut all: Vec<(Format, Vec<Point>)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
        let (format, point) = read(line).ok_or_else(|| format!("line {number}: {line:?} is not a point"))?;
        match all.last_mut() {
            Some((last, points)) if *last == format => points.push(point),
            _ => all.push((format, vec![point])),
        }
    }
    Ok(all)
}

fn read(line: &str) -> Option<(Format, Point)> {
    let [order, size, coded, transmissions, snr, blocks, failed] =
        line.split(',').collect::<Vec<_>>().try_into().ok()?;
    let order: u32 = order.parse().ok()?;
    let format = Format {
        block_bits: size.parse::<usize>().ok()?.checked_sub(CRC_BITS)?,
        coded_bits: coded.parse().ok()?,
        modulation: Modulation::ALL.into_iter().find(|modulation| modulation.order() == order)?,
        transmissions: transmissions.parse().ok()?,
    };
    let point =
        Point { snr: Db(snr.parse().ok()?), blocks: blocks.parse().ok()?, failed: failed.parse().ok()? };
    Some((format, point))
}

/// The file of curves for a file of points: its comments, then a line for each format of one transmission.
pub fn curves(text: &str) -> Result<String, String> {
    let remarks: Vec<&str> = text.lines().filter(|line| line.starts_with("# ")).collect();
    let (columns, remarks): (Vec<&str>, Vec<&str>) =
        remarks.into_iter().partition(|line| line.contains(",blocks,failed"));
    if columns.len() != 1 {
        return Err("there is no line that names the columns".to_string());
    }
    let mut out = remarks.join("\n");
    out += "\n# Curves of maximum likelihood: a block fails with probability Q((snr - half) / width).\n\
            # modulation_order,code_block_bits,coded_bits,half_db,width_db\n";
    for (format, points) in points(text)?.into_iter().filter(|(format, _)| format.transmissions == 1) {
        let Curve { half, width } = fit(&points);
        let (order, size) = (format.modulation.order(), format.block_bits + CRC_BITS);
        writeln!(out, "{order},{size},{},{:.3},{:.4}", format.coded_bits, half.0, width.0)
            .expect("text grows");
    }
    Ok(out)
}

/// Fits the curve of a format's points.
pub fn fit(points: &[Point]) -> Curve {
    let (first, last) = (points[0].snr, points[points.len() - 1].snr);
    let middle = Db((first.0 + last.0) / 2.0);
    curve::fit(points, Curve { half: middle, width: Db((last.0 - first.0).max(0.1) / 3.0) })
}
