//! Recorded channels.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// A UE in a ring, beside a cell that interferes, with this channel.
fn cell(radius: u32, interferes: bool, replay: &str) -> String {
    let other = if interferes { "[[site]]\nposition = [\"900m\", \"0m\"]" } else { "" };
    format!(
        r#"
        duration = "6s"
        warmup = "0s"
        radio = {{shadowing.sigma = "0dB", fading = "none"}}
        [[site]]
        {other}
        [[ue]]
        placement = {{kind = "ring", radius = "{radius}m"}}
        {replay}
        [[flow]]
        traffic = {{kind = "cbr", rate = "60Mbps", packet = "1400B"}}
        "#
    )
}

/// A recording of the SINR, or of the RSRP, that a model gives carries what the model carries: at another place, beside
/// another cell.
#[test]
fn a_recording_of_the_models_channel_carries_the_same() {
    for (access, radius) in [("lte", 200), ("lte", 500), ("nr", 350)] {
        let with = |toml: String| toml.replace("fading", &format!("access = \"{access}\", fading"));
        let model = simulate(&with(cell(radius, false, "")));
        let sinr = model.ues()[0].sinr_db.unwrap();
        let replay = format!("replay = {{path = \"-\", quantity = \"sinr\", rows = [[0.0, {sinr}]]}}");
        let recorded = simulate(&with(cell(50, true, &replay)));
        assert!((recorded.ues()[0].sinr_db.unwrap() - sinr).abs() < 0.01);
        let [of_model, of_recording] = [&model, &recorded].map(|outcome| outcome.flows()[0].goodput_kbps);
        assert!(
            (of_recording / of_model - 1.0).abs() < 0.002,
            "{access} {radius} m: {of_recording} {of_model}"
        );
        assert_eq!(recorded.ues()[0].handovers, 0);
    }
}

/// 20 dB for two seconds, nothing for two, 5 dB for the rest: with steps of a millisecond.
#[test]
fn the_rate_follows_the_recording() {
    let rows = "[[0.0, 20.0], [2.0, 20.0], [2.001, -40.0], [4.0, -40.0], [4.001, 5.0]]";
    let replay = format!("replay = {{path = \"-\", quantity = \"sinr\", rows = {rows}}}");
    let toml = cell(300, false, &replay);
    let received = |until: f64| {
        simulate(&toml.replace("\"6s\"", &format!("\"{until}s\""))).flows()[0].goodput_kbps * until
    };
    let [early, three, four, six] = [1.9, 3.0, 4.0, 6.0].map(received);
    assert!(early > 1.9 * 20_000.0, "{early}");
    assert!((three - four).abs() < 1.0, "nothing arrives without a channel: {three} {four}");
    // 0.1 s more at 20 dB, and what was on its way.
    assert!((1.0..1.2).contains(&(three / early)), "{three} {early}");
    let slow = (six - four) / 2.0 / (early / 1.9);
    assert!((0.15..0.6).contains(&slow), "{slow}");
}

#[test]
fn a_recording_without_a_cell_is_a_mistake() {
    let toml = "duration = '1s'\n[[link]]\nrate = '10Mbps'\n[[flow]]\n[[ue]]\nreplay = {path = '-', quantity = 'sinr', rows = [[0.0, 1.0]]}";
    let scenario = Node::from_toml(toml, "test").and_then(|node| Scenario::from_node(&node));
    let message = scenario.unwrap_err().to_string();
    assert!(message.contains("ue[0].replay") && message.contains("no cells"), "{message}");
}
