//! The turbo code's internal interleaver.

/// The permutation of a code block: output `i` is input `self[i]`.
///
/// Panics unless `size` is one of the 188 code block sizes.
//= TS 36.212 §5.1.3.2.3
pub fn permutation(size: usize) -> Vec<u32> {
    let row =
        include_str!("../data/qpp.csv").lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut numbers =
                line.split(',').map(|text| text.parse::<u64>().expect("a table of whole numbers"));
            (numbers.next() == Some(size as u64)).then(|| [numbers.next(), numbers.next()])
        });
    let Some([Some(f1), Some(f2)]) = row else { panic!("no code block has {size} bits") };
    (0..size as u64).map(|i| ((f1 * i + f2 * i * i) % size as u64) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all_sizes;

    #[test]
    fn every_size_has_a_permutation() {
        assert_eq!(all_sizes().count(), 188);
        for size in all_sizes() {
            let mut seen = vec![false; size];
            permutation(size).iter().for_each(|place| seen[*place as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{size}");
        }
    }

    #[test]
    fn permutations_are_contention_free() {
        // contention-free: positions that differ by K / 2 still differ by K / 2, as required for eight parallel windows
        for size in all_sizes() {
            let order = permutation(size);
            for i in 0..size / 2 {
                assert_eq!(order[i] as usize % (size / 2), order[i + size / 2] as usize % (size / 2));
            }
        }
    }
}
