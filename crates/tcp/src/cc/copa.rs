//! Copa: target rate inversely proportional to the queueing delay.

use super::parts::extreme::Extreme;
use super::parts::window::Window;
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span};

/// Copa: delay-based; moves the rate towards 1 / (delta dq), dq the queueing delay; AIMD on 1 / delta against buffer
/// fillers.
///
/// The queueing delay is
///
/// ```math
/// d_q = \mathit{RTT}_{\text{standing}} - \mathit{RTT}_{\min}
/// ```
///
/// with RTTstanding the minimum RTT of the last SRTT / 2, and RTTmin that of the last `min_window`. Each acknowledged
/// segment changes cwnd by
///
/// ```math
/// \frac{v}{\delta \cdot \mathrm{cwnd}}
/// ```
///
/// upwards if the rate is at most the target,
///
/// ```math
/// \frac{\mathrm{cwnd}}{\mathit{RTT}_{\text{standing}}} \le \frac{1}{\delta \, d_q}
/// ```
///
/// and downwards otherwise. The velocity v doubles each round trip once the window has moved in the same direction for
/// three round trips. It returns to 1 when the direction changes, and is limited so that the window at most doubles in
/// a round trip. Slow start doubles the window each round trip until the rate exceeds the target. Segments are paced at
/// 2 cwnd / RTTstanding.
///
/// If dq has not been below 0.1 (RTTmax - RTTmin) for five round trips, with RTTmax the maximum RTT of four SRTTs,
/// other flows are filling the queue (competitive mode). Then 1 / delta grows by 1 in each round trip and is halved at
/// a loss, but never falls below the value that `delta` sets. Otherwise losses are ignored. A timeout sets cwnd to one
/// segment and starts slow start.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Arun, Balakrishnan: Copa: Practical Delay-Based Congestion Control for the Internet, NSDI \
              2018 (with its errata)"
)]
pub struct Params {
    /// Weight of delay against throughput in default mode.
    #[param(basic, default = 0.5, range = 0.001..=10.0)]
    #[param(unit = "1", source = "Arun and Balakrishnan 2018, section 2.1")]
    pub delta: f64,
    /// Whether competitive mode is used against flows that fill the queue.
    #[param(basic, default = true, unit = "1", source = "Arun and Balakrishnan 2018, section 2.2")]
    pub compete: bool,
    /// Window of the minimum RTT.
    #[param(default = Span::from_secs(10), range = Span::from_secs(1)..=Span::from_secs(1000))]
    #[param(unit = "time", source = "Arun and Balakrishnan 2018, section 2")]
    pub min_window: Span,
    /// Window of RTTstanding as a fraction of the smoothed RTT (tau).
    #[param(default = 0.5, range = 0.05..=4.0)]
    #[param(unit = "1", source = "Arun and Balakrishnan 2018, section 2.1 (tau)")]
    pub standing: f64,
    /// Maximum queueing delay of a nearly empty queue, as a fraction of the RTT's range.
    #[param(default = 0.1, range = 0.0..=1.0, unit = "1", source = "Arun and Balakrishnan 2018, section 2.2")]
    pub nearly_empty: f64,
    /// Pacing rate as a multiple of cwnd / RTTstanding.
    #[param(default = 2.0, range = 1.0..=10.0)]
    #[param(unit = "1", source = "Arun and Balakrishnan 2018, section 2.1")]
    pub pacing: f64,
}

/// Round trips in one direction before the velocity doubles.
const STEADY: u32 = 3;
/// Round trips without a nearly empty queue that indicate competing flows.
const COMPETING_AFTER: u64 = 5;
/// Window of the maximum RTT, in smoothed RTTs.
const RANGE: u64 = 4;
/// Tolerance in segments within which two windows are equal, as when steps up and down have cancelled.
const SAME: f64 = 1e-6;
/// Minimum window after a decrease, in segments (venkatarun95/genericCC@18299d6 `update_intersend_time`).
const MIN: f64 = 2.0;

/// State of Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    params: Params,
    window: Window,
    slow_start: bool,
    min: Extreme,
    standing: Extreme,
    greatest: Extreme,
    delays: Option<Delays>,
    round: u64,
    /// Last round trip in which the queue was nearly empty.
    emptied: u64,
    velocity: Velocity,
    /// 1 / delta.
    aggression: f64,
}

#[derive(Clone, Copy, Debug)]
struct Delays {
    standing: Span,
    queueing: Span,
}

#[derive(Clone, Copy, Debug)]
struct Velocity {
    v: f64,
    /// Window at the beginning of the round trip.
    window: f64,
    upwards: bool,
    rounds: u32,
}

impl Copa {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Copa {
        let window = Window::new(ctx);
        let velocity = Velocity { v: 1.0, window: window.segments(), upwards: true, rounds: 0 };
        Copa {
            aggression: 1.0 / params.delta,
            params,
            window,
            slow_start: true,
            min: Extreme::min(Span::from_millis(10)),
            standing: Extreme::min(Span::ZERO),
            greatest: Extreme::greatest(Span::from_millis(1)),
            delays: None,
            round: 0,
            emptied: 0,
            velocity,
        }
    }

    fn measure(&mut self, ack: &Ack, rtt: Span) {
        let srtt = ack.srtt.unwrap_or(rtt);
        let min = self.min.update(ack.now, rtt, self.params.min_window);
        //= Arun and Balakrishnan 2018, section 2.1
        let window = Span::from_secs_f64(self.params.standing * srtt.as_secs());
        let standing = self.standing.update(ack.now, rtt, window);
        let greatest = self.greatest.update(ack.now, rtt, srtt * RANGE);
        let queueing = Span(standing.0.saturating_sub(min.0));
        self.delays = Some(Delays { standing, queueing });
        //= Arun and Balakrishnan 2018, section 2.2
        if queueing.as_secs() <= self.params.nearly_empty * (greatest - min.min(greatest)).as_secs() {
            self.emptied = ack.round;
        }
    }

    fn competes(&self) -> bool {
        self.params.compete && self.round >= self.emptied + COMPETING_AFTER
    }

    /// Updates delta and velocity, once per round trip.
    fn turn(&mut self) {
        let min = 1.0 / self.params.delta;
        self.aggression = if self.competes() { self.aggression + 1.0 } else { min };
        let Velocity { v, window, upwards, rounds } = self.velocity;
        let now = self.window.segments();
        self.velocity = if (now > window + SAME) == upwards {
            let v = if rounds + 1 >= STEADY { 2.0 * v } else { v };
            Velocity { v, window: now, upwards, rounds: rounds + 1 }
        } else {
            Velocity { v: 1.0, window: now, upwards: !upwards, rounds: 0 }
        };
        // The authors' code has this bound; without it the window could more than double in a round trip.
        self.velocity.v = self.velocity.v.min((now / self.aggression).max(1.0));
    }

    fn is_below_target(&self, delays: Delays) -> bool {
        //= Arun and Balakrishnan 2018, eq. 1
        self.window.segments() * delays.queueing.as_secs() <= self.aggression * delays.standing.as_secs()
    }
}

impl CongestionControl for Copa {
    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0) {
            self.measure(ack, rtt);
        }
        let Some(delays) = self.delays else { return };
        if ack.round != self.round {
            self.round = ack.round;
            self.turn();
        }
        let acked = self.window.count(ack.acked);
        let w = self.window.segments();
        let step = acked * self.velocity.v * self.aggression / w;
        if !self.is_below_target(delays) {
            self.slow_start = false;
            if w > MIN {
                self.window.set((w - step).max(MIN));
            }
        } else if ack.cwnd_limited {
            self.window.add(if self.slow_start { acked } else { step.min(acked) });
        }
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Loss | Signal::Ecn => {
                self.aggression = (self.aggression / 2.0).max(1.0 / self.params.delta);
            }
            // The paper does not specify timeouts; this is RFC 5681 §3.1.
            Signal::Timeout | Signal::RepeatedTimeout => {
                self.window.set(1.0);
                self.slow_start = true;
                self.velocity = Velocity { v: 1.0, window: 1.0, upwards: true, rounds: 0 };
            }
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        if self.slow_start { Bytes(u64::MAX) } else { self.window.cwnd() }
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.set_cwnd(cwnd);
        self.velocity = Velocity { v: 1.0, window: self.window.segments(), upwards: true, rounds: 0 };
    }

    fn on_spurious(&mut self, before: &Before) {
        self.window.restore(before);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let standing = self.delays?.standing.as_secs();
        Some(BitRate((self.params.pacing * self.window.cwnd().bits() as f64 / standing) as u64))
    }

    fn governs_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Time;

    fn at(ms: u64, rtt_ms: u64, round: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { now: Time(ms * 1_000_000), rtt, srtt: rtt, round, ..ack(1000) }
    }

    #[test]
    fn slow_start_doubles_up_to_the_target() {
        let mut copa = Copa::new(Params::default(), &ctx(1000, 10));
        for ms in 0..10 {
            copa.on_delivery(&at(ms, 100, 0));
        }
        assert_eq!(copa.cwnd(), Bytes(20_000));
        // 20 segments / 111 ms are below 1 / (0.5 x 11 ms). 21 / 112 ms are not below 1 / (0.5 x 12 ms): the window
        // shrinks by 1 / (0.5 x 21), as an ACK has arrived for one segment
        copa.on_delivery(&at(100, 111, 1));
        assert_eq!(copa.cwnd(), Bytes(21_000));
        copa.on_delivery(&at(160, 112, 1));
        assert_eq!(copa.cwnd(), Bytes(20_904));
        // paced at twice 20904 B in 112 ms
        assert_eq!(copa.pacing_rate().unwrap().0 / 1000, 2986);
    }

    #[test]
    fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut copa = Copa::new(Params { delta: 0.02, ..Params::default() }, &ctx(1000, 400));
        copa.slow_start = false;
        let mut velocities = Vec::new();
        for round in 1..=6 {
            copa.on_delivery(&at(100 * round, 100, round));
            velocities.push(copa.velocity.v);
        }
        // the window has not moved when the first round trip ends, and the second one turns upwards
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0]);
        for round in 7..=8 {
            for _ in 0..5 {
                copa.on_delivery(&at(1000 * round, 250, round));
            }
        }
        assert_eq!((copa.velocity.v, copa.velocity.upwards), (1.0, false));
    }

    #[test]
    fn a_queue_filled_by_other_flows_lowers_delta() {
        let mut copa = Copa::new(Params::default(), &ctx(1000, 20));
        // an empty queue, then one that varies between 60 and 100 ms
        copa.on_delivery(&at(0, 50, 0));
        for round in 1..=10 {
            copa.on_delivery(&at(130 * round, if round % 2 == 0 { 110 } else { 150 }, round));
        }
        // 2, plus 1 per round trip from the fifth after the empty queue
        assert_eq!(copa.aggression, 2.0 + 6.0);
        copa.on_congestion(&congestion(Signal::Loss, 10_000));
        assert_eq!(copa.aggression, 4.0);
        copa.on_delivery(&at(1500, 51, 11));
        copa.on_delivery(&at(1600, 51, 12));
        assert_eq!(copa.aggression, 2.0);
    }

    #[test]
    fn losses_are_ignored_and_a_timeout_restarts_slow_start() {
        let mut copa = Copa::new(Params::default(), &ctx(1000, 20));
        copa.on_congestion(&congestion(Signal::Loss, 20_000));
        assert_eq!(copa.cwnd(), Bytes(20_000));
        copa.on_congestion(&congestion(Signal::Timeout, 20_000));
        assert_eq!(copa.cwnd(), Bytes(1000));
        copa.on_delivery(&at(300, 50, 1));
        assert_eq!(copa.cwnd(), Bytes(2000));
    }
}
