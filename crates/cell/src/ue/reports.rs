//! Reports of a UE within its blocks: buffer status and power headroom.

use super::Ue;
use super::bearers::RadioBearer;
use crate::identity::UeId;
use crate::mac::control_elements::Headroom;
use crate::mac::power_control;
use crate::mac::uplink_adaptation::UplinkAdaptation;
use crate::settings::Mac;
use airwnd_kernel::Direction;
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Db, SlotClock, Time, Tti};

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
    pub(super) urgency: Option<u8>,
    pub(super) checked_urgency: Option<u8>,
    /// Whether power headroom is reported.
    headrooms: bool,
    /// TTI of the last buffer status report.
    pub(super) buffer_at: Option<Tti>,
    /// TTI of the last power headroom report, and the downlink's path loss then.
    headroom_at: Option<(Tti, Db)>,
    /// TTIs in a millisecond.
    per_millisecond: u64,
}

/// Bytes of a short buffer status report and of a power headroom report, each with its subheader (TS 36.321 §6.1.2,
/// §6.1.3.1, §6.1.3.6).
pub(super) const ELEMENT: Bytes = Bytes(2);
/// Bytes of a long buffer status report with its subheader, which a UE sends if several bearers have data
/// (TS 36.321 §6.1.3.1). Each bearer is a logical channel group.
// A report of NR has one byte more with two groups (TS 38.321 §6.1.3.1).
const LONG_REPORT: Bytes = Bytes(4);
/// periodicPHR-Timer, prohibitPHR-Timer and dl-PathlossChange (TS 36.331 §6.3.2, MAC-MainConfig), in
/// milliseconds and decibels.
// Choices: sf200, sf20 and dB3.
const PERIODIC_HEADROOM: u64 = 200;
const PROHIBIT_HEADROOM: u64 = 20;
const HEADROOM_CHANGE: f64 = 3.0;
/// Range of a power headroom report, in whole decibels (TS 36.133 §9.1.8.4).
const HEADROOMS: [f64; 2] = [-23.0, 40.0];

impl Reporting {
    pub(super) fn new(mac: &Mac, clock: SlotClock) -> Reporting {
        let headrooms = mac.uplink_adaptation == UplinkAdaptation::Headroom
            || mac.power_control.mode == power_control::Mode::ClosedLoop;
        Reporting { headrooms, per_millisecond: clock.per_millisecond(), ..Reporting::default() }
    }

    /// Discards what was reported: the UE leaves its cell.
    pub(super) fn reset(&mut self) {
        let Reporting { headrooms, per_millisecond, .. } = *self;
        *self = Reporting { headrooms, per_millisecond, ..Reporting::default() };
    }
}

impl Ue {
    /// Size of a buffer status report with its subheader.
    pub(super) fn report_size(&self, now: Time) -> Bytes {
        let waits = |bearer: &&RadioBearer| bearer.reported(now, Direction::Up).total() > Bytes::ZERO;
        if self.has_several() && self.bearers.iter().filter(waits).count() > 1 {
            LONG_REPORT
        } else {
            ELEMENT
        }
    }

    /// Notes the highest priority of the bearers with uplink data; called if there are several.
    #[inline(never)]
    pub(super) fn note_urgency(&mut self, now: Time) {
        let waits = |bearer: &&RadioBearer| bearer.reported(now, Direction::Up).total() > Bytes::ZERO;
        let priorities = self.bearers.iter().filter(waits).map(|bearer| bearer.qos.qci.priority());
        self.reporting.urgency = priorities.min();
    }

    //= TS 36.321 §5.4.6
    pub(super) fn headroom_is_due(&self, tti: Tti, loss: Db) -> bool {
        self.reporting.headrooms
            && self.reporting.headroom_at.is_none_or(|(at, before)| {
                let age = tti - at;
                age >= PERIODIC_HEADROOM * self.reporting.per_millisecond
                    || age >= PROHIBIT_HEADROOM * self.reporting.per_millisecond
                        && (loss - before).0.abs() > HEADROOM_CHANGE
            })
    }

    /// A power headroom report, if one is due.
    pub(super) fn report_headroom(&mut self, tti: Tti, power: &Headroom<'_>) -> Option<Db> {
        let Headroom { control, prbs, loss } = *power;
        self.headroom_is_due(tti, loss).then(|| {
            self.reporting.headroom_at = Some((tti, loss));
            let [min, max] = HEADROOMS;
            let headroom = control.headroom(prbs, loss, self.commanded);
            Db(libm::floor(headroom.0).clamp(min, max))
        })
    }

    /// Notes that nothing waits any more, if so: a STATUS PDU has acknowledged what was to be sent again, or a timer has
    /// discarded the rest. The next data then arrives at an empty buffer.
    pub fn note_empty(&mut self, now: Time) {
        if self.reporting.has_data && self.reported(now, Direction::Up).total() == Bytes::ZERO {
            self.unsent = BufferStatus::default();
            self.reporting.has_data = false;
            (self.reporting.urgency, self.reporting.checked_urgency) = (None, None);
        }
    }

    /// RLC reports its uplink backlog to the UE's MAC.
    pub(super) fn on_uplink_report(
        &mut self,
        now: Time,
        number: UeId,
        waiting: BufferStatus,
        fresh: &mut Vec<UeId>,
    ) {
        self.unsent = waiting;
        if self.has_several() {
            self.note_urgency(now);
        }
        if !std::mem::replace(&mut self.fresh, true) {
            fresh.push(number);
        }
    }
}
