//! Settings of the radio access network.

use crate::bearer::Bearer;
use crate::handover;
use crate::identity::{CellId, UeId};
use crate::mac::outer_loop::OuterLoop;
use crate::mac::uplink_adaptation::{Schemes, UplinkAdaptation};
use crate::mac::{configured_grant, drx, outer_loop, pdcch, power_control, scell, sched, uplink_sched};
use crate::mobility;
use crate::replay;
use crate::rrc;
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_phy::Carrier;
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::{self, Access};
use airwnd_phy::amc;
use airwnd_phy::error_model::ErrorModel;
use airwnd_phy::nr::block_errors::NrBlockErrors;
use airwnd_phy::{Position, antenna, blockage, error_model, fading, propagation, shadowing};
use airwnd_rlc::Rlc;
use airwnd_units::{BitRate, Bytes, Db, Dbm, Degrees, Metres, SlotClock, Span};
use std::sync::Arc;

/// Radio channel: path loss, shadowing, fading, link adaptation and block errors.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.213 §7; ns-3 LENA")]
pub struct Radio {
    /// Radio access technology: LTE or NR.
    #[param(basic, default = access::Spec::Lte(Default::default()))]
    #[param(unit = "1", source = "a choice: the reproduced papers study LTE")]
    pub access: access::Spec,
    /// Path loss.
    #[param(basic, default = propagation::Spec::UrbanMacro(Default::default()))]
    #[param(unit = "1", source = "TR 36.942 §4.5.2")]
    pub propagation: propagation::Spec,
    /// Log-normal shadowing of each link.
    #[param(basic, default = Some(shadowing::Params::default()), unit = "1", source = "TR 36.942 §4.5.2")]
    pub shadowing: Option<shadowing::Params>,
    /// Blockage of links by people and vehicles, as at frequencies of FR2; `none`: no link is blocked.
    #[param(default = None, unit = "1", source = "a choice: carriers below 6 GHz")]
    pub blockage: Option<blockage::Params>,
    /// Small-scale fading of each link.
    #[param(basic, default = fading::Spec::Epa(Default::default()))]
    #[param(unit = "1", source = "TS 36.104 Annex B.2: a pedestrian")]
    pub fading: fading::Spec,
    /// Mapping of SINR to CQI.
    #[param(default = amc::Spec::BlockErrorTarget(Default::default()))]
    #[param(unit = "1", source = "ns-3 LteAmc default (MiErrorModel)")]
    pub amc: amc::Spec,
    /// Mapping of SINR to block errors.
    #[param(default = error_model::Spec::MutualInformation(Default::default()))]
    #[param(unit = "1", source = "ns-3 LteSpectrumPhy default")]
    pub error_model: error_model::Spec,
    /// Period of updates of the channel of moving UEs and of blockage.
    #[param(expert, default = Span::from_millis(10), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "20 cm at 20 m/s")]
    pub position_period: Span,
    /// Received power of a cell above which it is a UE's neighbour, as a fraction of noise and all other cells at full
    /// power. Neighbours interfere PRB by PRB, and so do cells above 1 % of the noise and of the interference of the
    /// neighbours; all others by their mean power. Zero: all cells are neighbours; `none`: zero in networks of up to 48
    /// cells, 0.0002 in larger ones.
    //= exception distant-cells-by-their-mean
    #[param(expert, default = None, range = 0.0..=0.5)]
    #[param(unit = "1", source = "a choice: 99 % of SINRs within 0.1 dB")]
    pub neighbour_threshold: Option<f64>,
    /// Whether control channels (PCFICH and PDCCH) can be lost.
    #[param(default = true, unit = "1", source = "ns-3 LteSpectrumPhy::CtrlErrorModelEnabled")]
    pub control_errors: bool,
    /// TTIs between two CQI reports of a UE. Two is the shortest period in LTE FDD; networks also have 5 to 160, and
    /// request reports when they need them.
    #[param(default = 2, range = 1..=160)]
    #[param(unit = "TTI", source = "TS 36.213 §7.2.1, Table 7.2.2-1A; the same in ns-3 lte-ue-phy.cc")]
    pub cqi_period: u16,
    /// TTIs from the measurement of a CQI to the first scheduling decision that uses it.
    #[param(default = 5, range = 1..=12)]
    #[param(unit = "TTI", source = "ns-3 LENA: 4 TTI in the UE, 1 TTI on air")]
    pub cqi_delay: u16,
}

/// Number of cells that are all neighbours of each UE by default, and maximum number of neighbours if not all cells are.
const MAX_NEIGHBOURS: usize = 48;
/// Threshold of neighbours by default in larger networks.
const NEIGHBOUR_THRESHOLD: f64 = 0.0002;

impl Radio {
    /// Whether the propagation model places UEs in buildings.
    pub fn places_indoors(&self) -> bool {
        matches!(&self.propagation, propagation::Spec::Tr38901(params) if params.indoor > 0.0)
    }

    /// The draws of a propagation model with chance.
    pub(crate) fn chance(seed: u64) -> Stream {
        Stream::new(seed, "propagation")
    }

    /// Whether the propagation model places the UE with this number in a building, in a run with this seed.
    pub fn is_indoor(&self, seed: u64, ue: UeId) -> bool {
        self.propagation.build().is_indoor(&propagation::Draws::new(Self::chance(seed), ue.index(), 0))
    }

    /// The threshold of a UE's neighbours in a network of this many cells; `None`: all cells are neighbours.
    pub(crate) fn neighbours(&self, cells: usize) -> Option<f64> {
        let by_size = if cells > MAX_NEIGHBOURS { NEIGHBOUR_THRESHOLD } else { 0.0 };
        Some(self.neighbour_threshold.unwrap_or(by_size)).filter(|threshold| *threshold > 0.0)
    }

    /// The receivers' error model.
    pub(crate) fn errors(&self) -> Box<dyn ErrorModel> {
        match (&self.access, &self.error_model) {
            (
                access::Spec::Nr(params),
                error_model::Spec::MutualInformation(_) | error_model::Spec::BlockErrorCurves(_),
            ) => Box::new(NrBlockErrors::new(params.combining(), params.receiver_loss)),
            (_, model) => model.build(),
        }
    }

    /// The error model that link adaptation assumes: the receiver's, or with an error-free one that of the access.
    pub(crate) fn receiver(&self) -> Arc<dyn ErrorModel> {
        match &self.error_model {
            error_model::Spec::NoErrors(_) => {
                let error_model = error_model::Spec::MutualInformation(Default::default());
                Radio { error_model, ..self.clone() }.errors().into()
            }
            _ => self.errors().into(),
        }
    }

    /// Maximum number of a UE's neighbours in a network of this many cells.
    pub fn max_neighbours(&self, cells: usize) -> usize {
        if self.neighbours(cells).is_some() { cells.min(MAX_NEIGHBOURS) } else { cells }
    }
}

/// Reports of UEs' buffers to the eNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum BufferReports {
    /// Immediate, without resources and without loss.
    #[word = "ideal"]
    Ideal,
    /// By a scheduling request at its next opportunity, and by reports within granted blocks.
    #[word = "requested"]
    Requested,
    /// As `requested`, by the rules of 5G-LENA's MAC, for comparisons: every block has a report of 5 B and a subheader of 3
    /// B, which a report of data counts too; a UE subtracts grants, not what RLC took, from its backlog. The newest
    /// request or report replaces what the cell knows. Power headroom is not reported.
    #[word = "5g-lena"]
    Lena,
}

/// Period of scheduling request opportunities (TS 36.213 Table 10.1.5-1; TS 38.331 §6.3.2, SchedulingRequestResourceConfig).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RequestPeriod {
    /// NR: each slot (`sl1`). LTE: each TTI, sr-ConfigIndex 157.
    #[word = "slot"]
    Slot,
    /// sr-ConfigIndex 157.
    #[word = "1ms"]
    Ms1,
    /// sr-ConfigIndex 155 and 156.
    #[word = "2ms"]
    Ms2,
    /// sr-ConfigIndex 0 to 4.
    #[word = "5ms"]
    Ms5,
    /// sr-ConfigIndex 5 to 14.
    #[word = "10ms"]
    Ms10,
    /// sr-ConfigIndex 15 to 34.
    #[word = "20ms"]
    Ms20,
    /// sr-ConfigIndex 35 to 74.
    #[word = "40ms"]
    Ms40,
    /// sr-ConfigIndex 75 to 154.
    #[word = "80ms"]
    Ms80,
}

impl RequestPeriod {
    /// The period in TTIs.
    pub fn ttis(self, clock: SlotClock) -> u64 {
        let milliseconds = match self {
            RequestPeriod::Slot => return 1,
            RequestPeriod::Ms1 => 1,
            RequestPeriod::Ms2 => 2,
            RequestPeriod::Ms5 => 5,
            RequestPeriod::Ms10 => 10,
            RequestPeriod::Ms20 => 20,
            RequestPeriod::Ms40 => 40,
            RequestPeriod::Ms80 => 80,
        };
        milliseconds * clock.per_millisecond()
    }
}

/// Quirks of buffer reports in other simulators.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 LteUeMac; 5G-LENA NrUeMac")]
pub struct Quirks {
    /// Reports of UEs' buffers to the eNB.
    #[param(default = BufferReports::Requested, unit = "word")]
    #[param(source = "ns-3 LteUeMac::SendReportBufferStatus: ideal; 5G-LENA NrUeMac: 5g-lena")]
    pub buffer_reports: BufferReports,
}

/// MAC: scheduling, HARQ, buffer reports and uplink power control.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.321; ns-3 LENA")]
pub struct Mac {
    /// Downlink scheduler.
    #[param(basic)]
    #[param(default = sched::Spec::Pf(Default::default()), unit = "1", source = "ns-3 LteHelper default")]
    pub scheduler: sched::Spec,
    /// Outer-loop link adaptation in the downlink; `none`: CQI reports alone determine the MCS.
    #[param(default = Some(outer_loop::Params::default()))]
    #[param(unit = "1", source = "a choice: eNBs usually have one; ns-3 LENA has none")]
    pub olla: Option<outer_loop::Params>,
    /// Uplink scheduler.
    #[param(basic, default = uplink_sched::Spec::Rr(Default::default()))]
    #[param(unit = "1", source = "ns-3 rr-ff-mac-scheduler.cc")]
    pub uplink_scheduler: uplink_sched::Spec,
    /// HARQ transmissions of a block, including the first.
    #[param(default = 4, range = 1..=8, unit = "1", source = "ns-3 LENA: dropped after redundancy version 3")]
    pub harq_transmissions: u8,
    /// TTIs between two sounding reference signals of a UE; `none`: the shortest of 40, 80, 160 and 320 that has an
    /// offset for each UE of the cell with the most UEs.
    #[param(expert)]
    #[param(default = None, range = 2..=320, unit = "TTI", source = "TS 36.213 Table 8.2-1; ns-3 default 40")]
    pub srs_period: Option<u16>,
    /// Selection of width and MCS of an uplink grant.
    #[param(expert, default = UplinkAdaptation::Headroom)]
    #[param(unit = "word", source = "TS 36.213 §5.1.1.2 and TS 36.321 §5.4.6; `carrier` is ns-3 LENA's")]
    pub uplink_adaptation: UplinkAdaptation,
    /// Period of scheduling request opportunities of a UE; without effect with ns-3's ideal buffer reports.
    #[param(default = RequestPeriod::Ms10)]
    #[param(unit = "word", source = "TS 36.213 Table 10.1.5-1; 10 ms in TR 36.881 Table 5.2.1-1")]
    pub request_period: RequestPeriod,
    /// sr-ProhibitTimer: time after a scheduling request in which the UE does not repeat it; `none`: it repeats it at
    /// every opportunity until it has a grant.
    #[param(default = None, range = Span::from_millis(1)..=Span::from_millis(560))]
    #[param(
        unit = "time",
        source = "TS 36.321 §5.4.4, TS 38.321 §5.4.4; TS 36.331 §6.3.2: up to 7 periods, TS 38.331 §6.3.2: \
                  1 to 128 ms"
    )]
    pub sr_prohibit_timer: Option<Span>,
    /// Capacity of the grant with which the eNB answers a scheduling request.
    #[param(expert, default = Bytes(150), range = Bytes(8)..=Bytes(1500))]
    #[param(
        unit = "B",
        source = "a choice: one voice frame or two ACKs, and both control elements of the MAC"
    )]
    pub request_grant: Bytes,
    /// periodicBSR-Timer: time after which a UE with data reports its buffer within a block; without effect
    /// with ns-3's ideal buffer reports.
    #[param(expert, default = Span::from_millis(5), range = Span::from_millis(1)..=Span::from_millis(2560))]
    #[param(
        unit = "time",
        source = "TS 36.331 §6.3.2, MAC-MainConfig, sf5: a choice, each round of grants carries a report"
    )]
    pub periodic_bsr_timer: Span,
    /// retxBSR-Timer: time after which a UE that waits for a grant reports its buffer again; `none`: 320 ms, with ns-3's
    /// ideal buffer reports never.
    #[param(expert, default = None, range = Span::from_millis(1)..=Span::from_millis(10_240))]
    #[param(unit = "time", source = "not in ns-3 LENA; TS 36.331 §9.2.2: 2.56 s")]
    pub retx_bsr_timer: Option<Span>,
    /// Uplink power control.
    #[param(default = power_control::Params::default(), unit = "1", source = "TS 36.213 §5.1.1")]
    pub power_control: power_control::Params,
    /// Capacity of the PDCCH; `none`: it has room for every assignment and grant.
    #[param(default = None, unit = "1", source = "a choice: as in ns-3 LENA and 5G-LENA")]
    pub pdcch: Option<pdcch::Params>,
    /// Discontinuous reception of connected UEs; `none`: UEs receive in every TTI.
    #[param(default = None, unit = "1", source = "a choice: as in ns-3 LENA")]
    pub drx: Option<drx::Params>,
    /// Activation and deactivation of secondary carriers; `none`: they are always active.
    #[param(default = Some(scell::Params::default()), unit = "1", source = "TS 36.321 §5.13")]
    pub scell: Option<scell::Params>,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Mac {
    /// Time after which a UE that waits for a grant reports again; `None`: never.
    pub fn report_again_after(&self) -> Option<Span> {
        let requested = self.quirks.buffer_reports != BufferReports::Ideal;
        self.retx_bsr_timer.or(requested.then_some(DEFAULT_RETX_BSR))
    }
}

/// retxBSR-Timer sf320 (TS 36.331 §6.3.2, MAC-MainConfig).
const DEFAULT_RETX_BSR: Span = Span::from_millis(320);

/// A bearer of a UE, as set up.
#[derive(Clone, Debug)]
pub struct BearerSetup {
    /// Quality of service.
    pub qos: Bearer,
    /// Prioritized bit rate (PBR) in each direction.
    pub pbr: BitRate,
    /// RLC in both directions; `None`: as in the whole network.
    pub rlc: Option<Arc<Rlc>>,
}

impl BearerSetup {
    /// Maximum number of bearers of a UE: logical channel identities 3 to 10 (TS 36.321 Table 6.2.1-1).
    pub const MAX: usize = 8;
    /// Prioritized bit rate of a bearer without a guaranteed rate.
    // A choice: `kBps8`, the lowest rate of TS 36.331 §6.3.2, LogicalChannelConfig, other than zero.
    pub const USUAL_PBR: BitRate = BitRate(64_000);

    /// A bearer with the usual prioritized bit rate: the guaranteed one, otherwise [`BearerSetup::USUAL_PBR`].
    pub fn new(qos: Bearer) -> BearerSetup {
        let pbr = if qos.gbr > BitRate(0) { qos.gbr } else { BearerSetup::USUAL_PBR };
        BearerSetup { qos, pbr, rlc: None }
    }
}

impl Default for BearerSetup {
    /// Best effort.
    fn default() -> Self {
        BearerSetup::new(Bearer::default())
    }
}

/// Complete setup of a [`Ran`](crate::Ran).
pub struct RanSetup {
    /// The carrier.
    pub carrier: Carrier,
    /// Radio channel.
    pub radio: Radio,
    /// Medium access control.
    pub mac: Mac,
    /// Radio link control.
    pub rlc: Rlc,
    /// Release of UEs without data; `None`: UEs stay connected.
    pub rrc: Option<rrc::Params>,
    /// Handover.
    pub handover: handover::Settings,
    /// One-way delay between two cells.
    pub x2_delay: Span,
    /// The cells (sectors).
    pub cells: Vec<CellSite>,
    /// Vectors to the copies of the network around it, for wrap-around; empty: it has borders.
    pub copies: Vec<[Metres; 2]>,
    /// The UEs.
    pub ues: Vec<UeSite>,
    /// Seed of shadowing and block errors.
    pub seed: u64,
}

impl RanSetup {
    /// A network of these cells and UEs; all other settings have their default values, and there is no delay between cells.
    pub fn new(cells: Vec<CellSite>, ues: Vec<UeSite>) -> RanSetup {
        RanSetup {
            carrier: Carrier::default(),
            radio: Radio::default(),
            mac: Mac::default(),
            rlc: Rlc::default(),
            rrc: None,
            handover: handover::Settings::default(),
            x2_delay: Span::ZERO,
            cells,
            copies: Vec::new(),
            ues,
            seed: 1,
        }
    }

    /// RLC of a bearer.
    pub(crate) fn rlc_of<'a>(&'a self, bearer: &'a BearerSetup) -> &'a Rlc {
        bearer.rlc.as_deref().unwrap_or(&self.rlc)
    }

    /// The component carriers, the primary one first.
    ///
    /// # Errors
    /// Carriers that the access does not have, or that overlap: the key at fault, and a message.
    pub fn carriers(&self) -> Result<Vec<ComponentCarrier>, (String, String)> {
        self.carrier.components(&self.radio.access)
    }

    /// Uplink power control, by PRBs of the access.
    //= TS 38.213 §7.1.1: 10 log10(2^μ)
    pub(crate) fn power_control(&self, access: &Access) -> power_control::Params {
        let control = self.mac.power_control.clone();
        let wider = access.clock.per_millisecond();
        let p0 = if wider > 1 { control.p0 + Db::from_linear(wider as f64) } else { control.p0 };
        power_control::Params { p0, ..control }
    }

    /// The outer loop of each cell's downlink on a carrier with this access; `None`: link adaptation has none.
    pub(crate) fn outer_loop(&self, access: &Arc<Access>) -> Option<OuterLoop> {
        let params = self.mac.olla.as_ref()?;
        Some(OuterLoop::new(params.clone(), &*self.radio.errors(), access))
    }

    /// The rule for width and MCS of uplink grants.
    pub(crate) fn uplink_schemes(&self, access: &Arc<Access>) -> Schemes {
        Schemes::new(self.mac.uplink_adaptation, &self.radio.receiver(), &access.in_uplink())
    }
}

/// A cell: one sector of a site.
#[derive(Clone, Debug)]
pub struct CellSite {
    /// Number of its site: cells of one site share shadowing.
    pub site: u32,
    /// Position of the antenna.
    pub position: Position,
    /// Direction of the antenna's main lobe.
    pub boresight: Degrees,
    /// The antenna's pattern.
    pub antenna: antenna::Spec,
    /// Transmit power over the whole carrier.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
}

impl CellSite {
    /// A cell of site 0 with an isotropic antenna at this position, 43 dBm and a noise figure of 5 dB.
    pub fn at(position: Position) -> CellSite {
        CellSite {
            site: 0,
            position,
            boresight: Degrees(0.0),
            antenna: antenna::Spec::Isotropic(Default::default()),
            power: Dbm(43.0),
            noise_figure: Db(5.0),
        }
    }
}

/// A UE.
#[derive(Clone, Debug)]
pub struct UeSite {
    /// Initial position.
    pub position: Position,
    /// Mobility model.
    pub mobility: mobility::Spec,
    /// Random stream of its trajectory.
    pub way: Stream,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// Serving cell; `None`: the strongest.
    pub cell: Option<CellId>,
    /// Offset of its sounding reference signal within the period; `None`: its slot in the cell.
    pub srs_offset: Option<u16>,
    /// Component carriers that it aggregates at most, with the primary one.
    pub carriers: u8,
    /// Its configured grant in each cell; `None`: all of its data needs grants.
    pub configured_grant: Option<configured_grant::Params>,
    /// Its recorded channel; `None`: path loss, shadowing and interference determine it.
    pub replay: Option<Arc<replay::Params>>,
    /// Its bearers, the default bearer first.
    pub bearers: Arc<[BearerSetup]>,
}

impl UeSite {
    /// Its trajectory, from the beginning.
    pub fn trajectory(&self) -> Box<dyn mobility::Mobility> {
        self.mobility.build([self.position.x, self.position.y], self.way)
    }

    /// A UE that stays at this position, with the default bearer, one carrier and a noise figure of 9 dB.
    pub fn at(position: Position) -> UeSite {
        UeSite {
            position,
            mobility: mobility::Spec::Static(Default::default()),
            way: Stream::new(1, "mobility"),
            noise_figure: Db(9.0),
            cell: None,
            srs_offset: None,
            carriers: 1,
            configured_grant: None,
            replay: None,
            bearers: [BearerSetup::default()].into(),
        }
    }
}
