//! Receivers that acknowledge otherwise than RFC 5681 §4.2 requires, so that the sender sends faster: ACK division,
//! spoofed duplicate ACKs and optimistic ACKs (Savage et al., ACM CCR 29(5), 1999).

use crate::{Config, Seq};

/// Acknowledgment numbers of a misbehaving receiver, which acknowledges each segment at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Misbehaviour {
    /// Parts in which new data is acknowledged, 1 or more.
    division: u32,
    /// Duplicates of the ACK of each segment.
    spoofed: u32,
    /// Maximum bytes acknowledged beyond those received.
    max_lead: u32,
    /// Bytes acknowledged beyond those received.
    lead: u32,
    /// Acknowledgment number of the last ACK.
    acked: Seq,
    /// Parts, and duplicates, that remain to be sent.
    parts: u32,
    duplicates: u32,
}

impl Misbehaviour {
    /// Returns the misbehaviour that the parameters describe, if any.
    pub fn of(config: &Config) -> Option<Box<Misbehaviour>> {
        let Config { ack_division, spoofed_duplicate_acks, optimistic_acks, .. } = *config;
        let misbehaves = ack_division > 1 || spoofed_duplicate_acks > 0 || optimistic_acks.0 > 0;
        misbehaves.then(|| {
            Box::new(Misbehaviour {
                division: ack_division,
                spoofed: spoofed_duplicate_acks,
                max_lead: optimistic_acks.0 as u32,
                lead: 0,
                acked: Seq(0),
                parts: 0,
                duplicates: 0,
            })
        })
    }

    /// Sets the first acknowledgment number.
    pub fn synchronise(&mut self, nxt: Seq) {
        self.acked = nxt;
    }

    /// Whether data is acknowledged before it is received, and missing data is given up.
    pub fn is_optimistic(&self) -> bool {
        self.max_lead > 0
    }

    /// Returns the bytes acknowledged beyond those received.
    pub fn lead(&self) -> u32 {
        self.lead
    }

    /// Processes a segment with payload, of which `in_order` bytes became in order. `nxt`: the next expected byte.
    pub fn on_data(&mut self, in_order: u32, nxt: Seq) {
        self.lead = self.lead.saturating_add(in_order).min(self.max_lead);
        self.parts = self.division.min((nxt + self.lead).since(self.acked)).saturating_sub(1);
        self.duplicates = self.spoofed;
    }

    /// Processes data that was received before: the sender has ignored the last ACK, which was beyond the data sent.
    pub fn on_old_data(&mut self) {
        self.lead = 0;
    }

    /// Processes the peer's FIN, beyond which there is nothing to acknowledge.
    pub fn on_end(&mut self) {
        (self.lead, self.max_lead) = (0, 0);
    }

    /// Takes the acknowledgment number of the next ACK that covers a part of the data to acknowledge. `nxt`: the next
    /// expected byte.
    pub fn take_part(&mut self, nxt: Seq) -> Option<Seq> {
        self.parts = self.parts.checked_sub(1)?;
        self.acked += (nxt + self.lead).since(self.acked) / (self.parts + 2);
        Some(self.acked)
    }

    /// Takes a duplicate ACK, which follows the ACK of a segment.
    pub fn take_duplicate(&mut self) -> bool {
        let is_due = self.duplicates > 0;
        self.duplicates -= u32::from(is_due);
        is_due
    }

    /// Records an ACK of all that is to be acknowledged. `nxt`: the next expected byte.
    pub fn on_ack_sent(&mut self, nxt: Seq) {
        self.acked = self.acked.max(nxt + self.lead);
        self.parts = 0;
    }
}
