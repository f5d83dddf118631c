//! Rate of the shaper of one direction.

use airwnd_rwnd::Queued;
use airwnd_units::{BitRate, Bytes, Span};
use std::collections::VecDeque;

/// Period of the law: shorter than the RTT of most paths, longer than the grants of a cell.
pub const TICK: Span = Span::from_millis(50);
/// Ticks over which rates are measured: 300 ms, the longest interval between two decisions of cake-autorate's rule.
const RATE_TICKS: usize = 6;
/// Reciprocal of the share of this time with a queue that a capacity needs.
const QUEUED: u64 = 4;
/// Queue aimed at, besides the time of two packets: with a queue the capacity is measured at any time, without one it
/// could only be tried. CoDel's target (RFC 8289 §4.2).
const AIM: Span = Span::from_millis(5);
/// Bytes of a packet of full size.
const PACKET: Bytes = Bytes(1500);
/// Queue beyond the aim that shows a busy bottleneck: a shorter one may be the wait for grants in a cell, during which the
/// bytes that pass are those of the shaper and no capacity.
const EVIDENT: Span = Span::from_millis(10);
/// Ticks with it that begin the control.
const BEGIN_TICKS: u32 = 3;
/// Ticks without it that offset one with it: transfers in both directions fill and empty the queues in turns.
const OFFSETTING: u32 = 3;
/// Time in which a queue beyond the aim is drained: several RTTs, as that is the delay of the senders' reaction.
const DRAIN: Span = Span::from_millis(300);
/// Largest reduction below the capacity, in thousandths.
const LARGEST_CUT: u64 = 400;
/// Share of the rate, in percent, that the traffic must have in some tick to be limited by it: over a link that stalls, the
/// mean is smaller.
const LOADED: u64 = 65;
/// Growth per tick without a queue, in thousandths: at first, more for each tick in succession, and at most.
const GROWTH: u64 = 10;
const ACCELERATION: u64 = 5;
const LARGEST_GROWTH: u64 = 50;
/// Largest rate by growth, as a percentage of what has passed in a tick.
const HEADROOM: u64 = 130;
/// Ticks without knowledge of the queue after which the rate grows at once by the most.
const BLIND_TICKS: u32 = 20;
/// Ticks after which a queue that was never empty is drained, so that its minimum stays known: less than the window of
/// minima.
const DRAIN_TICKS: u32 = 160;
/// Length of that in ticks, and the rate then as a percentage.
const DIP_TICKS: u32 = 6;
const DIP: u64 = 80;
/// Queue that counts as empty, besides the time of a packet: errors of timestamps in milliseconds.
const EMPTY: Span = Span::from_millis(2);
/// Ticks in which a queue that does not react is recognised: variation that it may have in percent, and the share in
/// percent to which the rate must have been reduced.
const STALE_TICKS: usize = 60;
const STALE_VARIATION: u64 = 15;
const STALE_REDUCTION: u64 = 80;
/// Smallest rate: a packet takes 120 ms.
const MIN: u64 = 100_000;

/// Traffic of a [`TICK`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Its length, which is that of a tick where nothing holds it up.
    pub time: Span,
    /// Bytes of all packets.
    pub bytes: Bytes,
    /// Bytes that the bottleneck has sent without idling, and their time.
    pub queued: Queued,
    /// Delay of the standing queue; `None`: not known.
    pub queue: Option<Span>,
}

/// State of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// There has been no queue yet: no limit.
    #[default]
    Open,
    /// The queue is long: the rate is below the capacity.
    Draining,
    /// There is no queue, and the traffic uses the rate: it grows.
    Growing,
    /// The queue is as it is to be, or the traffic does not use the rate: it stays.
    Holding,
    /// The delay of the queue is not known, and the traffic uses the rate: it grows.
    Blind,
    /// The queue is emptied for a moment, to measure its minimum.
    Dip,
}

/// The rate of a shaper from what passes it and the bottleneck.
///
/// With a queue of delay q and the capacity C of the last 300 ms, the rate is
///
/// ```math
/// S = C \left(1 - \min\left(\frac{q - \mathrm{aim}}{300\,\mathrm{ms}}, 0.4\right)\right) \;\text{if}\; q > \mathrm{aim}
/// ```
///
/// so that what enters the bottleneck drains the excess with this time constant. The aim is 5 ms and two packets. A queue
/// of up to 10 ms more does not show the capacity, since delays vary as much in a cell: the rate is reduced by a sixth of
/// that per tick. Below half of the aim the rate grows by 1 to 5 % per tick if the traffic uses at least 65 % of it, to at
/// most 1.3 times what passes. Between, and without traffic, it stays. Where no segment shows the delay for a second, the
/// traffic is limited for nothing that is known: the rate grows by 5 % per tick.
///
/// A queue that has not been empty for 8 s is drained for 300 ms, since its own delay would become the minimum from which
/// it is measured. If it stays the same for 3 s although the rate was reduced by a fifth or more, it is not that of this
/// traffic, or the path has become longer: minima are out of date, and the law begins again from where it is.
///
/// Stability: C does not depend on S while there is a queue. A constant capacity has the fixed point q = aim with S = C,
/// approached in 300 ms; delays of the feedback by one RTT are stable below 300 ms (π/2 times that without damping).
#[derive(Clone, Debug, Default)]
pub struct Law {
    recent: VecDeque<Passed>,
    /// Bits per second; `None`: no limit.
    rate: Option<u64>,
    phase: Phase,
    /// Count of [`BEGIN_TICKS`], and ticks in succession: of growth, without knowledge of the queue, since the queue was
    /// empty, and until the end of a dip.
    beginning: u32,
    growing: u32,
    blind: u32,
    filled: u32,
    dip: u32,
    /// Queues and rates since when they may be those of others.
    history: VecDeque<(Span, u64)>,
}

impl Law {
    /// Returns the rate of the shaper; `None`: no limit.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate.map(BitRate)
    }

    /// Returns what the law does.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the rate of what has passed.
    pub fn load(&self) -> BitRate {
        let bytes = self.recent.iter().map(|passed| passed.bytes.0).sum();
        let time = self.recent.iter().map(|passed| passed.time.0).sum();
        BitRate::of(Bytes(bytes), Span(time))
    }

    /// Returns the rate while there is a queue; `None`: there is too little.
    pub fn capacity(&self) -> Option<BitRate> {
        let mut total = Queued::default();
        self.recent.iter().for_each(|passed| total += passed.queued);
        let is_enough = total.time * QUEUED >= TICK * RATE_TICKS as u64 && total.bytes > PACKET;
        is_enough.then(|| BitRate::of(total.bytes, total.time))
    }

    /// Ends a tick. Returns true if the minima from which the queue is measured are out of date.
    pub fn tick(&mut self, passed: &Passed) -> bool {
        if self.recent.len() == RATE_TICKS {
            self.recent.pop_front();
        }
        let mut passed = *passed;
        if !self.is_evident(passed.queue) {
            passed.queued = Queued::default();
        }
        self.recent.push_back(passed);
        match (self.rate, passed.queue) {
            (None, queue) => self.begin(queue),
            (Some(rate), None) => self.go_blind(rate),
            (Some(rate), Some(queue)) => self.follow(rate, queue),
        }
        self.is_stale()
    }

    fn begin(&mut self, queue: Option<Span>) {
        self.beginning = match self.is_evident(queue) {
            true => self.beginning + OFFSETTING,
            false => self.beginning.saturating_sub(1),
        };
        let begins = self.beginning >= OFFSETTING * BEGIN_TICKS;
        if let (Some(queue), Some(capacity)) = (queue.filter(|_| begins), self.capacity()) {
            self.filled = 0;
            self.drain(capacity.0, queue);
        }
    }

    fn go_blind(&mut self, rate: u64) {
        self.blind += 1;
        (self.dip, self.phase) = (0, Phase::Holding);
        if self.blind >= BLIND_TICKS && self.is_loaded(rate) {
            self.grow(rate, LARGEST_GROWTH);
            self.phase = Phase::Blind;
        }
    }

    fn follow(&mut self, rate: u64, queue: Span) {
        self.blind = 0;
        let is_empty = queue <= EMPTY + BitRate(rate).transmission_time(PACKET);
        self.filled = if is_empty { 0 } else { self.filled + 1 };
        if self.dip > 0 {
            self.dip -= 1;
            if self.dip == 0 {
                // The queue is measured anew from here on.
                (self.filled, self.phase) = (0, Phase::Holding);
                self.set(rate * 100 / DIP);
            }
            return;
        }
        if queue > aim(rate) {
            self.growing = 0;
            match self.capacity() {
                Some(capacity) => self.drain(capacity.0, queue),
                None => self.reduce(rate, queue),
            }
        } else if queue < aim(rate) / 2 && self.is_loaded(rate) {
            let growth = (GROWTH + ACCELERATION * u64::from(self.growing)).min(LARGEST_GROWTH);
            self.growing += 1;
            self.grow(rate, growth);
            self.phase = Phase::Growing;
        } else {
            (self.growing, self.phase) = (0, Phase::Holding);
        }
        if self.filled >= DRAIN_TICKS {
            (self.dip, self.phase) = (DIP_TICKS, Phase::Dip);
            self.set(self.rate.unwrap_or(rate) * DIP / 100);
        }
    }

    /// Returns whether a queue shows that the bottleneck is busy.
    fn is_evident(&self, queue: Option<Span>) -> bool {
        let rate = self.rate.unwrap_or(self.load().0);
        queue.is_some_and(|queue| queue > aim(rate) + EVIDENT)
    }

    /// Returns the largest rate of a recent tick.
    fn peak(&self) -> u64 {
        let rates = self.recent.iter().map(|passed| BitRate::of(passed.bytes, passed.time).0);
        rates.max().unwrap_or(0)
    }

    fn is_loaded(&self, rate: u64) -> bool {
        self.peak() >= rate / 100 * LOADED
    }

    fn drain(&mut self, capacity: u64, queue: Span) {
        self.phase = Phase::Draining;
        self.set(capacity - capacity / 1000 * cut(capacity, queue));
    }

    /// Reduces the rate where the capacity is not known, over the time of a measurement.
    fn reduce(&mut self, rate: u64, queue: Span) {
        self.phase = Phase::Draining;
        self.set(rate - rate / 1000 * cut(rate, queue) / RATE_TICKS as u64);
    }

    /// Lets the rate grow by thousandths, as far as the traffic has used it.
    fn grow(&mut self, rate: u64, thousandths: u64) {
        let max = self.peak() / 100 * HEADROOM;
        self.set((rate + rate / 1000 * thousandths).min(max.max(rate)));
    }

    fn set(&mut self, rate: u64) {
        self.rate = Some(rate.max(MIN));
    }

    /// Whether the queue stays the same although the rate was reduced.
    fn is_stale(&mut self) -> bool {
        let queue = self.recent.back().and_then(|passed| passed.queue);
        let (Some(queue), Some(rate), Phase::Draining) = (queue, self.rate, self.phase) else {
            self.history.clear();
            return false;
        };
        if self.history.len() == STALE_TICKS {
            self.history.pop_front();
        }
        self.history.push_back((queue, rate));
        let queues = || self.history.iter().map(|(queue, _)| *queue);
        let (min, max) = (queues().min().unwrap_or_default(), queues().max().unwrap_or_default());
        let (_, first) = self.history[0];
        let is_stale = self.history.len() == STALE_TICKS
            && min * 100 >= max * (100 - STALE_VARIATION)
            && rate * 100 <= first * STALE_REDUCTION;
        if is_stale {
            self.history.clear();
        }
        is_stale
    }
}

/// Reduction below the capacity in thousandths.
fn cut(capacity: u64, queue: Span) -> u64 {
    let excess = queue - aim(capacity).min(queue);
    (excess.0.saturating_mul(1000) / DRAIN.0).min(LARGEST_CUT)
}

/// Queue to be had at this rate in bits per second.
fn aim(rate: u64) -> Span {
    AIM + BitRate(rate.max(MIN)).transmission_time(PACKET) * 2
}

#[cfg(test)]
mod tests;
