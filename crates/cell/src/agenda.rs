//! Events between TTIs for UEs that move or change cells.
//!
//! [`Agenda`] advances the UEs' positions, filters their measurements, runs the handover algorithm and times the steps
//! of a handover. It reads the UEs' channels and yields [`Task`]s. The network carries the tasks out and returns the
//! outcome where a task needs an answer.

use crate::crew::{Crew, SHARES};
use crate::handover::link_failure::Monitor;
use crate::handover::measurement::Measurements;
use crate::handover::{Context, Handover, Settings};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mobility::Mobility;
use crate::radio::Radio;
use crate::settings::RanSetup;
use airwnd_kernel::{Event, EventQueue, Stream};
use airwnd_phy::Position;
use airwnd_units::{Db, Metres, Span, Time};

/// A step of a UE's mobility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The UE leaves its cell for this one.
    HandoverStart(UeId, CellId),
    /// This cell serves the UE.
    HandoverEnd(UeId, CellId),
    /// This cell has no slot for the UE, or its SINR is too low.
    HandoverFailure(UeId, CellId),
    /// The UE has declared a radio link failure.
    LinkFailure(UeId),
    /// This cell serves the UE after a failure.
    Reestablished(UeId, CellId),
    /// The gateway sends to this cell from now on.
    PathSwitch(UeId, CellId),
}

/// A scheduled event.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// Update of the positions of moving UEs.
    Place,
    /// End of a layer-1 measurement period.
    Measure,
    /// End of a time to trigger.
    Trigger { ue: UeId, watch: u8 },
    /// Repetition of a measurement report.
    Again { ue: UeId, watch: u8 },
    /// Next step of a UE's handover.
    Step(UeId),
    /// Path switch of a UE at the gateway.
    Switch(UeId),
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

/// A task of the network for one UE, identified by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// The link has failed: the network releases it, as after a failure of RLC ([`Agenda::give_up`]).
    GiveUp(UeId),
    /// Requests a slot in another cell; answered by [`Agenda::prepared`].
    Prepare { ue: UeId, target: CellId },
    /// The UE leaves its cell for the reserved slot of the target and starts random access.
    Command { ue: UeId, target: CellId, slot: UeSlot },
    /// The new cell starts to serve the UE.
    Join(UeId),
    /// The UE has not reached its new cell, which frees the slot.
    Withdraw(UeId),
    /// The UE requests a slot in this cell and is served at once; answered by [`Agenda::reestablished`].
    Reestablish { ue: UeId, cell: CellId },
}

/// Trajectories, measurements and handovers of all UEs.
pub(crate) struct Agenda {
    settings: Settings,
    x2_delay: Span,
    position_period: Span,
    queue: EventQueue<Due>,
    /// Moving UEs.
    movers: Vec<(UeId, Box<dyn Mobility>)>,
    /// Their positions at the last update.
    moves: Vec<(UeId, Position)>,
    /// Whether links of UEs at rest can change, and the UEs of which one has changed at the last update.
    changes_at_rest: bool,
    changed: Vec<UeId>,
    /// All UEs; empty if no UE can change cells.
    roamers: Vec<Roamer>,
    /// UEs and watches of which a time to trigger has begun, by share of the UEs; otherwise empty.
    begun: Vec<Vec<(UeId, u8)>>,
    /// Weight of a new measurement in the layer-3 filter.
    weight: f64,
    /// UEs whose links are checked at each update of positions, in ascending order: all but those that are in sync while
    /// path gains do not change.
    monitored: Vec<UeId>,
    /// Number of those that have been checked after the last update of positions, and its time; `None`: all.
    checked: Option<(usize, Time)>,
    notices: Vec<Notice>,
}

/// A UE that can change cells.
struct Roamer {
    algorithm: Box<dyn Handover>,
    measurements: Measurements,
    monitor: Monitor,
    /// SINR of the control channels at the last check of the link, if path gains do not change.
    sinr: Option<Db>,
    stage: Stage,
    /// Times of the next handover step and of the path switch.
    step_at: Option<Time>,
    switch_at: Option<Time>,
}

impl Roamer {
    /// Resets state of the old cell after a change or loss of the cell.
    fn reset(&mut self) {
        self.measurements.reset_events();
        self.algorithm.on_handover();
        self.monitor = Monitor::default();
        self.sinr = None;
    }
}

/// Stage of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No handover is under way.
    Served,
    /// The target cell has reserved a slot.
    Preparing { target: CellId, slot: UeSlot },
    /// Random access to the new cell is under way.
    Joining,
    /// The UE has no cell. The old one keeps its backlog.
    Searching,
}

impl Agenda {
    /// State at the start: all UEs are at their initial positions.
    pub fn new(setup: &RanSetup) -> Agenda {
        let settings = setup.handover.clone();
        let roamer = |algorithm: Box<dyn Handover>| Roamer {
            measurements: Measurements::new(algorithm.triggers()),
            algorithm,
            monitor: Monitor::default(),
            sinr: None,
            stage: Stage::Served,
            step_at: None,
            switch_at: None,
        };
        let can_roam = settings.can_change_cells();
        let seeds = Stream::new(setup.seed, "handover");
        let algorithm = |ue: UeId| {
            let seed = seeds.child(ue.0.into()).next_u64();
            settings.algorithm.build(&Context { ue, cells: setup.cells.len() as u16, seed })
        };
        let roamers = UeId::all(setup.ues.len()).filter(|_| can_roam).map(|ue| roamer(algorithm(ue)));
        let trajectory = |(number, ue): (UeId, &crate::UeSite)| {
            let path = ue.trajectory();
            path.moves().then_some((number, path))
        };
        let mut agenda = Agenda {
            x2_delay: setup.x2_delay,
            position_period: setup.radio.position_period,
            queue: EventQueue::with_capacity(4 * setup.ues.len() + 4),
            movers: UeId::all(setup.ues.len()).zip(&setup.ues).filter_map(trajectory).collect(),
            moves: Vec::new(),
            changes_at_rest: setup.radio.blockage.is_some() || setup.ues.iter().any(|ue| ue.replay.is_some()),
            changed: Vec::with_capacity(setup.ues.len()),
            roamers: roamers.collect(),
            begun: Vec::new(),
            weight: libm::exp2(-f64::from(settings.filter_coefficient) / 4.0),
            monitored: UeId::all(setup.ues.len()).filter(|_| can_roam).collect(),
            checked: None,
            notices: Vec::with_capacity(16),
            settings,
        };
        if !agenda.movers.is_empty() || agenda.changes_at_rest || agenda.settings.link_failure.is_some() {
            agenda.queue.schedule(Time::ZERO + agenda.position_period, Due::Place);
        }
        if agenda.roamers.iter().any(|roamer| roamer.measurements.watches() > 0) {
            agenda.queue.schedule(Time::ZERO + agenda.settings.measurement_period, Due::Measure);
        }
        agenda
    }

    /// Start positions of the moving UEs.
    pub fn start_positions(&mut self) -> impl Iterator<Item = (UeId, [Metres; 2])> + '_ {
        self.movers.iter_mut().map(|(ue, path)| (*ue, path.position(Time::ZERO)))
    }

    /// Whether a UE moves.
    pub fn moves(&self, ue: UeId) -> bool {
        self.movers.binary_search_by_key(&ue, |(number, _)| *number).is_ok()
    }

    /// Time of the next event; `None`: there is none.
    pub fn next(&self) -> Option<Time> {
        self.queue.next()
    }

    /// Drains the mobility events since the last call.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.clear();
        std::mem::swap(&mut self.notices, into);
    }

    /// Processes due events up to `now` in chronological order until the network has a task. The caller carries the
    /// task out and calls again. `None`: no event is due.
    pub fn next_task(&mut self, now: Time, radio: &mut Radio, crew: &Crew) -> Option<(Time, Task)> {
        loop {
            if let Some(task) = self.check_links(radio) {
                return Some(task);
            }
            let (now, due) = self.queue.pop_until(now)?;
            let task = match due {
                Due::Place => {
                    self.follow_ues(now, radio, crew);
                    None
                }
                Due::Measure => {
                    self.measure(now, radio, crew);
                    None
                }
                Due::Trigger { ue, watch } => self.trigger(now, ue, watch, radio),
                Due::Again { ue, watch } => self.report_again(now, ue, watch, radio),
                Due::Step(ue) => self.step(now, ue, radio),
                Due::Switch(ue) => {
                    self.switch(now, ue, radio);
                    None
                }
            };
            if let Some(task) = task {
                return Some((now, task));
            }
        }
    }

    /// Updates the channels to the positions of moving UEs.
    fn follow_ues(&mut self, now: Time, radio: &mut Radio, crew: &Crew) {
        self.queue.schedule(now + self.position_period, Due::Place);
        let Agenda { movers, roamers, moves, changed, .. } = self;
        moves.resize(movers.len(), (UeId(0), Position::default()));
        let size = movers.len().div_ceil(SHARES).max(1);
        let here = &*radio;
        crew.each_of(movers.chunks_mut(size).zip(moves.chunks_mut(size)), |(movers, moves)| {
            for ((number, path), moved) in movers.iter_mut().zip(moves) {
                let [x, y] = path.position(now);
                *moved = (*number, Position { x, y, ..here.position(*number) });
            }
        });
        if self.changes_at_rest {
            radio.advance(now, changed);
            let at_rest = |ue: &&UeId| movers.binary_search_by_key(*ue, |(number, _)| *number).is_err();
            moves.extend(changed.iter().filter(at_rest).map(|ue| (*ue, radio.position(*ue))));
            moves.sort_unstable_by_key(|(ue, _)| *ue);
        }
        self.checked = Some((0, now));
        // Where links are checked although no UE moves, what depends on path gains remains valid.
        if moves.is_empty() {
            return;
        }
        radio.place_all(now, moves, crew);
        let radio = &*radio;
        let size = roamers.len().div_ceil(SHARES).max(1);
        crew.each_of(roamers.chunks_mut(size).enumerate(), |(share, roamers)| {
            let first = share * size;
            let first_move = |index: usize| moves.partition_point(|(moved, _)| moved.index() < index);
            for number in
                moves[first_move(first)..first_move(first + roamers.len())].iter().map(|(ue, _)| *ue)
            {
                sample(&mut roamers[number.index() - first].measurements, number, radio);
            }
        });
    }

    /// Finds the next failed link among those not yet checked.
    fn check_links(&mut self, radio: &Radio) -> Option<(Time, Task)> {
        let params = self.settings.link_failure.as_ref()?;
        let Agenda { roamers, monitored, checked, movers, changes_at_rest, .. } = self;
        let (count, now) = checked.as_mut()?;
        let are_still = movers.is_empty() && !*changes_at_rest;
        while let Some(number) = monitored.get(*count).copied() {
            *count += 1;
            let roamer = &mut roamers[number.index()];
            if !matches!(roamer.stage, Stage::Served | Stage::Preparing { .. }) {
                continue;
            }
            let sinr = roamer.sinr.unwrap_or_else(|| radio.control_sinr(number, radio.serving(number)));
            roamer.sinr = are_still.then_some(sinr);
            if roamer.monitor.update(*now, sinr, params) {
                return Some((*now, Task::GiveUp(number)));
            }
        }
        *checked = None;
        if are_still {
            monitored.retain(|ue| {
                let Roamer { sinr, monitor, .. } = &roamers[ue.index()];
                sinr.is_none() || !monitor.is_in_sync()
            });
        }
        None
    }

    /// Resets state of the old cell after a UE's change or loss of the cell. Its link is checked again.
    fn reset(&mut self, number: UeId) {
        self.roamers[number.index()].reset();
        if let Err(place) = self.monitored.binary_search(&number) {
            self.monitored.insert(place, number);
        }
    }

    fn measure(&mut self, now: Time, radio: &Radio, crew: &Crew) {
        self.queue.schedule(now + self.settings.measurement_period, Due::Measure);
        let Agenda { roamers, begun, weight, .. } = self;
        let size = roamers.len().div_ceil(SHARES).max(1);
        begun.resize_with(roamers.len().div_ceil(size), Vec::new);
        crew.each_of(roamers.chunks_mut(size).zip(&mut *begun).enumerate(), |(share, (roamers, begun))| {
            for (number, Roamer { measurements, stage, .. }) in UeId::at(share * size).onwards().zip(roamers)
            {
                if !measurements.has_samples() {
                    sample(measurements, number, radio);
                }
                measurements.filter(*weight);
                if *stage == Stage::Served {
                    for watch in 0..measurements.watches() {
                        if measurements.evaluate(now, watch, radio.serving(number)) {
                            begun.push((number, watch as u8));
                        }
                    }
                }
            }
        });
        for (ue, watch) in self.begun.iter_mut().flat_map(|begun| begun.drain(..)) {
            let watched = self.roamers[ue.index()].measurements.watched(watch.into());
            self.queue.schedule(now + watched.time_to_trigger, Due::Trigger { ue, watch });
        }
    }

    fn trigger(&mut self, now: Time, number: UeId, watch: u8, radio: &Radio) -> Option<Task> {
        let roamer = &mut self.roamers[number.index()];
        let reports = roamer.measurements.trigger(now, watch.into()) && roamer.stage == Stage::Served;
        if reports { self.send_report(now, number, watch, radio) } else { None }
    }

    fn report_again(&mut self, now: Time, number: UeId, watch: u8, radio: &Radio) -> Option<Task> {
        let roamer = &self.roamers[number.index()];
        let reports = roamer.measurements.is_due(now, watch.into()) && roamer.stage == Stage::Served;
        if reports { self.send_report(now, number, watch, radio) } else { None }
    }

    //= exception reports-are-never-lost
    fn send_report(&mut self, now: Time, number: UeId, watch: u8, radio: &Radio) -> Option<Task> {
        let serving = radio.serving(number);
        let Roamer { algorithm, measurements, .. } = &mut self.roamers[number.index()];
        let again = now + measurements.watched(watch.into()).interval;
        self.queue.schedule(again, Due::Again { ue: number, watch });
        let report = measurements.report(watch.into(), serving, now, again)?;
        let target = algorithm.on_report(&report)?;
        (target != serving).then_some(Task::Prepare { ue: number, target })
    }

    /// The target's answer: the slot reserved for the UE; `None`: the target has none.
    pub fn prepared(&mut self, now: Time, number: UeId, target: CellId, slot: Option<UeSlot>) {
        match slot {
            Some(slot) => {
                let command = now + self.x2_delay * 2 + self.settings.preparation;
                self.go_on(number, command, Stage::Preparing { target, slot });
            }
            None => self.notices.push(Notice::HandoverFailure(number, target)),
        }
    }

    fn go_on(&mut self, number: UeId, at: Time, stage: Stage) {
        self.roamers[number.index()].stage = stage;
        self.roamers[number.index()].step_at = Some(at);
        self.queue.schedule(at, Due::Step(number));
    }

    fn step(&mut self, now: Time, number: UeId, radio: &Radio) -> Option<Task> {
        let roamer = &mut self.roamers[number.index()];
        if roamer.step_at != Some(now) {
            return None;
        }
        roamer.step_at = None;
        match roamer.stage {
            Stage::Served => unreachable!("a served UE has no next handover step"),
            Stage::Preparing { target, slot } => Some(self.command(now, number, target, slot)),
            Stage::Joining => Some(self.join(now, number, radio)),
            Stage::Searching => self.search(now, number, radio),
        }
    }

    /// Executes the handover command: the UE leaves its cell and accesses the target.
    //= TS 36.300 §10.1.2.1.1
    //= exception handover-command-arrives
    fn command(&mut self, now: Time, number: UeId, target: CellId, slot: UeSlot) -> Task {
        self.reset(number);
        self.go_on(number, now + self.settings.random_access, Stage::Joining);
        self.notices.push(Notice::HandoverStart(number, target));
        Task::Command { ue: number, target, slot }
    }

    /// End of random access: the cell can schedule the UE, unless its SINR is too low.
    fn join(&mut self, now: Time, number: UeId, radio: &Radio) -> Task {
        let cell = radio.serving(number);
        let sinr = radio.control_sinr(number, cell);
        match &self.settings.link_failure {
            Some(params) if sinr < params.q_out => {
                let at = now + params.reestablishment;
                self.go_on(number, at, Stage::Searching);
                self.notices.push(Notice::HandoverFailure(number, cell));
                Task::Withdraw(number)
            }
            _ => {
                self.serve(now, number);
                self.notices.push(Notice::HandoverEnd(number, cell));
                Task::Join(number)
            }
        }
    }

    /// Marks the UE as served and schedules the path switch.
    fn serve(&mut self, now: Time, number: UeId) {
        let at = now + self.settings.path_switch;
        self.roamers[number.index()].stage = Stage::Served;
        self.roamers[number.index()].switch_at = Some(at);
        self.queue.schedule(at, Due::Switch(number));
    }

    fn switch(&mut self, now: Time, number: UeId, radio: &Radio) {
        let roamer = &mut self.roamers[number.index()];
        if roamer.switch_at == Some(now) {
            roamer.switch_at = None;
            let cell = radio.serving(number);
            self.notices.push(Notice::PathSwitch(number, cell));
        }
    }

    /// Declares a radio link failure. `None`: re-establishment is disabled. Otherwise the UE searches for a cell from
    /// now on, and the result is the slot that a target had reserved for it, if any.
    //= TS 36.331 §5.3.11.3
    pub fn give_up(&mut self, now: Time, number: UeId) -> Option<Option<(CellId, UeSlot)>> {
        let at = now + self.settings.link_failure.as_ref()?.reestablishment;
        let kept = match self.roamers[number.index()].stage {
            Stage::Preparing { target, slot } => Some((target, slot)),
            _ => None,
        };
        self.reset(number);
        self.go_on(number, at, Stage::Searching);
        self.notices.push(Notice::LinkFailure(number));
        Some(kept)
    }

    /// Cell search: the UE selects the strongest cell if its SINR is high enough.
    //= TS 36.331 §5.3.7
    //= exception context-is-fetched
    fn search(&mut self, now: Time, number: UeId, radio: &Radio) -> Option<Task> {
        let params = self.settings.link_failure.as_ref().expect("cell search follows a link failure");
        let cell = radio.strongest(number);
        if radio.control_sinr(number, cell) >= params.search_sinr.unwrap_or(params.q_in) {
            return Some(Task::Reestablish { ue: number, cell });
        }
        self.search_on(now, number);
        None
    }

    fn search_on(&mut self, now: Time, number: UeId) {
        let params = self.settings.link_failure.as_ref().expect("cell search follows a link failure");
        let at = now + params.reestablishment;
        self.go_on(number, at, Stage::Searching);
    }

    /// The cell's answer: it serves the UE, or it has no slot.
    pub fn reestablished(&mut self, now: Time, number: UeId, cell: CellId, has_slot: bool) {
        if !has_slot {
            return self.search_on(now, number);
        }
        self.reset(number);
        self.serve(now, number);
        self.notices.push(Notice::Reestablished(number, cell));
    }
}

fn sample(measurements: &mut Measurements, number: UeId, radio: &Radio) {
    if measurements.watches() > 0 {
        let (links, others) = radio.measurable(number);
        let powers = links.iter().map(|link| (link.cell, link.power, link.received));
        measurements.sample(powers, others);
    }
}
