//! JavaScript classes. An error is thrown as its line of text.

#![allow(unsafe_code, reason = "wasm-bindgen generates it")]

use airwnd_catalog::Error;
use airwnd_lab::{Column, Table};
use airwnd_page::{Checked, Session};
use airwnd_units::{Bytes, Span};
use js_sys::{Array, Float64Array, Object, Reflect, Uint32Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A checked scenario.
#[wasm_bindgen(js_name = Scenario)]
pub struct JsScenario(Checked);

/// A simulation that advances in steps.
#[wasm_bindgen(js_name = Session)]
pub struct JsSession(Session);

fn thrown(error: Error) -> JsValue {
    JsValue::from_str(&error.to_string())
}

#[wasm_bindgen(js_class = Scenario)]
impl JsScenario {
    /// Reads a scenario; `overrides` has keys and values in turn.
    #[wasm_bindgen(constructor)]
    pub fn new(toml: &str, overrides: Vec<String>) -> Result<JsScenario, JsValue> {
        let pairs: Vec<_> =
            overrides.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Checked::new(toml, &pairs).map(JsScenario).map_err(thrown)
    }

    /// Seed that the scenario states. Seeds of pages are numbers of JavaScript, which are exact to 2^53.
    pub fn seed(&self) -> f64 {
        self.0.seed() as f64
    }

    /// All values, defaults included, as JSON.
    pub fn resolved(&self) -> String {
        self.0.resolved()
    }

    /// Values that the scenario writes, as JSON.
    pub fn written(&self) -> Result<String, JsValue> {
        self.0.written().map_err(thrown)
    }

    /// Cells, by columns.
    pub fn cells(&self) -> Object {
        columns(self.0.cells())
    }

    /// Begins a simulation. An interval of zero records no time series; `watched` is the UE whose packets are recorded.
    pub fn begin(
        &self,
        seed: f64,
        interval_ms: f64,
        max_memory: f64,
        watched: Option<u32>,
    ) -> Result<JsSession, JsValue> {
        let interval = (interval_ms > 0.0).then(|| milliseconds(interval_ms));
        let memory = Bytes(max_memory as u64);
        self.0.begin(seed as u64, interval, memory, watched).map(JsSession).map_err(thrown)
    }
}

#[wasm_bindgen(js_class = Session)]
impl JsSession {
    /// Executes the events of this much time. Returns whether the scenario has ended.
    pub fn advance(&mut self, ms: f64) -> Result<bool, JsValue> {
        self.0.advance(milliseconds(ms)).map_err(thrown)
    }

    /// Present in seconds.
    #[wasm_bindgen(getter)]
    pub fn now(&self) -> f64 {
        self.0.now_s()
    }

    /// Duration of a TTI in milliseconds.
    #[wasm_bindgen(getter)]
    pub fn tti(&self) -> f64 {
        self.0.tti_ms()
    }

    /// Rows of the time series since the last call, by columns.
    pub fn series(&mut self) -> Object {
        columns(self.0.series())
    }

    /// Events since the last call, by columns.
    pub fn events(&mut self) -> Object {
        columns(self.0.events())
    }

    /// Downlink transmissions since the last call, by columns.
    pub fn allocations(&mut self) -> Object {
        columns(self.0.allocations())
    }

    /// Stages of the watched UE's packets since the last call, by columns.
    pub fn packets(&self) -> Object {
        columns(self.0.packets())
    }

    /// Transmissions of the watched UE's transport blocks since the last call, by columns.
    pub fn blocks(&self) -> Object {
        columns(self.0.blocks())
    }

    /// Sets a value of a flow or UE by its number, as [`Session::set`].
    pub fn set(&mut self, what: &str, number: u32, value: f64) -> Result<(), JsValue> {
        self.0.set(what, number, value).map_err(thrown)
    }

    /// Flows, as JSON.
    pub fn flows(&self) -> String {
        self.0.flows()
    }

    /// State of the UEs, six numbers for each.
    pub fn ues(&mut self) -> Float64Array {
        Float64Array::from(self.0.ues().as_slice())
    }

    /// Use of the cells, two numbers for each.
    pub fn cells(&self) -> Float64Array {
        Float64Array::from(self.0.cells().as_slice())
    }

    /// Ends the simulation and returns its results as JSON.
    pub fn finish(self) -> String {
        self.0.finish()
    }
}

/// Members of a family of algorithms, as JSON.
#[wasm_bindgen]
pub fn describe(family: &str) -> String {
    airwnd_page::describe(family)
}

/// Installs a hook that passes the message of a panic to `report`, before the instance traps.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(report: js_sys::Function) {
    let report = SendFunction(report);
    std::panic::set_hook(Box::new(move |panic| {
        let _ = report.call(&panic.to_string());
    }));
}

/// A function of JavaScript; a module without threads never moves it.
struct SendFunction(js_sys::Function);

// SAFETY: the module has one thread.
unsafe impl Send for SendFunction {}
// SAFETY: the module has one thread.
unsafe impl Sync for SendFunction {}

impl SendFunction {
    fn call(&self, text: &str) -> Result<JsValue, JsValue> {
        self.0.call1(&JsValue::NULL, &JsValue::from_str(text))
    }
}

fn milliseconds(ms: f64) -> Span {
    // Values that are no numbers become zero, and those that are too large the largest.
    Span((ms * 1e6).round() as u64)
}

/// Converts a table to an object of typed arrays; a column of words becomes indices and a list of words.
fn columns(table: Table) -> Object {
    let object = Object::new();
    for (name, column) in table {
        let value: JsValue = match column {
            Column::F64(values) => Float64Array::from(values.as_slice()).into(),
            Column::U32(values) => Uint32Array::from(values.as_slice()).into(),
            Column::Words(places, words) => {
                let words: Array = words.iter().map(|word| JsValue::from_str(word)).collect();
                Array::of2(&Uint32Array::from(places.as_slice()), &words).into()
            }
        };
        Reflect::set(&object, &JsValue::from_str(&name), &value).expect("a plain object has no setters");
    }
    object
}
