//! CoDel's control law.

use airwnd_catalog::Choice;
use airwnd_units::{Span, Time};

/// Computation of the inverse square root of the number of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Root {
    /// 1 / sqrt(n).
    #[word = "exact"]
    Exact,
    /// One step of Newton's method from the previous value: after the first signal 1/2 instead of 1/sqrt(2).
    #[word = "newton"]
    Newton,
}

/// Time between signals: the interval over the square root of their number.
//= RFC 8289 §5.6
#[derive(Clone, Debug)]
pub struct ControlLaw {
    interval: Span,
    root: Root,
    inverse: f64,
}

impl ControlLaw {
    /// Creates the law before the first signal.
    pub fn new(interval: Span, root: Root) -> ControlLaw {
        ControlLaw { interval, root, inverse: 1.0 }
    }

    /// Resets the number of signals to one.
    pub fn restart(&mut self) {
        self.inverse = 1.0;
    }

    /// Sets the number of signals. With `Newton` the error of a first guess decays more slowly the larger it is.
    pub fn count(&mut self, signals: u32) {
        let signals = f64::from(signals.max(1));
        self.inverse = match self.root {
            Root::Exact => 1.0 / libm::sqrt(signals),
            Root::Newton => self.inverse / 2.0 * (3.0 - signals * self.inverse * self.inverse),
        };
    }

    /// Returns the time of the signal after one that was due at `before`.
    pub fn after(&self, before: Time) -> Time {
        before + Span::from_secs_f64(self.interval.as_secs() * self.inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spacings(root: Root, signals: u32) -> Vec<f64> {
        let mut law = ControlLaw::new(Span::from_millis(100), root);
        let spacing = |count| {
            law.count(count);
            (law.after(Time(7)) - Time(7)).as_millis()
        };
        (1..=signals).map(spacing).collect()
    }

    #[test]
    fn the_spacing_is_the_interval_over_the_square_root() {
        for (count, spacing) in (1..).zip(spacings(Root::Exact, 1000)) {
            assert!((spacing - 100.0 / f64::from(count).sqrt()).abs() < 1e-6, "{count}: {spacing}");
        }
    }

    #[test]
    fn newton_is_early_at_first_and_converges() {
        let spacings = spacings(Root::Newton, 1000);
        // 1/2 (3 - 2), then 1/4 (3 - 3/4)
        assert_eq!(spacings[..3], [100.0, 50.0, 56.25]);
        assert!((spacings[999] * libm::sqrt(1000.0) / 100.0 - 1.0).abs() < 1e-3, "{}", spacings[999]);
    }
}
