//! The loop between programs and policy.

use crate::receiver::Receiver;
use crate::{Counters, Error, Policy, system};
use airwnd_rwnd::Spec;
use airwnd_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// The programs act for this time after the last heartbeat. A daemon that is stopped or stuck has released every flow
/// within a second.
const ALLOWANCE: Span = Span::from_millis(500);
/// Interval between heartbeats.
const HEARTBEAT: Span = Span::from_millis(100);
/// Interval in which forgotten flows are removed.
const EXPIRY: Span = Span::from_secs(60);

/// What to guard, and how.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub cgroups: Vec<PathBuf>,
    pub spec: Spec,
}

/// Guards until SIGINT or SIGTERM.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let signals = Signals::open()?;
    let mut receiver = Receiver::open(&options.cgroups)?;
    let mut policy = Policy::new(options.spec.clone());
    beat(&mut receiver, system::now())?;
    receiver.adopt()?;
    eprintln!("guarding");
    let mut expired = system::now();
    let mut beaten = expired;
    while !signals.has_arrived() {
        wait(&signals, &receiver)?;
        receiver.maps.observe(|seen| policy.on_observation(seen));
        let now = system::now();
        if now.since(beaten) >= HEARTBEAT {
            beat(&mut receiver, now)?;
            beaten = now;
        }
        if now.since(expired) >= EXPIRY {
            for flow in policy.expire(now) {
                receiver.maps.remove(flow);
            }
            expired = now;
        }
    }
    let Counters { acks, clamped, refused, lost, .. } = receiver.maps.counters();
    eprintln!(
        "{acks} segments sent, {clamped} with a lower window, {refused} windows refused, {lost} reports lost"
    );
    Ok(())
}

fn beat(receiver: &mut Receiver, now: Time) -> Result<(), Error> {
    receiver.maps.allow_until(now + ALLOWANCE)
}

fn wait(signals: &Signals, receiver: &Receiver) -> Result<(), Error> {
    let mut events = [
        PollFd::new(signals.fd.as_fd(), PollFlags::POLLIN),
        PollFd::new(receiver.maps.as_fd(), PollFlags::POLLIN),
    ];
    let timeout = PollTimeout::try_from(HEARTBEAT.0 / 1_000_000).expect("a fraction of a second");
    match poll(&mut events, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(why) => Err(Error::failed("cannot wait for observations", &why)),
    }
}

/// The signals that end the guard, blocked until the value is dropped.
struct Signals {
    fd: SignalFd,
    previous: SigSet,
}

impl Signals {
    fn open() -> Result<Signals, Error> {
        let failed = |why: Errno| Error::failed("cannot receive signals", &why);
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGINT);
        mask.add(Signal::SIGTERM);
        let previous = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(failed)?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let fd = SignalFd::with_flags(&mask, flags).map_err(failed)?;
        Ok(Signals { fd, previous })
    }

    fn has_arrived(&self) -> bool {
        matches!(self.fd.read_signal(), Ok(Some(_)))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.previous.thread_set_mask();
    }
}
