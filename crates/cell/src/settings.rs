//! What a cell can be set to.

use crate::bearer::Bearer;
use crate::handover;
use crate::identity::CellId;
use crate::mac::{outer_loop, power_control, sched, uplink_sched};
use crate::mobility;
use crate::phy::{Position, Prbs, amc, antenna, error_model, fading, propagation, shadowing};
use crate::rlc::am;
use airwnd_catalog::{choice, params};
use airwnd_kernel::Stream;
use airwnd_links::aqm;
use airwnd_units::{Db, Dbm, Degrees, Hertz, Span};

choice! {
    /// Channel bandwidths with their number of PRBs (TS 36.101 Table 5.6-1).
    pub enum Bandwidth {
        /// 6 PRBs.
        Mhz1p4 = "1.4MHz",
        /// 15 PRBs.
        Mhz3 = "3MHz",
        /// 25 PRBs.
        Mhz5 = "5MHz",
        /// 50 PRBs.
        Mhz10 = "10MHz",
        /// 75 PRBs.
        Mhz15 = "15MHz",
        /// 100 PRBs.
        Mhz20 = "20MHz",
    }
}

impl Bandwidth {
    /// The transmission bandwidth in PRBs.
    pub fn prbs(self) -> Prbs {
        Prbs(match self {
            Bandwidth::Mhz1p4 => 6,
            Bandwidth::Mhz3 => 15,
            Bandwidth::Mhz5 => 25,
            Bandwidth::Mhz10 => 50,
            Bandwidth::Mhz15 => 75,
            Bandwidth::Mhz20 => 100,
        })
    }
}

params! {
    /// The carrier, the same for all cells.
    pub struct Carrier ("TS 36.101 §5; ns-3 lte-enb-net-device.cc") {
        /// Channel bandwidth of the downlink and of the uplink.
        pub bandwidth: Bandwidth = Bandwidth::Mhz10, unit "word", source "ARWA 2019 Table 1";
        /// Carrier frequency of the downlink.
        pub downlink_frequency: Hertz = Hertz(2.12e9), unit "Hz", range Hertz(1e8)..=Hertz(6e9), source "EARFCN 100, ns-3 default";
        /// Carrier frequency of the uplink.
        pub uplink_frequency: Hertz = Hertz(1.93e9), unit "Hz", range Hertz(1e8)..=Hertz(6e9), source "EARFCN 18100, ns-3 default";
    }
}

params! {
    /// Between transmitter and receiver: path loss, link adaptation, block errors.
    pub struct Radio ("TS 36.213 §7; ns-3 LENA") {
        /// Path loss.
        pub propagation: propagation::Spec = propagation::Spec::Friis(Default::default()), unit "1", source "ns-3 LteHelper default";
        /// Log-normal shadowing of each link.
        pub shadowing: Option<shadowing::Params> = None, unit "1", source "off in the ns-3 reference runs";
        /// Small-scale fading of each link.
        pub fading: fading::Spec = fading::Spec::NoFading(fading::none::Params {}), unit "1", source "off in the ns-3 reference runs";
        /// From SINR to CQI.
        pub amc: amc::Spec = amc::Spec::BlockErrorTarget(Default::default()), unit "1", source "ns-3 LteAmc default (MiErrorModel)";
        /// From SINR to block errors.
        pub error_model: error_model::Spec = error_model::Spec::MutualInformation(Default::default()), unit "1", source "ns-3 LteSpectrumPhy default";
        /// How often the channel follows terminals that move.
        pub position_period: Span = Span::from_millis(10), unit "time", range Span::from_millis(1)..=Span::from_secs(10), source "20 cm at 20 m/s";
        /// Whether control channels (PCFICH and PDCCH) can be lost.
        pub control_errors: bool = true, unit "1", source "ns-3 LteSpectrumPhy::CtrlErrorModelEnabled";
        /// TTIs between two CQI reports of a user; two because ns-3 LENA's 1 ms period asks for more than 1 ms.
        pub cqi_period: u16 = 2, unit "TTI", range 1..=160, source "ns-3 lte-ue-phy.cc, UlCqiPeriodicity with a strict comparison";
        /// TTIs from the measurement of a CQI to the first scheduling decision that uses it.
        pub cqi_delay: u16 = 5, unit "TTI", range 1..=12, source "ns-3 LENA: 4 TTI in the terminal, 1 TTI on air";
    }
}

params! {
    /// Medium access control.
    pub struct Mac ("TS 36.321; ns-3 LENA") {
        /// Downlink scheduler.
        pub scheduler: sched::Spec = sched::Spec::Pf(Default::default()), unit "1", source "ns-3 LteHelper default";
        /// Outer-loop link adaptation in the downlink; none: the reports decide.
        pub olla: Option<outer_loop::Params> = None, unit "1", source "ns-3 LENA has none";
        /// Uplink scheduler.
        pub uplink_scheduler: uplink_sched::Spec = uplink_sched::Spec::Rr(Default::default()), unit "1", source "ns-3 pss-ff-mac-scheduler.cc";
        /// HARQ transmissions of a block, the first included.
        pub harq_transmissions: u8 = 4, unit "1", range 1..=8, source "ns-3 LENA: dropped after redundancy version 3";
        /// TTIs between two sounding reference signals of a user; none: the shortest of 40, 80, 160 and 320
        /// that has an offset for each user of the fullest cell.
        pub srs_period: Option<u16> = None, unit "TTI", range 2..=320, source "TS 36.213 Table 8.2-1; ns-3 default 40";
        /// retxBSR-Timer: a terminal that waits for a grant reports its buffer again after this time; none: never.
        pub retx_bsr_timer: Option<Span> = None, unit "time", range Span::from_millis(1)..=Span::from_millis(10_240), source "not in ns-3 LENA; TS 36.331 §9.2.2: 2.56 s";
        /// Uplink power control.
        pub power_control: power_control::Params = power_control::Params::default(), unit "1", source "TS 36.213 §5.1.1";
    }
}

choice! {
    /// Modes of radio link control.
    pub enum RlcMode {
        /// Unacknowledged: a block that HARQ gives up is a loss.
        Um = "um",
        /// Acknowledged: what is lost is sent again.
        Am = "am",
    }
}

choice! {
    /// How long an SDU may wait in PDCP (TS 36.331 §6.3.2, PDCP-Config).
    pub enum DiscardTimer {
        /// 50 ms.
        Ms50 = "50ms",
        /// 100 ms.
        Ms100 = "100ms",
        /// 150 ms.
        Ms150 = "150ms",
        /// 300 ms.
        Ms300 = "300ms",
        /// 500 ms.
        Ms500 = "500ms",
        /// 750 ms.
        Ms750 = "750ms",
        /// 1500 ms.
        Ms1500 = "1500ms",
        /// For ever.
        Infinity = "infinity",
    }
}

impl DiscardTimer {
    /// The time; none: no limit.
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

params! {
    /// Radio link control.
    pub struct Rlc ("TS 36.322; ns-3 LteRlcUm, LteRlcAm") {
        /// Whether what is lost is sent again.
        pub mode: RlcMode = RlcMode::Um, unit "word", source "ns-3 LteEnbRrc::EpsBearerToRlcMapping RLC_UM_ALWAYS, RLC_AM_ALWAYS";
        /// Queue discipline and size of each user's downlink buffer at the base station.
        pub queue: aqm::Spec = aqm::Spec::DropTail(Default::default()), unit "1", source "ns-3 LteRlcUm";
        /// Queue discipline and size of the terminal's uplink buffer; none: like `queue`.
        pub uplink_queue: Option<aqm::Spec> = None, unit "1", source "ns-3: one default for both ends";
        /// PDCP's discard timer: how long an SDU may wait of which nothing has been sent.
        //= exception pdcp-waits-by-default
        pub discard_timer: DiscardTimer = DiscardTimer::Infinity, unit "word", source "TS 36.323 §5.4; TS 36.331 §6.3.2, discardTimer";
        /// t-Reordering of unacknowledged mode: how long a missing PDU is waited for.
        pub reordering: Span = Span::from_millis(100), unit "time", range Span::ZERO..=Span::from_secs(10), source "ns-3 LteRlcUm::ReorderingTimer";
        /// How often a buffer that is not empty is reported to the MAC while nothing arrives, in unacknowledged mode.
        pub report_period: Span = Span::from_millis(10), unit "time", range Span::from_millis(1)..=Span::from_secs(1), source "ns-3 lte-rlc-um.cc, m_rbsTimer";
        /// Acknowledged mode.
        pub am: am::Params = am::Params::default(), unit "1", source "ns-3 LteRlcAm";
    }
}

impl Rlc {
    /// How often a buffer that is not empty is reported to the MAC.
    pub fn report_period(&self) -> Span {
        match self.mode {
            RlcMode::Um => self.report_period,
            RlcMode::Am => self.am.report_period,
        }
    }
}

/// Everything that a [`Ran`](crate::Ran) is made of.
pub struct RanSetup {
    /// The carrier.
    pub carrier: Carrier,
    /// Between transmitter and receiver.
    pub radio: Radio,
    /// Medium access control.
    pub mac: Mac,
    /// Radio link control.
    pub rlc: Rlc,
    /// Handover.
    pub handover: handover::Settings,
    /// One-way delay between two cells.
    pub x2_delay: Span,
    /// The cells (sectors).
    pub cells: Vec<CellSite>,
    /// The terminals.
    pub ues: Vec<UeSite>,
    /// Seed of shadowing and block errors.
    pub seed: u64,
}

/// A cell: one sector of a site.
#[derive(Clone, Debug)]
pub struct CellSite {
    /// The site it belongs to: cells of one site share shadowing.
    pub site: u32,
    /// Where the antenna is.
    pub position: Position,
    /// Where the antenna looks.
    pub boresight: Degrees,
    /// The antenna's pattern.
    pub antenna: antenna::Spec,
    /// Transmit power over the whole carrier.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
}

/// A terminal.
#[derive(Clone, Debug)]
pub struct UeSite {
    /// Where it is at first.
    pub position: Position,
    /// How it moves from there.
    pub mobility: mobility::Spec,
    /// The random stream of its way.
    pub way: Stream,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// The cell that serves it; none: the strongest.
    pub cell: Option<CellId>,
    /// Offset of its sounding reference signal within the period; none: its place in the cell.
    pub srs_offset: Option<u16>,
    /// Its bearer.
    pub bearer: Bearer,
}
