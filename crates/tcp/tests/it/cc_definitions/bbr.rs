use super::model::{AppLimited, Minmax, Model, P, Rs, Sample, compare, random};
use airwnd_kernel::Stream;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

const CYCLE_LEN: usize = 8;
const PACING_GAIN: [f64; CYCLE_LEN] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const HIGH_GAIN: f64 = 2.885;
const MSS: f64 = 1000.0;

/// Linux's tcp_bbr, function by function, with bytes instead of packets.
struct Bbr {
    rng: Stream,
    cwnd: f64,
    cwnd_at_ack: f64,
    init_cwnd: f64,
    pacing_rate: f64,
    delivered: u64,
    lost: f64,
    inflight: f64,
    acked: f64,
    app_limited: AppLimited,
    in_recovery: bool,
    /// ACKs since the end of the last recovery: Linux compares the states after two ACKs.
    acks_out_of_recovery: Option<u64>,

    min_rtt: Option<u64>,
    min_rtt_stamp: u64,
    probe_rtt_done_stamp: Option<u64>,
    bw: Minmax,
    rtt_cnt: u64,
    next_rtt_delivered: u64,
    cycle_stamp: u64,
    mode: Mode,
    packet_conservation: bool,
    round_start: bool,
    idle_restart: bool,
    probe_rtt_round_done: bool,
    lt_is_sampling: bool,
    lt_rtt_cnt: u32,
    lt_use_bw: bool,
    lt_bw: f64,
    lt_last_delivered: u64,
    lt_last_stamp: u64,
    lt_last_lost: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    full_bw_reached: bool,
    full_bw_cnt: u32,
    cycle_idx: usize,
    has_seen_rtt: bool,
    prior_cwnd: f64,
    full_bw: f64,
    ack_epoch_stamp: u64,
    extra_acked: [f64; 2],
    ack_epoch_acked: f64,
    extra_acked_win_rtts: u32,
    extra_acked_win_idx: usize,
}

impl Bbr {
    fn new(cwnd: f64) -> Bbr {
        Bbr {
            rng: random("bbr"),
            cwnd,
            cwnd_at_ack: cwnd,
            init_cwnd: cwnd,
            pacing_rate: 0.99 * HIGH_GAIN * cwnd / 1000.0,
            delivered: 0,
            lost: 0.0,
            inflight: 0.0,
            acked: 0.0,
            app_limited: AppLimited::default(),
            in_recovery: false,
            acks_out_of_recovery: None,
            min_rtt: None,
            min_rtt_stamp: 0,
            probe_rtt_done_stamp: None,
            bw: Minmax::new(),
            rtt_cnt: 0,
            next_rtt_delivered: 0,
            cycle_stamp: 0,
            mode: Mode::Startup,
            packet_conservation: false,
            round_start: false,
            idle_restart: false,
            probe_rtt_round_done: false,
            lt_is_sampling: false,
            lt_rtt_cnt: 0,
            lt_use_bw: false,
            lt_bw: 0.0,
            lt_last_delivered: 0,
            lt_last_stamp: 0,
            lt_last_lost: 0.0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw_reached: false,
            full_bw_cnt: 0,
            cycle_idx: 0,
            has_seen_rtt: false,
            prior_cwnd: 0.0,
            full_bw: 0.0,
            ack_epoch_stamp: 0,
            extra_acked: [0.0; 2],
            ack_epoch_acked: 0.0,
            extra_acked_win_rtts: 0,
            extra_acked_win_idx: 0,
        }
    }

    fn bbr_bw(&self) -> f64 {
        if self.lt_use_bw { self.lt_bw } else { self.bw.get() }
    }

    fn init_pacing_rate_from_rtt(&mut self, now: u64, srtt: u64) {
        self.has_seen_rtt = true;
        self.pacing_rate = 0.99 * HIGH_GAIN * self.cwnd / srtt as f64;
        self.min_rtt = Some(srtt);
        self.min_rtt_stamp = now;
    }

    fn set_pacing_rate(&mut self, bw: f64, gain: f64) {
        let rate = 0.99 * gain * bw;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn tso_segs_goal(&self) -> f64 {
        let bytes = f64::min(self.pacing_rate * 1000.0, 65536.0);
        let min_tso_segs = if self.pacing_rate < 0.15 { 1.0 } else { 2.0 };
        if self.pacing_rate < 0.15 { MSS } else { f64::max(bytes, min_tso_segs * MSS) }
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        if !self.in_recovery && self.mode != Mode::ProbeRtt {
            self.prior_cwnd = cwnd;
        } else {
            self.prior_cwnd = f64::max(self.prior_cwnd, cwnd);
        }
    }

    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            None => self.init_cwnd,
            Some(rtt) => bw * rtt as f64 * gain,
        }
    }

    fn quantization_budget(&self, cwnd: f64) -> f64 {
        let mut cwnd = cwnd + 3.0 * self.tso_segs_goal();
        if self.mode == Mode::ProbeBw && self.cycle_idx == 0 {
            cwnd += 2.0 * MSS;
        }
        cwnd
    }

    fn bbr_inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp(bw, gain))
    }

    fn ack_aggregation_cwnd(&self) -> f64 {
        if !self.full_bw_reached {
            return 0.0;
        }
        let max_aggr_cwnd = self.bbr_bw() * 100_000.0;
        f64::min(f64::max(self.extra_acked[0], self.extra_acked[1]), max_aggr_cwnd)
    }

    fn target_cwnd(&self) -> f64 {
        self.quantization_budget(self.bdp(self.bbr_bw(), self.cwnd_gain) + self.ack_aggregation_cwnd())
    }

    fn set_cwnd(&mut self, losses: f64, acked: f64) {
        if acked > 0.0 {
            if losses > 0.0 {
                self.cwnd = f64::max(self.cwnd - losses, MSS);
            }
            if self.packet_conservation {
                self.cwnd = f64::max(self.cwnd, self.inflight + acked);
            } else {
                let target_cwnd = self.target_cwnd();
                if self.full_bw_reached {
                    self.cwnd = f64::min(self.cwnd + acked, target_cwnd);
                } else if self.cwnd < target_cwnd || (self.delivered as f64) < self.init_cwnd {
                    self.cwnd += acked;
                }
                self.cwnd = f64::max(self.cwnd, 4.0 * MSS);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = f64::min(self.cwnd, 4.0 * MSS);
        }
    }

    fn is_next_cycle_phase(&self, rs: &Rs) -> bool {
        let is_full_length = self.min_rtt.is_some_and(|rtt| rs.now - self.cycle_stamp > rtt);
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        let inflight = rs.prior_inflight;
        let bw = self.bw.get();
        if self.pacing_gain > 1.0 {
            return is_full_length
                && (rs.newly_lost > 0.0 || inflight >= self.bbr_inflight(bw, self.pacing_gain));
        }
        is_full_length || inflight <= self.bbr_inflight(bw, 1.0)
    }

    fn advance_cycle_phase(&mut self, now: u64) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE_LEN;
        self.cycle_stamp = now;
    }

    fn reset_probe_bw_mode(&mut self, now: u64) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = CYCLE_LEN - 1 - (self.rng.uniform() * 7.0) as usize;
        self.advance_cycle_phase(now);
    }

    fn reset_mode(&mut self, now: u64) {
        if !self.full_bw_reached {
            self.mode = Mode::Startup;
        } else {
            self.reset_probe_bw_mode(now);
        }
    }

    fn reset_lt_bw_sampling_interval(&mut self, now: u64) {
        self.lt_last_stamp = now;
        self.lt_last_delivered = self.delivered;
        self.lt_last_lost = self.lost;
        self.lt_rtt_cnt = 0;
    }

    fn reset_lt_bw_sampling(&mut self, now: u64) {
        self.lt_bw = 0.0;
        self.lt_use_bw = false;
        self.lt_is_sampling = false;
        self.reset_lt_bw_sampling_interval(now);
    }

    fn lt_bw_interval_done(&mut self, now: u64, bw: f64) {
        if self.lt_bw > 0.0 {
            let diff = (bw - self.lt_bw).abs();
            if diff <= 0.125 * self.lt_bw || diff <= 500e-6 {
                self.lt_bw = (bw + self.lt_bw) / 2.0;
                self.lt_use_bw = true;
                self.pacing_gain = 1.0;
                self.lt_rtt_cnt = 0;
                return;
            }
        }
        self.lt_bw = bw;
        self.reset_lt_bw_sampling_interval(now);
    }

    fn lt_bw_sampling(&mut self, now: u64, losses: bool, is_app_limited: bool) {
        if self.lt_use_bw {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt_rtt_cnt += 1;
                if self.lt_rtt_cnt >= 48 {
                    self.reset_lt_bw_sampling(now);
                    self.reset_probe_bw_mode(now);
                }
            }
            return;
        }
        if !self.lt_is_sampling {
            if !losses {
                return;
            }
            self.reset_lt_bw_sampling_interval(now);
            self.lt_is_sampling = true;
        }
        if is_app_limited {
            self.reset_lt_bw_sampling(now);
            return;
        }
        if self.round_start {
            self.lt_rtt_cnt += 1;
        }
        if self.lt_rtt_cnt < 4 {
            return;
        }
        if self.lt_rtt_cnt > 16 {
            self.reset_lt_bw_sampling(now);
            return;
        }
        if !losses {
            return;
        }
        let lost = self.lost - self.lt_last_lost;
        let delivered = (self.delivered - self.lt_last_delivered) as f64;
        if delivered == 0.0 || lost < 0.195 * delivered {
            return;
        }
        let t = now - self.lt_last_stamp;
        if t < 1000 {
            return;
        }
        self.lt_bw_interval_done(now, delivered / t as f64);
    }

    fn update_bw(&mut self, rs: &Rs, sample: &Sample, is_app_limited: bool) {
        if sample.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = self.delivered;
            self.rtt_cnt += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.lt_bw_sampling(rs.now, rs.newly_lost > 0.0, is_app_limited);
        let bw = sample.delivered / sample.interval as f64;
        if !is_app_limited || bw >= self.bw.get() {
            self.bw.running_max(10, self.rtt_cnt, bw);
        }
    }

    fn update_ack_aggregation(&mut self, rs: &Rs) {
        if self.round_start {
            self.extra_acked_win_rtts += 1;
            if self.extra_acked_win_rtts >= 5 {
                self.extra_acked_win_rtts = 0;
                self.extra_acked_win_idx = 1 - self.extra_acked_win_idx;
                self.extra_acked[self.extra_acked_win_idx] = 0.0;
            }
        }
        let mut expected_acked = self.bbr_bw() * (rs.now - self.ack_epoch_stamp) as f64;
        if self.ack_epoch_acked <= expected_acked {
            self.ack_epoch_acked = 0.0;
            self.ack_epoch_stamp = rs.now;
            expected_acked = 0.0;
        }
        self.ack_epoch_acked += rs.newly_acked;
        let extra_acked = f64::min(self.ack_epoch_acked - expected_acked, self.cwnd);
        if extra_acked > self.extra_acked[self.extra_acked_win_idx] {
            self.extra_acked[self.extra_acked_win_idx] = extra_acked;
        }
    }

    fn check_full_bw_reached(&mut self, is_app_limited: bool) {
        if self.full_bw_reached || !self.round_start || is_app_limited {
            return;
        }
        if self.bw.get() >= self.full_bw * 1.25 {
            self.full_bw = self.bw.get();
            self.full_bw_cnt = 0;
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= 3;
    }

    fn check_drain(&mut self, now: u64) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.inflight <= self.bbr_inflight(self.bw.get(), 1.0) {
            self.reset_probe_bw_mode(now);
        }
    }

    fn check_probe_rtt_done(&mut self, now: u64) {
        if self.probe_rtt_done_stamp.is_none_or(|stamp| now <= stamp) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = f64::max(self.cwnd, self.prior_cwnd);
        self.reset_mode(now);
    }

    fn update_min_rtt(&mut self, rs: &Rs) {
        let filter_expired = rs.now > self.min_rtt_stamp + 10_000_000;
        if let Some(rtt) = rs.sample.and_then(|sample| sample.rtt)
            && (self.min_rtt.is_none_or(|min| rtt < min) || filter_expired)
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = rs.now;
        }
        if filter_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(self.cwnd);
            self.probe_rtt_done_stamp = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.app_limited.mark(self.delivered, self.inflight);
            if self.probe_rtt_done_stamp.is_none() && self.inflight <= 4.0 * MSS {
                self.probe_rtt_done_stamp = Some(rs.now + 200_000);
                self.probe_rtt_round_done = false;
                self.next_rtt_delivered = self.delivered;
            } else if self.probe_rtt_done_stamp.is_some() {
                if self.round_start {
                    self.probe_rtt_round_done = true;
                }
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(rs.now);
                }
            }
        }
        if rs.sample.is_some() {
            self.idle_restart = false;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw => (if self.lt_use_bw { 1.0 } else { PACING_GAIN[self.cycle_idx] }, 2.0),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }
}

impl Model for Bbr {
    fn transmit(&mut self, now: u64, inflight: f64, _: f64, app_limited: bool, srtt: Option<u64>) {
        if let (false, Some(srtt)) = (self.has_seen_rtt, srtt) {
            self.init_pacing_rate_from_rtt(now, srtt);
        }
        if inflight == 0.0 && (app_limited || self.app_limited.value != 0) {
            self.idle_restart = true;
            self.ack_epoch_stamp = now;
            self.ack_epoch_acked = 0.0;
            if self.mode == Mode::ProbeBw {
                self.set_pacing_rate(self.bbr_bw(), 1.0);
            } else if self.mode == Mode::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
    }

    fn ack(&mut self, rs: &Rs) {
        self.delivered = rs.delivered;
        self.lost += rs.newly_lost;
        self.inflight = rs.inflight;
        self.acked = rs.newly_acked;
        self.cwnd_at_ack = self.cwnd;
        self.acks_out_of_recovery = self.acks_out_of_recovery.map(|acks| acks + 1);
        self.app_limited.clear_if_past(rs.delivered);
        if !self.has_seen_rtt {
            self.init_pacing_rate_from_rtt(rs.now, 60_000);
        }
        self.round_start = false;
        let mut is_app_limited = false;
        if let Some(sample) = rs.sample {
            is_app_limited = sample.is_app_limited || self.app_limited.when_sent(sample.prior_delivered);
            self.update_bw(rs, &sample, is_app_limited);
            self.update_ack_aggregation(rs);
        }
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(rs) {
            self.advance_cycle_phase(rs.now);
        }
        self.check_full_bw_reached(is_app_limited);
        self.check_drain(rs.now);
        self.update_min_rtt(rs);
        self.update_gains();
        self.set_pacing_rate(self.bbr_bw(), self.pacing_gain);
        self.set_cwnd(rs.newly_lost, rs.newly_acked);
        self.app_limited.remember(rs.delivered);
    }

    fn lost(&mut self, _: &P) {}

    fn enter_recovery(&mut self, _: u64) {
        if self.acks_out_of_recovery.is_some_and(|acks| acks < 2) {
            self.in_recovery = true;
            self.save_cwnd(self.cwnd_at_ack);
            return;
        }
        self.save_cwnd(self.cwnd_at_ack);
        self.in_recovery = true;
        self.packet_conservation = true;
        self.next_rtt_delivered = self.delivered;
        self.cwnd = f64::max(f64::min(self.cwnd, self.inflight + self.acked), MSS);
    }

    fn enter_rto(&mut self, now: u64) {
        self.save_cwnd(self.cwnd);
        self.in_recovery = true;
        self.cwnd = MSS;
        self.full_bw = 0.0;
        self.round_start = true;
        self.lt_bw_sampling(now, true, false);
    }

    fn exit_recovery(&mut self) {
        self.in_recovery = false;
        self.acks_out_of_recovery = Some(0);
        self.packet_conservation = false;
        self.cwnd = f64::max(self.cwnd, self.prior_cwnd);
        if self.full_bw_reached {
            self.cwnd = f64::min(self.cwnd, self.target_cwnd());
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = f64::min(self.cwnd, 4.0 * MSS);
        }
    }

    fn spurious(&mut self, now: u64) {
        self.full_bw = 0.0;
        self.full_bw_cnt = 0;
        self.reset_lt_bw_sampling(now);
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }
}

#[test]
fn bbr() {
    compare("kind = \"bbr\"", |cwnd| Box::new(Bbr::new(cwnd)));
}
