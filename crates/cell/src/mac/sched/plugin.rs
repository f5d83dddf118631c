//! A downlink scheduler from an external crate.

airwnd_catalog::plugin!(dyn super::Scheduler, "downlink scheduler", "scheduler");
