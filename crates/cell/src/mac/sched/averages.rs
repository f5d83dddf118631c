//! Average throughput of each UE.

use airwnd_units::Bytes;

/// Numbers that are processed together, in one vector of the processor or several. Lists by slot are filled up to a
/// multiple of it.
pub(super) const LANES: usize = 4;

/// Stores the entry of a newly admitted slot. `rest` fills the list up.
pub(super) fn settle_in_lanes(list: &mut Vec<f64>, slot: u16, entry: f64, rest: f64) {
    if usize::from(slot) == list.len() {
        list.resize(list.len() + LANES, rest);
    }
    list[usize::from(slot)] = entry;
}

/// Exponential moving average of each UE's throughput, in bytes per second.
#[derive(Clone, Debug)]
pub struct RateAverages {
    averages: Vec<f64>,
    weight: f64,
}

impl RateAverages {
    /// Averages without UEs; the newest TTI has the weight 1 / `window`.
    pub fn new(window: f64) -> Self {
        RateAverages { averages: Vec::new(), weight: 1.0 / window }
    }
    /// Starts a UE's average at 1 B/s, so that its metric is finite.
    pub fn admit(&mut self, slot: u16) {
        // Infinity remains when averages decay.
        settle_in_lanes(&mut self.averages, slot, 1.0, f64::INFINITY);
    }
    /// A UE's average throughput, in bytes per second.
    pub fn of(&self, slot: u16) -> f64 {
        self.averages[slot as usize]
    }
    /// The averages of all UEs, by slot, and infinity up to a multiple of [`LANES`].
    pub(super) fn all(&self) -> &[[f64; LANES]] {
        self.averages.as_chunks().0
    }
    /// Part of an average that remains after a TTI without grants.
    pub(super) fn kept(&self) -> f64 {
        1.0 - self.weight
    }
    /// A UE's average after a TTI in which it was granted these bytes.
    pub fn after(&self, slot: u16, bytes: Bytes) -> f64 {
        (1.0 - self.weight) * self.of(slot) + self.weight * bytes.0 as f64 * 1000.0
    }
    /// Advances all averages by one TTI, with the bytes granted to the served UEs.
    pub fn update(&mut self, served: &[(u16, Bytes)]) {
        for average in &mut self.averages {
            *average *= 1.0 - self.weight;
        }
        self.add(served);
    }
    /// Advances the averages of these UEs by one TTI, with the bytes granted to the served ones among them. No other
    /// UE is served.
    pub fn update_some(&mut self, slots: &[u16], served: &[(u16, Bytes)]) {
        let averages = &mut self.averages[..];
        for slot in slots {
            averages[usize::from(*slot)] *= 1.0 - self.weight;
        }
        self.add(served);
    }
    /// Takes these averages, which have advanced by one TTI without grants, and adds the bytes granted to the served UEs.
    /// Leaves the former ones.
    pub(super) fn adopt(&mut self, advanced: &mut Vec<f64>, served: &[(u16, Bytes)]) {
        std::mem::swap(&mut self.averages, advanced);
        self.add(served);
    }
    fn add(&mut self, served: &[(u16, Bytes)]) {
        for (slot, bytes) in served {
            self.averages[*slot as usize] += self.weight * bytes.0 as f64 * 1000.0;
        }
    }
    /// Advances all averages by TTIs without grants.
    pub fn idle(&mut self, ttis: u64) {
        let factor = libm::pow(1.0 - self.weight, ttis as f64);
        for average in &mut self.averages {
            *average = (*average * factor).max(f64::MIN_POSITIVE);
        }
    }
}
