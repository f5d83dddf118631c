//! Terminals that move, and change cells: what happens between TTIs.

use crate::handover::link_failure::Monitor;
use crate::handover::measurement::Measurements;
use crate::handover::{Forwarding, Handover, Settings};
use crate::identity::{CellId, UeId};
use crate::mobility::Mobility;
use crate::phy::Position;
use crate::ran::Ran;
use crate::rlc::{BearerEvents, DropCause, Returned};
use crate::settings::RanSetup;
use airwnd_kernel::{Direction, Event, EventQueue, Key};
use airwnd_units::{Metres, Span, Time};

/// A packet that follows its terminal to another cell.
#[derive(Clone, Copy, Debug)]
pub struct Forward {
    /// Whose it is.
    pub ue: UeId,
    /// The cell that it is at.
    pub from: CellId,
    /// The packet.
    pub packet: Key,
}

/// What has befallen a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It leaves its cell for this one.
    HandoverStart(UeId, CellId),
    /// This cell serves it.
    HandoverEnd(UeId, CellId),
    /// This cell has no place for it, or is not heard well enough.
    HandoverFailure(UeId, CellId),
    /// It has given up its cell.
    LinkFailure(UeId),
    /// This cell serves it after a failure.
    Reestablished(UeId, CellId),
    /// The gateway shall send to this cell.
    PathSwitch(UeId, CellId),
}

/// Something that is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// Terminals have moved.
    Place,
    /// A layer-1 period is over.
    Measure,
    /// The time to trigger of an event is over.
    Trigger { ue: u32, watch: u8 },
    /// An event is reported again.
    Again { ue: u32, watch: u8 },
    /// A terminal's handover goes on.
    Step(u32),
    /// The gateway has been told of a terminal's cell.
    Switch(u32),
}

impl Event for Due {
    fn class(&self) -> u8 {
        match self {
            Due::Place => 0,
            Due::Measure => 1,
            Due::Trigger { .. } | Due::Again { .. } => 2,
            Due::Step(_) | Due::Switch(_) => 3,
        }
    }
}

/// All terminals' ways, measurements and handovers.
pub(crate) struct Roaming {
    settings: Settings,
    x2_delay: Span,
    position_period: Span,
    agenda: EventQueue<Due>,
    /// The terminals that move.
    movers: Vec<(u32, Box<dyn Mobility>)>,
    /// All terminals; none if nobody can change cells.
    terminals: Vec<Roamer>,
    /// Of a new measurement in the layer-3 filter.
    weight: f64,
    pub notices: Vec<Notice>,
    pub forwards: Vec<Forward>,
}

/// A terminal that can change cells.
struct Roamer {
    algorithm: Box<dyn Handover>,
    measurements: Measurements,
    monitor: Monitor,
    stage: Stage,
    /// When its handover goes on, and when the gateway is told.
    step_at: Option<Time>,
    switch_at: Option<Time>,
}

/// How far a handover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// None is under way.
    Served,
    /// Another cell keeps a slot for it.
    Preparing { target: u16, slot: u16 },
    /// It accesses its new cell.
    Joining,
    /// It has no cell. The old one keeps what waits for it.
    Searching,
}

/// What becomes of packets that wait in a bearer that is re-established.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Stays,
    Follows,
    IsDropped,
}

impl Roaming {
    /// Nobody has moved yet.
    pub fn new(setup: &RanSetup) -> Roaming {
        let settings = setup.handover.clone();
        let roamer = |algorithm: Box<dyn Handover>| Roamer {
            measurements: Measurements::new(setup.cells.len(), algorithm.triggers()),
            algorithm,
            monitor: Monitor::default(),
            stage: Stage::Served,
            step_at: None,
            switch_at: None,
        };
        let can_roam = settings.can_change_cells();
        let roamers = setup.ues.iter().filter(|_| can_roam).map(|_| roamer(settings.algorithm.build()));
        let way = |(number, ue): (u32, &crate::UeSite)| {
            let way = ue.mobility.build([ue.position.x, ue.position.y], ue.way);
            way.moves().then_some((number, way))
        };
        let mut roaming = Roaming {
            x2_delay: setup.x2_delay,
            position_period: setup.radio.position_period,
            agenda: EventQueue::with_capacity(4 * setup.ues.len() + 4),
            movers: (0..).zip(&setup.ues).filter_map(way).collect(),
            terminals: roamers.collect(),
            weight: libm::exp2(-f64::from(settings.filter_coefficient) / 4.0),
            notices: Vec::with_capacity(16),
            forwards: Vec::with_capacity(64),
            settings,
        };
        if !roaming.movers.is_empty() || roaming.settings.link_failure.is_some() {
            roaming.agenda.schedule(Time::ZERO + roaming.position_period, Due::Place);
        }
        if roaming.terminals.iter().any(|roamer| roamer.measurements.watches() > 0) {
            roaming.agenda.schedule(Time::ZERO + roaming.settings.measurement_period, Due::Measure);
        }
        roaming
    }

    /// Where terminals that move are at the start.
    pub fn beginnings(&mut self) -> impl Iterator<Item = (usize, [Metres; 2])> + '_ {
        self.movers.iter_mut().map(|(ue, way)| (*ue as usize, way.position(Time::ZERO)))
    }

    fn step(&mut self, ue: usize, at: Time, stage: Stage) {
        self.terminals[ue].stage = stage;
        self.terminals[ue].step_at = Some(at);
        self.agenda.schedule(at, Due::Step(ue as u32));
    }
}

impl Ran {
    /// Whether a terminal moves.
    pub fn moves(&self, ue: UeId) -> bool {
        self.roaming.movers.binary_search_by_key(&ue.0, |(number, _)| *number).is_ok()
    }

    /// When something happens besides TTIs.
    pub fn next_event(&self) -> Option<Time> {
        self.roaming.agenda.next()
    }

    /// Terminals move, measure and change cells up to now. The owner then takes notices, forwarded packets and drops.
    pub fn advance(&mut self, now: Time) {
        while let Some((now, due)) = self.roaming.agenda.pop_until(now) {
            match due {
                Due::Place => self.follow_terminals(now),
                Due::Measure => self.measure(now),
                Due::Trigger { ue, watch } => self.trigger(now, ue as usize, watch),
                Due::Again { ue, watch } => self.report_again(now, ue as usize, watch),
                Due::Step(ue) => self.step(now, ue as usize),
                Due::Switch(ue) => self.switch(now, ue as usize),
            }
        }
    }

    /// Takes what has befallen terminals since the last call.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.clear();
        std::mem::swap(&mut self.roaming.notices, into);
    }

    /// Takes the packets that leave their cell for another since the last call, in their order.
    pub fn take_forwards(&mut self, into: &mut Vec<Forward>) {
        into.clear();
        std::mem::swap(&mut self.roaming.forwards, into);
    }

    /// The channel follows the terminals.
    fn follow_terminals(&mut self, now: Time) {
        self.roaming.agenda.schedule(now + self.roaming.position_period, Due::Place);
        let mut movers = std::mem::take(&mut self.roaming.movers);
        for (number, way) in &mut movers {
            let [x, y] = way.position(now);
            let z = self.ues[*number as usize].position.z;
            self.place(now, UeId(*number), Position { x, y, z });
            self.sample(*number as usize);
        }
        self.roaming.movers = movers;
        let Some(params) = self.roaming.settings.link_failure.clone() else { return };
        for number in 0..self.roaming.terminals.len() {
            if matches!(self.roaming.terminals[number].stage, Stage::Served | Stage::Preparing { .. }) {
                let sinr = self.radio.control_sinr(number, self.ues[number].cell);
                if self.roaming.terminals[number].monitor.hear(now, sinr, &params) {
                    self.fail_link(now, number);
                }
            }
        }
    }

    fn sample(&mut self, number: usize) {
        if let Some(roamer) = self.roaming.terminals.get_mut(number)
            && roamer.measurements.watches() > 0
        {
            let (heard, noise) = self.radio.heard(number);
            roamer.measurements.sample(heard, noise);
        }
    }

    fn measure(&mut self, now: Time) {
        self.roaming.agenda.schedule(now + self.roaming.settings.measurement_period, Due::Measure);
        for number in 0..self.roaming.terminals.len() {
            if !self.roaming.terminals[number].measurements.has_samples() {
                self.sample(number);
            }
            let Roaming { terminals, agenda, weight, .. } = &mut self.roaming;
            let Roamer { measurements, stage, .. } = &mut terminals[number];
            measurements.filter(*weight);
            if *stage == Stage::Served {
                for watch in 0..measurements.watches() {
                    if measurements.look(now, watch, self.ues[number].cell) {
                        let at = now + measurements.watched(watch).time_to_trigger;
                        agenda.schedule(at, Due::Trigger { ue: number as u32, watch: watch as u8 });
                    }
                }
            }
        }
    }

    fn trigger(&mut self, now: Time, number: usize, watch: u8) {
        let roamer = &mut self.roaming.terminals[number];
        if roamer.measurements.trigger(now, watch.into()) && roamer.stage == Stage::Served {
            self.send_report(now, number, watch);
        }
    }

    fn report_again(&mut self, now: Time, number: usize, watch: u8) {
        let roamer = &self.roaming.terminals[number];
        if roamer.measurements.is_due(now, watch.into()) && roamer.stage == Stage::Served {
            self.send_report(now, number, watch);
        }
    }

    //= exception reports-are-never-lost
    fn send_report(&mut self, now: Time, number: usize, watch: u8) {
        let serving = self.ues[number].cell;
        let Roaming { terminals, agenda, .. } = &mut self.roaming;
        let Roamer { algorithm, measurements, .. } = &mut terminals[number];
        let again = now + measurements.watched(watch.into()).interval;
        agenda.schedule(again, Due::Again { ue: number as u32, watch });
        let report = measurements.report(watch.into(), serving, again);
        if let Some(target) = algorithm.on_report(&report).filter(|target| usize::from(target.0) != serving) {
            self.prepare(now, number, target.0);
        }
    }

    /// The cell asks another for a place.
    fn prepare(&mut self, now: Time, number: usize, target: u16) {
        match self.reserve(number, target.into()) {
            Some(slot) => {
                let command = now + self.roaming.x2_delay * 2 + self.roaming.settings.preparation;
                self.roaming.step(number, command, Stage::Preparing { target, slot });
            }
            None => {
                let failure = Notice::HandoverFailure(UeId(number as u32), CellId(target));
                self.roaming.notices.push(failure);
            }
        }
    }

    fn step(&mut self, now: Time, number: usize) {
        let roamer = &mut self.roaming.terminals[number];
        if roamer.step_at != Some(now) {
            return;
        }
        roamer.step_at = None;
        match roamer.stage {
            Stage::Served => unreachable!("a terminal that is served has no next step"),
            Stage::Preparing { target, slot } => self.command(now, number, target, slot),
            Stage::Joining => self.join(now, number),
            Stage::Searching => self.search(now, number),
        }
    }

    /// The terminal obeys the command: it leaves its cell and accesses the other.
    //= TS 36.300 §10.1.2.1.1
    //= exception handover-command-arrives
    fn command(&mut self, now: Time, number: usize, target: u16, slot: u16) {
        let ue = UeId(number as u32);
        self.leave(number);
        self.move_bearer(now, number, target.into(), slot);
        let access = now + self.roaming.settings.random_access;
        self.roaming.step(number, access, Stage::Joining);
        self.roaming.notices.push(Notice::HandoverStart(ue, CellId(target)));
    }

    /// Random access is over: the cell can schedule the terminal.
    fn join(&mut self, now: Time, number: usize) {
        let (ue, cell) = (UeId(number as u32), self.ues[number].cell);
        let heard = self.radio.control_sinr(number, cell);
        if let Some(params) = self.roaming.settings.link_failure.clone().filter(|params| heard < params.q_out)
        {
            self.vacate(cell, self.ues[number].slot);
            self.roaming.step(number, now + params.reestablishment, Stage::Searching);
            self.roaming.notices.push(Notice::HandoverFailure(ue, CellId(cell as u16)));
            return;
        }
        self.ues[number].handovers += 1;
        self.attach(now, number);
        self.roaming.notices.push(Notice::HandoverEnd(ue, CellId(cell as u16)));
    }

    /// A cell begins to serve a terminal that has a slot there, and tells the gateway.
    fn attach(&mut self, now: Time, number: usize) {
        self.activate(now, number);
        let Roaming { terminals, agenda, settings, .. } = &mut self.roaming;
        terminals[number].stage = Stage::Served;
        let at = now + settings.path_switch;
        terminals[number].switch_at = Some(at);
        agenda.schedule(at, Due::Switch(number as u32));
    }

    fn switch(&mut self, now: Time, number: usize) {
        let (ue, cell) = (UeId(number as u32), self.ues[number].cell);
        let roamer = &mut self.roaming.terminals[number];
        if roamer.switch_at == Some(now) {
            roamer.switch_at = None;
            self.roaming.notices.push(Notice::PathSwitch(ue, CellId(cell as u16)));
        }
    }

    /// The terminal gives its cell up and looks for another; tells whether it may.
    //= TS 36.331 §5.3.11.3
    pub(crate) fn fail_link(&mut self, now: Time, number: usize) -> bool {
        let Some(params) = self.roaming.settings.link_failure.clone() else { return false };
        if let Stage::Preparing { target, slot } = self.roaming.terminals[number].stage {
            self.vacate(target.into(), slot);
        }
        self.ues[number].failures += 1;
        self.leave(number);
        for direction in [Direction::Down, Direction::Up] {
            self.re_establish(now, number, direction, DropCause::LinkFailure, Waiting::Stays);
        }
        self.forget(number);
        self.roaming.step(number, now + params.reestablishment, Stage::Searching);
        self.roaming.notices.push(Notice::LinkFailure(UeId(number as u32)));
        true
    }

    /// The terminal looks for a cell that it hears well enough, and takes the strongest.
    //= TS 36.331 §5.3.7
    //= exception context-is-fetched
    fn search(&mut self, now: Time, number: usize) {
        let params = self.roaming.settings.link_failure.clone().expect("only a failed link is searched for");
        let best = self.radio.strongest(number);
        let heard = self.radio.control_sinr(number, best) >= params.q_in;
        match heard.then(|| self.reserve(number, best)).flatten() {
            Some(slot) => {
                self.move_bearer(now, number, best, slot);
                self.attach(now, number);
                let ue = UeId(number as u32);
                self.roaming.notices.push(Notice::Reestablished(ue, CellId(best as u16)));
            }
            None => self.roaming.step(number, now + params.reestablishment, Stage::Searching),
        }
    }

    /// Both directions of a terminal's bearer are with another cell now, or the same one again; downlink packets that
    /// wait follow or are dropped, uplink packets wait on or are dropped.
    fn move_bearer(&mut self, now: Time, number: usize, cell: usize, slot: u16) {
        let (down, up) = match self.roaming.settings.forwarding {
            _ if cell == self.ues[number].cell => (Waiting::Stays, Waiting::Stays),
            Forwarding::Waiting => (Waiting::Follows, Waiting::Stays),
            Forwarding::Arriving | Forwarding::Nothing => (Waiting::IsDropped, Waiting::IsDropped),
        };
        self.re_establish(now, number, Direction::Down, DropCause::Handover, down);
        self.re_establish(now, number, Direction::Up, DropCause::Handover, up);
        self.forget(number);
        self.tune(number, cell, slot);
    }

    /// RLC begins anew: what was on air is lost, what waits meets this.
    fn re_establish(
        &mut self,
        now: Time,
        number: usize,
        direction: Direction,
        cause: DropCause,
        rest: Waiting,
    ) {
        let mut returned = std::mem::take(&mut self.returned);
        let Ran { ues, events, roaming, .. } = self;
        let (ue, from) = (UeId(number as u32), CellId(ues[number].cell as u16));
        let rlc = &mut ues[number].leg(direction).rlc;
        rlc.release(now, cause, &mut returned, events);
        //= TS 36.323 §5.3
        //= exception pdcp-knows-what-arrived
        returned.retain(|returned| !returned.delivered);
        match rest {
            Waiting::Stays => rlc.resume(returned.drain(..)),
            Waiting::Follows => {
                let follows = |returned: Returned| Forward { ue, from, packet: returned.sdu.packet };
                roaming.forwards.extend(returned.drain(..).map(follows));
            }
            Waiting::IsDropped => returned.drain(..).for_each(|returned| events.dropped(returned.sdu, cause)),
        }
        self.returned = returned;
    }

    fn forget(&mut self, number: usize) {
        let roamer = &mut self.roaming.terminals[number];
        roamer.measurements.forget_events();
        roamer.algorithm.on_handover();
        roamer.monitor = Monitor::default();
    }
}
