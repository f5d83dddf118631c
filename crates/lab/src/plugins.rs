//! Plug-ins: their registration by the caller.

use crate::traffic::Source;
use airwnd_catalog::outside::Registry;
use airwnd_catalog::{Error, ParamSet};
use airwnd_cell::handover::Handover;
use airwnd_cell::mac::sched::Scheduler;
use airwnd_links::aqm::QueueDisc;
use airwnd_tcp::cc::{CongestionControl, SenderContext};

/// Members of families that the caller has registered, in addition to the built-in ones.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Congestion controls.
    pub cc: Registry<dyn CongestionControl>,
    /// Queue disciplines.
    pub aqm: Registry<dyn QueueDisc>,
    /// Downlink schedulers.
    pub scheduler: Registry<dyn Scheduler>,
    /// Handover algorithms.
    pub handover: Registry<dyn Handover>,
    /// Traffic sources.
    pub traffic: Registry<dyn Source>,
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
