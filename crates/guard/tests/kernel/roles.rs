//! Roles of this program besides the tests: helper, and commands inside a namespace.

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
/// Starts the guard on a router, with a receiver behind it.
pub const ROUTER: &str = "role-router";
/// Connects and reads without end, or often.
pub const CLIENT: &str = "role-client";

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
            obey(guard, |order| use_network(order, peer));
        }
        (ROUTER, [peer, guard @ ..]) => router(peer, guard),
        (CLIENT, [peer, order]) => {
            use_network(order, peer.parse().expect("an address"));
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
/// Connects from the second host behind the router.
pub const SECOND: &str = "connect the second";

fn use_network(order: &str, peer: SocketAddr) {
    if order == CHURN { churn(peer) } else { connect(peer) }
}

/// Carries out orders from standard input; `use_network` those that are not about the guard.
fn obey(arguments: &[&str], mut use_network: impl FnMut(&str)) {
    // The sockets of other guards of this machine are elsewhere.
    shell("mount -t tmpfs none /run");
    let mut guard = None;
    for line in stdin().lines() {
        match line.expect("text").as_str() {
            "guard" => guard = Some(start(arguments)),
            "let windows shrink" => {
                std::fs::write("/proc/sys/net/ipv4/tcp_shrink_window", "1")
                    .expect("a sysctl since Linux 6.5");
                say("done");
            }
            order @ (REROUTE | REROUTE_TWICE | INTERRUPT | TRANSLATE) => {
                change_network(order);
                say("done");
            }
            "status" => say(&status(guard.as_ref().expect("a guard"))),
            STATE => say(&state().to_string()),
            RECEIVERS => say(&flows("receiver")),
            MIN_RTT => say(&flows("rtt_ms_min")),
            PRIVILEGES => say(&privileges(guard.as_ref().expect("a guard"))),
            PAUSE => pause(guard.as_ref().expect("a guard"), Signal::SIGSTOP),
            RESUME => pause(guard.as_ref().expect("a guard"), Signal::SIGCONT),
            order @ ("connect" | CHURN | SECOND) => use_network(order),
            "kill" => end(guard.take().expect("a guard"), Signal::SIGKILL),
            "stop" => end(guard.take().expect("a guard"), Signal::SIGTERM),
            "second" => say(&refusal(arguments)),
            other => panic!("unknown order {other}"),
        }
    }
}

/// Adds a route over the interface of this namespace, with one next hop or two.
pub const REROUTE: &str = "add a route";
pub const REROUTE_TWICE: &str = "add a route with two next hops";
/// Sets the interface down, up, and its default route again.
pub const INTERRUPT: &str = "interrupt";
/// Hides the hosts behind the router.
pub const TRANSLATE: &str = "translate addresses";

fn change_network(order: &str) {
    let change = match order {
        REROUTE => "ip route add 203.0.113.0/24 dev $link",
        REROUTE_TWICE => "ip route add 203.0.113.0/24 nexthop dev lo nexthop dev $link",
        INTERRUPT => "ip link set dev $link down; ip link set dev $link up; ip route add default dev $link",
        _ => {
            "nft add table ip nat
             nft 'add chain ip nat after { type nat hook postrouting priority 100; }'
             nft add rule ip nat after oifname $link masquerade"
        }
    };
    let find = "link=$(ip route get 100.64.0.1 | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')";
    shell(&format!("{find}; {change}"));
}

fn shell(script: &str) {
    let status = Command::new("sh").args(["-ec", script]).status();
    assert!(status.expect("a shell").success(), "ip of iproute2, nft of nftables, mount");
}

/// Makes a network with two receivers behind this namespace.
fn router(peer: &str, arguments: &[&str]) {
    let mut inside = Vec::new();
    shell(
        "ip link add lan type bridge
         ip address add 192.168.7.1/24 dev lan
         ip -6 address add fd00:7::1/64 dev lan nodad
         ip link set lan up
         echo 1 > /proc/sys/net/ipv4/ip_forward
         echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
    );
    let receivers = [2, 3].map(|host| {
        // Holds the namespace of the receiver.
        let mut holder = Command::new("unshare")
            .args(["-n", "sh", "-c", "echo $$; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare of util-linux");
        let mut pid = String::new();
        BufReader::new(holder.stdout.as_mut().expect("a pipe")).read_line(&mut pid).expect("text");
        inside.push(holder);
        let pid = pid.trim().to_string();
        let enter = format!("nsenter -t {pid} -n");
        shell(&format!(
            "ip link add port{host} type veth peer name eth0 netns {pid}
             ip link set port{host} master lan up
             {enter} ip address add 192.168.7.{host}/24 dev eth0
             {enter} ip -6 address add fd00:7::{host}/64 dev eth0 nodad
             {enter} ip link set eth0 up
             {enter} ip route add default via 192.168.7.1
             {enter} ip -6 route add default via fd00:7::1"
        ));
        pid
    });
    // Under nsenter the name of this program's own file would mean nsenter's.
    let program = std::env::current_exe().expect("its path");
    let mut clients = Vec::new();
    obey(arguments, |order| {
        let pid = &receivers[usize::from(order == SECOND)];
        let mut client = Command::new("nsenter");
        client.args(["-t", pid, "-n"]).arg(&program).args([CLIENT, peer, order]);
        clients.push(client.spawn().expect("nsenter of util-linux"));
    });
    for mut process in clients.into_iter().chain(inside) {
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

/// The addresses of the receivers of all flows.
pub const RECEIVERS: &str = "receivers";
/// The minimum RTTs of all flows, in ms.
pub const MIN_RTT: &str = "least RTTs";

/// All that this guard says of itself.
pub const STATE: &str = "state";

fn state() -> serde_json::Value {
    let output = guard_command(&["status", "--json"]).output().expect("the program of this crate");
    serde_json::from_slice(&output.stdout).expect("the state of one guard")
}

/// The values of a key of all flows of this guard, sorted.
fn flows(key: &str) -> String {
    let state = state();
    let flows = state["places"][0]["flows"].as_array().expect("flows");
    let mut values: Vec<String> = flows.iter().map(|flow| flow[key].to_string()).collect();
    values.sort();
    values.join(" ")
}

/// Capabilities of the guard, and whether it can gain others.
pub const PRIVILEGES: &str = "privileges";

fn privileges(guard: &Child) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", guard.id())).expect("a process");
    let keys = ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:", "NoNewPrivs:"];
    let lines = status.lines().filter(|line| keys.iter().any(|key| line.starts_with(key)));
    lines.filter_map(|line| line.split_once('\t')).map(|(_, value)| value).collect::<Vec<_>>().join(" ")
}

/// Stops the guard, as a machine that is suspended or overloaded does, and lets it run again.
pub const PAUSE: &str = "pause";
pub const RESUME: &str = "resume";

fn pause(guard: &Child, signal: Signal) {
    kill(Pid::from_raw(guard.id().cast_signed()), signal).expect("a process");
    say("done");
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
