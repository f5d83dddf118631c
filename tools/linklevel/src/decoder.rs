//! The turbo decoder: two max-log-MAP decoders in alternation.

use crate::encoder::{TAIL, TAIL_BITS, tail_places};
use crate::interleaver::permutation;
use crate::lanes::{BATCH, Lanes};

/// Settings of the decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Maximum number of iterations of both constituent decoders.
    pub iterations: usize,
    /// Scaling factor of extrinsic information: max-log-MAP overestimates it (Vogt and Finger, Electron. Lett. 36(23),
    /// 2000: 0.7).
    pub extrinsic_scale: f32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { iterations: 8, extrinsic_scale: 1.0 }
    }
}

/// A decoder for one code block size.
#[derive(Clone, Debug)]
pub struct Decoder {
    settings: Settings,
    order: Vec<u32>,
    tail_places: [usize; 4 * TAIL],
    systematic: Vec<Lanes>,
    parity: Vec<Lanes>,
    extrinsic: Vec<Lanes>,
    /// Extrinsic information of the second decoder in the order of the block: the a-priori information of the first
    /// one.
    a_priori: Vec<Lanes>,
    forward: Vec<[Lanes; 8]>,
}

/// Below any path metric: the metrics of decided blocks grow with each iteration.
const IMPOSSIBLE: f32 = -1e30;
/// Period of normalisation: only differences of state metrics matter, and their common part costs precision.
const NORMALISE_EVERY: usize = 16;

impl Decoder {
    /// A decoder for code blocks of `size` bits.
    pub fn new(size: usize, settings: Settings) -> Decoder {
        Decoder {
            settings,
            order: permutation(size),
            tail_places: tail_places(size),
            systematic: vec![Lanes::default(); size + TAIL],
            parity: vec![Lanes::default(); size + TAIL],
            extrinsic: vec![Lanes::default(); size],
            a_priori: vec![Lanes::default(); size],
            forward: vec![START; size + 1],
        }
    }

    /// Decodes a batch from ln P(0) / P(1) of each bit of the encoder's output (zero: not received).
    ///
    /// After each iteration `accept` is called with the decided bits of each lane that it has not accepted yet;
    /// decoding ends when all lanes are accepted or no iterations are left.
    pub fn decode(&mut self, soft: &[Lanes], mut accept: impl FnMut(usize, &[u8]) -> bool) {
        let size = self.order.len();
        let length = size + TAIL_BITS;
        let mut accepted = [false; BATCH];
        let mut decided = vec![0u8; size];
        self.a_priori.fill(Lanes::default());
        for _ in 0..self.settings.iterations {
            for (sum, (soft, known)) in self.systematic.iter_mut().zip(soft.iter().zip(&self.a_priori)) {
                *sum = *soft + *known;
            }
            self.parity[..size].copy_from_slice(&soft[length..][..size]);
            self.constituent(soft, 0);
            for (sum, place) in self.systematic.iter_mut().zip(&self.order) {
                *sum = soft[*place as usize] + self.extrinsic[*place as usize];
            }
            self.parity[..size].copy_from_slice(&soft[2 * length..][..size]);
            self.constituent(soft, 1);
            for (extrinsic, place) in self.extrinsic.iter().zip(&self.order) {
                self.a_priori[*place as usize] = *extrinsic;
            }
            for (lane, accepted) in accepted.iter_mut().enumerate().filter(|(_, accepted)| !**accepted) {
                for (i, place) in self.order.iter().enumerate() {
                    let sum = self.systematic[i].0[lane] + self.extrinsic[i].0[lane];
                    decided[*place as usize] = u8::from(sum < 0.0);
                }
                *accepted = accept(lane, &decided);
            }
            if accepted == [true; BATCH] {
                break;
            }
        }
    }

    /// One constituent decoder: computes scaled `extrinsic` from `systematic` and `parity`.
    ///
    /// The encoder moves from states 2j and 2j + 1 to j and j + 4. The two branches out of a state have opposite bits,
    /// as have the two into one. With g_j for the branch from 2j to j, the metrics are therefore g_j, -g_j, -g_j, g_j.
    fn constituent(&mut self, soft: &[Lanes], which: usize) {
        let size = self.order.len();
        let tail = &self.tail_places[which * 2 * TAIL..][..2 * TAIL];
        for (step, places) in tail.chunks_exact(2).enumerate() {
            self.systematic[size + step] = soft[places[0]];
            self.parity[size + step] = soft[places[1]];
        }

        self.forward[0] = START;
        for i in 0..size {
            let (before, after) = self.forward.split_at_mut(i + 1);
            step_forward(&before[i], &self.systematic[i], &self.parity[i], &mut after[0]);
            if i % NORMALISE_EVERY == 0 {
                normalise(&mut after[0]);
            }
        }
        let mut states = [START; 2];
        for i in (0..size + TAIL).rev() {
            let [after, before] = &mut states;
            if i < size {
                extrinsic(&self.forward[i], after, &self.parity[i], &mut self.extrinsic[i]);
                self.extrinsic[i] = self.extrinsic[i].times(self.settings.extrinsic_scale);
            }
            step_backward(after, &self.systematic[i], &self.parity[i], before);
            if i % NORMALISE_EVERY == 0 {
                normalise(before);
            }
            states.swap(0, 1);
        }
    }
}

/// Metrics of the best path to each state.
fn step_forward(before: &[Lanes; 8], systematic: &Lanes, parity: &Lanes, after: &mut [Lanes; 8]) {
    let (low, high) = after.split_at_mut(4);
    for (j, g) in branches(*systematic, *parity).iter().enumerate() {
        (low[j], high[j]) = butterfly(&before[2 * j], &before[2 * j + 1], g);
    }
}

/// Metrics of the best path from each state.
fn step_backward(after: &[Lanes; 8], systematic: &Lanes, parity: &Lanes, before: &mut [Lanes; 8]) {
    for (j, g) in branches(*systematic, *parity).iter().enumerate() {
        (before[2 * j], before[2 * j + 1]) = butterfly(&after[j], &after[j + 4], g);
    }
}

/// The better paths into two states from two others; identical in both directions.
///
/// Not inlined: in its callers the compiler would split the lanes, and decoding would take twice as long.
#[inline(never)]
fn butterfly(a: &Lanes, b: &Lanes, g: &Lanes) -> (Lanes, Lanes) {
    ((*a + *g).larger(*b - *g), (*a - *g).larger(*b + *g))
}

/// Metrics at both ends of the trellis: state zero.
const START: [Lanes; 8] = {
    let mut state = [Lanes::all(IMPOSSIBLE); 8];
    state[0] = Lanes::all(0.0);
    state
};

fn normalise(state: &mut [Lanes; 8]) {
    let first = state[0];
    for metric in state {
        *metric = *metric - first;
    }
}

/// g_j of the four pairs of states: half of the systematic ratio, negative for a one (j odd), and half of the parity
/// ratio, negative for a one (j above 1).
fn branches(systematic: Lanes, parity: Lanes) -> [Lanes; 4] {
    let (sum, difference) = ((systematic + parity).times(0.5), (systematic - parity).times(0.5));
    [sum, -difference, difference, -sum]
}

/// Extrinsic information about a bit from parity and neighbours: the best path with a zero minus the best one with a
/// one.
fn extrinsic(forward: &[Lanes; 8], backward: &[Lanes; 8], parity: &Lanes, result: &mut Lanes) {
    let half = parity.times(0.5);
    let pair = |j: usize| paths(&forward[2 * j], &forward[2 * j + 1], &backward[j], &backward[j + 4]);
    let [a, b, c, d] = [pair(0), pair(1), pair(2), pair(3)];
    *result = best(&[a.0 + half, c.0 - half, b.1 - half, d.1 + half])
        - best(&[a.1 - half, c.1 + half, b.0 + half, d.0 - half]);
}

/// The best paths through a pair of states: along 2j to j or 2j + 1 to j + 4, and crosswise.
#[inline(never)]
fn paths(even: &Lanes, odd: &Lanes, low: &Lanes, high: &Lanes) -> (Lanes, Lanes) {
    ((*even + *low).larger(*odd + *high), (*odd + *low).larger(*even + *high))
}

#[inline(never)]
fn best(metrics: &[Lanes; 4]) -> Lanes {
    metrics[0].larger(metrics[1]).larger(metrics[2].larger(metrics[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all_sizes;
    use crate::encoder::Encoder;
    use crate::noise::Normal;
    use airwnd_kernel::Stream;

    fn random_bits(size: usize, mut stream: Stream) -> Vec<u8> {
        (0..size).map(|_| (stream.next_u64() & 1) as u8).collect()
    }

    #[test]
    fn without_noise_every_size_is_decoded_at_once() {
        for size in all_sizes() {
            let blocks: [Vec<u8>; BATCH] = std::array::from_fn(|lane| {
                random_bits(size, Stream::new(size as u64, "test").child(lane as u64))
            });
            let encoder = Encoder::new(size);
            let coded = blocks.each_ref().map(|block| encoder.encode(block));
            let soft: Vec<Lanes> = (0..coded[0].len())
                .map(|i| Lanes(std::array::from_fn(|lane| 1.0 - 2.0 * f32::from(coded[lane][i]))))
                .collect();
            let mut shown = 0;
            Decoder::new(size, Settings::default()).decode(&soft, |lane, bits| {
                shown += 1;
                bits == blocks[lane]
            });
            assert_eq!(shown, BATCH, "{size}: not decoded in one iteration");
        }
    }

    /// Max-log-MAP by definition: for each bit, the best codeword of a constituent code with a zero minus the best one
    /// with a one, by dynamic programming over (step, state), in double precision.
    fn reference(systematic: &[f64], parity: &[f64]) -> Vec<f64> {
        let steps = systematic.len();
        // state (s1, s2, s3) as 4 s1 + 2 s2 + s3: next state and parity of an input
        let next = |state: usize, input: usize| {
            let (s1, s2, s3) = (state >> 2, state >> 1 & 1, state & 1);
            let fed = input ^ s2 ^ s3;
            (fed << 2 | s1 << 1 | s2, fed ^ s1 ^ s3)
        };
        let sign = |bit: usize| 1.0 - 2.0 * bit as f64;
        let gain = |step: usize, input: usize, parity_bit: usize| {
            0.5 * (sign(input) * systematic[step] + sign(parity_bit) * parity[step])
        };
        let mut forward = vec![[f64::NEG_INFINITY; 8]; steps + 1];
        let mut backward = forward.clone();
        (forward[0][0], backward[steps][0]) = (0.0, 0.0);
        for step in 0..steps {
            for (state, input) in (0..8).flat_map(|state| [(state, 0), (state, 1)]) {
                let (to, bit) = next(state, input);
                forward[step + 1][to] =
                    forward[step + 1][to].max(forward[step][state] + gain(step, input, bit));
            }
        }
        for step in (0..steps).rev() {
            for (state, input) in (0..8).flat_map(|state| [(state, 0), (state, 1)]) {
                let (to, bit) = next(state, input);
                backward[step][state] =
                    backward[step][state].max(backward[step + 1][to] + gain(step, input, bit));
            }
        }
        let best = |step: usize, input: usize| {
            (0..8).fold(f64::NEG_INFINITY, |best: f64, state| {
                let (to, bit) = next(state, input);
                best.max(forward[step][state] + gain(step, input, bit) + backward[step + 1][to])
            })
        };
        (0..steps).map(|step| best(step, 0) - best(step, 1) - systematic[step]).collect()
    }

    #[test]
    fn a_constituent_decoder_is_max_log_map() {
        for size in [40, 56, 512, 6144] {
            let normal = Normal::new();
            let mut stream = Stream::new(9, "test").child(size as u64);
            let mut decoder = Decoder::new(size, Settings::default());
            let soft: Vec<Lanes> = (0..3 * (size + TAIL_BITS))
                .map(|_| Lanes(std::array::from_fn(|_| 1.0 + normal.draw(&mut stream) as f32)))
                .collect();
            for which in 0..2 {
                let length = size + TAIL_BITS;
                decoder.systematic[..size].copy_from_slice(&soft[..size]);
                decoder.parity[..size].copy_from_slice(&soft[(1 + which) * length..][..size]);
                decoder.constituent(&soft, which);
                for lane in 0..BATCH {
                    let in_lane = |values: &[Lanes]| -> Vec<f64> {
                        values.iter().map(|v| f64::from(v.0[lane])).collect()
                    };
                    let expected = reference(&in_lane(&decoder.systematic), &in_lane(&decoder.parity));
                    for (i, (ours, theirs)) in in_lane(&decoder.extrinsic).iter().zip(expected).enumerate() {
                        assert!((ours - theirs).abs() < 1e-3, "{size} {which} {lane} {i}: {ours} {theirs}");
                    }
                }
            }
        }
    }
}
