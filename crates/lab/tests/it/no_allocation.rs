//! The engine does not allocate memory after the warm-up.

use crate::support::counting::Counting;
use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};
use airwnd_units::{Span, Time};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// Number of allocations of a run between `from` and its end.
fn allocations_after(from: Span, toml: &str) -> usize {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    let mut at_start = None;
    let mut at_end = 0;
    run(&scenario, 1, None, &mut |now| {
        if now > Time::ZERO + from {
            at_start.get_or_insert(ALLOCATOR.allocations());
            at_end = ALLOCATOR.allocations();
        }
        true
    })
    .unwrap();
    at_end - at_start.expect("the run is longer than its warm-up")
}

/// The small buffers of the preset are full before counting begins; those of the defaults take longer to fill.
#[test]
fn steady_state_allocates_nothing() {
    let cell = |users: u32, rwnd: &str| {
        format!(
            r#"
            preset = "airwnd-0.1"
            duration = "12s"
            tcp.mss = 512
            radio.propagation = {{kind = "hybrid-buildings"}}
            mac = {{scheduler = "pss", power_control = {{max_power = "90dBm"}}}}
            rlc.queue = {{kind = "drop-tail", buffer = "51200B"}}
            [[site]]
            sectors = 3
            antenna = "parabolic"
            [[ue]]
            count = {users}
            [[flow]]
            rwnd = "{rwnd}"
            "#
        )
    };
    let lossy = "rlc.mode = \"am\"\nrlc.am.status_prohibit = \"5ms\"\n";
    let wire =
        "preset = \"airwnd-0.1\"\nduration = \"12s\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"25ms\"\n[[ue]]\n[[flow]]\n".to_string();
    let wifi = "preset = \"airwnd-0.1\"\nduration = \"12s\"\n[[link]]\nkind = \"wifi\"\n[[ue]]\ncount = 10\n[[flow]]\n".to_string();
    let links = "preset = \"airwnd-0.1\"\nduration = \"12s\"\ntcp.ecn = \"classic\"\n\
                 [[link]]\nname = \"wan\"\nrate = \"20Mbps\"\nmark_above = 20\n\
                 [[link]]\nkind = \"trace\"\ndown = \"nyc-times\"\nqueue = 20\nper = \"terminal\"\n\
                 [[ue]]\ncount = 3\n[[flow]]\n"
        .to_string();
    let managed =
        "preset = \"airwnd-0.1\"\nduration = \"12s\"\n[[link]]\nrate = \"20Mbps\"\naqm = \"drop-tail\"\n[[ue]]\ncount = 3\n[[flow]]\n"
            .to_string();
    let impaired =
        "preset = \"airwnd-0.1\"\nduration = \"12s\"\n[[link]]\nrate = \"20Mbps\"\ndelay = \"20ms\"\n\
         jitter = {time = \"5ms\", distribution = \"normal\"}\nreorder = {probability = 0.01}\n\
         duplicate = {probability = 0.01}\npolice = {rate = \"15Mbps\", burst = \"30kB\"}\n\
         tbf_up = {rate = \"1Mbps\", burst = \"3kB\"}\n[[ue]]\ncount = 3\n[[flow]]\n"
            .to_string();
    let fading = r#"
        preset = "airwnd-0.1"
        duration = "12s"
        radio.fading = {kind = "eva", speed = "60km/h"}
        mac.olla = {}
        [[site]]
        sectors = 3
        antenna = "parabolic"
        [[ue]]
        count = 12
        [[flow]]
    "#
    .to_string();
    let nr = fading.replace(
        "radio.fading",
        "carrier.bandwidth = \"20MHz\"\ncarrier.downlink_frequency = \"3.5GHz\"\n\
         radio.access = {kind = \"nr\", numerology = 1, pattern = \"DDDSU\"}\nradio.fading",
    );
    let sleeping = format!(
        "mac.drx = {{inactivity = \"20ms\"}}\n{}[[flow]]\nid = \"up\"\ndirection = \"up\"\n\
         traffic = {{kind = \"cbr\", rate = \"4kbps\", packet = \"100B\"}}\n",
        fading
            .replace("[[flow]]", "[[flow]]\ntraffic = {kind = \"cbr\", rate = \"2kbps\", packet = \"100B\"}")
    );
    let layers = nr.replace("\"DDDSU\"", "\"DDDSU\", mimo = {cell_antennas = 4, ue_antennas = 4}");
    let lte_layers = fading.replace(
        "radio.fading",
        "radio.access = {kind = \"lte\", mcs_table = \"256qam\", mimo = {cell_antennas = 4, ue_antennas = 4}}\nradio.fading",
    );
    // All UEs use all their links early, for each of which memory is allocated.
    let aggregate = |toml: &str, frequency: &str| {
        let carrier = format!("[[carrier.secondary]]\ndownlink_frequency = \"{frequency}\"\n[[site]]");
        format!("mac.scell = {{backlog = \"0B\"}}\n{}", toml.replace("[[site]]", &carrier))
    };
    let bearers = |toml: &str| {
        toml.replacen("[[flow]]", "[[ue.bearer]]\nname = \"um\"\nmode = \"um\"\nqci = 6\n[[flow]]", 1)
            + "\n[[flow]]\nid = \"second\"\nbearer = \"um\"\n[[flow]]\nid = \"up\"\nbearer = \"um\"\ndirection = \"up\"\n"
    };
    let configured = "[[ue]]\nconfigured_grant = {period = \"2.5ms\"}";
    let upload = "[[flow]]\nid = \"up\"\ndirection = \"up\"\n";
    let several = bearers(&format!("rlc.mode = \"am\"\n{}", cell(6, "fixed")));
    // A radio link failure is no steady state.
    let ns3 = "ns3.44\"\ncarrier.bandwidth = \"10MHz\"\nhandover.link_failure = \"none\"";
    let ns3 = cell(20, "autotuning").replace("airwnd-0.1\"", ns3);
    for (name, toml) in [
        ("20 users, as in ns-3", ns3),
        ("20 users, fixed", cell(20, "fixed")),
        ("60 users, autotuning", cell(60, "autotuning")),
        ("60 users, drwa", cell(60, "drwa")),
        ("60 users, arwa", cell(60, "arwa")),
        ("20 users, oracle", cell(20, "oracle")),
        ("one user, fixed", cell(1, "fixed")),
        ("20 users, acknowledged mode", format!("rlc.mode = \"am\"\n{}", cell(20, "fixed"))),
        ("20 users, acknowledged mode as it should be", format!("{lossy}{}", cell(20, "fixed"))),
        ("6 users with two bearers", several),
        ("4 users of NR with two bearers", bearers(&nr.replace("count = 12", "count = 4"))),
        ("12 users of NR in TDD on up to four layers", layers),
        ("12 users of LTE on up to four layers", lte_layers),
        ("12 users of LTE on two carriers", aggregate(&fading, "800MHz")),
        ("12 users of NR on two carriers", aggregate(&nr, "3.6GHz")),
        ("12 users whose channels fade", fading),
        ("12 users of NR in TDD with few CCEs", format!("mac.pdcch.symbols = 1\n{nr}")),
        (
            "12 users of NR in TDD with configured grants",
            format!("{nr}{upload}").replace("[[ue]]", configured),
        ),
        ("12 users of NR in TDD", nr),
        ("12 users that sleep", sleeping),
        ("a wire", wire),
        ("ten stations", wifi),
        ("links that mark, a recording", links),
        ("a link with a discipline", managed),
        ("a link that impairs and polices", impaired),
    ] {
        assert_eq!(allocations_after(Span::from_secs(9), &toml), 0, "{name}");
    }
    for kind in airwnd_links::aqm::Spec::built_in() {
        let link = format!("[[link]]\nrate = \"20Mbps\"\nring = 1\naqm = \"{kind}\"\n");
        let toml = format!(
            "preset = \"airwnd-0.1\"\nduration = \"7s\"\ntcp.ecn = \"classic\"\n{link}[[ue]]\ncount = 3\n[[flow]]\n"
        );
        assert_eq!(allocations_after(Span::from_secs(4), &toml), 0, "{kind} before a link");
    }
    for kind in airwnd_cell::mac::sched::Spec::built_in() {
        let toml = cell(20, "fixed").replace("\"pss\"", &format!("\"{kind}\"")).replace("12s", "7s");
        assert_eq!(allocations_after(Span::from_secs(4), &toml), 0, "{kind}");
    }
    let proportional = cell(20, "fixed").replace("mac = {", "mac = {uplink_scheduler = \"pf\", ");
    assert_eq!(allocations_after(Span::from_secs(9), &proportional), 0, "the uplink's pf");
}
