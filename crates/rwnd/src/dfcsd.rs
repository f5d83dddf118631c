//! Delay-based flow control with service differentiation (DFCSD).

use super::parts::round::{HEADROOM, Round, Rounds};
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, DeviceNeeds, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// How DFCSD moves the window to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Update {
    /// In one step (eq. 13).
    #[word = "direct"]
    Direct,
    /// By at most one segment per RTT (§4.2).
    #[word = "step"]
    Step,
}

/// DFCSD: keeps a Vegas-like target backlog per connection, rwnd = backlog_s D / (D - d); less backlog for longer
/// flows.
///
/// Once per RTT the receiver sets the window from the current RTT D and the minimum RTT d (eq. 13):
///
/// ```math
/// \mathrm{rwnd} = \mathrm{backlog}_s \, \frac{D}{D - d}
/// ```
///
/// The backlog depends on `size`, the bytes that this connection has received, and on the minimum and maximum size
/// among the connections of the same device that receive at the moment (eq. 12):
///
/// ```math
/// \mathrm{backlog}_s = \mathrm{backlog} \cdot
/// e^{-(\mathrm{size}_s - \mathrm{size}_{\min}) / (\mathrm{size}_{\max} - \mathrm{size}_{\min})}
/// ```
///
/// The longest connection keeps 1/e of the backlog of the shortest. A single connection, and connections of equal size,
/// have the full backlog.
///
/// Units: eq. 13 is `alpha_s * D d / (D - d)`. As in Vegas (eqs 5 to 8) alpha is a rate in segments per second, and
/// alpha d is a backlog, w - x d with the rate x = w / D. Eq. 13 is therefore that backlog times D / (D - d). Elsewhere
/// the paper calls alpha a number of packets, and it gives no value. The parameter here is the backlog alpha d, one
/// value for all connections of a device even if their d differ.
///
/// The direct update settles only if the BDP is not much above the backlog: a window that is one segment too large is
/// followed by one that is BDP / backlog segments too small. With a larger BDP the window oscillates between too small
/// a value and the value that cwnd fills. With `update = "step"` it does not oscillate.
///
/// Where the paper is silent: the receiver offers `initial` before the first RTT sample, then never more than four
/// times the bytes of the last RTT, which is also the window without a queue (D = d), and never less than `floor`
/// segments. An offered window is not taken back. With "step" the window follows the target only after the target has
/// first been below the bytes of an RTT: one segment per RTT from the start would limit slow start. D is the receiver's
/// mean over the last round trip, from timestamps where both ends use them, otherwise from the time in which one window
/// of data arrives.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Dong, Gao, Xie, Tang, Xiong, Vasilakos: Receiver-Side TCP Countermeasure in Cellular Networks, \
              Sensors 19(12):2791, 2019, section 4"
)]
pub struct Params {
    /// Target backlog of the connection that has received the fewest bytes (alpha d).
    #[param(basic, default = 4.0, range = 0.1..=10_000.0)]
    #[param(
        unit = "segments",
        source = "not in the paper: DFCSD 2019 §4.1 builds on Vegas, whose beta is 4 in ns-3"
    )]
    pub backlog: f64,
    /// How the window moves to its target.
    #[param(default = Update::Direct, unit = "word", source = "DFCSD 2019 eq. 13; §4.2 for steps")]
    pub update: Update,
    /// Window offered before the first RTT sample.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "not in the paper: Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// Minimum offered window.
    #[param(default = 2, range = 1..=1000)]
    #[param(
        unit = "segments",
        source = "not in the paper: two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)"
    )]
    pub floor: u64,
    /// Time after which a minimum RTT sample expires; `none`: never expires.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "DFCSD 2019 §4.3 (minimum ever seen); RFC 6817 §2.5: it expires")]
    pub base_history: Option<Span>,
}

/// State of DFCSD.
#[derive(Clone, Debug)]
pub struct Dfcsd {
    params: Params,
    mss: f64,
    rounds: Rounds,
    /// Window in bytes.
    window: f64,
    /// With `update = "step"`: whether the target has been below the bytes of an RTT.
    follows_target: bool,
}

impl Dfcsd {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Dfcsd {
        let rounds = Rounds::new(params.base_history);
        let window = params.initial.0 as f64;
        Dfcsd { params, mss: ctx.mss.0 as f64, rounds, window, follows_target: false }
    }

    /// Returns the target backlog of this connection in bytes.
    fn backlog(&self, view: &RecvView) -> f64 {
        let (min, max) = (view.device.min_received.0, view.device.max_received.0);
        let whole = self.params.backlog * self.mss;
        if max <= min {
            return whole;
        }
        // The device figures do not include the current segment.
        let size = view.received.0.clamp(min, max);
        //= DFCSD 2019, eq. 12
        whole * libm::exp(-((size - min) as f64 / (max - min) as f64))
    }

    fn end_round(&mut self, round: Round, view: &RecvView) {
        let Round { bytes: arrived, rtt, min_rtt, .. } = round;
        let max = (arrived * HEADROOM) as f64;
        let queueing = (rtt - min_rtt).0 as f64;
        //= DFCSD 2019, eq. 13
        let target = (self.backlog(view) * (rtt.0 as f64 / queueing)).min(max);
        if self.params.update == Update::Direct {
            self.window = target;
            return;
        }
        let arrived = arrived as f64;
        //= exception dfcsd-start
        if !self.follows_target && target >= arrived {
            self.window = max;
            return;
        }
        let from = if self.follows_target { self.window } else { arrived };
        self.follows_target = true;
        self.window = from + (target - from).clamp(-self.mss, self.mss);
    }
}

impl RwndController for Dfcsd {
    fn on_path_rtt(&mut self, now: Time, rtt: Span) {
        self.rounds.add_path_rtt(now, rtt);
    }

    fn capabilities(&self) -> Capabilities {
        let needs = DeviceNeeds { connections: true, ..DeviceNeeds::default() };
        Capabilities { max_window_scale: MAX_SHIFT, needs, ..Capabilities::default() }
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if let Some(round) = self.rounds.add(arrival.now, arrival.new, view.rtt) {
            self.end_round(round, view);
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        //= exception dfcsd-bounds
        view.offer(Bytes(self.window as u64), self.params.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::tests_support::{MSS, arrival, ctx, view};
    use proptest::prelude::*;

    /// Literal transcription of equations 12 and 13 and of section 4.2 with the paper's symbols, in segments and
    /// milliseconds.
    struct Literal {
        alpha_d: f64,
        is_direct: bool,
        floor: f64,
        rwnd: f64,
        d_s: f64,
        last: Option<f64>,
        arrived_in_rtt: f64,
        was_below: bool,
    }

    impl Literal {
        fn packet(&mut self, now: f64, rtt: f64, size_s: f64, size_min: f64, size_max: f64) -> f64 {
            self.arrived_in_rtt += 1.0;
            let last = *self.last.get_or_insert(now);
            if now - last >= rtt {
                if rtt < self.d_s {
                    self.d_s = rtt;
                }
                let mut alpha_s = self.alpha_d;
                if size_max > size_min {
                    alpha_s = self.alpha_d * ((size_min - size_s) / (size_max - size_min)).exp();
                }
                let target = if rtt > self.d_s { alpha_s * rtt / (rtt - self.d_s) } else { f64::INFINITY };
                let max = 4.0 * self.arrived_in_rtt;
                let target = if target > max { max } else { target };
                if self.is_direct {
                    self.rwnd = target;
                } else if !self.was_below {
                    if target < self.arrived_in_rtt {
                        self.was_below = true;
                        self.rwnd = if self.arrived_in_rtt - target > 1.0 {
                            self.arrived_in_rtt - 1.0
                        } else {
                            target
                        };
                    } else {
                        self.rwnd = max;
                    }
                } else if target > self.rwnd + 1.0 {
                    self.rwnd += 1.0;
                } else if target < self.rwnd - 1.0 {
                    self.rwnd -= 1.0;
                } else {
                    self.rwnd = target;
                }
                self.arrived_in_rtt = 0.0;
                self.last = Some(now);
            }
            if self.rwnd < self.floor { self.floor } else { self.rwnd }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_literal_transcription(
            (backlog, is_direct, floor, initial) in (0.1..40.0_f64, any::<bool>(), 1..6_u64, 2..100_u64),
            (shortest, beyond) in (0..300_u64, 0..3000_u64),
            steps in prop::collection::vec((0..12_u64, 5..300_u64), 1..600),
        ) {
            let update = if is_direct { Update::Direct } else { Update::Step };
            let params = Params { backlog, update, floor, initial: Bytes(initial * MSS), ..Params::default() };
            let mut dfcsd = Dfcsd::new(params, &ctx());
            let mut literal = Literal {
                alpha_d: backlog,
                is_direct,
                floor: floor as f64,
                rwnd: initial as f64,
                d_s: f64::INFINITY,
                last: None,
                arrived_in_rtt: 0.0,
                was_below: false,
            };
            let mut now = 0;
            for (received, (gap, rtt)) in (1..).zip(steps) {
                now += gap;
                let at = Time(now * 1_000_000);
                // Other connections of the device: the one with the fewest and the one with the most received bytes.
                let (min, max) = (shortest.min(received), (shortest + beyond).max(received));
                let device = Device {
                    connections: 3,
                    min_received: Bytes(min * MSS),
                    max_received: Bytes(max * MSS),
                    ..Device::default()
                };
                let view = RecvView { received: Bytes(received * MSS), device, ..view(Some(Span::from_millis(rtt))) };
                dfcsd.on_segment(&arrival(at, at, MSS), &view);
                let expected =
                    MSS as f64 * literal.packet(now as f64, rtt as f64, received as f64, min as f64, max as f64);
                let Advertisement::Window(window) = dfcsd.window(at, &view) else { panic!("no codes") };
                prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-9 * expected, "{window:?} {expected}");
            }
        }
    }

    /// Returns the backlog in segments after 400 RTTs. The link serves one segment per 5 ms and has the given base RTT;
    /// each RTT follows from the window of the previous one.
    fn settled(params: Params, base_ms: u64) -> f64 {
        let mut dfcsd = Dfcsd::new(params, &ctx());
        let (base, slot) = (Span::from_millis(base_ms), Span::from_millis(5));
        let (mut now, mut window) = (Time::ZERO, 2 * MSS);
        for _ in 0..400 {
            let rtt = Span(slot.0 * window / MSS).max(base);
            let arrived = window / MSS;
            for _ in 0..arrived {
                now += rtt / arrived;
                dfcsd.on_segment(&arrival(now, now, MSS), &view(Some(rtt)));
            }
            now += Span::from_millis(1);
            let Advertisement::Window(offered) = dfcsd.window(now, &view(None)) else { panic!("no codes") };
            window = offered.0.min(window * 2);
        }
        window as f64 / MSS as f64 - base.0 as f64 / slot.0 as f64
    }

    #[test]
    fn the_direct_update_settles_at_the_backlog_if_the_bdp_is_smaller() {
        // W - BDP = backlog = 8, BDP = 4.
        let backlog = settled(Params { backlog: 8.0, ..Params::default() }, 20);
        assert!((backlog - 8.0).abs() < 1.0, "{backlog}");
    }

    #[test]
    fn the_step_update_settles_where_the_direct_update_oscillates() {
        // BDP = 40, ten times the backlog.
        let params = Params { update: Update::Step, ..Params::default() };
        let backlog = settled(params, 200);
        assert!((backlog - 4.0).abs() < 1.0, "{backlog}");
        assert!((settled(Params::default(), 200) - 4.0).abs() > 4.0);
    }

    /// Returns the window after an RTT of 40 ms with a minimum RTT of 20 ms, by sizes in segments.
    fn offered(size: u64, min: u64, max: u64) -> Bytes {
        let mut dfcsd = Dfcsd::new(Params::default(), &ctx());
        let device = Device {
            connections: 2,
            min_received: Bytes(min * MSS),
            max_received: Bytes(max * MSS),
            ..Device::default()
        };
        for (at, rtt) in [(0, 20), (20, 20), (30, 40), (40, 40), (50, 40), (60, 40)] {
            let rtt = Some(Span::from_millis(rtt));
            let view = RecvView { received: Bytes(size * MSS), device, ..view(rtt) };
            let at = Time(at * 1_000_000);
            dfcsd.on_segment(&arrival(at, at, MSS), &view);
        }
        let Advertisement::Window(window) = dfcsd.window(Time::ZERO, &view(None)) else { panic!("no codes") };
        window
    }

    #[test]
    fn the_longest_connection_has_one_eth_of_the_window() {
        // 4 * 40 / (40 - 20) = 8 segments
        assert_eq!(offered(10, 10, 1000), Bytes(8 * MSS));
        assert_eq!(offered(500, 500, 500), Bytes(8 * MSS));
        assert_eq!(offered(1000, 10, 1000), Bytes((8000.0 / std::f64::consts::E) as u64));
    }
}
