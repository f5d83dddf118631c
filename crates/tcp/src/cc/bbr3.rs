//! A model of the path says how fast and how much: version 3, which heeds losses.

pub use super::parts::quantum::Quantum;
use super::parts::restraint::Restraint;
use super::parts::window::LARGEST;
use super::parts::windowed_max::WindowedMax;
use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, RateSample, SenderContext, Signal};
use crate::Seq;
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{BitRate, Bytes, Span, Time};

/// BBR v3: paced at what the path delivers, with as much in flight as it bears without losing more than 2 %.
///
/// It paces at a gain times bw and keeps a gain times bw min_rtt in flight, and room for what ACKs bring in
/// bunches; bw is the greatest delivery rate of this and the last probe. Startup and Drain are followed by cycles:
/// DOWN (0.9 bw) until the queue is gone, CRUISE (1.0) for 2 to 3 s or as many round trips as segments are in
/// flight, REFILL for a round trip, and UP (1.25) until the rate stands still or too much is lost. What was in
/// flight then is inflight_longterm, the limit from then on (less 15 % in CRUISE), which probes raise again, ever
/// faster. Losses at other times cut bw_shortterm and inflight_shortterm to what was delivered in the round, or to
/// 0.7 of them, until the next REFILL. Every five seconds half of the product is in flight for 200 ms, to measure
/// the round-trip time. Losses that were none are undone.
///
/// The draft leaves the answer to marks (ECN) open but wants one: here they are a round with a loss, and in a probe
/// one loss too many.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-ietf-ccwg-bbr-06")]
pub struct Params {
    /// Gain of the pace in Startup.
    #[param(default = 2.77, range = 1.01..=10.0)]
    #[param(unit = "1", source = "4 ln 2: draft-ietf-ccwg-bbr-06 §2.5 BBR.StartupPacingGain")]
    pub startup_gain: f64,
    /// Gain of the pace in Drain.
    #[param(default = 0.5, range = 0.05..=1.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.5 BBR.DrainPacingGain")]
    pub drain_gain: f64,
    /// Gain of the pace in DOWN.
    #[param(default = 0.9, range = 0.1..=1.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub down_gain: f64,
    /// Gain of the pace in UP.
    #[param(default = 1.25, range = 1.0..=4.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub up_gain: f64,
    /// Gain of the window.
    #[param(default = 2.0, range = 1.0..=10.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.6 BBR.DefaultCwndGain")]
    pub cwnd_gain: f64,
    /// Gain of the window in UP.
    #[param(default = 2.25, range = 1.0..=10.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub up_cwnd_gain: f64,
    /// Part of the bandwidth that the pace stays below it.
    #[param(default = 0.01, range = 0.0..=0.5)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.5 BBR.PacingMarginPercent")]
    pub pacing_margin: f64,
    /// Part of what is in flight that may be lost in a round trip of a probe.
    #[param(default = 0.02, range = 0.0001..=0.5)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.LossThresh")]
    pub loss_threshold: f64,
    /// What a round trip with losses leaves at least.
    #[param(default = 0.7, range = 0.1..=1.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.Beta")]
    pub beta: f64,
    /// Part of inflight_longterm that is left to others.
    #[param(default = 0.15, range = 0.0..=0.9)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.Headroom")]
    pub headroom: f64,
    /// The least window.
    #[param(default = 4, range = 1..=1000)]
    #[param(unit = "segments", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.MinPipeCwnd")]
    pub min_window: u32,
    /// A round that multiplies the delivery rate by this finds the pipe not full.
    #[param(default = 1.25, range = 1.0..=4.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.3.1.2")]
    pub full_growth: f64,
    /// Rounds with less in a row that find it full.
    #[param(default = 3, range = 1..=100, unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.1.2")]
    pub full_rounds: u32,
    /// Separate losses in a round trip that may end Startup.
    #[param(default = 6, range = 1..=1000)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.3.1.3 BBRStartupFullLossCnt")]
    pub full_losses: u32,
    /// Round trips after which Drain ends in any case.
    #[param(default = 3, range = 1..=1000, unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.2")]
    pub drain_rounds: u32,
    /// The least time between probes for bandwidth.
    #[param(default = Span::from_secs(2), range = Span(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_wait: Span,
    /// To which a random part of this is added.
    #[param(default = Span::from_secs(1), range = Span(0)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_wait_spread: Span,
    /// The most round trips between probes for bandwidth; as many as segments are in flight if these are fewer.
    #[param(default = 63, range = 1..=100_000)]
    #[param(unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_rounds: u32,
    /// Time in which the round-trip time is the least sample.
    #[param(default = Span::from_secs(10), range = Span::from_millis(100)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.1 BBR.MinRTTFilterLen")]
    pub min_rtt_window: Span,
    /// The least time between probes for the round-trip time.
    #[param(default = Span::from_secs(5), range = Span::from_millis(100)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTInterval")]
    pub probe_rtt_interval: Span,
    /// For how long such a probe lasts at least.
    #[param(default = Span::from_millis(200), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTDuration")]
    pub probe_rtt_duration: Span,
    /// Gain of the window in it.
    #[param(default = 0.5, range = 0.0..=1.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTCwndGain")]
    pub probe_rtt_gain: f64,
    /// Round trips for which the most that ACKs brought too early is remembered; one in Startup.
    #[param(default = 10, range = 1..=1000)]
    #[param(unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §2.11 BBR.ExtraAckedFilterLen")]
    pub aggregation_rounds: u32,
    /// What hosts send at a time; the window has room for three.
    #[param(default = Quantum::ByRate, unit = "word", source = "draft-ietf-ccwg-bbr-06 §5.6.3 and §5.5.8.1")]
    pub quantum: Quantum,
}

/// The round-trip time that the first pace is computed from if none was measured (draft-ietf-ccwg-bbr-06 §5.6.2).
const NOMINAL_RTT: Span = Span::from_millis(1);
/// Doublings after which inflight_longterm grows no faster (draft-ietf-ccwg-bbr-06 §5.3.3.9).
const MOST_DOUBLINGS: u32 = 30;
/// Segments that UP may have in flight beyond the gain (draft-ietf-ccwg-bbr-06 §5.6.4.2).
const PROBE_ROOM: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Whether it looks for more bandwidth, so that losses are no surprise.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// What ACKs tell of a probe for bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What to return to if the losses were none.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// Losses of this round trip, and what was delivered in it.
#[derive(Clone, Copy, Debug, Default)]
struct LossRound {
    has_loss: bool,
    /// Losses with something in between, and where the last one lay.
    ranges: u32,
    last: Option<(Seq, Seq)>,
    /// What had been delivered when it began, and whether this ACK begins one.
    from: u64,
    begins: bool,
    bw_latest: f64,
    inflight_latest: f64,
}

/// Probes for bandwidth.
#[derive(Clone, Copy, Debug)]
struct Probe {
    ack_phase: AckPhase,
    /// Whether samples are of data that a probe sent.
    sampled: bool,
    too_high: bool,
    precautionary: bool,
    cycle_at: Time,
    wait: Span,
    rounds_since: u64,
    up_rounds: u32,
    up_acked: f64,
    acked_per_increase: f64,
}

/// Whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    reached: bool,
    now: bool,
    bw: f64,
    rounds: u32,
}

/// The state of BBR v3. Amounts are bytes, rates bytes per second; what does not bound is infinite.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    random: Stream,
    mss: f64,
    initial_window: f64,
    state: State,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,

    /// Greatest delivery rates of this cycle and the one before.
    cycle_bw: [f64; 2],
    max_bw: f64,
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    extra_acked: WindowedMax,
    epoch_began: Time,
    epoch_acked: f64,

    round: u64,
    begins_round: bool,
    round_from: u64,
    full: FullPipe,
    drain_from: u64,
    loss: LossRound,
    probe: Probe,
    undo: Undo,
    probe_rtt_min: Option<Span>,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,

    restraint: Restraint,
    idle_restart: bool,
    /// Fast recovery or that after a timeout; the former only; whether what it may have to restore is saved.
    recovering: bool,
    fast_recovery: bool,
    saved: bool,
    /// Whether the window was full in this round trip and in the one before.
    filled_window: [bool; 2],
    /// Whether SACK tells losses apart.
    selective: bool,
    delivered: u64,
    acked: f64,
    in_flight: f64,
    last_sample: Option<RateSample>,
}

impl Bbr3 {
    /// A controller at the beginning of a connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Bbr3 {
        let unbounded = f64::INFINITY;
        let mut bbr = Bbr3 {
            random: Stream::new(ctx.seed, "bbr3"),
            mss: ctx.mss.0 as f64,
            initial_window: ctx.initial_window.0 as f64,
            state: State::Startup,
            cwnd: ctx.initial_window.0 as f64,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            cycle_bw: [0.0; 2],
            max_bw: 0.0,
            bw: 0.0,
            bw_shortterm: unbounded,
            inflight_shortterm: unbounded,
            inflight_longterm: unbounded,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            extra_acked: WindowedMax::new(),
            epoch_began: Time::ZERO,
            epoch_acked: 0.0,
            round: 0,
            begins_round: false,
            round_from: 0,
            full: FullPipe::default(),
            drain_from: 0,
            loss: LossRound::default(),
            probe: Probe {
                ack_phase: AckPhase::Init,
                sampled: false,
                too_high: false,
                precautionary: false,
                cycle_at: Time::ZERO,
                wait: Span::ZERO,
                rounds_since: 0,
                up_rounds: 0,
                up_acked: 0.0,
                acked_per_increase: unbounded,
            },
            undo: Undo { state: None, bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 },
            probe_rtt_min: None,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            restraint: Restraint::default(),
            idle_restart: false,
            recovering: false,
            fast_recovery: false,
            saved: false,
            filled_window: [false; 2],
            selective: true,
            delivered: 0,
            acked: 0.0,
            in_flight: 0.0,
            last_sample: None,
            params,
        };
        bbr.init_pacing_rate(NOMINAL_RTT);
        bbr
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.2: InitPacingRate()
    fn init_pacing_rate(&mut self, rtt: Span) {
        self.pacing_rate = self.params.startup_gain * self.initial_window / rtt.as_secs();
    }

    fn see_rtt(&mut self, now: Time, srtt: Option<Span>) {
        if let (false, Some(srtt)) = (self.has_seen_rtt, srtt.filter(|srtt| srtt.0 > 0)) {
            self.has_seen_rtt = true;
            self.init_pacing_rate(srtt);
            if self.min_rtt.is_none() {
                (self.min_rtt, self.min_rtt_at) = (Some(srtt), now);
                (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(srtt), now);
            }
        }
    }

    // Volumes.

    fn least(&self) -> f64 {
        f64::from(self.params.min_window) * self.mss
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.2: BDPMultiple()
    fn product(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |rtt| gain * bw * rtt.as_secs())
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.2: QuantizationBudget()
    fn with_budget(&self, volume: f64) -> f64 {
        let room = if self.state == State::Up { PROBE_ROOM * self.mss } else { 0.0 };
        volume.max(self.params.quantum.budget(self.pacing_rate, self.mss)).max(self.least()) + room
    }

    fn target_inflight(&self) -> f64 {
        self.product(self.bw, 1.0).min(self.cwnd)
    }

    fn inflight_with_headroom(&self) -> f64 {
        let headroom = (self.params.headroom * self.inflight_longterm).max(self.mss);
        if self.inflight_longterm.is_infinite() {
            return self.inflight_longterm;
        }
        (self.inflight_longterm - headroom).max(self.least())
    }

    fn is_cwnd_limited(&self) -> bool {
        self.filled_window[0] || self.filled_window[1]
    }

    // The model.

    fn is_app_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || self.restraint.covers(sample.prior_delivered.0)
    }

    fn rate(sample: &RateSample) -> f64 {
        sample.delivered.0 as f64 / sample.interval.as_secs()
    }

    fn start_round(&mut self, delivered: u64) {
        self.round_from = delivered;
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: UpdateLatestDeliverySignals()
    fn update_latest_delivery(&mut self, sample: &RateSample) {
        self.loss.bw_latest = self.loss.bw_latest.max(Bbr3::rate(sample));
        self.loss.inflight_latest = self.loss.inflight_latest.max(sample.delivered.0 as f64);
        self.loss.begins = sample.prior_delivered.0 >= self.loss.from;
        if self.loss.begins {
            self.loss.from = self.delivered;
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.1 and §5.5.5: UpdateRound(), UpdateMaxBw()
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.begins_round = sample.prior_delivered.0 >= self.round_from;
        if self.begins_round {
            self.start_round(self.delivered);
            self.round += 1;
            self.probe.rounds_since += 1;
            self.filled_window = [false, self.filled_window[0]];
        }
        let rate = Bbr3::rate(sample);
        if rate > 0.0 && (rate >= self.max_bw || !self.is_app_limited(sample)) {
            self.cycle_bw[0] = self.cycle_bw[0].max(rate);
            self.max_bw = self.cycle_bw[0].max(self.cycle_bw[1]);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: AdaptLowerBoundsFromCongestion()
    fn adapt_lower_bounds(&mut self) {
        if !self.loss.begins {
            return;
        }
        if self.loss.has_loss && !self.state.is_probing() {
            let beta = self.params.beta;
            let bw = if self.bw_shortterm.is_infinite() { self.max_bw } else { self.bw_shortterm };
            let inflight =
                if self.inflight_shortterm.is_infinite() { self.cwnd } else { self.inflight_shortterm };
            self.bw_shortterm = self.loss.bw_latest.max(beta * bw);
            self.inflight_shortterm = self.loss.inflight_latest.max(beta * inflight);
        }
        self.loss.has_loss = false;
    }

    fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    fn reset_congestion_signals(&mut self) {
        (self.loss.has_loss, self.loss.bw_latest, self.loss.inflight_latest) = (false, 0.0, 0.0);
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.9: UpdateACKAggregation()
    fn update_aggregation(&mut self, now: Time) {
        let mut expected = self.bw * (now - self.epoch_began).as_secs();
        if self.epoch_acked <= expected {
            (self.epoch_began, self.epoch_acked, expected) = (now, 0.0, 0.0);
        }
        self.epoch_acked += self.acked;
        let extra = (self.epoch_acked - expected).min(self.cwnd);
        let rounds = if self.full.reached { u64::from(self.params.aggregation_rounds) } else { 1 };
        self.extra_acked.update(rounds, self.round, extra);
    }

    // Startup and Drain.

    fn reset_full_pipe(&mut self, bw: f64) {
        self.full = FullPipe { reached: self.full.reached, now: false, bw, rounds: 0 };
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.1.2: CheckFullBWReached()
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.full.now || !self.begins_round || self.is_app_limited(sample) {
            return;
        }
        let rate = Bbr3::rate(sample);
        if rate >= self.full.bw * self.params.full_growth {
            self.reset_full_pipe(rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= self.params.full_rounds;
        self.full.reached |= self.full.now;
    }

    fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_losses(sample);
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
            self.drain_from = self.round;
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.1.3: CheckStartupHighLoss()
    fn check_startup_losses(&mut self, sample: &RateSample) {
        let (lost, in_flight) = (sample.lost.0 as f64, sample.in_flight_at_send.0 as f64);
        let too_high = if self.selective {
            let many = self.loss.ranges >= self.params.full_losses;
            self.loss.begins && many && self.is_inflight_too_high(lost, in_flight)
        } else {
            self.loss.ranges > 0
        };
        if self.state == State::Startup && self.fast_recovery && too_high {
            self.undo.state = Some(State::Startup);
            (self.full.reached, self.full.now) = (true, true);
            self.inflight_longterm = self.product(self.bw, 1.0).max(self.loss.inflight_latest);
        }
        if self.loss.begins {
            (self.loss.ranges, self.loss.last) = (0, None);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.2: CheckDrainDone()
    fn check_drain_done(&mut self, now: Time) {
        let is_long = self.round > self.drain_from + u64::from(self.params.drain_rounds);
        let is_drained = self.in_flight <= self.with_budget(self.product(self.bw, 1.0));
        if self.state == State::Drain && (is_drained || is_long) {
            self.start_down(now, self.delivered);
        }
    }

    // Probes for bandwidth.

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: StartProbeBW_DOWN(), with PickProbeWait() of §5.3.3.8
    fn start_down(&mut self, now: Time, delivered: u64) {
        self.reset_congestion_signals();
        self.probe.acked_per_increase = f64::INFINITY;
        self.probe.rounds_since = u64::from(self.random.uniform() >= 0.5);
        let spread = self.random.uniform() * self.params.probe_wait_spread.as_secs();
        self.probe.wait = self.params.probe_wait + Span::from_secs_f64(spread);
        self.probe.cycle_at = now;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round(delivered);
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0.0);
        self.probe.precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round(self.delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self, rate: f64) {
        self.probe.sampled = true;
        self.probe.ack_phase = AckPhase::Starting;
        self.start_round(self.delivered);
        self.reset_full_pipe(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: UpdateProbeBWCyclePhase()
    fn update_cycle(&mut self, ack: &Ack, sample: &RateSample) {
        if !self.full.reached || self.adapt_long_term(sample) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.begins_round => self.start_up(Bbr3::rate(sample)),
            State::Up if self.is_time_to_go_down(sample) => {
                self.probe.too_high = false;
                self.start_down(ack.now, self.delivered);
            }
            _ => {}
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.8: IsTimeToProbeBW()
    fn is_time_to_probe(&self, now: Time) -> bool {
        let segments = self.target_inflight() / self.mss;
        let rounds = segments.min(f64::from(self.params.probe_rounds));
        now > self.probe.cycle_at + self.probe.wait || self.probe.rounds_since as f64 >= rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.with_budget(self.product(self.max_bw, 1.0))
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.probe.too_high && self.in_flight >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_pipe(Bbr3::rate(sample));
            return false;
        }
        self.full.now
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_DOUBLINGS);
        self.probe.acked_per_increase = (self.cwnd / growth).max(self.mss);
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: ProbeInflightLongtermUpward()
    fn probe_upward(&mut self) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probe.up_acked += self.acked;
        if self.probe.up_acked >= self.probe.acked_per_increase {
            let segments = (self.probe.up_acked / self.probe.acked_per_increase).floor();
            self.probe.up_acked -= segments * self.probe.acked_per_increase;
            self.inflight_longterm += segments * self.mss;
        }
        if self.begins_round {
            self.raise_slope();
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: AdaptLongTermModel()
    /// Returns whether it has begun a state.
    fn adapt_long_term(&mut self, sample: &RateSample) -> bool {
        if self.probe.ack_phase == AckPhase::Starting && self.begins_round {
            self.probe.ack_phase = AckPhase::Feedback;
        }
        if self.probe.ack_phase == AckPhase::Stopping && self.begins_round {
            self.probe.sampled = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !self.is_app_limited(sample) {
                self.cycle_bw = [0.0, self.cycle_bw[0]];
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill();
                return true;
            }
        }
        let in_flight = sample.in_flight_at_send.0 as f64;
        if !self.is_inflight_too_high(sample.lost.0 as f64, in_flight) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(in_flight);
            if self.state == State::Up {
                self.probe_upward();
            }
        }
        false
    }

    // Losses.

    //= draft-ietf-ccwg-bbr-06 §5.5.10.2: IsInflightTooHigh()
    fn is_inflight_too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > in_flight * self.params.loss_threshold || (lost > 0.0 && !self.selective)
    }

    fn note_loss(&mut self, delivered: u64) {
        if !self.loss.has_loss {
            self.loss.from = delivered;
        }
        // The sender tells of losses before it says that recovery begins: the first one saves what that may undo.
        if !self.loss.has_loss || !self.saved {
            self.save_state();
        }
        self.loss.has_loss = true;
    }

    fn save_state(&mut self) {
        self.save_cwnd();
        self.saved = true;
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// With so much in flight too much is lost.
    fn lower_inflight(&mut self, now: Time, delivered: u64, in_flight: f64, app_limited: bool) {
        self.probe.too_high = true;
        self.probe.sampled = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(self.target_inflight() * self.params.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now, delivered);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.2: InflightAtLoss()
    fn inflight_at_loss(&self, loss: &Loss) -> f64 {
        let size = loss.len.0 as f64;
        let threshold = self.params.loss_threshold;
        let in_flight_before = loss.in_flight_at_send.0 as f64 - size;
        let lost_before = loss.lost_since_send.0 as f64 - size;
        in_flight_before + (threshold * in_flight_before - lost_before) / (1.0 - threshold)
    }

    // Round-trip time.

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: UpdateMinRTT()
    fn update_min_rtt(&mut self, now: Time, rtt: Option<Span>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_at + self.params.probe_rtt_interval;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|min| rtt < min))
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(rtt), now);
        }
        let expired = now > self.min_rtt_at + self.params.min_rtt_window;
        let Some(recent) = self.probe_rtt_min else { return };
        if expired || self.min_rtt.is_none_or(|min| recent < min) {
            (self.min_rtt, self.min_rtt_at) = (Some(recent), self.probe_rtt_min_at);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: CheckProbeRTT()
    fn check_probe_rtt(&mut self, now: Time, has_sample: bool) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.restraint.begin(self.delivered);
            self.save_cwnd();
            self.probe_rtt_until = None;
            self.probe.ack_phase = AckPhase::Stopping;
            self.start_round(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(now);
        }
        self.idle_restart &= !has_sample;
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: HandleProbeRTT()
    fn probe_rtt(&mut self, now: Time) {
        self.restraint.prolong(self.delivered, self.in_flight as u64);
        if self.probe_rtt_until.is_none() {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_until = Some(now + self.params.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.start_round(self.delivered);
            }
            return;
        }
        self.probe_rtt_round_done |= self.begins_round;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(now);
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_min_at = now;
        self.restore_cwnd();
        //= draft-ietf-ccwg-bbr-06 §5.3.4.4: ExitProbeRTT()
        self.reset_short_term();
        if self.full.reached {
            self.start_down(now, self.delivered);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    // What comes of it.

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => self.params.drain_gain,
            State::Down => self.params.down_gain,
            State::Up => self.params.up_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.params.up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_gain,
            _ => self.params.cwnd_gain,
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.2: SetPacingRateWithGain()
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.params.pacing_margin);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.6: SetCwnd()
    fn update_cwnd(&mut self) {
        let max_inflight = self.with_budget(self.product(self.bw, self.cwnd_gain()) + self.extra_acked.get());
        if self.full.reached {
            self.cwnd = (self.cwnd + self.acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_window {
            self.cwnd += self.acked;
        }
        self.cwnd = self.cwnd.max(self.least());
        self.bound_cwnd();
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bw, self.params.probe_rtt_gain).max(self.least())
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.7: BoundCwndForModel(), and BoundCwndForProbeRTT() of §5.6.4.5
    fn bound_cwnd(&mut self) {
        self.cwnd = self.cwnd.min(LARGEST);
        let cap = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise => self.inflight_with_headroom(),
            State::ProbeRtt => {
                self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
                self.inflight_with_headroom()
            }
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(self.least()));
    }

    fn save_cwnd(&mut self) {
        let is_cut = self.recovering || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, _ack: &Ack) {}

    //= draft-ietf-ccwg-bbr-06 §5.2.3: UpdateOnACK()
    fn on_delivery(&mut self, ack: &Ack) {
        (self.delivered, self.acked) = (ack.delivered.0, ack.acked.0 as f64);
        self.in_flight = ack.in_flight.0 as f64;
        self.see_rtt(ack.now, ack.srtt);
        self.begins_round = false;
        self.selective = ack.selective;
        self.last_sample = ack.rate;
        //= exception bbr3-no-sample
        if let Some(sample) = &ack.rate {
            self.update_latest_delivery(sample);
            self.update_max_bw(sample);
            self.adapt_lower_bounds();
            self.update_aggregation(ack.now);
            self.check_full_pipe(sample);
            self.check_startup_done(sample);
            self.check_drain_done(ack.now);
            self.update_cycle(ack, sample);
        }
        self.update_min_rtt(ack.now, ack.rate.and_then(|sample| sample.rtt));
        self.check_probe_rtt(ack.now, ack.rate.is_some());
        if let Some(sample) = ack.rate.filter(|_| self.loss.begins) {
            //= draft-ietf-ccwg-bbr-06 §5.5.10.3: AdvanceLatestDeliverySignals()
            (self.loss.bw_latest, self.loss.inflight_latest) =
                (Bbr3::rate(&sample), sample.delivered.0 as f64);
        }
        self.bw = self.max_bw.min(self.bw_shortterm);
        self.set_pacing_rate(self.pacing_gain());
        self.update_cwnd();
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.2: HandleLostPacket()
    fn on_lost(&mut self, loss: &Loss) {
        self.note_loss(loss.delivered.0);
        let (start, end) = (loss.seq, loss.seq + loss.len.0 as u32);
        let continues = self.loss.last.is_some_and(|(first, last)| start == last || end == first);
        self.loss.ranges += u32::from(!continues);
        self.loss.last = Some((start, end));
        let (lost, in_flight) = (loss.lost_since_send.0 as f64, loss.in_flight_at_send.0 as f64);
        if self.probe.sampled && self.is_inflight_too_high(lost, in_flight) {
            self.lower_inflight(loss.now, loss.delivered.0, self.inflight_at_loss(loss), loss.app_limited);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Ecn => {
                self.note_loss(self.delivered);
                if let Some(sample) = self.last_sample.filter(|_| self.probe.sampled) {
                    let in_flight = sample.in_flight_at_send.0 as f64;
                    self.lower_inflight(event.now, self.delivered, in_flight, self.is_app_limited(&sample));
                }
                return;
            }
            //= draft-ietf-ccwg-bbr-06 §5.6.4.4: OnEnterFastRecovery()
            Signal::Loss => {
                if !self.saved {
                    self.save_state();
                }
                self.fast_recovery = true;
            }
            //= draft-ietf-ccwg-bbr-06 §5.6.4.4: OnEnterRTO()
            Signal::Timeout | Signal::RepeatedTimeout => {
                // A repeated one enters nothing: what the first has saved is to be restored.
                if event.signal == Signal::Timeout {
                    self.save_state();
                }
                self.cwnd = self.mss;
                self.fast_recovery = false;
            }
        }
        self.recovering = true;
    }

    fn on_repaired(&mut self) {
        (self.recovering, self.fast_recovery, self.saved) = (false, false, false);
        self.restore_cwnd();
        self.acked = 0.0;
        self.update_cwnd();
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.11.2: HandleSpuriousLossDetection()
    fn on_spurious(&mut self, _before: &Before) {
        self.restore_cwnd();
        self.loss.has_loss = false;
        self.reset_full_pipe(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match (self.undo.state.take(), self.state) {
            (Some(State::Startup), state) if state != State::Startup => {
                self.full.reached = false;
                if state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            (Some(State::Up), state) if state != State::Up && state != State::ProbeRtt => self.start_refill(),
            _ => {}
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.4.1: HandleRestartFromIdle()
    fn on_send(&mut self, departure: &Departure) {
        self.see_rtt(departure.now, departure.srtt);
        let in_flight = (departure.in_flight + departure.len).0 as f64;
        self.filled_window[0] |= in_flight + self.mss > self.cwnd;
        let app_limited = departure.app_limited || self.restraint.covers(self.delivered);
        if departure.in_flight.0 > 0 || !app_limited {
            return;
        }
        self.idle_restart = true;
        self.epoch_began = departure.now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(departure.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    /// It has none.
    fn ssthresh(&self) -> Bytes {
        Bytes(u64::MAX)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.0 as f64).clamp(self.mss, LARGEST);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate((8.0 * self.pacing_rate) as u64))
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn wants_rates(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{congestion, ctx};

    const RTT: Span = Span::from_millis(50);

    /// In UP with 100 segments in flight, which are one product.
    fn probing() -> Bbr3 {
        let mut bbr = Bbr3::new(Params::default(), &ctx(1000, 10));
        (bbr.min_rtt, bbr.probe_rtt_min, bbr.has_seen_rtt) = (Some(RTT), Some(RTT), true);
        (bbr.max_bw, bbr.bw, bbr.cycle_bw) = (2e6, 2e6, [2e6, 0.0]);
        (bbr.state, bbr.full.reached, bbr.probe.sampled) = (State::Up, true, true);
        (bbr.cwnd, bbr.in_flight) = (225_000.0, 100_000.0);
        bbr
    }

    fn loss(segment: u32, lost_since_send: u64) -> Loss {
        Loss {
            now: Time(1_000_000_000),
            seq: Seq(1000 * segment),
            len: Bytes(1000),
            delivered: Bytes(500_000),
            in_flight_at_send: Bytes(100_000),
            lost_since_send: Bytes(lost_since_send),
            delivered_since_send: Bytes(90_000),
            app_limited: false,
        }
    }

    /// Two percent of 100 segments are two: the third lost one is too many, and 98 % of it.
    #[test]
    fn the_third_loss_of_a_hundred_is_one_too_many() {
        let mut bbr = probing();
        bbr.on_lost(&loss(0, 1000));
        bbr.on_lost(&loss(1, 2000));
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Up, f64::INFINITY));
        bbr.on_lost(&loss(2, 3000));
        // 99 + (0.02 x 99 - 2) / 0.98
        assert_eq!((bbr.state, bbr.inflight_longterm as u64), (State::Down, 98_979));
        assert!(bbr.probe.too_high && !bbr.probe.sampled);
    }

    #[test]
    fn losses_that_were_none_are_undone() {
        let mut bbr = probing();
        for segment in 0..3 {
            bbr.on_lost(&loss(segment, 1000 * u64::from(segment + 1)));
        }
        bbr.on_congestion(&congestion(Signal::Loss, 100_000));
        bbr.on_spurious(&Before { cwnd: bbr.cwnd(), ssthresh: bbr.ssthresh() });
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Refill, f64::INFINITY));
        assert_eq!(bbr.cwnd(), Bytes(225_000));
    }

    #[test]
    fn a_lossy_round_trip_leaves_what_was_delivered_or_seven_tenths() {
        for (latest, left) in [(1.8e6, 1.8e6), (1e6, 1.4e6)] {
            let mut bbr = Bbr3 { state: State::Cruise, cwnd: 100_000.0, ..probing() };
            bbr.loss = LossRound { has_loss: true, begins: true, bw_latest: latest, ..LossRound::default() };
            bbr.adapt_lower_bounds();
            assert_eq!((bbr.bw_shortterm, bbr.inflight_shortterm as u64), (left, 70_000));
            assert!(!bbr.loss.has_loss);
        }
    }

    /// In Startup, in fast recovery, with 3 % lost.
    fn startup_after(segments: impl Iterator<Item = u32>) -> State {
        let mut bbr = Bbr3 { state: State::Startup, fast_recovery: true, ..probing() };
        (bbr.full.reached, bbr.probe.sampled) = (false, false);
        segments.for_each(|segment| bbr.on_lost(&loss(segment, 1000)));
        let sample = RateSample {
            delivered: Bytes(100_000),
            interval: RTT,
            prior_delivered: Bytes(500_000),
            in_flight_at_send: Bytes(100_000),
            lost: Bytes(3000),
            app_limited: true,
            rtt: Some(RTT),
        };
        let ack =
            Ack { now: Time(1_000_000_000), delivered: Bytes(600_000), selective: true, ..Ack::default() };
        bbr.on_delivery(&Ack { rate: Some(sample), in_flight: Bytes(200_000), ..ack });
        bbr.state
    }

    #[test]
    fn six_separate_losses_end_startup() {
        assert_eq!(startup_after((0..6).map(|n| 2 * n)), State::Drain);
        assert_eq!(startup_after((0..5).map(|n| 2 * n)), State::Startup);
        // In one piece, in either order
        assert_eq!(startup_after(0..20), State::Startup);
        assert_eq!(startup_after((0..20).rev()), State::Startup);
    }

    #[test]
    fn a_mark_in_a_probe_is_one_too_many() {
        let mut bbr = probing();
        bbr.last_sample = Some(RateSample {
            delivered: Bytes(100_000),
            interval: RTT,
            prior_delivered: Bytes(0),
            in_flight_at_send: Bytes(120_000),
            lost: Bytes::ZERO,
            app_limited: false,
            rtt: Some(RTT),
        });
        bbr.on_congestion(&congestion(Signal::Ecn, 100_000));
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, 120_000.0));
    }

    #[test]
    fn probes_are_two_to_three_seconds_apart() {
        let mut bbr = probing();
        let waits: Vec<f64> = (0..1000)
            .map(|_| {
                bbr.start_down(Time::ZERO, 0);
                bbr.probe.wait.as_secs()
            })
            .collect();
        assert!(waits.iter().all(|wait| (2.0..=3.0).contains(wait)));
        // 2.5 s with a standard error of 0.289 / sqrt(1000) = 0.009
        assert!((waits.iter().sum::<f64>() / 1000.0 - 2.5).abs() < 0.04);
    }
}
