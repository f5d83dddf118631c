//! ProbeRTT: the minimum RTT, and a short time with few bytes in flight when it has not been refreshed.

use super::super::Ack;
use super::{Bbr, Mode};
use airwnd_units::Time;

impl Bbr {
    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.2.3
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now > self.min_rtt_at + self.params.min_rtt_window;
        if let Some(rtt) = ack.rate.and_then(|sample| sample.rtt) {
            let less =
                self.min_rtt.is_none_or(|min| rtt < min || (self.params.equal_refreshes && rtt == min));
            if less || expired {
                (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
            }
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
            self.restraint.begin(self.delivered);
            self.save_cwnd(self.cwnd);
        }
        self.probe_rtt(ack.now);
        if ack.rate.is_some() {
            self.idle_restart = false;
        }
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5
    pub(super) fn probe_rtt(&mut self, now: Time) {
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        self.restraint.prolong(self.delivered, self.in_flight as u64);
        if until.is_none() {
            if self.in_flight <= f64::from(self.params.min_window) * self.mss {
                *until = Some(now + self.params.probe_rtt_duration);
                self.round_from = self.delivered;
            }
        } else {
            *round_done |= self.begins_round;
            if *round_done {
                self.check_probe_rtt_done(now);
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        let Mode::ProbeRtt { until: Some(until), .. } = self.mode else { return };
        if now <= until {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.filled {
            self.cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
