//! Activation and deactivation of secondary carriers (SCells).

use airwnd_catalog::Params;
use airwnd_units::{Bytes, SlotClock, Span, Tti};

/// Activation and deactivation of the secondary carriers that a UE aggregates.
///
/// Secondary carriers are inactive at first, and after each handover or promotion. When a block on the primary carrier
/// leaves at least `backlog` waiting, a MAC control element in it activates them. Each is deactivated when it has had no
/// assignment for the UE during its timer, and its HARQ processes are flushed.
//= exception activation-in-agreement
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.321 §5.13; TS 38.321 §5.9")]
pub struct Params {
    /// Data left at the eNB from which on it activates the secondary carriers of a UE.
    #[param(basic, default = Bytes(10_000), range = Bytes(0)..=Bytes(1_000_000_000))]
    #[param(unit = "B", source = "a choice: about one block of 20 MHz in LTE")]
    pub backlog: Bytes,
    /// Time from the MAC control element until secondary carriers serve the UE: the UE has reported its first CQI.
    #[param(default = Span::from_millis(24), range = Span::from_millis(8)..=Span::from_secs(1))]
    #[param(unit = "time", source = "TS 36.133 §7.7.2: at most 24 ms for a known SCell, otherwise 34 ms")]
    pub delay: Span,
    /// sCellDeactivationTimer: time without an assignment after which a secondary carrier is deactivated; `none`: never.
    #[param(basic, default = Some(Span::from_millis(160)))]
    #[param(range = Span::from_millis(20)..=Span::from_millis(1_280))]
    #[param(
        unit = "time",
        source = "TS 36.331 §6.3.2, MAC-MainConfig; TS 38.331 §6.3.2, ServingCellConfig: a choice"
    )]
    pub deactivation_timer: Option<Span>,
}

/// The parameters in TTIs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    backlog: Bytes,
    delay: u64,
    timer: Option<u64>,
}

impl Timing {
    pub fn new(params: &Params, clock: SlotClock) -> Timing {
        Timing {
            backlog: params.backlog,
            delay: clock.count(params.delay),
            timer: params.deactivation_timer.map(|timer| clock.count(timer)),
        }
    }

    /// The first TTI after the timer that an assignment in this TTI starts.
    fn expiry(&self, tti: Tti) -> u64 {
        self.timer.map_or(u64::MAX, |timer| tti.0 + 1 + timer)
    }
}

/// A secondary carrier of a UE. TTIs are those on air.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activation {
    /// The carrier is active from here to the end, as far as is known.
    start: u64,
    end: u64,
}

impl Activation {
    pub fn is_active(&self, tti: Tti) -> bool {
        (self.start..self.end).contains(&tti.0)
    }

    /// A block on the primary carrier leaves this backlog. Its control element activates the carrier, if it is not
    /// active and has not been activated.
    //= TS 36.321 §5.13
    pub fn on_backlog(&mut self, tti: Tti, left: Bytes, timing: &Timing) {
        if left >= timing.backlog && tti.0 >= self.end {
            self.start = tti.0 + timing.delay;
            self.end = timing.expiry(Tti(self.start));
        }
    }

    /// An assignment on the carrier restarts its timer.
    //= TS 36.321 §5.13
    pub fn on_assignment(&mut self, tti: Tti, timing: &Timing) {
        self.end = timing.expiry(tti);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { backlog: Bytes(100), delay: 24, timer: Some(160) };

    #[test]
    fn a_carrier_is_active_from_the_delay_to_the_timer() {
        let mut carrier = Activation::default();
        carrier.on_backlog(Tti(10), Bytes(99), &TIMING);
        assert!((0..400).all(|tti| !carrier.is_active(Tti(tti))));
        carrier.on_backlog(Tti(10), Bytes(100), &TIMING);
        // A second control element does not defer it.
        carrier.on_backlog(Tti(20), Bytes(500), &TIMING);
        let active = |carrier: &Activation| (0..800).filter(|tti| carrier.is_active(Tti(*tti))).collect();
        let found: Vec<u64> = active(&carrier);
        assert_eq!(found, (34..195).collect::<Vec<_>>());
        carrier.on_assignment(Tti(100), &TIMING);
        let found: Vec<u64> = active(&carrier);
        assert_eq!(found, (34..261).collect::<Vec<_>>());
        carrier.on_backlog(Tti(261), Bytes(100), &TIMING);
        assert!(!carrier.is_active(Tti(284)) && carrier.is_active(Tti(285)));
    }

    #[test]
    fn without_a_timer_a_carrier_stays_active() {
        let timing = Timing { timer: None, ..TIMING };
        let mut carrier = Activation::default();
        carrier.on_backlog(Tti(0), Bytes(100), &timing);
        assert!(carrier.is_active(Tti(1 << 40)));
    }
}
