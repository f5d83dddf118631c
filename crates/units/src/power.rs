//! Powers of ten.

use std::f64::consts::LN_2;

/// log2(10) in two parts, the first of which has zeros in its lower 32 bits, as `libm::pow` computes them.
const LOG2_10: (f64, f64) = (f64::from_bits(0x400a_934f_0000_0000), f64::from_bits(0x3e72_f346_e2bf_9206));
/// ln(2) in two parts (libm, e_pow.c).
const LN_2_PARTS: (f64, f64) = (0.693_147_182_464_599_6, -1.904_654_299_957_768e-9);
/// The polynomial of e^x (libm, e_pow.c).
const P: [f64; 5] = [
    0.166_666_666_666_666_02,
    -0.002_777_777_777_701_559_3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];

/// Ten to the power of `y`: the same bits as `libm::pow(10.0, y)`, which spends most of its time on the logarithm of its
/// base and on special cases.
#[inline]
pub(crate) fn power_of_ten(y: f64) -> f64 {
    // A number with zeros in its lower half may be one that `pow` treats specially, such as 0, 1 and 0.5.
    let is_usual = y.abs() < 300.0 && y.to_bits() as u32 != 0;
    if is_usual { usual(y) } else { libm::pow(10.0, y) }
}

/// The part of e_pow.c that remains, in its order of operations.
fn usual(y: f64) -> f64 {
    let upper = upper_half(y);
    let low = (y - upper) * LOG2_10.0 + y * LOG2_10.1;
    let mut high = upper * LOG2_10.0;
    let z = low + high;
    // The nearest whole number. A half is rounded away from zero, except a single one.
    let whole = if upper_half(z).abs() > 0.5 { (z + 0.5_f64.copysign(z)) as i32 } else { 0 };
    high -= f64::from(whole);
    let t = upper_half(low + high);
    let (u, v) = (t * LN_2_PARTS.0, (low - (t - high)) * LN_2 + t * LN_2_PARTS.1);
    let z = u + v;
    let w = v - (z - u);
    let t = z * z;
    let t = z - t * (P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * P[4]))));
    let r = (z * t) / (t - 2.0) - (w + z * w);
    let z = 1.0 - (r - z);
    // Times two to the power of `whole`.
    f64::from_bits(z.to_bits().wrapping_add((i64::from(whole) << 52) as u64))
}

/// The number with the upper half of the bits.
fn upper_half(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_the_bits_of_libm() {
        let same = |y: f64| {
            assert_eq!(power_of_ten(y).to_bits(), libm::pow(10.0, y).to_bits(), "10^{y:?}");
        };
        // An arithmetic sequence modulo 1 that covers it evenly, over ranges from tiny to out of range.
        let mut part = 0.5_f64;
        for _ in 0..400_000 {
            part = (part + 0.618_033_988_749_894_9).fract();
            for range in [1e-9, 0.01, 1.0, 20.0, 299.0, 400.0] {
                same(range * (2.0 * part - 1.0));
            }
        }
        // Halves and whole numbers of the exponent of two, and their neighbours.
        for half in -1990..1990 {
            let y = f64::from(half) / 2.0 / std::f64::consts::LOG2_10;
            (-40..40).for_each(|step| same(f64::from_bits(y.to_bits().wrapping_add_signed(step * 1009))));
            (-40..40).for_each(|step| same(f64::from_bits(y.to_bits().wrapping_add_signed(step))));
        }
        for tenth in -4000..4000 {
            same(f64::from(tenth) / 10.0);
        }
        let special = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        special.into_iter().for_each(same);
        assert!(power_of_ten(f64::NAN).is_nan());
    }
}
