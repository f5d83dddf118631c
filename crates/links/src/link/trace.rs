//! Link traces: recorded capacity of a link.

mod opportunities;
mod rates;

use super::Server;
use super::wire::Wire;
use airwnd_catalog::{Choice, Error, Fault, Files, Node, Param, Params};
use airwnd_kernel::Direction;
use airwnd_units::{BitRate, Bytes, Span, Time};
use opportunities::{Opportunities, Replay};
use rates::{Profile, Rates};
use serde_json::Value as Json;
use std::sync::Arc;

/// Maximum length of a link trace: the times of its lines fit 32 bits in milliseconds.
const LONGEST: Span = Span::from_millis(u32::MAX as u64);

/// Bytes of an opportunity by default.
const OPPORTUNITY: Bytes = Bytes(1500);

/// File format of a link trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Format {
    /// Each line is a time in whole milliseconds at which a number of bytes can be sent; mahimahi's format.
    #[word = "mahimahi"]
    Mahimahi,
    /// Each line is a time in seconds and the rate in Mbit/s since the previous line.
    #[word = "rate"]
    Rate,
}

/// Trace: replays a recorded link capacity.
///
/// With `format = "mahimahi"` a file has one line per opportunity to send: its time in whole milliseconds, ascending.
/// Equal lines are several opportunities in one millisecond. An opportunity is a number of bytes, 1500 by default:
/// several small packets share one; a packet larger than the rest of one takes that rest and continues with the next.
/// An opportunity without a waiting packet is lost, and a packet that arrives at the instant of an opportunity misses
/// it. The file repeats with its last time as the period, so opportunities at 0 coincide with those at the end of the
/// previous pass.
///
/// With `format = "rate"` a line has a time in seconds and the rate in Mbit/s from the previous line until then. The
/// file repeats after its last time.
///
/// A link trace is a file, relative to the scenario's folder, or one of those included in airwnd:
/// docs/how-to/links-and-traces.md lists them. IP packets are sent without framing by default. Mahimahi's `mm-link`
/// has `opportunity = "1504B"` and `framing = "4B"`: a packet counts with the header of mahimahi's TUN device.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Netravali, Sivaraman, Das, Goyal, Winstein, Mickens, Balakrishnan: Mahimahi: Accurate \
              Record-and-Replay for HTTP, USENIX ATC 2015, section 4.1; mahimahi link_queue.cc",
    check,
    files
)]
pub struct Params {
    /// Link trace towards the UEs.
    #[param(unit = "path", source = "the scenario")]
    pub down: Recording,
    /// Link trace towards the servers; `none`: that of the other direction, unless `rate_up` is set.
    #[param(basic, default = None, unit = "path", source = "the scenario")]
    pub up: Option<Recording>,
    /// Constant rate towards the servers instead of a link trace.
    #[param(default = None, range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "the scenario")]
    pub rate_up: Option<BitRate>,
    /// File format.
    #[param(basic, default = Format::Mahimahi, unit = "1", source = "mahimahi")]
    pub format: Format,
    /// Bytes of an opportunity.
    //= mahimahi link_queue.hh, PACKET_SIZE
    #[param(expert, default = OPPORTUNITY, range = Bytes(1)..=Bytes(1_000_000))]
    #[param(
        unit = "B",
        source = "mahimahi, manual page of mm-link; mm-link itself has 1504, with the framing"
    )]
    pub opportunity: Bytes,
    /// Bytes that the link adds to each packet.
    #[param(default = Bytes::ZERO, range = Bytes(0)..=Bytes(1000))]
    #[param(unit = "B", source = "a recording of IP packets; mm-link: 4, the header of its TUN device")]
    pub framing: Bytes,
    /// Position in the link trace at which the measurement begins.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "mahimahi")]
    pub start: Span,
    /// Digest of the files' contents; set when the scenario is read, and compared if present.
    #[param(expert, default = None, unit = "text", source = "the files; FNV-1a, 64 bits")]
    pub digest: Option<String>,
}

impl Params {
    pub(super) fn server(&self, direction: Direction, start: Time) -> Server {
        let recording = match (direction, &self.up, self.rate_up) {
            (Direction::Up, _, Some(rate)) => return Server::Wire(Wire::new(rate, self.framing)),
            (Direction::Up, Some(up), None) => up,
            _ => &self.down,
        };
        let framing = self.framing;
        Server::Other(
            match recording.contents.as_ref().expect("the link traces of a checked scenario have been read") {
                Contents::Opportunities(opportunities) => {
                    let opportunities = opportunities.clone();
                    Box::new(Replay::new(opportunities, self.opportunity, framing, start, self.start))
                }
                Contents::Rates(rates) => Box::new(Profile::new(rates.clone(), framing, start, self.start)),
            },
        )
    }

    /// Returns the times of the opportunities in a direction, counted from the start of the replay, without end;
    /// `None`: the direction has none.
    pub fn opportunities(&self, direction: Direction) -> Option<impl Iterator<Item = Span> + Send + use<>> {
        let recording = match (direction, &self.up, self.rate_up) {
            (Direction::Up, _, Some(_)) => return None,
            (Direction::Up, Some(up), None) => up,
            _ => &self.down,
        };
        let Some(Contents::Opportunities(opportunities)) = &recording.contents else { return None };
        let (opportunities, offset) = (opportunities.clone(), self.start);
        let first = offset.0.checked_sub(1).map_or(0, |before| opportunities.until(Span(before)));
        Some((first..).map(move |number| opportunities.at(number) - offset))
    }

    /// Returns the shorter period of the two directions; `None`: no link trace has been read.
    pub fn period(&self) -> Option<Span> {
        self.down.period().into_iter().chain(self.up.as_ref().and_then(Recording::period)).min()
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        match (&self.up, self.rate_up) {
            (Some(_), Some(_)) => {
                Err(("rate_up", "the uplink has a link trace, `up`, or a rate, not both".into()))
            }
            _ if self.format == Format::Rate && self.opportunity != OPPORTUNITY => {
                Err(("opportunity", "a link trace of rates has no opportunities".into()))
            }
            _ => Ok(()),
        }
    }

    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        let format = self.format;
        for (key, recording) in self.recordings() {
            let file = files.read_trace(&recording.file).map_err(|message| Fault::new(key, message))?;
            let read = recording.read_text(&file.text, format);
            read.map_err(|(line, why)| Fault::in_file(&file.origin, line, why))?;
        }
        self.seal().map_err(|message| Fault::new("digest", message))
    }

    /// Returns the link traces with their keys.
    fn recordings(&mut self) -> impl Iterator<Item = (&'static str, &mut Recording)> {
        [("down", &mut self.down)].into_iter().chain(self.up.as_mut().map(|up| ("up", up)))
    }

    /// Stores the digest of the link traces, or compares it with the one that is present.
    ///
    /// # Errors
    /// Returns a message with the digest of the files if it differs.
    fn seal(&mut self) -> Result<(), String> {
        let up = self.up.as_ref().map_or(0, |up| up.digest);
        let found = format!("{:016x}", self.down.digest ^ up.rotate_left(1));
        match &self.digest {
            Some(known) if *known != found => {
                Err(format!("the link traces have changed: their digest is {found}, not {known}"))
            }
            _ => {
                self.digest = Some(found);
                Ok(())
            }
        }
    }
}

/// A link trace: its name, and its contents once read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// File name, or name of a link trace included in airwnd.
    pub file: String,
    contents: Option<Contents>,
    digest: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Contents {
    Opportunities(Arc<Opportunities>),
    Rates(Arc<Rates>),
}

impl Recording {
    /// Creates a link trace with this name that has not been read.
    pub fn named(file: &str) -> Recording {
        Recording { file: file.into(), contents: None, digest: 0 }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns the offending line and a message.
    pub fn read_text(&mut self, text: &str, format: Format) -> Result<(), (usize, String)> {
        self.contents = Some(match format {
            Format::Mahimahi => Contents::Opportunities(Arc::new(Opportunities::parse(text)?)),
            Format::Rate => Contents::Rates(Arc::new(Rates::parse(text)?)),
        });
        self.digest = fnv1a(text.as_bytes());
        Ok(())
    }

    /// Returns the period; `None`: not read yet.
    pub fn period(&self) -> Option<Span> {
        self.contents.as_ref().map(|contents| match contents {
            Contents::Opportunities(opportunities) => opportunities.period(),
            Contents::Rates(rates) => rates.period(),
        })
    }
}

impl Param for Recording {
    fn read(node: &Node) -> Result<Self, Error> {
        let file = String::read(node)?;
        if file.is_empty() {
            return Err(node.error("a link trace needs a file, or the name of one included in airwnd"));
        }
        Ok(Recording::named(&file))
    }
    fn to_json(&self) -> Json {
        self.file.to_json()
    }
    fn schema() -> Json {
        String::schema()
    }
}

/// FNV-1a, 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Converts a time to the file's clock: number of complete passes, and position in the pass.
fn place_in(elapsed: Span, period: Span) -> (u64, Span) {
    (elapsed.0 / period.0, Span(elapsed.0 % period.0))
}

/// Returns the lines with their numbers; a trailing empty line is ignored.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.trim_end_matches(['\n', '\r']).lines()).filter(move |_| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Service as _;

    fn params(down: &str, up: Option<&str>, format: Format) -> Params {
        let recording = |text: &str| {
            let mut recording = Recording::named("x");
            recording.read_text(text, format).unwrap();
            recording
        };
        Params {
            down: recording(down),
            up: up.map(recording),
            rate_up: None,
            format,
            opportunity: OPPORTUNITY,
            framing: Bytes::ZERO,
            start: Span::ZERO,
            digest: None,
        }
    }

    #[test]
    fn the_digest_covers_both_directions() {
        let digest = |down, up| {
            let mut params = params(down, up, Format::Mahimahi);
            params.seal().unwrap();
            params.digest.unwrap()
        };
        let all = [digest("1", None), digest("2", None), digest("1", Some("1")), digest("1", Some("2"))];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{all:?}");
        }
        let mut changed = params("1", None, Format::Mahimahi);
        changed.digest = Some(all[1].clone());
        let message = format!("the link traces have changed: their digest is {}, not {}", all[0], all[1]);
        assert_eq!(changed.seal(), Err(message));
    }

    #[test]
    fn fnv_agrees_with_its_definition() {
        // draft-eastlake-fnv, appendix C
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// The uplink repeats the downlink trace, or has a separate trace or a rate.
    #[test]
    fn each_direction_has_its_service() {
        let ends = |params: &Params, direction| {
            params.server(direction, Time::ZERO).serve(Time(0), Bytes(1500)).ends
        };
        let mut both = params("3\n5", Some("4\n5"), Format::Mahimahi);
        assert_eq!(
            (ends(&both, Direction::Down), ends(&both, Direction::Up)),
            (Time(3_000_000), Time(4_000_000))
        );
        both.up = None;
        assert_eq!(ends(&both, Direction::Up), Time(3_000_000));
        both.rate_up = Some(BitRate(12_000_000));
        assert_eq!(ends(&both, Direction::Up), Time(1_000_000));
    }

    #[test]
    fn opportunities_are_listed_from_the_start_of_the_replay() {
        let listed = |params: &Params, direction| {
            params
                .opportunities(direction)
                .map(|all| all.take(4).map(|at| at.as_millis()).collect::<Vec<_>>())
        };
        let mut both = params("0\n3\n5", Some("4\n4\n5"), Format::Mahimahi);
        assert_eq!(listed(&both, Direction::Down), Some(vec![0.0, 3.0, 5.0, 5.0]));
        assert_eq!(listed(&both, Direction::Up), Some(vec![4.0, 4.0, 5.0, 9.0]));
        assert_eq!(both.period(), Some(Span::from_millis(5)));
        both.start = Span::from_millis(4);
        assert_eq!(listed(&both, Direction::Down), Some(vec![1.0, 1.0, 4.0, 6.0]));
        both.rate_up = Some(BitRate(1));
        assert_eq!(listed(&both, Direction::Up), None);
        assert_eq!(listed(&params("1 5", None, Format::Rate), Direction::Down), None);
    }

    /// Mahimahi's values; a rate in the uplink has the same framing.
    #[test]
    fn packets_have_framing() {
        let mut params = params("3\n5", None, Format::Mahimahi);
        (params.opportunity, params.framing) = (Bytes(1504), Bytes(4));
        let framing = |params: &Params, direction| params.server(direction, Time::ZERO).framing();
        assert_eq!(framing(&params, Direction::Down), Bytes(4));
        params.rate_up = Some(BitRate(12_000_000));
        assert_eq!(framing(&params, Direction::Up), Bytes(4));
        params.format = Format::Rate;
        assert_eq!(params.check(), Err(("opportunity", "a link trace of rates has no opportunities".into())));
    }
}
