//! Runs on several threads.

use airwnd_lab::{Outcome, Records, Scenario, run_tapped};
use airwnd_units::Span;
use std::num::NonZeroUsize;

/// The outcome of a scenario on this many threads, with time series.
pub fn run_on(threads: usize, scenario: &Scenario) -> Outcome {
    let records = Records {
        series: Some(Span::from_millis(100)),
        threads: Some(NonZeroUsize::new(threads).unwrap()),
        ..Records::default()
    };
    run_tapped(scenario, 1, &records, None, &mut |_| true).unwrap()
}
