//! Tables of UEs with their timers.

use super::Ue;
use super::bearers::{LegId, Timed};
use super::compat::report_rules;
use super::events::{Arrival, EventLog};
use super::report_rules::ReportRules;
use super::timers::Timers;
use crate::identity::UeId;
use crate::mac::drx::Drx;
use crate::mac::scell;
use crate::settings::RanSetup;
use crate::trace::{RadioEvent, RadioFilter, RadioRecord, Tracer};
use airwnd_kernel::Direction;
use airwnd_phy::access::Access;
use airwnd_rlc::RlcMode;
use airwnd_units::{SlotClock, Time, Tti};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Some of the UEs, by number.
pub(crate) struct Ues(Vec<Option<Box<Ue>>>);

impl Ues {
    /// The UE with this number, if it is here; no UE has that of a free slot.
    pub fn find(&mut self, number: UeId) -> Option<&mut Ue> {
        self.0.get_mut(number.index())?.as_deref_mut()
    }
}

const ELSEWHERE: &str = "a UE is looked up where it is served";

impl Index<UeId> for Ues {
    type Output = Ue;
    fn index(&self, number: UeId) -> &Ue {
        self.0[number.index()].as_ref().expect(ELSEWHERE)
    }
}

impl IndexMut<UeId> for Ues {
    fn index_mut(&mut self, number: UeId) -> &mut Ue {
        self.0[number.index()].as_mut().expect(ELSEWHERE)
    }
}

/// UEs with the timers of their buffer reports.
pub(crate) struct UeTable {
    pub ues: Ues,
    pub(super) access: Arc<Access>,
    pub(super) clock: SlotClock,
    /// Whether UEs have DRX.
    pub has_drx: bool,
    /// Activation of secondary carriers; `None`: they are always active.
    pub(super) activation: Option<scell::Timing>,
    /// Rules of buffer reports.
    pub(super) rules: &'static dyn ReportRules,
    /// Period in TTIs of buffer reports within blocks (periodicBSR-Timer).
    pub(super) periodic_report: u64,
    /// Period in TTIs of the opportunities for scheduling requests.
    pub(super) request_period: u64,
    /// TTIs after a scheduling request in which a UE does not repeat it.
    pub(super) request_prohibit: u64,
    /// UEs with a report from RLC to the MAC since the last TTI.
    pub(super) fresh: Vec<UeId>,
    /// UEs with a pending scheduling request.
    pub(super) requesting: Vec<UeId>,
    /// Timers for repeated buffer reports of RLC to the MAC, in unacknowledged and in acknowledged mode.
    pub(super) report_timers: [Timers<LegId>; 2],
    /// retxBSR-Timers of the UEs, if enabled.
    pub(super) retx_bsr_timers: Option<Timers<UeId>>,
    /// Bearers with a running RLC timer.
    pub(super) timed: Timed,
    /// UEs that are being promoted to RRC connected.
    pub(super) promoting: Vec<UeId>,
    /// Records for an observer.
    pub trace: Tracer,
    /// Drops and marks since the network looked.
    pub events: EventLog,
    /// SDUs that RLC has delivered since the network looked.
    pub arrivals: Vec<Arrival>,
    /// UEs whose RLC has reached its maximum of retransmissions since the network looked.
    pub failed: Vec<UeId>,
}

impl UeTable {
    /// A table for these of a setup's UEs, which is empty.
    pub fn new(setup: &RanSetup, access: &Arc<Access>, users: impl Iterator<Item = UeId> + Clone) -> UeTable {
        let clock = access.clock;
        let again = setup.mac.report_again_after();
        let modes = users.clone().flat_map(|user| &*setup.ues[user.index()].bearers);
        let modes = modes.map(|bearer| setup.rlc_of(bearer).mode);
        let report_timers = [RlcMode::Um, RlcMode::Am].map(|mode| {
            let period = clock.count(setup.rlc.report_period(mode));
            Timers::new(period, 2 * modes.clone().filter(|other| *other == mode).count())
        });
        let (ues, bearers) = (users.count(), modes.count());
        UeTable {
            ues: Ues((0..setup.ues.len()).map(|_| None).collect()),
            access: access.clone(),
            clock,
            report_timers,
            has_drx: setup.mac.drx.is_some(),
            activation: setup.mac.scell.as_ref().map(|params| scell::Timing::new(params, clock)),
            rules: report_rules(setup.mac.quirks.buffer_reports),
            periodic_report: clock.count(setup.mac.periodic_bsr_timer),
            request_period: setup.mac.request_period.ttis(clock),
            request_prohibit: setup.mac.sr_prohibit_timer.map_or(0, |timer| clock.count(timer)),
            fresh: Vec::with_capacity(ues),
            requesting: Vec::with_capacity(ues),
            retx_bsr_timers: again.map(|period| Timers::new(clock.count(period), ues)),
            timed: Timed::new(bearers),
            promoting: Vec::with_capacity(if setup.rrc.is_some() { ues } else { 0 }),
            trace: Tracer::default(),
            events: EventLog::new(),
            arrivals: Vec::with_capacity(64),
            failed: Vec::new(),
        }
    }

    /// Adds a UE with its timers.
    pub fn admit(&mut self, number: UeId, ue: Box<Ue>) {
        for (id, leg) in ue.legs_of(number) {
            self.report_timers[leg.timers()].admit(id, leg.report_at);
            self.timed.admit(id, leg);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.admit(number, ue.report_again_at);
        }
        if ue.fresh {
            self.fresh.push(number);
        }
        if ue.connection.as_ref().is_some_and(|connection| connection.promotion().is_some()) {
            self.promoting.push(number);
        }
        self.ues.0[number.index()] = Some(ue);
    }

    /// Removes a UE with its timers. It has no pending scheduling request.
    pub fn release(&mut self, number: UeId) -> Box<Ue> {
        let ue = self.ues.0[number.index()].take().expect(ELSEWHERE);
        for (_, leg) in ue.legs_of(number) {
            self.report_timers[leg.timers()].release(leg.report_at);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.release(ue.report_again_at);
        }
        self.fresh.retain(|other| *other != number);
        self.promoting.retain(|other| *other != number);
        self.timed.retain(|id| id.ue != number);
        ue
    }

    /// Whether no timer runs, and no report or promotion is due.
    pub fn is_idle(&self) -> bool {
        self.fresh.is_empty()
            && self.requesting.is_empty()
            && self.promoting.is_empty()
            && self.timed.is_empty()
            && self.report_timers.iter().all(Timers::is_idle)
            && self.retx_bsr_timers.as_ref().is_none_or(Timers::is_idle)
    }

    /// The UE with this number.
    pub fn get(&mut self, number: UeId) -> &mut Ue {
        &mut self.ues[number]
    }

    /// Whether a UE monitors the PDCCH in a TTI. One that has only reserved a slot may still be elsewhere.
    #[inline]
    pub fn is_active(&self, number: UeId, tti: Tti) -> bool {
        let ue = self.ues.0[number.index()].as_ref();
        ue.and_then(|ue| ue.drx.as_ref()).is_none_or(|drx| drx.is_active(tti))
    }

    /// DRX of a UE, if it has it.
    #[inline]
    pub fn drx(&mut self, number: UeId) -> Option<&mut Drx> {
        if self.has_drx { self.get(number).drx.as_deref_mut() } else { None }
    }

    /// Notes an event of a UE for an observer.
    #[cold]
    #[inline(never)]
    pub fn note(&mut self, tti: Tti, number: UeId, event: RadioEvent) {
        let (at, cell) = (self.clock.start(tti), self.ues[number].cell);
        self.trace.note(RadioRecord { at, ue: number, cell, event });
    }

    /// Collects the records of its UEs that pass a filter.
    pub fn observe(&mut self, filter: &RadioFilter) {
        self.trace.observe(filter.clone());
        self.events.observe();
        for drx in self.ues.0.iter_mut().flatten().filter_map(|ue| ue.drx.as_mut()) {
            drx.observe();
        }
    }

    /// Notes the changes of DRX before `now` for an observer.
    #[cold]
    pub fn note_drx(&mut self, now: Time) {
        let UeTable { ues, trace, clock, .. } = self;
        for (number, ue) in (0..).zip(&mut ues.0) {
            let Some(Ue { cell, connection, drx: Some(drx), joined: true, .. }) = ue.as_deref_mut() else {
                // Whether it is awake until it has accessed a cell is counted then.
                continue;
            };
            let (ue, cell) = (UeId(number), *cell);
            let release = connection.as_ref().and_then(|connection| connection.release(now));
            let is_connected = release.is_none();
            drx.count(clock.from(release.map_or(now, |release| release.start)));
            for (tti, state) in drx.changes(clock.from(now), is_connected) {
                let (at, event) = (clock.start(tti), RadioEvent::Drx(state));
                trace.note(RadioRecord { at, ue, cell, event });
            }
        }
    }

    /// Requests the memory of RLC in a direction of a UE's default bearer, as far as it is apart from the UE.
    #[inline]
    pub fn prefetch_rlc(&self, number: UeId, direction: Direction) {
        self.ues[number].bearers.default.leg(direction).rlc.prefetch();
    }
}
