//! A queue discipline from an external crate.

airwnd_catalog::plugin!(dyn super::QueueDisc, "queue discipline", "aqm");
