//! PDUs of a transport block in detail, for traces.
//!
//! A run needs none of this: it is derived from the state of a bearer right after a block has been filled.

use crate::am::{self, Nack};
use crate::nr::{Headers, without_subheader};
use crate::one_way::{Acknowledged, Content, OneWay};
use crate::segmenter::Segmenter;
use crate::{Protocol, RlcMode};
use airwnd_kernel::Key;
use airwnd_units::Bytes;

/// Format of the PDUs of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduFormat {
    /// Generation.
    pub protocol: Protocol,
    /// Mode.
    pub mode: RlcMode,
    /// Size of a sequence number in bits.
    pub sn_size: u16,
}

/// A PDU in a transport block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPdu {
    /// Format.
    pub format: PduFormat,
    /// Size with the RLC header, without the subheader of the MAC.
    pub size: Bytes,
    /// Content.
    pub content: PduContent,
}

/// Content of a PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PduContent {
    /// Data.
    Data(DataPdu),
    /// STATUS PDU about the other direction.
    Status {
        /// ACK_SN, counted without wrap-around.
        ack: u64,
        /// Missing PDUs and parts of PDUs.
        nacks: Box<[Nack]>,
    },
}

/// A data PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPdu {
    /// Sequence number, counted without wrap-around; `None`: the whole SDU of a PDU in NR's unacknowledged mode, which has
    /// none.
    pub sn: Option<u64>,
    /// Bytes before it: in LTE of the PDU of which it is a segment, in NR of its SDU.
    pub offset: u32,
    /// Whether it is a segment: in LTE of a PDU that is retransmitted, in NR of an SDU.
    pub is_segment: bool,
    /// Whether it contains the last byte of the PDU or SDU of which it is a segment.
    pub is_last: bool,
    /// Whether it requests a STATUS PDU.
    pub polls: bool,
    /// Whether RLC has sent its data before.
    pub is_retransmission: bool,
    /// Whether its first byte is the first of an SDU, and its last byte the last of one.
    pub whole: [bool; 2],
    /// Bytes of the SDUs and parts of SDUs in it, in order.
    pub pieces: Box<[u32]>,
    /// Packets of these SDUs, in order, without those that the receiver has already; empty for a retransmission.
    pub packets: Box<[Key]>,
}

/// State of a transmitter before a block is filled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// End of the stream of bytes that have been put into PDUs.
    sent: u64,
    /// Whether a part of an SDU has been sent and the rest waits.
    is_partial: bool,
}

impl OneWay {
    /// The state that [`OneWay::trace`] needs of the time before a block is filled.
    pub fn mark(&self) -> Mark {
        let source = self.source();
        Mark { sent: source.sent(), is_partial: source.is_partial() }
    }

    /// Passes the PDUs that have just been put into a block to `see`, in their order.
    pub fn trace(&self, content: Content, mark: Mark, see: &mut dyn FnMut(TracedPdu)) {
        let format = self.pdu_format();
        match (self, content) {
            (OneWay::Um(tx, rx), Content::Um(pdu)) => {
                // A receiver forgets an SDU of which a part is lost: then the begin of the next one tells its end.
                let inside = pdu.begin + 1..pdu.end;
                let ends = rx.stream().flat_map(|(begin, end, _)| [begin, end]);
                let pieces = lengths(pdu.begin, pdu.end, ends.filter(|at| inside.contains(at)));
                let sdus = rx.stream().filter(|(begin, end, _)| *begin < pdu.end && *end > pdu.begin);
                let packets = sdus.map(|(_, _, packet)| packet).collect();
                let whole = [!mark.is_partial, !self.source().is_partial()];
                let size = tx.header() + indicators(pieces.len() as u64) + Bytes(pdu.end - pdu.begin);
                let data = DataPdu { whole, pieces, packets, ..DataPdu::numbered(pdu.sn) };
                see(TracedPdu { format, size, content: PduContent::Data(data) });
            }
            (OneWay::NrUm(tx, rx), Content::Um(pdu)) => {
                for (begin, end, sn, packet) in rx.stream(pdu.begin) {
                    let (from, to) = (begin.max(pdu.begin), end.min(pdu.end));
                    if from < to {
                        see(nr_pdu(format, tx.headers(), sn, [begin, from, to, end], packet));
                    }
                }
            }
            (OneWay::Am(way), Content::Am(process)) => way.trace(process, format, mark, see),
            _ => unreachable!("a bearer sends PDUs of its mode"),
        }
    }
}

impl OneWay {
    fn source(&self) -> &Segmenter {
        match self {
            OneWay::Um(tx, _) => tx.source(),
            OneWay::NrUm(tx, _) => tx.source(),
            OneWay::Am(way) => way.tx.source(),
        }
    }

    fn pdu_format(&self) -> PduFormat {
        let (mode, sn_size) = match self {
            OneWay::Um(tx, _) => (RlcMode::Um, tx.sn_size()),
            OneWay::NrUm(tx, _) => (RlcMode::Um, tx.headers().sn_size()),
            OneWay::Am(way) => (RlcMode::Am, way.tx.format().sn_size),
        };
        PduFormat { protocol: self.protocol(), mode, sn_size }
    }
}

impl Acknowledged {
    fn trace(&self, process: u8, format: PduFormat, mark: Mark, see: &mut dyn FnMut(TracedPdu)) {
        let block = &self.blocks[usize::from(process)];
        if block.has_status {
            let am::Status { ack, nacks } = &block.status;
            let content = PduContent::Status { ack: *ack, nacks: nacks.clone().into() };
            see(TracedPdu { format, size: block.status.size(self.tx.format()), content });
        }
        for pdu in &block.data {
            let sdus = || self.tx.stream(pdu.begin).take_while(|(begin, ..)| *begin < pdu.end);
            let starts = sdus().any(|(begin, ..)| begin == pdu.begin);
            let ends = sdus().any(|(_, end, _)| end == pdu.end);
            let inside = sdus().map(|(_, end, _)| end).filter(|end| *end < pdu.end);
            let mut data = pdu.detailed(mark, [starts, ends], lengths(pdu.begin, pdu.end, inside));
            if !data.is_retransmission {
                data.packets = sdus().filter_map(|(_, _, packet)| packet).collect();
            }
            let size = match self.protocol {
                Protocol::Lte => pdu.size,
                Protocol::Nr => without_subheader(pdu.size),
            };
            see(TracedPdu { format, size, content: PduContent::Data(data) });
        }
    }
}

impl DataPdu {
    fn numbered(sn: u64) -> DataPdu {
        DataPdu {
            sn: Some(sn),
            offset: 0,
            is_segment: false,
            is_last: true,
            polls: false,
            is_retransmission: false,
            whole: [true; 2],
            pieces: Box::default(),
            packets: Box::default(),
        }
    }

    /// Bytes of SDUs in it.
    pub fn data(&self) -> Bytes {
        Bytes(self.pieces.iter().map(|piece| u64::from(*piece)).sum())
    }
}

/// A PDU of NR's unacknowledged mode: bytes `from` to `to` of the SDU from `begin` to `end` of the stream.
fn nr_pdu(
    format: PduFormat,
    headers: Headers,
    sn: Option<u64>,
    [begin, from, to, end]: [u64; 4],
    packet: Key,
) -> TracedPdu {
    let (is_first, is_last) = (from == begin, to == end);
    let data = DataPdu {
        sn: sn.filter(|_| !(is_first && is_last)),
        offset: (from - begin) as u32,
        is_segment: !(is_first && is_last),
        is_last,
        whole: [is_first, is_last],
        pieces: Box::new([(to - from) as u32]),
        packets: Box::new([packet]),
        ..DataPdu::numbered(0)
    };
    let size = headers.header(is_first, is_last) + Bytes(to - from);
    TracedPdu { format, size, content: PduContent::Data(data) }
}

/// Lengths of the pieces into which these boundaries, in ascending order but some of them twice, divide an interval.
fn lengths(begin: u64, end: u64, boundaries: impl Iterator<Item = u64>) -> Box<[u32]> {
    let mut from = begin;
    let mut pieces = Vec::new();
    for at in boundaries.chain([end]).filter(|at| *at > begin) {
        if at > from {
            pieces.push((at - from) as u32);
            from = at;
        }
    }
    pieces.into()
}

/// Length indicators of LTE: 12 bits for each piece except the last.
fn indicators(pieces: u64) -> Bytes {
    Bytes((3 * (pieces - 1)).div_ceil(2))
}

impl am::Pdu {
    fn detailed(&self, mark: Mark, whole: [bool; 2], pieces: Box<[u32]>) -> DataPdu {
        DataPdu {
            sn: Some(self.sn),
            offset: (self.begin - self.whole_from) as u32,
            is_segment: self.begin > self.whole_from || !self.last,
            is_last: self.last,
            polls: self.poll,
            is_retransmission: self.begin < mark.sent,
            whole,
            pieces,
            packets: Box::default(),
        }
    }
}
