//! `test`: the phases of a test, one after the other.

use super::client::{self, Flow, Session};
use super::ping::Pinger;
use super::progress::Progress;
use super::protocol::{Transfer, split_server};
use super::requirement::Requirement;
use super::results::{Measured, Phase, percentile};
use super::schedule::{LONGEST_PAUSE, Load, PAUSE, Plan, Step, is_drained};
use super::{picture, report, wire};
use crate::guarded::Guard;
use crate::rules::Rules;
use crate::signals::Signals;
use crate::{Error, cgroup, control, output, system};
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use std::fs;
use std::net::{IpAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Interval in which the payload is read, that of `airwnd link --battery`.
const SAMPLE: Duration = Duration::from_millis(100);
/// Time for the first reply to a ping.
const PATIENCE: Duration = Duration::from_secs(5);
/// A download is longer than its phase, so that it does not end within it.
const SURPLUS: Duration = Duration::from_secs(5);

/// Options of a test.
pub(super) struct Options {
    pub server: String,
    pub length: Duration,
    pub flows: usize,
    pub has_both: bool,
    pub rules: Rules,
    /// Name of the receive-window control.
    pub rwnd: String,
    pub required: Vec<Requirement>,
    pub json: Option<PathBuf>,
    pub svg: Option<PathBuf>,
}

/// How a test has ended.
pub(super) enum Outcome {
    Met,
    /// A requirement is not met.
    Unmet,
    /// By SIGINT or SIGTERM.
    Interrupted,
}

/// Why a test has no results.
enum Ended {
    Interrupted,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Failed(error)
    }
}

/// Measures and prints the results.
pub(super) fn run(options: &Options) -> Result<Outcome, Error> {
    check_file("--json", options.json.as_deref())?;
    check_file("--svg", options.svg.as_deref())?;
    match measure(options) {
        Ok(measured) => {
            write(options, &measured)?;
            let rows = measured.rows();
            let failures = options.required.iter().filter_map(|required| required.failure(&rows));
            let unmet = failures.inspect(|failure| eprintln!("{failure}")).count();
            Ok(if unmet == 0 { Outcome::Met } else { Outcome::Unmet })
        }
        Err(Ended::Interrupted) => Ok(Outcome::Interrupted),
        Err(Ended::Failed(error)) => Err(error),
    }
}

/// A file that cannot be made is an error before the measurement.
fn check_file(option: &str, path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match (path.is_dir(), folder.is_dir()) {
        (true, _) => "is a folder",
        (_, false) => "its folder does not exist",
        _ => return Ok(()),
    };
    Err(Error::new(format!("{option} {}: {why}", path.display())))
}

fn write(options: &Options, measured: &Measured) -> Result<(), Error> {
    let mut text = report::text(measured);
    let save = |option: &str, path: &Path, content: String| {
        let failed = |why| Error::failed(format!("{option} {}", path.display()), &why);
        fs::write(path, content).map_err(failed)
    };
    let mut outcome = Ok(());
    if let Some(path) = &options.json {
        outcome = save("--json", path, format!("{}\n", report::to_json(measured)));
    }
    if let Some(path) = &options.svg {
        let saved = save("--svg", path, picture::svg(measured));
        if saved.is_ok() {
            text += &format!("picture: {}\n", path.display());
        }
        outcome = outcome.and(saved);
    }
    // The figures first: they have taken a minute.
    output::print(text)?;
    outcome
}

fn measure(options: &Options) -> Result<Measured, Ended> {
    let (host, port) = split_server(&options.server)
        .map_err(|why| Error::new(format!("server {}: {why}", options.server)))?;
    cgroup::refuse_guarded()
        .map_err(|why| Error::new(format!("{why}; end that guard for the time of the test")))?;
    let signals = Signals::open()?;
    let mut notes = shapers();
    // The guard is a process made from this one while it has one thread.
    let guard = Guard::start(options.rules.clone())
        .map_err(|why| notes.push(format!("measured without the guard: {why}")))
        .ok();
    let session = Session::open(&options.server, host, port)?;
    let start = Instant::now();
    let pinger = Pinger::open(session.server, session.local.ip(), session.token, start)?;
    let plan = Plan::new(options.length, guard.is_some(), options.has_both);
    let rwnd = guard.is_some().then(|| options.rwnd.clone());
    let unix_s = system::real_time().as_secs();
    let payload = wire::payload();
    let mut course = Course { options, session, guard, pinger: &pinger, signals, start, plan, payload };
    let phases = thread::scope(|scope| {
        scope.spawn(|| pinger.run());
        let phases = course.run();
        pinger.stop();
        phases
    })?;
    Ok(Measured {
        server: options.server.clone(),
        address: course.session.server.to_string(),
        unix_s,
        flows: options.flows,
        rwnd,
        congestion_control: course.session.congestion_control.clone(),
        interface: interface_of(course.session.local.ip()),
        notes,
        pings: pinger.pings(),
        phases,
    })
}

/// Shapers on this machine are part of what is measured.
fn shapers() -> Vec<String> {
    let states = control::states(&mut Default::default(), 0).unwrap_or_default();
    let interface = |state: &serde_json::Value| state["shape"]["interface"].as_str().map(String::from);
    let note = |interface| format!("airwnd guard shape {interface} runs: all phases are behind its shapers");
    states.iter().filter_map(|(_, state)| interface(state)).map(note).collect()
}

fn interface_of(local: IpAddr) -> Option<String> {
    let has_it = |address: &nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|each| IpAddr::from(each.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|each| IpAddr::from(each.ip()))) == Some(local)
    };
    let mut interfaces = getifaddrs().ok()?;
    interfaces.find(|each| each.address.as_ref().is_some_and(has_it)).map(|each| each.interface_name)
}

/// A test that is under way.
struct Course<'a> {
    options: &'a Options,
    session: Session,
    guard: Option<Guard>,
    pinger: &'a Pinger,
    signals: Signals,
    start: Instant,
    plan: Plan,
    payload: Vec<u8>,
}

impl Course<'_> {
    fn run(&mut self) -> Result<Vec<Phase>, Ended> {
        let steps = self.plan.steps.clone();
        let progress = Progress::new(self.options.length);
        self.await_reply()?;
        progress.show("idle", self.start.elapsed());
        let mut phases = vec![self.idle()?];
        let mut idle = self.pinger.rtts_ms_since(phases[0].begin_s);
        idle.sort_by(f64::total_cmp);
        let idle_ms = percentile(&idle, 50.0).unwrap_or_default();
        for step in steps {
            let guard = if step.is_guarded { " with the guard" } else { "" };
            progress.show(&format!("{}{guard}", step.load.word()), self.start.elapsed());
            phases.push(self.phase(step)?);
            self.drain(idle_ms)?;
        }
        Ok(phases)
    }

    /// Waits; fails if a signal arrives.
    fn wait(&self, time: Duration) -> Result<(), Ended> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let mut events = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
            let _ = poll(&mut events, timeout);
            match self.signals.arrived() {
                None | Some(Signal::SIGHUP) => {}
                Some(_) => return Err(Ended::Interrupted),
            }
        }
    }

    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn await_reply(&self) -> Result<(), Ended> {
        let until = Instant::now() + PATIENCE;
        while self.pinger.rtts_ms_since(0.0).is_empty() {
            if Instant::now() > until {
                let Options { server, .. } = self.options;
                let port = self.session.server.port();
                let what =
                    format!("server {server}: no reply to pings; its UDP port {port} must be open as well");
                return Err(Error::new(what).into());
            }
            self.wait(SAMPLE)?;
        }
        Ok(())
    }

    fn idle(&self) -> Result<Phase, Ended> {
        let begin_s = self.now_s();
        self.wait(self.plan.idle)?;
        Ok(Phase {
            step: Step { load: Load::Idle, is_guarded: false },
            begin_s,
            counted_s: begin_s,
            end_s: self.now_s(),
            down: Vec::new(),
            up: Vec::new(),
            server_received_bytes: None,
        })
    }

    fn phase(&mut self, step: Step) -> Result<Phase, Ended> {
        let flows = self.begin(step)?;
        let begin_s = self.now_s();
        let is_stopped = AtomicBool::new(false);
        let (mut down, mut up) = (Vec::new(), Vec::new());
        let outcome = thread::scope(|scope| {
            for flow in &flows {
                scope.spawn(|| flow.run(&self.payload, &is_stopped));
            }
            let end = Instant::now() + self.plan.length;
            let outcome = loop {
                let at_s = self.now_s();
                if step.load.is_down() {
                    down.push(client::point(&flows, Transfer::Download, at_s));
                }
                if step.load.is_up() {
                    up.push(client::point(&flows, Transfer::Upload, at_s));
                }
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break Ok(());
                }
                if flows.iter().all(Flow::is_ended) {
                    break Err(Ended::from(self.lost()));
                }
                if let Err(ended) = self.wait(left.min(SAMPLE)) {
                    break Err(ended);
                }
            };
            is_stopped.store(true, Ordering::Relaxed);
            outcome
        });
        outcome?;
        let end_s = self.now_s();
        let received: Vec<u64> = flows.into_iter().filter_map(Flow::end).collect();
        if step.is_guarded
            && let Some(guard) = &mut self.guard
        {
            guard.check()?;
        }
        let server_received_bytes = (!received.is_empty()).then(|| received.iter().sum());
        let counted_s = begin_s + self.plan.start().as_secs_f64();
        Ok(Phase { step, begin_s, counted_s, end_s, down, up, server_received_bytes })
    }

    /// Connects and begins the transfers of a phase.
    fn begin(&self, step: Step) -> Result<Vec<Flow>, Ended> {
        let ways = [(step.load.is_down(), Transfer::Download), (step.load.is_up(), Transfer::Upload)];
        let of_each = |transfer| std::iter::repeat_n(transfer, self.options.flows);
        let transfers: Vec<Transfer> =
            ways.into_iter().filter(|(is_used, _)| *is_used).flat_map(|(_, way)| of_each(way)).collect();
        let connect = || self.session.connect(transfers.len());
        let streams = match &self.guard {
            Some(guard) if step.is_guarded => guard.inside(connect)?,
            _ => connect(),
        };
        let server = &self.options.server;
        let streams = streams.map_err(|why| Error::failed(format!("server {server}"), &why))?;
        let length = |transfer| match transfer {
            Transfer::Download => self.plan.length + SURPLUS,
            Transfer::Upload => self.plan.length,
        };
        let streams: Vec<(TcpStream, Transfer, Duration)> =
            streams.into_iter().zip(transfers).map(|(stream, way)| (stream, way, length(way))).collect();
        Ok(Flow::begin(streams, self.session.token).map_err(|why| why.of_server(server))?)
    }

    fn lost(&self) -> Error {
        Error::new(format!(
            "server {}: all transfers have ended early: the connection is lost, or the server's --gigabytes are used up",
            self.options.server
        ))
    }

    /// Waits until the queue of a phase is empty.
    fn drain(&self, idle_ms: f64) -> Result<(), Ended> {
        let (begin, begin_s) = (Instant::now(), self.now_s());
        self.wait(PAUSE)?;
        while begin.elapsed() < LONGEST_PAUSE && !is_drained(&self.pinger.rtts_ms_since(begin_s), idle_ms) {
            self.wait(SAMPLE)?;
        }
        Ok(())
    }
}
