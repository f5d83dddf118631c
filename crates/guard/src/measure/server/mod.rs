//! `serve`: the other end of `guard test`.
//!
//! Strangers may reach it. Connections, sessions, their times and bytes are bounded; a datagram is answered by one of
//! the same size, and only if it carries the token of a session from the same address.

mod echo;
mod registry;
mod transfer;

use super::wire;
use crate::signals::Signals;
use crate::{Error, privileges};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::Signal;
pub(crate) use registry::Limits;
use registry::{Network, Registry};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// Stack of the thread of a connection.
const STACK: usize = 128 << 10;
/// Pause after which the server looks whether it has to end, and a pause if the system has no room for connections.
const STEP_MS: u16 = 100;
/// Interval between lines about strangers.
const COMPLAINTS: Duration = Duration::from_secs(1);

/// Serves until SIGINT or SIGTERM; `None`: all addresses.
pub(crate) fn run(address: Option<SocketAddr>, limits: Limits) -> Result<(), Error> {
    let signals = Signals::open()?;
    let server = Server::open(address, limits)?;
    privileges::give_up(0, || true)?;
    eprintln!("serving at {}, TCP and UDP", server.address()?);
    server.serve(signals.as_fd(), || matches!(signals.arrived(), Some(signal) if signal != Signal::SIGHUP))
}

/// A server that has its sockets.
pub(super) struct Server {
    listener: TcpListener,
    echo: UdpSocket,
    shared: Shared,
}

/// State shared by the threads of connections.
struct Shared {
    start: Instant,
    registry: Mutex<Registry>,
    payload: Vec<u8>,
    is_ended: AtomicBool,
    complaints: Mutex<Complaints>,
}

#[derive(Default)]
struct Complaints {
    last: Option<Instant>,
    untold: u64,
}

impl Shared {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the start of the server.
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Prints a line, at most one per second: strangers must not fill a log.
    fn log(&self, line: &str) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = complaints.line(line, Instant::now()) {
            eprintln!("{line}");
        }
    }
}

impl Complaints {
    /// Returns what is printed.
    fn line(&mut self, line: &str, now: Instant) -> Option<String> {
        if self.last.is_some_and(|last| now.duration_since(last) < COMPLAINTS) {
            self.untold += 1;
            return None;
        }
        self.last = Some(now);
        Some(match std::mem::take(&mut self.untold) {
            0 => line.to_string(),
            untold => format!("{line}; {untold} other lines were left out"),
        })
    }
}

impl Server {
    /// Opens both sockets. Without an address: all of IPv6 and IPv4, or of IPv4 if the system has no IPv6.
    pub fn open(address: Option<SocketAddr>, limits: Limits) -> Result<Server, Error> {
        let all = |ip: IpAddr| SocketAddr::new(ip, super::protocol::PORT);
        let bind = |address: SocketAddr| {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            // Port 0 is a free one, which must be the same for both.
            let echo = echo::open(SocketAddr::new(address.ip(), listener.local_addr()?.port()))?;
            Ok((listener, echo))
        };
        let (listener, echo) = match address {
            Some(address) => bind(address),
            None => {
                bind(all(Ipv6Addr::UNSPECIFIED.into())).or_else(|_| bind(all(Ipv4Addr::UNSPECIFIED.into())))
            }
        }
        .map_err(|why: std::io::Error| {
            let address = address.unwrap_or(all(Ipv4Addr::UNSPECIFIED.into()));
            Error::failed(format!("--listen {address}"), &why)
        })?;
        let shared = Shared {
            start: Instant::now(),
            registry: Mutex::new(Registry::new(limits)),
            payload: wire::payload(),
            is_ended: AtomicBool::new(false),
            complaints: Mutex::default(),
        };
        Ok(Server { listener, echo, shared })
    }

    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr().map_err(|why| Error::failed("the server's socket", &why))
    }

    /// Serves until `is_over`, which is called when `wake` is readable and ten times a second.
    pub fn serve(&self, wake: impl AsFd, is_over: impl Fn() -> bool) -> Result<(), Error> {
        let outcome = thread::scope(|scope| {
            let outcome = self.accept_until(scope, wake, is_over);
            self.shared.is_ended.store(true, Ordering::Relaxed);
            outcome
        });
        outcome.map_err(|why| Error::failed("cannot wait for connections", &why))
    }

    fn accept_until<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        wake: impl AsFd,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Errno> {
        while !is_over() {
            let sockets = [wake.as_fd(), self.listener.as_fd(), self.echo.as_fd()];
            let mut events = sockets.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            match poll(&mut events, STEP_MS) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(why) => return Err(why),
            }
            echo::answer(&self.echo, &self.shared);
            match self.listener.accept() {
                Ok((stream, peer)) => self.admit(scope, stream, peer.ip()),
                Err(why) if wire::is_temporary(&why) => {}
                Err(why) => {
                    self.shared.log(&format!("cannot accept a connection: {why}"));
                    // Without descriptors the connection stays, and the listener readable.
                    thread::sleep(Duration::from_millis(STEP_MS.into()));
                }
            }
        }
        Ok(())
    }

    fn admit<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, stream: TcpStream, peer: IpAddr) {
        let network = Network::of(peer);
        if !self.shared.registry().admit(network) {
            self.shared.log("too many connections without a request");
            return;
        }
        let serve = move || transfer::serve(stream, peer, &self.shared);
        if let Err(why) = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, serve) {
            self.shared.registry().no_longer_waits(network);
            self.shared.log(&format!("no thread for a connection: {why}"));
        }
    }
}

#[cfg(test)]
mod tests;
