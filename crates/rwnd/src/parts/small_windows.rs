//! Limits for small windows.

/// Minimum offered window in segments: two keep a receiver's ACKs going (RFC 9293 §3.8.6.3).
pub(crate) const MIN_SEGMENTS: u64 = 2;

/// Maximum shift of the window field that can represent a window of a few segments: units of 2 KiB, and windows up to
/// 128 MiB. RFC 9840 §4.1.2 prescribes it for rLEDBAT; other controllers that offer small windows use it, too.
pub const MAX_SHIFT: u8 = 11;
