//! The chain of encoder, channel and decoder.

use super::code::Code;
use super::decoder::{Decoder, Settings};
use super::rate_matching::{VERSIONS, select};
use crate::crc::{CRC_BITS, Crc};
use crate::lanes::{BATCH, Lanes};
use crate::modulation::Amplitudes;
use crate::noise::Normal;
use airwnd_kernel::Stream;
use airwnd_phy::nr::tables::Modulation;
use airwnd_phy::nr::transport_block::BaseGraph;
use airwnd_units::Db;

/// Format of the transmissions of a code block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Base graph of the code.
    pub graph: BaseGraph,
    /// Bits of the code block with its CRC, K'.
    pub block_bits: usize,
    /// Coded bits of one transmission, whole symbols.
    pub coded_bits: usize,
    /// The modulation.
    pub modulation: Modulation,
    /// Number of transmissions, with redundancy versions 0, 2, 3, 1 in turn, that are combined and decoded once.
    pub transmissions: usize,
}

impl Format {
    /// Code rate of all transmissions together.
    pub fn rate(&self) -> f64 {
        self.block_bits as f64 / (self.coded_bits * self.transmissions) as f64
    }
}

/// Transmitter, channel and receiver of a format.
#[derive(Clone, Debug)]
pub struct Link {
    format: Format,
    amplitudes: Amplitudes,
    normal: Normal,
    code: Code,
    decoder: Decoder,
    /// Positions in the codeword of the bits of all transmissions.
    sent: Vec<u32>,
    soft: Vec<Lanes>,
}

/// Log-likelihood ratio of a bit that is known to be zero.
const CERTAIN: f32 = 1e4;

impl Link {
    /// A chain for a format.
    pub fn new(format: Format, settings: Settings) -> Link {
        let order = format.modulation.order() as usize;
        assert_eq!(format.coded_bits % order, 0, "a transmission has whole symbols");
        let code = Code::new(format.graph, format.block_bits);
        let sent: Vec<u32> = (0..format.transmissions)
            .flat_map(|number| select(&code, VERSIONS[number % VERSIONS.len()], format.coded_bits, order))
            .collect();
        let mut received = vec![false; code.length()];
        for place in &sent {
            received[*place as usize] = true;
        }
        Link {
            format,
            amplitudes: Amplitudes::of_order(format.modulation.order()),
            normal: Normal::new(),
            decoder: Decoder::new(&code, &received, settings),
            soft: vec![Lanes::default(); code.length()],
            code,
            sent,
        }
    }

    /// Sends a batch of random code blocks; returns the number of blocks not decoded. All random numbers come from
    /// `stream`.
    pub fn failures(&mut self, snr: Db, stream: Stream) -> usize {
        // The standard's CRC of a transport block of up to 3824 bits has 16 bits; with 24 no wrong block passes.
        let blocks: [Vec<u8>; BATCH] = std::array::from_fn(|lane| {
            let mut stream = stream.child(lane as u64).child(0);
            let bits = self.format.block_bits - CRC_BITS;
            let mut block = (0..bits).map(|_| (stream.next_u64() & 1) as u8).collect();
            Crc::A.attach(&mut block);
            block
        });
        let power = snr.linear() as f32;
        let deviation = libm::sqrtf(0.5 / power);
        self.soft.fill(Lanes::default());
        self.soft[self.code.filler()].fill(Lanes::all(CERTAIN));
        for (lane, block) in blocks.iter().enumerate() {
            let mut noise = stream.child(lane as u64).child(1);
            let coded = self.code.encode(block);
            for symbol in self.sent.chunks_exact(2 * self.amplitudes.bits()) {
                for dimension in 0..2 {
                    let places = symbol.iter().skip(dimension).step_by(2);
                    let label = places.clone().fold(0, |label, bit| label << 1 | coded[*bit as usize]);
                    let draw = deviation * self.normal.draw(&mut noise) as f32;
                    let received = self.amplitudes.level(usize::from(label)) + draw;
                    for (bit, soft) in places.zip(self.amplitudes.demap(received, power)) {
                        self.soft[*bit as usize].0[lane] += soft;
                    }
                }
            }
        }
        let mut right = [false; BATCH];
        self.decoder.decode(&self.soft, |lane, bits| {
            right[lane] = *bits == blocks[lane];
            Crc::A.holds(bits)
        });
        right.iter().filter(|right| !**right).count()
    }
}
