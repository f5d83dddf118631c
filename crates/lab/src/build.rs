//! From a scenario to what runs.

use crate::placement::Place;
use crate::scenario::{Scenario, UeGroup};
use airwnd_cell::phy::Position;
use airwnd_cell::{CellId, CellSite, RanSetup, UeSite};
use airwnd_kernel::Stream;
use airwnd_units::Degrees;

/// The places of a group's terminals with the scenario's own seed, for checks.
pub(crate) fn places(scenario: &Scenario, group: usize) -> Vec<Place> {
    places_with(&scenario.ue[group], group, scenario.seed)
}

fn places_with(group: &UeGroup, index: usize, seed: u64) -> Vec<Place> {
    let placement = group.placement.build();
    let stream = Stream::new(seed, "placement").child(index as u64);
    let count = group.count as usize;
    (0..count)
        .map(|number| {
            placement
                .place(number, count, stream.child(number as u64))
                .expect("checked: there is a place for each")
        })
        .collect()
}

/// The radio network of a scenario.
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
    let ues = scenario.ue.iter().enumerate().flat_map(|(index, group)| {
        let ways = Stream::new(seed, "mobility").child(index as u64);
        (0..).zip(places_with(group, index, seed)).map(move |(number, place)| UeSite {
            position: Position { x: place.x, y: place.y, z: group.height },
            mobility: group.mobility.clone(),
            way: ways.child(number),
            noise_figure: group.noise_figure,
            cell: place.cell.map(CellId),
            srs_offset: place.srs_offset,
            bearer: group.bearer(),
        })
    });
    RanSetup {
        carrier: scenario.carrier.clone(),
        radio: scenario.radio.clone(),
        mac: scenario.mac.clone(),
        rlc: scenario.rlc.clone(),
        handover: scenario.handover.clone(),
        x2_delay: scenario.core.x2_delay,
        cells: cells.collect(),
        ues: ues.collect(),
        seed,
    }
}
