//! Neighbouring cells with their UEs: what one thread processes in a TTI.
//!
//! In each TTI every [`Region`] first [decides](Region::decide) what its cells and UEs send; when all of that is on air,
//! it [receives](Region::receive) it. Meanwhile it reads the common channel and changes nothing but its own state, so
//! that the result does not depend on the order of regions, nor on the number of threads.

use crate::bearer::Bearer;
use crate::enb::{Cell, FREE_SLOT, ReportTiming};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::Content;
use crate::mac::power_control;
use crate::radio::{Air, Measurement, Radio, Receivers, UplinkSignal};
use crate::settings::RanSetup;
use crate::trace::{Control, ControlRecord, RadioEvent};
use crate::ue::{DownlinkReport, EventLog, LegId, MacSide, Signal, SignalContent, Ue, UeTable};
use airwnd_kernel::{Direction, prefetch};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::Access;
use airwnd_rlc::Sdu;
use airwnd_units::{Time, Tti};
use std::ops::Range;
use std::sync::Arc;

/// TTIs between two SINR samples of a UE's figures.
// For results only; the scheduler uses every report.
const SAMPLE_PERIOD: u64 = 10;
/// Maximum number of UEs sampled in a TTI: with more UEs each of them is sampled less often.
const MAX_SAMPLES: usize = 200;

/// Settings that apply in all cells.
#[derive(Clone)]
pub(crate) struct Rules {
    pub power_control: power_control::Params,
    /// Whether sounding signals do not interfere with each other.
    pub soundings_apart: bool,
    pub reports: ReportTiming,
    /// TTIs whose transmissions are remembered for channel reports.
    pub remembered: u64,
    pub srs_period: u64,
}

/// Cells that are neighbours by number, their UEs, and the receivers of both.
pub(crate) struct Region {
    /// Number of the first cell.
    first: CellId,
    pub cells: Vec<Cell>,
    pub table: UeTable,
    /// The receivers of each carrier.
    receivers: Vec<Receivers>,
    rules: Rules,
    access: Arc<Access>,
    /// Scratch: signals of UEs to the cells.
    signals: Vec<Signal>,
    /// PDUs decoded in the last TTI, which reach RLC at its end.
    decoded_down: Vec<(UeId, Content)>,
    pub decoded_up: Vec<(UeId, Content)>,
    /// The sounding signals on air, with the cells that they are for.
    soundings: Vec<(CellId, UplinkSignal)>,
    /// Scratch: UEs of a cell whose SINR is not known, with their slots.
    unknown: Vec<(UeSlot, UeId)>,
}

impl Region {
    /// A region of these cells of a setup; their UEs are still to be added.
    pub fn new(
        setup: &RanSetup,
        carriers: &[ComponentCarrier],
        radio: &Radio,
        rules: &Rules,
        first: CellId,
        cells: Vec<Cell>,
    ) -> Region {
        let access = &carriers[0].access;
        let users = cells.iter().flat_map(|cell| &cell.users).copied();
        let (table, ues) = (UeTable::new(setup, access, users.clone()), users.count());
        let wideband = cells.iter().any(|cell| cell.downlinks[0].uses_wideband());
        let receivers = |(carrier, radio)| {
            let mut receivers =
                Receivers::new(setup, carrier, radio, first.index()..first.index() + cells.len(), wideband);
            for (number, cell) in first.onwards().zip(&cells) {
                receivers.reserve(number, cell.users.len());
            }
            receivers
        };
        Region {
            first,
            table,
            receivers: carriers.iter().zip(radio.all()).map(receivers).collect(),
            rules: rules.clone(),
            access: access.clone(),
            signals: Vec::with_capacity(ues),
            decoded_down: Vec::with_capacity(16 * cells.len()),
            decoded_up: Vec::with_capacity(ues),
            soundings: Vec::with_capacity(cells.len()),
            unknown: Vec::with_capacity(MAX_SAMPLES),
            cells,
        }
    }

    /// The numbers of its cells.
    fn numbers(&self) -> impl Iterator<Item = CellId> + use<> {
        self.first.onwards().take(self.cells.len())
    }

    /// Index of the cell with this number.
    #[inline]
    fn place(&self, number: CellId) -> usize {
        number.index_from(self.first)
    }

    /// The cell with this number.
    pub fn cell(&self, number: CellId) -> &Cell {
        &self.cells[self.place(number)]
    }

    /// Bytes per TTI that the carriers of a UE would carry by its newest channel reports, each if it served no other UE;
    /// `None`: no cell can schedule it.
    pub fn whole_cell(&mut self, radio: &Radio, number: UeId, tti: Tti) -> Option<f64> {
        let ue = self.table.get(number);
        let (cell, slot, carriers) = (ue.cell, ue.slot, ue.carriers.into());
        if !ue.joined {
            return None;
        }
        let place = self.place(cell);
        let (_, newest) = self.newest_report(cell, slot, tti)?;
        let measured = self.access.timing.measurable(newest);
        let Region { cells, receivers, .. } = self;
        let used = radio.all().zip(receivers).zip(&cells[place].downlinks).take(carriers);
        let whole = used.map(|((radio, receivers), downlink)| {
            let pattern = receivers.pattern(radio, cell, measured);
            let measurement = Measurement { cell, slot, ue: number, pattern, measured };
            let report = receivers.report(radio, measurement);
            downlink.whole(slot, &receivers.reports(cell)[report.index as usize])
        });
        Some(whole.sum())
    }

    /// Frees the memory of a UE's links to other cells than its neighbours, which have been selected anew.
    pub fn keep(&mut self, radio: &Radio, ue: UeId) {
        for (radio, receivers) in radio.all().zip(&mut self.receivers) {
            receivers.keep(radio, ue);
        }
    }

    fn cell_mut(&mut self, number: CellId) -> &mut Cell {
        let place = self.place(number);
        &mut self.cells[place]
    }

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        self.table.is_idle()
            && self.decoded_down.is_empty()
            && self.decoded_up.is_empty()
            && self.cells.iter().all(Cell::is_idle)
    }

    /// Accounts for TTIs without transmissions: averages decay.
    pub fn on_idle(&mut self, ttis: Range<Tti>) {
        for cell in &mut self.cells {
            cell.on_idle(ttis.clone());
        }
    }

    // Phases of a TTI.

    /// Starts a TTI: buffer reports, scheduling decisions, and what the UEs make of their grants.
    pub fn decide(&mut self, radio: &Radio, tti: Tti) {
        if self.table.has_promotions() {
            self.promote(tti);
        }
        if self.table.has_drx {
            self.hold_reports(radio, tti);
        }
        self.report_buffers(tti);
        // TPC commands in grants of this TTI do not apply to it yet.
        self.sound(radio, tti);
        self.schedule(radio, tti);
    }

    /// Receives what is on air.
    pub fn receive(&mut self, radio: &Radio, tti: Tti) {
        if radio.is_large() {
            self.prefetch_receiving(radio, tti);
        }
        self.receive_soundings(radio, tti);
        let Region { cells, table, receivers, decoded_down, decoded_up, .. } = self;
        for cell in cells {
            let Cell { users, downlinks, uplink, .. } = cell;
            let ues = &mut MacSide::new(table, users);
            for (number, downlink) in downlinks.iter_mut().enumerate() {
                let air = Air { radio: radio.carrier(number), receivers: &mut receivers[number] };
                downlink.receive(tti, air, ues, decoded_down);
            }
            uplink.receive(tti, Air { radio, receivers: &mut receivers[0] }, ues, decoded_up);
        }
        if tti.0.is_multiple_of(SAMPLE_PERIOD) {
            self.sample_sinr(radio, tti);
        }
    }

    /// Requests the memory that the reception of a TTI needs first of the UEs that send and receive.
    fn prefetch_receiving(&self, radio: &Radio, tti: Tti) {
        let Region { cells, table, receivers, soundings, .. } = self;
        let receivers = &receivers[0];
        for (_, signal) in soundings {
            receivers.prefetch_uplink(radio, signal.ue);
        }
        for cell in cells {
            for slot in cell.downlinks[0].receiving(tti) {
                let ue = cell.users[slot.index()];
                receivers.prefetch(radio, ue);
                prefetch(&table.ues[ue].downlink);
            }
            for sending in cell.uplink.on_air(tti) {
                let ue = sending.signal.ue;
                receivers.prefetch_uplink(radio, ue);
                prefetch(&table.ues[ue].uplink);
            }
        }
    }

    /// Delivers the decoded blocks of a direction to RLC at their end.
    pub fn reassemble(&mut self, now: Time, direction: Direction) {
        let mut decoded = std::mem::take(self.decoded(direction));
        for (number, _) in &decoded {
            self.table.prefetch_rlc(*number, direction);
        }
        for &(number, content) in &decoded {
            if let Some(report) = self.table.receive(now, number, direction, content) {
                report_down(&mut self.cells, self.first, report);
            }
        }
        decoded.clear();
        *self.decoded(direction) = decoded;
    }

    /// Number of decoded blocks of both directions.
    pub fn decoded_blocks(&self) -> usize {
        self.decoded_down.len() + self.decoded_up.len()
    }

    fn decoded(&mut self, direction: Direction) -> &mut Vec<(UeId, Content)> {
        match direction {
            Direction::Down => &mut self.decoded_down,
            Direction::Up => &mut self.decoded_up,
        }
    }

    /// Handles expired timers of RLC.
    pub fn expire(&mut self, now: Time) {
        let Region { first, cells, table, .. } = self;
        table.expire(now, |report| report_down(cells, *first, report));
    }

    /// Repeats buffer reports to the MAC that are due, and sends UEs' new reports and requests.
    fn report_buffers(&mut self, tti: Tti) {
        let Region { first, cells, table, .. } = &mut *self;
        table.repeat_rlc_reports(tti, |report| report_down(cells, *first, report));
        let mut signals = std::mem::take(&mut self.signals);
        self.table.signal(tti, &mut signals);
        if self.table.trace.is_on() {
            self.note_signals(tti, &signals);
        }
        for Signal { cell, slot, content } in signals.drain(..) {
            let uplink = &mut self.cell_mut(cell).uplink;
            match content {
                SignalContent::Report(waiting) => uplink.send_report(tti, slot, waiting),
                SignalContent::Request => uplink.on_request(tti, slot),
            }
        }
        self.signals = signals;
    }

    /// Notes what UEs send outside of blocks for an observer.
    #[cold]
    #[inline(never)]
    fn note_signals(&mut self, tti: Tti, signals: &[Signal]) {
        for Signal { cell, slot, content } in signals {
            let content = match *content {
                SignalContent::Report(waiting) => Control::Buffer(waiting),
                SignalContent::Request => Control::Request,
            };
            let ue = self.cell(*cell).users[slot.index()];
            self.table.note(tti, ue, RadioEvent::Control(ControlRecord { content, process: None }));
        }
    }

    fn schedule(&mut self, radio: &Radio, tti: Tti) {
        let Region { cells, table, receivers, rules, .. } = self;
        for cell in cells {
            cell.schedule(tti, radio, receivers, table, &rules.power_control);
        }
    }

    /// Collects the sounding signals of a TTI: equal offsets in all cells coincide, so they interfere.
    pub fn sound(&mut self, radio: &Radio, tti: Tti) {
        //= exception nr-reports-in-any-slot
        let offset = (tti.0 % self.rules.srs_period) as usize;
        let prbs = radio.prbs();
        let Region { first, cells, table, receivers, rules, soundings, .. } = self;
        let receivers = &mut receivers[0];
        soundings.clear();
        for (number, cell) in first.onwards().zip(cells) {
            if let Some(slot) = cell.sounding[offset] {
                let ue = cell.users[slot.index()];
                if table.has_drx && !table.is_active(ue, tti) {
                    continue;
                }
                let commanded = table.ues[ue].commanded;
                let control = &rules.power_control;
                let power = receivers.uplink_power(radio, ue, prbs, control, commanded);
                soundings.push((number, UplinkSignal { ue, first: 0, prbs: prbs.0, power }));
            }
        }
    }

    /// Adds the skipped TTIs before this one in which UEs with DRX have sent their last sounding signals.
    pub fn last_soundings(&self, tti: Tti, skipped: u64, into: &mut Vec<Tti>) {
        let period = self.rules.srs_period;
        for cell in &self.cells {
            let sounding = (0..).zip(&cell.sounding).filter_map(|(offset, slot)| Some((offset, (*slot)?)));
            for (offset, slot) in sounding {
                let before = tti.0 - 1;
                let Some(latest) = before.checked_sub((before + period - offset) % period) else { continue };
                let occasions = (tti.0 - skipped..=latest).rev().step_by(period as usize).map(Tti);
                let ue = cell.users[slot.index()];
                into.extend(occasions.into_iter().find(|occasion| self.table.is_active(ue, *occasion)));
            }
        }
    }

    /// Puts the sounding signals and the UEs' transmissions on air.
    pub fn put_on_air(&self, radio: &mut Radio, tti: Tti) {
        //= exception soundings-apart
        if !self.rules.soundings_apart {
            self.soundings.iter().for_each(|(number, signal)| radio.sound(*number, *signal));
        }
        for (number, cell) in self.first.onwards().zip(&self.cells) {
            cell.uplink.on_air(tti).iter().for_each(|sending| radio.send_uplink(number, sending.signal));
        }
    }

    /// Measures the sounding signals on air.
    pub fn receive_soundings(&mut self, radio: &Radio, tti: Tti) {
        for (number, signal) in &self.soundings {
            let sinr = self.receivers[0].sounding_sinr(radio, *number, signal);
            let slot = self.table.ues[signal.ue].slot;
            self.cells[number.index_from(self.first)].uplink.on_sounding(tti, slot, sinr);
        }
    }

    /// Holds the last channel report of each UE that sends none any more because it has gone to sleep.
    //= TS 36.321 §5.7: without cqi-Mask
    fn hold_reports(&mut self, radio: &Radio, tti: Tti) {
        let ReportTiming { period, delay } = self.rules.reports;
        for cell in self.numbers() {
            for slot in UeSlot::all().take(self.cell(cell).users.len()) {
                let Some((ue, newest)) = self.newest_report(cell, slot, tti) else { continue };
                if newest + delay != tti || newest.0 < period {
                    continue;
                }
                let before = Tti(newest.0 - period);
                let [sends, sent] =
                    [newest, before].map(|at| self.table.is_active(ue, self.rules.reports.report_of(at)));
                if sent && !sends {
                    self.hold_report(radio, ue, before);
                }
            }
        }
    }

    /// Holds the last channel reports that sleeping UEs have sent in skipped TTIs.
    pub fn hold_skipped(&mut self, radio: &Radio, tti: Tti, skipped: u64) {
        let known = skipped.max(self.rules.remembered);
        for cell in self.numbers() {
            for slot in UeSlot::all().take(self.cell(cell).users.len()) {
                let Some((ue, newest)) = self.newest_report(cell, slot, tti) else { continue };
                let oldest = tti.0.saturating_sub(known) + 1;
                let mut measured =
                    (oldest..=newest.0).rev().step_by(self.rules.reports.period as usize).map(Tti);
                let sent = measured.find(|at| self.table.is_active(ue, self.rules.reports.report_of(*at)));
                if let Some(sent) = sent.filter(|sent| *sent != newest) {
                    self.hold_report(radio, ue, sent);
                }
            }
        }
    }

    /// The UE in a slot of a cell of the region, and the time of measurement of its newest channel report.
    fn newest_report(&self, cell: CellId, slot: UeSlot, tti: Tti) -> Option<(UeId, Tti)> {
        let ue = Some(self.cell(cell).users[slot.index()]).filter(|user| *user != FREE_SLOT)?;
        Some((ue, self.rules.reports.measurements(tti).newest(self.rules.reports.phase(slot))))
    }

    fn hold_report(&mut self, radio: &Radio, number: UeId, measured: Tti) {
        let measured = self.access.timing.measurable(measured);
        let Ue { cell, slot, .. } = self.table.ues[number];
        for (radio, receivers) in radio.all().zip(&mut self.receivers) {
            let pattern = receivers.pattern(radio, cell, measured);
            let measurement = Measurement { cell, slot, ue: number, pattern, measured };
            let report = receivers.report(radio, measurement);
            receivers.hold(cell, slot, report);
        }
    }

    fn sample_sinr(&mut self, radio: &Radio, tti: Tti) {
        let measured = self.access.timing.measurable(tti);
        let Region { first, cells, table, receivers, unknown, .. } = self;
        let receivers = &mut receivers[0];
        let groups = radio.ues().div_ceil(MAX_SAMPLES).max(1);
        let group = (tti.0 / SAMPLE_PERIOD) as usize % groups;
        for (cell, Cell { users, .. }) in first.onwards().zip(cells) {
            if users.is_empty() {
                continue;
            }
            let pattern = receivers.pattern(radio, cell, measured);
            let known = receivers.known_at(radio, cell, pattern);
            unknown.clear();
            let users = UeSlot::all().zip(users).map(|(slot, user)| (slot, *user));
            for (slot, number) in users.filter(|(_, number)| groups == 1 || number.index() % groups == group)
            {
                // A UE that has only reserved a slot is elsewhere.
                let Some(ue) = table.ues.find(number) else { continue };
                if !ue.joined || (ue.cell, ue.slot) != (cell, slot) {
                    continue;
                }
                let known = known.get(slot.index());
                match known.and_then(|known| known.sinr_of(number, radio.version(number))) {
                    Some(sinr) => ue.sample(sinr),
                    None => unknown.push((slot, number)),
                }
            }
            for &(slot, number) in &*unknown {
                let measurement = Measurement { cell, slot, ue: number, pattern, measured };
                let sinr = receivers.mean_sinr(radio, measurement);
                table.get(number).sample(sinr);
            }
        }
    }

    // Between TTIs.

    /// Enqueues a packet in a bearer, and reports it to the MAC.
    pub fn send(&mut self, packet: Sdu, id: LegId, events: &mut EventLog) {
        if let Some(report) = self.table.enqueue(packet, id, events) {
            report_down(&mut self.cells, self.first, report);
        }
    }

    /// Reports the buffer status of all bearers of a UE after a change of its cell or of its RLC.
    pub fn report_all(&mut self, now: Time, number: UeId) {
        if let Some(report) = self.table.report_all(now, number) {
            report_down(&mut self.cells, self.first, report);
        }
    }

    /// Reserves a slot of a cell for a UE, which may be in another region, if a slot and a sounding resource are free.
    pub fn reserve(&mut self, number: UeId, bearer: Bearer, cell: CellId) -> Option<UeSlot> {
        let (slot, is_new) = self.cell_mut(cell).reserve(number, bearer)?;
        if is_new {
            let slots = (slot.index() + 1).next_power_of_two();
            self.receivers.iter_mut().for_each(|receivers| receivers.reserve(cell, slots));
        }
        Some(slot)
    }

    /// Frees a slot.
    pub fn vacate(&mut self, cell: CellId, slot: UeSlot) {
        self.cell_mut(cell).vacate(slot);
    }

    /// A packet arrives for a UE. One that is released has no data: its MAC begins anew when it is promoted.
    pub fn on_packet(&mut self, now: Time, number: UeId, direction: Direction) {
        let is_released = self.table.on_packet(now, number, direction);
        let ue = self.table.get(number);
        if is_released && ue.attached {
            let (number, slot, bearer) = (ue.cell, ue.slot, ue.qos());
            self.cell_mut(number).restart(slot, bearer);
        }
    }

    /// Connects the UEs whose promotion has ended.
    #[cold]
    fn promote(&mut self, tti: Tti) {
        let now = self.access.clock.start(tti);
        while let Some(number) = self.table.promote_next(tti) {
            if self.table.get(number).attached {
                self.join(number, tti);
                self.report_all(now, number);
            }
        }
    }

    /// Lets the cell schedule an attached UE, unless it is being promoted.
    fn join(&mut self, number: UeId, tti: Tti) {
        let can_be_scheduled = self.table.join(number, tti);
        let Ue { cell, slot, weight, .. } = *self.table.get(number);
        if let Some(weight) = weight {
            self.cell_mut(cell).set_weight(slot, weight);
        }
        if self.table.has_drx && can_be_scheduled {
            let Ue { cell, slot, .. } = *self.table.get(number);
            self.receivers.iter_mut().for_each(|receivers| receivers.drop_held(cell, slot));
        }
        self.configure(number);
    }

    /// Sets the weight of a UE in the scheduler of any cell that serves it. Returns whether the one that serves it now has
    /// weights.
    pub fn set_weight(&mut self, number: UeId, weight: f64) -> bool {
        let ue = &mut self.table.ues[number];
        ue.weight = Some(weight);
        let (cell, slot, attached) = (ue.cell, ue.slot, ue.attached);
        !attached || self.cell_mut(cell).set_weight(slot, weight)
    }

    /// Lets the cell of a UE find a place for its configured grant.
    pub fn configure(&mut self, number: UeId) {
        let ue = &mut self.table.ues[number];
        let Some(params) = ue.configured_grant.as_ref().filter(|_| ue.joined) else { return };
        let uplink = &mut self.cells[ue.cell.index_from(self.first)].uplink;
        ue.masks_requests = uplink.configure(ue.slot, params) && params.masks_requests;
    }

    /// Detaches a UE from its cell; transmissions on air are lost.
    pub fn detach(&mut self, now: Time, number: UeId) {
        self.table.leave(now, number);
        let stays = |(other, _): &(UeId, Content)| *other != number;
        self.decoded_down.retain(stays);
        self.decoded_up.retain(stays);
        let Ue { cell, slot, .. } = *self.table.get(number);
        self.vacate(cell, slot);
    }

    /// Attaches a UE to the cell that has reserved a slot for it.
    pub fn attach(&mut self, now: Time, number: UeId) {
        let ue = &mut self.table.ues[number];
        ue.attached = true;
        let (cell, slot) = (ue.cell, ue.slot);
        self.join(number, self.access.clock.from(now));
        self.cell_mut(cell).attach(slot);
    }

    /// Adds a UE.
    pub fn admit(&mut self, number: UeId, ue: Box<Ue>) {
        self.table.admit(number, ue);
    }

    /// Removes a UE that is attached to none of the cells.
    pub fn release(&mut self, number: UeId) -> Box<Ue> {
        self.receivers.iter_mut().for_each(|receivers| receivers.leave(number));
        self.table.release(number)
    }
}

/// Passes a report of RLC at the eNB to the MAC of a cell, one of a region that begins with the cell `first`.
#[inline(always)]
fn report_down(cells: &mut [Cell], first: CellId, report: DownlinkReport) {
    let DownlinkReport { cell, slot, carriers, waiting } = report;
    cells[cell.index_from(first)].report(slot, carriers, waiting);
}

#[cfg(test)]
mod tests;
