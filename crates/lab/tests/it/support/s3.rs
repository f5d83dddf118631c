//! Scenario of the ns-3 reference run S3.

/// Three parabolic sectors, PSS, NewReno downloads with segments of 512 B. Variant `a`: line of sight up to 200 m, no
/// limit on UE power; `b`: up to 1001 m, 23 dBm. Uses the first `users` of the `placed` UEs of the reference run.
pub fn scenario(variant: &str, users: &str, placed: &str, duration_s: &str, srs_period: &str) -> String {
    let (los, power) = if variant == "a" { ("200m", "90dBm") } else { ("1001m", "23dBm") };
    format!(
        r#"
        duration = "{duration_s}s"
        preset = "ns3.44"
        tcp.mss = 512
        carrier.bandwidth = "10MHz"
        radio.propagation = {{kind = "hybrid-buildings", los_to_nlos = "{los}"}}
        mac = {{scheduler = "pss", srs_period = {srs_period}, power_control = {{max_power = "{power}"}}}}
        rlc.queue = {{kind = "drop-tail", buffer = "51200B"}}
        [[site]]
        sectors = 3
        power = "43dBm"
        antenna = {{kind = "parabolic", beamwidth = "70deg"}}
        [[ue]]
        count = {users}
        noise_figure = "5dB"
        placement = {{kind = "file", path = "s3{variant}_{placed}.csv"}}
        [[flow]]
        cc = "newreno"
        "#
    )
}
