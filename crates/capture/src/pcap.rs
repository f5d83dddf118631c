//! Records of the older pcap format (draft-ietf-opsawg-pcap), little-endian, with times in nanoseconds.

use airwnd_units::Span;

/// Magic number for times in nanoseconds instead of microseconds (§4).
const MAGIC: u32 = 0xa1b2_3c4d;
/// Snap length of a file without limit: larger than any packet.
const UNLIMITED: u32 = 262_144;

/// Writes the file header. A snap length of 0 means no limit.
pub fn header(bytes: &mut Vec<u8>, snaplen: u32, link_type: u32) {
    bytes.clear();
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend(4_u16.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend((if snaplen == 0 { UNLIMITED } else { snaplen }).to_le_bytes());
    bytes.extend(link_type.to_le_bytes());
}

/// Writes a packet record (§5): its captured bytes and its original length.
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
    fn a_record_states_captured_and_original_length() {
        let mut bytes = Vec::new();
        packet(&mut bytes, Span(3_000_000_007), 1500, (&[0x45; 20], 4));
        let words: Vec<u32> =
            bytes[..16].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [3, 7, 24, 1500]);
        assert_eq!(bytes.len(), 16 + 24);
    }
}
