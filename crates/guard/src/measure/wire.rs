//! Lines and options of the sockets of both ends.

use super::protocol::LINE;
use crate::system;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest time in a system call, after which a thread looks whether it has to end.
pub(super) const STEP: Duration = Duration::from_millis(100);
/// Bytes that are sent or received at once.
pub(super) const PIECE: usize = 1 << 16;
/// Data that the kernel holds beyond its cwnd, so that a transfer ends on time.
const UNSENT: u32 = 128 * 1024;

/// Prepares a connection: no system call takes longer than [`STEP`], apart from the start of one.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(STEP))?;
    stream.set_write_timeout(Some(STEP))?;
    system::limit_unsent(stream, UNSENT)
}

/// Reads a line without its end, until a time or until `is_over`.
pub(super) fn read_line(
    mut stream: impl Read,
    until: Instant,
    is_over: impl Fn() -> bool,
) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(LINE);
    let mut byte = [0];
    // Data may follow the line: byte by byte.
    while line.len() < LINE && Instant::now() < until && !is_over() {
        match stream.read(&mut byte) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) if byte[0] == b'\n' => return Ok(line),
            Ok(_) => line.push(byte[0]),
            Err(why) if is_temporary(&why) => {}
            Err(why) => return Err(why),
        }
    }
    Err(if line.len() < LINE { ErrorKind::TimedOut } else { ErrorKind::InvalidData }.into())
}

/// Writes a line; at the start of a connection it fits the kernel's buffer.
pub(super) fn write_line(mut stream: impl Write, line: impl ToString) -> io::Result<()> {
    stream.write_all(line.to_string().as_bytes())
}

/// Whether the call may be repeated.
pub(super) fn is_temporary(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Closes a connection by a reset: data in queues are not sent again, and the kernel does not keep its slow start
/// threshold for the next connection to the same address.
pub(super) fn reset(stream: TcpStream) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(&stream, sockopt::Linger, &at_once);
}

/// Data of transfers, which a link that compresses cannot make shorter (xorshift64).
pub(super) fn payload() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_ne_bytes()
    };
    std::iter::repeat_with(word).take(PIECE / 8).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_end_and_a_bound() {
        let until = Instant::now() + Duration::from_secs(1000);
        let read = |bytes: &[u8]| read_line(bytes, until, || false).map_err(|why| why.kind());
        assert_eq!(read(b"one\ntwo\n"), Ok(b"one".to_vec()));
        assert_eq!(read(b"one"), Err(ErrorKind::UnexpectedEof));
        assert_eq!(read(&[b'a'; 1000]), Err(ErrorKind::InvalidData));
        assert_eq!(
            read_line(&b"one\n"[..], until, || true).map_err(|why| why.kind()),
            Err(ErrorKind::TimedOut)
        );
    }

    #[test]
    fn the_payload_does_not_repeat() {
        let payload = payload();
        assert_eq!(payload.len(), PIECE);
        assert_ne!(payload[..PIECE / 2], payload[PIECE / 2..]);
    }
}
