//! A connection: its request, and the transfer.

use super::Shared;
use super::registry::{LONGEST, Network, Session, Share};
use crate::measure::protocol::{Answer, Request, Token, Transfer};
use crate::measure::wire::{self, PIECE, is_temporary};
use nix::sys::socket::{MsgFlags, getsockopt, recv, sockopt};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// Time for a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time in which a client reads the report on its upload.
const GRACE: Duration = Duration::from_secs(5);

/// Serves a connection that was admitted.
pub(super) fn serve(mut stream: TcpStream, peer: IpAddr, shared: &Shared) {
    let network = Network::of(peer);
    let request = receive_request(&mut stream, shared);
    shared.registry().no_longer_waits(network);
    let outcome = match request {
        Ok(Some(Request::Session)) => hold_session(&mut stream, network, shared),
        Ok(Some(Request::Transfer { transfer, token, length })) => {
            // The registry is locked for this statement only.
            let share = shared.registry().share(token, network, shared.now());
            match share {
                Ok(share) => run(&mut stream, transfer, length, &share, shared),
                Err(reason) => refuse(&mut stream, reason),
            }
        }
        Ok(None) => Err("not a request of this protocol".to_string()),
        // Scanners of ports connect and say nothing.
        Err(why) if why.kind() == ErrorKind::UnexpectedEof => Ok(()),
        Err(why) => Err(format!("no request: {why}")),
    };
    if let Err(why) = outcome {
        shared.log(&format!("{}: {why}", peer.to_canonical()));
    }
    wire::reset(stream);
}

fn receive_request(stream: &mut TcpStream, shared: &Shared) -> io::Result<Option<Request>> {
    wire::prepare(stream)?;
    let line = wire::read_line(stream, Instant::now() + PATIENCE, || shared.is_ended());
    match line {
        Err(why) if why.kind() == ErrorKind::InvalidData => Ok(None),
        line => Ok(Request::parse(&line?)),
    }
}

fn refuse(stream: &mut TcpStream, reason: &str) -> Result<(), String> {
    let answer = Answer::Refused { reason: reason.to_string() };
    // A client that has gone needs no answer.
    let _ = wire::write_line(&*stream, &answer);
    linger(stream, || false);
    Err(format!("refused: {reason}"))
}

/// Keeps a token valid while the client keeps its connection.
fn hold_session(stream: &mut TcpStream, network: Network, shared: &Shared) -> Result<(), String> {
    let token = random_token().map_err(|why| format!("no random numbers: {why}"))?;
    let begun = shared.registry().begin(token, network, shared.now());
    let session = match begun {
        Ok(session) => session,
        Err(reason) => return refuse(stream, reason),
    };
    let outcome = keep(stream, token, &session, shared);
    shared.registry().end(token);
    outcome
}

fn keep(stream: &mut TcpStream, token: Token, session: &Session, shared: &Shared) -> Result<(), String> {
    let control = getsockopt(&*stream, sockopt::TcpCongestion).unwrap_or_default();
    let congestion_control = control.to_string_lossy().trim_end_matches('\0').to_string();
    let congestion_control =
        if congestion_control.is_empty() { "unknown".to_string() } else { congestion_control };
    let answer = Answer::Session { token, congestion_control };
    if wire::write_line(&*stream, &answer).is_err() {
        return Ok(());
    }
    let until = Instant::now() + LONGEST;
    while Instant::now() < until && !shared.is_ended() && !session.is_silent(shared.now()) {
        match stream.read(&mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err("data in a session".to_string()),
            Err(why) if is_temporary(&why) => {}
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn random_token() -> io::Result<Token> {
    let mut bytes = [0; Token::SIZE];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Token(bytes))
}

fn run(
    stream: &mut TcpStream,
    transfer: Transfer,
    length: Duration,
    share: &Share,
    shared: &Shared,
) -> Result<(), String> {
    if wire::write_line(&*stream, Answer::Begin).is_err() {
        return Ok(());
    }
    let until = Instant::now() + length;
    let is_over = || Instant::now() >= until || share.is_ended() || shared.is_ended();
    let is_within = match transfer {
        Transfer::Download => send(stream, share, &shared.payload, is_over),
        Transfer::Upload => sink(stream, share, is_over),
    };
    if is_within { Ok(()) } else { Err("a session has used all of its bytes".to_string()) }
}

/// Sends data; returns false if the session has no bytes left.
fn send(stream: &mut TcpStream, share: &Share, payload: &[u8], is_over: impl Fn() -> bool) -> bool {
    while !is_over() {
        let granted = share.take(payload.len() as u64) as usize;
        if granted == 0 {
            return false;
        }
        match stream.write(&payload[..granted]) {
            Ok(_) => {}
            Err(why) if is_temporary(&why) => {}
            Err(_) => return true,
        }
    }
    true
}

/// Receives data and reports their number; returns false if the session has no bytes left.
fn sink(stream: &mut TcpStream, share: &Share, is_over: impl Fn() -> bool) -> bool {
    let mut buffer = vec![0; PIECE];
    let (mut bytes, mut is_within) = (0, true);
    while is_within && !is_over() {
        match discard(stream, &mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                bytes += length as u64;
                is_within = share.take(length as u64) > 0;
            }
            Err(why) if is_temporary(&why) => {}
            Err(_) => return true,
        }
    }
    if wire::write_line(&*stream, Answer::Received { bytes }).is_ok() {
        linger(stream, || share.is_ended());
    }
    is_within
}

/// Waits until the other end has read all and closes. A reset before that would discard what it has not read.
fn linger(stream: &mut TcpStream, is_over: impl Fn() -> bool) {
    let until = Instant::now() + GRACE;
    let mut buffer = [0; 4096];
    let _ = stream.shutdown(Shutdown::Write);
    while Instant::now() < until && !is_over() {
        match discard(stream, &mut buffer) {
            Ok(0) => return,
            Err(why) if !is_temporary(&why) => return,
            Ok(_) | Err(_) => {}
        }
    }
}

/// Receives data without copying them (tcp(7), MSG_TRUNC).
fn discard(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(stream.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC)?)
}
