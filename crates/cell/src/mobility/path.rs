//! Motion along the points of a file.

use super::{Mobility, Point, between, distance};
use airwnd_catalog::{Fault, Files, Params, csv};
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};

/// Maximum coordinate in metres, and the latest time in seconds.
const FARTHEST: f64 = 1e6;
const LATEST: f64 = 31_536_000.0;

/// Path: linear interpolation between the timed points of a CSV file; the UE stays at the last point.
///
/// The file starts with a line of the column names `t_s`, `x_m` and `y_m`, in any order. Times count from the
/// start of the simulation, before the warm-up. Until the time of the first point the UE is at that point, regardless
/// of its placement. The path is relative to the scenario's folder. When a scenario is loaded, `rows` takes the content
/// of the file, so that a resolved scenario is self-contained.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "a recorded or planned trajectory", check, files)]
pub struct Params {
    /// File; once it has been read, `rows` holds its content.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// Maximum speed between two points; a higher one is reported as a mistake in the file.
    #[param(default = Speed(150.0), range = Speed(0.1)..=Speed(10_000.0))]
    #[param(unit = "m/s", source = "faster than trains")]
    pub max_speed: Speed,
    /// The rows of the file: time in seconds, x and y in metres.
    #[param(default = Vec::new(), range = -FARTHEST..=LATEST, unit = "s, m", source = "the file")]
    pub rows: Vec<[f64; 3]>,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check(&self.rows, self.max_speed).map_err(|(row, message)| ("rows", format!("row {row}: {message}")))
    }

    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        files.read_rows("path", &self.path, &mut self.rows, |text| parse(text, self.max_speed))
    }
}

/// A UE that follows a path.
pub struct Path {
    points: Vec<(Time, Point)>,
    /// Number of points whose time has passed.
    passed: usize,
}

impl Path {
    /// A UE at the start of a path that has been checked.
    pub fn new(params: Params, _start: Point, _stream: Stream) -> Self {
        let point = |row: &[f64; 3]| (instant(row), place(row));
        Path { points: params.rows.iter().map(point).collect(), passed: 0 }
    }
}

impl Mobility for Path {
    fn position(&mut self, now: Time) -> Point {
        while self.points.get(self.passed).is_some_and(|(at, _)| *at <= now) {
            self.passed += 1;
        }
        let point = |index: usize| self.points[index.min(self.points.len() - 1)];
        let ((from_at, from), (to_at, to)) = (point(self.passed.saturating_sub(1)), point(self.passed));
        let part = now.since(from_at).as_secs() / (to_at - from_at).as_secs();
        // Before the first point and after the last one, both ends of the interval are the same point.
        if part.is_finite() { between(from, to, part) } else { to }
    }
}

fn instant(row: &[f64; 3]) -> Time {
    Time::ZERO + Span::from_secs_f64(row[0])
}

fn place(row: &[f64; 3]) -> Point {
    [Metres(row[1]), Metres(row[2])]
}

/// Checks the rows of a path.
///
/// # Errors
/// Index and message of the row at fault.
fn check(rows: &[[f64; 3]], max_speed: Speed) -> Result<(), (usize, String)> {
    let (Some(first), Some(_)) = (rows.first(), rows.get(1)) else {
        return Err((rows.len(), "a path needs at least two points".into()));
    };
    let outside = |row: &[f64; 3]| {
        !(0.0..=LATEST).contains(&row[0]) || row[1..].iter().any(|axis| axis.abs() > FARTHEST)
    };
    if let Some(row) = rows.iter().position(outside) {
        let [t, x, y] = rows[row];
        let message = format!(
            "({t} s, {x} m, {y} m) is outside; times are in 0..{LATEST} s, coordinates in -{FARTHEST}..{FARTHEST} m"
        );
        return Err((row, message));
    }
    let mut before = first;
    for (row, next) in rows.iter().enumerate().skip(1) {
        if instant(next) <= instant(before) {
            return Err((row, format!("{} s is not after the {} s before it", next[0], before[0])));
        }
        let (length, time) = (distance(place(before), place(next)), instant(next) - instant(before));
        let speed = Speed(length.0 / time.as_secs());
        if speed > max_speed {
            let message = format!(
                "a jump: {length} in {time} are {:.1} m/s; at most {max_speed} are allowed (max_speed)",
                speed.0
            );
            return Err((row, message));
        }
        before = next;
    }
    Ok(())
}

/// Parses the rows of a path from CSV text.
///
/// # Errors
/// Line and message of the mistake.
pub fn parse(text: &str, max_speed: Speed) -> Result<Vec<[f64; 3]>, (usize, String)> {
    let table = csv::Table::of(text, &["t_s", "x_m", "y_m"])?;
    let (t, x, y) = (table.need("t_s")?, table.need("x_m")?, table.need("y_m")?);
    let row = |line: &csv::Line<'_>| {
        let place = |column| line.number(column, -FARTHEST..=FARTHEST);
        Ok([line.number(t, 0.0..=LATEST)?, place(x)?, place(y)?])
    };
    let rows = table.rows(row, "point")?;
    let line = |row: usize| table.line_of(row.min(rows.len() - 1));
    check(&rows, max_speed).map_err(|(row, message)| (line(row), message))?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motion_between_points_is_linear() {
        let rows = parse("t_s,x_m,y_m\n1,0,0\n\n3,20,40\n4,20,40\n", Speed(30.0)).unwrap();
        let params = Params { path: String::new(), max_speed: Speed(30.0), rows };
        let mut path = Path::new(params, [Metres(7.0); 2], Stream::new(1, "mobility"));
        let mut at = |millis: u64| path.position(Time(millis * 1_000_000)).map(|axis| axis.0);
        assert_eq!([at(0), at(1000), at(2500)], [[0.0, 0.0], [0.0, 0.0], [15.0, 30.0]]);
        assert_eq!([at(3000), at(3700), at(9000)], [[20.0, 40.0]; 3]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let mistake = |text: &str| parse(text, Speed(30.0)).unwrap_err();
        assert_eq!(mistake(" \n"), (1, "the file is empty".into()));
        assert_eq!(mistake("t,x_m,y_m\n0,0,0"), (1, "unknown column `t`; known: `t_s`, `x_m`, `y_m`".into()));
        assert_eq!(mistake("t_s,x_m,y_m\n"), (1, "no rows; at least one point is required".into()));
        assert_eq!(mistake("t_s,x_m,y_m\n0,0,0\n"), (2, "a path needs at least two points".into()));
        assert_eq!(mistake("t_s,x_m,y_m\n0,0,0\n\n1,b,0"), (4, "`b` in column `x_m` is not a number".into()));
        assert_eq!(
            mistake("t_s,x_m,y_m\n0,0,0\n2,1,0\n1,2,0"),
            (4, "1 s is not after the 2 s before it".into())
        );
        assert_eq!(
            mistake("t_s,x_m,y_m\n0,0,0\n2,300,0"),
            (3, "a jump: 300m in 2s are 150.0 m/s; at most 30m/s are allowed (max_speed)".into())
        );
        let early = (2, "-1 in column `t_s` is outside 0..31536000".into());
        assert_eq!(mistake("t_s,x_m,y_m\n-1,0,0\n2,3,0"), early);
    }
}
