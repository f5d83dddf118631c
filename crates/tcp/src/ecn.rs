//! Explicit congestion notification between the two ends: what a receiver feeds back of marked packets, and what the
//! sender makes of it.

use crate::Seq;
use crate::segment::{Codepoint, Flags, Segment};
use crate::stack::Ecn;

/// Both counters of marked packets begin here, so that a field of zero betrays a meddler (RFC 9768 §3.2.1).
const FIRST_COUNT: u8 = 5;
/// What the ACE field of a SYN/ACK, or of the ACK of one, says of a packet that came as not ECN-capable
/// (RFC 9768 Table 2 and Table 3).
const CAME_NOT_ECT: u8 = 0b010;
/// Marks after which an ACK is due (RFC 9768 §3.2.2.5.1).
const MARKS_FOR_ACK: u32 = 2;

/// What a SYN asks for (RFC 3168 §6.1.1, RFC 9768 §3.1.1). RFC 8257 §3.1 asks as RFC 3168 does.
pub(crate) fn request(wanted: Ecn) -> Flags {
    match wanted {
        Ecn::Off => Flags::default(),
        Ecn::Classic | Ecn::Dctcp => Flags::CWR | Flags::ECE,
        Ecn::Accurate => Flags::AE | Flags::CWR | Flags::ECE,
    }
}

/// What a listener agrees to when this SYN asks, and its answer.
pub(crate) fn answer(wanted: Ecn, syn: &Segment) -> (Ecn, Flags) {
    match (wanted, syn.flags.ace()) {
        (Ecn::Off, _) => (Ecn::Off, Flags::default()),
        //= RFC 9768 §3.1.1: both ends support accurate feedback
        (Ecn::Accurate, 0b111) => (Ecn::Accurate, Flags::from_ace(CAME_NOT_ECT)),
        (Ecn::Dctcp, 0b011) => (Ecn::Dctcp, Flags::ECE),
        //= RFC 9768 §3.1.2: the newest feedback that both ends support
        (_, 0b011 | 0b111) => (Ecn::Classic, Flags::ECE),
        _ => (Ecn::Off, Flags::default()),
    }
}

/// What a SYN/ACK agrees to (RFC 3168 §6.1.1, RFC 9768 Table 2).
pub(crate) fn agreed(wanted: Ecn, syn_ack: &Segment) -> Ecn {
    match (wanted, syn_ack.flags.ace()) {
        (Ecn::Accurate, 0b010 | 0b011 | 0b100 | 0b110) => Ecn::Accurate,
        (Ecn::Dctcp, 0b001) => Ecn::Dctcp,
        (Ecn::Classic | Ecn::Accurate, 0b001) => Ecn::Classic,
        _ => Ecn::Off,
    }
}

/// What a receiver has seen and tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    mode: Ecn,
    /// ECE stays until the sender says that it has reduced (RFC 3168 §6.1.3).
    latched: bool,
    /// Whether the last packet was marked (RFC 8257 §3.2 DCTCP.CE).
    ce: bool,
    /// Marked packets (RFC 9768 r.cep).
    count: u8,
    /// Marks since the last ACK.
    untold: u32,
    /// The next pure ACK is that of a SYN/ACK.
    answers_syn_ack: bool,
    marked: u64,
}

/// What a packet's mark asks of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Haste {
    /// What came before shall be acknowledged by itself, first.
    pub earlier_first: bool,
    /// The packet shall be acknowledged at once.
    pub at_once: bool,
}

impl Echo {
    pub fn new(mode: Ecn, answers_syn_ack: bool) -> Echo {
        let answers_syn_ack = answers_syn_ack && mode == Ecn::Accurate;
        Echo { mode, latched: false, ce: false, count: FIRST_COUNT, untold: 0, answers_syn_ack, marked: 0 }
    }

    /// Marked packets so far.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// A data segment arrived.
    pub fn on_data(&mut self, segment: &Segment) -> Haste {
        let ce = segment.ecn == Codepoint::Ce;
        let changed = std::mem::replace(&mut self.ce, ce) != ce;
        self.marked += u64::from(ce);
        match self.mode {
            Ecn::Off => Haste::default(),
            Ecn::Classic => {
                //= RFC 3168 §6.1.3: a mark on the segment that carries CWR counts anew
                self.latched = ce || (self.latched && !segment.flags.has(Flags::CWR));
                Haste::default()
            }
            //= RFC 8257 §3.2: an ACK of the old state for what came before, when the state changes
            Ecn::Dctcp => Haste { earlier_first: changed, at_once: false },
            Ecn::Accurate => {
                self.count = self.count.wrapping_add(u8::from(ce));
                self.untold += u32::from(ce);
                //= RFC 9768 §3.2.2.5.1: change-triggered and increment-triggered ACKs
                let at_once = ce && (changed || self.untold >= MARKS_FOR_ACK);
                Haste { earlier_first: false, at_once }
            }
        }
    }

    /// The bits of a segment that acknowledges all up to now; `pure` if it has no payload.
    pub fn flags(&mut self, pure: bool) -> Flags {
        self.untold = 0;
        match self.mode {
            Ecn::Off => Flags::default(),
            Ecn::Classic if self.latched => Flags::ECE,
            Ecn::Dctcp if self.ce => Flags::ECE,
            Ecn::Classic | Ecn::Dctcp => Flags::default(),
            //= RFC 9768 §3.2.2.1: the first ACK of a client tells how the SYN/ACK came
            Ecn::Accurate if std::mem::take(&mut self.answers_syn_ack) && pure => {
                Flags::from_ace(CAME_NOT_ECT)
            }
            Ecn::Accurate => Flags::from_ace(self.count),
        }
    }

    /// The bits of an ACK of what came before the packet that has just changed the state.
    pub fn earlier_flags(&self) -> Flags {
        if self.ce { Flags::default() } else { Flags::ECE }
    }
}

/// What a sender has heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heed {
    mode: Ecn,
    ect: Codepoint,
    /// Marked packets that the receiver has told of (RFC 9768 s.cep).
    count: u8,
    /// What was SND.NXT at the last reduction: none before it is acknowledged.
    reduced_until: Option<Seq>,
    /// The next new segment says that the window was reduced.
    cwr_due: bool,
}

/// What an ACK says of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Bytes that met congestion, as far as the feedback tells.
    pub bytes: u32,
    /// Whether there is congestion.
    pub any: bool,
    /// Whether the ACK must not let the window grow.
    pub forbids_growth: bool,
}

impl Heed {
    pub fn new(mode: Ecn, l4s: bool) -> Heed {
        let ect = if l4s { Codepoint::Ect1 } else { Codepoint::Ect0 };
        Heed { mode, ect, count: FIRST_COUNT, reduced_until: None, cwr_due: false }
    }

    /// An ACK that reports `delivered` bytes.
    pub fn on_ack(&mut self, flags: Flags, delivered: u32, mss: u32) -> Marks {
        match self.mode {
            Ecn::Off => Marks::default(),
            Ecn::Classic => {
                let any = flags.has(Flags::ECE);
                //= RFC 3168 §6.1.2: no growth in response to an ACK with ECE
                Marks { bytes: 0, any, forbids_growth: any }
            }
            Ecn::Dctcp => {
                //= RFC 8257 §3.3: all that an ACK with ECE acknowledges was marked
                let any = flags.has(Flags::ECE);
                Marks { bytes: if any { delivered } else { 0 }, any, forbids_growth: false }
            }
            Ecn::Accurate if delivered == 0 => Marks::default(),
            Ecn::Accurate => {
                let fresh = flags.ace().wrapping_sub(self.count) & 7;
                self.count = self.count.wrapping_add(fresh);
                let segments = delivered.div_ceil(mss);
                //= RFC 9768 §3.2.2.5.2: where the count may have gone round, assume that it did
                let told = u32::from(fresh);
                let marked = if segments > 7 { segments - (segments.wrapping_sub(told) & 7) } else { told };
                Marks { bytes: (marked * mss).min(delivered), any: marked > 0, forbids_growth: false }
            }
        }
    }

    /// Whether a sign of congestion asks for a reduction: the first in a window of data does.
    pub fn reduces(&mut self, una: Seq, nxt: Seq) -> bool {
        // The ACK of the last segment sent before the reduction is about the same congestion, and carries its ECE.
        if self.reduced_until.is_some_and(|end| !una.is_after(end)) {
            return false;
        }
        self.note_reduction(nxt);
        true
    }

    /// The window came down, for whatever reason (RFC 3168 §6.1.2).
    pub fn note_reduction(&mut self, nxt: Seq) {
        self.reduced_until = Some(nxt);
        self.cwr_due = matches!(self.mode, Ecn::Classic | Ecn::Dctcp);
    }

    /// The ECN field and control bits of a data segment.
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
