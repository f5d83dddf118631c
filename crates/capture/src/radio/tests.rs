use super::*;
use airwnd_lab::radio::{DataPdu, Nack, PduContent, PduFormat};
use airwnd_units::Bytes;

fn format(protocol: Protocol, mode: RlcMode, sn_size: u16) -> PduFormat {
    PduFormat { protocol, mode, sn_size }
}

fn data(sn: u64, whole: [bool; 2], pieces: &[u32]) -> DataPdu {
    DataPdu {
        sn: Some(sn),
        offset: 0,
        is_segment: false,
        is_last: true,
        polls: false,
        is_retransmission: false,
        whole,
        pieces: pieces.into(),
        packets: Box::default(),
    }
}

fn bytes(format: PduFormat, content: PduContent) -> Vec<u8> {
    let mut bytes = Vec::new();
    rlc::pdu(&mut bytes, &TracedPdu { format, size: Bytes::ZERO, content });
    bytes
}

/// TS 36.322 figures 6.2.1.3-3, -5 and 6.2.1.5-1.
#[test]
fn headers_of_lte_have_framing_length_indicators_and_segments() {
    let um = format(Protocol::Lte, RlcMode::Um, 10);
    let pdu = |data| bytes(um, PduContent::Data(data));
    assert_eq!(pdu(data(0x3ff + 2, [true, true], &[3])), [0b0000_0000, 1, 0, 0, 0]);
    assert_eq!(pdu(data(5, [false, true], &[1, 2]))[..4], [0b0001_0100, 5, 0x00, 0x10]);
    assert_eq!(pdu(data(5, [true, false], &[1, 2, 3]))[..5], [0b0000_1100, 5, 0x80, 0x10, 0x02]);
    let am = format(Protocol::Lte, RlcMode::Am, 10);
    let segment = DataPdu { offset: 300, is_segment: true, polls: true, ..data(7, [false, true], &[1]) };
    assert_eq!(bytes(am, PduContent::Data(segment))[..4], [0b1111_0000, 7, 0x81, 0x2c]);
}

/// TS 38.322 figures 6.2.2.3-3, -5 and 6.2.2.4-4.
#[test]
fn headers_of_nr_have_segmentation_and_offsets() {
    let um = format(Protocol::Nr, RlcMode::Um, 12);
    let pdu = |format, data| bytes(format, PduContent::Data(data));
    assert_eq!(pdu(um, DataPdu { sn: None, ..data(0, [true; 2], &[1]) }), [0, 0]);
    assert_eq!(pdu(um, data(0x123, [true, false], &[1])), [0b0100_0001, 0x23, 0]);
    let last = DataPdu { offset: 258, ..data(0x123, [false, true], &[1]) };
    assert_eq!(pdu(um, last.clone()), [0b1000_0001, 0x23, 1, 2, 0]);
    let am = format(Protocol::Nr, RlcMode::Am, 18);
    assert_eq!(pdu(am, last)[..5], [0b1010_0000, 0x01, 0x23, 1, 2]);
}

/// Their sizes are those that the model counts.
#[test]
fn status_pdus_are_those_of_the_standard() {
    let nacks = |nacks: &[Nack]| PduContent::Status { ack: 9, nacks: nacks.into() };
    let whole = |sn| Nack { sn, part: None };
    let lte = format(Protocol::Lte, RlcMode::Am, 10);
    assert_eq!(bytes(lte, nacks(&[])), [0, 9 << 2]);
    assert_eq!(bytes(lte, nacks(&[whole(3)])), [0, 9 << 2 | 0b10, 0b0000_0001, 0b1000_0000]);
    let part = Nack { sn: 3, part: Some((1, None)) };
    assert_eq!(bytes(lte, nacks(&[part])).len(), 8);
    let nr = format(Protocol::Nr, RlcMode::Am, 18);
    assert_eq!(bytes(nr, nacks(&[])), [0, 0, 9 << 2]);
    // a NACK range of three
    assert_eq!(
        bytes(nr, nacks(&[whole(3), whole(4), whole(5)])),
        [0, 0, 9 << 2 | 0b10, 0, 0, 3 << 6 | 0b001 << 3, 3]
    );
}

fn block(interface: &RadioInterface, size: usize, lengths: &[u32], buffer_bytes: Option<u64>) -> Vec<u8> {
    let mode =
        format(interface.protocol, RlcMode::Um, if interface.protocol == Protocol::Lte { 10 } else { 12 });
    let pdus = lengths.iter().map(|length| {
        let sn = (interface.protocol == Protocol::Lte).then_some(0);
        let content = PduContent::Data(DataPdu { sn, ..data(0, [true; 2], &[*length]) });
        (0, TracedPdu { format: mode, size: Bytes::ZERO, content })
    });
    let block = Block { pdus: pdus.collect(), buffer_bytes, headroom_db: None };
    let mut bytes = Vec::new();
    block.write(&mut bytes, interface, size);
    bytes
}

/// TS 36.321 figures 6.1.2-1 to -3.
#[test]
fn padding_fills_a_block_of_lte() {
    let interface =
        RadioInterface { protocol: Protocol::Lte, slots_per_ms: 1, is_tdd: false, buffer_levels: &[10, 12] };
    for size in 20..400 {
        for length in [10, 126, 200] {
            let written = block(&interface, size, &[length], Some(11));
            // Subheaders of BSR and SDU, the BSR, and the header of RLC.
            let least = 1 + 1 + 1 + 2 + length as usize;
            assert_eq!(written.len(), size.max(least), "{size} {length}");
        }
    }
    assert_eq!(block(&interface, 15, &[10], Some(11))[..3], [0x20 | 0b11101, 3, 2]);
    assert_eq!(block(&interface, 16, &[10], Some(11))[..4], [0x20 | 0b11111, 0x20 | 0b11101, 3, 2]);
    assert_eq!(block(&interface, 20, &[10], Some(13))[..5], [0x20 | 0b11101, 0x20 | 3, 12, 0b11111, 3]);
    assert_eq!(block(&interface, 20, &[], Some(0))[..3], [0x20 | 0b11101, 0b11111, 0]);
}

/// TS 38.321 figure 6.1.2-4.
#[test]
fn elements_of_nr_follow_data_and_precede_padding() {
    let interface =
        RadioInterface { protocol: Protocol::Nr, slots_per_ms: 2, is_tdd: true, buffer_levels: &[10, 14] };
    let written = block(&interface, 20, &[3, 4], Some(12));
    assert_eq!(written, [4, 4, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 61, 2, 63, 0, 0, 0, 0]);
    let long = block(&interface, 304, &[300], None);
    assert_eq!((&long[..3], long.len()), (&[0x44, 1, 45][..], 304));
}
