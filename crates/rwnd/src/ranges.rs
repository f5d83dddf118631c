//! Ranges of bytes received out of order.

use crate::{Seq, SeqRange};

/// Disjoint, non-adjacent ranges of sequence numbers in ascending order.
///
/// The vector keeps its capacity: it allocates no memory once it has held the connection's worst reordering.
#[derive(Clone, Debug)]
pub(crate) struct Ranges(Vec<SeqRange>);

impl Ranges {
    pub fn new() -> Ranges {
        Ranges(Vec::with_capacity(32))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the end of the last range.
    pub fn end(&self) -> Option<Seq> {
        self.0.last().map(|held| held.end)
    }

    /// Adds a range; returns the merged range that contains it, and the number of its bytes that are new.
    pub fn insert(&mut self, range: SeqRange) -> (SeqRange, u32) {
        let first = self.0.partition_point(|held| held.end.is_before(range.start));
        let after = first + self.0[first..].partition_point(|held| !held.start.is_after(range.end));
        let mut merged = range;
        let mut held_bytes = 0;
        for held in &self.0[first..after] {
            merged = SeqRange { start: merged.start.min(held.start), end: merged.end.max(held.end) };
            held_bytes += held.end - held.start;
        }
        match after - first {
            0 => self.0.insert(first, merged),
            _ => {
                self.0[first] = merged;
                self.0.drain(first + 1..after);
            }
        }
        (merged, merged.end - merged.start - held_bytes)
    }

    /// Returns the first part of `range` that is held.
    pub fn overlap(&self, range: SeqRange) -> Option<SeqRange> {
        let held = self.0.get(self.0.partition_point(|held| !held.end.is_after(range.start)))?;
        let common = SeqRange { start: held.start.max(range.start), end: held.end.min(range.end) };
        common.start.is_before(common.end).then_some(common)
    }

    /// Marks all bytes before `next` as in order. Returns the new end of the data in order, including a range adjacent
    /// to `next`, and the number of bytes up to there that were held.
    pub fn advance(&mut self, mut next: Seq) -> (Seq, u32) {
        if self.0.is_empty() {
            return (next, 0);
        }
        let done = self.0.partition_point(|held| !held.start.is_after(next));
        let mut bytes = 0;
        for held in self.0.drain(..done) {
            next = next.max(held.end);
            bytes += held.end - held.start;
        }
        (next, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn block(start: u32, end: u32) -> SeqRange {
        SeqRange { start: Seq(start), end: Seq(end) }
    }

    #[test]
    fn adjacent_ranges_merge() {
        let mut ranges = Ranges::new();
        assert_eq!(ranges.insert(block(10, 20)), (block(10, 20), 10));
        assert_eq!(ranges.insert(block(30, 40)), (block(30, 40), 10));
        assert_eq!(ranges.insert(block(15, 30)), (block(10, 40), 10));
        assert_eq!(ranges.overlap(block(0, 12)), Some(block(10, 12)));
        assert_eq!(ranges.overlap(block(35, 50)), Some(block(35, 40)));
        assert_eq!((ranges.overlap(block(0, 10)), ranges.overlap(block(40, 50))), (None, None));
        assert_eq!(ranges.advance(Seq(9)), (Seq(9), 0));
        assert_eq!(ranges.advance(Seq(10)), (Seq(40), 30));
        assert!(ranges.is_empty());
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_bytes(
            base in prop::sample::select(vec![0_u32, u32::MAX - 100]),
            steps in prop::collection::vec((0..200_u32, 1..30_u32), 1..60),
        ) {
            let (mut ranges, mut set) = (Ranges::new(), BTreeSet::new());
            for (start, len) in steps {
                let before = set.len();
                set.extend(start..start + len);
                let range = SeqRange { start: Seq(base) + start, end: Seq(base) + (start + len) };
                let (merged, new) = ranges.insert(range);
                prop_assert_eq!(new as usize, set.len() - before);
                prop_assert!((merged.start - Seq(base)..merged.end - Seq(base)).all(|byte| set.contains(&byte)));
            }
            let mut next = 0;
            while set.contains(&next) { next += 1; }
            prop_assert_eq!(ranges.advance(Seq(base)).0, Seq(base) + next);
        }
    }
}
