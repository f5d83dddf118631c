//! Checks of a scenario across its sections.

use crate::scenario::sections::{MAX_UES, S1U, SERVER, SHAPER, X2};
use crate::scenario::traffic::{self, Transport};
use crate::scenario::{Flow, Scenario, Shaper, UeGroup};
use airwnd_catalog::{Error, Fault, unknown_word};
use airwnd_kernel::Direction;
use airwnd_links::link;
use airwnd_rlc::am::Conduct;
use airwnd_rlc::{Protocol, am, um};
use airwnd_shape as shape;
use airwnd_units::Metres;

/// Maximum number of cells: with `radio.neighbour_threshold = 0` a UE stores a gain for each of them.
const MAX_CELLS: u32 = 1000;
/// Maximum number of flows.
const MAX_FLOWS: f64 = 1e6;
/// Maximum number of writes by the applications of a group of flows. Each is an event, and 10^10 take an hour or more.
const MAX_WRITES: f64 = 1e10;
/// Longest SRS period in TTIs, which limits the number of UEs of a cell (TS 36.213 Table 8.2-1).
const MAX_SOUNDING_OFFSETS: u16 = 320;
/// Minimum distance on the map between a UE and a mast, or between masts: path-loss models diverge at the antenna.
const CLOSEST: Metres = Metres(1.0);

impl Scenario {
    /// Checks that there are flows, which a simulation needs.
    pub(crate) fn check_flows(&self) -> Result<(), Error> {
        if self.flow.is_empty() {
            return Err(Error::new(&self.name, None, "there are no flows; add [[flow]]").within("flow"));
        }
        Ok(())
    }

    /// Checks conditions between sections.
    pub(super) fn check(&self) -> Result<(), Fault> {
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

fn distance(a: [Metres; 2], b: [Metres; 2]) -> Metres {
    Metres(libm::hypot(a[0].0 - b[0].0, a[1].0 - b[1].0))
}
