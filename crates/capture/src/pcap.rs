//! Records of the older format (draft-ietf-opsawg-pcap), in little-endian order, with times in nanoseconds.

use crate::pcapng::LINK_TYPE;
use airwnd_units::Span;

/// Nanoseconds, not microseconds (§4).
const MAGIC: u32 = 0xa1b2_3c4d;
/// The snap length of a file that has none: more than any packet.
const UNLIMITED: u32 = 262_144;

/// Begins a file. A snap length of 0 is none.
pub fn header(bytes: &mut Vec<u8>, snaplen: u32) {
    bytes.clear();
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend(4_u16.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend((if snaplen == 0 { UNLIMITED } else { snaplen }).to_le_bytes());
    bytes.extend(LINK_TYPE.to_le_bytes());
}

/// A packet (§5): what was captured of it, and how long it was.
pub fn packet(bytes: &mut Vec<u8>, at: Span, length: u32, (headers, zeros): (&[u8], usize)) {
    const SECOND: u64 = 1_000_000_000;
    bytes.clear();
    bytes.extend(((at.0 / SECOND) as u32).to_le_bytes());
    bytes.extend(((at.0 % SECOND) as u32).to_le_bytes());
    bytes.extend(((headers.len() + zeros) as u32).to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(headers);
    bytes.resize(bytes.len() + zeros, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_how_much_there_was() {
        let mut bytes = Vec::new();
        packet(&mut bytes, Span(3_000_000_007), 1500, (&[0x45; 20], 4));
        let words: Vec<u32> =
            bytes[..16].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [3, 7, 24, 1500]);
        assert_eq!(bytes.len(), 16 + 24);
    }
}
