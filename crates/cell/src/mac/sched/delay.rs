//! How urgent it is to serve a user.

use super::{UeView, settle};
use crate::bearer::Bearer;

/// The weight of each user's waiting time: a = -ln(violation) / budget, with the delay budget of its class and
/// the part of its packets that may exceed it.
//= Andrews et al. 2001
#[derive(Clone, Debug)]
pub(crate) struct Urgency {
    violation: f64,
    users: Vec<Weight>,
}

/// A user's weight.
#[derive(Clone, Copy, Debug)]
struct Weight {
    real_time: bool,
    /// In 1/s.
    weight: f64,
}

impl Urgency {
    /// No users; `violation` is the part of the packets that may be late.
    pub(crate) fn new(violation: f64) -> Self {
        Urgency { violation, users: Vec::new() }
    }

    /// A user joins.
    pub(crate) fn admit(&mut self, slot: u16, bearer: &Bearer) {
        let weight = -libm::log(self.violation) / bearer.qci.delay_budget().as_secs();
        settle(&mut self.users, slot, Weight { real_time: bearer.qci.is_real_time(), weight });
    }

    /// The weighted delay of a user's oldest packet: -ln(violation) when it has used up its budget.
    pub(crate) fn of(&self, ue: &UeView) -> f64 {
        self.users[usize::from(ue.slot)].weight * ue.head_of_line.as_secs()
    }

    /// The same for users whose packets are of no use when late, none for the others.
    pub(crate) fn of_real_time(&self, ue: &UeView) -> Option<f64> {
        self.users[usize::from(ue.slot)].real_time.then(|| self.of(ue))
    }
}
