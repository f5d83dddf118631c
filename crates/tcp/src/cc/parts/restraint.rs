//! Samples that tell of the controller's own restraint.

/// Data that was sent while the controller held back on purpose: its delivery says of the path no more than that of
/// an application with too little to send.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Restraint {
    /// Bytes delivered when it began, and when the path will be free of such data.
    bounds: Option<(u64, u64)>,
}

impl Restraint {
    /// It begins to hold back, or goes on before the path is free.
    pub fn begin(&mut self, delivered: u64) {
        let first = self.bounds.filter(|&(_, last)| delivered <= last).map_or(delivered, |(first, _)| first);
        self.bounds = Some((first, delivered));
    }

    //= draft-ietf-ccwg-bbr-06 §4.1.2.4: C.app_limited = max(C.delivered + C.inflight, 1)
    /// It holds back now, with so many bytes delivered and so many in the network.
    pub fn prolong(&mut self, delivered: u64, in_flight: u64) {
        if let Some((_, last)) = &mut self.bounds {
            *last = (delivered + in_flight).max(1);
        }
    }

    /// Whether data that was sent when so many bytes were delivered was sent under it.
    pub fn covers(&self, delivered: u64) -> bool {
        self.bounds.is_some_and(|(first, last)| (first..=last).contains(&delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_until_what_was_in_flight_is_delivered() {
        let mut restraint = Restraint::default();
        assert!(!restraint.covers(0));
        restraint.begin(5000);
        restraint.prolong(5000, 1000);
        restraint.prolong(7000, 4000);
        let covered: Vec<u64> = (0..20).map(|n| 1000 * n).filter(|&n| restraint.covers(n)).collect();
        assert_eq!(covered, (5..=11).map(|n| 1000 * n).collect::<Vec<u64>>());
        // A second one does not reach back to the first.
        restraint.begin(30_000);
        restraint.prolong(30_000, 4000);
        assert!(!restraint.covers(11_000) && restraint.covers(34_000) && !restraint.covers(34_001));
    }
}
