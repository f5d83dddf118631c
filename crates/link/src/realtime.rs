//! Scheduling and memory of the relay's thread.

use nix::errno::Errno;
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

/// Priority of the relay among real-time threads, 1 to 99: low, so that the kernel's own threads go first.
const PRIORITY: i32 = 10;

/// Real-time scheduling of this thread and locked memory of this process, where the system allows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Realtime {
    /// `SCHED_FIFO`, or why not.
    pub scheduling: Result<(), Errno>,
    /// Whether memory is locked, so that no page fault delays the relay.
    pub is_memory_locked: bool,
}

impl Realtime {
    /// Requests both for this thread; reduces the slack of its timers in any case.
    pub fn request() -> Realtime {
        reduce_timer_slack();
        // On fault: without it, the kernel reads all mapped libraries and reserves all stacks, ten times the memory that
        // a session uses. The first touch of a page of memory takes a microsecond.
        let on_fault = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
        let is_memory_locked =
            mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | on_fault).is_ok();
        Realtime { scheduling: schedule_first_in_first_out(), is_memory_locked }
    }

    /// Uses neither; reduces the slack of this thread's timers.
    pub fn none() -> Realtime {
        reduce_timer_slack();
        Realtime { scheduling: Err(Errno::ECANCELED), is_memory_locked: false }
    }

    /// Description for summaries: `SCHED_FIFO`, or `normal` with the reason.
    pub fn scheduling(&self) -> String {
        match self.scheduling {
            Ok(()) => "SCHED_FIFO".into(),
            Err(Errno::ECANCELED) => "normal: not requested".into(),
            Err(errno) => format!("normal: {}", errno.desc()),
        }
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        if self.is_memory_locked {
            // The process goes on without; nothing depends on it.
            let _ = munlockall();
        }
    }
}

/// The kernel may delay timers of ordinary threads by 50 us (PR_SET_TIMERSLACK(2)); 1 ns is the minimum.
#[allow(unsafe_code, reason = "nix has no safe function for a slack in nanoseconds")]
fn reduce_timer_slack() {
    // SAFETY: sets a number of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}

#[allow(unsafe_code, reason = "nix has no safe function for it")]
fn schedule_first_in_first_out() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: changes the calling thread only; the structure is valid during the call.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }).map(drop)
}
