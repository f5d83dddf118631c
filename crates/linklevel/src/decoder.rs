//! The turbo decoder: two max-log-MAP decoders that take turns.

use crate::encoder::{TAIL, TAIL_BITS, tail_places};
use crate::interleaver::permutation;

/// Code blocks that are decoded side by side, one in each lane of the processor's vectors.
pub const BATCH: usize = 8;

/// A value of each code block of a batch.
pub type Lanes = [f32; BATCH];

/// How the decoder works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Turns of both constituent decoders at most.
    pub iterations: usize,
    /// Factor on extrinsic information: max-log-MAP believes too much (Vogt and Finger, Electron. Lett.
    /// 36(23), 2000: 0.7).
    pub extrinsic_scale: f32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { iterations: 8, extrinsic_scale: 1.0 }
    }
}

/// A decoder of one size of code blocks.
#[derive(Clone, Debug)]
pub struct Decoder {
    settings: Settings,
    order: Vec<u32>,
    tail_places: [usize; 4 * TAIL],
    systematic: Vec<Lanes>,
    parity: Vec<Lanes>,
    extrinsic: Vec<Lanes>,
    /// Extrinsic information of the second decoder in the order of the block: the first one's a-priori.
    a_priori: Vec<Lanes>,
    forward: Vec<[Lanes; 8]>,
}

/// Worse than any path.
const IMPOSSIBLE: f32 = -1e9;
/// State metrics only matter by their differences; from time to time the common part is taken out, since it
/// costs precision.
const NORMALISE_EVERY: usize = 16;

impl Decoder {
    /// A decoder of code blocks of `size` bits.
    pub fn new(size: usize, settings: Settings) -> Decoder {
        Decoder {
            settings,
            order: permutation(size),
            tail_places: tail_places(size),
            systematic: vec![[0.0; BATCH]; size + TAIL],
            parity: vec![[0.0; BATCH]; size + TAIL],
            extrinsic: vec![[0.0; BATCH]; size],
            a_priori: vec![[0.0; BATCH]; size],
            forward: vec![[[0.0; BATCH]; 8]; size],
        }
    }

    /// Decodes a batch from ln P(0) / P(1) of each bit of the encoder's output (zero: not received).
    ///
    /// After each iteration `accept` is shown the decided bits of each lane that it has not accepted yet;
    /// decoding ends when all lanes are accepted or no iterations are left.
    pub fn decode(&mut self, soft: &[Lanes], mut accept: impl FnMut(usize, &[u8]) -> bool) {
        let size = self.order.len();
        let length = size + TAIL_BITS;
        let mut accepted = [false; BATCH];
        let mut decided = vec![0u8; size];
        self.a_priori.fill([0.0; BATCH]);
        for _ in 0..self.settings.iterations {
            for i in 0..size {
                self.systematic[i] = each(soft[i], self.a_priori[i], |a, b| a + b);
            }
            self.parity[..size].copy_from_slice(&soft[length..][..size]);
            self.constituent(soft, 0);
            for i in 0..size {
                let place = self.order[i] as usize;
                self.systematic[i] = each(soft[place], self.extrinsic[place], |a, b| a + b);
            }
            self.parity[..size].copy_from_slice(&soft[2 * length..][..size]);
            self.constituent(soft, 1);
            for i in 0..size {
                self.a_priori[self.order[i] as usize] = self.extrinsic[i];
            }
            for lane in 0..BATCH {
                if accepted[lane] {
                    continue;
                }
                for i in 0..size {
                    let sum = self.systematic[i][lane] + self.extrinsic[i][lane];
                    decided[self.order[i] as usize] = u8::from(sum < 0.0);
                }
                accepted[lane] = accept(lane, &decided);
            }
            if accepted == [true; BATCH] {
                break;
            }
        }
    }

    /// One constituent decoder: `systematic` and `parity` to scaled `extrinsic`.
    ///
    /// From states 2j and 2j + 1 the encoder goes to j and j + 4, and the two branches out of a state as well
    /// as the two into one have opposite bits. So with g_j for the branch from 2j to j, the metrics are g_j,
    /// -g_j, -g_j, g_j.
    fn constituent(&mut self, soft: &[Lanes], which: usize) {
        let size = self.order.len();
        let tail = &self.tail_places[which * 2 * TAIL..][..2 * TAIL];
        for (step, places) in tail.chunks_exact(2).enumerate() {
            self.systematic[size + step] = soft[places[0]];
            self.parity[size + step] = soft[places[1]];
        }

        let mut state = START;
        for i in 0..size {
            if i % NORMALISE_EVERY == 0 {
                normalise(&mut state);
            }
            self.forward[i] = state;
            let g = branches(&self.systematic[i], &self.parity[i]);
            for j in 0..4 {
                for lane in 0..BATCH {
                    let (even, odd) = (self.forward[i][2 * j][lane], self.forward[i][2 * j + 1][lane]);
                    state[j][lane] = larger(even + g[j][lane], odd - g[j][lane]);
                    state[j + 4][lane] = larger(even - g[j][lane], odd + g[j][lane]);
                }
            }
        }

        let mut state = START;
        for i in (0..size + TAIL).rev() {
            if i % NORMALISE_EVERY == 0 {
                normalise(&mut state);
            }
            if i < size {
                self.extrinsic[i] =
                    extrinsic(&self.forward[i], &state, &self.parity[i], self.settings.extrinsic_scale);
            }
            let g = branches(&self.systematic[i], &self.parity[i]);
            let after = state;
            for j in 0..4 {
                for lane in 0..BATCH {
                    let (low, high) = (after[j][lane], after[j + 4][lane]);
                    state[2 * j][lane] = larger(low + g[j][lane], high - g[j][lane]);
                    state[2 * j + 1][lane] = larger(low - g[j][lane], high + g[j][lane]);
                }
            }
        }
    }
}

/// Metrics where a trellis begins and ends: in state zero.
const START: [Lanes; 8] = {
    let mut state = [[IMPOSSIBLE; BATCH]; 8];
    state[0] = [0.0; BATCH];
    state
};

fn each(a: Lanes, b: Lanes, of: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(|lane| of(a[lane], b[lane]))
}

/// `f32::max` without its care for numbers that are none, which processors do in one step.
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn normalise(state: &mut [Lanes; 8]) {
    let first = state[0];
    for metric in state {
        *metric = each(*metric, first, |a, b| a - b);
    }
}

/// g_j of the four pairs of states: half of the systematic ratio, negative for a one (j odd), and half of the
/// parity ratio, negative for a one (j above 1).
fn branches(systematic: &Lanes, parity: &Lanes) -> [Lanes; 4] {
    let sum = each(*systematic, *parity, |a, b| 0.5 * (a + b));
    let difference = each(*systematic, *parity, |a, b| 0.5 * (a - b));
    [sum, difference.map(|x| -x), difference, sum.map(|x| -x)]
}

/// What parity and the neighbours say about a bit: the best path with a zero less the best one with a one.
fn extrinsic(forward: &[Lanes; 8], backward: &[Lanes; 8], parity: &Lanes, scale: f32) -> Lanes {
    std::array::from_fn(|lane| {
        let half = 0.5 * parity[lane];
        let pair = |j: usize, half: f32| {
            let (even, odd) = (forward[2 * j][lane], forward[2 * j + 1][lane]);
            let (low, high) = (backward[j][lane], backward[j + 4][lane]);
            (larger(even + low, odd + high) + half, larger(odd + low, even + high) - half)
        };
        let [a, b, c, d] = [pair(0, half), pair(1, half), pair(2, -half), pair(3, -half)];
        let zero = larger(larger(a.0, c.0), larger(b.1, d.1));
        let one = larger(larger(a.1, c.1), larger(b.0, d.0));
        scale * (zero - one)
    })
}
