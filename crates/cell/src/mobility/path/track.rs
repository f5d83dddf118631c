//! Points of one UE among those of a file.

use airwnd_catalog::csv::Mistake;
use airwnd_units::Span;

/// Maximum number of points of a path: eleven days at one per second, in 24 MB.
const MAX_POINTS: usize = 1_000_000;
/// Number of UEs that a message lists.
const LISTED: usize = 5;

/// Points of a path, with the lines that they come from.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Track {
    /// Time in seconds, x and y in metres.
    pub rows: Vec<[f64; 3]>,
    lines: Vec<usize>,
}

impl Track {
    /// Adds a point.
    ///
    /// # Errors
    /// Too many points.
    pub fn push(&mut self, line: usize, row: [f64; 3]) -> Result<(), Mistake> {
        if self.rows.len() == MAX_POINTS {
            return Err((line, format!("the path has more than {MAX_POINTS} points")));
        }
        self.rows.push(row);
        self.lines.push(line);
        Ok(())
    }

    /// Adds a second point to a single one: a UE of a file of several may never move.
    pub fn stay(&mut self) {
        if let ([[t, x, y]], [line]) = (&self.rows[..], &self.lines[..]) {
            let (row, line) = ([t + 1.0, *x, *y], *line);
            self.rows.push(row);
            self.lines.push(line);
        }
    }

    /// Whether the last point is at this time, in whole nanoseconds.
    pub fn ends_at(&self, seconds: f64) -> bool {
        self.rows.last().is_some_and(|last| Span::from_secs_f64(last[0]) == Span::from_secs_f64(seconds))
    }

    /// Number of the line of a row; of the last one for a row that is missing.
    pub fn line_of(&self, row: usize) -> usize {
        self.lines.get(row).or(self.lines.last()).copied().unwrap_or(1)
    }
}

/// The UE to read: the one with an id, or the only one.
pub(super) struct Selection<'i> {
    wanted: Option<&'i str>,
    /// The first ids of the file.
    seen: Vec<String>,
    has_more: bool,
    found: bool,
}

impl<'i> Selection<'i> {
    pub fn new(wanted: Option<&'i str>) -> Self {
        Selection { wanted, seen: Vec::new(), has_more: false, found: false }
    }

    /// Whether to read the UE with this id.
    pub fn takes(&mut self, id: &str) -> bool {
        if !self.seen.iter().any(|seen| seen == id) {
            if self.seen.len() < LISTED { self.seen.push(id.into()) } else { self.has_more = true }
        }
        let takes = self.wanted.unwrap_or(&self.seen[0]) == id;
        self.found |= takes;
        takes
    }

    /// Checks the selection at the end of the file, whose last line has this number.
    ///
    /// # Errors
    /// The file has no such UE, or several and none is selected.
    pub fn check(&self, line: usize) -> Result<(), Mistake> {
        let shown = |id: &String| {
            format!("`{}`", id.chars().take(40).flat_map(char::escape_debug).collect::<String>())
        };
        let mut listed = self.seen.iter().map(shown).collect::<Vec<_>>().join(", ");
        if self.has_more {
            listed.push_str(", ...");
        }
        match self.wanted {
            Some(_) | None if self.seen.is_empty() => Err((line, "the file has no UEs".into())),
            Some(wanted) if !self.found => Err((line, format!("no UE `{wanted}`; the file has {listed}"))),
            None if self.seen.len() > 1 => Err((line, format!("several UEs; select one by `id`: {listed}"))),
            _ => Ok(()),
        }
    }
}
