//! BBR version 1: pacing rate and window from a model of the path, not from losses.

mod model;
mod probe_bw;
mod probe_rtt;
mod startup;

use super::parts::policer::{Criteria, Policer};
pub use super::parts::quantum::Quantum;
use super::parts::restraint::Restraint;
use super::parts::window::LARGEST;
use super::parts::windowed_max::WindowedMax;
use super::{Ack, Before, Congestion, CongestionControl, Departure, SenderContext, Signal};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{BitRate, Bytes, Span, Time};
use model::Aggregation;

/// BBR v1: model-based; paces at the estimated bottleneck bandwidth and limits the bytes in flight to two BDPs.
///
/// The model consists of the bandwidth B, the maximum delivery rate of `bandwidth_rounds` round trips, and R, the
/// minimum RTT of `min_rtt_window`. With a pacing gain g and a window gain G
///
/// ```math
/// \mathrm{rate} = g \, B \, (1 - \mathrm{margin})
/// ```
///
/// ```math
/// \mathrm{cwnd} = G \, B \, R + 3 \, \mathrm{quantum} + \mathrm{extra\_acked}
/// ```
///
/// where `extra_acked` accounts for ACK aggregation.
///
/// Startup has g = G = 2/ln 2 until three round trips each raise B by less than a quarter. Drain paces with g = ln 2/2
/// until the bytes in flight are at most B R. ProbeBW then cycles g through 5/4, 3/4 and six times 1, each for about R,
/// from a random phase on. ProbeRTT limits the bytes in flight to four segments for 200 ms when R has not been
/// refreshed for ten seconds.
///
/// In the first round trip of loss recovery the window is limited to the delivered data (packet conservation); the
/// previous window is restored when recovery ends. ECN marks are ignored.
///
/// Where the sources differ, the defaults are those of Linux. Differences from Linux: cwnd is not rounded to an even
/// number of segments, samples have a resolution of nanoseconds, and packets that wait for pacing do not count as in
/// flight. Without `policer`, with `aggregation_gain = 0`, `equal_refreshes = true` and no `pacing_margin` it is BBR as
/// first described. ns-3 has neither `policer` nor quanta (`quantum = "segment"`), and has `equal_refreshes`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "draft-cardwell-iccrg-bbr-congestion-control-00; Linux net/ipv4/tcp_bbr.c; Cardwell, Cheng, \
              Gunn, Yeganeh, Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016"
)]
pub struct Params {
    /// Pacing and window gain in Startup; its inverse is the pacing gain in Drain.
    #[param(basic, default = 2.885, range = 1.01..=10.0)]
    #[param(
        unit = "1",
        source = "2/ln 2: draft-cardwell-iccrg-bbr-congestion-control-00 BBRHighGain; Linux bbr_high_gain; \
                  ns-3.44 TcpBbr::HighGain (2.89)"
    )]
    pub high_gain: f64,
    /// Window gain in ProbeBW.
    #[param(basic, default = 2.0, range = 1.0..=10.0, unit = "1", source = "Linux bbr_cwnd_gain")]
    pub cwnd_gain: f64,
    /// Pacing gain in the first phase of the cycle, which probes for more bandwidth.
    #[param(basic, default = 1.25, range = 1.0..=4.0, unit = "1", source = "Linux bbr_pacing_gain")]
    pub probe_gain: f64,
    /// Pacing gain in the second phase of the cycle, which drains the queue of the first.
    #[param(default = 0.75, range = 0.1..=1.0, unit = "1", source = "Linux bbr_pacing_gain")]
    pub relief_gain: f64,
    /// Number of phases of the cycle; the third and later ones have a pacing gain of 1.
    #[param(default = 8, range = 3..=64, unit = "1", source = "Linux CYCLE_LEN")]
    pub cycle_phases: u32,
    /// Window of the maximum delivery rate, which is the bandwidth estimate.
    #[param(default = 10, range = 1..=1000)]
    #[param(unit = "round trips", source = "Linux bbr_bw_rtts; ns-3.44 TcpBbr::BwWindowLength")]
    pub bandwidth_rounds: u32,
    /// Window of the minimum RTT.
    #[param(basic, default = Span::from_secs(10), range = Span::from_millis(100)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "Linux bbr_min_rtt_win_sec; ns-3.44 TcpBbr::RttWindowLength")]
    pub min_rtt_window: Span,
    /// Whether an RTT sample equal to the minimum restarts its window; otherwise only a smaller one does.
    #[param(expert, default = false)]
    #[param(
        unit = "1",
        source = "draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.2.3, Linux to 5.9 and ns-3.44 \
                  TcpBbr::UpdateRTprop: true; Linux since 5.10 (commit 1b9e2a8c99a5): false"
    )]
    pub equal_refreshes: bool,
    /// Duration of ProbeRTT with the minimum window.
    #[param(basic, default = Span::from_millis(200), range = Span(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux bbr_probe_rtt_mode_ms; ns-3.44 TcpBbr::ProbeRttDuration")]
    pub probe_rtt_duration: Span,
    /// Minimum window.
    #[param(default = 4, range = 1..=1000)]
    #[param(
        unit = "segments",
        source = "draft-cardwell-iccrg-bbr-congestion-control-00 BBRMinPipeCwnd; Linux bbr_cwnd_min_target"
    )]
    pub min_window: u32,
    /// Fraction of the bandwidth by which the pacing rate stays below it, so that queues drain.
    #[param(default = 0.01, range = 0.0..=0.5)]
    #[param(
        unit = "1",
        source = "Linux bbr_pacing_margin_percent; not in draft-cardwell-iccrg-bbr-congestion-control-00"
    )]
    pub pacing_margin: f64,
    /// Growth factor of the bandwidth per round trip from which the pipe counts as not yet full.
    #[param(default = 1.25, range = 1.0..=4.0, unit = "1", source = "Linux bbr_full_bw_thresh")]
    pub full_growth: f64,
    /// Consecutive round trips with less growth that end Startup.
    #[param(default = 3, range = 1..=100, unit = "round trips", source = "Linux bbr_full_bw_cnt")]
    pub full_rounds: u32,
    /// Send quantum of the host; the window has room for three quanta.
    #[param(expert, default = Quantum::ByRate)]
    #[param(
        unit = "word",
        source = "draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.2; Linux bbr_tso_segs_goal; ns-3.44 \
                  TcpBbr::SetSendQuantum (segment)"
    )]
    pub quantum: Quantum,
    /// Window allowance for ACK aggregation, as a multiple of the maximum excess of acknowledged data over the
    /// estimate.
    #[param(expert, default = 1.0, range = 0.0..=10.0)]
    #[param(
        unit = "1",
        source = "Linux since 5.1 bbr_extra_acked_gain; ns-3.44 TcpBbr; not in \
                  draft-cardwell-iccrg-bbr-congestion-control-00"
    )]
    pub aggregation_gain: f64,
    /// Window of that maximum: this many round trips and up to twice as many.
    #[param(expert, default = 5, range = 1..=1000)]
    #[param(
        unit = "round trips",
        source = "Linux bbr_extra_acked_win_rtts; ns-3.44 TcpBbr::ExtraAckedRttWindowLength"
    )]
    pub aggregation_rounds: u32,
    /// Maximum allowance for ACK aggregation, as time at the estimated bandwidth.
    #[param(expert, default = Span::from_millis(100), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux bbr_extra_acked_max_us")]
    pub aggregation_limit: Span,
    /// Whether token-bucket policers are detected.
    #[param(default = true)]
    #[param(
        unit = "1",
        source = "Linux bbr_lt_bw_sampling; neither draft-cardwell-iccrg-bbr-congestion-control-00 nor \
                  ns-3.44"
    )]
    pub policer: bool,
    /// Minimum number of round trips of an interval over which a policer's rate is measured.
    #[param(expert)]
    #[param(default = 4, range = 1..=1000, unit = "round trips", source = "Linux bbr_lt_intvl_min_rtts")]
    pub policer_rounds: u32,
    /// Minimum ratio of lost to delivered bytes that indicates a policer.
    #[param(expert)]
    #[param(default = 0.195, range = 0.0..=1.0, unit = "1", source = "50/256: Linux bbr_lt_loss_thresh")]
    pub policer_loss: f64,
    /// Maximum relative difference of the rates of two intervals.
    #[param(expert, default = 0.125, range = 0.0..=1.0, unit = "1", source = "Linux bbr_lt_bw_ratio")]
    pub policer_ratio: f64,
    /// Difference of the two rates that is always accepted.
    #[param(expert, default = BitRate(4000), range = BitRate(0)..=BitRate(1_000_000_000))]
    #[param(unit = "bit/s", source = "Linux bbr_lt_bw_diff")]
    pub policer_difference: BitRate,
    /// Number of round trips for which a detected policer's rate applies.
    #[param(expert)]
    #[param(default = 48, range = 1..=100_000, unit = "round trips", source = "Linux bbr_lt_bw_max_rtts")]
    pub policer_hold: u32,
}

impl Params {
    fn policer_criteria(&self) -> Criteria {
        Criteria {
            rounds: self.policer_rounds,
            loss: self.policer_loss,
            ratio: self.policer_ratio,
            difference: self.policer_difference.0 as f64 / 8.0,
            hold: self.policer_hold,
        }
    }
}

/// RTT from which the initial pacing rate is computed if none was measured.
const NOMINAL_RTT: Span = Span::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw { phase: u32, began: Time },
    ProbeRtt { until: Option<Time>, round_done: bool },
}

/// State of BBR v1. Amounts are bytes, rates bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    random: Stream,
    mss: f64,
    initial_window: f64,
    mode: Mode,
    cwnd: f64,
    /// Window before this ACK, and the last window that neither loss recovery nor ProbeRTT had reduced.
    cwnd_before: f64,
    prior_cwnd: f64,
    ssthresh: f64,
    pacing_rate: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    has_rtt: bool,

    bandwidth: WindowedMax,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    rounds: u64,
    begins_round: bool,
    /// Bytes delivered when this round trip began.
    round_from: u64,
    full_bandwidth: f64,
    full_rounds: u32,
    filled: bool,

    aggregation: Aggregation,
    policer: Policer,
    restraint: Restraint,
    idle_restart: bool,
    recovering: bool,
    /// Number of ACKs since the end of loss recovery.
    acks_since_repair: u32,
    /// Packet conservation: at most as much is sent as is delivered.
    conserves: bool,
    /// Bytes delivered so far, bytes delivered by the last ACK, and bytes in flight after it.
    delivered: u64,
    acked: f64,
    in_flight: f64,
}

impl Bbr {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Bbr {
        let mut bbr = Bbr {
            random: Stream::new(ctx.seed, "bbr"),
            mss: ctx.mss.0 as f64,
            initial_window: ctx.initial_window.0 as f64,
            mode: Mode::Startup,
            cwnd: ctx.initial_window.0 as f64,
            cwnd_before: ctx.initial_window.0 as f64,
            prior_cwnd: 0.0,
            ssthresh: ctx.initial_ssthresh.0 as f64,
            pacing_rate: 0.0,
            pacing_gain: params.high_gain,
            cwnd_gain: params.high_gain,
            has_rtt: false,
            bandwidth: WindowedMax::new(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            rounds: 0,
            begins_round: false,
            round_from: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            filled: false,
            aggregation: Aggregation::default(),
            policer: Policer::new(params.policer_criteria()),
            restraint: Restraint::default(),
            idle_restart: false,
            recovering: false,
            acks_since_repair: u32::MAX,
            conserves: false,
            delivered: 0,
            acked: 0.0,
            in_flight: 0.0,
            params,
        };
        bbr.init_pacing_rate(NOMINAL_RTT);
        bbr
    }

    fn init_pacing_rate(&mut self, rtt: Span) {
        let nominal = self.cwnd / rtt.as_secs();
        self.pacing_rate = self.params.high_gain * nominal * (1.0 - self.params.pacing_margin);
    }

    /// Replaces the nominal RTT by the first measured one.
    fn init_rtt(&mut self, now: Time, srtt: Option<Span>) {
        if let (false, Some(srtt)) = (self.has_rtt, srtt.filter(|srtt| srtt.0 > 0)) {
            self.has_rtt = true;
            self.init_pacing_rate(srtt);
            if self.min_rtt.is_none() {
                (self.min_rtt, self.min_rtt_at) = (Some(srtt), now);
            }
        }
    }

    // Pacing rate and window.

    fn update_gains(&mut self) {
        let high = self.params.high_gain;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (high, high),
            Mode::Drain => (1.0 / high, high),
            Mode::ProbeBw { .. } if self.policer.rate().is_some() => (1.0, self.params.cwnd_gain),
            Mode::ProbeBw { phase, .. } => (self.gain_of(phase), self.params.cwnd_gain),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        };
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1: before the pipe is full the pacing rate only rises
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.rate() * (1.0 - self.params.pacing_margin);
        if self.filled || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn target(&self) -> f64 {
        self.with_budget(self.product(self.rate(), self.cwnd_gain) + self.aggregated())
    }

    fn min(&self) -> f64 {
        f64::from(self.params.min_window) * self.mss
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3.6
    fn update_cwnd(&mut self, lost: f64) {
        if self.acked > 0.0 {
            self.cwnd = (self.cwnd - lost).max(self.mss);
            if self.conserves {
                self.cwnd = self.cwnd.max(self.in_flight + self.acked);
            } else {
                let target = self.target();
                if self.filled {
                    self.cwnd = (self.cwnd + self.acked).min(target);
                } else if self.cwnd < target || (self.delivered as f64) < self.initial_window {
                    self.cwnd += self.acked;
                }
                self.cwnd = self.cwnd.max(self.min());
            }
        }
        self.bound_cwnd();
    }

    fn bound_cwnd(&mut self) {
        self.cwnd = self.cwnd.min(LARGEST);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.min());
        }
    }

    /// Saves the window, to be restored after loss recovery or ProbeRTT.
    fn save_cwnd(&mut self, cwnd: f64) {
        let is_cut = self.recovering || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_delivery(&mut self, ack: &Ack) {
        (self.delivered, self.acked) = (ack.delivered.0, ack.acked.0 as f64);
        self.in_flight = ack.in_flight.0 as f64;
        self.cwnd_before = self.cwnd;
        self.acks_since_repair = self.acks_since_repair.saturating_add(1);
        self.policer.lost += ack.lost.0;
        self.init_rtt(ack.now, ack.srtt);
        self.begins_round = false;
        let mut app_limited = false;
        if let Some(sample) = &ack.rate {
            app_limited = self.is_app_limited(sample);
            self.update_bandwidth(ack, sample);
            self.update_aggregation(ack);
        }
        self.advance_cycle(ack);
        self.check_full_pipe(app_limited);
        self.check_drain(ack.now);
        self.update_min_rtt(ack);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain);
        self.update_cwnd(ack.lost.0 as f64);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Ecn => return,
            // Linux compares the state after each ACK, so a recovery that begins where one ends continues it. Otherwise
            // no round trip with losses would end, nor would Startup.
            Signal::Loss if self.acks_since_repair <= 1 => {
                self.prior_cwnd = self.prior_cwnd.max(self.cwnd_before);
            }
            Signal::Loss => {
                self.save_cwnd(self.cwnd_before);
                self.conserves = true;
                self.round_from = self.delivered;
                // At most the bytes in flight when the loss was detected.
                self.cwnd = self.cwnd.min(self.in_flight + self.acked).max(self.mss);
            }
            Signal::Timeout | Signal::RepeatedTimeout => {
                self.save_cwnd(self.cwnd);
                self.cwnd = self.mss;
                // A timeout counts as the end of a round trip.
                self.full_bandwidth = 0.0;
                self.begins_round = true;
                self.detect_policer(&self.step(event.now, true, false));
            }
        }
        self.recovering = true;
    }

    fn on_repaired(&mut self) {
        (self.recovering, self.conserves, self.acks_since_repair) = (false, false, 0);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.filled {
            self.cwnd = self.cwnd.min(self.target());
        }
        self.bound_cwnd();
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4.4
    fn on_send(&mut self, departure: &Departure) {
        self.init_rtt(departure.now, departure.srtt);
        let app_limited = departure.app_limited || self.restraint.covers(self.delivered);
        if departure.in_flight.0 > 0 || !app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(departure.now);
        match self.mode {
            Mode::ProbeBw { .. } => self.set_pacing_rate(1.0),
            Mode::ProbeRtt { .. } => self.check_probe_rtt_done(departure.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_spurious(&mut self, before: &Before) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.policer.reset();
        self.cwnd = self.cwnd.max(before.cwnd.0 as f64);
        self.bound_cwnd();
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh as u64)
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
    use super::super::RateSample;
    use super::*;
    use crate::cc::tests_support::{congestion, ctx};

    const RTT: Span = Span::from_millis(50);

    fn departure(in_flight: u64, app_limited: bool) -> Departure {
        let (now, len) = (Time(1_000_000_000), Bytes(1000));
        Departure { now, len, in_flight: Bytes(in_flight), app_limited, srtt: Some(RTT) }
    }

    /// Feeds one ACK at the end of each of `count` round trips of 50 ms, in which `bytes` bytes were delivered.
    fn rounds(bbr: &mut Bbr, from: u64, count: u64, bytes: u64) {
        for round in from..from + count {
            let prior = bbr.delivered;
            let sample = RateSample {
                delivered: Bytes(bytes),
                interval: RTT,
                prior_delivered: Bytes(prior),
                in_flight_at_send: Bytes(bytes),
                lost: Bytes::ZERO,
                app_limited: false,
                rtt: Some(RTT),
            };
            bbr.on_delivery(&Ack {
                now: Time(1_000_000_000 + round * RTT.0),
                acked: Bytes(bytes),
                in_flight: Bytes(bytes),
                prior_in_flight: Bytes(bytes),
                delivered: Bytes(prior + bytes),
                srtt: Some(RTT),
                rate: Some(sample),
                ..Ack::default()
            });
        }
    }

    /// Returns a controller with a full pipe: 50 kB per 50 ms are 8 Mbit/s.
    fn filled() -> Bbr {
        let mut bbr = Bbr::new(Params::default(), &ctx(1000, 10));
        rounds(&mut bbr, 0, 6, 50_000);
        assert!(bbr.filled);
        bbr
    }

    #[test]
    fn initial_pacing_rate_uses_the_rtt_of_the_handshake() {
        let mut bbr = Bbr::new(Params::default(), &ctx(1000, 10));
        bbr.on_send(&departure(0, false));
        // 2.885 x 80 kbit / 50 ms less 1 %
        assert_eq!(bbr.pacing_rate(), Some(BitRate(4_569_840)));
    }

    #[test]
    fn three_rounds_without_growth_fill_the_pipe() {
        let mut bbr = Bbr::new(Params::default(), &ctx(1000, 10));
        rounds(&mut bbr, 0, 1, 50_000);
        assert_eq!(bbr.mode, Mode::Startup);
        rounds(&mut bbr, 1, 2, 60_000);
        assert!(!bbr.filled, "the first round trip is the base");
        rounds(&mut bbr, 3, 1, 60_000);
        assert!(bbr.filled);
        // B R is 60 kB: nothing is queued.
        assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
    }

    #[test]
    fn cwnd_is_two_bdp_plus_three_quanta_plus_ack_aggregation() {
        let mut bbr = filled();
        bbr.mode = Mode::ProbeBw { phase: 3, began: Time(1_300_000_000) };
        rounds(&mut bbr, 6, 1, 50_000);
        // 2 x 50 kB, 3 x 2 segments, and the 50 kB that are acknowledged at once
        assert_eq!(bbr.cwnd(), Bytes(156_000));
        assert_eq!(bbr.pacing_rate(), Some(BitRate(7_920_000)));
    }

    #[test]
    fn no_cycle_begins_with_the_draining_phase() {
        let phases: Vec<u32> = (0..500)
            .map(|seed| {
                let mut bbr = Bbr::new(Params::default(), &SenderContext { seed, ..ctx(1000, 10) });
                bbr.cycle(Time::ZERO);
                let Mode::ProbeBw { phase, .. } = bbr.mode else { unreachable!("it has just begun") };
                phase
            })
            .collect();
        let count = |phase| phases.iter().filter(|&&one| one == phase).count();
        assert_eq!(count(1), 0);
        // 500 / 7 = 71, with a standard deviation of 8
        assert!([0, 2, 3, 4, 5, 6, 7].iter().all(|&phase| (40..105).contains(&count(phase))));
    }

    #[test]
    fn loss_recovery_limits_cwnd_to_the_bytes_in_flight() {
        let mut bbr = filled();
        let before = bbr.cwnd();
        (bbr.in_flight, bbr.acked, bbr.cwnd_before) = (30_000.0, 1000.0, bbr.cwnd);
        bbr.on_congestion(&congestion(Signal::Loss, 30_000));
        assert_eq!(bbr.cwnd(), Bytes(31_000));
        bbr.on_repaired();
        assert_eq!(bbr.cwnd(), before);
        bbr.on_congestion(&congestion(Signal::Loss, 30_000));
        assert_eq!(bbr.cwnd(), before, "the recovery continues");
        bbr.on_congestion(&congestion(Signal::Timeout, 30_000));
        assert_eq!(bbr.cwnd(), Bytes(1000));
        bbr.on_repaired();
        assert_eq!(bbr.cwnd(), before);
    }

    #[test]
    fn no_rtt_probe_right_after_an_idle_period() {
        let mut bbr = filled();
        let late = 11_000_000_000 / RTT.0;
        bbr.on_send(&departure(0, true));
        rounds(&mut bbr, late, 1, 50_000);
        assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
        rounds(&mut bbr, 2 * late, 1, 50_000);
        assert!(matches!(bbr.mode, Mode::ProbeRtt { .. }), "{:?}", bbr.mode);
        assert_eq!(bbr.cwnd(), Bytes(4000));
    }
}
