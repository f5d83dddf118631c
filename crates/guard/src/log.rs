//! The state of the guard as JSON.

use crate::maps::Counters;
use crate::policy::{Reason, Status, Treatment};
use airwnd_units::{Bytes, Span, Time};
use serde_json::{Value, json};

/// The flows of one place, and the counters of its programs.
pub(crate) fn place(
    name: &str,
    now: Time,
    flows: impl Iterator<Item = Status>,
    counters: &Counters,
) -> Value {
    let mut flows: Vec<Status> = flows.collect();
    flows.sort_by_key(|flow| flow.flow);
    let Counters { acks, clamped, refused, lost, held, unknown, exempt, implausible, full } = counters;
    json!({
        "place": name,
        "flows": flows.iter().map(|status| flow(now, status)).collect::<Vec<_>>(),
        "counters": {
            "acks": acks, "clamped": clamped, "held": held, "refused": refused, "unknown": unknown,
            "exempt": exempt, "implausible": implausible, "lost_reports": lost, "without_room": full,
        },
    })
}

fn flow(now: Time, status: &Status) -> Value {
    let bytes = |value: Option<Bytes>| value.map(|Bytes(bytes)| bytes);
    let millis = |value: Option<Span>| value.map(Span::as_millis);
    let (wanted, untouched) = match status.treatment {
        Treatment::Window(window) => (Some(window), None),
        Treatment::Untouched(reason) => (None, Some(word(reason))),
    };
    json!({
        "receiver": status.local.to_string(),
        "sender": status.remote.to_string(),
        "interface": status.interface,
        "cgroup": status.cgroup,
        "rate_kbps": status.rate.as_kbps(),
        "rtt_ms": millis(status.rtt),
        "rtt_ms_min": millis(status.least_rtt),
        "received_bytes": status.received.0,
        "offered_bytes": status.offered.0,
        "window_bytes": bytes(wanted),
        "clamp_bytes": bytes(status.clamp),
        "untouched": untouched,
        "idle_ms": now.since(status.seen).as_millis(),
    })
}

fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Rule => "rule",
        Reason::Local => "local",
        Reason::Starting => "starting",
        Reason::Quiet => "quiet",
    }
}
