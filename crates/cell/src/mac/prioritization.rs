//! Logical channel prioritization: division of a transport block among the bearers of a UE.
//!
//! The standard prescribes it for UEs. The eNB, whose rule is open, divides its blocks in the same way.

use airwnd_units::{BitRate, Bytes, Span, Time};

/// bucketSizeDuration (BSD): time in which a token bucket fills.
// A choice: `ms100` of TS 36.331 §6.3.2, LogicalChannelConfig.
const BUCKET_DURATION: Span = Span::from_millis(100);
/// Minimum data of a part of a block: a header of RLC and a byte.
const MIN_DATA: Bytes = Bytes(5);
/// Longest data whose subheader has a length field of 7 bits instead of 15.
//= TS 36.321 §6.1.2
const SHORT_DATA: Bytes = Bytes(127);

/// A token bucket: the variable B of a logical channel, in bits times nanoseconds per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: BitRate,
    level: i64,
    filled_at: Time,
}

impl Bucket {
    /// An empty bucket with this prioritized bit rate (PBR), of at most 10 Gbit/s.
    pub fn new(rate: BitRate) -> Bucket {
        Bucket { rate, level: 0, filled_at: Time::ZERO }
    }

    /// Adds the tokens up to now.
    //= TS 36.321 §5.4.3.1
    pub fn fill(&mut self, now: Time) {
        let capacity = (self.rate.0 * BUCKET_DURATION.0) as i64;
        let earned = u128::from(self.rate.0) * u128::from(now.since(self.filled_at).0);
        let level = i128::from(self.level).saturating_add_unsigned(earned);
        self.level = level.min(i128::from(capacity)) as i64;
        self.filled_at = now;
    }

    /// The whole bytes in the bucket; `None` if B is zero or negative.
    pub fn tokens(&self) -> Option<Bytes> {
        (self.level > 0).then_some(Bytes(self.level as u64 / BYTE))
    }

    /// Removes the bytes served with priority; B may become negative.
    pub fn take(&mut self, served: Bytes) {
        self.level -= (served.0 * BYTE) as i64;
    }

    /// Empties it at a reset of the MAC.
    //= TS 36.321 §5.9
    pub fn reset(&mut self, now: Time) {
        (self.level, self.filled_at) = (0, now);
    }
}

/// A byte in the units of a bucket.
const BYTE: u64 = 8_000_000_000;

/// A bearer that competes for a part of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channel {
    /// Number of the bearer.
    pub bearer: u8,
    /// Data to send, with RLC's headers.
    pub waiting: Bytes,
    /// Size of its next SDU.
    pub next_sdu: Bytes,
    /// Tokens in its bucket; `None`: no priority in this block.
    pub tokens: Option<Bytes>,
    /// Result: its part of the block, with subheader.
    pub part: Bytes,
    /// Result: bytes of data that are taken from its bucket.
    pub prioritized: Bytes,
}

/// Size of the subheader of this much data.
fn subheader(data: Bytes) -> Bytes {
    Bytes(if data > SHORT_DATA { 3 } else { 2 })
}

/// Data in a part of a block with a subheader.
pub(crate) fn data_in(part: Bytes) -> Bytes {
    let data = part.saturating_sub(Bytes(2));
    if data > SHORT_DATA { part - Bytes(3) } else { data }
}

/// Divides a block among bearers in descending order of priority: first to each with tokens, up to these but at least
/// one SDU, so that SDUs are not segmented; the rest to each up to its data. A bearer that shares the block with none
/// needs no subheader.
//= TS 36.321 §5.4.3.1
//= TS 38.321 §5.4.3.1
pub(crate) fn divide(size: Bytes, channels: &mut [Channel]) {
    let mut left = size;
    for channel in channels.iter_mut() {
        let Some(tokens) = channel.tokens else { continue };
        let data = channel.waiting.min(tokens.max(channel.next_sdu));
        let part = (data + subheader(data)).min(left);
        if data > Bytes::ZERO && data_in(part) >= MIN_DATA.min(data) {
            channel.part = part;
            channel.prioritized = data_in(part);
            left -= part;
        }
    }
    for channel in channels.iter_mut() {
        let wanted = channel.waiting + subheader(channel.waiting);
        let more = wanted.saturating_sub(channel.part).min(left);
        let is_new = channel.part == Bytes::ZERO;
        if channel.waiting > Bytes::ZERO && (!is_new || data_in(more) >= MIN_DATA.min(channel.waiting)) {
            channel.part += more;
            left -= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_bucket_fills_at_its_rate_up_to_100_ms() {
        let mut bucket = Bucket::new(BitRate(64_000));
        assert_eq!(bucket.tokens(), None, "it is empty at first");
        // 64 kbit/s are 8 bytes per millisecond
        bucket.fill(ms(1));
        assert_eq!(bucket.tokens(), Some(Bytes(8)));
        bucket.fill(ms(51));
        assert_eq!(bucket.tokens(), Some(Bytes(51 * 8)));
        bucket.fill(ms(1000));
        assert_eq!(bucket.tokens(), Some(Bytes(100 * 8)));
        // a whole SDU of 1500 bytes leaves -700, repaid after 87.5 ms
        bucket.take(Bytes(1500));
        bucket.fill(ms(1087));
        assert_eq!(bucket.tokens(), None);
        bucket.fill(ms(1088));
        assert_eq!(bucket.tokens(), Some(Bytes(4)));
        bucket.reset(ms(1088));
        assert_eq!(bucket.tokens(), None);
        // no overflow at the highest rate
        let mut fast = Bucket::new(BitRate(10_000_000_000));
        fast.fill(Time(u64::MAX));
        assert_eq!(fast.tokens(), Some(Bytes(125_000_000)));
    }

    fn channel(bearer: u8, waiting: u64, tokens: Option<u64>) -> Channel {
        let (waiting, tokens) = (Bytes(waiting), tokens.map(Bytes));
        Channel { bearer, waiting, next_sdu: waiting.min(Bytes(1500)), tokens, ..Channel::default() }
    }

    fn parts(size: u64, mut channels: Vec<Channel>) -> Vec<(u64, u64)> {
        divide(Bytes(size), &mut channels);
        channels.iter().map(|channel| (channel.part.0, channel.prioritized.0)).collect()
    }

    #[test]
    fn a_block_goes_to_the_highest_priority_except_for_prioritized_bit_rates() {
        let call = || channel(1, 100, Some(800));
        // the call of 100 + 2 bytes, then the download
        assert_eq!(parts(5000, vec![call(), channel(0, 50_000, None)]), [(102, 100), (4898, 0)]);
        // with tokens for 800 bytes the download gets one SDU of 1500 + 3 first, then the rest
        assert_eq!(parts(5000, vec![call(), channel(0, 50_000, Some(800))]), [(102, 100), (4898, 1500)]);
        // a flood of high priority leaves the download its SDU
        let flood = || channel(1, 50_000, None);
        assert_eq!(parts(5000, vec![flood(), channel(0, 50_000, Some(800))]), [(3497, 0), (1503, 1500)]);
        // and nothing without tokens
        assert_eq!(parts(5000, vec![flood(), channel(0, 50_000, None)]), [(5000, 0), (0, 0)]);
        // tokens for more than an SDU: 2000 + 3
        assert_eq!(parts(5000, vec![flood(), channel(0, 50_000, Some(2000))]), [(2997, 0), (2003, 2000)]);
        // the last bytes of a block are too few for another bearer
        assert_eq!(parts(108, vec![call(), channel(0, 50_000, None)]), [(102, 100), (0, 0)]);
        assert_eq!(parts(109, vec![call(), channel(0, 50_000, None)]), [(102, 100), (7, 0)]);
        assert_eq!(parts(100, vec![call(), channel(0, 50_000, Some(800))]), [(100, 98), (0, 0)]);
    }

    #[test]
    fn subheaders_have_two_bytes_up_to_127_bytes_of_data() {
        assert_eq!(data_in(Bytes(129)), Bytes(127));
        assert_eq!(data_in(Bytes(131)), Bytes(128));
        // A part of 130 bytes: 127 with two bytes, or with three.
        assert_eq!(data_in(Bytes(130)), Bytes(127));
        assert_eq!((subheader(Bytes(127)), subheader(Bytes(128))), (Bytes(2), Bytes(3)));
    }

    proptest! {
        /// Parts fit the block, none is longer than its data, and space is left only if all data has a part.
        #[test]
        fn a_block_is_used_as_far_as_data_waits(
            size in 1u64..20_000,
            waiting in prop::collection::vec((0u64..20_000, prop::option::of(0u64..20_000)), 1..9),
        ) {
            let mut channels: Vec<Channel> =
                (0..).zip(&waiting).map(|(bearer, (bytes, tokens))| channel(bearer, *bytes, *tokens)).collect();
            divide(Bytes(size), &mut channels);
            let used: u64 = channels.iter().map(|channel| channel.part.0).sum();
            prop_assert!(used <= size);
            for channel in &channels {
                prop_assert!(channel.part <= channel.waiting + subheader(channel.waiting));
                prop_assert!(channel.prioritized <= data_in(channel.part));
                let is_served = data_in(channel.part) == channel.waiting;
                prop_assert!(is_served || size - used < 3 + MIN_DATA.0, "{channel:?}, {} left", size - used);
            }
        }
    }
}
