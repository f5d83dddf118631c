//! Simulations that Python code owns and advances.

use crate::arguments::input_error;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A simulation until it is finished. Calls from another thread while it advances are refused, since waiting for it
/// could wait for the interpreter's lock, too.
pub struct Owned<T> {
    /// `None`: finished.
    inner: Mutex<Option<T>>,
    /// Name in messages.
    name: &'static str,
}

impl<T> Owned<T> {
    pub fn new(name: &'static str, inner: T) -> Owned<T> {
        Owned { inner: Mutex::new(Some(inner)), name }
    }

    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<T>>> {
        let refused = |what: &str| input_error(py, &format!("the {} {what}", self.name));
        self.inner.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => refused("is advanced by another thread"),
            TryLockError::Poisoned(_) => refused("has ended with an error"),
        })
    }

    pub fn finished(&self, py: Python<'_>) -> PyErr {
        input_error(py, &format!("the {} is finished", self.name))
    }

    /// Calls a function with the simulation.
    pub fn with<R>(&self, py: Python<'_>, call: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
        match &mut *self.lock(py)? {
            Some(inner) => call(inner),
            None => Err(self.finished(py)),
        }
    }

    /// Takes the simulation to finish it.
    pub fn take(&self, py: Python<'_>) -> PyResult<T> {
        self.lock(py)?.take().ok_or_else(|| self.finished(py))
    }
}
