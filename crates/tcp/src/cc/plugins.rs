//! Registry of congestion controls from outside the engine.
//!
//! A caller registers them in [`Plugins`] and passes the registry when a scenario is read. The plug-in itself reads its
//! settings from the scenario, so that an error message names file, line and key.
//!
//! ```
//! use airwnd_catalog::{Node, Param, Params};
//! use airwnd_tcp::cc::{SenderContext, Spec, newreno, plugins::Plugins};
//! use std::path::Path;
//! /// Half: NewReno that keeps a quarter of the bytes in flight at a congestion event.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "an example")]
//! pub struct Params {
//!     /// Fraction of the bytes in flight kept at a congestion event.
//!     #[param(default = 0.25, range = 0.01..=0.99, unit = "1", source = "an example")]
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

use super::outside::{Outside, own_settings, table};
use super::{CongestionControl, SenderContext, plugin, python};
use airwnd_catalog::{Error, Node, ParamSet, unknown_word};
use std::path::Path;
use std::sync::Arc;

/// Resolves a plug-in from its head, the table in the scenario and the scenario's folder.
type Find<H> = Arc<dyn Fn(&H, &Node, &Path) -> Result<Outside<H>, Error> + Send + Sync>;

/// Congestion controls registered by the caller.
#[derive(Clone, Default)]
pub struct Plugins {
    named: Vec<(String, Find<plugin::Head>)>,
    python: Option<Find<python::Head>>,
}

impl Plugins {
    /// Registers a controller as `{kind = "plugin", name = "...", ...}`. `make` creates the controller of a connection
    /// from the settings in the scenario.
    ///
    /// # Panics
    /// If the name is already registered.
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

    /// Sets the function that resolves a class written in Python.
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
