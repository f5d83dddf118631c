//! Delays of the MAC, in slots; LTE's slot here is its TTI.

use airwnd_units::{SlotClock, Span, Tti};
use std::ops::Range;

/// Delays of scheduling, HARQ and reports.
#[derive(Clone, Debug)]
pub struct Timing {
    /// From a scheduling decision to its transmission in the downlink.
    pub decision_to_air: u64,
    /// From a decision to the reception of its grant at the UE.
    pub decision_to_grant: u64,
    /// From an ideal buffer status report to the earliest decision that uses it.
    pub report_to_decision: u64,
    /// From an uplink block on air to the decision that can use its content.
    pub block_to_decision: u64,
    /// From the start of a slot to the end of its uplink blocks.
    pub uplink_duration: Span,
    /// From the end of a block until its data leave the receiver.
    pub decoding: Span,
    /// Slots after which a UE has decoded its grants. Timers that it starts with a grant run that much longer.
    pub control_region: Span,
    /// HARQ processes of a UE and direction.
    pub processes: u8,
    /// Slots between two transmissions of a process in a synchronous uplink; `None`: it is asynchronous.
    pub round_trip: Option<u64>,
    /// Exceeds every delay.
    pub depth: usize,
    /// By slot of the pattern, which repeats.
    pub plan: Vec<Slot>,
}

/// Events of a slot, and their consequences.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Whether the slot has downlink data.
    pub sends: bool,
    /// Kind of the slot of the downlink transmissions that are decided in this slot; `None`: no decision is made.
    pub downlink: Option<u8>,
    /// From a downlink transmission to the decision that can react to its feedback.
    pub feedback: u64,
    /// From a downlink transmission without feedback until its process is free again.
    pub silence: u64,
    /// From grants whose decision is made in this slot, on reception, to their transmissions; empty: no decision for
    /// the uplink is made.
    pub grants: Vec<u64>,
    /// From an uplink transmission to the decision that can repeat it.
    pub again: u64,
    /// From the opportunity of a scheduling request to the decision that can use it.
    pub request: u64,
    /// From the last slot with downlink data, whose interference can be measured, to the one before this slot.
    pub unmeasured: u64,
}

impl Timing {
    /// LTE in FDD with this many TTIs from a transmission to its retransmission. The TTI is 1 ms.
    pub fn lte(round_trip: u64) -> Timing {
        let (decision_to_air, grant, to_air) = (2, 2, 4);
        Timing {
            // ns-3 LteEnbPhy::MacToChannelDelay, also of grants
            decision_to_air,
            decision_to_grant: grant,
            // 4 in the UE, 1 on air
            report_to_decision: 5,
            block_to_decision: 2,
            // The last of fourteen symbols is for sounding signals (TS 36.211 §5.3.4, §5.5.3.3).
            uplink_duration: Span::from_nanos(928_571),
            decoding: Span::ZERO,
            // three symbols of fourteen (TS 36.211 §6.7)
            control_region: Span(Tti::SPAN.0 * 3 / 14),
            // TS 36.213 §7
            processes: 8,
            round_trip: Some(round_trip),
            depth: 16,
            plan: vec![Slot {
                sends: true,
                downlink: Some(0),
                // With 4 in the UE (TS 36.213 §10.1) and 1 on air, the eNB has 1 in the standard and none in ns-3.
                feedback: round_trip - decision_to_air,
                // ns-3 HARQ_DL_TIMEOUT of 11, found expired at the next trigger, without the 2 from decision to air
                silence: 10,
                // TS 36.213 §8.0
                grants: vec![to_air],
                // The standard retransmits after 8 TTI (TS 36.321 §5.4.2) without a grant, ns-3 LENA after 7 by a new grant,
                // which can be lost.
                again: round_trip - grant - to_air,
                // with the grant's 2, 1 on air and 3 in the eNB (TR 36.881 Table 5.2.1-1)
                request: 2,
                unmeasured: 0,
            }],
        }
    }

    /// A slot of the pattern.
    #[inline]
    pub fn slot(&self, tti: Tti) -> &Slot {
        match &self.plan[..] {
            [only] => only,
            plan => &plan[(tti.0 % plan.len() as u64) as usize],
        }
    }

    /// From the opportunity of a scheduling request, or with ideal reports from a report, to the transmission that it
    /// leads to: the mean over the pattern.
    pub fn uplink_wait(&self, requested: bool) -> u64 {
        let wait = |slot: usize| {
            let decision = if requested { self.plan[slot].request } else { self.report_to_decision };
            let grants = |after: &u64| !self.after(slot, decision + after).grants.is_empty();
            let after = (0..self.plan.len() as u64).find(grants).unwrap_or(0);
            let to_air = self.after(slot, decision + after).grants.first().copied().unwrap_or(0);
            decision + after + self.decision_to_grant + to_air
        };
        (0..self.plan.len()).map(wait).sum::<u64>() / self.plan.len() as u64
    }

    /// From a packet's arrival to the downlink transmission that carries it: the mean over the pattern.
    pub fn downlink_wait(&self) -> u64 {
        let wait = |slot: usize| {
            let decides = |after: &u64| self.after(slot, *after).downlink.is_some();
            (0..self.plan.len() as u64).find(decides).unwrap_or(0) + self.decision_to_air
        };
        (0..self.plan.len()).map(wait).sum::<u64>() / self.plan.len() as u64
    }

    fn after(&self, slot: usize, slots: u64) -> &Slot {
        &self.plan[(slot + slots as usize) % self.plan.len()]
    }

    /// Whether user data of the uplink can be granted in a slot on air.
    pub fn is_granted(&self, air: Tti) -> bool {
        let length = self.plan.len() as u64;
        let reaches = |(slot, plan): (u64, &Slot)| {
            let at = |to_air: &u64| (slot + self.decision_to_grant + to_air) % length == air.0 % length;
            plan.grants.iter().any(at)
        };
        (0..).zip(&self.plan).any(reaches)
    }

    /// The slot at whose start the newest measurement up to `measured` is made: behind a slot with downlink data.
    pub fn measurable(&self, measured: Tti) -> Tti {
        Tti(measured.0.saturating_sub(self.slot(measured).unmeasured))
    }

    /// The most slots by which [`Timing::measurable`] goes back.
    pub fn max_unmeasured(&self) -> u64 {
        self.plan.iter().map(|slot| slot.unmeasured).max().unwrap_or(0)
    }

    /// Sum of a slot's figure over slots.
    fn sum(&self, slots: Range<Tti>, figure: impl Fn(&Slot) -> usize) -> u64 {
        let length = self.plan.len() as u64;
        let at_slot = |slot: u64| figure(&self.plan[(slot % length) as usize]) as u64;
        let count = slots.end - slots.start;
        let periods = count / length * (0..length).map(at_slot).sum::<u64>();
        periods + (slots.end.0 - count % length..slots.end.0).map(at_slot).sum::<u64>()
    }

    /// Number of slots in which the downlink is decided.
    pub fn decisions(&self, slots: Range<Tti>) -> u64 {
        self.sum(slots, |slot| usize::from(slot.downlink.is_some()))
    }

    /// Number of decisions on slots of the uplink.
    pub fn grants(&self, slots: Range<Tti>) -> u64 {
        self.sum(slots, |slot| slot.grants.len())
    }

    /// Slots per second in which the downlink is decided. The periods of TDD patterns divide a second.
    pub fn decisions_per_second(&self, clock: SlotClock) -> u64 {
        self.decisions(Tti(0)..Tti(1000 * clock.per_millisecond()))
    }

    /// Parts of the slots with downlink data and with uplink data.
    pub fn shares(&self) -> [f64; 2] {
        let part = |count: usize| count as f64 / self.plan.len() as f64;
        let granted = self.plan.iter().map(|slot| slot.grants.len()).sum();
        [part(self.plan.iter().filter(|slot| slot.downlink.is_some()).count()), part(granted)]
    }

    /// Parts of the slots by kind of downlink.
    pub fn kinds(&self) -> impl Iterator<Item = f64> + '_ {
        let highest = self.plan.iter().filter_map(|slot| slot.downlink).max().unwrap_or(0);
        let count = |kind| self.plan.iter().filter(|slot| slot.downlink == Some(kind)).count();
        (0..=highest).map(move |kind| count(kind) as f64 / self.plan.len() as f64)
    }
}
