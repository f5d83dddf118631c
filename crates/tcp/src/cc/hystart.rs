//! Hybrid slow start: leave before the buffer overflows.

use super::Ack;
use super::cubic::Params;
use airwnd_units::{Span, Time};

/// Looks for the end of slow start in trains of ACKs and in the delay (Ha and Rhee, 2011, sections 4.1 and 4.2).
#[derive(Clone, Debug, Default)]
pub(super) struct Hystart {
    round: Option<u64>,
    began: Time,
    last: Time,
    /// Least round-trip time of the first samples of this round.
    least: Option<Span>,
    samples: u32,
}

impl Hystart {
    /// Whether slow start should end here.
    pub fn on_ack(&mut self, params: &Params, ack: &Ack) -> bool {
        if self.round != Some(ack.round) {
            *self =
                Hystart { round: Some(ack.round), began: ack.now, last: ack.now, least: None, samples: 0 };
        }
        let (Some(rtt), Some(base)) = (ack.rtt, ack.min_rtt) else { return false };
        self.sees_train(params, ack.now, base) || self.sees_delay(params, rtt, base)
    }

    /// ACKs in close succession for a good part of a round trip: the bandwidth-delay product is in flight.
    fn sees_train(&mut self, params: &Params, now: Time, base: Span) -> bool {
        if now - self.last > params.hystart_ack_gap {
            return false;
        }
        self.last = now;
        (now - self.began).as_secs() > params.hystart_train * base.as_secs()
    }

    fn sees_delay(&mut self, params: &Params, rtt: Span, base: Span) -> bool {
        if self.samples < params.hystart_samples {
            self.samples += 1;
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            return false;
        }
        let part = Span::from_secs_f64(params.hystart_delay * base.as_secs());
        let tolerated =
            part.clamp(params.hystart_delay_min, params.hystart_delay_max.max(params.hystart_delay_min));
        self.least.is_some_and(|least| least > base + tolerated)
    }
}
