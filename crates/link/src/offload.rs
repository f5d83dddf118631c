//! Segmentation and coalescing of TCP segments at the devices: one read for all segments that a sender hands over at
//! once, and one write for consecutive segments of a connection that leave in the same turn.
//!
//! A packet of a device has a header in front of it (VIRTIO 1.2 §5.1.6, "struct virtio_net_hdr"), whose integers have
//! the byte order of the machine. It says whether the packet stands for several segments of equal payload, the last of
//! which may be smaller, and whether its checksum is to be completed. Such checksums stay partial from one device to the
//! other, as on a pair of virtual devices: the network damages no packet.

use std::ops::Range;

/// Bytes of the header.
pub const HEADER: usize = 10;
/// Largest packet: the length field of IPv4.
const MAX_PACKET: usize = u16::MAX as usize;
/// `flags`: the checksum field holds that of the pseudo-header alone.
const NEEDS_CHECKSUM: u8 = 1;
/// `gso_type`.
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
/// Bit of `gso_type`: the first segment alone has CWR.
const GSO_ECN: u8 = 0x80;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// The header of a device's packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    flags: u8,
    gso_type: u8,
    hdr_len: u16,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

impl Header {
    fn read(bytes: &[u8; HEADER]) -> Header {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Header {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[..2].copy_from_slice(&[self.flags, self.gso_type]);
        let words = [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset];
        for (to, word) in bytes[2..HEADER].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
    }
}

/// A packet that contradicts its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A checksum whose field holds the sum of the pseudo-header alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// First byte of the sum.
    start: u16,
    /// Begin of the field from there.
    offset: u16,
}

impl Partial {
    /// Of a TCP segment whose header begins here.
    pub fn of_tcp(start: usize) -> Partial {
        Partial { start: start as u16, offset: TCP_CHECKSUM as u16 }
    }

    /// Returns the checksum that a header describes, which must lie within the packet; `None` if it is complete.
    fn described(header: &Header, packet: &[u8]) -> Result<Option<Partial>, Malformed> {
        if header.flags & NEEDS_CHECKSUM == 0 {
            return Ok(None);
        }
        let partial = Partial { start: header.csum_start, offset: header.csum_offset };
        if partial.fits(packet.len()) { Ok(Some(partial)) } else { Err(Malformed) }
    }

    /// Whether the field lies within a packet of this size.
    pub fn fits(self, size: usize) -> bool {
        self.field() + 2 <= size
    }

    fn field(self) -> usize {
        usize::from(self.start) + usize::from(self.offset)
    }

    /// Completes the checksum of a packet.
    pub fn complete(self, packet: &mut [u8]) {
        // A sum of zero means "no checksum" in a UDP datagram, where its other representation is sent (RFC 768).
        let checksum = match !(folded(sum(&packet[usize::from(self.start)..])) as u16) {
            0 => 0xffff,
            checksum => checksum,
        };
        packet[self.field()..][..2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Positions in a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    is_six: bool,
    /// Begin of the TCP header.
    tcp: usize,
    /// Begin of the payload.
    payload: usize,
    /// End of the packet.
    end: usize,
}

impl Layout {
    /// Returns the layout of a packet of several segments, whose header says where that of TCP begins; `None` if the two
    /// contradict each other.
    fn described(header: &Header, bytes: &[u8]) -> Option<Layout> {
        let tcp = usize::from(header.csum_start);
        let is_six = match (header.gso_type & !GSO_ECN, bytes.first()? >> 4) {
            (GSO_TCP4, 4) if usize::from(bytes[0] & 15) * 4 == tcp && tcp >= 20 => false,
            (GSO_TCP6, 6) if tcp >= 40 => true,
            _ => return None,
        };
        let is_tcp = header.flags & NEEDS_CHECKSUM != 0 && usize::from(header.csum_offset) == TCP_CHECKSUM;
        let payload = tcp + usize::from(*bytes.get(tcp + 12)? >> 4) * 4;
        let fits = payload >= tcp + 20 && payload < bytes.len() && header.gso_size > 0;
        (is_tcp && fits).then_some(Layout { is_six, tcp, payload, end: bytes.len() })
    }

    /// Returns the layout of a TCP segment; `None` for any other packet, fragments and IP options included.
    fn find(bytes: &[u8]) -> Option<Layout> {
        let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let (is_six, tcp, end) = match bytes.first()? {
            0x45 if bytes.len() >= 40 && bytes[9] == TCP && word(6) & 0x3fff == 0 => (false, 20, word(2)),
            first if first >> 4 == 6 && bytes.len() >= 60 && bytes[6] == TCP => (true, 40, 40 + word(4)),
            _ => return None,
        };
        let payload = tcp + usize::from(*bytes.get(tcp + 12)? >> 4) * 4;
        (payload >= tcp + 20 && payload <= end && end <= bytes.len()).then_some(Layout {
            is_six,
            tcp,
            payload,
            end,
        })
    }

    fn flags(&self, bytes: &[u8]) -> u8 {
        bytes[self.tcp + 13]
    }

    fn seq(&self, bytes: &[u8]) -> u32 {
        let field = bytes[self.tcp + 4..self.tcp + 8].try_into().expect("four bytes");
        u32::from_be_bytes(field)
    }

    /// Sum of the pseudo-header (RFC 9293 §3.1).
    fn pseudo_header(&self, bytes: &[u8]) -> u32 {
        let addresses = if self.is_six { 8..40 } else { 12..20 };
        folded(sum(&bytes[addresses]) + u64::from(TCP) + (self.end - self.tcp) as u64)
    }

    /// Whether the checksum of the segment is correct.
    fn is_intact(&self, bytes: &[u8]) -> bool {
        folded(u64::from(self.pseudo_header(bytes)) + sum(&bytes[self.tcp..self.end])) == 0xffff
    }

    /// Whether the data of the segment is as its sender has sent it.
    fn is_trusted(&self, bytes: &[u8], partial: Option<Partial>) -> bool {
        partial == Some(Partial::of_tcp(self.tcp)) || (partial.is_none() && self.is_intact(bytes))
    }

    /// Sets the lengths of the IP header, its checksum, and the checksum of the segment to that of its pseudo-header.
    fn set_lengths(&self, bytes: &mut [u8]) {
        if self.is_six {
            bytes[4..6].copy_from_slice(&((self.end - 40) as u16).to_be_bytes());
        } else {
            bytes[2..4].copy_from_slice(&(self.end as u16).to_be_bytes());
            bytes[10..12].fill(0);
            let checksum = !(folded(sum(&bytes[..self.tcp])) as u16);
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        let partial = self.pseudo_header(bytes) as u16;
        self.checksum(bytes).copy_from_slice(&partial.to_be_bytes());
    }

    fn checksum<'b>(&self, bytes: &'b mut [u8]) -> &'b mut [u8] {
        &mut bytes[self.tcp + TCP_CHECKSUM..][..2]
    }
}

/// Sum of the 16-bit words of the Internet checksum (RFC 1071), not folded. An odd last byte is the high one of a word.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let whole: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    whole + u64::from(u32::from_be_bytes(last))
}

/// The sum in 16 bits, with end-around carry.
fn folded(mut sum: u64) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

/// Passes each packet that a read has returned to `each`, in their order, with its checksum if that is partial.
///
/// # Errors
/// A packet that its header does not fit to; `each` has been called for none of it.
pub fn split(
    read: &[u8],
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], Option<Partial>),
) -> Result<(), Malformed> {
    let (header, packet) = read.split_first_chunk::<HEADER>().ok_or(Malformed)?;
    let header = Header::read(header);
    if header.gso_type == GSO_NONE {
        each(packet, Partial::described(&header, packet)?);
        return Ok(());
    }
    let layout = Layout::described(&header, packet).ok_or(Malformed)?;
    let size = usize::from(header.gso_size);
    let (seq, flags) = (layout.seq(packet), layout.flags(packet));
    let id = u16::from_be_bytes([packet[4], packet[5]]);
    let payload = &packet[layout.payload..layout.end];
    let last = payload.len().div_ceil(size) - 1;
    for (place, piece) in payload.chunks(size).enumerate() {
        scratch.clear();
        scratch.extend_from_slice(&packet[..layout.payload]);
        scratch.extend_from_slice(piece);
        let segment = Layout { end: scratch.len(), ..layout };
        if !layout.is_six {
            scratch[4..6].copy_from_slice(&id.wrapping_add(place as u16).to_be_bytes());
        }
        let seq = seq.wrapping_add((place * size) as u32);
        scratch[layout.tcp + 4..layout.tcp + 8].copy_from_slice(&seq.to_be_bytes());
        let kept = match (place == 0, place == last) {
            (true, true) => flags,
            (true, false) => flags & !(FIN | PSH),
            (false, true) => flags & !CWR,
            (false, false) => flags & !(FIN | PSH | CWR),
        };
        scratch[layout.tcp + 13] = kept;
        segment.set_lengths(scratch);
        each(scratch, Some(Partial::of_tcp(layout.tcp)));
    }
    Ok(())
}

/// Packets for a device, as they are written: each alone, or consecutive segments of a connection that differ in nothing
/// but their data as one (as generic receive offload of Linux merges them).
#[derive(Debug, Default)]
pub struct Batch {
    /// Bytes of all writes, one after the other: space for a header, then a packet.
    bytes: Vec<u8>,
    writes: Vec<Write>,
    /// The segments of the last write as one; `None`: nothing can follow.
    open: Option<Train>,
}

/// A write of a batch.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// Its bytes, with the header.
    size: usize,
    packets: usize,
}

/// Segments of a connection that become one packet.
#[derive(Debug)]
struct Train {
    /// Begin of the packet in the bytes of the batch.
    begin: usize,
    layout: Layout,
    /// Payload of each segment but the last.
    size: usize,
}

impl Batch {
    /// Appends a packet, to the last write if `coalesces` and the packet continues it.
    pub fn append(&mut self, packet: &[u8], partial: Option<Partial>, coalesces: bool) {
        let continued = self
            .open
            .as_ref()
            .and_then(|train| train.continuation(&self.bytes[train.begin..], packet, partial));
        let Some(payload) = continued else { return self.begin(packet, partial, coalesces) };
        let train = self.open.as_mut().expect("the packet continues it");
        let push = packet[train.layout.tcp + 13] & PSH;
        self.bytes[train.begin + train.layout.tcp + 13] |= push;
        self.bytes.extend_from_slice(&packet[payload.clone()]);
        train.layout.end += payload.len();
        let is_last = payload.len() < train.size || push != 0;
        let write = self.writes.last_mut().expect("that of the train");
        (write.size, write.packets) = (write.size + payload.len(), write.packets + 1);
        if is_last {
            self.finish();
        }
    }

    /// Number of writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Yields what is to be written, with the number of packets of each write.
    pub fn writes(&mut self) -> impl Iterator<Item = (&[u8], usize)> {
        self.finish();
        let Batch { bytes, writes, .. } = self;
        let mut rest = bytes.as_slice();
        writes.iter().map(move |write| {
            let (first, others) = rest.split_at(write.size);
            rest = others;
            (first, write.packets)
        })
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.writes.clear();
        self.open = None;
    }

    fn begin(&mut self, packet: &[u8], partial: Option<Partial>, coalesces: bool) {
        self.finish();
        let at = self.bytes.len();
        self.bytes.resize(at + HEADER, 0);
        if let Some(Partial { start, offset }) = partial {
            let header =
                Header { flags: NEEDS_CHECKSUM, csum_start: start, csum_offset: offset, ..Header::default() };
            header.write(&mut self.bytes[at..]);
        }
        self.bytes.extend_from_slice(packet);
        self.writes.push(Write { size: HEADER + packet.len(), packets: 1 });
        if coalesces {
            let begin = at + HEADER;
            self.open =
                Train::starting_with(packet, partial).map(|(layout, size)| Train { begin, layout, size });
        }
    }

    /// Ends the last write: the headers of several segments become those of one packet.
    fn finish(&mut self) {
        let Some(Train { begin, layout, size }) = self.open.take() else { return };
        if self.writes.last().is_none_or(|write| write.packets == 1) {
            return;
        }
        layout.set_lengths(&mut self.bytes[begin..]);
        let header = Header {
            flags: NEEDS_CHECKSUM,
            gso_type: if layout.is_six { GSO_TCP6 } else { GSO_TCP4 },
            hdr_len: layout.payload as u16,
            gso_size: size as u16,
            csum_start: layout.tcp as u16,
            csum_offset: TCP_CHECKSUM as u16,
        };
        header.write(&mut self.bytes[begin - HEADER..]);
    }
}

impl Train {
    /// Returns the layout of a segment that others can follow, and the size of its payload.
    fn starting_with(packet: &[u8], partial: Option<Partial>) -> Option<(Layout, usize)> {
        let layout = Layout::find(packet)?;
        let is_first =
            layout.flags(packet) == ACK && layout.end > layout.payload && layout.end == packet.len();
        // The kernel checks the sums of single packets, but not those of several as one.
        (is_first && layout.is_trusted(packet, partial)).then_some((layout, layout.end - layout.payload))
    }

    /// Returns the place of the payload of a packet that continues the train, whose bytes are `first`.
    fn continuation(&self, first: &[u8], packet: &[u8], partial: Option<Partial>) -> Option<Range<usize>> {
        let train = &self.layout;
        let layout = Layout::find(packet)?;
        let range = layout.payload..layout.end;
        let tcp = layout.tcp;
        // Version, traffic class and flow label, or version, header length and type of service; hop limit; addresses.
        let is_same_network = match (train.is_six, layout.is_six) {
            (true, true) => first[..4] == packet[..4] && first[7..40] == packet[7..40],
            (false, false) => {
                first[..2] == packet[..2] && first[6..9] == packet[6..9] && first[12..20] == packet[12..20]
            }
            _ => false,
        };
        let continues = is_same_network
            && layout.payload == train.payload
            && layout.end == packet.len()
            && !range.is_empty()
            && range.len() <= self.size
            && train.end + range.len() <= MAX_PACKET
            && first[tcp..tcp + 4] == packet[tcp..tcp + 4]
            && layout.seq(packet) == train.seq(first).wrapping_add((train.end - train.payload) as u32)
            // Acknowledgment number, length of the header, window, urgent pointer and options.
            && first[tcp + 8..tcp + 13] == packet[tcp + 8..tcp + 13]
            && layout.flags(packet) & !PSH == ACK
            && first[tcp + 14..tcp + 16] == packet[tcp + 14..tcp + 16]
            && first[tcp + 18..layout.payload] == packet[tcp + 18..layout.payload]
            && layout.is_trusted(packet, partial);
        continues.then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement};
    use proptest::prelude::*;

    /// A segment of a connection over either version of IP, with complete checksums.
    #[derive(Clone, Debug)]
    struct Segment {
        is_six: bool,
        seq: u32,
        ack: u32,
        window: u16,
        time: u32,
        id: u16,
        flags: u8,
        payload: Vec<u8>,
    }

    fn segment(seq: u32, length: usize) -> Segment {
        let payload = (0..length).map(|place| (seq as usize + place) as u8).collect();
        Segment { is_six: false, seq, ack: 7, window: 500, time: 3, id: 0, flags: ACK, payload }
    }

    fn bytes(segment: &Segment) -> Vec<u8> {
        let ip = match segment.is_six {
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64),
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
        };
        let options =
            [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(segment.time, 1)];
        let tcp = ip.tcp(80, 5000, segment.seq, segment.window).ack(segment.ack).options(&options).unwrap();
        let mut bytes = Vec::new();
        tcp.write(&mut bytes, &segment.payload).unwrap();
        let layout = Layout::find(&bytes).unwrap();
        if !segment.is_six {
            bytes[4..6].copy_from_slice(&segment.id.to_be_bytes());
        }
        bytes[layout.tcp + 13] = segment.flags;
        layout.set_lengths(&mut bytes);
        Partial::of_tcp(layout.tcp).complete(&mut bytes);
        bytes
    }

    /// The header of a packet of several segments over IPv4, but for their size.
    const DESCRIBED: Header = Header {
        flags: NEEDS_CHECKSUM,
        gso_type: GSO_TCP4,
        hdr_len: 52,
        gso_size: 0,
        csum_start: 20,
        csum_offset: TCP_CHECKSUM as u16,
    };

    /// The packets of a read, with complete checksums.
    fn pieces(read: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut all = Vec::new();
        split(read, &mut Vec::new(), |packet, partial| {
            let mut packet = packet.to_vec();
            partial.into_iter().for_each(|partial| partial.complete(&mut packet));
            all.push(packet);
        })?;
        Ok(all)
    }

    /// Writes packets; returns what is written at once, and for how many packets.
    fn trains(packets: &[Vec<u8>], coalesces: bool) -> Vec<(Vec<u8>, usize)> {
        let mut batch = Batch::default();
        packets.iter().for_each(|packet| batch.append(packet, None, coalesces));
        let written: Vec<_> = batch.writes().map(|(bytes, packets)| (bytes.to_vec(), packets)).collect();
        assert_eq!(batch.len(), written.len());
        batch.clear();
        assert_eq!(batch.writes().count(), 0);
        written
    }

    #[test]
    fn the_checksums_are_those_of_another_implementation() {
        for is_six in [false, true] {
            let mut built = Vec::new();
            match is_six {
                true => PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(80, 5000, 9, 500),
                false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 5000, 9, 500),
            }
            .write(&mut built, &[1, 2, 3, 4, 5])
            .unwrap();
            let layout = Layout::find(&built).unwrap();
            assert!(layout.is_intact(&built));
            let mut ours = built.clone();
            layout.set_lengths(&mut ours);
            assert_ne!(ours, built, "the checksum is partial");
            Partial::of_tcp(layout.tcp).complete(&mut ours);
            assert_eq!(ours, built);
        }
    }

    #[test]
    fn consecutive_segments_are_one_packet_that_splits_into_them() {
        for is_six in [false, true] {
            let mut segments: Vec<Segment> =
                (0..4).map(|place| segment((u32::MAX - 2000).wrapping_add(1000 * place), 1000)).collect();
            segments.push(segment(1999, 300));
            for (place, segment) in (0..).zip(&mut segments) {
                (segment.is_six, segment.id) = (is_six, 40 + place);
            }
            segments[4].flags |= PSH;
            let packets: Vec<Vec<u8>> = segments.iter().map(bytes).collect();
            let written = trains(&packets, true);
            assert_eq!(written.len(), 1);
            assert_eq!(written[0].1, 5);
            assert_eq!(pieces(&written[0].0).unwrap(), packets);
            assert_eq!(trains(&packets, false).len(), 5);
        }
    }

    #[test]
    fn segments_that_differ_in_more_than_their_data_are_written_alone() {
        let first = segment(0, 1000);
        let next = segment(1000, 1000);
        type Change = fn(&mut Segment);
        let changes: [(&str, Change); 9] = [
            ("a gap", |other| other.seq += 1),
            ("the acknowledgment", |other| other.ack += 1),
            ("the window", |other| other.window += 1),
            ("the timestamp", |other| other.time += 1),
            ("FIN", |other| other.flags |= FIN),
            ("CWR", |other| other.flags |= CWR),
            ("no data", |other| other.payload.clear()),
            ("more data", |other| other.payload.push(0)),
            ("the version", |other| other.is_six = true),
        ];
        assert_eq!(trains(&[bytes(&first), bytes(&next)], true).len(), 1);
        for (what, change) in changes {
            let mut other = next.clone();
            change(&mut other);
            let packets = [bytes(&first), bytes(&other)];
            let written = trains(&packets, true);
            assert_eq!(written.len(), 2, "{what}");
            assert_eq!([pieces(&written[0].0).unwrap(), pieces(&written[1].0).unwrap()].concat(), packets);
        }
        // Type of service, don't fragment, time to live, and damage that only the checksum of TCP shows.
        for (at, bit) in [(1, 1), (6, 0x40), (8, 1), (60, 1)] {
            for damaged in [0, 1] {
                let mut packets = [bytes(&first), bytes(&next)];
                packets[damaged][at] ^= bit;
                let written = trains(&packets, true);
                assert_eq!(written.len(), 2, "byte {at} of packet {damaged}");
                let got: Vec<Vec<u8>> =
                    written.iter().flat_map(|(bytes, _)| pieces(bytes).unwrap()).collect();
                assert_eq!(got, packets);
            }
        }
    }

    #[test]
    fn a_push_or_a_smaller_segment_ends_a_train() {
        for change in [(|segment| segment.flags |= PSH) as fn(&mut Segment), |segment| {
            segment.payload.pop();
        }] {
            let mut middle = segment(1000, 1000);
            change(&mut middle);
            let last = segment(1000 + middle.payload.len() as u32, 1000);
            let written = trains(&[segment(0, 1000), middle, last].map(|segment| bytes(&segment)), true);
            assert_eq!(written.iter().map(|(_, packets)| *packets).collect::<Vec<_>>(), [2, 1]);
        }
    }

    #[test]
    fn a_train_is_no_larger_than_a_packet_of_ipv4() {
        let packets: Vec<Vec<u8>> = (0..100).map(|place| bytes(&segment(1448 * place, 1448))).collect();
        let written = trains(&packets, true);
        assert_eq!(written.iter().map(|(_, packets)| *packets).collect::<Vec<_>>(), [45, 45, 10]);
        assert!(written.iter().all(|(bytes, _)| bytes.len() <= HEADER + MAX_PACKET));
    }

    #[test]
    fn flags_of_a_segment_that_is_cut_are_at_its_ends() {
        let mut whole = segment(100, 2500);
        whole.flags |= CWR | PSH | FIN;
        let packet = bytes(&whole);
        let layout = Layout::find(&packet).unwrap();
        let mut read = vec![0; HEADER];
        let header = Header { gso_type: GSO_TCP4 | GSO_ECN, gso_size: 1000, ..DESCRIBED };
        header.write(&mut read);
        read.extend(&packet);
        let pieces = pieces(&read).unwrap();
        let flags: Vec<u8> = pieces.iter().map(|packet| layout.flags(packet)).collect();
        assert_eq!(flags, [ACK | CWR, ACK, ACK | PSH | FIN]);
        let sizes: Vec<usize> = pieces.iter().map(|packet| packet.len() - layout.payload).collect();
        assert_eq!(sizes, [1000, 1000, 500]);
        assert!(pieces.iter().all(|packet| Layout::find(packet).unwrap().is_intact(packet)));
    }

    #[test]
    fn headers_that_contradict_their_packets_are_malformed() {
        let packet = bytes(&segment(0, 100));
        let read = |header: Header, packet: &[u8]| {
            let mut read = vec![0; HEADER];
            header.write(&mut read);
            read.extend(packet);
            pieces(&read)
        };
        let cut = Header { gso_size: 50, ..DESCRIBED };
        assert_eq!(read(cut, &packet).unwrap().len(), 2);
        for wrong in [
            Header { gso_size: 0, ..cut },
            Header { gso_type: GSO_TCP6, ..cut },
            Header { gso_type: 3, ..cut },
            Header { flags: 0, ..cut },
            Header { csum_start: 24, ..cut },
            Header { csum_offset: 6, ..cut },
            Header { flags: NEEDS_CHECKSUM, csum_start: 20, csum_offset: 2000, ..Header::default() },
        ] {
            assert_eq!(read(wrong, &packet), Err(Malformed), "{wrong:?}");
        }
        for length in 0..=52 {
            assert_eq!(read(cut, &packet[..length]), Err(Malformed), "{length}");
        }
        assert_eq!(pieces(&[0; HEADER - 1]), Err(Malformed));
    }

    /// A checksum that the kernel has left to the device stays partial, whether its packet is written alone or joined,
    /// and whether its data is damaged is not checked: no packet of the network is.
    #[test]
    fn partial_checksums_are_passed_on() {
        let segments = [segment(0, 1000), Segment { id: 1, ..segment(1000, 1000) }];
        let (mut alone, mut joined) = (Batch::default(), Batch::default());
        let mut wanted = Vec::new();
        for segment in &segments {
            let mut packet = bytes(segment);
            wanted.push(packet.clone());
            let layout = Layout::find(&packet).unwrap();
            layout.set_lengths(&mut packet);
            let partial = Partial::of_tcp(layout.tcp);
            alone.append(&packet, Some(partial), false);
            joined.append(&packet, Some(partial), true);
        }
        let written: Vec<_> = alone.writes().map(|(bytes, _)| bytes.to_vec()).collect();
        for (bytes, wanted) in written.iter().zip(&wanted) {
            let flags =
                Header { flags: NEEDS_CHECKSUM, csum_start: 20, csum_offset: 16, ..Header::default() };
            assert_eq!(Header::read(bytes.first_chunk().unwrap()), flags);
            assert_eq!(pieces(bytes).unwrap(), std::slice::from_ref(wanted));
        }
        let written: Vec<_> = joined.writes().map(|(bytes, packets)| (bytes.to_vec(), packets)).collect();
        assert_eq!((written.len(), written[0].1), (1, 2));
        assert_eq!(pieces(&written[0].0).unwrap(), wanted);
    }

    /// A segment that is no packet of the device's own is joined to no other one unless its checksum is correct.
    #[test]
    fn other_partial_checksums_join_nothing() {
        let packets = [bytes(&segment(0, 1000)), bytes(&segment(1000, 1000))];
        let mut batch = Batch::default();
        packets.iter().for_each(|packet| batch.append(packet, Some(Partial { start: 20, offset: 6 }), true));
        assert_eq!(batch.len(), 2);
    }

    /// IP options and extension headers are those of each segment.
    #[test]
    fn a_packet_with_ip_options_is_cut() {
        let plain = bytes(&segment(5, 300));
        let mut packet = plain[..20].to_vec();
        packet[0] = 0x46;
        packet.extend([1, 1, 1, 0]);
        packet.extend(&plain[20..]);
        let mut read = vec![0; HEADER];
        Header { csum_start: 24, gso_size: 200, ..DESCRIBED }.write(&mut read);
        read.extend(&packet);
        let pieces = pieces(&read).unwrap();
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [24 + 32 + 200, 24 + 32 + 100]);
        for piece in pieces {
            assert_eq!((&piece[20..24], folded(sum(&piece[..24]))), (&packet[20..24], 0xffff));
            let layout = Layout { is_six: false, tcp: 24, payload: 56, end: piece.len() };
            assert!(layout.is_intact(&piece));
        }
    }

    fn any_segment() -> impl Strategy<Value = Vec<u8>> {
        let fields =
            (any::<bool>(), 0_u32..4, 0_u32..2, 0_usize..3, prop_oneof![9 => Just(0_u8), 1 => any::<u8>()]);
        fields.prop_map(|(is_six, place, time, length, flags)| {
            let Segment { flags: usual, .. } = segment(0, 0);
            let payload = [0, 99, 100][length];
            bytes(&Segment { is_six, time, flags: usual | flags, ..segment(100 * place, payload) })
        })
    }

    proptest! {
        /// Whatever is merged, the same packets arrive in the same order, but for identifications of IPv4, which the
        /// segments of one packet number consecutively.
        #[test]
        fn trains_carry_all_packets_in_order(packets in proptest::collection::vec(any_segment(), 1..40)) {
            let written = trains(&packets, true);
            let mut got = Vec::new();
            for (bytes, number) in &written {
                let pieces = pieces(bytes).unwrap();
                prop_assert_eq!(pieces.len(), *number);
                got.extend(pieces);
            }
            let plain = |packet: &Vec<u8>| {
                let mut packet = packet.clone();
                if packet[0] == 0x45 {
                    packet[4..6].fill(0);
                    packet[10..12].fill(0);
                }
                packet
            };
            prop_assert_eq!(got.iter().map(plain).collect::<Vec<_>>(), packets.iter().map(plain).collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_split_or_refused(
            mut read in proptest::collection::vec(any::<u8>(), 0..300),
            first in prop_oneof![Just(0x45_u8), Just(0x60), any::<u8>()],
            kind in prop_oneof![Just(GSO_NONE), Just(GSO_TCP4), Just(GSO_TCP6), any::<u8>()],
        ) {
            for (at, value) in [(1, kind), (HEADER, first), (HEADER + 9, TCP), (HEADER + 6, TCP)] {
                if let Some(byte) = read.get_mut(at) {
                    *byte = value;
                }
            }
            let _ = pieces(&read);
            let _ = trains(&[read.clone(), read], true);
        }
    }
}
