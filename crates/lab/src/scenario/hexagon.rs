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

/// Returns the vectors from a grid to the six copies around it, with which it fills the plane without gaps.
pub(crate) fn copies(rings: u16, spacing: Metres) -> Vec<[Metres; 2]> {
    let (far, near) = (f64::from(rings) + 1.0, f64::from(rings));
    let copy = |number: u16| {
        // `far` steps in one direction of the grid, and `near` in the next one.
        let steps = [(far, number), (near, number + 1)].map(|(steps, direction)| {
            let angle = f64::from(60 * direction).to_radians();
            [steps * libm::cos(angle), steps * libm::sin(angle)]
        });
        [0, 1].map(|axis: usize| Metres(spacing.0 * (steps[0][axis] + steps[1][axis])))
    };
    (0..6).map(copy).collect()
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

    /// With its copies each site of a grid has six neighbours, and no two sites share a place.
    #[test]
    fn copies_fill_the_plane() {
        for rings in 1..5 {
            let spacing = Metres(500.0);
            let own = grid([Metres(0.0), Metres(0.0)], rings, spacing);
            let moved = copies(rings, spacing);
            let all = moved.iter().flat_map(|copy| {
                own.iter().map(move |site| [0, 1].map(|axis: usize| site[axis] + copy[axis]))
            });
            let all: Vec<[Metres; 2]> = all.chain(own.iter().copied()).collect();
            let far = |one: &[Metres; 2], other: &[Metres; 2]| {
                libm::hypot((one[0] - other[0]).0, (one[1] - other[1]).0)
            };
            for site in &own {
                let near = |min: f64, max: f64| {
                    all.iter().filter(|other| (min..max).contains(&far(site, other))).count()
                };
                assert_eq!(
                    (near(0.0, 1.0), near(1.0, 499.0), near(499.0, 501.0)),
                    (1, 0, 6),
                    "{rings} rings"
                );
            }
        }
    }
}
