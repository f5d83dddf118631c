//! Headers of NR's PDUs (TS 38.322, TS 38.323), with those of the MAC (TS 38.321).
//!
//! NR does not concatenate: each PDU has one SDU or a segment of one, and its own MAC subheader. Sizes of PDUs include
//! these subheaders.

use airwnd_units::Bytes;

/// PDCP data PDU header with an 18-bit sequence number (TS 38.323 §6.2.2.3).
pub const PDCP_HEADER: Bytes = Bytes(3);

/// Longest headers of a PDU: MAC subheader, and RLC header with an 18-bit sequence number and a segment offset. No
/// smaller space is used.
pub const LONGEST_HEADERS: Bytes = Bytes(8);

/// Longest PDU whose MAC subheader has a length of 8 bits.
const SHORT: Bytes = Bytes(255);

/// RLC headers of a mode.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    /// Of a whole SDU.
    pub whole: Bytes,
    /// Of the first segment of an SDU.
    pub first: Bytes,
    /// Of any other segment, which has a segment offset.
    pub other: Bytes,
}

impl Headers {
    /// Unacknowledged mode with a 6-bit sequence number (TS 38.322 §6.2.2.3).
    pub const UM_6: Headers = Headers { whole: Bytes(1), first: Bytes(1), other: Bytes(3) };
    /// With a 12-bit sequence number.
    pub const UM_12: Headers = Headers { whole: Bytes(1), first: Bytes(2), other: Bytes(4) };
    /// Acknowledged mode with a 12-bit sequence number (TS 38.322 §6.2.2.4).
    pub const AM_12: Headers = Headers { whole: Bytes(2), first: Bytes(2), other: Bytes(4) };
    /// With an 18-bit sequence number.
    pub const AM_18: Headers = Headers { whole: Bytes(3), first: Bytes(3), other: Bytes(5) };

    /// Size of the sequence numbers of these headers in bits.
    pub(crate) fn sn_size(&self) -> u16 {
        match (self.whole, self.first) {
            (Bytes(1), Bytes(1)) => 6,
            (Bytes(3), _) => 18,
            _ => 12,
        }
    }

    /// Size of a PDU with this much data, with its MAC subheader.
    pub fn size(&self, data: Bytes, is_first: bool, is_last: bool) -> Bytes {
        let pdu = self.header(is_first, is_last) + data;
        pdu + subheader(pdu)
    }

    /// Data of the longest segment that is not the last of its SDU and fits into `room`.
    pub fn data_in(&self, room: Bytes, is_first: bool) -> Bytes {
        let pdu = if room <= SHORT + Bytes(2) { room.saturating_sub(Bytes(2)) } else { room - Bytes(3) };
        pdu.saturating_sub(self.header(is_first, false))
    }

    pub(crate) fn header(&self, is_first: bool, is_last: bool) -> Bytes {
        match (is_first, is_last) {
            (true, true) => self.whole,
            (true, false) => self.first,
            (false, _) => self.other,
        }
    }
}

/// Size of a PDU from that with its MAC subheader.
pub(crate) fn without_subheader(size: Bytes) -> Bytes {
    if size <= SHORT + Bytes(2) { size - Bytes(2) } else { size - Bytes(3) }
}

/// MAC subheader with a length of 8 or 16 bits (TS 38.321 §6.1.2).
fn subheader(pdu: Bytes) -> Bytes {
    if pdu <= SHORT { Bytes(2) } else { Bytes(3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_standard() {
        let size = |headers: Headers, data, is_first, is_last| headers.size(Bytes(data), is_first, is_last).0;
        assert_eq!(size(Headers::UM_12, 1503, true, true), 1503 + 1 + 3);
        assert_eq!(size(Headers::AM_18, 43, true, true), 43 + 3 + 2);
        assert_eq!(size(Headers::AM_12, 43, true, true), 43 + 2 + 2);
        assert_eq!(size(Headers::AM_18, 500, true, false), 500 + 3 + 3);
        assert_eq!(size(Headers::UM_12, 500, false, true), 500 + 4 + 3);
        assert_eq!(size(Headers::UM_6, 500, true, false), 500 + 1 + 3);
    }

    #[test]
    fn the_longest_segment_fills_its_room_but_for_a_byte() {
        for headers in [Headers::UM_6, Headers::UM_12, Headers::AM_12, Headers::AM_18] {
            for is_first in [true, false] {
                for room in 9..600 {
                    let data = headers.data_in(Bytes(room), is_first);
                    let size = headers.size(data, is_first, false).0;
                    assert!(size == room || room == 258 && size == 257, "{room} {size}");
                }
            }
        }
    }
}
