//! Retransmission timeout (RFC 6298) and minimum RTT.

use crate::Config;
use airwnd_units::Span;

/// Smoothed RTT and retransmission timeout of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    smoothed: Option<Smoothed>,
    min: Option<Span>,
    fresh: Option<Span>,
    rto: Span,
    bounds: RtoBounds,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: u64,
    rttvar: u64,
}

/// Bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtoBounds {
    pub initial: Span,
    pub min: Span,
    pub max: Span,
    pub granularity: Span,
}

/// Returns the RTT sample of an ACK: by timestamps, or since the transmission of a segment sent once, as the stack
/// prefers.
pub(crate) fn rtt_sample(
    config: &Config,
    by_timestamps: Option<Span>,
    since_sent: Option<Span>,
) -> Option<Span> {
    if config.rtt_by_timestamps { by_timestamps.or(since_sent) } else { since_sent.or(by_timestamps) }
}

impl RttEstimator {
    pub fn new(bounds: RtoBounds) -> RttEstimator {
        RttEstimator { smoothed: None, min: None, fresh: None, rto: bounds.initial, bounds }
    }

    /// Processes a sample. It ends any back-off, because only segments sent once give samples (RFC 6298 §5.7, Karn).
    pub fn on_sample(&mut self, sample: Span) {
        self.min = Some(self.min.map_or(sample, |min| min.min(sample)));
        self.fresh = Some(sample);
        let r = sample.0;
        let next = match self.smoothed {
            //= RFC 6298 §2 (2.2): SRTT <- R, RTTVAR <- R/2
            None => Smoothed { srtt: r, rttvar: r / 2 },
            //= RFC 6298 §2 (2.3): RTTVAR first, from the old SRTT, with beta = 1/4 and alpha = 1/8
            Some(Smoothed { srtt, rttvar }) => {
                Smoothed { srtt: (7 * srtt + r) / 8, rttvar: (3 * rttvar + srtt.abs_diff(r)) / 4 }
            }
        };
        self.smoothed = Some(next);
        //= RFC 6298 §2 (2.3): RTO <- SRTT + max(G, K*RTTVAR), K = 4
        let rto = Span(next.srtt + self.bounds.granularity.0.max(4 * next.rttvar));
        self.rto = rto.clamp(self.bounds.min, self.bounds.max);
    }

    /// Doubles the timeout after its expiry (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.bounds.max);
    }

    //= exception timers-without-jiffies
    pub fn rto(&self) -> Span {
        self.rto
    }

    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| Span(smoothed.srtt))
    }

    pub fn min(&self) -> Option<Span> {
        self.min
    }

    /// Returns the most recent sample since the last call.
    pub fn take_sample(&mut self) -> Option<Span> {
        self.fresh.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(RtoBounds {
            initial: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(60),
            granularity: Span::from_millis(1),
        })
    }

    #[test]
    fn the_first_timeout_is_three_times_the_first_sample() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.on_sample(Span::from_millis(100));
        // SRTT = R, RTTVAR = R/2: RTO = R + 4 R/2 = 3 R
        assert_eq!(rtt.rto(), Span::from_millis(300));
    }

    #[test]
    fn later_samples_are_weighted_an_eighth_and_a_quarter() {
        let mut rtt = estimator();
        rtt.on_sample(Span::from_millis(100));
        rtt.on_sample(Span::from_millis(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTO = 110 + 230
        assert_eq!(rtt.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rtt.rto(), Span::from_millis(340));
        assert_eq!(rtt.min(), Some(Span::from_millis(100)));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_until_the_next_sample() {
        let mut rtt = estimator();
        rtt.on_sample(Span::from_millis(100));
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_millis(600));
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(60));
        rtt.on_sample(Span::from_millis(100));
        assert!(rtt.rto() < Span::from_millis(300));
    }
}
