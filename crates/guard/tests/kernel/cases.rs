//! The tests.

use crate::measure;
use crate::roles;
use crate::session::{PATIENCE, Session};
use crate::shape;
use crate::wire::Ack;
use std::collections::HashSet;
use std::path::PathBuf;

pub type Case = (&'static str, fn() -> Result<(), String>);

pub const ALL: &[Case] = &[
    ("a_window_is_limited_and_released_by_sigkill", || released("kill", false)),
    ("a_window_is_limited_and_released_at_exit", || released("stop", false)),
    ("ipv6_connections_are_guarded", || released("kill", true)),
    ("existing_connections_are_adopted", existing_connections_are_adopted),
    ("no_edge_moves_back_where_windows_may_shrink", no_edge_moves_back_where_windows_may_shrink),
    ("a_second_guard_is_refused", a_second_guard_is_refused),
    ("a_guard_follows_one_that_was_killed", a_guard_follows_one_that_was_killed),
    ("closed_connections_are_forgotten", closed_connections_are_forgotten),
    ("a_changed_route_begins_connections_anew", || rerouted(roles::REROUTE)),
    ("a_route_with_two_next_hops_begins_connections_anew", || rerouted(roles::REROUTE_TWICE)),
    ("an_interface_that_was_down_begins_connections_anew", || rerouted(roles::INTERRUPT)),
    ("a_guard_that_was_stopped_takes_over_again", || paused(Session::prepare("paused", false, &FIXED)?)),
    ("a_router_that_was_stopped_takes_over_again", || paused(Session::prepare_router(false, &FIXED)?)),
    ("a_running_guard_has_no_capabilities", a_running_guard_has_no_capabilities),
    ("changed_rules_apply_at_once", changed_rules_apply_at_once),
    ("a_longer_path_is_learned_at_the_receiver", || {
        learned(|guard| Session::prepare("longer", false, guard))
    }),
    ("a_longer_path_is_learned_on_a_router", || learned(|guard| Session::prepare_router(false, guard))),
    ("all_that_happens_leaves_windows_right_at_the_receiver", || {
        eventful(true, |guard| Session::prepare("eventful", false, guard))
    }),
    ("all_that_happens_leaves_windows_right_on_a_router", || {
        eventful(false, |guard| Session::prepare_router(false, guard))
    }),
    ("receivers_behind_a_router_are_told_apart", receivers_behind_a_router_are_told_apart),
    ("a_router_limits_windows_until_it_is_killed", || forwarded("kill", false)),
    ("a_router_limits_windows_until_its_exit", || forwarded("stop", false)),
    ("a_router_limits_windows_over_ipv6", || forwarded("kill", true)),
    ("a_router_leaves_connections_alone_whose_handshake_it_has_not_seen", unknown_connections_are_left_alone),
    ("a_second_guard_of_an_interface_is_refused", a_second_guard_of_an_interface_is_refused),
    ("an_interface_without_a_link_address_is_guarded", shape::an_interface_without_a_link_address_is_guarded),
    ("shapers_all_changes_are_undone", shape::all_changes_are_undone),
    ("shapers_of_others_are_left_alone", shape::what_others_have_made_is_left_alone),
    ("shapers_that_are_left_are_removed_on_request", shape::what_is_left_is_removed_on_request),
    ("shapers_of_a_guard_that_is_stopped_are_undone", shape::a_guard_that_is_stopped_is_undone),
    ("a_test_that_is_interrupted_leaves_nothing", measure::interrupted_tests_leave_nothing),
    ("a_test_beside_a_guard_is_refused", measure::a_test_beside_a_guard_is_refused),
    ("a_test_without_privileges_is_not_refused", measure::without_privileges),
    ("shapers_see_the_traffic_of_both_directions", shape::traffic_of_both_directions_is_seen),
];

/// Above the floor of two segments, below what the kernel offers by itself.
const WINDOW: u32 = 20_000;
const FIXED: [&str; 2] = ["--rwnd", "{kind = \"fixed\", limit = \"20000B\"}"];
/// Consecutive ACKs that must agree.
const ENOUGH: usize = 100;

fn is_limited(ack: &Ack) -> bool {
    ack.window <= WINDOW.next_multiple_of(ack.unit)
}

fn is_free(ack: &Ack) -> bool {
    ack.window > 4 * WINDOW
}

fn released(how: &str, ipv6: bool) -> Result<(), String> {
    let mut session = Session::prepare(&format!("{how}-{ipv6}"), ipv6, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    session.order(how);
    session.await_acks(ENOUGH, "the window is released", is_free);
    Ok(())
}

fn existing_connections_are_adopted() -> Result<(), String> {
    let mut session = Session::prepare("adopted", false, &FIXED)?;
    session.order("stop");
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "no guard runs", is_free);
    assert_eq!(session.order("guard"), "guarding");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    Ok(())
}

/// The kernel would move the edge back to the clamp at once. By itself it does so, too, but not as far.
fn no_edge_moves_back_where_windows_may_shrink() -> Result<(), String> {
    if !std::fs::exists("/proc/sys/net/ipv4/tcp_shrink_window").expect("/proc") {
        return Err("no sysctl tcp_shrink_window".to_string());
    }
    let mut session = Session::prepare("shrinks", false, &FIXED)?;
    session.order("stop");
    session.order("let windows shrink");
    // By the kernel itself, more on a busy machine; the guard would take back all of the large window.
    session.taken_back = 2 << 20;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is large", |ack| ack.window > 3 << 20);
    assert_eq!(session.order("guard"), "guarding");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    Ok(())
}

fn a_second_guard_is_refused() -> Result<(), String> {
    let mut session = Session::prepare("second", false, &FIXED)?;
    let answer = session.order("second");
    assert!(answer.starts_with("Some(2) airwnd-guard: cgroup /sys/fs/cgroup/"), "{answer}");
    // Locks are named by the process of their namespace.
    assert!(answer.contains(": guarded by another process already: airwnd-guard "), "{answer}");
    Ok(())
}

fn a_guard_follows_one_that_was_killed() -> Result<(), String> {
    let mut session = Session::prepare("follows", false, &FIXED)?;
    session.order("kill");
    assert_eq!(session.order("guard"), "guarding");
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    session.order("stop");
    session.await_acks(ENOUGH, "the window is released", is_free);
    Ok(())
}

fn forwarded(how: &str, ipv6: bool) -> Result<(), String> {
    let mut session = Session::prepare_router(ipv6, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    session.order(how);
    session.await_acks(ENOUGH, "the window is released", is_free);
    Ok(())
}

fn unknown_connections_are_left_alone() -> Result<(), String> {
    let mut session = Session::prepare_router(false, &FIXED)?;
    session.order("stop");
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "no guard runs", is_free);
    assert_eq!(session.order("guard"), "guarding");
    session.await_acks(10 * ENOUGH, "the window is free", is_free);
    Ok(())
}

fn a_second_guard_of_an_interface_is_refused() -> Result<(), String> {
    let mut session = Session::prepare_router(false, &FIXED)?;
    let answer = session.order("second");
    let start = "Some(2) airwnd-guard: interface lan: guarded by another process already: airwnd-guard ";
    assert!(answer.starts_with(start), "{answer}");
    Ok(())
}

/// A connection is free for some round trips at its beginning.
fn rerouted(how: &str) -> Result<(), String> {
    let mut session = Session::prepare("route", false, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(how), "done");
    session.await_acks(1, "the window is free", is_free);
    session.await_acks(ENOUGH, "the window is limited again", is_limited);
    Ok(())
}

/// The machine stands still, or another process takes all of its time.
fn paused(mut session: Session) -> Result<(), String> {
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(roles::PAUSE), "done");
    session.await_acks(ENOUGH, "the window is released", is_free);
    assert_eq!(session.order(roles::RESUME), "done");
    session.await_acks(ENOUGH, "the window is limited again", is_limited);
    Ok(())
}

fn a_running_guard_has_no_capabilities() -> Result<(), String> {
    let mut session = Session::prepare("privileges", false, &FIXED)?;
    let none = "0000000000000000";
    assert_eq!(session.order(roles::PRIVILEGES), format!("{none} {none} {none} {none} 1"));
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    session.order("stop");
    session.await_acks(ENOUGH, "the window is released", is_free);
    Ok(())
}

/// A rules file, removed at the end.
struct RulesFile(PathBuf);

impl RulesFile {
    fn create(name: &str) -> RulesFile {
        let file = RulesFile(std::env::temp_dir().join(format!("airwnd-{name}-{}.toml", std::process::id())));
        file.set(LIMITED);
        file
    }

    /// Sets what connections from the sender get. The minimum RTT of a path is measured again after a second.
    fn set(&self, rwnd: &str) {
        let rules = format!("[paths]\nconfirm = \"1s\"\n[[rule]]\nport = 5001\nrwnd = {rwnd}\n");
        std::fs::write(&self.0, rules).expect("a file");
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("plain text")
    }
}

impl Drop for RulesFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("a file");
    }
}

const LIMITED: &str = "{ kind = \"fixed\", limit = \"20000B\" }";

fn changed_rules_apply_at_once() -> Result<(), String> {
    let rules = RulesFile::create("rules");
    let mut session = Session::prepare("rules", false, &[rules.path()])?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    rules.set("\"none\"");
    session.await_acks(ENOUGH, "the window is released", is_free);
    Ok(())
}

type Prepare = fn(&[&str]) -> Result<Session, String>;

/// While the minimum RTT of a path is measured again, windows are four segments.
fn learned(prepare: Prepare) -> Result<(), String> {
    let rules = RulesFile::create("longer");
    let mut session = prepare(&[rules.path()])?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    learn_longer_path(&mut session);
    Ok(())
}

/// Makes the path three times as long, without a change of routes and while its minimum RTT is not measured.
fn learn_longer_path(session: &mut Session) {
    let is_drained = |ack: &Ack| ack.window <= (4 * ack.mss).next_multiple_of(ack.unit);
    session.await_acks(ENOUGH, "no measurement is under way", |ack| is_limited(ack) && !is_drained(ack));
    session.wire.lengthen(3);
    session.await_acks(1, "the queue drains", is_drained);
    let is_learned =
        |rtts: String| rtts.split(' ').any(|rtt| rtt.parse::<f64>().is_ok_and(|rtt| rtt >= 24.0));
    let has_learned = (0..PATIENCE).any(|_| {
        session.await_acks(1, "the connection goes on", |_| true);
        is_learned(session.order(roles::MIN_RTT))
    });
    assert!(has_learned, "the longer path is not learned: {}", session.order(roles::STATE));
    session.await_acks(ENOUGH, "the window is limited", is_limited);
}

/// `adopts`: whether a guard takes over connections that exist.
fn eventful(adopts: bool, prepare: Prepare) -> Result<(), String> {
    let rules = RulesFile::create("eventful");
    let mut session = prepare(&[rules.path()])?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(roles::CHURN), "churned");
    rules.set("\"none\"");
    session.await_acks(ENOUGH, "the window is released", is_free);
    rules.set(LIMITED);
    session.await_acks(ENOUGH, "the window is limited after a change of rules", is_limited);
    session.order("kill");
    session.await_acks(ENOUGH, "the window is released after SIGKILL", is_free);
    assert_eq!(session.order("guard"), "guarding");
    if !adopts {
        session.leave_present_ones();
        assert_eq!(session.order("connect"), "connected");
    }
    session.await_acks(ENOUGH, "the window is limited by the next guard", is_limited);
    learn_longer_path(&mut session);
    Ok(())
}

fn receivers_behind_a_router_are_told_apart() -> Result<(), String> {
    let mut session = Session::prepare_router(false, &FIXED)?;
    assert_eq!(session.order(roles::TRANSLATE), "done");
    assert_eq!(session.order("connect"), "connected");
    assert_eq!(session.order(roles::SECOND), "connected");
    let mut ports = HashSet::new();
    session.await_acks(ENOUGH, "both windows are limited", |ack| {
        ports.insert(ack.port);
        is_limited(ack) && ports.len() == 2
    });
    let receivers = session.order(roles::RECEIVERS);
    let hosts: Vec<&str> = receivers.split(' ').filter_map(|address| address.split(':').next()).collect();
    assert_eq!(hosts, ["\"192.168.7.2", "\"192.168.7.3"]);
    Ok(())
}

fn closed_connections_are_forgotten() -> Result<(), String> {
    let mut session = Session::prepare("churn", false, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(roles::CHURN), "churned");
    // The last reports may still be in the ring buffer.
    while !session.order("status").starts_with("receiver: 1 flow, ") {}
    session.await_acks(ENOUGH, "the window is still limited", is_limited);
    Ok(())
}
