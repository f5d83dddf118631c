//! Blocks of pcapng (draft-ietf-opsawg-pcapng), little-endian.

use airwnd_lab::tap::Crossing;
use airwnd_units::Span;

/// Link type of packets that begin with an IPv4 header (LINKTYPE_IPV4).
pub const IPV4: u32 = 228;
/// Link type of packets that begin with an IPv4 or IPv6 header (LINKTYPE_RAW).
pub const ANY_IP: u32 = 101;
/// Link type of packets after a header of 16 bytes with the direction (LINKTYPE_LINUX_SLL). libpcap reads several
/// interfaces of a file only if their type is its own number for it, which is not so for [`ANY_IP`].
pub const LINUX_SLL: u32 = 113;
/// Hardware type of interfaces without link layer (Linux: ARPHRD_NONE).
const NO_HARDWARE: u16 = 0xfffe;

const COMMENT: u16 = 1;

/// Puts the header of [`LINUX_SLL`] before an IP packet; returns its length.
pub fn cook(packet: &mut Vec<u8>, crossing: Crossing) -> usize {
    // LINUX_SLL_HOST and LINUX_SLL_OUTGOING.
    let kind: u16 = match crossing {
        Crossing::In => 0,
        Crossing::Out => 4,
    };
    let protocol: u16 = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 0x86dd } else { 0x0800 };
    let mut header = [0; 16];
    header[..2].copy_from_slice(&kind.to_be_bytes());
    header[2..4].copy_from_slice(&NO_HARDWARE.to_be_bytes());
    header[14..].copy_from_slice(&protocol.to_be_bytes());
    packet.splice(..0, header);
    header.len()
}

/// Writes the section header (§4.1): the writing application and a comment.
pub fn section(bytes: &mut Vec<u8>, writer: &str, comment: &str) {
    block(bytes, 0x0a0d_0d0a, |bytes| {
        bytes.extend(0x1a2b_3c4d_u32.to_le_bytes());
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        // Unspecified section length.
        bytes.extend(u64::MAX.to_le_bytes());
        text(bytes, COMMENT, comment);
        text(bytes, 4, writer);
        end_of_options(bytes);
    });
}

/// Writes an interface description (§4.2) with times in nanoseconds; the first interface is number 0. A snap length of
/// 0 means no limit.
pub fn interface(bytes: &mut Vec<u8>, name: &str, description: &str, snaplen: u32, link_type: u32) {
    block(bytes, 1, |bytes| {
        bytes.extend((link_type as u16).to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(snaplen.to_le_bytes());
        text(bytes, 2, name);
        text(bytes, 3, description);
        // if_tsresol: a negative power of ten.
        option(bytes, 9, &[9]);
        end_of_options(bytes);
    });
}

/// Writes an enhanced packet block (§4.3): captured bytes, original length, and the direction in the flags (§4.3.1).
pub fn packet(
    bytes: &mut Vec<u8>,
    interface: u32,
    at: Span,
    crossing: Crossing,
    length: u32,
    (headers, zeros): (&[u8], usize),
) {
    block(bytes, 6, |bytes| {
        bytes.extend(interface.to_le_bytes());
        bytes.extend(((at.0 >> 32) as u32).to_le_bytes());
        bytes.extend((at.0 as u32).to_le_bytes());
        bytes.extend(((headers.len() + zeros) as u32).to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(headers);
        bytes.resize((bytes.len() + zeros).next_multiple_of(4), 0);
        let flags: u32 = match crossing {
            Crossing::In => 1,
            Crossing::Out => 2,
        };
        option(bytes, 2, &flags.to_le_bytes());
        end_of_options(bytes);
    });
}

/// Writes a block: type, length, contents, and the length again (§3.1). Clears `bytes` first.
fn block(bytes: &mut Vec<u8>, kind: u32, contents: impl FnOnce(&mut Vec<u8>)) {
    bytes.clear();
    bytes.extend(kind.to_le_bytes());
    bytes.extend([0; 4]);
    contents(bytes);
    let length = (bytes.len() as u32 + 4).to_le_bytes();
    bytes[4..8].copy_from_slice(&length);
    bytes.extend(length);
}

/// Writes an option with a UTF-8 value; truncates long text at a character boundary.
fn text(bytes: &mut Vec<u8>, code: u16, text: &str) {
    let max = usize::from(u16::MAX);
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    option(bytes, code, &text.as_bytes()[..end]);
}

/// Writes an option (§3.5).
fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    bytes.extend(code.to_le_bytes());
    bytes.extend((value.len() as u16).to_le_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn end_of_options(bytes: &mut Vec<u8>) {
    bytes.extend([0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_words_with_their_length_at_both_ends() {
        let mut bytes = Vec::new();
        for zeros in 0..4 {
            packet(&mut bytes, 3, Span((1 << 32) + 5), Crossing::In, 1000, (&[0x45, 1], zeros));
            let length = (bytes.len() as u32).to_le_bytes();
            assert_eq!(bytes.len() % 4, 0);
            assert_eq!((&bytes[4..8], &bytes[bytes.len() - 4..]), (&length[..], &length[..]));
            assert_eq!(bytes[12..20], [1, 0, 0, 0, 5, 0, 0, 0]);
            assert_eq!(bytes[20..24], (2 + zeros as u32).to_le_bytes());
        }
    }

    #[test]
    fn a_long_comment_is_truncated_at_a_character_boundary() {
        let mut bytes = Vec::new();
        section(&mut bytes, "airwnd", &"x".repeat(70_000));
        assert_eq!(bytes[26..28], u16::MAX.to_le_bytes());
        assert_eq!(bytes.len() as u32, u32::from_le_bytes(bytes[4..8].try_into().unwrap()));
        // Three bytes per character: the last one would be split.
        section(&mut bytes, "airwnd", &format!("x{}", "€".repeat(30_000)));
        assert_eq!(bytes[26..28], 65_533_u16.to_le_bytes());
    }
}
