//! Mutual information of a coded bit of 256QAM, computed by the quadrature that the tests contain. Up to 64QAM NR's
//! constellations are LTE's (TS 38.211 §5.1), and so are the tables.

mod table;

pub use table::INFORMATION_256QAM;

#[cfg(test)]
mod tests {
    use crate::phy::bit_channel::{self, LOWEST, POINTS, STEP, information, sinr};
    use crate::phy::tables::Modulation;
    use airwnd_units::Db;

    /// Information of a bit of Gray-mapped square QAM with `levels` amplitudes per dimension: the sum of
    /// [`crate::phy::bit_channel`], with its step and range.
    fn quadrature(levels: usize, sinr: Db) -> f64 {
        const HALF_POINTS: i32 = 64;
        const NOISE_STEP: f64 = 0.125;
        let bits = levels.ilog2();
        let spacing = libm::sqrt(3.0 / ((levels * levels - 1) as f64)) * libm::sqrt(sinr.linear());
        let amplitude = |level: usize| (2.0 * level as f64 - (levels - 1) as f64) * spacing;
        let gray = |level: usize| level ^ (level >> 1);
        let mut mean = 0.0;
        for sent in 0..levels / 2 {
            for point in -HALF_POINTS..=HALF_POINTS {
                let noise = NOISE_STEP * f64::from(point);
                let weight = NOISE_STEP * libm::exp(-noise * noise / 2.0) / libm::sqrt(std::f64::consts::TAU);
                let likelihood: Vec<f64> = (0..levels)
                    .map(|level| {
                        let off = amplitude(sent) - amplitude(level);
                        libm::exp(-off * (off / 2.0 + noise))
                    })
                    .collect();
                let all: f64 = likelihood.iter().sum();
                let density: f64 = (0..bits)
                    .map(|bit| {
                        let same = |level: &usize| (gray(*level) ^ gray(sent)) >> bit & 1 == 0;
                        let agreeing: f64 = (0..levels).filter(same).map(|level| likelihood[level]).sum();
                        1.0 - libm::log2(all / agreeing)
                    })
                    .sum();
                mean += weight * density;
            }
        }
        mean / (levels / 2) as f64 / f64::from(bits)
    }

    /// The content of `table.rs`.
    fn written() -> String {
        let mut values: Vec<f64> =
            (0..POINTS).map(|i| quadrature(16, Db(LOWEST + STEP * i as f64))).collect();
        for i in 1..POINTS {
            values[i] = values[i].clamp(values[i - 1], 1.0);
        }
        let rows: String = values.iter().map(|value| format!("    {value:?},\n")).collect();
        format!(
            "//! Computed by the tests of the parent module. Each number is the shortest text that gives its value back.\n\n\
             /// The mutual information of a coded bit of 256QAM at the grid's SINR.\n\
             pub static INFORMATION_256QAM: [f64; {POINTS}] = [\n{rows}];\n"
        )
    }

    #[test]
    fn the_table_matches_the_quadrature() {
        let expected = written();
        assert!(include_str!("table.rs") == expected, "table.rs must be:\n{expected}");
    }

    #[test]
    fn the_quadrature_gives_the_tables_of_lte() {
        for (levels, modulation) in [(2, Modulation::Qpsk), (4, Modulation::Qam16), (8, Modulation::Qam64)] {
            for quarter in (-100..120).step_by(7) {
                let sinr = Db(STEP * f64::from(quarter));
                let difference = quadrature(levels, sinr) - bit_channel::information(modulation, sinr);
                assert!(difference.abs() < 1e-12, "{modulation:?} {sinr:?}: {difference}");
            }
        }
    }

    #[test]
    fn a_higher_order_gains_symbols_but_not_bits() {
        for sinr in (-10..36).map(|sinr| Db(f64::from(sinr))) {
            let per_bit = [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256]
                .map(|of| information(of, sinr));
            assert!(per_bit.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{sinr:?} {per_bit:?}");
            assert!(8.0 * per_bit[3] <= libm::log2(1.0 + sinr.linear()), "{sinr:?} {per_bit:?}");
        }
        // at high rates 256QAM carries more than 64QAM
        assert!(8.0 * information(Modulation::Qam256, Db(20.0)) > 6.0);
    }

    #[test]
    fn the_inverse_returns_the_ratio() {
        for of in [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256] {
            for ratio in [-35.0, -12.3, 0.0, 4.4, 9.1] {
                let back = sinr(of, information(of, Db(ratio)));
                assert!((back.0 - ratio).abs() < 1e-6, "{of:?} {ratio}: {back:?}");
            }
            assert_eq!(sinr(of, 1.1), Db(40.0));
        }
    }
}
