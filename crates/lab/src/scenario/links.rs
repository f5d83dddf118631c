//! Links of a scenario.

use airwnd_catalog::derived::keys;
use airwnd_catalog::{Choice, Defaults, Error, Fault, Fields, Files, Node, Param, Params, Value, read_kind};
use airwnd_kernel::{Direction, Stream};
use airwnd_links::link::{self, Duplicate, Impairments, Jitter, Police, Queue, Reorder, SMALLEST_BURST, Tbf};
use airwnd_links::{aqm, loss};
use airwnd_units::{Bytes, Span, Time};
use serde_json::{Value as Json, json};

/// Default queue limit in packets of a link without a limit in bytes.
const QUEUE: u64 = 100;
/// Default kind of a link.
const KIND: &str = "wire";

/// Sharing of a link among UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sharing {
    /// One link for all UEs that are routed over it.
    #[word = "all"]
    All,
    /// One link per group of UEs.
    #[word = "group"]
    Group,
    /// One link per UE.
    #[word = "terminal"]
    Ue,
}

/// A change of a link's delay during the run, as of a route that becomes longer or shorter.
///
/// The delay applies to packets whose transmission ends at `at` or later. No packet overtakes an earlier one.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd: a change of the route")]
pub struct Reroute {
    /// Time of the change, counted from the end of the warm-up.
    #[param(range = Span::ZERO..=Span::from_secs(31_536_000), unit = "time", source = "the scenario")]
    pub at: Span,
    /// One-way delay from then on.
    #[param(range = Span::ZERO..=Span::from_secs(60), unit = "time", source = "the scenario")]
    pub delay: Span,
    /// One-way delay towards the server from then on; `none`: equal to `delay`.
    #[param(default = None, range = Span::ZERO..=Span::from_secs(60), unit = "time", source = "the scenario")]
    pub delay_up: Option<Span>,
}

/// A link between the gateway and the UEs, or the first cell: queue, transmission, delay and losses per direction.
///
/// `via` of a group of UEs sets the order in which packets pass links. In addition to these keys a link has those of
/// its [kind](link.md).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 reference run S5", check)]
pub struct LinkSettings {
    /// Name of the link, for `via` and results.
    #[param(basic, default = "link".to_string(), unit = "text", source = "airwnd")]
    pub name: String,
    /// One-way delay.
    #[param(basic, default = Span::ZERO, range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "the scenario")]
    pub delay: Span,
    /// One-way delay towards the server; `none`: equal to `delay`.
    #[param(default = None, range = Span::ZERO..=Span::from_secs(60), unit = "time", source = "the scenario")]
    pub delay_up: Option<Span>,
    /// Random part of the delay of each packet; `none`: all packets have the same delay.
    #[param(basic, default = None, unit = "1", source = "airwnd: a constant delay")]
    pub jitter: Option<Jitter>,
    /// Random part of the delay towards the server; `none`: equal to `jitter`.
    #[param(default = None, unit = "1", source = "the scenario")]
    pub jitter_up: Option<Jitter>,
    /// Reordering towards the UEs; `none`: packets overtake by `jitter` only.
    #[param(default = None, unit = "1", source = "airwnd: packets keep their order")]
    pub reorder: Option<Reorder>,
    /// Reordering towards the server; `none`: packets overtake by `jitter` only.
    #[param(default = None, unit = "1", source = "airwnd: packets keep their order")]
    pub reorder_up: Option<Reorder>,
    /// Duplication of packets towards the UEs; `none`: no copies.
    #[param(default = None, unit = "1", source = "airwnd: each packet arrives once")]
    pub duplicate: Option<Duplicate>,
    /// Duplication of packets towards the server; `none`: no copies.
    #[param(default = None, unit = "1", source = "airwnd: each packet arrives once")]
    pub duplicate_up: Option<Duplicate>,
    /// Policer in front of the queue towards the UEs; `none`: no policer.
    #[param(default = None, unit = "1", source = "airwnd: no policer")]
    pub police: Option<Police>,
    /// Policer in front of the queue towards the server; `none`: no policer.
    #[param(default = None, unit = "1", source = "airwnd: no policer")]
    pub police_up: Option<Police>,
    /// Token-bucket shaper behind the queue towards the UEs; `none`: the queue is served at the rate of the link.
    #[param(default = None, unit = "1", source = "airwnd: no shaper")]
    pub tbf: Option<Tbf>,
    /// Token-bucket shaper behind the queue towards the server; `none`: the queue is served at the rate of the link.
    #[param(default = None, unit = "1", source = "airwnd: no shaper")]
    pub tbf_up: Option<Tbf>,
    /// Changes of the delay during the run. Of changes at the same time the last one applies.
    #[param(default = Vec::new(), unit = "1", source = "airwnd: a fixed route")]
    pub reroute: Vec<Reroute>,
    /// Queue limit in packets, per direction, excluding the packet in transmission; `none`: no limit with
    /// `queue_bytes`, otherwise 100.
    #[param(basic)]
    #[param(default = None, range = 1..=100_000_000, unit = "packets", source = "ns-3 reference run S5")]
    pub queue: Option<u64>,
    /// Queue limit in bytes, per direction, framing included; `none`: no limit.
    #[param(basic)]
    #[param(default = None, range = Bytes(1)..=Bytes(1_000_000_000_000), unit = "B", source = "the scenario")]
    pub queue_bytes: Option<Bytes>,
    /// Queue limit in packets towards the server. This key, `queue_bytes_up` and `aqm_up` describe the queue towards the
    /// server if one of them is set; `none` for all: it equals the one towards the UEs.
    #[param(default = None, range = 1..=100_000_000)]
    #[param(unit = "packets", source = "mahimahi mm-link, --uplink-queue")]
    pub queue_up: Option<u64>,
    /// Queue limit in bytes towards the server, framing included; `none`: see `queue_up`.
    #[param(default = None, range = Bytes(1)..=Bytes(1_000_000_000_000))]
    #[param(unit = "B", source = "mahimahi mm-link, --uplink-queue")]
    pub queue_bytes_up: Option<Bytes>,
    /// Marking threshold: an arriving ECN-capable packet is marked if more than this many packets are queued; `none`:
    /// no marks.
    #[param(default = None, range = 0..=100_000_000, unit = "packets", source = "RFC 8257 §3.1, K")]
    pub mark_above: Option<u64>,
    /// Marking threshold: an arriving ECN-capable packet is marked if its queueing delay will exceed this; `none`: no
    /// marks.
    #[param(default = None, range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "Linux sch_dualpi2, step_thresh")]
    pub mark_above_delay: Option<Span>,
    /// Queue discipline, per direction, instead of `queue`, `queue_bytes` and the marking thresholds; `none`: drop-tail
    /// with these.
    #[param(basic, default = None, unit = "1", source = "RFC 7567")]
    pub aqm: Option<aqm::Spec>,
    /// Queue discipline towards the server; `none`: see `queue_up`.
    #[param(default = None, unit = "1", source = "mahimahi mm-link, --uplink-queue")]
    pub aqm_up: Option<aqm::Spec>,
    /// Capacity of the transmit ring: packets that the interface takes from a queue discipline ahead of their
    /// transmission, per direction.
    #[param(expert, default = 0, range = 0..=100_000)]
    #[param(
        unit = "packets",
        source = "ns-3 reference run S5: 1, the device's queue; Linux: the driver's ring, byte queue limits"
    )]
    pub ring: u64,
    /// Loss model towards the UEs (data of downloads).
    #[param(basic)]
    #[param(default = loss::Spec::NoLoss(Default::default()), unit = "1", source = "ns-3 reference run S5")]
    pub loss: loss::Spec,
    /// Loss model towards the server (ACKs of downloads).
    #[param(default = loss::Spec::NoLoss(Default::default()))]
    #[param(unit = "1", source = "ns-3 reference runs S4 and S5")]
    pub loss_up: loss::Spec,
    /// Sharing of the link: one for all UEs, one per group, or one per UE.
    #[param(default = Sharing::All, unit = "1", source = "the scenario")]
    pub per: Sharing,
}

impl LinkSettings {
    /// Checks that a queue discipline is not combined with the drop-tail limits and marking thresholds.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.ring > 0 && self.aqm.is_none() && self.aqm_up.is_none() {
            return Err(("ring", "the ring takes packets from a queue discipline; set `aqm`".into()));
        }
        let others = [
            ("queue", self.queue.is_some()),
            ("queue_bytes", self.queue_bytes.is_some()),
            ("mark_above", self.mark_above.is_some()),
            ("mark_above_delay", self.mark_above_delay.is_some()),
        ];
        let others_up =
            [("queue_up", self.queue_up.is_some()), ("queue_bytes_up", self.queue_bytes_up.is_some())];
        check_alone("aqm", self.aqm.as_ref(), &others)?;
        check_alone("aqm_up", self.aqm_up.as_ref(), &others_up)?;
        let queue = [others[0], others[1], ("aqm", self.aqm.is_some())];
        let queue_up = [others_up[0], others_up[1], ("aqm_up", self.aqm_up.is_some())];
        check_limit("tbf", self.tbf.as_ref(), &queue)?;
        check_limit("tbf_up", self.tbf_up.as_ref(), &queue_up)
    }

    /// Returns the limit of a shaper that limits the queue of its direction itself.
    fn tbf_limit(&self, direction: Direction) -> Option<Bytes> {
        self.tbf(direction)?.limit
    }

    /// Returns the shaper of a direction.
    pub(crate) fn tbf(&self, direction: Direction) -> Option<&Tbf> {
        each(direction, &self.tbf, &self.tbf_up)
    }

    /// Returns the policer of a direction.
    pub(crate) fn police(&self, direction: Direction) -> Option<&Police> {
        each(direction, &self.police, &self.police_up)
    }

    /// Returns the impairments of a direction, which draw from this stream; `None`: there are none.
    pub(crate) fn impairments(&self, direction: Direction, stream: Stream) -> Option<Impairments> {
        let jitter = each(direction, &self.jitter, &self.jitter_up).or(self.jitter.as_ref());
        let reorder = each(direction, &self.reorder, &self.reorder_up);
        let duplicate = each(direction, &self.duplicate, &self.duplicate_up);
        Impairments::new(jitter, reorder, duplicate, stream)
    }

    /// Returns whether the queue towards the server is described separately.
    fn is_up_separate(&self) -> bool {
        self.queue_up.is_some() || self.queue_bytes_up.is_some() || self.aqm_up.is_some()
    }

    /// Returns the delay in a direction at the start.
    pub(crate) fn delay(&self, direction: Direction) -> Span {
        either(direction, self.delay, self.delay_up)
    }

    /// Returns the later delays in a direction, with the times from which they apply, in chronological order. `start`:
    /// end of the warm-up.
    pub(crate) fn reroutes(&self, direction: Direction, start: Time) -> Vec<(Time, Span)> {
        let later = self.reroute.iter();
        let mut later: Vec<_> = later
            .map(|change| (start + change.at, either(direction, change.delay, change.delay_up)))
            .collect();
        later.sort_by_key(|(at, _)| *at);
        later
    }

    /// Returns the limits of the drop-tail queue in a direction.
    pub(crate) fn queue(&self, direction: Direction) -> Queue {
        let limit = self.tbf_limit(direction);
        let (packets, bytes) = match direction {
            _ if limit.is_some() => (None, limit),
            Direction::Up if self.is_up_separate() => (self.queue_up, self.queue_bytes_up),
            _ if self.queue.is_none() && self.queue_bytes.is_none() => (Some(QUEUE), None),
            _ => (self.queue, self.queue_bytes),
        };
        Queue { packets, bytes, mark_above: self.mark_above, mark_above_delay: self.mark_above_delay }
    }

    /// Returns the queue discipline in a direction; `None`: drop-tail.
    pub(crate) fn discipline(&self, direction: Direction) -> Option<&aqm::Spec> {
        match direction {
            _ if self.tbf_limit(direction).is_some() => None,
            Direction::Up if self.is_up_separate() => self.aqm_up.as_ref(),
            _ => self.aqm.as_ref(),
        }
    }
}

/// Returns the value of a direction.
fn each<'a, T>(direction: Direction, down: &'a Option<T>, up: &'a Option<T>) -> Option<&'a T> {
    match direction {
        Direction::Down => down.as_ref(),
        Direction::Up => up.as_ref(),
    }
}

/// Checks that nothing else limits the queue of a shaper that has a limit.
fn check_limit(
    key: &str,
    tbf: Option<&Tbf>,
    others: &[(&'static str, bool)],
) -> Result<(), (&'static str, String)> {
    let is_limited = tbf.is_some_and(|tbf| tbf.limit.is_some());
    match others.iter().find(|(_, is_set)| *is_set && is_limited) {
        Some((other, _)) => {
            Err((*other, format!("not allowed with `{key}.limit`, the limit of the same queue")))
        }
        None => Ok(()),
    }
}

/// Returns the delay in a direction.
fn either(direction: Direction, delay: Span, delay_up: Option<Span>) -> Span {
    match direction {
        Direction::Down => delay,
        Direction::Up => delay_up.unwrap_or(delay),
    }
}

/// Checks that none of the other keys is set beside a queue discipline.
fn check_alone(
    key: &str,
    discipline: Option<&aqm::Spec>,
    others: &[(&'static str, bool)],
) -> Result<(), (&'static str, String)> {
    match (discipline, others.iter().find(|(_, is_set)| *is_set)) {
        (Some(discipline), Some((other, _))) => {
            let kind = discipline.kind();
            Err((*other, format!("not allowed with `{key}` = \"{kind}\"; set the parameters of \"{kind}\"")))
        }
        _ => Ok(()),
    }
}

/// A link of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Keys common to all kinds.
    pub settings: LinkSettings,
    /// Kind of the link and its parameters.
    pub kind: link::Spec,
}

impl Link {
    /// Returns the link trace that the link replays; `None`: it is of another kind.
    pub fn trace(&self) -> Option<&link::trace::Params> {
        match &self.kind {
            link::Spec::Trace(trace) => Some(trace),
            link::Spec::Wire(_) | link::Spec::Wifi(_) => None,
        }
    }

    /// Checks that the buckets hold a packet of 1500 B with the framing of the link.
    fn check_bursts(&self) -> Result<(), Fault> {
        let framing = match &self.kind {
            link::Spec::Wire(wire) => wire.framing,
            link::Spec::Trace(trace) => trace.framing,
            link::Spec::Wifi(_) => return Ok(()),
        };
        let settings = &self.settings;
        let bursts = [
            ("police.burst", settings.police.as_ref().map(|police| police.burst)),
            ("police_up.burst", settings.police_up.as_ref().map(|police| police.burst)),
            ("tbf.burst", settings.tbf.as_ref().map(|tbf| tbf.burst)),
            ("tbf_up.burst", settings.tbf_up.as_ref().map(|tbf| tbf.burst)),
        ];
        let min = SMALLEST_BURST + framing;
        match bursts.into_iter().find(|(_, burst)| burst.is_some_and(|burst| burst < min)) {
            Some((key, Some(burst))) => {
                let message = format!(
                    "{burst} is below {min}, a packet of {SMALLEST_BURST} with the link's framing of {framing}: no \
                     such packet would pass"
                );
                Err(Fault::new(key, message))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a shared medium has no keys that it does not support: a delay, a queue discipline, or a threshold on
    /// a queueing delay that is not known in advance.
    fn check_medium(&self) -> Result<(), Fault> {
        let link::Spec::Wifi(_) = self.kind else { return Ok(()) };
        let settings = &self.settings;
        let fail = |key: &str, message: &str| Err(Fault::new(key, message));
        if settings.delay != Span::ZERO {
            return fail("delay", "\"wifi\" has no propagation delay; add a \"wire\" link");
        }
        if settings.delay_up.is_some_and(|delay| delay != Span::ZERO) {
            return fail("delay_up", "\"wifi\" has no propagation delay; add a \"wire\" link");
        }
        for (key, is_set) in [
            ("jitter", settings.jitter.is_some()),
            ("jitter_up", settings.jitter_up.is_some()),
            ("reorder", settings.reorder.is_some()),
            ("reorder_up", settings.reorder_up.is_some()),
            ("duplicate", settings.duplicate.is_some()),
            ("duplicate_up", settings.duplicate_up.is_some()),
            ("police", settings.police.is_some()),
            ("police_up", settings.police_up.is_some()),
            ("tbf", settings.tbf.is_some()),
            ("tbf_up", settings.tbf_up.is_some()),
        ] {
            if is_set {
                return fail(key, "not allowed for \"wifi\", which is shared; add a \"wire\" link");
            }
        }
        if !settings.reroute.is_empty() {
            return fail("reroute", "\"wifi\" has no propagation delay; add a \"wire\" link");
        }
        if settings.aqm.is_some() {
            return fail("aqm", "\"wifi\" has a drop-tail queue at each station; use queue and mark_above");
        }
        if settings.is_up_separate() {
            return fail(
                "queue_up",
                "\"wifi\" has the same queue at each station and at the access point; use queue",
            );
        }
        if settings.mark_above_delay.is_some() {
            return fail(
                "mark_above_delay",
                "the queueing delay of \"wifi\" is not known in advance; use mark_above",
            );
        }
        Ok(())
    }
}

impl Param for Link {
    fn read(node: &Node) -> Result<Self, Error> {
        let shared = keys::<LinkSettings>();
        let own = own_table(node, &shared);
        let kind = read_kind(&own, "link", &link::Spec::kinds())?;
        let own_keys = link::Spec::keys(kind);
        let known: Vec<&str> = ["kind"].into_iter().chain(shared.iter().copied()).chain(own_keys).collect();
        Fields::of(node, &known, &[])?;
        let mut settings = LinkSettings::read(&node.entries(|key| shared.contains(&key)))?;
        let limits = [settings.queue.is_some(), settings.queue_bytes.is_some(), settings.aqm.is_some()];
        let has_tbf_limit = Direction::BOTH.iter().any(|direction| settings.tbf_limit(*direction).is_some());
        if !limits.contains(&true) && !has_tbf_limit {
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
            // The allowed keys are declared once, below.
            kind.as_object_mut().map(|kind| kind.remove("additionalProperties"));
            let by_default = kind["properties"]["kind"]["const"] == KIND;
            if let Some(required) = kind["required"].as_array_mut().filter(|_| by_default) {
                required.retain(|key| key != "kind");
            }
        }
        let kind = json!({
            "anyOf": [words], "default": KIND,
            "description": "Kind of the link; determines its additional keys. Source: airwnd.",
            "x-level": "basic",
        });
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.shift_insert(0, "kind".into(), kind);
        }
        schema.as_object_mut().map(|schema| schema.remove("additionalProperties"));
        schema["anyOf"] = kinds.into();
        schema["unevaluatedProperties"] = false.into();
        schema
    }

    fn complete(node: &mut Node, defaults: &Defaults) {
        if let Value::Table(_) = node.value {
            *node = own_table(node, &[]);
            LinkSettings::complete(node, defaults);
            link::Spec::complete(node, defaults);
        }
    }

    fn adopt(&mut self, own: Option<&Node>, quirks: &Defaults) -> Result<(), Error> {
        self.settings.adopt(own, quirks)?;
        self.kind.adopt(own, quirks)
    }

    fn check_values(&self) -> Result<(), Fault> {
        self.kind.check_values()?;
        self.settings.check_values()?;
        self.check_bursts()?;
        self.check_medium()
    }

    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        self.settings.read_files(files)?;
        self.kind.read_files(files)
    }
}

/// Returns the keys specific to the kind, and the kind itself, also if it is the default.
fn own_table(node: &Node, shared: &[&str]) -> Node {
    let mut own = node.entries(|key| !shared.contains(&key));
    if let Value::Table(entries) = &mut own.value
        && entries.iter().all(|(key, _)| key != "kind")
    {
        entries.push(("kind".into(), node.replaced(Value::Text(KIND.into()))));
    }
    own
}
