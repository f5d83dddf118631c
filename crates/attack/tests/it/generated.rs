//! Generated valid scenarios: no panics, and the results of every run are possible.
//!
//! `ATTACK_CASES` and `ATTACK_FIRST` set the number of scenarios and the first case.

use airwnd_attack::arbitrary::Unstructured;
use airwnd_attack::trial::{self, ORIGIN, Verdict};
use airwnd_attack::{bytes, legal};
use airwnd_catalog::Node;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::panic::catch_unwind;

/// Number of bytes from which a scenario is drawn.
const LENGTH: usize = 4096;
/// Number of calls of `progress` before a run is stopped.
const CALLS: u32 = 8;
/// One of this many scenarios is run twice.
const REPEATED: u64 = 8;

fn scenario(number: u64) -> Result<Json, String> {
    let bytes = bytes(number, LENGTH);
    trial::settled(legal::scenario(&mut Unstructured::new(&bytes)).expect("there are enough bytes"))
}

/// Tries a scenario; a panic is an error.
fn fault(scenario: &Json, is_repeated: bool) -> Result<Verdict, String> {
    let tried = catch_unwind(|| {
        let verdict = trial::scenario(scenario, CALLS)?;
        if is_repeated && verdict != Verdict::Refused {
            let read = trial::read(Node::from_json(&scenario.to_string(), ORIGIN))?;
            trial::repeat(&read.expect("it has been read"), CALLS)?;
        }
        Ok(verdict)
    });
    tried.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or(panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or("a panic".into()))
    })
}

/// Collects the members in a scenario, with their keys.
fn members(value: &Json, key: &str, to: &mut BTreeSet<String>) {
    match value {
        Json::Object(entries) => {
            if let Some(kind) = entries.get("kind").and_then(Json::as_str) {
                to.insert(format!("{key} {kind}"));
            }
            entries.iter().for_each(|(key, value)| members(value, key, to));
        }
        Json::Array(items) => items.iter().for_each(|item| members(item, key, to)),
        _ => {}
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Tries scenarios; a failure prints a reduced scenario that still fails, ready to paste.
fn attack(count: u64) -> BTreeSet<String> {
    let first = number("ATTACK_FIRST", 0);
    let count = number("ATTACK_CASES", count);
    let (mut verdicts, mut ran, mut faults) = ([0_u64; 3], BTreeSet::new(), Vec::new());
    for case in first..first + count {
        let scenario = scenario(case).unwrap_or_else(|what| panic!("scenario {case}: {what}"));
        let is_repeated = case % REPEATED == 0;
        match fault(&scenario, is_repeated) {
            Ok(verdict) => {
                verdicts[verdict as usize] += 1;
                if verdict == Verdict::Ran {
                    members(&scenario, "", &mut ran);
                }
            }
            Err(what) => {
                let smallest =
                    trial::reduce(&scenario, &mut |candidate| fault(candidate, is_repeated).is_err());
                let what = fault(&smallest, is_repeated).err().unwrap_or(what);
                println!("scenario {case}: {what}\n{smallest}\n");
                faults.push(case);
            }
        }
    }
    let [done, stopped, refused] = verdicts;
    println!(
        "{count} scenarios: {done} ran to their end, {stopped} were stopped at the bound, {refused} refused"
    );
    assert!(faults.is_empty(), "scenarios {faults:?}");
    assert!(20 * refused < count, "{refused} of {count} legal scenarios were refused");
    ran
}

#[test]
fn three_hundred_scenarios() {
    attack(300);
}

#[test]
#[ignore = "nightly: a hundred thousand scenarios take ten minutes"]
fn a_hundred_thousand_scenarios_with_every_member() {
    let ran = attack(100_000);
    for family in airwnd_lab::catalogue() {
        for member in family.members {
            // These have external code.
            let is_outside = ["plugin", "python"].contains(&member.name.as_str());
            let is_there = ran.iter().any(|word| word.split(' ').nth(1) == Some(&member.name));
            assert!(is_there || is_outside, "no scenario with `{}` of {} ran", member.name, family.name);
        }
    }
}
