//! Least RTTs of paths, shared by the connections that use them.

use airwnd_units::{Span, Time};
use std::collections::HashMap;
use std::net::IpAddr;

/// A path: index of the interface, and address of the peer.
pub(crate) type PathKey = (u32, IpAddr);

/// Most flows: `FLOWS_MAX` of `bpf/shared.h`.
pub(crate) const FLOWS_MAX: usize = 12_288;

/// Time after which a path that no connection uses is forgotten.
const UNUSED: Span = Span::from_secs(600);
/// Time without an RTT near the minimum after which it is measured again, unless the rules set another. Linux keeps a
/// minimum RTT for as long (tcp_min_rtt_wlen), and a dip of four RTTs of 100 ms each takes 0.13 % of it.
pub(crate) const CONFIRM: Span = Span::from_secs(300);
/// Share of that time after which a new path is measured for the first time, whatever its RTT: all its connections may
/// have begun behind a queue. It is also the shortest time between two dips.
const FIRST: u64 = 10;
/// Length of a dip in RTTs of the connection that begins it. The first two drain the queue, since an offered window is
/// not taken back.
const DIP_ROUNDS: u64 = 4;
/// Shortest dip: that of BBR (draft-cardwell-iccrg-bbr-congestion-control-02 §4.3.5, ProbeRTTDuration).
const SHORTEST_DIP: Span = Span::from_millis(200);
/// Most paths; each flow has two halves.
const PATHS_MAX: usize = 2 * FLOWS_MAX;
/// Reciprocal of the share by which RTTs near the minimum exceed it.
const NEAR: u64 = 8;

/// Least RTT of each path.
///
/// A connection that begins while others fill the queue never sees the path without queueing. Its own minimum would be
/// too long, and it would displace the others. The minimum does not just expire: connections that are controlled keep a
/// queue of their own, which would become part of the next minimum, and so on. When no RTT has been near the minimum
/// for some time, all connections over the interface have a small window for a few RTTs, a dip. The minimum within the
/// dip then replaces the former one, if it is longer.
#[derive(Debug)]
pub(crate) struct Paths {
    paths: HashMap<PathKey, Path>,
    /// The current or last dip of each interface.
    dips: HashMap<u32, Dip>,
    /// Time without an RTT near the minimum after which it is measured again.
    pub confirm: Span,
}

#[derive(Debug)]
struct Path {
    min: Span,
    known: Time,
    /// Whether the minimum has been measured in a dip.
    is_measured: bool,
    used: Time,
    /// Time of the last RTT near the minimum.
    confirmed: Time,
    /// Least RTT since the queue was drained, in a dip.
    drained: Option<Span>,
    /// Number of times that a longer minimum has replaced the former one.
    changes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Dip {
    from: Time,
    drained: Time,
    until: Time,
    is_over: bool,
}

impl Paths {
    pub fn new(confirm: Span) -> Paths {
        Paths { paths: HashMap::new(), dips: HashMap::new(), confirm }
    }

    /// Adds an RTT of a connection.
    pub fn add(&mut self, now: Time, key: PathKey, rtt: Span) {
        let new = Path {
            min: rtt,
            known: now,
            is_measured: false,
            used: now,
            confirmed: now,
            drained: None,
            changes: 0,
        };
        if self.paths.len() >= PATHS_MAX && !self.paths.contains_key(&key) {
            self.make_room();
        }
        let path = self.paths.entry(key).or_insert(new);
        path.used = now;
        path.min = path.min.min(rtt);
        if is_near(rtt, path.min) {
            path.confirmed = now;
        }
        if self.dips.get(&key.0).is_some_and(|dip| now >= dip.drained && !dip.is_over) {
            path.drained = Some(path.drained.map_or(rtt, |known| known.min(rtt)));
        }
    }

    /// Forgets the half of the paths that has not been used for longest.
    fn make_room(&mut self) {
        let mut used: Vec<Time> = self.paths.values().map(|path| path.used).collect();
        let (_, middle, _) = used.select_nth_unstable(PATHS_MAX / 2);
        let middle = *middle;
        self.paths.retain(|_, path| path.used > middle);
    }

    /// Returns the minimum of a path; `None`: unknown.
    pub fn min(&self, key: PathKey) -> Option<Span> {
        self.paths.get(&key).map(|path| path.min)
    }

    /// Returns how often a longer minimum has replaced the former one.
    pub fn changes(&self, key: PathKey) -> u32 {
        self.paths.get(&key).map_or(0, |path| path.changes)
    }

    /// Begins a dip if the minimum must be measured again, and ends one that is over. `rtt`: current RTT of a
    /// connection with a lowered window.
    pub fn measure_again(&mut self, now: Time, key: PathKey, rtt: Span) {
        self.end_dip(now, key.0);
        let first = self.confirm / FIRST;
        let is_stale = self.paths.get(&key).is_some_and(|path| {
            let is_new = !path.is_measured && now.since(path.known) >= first;
            is_new || now.since(path.confirmed) >= self.confirm
        });
        let is_allowed = self.dips.get(&key.0).is_none_or(|dip| dip.is_over && now.since(dip.until) >= first);
        if is_stale && is_allowed {
            let length = (rtt * DIP_ROUNDS).max(SHORTEST_DIP);
            let dip = Dip { from: now, drained: now + length / 2, until: now + length, is_over: false };
            self.dips.insert(key.0, dip);
        }
    }

    /// Returns whether the connections over this interface are to have a small window now.
    pub fn is_dip(&self, now: Time, interface: u32) -> bool {
        self.dips.get(&interface).is_some_and(|dip| now < dip.until)
    }

    /// Returns beginning and end of the current or last dip of an interface; `None`: none for some time.
    pub fn last_dip(&self, interface: u32) -> Option<(Time, Time)> {
        self.dips.get(&interface).map(|dip| (dip.from, dip.until))
    }

    fn end_dip(&mut self, now: Time, interface: u32) {
        let Some(dip) = self.dips.get_mut(&interface).filter(|dip| !dip.is_over && now >= dip.until) else {
            return;
        };
        dip.is_over = true;
        for (_, path) in self.paths.iter_mut().filter(|((index, _), _)| *index == interface) {
            let Some(min) = path.drained.take() else { continue };
            path.confirmed = now;
            path.is_measured = true;
            if !is_near(min, path.min) {
                path.min = min;
                path.changes += 1;
            }
        }
    }

    /// Forgets the paths over an interface, whose routes have changed.
    pub fn forget(&mut self, interface: u32) {
        self.paths.retain(|(index, _), _| *index != interface);
        self.dips.remove(&interface);
    }

    /// Forgets paths that have not been used for long.
    pub fn expire(&mut self, now: Time) {
        self.paths.retain(|_, path| now.since(path.used) < UNUSED);
        self.dips.retain(|_, dip| now.since(dip.until) < UNUSED);
    }
}

fn is_near(rtt: Span, min: Span) -> bool {
    rtt <= min + min / NEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: PathKey = (1, IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_path_keeps_its_minimum_until_it_changes_or_is_unused() {
        let (key, other) = (KEY, (2, KEY.1));
        let mut paths = Paths::new(CONFIRM);
        let ms = Span::from_millis;
        paths.add(Time::ZERO, key, ms(30));
        paths.add(Time::ZERO, key, ms(40));
        assert_eq!(paths.min(key), Some(ms(30)));
        paths.add(Time::ZERO + Span::from_secs(300), other, ms(50));
        paths.expire(Time::ZERO + Span::from_secs(601));
        assert_eq!((paths.min(key), paths.min(other)), (None, Some(ms(50))));
        paths.forget(2);
        assert_eq!(paths.min(other), None);
    }

    /// Uses a path for ten minutes with a queue that makes its RTT `queued`, and `drained` in dips; returns the minimum
    /// at the end and the number of milliseconds in dips. `first`: the first RTT.
    fn after_ten_minutes(first: Span, queued: Span, drained: Span) -> (Span, u64) {
        let mut paths = Paths::new(CONFIRM);
        paths.add(at(0), KEY, first);
        let mut dips = 0;
        let mut since = 0;
        for ms in 1..600_000 {
            paths.measure_again(at(ms), KEY, queued);
            let is_dip = paths.is_dip(at(ms), KEY.0);
            dips += u64::from(is_dip);
            since = if is_dip { since + 1 } else { 0 };
            // The queue takes an RTT to drain.
            let rtt = if since * 1_000_000 > queued.0 { drained } else { queued };
            paths.add(at(ms), KEY, rtt);
        }
        (paths.min(KEY).unwrap(), dips)
    }

    #[test]
    fn a_longer_path_is_learned_and_a_standing_queue_is_not() {
        let after = |first, queued, drained| {
            let [first, queued, drained] = [first, queued, drained].map(Span::from_millis);
            after_ten_minutes(first, queued, drained)
        };
        // The first dip after 30 s, the second 300 s after it.
        assert_eq!(after(20, 60, 20), (Span::from_millis(20), 2 * 4 * 60));
        assert_eq!(after(20, 150, 50), (Span::from_millis(50), 2 * 4 * 150));
        // Near the minimum after the first dip, which takes 200 ms at least.
        assert_eq!(after(20, 22, 22), (Span::from_millis(20), 200));
    }

    #[test]
    fn a_minimum_that_was_learned_behind_a_queue_is_measured_once() {
        let ms = Span::from_millis;
        // All connections have begun behind 60 ms, and keep 5 ms more: near the false minimum.
        assert_eq!(after_ten_minutes(ms(80), ms(85), ms(20)).0, ms(20));
    }

    #[test]
    fn a_dip_without_an_rtt_is_not_repeated_at_once() {
        let mut paths = Paths::new(Span::from_secs(10));
        paths.add(at(0), KEY, Span::from_millis(20));
        let mut is_dip = |ms: &u64| {
            paths.measure_again(at(*ms), KEY, Span::from_millis(20));
            paths.is_dip(at(*ms), KEY.0)
        };
        // After 1 s and, 1 s after its end, again.
        assert_eq!((0..3000).filter(&mut is_dip).count(), 400);
        assert_eq!(paths.last_dip(KEY.0), Some((at(2200), at(2400))));
        assert_eq!(paths.last_dip(KEY.0 + 1), None);
    }
}
