//! Construction of the network.

use super::Ran;
use crate::agenda::Agenda;
use crate::crew::{Crew, partition};
use crate::enb::{Cell, CellPlan, ReportTiming};
use crate::identity::{CellId, UeId, UeSlot};
use crate::radio::Radio;
use crate::region::{Region, Rules};
use crate::settings::RanSetup;
use crate::ue::{EventLog, Ue};
use airwnd_phy::Position;
use airwnd_units::{Time, Tti};
use std::collections::VecDeque;
use std::ops::Range;

/// Reason why a setup cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbuildable(pub String);

impl Ran {
    /// Builds cells and UEs and attaches each UE to its cell. Results do not depend on the crew, whose threads build and
    /// advance the network.
    //= exception no-attach
    pub fn new(setup: &RanSetup, crew: Crew) -> Result<Ran, Unbuildable> {
        let reports = ReportTiming::of(&setup.radio);
        let unbuildable = |(key, why)| Unbuildable(format!("carrier.{key}: {why}"));
        let carriers = setup.carriers().map_err(unbuildable)?;
        let access = carriers[0].access.clone();
        // With DRX the report before the newest one is held.
        let held = if setup.mac.drx.is_some() { reports.period } else { 0 };
        let remembered = reports.remembered() + held + access.timing.max_unmeasured();
        let mut radio = Radio::new(setup, &carriers, remembered, &crew);
        let mut agenda = Agenda::new(setup);
        radio.place_all(Time::ZERO, &starts(setup, &mut agenda), &crew);
        let users = serve(setup, &mut radio);
        let schemes = setup.uplink_schemes(&access);
        let rules = Rules {
            power_control: setup.power_control(&access),
            soundings_apart: schemes.fits_widths(),
            reports,
            remembered,
            srs_period: srs_period(setup, users.iter().map(Vec::len).max().unwrap_or(0))?.into(),
        };
        let outer_loops: Vec<_> = carriers.iter().map(|carrier| setup.outer_loop(&carrier.access)).collect();
        let (carriers, outer_loops, srs_period) = (&carriers[..], &outer_loops[..], rules.srs_period);
        let plan = CellPlan { setup, carriers, schemes: &schemes, outer_loops, reports, srs_period };
        let mut parts: Vec<_> = partition(setup.cells.len()).map(|range| (range, None)).collect();
        crew.each(&mut parts, |_, (range, region)| {
            *region = Some(region_of_cells(&plan, &radio, &rules, range.clone(), &users));
        });
        let (mut regions, mut region_of) = (Vec::new(), Vec::with_capacity(setup.cells.len()));
        let mut home = vec![0; setup.ues.len()];
        for (index, (range, region)) in (0..).zip(parts) {
            regions.push(region.expect("it has been built")?);
            region_of.resize(range.end, index);
            users[range].iter().flatten().for_each(|ue| home[ue.index()] = index);
        }
        Ok(Ran {
            regions,
            region_of,
            home,
            crew,
            agenda,
            forwarding: setup.handover.forwarding,
            failure_keeps: setup.handover.link_failure.as_ref().is_none_or(|failure| failure.keeps_packets),
            releases: setup.rrc.is_some(),
            next: Tti(0),
            events: EventLog::new(),
            arrivals: Vec::with_capacity(256),
            returned: VecDeque::new(),
            forwards: Vec::with_capacity(64),
            reselected: Vec::new(),
            missed: Vec::new(),
            schemes,
            rules,
            radio,
            access,
        })
    }
}

#[cfg(test)]
impl Ran {
    /// The air and the only region of a small network.
    pub(crate) fn into_region(mut self) -> (Radio, Region) {
        (self.radio, self.regions.remove(0))
    }
}

/// Positions at which moving UEs start.
fn starts(setup: &RanSetup, agenda: &mut Agenda) -> Vec<(UeId, Position)> {
    let height_of = |ue: UeId| setup.ues[ue.index()].position;
    agenda.start_positions().map(|(ue, [x, y])| (ue, Position { x, y, ..height_of(ue) })).collect()
}

/// Attaches each UE to its cell. Returns the UEs by cell and slot.
fn serve(setup: &RanSetup, radio: &mut Radio) -> Vec<Vec<UeId>> {
    let mut users = vec![Vec::new(); setup.cells.len()];
    for (ue, site) in UeId(0).onwards().zip(&setup.ues) {
        let cell = site.cell.unwrap_or_else(|| radio.strongest(ue));
        radio.serve(ue, cell);
        users[cell.index()].push(ue);
    }
    users
}

/// The region of a range of cells with their UEs; `users`: those of all cells.
fn region_of_cells(
    plan: &CellPlan<'_>,
    radio: &Radio,
    rules: &Rules,
    range: Range<usize>,
    users: &[Vec<UeId>],
) -> Result<Region, Unbuildable> {
    let &CellPlan { setup, carriers, .. } = plan;
    let (users, first) = (&users[range.clone()], CellId::at(range.start));
    let cell = |(number, users)| Cell::new(plan, number, users).map_err(Unbuildable);
    let numbers = range.map(CellId::at);
    let cells = numbers.clone().zip(users.iter().cloned()).map(cell).collect::<Result<Vec<Cell>, _>>()?;
    let mut region = Region::new(setup, carriers, radio, rules, first, cells);
    for (cell, users) in numbers.zip(users) {
        for (slot, ue) in UeSlot::all().zip(users) {
            region.admit(*ue, Box::new(Ue::new(setup, carriers, *ue, cell, slot)));
            region.configure(*ue);
        }
    }
    Ok(region)
}

/// The configured period, or the shortest usual one with an offset for each UE.
// ns-3 uses 40 TTI, and ends the simulation if a cell has more UEs than that.
fn srs_period(setup: &RanSetup, users: usize) -> Result<u16, Unbuildable> {
    let fits = |period: &u16| usize::from(*period) >= users;
    match setup.mac.srs_period {
        Some(period) if fits(&period) => Ok(period),
        Some(period) => Err(Unbuildable(format!(
            "a sounding period of {period} TTI has offsets for {period} UEs per cell, but one cell has {users}"
        ))),
        None => [40, 80, 160, 320].into_iter().find(fits).ok_or_else(|| {
            Unbuildable(format!(
                "a cell serves at most 320 UEs, one per sounding offset, but one cell has {users}"
            ))
        }),
    }
}
