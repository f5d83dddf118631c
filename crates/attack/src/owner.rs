//! Calls of the owner of a path, in any order and with any arguments.

use airwnd::{
    Bytes, Datagram, Ecn, Flow, FlowOptions, Path, PathError, Protocol, Records, Scenario, Socket, Span, Ue,
};
use arbitrary::{Result as Drawn, Unstructured};
use std::time::Duration;

const CELL: &str = "duration = \"1s\"\n[[site]]\n[[ue]]\nname = \"phone\"\n[[ue]]\nname = \"others\"\n\
                    [[flow]]\nue = \"others\"\nstop = \"1s\"\n";
const WIRE: &str = "duration = \"1s\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = 20\n\
                    duplicate = { probability = 0.3 }\njitter = { time = \"3ms\" }\n\
                    loss = { kind = \"packet-error\", rate = 0.05 }\n[[ue]]\ncount = 2\n[[flow]]\nstop = \"1s\"\n";
/// Simulated time of a path; with more, a few bytes would run for minutes.
const END: Duration = Duration::from_secs(1);
const CALLS: usize = 200;
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// A path refuses a call with an error that names the mistake, changes nothing then, and loses no packet.
pub fn calls(bytes: &[u8]) -> Result<(), String> {
    let mut input = Unstructured::new(bytes);
    let text = if input.arbitrary().unwrap_or(false) { CELL } else { WIRE };
    let scenario = Scenario::from_toml(text).map_err(|error| error.to_string())?;
    let series = input.arbitrary().unwrap_or(false).then_some(Span::from_millis(10));
    let records = Records { series, ..Records::default() };
    let mut path = Path::recorded(&scenario, 1, &records).map_err(|error| error.to_string())?;
    let mut other = Path::new(&scenario, 1).map_err(|error| error.to_string())?;
    // A number that `path` does not have at first.
    let foreign: Vec<Flow> = (0..3).filter_map(|_| other.open(Ue(0), FlowOptions::udp()).ok()).collect();
    let mut owner = Owner { flows: foreign[2..].to_vec(), sent: 0, left: 0 };
    for _ in 0..CALLS {
        if input.is_empty() {
            break;
        }
        let before = path.now();
        match owner.call(&mut path, &mut input) {
            // The bytes are used up.
            Err(_) => break,
            Ok(Ok(())) => {}
            Ok(Err(PathError::Failed(error))) => return Err(format!("the simulation has failed: {error}")),
            Ok(Err(error)) if error.to_string().contains('\n') => return Err(format!("two lines: {error}")),
            Ok(Err(error)) if path.now() != before => {
                return Err(format!("{error}, but time has gone from {before:?} to {:?}", path.now()));
            }
            Ok(Err(_)) => {}
        }
        if path.now() < before {
            return Err(format!("time has gone back from {before:?} to {:?}", path.now()));
        }
    }
    owner.drain(&mut path)?;
    let outcome = path.finish().map_err(|error| error.to_string())?;
    match outcome.flows().iter().find(|row| !row.goodput_kbps.is_finite()) {
        Some(row) => Err(format!("goodput of {}: {}", row.id, row.goodput_kbps)),
        None => Ok(()),
    }
}

struct Owner {
    flows: Vec<Flow>,
    sent: u64,
    left: u64,
}

impl Owner {
    fn call(&mut self, path: &mut Path, input: &mut Unstructured) -> Drawn<Result<(), PathError>> {
        let flow = *input.choose(&self.flows)?;
        let end = if input.arbitrary()? { flow.ue() } else { flow.server() };
        Ok(match input.int_in_range(0..=7)? {
            0 => {
                let udp = FlowOptions::udp().with_ports(input.arbitrary()?, input.arbitrary()?);
                let mut options = if input.arbitrary()? { udp } else { FlowOptions::ip(Protocol::Tcp) };
                if input.ratio(1, 8)? {
                    (options.headers, options.dscp) = input.arbitrary()?;
                }
                path.open(Ue(input.int_in_range(0..=3)?), options).map(|flow| self.flows.push(flow))
            }
            1..=3 => {
                let to = self.time(path, input)?;
                let size =
                    if input.ratio(1, 8)? { input.arbitrary()? } else { input.int_in_range(0..=2000)? };
                let sent = path.send(to, end, Datagram::of_size(size), *input.choose(&ECN)?);
                self.sent += u64::from(sent.is_ok());
                sent
            }
            4 => {
                let to = self.time(path, input)?;
                path.advance(to).map(drop)
            }
            5 => {
                let to = self.time(path, input)?;
                path.advance_before(to).map(drop)
            }
            6 => {
                self.left += std::iter::from_fn(|| path.poll()).count() as u64;
                Ok(())
            }
            _ => match input.int_in_range(0..=4)? {
                0 => path.close(flow),
                4 => {
                    let (cwnd, rtt, retransmissions) = input.arbitrary()?;
                    let (cwnd, srtt) = (Bytes(cwnd), Some(Span(rtt)));
                    let sender = Socket { cwnd, srtt, retransmissions, ..Socket::default() };
                    path.set_sender(end, sender, Some("mine"))
                }
                1 => path.set_received(end, input.arbitrary()?),
                2 => path.record_rtt(end, Duration::from_nanos(input.arbitrary()?)),
                _ => path.set_retransmissions(end, input.arbitrary()?),
            },
        })
    }

    /// A time around the present, or any.
    fn time(&self, path: &Path, input: &mut Unstructured) -> Drawn<Duration> {
        let now = path.now();
        let step = Duration::from_micros(input.int_in_range(0..=30_000)?);
        Ok(match input.int_in_range(0..=9)? {
            0 => now.saturating_sub(step),
            1 => Path::MAX_TIME.saturating_add(Duration::from_nanos(input.int_in_range(1..=u64::MAX)?)),
            _ => (now + step).min(END.max(now)),
        })
    }

    /// Advances until every packet has left the network.
    fn drain(mut self, path: &mut Path) -> Result<(), String> {
        let end = path.now() + Duration::from_secs(20);
        loop {
            let reached = path.advance(end).map_err(|error| error.to_string())?;
            let left = std::iter::from_fn(|| path.poll()).count() as u64;
            self.left += left;
            if reached == end && left == 0 {
                break;
            }
        }
        // Links may make copies.
        if self.left < self.sent {
            return Err(format!(
                "{} of {} packets are still inside after 20 s",
                self.sent - self.left,
                self.sent
            ));
        }
        Ok(())
    }
}
