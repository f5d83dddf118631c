//! PDUs of RLC as bytes.

use super::bits::Bits;
use airwnd_lab::radio::{DataPdu, Nack, PduContent, PduFormat, Protocol, RlcMode, TracedPdu};

/// Most missing SDUs in a NACK range of NR.
const LONGEST_RANGE: usize = 255;

/// Appends a PDU; SDU bytes are zeros.
pub fn pdu(to: &mut Vec<u8>, pdu: &TracedPdu) {
    match &pdu.content {
        PduContent::Status { ack, nacks } => match pdu.format.protocol {
            Protocol::Lte => lte_status(to, pdu.format, *ack, nacks),
            Protocol::Nr => nr_status(to, pdu.format, *ack, nacks),
        },
        PduContent::Data(data) => {
            match (pdu.format.protocol, pdu.format.mode) {
                (Protocol::Lte, RlcMode::Um) => lte_um(to, pdu.format, data),
                (Protocol::Lte, RlcMode::Am) => lte_am(to, pdu.format, data),
                (Protocol::Nr, mode) => nr_data(to, pdu.format, mode, data),
            }
            to.resize(to.len() + data.data().0 as usize, 0);
        }
    }
}

/// FI: whether the first byte is not the first of an SDU, and the last byte not the last of one (TS 36.322 §6.2.2.6).
fn framing(bits: &mut Bits<'_>, data: &DataPdu) {
    let [starts, ends] = data.whole;
    bits.flag(!starts).flag(!ends);
}

/// Length indicators: 12 bits for each piece but the last (TS 36.322 §6.2.1.3).
fn length_indicators(bits: &mut Bits<'_>, data: &DataPdu) {
    let indicated = data.pieces.len() - 1;
    for (place, length) in (1..).zip(&data.pieces[..indicated]) {
        bits.flag(place < indicated).put(11, (*length).into());
    }
    bits.align();
}

/// TS 36.322 §6.2.1.3.
fn lte_um(to: &mut Vec<u8>, format: PduFormat, data: &DataPdu) {
    let mut bits = Bits::new(to);
    if format.sn_size > 5 {
        bits.put(3, 0);
    }
    framing(&mut bits, data);
    bits.flag(data.pieces.len() > 1).put(format.sn_size.into(), data.sn.unwrap_or_default());
    length_indicators(&mut bits, data);
}

/// TS 36.322 §6.2.1.4, §6.2.1.5.
fn lte_am(to: &mut Vec<u8>, format: PduFormat, data: &DataPdu) {
    let mut bits = Bits::new(to);
    let is_long = format.sn_size > 10;
    bits.flag(true).flag(data.is_segment).flag(data.polls);
    framing(&mut bits, data);
    bits.flag(data.pieces.len() > 1);
    if is_long {
        bits.flag(data.is_segment && data.is_last).put(1, 0);
    }
    bits.put(format.sn_size.into(), data.sn.unwrap_or_default());
    if data.is_segment && is_long {
        bits.put(16, data.offset.into());
    } else if data.is_segment {
        bits.flag(data.is_last).put(15, data.offset.into());
    }
    length_indicators(&mut bits, data);
}

/// TS 38.322 §6.2.2.3, §6.2.2.4.
fn nr_data(to: &mut Vec<u8>, format: PduFormat, mode: RlcMode, data: &DataPdu) {
    let mut bits = Bits::new(to);
    if mode == RlcMode::Am {
        bits.flag(true).flag(data.polls);
    }
    // SI: 00 whole, 01 first, 10 last, 11 other segment.
    let [starts, ends] = data.whole;
    bits.flag(!starts).flag(!ends);
    match (mode, data.sn, format.sn_size) {
        (_, None, _) => _ = bits.put(6, 0),
        (RlcMode::Um, Some(sn), 6) => _ = bits.put(6, sn),
        (_, Some(sn), 18) => _ = bits.put(2, 0).put(18, sn),
        (RlcMode::Am, Some(sn), size) => _ = bits.put(size.into(), sn),
        (RlcMode::Um, Some(sn), size) => _ = bits.put(2, 0).put(size.into(), sn),
    }
    if data.offset > 0 {
        bits.put(16, data.offset.into());
    }
}

/// TS 36.322 §6.2.1.6.
fn lte_status(to: &mut Vec<u8>, format: PduFormat, ack: u64, nacks: &[Nack]) {
    let mut bits = Bits::new(to);
    let size = u32::from(format.sn_size);
    let offset = if format.sn_size > 10 { 16 } else { 15 };
    bits.put(4, 0).put(size, ack).flag(!nacks.is_empty());
    for (place, nack) in (1..).zip(nacks) {
        bits.put(size, nack.sn).flag(place < nacks.len()).flag(nack.part.is_some());
        if let Some((start, end)) = nack.part {
            // All bits of SOend are set if the end is not known.
            bits.put(offset, start).put(offset, end.map_or(u64::MAX, |end| end - 1));
        }
    }
    bits.align();
}

/// TS 38.322 §6.2.2.5.
fn nr_status(to: &mut Vec<u8>, format: PduFormat, ack: u64, nacks: &[Nack]) {
    let mut bits = Bits::new(to);
    let size = u32::from(format.sn_size);
    let is_long = format.sn_size > 12;
    bits.put(4, 0).put(size, ack).flag(!nacks.is_empty()).put(if is_long { 1 } else { 7 }, 0);
    let mut rest = nacks;
    while let Some(first) = rest.first() {
        let follows =
            |pair: &[Nack]| pair.iter().all(|nack| nack.part.is_none()) && pair[0].sn + 1 == pair[1].sn;
        let run = 1 + rest.windows(2).take(LONGEST_RANGE - 1).take_while(|pair| follows(pair)).count();
        rest = &rest[run..];
        bits.put(size, first.sn).flag(!rest.is_empty()).flag(first.part.is_some()).flag(run > 1);
        bits.put(if is_long { 3 } else { 1 }, 0);
        if let Some((start, end)) = first.part {
            bits.put(16, start).put(16, end.map_or(u64::MAX, |end| end - 1));
        }
        if run > 1 {
            bits.put(8, run as u64);
        }
    }
}
