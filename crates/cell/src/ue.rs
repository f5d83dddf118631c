//! UEs with their bearers, as the cells use them.

use crate::access::Access;
use crate::bearer::Bearer;
use crate::mac::BlockFigures;
use crate::mac::control_elements::{Elements, Headroom};
use crate::mac::power_control;
use crate::mac::uplink_adaptation::UplinkAdaptation;
use crate::phy::control_error;
use crate::radio::Air;
use crate::rlc::{BearerEvents, BufferStatus, Content, DropCause, OneWay, Returned, Sdu};
use crate::settings::{BufferReports, Mac, RanSetup};
use airwnd_kernel::{Direction, Key, Stream};
use airwnd_links::aqm::{self, QueueContext};
use airwnd_units::{Bytes, Db, SlotClock, Span, Time, Tti};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// A packet that was dropped on the radio link.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Key,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// Drops and marks until the caller drains them.
pub(crate) struct EventLog {
    pub drops: Vec<Dropped>,
    pub marks: Vec<Key>,
}

impl EventLog {
    /// A log with space for the events of a usual TTI.
    pub fn new() -> EventLog {
        EventLog { drops: Vec::with_capacity(256), marks: Vec::with_capacity(256) }
    }

    /// Moves the events of another log to the end of this one.
    pub fn append(&mut self, other: &mut EventLog) {
        self.drops.append(&mut other.drops);
        self.marks.append(&mut other.marks);
    }
}

impl BearerEvents for EventLog {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        self.drops.push(Dropped { packet: sdu.packet, cause });
    }
    fn marked(&mut self, packet: Key) {
        self.marks.push(packet);
    }
}

/// A UE and its bearer.
//= exception one-bearer
pub(crate) struct Ue {
    pub cell: usize,
    pub slot: u16,
    pub downlink: Leg,
    pub uplink: Leg,
    /// Backlog of its RLC known to the UE's MAC.
    pub unsent: BufferStatus,
    /// Whether its cell can schedule it.
    pub joined: bool,
    /// Quality of service of its bearer.
    pub bearer: Bearer,
    /// Whether it is in the list of UEs with a new RLC report since the last TTI.
    pub fresh: bool,
    /// Expiry of retxBSR-Timer.
    pub report_again_at: Option<Tti>,
    /// State of its reports within blocks.
    pub reporting: Reporting,
    /// Sum of the TPC commands, f(i) in TS 36.213 §5.1.1.1.
    pub commanded: Db,
    /// Number of radio link failures.
    pub failures: u64,
    /// Number of handovers.
    pub handovers: u64,
    /// `None`: control channels are never lost.
    control_error: Option<ControlError>,
    control: Stream,
    pub sinr: Option<Db>,
    pub sinr_sum: f64,
    pub sinr_samples: u64,
}

/// Probability of losing a TTI's control channels over a flat channel.
#[derive(Clone, Copy, Debug, Default)]
struct ControlError {
    probability: f64,
    /// Version of the UE's gains, and its cell, to which it applies.
    of: Option<(u64, usize)>,
}

/// State of a UE's reports within blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reporting {
    /// A regular buffer status report is triggered: a scheduling request is pending.
    pub is_due: bool,
    /// Whether the backlog was positive at the last check.
    pub has_data: bool,
    /// Whether power headroom is reported.
    headrooms: bool,
    /// TTI of the last buffer status report.
    buffer_at: Option<Tti>,
    /// TTI of the last power headroom report, and the downlink's path loss then.
    headroom_at: Option<(Tti, Db)>,
    /// TTIs in a millisecond.
    per_millisecond: u64,
}

/// Bytes of a short buffer status report and of a power headroom report, each with its subheader (TS 36.321 §6.1.2,
/// §6.1.3.1, §6.1.3.6).
const ELEMENT: Bytes = Bytes(2);
/// periodicPHR-Timer, prohibitPHR-Timer and dl-PathlossChange (TS 36.331 §6.3.2, MAC-MainConfig), in
/// milliseconds and decibels.
// Choices: sf200, sf20 and dB3.
const PERIODIC_HEADROOM: u64 = 200;
const PROHIBIT_HEADROOM: u64 = 20;
const HEADROOM_CHANGE: f64 = 3.0;
/// Range of a power headroom report, in whole decibels (TS 36.133 §9.1.8.4).
const HEADROOMS: [f64; 2] = [-23.0, 40.0];

impl Reporting {
    fn new(mac: &Mac, clock: SlotClock) -> Reporting {
        let headrooms = mac.uplink_adaptation == UplinkAdaptation::Headroom
            || mac.power_control.mode == power_control::Mode::ClosedLoop;
        Reporting { headrooms, per_millisecond: clock.per_millisecond(), ..Reporting::default() }
    }
}

/// A grant for a new transport block in the uplink, which a UE fills.
pub(crate) struct BlockGrant<'a> {
    /// TTI on air.
    pub tti: Tti,
    /// Size of the transport block.
    pub size: Bytes,
    /// HARQ process.
    pub process: u8,
    /// Inputs of the power headroom.
    pub power: Headroom<'a>,
}

/// Some of the UEs, by number.
pub(crate) struct Ues(Vec<Option<Box<Ue>>>);

impl Ues {
    /// The UE with this number, if it is here.
    pub fn find(&mut self, number: u32) -> Option<&mut Ue> {
        self.0[number as usize].as_deref_mut()
    }

    /// Every UE that is here, with its number, among the numbers from `first` in steps of `step`.
    pub fn iter_mut(&mut self, first: usize, step: usize) -> impl Iterator<Item = (usize, &mut Ue)> {
        let ues = self.0.iter_mut().enumerate().skip(first).step_by(step);
        ues.filter_map(|(number, ue)| Some((number, &mut **ue.as_mut()?)))
    }
}

const ELSEWHERE: &str = "a UE is looked up where it is served";

impl Index<usize> for Ues {
    type Output = Ue;
    fn index(&self, number: usize) -> &Ue {
        self.0[number].as_ref().expect(ELSEWHERE)
    }
}

impl IndexMut<usize> for Ues {
    fn index_mut(&mut self, number: usize) -> &mut Ue {
        self.0[number].as_mut().expect(ELSEWHERE)
    }
}

/// UEs with the timers of their buffer reports.
pub(crate) struct UeTable {
    pub ues: Ues,
    clock: SlotClock,
    /// Period in TTIs of buffer reports within blocks (periodicBSR-Timer); `None`: reports are ideal.
    periodic_report: Option<u64>,
    /// UEs with a pending scheduling request.
    pub requesting: Vec<u32>,
    /// Timers for repeated buffer reports of RLC to the MAC.
    pub report_timers: Timers<(u32, Direction)>,
    /// retxBSR-Timers of the UEs, if enabled.
    pub retx_bsr_timers: Option<Timers<u32>>,
    /// Bearers with a running RLC timer.
    pub timed: Timed,
    /// Drops and marks since the network looked.
    pub events: EventLog,
}

impl UeTable {
    /// A table for `ues` of a setup's UEs, which is empty.
    pub fn new(setup: &RanSetup, access: &Access, ues: usize) -> UeTable {
        let clock = access.clock;
        let again = setup.mac.report_again_after();
        UeTable {
            ues: Ues((0..setup.ues.len()).map(|_| None).collect()),
            clock,
            report_timers: Timers::new(clock.count(setup.rlc.report_period()), 2 * ues),
            periodic_report: (setup.mac.buffer_reports == BufferReports::Requested)
                .then(|| clock.count(setup.mac.periodic_bsr_timer)),
            requesting: Vec::with_capacity(ues),
            retx_bsr_timers: again.map(|period| Timers::new(clock.count(period), ues)),
            timed: Timed::new(ues),
            events: EventLog::new(),
        }
    }

    /// Adds a UE with its timers.
    pub fn admit(&mut self, number: u32, ue: Box<Ue>) {
        for (direction, leg) in [(Direction::Down, &ue.downlink), (Direction::Up, &ue.uplink)] {
            self.report_timers.admit((number, direction), leg.report_at);
            self.timed.admit(number, direction, leg);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.admit(number, ue.report_again_at);
        }
        self.ues.0[number as usize] = Some(ue);
    }

    /// Removes a UE with its timers. It has no pending scheduling request.
    pub fn release(&mut self, number: u32) -> Box<Ue> {
        let ue = self.ues.0[number as usize].take().expect(ELSEWHERE);
        for leg in [&ue.downlink, &ue.uplink] {
            self.report_timers.release(leg.report_at);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.release(ue.report_again_at);
        }
        self.timed.retain(|other, _| other != number);
        ue
    }

    /// Whether no timer runs.
    pub fn is_idle(&self) -> bool {
        self.requesting.is_empty()
            && self.timed.is_empty()
            && self.report_timers.is_idle()
            && self.retx_bsr_timers.as_ref().is_none_or(Timers::is_idle)
    }

    /// The UE with this number.
    pub fn get(&mut self, number: u32) -> &mut Ue {
        &mut self.ues[number as usize]
    }

    /// Head-of-line delay of a UE at the eNB at the end of this TTI; one TTI if RLC has less data than the MAC assumes,
    /// so that a grant can resolve it.
    pub fn head_of_line(&self, number: u32, tti: Tti) -> Span {
        let oldest = self.ues[number as usize].downlink.rlc.oldest();
        oldest.map_or(self.clock.slot(), |arrived| self.clock.start(tti + 1) - arrived)
    }

    /// Fills a downlink block of a HARQ process for a UE.
    pub fn transmit_down(&mut self, number: u32, tti: Tti, size: Bytes, process: u8) -> Option<Content> {
        self.fill(number, Direction::Down, tti, size, process, None)
    }

    /// Whether UEs request grants and report within blocks.
    pub fn request_grants(&self) -> bool {
        self.periodic_report.is_some()
    }

    /// Fills a grant of a UE; `None` if it has no data and leaves the grant unused.
    pub fn transmit_up(
        &mut self,
        number: u32,
        grant: &BlockGrant<'_>,
    ) -> Option<(Option<Content>, Elements)> {
        if let Some(period) = self.periodic_report {
            return self.transmit_reporting(number, grant, period);
        }
        let &BlockGrant { tti, size, process, ref power } = grant;
        let ue = &mut self.ues[number as usize];
        // ns-3 leaves a grant of 7 bytes or less unused and repeats its report indefinitely; RLC's header takes two of
        // them.
        let reported = ue.unsent;
        if reported.total() == Bytes::ZERO {
            return None;
        }
        ue.unsent.on_block_up(size);
        let content = self.fill(number, Direction::Up, tti, size, process, Some(reported));
        self.await_grant(number, tti);
        let content = content?;
        let headroom = self.get(number).report_headroom(tti, power);
        Some((Some(content), Elements { headroom, buffer: None }))
    }

    /// Fills a grant with reports within blocks: when one is due, and in space that data leaves free.
    //= TS 36.321 §5.4.5
    //= exception padding-stays-silent
    fn transmit_reporting(
        &mut self,
        number: u32,
        grant: &BlockGrant<'_>,
        period: u64,
    ) -> Option<(Option<Content>, Elements)> {
        let &BlockGrant { tti, size, process, ref power } = grant;
        let now = self.clock.start(tti);
        let ue = self.get(number);
        let waiting = ue.reported(now, Direction::Up);
        if waiting.total() == Bytes::ZERO && !ue.reporting.is_due {
            ue.note_empty(now);
            return None;
        }
        let is_due = ue.reporting.is_due || ue.reporting.buffer_at.is_none_or(|at| tti - at >= period);
        let elements = u64::from(is_due) + u64::from(ue.headroom_is_due(tti, power.loss));
        let room = size.saturating_sub(ELEMENT * elements);
        let content = self.fill(number, Direction::Up, tti, room, process, Some(waiting));
        if content.is_none() && !is_due {
            return None;
        }
        let ue = self.get(number);
        let left = ue.reported(now, Direction::Up);
        ue.unsent = left;
        ue.reporting.has_data = left.total() > Bytes::ZERO;
        let reports = is_due || !ue.reporting.has_data;
        if reports {
            ue.reporting.is_due = false;
            ue.reporting.buffer_at = Some(tti);
            self.requesting.retain(|other| *other != number);
        }
        let headroom = self.get(number).report_headroom(tti, power);
        self.await_grant(number, tti);
        Some((content, Elements { buffer: reports.then_some(left.total()), headroom }))
    }

    /// Triggers a scheduling request after a report of RLC, if data arrived at an empty buffer or retxBSR-Timer expired
    /// (`waited`).
    //= TS 36.321 §5.4.4
    //= TS 36.321 §5.4.5
    pub fn update_request(&mut self, number: u32, waited: bool) {
        let ue = &mut self.ues[number as usize];
        let has_data = ue.unsent.total() > Bytes::ZERO;
        let had_data = std::mem::replace(&mut ue.reporting.has_data, has_data);
        if has_data && (!had_data || waited) && !std::mem::replace(&mut ue.reporting.is_due, true) {
            self.requesting.push(number);
        }
    }

    /// Resets reports and TPC commands of a UE that has left its cell.
    pub fn reset_reports(&mut self, number: usize) {
        let ue = &mut self.ues[number];
        let Reporting { headrooms, per_millisecond, .. } = ue.reporting;
        ue.reporting = Reporting { headrooms, per_millisecond, ..Reporting::default() };
        ue.commanded = Db(0.0);
        self.requesting.retain(|other| *other as usize != number);
    }

    /// Starts or restarts retxBSR-Timer if data is waiting.
    //= TS 36.321 §5.4.5
    pub fn await_grant(&mut self, number: u32, tti: Tti) {
        let Some(timers) = &mut self.retx_bsr_timers else { return };
        let ue = &mut self.ues[number as usize];
        if ue.reported(self.clock.start(tti), Direction::Up).total() > Bytes::ZERO {
            timers.arm(tti, number, &mut ue.report_again_at);
        } else {
            timers.disarm(&mut ue.report_again_at);
        }
    }

    fn fill(
        &mut self,
        number: u32,
        direction: Direction,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        let now = self.clock.start(tti);
        let (leg, other) = self.ues[number as usize].legs(direction);
        let content = leg.rlc.transmit(now, size, process, &mut other.rlc, reported, &mut self.events);
        if leg.rlc.is_acknowledged() {
            self.timed.watch(number, direction, leg);
        } else if leg.rlc.backlog().bytes > Bytes::ZERO {
            // The rest is reported one period after a transmission opportunity.
            self.report_timers.arm(tti, (number, direction), &mut leg.report_at);
        } else {
            self.report_timers.disarm(&mut leg.report_at);
        }
        content
    }
}

/// The bearers with a running RLC timer.
pub(crate) struct Timed(Vec<(u32, Direction)>);

impl Timed {
    /// An empty list with space for this many UEs.
    pub fn new(ues: usize) -> Timed {
        Timed(Vec::with_capacity(2 * ues))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bearers in the list.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, index: usize) -> (u32, Direction) {
        self.0[index]
    }

    /// Adds a bearer if a timer of it runs.
    pub fn watch(&mut self, number: u32, direction: Direction, leg: &mut Leg) {
        if !leg.timed && leg.rlc.deadline().is_some() {
            leg.timed = true;
            self.0.push((number, direction));
        }
    }

    /// Adds a bearer from another list, if it was in that.
    pub fn admit(&mut self, number: u32, direction: Direction, leg: &Leg) {
        if leg.timed {
            self.0.push((number, direction));
        }
    }

    /// Removes the bearers for which `runs` is false.
    pub fn retain(&mut self, mut runs: impl FnMut(u32, Direction) -> bool) {
        self.0.retain(|(number, direction)| runs(*number, *direction));
    }
}

/// A set of timers with the same duration.
///
/// Restarting a timer leaves its old entry behind. The owner keeps the expiry and thereby recognises the valid entry.
pub(crate) struct Timers<T> {
    period: u64,
    /// `[tti % (period + 1)]`
    due: Vec<Vec<T>>,
    armed: usize,
}

impl<T> Timers<T> {
    /// Timers of `period` TTIs for this many owners, each of which starts at most once per TTI.
    pub fn new(period: u64, owners: usize) -> Self {
        Timers { period, due: (0..=period).map(|_| Vec::with_capacity(owners)).collect(), armed: 0 }
    }

    pub fn arm(&mut self, tti: Tti, owner: T, expiry: &mut Option<Tti>) {
        let at = tti + self.period;
        self.armed += usize::from(expiry.is_none());
        if expiry.replace(at) != Some(at) {
            let place = at.0 as usize % self.due.len();
            self.due[place].push(owner);
        }
    }

    /// Whether no timer runs.
    pub fn is_idle(&self) -> bool {
        self.armed == 0
    }

    /// Takes the entries of a TTI out; [`Timers::put_back`] returns the list for its capacity.
    pub fn take(&mut self, tti: Tti) -> Vec<T> {
        let place = tti.0 as usize % self.due.len();
        std::mem::take(&mut self.due[place])
    }

    pub fn put_back(&mut self, tti: Tti, mut due: Vec<T>) {
        due.clear();
        let place = tti.0 as usize % self.due.len();
        self.due[place] = due;
    }

    pub fn disarm(&mut self, expiry: &mut Option<Tti>) {
        self.armed -= usize::from(expiry.take().is_some());
    }

    /// Removes a timer, which runs until `expiry`, to another set.
    fn release(&mut self, expiry: Option<Tti>) {
        self.armed -= usize::from(expiry.is_some());
    }

    /// Adds a timer from another set with the same duration.
    fn admit(&mut self, owner: T, expiry: Option<Tti>) {
        if let Some(at) = expiry {
            self.armed += 1;
            let place = at.0 as usize % self.due.len();
            self.due[place].push(owner);
        }
    }
}

/// One direction of a bearer: RLC at both ends.
pub(crate) struct Leg {
    pub rlc: OneWay,
    /// Time of RLC's next buffer report to the MAC without further arrivals.
    pub report_at: Option<Tti>,
    /// Whether it is in the list of bearers with a running RLC timer.
    pub timed: bool,
    errors: Stream,
    /// Bits of the number of a HARQ process.
    process_bits: u32,
    pub blocks: BlockFigures,
}

/// Treatment of the packets that wait in a re-established bearer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    /// They stay.
    Stays,
    /// They are forwarded.
    Follows,
    /// They are dropped.
    IsDropped,
}

impl Leg {
    /// Re-establishes RLC for this cause: PDUs on air are lost, waiting packets are treated according to `rest`, and
    /// `forward` receives those that follow the UE. `spare` is empty before and after.
    pub fn re_establish(
        &mut self,
        now: Time,
        cause: DropCause,
        rest: Waiting,
        spare: &mut VecDeque<Returned>,
        events: &mut EventLog,
        mut forward: impl FnMut(Key),
    ) {
        self.rlc.release(now, cause, spare, events);
        //= TS 36.323 §5.3
        //= exception pdcp-knows-what-arrived
        spare.retain(|returned| !returned.delivered);
        match rest {
            Waiting::Stays => self.rlc.resume(spare.drain(..)),
            Waiting::Follows => spare.drain(..).for_each(|returned| forward(returned.sdu.packet)),
            Waiting::IsDropped => spare.drain(..).for_each(|returned| events.dropped(returned.sdu, cause)),
        }
    }

    /// Updates and returns whether it is in the list of bearers with a running RLC timer.
    pub fn update_timed(&mut self) -> bool {
        self.timed = self.rlc.deadline().is_some();
        self.timed
    }

    /// A number uniform in [0, 1) for the block of a process in this TTI.
    pub fn draw(&self, tti: Tti, process: u8) -> f64 {
        self.errors.at(tti.0 << self.process_bits | u64::from(process))
    }
}

impl Ue {
    pub fn new(setup: &RanSetup, access: &Access, number: usize, cell: usize, slot: u16) -> Ue {
        let site = &setup.ues[number];
        let leg = |queue: &aqm::Spec, stream, name| Leg {
            rlc: OneWay::new(
                &setup.rlc,
                &access.timing,
                queue.build(&QueueContext {
                    stream: Stream::new(setup.seed, stream).child(number as u64),
                    rate: None,
                }),
            ),
            report_at: None,
            timed: false,
            errors: Stream::new(setup.seed, name).child(number as u64),
            process_bits: access.timing.processes.next_power_of_two().ilog2(),
            blocks: BlockFigures::default(),
        };
        Ue {
            cell,
            slot,
            downlink: leg(&setup.rlc.queue, "downlink queue", "downlink block errors"),
            uplink: leg(
                setup.rlc.uplink_queue.as_ref().unwrap_or(&setup.rlc.queue),
                "uplink queue",
                "uplink block errors",
            ),
            unsent: BufferStatus::default(),
            joined: true,
            bearer: site.bearer,
            fresh: false,
            report_again_at: None,
            reporting: Reporting::new(&setup.mac, access.clock),
            commanded: Db(0.0),
            failures: 0,
            handovers: 0,
            control_error: setup.radio.control_errors.then(ControlError::default),
            control: Stream::new(setup.seed, "control channel errors").child(number as u64),
            sinr: None,
            sinr_sum: 0.0,
            sinr_samples: 0,
        }
    }

    pub fn leg(&mut self, direction: Direction) -> &mut Leg {
        match direction {
            Direction::Down => &mut self.downlink,
            Direction::Up => &mut self.uplink,
        }
    }

    /// A direction, and the opposite one.
    pub fn legs(&mut self, direction: Direction) -> (&mut Leg, &mut Leg) {
        match direction {
            Direction::Down => (&mut self.downlink, &mut self.uplink),
            Direction::Up => (&mut self.uplink, &mut self.downlink),
        }
    }

    /// Buffer status that RLC reports to the MAC of a direction.
    pub fn reported(&self, now: Time, direction: Direction) -> BufferStatus {
        match direction {
            Direction::Down => self.downlink.rlc.reported(now, &self.uplink.rlc),
            Direction::Up => self.uplink.rlc.reported(now, &self.downlink.rlc),
        }
    }

    //= TS 36.321 §5.4.6
    fn headroom_is_due(&self, tti: Tti, loss: Db) -> bool {
        self.reporting.headrooms
            && self.reporting.headroom_at.is_none_or(|(at, before)| {
                let age = tti - at;
                age >= PERIODIC_HEADROOM * self.reporting.per_millisecond
                    || age >= PROHIBIT_HEADROOM * self.reporting.per_millisecond
                        && (loss - before).0.abs() > HEADROOM_CHANGE
            })
    }

    /// A power headroom report, if one is due.
    fn report_headroom(&mut self, tti: Tti, power: &Headroom<'_>) -> Option<Db> {
        let Headroom { control, prbs, loss } = *power;
        self.headroom_is_due(tti, loss).then(|| {
            self.reporting.headroom_at = Some((tti, loss));
            let [least, most] = HEADROOMS;
            let headroom = control.headroom(prbs, loss, self.commanded);
            Db(libm::floor(headroom.0).clamp(least, most))
        })
    }

    /// Whether either direction has exceeded the maximum of retransmissions.
    pub fn has_failed(&self) -> bool {
        self.downlink.rlc.has_failed() || self.uplink.rlc.has_failed()
    }

    /// Whether the UE with this number fails to decode the control channels of the TTI on air.
    pub fn loses_control(&mut self, tti: Tti, number: u32, air: &mut Air<'_>) -> bool {
        let Some(error) = &mut self.control_error else { return false };
        let number = number as usize;
        let probability = match air.receivers.faded_control_error(air.radio, number) {
            Some(probability) => probability,
            None => {
                let now = Some((air.radio.version(number), self.cell));
                if error.of != now {
                    let sinr = air.radio.control_sinr(number, self.cell);
                    *error = ControlError { probability: control_error(sinr), of: now };
                }
                error.probability
            }
        };
        probability > 0.0 && self.control.at(tti.0) < probability
    }

    /// Notes that nothing waits any more, if so: a STATUS PDU has acknowledged what was to be sent again, or a timer has
    /// discarded the rest. The next data then arrives at an empty buffer.
    pub fn note_empty(&mut self, now: Time) {
        if self.reporting.has_data && self.reported(now, Direction::Up).total() == Bytes::ZERO {
            self.unsent = BufferStatus::default();
            self.reporting.has_data = false;
        }
    }

    /// Updates the backlog known to the UE's MAC from RLC.
    pub fn on_uplink_report(&mut self, now: Time, number: u32, fresh: &mut Vec<u32>) {
        self.unsent = self.reported(now, Direction::Up);
        if !std::mem::replace(&mut self.fresh, true) {
            fresh.push(number);
        }
    }
}
