//! A limit on the wall-clock time of each call of a plug-in.
//!
//! A call costs two stores to an atomic counter; only the watching thread reads a clock. It raises
//! [`CallTimeout`] in the thread that hangs. Code that does not return to the interpreter cannot be interrupted that way;
//! a process that belongs to airwnd (the command line, a worker) then ends.

use pyo3::create_exception;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::ffi::c_long;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

create_exception!(
    airwnd._native,
    CallTimeout,
    PyBaseException,
    "Raised inside a call of a plug-in that exceeds its time limit."
);

/// How the process ends when a plug-in cannot be interrupted: its exit code, and whether it says why; `None`: it goes on.
static ENDING: Mutex<Option<(i32, bool)>> = Mutex::new(None);

/// Ends this process with an exit code when a plug-in can be interrupted in no other way, with one line on the standard
/// error if `message` is set. For processes that belong to airwnd only.
#[pyfunction]
pub fn end_when_stuck(code: i32, message: bool) {
    *ENDING.lock().expect("never poisoned") = Some((code, message));
}

thread_local! {
    static SCOPE: RefCell<State> = const { RefCell::new(State::Unlimited) };
}

/// What holds for calls by a thread.
#[derive(Clone)]
enum State {
    /// They may take any time.
    Unlimited,
    /// They may take this long; none has been made yet.
    Limited(Duration),
    /// They are watched.
    Watched(Arc<Watch>),
}

/// The calls that one thread makes within a scope.
#[derive(Debug)]
pub struct Watch {
    /// The time that a call may take.
    pub limit: Duration,
    /// The calling thread, as Python numbers threads.
    thread: c_long,
    /// Calls begun plus calls ended: odd during a call. Changed with the GIL held.
    steps: AtomicU64,
    /// Whether the current call has exceeded its limit. Changed with the GIL held.
    late: AtomicBool,
    /// The plug-ins that are called, as messages name them.
    names: Mutex<Vec<String>>,
    closed: Mutex<bool>,
    close: Condvar,
}

/// A scope in which calls made by this thread have a limit; holds what was there before.
pub struct Scope(State);

impl Scope {
    /// Sets the limit for calls by this thread until the scope ends; `None`: no limit.
    pub fn open(limit: Option<Duration>) -> Scope {
        Scope(SCOPE.replace(limit.map_or(State::Unlimited, State::Limited)))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let State::Watched(watch) = SCOPE.replace(std::mem::replace(&mut self.0, State::Unlimited)) {
            *watch.closed.lock().expect("never poisoned") = true;
            watch.close.notify_all();
        }
    }
}

/// The watch over calls by this thread, if they have a limit; `name` is the plug-in to be called.
pub fn current(py: Python<'_>, name: &str) -> PyResult<Option<Arc<Watch>>> {
    let watch = match SCOPE.with_borrow(Clone::clone) {
        State::Unlimited => return Ok(None),
        State::Limited(limit) => {
            let watch = Watch::start(py, limit)?;
            SCOPE.set(State::Watched(watch.clone()));
            watch
        }
        State::Watched(watch) => watch,
    };
    let mut names = watch.names.lock().expect("never poisoned");
    if !names.iter().any(|known| known == name) {
        names.push(name.into());
    }
    drop(names);
    Ok(Some(watch))
}

/// Calls Python code; the flag says whether it exceeded the limit, in which case its result counts for nothing.
pub fn call<T>(py: Python<'_>, watch: Option<&Watch>, code: impl FnOnce() -> T) -> (T, bool) {
    let Some(watch) = watch else { return (code(), false) };
    let step = watch.steps.load(Ordering::Relaxed);
    watch.steps.store(step + 1, Ordering::Relaxed);
    let result = code();
    watch.steps.store(step + 2, Ordering::Relaxed);
    let late = watch.late.load(Ordering::Relaxed);
    if late {
        watch.late.store(false, Ordering::Relaxed);
        // The exception may still be pending, if the call returned before it was delivered.
        watch.raise(py, None);
    }
    (result, late)
}

impl Watch {
    /// Starts the thread that watches calls by this one.
    fn start(py: Python<'_>, limit: Duration) -> PyResult<Arc<Watch>> {
        let watch = Arc::new(Watch {
            limit,
            thread: py.import("threading")?.call_method0("get_ident")?.extract::<u64>()? as c_long,
            steps: AtomicU64::new(0),
            late: AtomicBool::new(false),
            names: Mutex::default(),
            closed: Mutex::new(false),
            close: Condvar::new(),
        });
        let watching = watch.clone();
        thread::Builder::new().name("airwnd-watch".into()).spawn(move || watching.watch())?;
        Ok(watch)
    }

    /// Looks at the counter now and then until the scope ends.
    fn watch(self: Arc<Self>) {
        let tick = (self.limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(250));
        let mut seen = 0;
        let mut waited = Duration::ZERO;
        let mut interruptions = 0;
        let mut closed = self.closed.lock().expect("never poisoned");
        loop {
            let before = Instant::now();
            closed = self.close.wait_timeout(closed, tick).expect("never poisoned").0;
            if *closed {
                return;
            }
            let steps = self.steps.load(Ordering::Relaxed);
            if steps != seen || steps.is_multiple_of(2) {
                (seen, waited, interruptions) = (steps, Duration::ZERO, 0);
                continue;
            }
            // A process that was stopped or starved has not been waiting for the call all that time.
            waited += before.elapsed().min(2 * tick);
            if waited < self.limit {
                continue;
            }
            if interruptions > 0 {
                self.end_process();
            }
            (waited, interruptions) = (Duration::ZERO, interruptions + 1);
            // In a thread of its own: a call that keeps the GIL would block this one.
            let watch = self.clone();
            thread::spawn(move || watch.interrupt(seen));
        }
    }

    /// Interrupts the call that the counter stood at, unless it has ended.
    fn interrupt(&self, seen: u64) {
        Python::attach(|py| {
            if self.steps.load(Ordering::Relaxed) == seen {
                self.late.store(true, Ordering::Relaxed);
                self.raise(py, Some(&py.get_type::<CallTimeout>()));
            }
        });
    }

    /// Makes the interpreter raise an exception in the watched thread; `None` withdraws one that is pending.
    #[allow(unsafe_code, reason = "PyO3 has no safe function for it")]
    fn raise(&self, _: Python<'_>, exception: Option<&Bound<'_, PyAny>>) {
        let exception = exception.map_or(std::ptr::null_mut(), |class| class.as_ptr());
        // SAFETY: the GIL is held, and the function takes a reference of its own to the class.
        unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(self.thread, exception) };
    }

    /// Ends the process, if it belongs to airwnd.
    #[allow(unsafe_code, reason = "the interpreter cannot be shut down while a thread keeps the GIL")]
    fn end_process(&self) {
        let Some((code, message)) = *ENDING.lock().expect("never poisoned") else { return };
        if message {
            let mut stderr = std::io::stderr();
            // A progress bar hides the cursor.
            let show_cursor = if stderr.is_terminal() { "\r\x1b[?25h" } else { "" };
            let names = self.names.lock().expect("never poisoned").join(" or ");
            let _ = writeln!(
                stderr,
                "{show_cursor}airwnd: {names}: a call did not return within {} and cannot be interrupted",
                seconds(self.limit)
            );
        }
        // SAFETY: ends the process without running any more code of it.
        unsafe { libc::_exit(code) }
    }

    /// What a message says of a call that was interrupted.
    pub fn message(&self) -> String {
        let limit = seconds(self.limit);
        format!(
            "did not return within {limit}; --plugin-timeout (in Python: plugin_timeout_s) sets the limit"
        )
    }
}

/// A duration as messages show it.
fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
