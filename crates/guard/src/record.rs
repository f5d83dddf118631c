//! Recordings of what a guard has observed, and of what it answered (`--record`).
//!
//! A file begins with [`HEADER`]. Each record has 144 bytes, little-endian: the report of the eBPF program (`struct
//! observation` of `bpf/shared.h`) with the number of the place in its last byte, then two 64-bit numbers, the window in
//! bytes (0: the receiver's own) and the time until which it is valid (0: the flow has ended). Besides the events of flows
//! there are three others: the routes over an interface have changed (3), the rules were read again (4), and the counters
//! of an interface (5), whose bytes towards and from the receivers take the place of window and time.

use crate::carried::Carried;
use crate::error::Error;
use crate::observation::Observation;
use crate::policy::Target;
use airwnd_units::{Bytes, Time};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// First bytes of a file, with the version of its format.
const HEADER: &[u8; 16] = b"airwnd-guard  1\n";
/// Bytes of a record.
const SIZE: usize = Observation::SIZE + 16;
/// Position of the number of the place.
const PLACE: usize = Observation::SIZE - 1;
/// Position of the interface.
const INTERFACE: usize = 80;
const ROUTES: u8 = 3;
const RULES: u8 = 4;
const COUNTED: u8 = 5;

/// A file that records, or none.
#[derive(Default)]
pub(crate) struct Recorder(Option<BufWriter<File>>);

impl Recorder {
    /// Creates or replaces a file.
    pub fn create(path: &Path) -> Result<Recorder, Error> {
        let create = || {
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(HEADER)?;
            file.flush()?;
            Ok(Recorder(Some(file)))
        };
        create().map_err(|why: std::io::Error| Error::failed(format!("--record {}", path.display()), &why))
    }

    /// An observation at a place, and the answer of its policy.
    pub fn seen(&mut self, place: usize, seen: &Observation, target: Option<Target>) {
        if self.0.is_some() {
            let window = target.and_then(|target| target.window).unwrap_or_default().0;
            self.write(place, seen.write(), [window, target.map_or(0, |target| target.valid_until.0)]);
        }
    }

    /// The paths over an interface are learned anew.
    pub fn routes_changed(&mut self, place: usize, now: Time, interface: u32) {
        self.write(place, of_interface(ROUTES, now, interface), [0; 2]);
    }

    /// The counters of an interface are read.
    pub fn counted(&mut self, place: usize, now: Time, interface: u32, carried: Carried) {
        self.write(place, of_interface(COUNTED, now, interface), [carried.down.0, carried.up.0]);
    }

    /// Every flow starts anew.
    pub fn rules_read(&mut self, place: usize, now: Time) {
        self.write(place, event(RULES, now), [0; 2]);
    }

    fn write(&mut self, place: usize, mut report: [u8; Observation::SIZE], numbers: [u64; 2]) {
        let Some(file) = &mut self.0 else { return };
        report[PLACE] = u8::try_from(place).unwrap_or(u8::MAX);
        let numbers = numbers.map(u64::to_ne_bytes);
        let parts = [&report[..], &numbers[0], &numbers[1]];
        let result = parts.into_iter().try_for_each(|part| file.write_all(part));
        self.check(result);
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) {
        let result = self.0.as_mut().map_or(Ok(()), BufWriter::flush);
        self.check(result);
    }

    /// A full disk is no reason to release the flows.
    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(why) = result {
            eprintln!("{}; the recording ends", Error::failed("--record", &why));
            // Dropping the writer would try to write the rest.
            if let Some(file) = self.0.take() {
                let _ = file.into_parts();
            }
        }
    }
}

fn event(event: u8, now: Time) -> [u8; Observation::SIZE] {
    let mut report = [0; Observation::SIZE];
    report[..8].copy_from_slice(&now.0.to_ne_bytes());
    report[Observation::EVENT] = event;
    report
}

fn of_interface(kind: u8, now: Time, interface: u32) -> [u8; Observation::SIZE] {
    let mut report = event(kind, now);
    report[INTERFACE..][..4].copy_from_slice(&interface.to_ne_bytes());
    report
}

/// Something that a guard has processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the place: of the receiver or of a `--forward` interface. Each place has a [`crate::Policy`] of its
    /// own.
    pub place: u8,
    /// Event.
    pub what: Recorded,
}

/// Event that a guard has processed.
#[expect(clippy::large_enum_variant, reason = "almost all records are observations")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// An observation, and the answer; `None`: the flow has ended.
    Seen(Observation, Option<Target>),
    /// The paths over this interface are learned anew ([`crate::Policy::forget_paths`]).
    RoutesChanged(u32),
    /// The counters of an interface ([`crate::Policy::note_carried`]).
    Counted(u32, Carried),
    /// The rules were read again ([`crate::Policy::set_rules`]).
    RulesRead,
}

/// Reads a recording. A record that is cut off at the end is ignored: the guard may have been killed.
///
/// # Errors
/// If `bytes` is no recording of this version, or a record has an unknown event.
pub fn read_recording(bytes: &[u8]) -> Result<Vec<Record>, Error> {
    let Some(rest) = bytes.strip_prefix(HEADER) else {
        return Err(Error::new("no recording of airwnd guard, or one of another version"));
    };
    rest.as_chunks::<SIZE>().0.iter().enumerate().map(|(number, record)| read(number, record)).collect()
}

fn read(number: usize, record: &[u8; SIZE]) -> Result<Record, Error> {
    let (report, answer) = record.split_at(Observation::SIZE);
    let word = |place: usize| u64::from_ne_bytes(*answer[place..].first_chunk().expect("two words"));
    let interface = u32::from_ne_bytes(*report[INTERFACE..].first_chunk().expect("within a report"));
    let what = match report[Observation::EVENT] {
        ROUTES => Recorded::RoutesChanged(interface),
        COUNTED => Recorded::Counted(interface, Carried { down: Bytes(word(0)), up: Bytes(word(8)) }),
        RULES => Recorded::RulesRead,
        event => {
            let seen = Observation::read(report)
                .ok_or_else(|| Error::new(format!("record {number}: unknown event {event}")))?;
            let (window, valid_until) = (word(0), word(8));
            let window = (window > 0).then_some(Bytes(window));
            let target = Target { window, valid_until: Time(valid_until) };
            Recorded::Seen(seen, (valid_until > 0).then_some(target))
        }
    };
    Ok(Record { place: report[PLACE], what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::observation;
    use airwnd_units::Span;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("airwnd-record-{}", std::process::id()));
        let seen = observation(Span::from_millis(20));
        let target = Target { window: Some(Bytes(5000)), valid_until: Time(7) };
        let mut recorder = Recorder::create(&path).unwrap();
        recorder.seen(0, &seen, Some(target));
        recorder.seen(1, &seen, Some(Target { window: None, ..target }));
        recorder.seen(1, &seen, None);
        recorder.routes_changed(2, Time(8), 70_000);
        recorder.rules_read(0, Time(9));
        let carried = Carried { down: Bytes(1 << 40), up: Bytes(3) };
        recorder.counted(1, Time(10), 5, carried);
        recorder.flush();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let expected = [
            (0, Recorded::Seen(seen.clone(), Some(target))),
            (1, Recorded::Seen(seen.clone(), Some(Target { window: None, ..target }))),
            (1, Recorded::Seen(seen, None)),
            (2, Recorded::RoutesChanged(70_000)),
            (0, Recorded::RulesRead),
            (1, Recorded::Counted(5, carried)),
        ];
        let expected: Vec<Record> =
            expected.into_iter().map(|(place, what)| Record { place, what }).collect();
        assert_eq!(read_recording(&bytes).unwrap(), expected);
        // A record that was not written completely.
        assert_eq!(read_recording(&bytes[..bytes.len() - 1]).unwrap(), expected[..5]);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(read_recording(b"{}").is_err());
        let mut bytes = HEADER.to_vec();
        bytes.extend([255; SIZE]);
        assert_eq!(read_recording(&bytes).unwrap_err().to_string(), "record 0: unknown event 255");
    }
}
