//! Bandwidth estimation from ACKs (Westwood, Westwood+).

use crate::cc::Ack;
use airwnd_catalog::Choice;
use airwnd_units::{Bytes, Span, Time};

/// Definition of a bandwidth sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// Bytes of each ACK over the time since the previous ACK. Bunched ACKs, as from a cell's uplink, overestimate the
    /// bandwidth of the path by far.
    #[word = "westwood"]
    Westwood,
    /// Bytes acknowledged in each round trip over its duration.
    #[word = "westwood-plus"]
    WestwoodPlus,
    //= exception westwood-ns3
    /// Bytes of each ACK over a whole RTT, as in ns-3.26: a small fraction of the path's bandwidth. Tustin's filter
    /// keeps 0.9 of the estimate at each ACK.
    #[word = "ns3.26"]
    Ns3v26,
    //= exception westwood-plus-samples
    /// Bytes acknowledged from an ACK on for one RTT, over this RTT, as in ns-3.44. The ACK that begins a sample counts,
    /// and the time from the end of a sample to the next ACK belongs to none: with few ACKs per RTT, or a timeout, more
    /// than the bandwidth of the path.
    #[word = "ns3.44"]
    Ns3v44,
}

/// Filter of the bandwidth samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Filter {
    /// First-order low-pass filter, discretized with Tustin's approximation.
    #[word = "tustin"]
    Tustin,
    /// Two exponential averages in series, each with weight 1/8, as in Linux.
    #[word = "linux"]
    Linux,
    /// No filter: the estimate is the last sample.
    #[word = "none"]
    None,
}

/// Fraction of the estimate that Tustin's filter keeps where it does not depend on the sample's duration: for
/// Westwood+'s samples of a round trip, and for those of ns-3.26.
const KEPT_PER_SAMPLE: f64 = 0.9;
/// Virtual samples per time constant: a pause longer than tau / 2 counts as samples of zero.
const VIRTUAL_SAMPLES: f64 = 2.0;
/// Number of virtual samples after which the estimate has vanished: 0.6^64 = 6e-15.
const FORGOTTEN: u32 = 64;

/// Bandwidth estimator.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Bandwidth {
    variant: Variant,
    filter: Filter,
    tau: Span,
    min_interval: Span,
    /// Start of the current sample and the bytes acknowledged in it.
    since: Option<Time>,
    bytes: u64,
    /// Duration of the current sample of ns-3.44.
    duration: Span,
    last_sample: f64,
    /// Output of the first of Linux's two filters.
    inner: Option<f64>,
    bytes_per_s: f64,
}

impl Bandwidth {
    pub fn new(variant: Variant, filter: Filter, tau: Span, min_interval: Span) -> Bandwidth {
        Bandwidth {
            variant,
            filter,
            tau,
            min_interval,
            since: None,
            bytes: 0,
            duration: Span(0),
            last_sample: 0.0,
            inner: None,
            bytes_per_s: 0.0,
        }
    }

    /// Returns the bandwidth-delay product.
    pub fn bytes_within(&self, rtt: Option<Span>) -> Bytes {
        Bytes((self.bytes_per_s * rtt.unwrap_or_default().as_secs()) as u64)
    }

    /// Ends a sample of ns-3.44 whose RTT is over.
    pub fn end_timed_sample(&mut self, now: Time) {
        let Some(since) = self.since.filter(|_| self.variant == Variant::Ns3v44) else { return };
        if now - since >= self.duration {
            self.since = None;
            self.take_sample(self.duration.as_secs());
        }
    }

    pub fn on_delivery(&mut self, ack: &Ack) {
        let min = match self.variant {
            Variant::Westwood | Variant::Ns3v26 => Span(1),
            //= exception westwood-plus-samples
            Variant::WestwoodPlus => {
                ack.rtt.or(ack.srtt).unwrap_or_default().max(self.min_interval).max(Span(1))
            }
            Variant::Ns3v44 => return self.add_to_timed_sample(ack),
        };
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return;
        };
        self.bytes += ack.acked.0;
        let interval = ack.now - since;
        if interval < min {
            return;
        }
        let smoothed = if self.variant == Variant::Ns3v26 { ack.srtt.or(ack.rtt) } else { None };
        self.since = Some(ack.now);
        self.take_sample(smoothed.unwrap_or(interval).as_secs());
    }

    /// Adds an ACK to the current sample of ns-3.44, or begins one with it.
    fn add_to_timed_sample(&mut self, ack: &Ack) {
        self.end_timed_sample(ack.now);
        self.bytes += ack.acked.0;
        if let (None, Some(rtt)) = (self.since, ack.srtt.or(ack.rtt)) {
            (self.since, self.duration) = (Some(ack.now), rtt.max(Span(1)));
        }
    }

    /// Filters the bytes since the last sample over this time.
    fn take_sample(&mut self, seconds: f64) {
        let sample = std::mem::take(&mut self.bytes) as f64 / seconds;
        match self.filter {
            Filter::None => self.bytes_per_s = sample,
            Filter::Linux => {
                let inner = self.inner.map_or(sample, |inner| (7.0 * inner + sample) / 8.0);
                self.bytes_per_s =
                    if self.inner.is_none() { inner } else { (7.0 * self.bytes_per_s + inner) / 8.0 };
                self.inner = Some(inner);
            }
            Filter::Tustin if self.variant == Variant::Westwood => self.tustin_by_time(seconds, sample),
            Filter::Tustin => self.tustin(KEPT_PER_SAMPLE, sample),
        }
    }

    /// Tustin's filter: `b <- a b + (1 - a) (sample + last sample) / 2`.
    fn tustin(&mut self, kept: f64, sample: f64) {
        self.bytes_per_s = kept * self.bytes_per_s + (1.0 - kept) * (sample + self.last_sample) / 2.0;
        self.last_sample = sample;
    }

    /// Tustin's filter with `a = (2 tau - D) / (2 tau + D)` for a sample of duration D. A pause is filled with samples
    /// of zero at intervals of tau / 2.
    fn tustin_by_time(&mut self, seconds: f64, sample: f64) {
        let tau = self.tau.as_secs();
        let step = tau / VIRTUAL_SAMPLES;
        let kept = |interval: f64| (2.0 * tau - interval) / (2.0 * tau + interval);
        let mut rest = seconds;
        let mut virtual_samples = 0;
        while rest > step {
            rest -= step;
            virtual_samples += 1;
            self.tustin(kept(step), 0.0);
            if virtual_samples == FORGOTTEN {
                rest = rest.min(step);
            }
        }
        self.tustin(kept(rest), sample);
    }
}
