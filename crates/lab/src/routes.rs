//! The links that run, and each terminal's way over them.

use crate::detour::Anchor;
use crate::handover::Paths;
use crate::links::Sharing;
use crate::scenario::{S1U, SERVER, Scenario, X2};
use airwnd_cell::{Ran, UeId};
use airwnd_kernel::{Direction, Key, Stream};
use airwnd_links::aqm::{Backlog, QueueContext};
use airwnd_links::link::wifi::Medium;
use airwnd_links::link::{self, Carrier, Figures, Managed, Queue, Server, wire::Wire};
use airwnd_links::{aqm, loss};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// IPv4 20, UDP 8, GTP-U 12 (TS 29.281 §5.1, with sequence number).
const TUNNEL: Bytes = Bytes(40);

/// The place of the server link among all.
pub(crate) const SERVER_LINK: u32 = 0;

/// A link that runs, each way.
pub(crate) struct Duplex {
    /// The name that the scenario gives it.
    pub name: String,
    /// The group, the terminal or the cell that has it for itself.
    pub of: Option<String>,
    pub down: OneWay,
    pub up: OneWay,
}

/// A direction of a link that runs.
pub(crate) enum OneWay {
    /// Behind a drop-tail queue.
    Plain(link::Link<Key>),
    /// Behind a queue discipline.
    Managed(Managed),
}

impl OneWay {
    /// What brings to its end what has left the queue.
    pub fn link(&self) -> &link::Link<Key> {
        match self {
            OneWay::Plain(link) => link,
            OneWay::Managed(managed) => managed.link(),
        }
    }

    /// As [`OneWay::link`], to take what arrives.
    pub fn link_mut(&mut self) -> &mut link::Link<Key> {
        match self {
            OneWay::Plain(link) => link,
            OneWay::Managed(managed) => managed.link_mut(),
        }
    }

    /// What waits, without the packet in transmission.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        match self {
            OneWay::Plain(link) => Backlog { bytes: link.waiting_bytes(now), packets: link.waiting(now) },
            OneWay::Managed(managed) => managed.backlog(now),
        }
    }

    /// How many packets are inside.
    pub fn inside(&self) -> usize {
        match self {
            OneWay::Plain(link) => link.inside().count(),
            OneWay::Managed(managed) => managed.inside(),
        }
    }

    /// What it did until now.
    pub fn figures(&self, now: Time) -> Figures {
        match self {
            OneWay::Plain(link) => link.figures(now),
            OneWay::Managed(managed) => managed.figures(now),
        }
    }
}

/// A medium that runs: an access point and the terminals of a link's instance.
pub(crate) struct Shared {
    /// The name that the scenario gives it.
    pub name: String,
    /// The group or the terminal that has it for itself.
    pub of: Option<String>,
    pub medium: Medium<Key>,
    /// When its next event is due, if one is scheduled.
    pub due: Option<Time>,
}

/// What a packet does next on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It goes onto this link.
    Link(u32),
    /// It goes onto the S1-U link of the cell that has its terminal.
    S1u,
    /// It goes onto this medium, to or from a station.
    Medium { medium: u32, station: u32 },
    /// It enters the queue of its terminal's bearer; the way down ends behind it.
    Air,
    /// It has reached the end that it was sent to.
    End,
}

/// All links, and each terminal's ways over them.
pub(crate) struct Routes {
    pub links: Vec<Duplex>,
    pub media: Vec<Shared>,
    /// The ways, one behind the other.
    pub steps: Vec<Step>,
    /// Where among them a terminal's way from the server begins, and its way to the server.
    pub begins: Vec<(u32, u32)>,
    /// The links between gateway and cells, and between cells.
    pub paths: Paths,
}

impl Routes {
    /// The server link, those of the scenario, and behind them those between gateway and cells and between cells.
    pub fn new(scenario: &Scenario, seed: u64, network: Option<&Ran>) -> Routes {
        let mut builder = Builder {
            scenario,
            losses: Stream::new(seed, "link loss"),
            queues: Stream::new(seed, "link queue"),
            start: Time::ZERO + scenario.warmup,
            backoffs: Stream::new(seed, "backoff"),
            links: Vec::new(),
            media: Vec::new(),
        };
        let server = Step::Link(builder.server());
        let of_links: Vec<_> = (0..scenario.link.len()).map(|place| builder.instances(place)).collect();
        let paths = builder.paths(network);
        let mut steps = Vec::new();
        let mut begins = Vec::new();
        for group in &scenario.ue {
            for _ in 0..group.count {
                let ue = begins.len();
                let via = scenario.route(group).into_iter().filter_map(|place| of_links[place][ue]);
                let s1u = network.map(|_| Step::S1u);
                let links: Vec<Step> = [server].into_iter().chain(via).chain(s1u).collect();
                let air = s1u.map(|_| Step::Air);
                let down = steps.len() as u32;
                steps.extend(links.iter().copied().chain(air.or(Some(Step::End))));
                let up = steps.len() as u32;
                steps.extend(air.into_iter().chain(links.iter().rev().copied()));
                steps.push(Step::End);
                begins.push((down, up));
            }
        }
        Routes { links: builder.links, media: builder.media, steps, begins, paths }
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    losses: Stream,
    queues: Stream,
    /// The end of the warm-up.
    start: Time,
    backoffs: Stream,
    links: Vec<Duplex>,
    media: Vec<Shared>,
}

/// A link of the scenario that runs.
#[derive(Clone, Copy)]
enum Instance {
    Link(u32),
    Medium(u32),
}

impl Builder<'_> {
    fn add(&mut self, link: Duplex) -> u32 {
        self.links.push(link);
        self.links.len() as u32 - 1
    }

    fn losing(&self, link: link::Link<Key>, spec: &loss::Spec, stream: Stream) -> link::Link<Key> {
        match spec {
            // So that nobody is asked for each packet.
            loss::Spec::NoLoss(_) => link,
            spec => link.losing(spec.build(stream, self.start)),
        }
    }

    fn server(&mut self) -> u32 {
        let core = &self.scenario.core;
        let one_way = |loss, number| {
            let link = plain(core.server_rate, Wire::FRAMING, core.server_delay, core.server_queue);
            let link = self.losing(link, loss, self.losses.child(number));
            behind(core.server_aqm.as_ref(), 0, link, self.queues.child(number))
        };
        let (down, up) = (one_way(&core.server_loss, 0), one_way(&core.server_loss_up, 1));
        self.add(Duplex { name: SERVER.into(), of: None, down, up })
    }

    /// The step over a link that each terminal's packets take; none for terminals that are not routed over it.
    fn instances(&mut self, place: usize) -> Vec<Option<Step>> {
        let mut of_ues = Vec::new();
        let mut of_all = None;
        for (number, group) in self.scenario.ue.iter().enumerate() {
            let passes = self.scenario.route(group).contains(&place);
            let mut of_group = None;
            for _ in 0..group.count {
                let ue = of_ues.len();
                of_ues.push(passes.then(|| {
                    let instance = match self.scenario.link[place].settings.per {
                        Sharing::All => *of_all.get_or_insert_with(|| self.instance(place, None)),
                        Sharing::Group => *of_group
                            .get_or_insert_with(|| self.instance(place, Some((number, group.name.clone())))),
                        Sharing::Terminal => self.instance(place, Some((ue, ue.to_string()))),
                    };
                    self.step(place, instance, ue)
                }));
            }
        }
        of_ues
    }

    /// A terminal gets access to an instance of a link.
    fn step(&mut self, place: usize, instance: Instance, ue: usize) -> Step {
        match instance {
            Instance::Link(link) => Step::Link(link),
            Instance::Medium(medium) => {
                let settings = &self.scenario.link[place].settings;
                let loss = |way, loss: &loss::Spec| {
                    loss.build(self.losses_of(place, way).child(ue as u64), self.start)
                };
                let (down, up) =
                    (loss(Direction::Down, &settings.loss), loss(Direction::Up, &settings.loss_up));
                Step::Medium { medium, station: self.media[medium as usize].medium.join(down, up) }
            }
        }
    }

    /// The stream of what a link of the scenario loses.
    fn losses_of(&self, place: usize, direction: Direction) -> Stream {
        self.losses.child(link_stream(place, direction))
    }

    /// An instance of a link; one that is not for all has a number among them.
    fn instance(&mut self, place: usize, of: Option<(usize, String)>) -> Instance {
        let link = &self.scenario.link[place];
        let settings = &link.settings;
        let name = settings.name.clone();
        let (number, of) = of.unzip();
        let numbered = |stream: Stream| number.map_or(stream, |number| stream.child(number as u64));
        match link.kind.carrier(self.start) {
            Carrier::Each { down, up } => {
                let one_way = |way, server, delay, loss| {
                    let one_way = link::Link::new(server, delay, link.queue());
                    let one_way = self.losing(one_way, loss, numbered(self.losses_of(place, way)));
                    let stream = numbered(self.queues.child(link_stream(place, way)));
                    behind(settings.aqm.as_ref(), settings.ring, one_way, stream)
                };
                let delay_up = settings.delay_up.unwrap_or(settings.delay);
                let down = one_way(Direction::Down, down, settings.delay, &settings.loss);
                let up = one_way(Direction::Up, up, delay_up, &settings.loss_up);
                Instance::Link(self.add(Duplex { name, of, down, up }))
            }
            Carrier::Shared(params) => {
                let draws = numbered(self.backoffs.child(place as u64));
                let medium = Medium::new(params, link.queue(), draws);
                self.media.push(Shared { name, of, medium, due: None });
                Instance::Medium(self.media.len() as u32 - 1)
            }
        }
    }

    /// A link between the gateway and each cell, and one from each cell to the others if terminals change cells.
    fn paths(&mut self, network: Option<&Ran>) -> Paths {
        let Scenario { core, handover, .. } = self.scenario;
        let cells = network.map_or(0, |network| network.cell_figures().count());
        let mut of_cells = |name: &str, rate, delay, queue| -> Vec<u32> {
            let one_way = || plain(rate, TUNNEL + Wire::FRAMING, delay, queue);
            let link = |cell: usize| Duplex {
                name: name.into(),
                of: Some(cell.to_string()),
                down: OneWay::Plain(one_way()),
                up: OneWay::Plain(one_way()),
            };
            (0..cells).map(|cell| self.add(link(cell))).collect()
        };
        let s1u = of_cells(S1U, core.s1u_rate, core.s1u_delay, core.s1u_queue);
        let x2 =
            handover.can_change_cells().then(|| of_cells(X2, core.x2_rate, core.x2_delay, core.x2_queue));
        let anchor = |ue| Anchor::new(network.expect("terminals of cells").cell_of(UeId(ue)).0);
        Paths {
            s1u,
            x2: x2.and_then(|links| links.first().copied()),
            anchors: (0..network.map_or(0, Ran::ues) as u32).map(anchor).collect(),
            forwarding: handover.forwarding,
            notices: Vec::with_capacity(16),
            forwards: Vec::with_capacity(64),
        }
    }
}

/// The number of a direction of a link of the scenario; the server link's come first.
fn link_stream(place: usize, direction: Direction) -> u64 {
    2 * (place as u64 + 1) + u64::from(direction == Direction::Up)
}

/// A link behind a discipline, if there is one, and a ring of so many packets.
fn behind(discipline: Option<&aqm::Spec>, ring: u64, link: link::Link<Key>, stream: Stream) -> OneWay {
    let Some(discipline) = discipline else { return OneWay::Plain(link) };
    let queue = discipline.build(&QueueContext { stream, rate: link.rate() });
    OneWay::Managed(Managed::new(link, queue, ring as usize))
}

/// One direction of a link that loses nothing.
fn plain(rate: BitRate, framing: Bytes, delay: Span, packets: Option<u64>) -> link::Link<Key> {
    link::Link::new(Server::Wire(Wire::new(rate, framing)), delay, Queue { packets, ..Queue::default() })
}
