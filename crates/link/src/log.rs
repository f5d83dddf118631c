//! Logs of one direction of a link, in the format of mahimahi's `mm-link`.
//!
//! A line has a time in whole milliseconds since the start, and one of these events:
//!
//! ```text
//! 12 # 1504     an opportunity to send 1504 bytes, used or not
//! 12 + 1504     a packet of 1504 bytes reaches the queue
//! 12 - 1504 7   it leaves the link, 7 ms later
//! 12 d 1 1504   the queue drops 1 packet of 1504 bytes
//! ```
//!
//! Sizes include the framing of the link. A separate thread writes the file, so that the relay never waits for a disk.

use crate::error::Error;
use airwnd_kernel::Direction;
use airwnd_lab::Scenario;
use airwnd_lab::tap::{Carried, LinkSight, Sight, Stage, Tap};
use airwnd_units::{Bytes, Span};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter::Peekable;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds per millisecond.
const MILLI: u64 = 1_000_000;

/// A log file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRequest {
    /// The file.
    pub path: PathBuf,
    /// Place of the link in the scenario.
    pub link: usize,
    /// Direction of the packets.
    pub is_up: bool,
    /// First lines of the file, without those of the start.
    pub head: Vec<String>,
    /// Lines after those of the start.
    pub tail: Vec<String>,
}

/// The logs of a session, and its capture.
pub struct Taps<'t> {
    capture: Option<&'t mut (dyn Tap + 't)>,
    logs: Vec<Log>,
}

impl<'t> Taps<'t> {
    /// Creates the log files; they begin at the present time.
    ///
    /// # Errors
    /// A file that cannot be created, or a link that the scenario does not have.
    pub fn new(
        scenario: &Scenario,
        requests: &[LogRequest],
        capture: Option<&'t mut (dyn Tap + 't)>,
    ) -> Result<Taps<'t>, Error> {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
        let start = |request| Log::start(scenario, request, began);
        let logs = requests.iter().map(start).collect::<Result<_, _>>()?;
        Ok(Taps { capture, logs })
    }

    /// Writes what is left, until the end of the session.
    ///
    /// # Errors
    /// If a file could not be written.
    pub fn finish(self, end: Span) -> Result<(), Error> {
        self.logs.into_iter().try_for_each(|log| log.finish(end))
    }
}

impl Tap for Taps<'_> {
    fn packet(&mut self, sight: &Sight) {
        if let Some(capture) = &mut self.capture {
            capture.packet(sight);
        }
    }

    fn at_link(&mut self, sight: &LinkSight) {
        self.logs.iter_mut().for_each(|log| log.note(sight));
    }

    fn continues(&self) -> bool {
        self.capture.as_ref().is_none_or(|capture| capture.continues())
    }
}

/// Events of one direction of a link on their way to the thread that writes them.
struct Log {
    path: PathBuf,
    link: u32,
    direction: Direction,
    framing: Bytes,
    /// Arrival times of the packets inside in milliseconds, by the number of the frame.
    arrived: HashMap<u32, u64>,
    to: Sender<(u64, Event)>,
    writer: JoinHandle<io::Result<()>>,
}

/// Event of a line.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(Bytes),
    Departure(Bytes, u64),
    Drop(Bytes),
    /// The session is over.
    End,
}

impl Log {
    fn start(scenario: &Scenario, request: &LogRequest, began: u128) -> Result<Log, Error> {
        let LogRequest { path, link, is_up, .. } = request;
        let direction = if *is_up { Direction::Up } else { Direction::Down };
        let Some(trace) = scenario.link.get(*link).and_then(|link| link.trace()) else {
            let message = format!("log {}: link {link} of the scenario replays no trace", path.display());
            return Err(Error::System(message));
        };
        let times = trace.opportunities(direction).into_iter().flatten().peekable();
        let (framing, size) = (trace.framing, trace.opportunity);
        let mut file = BufWriter::new(File::create(path).map_err(|error| Error::of_file(path, &error))?);
        let start = [format!("# init timestamp: {began}"), "# base timestamp: 0".into()];
        for line in request.head.iter().chain(&start).chain(&request.tail) {
            writeln!(file, "{line}").map_err(|error| Error::of_file(path, &error))?;
        }
        let (to, events) = mpsc::channel();
        let writer = thread::Builder::new()
            .name("airwnd-log".into())
            .spawn(move || write(file, &events, (times, size)))?;
        Ok(Log {
            path: path.clone(),
            link: *link as u32 + 1,
            direction,
            framing,
            arrived: HashMap::new(),
            to,
            writer,
        })
    }

    fn note(&mut self, sight: &LinkSight) {
        let Carried::Frame { number, .. } = sight.carried else { return };
        if (sight.link, sight.direction) != (self.link, self.direction) {
            return;
        }
        let (at, size) = (sight.at.0 / MILLI, sight.size + self.framing);
        let event = match sight.stage {
            Stage::Arrival => {
                self.arrived.insert(number, at);
                Event::Arrival(size)
            }
            Stage::Departure => {
                let since = self.arrived.remove(&number).unwrap_or(at);
                Event::Departure(size, at - since)
            }
            Stage::Drop => {
                self.arrived.remove(&number);
                Event::Drop(size)
            }
        };
        // The thread has ended only if it cannot write, which `finish` reports.
        let _ = self.to.send((at, event));
    }

    fn finish(self, end: Span) -> Result<(), Error> {
        let _ = self.to.send((end.0 / MILLI, Event::End));
        let written = self.writer.join().expect("the writer does not panic");
        written.map_err(|error| Error::of_file(&self.path, &error))
    }
}

/// Writes events until the last one, and the opportunities in between. The file is complete whenever no event waits.
fn write(
    mut file: BufWriter<impl Write>,
    events: &Receiver<(u64, Event)>,
    (mut opportunities, size): (Peekable<impl Iterator<Item = Span>>, Bytes),
) -> io::Result<()> {
    loop {
        let next = match events.try_recv() {
            Ok(next) => Ok(next),
            Err(_) => {
                file.flush()?;
                events.recv()
            }
        };
        // Without an end the session has failed.
        let Ok((at, event)) = next else { return Ok(()) };
        while let Some(time) = opportunities.next_if(|time| time.0 / MILLI <= at) {
            writeln!(file, "{} # {}", time.0 / MILLI, size.0)?;
        }
        match event {
            Event::Arrival(size) => writeln!(file, "{at} + {}", size.0)?,
            Event::Departure(size, delay) => writeln!(file, "{at} - {} {delay}", size.0)?,
            Event::Drop(size) => writeln!(file, "{at} d 1 {}", size.0)?,
            Event::End => return file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Node;
    use airwnd_kernel::Codepoint;

    const TRACE: &str = r#"
        duration = "1s"
        [[link]]
        kind = "trace"
        down = "nyc-subway"
        opportunity = "1504B"
        framing = "4B"
        [[ue]]
    "#;

    fn scenario(text: &str) -> Scenario {
        Scenario::from_node(&Node::from_toml(text, "test").unwrap()).unwrap()
    }

    fn request(name: &str, is_up: bool) -> LogRequest {
        let path = std::env::temp_dir().join(format!("airwnd-{}-{name}", std::process::id()));
        LogRequest { path, link: 0, is_up, head: vec!["# head".into()], tail: vec!["# tail".into()] }
    }

    fn sight(micros: u64, direction: Direction, stage: Stage, number: u32) -> LinkSight {
        let carried = Carried::Frame { number, ecn: Codepoint::NotEct, marked_at: None };
        LinkSight { at: Span::from_micros(micros), link: 1, direction, stage, size: Bytes(1500), carried }
    }

    #[test]
    fn events_and_opportunities_are_in_chronological_order() {
        let requests = [request("down", false), request("up", true)];
        let mut taps = Taps::new(&scenario(TRACE), &requests, None).unwrap();
        for event in [
            sight(1_200, Direction::Down, Stage::Arrival, 7),
            sight(1_900, Direction::Down, Stage::Arrival, 8),
            sight(1_900, Direction::Down, Stage::Drop, 8),
            sight(3_000, Direction::Down, Stage::Departure, 7),
            sight(3_000, Direction::Up, Stage::Arrival, 9),
            LinkSight { link: 0, ..sight(3_000, Direction::Down, Stage::Departure, 9) },
        ] {
            taps.at_link(&event);
        }
        taps.finish(Span::from_millis(9)).unwrap();
        let texts = requests.map(|request| {
            let text = std::fs::read_to_string(&request.path).unwrap();
            std::fs::remove_file(&request.path).unwrap();
            let (head, events) = text.split_once("# tail\n").unwrap();
            assert!(head.starts_with("# head\n# init timestamp: "), "{head}");
            assert!(head.ends_with("\n# base timestamp: 0\n"), "{head}");
            events.to_string()
        });
        let opportunities = "9 # 1504\n9 # 1504\n";
        let down = "0 # 1504\n1 + 1504\n1 + 1504\n1 d 1 1504\n3 # 1504\n3 - 1504 2\n";
        assert_eq!(texts[0], format!("{down}{opportunities}"));
        assert_eq!(texts[1], format!("0 # 1504\n3 # 1504\n3 + 1504\n{opportunities}"));
    }

    #[test]
    fn a_log_needs_a_trace_and_a_folder() {
        let wire = scenario("duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n");
        let error = |scenario, request: &LogRequest| {
            let requests = std::slice::from_ref(request);
            Taps::new(scenario, requests, None).err().map(|error| error.to_string()).unwrap()
        };
        assert!(error(&wire, &request("none", false)).ends_with("link 0 of the scenario replays no trace"));
        let nowhere = LogRequest { path: "/nowhere/log".into(), ..request("none", false) };
        assert_eq!(error(&scenario(TRACE), &nowhere), "/nowhere/log: No such file or directory");
    }
}
