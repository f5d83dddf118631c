//! Random streams, named by purpose.

/// A counter-based random stream (SplitMix64: Steele, Lea and Flood, OOPSLA 2014, figure 16).
///
/// A stream is identified by its seed and the path of the component that uses it, independent of the order of creation:
/// replacing the congestion control leaves the channel unchanged. [`Stream::at`] provides stateless random access;
/// fading and block errors use it, addressed by (UE, cell, TTI).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
    position: u64,
}

/// 2^64 divided by the golden ratio, odd: SplitMix64's increment.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// Creates the stream of the component `name` (such as "placement") in the run with this seed.
    //= exception random-streams
    pub fn new(seed: u64, name: &str) -> Stream {
        let key = name
            .bytes()
            .fold(mix(seed ^ GOLDEN), |key, byte| mix(key.wrapping_add(GOLDEN) ^ u64::from(byte)));
        Stream { key, position: 0 }
    }

    /// Returns the sub-stream with this index (a UE, a cell, a flow).
    pub fn child(self, index: u64) -> Stream {
        Stream { key: mix(self.key ^ mix(index.wrapping_add(GOLDEN))), position: 0 }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.position += 1;
        mix(self.key.wrapping_add(self.position.wrapping_mul(GOLDEN)))
    }

    /// Returns the next number uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Returns the number uniform in [0, 1) at a position, independent of earlier draws.
    pub fn at(self, position: u64) -> f64 {
        unit(mix(self.child(position).key))
    }
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_its_name_only() {
        let draw = |mut stream: Stream| [stream.next_u64(), stream.next_u64()];
        assert_eq!(draw(Stream::new(1, "placement")), draw(Stream::new(1, "placement")));
        assert_ne!(draw(Stream::new(1, "placement")), draw(Stream::new(2, "placement")));
        assert_ne!(draw(Stream::new(1, "placement")), draw(Stream::new(1, "shadowing")));
        assert_ne!(draw(Stream::new(1, "ue").child(0)), draw(Stream::new(1, "ue").child(1)));
    }

    #[test]
    fn uniform_has_the_moments_of_its_distribution() {
        // mean 1/2, variance 1/12; the standard error of the mean of 1e5 draws is 9e-4
        let mut stream = Stream::new(7, "test");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 4e-3, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 1e-3, "{variance}");
        let addressed = (0..100_000).map(|i| stream.at(i)).sum::<f64>() / 1e5;
        assert!((addressed - 0.5).abs() < 4e-3, "{addressed}");
    }
}
