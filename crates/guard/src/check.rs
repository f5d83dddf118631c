//! System requirements.

use crate::Error;
use crate::cgroup;
use crate::forward::Forward;
use crate::kernel;
use crate::receiver::Receiver;
use crate::shape::Watch;

/// A requirement, and why it is not met.
pub(crate) struct Finding {
    pub what: &'static str,
    pub outcome: Result<(), Error>,
}

/// Tries everything that the guard needs, and changes nothing.
pub(crate) fn findings() -> Vec<Finding> {
    vec![
        Finding { what: "windows of this host: kernel", outcome: kernel::refuse_defects() },
        Finding { what: "windows of this host: cgroup version 2", outcome: cgroup::root().map(drop) },
        Finding { what: "windows of this host: eBPF programs", outcome: Receiver::load().map(drop) },
        Finding { what: "windows on a router: eBPF programs", outcome: Forward::load().map(drop) },
        Finding { what: "shapers: eBPF program", outcome: Watch::load().map(drop) },
    ]
}
