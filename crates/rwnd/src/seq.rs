//! TCP sequence numbers with wrap-around.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number: arithmetic is modulo 2^32.
///
/// Two numbers are compared by their distance, so an order exists only among numbers less than 2^31 apart,
/// as all numbers of one window are (RFC 9293 §3.4). It is therefore not `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// Returns whether this number precedes `other`.
    #[inline]
    pub fn is_before(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Returns whether this number follows `other`.
    #[inline]
    pub fn is_after(self, other: Seq) -> bool {
        other.is_before(self)
    }

    /// Returns the number of bytes from `earlier` to this number, or zero if `earlier` follows it.
    #[inline]
    pub fn since(self, earlier: Seq) -> u32 {
        if self.is_after(earlier) { self - earlier } else { 0 }
    }

    /// Returns the later of two numbers.
    #[inline]
    pub fn max(self, other: Seq) -> Seq {
        if self.is_before(other) { other } else { self }
    }

    /// Returns the earlier of two numbers.
    #[inline]
    pub fn min(self, other: Seq) -> Seq {
        if self.is_after(other) { other } else { self }
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn add(self, bytes: u32) -> Seq {
        Seq(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn sub(self, bytes: u32) -> Seq {
        Seq(self.0.wrapping_sub(bytes))
    }
}

impl Sub for Seq {
    type Output = u32;
    #[inline]
    fn sub(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Consecutive sequence numbers: `start` is the first, `end` the one after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeqRange {
    /// First sequence number.
    pub start: Seq,
    /// The sequence number after the last.
    pub end: Seq,
}

impl SeqRange {
    /// Returns whether the range is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_distance_survive_the_wrap() {
        let before = Seq(u32::MAX - 9);
        let after = before + 20;
        assert_eq!(after, Seq(10));
        assert!(before.is_before(after) && after.is_after(before) && !after.is_before(before));
        assert_eq!(after - before, 20);
        assert_eq!((after.since(before), before.since(after)), (20, 0));
        assert_eq!((before.max(after), before.min(after)), (after, before));
    }
}
