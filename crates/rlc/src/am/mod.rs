//! Acknowledged mode (TS 36.322 §5.1.3; TS 38.322 §5.2.3): lost PDUs are retransmitted.
//!
//! In LTE a sequence number is that of a PDU, which may be retransmitted in segments; in NR it is that of an SDU, which
//! may be sent in segments. What follows is written for LTE; for NR read SDU for PDU.
//!
//! A data PDU is an interval of the bearer's stream of SDU bytes, as in unacknowledged mode; a segment of a PDU that is
//! retransmitted is an interval of that. The receiver answers polls with STATUS PDUs, which share the blocks of the
//! other direction.

mod compat;
mod received;
mod rules;
mod rx;
mod status;
#[cfg(test)]
mod tests;
mod tx;

pub(crate) use rules::{Filling, Rules};
pub use rx::Rx;
pub use status::{Nack, Status};
pub use tx::Tx;

use crate::Protocol;
use crate::nr::{Headers, LONGEST_HEADERS};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span};

/// Format of PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    protocol: Protocol,
    /// Size of a sequence number in bits.
    pub(crate) sn_size: u16,
}

impl Format {
    /// AM_Window_Size: half of the sequence numbers.
    //= TS 36.322 §7.2
    //= TS 38.322 §7.2
    fn window(self) -> u64 {
        1 << (self.sn_size - 1)
    }

    /// LTE: header of a PDU (TS 36.322 §6.2.1.4) or of a segment of one (§6.2.1.5), without length indicators.
    fn fixed_header(self, part: bool) -> Bytes {
        let pdu = if self.sn_size == LTE_SIZES[1] { Bytes(3) } else { Bytes(2) };
        if part { pdu + Bytes(2) } else { pdu }
    }

    /// NR: headers of an SDU and its segments.
    fn headers(self) -> Headers {
        if self.sn_size == NR_SIZES[0] { Headers::AM_12 } else { Headers::AM_18 }
    }

    /// Headers of a PDU, at most.
    pub(super) fn longest_headers(self) -> Bytes {
        match self.protocol {
            Protocol::Lte => self.fixed_header(true),
            Protocol::Nr => LONGEST_HEADERS,
        }
    }
}

/// Sizes of a sequence number in bits: TS 36.322 §6.2.2.3.
pub const LTE_SIZES: [u16; 2] = [10, 16];
/// TS 38.322 §6.2.3.3.
pub const NR_SIZES: [u16; 2] = [12, 18];

/// Model of acknowledged mode, where its behaviour is not a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Conduct {
    /// As in ns-3 LENA: unacknowledged PDUs are reported as backlog; only in the uplink can a data PDU and a STATUS PDU
    /// share a block; only whole PDUs are retransmitted; a poll is answered before t-Reordering has expired for the
    /// gaps below it; a UE's STATUS PDU has space for one missing PDU; buffer status is reported to the MAC only at
    /// arrivals, polls and expiries of t-PollRetransmit.
    #[word = "ns-3"]
    Ns3,
    /// As in TS 36.322 and TS 36.321.
    #[word = "standard"]
    Standard,
}

/// Quirks of ns-3's acknowledged mode.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 LteRlcAm")]
pub struct Quirks {
    /// Model, where its behaviour is not a parameter.
    #[param(default = Conduct::Standard, unit = "word", source = "ns-3 LteRlcAm: ns-3")]
    pub conduct: Conduct,
}

/// Acknowledged mode.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.322 §5.1.3, §7.3; ns-3 LteRlcAm")]
pub struct Params {
    /// t-PollRetransmit: time to wait for the answer to a poll.
    #[param(basic, default = Span::from_millis(20), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::PollRetransmitTimer; TS 36.331 §9.2.1: 45 ms")]
    pub poll_retransmit: Span,
    /// t-Reordering, in NR t-Reassembly: time to wait for a missing PDU or SDU before it is reported missing.
    #[param(basic, default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::ReorderingTimer; TS 36.331 §9.2.1: 35 ms")]
    pub reordering: Span,
    /// t-StatusProhibit: minimum time between two STATUS PDUs.
    #[param(basic, default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::StatusProhibitTimer; TS 36.331 §9.2.1: 0 ms")]
    pub status_prohibit: Span,
    /// pollPDU: number of new PDUs after which a STATUS PDU is requested.
    #[param(default = 1, range = 1..=1_000_000)]
    #[param(unit = "PDU", source = "ns-3 lte-rlc-am.cc, m_pollPdu; TS 36.331 §9.2.1: infinity")]
    pub poll_pdu: u64,
    /// pollByte: number of bytes in new PDUs after which a STATUS PDU is requested.
    #[param(default = Bytes(50), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 lte-rlc-am.cc, m_pollByte; TS 36.331 §9.2.1: infinity")]
    pub poll_byte: Bytes,
    /// maxRetxThreshold: maximum retransmissions of a PDU or a segment of it; at this number the radio link is declared
    /// failed and RLC re-established; `none`: no limit.
    #[param(basic, default = None, range = 1..=1000)]
    #[param(unit = "1", source = "ns-3 counts to 5 and goes on; TS 36.331 §9.2.1: 4")]
    pub max_retx: Option<u16>,
    /// Size of a sequence number in bits, of which half the values are the window: 10 or 16 in LTE, 12 or 18 in NR;
    /// `none`: 10 in LTE, 18 in NR.
    #[param(default = None, range = 10..=18)]
    #[param(
        unit = "bit",
        source = "TS 36.322 §6.2.2.3; TS 38.322 §6.2.3.3; a choice: the window of NR is never full"
    )]
    pub sn_size: Option<u16>,
    /// Period of reports of a non-empty buffer to the MAC after the last arrival.
    #[param(expert, default = Span::from_millis(20), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 LteRlcAm::ReportBufferStatusTimer")]
    pub report_period: Span,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Params {
    /// Format of the PDUs of a generation.
    pub fn format(&self, protocol: Protocol) -> Format {
        let usual = match protocol {
            Protocol::Lte => LTE_SIZES[0],
            Protocol::Nr => NR_SIZES[1],
        };
        Format { protocol, sn_size: self.sn_size.unwrap_or(usual) }
    }

    /// Decisions in which simulators differ.
    pub(crate) fn rules(&self) -> &'static dyn Rules {
        compat::rules(self.quirks.conduct)
    }
}

/// A data PDU, or a segment of one that is retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number, counted without wrap-around. On air it has [`Params::sn_size`] bits; the window resolves the
    /// ambiguity.
    pub sn: u64,
    /// Start of the whole PDU in the stream; `begin` minus this is the segment offset SO.
    pub whole_from: u64,
    /// First byte of the stream in this PDU.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
    /// LSF: whether it contains the last byte of the whole PDU.
    pub last: bool,
    /// P: whether it requests a STATUS PDU.
    pub poll: bool,
    /// Size including the header.
    pub size: Bytes,
}

/// Content of a transport block of a bearer.
#[derive(Clone, Debug)]
pub struct Block {
    /// STATUS PDU about the other direction; valid if `has_status` is set.
    pub status: Status,
    /// Whether there is a STATUS PDU.
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
    /// Size of its PDUs, at most.
    pub fn size(&self, format: Format) -> Bytes {
        let status = if self.has_status { self.status.longest(format) } else { Bytes::ZERO };
        self.data.iter().fold(status, |sum, pdu| sum + pdu.size)
    }

    /// Clears the content and keeps the capacity.
    pub fn clear(&mut self) {
        self.has_status = false;
        self.data.clear();
    }
}
