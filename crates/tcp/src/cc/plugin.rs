//! A congestion control from an external crate.

airwnd_catalog::plugin!(dyn super::CongestionControl, "congestion control", "cc");
