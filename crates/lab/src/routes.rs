//! The links that run, and each terminal's way over them.

use crate::links::Sharing;
use crate::scenario::{S1U, SERVER, Scenario};
use airwnd_cell::{Network, UeId};
use airwnd_engine::link::{self, Queue, Way, wire::Wire};
use airwnd_engine::{Key, Stream, loss};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// IPv4 20, UDP 8, GTP-U 12 (TS 29.281 §5.1, with sequence number).
const TUNNEL: Bytes = Bytes(40);

/// A link that runs, each way.
pub(crate) struct Duplex {
    /// The name that the scenario gives it.
    pub name: String,
    /// The group, the terminal or the cell that has it for itself.
    pub of: Option<String>,
    pub down: link::Link<Key>,
    pub up: link::Link<Key>,
}

/// All links, and which of them each terminal's packets pass, from the server on.
pub(crate) struct Routes {
    pub links: Vec<Duplex>,
    pub of_ues: Vec<Box<[u32]>>,
}

impl Routes {
    /// The server link, those of the scenario, and behind them the S1-U link of the cell that serves a terminal.
    pub fn new(scenario: &Scenario, seed: u64, network: Option<&Network>) -> Routes {
        let mut builder = Builder {
            scenario,
            losses: Stream::new(seed, "link loss"),
            start: Time::ZERO + scenario.warmup,
            links: Vec::new(),
        };
        let server = builder.server();
        let of_links: Vec<_> = (0..scenario.link.len()).map(|place| builder.instances(place)).collect();
        let s1u = network.map(|network| builder.s1u(network));
        let groups = scenario.ue.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        let route = |(ue, group)| {
            let via = scenario.route(group).into_iter().filter_map(|place| of_links[place][ue]);
            let s1u = s1u.as_ref().map(|links: &Vec<u32>| links[ue]);
            [server].into_iter().chain(via).chain(s1u).collect()
        };
        Routes { of_ues: groups.enumerate().map(route).collect(), links: builder.links }
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    losses: Stream,
    /// The end of the warm-up.
    start: Time,
    links: Vec<Duplex>,
}

impl Builder<'_> {
    fn add(&mut self, link: Duplex) -> u32 {
        self.links.push(link);
        self.links.len() as u32 - 1
    }

    fn loss(&self, spec: &loss::Spec, stream: Stream) -> Box<dyn loss::Loss> {
        spec.build(stream, self.start)
    }

    fn server(&mut self) -> u32 {
        let core = &self.scenario.core;
        let one_way = || plain(core.server_rate, Wire::FRAMING, core.server_delay, core.server_queue);
        let down = one_way().losing(self.loss(&core.server_loss, self.losses.child(0)));
        let up = one_way().losing(self.loss(&core.server_loss_up, self.losses.child(1)));
        self.add(Duplex { name: SERVER.into(), of: None, down, up })
    }

    /// The instance of a link that each terminal has; none for terminals that are not routed over it.
    fn instances(&mut self, place: usize) -> Vec<Option<u32>> {
        let mut of_ues = Vec::new();
        let mut of_all = None;
        for (number, group) in self.scenario.ue.iter().enumerate() {
            let passes = self.scenario.route(group).contains(&place);
            let mut of_group = None;
            for _ in 0..group.count {
                let ue = of_ues.len();
                of_ues.push(passes.then(|| {
                    match self.scenario.link[place].settings.per {
                        Sharing::All => *of_all.get_or_insert_with(|| self.instance(place, None)),
                        Sharing::Group => *of_group
                            .get_or_insert_with(|| self.instance(place, Some((number, group.name.clone())))),
                        Sharing::Terminal => self.instance(place, Some((ue, ue.to_string()))),
                    }
                }));
            }
        }
        of_ues
    }

    /// An instance of a link; one that is not for all has a number among them.
    fn instance(&mut self, place: usize, of: Option<(usize, String)>) -> u32 {
        let link = &self.scenario.link[place];
        let (number, of) = of.unzip();
        let one_way = |way, delay, loss| {
            // The server link's streams come first.
            let stream = self.losses.child(2 * (place as u64 + 1) + u64::from(way == Way::Up));
            let stream = number.map_or(stream, |number| stream.child(number as u64));
            link::Link::new(link.kind.service(way, self.start), delay, link.queue())
                .losing(self.loss(loss, stream))
        };
        let settings = &link.settings;
        let down = one_way(Way::Down, settings.delay, &settings.loss);
        let up = one_way(Way::Up, settings.delay_up.unwrap_or(settings.delay), &settings.loss_up);
        self.add(Duplex { name: settings.name.clone(), of, down, up })
    }

    /// A link for each cell; which of them each terminal has.
    fn s1u(&mut self, network: &Network) -> Vec<u32> {
        let core = &self.scenario.core;
        let one_way = || plain(core.s1u_rate, TUNNEL + Wire::FRAMING, core.s1u_delay, core.s1u_queue);
        let of_cells: Vec<u32> = (0..network.cell_figures().count())
            .map(|cell| {
                self.add(Duplex {
                    name: S1U.into(),
                    of: Some(cell.to_string()),
                    down: one_way(),
                    up: one_way(),
                })
            })
            .collect();
        (0..network.ues()).map(|ue| of_cells[network.ue_figures(UeId(ue as u32)).cell.0 as usize]).collect()
    }
}

/// One direction of a link that loses nothing.
fn plain(rate: BitRate, framing: Bytes, delay: Span, packets: Option<u64>) -> link::Link<Key> {
    link::Link::new(Box::new(Wire::new(rate, framing)), delay, Queue { packets, ..Queue::default() })
}
