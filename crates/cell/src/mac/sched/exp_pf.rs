//! Exponential proportional fair.

use super::averages::RateAverages;
use super::delay::Urgency;
use super::metric::{Metric, MetricScheduler};
use super::pf::RelativeRate;
use super::{Grid, UeView, settle};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::qci::Qci;
use airwnd_catalog::{Choice, Params};
use airwnd_phy::Cqi;

/// Treatment of best-effort UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum BestEffort {
    /// Their weighted delay is taken as zero, so their priority falls as real-time UEs accumulate delay.
    #[word = "gives-way"]
    GivesWay,
    /// They have the plain PF metric. A single real-time UE is its own mean and has the plain PF metric, too.
    #[word = "proportional-fair"]
    ProportionalFair,
}

/// EXP/PF: PF metric times an exponential of the weighted head-of-line delay above the mean of real-time UEs.
///
/// ```math
/// \frac{R}{T} \cdot \mathrm{exp}(\frac{a D - m}{1 + \sqrt{m}})
/// ```
///
/// ```math
/// a = \frac{-\mathrm{ln}(\mathrm{violation})}{\mathrm{budget}}
/// ```
///
/// R is the rate of one RBG at the sub-band CQI, T a moving average of the UE's granted throughput, D the head-of-line
/// delay and m the mean of a D over the real-time UEs with data. Real-time UEs have a bearer of a QCI with a budget below
/// 200 ms; all others have a D = 0, unless `best_effort` is `proportional-fair`. Equal metrics go to the lower RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi, Piro, Grieco, Boggia, Camarda: Downlink Packet Scheduling in LTE Cellular Networks: \
              Key Design Issues and a Survey, IEEE Communications Surveys and Tutorials 15(2), 2013, \
              section V-C; Rhee, Holtzman, Kim: Scheduling of Real/Non-Real Time Services: Adaptive EXP/PF \
              Algorithm, VTC Spring 2003"
)]
pub struct Params {
    /// Treatment of UEs with other QCIs.
    #[param(default = BestEffort::GivesWay)]
    #[param(unit = "word", source = "airwnd; Capozzi et al. 2013 and LTE-Sim: proportional-fair")]
    pub best_effort: BestEffort,
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

/// The EXP/PF scheduler.
pub type ExpPf = MetricScheduler<ExponentialRate>;

impl ExpPf {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::by(ExponentialRate {
            fair: RelativeRate::new(params.window, grid),
            urgency: Urgency::new(params.violation),
            best_effort: params.best_effort,
            factors: Vec::new(),
        })
    }
}

/// exp((a D - m) / (1 + sqrt(m))) R / T.
pub struct ExponentialRate {
    fair: RelativeRate,
    urgency: Urgency,
    best_effort: BestEffort,
    /// The exponential factor of each UE in this TTI, by slot.
    factors: Vec<f64>,
}

impl Metric for ExponentialRate {
    const USES_DELAY: bool = true;

    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        self.urgency.set(slot, bearer.qci);
        settle(&mut self.factors, slot, 1.0);
    }

    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.urgency.set(slot, class);
    }

    fn averages(&mut self) -> Option<&mut RateAverages> {
        self.fair.averages()
    }

    fn begin(&mut self, users: &[UeView]) {
        let reachable = users.iter().filter(|ue| ue.flat != Some(Cqi::OUT_OF_RANGE));
        let urgent = reachable.filter_map(|ue| self.urgency.of_real_time(ue));
        let (count, sum) = urgent.fold((0.0, 0.0), |(count, sum), urgency| (count + 1.0, sum + urgency));
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        for ue in users {
            //= exception exp-pf-best-effort
            let urgency = match (self.urgency.of_real_time(ue), self.best_effort) {
                (Some(urgency), _) => urgency,
                (None, BestEffort::GivesWay) => 0.0,
                (None, BestEffort::ProportionalFair) => mean,
            };
            self.factors[ue.slot.index()] = libm::exp((urgency - mean) / (1.0 + libm::sqrt(mean)));
        }
    }

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        self.factors[ue.slot.index()] * self.fair.of(ue, cqi)
    }
}

#[cfg(test)]
mod tests {
    use super::Cqi;
    use crate::identity::UeSlot;
    use crate::mac::sched::UeView;
    use crate::mac::sched::tests::{bearer, grants_of, scheduler, user};
    use airwnd_units::Span;

    /// A best-effort UE and UEs with live video and these head-of-line delays in ms.
    fn users(best_effort_cqi: u8, waits: &[u64]) -> Vec<UeView> {
        let best_effort =
            UeView { head_of_line: Span::from_millis(500), ..user(0, best_effort_cqi, best_effort_cqi) };
        let video = (1..)
            .zip(waits)
            .map(|(slot, ms)| UeView { head_of_line: Span::from_millis(*ms), ..user(slot, 9, 9) });
        std::iter::once(best_effort).chain(video).collect()
    }

    fn first(settings: &str, users: &[UeView]) -> u16 {
        let mut exp_pf = scheduler(settings);
        users
            .iter()
            .for_each(|ue| exp_pf.admit(ue.slot, &bearer(if ue.slot == UeSlot(0) { 9 } else { 7 }, 0)));
        grants_of(&mut *exp_pf, users, &[])[0].0
    }

    #[test]
    fn the_exponent_is_the_delay_above_the_mean() {
        // a = -ln(0.02) / 80 ms = 48.9 / s; a D of 3.912 and 0.978, m = 2.445, (3.912 - m) / (1 + 1.564) = 0.572:
        // e^0.572 = 1.772 times an RBG of 75 B at CQI 9 exceeds 109 B at CQI 12 but not 185 B at CQI 15
        let fair = r#""kind": "exp-pf", "best_effort": "proportional-fair""#;
        assert_eq!(first(fair, &users(12, &[80, 20])), 1);
        assert_eq!(first(fair, &users(15, &[80, 20])), 0);
        // and exceeds both once these are multiplied by e^(-m / 2.564) = 0.385
        assert_eq!(first("exp-pf", &users(15, &[80, 20])), 1);
    }

    #[test]
    fn a_single_real_time_user_is_its_own_mean() {
        // m = 3.912: e^(-m / (1 + 1.978)) = 0.269 times 185 B is less than 75 B
        assert_eq!(first(r#""kind": "exp-pf", "best_effort": "proportional-fair""#, &users(10, &[80])), 0);
        assert_eq!(first("exp-pf", &users(15, &[80])), 1);
        // m = 0.489: 0.75 times 109 B is more
        assert_eq!(first("exp-pf", &users(12, &[10])), 0);
    }

    #[test]
    fn a_ue_out_of_reach_does_not_raise_the_mean() {
        // the third UE would raise the mean to 1469 and make the second UE's factor indistinguishable from the first's
        let mut users = users(12, &[80, 60_000]);
        users[2].flat = Some(Cqi::OUT_OF_RANGE);
        assert_eq!(first("exp-pf", &users), 1);
    }
}
