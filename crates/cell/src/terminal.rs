//! A terminal with its bearer, as the cells use it.

use crate::identity::Direction;
use crate::mac::BlockFigures;
use crate::phy::Position;
use crate::radio::Radio;
use crate::rlc::{DropCause, Fate, Pdu, RlcRx, RlcTx, Sdu};
use crate::settings::{Bearer, Setup};
use airwnd_engine::aqm::{self, Ctx};
use airwnd_engine::{Key, Stream};
use airwnd_units::{Bytes, Db, Time, Tti};

/// A packet that was dropped on the radio link.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Key,
    /// Why.
    pub cause: DropCause,
}

/// What became of packets that are not just delivered, until the owner asks.
#[derive(Default)]
pub(crate) struct Fates {
    pub drops: Vec<Dropped>,
    pub marks: Vec<Key>,
}

impl Fate for Fates {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        self.drops.push(Dropped { packet: sdu.packet, cause });
    }
    fn marked(&mut self, packet: Key) {
        self.marks.push(packet);
    }
}

/// A terminal and its bearer.
//= exception one-bearer
pub(crate) struct Ue {
    pub cell: usize,
    pub slot: u16,
    pub position: Position,
    pub downlink: Leg,
    pub uplink: Leg,
    /// What the terminal's MAC believes to wait in its own RLC.
    pub unsent: Bytes,
    /// Whether its cell can schedule it.
    pub joined: bool,
    /// What its cells have to know of its bearer.
    pub bearer: Bearer,
    /// Whether it is in the list of those whose RLC has reported since the last TTI.
    pub fresh: bool,
    /// The probability that it loses a TTI's control channels; none: they are never lost.
    control_error: Option<f64>,
    control: Stream,
    pub sinr: Option<Db>,
    pub sinr_sum: f64,
    pub sinr_samples: u64,
}

/// The terminals as the MAC of a cell uses them.
pub(crate) struct Terminals<'a> {
    pub ues: &'a mut [Ue],
    pub timers: &'a mut ReportTimers,
    pub fates: &'a mut Fates,
}

impl Terminals<'_> {
    /// The terminal with a number.
    pub fn get(&mut self, number: u32) -> &mut Ue {
        &mut self.ues[number as usize]
    }

    /// The base station fills a grant for a terminal.
    pub fn transmit_down(&mut self, number: u32, tti: Tti, grant: Bytes) -> Option<Pdu> {
        self.fill(number, Direction::Down, tti, grant)
    }

    /// A terminal fills a grant; it does not answer one if it believes that nothing waits.
    pub fn transmit_up(&mut self, number: u32, tti: Tti, grant: Bytes) -> Option<Pdu> {
        let ue = &mut self.ues[number as usize];
        //= exception seven-bytes-are-sent
        if ue.unsent == Bytes::ZERO {
            return None;
        }
        ue.unsent = ue.unsent.saturating_sub(grant.saturating_sub(Bytes(2)));
        self.fill(number, Direction::Up, tti, grant)
    }

    /// After an opportunity to send, what is left is reported after a while.
    fn fill(&mut self, number: u32, direction: Direction, tti: Tti, grant: Bytes) -> Option<Pdu> {
        let leg = self.ues[number as usize].leg(direction);
        let Leg { tx, rx, .. } = leg;
        let pdu = tx.transmit(tti.start(), grant, &mut |sdu| rx.expect(sdu), self.fates);
        if leg.tx.backlog().bytes > Bytes::ZERO {
            self.timers.arm(tti, (number, direction), leg);
        } else {
            self.timers.disarm(leg);
        }
        pdu
    }
}

/// The timers after which RLC reports a buffer to which nothing is added.
///
/// A timer that is armed anew leaves its old place behind; a leg knows which one is meant.
pub(crate) struct ReportTimers {
    period: u64,
    /// `[tti % (period + 1)]`
    due: Vec<Vec<(u32, Direction)>>,
    armed: usize,
}

impl ReportTimers {
    pub fn new(period: u64) -> Self {
        ReportTimers { period, due: (0..=period).map(|_| Vec::with_capacity(32)).collect(), armed: 0 }
    }

    pub fn arm(&mut self, tti: Tti, bearer: (u32, Direction), leg: &mut Leg) {
        let at = tti + self.period;
        self.armed += usize::from(leg.report_at.is_none());
        leg.report_at = Some(at);
        let place = at.0 as usize % self.due.len();
        self.due[place].push(bearer);
    }

    /// Whether any timer runs.
    pub fn is_idle(&self) -> bool {
        self.armed == 0
    }

    /// Takes the places of a TTI out; [`ReportTimers::put_back`] returns the list for its capacity.
    pub fn take(&mut self, tti: Tti) -> Vec<(u32, Direction)> {
        let place = tti.0 as usize % self.due.len();
        std::mem::take(&mut self.due[place])
    }

    pub fn put_back(&mut self, tti: Tti, due: Vec<(u32, Direction)>) {
        let place = tti.0 as usize % self.due.len();
        self.due[place] = due;
    }

    pub fn disarm(&mut self, leg: &mut Leg) {
        self.armed -= usize::from(leg.report_at.take().is_some());
    }
}

/// One direction of a bearer: RLC at both ends.
pub(crate) struct Leg {
    pub tx: RlcTx,
    pub rx: RlcRx,
    /// When RLC reports its buffer to the MAC unless something arrives before.
    pub report_at: Option<Tti>,
    pub reordering: bool,
    errors: Stream,
    pub blocks: BlockFigures,
}

impl Leg {
    /// The terminal leaves its cell: what was on air is lost by this cause, and what waits is handed to `waiting` in its
    /// order.
    pub fn hand_over(
        &mut self,
        now: Time,
        cause: DropCause,
        waiting: &mut impl FnMut(Sdu),
        fate: &mut dyn Fate,
    ) {
        self.rx.re_establish(cause, fate);
        self.tx.re_establish(now, waiting, fate);
    }

    /// A number uniform in [0, 1) for the block that a process sends in this TTI.
    pub fn draw(&self, tti: Tti, process: u8) -> f64 {
        self.errors.at(tti.0 << 3 | u64::from(process))
    }
}

impl Ue {
    pub fn new(setup: &Setup, radio: &Radio, number: usize, cell: usize, slot: u16) -> Ue {
        let site = &setup.ues[number];
        let leg = |queue: &aqm::Spec, stream, name| Leg {
            tx: RlcTx::new(
                queue
                    .build(&Ctx { stream: Stream::new(setup.seed, stream).child(number as u64), rate: None }),
            ),
            rx: RlcRx::new(setup.rlc.reordering),
            report_at: None,
            reordering: false,
            errors: Stream::new(setup.seed, name).child(number as u64),
            blocks: BlockFigures::default(),
        };
        let mut ue = Ue {
            cell,
            slot,
            position: site.position,
            downlink: leg(&setup.rlc.queue, "downlink queue", "downlink block errors"),
            uplink: leg(
                setup.rlc.uplink_queue.as_ref().unwrap_or(&setup.rlc.queue),
                "uplink queue",
                "uplink block errors",
            ),
            unsent: Bytes::ZERO,
            joined: true,
            bearer: site.bearer,
            fresh: false,
            control_error: setup.radio.control_errors.then_some(0.0),
            control: Stream::new(setup.seed, "control channel errors").child(number as u64),
            sinr: None,
            sinr_sum: 0.0,
            sinr_samples: 0,
        };
        ue.hear_control(radio.control_sinr(number, cell));
        ue
    }

    /// The SINR of control channels changes.
    pub fn hear_control(&mut self, sinr: Db) {
        if let Some(error) = &mut self.control_error {
            *error = crate::phy::control_error(sinr);
        }
    }

    pub fn leg(&mut self, direction: Direction) -> &mut Leg {
        match direction {
            Direction::Down => &mut self.downlink,
            Direction::Up => &mut self.uplink,
        }
    }

    /// Whether the terminal fails to decode the control channels of a TTI.
    pub fn loses_control(&self, tti: Tti) -> bool {
        self.control_error.is_some_and(|error| error > 0.0 && self.control.at(tti.0) < error)
    }

    /// RLC reports what waits to the terminal's MAC.
    pub fn on_uplink_report(&mut self, number: u32, fresh: &mut Vec<u32>) {
        self.unsent = self.uplink.tx.reported();
        if !std::mem::replace(&mut self.fresh, true) {
            fresh.push(number);
        }
    }
}
