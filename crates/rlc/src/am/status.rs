//! STATUS PDUs (TS 36.322 §6.2.1.6; TS 38.322 §6.2.2.5).

use super::{Format, LTE_SIZES};
use crate::Protocol;
use airwnd_units::Bytes;

/// Sizes of the fields of a STATUS PDU in bits.
struct Fields {
    /// D/C, CPT, ACK_SN and E1; in NR with the MAC subheader.
    head: u64,
    /// NACK_SN, E1 and E2; in NR with E3.
    nack: u64,
    /// SOstart and SOend.
    offsets: u64,
    /// NACK range, which lets one NACK_SN report several missing SDUs; `None`: there is none.
    range: Option<u64>,
}

/// Maximum number of missing SDUs in a NACK range.
const LONGEST_RANGE: u64 = 255;

/// MAC subheader that the size of a STATUS PDU of NR includes.
const NR_SUBHEADER: Bytes = Bytes(2);

impl Format {
    fn status_subheader(self) -> Bytes {
        match self.protocol {
            Protocol::Lte => Bytes::ZERO,
            Protocol::Nr => NR_SUBHEADER,
        }
    }

    fn status(self) -> Fields {
        let sn = u64::from(self.sn_size);
        match self.protocol {
            // SOstart and SOend are longer by a bit with sequence numbers of 16 bits.
            Protocol::Lte => {
                let offset = if self.sn_size == LTE_SIZES[1] { 16 } else { 15 };
                Fields { head: 1 + 3 + sn + 1, nack: sn + 2, offsets: 2 * offset, range: None }
            }
            // Reserved bits fill whole bytes.
            Protocol::Nr => {
                let whole = |bits: u64| bits.next_multiple_of(8);
                Fields {
                    head: 8 * NR_SUBHEADER.0 + whole(1 + 3 + sn + 1),
                    nack: whole(sn + 3),
                    offsets: 32,
                    range: Some(8),
                }
            }
        }
    }
}

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
    /// Its size, in NR without the MAC subheader: missing SDUs that follow one another share a NACK range.
    pub fn size(&self, format: Format) -> Bytes {
        let mut whole = Status::default();
        let mut writer = Writer::new(&mut whole, format, Bytes(1 << 32)).expect("there is room for all");
        for nacks in self.nacks.chunk_by(|one, next| one.sn == next.sn) {
            writer.miss(nacks[0].sn, nacks.iter().filter_map(|nack| nack.part));
        }
        writer.finish(self.ack) - format.status_subheader()
    }

    /// Its size if every missing part has its offsets.
    pub fn longest(&self, format: Format) -> Bytes {
        let Fields { head, nack, offsets, .. } = format.status();
        Bytes((head + (nack + offsets) * self.nacks.len() as u64).div_ceil(8))
    }
}

/// The size of a STATUS PDU that reports all missing parts, given the number of missing parts of each PDU; zero parts
/// denote the whole PDU. Without ranges.
pub(super) fn size(format: Format, parts: impl Iterator<Item = u64>) -> Bytes {
    let Fields { head, nack, offsets, .. } = format.status();
    let bits = parts.map(|parts| nack * parts.max(1) + offsets * parts).sum::<u64>();
    Bytes((head + bits).div_ceil(8))
}

/// Builder of a STATUS PDU within a maximum size.
pub(super) struct Writer<'a> {
    status: &'a mut Status,
    fields: Fields,
    bits: u64,
    room: u64,
    /// Number of missing SDUs that the last NACK_SN reports.
    run: u64,
}

impl Writer<'_> {
    /// Starts a STATUS PDU without missing PDUs; `None` if `room` is less than it needs.
    pub fn new(status: &mut Status, format: Format, room: Bytes) -> Option<Writer<'_>> {
        status.nacks.clear();
        let fields = format.status();
        let writer = Writer { status, bits: fields.head, fields, room: room.0 * 8, run: 0 };
        (writer.bits <= writer.room).then_some(writer)
    }

    /// Adds all missing parts of one PDU or, if they do not fit, the whole PDU. Returns whether either fits.
    pub fn miss(&mut self, sn: u64, parts: impl Iterator<Item = (u64, Option<u64>)>) -> bool {
        let (before, bits) = (self.status.nacks.len(), self.bits);
        let run = std::mem::take(&mut self.run);
        for part in parts {
            self.status.nacks.push(Nack { sn, part: Some(part) });
            self.bits += self.fields.nack + self.fields.offsets;
        }
        if self.bits > self.room || self.bits == bits {
            self.status.nacks.truncate(before);
            let follows = self.status.nacks.last().is_some_and(|last| last.sn + 1 == sn);
            let extended = self.fields.range.filter(|_| follows && (1..LONGEST_RANGE).contains(&run));
            self.bits = bits
                + match extended {
                    Some(range) if run == 1 => range,
                    Some(_) => 0,
                    None => self.fields.nack,
                };
            self.run = if extended.is_some() { run + 1 } else { 1 };
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
    use crate::am::Params;

    /// A missing PDU and its missing parts; an empty slice: the whole PDU.
    type Missing<'a> = (u64, &'a [(u64, Option<u64>)]);

    fn of(protocol: Protocol, sn_size: Option<u16>) -> Format {
        Params { sn_size, ..Params::default() }.format(protocol)
    }

    /// TS 36.322 figures 6.2.1.6-1 and -2; TS 38.322 figures 6.2.2.5-1 and -2, with a MAC subheader of 2 bytes.
    #[test]
    fn sizes_follow_from_the_size_of_sequence_numbers() {
        let sizes = |protocol, sn_size| {
            [vec![], vec![0], vec![1]]
                .map(|parts: Vec<u64>| size(of(protocol, Some(sn_size)), parts.into_iter()).0)
        };
        assert_eq!(sizes(Protocol::Lte, 10), [2, 4, 8]);
        assert_eq!(sizes(Protocol::Lte, 16), [3, 5, 9]);
        assert_eq!(sizes(Protocol::Nr, 12), [2 + 3, 2 + 3 + 2, 2 + 3 + 2 + 4]);
        assert_eq!(sizes(Protocol::Nr, 18), [2 + 3, 2 + 3 + 3, 2 + 3 + 3 + 4]);
    }

    fn write(room: u64, missing: &[Missing<'_>]) -> (Option<Bytes>, Status, usize) {
        let mut status = Status::default();
        let Some(mut writer) = Writer::new(&mut status, of(Protocol::Lte, None), Bytes(room)) else {
            return (None, status, 0);
        };
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
            assert_eq!(size(of(Protocol::Lte, None), missing.iter().map(|_| 0)), Bytes(bytes));
        }
        assert_eq!(size(of(Protocol::Lte, None), [2].into_iter()), Bytes((15u64 + 2 * 42).div_ceil(8)));
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

    #[test]
    fn nr_reports_sdus_that_follow_one_another_in_a_range() {
        let mut status = Status::default();
        let mut writer = Writer::new(&mut status, of(Protocol::Nr, None), Bytes(100)).expect("it fits");
        for sn in [3, 4, 5, 9] {
            assert!(writer.miss(sn, std::iter::empty()));
        }
        assert!(writer.miss(10, [(0, Some(7))].into_iter()));
        // 3 to 5 in a range, 9, and a part of 10, after the MAC subheader and the head
        assert_eq!(writer.finish(11), Bytes(2 + 3 + (3 + 1) + 3 + (3 + 4)));
        assert_eq!(status.nacks.len(), 5);
    }
}
