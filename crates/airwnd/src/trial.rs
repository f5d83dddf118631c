//! Trials: the same connection over several seeds, with assertions on what comes out.

use crate::{Endpoint, Error, FlowOptions, Outcome, Pair, Path, PathError, Scenario};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook §1.3.6.7.2).
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// 97.5 % quantile of Student's t distribution; beyond the table the expansion of Abramowitz and Stegun (§26.7.5), exact
/// to 0.0001.
fn quantile(degrees_of_freedom: usize) -> f64 {
    let normal: f64 = 1.959964;
    T.get(degrees_of_freedom - 1).copied().unwrap_or_else(|| {
        let n = degrees_of_freedom as f64;
        let first = (normal.powi(3) + normal) / 4.0;
        let second = (5.0 * normal.powi(5) + 16.0 * normal.powi(3) + 3.0 * normal) / 96.0;
        normal + first / n + second / n.powi(2)
    })
}

/// A connection between a UE and the server in a scenario, repeated over seeds.
///
/// ```
/// use airwnd::{Cbr, Scenario, Trial};
///
/// let scenario = Scenario::from_toml("duration = \"5s\"\n[[site]]\n[[ue]]\nname = \"phone\"")?;
/// let report = Trial::new(&scenario).seeds(1..=3).run(|_| (Cbr::receiver(), Cbr::sender(1000, 125)))?;
/// report.goodput_kbps().assert_at_least(990.0);
/// report.delay_ms_p95().assert_at_most(40.0);
/// # Ok::<(), airwnd::TrialError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    scenario: Scenario,
    seeds: RangeInclusive<u64>,
    duration: Duration,
    ue: String,
    options: FlowOptions,
}

impl Trial {
    /// A trial with the scenario's duration, seeds 1 to 5, UDP, and the first UE.
    pub fn new(scenario: &Scenario) -> Trial {
        Trial {
            scenario: scenario.clone(),
            seeds: 1..=5,
            duration: scenario.duration(),
            ue: scenario.ue_names()[0].clone(),
            options: FlowOptions::udp(),
        }
    }

    /// Sets the seeds: placements, channels and losses of each are different, and the same for all endpoints.
    pub fn seeds(self, seeds: RangeInclusive<u64>) -> Trial {
        Trial { seeds, ..self }
    }

    /// Sets the duration of the connection.
    pub fn duration(self, duration: Duration) -> Trial {
        Trial { duration, ..self }
    }

    /// Sets the UE by its name.
    pub fn ue(self, name: &str) -> Trial {
        Trial { ue: name.into(), ..self }
    }

    /// Sets the properties of the flow.
    pub fn options(self, options: FlowOptions) -> Trial {
        Trial { options, ..self }
    }

    /// Runs the connection with each seed. `endpoints` creates the endpoint at the UE and that at the server for a seed.
    ///
    /// # Errors
    /// The first seed that cannot be simulated.
    pub fn run<U: Endpoint, S: Endpoint>(
        &self,
        mut endpoints: impl FnMut(u64) -> (U, S),
    ) -> Result<Report, TrialError> {
        let mut report = Report { runs: Vec::new() };
        for seed in self.seeds.clone() {
            let mut path =
                Path::new(&self.scenario, seed).map_err(|error| TrialError(Some(seed), error.into()))?;
            let (mut ue, mut server) = endpoints(seed);
            let mut connect = || {
                let flow = path.open(path.ue(&self.ue)?, self.options)?;
                path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], self.duration)?;
                let is_download = ue.received() >= server.received();
                let receiver = if is_download { flow.ue() } else { flow.server() };
                Ok((path.id(flow)?, path.min_delay(receiver)?))
            };
            let (id, min_delay) = connect().map_err(|error| TrialError(Some(seed), error))?;
            let outcome = path.finish().map_err(|error| TrialError(Some(seed), error))?;
            report.runs.push(Run { seed, id, min_delay, outcome });
        }
        Ok(report)
    }
}

/// Why a trial could not be run, with the seed if other seeds may not have that error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialError(Option<u64>, PathError);

impl fmt::Display for TrialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seed) => write!(f, "seed {seed}: {}", self.1),
            None => self.1.fmt(f),
        }
    }
}

impl std::error::Error for TrialError {}

impl From<Error> for TrialError {
    fn from(error: Error) -> TrialError {
        TrialError(None, error.into())
    }
}

/// Results of a trial.
#[derive(Clone, Debug)]
pub struct Report {
    runs: Vec<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    seed: u64,
    /// Id of the connection in the outcome.
    id: String,
    min_delay: Option<Duration>,
    outcome: Outcome,
}

impl Report {
    /// Application data received per time in kbit/s, in the direction with more of it.
    pub fn goodput_kbps(&self) -> Measure {
        self.measure("goodput", "kbit/s", |run| run.row().goodput_kbps)
    }

    /// 95th percentile of the one-way delay of the packets in that direction in milliseconds.
    pub fn delay_ms_p95(&self) -> Measure {
        self.measure("95th percentile of delay", "ms", |run| run.row().delay_ms.p95.unwrap_or(f64::NAN))
    }

    /// 95th percentile of the one-way delay less its minimum in milliseconds: the time in queues, and that of grants and
    /// retransmissions of the radio.
    pub fn queueing_delay_ms_p95(&self) -> Measure {
        self.measure("95th percentile of queueing delay", "ms", |run| {
            run.row().delay_ms.p95.map_or(f64::NAN, |delay| (delay - run.min_delay_ms()).max(0.0))
        })
    }

    /// Minimum one-way delay of the packets in that direction in milliseconds.
    pub fn delay_ms_min(&self) -> Measure {
        self.measure("minimum delay", "ms", Run::min_delay_ms)
    }

    /// Retransmissions of the sender of the data, as the endpoint counts them.
    pub fn retransmissions(&self) -> Measure {
        self.measure("retransmissions", "packets", |run| run.row().retransmissions as f64)
    }

    /// Packets of the data that the network has dropped in percent of those sent.
    pub fn loss_percent(&self) -> Measure {
        self.measure("loss", "%", |run| {
            100.0 * run.row().packets_dropped as f64 / (run.row().packets_sent as f64).max(1.0)
        })
    }

    /// A measure of your own from the results of each seed, for example the goodput of a simulated flow beside the
    /// connection.
    pub fn of(&self, name: &str, unit: &str, value: impl Fn(&Outcome) -> f64) -> Measure {
        self.measure(name, unit, |run| value(&run.outcome))
    }

    /// Results of each seed.
    pub fn outcomes(&self) -> impl Iterator<Item = (u64, &Outcome)> {
        self.runs.iter().map(|run| (run.seed, &run.outcome))
    }

    fn measure(&self, name: &str, unit: &str, value: impl Fn(&Run) -> f64) -> Measure {
        let values = self.runs.iter().map(|run| (run.seed, value(run))).collect();
        Measure { name: name.into(), unit: unit.into(), values }
    }
}

impl Run {
    fn min_delay_ms(&self) -> f64 {
        self.min_delay.map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e3)
    }

    fn row(&self) -> &crate::FlowRow {
        let rows = self.outcome.flows();
        rows.iter().find(|row| row.id == self.id).expect("the connection has a row")
    }
}

/// A quantity, measured with each seed.
///
/// Its interval contains the mean over all seeds with 95 % confidence, if it is distributed normally. With one seed the
/// interval is the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    name: String,
    unit: String,
    values: Vec<(u64, f64)>,
}

impl Measure {
    /// Seeds and values.
    pub fn values(&self) -> &[(u64, f64)] {
        &self.values
    }

    /// Mean over the seeds; NaN if a seed has no value, or without seeds.
    pub fn mean(&self) -> f64 {
        self.values.iter().map(|(_, value)| value).sum::<f64>() / self.values.len() as f64
    }

    /// 95 % confidence interval of the mean.
    pub fn interval(&self) -> (f64, f64) {
        let (mean, count) = (self.mean(), self.values.len());
        if count < 2 {
            return (mean, mean);
        }
        let squares: f64 = self.values.iter().map(|(_, value)| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        let half = quantile(count - 1) * error;
        (mean - half, mean + half)
    }

    /// Asserts that the mean over all seeds is at least `limit`: that the whole interval is.
    ///
    /// # Panics
    /// If it is not. The message says by how much, and has the value of each seed.
    #[track_caller]
    pub fn assert_at_least(&self, limit: f64) {
        if let Err(message) = self.is_at_least(limit) {
            panic!("{message}");
        }
    }

    /// Asserts that the mean over all seeds is at most `limit`: that the whole interval is.
    ///
    /// # Panics
    /// If it is not. The message says by how much, and has the value of each seed.
    #[track_caller]
    pub fn assert_at_most(&self, limit: f64) {
        if let Err(message) = self.is_at_most(limit) {
            panic!("{message}");
        }
    }

    /// Checks what [`assert_at_least`](Measure::assert_at_least) asserts.
    ///
    /// # Errors
    /// The message of the assertion.
    pub fn is_at_least(&self, limit: f64) -> Result<(), String> {
        let (low, _) = self.interval();
        if low >= limit { Ok(()) } else { Err(self.message("at least", limit, self.mean() < limit)) }
    }

    /// Checks what [`assert_at_most`](Measure::assert_at_most) asserts.
    ///
    /// # Errors
    /// The message of the assertion.
    pub fn is_at_most(&self, limit: f64) -> Result<(), String> {
        let (_, high) = self.interval();
        if high <= limit { Ok(()) } else { Err(self.message("at most", limit, self.mean() > limit)) }
    }

    fn message(&self, bound: &str, limit: f64, misses: bool) -> String {
        let (name, unit, mean) = (&self.name, &self.unit, self.mean());
        let limit_text = Figure(limit);
        let values: Vec<String> =
            self.values.iter().map(|(seed, value)| format!("{seed}: {}", Figure(*value))).collect();
        let values = values.join(", ");
        let by = Figure((mean - limit).abs());
        let share = match limit {
            0.0 => String::new(),
            _ => format!(" ({} %)", Figure(100.0 * (mean / limit - 1.0).abs())),
        };
        let why = if self.values.is_empty() {
            "there are no seeds".to_string()
        } else if mean.is_nan() {
            "a seed has no value".to_string()
        } else if misses {
            format!("the mean misses it by {by} {unit}{share}")
        } else {
            format!("the mean keeps it by {by} {unit}{share}, the interval does not: more seeds decide")
        };
        format!("{name} should be {bound} {limit_text} {unit}, but is {self}: {why}; by seed: {values}")
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval();
        write!(f, "{} {}", Figure(self.mean()), self.unit)?;
        if self.values.len() > 1 {
            write!(f, " (95 % interval {} to {}, {} seeds)", Figure(low), Figure(high), self.values.len())?;
        }
        Ok(())
    }
}

/// A number with four significant digits or more.
struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0.abs() {
            size if size >= 1000.0 => 0,
            size if size >= 100.0 => 1,
            size if size >= 10.0 => 2,
            _ => 3,
        };
        write!(f, "{:.digits$}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(values: &[f64]) -> Measure {
        let values = (1..).zip(values.iter().copied()).collect();
        Measure { name: "goodput".into(), unit: "kbit/s".into(), values }
    }

    #[test]
    fn an_interval_is_that_of_student() {
        // Standard error: sqrt((1 + 0 + 1) / 2 / 3).
        let (low, high) = measure(&[9.0, 10.0, 11.0]).interval();
        let half = 4.303 * (1.0_f64 / 3.0).sqrt();
        assert!((low - (10.0 - half)).abs() < 1e-12 && (high - (10.0 + half)).abs() < 1e-12);
        assert_eq!(measure(&[7.0]).interval(), (7.0, 7.0));
    }

    /// Values of the NIST handbook's table beyond the stored ones.
    #[test]
    fn many_seeds_have_an_interval_of_student_too() {
        for (degrees_of_freedom, expected) in
            [(30, 2.042), (31, 2.040), (40, 2.021), (60, 2.000), (100, 1.984)]
        {
            assert!((quantile(degrees_of_freedom) - expected).abs() < 6e-4, "{degrees_of_freedom}");
        }
    }

    #[test]
    fn a_limit_of_zero_has_no_share_and_no_seeds_are_named() {
        let missed = measure(&[4.0, 5.0, 6.0]).is_at_most(0.0).unwrap_err();
        assert!(missed.contains("the mean misses it by 5.000 kbit/s; by seed"), "{missed}");
        let nothing = measure(&[]).is_at_least(1.0).unwrap_err();
        assert!(nothing.contains("there are no seeds"), "{nothing}");
    }

    #[test]
    fn an_assertion_holds_if_the_whole_interval_does() {
        let measured = measure(&[9.0, 10.0, 11.0]);
        assert_eq!(measured.is_at_least(7.5), Ok(()));
        assert_eq!(measured.is_at_most(12.5), Ok(()));
        let undecided = measured.is_at_least(9.5).unwrap_err();
        assert!(undecided.contains("the mean keeps it by 0.500 kbit/s (5.263 %)"), "{undecided}");
        let missed = measured.is_at_least(12.5).unwrap_err();
        assert_eq!(
            missed,
            "goodput should be at least 12.50 kbit/s, but is 10.00 kbit/s (95 % interval 7.516 to 12.48, 3 seeds): \
             the mean misses it by 2.500 kbit/s (20.00 %); by seed: 1: 9.000, 2: 10.00, 3: 11.00"
        );
    }

    #[test]
    fn a_seed_without_a_value_fails_both() {
        let nothing = measure(&[1.0, f64::NAN]);
        assert!(nothing.is_at_least(0.0).unwrap_err().contains("a seed has no value"));
        assert!(nothing.is_at_most(9.0).is_err());
    }
}
