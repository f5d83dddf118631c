//! Round trips as counted by a receiver.

use super::base_rtt::BaseRtt;
use airwnd_units::{Bytes, Span, Time};

/// Window of a controller that does not restrict the sender, as a multiple of the bytes received in the last RTT. An
/// offered window is not taken back, so offering all of a large buffer would disable the controller. A sender in
/// slow start doubles cwnd within the measured RTT, and again before the new window reaches it. Linux's autotuning also
/// offers twice the bytes received and the same again while they double.
pub(crate) const HEADROOM: u64 = 4;

/// Consecutive round trips: the first starts with the first bytes, and each lasts one RTT estimate.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    bytes: u64,
    since: Option<Time>,
    base: BaseRtt,
}

/// A completed round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Bytes received.
    pub bytes: u64,
    /// Duration: the RTT estimate, and the time to the next bytes.
    pub duration: Span,
    /// RTT estimate at the end, and its minimum in the history.
    pub rtt: Span,
    pub min_rtt: Span,
}

impl Rounds {
    /// Creates the state without a completed round trip. `None`: the minimum RTT never expires.
    pub fn new(base_history: Option<Span>) -> Rounds {
        Rounds { bytes: 0, since: None, base: BaseRtt::new(base_history) }
    }

    /// Adds an RTT that was measured elsewhere on the path.
    pub fn add_path_rtt(&mut self, now: Time, rtt: Span) {
        self.base.update(now, rtt);
    }

    /// Returns the minimum RTT of the history.
    pub fn min_rtt(&self) -> Option<Span> {
        self.base.get()
    }

    /// Adds received bytes; returns the round trip that they complete, if any.
    pub fn add(&mut self, now: Time, bytes: Bytes, rtt: Option<Span>) -> Option<Round> {
        self.bytes += bytes.0;
        let since = *self.since.get_or_insert(now);
        let rtt = rtt.filter(|rtt| now.since(since) >= *rtt)?;
        let duration = now.since(since);
        self.since = Some(now);
        let min_rtt = self.base.update(now, rtt);
        Some(Round { bytes: std::mem::take(&mut self.bytes), duration, rtt, min_rtt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_after_one_rtt_estimate() {
        let (at, rtt) = (|ms: u64| Time(ms * 1_000_000), Some(Span::from_millis(20)));
        let completed = |bytes, ms| {
            let [duration, rtt] = [ms, 20].map(Span::from_millis);
            Some(Round { bytes, duration, rtt, min_rtt: rtt })
        };
        let mut rounds = Rounds::new(None);
        assert_eq!(rounds.add(at(0), Bytes(100), None), None);
        assert_eq!(rounds.add(at(30), Bytes(10), None), None);
        assert_eq!(rounds.add(at(30), Bytes(1), rtt), completed(111, 30));
        assert_eq!(rounds.add(at(49), Bytes(5), rtt), None);
        assert_eq!(rounds.add(at(50), Bytes(2), rtt), completed(7, 20));
    }

    #[test]
    fn the_minimum_may_come_from_another_connection() {
        let at = |ms: u64| Time(ms * 1_000_000);
        let mut rounds = Rounds::new(None);
        rounds.add(at(0), Bytes(0), None);
        rounds.add_path_rtt(at(10), Span::from_millis(20));
        let round = rounds.add(at(60), Bytes(1), Some(Span::from_millis(50))).unwrap();
        assert_eq!((round.rtt, round.min_rtt), (Span::from_millis(50), Span::from_millis(20)));
    }
}
