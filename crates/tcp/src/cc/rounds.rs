//! The round-trip times of each round trip.

use super::Ack;
use airwnd_units::Span;

/// The least sample of each round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    number: u64,
    least: Option<Span>,
}

impl Rounds {
    pub fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// The least sample of a round trip that has ended with this ACK, if there was any.
    pub fn take(&mut self, ack: &Ack) -> Option<Span> {
        if ack.round == self.number {
            return None;
        }
        self.number = ack.round;
        self.least.take()
    }

    /// Samples from before a loss say nothing of the time after it.
    pub fn forget(&mut self) {
        self.least = None;
    }
}

/// The part of a window that waits in queues: 1 - base / RTT.
pub(super) fn queued(rtt: Span, base: Span) -> f64 {
    (1.0 - base.0 as f64 / rtt.0.max(1) as f64).max(0.0)
}
