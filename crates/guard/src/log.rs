//! The state of the guard as JSON, and the file to which it is written every second.

use crate::Error;
use crate::maps::Counters;
use crate::policy::{Reason, Status, Treatment};
use airwnd_units::{Bytes, Span, Time};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Flows of a place that are shown without being asked for more: those with the highest rates.
pub(crate) const SHOWN: usize = 20;
/// Size of a log file in bytes from which on another one is begun.
const FULL: u64 = 16 << 20;

/// State of a place: its name, its flows, the counters of its programs.
pub(crate) struct Place<'a> {
    pub name: String,
    pub flows: Box<dyn Iterator<Item = Status> + 'a>,
    pub counters: Counters,
}

/// Writes the state as one JSON object, with at most `shown` flows of each place. Flow by flow, as the whole would take
/// more memory than the guard itself.
pub(crate) fn write<'a>(
    out: &mut impl Write,
    now: Time,
    places: impl Iterator<Item = Place<'a>>,
    shown: usize,
) -> io::Result<()> {
    write!(out, "{{\"monotonic_s\":{},\"places\":[", Value::from(now.as_secs()))?;
    for (number, Place { name, flows, counters }) in places.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let mut flows: Vec<Status> = flows.collect();
        let controlled = flows.iter().filter(|flow| matches!(flow.treatment, Treatment::Window(_))).count();
        // A sum of nothing would be -0.
        let rate = flows.iter().map(|flow| flow.rate.as_kbps()).fold(0.0, |sum, rate| sum + rate);
        let total = json!({"flows": flows.len(), "controlled": controlled, "rate_kbps": rate});
        let Counters { acks, clamped, refused, lost, held, unknown, exempt, implausible, full } = counters;
        let counters = json!({
            "acks": acks, "clamped": clamped, "held": held, "refused": refused, "unknown": unknown,
            "exempt": exempt, "implausible": implausible, "lost_reports": lost, "without_room": full,
        });
        write!(
            out,
            "{comma}{{\"place\":{},\"total\":{total},\"counters\":{counters},\"flows\":[",
            Value::from(name)
        )?;
        flows.sort_by_key(|flow| (std::cmp::Reverse(flow.rate), flow.flow));
        for (number, status) in flows.iter().take(shown).enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(out, "{comma}{}", flow(now, status))?;
        }
        write!(out, "]}}")?;
    }
    write!(out, "]}}")
}

fn flow(now: Time, status: &Status) -> Value {
    let bytes = |value: Option<Bytes>| value.map(|Bytes(bytes)| bytes);
    let millis = |value: Option<Span>| value.map(Span::as_millis);
    let (wanted, untouched) = match status.treatment {
        Treatment::Window(window) => (Some(window), None),
        Treatment::Untouched(reason) => (None, Some(word(reason))),
    };
    json!({
        "receiver": status.local.to_string(),
        "sender": status.remote.to_string(),
        "interface": status.interface,
        "cgroup": status.cgroup,
        "rate_kbps": status.rate.as_kbps(),
        "rtt_ms": millis(status.rtt),
        "rtt_ms_min": millis(status.min_rtt),
        "measured_s": status.measured.map(|(from, until)| [from.as_secs(), until.as_secs()]),
        "received_bytes": status.received.0,
        "offered_bytes": status.offered.0,
        "window_bytes": bytes(wanted),
        "clamp_bytes": bytes(status.clamp),
        "untouched": untouched,
        "idle_ms": now.since(status.seen).as_millis(),
    })
}

fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Rule => "rule",
        Reason::Local => "local",
        Reason::Starting => "starting",
        Reason::Quiet => "quiet",
        Reason::Competitor => "competitor",
    }
}

/// The file of `--json-log`.
pub(crate) struct Log {
    path: PathBuf,
    /// `None`: the log has ended.
    file: Option<File>,
}

impl Log {
    /// Opens a file, to append to it.
    pub fn open(path: &Path) -> Result<Log, Error> {
        let file =
            append(path).map_err(|why| Error::failed(format!("--json-log {}", path.display()), &why))?;
        Ok(Log { path: path.to_path_buf(), file: Some(file) })
    }

    /// Appends a line. A full disk is no reason to release the flows.
    pub fn line(&mut self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) {
        let Some(file) = &self.file else { return };
        let mut out = BufWriter::new(file);
        let _ = write(&mut out).and_then(|()| writeln!(out)).and_then(|()| out.flush());
        drop(out);
        if let Err(why) = self.rotate() {
            let what = format!("--json-log {}", self.path.display());
            eprintln!("{}; the log ends", Error::failed(what, &why));
            self.file = None;
        }
    }

    /// Begins another file if this one is full. The former one stays beside it, once.
    fn rotate(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let about = file.metadata()?;
        // A pipe keeps nothing.
        if about.is_file() && about.len() >= FULL {
            let mut former = self.path.clone().into_os_string();
            former.push(".1");
            fs::rename(&self.path, former)?;
            self.file = Some(append(&self.path)?);
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::policy::tests::observation;
    use crate::rules::Rules;

    #[test]
    fn a_state_has_the_fastest_flows_and_the_totals_of_all() {
        let mut policy = Policy::new(Rules::default());
        let seen = observation(Span::from_millis(20));
        for flow in 0..1000 {
            policy.on_observation(&crate::Observation { flow, ..seen.clone() });
        }
        let place = |policy: &'static Policy| Place {
            name: "forward \"lan".to_string(),
            flows: Box::new(policy.flows()),
            counters: Counters { acks: 7, ..Counters::default() },
        };
        let policy: &'static Policy = Box::leak(Box::new(policy));
        let mut text = Vec::new();
        let none =
            Place { name: String::new(), flows: Box::new([].into_iter()), counters: Counters::default() };
        write(&mut text, seen.time, std::iter::once(none), 20).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("\"rate_kbps\":0.0"));
        for (shown, expected) in [(20, 20), (0, 0), (usize::MAX, 1000)] {
            let mut text = Vec::new();
            write(&mut text, seen.time, [place(policy), place(policy)].into_iter(), shown).unwrap();
            let state: Value = serde_json::from_slice(&text).unwrap();
            let found = &state["places"][1];
            assert_eq!(found["flows"].as_array().unwrap().len(), expected);
            assert_eq!(found["total"], json!({"flows": 1000, "controlled": 0, "rate_kbps": 0.0}));
            assert_eq!((&found["place"], &found["counters"]["acks"]), (&json!("forward \"lan"), &json!(7)));
        }
    }

    #[test]
    fn a_log_file_that_is_full_is_kept_once() {
        let folder = std::env::temp_dir().join(format!("airwnd-log-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("log.jsonl");
        let mut log = Log::open(&path).unwrap();
        let mut write = |bytes: usize| log.line(|out| out.write_all(&vec![b'x'; bytes]));
        for _ in 0..5 {
            write(FULL as usize / 2);
        }
        write(10);
        let mut sizes: Vec<(String, u64)> = fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
            .collect();
        sizes.sort();
        let half = FULL / 2 + 1;
        assert_eq!(sizes, [("log.jsonl".to_string(), half + 11), ("log.jsonl.1".to_string(), 2 * half)]);
        // Where the file cannot be renamed, the log ends.
        fs::remove_dir_all(&folder).unwrap();
        write(FULL as usize);
        write(10);
        assert!(!folder.exists());
    }
}
