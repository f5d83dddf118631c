//! The map of a scenario: cells, UEs, and received signals.

use crate::results::table::{Column, Table, table};
use crate::scenario::Scenario;
use crate::simulation::build;
use airwnd_catalog::{Error, Node, Param};
use airwnd_cell::{Carrier, CellSite, LinkBudget, Listener, RadioMap, Ran, Reach, UeFigures, UeId};
use airwnd_phy::access::{self, Grid};
use airwnd_phy::{Cqi, antenna};
use airwnd_units::{Metres, Span, Time};
use std::num::NonZeroUsize;

fn ues(ran: &Ran) -> impl Iterator<Item = UeId> {
    (0..ran.ues()).map(|ue| UeId(ue as u32))
}

/// Computes the resource grid of a carrier from the tables `carrier` and `radio.access` of a scenario.
///
/// # Errors
/// One line for the first value that is not valid.
pub fn resource_grid(carrier: &Node, access: &Node) -> Result<Grid, Error> {
    let read = Carrier::read(carrier).map_err(|error| error.within("carrier"))?;
    let access = access::Spec::read(access).map_err(|error| error.within("radio.access"))?;
    access.grid(&read).map_err(|(key, message)| carrier.error(message).within(key).within("carrier"))
}

impl Scenario {
    /// Computes a radio map: what a UE of the first group receives at the grid points `x` (east) by `y` (north).
    /// `height` overrides the height of the UE. Returns `None` without a site.
    pub fn radio_map(&self, x: &[Metres], y: &[Metres], height: Option<Metres>) -> Option<RadioMap> {
        let group = &self.ue[0];
        let listener = Listener { height: height.unwrap_or(group.height), noise_figure: group.noise_figure };
        let setup = build::setup(self, self.seed);
        (!setup.cells.is_empty()).then(|| RadioMap::new(&setup, listener, x, y))
    }

    /// Table of the cells: `cell`, `site`, position in metres, `boresight_deg` (anticlockwise from east) and kind of
    /// `antenna`.
    pub fn cells_table(&self) -> Table {
        let cells = build::setup(self, self.seed).cells;
        let antennas = antenna::Spec::kinds();
        let kind = |cell: &CellSite| {
            antennas.iter().position(|kind| *kind == cell.antenna.kind()).expect("kinds are all") as u32
        };
        let kinds = Column::Words(cells.iter().map(kind).collect(), antennas.clone());
        let numbers = |value: fn(&CellSite) -> f64| Column::F64(cells.iter().map(value).collect());
        table([
            ("cell", Column::U32((0..cells.len() as u32).collect())),
            ("site", Column::U32(cells.iter().map(|cell| cell.site).collect())),
            ("x_m", numbers(|cell| cell.position.x.0)),
            ("y_m", numbers(|cell| cell.position.y.0)),
            ("boresight_deg", numbers(|cell| cell.boresight.0)),
            ("antenna", kinds),
        ])
    }

    /// Table of the trajectories of moving UEs in a run with this seed, sampled at the boundaries of `parts` equal
    /// intervals: `ue`, `time_s` from the end of the warm-up, and position in metres; UE by UE.
    pub fn paths_table(&self, seed: u64, parts: u32) -> Table {
        let whole = self.warmup + self.duration;
        let (mut ues, mut times, mut places) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for (number, ue) in (0..).zip(build::setup(self, seed).ues) {
            let mut path = ue.trajectory();
            if !path.moves() {
                continue;
            }
            for part in 0..=parts {
                let at = Span((u128::from(whole.0) * u128::from(part) / u128::from(parts)) as u64);
                let place = path.position(Time::ZERO + at);
                ues.push(number);
                times.push(at.as_secs() - self.warmup.as_secs());
                places.iter_mut().zip(place).for_each(|(column, at)| column.push(at.0));
            }
        }
        let [x, y] = places.map(Column::F64);
        table([("ue", Column::U32(ues)), ("time_s", Column::F64(times)), ("x_m", x), ("y_m", y)])
    }

    /// Table of the UEs at the beginning of a run with this seed, with their link budgets (the best case for link
    /// adaptation): `ue`, `group`, position in metres, serving `cell`, and SINR, CQI and reach per direction. Returns
    /// `None` without a site.
    ///
    /// # Errors
    /// Cells that cannot be built.
    pub fn link_budgets(&self, seed: u64) -> Result<Option<Table>, Error> {
        let Some(ran) = build::ran(self, seed, NonZeroUsize::MIN)? else { return Ok(None) };
        let budgets: Vec<LinkBudget> = ues(&ran).map(|ue| ran.link_budget(ue)).collect();
        let figures: Vec<UeFigures> = ues(&ran).map(|ue| ran.ue_figures(ue)).collect();
        let number = |value: fn(&LinkBudget) -> f64| Column::F64(budgets.iter().map(value).collect());
        let figure = |value: fn(&UeFigures) -> f64| Column::F64(figures.iter().map(value).collect());
        let whole = |value: fn(&LinkBudget) -> u32| Column::U32(budgets.iter().map(value).collect());
        let reach = |cqi: fn(&LinkBudget) -> Cqi| {
            let words = Reach::WORDS.iter().map(|word| (*word).to_string()).collect();
            let place = |budget: &LinkBudget| u32::from(cqi(budget) == Cqi::OUT_OF_RANGE);
            Column::Words(budgets.iter().map(place).collect(), words)
        };
        let mcss = budgets.iter().map(|budget| ran.mcs_of(budget.uplink.cqi).0.into());
        let groups = (0..).zip(&self.ue).flat_map(|(index, group)| (0..group.count).map(move |_| index));
        let names = self.ue.iter().map(|group| group.name.clone()).collect();
        Ok(Some(table([
            ("ue", Column::U32((0..budgets.len() as u32).collect())),
            ("group", Column::Words(groups.collect(), names)),
            ("x_m", figure(|ue| ue.position.x.0)),
            ("y_m", figure(|ue| ue.position.y.0)),
            ("cell", Column::U32(figures.iter().map(|ue| ue.cell.0.into()).collect())),
            ("rsrp_dbm", figure(|ue| ue.rsrp.0)),
            ("downlink_sinr_db", number(|budget| budget.downlink.0)),
            ("downlink_full_load_sinr_db", number(|budget| budget.downlink_at_full_load.0)),
            ("downlink_cqi", whole(|budget| budget.downlink_cqi.0.into())),
            ("downlink_reach", reach(|budget| budget.downlink_cqi)),
            ("uplink_sinr_db", number(|budget| budget.uplink.carrier.0)),
            ("uplink_narrow_sinr_db", number(|budget| budget.uplink.narrow.0)),
            ("uplink_narrow_prbs", whole(|budget| budget.uplink.narrowest.0.into())),
            ("uplink_cqi", whole(|budget| budget.uplink.cqi.0.into())),
            ("uplink_mcs", Column::U32(mcss.collect())),
            ("uplink_reach", reach(|budget| budget.uplink.cqi)),
        ])))
    }

    /// Table of the initial positions of the UEs in a run with this seed: `ue`, `group`, and position in metres.
    pub fn ues_table(&self, seed: u64) -> Table {
        let ues = build::setup(self, seed).ues;
        let groups = (0..).zip(&self.ue).flat_map(|(index, group)| (0..group.count).map(move |_| index));
        table([
            ("ue", Column::U32((0..ues.len() as u32).collect())),
            (
                "group",
                Column::Words(groups.collect(), self.ue.iter().map(|group| group.name.clone()).collect()),
            ),
            ("x_m", Column::F64(ues.iter().map(|ue| ue.position.x.0).collect())),
            ("y_m", Column::F64(ues.iter().map(|ue| ue.position.y.0).collect())),
        ])
    }
}
