//! How fine a window can be told.

/// The largest shift of the window field with which a window of a few segments still is one: steps of 2 KiB, and 128 MiB
/// at most. RFC 9840 §4.1.2 has it for rLEDBAT; it is as good for others that offer little.
pub(in crate::rwnd) const MAX_SHIFT: u8 = 11;
