//! Congestion controls from outside the engine.
//!
//! A caller registers them in [`Plugins`] and hands these over when a scenario is read. The scenario's
//! settings are then read by the plug-in itself, so that a mistake in them is told with file, line and key.
//!
//! ```
//! use airwnd_catalog::{Node, Param, Params};
//! use airwnd_tcp::cc::{SenderContext, Spec, newreno, outside::Plugins};
//! use std::path::Path;
//!
//! /// Half: NewReno that keeps half of what NewReno keeps.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "nobody")]
//! pub struct Params {
//!     /// Part of the flight that is kept at a loss.
//!     #[param(default = 0.25, range = 0.01..=0.99, unit = "1", source = "nobody")]
//!     pub keep: f64,
//! }
//!
//! let mut plugins = Plugins::default();
//! plugins.add("half", |params: &Params, ctx: &SenderContext| {
//!     let params = newreno::Params { beta: params.keep, ..Default::default() };
//!     Ok(Box::new(newreno::Newreno::new(params, ctx)))
//! });
//! let node = Node::from_toml("kind = \"plugin\"\nname = \"half\"\nkeep = 2.0", "s.toml").unwrap();
//! let error = Spec::read(&node).unwrap().link(&node, Path::new(""), &plugins).unwrap_err();
//! assert_eq!(error.to_string(), "s.toml:3: keep: 2.0 is outside 0.01..0.99");
//! ```

use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, SenderContext, plugin, python};
use airwnd_catalog::{Error, Node, Param, ParamInfo, ParamSet, unknown_word};
use airwnd_units::{BitRate, Bytes};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Makes a controller for each connection.
pub type Make = Arc<dyn Fn(&SenderContext) -> Result<Box<dyn CongestionControl>, Error> + Send + Sync>;

/// Finds a plug-in: from its head, the table that the user wrote, and the scenario's folder.
type Find<H> = Arc<dyn Fn(&H, &Node, &Path) -> Result<Outside<H>, Error> + Send + Sync>;

/// The congestion controls that a caller brings along.
#[derive(Clone, Default)]
pub struct Plugins {
    named: Vec<(String, Find<plugin::Head>)>,
    python: Option<Find<python::Head>>,
}

impl Plugins {
    /// Registers a controller as `{kind = "plugin", name = "...", ...}`: what makes it for a connection from
    /// the settings that a scenario has for it.
    ///
    /// # Panics
    /// If the name is taken.
    pub fn add<P, F>(&mut self, name: &str, make: F)
    where
        P: ParamSet + Send + Sync + 'static,
        F: Fn(&P, &SenderContext) -> Result<Box<dyn CongestionControl>, Error> + Send + Sync + 'static,
    {
        assert!(self.named.iter().all(|(taken, _)| taken != name), "two plug-ins are called `{name}`");
        let make = Arc::new(make);
        let find = move |head: &plugin::Head, node: &Node, _: &Path| {
            let params = P::read(&own_settings::<plugin::Head>(node))?;
            let make = make.clone();
            let settings = table(params.to_json());
            Ok(Outside::new(head.clone(), settings, Arc::new(move |ctx| make(&params, ctx))))
        };
        self.named.push((name.into(), Arc::new(find)));
    }

    /// Says how a class written in Python is found.
    pub fn set_python<F>(&mut self, find: F)
    where
        F: Fn(&python::Head, &Node, &Path) -> Result<Outside<python::Head>, Error> + Send + Sync + 'static,
    {
        self.python = Some(Arc::new(find));
    }

    pub(super) fn find_plugin(
        &self,
        head: &plugin::Head,
        node: &Node,
        folder: &Path,
    ) -> Result<plugin::Params, Error> {
        if let Some((_, find)) = self.named.iter().find(|(known, _)| *known == head.name) {
            return find(head, node, folder);
        }
        let known: Vec<&str> = self.named.iter().map(|(known, _)| known.as_str()).collect();
        let message = match known[..] {
            [] => format!("no plug-in `{}`: none is registered with this program", head.name),
            _ => unknown_word("plug-in", &head.name, &known),
        };
        Err(node.nearest("name").error(message).within("name"))
    }

    pub(super) fn find_python(
        &self,
        head: &python::Head,
        node: &Node,
        folder: &Path,
    ) -> Result<python::Params, Error> {
        match &self.python {
            Some(find) => find(head, node, folder),
            None => Err(node.error("`python` needs Python: use `airwnd run` or the package `airwnd`")),
        }
    }
}

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

fn own_settings<H: ParamSet>(node: &Node) -> Node {
    node.entries(|key| key != "kind" && !is_head::<H>(key))
}

fn table(json: Json) -> Map<String, Json> {
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
