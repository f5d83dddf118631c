//! Wi-Fi as a link of a scenario.

use airwnd_catalog::Node;
use airwnd_lab::{Contention, LinkRow, Outcome, Scenario, run};

fn outcome(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// Rows of the channel, downlink and uplink, with their contention.
fn channel(outcome: &Outcome) -> [(&LinkRow, Contention); 2] {
    let rows: Vec<_> = outcome.links().iter().filter(|row| row.link == "wlan").collect();
    [rows[0], rows[1]].map(|row| (row, row.contention.unwrap()))
}

fn dropped(outcome: &Outcome, cause: &str) -> u64 {
    outcome.to_json()["totals"][format!("drops_{cause}")].as_u64().unwrap()
}

fn download(link: &str, ue: &str) -> String {
    format!(
        "preset = \"airwnd-0.1\"\nduration = \"120s\"\nwarmup = \"0s\"\ntcp = {{stack = \"ns2-reno\", mss = 1000}}\n\
         core = {{server_rate = \"1Gbps\", server_delay = \"0ms\"}}\n\
         [[link]]\nname = \"wlan\"\nkind = \"wifi\"\nqueue = 500\n{link}\n[[ue]]\n{ue}\n\
         [[flow]]\ncc = {{kind = \"fixed\", segments = 20}}\n"
    )
}

/// ns-3.44 (802.11b, ConstantRateWifiManager, no QoS; one BulkSend from the access point to a station 1 m away,
/// segments of 1000 bytes, an ACK for each, no SACK, no timestamps, receive window of 20 segments; 60 s): segments per
/// second. Data and ACKs contend with each other.
#[test]
fn a_download_is_as_fast_as_in_ns3() {
    for (rates, ns3) in [("rate = \"1Mbps\"", 89.45), ("rate = \"11Mbps\"\nbasic_rate = \"2Mbps\"", 442.617)]
    {
        let outcome = outcome(&download(rates, ""));
        let rate = outcome.totals().goodput_kbps / 8.0;
        assert!((rate / ns3 - 1.0).abs() < 0.01, "{rate}/s, ns-3 {ns3}/s");
        let [(_, down), (_, up)] = channel(&outcome);
        // The two senders collide.
        assert_eq!(down.collisions, up.collisions);
        assert!(down.collisions > 0);
    }
}

#[test]
fn drops_have_their_causes() {
    let errors = "loss = {kind = \"packet-error\", rate = 0.3}\nshort_retries = 3";
    let given_up = |outcome: &Outcome| channel(outcome).map(|(row, _)| row.drops.retry_limit);
    let lost = |outcome: &Outcome| channel(outcome).map(|(row, _)| row.drops.link_error);
    let repaired = outcome(&download(errors, ""));
    let [down, up] = given_up(&repaired);
    // ACKs have no errors, but collisions.
    assert!(down > 10 * up);
    assert_eq!(dropped(&repaired, "retry_limit"), down + up);
    assert_eq!((dropped(&repaired, "link_error"), lost(&repaired)), (0, [0, 0]));
    let behind = outcome(&download(&format!("{errors}\nerrors = \"packets\""), ""));
    let [down, up] = lost(&behind);
    assert!(down > 0);
    assert_eq!((dropped(&behind, "link_error"), up), (down, 0));
    assert_eq!(dropped(&behind, "retry_limit"), given_up(&behind).iter().sum::<u64>());
    let full = outcome(&download("", "count = 40").replace("queue = 500", "queue = 10"));
    let [(down, _), (up, _)] = channel(&full);
    assert!(down.drops.link_queue_full > 0);
    assert_eq!(dropped(&full, "link_queue_full"), down.drops.link_queue_full + up.drops.link_queue_full);
}

/// Four channels carry four times as much as one, except for the collisions on the shared one.
#[test]
fn ues_share_a_channel_or_have_their_own() {
    let goodput = |link: &str| outcome(&download(link, "count = 4")).totals().goodput_kbps;
    let (shared, own) = (goodput(""), goodput("per = \"terminal\""));
    assert!((own / shared / 4.0 - 1.0).abs() < 0.1, "{own} {shared}");
}

#[test]
fn the_directions_share_the_air() {
    let outcome = outcome(&download("", "count = 10"));
    let [(down, _), (up, _)] = channel(&outcome);
    let use_of_air = down.utilisation.unwrap() + up.utilisation.unwrap();
    // Overlapping attempts count for each sender; the gaps between attempts count for none.
    assert!((0.5..1.0).contains(&use_of_air), "{use_of_air}");
}

/// Colliding frames overlap on the air, and packets wait at all stations.
#[test]
fn means_and_shares_keep_their_bounds() {
    let stations = [
        ("", "direction = \"up\"\n"),
        ("rate = \"1Mbps\"\n", "direction = \"up\"\ntraffic = \"video\"\n"),
        ("rts_threshold = \"0B\"\n", ""),
    ];
    for (wlan, flow) in stations {
        for duration in ["1ms", "20ms", "300ms"] {
            let outcome = outcome(&format!(
                "duration = \"{duration}\"\n[[link]]\nname = \"wlan\"\nkind = \"wifi\"\n{wlan}\
                 [[ue]]\ncount = 6\n[[flow]]\nstagger = \"0s\"\n{flow}"
            ));
            for (row, _) in channel(&outcome) {
                assert!(row.utilisation.is_some_and(|share| (0.0..=1.0).contains(&share)), "{row:?}");
                assert!(row.queue_packets.mean <= row.queue_packets.max as f64, "{row:?}");
                assert!(row.queue_bytes.mean <= row.queue_bytes.max as f64, "{row:?}");
            }
        }
    }
}
