//! Round trips as a receiver counts them.

use super::base_rtt::BaseRtt;
use airwnd_units::{Bytes, Span, Time};

/// What a control that does not restrict the sender offers, in what the last round trip brought. What is offered is not
/// taken back, so that the whole of a large buffer would keep a control from having effect. A sender in slow start
/// doubles within the round trip that is measured, and again before it hears of the window; Linux's autotuning, too, offers
/// twice what came and as much again while it doubles.
pub(crate) const HEADROOM: u64 = 4;

/// Round trips one after the other: the first begins with the first bytes, each lasts for as long as the estimate of it.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    bytes: u64,
    since: Option<Time>,
    base: BaseRtt,
}

/// A round trip that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// What it brought.
    pub bytes: u64,
    /// How long it was by the estimate, and the least of these in the history.
    pub rtt: Span,
    pub least: Span,
}

impl Rounds {
    /// None is over yet. Without a history the least is that of all.
    pub fn new(base_history: Option<Span>) -> Rounds {
        Rounds { bytes: 0, since: None, base: BaseRtt::new(base_history) }
    }

    /// So many bytes came; the round trip, if that ends one.
    pub fn add(&mut self, now: Time, bytes: Bytes, rtt: Option<Span>) -> Option<Round> {
        self.bytes += bytes.0;
        let since = *self.since.get_or_insert(now);
        let rtt = rtt.filter(|rtt| now.since(since) >= *rtt)?;
        self.since = Some(now);
        let least = self.base.update(now, rtt);
        Some(Round { bytes: std::mem::take(&mut self.bytes), rtt, least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_when_the_estimate_of_it_is_over() {
        let (at, rtt) = (|ms: u64| Time(ms * 1_000_000), Some(Span::from_millis(20)));
        let over = |bytes| Some(Round { bytes, rtt: Span::from_millis(20), least: Span::from_millis(20) });
        let mut rounds = Rounds::new(None);
        assert_eq!(rounds.add(at(0), Bytes(100), None), None);
        assert_eq!(rounds.add(at(30), Bytes(10), None), None);
        assert_eq!(rounds.add(at(30), Bytes(1), rtt), over(111));
        assert_eq!(rounds.add(at(49), Bytes(5), rtt), None);
        assert_eq!(rounds.add(at(50), Bytes(2), rtt), over(7));
    }
}
