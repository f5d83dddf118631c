use super::model::{AppLimited, Minmax, Model, P, Rs, Sample, compare, random};
use airwnd_kernel::Stream;

#[allow(non_camel_case_types, reason = "the draft's names")]
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBW_DOWN,
    ProbeBW_CRUISE,
    ProbeBW_REFILL,
    ProbeBW_UP,
    ProbeRTT,
}
use State::*;

#[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the draft's names")]
#[derive(Clone, Copy, Debug, PartialEq)]
enum AckPhase {
    ACKS_INIT,
    ACKS_REFILLING,
    ACKS_PROBE_STARTING,
    ACKS_PROBE_FEEDBACK,
    ACKS_PROBE_STOPPING,
}
use AckPhase::*;

const INFINITY: f64 = f64::INFINITY;
const SMSS: f64 = 1000.0;
const MIN_PIPE_CWND: f64 = 4.0 * SMSS;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;

/// draft-ietf-ccwg-bbr-06, section 5, function by function.
struct Bbr {
    rng: Stream,
    cwnd: f64,
    initial_cwnd: f64,
    pacing_rate: f64,
    send_quantum: f64,
    c_delivered: u64,
    c_inflight: f64,
    app_limited: AppLimited,
    has_selective_acks: bool,
    is_cwnd_limited: bool,
    was_cwnd_limited: bool,
    seen_rtt: bool,
    in_loss_recovery: bool,
    in_fast_recovery: bool,
    state_saved: bool,
    lost_ranges: u32,
    last_lost: Option<u64>,

    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    idle_restart: bool,
    drain_start_round: u64,
    max_bw: f64,
    bw_shortterm: f64,
    bw: f64,
    min_rtt: Option<u64>,
    bdp: f64,
    extra_acked: f64,
    offload_budget: f64,
    max_inflight: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    max_bw_filter: [f64; 2],
    cycle_count: usize,
    extra_acked_interval_start: u64,
    extra_acked_delivered: f64,
    extra_acked_filter: Minmax,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: u64,
    cycle_stamp: u64,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    undo_state: Option<State>,
    undo_bw_shortterm: f64,
    undo_inflight_shortterm: f64,
    undo_inflight_longterm: f64,
    min_rtt_stamp: u64,
    probe_rtt_min_delay: Option<u64>,
    probe_rtt_min_stamp: u64,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: u64,
    probe_rtt_round_done: bool,
    prior_cwnd: f64,
}

impl Bbr {
    fn on_init(cwnd: f64) -> Bbr {
        let mut bbr = Bbr {
            rng: random("bbr3"),
            cwnd,
            initial_cwnd: cwnd,
            pacing_rate: 2.77 * cwnd / 1000.0,
            send_quantum: 0.0,
            c_delivered: 0,
            c_inflight: 0.0,
            app_limited: AppLimited::default(),
            has_selective_acks: true,
            is_cwnd_limited: false,
            was_cwnd_limited: false,
            seen_rtt: false,
            in_loss_recovery: false,
            in_fast_recovery: false,
            state_saved: false,
            lost_ranges: 0,
            last_lost: None,
            state: Startup,
            pacing_gain: 2.77,
            cwnd_gain: 2.0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            drain_start_round: 0,
            max_bw: 0.0,
            bw_shortterm: INFINITY,
            bw: 0.0,
            min_rtt: None,
            bdp: 0.0,
            extra_acked: 0.0,
            offload_budget: 0.0,
            max_inflight: 0.0,
            inflight_longterm: INFINITY,
            inflight_shortterm: INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            max_bw_filter: [0.0; 2],
            cycle_count: 0,
            extra_acked_interval_start: 0,
            extra_acked_delivered: 0.0,
            extra_acked_filter: Minmax::new(),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: ACKS_INIT,
            is_bw_probe_sample: false,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: 0,
            cycle_stamp: 0,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            undo_state: None,
            undo_bw_shortterm: 0.0,
            undo_inflight_shortterm: 0.0,
            undo_inflight_longterm: 0.0,
            min_rtt_stamp: 0,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: 0,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: 0,
            probe_rtt_round_done: false,
            prior_cwnd: 0.0,
        };
        bbr.reset_congestion_signals();
        bbr.reset_short_term_model();
        bbr.reset_full_bw();
        bbr.enter_startup();
        bbr
    }

    fn first_rtt(&mut self, now: u64, srtt: u64) {
        self.seen_rtt = true;
        self.pacing_rate = 2.77 * self.initial_cwnd / srtt as f64;
        self.min_rtt = Some(srtt);
        self.min_rtt_stamp = now;
        self.probe_rtt_min_delay = Some(srtt);
        self.probe_rtt_min_stamp = now;
    }

    fn enter_startup(&mut self) {
        self.state = Startup;
        self.pacing_gain = 2.77;
        self.cwnd_gain = 2.0;
    }

    fn check_startup_done(&mut self, rs: &Sample) {
        self.check_startup_high_loss(rs);
        if self.state == Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// Given in prose only: in fast recovery for one RTT, a loss rate above the threshold, six lost ranges.
    fn check_startup_high_loss(&mut self, rs: &Sample) {
        let exit = self.state == Startup
            && self.in_fast_recovery
            && if self.has_selective_acks {
                self.loss_round_start
                    && self.is_inflight_too_high(rs.lost, rs.tx_in_flight)
                    && self.lost_ranges >= 6
            } else {
                self.lost_ranges > 0
            };
        if exit {
            self.undo_state = Some(Startup);
            self.full_bw_reached = true;
            self.full_bw_now = true;
            let bdp = self.bdp_multiple(self.bw, 1.0);
            self.inflight_longterm = f64::max(bdp, self.inflight_latest);
        }
        if self.loss_round_start {
            self.lost_ranges = 0;
            self.last_lost = None;
        }
    }

    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw_reached(&mut self, rs: &Sample, delivery_rate: f64) {
        if self.full_bw_now || !self.round_start || rs.is_app_limited {
            return;
        }
        if delivery_rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        if self.full_bw_now {
            self.full_bw_reached = true;
        }
    }

    fn enter_drain(&mut self) {
        self.state = Drain;
        self.pacing_gain = 0.5;
        self.cwnd_gain = 2.0;
        self.drain_start_round = self.round_count;
    }

    fn check_drain_done(&mut self, now: u64) {
        if self.state == Drain
            && (self.c_inflight <= self.inflight(self.bw, 1.0)
                || self.round_count > self.drain_start_round + 3)
        {
            self.cwnd_gain = 2.0;
            self.start_probe_bw_down(now, self.c_delivered);
        }
    }

    fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    fn start_probe_bw_down(&mut self, now: u64, delivered: u64) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = ACKS_PROBE_STOPPING;
        self.start_round(delivered);
        self.state = ProbeBW_DOWN;
        self.pacing_gain = 0.9;
        self.cwnd_gain = 2.0;
    }

    fn start_probe_bw_cruise(&mut self) {
        self.state = ProbeBW_CRUISE;
        self.pacing_gain = 1.0;
        self.cwnd_gain = 2.0;
    }

    fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = ACKS_REFILLING;
        self.start_round(self.c_delivered);
        self.state = ProbeBW_REFILL;
        self.pacing_gain = 1.0;
        self.cwnd_gain = 2.0;
    }

    fn start_probe_bw_up(&mut self, delivery_rate: f64) {
        self.ack_phase = ACKS_PROBE_STARTING;
        self.start_round(self.c_delivered);
        self.reset_full_bw();
        self.full_bw = delivery_rate;
        self.state = ProbeBW_UP;
        self.pacing_gain = 1.25;
        self.cwnd_gain = 2.25;
        self.raise_inflight_longterm_slope();
    }

    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = if self.rng.uniform() < 0.5 { 0 } else { 1 };
        self.bw_probe_wait = 2_000_000 + (self.rng.uniform() * 1e6).round() as u64;
    }

    fn is_time_to_probe_bw(&mut self, now: u64) -> bool {
        let reno_rounds = self.target_inflight() / SMSS;
        let rounds = f64::min(reno_rounds, 63.0);
        if now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= rounds {
            self.start_probe_bw_refill();
            return true;
        }
        false
    }

    fn target_inflight(&mut self) -> f64 {
        f64::min(self.bdp_multiple(self.bw, 1.0), self.cwnd)
    }

    fn update_probe_bw_cycle_phase(&mut self, rs: &Rs, sample: &Sample, delivery_rate: f64) {
        if !self.full_bw_reached {
            return;
        }
        if self.adapt_long_term_model(rs, sample) {
            return;
        }
        match self.state {
            ProbeBW_DOWN => {
                if self.is_time_to_probe_bw(rs.now) {
                    return;
                }
                if self.is_time_to_cruise() {
                    self.start_probe_bw_cruise();
                }
            }
            ProbeBW_CRUISE => {
                self.is_time_to_probe_bw(rs.now);
            }
            ProbeBW_REFILL => {
                if self.round_start {
                    self.is_bw_probe_sample = true;
                    self.start_probe_bw_up(delivery_rate);
                }
            }
            ProbeBW_UP => {
                if self.is_time_to_go_down(delivery_rate) {
                    self.prev_probe_too_high = false;
                    self.start_probe_bw_down(rs.now, self.c_delivered);
                }
            }
            Startup | Drain | ProbeRTT => {}
        }
    }

    fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(self.state, ProbeBW_DOWN | ProbeBW_CRUISE | ProbeBW_REFILL | ProbeBW_UP)
    }

    fn is_time_to_cruise(&mut self) -> bool {
        if self.c_inflight > self.inflight_with_headroom() {
            return false;
        }
        if self.c_inflight > self.inflight(self.max_bw, 1.0) {
            return false;
        }
        true
    }

    fn is_time_to_go_down(&mut self, delivery_rate: f64) -> bool {
        if self.prev_probe_too_high && self.c_inflight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if (self.is_cwnd_limited || self.was_cwnd_limited) && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = delivery_rate;
        } else if self.full_bw_now {
            return true;
        }
        false
    }

    fn is_probing_bw(&self) -> bool {
        self.state == Startup || self.state == ProbeBW_REFILL || self.state == ProbeBW_UP
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == INFINITY {
            return INFINITY;
        }
        let headroom = f64::max(SMSS, HEADROOM * self.inflight_longterm);
        f64::max(self.inflight_longterm - headroom, MIN_PIPE_CWND)
    }

    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1_u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = u32::min(self.bw_probe_up_rounds + 1, 30);
        self.probe_up_acked_per_inc = f64::max(self.cwnd / growth_this_round, SMSS);
    }

    fn probe_inflight_longterm_upward(&mut self, rs: &Rs) {
        if !(self.is_cwnd_limited || self.was_cwnd_limited) || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * SMSS;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    fn adapt_long_term_model(&mut self, rs: &Rs, sample: &Sample) -> bool {
        if self.ack_phase == ACKS_PROBE_STARTING && self.round_start {
            self.ack_phase = ACKS_PROBE_FEEDBACK;
        }
        if self.ack_phase == ACKS_PROBE_STOPPING && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = ACKS_INIT;
            if self.is_in_a_probe_bw_state() && !sample.is_app_limited {
                self.advance_max_bw_filter();
            }
            if self.is_in_a_probe_bw_state() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high(sample.lost, sample.tx_in_flight) {
            if self.inflight_longterm == INFINITY {
                return false;
            }
            if sample.tx_in_flight > self.inflight_longterm {
                self.inflight_longterm = sample.tx_in_flight;
            }
            if self.state == ProbeBW_UP {
                self.probe_inflight_longterm_upward(rs);
            }
        }
        false
    }

    fn update_min_rtt(&mut self, now: u64, rtt: Option<u64>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + 5_000_000;
        if let Some(rtt) = rtt
            && (self.probe_rtt_min_delay.is_none_or(|min| rtt < min) || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let min_rtt_expired = now > self.min_rtt_stamp + 10_000_000;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    fn check_probe_rtt(&mut self, rs: &Rs) {
        if self.state != ProbeRTT && self.probe_rtt_expired && !self.idle_restart {
            self.state = ProbeRTT;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 0.5;
            self.save_cwnd();
            self.probe_rtt_done_stamp = 0;
            self.ack_phase = ACKS_PROBE_STOPPING;
            self.start_round(self.c_delivered);
        }
        if self.state == ProbeRTT {
            self.handle_probe_rtt(rs.now);
        }
        if rs.sample.is_some() {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, now: u64) {
        self.app_limited.mark(self.c_delivered, self.c_inflight);
        if self.probe_rtt_done_stamp == 0 && self.c_inflight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = now + 200_000;
            self.probe_rtt_round_done = false;
            self.start_round(self.c_delivered);
        } else if self.probe_rtt_done_stamp != 0 {
            if self.round_start {
                self.probe_rtt_round_done = true;
            }
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        }
    }

    fn check_probe_rtt_done(&mut self, now: u64) {
        if self.probe_rtt_done_stamp != 0 && now > self.probe_rtt_done_stamp {
            self.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.reset_short_term_model();
            if self.full_bw_reached {
                self.start_probe_bw_down(now, self.c_delivered);
                self.start_probe_bw_cruise();
            } else {
                self.enter_startup();
            }
        }
    }

    fn update_max_bw(&mut self, sample: &Sample, delivery_rate: f64) {
        if sample.prior_delivered >= self.next_round_delivered {
            self.start_round(self.c_delivered);
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.round_start = true;
            self.was_cwnd_limited = self.is_cwnd_limited;
            self.is_cwnd_limited = false;
        } else {
            self.round_start = false;
        }
        if delivery_rate > 0.0 && (delivery_rate >= self.max_bw || !sample.is_app_limited) {
            let slot = &mut self.max_bw_filter[self.cycle_count % 2];
            *slot = f64::max(*slot, delivery_rate);
            self.max_bw = f64::max(self.max_bw_filter[0], self.max_bw_filter[1]);
        }
    }

    fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
        self.max_bw_filter[self.cycle_count % 2] = 0.0;
    }

    fn update_ack_aggregation(&mut self, rs: &Rs) {
        let interval = (rs.now - self.extra_acked_interval_start) as f64;
        let mut expected_delivered = self.bw * interval;
        if self.extra_acked_delivered <= expected_delivered {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = rs.now;
            expected_delivered = 0.0;
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = f64::min(self.extra_acked_delivered - expected_delivered, self.cwnd);
        let filter_len = if self.full_bw_reached { 10 } else { 1 };
        self.extra_acked_filter.running_max(filter_len, self.round_count, extra);
        self.extra_acked = self.extra_acked_filter.get();
    }

    fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * LOSS_THRESH || (lost > 0.0 && !self.has_selective_acks)
    }

    fn handle_inflight_too_high(
        &mut self,
        now: u64,
        delivered: u64,
        tx_in_flight: f64,
        is_app_limited: bool,
    ) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !is_app_limited {
            self.inflight_longterm = f64::max(tx_in_flight, self.target_inflight() * BETA);
        }
        if self.state == ProbeBW_UP {
            self.undo_state = Some(ProbeBW_UP);
            self.start_probe_bw_down(now, delivered);
        }
    }

    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.c_delivered;
            self.save_state_upon_loss();
        } else if !self.state_saved {
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }

    fn inflight_at_loss(&self, p: &P) -> f64 {
        let inflight_prev = p.tx_in_flight - p.size;
        let lost_prev = p.lost - p.size;
        let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
        inflight_prev + lost_prefix
    }

    fn update_latest_delivery_signals(&mut self, sample: &Sample, delivery_rate: f64) {
        self.loss_round_start = false;
        self.bw_latest = f64::max(self.bw_latest, delivery_rate);
        self.inflight_latest = f64::max(self.inflight_latest, sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.c_delivered;
            self.loss_round_start = true;
        }
    }

    fn advance_latest_delivery_signals(&mut self, sample: &Sample, delivery_rate: f64) {
        if self.loss_round_start {
            self.bw_latest = delivery_rate;
            self.inflight_latest = sample.delivered;
        }
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    fn update_congestion_signals(&mut self, sample: &Sample, delivery_rate: f64) {
        self.update_max_bw(sample, delivery_rate);
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.is_loss_in_round = false;
    }

    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() {
            return;
        }
        if self.is_loss_in_round {
            if self.bw_shortterm == INFINITY {
                self.bw_shortterm = self.max_bw;
            }
            if self.inflight_shortterm == INFINITY {
                self.inflight_shortterm = self.cwnd;
            }
            self.bw_shortterm = f64::max(self.bw_latest, BETA * self.bw_shortterm);
            self.inflight_shortterm = f64::max(self.inflight_latest, BETA * self.inflight_shortterm);
        }
    }

    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = INFINITY;
        self.inflight_shortterm = INFINITY;
    }

    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.state_saved = true;
        self.undo_state = None;
        self.undo_bw_shortterm = self.bw_shortterm;
        self.undo_inflight_shortterm = self.inflight_shortterm;
        self.undo_inflight_longterm = self.inflight_longterm;
    }

    fn set_pacing_rate_with_gain(&mut self, pacing_gain: f64) {
        let rate = pacing_gain * self.bw * (100.0 - 1.0) / 100.0;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_send_quantum(&mut self) {
        self.send_quantum = self.pacing_rate * 1000.0;
        self.send_quantum = f64::min(self.send_quantum, 65536.0);
        self.send_quantum = f64::max(self.send_quantum, 2.0 * SMSS);
    }

    fn bdp_multiple(&mut self, bw: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_cwnd };
        self.bdp = bw * min_rtt as f64;
        gain * self.bdp
    }

    fn quantization_budget(&mut self, inflight_cap: f64) -> f64 {
        self.set_send_quantum();
        self.offload_budget = 3.0 * self.send_quantum;
        let mut inflight_cap = f64::max(inflight_cap, self.offload_budget);
        inflight_cap = f64::max(inflight_cap, MIN_PIPE_CWND);
        if self.state == ProbeBW_UP {
            inflight_cap += 2.0 * SMSS;
        }
        inflight_cap
    }

    fn inflight(&mut self, bw: f64, gain: f64) -> f64 {
        let inflight_cap = self.bdp_multiple(bw, gain);
        self.quantization_budget(inflight_cap)
    }

    fn update_max_inflight(&mut self) {
        let mut inflight_cap = self.bdp_multiple(self.bw, self.cwnd_gain);
        inflight_cap += self.extra_acked;
        self.max_inflight = self.quantization_budget(inflight_cap);
    }

    fn save_cwnd(&mut self) {
        if !self.in_loss_recovery && self.state != ProbeRTT {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = f64::max(self.prior_cwnd, self.cwnd);
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = f64::max(self.cwnd, self.prior_cwnd);
    }

    fn probe_rtt_cwnd(&mut self) -> f64 {
        f64::max(self.bdp_multiple(self.bw, 0.5), MIN_PIPE_CWND)
    }

    fn set_cwnd(&mut self, newly_acked: f64) {
        self.update_max_inflight();
        if self.full_bw_reached {
            self.cwnd = f64::min(self.cwnd + newly_acked, self.max_inflight);
        } else if self.cwnd < self.max_inflight || (self.c_delivered as f64) < self.initial_cwnd {
            self.cwnd += newly_acked;
        }
        self.cwnd = f64::max(self.cwnd, MIN_PIPE_CWND);
        if self.state == ProbeRTT {
            self.cwnd = f64::min(self.cwnd, self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    fn bound_cwnd_for_model(&mut self) {
        let mut cap = INFINITY;
        if self.is_in_a_probe_bw_state() && self.state != ProbeBW_CRUISE {
            cap = self.inflight_longterm;
        } else if self.state == ProbeRTT || self.state == ProbeBW_CRUISE {
            cap = self.inflight_with_headroom();
        }
        cap = f64::min(cap, self.inflight_shortterm);
        cap = f64::max(cap, MIN_PIPE_CWND);
        self.cwnd = f64::min(self.cwnd, cap);
    }
}

impl Model for Bbr {
    fn transmit(&mut self, now: u64, inflight: f64, size: f64, app_limited: bool, srtt: Option<u64>) {
        if let (false, Some(srtt)) = (self.seen_rtt, srtt) {
            self.first_rtt(now, srtt);
        }
        // No room for another segment.
        if inflight + size + SMSS > self.cwnd {
            self.is_cwnd_limited = true;
        }
        if inflight == 0.0 && (app_limited || self.app_limited.value != 0) {
            self.idle_restart = true;
            self.extra_acked_interval_start = now;
            if self.is_in_a_probe_bw_state() {
                self.set_pacing_rate_with_gain(1.0);
            } else if self.state == ProbeRTT {
                self.check_probe_rtt_done(now);
            }
        }
    }

    fn ack(&mut self, rs: &Rs) {
        self.c_delivered = rs.delivered;
        self.c_inflight = rs.inflight;
        self.has_selective_acks = rs.has_selective_acks;
        self.app_limited.clear_if_past(rs.delivered);
        if !self.seen_rtt {
            self.first_rtt(rs.now, 60_000);
        }
        self.round_start = false;
        let sample = rs.sample.map(|sample| Sample {
            is_app_limited: sample.is_app_limited || self.app_limited.when_sent(sample.prior_delivered),
            ..sample
        });
        if let Some(sample) = &sample {
            let delivery_rate = sample.delivered / sample.interval as f64;
            self.update_latest_delivery_signals(sample, delivery_rate);
            self.update_congestion_signals(sample, delivery_rate);
            self.update_ack_aggregation(rs);
            self.check_full_bw_reached(sample, delivery_rate);
            self.check_startup_done(sample);
            self.check_drain_done(rs.now);
            self.update_probe_bw_cycle_phase(rs, sample, delivery_rate);
        }
        self.update_min_rtt(rs.now, sample.and_then(|sample| sample.rtt));
        self.check_probe_rtt(rs);
        if let Some(sample) = &sample {
            self.advance_latest_delivery_signals(sample, sample.delivered / sample.interval as f64);
        }
        self.bw = f64::min(self.max_bw, self.bw_shortterm);
        self.set_pacing_rate_with_gain(self.pacing_gain);
        self.set_send_quantum();
        self.set_cwnd(rs.newly_acked);
        self.app_limited.remember(rs.delivered);
    }

    fn lost(&mut self, p: &P) {
        self.note_loss();
        if self.last_lost.is_none_or(|last| p.start != last + 1000) {
            self.lost_ranges += 1;
        }
        self.last_lost = Some(p.start);
        if !self.is_bw_probe_sample {
            return;
        }
        if self.is_inflight_too_high(p.lost, p.tx_in_flight) {
            let tx_in_flight = self.inflight_at_loss(p);
            self.handle_inflight_too_high(p.now, self.c_delivered, tx_in_flight, p.is_app_limited);
        }
    }

    fn enter_recovery(&mut self, _: u64) {
        if !self.state_saved {
            self.save_state_upon_loss();
        }
        self.in_fast_recovery = true;
        self.in_loss_recovery = true;
    }

    fn enter_rto(&mut self, _: u64) {
        self.save_state_upon_loss();
        self.cwnd = SMSS;
        self.in_fast_recovery = false;
        self.in_loss_recovery = true;
    }

    fn exit_recovery(&mut self) {
        self.in_loss_recovery = false;
        self.in_fast_recovery = false;
        self.state_saved = false;
        self.restore_cwnd();
        self.set_cwnd(0.0);
    }

    fn spurious(&mut self, _: u64) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = f64::max(self.bw_shortterm, self.undo_bw_shortterm);
        self.inflight_shortterm = f64::max(self.inflight_shortterm, self.undo_inflight_shortterm);
        self.inflight_longterm = f64::max(self.inflight_longterm, self.undo_inflight_longterm);
        if self.undo_state == Some(Startup) && self.state != Startup {
            self.full_bw_reached = false;
            if self.state != ProbeRTT {
                self.enter_startup();
            }
        } else if self.undo_state == Some(ProbeBW_UP) && self.state != ProbeBW_UP && self.state != ProbeRTT {
            self.start_probe_bw_refill();
        }
        self.undo_state = None;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }
}

#[test]
fn bbr3() {
    compare("kind = \"bbr3\"", |cwnd| Box::new(Bbr::on_init(cwnd)));
}
