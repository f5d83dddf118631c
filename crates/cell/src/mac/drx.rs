//! Connected-mode discontinuous reception (C-DRX): the TTIs in which a UE monitors the PDCCH.

use crate::identity::CellId;
use airwnd_catalog::Params;
use airwnd_kernel::{Direction, Stream};
use airwnd_phy::access::Timing;
use airwnd_units::{SlotClock, Span, Tti};
use std::ops::Range;

/// Discontinuous reception (DRX) of connected UEs: a UE monitors the PDCCH only in its active time, and sleeps
/// otherwise.
///
/// Every cycle begins with an on-duration. An assignment or a grant of a new block keeps the UE awake for the
/// inactivity timer; then it follows the short cycle for a while, and the long one after that. It is also awake from a
/// scheduling request to its grant, and while it awaits a HARQ retransmission. The eNB schedules a UE only in its
/// active time; packets for a sleeping UE wait in the bearer. Uplink packets do not: their scheduling request wakes the
/// UE. Outside the active time a UE sends neither CQI reports nor sounding signals, and the eNB uses the last ones.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.321 §5.7; TS 38.321 §5.7", check)]
pub struct Params {
    /// Long DRX cycle.
    #[param(basic)]
    #[param(default = Span::from_millis(320), range = Span::from_millis(2)..=Span::from_millis(10_240))]
    #[param(unit = "time", source = "MTN Ghana 2022, measured with a phone: 93 % of the time")]
    pub cycle: Span,
    /// onDurationTimer: time awake at the start of each cycle.
    #[param(basic, default = Span::from_millis(10), range = Span::from_millis(1)..=Span::from_millis(1_600))]
    #[param(unit = "time", source = "MTN Ghana 2022: 92 % of the time")]
    pub on_duration: Span,
    /// drx-InactivityTimer: time awake after an assignment or a grant of a new block.
    #[param(basic, default = Span::from_millis(200), range = Span::ZERO..=Span::from_millis(2_560))]
    #[param(unit = "time", source = "MTN Ghana 2022: 90 % of the time")]
    pub inactivity: Span,
    /// Short DRX cycle, after the inactivity timer; `none`: the long cycle follows at once.
    #[param(default = Some(Span::from_millis(40)))]
    #[param(range = Span::from_millis(2)..=Span::from_millis(1_280))]
    #[param(unit = "time", source = "MTN Ghana 2022: 92 % of the time")]
    pub short_cycle: Option<Span>,
    /// drxShortCycleTimer: number of short cycles before the long ones.
    #[param(default = 4, range = 1..=16, unit = "cycles", source = "a choice: half a long cycle")]
    pub short_cycles: u64,
    /// drx-RetransmissionTimer: time awake for a retransmission in the downlink, from the earliest TTI on that it can
    /// be in.
    #[param(default = Span::from_millis(8), range = Span::ZERO..=Span::from_millis(320))]
    #[param(unit = "time", source = "TS 36.331 §6.3.2, MAC-MainConfig, psf8: a choice")]
    pub retransmission: Span,
    /// drx-RetransmissionTimerUL: the same for the uplink. In LTE the time of a retransmission is fixed, so that it
    /// does not apply.
    #[param(default = Span::from_millis(8), range = Span::ZERO..=Span::from_millis(320))]
    #[param(unit = "time", source = "as in the downlink")]
    pub uplink_retransmission: Span,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let Params { cycle, on_duration, short_cycle, .. } = *self;
        let shortest = short_cycle.unwrap_or(cycle);
        if let Some(short) = short_cycle.filter(|short| *short >= cycle || !cycle.0.is_multiple_of(short.0)) {
            return Err((
                "short_cycle",
                format!("the long cycle of {cycle} is not a multiple of the short cycle of {short}"),
            ));
        }
        if on_duration > shortest {
            let message = format!("an on-duration of {on_duration} exceeds the cycle of {shortest}");
            return Err(("on_duration", message));
        }
        Ok(())
    }
}

/// The timers in TTIs.
#[derive(Clone, Copy, Debug)]
struct Timers {
    cycle: u64,
    on_duration: u64,
    inactivity: u64,
    short_cycle: Option<u64>,
    /// Duration of the short cycles.
    short: u64,
    /// By direction.
    retransmission: [u64; 2],
}

/// Discontinuous reception of a UE. TTIs are those of the PDCCH.
//= TS 36.321 §5.7
//= exception drx-in-agreement
#[derive(Clone, Debug)]
pub(crate) struct Drx {
    timers: Timers,
    /// Offsets of the cycles, by cell.
    offsets: Stream,
    /// drxStartOffset.
    offset: u64,
    /// The last two periods of the inactivity timer: the first determines which cycle was in use when the second began.
    inactivity: [Range<u64>; 2],
    /// First TTI in which the eNB can answer a pending scheduling request.
    requested: Option<u64>,
    /// TTIs of possible retransmissions by HARQ process: those of the downlink on all carriers, then the uplink's.
    windows: Vec<Range<u64>>,
    /// Number of processes of the downlink.
    downlink_processes: usize,
    /// End of the last of them.
    windows_end: u64,
    /// TTIs up to here are counted in `awake`.
    counted: u64,
    /// Number of TTIs awake.
    awake: u64,
    /// Changes for an observer; `None`: there is no observer.
    changes: Option<Box<Changes>>,
}

/// Whether a UE with DRX monitors the PDCCH, and what has woken it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrxState {
    /// Asleep.
    Asleep,
    /// Awake in the on-duration of a cycle.
    OnDuration,
    /// Awake after an assignment or a grant of a new block, or after access to a cell.
    Inactivity,
    /// Awake from a scheduling request to its grant.
    Request,
    /// Awake for a retransmission.
    Retransmission,
}

/// Changes between awake and asleep.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// Since the last look.
    new: Vec<(Tti, DrxState)>,
    /// End of the last period awake so far.
    awake_until: u64,
    is_awake: bool,
}

impl Changes {
    /// The TTIs from this one on are awake.
    fn wake(&mut self, from: u64, until: u64, cause: DrxState) {
        self.sleep(from);
        if !self.is_awake {
            self.new.push((Tti(from), cause));
            self.is_awake = true;
        }
        self.awake_until = until;
    }

    /// The TTIs before this one that have not been awake were asleep.
    fn sleep(&mut self, until: u64) {
        if self.is_awake && self.awake_until < until {
            self.new.push((Tti(self.awake_until), DrxState::Asleep));
            self.is_awake = false;
        }
    }
}

impl Drx {
    /// The state of a UE with this number of carriers that has just accessed this cell.
    pub fn new(
        params: &Params,
        clock: SlotClock,
        timing: &Timing,
        carriers: usize,
        offsets: Stream,
        cell: CellId,
    ) -> Drx {
        let count = |span| clock.count(span);
        let short_cycle = params.short_cycle.map(count);
        let uplink = if timing.round_trip.is_some() { 1 } else { count(params.uplink_retransmission) };
        let timers = Timers {
            cycle: count(params.cycle),
            on_duration: count(params.on_duration),
            inactivity: count(params.inactivity),
            short_cycle,
            short: short_cycle.map_or(0, |cycle| cycle * params.short_cycles),
            retransmission: [count(params.retransmission), uplink],
        };
        let mut drx = Drx {
            timers,
            offsets,
            offset: 0,
            inactivity: [0..0, 0..0],
            requested: None,
            windows: vec![0..0; (carriers + 1) * usize::from(timing.processes)],
            downlink_processes: carriers * usize::from(timing.processes),
            windows_end: 0,
            counted: 0,
            awake: 0,
            changes: None,
        };
        drx.join(Tti(0), cell);
        drx
    }

    /// Whether the UE monitors the PDCCH in a TTI, as far as is known by now. Past TTIs are known as far back as a
    /// report of the channel.
    #[inline(never)]
    pub fn is_active(&self, tti: Tti) -> bool {
        let tti = tti.0;
        self.inactivity[1].contains(&tti)
            || self.requested.is_some_and(|since| since <= tti)
            || self.is_on(tti)
            || self.inactivity[0].contains(&tti)
            || tti < self.windows_end && self.windows.iter().any(|window| window.contains(&tti))
    }

    /// Whether a TTI is in an on-duration.
    fn is_on(&self, tti: u64) -> bool {
        let Timers { cycle, on_duration, short_cycle, .. } = self.timers;
        let age = |cycle: u64| (tti + cycle - self.offset % cycle) % cycle;
        let in_short = |short: u64| {
            let age = age(short);
            age < on_duration && tti.checked_sub(age).is_some_and(|start| self.uses_short_cycle(start))
        };
        age(cycle) < on_duration || short_cycle.is_some_and(in_short)
    }

    /// Whether the short cycle is in use: drxShortCycleTimer runs from the end of the inactivity timer.
    fn uses_short_cycle(&self, tti: u64) -> bool {
        let follows = |timer: &Range<u64>| (timer.end..timer.end + self.timers.short).contains(&tti);
        self.inactivity.iter().any(|timer| !timer.is_empty() && follows(timer))
    }

    /// An assignment or a grant of a new block reaches the UE.
    #[inline(never)]
    pub fn on_new(&mut self, tti: Tti, direction: Direction) {
        debug_assert!(self.is_active(tti), "a UE that sleeps is not scheduled");
        self.count(tti);
        if direction == Direction::Up {
            self.requested = None;
        }
        self.restart_inactivity(tti);
    }

    fn restart_inactivity(&mut self, tti: Tti) {
        let [before, last] = &mut self.inactivity;
        if tti.0 >= last.end {
            *before = std::mem::replace(last, tti.0..tti.0);
        }
        last.end = tti.0 + 1 + self.timers.inactivity;
    }

    /// The UE sends a scheduling request, which the eNB can answer from `answer` on.
    pub fn on_request(&mut self, tti: Tti, answer: Tti) {
        if self.requested.is_none() {
            self.count(tti);
            self.be_awake_until(answer);
            self.requested = Some(answer.0);
        }
    }

    /// The block of a configured grant has reported what a pending scheduling request was for.
    pub fn on_report(&mut self, tti: Tti) {
        self.count(tti);
        self.requested = None;
    }

    /// A block of a HARQ process may be retransmitted from this TTI on. The HARQ RTT timer has run until then.
    //= exception drx-rtt-timer-is-the-round-trip
    #[inline(never)]
    pub fn await_retransmission(&mut self, tti: Tti, direction: Direction, process: u8) {
        let end = tti.0 + self.timers.retransmission[direction as usize];
        *self.window(direction, process) = tti.0..end;
        self.windows_end = self.windows_end.max(end);
    }

    /// The retransmission of a block reaches the UE.
    #[inline(never)]
    pub fn on_retransmission(&mut self, tti: Tti, direction: Direction, process: u8) {
        debug_assert!(self.is_active(tti), "a UE that sleeps is not scheduled");
        self.count(tti + 1);
        let window = self.window(direction, process);
        window.end = window.end.min(tti.0 + 1);
    }

    fn window(&mut self, direction: Direction, process: u8) -> &mut Range<u64> {
        &mut self.windows[direction as usize * self.downlink_processes + usize::from(process)]
    }

    /// The UE leaves its cell.
    pub fn leave(&mut self, tti: Tti) {
        self.count(tti);
    }

    /// The UE has accessed a cell, awake since it left the last one. The messages of the access are new blocks.
    //= TS 36.321 §5.9
    pub fn join(&mut self, tti: Tti, cell: CellId) {
        self.be_awake_until(tti);
        self.inactivity = [0..0, 0..0];
        self.requested = None;
        self.windows.fill(0..0);
        self.windows_end = 0;
        self.offset = (self.offsets.at(cell.0.into()) * self.timers.cycle as f64) as u64;
        self.restart_inactivity(tti);
    }

    /// Counts TTIs up to one as awake.
    fn be_awake_until(&mut self, tti: Tti) {
        if self.counted < tti.0 {
            self.note_awake(tti.0);
            self.awake += tti.0 - self.counted;
            self.counted = tti.0;
        }
    }

    /// Notes for an observer that the TTIs from the last counted one to this one are awake.
    fn note_awake(&mut self, until: u64) {
        let from = self.counted;
        let cause = self.changes.is_some().then(|| self.cause(from));
        if let (Some(changes), Some(cause)) = (&mut self.changes, cause) {
            changes.wake(from, until, cause);
        }
    }

    /// Returns the reason why the UE is awake in a TTI.
    fn cause(&self, tti: u64) -> DrxState {
        if self.inactivity.iter().any(|timer| timer.contains(&tti)) {
            DrxState::Inactivity
        } else if self.windows.iter().any(|window| window.contains(&tti)) {
            DrxState::Retransmission
        } else if self.is_on(tti) {
            DrxState::OnDuration
        } else {
            DrxState::Request
        }
    }

    /// Keeps the changes between awake and asleep from now on.
    pub fn observe(&mut self) {
        self.changes = Some(Box::default());
    }

    /// The changes before a TTI since the last call, with the first TTI of each state. A UE that is not connected is asleep.
    pub fn changes(&mut self, tti: Tti, is_connected: bool) -> impl Iterator<Item = (Tti, DrxState)> {
        let asleep_before = if is_connected { self.counted } else { u64::MAX };
        self.changes.as_mut().into_iter().flat_map(move |changes| {
            changes.sleep(asleep_before);
            // An assignment is counted when it is decided, before it reaches the UE.
            let past = changes.new.iter().take_while(|(at, _)| *at < tti).count();
            changes.new.drain(..past)
        })
    }

    /// Counts TTIs up to one as asleep: the UE is not connected.
    pub fn skip(&mut self, from: Tti, to: Tti) {
        self.count(from);
        self.counted = self.counted.max(to.0);
    }

    /// Counts the TTIs before this one.
    pub fn count(&mut self, tti: Tti) {
        if self.requested.is_some() {
            return self.be_awake_until(tti);
        }
        let Timers { cycle, on_duration, short, .. } = self.timers;
        let timer = self.inactivity[1].clone();
        if timer.contains(&self.counted) {
            self.be_awake_until(Tti(tti.0.min(timer.end)));
        }
        // From then on there are only the on-durations of the long cycle.
        let settled = match self.changes {
            None => self.windows_end.max(timer.end + short + on_duration),
            Some(_) => tti.0,
        };
        while self.counted < tti.0.min(settled) {
            if self.is_active(Tti(self.counted)) {
                self.be_awake_until(Tti(self.counted + 1));
            } else {
                self.counted += 1;
            }
        }
        if self.counted < tti.0 {
            let before = |tti: u64| {
                let since = tti + cycle - self.offset;
                since / cycle * on_duration + (since % cycle).min(on_duration)
            };
            self.awake += before(tti.0) - before(self.counted);
            self.counted = tti.0;
        }
    }

    /// Number of TTIs awake before this one; from `released` on the UE has not been connected.
    pub fn awake(&self, tti: Tti, released: Option<Range<Tti>>) -> u64 {
        let mut drx = self.clone();
        if let Some(Range { start, end }) = released {
            drx.skip(start, end);
        }
        drx.count(tti);
        // The assignments of the last decisions reach the UE after this TTI.
        drx.awake.min(tti.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    /// A UE of LTE that has slept since its first TTI, with an offset of 7 TTIs.
    fn asleep(params: &Params) -> Drx {
        let offsets = Stream::new(1, "offsets");
        let mut drx = Drx::new(params, SlotClock::of_numerology(0), &Timing::lte(8), 1, offsets, CellId(0));
        (drx.offset, drx.inactivity) = (7, [0..0, 0..0]);
        drx
    }

    fn long_only() -> Params {
        Params { short_cycle: None, ..Params::default() }
    }

    /// The active TTIs in a range, as ranges.
    fn active(drx: &Drx, ttis: Range<u64>) -> Vec<Range<u64>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        for tti in ttis.filter(|tti| drx.is_active(Tti(*tti))) {
            match found.last_mut().filter(|last| last.end == tti) {
                Some(last) => last.end = tti + 1,
                None => found.push(tti..tti + 1),
            }
        }
        found
    }

    #[test]
    fn an_on_duration_begins_each_cycle() {
        assert_eq!(active(&asleep(&long_only()), 0..1000), [7..17, 327..337, 647..657, 967..977]);
        // 10 of 320 TTIs
        assert_eq!(asleep(&long_only()).awake(Tti(3200), None), 100);
    }

    #[test]
    fn a_new_block_restarts_the_inactivity_timer() {
        let mut drx = asleep(&long_only());
        drx.on_new(Tti(10), Direction::Down);
        // The timer covers the 200 TTIs after the one of the assignment.
        assert_eq!(active(&drx, 0..400), [7..211, 327..337]);
        drx.on_new(Tti(210), Direction::Down);
        assert_eq!(active(&drx, 0..700), [7..411, 647..657]);
        assert_eq!(drx.awake(Tti(700), None), 404 + 10);
    }

    #[test]
    fn short_cycles_come_before_long_ones() {
        let mut drx = asleep(&Params::default());
        drx.on_new(Tti(10), Direction::Down);
        // 4 short cycles of 40 TTIs from 211 on: starts at 7 + 40 k
        let short = [7..211, 247..257, 287..297, 327..337, 367..377, 647..657];
        assert_eq!(active(&drx, 0..900), short);
        // While the timer runs again, the long cycle is in use; then the short one follows.
        drx.on_new(Tti(650), Direction::Up);
        assert_eq!(active(&drx, 560..1100), [647..851, 887..897, 927..937, 967..977, 1007..1017]);
    }

    /// The on-duration that begins in the short cycle, before the timer restarts, outlasts a short timer.
    #[test]
    fn the_cycle_in_use_while_the_timer_runs_is_the_one_before() {
        let mut drx = asleep(&Params { inactivity: MS(2), short_cycles: 16, ..Params::default() });
        drx.on_new(Tti(8), Direction::Down);
        drx.on_new(Tti(48), Direction::Down);
        assert_eq!(active(&drx, 0..100), [7..17, 47..57, 87..97]);
    }

    #[test]
    fn a_scheduling_request_wakes_until_its_grant() {
        let mut drx = asleep(&long_only());
        drx.on_request(Tti(100), Tti(104));
        assert!(!drx.is_active(Tti(103)) && (104..120).all(|tti| drx.is_active(Tti(tti))));
        drx.on_new(Tti(110), Direction::Up);
        assert_eq!(active(&drx, 90..500), [110..311, 327..337]);
        // 7..17, 100..311, 327..337
        assert_eq!(drx.awake(Tti(500), None), 10 + 211 + 10);
    }

    #[test]
    fn a_retransmission_is_awaited() {
        let mut drx = asleep(&Params { inactivity: MS(0), ..long_only() });
        drx.on_new(Tti(16), Direction::Down);
        drx.await_retransmission(Tti(23), Direction::Down, 3);
        assert_eq!(active(&drx, 0..100), [7..17, 23..31]);
        drx.on_retransmission(Tti(25), Direction::Down, 3);
        assert_eq!(active(&drx, 0..100), [7..17, 23..26]);
        assert_eq!(drx.awake(Tti(100), None), 10 + 3);
    }

    #[test]
    fn the_timer_ends_with_the_cell_and_the_offset_is_drawn_anew() {
        let mut drx = asleep(&long_only());
        drx.on_new(Tti(10), Direction::Down);
        drx.leave(Tti(300));
        drx.join(Tti(310), CellId(4));
        let offset = drx.offset;
        assert_eq!(offset, (drx.offsets.at(4) * 320.0) as u64);
        assert!(drx.is_active(Tti(510)) && active(&drx, 511..511 + 320).len() <= 2);
        // 7..211, and awake from leaving the one cell to the timer's end in the other
        assert_eq!(drx.awake(Tti(511), None), 204 + 211);
    }

    /// The closed form of the time awake counts as each TTI by itself does.
    #[test]
    fn the_time_awake_is_the_number_of_active_ttis() {
        let draws = Stream::new(5, "events");
        for case in 0..40 {
            let case_draws = draws.child(case);
            let params = Params {
                inactivity: MS((case_draws.at(0) * 60.0) as u64),
                short_cycle: (case % 2 == 0).then_some(MS(20)),
                cycle: MS(160),
                ..Params::default()
            };
            let mut drx = asleep(&params);
            let (mut awake, mut requested_until) = (0, 0);
            for tti in 0..5000 {
                let is_active = drx.is_active(Tti(tti));
                awake += u64::from(is_active || tti < requested_until);
                let draw = case_draws.at(1 + tti);
                match (draw * 1000.0) as u64 {
                    0..20 if is_active => drx.on_new(Tti(tti), Direction::Down),
                    20..60 if is_active => drx.on_new(Tti(tti), Direction::Up),
                    60..62 if drx.requested.is_none() => {
                        drx.on_request(Tti(tti), Tti(tti + 4));
                        awake += u64::from(!is_active && tti >= requested_until);
                        requested_until = tti + 4;
                    }
                    70..75 => {
                        let process = (tti % 8) as u8;
                        if drx.window(Direction::Down, process).end <= tti {
                            drx.count(Tti(tti + 1));
                            drx.await_retransmission(Tti(tti + 7), Direction::Down, process);
                        }
                    }
                    _ => {}
                }
            }
            assert_eq!(drx.awake(Tti(5000), None), awake, "case {case}: {params:?}");
        }
    }

    #[test]
    fn a_release_is_asleep() {
        let mut drx = asleep(&long_only());
        // 7..17 is before it, 967..977 after it
        assert_eq!(drx.awake(Tti(1000), Some(Tti(20)..Tti(960))), 20);
        drx.skip(Tti(20), Tti(960));
        assert_eq!(drx.awake(Tti(1000), None), 20);
    }

    #[test]
    fn cycles_fit_into_one_another() {
        let check = |cycle, on, short: Option<u64>| {
            let params = Params {
                cycle: MS(cycle),
                on_duration: MS(on),
                short_cycle: short.map(MS),
                ..Params::default()
            };
            params.check().map_err(|(key, _)| key)
        };
        assert_eq!(check(320, 10, Some(40)), Ok(()));
        assert_eq!(check(320, 320, None), Ok(()));
        assert_eq!(check(320, 10, Some(50)), Err("short_cycle"));
        assert_eq!(check(320, 10, Some(320)), Err("short_cycle"));
        assert_eq!(check(320, 321, None), Err("on_duration"));
        assert_eq!(check(320, 50, Some(40)), Err("on_duration"));
    }
}
