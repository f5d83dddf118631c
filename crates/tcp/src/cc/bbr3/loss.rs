//! Losses: those of a round trip, what they leave, and what is undone if they were none.

use super::Params;
use super::model::{Bounds, Latest};
use crate::Seq;
use crate::cc::{Loss, RateSample};

/// Losses of this round trip, and what was delivered in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    pub has_loss: bool,
    /// What had been delivered when it began, and whether this ACK begins one.
    from: u64,
    pub begins: bool,
    pub latest: Latest,
    /// Losses with something in between, and where the last one lay.
    ranges: u32,
    last: Option<(Seq, Seq)>,
}

impl LossRound {
    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: UpdateLatestDeliverySignals()
    pub fn update(&mut self, sample: &RateSample, delivered: u64) {
        self.latest = self.latest.max(Latest::of(sample));
        self.begins = sample.prior_delivered.0 >= self.from;
        if self.begins {
            self.from = delivered;
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: AdvanceLatestDeliverySignals()
    pub fn advance(&mut self, sample: &RateSample) {
        if self.begins {
            self.latest = Latest::of(sample);
        }
    }

    /// Something was lost when so much had been delivered.
    pub fn note(&mut self, delivered: u64) {
        if !self.has_loss {
            self.from = delivered;
        }
        self.has_loss = true;
    }

    /// Where it lay, in sequence numbers.
    pub fn locate(&mut self, loss: &Loss) {
        let (start, end) = (loss.seq, loss.seq + loss.len.0 as u32);
        let continues = self.last.is_some_and(|(first, last)| start == last || end == first);
        self.ranges += u32::from(!continues);
        self.last = Some((start, end));
    }

    /// Whether losses may end Startup: `too_high` is what they say of the volume in flight.
    //= draft-ietf-ccwg-bbr-06 §5.3.1.3: CheckStartupHighLoss()
    pub fn ends_startup(&self, selective: bool, too_high: bool, params: &Params) -> bool {
        if selective { self.begins && self.ranges >= params.full_losses && too_high } else { self.ranges > 0 }
    }

    /// Losses are counted by the round.
    pub fn count_anew(&mut self) {
        if self.begins {
            (self.ranges, self.last) = (0, None);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: ResetCongestionSignals()
    pub fn reset(&mut self) {
        (self.has_loss, self.latest) = (false, Latest::default());
    }
}

/// The state that losses have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Startup,
    Up,
}

/// What to return to if the losses were none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// `None`: they have ended none.
    pub ended: Option<Ended>,
    pub bounds: Bounds,
}

/// How much was in flight when so much was lost that the loss rate reached the threshold.
//= draft-ietf-ccwg-bbr-06 §5.5.10.2: InflightAtLoss()
pub(super) fn inflight_at_loss(loss: &Loss, threshold: f64) -> f64 {
    let size = loss.len.0 as f64;
    let in_flight_before = loss.in_flight_at_send.0 as f64 - size;
    let lost_before = loss.lost_since_send.0 as f64 - size;
    in_flight_before + (threshold * in_flight_before - lost_before) / (1.0 - threshold)
}
