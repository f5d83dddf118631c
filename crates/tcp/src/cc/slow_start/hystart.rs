//! Hybrid slow start: leave before the buffer overflows.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// HyStart: trains of ACKs and the delay at the beginning of a round end slow start.
///
/// A train is over when ACKs are more than `ack_gap` apart; one that lasts longer than `train` of the least
/// round-trip time shows that the bandwidth-delay product is in flight. And the least of the first `samples`
/// round-trip times of a round, if it exceeds the least of all by `delay` of that, within `delay_min` and
/// `delay_max`, shows a queue.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Ha and Rhee, Taming the elephants, Computer Networks 55(9), 2011")]
pub struct Params {
    /// The least window at which it looks.
    #[param(default = 16.0, range = 1.0..=10000.0)]
    #[param(unit = "segments", source = "Ha and Rhee 2011, section 4; ns-3.44 TcpCubic::HyStartLowWindow")]
    pub low_window: f64,
    /// ACKs at most so far apart form a train.
    #[param(default = Span::from_millis(2), range = Span(0)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Ha and Rhee 2011, section 4.1; ns-3.44 TcpCubic::HyStartAckDelta")]
    pub ack_gap: Span,
    /// The length of a train that ends slow start, as part of the least round-trip time; 1 in ns-3.44.
    #[param(default = 0.5, range = 0.01..=10.0)]
    #[param(unit = "1", source = "Ha and Rhee 2011, section 4.1 (forward delay)")]
    pub train: f64,
    /// Samples of the round-trip time at the beginning of a round.
    #[param(default = 8, range = 1..=1000)]
    #[param(unit = "1", source = "Ha and Rhee 2011, section 4.2; ns-3.44 TcpCubic::HyStartMinSamples")]
    pub samples: u32,
    /// Growth of the delay that ends slow start, as part of the least round-trip time; 1 in ns-3.44.
    #[param(default = 0.125, range = 0.01..=10.0, unit = "1", source = "Ha and Rhee 2011, section 4.2 (eta)")]
    pub delay: f64,
    /// The least such growth.
    #[param(default = Span::from_millis(4), range = Span(0)..=Span::from_secs(1))]
    #[param(
        unit = "time",
        source = "Linux net/ipv4/tcp_cubic.c HYSTART_DELAY_MIN; ns-3.44 TcpCubic::HyStartDelayMin"
    )]
    pub delay_min: Span,
    /// The greatest such growth; 1 s in ns-3.44.
    #[param(default = Span::from_millis(16), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux net/ipv4/tcp_cubic.c HYSTART_DELAY_MAX")]
    pub delay_max: Span,
}

/// What was seen of a round.
#[derive(Clone, Debug)]
pub struct Hystart {
    params: Params,
    /// What will have been delivered when all has arrived that was in flight when the round began.
    end: Option<Bytes>,
    began: Time,
    last: Time,
    /// Least round-trip time of the first samples of this round.
    least: Option<Span>,
    samples: u32,
}

impl Hystart {
    /// Nothing seen.
    pub fn new(params: Params) -> Hystart {
        Hystart { params, end: None, began: Time::ZERO, last: Time::ZERO, least: None, samples: 0 }
    }

    /// ACKs in close succession for a good part of a round trip: the bandwidth-delay product is in flight.
    fn sees_train(&mut self, now: Time, base: Span) -> bool {
        if now - self.last > self.params.ack_gap {
            return false;
        }
        self.last = now;
        (now - self.began).as_secs() > self.params.train * base.as_secs()
    }

    fn sees_delay(&mut self, rtt: Span, base: Span) -> bool {
        let Params { samples, delay, delay_min, delay_max, .. } = self.params;
        if self.samples < samples {
            self.samples += 1;
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            return false;
        }
        let part = Span::from_secs_f64(delay * base.as_secs());
        let tolerated = part.clamp(delay_min, delay_max.max(delay_min));
        self.least.is_some_and(|least| least > base + tolerated)
    }
}

impl SlowStart for Hystart {
    fn growth(&mut self, ack: &Ack, cwnd: f64) -> Option<f64> {
        // A round begins with the first ACK of a burst: with the last of the one before, its delay would count.
        if self.end.is_none_or(|end| ack.delivered > end) {
            self.end = Some(ack.delivered + ack.in_flight);
            (self.began, self.last) = (ack.now, ack.now);
            (self.least, self.samples) = (None, 0);
        }
        if cwnd < self.params.low_window {
            return Some(1.0);
        }
        let (Some(rtt), Some(base)) = (ack.rtt, ack.min_rtt) else { return Some(1.0) };
        let full = self.sees_train(ack.now, base) || self.sees_delay(rtt, base);
        (!full).then_some(1.0)
    }

    fn on_congestion(&mut self) {
        *self = Hystart::new(self.params.clone());
    }
}
