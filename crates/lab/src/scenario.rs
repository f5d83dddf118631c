//! What a user writes.

use crate::links::Link;
use crate::traffic::Transport;
use crate::{arrivals, hexagon, placement, recordings, size, traffic};
use airwnd_catalog::{Error, Node, Param, params, unknown_word};
use airwnd_cell::{Bearer, Carrier, Mac, Qci, RadioSettings, Rlc, handover, mobility};
use airwnd_kernel::Direction;
use airwnd_links::{aqm, link, loss};
use airwnd_rwnd as rwnd;
use airwnd_tcp::cc::plugins::Plugins;
use airwnd_tcp::{Settings, cc};
use airwnd_units::{BitRate, Db, Dbm, Degrees, Metres, Span};
use std::path::Path;

/// The most terminals that a scenario may have.
const MOST_UES: u32 = 100_000;
/// The most cells that a scenario may have: a terminal keeps a gain to each of them.
const MOST_CELLS: u32 = 1000;
/// The most flows that a scenario may have.
const MOST_FLOWS: f64 = 1e6;
/// The link between server and gateway in results.
pub(crate) const SERVER: &str = "server";
/// The links between gateway and cells in results.
pub(crate) const S1U: &str = "s1u";
/// The links from cells to other cells in results.
pub(crate) const X2: &str = "x2";
/// The longest period of sounding signals in TTIs, and so the most users of a cell (TS 36.213 Table 8.2-1).
const MOST_SOUNDING_OFFSETS: u16 = 320;
/// The least distance on the map between a terminal and a mast: path-loss models end at the antenna.
const CLOSEST: Metres = Metres(1.0);

params! {
    /// The core network: server, gateway and base station.
    ///
    /// Packets carry 2 bytes of framing on each link and on S1-U a GTP-U tunnel of 40 bytes (IP 20, UDP 8,
    /// GTP-U with sequence number 12; TS 29.281 §5.1).
    pub struct Core ("ns-3 PointToPointEpcHelper and the reference runs") {
        /// Rate of the link between server and gateway, each way; 0bps for no serialisation.
        pub server_rate: BitRate = BitRate(100_000_000_000), unit "bit/s", source "ARWA 2019 §4.1";
        /// One-way delay of the link between server and gateway.
        pub server_delay: Span = Span::from_millis(10), unit "time", range Span::ZERO..=Span::from_secs(60), source "ns-3 reference runs";
        /// Packets that may wait before the server link, each way; none: no limit.
        pub server_queue: Option<u64> = None, unit "packets", range 1..=100_000_000, source "ns-3 reference runs: never reached";
        /// Queue discipline before the server link, each way, in place of `server_queue`; none: drop-tail by it.
        pub server_aqm: Option<aqm::Spec> = None, unit "1", source "RFC 7567";
        /// What the link between server and gateway loses towards the terminals.
        pub server_loss: loss::Spec = loss::Spec::NoLoss(Default::default()), unit "1", source "ns-3 reference runs";
        /// What it loses towards the server.
        pub server_loss_up: loss::Spec = loss::Spec::NoLoss(Default::default()), unit "1", source "ns-3 reference runs";
        /// Rate of the S1-U link of each cell, each way; 0bps for no serialisation.
        pub s1u_rate: BitRate = BitRate(10_000_000_000), unit "bit/s", source "ns-3 PointToPointEpcHelper::S1uLinkDataRate";
        /// One-way delay of the S1-U link.
        pub s1u_delay: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(60), source "ns-3 PointToPointEpcHelper::S1uLinkDelay";
        /// Packets that may wait before an S1-U link, each way; none: no limit.
        pub s1u_queue: Option<u64> = None, unit "packets", range 1..=100_000_000, source "ns-3 reference runs: never reached";
        /// Rate of the X2 link from each cell to the others; 0bps for no serialisation.
        pub x2_rate: BitRate = BitRate(10_000_000_000), unit "bit/s", source "ns-3 PointToPointEpcHelper::X2LinkDataRate";
        /// One-way delay of X2, for packets and for messages.
        pub x2_delay: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(60), source "ns-3 PointToPointEpcHelper::X2LinkDelay";
        /// Packets that may wait before an X2 link; none: no limit.
        pub x2_queue: Option<u64> = None, unit "packets", range 1..=100_000_000, source "ns-3 reference runs: never reached";
    }
}

params! {
    /// A site: one mast with one or more sectors, each a cell; or a hexagonal grid of such sites.
    pub struct Site ("ARWA 2019 §4.1; ns-3 reference run S3") {
        /// Where the mast stands.
        pub position: [Metres; 2] = [Metres(0.0), Metres(0.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "the origin";
        /// Rings of further sites around it, on a hexagonal grid: 0 for none, 1 for 7 sites in all, 2 for 19.
        pub rings: u16 = 0, unit "rings", range 0..=10, source "one site; TR 36.814 Table A.2.1.1-1 has 19";
        /// Distance between neighbours on that grid.
        pub spacing: Metres = Metres(500.0), unit "m", range Metres(1.0)..=Metres(1e5), source "TR 36.814 Table A.2.1.1-1, case 1";
        /// Height of the antennas.
        pub height: Metres = Metres(30.0), unit "m", range Metres(0.1)..=Metres(1000.0), source "ns-3 reference runs";
        /// Number of sectors, evenly around the mast.
        pub sectors: u16 = 1, unit "sectors", range 1..=12, source "one cell";
        /// Direction in which the first sector looks.
        pub azimuth: Degrees = Degrees(0.0), unit "deg", range Degrees(-360.0)..=Degrees(360.0), source "east";
        /// Antenna pattern of each sector.
        pub antenna: airwnd_cell::phy::antenna::Spec = airwnd_cell::phy::antenna::Spec::Isotropic(Default::default()), unit "1", source "ns-3 LteHelper default";
        /// Transmit power of each sector over the whole carrier.
        pub power: Dbm = Dbm(43.0), unit "dBm", range Dbm(-50.0)..=Dbm(80.0), source "ARWA 2019 §4.1";
        /// Noise figure of the base station's receiver.
        pub noise_figure: Db = Db(5.0), unit "dB", range Db(0.0)..=Db(40.0), source "ns-3 LteEnbPhy::NoiseFigure";
    }
}

params! {
    /// A group of terminals.
    pub struct UeGroup ("ns-3 reference runs") {
        /// Name of the group, for flows.
        pub name: String = "ue".to_string(), unit "text", source "airwnd";
        /// How many terminals.
        pub count: u32 = 1, unit "terminals", range 1..=MOST_UES, source "one terminal";
        /// Where they are.
        pub placement: placement::Spec = placement::Spec::Disc(Default::default()), unit "1", source "ARWA 2019 §4.1";
        /// How they move from there.
        pub mobility: mobility::Spec = mobility::Spec::Static(Default::default()), unit "1", source "ns-3 reference runs";
        /// Height above ground.
        pub height: Metres = Metres(1.5), unit "m", range Metres(0.1)..=Metres(1000.0), source "TR 36.814 Table A.2.1.1-2";
        /// Noise figure of the receiver.
        pub noise_figure: Db = Db(9.0), unit "dB", range Db(0.0)..=Db(40.0), source "ns-3 LteUePhy::NoiseFigure";
        /// QoS class of the bearer; none: 9, or 4 with a guaranteed bit rate. Schedulers that heed delay take its budget.
        pub qci: Option<u8> = None, unit "1", range 1..=9, source "TS 23.203 Table 6.1.7-A";
        /// Guaranteed bit rate of the bearer; none: best effort.
        pub gbr: Option<BitRate> = None, unit "bit/s", range BitRate(1)..=BitRate(10_000_000_000), source "TS 23.203 §6.1.7";
        /// Maximum bit rate of a bearer with a guaranteed one, for schedulers with tokens; none: the guaranteed one.
        pub mbr: Option<BitRate> = None, unit "bit/s", range BitRate(1)..=BitRate(10_000_000_000), source "TS 23.203 §6.1.7";
        /// Names of the links between the gateway and the group, in this order; none: all, in the order written.
        pub via: Option<Vec<String>> = None, unit "text", source "the scenario";
    }
}

params! {
    /// Flows of each terminal of a group.
    ///
    /// Each has its own connection and its own row in the results. By default a terminal has one, which begins at
    /// `start`; `arrivals` makes new ones later, and `count` makes several at each arrival. The flows of a group are
    /// numbered in the order in which they begin.
    pub struct Flow ("ns-3 reference runs") {
        /// Name of the group of flows; a flow is called by it and a number.
        pub id: String = "flow".to_string(), unit "text", source "airwnd";
        /// Group of terminals; none: all.
        pub ue: Option<String> = None, unit "text", source "airwnd";
        /// Which end sends.
        pub direction: Direction = Direction::Down, unit "1", source "a download";
        /// What the application sends.
        pub traffic: traffic::Spec = traffic::Spec::Bulk(Default::default()), unit "1", source "a download without end";
        /// Congestion control at the sender.
        //= exception newreno-by-default
        pub cc: cc::Spec = cc::Spec::Newreno(Default::default()), unit "1", source "ARWA 2019 Table 1";
        /// Receive-window control at the receiver.
        pub rwnd: rwnd::Spec = rwnd::Spec::Fixed(Default::default()), unit "1", source "an ordinary receiver";
        /// Rate at which the receiving application reads what TCP has for it; none: at once.
        pub read_rate: Option<BitRate> = None, unit "bit/s", range BitRate(1)..=BitRate(1_000_000_000_000), source "an ordinary receiver";
        /// Flows that begin at each arrival, for each terminal.
        pub count: u32 = 1, unit "flows", range 1..=10_000, source "one application";
        /// When flows begin, counted from `start`.
        pub arrivals: arrivals::Spec = arrivals::Spec::Once(Default::default()), unit "1", source "an ordinary application";
        /// When the first flow starts, counted from the end of the warm-up.
        pub start: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(31_536_000), source "the scenario";
        /// Each further flow of an arrival, of a terminal and then of the next one, starts this much later than the one before.
        pub stagger: Span = Span::from_millis(1), unit "time", range Span::ZERO..=Span::from_secs(3600), source "ns-3 reference run S3";
        /// When the applications stop, counted from the end of the warm-up; none: at the end. With arrivals: when no more
        /// come; transfers and pages that have begun go on.
        pub stop: Option<Span> = None, unit "time", range Span::ZERO..=Span::from_secs(31_536_000), source "the scenario";
    }
}

params! {
    /// A scenario: terminals, what connects them to a server, and what they download.
    ///
    /// What connects them: links (`[[link]]`), sites (`[[site]]`) with a carrier, a radio channel, MAC and RLC, or sites
    /// behind links.
    pub section Scenario ("airwnd") {
        /// Title for reports.
        pub name: String = "unnamed".to_string(), unit "text", source "airwnd";
        /// Length of the measurement, which begins after the warm-up.
        pub duration: Span, unit "time", range Span::from_millis(1)..=Span::from_secs(31_536_000), source "the scenario";
        /// Time for attach and bearer set-up before the first flow.
        pub warmup: Span = Span::from_millis(500), unit "time", range Span::ZERO..=Span::from_secs(60), source "ns-3 reference runs; TS 36.331 §5.3.3";
        /// Seed of all random streams.
        pub seed: u64 = 1, unit "1", range 0..=9_223_372_036_854_775_807, source "airwnd";
        /// TCP at both ends.
        pub tcp: Settings = Settings::default(), unit "1", source "RFC 9293";
        /// The core network.
        pub core: Core = Core::default(), unit "1", source "TS 36.300 §4";
        /// The carrier.
        pub carrier: Carrier = Carrier::default(), unit "1", source "TS 36.101";
        /// Between transmitter and receiver.
        pub radio: RadioSettings = RadioSettings::default(), unit "1", source "TS 36.213";
        /// Medium access control.
        pub mac: Mac = Mac::default(), unit "1", source "TS 36.321";
        /// Radio link control.
        pub rlc: Rlc = Rlc::default(), unit "1", source "TS 36.322";
        /// Handover.
        pub handover: handover::Settings = handover::Settings::default(), unit "1", source "TS 36.300 §10.1.2";
        /// The links.
        pub link: Vec<Link> = Vec::new(), unit "1", source "ns-3 reference run S5";
        /// The sites.
        pub site: Vec<Site> = Vec::new(), unit "1", source "TS 36.300 §4";
        /// Groups of terminals.
        pub ue: Vec<UeGroup>, unit "1", source "the scenario";
        /// Groups of flows.
        pub flow: Vec<Flow>, unit "1", source "the scenario";
    }
}

impl Scenario {
    /// A checked scenario. The files that it names are read relative to the folder of the node's origin.
    ///
    /// # Errors
    /// One message that names file, line, key and what is allowed.
    pub fn from_node(node: &Node) -> Result<Scenario, Error> {
        Scenario::with_plugins(node, &Plugins::default())
    }

    /// A checked scenario, which may use these congestion controls besides the engine's own.
    ///
    /// # Errors
    /// As [`Scenario::from_node`], and what a plug-in has against its settings.
    pub fn with_plugins(node: &Node, plugins: &Plugins) -> Result<Scenario, Error> {
        let mut scenario = Scenario::read(node)?;
        scenario.read_files(node)?;
        scenario.link(node, plugins)?;
        scenario.check(node)?;
        Ok(scenario)
    }

    /// The scenario with every value written out.
    pub fn to_json(&self) -> serde_json::Value {
        Param::to_json(self)
    }

    /// Length of the measurement.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// The places in `link` of the links that a group's packets pass, from the gateway on.
    pub(crate) fn route(&self, group: &UeGroup) -> Vec<usize> {
        let place = |name: &String| self.link.iter().position(|link| link.settings.name == *name);
        match &group.via {
            None => (0..self.link.len()).collect(),
            Some(via) => via.iter().filter_map(place).collect(),
        }
    }

    fn read_files(&mut self, node: &Node) -> Result<(), Error> {
        for (index, group) in self.ue.iter_mut().enumerate() {
            if let placement::Spec::File(params) = &mut group.placement {
                let key = format!("ue[{index}].placement.path");
                read_rows(node, &key, &params.path, &mut params.rows, placement::file::parse)?;
            }
            if let mobility::Spec::Path(params) = &mut group.mobility {
                let key = format!("ue[{index}].mobility.path");
                let most = params.max_speed;
                let parse = |text: &str| mobility::path::parse(text, most);
                read_rows(node, &key, &params.path, &mut params.rows, parse)?;
            }
        }
        for (index, flow) in self.flow.iter_mut().enumerate() {
            if let arrivals::Spec::File(params) = &mut flow.arrivals {
                let key = format!("flow[{index}].arrivals.path");
                read_rows(node, &key, &params.path, &mut params.rows, arrivals::file::parse)?;
            }
            for (key, size) in flow.traffic.sizes_mut() {
                if let size::Spec::Empirical(params) = &mut size.0 {
                    let key = format!("flow[{index}].traffic.{key}.path");
                    read_rows(node, &key, &params.path, &mut params.rows, size::empirical::parse)?;
                }
            }
        }
        self.read_recordings(node)
    }

    fn read_recordings(&mut self, node: &Node) -> Result<(), Error> {
        for (index, link) in self.link.iter_mut().enumerate() {
            let link::Spec::Trace(params) = &mut link.kind else { continue };
            let format = params.format;
            for (way, recording) in params.recordings() {
                let (origin, text) = recordings::text(&recording.file, folder(node))
                    .map_err(|message| complain(node, &format!("link[{index}].{way}"), message))?;
                recording
                    .read_text(&text, format)
                    .map_err(|(line, why)| Error::new(&origin, Some(line), why))?;
            }
            params.seal().map_err(|message| complain(node, &format!("link[{index}].digest"), message))?;
        }
        Ok(())
    }

    fn link(&mut self, node: &Node, plugins: &Plugins) -> Result<(), Error> {
        for (index, flow) in self.flow.iter_mut().enumerate() {
            let key = format!("flow[{index}].cc");
            flow.cc.link(node.nearest(&key), folder(node), plugins).map_err(|error| error.within(&key))?;
        }
        Ok(())
    }

    /// What no single value shows.
    fn check(&self, node: &Node) -> Result<(), Error> {
        let complain = |key: &str, message: String| Err(complain(node, key, message));
        if self.link.is_empty() && self.site.is_empty() {
            return complain("", "nothing connects the terminals: add [[site]] or [[link]]".into());
        }
        if self.ue.is_empty() {
            return complain("ue", "there are no terminals: add [[ue]]".into());
        }
        if self.flow.is_empty() {
            return complain("flow", "there are no flows: add [[flow]]".into());
        }
        self.check_sizes().or_else(|(key, message)| complain(key, message))?;
        self.check_masts().or_else(|(key, message)| complain(&key, message))?;
        self.check_losses().or_else(|(key, message)| complain(&key, message))?;
        self.check_queues().or_else(|(key, message)| complain(&key, message))?;
        for (index, link) in self.link.iter().enumerate() {
            self.check_link(index, link)
                .or_else(|(key, message)| complain(&format!("link[{index}].{key}"), message))?;
        }
        let tcp = self.tcp.config();
        if tcp.min_rto > tcp.max_rto {
            let message = format!("the least timeout {} exceeds the greatest {}", tcp.min_rto, tcp.max_rto);
            return complain(if self.tcp.min_rto.is_some() { "tcp.min_rto" } else { "tcp.max_rto" }, message);
        }
        self.radio
            .fading
            .check()
            .or_else(|(key, message)| complain(&format!("radio.fading.{key}"), message))?;
        let power = &self.mac.power_control;
        if power.min_power > power.max_power {
            let message =
                format!("the largest power {} is below the smallest {}", power.max_power, power.min_power);
            return complain("mac.power_control.max_power", message);
        }
        if let Some(params) = &self.handover.link_failure
            && params.q_out > params.q_in
        {
            let message = format!("Qout {} exceeds Qin {}", params.q_out, params.q_in);
            return complain("handover.link_failure.q_out", message);
        }
        for (index, group) in self.ue.iter().enumerate() {
            if group.name.is_empty() {
                return complain(&format!("ue[{index}].name"), "a group needs a name".into());
            }
            if self.ue[..index].iter().any(|other| other.name == group.name) {
                let message = format!("a second group is called `{}`; names must differ", group.name);
                return complain(&format!("ue[{index}].name"), message);
            }
            self.check_placement(index, group).or_else(|(key, message)| complain(&key, message))?;
            group
                .check_bearer()
                .or_else(|(key, message)| complain(&format!("ue[{index}].{key}"), message))?;
            self.check_via(group).or_else(|message| complain(&format!("ue[{index}].via"), message))?;
        }
        for (index, link) in self.link.iter().enumerate() {
            if self.ue.iter().all(|group| !self.route(group).contains(&index)) {
                let message = format!("no group is routed over `{}`", link.settings.name);
                return complain(&format!("link[{index}].name"), message);
            }
        }
        for (index, flow) in self.flow.iter().enumerate() {
            self.check_flow(index, flow).or_else(|(key, message)| complain(&key, message))?;
        }
        Ok(())
    }

    /// How many terminals and cells there may be.
    fn check_sizes(&self) -> Result<(), (&'static str, String)> {
        let total: u64 = self.ue.iter().map(|group| u64::from(group.count)).sum();
        if total > u64::from(MOST_UES) {
            return Err(("ue", format!("{total} terminals in all; at most {MOST_UES} are allowed")));
        }
        let cells = self.cells();
        if cells > MOST_CELLS {
            return Err(("site", format!("{cells} cells in all; at most {MOST_CELLS} are allowed")));
        }
        let (key, offsets) = match self.mac.srs_period {
            Some(period) => ("mac.srs_period", period),
            None => ("ue", MOST_SOUNDING_OFFSETS),
        };
        if cells > 0 && total > u64::from(cells) * u64::from(offsets) {
            let message = format!(
                "{total} terminals in all; with {offsets} sounding offsets in each cell there is room for {}",
                u64::from(cells) * u64::from(offsets)
            );
            return Err((key, message));
        }
        Ok(())
    }

    fn check_losses(&self) -> Result<(), (String, String)> {
        let core = [
            ("core.server_loss", &self.core.server_loss),
            ("core.server_loss_up", &self.core.server_loss_up),
        ];
        for (key, loss) in core {
            loss.check().map_err(|(parameter, message)| (format!("{key}.{parameter}"), message))?;
        }
        Ok(())
    }

    fn check_queues(&self) -> Result<(), (String, String)> {
        if let Some(discipline) = self.core.server_aqm.as_ref().filter(|_| self.core.server_queue.is_some()) {
            let message =
                format!("the queue is that of `server_aqm`, \"{}\"; set its own keys", discipline.kind());
            return Err(("core.server_queue".into(), message));
        }
        let queues = [
            ("core.server_aqm", self.core.server_aqm.as_ref()),
            ("rlc.queue", Some(&self.rlc.queue)),
            ("rlc.uplink_queue", self.rlc.uplink_queue.as_ref()),
        ];
        for (key, queue) in queues {
            let checked = queue.map_or(Ok(()), |queue| queue.check());
            checked.map_err(|(parameter, message)| (format!("{key}.{parameter}"), message))?;
        }
        Ok(())
    }

    pub(crate) fn cells(&self) -> u32 {
        self.site.iter().map(|site| u32::from(site.sectors) * hexagon::places(site.rings)).sum()
    }

    /// The masts, each with the place of its entry in `site`.
    pub(crate) fn masts(&self) -> Vec<(usize, [Metres; 2])> {
        let of = |(place, site): (usize, &Site)| {
            let grid = hexagon::grid(site.position, site.rings, site.spacing);
            grid.into_iter().map(move |position| (place, position))
        };
        self.site.iter().enumerate().flat_map(of).collect()
    }

    fn check_masts(&self) -> Result<(), (String, String)> {
        let masts = self.masts();
        for (number, (place, position)) in masts.iter().enumerate() {
            let near = masts[..number].iter().find(|(_, other)| apart(*position, *other) < CLOSEST);
            if let Some((other, _)) = near {
                let [x, y] = position;
                let message = format!(
                    "a mast at ({x}, {y}), where site {other} has one; sites must be {CLOSEST} apart, one site has several sectors"
                );
                return Err((format!("site[{place}].position"), message));
            }
        }
        Ok(())
    }

    fn check_placement(&self, index: usize, group: &UeGroup) -> Result<(), (String, String)> {
        let key = |rest: &str| format!("ue[{index}].{rest}");
        let placement = group.placement.build();
        if let Some(places) = placement.places().filter(|places| *places < group.count as usize) {
            let message = format!("{} terminals, but the placement has {places} places", group.count);
            return Err((key("count"), message));
        }
        let radii = match &group.placement {
            placement::Spec::Disc(disc) => Some((disc.min_radius, disc.radius)),
            placement::Spec::Sector(sector) => Some((sector.min_radius, sector.radius)),
            _ => None,
        };
        if let Some((least, most)) = radii.filter(|(least, most)| least > most) {
            let message = format!("the smallest radius {least} exceeds the radius {most}");
            return Err((key("placement.min_radius"), message));
        }
        let (cells, masts) = (self.cells(), self.masts());
        for (number, place) in crate::build::places(self, index).into_iter().enumerate() {
            if let Some(cell) = place.cell.filter(|cell| u32::from(*cell) >= cells) {
                let message = format!("terminal {number} wants cell {}, but there are {cells}", cell + 1);
                return Err((key("placement"), message));
            }
            let start = [place.x, place.y];
            if let Some((site, _)) = masts.iter().find(|(_, mast)| apart(*mast, start) < CLOSEST) {
                let message = format!(
                    "terminal {number} at ({}, {}) stands on top of the antenna of site {site}; keep {CLOSEST} away",
                    place.x, place.y
                );
                return Err((key("placement"), message));
            }
            group
                .mobility
                .check(start)
                .map_err(|(parameter, message)| (key(&format!("mobility.{parameter}")), message))?;
        }
        Ok(())
    }

    fn check_link(&self, index: usize, link: &Link) -> Result<(), (String, String)> {
        let name = &link.settings.name;
        let complain = |message: String| Err(("name".to_string(), message));
        if name.is_empty() {
            return complain("a link needs a name".into());
        }
        if [SERVER, S1U, X2].contains(&name.as_str()) {
            return complain(format!("`{name}` is a link of [core]; choose another name"));
        }
        if self.link[..index].iter().any(|other| other.settings.name == *name) {
            return complain(format!("a second link is called `{name}`; names must differ"));
        }
        link.check()
    }

    fn check_via(&self, group: &UeGroup) -> Result<(), String> {
        let Some(via) = &group.via else { return Ok(()) };
        let known: Vec<&str> = self.link.iter().map(|link| link.settings.name.as_str()).collect();
        for (place, name) in via.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                return Err(unknown_word("link", name, &known));
            }
            if via[..place].contains(name) {
                return Err(format!("`{name}` stands there twice; a packet passes a link once"));
            }
        }
        if via.is_empty() && self.site.is_empty() {
            return Err("without a site a group needs a link".into());
        }
        Ok(())
    }

    fn check_arrivals(&self, flow: &Flow) -> Result<(), (String, String)> {
        let window = flow.window(self.duration);
        flow.traffic.check().map_err(|(key, message)| (format!("traffic.{key}"), message))?;
        flow.arrivals.check(window).map_err(|(key, message)| (format!("arrivals.{key}"), message))?;
        let (kind, arrivals) = (flow.traffic.kind(), flow.arrivals.kind());
        if flow.arrivals.goes_on() && !flow.traffic.ends() {
            let message = format!(
                "`{arrivals}` brings flows for ever, and those of `{kind}` do not end; take `transfer`, `web` with pages, \
                 or arrivals `schedule`"
            );
            return Err(("arrivals".into(), message));
        }
        if let arrivals::Spec::File(params) = &flow.arrivals
            && arrivals::file::File::has_sizes(params)
            && !matches!(flow.traffic, traffic::Spec::Transfer(_))
        {
            let message =
                format!("{} gives sizes, which `{kind}` does not have; take `transfer`", params.path);
            return Err(("arrivals.path".into(), message));
        }
        let expected = flow.arrivals.build().expected(window);
        let of_group = |group: &&UeGroup| flow.ue.as_ref().is_none_or(|name| group.name == *name);
        let terminals: u32 = self.ue.iter().filter(of_group).map(|group| group.count).sum();
        let flows = expected * f64::from(terminals) * f64::from(flow.count);
        if flows > MOST_FLOWS {
            let key = if expected > 1.0 { "arrivals" } else { "count" };
            return Err((
                key.into(),
                format!("about {flows:.0} flows in all; at most {MOST_FLOWS} are allowed"),
            ));
        }
        Ok(())
    }

    fn check_flow(&self, index: usize, flow: &Flow) -> Result<(), (String, String)> {
        let key = |rest: &str| format!("flow[{index}].{rest}");
        if flow.id.is_empty() {
            return Err((key("id"), "a flow needs a name".into()));
        }
        if self.flow[..index].iter().any(|other| other.id == flow.id) {
            return Err((key("id"), format!("a second flow is called `{}`; ids must differ", flow.id)));
        }
        if let Some(name) = flow.ue.as_ref().filter(|name| self.ue.iter().all(|group| group.name != **name)) {
            let names: Vec<String> = self.ue.iter().map(|group| format!("`{}`", group.name)).collect();
            return Err((key("ue"), format!("there is no group `{name}`; groups: {}", names.join(", "))));
        }
        if flow.start >= self.duration {
            return Err((
                key("start"),
                format!("starts at {}, after the end at {}", flow.start, self.duration),
            ));
        }
        if let Some(stop) = flow.stop.filter(|stop| *stop <= flow.start) {
            return Err((key("stop"), format!("stops at {stop}, not after its start at {}", flow.start)));
        }
        if flow.read_rate.is_some() && flow.traffic.transport() == Transport::Udp {
            let message = format!("`{}` sends datagrams, which are read at once", flow.traffic.kind());
            return Err((key("read_rate"), message));
        }
        flow.rwnd.check().map_err(|(parameter, message)| (key(&format!("rwnd.{parameter}")), message))?;
        self.check_arrivals(flow).map_err(|(rest, message)| (key(&rest), message))?;
        let capabilities = flow.rwnd.capabilities();
        if capabilities.needs_timestamps && !self.tcp.config().timestamps {
            let kind = flow.rwnd.kind();
            let message = format!("`{kind}` measures delay by timestamps; set tcp.timestamps = true");
            return Err((key("rwnd"), message));
        }
        if capabilities.wants.link {
            self.check_link_knowledge(flow).map_err(|message| (key("rwnd"), message))?;
        }
        Ok(())
    }

    /// Whether what a receive-window control wants to know of the link can be known.
    fn check_link_knowledge(&self, flow: &Flow) -> Result<(), String> {
        let word = flow.rwnd.kind();
        if flow.traffic.transport() == Transport::Udp {
            return Err(format!(
                "`{}` sends datagrams, which no window controls; leave out `{word}`",
                flow.traffic.kind()
            ));
        }
        if flow.direction == Direction::Up {
            let message = "`{word}` is told of the links towards terminals only; set direction = \"down\"";
            return Err(message.replace("{word}", &word));
        }
        let takes_part = |group: &&UeGroup| flow.ue.as_ref().is_none_or(|name| group.name == *name);
        let passed = self.ue.iter().filter(takes_part).flat_map(|group| self.route(group));
        let shared =
            passed.map(|place| &self.link[place]).find(|link| matches!(link.kind, link::Spec::Wifi(_)));
        shared.map_or(Ok(()), |link| {
            Err(format!(
                "`{word}` must know the rates of all links, and nobody knows that of `{}`, a Wi-Fi that stations share",
                link.settings.name
            ))
        })
    }
}

impl Flow {
    /// How long flows may arrive, counted from the first start.
    pub(crate) fn window(&self, duration: Span) -> Span {
        self.stop.map_or(duration, |stop| stop.min(duration)) - self.start
    }

    /// Whether each of its terminals has the same flows from the start on.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self.arrivals, arrivals::Spec::Once(_))
    }
}

/// Reads the rows that a file holds, unless they are there already.
fn read_rows<R>(
    node: &Node,
    key: &str,
    file: &str,
    rows: &mut Vec<R>,
    parse: impl Fn(&str) -> Result<Vec<R>, (usize, String)>,
) -> Result<(), Error> {
    if rows.is_empty() {
        let path = folder(node).join(file);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| complain(node, key, format!("{} cannot be read: {error}", path.display())))?;
        *rows =
            parse(&text).map_err(|(line, why)| Error::new(&path.display().to_string(), Some(line), why))?;
    }
    Ok(())
}

impl UeGroup {
    /// The quality of service of its terminals' bearers.
    pub(crate) fn bearer(&self) -> Bearer {
        let usual = if self.gbr.is_some() { Qci::GUARANTEED } else { Qci::BEST_EFFORT };
        let qci = self.qci.map_or(usual, |number| Qci::new(number).expect("checked: within the range"));
        Bearer { qci, gbr: self.gbr.unwrap_or(BitRate(0)), mbr: self.mbr.unwrap_or(BitRate(0)) }
    }

    //= TS 23.203 §6.1.7.2
    fn check_bearer(&self) -> Result<(), (&'static str, String)> {
        let bearer = self.bearer();
        match (self.qci, self.gbr) {
            (Some(qci), None) if bearer.qci.is_guaranteed() => {
                return Err((
                    "qci",
                    format!("class {qci} has a guaranteed bit rate; set gbr, or take 5 to 9"),
                ));
            }
            (Some(qci), Some(_)) if !bearer.qci.is_guaranteed() => {
                return Err((
                    "qci",
                    format!("class {qci} has no guaranteed bit rate; leave out gbr, or take 1 to 4"),
                ));
            }
            _ => {}
        }
        match self.mbr {
            Some(_) if self.gbr.is_none() => {
                Err(("mbr", "a maximum bit rate belongs to a guaranteed one; set gbr".into()))
            }
            Some(mbr) if mbr < bearer.gbr => {
                Err(("mbr", format!("the maximum bit rate {mbr} is below the guaranteed {}", bearer.gbr)))
            }
            _ => Ok(()),
        }
    }
}

/// The folder that the files of a scenario are relative to.
fn folder(node: &Node) -> &Path {
    Path::new(node.origin()).parent().unwrap_or(Path::new(""))
}

fn apart(a: [Metres; 2], b: [Metres; 2]) -> Metres {
    Metres(libm::hypot(a[0].0 - b[0].0, a[1].0 - b[1].0))
}

/// An error about the value at a path such as `ue[0].count`, or about the nearest table that is there.
pub(crate) fn complain(node: &Node, key: &str, message: String) -> Error {
    let error = node.nearest(key).error(message);
    if key.is_empty() { error } else { error.within(key) }
}
