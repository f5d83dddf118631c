//! The tests.

use crate::roles;
use crate::session::Session;
use crate::wire::Ack;

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
    ("a_changed_route_begins_connections_anew", a_changed_route_begins_connections_anew),
    ("changed_rules_apply_at_once", changed_rules_apply_at_once),
    ("a_router_limits_windows_until_it_is_killed", || forwarded("kill", false)),
    ("a_router_limits_windows_until_its_exit", || forwarded("stop", false)),
    ("a_router_limits_windows_over_ipv6", || forwarded("kill", true)),
    ("a_router_leaves_connections_alone_whose_handshake_it_has_not_seen", unknown_connections_are_left_alone),
    ("a_second_guard_of_an_interface_is_refused", a_second_guard_of_an_interface_is_refused),
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
    session.taken_back = 1 << 20;
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
    assert!(answer.ends_with(": guarded by another process already"), "{answer}");
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
    assert_eq!(answer, "Some(2) airwnd-guard: interface lan: guarded by another process already");
    Ok(())
}

/// A connection is free for some round trips at its beginning.
fn a_changed_route_begins_connections_anew() -> Result<(), String> {
    let mut session = Session::prepare("route", false, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(roles::REROUTE), "done");
    session.await_acks(1, "the window is free", is_free);
    session.await_acks(ENOUGH, "the window is limited again", is_limited);
    Ok(())
}

fn changed_rules_apply_at_once() -> Result<(), String> {
    let path = std::env::temp_dir().join(format!("airwnd-rules-{}.toml", std::process::id()));
    let rule = |rwnd: &str| {
        std::fs::write(&path, format!("[[rule]]\nport = 5001\nrwnd = {rwnd}\n")).expect("a file")
    };
    rule("{ kind = \"fixed\", limit = \"20000B\" }");
    let result =
        Session::prepare("rules", false, &[path.to_str().expect("plain text")]).map(|mut session| {
            assert_eq!(session.order("connect"), "connected");
            session.await_acks(ENOUGH, "the window is limited", is_limited);
            rule("\"none\"");
            session.await_acks(ENOUGH, "the window is released", is_free);
        });
    std::fs::remove_file(&path).expect("a file");
    result
}

fn closed_connections_are_forgotten() -> Result<(), String> {
    let mut session = Session::prepare("churn", false, &FIXED)?;
    assert_eq!(session.order("connect"), "connected");
    session.await_acks(ENOUGH, "the window is limited", is_limited);
    assert_eq!(session.order(roles::CHURN), "churned");
    // The last reports may still be in the ring buffer.
    while session.order("status") != "receiver: 1 flows" {}
    session.await_acks(ENOUGH, "the window is still limited", is_limited);
    Ok(())
}
