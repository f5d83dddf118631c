//! Checks of arguments whose types PyO3 has converted.

use pyo3::prelude::*;

/// Maximum of a number of bytes or bits per second: floats represent integers exactly up to this value.
const LARGEST: f64 = (1_u64 << 53) as f64;

/// Converts a number that an argument gives in this unit.
pub fn quantity(py: Python<'_>, name: &str, value: f64, min: f64, unit: &str) -> PyResult<u64> {
    match (min..=LARGEST).contains(&value) {
        true => Ok(value.round() as u64),
        false => {
            Err(input_error(py, &format!("{name} must be a number of {unit}, at least {min}, not {value}")))
        }
    }
}

pub fn input_error(py: Python<'_>, message: &str) -> PyErr {
    let class = py.import("airwnd.support.errors").and_then(|errors| errors.getattr("InputError"));
    class.and_then(|class| class.call1((message,))).map_or_else(|error| error, PyErr::from_value)
}
