//! Movements of ns-2: Tcl, of which the commands that set a place or a destination are understood.

use super::track::{Selection, Track};
use airwnd_catalog::csv::Mistake;
use std::io::{BufRead, Read as _};

/// Maximum length of a line in bytes. One of setdest has less than a hundred.
const LONGEST: u64 = 4096;
const EXPECTED: &str = "expected `$node_(ID) set X_ METRES`, also `Y_` and `Z_`, or `$ns_ at SECONDS \
                        \"$node_(ID) setdest X Y SPEED\"`";

/// Reads the points of a UE.
///
/// # Errors
/// Line and message of a mistake, or of a UE that is missing or not the only one.
pub(super) fn read(input: &mut dyn BufRead, id: Option<&str>) -> Result<Track, Mistake> {
    let mut selection = Selection::new(id);
    let mut node = Node::default();
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut *input)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .map_err(|why| (number, format!("cannot be read: {why}")))?;
        if length == 0 {
            break;
        }
        number += 1;
        if length as u64 == LONGEST {
            return Err((number, format!("the line has more than {} bytes", LONGEST - 1)));
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let text = str::from_utf8(line).map_err(|_| (number, "not UTF-8".to_string()))?;
        let text = text.replace(['"', '{', '}', ';'], " ");
        let words: Vec<&str> = text.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        command(&words, &mut selection, &mut node, number).map_err(|why| (number, why))??;
    }
    let line = number.max(1);
    selection.check(line)?;
    node.end(line)
}

/// Executes a command: the outer error is one in its words.
fn command(
    words: &[&str],
    selection: &mut Selection<'_>,
    node: &mut Node,
    line: usize,
) -> Result<Result<(), Mistake>, String> {
    let (time, words) = match words {
        [] => return Ok(Ok(())),
        [god, ..] | [_, "at", _, god, ..] if *god == "$god_" => return Ok(Ok(())),
        [simulator, "at", time, words @ ..] if simulator.starts_with('$') => (seconds(time)?, words),
        words => (0.0, words),
    };
    match words {
        [name, "set", axis @ ("X_" | "Y_" | "Z_"), value] => {
            let value = number(value)?;
            Ok(if selection.takes(id_of(name)?) { node.set(line, time, axis, value) } else { Ok(()) })
        }
        [name, "setdest", x, y, speed] => {
            let (to, speed) = ([number(x)?, number(y)?], number(speed)?);
            if speed < 0.0 {
                return Err(format!("the speed {speed} is below 0"));
            }
            Ok(if selection.takes(id_of(name)?) { node.go(line, time, to, speed) } else { Ok(()) })
        }
        _ => {
            let found: String = words.join(" ").chars().take(60).flat_map(char::escape_debug).collect();
            Err(format!("{EXPECTED}, found `{found}`"))
        }
    }
}

fn id_of(name: &str) -> Result<&str, String> {
    let id = name.strip_prefix('$').and_then(|name| name.split_once('(')?.1.strip_suffix(')'));
    id.filter(|id| !id.is_empty()).ok_or_else(|| EXPECTED.to_string())
}

fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let text: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            Err(format!("`{text}` is not a number"))
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value < 0.0 { Err(format!("the time {value} s is below 0")) } else { Ok(value) }
}

/// The selected node.
#[derive(Default)]
struct Node {
    place: [Option<f64>; 2],
    /// End of the current motion: its time in seconds, and place.
    goal: Option<(f64, [f64; 2])>,
    /// Start of the current motion, likewise.
    from: (f64, [f64; 2]),
    track: Track,
}

impl Node {
    /// Sets a coordinate of the place at the beginning.
    fn set(&mut self, line: usize, time: f64, axis: &str, value: f64) -> Result<(), Mistake> {
        if time > 0.0 || !self.track.rows.is_empty() {
            return Err((line, "a place is set after the beginning; only `setdest` moves".into()));
        }
        match axis {
            "X_" => self.place[0] = Some(value),
            "Y_" => self.place[1] = Some(value),
            // The height is that of the group of UEs.
            _ => {}
        }
        Ok(())
    }

    /// Sends the node to a place at a speed in m/s, from where it is; at speed 0 it stays there.
    fn go(&mut self, line: usize, time: f64, to: [f64; 2], speed: f64) -> Result<(), Mistake> {
        let place = self.begin(line)?;
        if time < self.from.0 {
            let before = self.from.0;
            return Err((line, format!("{time} s is before {before} s; times must ascend")));
        }
        let here = match self.goal {
            Some((end, goal)) if time >= end => {
                self.push(line, end, goal)?;
                goal
            }
            Some((end, goal)) => {
                let part = (time - self.from.0) / (end - self.from.0);
                [0, 1].map(|axis| self.from.1[axis] + part * (goal[axis] - self.from.1[axis]))
            }
            None if self.track.rows.len() == 1 => place,
            None => self.from.1,
        };
        self.push(line, time, here)?;
        let length = libm::hypot(to[0] - here[0], to[1] - here[1]);
        self.from = (time, here);
        self.goal = (speed > 0.0 && length > 0.0).then(|| (time + length / speed, to));
        Ok(())
    }

    /// Adds the first point, and returns its place.
    fn begin(&mut self, line: usize) -> Result<[f64; 2], Mistake> {
        let [Some(x), Some(y)] = self.place else {
            return Err((line, "`X_` and `Y_` of the node are not set".into()));
        };
        if self.track.rows.is_empty() {
            self.from = (0.0, [x, y]);
            self.track.push(line, [0.0, x, y])?;
        }
        Ok([x, y])
    }

    fn push(&mut self, line: usize, time: f64, [x, y]: [f64; 2]) -> Result<(), Mistake> {
        if self.track.ends_at(time) { Ok(()) } else { self.track.push(line, [time, x, y]) }
    }

    fn end(mut self, line: usize) -> Result<Track, Mistake> {
        self.begin(line)?;
        if let Some((end, goal)) = self.goal {
            let last = self.track.line_of(usize::MAX);
            self.push(last, end, goal)?;
        }
        self.track.stay();
        Ok(self.track)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, id: Option<&str>) -> Result<Vec<[f64; 3]>, Mistake> {
        read(&mut text.as_bytes(), id).map(|track| track.rows)
    }

    const START: &str = "$node_(0) set X_ 10.0\n$node_(0) set Y_ 5\n$node_(0) set Z_ 0\n";

    #[test]
    fn a_node_goes_at_a_speed_and_waits() {
        let text = format!(
            "# nodes: 1\n{START}$ns_ at 0.0 \"$node_(0) setdest 10.0 5.0 0.0\"\n$god_ set-dist 0 1 2\n\
             $ns_ at 1.0 \"$node_(0) setdest 20.0 5.0 2.5\"\n$ns_ at 3.0 \"$god_ set-dist 0 1 1\"\n\
             $ns_ at 9.0 \"$node_(0) setdest 20.0 9.0 4.0\";\n"
        );
        let expected =
            [[0.0, 10.0, 5.0], [1.0, 10.0, 5.0], [5.0, 20.0, 5.0], [9.0, 20.0, 5.0], [10.0, 20.0, 9.0]];
        assert_eq!(rows(&text, None), Ok(expected.to_vec()));
    }

    #[test]
    fn a_new_destination_and_speed_zero_end_a_motion() {
        let text = format!(
            "{START}$ns_ at 0 \"$node_(0) setdest 110 5 10\"\n$ns_ at 2 \"$node_(0) setdest 30 25 20\"\n\
             $ns_ at 2.5 \"$node_(0) setdest 0 0 0\"\n"
        );
        let expected = [[0.0, 10.0, 5.0], [2.0, 30.0, 5.0], [2.5, 30.0, 15.0]];
        assert_eq!(rows(&text, None), Ok(expected.to_vec()));
    }

    #[test]
    fn one_of_several_nodes_is_selected() {
        let text = format!("{START}$node_(a) set X_ 1\n$node_(a) set Y_ 2\n");
        assert_eq!(rows(&text, Some("a")), Ok(vec![[0.0, 1.0, 2.0], [1.0, 1.0, 2.0]]));
        assert_eq!(rows(&text, None), Err((5, "several UEs; select one by `id`: `0`, `a`".into())));
        assert_eq!(rows(&text, Some("b")), Err((5, "no UE `b`; the file has `0`, `a`".into())));
        assert_eq!(rows("# nothing\n", None), Err((1, "the file has no UEs".into())));
    }

    #[test]
    fn mistakes_name_their_line() {
        let after = |line: &str| rows(&format!("{START}{line}"), None).unwrap_err();
        let found = |what: &str| (4, format!("{EXPECTED}, found `{what}`"));
        assert_eq!(after("set opt(x) 5"), found("set opt(x) 5"));
        assert_eq!(after("$ns_ at 1 \"exec rm x\""), found("exec rm x"));
        assert_eq!(after("$node_(0) set X_ [exec id]"), found("$node_(0) set X_ [exec id]"));
        assert_eq!(after("$node_(0) set X_ east"), (4, "`east` is not a number".into()));
        assert_eq!(after("$node_(0 set X_ 1"), (4, EXPECTED.into()));
        assert_eq!(after("$ns_ at -1 \"$node_(0) setdest 1 1 1\""), (4, "the time -1 s is below 0".into()));
        assert_eq!(after("$ns_ at 1 \"$node_(0) setdest 1 1 -1\""), (4, "the speed -1 is below 0".into()));
        let set = "a place is set after the beginning; only `setdest` moves";
        assert_eq!(after("$ns_ at 3 \"$node_(0) set X_ 1\""), (4, set.into()));
        let back = "$ns_ at 3 \"$node_(0) setdest 1 1 1\"\n$ns_ at 2 \"$node_(0) setdest 1 1 1\"";
        assert_eq!(after(back), (5, "2 s is before 3 s; times must ascend".into()));
        let unset = rows("$ns_ at 3 \"$node_(0) setdest 1 1 1\"", None);
        assert_eq!(unset, Err((1, "`X_` and `Y_` of the node are not set".into())));
        assert_eq!(after(&"x".repeat(5000)), (4, "the line has more than 4095 bytes".into()));
    }
}
