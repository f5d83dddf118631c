//! Model of the path: bandwidth, and the aggregation of ACKs.

use super::super::parts::policer::Step;
use super::super::{Ack, RateSample};
use super::{Bbr, Mode};
use airwnd_units::Time;

/// ACK aggregation: acknowledged data in excess of the bandwidth estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// Start of the current epoch above the bandwidth estimate, and the bytes acknowledged in it.
    began: Time,
    acked: f64,
    /// Maxima of the current and of the previous window of round trips.
    max: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Starts an epoch.
    pub fn restart(&mut self, now: Time) {
        (self.began, self.acked) = (now, 0.0);
    }
}

impl Bbr {
    pub(super) fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    /// Returns a multiple of the bandwidth-delay product, or the initial window before the RTT is known.
    pub(super) fn product(&self, rate: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |rtt| gain * rate * rtt.as_secs())
    }

    // In bytes; Linux rounds up to an even number of packets. Packets that wait for pacing are not in flight.
    /// Returns the window with which `volume` bytes can be in the network: adds the quantization budget.
    pub(super) fn with_budget(&self, volume: f64) -> f64 {
        let probes = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        let room = if probes { 2.0 * self.mss } else { 0.0 };
        volume + self.params.quantum.budget_of_v1(self.pacing_rate, self.mss) + room
    }

    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.with_budget(self.product(self.bandwidth.get(), gain))
    }

    pub(super) fn step(&self, now: Time, has_loss: bool, app_limited: bool) -> Step {
        let cycles = matches!(self.mode, Mode::ProbeBw { .. });
        Step {
            now,
            delivered: self.delivered,
            has_loss,
            app_limited,
            begins_round: self.begins_round,
            cycles,
        }
    }

    pub(super) fn detect_policer(&mut self, step: &Step) {
        if self.params.policer && self.policer.update(step) {
            self.cycle(step.now);
        }
    }

    pub(super) fn is_app_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || self.restraint.covers(sample.prior_delivered.0)
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.1
    pub(super) fn update_bandwidth(&mut self, ack: &Ack, sample: &RateSample) {
        if sample.prior_delivered.0 >= self.round_from {
            self.round_from = self.delivered;
            self.rounds += 1;
            self.begins_round = true;
            self.conserves = false;
        }
        let app_limited = self.is_app_limited(sample);
        self.detect_policer(&self.step(ack.now, ack.lost.0 > 0, app_limited));
        let rate = sample.delivered.0 as f64 / sample.interval.as_secs();
        // An application-limited sample counts only if it raises the estimate.
        if !app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(u64::from(self.params.bandwidth_rounds), self.rounds, rate);
        }
    }

    pub(super) fn update_aggregation(&mut self, ack: &Ack) {
        let rate = self.rate();
        let epoch = &mut self.aggregation;
        if self.begins_round {
            epoch.rounds += 1;
            if epoch.rounds >= self.params.aggregation_rounds {
                (epoch.rounds, epoch.max) = (0, [0.0, epoch.max[0]]);
            }
        }
        let mut expected = rate * (ack.now - epoch.began).as_secs();
        if epoch.acked <= expected {
            (epoch.began, epoch.acked, expected) = (ack.now, 0.0, 0.0);
        }
        epoch.acked += self.acked;
        epoch.max[0] = epoch.max[0].max((epoch.acked - expected).min(self.cwnd));
    }

    /// Returns the window allowance for ACK aggregation.
    pub(super) fn aggregated(&self) -> f64 {
        if !self.filled {
            return 0.0;
        }
        let [now, before] = self.aggregation.max;
        let limit = self.rate() * self.params.aggregation_limit.as_secs();
        (self.params.aggregation_gain * now.max(before)).min(limit)
    }
}
