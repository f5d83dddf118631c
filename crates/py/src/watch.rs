//! A limit on the wall-clock time of each call of a plug-in.
//!
//! A call costs two stores to an atomic counter; only the watching thread reads a clock. It raises [`CallTimeout`] in
//! the blocked thread. Code that does not return to the interpreter cannot be interrupted in this way; in that case a
//! process that belongs to airwnd (the command line, a worker) ends.
//!
//! It also makes Ctrl-C reach a long call. CPython 3.11 looks for a signal when its main thread has received it, but
//! not when another thread of the process has, and it forgets one that arrives while it takes the GIL. A request for
//! the GIL makes it look again.

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

/// End of the process when a plug-in cannot be interrupted: exit code, and whether to print a message; `None`: the
/// process continues.
static ENDING: Mutex<Option<(i32, bool)>> = Mutex::new(None);

/// Enables the end of this process when a plug-in cannot be interrupted. `code` is the exit code; `message` prints a
/// line to standard error. For processes that belong to airwnd only.
#[pyfunction]
pub fn end_when_stuck(code: i32, message: bool) {
    *ENDING.lock().expect("never poisoned") = Some((code, message));
}

thread_local! {
    static SCOPE: RefCell<State> = const { RefCell::new(State::Outside) };
}

/// Time limit on calls by a thread.
#[derive(Clone)]
enum State {
    /// No scope: calls are not watched.
    Outside,
    /// A scope with this limit, before the first call.
    Open(Duration),
    /// A scope whose calls are watched, since the first one.
    Watched(Arc<Watch>),
}

/// Monitor of the calls of one thread within a scope.
#[derive(Debug)]
pub struct Watch {
    /// Time limit of a call; `Duration::MAX`: none.
    pub limit: Duration,
    /// Python identifier of the calling thread.
    thread: c_long,
    /// Calls begun plus calls ended: odd during a call. Changed with the GIL held.
    steps: AtomicU64,
    /// Set if the current call has exceeded its limit. Changed with the GIL held.
    late: AtomicBool,
    /// Names of the called plug-ins, for messages.
    names: Mutex<Vec<String>>,
    closed: Mutex<bool>,
    close: Condvar,
}

/// A scope with a time limit on calls by this thread; stores the previous state.
pub struct Scope(State);

impl Scope {
    /// Sets the limit for calls by this thread until the scope ends; `Duration::MAX`: no limit.
    pub fn open(limit: Duration) -> Scope {
        Scope(SCOPE.replace(State::Open(limit)))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let State::Watched(watch) = SCOPE.replace(std::mem::replace(&mut self.0, State::Outside)) {
            *watch.closed.lock().expect("never poisoned") = true;
            watch.close.notify_all();
        }
    }
}

/// Returns the monitor of calls by this thread within a scope; `name` is the plug-in to be called.
pub fn current(py: Python<'_>, name: &str) -> PyResult<Option<Arc<Watch>>> {
    let watch = match SCOPE.with_borrow(Clone::clone) {
        State::Outside => return Ok(None),
        State::Open(limit) => {
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

/// Calls Python code. The flag is set if the call exceeded the limit; its result must then be ignored.
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
    /// Starts the thread that monitors calls by this thread.
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

    /// Polls the counter until the scope ends.
    fn watch(self: Arc<Self>) {
        let tick = (self.limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(250));
        let mut seen = 0;
        let mut waited = Duration::ZERO;
        let mut interruptions = 0;
        let mut request: Option<thread::JoinHandle<()>> = None;
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
            // A separate thread: a call that holds the GIL would block this one.
            if request.as_ref().is_none_or(thread::JoinHandle::is_finished) {
                request = Some(thread::spawn(|| {
                    Python::try_attach(|_| ());
                }));
            }
            // Time during which the process was stopped or starved does not count.
            waited += before.elapsed().min(2 * tick);
            if waited < self.limit {
                continue;
            }
            if interruptions > 0 {
                self.end_process();
            }
            (waited, interruptions) = (Duration::ZERO, interruptions + 1);
            let watch = self.clone();
            thread::spawn(move || watch.interrupt(seen));
        }
    }

    /// Interrupts the call with this counter value, unless it has ended.
    fn interrupt(&self, seen: u64) {
        Python::attach(|py| {
            if self.steps.load(Ordering::Relaxed) == seen {
                self.late.store(true, Ordering::Relaxed);
                self.raise(py, Some(&py.get_type::<CallTimeout>()));
            }
        });
    }

    /// Makes the interpreter raise an exception in the monitored thread; `None` cancels a pending exception.
    #[allow(unsafe_code, reason = "PyO3 has no safe function for it")]
    fn raise(&self, _: Python<'_>, exception: Option<&Bound<'_, PyAny>>) {
        let exception = exception.map_or(std::ptr::null_mut(), |class| class.as_ptr());
        // SAFETY: the GIL is held, and the function takes its own reference to the class.
        unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(self.thread, exception) };
    }

    /// Ends the process, if it belongs to airwnd.
    #[allow(unsafe_code, reason = "the interpreter cannot be shut down while a thread holds the GIL")]
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
        // SAFETY: ends the process without running any more of its code.
        unsafe { libc::_exit(code) }
    }

    /// Message for an interrupted call.
    pub fn message(&self) -> String {
        let limit = seconds(self.limit);
        format!(
            "did not return within {limit}; --plugin-timeout (in Python: plugin_timeout_s) sets the limit"
        )
    }
}

/// Formats a duration for messages.
fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
