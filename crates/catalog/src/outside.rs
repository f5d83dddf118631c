//! Members of families from outside the engine: classes in Python, types of other crates.
//!
//! A scenario names such a member by its head; all other keys of the table are settings that only the plug-in
//! interprets. A [`Registry`] resolves the head to a constructor when the scenario is read. A run attaches a slot for
//! the first [failure](Failures), which it watches.

use crate::{Error, Node, Param, ParamInfo, ParamSet, Params, unknown_word};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A family that plug-ins may belong to; the trait object of its members implements it.
pub trait Family: 'static {
    /// Arguments of a member's construction besides its parameters.
    type Context;

    /// A member in place of one that could not be created: the engine continues until the run notices the failure.
    fn substitute(ctx: &Self::Context) -> Box<Self>;

    /// Completes the member with this label, for example by checks of its answers.
    fn guarded(member: Box<Self>, _label: String, _ctx: &Self::Context, _failures: Failures) -> Box<Self> {
        member
    }
}

/// First failure of a plug-in in a run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Failures(Arc<OnceLock<Error>>);

impl Failures {
    /// Reports a failure; only the first one counts.
    pub fn report(&self, error: Error) {
        let _ = self.0.set(error);
    }

    /// The first failure.
    pub fn first(&self) -> Option<&Error> {
        self.0.get()
    }
}

/// Constructor of a member. Failures after its construction are reported to the last argument.
pub type Make<F> = Arc<dyn Fn(&<F as Family>::Context, &Failures) -> Result<Box<F>, Error> + Send + Sync>;

/// Identification of a plug-in in a scenario.
pub trait Head: ParamSet + Clone {
    /// Name of the plug-in in messages.
    fn label(&self) -> String;
    /// Name of the plug-in in the scenario.
    fn name(&self) -> &str;
}

/// A head that names a class in Python.
pub trait ClassHead: Head {
    /// The class.
    fn class(&self) -> Class;
    /// Sets the digest of its text.
    fn set_digest(&mut self, sha256: String);
}

/// Name of a class in Python, and the digest of its text.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the class")]
pub struct Class {
    /// The class: "file.py:Class", relative to the scenario's folder, "package.module:Class" or "Class".
    #[param(unit = "text", source = "the scenario")]
    pub class: String,
    /// Digest of the source text of the class and its bases. `none`: filled in when the scenario is read; a given value
    /// is compared.
    #[param(expert, default = None, unit = "text", source = "the class; FIPS 180-4")]
    pub sha256: Option<String>,
}

/// Name of a type of another crate.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the crate that registers it")]
pub struct Name {
    /// Name under which the plug-in is registered.
    #[param(unit = "text", source = "the scenario")]
    pub name: String,
}

impl Head for Class {
    fn label(&self) -> String {
        self.class.clone()
    }

    fn name(&self) -> &str {
        &self.class
    }
}

impl ClassHead for Class {
    fn class(&self) -> Class {
        self.clone()
    }

    fn set_digest(&mut self, sha256: String) {
        self.sha256 = Some(sha256);
    }
}

impl Head for Name {
    fn label(&self) -> String {
        format!("plug-in `{}`", self.name)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// A family with members of this head.
pub trait Described<H>: Family {
    /// Their description: a first line, a blank line, details.
    const DOC: &'static str;
}

/// Declares the member `plugin` of a family, a type of another crate: its noun, and its field in `Plugins`.
#[macro_export]
macro_rules! plugin {
    ($family:ty, $noun:literal, $field:literal) => {
        /// The name and the plug-in's own settings.
        pub type Params = $crate::outside::Outside<$crate::outside::Name, $family>;

        impl $crate::outside::Described<$crate::outside::Name> for $family {
            const DOC: &'static str = concat!(
                "Plugin: a ",
                $noun,
                " from an external crate, registered by the program that runs the scenario.\n\n",
                "The program registers it under `name` (`plugins.",
                $field,
                ".add`). All other keys are settings of the plug-in;\n",
                "docs/how-to/write-a-plugin.md has a complete example."
            );
        }
    };
}

/// Parameters of a member from outside: its head, and the settings that only the plug-in interprets.
pub struct Outside<H, F: Family + ?Sized> {
    /// Identification of the plug-in.
    pub head: H,
    /// Settings of the plug-in, completed with its defaults once it is resolved.
    pub settings: Map<String, Json>,
    /// Defaults of settings, once it is resolved.
    defaults: Map<String, Json>,
    make: Option<Make<F>>,
    /// Set in a run. Otherwise no code of the plug-in is executed.
    failures: Option<Failures>,
}

impl<H: Head, F: Family + ?Sized> Outside<H, F> {
    /// Name in results: that of the class or plug-in, with the settings that differ from its defaults. `whole`: with the
    /// file or module of a class.
    pub fn name(&self, whole: bool) -> String {
        let name = self.head.name();
        let name = if whole { name } else { name.rsplit(':').next().expect("a text has a last part") };
        let changed = self.settings.iter().filter(|(key, value)| self.defaults.get(*key) != Some(value));
        let text = |(key, value): (&String, &Json)| match value {
            Json::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        let changed: Vec<String> = changed.map(text).collect();
        if changed.is_empty() { name.into() } else { format!("{name}({})", changed.join(", ")) }
    }

    /// Creates the member.
    pub fn build(&self, ctx: &F::Context) -> Box<F> {
        let label = self.head.label();
        let (made, failures) = match (&self.make, self.failures.clone()) {
            (Some(make), Some(failures)) => (make(ctx, &failures), failures),
            (None, failures) => {
                let message = "the scenario was read without the registered plug-ins";
                (Err(Error::new(&label, None, message)), failures.unwrap_or_default())
            }
            (Some(_), None) => (Err(Error::new(&label, None, "there is no run")), Failures::default()),
        };
        match made {
            Ok(member) => F::guarded(member, label, ctx, failures),
            Err(failure) => {
                failures.report(failure);
                F::substitute(ctx)
            }
        }
    }

    /// Creates a member for properties that do not depend on a run, such as its needs.
    pub fn sample(&self, ctx: &F::Context) -> Box<F> {
        let made = self.make.as_ref().and_then(|make| make(ctx, &Failures::default()).ok());
        made.unwrap_or_else(|| F::substitute(ctx))
    }

    /// Returns the keys of a member's table that do not belong to its head.
    fn own(node: &Node) -> Node {
        node.entries(|key| key != "kind" && !is_head::<H>(key))
    }
}

/// A member from outside, of any family.
pub trait External {
    /// Reports failures from now on to the slot of a run.
    fn attach(&mut self, failures: &Failures);
}

impl<H: Head, F: Family + ?Sized> External for Outside<H, F> {
    fn attach(&mut self, failures: &Failures) {
        self.failures = Some(failures.clone());
    }
}

impl<H: Clone, F: Family + ?Sized> Clone for Outside<H, F> {
    fn clone(&self) -> Self {
        let Outside { head, settings, defaults, make, failures } = self;
        Outside {
            head: head.clone(),
            settings: settings.clone(),
            defaults: defaults.clone(),
            make: make.clone(),
            failures: failures.clone(),
        }
    }
}

impl<H: fmt::Debug, F: Family + ?Sized> fmt::Debug for Outside<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("head", &self.head).field("settings", &self.settings).finish()
    }
}

impl<H: PartialEq, F: Family + ?Sized> PartialEq for Outside<H, F> {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.settings == other.settings
    }
}

impl<H: Head, F: Family + ?Sized> Param for Outside<H, F> {
    fn read(node: &Node) -> Result<Self, Error> {
        let head = H::read(&node.entries(is_head::<H>))?;
        let settings = Self::own(node).to_json().map(table)?;
        Ok(Outside { head, settings, defaults: Map::new(), make: None, failures: None })
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

impl<H: Head, F: Described<H> + ?Sized> ParamSet for Outside<H, F> {
    const DOC: &'static str = F::DOC;
    const SOURCE: &'static str = H::SOURCE;
    fn infos() -> Vec<ParamInfo> {
        H::infos()
    }
}

fn is_head<H: ParamSet>(key: &str) -> bool {
    H::infos().iter().any(|info| info.name == key)
}

/// Returns the table of a JSON object.
fn table(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(table) => table,
        other => unreachable!("settings are a table, not {other}"),
    }
}

/// A class in Python that has been found.
pub struct Found<F: Family + ?Sized> {
    /// Digest of its source text.
    pub sha256: String,
    /// Its settings, completed with the defaults of its constructor.
    pub settings: Map<String, Json>,
    /// These defaults.
    pub defaults: Map<String, Json>,
    /// Constructor of its objects.
    pub make: Make<F>,
}

/// Finds a class, given its settings, the table in the scenario and the scenario's folder.
type FindClass<F> =
    Arc<dyn Fn(&Class, Map<String, Json>, &Node, &Path) -> Result<Found<F>, Error> + Send + Sync>;
/// Reads the settings of a registered plug-in from a table, and returns them, all defaults, and the constructor.
type ReadNamed<F> =
    Arc<dyn Fn(&Node) -> Result<(Map<String, Json>, Map<String, Json>, Make<F>), Error> + Send + Sync>;

/// The registry of a family, by the box of its members.
pub type RegistryOf<B> = Registry<<B as Deref>::Target>;

/// Members of a family that the caller has registered.
pub struct Registry<F: Family + ?Sized> {
    named: Vec<(String, ReadNamed<F>)>,
    python: Option<FindClass<F>>,
}

impl<F: Family + ?Sized> Default for Registry<F> {
    fn default() -> Self {
        Registry { named: Vec::new(), python: None }
    }
}

impl<F: Family + ?Sized> Clone for Registry<F> {
    fn clone(&self) -> Self {
        Registry { named: self.named.clone(), python: self.python.clone() }
    }
}

impl<F: Family + ?Sized> Registry<F> {
    /// Registers a member as `{kind = "plugin", name = "...", ...}`. `make` creates it from the settings in the
    /// scenario.
    ///
    /// # Panics
    /// If the name is already registered.
    pub fn add<P, M>(&mut self, name: &str, make: M)
    where
        P: ParamSet + Send + Sync + 'static,
        M: Fn(&P, &F::Context) -> Result<Box<F>, Error> + Send + Sync + 'static,
    {
        assert!(self.named.iter().all(|(taken, _)| taken != name), "two plug-ins are called `{name}`");
        let make = Arc::new(make);
        let read = move |node: &Node| {
            let params = P::read(node)?;
            let (make, settings) = (make.clone(), table(params.to_json()));
            let make: Make<F> = Arc::new(move |ctx, _| make(&params, ctx));
            let defaults = P::infos().into_iter().filter_map(|info| Some((info.name.into(), info.default?)));
            Ok((settings, defaults.collect(), make))
        };
        self.named.push((name.into(), Arc::new(read)));
    }

    /// Sets the function that finds a class written in Python.
    pub fn set_python<P>(&mut self, find: P)
    where
        P: Fn(&Class, Map<String, Json>, &Node, &Path) -> Result<Found<F>, Error> + Send + Sync + 'static,
    {
        self.python = Some(Arc::new(find));
    }
}

/// A member from outside that a registry can resolve.
pub trait Linked<F: Family + ?Sized> {
    /// Resolves its constructor. `node` is the table in the scenario, `folder` the folder that relative paths refer to.
    ///
    /// # Errors
    /// There is no such plug-in, or it rejects its settings.
    fn link(&mut self, node: &Node, folder: &Path, plugins: &Registry<F>) -> Result<(), Error>;
}

impl<F: Family + ?Sized> Linked<F> for Outside<Name, F> {
    fn link(&mut self, node: &Node, _folder: &Path, plugins: &Registry<F>) -> Result<(), Error> {
        let name = &self.head.name;
        let Some((_, read)) = plugins.named.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = plugins.named.iter().map(|(known, _)| known.as_str()).collect();
            let message = match known[..] {
                [] => format!("no plug-in `{name}`: none is registered with this program"),
                _ => unknown_word("plug-in", name, &known),
            };
            return Err(node.nearest("name").error(message).within("name"));
        };
        let (settings, defaults, make) = read(&Self::own(node))?;
        (self.settings, self.defaults, self.make) = (settings, defaults, Some(make));
        Ok(())
    }
}

impl<H: ClassHead, F: Family + ?Sized> Linked<F> for Outside<H, F> {
    fn link(&mut self, node: &Node, folder: &Path, plugins: &Registry<F>) -> Result<(), Error> {
        let Some(find) = &plugins.python else {
            return Err(node.error("`python` needs Python: use `airwnd run` or the package `airwnd`"));
        };
        let settings = Self::own(node).to_json().map(table)?;
        let found = find(&self.head.class(), settings, node, folder)?;
        self.head.set_digest(found.sha256);
        (self.settings, self.defaults, self.make) = (found.settings, found.defaults, Some(found.make));
        Ok(())
    }
}
