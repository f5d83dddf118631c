//! What this program does besides the tests: helper, and commands inside a namespace.

use std::io::{BufRead, BufReader, Read, Write, stdin};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub const PROGRAM: &str = "/proc/self/exe";
const HELPER: &str = "helper";
/// Accepts connections, and sends on each without end.
pub const SENDER: &str = "sender";
/// Starts the guard with the arguments, connects and reads without end. Obeys lines on standard input.
pub const RECEIVER: &str = "receiver";

pub fn helper() -> [String; 2] {
    [PROGRAM.to_string(), HELPER.to_string()]
}

/// Returns whether `role` is one.
pub fn play(role: &str, arguments: &[&str]) -> bool {
    match (role, arguments) {
        (HELPER, [socket]) => airwnd_netns::child(socket.parse().expect("a number")),
        (SENDER, [port]) => sender(port.parse().expect("a port")),
        (RECEIVER, [cgroup, peer, guard @ ..]) => receiver(cgroup, peer.parse().expect("an address"), guard),
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

fn receiver(cgroup: &str, peer: SocketAddr, arguments: &[&str]) {
    std::fs::write(format!("{cgroup}/cgroup.procs"), "0").expect("a cgroup");
    let mut guard = None;
    for line in stdin().lines() {
        match line.expect("text").as_str() {
            "guard" => guard = Some(start(arguments)),
            "connect" => connect(peer),
            "kill" => end(guard.take().expect("a guard"), Signal::SIGKILL),
            "stop" => end(guard.take().expect("a guard"), Signal::SIGTERM),
            "second" => say(&refusal(arguments)),
            other => panic!("unknown order {other}"),
        }
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
