//! The bandwidth that acknowledgments tell of.

use crate::cc::Ack;
use airwnd_catalog::Choice;
use airwnd_units::{Bytes, Span, Time};

/// What a sample of the bandwidth is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// The bytes of each ACK over the time since the one before it. ACKs that come in bunches, as from a
    /// cell's uplink, seem a bandwidth far above the path's.
    #[word = "westwood"]
    Westwood,
    /// The bytes of each round trip over its length.
    #[word = "westwood-plus"]
    WestwoodPlus,
    //= exception westwood-ns3
    /// The bytes of each ACK over a whole round trip, as in ns-3.26: a small part of the path's bandwidth. Tustin's
    /// filter keeps 0.9 at each ACK.
    #[word = "ns3.26"]
    Ns3v26,
}

/// How samples of the bandwidth are smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Filter {
    /// A low-pass filter by Tustin's approximation.
    #[word = "tustin"]
    Tustin,
    /// Two filters in a row that weigh a sample by 1/8 each, as in Linux.
    #[word = "linux"]
    Linux,
    /// Not at all.
    #[word = "none"]
    None,
}

/// Part of the old estimate that Tustin's filter keeps where it does not depend on a sample's length: Westwood+'s
/// samples of a round trip, and ns-3's.
const KEPT_PER_SAMPLE: f64 = 0.9;
/// Part of the time constant after which a pause counts as a sample of zero.
const VIRTUAL_SAMPLES: f64 = 2.0;
/// Virtual samples after which nothing is left of an estimate: 0.6^64 = 6e-15.
const FORGOTTEN: u32 = 64;

/// An estimate of the bandwidth.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Bandwidth {
    variant: Variant,
    filter: Filter,
    tau: Span,
    min_interval: Span,
    /// When the sample under way began, and its bytes.
    since: Option<Time>,
    bytes: u64,
    last_sample: f64,
    /// The first of Linux's two filters.
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
            last_sample: 0.0,
            inner: None,
            bytes_per_s: 0.0,
        }
    }

    /// The bandwidth-delay product.
    pub fn bytes_within(&self, rtt: Option<Span>) -> Bytes {
        Bytes((self.bytes_per_s * rtt.unwrap_or_default().as_secs()) as u64)
    }

    pub fn on_delivery(&mut self, ack: &Ack) {
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return;
        };
        self.bytes += ack.acked.0;
        let interval = ack.now - since;
        let least = match self.variant {
            Variant::Westwood | Variant::Ns3v26 => Span(1),
            //= exception westwood-plus-samples
            Variant::WestwoodPlus => {
                ack.rtt.or(ack.srtt).unwrap_or_default().max(self.min_interval).max(Span(1))
            }
        };
        if interval < least {
            return;
        }
        let seconds = match self.variant {
            Variant::Westwood | Variant::WestwoodPlus => interval,
            Variant::Ns3v26 => ack.srtt.or(ack.rtt).unwrap_or(interval),
        }
        .as_secs();
        let sample = self.bytes as f64 / seconds;
        (self.since, self.bytes) = (Some(ack.now), 0);
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

    /// b <- a b + (1 - a) (sample + last sample) / 2
    fn tustin(&mut self, kept: f64, sample: f64) {
        self.bytes_per_s = kept * self.bytes_per_s + (1.0 - kept) * (sample + self.last_sample) / 2.0;
        self.last_sample = sample;
    }

    /// a = (2 tau - D) / (2 tau + D) for a sample over D; a pause is filled with zeros tau / 2 apart.
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
