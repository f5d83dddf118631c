//! Samples limited by the controller itself.

/// Data sent while the controller deliberately limited its rate. Its delivery rate is treated like that of an
/// application-limited sender.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Restraint {
    /// Bytes delivered at the start of the limitation, and at the delivery of the last data sent under it.
    bounds: Option<(u64, u64)>,
}

impl Restraint {
    /// Starts the limitation, or continues the previous one if its data has not been delivered yet.
    pub fn begin(&mut self, delivered: u64) {
        let first = self.bounds.filter(|&(_, last)| delivered <= last).map_or(delivered, |(first, _)| first);
        self.bounds = Some((first, delivered));
    }

    //= draft-ietf-ccwg-bbr-06 §4.1.2.4: C.app_limited = max(C.delivered + C.inflight, 1)
    /// Extends the limitation to the data now in flight.
    pub fn prolong(&mut self, delivered: u64, in_flight: u64) {
        if let Some((_, last)) = &mut self.bounds {
            *last = (delivered + in_flight).max(1);
        }
    }

    /// Returns whether data was sent under the limitation, given the bytes delivered when it was sent.
    pub fn covers(&self, delivered: u64) -> bool {
        self.bounds.is_some_and(|(first, last)| (first..=last).contains(&delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_all_data_in_flight_at_the_end() {
        let mut restraint = Restraint::default();
        assert!(!restraint.covers(0));
        restraint.begin(5000);
        restraint.prolong(5000, 1000);
        restraint.prolong(7000, 4000);
        let covered: Vec<u64> = (0..20).map(|n| 1000 * n).filter(|&n| restraint.covers(n)).collect();
        assert_eq!(covered, (5..=11).map(|n| 1000 * n).collect::<Vec<u64>>());
        // A second limitation does not extend back to the first.
        restraint.begin(30_000);
        restraint.prolong(30_000, 4000);
        assert!(!restraint.covers(11_000) && restraint.covers(34_000) && !restraint.covers(34_001));
    }
}
