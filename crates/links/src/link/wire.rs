//! A constant-rate link.

use super::{Served, Service};
use airwnd_catalog::Params;
use airwnd_kernel::Direction;
use airwnd_units::{BitRate, Bytes, Span, Time};

/// Wire: constant-rate link.
///
/// The transmission time of a packet of n bits, including its framing, is n / rate.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 PointToPointNetDevice")]
pub struct Params {
    /// Rate towards the UEs.
    #[param(range = BitRate(1)..=BitRate(1_000_000_000_000), unit = "bit/s", source = "the scenario")]
    pub rate: BitRate,
    /// Rate towards the servers; `none`: `rate`.
    #[param(basic, default = None, range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "the scenario")]
    pub rate_up: Option<BitRate>,
    /// Bytes that the link adds to each packet.
    #[param(default = Wire::FRAMING, range = Bytes(0)..=Bytes(1000))]
    #[param(unit = "B", source = "RFC 1661 §2, the protocol field; ns-3 PointToPointNetDevice")]
    pub framing: Bytes,
}

impl Params {
    pub(super) fn service(&self, direction: Direction) -> Wire {
        let rate = match direction {
            Direction::Down => self.rate,
            Direction::Up => self.rate_up.unwrap_or(self.rate),
        };
        Wire::new(rate, self.framing)
    }
}

/// A wire of constant rate.
pub struct Wire {
    rate: BitRate,
    framing: Bytes,
    free_at: Time,
    /// Size and transmission time of the last packet: most have the same size, and a division takes long.
    last: (Bytes, Span),
}

impl Wire {
    /// Framing of a point-to-point link.
    //= RFC 1661 §2
    pub const FRAMING: Bytes = Bytes(2);

    /// Creates an idle wire that adds `framing` to each packet. Rate zero: no serialisation delay.
    pub fn new(rate: BitRate, framing: Bytes) -> Wire {
        Wire { rate, framing, free_at: Time::ZERO, last: (Bytes::ZERO, Span::ZERO) }
    }
}

impl Service for Wire {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        let begins = self.begins(now);
        if size != self.last.0 {
            self.last = (size, self.rate.transmission_time(size));
        }
        self.free_at = begins + self.last.1;
        Served { begins, ends: self.free_at }
    }

    fn begins(&self, now: Time) -> Time {
        now.max(self.free_at)
    }

    fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        let bits = u128::from(self.rate.0) * u128::from(to.since(from).0) / u128::from(Span::from_secs(1).0);
        (self.rate.0 > 0).then_some(Bytes((bits / 8) as u64))
    }

    fn alone(&self, _: Time, size: Bytes) -> Span {
        self.rate.transmission_time(size)
    }

    fn framing(&self) -> Bytes {
        self.framing
    }

    fn rate(&self) -> Option<BitRate> {
        Some(self.rate).filter(|rate| rate.0 > 0)
    }
}
