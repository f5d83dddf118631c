//! Maximum of recent values.

/// Windowed maximum with three candidates (Kathleen Nichols' algorithm); each is the maximum since the previous one.
/// Late in a window the result may cover only part of it.
#[derive(Clone, Debug)]
pub(in crate::cc) struct WindowedMax {
    /// Value and time, in descending order of values and ascending order of times.
    best: [(f64, u64); 3],
}

impl WindowedMax {
    pub fn new() -> WindowedMax {
        WindowedMax { best: [(0.0, 0); 3] }
    }

    pub fn get(&self) -> f64 {
        self.best[0].0
    }

    /// Adds the value at `now`, a counter, and discards values older than `window`.
    pub fn update(&mut self, window: u64, now: u64, value: f64) {
        let new = (value, now);
        if value >= self.best[0].0 || now - self.best[2].1 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].0 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].0 {
            self.best[2] = new;
        }
        self.age(window, new);
    }

    fn age(&mut self, window: u64, new: (f64, u64)) {
        let [first, second, third] = self.best;
        let age = new.1 - first.1;
        if age > window {
            self.best = [second, third, new];
            if new.1 - second.1 > window {
                self.best = [third, new, new];
            }
        } else if second.1 == first.1 && age > window / 4 {
            // No value near the best in a quarter of the window: take a newer second candidate.
            self.best = [first, new, new];
        } else if third.1 == second.1 && age > window / 2 {
            self.best = [first, second, new];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_for_a_window() {
        let mut max = WindowedMax::new();
        max.update(10, 0, 9.0);
        for now in 1..=10 {
            max.update(10, now, 5.0);
            assert_eq!(max.get(), 9.0, "{now}");
        }
        max.update(10, 11, 5.0);
        assert_eq!(max.get(), 5.0);
    }

    #[test]
    fn a_slow_decline_is_tracked_within_a_window() {
        let mut max = WindowedMax::new();
        for now in 0..100 {
            let value = 100.0 - now as f64;
            max.update(10, now, value);
            assert!((value..=value + 10.0).contains(&max.get()), "{} at {now}", max.get());
        }
    }

    #[test]
    fn a_pause_discards_all_values() {
        let mut max = WindowedMax::new();
        max.update(10, 0, 9.0);
        max.update(10, 1, 8.0);
        max.update(10, 50, 1.0);
        assert_eq!(max.get(), 1.0);
    }
}
