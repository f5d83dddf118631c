//! What this program does besides the tests: helper, and commands inside a namespace.

use std::io::{BufRead, BufReader, Read, Write, stdin};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub const PROGRAM: &str = "/proc/self/exe";
const HELPER: &str = "role-helper";
/// Accepts connections, and sends on each without end.
pub const SENDER: &str = "role-sender";
/// Starts the guard with the arguments, connects and reads without end. Obeys lines on standard input.
pub const RECEIVER: &str = "role-receiver";
/// The same with a router that has the guard, and a receiver behind it.
pub const ROUTER: &str = "role-router";
/// Connects and reads without end.
const CLIENT: &str = "role-client";

pub fn helper() -> [String; 2] {
    [PROGRAM.to_string(), HELPER.to_string()]
}

/// Returns whether `role` is one.
pub fn play(role: &str, arguments: &[&str]) -> bool {
    match (role, arguments) {
        (HELPER, [socket]) => airwnd_netns::child(socket.parse().expect("a number")),
        (SENDER, [port]) => sender(port.parse().expect("a port")),
        (RECEIVER, [cgroup, peer, guard @ ..]) => {
            std::fs::write(format!("{cgroup}/cgroup.procs"), "0").expect("a cgroup");
            let peer = peer.parse().expect("an address");
            obey(guard, |order| if order == CHURN { churn(peer) } else { connect(peer) });
        }
        (ROUTER, [peer, guard @ ..]) => router(peer, guard),
        (CLIENT, [peer]) => {
            connect(peer.parse().expect("an address"));
            std::thread::park();
        }
        _ => return false,
    }
    true
}

fn say(text: &str) {
    println!("{text}");
    std::io::stdout().flush().expect("a reader");
}

fn sender(port: u16) {
    let listener = TcpListener::bind(("::", port)).expect("a free port");
    say("listening");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        std::thread::spawn(move || while stream.write_all(&[0; 65536]).is_ok() {});
    }
}

/// Opens a connection, reads some bytes and closes it, often.
pub const CHURN: &str = "churn";
const CHURNED: usize = 300;

/// Carries out orders from standard input; `use_network` those that are not about the guard.
fn obey(arguments: &[&str], mut use_network: impl FnMut(&str)) {
    let mut guard = None;
    for line in stdin().lines() {
        match line.expect("text").as_str() {
            "guard" => guard = Some(start(arguments)),
            "let windows shrink" => {
                std::fs::write("/proc/sys/net/ipv4/tcp_shrink_window", "1")
                    .expect("a sysctl since Linux 6.5");
                say("done");
            }
            REROUTE => {
                reroute();
                say("done");
            }
            "status" => say(&status(guard.as_ref().expect("a guard"))),
            order @ ("connect" | CHURN) => use_network(order),
            "kill" => end(guard.take().expect("a guard"), Signal::SIGKILL),
            "stop" => end(guard.take().expect("a guard"), Signal::SIGTERM),
            "second" => say(&refusal(arguments)),
            other => panic!("unknown order {other}"),
        }
    }
}

/// Adds a route over the interface of this namespace.
pub const REROUTE: &str = "add a route";

fn reroute() {
    let script =
        "ip route add 203.0.113.0/24 dev $(ip route get 100.64.0.1 | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')";
    assert!(Command::new("sh").args(["-c", script]).status().expect("a shell").success(), "ip of iproute2");
}

/// Makes a network with one receiver behind this namespace.
fn router(peer: &str, arguments: &[&str]) {
    // Holds the namespace of the receiver.
    let mut inside = Command::new("unshare")
        .args(["-n", "sh", "-c", "echo $$; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare of util-linux");
    let mut pid = String::new();
    BufReader::new(inside.stdout.as_mut().expect("a pipe")).read_line(&mut pid).expect("text");
    let pid = pid.trim();
    let enter = format!("nsenter -t {pid} -n");
    let script = format!(
        "set -e
         ip link add lan type veth peer name eth0 netns {pid}
         ip address add 192.168.7.1/24 dev lan
         ip -6 address add fd00:7::1/64 dev lan nodad
         ip link set lan up
         {enter} ip address add 192.168.7.2/24 dev eth0
         {enter} ip -6 address add fd00:7::2/64 dev eth0 nodad
         {enter} ip link set eth0 up
         {enter} ip route add default via 192.168.7.1
         {enter} ip -6 route add default via fd00:7::1
         echo 1 > /proc/sys/net/ipv4/ip_forward
         echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"
    );
    assert!(Command::new("sh").args(["-c", &script]).status().expect("a shell").success(), "ip of iproute2");
    // Under nsenter the name of this program's own file would mean nsenter's.
    let program = std::env::current_exe().expect("its path");
    let mut clients = Vec::new();
    obey(arguments, |_| {
        let mut client = Command::new("nsenter");
        client.args(["-t", pid, "-n"]).arg(&program).args([CLIENT, peer]);
        clients.push(client.spawn().expect("nsenter of util-linux"));
    });
    for mut process in clients.into_iter().chain([inside]) {
        process.kill().expect("a child");
        process.wait().expect("a child");
    }
}

fn guard_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airwnd-guard"));
    command.args(arguments).stderr(Stdio::piped());
    command
}

fn start(arguments: &[&str]) -> Child {
    let mut child = guard_command(arguments).spawn().expect("the program of this crate");
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().expect("a pipe")).read_line(&mut line).expect("text");
    say(line.trim_end());
    child
}

fn refusal(arguments: &[&str]) -> String {
    let output = guard_command(arguments).output().expect("the program of this crate");
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr).trim_end())
}

/// The line of `guard status` about this guard.
fn status(guard: &Child) -> String {
    let output = guard_command(&["status"]).output().expect("the program of this crate");
    let text = String::from_utf8(output.stdout).expect("text");
    let start = format!("guard {}, ", guard.id());
    text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default().to_string()
}

fn churn(peer: SocketAddr) {
    for _ in 0..CHURNED {
        let mut stream = TcpStream::connect(peer).expect("a listener");
        stream.read_exact(&mut [0; 20_000]).expect("a sender");
    }
    say("churned");
}

fn connect(peer: SocketAddr) {
    let mut stream = TcpStream::connect(peer).expect("a listener");
    say("connected");
    std::thread::spawn(move || while stream.read(&mut [0; 65536]).is_ok_and(|length| length > 0) {});
}

fn end(mut guard: Child, signal: Signal) {
    kill(Pid::from_raw(guard.id().cast_signed()), signal).expect("a process");
    let status = guard.wait().expect("a child");
    say(&status.to_string());
}
