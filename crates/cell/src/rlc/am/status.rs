//! STATUS PDUs (TS 36.322 §6.2.1.6).

use airwnd_units::Bytes;

/// D/C, CPT, ACK_SN and E1, in bits.
const HEAD: u64 = 15;
/// NACK_SN, E1 and E2, in bits.
const NACK: u64 = 12;
/// SOstart and SOend, in bits.
const OFFSETS: u64 = 30;

/// A missing PDU or a missing part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN.
    pub sn: u64,
    /// SOstart and one past SOend, in bytes from the start of the PDU; the end is `None` if the receiver does not know
    /// it. `None`: the whole PDU.
    pub part: Option<(u64, Option<u64>)>,
}

/// Received and missing PDUs of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// ACK_SN: the first PDU that the report does not cover.
    pub ack: u64,
    /// Missing PDUs and parts before it, in order.
    pub nacks: Vec<Nack>,
}

impl Status {
    /// Its size if every missing part has its offsets.
    pub fn longest(&self) -> Bytes {
        Bytes((HEAD + (NACK + OFFSETS) * self.nacks.len() as u64).div_ceil(8))
    }
}

/// The size of a STATUS PDU that reports all missing parts, given the number of missing parts of each PDU; zero parts
/// denote the whole PDU.
pub(super) fn size(parts: impl Iterator<Item = u64>) -> Bytes {
    let bits = parts.map(|parts| NACK * parts.max(1) + OFFSETS * parts).sum::<u64>();
    Bytes((HEAD + bits).div_ceil(8))
}

/// Builder of a STATUS PDU within a maximum size.
pub(super) struct Writer<'a> {
    status: &'a mut Status,
    bits: u64,
    room: u64,
}

impl Writer<'_> {
    /// Starts a STATUS PDU without missing PDUs; `None` if `room` is less than the 2 bytes it needs.
    pub fn new(status: &mut Status, room: Bytes) -> Option<Writer<'_>> {
        status.nacks.clear();
        let writer = Writer { status, bits: HEAD, room: room.0 * 8 };
        (writer.bits <= writer.room).then_some(writer)
    }

    /// Adds all missing parts of one PDU or, if they do not fit, the whole PDU. Returns whether either fits.
    pub fn miss(&mut self, sn: u64, parts: impl Iterator<Item = (u64, Option<u64>)>) -> bool {
        let (before, bits) = (self.status.nacks.len(), self.bits);
        for part in parts {
            self.status.nacks.push(Nack { sn, part: Some(part) });
            self.bits += NACK + OFFSETS;
        }
        if self.bits > self.room || self.bits == bits {
            self.status.nacks.truncate(before);
            self.bits = bits + NACK;
            self.status.nacks.push(Nack { sn, part: None });
        }
        if self.bits > self.room {
            self.status.nacks.truncate(before);
            self.bits = bits;
            return false;
        }
        true
    }

    /// Completes the PDU and returns its size.
    pub fn finish(self, ack: u64) -> Bytes {
        self.status.ack = ack;
        Bytes(self.bits.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A missing PDU and its missing parts; an empty slice: the whole PDU.
    type Missing<'a> = (u64, &'a [(u64, Option<u64>)]);

    fn write(room: u64, missing: &[Missing<'_>]) -> (Option<Bytes>, Status, usize) {
        let mut status = Status::default();
        let Some(mut writer) = Writer::new(&mut status, Bytes(room)) else { return (None, status, 0) };
        let fitted = missing.iter().take_while(|(sn, parts)| writer.miss(*sn, parts.iter().copied())).count();
        (Some(writer.finish(99)), status, fitted)
    }

    /// 15 bits, 12 more for each missing PDU, 30 more for each part: ns-3's 2, 4, 5, 7, ... bytes without parts.
    #[test]
    fn sizes_are_those_of_the_standard() {
        let whole: &[(u64, Option<u64>)] = &[];
        for (missing, bytes) in [(0, 2), (1, 4), (2, 5), (3, 7), (4, 8)] {
            let missing: Vec<_> = (0..missing).map(|sn| (sn, whole)).collect();
            assert_eq!(write(100, &missing).0, Some(Bytes(bytes)));
            assert_eq!(size(missing.iter().map(|_| 0)), Bytes(bytes));
        }
        assert_eq!(size([2].into_iter()), Bytes((15u64 + 2 * 42).div_ceil(8)));
        assert_eq!(
            write(100, &[(7, &[(0, Some(10)), (20, None)])]).0,
            Some(Bytes((15u64 + 2 * 42).div_ceil(8)))
        );
    }

    #[test]
    fn what_does_not_fit_is_omitted_or_reported_as_a_whole_pdu() {
        assert_eq!(write(1, &[]).0, None);
        let (size, status, fitted) = write(4, &[(3, &[]), (4, &[])]);
        assert_eq!((size, fitted, status.nacks), (Some(Bytes(4)), 1, vec![Nack { sn: 3, part: None }]));
        let (size, status, fitted) = write(6, &[(3, &[(5, Some(9)), (20, None)])]);
        assert_eq!((size, fitted, status.nacks), (Some(Bytes(4)), 1, vec![Nack { sn: 3, part: None }]));
    }
}
