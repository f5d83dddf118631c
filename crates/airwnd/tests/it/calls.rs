//! Calls of an owner, in any order and with any arguments.

use airwnd::{Datagram, Ecn, End, Event, Fate, Flow, FlowOptions, Path, PathError, Protocol, Scenario, Ue};
use proptest::prelude::*;
use std::time::Duration;

const CELL: &str = "duration = \"1s\"\n[[site]]\n[[ue]]\nname = \"phone\"\n[[ue]]\nname = \"others\"\n\
                    [[flow]]\nue = \"others\"\n";
const WIRE: &str = "duration = \"1s\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = 20\n\
                    duplicate = { probability = 0.3 }\njitter = { time = \"3ms\" }\n\
                    loss = { kind = \"packet-error\", rate = 0.05 }\n[[ue]]\ncount = 2\n[[flow]]\n";

#[derive(Clone, Debug)]
enum Call {
    Open { ue: u32, is_udp: bool },
    Send { wait: i64, flow: usize, is_up: bool, size: usize, ecn: Ecn },
    Advance { wait: i64, polls: bool },
    AdvanceBefore { wait: i64 },
    Close(usize),
    SetReceived(usize, u64),
}

fn call() -> impl Strategy<Value = Call> {
    // Mostly forward, by up to 30 ms; sometimes back, and sometimes far beyond the end of all paths.
    let wait = || prop_oneof![6 => 0_i64..30_000_000, 1 => -20_000_000_i64..0, 1 => Just(i64::MAX)];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let size = prop_oneof![5 => 0_usize..2000, 1 => 65_000_usize..66_000, 1 => Just(usize::MAX)];
    prop_oneof![
        1 => (0_u32..4, any::<bool>()).prop_map(|(ue, is_udp)| Call::Open { ue, is_udp }),
        6 => (wait(), 0_usize..4, any::<bool>(), size, ecn)
            .prop_map(|(wait, flow, is_up, size, ecn)| Call::Send { wait, flow, is_up, size, ecn }),
        4 => (wait(), any::<bool>()).prop_map(|(wait, polls)| Call::Advance { wait, polls }),
        1 => wait().prop_map(|wait| Call::AdvanceBefore { wait }),
        1 => (0_usize..4).prop_map(Call::Close),
        1 => (0_usize..4, any::<u64>()).prop_map(|(flow, bytes)| Call::SetReceived(flow, bytes)),
    ]
}

/// A path with what its owner expects of it.
struct Owner {
    path: Path,
    flows: Vec<(Flow, bool, bool)>,
    /// A flow of another path, with a number that this path does not have at first.
    foreign: Flow,
    sent: u64,
    events: Vec<Event>,
}

impl Owner {
    fn new(text: &str) -> Owner {
        let scenario = Scenario::from_toml(text).unwrap();
        let mut other = Path::new(&scenario, 2).unwrap();
        let flows: Vec<Flow> = (0..9).map(|_| other.open(Ue(0), FlowOptions::udp()).unwrap()).collect();
        let path = Path::new(&scenario, 1).unwrap();
        Owner { path, flows: Vec::new(), foreign: flows[8], sent: 0, events: Vec::new() }
    }

    fn at(&self, wait: i64) -> (Duration, Option<PathError>) {
        let now = self.path.now();
        if wait == i64::MAX {
            return (Duration::MAX, Some(PathError::TimeTooLarge(Duration::MAX)));
        }
        let to = if wait < 0 {
            now.saturating_sub(Duration::from_nanos(wait.unsigned_abs()))
        } else {
            now + Duration::from_nanos(wait as u64)
        };
        (to, (to < now).then_some(PathError::TimeWentBack { to, now }))
    }

    fn end(&self, flow: usize, is_up: bool) -> (End, Option<PathError>) {
        let (flow, error) = match self.flows.get(flow) {
            None => (self.foreign, Some(PathError::UnknownFlow(8))),
            Some((flow, false, _)) => (*flow, Some(PathError::ClosedFlow(flow.number()))),
            Some((flow, true, _)) => (*flow, None),
        };
        (if is_up { flow.ue() } else { flow.server() }, error)
    }

    fn poll(&mut self) {
        self.events.extend(std::iter::from_fn(|| self.path.poll()));
    }

    fn perform(&mut self, call: &Call) -> Result<(), TestCaseError> {
        match *call {
            Call::Open { ue, is_udp } => {
                let options = if is_udp { FlowOptions::udp() } else { FlowOptions::ip(Protocol::Tcp) };
                match self.path.open(Ue(ue), options) {
                    Ok(flow) => self.flows.push((flow, true, is_udp)),
                    Err(error) => {
                        prop_assert!(ue >= 2);
                        let text = format!("there is no UE `{ue}`; UEs: ");
                        prop_assert!(error.to_string().starts_with(&text), "{error}");
                    }
                }
            }
            Call::Send { wait, flow, is_up, size, ecn } => {
                let ((to, late), (end, closed)) = (self.at(wait), self.end(flow, is_up));
                let headers = if self.flows.get(flow).is_none_or(|(_, _, is_udp)| *is_udp) { 28 } else { 0 };
                let max = 65_535 - headers;
                let oversized = (size > max).then_some(PathError::Oversized { size, max });
                let empty = (size == 0 && headers == 0).then_some(PathError::EmptyPacket);
                let expected = late.or(closed).or(oversized).or(empty);
                let datagram = Datagram::of_size(size).with_tag(self.sent);
                let answer = self.path.send(to, end, datagram, ecn);
                self.sent += u64::from(answer.is_ok());
                prop_assert_eq!(answer.err(), expected);
            }
            Call::Advance { wait, polls } => {
                let (to, late) = self.at(wait);
                let answer = self.path.advance(to);
                prop_assert_eq!(answer.clone().err(), late);
                if let Ok(reached) = answer {
                    prop_assert!(reached <= to && reached == self.path.now());
                }
                if polls {
                    self.poll();
                }
            }
            Call::AdvanceBefore { wait } => {
                let (to, late) = self.at(wait);
                let answer = self.path.advance_before(to);
                prop_assert_eq!(answer.clone().err(), late);
                if let Ok(reached) = answer {
                    prop_assert!(reached <= to && reached == self.path.now());
                }
            }
            Call::Close(flow) => {
                let (end, error) = self.end(flow, true);
                prop_assert_eq!(self.path.close(end.flow).err(), error);
                if let Some((_, is_open, _)) = self.flows.get_mut(flow) {
                    *is_open = false;
                }
            }
            Call::SetReceived(flow, bytes) => {
                let (end, _) = self.end(flow, true);
                prop_assert_eq!(self.path.set_received(end, bytes).is_ok(), flow < self.flows.len());
            }
        }
        prop_assert!(self.path.next_event().is_none_or(|next| next >= self.path.now()));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every call is accepted or rejected with the typed error that its arguments call for; every packet leaves at most
    /// once without duplicates, in chronological order; and the results account for all of them.
    #[test]
    fn any_calls_are_accepted_or_rejected_with_their_error(
        calls in proptest::collection::vec(call(), 0..120),
        has_cells in any::<bool>(),
    ) {
        let mut owner = Owner::new(if has_cells { CELL } else { WIRE });
        for call in &calls {
            owner.perform(call)?;
        }
        owner.poll();
        prop_assert!(owner.events.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(owner.events.iter().all(|event| event.sent_at <= event.at && event.datagram.tag() < owner.sent));
        if has_cells {
            let mut tags: Vec<u64> = owner.events.iter().map(|event| event.datagram.tag()).collect();
            tags.sort_unstable();
            let count = tags.len();
            tags.dedup();
            prop_assert_eq!(tags.len(), count);
        }
        let outcome = owner.path.finish().unwrap();
        let conservation = &outcome.to_json()["conservation"];
        let bytes = |key: &str| conservation[key].as_u64().unwrap();
        let drops = conservation.as_object().unwrap().keys().filter(|key| key.starts_with("dropped_bytes"));
        let dropped: u64 = drops.map(|key| bytes(key)).sum();
        prop_assert_eq!(
            bytes("offered_bytes") + bytes("copied_bytes"),
            bytes("delivered_bytes") + dropped + bytes("inside_bytes")
        );
    }

    /// The step size of an owner that only sends changes nothing.
    #[test]
    fn steps_do_not_change_what_happens(
        steps in proptest::collection::vec(1_u64..40_000_000, 0..30),
        has_cells in any::<bool>(),
    ) {
        let scenario = Scenario::from_toml(if has_cells { CELL } else { WIRE }).unwrap();
        let run = |steps: &[u64]| {
            let mut path = Path::new(&scenario, 1).unwrap();
            let flow = path.open(Ue(0), FlowOptions::udp()).unwrap();
            let mut events = Vec::new();
            let mut steps = steps.iter();
            for number in 0..40 {
                let sent = Duration::from_millis(number * 9);
                path.send(sent, flow.server(), Datagram::of_size(1200).with_tag(number), Ecn::NotEct).unwrap();
                path.send(sent, flow.ue(), Datagram::of_size(400), Ecn::NotEct).unwrap();
                let until = Duration::from_millis(number * 9 + 9);
                let mut to = steps.next().map_or(until, |step| until.min(sent + Duration::from_nanos(*step)));
                while path.advance_before(to).unwrap() < until {
                    events.extend(std::iter::from_fn(|| path.poll()));
                    if path.now() == to {
                        to = until;
                    }
                }
                events.extend(std::iter::from_fn(|| path.poll()));
            }
            events.retain(|event| event.fate == Fate::Delivered);
            (events, path.finish().unwrap().to_json())
        };
        prop_assert_eq!(run(&steps), run(&[]));
    }
}
