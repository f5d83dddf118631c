//! The links of a scenario.

use airwnd_catalog::{Error, Fields, Node, Param, Params, Value, choice, params, read_kind};
use airwnd_links::link::{self, Queue};
use airwnd_links::{aqm, loss};
use airwnd_units::{Bytes, Span};
use serde_json::{Value as Json, json};

/// Packets that may wait before a link that has no limit in bytes either.
const QUEUE: u64 = 100;
/// The kind of a link that does not say.
const KIND: &str = "wire";

choice! {
    /// Who shares a link.
    pub enum Sharing {
        /// All terminals that are routed over it.
        All = "all",
        /// The terminals of a group: each group has one of its own.
        Group = "group",
        /// Nobody: each terminal has one of its own.
        Terminal = "terminal",
    }
}

params! {
    /// A link between the gateway and the terminals, or the first cell: a queue, a service, a delay, and losses, each way.
    ///
    /// Links are passed in the order of `via` of a group of terminals. Besides these keys a link has those of its
    /// [kind](link.md).
    pub struct LinkSettings ("ns-3 reference run S5") {
        /// Name of the link, for `via` and results.
        pub name: String = "link".to_string(), unit "text", source "airwnd";
        /// One-way delay.
        pub delay: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(60), source "the scenario";
        /// One-way delay towards the servers; none: `delay`.
        pub delay_up: Option<Span> = None, unit "time", range Span::ZERO..=Span::from_secs(60), source "the scenario";
        /// Packets that may wait, each way, besides the one in transmission; none: 100 without `queue_bytes`, else no limit.
        pub queue: Option<u64> = None, unit "packets", range 1..=100_000_000, source "ns-3 reference run S5";
        /// Bytes that may wait, each way, with their framing; none: no limit.
        pub queue_bytes: Option<Bytes> = None, unit "B", range Bytes(1)..=Bytes(1_000_000_000_000), source "the scenario";
        /// A packet that can say so is marked (ECN) if more packets than this wait when it comes; none: no marks.
        pub mark_above: Option<u64> = None, unit "packets", range 0..=100_000_000, source "RFC 8257 §3.1, K";
        /// A packet that can say so is marked (ECN) if it will wait longer than this; none: no marks.
        pub mark_above_delay: Option<Span> = None, unit "time", range Span::ZERO..=Span::from_secs(60), source "Linux sch_dualpi2, step_thresh";
        /// Queue discipline before it, each way, in place of `queue`, `queue_bytes` and the marks; none: drop-tail by these.
        pub aqm: Option<aqm::Spec> = None, unit "1", source "RFC 7567";
        /// Packets that the interface takes from `aqm` ahead of their transmission, each way.
        pub ring: u64 = 0, unit "packets", range 0..=100_000, source "ns-3 reference run S5: 1, the device's queue; Linux: the driver's ring, byte queue limits";
        /// What it loses towards the terminals: the data of downloads.
        pub loss: loss::Spec = loss::Spec::NoLoss(Default::default()), unit "1", source "ns-3 reference run S5";
        /// What it loses towards the servers: the acknowledgments of downloads.
        pub loss_up: loss::Spec = loss::Spec::NoLoss(Default::default()), unit "1", source "ns-3 reference runs S4 and S5";
        /// Who shares one: all terminals, each group has one, or each terminal.
        pub per: Sharing = Sharing::All, unit "1", source "the scenario";
    }
}

/// A link of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What all kinds have.
    pub settings: LinkSettings,
    /// How it serves.
    pub kind: link::Spec,
}

impl Link {
    pub(crate) fn queue(&self) -> Queue {
        Queue {
            packets: self.settings.queue,
            bytes: self.settings.queue_bytes,
            mark_above: self.settings.mark_above,
            mark_above_delay: self.settings.mark_above_delay,
        }
    }

    /// What no single value shows: the key at fault, and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        self.kind.check().map_err(|(key, message)| (key.to_string(), message))?;
        for (key, loss) in [("loss", &self.settings.loss), ("loss_up", &self.settings.loss_up)] {
            loss.check().map_err(|(parameter, message)| (format!("{key}.{parameter}"), message))?;
        }
        self.check_queue()?;
        self.check_medium()
    }

    /// A discipline has its own limits and marks.
    fn check_queue(&self) -> Result<(), (String, String)> {
        let settings = &self.settings;
        let Some(discipline) = &settings.aqm else {
            let message = "packets wait in it behind a discipline; set `aqm`";
            return if settings.ring > 0 { Err(("ring".into(), message.into())) } else { Ok(()) };
        };
        let others = [
            ("queue", settings.queue.is_some()),
            ("queue_bytes", settings.queue_bytes.is_some()),
            ("mark_above", settings.mark_above.is_some()),
            ("mark_above_delay", settings.mark_above_delay.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, is_set)| *is_set) {
            let message = format!("the queue is that of `aqm`, \"{}\"; set its own keys", discipline.kind());
            return Err((key.to_string(), message));
        }
        discipline.check().map_err(|(parameter, message)| (format!("aqm.{parameter}"), message))
    }

    /// A shared medium has no delay, and does not know how long a packet will wait.
    fn check_medium(&self) -> Result<(), (String, String)> {
        let link::Spec::Wifi(_) = self.kind else { return Ok(()) };
        let settings = &self.settings;
        let complain = |key: &str, message: &str| Err((key.to_string(), message.to_string()));
        if settings.delay != Span::ZERO {
            return complain("delay", "\"wifi\" has none; put a \"wire\" before it");
        }
        if settings.delay_up.is_some_and(|delay| delay != Span::ZERO) {
            return complain("delay_up", "\"wifi\" has none; put a \"wire\" before it");
        }
        if settings.aqm.is_some() {
            return complain(
                "aqm",
                "\"wifi\" has a drop-tail queue at each station; use queue and mark_above",
            );
        }
        if settings.mark_above_delay.is_some() {
            return complain(
                "mark_above_delay",
                "how long a packet will wait for \"wifi\" nobody knows; use mark_above",
            );
        }
        Ok(())
    }
}

impl Param for Link {
    fn read(node: &Node) -> Result<Self, Error> {
        let shared: Vec<&str> = LinkSettings::infos().iter().map(|info| info.name).collect();
        let own = own_table(node, &shared);
        let kind = read_kind(&own, "link", &link::Spec::kinds())?;
        let members = link::Spec::catalogue().members;
        let params = members.iter().filter(|member| member.name == kind).flat_map(|member| &member.params);
        let known: Vec<&str> =
            ["kind"].into_iter().chain(shared.iter().copied()).chain(params.map(|info| info.name)).collect();
        Fields::of(node, &known)?;
        let mut settings = LinkSettings::read(&node.entries(|key| shared.contains(&key)))?;
        if settings.queue.is_none() && settings.queue_bytes.is_none() && settings.aqm.is_none() {
            settings.queue = Some(QUEUE);
        }
        Ok(Link { settings, kind: link::Spec::read(&own)? })
    }

    fn to_json(&self) -> Json {
        let mut whole = self.settings.to_json();
        for (key, value) in self.kind.to_json().as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
        whole
    }

    fn schema() -> Json {
        let mut schema = LinkSettings::schema();
        let mut kinds = link::Spec::schema()["anyOf"].as_array().cloned().unwrap_or_default();
        let words = kinds.remove(0);
        for kind in &mut kinds {
            // Which keys there may be is said once, below.
            kind.as_object_mut().map(|kind| kind.remove("additionalProperties"));
            let by_default = kind["properties"]["kind"]["const"] == KIND;
            if let Some(required) = kind["required"].as_array_mut().filter(|_| by_default) {
                required.retain(|key| key != "kind");
            }
        }
        schema["properties"]["kind"] = json!({
            "anyOf": [words], "default": KIND, "description": "How it serves, and what keys it has besides. Source: airwnd.",
        });
        schema.as_object_mut().map(|schema| schema.remove("additionalProperties"));
        schema["anyOf"] = kinds.into();
        schema["unevaluatedProperties"] = false.into();
        schema
    }
}

/// The keys that are the kind's own, and the kind, said or not.
fn own_table(node: &Node, shared: &[&str]) -> Node {
    let mut own = node.entries(|key| !shared.contains(&key));
    if let Value::Table(entries) = &mut own.value
        && entries.iter().all(|(key, _)| key != "kind")
    {
        entries.push(("kind".into(), node.replaced(Value::Text(KIND.into()))));
    }
    own
}
