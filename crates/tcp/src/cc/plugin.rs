//! A controller from another crate.

use super::outside::{self, Guarded, Outside};
use airwnd_catalog::Params;

/// Plugin: a congestion control from a crate of your own.
///
/// The program that runs the scenario registers it by its name (`Plugins::add`). All other keys are its own;
/// docs/how-to/write-a-plugin.md has an example in full.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the crate that registers it")]
pub struct Head {
    /// The name that it is registered by.
    #[param(unit = "text", source = "the scenario")]
    pub name: String,
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
