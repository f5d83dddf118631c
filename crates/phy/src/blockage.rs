//! Blockage of links by people and vehicles: a two-state Markov process per UE and site.

use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Db, Span, Time};

/// Blockage: each link alternates between an unblocked and a blocked state, in which it loses power.
///
/// Both states last for exponentially distributed times. A link is blocked for the part blocked / (unblocked + blocked)
/// of the time, from the start on, and its state has the correlation
///
/// ```math
/// \rho(t) = e^{-t \, (1 / \mathrm{unblocked} + 1 / \mathrm{blocked})}
/// ```
///
/// The sectors of a site share their state, in both directions; different sites and UEs are independent. States change
/// at the updates of `radio.position_period`. The loss sets in at once; measured signals take tens of milliseconds.
//= exception blockage-in-two-states
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "MacCartney, Rappaport and Rangan 2017 §IV; a simplification of TR 38.901 §7.6.4")]
pub struct Params {
    /// Mean duration of the unblocked state.
    #[param(basic, default = Span::from_secs(4), range = Span::from_millis(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "a choice: 7 % of the time blocked")]
    pub unblocked: Span,
    /// Mean duration of the blocked state.
    #[param(basic, default = Span::from_millis(299), range = Span::from_millis(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "MacCartney, Rappaport and Rangan 2017, fades with antennas of 7°")]
    pub blocked: Span,
    /// Additional loss in the blocked state.
    #[param(basic, default = Db(15.8), range = Db(0.0)..=Db(60.0))]
    #[param(unit = "dB", source = "MacCartney, Rappaport and Rangan 2017, mean with antennas of 7°")]
    pub loss: Db,
}

/// State of one link.
#[derive(Clone, Copy, Debug)]
struct Course {
    is_blocked: bool,
    /// Number of states that have ended.
    ended: u64,
    /// End of the current state.
    until: Time,
}

/// Blockage of all links between UEs and sites, advanced in time.
#[derive(Clone, Debug)]
pub struct Blockage {
    params: Params,
    stream: Stream,
    sites: usize,
    /// `[ue * sites + site]`.
    courses: Vec<Course>,
}

impl Blockage {
    /// The states at time zero, with all draws from `stream`.
    pub fn new(params: Params, stream: Stream, ues: usize, sites: usize) -> Blockage {
        let mut blockage = Blockage { params, stream, sites, courses: Vec::with_capacity(ues * sites) };
        let [unblocked, blocked] =
            [&blockage.params.unblocked, &blockage.params.blocked].map(|mean| mean.0 as f64);
        let part = blocked / (unblocked + blocked);
        for link in 0..ues * sites {
            let is_blocked = blockage.link(link).at(0) < part;
            let until = Time::ZERO + blockage.duration(link, is_blocked, 0);
            blockage.courses.push(Course { is_blocked, ended: 0, until });
        }
        blockage
    }

    fn link(&self, link: usize) -> Stream {
        self.stream.child((link / self.sites) as u64).child((link % self.sites) as u64)
    }

    /// Duration of the state of a link after `ended` others.
    fn duration(&self, link: usize, is_blocked: bool, ended: u64) -> Span {
        let mean = if is_blocked { self.params.blocked } else { self.params.unblocked };
        let draw = -libm::log1p(-self.link(link).at(ended + 1));
        Span((mean.0 as f64 * draw) as u64 + 1)
    }

    /// Advances all links to a time, and calls `changed` with the UE and the site of each whose state is another one.
    pub fn advance(&mut self, now: Time, mut changed: impl FnMut(usize, usize)) {
        for link in 0..self.courses.len() {
            let mut course = self.courses[link];
            if course.until > now {
                continue;
            }
            while course.until <= now {
                course.is_blocked = !course.is_blocked;
                course.ended += 1;
                course.until += self.duration(link, course.is_blocked, course.ended);
            }
            let before = std::mem::replace(&mut self.courses[link], course);
            if before.is_blocked != course.is_blocked {
                changed(link / self.sites, link % self.sites);
            }
        }
    }

    /// The additional loss of a UE's links to a site.
    pub fn loss(&self, ue: usize, site: u32) -> Db {
        let course = &self.courses[ue * self.sites + site as usize];
        if course.is_blocked { self.params.loss } else { Db(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blockage(ues: usize, sites: usize) -> Blockage {
        let params =
            Params { unblocked: Span::from_millis(700), blocked: Span::from_millis(300), loss: Db(20.0) };
        Blockage::new(params, Stream::new(1, "blockage"), ues, sites)
    }

    /// States of all links at multiples of 10 ms.
    fn states(mut blockage: Blockage, steps: u64) -> Vec<Vec<bool>> {
        let links = blockage.courses.len();
        let at = |step: u64| {
            blockage.advance(Time(step * 10_000_000), |_, _| ());
            (0..links).map(|link| blockage.courses[link].is_blocked).collect()
        };
        (0..steps).map(at).collect()
    }

    /// From the start on, 30 % are blocked; with 20,000 independent links the standard error is 0.003.
    #[test]
    fn links_are_blocked_for_their_part_of_the_time() {
        let states = states(blockage(20_000, 1), 60);
        for step in [0, 10, 59] {
            let part = states[step].iter().filter(|blocked| **blocked).count() as f64 / 20_000.0;
            assert!((part - 0.3).abs() < 0.013, "{step}: {part}");
        }
    }

    /// Correlation exp(-t (1/0.7 s + 1/0.3 s)) = exp(-t / 0.21 s): 0.62 after 100 ms, 0.24 after 300 ms.
    #[test]
    fn states_have_the_correlation_of_the_markov_process() {
        let states = states(blockage(20_000, 1), 40);
        for lag in [10, 30] {
            let pairs = states[0].iter().zip(&states[lag]);
            let deviation = |state: bool| f64::from(u8::from(state)) - 0.3;
            let covariance = pairs.map(|(a, b)| deviation(*a) * deviation(*b)).sum::<f64>() / 20_000.0;
            let expected = (-(lag as f64 * 0.01) / 0.21).exp();
            assert!((covariance / 0.21 - expected).abs() < 0.03, "{lag}: {} {expected}", covariance / 0.21);
        }
    }

    #[test]
    fn steps_of_any_size_lead_to_the_same_states() {
        let fine = states(blockage(50, 3), 200);
        let mut coarse = blockage(50, 3);
        coarse.advance(Time(199 * 10_000_000), |_, _| ());
        assert_eq!(coarse.courses.iter().map(|course| course.is_blocked).collect::<Vec<_>>(), fine[199]);
    }

    /// A link's states do not depend on the number of UEs.
    #[test]
    fn links_have_their_own_draws() {
        let [few, many] = [5, 50].map(|ues| states(blockage(ues, 1), 200));
        for (few, many) in few.iter().zip(&many) {
            assert_eq!(few[..], many[..5]);
        }
        assert!((1..5).any(|ue| few.iter().any(|states| states[0] != states[ue])));
    }

    #[test]
    fn changes_are_reported_once() {
        let mut blockage = blockage(20, 2);
        let mut before: Vec<Db> = (0..40).map(|link| blockage.loss(link / 2, link as u32 % 2)).collect();
        for step in 1..300 {
            let mut reported = Vec::new();
            blockage.advance(Time(step * 10_000_000), |ue, site| reported.push(ue * 2 + site));
            let now: Vec<Db> = (0..40).map(|link| blockage.loss(link / 2, link as u32 % 2)).collect();
            let differ: Vec<usize> = (0..40).filter(|link| now[*link] != before[*link]).collect();
            assert_eq!(reported, differ);
            before = now;
        }
    }
}
