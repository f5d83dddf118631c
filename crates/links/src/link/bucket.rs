//! Token buckets: a policer in front of a link's queue, and a shaper behind it.

use super::{Served, Server, Service};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span, Time};

/// Nanoseconds per second.
const NANOS: u128 = 1_000_000_000;

/// Policer: drops every packet that finds too few tokens, before the queue.
///
/// The bucket holds at most `burst` and is full at the start. It fills at `rate`; a packet that conforms takes tokens
/// of its size, with the framing of the link. A packet larger than `burst` never conforms.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux act_police; tc-police(8): rate, burst, drop")]
pub struct Police {
    /// Rate at which the bucket fills.
    #[param(range = BitRate(1)..=BitRate(1_000_000_000_000), unit = "bit/s", source = "the scenario")]
    pub rate: BitRate,
    /// Capacity of the bucket.
    #[param(range = SMALLEST_BURST..=Bytes(1_000_000_000_000), unit = "B", source = "the scenario")]
    pub burst: Bytes,
}

/// Shaper: a packet waits in the link's queue until the bucket has tokens for it, then leaves at the rate of the link.
///
/// The bucket holds at most `burst` and is full at the start. It fills at `rate`; a packet takes tokens of its size,
/// with the framing of the link. A packet larger than `burst` is dropped before the queue, as by the policer. Behind a
/// queue discipline (`aqm`) the shaper takes the next packet as soon as the link is free, and holds it until there are
/// tokens.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_tbf; tc-tbf(8): rate, burst, limit")]
pub struct Tbf {
    /// Rate at which the bucket fills.
    #[param(range = BitRate(1)..=BitRate(1_000_000_000_000), unit = "bit/s", source = "the scenario")]
    pub rate: BitRate,
    /// Capacity of the bucket.
    #[param(range = SMALLEST_BURST..=Bytes(1_000_000_000_000), unit = "B", source = "the scenario")]
    pub burst: Bytes,
    /// Limit of the queue in bytes, framing included, instead of the link's `queue`, `queue_bytes` and `aqm`; `none`:
    /// those of the link.
    #[param(default = None, range = Bytes(1)..=Bytes(1_000_000_000_000), unit = "B", source = "tc-tbf(8)")]
    pub limit: Option<Bytes>,
}

/// Smallest capacity of a bucket. Most packets of 1500 B would never pass a smaller one; Linux warns of a burst below
/// the MTU (sch_tbf.c, tbf_change).
pub const SMALLEST_BURST: Bytes = Bytes(1500);

/// A bucket of tokens.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: BitRate,
    burst: Bytes,
    /// Tokens in bits times nanoseconds per second, so that any rate fills the bucket by a whole number each nanosecond.
    tokens: u128,
    /// Time at which the bucket had these tokens.
    at: Time,
}

impl Bucket {
    pub fn new(rate: BitRate, burst: Bytes) -> Bucket {
        Bucket { rate, burst, tokens: price(burst), at: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        let new = u128::from(now.since(self.at).0) * u128::from(self.rate.0);
        self.tokens = price(self.burst).min(self.tokens + new);
        self.at = now;
    }

    /// Takes the tokens of a packet. Returns false, and takes none, if there are too few.
    pub fn take(&mut self, now: Time, size: Bytes) -> bool {
        self.fill(now);
        let left = self.tokens.checked_sub(price(size));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    /// Takes the tokens of a packet that waits for them from `now` on. Returns when they are there. A packet larger
    /// than the bucket takes all tokens of a full one.
    fn await_tokens(&mut self, now: Time, size: Bytes) -> Time {
        self.fill(now);
        let price = price(size).min(price(self.burst));
        let missing = price.saturating_sub(self.tokens).div_ceil(u128::from(self.rate.0));
        let at = now + Span(missing as u64);
        self.fill(at);
        self.tokens -= price;
        at
    }
}

/// Returns the tokens of a number of bytes.
fn price(size: Bytes) -> u128 {
    u128::from(size.bits()) * NANOS
}

/// A transmission service behind a shaper.
pub(super) struct Shaped {
    server: Server,
    bucket: Bucket,
}

impl Shaped {
    pub fn new(server: Server, bucket: Bucket) -> Shaped {
        Shaped { server, bucket }
    }
}

impl Service for Shaped {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        let free = self.server.begins(now);
        self.server.serve(self.bucket.await_tokens(free, size), size)
    }

    fn begins(&self, now: Time) -> Time {
        self.server.begins(now)
    }

    fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        let bits = u128::from(self.bucket.rate.0) * u128::from(to.since(from).0) / NANOS;
        let tokens = Bytes((bits / 8) as u64) + self.bucket.burst;
        Some(self.server.capacity(from, to).map_or(tokens, |capacity| capacity.min(tokens)))
    }

    fn alone(&self, from: Time, size: Bytes) -> Span {
        self.server.alone(from, size)
    }

    fn framing(&self) -> Bytes {
        self.server.framing()
    }

    fn rate(&self) -> Option<BitRate> {
        // The rate of a link trace varies, and may be below that of the bucket.
        self.server.rate().map(|rate| rate.min(self.bucket.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::wire::Wire;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// 8 Mbit/s are 1 byte per microsecond.
    fn bucket() -> Bucket {
        Bucket::new(BitRate(8_000_000), Bytes(3000))
    }

    #[test]
    fn a_policer_passes_a_burst_and_then_its_rate() {
        let mut bucket = bucket();
        assert_eq!([1000; 4].map(|size| bucket.take(at(0), Bytes(size))), [true, true, true, false]);
        // The dropped packet took nothing: 999 tokens after 999 us.
        assert!(!bucket.take(at(999), Bytes(1000)));
        assert!(bucket.take(at(1000), Bytes(1000)));
        // The bucket does not hold more than its burst after any time.
        assert_eq!([1000; 4].map(|size| bucket.take(at(9_000_000), Bytes(size))), [true, true, true, false]);
        assert!(!bucket.take(at(90_000_000), Bytes(3001)));
    }

    #[test]
    fn a_shaper_passes_a_burst_at_the_rate_of_the_link_and_then_its_own() {
        // 80 Mbit/s: 1000 B take 100 us.
        let wire = Server::Wire(Wire::new(BitRate(80_000_000), Bytes::ZERO));
        let mut shaped = Shaped::new(wire, bucket());
        let begins = [0; 5].map(|_| shaped.serve(at(0), Bytes(1000)).begins);
        // At 300 us the burst is gone and 300 tokens are back.
        assert_eq!(begins, [0, 100, 200, 1000, 2000].map(at));
        assert_eq!(shaped.begins(at(0)), at(2100));
        assert_eq!(shaped.rate(), Some(BitRate(8_000_000)));
        assert_eq!(shaped.capacity(at(0), at(1_000_000)), Some(Bytes(1_003_000)));
    }

    #[test]
    fn a_slow_link_limits_a_fast_shaper() {
        let wire = Server::Wire(Wire::new(BitRate(4_000_000), Bytes::ZERO));
        let mut shaped = Shaped::new(wire, bucket());
        assert_eq!([0; 3].map(|_| shaped.serve(at(0), Bytes(1000)).ends), [2000, 4000, 6000].map(at));
        assert_eq!(shaped.rate(), Some(BitRate(4_000_000)));
    }

    proptest! {
        /// In any interval a shaper starts at most `burst` + `rate` times the interval, and without a reason to wait,
        /// no less: each packet leaves at the first nanosecond with enough tokens.
        #[test]
        fn a_shaper_is_exact(
            rate in 1u64..1_000_000_000_000,
            burst in 1500u64..100_000,
            packets in prop::collection::vec((0u64..10_000_000, 1u64..1500), 1..100),
        ) {
            let wire = Server::Wire(Wire::new(BitRate(0), Bytes::ZERO));
            let mut shaped = Shaped::new(wire, Bucket::new(BitRate(rate), Bytes(burst)));
            let mut now = Time::ZERO;
            let mut sent: Vec<(Time, u128)> = Vec::new();
            for (gap, size) in packets {
                now += Span(gap);
                let begins = shaped.serve(now, Bytes(size)).begins;
                let earlier = sent.last().map_or(Time::ZERO, |(at, _)| *at);
                let free = now.max(earlier);
                let fits = |begins: Time| {
                    let mut sum = price(Bytes(size));
                    sent.iter().rev().map(|(at, price)| { sum += price; (*at, sum) })
                        .chain([(begins, price(Bytes(size)))])
                        .all(|(from, sum)| sum <= price(Bytes(burst)) + u128::from(begins.since(from).0) * u128::from(rate))
                };
                prop_assert!(begins >= free && fits(begins));
                prop_assert!(begins == free || !fits(Time(begins.0 - 1)));
                sent.push((begins, price(Bytes(size))));
            }
        }
    }
}
