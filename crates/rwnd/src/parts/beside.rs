//! Traffic of the device that its controlled connections share the link with.

use crate::Device;
use airwnd_units::{Bytes, Span};

/// Share of other traffic in the device's arrivals that may keep a queue.
const SHARE: f64 = 0.2;
/// Other traffic takes what the control yields if its rate has grown to this multiple of its minimum. A constant rate does
/// not, and its queue is as short as the windows beside it.
const GROWN: f64 = 1.25;
/// Weight of a round trip in this rate, and round trips before its minimum counts: the start of a connection delays other
/// packets.
const GAIN: f64 = 0.25;
const SETTLED: u32 = 5;
/// Until then other traffic has grown if its rate is this multiple of that in the first round trip: slow start that began
/// at the same time. The start of the connection lowers a constant rate to half at most.
const BEGUN: f64 = 3.0;
/// Bytes sent for each byte that has arrived with which the device uploads: ACKs are at most half as many.
const UPLOADS: f64 = 0.1;

/// Traffic of a device in a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    /// All arrivals as a multiple of those of controlled connections.
    pub multiple: f64,
    /// Rate of all controlled connections in bytes per second; `None`: unknown.
    pub controlled: Option<f64>,
    /// Whether there is enough traffic without a control to keep a queue, and whether its rate has grown.
    pub is_shared: bool,
    pub has_grown: bool,
    /// Whether this is one of the connection's first round trips.
    pub is_first: bool,
    /// Whether the device sends more than ACKs.
    pub uploads: bool,
}

/// Follows the traffic of a device.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    /// Bytes up to the last round trip: of controlled connections, of other traffic, and sent.
    controlled: Bytes,
    others: Bytes,
    sent: Bytes,
    rounds: u32,
    /// Mean rate of other traffic in bytes per second, that of the first round trip, and the minimum; `None`: no round
    /// trip yet.
    rate: Option<f64>,
    first_rate: f64,
    min_rate: f64,
}

impl Beside {
    /// Creates the state before the first round trip.
    pub fn new() -> Beside {
        let none = Bytes::ZERO;
        let (rate, first_rate, min_rate) = (None, 0.0, f64::INFINITY);
        Beside { controlled: none, others: none, sent: none, rounds: 0, rate, first_rate, min_rate }
    }

    /// Returns the traffic of a round trip of this duration, at whose end the device is in this state.
    pub fn on_round(&mut self, duration: Span, device: &Device) -> Traffic {
        let since = |before: &mut Bytes, now: Bytes| now - std::mem::replace(before, now).min(now);
        let controlled = since(&mut self.controlled, device.received);
        let others = since(&mut self.others, device.others);
        let sent = since(&mut self.sent, device.sent);
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds == 1 {
            return Traffic { multiple: 1.0, ..Traffic::default() };
        }
        let arrived = (controlled + others).0 as f64;
        let now = others.0 as f64 / duration.as_secs();
        if self.rate.is_none() {
            self.first_rate = now;
        }
        let rate = self.rate.map_or(now, |mean| mean + GAIN * (now - mean));
        self.rate = Some(rate);
        let is_first = self.rounds <= SETTLED;
        if !is_first {
            self.min_rate = self.min_rate.min(rate);
        }
        Traffic {
            multiple: if controlled > Bytes::ZERO { arrived / controlled.0 as f64 } else { 1.0 },
            controlled: (device.received > Bytes::ZERO).then(|| controlled.0 as f64 / duration.as_secs()),
            is_shared: others.0 as f64 > SHARE * arrived,
            has_grown: if is_first { now > BEGUN * self.first_rate } else { rate > GROWN * self.min_rate },
            is_first,
            uploads: sent.0 as f64 > UPLOADS * arrived,
        }
    }

    /// The present rate of other traffic is not at the cost of the control.
    pub fn accept(&mut self) {
        self.min_rate = self.rate.unwrap_or(f64::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traffic of the last of these round trips of 20 ms, in which as many kB arrive, of other traffic too, and are sent.
    fn last(rounds: impl IntoIterator<Item = (u64, u64, u64)>) -> Traffic {
        let (mut beside, mut device) = (Beside::new(), Device::default());
        let mut traffic = Traffic::default();
        for (controlled, others, sent) in rounds {
            device.received += Bytes(controlled * 1000);
            device.others += Bytes(others * 1000);
            device.sent += Bytes(sent * 1000);
            traffic = beside.on_round(Span::from_millis(20), &device);
        }
        traffic
    }

    #[test]
    fn traffic_that_grows_and_a_constant_rate() {
        assert!(!last((0..100).map(|_| (8, 17, 0))).has_grown);
        // Single packets make a round trip's rate uneven.
        assert!(!last((0..100).map(|at| (8, 17 + at % 2 * 2, 0))).has_grown);
        assert!(last((0..100).map(|at| (100 - at, at, 0))).has_grown);
        // A download that begins.
        assert!(last((0..60).map(|at| (25, if at < 50 { 0 } else { 25 }, 0))).has_grown);
    }

    #[test]
    fn slow_start_at_the_same_time_and_a_constant_rate() {
        assert!(last((0..5).map(|at| (4 << at, 4 << at, 0))).has_grown);
        // What the start of the connection delays arrives later.
        assert!(!last([(8, 8, 0), (8, 8, 0), (16, 5, 0), (19, 6, 0), (13, 12, 0)]).has_grown);
    }

    #[test]
    fn little_traffic_keeps_no_queue() {
        assert!(last([(0, 0, 0), (20, 6, 0)]).is_shared);
        assert!(!last([(0, 0, 0), (20, 4, 0)]).is_shared);
    }

    #[test]
    fn what_has_been_accepted_may_grow_again() {
        let (mut beside, mut device) = (Beside::new(), Device::default());
        let mut rounds = |beside: &mut Beside, others: u64| {
            (0..40).fold(Traffic::default(), |_, _| {
                device.others += Bytes(others);
                beside.on_round(Span::from_millis(20), &device)
            })
        };
        rounds(&mut beside, 1000);
        assert!(rounds(&mut beside, 2000).has_grown);
        beside.accept();
        assert!(!rounds(&mut beside, 2000).has_grown);
        assert!(rounds(&mut beside, 3000).has_grown);
    }

    #[test]
    fn acks_are_no_upload() {
        // An ACK of 66 bytes for each segment, or for every other of 1500 bytes.
        assert!(!last([(0, 0, 0), (1500, 0, 66)]).uploads);
        assert!(!last([(0, 0, 0), (3000, 0, 66)]).uploads);
        assert!(last([(0, 0, 0), (600, 0, 100)]).uploads);
    }

    #[test]
    fn what_was_before_the_first_round_trip_does_not_count() {
        let traffic = last([(0, 9000, 9000), (25, 20, 1), (25, 20, 1)]);
        let controlled = Some(25_000.0 / 0.02);
        let expected =
            Traffic { multiple: 1.8, controlled, is_shared: true, is_first: true, ..Traffic::default() };
        assert_eq!(traffic, expected);
    }

    #[test]
    fn an_unknown_device_has_no_traffic() {
        let expected = Traffic { multiple: 1.0, ..Traffic::default() };
        assert_eq!(last((0..10).map(|_| (0, 0, 0))), expected);
        let controlled = Some(25_000.0 / 0.02);
        assert_eq!(last((0..10).map(|_| (25, 0, 0))), Traffic { controlled, ..expected });
    }
}
