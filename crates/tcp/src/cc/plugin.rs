//! A congestion control from an external crate.

use super::CongestionControl;
use airwnd_catalog::outside::{Described, Name, Outside};

/// The name and the plug-in's own settings.
pub type Params = Outside<Name, dyn CongestionControl>;

impl Described<Name> for dyn CongestionControl {
    const DOC: &'static str = "\
Plugin: a congestion control from an external crate, registered by the program that runs the scenario.

The program registers it under `name` (`Plugins::add`). All other keys are settings of the plug-in;
docs/how-to/write-a-plugin.md has a complete example.";
}
