//! The agenda of UEs that move and change cells: what is due between TTIs.
//!
//! [`Agenda`] follows the UEs' ways, filters their measurements, asks the handover algorithm and times the steps
//! of a handover. It sees what UEs hear and yields [`Task`]s; the network carries them out and answers where the
//! outcome is its own.

use crate::handover::link_failure::Monitor;
use crate::handover::measurement::Measurements;
use crate::handover::{Handover, Settings};
use crate::identity::{CellId, UeId};
use crate::mobility::Mobility;
use crate::radio::Radio;
use crate::settings::RanSetup;
use crate::ue::Ue;
use airwnd_kernel::{Event, EventQueue};
use airwnd_units::{Metres, Span, Time};
use std::ops::Range;

/// A step of a UE's mobility.
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
    /// UEs have moved.
    Place,
    /// A layer-1 period is over.
    Measure,
    /// The time to trigger of an event is over.
    Trigger { ue: u32, watch: u8 },
    /// An event is reported again.
    Again { ue: u32, watch: u8 },
    /// A UE's handover goes on.
    Step(u32),
    /// The gateway switches a UE's path.
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

/// What the network has to do for a UE, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Its link has failed: the network gives it up, as after a failure of RLC ([`Agenda::give_up`]).
    GiveUp(usize),
    /// Another cell is asked for a slot; answered by [`Agenda::prepared`].
    Prepare { ue: usize, target: usize },
    /// It leaves its cell for the slot that another one keeps, and begins to access it.
    Command { ue: usize, target: usize, slot: u16 },
    /// Its new cell begins to serve it.
    Join(usize),
    /// It has not reached its new cell, which frees the slot.
    Withdraw(usize),
    /// It asks this cell for a slot, and is served at once; answered by [`Agenda::reestablished`].
    Reestablish { ue: usize, cell: usize },
}

/// All UEs' ways, measurements and handovers.
pub(crate) struct Agenda {
    settings: Settings,
    x2_delay: Span,
    position_period: Span,
    queue: EventQueue<Due>,
    /// The UEs that move.
    movers: Vec<(u32, Box<dyn Mobility>)>,
    /// All UEs; none if none can change cells.
    roamers: Vec<Roamer>,
    /// Of a new measurement in the layer-3 filter.
    weight: f64,
    /// Links that are still to be checked since the UEs were placed, and when that was.
    unchecked: (Range<usize>, Time),
    notices: Vec<Notice>,
}

/// A UE that can change cells.
struct Roamer {
    algorithm: Box<dyn Handover>,
    measurements: Measurements,
    monitor: Monitor,
    stage: Stage,
    /// When its handover goes on, and when the gateway switches its path.
    step_at: Option<Time>,
    switch_at: Option<Time>,
}

impl Roamer {
    /// It has another cell, or none: what was measured in the old one counts no more.
    fn forget(&mut self) {
        self.measurements.forget_events();
        self.algorithm.on_handover();
        self.monitor = Monitor::default();
    }
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

impl Agenda {
    /// At the start no UE has moved.
    pub fn new(setup: &RanSetup) -> Agenda {
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
        let mut agenda = Agenda {
            x2_delay: setup.x2_delay,
            position_period: setup.radio.position_period,
            queue: EventQueue::with_capacity(4 * setup.ues.len() + 4),
            movers: (0..).zip(&setup.ues).filter_map(way).collect(),
            roamers: roamers.collect(),
            weight: libm::exp2(-f64::from(settings.filter_coefficient) / 4.0),
            unchecked: (0..0, Time::ZERO),
            notices: Vec::with_capacity(16),
            settings,
        };
        if !agenda.movers.is_empty() || agenda.settings.link_failure.is_some() {
            agenda.queue.schedule(Time::ZERO + agenda.position_period, Due::Place);
        }
        if agenda.roamers.iter().any(|roamer| roamer.measurements.watches() > 0) {
            agenda.queue.schedule(Time::ZERO + agenda.settings.measurement_period, Due::Measure);
        }
        agenda
    }

    /// Where UEs that move are at the start.
    pub fn beginnings(&mut self) -> impl Iterator<Item = (usize, [Metres; 2])> + '_ {
        self.movers.iter_mut().map(|(ue, way)| (*ue as usize, way.position(Time::ZERO)))
    }

    /// Whether a UE moves.
    pub fn moves(&self, ue: UeId) -> bool {
        self.movers.binary_search_by_key(&ue.0, |(number, _)| *number).is_ok()
    }

    /// When something is due next; `None`: never.
    pub fn next(&self) -> Option<Time> {
        self.queue.next()
    }

    /// Takes the steps since the last call.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.clear();
        std::mem::swap(&mut self.notices, into);
    }

    /// Carries out what is due up to now, in its order, until the network has a task: then this is called again once it
    /// is done. `None`: nothing is due any more.
    pub fn next_task(&mut self, now: Time, radio: &mut Radio, ues: &mut [Ue]) -> Option<(Time, Task)> {
        loop {
            if let Some(task) = self.check_links(radio, ues) {
                return Some(task);
            }
            let (now, due) = self.queue.pop_until(now)?;
            let task = match due {
                Due::Place => {
                    self.follow_ues(now, radio, ues);
                    None
                }
                Due::Measure => {
                    self.measure(now, radio, ues);
                    None
                }
                Due::Trigger { ue, watch } => self.trigger(now, ue as usize, watch, ues),
                Due::Again { ue, watch } => self.report_again(now, ue as usize, watch, ues),
                Due::Step(ue) => self.step(now, ue as usize, radio, ues),
                Due::Switch(ue) => {
                    self.switch(now, ue as usize, ues);
                    None
                }
            };
            if let Some(task) = task {
                return Some((now, task));
            }
        }
    }

    /// The channel follows the UEs.
    fn follow_ues(&mut self, now: Time, radio: &mut Radio, ues: &mut [Ue]) {
        self.queue.schedule(now + self.position_period, Due::Place);
        for (number, way) in &mut self.movers {
            let (number, [x, y]) = (*number as usize, way.position(now));
            let ue = &mut ues[number];
            ue.place(now, number, crate::phy::Position { x, y, ..ue.position }, radio);
            if let Some(roamer) = self.roamers.get_mut(number) {
                sample(&mut roamer.measurements, number, radio);
            }
        }
        self.unchecked = (0..self.roamers.len(), now);
    }

    /// Whether links that are heard badly have failed: the first one among those not yet checked.
    fn check_links(&mut self, radio: &Radio, ues: &[Ue]) -> Option<(Time, Task)> {
        let params = self.settings.link_failure.as_ref()?;
        let (unchecked, now) = &mut self.unchecked;
        let roamers = &mut self.roamers;
        let failed = unchecked.find(|number| {
            let roamer = &mut roamers[*number];
            matches!(roamer.stage, Stage::Served | Stage::Preparing { .. })
                && roamer.monitor.hear(*now, radio.control_sinr(*number, ues[*number].cell), params)
        });
        failed.map(|number| (*now, Task::GiveUp(number)))
    }

    fn measure(&mut self, now: Time, radio: &Radio, ues: &[Ue]) {
        self.queue.schedule(now + self.settings.measurement_period, Due::Measure);
        for (number, Roamer { measurements, stage, .. }) in self.roamers.iter_mut().enumerate() {
            if !measurements.has_samples() {
                sample(measurements, number, radio);
            }
            measurements.filter(self.weight);
            if *stage == Stage::Served {
                for watch in 0..measurements.watches() {
                    if measurements.look(now, watch, ues[number].cell) {
                        let at = now + measurements.watched(watch).time_to_trigger;
                        self.queue.schedule(at, Due::Trigger { ue: number as u32, watch: watch as u8 });
                    }
                }
            }
        }
    }

    fn trigger(&mut self, now: Time, number: usize, watch: u8, ues: &[Ue]) -> Option<Task> {
        let roamer = &mut self.roamers[number];
        let reports = roamer.measurements.trigger(now, watch.into()) && roamer.stage == Stage::Served;
        if reports { self.send_report(now, number, watch, ues) } else { None }
    }

    fn report_again(&mut self, now: Time, number: usize, watch: u8, ues: &[Ue]) -> Option<Task> {
        let roamer = &self.roamers[number];
        let reports = roamer.measurements.is_due(now, watch.into()) && roamer.stage == Stage::Served;
        if reports { self.send_report(now, number, watch, ues) } else { None }
    }

    //= exception reports-are-never-lost
    fn send_report(&mut self, now: Time, number: usize, watch: u8, ues: &[Ue]) -> Option<Task> {
        let serving = ues[number].cell;
        let Roamer { algorithm, measurements, .. } = &mut self.roamers[number];
        let again = now + measurements.watched(watch.into()).interval;
        self.queue.schedule(again, Due::Again { ue: number as u32, watch });
        let report = measurements.report(watch.into(), serving, again);
        let target = algorithm.on_report(&report).map(|target| usize::from(target.0))?;
        (target != serving).then_some(Task::Prepare { ue: number, target })
    }

    /// The cell that was asked keeps this slot for the UE; `None`: it has none.
    pub fn prepared(&mut self, now: Time, number: usize, target: usize, slot: Option<u16>) {
        let target = target as u16;
        match slot {
            Some(slot) => {
                let command = now + self.x2_delay * 2 + self.settings.preparation;
                self.go_on(number, command, Stage::Preparing { target, slot });
            }
            None => self.notices.push(Notice::HandoverFailure(UeId(number as u32), CellId(target))),
        }
    }

    fn go_on(&mut self, number: usize, at: Time, stage: Stage) {
        self.roamers[number].stage = stage;
        self.roamers[number].step_at = Some(at);
        self.queue.schedule(at, Due::Step(number as u32));
    }

    fn step(&mut self, now: Time, number: usize, radio: &Radio, ues: &[Ue]) -> Option<Task> {
        let roamer = &mut self.roamers[number];
        if roamer.step_at != Some(now) {
            return None;
        }
        roamer.step_at = None;
        match roamer.stage {
            Stage::Served => unreachable!("a UE that is served has no next step"),
            Stage::Preparing { target, slot } => Some(self.command(now, number, target, slot)),
            Stage::Joining => Some(self.join(now, number, radio, ues)),
            Stage::Searching => self.search(now, number, radio),
        }
    }

    /// The UE obeys the command: it leaves its cell and accesses the other.
    //= TS 36.300 §10.1.2.1.1
    //= exception handover-command-arrives
    fn command(&mut self, now: Time, number: usize, target: u16, slot: u16) -> Task {
        self.roamers[number].forget();
        self.go_on(number, now + self.settings.random_access, Stage::Joining);
        self.notices.push(Notice::HandoverStart(UeId(number as u32), CellId(target)));
        Task::Command { ue: number, target: target.into(), slot }
    }

    /// Random access is over: the cell can schedule the UE, if it is heard.
    fn join(&mut self, now: Time, number: usize, radio: &Radio, ues: &[Ue]) -> Task {
        let cell = ues[number].cell;
        let (ue, cell_id) = (UeId(number as u32), CellId(cell as u16));
        let heard = radio.control_sinr(number, cell);
        match &self.settings.link_failure {
            Some(params) if heard < params.q_out => {
                let at = now + params.reestablishment;
                self.go_on(number, at, Stage::Searching);
                self.notices.push(Notice::HandoverFailure(ue, cell_id));
                Task::Withdraw(number)
            }
            _ => {
                self.serve(now, number);
                self.notices.push(Notice::HandoverEnd(ue, cell_id));
                Task::Join(number)
            }
        }
    }

    /// A cell serves the UE, and informs the gateway.
    fn serve(&mut self, now: Time, number: usize) {
        let at = now + self.settings.path_switch;
        self.roamers[number].stage = Stage::Served;
        self.roamers[number].switch_at = Some(at);
        self.queue.schedule(at, Due::Switch(number as u32));
    }

    fn switch(&mut self, now: Time, number: usize, ues: &[Ue]) {
        let roamer = &mut self.roamers[number];
        if roamer.switch_at == Some(now) {
            roamer.switch_at = None;
            let cell = CellId(ues[number].cell as u16);
            self.notices.push(Notice::PathSwitch(UeId(number as u32), cell));
        }
    }

    /// A UE's link has failed. `None`: it may not look for another cell. Else it does so from now on, and what is
    /// returned is the slot that another cell kept for it, if one did.
    //= TS 36.331 §5.3.11.3
    pub fn give_up(&mut self, now: Time, number: usize) -> Option<Option<(usize, u16)>> {
        let at = now + self.settings.link_failure.as_ref()?.reestablishment;
        let kept = match self.roamers[number].stage {
            Stage::Preparing { target, slot } => Some((usize::from(target), slot)),
            _ => None,
        };
        self.roamers[number].forget();
        self.go_on(number, at, Stage::Searching);
        self.notices.push(Notice::LinkFailure(UeId(number as u32)));
        Some(kept)
    }

    /// The UE looks for a cell that it hears well enough, and takes the strongest.
    //= TS 36.331 §5.3.7
    //= exception context-is-fetched
    fn search(&mut self, now: Time, number: usize, radio: &Radio) -> Option<Task> {
        let params = self.settings.link_failure.as_ref().expect("only a failed link is searched for");
        let cell = radio.strongest(number);
        if radio.control_sinr(number, cell) >= params.q_in {
            return Some(Task::Reestablish { ue: number, cell });
        }
        self.search_on(now, number);
        None
    }

    fn search_on(&mut self, now: Time, number: usize) {
        let params = self.settings.link_failure.as_ref().expect("only a failed link is searched for");
        let at = now + params.reestablishment;
        self.go_on(number, at, Stage::Searching);
    }

    /// The cell that was asked serves the UE, or has no slot for it.
    pub fn reestablished(&mut self, now: Time, number: usize, cell: usize, has_slot: bool) {
        if !has_slot {
            return self.search_on(now, number);
        }
        self.roamers[number].forget();
        self.serve(now, number);
        self.notices.push(Notice::Reestablished(UeId(number as u32), CellId(cell as u16)));
    }
}

fn sample(measurements: &mut Measurements, number: usize, radio: &Radio) {
    if measurements.watches() > 0 {
        let (heard, noise) = radio.heard(number);
        measurements.sample(heard, noise);
    }
}
