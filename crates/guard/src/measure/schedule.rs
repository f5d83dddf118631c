//! The phases of a test.

use std::time::Duration;

/// Shortest pause after a phase, in which its queue drains.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// Longest one: a queue that is longer, or an idle link whose RTT varies, must not stop the test.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The beginning of a transfer whose pings do not count, as in `guard demo`: slow start. Of a short phase, half.
const START: Duration = Duration::from_secs(3);
/// Replies that show whether a queue has drained.
const REPLIES: usize = 5;
/// A queue has drained when the RTT is that of the idle link, with this allowance.
const DRAINED: (f64, f64) = (1.25, 5.0);

/// Load of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Idle,
    Download,
    Upload,
    Both,
}

impl Load {
    /// Loads in the order of the table.
    pub const ALL: [Load; 4] = [Load::Idle, Load::Download, Load::Upload, Load::Both];

    pub fn word(self) -> &'static str {
        match self {
            Load::Idle => "idle",
            Load::Download => "download",
            Load::Upload => "upload",
            Load::Both => "both",
        }
    }

    pub fn is_down(self) -> bool {
        matches!(self, Load::Download | Load::Both)
    }

    pub fn is_up(self) -> bool {
        matches!(self, Load::Upload | Load::Both)
    }
}

/// A phase with a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub load: Load,
    pub is_guarded: bool,
}

impl Step {
    /// Name of its row in the JSON object.
    pub fn id(self) -> String {
        format!("{}{}", self.load.word(), if self.is_guarded { "_guarded" } else { "" })
    }
}

/// The phases and their lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Length of the phase without a load, which is the first one.
    pub idle: Duration,
    /// Length of each other one.
    pub length: Duration,
    pub steps: Vec<Step>,
}

impl Plan {
    /// Divides the time. Phases without and with the guard alternate: a change of a mobile link then concerns both.
    pub fn new(total: Duration, has_guard: bool, has_both: bool) -> Plan {
        let steps_of = |load| {
            [false, true]
                .into_iter()
                .filter(move |guarded| has_guard || !guarded)
                .map(move |is_guarded| Step { load, is_guarded })
        };
        let loads = [Load::Download, Load::Upload, Load::Download];
        let steps: Vec<Step> =
            loads.into_iter().chain(has_both.then_some(Load::Both)).flat_map(steps_of).collect();
        let idle = (total / 15).clamp(Duration::from_secs(1), Duration::from_secs(5));
        let number = steps.len() as u32;
        let length = total.saturating_sub(idle + PAUSE * number) / number;
        Plan { idle, length, steps }
    }

    /// The part of each transfer whose pings do not count.
    pub fn start(&self) -> Duration {
        START.min(self.length / 2)
    }
}

/// Whether the queue of a phase has drained, by the latest RTTs; `idle_ms` is the median RTT of the idle link.
pub(super) fn is_drained(latest_ms: &[f64], idle_ms: f64) -> bool {
    let (factor, more_ms) = DRAINED;
    let last = latest_ms.iter().rev().take(REPLIES);
    latest_ms.len() >= REPLIES && last.into_iter().all(|rtt_ms| *rtt_ms <= idle_ms * factor + more_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(plan: &Plan) -> Vec<String> {
        let word = |step: &Step| format!("{}{}", step.load.word(), if step.is_guarded { "+" } else { "" });
        plan.steps.iter().map(word).collect()
    }

    #[test]
    fn phases_without_and_with_the_guard_alternate() {
        let plan = Plan::new(Duration::from_secs(60), true, false);
        let expected = ["download", "download+", "upload", "upload+", "download", "download+"];
        assert_eq!(words(&plan), expected);
        assert_eq!((plan.idle, plan.start()), (Duration::from_secs(4), START));
        let total = plan.idle + 6 * (plan.length + PAUSE);
        assert!(total <= Duration::from_secs(60) && total > Duration::from_millis(59_999));
        let both = Plan::new(Duration::from_secs(300), true, true);
        assert_eq!(words(&both)[6..], ["both", "both+"]);
        let short = Plan::new(Duration::from_secs(30), true, false);
        assert_eq!(short.start(), short.length / 2);
    }

    #[test]
    fn without_a_guard_there_are_no_phases_with_it() {
        let plan = Plan::new(Duration::from_secs(60), false, true);
        assert_eq!(words(&plan), ["download", "upload", "download", "both"]);
        assert_eq!(plan.length, Duration::from_secs(13));
    }

    #[test]
    fn a_queue_has_drained_when_all_of_the_latest_rtts_are_short() {
        assert!(is_drained(&[900.0, 20.0, 21.0, 29.0, 20.0, 20.0], 20.0));
        assert!(!is_drained(&[20.0, 20.0, 20.0, 40.0, 20.0], 20.0));
        assert!(!is_drained(&[20.0; 4], 20.0), "too few to know");
    }
}
