//! Frames of MAC and RLC for Wireshark, from the records of a run.
//!
//! A frame is an exported PDU: the name of a dissector of Wireshark, the context that a PDU itself does not state, and
//! the PDU. `mac-lte-framed` is a dissector by name. The others are heuristic dissectors of UDP payloads, which begin with
//! a magic text and have to be enabled: Wireshark 4.0 does not find `mac-nr-framed`, and has none for RLC.

mod bits;
mod mac;
mod rlc;

use airwnd_kernel::Direction;
use airwnd_lab::radio::{
    BlockOutcome, BlockRecord, Control, ControlRecord, PduRecord, Protocol, RadioEvent, RadioInterface,
    RadioRecord, RlcMode, TracedPdu, UeId, tbs_index,
};
use airwnd_units::{Span, Time};
use mac::Block;
use std::collections::BTreeMap;

/// Link type of exported PDUs (LINKTYPE_WIRESHARK_UPPER_PDU).
pub const EXPORTED_PDU: u32 = 252;
/// Tags of exported PDUs: a dissector's name, the name of a heuristic one, and the end of the tags.
const DISSECTOR: u16 = 12;
const HEURISTIC: u16 = 13;
const END: u16 = 0;
/// C-RNTI in the context of a frame, and type of the RNTI.
const C_RNTI: u8 = 3;
const NO_RNTI: u8 = 0;
/// Tag behind which the PDU follows.
const PAYLOAD: u8 = 1;

/// A layer whose PDUs are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioLayer {
    /// Transport blocks and scheduling requests.
    Mac,
    /// PDUs of RLC.
    Rlc,
}

impl RadioLayer {
    /// All layers.
    pub const ALL: [RadioLayer; 2] = [RadioLayer::Mac, RadioLayer::Rlc];

    /// Name of the layer and of its interface in a file.
    pub fn word(self) -> &'static str {
        match self {
            RadioLayer::Mac => "mac",
            RadioLayer::Rlc => "rlc",
        }
    }

    /// Description of its interface.
    pub fn interface(self) -> &'static str {
        match self {
            RadioLayer::Mac => "transport blocks on air",
            RadioLayer::Rlc => "PDUs of RLC when they are put into a block",
        }
    }
}

/// A HARQ process of a UE.
type ProcessOf = (UeId, Direction, u8, u8);

/// Builds frames from records.
pub struct RadioFrames {
    interface: RadioInterface,
    /// End of the warm-up.
    begin: Time,
    layers: Vec<RadioLayer>,
    /// Content of the blocks of HARQ processes, and whether it has been on air.
    blocks: BTreeMap<ProcessOf, (Block, bool)>,
    frame: Vec<u8>,
}

impl RadioFrames {
    /// Frames of these layers.
    pub fn new(interface: RadioInterface, begin: Time, layers: Vec<RadioLayer>) -> RadioFrames {
        RadioFrames { interface, begin, layers, blocks: BTreeMap::new(), frame: Vec::new() }
    }

    /// The layers.
    pub fn layers(&self) -> &[RadioLayer] {
        &self.layers
    }

    /// Handles a record. Passes the frame that it completes, if any, with its time and its layer's place in the list.
    pub fn see(&mut self, record: &RadioRecord, write: &mut dyn FnMut(usize, Span, &[u8])) {
        let layer = match &record.event {
            RadioEvent::Pdu(pdu) => {
                self.keep(record.ue, pdu);
                self.rlc_frame(record.ue, pdu);
                RadioLayer::Rlc
            }
            RadioEvent::Control(control) => {
                if !self.control(record, control) {
                    return;
                }
                RadioLayer::Mac
            }
            RadioEvent::Block(block) => {
                if !self.block(record, block) {
                    return;
                }
                RadioLayer::Mac
            }
            RadioEvent::Rrc(_) => {
                // Blocks on air are lost with the cell.
                self.blocks.retain(|(ue, ..), _| *ue != record.ue);
                return;
            }
            RadioEvent::Drx(_) | RadioEvent::Grant(_) | RadioEvent::Sdu(_) => return,
        };
        if let Some(place) = self.layers.iter().position(|wanted| *wanted == layer) {
            write(place, record.at.since(self.begin), &self.frame);
        }
    }

    /// The block of a process that is being filled.
    fn filling(&mut self, process: ProcessOf) -> &mut Block {
        let (block, has_been_on_air) = self.blocks.entry(process).or_default();
        if std::mem::take(has_been_on_air) {
            *block = Block::default();
        }
        block
    }

    fn keep(&mut self, ue: UeId, record: &PduRecord) {
        let process = (ue, record.direction, record.carrier.0, record.process);
        self.filling(process).pdus.push((record.bearer.0, record.pdu.clone()));
    }

    /// Keeps a control element for its block, or makes the frame of a scheduling request. Returns whether there is one.
    fn control(&mut self, record: &RadioRecord, control: &ControlRecord) -> bool {
        let Some(process) = control.process else {
            let is_shown = control.content == Control::Request && self.interface.protocol == Protocol::Lte;
            if is_shown {
                self.request_frame(record);
            }
            return is_shown;
        };
        let block = self.filling((record.ue, Direction::Up, 0, process));
        match control.content {
            Control::Request => {}
            Control::Buffer(waiting) => block.buffer_bytes = Some(waiting.0),
            Control::Headroom(headroom) => block.headroom_db = Some(headroom.0),
        }
        false
    }

    /// Makes the frame of a transmission on air. Returns whether there was one.
    fn block(&mut self, record: &RadioRecord, event: &BlockRecord) -> bool {
        let sent = event.transmission;
        let process = (record.ue, sent.direction, sent.carrier.0, sent.process);
        let nothing_sent = event.outcome == BlockOutcome::Unused
            || event.outcome == BlockOutcome::GrantLost && sent.direction == Direction::Up;
        let Some((_, has_been_on_air)) = self.blocks.get_mut(&process) else { return false };
        if nothing_sent {
            return false;
        }
        *has_been_on_air = true;
        match self.interface.protocol {
            Protocol::Lte => self.lte_context(record, event),
            Protocol::Nr => self.nr_context(record, event),
        }
        let RadioFrames { interface, blocks, frame, .. } = self;
        blocks[&process].0.write(frame, interface, sent.size.0 as usize);
        true
    }

    /// Begins a frame: the name of its dissector.
    fn begin(&mut self, tag: u16, dissector: &str) {
        self.frame.clear();
        let length = dissector.len().next_multiple_of(4);
        self.frame.extend(tag.to_be_bytes());
        self.frame.extend((length as u16).to_be_bytes());
        self.frame.extend(dissector.as_bytes());
        self.frame.resize(4 + length, 0);
        self.frame.extend(END.to_be_bytes());
        self.frame.extend([0; 2]);
    }

    fn radio_type(&self) -> u8 {
        1 + u8::from(self.interface.is_tdd)
    }

    /// Slots since the start of the simulation.
    fn slot(&self, at: Time) -> u64 {
        at.since(Time::ZERO).0 / (1_000_000 / self.interface.slots_per_ms)
    }

    /// RNTI and UE identifier: the model has no RNTI.
    fn identifiers(&mut self, [rnti, ue_id]: [u8; 2], ue: UeId) {
        let number = (ue.0 + 1) as u16;
        for tag in [rnti, ue_id] {
            self.frame.push(tag);
            self.frame.extend(number.to_be_bytes());
        }
    }

    /// The begin of a frame of MAC-LTE.
    fn lte_head(&mut self, at: Time, direction: Direction, rnti_type: u8) {
        self.begin(DISSECTOR, "mac-lte-framed");
        self.frame.extend([self.radio_type(), mac::direction(direction), rnti_type]);
        let subframe = self.slot(at);
        let number = (((subframe / 10 % 1024) << 4) | (subframe % 10)) as u16;
        self.frame.push(4);
        self.frame.extend(number.to_be_bytes());
    }

    /// Context of a transport block of LTE: subframe, retransmissions, CRC, carrier, and what the grant says.
    fn lte_context(&mut self, record: &RadioRecord, event: &BlockRecord) {
        let sent = event.transmission;
        self.lte_head(record.at, sent.direction, C_RNTI);
        self.identifiers([2, 3], record.ue);
        let again = sent.number - 1;
        self.frame.extend([6, again]);
        match event.outcome {
            BlockOutcome::Decoded => self.frame.extend([7, 1]),
            BlockOutcome::Failed => self.frame.extend([7, 0]),
            BlockOutcome::GrantLost | BlockOutcome::Unused => {}
        }
        self.frame.extend([10, sent.carrier.0]);
        let prbs = sent.prbs.0 as u8;
        match sent.direction {
            // Format 1 or 2, allocation type 0, level unknown, MCS, redundancy version, PRBs, process, NDI, block, again.
            Direction::Down => {
                let format = if sent.layers > 1 { 6 } else { 1 };
                let version = [0, 2, 3, 1][usize::from(again % 4)];
                let fields = [format, 0, 0, sent.mcs.0, version, prbs, sent.process, u8::from(again == 0), 1];
                self.frame.extend([11, 10]);
                self.frame.extend(fields);
                self.frame.push(u8::from(again > 0));
            }
            // Modulation, TBS index, PRBs, first PRB, process, NDI.
            Direction::Up => {
                let index = tbs_index(Direction::Up, sent.mcs);
                let (first, new) = (event.first as u8, u8::from(again == 0));
                self.frame.extend([11, 6, event.modulation, index, prbs, first, sent.process, new]);
            }
        }
        self.frame.push(PAYLOAD);
    }

    /// Context of a transport block of NR: slot and HARQ process.
    fn nr_context(&mut self, record: &RadioRecord, event: &BlockRecord) {
        let sent = event.transmission;
        self.begin(HEURISTIC, "mac_nr_udp");
        self.frame.extend(b"mac-nr");
        self.frame.extend([self.radio_type(), mac::direction(sent.direction), C_RNTI]);
        self.identifiers([2, 3], record.ue);
        let (slot, in_frame) = (self.slot(record.at), 10 * self.interface.slots_per_ms);
        self.frame.extend([6, sent.process, 7]);
        self.frame.extend(((slot / in_frame % 1024) as u16).to_be_bytes());
        self.frame.extend(((slot % in_frame) as u16).to_be_bytes());
        self.frame.push(PAYLOAD);
    }

    /// A scheduling request of LTE.
    fn request_frame(&mut self, record: &RadioRecord) {
        self.lte_head(record.at, Direction::Up, NO_RNTI);
        let number = ((record.ue.0 + 1) as u16).to_be_bytes();
        // One request, with UE identifier and RNTI.
        self.frame.extend([17, 0, 1]);
        self.frame.extend(number);
        self.frame.extend(number);
        self.frame.push(PAYLOAD);
    }

    /// A PDU of RLC.
    fn rlc_frame(&mut self, ue: UeId, record: &PduRecord) {
        let TracedPdu { format, .. } = &record.pdu;
        let mode = match format.mode {
            RlcMode::Um => 2,
            RlcMode::Am => 4,
        };
        let (sn_size, direction) = (format.sn_size as u8, mac::direction(record.direction));
        let (number, bearer) = (((ue.0 + 1) as u16).to_be_bytes(), record.bearer.0 + 1);
        match format.protocol {
            Protocol::Lte => {
                self.begin(HEURISTIC, "rlc_lte_udp");
                self.frame.extend(b"rlc-lte");
                self.frame.extend([mode, 2, sn_size, 3, direction, 5]);
                self.frame.extend(number);
                // Channel type DRB, and its number.
                self.frame.extend([6, 0, 5, 7, 0, bearer, PAYLOAD]);
            }
            Protocol::Nr => {
                self.begin(HEURISTIC, "rlc_nr_udp");
                self.frame.extend(b"rlc-nr");
                self.frame.extend([mode, sn_size, 2, direction, 3]);
                self.frame.extend(number);
                self.frame.extend([4, 5, 5, bearer, PAYLOAD]);
            }
        }
        rlc::pdu(&mut self.frame, &record.pdu);
    }
}

#[cfg(test)]
mod tests;
