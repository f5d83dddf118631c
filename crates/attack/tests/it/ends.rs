//! Values at both ends of the range of every parameter run or are rejected in one line; values beyond are rejected.

use airwnd_attack::ends::{self, End, Places};
use airwnd_attack::trial::{self, ORIGIN, Verdict};
use airwnd_catalog::Node;
use airwnd_lab::Scenario;
use std::panic::catch_unwind;

/// Number of calls of `progress` before a run is stopped.
const CALLS: u32 = 2;
/// Maximum size of a run (UEs, cells and flows); larger scenarios are only read.
const MAX: usize = 3000;

/// Returns whether a valid scenario is too large to run.
fn is_large(scenario: &Scenario) -> bool {
    let flows = scenario.to_json()["flow"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|flow| flow["count"].as_u64())
        .sum::<u64>();
    scenario.nodes().len() * (1 + flows as usize) > MAX
}

fn fault(end: &End) -> Result<Verdict, String> {
    let read = Node::from_json(&end.scenario.to_string(), ORIGIN).and_then(|node| Scenario::from_node(&node));
    match (read, end.is_within) {
        (Ok(_), false) => Err("accepted, though it is outside".into()),
        (Err(error), false) if !error.to_string().contains(&end.key) => Err(format!("no key in {error}")),
        (Ok(scenario), true) if is_large(&scenario) => Ok(Verdict::Stopped),
        (Ok(scenario), true) => trial::run(&scenario, CALLS),
        (Err(error), _) => trial::read(Err(error)).map(|_| Verdict::Refused),
    }
}

fn attack(places: Places) {
    let ends = ends::all(places);
    let mut faults = 0;
    let mut verdicts = [[0_u64; 3]; 2];
    for end in &ends {
        let tried = catch_unwind(|| fault(end)).unwrap_or_else(|_| Err("a panic".into()));
        match tried {
            Ok(verdict) => verdicts[usize::from(end.is_within)][verdict as usize] += 1,
            Err(what) => {
                println!("{} = {}: {what}\n{}\n", end.parameter, end.value, end.scenario);
                faults += 1;
            }
        }
    }
    let [[_, _, outside], [ran, stopped, refused]] = verdicts;
    println!(
        "{} ends: {ran} ran, {stopped} were stopped at the bound, {refused} contradict other values; \
         {outside} outside were refused",
        ends.len()
    );
    assert_eq!(faults, 0);
    assert!(5 * refused < ran, "{refused} of {ran} ends were refused");
}

#[test]
fn the_ends_of_every_range() {
    attack(Places::First);
}

#[test]
#[ignore = "nightly: each end at each place of its member"]
fn the_ends_of_every_range_at_every_place() {
    attack(Places::All);
}
