//! Explicit congestion notification between the two ends: the receiver's feedback of marks, and the sender's response.

use crate::Seq;
use crate::segment::{Codepoint, Flags, Segment};
use crate::stack::Ecn;

/// Initial value of both counters of marked packets, so that a field of zero reveals a modification on the path (RFC
/// 9768 §3.2.1).
const FIRST_COUNT: u8 = 5;
/// ACE field of a SYN/ACK, or of the ACK of one, for a packet that arrived as not ECN-capable (RFC 9768 Table 2 and
/// Table 3).
const ARRIVED_NOT_ECT: u8 = 0b010;
/// Marks after which an ACK is due (RFC 9768 §3.2.2.5.1).
const MARKS_FOR_ACK: u32 = 2;

/// Returns the ECN request bits of a SYN (RFC 3168 §6.1.1, RFC 9768 §3.1.1). RFC 8257 §3.1 uses the same bits as RFC
/// 3168.
pub(crate) fn request(supported: Ecn) -> Flags {
    match supported {
        Ecn::Off => Flags::default(),
        Ecn::Classic | Ecn::Dctcp => Flags::CWR | Flags::ECE,
        Ecn::Accurate => Flags::AE | Flags::CWR | Flags::ECE,
    }
}

/// Returns the mode to which a listener agrees for this SYN, and the bits of its SYN/ACK.
pub(crate) fn answer(supported: Ecn, syn: &Segment) -> (Ecn, Flags) {
    match (supported, syn.flags.ace()) {
        (Ecn::Off, _) => (Ecn::Off, Flags::default()),
        //= RFC 9768 §3.1.1: both ends support accurate feedback
        (Ecn::Accurate, 0b111) => (Ecn::Accurate, Flags::from_ace(ARRIVED_NOT_ECT)),
        (Ecn::Dctcp, 0b011) => (Ecn::Dctcp, Flags::ECE),
        //= RFC 9768 §3.1.2: the newest feedback that both ends support
        (_, 0b011 | 0b111) => (Ecn::Classic, Flags::ECE),
        _ => (Ecn::Off, Flags::default()),
    }
}

/// Returns the mode to which a SYN/ACK agrees (RFC 3168 §6.1.1, RFC 9768 Table 2).
pub(crate) fn agreed(supported: Ecn, syn_ack: &Segment) -> Ecn {
    match (supported, syn_ack.flags.ace()) {
        (Ecn::Accurate, 0b010 | 0b011 | 0b100 | 0b110) => Ecn::Accurate,
        (Ecn::Dctcp, 0b001) => Ecn::Dctcp,
        (Ecn::Classic | Ecn::Accurate, 0b001) => Ecn::Classic,
        _ => Ecn::Off,
    }
}

/// ECN feedback state of a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    mode: Ecn,
    /// ECE remains set until the sender indicates a reduction by CWR (RFC 3168 §6.1.3).
    latched: bool,
    /// True if the last packet was marked (RFC 8257 §3.2 DCTCP.CE).
    ce: bool,
    /// Number of marked packets (RFC 9768 r.cep).
    count: u8,
    /// Number of marks since the last ACK.
    unreported: u32,
    /// The next pure ACK acknowledges a SYN/ACK.
    answers_syn_ack: bool,
    marked: u64,
}

/// ACKs triggered by a packet's mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckTrigger {
    /// A separate ACK of earlier data is sent first.
    pub earlier_first: bool,
    /// The packet is acknowledged at once.
    pub at_once: bool,
}

impl Echo {
    pub fn new(mode: Ecn, answers_syn_ack: bool) -> Echo {
        let answers_syn_ack = answers_syn_ack && mode == Ecn::Accurate;
        Echo {
            mode,
            latched: false,
            ce: false,
            count: FIRST_COUNT,
            unreported: 0,
            answers_syn_ack,
            marked: 0,
        }
    }

    /// Returns the number of marked packets so far.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Processes a data segment.
    pub fn on_data(&mut self, segment: &Segment) -> AckTrigger {
        let ce = segment.ecn == Codepoint::Ce;
        let changed = std::mem::replace(&mut self.ce, ce) != ce;
        if ce {
            self.marked += 1;
        }
        match self.mode {
            Ecn::Off => AckTrigger::default(),
            Ecn::Classic => {
                //= RFC 3168 §6.1.3: a mark on the segment that carries CWR sets ECE again
                self.latched = ce || (self.latched && !segment.flags.has(Flags::CWR));
                AckTrigger::default()
            }
            //= RFC 8257 §3.2: a state change triggers an ACK of earlier data with the old state
            Ecn::Dctcp => AckTrigger { earlier_first: changed, at_once: false },
            Ecn::Accurate => {
                self.count = self.count.wrapping_add(u8::from(ce));
                self.unreported += u32::from(ce);
                //= RFC 9768 §3.2.2.5.1: change-triggered and increment-triggered ACKs
                let at_once = ce && (changed || self.unreported >= MARKS_FOR_ACK);
                AckTrigger { earlier_first: false, at_once }
            }
        }
    }

    /// Returns the ECN bits of a segment that acknowledges all data received; `pure`: a segment without payload.
    pub fn flags(&mut self, pure: bool) -> Flags {
        self.unreported = 0;
        match self.mode {
            Ecn::Off => Flags::default(),
            Ecn::Classic if self.latched => Flags::ECE,
            Ecn::Dctcp if self.ce => Flags::ECE,
            Ecn::Classic | Ecn::Dctcp => Flags::default(),
            //= RFC 9768 §3.2.2.1: the first ACK of a client echoes the ECN field of the SYN/ACK
            Ecn::Accurate if std::mem::take(&mut self.answers_syn_ack) && pure => {
                Flags::from_ace(ARRIVED_NOT_ECT)
            }
            Ecn::Accurate => Flags::from_ace(self.count),
        }
    }

    /// Returns the ECN bits of an ACK of the data before the packet that changed the state.
    pub fn earlier_flags(&self) -> Flags {
        if self.ce { Flags::default() } else { Flags::ECE }
    }
}

/// ECN response state of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnResponse {
    mode: Ecn,
    ect: Codepoint,
    /// Number of marked packets reported by the receiver (RFC 9768 s.cep).
    count: u8,
    /// SND.NXT at the last reduction; no further reduction before it is acknowledged.
    reduced_until: Option<Seq>,
    /// The next new segment carries CWR.
    cwr_due: bool,
}

/// Marks reported by an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Bytes marked, as far as the feedback specifies.
    pub bytes: u32,
    /// True if any congestion is reported.
    pub any: bool,
    /// True if the ACK must not increase cwnd.
    pub forbids_growth: bool,
}

impl EcnResponse {
    pub fn new(mode: Ecn, l4s: bool) -> EcnResponse {
        let ect = if l4s { Codepoint::Ect1 } else { Codepoint::Ect0 };
        EcnResponse { mode, ect, count: FIRST_COUNT, reduced_until: None, cwr_due: false }
    }

    /// Processes an ACK that reports `delivered` bytes.
    pub fn on_ack(&mut self, flags: Flags, delivered: u32, mss: u32) -> Marks {
        match self.mode {
            Ecn::Off => Marks::default(),
            Ecn::Classic => {
                let any = flags.has(Flags::ECE);
                //= RFC 3168 §6.1.2: no growth in response to an ACK with ECE
                Marks { bytes: 0, any, forbids_growth: any }
            }
            Ecn::Dctcp => {
                //= RFC 8257 §3.3: all data acknowledged by an ACK with ECE was marked
                let any = flags.has(Flags::ECE);
                Marks { bytes: if any { delivered } else { 0 }, any, forbids_growth: false }
            }
            Ecn::Accurate if delivered == 0 => Marks::default(),
            Ecn::Accurate => {
                let fresh = flags.ace().wrapping_sub(self.count) & 7;
                self.count = self.count.wrapping_add(fresh);
                let segments = delivered.div_ceil(mss);
                //= RFC 9768 §3.2.2.5.2: assume a wrap of the counter wherever one is possible
                let reported = u32::from(fresh);
                let marked =
                    if segments > 7 { segments - (segments.wrapping_sub(reported) & 7) } else { reported };
                Marks { bytes: (marked * mss).min(delivered), any: marked > 0, forbids_growth: false }
            }
        }
    }

    /// Returns true if a congestion signal requires a reduction: the first one per window of data.
    pub fn reduces(&mut self, una: Seq, nxt: Seq) -> bool {
        // The ACK of the last segment sent before the reduction reports the same congestion event and still carries
        // ECE.
        if self.reduced_until.is_some_and(|end| !una.is_after(end)) {
            return false;
        }
        self.note_reduction(nxt);
        true
    }

    /// Records a reduction of cwnd for any reason (RFC 3168 §6.1.2).
    pub fn note_reduction(&mut self, nxt: Seq) {
        self.reduced_until = Some(nxt);
        self.cwr_due = matches!(self.mode, Ecn::Classic | Ecn::Dctcp);
    }

    /// Returns the ECN field and control bits of a data segment.
    pub fn on_send(&mut self, retransmission: bool) -> (Codepoint, Flags) {
        match self.mode {
            Ecn::Off => (Codepoint::NotEct, Flags::default()),
            //= RFC 3168 §6.1.5: retransmissions are not ECN-capable
            Ecn::Classic if retransmission => (Codepoint::NotEct, Flags::default()),
            Ecn::Accurate => (self.ect, Flags::default()),
            Ecn::Classic | Ecn::Dctcp => {
                let cwr = !retransmission && std::mem::take(&mut self.cwr_due);
                (self.ect, if cwr { Flags::CWR } else { Flags::default() })
            }
        }
    }
}
