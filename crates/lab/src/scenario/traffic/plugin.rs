//! A traffic source from an external crate.

airwnd_catalog::plugin!(dyn super::Source, "traffic source", "traffic");
