//! The chain of encoder, channel and decoder.

use crate::decoder::{Decoder, Settings};
use crate::encoder::{Encoder, TAIL_BITS};
use crate::lanes::{BATCH, Lanes};
use crate::modulation::Amplitudes;
use crate::noise::Normal;
use crate::rate_matching::{CircularBuffer, VERSIONS, shares};
use crate::segmentation::{cut, sizes};
use airwnd_kernel::Stream;
use airwnd_phy::tables::Modulation;
use airwnd_units::Db;

/// Format of a transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of the transport block, whole bytes, without its CRC.
    pub block_bits: usize,
    /// Coded bits of one transmission, whole symbols.
    pub coded_bits: usize,
    /// The modulation.
    pub modulation: Modulation,
    /// Number of transmissions, with redundancy versions 0, 2, 3, 1 in turn, that are combined and decoded once.
    pub transmissions: usize,
}

/// Transmitter, channel and receiver of a format.
#[derive(Clone, Debug)]
pub struct Link {
    format: Format,
    amplitudes: Amplitudes,
    normal: Normal,
    filler: usize,
    codes: Vec<Code>,
}

/// One code block's part of the chain.
#[derive(Clone, Debug)]
struct Code {
    encoder: Encoder,
    decoder: Decoder,
    /// Positions in the encoder's output of the bits of each transmission.
    sent: Vec<Vec<u32>>,
    soft: Vec<Lanes>,
}

/// Log-likelihood ratio of a bit that is known to be zero.
const CERTAIN: f32 = 1e4;

impl Link {
    /// A chain for a format.
    pub fn new(format: Format, settings: Settings) -> Link {
        let order = format.modulation.order() as usize;
        assert_eq!(format.coded_bits % order, 0, "a transmission has whole symbols");
        let filler = cut(vec![0; format.block_bits]).filler;
        let sizes = sizes(format.block_bits);
        let shares = shares(format.coded_bits, sizes.len(), order);
        let code = |(place, (size, share)): (usize, (usize, usize))| {
            let buffer = CircularBuffer::new(size, if place == 0 { filler } else { 0 });
            let version = |number: usize| VERSIONS[number % VERSIONS.len()];
            Code {
                encoder: Encoder::new(size),
                decoder: Decoder::new(size, settings),
                sent: (0..format.transmissions).map(|number| buffer.select(version(number), share)).collect(),
                soft: vec![Lanes::default(); 3 * (size + TAIL_BITS)],
            }
        };
        let codes = sizes.into_iter().zip(shares).enumerate().map(code).collect();
        Link { format, amplitudes: Amplitudes::new(format.modulation), normal: Normal::new(), filler, codes }
    }

    /// Sends a batch of random transport blocks; returns the number of blocks not decoded. The symbols of a code block
    /// cycle through these ratios of symbol energy to noise density. All random numbers come from `stream`.
    pub fn failures(&mut self, snrs: &[Db], stream: Stream) -> usize {
        let blocks: [_; BATCH] = std::array::from_fn(|lane| {
            let mut stream = stream.child(lane as u64).child(0);
            cut((0..self.format.block_bits).map(|_| (stream.next_u64() & 1) as u8).collect())
        });
        let mut noise: [Stream; BATCH] = std::array::from_fn(|lane| stream.child(lane as u64).child(1));
        let noisy = |power: f32| (power, libm::sqrtf(0.5 / power));
        let channel: Vec<(f32, f32)> = snrs.iter().map(|snr| noisy(snr.linear() as f32)).collect();
        let mut decoded = [true; BATCH];
        for (place, code) in self.codes.iter_mut().enumerate() {
            code.soft.fill(Lanes::default());
            if place == 0 {
                code.soft[..self.filler].fill(Lanes::all(CERTAIN));
            }
            for lane in 0..BATCH {
                let coded = code.encoder.encode(&blocks[lane].blocks[place]);
                let symbols = code.sent.iter().flat_map(|sent| sent.chunks_exact(2 * self.amplitudes.bits()));
                for (symbol, (power, deviation)) in symbols.zip(channel.iter().cycle()) {
                    for dimension in 0..2 {
                        let places = symbol.iter().skip(dimension).step_by(2);
                        let label = places.clone().fold(0, |label, bit| label << 1 | coded[*bit as usize]);
                        let draw = deviation * self.normal.draw(&mut noise[lane]) as f32;
                        let received = self.amplitudes.level(usize::from(label)) + draw;
                        for (bit, soft) in places.zip(self.amplitudes.demap(received, *power)) {
                            code.soft[*bit as usize].0[lane] += soft;
                        }
                    }
                }
            }
            let mut right = [false; BATCH];
            code.decoder.decode(&code.soft, |lane, bits| {
                right[lane] = *bits == blocks[lane].blocks[place];
                blocks[lane].crc.holds(bits)
            });
            for lane in 0..BATCH {
                decoded[lane] &= right[lane];
            }
        }
        decoded.iter().filter(|decoded| !**decoded).count()
    }
}
