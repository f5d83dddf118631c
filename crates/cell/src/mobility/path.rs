//! Motion along the points of a file.

mod fcd;
mod setdest;
mod track;

use super::{Mobility, Point, between, distance};
use airwnd_catalog::{Choice, Fault, Files, Params, csv};
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};
use csv::Mistake;
use std::io::{self, BufRead};
use track::{Selection, Track};

/// Maximum coordinate in metres, and the latest time in seconds.
const FARTHEST: f64 = 1e6;
const LATEST: f64 = 31_536_000.0;

/// File format of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Format {
    /// CSV.
    #[word = "csv"]
    Csv,
    /// Floating car data of SUMO, in XML.
    #[word = "sumo-fcd"]
    SumoFcd,
    /// Movements of ns-2's setdest.
    #[word = "setdest"]
    Setdest,
}

/// Path: linear interpolation between the timed points of a file; the UE stays at the last point.
///
/// Until the time of the first point the UE is at that point, regardless of its placement. Times count from the start of
/// the simulation, before the warm-up; `start` shifts them. The path is relative to the scenario's folder. When a
/// scenario is loaded, `rows` takes the content of the file, so that a resolved scenario is self-contained.
///
/// The formats, told apart by their first character unless `format` is set:
/// - `csv`: a line of the column names `t_s`, `x_m` and `y_m`, in any order, and a line for each point. A file with
///   several UEs has the column `ue`.
/// - `sumo-fcd`: floating car data as SUMO writes with `--fcd-output`, in metres: vehicles, persons and containers with
///   `id`, `x` and `y`. A file of any size is read. Document types and entities are refused.
/// - `setdest`: movements of ns-2, as SUMO's traceExporter and BonnMotion write them. The commands are `set X_`, `set Y_`,
///   `set Z_`, which has no effect, and `setdest` with place and speed, of which 0 stops; lines of `$god_` are skipped.
///   The UE `0` is `$node_(0)`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "a recorded or planned trajectory; SUMO documentation, FCDOutput; ns-2 manual, section 16.1.2",
    check,
    files
)]
pub struct Params {
    /// File; once it has been read, `rows` holds its content.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// File format; `none`: recognised.
    #[param(default = None, unit = "1", source = "the file")]
    pub format: Option<Format>,
    /// UE in a file with several; `none`: the only one.
    #[param(default = None, unit = "text", source = "the file")]
    pub id: Option<String>,
    /// Time in the file at which the simulation begins.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub start: Span,
    /// Maximum speed between two points; a higher one is reported as a mistake in the file.
    #[param(expert, default = Speed(150.0), range = Speed(0.1)..=Speed(10_000.0))]
    #[param(unit = "m/s", source = "faster than trains")]
    pub max_speed: Speed,
    /// The rows of the file: time in seconds, x and y in metres.
    #[param(expert, default = Vec::new(), range = -FARTHEST..=LATEST, unit = "s, m", source = "the file")]
    pub rows: Vec<[f64; 3]>,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check(&self.rows, self.max_speed).map_err(|(row, message)| ("rows", format!("row {row}: {message}")))
    }

    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        if !self.rows.is_empty() {
            return Ok(());
        }
        let failed = |message: String| Fault::new("path", message);
        let mut opened = files.open(&self.path).map_err(failed)?;
        let recognised = recognised(&mut opened.input)
            .map_err(|why| failed(format!("{} cannot be read: {why}", opened.origin)))?;
        let id = self.id.as_deref();
        self.rows = match self.format.unwrap_or(recognised) {
            Format::Csv => {
                let text = files.read(&self.path).map_err(failed)?.text;
                table(&text, id)
            }
            Format::SumoFcd => fcd::read(&mut opened.input, id),
            Format::Setdest => setdest::read(&mut opened.input, id),
        }
        .and_then(|track| checked(track, self.max_speed))
        .map_err(|(line, why)| Fault::in_file(&opened.origin, line, why))?;
        Ok(())
    }
}

/// Recognises a format by the first line that is neither empty nor a comment.
fn recognised(input: &mut dyn BufRead) -> io::Result<Format> {
    let start = input.fill_buf()?;
    let text = String::from_utf8_lossy(start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start));
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(match first.and_then(|line| line.chars().next()) {
        Some('<') => Format::SumoFcd,
        Some('$') => Format::Setdest,
        _ => Format::Csv,
    })
}

/// Parses the points of the only UE in a text of any format.
///
/// # Errors
/// Line and message of the mistake.
pub fn parse(text: &str, max_speed: Speed) -> Result<Vec<[f64; 3]>, Mistake> {
    let mut input = text.as_bytes();
    let track = match recognised(&mut input).expect("memory can be read") {
        Format::Csv => table(text, None),
        Format::SumoFcd => fcd::read(&mut input, None),
        Format::Setdest => setdest::read(&mut input, None),
    };
    checked(track?, max_speed)
}

/// Reads the points of a CSV text.
fn table(text: &str, id: Option<&str>) -> Result<Track, Mistake> {
    let table = csv::Table::of(text, &["t_s", "x_m", "y_m", "ue"])?;
    let (t, x, y, ue) = (table.need("t_s")?, table.need("x_m")?, table.need("y_m")?, table.find("ue"));
    if id.is_some() {
        table.need("ue")?;
    }
    let mut selection = Selection::new(id);
    let row = |line: &csv::Line<'_>| {
        let place = |column| line.number(column, -FARTHEST..=FARTHEST);
        let row = [line.number(t, 0.0..=LATEST)?, place(x)?, place(y)?];
        let selected = ue.is_none_or(|ue| selection.takes(line.text(ue)));
        Ok(selected.then_some(row))
    };
    let rows = table.rows(row, "point")?;
    let mut track = Track::default();
    for (place, row) in rows.into_iter().enumerate() {
        if let Some(row) = row {
            track.push(table.line_of(place), row)?;
        }
    }
    if ue.is_some() {
        selection.check(table.last_line())?;
    }
    Ok(track)
}

/// Checks a track and returns its rows.
fn checked(track: Track, max_speed: Speed) -> Result<Vec<[f64; 3]>, Mistake> {
    match check(&track.rows, max_speed) {
        Ok(()) => Ok(track.rows),
        Err((row, message)) => Err((track.line_of(row), message)),
    }
}

/// A UE that follows a path.
pub struct Path {
    points: Vec<(Time, Point)>,
    /// Time of the points at which the simulation begins.
    start: Span,
    /// Number of points whose time has passed.
    passed: usize,
}

impl Path {
    /// A UE at the start of a path that has been checked.
    pub fn new(params: Params, _start: Point, _stream: Stream) -> Self {
        let point = |row: &[f64; 3]| (instant(row), place(row));
        Path { points: params.rows.iter().map(point).collect(), start: params.start, passed: 0 }
    }
}

impl Mobility for Path {
    fn position(&mut self, now: Time) -> Point {
        let now = now + self.start;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(rows: Vec<[f64; 3]>, start: Span) -> Path {
        let (path, max_speed) = (String::new(), Speed(30.0));
        let params = Params { path, format: None, id: None, start, max_speed, rows };
        Path::new(params, [Metres(7.0); 2], Stream::new(1, "mobility"))
    }

    #[test]
    fn a_simulation_may_begin_later_in_the_file() {
        let mut path = followed(vec![[0.0, 0.0, 0.0], [10.0, 100.0, 0.0]], Span::from_secs(4));
        let mut at = |millis: u64| path.position(Time(millis * 1_000_000))[0].0;
        assert_eq!([at(0), at(1000), at(7000)], [40.0, 50.0, 100.0]);
    }

    #[test]
    fn a_table_may_have_several_ues() {
        let text = "ue,t_s,x_m,y_m\na,0,0,0\nb,0,5,5\na,1,1,0\nb,2,6,5\n";
        let rows = |id| table(text, id).map(|track| track.rows);
        assert_eq!(rows(Some("b")), Ok(vec![[0.0, 5.0, 5.0], [2.0, 6.0, 5.0]]));
        let several = "several UEs; select one by `id`: `a`, `b`";
        assert_eq!(rows(None), Err((5, several.into())));
        assert_eq!(rows(Some("c")), Err((5, "no UE `c`; the file has `a`, `b`".into())));
        assert_eq!(
            table("t_s,x_m,y_m\n0,0,0", Some("c")).unwrap_err(),
            (1, "there is no column `ue`".into())
        );
    }

    #[test]
    fn formats_are_told_apart_by_their_first_character() {
        let format = |text: &str| recognised(&mut text.as_bytes()).unwrap();
        assert_eq!(format("\u{feff}\n <?xml?>"), Format::SumoFcd);
        assert_eq!(format("# nodes: 2\n$node_(0) set X_ 1"), Format::Setdest);
        assert_eq!(format("# a walk\nt_s,x_m,y_m"), Format::Csv);
    }

    #[test]
    fn motion_between_points_is_linear() {
        let rows = parse("t_s,x_m,y_m\n1,0,0\n\n3,20,40\n4,20,40\n", Speed(30.0)).unwrap();
        let mut path = followed(rows, Span::ZERO);
        let mut at = |millis: u64| path.position(Time(millis * 1_000_000)).map(|axis| axis.0);
        assert_eq!([at(0), at(1000), at(2500)], [[0.0, 0.0], [0.0, 0.0], [15.0, 30.0]]);
        assert_eq!([at(3000), at(3700), at(9000)], [[20.0, 40.0]; 3]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let mistake = |text: &str| parse(text, Speed(30.0)).unwrap_err();
        assert_eq!(mistake(" \n"), (1, "the file is empty".into()));
        assert_eq!(
            mistake("t,x_m,y_m\n0,0,0"),
            (1, "unknown column `t`; known: `t_s`, `x_m`, `y_m`, `ue`".into())
        );
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
