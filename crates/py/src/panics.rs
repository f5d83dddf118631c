//! Where the engine panicked. The message itself reaches Python as an exception, so nothing is printed.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

static SHOWN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Replaces the message that a panic prints by a note of its place.
pub fn silence() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PLACE.set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
        if SHOWN.load(Ordering::Relaxed) {
            print(info);
        }
    }));
}

/// Prints panics on the standard error as well.
#[pyfunction]
pub fn show_panics() {
    SHOWN.store(true, Ordering::Relaxed);
}

/// File and line of the last panic of this thread, once.
#[pyfunction]
pub fn panic_place() -> Option<String> {
    PLACE.take()
}
