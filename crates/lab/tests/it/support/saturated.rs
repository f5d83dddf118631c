//! A cell whose only UE is sent more than it can receive.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// A run of 1 s of one UE at a distance in metres, without fading, on a carrier with this radio access; UDP at this rate.
pub fn alone(carrier: &str, access: &str, distance: u32, rate: &str) -> Outcome {
    let toml = format!(
        r#"
        duration = "1s"
        warmup = "100ms"
        carrier = {{{carrier}}}
        mac = {{scheduler = "mt", olla = "none", scell = "none"}}
        rlc = {{mode = "um", queue = {{kind = "drop-tail", buffer = "2000000B"}}}}
        core = {{server_rate = "0bps", s1u_rate = "0bps"}}
        [radio]
        access = {{{access}}}
        propagation = "friis"
        shadowing = "none"
        fading = "none"
        [[site]]
        power = "46dBm"
        height = "10m"
        [[ue]]
        placement = {{kind = "list", points = [["{distance}m", "0m"]]}}
        [[flow]]
        traffic = {{kind = "cbr", rate = "{rate}", packet = "1400B"}}
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}
