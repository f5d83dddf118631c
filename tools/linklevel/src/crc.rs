//! Cyclic redundancy checks of transport blocks and code blocks.

/// Bits of each CRC.
pub const CRC_BITS: usize = 24;

/// A 24-bit CRC, given by the coefficients of its polynomial below D^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc(u32);

//= TS 36.212 §5.1.1
impl Crc {
    /// g_CRC24A, of transport blocks.
    pub const A: Crc = Crc(0x86_4cfb);
    /// g_CRC24B, of the code blocks of a transport block with several.
    pub const B: Crc = Crc(0x80_0063);

    /// The remainder of the bits followed by 24 zeros; zero for bits that end in their CRC.
    fn remainder(self, bits: &[u8]) -> u32 {
        bits.iter().fold(0, |register, bit| {
            let feedback = (register >> 23) ^ u32::from(*bit);
            ((register << 1) ^ (feedback * self.0)) & 0xff_ffff
        })
    }

    /// Appends the CRC, highest coefficient first.
    pub fn attach(self, bits: &mut Vec<u8>) {
        let remainder = self.remainder(bits);
        bits.extend((0..CRC_BITS).rev().map(|place| (remainder >> place & 1) as u8));
    }

    /// Whether the bits end in their CRC.
    pub fn holds(self, bits: &[u8]) -> bool {
        self.remainder(bits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_nine_digits() {
        // the check values of CRC-24/LTE-A and CRC-24/LTE-B in G. Cook's catalogue of CRC algorithms
        let digits: Vec<u8> =
            b"123456789".iter().flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1)).collect();
        assert_eq!((Crc::A.remainder(&digits), Crc::B.remainder(&digits)), (0xcd_e703, 0x23_ef52));
    }

    #[test]
    fn a_changed_bit_is_detected() {
        for crc in [Crc::A, Crc::B] {
            let mut bits = vec![1, 0, 1, 1, 0, 0, 1];
            crc.attach(&mut bits);
            assert_eq!(bits.len(), 7 + CRC_BITS);
            assert!(crc.holds(&bits));
            for changed in 0..bits.len() {
                bits[changed] ^= 1;
                assert!(!crc.holds(&bits));
                bits[changed] ^= 1;
            }
        }
    }
}
