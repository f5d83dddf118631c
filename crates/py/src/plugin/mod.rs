//! Members of families that are implemented as Python classes.
//!
//! A [`Role`] connects the trait of a family with the class: it creates an object of the class, and translates calls,
//! events and answers. What all roles share is here: finding and loading a class, the time limit of a call, and errors
//! of one line.

mod congestion;
mod handover;
mod queue;
mod receiver;
mod scheduler;
mod traffic;

use congestion::{Ack, Congestion, Connection};
use handover::{CellMeasurement, HandoverEvent, HandoverReport, HandoverUe};
use queue::{Queue, QueuedPacket};
use receiver::{Arrival, Receiver, ReceiverState};
use scheduler::{SchedulerCarrier, SchedulerTti, SchedulerUe};
use traffic::TrafficFlow;

use crate::watch::{self, Watch};
use airwnd_catalog::outside::{Class, Failures, Family, Found, Registry};
use airwnd_catalog::{Error, Node};
use airwnd_lab::Plugins;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Characters of an invalid value shown in a message.
const SHOWN: usize = 40;

thread_local! {
    /// Exception raised by a plug-in; errors of the engine contain text only. A run with plug-ins stays on one thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Adds the classes that the methods of a plug-in get.
pub fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Ack>()?;
    module.add_class::<Arrival>()?;
    module.add_class::<CellMeasurement>()?;
    module.add_class::<Congestion>()?;
    module.add_class::<Connection>()?;
    module.add_class::<HandoverEvent>()?;
    module.add_class::<HandoverReport>()?;
    module.add_class::<HandoverUe>()?;
    module.add_class::<Queue>()?;
    module.add_class::<QueuedPacket>()?;
    module.add_class::<Receiver>()?;
    module.add_class::<ReceiverState>()?;
    module.add_class::<SchedulerCarrier>()?;
    module.add_class::<SchedulerTti>()?;
    module.add_class::<SchedulerUe>()?;
    module.add_class::<TrafficFlow>()
}

/// Returns the exception raised by a plug-in on this thread, and clears it.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// A family whose members may be Python classes.
pub trait Role: Family {
    /// Name of the family.
    const FAMILY: &'static str;

    /// Creates a member with an object of the class.
    fn begin(plugin: &Arc<Plugin>, ctx: &Self::Context, failures: &Failures) -> Result<Box<Self>, Error>;
}

/// Classes that a scenario names.
#[derive(Default)]
pub struct Named {
    /// Their names, in the order of the scenario.
    pub classes: Vec<String>,
    /// The first refusal to execute one without permission.
    pub refused: Option<Error>,
}

/// Makes the classes of all families available to a scenario, and notes those that it names.
pub fn register(plugins: &mut Plugins, named: &Arc<Mutex<Named>>, allow_code: bool) {
    register_role(&mut plugins.cc, named, allow_code);
    register_role(&mut plugins.rwnd, named, allow_code);
    register_role(&mut plugins.aqm, named, allow_code);
    register_role(&mut plugins.scheduler, named, allow_code);
    register_role(&mut plugins.handover, named, allow_code);
    register_role(&mut plugins.traffic, named, allow_code);
}

fn register_role<R: Role + ?Sized>(registry: &mut Registry<R>, named: &Arc<Mutex<Named>>, allow_code: bool) {
    let named = named.clone();
    registry.set_python(move |class, settings, node, folder| {
        let (found, refused) = find::<R>(class, settings, node, folder, allow_code)?;
        let mut named = named.lock().expect("never poisoned");
        named.classes.push(class.class.clone());
        named.refused = named.refused.take().or(refused);
        Ok(found)
    });
}

/// A class without its constructor.
struct Described {
    sha256: String,
    settings: Map<String, Value>,
    defaults: Map<String, Value>,
}

/// Finds a class with `airwnd.plugins.registry.find`. Loads it if permitted; otherwise returns an error with the reason.
fn find<R: Role + ?Sized>(
    class: &Class,
    settings: Map<String, Value>,
    node: &Node,
    folder: &Path,
    allow_code: bool,
) -> Result<(Found<R>, Option<Error>), Error> {
    Python::attach(|py| {
        let found = || -> PyResult<_> {
            let plugins = py.import("airwnd.plugins.registry")?;
            let settings = Value::from(settings).to_string();
            let arguments = (&class.class, &class.sha256, settings, folder, R::FAMILY);
            let plugin = plugins.call_method1("find", arguments)?;
            let refusal: Option<String> = plugin.call_method0("refusal")?.extract()?;
            let refused = refusal.filter(|_| !allow_code).map(|why| node.nearest("class").error(why));
            if refused.is_none() {
                load(py, &class.class, &plugin)?;
            }
            let sha256: String = plugin.getattr("sha256")?.extract()?;
            let table = |method| -> PyResult<Map<String, Value>> {
                let text: String = plugin.call_method0(method)?.extract()?;
                Ok(serde_json::from_str(&text).expect("written as a JSON object"))
            };
            let (settings, defaults) = (table("settings_json")?, table("defaults_json")?);
            Ok((Plugin::new(&plugin)?, Described { sha256, settings, defaults }, refused))
        };
        let (plugin, described, refused) = found().map_err(|raised| refusal(py, node, raised))?;
        let Described { sha256, settings, defaults } = described;
        let plugin = Arc::new(plugin);
        let make = Arc::new(move |ctx: &R::Context, failures: &Failures| R::begin(&plugin, ctx, failures));
        Ok((Found { sha256, settings, defaults, make }, refused))
    })
}

/// Loads the class within the time limit.
fn load(py: Python<'_>, name: &str, plugin: &Bound<'_, PyAny>) -> PyResult<()> {
    let watch = watch::current(py, name)?;
    let (loaded, late) = watch::call(py, watch.as_deref(), || plugin.call_method0("load"));
    match watch {
        Some(watch) if late => {
            // Place of the interruption.
            let place = loaded.err().and_then(|raised| raised.value(py).getattr("place").ok());
            let place = place.filter(|place| !place.is_none()).map_or_else(|| plugin.getattr("place"), Ok)?;
            let message = format!("{}: {}", place.str()?, watch.message());
            let refused = py.import("airwnd.plugins.registry")?.getattr("RefusedError")?;
            Err(PyErr::from_value(refused.call1(("class", message))?))
        }
        _ => loaded.map(drop),
    }
}

/// Converts an error of `airwnd.plugins.registry` to an error at the key that it names.
fn refusal(py: Python<'_>, node: &Node, raised: PyErr) -> Error {
    let value = raised.value(py);
    let key = value.getattr("key").and_then(|key| key.extract::<String>());
    let message = value.str().map_or_else(|_| raised.to_string(), |text| text.to_string());
    let error = match key.as_deref() {
        Ok(key @ ("class" | "sha256")) => node.nearest(key).error(message).within(key),
        Ok(key) => node.nearest(key).error(message),
        Err(_) => {
            RAISED.set(Some(raised));
            return node.error(message);
        }
    };
    RAISED.set(raised.cause(py));
    error
}

/// A plug-in class: an `airwnd.plugins.registry.Plugin`.
#[derive(Debug)]
pub struct Plugin {
    object: Py<PyAny>,
    class: String,
    place: String,
}

impl Plugin {
    fn new(plugin: &Bound<'_, PyAny>) -> PyResult<Plugin> {
        Ok(Plugin {
            object: plugin.clone().unbind(),
            class: plugin.getattr("name")?.extract()?,
            place: plugin.getattr("place")?.extract()?,
        })
    }

    /// Creates an object of the class. The time limit applies to its constructor.
    fn create<T>(
        &self,
        make: impl FnOnce(&Bound<'_, PyAny>, Option<Arc<Watch>>) -> Result<T, Wrong>,
    ) -> Result<T, Error> {
        Python::attach(|py| {
            let name = format!("{}: {}", self.place, self.class);
            let watch = watch::current(py, &name).map_err(|raised| self.error(py, "__init__", raised))?;
            self.call(py, watch.as_deref(), "__init__", || make(self.object.bind(py), watch.clone()))
        })
    }

    /// Calls a method of the class. Exceptions, invalid results and exceeding the time limit are errors.
    fn call<T>(
        &self,
        py: Python<'_>,
        watch: Option<&Watch>,
        method: &str,
        code: impl FnOnce() -> Result<T, Wrong>,
    ) -> Result<T, Error> {
        let call = || code().map_err(|why| self.wrong(py, method, why));
        match (watch::call(py, watch, call), watch) {
            ((result, true), Some(watch)) => {
                let line = result.err().and_then(|error| error.line());
                RAISED.set(None);
                Err(Error::new(&self.place, line, format!("{}.{method}: {}", self.class, watch.message())))
            }
            ((result, _), _) => result,
        }
    }

    /// Error for an exception raised by a method.
    fn error(&self, py: Python<'_>, method: &str, raised: PyErr) -> Error {
        let value = raised.clone_ref(py).into_value(py);
        let explained = self.object.bind(py).call_method1("explain", (value,));
        let (line, what) = explained
            .and_then(|explained| explained.extract::<(Option<usize>, String)>())
            .unwrap_or_else(|_| (None, raised.to_string()));
        RAISED.set(Some(raised));
        Error::new(&self.place, line, format!("{}.{method}: {what}", self.class))
    }

    /// Error for an exception or an invalid value.
    fn wrong(&self, py: Python<'_>, method: &str, why: Wrong) -> Error {
        match why {
            Wrong::Raised(raised) => self.error(py, method, raised),
            Wrong::Value(what) => Error::new(&self.place, None, format!("{}.{method}: {what}", self.class)),
        }
    }
}

/// An object of a class, without its methods. After a failure it is not called again.
#[derive(Clone, Debug)]
struct Object {
    plugin: Arc<Plugin>,
    watch: Option<Arc<Watch>>,
    failures: Failures,
}

impl Object {
    fn new(plugin: &Arc<Plugin>, watch: Option<Arc<Watch>>, failures: &Failures) -> Object {
        Object { plugin: plugin.clone(), watch, failures: failures.clone() }
    }

    /// Calls a method; `None`: it failed, or a plug-in has failed before, and the run ends.
    fn call<T>(&self, method: &str, code: impl FnOnce(Python<'_>) -> Result<T, Wrong>) -> Option<T> {
        if self.failures.first().is_some() {
            return None;
        }
        let called = Python::attach(|py| self.plugin.call(py, self.watch.as_deref(), method, || code(py)));
        called.map_err(|failure| self.failures.report(failure)).ok()
    }

    /// Calls a method that returns nothing, if the class has it.
    fn notify(
        &self,
        name: &str,
        method: Option<&Py<PyAny>>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, PyTuple>>,
    ) {
        let Some(method) = method else { return };
        self.call(name, |py| {
            let returned = method.bind(py).call1(arguments(py)?)?;
            match returned.is_none() {
                true => Ok(()),
                false => Err(Wrong::Value(format!("returns {}; it must return None", shown(&returned)))),
            }
        });
    }
}

/// Returns a method of an object that its base class defines as doing nothing; `None`: the class has none.
fn optional(class: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let is_defined: bool = class.call_method1("defines", (name,))?.extract()?;
    is_defined.then(|| object.getattr(name).map(Bound::unbind)).transpose()
}

enum Wrong {
    Raised(PyErr),
    Value(String),
}

impl From<PyErr> for Wrong {
    fn from(raised: PyErr) -> Wrong {
        Wrong::Raised(raised)
    }
}

/// Formats a value for messages.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| value.get_type().to_string(), |repr| repr.to_string());
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
