//! A session: the sides with their commands, and the relay between them.

use crate::clock::LatenessFigures;
use crate::error::Error;
use crate::frames::Frames;
use crate::log::Taps;
use crate::realtime::Realtime;
use crate::relay::{Port, Relay, Shared, SocketState};
use crate::report::{Packets, Snapshot, Totals};
use crate::request::{End, Pcap, Request};
use crate::writer::Writing;
use airwnd_capture::{Capture, Format, Settings};
use airwnd_lab::tap::Tap;
use airwnd_lab::{Live, Outcome, RealUe, Records, Scenario, Socket};
use airwnd_netns::{
    Device, DeviceSetup, Framing, Gateway, Host, Outer, Outside, Process, Setup, Side, Stdio, TcpSocket,
};
use airwnd_units::{BitRate, Bytes, Span};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Period of the checks whether the commands have ended.
const CHECK_PERIOD: Duration = Duration::from_millis(20);
/// Longest time that the server's command has to open a port, before the other commands start anyway.
const LONGEST_START: Duration = Duration::from_secs(3);
/// Period of the checks whether it does.
const START_CHECK_PERIOD: Duration = Duration::from_millis(5);
/// The port that airwnd's own server opens last.
const LAST_PORT: u16 = 80;
/// Deepest session in a session; the outermost one has depth 0.
const DEEPEST: u8 = 7;
/// Variable that Mahimahi's shells set to the address of the other end.
const MAHIMAHI_BASE: &str = "MAHIMAHI_BASE";
/// Signals sent to commands when a session is stopped, and the time each leaves for the end.
const ENDING: [(i32, Duration); 2] =
    [(libc::SIGINT, Duration::from_secs(2)), (libc::SIGTERM, Duration::from_secs(1))];

/// Before each line of the log of the server's command; longest line that is passed on in one piece, in bytes.
const SERVER_PREFIX: &[u8] = b"server: ";
const LONGEST_LINE: u64 = 4096;
/// Departures below which their percentiles say nothing about the machine.
const MIN_DEPARTURES: u64 = 100;

/// Summary of a session, beside the results of the simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Start, in nanoseconds of the host's clock since 1970: link traces begin at this time.
    pub began_ns: u64,
    /// Real time in seconds.
    pub duration_s: f64,
    /// Exit codes of the UEs' commands, as of a shell.
    pub exit_codes: Vec<i32>,
    /// Exit code of the server's command, if it ended before the others.
    pub server_exit: Option<i32>,
    /// Set if the session ended with a link trace that is not repeated.
    pub trace_ended: bool,
    /// Packet accounting.
    pub packets: Packets,
    /// Packets that entered without a known outcome: 0 unless the relay is wrong.
    pub unaccounted: i64,
    /// Lateness of departures, in microseconds.
    pub lateness_us: LatenessFigures,
    /// Departures that were later than the limit.
    pub late_packets: u64,
    /// Set if these are more than 1 % of at least 100 departures.
    pub late: bool,
    /// Largest lag of the simulation behind the clock.
    pub behind_ms_max: f64,
    /// CPU time of the relay in percent of one core.
    pub cpu_percent: f64,
    /// Packets that the devices' own queues dropped because the relay read too slowly, by side.
    pub tun_dropped: BTreeMap<String, u64>,
    /// Set if pasta connected the server's end with this host, and terminated its TCP connections.
    pub pasta: bool,
    /// `SCHED_FIFO`, or `normal` with the reason.
    pub realtime: String,
    /// Set if memory was locked.
    pub memory_locked: bool,
}

/// A snapshot with the output of the commands since the last one.
#[derive(Clone, Debug, Serialize)]
pub struct Update {
    /// State of the session.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Output of the commands; empty unless it is captured.
    pub output: String,
}

/// Runs a session until the commands of all UEs have ended, or `update` returns false. `update` receives about five
/// snapshots a second.
///
/// # Errors
/// A request that the scenario or this machine cannot fulfil, in one line.
pub fn run(
    scenario: &Scenario,
    request: &Request,
    update: &mut dyn FnMut(Update) -> bool,
) -> Result<(Outcome, Summary), Error> {
    request.check(scenario)?;
    let mut sides = Sides::prepare(request)?;
    sides.server.start(request)?;
    let stop = AtomicBool::new(false);
    let (snapshots, received) = mpsc::channel();
    let (states, sockets) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    let ports = sides.ports(request)?;
    thread::scope(|scope| {
        let (busy_wait, limit) = (request.clock.busy_wait, request.limit(scenario));
        let shared = Shared { stop: &stop, snapshots, sockets, busy_wait, limit };
        let relay = thread::Builder::new()
            .name("airwnd-relay".into())
            .spawn_scoped(scope, move || relay(scenario, request, ports, &shared, &ready))?;
        let session = match is_ready.recv() {
            Ok(()) => sides.supervise(request, &received, &states, (update, limit.is_some())),
            // The relay has ended with an error.
            Err(_) => Ok(()),
        };
        stop.store(true, Ordering::Relaxed);
        let (outcome, totals, realtime) = relay.join().expect("the relay does not panic")?;
        session?;
        let summary = sides.summary(request, &totals, &realtime);
        Ok((outcome, summary))
    })
}

/// The relay's thread.
fn relay(
    scenario: &Scenario,
    request: &Request,
    ports: Vec<Port>,
    shared: &Shared<'_>,
    ready: &Sender<()>,
) -> Result<(Outcome, Totals, Realtime), Error> {
    let realtime = if request.clock.realtime { Realtime::request() } else { Realtime::none() };
    let frames = Frames::default();
    let mut capture = request
        .pcap
        .as_ref()
        .map(|wanted| Recording::new(wanted, scenario, request.seed, &frames))
        .transpose()?;
    let real: Vec<RealUe> =
        request.ues.iter().map(|ue| RealUe { ue: ue.ue, keeps_flows: request.keep_flows }).collect();
    let records = Records { series: request.series_interval_ns.map(Span), ..Records::default() };
    let capture_tap = capture.as_mut().map(|recording| &mut recording.capture as &mut dyn Tap);
    let mut taps = Taps::new(scenario, &request.logs, capture_tap)?;
    let is_tapped = request.pcap.is_some() || !request.logs.is_empty();
    let tap = is_tapped.then(|| Box::new(&mut taps) as Box<dyn Tap>);
    let live = Live::new(scenario, request.seed, &records, &real, tap)?;
    // On one core a thread would run in place of the relay.
    let is_threaded = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    let writing = Writing { coalesces: request.coalesces, is_threaded };
    let relay = Relay::new(live, frames, ports, writing)?;
    // The session waits for this message.
    let _ = ready.send(());
    let (live, totals) = relay.run(shared)?;
    let outcome = live.finish();
    let elapsed = totals.elapsed;
    taps.finish(request.limit(scenario).map_or(elapsed, |limit| limit.min(elapsed)))?;
    capture.map_or(Ok(()), Recording::finish)?;
    Ok((outcome, totals, realtime))
}

/// A capture file.
struct Recording<'p> {
    path: &'p Path,
    capture: Capture<BufWriter<File>>,
}

impl<'p> Recording<'p> {
    fn new(
        wanted: &'p Pcap,
        scenario: &Scenario,
        seed: u64,
        frames: &Frames,
    ) -> Result<Recording<'p>, Error> {
        let path = wanted.path.as_path();
        let nodes = wanted.nodes.iter().map(|word| scenario.node(word)).collect::<Result<Vec<_>, _>>();
        let nodes = nodes.map_err(|message| Error::System(format!("--pcap-node: {message}")))?;
        let is_older = path.extension().is_some_and(|extension| extension == "pcap");
        let format = if is_older { Format::Pcap } else { Format::Pcapng };
        let settings = Settings {
            format,
            nodes,
            snaplen: wanted.snaplen,
            real_only: wanted.real_only,
            radio: Vec::new(),
        };
        let capture = File::create(path)
            .and_then(|file| {
                Capture::of_frames(BufWriter::new(file), settings, scenario, seed, Some(frames.shared()))
            })
            .map_err(|error| Error::of_file(path, &error))?;
        Ok(Recording { path, capture })
    }

    fn finish(self) -> Result<(), Error> {
        self.capture.finish().map_err(|error| Error::of_file(self.path, &error))
    }
}

/// An end of the network.
struct Place {
    name: String,
    end: Attachment,
    addresses: Vec<IpAddr>,
    /// Connection of the side with this host.
    gateway: Option<Gateway>,
    /// Exit code of the command; `None` while it runs.
    exit: Option<i32>,
}

/// Where an end is.
enum Attachment {
    /// In namespaces of its own, with processes inside.
    Side(Device, Process),
    /// On this host.
    Host(Host),
    /// In the namespace of the outer session's UE.
    Outer(Device),
}

/// The sides of a session.
struct Sides {
    server: Place,
    ues: Vec<Place>,
    /// Receives the output of the commands, if it is captured.
    output: Option<Receiver<Vec<u8>>>,
    /// Dropped after the server, whose end is that of its log.
    _log: Option<ServerLog>,
}

/// The thread that copies the server's log. Dropping it waits for the end of the log.
struct ServerLog(Option<JoinHandle<()>>);

impl ServerLog {
    fn start(log: impl Read + Send + 'static, mut write: impl FnMut(Vec<u8>) + Send + 'static) -> ServerLog {
        ServerLog(Some(thread::spawn(move || copy_lines(log, &mut write))))
    }
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Passes on each line of the server's log, with a prefix: the commands write to the same terminal.
fn copy_lines(log: impl Read, write: &mut impl FnMut(Vec<u8>)) {
    let mut log = BufReader::new(log);
    loop {
        let mut line = SERVER_PREFIX.to_vec();
        // A longer line is passed on in parts.
        let read = log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        write(line);
    }
}

impl Request {
    /// Describes a side.
    fn setup(&self, name: &str, device: DeviceSetup, depth: u8) -> Setup {
        let mut setup = Setup::new(name, device);
        setup.depth = depth;
        setup.sysctls.clone_from(&self.sysctls);
        setup
    }
}

/// Names of all ends, for `/etc/hosts`; `server` has these addresses.
fn hosts(request: &Request, depth: u8, servers: &[IpAddr]) -> Vec<(String, IpAddr)> {
    let servers = servers.iter().map(|address| ("server".to_string(), *address));
    let ues = (1..).zip(&request.ues).flat_map(|(number, ue)| {
        let (four, six) = addresses(depth, number);
        [four.into(), six.into()].map(|address: IpAddr| (format!("ue-{}", ue.ue), address))
    });
    servers.chain(ues).collect()
}

/// Addresses of the server's end.
fn own(depth: u8) -> [IpAddr; 2] {
    let (four, six) = addresses(depth, 0);
    [four.into(), six.into()]
}

/// Addresses of the server of the outer session.
fn outer_server() -> Option<Vec<IpAddr>> {
    let found: Vec<IpAddr> = ("server", 0).to_socket_addrs().ok()?.map(|address| address.ip()).collect();
    (!found.is_empty()).then_some(found)
}

/// Addresses of an end: 0 is the server, 1 the first real UE. Nested sessions use different networks.
fn addresses(depth: u8, number: u8) -> (Ipv4Addr, Ipv6Addr) {
    let four = Ipv4Addr::new(100, 64, depth, 1 + number);
    let six = Ipv6Addr::new(0xfd00, 0x64, depth.into(), 0, 0, 0, 0, 1 + u16::from(number));
    (four, six)
}

/// Networks of the sessions in a session of this depth.
fn inner_networks(depth: u8) -> Vec<(IpAddr, u8)> {
    let networks = (depth + 1..=DEEPEST).flat_map(|depth| -> [(IpAddr, u8); 2] {
        let six = Ipv6Addr::new(0xfd00, 0x64, depth.into(), 0, 0, 0, 0, 0);
        [(Ipv4Addr::new(100, 64, depth, 0).into(), 24), (six.into(), 64)]
    });
    networks.collect()
}

impl Sides {
    fn prepare(request: &Request) -> Result<Sides, Error> {
        let outer = Outer::find();
        let depth = outer.as_ref().map_or(0, |outer| outer.depth() + 1);
        if depth > DEEPEST {
            return Err(Error::System(format!("sessions in a session: at most {DEEPEST}")));
        }
        let device = |number: usize| {
            let (four, six) = addresses(depth, number as u8);
            let (mtu, queue_packets) = (request.mtu, request.device_queue);
            let framing = Framing::Offload;
            DeviceSetup { v4: four, v6: Some(six), behind: Vec::new(), mtu, queue_packets, framing }
        };
        // The device of an end whose other routes do not lead to it.
        let end_device = || DeviceSetup { behind: inner_networks(depth), ..device(0) };
        let mut server = match &request.end {
            End::Namespace { command } => {
                let mut setup = request.setup("server", device(0), depth);
                setup.hosts = hosts(request, depth, &own(depth));
                setup.command.clone_from(command);
                // The default server has ports below 1024.
                setup.sysctls.push(("net/ipv4/ip_unprivileged_port_start".into(), "0".into()));
                // Packets between UEs pass the server's end.
                setup.forwards = request.ues.len() > 1;
                (setup.stdin, setup.stdout) = (Stdio::Null, Stdio::Null);
                setup.stderr = if request.default_server { Stdio::Null } else { Stdio::Piped };
                Place::of("server", depth, 0, Side::prepare(&request.helper, &setup)?)
            }
            End::Host | End::Internet if outer.is_none() && !Host::is_allowed() => {
                let setup = request.setup("server", end_device(), depth);
                let outside = if request.end == End::Internet { Outside::Internet } else { Outside::Host };
                let (side, gateway) = Gateway::prepare(&request.helper, &setup, outside)?;
                Place { gateway: Some(gateway), ..Place::of("server", depth, 0, side) }
            }
            End::Host | End::Internet => Place {
                name: "server".into(),
                end: match &outer {
                    Some(outer) => Attachment::Outer(outer.add_device(&end_device())?),
                    None => Attachment::Host(Host::open(&end_device(), request.end == End::Internet)?),
                },
                addresses: own(depth).to_vec(),
                gateway: None,
                exit: None,
            },
        };
        let servers = match (&request.end, &outer) {
            // A nested session's other end only forwards packets: the server is that of the outer session.
            (End::Host | End::Internet, Some(_)) => outer_server().unwrap_or_else(|| own(depth).to_vec()),
            // The gateway translates IPv4 only.
            _ if server.gateway.is_some() => own(depth)[..1].to_vec(),
            _ => own(depth).to_vec(),
        };
        let hosts = hosts(request, depth, &servers);
        let ues = (1..).zip(&request.ues).map(|(number, ue)| {
            let name = format!("ue-{}", ue.ue);
            let mut setup = request.setup(&name, device(number), depth);
            setup.hosts.clone_from(&hosts);
            if request.end == End::Internet {
                setup.nameservers = airwnd_netns::nameservers();
            }
            setup.command.clone_from(&ue.command);
            if std::env::var_os(MAHIMAHI_BASE).is_none() {
                let base = servers.iter().find(|address| address.is_ipv4()).unwrap_or(&servers[0]);
                setup.env = vec![(MAHIMAHI_BASE.into(), base.to_string())];
            }
            if request.captures_output {
                (setup.stdin, setup.stdout, setup.stderr) = (Stdio::Null, Stdio::Piped, Stdio::Piped);
            } else {
                setup.terminal = request.ues.len() == 1;
            }
            Ok(Place::of(&name, depth, number as u8, Side::prepare(&request.helper, &setup)?))
        });
        let ues = ues.collect::<Result<_, Error>>()?;
        let log = match &mut server.end {
            Attachment::Side(_, process) => process.stderr.take(),
            Attachment::Host(_) | Attachment::Outer(_) => None,
        };
        let (to, output) = mpsc::channel();
        let log = log.map(|log| match request.captures_output.then(|| to.clone()) {
            // A view that has ended shows no more lines; a closed standard error loses them.
            Some(to) => ServerLog::start(log, move |line| drop(to.send(line))),
            None => ServerLog::start(log, |line| drop(io::stderr().write_all(&line))),
        });
        let mut sides = Sides { server, ues, output: None, _log: log };
        if request.captures_output {
            sides.gather_output(&to);
            sides.output = Some(output);
        }
        Ok(sides)
    }

    /// Starts threads that read the output of the commands. They end with the commands.
    fn gather_output(&mut self, to: &Sender<Vec<u8>>) {
        for place in &mut self.ues {
            let process = place.process();
            let streams = [
                process.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
                process.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
            ];
            for mut stream in streams.into_iter().flatten() {
                let to = to.clone();
                thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(length @ 1..) = stream.read(&mut buffer) {
                        if to.send(buffer[..length].to_vec()).is_err() {
                            return;
                        }
                    }
                });
            }
        }
    }

    /// Devices for the relay, the server's first.
    fn ports(&self, request: &Request) -> Result<Vec<Port>, Error> {
        let port = |place: &Place, ue| {
            let device = place.device().tun.try_clone()?;
            Ok(Port { device, ue, addresses: place.addresses.clone() })
        };
        let ues = self.ues.iter().zip(&request.ues);
        std::iter::once(port(&self.server, None))
            .chain(ues.map(|(place, ue)| port(place, Some((ue.ue, ue.name.clone())))))
            .collect()
    }

    /// Starts the commands, passes snapshots on, and returns when all commands have ended.
    fn supervise(
        &mut self,
        request: &Request,
        snapshots: &Receiver<Snapshot>,
        sockets: &Sender<Vec<SocketState>>,
        (update, has_limit): (&mut dyn FnMut(Update) -> bool, bool),
    ) -> Result<(), Error> {
        for place in &mut self.ues {
            place.process().start()?;
        }
        let mut next_sockets = Instant::now();
        let mut ending: Option<Ending> = None;
        loop {
            match snapshots.recv_timeout(CHECK_PERIOD) {
                Ok(snapshot) => {
                    let output = self.output.as_ref().map(taken).unwrap_or_default();
                    if !update(Update { snapshot, output }) && ending.is_none() {
                        ending = Some(Ending::default());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if has_limit => {
                    ending.get_or_insert_default();
                    thread::sleep(CHECK_PERIOD);
                }
                // The relay has ended with an error, which the caller finds.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if Instant::now() >= next_sockets {
                next_sockets = Instant::now() + Duration::from_nanos(request.sockets_interval_ns);
                // Without the kernel's support there are no states.
                let _ = sockets.send(self.socket_states());
            }
            self.server.note_exit();
            self.ues.iter_mut().for_each(Place::note_exit);
            if self.ues.iter().all(|place| place.exit.is_some()) {
                return Ok(());
            }
            if let Some(ending) = &mut ending
                && !ending.go_on(&self.ues)
            {
                return Ok(());
            }
        }
    }

    /// States of the TCP connections at both ends.
    fn socket_states(&mut self) -> Vec<SocketState> {
        let server = self.server.sockets(true);
        let ues = self.ues.iter_mut().flat_map(|place| place.sockets(false));
        server.into_iter().chain(ues).collect()
    }

    /// Summary of the session; kills what is left inside.
    fn summary(mut self, request: &Request, totals: &Totals, realtime: &Realtime) -> Summary {
        let lateness = totals.lateness.figures();
        let late_packets = totals.lateness.count_above(Span(request.clock.lateness_limit_ns));
        let mut tun_dropped = BTreeMap::new();
        for place in std::iter::once(&mut self.server).chain(&mut self.ues) {
            if let Ok(stats) = place.device_mut().stats() {
                tun_dropped.insert(place.name.clone(), stats.tx_dropped);
            }
            place.note_exit();
        }
        let killed = 128 + libc::SIGKILL;
        Summary {
            began_ns: totals.began_ns,
            duration_s: totals.elapsed.as_secs(),
            exit_codes: self.ues.iter().map(|place| place.exit.unwrap_or(killed)).collect(),
            server_exit: self.server.exit,
            trace_ended: totals.is_time_up,
            packets: totals.packets,
            unaccounted: totals.packets.unaccounted(),
            late_packets,
            late: lateness.count >= MIN_DEPARTURES && late_packets * 100 > lateness.count,
            lateness_us: lateness,
            behind_ms_max: totals.behind.as_millis(),
            cpu_percent: 100.0 * totals.cpu.as_secs() / totals.elapsed.as_secs().max(1e-9),
            tun_dropped,
            pasta: self.server.gateway.is_some(),
            realtime: realtime.scheduling(),
            memory_locked: realtime.is_memory_locked,
        }
    }
}

impl Place {
    fn of(name: &str, depth: u8, number: u8, side: Side) -> Place {
        let (four, six) = addresses(depth, number);
        Place {
            name: name.into(),
            end: Attachment::Side(side.device, side.process),
            addresses: vec![four.into(), six.into()],
            gateway: None,
            exit: None,
        }
    }

    fn device(&self) -> &Device {
        match &self.end {
            Attachment::Side(device, _) | Attachment::Outer(device) => device,
            Attachment::Host(host) => &host.device,
        }
    }

    fn device_mut(&mut self) -> &mut Device {
        match &mut self.end {
            Attachment::Side(device, _) | Attachment::Outer(device) => device,
            Attachment::Host(host) => &mut host.device,
        }
    }

    fn process(&mut self) -> &mut Process {
        match &mut self.end {
            Attachment::Side(_, process) => process,
            Attachment::Host(_) | Attachment::Outer(_) => unreachable!("only sides have commands"),
        }
    }

    fn note_exit(&mut self) {
        if let (None, Attachment::Side(_, process)) = (self.exit, &mut self.end) {
            self.exit = process.try_wait().map(|exit| exit.code());
        }
    }

    /// Starts the server's command, if there is one, and waits until it has opened a port.
    fn start(&mut self, request: &Request) -> Result<(), Error> {
        let End::Namespace { command, .. } = &request.end else { return Ok(()) };
        if command.is_empty() {
            return Ok(());
        }
        self.process().start()?;
        let begin = Instant::now();
        while begin.elapsed() < LONGEST_START && !self.serves(request) {
            self.note_exit();
            if let Some(code) = self.exit {
                let message = format!("the server's command ended at once, with exit code {code}");
                return Err(Error::System(message));
            }
            thread::sleep(START_CHECK_PERIOD);
        }
        Ok(())
    }

    /// Whether the server has opened a port.
    fn serves(&mut self, request: &Request) -> bool {
        let diag = &mut self.device_mut().diag;
        match diag.listening_ports() {
            Ok(ports) if request.default_server => ports.contains(&LAST_PORT),
            Ok(ports) => !ports.is_empty() || diag.udp_ports().is_ok_and(|ports| !ports.is_empty()),
            // Without the kernel's support for the question, nothing is waited for.
            Err(_) => true,
        }
    }

    fn sockets(&mut self, at_server: bool) -> Vec<SocketState> {
        let sockets = self.device_mut().diag.tcp().unwrap_or_default();
        sockets.into_iter().map(|socket| state(socket, at_server)).collect()
    }
}

/// The end of a session that was stopped: a signal, some patience, and the next signal.
#[derive(Default)]
struct Ending {
    step: usize,
    since: Option<Instant>,
}

impl Ending {
    /// Sends the next signal when the time for the last one is over; returns false when none is left.
    fn go_on(&mut self, places: &[Place]) -> bool {
        let patience = self.step.checked_sub(1).map_or(Duration::ZERO, |step| ENDING[step].1);
        if self.since.is_some_and(|since| since.elapsed() < patience) {
            return true;
        }
        let Some((signal, _)) = ENDING.get(self.step) else { return false };
        for place in places {
            if let Attachment::Side(_, process) = &place.end {
                process.signal(*signal);
            }
        }
        (self.step, self.since) = (self.step + 1, Some(Instant::now()));
        true
    }
}

fn taken(output: &Receiver<Vec<u8>>) -> String {
    let bytes: Vec<u8> = output.try_iter().flatten().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn state(socket: TcpSocket, at_server: bool) -> SocketState {
    let info = socket.info;
    let mss = u64::from(info.snd_mss.unwrap_or(0));
    let segments = |count: u32| Bytes(u64::from(count) * mss);
    let bytes = |count: u32| Bytes(count.into());
    let micros = |count: u32| Span::from_micros(count.into());
    let rate = |bytes: u64| BitRate(bytes.saturating_mul(8));
    SocketState {
        ends: [socket.local, socket.remote],
        at_server,
        cc: socket.congestion_control,
        state: Socket {
            cwnd: segments(info.snd_cwnd.unwrap_or(0)),
            ssthresh: info.snd_ssthresh.map(segments),
            peer_window: info.snd_wnd.map(bytes),
            in_flight: segments(info.unacked.unwrap_or(0)),
            srtt: info.srtt_us.map(micros),
            rttvar: info.rttvar_us.map(micros),
            min_rtt: info.min_rtt_us.map(micros),
            delivery_rate: info.delivery_rate.map(rate),
            pacing_rate: info.pacing_rate.map(rate),
            window: info.rcv_wnd.map(bytes),
            retransmissions: info.total_retrans.unwrap_or(0).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_servers_log_has_a_prefix() {
        let mut log = b"ready\n\n".to_vec();
        log.extend(vec![b'x'; LONGEST_LINE as usize + 1]);
        let mut lines = Vec::new();
        copy_lines(&log[..], &mut |line| lines.push(String::from_utf8(line).expect("text")));
        let long = "x".repeat(LONGEST_LINE as usize);
        let expected = ["ready".to_string(), String::new(), long, "x".to_string()];
        assert_eq!(lines, expected.map(|line| format!("server: {line}\n")));
    }
}
