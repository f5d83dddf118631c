//! Sites on a hexagonal grid.

use airwnd_units::Metres;

/// Number of sites of a grid with this many rings: 1, 7, 19, 37, ...
pub(crate) fn places(rings: u16) -> u32 {
    1 + 3 * u32::from(rings) * (u32::from(rings) + 1)
}

/// Returns the positions of a grid: the centre, then ring by ring, each anticlockwise from east. Neighbours are
/// `spacing` apart.
pub(crate) fn grid(centre: [Metres; 2], rings: u16, spacing: Metres) -> Vec<[Metres; 2]> {
    let corner = |number: u16| {
        let angle = f64::from(60 * number).to_radians();
        [libm::cos(angle), libm::sin(angle)]
    };
    let mut places = vec![centre];
    for ring in 1..=rings {
        for side in 0..6 {
            let (from, to) = (corner(side), corner(side + 1));
            for step in 0..ring {
                let at = |axis: usize| {
                    centre[axis].0
                        + spacing.0 * (f64::from(ring - step) * from[axis] + f64::from(step) * to[axis])
                };
                places.push([Metres(at(0)), Metres(at(1))]);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_spacing_apart() {
        for rings in 0..5 {
            let grid = grid([Metres(100.0), Metres(-50.0)], rings, Metres(500.0));
            assert_eq!(grid.len() as u32, places(rings));
            let mut links = 0;
            for (number, a) in grid.iter().enumerate() {
                for b in &grid[..number] {
                    let apart = libm::hypot(a[0].0 - b[0].0, a[1].0 - b[1].0);
                    assert!(apart > 499.999, "{a:?} {b:?}");
                    links += usize::from(apart < 500.001);
                }
            }
            // Each site has 6 neighbours, minus the 12 r + 6 beyond the edge.
            let rings = usize::from(rings);
            assert_eq!(links, (6 * grid.len() - (12 * rings + 6)) / 2);
        }
    }
}
