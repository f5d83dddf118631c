//! Links, paths and link traces, in complete runs.

use airwnd_catalog::Node;
use airwnd_kernel::Direction;
use airwnd_lab::{LinkRow, Outcome, Scenario, run};
use airwnd_units::Span;
use std::fs;
use std::path::PathBuf;

fn simulate_at(toml: &str, origin: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, origin).unwrap()).unwrap();
    run(&scenario, 1, Some(Span::from_millis(100)), &mut |_| true).unwrap()
}

fn simulate(toml: &str) -> Outcome {
    simulate_at(toml, "test")
}

/// Rows of a link in a direction.
fn rows<'a>(outcome: &'a Outcome, link: &str, direction: Direction) -> Vec<&'a LinkRow> {
    outcome.links().iter().filter(|row| row.link == link && row.direction == direction).collect()
}

fn down<'a>(outcome: &'a Outcome, link: &str) -> &'a LinkRow {
    let rows = rows(outcome, link, Direction::Down);
    assert_eq!(rows.len(), 1, "{link}");
    rows[0]
}

/// Datagrams of 1472 B, 1500 with their headers.
fn datagrams(rate: &str) -> String {
    format!("{{kind = \"cbr\", rate = \"{rate}\", packet = \"1472B\"}}")
}

const DUMBBELL: &str = r#"
    preset = "airwnd-0.1"
    duration = "10s"
    core = {server_rate = "0bps", server_delay = "0ms"}
    [[link]]
    name = "bottleneck"
    rate = "10Mbps"
    delay = "5ms"
    queue = 60
    [[link]]
    name = "near-access"
    rate = "100Mbps"
    delay = "5ms"
    per = "terminal"
    [[link]]
    name = "far-access"
    rate = "100Mbps"
    delay = "45ms"
    delay_up = "15ms"
    per = "group"
    [[ue]]
    name = "near"
    count = 2
    via = ["bottleneck", "near-access"]
    [[ue]]
    name = "far"
    count = 3
    via = ["bottleneck", "far-access"]
    [[flow]]
    tcp
"#;

#[test]
fn each_group_of_a_dumbbell_has_its_base_rtt() {
    let outcome = simulate(&DUMBBELL.replace("    tcp\n", ""));
    let min = |flow: usize| {
        let series = outcome.series();
        let airwnd_lab::Column::F64(delays) = &series.iter().find(|(name, _)| name == "delay_ms").unwrap().1
        else {
            panic!("delays are numbers")
        };
        delays.iter().skip(flow).step_by(5).filter(|delay| !delay.is_nan()).fold(f64::MAX, |a, b| a.min(*b))
    };
    // 1502 B take 1.2016 ms at 10 Mbit/s, 0.12016 ms at 100 Mbit/s.
    for flow in 0..5 {
        let expected = 5.0 + if flow < 2 { 5.0 } else { 45.0 };
        assert!((0.0..5.0).contains(&(min(flow) - expected)), "flow {flow}: {} ms", min(flow));
    }
    let bottleneck = down(&outcome, "bottleneck");
    assert!(bottleneck.utilisation.unwrap() > 0.95, "{bottleneck:?}");
    assert_eq!(bottleneck.queue_packets.max, 60);
    assert!(bottleneck.drops.link_queue_full > 0);
    // Each of the two near UEs has its own link; the far UEs share one.
    let owners = |link| -> Vec<&str> {
        rows(&outcome, link, Direction::Down).iter().filter_map(|row| row.of.as_deref()).collect()
    };
    assert_eq!(owners("near-access"), ["0", "1"]);
    assert_eq!(owners("far-access"), ["far"]);
    assert_eq!(bottleneck.of, None);
}

/// Packets delivered by one link enter the next one.
#[test]
fn links_in_series_pass_packets_on() {
    let outcome = simulate(&DUMBBELL.replace("tcp\n", &format!("traffic = {}\n", datagrams("1Mbps"))));
    let carried =
        |link: &str| rows(&outcome, link, Direction::Down).iter().map(|row| row.packets).sum::<u64>();
    let behind = carried("near-access") + carried("far-access");
    assert_eq!(carried("server"), outcome.flows().iter().map(|flow| flow.packets_sent).sum::<u64>());
    assert_eq!(behind, outcome.flows().iter().map(|flow| flow.packets_received).sum::<u64>());
    // 5 x 1 Mbit/s with headers; at most 45 ms of the far UEs' packets are in flight behind it.
    assert!((behind..=behind + 20).contains(&carried("bottleneck")), "{behind} {}", carried("bottleneck"));
    let utilisation = down(&outcome, "bottleneck").utilisation.unwrap();
    assert!((utilisation - 0.5 * 1502.0 / 1472.0).abs() < 0.002, "{utilisation}");
}

/// The results of the links and the totals of the run count the same drops.
#[test]
fn links_account_for_every_drop() {
    let lossy = "[[site]]\n[[link]]\nname = \"wan\"\nrate = \"5Mbps\"\nqueue_bytes = \"6kB\"\n\
                 loss = {kind = \"packet-error\", rate = 0.01}\nloss_up = \"packet-error\"\n";
    let toml = format!(
        "preset = \"airwnd-0.1\"\nduration = \"10s\"\ncore = {{server_loss = \"packet-error\", s1u_rate = \"6Mbps\", s1u_queue = 5}}\n\
         rlc.queue = {{kind = \"drop-tail\", buffer = \"100kB\"}}\n{lossy}[[ue]]\n\
         count = 4\nplacement = {{kind = \"ring\", radius = \"200m\"}}\n[[flow]]\n\
         [[flow]]\nid = \"up\"\ndirection = \"up\"\ntraffic = {}\n",
        datagrams("1Mbps")
    );
    let outcome = simulate(&toml);
    let drops = outcome.totals().drops;
    let sum = |count: fn(&LinkRow) -> u64| outcome.links().iter().map(count).sum::<u64>();
    assert_eq!(drops.link_queue_full, sum(|row| row.drops.link_queue_full));
    assert_eq!(drops.link_error, sum(|row| row.drops.link_error));
    for row in outcome.links() {
        assert!(row.utilisation.is_none_or(|part| (0.0..=1.0).contains(&part)), "{row:?}");
        assert!(row.queue_packets.mean <= row.queue_packets.max as f64, "{row:?}");
        assert!(row.link != "wan" || row.queue_bytes.max <= 6_000, "{row:?}");
    }
    assert!(down(&outcome, "wan").drops.link_queue_full > 0 && down(&outcome, "wan").drops.link_error > 0);
    assert!(
        down(&outcome, "server").drops.link_error > 0 && rows(&outcome, "s1u", Direction::Up)[0].packets > 0
    );
}

/// Twice the rate of the link in each direction, so that its queues are full.
#[test]
fn the_queue_towards_the_server_may_differ() {
    let max = |keys: &str| {
        let flows = ["down", "up"].map(|direction| {
            let traffic = datagrams("24Mbps");
            format!("[[flow]]\nid = \"{direction}\"\ndirection = \"{direction}\"\ntraffic = {traffic}\n")
        });
        let link = format!("[[link]]\nname = \"l\"\nrate = \"12Mbps\"\nframing = \"0B\"\n{keys}\n");
        let outcome = simulate(&format!("duration = \"1s\"\n{link}[[ue]]\n{}", flows.concat()));
        [Direction::Down, Direction::Up].map(|direction| rows(&outcome, "l", direction)[0].queue_packets.max)
    };
    assert_eq!(max("queue = 20"), [20, 20]);
    assert_eq!(max("queue = 20\nqueue_up = 7"), [20, 7]);
    assert_eq!(max("queue = 20\nqueue_bytes_up = \"7500B\""), [20, 5]);
    assert_eq!(max("aqm = {kind = \"drop-tail\", packets = 9, buffer = \"1MB\"}\nqueue_up = 7"), [9, 7]);
    assert_eq!(max("queue = 20\naqm_up = {kind = \"drop-tail\", packets = 9, buffer = \"1MB\"}"), [20, 9]);
}

/// A cell behind a link: 20 ms more per direction, and the rate of the link is the limit.
#[test]
fn a_link_may_precede_a_cell() {
    let cell = |link: &str| {
        simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"5s\"\n{link}\n[[site]]\n[[ue]]\nplacement = {{kind = \"ring\", radius = \"200m\"}}\n[[flow]]\n\
             traffic = {}",
            datagrams("3Mbps")
        ))
    };
    let (without, with) = (cell(""), cell("[[link]]\nrate = \"10Mbps\"\ndelay = \"20ms\""));
    let delay = |outcome: &Outcome| outcome.flows()[0].delay_ms.p50.unwrap();
    // 20 ms, 1.2 ms of serialisation, and the wait for the next TTI.
    assert!(
        (20.2..=22.3).contains(&(delay(&with) - delay(&without))),
        "{} {}",
        delay(&with),
        delay(&without)
    );
    let slow = cell("[[link]]\nrate = \"1Mbps\"");
    let goodput = slow.flows()[0].goodput_kbps;
    assert!((goodput / (1000.0 * 1472.0 / 1502.0) - 1.0).abs() < 0.01, "{goodput}");
}

/// A group may bypass links that others use.
#[test]
fn an_empty_path_leads_directly_to_the_cell() {
    let toml = "preset = \"airwnd-0.1\"\nduration = \"2s\"\nlink = [{rate = \"10Mbps\", delay = \"50ms\"}]\n[[site]]\n\
                [[ue]]\nplacement = {kind = \"ring\", radius = \"200m\"}\n\
                [[ue]]\nname = \"straight\"\nvia = []\nplacement = {kind = \"ring\", radius = \"250m\"}\n\
                [[flow]]\ntraffic = \"cbr\"";
    let outcome = simulate(toml);
    let delays: Vec<f64> = outcome.flows().iter().map(|flow| flow.delay_ms.p50.unwrap()).collect();
    assert!((delays[0] - delays[1] - 50.0).abs() < 2.0, "{delays:?}");
}

/// Without cells the time series contain the link queues: that of a wire never exceeds its limit, and the means agree.
#[test]
fn series_contain_the_link_queue() {
    let toml = "preset = \"airwnd-0.1\"\nduration = \"20s\"\ncore.server_rate = \"0bps\"\n[[link]]\nrate = \"5Mbps\"\nqueue = 30\n[[ue]]\n[[flow]]";
    let outcome = simulate(toml);
    let values = |name: &str| match &outcome.series().iter().find(|(column, _)| column == name).unwrap().1 {
        airwnd_lab::Column::F64(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    let packets = values("queue_packets");
    assert!(packets.iter().all(|packets| *packets <= 30.0));
    let (mean, expected) =
        (packets.iter().sum::<f64>() / packets.len() as f64, down(&outcome, "link").queue_packets.mean);
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
    let bytes = values("queue_bytes");
    let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
    let expected = down(&outcome, "link").queue_bytes.mean;
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
}

/// Writes a file to a folder, and returns the origin of a scenario in that folder.
fn recording(name: &str, text: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("links");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
    folder.join("s.toml").to_str().unwrap().to_string()
}

/// One delivery opportunity per millisecond is 12 Mbit/s. A packet waits at most 1 ms longer than on a wire, without an
/// effect on TCP.
#[test]
fn a_constant_recording_is_a_wire() {
    let origin = recording("12Mbps", "1\n");
    let toml = |link: &str| {
        format!(
            "preset = \"airwnd-0.1\"\nduration = \"30s\"\ntcp = {{mss = 1460}}\n[[link]]\n{link}\ndelay = \"20ms\"\nqueue = 100\n[[ue]]\n[[flow]]"
        )
    };
    let wire = simulate(&toml("rate = \"12Mbps\"\nframing = \"0B\""));
    let trace = simulate_at(&toml("kind = \"trace\"\ndown = \"12Mbps\""), &origin);
    let rates = simulate_at(
        &toml("kind = \"trace\"\nformat = \"rate\"\ndown = \"rates\""),
        &recording("rates", "0.7 12\n1.9 12\n"),
    );
    let goodput = |outcome: &Outcome| outcome.flows()[0].goodput_kbps;
    assert!((goodput(&trace) / goodput(&wire) - 1.0).abs() < 0.002, "{} {}", goodput(&trace), goodput(&wire));
    let delay = |outcome: &Outcome| outcome.flows()[0].delay_ms.mean.unwrap();
    assert!((delay(&trace) - delay(&wire)).abs() < 1.5, "{} {}", delay(&trace), delay(&wire));
    // A trace of constant rate gives exactly the same results.
    assert_eq!(rates.flows(), wire.flows());
}

/// Mean rate in Mbit/s and length in seconds, from a file's numbers alone.
fn mean_and_period(file: &str) -> (f64, f64) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/traces").join(file);
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    let last = lines[lines.len() - 1][0];
    match lines[0].len() {
        1 => (lines.len() as f64 * 12_000.0 / (last * 1e3), last / 1e3),
        _ => (lines.windows(2).map(|pair| pair[1][1] * (pair[1][0] - pair[0][0])).sum::<f64>() / last, last),
    }
}

/// A saturating source gets the mean rate of a recording: lines x 12000 bit / period for mahimahi traces, the mean over
/// time of the rates for the others. The run is as long as the recording; packets in flight at its end are missing. The
/// means are those of docs/how-to/links-and-traces.md.
#[test]
fn a_saturated_recording_carries_its_mean_rate() {
    for (name, file, format, published, source) in [
        ("norway-bus-1", "norway-bus-1.txt", "rate", 2.91, "8Mbps"),
        ("norway-ferry-3", "norway-ferry-3.txt", "rate", 1.22, "8Mbps"),
        ("norway-metro-2", "norway-metro-2.txt", "rate", 1.17, "8Mbps"),
        ("norway-train-1", "norway-train-1.txt", "rate", 1.19, "8Mbps"),
        ("nyc-subway", "nyc-subway.mm", "mahimahi", 6.65, "30Mbps"),
        ("nyc-times", "nyc-times.mm", "mahimahi", 8.99, "30Mbps"),
    ] {
        let (mean, period) = mean_and_period(file);
        assert!((mean - published).abs() < 0.0051, "{name}: {mean}");
        let outcome = simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"{period}s\"\n[[link]]\nkind = \"trace\"\nformat = \"{format}\"\ndown = \"{name}\"\n[[ue]]\n\
             [[flow]]\ntraffic = {}",
            datagrams(source)
        ));
        let throughput = outcome.flows()[0].throughput_kbps / 1e3;
        assert!((throughput / mean - 1.0).abs() < 0.001, "{name}: {throughput} Mbit/s, not {mean}");
        let used = down(&outcome, "link").utilisation.unwrap();
        assert!((0.999..=1.0).contains(&used), "{name}: {used}");
    }
}

/// The second pass equals the first.
#[test]
fn a_recording_repeats() {
    let received = |start: &str, duration: &str| {
        simulate(&format!(
            "preset = \"airwnd-0.1\"\nduration = \"{duration}\"\ncore = {{server_rate = \"0bps\", server_delay = \"0s\"}}\n\
             [[link]]\nkind = \"trace\"\ndown = \"nyc-times\"\nstart = \"{start}\"\n[[ue]]\n[[flow]]\ntraffic = {}",
            datagrams("100Mbps")
        ))
        .flows()[0]
            .packets_received
    };
    let (whole, later, both) = (received("0s", "30s"), received("120s", "30s"), received("100s", "50s"));
    assert_eq!(whole, later);
    // The last 20 s of one pass and the first 30 s of the next; the queue is full from the beginning.
    assert!(both.abs_diff(received("100s", "20s") + whole) <= 1, "{both} {whole}");
}

/// ECN-capable senders receive marks before the queue is full.
#[test]
fn marks_keep_the_queue_short() {
    let toml = |ecn: &str, mark: &str| {
        format!(
            "preset = \"airwnd-0.1\"\nduration = \"20s\"\ntcp = {{{ecn}}}\ncore.server_delay = \"0ms\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = 200\n{mark}\n\
             [[ue]]\n[[flow]]"
        )
    };
    let capable = simulate(&toml("ecn = \"classic\"", "mark_above = 40"));
    let row = down(&capable, "link");
    assert!(row.marks > 0 && row.drops.link_queue_full == 0, "{row:?}");
    assert!(row.utilisation.unwrap() > 0.95, "{row:?}");
    let delayed = simulate(&toml("ecn = \"classic\"", "mark_above_delay = \"50ms\""));
    assert!(down(&delayed, "link").marks > 0 && down(&delayed, "link").drops.link_queue_full == 0);
    let deaf = simulate(&toml("", "mark_above = 40"));
    assert!(down(&deaf, "link").marks == 0 && down(&deaf, "link").drops.link_queue_full > 0);
}

/// Losses on the link of one UE do not depend on the number of UEs.
#[test]
fn each_ues_link_has_its_own_random_stream() {
    let received = |count: u32| {
        let toml = format!(
            "preset = \"airwnd-0.1\"\nduration = \"5s\"\n[[link]]\nrate = \"10Mbps\"\nper = \"terminal\"\n\
             loss = {{kind = \"packet-error\", rate = 0.1}}\n[[ue]]\ncount = {count}\n[[flow]]\ntraffic = {}",
            datagrams("1Mbps")
        );
        simulate(&toml).flows().iter().map(|flow| flow.packets_received).collect::<Vec<_>>()
    };
    let (few, many) = (received(2), received(5));
    assert_eq!(few, many[..2]);
    assert!(many.windows(2).any(|pair| pair[0] != pair[1]), "{many:?}");
}

/// A link of 10 Mbit/s and 20 ms with these keys, and a flow of 2 Mbit/s of datagrams for 20 s.
fn impaired(keys: &str) -> Outcome {
    simulate(&format!(
        "preset = \"airwnd-0.1\"\nduration = \"20s\"\ncore = {{server_rate = \"0bps\", server_delay = \"0ms\"}}\n\
         [[link]]\nrate = \"10Mbps\"\nframing = \"0B\"\ndelay = \"20ms\"\n{keys}\n[[ue]]\n[[flow]]\ntraffic = {}\n",
        datagrams("2Mbps")
    ))
}

/// A sum of bytes in the accounting of a run.
fn bytes(outcome: &Outcome, column: &str) -> u64 {
    outcome.to_json()["conservation"][column].as_u64().unwrap()
}

/// A quarter of the packets overtakes with no delay, one in ten arrives twice. A copy is a packet sent.
#[test]
fn a_link_reorders_and_duplicates() {
    let outcome = impaired("reorder = {probability = 0.25}\nduplicate = {probability = 0.1}");
    let (flow, link) = (&outcome.flows()[0], down(&outcome, "link"));
    // 3397 packets; four standard deviations of a tenth of them are 70.
    assert!((270..410).contains(&link.copies), "{}", link.copies);
    assert_eq!(link.packets, flow.packets_received);
    assert!((flow.packets_sent - flow.packets_received) < 12, "{flow:?}");
    let sent = rows(&outcome, "server", Direction::Down)[0].packets;
    assert_eq!(flow.packets_sent, sent + link.copies);
    // 1500 B take 1.2 ms; three quarters of the packets take another 20 ms.
    assert!((flow.delay_ms.mean.unwrap() - 1.2 - 15.0).abs() < 0.7, "{:?}", flow.delay_ms);
    assert_eq!(bytes(&outcome, "offered_bytes"), 1500 * sent);
    assert_eq!(bytes(&outcome, "copied_bytes"), 1500 * link.copies);
}

/// The jitter has the mean of the delay; its 95th percentile is 1.645 times the standard deviation above.
#[test]
fn a_link_jitters() {
    let outcome = impaired("jitter = {time = \"5ms\", distribution = \"normal\"}");
    let delay = outcome.flows()[0].delay_ms;
    assert!((delay.mean.unwrap() - 21.2).abs() < 0.35, "{delay:?}");
    assert!((delay.p95.unwrap() - 21.2 - 8.22).abs() < 0.8, "{delay:?}");
}

/// 1500 B arrive each 5.888 ms, 2.038 Mbit/s, at a policer of 1 Mbit/s and at a shaper whose queue is limited.
#[test]
fn a_policer_and_a_shaper_pass_their_rate() {
    let megabit = |bytes: u64| bytes as f64 * 8.0 / 1e6;
    let policed = impaired("police = {rate = \"1Mbit/s\", burst = \"15kB\"}");
    let row = down(&policed, "link");
    assert!((megabit(row.bytes) - 20.0 - 0.12).abs() < 0.05, "{}", row.bytes);
    assert_eq!(policed.totals().drops.link_policed, row.drops.link_policed);
    assert!(row.drops.link_policed > 1500 && policed.flows()[0].delay_ms.p99.unwrap() < 21.3);
    let shaped = impaired("tbf = {rate = \"1Mbit/s\", burst = \"15kB\", limit = \"30kB\"}");
    let row = down(&shaped, "link");
    // 20 ms of the delay are in flight at the end.
    assert!((megabit(row.bytes) - 20.0 - 0.1).abs() < 0.05, "{}", row.bytes);
    assert_eq!(row.drops.link_policed, 0);
    assert!(row.drops.link_queue_full > 1500 && row.queue_bytes.max == 30_000);
    // 30 kB wait for 240 ms at 1 Mbit/s.
    let p99 = shaped.flows()[0].delay_ms.p99.unwrap();
    assert!((250.0..275.0).contains(&p99), "{p99}");
    assert!(row.utilisation.unwrap() > 0.99);
}

/// Each direction has its own, except that the jitter towards the server is that of the other direction.
#[test]
fn impairments_have_a_direction() {
    let base = impaired("");
    let up = impaired(
        "reorder_up = {}\nduplicate_up = {probability = 1.0}\npolice_up = {rate = \"1kbit/s\", burst = \"2kB\"}\njitter_up = {time = \"9ms\"}",
    );
    assert_eq!(base.flows(), up.flows());
    let upload = |keys: &str| {
        impaired(&format!(
            "{keys}\n[[ue]]\nname = \"other\"\n[[flow]]\nid = \"up\"\ndirection = \"up\"\ntraffic = \"cbr\""
        ))
    };
    let late = |keys: &str| {
        upload(keys).flows().iter().find(|flow| flow.id == "up-0").unwrap().delay_ms.p95.unwrap()
    };
    // Uniform within 8 ms: 95 % of the packets are at most 7.2 ms late.
    let jitter = "jitter = {time = \"8ms\"}";
    assert!((late(jitter) - late("") - 7.2).abs() < 0.5, "{} {}", late(jitter), late(""));
    assert_eq!(late(&format!("{jitter}\njitter_up = {{time = \"0ms\"}}")), late(""));
}

/// Any impairment at its limits ends in time, with every packet accounted for.
#[test]
fn extreme_impairments_are_bounded() {
    for keys in [
        "jitter = {time = \"60s\", distribution = \"pareto\", correlation = 1.0}",
        "jitter = {time = \"60s\", distribution = \"paretonormal\", in_order = true}\nduplicate = {probability = 1.0}",
        "reorder = {gap = 1}\nduplicate = {probability = 1.0, correlation = 1.0}\nduplicate_up = {probability = 1.0}",
        "reorder = {gap = 1000000000, delay = \"60s\"}\npolice = {rate = \"1bit/s\", burst = \"1500B\"}",
        "tbf = {rate = \"1bit/s\", burst = \"1500B\"}\ntbf_up = {rate = \"1000Gbit/s\", burst = \"1000GB\", limit = \"1B\"}",
    ] {
        let outcome = impaired(keys);
        let link = down(&outcome, "link");
        assert_eq!(bytes(&outcome, "copied_bytes"), 1500 * link.copies, "{keys}");
        let inside = bytes(&outcome, "inside_bytes") / 1500;
        let left = link.packets + link.drops.link_policed + link.drops.link_queue_full;
        assert_eq!(left + inside, outcome.flows()[0].packets_sent, "{keys}");
    }
}
