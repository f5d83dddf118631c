//! Normal deviates from a random stream.

use airwnd_kernel::Stream;

/// Number of layers of equal area under the density.
const LAYERS: usize = 256;
/// Start of the tail, and the area of a layer.
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_99;

/// The ziggurat method (Marsaglia and Tsang, J. Stat. Softw. 5(8), 2000).
///
/// It consumes one number of the stream for 99 of 100 deviates; simulations at low code rates spend more time on noise
/// than on decoding.
#[derive(Clone, Debug)]
pub struct Normal {
    /// Right ends of the layers, from the base layer (with the width of an equal area, including the tail) to zero.
    ends: [f64; LAYERS + 1],
}

impl Default for Normal {
    fn default() -> Normal {
        Normal::new()
    }
}

/// The density without its normalisation constant.
fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x)
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

impl Normal {
    /// Computes the layers.
    pub fn new() -> Normal {
        let mut ends = [0.0; LAYERS + 1];
        (ends[0], ends[1]) = (AREA / density(TAIL), TAIL);
        for layer in 2..LAYERS {
            let below: f64 = ends[layer - 1];
            ends[layer] = libm::sqrt(-2.0 * libm::log(density(below) + AREA / below));
        }
        Normal { ends }
    }

    /// The next deviate of mean 0 and variance 1.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        loop {
            let bits = stream.next_u64();
            let layer = (bits % LAYERS as u64) as usize;
            let place = 2.0 * unit(bits) - 1.0;
            let x = place * self.ends[layer];
            if x.abs() < self.ends[layer + 1] {
                return x;
            }
            if layer == 0 {
                return self.tail(stream).copysign(place);
            }
            let (top, bottom) = (density(self.ends[layer + 1]), density(self.ends[layer]));
            if bottom + (top - bottom) * stream.uniform() < density(x) {
                return x;
            }
        }
    }

    /// A deviate beyond the base layer (Marsaglia, Technometrics 6(1), 1964).
    fn tail(&self, stream: &mut Stream) -> f64 {
        loop {
            let beyond = -libm::log(1.0 - stream.uniform()) / TAIL;
            if -2.0 * libm::log(1.0 - stream.uniform()) > beyond * beyond {
                return TAIL + beyond;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_equal_areas() {
        let normal = Normal::new();
        for layer in 1..LAYERS {
            let height = density(normal.ends[layer + 1]) - density(normal.ends[layer]);
            assert!((normal.ends[layer] * height / AREA - 1.0).abs() < 1e-6, "{layer}");
        }
    }

    #[test]
    fn deviates_have_the_normal_distribution() {
        const DRAWS: usize = 4_000_000;
        let (normal, mut stream) = (Normal::new(), Stream::new(5, "test"));
        let (mut sum, mut squares) = (0.0, 0.0);
        let limits = [-4.0, -3.7, -3.0, -1.5, -0.2, 0.0, 0.4, 1.0, 2.0, 3.6, 4.2];
        let mut below = [0usize; 11];
        for _ in 0..DRAWS {
            let x = normal.draw(&mut stream);
            sum += x;
            squares += x * x;
            limits.iter().zip(&mut below).for_each(|(limit, count)| *count += usize::from(x < *limit));
        }
        let draws = DRAWS as f64;
        assert!((sum / draws).abs() < 4.0 / libm::sqrt(draws));
        assert!((squares / draws - 1.0).abs() < 4.0 * libm::sqrt(2.0 / draws));
        for (limit, count) in limits.iter().zip(below) {
            let expected = 0.5 * libm::erfc(-limit / std::f64::consts::SQRT_2);
            let error = libm::sqrt(expected * (1.0 - expected) / draws);
            assert!((count as f64 / draws - expected).abs() < 4.0 * error, "{limit}");
        }
    }
}
