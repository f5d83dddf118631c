//! Plug-ins: their registration by the caller, and their places in a scenario.

use crate::scenario::Scenario;
use airwnd_catalog::outside::{External, Failures, Registry};
use airwnd_catalog::{Error, Node, ParamSet};
use airwnd_tcp::cc::{CongestionControl, SenderContext};
use std::path::Path;

/// Members of families that the caller has registered, in addition to the built-in ones.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Congestion controls.
    pub cc: Registry<dyn CongestionControl>,
}

impl Plugins {
    /// Registers a congestion control as `{kind = "plugin", name = "...", ...}`. `make` creates the controller of a
    /// connection from the settings in the scenario.
    ///
    /// # Panics
    /// If the name is already registered.
    pub fn add<P, F>(&mut self, name: &str, make: F)
    where
        P: ParamSet + Send + Sync + 'static,
        F: Fn(&P, &SenderContext) -> Result<Box<dyn CongestionControl>, Error> + Send + Sync + 'static,
    {
        self.cc.add(name, make);
    }
}

impl Scenario {
    /// Resolves the plug-ins. `node` is the scenario's table, `folder` the folder that relative paths refer to.
    pub(crate) fn link(&mut self, node: &Node, folder: &Path, plugins: &Plugins) -> Result<(), Error> {
        for (index, flow) in self.flow.iter_mut().enumerate() {
            let key = format!("flow[{index}].cc");
            let linked = flow.cc.link(node.nearest(&key), folder, &plugins.cc);
            linked.map_err(|error| error.within(&key))?;
        }
        Ok(())
    }

    /// Whether it has plug-ins.
    pub(crate) fn has_plugins(&self) -> bool {
        self.flow.iter().any(|flow| flow.cc.is_outside())
    }

    /// Reports the failures of plug-ins from now on to this slot.
    pub(crate) fn attach(&mut self, failures: &Failures) {
        let attach = |each: &mut dyn External| each.attach(failures);
        self.flow.iter_mut().filter_map(|flow| flow.cc.external()).for_each(attach);
    }
}
