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
use pyo3::call::PyCallArgs;
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

/// Makes the classes of all families available to a scenario, and lists those that it names, in its order.
pub fn register(plugins: &mut Plugins, named: &Arc<Mutex<Vec<String>>>) {
    register_role(&mut plugins.cc, named);
    register_role(&mut plugins.rwnd, named);
    register_role(&mut plugins.aqm, named);
    register_role(&mut plugins.scheduler, named);
    register_role(&mut plugins.handover, named);
    register_role(&mut plugins.traffic, named);
}

fn register_role<R: Role + ?Sized>(registry: &mut Registry<R>, named: &Arc<Mutex<Vec<String>>>) {
    let named = named.clone();
    registry.set_python(move |class, settings, node, folder| {
        let found = find::<R>(class, settings, node, folder)?;
        named.lock().expect("never poisoned").push(class.class.clone());
        Ok(found)
    });
}

/// Finds a class.
fn find<R: Role + ?Sized>(
    class: &Class,
    settings: Map<String, Value>,
    node: &Node,
    folder: &Path,
) -> Result<Found<R>, Error> {
    Python::attach(|py| {
        let found = || -> PyResult<_> {
            let arguments =
                (&class.class, &class.sha256, Value::from(settings).to_string(), folder, R::FAMILY);
            let plugin = load(py, &class.class, arguments)?;
            let sha256: String = plugin.getattr("sha256")?.extract()?;
            let table = |method| -> PyResult<Map<String, Value>> {
                let text: String = plugin.call_method0(method)?.extract()?;
                Ok(serde_json::from_str(&text).expect("written as a JSON object"))
            };
            let (settings, defaults) = (table("settings_json")?, table("defaults_json")?);
            Ok((Arc::new(Plugin::new(&plugin)?), sha256, settings, defaults))
        };
        let (plugin, sha256, settings, defaults) = found().map_err(|raised| refusal(py, node, raised))?;
        let make = Arc::new(move |ctx: &R::Context, failures: &Failures| R::begin(&plugin, ctx, failures));
        Ok(Found { sha256, settings, defaults, make })
    })
}

/// Calls `airwnd.plugins.registry.find`, which executes the code of the class if it is permitted. The time limit
/// applies.
fn load<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    let registry = py.import("airwnd.plugins.registry")?;
    let watch = watch::current(py, class)?;
    match (watch::call(py, watch.as_deref(), || registry.call_method1("find", arguments)), watch) {
        ((found, true), Some(watch)) => {
            // Place of the interruption.
            let place = found.err().and_then(|raised| raised.value(py).getattr("place").ok()?.extract().ok());
            let place: String = place.unwrap_or_else(|| class.into());
            let message = format!("{place}: {}", watch.message());
            Err(PyErr::from_value(registry.getattr("RefusedError")?.call1(("class", message))?))
        }
        ((found, _), _) => found,
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
