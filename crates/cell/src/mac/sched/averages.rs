//! How fast each user has been served.

use super::settle;
use airwnd_units::Bytes;

/// A moving average of each user's rate, in bytes per second.
#[derive(Clone, Debug)]
pub struct RateAverages {
    averages: Vec<f64>,
    weight: f64,
}

impl RateAverages {
    /// No users; the newest TTI weighs 1 / `window`.
    pub fn new(window: f64) -> Self {
        RateAverages { averages: Vec::new(), weight: 1.0 / window }
    }
    /// A user joins with 1 B/s, so that its metric is finite.
    pub fn admit(&mut self, slot: u16) {
        settle(&mut self.averages, slot, 1.0);
    }
    /// A user's average, in bytes per second.
    pub fn of(&self, slot: u16) -> f64 {
        self.averages[slot as usize]
    }
    /// What a user's average is after a TTI in which it got these bytes.
    pub fn after(&self, slot: u16, bytes: Bytes) -> f64 {
        (1.0 - self.weight) * self.of(slot) + self.weight * bytes.0 as f64 * 1000.0
    }
    /// A TTI passes for everybody; `served` got their bytes in it.
    pub fn update(&mut self, served: &[(u16, Bytes)]) {
        for average in &mut self.averages {
            *average *= 1.0 - self.weight;
        }
        for (slot, bytes) in served {
            self.averages[*slot as usize] += self.weight * bytes.0 as f64 * 1000.0;
        }
    }
    /// A TTI passes for one user.
    pub fn update_one(&mut self, slot: u16, bytes: Bytes) {
        self.averages[slot as usize] = self.after(slot, bytes);
    }
    /// TTIs pass in which nobody was served.
    pub fn idle(&mut self, ttis: u64) {
        let factor = libm::pow(1.0 - self.weight, ttis as f64);
        for average in &mut self.averages {
            *average = (*average * factor).max(f64::MIN_POSITIVE);
        }
    }
}
