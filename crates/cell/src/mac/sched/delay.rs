//! Weighted head-of-line delay.

use super::{UeView, settle};
use crate::identity::UeSlot;
use crate::qci::Qci;

/// Weight of each UE's head-of-line delay: a = -ln(violation) / budget, with the packet delay budget of its QCI and the
/// permitted fraction of packets that exceed the budget.
//= Andrews et al. 2001
#[derive(Clone, Debug)]
pub(crate) struct Urgency {
    violation: f64,
    users: Vec<Weight>,
}

/// Weight of a UE.
#[derive(Clone, Copy, Debug)]
struct Weight {
    real_time: bool,
    /// In 1/s.
    weight: f64,
}

impl Urgency {
    /// Weights without UEs; `violation` is the permitted fraction of late packets.
    pub(crate) fn new(violation: f64) -> Self {
        Urgency { violation, users: Vec::new() }
    }

    /// Adds a UE, or changes the class by which it is ranked.
    pub(crate) fn set(&mut self, slot: UeSlot, class: Qci) {
        let weight = -libm::log(self.violation) / class.delay_budget().as_secs();
        settle(&mut self.users, slot, Weight { real_time: class.is_real_time(), weight });
    }

    /// The weighted head-of-line delay: -ln(violation) when the packet has used up its budget.
    pub(crate) fn of(&self, ue: &UeView) -> f64 {
        self.users[ue.slot.index()].weight * ue.head_of_line.as_secs()
    }

    /// The weighted head-of-line delay of a UE of a real-time QCI; `None` for the others.
    pub(crate) fn of_real_time(&self, ue: &UeView) -> Option<f64> {
        self.users[ue.slot.index()].real_time.then(|| self.of(ue))
    }
}
