//! Text format of points and curves.

use super::link::Format;
use crate::curve::Point;
use crate::record::fit;
use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::nr::transport_block::BaseGraph;
use airwnd_units::Db;
use std::fmt::Write;

use super::campaign::MODULATIONS;

fn number(graph: BaseGraph) -> u32 {
    match graph {
        BaseGraph::One => 1,
        BaseGraph::Two => 2,
    }
}

/// The line of a point: base graph, modulation order, code block bits, coded bits, transmissions, SNR, blocks, failed
/// blocks.
pub fn row(format: &Format, point: &Point) -> String {
    let Format { graph, block_bits, coded_bits, modulation, transmissions } = format;
    let Point { snr, blocks, failed } = point;
    let (graph, order) = (number(*graph), modulation.order());
    format!("{graph},{order},{block_bits},{coded_bits},{transmissions},{:.2},{blocks},{failed}", snr.0)
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
    let [graph, order, size, coded, transmissions, snr, blocks, failed] =
        line.split(',').collect::<Vec<_>>().try_into().ok()?;
    let (graph, order): (u32, u32) = (graph.parse().ok()?, order.parse().ok()?);
    let format = Format {
        graph: [BaseGraph::One, BaseGraph::Two].into_iter().find(|entry| number(*entry) == graph)?,
        block_bits: size.parse().ok()?,
        coded_bits: coded.parse().ok()?,
        modulation: MODULATIONS.into_iter().find(|modulation| modulation.order() == order)?,
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
            # base_graph,modulation_order,code_block_bits,coded_bits,half_db,width_db\n";
    for (format, points) in points(text)?.into_iter().filter(|(format, _)| format.transmissions == 1) {
        let Curve { half, width } = fit(&points);
        let Format { graph, block_bits, coded_bits, modulation, .. } = format;
        let (graph, order) = (number(graph), modulation.order());
        writeln!(out, "{graph},{order},{block_bits},{coded_bits},{:.3},{:.4}", half.0, width.0)
            .expect("text grows");
    }
    Ok(out)
}
