//! Delays of the MAC, in slots; LTE's slot here is its TTI.

use airwnd_units::{Span, Tti};

/// Delays of scheduling, HARQ and reports.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    /// From a scheduling decision to its transmission in the downlink.
    pub decision_to_air: u64,
    /// From a decision to the reception of its grant at the UE.
    pub decision_to_grant: u64,
    /// From an ideal buffer status report to the earliest decision that uses it.
    pub report_to_decision: u64,
    /// From a scheduling request on air to the decision that can use it.
    pub request_to_decision: u64,
    /// From an uplink block on air to the decision that can use its content.
    pub block_to_decision: u64,
    /// From the start of a slot to the end of its uplink blocks.
    pub uplink_duration: Span,
    /// Slots after which a UE has decoded its grants. Timers that it starts with a grant run that much longer.
    pub control_region: Span,
    /// HARQ processes of a UE and direction.
    pub processes: u8,
    /// Slots between two transmissions of a process in a synchronous uplink; `None`: it is asynchronous.
    pub round_trip: Option<u64>,
    /// Exceeds every delay.
    pub depth: usize,
    /// By slot of the pattern, which repeats.
    plan: Vec<Slot>,
}

/// What happens in a slot, and in consequence of it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// From a downlink transmission to the decision that can react to its feedback.
    pub feedback: u64,
    /// From a downlink transmission without feedback until its process is free again.
    pub silence: u64,
    /// From grants whose decision is made in this slot, on reception, to their transmissions; empty: no decision for
    /// the uplink is made.
    pub grants: Vec<u64>,
    /// From an uplink transmission to the decision that can repeat it.
    pub again: u64,
}

impl Timing {
    /// LTE in FDD. The TTI is 1 ms.
    pub fn lte() -> Timing {
        let (grant, to_air, again) = (2, 4, 1);
        Timing {
            // ns-3 LteEnbPhy::MacToChannelDelay, also of grants
            decision_to_air: 2,
            decision_to_grant: grant,
            // 4 in the UE, 1 on air
            report_to_decision: 5,
            // with the grant's 2, 1 on air and 3 in the eNB (TR 36.881 Table 5.2.1-1)
            request_to_decision: 2,
            block_to_decision: 2,
            // The last of fourteen symbols is for sounding signals (TS 36.211 §5.3.4, §5.5.3.3).
            uplink_duration: Span::from_nanos(928_571),
            // three symbols of fourteen (TS 36.211 §6.7)
            control_region: Span(Tti::SPAN.0 * 3 / 14),
            // TS 36.213 §7
            processes: 8,
            round_trip: Some(grant + to_air + again),
            depth: 16,
            plan: vec![Slot {
                // 4 in the UE (TS 36.213 §10.1), 1 on air
                feedback: 5,
                // ns-3 HARQ_DL_TIMEOUT of 11, found expired at the next trigger, without the 2 from decision to air
                silence: 10,
                // TS 36.213 §8.0
                grants: vec![to_air],
                // The standard retransmits after 8 TTI (TS 36.321 §5.4.2), ns-3 LENA after 7, by a new grant that can
                // be lost.
                again,
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

    /// From the reception of a grant to its transmission: the least of the pattern.
    pub fn grant_to_air(&self) -> u64 {
        self.plan.iter().flat_map(|slot| &slot.grants).copied().min().unwrap_or(0)
    }
}
