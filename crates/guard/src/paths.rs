//! Least RTTs of paths, shared by the connections that use them.

use airwnd_units::{Span, Time};
use std::collections::HashMap;
use std::net::IpAddr;

/// A path: index of the interface, and address of the peer.
pub(crate) type PathKey = (u32, IpAddr);

/// Time after which a path that no connection uses is forgotten.
const UNUSED: Span = Span::from_secs(600);

/// Least RTT of each path.
///
/// A connection that begins while others fill the queue never sees the path without queueing. Its own minimum would be
/// too long, and it would displace the others. The minimum does not expire while the path is used: the connections that
/// are controlled keep a queue of their own, which would become part of the minimum.
#[derive(Debug, Default)]
pub(crate) struct Paths(HashMap<PathKey, Path>);

#[derive(Debug)]
struct Path {
    least: Span,
    used: Time,
}

impl Paths {
    /// Adds an RTT of a connection; returns the minimum.
    pub fn add(&mut self, now: Time, key: PathKey, rtt: Span) -> Span {
        let path = self.0.entry(key).or_insert(Path { least: rtt, used: now });
        path.used = now;
        path.least = path.least.min(rtt);
        path.least
    }

    /// Returns the minimum of a path; `None`: unknown.
    pub fn least(&self, key: PathKey) -> Option<Span> {
        self.0.get(&key).map(|path| path.least)
    }

    /// Forgets the paths over an interface, whose routes have changed.
    pub fn forget(&mut self, interface: u32) {
        self.0.retain(|(index, _), _| *index != interface);
    }

    /// Forgets paths that have not been used for long.
    pub fn expire(&mut self, now: Time) {
        self.0.retain(|_, path| now.since(path.used) < UNUSED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_minimum_until_it_changes_or_is_unused() {
        let (key, other) = ((1, [192, 0, 2, 1].into()), (2, [192, 0, 2, 1].into()));
        let mut paths = Paths::default();
        let ms = Span::from_millis;
        assert_eq!(paths.add(Time::ZERO, key, ms(30)), ms(30));
        assert_eq!(paths.add(Time::ZERO, key, ms(40)), ms(30));
        assert_eq!(paths.add(Time::ZERO + Span::from_secs(300), other, ms(50)), ms(50));
        paths.expire(Time::ZERO + Span::from_secs(601));
        assert_eq!((paths.least(key), paths.least(other)), (None, Some(ms(50))));
        paths.forget(2);
        assert_eq!(paths.least(other), None);
    }
}
