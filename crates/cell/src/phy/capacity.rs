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
