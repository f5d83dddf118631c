//! A sender at a constant rate, the simplest endpoint.

use crate::{Datagram, Ecn, Endpoint, Received, Transmit};
use std::time::Duration;

/// An endpoint that sends datagrams of equal size at a constant rate, or only receives: a probe of a path, and a model
/// of an [`Endpoint`].
#[derive(Clone, Debug)]
pub struct Cbr {
    size: usize,
    interval: Duration,
    /// Time of the next datagram; `None`: it does not send.
    next: Option<Duration>,
    received: u64,
}

impl Cbr {
    /// Sends datagrams of `size` bytes, without headers, at a rate in kbit/s, from time 0 on.
    ///
    /// # Panics
    /// If the rate or the size is 0.
    pub fn sender(rate_kbps: u64, size: usize) -> Cbr {
        assert!(rate_kbps > 0 && size > 0, "a sender needs a rate and a size above 0");
        let interval_ns = 8_000_000 * size as u128 / u128::from(rate_kbps);
        let interval = Duration::from_nanos(u64::try_from(interval_ns).unwrap_or(u64::MAX));
        Cbr { size, interval, next: Some(Duration::ZERO), received: 0 }
    }

    /// Only receives.
    pub fn receiver() -> Cbr {
        Cbr { size: 0, interval: Duration::ZERO, next: None, received: 0 }
    }
}

impl Endpoint for Cbr {
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        let next = self.next.filter(|next| *next <= now)?;
        self.next = Some(next + self.interval.max(Duration::from_nanos(1)));
        Some(Transmit { datagram: Datagram::of_size(self.size), ecn: Ecn::NotEct })
    }

    fn handle(&mut self, _: Duration, received: Received) {
        self.received += received.datagram.size() as u64;
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        self.next
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn received(&self) -> u64 {
        self.received
    }
}
