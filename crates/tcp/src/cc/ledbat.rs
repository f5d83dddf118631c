//! LEDBAT: low extra delay background transport.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_rwnd::ledbat::QueueingDelay;
use airwnd_units::Span;

/// LEDBAT: background transport; steers cwnd so that the queueing delay, here of the round trip, approaches a target.
///
/// For `acked` acknowledged segments, with windows in segments,
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \mathrm{gain} \cdot \frac{\mathrm{target} - D}{\mathrm{target}} \cdot
/// \frac{\mathrm{acked}}{\mathrm{cwnd}}
/// ```
///
/// The queueing delay D is the minimum of the last `current_filter` delay samples less the base delay, the minimum of
/// the last `base_history` minutes. The window is at least two segments, and grows at most to the bytes in flight
/// plus `allowed_increase`. A congestion event halves the bytes in flight.
///
/// Differences from the RFC: delays are RTTs, because one-way delays are not available, so a queue on the return path
/// counts as well.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 6817")]
pub struct Params {
    /// Target queueing delay.
    #[param(basic, default = Span::from_millis(100), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 6817 §2.5 (at most 100 ms); ns-3.44 TcpLedbat::TargetDelay")]
    pub target: Span,
    /// Increase per round trip without queueing delay.
    #[param(basic, default = 1.0, range = 0.01..=100.0)]
    #[param(unit = "segments", source = "RFC 6817 §2.5 (GAIN); ns-3.44 TcpLedbat::Gain")]
    pub gain: f64,
    /// Window of the base delay.
    #[param(default = 10, range = 1..=1000)]
    #[param(unit = "min", source = "RFC 6817 §2.5 (BASE_HISTORY); ns-3.44 TcpLedbat::BaseHistoryLen")]
    pub base_history: u32,
    /// Number of samples whose minimum is the current delay.
    #[param(expert, default = 4, range = 1..=1000)]
    #[param(unit = "1", source = "RFC 6817 §2.5 (CURRENT_FILTER); ns-3.44 TcpLedbat::NoiseFilterLen")]
    pub current_filter: u32,
    /// Maximum excess of cwnd over the bytes in flight.
    #[param(expert, default = 1.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "RFC 6817 §2.5 (ALLOWED_INCREASE)")]
    pub allowed_increase: f64,
    /// Whether the connection begins with slow start.
    #[param(default = true, unit = "1", source = "RFC 6817 §2.4.1 (optional); ns-3.44 TcpLedbat::SSParam")]
    pub slow_start: bool,
}

/// RFC 6817 §2.4.2: MIN_CWND in segments.
const MIN: f64 = 2.0;
/// State of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: Params,
    window: Window,
    delay: QueueingDelay,
}

impl Ledbat {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Ledbat {
        let mut window = Window::new(ctx);
        if !params.slow_start {
            window.set_threshold(window.segments());
        }
        let delay = QueueingDelay::new(params.current_filter, params.base_history);
        Ledbat { params, window, delay }
    }
}

impl CongestionControl for Ledbat {
    fn on_delivery(&mut self, ack: &Ack) {
        //= exception ledbat-round-trip
        if let Some(rtt) = ack.rtt {
            self.delay.add(ack.now, rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        if self.window.in_slow_start() {
            self.window.slow_start(acked.min(1.0));
            return;
        }
        let Some(delay) = self.delay.get() else { return };
        let w = self.window.segments();
        //= RFC 6817 §2.4.2
        let off_target = 1.0 - delay.as_secs() / self.params.target.as_secs();
        let max = self.window.count(ack.in_flight + ack.acked) + self.params.allowed_increase;
        let next = w + self.params.gain * off_target * acked / w;
        self.window.set(next.min(max.max(w)).max(MIN));
        self.window.end_slow_start();
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event, self.window.count(event.in_flight) / 2.0);
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::{Bytes, Time};

    fn at(second: u64, rtt_ms: u64, bytes: u64) -> Ack {
        Ack {
            now: Time(second * 1_000_000_000),
            rtt: Some(Span::from_millis(rtt_ms)),
            in_flight: Bytes(100_000),
            ..ack(bytes)
        }
    }

    fn cwnd_after(ledbat: &mut Ledbat, ack: &Ack) -> u64 {
        ledbat.on_delivery(ack);
        ledbat.on_ack(ack);
        ledbat.cwnd().0
    }

    #[test]
    fn the_window_is_stable_at_the_target() {
        let params = Params { slow_start: false, current_filter: 1, ..Params::default() };
        let mut ledbat = Ledbat::new(params, &ctx(1000, 20));
        // one window of ACKs: 1 - D / 100 ms segments for D = 0, 100 and 150 ms
        assert_eq!(cwnd_after(&mut ledbat, &at(1, 50, 20_000)), 21_000);
        assert_eq!(cwnd_after(&mut ledbat, &at(2, 150, 21_000)), 21_000);
        assert_eq!(cwnd_after(&mut ledbat, &at(3, 200, 21_000)), 20_500);
    }

    #[test]
    fn noise_is_filtered_and_an_old_base_delay_expires() {
        let params = Params { base_history: 2, ..Params::default() };
        let mut ledbat = Ledbat::new(params, &ctx(1000, 20));
        for (second, rtt_ms) in [(0, 50), (1, 90), (2, 80), (3, 95), (4, 85)] {
            ledbat.on_delivery(&at(second, rtt_ms, 1000));
        }
        // minimum of 90, 80, 95 and 85, less 50
        assert_eq!(ledbat.delay.get(), Some(Span::from_millis(30)));
        for second in [70, 140] {
            ledbat.on_delivery(&at(second, 80, 1000));
        }
        assert_eq!(ledbat.delay.get(), Some(Span(0)));
    }

    #[test]
    fn the_window_stays_near_the_bytes_in_flight() {
        let mut ledbat = Ledbat::new(Params::default(), &ctx(1000, 40));
        ledbat.on_congestion(&congestion(Signal::Loss, 40_000));
        let idle = Ack { in_flight: Bytes(0), ..at(1, 50, 1000) };
        assert_eq!(cwnd_after(&mut ledbat, &idle), 20_000);
    }
}
