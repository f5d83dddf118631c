//! Scenarios: the sections and keys of the input, and their checks.

use crate::bearers::{DedicatedBearer, Quality};
use crate::compat::{self, Compat};
use crate::files::{Folder, ReadPipe, no_pipe};
use crate::links::Link;
use crate::packet_filter::Signature;
use crate::plugins::Plugins;
use crate::preset::Preset;
use crate::traffic::Transport;
use crate::{arrivals, hexagon, placement, traffic};
use airwnd_catalog::{Defaults, Error, Fault, Node, Param, Params, unknown_word};
use airwnd_cell::mac::configured_grant;
use airwnd_cell::replay;
use airwnd_cell::{BearerId, BearerSetup, Carrier, Mac, Qci, RadioSettings, Rlc, handover, mobility, rrc};
use airwnd_kernel::Direction;
use airwnd_links::{aqm, link, loss};
use airwnd_rlc::am::Conduct;
use airwnd_rlc::{Protocol, am, um};
use airwnd_rwnd as rwnd;
use airwnd_shape as shape;
use airwnd_tcp::{Config, Overrides, Settings, cc};
use airwnd_units::{BitRate, Db, Dbm, Degrees, Metres, Span};
use std::borrow::Cow;
use std::path::Path;

/// Maximum number of UEs.
const MAX_UES: u32 = 100_000;
/// Maximum number of cells: with `radio.neighbour_threshold = 0` a UE stores a gain for each of them.
const MAX_CELLS: u32 = 1000;
/// Maximum number of flows.
const MAX_FLOWS: f64 = 1e6;
/// Maximum rate of a link of the core network.
const FASTEST: BitRate = BitRate(1_000_000_000_000);
/// Maximum number of writes by the applications of a group of flows. Each is an event, and 10^10 take an hour or more.
const MAX_WRITES: f64 = 1e10;
/// Name of the link between server and gateway in results.
pub(crate) const SERVER: &str = "server";
/// Name of the links between gateway and cells in results.
pub(crate) const S1U: &str = "s1u";
/// Name of the links from cells to other cells in results.
pub(crate) const X2: &str = "x2";
/// Name of the shapers of UEs in results.
pub(crate) const SHAPER: &str = "shaper";
/// Longest SRS period in TTIs, which limits the number of UEs of a cell (TS 36.213 Table 8.2-1).
const MAX_SOUNDING_OFFSETS: u16 = 320;
/// Minimum distance on the map between a UE and a mast, or between masts: path-loss models diverge at the antenna.
const CLOSEST: Metres = Metres(1.0);

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

/// A scenario: UEs, the network between them and a server, and flows.
///
/// The network consists of links (`[[link]]`), of sites (`[[site]]`) with a carrier, a radio channel, MAC and RLC, or
/// of sites behind links.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd", check)]
pub struct Scenario {
    /// Title for reports.
    #[param(basic, default = "unnamed".to_string(), unit = "text", source = "airwnd")]
    pub name: String,
    /// Set of defaults for keys that the scenario omits: those of airwnd, of another simulator or of an earlier version
    /// ([presets](presets.md)).
    #[param(default = Preset::None, unit = "word", source = "airwnd")]
    pub preset: Preset,
    /// Simulator whose behaviour applies where it differs from that of a real network ([quirks](presets.md#quirks)). A
    /// preset selects its own.
    #[param(expert, default = Compat::None, unit = "word", source = "a real network")]
    pub compat: Compat,
    /// Names of quirks that do not apply, of `compat` and of TCP stacks.
    #[param(expert, default = Vec::new(), unit = "1", source = "all of them apply")]
    pub compat_without: Vec<String>,
    /// Duration of the measurement, which begins after the warm-up.
    #[param(range = Span::from_millis(1)..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub duration: Span,
    /// Time for attach and bearer set-up before the first flow.
    #[param(default = Span::from_millis(500), range = Span::ZERO..=Span::from_secs(60))]
    #[param(unit = "time", source = "ns-3 reference runs; TS 36.331 §5.3.3")]
    pub warmup: Span,
    /// Seed of all random streams.
    #[param(basic, default = 1, range = 0..=9_223_372_036_854_775_807, unit = "1", source = "airwnd")]
    pub seed: u64,
    /// TCP settings of both endpoints.
    #[param(basic, default = Settings::default(), unit = "1", source = "RFC 9293")]
    pub tcp: Settings,
    /// The core network.
    #[param(basic, default = Core::default(), unit = "1", source = "TS 36.300 §4")]
    pub core: Core,
    /// The carrier.
    #[param(basic, default = Carrier::default(), unit = "1", source = "TS 36.101")]
    pub carrier: Carrier,
    /// The radio channel.
    #[param(basic, default = RadioSettings::default(), unit = "1", source = "TS 36.213")]
    pub radio: RadioSettings,
    /// Medium access control.
    #[param(basic, default = Mac::default(), unit = "1", source = "TS 36.321")]
    pub mac: Mac,
    /// Radio link control.
    #[param(basic, default = Rlc::default(), unit = "1", source = "TS 36.322")]
    pub rlc: Rlc,
    /// Release of UEs without data to RRC idle or inactive; `none`: UEs stay connected.
    #[param(default = None, unit = "1", source = "a choice: as in ns-3 LENA")]
    pub rrc: Option<rrc::Params>,
    /// Handover.
    #[param(basic, default = handover::Settings::default(), unit = "1", source = "TS 36.300 §10.1.2")]
    pub handover: handover::Settings,
    /// The links.
    #[param(basic, default = Vec::new(), unit = "1", source = "ns-3 reference run S5")]
    pub link: Vec<Link>,
    /// The sites.
    #[param(basic, default = Vec::new(), unit = "1", source = "TS 36.300 §4")]
    pub site: Vec<Site>,
    /// Groups of UEs.
    #[param(unit = "1", source = "the scenario")]
    pub ue: Vec<UeGroup>,
    /// Groups of flows. A simulation needs at least one; in an emulation, real programs may send all packets.
    #[param(basic, default = Vec::new(), unit = "1", source = "the scenario")]
    pub flow: Vec<Flow>,
}

impl<'s> From<&'s Scenario> for Cow<'s, Scenario> {
    fn from(scenario: &'s Scenario) -> Cow<'s, Scenario> {
        Cow::Borrowed(scenario)
    }
}

impl From<Scenario> for Cow<'_, Scenario> {
    fn from(scenario: Scenario) -> Self {
        Cow::Owned(scenario)
    }
}

impl Scenario {
    /// Reads and checks a scenario. File names are relative to the folder of the node's origin.
    ///
    /// # Errors
    /// An invalid scenario; the message names file, line, key and what is allowed.
    pub fn from_node(node: &Node) -> Result<Scenario, Error> {
        Scenario::with_plugins(node, &Plugins::default())
    }

    /// Reads and checks a scenario that may use these plug-ins in addition to the built-in congestion controls.
    ///
    /// # Errors
    /// As [`Scenario::from_node`], or settings that a plug-in rejects.
    pub fn with_plugins(node: &Node, plugins: &Plugins) -> Result<Scenario, Error> {
        Scenario::with_pipes(node, plugins, &no_pipe)
    }

    /// Reads and checks a scenario that may use these plug-ins, and name pipes that `read_pipe` reads.
    ///
    /// # Errors
    /// As [`Scenario::with_plugins`], or a pipe that cannot be read.
    pub fn with_pipes(node: &Node, plugins: &Plugins, read_pipe: ReadPipe<'_>) -> Result<Scenario, Error> {
        let node = &Preset::complete::<Scenario>(node)?;
        let mut scenario = Scenario::read(node)?;
        let (compat, without) = (scenario.compat, scenario.compat_without.clone());
        compat::adopt(&mut scenario, compat, &without, node)?;
        scenario.read_files(&Folder { path: folder(node), read_pipe }).map_err(|fault| fault.at(node))?;
        scenario.link(node, folder(node), plugins)?;
        scenario.check_values().map_err(|fault| fault.at(node))?;
        Ok(scenario)
    }

    /// Sets single quirks, from a table in TOML with the structure of the files in `compat/`.
    ///
    /// # Errors
    /// An invalid table or value, or quirks that contradict the scenario.
    pub fn set_quirks(&mut self, table: &str) -> Result<(), Error> {
        let table = Defaults::from_toml(table, "quirks")?;
        compat::set(self, &table)?;
        self.check_values().map_err(|fault| fault.at(table.sections()))
    }

    /// Returns the resolved scenario: every value, defaults included.
    pub fn to_json(&self) -> serde_json::Value {
        self.preset.without::<Scenario>(Param::to_json(self))
    }

    /// Duration of the measurement.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// Indices in `link` of the links on a group's path, from the gateway on.
    pub(crate) fn route(&self, group: &UeGroup) -> Vec<usize> {
        let place = |name: &String| self.link.iter().position(|link| link.settings.name == *name);
        match &group.via {
            None => (0..self.link.len()).collect(),
            Some(via) => via.iter().filter_map(place).collect(),
        }
    }

    /// Checks that there are flows, which a simulation needs.
    pub(crate) fn check_flows(&self) -> Result<(), Error> {
        if self.flow.is_empty() {
            return Err(Error::new(&self.name, None, "there are no flows; add [[flow]]").within("flow"));
        }
        Ok(())
    }

    /// Checks conditions between sections.
    fn check(&self) -> Result<(), Fault> {
        let fail = |key: &str, message: &str| Err(Fault::new(key, message));
        if self.link.is_empty() && self.site.is_empty() {
            return fail("", "there are no sites and no links; add [[site]] or [[link]]");
        }
        if self.ue.is_empty() {
            return fail("ue", "there are no UEs; add [[ue]]");
        }
        self.check_sizes()?;
        let carriers = self.carrier.components(&self.radio.access);
        let carriers = carriers.map_err(|(key, message)| Fault::new(format!("carrier.{key}"), message))?;
        if let Some(pdcch) = &self.mac.pdcch {
            let checked = pdcch.check_on(&self.radio.access, &carriers);
            checked.map_err(|(key, message)| Fault::new(format!("mac.pdcch.{key}"), message))?;
        }
        for (index, group) in self.ue.iter().enumerate() {
            let Some([fewest, max]) = group.floors else { continue };
            let at = |message| Err(Fault::new(format!("ue[{index}].floors"), message));
            if fewest > max {
                return at(format!("the fewest floors, {fewest}, exceed the most, {max}"));
            }
            if !self.radio.places_indoors() {
                return at(
                    "no UE is in a building: set radio.propagation = {kind = \"tr38901\", indoor = ...}"
                        .into(),
                );
            }
        }
        for (index, group) in self.ue.iter().enumerate() {
            let Some(grant) = &group.configured_grant else { continue };
            let checked = grant.check_on(&carriers[0]);
            let within = |(key, message)| Fault::new(format!("ue[{index}].configured_grant.{key}"), message);
            checked.map_err(within)?;
        }
        self.check_rlc()?;
        self.check_masts()?;
        for index in 0..self.link.len() {
            self.check_link(index).map_err(|fault| fault.within(&format!("link[{index}]")))?;
        }
        for index in 0..self.ue.len() {
            self.check_group(index).map_err(|fault| fault.within(&format!("ue[{index}]")))?;
        }
        for (index, link) in self.link.iter().enumerate() {
            if self.ue.iter().all(|group| !self.route(group).contains(&index)) {
                let message = format!("no group of UEs is routed over link `{}`", link.settings.name);
                return fail(&format!("link[{index}].name"), &message);
            }
        }
        for index in 0..self.flow.len() {
            self.check_flow(index).map_err(|fault| fault.within(&format!("flow[{index}]")))?;
        }
        Ok(())
    }

    /// Checks the numbers of UEs and cells.
    fn check_sizes(&self) -> Result<(), (&'static str, String)> {
        let total: u64 = self.ue.iter().map(|group| u64::from(group.count)).sum();
        if total > u64::from(MAX_UES) {
            return Err(("ue", format!("{total} UEs in all; at most {MAX_UES} are allowed")));
        }
        let cells = self.cells();
        if cells > MAX_CELLS {
            return Err(("site", format!("{cells} cells in all; at most {MAX_CELLS} are allowed")));
        }
        let (key, offsets) = match self.mac.srs_period {
            Some(period) => ("mac.srs_period", period),
            None => ("ue", MAX_SOUNDING_OFFSETS),
        };
        if cells > 0 && total > u64::from(cells) * u64::from(offsets) {
            let message = format!(
                "{total} UEs in all; {offsets} sounding offsets per cell allow at most {}",
                u64::from(cells) * u64::from(offsets)
            );
            return Err((key, message));
        }
        Ok(())
    }

    /// Checks that the model of acknowledged mode exists for the generation of RLC.
    fn check_rlc(&self) -> Result<(), (&'static str, String)> {
        let protocol = self.rlc.quirks.protocol.unwrap_or(self.radio.access.protocol());
        if protocol == Protocol::Nr && self.rlc.am.quirks.conduct == Conduct::Ns3 {
            let message = "ns-3 has no RLC of NR: `protocol` can be left out together with `conduct` only";
            return Err(("compat_without", message.into()));
        }
        let (name, sizes) = match protocol {
            Protocol::Lte => ("LTE", [am::LTE_SIZES, um::LTE_SIZES]),
            Protocol::Nr => ("NR", [am::NR_SIZES, um::NR_SIZES]),
        };
        let given = [("rlc.am.sn_size", self.rlc.am.sn_size), ("rlc.um.sn_size", self.rlc.um.sn_size)];
        for ((key, given), [small, large]) in given.into_iter().zip(sizes) {
            if given.is_some_and(|size| size != small && size != large) {
                let size = given.unwrap_or_default();
                return Err((key, format!("{size} is not a size in {name}; allowed: {small}, {large}")));
            }
        }
        Ok(())
    }

    pub(crate) fn cells(&self) -> u32 {
        self.site.iter().map(|site| u32::from(site.sectors) * hexagon::places(site.rings)).sum()
    }

    /// Positions of the masts, each with the index of its entry in `site`.
    pub(crate) fn masts(&self) -> Vec<(usize, [Metres; 2])> {
        let positions = |(place, site): (usize, &Site)| {
            let grid = hexagon::grid(site.position, site.rings, site.spacing);
            grid.into_iter().map(move |position| (place, position))
        };
        self.site.iter().enumerate().flat_map(positions).collect()
    }

    /// Vectors to the copies of the network around it; empty: it has borders.
    pub(crate) fn copies(&self) -> Vec<[Metres; 2]> {
        let wrapped = self.site.iter().find(|site| site.wrap_around);
        wrapped.map_or(Vec::new(), |site| hexagon::copies(site.rings, site.spacing))
    }

    fn check_masts(&self) -> Result<(), Fault> {
        if let Some(index) = self.site.iter().position(|site| site.wrap_around) {
            let message = match (self.site.len(), self.site[index].rings) {
                (1, 1..) => None,
                (1, _) => Some("a grid needs at least one of `rings`".to_string()),
                (count, _) => Some(format!("only a single [[site]] with its `rings` goes on, found {count}")),
            };
            if let Some(message) = message {
                return Err(Fault::new(format!("site[{index}].wrap_around"), message));
            }
        }
        let masts = self.masts();
        for (number, (place, position)) in masts.iter().enumerate() {
            let near = masts[..number].iter().find(|(_, other)| distance(*position, *other) < CLOSEST);
            if let Some((other, _)) = near {
                let [x, y] = position;
                let message = format!(
                    "the mast at ({x}, {y}) is less than {CLOSEST} from a mast of site {other}; for several cells at \
                     one place use `sectors`"
                );
                return Err(Fault::new(format!("site[{place}].position"), message));
            }
        }
        Ok(())
    }

    fn check_group(&self, index: usize) -> Result<(), Fault> {
        let group = &self.ue[index];
        if self.ue[..index].iter().any(|other| other.name == group.name) {
            let message = format!("another group is named `{}`; names must be unique", group.name);
            return Err(Fault::new("name", message));
        }
        if group.replay.is_some() && self.site.is_empty() {
            let message = "a recorded channel is that of a cell, and there are no cells; add [[site]]";
            return Err(Fault::new("replay", message));
        }
        if let Some(Shaper { rates: shape::Spec::Autorate(_), .. }) = &group.shaper {
            let is_pinging = |flow: &Flow| {
                matches!(flow.traffic, traffic::Spec::Ping(_))
                    && flow.direction == Direction::Up
                    && flow.ue.as_ref().is_none_or(|name| *name == group.name)
            };
            if !self.flow.iter().any(is_pinging) {
                let message = "autorate needs pings of these UEs: add a [[flow]] with traffic = \"ping\" and \
                               direction = \"up\"";
                return Err(Fault::new("shaper.rates", message));
            }
        }
        if group.configured_grant.is_some() && self.site.is_empty() {
            let message = "a configured grant is that of a cell, and there are no cells; add [[site]]";
            return Err(Fault::new("configured_grant", message));
        }
        self.check_placement(index, group)?;
        self.check_via(group).map_err(|message| Fault::new("via", message))
    }

    fn check_placement(&self, index: usize, group: &UeGroup) -> Result<(), Fault> {
        let placement = group.placement.build();
        if let Some(places) = placement.places().filter(|places| *places < group.count as usize) {
            let message = format!("{} UEs, but the placement has {places} points", group.count);
            return Err(Fault::new("count", message));
        }
        let (cells, masts) = (self.cells(), self.masts());
        for (number, place) in group.placement.places(index, group.count, self.seed).into_iter().enumerate() {
            if let Some(cell) = place.cell.filter(|cell| u32::from(*cell) >= cells) {
                let message = format!("UE {number} is assigned to cell {}; allowed: 1 to {cells}", cell + 1);
                return Err(Fault::new("placement", message));
            }
            let start = [place.x, place.y];
            if let Some((site, _)) = masts.iter().find(|(_, mast)| distance(*mast, start) < CLOSEST) {
                let message = format!(
                    "UE {number} at ({}, {}) is less than {CLOSEST} from a mast of site {site}",
                    place.x, place.y
                );
                return Err(Fault::new("placement", message));
            }
            group.mobility.check_start(start).map_err(|fault| Fault::from(fault).within("mobility"))?;
        }
        Ok(())
    }

    fn check_link(&self, index: usize) -> Result<(), Fault> {
        let name = &self.link[index].settings.name;
        let fail = |message: String| Err(Fault::new("name", message));
        if name.is_empty() {
            return fail("a link needs a name".into());
        }
        if [SERVER, S1U, X2].contains(&name.as_str()) {
            return fail(format!("`{name}` is a link of [core]; choose another name"));
        }
        if name == SHAPER {
            return fail(format!("`{name}` is the link of ue.shaper; choose another name"));
        }
        if self.link[..index].iter().any(|other| other.settings.name == *name) {
            return fail(format!("another link is named `{name}`; names must be unique"));
        }
        Ok(())
    }

    fn check_via(&self, group: &UeGroup) -> Result<(), String> {
        let Some(via) = &group.via else { return Ok(()) };
        let known: Vec<&str> = self.link.iter().map(|link| link.settings.name.as_str()).collect();
        for (place, name) in via.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                return Err(unknown_word("link", name, &known));
            }
            if via[..place].contains(name) {
                return Err(format!("link `{name}` is listed twice; a path passes each link at most once"));
            }
        }
        if via.is_empty() && self.site.is_empty() {
            return Err("the list is empty; without a [[site]] a group needs at least one link".into());
        }
        Ok(())
    }

    fn check_arrivals(&self, flow: &Flow) -> Result<(), Fault> {
        let window = flow.window(self.duration);
        let arrivals = flow.arrivals.build();
        arrivals.check_end(window).map_err(|fault| Fault::from(fault).within("arrivals"))?;
        let traffic = flow.traffic.kind();
        if arrivals.continues() && !flow.traffic.ends() {
            let kind = flow.arrivals.kind();
            let message = format!(
                "`{kind}` arrivals continue until the end, and flows of `{traffic}` never complete; use `transfer`, \
                 `web` with `pages`, or `schedule` arrivals"
            );
            return Err(Fault::new("arrivals", message));
        }
        if let Some(path) = arrivals.sizes().filter(|_| !flow.traffic.takes_size()) {
            let message =
                format!("{path} has flow sizes, but flows of `{traffic}` have no size; use `transfer`");
            return Err(Fault::new("arrivals.path", message));
        }
        let (expected, flows) = (arrivals.expected(window), self.flows_of(flow));
        if flows > MAX_FLOWS {
            let key = if expected > 1.0 { "arrivals" } else { "count" };
            return Err(Fault::new(
                key,
                format!("about {flows:.0} flows in all; at most {MAX_FLOWS} are allowed"),
            ));
        }
        let writes = flow.traffic.writes_per_second() * window.as_secs() * flows;
        if writes > MAX_WRITES {
            let message = format!(
                "`{traffic}` makes about {writes:.1e} writes in all; at most {MAX_WRITES:.0e} are allowed: lower the \
                 rate, write more bytes at a time, or stop earlier"
            );
            return Err(Fault::new("traffic", message));
        }
        Ok(())
    }

    /// TCP parameters of both ends of a group's flows.
    pub(crate) fn tcp_of(&self, flow: &Flow) -> Config {
        self.tcp
            .for_flow(&flow.tcp, &flow.cc)
            .unwrap_or_else(|(key, message)| panic!("checked: {key}: {message}"))
    }

    /// Expected number of flows of a group.
    pub(crate) fn flows_of(&self, flow: &Flow) -> f64 {
        let of_group = |group: &&UeGroup| flow.ue.as_ref().is_none_or(|name| group.name == *name);
        let ues: u32 = self.ue.iter().filter(of_group).map(|group| group.count).sum();
        let expected = flow.arrivals.build().expected(flow.window(self.duration));
        expected * f64::from(ues) * f64::from(flow.count)
    }

    fn check_flow(&self, index: usize) -> Result<(), Fault> {
        let flow = &self.flow[index];
        let fail = |key: &str, message: String| Err(Fault::new(key, message));
        if self.flow[..index].iter().any(|other| other.id == flow.id) {
            return fail("id", format!("another flow has the id `{}`; ids must be unique", flow.id));
        }
        if let Some(name) = flow.ue.as_ref().filter(|name| self.ue.iter().all(|group| group.name != **name)) {
            let names: Vec<String> = self.ue.iter().map(|group| format!("`{}`", group.name)).collect();
            return fail("ue", format!("there is no group `{name}`; groups: {}", names.join(", ")));
        }
        for group in self.ue.iter().filter(|group| flow.ue.as_ref().is_none_or(|name| group.name == *name)) {
            if group.bearer_named(flow.bearer.as_ref()).is_none() {
                let name = flow.bearer.as_deref().unwrap_or_default();
                let known: Vec<&str> = group.bearer.iter().map(|bearer| bearer.name.as_str()).collect();
                let message = unknown_word(&format!("bearer of group `{}`", group.name), name, &known);
                return fail("bearer", message);
            }
        }
        if flow.start >= self.duration {
            let message = format!("the start at {} is not before the end at {}", flow.start, self.duration);
            return fail("start", message);
        }
        if let Some(stop) = flow.stop.filter(|stop| *stop <= flow.start) {
            return fail("stop", format!("the stop at {stop} is not after the start at {}", flow.start));
        }
        self.check_arrivals(flow)?;
        let capabilities = flow.rwnd.capabilities();
        if flow.traffic.transport() == Transport::Tcp {
            let config =
                self.tcp.for_flow(&flow.tcp, &flow.cc).map_err(|(key, message)| Fault::new(key, message))?;
            if capabilities.needs_timestamps && !config.timestamps {
                let kind = flow.rwnd.kind();
                let message = format!("`{kind}` measures delay by timestamps; set tcp.timestamps = true");
                return fail("rwnd", message);
            }
        }
        if capabilities.needs.link {
            self.check_link_rates(flow).or_else(|message| fail("rwnd", message))?;
        }
        Ok(())
    }

    /// Checks that the link rates that a receive-window control requires are defined.
    fn check_link_rates(&self, flow: &Flow) -> Result<(), String> {
        let word = flow.rwnd.kind();
        if flow.traffic.transport() == Transport::Udp {
            return Err(format!(
                "`{}` sends UDP datagrams, which have no receive window; remove `{word}`",
                flow.traffic.kind()
            ));
        }
        if flow.direction == Direction::Up {
            let message =
                "`{word}` requires link rates, defined for downlink data only; set direction = \"down\"";
            return Err(message.replace("{word}", &word));
        }
        let takes_part = |group: &&UeGroup| flow.ue.as_ref().is_none_or(|name| group.name == *name);
        let passed = self.ue.iter().filter(takes_part).flat_map(|group| self.route(group));
        let shared =
            passed.map(|place| &self.link[place]).find(|link| matches!(link.kind, link::Spec::Wifi(_)));
        shared.map_or(Ok(()), |link| {
            Err(format!(
                "`{word}` requires the rates of all links, and the rate of `{}`, a shared Wi-Fi link, is not defined",
                link.settings.name
            ))
        })
    }
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

/// Folder to which the file names of a scenario are relative.
fn folder(node: &Node) -> &Path {
    Path::new(node.origin()).parent().unwrap_or(Path::new(""))
}

fn distance(a: [Metres; 2], b: [Metres; 2]) -> Metres {
    Metres(libm::hypot(a[0].0 - b[0].0, a[1].0 - b[1].0))
}
