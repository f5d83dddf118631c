//! LEDBAT++: background transport with fairness among LEDBAT++ flows.

use super::{Ack, Before, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_rwnd::ledbat::{Decrease, Ledbat, QueueingDelay, Rules, Window};
use airwnd_units::{Bytes, Span};

/// LEDBAT++: LEDBAT with multiplicative decrease, and with periodic slowdowns that re-measure the base delay.
///
/// The queueing delay D is the minimum of the last `current_filter` RTTs less base, the minimum of the last
/// `base_history` minutes. The gain is
///
/// ```math
/// G = \frac{1}{\min(\mathrm{slowest}, \, \mathrm{ceil}(2 \, \mathrm{target} / \mathrm{base}))}
/// ```
///
/// If D <= target, a round trip adds G segments. Otherwise cwnd, in segments, changes in a round trip by
///
/// ```math
/// \max(G - \mathrm{constant} \cdot \mathrm{cwnd} \, (\frac{D}{\mathrm{target}} - 1), \, -\frac{\mathrm{cwnd}}{2})
/// ```
///
/// spread over its ACKs. cwnd is at least two segments. A congestion event halves the bytes in flight.
///
/// The initial slow start begins with two segments, adds G segments per acknowledged segment, and ends when D exceeds
/// `slow_start_exit` times the target. The first slowdown follows two RTTs later. A slowdown holds cwnd at two segments
/// for two RTTs, followed by slow start up to the previous window. The next slowdown begins after `interval` times the
/// length of the last one.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-irtf-iccrg-ledbat-plus-plus-01")]
pub struct Params {
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(60), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.5; RFC 9840 §4.2.1 (T)")]
    pub target: Span,
    /// Inverse of the minimum gain.
    #[param(default = 16.0, range = 1.0..=1000.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.2")]
    pub slowest: f64,
    /// Weight of the queueing delay beyond the target in the decrease.
    #[param(default = 1.0, range = 0.0..=100.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.3 (Constant)")]
    pub constant: f64,
    /// Queueing delay at which the initial slow start ends, as a fraction of the target.
    #[param(default = 0.75, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.1 (3/4)")]
    pub slow_start_exit: f64,
    /// Time between slowdowns as a multiple of the last slowdown's length; 9 costs at most a tenth of the throughput.
    #[param(default = 9.0, range = 0.0..=1000.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.4")]
    pub interval: f64,
    /// Window of the base delay.
    #[param(default = 10, range = 1..=1000, unit = "min", source = "RFC 6817 §2.5 (BASE_HISTORY)")]
    pub base_history: u32,
    /// Number of samples whose minimum is the current delay.
    #[param(expert, default = 4, range = 1..=1000, unit = "1", source = "RFC 6817 §2.5 (CURRENT_FILTER)")]
    pub current_filter: u32,
}

/// State of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    ledbat: Ledbat,
}

impl LedbatPlusPlus {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> LedbatPlusPlus {
        let Params { target, slowest, constant, slow_start_exit, interval, base_history, current_filter } =
            params;
        let rules = Rules {
            target,
            within_base: false,
            slowest,
            constant,
            slow_start_exit,
            interval,
            decrease: Decrease::Spread,
        };
        let delay = QueueingDelay::new(current_filter, base_history);
        let window = Window::new(ctx.mss, ctx.initial_window, ctx.initial_ssthresh);
        LedbatPlusPlus { ledbat: Ledbat::new(rules, window, delay) }
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_delivery(&mut self, ack: &Ack) {
        self.ledbat.round_trip = ack.srtt.unwrap_or(self.ledbat.round_trip);
        if let Some(rtt) = ack.rtt {
            self.ledbat.delay.add(ack.now, rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.ledbat.on_delivered(ack.now, ack.acked);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.ledbat.on_congestion(event.now, event.signal.into(), event.in_flight);
    }

    fn cwnd(&self) -> Bytes {
        self.ledbat.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.ledbat.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.ledbat.window.set_cwnd(cwnd);
    }

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set_cwnd(cwnd);
        self.ledbat.window.restore(Bytes::ZERO, ssthresh);
    }

    fn on_spurious(&mut self, before: &Before) {
        self.ledbat.window.restore(before.cwnd, before.ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_rwnd::ledbat::Phase;
    use airwnd_units::Time;

    fn cwnd_after(cc: &mut LedbatPlusPlus, ms: u64, rtt_ms: u64, bytes: u64) -> u64 {
        let rtt = Some(Span::from_millis(rtt_ms));
        let ack = Ack { now: Time(ms * 1_000_000), rtt, srtt: rtt, ..ack(bytes) };
        cc.on_delivery(&ack);
        cc.on_ack(&ack);
        cc.cwnd().0
    }

    fn unfiltered() -> LedbatPlusPlus {
        let params = Params { current_filter: 1, ..Params::default() };
        LedbatPlusPlus::new(params, &ctx(1000, 10))
    }

    /// Returns a controller in the steady state with 20 segments, a base delay of 50 ms and no slowdown due before 10
    /// s.
    fn steady() -> LedbatPlusPlus {
        let mut cc = unfiltered();
        cwnd_after(&mut cc, 0, 50, 0);
        cc.ledbat.window.set_threshold(20.0);
        cc.ledbat.window.set(20.0);
        cc.ledbat.phase = Phase::Steady { slowdown_at: Time(10_000_000_000) };
        cc
    }

    #[test]
    fn the_first_slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut cc = unfiltered();
        // base delay of 50 ms: 1 / ceil(120 / 50) = 1/3
        assert_eq!([cwnd_after(&mut cc, 0, 50, 3000), cwnd_after(&mut cc, 100, 95, 3000)], [3000, 4000]);
        assert_eq!(cwnd_after(&mut cc, 200, 96, 3000), 4000);
        assert_eq!(cc.ledbat.phase, Phase::Steady { slowdown_at: Time(392_000_000) });
    }

    #[test]
    fn a_round_trip_adds_the_gain_or_decreases_multiplicatively() {
        let mut cc = steady();
        assert_eq!(cwnd_after(&mut cc, 100, 110, 20_000), 20_333);
        // 1/3 - 20.33 (75 / 60 - 1) = -4.75 segments
        assert_eq!(cwnd_after(&mut cc, 200, 125, 20_333), 15_583);
        // at most half
        assert_eq!(cwnd_after(&mut cc, 300, 500, 15_583).div_ceil(10), 780);
    }

    #[test]
    fn a_slowdown_lasts_two_rtts_plus_slow_start_and_the_next_follows_after_nine_times_that() {
        let mut cc = steady();
        assert_eq!(
            [cwnd_after(&mut cc, 10_000, 50, 1000), cwnd_after(&mut cc, 10_099, 50, 2000)],
            [2000, 2000]
        );
        assert_eq!(
            [cwnd_after(&mut cc, 10_100, 50, 10_000), cwnd_after(&mut cc, 10_200, 50, 8000)],
            [12_000, 20_000]
        );
        assert_eq!(cc.ledbat.phase, Phase::Steady { slowdown_at: Time(12_000_000_000) });
    }

    #[test]
    fn a_loss_ends_slow_start_and_halves_the_flight() {
        let mut cc = unfiltered();
        cwnd_after(&mut cc, 0, 50, 60_000);
        cc.on_congestion(&congestion(Signal::Loss, 22_000));
        assert_eq!(
            (cc.cwnd(), cc.ledbat.phase),
            (Bytes(11_000), Phase::Steady { slowdown_at: Time(100_000_000) })
        );
    }
}
