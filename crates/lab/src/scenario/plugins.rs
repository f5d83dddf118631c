//! Plug-ins: their registration by the caller.

use crate::scenario::traffic::Source;
use airwnd_catalog::outside::Registry;
use airwnd_cell::handover::Handover;
use airwnd_cell::mac::sched::Scheduler;
use airwnd_links::aqm::QueueDisc;
use airwnd_rwnd::RwndController;
use airwnd_tcp::cc::CongestionControl;

/// Members of families that the caller has registered, in addition to the built-in ones.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Congestion controls.
    pub cc: Registry<dyn CongestionControl>,
    /// Receive-window controls.
    pub rwnd: Registry<dyn RwndController>,
    /// Queue disciplines.
    pub aqm: Registry<dyn QueueDisc>,
    /// Downlink schedulers.
    pub scheduler: Registry<dyn Scheduler>,
    /// Handover algorithms.
    pub handover: Registry<dyn Handover>,
    /// Traffic sources.
    pub traffic: Registry<dyn Source>,
}
