//! Plug-ins: found by name, read strictly, and a failure ends the run with an error.

use airwnd_catalog::{Error, Node, Params};
use airwnd_cell::handover::a3_rsrp;
use airwnd_cell::mac::sched::pf;
use airwnd_lab::traffic::cbr;
use airwnd_lab::{Outcome, Plugins, Scenario, run};
use airwnd_links::aqm::codel;
use airwnd_rwnd::drwa;
use airwnd_tcp::cc::newreno::{self, Newreno};
use airwnd_tcp::cc::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_units::Bytes;

/// Settings of the plug-ins of these tests.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "test")]
pub struct Params {
    /// Fraction of the bytes in flight kept at a loss.
    #[param(default = 0.5, range = 0.01..=0.99, unit = "1", source = "test")]
    pub keep: f64,
}

/// NewReno that fails after some ACKs.
#[derive(Debug)]
struct FailingReno {
    reno: Newreno,
    acks: u32,
    failure: Option<Error>,
    vanishes: bool,
}

impl CongestionControl for FailingReno {
    fn on_ack(&mut self, ack: &Ack) {
        assert!(self.failure.is_none(), "on_ack is not called after a failure");
        self.acks += 1;
        self.reno.on_ack(ack);
        if self.acks == 50 && !self.vanishes {
            self.failure = Some(Error::new("failing.rs", Some(7), "FailingReno::on_ack: enough"));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.reno.on_congestion(event);
    }

    fn cwnd(&self) -> Bytes {
        if self.vanishes && self.acks > 50 { Bytes(999) } else { self.reno.cwnd() }
    }

    fn ssthresh(&self) -> Bytes {
        self.reno.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.reno.set_cwnd(cwnd);
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}

fn plugins() -> Plugins {
    let reno = |params: &Params, ctx: &SenderContext| {
        Newreno::new(newreno::Params { beta: params.keep, ..Default::default() }, ctx)
    };
    let mut plugins = Plugins::default();
    plugins.cc.add("reno", move |params: &Params, ctx| Ok(Box::new(reno(params, ctx))));
    for (name, vanishes) in [("failing", false), ("vanishing", true)] {
        plugins.cc.add(name, move |params: &Params, ctx| {
            Ok(Box::new(FailingReno { reno: reno(params, ctx), acks: 0, failure: None, vanishes }))
        });
    }
    plugins.cc.add("unmade", |_: &Params, _| Err(Error::new("unmade", None, "there is none to be had")));
    plugins
}

fn scenario(cc: &str) -> Result<Scenario, Error> {
    let toml = format!(
        "name = \"wire\"\npreset = \"airwnd-0.1\"\nduration = \"20s\"\ntcp.mss = 1000\n[[link]]\nrate = \"10Mbps\"\ndelay = \"25ms\"\nqueue = 50\n\
         [[ue]]\n[[flow]]\n[[flow]]\nid = \"up\"\ndirection = \"up\"\ncc = {cc}\n"
    );
    Scenario::with_plugins(&Node::from_toml(&toml, "s.toml").unwrap(), &plugins())
}

fn outcome(cc: &str) -> Result<Outcome, Error> {
    run(&scenario(cc)?, 1, None, &mut |_| true)
}

#[test]
fn a_plugin_behaves_like_a_built_in_algorithm() {
    let plugin = outcome(r#"{kind = "plugin", name = "reno", keep = 0.7}"#).unwrap().to_json().to_string();
    let own = outcome(r#"{kind = "newreno", beta = 0.7}"#).unwrap().to_json().to_string();
    assert!(own.contains("\"retransmissions\":") && plugin.contains("\"cc\":\"reno(keep=0.7)\""));
    assert_eq!(plugin.replace("reno(keep=0.7)", "newreno"), own);
}

#[test]
fn a_resolved_scenario_contains_the_defaults_of_a_plugin() {
    let resolved = scenario(r#"{kind = "plugin", name = "reno"}"#).unwrap().to_json();
    let expected = serde_json::json!({"kind": "plugin", "name": "reno", "keep": 0.5});
    assert_eq!(resolved["flow"][1]["cc"], expected);
}

#[test]
fn errors_are_reported_when_the_scenario_is_read() {
    let refusal = |cc: &str| scenario(cc).unwrap_err().to_string();
    assert_eq!(
        refusal(r#"{kind = "plugin", name = "remo"}"#),
        "s.toml:14: flow[1].cc.name: unknown plug-in `remo`; did you mean `reno`?; \
         allowed: `reno`, `failing`, `vanishing`, `unmade`"
    );
    assert_eq!(
        refusal(r#"{kind = "plugin", name = "reno", keep = 2.0}"#),
        "s.toml:14: flow[1].cc.keep: 2.0 is outside 0.01..0.99"
    );
    assert_eq!(
        refusal(r#"{kind = "plugin", name = "reno", kept = 0.5}"#),
        "s.toml:14: flow[1].cc: unknown key `kept`; did you mean `keep`?; allowed: `keep`"
    );
    assert_eq!(refusal(r#"{kind = "plugin"}"#), "s.toml:14: flow[1].cc: `name` is missing");
    assert_eq!(
        refusal(r#"{kind = "python", class = "a.py:A"}"#),
        "s.toml:14: flow[1].cc: `python` needs Python: use `airwnd run` or the package `airwnd`"
    );
    assert_eq!(
        refusal(r#"{kind = "plugin", name = "reno", keep = nan}"#),
        "s.toml:14: flow[1].cc.keep: expected a finite number, found NaN"
    );
}

#[test]
fn without_plugins_no_name_is_known() {
    let toml = "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]\ncc = {kind = \"plugin\", name = \"x\"}";
    let error = Scenario::from_node(&Node::from_toml(toml, "s.toml").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "s.toml:6: flow[0].cc.name: no plug-in `x`: none is registered with this program"
    );
}

#[test]
fn a_failure_ends_the_run() {
    let error = |name: &str| {
        outcome(&format!("{{kind = \"plugin\", name = \"{name}\"}}")).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(error("failing"), "failing.rs:7: FailingReno::on_ack: enough");
    assert_eq!(
        error("vanishing"),
        "plug-in `vanishing`: cwnd is 999B after on_ack; it must be at least one segment (1kB)"
    );
    assert_eq!(error("unmade"), "unmade: there is none to be had");
}

#[test]
#[should_panic(expected = "two plug-ins are called `reno`")]
fn names_of_plugins_are_unique() {
    plugins().cc.add("reno", |_: &Params, _| Err(Error::new("reno", None, "never made")));
}

/// A UE on a ride past two sites.
const RIDE: &str = r#"
preset = "airwnd-0.1"
duration = "20s"
mac.scheduler = SCHEDULER
handover.algorithm = HANDOVER
rlc.queue = QUEUE
[[site]]
[[site]]
position = ["800m", "0m"]
[[ue]]
placement = {kind = "list", points = [["100m", "50m"]]}
mobility = {kind = "constant-velocity", speed = "30m/s", direction = "0deg"}
[[flow]]
rwnd = WINDOW
[[flow]]
id = "call"
traffic = TRAFFIC
"#;

/// Family, word in [`RIDE`], built-in member.
const BUILT_IN: [(&str, &str, &str); 5] = [
    ("scheduler", "SCHEDULER", r#"{kind = "pf"}"#),
    ("handover", "HANDOVER", r#"{kind = "a3-rsrp"}"#),
    ("aqm", "QUEUE", r#"{kind = "codel"}"#),
    ("rwnd", "WINDOW", r#"{kind = "drwa", lambda = 1.5}"#),
    ("traffic", "TRAFFIC", r#"{kind = "cbr", rate = "200kbps"}"#),
];

fn ride(members: &[(&str, String)], plugins: &Plugins) -> Result<Outcome, Error> {
    let toml = members.iter().fold(RIDE.to_string(), |toml, (word, member)| toml.replace(word, member));
    let scenario = Scenario::with_plugins(&Node::from_toml(&toml, "ride.toml").unwrap(), plugins)?;
    run(&scenario, 1, None, &mut |_| true)
}

/// The results without the words of the members.
fn figures(outcome: &Outcome) -> String {
    let words = [r#""rwnd":"drwa""#, r#""rwnd":"mine(lambda=1.5)""#, r#""kind":"cbr""#, r#""kind":"plugin""#];
    words.into_iter().fold(outcome.to_json().to_string(), |text, word| text.replace(word, ""))
}

#[test]
fn every_family_takes_plugins() {
    let mut plugins = Plugins::default();
    plugins
        .scheduler
        .add("mine", |params: &pf::Params, grid| Ok(Box::new(pf::Pf::new(params.clone(), grid))));
    plugins
        .handover
        .add("mine", |params: &a3_rsrp::Params, ctx| Ok(Box::new(a3_rsrp::A3Rsrp::new(params.clone(), ctx))));
    plugins
        .aqm
        .add("mine", |params: &codel::Params, ctx| Ok(Box::new(codel::Codel::new(params.clone(), ctx))));
    plugins.rwnd.add("mine", |params: &drwa::Params, ctx| Ok(Box::new(drwa::Drwa::new(params.clone(), ctx))));
    plugins.traffic.add("mine", |params: &cbr::Params, ctx| Ok(Box::new(cbr::Cbr::new(params.clone(), ctx))));
    let own = BUILT_IN.map(|(_, word, member)| (word, member.to_string()));
    let expected = ride(&own, &plugins).unwrap();
    assert!(expected.to_json()["ues"][0]["handovers"].as_u64() > Some(0), "all members take part");
    for (place, (family, ..)) in BUILT_IN.iter().enumerate() {
        let mut members = own.clone();
        let (kind, settings) =
            members[place].1.split_once(['"']).and_then(|(_, rest)| rest.split_once('"')).unwrap();
        assert!(!kind.is_empty());
        members[place].1 = format!("{{kind = \"plugin\", name = \"mine\"{settings}");
        assert_eq!(figures(&ride(&members, &plugins).unwrap()), figures(&expected), "{family}");
        members[place].1 = r#"{kind = "plugin", name = "yours"}"#.into();
        let error = ride(&members, &plugins).unwrap_err().to_string();
        assert!(error.contains("name: unknown plug-in `yours`; allowed: `mine`"), "{family}: {error}");
    }
}

#[test]
fn a_receive_window_plugin_that_cannot_be_created_ends_the_run() {
    let mut plugins = Plugins::default();
    plugins
        .rwnd
        .add("unmade", |_: &drwa::Params, _| Err(Error::new("unmade", None, "there is none to be had")));
    let mut members = BUILT_IN.map(|(_, word, member)| (word, member.to_string()));
    members[3].1 = r#"{kind = "plugin", name = "unmade"}"#.into();
    assert_eq!(
        ride(&members, &plugins).map(drop).unwrap_err().to_string(),
        "unmade: there is none to be had"
    );
}
