//! Losses of a round trip, the response to them, and its reversal if they were spurious.

use super::Params;
use super::model::{Bounds, Latest};
use crate::Seq;
use crate::cc::{Loss, RateSample};

/// Losses of this round trip and the data delivered in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    pub has_loss: bool,
    /// Bytes delivered when the round trip began, and whether this ACK begins one.
    from: u64,
    pub begins: bool,
    pub latest: Latest,
    /// Number of discontiguous loss ranges, and the sequence numbers of the last loss.
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

    /// Records a loss, detected when `delivered` bytes had been delivered.
    pub fn note(&mut self, delivered: u64) {
        if !self.has_loss {
            self.from = delivered;
        }
        self.has_loss = true;
    }

    /// Records the sequence numbers of a loss.
    pub fn locate(&mut self, loss: &Loss) {
        let (start, end) = (loss.seq, loss.seq + loss.len.0 as u32);
        let continues = self.last.is_some_and(|(first, last)| start == last || end == first);
        self.ranges += u32::from(!continues);
        self.last = Some((start, end));
    }

    /// Returns whether losses end Startup. `too_high`: the loss rate shows that the bytes in flight are excessive.
    //= draft-ietf-ccwg-bbr-06 §5.3.1.3: CheckStartupHighLoss()
    pub fn ends_startup(&self, selective: bool, too_high: bool, params: &Params) -> bool {
        if selective { self.begins && self.ranges >= params.full_losses && too_high } else { self.ranges > 0 }
    }

    /// Restarts the count of loss ranges at the beginning of a round trip.
    pub fn restart_count(&mut self) {
        if self.begins {
            (self.ranges, self.last) = (0, None);
        }
    }

    //= draft-ietf-ccwg-bbr-06 §5.5.10.3: ResetCongestionSignals()
    pub fn reset(&mut self) {
        (self.has_loss, self.latest) = (false, Latest::default());
    }
}

/// State that losses have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Startup,
    Up,
}

/// State to restore if the losses prove spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// `None`: the losses have not ended a state.
    pub ended: Option<Ended>,
    pub bounds: Bounds,
}

/// Returns the bytes in flight at which the loss rate reached the threshold.
//= draft-ietf-ccwg-bbr-06 §5.5.10.2: InflightAtLoss()
pub(super) fn inflight_at_loss(loss: &Loss, threshold: f64) -> f64 {
    let size = loss.len.0 as f64;
    let in_flight_before = loss.in_flight_at_send.0 as f64 - size;
    let lost_before = loss.lost_since_send.0 as f64 - size;
    in_flight_before + (threshold * in_flight_before - lost_before) / (1.0 - threshold)
}
