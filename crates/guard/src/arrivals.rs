//! Payload of a flow up to now, also while losses leave gaps.

/// Payload that has arrived in a flow, in order or not.
///
/// A report of the receiver has the newest range beyond a gap. After the overflow of a queue, when every other segment is
/// missing, several ranges begin between two reports. The data of the others is known when the gaps are filled, an RTT or
/// more later; until then it would count as traffic of others. So while there is a gap the number of segments counts, each
/// of the mean size that segments had before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    total: u64,
    /// Part of the total that no range has contained so far.
    ahead: u64,
    /// Payload of a full segment, and mean payload of the last ones.
    full: u64,
    size: u64,
}

impl Arrivals {
    /// Creates the state of a flow without data. `full`: payload of a full segment in bytes.
    pub fn new(full: u64) -> Arrivals {
        Arrivals { full, size: full, ..Arrivals::default() }
    }

    /// Adds what a report contains: bytes of ranges that were not reported before, and the number of segments since the
    /// last report. `has_gap`: data is missing.
    pub fn add(&mut self, new: u64, segments: u32, has_gap: bool) {
        let by_number = self.size * u64::from(segments);
        if !has_gap && self.ahead == 0 {
            self.total += new;
            let size = new.checked_div(segments.into()).filter(|size| *size > 0);
            self.size = size.map_or(self.size, |size| size.min(self.full));
            return;
        }
        let late = new.saturating_sub(by_number).min(self.ahead);
        self.total += new.max(by_number) - late;
        self.ahead = self.ahead - late + by_number.saturating_sub(new);
        if !has_gap {
            // These segments came twice.
            self.ahead = 0;
        }
    }

    /// Returns the bytes that have arrived.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_beyond_gaps_counts_when_it_arrives() {
        let mut arrivals = Arrivals::new(1448);
        arrivals.add(4000, 4, false);
        assert_eq!(arrivals.total(), 4000);
        // Four ranges begin; one is reported.
        arrivals.add(1000, 4, true);
        assert_eq!(arrivals.total(), 8000);
        arrivals.add(0, 2, true);
        assert_eq!(arrivals.total(), 10_000);
        // A segment that fills the first gap, and one that fills the others.
        arrivals.add(4000, 1, true);
        assert_eq!(arrivals.total(), 11_000);
        arrivals.add(3000, 1, false);
        assert_eq!(arrivals.total(), 12_000);
        arrivals.add(2000, 2, false);
        assert_eq!(arrivals.total(), 14_000);
    }

    #[test]
    fn segments_that_come_twice_count_twice_and_are_not_taken_from_later_ones() {
        let mut arrivals = Arrivals::new(1000);
        arrivals.add(1000, 1, true);
        arrivals.add(0, 3, true);
        arrivals.add(1000, 1, false);
        arrivals.add(1000, 1, false);
        assert_eq!(arrivals.total(), 6000);
    }

    #[test]
    fn one_report_may_contain_more_than_its_segments_and_the_gaps() {
        let mut arrivals = Arrivals::new(1000);
        arrivals.add(1000, 2, true);
        arrivals.add(9000, 1, true);
        assert_eq!(arrivals.total(), 10_000);
        arrivals.add(0, 0, false);
        assert_eq!(arrivals.total(), 10_000);
    }
}
