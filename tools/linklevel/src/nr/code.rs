//! NR's LDPC code: parity-check matrices and encoder.

use airwnd_phy::nr::transport_block::{BaseGraph, lifting_size};

/// Graph, row, column and the shifts of the eight sets of lifting sizes.
//= TS 38.212 Table 5.3.2-2, Table 5.3.2-3
const TABLE: &str = include_str!("../../data/base_graphs.csv");

/// Rows whose parity bits depend on each other; the parity bits of each later row occur in this row only.
const CORE: usize = 4;

/// A circulant of a parity-check matrix: bit `(z + shift) mod Z` of a column takes part in check `z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circulant {
    /// Column of the base graph.
    pub column: usize,
    /// Shift, below the lifting size.
    pub shift: usize,
}

/// The code of a base graph and a code block size.
#[derive(Clone, Debug)]
pub struct Code {
    /// Bits of a code block with its CRC, K'.
    pub block_bits: usize,
    /// Lifting size Z_c.
    pub lifting: usize,
    /// Columns of the base graph with bits of the block: 22 or 10.
    pub systematic: usize,
    /// Circulants by row of the base graph.
    pub rows: Vec<Vec<Circulant>>,
}

/// The index i_LS of the set that has a lifting size a x 2^j.
//= TS 38.212 Table 5.3.2-1
fn set_index(lifting: usize) -> usize {
    match lifting >> lifting.trailing_zeros() {
        1 => 0,
        odd => (odd - 1) / 2,
    }
}

impl Code {
    /// The code of blocks of `block_bits` bits: a transport block of one code block.
    pub fn new(graph: BaseGraph, block_bits: usize) -> Code {
        let bits = block_bits as u32;
        let lifting = lifting_size(graph, bits, bits) as usize;
        let (number, systematic, rows) = match graph {
            BaseGraph::One => (1, 22, 46),
            BaseGraph::Two => (2, 10, 42),
        };
        let mut code = Code { block_bits, lifting, systematic, rows: vec![Vec::new(); rows] };
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let field = |place: usize| -> usize {
                let text = line.split(',').nth(place).expect("a circulant has 11 fields");
                text.parse().expect("a circulant has whole numbers")
            };
            if field(0) == number {
                let shift = field(3 + set_index(lifting)) % lifting;
                code.rows[field(1)].push(Circulant { column: field(2), shift });
            }
        }
        code
    }

    /// Bits of a codeword, including the two punctured columns and filler bits.
    pub fn length(&self) -> usize {
        (self.systematic + self.rows.len()) * self.lifting
    }

    /// Positions of the filler bits in a codeword.
    pub fn filler(&self) -> std::ops::Range<usize> {
        self.block_bits..self.systematic * self.lifting
    }

    /// Encodes a block: the codeword that satisfies every check.
    //= TS 38.212 §5.3.2
    pub fn encode(&self, block: &[u8]) -> Vec<u8> {
        assert_eq!(block.len(), self.block_bits, "a block has its number of bits");
        let (z, parity) = (self.lifting, self.systematic);
        let mut word = block.to_vec();
        word.resize(self.length(), 0);

        // The sum of the core rows contains one circulant of the first parity column; the others cancel.
        let mut sum = vec![0; z];
        let mut shifts: Vec<usize> = Vec::new();
        for row in &self.rows[..CORE] {
            add(&mut sum, row.iter().filter(|circulant| circulant.column < parity), &word);
            for circulant in row.iter().filter(|circulant| circulant.column == parity) {
                match shifts.iter().position(|shift| *shift == circulant.shift) {
                    Some(same) => drop(shifts.remove(same)),
                    None => shifts.push(circulant.shift),
                }
            }
        }
        let [shift] = shifts[..] else {
            panic!("the core has one circulant of the first parity column left")
        };
        place(&mut word, Circulant { column: parity, shift }, &sum);

        // Each other parity column is the only unknown one of a row, once those before it are known.
        let mut known = parity + 1;
        while known < parity + CORE {
            for row in &self.rows[..CORE] {
                let mut unknown = row.iter().filter(|circulant| circulant.column >= known);
                if let (Some(next), None) = (unknown.next(), unknown.next())
                    && next.column == known
                {
                    self.solve(&mut word, row, *next);
                    known += 1;
                }
            }
        }
        for row in &self.rows[CORE..] {
            let own = row.last().expect("a row has circulants");
            self.solve(&mut word, row, *own);
        }
        word
    }

    /// Computes the bits of a row's only unknown column.
    fn solve(&self, word: &mut [u8], row: &[Circulant], unknown: Circulant) {
        let mut sum = vec![0; self.lifting];
        add(&mut sum, row.iter().filter(|circulant| **circulant != unknown), word);
        place(word, unknown, &sum);
    }
}

/// Adds the bits of circulants to the checks of a row.
fn add<'a>(sum: &mut [u8], circulants: impl Iterator<Item = &'a Circulant>, word: &[u8]) {
    let lifting = sum.len();
    for Circulant { column, shift } in circulants {
        let (last, first) = word[column * lifting..][..lifting].split_at(*shift);
        let (start, end) = sum.split_at_mut(lifting - shift);
        start.iter_mut().zip(first).for_each(|(sum, bit)| *sum ^= bit);
        end.iter_mut().zip(last).for_each(|(sum, bit)| *sum ^= bit);
    }
}

/// Sets the bits of a column such that a circulant contributes these bits to a row's checks.
fn place(word: &mut [u8], Circulant { column, shift }: Circulant, checks: &[u8]) {
    let lifting = checks.len();
    for (check, bit) in checks.iter().enumerate() {
        word[column * lifting + (check + shift) % lifting] = *bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::Stream;

    #[test]
    fn every_lifting_size_satisfies_every_check() {
        let sizes = [2, 3, 5, 7, 9, 11, 13, 15].into_iter().flat_map(|a| (0..8).map(move |j| a << j));
        for lifting in sizes.filter(|lifting| *lifting <= 384) {
            for (graph, columns) in [(BaseGraph::One, 22), (BaseGraph::Two, 10)] {
                // base graph 2 uses its tenth column for more than 640 bits
                let block_bits = columns * lifting;
                if graph == BaseGraph::Two && block_bits <= 640 {
                    continue;
                }
                let code = Code::new(graph, block_bits);
                assert_eq!((code.lifting, code.filler().len()), (lifting, 0));
                satisfies(&code);
            }
        }
    }

    #[test]
    fn blocks_with_filler_bits_satisfy_every_check() {
        for (graph, block_bits, lifting) in [
            (BaseGraph::Two, 40, 7),
            (BaseGraph::Two, 160, 28),
            (BaseGraph::Two, 400, 52),
            (BaseGraph::Two, 600, 72),
            (BaseGraph::One, 320, 15),
            (BaseGraph::One, 3000, 144),
        ] {
            let code = Code::new(graph, block_bits);
            assert_eq!(code.lifting, lifting, "{graph:?} {block_bits}");
            satisfies(&code);
        }
    }

    fn satisfies(code: &Code) {
        let mut stream = Stream::new(4, "test").child(code.block_bits as u64);
        let block: Vec<u8> = (0..code.block_bits).map(|_| (stream.next_u64() & 1) as u8).collect();
        let word = code.encode(&block);
        assert_eq!(word[..code.block_bits], block);
        for (number, row) in code.rows.iter().enumerate() {
            let mut sum = vec![0; code.lifting];
            add(&mut sum, row.iter(), &word);
            assert!(sum.iter().all(|check| *check == 0), "Z = {}, row {number}", code.lifting);
        }
    }

    #[test]
    fn lifting_sizes_are_in_eight_sets() {
        assert_eq!(
            [2, 256, 3, 384, 5, 320, 7, 224, 9, 288, 11, 352, 13, 208, 15, 240].map(set_index),
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
        );
    }
}
