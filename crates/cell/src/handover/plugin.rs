//! A handover algorithm from an external crate.

airwnd_catalog::plugin!(dyn super::Handover, "handover algorithm", "handover");
