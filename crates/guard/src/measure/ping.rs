//! Pings during the whole test.

use super::protocol::{Echo, Token};
use super::results::Ping;
use crate::{Error, system};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval of pings, that of `airwnd link --battery`.
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// Sends pings until it is stopped, and notes their RTTs.
pub(super) struct Pinger {
    socket: UdpSocket,
    token: Token,
    start: Instant,
    is_stopped: AtomicBool,
    pings: Mutex<Vec<Ping>>,
}

impl Pinger {
    /// `local`: the address that the session has, since the server answers no other one.
    pub fn open(server: SocketAddr, local: IpAddr, token: Token, start: Instant) -> Result<Pinger, Error> {
        let open = || {
            let socket = UdpSocket::bind((local, 0))?;
            socket.connect(server)?;
            socket.set_nonblocking(true)?;
            // The time until this process runs, which grows with the load of the machine, is no part of an RTT.
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
            Ok(socket)
        };
        let socket =
            open().map_err(|why: io::Error| Error::failed("cannot open a socket for pings", &why))?;
        Ok(Pinger { socket, token, start, is_stopped: AtomicBool::new(false), pings: Mutex::default() })
    }

    /// Pings until [`Pinger::stop`].
    pub fn run(&self) {
        // By the real-time clock, as the kernel states arrivals.
        let mut sent = Vec::new();
        let mut due = Instant::now();
        while !self.is_stopped.load(Ordering::Relaxed) {
            if Instant::now() >= due {
                self.send(&mut sent);
                due += INTERVAL;
                continue;
            }
            let patience = due.saturating_duration_since(Instant::now()).as_millis() + 1;
            let mut events = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut events, PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO));
            while self.receive(&sent) {}
        }
    }

    /// Ends [`Pinger::run`] within an interval.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns all pings until now.
    pub fn pings(&self) -> Vec<Ping> {
        self.lock().clone()
    }

    /// Returns the RTTs of the pings that were sent since a time and have a reply, in the order of sending.
    pub fn rtts_ms_since(&self, since_s: f64) -> Vec<f64> {
        let pings = self.lock();
        let first = pings.partition_point(|ping| ping.at_s < since_s);
        pings[first..].iter().filter_map(|ping| ping.rtt_ms).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Ping>> {
        self.pings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, sent: &mut Vec<Duration>) {
        let number = sent.len() as u32;
        self.lock().push(Ping { at_s: self.start.elapsed().as_secs_f64(), rtt_ms: None });
        sent.push(system::real_time());
        let echo = Echo { is_reply: false, token: self.token, number, held: Duration::ZERO };
        // Without room in a queue the ping is lost, as on the path.
        let _ = self.socket.send(&echo.encoded());
    }

    /// Receives a datagram; returns whether there may be others.
    fn receive(&self, sent: &[Duration]) -> bool {
        let mut bytes = [0; Echo::SIZE + 1];
        let mut space = cmsg_space!(libc::timespec);
        let mut pieces = [IoSliceMut::new(&mut bytes)];
        let fd = self.socket.as_raw_fd();
        let message = match recvmsg::<()>(fd, &mut pieces, Some(&mut space), MsgFlags::empty()) {
            // An ICMP message that the other end's port is closed.
            Err(why) => return why == Errno::ECONNREFUSED || why == Errno::EINTR,
            Ok(message) => message,
        };
        let at = message.cmsgs().into_iter().flatten().find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        });
        let (at, length) = (at.unwrap_or_else(system::real_time), message.bytes);
        if let Some(echo) = Echo::parse(&bytes[..length])
            && echo.is_reply
            && echo.token == self.token
            && let Some(sent) = sent.get(echo.number as usize)
            && let Some(rtt_ms) = rtt_ms(*sent, at, echo.held)
        {
            // Of a reply that the path has duplicated the first one counts.
            self.lock()[echo.number as usize].rtt_ms.get_or_insert(rtt_ms);
        }
        true
    }
}

/// Returns an RTT without the time that the server took; `None`: the clock was set meanwhile.
fn rtt_ms(sent: Duration, at: Duration, held: Duration) -> Option<f64> {
    Some(at.checked_sub(sent)?.checked_sub(held)?.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_at_the_server_is_no_part_of_an_rtt() {
        let ms = Duration::from_millis;
        assert_eq!(rtt_ms(ms(1000), ms(1030), ms(10)), Some(20.0));
        assert_eq!(rtt_ms(ms(1000), ms(900), ms(0)), None);
        assert_eq!(rtt_ms(ms(1000), ms(1030), Duration::MAX), None);
    }
}
