//! `shape`: shapers at an access link whose rates follow its capacity.

mod keeper;
mod shapers;
mod tc;
mod watch;

use crate::control::Server;
use crate::log::Log;
use crate::routes::Routes;
use crate::signals::Signals;
use crate::{Error, privileges, system};
use airwnd_shape::capacity::{Capacity, Params, Status, Way};
use airwnd_shape::{Control as _, Phase, TICK};
use airwnd_units::{BitRate, Span, Time};
use keeper::Keeper;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use shapers::{Interface, Shapers};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
pub(crate) use tc::Discipline;
pub(crate) use watch::Watch;

/// Interval between heartbeats and lines of the log.
const BEAT: Span = Span::from_secs(1);

/// Interface, directions and kind of the shapers.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub interface: String,
    pub ways: Vec<Way>,
    /// `None`: the best one that the kernel has.
    pub discipline: Option<Discipline>,
    pub json_log: Option<PathBuf>,
}

/// Shapes until SIGINT or SIGTERM.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let interface = Interface::named(&options.interface)?;
    let mut log = options.json_log.as_deref().map(Log::open).transpose()?;
    let keeper = Keeper::start(&interface)?;
    let outcome = shape(&interface, options, log.as_mut(), &keeper);
    // The keeper has undone it after an interruption, and there is nothing left.
    let undone = if is_refused(&outcome) { Ok(false) } else { shapers::undo(&interface) };
    keeper.end();
    match outcome {
        Ok(()) => undone.map(drop),
        Err(Refused::Other(error) | Refused::Interface(error)) => Err(error),
    }
}

/// Removes what a guard has left that was killed together with its keeper.
pub(crate) fn undo(interface: &str) -> Result<bool, Error> {
    shapers::undo(&Interface::named(interface)?)
}

/// Why the shapers have ended.
enum Refused {
    /// They were not made: what is on the interface belongs to something else.
    Interface(Error),
    Other(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Other(error)
    }
}

fn is_refused(outcome: &Result<(), Refused>) -> bool {
    matches!(outcome, Err(Refused::Interface(_)))
}

fn shape(
    interface: &Interface,
    options: &Options,
    mut log: Option<&mut Log>,
    keeper: &Keeper,
) -> Result<(), Refused> {
    let signals = Signals::open()?;
    let mut watch = Watch::open(interface.index)?;
    let mut shapers =
        Shapers::make(interface, &options.ways, options.discipline).map_err(Refused::Interface)?;
    let routes = Routes::open()?;
    let server = Server::open()?;
    privileges::give_up(privileges::NET_ADMIN, || true)?;
    system::return_free_memory();
    for line in shapers.changes(interface) {
        eprintln!("changed: {line}");
    }
    // The keeper waits without limit for the first one.
    keeper.beat()?;
    eprintln!("shaping");
    let mut control = Capacity::new(Params::default());
    let mut next = system::now() + TICK;
    let mut beaten = system::now();
    loop {
        if wait(&signals, &server, &routes, next)? {
            match signals.arrived() {
                Some(Signal::SIGHUP) | None => {}
                Some(_) => return Ok(()),
            }
            let mut is_other = false;
            routes.changed(|change| is_other |= change.is_default || change.interface == interface.index);
            if is_other {
                control = Capacity::new(Params::default());
            }
            server
                .answer(|out, _| out.write_all(state(interface, &shapers, &control).to_string().as_bytes()));
        }
        let now = system::now();
        if now < next {
            continue;
        }
        let [received, sent] = watch.read(|segment| control.on_segment(segment))?;
        let rates = control.tick(now, received, sent);
        for (way, rate) in [Way::Down, Way::Up].into_iter().zip(rates) {
            let failed = |why: io::Error| {
                Error::failed(format!("interface {}: cannot set a rate", interface.name), &why)
            };
            shapers.set(way, rate).map_err(failed)?;
        }
        // A tick that comes late is not made up for.
        next = (next + TICK).max(now);
        if now.since(beaten) >= BEAT {
            beaten = now;
            keeper.beat()?;
            watch.report_for(control.flows())?;
            if let Some(log) = log.as_mut() {
                log.line(|out| write!(out, "{}", state(interface, &shapers, &control)));
            }
        }
    }
}

/// Waits until `next` or for something else; returns whether there is something else.
fn wait(signals: &Signals, server: &Server, routes: &Routes, next: Time) -> Result<bool, Error> {
    let descriptors = [signals.as_fd(), server.as_fd(), routes.as_fd()];
    let mut events = descriptors.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let left = next.since(system::now()).0.div_ceil(1_000_000);
    let timeout = PollTimeout::try_from(left).expect("at most a tick");
    match poll(&mut events, timeout) {
        Ok(number) => Ok(number > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(why) => Err(Error::failed("cannot wait", &why)),
    }
}

/// State for `guard status`, the log and other programs.
fn state(interface: &Interface, shapers: &Shapers, control: &Capacity) -> Value {
    json!({
        "monotonic_s": system::now().as_secs(),
        "places": [],
        "shape": {
            "interface": interface.name,
            "qdisc": shapers.discipline().word(),
            "flows": control.flows(),
            "down": way(&control.status(Way::Down)),
            "up": way(&control.status(Way::Up)),
            "changed": shapers.changes(interface),
        },
    })
}

fn way(status: &Status) -> Value {
    let Status { rate, load, capacity, queue, phase } = *status;
    let kbps = |rate: Option<BitRate>| rate.map(BitRate::as_kbps);
    json!({
        "rate_kbps": kbps(rate),
        "load_kbps": load.as_kbps(),
        "capacity_kbps": kbps(capacity),
        "queue_ms": queue.map(Span::as_millis),
        "phase": word(phase),
    })
}

fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Draining => "draining",
        Phase::Growing => "growing",
        Phase::Holding => "holding",
        Phase::Blind => "blind",
        Phase::Dip => "dip",
    }
}
