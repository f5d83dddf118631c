//! The scenario of the tutorial gives the results stated there.

use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");

#[test]
fn the_tutorial_states_the_results_of_its_scenario() {
    let (_, rest) = TUTORIAL.split_once("```toml\n").unwrap();
    let (toml, _) = rest.split_once("```").unwrap();
    for (key, value) in [
        ("flow[0].rwnd", "autotuning"),
        ("flow[0].rwnd", "drwa"),
        ("flow[0].rwnd", "arwa"),
        ("rlc.queue.buffer", "100kB"),
        ("rlc.queue.buffer", "30kB"),
    ] {
        let mut node = Node::from_toml(toml, "tutorial.toml").unwrap();
        node.set(key, value).unwrap();
        let outcome = run(&Scenario::from_node(&node).unwrap(), 1, None, &mut |_| true).unwrap();
        let totals = outcome.totals();
        let figures = [format!("{:.2}", totals.delay_ms.unwrap()), format!("{:.1}", totals.throughput_kbps)];
        for figure in figures {
            assert!(TUTORIAL.contains(&figure), "{key} = {value}: the tutorial does not say {figure}");
        }
    }
}
