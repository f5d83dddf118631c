//! A receiver with a guard, and a sender, in namespaces of their own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use airwnd_netns::{DeviceSetup, Setup, Side, Stdio};

use crate::roles;
use crate::wire::{Ack, Wire};

const PORT: u16 = 5001;
const SENDER: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(100, 64, 0, 1), Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, 1));
const RECEIVER: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(100, 64, 0, 2), Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, 2));
/// A test fails if what it waits for has not happened after this number of ACKs.
pub const PATIENCE: usize = 200_000;
/// No ACK under test for this long is a hang, which ends the test, as pytest's limit ends one.
const SILENCE: Duration = Duration::from_secs(1200);
/// Most ACKs of a connection in a row that acknowledge nothing new; a connection that stalls has more.
const DUPLICATES: u32 = 1000;
/// Most times that a segment is sent again.
const RESENT: u32 = 8;
/// Bytes of the timestamps option, which the maximum segment size includes.
const TIMESTAMPS: u32 = 12;

pub struct Session {
    receiver: Side,
    answers: BufReader<ChildStdout>,
    last: HashMap<usize, Last>,
    left: HashSet<usize>,
    /// Bytes by which the kernel itself moves a right edge back.
    pub taken_back: i32,
    pub wire: Wire,
    _sender: Side,
    _cgroup: Option<Cgroup>,
}

impl Session {
    /// Prepares a receiver with a guard; `guard` are arguments besides the cgroup. `Err`: the machine refuses, for a
    /// reason that is one line.
    pub fn prepare(name: &str, ipv6: bool, guard: &[&str]) -> Result<Session, String> {
        let cgroup = Cgroup::create(name)?;
        let path = cgroup.0.to_str().expect("plain text").to_string();
        let peer = peer(ipv6);
        let mut command = vec![roles::PROGRAM, roles::RECEIVER, &path, &peer, "--cgroup", &path];
        command.extend(guard);
        Session::start(&command, Some(cgroup))
    }

    /// Prepares a router with a guard, and a receiver behind it.
    pub fn prepare_router(ipv6: bool, guard: &[&str]) -> Result<Session, String> {
        let peer = peer(ipv6);
        let mut command = vec![roles::PROGRAM, roles::ROUTER, &peer, "--forward", "lan"];
        command.extend(guard);
        Session::start(&command, None)
    }

    fn start(command: &[&str], cgroup: Option<Cgroup>) -> Result<Session, String> {
        let port = PORT.to_string();
        let mut sender = side("sender", SENDER, &[roles::PROGRAM, roles::SENDER, &port])?;
        let mut receiver = side("receiver", RECEIVER, command)?;
        let wire = Wire::join(&receiver.device, &sender.device);
        for side in [&mut sender, &mut receiver] {
            side.start().expect("this program");
        }
        let mut line = String::new();
        let output = sender.process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("text");
        assert_eq!(line, "listening\n");
        let answers = BufReader::new(receiver.process.stdout.take().expect("a pipe"));
        let (last, left) = (HashMap::new(), HashSet::new());
        let mut session =
            Session { receiver, answers, last, left, taken_back: 0, wire, _sender: sender, _cgroup: cgroup };
        match session.order("guard") {
            line if line == "guarding" => Ok(session),
            refusal => {
                assert!(refusal.starts_with("airwnd-guard: "), "{refusal}");
                Err(refusal)
            }
        }
    }

    /// Gives the receiver an order; returns its answer.
    pub fn order(&mut self, order: &str) -> String {
        let input = self.receiver.process.stdin.as_mut().expect("a pipe");
        writeln!(input, "{order}").expect("a reader");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("text");
        line.trim_end().to_string()
    }

    /// Waits until this number of consecutive ACKs satisfy the condition. No right edge may move back, no window may be
    /// smaller than two segments, and no connection may stall.
    pub fn await_acks(&mut self, number: usize, what: &str, mut condition: impl FnMut(&Ack) -> bool) {
        let mut consecutive = 0;
        let mut last = None;
        let (mut heard, mut count) = (Instant::now(), 0);
        while count < PATIENCE {
            let ack = self.wire.acks.recv_timeout(SILENCE);
            let ack = ack.unwrap_or_else(|error| panic!("{what}: {error}; the last ACK is {last:?}"));
            self.check(&ack);
            // On a busy machine a connection that the guard leaves alone has most ACKs.
            if self.left.contains(&ack.connection) {
                assert!(heard.elapsed() < SILENCE, "{what}: the last ACK is {last:?}");
                continue;
            }
            (heard, count) = (Instant::now(), count + 1);
            consecutive = if condition(&ack) { consecutive + 1 } else { 0 };
            if consecutive == number {
                return;
            }
            last = Some(ack);
        }
        let state = self.order(roles::STATE);
        panic!("{what}: not after {PATIENCE} ACKs; the last is {last:?}; {state}");
    }

    /// From now on conditions are about connections that begin later.
    pub fn leave_present_ones(&mut self) {
        self.left.extend(self.last.keys());
    }

    fn check(&mut self, ack: &Ack) {
        let Ack { connection, number, window, unit, mss, .. } = *ack;
        let edge = number.wrapping_add(window);
        let former = self.last.get(&connection).copied().unwrap_or(Last { edge, number, duplicates: 0 });
        let back = former.edge.wrapping_sub(edge).cast_signed();
        // Rounding to units moves an edge by less than one.
        let allowed = self.taken_back.max(unit.cast_signed());
        assert!(back < allowed, "a right edge has moved back by {back} bytes: {ack:?}");
        let floor = 2 * (mss - TIMESTAMPS);
        assert!(window >= floor, "the window is below two segments, {floor}: {ack:?}");
        let duplicates = if number == former.number { former.duplicates + 1 } else { 0 };
        // Each segment after a lost one is answered: a window of them. What is beyond an edge that has moved back is
        // dropped and sent again.
        let unacknowledged = (self.taken_back.cast_unsigned() + window) / mss;
        assert!(duplicates <= DUPLICATES + unacknowledged * RESENT, "the connection stalls: {ack:?}");
        self.last.insert(connection, Last { edge, number, duplicates });
    }
}

/// Last segment of a connection.
#[derive(Clone, Copy)]
struct Last {
    edge: u32,
    number: u32,
    duplicates: u32,
}

fn peer(ipv6: bool) -> String {
    let address = if ipv6 { IpAddr::from(SENDER.1) } else { IpAddr::from(SENDER.0) };
    SocketAddr::new(address, PORT).to_string()
}

fn side(name: &str, (v4, v6): (Ipv4Addr, Ipv6Addr), command: &[&str]) -> Result<Side, String> {
    let mut setup = Setup::new(name, DeviceSetup::new(v4, Some(v6)));
    setup.command = command.iter().map(ToString::to_string).collect();
    setup.stdin = Stdio::Piped;
    setup.stdout = Stdio::Piped;
    Side::prepare(&roles::helper(), &setup).map_err(|error| error.to_string())
}

/// A cgroup for one test, removed at the end.
pub struct Cgroup(pub PathBuf);

impl Cgroup {
    pub fn create(name: &str) -> Result<Cgroup, String> {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .map(Path::new)
            .into_iter()
            .find(|folder| folder.join("cgroup.controllers").exists());
        let root = root.ok_or("no cgroup version 2")?;
        let path = root.join(format!("airwnd-test-{}-{name}", std::process::id()));
        fs::create_dir(&path).map_err(|why| format!("cannot create a cgroup: {why}"))?;
        Ok(Cgroup(path))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Processes of killed namespaces may still be there for a moment.
        while fs::remove_dir(&self.0).is_err_and(|why| why.raw_os_error() == Some(nix::libc::EBUSY)) {
            std::thread::yield_now();
        }
    }
}
