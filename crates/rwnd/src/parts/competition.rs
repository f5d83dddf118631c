//! Recognition of a queue that others keep.

use super::beside::{Beside, Traffic};
use crate::Device;
use airwnd_units::{Bytes, Span, Time};

/// Consecutive round trips with a queue after which it may be that of others. In the first, data arrives that earlier
/// windows allowed; a drop of the link's rate needs one or two more until the smaller window has drained the queue.
const MIN_ROUNDS: usize = 4;
/// Round trips that are compared, so that a window that falls by a tenth in each is noticed as well.
const ROUNDS: usize = 8;
/// Share to which the rate must have fallen within them.
const FALL: f64 = 0.5;
/// Share of a peak that remains in force a round trip later: half after 138.
const PEAK_KEPT: f64 = 0.995;
/// Consecutive round trips with a queue after which it is that of the device's other traffic: if that has grown, and if it
/// has had the same rate.
const GROWN_ROUNDS: u32 = 2;
const SHARED_ROUNDS: u32 = 8;
/// Consecutive round trips with a queue after which it is that of others, whatever the rate.
const MAX_ROUNDS: u32 = 16;
/// A queue up to this multiple of the RTT without it may be that of other controls, or of senders that keep about as much
/// in flight as the path holds, such as BBR. Released beside it, the window is at most this multiple of the data of an RTT
/// without a queue at the recent maximum rate.
const OF_CONTROLS: f64 = 3.0;
const MATCHED: f64 = 3.0;
const MATCHED_KEPT: f64 = 0.95;
const MATCHED_SEGMENTS: u64 = 4;
/// Consecutive round trips with a longer queue, or queue at a loss as a share of the RTT, after which it is released without
/// that limit: others fill the buffer in any case.
const DEEP_ROUNDS: u32 = 4;
const AT_LOSS: f64 = 0.5;
/// Round trips of a trial, multiple of the rate that it must reach, and round trips to the next one after it has failed.
const TRIAL_ROUNDS: u32 = 16;
const GAINED: f64 = 1.15;
const FIRST_TRIAL_WAIT: u32 = 64;
/// Round trips from a release to the first probe, and the most to a later one.
const FIRST_WAIT: u32 = 256;
const LONGEST_WAIT: u32 = 1024;
/// Reciprocal of the share of this time after which a probe begins if the competitor may have gone, and what says so: the
/// queue has shrunk to this share of its mean, or the rate has grown to this multiple of its mean.
const EARLIEST: u32 = 4;
/// Reciprocal of the share in which the sender regains its rate, so that growth says nothing.
const SETTLED: u32 = 8;
const SHORTER: f64 = 0.7;
const FASTER: f64 = 1.3;
/// Weight of a round trip in these means.
const GAIN: f64 = 0.125;
/// Round trips of a probe in which the window was in force, and in all: an offered window is not taken back, and a sender
/// first uses up the larger one.
const PROBE_ROUNDS: u32 = 2;
const LONGEST_PROBE: u32 = 16;
/// A queue that has shrunk to this share in a round trip is still shrinking.
const SHRINKING: f64 = 0.9;
/// Window while released, as a multiple of the data of a round trip: cwnd grows by no more than that in one, and a larger
/// window would be used up before the control is in force again.
const HEADROOM: f64 = 2.0;
/// Share of the largest data of a round trip that the next one keeps.
const KEPT: f64 = 0.875;
/// Segments by which a window may be exceeded: units of the window field of 2 KiB, and segments that wait for an ACK.
const ROUNDING: u64 = 2;
/// Multiple of the window that may still be offered in a round trip that counts: beside others the window falls from one
/// to the next.
const USED_UP: u64 = 2;

/// A data segment, and what its receive-window control knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub now: Time,
    /// Payload bytes that are new.
    pub new: Bytes,
    /// Mean RTT; `None`: unknown.
    pub rtt: Option<Span>,
    /// RTT without the queue.
    pub base_rtt: Span,
    /// Queueing delay.
    pub queue: Span,
    /// Queueing delay that the control aims at, and bytes of this connection that it keeps queued in addition.
    pub aim: Span,
    pub extra: Bytes,
    /// Delay that an uplink queue adds to the RTT, which `base_rtt` contains.
    pub way_back: Span,
    /// State of the device.
    pub device: &'a Device,
    pub mss: Bytes,
    /// Window of the control for this connection, and bytes offered and not yet received.
    pub window: Bytes,
    pub offered: Bytes,
    /// Whether data has arrived out of order.
    pub has_gap: bool,
}

impl Segment<'_> {
    /// Whether the sender has used up what was offered beyond a window of this size.
    fn is_in_force(&self, window: Bytes) -> bool {
        self.offered <= window + self.mss * ROUNDING
    }
}

/// A round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Bytes per second.
    rate: f64,
    /// Rate of the connection with its part of other traffic, at which a queue of its bytes drains.
    link_rate: f64,
    /// Rate of all controlled connections of the device, of which each takes from the others.
    controlled_rate: f64,
    /// RTT of the segment with the least queue, in seconds.
    min_rtt_s: f64,
}

/// State of the control.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Control in force.
    Controlled,
    /// Control released with a limited window, to measure whether the rate grows beyond that of before.
    Trying { rounds: u32, rate: f64 },
    /// Control released for `rounds` of `wait` round trips, and there may have been a change.
    Released { rounds: u32, wait: u32, has_changed: bool },
    /// Control in force, with the window of the beginning, to measure whether that shortens the queue.
    Probing { rounds: u32, in_force: u32, wait: u32, window: Bytes },
}

/// Releases a control where the queue is that of others, and where an upload of the device delays the ACKs.
///
/// A window that follows a delay yields to a sender that does not: it shrinks as long as there is a queue. With the
/// connections of one control alone a smaller window shortens the queue by as much within a round trip. So a queue of more
/// than three RTTs is that of others if there was one above what the control aims at throughout each of 16 consecutive round
/// trips, or of at least four in which the rate of the device's controlled connections has fallen to half or less and by
/// more than the RTT. A drop of the link's rate has such a queue for one or two round trips, until the smaller window has
/// drained it; then the RTT falls with the window. Round trips in which the sender uses what was offered before the window
/// became smaller do not count: the overshoot of slow start lasts for several.
///
/// A shorter queue may be that of other controls, each of which keeps the data of an RTT in flight, of BBR, which keeps one
/// of up to an RTT, or of the control itself after a drop of the rate, when its own bytes take longer to drain. If there has
/// been a queue beyond what drains at the peak rate for 16 round trips, a trial lasts for as many: the released window is
/// limited to three times the data of an RTT without a queue, with which alone the rate stays and beside others it grows. If
/// the device's rate is then 1.15 times that of before, the control is released with this limit, which costs a queue of two
/// RTTs at most; after a loss, or four round trips with a longer queue, the limit is gone: it would only cost throughput.
/// Otherwise the control is in force again, and the wait to the next trial doubles, from 64 round trips.
///
/// Traffic of the same device is known. If it has no control and makes up a fifth of the arrivals, fewer round trips with a
/// queue suffice that does not shrink: eight, or two if that traffic has grown by a quarter since its minimum. In its first
/// five round trips a connection has no such minimum. Then two suffice if that traffic has tripled since the first, which is
/// slow start, or if no round trip has been without a queue: it was there before the connection. Beside a constant rate the
/// control keeps the queue short.
///
/// While the device sends more than ACKs and the uplink's queue is longer than the RTT without it, the control is released
/// too: the ACKs between the upload's segments arrive in groups, as do therefore the segments of the download, and only a
/// window that has room for both queues keeps the link busy between the groups (Zhang, Shenker and Clark, SIGCOMM 1991).
///
/// A released window does not restrict the sender otherwise, whose own congestion control competes with the cwnd that it
/// had before the window shrank. 256 round trips later the control is in force again, and remains so if the queue is short
/// in a round trip. If it has not been after two round trips in which the window was in force and the queue did not shrink
/// any more, the wait is twice as long, up to 1024 round trips. In a probe the window stays: it is enough for the rate until
/// then without the queue, and a smaller one would only cost more. A probe lasts about four round trips. It begins after a
/// quarter of the wait if the minimum queue of a round trip is 0.7 times its mean, or the rate of two is 1.3 times its mean:
/// the competitor may have gone, or another control that was released because of this one probes. Two controls that each
/// take the other for a competitor therefore probe together.
#[derive(Clone, Debug)]
pub(crate) struct Competition {
    phase: Phase,
    /// Start of the round trip; `None`: no segment yet.
    since: Option<Time>,
    bytes: u64,
    min_queue: Span,
    /// Round trips with a queue since the last without, newest last, and the number of those kept.
    queued: [Round; ROUNDS],
    count: usize,
    /// Number of round trips with a queue since the last without.
    total: u32,
    /// Round trips with a queue for the peak rate since the last without, those since the last trial, and to the next one.
    doubtful: u32,
    since_trial: u32,
    trial_wait: u32,
    /// Maxima that decrease: of the link's rate, and of the recent own one.
    peak: f64,
    recent: f64,
    /// Consecutive round trips with a queue that is longer than that of controls, and whether the released window is limited.
    deep: u32,
    is_matched: bool,
    base_rtt: Span,
    /// Traffic of the device, and consecutive round trips with a queue that does not shrink beside other traffic.
    beside: Beside,
    shared_rounds: u32,
    /// Whether there was enough other traffic in the last round trip to keep a queue.
    is_shared: bool,
    /// Whether there has been a round trip without a queue.
    has_been_short: bool,
    /// Minimum queue of the last round trip.
    last_queue: Span,
    /// Whether the control is released because of the uplink's queue.
    is_behind_upload: bool,
    /// Means while released: queue in seconds, that of the last round trip in a probe, and bytes per second.
    mean_queue_s: f64,
    mean_rate: f64,
    /// Whether the rate of the last round trip exceeded its mean by that multiple while released.
    is_faster: bool,
    /// Data of a round trip, a maximum that decreases, and that before the window was restricted by a queue or a probe.
    data: f64,
    data_before: f64,
}

impl Competition {
    /// Creates the state before the first segment.
    pub fn new() -> Competition {
        Competition {
            phase: Phase::Controlled,
            since: None,
            bytes: 0,
            min_queue: Span::MAX,
            queued: [Round::default(); ROUNDS],
            count: 0,
            total: 0,
            doubtful: 0,
            since_trial: FIRST_TRIAL_WAIT,
            trial_wait: FIRST_TRIAL_WAIT,
            peak: 0.0,
            recent: 0.0,
            deep: 0,
            is_matched: false,
            base_rtt: Span::ZERO,
            beside: Beside::new(),
            shared_rounds: 0,
            is_shared: false,
            has_been_short: false,
            last_queue: Span::ZERO,
            is_behind_upload: false,
            mean_queue_s: 0.0,
            mean_rate: 0.0,
            is_faster: false,
            data: 0.0,
            data_before: 0.0,
        }
    }

    /// Returns whether a probe restricts the sender.
    pub fn is_probing(&self) -> bool {
        matches!(self.phase, Phase::Probing { .. })
    }

    /// Returns whether other traffic of the device may keep the queue: the control is released beside it, or probes whether
    /// it has gone.
    pub fn is_beside_others(&self) -> bool {
        self.is_shared && matches!(self.phase, Phase::Released { .. } | Phase::Probing { .. })
    }

    /// Returns whether the sender is not to be restricted.
    pub fn is_released(&self) -> bool {
        self.is_behind_upload || matches!(self.phase, Phase::Released { .. } | Phase::Trying { .. })
    }

    /// Returns the window in place of the control's, if any: one that lets the sender compete, or that of a probe.
    pub fn window(&self, mss: Bytes) -> Option<Bytes> {
        if self.is_released() {
            let room = HEADROOM * self.data;
            let matched = MATCHED * self.recent * self.base_rtt.as_secs() + (mss * MATCHED_SEGMENTS).0 as f64;
            let is_matched = self.is_matched && !self.is_behind_upload;
            return Some(Bytes(if is_matched { room.min(matched) } else { room } as u64));
        }
        match self.phase {
            Phase::Probing { window, .. } => Some(window),
            _ => None,
        }
    }

    /// Processes a segment.
    pub fn on_segment(&mut self, segment: &Segment<'_>) {
        self.bytes += segment.new.0;
        self.is_matched &=
            !(segment.has_gap && segment.queue.as_secs() > AT_LOSS * segment.base_rtt.as_secs());
        self.min_queue = self.min_queue.min(segment.queue);
        let Some(rtt) = segment.rtt else { return };
        let since = *self.since.get_or_insert(segment.now);
        let duration = segment.now.since(since);
        if duration < rtt || duration == Span::ZERO {
            return;
        }
        let rate = self.bytes as f64 / duration.as_secs();
        let traffic = self.beside.on_round(duration, segment.device);
        self.is_shared = traffic.is_shared;
        let link_rate = rate * traffic.multiple;
        let min_rtt_s = (segment.base_rtt + self.min_queue).as_secs();
        let controlled_rate = traffic.controlled.unwrap_or(rate);
        let round = Round { rate, link_rate, controlled_rate, min_rtt_s };
        self.data = (rate * rtt.as_secs()).max(KEPT * self.data);
        (self.since, self.bytes) = (Some(segment.now), 0);
        let min_queue = std::mem::replace(&mut self.min_queue, Span::MAX);
        let min_rtt = segment.base_rtt - segment.way_back;
        let max_way_back = if self.is_behind_upload { Span::ZERO } else { min_rtt };
        self.is_behind_upload = traffic.uploads && segment.way_back > max_way_back;
        if self.is_behind_upload {
            self.phase = Phase::Controlled;
            self.forget_queue();
        } else {
            self.on_round(&round, min_queue, traffic, segment);
        }
        self.last_queue = min_queue;
    }

    fn on_round(&mut self, round: &Round, min_queue: Span, traffic: Traffic, segment: &Segment<'_>) {
        self.base_rtt = segment.base_rtt;
        self.peak = round.link_rate.max(PEAK_KEPT * self.peak);
        self.recent = round.rate.max(MATCHED_KEPT * self.recent);
        let is_deep = min_queue.as_secs() > OF_CONTROLS * segment.base_rtt.as_secs();
        self.deep = if is_deep { self.deep + 1 } else { 0 };
        self.is_matched &= self.deep < DEEP_ROUNDS || matches!(self.phase, Phase::Trying { .. });
        let recent = &self.queued[self.count.saturating_sub(MIN_ROUNDS - 1)..self.count];
        // A rate that has just fallen would explain any queue by the extra bytes.
        let before = if matches!(self.phase, Phase::Probing { .. }) { self.mean_rate } else { 0.0 };
        let fastest = recent.iter().map(|round| round.link_rate).fold(round.link_rate.max(before), f64::max);
        let extra = segment.extra + segment.mss * ROUNDING;
        let aim_s = |rate: f64| segment.aim.as_secs() + extra.0 as f64 / rate.max(1.0);
        let is_short = min_queue.as_secs() <= aim_s(fastest);
        let is_doubtful = min_queue.as_secs() > aim_s(self.peak);
        self.doubtful = if is_doubtful { self.doubtful + 1 } else { 0 };
        self.since_trial = self.since_trial.saturating_add(1);
        self.phase = match self.phase {
            Phase::Controlled => self.controlled(round, min_queue, is_short, traffic, segment),
            Phase::Trying { rounds, rate } => self.trying(round, min_queue, is_short, rounds + 1, rate),
            Phase::Released { rounds, wait, has_changed } => {
                let has_changed = self.has_changed(round, min_queue, rounds >= wait / SETTLED) || has_changed;
                let rounds = rounds + 1;
                if rounds >= wait || has_changed && rounds >= wait / EARLIEST {
                    self.data_before = self.data;
                    Phase::Probing { rounds: 0, in_force: 0, wait, window: segment.window }
                } else {
                    Phase::Released { rounds, wait, has_changed }
                }
            }
            Phase::Probing { .. } if is_short => {
                self.forget_queue();
                self.beside.accept();
                Phase::Controlled
            }
            Phase::Probing { rounds, in_force, wait, window } => {
                let is_in_force = segment.is_in_force(window);
                // Another control may be following.
                let is_shrinking = min_queue.as_secs() < SHRINKING * self.mean_queue_s;
                self.mean_queue_s = min_queue.as_secs();
                let (rounds, in_force) = (rounds + 1, in_force + u32::from(is_in_force && !is_shrinking));
                if in_force > PROBE_ROUNDS || rounds >= LONGEST_PROBE {
                    self.release(min_queue, round, (2 * wait).min(LONGEST_WAIT))
                } else {
                    Phase::Probing { rounds, in_force, wait, window }
                }
            }
        };
    }

    fn controlled(
        &mut self,
        round: &Round,
        min_queue: Span,
        is_short: bool,
        traffic: Traffic,
        segment: &Segment<'_>,
    ) -> Phase {
        let is_deep = self.deep > 0;
        if self.doubtful >= MAX_ROUNDS && self.since_trial >= self.trial_wait && !is_deep {
            (self.doubtful, self.since_trial, self.is_matched) = (0, 0, true);
            self.restore_data();
            return Phase::Trying { rounds: 0, rate: round.controlled_rate };
        }
        if is_short {
            self.forget_queue();
            self.has_been_short = true;
            return Phase::Controlled;
        }
        let is_in_force = segment.is_in_force(segment.window * USED_UP);
        let is_shrinking = min_queue.as_secs() < SHRINKING * self.last_queue.as_secs();
        if is_in_force {
            self.total += 1;
            self.remember(*round);
        }
        if is_in_force || traffic.is_first {
            self.shared_rounds =
                if traffic.is_shared { self.shared_rounds + u32::from(!is_shrinking) } else { 0 };
        }
        // A queue that the connection finds at its start is not its own.
        let precedes = traffic.is_first && !self.has_been_short;
        let enough = if traffic.has_grown || precedes { GROWN_ROUNDS } else { SHARED_ROUNDS };
        let is_of_device = self.shared_rounds >= enough;
        if is_of_device || is_deep && (self.total >= MAX_ROUNDS || self.has_fallen()) {
            self.is_matched = false;
            self.release(min_queue, round, FIRST_WAIT)
        } else {
            Phase::Controlled
        }
    }

    fn trying(&mut self, round: &Round, min_queue: Span, is_short: bool, rounds: u32, rate: f64) -> Phase {
        self.total += u32::from(!is_short);
        // The own window is too small for such a queue.
        let is_of_others = self.deep >= DEEP_ROUNDS;
        if rounds < TRIAL_ROUNDS && !is_of_others {
            return Phase::Trying { rounds, rate };
        }
        if round.controlled_rate >= GAINED * rate && !is_of_others {
            self.trial_wait = FIRST_TRIAL_WAIT;
            return self.release(min_queue, round, FIRST_WAIT);
        }
        self.trial_wait = (2 * self.trial_wait).min(LONGEST_WAIT);
        self.is_matched = false;
        if !is_of_others {
            self.forget_queue();
        }
        Phase::Controlled
    }

    /// Whether the competitor may have gone, by what a released round trip has in relation to the means, which it then
    /// enters. `is_settled`: the sender has regained its rate.
    fn has_changed(&mut self, round: &Round, min_queue: Span, is_settled: bool) -> bool {
        // After a loss one round trip has the data of two.
        let was_faster = std::mem::replace(&mut self.is_faster, round.rate > FASTER * self.mean_rate);
        let is_shorter = min_queue.as_secs() < SHORTER * self.mean_queue_s;
        self.mean_queue_s += GAIN * (min_queue.as_secs() - self.mean_queue_s);
        self.mean_rate += GAIN * (round.rate - self.mean_rate);
        is_settled && (is_shorter || was_faster && self.is_faster)
    }

    fn release(&mut self, queue: Span, round: &Round, wait: u32) -> Phase {
        (self.mean_queue_s, self.mean_rate) = (queue.as_secs(), round.rate);
        self.restore_data();
        self.is_faster = false;
        self.forget_queue();
        Phase::Released { rounds: 0, wait, has_changed: false }
    }

    /// Allows the data of before the restriction: the sender still has the cwnd of that time.
    fn restore_data(&mut self) {
        self.data = self.data.max(self.data_before);
    }

    /// Counts round trips with a queue from here on.
    fn forget_queue(&mut self) {
        (self.count, self.total, self.shared_rounds) = (0, 0, 0);
        self.data_before = self.data;
    }

    fn remember(&mut self, round: Round) {
        if self.count == ROUNDS {
            self.queued.rotate_left(1);
            self.count -= 1;
        }
        self.queued[self.count] = round;
        self.count += 1;
    }

    /// Whether the rate has fallen in place of the RTT: of the change of the data in flight, which is their product, more
    /// than half, in logarithms, is that of the rate.
    fn has_fallen(&self) -> bool {
        let queued = &self.queued[..self.count];
        let (Some(first), Some(last)) = (queued.first(), queued.last()) else { return false };
        let rtt = last.min_rtt_s / first.min_rtt_s;
        let rate = last.controlled_rate / first.controlled_rate.max(1.0);
        queued.len() >= MIN_ROUNDS && rate <= FALL && rtt >= rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1000);
    const BASE: Span = Span::from_millis(40);
    const TARGET: Span = Span::from_millis(4);
    /// Bytes per second of the link.
    const LINK: f64 = 1e6;

    /// A control whose window is rate x (RTT + target), in a queue with the data of others, and the round trips of each
    /// phase.
    struct Bench {
        competition: Competition,
        now: Time,
        window: f64,
        offered: f64,
        released: u32,
        rate: f64,
        rtt_s: f64,
        way_back: Span,
        device: Device,
        loses: bool,
    }

    impl Bench {
        fn new() -> Bench {
            let competition = Competition::new();
            let window = LINK * (BASE + TARGET).as_secs();
            let now = Time(1_000_000_000);
            let (way_back, device) = (Span::ZERO, Device::default());
            Bench {
                competition,
                now,
                window,
                offered: window,
                released: 0,
                rate: LINK,
                rtt_s: 0.044,
                way_back,
                device,
                loses: false,
            }
        }

        /// One round trip over a link of this rate, beside this data of others, with a sender that has at most `cwnd`.
        fn round(&mut self, link: f64, others: f64, cwnd: f64) {
            let own = self.competition.window(MSS).map_or(self.window, |window| window.0 as f64);
            // An offered window is not taken back.
            self.offered = own.max(self.offered - self.rate * self.rtt_s);
            let data = self.offered.min(cwnd).max(2000.0);
            self.rtt_s = ((data + others) / link).max(BASE.as_secs());
            self.rate = data / self.rtt_s;
            let queue = Span::from_secs_f64(self.rtt_s - BASE.as_secs());
            self.device.received += Bytes(data as u64);
            for part in 0..2 {
                self.competition.on_segment(&Segment {
                    now: self.now,
                    new: Bytes(if part == 0 { 0 } else { data as u64 }),
                    rtt: Some(Span::from_secs_f64(self.rtt_s)),
                    base_rtt: BASE + self.way_back,
                    queue,
                    aim: TARGET + Span::from_millis(1),
                    extra: Bytes::ZERO,
                    way_back: self.way_back,
                    device: &self.device,
                    mss: MSS,
                    window: Bytes(self.window as u64),
                    offered: Bytes((self.offered - data).max(own) as u64),
                    has_gap: self.loses,
                });
                self.now += Span::from_secs_f64(self.rtt_s * f64::from(1 - part));
            }
            self.window = (self.rate * (BASE + TARGET).as_secs()).max(2000.0);
            self.released += u32::from(self.competition.is_released());
        }
    }

    #[test]
    fn alone_the_control_stays_in_force() {
        let mut bench = Bench::new();
        for round in 0..10_000 {
            // The rate of the link halves and doubles, and falls to a tenth.
            let link = LINK * [1.0, 0.5, 0.1, 1.0][round / 40 % 4];
            bench.round(link, 0.0, 1e6);
        }
        assert_eq!(bench.released, 0);
    }

    #[test]
    fn the_overshoot_of_slow_start_does_not_release_it() {
        let mut bench = Bench::new();
        // Offered before the control began, of which cwnd uses more and more.
        bench.offered = 4e6;
        for round in 0..40 {
            bench.round(LINK, 0.0, 40_000.0 * 1.15_f64.powi(round));
            assert!(!bench.competition.is_released(), "{round}: {} s", bench.rtt_s);
        }
        assert!(bench.rtt_s < 0.046, "{}", bench.rtt_s);
    }

    #[test]
    fn what_other_controlled_connections_take_does_not_release_it() {
        for is_known in [true, false] {
            let mut bench = Bench::new();
            for round in 0..8 {
                // Two connections keep a queue of 400 ms for a while, of which this one gets less and less.
                let others = 400_000.0 * (1.0 - 0.5_f64.powi(round));
                if is_known {
                    bench.device.received += Bytes(others as u64);
                }
                bench.round(LINK, others, 400_000.0 - others);
            }
            assert_eq!(bench.competition.is_released(), !is_known);
        }
    }

    #[test]
    fn a_competitor_releases_it_and_probes_are_rare() {
        let mut bench = Bench::new();
        let mut goodput = 0.0;
        for _ in 0..2000 {
            bench.round(LINK, 200_000.0, 150_000.0);
            goodput += bench.rate;
        }
        // With the window of the sender the share is 150 of 350 kB.
        let share = goodput / 2000.0 / LINK;
        assert!(share > 0.97 * 150.0 / 350.0, "{share}");
        assert!(bench.released > 1900, "{}", bench.released);
    }

    /// Others that keep as much in flight as the path holds, as BBR does, have a queue that could be that of controls.
    #[test]
    fn beside_a_short_queue_of_others_the_window_is_limited_until_a_loss() {
        let mut bench = Bench::new();
        for _ in 0..40 {
            bench.round(LINK, 60_000.0, 1e6);
        }
        assert!(bench.competition.is_released());
        // Three times the data of an RTT: a queue of two beside others that let it.
        assert!((0.1..0.14).contains(&bench.rtt_s), "{}", bench.rtt_s);
        assert!(bench.rate > 0.5 * LINK, "{}", bench.rate);
        let limited = bench.competition.window(MSS).unwrap().0;
        bench.loses = true;
        bench.round(LINK, 60_000.0, 1e6);
        assert!(bench.competition.window(MSS).unwrap().0 > limited * 3 / 2);
    }

    /// Two controls that do not know of each other, with a link that neither fills alone.
    #[test]
    fn two_controls_keep_a_queue_of_at_most_two_round_trips() {
        let mut benches = [Bench::new(), Bench::new()];
        let mut data = [44_000.0, 44_000.0];
        let mut rtts = Vec::new();
        for _ in 0..2000 {
            for own in 0..2 {
                benches[own].round(LINK, data[1 - own], 1e6);
                data[own] = benches[own].rate * benches[own].rtt_s;
            }
            rtts.push(benches[0].rtt_s);
        }
        assert!(rtts.iter().all(|rtt_s| *rtt_s < 3.3 * BASE.as_secs()), "{rtts:?}");
        assert!(benches.iter().all(|bench| bench.rate > 0.2 * LINK));
    }

    #[test]
    fn a_drop_of_the_rate_that_drains_slowly_does_not_release_it() {
        // A window that follows the rate with a delay of several round trips.
        let mut bench = Bench::new();
        for round in 0..400 {
            let link = if round / 50 % 2 == 0 { LINK } else { LINK / 4.0 };
            let before = bench.window;
            bench.round(link, 0.0, 1e6);
            bench.window = 0.6 * before + 0.4 * bench.window;
        }
        assert_eq!(bench.released, 0);
    }

    #[test]
    fn when_the_competitor_has_gone_the_control_is_in_force_again() {
        let mut bench = Bench::new();
        for _ in 0..40 {
            bench.round(LINK, 200_000.0, 150_000.0);
        }
        assert!(bench.competition.is_released());
        // A quarter of the wait, and the probe.
        for _ in 0..80 {
            bench.round(LINK, 0.0, 150_000.0);
        }
        assert!(!bench.competition.is_released());
        assert!(bench.rtt_s < 0.046, "{}", bench.rtt_s);
    }
    #[test]
    fn other_traffic_of_the_device_releases_it_soon() {
        // Half of the rate, which begins after 20 round trips or has been there, and then keeps a queue of 60 ms.
        for (grows, soonest, latest) in [(true, 22, 25), (false, 26, 32)] {
            let mut bench = Bench::new();
            let mut released_at = None;
            for round in 0..34 {
                let has_begun = round >= 20;
                let rate = if has_begun || !grows { LINK / 2.0 } else { 0.0 };
                bench.device.others += Bytes((rate * bench.rtt_s) as u64);
                bench.round(LINK, if has_begun { 60_000.0 } else { 0.0 }, 60_000.0);
                released_at = released_at.or(bench.competition.is_released().then_some(round));
            }
            let round = released_at.unwrap();
            assert!((soonest..=latest).contains(&round), "{grows}: {round}");
        }
    }

    #[test]
    fn a_competitor_that_was_there_before_releases_it_at_its_start() {
        let mut bench = Bench::new();
        // cwnd of slow start, beside a queue of 200 ms that others keep.
        bench.offered = 65_000.0;
        let released = (0..5).find(|round| {
            bench.device.others += Bytes((LINK * bench.rtt_s) as u64);
            bench.round(LINK, 200_000.0, 10_000.0 * 2.0_f64.powi(*round));
            bench.competition.is_released()
        });
        assert_eq!(released, Some(2));
    }

    #[test]
    fn after_a_probe_the_window_is_that_of_before() {
        let mut bench = Bench::new();
        let mut rates = Vec::new();
        for _ in 0..600 {
            bench.round(LINK, 200_000.0, 150_000.0);
            rates.push((bench.competition.is_probing(), bench.rate));
        }
        let begin = rates.iter().position(|(is_probing, _)| *is_probing).unwrap();
        let (before, probed) = (rates[begin - 1].1, &rates[begin..]);
        let after = probed.iter().position(|(is_probing, _)| !is_probing).unwrap();
        assert!(probed[after - 1].1 < 0.3 * before);
        assert!(probed[after + 1].1 > 0.95 * before, "{:?}", &probed[..after + 3]);
    }

    #[test]
    fn an_upload_with_a_long_queue_releases_it_until_its_end() {
        for (kb, back_ms, is_expected) in [(20, 100, true), (20, 30, false), (1, 100, false)] {
            let mut bench = Bench::new();
            for round in 0..60 {
                let is_uploading = (20..40).contains(&round);
                if is_uploading {
                    bench.device.sent += Bytes(kb * 1000);
                }
                bench.way_back = if is_uploading { Span::from_millis(back_ms) } else { Span::ZERO };
                bench.round(LINK, 0.0, 60_000.0);
                assert_eq!(
                    bench.competition.is_released(),
                    is_uploading && is_expected,
                    "{kb} {back_ms}: {round}"
                );
            }
        }
    }
}
