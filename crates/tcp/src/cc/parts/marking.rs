//! Fraction of acknowledged bytes that are CE-marked.

use crate::cc::Ack;
use airwnd_units::Bytes;

/// Moving average of the fraction of CE-marked bytes (DCTCP.Alpha, RFC 8257 §3.3).
#[derive(Clone, Debug)]
pub(in crate::cc) struct Marking {
    alpha: f64,
    acked: Bytes,
    marked: Bytes,
    /// Whether the feedback has ever reported marked bytes.
    counts: bool,
}

impl Marking {
    /// Creates the average with alpha = 1: before the first update every byte counts as marked.
    pub fn new() -> Marking {
        Marking { alpha: 1.0, acked: Bytes::ZERO, marked: Bytes::ZERO, counts: false }
    }

    pub fn on_delivery(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        self.counts |= ack.marked > Bytes::ZERO;
    }

    /// Adds the fraction of marked bytes since the last update to the average.
    pub fn update(&mut self, gain: f64) {
        if self.acked > Bytes::ZERO {
            //= RFC 8257 §3.3 step 5 to 8
            let part = self.marked.0 as f64 / self.acked.0 as f64;
            self.alpha = (1.0 - gain) * self.alpha + gain * part.min(1.0);
        }
        self.restart();
    }

    /// Resets the byte counters.
    pub fn restart(&mut self) {
        (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
    }

    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Returns the average; 1 for feedback that does not count marks (RFC 3168), as if all bytes were marked.
    pub fn alpha(&self) -> f64 {
        if self.counts { self.alpha } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::ack;

    #[test]
    fn the_average_moves_by_the_gain() {
        let mut marking = Marking::new();
        marking.on_delivery(&Ack { marked: Bytes(250), ..ack(1000) });
        marking.update(0.1);
        assert!((marking.alpha() - (0.9 + 0.1 * 0.25)).abs() < 1e-12);
        marking.update(0.1);
        assert!((marking.alpha() - 0.925).abs() < 1e-12, "nothing was acknowledged");
        for _ in 0..1000 {
            marking.on_delivery(&Ack { marked: Bytes(250), ..ack(1000) });
            marking.update(0.1);
        }
        assert!((marking.alpha() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn feedback_without_counts_gives_alpha_1() {
        let mut marking = Marking::new();
        for _ in 0..1000 {
            marking.on_delivery(&ack(1000));
            marking.update(0.1);
        }
        assert_eq!(marking.alpha(), 1.0);
    }
}
