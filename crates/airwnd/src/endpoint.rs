//! Endpoints without I/O, and the loop that connects them through a path.

use crate::{Datagram, Ecn, End, Fate, Flow, Path, PathError};
use std::time::Duration;

/// Calls of one endpoint at one instant after which it is considered stuck.
const MAX_CALLS: u32 = 1_000_000;

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The datagram.
    pub datagram: Datagram,
    /// ECN field of its IP header.
    pub ecn: Ecn,
}

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The datagram.
    pub datagram: Datagram,
    /// ECN field of its IP header, which queues may have marked.
    pub ecn: Ecn,
}

/// One end of a transport connection, without I/O and without a clock, and with its application.
///
/// Most stacks that separate protocol and I/O have these methods under these or similar names. Times are those of the
/// [`Path`]. The loop calls [`poll_transmit`](Endpoint::poll_transmit) at the start, and after each call of
/// [`handle`](Endpoint::handle) or [`handle_timeout`](Endpoint::handle_timeout), until it returns `None`; then it asks
/// for [`timeout`](Endpoint::timeout).
pub trait Endpoint {
    /// Returns the next datagram to send at `now`; `None`: nothing more now. The application writes first.
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit>;

    /// Receives a datagram. The application reads what has become readable.
    fn handle(&mut self, now: Duration, received: Received);

    /// Time at which [`handle_timeout`](Endpoint::handle_timeout) is to be called; `None`: no timer is set. A time in the
    /// past counts as the present.
    fn timeout(&mut self, now: Duration) -> Option<Duration>;

    /// Handles the timers that have expired at `now`.
    fn handle_timeout(&mut self, now: Duration);

    /// Application data received so far in bytes: in order, each byte once.
    fn received(&self) -> u64 {
        0
    }

    /// Packets sent so far that repeat lost data, or packets declared lost if the stack does not count the former.
    fn retransmissions(&self) -> u64 {
        0
    }
}

/// Two endpoints of a flow.
pub struct Pair<'e> {
    /// The flow.
    pub flow: Flow,
    /// Endpoint at the UE.
    pub ue: &'e mut dyn Endpoint,
    /// Endpoint at the server.
    pub server: &'e mut dyn Endpoint,
}

impl Pair<'_> {
    fn ends(&mut self) -> [(End, &mut dyn Endpoint); 2] {
        [(self.flow.ue(), &mut *self.ue), (self.flow.server(), &mut *self.server)]
    }

    fn timeout(&mut self, now: Duration) -> Option<Duration> {
        [self.ue.timeout(now), self.server.timeout(now)].into_iter().flatten().min()
    }
}

impl Path {
    /// Connects endpoints through the path until `end`.
    ///
    /// The pairs may share a UE or have different ones. Further calls continue. Timers precede events of the network at
    /// equal times, as those of simulated endpoints do, and drops are not reported to the endpoints. At the end,
    /// [`Endpoint::received`] and [`Endpoint::retransmissions`] go into the results.
    ///
    /// # Errors
    /// An end before the present or beyond [`Path::MAX_TIME`], an unknown or closed flow, a datagram that cannot be sent, a
    /// failed simulation, or [`PathError::Stuck`]: an endpoint that sends without end at one instant, or whose timer never
    /// leaves the past.
    pub fn run(&mut self, pairs: &mut [Pair<'_>], end: Duration) -> Result<(), PathError> {
        // Endpoints that send without end would meet it after a simulated year.
        self.time(end)?;
        let mut calls = Calls { at: self.now(), left: MAX_CALLS };
        for pair in &mut *pairs {
            for (from, endpoint) in pair.ends() {
                self.transmit(from, endpoint, &mut calls)?;
            }
        }
        loop {
            let now = self.now();
            let timer =
                pairs.iter_mut().filter_map(|pair| pair.timeout(now)).min().map(|timer| timer.max(now));
            let limit = timer.filter(|timer| *timer <= end);
            let reached = match limit {
                Some(timer) => self.advance_before(timer)?,
                None => self.advance(end)?,
            };
            if self.deliver(pairs, &mut calls)? {
                continue;
            }
            match limit {
                Some(timer) if timer == reached => self.expire(pairs, timer, &mut calls)?,
                Some(_) => {}
                None if reached == end => break,
                None => {}
            }
        }
        self.report(pairs)
    }

    /// Passes the events to the endpoints. Returns whether there were any.
    fn deliver(&mut self, pairs: &mut [Pair<'_>], calls: &mut Calls) -> Result<bool, PathError> {
        let mut any = false;
        while let Some(event) = self.poll() {
            any = true;
            if event.fate != Fate::Delivered {
                continue;
            }
            let Some(pair) = pairs.iter_mut().find(|pair| pair.flow == event.to.flow) else { continue };
            let [ue, server] = pair.ends();
            let (end, endpoint) = if event.to == ue.0 { ue } else { server };
            endpoint.handle(self.now(), Received { datagram: event.datagram, ecn: event.ecn });
            self.transmit(end, endpoint, calls)?;
            // Time series have the goodput of each interval.
            self.set_received(end, endpoint.received())?;
        }
        Ok(any)
    }

    /// Calls the endpoints whose timers have expired.
    fn expire(&mut self, pairs: &mut [Pair<'_>], now: Duration, calls: &mut Calls) -> Result<(), PathError> {
        for pair in pairs {
            for (from, endpoint) in pair.ends() {
                if endpoint.timeout(now).is_some_and(|timer| timer <= now) {
                    calls.count(now, "has a timer that never leaves the past")?;
                    endpoint.handle_timeout(now);
                    self.transmit(from, endpoint, calls)?;
                }
            }
        }
        Ok(())
    }

    /// Sends all that an endpoint wants to send now.
    fn transmit(&mut self, from: End, sender: &mut dyn Endpoint, calls: &mut Calls) -> Result<(), PathError> {
        let now = self.now();
        while let Some(Transmit { datagram, ecn }) = sender.poll_transmit(now) {
            calls.count(now, "sends without end")?;
            self.send(now, from, datagram, ecn)?;
        }
        Ok(())
    }

    fn report(&mut self, pairs: &mut [Pair<'_>]) -> Result<(), PathError> {
        for pair in pairs {
            for (end, endpoint) in pair.ends() {
                self.set_received(end, endpoint.received())?;
                self.set_retransmissions(end, endpoint.retransmissions())?;
            }
        }
        Ok(())
    }
}

/// Calls left at an instant.
struct Calls {
    at: Duration,
    left: u32,
}

impl Calls {
    fn count(&mut self, now: Duration, what: &'static str) -> Result<(), PathError> {
        if now != self.at {
            *self = Calls { at: now, left: MAX_CALLS };
        }
        self.left -= 1;
        if self.left == 0 { Err(PathError::Stuck { at: now, what }) } else { Ok(()) }
    }
}
