//! Modified largest weighted delay first.

use super::averages::RateAverages;
use super::delay::Urgency;
use super::metric::{Metric, MetricScheduler};
use super::pf::RelativeRate;
use super::{Grid, UeView};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::qci::Qci;
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// M-LWDF: PF metric, multiplied for real-time UEs by the weighted head-of-line delay.
///
/// ```math
/// a D \cdot \frac{R}{T}
/// ```
///
/// ```math
/// a = \frac{-\mathrm{ln}(\mathrm{violation})}{\mathrm{budget}}
/// ```
///
/// This is the metric of bearers of a real-time QCI, one with a packet delay budget below 200 ms (`qci`); all others have
/// R / T. R is the rate of one RBG at the sub-band CQI, T a moving average of the UE's granted throughput and D the
/// head-of-line delay. Equal metrics go to the lower RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Andrews, Kumaran, Ramanan, Stolyar, Whiting, Vijayakumar: Providing Quality of Service over \
              a Shared Wireless Link, IEEE Communications Magazine 39(2), 2001; Capozzi, Piro, Grieco, \
              Boggia, Camarda: Downlink Packet Scheduling in LTE Cellular Networks: Key Design Issues and \
              a Survey, IEEE Communications Surveys and Tutorials 15(2), 2013, section V-C"
)]
pub struct Params {
    /// Permitted fraction of packets that exceed the delay budget.
    #[param(basic, default = 0.02, range = 1e-9..=0.99)]
    #[param(unit = "1", source = "TS 23.203 §6.1.7.2: a confidence of 98 percent")]
    pub violation: f64,
    /// Averaging window: T <- (1 - 1/window) T + bytes / (window * TTI). In NR a TTI is a slot in which the cell can
    /// decide.
    #[param(default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pf-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
}

/// The M-LWDF scheduler.
pub type MLwdf = MetricScheduler<DelayedRate>;

impl MLwdf {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::by(DelayedRate {
            fair: RelativeRate::new(params.window, grid),
            urgency: Urgency::new(params.violation),
        })
    }
}

/// a D R / T of real-time UEs, R / T of the others.
pub struct DelayedRate {
    fair: RelativeRate,
    urgency: Urgency,
}

impl Metric for DelayedRate {
    const USES_DELAY: bool = true;

    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        self.urgency.set(slot, bearer.qci);
    }

    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.urgency.set(slot, class);
    }

    fn averages(&mut self) -> Option<&mut RateAverages> {
        self.fair.averages()
    }

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        self.urgency.of_real_time(ue).unwrap_or(1.0) * self.fair.of(ue, cqi)
    }
}

#[cfg(test)]
mod tests {
    use crate::identity::UeSlot;
    use crate::mac::sched::tests::{bearer, grants_of, scheduler, user};
    use crate::qci::Qci;
    use airwnd_units::Span;

    #[test]
    fn a_real_time_ue_is_served_first_once_its_weighted_delay_exceeds_one() {
        let mut m_lwdf = scheduler("m-lwdf");
        m_lwdf.admit(UeSlot(0), &bearer(9, 0));
        m_lwdf.admit(UeSlot(1), &bearer(7, 0));
        let mut serve = |ms: u64| {
            let users = [(0, 500), (1, ms)].map(|(slot, ms)| super::super::UeView {
                head_of_line: Span::from_millis(ms),
                ..user(slot, 9, 9)
            });
            grants_of(&mut *m_lwdf, &users, &[])
        };
        // -ln(0.02) D / 80 ms > 1 from D = 20.45 ms on; the rest of the metric is equal
        assert_eq!(serve(20), [(0, 0b111)]);
        assert_eq!(serve(21), [(1, 0b111)]);
    }

    #[test]
    fn a_ue_is_ranked_by_the_class_of_its_leading_bearer() {
        let mut m_lwdf = scheduler("m-lwdf");
        m_lwdf.admit(UeSlot(0), &bearer(9, 0));
        m_lwdf.admit(UeSlot(1), &bearer(9, 0));
        let users = [0, 1]
            .map(|slot| super::super::UeView { head_of_line: Span::from_millis(60), ..user(slot, 9, 9) });
        assert_eq!(grants_of(&mut *m_lwdf, &users, &[]), [(0, 0b111)], "of equals, the lower RNTI");
        m_lwdf.lead(UeSlot(1), Qci::new(7).unwrap());
        assert_eq!(grants_of(&mut *m_lwdf, &users, &[]), [(1, 0b111)], "-ln(0.02) 60 ms / 80 ms > 1");
        m_lwdf.lead(UeSlot(1), Qci::BEST_EFFORT);
        assert_eq!(grants_of(&mut *m_lwdf, &users, &[]), [(0, 0b111)]);
    }
}
