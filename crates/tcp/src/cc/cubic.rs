//! A cubic function of the time since the last loss.

use super::parts::window::Window;
use super::slow_start::{self, SlowStart};
use super::{Ack, Before, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Time};

/// Whose arithmetic it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// The RFC's.
    #[word = "rfc9438"]
    Rfc9438,
    /// That of Linux and ns-3: whole segments, and a loss keeps beta of the window rather than of the flight. The
    /// window grows by a segment for each n acknowledged, n = cwnd / (W(t + RTTmin) - cwnd) rounded down, 2 at least,
    /// and 20 at most before the first loss; W_est grows by a segment for each cwnd / a acknowledged, a constant.
    #[word = "linux"]
    Linux,
}

/// CUBIC: after a loss the window follows a cubic function of time, flat where the last loss was.
///
/// W(t) = C (t - K)^3 + Wmax with K = cbrt((Wmax - cwnd at the loss) / C), windows in segments, t in seconds since
/// congestion avoidance began. An ACK of n segments adds n (W(t + SRTT) - cwnd) / cwnd, where the target lies
/// between cwnd and 1.5 cwnd. Where Reno would have more, its window W_est holds: it grows by
/// n a / cwnd with a = 3 (1 - beta) / (1 + beta), and a = 1 from the window before the loss on. After a timeout,
/// and when slow start ended without a loss, K = 0 and Wmax = cwnd. A loss keeps beta of the flight. Without
/// congestion-limited ACKs neither the window grows nor the time.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9438")]
pub struct Params {
    /// How steep the cubic function is (C).
    #[param(default = 0.4, range = 0.001..=100.0, unit = "segments/s^3", source = "RFC 9438 §5.1 (C)")]
    pub c: f64,
    /// Part of the flight that is kept at a loss.
    #[param(default = 0.7, range = 0.1..=0.99, unit = "1", source = "RFC 9438 §4.6 (beta_cubic)")]
    pub beta: f64,
    /// Whose arithmetic it is.
    #[param(default = Variant::Linux)]
    #[param(unit = "word", source = "RFC 9438; Linux tcp_cubic, ns-3.44 TcpCubic (linux)")]
    pub variant: Variant,
    /// Aim below the last maximum if the loss came before it, to leave room for new flows.
    #[param(default = true, unit = "1", source = "RFC 9438 §4.7")]
    pub fast_convergence: bool,
    /// Never have less than Reno would have.
    #[param(default = true, unit = "1", source = "RFC 9438 §4.3")]
    pub reno_friendly: bool,
    /// Whether Wmax outlives a timeout; then the window grows towards it again, else from where slow start ends.
    #[param(default = false, unit = "1", source = "RFC 9438 §4.8, Linux: no; ns-3 from 3.42 on: yes")]
    pub max_outlives_timeout: bool,
    /// Segments that one ACK may add in slow start.
    #[param(default = 8.0, range = 1.0..=1000.0, unit = "segments", source = "RFC 9406 §4.2 (L)")]
    pub slow_start_limit: f64,
    /// How slow start notices that the path is full.
    #[param(default = slow_start::Spec::Hystart(Default::default()))]
    #[param(unit = "1", source = "RFC 9438 §4.10; Linux tcp_cubic, hystart = 1")]
    pub slow_start: slow_start::Spec,
}

impl Params {
    /// CUBIC to the letter of the RFC, where the defaults are Linux's.
    pub fn rfc9438() -> Params {
        let slow_start = slow_start::Spec::Standard(Default::default());
        Params { variant: Variant::Rfc9438, slow_start, ..Params::default() }
    }
}

/// Linux tcp_cubic: the least acknowledged segments for one of growth, the most before the first loss, and those in a
/// window that is above the aim, in windows.
const FASTEST: f64 = 2.0;
const BEFORE_A_LOSS: f64 = 20.0;
const AT_REST: f64 = 100.0;

/// The state of CUBIC.
#[derive(Debug)]
pub struct Cubic {
    params: Params,
    window: Window,
    slow_start: Box<dyn SlowStart>,
    /// Wmax and the window before the last loss (cwnd_prior), until a timeout.
    last_loss: Option<Loss>,
    epoch: Option<Epoch>,
    /// Both before the last reduction.
    former: (Option<Loss>, Option<Epoch>),
    last_ack: Time,
    /// Acknowledged segments that did not grow the window yet, with Linux's arithmetic.
    credit: f64,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    max: f64,
    before: f64,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    k: f64,
    max: f64,
    reno: f64,
    /// Acknowledged segments that did not grow it yet, with Linux's arithmetic.
    reno_credit: f64,
    before: f64,
}

impl Cubic {
    /// A controller at the beginning of a connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Cubic {
        Cubic {
            slow_start: params.slow_start.build(),
            params,
            window: Window::new(ctx),
            last_loss: None,
            epoch: None,
            former: (None, None),
            last_ack: Time::ZERO,
            credit: 0.0,
        }
    }

    /// For a controller on top of it.
    pub(in crate::cc) fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn slow_start(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        match self.slow_start.growth(ack, self.window.segments()) {
            Some(part) => self.window.slow_start(part * acked.min(self.params.slow_start_limit)),
            None => self.window.set_threshold(self.window.segments()),
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
            // The target lies a round trip ahead, so the window may exceed W_est already; an ACK does not take that
            // back.
            self.window.set(epoch.reno.max(cwnd));
        } else {
            //= RFC 9438 §4.4, §4.5
            self.window.add(acked * (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd);
        }
    }

    fn avoid_in_whole_segments(&mut self, ack: &Ack) {
        let Params { c, beta, reno_friendly, .. } = self.params;
        let cwnd = libm::floor(self.window.segments());
        let acked = self.window.count(ack.acked);
        let last_loss = self.last_loss;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(ack.now, cwnd, last_loss, c));
        let t = (ack.now - epoch.began + ack.min_rtt.unwrap_or_default()).as_secs() - epoch.k;
        let target = epoch.max + libm::trunc(c * t * t * t);
        let mut each = if target > cwnd { libm::floor(cwnd / (target - cwnd)) } else { AT_REST * cwnd };
        if last_loss.is_none() {
            each = each.min(BEFORE_A_LOSS);
        }
        if reno_friendly {
            let eighths = libm::floor(8.0 * (1.0 + beta) / (3.0 * (1.0 - beta)));
            let each_of_reno = libm::floor(cwnd * eighths / 8.0).max(1.0);
            epoch.reno_credit += acked;
            let grown = libm::floor(epoch.reno_credit / each_of_reno);
            epoch.reno_credit -= grown * each_of_reno;
            epoch.reno += grown;
            if epoch.reno > cwnd {
                each = each.min(libm::floor(cwnd / (epoch.reno - cwnd)));
            }
        }
        each = each.max(FASTEST);
        self.credit += acked;
        if self.credit >= each {
            self.credit -= each;
            self.window.add(1.0);
        }
    }
}

impl Epoch {
    fn begin(now: Time, cwnd: f64, last_loss: Option<Loss>, c: f64) -> Epoch {
        //= RFC 9438 §4.8, §4.10: without a loss K is 0 and Wmax the window
        //= exception cubic-from-slow-start
        let Loss { max, before } = last_loss.unwrap_or(Loss { max: cwnd, before: cwnd });
        //= RFC 9438 §4.2 eq. 2
        let k = libm::cbrt((max - cwnd).max(0.0) / c);
        Epoch { began: now, k, max: max.max(cwnd), reno: cwnd, reno_credit: 0.0, before }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        let since_last = ack.now - self.last_ack;
        self.last_ack = ack.now;
        if !ack.cwnd_limited {
            //= RFC 9438 §5.8: the time that the application had nothing to send does not count
            if let Some(epoch) = &mut self.epoch {
                epoch.began = (epoch.began + since_last).min(ack.now);
            }
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
        let forgotten = event.signal.is_timeout() && !self.params.max_outlives_timeout;
        self.last_loss = (!forgotten).then_some(Loss { max, before: cwnd });
        self.epoch = None;
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
    fn the_window_is_back_at_the_loss_after_k_seconds() {
        let mut cubic = Cubic::new(Params { reno_friendly: false, ..Params::rfc9438() }, &ctx(1000, 100));
        cubic.on_congestion(&congestion(Signal::Loss, 100_000));
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (Bytes(70_000), Bytes(70_000)));
        // K = cbrt((100 - 70) / 0.4) = 4.217 s; a window of ACKs each 100 ms
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
    fn a_spurious_loss_leaves_no_trace() {
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

    #[test]
    fn a_loss_below_the_last_maximum_aims_lower() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
        cubic.on_congestion(&congestion(Signal::Loss, 100_000));
        cubic.on_congestion(&congestion(Signal::Loss, 70_000));
        // 70 (1 + 0.7) / 2
        assert!((cubic.last_loss.unwrap().max - 59.5).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_forgets_the_maximum_unless_told_otherwise() {
        for (max_outlives_timeout, known) in [(false, None), (true, Some(100.0))] {
            let mut cubic = Cubic::new(Params { max_outlives_timeout, ..Params::rfc9438() }, &ctx(1000, 100));
            cubic.on_congestion(&congestion(Signal::Timeout, 100_000));
            assert_eq!(cubic.last_loss.map(|loss| loss.max), known);
        }
    }

    #[test]
    fn small_windows_grow_as_renos_would() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 10));
        cubic.on_congestion(&congestion(Signal::Loss, 10_000));
        // a = 3 (1 - 0.7) / (1 + 0.7) = 0.529 segments for a window of ACKs
        cubic.on_ack(&at(1, 7000));
        assert_eq!(cubic.cwnd(), Bytes(7529));
    }

    #[test]
    fn a_reduction_without_reason_is_taken_back_with_its_threshold() {
        let mut cubic = Cubic::new(Params::rfc9438(), &ctx(1000, 100));
        let before = Before { cwnd: cubic.cwnd(), ssthresh: cubic.ssthresh() };
        cubic.on_congestion(&congestion(Signal::Timeout, 100_000));
        cubic.on_spurious(&before);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (before.cwnd, before.ssthresh));
    }

    #[test]
    fn a_sender_without_data_keeps_window_and_time() {
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
    fn delay_ends_slow_start_when_hystart_is_on() {
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
