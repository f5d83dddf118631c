//! Initial positions of UEs.

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::Metres;

/// Placement: initial positions of the UEs of a group.
#[family(name = "placement", build = fn() -> Box<dyn Placement>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Disc(disc::Params),
    Sector(sector::Params),
    Ring(ring::Params),
    Line(line::Params),
    List(list::Params),
    File(file::Params),
}

impl Spec {
    /// Returns the positions of the UEs of a group in a run with this seed. The positions of a smaller group are a
    /// prefix of those of a larger one if the placement is random or a list.
    ///
    /// # Panics
    /// If `count` exceeds [`Placement::places`].
    pub(crate) fn places(&self, group: usize, count: u32, seed: u64) -> Vec<Place> {
        let placement = self.build();
        let stream = Stream::new(seed, "placement").child(group as u64);
        let place = |number: usize| placement.place(number, count as usize, stream.child(number as u64));
        (0..count as usize).map(|number| place(number).expect("there is a point for each UE")).collect()
    }
}

/// A position on the map, with the optional columns of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// East of the origin.
    pub x: Metres,
    /// North of the origin.
    pub y: Metres,
    /// Serving cell; `None`: the strongest cell.
    pub cell: Option<u16>,
    /// SRS offset; `None`: the rank of the UE in the cell.
    pub srs_offset: Option<u16>,
}

impl Place {
    /// A position without a cell and an SRS offset.
    pub fn at(x: f64, y: f64) -> Place {
        Place { x: Metres(x), y: Metres(y), cell: None, srs_offset: None }
    }
    /// The position at a distance and bearing (degrees anticlockwise from east) from a centre.
    pub fn polar(centre: [Metres; 2], distance: f64, bearing: f64) -> Place {
        let angle = bearing.to_radians();
        Place::at(centre[0].0 + distance * libm::cos(angle), centre[1].0 + distance * libm::sin(angle))
    }
}

/// A placement of UEs.
pub trait Placement {
    /// Returns the position of UE `index` of `count`, or `None` if the placement has no point for it. `stream` is the
    /// random stream of this UE, so that a drawn position does not depend on `count`.
    fn place(&self, index: usize, count: usize, stream: Stream) -> Option<Place>;

    /// Maximum number of UEs; `None`: no limit.
    fn places(&self) -> Option<usize> {
        None
    }
}

fn check_radii(min: Metres, max: Metres) -> Result<(), (&'static str, String)> {
    if min > max {
        return Err(("min_radius", format!("the minimum radius {min} exceeds the radius {max}")));
    }
    Ok(())
}

/// Draws a distance such that positions are uniform over the area between two radii.
fn uniform_radius(min: Metres, max: Metres, draw: f64) -> f64 {
    libm::sqrt(min.0 * min.0 + (max.0 * max.0 - min.0 * min.0) * draw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};

    fn places(toml: &str, count: usize) -> Vec<Place> {
        let node = Node::from_toml(toml, "test").unwrap();
        let rule = Spec::read(&node).unwrap().build();
        (0..count)
            .map(|i| rule.place(i, count, Stream::new(1, "placement").child(i as u64)).unwrap())
            .collect()
    }

    fn distance(place: &Place) -> f64 {
        place.x.0.hypot(place.y.0)
    }

    #[test]
    fn a_disc_is_filled_uniformly() {
        // a quarter of the area lies within half the radius
        let places = places("kind = \"disc\"\nradius = \"1km\"\nmin_radius = \"0m\"", 10_000);
        let inner = places.iter().filter(|place| distance(place) < 500.0).count();
        assert!((2350..2650).contains(&inner), "{inner}");
        assert!(places.iter().all(|place| distance(place) <= 1000.0));
    }

    #[test]
    fn a_sector_is_a_part_of_a_disc() {
        let toml = "kind = \"sector\"\nradius = \"1km\"\nbearing = \"90deg\"\nwidth = \"60deg\"";
        for place in places(toml, 1000) {
            let bearing = place.y.0.atan2(place.x.0).to_degrees();
            assert!((60.0..=120.0).contains(&bearing), "{place:?}");
        }
    }

    #[test]
    fn rings_and_lines_are_regular() {
        let ring = places("kind = \"ring\"\nradius = \"100m\"", 4);
        assert!((ring[1].y.0 - 100.0).abs() < 1e-9 && ring[1].x.0.abs() < 1e-9);
        let line = places("kind = \"line\"\nfrom = [\"500m\", \"0m\"]\nto = [\"5km\", \"0m\"]", 10);
        assert_eq!(line[1], Place::at(1000.0, 0.0));
    }

    #[test]
    fn a_larger_group_begins_with_the_smaller_one() {
        let toml = "kind = \"disc\"\nradius = \"1km\"";
        assert_eq!(places(toml, 20)[..], places(toml, 100)[..20]);
    }
}
