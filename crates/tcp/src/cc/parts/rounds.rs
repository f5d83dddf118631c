//! Minimum RTT of each round trip.

use crate::cc::Ack;
use airwnd_units::Span;

/// Minimum RTT sample of the current round trip.
#[derive(Clone, Debug, Default)]
pub(in crate::cc) struct Rounds {
    number: u64,
    min: Option<Span>,
}

impl Rounds {
    pub fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        }
    }

    /// Returns the minimum RTT sample of the round trip that ends with this ACK, if there was a sample.
    pub fn take(&mut self, ack: &Ack) -> Option<Span> {
        if ack.round == self.number {
            return None;
        }
        self.number = ack.round;
        self.min.take()
    }

    /// Discards the samples taken before a loss.
    pub fn forget(&mut self) {
        self.min = None;
    }
}

/// Returns the fraction of a window that is queued: `1 - base / RTT`.
pub(in crate::cc) fn queued(rtt: Span, base: Span) -> f64 {
    (1.0 - base.0 as f64 / rtt.0.max(1) as f64).max(0.0)
}
