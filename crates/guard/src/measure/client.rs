//! Connections of `guard test`.

use super::protocol::{Answer, Request, Token, Transfer};
use super::results::Point;
use super::wire::{self, PIECE, is_temporary};
use crate::{Error, system};
use nix::sys::socket::{MsgFlags, getsockopt, recv, sockopt};
use std::io::{self, ErrorKind, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time for a connection, and for the answer to a request, which other data may delay.
const CONNECT: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A session at a server; the token is valid as long as the value lives.
pub(super) struct Session {
    _stream: TcpStream,
    pub server: SocketAddr,
    pub local: SocketAddr,
    pub token: Token,
    /// Congestion control of downloads, and of uploads.
    pub congestion_control: [String; 2],
}

impl Session {
    /// Connects to the first address of the server that answers.
    pub fn open(name: &str, host: &str, port: u16) -> Result<Session, Error> {
        let failed = |why: io::Error| Error::failed(format!("server {name}"), &why);
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
        let mut last = io::Error::from(ErrorKind::NotFound);
        for server in addresses {
            match TcpStream::connect_timeout(&server, CONNECT) {
                Ok(stream) => return Session::begin(name, stream, server),
                Err(why) => last = why,
            }
        }
        let what = format!("server {name}: nothing answers at TCP port {port}; it needs: airwnd guard serve");
        Err(Error::failed(what, &last))
    }

    fn begin(name: &str, stream: TcpStream, server: SocketAddr) -> Result<Session, Error> {
        let failed = |why: io::Error| Error::failed(format!("server {name}"), &why);
        wire::prepare(&stream).map_err(failed)?;
        wire::write_line(&stream, Request::Session).map_err(failed)?;
        let answer = receive_answer(&stream).map_err(|why| match why {
            // A server of another version closes the connection.
            Failure::Io(why) if why.kind() == ErrorKind::UnexpectedEof => Failure::Protocol.of_server(name),
            why => why.of_server(name),
        })?;
        let Answer::Session { token, congestion_control } = answer else {
            return Err(Failure::Protocol.of_server(name));
        };
        let control = getsockopt(&stream, sockopt::TcpCongestion).unwrap_or_default();
        let own = control.to_string_lossy().trim_end_matches('\0').to_string();
        Ok(Session {
            local: stream.local_addr().map_err(failed)?,
            _stream: stream,
            server,
            token,
            congestion_control: [congestion_control, own],
        })
    }

    /// Makes connections, which the cgroup of this process has at this moment. At the same time, as the server waits for
    /// their requests, and a round trip may be long.
    pub fn connect(&self, number: usize) -> io::Result<Vec<TcpStream>> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&self.server, CONNECT)?;
            wire::prepare(&stream)?;
            Ok(stream)
        };
        thread::scope(|scope| {
            let made: Vec<_> = (0..number).map(|_| scope.spawn(connect)).collect();
            made.into_iter().map(|each| each.join().expect("a connection is made or refused")).collect()
        })
    }
}

/// Why a server gives no answer that can be used.
#[derive(Debug)]
pub(super) enum Failure {
    Io(io::Error),
    Refused(String),
    Protocol,
}

impl Failure {
    pub fn of_server(&self, name: &str) -> Error {
        match self {
            Failure::Io(why) => Error::failed(format!("server {name}"), why),
            Failure::Refused(reason) => Error::new(format!("server {name} refuses the test: {reason}")),
            Failure::Protocol => {
                Error::new(format!("server {name}: not a server of this version of airwnd guard test"))
            }
        }
    }
}

fn receive_answer(stream: &TcpStream) -> Result<Answer, Failure> {
    let line = wire::read_line(stream, Instant::now() + PATIENCE, || false).map_err(Failure::Io)?;
    match Answer::parse(&line).ok_or(Failure::Protocol)? {
        // Words of a server reach the terminal: the parser accepts printable ones only.
        Answer::Refused { reason } => Err(Failure::Refused(reason)),
        answer => Ok(answer),
    }
}

/// A transfer.
pub(super) struct Flow {
    pub transfer: Transfer,
    stream: TcpStream,
    received: AtomicU64,
    acked_before: u64,
    is_ended: AtomicBool,
}

impl Flow {
    /// Begins transfers of the same length. All requests precede all answers, as the data of one transfer delay the
    /// answer to another.
    pub fn begin(streams: Vec<(TcpStream, Transfer, Duration)>, token: Token) -> Result<Vec<Flow>, Failure> {
        for (stream, transfer, length) in &streams {
            let (transfer, length) = (*transfer, *length);
            let request = Request::Transfer { transfer, token, length };
            wire::write_line(stream, request).map_err(Failure::Io)?;
        }
        let begun = |(stream, transfer, _)| match receive_answer(&stream)? {
            Answer::Begin => {
                let acked_before = system::bytes_acked(&stream).map_err(Failure::Io)?;
                let (received, is_ended) = (AtomicU64::new(0), AtomicBool::new(false));
                Ok(Flow { transfer, stream, received, acked_before, is_ended })
            }
            _ => Err(Failure::Protocol),
        };
        streams.into_iter().map(begun).collect()
    }

    /// Sends or receives until it is stopped or the connection has ended.
    pub fn run(&self, payload: &[u8], is_stopped: &AtomicBool) {
        let mut buffer = vec![0; PIECE];
        while !is_stopped.load(Ordering::Relaxed) {
            let outcome = match self.transfer {
                // The kernel counts the data and does not copy them (tcp(7), MSG_TRUNC).
                Transfer::Download => {
                    recv(self.stream.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC).map_err(io::Error::from)
                }
                Transfer::Upload => (&self.stream).write(payload),
            };
            match outcome {
                Ok(0) => break,
                Ok(length) if self.transfer == Transfer::Download => {
                    self.received.fetch_add(length as u64, Ordering::Relaxed);
                }
                Err(why) if !is_temporary(&why) => break,
                Ok(_) | Err(_) => {}
            }
        }
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// Whether [`Flow::run`] has returned.
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Payload until now.
    fn bytes(&self) -> u64 {
        match self.transfer {
            Transfer::Download => self.received.load(Ordering::Relaxed),
            // A connection that was reset has no information any more.
            Transfer::Upload => {
                system::bytes_acked(&self.stream).unwrap_or_default().saturating_sub(self.acked_before)
            }
        }
    }

    /// Ends the transfer; returns what the server has received of an upload, if it reports that.
    pub fn end(self) -> Option<u64> {
        // The server reports at the end of its time or of the data.
        let _ = self.stream.shutdown(Shutdown::Write);
        let report = (self.transfer == Transfer::Upload).then(|| receive_answer(&self.stream).ok()).flatten();
        wire::reset(self.stream);
        match report {
            Some(Answer::Received { bytes }) => Some(bytes),
            _ => None,
        }
    }
}

/// Returns the payload of all transfers of a direction at a time.
pub(super) fn point(flows: &[Flow], transfer: Transfer, at_s: f64) -> Point {
    let bytes = flows.iter().filter(|flow| flow.transfer == transfer).map(Flow::bytes).sum();
    Point { at_s, bytes }
}
