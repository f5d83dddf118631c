//! Histogram of spans in microseconds with a relative error below one per cent.
//!
//! The bins are those of an HDR histogram with two significant digits: 128 in each octave from 128 µs on. Memory is
//! touched only for octaves that have samples: delays of a flow have few, and there may be many flows.

use airwnd_kernel::prefetch;

/// Bins of an octave.
const BINS: usize = 128;

/// Octaves: the first one is 0 to 127 µs, the last one ends above 1000 s.
const OCTAVES: usize = 24;

/// Longer spans than the last octave are recorded as this one.
const LONGEST_MICROS: u32 = 600_000_000;

/// Place of an octave without samples.
const ABSENT: u8 = u8::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// Counts of the octaves with samples, in the order of their first ones.
    counts: Vec<u32>,
    /// Place of each octave in `counts`.
    places: [u8; OCTAVES],
    total: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Histogram {
        Histogram { counts: Vec::new(), places: [ABSENT; OCTAVES], total: 0 }
    }

    #[inline]
    pub fn record(&mut self, micros: u32) {
        let (octave, bin) = place_of(micros);
        let first = self.first_bin(octave);
        let count = &mut self.counts[first + bin];
        *count = count.saturating_add(1);
        self.total += 1;
    }

    /// Requests the bin of a span that will soon be recorded, see [`prefetch`].
    #[inline]
    pub fn prefetch(&self, micros: u32) {
        let (octave, bin) = place_of(micros);
        if let Some(count) = self.counts.get(usize::from(self.places[octave]) * BINS + bin) {
            prefetch(count);
        }
    }

    /// Adds the samples of another histogram.
    pub fn add(&mut self, other: &Histogram) {
        for (octave, counts) in other.octaves() {
            let first = self.first_bin(octave);
            for (sum, count) in self.counts[first..].iter_mut().zip(counts) {
                *sum = sum.saturating_add(*count);
            }
        }
        self.total += other.total;
    }

    /// The longest span in the bin of each percentile, in microseconds; the shortest for a percentile of zero.
    pub fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [u64; N] {
        let mut sums = [0; OCTAVES];
        for (octave, counts) in self.octaves() {
            sums[octave] = counts.iter().map(|count| u64::from(*count)).sum();
        }
        percents.map(|percent| self.percentile(&sums, percent))
    }

    /// One percentile, given the samples in each octave.
    fn percentile(&self, sums: &[u64; OCTAVES], percent: f64) -> u64 {
        let rank = (libm::ceil(percent / 100.0 * self.total as f64) as u64).max(1);
        let mut below = 0;
        for (octave, counts) in self.octaves() {
            if below + sums[octave] < rank {
                below += sums[octave];
                continue;
            }
            for (bin, count) in (0u64..).zip(counts) {
                below += u64::from(*count);
                if below >= rank {
                    let shift = octave.saturating_sub(1);
                    let first = if octave == 0 { bin } else { bin + BINS as u64 };
                    return if percent == 0.0 { first << shift } else { ((first + 1) << shift) - 1 };
                }
            }
        }
        0
    }

    /// Octaves with samples and their counts, from the shortest spans on.
    fn octaves(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let used = (0..).zip(self.places).filter(|(_, place)| *place != ABSENT);
        used.map(|(octave, place)| (octave, &self.counts[usize::from(place) * BINS..][..BINS]))
    }

    /// Index of the first bin of an octave in `counts`, where it is added if it is absent.
    #[inline]
    fn first_bin(&mut self, octave: usize) -> usize {
        if self.places[octave] == ABSENT {
            self.append(octave);
        }
        usize::from(self.places[octave]) * BINS
    }

    #[cold]
    fn append(&mut self, octave: usize) {
        if self.counts.is_empty() {
            // Memory for all of them is reserved, so that none is allocated later, but not touched.
            self.counts.reserve_exact(OCTAVES * BINS);
        }
        self.places[octave] = (self.counts.len() / BINS) as u8;
        self.counts.resize(self.counts.len() + BINS, 0);
    }
}

/// Octave of a span, and its bin in that.
#[inline]
fn place_of(micros: u32) -> (usize, usize) {
    let octave = octave_of(micros);
    let (micros, octave) =
        if octave < OCTAVES { (micros, octave) } else { (LONGEST_MICROS, octave_of(LONGEST_MICROS)) };
    (octave, (micros >> octave.saturating_sub(1)) as usize % BINS)
}

fn octave_of(micros: u32) -> usize {
    (micros | (BINS as u32 - 1)).ilog2() as usize + 1 - BINS.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(micros: &[u32]) -> Histogram {
        let mut histogram = Histogram::new();
        micros.iter().for_each(|span| histogram.record(*span));
        histogram
    }

    #[test]
    fn a_bin_is_narrower_than_a_percent() {
        for micros in (0..30).flat_map(|power| [1 << power, (2 << power) - 1, 3 << power >> 1]) {
            let histogram = histogram(&[micros]);
            let [first, last] = histogram.percentiles([0.0, 100.0]);
            assert!(first <= micros.into() && last >= micros.into(), "{micros}: {first} to {last}");
            assert!((last - first) as f64 <= 0.01 * f64::from(micros), "{micros}: {first} to {last}");
        }
    }

    #[test]
    fn percentiles_count_samples() {
        let histogram = histogram(&(1..=100).rev().collect::<Vec<_>>());
        let percents = [0.0, 0.5, 1.0, 1.1, 50.0, 99.0, 100.0];
        assert_eq!(histogram.percentiles(percents), [1, 1, 1, 2, 50, 99, 100]);
    }

    #[test]
    fn spans_beyond_the_last_octave_are_the_longest() {
        let longest = |micros| histogram(&[micros]).percentiles([100.0]);
        assert_eq!(longest((1 << 30) - 1), [(1 << 30) - 1]);
        assert_eq!(longest(1 << 30), longest(LONGEST_MICROS));
    }

    #[test]
    fn memory_of_all_octaves_is_reserved_with_the_first_sample() {
        let mut histogram = histogram(&[10_000]);
        let capacity = histogram.counts.capacity();
        (0..u32::BITS).for_each(|bit| histogram.record(1 << bit));
        assert_eq!(histogram.counts.capacity(), capacity);
    }
}
