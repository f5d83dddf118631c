//! Networks of cells and UEs, and packets that cross them.

use airwnd_catalog::{Node, Param};
use airwnd_cell::{
    BearerId, CellSite, Crew, Ran, RanSetup, RlcMode, SecondaryCarrier, UeFigures, UeId, UeSite,
};
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::Waiting;
use airwnd_phy::access::{Spec, nr};
use airwnd_phy::{Bandwidth, Position, fading};
use airwnd_rlc::DropCause;
use airwnd_units::{Bytes, Dbm, Hertz, Span, Time, Tti};

/// Radio access of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// LTE on 10 MHz.
    Lte,
    /// LTE with a second carrier.
    Aggregated,
    /// NR on 20 MHz, TDD in slots of 0.5 ms.
    Nr,
}

/// Packets of equal size at equal intervals in one direction of a bearer.
#[derive(Clone, Copy)]
pub struct Packets {
    ue: u32,
    bearer: u8,
    direction: Direction,
    size: Bytes,
    interval: Span,
    start: Time,
}

impl Packets {
    /// Packets of 100 B every second to a UE.
    pub fn down(ue: u32) -> Packets {
        Packets {
            ue,
            bearer: 0,
            direction: Direction::Down,
            size: Bytes(100),
            interval: Span::from_secs(1),
            start: Time::ZERO + Span::from_millis(13),
        }
    }

    /// Packets of 100 B every second from a UE.
    pub fn up(ue: u32) -> Packets {
        Packets { direction: Direction::Up, ..Packets::down(ue) }
    }

    /// In this direction.
    pub fn towards(direction: Direction, ue: u32) -> Packets {
        Packets { direction, ..Packets::down(ue) }
    }

    /// Of this many bytes with IP header, every so many milliseconds.
    pub fn of(self, size: u64, every_ms: f64) -> Packets {
        Packets { size: Bytes(size), interval: Span::from_secs_f64(every_ms / 1e3), ..self }
    }

    /// In another bearer.
    pub fn in_bearer(self, bearer: u8) -> Packets {
        Packets { bearer, ..self }
    }

    /// The first of them after this time.
    pub fn starting_at_ms(self, start: f64) -> Packets {
        Packets { start: Time::ZERO + Span::from_secs_f64(start / 1e3), ..self }
    }
}

/// A network and the packets that are offered to it.
pub struct Network {
    pub setup: RanSetup,
    packets: Vec<Packets>,
    warm_up: Span,
}

impl Network {
    /// A cell without fading and shadowing, so that no block to a UE nearby is lost. RLC is unacknowledged.
    pub fn steady(access: Access) -> Network {
        let mut setup = RanSetup::new(vec![CellSite::at(Position::new(0.0, 0.0, 30.0))], Vec::new());
        setup.radio.fading = fading::Spec::NoFading(Default::default());
        setup.radio.shadowing = None;
        setup.rlc.mode = RlcMode::Um;
        match access {
            Access::Lte => {}
            Access::Aggregated => setup.carrier.secondary = vec![secondary()],
            Access::Nr => {
                let pattern = Node::from_toml("numerology = 1\npattern = \"DDDSU\"", "test").unwrap();
                setup.radio.access = Spec::Nr(nr::Params::read(&pattern).unwrap());
                setup.carrier.bandwidth = Bandwidth::Mhz20;
                setup.carrier.downlink_frequency = Hertz(3.5e9);
            }
        }
        Network::of(setup)
    }

    /// A network as set up.
    pub fn of(setup: RanSetup) -> Network {
        Network { setup, packets: Vec::new(), warm_up: Span::ZERO }
    }

    /// With so many UEs more at this distance in metres from the cell.
    pub fn ues(mut self, count: usize, distance: f64) -> Network {
        let carriers = 1 + self.setup.carrier.secondary.len() as u8;
        let ue = UeSite { carriers, ..UeSite::at(Position::new(distance, 0.0, 1.5)) };
        self.setup.ues.extend(std::iter::repeat_n(ue, count));
        self
    }

    /// With other settings.
    pub fn with(mut self, change: impl FnOnce(&mut RanSetup)) -> Network {
        change(&mut self.setup);
        self
    }

    /// With this transmit power of the cell.
    pub fn power(self, dbm: f64) -> Network {
        self.with(|setup| setup.cells[0].power = Dbm(dbm))
    }

    /// With these packets, too.
    pub fn send(mut self, packets: impl IntoIterator<Item = Packets>) -> Network {
        self.packets.extend(packets);
        self
    }

    /// Leaves earlier packets out of the results, and bytes that arrive earlier.
    pub fn after_ms(mut self, warm_up: u64) -> Network {
        self.warm_up = Span::from_millis(warm_up);
        self
    }

    /// Advances the network for so many seconds.
    pub fn run(&self, seconds: u64) -> Outcome {
        Run::new(self, Time::ZERO + Span::from_secs(seconds)).finish()
    }
}

fn secondary() -> SecondaryCarrier {
    let node = Node::from_toml("downlink_frequency = \"1.8GHz\"", "test").unwrap();
    SecondaryCarrier::read(&node).unwrap()
}

/// A network while it advances: packets enter RLC at their times, and a TTI passes whenever the cells are not idle.
struct Run<'a> {
    network: &'a Network,
    ran: Ran,
    end: Time,
    /// Time of the next packet of each sequence.
    next: Vec<Time>,
    /// Sequence and time of each packet sent.
    sent: Vec<(usize, Time)>,
    flows: Vec<Flow>,
    drops: Vec<DropCause>,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, end: Time) -> Run<'a> {
        let mut ran = Ran::new(&network.setup, Crew::default()).unwrap();
        ran.log_allocations(ran.clock().from(Time::ZERO + network.warm_up)..ran.clock().from(end));
        Run {
            network,
            ran,
            end,
            next: network.packets.iter().map(|packets| packets.start).collect(),
            sent: Vec::new(),
            flows: network.packets.iter().map(|_| Flow::default()).collect(),
            drops: Vec::new(),
        }
    }

    fn finish(mut self) -> Outcome {
        let (clock, mut soonest) = (self.ran.clock(), Tti(0));
        let mut now = Time::ZERO;
        loop {
            let packet = self.next.iter().min().copied();
            let mobility = self.ran.next_event();
            let tti = (!self.ran.is_idle()).then(|| clock.from(now).max(soonest));
            let due = [packet, mobility, tti.map(|tti| clock.start(tti))];
            now = match due.into_iter().flatten().min() {
                Some(due) if due < self.end => due,
                _ => break,
            };
            if mobility == Some(now) {
                self.ran.advance(now);
            }
            if packet == Some(now) {
                self.enqueue(now, now);
            }
            // Packets that have just entered may need it, too.
            if let Some(tti) = tti.filter(|tti| clock.start(*tti) == now) {
                self.advance(tti);
                soonest = tti + 1;
            }
        }
        self.ran.advance(self.end);
        let Run { ran, flows, drops, end, network, .. } = self;
        Outcome { ran, flows, drops, end, duration: end.since(Time::ZERO + network.warm_up) }
    }

    /// Lets the packets of a period enter RLC, both ends included.
    fn enqueue(&mut self, from: Time, to: Time) {
        for (sequence, (packets, next)) in self.network.packets.iter().zip(&mut self.next).enumerate() {
            while (from..=to).contains(next) {
                let &Packets { ue, bearer, direction, size, interval, .. } = packets;
                let (packet, arrived) = (Key(self.sent.len() as u32), *next);
                let waiting = Waiting { packet, size, arrived, flow: 0, ecn: Codepoint::NotEct };
                self.ran.send(UeId(ue), BearerId(bearer), direction, waiting);
                self.sent.push((sequence, arrived));
                self.flows[sequence].sent += u64::from(arrived.since(Time::ZERO) >= self.network.warm_up);
                *next += interval;
            }
        }
    }

    /// Passes a TTI. Uplink blocks end before it does.
    fn advance(&mut self, tti: Tti) {
        let now = self.ran.clock().start(tti);
        self.ran.receive(tti);
        self.take_arrivals(now);
        self.ran.transmit(tti);
        if let Some(end) = self.ran.uplink_ends(tti) {
            self.enqueue(now, end);
            self.ran.receive_uplink(end);
            self.take_arrivals(end);
        }
        let mut drops = Vec::new();
        self.ran.take_drops(&mut drops);
        self.drops.extend(drops.iter().map(|drop| drop.cause));
    }

    fn take_arrivals(&mut self, now: Time) {
        let mut arrivals = Vec::new();
        self.ran.take_arrivals(&mut arrivals);
        for arrival in arrivals {
            let (sequence, sent) = self.sent[arrival.packet.0 as usize];
            let flow = &mut self.flows[sequence];
            if sent.since(Time::ZERO) >= self.network.warm_up {
                flow.delays_ms.push((now + self.ran.decoding()).since(sent).as_millis());
            }
            if now.since(Time::ZERO) >= self.network.warm_up {
                flow.bytes += self.network.packets[sequence].size.0;
            }
        }
    }
}

/// Fate of a sequence of packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number of packets sent.
    pub sent: u64,
    /// Delay of each packet that has arrived, in milliseconds, in the order of arrivals.
    pub delays_ms: Vec<f64>,
    /// Bytes that have arrived.
    pub bytes: u64,
}

impl Flow {
    /// Mean delay in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.delays_ms.iter().sum::<f64>() / self.delays_ms.len() as f64
    }

    /// Delay in milliseconds that a packet exceeds with a probability of 1 - `percent` / 100.
    pub fn percentile_ms(&self, percent: usize) -> f64 {
        let mut delays = self.delays_ms.clone();
        delays.sort_by(f64::total_cmp);
        delays[(delays.len() * percent / 100).min(delays.len() - 1)]
    }

    /// Packets that have arrived, in percent.
    pub fn delivered_percent(&self) -> f64 {
        100.0 * self.delays_ms.len() as f64 / self.sent as f64
    }
}

/// A network at the end of a run.
pub struct Outcome {
    pub ran: Ran,
    /// By sequence of packets.
    pub flows: Vec<Flow>,
    drops: Vec<DropCause>,
    end: Time,
    duration: Span,
}

impl Outcome {
    /// Throughput of a sequence of packets in kbit/s, with their IP headers.
    pub fn kbps(&self, flow: usize) -> f64 {
        self.flows[flow].bytes as f64 * 8.0 / 1e3 / self.duration.as_secs()
    }

    /// Fraction of the time in which a UE was awake.
    pub fn awake(&self, ue: u32) -> f64 {
        self.ran.awake(UeId(ue), self.end)
    }

    /// Fraction of the first transmissions of downlink blocks of a UE that failed.
    pub fn bler(&self, ue: u32) -> f64 {
        let blocks = self.ue(ue).downlink;
        blocks.first_failed as f64 / blocks.first as f64
    }

    /// Mean size of the first transmissions of downlink blocks of a UE, in bytes.
    pub fn block_bytes(&self, ue: u32) -> f64 {
        let blocks = self.ue(ue).downlink;
        blocks.bytes_sum as f64 / blocks.first as f64
    }

    /// Number of packets dropped for a reason.
    pub fn dropped(&self, cause: DropCause) -> usize {
        self.drops.iter().filter(|drop| **drop == cause).count()
    }

    /// The figures of a UE.
    pub fn ue(&self, ue: u32) -> UeFigures {
        self.ran.ue_figures(UeId(ue))
    }
}
