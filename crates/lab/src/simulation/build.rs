//! Construction of the radio access network from a scenario.

use crate::scenario::Scenario;
use airwnd_catalog::Error;
use airwnd_cell::{
    BearerSetup, CellId, CellSite, Crew, Ran, RanSetup, ThreadsUnavailable, UeId, UeSite, Unbuildable,
};
use airwnd_kernel::Stream;
use airwnd_phy::Position;
use airwnd_units::{Degrees, Metres};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Builds the cells of a scenario with their UEs, for this number of threads; `None` without a site.
///
/// # Errors
/// More UEs than a cell supports, or invalid SRS offsets; the system cannot start as many threads.
pub(crate) fn ran(scenario: &Scenario, seed: u64, threads: NonZeroUsize) -> Result<Option<Ran>, Error> {
    if scenario.site.is_empty() {
        return Ok(None);
    }
    let setup = setup(scenario, seed);
    let unavailable = |why: ThreadsUnavailable| Error::new(&scenario.name, None, format!("threads: {why}"));
    let crew = Crew::new(threads, setup.cells.len()).map_err(unavailable)?;
    let unbuildable = |why: Unbuildable| Error::new(&scenario.name, None, why.0).within("mac.srs_period");
    Ran::new(&setup, crew).map(Some).map_err(unbuildable)
}

/// Height of a floor in metres.
//= TR 36.873 Table 6-1
const STOREY: f64 = 3.0;

/// Draws the floor of a UE above the lowest one: first the number of floors of its building, then the floor.
fn floor_in(draws: Stream, [fewest, max]: [u16; 2]) -> f64 {
    let one_of = |count: f64, draw: f64| (count * draw).floor();
    let floors = f64::from(fewest) + one_of(f64::from(max - fewest) + 1.0, draws.at(0));
    one_of(floors, draws.at(1))
}

/// Describes the radio access network of a scenario.
pub(crate) fn setup(scenario: &Scenario, seed: u64) -> RanSetup {
    let cells = (0..).zip(scenario.masts()).flat_map(|(number, (place, [x, y]))| {
        let site = &scenario.site[place];
        (0..site.sectors).map(move |sector| CellSite {
            site: number,
            position: Position { x, y, z: site.height },
            boresight: Degrees(site.azimuth.0 + 360.0 * f64::from(sector) / f64::from(site.sectors)),
            antenna: site.antenna.clone(),
            power: site.power,
            noise_figure: site.noise_figure,
        })
    });
    //= exception slot-is-rnti
    let mut first = 0;
    let ues = scenario.ue.iter().enumerate().flat_map(|(index, group)| {
        let numbers = first;
        first += group.count;
        let storeys = Stream::new(seed, "floors");
        let height = move |number: u64| {
            let ue = numbers + number as u32;
            let floor = group.floors.filter(|_| scenario.radio.is_indoor(seed, UeId(ue)));
            Metres(
                group.height.0
                    + STOREY * floor.map_or(0.0, |range| floor_in(storeys.child(ue.into()), range)),
            )
        };
        let paths = Stream::new(seed, "mobility").child(index as u64);
        let bearers: Arc<[BearerSetup]> = group.bearers(&scenario.rlc).into();
        let replay = group.replay.clone().map(Arc::new);
        (0..).zip(group.placement.places(index, group.count, seed)).map(move |(number, place)| UeSite {
            position: Position { x: place.x, y: place.y, z: height(number) },
            mobility: group.mobility.clone(),
            way: paths.child(number),
            noise_figure: group.noise_figure,
            cell: place.cell.map(CellId),
            srs_offset: place.srs_offset,
            carriers: group.carriers.unwrap_or(u8::MAX),
            configured_grant: group.configured_grant.clone(),
            replay: replay.clone(),
            bearers: bearers.clone(),
        })
    });
    RanSetup {
        carrier: scenario.carrier.clone(),
        radio: scenario.radio.clone(),
        mac: scenario.mac.clone(),
        rlc: scenario.rlc.clone(),
        rrc: scenario.rrc.clone(),
        handover: scenario.handover.clone(),
        x2_delay: scenario.core.x2_delay,
        cells: cells.collect(),
        copies: scenario.copies(),
        ues: ues.collect(),
        seed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Node;

    /// Heights of UEs of which 80 % are in buildings of 4 to 8 floors: those outdoors, and those in buildings by floor.
    #[test]
    fn ues_in_buildings_are_on_a_floor_of_theirs() {
        let toml = "duration = \"1s\"\nradio.propagation = {kind = \"tr38901\", indoor = 0.8}\n[[site]]\n\
                    [[ue]]\ncount = 7\n[[ue]]\nname = \"b\"\ncount = 300\nfloors = [4, 8]\n[[flow]]\n";
        let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
        let mut counts = [0u32; 8];
        let mut outdoors = 0;
        for seed in 1..=20 {
            let ues = setup(&scenario, seed).ues;
            assert!(ues[..7].iter().all(|ue| ue.position.z.0 == 1.5), "the group without floors");
            for (number, ue) in (0..).zip(&ues).skip(7) {
                let floor = (ue.position.z.0 - 1.5) / STOREY;
                assert_eq!(floor, floor.floor());
                match scenario.radio.is_indoor(seed, UeId(number)) {
                    true => counts[floor as usize] += 1,
                    false => outdoors += u32::from(floor == 0.0),
                }
            }
        }
        let indoors: u32 = counts.iter().sum();
        assert_eq!(indoors + outdoors, 6000);
        assert!((f64::from(indoors) / 6000.0 - 0.8).abs() < 0.02, "{indoors}");
        // The n-th floor exists in the buildings with at least n of 4 to 8 floors.
        for (floor, count) in counts.into_iter().enumerate() {
            let buildings = 4.max(floor + 1)..=8;
            let expected: f64 = buildings.map(|floors| 0.2 / floors as f64).sum();
            assert!((f64::from(count) / f64::from(indoors) - expected).abs() < 0.02, "{floor}: {counts:?}");
        }
    }
}
