//! PDUs of the MAC as bytes: subheaders, control elements, PDUs of RLC, padding.

use super::rlc;
use airwnd_kernel::Direction;
use airwnd_lab::radio::{Protocol, RadioInterface, TracedPdu};

/// LCID of the padding of both generations, and of the control elements of the uplink.
struct Lcids {
    padding: u8,
    short_buffer: u8,
    headroom: u8,
    /// LCID of the default bearer.
    first_bearer: u8,
}

/// TS 36.321 Tables 6.2.1-1 and -2.
const LTE: Lcids = Lcids { padding: 0b11111, short_buffer: 0b11101, headroom: 0b11010, first_bearer: 3 };
/// TS 38.321 Tables 6.2.1-1 and -2.
const NR: Lcids = Lcids { padding: 63, short_buffer: 61, headroom: 57, first_bearer: 4 };
/// P_CMAX,f,c of 23 dBm in a power headroom report of NR (TS 38.133 Table 10.1.18.1-1).
const MAX_POWER: u8 = 53;

/// Content of a transport block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Number of the bearer and PDU, in their order.
    pub pdus: Vec<(u8, TracedPdu)>,
    /// Backlog in a buffer status report.
    pub buffer_bytes: Option<u64>,
    /// Power headroom in a report.
    pub headroom_db: Option<f64>,
}

impl Block {
    /// Appends the PDU of a transport block of this size. In LTE it is longer if the model has filled the block without
    /// subheaders.
    pub fn write(&self, to: &mut Vec<u8>, interface: &RadioInterface, size: usize) {
        match interface.protocol {
            Protocol::Lte => self.write_lte(to, interface, size),
            Protocol::Nr => self.write_nr(to, interface, size),
        }
    }

    /// Control elements with their LCIDs.
    fn elements(&self, interface: &RadioInterface) -> Vec<(u8, Vec<u8>)> {
        let mut elements = Vec::new();
        if let Some(waiting) = self.buffer_bytes {
            let levels = interface.buffer_levels;
            let level = if waiting == 0 { 0 } else { 1 + levels.partition_point(|end| *end < waiting) as u8 };
            // All bearers are in the first logical channel group.
            match interface.protocol {
                Protocol::Lte => elements.push((LTE.short_buffer, vec![level])),
                Protocol::Nr => elements.push((NR.short_buffer, vec![level])),
            }
        }
        if let Some(headroom) = self.headroom_db {
            match interface.protocol {
                // TS 36.133 Table 9.1.8.4-1: from -23 dB
                Protocol::Lte => {
                    elements.push((LTE.headroom, vec![(headroom + 23.0).clamp(0.0, 63.0) as u8]))
                }
                Protocol::Nr => elements.push((NR.headroom, vec![nr_headroom(headroom), MAX_POWER])),
            }
        }
        elements
    }

    /// TS 36.321 §6.1.2: all subheaders precede the rest.
    fn write_lte(&self, to: &mut Vec<u8>, interface: &RadioInterface, size: usize) {
        let elements = self.elements(interface);
        let mut bodies = Vec::new();
        let mut lengths = Vec::new();
        for (bearer, pdu) in &self.pdus {
            let before = bodies.len();
            rlc::pdu(&mut bodies, pdu);
            lengths.push((LTE.first_bearer + bearer, bodies.len() - before));
        }
        let field = |length: usize| if length < 128 { 1 } else { 2 };
        let fixed: usize = elements.iter().map(|(_, body)| 1 + body.len()).sum();
        let sdus: usize = lengths.iter().map(|(_, length)| 1 + field(*length) + length).sum();
        // The last SDU needs no length without padding behind it.
        let last = lengths.last().map_or(0, |(_, length)| field(*length));
        let rest = size.saturating_sub(fixed + sdus - last);
        // One byte or two of padding are subheaders in front.
        let in_front = if rest <= 2 { rest } else { 0 };
        let is_padded = rest > 2;
        let mut subheaders: Vec<(u8, Option<usize>)> = vec![(LTE.padding, None); in_front];
        subheaders.extend(elements.iter().map(|(lcid, _)| (*lcid, None)));
        subheaders.extend(lengths.iter().map(|(lcid, length)| (*lcid, Some(*length))));
        if is_padded {
            subheaders.push((LTE.padding, None));
        }
        let count = subheaders.len();
        for (place, (lcid, length)) in (1..).zip(subheaders) {
            let extension = u8::from(place < count) << 5;
            to.push(extension | lcid);
            match length.filter(|_| place < count) {
                Some(length) if length < 128 => to.push(length as u8),
                Some(length) => to.extend((0x8000 | length as u16).to_be_bytes()),
                None => {}
            }
        }
        elements.iter().for_each(|(_, body)| to.extend(body));
        to.extend(bodies);
        if is_padded {
            to.resize(to.len() + rest - 1 - last, 0);
        }
    }

    /// TS 38.321 §6.1.2: each subheader precedes its part, and control elements of the uplink follow data.
    fn write_nr(&self, to: &mut Vec<u8>, interface: &RadioInterface, size: usize) {
        let begin = to.len();
        let mut body = Vec::new();
        for (bearer, pdu) in &self.pdus {
            body.clear();
            rlc::pdu(&mut body, pdu);
            let lcid = NR.first_bearer + bearer;
            match body.len() {
                length @ 0..256 => to.extend([lcid, length as u8]),
                length => {
                    to.push(0x40 | lcid);
                    to.extend((length as u16).to_be_bytes());
                }
            }
            to.extend(&body);
        }
        for (lcid, body) in self.elements(interface) {
            to.push(lcid);
            to.extend(body);
        }
        let written = to.len() - begin;
        if written < size {
            to.push(NR.padding);
            to.resize(begin + size, 0);
        }
    }
}

/// Power headroom of NR, in steps of 1 dB from -32 dB and of 2 dB from 22 dB (TS 38.133 Table 10.1.17.1-1).
fn nr_headroom(headroom_db: f64) -> u8 {
    let level = if headroom_db < 22.0 { headroom_db + 33.0 } else { 55.0 + (headroom_db - 22.0) / 2.0 };
    level.clamp(0.0, 63.0) as u8
}

/// Number of a direction in the frames of Wireshark.
pub fn direction(direction: Direction) -> u8 {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}
