//! Settings of RLC and PDCP.

use super::{am, um};
use airwnd_catalog::{Choice, Params};
use airwnd_links::aqm;
use airwnd_phy::access::Protocol;
use airwnd_units::Span;

/// Modes of radio link control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RlcMode {
    /// Unacknowledged mode: a block that HARQ does not deliver is lost.
    #[word = "um"]
    Um,
    /// Acknowledged mode: lost PDUs are retransmitted.
    #[word = "am"]
    Am,
}

/// Maximum waiting time of an SDU in PDCP (TS 36.331 §6.3.2, PDCP-Config).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum DiscardTimer {
    /// 50 ms.
    #[word = "50ms"]
    Ms50,
    /// 100 ms.
    #[word = "100ms"]
    Ms100,
    /// 150 ms.
    #[word = "150ms"]
    Ms150,
    /// 300 ms.
    #[word = "300ms"]
    Ms300,
    /// 500 ms.
    #[word = "500ms"]
    Ms500,
    /// 750 ms.
    #[word = "750ms"]
    Ms750,
    /// 1500 ms.
    #[word = "1500ms"]
    Ms1500,
    /// No limit.
    #[word = "infinity"]
    Infinity,
}

impl DiscardTimer {
    /// The time; `None`: no limit.
    pub fn span(self) -> Option<Span> {
        let ms = match self {
            DiscardTimer::Ms50 => 50,
            DiscardTimer::Ms100 => 100,
            DiscardTimer::Ms150 => 150,
            DiscardTimer::Ms300 => 300,
            DiscardTimer::Ms500 => 500,
            DiscardTimer::Ms750 => 750,
            DiscardTimer::Ms1500 => 1500,
            DiscardTimer::Infinity => return None,
        };
        Some(Span::from_millis(ms))
    }
}

/// Quirks of 5G-LENA's RLC.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "5G-LENA")]
pub struct Quirks {
    /// Generation of RLC and PDCP; `none`: that of the radio access.
    #[param(default = None, unit = "word", source = "5G-LENA uses ns-3's LteRlcUm and LteRlcAm: lte")]
    pub protocol: Option<Protocol>,
}

/// RLC: mode, queues and timers of radio link control.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.322; TS 38.322; ns-3 LteRlcUm, LteRlcAm")]
pub struct Rlc {
    /// RLC mode: with or without retransmissions.
    #[param(basic, default = RlcMode::Am)]
    #[param(
        unit = "word",
        source = "a choice: usual for bearers of Internet traffic; ns-3 LteEnbRrc::EpsBearerToRlcMapping: um"
    )]
    pub mode: RlcMode,
    /// Queue discipline and buffer size of each UE's downlink queue at the eNB.
    #[param(basic, default = aqm::Spec::DropTail(Default::default()), unit = "1", source = "ns-3 LteRlcUm")]
    pub queue: aqm::Spec,
    /// Queue discipline and buffer size of the UE's uplink queue; `none`: like `queue`.
    #[param(default = None, unit = "1", source = "ns-3: one default for both ends")]
    pub uplink_queue: Option<aqm::Spec>,
    /// PDCP discard timer: maximum waiting time of an SDU of which no part has been sent.
    //= exception pdcp-waits-by-default
    #[param(default = DiscardTimer::Infinity)]
    #[param(unit = "word", source = "TS 36.323 §5.4; TS 36.331 §6.3.2, discardTimer")]
    pub discard_timer: DiscardTimer,
    /// t-Reordering of unacknowledged mode, of RLC in LTE and of PDCP in NR: time to wait for a missing PDU or SDU.
    #[param(default = Span::from_millis(100), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteRlcUm::ReorderingTimer")]
    pub reordering: Span,
    /// Period of reports of a non-empty buffer to the MAC without arrivals, in unacknowledged mode.
    #[param(expert, default = Span::from_millis(10), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3 lte-rlc-um.cc, m_rbsTimer")]
    pub report_period: Span,
    /// Unacknowledged mode.
    #[param(default = um::Params::default(), unit = "1", source = "ns-3 LteRlcUm")]
    pub um: um::Params,
    /// Acknowledged mode.
    #[param(default = am::Params::default(), unit = "1", source = "ns-3 LteRlcAm")]
    pub am: am::Params,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Rlc {
    /// Period of reports of a non-empty buffer to the MAC in a mode.
    pub fn report_period(&self, mode: RlcMode) -> Span {
        match mode {
            RlcMode::Um => self.report_period,
            RlcMode::Am => self.am.report_period,
        }
    }
}
