//! The tests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio as Stream};

use airwnd_netns::{DeviceSetup, Error, Exit, Host, Outer, Side, TcpState, sweep};
use nix::pty::openpty;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket};
use nix::unistd::{geteuid, setsid};

use crate::host::{State, is_root, processes};
use crate::link::{SERVER_V4, Wire, packets, prepare, run, run_with_server, server, ue};
use crate::roles::{
    CALLER, DRAIN, FILTERED, FLOOD, FOREGROUND, INTERNET, NESTED, PROGRAM, SINK, SOURCE, SWEEP, family,
};

type Test = fn() -> Result<(), Error>;

pub const ALL: &[(&str, Test)] = &[
    ("exit_status_is_forwarded", exit_status_is_forwarded),
    ("a_command_that_does_not_exist", a_command_that_does_not_exist),
    ("signals_reach_the_command", signals_reach_the_command),
    ("the_command_keeps_its_identity", the_command_keeps_its_identity),
    ("environment_and_sysctls", environment_and_sysctls),
    ("names_resolve", names_resolve),
    ("ping", ping),
    ("device_and_routes", device_and_routes),
    ("a_full_queue_is_counted", a_full_queue_is_counted),
    ("connections_are_listed", connections_are_listed),
    ("ports_of_servers_are_listed", ports_of_servers_are_listed),
    ("all_generations_die", all_generations_die),
    ("nothing_survives_a_killed_caller", nothing_survives_a_killed_caller),
    ("nothing_survives_a_killed_helper", nothing_survives_a_killed_helper),
    ("ctrl_c_reaches_a_foreground_command", ctrl_c_reaches_a_foreground_command),
    ("a_link_in_a_link", a_link_in_a_link),
    ("a_device_on_the_host", a_device_on_the_host),
    ("through_the_host", through_the_host),
    ("network_namespaces_that_share_run", network_namespaces_that_share_run),
    ("a_name_that_another_process_has_taken", a_name_that_another_process_has_taken),
    ("a_filter_of_system_calls", a_filter_of_system_calls),
    ("the_host_is_unchanged", the_host_is_unchanged),
];

fn exit_status_is_forwarded() -> Result<(), Error> {
    for (script, exit, code) in [
        ("exit 0", Exit::Code(0), 0),
        ("exit 7", Exit::Code(7), 7),
        ("kill -9 $$", Exit::Signal(9), 137),
        // A process that the command leaves behind does not delay its end.
        ("sleep 1000000 > /dev/null & exit 3", Exit::Code(3), 3),
    ] {
        let (ended, _) = run(&ue(&["sh", "-c", script]))?;
        assert_eq!((ended, ended.code()), (exit, code), "{script}");
    }
    Ok(())
}

fn a_command_that_does_not_exist() -> Result<(), Error> {
    let mut side = prepare(&ue(&["no-such-command"]))?;
    assert_eq!(side.start().unwrap_err().to_string(), "no-such-command: command not found");
    assert_eq!(side.try_wait(), None);
    let mut side = prepare(&ue(&["/etc/hosts"]))?;
    assert_eq!(side.start().unwrap_err().to_string(), "/etc/hosts: not executable");
    let mut side = prepare(&ue(&[]))?;
    assert_eq!(side.start().unwrap_err().to_string(), "ue-0 has no command to start");
    Ok(())
}

fn signals_reach_the_command() -> Result<(), Error> {
    for signal in [2, 15] {
        let mut side = prepare(&ue(&["sh", "-c", "echo ready; exec sleep 1000000"]))?;
        side.start()?;
        wait_for_output(&mut side);
        assert_eq!(side.try_wait(), None);
        side.signal(signal);
        assert_eq!(side.wait(), Exit::Signal(signal));
    }
    Ok(())
}

fn the_command_keeps_its_identity() -> Result<(), Error> {
    let (_, text) = run(&ue(&["sh", "-c", "id -u; grep CapEff /proc/self/status; echo $PPID"]))?;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], geteuid().to_string());
    if !geteuid().is_root() {
        assert_eq!(lines[1], "CapEff:\t0000000000000000");
    }
    assert_eq!(lines[2], "1", "the parent is process 1 of the side");
    Ok(())
}

fn environment_and_sysctls() -> Result<(), Error> {
    let mut setup = ue(&["sh", "-c", "echo $SIDE; cat /proc/sys/net/ipv4/tcp_ecn; [ -n \"$PATH\" ]"]);
    setup.env = vec![("SIDE".to_string(), "ue".to_string())];
    setup.sysctls = vec![("net/ipv4/tcp_ecn".to_string(), "1".to_string())];
    assert_eq!(run(&setup)?, (Exit::Code(0), "ue\n1\n".to_string()));
    setup.sysctls = vec![("net/no_such_sysctl".to_string(), "1".to_string())];
    let error = prepare(&setup).unwrap_err().to_string();
    assert!(error.starts_with("cannot set sysctl net.no_such_sysctl to 1: "), "{error}");
    Ok(())
}

fn names_resolve() -> Result<(), Error> {
    let (exit, text) = run(&ue(&["getent", "ahosts", "server"]))?;
    assert_eq!(exit, Exit::Code(0));
    assert!(text.contains("100.64.0.1 ") && text.contains("fd00:64::1 "), "{text}");
    // No query leaves: what asks a name server is refused by the side itself.
    let mut side = prepare(&ue(&["getent", "hosts", "example.org"]))?;
    side.start()?;
    assert_ne!(side.wait(), Exit::Code(0));
    assert_eq!(packets(side.device.tun.as_fd()), Vec::<Vec<u8>>::new());
    let own = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert_eq!(run(&ue(&["getent", "hosts", own.trim()]))?.0, Exit::Code(0));
    Ok(())
}

fn ping() -> Result<(), Error> {
    for target in ["100.64.0.1", "fd00:64::1", "server"] {
        // 3000 bytes are three fragments.
        for size in ["56", "3000"] {
            let (exit, text) = run_with_server(&ue(&["ping", "-c", "2", "-i", "0.2", "-s", size, target]))?;
            assert_eq!(exit, Exit::Code(0), "{text}");
            assert!(text.contains("2 received"), "{text}");
        }
    }
    Ok(())
}

fn device_and_routes() -> Result<(), Error> {
    let mut setup = ue(&["sh", "-c", "ip link show link; ip route; ip -6 route"]);
    setup.device.mtu = 1400;
    setup.device.queue_packets = 77;
    setup.device.behind = vec![
        (Ipv4Addr::new(100, 64, 5, 0).into(), 24),
        (Ipv6Addr::new(0xfd00, 0x64, 5, 0, 0, 0, 0, 0).into(), 64),
    ];
    let (_, text) = run(&setup)?;
    for part in [
        "mtu 1400",
        "qlen 77",
        "default dev link",
        "100.64.0.0/24 dev link",
        "fd00:64::/64 dev link",
        "100.64.5.0/24 dev link",
        "fd00:64:5::/64 dev link",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Ok(())
}

fn a_full_queue_is_counted() -> Result<(), Error> {
    let mut setup = ue(&[PROGRAM, FLOOD, "100.64.0.1:9", "50"]);
    setup.device.queue_packets = 20;
    let mut side = prepare(&setup)?;
    side.start()?;
    assert_eq!(side.wait(), Exit::Code(0));
    let read = packets(side.device.tun.as_fd());
    assert_eq!(read.len(), 20);
    assert!(read.iter().all(|packet| packet.len() == 20 + 8 + 100 && packet[0] == 0x45));
    let stats = side.device.stats().expect("counters");
    assert_eq!((stats.tx_packets, stats.tx_dropped, stats.rx_packets), (20, 30, 0));
    Ok(())
}

fn connections_are_listed() -> Result<(), Error> {
    const BYTES: u64 = 100_000;
    let mut server = prepare(&server(&[PROGRAM, SINK, "7777"]))?;
    let mut phone = prepare(&ue(&[PROGRAM, SOURCE, "100.64.0.1:7777", &BYTES.to_string()]))?;
    let _wire = Wire::join(&server.device, &phone.device);
    server.start()?;
    wait_for_output(&mut server);
    phone.start()?;
    wait_for_output(&mut phone);
    let sender = loop {
        let sockets = phone.device.diag.tcp().expect("sockets");
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        if sockets[0].info.bytes_acked >= Some(BYTES) {
            break sockets[0].clone();
        }
    };
    assert_eq!(sender.remote, (SERVER_V4, 7777).into());
    assert_eq!(sender.state, TcpState::Established);
    assert!(sender.congestion_control.is_some());
    let info = sender.info;
    assert_eq!(info.snd_mss, Some(1448), "1500 less 40 of headers and 12 of timestamps");
    assert!(
        info.snd_cwnd >= Some(2) && info.srtt_us > Some(0) && info.min_rtt_us <= info.srtt_us,
        "{info:?}"
    );
    // The server's socket is one of IPv6; its connection is one of IPv4.
    let [receiver] = &server.device.diag.tcp().expect("sockets")[..] else { panic!("one connection") };
    assert_eq!((receiver.local, receiver.remote), (sender.remote, sender.local));
    assert_eq!(receiver.info.bytes_received, Some(BYTES));
    Ok(())
}

fn ports_of_servers_are_listed() -> Result<(), Error> {
    for (role, tcp, udp) in [(SINK, vec![7777], vec![]), (DRAIN, vec![], vec![7777])] {
        let mut side = prepare(&server(&[PROGRAM, role, "7777"]))?;
        let diag = &mut side.device.diag;
        assert_eq!(diag.listening_ports().expect("ports"), Vec::<u16>::new());
        assert_eq!(diag.udp_ports().expect("ports"), Vec::<u16>::new());
        side.start()?;
        wait_for_output(&mut side);
        let diag = &mut side.device.diag;
        assert_eq!((diag.listening_ports().expect("ports"), diag.udp_ports().expect("ports")), (tcp, udp));
    }
    Ok(())
}

fn all_generations_die() -> Result<(), Error> {
    let marker = marker(1);
    let mut side = prepare(&ue(&["sh", "-c", &family(&marker)]))?;
    side.start()?;
    wait_for_output(&mut side);
    while processes(&marker) < 4 {}
    let init = side.pid();
    side.kill();
    assert_eq!(processes(&marker), 0, "when `kill` returns nothing is alive");
    assert!(!fs::exists(format!("/proc/{init}")).expect("/proc"));
    Ok(())
}

fn nothing_survives_a_killed_caller() -> Result<(), Error> {
    possible()?;
    let marker = marker(2);
    let mut caller =
        Command::new(PROGRAM).args([CALLER, &marker]).stdout(Stream::piped()).spawn().expect("this program");
    let mut line = String::new();
    BufReader::new(caller.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    while processes(&marker) < 8 {}
    caller.kill().expect("a process");
    caller.wait().expect("a process");
    while processes(&marker) > 0 {}
    Ok(())
}

fn nothing_survives_a_killed_helper() -> Result<(), Error> {
    let marker = marker(3);
    let mut side = prepare(&ue(&["sh", "-c", &family(&marker)]))?;
    side.start()?;
    wait_for_output(&mut side);
    while processes(&marker) < 4 {}
    let status = fs::read_to_string(format!("/proc/{}/status", side.pid())).expect("a process");
    let helper = status.lines().find_map(|line| line.strip_prefix("PPid:\t")).expect("a parent");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(helper.parse().expect("a number")),
        nix::sys::signal::Signal::SIGKILL,
    )
    .expect("a process");
    assert_eq!(side.wait(), Exit::Signal(9));
    while processes(&marker) > 0 {}
    Ok(())
}

fn ctrl_c_reaches_a_foreground_command() -> Result<(), Error> {
    possible()?;
    let terminal = openpty(None, None).expect("a terminal");
    let mut command = Command::new(PROGRAM);
    let stream = || Stream::from(terminal.slave.try_clone().expect("a copy"));
    command.arg(FOREGROUND).stdin(stream()).stdout(stream()).stderr(stream());
    control_terminal(&mut command);
    let mut caller = command.spawn().expect("this program");
    drop(command);
    let mut master = fs::File::from(terminal.master);
    let mut output = BufReader::new(master.try_clone().expect("a copy"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), "ready");
    // Stops the command, which is continued since no other process could.
    master.write_all(b"\x1a").expect("a terminal");
    master.write_all(b"\x03").expect("a terminal");
    line.clear();
    output.read_line(&mut line).expect("a line");
    assert!(line.contains("Signal(2), caller in the foreground: true"), "{line}");
    assert!(caller.wait().expect("a process").success());
    Ok(())
}

fn a_link_in_a_link() -> Result<(), Error> {
    assert!(Outer::find().is_none(), "the test runs outside");
    let mut setup = ue(&[PROGRAM, NESTED]);
    setup.depth = 3;
    let (exit, text) = run_with_server(&setup)?;
    assert_eq!(exit, Exit::Code(0), "{text}");
    for line in [
        "depth 3",
        "device link0",
        "100.64.1.1: Code(0)",
        "server: Code(0)",
        "fd00:64::1: Code(0)",
        "link0 is gone",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    Ok(())
}

fn a_device_on_the_host() -> Result<(), Error> {
    let setup = server(&[]).device;
    if !is_root() {
        let error = Host::open(&setup, false).unwrap_err().to_string();
        assert_eq!(error, "a device on this host needs root; run the command with: sudo");
        return Ok(());
    }
    let before = State::read();
    let host = Host::open(&setup, false)?;
    assert_eq!(host.device.name, "airwnd0");
    let mut side = prepare(&ue(&["ping", "-c", "1", "server"]))?;
    let wire = Wire::join(&host.device, &side.device);
    side.start()?;
    assert_eq!(side.wait(), Exit::Code(0));
    drop((wire, host));
    assert_unchanged(&before);
    Ok(())
}

/// The "Internet" is a side, to which the host has a default route.
fn through_the_host() -> Result<(), Error> {
    const NEAR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
    if !is_root() {
        return Ok(());
    }
    let mut internet = server(&[PROGRAM, SINK, "80"]);
    internet.device = DeviceSetup::new(Ipv4Addr::new(198, 51, 100, 1), None);
    let mut internet = prepare(&internet)?;
    internet.start()?;
    wait_for_output(&mut internet);
    let uplink = Host::open(&DeviceSetup::new(NEAR, None), false)?;
    let _uplink_wire = Wire::join(&uplink.device, &internet.device);
    let route = ["route", "add", "default", "dev", &uplink.device.name];
    assert!(Command::new("ip").args(route).status().expect("ip").success());
    let before = State::read();

    let other = Host::open(&DeviceSetup::new(Ipv4Addr::new(100, 64, 9, 1), None), true)?;
    let host = Host::open(&server(&[]).device, true)?;
    drop(other);
    assert!(
        !State::read().changes(&before).is_empty(),
        "the interface forwards as long as one device needs it"
    );
    let mut side = prepare(&ue(&[PROGRAM, SOURCE, "198.51.100.1:80", "1000"]))?;
    let wire = Wire::join(&host.device, &side.device);
    side.start()?;
    wait_for_output(&mut side);
    let connections = internet.device.diag.tcp().expect("sockets");
    assert_eq!(connections[0].remote.ip(), NEAR, "the host's address is the source");
    drop((wire, host, side));
    assert_unchanged(&before);

    // A killed process leaves its changes; the next start undoes them.
    let mut killed =
        Command::new(PROGRAM).arg(INTERNET).stdout(Stream::piped()).spawn().expect("this program");
    read_byte(&mut killed);
    killed.kill().expect("a process");
    killed.wait().expect("a process");
    assert!(!State::read().changes(&before).is_empty());
    sweep()?;
    assert_unchanged(&before);
    Ok(())
}

/// Each has a device `airwnd0`; containers may share `/run`.
fn network_namespaces_that_share_run() -> Result<(), Error> {
    if !is_root() {
        return Ok(());
    }
    let before = State::read();
    let host = Host::open(&server(&[]).device, true)?;
    let mut other = elsewhere(INTERNET);
    read_byte(&mut other);
    drop(host);
    assert_unchanged(&before);
    other.kill().expect("a process");
    other.wait().expect("a process");

    // Changes that a killed process has left are undone in its namespace only, and not forgotten elsewhere.
    let mut killed =
        Command::new(PROGRAM).arg(INTERNET).stdout(Stream::piped()).spawn().expect("this program");
    read_byte(&mut killed);
    killed.kill().expect("a process");
    killed.wait().expect("a process");
    assert!(elsewhere(SWEEP).wait().expect("a process").success());
    assert!(!State::read().changes(&before).is_empty());
    sweep()?;
    assert_unchanged(&before);
    Ok(())
}

/// Plays a role in a network namespace of its own.
#[expect(unsafe_code, reason = "pre_exec")]
fn elsewhere(role: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.arg(role).stdout(Stream::piped());
    // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(|| Ok(unshare(CloneFlags::CLONE_NEWNET)?)) };
    command.spawn().expect("this program")
}

fn read_byte(process: &mut Child) {
    process.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("output");
}

/// Any user may take the name outside of sides. Its queue of connections is full, and no connection is accepted.
fn a_name_that_another_process_has_taken() -> Result<(), Error> {
    let open =
        || socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_NONBLOCK, None).expect("a socket");
    let address = UnixAddr::new_abstract(b"airwnd-link").expect("a short name");
    let squatter = open();
    bind(squatter.as_raw_fd(), &address).expect("a free name");
    listen(&squatter, Backlog::new(0).expect("a length")).expect("a socket");
    let clients: Vec<_> = std::iter::repeat_with(open)
        .take_while(|client| connect(client.as_raw_fd(), &address).is_ok())
        .collect();
    assert!(!clients.is_empty());
    assert!(Outer::find().is_none());
    Ok(())
}

/// A container's filter that is older than the call.
fn a_filter_of_system_calls() -> Result<(), Error> {
    let output = Command::new(PROGRAM).arg(FILTERED).output().expect("this program");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "cannot watch the calling process: pidfd_open: Operation not permitted; Linux before 5.3 lacks the call, and a \
         seccomp filter may refuse it; in a container, start that with: --security-opt seccomp=unconfined\n"
    );
    Ok(())
}

fn the_host_is_unchanged() -> Result<(), Error> {
    let before = State::read();
    let mut setup = ue(&["true"]);
    setup.sysctls = vec![("net/ipv4/tcp_ecn".to_string(), "1".to_string())];
    let mut side = prepare(&setup)?;
    side.start()?;
    side.wait();
    assert_unchanged(&before);
    drop(side);
    assert_unchanged(&before);
    Ok(())
}

fn assert_unchanged(before: &State) {
    assert_eq!(State::read().changes(before), Vec::<String>::new());
}

/// Whether this machine allows sides, for a test whose sides another process makes.
fn possible() -> Result<(), Error> {
    prepare(&ue(&[])).map(drop)
}

/// An argument of `sleep` that no other process has.
fn marker(number: u32) -> String {
    format!("{}{number:03}", 1_000_000 + std::process::id())
}

fn wait_for_output(side: &mut Side) {
    let stdout = side.process.stdout.as_mut().expect("a pipe");
    stdout.read_exact(&mut [0]).expect("output");
}

/// Makes standard input the controlling terminal of a new session.
#[expect(unsafe_code, reason = "pre_exec and ioctl")]
fn control_terminal(command: &mut Command) {
    nix::ioctl_none_bad!(take, libc::TIOCSCTTY);
    let take_terminal = || {
        setsid()?;
        // SAFETY: the request has no argument that the kernel reads as a pointer.
        unsafe { take(0) }?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only.
    unsafe { command.pre_exec(take_terminal) };
}
