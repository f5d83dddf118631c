//! Arrival processes of flows.

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span};

/// Arrivals: start times of the flows of a UE.
#[family(name = "arrivals", build = fn() -> Box<dyn Arrivals>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Once(once::Params),
    Schedule(schedule::Params),
    Periodic(periodic::Params),
    Poisson(poisson::Params),
    File(file::Params),
}

/// An arrival of one or more flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time, counted from the start of the group of flows.
    pub at: Span,
    /// Flow size; `None`: the size parameter of the traffic applies.
    pub size: Option<Bytes>,
}

impl Arrival {
    /// An arrival without a size.
    pub fn at(at: Span) -> Arrival {
        Arrival { at, size: None }
    }
}

/// An arrival process.
pub trait Arrivals {
    /// Returns the arrivals of one UE before `until`, in chronological order. `stream` is the random stream of the UE.
    fn times(&self, until: Span, stream: Stream) -> Vec<Arrival>;

    /// Expected number of arrivals before `until`.
    fn expected(&self, until: Span) -> f64;

    /// Returns whether the process is unlimited.
    fn continues(&self) -> bool {
        false
    }

    /// Path of the file that gives flow sizes, if any.
    fn sizes(&self) -> Option<&str> {
        None
    }

    /// Checks the arrivals against the end of the arrival window.
    ///
    /// # Errors
    /// The parameter at fault and a message, for a time at or after `until`.
    fn check_end(&self, _until: Span) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};

    fn times(toml: &str, until: Span) -> Vec<Arrival> {
        let node = Node::from_toml(toml, "test").unwrap();
        Spec::read(&node).unwrap().build().times(until, Stream::new(3, "arrivals"))
    }

    #[test]
    fn a_poisson_process_has_exponential_gaps() {
        let arrivals = times("kind = \"poisson\"\nrate = 20.0", Span::from_secs(10_000));
        // 200 000 on average, with a standard deviation of 447
        assert!((198_000..202_000).contains(&arrivals.len()), "{}", arrivals.len());
        let mut gaps: Vec<f64> =
            arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
        gaps.sort_by(f64::total_cmp);
        let median = gaps[gaps.len() / 2];
        assert!((median * 20.0 / std::f64::consts::LN_2 - 1.0).abs() < 0.02, "{median}");
    }

    #[test]
    fn a_longer_run_begins_with_the_shorter_one() {
        let toml = "kind = \"poisson\"\nrate = 5.0";
        let short = times(toml, Span::from_secs(10));
        assert_eq!(times(toml, Span::from_secs(50))[..short.len()], short);
    }

    #[test]
    fn periodic_and_scheduled_arrivals_end_before_the_window() {
        let at = |millis: &[u64]| -> Vec<Arrival> {
            millis.iter().map(|at| Arrival::at(Span::from_millis(*at))).collect()
        };
        let toml = "kind = \"periodic\"\nperiod = \"100ms\"";
        assert_eq!(times(toml, Span::from_millis(300)), at(&[0, 100, 200]));
        assert_eq!(times(toml, Span::from_millis(301)), at(&[0, 100, 200, 300]));
        let toml = "kind = \"schedule\"\ntimes = [\"5ms\", \"5ms\", \"80ms\"]";
        assert_eq!(times(toml, Span::from_secs(1)), at(&[5, 5, 80]));
    }
}
