//! How small a window may be, and how fine it can be told.

/// The least window that is offered, in segments: two keep a receiver's ACKs going (RFC 9293 §3.8.6.3).
pub(crate) const LEAST: u64 = 2;

/// The largest shift of the window field with which a window of a few segments still is one: steps of 2 KiB, and 128 MiB
/// at most. RFC 9840 §4.1.2 has it for rLEDBAT; it is as good for others that offer little.
pub(crate) const MAX_SHIFT: u8 = 11;
