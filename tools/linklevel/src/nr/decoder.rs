//! The LDPC decoder: sum-product decoding, row after row.

use super::code::Code;
use crate::lanes::{BATCH, Lanes};

/// Settings of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum number of iterations over all rows. As each row uses the results of those before it, an iteration is
    /// worth about two of a decoder that updates all rows at once.
    pub iterations: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { iterations: 10 }
    }
}

/// A decoder for one code and transmission format.
#[derive(Clone, Debug)]
pub struct Decoder {
    settings: Settings,
    lifting: usize,
    block_bits: usize,
    rows: Vec<Vec<(usize, usize)>>,
    /// A-posteriori log-likelihood ratios of the codeword's bits.
    total: Vec<Lanes>,
    /// Messages from checks to bits: row by row, check by check.
    messages: Vec<Lanes>,
}

/// Circulants in a row, at most.
const MAX_DEGREE: usize = 19;

impl Decoder {
    /// A decoder for blocks of which the codeword's bits `received` are known in part.
    ///
    /// A row whose own parity bits are not received tells nothing and is left out.
    pub fn new(code: &Code, received: &[bool], settings: Settings) -> Decoder {
        let known = |column: usize| received[column * code.lifting..][..code.lifting].contains(&true);
        let rows: Vec<Vec<(usize, usize)>> = code
            .rows
            .iter()
            .enumerate()
            .filter(|(number, row)| *number < 4 || known(row.last().expect("a row has circulants").column))
            .map(|(_, row)| row.iter().map(|circulant| (circulant.column, circulant.shift)).collect())
            .collect();
        let edges: usize = rows.iter().map(Vec::len).sum();
        Decoder {
            settings,
            lifting: code.lifting,
            block_bits: code.block_bits,
            rows,
            total: vec![Lanes::default(); code.length()],
            messages: vec![Lanes::default(); edges * code.lifting],
        }
    }

    /// Decodes a batch from ln P(0) / P(1) of each bit of the codeword (zero: not received).
    ///
    /// After each iteration `accept` is called with the decided bits of each lane that it has not accepted yet;
    /// decoding ends when all lanes are accepted or no iterations are left.
    pub fn decode(&mut self, soft: &[Lanes], mut accept: impl FnMut(usize, &[u8]) -> bool) {
        self.total.copy_from_slice(soft);
        self.messages.fill(Lanes::default());
        let mut accepted = [false; BATCH];
        let mut decided = vec![0u8; self.block_bits];
        for _ in 0..self.settings.iterations {
            self.iterate();
            for (lane, accepted) in accepted.iter_mut().enumerate().filter(|(_, accepted)| !**accepted) {
                for (bit, total) in decided.iter_mut().zip(&self.total) {
                    *bit = u8::from(total.0[lane] < 0.0);
                }
                *accepted = accept(lane, &decided);
            }
            if accepted == [true; BATCH] {
                break;
            }
        }
    }

    /// Updates all rows once.
    fn iterate(&mut self) {
        let Decoder { lifting, rows, total, messages, .. } = self;
        let mut incoming = [Lanes::default(); MAX_DEGREE];
        let mut outgoing = [Lanes::default(); MAX_DEGREE];
        let mut places = [0; MAX_DEGREE];
        let mut rest = &mut messages[..];
        for row in &*rows {
            let degree = row.len();
            for check in 0..*lifting {
                let (old, after) = rest.split_at_mut(degree);
                rest = after;
                for (edge, (column, shift)) in row.iter().enumerate() {
                    let turned = check + shift;
                    let turned = if turned < *lifting { turned } else { turned - *lifting };
                    places[edge] = column * *lifting + turned;
                    incoming[edge] = total[places[edge]] - old[edge];
                }
                others(&incoming[..degree], &mut outgoing[..degree]);
                for edge in 0..degree {
                    old[edge] = outgoing[edge];
                    total[places[edge]] = incoming[edge] + outgoing[edge];
                }
            }
        }
    }
}

/// The messages of a check to each of its bits: the sum of all other bits.
fn others(incoming: &[Lanes], outgoing: &mut [Lanes]) {
    // what the bits after each one say, then, from the front, what those before it say
    let degree = incoming.len();
    outgoing[degree - 2] = incoming[degree - 1];
    for edge in (0..degree - 2).rev() {
        outgoing[edge] = sum(&outgoing[edge + 1], &incoming[edge + 1]);
    }
    let mut before = incoming[0];
    for edge in 1..degree - 1 {
        outgoing[edge] = sum(&outgoing[edge], &before);
        before = sum(&before, &incoming[edge]);
    }
    outgoing[degree - 1] = before;
}

/// Log-likelihood ratios of the sum modulo 2 of two bits, 2 artanh(tanh(a / 2) tanh(b / 2)).
///
/// Not inlined: in its callers the compiler would split the lanes.
#[inline(never)]
fn sum(a: &Lanes, b: &Lanes) -> Lanes {
    Lanes(std::array::from_fn(|lane| {
        let (a, b) = (a.0[lane], b.0[lane]);
        let smaller = if a.abs() < b.abs() { a.abs() } else { b.abs() };
        let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
        f32::from_bits(smaller.to_bits() | sign) + correction((a + b).abs()) - correction((a - b).abs())
    }))
}

/// ln(1 + exp(-x)) for positive x, within 0.018: ln 2 (1 - x / (8 ln 2))^4, which has the same value and slope at 0.
fn correction(x: f32) -> f32 {
    let root = 1.0 - x * (1.0 / (8.0 * std::f32::consts::LN_2));
    let root = if root > 0.0 { root } else { 0.0 };
    std::f32::consts::LN_2 * (root * root) * (root * root)
}

#[cfg(test)]
mod tests {
    use super::super::rate_matching::select;
    use super::*;
    use airwnd_kernel::Stream;
    use airwnd_phy::nr::transport_block::BaseGraph;

    #[test]
    fn a_sum_of_bits_has_the_ratio_of_the_definition() {
        let exact = |a: f64, b: f64| 2.0 * libm::atanh(libm::tanh(a / 2.0) * libm::tanh(b / 2.0));
        for a in -40..=40 {
            for b in -40..=40 {
                let (a, b) = (f64::from(a) / 4.0, f64::from(b) / 4.0);
                let found = f64::from(sum(&Lanes::all(a as f32), &Lanes::all(b as f32)).0[3]);
                assert!((found - exact(a, b)).abs() < 0.03, "{a} {b}: {found}");
            }
        }
        assert_eq!(sum(&Lanes::all(0.0), &Lanes::all(3.0)).0[0], 0.0);
    }

    #[test]
    fn a_check_tells_each_bit_what_the_others_say() {
        let values = [2.5f32, -0.7, 4.0, 1.1, -3.0];
        let incoming = values.map(Lanes::all);
        let mut outgoing = [Lanes::default(); 5];
        others(&incoming, &mut outgoing);
        for (edge, out) in outgoing.iter().enumerate() {
            let product: f64 = (0..5)
                .filter(|other| *other != edge)
                .map(|other| libm::tanh(f64::from(values[other]) / 2.0))
                .product();
            let exact = 2.0 * libm::atanh(product);
            assert!((f64::from(out.0[0]) - exact).abs() < 0.05, "{edge}: {} {exact}", out.0[0]);
        }
    }

    #[test]
    fn erased_bits_are_recovered() {
        for (graph, block_bits, count) in [
            (BaseGraph::One, 352, 600),
            (BaseGraph::One, 5632, 7000),
            (BaseGraph::Two, 160, 320),
            (BaseGraph::Two, 1280, 6000),
        ] {
            let code = Code::new(graph, block_bits);
            let block: Vec<u8> = {
                let mut stream = Stream::new(7, "test").child(block_bits as u64);
                (0..block_bits).map(|_| (stream.next_u64() & 1) as u8).collect()
            };
            let word = code.encode(&block);
            let mut soft = vec![Lanes::default(); code.length()];
            let mut received = vec![false; code.length()];
            soft[code.filler()].fill(Lanes::all(1e4));
            for place in select(&code, 0, count, 2) {
                soft[place as usize] = Lanes::all(4.0 - 8.0 * f32::from(word[place as usize]));
                received[place as usize] = true;
            }
            let mut decoder = Decoder::new(&code, &received, Settings::default());
            let mut right = [false; BATCH];
            decoder.decode(&soft, |lane, bits| {
                right[lane] = bits == block;
                right[lane]
            });
            assert_eq!(right, [true; BATCH], "{graph:?} {block_bits}");
        }
    }
}
