//! Construction of the network from a scenario.

use crate::scenario::links::Sharing;
use crate::scenario::{S1U, SERVER, SHAPER, Scenario, Shaper, X2};
use airwnd_cell::Ran;
use airwnd_kernel::{Direction, Key, Stream};
use airwnd_links::aqm::{Identity, QueueContext};
use airwnd_links::link::{self, Carrier, Managed, Queue, Server, wifi::Medium, wire::Wire};
use airwnd_links::{aqm, loss};
use airwnd_network::{Access, Duplex, Hop, LinkId, MediumId, OneWay, Topology};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// GTP-U tunnel header: IPv4 20, UDP 8, GTP-U 12 with sequence number (TS 29.281 §5.1).
const TUNNEL: Bytes = Bytes(40);

/// Builds the network of a scenario: the server link, the links of the scenario, and the links between gateway and
/// cells and between cells.
pub(crate) fn topology(scenario: &Scenario, seed: u64, ran: Option<Ran>) -> Topology {
    let builder = Builder {
        scenario,
        losses: Stream::new(seed, "link loss"),
        impairments: Stream::new(seed, "link impairments"),
        queues: Stream::new(seed, "link queue"),
        shapers: Stream::new(seed, "shaper"),
        start: Time::ZERO + scenario.warmup,
        backoffs: Stream::new(seed, "backoff"),
    };
    let mut topology = Topology::new(builder.server());
    let of_links: Vec<_> =
        (0..scenario.link.len()).map(|place| builder.instances(place, &mut topology)).collect();
    if let Some(ran) = ran {
        let access = builder.access(ran, &mut topology);
        topology.set_access(access);
    }
    for group in &scenario.ue {
        for _ in 0..group.count {
            let ue = topology.devices();
            let via = scenario.route(group).into_iter().filter_map(|place| of_links[place][ue]);
            let via: Vec<_> = via.collect();
            let shaper = group.shaper.as_ref().map(|shaper| topology.add_link(builder.shaper(shaper, ue)));
            topology.add_device(&via, shaper);
        }
    }
    topology
}

struct Builder<'a> {
    scenario: &'a Scenario,
    losses: Stream,
    impairments: Stream,
    queues: Stream,
    shapers: Stream,
    /// End of the warm-up.
    start: Time,
    backoffs: Stream,
}

/// An instance of a scenario's link in the network.
#[derive(Clone, Copy)]
enum Instance {
    Link(LinkId),
    Medium(MediumId),
}

impl Builder<'_> {
    fn losing(&self, link: link::Link<Key>, spec: &loss::Spec, stream: Stream) -> link::Link<Key> {
        match spec {
            // Avoids a virtual call per packet.
            loss::Spec::NoLoss(_) => link,
            spec => link.losing(spec.build(stream, self.start)),
        }
    }

    fn server(&self) -> Duplex {
        let core = &self.scenario.core;
        let one_way = |loss, direction: Direction| {
            let number = direction as u64;
            let link = plain(core.server_rate, Wire::FRAMING, core.server_delay, core.server_queue);
            let link = self.losing(link, loss, self.losses.child(number));
            let identity = Identity { direction, ..Identity::default() };
            behind(core.server_aqm.as_ref(), 0, link, self.queues.child(number), identity)
        };
        let down = one_way(&core.server_loss, Direction::Down);
        let up = one_way(&core.server_loss_up, Direction::Up);
        Duplex { name: SERVER.into(), owner: None, down, up }
    }

    /// Creates the shapers of a UE, which do not limit until rates are set.
    fn shaper(&self, shaper: &Shaper, ue: usize) -> Duplex {
        let one_way = |direction| {
            let link = link::Link::new(Server::paced(None), Span::ZERO, Queue::default());
            let stream = self.shapers.child(ue as u64).child(direction as u64);
            let identity = Identity { ue: Some(ue as u32), direction, ..Identity::default() };
            behind(Some(&shaper.aqm), 0, link, stream, identity)
        };
        let (down, up) = (one_way(Direction::Down), one_way(Direction::Up));
        Duplex { name: SHAPER.into(), owner: Some(ue.to_string()), down, up }
    }

    /// Creates the instances of a link. Returns the hop of each UE; `None` for UEs that are not routed over the link.
    fn instances(&self, place: usize, topology: &mut Topology) -> Vec<Option<Hop>> {
        let mut of_ues = Vec::new();
        let mut of_all = None;
        for (number, group) in self.scenario.ue.iter().enumerate() {
            let passes = self.scenario.route(group).contains(&place);
            let mut of_group = None;
            for _ in 0..group.count {
                let ue = of_ues.len();
                of_ues.push(passes.then(|| {
                    let instance = match self.scenario.link[place].settings.per {
                        Sharing::All => *of_all.get_or_insert_with(|| self.instance(place, None, topology)),
                        Sharing::Group => *of_group.get_or_insert_with(|| {
                            self.instance(place, Some((number, group.name.clone())), topology)
                        }),
                        Sharing::Ue => self.instance(place, Some((ue, ue.to_string())), topology),
                    };
                    self.hop(place, instance, ue, topology)
                }));
            }
        }
        of_ues
    }

    /// Attaches a UE to an instance of a link.
    fn hop(&self, place: usize, instance: Instance, ue: usize, topology: &mut Topology) -> Hop {
        match instance {
            Instance::Link(link) => Hop::Link(link),
            Instance::Medium(medium) => {
                let settings = &self.scenario.link[place].settings;
                let loss = |direction, loss: &loss::Spec| {
                    loss.build(self.losses_of(place, direction).child(ue as u64), self.start)
                };
                let (down, up) =
                    (loss(Direction::Down, &settings.loss), loss(Direction::Up, &settings.loss_up));
                Hop::Medium { medium, station: topology.medium_mut(medium).join(down, up) }
            }
        }
    }

    /// Random stream of the losses of a link.
    fn losses_of(&self, place: usize, direction: Direction) -> Stream {
        self.losses.child(link_stream(place, direction))
    }

    /// Creates an instance of a link. `owner`: its number and name; `None`: the link is shared by all UEs.
    fn instance(&self, place: usize, owner: Option<(usize, String)>, topology: &mut Topology) -> Instance {
        let link = &self.scenario.link[place];
        let settings = &link.settings;
        let name = settings.name.clone();
        let (number, owner) = owner.unzip();
        let number_per = |sharing| number.filter(|_| settings.per == sharing).map(|number| number as u32);
        let (group, ue) = (number_per(Sharing::Group), number_per(Sharing::Ue));
        let identity = Identity { link: Some(place as u32), group, ue, ..Identity::default() };
        let numbered = |stream: Stream| number.map_or(stream, |number| stream.child(number as u64));
        match link.kind.carrier(self.start) {
            Carrier::Each { down, up } => {
                let one_way = |direction, server: Server, loss| {
                    let tbf = settings.tbf(direction);
                    let server = match tbf {
                        Some(tbf) => server.shaped(tbf),
                        None => server,
                    };
                    let mut one_way =
                        link::Link::new(server, settings.delay(direction), settings.queue(direction))
                            .rerouting(settings.reroutes(direction, self.start));
                    if let Some(tbf) = tbf {
                        one_way = one_way.passing_at_most(tbf.burst);
                    }
                    if let Some(police) = settings.police(direction) {
                        one_way = one_way.policed(police);
                    }
                    let stream = numbered(self.impairments.child(link_stream(place, direction)));
                    if let Some(impairments) = settings.impairments(direction, stream) {
                        one_way = one_way.impaired(impairments);
                    }
                    let one_way = self.losing(one_way, loss, numbered(self.losses_of(place, direction)));
                    let stream = numbered(self.queues.child(link_stream(place, direction)));
                    let identity = Identity { direction, ..identity };
                    behind(settings.discipline(direction), settings.ring, one_way, stream, identity)
                };
                let down = one_way(Direction::Down, down, &settings.loss);
                let up = one_way(Direction::Up, up, &settings.loss_up);
                Instance::Link(topology.add_link(Duplex { name, owner, down, up }))
            }
            Carrier::Shared(params) => {
                let draws = numbered(self.backoffs.child(place as u64));
                let medium = Medium::new(params, settings.queue(Direction::Down), draws);
                Instance::Medium(topology.add_medium(name, owner, medium))
            }
        }
    }

    /// Creates the access network: cells, a link between the gateway and each cell, and, if handover is enabled, a link
    /// from each cell to the others.
    fn access(&self, ran: Ran, topology: &mut Topology) -> Access {
        let Scenario { core, handover, .. } = self.scenario;
        let cells = ran.cell_figures().count();
        let mut of_cells = |name: &str, rate, delay, queue| -> Vec<LinkId> {
            let one_way = || plain(rate, TUNNEL + Wire::FRAMING, delay, queue);
            let link = |cell: usize| Duplex {
                name: name.into(),
                owner: Some(cell.to_string()),
                down: OneWay::Plain(one_way()),
                up: OneWay::Plain(one_way()),
            };
            (0..cells).map(|cell| topology.add_link(link(cell))).collect()
        };
        let s1u = of_cells(S1U, core.s1u_rate, core.s1u_delay, core.s1u_queue);
        let x2 =
            handover.can_change_cells().then(|| of_cells(X2, core.x2_rate, core.x2_delay, core.x2_queue));
        Access { ran: Box::new(ran), s1u, x2, forwarding: handover.forwarding }
    }
}

/// Number of the random stream of a link and direction. Numbers 0 and 1 belong to the server link.
fn link_stream(place: usize, direction: Direction) -> u64 {
    2 * (place as u64 + 1) + u64::from(direction == Direction::Up)
}

/// Adds a queue discipline and a transmit ring to a link, if there is a discipline.
fn behind(
    discipline: Option<&aqm::Spec>,
    ring: u64,
    link: link::Link<Key>,
    stream: Stream,
    identity: Identity,
) -> OneWay {
    let Some(discipline) = discipline else { return OneWay::Plain(link) };
    let queue = discipline.build(&QueueContext { stream, rate: link.rate(), identity });
    OneWay::Managed(Managed::new(link, queue, ring as usize))
}

/// Creates one direction of a lossless link.
fn plain(rate: BitRate, framing: Bytes, delay: Span, packets: Option<u64>) -> link::Link<Key> {
    link::Link::new(Server::Wire(Wire::new(rate, framing)), delay, Queue { packets, ..Queue::default() })
}
