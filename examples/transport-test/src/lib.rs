//! A transport to begin with: acknowledged datagrams, and a window with additive increase and multiplicative decrease.

use airwnd::{Ecn, Endpoint, Received, Transmit};
use std::collections::BTreeSet;
use std::time::Duration;

/// Bytes of a datagram.
const SIZE: usize = 1200;
/// Later datagrams that were acknowledged before one counts as lost.
const REORDERING: u64 = 3;
/// Time without an ACK after which everything in flight counts as lost.
const TIMEOUT: Duration = Duration::from_secs(3);

fn datagram(number: u64, size: usize) -> Transmit {
    let mut bytes = vec![0; size];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Transmit { datagram: bytes.into(), ecn: Ecn::NotEct }
}

fn number(received: &Received) -> u64 {
    let bytes = received.datagram.bytes()[..8].try_into();
    u64::from_le_bytes(bytes.expect("both ends send at least 8 bytes"))
}

/// Sends numbered datagrams without end.
pub struct Sender {
    window: f64,
    next: u64,
    in_flight: BTreeSet<u64>,
    /// Number from which on a loss is a new congestion event.
    recovered: u64,
    lost: u64,
    timeout: Duration,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender { window: 10.0, next: 0, in_flight: BTreeSet::new(), recovered: 0, lost: 0, timeout: TIMEOUT }
    }
}

impl Sender {
    /// Reduces the window, once per round trip.
    fn lose(&mut self, last: u64) {
        let kept = self.in_flight.split_off(&(last + 1));
        let lost = std::mem::replace(&mut self.in_flight, kept);
        self.lost += lost.len() as u64;
        if lost.iter().any(|number| *number >= self.recovered) {
            self.window = (self.window / 2.0).max(2.0);
            self.recovered = self.next;
        }
    }
}

impl Endpoint for Sender {
    fn poll_transmit(&mut self, _: Duration) -> Option<Transmit> {
        if self.in_flight.len() as f64 >= self.window {
            return None;
        }
        self.in_flight.insert(self.next);
        self.next += 1;
        Some(datagram(self.next - 1, SIZE))
    }

    fn handle(&mut self, now: Duration, received: Received) {
        let number = number(&received);
        self.timeout = now + TIMEOUT;
        if self.in_flight.remove(&number) {
            self.window += 1.0 / self.window;
        }
        if let Some(last) = number.checked_sub(REORDERING) {
            self.lose(last);
        }
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        Some(self.timeout)
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.timeout = now + TIMEOUT;
        self.lose(self.next);
    }

    fn retransmissions(&self) -> u64 {
        self.lost
    }
}

/// Acknowledges each datagram.
#[derive(Default)]
pub struct Receiver {
    received: u64,
    acks: Vec<u64>,
}

impl Endpoint for Receiver {
    fn poll_transmit(&mut self, _: Duration) -> Option<Transmit> {
        self.acks.pop().map(|number| datagram(number, 8))
    }

    fn handle(&mut self, _: Duration, received: Received) {
        self.received += received.datagram.size() as u64;
        self.acks.push(number(&received));
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        None
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn received(&self) -> u64 {
        self.received
    }
}
