//! Values of several code blocks processed in parallel.

use std::ops::{Add, Neg, Sub};

/// Code blocks decoded in parallel, one per lane of the processor's vectors.
pub const BATCH: usize = 8;

/// One value for each code block of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub struct Lanes(pub [f32; BATCH]);

impl Lanes {
    /// The same value in each lane.
    pub const fn all(value: f32) -> Lanes {
        Lanes([value; BATCH])
    }

    fn each(self, other: Lanes, operation: impl Fn(f32, f32) -> f32) -> Lanes {
        Lanes(std::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }

    /// The larger value in each lane, without `f32::max`'s handling of NaN: a single processor instruction.
    pub fn larger(self, other: Lanes) -> Lanes {
        self.each(other, |a, b| if a > b { a } else { b })
    }

    /// Each value times a factor.
    pub fn times(self, factor: f32) -> Lanes {
        Lanes(self.0.map(|value| factor * value))
    }
}

impl Add for Lanes {
    type Output = Lanes;
    fn add(self, other: Lanes) -> Lanes {
        self.each(other, |a, b| a + b)
    }
}

impl Sub for Lanes {
    type Output = Lanes;
    fn sub(self, other: Lanes) -> Lanes {
        self.each(other, |a, b| a - b)
    }
}

impl Neg for Lanes {
    type Output = Lanes;
    fn neg(self) -> Lanes {
        Lanes(self.0.map(|value| -value))
    }
}
