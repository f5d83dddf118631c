//! A congestion control from an external crate.

use super::outside::{self, Guarded, Outside};
use airwnd_catalog::Params;

/// Plugin: a congestion control from an external crate, registered by the program that runs the scenario.
///
/// The program registers it under `name` (`Plugins::add`). All other keys are settings of the plug-in;
/// docs/how-to/write-a-plugin.md has a complete example.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the crate that registers it")]
pub struct Head {
    /// Name under which the plug-in is registered.
    #[param(unit = "text", source = "the scenario")]
    pub name: String,
}

impl outside::Head for Head {
    fn label(&self) -> String {
        format!("plug-in `{}`", self.name)
    }
}

/// The name and the plug-in's own settings.
pub type Params = Outside<Head>;
/// State of the plug-in's controller.
pub type Plugin = Guarded;
