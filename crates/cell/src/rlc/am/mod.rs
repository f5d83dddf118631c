//! Acknowledged mode (TS 36.322 §5.1.3): what is lost is sent again.
//!
//! A data PDU is an interval of the bearer's stream of SDU bytes, as in unacknowledged mode, and a part of one
//! that is sent again is an interval of that. The receiver answers polls with STATUS PDUs, which ride in the
//! other direction's blocks.

mod received;
mod rx;
mod status;
#[cfg(test)]
mod tests;
mod tx;

pub use rx::Rx;
pub use status::{Nack, Status};
pub use tx::Tx;

use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span};

/// AM_Window_Size for a 10-bit sequence number (TS 36.322 §7.2).
pub const WINDOW: u64 = 512;

/// Whose habits acknowledged mode has, where they are not parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Conduct {
    /// As ns-3 LENA: what is not acknowledged yet is reported as if it waited; a data PDU and a STATUS PDU share
    /// a block of a UE only; only whole PDUs are sent again; a poll is answered before the gaps below it
    /// have had their time; a UE's STATUS PDU has room for one missing PDU; and the MAC hears of what
    /// waits at arrivals, polls and expiries of t-PollRetransmit only.
    #[word = "ns-3"]
    Ns3,
    /// As TS 36.322 and TS 36.321 say.
    #[word = "standard"]
    Standard,
}

/// Acknowledged mode.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.322 §5.1.3, §7.3; ns-3 LteRlcAm")]
pub struct Params {
    /// Whose habits it has, where they are not parameters.
    #[param(default = Conduct::Standard, unit = "word", source = "TS 36.322 §5.2; ns-3 lte-rlc-am.cc: ns-3")]
    pub conduct: Conduct,
    /// t-PollRetransmit: how long the answer to a poll is waited for.
    #[param(default = Span::from_millis(20), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::PollRetransmitTimer; TS 36.331 §9.2.1: 45 ms")]
    pub poll_retransmit: Span,
    /// t-Reordering: how long a missing PDU is waited for before it is reported missing.
    #[param(default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::ReorderingTimer; TS 36.331 §9.2.1: 35 ms")]
    pub reordering: Span,
    /// t-StatusProhibit: the least time between two STATUS PDUs.
    #[param(default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::StatusProhibitTimer; TS 36.331 §9.2.1: 0 ms")]
    pub status_prohibit: Span,
    /// pollPDU: every so many new PDUs ask for a STATUS PDU.
    #[param(default = 1, range = 1..=1_000_000)]
    #[param(unit = "PDU", source = "ns-3 lte-rlc-am.cc, m_pollPdu; TS 36.331 §9.2.1: infinity")]
    pub poll_pdu: u64,
    /// pollByte: a new PDU after so many bytes asks for a STATUS PDU.
    #[param(default = Bytes(50), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 lte-rlc-am.cc, m_pollByte; TS 36.331 §9.2.1: infinity")]
    pub poll_byte: Bytes,
    /// maxRetxThreshold: how often a PDU or a segment of it is sent again before the radio link is declared failed, and RLC
    /// established anew; none: for ever.
    #[param(default = None, range = 1..=1000)]
    #[param(unit = "1", source = "ns-3 counts to 5 and goes on; TS 36.331 §9.2.1: 4")]
    pub max_retx: Option<u16>,
    /// How often a buffer that is not empty is reported to the MAC after the last arrival.
    #[param(default = Span::from_millis(20), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::ReportBufferStatusTimer")]
    pub report_period: Span,
}

impl Params {
    fn is_standard(&self) -> bool {
        self.conduct == Conduct::Standard
    }
}

/// A data PDU, or a part of one that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number, counted without wrap-around. On air it has 10 bits; the window of 512 tells the two apart.
    pub sn: u64,
    /// Where the whole PDU begins in the stream; `begin` less this is the segment offset SO.
    pub whole_from: u64,
    /// First byte of the stream in this PDU.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
    /// LSF: it holds the last byte of the whole PDU.
    pub last: bool,
    /// P: it asks for a STATUS PDU.
    pub poll: bool,
    /// With its header.
    pub size: Bytes,
}

/// What one transport block carries of a bearer.
#[derive(Clone, Debug)]
pub struct Block {
    /// A STATUS PDU about the other direction, ...
    pub status: Status,
    /// ... if there is one.
    pub has_status: bool,
    /// Data PDUs.
    pub data: Vec<Pdu>,
}

impl Default for Block {
    fn default() -> Self {
        let status = Status { ack: 0, nacks: Vec::with_capacity(16) };
        Block { status, has_status: false, data: Vec::with_capacity(8) }
    }
}

impl Block {
    /// Forgets what it carried, and keeps its capacity.
    pub fn clear(&mut self) {
        self.has_status = false;
        self.data.clear();
    }
}
