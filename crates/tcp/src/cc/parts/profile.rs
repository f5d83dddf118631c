//! Delay profile: packet delay as a function of the window.

/// Weight of the previous delay in the moving average (yzaki/verus@4b1bbf0 `ewma`).
const KEPT: f64 = 0.875;
/// Tolerance in seconds within which two delays are equal.
const TICK: f64 = 1e-9;

/// Delays by the window with which packets were sent, and a non-decreasing curve through them.
///
/// The curve is the least-squares non-decreasing fit (isotonic regression by pooling adjacent violators), linear
/// between two windows. Beyond its ends the delay is proportional to the window, as behind a link of constant rate
/// whose queue is never empty.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Profile {
    /// Windows in segments in ascending order, each with its smoothed delay in seconds.
    points: Vec<(usize, f64)>,
    largest: usize,
    curve: Vec<Level>,
}

/// Range of adjacent windows with the same delay.
#[derive(Clone, Copy, Debug)]
struct Level {
    from: usize,
    to: usize,
    delay: f64,
    points: f64,
}

impl Profile {
    /// Creates an empty profile for windows of up to `largest` segments.
    pub fn new(largest: usize) -> Profile {
        Profile { points: Vec::with_capacity(largest), largest, curve: Vec::with_capacity(largest) }
    }

    /// Adds the delay in seconds of a packet sent with this window.
    pub fn learn(&mut self, window: f64, delay: f64) {
        let window = (window as usize).clamp(1, self.largest);
        match self.points.binary_search_by_key(&window, |point| point.0) {
            Ok(at) => self.points[at].1 = KEPT * self.points[at].1 + (1.0 - KEPT) * delay,
            Err(at) => self.points.insert(at, (window, delay)),
        }
    }

    /// Recomputes the curve.
    pub fn draw(&mut self) {
        self.curve.clear();
        for &(window, delay) in &self.points {
            let mut level = Level { from: window, to: window, delay, points: 1.0 };
            while let Some(before) = self.curve.pop_if(|before| before.delay >= level.delay) {
                let points = before.points + level.points;
                level.delay = (before.delay * before.points + level.delay * level.points) / points;
                (level.from, level.points) = (before.from, points);
            }
            self.curve.push(level);
        }
    }

    /// Returns the window in segments at this delay.
    pub fn window(&self, delay: f64) -> Option<f64> {
        let above = self.curve.partition_point(|level| level.delay <= delay + TICK);
        Some(match (above.checked_sub(1).map(|at| self.curve[at]), self.curve.get(above)) {
            (Some(below), Some(next)) => {
                let part = (delay - below.delay) / (next.delay - below.delay);
                below.to as f64 + part * (next.from - below.to) as f64
            }
            (Some(last), None) => last.to as f64 * delay / last.delay,
            (None, Some(first)) => first.from as f64 * delay / first.delay,
            (None, None) => return None,
        })
    }

    /// Returns the delay in seconds at this window.
    pub fn delay(&self, window: f64) -> Option<f64> {
        let above = self.curve.partition_point(|level| level.from as f64 <= window);
        Some(match (above.checked_sub(1).map(|at| self.curve[at]), self.curve.get(above)) {
            (Some(below), _) if window <= below.to as f64 => below.delay,
            (Some(below), Some(next)) => {
                let part = (window - below.to as f64) / (next.from - below.to) as f64;
                below.delay + part * (next.delay - below.delay)
            }
            (Some(last), None) => last.delay * window / last.to as f64,
            (None, Some(first)) => first.delay * window / first.from as f64,
            (None, None) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(points: &[(f64, f64)]) -> Profile {
        let mut profile = Profile::new(100);
        for &(window, delay) in points {
            profile.learn(window, delay);
        }
        profile.draw();
        profile
    }

    #[test]
    fn samples_of_a_window_are_smoothed() {
        let profile = profile(&[(10.0, 0.1), (10.9, 0.2)]);
        // 7/8 of 100 ms and 1/8 of 200 ms
        assert!((profile.delay(10.0).unwrap() - 0.1125).abs() < 1e-12);
    }

    #[test]
    fn the_curve_is_linear_between_windows_and_proportional_beyond() {
        let profile = profile(&[(10.0, 0.1), (20.0, 0.3)]);
        for (window, delay) in [(5.0, 0.05), (10.0, 0.1), (15.0, 0.2), (20.0, 0.3), (40.0, 0.6)] {
            assert!((profile.window(delay).unwrap() - window).abs() < 1e-9, "{delay} s");
            assert!((profile.delay(window).unwrap() - delay).abs() < 1e-12, "{window} segments");
        }
    }

    #[test]
    fn decreasing_delays_are_pooled() {
        // 0.3 and 0.1 are pooled to 0.2. The next delay, 0.17, is lower: all three are pooled to 0.19
        let profile = profile(&[(10.0, 0.1), (20.0, 0.3), (21.0, 0.1), (22.0, 0.17), (30.0, 0.4)]);
        for window in [20.0, 21.0, 22.0] {
            assert!((profile.delay(window).unwrap() - 0.19).abs() < 1e-12);
        }
        assert!((profile.window(0.19 + 1e-12).unwrap() - 22.0).abs() < 1e-6);
    }

    #[test]
    fn without_samples_there_is_no_curve() {
        assert_eq!((profile(&[]).window(0.1), profile(&[]).delay(3.0)), (None, None));
    }
}
