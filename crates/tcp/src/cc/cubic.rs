//! CUBIC: window growth as a cubic function of the time since the last congestion event.

use super::parts::window::Window;
use super::slow_start::{self, SlowStart};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// Arithmetic of the window update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// Arithmetic of RFC 9438: fractional segments; a congestion event keeps beta of the bytes in flight.
    #[word = "rfc9438"]
    Rfc9438,
    /// Arithmetic of Linux and ns-3: whole segments; a congestion event keeps beta of cwnd rather than of the bytes in
    /// flight. The window grows by one segment per n acknowledged segments, n = cwnd / (W(t + RTTmin) - cwnd) rounded
    /// down, at least 2, and at most 20 before the first loss. W_est grows by one segment per cwnd / a acknowledged
    /// segments, with a constant a.
    #[word = "linux"]
    Linux,
}

/// The RTTmin of the variant "linux".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum MinRtt {
    /// The minimum of the connection's RTTs.
    #[word = "connection"]
    Connection,
    /// The minimum of the smoothed RTT since the last timeout, without the first 10 ms of congestion avoidance.
    #[word = "smoothed"]
    Smoothed,
}

/// Quirks of ns-3's CUBIC.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 TcpCubic")]
pub struct Quirks {
    /// Whether Wmax is kept after a timeout. If so, the window grows towards Wmax again, otherwise from its value at
    /// the end of slow start (RFC 9438 §4.8, Linux).
    #[param(default = false, unit = "1", source = "ns-3 TcpCubic::CongestionStateSet from 3.42 on: true")]
    pub max_outlives_timeout: bool,
    /// RTTmin of the variant "linux".
    #[param(default = MinRtt::Connection, unit = "word", source = "ns-3.44 TcpCubic::PktsAcked: smoothed")]
    pub min_rtt: MinRtt,
}

/// CUBIC: after a loss cwnd grows as a cubic function of time, with its plateau at the window of the last loss.
///
/// The cubic function, with windows in segments and t in seconds since congestion avoidance began, is
///
/// ```math
/// W(t) = C \, (t - K)^3 + W_{\max}
/// ```
///
/// It starts at the window right after the congestion event, so that
///
/// ```math
/// K^3 = \frac{W_{\max} - \mathrm{cwnd}}{C}
/// ```
///
/// The target is W(t + SRTT), bounded to cwnd and 1.5 cwnd. An ACK of n segments adds
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + n \, \frac{\mathrm{target} - \mathrm{cwnd}}{\mathrm{cwnd}}
/// ```
///
/// In the Reno-friendly region, where Reno's estimated window W_est exceeds W(t), the window is W_est:
///
/// ```math
/// W_{\text{est}} \leftarrow W_{\text{est}} + \alpha \, \frac{n}{\mathrm{cwnd}}
/// ```
///
/// with alpha = 3 (1 - beta) / (1 + beta), and alpha = 1 once W_est has reached the window before the congestion event.
///
/// A congestion event sets cwnd to beta times the bytes in flight. After a timeout, and if slow start ended without a
/// loss, K = 0 and Wmax = cwnd. While the sender is not limited by cwnd, the window does not grow and the time t stands
/// still.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9438")]
pub struct Params {
    /// Scaling constant of the cubic function (C).
    #[param(basic, default = 0.4, range = 0.001..=100.0, unit = "segments/s^3", source = "RFC 9438 §5.1 (C)")]
    pub c: f64,
    /// Multiplicative decrease: fraction of the bytes in flight (variant "linux": of cwnd) kept at a congestion event.
    #[param(basic, default = 0.7, range = 0.1..=0.99, unit = "1", source = "RFC 9438 §4.6 (beta_cubic)")]
    pub beta: f64,
    /// Arithmetic of the window update.
    #[param(default = Variant::Linux)]
    #[param(unit = "word", source = "RFC 9438; Linux tcp_cubic, ns-3.44 TcpCubic (linux)")]
    pub variant: Variant,
    /// Fast convergence: a congestion event below the last Wmax sets Wmax = cwnd (1 + beta) / 2, which releases
    /// bandwidth to new flows.
    #[param(default = true, unit = "1", source = "RFC 9438 §4.7")]
    pub fast_convergence: bool,
    /// Reno-friendly region: the window is at least that of Reno (W_est).
    #[param(default = true, unit = "1", source = "RFC 9438 §4.3")]
    pub reno_friendly: bool,
    /// Maximum growth per ACK in slow start with the variant "rfc9438"; "linux" has none.
    #[param(expert, default = 8.0, range = 1.0..=1000.0, unit = "segments", source = "RFC 9406 §4.2 (L)")]
    pub slow_start_limit: f64,
    /// Detection of the end of slow start before a loss.
    #[param(default = slow_start::Spec::Hystart(Default::default()))]
    #[param(unit = "1", source = "RFC 9438 §4.10; Linux tcp_cubic, hystart = 1")]
    pub slow_start: slow_start::Spec,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Params {
    /// Returns the parameters of CUBIC as specified in RFC 9438; the defaults are those of Linux.
    pub fn rfc9438() -> Params {
        let slow_start = slow_start::Spec::Standard(Default::default());
        Params { variant: Variant::Rfc9438, slow_start, ..Params::default() }
    }
}

/// Acknowledged segments per segment of growth in Linux tcp_cubic: minimum, maximum before the first loss, and, in
/// windows, the value while cwnd is above the target.
const MIN_ACKED: f64 = 2.0;
const MAX_ACKED_BEFORE_LOSS: f64 = 20.0;
const WINDOWS_ABOVE_TARGET: f64 = 100.0;
/// Time in congestion avoidance before RTTs count, ns-3.44 TcpCubic::CubicDelta.
const UNSETTLED: Span = Span::from_millis(10);

/// State of CUBIC.
#[derive(Debug)]
pub struct Cubic {
    params: Params,
    window: Window,
    slow_start: Box<dyn SlowStart>,
    /// Wmax and the window before the last loss (cwnd_prior); `None` after a timeout.
    last_loss: Option<Loss>,
    epoch: Option<Epoch>,
    /// `last_loss` and `epoch` before the last reduction.
    former: (Option<Loss>, Option<Epoch>),
    last_ack: Time,
    /// The minimum smoothed RTT since the last timeout.
    min_smoothed: Option<Span>,
    /// Acknowledged segments not yet counted for growth, with Linux's arithmetic.
    credit: f64,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    max: f64,
    before: f64,
}

/// A period of congestion avoidance between two congestion events.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    k: f64,
    max: f64,
    reno: f64,
    /// Acknowledged segments not yet counted for growth of W_est, with Linux's arithmetic.
    reno_credit: f64,
    before: f64,
}

impl Cubic {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Cubic {
        Cubic {
            slow_start: params.slow_start.build(),
            params,
            window: Window::new(ctx),
            last_loss: None,
            epoch: None,
            former: (None, None),
            last_ack: Time::ZERO,
            min_smoothed: None,
            credit: 0.0,
        }
    }

    /// Returns the window, for a controller that extends CUBIC.
    pub(in crate::cc) fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Excludes the time before `now` from the cubic function.
    fn skip(&mut self, now: Time, span: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began = (epoch.began + span).min(now);
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        match self.slow_start.growth(ack, self.window.segments()) {
            Some(part) => self.window.slow_start(part * acked.min(self.slow_start_limit())),
            None => self.window.set_threshold(self.window.segments()),
        }
    }

    fn slow_start_limit(&self) -> f64 {
        match self.params.variant {
            Variant::Rfc9438 => self.params.slow_start_limit,
            Variant::Linux => f64::INFINITY,
        }
    }

    fn avoid(&mut self, ack: &Ack) {
        let Params { c, beta, reno_friendly, .. } = self.params;
        let cwnd = self.window.segments();
        let acked = self.window.count(ack.acked);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(ack.now, cwnd, self.last_loss, c));
        let t = (ack.now - epoch.began).as_secs();
        //= RFC 9438 §4.2 eq. 1
        let cubic = |t: f64| c * (t - epoch.k) * (t - epoch.k) * (t - epoch.k) + epoch.max;
        //= RFC 9438 §4.3 eq. 4
        let a = if epoch.reno < epoch.before { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        let (now, target) = (cubic(t), cubic(t + ack.srtt.unwrap_or_default().as_secs()));
        epoch.reno += a * acked / cwnd;
        if reno_friendly && now < epoch.reno {
            // The target lies one RTT ahead, so the window may already exceed W_est; an ACK never reduces it.
            self.window.set(epoch.reno.max(cwnd));
        } else {
            //= RFC 9438 §4.4, §4.5
            self.window.add(acked * (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd);
        }
    }

    fn avoid_in_whole_segments(&mut self, ack: &Ack) {
        let Params { c, beta, reno_friendly, quirks: Quirks { min_rtt, .. }, .. } = self.params;
        let cwnd = libm::floor(self.window.segments());
        let acked = self.window.count(ack.acked);
        let last_loss = self.last_loss;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(ack.now, cwnd, last_loss, c));
        let min = match min_rtt {
            MinRtt::Connection => ack.min_rtt,
            MinRtt::Smoothed => self.min_smoothed,
        };
        let t = (ack.now - epoch.began + min.unwrap_or_default()).as_secs() - epoch.k;
        let target = epoch.max + libm::trunc(c * t * t * t);
        let mut each =
            if target > cwnd { libm::floor(cwnd / (target - cwnd)) } else { WINDOWS_ABOVE_TARGET * cwnd };
        if last_loss.is_none() {
            each = each.min(MAX_ACKED_BEFORE_LOSS);
        }
        if reno_friendly {
            let eighths = libm::floor(8.0 * (1.0 + beta) / (3.0 * (1.0 - beta)));
            let each_of_reno = libm::floor(cwnd * eighths / 8.0).max(1.0);
            epoch.reno_credit += acked;
            // A remainder that is just enough waits for the next ACK, as in Linux and ns-3.
            let grown = (libm::ceil(epoch.reno_credit / each_of_reno) - 1.0).max(0.0);
            epoch.reno_credit -= grown * each_of_reno;
            epoch.reno += grown;
            if epoch.reno > cwnd {
                each = each.min(libm::floor(cwnd / (epoch.reno - cwnd)));
            }
        }
        each = each.max(MIN_ACKED);
        self.credit += acked;
        if self.credit >= each {
            self.credit -= each;
            self.window.add(1.0);
        }
    }
}

impl Epoch {
    fn begin(now: Time, cwnd: f64, last_loss: Option<Loss>, c: f64) -> Epoch {
        //= RFC 9438 §4.8, §4.10: without a loss K = 0 and Wmax = cwnd
        //= exception cubic-from-slow-start
        let Loss { max, before } = last_loss.unwrap_or(Loss { max: cwnd, before: cwnd });
        //= RFC 9438 §4.2 eq. 2
        let k = libm::cbrt((max - cwnd).max(0.0) / c);
        Epoch { began: now, k, max: max.max(cwnd), reno: cwnd, reno_credit: 0.0, before }
    }
}

impl CongestionControl for Cubic {
    fn on_delivery(&mut self, ack: &Ack) {
        let counts = self.params.quirks.min_rtt == MinRtt::Smoothed;
        if counts && self.epoch.is_none_or(|epoch| ack.now - epoch.began >= UNSETTLED) {
            self.min_smoothed = self.min_smoothed.into_iter().chain(ack.srtt).min();
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let since_last = ack.now - self.last_ack;
        self.last_ack = ack.now;
        if !ack.cwnd_limited {
            //= RFC 9438 §5.8: application-limited time does not count
            self.skip(ack.now, since_last);
        } else if self.window.in_slow_start() {
            self.slow_start(ack);
        } else if self.params.variant == Variant::Linux {
            self.avoid_in_whole_segments(ack);
        } else {
            self.avoid(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let Params { beta, fast_convergence, variant, .. } = self.params;
        let is_linux = variant == Variant::Linux;
        let whole = |segments: f64| if is_linux { libm::floor(segments) } else { segments };
        let cwnd = whole(self.window.segments());
        //= RFC 9438 §4.7
        let early = fast_convergence && self.last_loss.is_some_and(|last| cwnd < last.max);
        let max = if early { whole(cwnd * (1.0 + beta) / 2.0) } else { cwnd };
        if event.signal != Signal::RepeatedTimeout {
            self.former = (self.last_loss, self.epoch);
        }
        //= RFC 9438 §4.8
        let forgotten = event.signal.is_timeout() && !self.params.quirks.max_outlives_timeout;
        self.last_loss = (!forgotten).then_some(Loss { max, before: cwnd });
        self.epoch = None;
        if event.signal.is_timeout() {
            self.min_smoothed = None;
        }
        self.slow_start.on_congestion();
        //= RFC 9438 §4.6
        let reduced = if is_linux { cwnd } else { self.window.count(event.in_flight) };
        self.window.reduce(event, whole(beta * reduced));
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.set_cwnd(cwnd);
        self.epoch = None;
    }

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restart(cwnd, ssthresh);
    }

    //= RFC 9438 §5.8: the cubic function does not advance while the application is idle, as in Linux cubictcp_cwnd_event
    fn on_resume(&mut self, now: Time, pause: Span) {
        self.skip(now, pause);
    }

    //= RFC 9438 §4.9.2
    fn on_spurious(&mut self, before: &Before) {
        self.window.restore(before);
        (self.last_loss, self.epoch) = self.former;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Span;

    fn at(ms: u64, bytes: u64) -> Ack {
        Ack { now: Time(ms * 1_000_000), srtt: Some(Span::from_millis(100)), ..ack(bytes) }
    }

    #[test]
    fn the_window_reaches_wmax_after_k_seconds() {
        let mut cubic = Cubic::new(Params { reno_friendly: false, ..Params::rfc9438() }, &ctx(1000, 100));
        cubic.on_congestion(&congestion(Signal::Loss, 100_000));
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (Bytes(70_000), Bytes(70_000)));
        // K = cbrt((100 - 70) / 0.4) = 4.217 s; one window of ACKs every 100 ms
        let mut windows = Vec::new();
        for tick in 0..80 {
            windows.push(cubic.cwnd().0);
            cubic.on_ack(&at(tick * 100, cubic.cwnd().0));
        }
        assert!((windows[42] as f64 - 100_000.0).abs() < 200.0, "{}", windows[42]);
        // W(8 s) = 0.4 (8 - 4.217)^3 + 100 = 121.66
        assert!((cubic.cwnd().0 as f64 - 121_660.0).abs() < 200.0, "{}", cubic.cwnd());
    }

    #[test]
    fn a_spurious_timeout_has_no_effect() {
        let run = |spurious: bool| {
            let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
            cubic.on_congestion(&congestion(Signal::Loss, 100_000));
            for tick in 0..60 {
                if spurious && tick == 30 {
                    let before = Before { cwnd: cubic.cwnd(), ssthresh: cubic.ssthresh() };
                    cubic.on_congestion(&congestion(Signal::Timeout, 50_000));
                    cubic.on_spurious(&before);
                }
                cubic.on_ack(&at(tick * 100, cubic.cwnd().0));
            }
            (cubic.cwnd(), cubic.ssthresh())
        };
        let (without, with) = (run(false), run(true));
        assert!(without.0.0.abs_diff(with.0.0) <= 1 && without.1 == with.1, "{without:?} and {with:?}");
    }

    /// ns-3.44's TcpCubic, from 60 of 100 segments on, with 100 ACKs every 10 ms, an RTT of 20 ms before the loss and of
    /// 100 ms afterwards: the target lies 20 ms ahead, or 100 ms after a timeout.
    #[test]
    fn the_target_lies_ahead_by_the_minimum_smoothed_rtt_since_a_timeout() {
        let growth = |signal: Signal| {
            let params = Params {
                quirks: Quirks { min_rtt: MinRtt::Smoothed, max_outlives_timeout: true },
                ..Params::default()
            };
            let mut cubic = Cubic::new(params, &ctx(1000, 100));
            let ack = |ms, srtt| Ack { srtt: Some(Span::from_millis(srtt)), ..at(ms, 1000) };
            cubic.on_delivery(&ack(0, 20));
            cubic.on_congestion(&congestion(signal, 100_000));
            cubic.window.set_threshold(60.0);
            cubic.window.set(60.0);
            let mut grown = Vec::new();
            for (ms, number) in (0..60).flat_map(|tick| (0..100).map(move |number| (10 * tick, number))) {
                let before = cubic.cwnd();
                cubic.on_delivery(&ack(ms, 100));
                cubic.on_ack(&ack(ms, 100));
                if cubic.cwnd() > before {
                    grown.push((ms, number));
                }
            }
            grown
        };
        // Later W_est counts, which grows one segment earlier here.
        assert_eq!(growth(Signal::Loss)[..2], [(0, 59), (20, 0)]);
        assert_eq!(growth(Signal::Timeout)[..3], [(0, 19), (0, 49), (10, 11)]);
    }

    #[test]
    fn fast_convergence_lowers_wmax() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
        cubic.on_congestion(&congestion(Signal::Loss, 100_000));
        cubic.on_congestion(&congestion(Signal::Loss, 70_000));
        // 70 (1 + 0.7) / 2
        assert!((cubic.last_loss.unwrap().max - 59.5).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_discards_wmax_unless_configured_otherwise() {
        for (max_outlives_timeout, known) in [(false, None), (true, Some(100.0))] {
            let quirks = Quirks { max_outlives_timeout, ..Quirks::default() };
            let mut cubic = Cubic::new(Params { quirks, ..Params::rfc9438() }, &ctx(1000, 100));
            cubic.on_congestion(&congestion(Signal::Timeout, 100_000));
            assert_eq!(cubic.last_loss.map(|loss| loss.max), known);
        }
    }

    #[test]
    fn small_windows_grow_as_reno() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 10));
        cubic.on_congestion(&congestion(Signal::Loss, 10_000));
        // a = 3 (1 - 0.7) / (1 + 0.7) = 0.529 segments per window of ACKs
        cubic.on_ack(&at(1, 7000));
        assert_eq!(cubic.cwnd(), Bytes(7529));
    }

    #[test]
    fn a_spurious_reduction_restores_cwnd_and_ssthresh() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
        let before = Before { cwnd: cubic.cwnd(), ssthresh: cubic.ssthresh() };
        cubic.on_congestion(&congestion(Signal::Timeout, 100_000));
        cubic.on_spurious(&before);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (before.cwnd, before.ssthresh));
    }

    #[test]
    fn an_application_limited_sender_keeps_window_and_time() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
        cubic.on_congestion(&congestion(Signal::Loss, 100_000));
        cubic.on_ack(&at(0, 1000));
        let before = cubic.cwnd();
        for second in 1..100 {
            cubic.on_ack(&Ack { cwnd_limited: false, ..at(1000 * second, 1000) });
        }
        assert_eq!(cubic.cwnd(), before);
        assert_eq!(cubic.epoch.unwrap().began, Time(99_000_000_000));
    }

    #[test]
    fn delay_ends_slow_start_with_hystart() {
        let slow_start = slow_start::Spec::Hystart(Default::default());
        let params = Params { slow_start, ..Params::rfc9438() };
        let mut cubic = Cubic::new(params, &ctx(1000, 20));
        let base = Some(Span::from_millis(80));
        // 8 samples of 95 ms in a round: more than 80 ms + 80 ms / 8
        for n in 0..9 {
            let late = Some(Span::from_millis(95));
            cubic.on_ack(&Ack { rtt: late, min_rtt: base, ..at(1000 + 10 * n, 1000) });
        }
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (Bytes(28_000), Bytes(28_000)));
    }
}
