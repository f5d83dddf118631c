//! Limits of the server per client and in total.

use crate::measure::protocol::Token;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Longest session: the longest test, with pauses in which queues drain.
pub(super) const LONGEST: Duration = Duration::from_secs(1200);
/// A session without pings and transfers ends after this time: its client has gone.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// Transfers of a session at the same time: sixteen in each direction, and those that end.
const TRANSFERS: usize = 64;
/// Connections without a request at the same time, in all and of one network.
const WAITING: usize = 128;
const WAITING_OF_ONE: usize = 64;
/// Replies to the pings of a session per second.
const ECHOES: u32 = 100;

/// Bounds that the operator chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Sessions at the same time.
    pub clients: usize,
    /// Bytes of a session, in both directions.
    pub bytes: u64,
}

/// Addresses that count as one client: an IPv4 address, or a network of 64 bits, in which an IPv6 host chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Network(IpAddr);

impl Network {
    pub fn of(address: IpAddr) -> Network {
        Network(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

/// A client with a token.
#[derive(Debug)]
pub(super) struct Session {
    network: Network,
    is_ended: AtomicBool,
    transfers: AtomicUsize,
    bytes_left: AtomicU64,
    /// Time of the last ping or transfer since the start of the server.
    seen_ms: AtomicU64,
}

impl Session {
    /// Takes up to this number of bytes from the session's budget; returns how many are granted.
    pub fn take(&self, bytes: u64) -> u64 {
        let take = |left: u64| Some(left - left.min(bytes));
        let left = self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.unwrap_or_else(|left| left).min(bytes)
    }

    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    pub fn is_silent(&self, now: Duration) -> bool {
        let seen = Duration::from_millis(self.seen_ms.load(Ordering::Relaxed));
        now.saturating_sub(seen) > SILENCE && self.transfers.load(Ordering::Relaxed) == 0
    }

    fn see(&self, now: Duration) {
        self.seen_ms.store(now.as_millis() as u64, Ordering::Relaxed);
    }
}

/// Belongs to a transfer as long as it runs.
#[derive(Debug)]
pub(super) struct Share(Arc<Session>);

impl std::ops::Deref for Share {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.transfers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Echoes of a session within a second.
#[derive(Debug, Default)]
struct Rate {
    second: u64,
    count: u32,
}

/// Connections without a request, and sessions. Times are those since the start of the server.
#[derive(Debug)]
pub(super) struct Registry {
    limits: Limits,
    waiting: HashMap<Network, usize>,
    sessions: HashMap<Token, (Arc<Session>, Rate)>,
}

impl Registry {
    pub fn new(limits: Limits) -> Registry {
        Registry { limits, waiting: HashMap::new(), sessions: HashMap::new() }
    }

    /// Notes a new connection; returns whether there is room for it.
    pub fn admit(&mut self, network: Network) -> bool {
        let all: usize = self.waiting.values().sum();
        let own = self.waiting.get(&network).copied().unwrap_or_default();
        let has_room = all < WAITING && own < WAITING_OF_ONE;
        if has_room {
            self.waiting.insert(network, own + 1);
        }
        has_room
    }

    /// A connection that was admitted has a request, or has ended without one.
    pub fn no_longer_waits(&mut self, network: Network) {
        match self.waiting.get_mut(&network) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.waiting.remove(&network)),
        }
    }

    /// Begins a session. A network has at most half of them.
    pub fn begin(
        &mut self,
        token: Token,
        network: Network,
        now: Duration,
    ) -> Result<Arc<Session>, &'static str> {
        let own = self.sessions.values().filter(|(session, _)| session.network == network).count();
        if self.sessions.len() >= self.limits.clients || own >= self.limits.clients.div_ceil(2) {
            return Err("other tests are running");
        }
        let session = Arc::new(Session {
            network,
            is_ended: AtomicBool::new(false),
            transfers: AtomicUsize::new(0),
            bytes_left: AtomicU64::new(self.limits.bytes),
            seen_ms: AtomicU64::new(now.as_millis() as u64),
        });
        self.sessions.insert(token, (session.clone(), Rate::default()));
        Ok(session)
    }

    /// Ends a session: its transfers end, and its token is worth nothing.
    pub fn end(&mut self, token: Token) {
        if let Some((session, _)) = self.sessions.remove(&token) {
            session.is_ended.store(true, Ordering::Relaxed);
        }
    }

    /// Begins a transfer.
    pub fn share(&self, token: Token, network: Network, now: Duration) -> Result<Share, &'static str> {
        let session = self.sessions.get(&token).map(|(session, _)| session);
        let session = session.filter(|session| session.network == network).ok_or("unknown token")?;
        if session.transfers.fetch_add(1, Ordering::Relaxed) >= TRANSFERS {
            session.transfers.fetch_sub(1, Ordering::Relaxed);
            return Err("too many transfers");
        }
        session.see(now);
        Ok(Share(session.clone()))
    }

    /// Whether a ping is answered.
    pub fn may_echo(&mut self, token: Token, network: Network, now: Duration) -> bool {
        let Some((session, rate)) = self.sessions.get_mut(&token) else { return false };
        if session.network != network {
            return false;
        }
        session.see(now);
        if rate.second != now.as_secs() {
            *rate = Rate { second: now.as_secs(), count: 0 };
        }
        rate.count = rate.count.saturating_add(1);
        rate.count <= ECHOES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    fn registry() -> Registry {
        Registry::new(Limits { clients: 4, bytes: 1000 })
    }

    fn network(text: &str) -> Network {
        Network::of(text.parse().unwrap())
    }

    fn token(number: u8) -> Token {
        Token([number; Token::SIZE])
    }

    #[test]
    fn addresses_of_one_client_are_one_network() {
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }

    #[test]
    fn connections_without_a_request_are_bounded() {
        let mut registry = registry();
        let (own, other, third) = (network("192.0.2.1"), network("192.0.2.2"), network("192.0.2.3"));
        assert_eq!((0..100).filter(|_| registry.admit(own)).count(), 64);
        assert_eq!((0..100).filter(|_| registry.admit(other)).count(), 64);
        assert!(!registry.admit(third));
        registry.no_longer_waits(own);
        assert!(registry.admit(third));
        for network in [own, other, third].repeat(100) {
            registry.no_longer_waits(network);
        }
        assert!(registry.waiting.is_empty(), "nothing is kept of those that have gone");
    }

    #[test]
    fn a_network_has_half_of_the_sessions() {
        let mut registry = registry();
        let [own, other, third] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(network);
        for (number, network, is_admitted) in [
            (0, own, true),
            (1, own, true),
            (2, own, false),
            (3, other, true),
            (4, other, true),
            (5, third, false),
        ] {
            assert_eq!(registry.begin(token(number), network, NOW).is_ok(), is_admitted, "{number}");
        }
        registry.end(token(0));
        assert!(registry.begin(token(5), third, NOW).is_ok());
    }

    #[test]
    fn a_token_is_worth_something_from_its_network_only_and_until_its_end() {
        let mut registry = registry();
        let (own, other) = (network("192.0.2.1"), network("192.0.2.2"));
        let session = registry.begin(token(1), own, NOW).unwrap();
        assert!(registry.may_echo(token(1), own, NOW));
        assert!(!registry.may_echo(token(1), other, NOW) && !registry.may_echo(token(2), own, NOW));
        let share = registry.share(token(1), own, NOW).unwrap();
        assert_eq!(registry.share(token(1), other, NOW).unwrap_err(), "unknown token");
        assert_eq!((share.take(600), share.take(600), share.take(1)), (600, 400, 0));
        registry.end(token(1));
        assert!(session.is_ended() && !registry.may_echo(token(1), own, NOW));
        assert_eq!(registry.share(token(1), own, NOW).unwrap_err(), "unknown token");
    }

    #[test]
    fn transfers_and_echoes_of_a_session_are_bounded() {
        let mut registry = registry();
        let own = network("2001:db8::1");
        let session = registry.begin(token(1), own, NOW).unwrap();
        let shares: Vec<Share> = (0..100).map_while(|_| registry.share(token(1), own, NOW).ok()).collect();
        assert_eq!(shares.len(), 64);
        let much_later = NOW + 2 * SILENCE;
        assert!(!session.is_silent(much_later), "a transfer runs");
        drop(shares);
        assert!(registry.share(token(1), own, NOW).is_ok());
        assert_eq!((0..1000).filter(|_| registry.may_echo(token(1), own, NOW)).count(), 100);
        assert!(registry.may_echo(token(1), own, NOW + Duration::from_secs(1)));
        assert!(session.is_silent(much_later) && !session.is_silent(NOW + SILENCE));
    }
}
