//! Roles of this program besides the tests: helper, caller, and commands inside a side.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};

use airwnd_netns::{DeviceSetup, Host, Outer, Stdio, child, sweep};
use nix::unistd::{getpgrp, tcgetpgrp};

use crate::link::{Wire, prepare, server, ue};

/// This program, for whatever user: paths to it may be closed to others.
pub const PROGRAM: &str = "/proc/self/exe";

const HELPER: &str = "helper";
/// Prepares and starts sides, reports, and waits to be killed.
pub const CALLER: &str = "caller";
/// Runs a foreground command on its terminal.
pub const FOREGROUND: &str = "foreground";
/// Makes a link inside a side, and pings through both.
pub const NESTED: &str = "nested";
/// Opens a way through the host, and waits to be killed.
pub const INTERNET: &str = "internet";
/// Prepares a side where a filter refuses pidfd_open, and reports.
pub const FILTERED: &str = "filtered";
/// Undoes what killed processes have left.
pub const SWEEP: &str = "sweep";
/// Accepts TCP connections and reads them to their ends.
pub const SINK: &str = "sink";
/// Sends bytes over TCP, reports, and keeps the connection.
pub const SOURCE: &str = "source";
/// Receives UDP datagrams, and keeps the port.
pub const DRAIN: &str = "drain";
/// Sends UDP datagrams.
pub const FLOOD: &str = "flood";

pub fn helper() -> [String; 2] {
    [PROGRAM.to_string(), HELPER.to_string()]
}

/// Returns whether `role` is one.
pub fn play(role: &str, arguments: &[&str]) -> bool {
    match (role, arguments) {
        (HELPER, [socket]) => child(socket.parse().expect("a number")),
        (CALLER, [marker]) => caller(marker),
        (FOREGROUND, []) => foreground(),
        (NESTED, []) => nested(),
        (INTERNET, []) => internet(),
        (FILTERED, []) => filtered(),
        (SWEEP, []) => sweep().expect("records that can be read"),
        (SINK, [port]) => sink(port.parse().expect("a port")),
        (SOURCE, [address, bytes]) => source(address, bytes.parse().expect("a size")),
        (DRAIN, [port]) => drain(port.parse().expect("a port")),
        (FLOOD, [address, packets]) => flood(address, packets.parse().expect("a number")),
        _ => return false,
    }
    true
}

fn say(text: &str) {
    println!("{text}");
    std::io::stdout().flush().expect("a reader");
}

/// Processes of three generations, in several sessions, that do not end by themselves.
pub fn family(marker: &str) -> String {
    format!(
        "sleep {marker} & (setsid sh -c 'trap \"\" TERM; sleep {marker} & sleep {marker}; true' &) ; \
         nohup sleep {marker} > /dev/null & echo ready; wait"
    )
}

fn caller(marker: &str) {
    let sides = [ue(&["sh", "-c", &family(marker)]), server(&["sh", "-c", &family(marker)])].map(|setup| {
        let mut side = prepare(&setup).expect("a side");
        side.start().expect("a shell");
        side.process.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("output");
        side
    });
    say("ready");
    std::thread::park();
    drop(sides);
}

fn foreground() {
    let mut setup = ue(&["sh", "-c", "echo ready; exec sleep 1000000"]);
    setup.terminal = true;
    setup.stdin = Stdio::Inherit;
    setup.stdout = Stdio::Inherit;
    let mut side = prepare(&setup).expect("a side");
    side.start().expect("a shell");
    let exit = side.wait();
    let owner = tcgetpgrp(std::io::stdin()).expect("a terminal");
    say(&format!("{exit:?}, caller in the foreground: {}", owner == getpgrp()));
}

fn nested() {
    let outer = Outer::find().expect("a side around this process");
    say(&format!("depth {}", outer.depth()));
    let address = |number: u8| {
        let v6 = Ipv6Addr::new(0xfd00, 0x64, 1, 0, 0, 0, 0, number.into());
        DeviceSetup::new(Ipv4Addr::new(100, 64, 1, number), Some(v6))
    };
    let device = outer.add_device(&address(1)).expect("a device");
    say(&format!("device {}", device.name));
    for target in ["100.64.1.1", "fd00:64:1::1", "server", "fd00:64::1"] {
        let mut setup = ue(&["ping", "-c", "1", target]);
        setup.stdout = Stdio::Null;
        setup.device = address(2);
        let mut side = prepare(&setup).expect("a side");
        let _wire = Wire::join(&device, &side.device);
        side.start().expect("ping");
        say(&format!("{target}: {:?}", side.wait()));
    }
    drop(device);
    if !std::fs::exists("/proc/sys/net/ipv4/conf/link0").expect("/proc") {
        say("link0 is gone");
    }
}

#[expect(unsafe_code, reason = "neither libc nor nix has a function for filters")]
fn filtered() {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let back = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    // The number of the call is the first word.
    let mut steps = [
        step(load, 0, 0),
        step(jump, 1, libc::SYS_pidfd_open as u32),
        step(back, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(back, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which lives until the calls return.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(refused, 0);
    say(&prepare(&ue(&["true"])).expect_err("a call that is refused").to_string());
}

fn internet() {
    let host = Host::open(&server(&[]).device, true).expect("a device");
    say("ready");
    std::thread::park();
    drop(host);
}

fn sink(port: u16) {
    let listener = TcpListener::bind(("::", port)).expect("a free port");
    say("listening");
    for stream in listener.incoming() {
        let _ = std::io::copy(&mut stream.expect("a connection"), &mut std::io::sink());
    }
}

fn source(address: &str, bytes: usize) {
    let mut stream = TcpStream::connect(address).expect("a listener");
    stream.write_all(&vec![0; bytes]).expect("a reader");
    say("sent");
    std::thread::park();
}

fn drain(port: u16) {
    let socket = UdpSocket::bind(("::", port)).expect("a free port");
    say("bound");
    while socket.recv_from(&mut []).is_ok() {}
}

fn flood(address: &str, packets: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    for _ in 0..packets {
        socket.send_to(&[0; 100], address).expect("a route");
    }
}
