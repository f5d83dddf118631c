//! BBR version 3: pacing rate and window from a model of the path that responds to losses.

mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;

pub use super::parts::quantum::Quantum;
use super::parts::restraint::Restraint;
use super::parts::window::LARGEST;
use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, RateSample, SenderContext, Signal};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{BitRate, Bytes, Span, Time};
use loss::{Ended, LossRound, Undo, inflight_at_loss};
use model::{Bounds, Model, rate};
use probe_bw::{AckPhase, Cycle, Feedback, ProbeBw, Up};
use probe_rtt::ProbeRtt;
use startup::{Drain, FullPipe};
use state::State;

/// BBR v3: model-based; paces at the estimated bandwidth and limits the bytes in flight to a volume with at most 2 %
/// loss.
///
/// With gains that depend on the state,
///
/// ```math
/// \mathrm{rate} = \mathrm{pacing\_gain} \cdot \mathrm{bw} \, (1 - \mathrm{margin})
/// ```
///
/// ```math
/// \mathrm{cwnd} = \mathrm{cwnd\_gain} \cdot \mathrm{bw} \cdot \mathrm{min\_rtt} + \mathrm{extra\_acked}
/// ```
///
/// where bw is the maximum delivery rate of this and the last probing cycle, and extra_acked accounts for ACK
/// aggregation.
///
/// Startup and Drain are followed by cycles of four phases. DOWN (0.9 bw) drains the queue. CRUISE (1.0) lasts until 2
/// to 3 s, or as many round trips as segments are in flight, have passed since the beginning of DOWN. REFILL fills the
/// pipe for one round trip. UP (1.25) lasts until the delivery rate stops growing or too much is lost. In the latter
/// case inflight_longterm is set to the bytes in flight at the loss. It limits the window from then on, less 15 % in
/// CRUISE, and probes raise it again at a growing rate.
///
/// Losses outside probes reduce bw_shortterm and inflight_shortterm to what was delivered in the round trip, or to 0.7
/// of their values if that is more. These bounds last until the next REFILL. Every five seconds ProbeRTT limits the
/// bytes in flight to half of the BDP for 200 ms to measure the minimum RTT. Responses to spurious losses are undone.
///
/// Where the draft is open: it asks for a response to ECN marks without specifying one. Here a mark counts as a round
/// trip with a loss, and during a probe as an excessive loss rate.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-ietf-ccwg-bbr-06")]
pub struct Params {
    /// Pacing gain in Startup.
    #[param(basic, default = 2.77, range = 1.01..=10.0)]
    #[param(unit = "1", source = "4 ln 2: draft-ietf-ccwg-bbr-06 §2.5 BBR.StartupPacingGain")]
    pub startup_gain: f64,
    /// Pacing gain in Drain.
    #[param(default = 0.5, range = 0.05..=1.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.5 BBR.DrainPacingGain")]
    pub drain_gain: f64,
    /// Pacing gain in DOWN.
    #[param(default = 0.9, range = 0.1..=1.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub down_gain: f64,
    /// Pacing gain in UP.
    #[param(default = 1.25, range = 1.0..=4.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub up_gain: f64,
    /// Window gain.
    #[param(basic, default = 2.0, range = 1.0..=10.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.6 BBR.DefaultCwndGain")]
    pub cwnd_gain: f64,
    /// Window gain in UP.
    #[param(default = 2.25, range = 1.0..=10.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.6.1")]
    pub up_cwnd_gain: f64,
    /// Fraction of the bandwidth by which the pacing rate stays below it.
    #[param(default = 0.01, range = 0.0..=0.5)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.5 BBR.PacingMarginPercent")]
    pub pacing_margin: f64,
    /// Maximum fraction of the bytes in flight that may be lost in a round trip of a probe.
    #[param(basic, default = 0.02, range = 0.0001..=0.5)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.LossThresh")]
    pub loss_threshold: f64,
    /// Multiplicative decrease: minimum fraction of the short-term bounds kept after a round trip with losses.
    #[param(basic)]
    #[param(default = 0.7, range = 0.1..=1.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.Beta")]
    pub beta: f64,
    /// Fraction of inflight_longterm left free for other flows (headroom).
    #[param(basic, default = 0.15, range = 0.0..=0.9)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.Headroom")]
    pub headroom: f64,
    /// Minimum window.
    #[param(default = 4, range = 1..=1000)]
    #[param(unit = "segments", source = "draft-ietf-ccwg-bbr-06 §2.8 BBR.MinPipeCwnd")]
    pub min_window: u32,
    /// Growth factor of the delivery rate per round trip from which the pipe counts as not yet full.
    #[param(default = 1.25, range = 1.0..=4.0, unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.3.1.2")]
    pub full_growth: f64,
    /// Consecutive round trips with less growth after which the pipe counts as full.
    #[param(default = 3, range = 1..=100, unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.1.2")]
    pub full_rounds: u32,
    /// Minimum number of discontiguous losses in a round trip that may end Startup.
    #[param(expert, default = 6, range = 1..=1000)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §5.3.1.3 BBRStartupFullLossCnt")]
    pub full_losses: u32,
    /// Maximum duration of Drain.
    #[param(expert)]
    #[param(default = 3, range = 1..=1000, unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.2")]
    pub drain_rounds: u32,
    /// Minimum time between bandwidth probes.
    #[param(default = Span::from_secs(2), range = Span(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_wait: Span,
    /// Maximum random addition to that time.
    #[param(expert, default = Span::from_secs(1), range = Span(0)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_wait_spread: Span,
    /// Maximum number of round trips between bandwidth probes; the number of segments in flight if that is smaller.
    #[param(default = 63, range = 1..=100_000)]
    #[param(unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §5.3.3.8")]
    pub probe_rounds: u32,
    /// Window of the minimum RTT.
    #[param(default = Span::from_secs(10), range = Span::from_millis(100)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.1 BBR.MinRTTFilterLen")]
    pub min_rtt_window: Span,
    /// Minimum time between RTT probes (ProbeRTT).
    #[param(default = Span::from_secs(5), range = Span::from_millis(100)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTInterval")]
    pub probe_rtt_interval: Span,
    /// Minimum duration of an RTT probe.
    #[param(default = Span::from_millis(200), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTDuration")]
    pub probe_rtt_duration: Span,
    /// Window gain in ProbeRTT.
    #[param(default = 0.5, range = 0.0..=1.0)]
    #[param(unit = "1", source = "draft-ietf-ccwg-bbr-06 §2.16.2 BBR.ProbeRTTCwndGain")]
    pub probe_rtt_gain: f64,
    /// Window of the maximum ACK aggregation; one round trip in Startup.
    #[param(expert, default = 10, range = 1..=1000)]
    #[param(unit = "round trips", source = "draft-ietf-ccwg-bbr-06 §2.12 BBR.ExtraAckedFilterLen")]
    pub aggregation_rounds: u32,
    /// Send quantum of the host; the window has room for three quanta.
    #[param(expert)]
    #[param(default = Quantum::ByRate, unit = "word", source = "draft-ietf-ccwg-bbr-06 §5.6.3 and §5.5.8.1")]
    pub quantum: Quantum,
}

/// RTT from which the initial pacing rate is computed if none was measured (draft-ietf-ccwg-bbr-06 §5.6.2).
const NOMINAL_RTT: Span = Span::from_millis(1);
/// Additional segments that UP may have in flight beyond its gain (draft-ietf-ccwg-bbr-06 §5.6.4.2).
const PROBE_ROOM: f64 = 2.0;

/// State of BBR v3. Amounts are bytes, rates bytes per second; an infinite bound means no bound.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    random: Stream,
    mss: f64,
    initial_window: f64,
    state: State,
    model: Model,
    full: FullPipe,
    loss: LossRound,
    feedback: Feedback,
    undo: Undo,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    has_rtt: bool,
    restraint: Restraint,
    idle_restart: bool,
    /// Whether loss recovery is in progress, whether it is fast recovery, and whether the state to restore is saved.
    recovering: bool,
    fast_recovery: bool,
    saved: bool,
    /// Whether the bytes in flight reached cwnd in this round trip and in the previous one.
    filled_window: [bool; 2],
    /// Whether SACK is in use.
    selective: bool,
    delivered: u64,
    acked: f64,
    in_flight: f64,
    last_sample: Option<RateSample>,
}

impl Bbr3 {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Bbr3 {
        let nothing = Bounds { bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 };
        let mut bbr = Bbr3 {
            random: Stream::new(ctx.seed, "bbr3"),
            mss: ctx.mss.0 as f64,
            initial_window: ctx.initial_window.0 as f64,
            state: State::Startup,
            model: Model::new(),
            full: FullPipe::default(),
            loss: LossRound::default(),
            feedback: Feedback::NONE,
            undo: Undo { ended: None, bounds: nothing },
            cwnd: ctx.initial_window.0 as f64,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_rtt: false,
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

    fn init_rtt(&mut self, now: Time, srtt: Option<Span>) {
        if let (false, Some(srtt)) = (self.has_rtt, srtt.filter(|srtt| srtt.0 > 0)) {
            self.has_rtt = true;
            self.init_pacing_rate(srtt);
            self.model.min_rtt.begin(now, srtt);
        }
    }

    // Volumes of data in flight.

    fn min(&self) -> f64 {
        f64::from(self.params.min_window) * self.mss
    }

    fn product(&self, bw: f64, gain: f64) -> f64 {
        self.model.product(bw, gain).unwrap_or(self.initial_window)
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.2: QuantizationBudget()
    fn with_budget(&self, volume: f64) -> f64 {
        let room = if self.state.is_up() { PROBE_ROOM * self.mss } else { 0.0 };
        volume.max(self.params.quantum.budget(self.pacing_rate, self.mss)).max(self.min()) + room
    }

    fn target_inflight(&self) -> f64 {
        self.product(self.model.bw, 1.0).min(self.cwnd)
    }

    fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.model.bounds.inflight_longterm;
        let headroom = (self.params.headroom * longterm).max(self.mss);
        if longterm.is_infinite() {
            return longterm;
        }
        (longterm - headroom).max(self.min())
    }

    fn is_cwnd_limited(&self) -> bool {
        self.filled_window[0] || self.filled_window[1]
    }

    fn is_app_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || self.restraint.covers(sample.prior_delivered.0)
    }

    // Path model, updated by the samples of ACKs.

    //= draft-ietf-ccwg-bbr-06 §5.5.1, §5.5.5: UpdateRound(), UpdateMaxBw()
    fn update_model(&mut self, sample: &RateSample) {
        self.model.rounds.update(sample.prior_delivered.0, self.delivered);
        if self.model.rounds.begins {
            if let State::ProbeBw(ProbeBw::Down(cycle) | ProbeBw::Cruise(cycle)) = &mut self.state {
                cycle.on_round();
            }
            self.filled_window = [false, self.filled_window[0]];
        }
        let app_limited = self.is_app_limited(sample);
        self.model.update_max_bw(rate(sample), app_limited);
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: AdaptLowerBoundsFromCongestion()
    fn adapt_lower_bounds(&mut self) {
        if !self.loss.begins {
            return;
        }
        if self.loss.has_loss && !self.state.is_probing() {
            let Model { bounds, max_bw, .. } = &mut self.model;
            bounds.cut(self.loss.latest, self.params.beta, *max_bw, self.cwnd);
        }
        self.loss.has_loss = false;
    }

    // Startup and Drain.

    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.model.rounds.begins && !self.is_app_limited(sample) {
            self.full.on_round(rate(sample), &self.params);
        }
    }

    fn check_startup_done(&mut self, sample: &RateSample) {
        let too_high = self.is_inflight_too_high(sample.lost.0 as f64, sample.in_flight_at_send.0 as f64);
        let lossy = self.loss.ends_startup(self.selective, too_high, &self.params);
        if self.state == State::Startup && self.fast_recovery && lossy {
            self.undo.ended = Some(Ended::Startup);
            self.full.reach();
            self.model.bounds.inflight_longterm =
                self.product(self.model.bw, 1.0).max(self.loss.latest.inflight);
        }
        self.loss.restart_count();
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain(Drain { since_round: self.model.rounds.count });
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.2: CheckDrainDone()
    fn check_drain_done(&mut self, now: Time) {
        let State::Drain(drain) = self.state else { return };
        let is_drained = self.in_flight <= self.with_budget(self.product(self.model.bw, 1.0));
        if is_drained || drain.is_long(self.model.rounds.count, &self.params) {
            self.start_down(now, self.delivered);
        }
    }

    // Bandwidth probing.

    fn start_down(&mut self, now: Time, delivered: u64) {
        let cycle = self.start_cycle(now, delivered);
        self.state = State::ProbeBw(ProbeBw::Down(cycle));
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: StartProbeBW_DOWN()
    fn start_cycle(&mut self, now: Time, delivered: u64) -> Cycle {
        self.loss.reset();
        self.feedback.phase = AckPhase::Stopping;
        self.model.rounds.start(delivered);
        Cycle::begin(now, &mut self.random, &self.params)
    }

    fn start_refill(&mut self) {
        self.model.bounds.reset_short_term();
        self.feedback.precautionary = false;
        self.feedback.phase = AckPhase::Refilling;
        self.model.rounds.start(self.delivered);
        self.state = State::ProbeBw(ProbeBw::Refill);
    }

    fn start_up(&mut self, rate: f64) {
        self.feedback.sampled = true;
        self.feedback.phase = AckPhase::Starting;
        self.model.rounds.start(self.delivered);
        self.full.reset(rate);
        self.state = State::ProbeBw(ProbeBw::Up(Up::begin(self.cwnd, self.mss)));
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: UpdateProbeBWCyclePhase()
    fn update_cycle(&mut self, ack: &Ack, sample: &RateSample) {
        if !self.full.reached || self.adapt_long_term(sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        match phase {
            ProbeBw::Down(cycle) | ProbeBw::Cruise(cycle) if self.is_time_to_probe(&cycle, ack.now) => {
                self.start_refill();
            }
            ProbeBw::Down(cycle) if self.is_time_to_cruise() => {
                self.state = State::ProbeBw(ProbeBw::Cruise(cycle));
            }
            ProbeBw::Refill if self.model.rounds.begins => self.start_up(rate(sample)),
            ProbeBw::Up(_) if self.is_time_to_go_down(sample) => {
                self.feedback.too_high = false;
                self.start_down(ack.now, self.delivered);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, cycle: &Cycle, now: Time) -> bool {
        cycle.is_over(now, self.target_inflight() / self.mss, &self.params)
    }

    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.with_budget(self.product(self.model.max_bw, 1.0))
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        let longterm = self.model.bounds.inflight_longterm;
        if self.feedback.too_high && self.in_flight >= longterm {
            self.feedback.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= longterm {
            self.full.reset(rate(sample));
            return false;
        }
        self.full.now
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.3.9: AdaptLongTermModel()
    /// Returns whether a new state has begun.
    fn adapt_long_term(&mut self, sample: &RateSample) -> bool {
        let begins_round = self.model.rounds.begins;
        if self.feedback.phase == AckPhase::Starting && begins_round {
            self.feedback.phase = AckPhase::Feedback;
        }
        if self.feedback.phase == AckPhase::Stopping && begins_round {
            self.feedback.sampled = false;
            self.feedback.phase = AckPhase::Init;
            if self.state.is_probe_bw() && !self.is_app_limited(sample) {
                self.model.advance_max_bw();
            }
            if self.state.is_probe_bw() && self.feedback.precautionary && !self.feedback.too_high {
                self.start_refill();
                return true;
            }
        }
        let in_flight = sample.in_flight_at_send.0 as f64;
        if !self.is_inflight_too_high(sample.lost.0 as f64, in_flight)
            && self.model.bounds.inflight_longterm.is_finite()
        {
            let longterm = self.model.bounds.inflight_longterm.max(in_flight);
            let is_limit = self.is_cwnd_limited() && self.cwnd >= longterm;
            let rise = match &mut self.state {
                State::ProbeBw(ProbeBw::Up(up)) if is_limit => {
                    up.raise(self.acked, begins_round, self.cwnd, self.mss)
                }
                _ => 0.0,
            };
            self.model.bounds.inflight_longterm = longterm + rise * self.mss;
        }
        false
    }

    // Losses.

    //= draft-ietf-ccwg-bbr-06 §5.5.10.2: IsInflightTooHigh()
    fn is_inflight_too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > in_flight * self.params.loss_threshold || (lost > 0.0 && !self.selective)
    }

    fn note_loss(&mut self, delivered: u64) {
        // The sender reports losses before recovery begins. The first one saves the state that a spurious recovery
        // restores.
        if !self.loss.has_loss || !self.saved {
            self.save_state();
        }
        self.loss.note(delivered);
    }

    fn save_state(&mut self) {
        self.save_cwnd();
        self.saved = true;
        self.undo = Undo { ended: None, bounds: self.model.bounds };
    }

    /// Lowers inflight_longterm: the loss rate was too high with `in_flight` bytes in flight.
    fn lower_inflight(&mut self, now: Time, delivered: u64, in_flight: f64, app_limited: bool) {
        self.feedback.too_high = true;
        self.feedback.sampled = false;
        if !app_limited {
            self.model.bounds.inflight_longterm = in_flight.max(self.target_inflight() * self.params.beta);
        }
        if self.state.is_up() {
            self.undo.ended = Some(Ended::Up);
            self.start_down(now, delivered);
        }
    }

    // RTT probing.

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: CheckProbeRTT()
    fn check_probe_rtt(&mut self, now: Time, has_sample: bool) {
        if !self.state.is_probe_rtt() && self.model.min_rtt.expired && !self.idle_restart {
            self.state = State::ProbeRtt(ProbeRtt::Emptying);
            self.restraint.begin(self.delivered);
            self.save_cwnd();
            self.feedback.phase = AckPhase::Stopping;
            self.model.rounds.start(self.delivered);
        }
        if let State::ProbeRtt(probe) = self.state {
            self.probe_rtt(now, probe);
        }
        self.idle_restart &= !has_sample;
    }

    //= draft-ietf-ccwg-bbr-06 §5.3.4.3: HandleProbeRTT()
    fn probe_rtt(&mut self, now: Time, probe: ProbeRtt) {
        self.restraint.prolong(self.delivered, self.in_flight as u64);
        match probe {
            ProbeRtt::Emptying => {
                if self.in_flight <= self.probe_rtt_cwnd() {
                    let until = now + self.params.probe_rtt_duration;
                    self.state = State::ProbeRtt(ProbeRtt::Measuring { until, round_done: false });
                    self.model.rounds.start(self.delivered);
                }
            }
            ProbeRtt::Measuring { until, round_done } => {
                let round_done = round_done || self.model.rounds.begins;
                self.state = State::ProbeRtt(ProbeRtt::Measuring { until, round_done });
                if round_done {
                    self.check_probe_rtt_done(now);
                }
            }
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if !matches!(self.state, State::ProbeRtt(probe) if probe.is_over(now)) {
            return;
        }
        self.model.min_rtt.probed(now);
        self.restore_cwnd();
        //= draft-ietf-ccwg-bbr-06 §5.3.4.4: ExitProbeRTT()
        self.model.bounds.reset_short_term();
        self.state = if self.full.reached {
            State::ProbeBw(ProbeBw::Cruise(self.start_cycle(now, self.delivered)))
        } else {
            State::Startup
        };
    }

    // Pacing rate and window.

    //= draft-ietf-ccwg-bbr-06 §5.6.2: SetPacingRateWithGain()
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw * (1.0 - self.params.pacing_margin);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.6: SetCwnd()
    fn update_cwnd(&mut self) {
        let volume = self.product(self.model.bw, self.state.cwnd_gain(&self.params));
        let max_inflight = self.with_budget(volume + self.model.aggregation.get());
        if self.full.reached {
            self.cwnd = (self.cwnd + self.acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_window {
            self.cwnd += self.acked;
        }
        self.cwnd = self.cwnd.max(self.min());
        self.bound_cwnd();
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.model.bw, self.params.probe_rtt_gain).max(self.min())
    }

    //= draft-ietf-ccwg-bbr-06 §5.6.4.7, §5.6.4.5: BoundCwndForModel(), BoundCwndForProbeRTT()
    fn bound_cwnd(&mut self) {
        self.cwnd = self.cwnd.min(LARGEST);
        let cap = match self.state {
            State::Startup | State::Drain(_) => f64::INFINITY,
            State::ProbeBw(ProbeBw::Cruise(_)) => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.model.bounds.inflight_longterm,
            State::ProbeRtt(_) => {
                self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
                self.inflight_with_headroom()
            }
        };
        self.cwnd = self.cwnd.min(cap.min(self.model.bounds.inflight_shortterm).max(self.min()));
    }

    fn save_cwnd(&mut self) {
        let is_cut = self.recovering || self.state.is_probe_rtt();
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
        self.init_rtt(ack.now, ack.srtt);
        self.model.rounds.begins = false;
        self.selective = ack.selective;
        self.last_sample = ack.rate;
        // An ACK without a sample acknowledges an earlier transmission. As in Linux it updates neither rounds nor
        // model; draft-ietf-ccwg-bbr-06 lets its delivered data update both.
        if let Some(sample) = &ack.rate {
            self.loss.update(sample, self.delivered);
            self.update_model(sample);
            self.adapt_lower_bounds();
            let Bbr3 { model, params, .. } = self;
            model.update_aggregation(ack.now, self.acked, self.cwnd, self.full.reached, params);
            self.check_full_pipe(sample);
            self.check_startup_done(sample);
            self.check_drain_done(ack.now);
            self.update_cycle(ack, sample);
        }
        self.model.min_rtt.update(ack.now, ack.rate.and_then(|sample| sample.rtt), &self.params);
        self.check_probe_rtt(ack.now, ack.rate.is_some());
        if let Some(sample) = &ack.rate {
            self.loss.advance(sample);
        }
        self.model.bound_bw();
        self.set_pacing_rate(self.state.pacing_gain(&self.params));
        self.update_cwnd();
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.2: HandleLostPacket()
    fn on_lost(&mut self, loss: &Loss) {
        self.note_loss(loss.delivered.0);
        self.loss.locate(loss);
        let (lost, in_flight) = (loss.lost_since_send.0 as f64, loss.in_flight_at_send.0 as f64);
        if self.feedback.sampled && self.is_inflight_too_high(lost, in_flight) {
            let in_flight = inflight_at_loss(loss, self.params.loss_threshold);
            self.lower_inflight(loss.now, loss.delivered.0, in_flight, loss.app_limited);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Ecn => {
                self.note_loss(self.delivered);
                if let Some(sample) = self.last_sample.filter(|_| self.feedback.sampled) {
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
                // A repeated timeout does not begin a new recovery: the state saved by the first one is to be restored.
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
        self.full.reset(0.0);
        self.model.bounds.widen(&self.undo.bounds);
        match (self.undo.ended.take(), self.state) {
            (None, _) | (Some(Ended::Startup), State::Startup) => {}
            (Some(Ended::Startup), state) => {
                self.full.reached = false;
                if !state.is_probe_rtt() {
                    self.state = State::Startup;
                }
            }
            (Some(Ended::Up), state) => {
                if !state.is_up() && !state.is_probe_rtt() {
                    self.start_refill();
                }
            }
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.4.1: HandleRestartFromIdle()
    fn on_send(&mut self, departure: &Departure) {
        self.init_rtt(departure.now, departure.srtt);
        let in_flight = (departure.in_flight + departure.len).0 as f64;
        self.filled_window[0] |= in_flight + self.mss > self.cwnd;
        let app_limited = departure.app_limited || self.restraint.covers(self.delivered);
        if departure.in_flight.0 > 0 || !app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.aggregation.restart(departure.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else {
            self.check_probe_rtt_done(departure.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    /// BBR has no slow-start threshold.
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

    // Linux bbr_sndbuf_expand: three, since BBR may slow-start even during recovery.
    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;
    use crate::cc::tests_support::{congestion, ctx};

    const RTT: Span = Span::from_millis(50);

    /// Returns a controller in UP with 100 segments in flight, which are one BDP.
    fn probing() -> Bbr3 {
        let mut bbr = Bbr3::new(Params::default(), &ctx(1000, 10));
        bbr.init_rtt(Time::ZERO, Some(RTT));
        bbr.model.update_max_bw(2e6, false);
        bbr.model.bound_bw();
        bbr.full.reach();
        (bbr.cwnd, bbr.in_flight) = (225_000.0, 100_000.0);
        bbr.start_up(2e6);
        bbr
    }

    fn is_down(bbr: &Bbr3) -> bool {
        matches!(bbr.state, State::ProbeBw(ProbeBw::Down(_)))
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

    /// Two per cent of 100 segments are two: the third loss exceeds the threshold, and 98.979 segments remain as the
    /// bound.
    #[test]
    fn three_losses_of_a_hundred_segments_end_a_probe() {
        let mut bbr = probing();
        bbr.on_lost(&loss(0, 1000));
        bbr.on_lost(&loss(1, 2000));
        assert_eq!((bbr.state.is_up(), bbr.model.bounds.inflight_longterm), (true, f64::INFINITY));
        bbr.on_lost(&loss(2, 3000));
        // 99 + (0.02 x 99 - 2) / 0.98
        assert_eq!((is_down(&bbr), bbr.model.bounds.inflight_longterm as u64), (true, 98_979));
        assert!(bbr.feedback.too_high && !bbr.feedback.sampled);
    }

    #[test]
    fn responses_to_spurious_losses_are_undone() {
        let mut bbr = probing();
        for segment in 0..3 {
            bbr.on_lost(&loss(segment, 1000 * u64::from(segment + 1)));
        }
        bbr.on_congestion(&congestion(Signal::Loss, 100_000));
        bbr.on_spurious(&Before { cwnd: bbr.cwnd(), ssthresh: bbr.ssthresh() });
        assert_eq!(bbr.state, State::ProbeBw(ProbeBw::Refill));
        assert_eq!(bbr.model.bounds.inflight_longterm, f64::INFINITY);
        assert_eq!(bbr.cwnd(), Bytes(225_000));
    }

    #[test]
    fn a_lossy_round_trip_keeps_the_delivered_volume_or_seven_tenths() {
        for (latest, left) in [(1.8e6, 1.8e6), (1e6, 1.4e6)] {
            let mut bbr = Bbr3 { cwnd: 100_000.0, ..probing() };
            bbr.state = State::ProbeBw(ProbeBw::Cruise(bbr.start_cycle(Time::ZERO, 0)));
            bbr.loss = LossRound::default();
            (bbr.loss.has_loss, bbr.loss.begins, bbr.loss.latest.bw) = (true, true, latest);
            bbr.adapt_lower_bounds();
            let Bounds { bw_shortterm, inflight_shortterm, .. } = bbr.model.bounds;
            assert_eq!((bw_shortterm, inflight_shortterm as u64), (left, 70_000));
            assert!(!bbr.loss.has_loss);
        }
    }

    /// Returns the state after these losses in Startup, in fast recovery, with 3 % lost.
    fn startup_after(segments: impl Iterator<Item = u32>) -> State {
        let mut bbr = Bbr3 { state: State::Startup, fast_recovery: true, ..probing() };
        (bbr.full, bbr.feedback) = (FullPipe::default(), Feedback::NONE);
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
    fn six_discontiguous_losses_end_startup() {
        assert_eq!(startup_after((0..6).map(|n| 2 * n)), State::Drain(Drain { since_round: 1 }));
        assert_eq!(startup_after((0..5).map(|n| 2 * n)), State::Startup);
        // One contiguous range, in either order
        assert_eq!(startup_after(0..20), State::Startup);
        assert_eq!(startup_after((0..20).rev()), State::Startup);
    }

    #[test]
    fn a_mark_ends_a_probe() {
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
        assert_eq!((is_down(&bbr), bbr.model.bounds.inflight_longterm), (true, 120_000.0));
    }

    #[test]
    fn bandwidth_probes_are_two_to_three_seconds_apart() {
        let mut bbr = probing();
        let waits: Vec<f64> = (0..1000).map(|_| bbr.start_cycle(Time::ZERO, 0).wait().as_secs()).collect();
        assert!(waits.iter().all(|wait| (2.0..=3.0).contains(wait)));
        // 2.5 s with a standard error of 0.289 / sqrt(1000) = 0.009
        assert!((waits.iter().sum::<f64>() / 1000.0 - 2.5).abs() < 0.04);
    }
}
