//! Congestion controls from outside the engine.
//!
//! An external member of the family consists of a head, which identifies the plug-in, and settings that only the
//! plug-in interprets. [`Plugins`](super::plugins::Plugins) resolves it.

use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, SenderContext};
use airwnd_catalog::{Error, Node, Param, ParamInfo, ParamSet};
use airwnd_units::{BitRate, Bytes};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::sync::Arc;

/// Constructor of a controller, called once per connection.
pub type Make = Arc<dyn Fn(&SenderContext) -> Result<Box<dyn CongestionControl>, Error> + Send + Sync>;

/// Identification of a plug-in in a scenario.
pub trait Head: ParamSet + Clone {
    /// Name of the plug-in in messages.
    fn label(&self) -> String;
}

/// Parameters of an external member: its head and the settings that only the plug-in interprets.
#[derive(Clone)]
pub struct Outside<H> {
    /// Identification of the plug-in.
    pub head: H,
    /// Settings of the plug-in, completed with its defaults once it is resolved.
    pub settings: Map<String, Json>,
    make: Option<Make>,
}

impl<H> Outside<H> {
    /// Creates the parameters of a resolved plug-in.
    pub fn new(head: H, settings: Map<String, Json>, make: Make) -> Outside<H> {
        Outside { head, settings, make: Some(make) }
    }
}

impl<H: Head> Outside<H> {
    /// Returns the plug-in's own settings from the table in the scenario.
    ///
    /// # Errors
    /// A number that is not finite.
    pub fn settings_of(node: &Node) -> Result<Map<String, Json>, Error> {
        own_settings::<H>(node).to_json().map(table)
    }
}

impl<H: fmt::Debug> fmt::Debug for Outside<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("head", &self.head).field("settings", &self.settings).finish()
    }
}

impl<H: PartialEq> PartialEq for Outside<H> {
    fn eq(&self, other: &Outside<H>) -> bool {
        self.head == other.head && self.settings == other.settings
    }
}

impl<H: Head> Param for Outside<H> {
    fn read(node: &Node) -> Result<Self, Error> {
        let head = H::read(&node.entries(is_head::<H>))?;
        let settings = Self::settings_of(node)?;
        Ok(Outside { head, settings, make: None })
    }

    fn to_json(&self) -> Json {
        let mut object = table(self.head.to_json());
        object.extend(self.settings.clone());
        object.into()
    }

    fn schema() -> Json {
        let mut schema = H::schema();
        schema["additionalProperties"] = true.into();
        schema
    }
}

impl<H: Head> ParamSet for Outside<H> {
    const DOC: &'static str = H::DOC;
    const SOURCE: &'static str = H::SOURCE;
    fn infos() -> Vec<ParamInfo> {
        H::infos()
    }
}

fn is_head<H: ParamSet>(key: &str) -> bool {
    H::infos().iter().any(|info| info.name == key)
}

/// Returns the keys of a member's table that do not belong to its head.
pub(super) fn own_settings<H: ParamSet>(node: &Node) -> Node {
    node.entries(|key| key != "kind" && !is_head::<H>(key))
}

/// Returns the table of a JSON object.
pub(super) fn table(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(table) => table,
        other => unreachable!("settings are a table, not {other}"),
    }
}

/// Wrapper of an external controller that checks its window and errors after every call.
#[derive(Debug)]
pub struct Guarded {
    inner: Result<Box<dyn CongestionControl>, Error>,
    label: String,
    mss: Bytes,
    /// Last valid window.
    cwnd: Bytes,
}

impl Guarded {
    /// Creates the controller of a new connection.
    pub fn new<H: Head>(params: Outside<H>, ctx: &SenderContext) -> Guarded {
        let label = params.head.label();
        let inner = match &params.make {
            Some(make) => make(ctx),
            None => Err(Error::new(&label, None, "the scenario was read without the registered plug-ins")),
        };
        let mut guarded = Guarded { inner, label, mss: ctx.mss, cwnd: ctx.mss };
        guarded.inspect("at connection start");
        guarded
    }

    fn call(&mut self, when: &str, call: impl FnOnce(&mut dyn CongestionControl)) {
        if let Ok(inner) = &mut self.inner {
            call(&mut **inner);
            self.inspect(when);
        }
    }

    fn inspect(&mut self, when: &str) {
        let Ok(inner) = &self.inner else { return };
        let cwnd = inner.cwnd();
        if let Some(failure) = inner.failure() {
            self.inner = Err(failure.clone());
        } else if cwnd < self.mss {
            let message = format!("cwnd is {cwnd} {when}; it must be at least one segment ({})", self.mss);
            self.inner = Err(Error::new(&self.label, None, message));
        } else {
            self.cwnd = cwnd;
        }
    }
}

impl CongestionControl for Guarded {
    fn on_ack(&mut self, ack: &Ack) {
        self.call("after on_ack", |inner| inner.on_ack(ack));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.call("after on_congestion", |inner| inner.on_congestion(event));
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.call("after on_delivery", |inner| inner.on_delivery(ack));
    }

    fn on_send(&mut self, departure: &Departure) {
        self.call("after on_send", |inner| inner.on_send(departure));
    }

    fn on_lost(&mut self, loss: &Loss) {
        self.call("after on_lost", |inner| inner.on_lost(loss));
    }

    fn on_spurious(&mut self, before: &Before) {
        self.call("after on_spurious", |inner| inner.on_spurious(before));
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.inner.as_ref().map_or(self.cwnd, |inner| inner.ssthresh())
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.call("after set_cwnd", |inner| inner.set_cwnd(cwnd));
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.inner.as_ref().ok()?.pacing_rate()
    }

    fn governs_recovery(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.governs_recovery())
    }

    fn send_buffer_windows(&self) -> u64 {
        self.inner.as_ref().map_or(2, |inner| inner.send_buffer_windows())
    }

    fn needs_rate_samples(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.needs_rate_samples())
    }

    fn is_l4s(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.is_l4s())
    }

    fn failure(&self) -> Option<&Error> {
        self.inner.as_ref().err()
    }
}
