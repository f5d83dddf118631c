//! Sections of a scenario, and the checks within one.

use crate::scenario::bearers::{DedicatedBearer, Quality};
use crate::scenario::packet_filter::Signature;
use crate::scenario::traffic::Transport;
use crate::scenario::{arrivals, placement, traffic};
use airwnd_catalog::Params;
use airwnd_cell::mac::configured_grant;
use airwnd_cell::replay;
use airwnd_cell::{BearerId, BearerSetup, Qci, Rlc, mobility};
use airwnd_kernel::Direction;
use airwnd_links::{aqm, loss};
use airwnd_rwnd as rwnd;
use airwnd_shape as shape;
use airwnd_tcp::{Overrides, cc};
use airwnd_units::{BitRate, Db, Dbm, Degrees, Metres, Span};

/// Maximum number of UEs.
pub(super) const MAX_UES: u32 = 100_000;
/// Maximum rate of a link of the core network.
const FASTEST: BitRate = BitRate(1_000_000_000_000);
/// Name of the link between server and gateway in results.
pub(crate) const SERVER: &str = "server";
/// Name of the links between gateway and cells in results.
pub(crate) const S1U: &str = "s1u";
/// Name of the links from cells to other cells in results.
pub(crate) const X2: &str = "x2";
/// Name of the shapers of UEs in results.
pub(crate) const SHAPER: &str = "shaper";

/// The core network: links between server, gateway and eNBs.
///
/// Packets carry 2 bytes of framing on each link. On S1-U they also carry a GTP-U tunnel header of 40 bytes (IP 20, UDP
/// 8, GTP-U with sequence number 12; TS 29.281 §5.1).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 PointToPointEpcHelper and the reference runs", check)]
pub struct Core {
    /// Rate of the link between server and gateway, per direction; 0bps: no serialisation delay.
    #[param(basic, default = BitRate(100_000_000_000), range = BitRate(0)..=FASTEST)]
    #[param(unit = "bit/s", source = "ARWA 2019 §4.1")]
    pub server_rate: BitRate,
    /// One-way delay of the link between server and gateway.
    #[param(basic, default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "ns-3 reference runs")]
    pub server_delay: Span,
    /// Queue limit of the server link, per direction; `none`: no limit.
    #[param(basic, default = None, range = 1..=100_000_000)]
    #[param(unit = "packets", source = "ns-3 reference runs: never reached")]
    pub server_queue: Option<u64>,
    /// Queue discipline of the server link, per direction, instead of `server_queue`; `none`: drop-tail with the limit
    /// `server_queue`.
    #[param(default = None, unit = "1", source = "RFC 7567")]
    pub server_aqm: Option<aqm::Spec>,
    /// Loss model of the server link towards the UEs.
    #[param(default = loss::Spec::NoLoss(Default::default()), unit = "1", source = "ns-3 reference runs")]
    pub server_loss: loss::Spec,
    /// Loss model of the server link towards the server.
    #[param(default = loss::Spec::NoLoss(Default::default()), unit = "1", source = "ns-3 reference runs")]
    pub server_loss_up: loss::Spec,
    /// Rate of the S1-U link of each cell, per direction; 0bps: no serialisation delay.
    #[param(default = BitRate(10_000_000_000), range = BitRate(0)..=FASTEST)]
    #[param(unit = "bit/s", source = "ns-3 PointToPointEpcHelper::S1uLinkDataRate")]
    pub s1u_rate: BitRate,
    /// One-way delay of the S1-U link.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "ns-3 PointToPointEpcHelper::S1uLinkDelay")]
    pub s1u_delay: Span,
    /// Queue limit of an S1-U link, per direction; `none`: no limit.
    #[param(expert, default = None, range = 1..=100_000_000)]
    #[param(unit = "packets", source = "ns-3 reference runs: never reached")]
    pub s1u_queue: Option<u64>,
    /// Rate of the X2 link, in NR Xn, from each cell to the others; 0bps: no serialisation delay.
    #[param(expert, default = BitRate(10_000_000_000), range = BitRate(0)..=FASTEST)]
    #[param(unit = "bit/s", source = "ns-3 PointToPointEpcHelper::X2LinkDataRate")]
    pub x2_rate: BitRate,
    /// One-way delay of X2, in NR Xn, for packets and for messages.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "ns-3 PointToPointEpcHelper::X2LinkDelay")]
    pub x2_delay: Span,
    /// Queue limit of an X2 link, in NR Xn; `none`: no limit.
    #[param(expert, default = None, range = 1..=100_000_000)]
    #[param(unit = "packets", source = "ns-3 reference runs: never reached")]
    pub x2_queue: Option<u64>,
}

/// A site: one mast with one or more sectors, each a cell; or a hexagonal grid of such sites.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ARWA 2019 §4.1; ns-3 reference run S3")]
pub struct Site {
    /// Position of the mast.
    #[param(basic, default = [Metres(0.0), Metres(0.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "the origin")]
    pub position: [Metres; 2],
    /// Rings of additional sites around it on a hexagonal grid: 0 for 1 site in all, 1 for 7, 2 for 19.
    #[param(basic, default = 0, range = 0..=10)]
    #[param(unit = "rings", source = "one site; TR 36.814 Table A.2.1.1-1 has 19")]
    pub rings: u16,
    /// Inter-site distance of the grid.
    #[param(basic, default = Metres(500.0), range = Metres(1.0)..=Metres(1e5))]
    #[param(unit = "m", source = "TR 36.814 Table A.2.1.1-1, case 1")]
    pub spacing: Metres,
    /// Whether the grid goes on beyond its border: for each UE and site the nearest of the site and its six copies around the
    /// grid counts, so that all cells have the same neighbours.
    #[param(default = false, unit = "1", source = "TR 38.901 Table 7.8-1, TR 36.814 §A.2.1.1: wrap-around")]
    pub wrap_around: bool,
    /// Height of the antennas.
    #[param(basic, default = Metres(30.0), range = Metres(0.1)..=Metres(1000.0))]
    #[param(unit = "m", source = "ns-3 reference runs")]
    pub height: Metres,
    /// Number of sectors, at equal angles around the mast.
    #[param(basic, default = 1, range = 1..=12, unit = "sectors", source = "one cell")]
    pub sectors: u16,
    /// Boresight of the first sector, anticlockwise from east.
    #[param(default = Degrees(0.0), range = Degrees(-360.0)..=Degrees(360.0), unit = "deg", source = "east")]
    pub azimuth: Degrees,
    /// Antenna pattern of each sector.
    #[param(basic, default = airwnd_phy::antenna::Spec::Isotropic(Default::default()))]
    #[param(unit = "1", source = "ns-3 LteHelper default")]
    pub antenna: airwnd_phy::antenna::Spec,
    /// Transmit power of each sector over the whole carrier.
    //= exception one-isotropic-cell
    #[param(basic)]
    #[param(default = Dbm(43.0), range = Dbm(-50.0)..=Dbm(80.0), unit = "dBm", source = "ARWA 2019 §4.1")]
    pub power: Dbm,
    /// Noise figure of the eNB's receiver.
    #[param(default = Db(5.0), range = Db(0.0)..=Db(40.0))]
    #[param(unit = "dB", source = "ns-3 LteEnbPhy::NoiseFigure")]
    pub noise_figure: Db,
}

/// A group of UEs.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 reference runs", check)]
pub struct UeGroup {
    /// Name of the group, referenced by flows.
    #[param(basic, default = "ue".to_string(), unit = "text", source = "airwnd")]
    pub name: String,
    /// Number of UEs.
    #[param(basic, default = 1, range = 1..=MAX_UES, unit = "UEs", source = "one UE")]
    pub count: u32,
    /// Initial positions.
    #[param(basic)]
    #[param(default = placement::Spec::Disc(Default::default()), unit = "1", source = "ARWA 2019 §4.1")]
    pub placement: placement::Spec,
    /// Mobility model.
    #[param(basic)]
    #[param(default = mobility::Spec::Static(Default::default()), unit = "1", source = "ns-3 reference runs")]
    pub mobility: mobility::Spec,
    /// Recorded channel, as of a drive test; `none`: path loss, shadowing and interference determine the channel.
    #[param(default = None, unit = "1", source = "a choice: models of the channel")]
    pub replay: Option<replay::Params>,
    /// Height above ground.
    #[param(default = Metres(1.5), range = Metres(0.1)..=Metres(1000.0))]
    #[param(unit = "m", source = "TR 36.814 Table A.2.1.1-2")]
    pub height: Metres,
    /// Fewest and most floors of the buildings in which `radio.propagation.indoor` places UEs. Each such UE is on a random
    /// floor of a building with a random number of floors, 3 m above each other, from `height` on; `none`: all UEs are at
    /// `height`.
    #[param(expert, default = None, range = 1..=100, unit = "floors")]
    #[param(source = "TR 36.873 Table 6-1: 4 to 8 in 3D-UMa and 3D-UMi; a choice: none")]
    pub floors: Option<[u16; 2]>,
    /// Noise figure of the receiver.
    #[param(default = Db(9.0), range = Db(0.0)..=Db(40.0))]
    #[param(unit = "dB", source = "ns-3 LteUePhy::NoiseFigure")]
    pub noise_figure: Db,
    /// Maximum number of component carriers that a UE aggregates in the downlink, the primary one included; `none`: all.
    #[param(default = None, range = 1..=4, unit = "carriers")]
    #[param(source = "TS 36.300 §7.5: the aggregation capability of the UE")]
    pub carriers: Option<u8>,
    /// Configured grant of each UE in its cell, semi-persistent scheduling in LTE; `none`: all uplink data needs scheduling
    /// requests and grants.
    #[param(default = None, unit = "1", source = "a choice: ns-3 LENA and 5G-LENA have none")]
    pub configured_grant: Option<configured_grant::Params>,
    /// QoS class identifier (QCI), or 5QI of NR, of the default bearer; `none`: 9, or 4 with a guaranteed bit rate.
    /// Delay-aware schedulers use its packet delay budget.
    #[param(default = None, range = 1..=90, unit = "1")]
    #[param(source = "TS 23.203 Table 6.1.7-A; TS 23.501 Table 5.7.4-1")]
    pub qci: Option<u8>,
    /// Guaranteed bit rate (GBR) of the default bearer; `none`: best effort.
    #[param(default = None, range = BitRate(1)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 23.203 §6.1.7")]
    pub gbr: Option<BitRate>,
    /// Maximum bit rate (MBR) of a GBR bearer, used by token-based schedulers; `none`: equal to `gbr`.
    #[param(default = None, range = BitRate(1)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 23.203 §6.1.7")]
    pub mbr: Option<BitRate>,
    /// Prioritized bit rate (PBR) of the default bearer beside dedicated ones, in each direction; `none`: equal to
    /// `gbr`, without it 64 kbit/s.
    #[param(default = None, range = BitRate(0)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 36.331 §6.3.2, LogicalChannelConfig: kBps8")]
    pub pbr: Option<BitRate>,
    /// Dedicated bearers of each UE, in addition to the default bearer.
    #[param(default = Vec::new(), unit = "1", source = "TS 36.300 §13.1: a default bearer suffices")]
    pub bearer: Vec<DedicatedBearer>,
    /// Names of the links between the gateway and the group, in path order; `none`: all links, in the order of the
    /// scenario.
    #[param(basic, default = None, unit = "text", source = "the scenario")]
    pub via: Option<Vec<String>>,
    /// Shapers at each UE, one in each direction; `none`: no shapers.
    #[param(default = None, unit = "1", source = "a choice: no shapers")]
    pub shaper: Option<Shaper>,
}

/// Shapers of a UE, as of a router behind a modem: what arrives passes one behind the last link or the air, what is sent
/// passes one before it.
///
/// A packet leaves its shaper at once when it may, and the next one when the bits of this one have passed at the rate, as
/// from CAKE. Rates are set every 50 ms.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux sch_cake.c, cake_advance_shaper")]
pub struct Shaper {
    /// How the rates are determined.
    #[param(basic, default = shape::Spec::Capacity(Default::default()))]
    #[param(unit = "1", source = "airwnd guard shape")]
    pub rates: shape::Spec,
    /// Queue discipline of each direction.
    #[param(basic, default = aqm::Spec::FqCobalt(Default::default()))]
    #[param(unit = "1", source = "Linux sch_cake.c")]
    pub aqm: aqm::Spec,
}

/// Flows of each UE of a group.
///
/// Each flow has its own connection and its own row in the results. By default a UE has one flow, which begins at
/// `start`. `arrivals` adds flows later; `count` starts several flows per arrival. The flows of a group are numbered in
/// the order of their start times.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 reference runs", check)]
pub struct Flow {
    /// Name of the group of flows. The id of a flow is this name and a number.
    #[param(basic, default = "flow".to_string(), unit = "text", source = "airwnd")]
    pub id: String,
    /// Group of UEs; `none`: all UEs.
    #[param(basic, default = None, unit = "text", source = "airwnd")]
    pub ue: Option<String>,
    /// Name of the dedicated bearer that carries the flow, data and ACKs; `none`: the default bearer.
    //= exception bearers-from-the-start
    #[param(default = None, unit = "text", source = "TS 36.300 §13.1: traffic flow template")]
    pub bearer: Option<String>,
    /// Direction of the data.
    #[param(basic, default = Direction::Down, unit = "1", source = "a download")]
    pub direction: Direction,
    /// Traffic model of the application.
    #[param(basic)]
    #[param(default = traffic::Spec::Bulk(Default::default()), unit = "1", source = "an unlimited download")]
    pub traffic: traffic::Spec,
    /// Congestion control at the sender.
    #[param(basic, default = cc::Spec::Cubic(Default::default()), unit = "1", source = "Linux, since 2.6.19")]
    pub cc: cc::Spec,
    /// Receive-window control at the receiver.
    #[param(basic, default = rwnd::Spec::Autotuning(Default::default()))]
    #[param(unit = "1", source = "Linux, tcp_moderate_rcvbuf")]
    pub rwnd: rwnd::Spec,
    /// TCP settings of both ends of these flows, over those of `[tcp]`: any of its keys, `stack` included.
    #[param(default = Overrides::default(), unit = "1", source = "socket options, per-route settings")]
    pub tcp: Overrides,
    /// Rate at which the receiving application reads from TCP; `none`: it reads at once.
    #[param(default = None, range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "an ordinary receiver")]
    pub read_rate: Option<BitRate>,
    /// Flows per arrival and UE.
    #[param(basic, default = 1, range = 1..=10_000, unit = "flows", source = "one application")]
    pub count: u32,
    /// Arrival process of the flows, counted from `start`.
    #[param(basic, default = arrivals::Spec::Once(Default::default()))]
    #[param(unit = "1", source = "an ordinary application")]
    pub arrivals: arrivals::Spec,
    /// Start of the first flow, counted from the end of the warm-up.
    #[param(basic, default = Span::ZERO, range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub start: Span,
    /// Delay between the starts of successive flows of an arrival, counted over all flows of a UE and then of the next
    /// UE.
    #[param(default = Span::from_millis(1), range = Span::ZERO..=Span::from_secs(3600))]
    #[param(unit = "time", source = "ns-3 reference run S3")]
    pub stagger: Span,
    /// Stop time of the applications, counted from the end of the warm-up; `none`: the end of the run. With arrivals:
    /// end of the arrivals; transfers and web flows in progress continue.
    #[param(basic, default = None, range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub stop: Option<Span>,
    /// One-way delay that packets should not exceed, for `on_time_percent` of the results; `none`: the packet delay
    /// budget of the bearer's QCI or 5QI, without cells none.
    #[param(default = None, range = Span::from_micros(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "TS 23.203 Table 6.1.7-A; TS 23.501 Table 5.7.4-1")]
    pub delay_budget: Option<Span>,
}
impl Core {
    fn check(&self) -> Result<(), (&'static str, String)> {
        match self.server_aqm.as_ref().filter(|_| self.server_queue.is_some()) {
            Some(discipline) => {
                let kind = discipline.kind();
                Err((
                    "server_queue",
                    format!("not allowed with `server_aqm` = \"{kind}\"; set the parameters of \"{kind}\""),
                ))
            }
            None => Ok(()),
        }
    }
}

impl Flow {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.id.is_empty() {
            return Err(("id", "a flow needs a name".into()));
        }
        if self.read_rate.is_some() && self.traffic.transport() == Transport::Udp {
            let message = format!("`{}` sends UDP datagrams, which are read at once", self.traffic.kind());
            return Err(("read_rate", message));
        }
        if self.tcp != Overrides::default() && self.traffic.transport() == Transport::Udp {
            let message =
                format!("`{}` sends UDP datagrams, which have no TCP settings", self.traffic.kind());
            return Err(("tcp", message));
        }
        Ok(())
    }

    /// Time window of the arrivals, counted from the first start.
    pub(crate) fn window(&self, duration: Span) -> Span {
        self.stop.map_or(duration, |stop| stop.min(duration)) - self.start
    }

    /// Returns whether each UE has a fixed set of flows from the start.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self.arrivals, arrivals::Spec::Once(_))
    }
}

impl UeGroup {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.name.is_empty() {
            return Err(("name", "a group needs a name".into()));
        }
        self.quality().check()?;
        self.check_bearers()
    }

    /// The bearers of its UEs in a network with this RLC, the default bearer first.
    pub(crate) fn bearers(&self, rlc: &Rlc) -> Vec<BearerSetup> {
        let dedicated = self.bearer.iter().map(|bearer| bearer.setup(rlc));
        std::iter::once(self.quality().setup()).chain(dedicated).collect()
    }

    /// The number of the bearer with this name; `None`: the default bearer.
    pub(crate) fn bearer_named(&self, name: Option<&String>) -> Option<BearerId> {
        let Some(name) = name else { return Some(BearerId(0)) };
        let place = self.bearer.iter().position(|bearer| bearer.name == *name)?;
        Some(BearerId(place as u8 + 1))
    }

    /// The name of one of its bearers; `default` for the default bearer.
    pub(crate) fn name_of(&self, bearer: BearerId) -> &str {
        bearer.0.checked_sub(1).map_or("default", |place| &self.bearer[usize::from(place)].name)
    }

    /// The number of the bearer that carries a real flow.
    //= TS 24.008 §10.5.6.12
    pub(crate) fn bearer_of_real(&self, flow: &Signature) -> BearerId {
        let carries = |bearer: &DedicatedBearer| bearer.filter.iter().any(|filter| filter.matches(flow));
        BearerId(self.bearer.iter().position(carries).map_or(0, |place| place as u8 + 1))
    }

    /// The class of one of its bearers.
    pub(crate) fn qci(&self, bearer: BearerId) -> Qci {
        match bearer.0.checked_sub(1) {
            Some(place) => self.bearer[usize::from(place)].quality().qci(),
            None => self.quality().qci(),
        }
    }

    fn quality(&self) -> Quality {
        Quality { qci: self.qci, gbr: self.gbr, mbr: self.mbr, pbr: self.pbr }
    }

    fn check_bearers(&self) -> Result<(), (&'static str, String)> {
        if self.bearer.len() >= BearerSetup::MAX {
            let (max, count) = (BearerSetup::MAX - 1, self.bearer.len());
            return Err(("bearer", format!("{count} dedicated bearers; a UE has at most {max}")));
        }
        for (place, bearer) in self.bearer.iter().enumerate() {
            if self.bearer[..place].iter().any(|other| other.name == bearer.name) {
                let message = format!("two bearers are named `{}`; names must be unique", bearer.name);
                return Err(("bearer", message));
            }
        }
        Ok(())
    }
}
