//! Modulation mapping and soft demapping.

use airwnd_phy::tables::Modulation;

/// The amplitudes of one dimension of a modulation: a symbol consists of two of them, in phase and in quadrature.
///
/// The bits of a symbol alternate between the dimensions, starting in phase.
#[derive(Clone, Debug)]
pub struct Amplitudes {
    /// The amplitude of each label, of mean energy 1/2; the label's first bit is the most significant.
    levels: Vec<f32>,
    bits: usize,
}

impl Amplitudes {
    /// The amplitudes of a modulation of LTE.
    //= TS 36.211 §7.1.2, §7.1.3, §7.1.4
    pub fn new(modulation: Modulation) -> Amplitudes {
        Amplitudes::of_order(modulation.order())
    }

    /// The amplitudes of QPSK, 16QAM, 64QAM or 256QAM by their bits per symbol; LTE's and NR's are the same.
    //= TS 38.211 §5.1
    pub fn of_order(order: u32) -> Amplitudes {
        let bits = order as usize / 2;
        // from the last bit to the first: 1, 2 - (1 - 2 b), 4 - (1 - 2 b) (...), and the sign of the first bit
        let level = |label: usize| {
            let sign = |bit: usize| 1.0 - 2.0 * (label >> (bits - 1 - bit) & 1) as f32;
            let inner =
                (1..bits).rev().fold(1.0, |inner, bit| (1 << (bits - bit)) as f32 - sign(bit) * inner);
            sign(0) * inner
        };
        // twice the mean square of the levels: 2, 10, 42, 170
        let energy = (2 * ((1 << order) - 1) / 3) as f32;
        let scale = libm::sqrtf(energy);
        Amplitudes { levels: (0..1 << bits).map(|label| level(label) / scale).collect(), bits }
    }

    /// Bits per amplitude, half of those of a symbol.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The amplitude of a label.
    pub fn level(&self, label: usize) -> f32 {
        self.levels[label]
    }

    /// Log-likelihood ratios ln P(0) / P(1) of a received amplitude's bits from the nearest amplitude with each bit
    /// value (max-log), for noise of variance 1 / (2 snr).
    pub fn demap(&self, received: f32, snr: f32) -> [f32; 4] {
        let mut nearest = [[f32::INFINITY; 4]; 2];
        for (label, level) in self.levels.iter().enumerate() {
            let distance = (received - level) * (received - level);
            for bit in 0..self.bits {
                let entry = &mut nearest[label >> (self.bits - 1 - bit) & 1][bit];
                *entry = entry.min(distance);
            }
        }
        std::array::from_fn(
            |bit| if bit < self.bits { (nearest[1][bit] - nearest[0][bit]) * snr } else { 0.0 },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Normal;
    use airwnd_kernel::Stream;

    #[test]
    fn levels_are_those_of_the_standards() {
        let scaled = |order: u32, energy: f32| -> Vec<f32> {
            Amplitudes::of_order(order).levels.iter().map(|level| level * libm::sqrtf(energy)).collect()
        };
        for (order, energy, expected) in [
            (2, 2.0, vec![1.0, -1.0]),
            (4, 10.0, vec![1.0, 3.0, -1.0, -3.0]),
            (6, 42.0, vec![3.0, 1.0, 5.0, 7.0, -3.0, -1.0, -5.0, -7.0]),
            (
                8,
                170.0,
                vec![
                    5.0, 7.0, 3.0, 1.0, 11.0, 9.0, 13.0, 15.0, -5.0, -7.0, -3.0, -1.0, -11.0, -9.0, -13.0,
                    -15.0,
                ],
            ),
        ] {
            for (found, expected) in scaled(order, energy).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{order}: {found} {expected}");
            }
        }
    }

    #[test]
    fn symbols_have_energy_one_and_neighbours_differ_in_a_bit() {
        for modulation in [2, 4, 6, 8] {
            let amplitudes = Amplitudes::of_order(modulation);
            assert_eq!(2 * amplitudes.bits() as u32, modulation);
            let levels = &amplitudes.levels;
            let energy = 2.0 * levels.iter().map(|level| level * level).sum::<f32>() / levels.len() as f32;
            assert!((energy - 1.0).abs() < 1e-6, "{modulation:?}: {energy}");
            let mut labels: Vec<usize> = (0..levels.len()).collect();
            labels.sort_by(|a, b| levels[*a].total_cmp(&levels[*b]));
            assert!(labels.windows(2).all(|pair| (pair[0] ^ pair[1]).count_ones() == 1), "{modulation:?}");
        }
    }

    #[test]
    fn without_noise_signs_give_the_bits() {
        for modulation in [2, 4, 6, 8] {
            let amplitudes = Amplitudes::of_order(modulation);
            for label in 0..1 << amplitudes.bits() {
                let soft = amplitudes.demap(amplitudes.level(label), 10.0);
                for (bit, soft) in soft[..amplitudes.bits()].iter().enumerate() {
                    let sent = label >> (amplitudes.bits() - 1 - bit) & 1;
                    assert_eq!(*soft < 0.0, sent == 1, "{modulation:?} {label:b}");
                }
            }
        }
    }

    /// The theoretical bit error rate: for each level and each bit, the probability of receiving an amplitude whose
    /// nearest level has the opposite bit.
    fn bit_error_rate(amplitudes: &Amplitudes, snr: f64) -> f64 {
        let tail = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
        let mut sorted: Vec<(f64, usize)> =
            amplitudes.levels.iter().zip(0..).map(|(level, label)| (f64::from(*level), label)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let deviation = libm::sqrt(0.5 / snr);
        let (mut wrong, mut bits) = (0.0, 0.0);
        for (sent, sent_label) in &sorted {
            for (i, (_, label)) in sorted.iter().enumerate() {
                let edge = |a: usize, b: usize| (sorted[a].0 + sorted[b].0) / 2.0;
                let beyond = |edge: f64| tail((edge - sent) / deviation);
                let lower = if i == 0 { 1.0 } else { beyond(edge(i - 1, i)) };
                let upper = if i + 1 == sorted.len() { 0.0 } else { beyond(edge(i, i + 1)) };
                wrong += (lower - upper) * f64::from((sent_label ^ label).count_ones());
            }
            bits += amplitudes.bits() as f64;
        }
        wrong / bits
    }

    #[test]
    fn uncoded_error_rates_match_theory() {
        let normal = Normal::new();
        // QPSK: Q(sqrt(snr))
        let qpsk = bit_error_rate(&Amplitudes::new(Modulation::Qpsk), 4.0);
        assert!((qpsk - 0.5 * libm::erfc(libm::sqrt(2.0))).abs() < 1e-7);
        for (modulation, decibels) in [(2, 5.0), (4, 11.0), (6, 16.0), (8, 21.0)] {
            let amplitudes = Amplitudes::of_order(modulation);
            let snr = libm::pow(10.0, decibels / 10.0);
            let mut stream = Stream::new(3, "test");
            let (mut wrong, mut bits) = (0u64, 0u64);
            for _ in 0..300_000 {
                let label = stream.next_u64() as usize % (1 << amplitudes.bits());
                let noise = normal.draw(&mut stream) as f32 * libm::sqrtf(0.5 / snr as f32);
                let soft = amplitudes.demap(amplitudes.level(label) + noise, snr as f32);
                for (bit, soft) in soft[..amplitudes.bits()].iter().enumerate() {
                    wrong += u64::from((*soft < 0.0) != (label >> (amplitudes.bits() - 1 - bit) & 1 == 1));
                    bits += 1;
                }
            }
            let expected = bit_error_rate(&amplitudes, snr);
            let error = libm::sqrt(expected / bits as f64);
            let measured = wrong as f64 / bits as f64;
            assert!((measured - expected).abs() < 4.0 * error, "{modulation:?}: {measured} for {expected}");
        }
    }
}
