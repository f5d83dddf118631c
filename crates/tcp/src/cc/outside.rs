//! Congestion controls from outside the engine.
//!
//! A member of the family from outside is a head, which says where it comes from, and settings that only the plug-in
//! understands; [`Plugins`](super::plugins::Plugins) finds it.

use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, SenderContext};
use airwnd_catalog::{Error, Node, Param, ParamInfo, ParamSet};
use airwnd_units::{BitRate, Bytes};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::sync::Arc;

/// Makes a controller for each connection.
pub type Make = Arc<dyn Fn(&SenderContext) -> Result<Box<dyn CongestionControl>, Error> + Send + Sync>;

/// What says where a plug-in comes from.
pub trait Head: ParamSet + Clone {
    /// The plug-in, as messages name it.
    fn who(&self) -> String;
}

/// The parameters of a member from outside: its head, and settings that only the plug-in understands.
#[derive(Clone)]
pub struct Outside<H> {
    /// Where it comes from.
    pub head: H,
    /// Its own settings; with its defaults once it is found.
    pub settings: Map<String, Json>,
    make: Option<Make>,
}

impl<H> Outside<H> {
    /// A plug-in that is found.
    pub fn new(head: H, settings: Map<String, Json>, make: Make) -> Outside<H> {
        Outside { head, settings, make: Some(make) }
    }
}

impl<H: Head> Outside<H> {
    /// What the user wrote for the plug-in itself.
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

/// The keys of a member's table that are not its head's.
pub(super) fn own_settings<H: ParamSet>(node: &Node) -> Node {
    node.entries(|key| key != "kind" && !is_head::<H>(key))
}

/// The table that settings are.
pub(super) fn table(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(table) => table,
        other => unreachable!("settings are a table, not {other}"),
    }
}

/// A controller from outside: nothing that it does is taken on trust.
#[derive(Debug)]
pub struct Guarded {
    inner: Result<Box<dyn CongestionControl>, Error>,
    who: String,
    mss: Bytes,
    /// The last window that was in order.
    cwnd: Bytes,
}

impl Guarded {
    /// A controller at the beginning of a connection.
    pub fn new<H: Head>(params: Outside<H>, ctx: &SenderContext) -> Guarded {
        let who = params.head.who();
        let inner = match &params.make {
            Some(make) => make(ctx),
            None => Err(Error::new(&who, None, "it was read without the plug-ins that have it")),
        };
        let mut guarded = Guarded { inner, who, mss: ctx.mss, cwnd: ctx.mss };
        guarded.inspect("at the beginning");
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
            let message = format!("cwnd is {cwnd} {when}; it must be one segment ({}) at least", self.mss);
            self.inner = Err(Error::new(&self.who, None, message));
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

    fn wants_rates(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.wants_rates())
    }

    fn is_l4s(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.is_l4s())
    }

    fn failure(&self) -> Option<&Error> {
        self.inner.as_ref().err()
    }
}
