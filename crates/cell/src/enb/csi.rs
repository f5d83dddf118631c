//! Channel state of a cell's UEs on a carrier: the newest report that the MAC knows of each, and the UEs as the scheduler
//! sees them.
//!
//! | Cache | Key | Saves |
//! |---|---|---|
//! | [`Versions`] | phase within the reporting period | looking for a newer report of each UE in each TTI |
//! | `states` | slot, and the version of its report | copying a report that is known |
//! | [`Views`] | list of candidates | copying the views of UEs that have not changed |
//!
//! The reports themselves are those of [`Receivers`](crate::radio::Receivers), which measures what is not known.

use super::known_channels::{KnownChannels, LOWEST};
use super::versions::{Measurements, ReportTiming, Versions};
use super::views::Views;
use crate::identity::{CellId, UeSlot};
use crate::mac::sched::{Candidates, UeView, settle};
use crate::mac::slots::Slots;
use crate::radio::{Air, Measurement, Receivers, Report};
use crate::ue::MacSide;
use airwnd_kernel::Direction;
use airwnd_phy::Cqi;
use airwnd_phy::access::Access;
use airwnd_units::{Bytes, Span, Tti};
use std::sync::Arc;

/// The channel state of a cell's UEs on a carrier.
pub(crate) struct Csi {
    /// Number of the cell.
    cell: CellId,
    access: Arc<Access>,
    timing: ReportTiming,
    versions: Versions,
    /// By slot.
    states: Vec<State>,
    /// UEs that may have a newer report than the one in their view.
    stale: Slots,
    /// Number of times that UEs had moved at the last decision.
    moves: u64,
    /// UEs whose reports are known; `None`: all are.
    known: Option<KnownChannels>,
    views: Views,
}

/// Channel state of a UE.
#[derive(Clone, Copy)]
struct State {
    /// The UE as the scheduler sees it, with the newest report when it last had data.
    view: UeView,
    /// Version of that report.
    version: Option<u64>,
}

impl State {
    /// A new UE at this slot.
    fn at(slot: UeSlot) -> State {
        let view = UeView {
            queue: Bytes::ZERO,
            head_of_line: Span::ZERO,
            report: 0,
            slot,
            rank: 1,
            wideband: Cqi::OUT_OF_RANGE,
            flat: None,
        };
        State { view, version: None }
    }
}

impl Csi {
    /// The channel state of the UEs of a cell without UEs.
    pub fn new(cell: CellId, access: &Arc<Access>, timing: ReportTiming) -> Csi {
        Csi {
            cell,
            access: access.clone(),
            timing,
            versions: Versions::new(timing.period),
            states: Vec::new(),
            stale: Slots::default(),
            moves: 0,
            known: KnownChannels::new(access, Direction::Down),
            views: Views::default(),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: UeSlot) {
        settle(&mut self.states, slot, State::at(slot));
        let count = self.states.len();
        self.stale.reserve(count);
        self.views.reserve(count);
        self.views.note_report(slot);
        self.stale.insert(slot);
        if let Some(known) = &mut self.known {
            known.admit(slot);
        }
    }

    /// Removes the UE of a slot.
    pub fn release(&mut self, slot: UeSlot) {
        self.states[slot.index()] = State::at(slot);
    }

    /// Notes the backlog of a UE. Returns whether it had data before.
    #[inline(always)]
    pub fn set_backlog(&mut self, slot: UeSlot, backlog: Bytes) -> bool {
        let queue = &mut self.states[slot.index()].view.queue;
        self.views.note_change(slot);
        std::mem::replace(queue, backlog) > Bytes::ZERO
    }

    /// Notes feedback to a block of a UE, by which the cell learns its channel.
    pub fn on_feedback(&mut self, slot: UeSlot, tti: Tti) {
        if let Some(known) = &mut self.known {
            known.learn(slot, tti);
        }
    }

    /// Notes the measurements that the MAC has learned since the last call.
    pub fn update(&mut self, tti: Tti, air: &mut Air<'_>) {
        let repeats = !air.receivers.differs_by_tti(air.radio);
        for (phase, at) in self.versions.due(tti, self.timing.measurements(tti)) {
            let measured = self.access.timing.measurable(at);
            let pattern = repeats.then(|| air.radio.pattern_before(measured));
            if self.versions.has_pattern(phase, pattern) {
                continue;
            }
            let input = pattern.map(|_| air.receivers.repeatable(air.radio, self.cell, measured));
            if self.versions.note(phase, pattern, input) {
                let slots = self.timing.slots_at(phase, self.states.len());
                slots.for_each(|slot| self.stale.insert(slot));
            }
        }
    }

    /// Lists these UEs for a decision with the newest report of each.
    pub fn refresh(&mut self, tti: Tti, slots: &Slots, air: &mut Air<'_>, ues: &MacSide<'_>) {
        let Air { radio, receivers } = air.reborrow();
        if self.moves != radio.moves() {
            self.moves = radio.moves();
            self.stale.fill();
        }
        if radio.is_large() {
            let measuring = self.stale.iter_common(slots);
            measuring.for_each(|slot| receivers.prefetch(radio, ues.number(slot)));
        }
        let measurements = self.timing.measurements(tti);
        let Csi { cell, access, timing, versions, states, stale, views, .. } = self;
        stale.take_common(slots, |slot| {
            let (phase, ue) = (timing.phase(slot), ues.number(slot));
            // Both parts grow, so that equal sums are equal numbers.
            let version = Some(versions.at(phase) + radio.version(ue));
            let state = &mut states[slot.index()];
            if state.version != version {
                state.version = version;
                let measured = access.timing.measurable(measurements.newest(phase));
                let pattern = receivers.pattern(radio, *cell, measured);
                let measurement = Measurement { cell: *cell, slot, ue, pattern, measured };
                let report = receivers.newest_report(radio, measurement);
                set_report(&mut state.view, report);
                views.note_report(slot);
            }
        });
        views.list(slots, |slot| states[slot.index()].view);
        if ues.has_drx() {
            self.use_held_reports(measurements, receivers, ues);
        }
        if self.known.is_some() {
            self.use_lowest_reports(tti);
        }
    }

    /// Replaces the reports of UEs that have been asleep since by those that the cell holds.
    #[inline(never)]
    fn use_held_reports(&mut self, measurements: Measurements, receivers: &Receivers, ues: &MacSide<'_>) {
        for view in self.views.edit() {
            let newest = measurements.newest(self.timing.phase(view.slot));
            let held = receivers.held(self.cell, view.slot, ues.number(view.slot));
            if let Some(report) = held.filter(|_| !ues.is_active(view.slot, self.timing.report_of(newest))) {
                set_report(view, report);
            }
        }
    }

    /// Replaces the reports of UEs whose channel is not known by the lowest CQI.
    #[inline(never)]
    fn use_lowest_reports(&mut self, tti: Tti) {
        let Some(known) = &mut self.known else { return };
        known.forget(tti);
        let lowest = Report { index: 0, rank: 1, wideband: LOWEST, flat: Some(LOWEST) };
        let views = self.views.edit().iter_mut();
        views.filter(|view| !known.contains(view.slot)).for_each(|view| set_report(view, lowest));
    }

    /// The listed UEs with the reports of their cell.
    pub fn candidates<'a>(&'a self, receivers: &'a Receivers) -> Candidates<'a> {
        self.views.candidates(receivers.reports(self.cell))
    }

    /// The view of a listed UE.
    pub fn view(&self, slot: UeSlot) -> &UeView {
        self.views.of(slot)
    }

    /// The listed views, to be edited until the next list.
    pub fn edit_views(&mut self) -> &mut [UeView] {
        self.views.edit()
    }

    /// Leaves some of the listed UEs, until the next list.
    pub fn retain(&mut self, stays: impl Fn(UeSlot) -> bool) {
        self.views.retain(stays);
    }
}

/// Replaces the channel report of a UE.
fn set_report(view: &mut UeView, Report { index, rank, wideband, flat }: Report) {
    *view = UeView { report: index, rank, wideband, flat, ..*view };
}
