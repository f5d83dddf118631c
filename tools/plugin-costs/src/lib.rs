//! An engine with a built-in member of each family as a plug-in, whose calls cost what those of a plug-in in Rust cost.

use airwnd_cell::handover::a2_a4_rsrq::{self, A2A4Rsrq};
use airwnd_cell::mac::sched::pf::{self, Pf};
use airwnd_lab::Plugins;
use airwnd_lab::traffic::cbr::{self, Cbr};
use airwnd_links::aqm::drop_tail::{self, DropTail};
use airwnd_rwnd::drwa::{self, Drwa};
use airwnd_tcp::cc::newreno::{self, Newreno};

/// Makes the plug-ins available to scenarios, each as `{ kind = "plugin", name = "mine" }`.
fn register(plugins: &mut Plugins) {
    plugins.cc.add("mine", |params: &newreno::Params, ctx| Ok(Box::new(Newreno::new(params.clone(), ctx))));
    plugins.rwnd.add("mine", |params: &drwa::Params, ctx| Ok(Box::new(Drwa::new(params.clone(), ctx))));
    plugins
        .aqm
        .add("mine", |params: &drop_tail::Params, ctx| Ok(Box::new(DropTail::new(params.clone(), ctx))));
    plugins.scheduler.add("mine", |params: &pf::Params, grid| Ok(Box::new(Pf::new(params.clone(), grid))));
    plugins
        .handover
        .add("mine", |params: &a2_a4_rsrq::Params, ctx| Ok(Box::new(A2A4Rsrq::new(params.clone(), ctx))));
    plugins.traffic.add("mine", |params: &cbr::Params, ctx| Ok(Box::new(Cbr::new(params.clone(), ctx))));
}

airwnd_py::engine!(register);
