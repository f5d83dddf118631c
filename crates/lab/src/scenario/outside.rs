//! Plug-ins in a scenario: the keys that may name one.

use crate::scenario::Scenario;
use crate::scenario::plugins::Plugins;
use airwnd_catalog::outside::{External, Failures};
use airwnd_catalog::{Error, Node};
use std::path::Path;

/// Lists the queue disciplines of a scenario with their keys.
macro_rules! queues {
    ($scenario:expr, $iter:ident, $as_option:ident $(, $mutable:tt)?) => {{
        let scenario = $scenario;
        let mut found = vec![
            ("rlc.queue".to_string(), Some(& $($mutable)? scenario.rlc.queue)),
            ("rlc.uplink_queue".to_string(), scenario.rlc.uplink_queue.$as_option()),
            ("core.server_aqm".to_string(), scenario.core.server_aqm.$as_option()),
        ];
        for (index, link) in scenario.link.$iter().enumerate() {
            found.push((format!("link[{index}].aqm"), link.settings.aqm.$as_option()));
            found.push((format!("link[{index}].aqm_up"), link.settings.aqm_up.$as_option()));
        }
        for (index, group) in scenario.ue.$iter().enumerate() {
            for (place, bearer) in group.bearer.$iter().enumerate() {
                let key = format!("ue[{index}].bearer[{place}]");
                found.push((format!("{key}.queue"), bearer.queue.$as_option()));
                found.push((format!("{key}.uplink_queue"), bearer.uplink_queue.$as_option()));
            }
            let shaper = group.shaper.$as_option().map(|shaper| & $($mutable)? shaper.aqm);
            found.push((format!("ue[{index}].shaper.aqm"), shaper));
        }
        found.into_iter().filter_map(|(key, queue)| Some((key, queue?))).collect::<Vec<_>>()
    }};
}

impl Scenario {
    /// Resolves the plug-ins. `node` is the scenario's table, `folder` the folder that relative paths refer to.
    pub(crate) fn link(&mut self, node: &Node, folder: &Path, plugins: &Plugins) -> Result<(), Error> {
        for (index, flow) in self.flow.iter_mut().enumerate() {
            let key = format!("flow[{index}].cc");
            let linked = flow.cc.link(node.nearest(&key), folder, &plugins.cc);
            linked.map_err(|error| error.within(&key))?;
            let key = format!("flow[{index}].rwnd");
            let linked = flow.rwnd.link(node.nearest(&key), folder, &plugins.rwnd);
            linked.map_err(|error| error.within(&key))?;
            let key = format!("flow[{index}].traffic");
            let linked = flow.traffic.link(node.nearest(&key), folder, &plugins.traffic);
            linked.map_err(|error| error.within(&key))?;
        }
        for (key, queue) in queues!(&mut *self, iter_mut, as_mut, mut) {
            let linked = queue.link(node.nearest(&key), folder, &plugins.aqm);
            linked.map_err(|error| error.within(&key))?;
        }
        let linked = self.mac.scheduler.link(node.nearest("mac.scheduler"), folder, &plugins.scheduler);
        linked.map_err(|error| error.within("mac.scheduler"))?;
        let (key, algorithm) = ("handover.algorithm", &mut self.handover.algorithm);
        let linked = algorithm.link(node.nearest(key), folder, &plugins.handover);
        linked.map_err(|error| error.within(key))
    }

    /// Whether it has plug-ins.
    pub(crate) fn has_plugins(&self) -> bool {
        self.has_plugins_in_cells()
            || self
                .flow
                .iter()
                .any(|flow| flow.cc.is_outside() || flow.rwnd.is_outside() || flow.traffic.is_outside())
            || queues!(self, iter, as_ref).iter().any(|(_, queue)| queue.is_outside())
    }

    /// Whether cells, which several threads can advance, have plug-ins.
    pub(crate) fn has_plugins_in_cells(&self) -> bool {
        let queues = queues!(self, iter, as_ref);
        let mut in_cells = queues.iter().filter(|(key, _)| key.starts_with("rlc") || key.contains(".bearer"));
        self.mac.scheduler.is_outside()
            || self.handover.algorithm.is_outside()
            || in_cells.any(|(_, queue)| queue.is_outside())
    }

    /// Reports the failures of plug-ins from now on to this slot.
    pub(crate) fn attach(&mut self, failures: &Failures) {
        let attach = |each: &mut dyn External| each.attach(failures);
        self.flow.iter_mut().filter_map(|flow| flow.cc.external()).for_each(attach);
        self.flow.iter_mut().filter_map(|flow| flow.rwnd.external()).for_each(attach);
        self.flow.iter_mut().filter_map(|flow| flow.traffic.external()).for_each(attach);
        let queues = queues!(&mut *self, iter_mut, as_mut, mut).into_iter();
        queues.filter_map(|(_, queue)| queue.external()).for_each(attach);
        self.mac.scheduler.external().into_iter().for_each(attach);
        self.handover.algorithm.external().into_iter().for_each(attach);
    }
}
