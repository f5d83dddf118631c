//! Transmission opportunities, each of a number of bytes at an instant.

use super::{LONGEST, lines, place_in};
use crate::link::{Served, Service};
use airwnd_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Times of the opportunities of a file in milliseconds, ascending; the last is the period.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Opportunities(Vec<u32>);

impl Opportunities {
    pub fn parse(text: &str) -> Result<Opportunities, (usize, String)> {
        let mut times: Vec<u32> = Vec::new();
        for (number, line) in lines(text) {
            let error = |what: String| Err((number, what));
            let time: u32 = match line.parse::<u64>() {
                Ok(time) => match u32::try_from(time) {
                    Ok(time) => time,
                    Err(_) => {
                        return error(format!(
                            "{time} ms exceeds the maximum length of a link trace, {LONGEST}"
                        ));
                    }
                },
                Err(_) => {
                    let shown: String = line.chars().take(40).collect();
                    return error(format!("`{shown}` is not a whole number of milliseconds"));
                }
            };
            match times.last() {
                Some(last) if *last > time => {
                    return error(format!("{time} follows {last}; times must not decrease"));
                }
                _ => times.push(time),
            }
        }
        match times.last() {
            None => Err((1, "the file is empty".into())),
            Some(0) => Err((1, "all times are 0: a link trace needs a duration".into())),
            Some(_) => Ok(Opportunities(times)),
        }
    }

    pub fn period(&self) -> Span {
        Span::from_millis(self.0.last().map_or(0, |last| u64::from(*last)))
    }

    /// Returns the number of opportunities from the start of the file up to and including an instant.
    pub fn until(&self, elapsed: Span) -> u64 {
        let (passes, place) = place_in(elapsed, self.period());
        let within = self.0.partition_point(|ms| Span::from_millis(u64::from(*ms)) <= place);
        passes * self.0.len() as u64 + within as u64
    }

    /// Returns the time of the opportunity with this number.
    pub fn at(&self, number: u64) -> Span {
        let (pass, within) = (number / self.0.len() as u64, number % self.0.len() as u64);
        self.period() * pass + Span::from_millis(u64::from(self.0[within as usize]))
    }
}

/// Periodic replay of a link trace.
pub(super) struct Replay {
    opportunities: Arc<Opportunities>,
    /// Bytes of an opportunity, and bytes added to each packet.
    size: Bytes,
    framing: Bytes,
    /// Simulation time at which the link trace is at `offset`.
    start: Time,
    offset: Span,
    /// Number of the next opportunity.
    next: u64,
    /// Bytes left of the last opportunity, and its time.
    left: Bytes,
    last: Time,
}

impl Replay {
    /// Creates a replay whose opportunities have `size` bytes and whose packets have `framing` in addition.
    pub fn new(
        opportunities: Arc<Opportunities>,
        size: Bytes,
        framing: Bytes,
        start: Time,
        offset: Span,
    ) -> Replay {
        Replay { opportunities, size, framing, start, offset, next: 0, left: Bytes::ZERO, last: Time::ZERO }
    }

    fn elapsed(&self, now: Time) -> Span {
        now.since(self.start) + self.offset
    }

    /// Returns the simulation time of the opportunity with this number.
    fn opportunity(&self, number: u64) -> Time {
        self.start + (self.opportunities.at(number) - self.offset)
    }

    /// Returns the number of the first opportunity for a packet that arrives now.
    //= mahimahi link_queue.cc, LinkQueue::rationalize
    fn first_after(&self, now: Time) -> u64 {
        if self.last <= now { self.next.max(self.opportunities.until(self.elapsed(now))) } else { self.next }
    }
}

impl Service for Replay {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        self.next = self.first_after(now);
        if self.last <= now {
            self.left = Bytes::ZERO;
        }
        let mut begins = None;
        let mut rest = size;
        while rest > Bytes::ZERO {
            if self.left == Bytes::ZERO {
                self.last = self.opportunity(self.next);
                self.left = self.size;
                self.next += 1;
            }
            begins.get_or_insert(self.last);
            let taken = rest.min(self.left);
            rest -= taken;
            self.left -= taken;
        }
        Served { begins: begins.unwrap_or(now), ends: self.last.max(now) }
    }

    fn begins(&self, now: Time) -> Time {
        if self.last > now && self.left > Bytes::ZERO {
            return self.last;
        }
        self.opportunity(self.first_after(now))
    }

    fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        let until = |at: Time| self.opportunities.until(self.elapsed(at));
        Some(self.size * (until(to) - until(from)))
    }

    fn alone(&self, from: Time, size: Bytes) -> Span {
        let begins = self.elapsed(from);
        let last = self.opportunities.until(begins) + size.0.div_ceil(self.size.0).max(1) - 1;
        self.opportunities.at(last) - begins
    }

    fn framing(&self) -> Bytes {
        self.framing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Bytes = Bytes(1500);

    fn replay(text: &str) -> Replay {
        starting(Opportunities::parse(text).unwrap(), Time::ZERO, Span::ZERO)
    }

    fn starting(opportunities: Opportunities, start: Time, offset: Span) -> Replay {
        Replay::new(Arc::new(opportunities), SIZE, Bytes::ZERO, start, offset)
    }

    const fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// Returns the end of transmission of each packet; all wait from the beginning.
    fn sent(text: &str, sizes: &[u64]) -> Vec<Time> {
        let mut replay = replay(text);
        sizes.iter().map(|size| replay.serve(Time::ZERO, Bytes(*size)).ends).collect()
    }

    #[test]
    fn an_opportunity_carries_1500_bytes() {
        assert_eq!(sent("1\n4\n9", &[1500; 3]), [ms(1), ms(4), ms(9)]);
        assert_eq!(sent("1\n1\n9", &[1500; 3]), [ms(1), ms(1), ms(9)]);
        // Small packets share one opportunity; the third takes the rest of it and 900 bytes of the next.
        assert_eq!(sent("1\n4\n9", &[600, 600, 1200, 600]), [ms(1), ms(1), ms(4), ms(4)]);
        assert_eq!(sent("1\n4\n9", &[1501]), [ms(4)]);
    }

    /// Mahimahi's 1504 bytes carry a full packet with the header of its TUN device, or more small ones.
    #[test]
    fn an_opportunity_may_have_any_size() {
        let opportunities = Arc::new(Opportunities::parse("1\n4\n9").unwrap());
        let mut replay = Replay::new(opportunities, Bytes(1504), Bytes(4), Time::ZERO, Span::ZERO);
        assert_eq!(replay.framing(), Bytes(4));
        let ends: Vec<_> =
            [1504, 752, 752, 1504].map(|size| replay.serve(Time::ZERO, Bytes(size)).ends).into();
        assert_eq!(ends, [ms(1), ms(4), ms(4), ms(9)]);
        assert_eq!(replay.capacity(ms(0), ms(9)), Some(Bytes(3 * 1504)));
        assert_eq!(replay.alone(ms(0), Bytes(1505)), Span::from_millis(4));
    }

    #[test]
    fn an_opportunity_without_a_packet_is_lost() {
        let mut replay = replay("1\n2\n3\n10");
        assert_eq!(replay.serve(Time(2_500_000), Bytes(100)).ends, ms(3));
        // The next packet finds nothing left, although the first took only 100 bytes.
        assert_eq!(replay.serve(ms(3), Bytes(100)).ends, ms(10));
        // A packet that arrives at the instant of an opportunity misses it.
        assert_eq!(replay.serve(ms(11), Bytes(1500)).ends, ms(12));
    }

    #[test]
    fn the_file_repeats_after_its_last_time() {
        // 0 of the second pass coincides with 10 of the first.
        assert_eq!(sent("0\n4\n10", &[1500; 6]), [ms(4), ms(10), ms(10), ms(14), ms(20), ms(20)]);
        let mut late = replay("0\n4\n10");
        assert_eq!(late.serve(ms(1_000_003), Bytes(1500)).ends, ms(1_000_004));
        assert_eq!(late.capacity(ms(0), ms(1_000_000)), Some(Bytes(300_000 * 1500)));
        assert_eq!(late.capacity(ms(4), ms(14)), Some(Bytes(3 * 1500)));
    }

    #[test]
    fn a_replay_can_start_at_any_offset() {
        let mut replay = starting(Opportunities::parse("2\n4\n10").unwrap(), ms(500), Span::from_millis(13));
        assert_eq!(replay.serve(ms(500), Bytes(1500)).ends, ms(501));
        assert_eq!(replay.serve(ms(500), Bytes(1500)).ends, ms(507));
    }

    #[test]
    fn errors_name_their_line() {
        let error = |text: &str| Opportunities::parse(text).unwrap_err();
        assert_eq!(error(""), (1, "the file is empty".into()));
        assert_eq!(error("\n\n"), (1, "the file is empty".into()));
        assert_eq!(error("0\n0\n"), (1, "all times are 0: a link trace needs a duration".into()));
        assert_eq!(error("3\n\n4"), (2, "`` is not a whole number of milliseconds".into()));
        assert_eq!(error("3\n-4"), (2, "`-4` is not a whole number of milliseconds".into()));
        assert_eq!(error("3\n4\n2"), (3, "2 follows 4; times must not decrease".into()));
        let beyond = "4294967296 ms exceeds the maximum length of a link trace, 4294967295ms";
        assert_eq!(error("4294967296"), (1, beyond.into()));
        assert_eq!(Opportunities::parse("1\r\n2\r\n").unwrap().0, [1, 2]);
    }

    proptest! {
        /// `alone` returns the time that a packet takes on an idle link.
        #[test]
        fn alone_equals_service_on_an_idle_link(mut times in prop::collection::vec(0u32..50, 1..20), at in 0..200_000_000_u64, size in 1..9000_u64) {
            times.sort_unstable();
            times.push(50);
            let mut replay = starting(Opportunities(times), Time::ZERO, Span::from_millis(7));
            let alone = replay.alone(Time(at), Bytes(size));
            prop_assert_eq!(replay.serve(Time(at), Bytes(size)).ends, Time(at) + alone);
        }

        /// Every opportunity is used at most once, and none before the packet arrived.
        #[test]
        fn opportunities_are_not_used_twice(
            mut times in prop::collection::vec(0u32..50, 1..20),
            packets in prop::collection::vec((0u64..20_000_000, 1u64..4000), 1..100),
        ) {
            times.sort_unstable();
            times.push(50);
            let opportunities = Opportunities(times);
            let mut replay = starting(opportunities.clone(), Time::ZERO, Span::ZERO);
            let (mut now, mut last) = (Time::ZERO, Time::ZERO);
            let mut sent: Vec<(Time, u64)> = Vec::new();
            for (gap, size) in packets {
                now += Span(gap);
                let served = replay.serve(now, Bytes(size));
                prop_assert!(now < served.begins && served.begins <= served.ends && last <= served.begins);
                last = served.ends;
                sent.push((served.ends, size));
            }
            // Packets sent by any instant fit into the opportunities until then.
            let mut bytes = 0;
            for (at, size) in sent {
                bytes += size;
                prop_assert!(bytes <= opportunities.until(at.since(Time::ZERO)) * SIZE.0);
            }
        }
    }
}
