//! A histogram with a constant relative resolution.

/// Values up to here, exclusive, are distinguished. From each further power of two on, the width of the bins doubles:
/// two significant digits.
const EXACT: u64 = 2 * HALF as u64;
/// Number of bins of equal width from a power of two on to the next.
const HALF: usize = 128;

/// Counts of values, in bins as those of HdrHistogram with two significant digits.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Box<[u32]>,
    total: u64,
    /// Maximum value; larger ones that have no bin are counted as this one.
    most: u64,
}

impl Histogram {
    /// A histogram of values up to `most`.
    pub fn up_to(most: u64) -> Histogram {
        let bins = (bin(most) / HALF + 1) * HALF;
        Histogram { counts: vec![0; bins].into(), total: 0, most }
    }

    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let at = bin(value);
        let at = if at < self.counts.len() { at } else { bin(self.most) };
        self.counts[at] = self.counts[at].saturating_add(1);
        self.total += 1;
    }

    /// Adds the values of another histogram with the same maximum.
    pub fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total += other.total;
    }

    /// The highest value of the bin that contains the percentile; for 0 %, the lowest one of the first bin with a value.
    pub fn percentile(&self, percent: f64) -> u64 {
        let quantile = (percent / 100.0).min(1.0);
        let wanted = libm::ceil(quantile * self.total as f64).max(1.0) as u64;
        // By groups of bins first: their sums are computed several bins at a time.
        let (mut before, mut at) = (0, 0);
        for group in self.counts.chunks(HALF) {
            let sum = group.iter().map(|count| u64::from(*count)).sum::<u64>();
            if before + sum >= wanted {
                break;
            }
            before += sum;
            at += group.len();
        }
        let reaches = |count: &u32| {
            before += u64::from(*count);
            before >= wanted
        };
        let Some(within) = self.counts[at..].iter().position(reaches) else { return 0 };
        let at = at + within;
        let shift = (at / HALF).saturating_sub(1);
        let lowest = ((at - shift * HALF) as u64) << shift;
        if quantile == 0.0 { lowest } else { lowest + (1 << shift) - 1 }
    }
}

/// The bin of a value.
#[inline]
fn bin(value: u64) -> usize {
    let shift = (value | (EXACT - 1)).ilog2() - HALF.ilog2();
    shift as usize * HALF + (value >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_those_of_hdr_histogram(
            values in prop::collection::vec(prop_oneof![0u64..300, 0u64..100_000, 0u64..2_000_000_000], 1..300),
            others in prop::collection::vec(0u64..5000, 0..50),
            percent in 0.0..101.0f64,
        ) {
            const MOST: u64 = 600_000_000;
            let reference = || hdrhistogram::Histogram::<u32>::new_with_bounds(1, MOST, 2).unwrap();
            let (mut expected, mut more) = (reference(), reference());
            let (mut histogram, mut other) = (Histogram::up_to(MOST), Histogram::up_to(MOST));
            for value in values {
                expected.saturating_record(value);
                histogram.record(value);
            }
            for value in others {
                more.saturating_record(value);
                other.record(value);
            }
            expected.add(&more).unwrap();
            histogram.add(&other);
            for percent in [0.0, percent, 50.0, 95.0, 99.0, 100.0] {
                prop_assert_eq!(histogram.percentile(percent), expected.value_at_percentile(percent));
            }
        }
    }
}
