//! A scenario seen from above: its cells, its terminals, and what is heard where.

use crate::build;
use crate::scenario::Scenario;
use crate::table::{Column, Table, table};
use airwnd_cell::phy::antenna;
use airwnd_cell::{CellSite, Listener, RadioMap};
use airwnd_units::{Metres, Span, Time};

impl Scenario {
    /// What a terminal of the first group would hear at the points that have one of these `x` (east) and one of these
    /// `y` (north), at this height instead of its own; none without a site.
    pub fn radio_map(&self, x: &[Metres], y: &[Metres], height: Option<Metres>) -> Option<RadioMap> {
        let group = &self.ue[0];
        let listener = Listener { height: height.unwrap_or(group.height), noise_figure: group.noise_figure };
        let setup = build::setup(self, self.seed);
        (!setup.cells.is_empty()).then(|| RadioMap::new(&setup, listener, x, y))
    }

    /// The cells: `cell`, its `site`, place in metres, `boresight_deg`, anticlockwise from east,
    /// and kind of `antenna`.
    pub fn cells_table(&self) -> Table {
        let cells = build::setup(self, self.seed).cells;
        let antennas = antenna::Spec::kinds();
        let kind = |cell: &CellSite| {
            antennas.iter().position(|kind| *kind == cell.antenna.kind()).expect("kinds are all") as u32
        };
        let kinds = Column::Words(cells.iter().map(kind).collect(), antennas.clone());
        let numbers = |of: fn(&CellSite) -> f64| Column::F64(cells.iter().map(of).collect());
        table([
            ("cell", Column::U32((0..cells.len() as u32).collect())),
            ("site", Column::U32(cells.iter().map(|cell| cell.site).collect())),
            ("x_m", numbers(|cell| cell.position.x.0)),
            ("y_m", numbers(|cell| cell.position.y.0)),
            ("boresight_deg", numbers(|cell| cell.boresight.0)),
            ("antenna", kinds),
        ])
    }

    /// Where the terminals that move are in a run with this seed, at the ends of so many equal parts of it: `ue`,
    /// `time_s`, which counts from the end of the warm-up, and its place in metres; terminal by terminal.
    pub fn paths_table(&self, seed: u64, parts: u32) -> Table {
        let whole = self.warmup + self.duration;
        let (mut ues, mut times, mut places) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for (number, ue) in (0..).zip(build::setup(self, seed).ues) {
            let mut way = ue.mobility.build([ue.position.x, ue.position.y], ue.way);
            if !way.moves() {
                continue;
            }
            for part in 0..=parts {
                let at = Span((u128::from(whole.0) * u128::from(part) / u128::from(parts)) as u64);
                let place = way.position(Time::ZERO + at);
                ues.push(number);
                times.push(at.as_secs() - self.warmup.as_secs());
                places.iter_mut().zip(place).for_each(|(column, at)| column.push(at.0));
            }
        }
        let [x, y] = places.map(Column::F64);
        table([("ue", Column::U32(ues)), ("time_s", Column::F64(times)), ("x_m", x), ("y_m", y)])
    }

    /// Where the terminals of a run with this seed begin: `ue`, its `group`, and its place in metres.
    pub fn terminals_table(&self, seed: u64) -> Table {
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
