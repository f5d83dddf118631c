//! A controller from another crate.

use super::outside::{self, Guarded, Outside};
use airwnd_catalog::params;

params! {
    /// Plugin: a congestion control from a crate of your own.
    ///
    /// The program that runs the scenario registers it by its name (`Plugins::add`). All other keys are its own;
    /// docs/how-to/write-a-plugin.md has an example in full.
    pub section Head ("the crate that registers it") {
        /// The name that it is registered by.
        pub name: String, unit "text", source "the scenario";
    }
}

impl outside::Head for Head {
    fn who(&self) -> String {
        format!("plug-in `{}`", self.name)
    }
}

/// The name, and the plug-in's own settings.
pub type Params = Outside<Head>;
/// The state of the plug-in's controller.
pub type Plugin = Guarded;
