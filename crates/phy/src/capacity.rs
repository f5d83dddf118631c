//! Capacity of a channel whose SINR differs between PRBs.

use airwnd_units::Db;

/// Relative difference of two growths within which rounding may have decided which is the larger.
pub const ROUNDING: f64 = 1e-9;

/// The product of 1 + SINR over these PRBs, whose SINR is linear: two to the power of their capacity in bits per symbol.
/// It tells without logarithms which of two channels has the higher capacity. Infinite for hundreds of good PRBs.
pub fn growth(prbs: &[f64]) -> f64 {
    prbs.iter().map(|sinr| 1.0 + sinr).product()
}

/// The SINR of a flat channel with the mean capacity of these PRBs, whose SINR is linear.
//= exception groups-by-capacity
pub fn effective(prbs: &[f64]) -> Db {
    // One logarithm of a product replaces four; four factors do not overflow.
    let capacity = prbs.chunks(4).map(|prbs| libm::log2(growth(prbs))).sum::<f64>();
    let sinr = libm::exp2(capacity / prbs.len() as f64) - 1.0;
    // Values far below 1 lose precision in 1 + SINR; there capacity is proportional to SINR.
    let is_small = sinr < 1e-9;
    if is_small { mean(prbs) } else { Db::from_linear(sinr) }
}

/// Whether the [effective] SINR certainly exceeds this linear one. Within rounding it may do so nevertheless.
pub fn exceeds(prbs: &[f64], sinr: f64) -> bool {
    let part = 1.0 / (1.0 + sinr);
    let growth = |sinr: &f64| (1.0 + sinr) * part;
    // Four products at a time, which the compiler computes at once.
    let (fours, rest) = prbs.as_chunks::<4>();
    let mut products = [1.0; 4];
    for four in fours {
        products.iter_mut().zip(four).for_each(|(product, sinr)| *product *= growth(sinr));
    }
    products.iter().product::<f64>() * rest.iter().map(growth).product::<f64>() > 1.0 + ROUNDING
}

/// A linear SINR in decibels to a millionth, in a tenth of the time of [`Db::from_linear`]. It is a positive normal number.
#[inline]
pub fn nearly_decibels(sinr: f64) -> Db {
    const FRACTION: u64 = (1 << 52) - 1;
    // sinr = 2^exponent * mantissa, with a mantissa between sqrt(1/2) and sqrt(2).
    let shifted = sinr.to_bits().wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (shifted as i64 >> 52) as i32;
    let mantissa =
        f64::from_bits((shifted & FRACTION).wrapping_add(std::f64::consts::FRAC_1_SQRT_2.to_bits()));
    // ln(m) = 2 artanh(t)
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let series = 1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square * (1.0 / 7.0)));
    const PER_NEPER: f64 = 10.0 * std::f64::consts::LOG10_E;
    const PER_OCTAVE: f64 = 10.0 * std::f64::consts::LOG10_2;
    Db(f64::from(exponent) * PER_OCTAVE + 2.0 * PER_NEPER * t * series)
}

/// The mean of linear SINRs.
pub fn mean(prbs: &[f64]) -> Db {
    Db::from_linear(prbs.iter().sum::<f64>() / prbs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::Stream;

    #[test]
    fn the_effective_sinr_has_the_mean_capacity() {
        // log2(1 + 3) = 2 and log2(1 + 15) = 4: a mean of 3 bits, which a SINR of 7 has
        assert!((effective(&[3.0, 15.0]).0 - Db::from_linear(7.0).0).abs() < 1e-12);
        assert!((effective(&[1e-12, 3e-12]).linear() / 2e-12 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn decibels_are_right_to_a_millionth() {
        for step in -60_000..60_000 {
            let sinr = libm::pow(10.0, f64::from(step) / 4000.0);
            let error = nearly_decibels(sinr).0 - Db::from_linear(sinr).0;
            assert!(error.abs() < 1e-6, "{sinr}: {error}");
        }
        assert_eq!(nearly_decibels(1.0), Db(0.0));
    }

    #[test]
    fn a_sinr_is_exceeded_as_by_the_effective_one() {
        let mut draws = Stream::new(1, "SINR");
        let mut exceeding = 0;
        for number in 0..4000 {
            let centre = Db(-3.0 + 4.0 * draws.uniform());
            let mut sinr = || (centre + Db(12.0 * (draws.uniform() - 0.5))).linear();
            let prbs: Vec<f64> = (0..[6, 50, 273][number % 3]).map(|_| sinr()).collect();
            let exceeds = exceeds(&prbs, Db(-1.0).linear());
            assert_eq!(exceeds, effective(&prbs) > Db(-1.0), "{prbs:?}");
            exceeding += u32::from(exceeds);
        }
        assert!((1000..3000).contains(&exceeding), "{exceeding}");
        assert!(exceeds(&[1e6; 273], 1.0) && !exceeds(&[0.0; 273], 1.0));
        assert!(!exceeds(&[1.0; 6], 1.0));
    }
}
