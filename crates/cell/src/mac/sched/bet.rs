//! Blind equal throughput.

use super::averages::RateAverages;
use super::best::best_of_tti;
use super::{
    Candidates, Capabilities, Domain, Grants, Grid, LinkAdaptation, PerUe, Properties, Rbgs, Scheduler,
    Weighted,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use airwnd_catalog::Params;
use airwnd_phy::Cqi;
use airwnd_units::{Bytes, Tti};

/// Quirks of ns-3's BET.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 FdBetFfMacScheduler, TdBetFfMacScheduler")]
pub struct Quirks {
    /// Whether UEs without data are served like the others: their blocks are padding, count as throughput, and occupy a
    /// HARQ process until it times out, since a UE does not answer a block without data.
    #[param(default = false)]
    #[param(unit = "flag", source = "ns-3 FdBetFfMacScheduler::DoSchedDlTriggerReq: true")]
    pub serves_idle: bool,
}

/// Blind equal throughput: serves the UE with the lowest average throughput, regardless of channel quality.
///
/// ```math
/// \frac{1}{T}
/// ```
///
/// T is a moving average of the bytes granted to the UE as new data. In the time domain, the whole TTI goes to one UE.
/// In the frequency domain, RBGs are assigned one after the other; after each, the UE's T is updated to the value it
/// would have if the TTI ended there. Both use the wideband CQI. Equal metrics go to the lower RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi, Piro, Grieco, Boggia, Camarda: Downlink Packet Scheduling in LTE Cellular Networks: \
              Key Design Issues and a Survey, IEEE Communications Surveys and Tutorials 15(2), 2013, \
              section V-B; ns-3 fdbet-ff-mac-scheduler.cc and tdbet-ff-mac-scheduler.cc"
)]
pub struct Params {
    /// Scheduling domain: RBGs or whole TTIs.
    #[param(basic, default = Domain::Frequency)]
    #[param(unit = "word", source = "ns-3 FdBetFfMacScheduler and TdBetFfMacScheduler")]
    pub domain: Domain,
    /// Averaging window: T <- (1 - 1/window) T + bytes / (window * TTI). In NR a TTI is a slot in which the cell can
    /// decide.
    #[param(basic, default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 fdbet-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
    /// Quirks of ns-3.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// The blind-equal-throughput scheduler.
pub struct Bet {
    params: Params,
    grid: Grid,
    averages: RateAverages,
    expected: Vec<Expected>,
}

/// A UE during the assignment of RBGs.
struct Expected {
    /// Index in the list of candidates.
    place: usize,
    /// Its average at the end of the TTI, in bytes per second.
    average: f64,
    groups: u32,
}

impl Bet {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Bet {
            averages: RateAverages::new(params.window, grid.decisions_per_second),
            grid: grid.clone(),
            expected: Vec::new(),
            params,
        }
    }

    fn frequency_domain(&mut self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let reachable = ues.users.iter().enumerate().filter(|(_, ue)| ue.wideband.0 > 0);
        self.expected.clear();
        self.expected.extend(reachable.map(|(place, ue)| Expected {
            place,
            average: self.averages.of(ue.slot),
            groups: 0,
        }));
        for group in free.iter() {
            let min = self
                .expected
                .iter_mut()
                .reduce(|min, user| if user.average < min.average { user } else { min });
            let Some(user) = min else { return };
            let ue = &ues.users[user.place];
            user.groups += 1;
            grants.give(ue.slot, Rbgs::one(group));
            user.average = self.averages.after(ue.slot, self.grid.block(ue, ue.wideband, user.groups));
        }
    }
}

impl Scheduler for Bet {
    //= exception bet-serves-who-waits
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        match self.params.domain {
            Domain::Time => {
                let need = |slot| 1.0 / self.averages.of(slot);
                let metric = |slot, cqi| if cqi > Cqi::OUT_OF_RANGE { need(slot) } else { 0.0 };
                best_of_tti(UeSlot(0), free, ues, grants, |ue| metric(ue.slot, ue.wideband));
            }
            Domain::Frequency => self.frequency_domain(free, ues, grants),
        }
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        self.averages.update(served);
    }
}

impl Capabilities for Bet {
    fn properties(&self) -> Properties {
        Properties {
            serves_idle: self.params.quirks.serves_idle,
            ..Properties::new(LinkAdaptation::Wideband)
        }
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn weighted(&mut self) -> Option<&mut dyn Weighted> {
        Some(&mut self.averages)
    }
}

impl PerUe for Bet {
    fn admit(&mut self, slot: UeSlot, _bearer: &Bearer) {
        self.averages.admit(slot);
        self.expected.reserve(slot.index() + 1);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{S2, alike, saturate_with, scheduler};

    #[test]
    fn bytes_are_equal_on_unequal_channels() {
        for domain in ["time", "frequency"] {
            let settings = format!(r#""kind": "bet", "domain": "{domain}", "window": 2000.0"#);
            let sent = saturate_with(scheduler(&settings), &S2, 50_000);
            assert!(alike(&sent.bytes, 0.01), "{domain}: {sent:?}");
        }
    }

    #[test]
    fn ues_are_served_as_often_as_in_ns3() {
        let time = saturate_with(scheduler(r#""kind": "bet", "domain": "time""#), &S2, 9987);
        let reference = [282, 480, 570, 711, 907, 1130, 1291, 1291, 1667, 1667u64];
        for (ours, theirs) in time.blocks.iter().zip(reference) {
            assert!(ours.abs_diff(theirs) <= 2, "{time:?}");
        }
        // Ties are broken by RNTI, which shifts the pattern of RBGs: 185 B once or 97 B twice.
        let frequency = saturate_with(scheduler("bet"), &S2, 9987);
        let reference = [1653, 3107, 3803, 4644, 4463, 4725, 4917, 4907, 5623, 5602];
        for (ours, theirs) in frequency.blocks.iter().zip(reference) {
            assert!((*ours as f64 / f64::from(theirs) - 1.0).abs() < 0.025, "{frequency:?}");
        }
    }

    #[test]
    fn a_ue_out_of_reach_gets_no_rbgs() {
        let sent = saturate_with(scheduler("bet"), &[(0, 0), (15, 15)], 100);
        assert_eq!((sent.blocks[0], sent.bytes[1]), (0, 100 * 1287));
    }
}
