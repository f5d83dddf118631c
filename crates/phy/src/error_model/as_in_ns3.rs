//! Behaviour of ns-3's error model that is due to integer overflow or missing curves, for comparisons with ns-3.

use super::SoftBits;
use super::combining::Combining;
use super::segment::segment_bits;
use crate::tables::{Modulation, mcs_efficiency};
use crate::{Mcs, Scheme};
use airwnd_units::Bytes;

/// Soft bits as counted by LteHarqPhy and LteMiErrorModel.
pub(super) const COMBINING: Combining = Combining { receive, combined };

/// Code block sizes with a curve in ns-3.
const SIZES: [u32; 9] = [40, 104, 160, 256, 512, 1024, 2560, 4032, 6144];

/// Smallest of them from each MCS on.
const SMALLEST: [(Mcs, u32); 7] = [
    (Mcs(0), 40),
    (Mcs(1), 104),
    (Mcs(4), 160),
    (Mcs(6), 256),
    (Mcs(9), 512),
    (Mcs(15), 1024),
    (Mcs(24), 2560),
];

/// Code blocks of a transport block with the sizes of the curves that ns-3 uses for them.
pub(super) fn segment(block: Bytes, scheme: Scheme) -> [(u32, u32); 2] {
    // Efficiencies ascend with the MCS, by a hundredth at least.
    let efficiency = scheme.efficiency() + 0.005;
    let reached = SMALLEST.partition_point(|(first, _)| mcs_efficiency(*first) <= efficiency).max(1);
    let smallest = SMALLEST[reached - 1].1;
    let curve_size = |size: u32| {
        let below = SIZES.partition_point(|entry| *entry <= size);
        SIZES[below.max(1) - 1].max(smallest)
    };
    segment_bits(block.bits() as u32).map(|(count, size)| (count, curve_size(size)))
}

/// A number modulo 2^16, as in an unsigned 16-bit variable.
fn wrapped(bits: f64) -> f64 {
    libm::fmod(libm::floor(bits), 65536.0)
}

/// The soft buffer after a transmission with this mean information: earlier transmissions are weighted by their wrapped
/// bit count, the latest one by all its bits.
//= exception harq-sixteen-bits
fn receive(before: SoftBits, scheme: Scheme, block: Bytes, mean: f64) -> SoftBits {
    let coded = block.bits() as f64 / scheme.rate;
    let counted = wrapped(coded);
    SoftBits {
        coded: before.coded + counted,
        information: before.information + counted * mean,
        scheme,
        uncounted: (before.coded > 0.0).then_some((coded - counted) * mean),
    }
}

/// Coded bits per bit of the block, and the mean information of a coded bit.
//= exception harq-sixteen-bits
fn combined(block: Bytes, soft: SoftBits) -> (f64, f64) {
    let Some(uncounted) = soft.uncounted else {
        return (1.0 / soft.scheme.rate, soft.information / soft.coded);
    };
    let coded = wrapped(soft.coded).max(1.0);
    // ns-3 uses the curve below the combined rate, and starts its search at the index of the modulation's last MCS,
    // where its list of curves has one of a lower rate.
    let highest = match soft.scheme.modulation {
        Modulation::Qpsk | Modulation::Qam16 => 0.3,
        Modulation::Qam64 | Modulation::Qam256 => 0.5,
    };
    let rate = (wrapped(block.bits() as f64) / coded).min(highest);
    (1.0 / rate, (soft.information + uncounted) / coded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scheme;

    #[test]
    fn code_blocks_use_the_curve_of_the_size_below_or_the_smallest() {
        // MCS 10 on 2 PRB: 296 bits, curve of 512; on 12: 1864 bits, 1024; 20 kbit: two of 5056 and of 4992, 4032
        assert_eq!(segment(Bytes(296 / 8), scheme(Mcs(10)))[0], (1, 512));
        assert_eq!(segment(Bytes(1864 / 8), scheme(Mcs(10)))[0], (1, 1024));
        assert_eq!(segment(Bytes(20_000 / 8), scheme(Mcs(10))), [(2, 4032), (2, 4032)]);
        assert_eq!(segment(Bytes(16 / 8), scheme(Mcs(0)))[0], (1, 40));
        assert_eq!(segment(Bytes(712 / 8), scheme(Mcs(28)))[0], (1, 2560));
    }

    #[test]
    fn sums_wrap_and_the_latest_transmission_does_not() {
        // 75376 bits at rate 0.925 are 81487.6 coded bits, of which 15951 are counted after wrapping.
        let (mcs, block, mean) = (scheme(Mcs(28)), Bytes(75_376 / 8), 0.25);
        let first = receive(SoftBits::default(), mcs, block, mean);
        assert_eq!((first.coded, first.uncounted), (15_951.0, None));
        let (per_bit, information) = combined(block, first);
        assert!((per_bit - 1.0 / 0.925).abs() < 1e-12 && information == mean);
        let second = receive(first, mcs, block, mean);
        // 9840 of its bits remain over 31902 coded ones: rate 0.308
        let (per_bit, information) = combined(block, second);
        assert!((per_bit - 31_902.0 / 9840.0).abs() < 1e-9, "{per_bit}");
        assert!((information - mean * (15_951.0 + 81_487.57) / 31_902.0).abs() < 1e-6, "{information}");
    }
}
