//! UEs with their bearers, as the cells use them.

use crate::access::{Access, Level};
use crate::bearer::Bearer;
use crate::component::ComponentCarrier;
use crate::identity::UeId;
use crate::mac::configured_grant;
use crate::mac::control_elements::{Elements, Headroom};
use crate::mac::drx::Drx;
use crate::mac::power_control;
use crate::mac::prioritization::{Bucket, Channel, data_in, divide};
use crate::mac::scell::{self, Activation};
use crate::mac::uplink_adaptation::UplinkAdaptation;
use crate::mac::{BlockFigures, Content};
use crate::phy::control_error;
use crate::qci::Qci;
use crate::radio::Air;
use crate::rlc::{
    self, BearerEvents, BufferStatus, DropCause, OneWay, Protocol, Returned, Rlc, RlcMode, Sdu,
};
use crate::rrc::Connection;
use crate::settings::{BearerSetup, BufferReports, Mac, RanSetup};
use airwnd_kernel::{Direction, Key, Stream};
use airwnd_links::aqm::{self, QueueContext};
use airwnd_units::{Bytes, Db, SlotClock, Span, Time, Tti};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

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
    #[inline]
    pub fn append(&mut self, other: &mut EventLog) {
        // Mostly there are none.
        if !(other.drops.is_empty() && other.marks.is_empty()) {
            self.drops.append(&mut other.drops);
            self.marks.append(&mut other.marks);
        }
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

/// A UE and its bearers.
pub(crate) struct Ue {
    pub cell: usize,
    pub slot: u16,
    pub downlink: Harq,
    pub uplink: Harq,
    pub bearers: Bearers,
    /// Backlog of its RLC known to the UE's MAC.
    pub unsent: BufferStatus,
    /// Whether it is attached to its cell.
    pub attached: bool,
    /// Whether its cell can schedule it: it is attached, and not being promoted.
    pub joined: bool,
    /// `None`: it receives in every TTI.
    pub drx: Option<Box<Drx>>,
    /// `None`: it stays connected.
    pub connection: Option<Box<Connection>>,
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
    /// Number of carriers that it aggregates, with the primary one.
    pub carriers: u8,
    /// Its configured grant in each cell that has a place for it.
    pub configured_grant: Option<Box<configured_grant::Params>>,
    /// Whether it waits for its configured grant instead of sending scheduling requests.
    pub masks_requests: bool,
    /// Reception of the primary carrier's control channels.
    control: Control,
    /// Secondary carriers of the network.
    secondary: Vec<Secondary>,
    pub sinr: Option<Db>,
    pub sinr_sum: f64,
    pub sinr_samples: u64,
}

/// A UE on a secondary carrier.
struct Secondary {
    control: Control,
    activation: Activation,
}

/// Reception of a carrier's control channels.
#[derive(Clone)]
struct Control {
    /// `None`: they are never lost.
    error: Option<ControlError>,
    draws: Stream,
}

/// Probability of losing a PDCCH of 8 CCEs over a flat channel, and the SINR.
#[derive(Clone, Copy, Debug, Default)]
struct ControlError {
    probability: f64,
    sinr: Db,
    /// Version of the UE's gains, and its cell, to which it applies.
    of: Option<(u64, usize)>,
}

/// State of a UE's reports within blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reporting {
    /// A regular buffer status report is triggered: a scheduling request is pending.
    pub is_due: bool,
    /// First TTI in which sr-ProhibitTimer does not run.
    pub may_request_from: Tti,
    /// Whether the backlog was positive at the last check.
    pub has_data: bool,
    /// Priority of the most urgent bearer with data at the last report of RLC, and at the last check; `None` without
    /// data, and of a UE with one bearer.
    urgency: Option<u8>,
    checked_urgency: Option<u8>,
    /// Whether power headroom is reported.
    headrooms: bool,
    /// TTI of the last buffer status report.
    buffer_at: Option<Tti>,
    /// TTI of the last power headroom report, and the downlink's path loss then.
    headroom_at: Option<(Tti, Db)>,
    /// TTIs in a millisecond.
    per_millisecond: u64,
    /// Whether the MAC's own count of the backlog is what it reports, as in 5G-LENA.
    as_lena: bool,
}

/// Bytes of a short buffer status report and of a power headroom report, each with its subheader (TS 36.321 §6.1.2,
/// §6.1.3.1, §6.1.3.6).
const ELEMENT: Bytes = Bytes(2);
/// Bytes of a long buffer status report with its subheader, which a UE sends if several bearers have data
/// (TS 36.321 §6.1.3.1). Each bearer is a logical channel group.
// That of NR has one byte more with two groups (TS 38.321 §6.1.3.1).
const LONG_REPORT: Bytes = Bytes(4);
/// periodicPHR-Timer, prohibitPHR-Timer and dl-PathlossChange (TS 36.331 §6.3.2, MAC-MainConfig), in
/// milliseconds and decibels.
// Choices: sf200, sf20 and dB3.
const PERIODIC_HEADROOM: u64 = 200;
const PROHIBIT_HEADROOM: u64 = 20;
const HEADROOM_CHANGE: f64 = 3.0;
/// Range of a power headroom report, in whole decibels (TS 36.133 §9.1.8.4).
const HEADROOMS: [f64; 2] = [-23.0, 40.0];

/// Sizes in 5G-LENA's NrUeMac::SendNewData.
mod lena {
    use airwnd_units::Bytes;

    /// A buffer status report with its subheader.
    pub const REPORT: Bytes = Bytes(5);
    /// The subheader of a bearer's data.
    pub const SUBHEADER: Bytes = Bytes(3);
    /// The smallest room for data and their subheader that is used.
    pub const LEAST_DATA: Bytes = Bytes(10);
}

impl Reporting {
    fn new(mac: &Mac, clock: SlotClock) -> Reporting {
        let headrooms = mac.uplink_adaptation == UplinkAdaptation::Headroom
            || mac.power_control.mode == power_control::Mode::ClosedLoop;
        let as_lena = mac.buffer_reports == BufferReports::Lena;
        Reporting { headrooms, per_millisecond: clock.per_millisecond(), as_lena, ..Reporting::default() }
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
    /// The UE with this number, if it is here; no UE has that of a free slot.
    pub fn find(&mut self, number: u32) -> Option<&mut Ue> {
        self.0.get_mut(number as usize)?.as_deref_mut()
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
    /// Whether UEs have DRX.
    pub has_drx: bool,
    /// Activation of secondary carriers; `None`: they are always active.
    activation: Option<scell::Timing>,
    /// Period in TTIs of buffer reports within blocks (periodicBSR-Timer); `None`: reports are ideal.
    periodic_report: Option<u64>,
    /// UEs with a pending scheduling request.
    pub requesting: Vec<u32>,
    /// Timers for repeated buffer reports of RLC to the MAC, in unacknowledged and in acknowledged mode.
    pub report_timers: [Timers<LegId>; 2],
    /// retxBSR-Timers of the UEs, if enabled.
    pub retx_bsr_timers: Option<Timers<u32>>,
    /// Bearers with a running RLC timer.
    pub timed: Timed,
    /// Drops and marks since the network looked.
    pub events: EventLog,
}

impl UeTable {
    /// A table for these of a setup's UEs, which is empty.
    pub fn new(setup: &RanSetup, access: &Access, users: impl Iterator<Item = u32> + Clone) -> UeTable {
        let clock = access.clock;
        let again = setup.mac.report_again_after();
        let modes = users.clone().flat_map(|user| &*setup.ues[user as usize].bearers);
        let modes = modes.map(|bearer| setup.rlc_of(bearer).mode);
        let report_timers = [RlcMode::Um, RlcMode::Am].map(|mode| {
            let period = clock.count(setup.rlc.report_period(mode));
            Timers::new(period, 2 * modes.clone().filter(|other| *other == mode).count())
        });
        let (ues, bearers) = (users.count(), modes.count());
        UeTable {
            ues: Ues((0..setup.ues.len()).map(|_| None).collect()),
            clock,
            report_timers,
            has_drx: setup.mac.drx.is_some(),
            activation: setup.mac.scell.as_ref().map(|params| scell::Timing::new(params, clock)),
            periodic_report: (setup.mac.buffer_reports != BufferReports::Ideal)
                .then(|| clock.count(setup.mac.periodic_bsr_timer)),
            requesting: Vec::with_capacity(ues),
            retx_bsr_timers: again.map(|period| Timers::new(clock.count(period), ues)),
            timed: Timed::new(bearers),
            events: EventLog::new(),
        }
    }

    /// Adds a UE with its timers.
    pub fn admit(&mut self, number: u32, ue: Box<Ue>) {
        for (id, leg) in ue.legs_of(number) {
            self.report_timers[leg.timers()].admit(id, leg.report_at);
            self.timed.admit(id, leg);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.admit(number, ue.report_again_at);
        }
        self.ues.0[number as usize] = Some(ue);
    }

    /// Removes a UE with its timers. It has no pending scheduling request.
    pub fn release(&mut self, number: u32) -> Box<Ue> {
        let ue = self.ues.0[number as usize].take().expect(ELSEWHERE);
        for (_, leg) in ue.legs_of(number) {
            self.report_timers[leg.timers()].release(leg.report_at);
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.release(ue.report_again_at);
        }
        self.timed.retain(|id| id.ue != number);
        ue
    }

    /// Whether no timer runs.
    pub fn is_idle(&self) -> bool {
        self.requesting.is_empty()
            && self.timed.is_empty()
            && self.report_timers.iter().all(Timers::is_idle)
            && self.retx_bsr_timers.as_ref().is_none_or(Timers::is_idle)
    }

    /// The UE with this number.
    pub fn get(&mut self, number: u32) -> &mut Ue {
        &mut self.ues[number as usize]
    }

    /// Whether a UE monitors the PDCCH in a TTI. One that has only reserved a slot may still be elsewhere.
    #[inline]
    pub fn is_active(&self, number: u32, tti: Tti) -> bool {
        let ue = self.ues.0[number as usize].as_ref();
        ue.and_then(|ue| ue.drx.as_ref()).is_none_or(|drx| drx.is_active(tti))
    }

    /// Whether a carrier that a UE aggregates can serve it in a TTI.
    #[inline]
    pub fn is_activated(&self, number: u32, carrier: u8, tti: Tti) -> bool {
        carrier == 0
            || self.activation.is_none()
            || self.ues[number as usize].secondary[usize::from(carrier) - 1].activation.is_active(tti)
    }

    /// A block on the primary carrier leaves this backlog of a UE.
    pub fn on_primary(&mut self, number: u32, tti: Tti, left: Bytes) {
        let Some(timing) = &self.activation else { return };
        let secondary = self.ues[number as usize].secondary.iter_mut();
        secondary.for_each(|carrier| carrier.activation.on_backlog(tti, left, timing));
    }

    /// A carrier has an assignment for a UE.
    #[inline]
    pub fn on_assignment(&mut self, number: u32, carrier: u8, tti: Tti) {
        if let Some(timing) = self.activation.as_ref().filter(|_| carrier > 0) {
            let secondary = &mut self.ues[number as usize].secondary[usize::from(carrier) - 1];
            secondary.activation.on_assignment(tti, timing);
        }
    }

    /// DRX of a UE, if it has it.
    #[inline]
    pub fn drx(&mut self, number: u32) -> Option<&mut Drx> {
        if self.has_drx { self.get(number).drx.as_deref_mut() } else { None }
    }

    /// Head-of-line delay of a UE at the eNB at the end of this TTI; one TTI if RLC has less data than the MAC assumes,
    /// so that a grant can resolve it. Of several bearers that with data of the highest priority counts; its class is
    /// returned, too.
    pub fn head_of_line(&self, number: u32, tti: Tti) -> (Span, Option<Qci>) {
        let bearers = &self.ues[number as usize].bearers;
        let (oldest, class) = if bearers.has_several() {
            let waiting =
                bearers.iter().filter_map(|bearer| Some((bearer.downlink.rlc.oldest()?, bearer.qos.qci)));
            waiting.min_by_key(|(_, qci)| qci.priority()).unzip()
        } else {
            (bearers.default.downlink.rlc.oldest(), None)
        };
        (oldest.map_or(self.clock.slot(), |arrived| self.clock.start(tti + 1) - arrived), class)
    }

    /// Fills a downlink block of a HARQ process for a UE.
    pub fn transmit_down(&mut self, number: u32, tti: Tti, size: Bytes, process: u8) -> Option<Content> {
        self.fill(number, Direction::Down, tti, size, process, None)
    }

    /// Whether a UE has more than the default bearer.
    pub fn has_several(&self, number: u32) -> bool {
        self.ues[number as usize].has_several()
    }

    /// What waits at the eNB for a UE.
    #[inline(never)]
    pub fn waiting_down(&self, number: u32, tti: Tti) -> BufferStatus {
        self.ues[number as usize].reported(self.clock.start(tti), Direction::Down)
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
        if self.ues[number as usize].reporting.as_lena {
            return Some(self.transmit_as_lena(number, grant));
        }
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
        let now = self.clock.start(tti);
        let ue = &mut self.ues[number as usize];
        if ue.has_several() {
            ue.unsent = ue.reported(now, Direction::Up);
        }
        self.await_grant(number, tti);
        let content = content?;
        let headroom = self.get(number).report_headroom(tti, power);
        Some((Some(content), Elements { headroom, buffer: None }))
    }

    /// Fills a grant with reports within blocks: when one is due, and in space that data leaves free.
    //= TS 36.321 §5.4.5
    //= exception padding-stays-silent
    //= exception reports-sum-over-bearers
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
        let report = if is_due { ue.report_size(now) } else { Bytes::ZERO };
        let headroom = ELEMENT * u64::from(ue.headroom_is_due(tti, power.loss));
        let room = size.saturating_sub(report + headroom);
        let content = self.fill(number, Direction::Up, tti, room, process, Some(waiting));
        if content.is_none() && !is_due {
            return None;
        }
        let ue = self.get(number);
        let left = ue.reported(now, Direction::Up);
        ue.unsent = left;
        ue.reporting.has_data = left.total() > Bytes::ZERO;
        if ue.has_several() {
            ue.note_urgency(now);
            ue.reporting.checked_urgency = ue.reporting.urgency;
        }
        let reports = is_due || !ue.reporting.has_data;
        if reports {
            ue.reporting.is_due = false;
            ue.reporting.may_request_from = tti;
            ue.reporting.buffer_at = Some(tti);
            self.requesting.retain(|other| *other != number);
        }
        let headroom = self.get(number).report_headroom(tti, power);
        self.await_grant(number, tti);
        Some((content, Elements { buffer: reports.then_some(left.total()), headroom }))
    }

    /// Fills a grant by the rules of 5G-LENA's NrUeMac::SendNewData and SendBufferStatusReport.
    #[inline(never)]
    fn transmit_as_lena(&mut self, number: u32, grant: &BlockGrant<'_>) -> (Option<Content>, Elements) {
        let &BlockGrant { tti, size, process, .. } = grant;
        let ue = self.get(number);
        let waiting = ue.unsent;
        let room = size.saturating_sub(lena::REPORT);
        let mut content = None;
        if waiting.total() > Bytes::ZERO && room >= lena::LEAST_DATA {
            let room = room - lena::SUBHEADER;
            ue.unsent.on_block_in_lena(room);
            content = self.fill(number, Direction::Up, tti, room, process, Some(waiting));
        }
        let ue = self.get(number);
        let left = ue.unsent.total();
        ue.reporting.has_data = left > Bytes::ZERO;
        ue.reporting.is_due = false;
        ue.reporting.may_request_from = tti;
        self.requesting.retain(|other| *other != number);
        self.await_grant(number, tti);
        let counted = if left > Bytes::ZERO { left + lena::REPORT + lena::SUBHEADER } else { left };
        (content, Elements { buffer: Some(counted), headroom: None })
    }

    /// Triggers a scheduling request after a report of RLC, if data arrived at an empty buffer, data of a higher priority
    /// than all before, or retxBSR-Timer expired (`waited`).
    //= TS 36.321 §5.4.4
    //= TS 36.321 §5.4.5
    pub fn update_request(&mut self, number: u32, waited: bool) {
        let ue = &mut self.ues[number as usize];
        let has_data = ue.unsent.total() > Bytes::ZERO;
        let had_data = std::mem::replace(&mut ue.reporting.has_data, has_data);
        let urgency = ue.reporting.urgency;
        let checked = std::mem::replace(&mut ue.reporting.checked_urgency, urgency);
        let is_urgent = urgency.zip(checked).is_some_and(|(priority, before)| priority < before);
        if has_data
            && (!had_data || waited || is_urgent)
            && !std::mem::replace(&mut ue.reporting.is_due, true)
        {
            self.requesting.push(number);
        }
    }

    /// Resets reports and TPC commands of a UE that has left its cell.
    pub fn reset_reports(&mut self, number: usize) {
        let ue = &mut self.ues[number];
        let Reporting { headrooms, per_millisecond, as_lena, .. } = ue.reporting;
        ue.reporting = Reporting { headrooms, per_millisecond, as_lena, ..Reporting::default() };
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

    #[inline(always)]
    fn fill(
        &mut self,
        number: u32,
        direction: Direction,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        if self.ues[number as usize].has_several() {
            return self.fill_by_priority(number, direction, tti, size, process);
        }
        self.fill_from(LegId { ue: number, bearer: 0, direction }, tti, size, process, reported)
    }

    /// Fills a block from one bearer.
    #[inline(never)]
    fn fill_from(
        &mut self,
        id: LegId,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        let now = self.clock.start(tti);
        let (leg, other) = self.ues[id.ue as usize].bearers[id.bearer].legs(id.direction);
        let content = leg.rlc.transmit(now, size, process, &mut other.rlc, reported, &mut self.events);
        if leg.rlc.is_acknowledged() {
            self.timed.watch(id, leg);
        } else if leg.rlc.backlog().bytes > Bytes::ZERO {
            // The rest is reported one period after a transmission opportunity.
            self.report_timers[leg.timers()].arm(tti, id, &mut leg.report_at);
        } else {
            self.report_timers[leg.timers()].disarm(&mut leg.report_at);
        }
        content.map(Content::One)
    }

    /// Fills a block from several bearers.
    //= TS 36.321 §5.4.3.1
    //= exception no-mac-headers: subheaders count where bearers share a block
    #[inline(never)]
    fn fill_by_priority(
        &mut self,
        number: u32,
        direction: Direction,
        tti: Tti,
        size: Bytes,
        process: u8,
    ) -> Option<Content> {
        let now = self.clock.start(tti);
        let ue = &mut self.ues[number as usize];
        let mut channels = [Channel::default(); BearerSetup::MOST];
        let count = ue.compete(now, tti, direction, &mut channels);
        let channels = &mut channels[..count];
        divide(size, channels);
        let mut with_part = channels.iter_mut().filter(|channel| channel.part > Bytes::ZERO);
        let only = with_part.next();
        let is_shared = with_part.next().is_some();
        if let Some(only) = only.filter(|_| !is_shared) {
            only.part = size;
        }
        let mut parts = std::mem::take(&mut ue.harq(direction).parts[usize::from(process)]);
        parts.clear();
        // What a bearer leaves of its part, because its queue has dropped packets, goes to the next one.
        let mut spare = Bytes::ZERO;
        for channel in channels {
            let part = channel.part + spare;
            let protocol = self.ues[number as usize].bearers[channel.bearer].leg(direction).rlc.protocol();
            // NR's PDUs have their subheaders already.
            let needs_header = protocol == Protocol::Lte && (is_shared || !parts.is_empty());
            let room = if needs_header { data_in(part) } else { part };
            if room == Bytes::ZERO {
                continue;
            }
            let bearer = &self.ues[number as usize].bearers[channel.bearer];
            let reported = (direction == Direction::Up).then(|| bearer.reported(now, direction));
            let before = bearer.leg(direction).rlc.backlog().packets;
            let id = LegId { ue: number, bearer: channel.bearer, direction };
            let content = self.fill_from(id, tti, room, process, reported);
            let leg = self.ues[number as usize].bearers[channel.bearer].leg_mut(direction);
            spare = match content {
                Some(Content::One(content)) => {
                    parts.push((channel.bearer, content));
                    leg.bucket.take(channel.prioritized);
                    let left = before - leg.rlc.backlog().packets;
                    part.saturating_sub(leg.rlc.transmitted(content, left) + (part - room))
                }
                _ => part,
            };
        }
        let is_filled = !parts.is_empty();
        self.ues[number as usize].harq(direction).parts[usize::from(process)] = parts;
        is_filled.then_some(Content::Several(process))
    }

    /// Requests the memory of RLC in a direction of a UE's default bearer, as far as it is apart from the UE.
    #[inline]
    pub fn prefetch_rlc(&self, number: u32, direction: Direction) {
        self.ues[number as usize].bearers.default.leg(direction).rlc.prefetch();
    }
}

/// One direction of a bearer of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LegId {
    pub ue: u32,
    pub bearer: u8,
    pub direction: Direction,
}

/// The bearers with a running RLC timer.
pub(crate) struct Timed(Vec<LegId>);

impl Timed {
    /// An empty list with space for this many bearers.
    pub fn new(bearers: usize) -> Timed {
        Timed(Vec::with_capacity(2 * bearers))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bearers in the list.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, index: usize) -> LegId {
        self.0[index]
    }

    /// Adds a bearer if a timer of it runs.
    pub fn watch(&mut self, id: LegId, leg: &mut Leg) {
        if !leg.timed && leg.rlc.deadline().is_some() {
            leg.timed = true;
            self.0.push(id);
        }
    }

    /// Adds a bearer from another list, if it was in that.
    pub fn admit(&mut self, id: LegId, leg: &Leg) {
        if leg.timed {
            self.0.push(id);
        }
    }

    /// Removes the bearers for which `runs` is false.
    pub fn retain(&mut self, mut runs: impl FnMut(LegId) -> bool) {
        self.0.retain(|id| runs(*id));
    }
}

/// A set of timers with the same duration.
///
/// Restarting a timer leaves its old entry behind. The owner keeps the expiry and thereby recognises the valid entry.
pub(crate) struct Timers<T> {
    period: u64,
    /// By TTI modulo their number, a power of two above the period: a division would take longer than all else.
    due: Vec<Vec<T>>,
    armed: usize,
}

impl<T> Timers<T> {
    /// Timers of `period` TTIs for this many owners, each of which starts at most once per TTI.
    pub fn new(period: u64, owners: usize) -> Self {
        let lists = (period + 1).next_power_of_two();
        Timers { period, due: (0..lists).map(|_| Vec::with_capacity(owners)).collect(), armed: 0 }
    }

    /// Place of the entries of a TTI.
    fn place(&self, tti: Tti) -> usize {
        tti.0 as usize & (self.due.len() - 1)
    }

    pub fn arm(&mut self, tti: Tti, owner: T, expiry: &mut Option<Tti>) {
        let at = tti + self.period;
        self.armed += usize::from(expiry.is_none());
        if expiry.replace(at) != Some(at) {
            let place = self.place(at);
            self.due[place].push(owner);
        }
    }

    /// Whether no timer runs.
    pub fn is_idle(&self) -> bool {
        self.armed == 0
    }

    /// Whether there are entries of a TTI.
    pub fn has_entries(&self, tti: Tti) -> bool {
        !self.due[self.place(tti)].is_empty()
    }

    /// Takes the entries of a TTI out; [`Timers::put_back`] returns the list for its capacity.
    pub fn take(&mut self, tti: Tti) -> Vec<T> {
        let place = self.place(tti);
        std::mem::take(&mut self.due[place])
    }

    pub fn put_back(&mut self, tti: Tti, mut due: Vec<T>) {
        due.clear();
        let place = self.place(tti);
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
            let place = self.place(at);
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
    /// Tokens of logical channel prioritization.
    bucket: Bucket,
    /// Last TTI in which it was the first of the bearers with its priority.
    first_at: Option<Tti>,
}

/// A bearer of a UE.
pub(crate) struct RadioBearer {
    pub qos: Bearer,
    pub downlink: Leg,
    pub uplink: Leg,
}

/// The bearers of a UE.
pub(crate) struct Bearers {
    // Apart from the others: usually there is no other, and the way to it is short.
    pub default: RadioBearer,
    pub dedicated: Vec<RadioBearer>,
}

impl Bearers {
    /// Number of bearers.
    pub fn count(&self) -> u8 {
        self.dedicated.len() as u8 + 1
    }

    pub fn has_several(&self) -> bool {
        !self.dedicated.is_empty()
    }

    /// All bearers, the default bearer first.
    pub fn iter(&self) -> impl Iterator<Item = &RadioBearer> {
        std::iter::once(&self.default).chain(&self.dedicated)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RadioBearer> {
        std::iter::once(&mut self.default).chain(&mut self.dedicated)
    }

    /// Both directions of all bearers.
    pub fn legs_mut(&mut self) -> impl Iterator<Item = &mut Leg> {
        self.iter_mut().flat_map(|bearer| [&mut bearer.downlink, &mut bearer.uplink])
    }

    #[inline(never)]
    fn add_dedicated(&self, first: BufferStatus, now: Time, direction: Direction) -> BufferStatus {
        self.dedicated.iter().fold(first, |sum, bearer| sum + bearer.reported(now, direction))
    }
}

impl Index<u8> for Bearers {
    type Output = RadioBearer;
    fn index(&self, bearer: u8) -> &RadioBearer {
        if bearer == 0 { &self.default } else { &self.dedicated[usize::from(bearer) - 1] }
    }
}

impl IndexMut<u8> for Bearers {
    fn index_mut(&mut self, bearer: u8) -> &mut RadioBearer {
        if bearer == 0 { &mut self.default } else { &mut self.dedicated[usize::from(bearer) - 1] }
    }
}

/// HARQ of a UE in one direction.
pub(crate) struct Harq {
    errors: Stream,
    /// Bits of the number of a HARQ process of a carrier.
    process_bits: u32,
    pub blocks: BlockFigures,
    /// Bearers and PDUs in the block of each process; empty for a UE with one bearer.
    parts: Vec<Vec<(u8, rlc::Content)>>,
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
        self.bucket.reset(now);
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

    /// Index of its timer for repeated buffer reports, by mode.
    pub fn timers(&self) -> usize {
        usize::from(self.rlc.is_acknowledged())
    }
}

impl RadioBearer {
    pub fn leg(&self, direction: Direction) -> &Leg {
        match direction {
            Direction::Down => &self.downlink,
            Direction::Up => &self.uplink,
        }
    }

    pub fn leg_mut(&mut self, direction: Direction) -> &mut Leg {
        self.legs(direction).0
    }

    /// A direction, and the opposite one.
    pub fn legs(&mut self, direction: Direction) -> (&mut Leg, &mut Leg) {
        match direction {
            Direction::Down => (&mut self.downlink, &mut self.uplink),
            Direction::Up => (&mut self.uplink, &mut self.downlink),
        }
    }

    /// Whether packets are queued, on air or not yet acknowledged.
    pub fn has_packets(&self) -> bool {
        [&self.downlink, &self.uplink].into_iter().any(|leg| leg.rlc.inside().next().is_some())
    }

    /// Whether either direction has exceeded the maximum of retransmissions.
    fn has_failed(&self) -> bool {
        self.downlink.rlc.has_failed() || self.uplink.rlc.has_failed()
    }

    /// Buffer status that RLC reports to the MAC of a direction.
    #[inline]
    pub fn reported(&self, now: Time, direction: Direction) -> BufferStatus {
        self.leg(direction).rlc.reported(now, &self.leg(direction.reverse()).rlc)
    }
}

impl Harq {
    /// A number uniform in [0, 1) for the block of a carrier's process in this TTI.
    pub fn draw(&self, tti: Tti, carrier: u8, process: u8) -> f64 {
        let errors = if carrier == 0 { self.errors } else { self.errors.child(carrier.into()) };
        errors.at(tti.0 << self.process_bits | u64::from(process))
    }
}

impl Ue {
    pub fn new(
        setup: &RanSetup,
        carriers: &[ComponentCarrier],
        number: usize,
        (cell, slot): (usize, u16),
    ) -> Ue {
        let access = &carriers[0].access;
        // The HARQ processes of the downlink on all carriers, and those of the uplink.
        let [processes, uplink_processes] =
            [carriers.len() as u8, 1].map(|carriers| carriers * access.timing.processes);
        let (site, seed) = (&setup.ues[number], setup.seed);
        let own_protocol = setup.radio.access.protocol();
        let leg = |bearer: usize,
                   setup: &BearerSetup,
                   rlc: &Rlc,
                   processes: u8,
                   queue: &aqm::Spec,
                   streams: [&str; 2]| {
            let stream = match bearer {
                0 => Stream::new(seed, streams[0]).child(number as u64),
                _ => Stream::new(seed, streams[1]).child(number as u64).child(bearer as u64),
            };
            let queue = queue.build(&QueueContext { stream, rate: None });
            Leg {
                rlc: OneWay::new(rlc, rlc.protocol.unwrap_or(own_protocol), &access.timing, processes, queue),
                report_at: None,
                timed: false,
                bucket: Bucket::new(setup.pbr),
                first_at: None,
            }
        };
        let bearer = |(bearer, of): (usize, &BearerSetup)| {
            let rlc = setup.rlc_of(of);
            let up = rlc.uplink_queue.as_ref().unwrap_or(&rlc.queue);
            RadioBearer {
                qos: of.qos,
                downlink: leg(
                    bearer,
                    of,
                    rlc,
                    processes,
                    &rlc.queue,
                    ["downlink queue", "downlink queue of a bearer"],
                ),
                uplink: leg(
                    bearer,
                    of,
                    rlc,
                    uplink_processes,
                    up,
                    ["uplink queue", "uplink queue of a bearer"],
                ),
            }
        };
        let count = site.bearers.len();
        let mut bearers = site.bearers.iter().enumerate().map(bearer);
        let default = bearers.next().expect("a UE has a default bearer");
        let harq = |name, processes: u8| Harq {
            errors: Stream::new(seed, name).child(number as u64),
            process_bits: access.timing.processes.next_power_of_two().ilog2(),
            blocks: BlockFigures::default(),
            parts: (0..if count > 1 { processes } else { 0 }).map(|_| Vec::with_capacity(count)).collect(),
        };
        let control = Control {
            error: setup.radio.control_errors.then(ControlError::default),
            draws: Stream::new(seed, "control channel errors").child(number as u64),
        };
        let secondary = |carrier: &ComponentCarrier| Secondary {
            control: Control { draws: carrier.stream(control.draws), ..control.clone() },
            activation: Activation::default(),
        };
        Ue {
            cell,
            slot,
            downlink: harq("downlink block errors", processes),
            uplink: harq("uplink block errors", uplink_processes),
            bearers: Bearers { default, dedicated: bearers.collect() },
            unsent: BufferStatus::default(),
            attached: true,
            joined: true,
            drx: setup.mac.drx.as_ref().map(|params| {
                let offsets = Stream::new(seed, "DRX offset").child(number as u64);
                Box::new(Drx::new(params, access.clock, (&access.timing, carriers.len()), offsets, cell))
            }),
            connection: setup.rrc.as_ref().map(|params| {
                let stream = Stream::new(seed, "paging occasion").child(number as u64);
                Box::new(Connection::new(params, stream))
            }),
            fresh: false,
            report_again_at: None,
            reporting: Reporting::new(&setup.mac, access.clock),
            commanded: Db(0.0),
            failures: 0,
            handovers: 0,
            carriers: site.carriers.min(carriers.len() as u8),
            configured_grant: site.configured_grant.clone().map(Box::new),
            masks_requests: false,
            secondary: carriers[1..].iter().map(secondary).collect(),
            control,
            sinr: None,
            sinr_sum: 0.0,
            sinr_samples: 0,
        }
    }

    /// Whether it has more than the default bearer.
    pub fn has_several(&self) -> bool {
        self.bearers.has_several()
    }

    /// Fraction of the time until now in which it has monitored the PDCCH.
    pub fn awake(&self, clock: SlotClock, now: Time) -> f64 {
        if now == Time::ZERO {
            return 1.0;
        }
        let connection = self.connection.as_ref();
        match &self.drx {
            Some(drx) => {
                let release = connection.and_then(|connection| connection.release(now));
                let release = release.map(|release| clock.from(release.start)..clock.from(release.end));
                let next = clock.from(now);
                drx.awake(next, release) as f64 / next.0 as f64
            }
            None => {
                let asleep = connection.map_or(Span::ZERO, |connection| connection.asleep(now));
                1.0 - asleep.as_secs() / now.as_secs()
            }
        }
    }

    /// Notes a sample of the reported SINR.
    #[inline]
    pub fn sample(&mut self, sinr: Db) {
        self.sinr = Some(sinr);
        self.sinr_sum += sinr.0;
        self.sinr_samples += 1;
    }

    /// Deactivates its secondary carriers: it has accessed a cell.
    pub fn deactivate(&mut self) {
        self.secondary.iter_mut().for_each(|carrier| carrier.activation = Activation::default());
    }

    /// Quality of service of its bearers together.
    pub fn qos(&self) -> Bearer {
        Bearer::together(self.bearers.iter().map(|bearer| bearer.qos))
    }

    /// Both directions of its bearers.
    fn legs_of(&self, number: u32) -> impl Iterator<Item = (LegId, &Leg)> {
        (0..).zip(self.bearers.iter()).flat_map(move |(bearer, of)| {
            [Direction::Down, Direction::Up]
                .map(|direction| (LegId { ue: number, bearer, direction }, of.leg(direction)))
        })
    }

    pub fn leg(&mut self, bearer: u8, direction: Direction) -> &mut Leg {
        self.bearers[bearer].leg_mut(direction)
    }

    /// A direction of a bearer, and the opposite one.
    pub fn legs(&mut self, bearer: u8, direction: Direction) -> (&mut Leg, &mut Leg) {
        self.bearers[bearer].legs(direction)
    }

    fn harq(&mut self, direction: Direction) -> &mut Harq {
        match direction {
            Direction::Down => &mut self.downlink,
            Direction::Up => &mut self.uplink,
        }
    }

    /// Passes the PDUs in the decoded block of a HARQ process to their bearers.
    // A closure as a trait object: with the type of the caller's, RLC would be compiled once for both, and a UE with one
    // bearer would pay a call for each block.
    pub fn receive_several(
        &mut self,
        now: Time,
        direction: Direction,
        process: u8,
        mut deliver: &mut dyn FnMut(Sdu),
        events: &mut EventLog,
    ) {
        let mut parts = std::mem::take(&mut self.harq(direction).parts[usize::from(process)]);
        for (bearer, content) in parts.drain(..) {
            let (leg, other) = self.legs(bearer, direction);
            leg.rlc.receive(now, content, &mut other.rlc, &mut deliver, events);
        }
        self.harq(direction).parts[usize::from(process)] = parts;
    }

    /// Discards the PDUs in the blocks of all HARQ processes.
    pub fn clear_parts(&mut self) {
        for direction in [Direction::Down, Direction::Up] {
            self.harq(direction).parts.iter_mut().for_each(Vec::clear);
        }
    }

    /// Buffer status that RLC reports to the MAC of a direction: the sum of its bearers.
    #[inline]
    pub fn reported(&self, now: Time, direction: Direction) -> BufferStatus {
        let first = self.bearers.default.reported(now, direction);
        if self.has_several() { self.bearers.add_dedicated(first, now, direction) } else { first }
    }

    /// Lists its bearers with data to send in a direction in descending order of priority; of equal priority, that is
    /// first which has waited longest to be so. Returns their number.
    //= TS 36.321 §5.4.3.1
    fn compete(
        &mut self,
        now: Time,
        tti: Tti,
        direction: Direction,
        channels: &mut [Channel; BearerSetup::MOST],
    ) -> usize {
        let mut count = 0;
        for (number, bearer) in (0..).zip(self.bearers.iter_mut()) {
            let waiting = bearer.reported(now, direction).total();
            let leg = bearer.leg_mut(direction);
            leg.bucket.fill(now);
            if waiting > Bytes::ZERO {
                let backlog = leg.rlc.backlog();
                // Queue disciplines do not state the size of the next SDU: the mean is taken, with the longer header.
                let mean = |packets| Bytes(backlog.bytes.0.div_ceil(packets)) + leg.rlc.longest_headers();
                let next_sdu = if backlog.packets > 0 { mean(backlog.packets) } else { waiting };
                let tokens = leg.bucket.tokens();
                channels[count] = Channel { bearer: number, waiting, next_sdu, tokens, ..Channel::default() };
                count += 1;
            }
        }
        channels[..count].sort_unstable_by_key(|channel| {
            let bearer = &self.bearers[channel.bearer];
            (bearer.qos.qci.priority(), bearer.leg(direction).first_at, channel.bearer)
        });
        let mut before = None;
        for channel in &channels[..count] {
            let bearer = &mut self.bearers[channel.bearer];
            let priority = Some(bearer.qos.qci.priority());
            if std::mem::replace(&mut before, priority) != priority {
                bearer.leg_mut(direction).first_at = Some(tti);
            }
        }
        count
    }

    /// Size of a buffer status report with its subheader.
    fn report_size(&self, now: Time) -> Bytes {
        let waits = |bearer: &&RadioBearer| bearer.reported(now, Direction::Up).total() > Bytes::ZERO;
        if self.has_several() && self.bearers.iter().filter(waits).count() > 1 {
            LONG_REPORT
        } else {
            ELEMENT
        }
    }

    /// Notes the highest priority of the bearers with uplink data; called if there are several.
    #[inline(never)]
    fn note_urgency(&mut self, now: Time) {
        let waits = |bearer: &&RadioBearer| bearer.reported(now, Direction::Up).total() > Bytes::ZERO;
        let priorities = self.bearers.iter().filter(waits).map(|bearer| bearer.qos.qci.priority());
        self.reporting.urgency = priorities.min();
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

    /// Whether a bearer has exceeded the maximum of retransmissions.
    pub fn has_failed(&self) -> bool {
        self.bearers.default.has_failed() || self.bearers.dedicated.iter().any(RadioBearer::has_failed)
    }

    /// Whether the UE with this number misses a PDCCH of this level on a carrier in the TTI on air.
    #[inline]
    pub fn loses_control(
        &mut self,
        tti: Tti,
        (number, carrier): (u32, u8),
        level: Level,
        air: &mut Air<'_>,
    ) -> bool {
        let control = match carrier {
            0 => &mut self.control,
            _ => &mut self.secondary[usize::from(carrier) - 1].control,
        };
        let Some(error) = &mut control.error else { return false };
        let number = number as usize;
        let probability = match air.receivers.faded_control_error(air.radio, number, level) {
            Some(probability) => probability,
            None => {
                let now = Some((air.radio.version(number), self.cell));
                if error.of != now {
                    let sinr = air.radio.control_sinr(number, self.cell);
                    *error = ControlError { probability: control_error(sinr), sinr, of: now };
                }
                match level {
                    Level::OF_8 => error.probability,
                    _ => control_error(error.sinr + level.gain()),
                }
            }
        };
        probability > 0.0 && control.draws.at(tti.0) < probability
    }

    /// Notes that nothing waits any more, if so: a STATUS PDU has acknowledged what was to be sent again, or a timer has
    /// discarded the rest. The next data then arrives at an empty buffer.
    pub fn note_empty(&mut self, now: Time) {
        let had_data = self.reporting.has_data && !self.reporting.as_lena;
        if had_data && self.reported(now, Direction::Up).total() == Bytes::ZERO {
            self.unsent = BufferStatus::default();
            self.reporting.has_data = false;
            (self.reporting.urgency, self.reporting.checked_urgency) = (None, None);
        }
    }

    /// RLC reports its uplink backlog to the UE's MAC.
    pub fn on_uplink_report(&mut self, now: Time, number: u32, waiting: BufferStatus, fresh: &mut Vec<u32>) {
        self.unsent = waiting;
        if self.has_several() {
            self.note_urgency(now);
        }
        if !std::mem::replace(&mut self.fresh, true) {
            fresh.push(number);
        }
    }
}
