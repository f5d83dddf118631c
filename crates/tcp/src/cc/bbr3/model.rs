//! Path model: round trips, bandwidth, bounds on the bytes in flight, ACK aggregation.

use super::Params;
use super::probe_rtt::MinRtt;
use crate::cc::RateSample;
use crate::cc::parts::windowed_max::WindowedMax;
use airwnd_units::Time;

/// Returns the delivery rate of a sample, in bytes per second.
pub(super) fn rate(sample: &RateSample) -> f64 {
    sample.delivered.0 as f64 / sample.interval.as_secs()
}

/// Maximum bandwidth and volume delivered in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    pub bw: f64,
    pub inflight: f64,
}

impl Latest {
    /// Creates the maxima of one sample.
    pub fn of(sample: &RateSample) -> Latest {
        Latest { bw: rate(sample), inflight: sample.delivered.0 as f64 }
    }

    /// Returns the larger of both values.
    pub fn max(self, other: Latest) -> Latest {
        Latest { bw: self.bw.max(other.bw), inflight: self.inflight.max(other.inflight) }
    }
}

/// Model of the path. Amounts are bytes, rates bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub rounds: Rounds,
    /// Maximum delivery rates of this cycle and of the previous one.
    cycle_bw: [f64; 2],
    pub max_bw: f64,
    /// Bandwidth that determines pacing rate and window, as of the last ACK.
    pub bw: f64,
    pub bounds: Bounds,
    pub min_rtt: MinRtt,
    pub aggregation: Aggregation,
}

impl Model {
    /// Creates the model of an unknown path.
    pub fn new() -> Model {
        Model {
            rounds: Rounds::default(),
            cycle_bw: [0.0; 2],
            max_bw: 0.0,
            bw: 0.0,
            bounds: Bounds::NONE,
            min_rtt: MinRtt::NONE,
            aggregation: Aggregation::new(),
        }
    }

    /// Adds a delivery rate. An application-limited one counts only if it is a new maximum.
    //= draft-ietf-ccwg-bbr-06 §5.5.5: UpdateMaxBw()
    pub fn update_max_bw(&mut self, rate: f64, app_limited: bool) {
        if rate > 0.0 && (rate >= self.max_bw || !app_limited) {
            self.cycle_bw[0] = self.cycle_bw[0].max(rate);
            self.max_bw = self.cycle_bw[0].max(self.cycle_bw[1]);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.6: AdvanceMaxBwFilter()
    pub fn advance_max_bw(&mut self) {
        self.cycle_bw = [0.0, self.cycle_bw[0]];
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: BoundBWForModel()
    pub fn bound_bw(&mut self) {
        self.bw = self.max_bw.min(self.bounds.bw_shortterm);
    }

    /// Returns a multiple of the bandwidth-delay product; `None` before the first RTT sample.
    //= draft-ietf-ccwg-bbr-06 §5.6.4.2: BDPMultiple()
    pub fn product(&self, bw: f64, gain: f64) -> Option<f64> {
        self.min_rtt.get().map(|rtt| gain * bw * rtt.as_secs())
    }
}

/// Round-trip counter, based on delivered data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub count: u64,
    /// Whether this ACK begins a round trip.
    pub begins: bool,
    /// Bytes delivered when this round trip began.
    from: u64,
}

impl Rounds {
    /// Begins a round trip with the data sent now, when `delivered` bytes have been delivered.
    pub fn start(&mut self, delivered: u64) {
        self.from = delivered;
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.1: UpdateRound()
    pub fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.begins = prior_delivered >= self.from;
        if self.begins {
            self.start(delivered);
            self.count += 1;
        }
    }
}

/// Bounds on bandwidth and bytes in flight from losses; infinite: no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// Short-term bounds, in force until the next REFILL.
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    /// Long-term bound, in force until a probe raises it.
    pub inflight_longterm: f64,
}

impl Bounds {
    pub const NONE: Bounds = Bounds {
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };

    /// Reduces the short-term bounds after a round trip with losses: to what was delivered in it, or to the fraction
    /// `beta` of them if that is more.
    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: InitLowerBounds(), LossLowerBounds()
    pub fn cut(&mut self, latest: Latest, beta: f64, max_bw: f64, cwnd: f64) {
        let bw = if self.bw_shortterm.is_infinite() { max_bw } else { self.bw_shortterm };
        let inflight = if self.inflight_shortterm.is_infinite() { cwnd } else { self.inflight_shortterm };
        self.bw_shortterm = latest.bw.max(beta * bw);
        self.inflight_shortterm = latest.inflight.max(beta * inflight);
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: ResetShortTermModel()
    pub fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Raises each bound to at least its value in `before`.
    pub fn widen(&mut self, before: &Bounds) {
        self.bw_shortterm = self.bw_shortterm.max(before.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(before.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(before.inflight_longterm);
    }
}

/// ACK aggregation: acknowledged data in excess of the bandwidth estimate.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    extra: WindowedMax,
    /// Start of the current epoch above the bandwidth estimate, and the bytes acknowledged in it.
    began: Time,
    acked: f64,
}

impl Aggregation {
    fn new() -> Aggregation {
        Aggregation { extra: WindowedMax::new(), began: Time::ZERO, acked: 0.0 }
    }

    /// Returns the recent maximum.
    pub fn get(&self) -> f64 {
        self.extra.get()
    }

    /// Restarts the epoch after an idle period, in which no ACKs were expected.
    pub fn restart(&mut self, now: Time) {
        self.began = now;
    }
}

impl Model {
    /// Adds `acked` bytes, with the excess limited to `cwnd`.
    //= draft-ietf-ccwg-bbr-06 §5.5.9: UpdateACKAggregation()
    pub fn update_aggregation(&mut self, now: Time, acked: f64, cwnd: f64, is_full: bool, params: &Params) {
        let epoch = &mut self.aggregation;
        let mut expected = self.bw * (now - epoch.began).as_secs();
        if epoch.acked <= expected {
            (epoch.began, epoch.acked, expected) = (now, 0.0, 0.0);
        }
        epoch.acked += acked;
        let extra = (epoch.acked - expected).min(cwnd);
        let rounds = if is_full { u64::from(params.aggregation_rounds) } else { 1 };
        epoch.extra.update(rounds, self.rounds.count, extra);
    }
}
