//! Average throughput of each UE.

use super::{Weighted, settle};
use crate::identity::UeSlot;
use airwnd_units::Bytes;

/// Numbers that are processed together, in one vector of the processor or several. Lists by slot are filled up to a
/// multiple of it.
pub(super) const LANES: usize = 4;

/// Stores the entry of a newly admitted slot. `rest` fills the list up.
pub(super) fn settle_in_lanes(list: &mut Vec<f64>, slot: UeSlot, entry: f64, rest: f64) {
    if slot.index() == list.len() {
        list.resize(list.len() + LANES, rest);
    }
    list[slot.index()] = entry;
}

/// Exponential moving average of each UE's throughput, in bytes per second.
///
/// It advances with the decisions of a cell: with each TTI of LTE, and in NR with each slot in which the cell can decide.
#[derive(Clone, Debug)]
pub struct RateAverages {
    averages: Vec<f64>,
    /// Weights of the UEs: bytes are divided by them, so that a metric R / T is multiplied by them.
    weights: Vec<f64>,
    /// Weight of the newest decision.
    gain: f64,
    decisions_per_second: f64,
}

impl RateAverages {
    /// Averages without UEs; the newest decision has the weight 1 / `window`. `decisions_per_second`: that of the
    /// [`Grid`](super::Grid).
    pub fn new(window: f64, decisions_per_second: f64) -> Self {
        RateAverages { averages: Vec::new(), weights: Vec::new(), gain: 1.0 / window, decisions_per_second }
    }
    /// Starts a UE's average at 1 B/s, so that its metric is finite.
    pub fn admit(&mut self, slot: UeSlot) {
        // Infinity remains when averages decay.
        settle_in_lanes(&mut self.averages, slot, 1.0, f64::INFINITY);
        settle(&mut self.weights, slot, 1.0);
    }
    /// A UE's average throughput, divided by its weight, in bytes per second.
    pub fn of(&self, slot: UeSlot) -> f64 {
        self.averages[slot.index()]
    }
    /// The averages of all UEs, by slot, and infinity up to a multiple of [`LANES`].
    pub(super) fn all(&self) -> &[[f64; LANES]] {
        self.averages.as_chunks().0
    }
    /// Part of an average that remains after a TTI without grants.
    pub(super) fn kept(&self) -> f64 {
        1.0 - self.gain
    }
    /// A UE's average after a TTI in which it was granted these bytes.
    pub fn after(&self, slot: UeSlot, bytes: Bytes) -> f64 {
        (1.0 - self.gain) * self.of(slot) + self.share(slot, bytes)
    }
    /// Advances all averages by one TTI, with the bytes granted to the served UEs.
    pub fn update(&mut self, served: &[(UeSlot, Bytes)]) {
        for average in &mut self.averages {
            *average *= 1.0 - self.gain;
        }
        self.add(served);
    }
    /// Advances the averages of these UEs by one TTI, with the bytes granted to the served ones among them. No other
    /// UE is served.
    pub fn update_some(&mut self, slots: &[UeSlot], served: &[(UeSlot, Bytes)]) {
        let averages = &mut self.averages[..];
        for slot in slots {
            averages[slot.index()] *= 1.0 - self.gain;
        }
        self.add(served);
    }
    /// Takes these averages, which have advanced by one TTI without grants, and adds the bytes granted to the served UEs.
    /// Leaves the former ones.
    pub(super) fn adopt(&mut self, advanced: &mut Vec<f64>, served: &[(UeSlot, Bytes)]) {
        std::mem::swap(&mut self.averages, advanced);
        self.add(served);
    }
    /// Contribution of these bytes to a UE's average.
    fn share(&self, slot: UeSlot, bytes: Bytes) -> f64 {
        self.gain * bytes.0 as f64 * self.decisions_per_second / self.weights[slot.index()]
    }
    fn add(&mut self, served: &[(UeSlot, Bytes)]) {
        for (slot, bytes) in served {
            self.averages[slot.index()] += self.share(*slot, *bytes);
        }
    }
    /// Advances all averages by TTIs without grants.
    pub fn idle(&mut self, ttis: u64) {
        let factor = libm::pow(1.0 - self.gain, ttis as f64);
        for average in &mut self.averages {
            *average = (*average * factor).max(f64::MIN_POSITIVE);
        }
    }
}

/// The average of a UE is from now on that of its bytes divided by the weight.
impl Weighted for RateAverages {
    fn set_weight(&mut self, slot: UeSlot, weight: f64) {
        let before = std::mem::replace(&mut self.weights[slot.index()], weight);
        self.averages[slot.index()] *= before / weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::Grid;
    use crate::mac::sched::tests::nr;

    #[test]
    fn a_weight_divides_the_average_at_once_and_from_then_on() {
        let mut averages = RateAverages::new(50.0, 1000.0);
        let mut plain = averages.clone();
        for averages in [&mut averages, &mut plain] {
            averages.admit(UeSlot(0));
            (0..100).for_each(|_| averages.update(&[(UeSlot(0), Bytes(100))]));
        }
        averages.set_weight(UeSlot(0), 4.0);
        for _ in 0..100 {
            assert!((averages.of(UeSlot(0)) * 4.0 / plain.of(UeSlot(0)) - 1.0).abs() < 1e-9);
            averages.update(&[(UeSlot(0), Bytes(300))]);
            plain.update(&[(UeSlot(0), Bytes(300))]);
        }
        averages.admit(UeSlot(0));
        assert_eq!(averages.of(UeSlot(0)), 1.0, "a new UE of the slot");
        averages.update(&[(UeSlot(0), Bytes(300))]);
        assert!(averages.of(UeSlot(0)) > 1000.0, "has no weight: {}", averages.of(UeSlot(0)));
    }

    /// A UE that gets 100 B in each slot with downlink data has this throughput, in each numerology and pattern.
    #[test]
    fn an_average_is_the_throughput_per_second() {
        for (numerology, pattern, slots) in [
            (0, "", 1000),
            (1, "", 2000),
            (2, "", 4000),
            (3, "", 8000),
            (1, "DDDSU", 1600),
            (3, "DSUUU", 3200),
        ] {
            let grid = Grid::of(&nr(numerology, pattern));
            let mut averages = RateAverages::new(50.0, grid.decisions_per_second);
            averages.admit(UeSlot(0));
            (0..1000).for_each(|_| averages.update(&[(UeSlot(0), Bytes(100))]));
            let expected = 100.0 * f64::from(slots);
            assert!(
                (averages.of(UeSlot(0)) / expected - 1.0).abs() < 1e-6,
                "{numerology} {pattern}: {}",
                averages.of(UeSlot(0))
            );
        }
    }
}
