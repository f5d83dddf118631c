//! Gains along a way, computed once: each interferer has a part of its own.

use super::Tap;
use super::delay_line::{DelayLine, Sinusoid, Wavelengths};
use crate::Prbs;
use airwnd_kernel::Stream;
use airwnd_units::Hertz;

/// Positions per wavelength of the way: between two of them phases change by at most 0.2 radians.
// With half as many, between which a UE that stays is for 10 ms, steps between report and block lower the MCS that the
// outer loop arrives at: these UEs had 0.7 % less goodput in 133 cells than with interferers that fade continuously.
const PER_WAVELENGTH: f64 = 32.0;
/// Positions of the way, which is 1024 wavelengths long. Of twenty interferers of a UE, two are on parts closer than half
/// a wavelength with a probability of a fifth.
const POSITIONS: usize = 1 << 15;

/// Positions between the starts of a UE's links with cells of consecutive numbers: those of any two of 1000 cells are at
/// least 32 positions apart, those of any two of 200 at least 129.
const APART: u32 = 12_727;
/// Groups of PRBs whose gains start at a multiple of this number, for loops over several of them.
const LANES: usize = 4;

/// Gains of groups of PRBs along a way, which links travel from different starts, as in traces of ns-3's fading model.
///
/// Links at distant parts of the way fade independently.
pub struct Trace {
    /// Gains per position: those of the groups of PRBs, and zeros up to a multiple of [`LANES`].
    stride: usize,
    /// `[position * stride + group]`
    gains: Vec<f32>,
}

/// The way of a UE, which its links travel together, each from a start of its own.
pub struct Way<'a> {
    trace: &'a Trace,
    position: u32,
}

impl Trace {
    /// A way through multipath propagation of `taps` over a carrier of this many PRBs, each `prb` wide. Gains are those at
    /// the centres of groups of `width` PRBs; the mean of each group along the way is one.
    pub fn new(taps: &[Tap], prbs: Prbs, prb: Hertz, width: Prbs, stream: Stream) -> Trace {
        let mut line = DelayLine::new(taps, prbs, prb, width);
        let mut sinusoids = vec![Sinusoid::default(); line.sinusoids()];
        line.draw(stream, &mut sinusoids);
        let groups = line.points();
        let stride = groups.next_multiple_of(LANES);
        let mut gains = vec![0.0; POSITIONS * stride];
        for (position, gains) in gains.chunks_exact_mut(stride).enumerate() {
            line.gains(&sinusoids, Wavelengths::east(position as f64 / PER_WAVELENGTH), &mut gains[..groups]);
        }
        for group in 0..groups {
            let sum = gains.iter().skip(group).step_by(stride).map(|gain| f64::from(*gain)).sum::<f64>();
            let scale = (POSITIONS as f64 / sum) as f32;
            gains.iter_mut().skip(group).step_by(stride).for_each(|gain| *gain *= scale);
        }
        Trace { stride, gains }
    }

    /// The way of a UE that has travelled this far, in wavelengths, from its start, which is any number.
    // It jumps at the end of the way.
    pub fn way(&self, start: u64, travelled: f64) -> Way<'_> {
        let position = start.wrapping_add((travelled * PER_WAVELENGTH) as u64) as u32;
        Way { trace: self, position }
    }
}

impl<'a> Way<'a> {
    /// The position on the way, on which the gains of all links depend.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// The gains of the groups of PRBs of the link with a cell, and zeros up to a multiple of four.
    #[inline]
    pub fn to(&self, cell: u32) -> &'a [f32] {
        let Trace { stride, gains } = self.trace;
        let position = self.position.wrapping_add(cell.wrapping_mul(APART)) as usize % POSITIONS;
        &gains[position * stride..][..*stride]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fading::{Fading, epa, etu, eva};
    use crate::link_budget::PRB_BANDWIDTH;

    fn traces() -> [(&'static str, Trace); 3] {
        let trace =
            |taps: &[Tap]| Trace::new(taps, Prbs(50), PRB_BANDWIDTH, Prbs(3), Stream::new(1, "trace"));
        [
            ("epa", trace(epa::Epa::new(epa::Params::default()).taps())),
            ("eva", trace(eva::Eva::new(eva::Params::default()).taps())),
            ("etu", trace(etu::Etu::new(etu::Params::default()).taps())),
        ]
    }

    /// The gain of a group at every position, from a start.
    fn along(trace: &Trace, start: u64, group: usize) -> Vec<f64> {
        let at = |position: usize| trace.way(start, position as f64 / PER_WAVELENGTH).to(0)[group].into();
        (0..POSITIONS).map(at).collect()
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        values.sum::<f64>() / POSITIONS as f64
    }

    #[test]
    fn gains_are_those_of_rayleigh_amplitudes() {
        // Powers are exponential: mean 1, mean square 2, a tenth of them below 0.105. About 2000 are independent.
        for (name, trace) in traces() {
            for group in [0, 7, 16] {
                let gains = along(&trace, 77, group);
                assert!((mean(gains.iter().copied()) - 1.0).abs() < 1e-4, "{name}");
                let square = mean(gains.iter().map(|gain| gain * gain));
                assert!((square - 2.0).abs() < 0.3, "{name}: {square}");
                let low = mean(gains.iter().map(|gain| f64::from(u8::from(*gain < 0.10536))));
                assert!((low - 0.1).abs() < 0.025, "{name}: {low}");
            }
        }
    }

    #[test]
    fn links_with_different_starts_fade_independently() {
        // The variance of a gain is one: the standard error of the covariance is 0.02.
        for (name, trace) in traces() {
            for apart in [200, 6000, 16_384] {
                let pairs = along(&trace, 5, 3).into_iter().zip(along(&trace, 5 + apart, 3));
                let covariance = mean(pairs.map(|(a, b)| (a - 1.0) * (b - 1.0)));
                assert!(covariance.abs() < 0.15, "{name} {apart}: {covariance}");
            }
        }
    }

    #[test]
    fn gains_change_smoothly_along_the_way() {
        // J0(2 pi / 32)^2 = 0.981 is the correlation of the gains at neighbouring positions.
        for (name, trace) in traces() {
            let pairs = along(&trace, 9, 3).into_iter().zip(along(&trace, 10, 3));
            let correlation = mean(pairs.map(|(a, b)| (a - 1.0) * (b - 1.0)))
                / mean(along(&trace, 9, 3).into_iter().map(|gain| (gain - 1.0) * (gain - 1.0)));
            assert!((correlation - 0.981).abs() < 0.005, "{name}: {correlation}");
        }
    }

    #[test]
    fn any_start_and_any_distance_have_gains() {
        let [(_, trace), ..] = traces();
        for (start, travelled) in [(u64::MAX, 0.0), (0, 1e15), (u64::MAX, 1e15)] {
            assert_eq!(trace.way(start, travelled).to(u32::MAX).len(), 20);
        }
    }

    #[test]
    fn links_of_a_ue_start_apart() {
        let distance = |cell: u32| {
            let ahead = cell.wrapping_mul(APART) as usize % POSITIONS;
            ahead.min(POSITIONS - ahead)
        };
        assert_eq!((1..200).map(distance).min(), Some(129));
        assert_eq!((1..1000).map(distance).min(), Some(32));
    }
}
