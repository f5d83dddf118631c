//! The turbo encoder of rate 1/3.

use crate::interleaver::permutation;

/// Steps after which both encoders are back in state zero.
pub const TAIL: usize = 3;
/// Bits that the tails add to each of the three streams.
pub const TAIL_BITS: usize = 4;

/// The turbo encoder for one code block size.
#[derive(Clone, Debug)]
pub struct Encoder {
    order: Vec<u32>,
}

/// A constituent encoder: its register of three bits, the latest as the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State(u8);

impl State {
    /// The parity bit for an input bit. G(D) = [1, (1 + D + D^3) / (1 + D^2 + D^3)]
    //= TS 36.212 §5.1.3.2.1
    fn parity(&mut self, input: u8) -> u8 {
        let fed = input ^ self.feedback();
        let parity = fed ^ self.0 >> 2 ^ self.0 & 1;
        self.0 = fed << 2 | self.0 >> 1;
        parity
    }

    fn feedback(self) -> u8 {
        (self.0 >> 1 ^ self.0) & 1
    }
}

impl Encoder {
    /// The encoder for code blocks of `size` bits.
    pub fn new(size: usize) -> Encoder {
        Encoder { order: permutation(size) }
    }

    /// Returns the streams d^(0), d^(1), d^(2) one after the other, each of K + 4 bits: systematic bits, parity, parity
    /// of the interleaved bits, and at the end of each a part of the tails.
    pub fn encode(&self, block: &[u8]) -> Vec<u8> {
        let length = block.len() + TAIL_BITS;
        assert_eq!(block.len(), self.order.len(), "the encoder has a different size");
        let mut coded = vec![0; 3 * length];
        coded[..block.len()].copy_from_slice(block);
        let (mut first, mut second) = (State::default(), State::default());
        for (i, bit) in block.iter().enumerate() {
            coded[length + i] = first.parity(*bit);
            coded[2 * length + i] = second.parity(block[self.order[i] as usize]);
        }
        for (place, bit) in
            tail_places(block.len()).into_iter().zip(tail(first).into_iter().chain(tail(second)))
        {
            coded[place] = bit;
        }
        coded
    }
}

/// Input and parity of each step back to state zero.
fn tail(mut state: State) -> [u8; 2 * TAIL] {
    let mut bits = [0; 2 * TAIL];
    for step in bits.chunks_exact_mut(2) {
        //= TS 36.212 §5.1.3.2.2: the register's feedback is the input, so that zeros are shifted in
        step[0] = state.feedback();
        step[1] = state.parity(step[0]);
    }
    assert_eq!(state, State(0), "a tail ends in state zero");
    bits
}

/// Positions of x_K, z_K, x_K+1, ..., z_K+2, x'_K, z'_K, ..., z'_K+2 in the encoder's streams.
//= TS 36.212 §5.1.3.2.2
pub fn tail_places(size: usize) -> [usize; 4 * TAIL] {
    let length = size + TAIL_BITS;
    std::array::from_fn(|i| i % 3 * length + size + i / 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all_sizes;
    use airwnd_kernel::Stream;

    #[test]
    fn response_to_a_single_bit() {
        // (1 + D + D^3) / (1 + D^2 + D^3) = 1 + D + D^2 + D^3 + D^6 + ..., by long division
        let mut state = State::default();
        let parity: Vec<u8> = [1, 0, 0, 0, 0, 0, 0].iter().map(|bit| state.parity(*bit)).collect();
        assert_eq!(parity, [1, 1, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn tails_end_in_state_zero_for_every_size() {
        for size in all_sizes() {
            let mut stream = Stream::new(1, "test").child(size as u64);
            let block: Vec<u8> = (0..size).map(|_| (stream.next_u64() & 1) as u8).collect();
            let (encoder, places) = (Encoder::new(size), tail_places(size));
            let coded = encoder.encode(&block);
            assert_eq!(coded[..size], block);
            let interleaved: Vec<u8> = encoder.order.iter().map(|place| block[*place as usize]).collect();
            for (bits, tail) in [(block, &places[..6]), (interleaved, &places[6..])] {
                let mut state = State::default();
                bits.iter().for_each(|bit| _ = state.parity(*bit));
                for step in tail.chunks_exact(2) {
                    assert_eq!(state.parity(coded[step[0]]), coded[step[1]]);
                }
                assert_eq!(state, State(0));
            }
        }
    }

    #[test]
    fn tail_bits_are_placed_as_in_the_standard() {
        // d^(0)_K = x_K, d^(1)_K = z_K, d^(2)_K = x_K+1, d^(0)_K+1 = z_K+1, ..., d^(2)_K+3 = z'_K+2, with K = 40
        assert_eq!(tail_places(40), [40, 84, 128, 41, 85, 129, 42, 86, 130, 43, 87, 131]);
    }
}
