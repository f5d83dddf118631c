//! Fit of a block-error curve to simulated points.

use airwnd_phy::error_model::block_error_curves::Curve;
use airwnd_phy::error_model::upper_tail;
use airwnd_units::Db;

/// A simulated point: blocks sent and failed at a ratio of symbol energy to noise density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Ratio of symbol energy to noise density.
    pub snr: Db,
    /// Blocks sent.
    pub blocks: u32,
    /// Blocks that were not decoded.
    pub failed: u32,
}

/// The maximum-likelihood curve (probit regression by scoring: Finney, Probit Analysis, 1971, §4), starting from
/// `guess`.
pub fn fit(points: &[Point], guess: Curve) -> Curve {
    // Q(a + b x) with x measured from the guess, in its widths
    let (mut a, mut b) = (0.0, 1.0);
    for _ in 0..100 {
        let (mut aa, mut ab, mut bb, mut ya, mut yb) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for point in points {
            let x = (point.snr.0 - guess.half.0) / guess.width.0;
            let score = (a + b * x).clamp(-6.0, 6.0);
            let error = upper_tail(score);
            let density = libm::exp(-0.5 * score * score) / libm::sqrt(std::f64::consts::TAU);
            let weight = f64::from(point.blocks) * density * density / (error * (1.0 - error));
            let off = (error - f64::from(point.failed) / f64::from(point.blocks)) / density;
            aa += weight;
            ab += weight * x;
            bb += weight * x * x;
            ya += weight * off;
            yb += weight * x * off;
        }
        let determinant = aa * bb - ab * ab;
        let (step_a, step_b) = ((bb * ya - ab * yb) / determinant, (aa * yb - ab * ya) / determinant);
        // far from the solution, full steps overshoot
        let part = 1.0 / f64::max(1.0, step_a.abs().max(step_b.abs()));
        (a, b) = (a + part * step_a, f64::max(b + part * step_b, 0.05));
        if step_a.abs().max(step_b.abs()) < 1e-10 {
            break;
        }
    }
    Curve { half: Db(guess.half.0 - guess.width.0 * a / b), width: Db(guess.width.0 / b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_recovers_the_curve_of_its_points() {
        let curve = Curve { half: Db(3.2), width: Db(0.4) };
        let points: Vec<Point> = [-1.0, 0.0, 1.0, 2.0]
            .iter()
            .map(|score| {
                let snr = Db(curve.half.0 + score * curve.width.0);
                Point { snr, blocks: 1_000_000, failed: (1e6 * curve.error(snr)).round() as u32 }
            })
            .collect();
        let fit = fit(&points, Curve { half: Db(2.5), width: Db(0.7) });
        assert!((fit.half.0 - 3.2).abs() < 1e-3 && (fit.width.0 - 0.4).abs() < 1e-3, "{fit:?}");
        assert!((curve.error(curve.tenth()) - 0.1).abs() < 1e-9);
    }
}
