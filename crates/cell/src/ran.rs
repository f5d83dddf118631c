//! The radio access network, advanced one TTI at a time.

use crate::access::Access;
use crate::agenda::{Agenda, Notice, Task};
use crate::handover::Forwarding;
use crate::identity::{CellId, UeId};
use crate::mac::downlink::Downlink;
use crate::mac::log::{Allocation, Log};
use crate::mac::uplink::Uplink;
use crate::mac::uplink_adaptation::{Density, Schemes};
use crate::mac::{BlockFigures, power_control};
use crate::phy::{Cqi, Mcs, Position, Prbs};
use crate::radio::{Radio, UplinkSignal};
use crate::reach::{LinkBudget, Reach, UplinkBudget};
use crate::rlc::{Content, DropCause, Returned, Sdu};
use crate::settings::RanSetup;
use crate::ue::{Dropped, Ue, UeTable, Waiting};
use airwnd_kernel::{Direction, Key};
use airwnd_links::aqm::Backlog;
use airwnd_units::{Bytes, Db, Dbm, SlotClock, Span, Time, Tti};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A packet that has crossed the radio link.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// UE of the bearer.
    pub ue: UeId,
    /// Direction of the packet.
    pub direction: Direction,
    /// The packet.
    pub packet: Key,
}

/// A packet forwarded to the new cell of its UE.
#[derive(Clone, Copy, Debug)]
pub struct Forward {
    /// UE of the packet.
    pub ue: UeId,
    /// Cell that holds the packet.
    pub from: CellId,
    /// The packet.
    pub packet: Key,
}

/// TTIs between two SINR samples of a UE's figures.
// For results only; the scheduler uses every report.
const SAMPLE_PERIOD: u64 = 10;
/// Maximum number of UEs sampled in a TTI: with more UEs each of them is sampled less often.
const MOST_SAMPLES: usize = 2000;
/// Entry of a free slot.
const FREE_SLOT: u32 = u32::MAX;

/// The radio access network: cells and UEs, driven by TTIs, which are slots in NR.
///
/// The caller passes packets in with [`send`](Ran::send). At the start of each TTI it calls [`receive`](Ran::receive),
/// processes the packets that have arrived, and calls [`transmit`](Ran::transmit). TTIs may be skipped while
/// [`is_idle`](Ran::is_idle).
pub struct Ran {
    access: Arc<Access>,
    radio: Radio,
    cells: Vec<Cell>,
    table: UeTable,
    agenda: Agenda,
    forwarding: Forwarding,
    power_control: power_control::Params,
    schemes: Schemes,
    request_period: u64,
    cqi_period: u64,
    cqi_delay: u64,
    srs_period: u64,
    next: Tti,
    /// UEs with a report from RLC to the MAC since the last TTI.
    fresh: Vec<u32>,
    /// PDUs decoded in the last TTI, which reach RLC at its end.
    decoded_down: Vec<(u32, Content)>,
    decoded_up: Vec<(u32, Content)>,
    arrivals: Vec<Arrival>,
    forwards: Vec<Forward>,
    /// Packets returned by RLC at re-establishment; otherwise empty.
    returned: VecDeque<Returned>,
    signals: Vec<(usize, UplinkSignal)>,
    /// Pattern and time of measurement of a cell's newest reports, by phase within the reporting period.
    patterns: Vec<Option<(usize, Tti)>>,
}

struct Cell {
    /// By slot; [`FREE_SLOT`] in free slots.
    users: Vec<u32>,
    /// Phase of each UE's channel reports within the period.
    phases: Vec<u16>,
    downlink: Downlink,
    uplink: Uplink,
    /// Slots by offset of the sounding signal; at most one per offset, since each offset is one resource.
    sounding: Vec<Option<u16>>,
}

/// A UE's figures so far.
#[derive(Clone, Copy, Debug)]
pub struct UeFigures {
    /// Position.
    pub position: Position,
    /// Serving cell.
    pub cell: CellId,
    /// Newest sample of the reported SINR.
    pub sinr: Option<Db>,
    /// Mean over time of the reported SINR, in dB.
    pub mean_sinr: Option<Db>,
    /// RSRP: power of one reference-signal resource element.
    pub rsrp: Dbm,
    /// Downlink blocks.
    pub downlink: BlockFigures,
    /// Uplink blocks.
    pub uplink: BlockFigures,
    /// SINR of the last sounding signal, which covers the carrier.
    pub sounding_sinr: Option<Db>,
    /// Whether data can be transmitted in the downlink.
    pub downlink_reach: Reach,
    /// Whether data can be transmitted in the uplink.
    pub uplink_reach: Reach,
    /// Radio link failures, including RLC maximum retransmissions (maxRetxThreshold).
    pub failures: u64,
    /// Number of handovers.
    pub handovers: u64,
}

impl UeFigures {
    /// Transport blocks of one direction.
    pub fn blocks(&self, direction: Direction) -> BlockFigures {
        match direction {
            Direction::Down => self.downlink,
            Direction::Up => self.uplink,
        }
    }
}

/// A cell's figures at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct CellFigures {
    /// Number of UEs served.
    pub users: usize,
    /// PRBs of its carrier in one TTI.
    pub prbs: Prbs,
    /// Parts of the TTIs with downlink data and with uplink data: less than one in TDD.
    pub shares: [f64; 2],
    /// PRBs used for downlink data, retransmissions included.
    pub downlink_prbs: u64,
    /// Bytes of decoded downlink blocks.
    pub downlink_bytes: u64,
    /// PRBs used for uplink data.
    pub uplink_prbs: u64,
    /// Bytes of decoded uplink blocks.
    pub uplink_bytes: u64,
}

/// Reason why a setup cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbuildable(pub String);

impl Ran {
    /// Builds cells and UEs and attaches each UE to its cell.
    //= exception no-attach
    pub fn new(setup: &RanSetup) -> Result<Ran, Unbuildable> {
        let (cqi_period, cqi_delay) = (u64::from(setup.radio.cqi_period), u64::from(setup.radio.cqi_delay));
        let access = Arc::new(setup.access()?);
        let mut radio =
            Radio::new(setup, &access, remembered(cqi_period, cqi_delay) + access.timing.most_unmeasured());
        let mut agenda = Agenda::new(setup);
        let mut positions: Vec<Position> = setup.ues.iter().map(|ue| ue.position).collect();
        for (ue, [x, y]) in agenda.start_positions() {
            positions[ue] = Position { x, y, ..positions[ue] };
            radio.place(Time::ZERO, ue, positions[ue]);
        }
        let serving: Vec<usize> = (0..setup.ues.len())
            .map(|ue| setup.ues[ue].cell.map_or_else(|| radio.strongest(ue), |cell| usize::from(cell.0)))
            .collect();
        let mut users = vec![Vec::new(); setup.cells.len()];
        for (ue, cell) in serving.iter().enumerate() {
            users[*cell].push(ue as u32);
        }
        let counts: Vec<usize> = users.iter().map(Vec::len).collect();
        for (cell, users) in counts.iter().enumerate() {
            radio.reserve(cell, *users);
        }
        for (ue, cell) in serving.iter().enumerate() {
            radio.serve(ue, *cell);
        }
        let srs_period = srs_period(setup, counts.iter().copied().max().unwrap_or(0))?;
        let mut slots = vec![0; setup.ues.len()];
        let schemes = setup.uplink_schemes(&access);
        let cells = users
            .into_iter()
            .enumerate()
            .map(|(number, users)| {
                let mut downlink = Downlink::new(setup, &access);
                let mut uplink = Uplink::new(setup, &access, schemes.clone());
                let mut sounding = vec![None; usize::from(srs_period)];
                for (slot, ue) in (0..).zip(&users) {
                    let site = &setup.ues[*ue as usize];
                    slots[*ue as usize] = slot;
                    downlink.admit(slot, site.bearer);
                    uplink.admit(slot);
                    let offset = site.srs_offset.unwrap_or(slot);
                    match sounding.get_mut(usize::from(offset)) {
                        Some(free @ None) => *free = Some(slot),
                        Some(_) => {
                            return Err(Unbuildable(format!(
                                "two UEs of cell {number} have the sounding offset {offset}"
                            )));
                        }
                        None => {
                            return Err(Unbuildable(format!(
                                "a sounding offset of {offset} does not fit a period of {srs_period} TTI"
                            )));
                        }
                    }
                }
                // ns-3's phases depend on the time of a UE's connection; without attach they follow the slot in the
                // cell.
                let phases = (0..users.len()).map(|slot| (slot % usize::from(setup.radio.cqi_period)) as u16);
                Ok(Cell { phases: phases.collect(), users, downlink, uplink, sounding })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut ues: Vec<Ue> = (0..setup.ues.len())
            .map(|ue| Ue::new(setup, &access, &radio, ue, serving[ue], slots[ue]))
            .collect();
        ues.iter_mut().zip(positions).for_each(|(ue, position)| ue.position = position);
        Ok(Ran {
            radio,
            cells,
            table: UeTable::new(setup, &access, ues),
            agenda,
            forwarding: setup.handover.forwarding,
            power_control: setup.power_control(&access),
            schemes,
            request_period: setup.mac.request_period.ttis(access.clock),
            fresh: Vec::with_capacity(setup.ues.len()),
            cqi_period,
            cqi_delay,
            srs_period: u64::from(srs_period),
            next: Tti(0),
            decoded_down: Vec::with_capacity(16),
            decoded_up: Vec::with_capacity(setup.ues.len()),
            arrivals: Vec::with_capacity(256),
            returned: VecDeque::new(),
            forwards: Vec::with_capacity(64),
            signals: Vec::with_capacity(setup.ues.len()),
            patterns: vec![None; usize::from(setup.radio.cqi_period)],
            access,
        })
    }

    /// Enqueues a packet, with its size including the IP header, in a UE's bearer: at the eNB or at the UE.
    pub fn send(&mut self, ue: UeId, direction: Direction, packet: Sdu) {
        self.table.ues[ue.0 as usize].leg(direction).rlc.enqueue(packet, &mut self.table.events);
        self.time_report(packet.arrived, ue.0, direction);
        self.report(packet.arrived, ue.0, direction);
    }

    /// Restarts the timer of buffer reports after an arrival, which is reported at once. In acknowledged mode it is
    /// reported again after a period, in unacknowledged mode only after a transmission opportunity.
    fn time_report(&mut self, now: Time, number: u32, direction: Direction) {
        let UeTable { ues, report_timers, .. } = &mut self.table;
        let leg = ues[number as usize].leg(direction);
        if leg.rlc.is_acknowledged() {
            let next = self.access.clock.from(now);
            report_timers.arm(next, (number, direction), &mut leg.report_at);
        } else {
            report_timers.disarm(&mut leg.report_at);
        }
    }

    /// Reports RLC's buffer status to the MAC of a direction.
    fn report(&mut self, now: Time, number: u32, direction: Direction) {
        let ue = &mut self.table.ues[number as usize];
        match direction {
            Direction::Down => {
                if ue.joined {
                    let waiting = ue.reported(now, direction);
                    self.cells[ue.cell].downlink.on_report(ue.slot, waiting);
                }
            }
            Direction::Up => ue.on_uplink_report(now, number, &mut self.fresh),
        }
    }

    /// Moves a UE.
    pub fn place(&mut self, now: Time, ue: UeId, position: Position) {
        let number = ue.0 as usize;
        self.table.ues[number].place(now, number, position, &mut self.radio);
    }

    /// Whether no TTI is needed until a packet is sent.
    pub fn is_idle(&self) -> bool {
        self.decoded_down.is_empty()
            && self.decoded_up.is_empty()
            && self.table.is_idle()
            && self.fresh.is_empty()
            && self.cells.iter().all(|cell| cell.downlink.is_idle() && cell.uplink.is_idle())
    }

    /// The clock of its TTIs.
    pub fn clock(&self) -> SlotClock {
        self.access.clock
    }

    /// Time from the TTI at whose start a packet waits at an idle UE to its arrival at the eNB, averaged over the
    /// phases of scheduling requests.
    pub fn uplink_crossing(&self) -> Span {
        let timing = &self.access.timing;
        let requested = self.table.request_grants();
        let until_request = if requested { self.request_period / 2 } else { 0 };
        let slots = until_request + timing.uplink_wait(requested);
        Span(slots * self.access.clock.slot().0) + timing.uplink_duration
    }

    /// Time from the TTI at whose start a packet waits at the eNB to its arrival at the UE, if one block carries it.
    pub fn downlink_crossing(&self) -> Span {
        Span((self.access.timing.downlink_wait() + 1) * self.access.clock.slot().0)
    }

    /// The MCS of blocks to a UE that reports this CQI, without outer-loop link adaptation.
    pub fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.access.mcs_of(cqi)
    }

    /// Time at which the uplink blocks of a transmitted TTI reach RLC, if any was decoded.
    pub fn uplink_ends(&self, tti: Tti) -> Option<Time> {
        (!self.decoded_up.is_empty())
            .then(|| self.access.clock.start(tti) + self.access.timing.uplink_duration)
    }

    /// Delivers decoded uplink blocks to RLC at their end.
    pub fn receive_uplink(&mut self, now: Time) {
        self.reassemble(now, Direction::Up);
    }

    fn reassemble(&mut self, now: Time, direction: Direction) {
        let mut decoded = std::mem::take(self.decoded(direction));
        for (number, content) in decoded.drain(..) {
            let Ran { table: UeTable { ues, events, .. }, arrivals, .. } = self;
            let (leg, other) = ues[number as usize].legs(direction);
            {
                let mut deliver = arrive(arrivals, number, direction);
                leg.rlc.receive(now, content, &mut other.rlc, &mut deliver, events);
            }
            self.follow(now, number);
        }
        *self.decoded(direction) = decoded;
    }

    /// Delivers decoded downlink blocks to RLC at the end of the TTI before `tti`.
    pub fn receive(&mut self, tti: Tti) {
        let now = self.access.clock.start(tti);
        self.reassemble(now, Direction::Down);
        for index in 0..self.table.timed.len() {
            let (number, direction) = self.table.timed.get(index);
            let Ran { table: UeTable { ues, events, .. }, arrivals, .. } = self;
            let leg = ues[number as usize].leg(direction);
            if leg.rlc.deadline().is_some_and(|deadline| deadline <= now) {
                leg.rlc.expire(now, &mut arrive(arrivals, number, direction), events);
                self.follow(now, number);
            }
        }
        let UeTable { timed, ues, .. } = &mut self.table;
        timed.remove_stopped(ues);
    }

    fn decoded(&mut self, direction: Direction) -> &mut Vec<(u32, Content)> {
        match direction {
            Direction::Down => &mut self.decoded_down,
            Direction::Up => &mut self.decoded_up,
        }
    }

    /// Handles the consequences of received PDUs or expired timers of a UE's bearer.
    fn follow(&mut self, now: Time, number: u32) {
        for direction in [Direction::Down, Direction::Up] {
            let UeTable { ues, timed, .. } = &mut self.table;
            let (leg, other) = ues[number as usize].legs(direction);
            timed.watch(number, direction, leg);
            if leg.rlc.take_pending_report(&mut other.rlc) {
                self.report(now, number, direction);
            }
        }
        self.table.ues[number as usize].note_empty(now);
        if self.table.ues[number as usize].has_failed() && !self.fail_link(now, number as usize) {
            self.table.ues[number as usize].failures += 1;
            self.re_establish_rlc(now, number);
        }
    }

    /// Re-establishes RLC of a UE whose link has failed, without losing packets.
    //= TS 36.322 §5.2.1
    //= exception failure-begins-anew
    fn re_establish_rlc(&mut self, now: Time, number: u32) {
        for direction in [Direction::Down, Direction::Up] {
            let mut returned = std::mem::take(&mut self.returned);
            let UeTable { ues, events, .. } = &mut self.table;
            let leg = ues[number as usize].leg(direction);
            leg.rlc.release(now, DropCause::LinkFailure, &mut returned, events);
            leg.rlc.resume(returned.drain(..));
            self.returned = returned;
        }
        for direction in [Direction::Down, Direction::Up] {
            self.time_report(now, number, direction);
            self.report(now, number, direction);
        }
    }

    /// Starts a TTI: buffer reports, scheduling decisions and transmissions.
    pub fn transmit(&mut self, tti: Tti) {
        let skipped = tti.0.saturating_sub(self.next.0);
        if skipped > 0 {
            self.wake(tti, skipped);
        }
        self.next = tti + 1;
        self.radio.begin(tti);
        self.report_buffers(tti);
        self.schedule(tti);
        self.put_on_air(tti);
        if tti.0.is_multiple_of(SAMPLE_PERIOD) {
            self.sample_sinr(tti);
        }
    }

    /// Accounts for skipped TTIs: averages decay, nothing was on air.
    fn wake(&mut self, tti: Tti, skipped: u64) {
        self.radio.skip(tti, skipped);
        for cell in &mut self.cells {
            cell.downlink.on_idle(skipped);
            cell.uplink.on_idle(skipped);
        }
        for missed in (tti.0 - skipped.min(self.srs_period))..tti.0 {
            self.radio.begin(Tti(missed));
            self.sound(Tti(missed));
        }
    }

    /// Repeats buffer reports to the MAC that are due, and sends UEs' new reports and requests.
    fn report_buffers(&mut self, tti: Tti) {
        let now = self.access.clock.start(tti);
        let mut due = self.table.report_timers.take(tti);
        for bearer @ (number, direction) in due.drain(..) {
            let ue = &mut self.table.ues[number as usize];
            if ue.leg(direction).report_at != Some(tti) {
                continue;
            }
            // ns-3 reports nothing for an empty bearer, so its cell may count PDUs as unacknowledged indefinitely.
            let waiting = ue.reported(now, direction);
            if waiting.again + waiting.new > Bytes::ZERO {
                self.table.report_timers.arm(tti, bearer, &mut ue.leg(direction).report_at);
            } else {
                self.table.report_timers.disarm(&mut ue.leg(direction).report_at);
            }
            self.report(now, number, direction);
        }
        self.table.report_timers.put_back(tti, due);
        self.repeat_reports(tti);
        let Ran { cells, table, fresh, .. } = self;
        let requested = table.request_grants();
        for number in fresh.drain(..) {
            let ue = table.get(number);
            ue.fresh = false;
            if ue.joined {
                if requested {
                    table.update_request(number, false);
                } else {
                    cells[ue.cell].uplink.send_report(tti, ue.slot, ue.unsent.total());
                    table.await_grant(number, tti);
                }
            }
        }
        let UeTable { ues, requesting, .. } = table;
        for number in requesting {
            let Ue { cell, slot, .. } = ues[*number as usize];
            //= TS 36.213 Table 10.1.5-1
            if (tti.0 + self.request_period - u64::from(slot) % self.request_period)
                .is_multiple_of(self.request_period)
            {
                cells[cell].uplink.on_request(tti, slot);
            }
        }
    }

    /// Repeats the reports of UEs whose wait for a grant has exceeded retxBSR-Timer.
    //= TS 36.321 §5.4.5
    //= exception reports-are-not-repeated
    fn repeat_reports(&mut self, tti: Tti) {
        let now = self.access.clock.start(tti);
        let Ran { table, fresh, .. } = self;
        let requested = table.request_grants();
        let Some(timers) = &mut table.retx_bsr_timers else { return };
        let due = timers.take(tti);
        for number in &due {
            let UeTable { ues, retx_bsr_timers: Some(timers), .. } = table else { break };
            let ue = &mut ues[*number as usize];
            if ue.report_again_at == Some(tti) {
                timers.disarm(&mut ue.report_again_at);
                ue.on_uplink_report(now, *number, fresh);
                if requested {
                    table.update_request(*number, true);
                }
            }
        }
        if let Some(timers) = &mut table.retx_bsr_timers {
            timers.put_back(tti, due);
        }
    }

    fn schedule(&mut self, tti: Tti) {
        let Ran { radio, cells, table, patterns, .. } = self;
        for (number, cell) in cells.iter_mut().enumerate() {
            let Cell { users, phases, downlink, uplink, .. } = cell;
            patterns.fill(None);
            let report = |radio: &mut Radio, slot: u16| {
                let phase = phases[slot as usize];
                let (pattern, measured) = *patterns[phase as usize].get_or_insert_with(|| {
                    let measured = measured_at(tti, phase, self.cqi_period, self.cqi_delay);
                    let measured = self.access.timing.measurable(measured);
                    (radio.pattern(number, measured), measured)
                });
                radio.report(number, pattern, slot, users[slot as usize] as usize, measured)
            };
            downlink.schedule(tti, number, users, radio, table, report);
            uplink.schedule(tti);
        }
    }

    fn put_on_air(&mut self, tti: Tti) {
        self.sound(tti);
        let Ran { radio, cells, table, .. } = self;
        radio.transmit(cells.iter().map(|cell| cell.downlink.on_air(tti)));
        radio.begin_uplink();
        for (number, cell) in cells.iter_mut().enumerate() {
            self.decoded_down.extend_from_slice(cell.downlink.receive(
                tti,
                number,
                &cell.users,
                radio,
                table,
            ));
            cell.uplink.receive_grants(tti, &cell.users, radio, table, &self.power_control);
            cell.uplink.on_air(tti).iter().for_each(|sending| radio.send_uplink(number, sending.signal));
        }
        for (number, cell) in cells.iter_mut().enumerate() {
            let decoded = cell.uplink.receive(tti, number, radio, table);
            self.decoded_up.extend_from_slice(decoded);
        }
    }

    /// Sends the sounding signals of a TTI: equal offsets in all cells coincide, so they interfere.
    fn sound(&mut self, tti: Tti) {
        //= exception nr-reports-in-any-slot
        let offset = (tti.0 % self.srs_period) as usize;
        let prbs = self.radio.prbs();
        self.signals.clear();
        for (number, cell) in self.cells.iter().enumerate() {
            if let Some(slot) = cell.sounding[offset] {
                let ue = cell.users[slot as usize];
                let commanded = self.table.ues[ue as usize].commanded;
                let power = self.radio.uplink_power(ue as usize, prbs, &self.power_control, commanded);
                self.signals.push((number, UplinkSignal { ue, first: 0, prbs: prbs.0, power }));
            }
        }
        self.radio.begin_uplink();
        //= exception soundings-apart
        if !self.schemes.fits_widths() {
            self.signals.iter().for_each(|(number, signal)| self.radio.send_uplink(*number, *signal));
        }
        for (number, signal) in &self.signals {
            let sinr = self.radio.sounding_sinr(*number, signal);
            let slot = self.table.ues[signal.ue as usize].slot;
            self.cells[*number].uplink.on_sounding(tti, slot, sinr);
        }
    }

    fn sample_sinr(&mut self, tti: Tti) {
        let measured = self.access.timing.measurable(tti);
        let ues = &mut self.table.ues;
        let groups = ues.len().div_ceil(MOST_SAMPLES);
        let group = (tti.0 / SAMPLE_PERIOD) as usize % groups.max(1);
        let sampled = ues.iter_mut().enumerate().skip(group).step_by(groups.max(1));
        for (number, ue) in sampled.filter(|(_, ue)| ue.joined) {
            let place = self.radio.pattern(ue.cell, measured);
            let sinr = self.radio.mean_sinr(ue.cell, place, ue.slot, number, measured);
            ue.sinr = Some(sinr);
            ue.sinr_sum += sinr.0;
            ue.sinr_samples += 1;
        }
    }

    /// The cell that holds a UE's bearer: downlink packets go there.
    pub fn cell_of(&self, ue: UeId) -> CellId {
        CellId(self.table.ues[ue.0 as usize].cell as u16)
    }

    // Between TTIs.

    /// Whether a UE moves.
    pub fn moves(&self, ue: UeId) -> bool {
        self.agenda.moves(ue)
    }

    /// Time of the next event between TTIs.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.next()
    }

    /// Processes motion, measurements and handovers up to `now`. The caller then takes notices, forwarded packets and
    /// drops.
    pub fn advance(&mut self, now: Time) {
        while let Some((now, task)) = self.agenda.next_task(now, &mut self.radio, &mut self.table.ues) {
            match task {
                Task::GiveUp(ue) => {
                    self.fail_link(now, ue);
                }
                Task::Prepare { ue, target } => {
                    let slot = self.reserve(ue, target);
                    self.agenda.prepared(now, ue, target, slot);
                }
                Task::Command { ue, target, slot } => {
                    self.leave(ue);
                    self.move_bearer(now, ue, target, slot);
                }
                Task::Join(ue) => {
                    self.table.ues[ue].handovers += 1;
                    self.activate(now, ue);
                }
                Task::Withdraw(ue) => {
                    let Ue { cell, slot, .. } = self.table.ues[ue];
                    self.vacate(cell, slot);
                }
                Task::Reestablish { ue, cell } => {
                    let slot = self.reserve(ue, cell);
                    if let Some(slot) = slot {
                        self.move_bearer(now, ue, cell, slot);
                        self.activate(now, ue);
                    }
                    self.agenda.reestablished(now, ue, cell, slot.is_some());
                }
            }
        }
    }

    /// Drains pending mobility events.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        self.agenda.take_notices(into);
    }

    /// Drains the packets forwarded to other cells, in order.
    pub fn take_forwards(&mut self, into: &mut Vec<Forward>) {
        into.clear();
        std::mem::swap(&mut self.forwards, into);
    }

    /// Declares a radio link failure and starts the search for another cell; returns false if re-establishment is
    /// disabled.
    fn fail_link(&mut self, now: Time, number: usize) -> bool {
        let Some(kept) = self.agenda.give_up(now, number) else { return false };
        if let Some((cell, slot)) = kept {
            self.vacate(cell, slot);
        }
        self.table.ues[number].failures += 1;
        self.leave(number);
        for direction in [Direction::Down, Direction::Up] {
            self.re_establish(now, number, direction, DropCause::LinkFailure, Waiting::Stays);
        }
        true
    }

    /// Moves both directions of a UE's bearer to another cell, or re-establishes them in the same one. Waiting downlink
    /// packets are forwarded or dropped, uplink packets stay or are dropped.
    fn move_bearer(&mut self, now: Time, number: usize, cell: usize, slot: u16) {
        let (down, up) = match self.forwarding {
            _ if cell == self.table.ues[number].cell => (Waiting::Stays, Waiting::Stays),
            Forwarding::Waiting => (Waiting::Follows, Waiting::Stays),
            Forwarding::Arriving | Forwarding::Nothing => (Waiting::IsDropped, Waiting::IsDropped),
        };
        self.re_establish(now, number, Direction::Down, DropCause::Handover, down);
        self.re_establish(now, number, Direction::Up, DropCause::Handover, up);
        self.tune(number, cell, slot);
    }

    fn re_establish(
        &mut self,
        now: Time,
        number: usize,
        direction: Direction,
        cause: DropCause,
        rest: Waiting,
    ) {
        let Ran { table: UeTable { ues, events, .. }, forwards, returned, .. } = self;
        let (ue, from) = (UeId(number as u32), CellId(ues[number].cell as u16));
        let leg = ues[number].leg(direction);
        leg.re_establish(now, cause, rest, returned, events, |packet| {
            forwards.push(Forward { ue, from, packet });
        });
    }

    // Slots of cells.

    /// Reserves a slot of a cell for a UE, if a slot and a sounding resource are free.
    fn reserve(&mut self, number: usize, cell: usize) -> Option<u16> {
        let Cell { users, phases, downlink, uplink, sounding } = &mut self.cells[cell];
        let slot = users.iter().position(|user| *user == FREE_SLOT).unwrap_or(users.len());
        if slot == users.len() {
            if slot == sounding.len() {
                return None;
            }
            users.push(FREE_SLOT);
            phases.push((slot as u64 % self.cqi_period) as u16);
            self.radio.reserve(cell, users.len().next_power_of_two());
        }
        users[slot] = number as u32;
        downlink.admit(slot as u16, self.table.ues[number].bearer);
        uplink.admit(slot as u16);
        Some(slot as u16)
    }

    /// Frees a slot.
    fn vacate(&mut self, cell: usize, slot: u16) {
        let Cell { users, downlink, uplink, sounding, .. } = &mut self.cells[cell];
        downlink.release(slot);
        uplink.release(slot);
        users[usize::from(slot)] = FREE_SLOT;
        sounding.iter_mut().filter(|user| **user == Some(slot)).for_each(|user| *user = None);
    }

    /// Detaches a UE from its cell; transmissions on air are lost.
    fn leave(&mut self, number: usize) {
        let UeTable { ues, report_timers, retx_bsr_timers, .. } = &mut self.table;
        let ue = &mut ues[number];
        ue.joined = false;
        report_timers.disarm(&mut ue.downlink.report_at);
        report_timers.disarm(&mut ue.uplink.report_at);
        if let Some(timers) = retx_bsr_timers {
            timers.disarm(&mut ue.report_again_at);
        }
        let (cell, slot) = (ue.cell, ue.slot);
        self.table.reset_reports(number);
        self.vacate(cell, slot);
        let stays = |(other, _): &(u32, Content)| *other != number as u32;
        self.decoded_down.retain(stays);
        self.decoded_up.retain(stays);
    }

    /// Switches a UE to a cell that has reserved a slot for it.
    fn tune(&mut self, number: usize, cell: usize, slot: u16) {
        let ue = &mut self.table.ues[number];
        (ue.cell, ue.slot) = (cell, slot);
        self.radio.serve(number, cell);
        ue.set_control_sinr(self.radio.control_sinr(number, cell));
    }

    /// Starts service of a UE by the cell it has switched to.
    fn activate(&mut self, now: Time, number: usize) {
        let ue = &mut self.table.ues[number];
        let resource = self.cells[ue.cell].sounding.iter_mut().find(|user| user.is_none());
        *resource.expect("each slot has a sounding resource") = Some(ue.slot);
        ue.joined = true;
        for direction in [Direction::Down, Direction::Up] {
            self.time_report(now, number as u32, direction);
            self.report(now, number as u32, direction);
        }
    }

    /// Drains the packets that have crossed the radio link.
    pub fn take_arrivals(&mut self, into: &mut Vec<Arrival>) {
        into.clear();
        std::mem::swap(&mut self.arrivals, into);
    }

    /// Drains the packets that were dropped.
    pub fn take_drops(&mut self, into: &mut Vec<Dropped>) {
        into.clear();
        std::mem::swap(&mut self.table.events.drops, into);
    }

    /// Drains the packets whose ECN field was set by queues.
    pub fn take_marks(&mut self, into: &mut Vec<Key>) {
        into.clear();
        std::mem::swap(&mut self.table.events.marks, into);
    }

    /// The packets inside: queued, on air, or waiting for reassembly.
    pub fn inside(&self) -> impl Iterator<Item = Key> + '_ {
        self.table
            .ues
            .iter()
            .flat_map(|ue| [&ue.downlink, &ue.uplink])
            .flat_map(|leg| leg.rlc.inside().map(|sdu| sdu.packet))
    }

    /// Downlink backlog of a UE at the eNB.
    pub fn backlog(&self, ue: UeId) -> Backlog {
        self.table.ues[ue.0 as usize].downlink.rlc.backlog()
    }

    /// Logs the downlink transmissions on air in these TTIs.
    pub fn log_allocations(&mut self, ttis: Range<Tti>) {
        for cell in &mut self.cells {
            cell.downlink.log = Some(Log { ttis: ttis.clone(), rows: Vec::new() });
        }
    }

    /// Memory for the logged downlink transmissions, in bytes.
    pub fn allocations_bytes(&self) -> usize {
        let logs = self.cells.iter().filter_map(|cell| cell.downlink.log.as_ref());
        // They are copied and converted to a table.
        logs.map(|log| 3 * log.rows.len() * size_of::<Allocation>()).sum()
    }

    /// The logged downlink transmissions, by TTI and cell; `None` if logging is disabled.
    pub fn allocations(&self) -> Option<Vec<Allocation>> {
        let logs = self.cells.iter().map(|cell| cell.downlink.log.as_ref().map(|log| &log.rows));
        let mut all: Vec<Allocation> =
            logs.collect::<Option<Vec<_>>>()?.into_iter().flatten().copied().collect();
        all.sort_by_key(|allocation| (allocation.tti, allocation.cell));
        Some(all)
    }

    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.table.ues.len()
    }

    /// A UE's figures so far.
    pub fn ue_figures(&self, ue: UeId) -> UeFigures {
        let number = ue.0 as usize;
        let ue = &self.table.ues[number];
        let uplink = &self.cells[ue.cell].uplink;
        let (_, downlink_cqi) = self.radio.downlink_snr(number);
        UeFigures {
            position: ue.position,
            cell: CellId(ue.cell as u16),
            sinr: ue.sinr,
            mean_sinr: (ue.sinr_samples > 0).then(|| Db(ue.sinr_sum / ue.sinr_samples as f64)),
            rsrp: self.radio.rsrp(number, ue.cell),
            downlink: ue.downlink.blocks,
            uplink: ue.uplink.blocks,
            sounding_sinr: uplink.sounding_sinr(ue.slot),
            downlink_reach: Reach::of(&ue.downlink.blocks, downlink_cqi > Cqi::OUT_OF_RANGE),
            uplink_reach: Reach::of(&ue.uplink.blocks, uplink.reaches(ue.slot)),
            failures: ue.failures,
            handovers: ue.handovers,
        }
    }

    /// The best case of link adaptation for a UE's link at its current position.
    pub fn link_budget(&self, ue: UeId) -> LinkBudget {
        let number = ue.0 as usize;
        let snr = |prbs| self.radio.uplink_snr(number, prbs, &self.power_control, Db(0.0));
        let carrier = snr(self.radio.prbs());
        let headroom = self.power_control.headroom(Prbs(1), self.radio.loss(number), Db(0.0));
        let density = Density::alone(headroom, snr(Prbs(1)));
        let (narrowest, cqi) = self.schemes.narrowest(carrier, density);
        let (downlink, downlink_cqi) = self.radio.downlink_snr(number);
        LinkBudget {
            downlink,
            downlink_at_full_load: self.radio.control_sinr(number, self.table.ues[number].cell),
            downlink_cqi,
            uplink: UplinkBudget { carrier, narrow: snr(narrowest), narrowest, cqi },
        }
    }

    /// Bytes per TTI that a cell carries to one of its UEs if it serves no other: the block size of the newest channel
    /// report over the whole carrier, times the fraction of first transmissions among all so far. `None` while the UE
    /// changes cells.
    pub fn whole_cell(&mut self, ue: UeId) -> Option<f64> {
        let number = ue.0 as usize;
        let Ue { cell, slot, joined, ref downlink, .. } = self.table.ues[number];
        let once = downlink.blocks.first as f64 / downlink.blocks.all.max(1) as f64;
        let once = if downlink.blocks.all > 0 { once } else { 1.0 };
        let phase = self.cells[cell].phases[usize::from(slot)];
        let measured = measured_at(self.next, phase, self.cqi_period, self.cqi_delay);
        let measured = self.access.timing.measurable(measured);
        let pattern = self.radio.pattern(cell, measured);
        let report = self.radio.report(cell, pattern, slot, number, measured);
        let state = &self.radio.reports(cell)[report.index as usize];
        joined.then(|| once * self.cells[cell].downlink.whole(slot, state))
    }

    /// A UE's downlink blocks so far.
    pub fn downlink_blocks(&self, ue: UeId) -> BlockFigures {
        self.table.ues[ue.0 as usize].downlink.blocks
    }

    /// The strongest cell at a UE other than its serving one, and its RSRP.
    pub fn neighbour(&self, ue: UeId) -> Option<(CellId, Dbm)> {
        let number = ue.0 as usize;
        let best = self.radio.strongest_but(number, self.table.ues[number].cell)?;
        Some((CellId(best as u16), self.radio.rsrp(number, best)))
    }

    /// The cells' figures so far.
    pub fn cell_figures(&self) -> impl Iterator<Item = CellFigures> + '_ {
        self.cells.iter().map(|cell| CellFigures {
            users: cell.users.iter().filter(|user| **user != FREE_SLOT).count(),
            prbs: self.radio.prbs(),
            shares: self.access.timing.shares(),
            downlink_prbs: cell.downlink.figures.prbs,
            downlink_bytes: cell.downlink.figures.bytes,
            uplink_prbs: cell.uplink.figures.prbs,
            uplink_bytes: cell.uplink.figures.bytes,
        })
    }
}

/// The TTI of the report used by a decision in `tti`: reports have this period and phase, and a delay of `delay` TTIs.
//= exception ideal-feedback
fn measured_at(tti: Tti, phase: u16, period: u64, delay: u64) -> Tti {
    let newest = tti.0.saturating_sub(delay);
    let age = (newest + period - u64::from(phase)) % period;
    Tti(newest.saturating_sub(age))
}

/// TTIs from the one before the oldest measurement in use to the current one.
fn remembered(cqi_period: u64, cqi_delay: u64) -> u64 {
    cqi_period + cqi_delay + 1
}

fn arrive(arrivals: &mut Vec<Arrival>, ue: u32, direction: Direction) -> impl FnMut(Sdu) + '_ {
    move |sdu| arrivals.push(Arrival { ue: UeId(ue), direction, packet: sdu.packet })
}

/// The configured period, or the shortest usual one with an offset for each UE.
// ns-3 uses 40 TTI, and ends the simulation if a cell has more UEs than that.
fn srs_period(setup: &RanSetup, users: usize) -> Result<u16, Unbuildable> {
    let fits = |period: &u16| usize::from(*period) >= users;
    match setup.mac.srs_period {
        Some(period) if fits(&period) => Ok(period),
        Some(period) => Err(Unbuildable(format!(
            "a sounding period of {period} TTI has offsets for {period} UEs per cell, but one cell has {users}"
        ))),
        None => [40, 80, 160, 320].into_iter().find(fits).ok_or_else(|| {
            Unbuildable(format!(
                "a cell serves at most 320 UEs, one per sounding offset, but one cell has {users}"
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transmissions_that_a_report_measures_are_remembered() {
        for period in 1..=160 {
            for delay in 1..=12 {
                let kept = remembered(period, delay);
                let oldest = (400..400 + period).flat_map(|tti| {
                    (0..period)
                        .map(move |phase| tti + 1 - measured_at(Tti(tti), phase as u16, period, delay).0)
                });
                assert_eq!(oldest.max(), Some(kept - 1), "period {period}, delay {delay}");
            }
        }
    }
}
