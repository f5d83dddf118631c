//! The loop between programs and policy.

use crate::carried::Carried;
use crate::control::Server;
use crate::forward::Forward;
use crate::links::Links;
use crate::log::{self, Log};
use crate::machine::Machine;
use crate::maps::Maps;
use crate::prometheus::Exporter;
use crate::receiver::Receiver;
use crate::record::Recorder;
use crate::routes::{self, Change, Routes};
use crate::rules::Rules;
use crate::signals::Signals;
use crate::{Counters, Error, Policy, privileges, system};
use airwnd_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The programs act for this time after the last heartbeat. A daemon that is stopped or stuck has released every flow
/// within a second.
const ALLOWANCE: Span = Span::from_millis(500);
/// Interval between heartbeats.
const HEARTBEAT: Span = Span::from_millis(100);
/// After an observation others may follow for which the programs do not wake the guard.
const MORE: Span = Span::from_millis(2);
/// Interval in which the counters of interfaces are read while there are observations.
const COUNTING: Span = Span::from_millis(20);
/// Interval between lines of the log.
const LOG: Span = Span::from_secs(1);
/// Interval in which the windows of flows that were forgotten are removed.
const EXPIRY: Span = Span::from_secs(1);

/// Connections to guard, and how.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub cgroups: Vec<PathBuf>,
    pub interfaces: Vec<String>,
    pub source: Source,
    pub json_log: Option<PathBuf>,
    pub prometheus: Option<SocketAddr>,
    pub record: Option<PathBuf>,
}

/// Where the rules come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The command line.
    Options(Rules),
    /// A regular file, which may change.
    File(PathBuf),
    /// The name and the text of anything else, such as a pipe, which was read once.
    Text(String, String),
}

/// Maximum size of a rules file in bytes.
const LARGEST: u64 = 16 << 20;

impl Source {
    /// The rules file at a path.
    pub(crate) fn of(path: &Path) -> Result<Source, Error> {
        let is_other = fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
        if !is_other {
            return Ok(Source::File(path.to_path_buf()));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|why| Error::failed(&name, &why))?;
        Ok(Source::Text(name.clone(), text(&name, file)?))
    }

    /// Reads the rules.
    pub(crate) fn read(&self) -> Result<Rules, Error> {
        match self {
            Source::Options(rules) => Ok(rules.clone()),
            Source::File(path) => {
                let name = path.display().to_string();
                let failed = |why: std::io::Error| Error::failed(&name, &why);
                // The file may have become a pipe, whose opening would wait for a writer, and the guard with it.
                let file = OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_NONBLOCK)
                    .open(path)
                    .map_err(failed)?;
                if !file.metadata().map_err(failed)?.is_file() {
                    return Err(Error::new(format!("{name}: not a regular file")));
                }
                Rules::read(&text(&name, file)?, &name, &Machine)
            }
            Source::Text(name, text) => Rules::read(text, name, &Machine),
        }
    }

    /// Time of the last change; `None`: none is known.
    fn changed(&self) -> Option<SystemTime> {
        let Source::File(path) = self else { return None };
        fs::metadata(path).ok()?.modified().ok()
    }
}

fn text(name: &str, file: File) -> Result<String, Error> {
    let mut text = String::new();
    let length = file.take(LARGEST + 1).read_to_string(&mut text).map_err(|why| Error::failed(name, &why))?;
    if length as u64 > LARGEST {
        return Err(Error::new(format!("{name}: larger than {} MiB", LARGEST >> 20)));
    }
    Ok(text)
}

/// Guards until SIGINT or SIGTERM.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let signals = Signals::open()?;
    let mut daemon = Daemon::open(options)?;
    daemon.begin()?;
    give_up_privileges(&daemon.stations, &options.source)?;
    system::return_free_memory();
    eprintln!("guarding");
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET") {
        // Without a manager that listens the guard guards as well.
        let _ = report_ready(&socket);
    }
    let mut is_busy = false;
    loop {
        let mut is_hangup = false;
        if daemon.wait(&signals, if is_busy { MORE } else { HEARTBEAT })? {
            match signals.arrived() {
                Some(Signal::SIGHUP) => is_hangup = true,
                Some(_) => break,
                None => {}
            }
            daemon.answer();
        }
        is_busy = daemon.observe();
        let now = system::now();
        daemon.count(now);
        if is_hangup || now.since(daemon.beaten) >= HEARTBEAT {
            daemon.maintain(now, is_hangup)?;
        }
    }
    for Station { place, .. } in &daemon.stations {
        eprintln!("{}", summary(&place.maps().counters()));
    }
    Ok(())
}

/// Programs and policies, what they are asked through, and the times of recurring work.
struct Daemon<'a> {
    options: &'a Options,
    stations: Vec<Station>,
    routes: Routes,
    links: Links,
    control: Server,
    exporter: Option<Exporter>,
    log: Option<Log>,
    recorder: Recorder,
    /// Time of the last change of the rules that are in force.
    read_at: Option<SystemTime>,
    beaten: Time,
    counted: Time,
    logged: Time,
    expired: Time,
}

impl<'a> Daemon<'a> {
    fn open(options: &'a Options) -> Result<Daemon<'a>, Error> {
        let log = options.json_log.as_deref().map(Log::open).transpose()?;
        let recorder = options.record.as_deref().map(Recorder::create).transpose()?.unwrap_or_default();
        let read_at = options.source.changed();
        let stations = open(options, &options.source.read()?)?;
        let now = system::now();
        Ok(Daemon {
            options,
            stations,
            routes: Routes::open()?,
            links: Links::open()?,
            control: Server::open()?,
            exporter: options.prometheus.map(Exporter::open).transpose()?,
            log,
            recorder,
            read_at,
            beaten: now,
            counted: now,
            logged: now,
            expired: now,
        })
    }

    /// Lets the programs act, and takes over the connections that there are.
    fn begin(&mut self) -> Result<(), Error> {
        beat(&mut self.stations, system::now())?;
        for station in &mut self.stations {
            if let Place::Receiver(receiver) = &mut station.place {
                receiver.adopt()?;
            }
        }
        Ok(())
    }

    /// Waits for observations, and returns whether there is anything else.
    fn wait(&self, signals: &Signals, patience: Span) -> Result<bool, Error> {
        let Daemon { stations, control, routes, exporter, .. } = self;
        let observed = stations.iter().map(|station| station.place.maps().as_fd());
        let exporter = exporter.as_ref().map(AsFd::as_fd);
        let others = [signals.as_fd(), control.as_fd(), routes.as_fd()].into_iter().chain(exporter);
        let mut events: Vec<_> =
            observed.chain(others).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::try_from(patience.0 / 1_000_000).expect("a fraction of a second");
        match poll(&mut events, timeout) {
            Ok(_) | Err(Errno::EINTR) => {
                Ok(events[stations.len()..].iter().any(|event| event.any() != Some(false)))
            }
            Err(why) => Err(Error::failed("cannot wait for observations", &why)),
        }
    }

    /// Handles changes of routes, and answers requests for the state.
    fn answer(&mut self) {
        let Daemon { stations, routes, recorder, exporter, control, .. } = self;
        routes.changed(|change| {
            for (number, station) in stations.iter_mut().enumerate() {
                if let Some(interface) = station.concerned(change) {
                    station.policy.forget_paths(interface);
                    recorder.routes_changed(number, system::now(), interface);
                }
            }
        });
        if let Some(exporter) = exporter {
            exporter.answer(|| {
                let mut text = Vec::new();
                write_state(&mut text, stations, log::SHOWN)?;
                Ok(serde_json::from_slice(&text)?)
            });
        }
        control.answer(|out, shown| write_state(out, stations, shown));
    }

    /// Passes observations to the policies; returns whether there were any.
    fn observe(&mut self) -> bool {
        let Daemon { stations, recorder, .. } = self;
        let mut has_observed = false;
        for (number, Station { place, policy }) in stations.iter_mut().enumerate() {
            has_observed |= place.maps_mut().observe(|seen| {
                let target = policy.on_observation(seen);
                recorder.seen(number, seen, target);
                target
            });
        }
        has_observed
    }

    /// Reads the counters of interfaces if it is time.
    fn count(&mut self, now: Time) {
        if now.since(self.counted) < COUNTING {
            return;
        }
        self.counted = now;
        for (number, station) in self.stations.iter_mut().enumerate() {
            for (interface, carried) in station.count(&mut self.links) {
                station.policy.note_carried(interface, carried);
                self.recorder.counted(number, now, interface, carried);
            }
        }
    }

    /// Beats, writes the log, reads rules that have changed, or on SIGHUP any, and removes flows that are gone.
    fn maintain(&mut self, now: Time, is_hangup: bool) -> Result<(), Error> {
        let Daemon { options, stations, log, recorder, .. } = self;
        beat(stations, now)?;
        self.beaten = now;
        if now.since(self.logged) >= LOG {
            if let Some(log) = log {
                log.line(|out| write_state(out, stations, log::SHOWN));
            }
            recorder.flush();
            self.logged = now;
        }
        let changed = options.source.changed();
        if is_hangup || (changed.is_some() && changed != self.read_at) {
            self.read_at = changed;
            if reload(options, stations) {
                (0..stations.len()).for_each(|number| recorder.rules_read(number, now));
            }
        }
        if now.since(self.expired) >= EXPIRY {
            for Station { place, policy } in stations {
                for flow in policy.expire(now) {
                    place.maps_mut().remove(flow);
                }
            }
            self.expired = now;
        }
        Ok(())
    }
}

/// Where windows are set.
enum Place {
    Receiver(Receiver),
    Forward(Forward),
}

impl Place {
    fn name(&self) -> String {
        match self {
            Place::Receiver(_) => "receiver".to_string(),
            Place::Forward(forward) => format!("forward {}", forward.interface),
        }
    }

    fn maps(&self) -> &Maps {
        match self {
            Place::Receiver(receiver) => &receiver.maps,
            Place::Forward(forward) => &forward.maps,
        }
    }

    fn maps_mut(&mut self) -> &mut Maps {
        match self {
            Place::Receiver(receiver) => &mut receiver.maps,
            Place::Forward(forward) => &mut forward.maps,
        }
    }
}

/// A place with the flows that it sees.
struct Station {
    place: Place,
    policy: Policy,
}

impl Station {
    /// Returns what the interfaces of its flows have carried.
    fn count(&self, links: &mut Links) -> Vec<(u32, Carried)> {
        let carried = |index| {
            let (received, sent) = links.counters(index)?;
            let (down, up) = match self.place {
                Place::Receiver(_) => (received, sent),
                // The interface leads to the receivers.
                Place::Forward(_) => (sent, received),
            };
            Some((index, Carried { down, up }))
        };
        self.policy.interfaces().filter_map(carried).collect()
    }

    /// Returns the interface by which the paths are known that a change concerns; `None`: it concerns none.
    fn concerned(&self, change: Change) -> Option<u32> {
        match &self.place {
            Place::Receiver(_) => Some(change.interface),
            // Its flows are known by the interface towards the receivers; the paths lead over others.
            Place::Forward(forward) => change.is_default.then_some(forward.index),
        }
    }
}

/// Applies the rules as they are now; returns whether it did. After an error the former rules stay.
fn reload(options: &Options, stations: &mut [Station]) -> bool {
    match options.source.read() {
        Ok(rules) => {
            stations.iter_mut().for_each(|station| station.policy.set_rules(rules.clone()));
            eprintln!("rules read again");
            true
        }
        Err(error) => {
            eprintln!("{error}; the former rules stay");
            false
        }
    }
}

fn give_up_privileges(stations: &[Station], source: &Source) -> Result<(), Error> {
    let needs_net_admin =
        |station: &Station| matches!(&station.place, Place::Forward(forward) if forward.needs_net_admin);
    let kept = if stations.iter().any(needs_net_admin) { privileges::NET_ADMIN } else { 0 };
    privileges::give_up(kept, || source.read().is_ok())
}

fn open(options: &Options, rules: &Rules) -> Result<Vec<Station>, Error> {
    let mut places = Vec::new();
    if !options.cgroups.is_empty() {
        places.push(Place::Receiver(Receiver::open(&options.cgroups)?));
    }
    for interface in &options.interfaces {
        let forward = Forward::open(interface)?;
        if let Some(warning) = routes::warning(interface, forward.index) {
            eprintln!("{warning}");
        }
        places.push(Place::Forward(forward));
    }
    let station = |place| Station { place, policy: Policy::new(rules.clone()) };
    Ok(places.into_iter().map(station).collect())
}

fn write_state(out: &mut impl Write, stations: &[Station], shown: usize) -> io::Result<()> {
    let places = stations.iter().map(|Station { place, policy }| log::Place {
        name: place.name(),
        flows: Box::new(policy.flows()),
        counters: place.maps().counters(),
    });
    log::write(out, system::now(), places, shown)
}

fn summary(counters: &Counters) -> String {
    let Counters { acks, clamped, refused, lost, held, unknown, exempt, implausible, full } = counters;
    format!(
        "{acks} ACKs, {clamped} with a lower window, {held} of them held by what was offered before, {refused} \
         refused, {unknown} of unknown flows, {exempt} exempt, {implausible} segments that the other end refuses, {lost} \
         reports lost, {full} windows without room"
    )
}

fn beat(stations: &mut [Station], now: Time) -> Result<(), Error> {
    stations.iter_mut().try_for_each(|Station { place, policy }| {
        place.maps_mut().allow_until(now + ALLOWANCE, policy.report_interval())
    })
}

/// Reports to the service manager that the service has started (sd_notify(3)). An abstract address begins with `@`.
fn report_ready(address: &OsStr) -> io::Result<()> {
    let address = match address.as_bytes() {
        [b'@', name @ ..] => net::SocketAddr::from_abstract_name(name)?,
        path => net::SocketAddr::from_pathname(OsStr::from_bytes(path))?,
    };
    net::UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn create(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("airwnd-guard-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    /// Opening a pipe waits for a writer, which may never come.
    #[test]
    fn a_rules_file_that_becomes_a_pipe_is_refused() {
        let folder = Folder::create("becomes");
        let path = folder.0.join("r.toml");
        fs::write(&path, "[[rule]]\nrwnd = \"drwa\"\n").unwrap();
        let source = Source::of(&path).unwrap();
        assert!(source.read().is_ok());
        fs::remove_file(&path).unwrap();
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let error = source.read().unwrap_err();
        assert_eq!(error.to_string(), format!("{}: not a regular file", path.display()));
        assert!(source.changed().is_some(), "the guard tries to read it again, and says why it cannot");
    }

    #[test]
    fn rules_from_a_pipe_are_read_once() {
        let folder = Folder::create("pipe");
        let path = folder.0.join("r.toml");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || fs::write(path, "[[rule]]\nrwnd = \"dr\"\n").unwrap()
        });
        let source = Source::of(&path).unwrap();
        writer.join().unwrap();
        for _ in 0..2 {
            let error = source.read().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}:2: ", path.display())), "{error}");
        }
        assert!(source.changed().is_none());
    }

    #[test]
    fn readiness_is_reported_to_either_kind_of_address() {
        let folder = Folder::create("ready");
        let path = folder.0.join("notify");
        let name = format!("airwnd-ready-{}", std::process::id());
        let sockets = [
            net::UnixDatagram::bind(&path).unwrap(),
            net::UnixDatagram::bind_addr(&net::SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
        ];
        for (socket, address) in sockets.iter().zip([path.into_os_string(), format!("@{name}").into()]) {
            report_ready(&address).unwrap();
            let mut message = [0; 16];
            let length = socket.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1", "{address:?}");
        }
        assert!(report_ready(OsStr::new("/nothing/here")).is_err());
    }
}
