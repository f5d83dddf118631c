//! The input: sections and keys of a scenario, presets, and files that it names.

pub mod arrivals;
pub(crate) mod bearers;
mod check;
pub(crate) mod compat;
pub(crate) mod files;
mod hexagon;
pub(crate) mod links;
mod outside;
pub(crate) mod packet_filter;
pub mod placement;
pub(crate) mod plugins;
pub(crate) mod preset;
mod recordings;
mod sections;
pub mod size;
pub mod traffic;

pub use bearers::DedicatedBearer;
pub use compat::{Compat, QuirkInfo};
pub use files::ReadPipe;
pub use links::{Link, LinkSettings, Reroute, Sharing};
pub use packet_filter::{PacketFilter, Protocol, Signature};
pub use plugins::Plugins;
pub use preset::Preset;
pub use recordings::link_traces;
pub use sections::{Core, Flow, Shaper, Site, UeGroup};

pub(crate) use sections::{S1U, SERVER, SHAPER, X2};

use airwnd_catalog::{Defaults, Error, Node, Param, Params};
use airwnd_cell::{Carrier, Mac, RadioSettings, Rlc, handover, rrc};
use airwnd_tcp::{Config, Settings};
use airwnd_units::{Metres, Span};
use files::{Folder, no_pipe};
use std::borrow::Cow;
use std::path::Path;

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
}

/// Folder to which the file names of a scenario are relative.
fn folder(node: &Node) -> &Path {
    Path::new(node.origin()).parent().unwrap_or(Path::new(""))
}
