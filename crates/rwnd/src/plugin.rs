//! A receive-window control from an external crate.

airwnd_catalog::plugin!(dyn super::RwndController, "receive-window control", "rwnd");
