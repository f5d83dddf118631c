//! Place of a panic in the engine. The message reaches Python as an exception, so nothing is printed.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

static SHOWN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Suppresses the message of panics and stores their place instead.
pub fn silence() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PLACE.set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
        if SHOWN.load(Ordering::Relaxed) {
            print(info);
        }
    }));
}

/// Prints panics to standard error, too.
#[pyfunction]
pub fn show_panics() {
    SHOWN.store(true, Ordering::Relaxed);
}

/// Returns file and line of the last panic of this thread, and clears them.
#[pyfunction]
pub fn panic_place() -> Option<String> {
    PLACE.take()
}
