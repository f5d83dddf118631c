//! Shapers on an interface of a network namespace: what is changed, and that all of it is undone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::roles;

/// Times that a state is read before a test fails, and the pause between.
pub const ATTEMPTS: u32 = 500;
pub const PAUSE: Duration = Duration::from_millis(20);
const PORT: &str = "5002";

/// Two namespaces joined by a pair of interfaces: `wan` in that of the guard, and the other end of the link.
pub struct Site {
    pub ends: [Holder; 2],
}

/// Holds a namespace.
pub struct Holder {
    child: Child,
    _output: BufReader<ChildStdout>,
    pid: String,
}

impl Holder {
    fn start() -> Holder {
        let mut child = Command::new("unshare")
            // The sockets of other guards of this machine are elsewhere.
            .args(["-n", "-m", "sh", "-c", "mount -t tmpfs none /run && echo $$ && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare of util-linux");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut pid = String::new();
        output.read_line(&mut pid).expect("text");
        Holder { child, _output: output, pid: pid.trim().to_string() }
    }

    pub fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid, "-n", "-m", "--", program]);
        command
    }

    pub fn shell(&self, script: &str) -> String {
        let output = self.enter("sh").args(["-ec", script]).output().expect("nsenter of util-linux");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    /// Returns the reason, one line, if the machine refuses.
    pub fn open() -> Result<Site, String> {
        let check = guard(&mut Command::new(env!("CARGO_BIN_EXE_airwnd-guard")), &["check"]);
        if let Some(line) =
            check.lines().find(|line| line.starts_with("shapers: ") && !line.ends_with(": ok"))
        {
            return Err(line.to_string());
        }
        let site = Site { ends: [Holder::start(), Holder::start()] };
        let other = &site.ends[1].pid;
        site.ends[0].shell(&format!(
            "ip link set lo up
             ip link add wan type veth peer name isp netns {other}
             ip address add 192.0.2.1/24 dev wan
             ip link set wan up"
        ));
        site.ends[1].shell("ip address add 192.0.2.2/24 dev isp; ip link set isp up");
        // The kernel notes the carrier of a link later; states of a test are compared.
        site.await_state("the link is up", |state| !state.contains("NO-CARRIER"));
        Ok(site)
    }

    /// Queue disciplines, filters and interfaces.
    fn state(&self) -> String {
        self.ends[0].shell(
            "tc qdisc show; tc filter show dev wan ingress 2>&1 || true
             tc filter show dev wan egress 2>&1 || true; ip -o -brief link",
        )
    }

    fn await_state(&self, what: &str, condition: impl Fn(&str) -> bool) {
        for _ in 0..ATTEMPTS {
            if condition(&self.state()) {
                return;
            }
            sleep(PAUSE);
        }
        panic!("{what}: {}", self.state());
    }

    /// Runs a command of the guard; returns what it prints.
    fn guard(&self, arguments: &[&str]) -> String {
        guard(&mut self.ends[0].enter(env!("CARGO_BIN_EXE_airwnd-guard")), arguments)
    }

    /// Starts the shapers; returns what they print first.
    fn shape(&self, arguments: &[&str]) -> (Child, Vec<String>) {
        self.start(&[&["shape", "wan"], arguments].concat(), "shaping\n")
    }

    /// Starts the guard; returns what it prints before it is ready.
    fn start(&self, arguments: &[&str], ready: &str) -> (Child, Vec<String>) {
        let mut child = self.ends[0]
            .enter(env!("CARGO_BIN_EXE_airwnd-guard"))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("nsenter of util-linux");
        let mut output = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = Vec::new();
        let mut line = String::new();
        while line != ready {
            line.clear();
            let length = output.read_line(&mut line).expect("text");
            assert!(length > 0, "the guard has ended: {:?}, {lines:?}", child.wait());
            lines.push(line.trim_end().to_string());
        }
        lines.pop();
        child.stderr = Some(output.into_inner());
        (child, lines)
    }
}

fn guard(command: &mut Command, arguments: &[&str]) -> String {
    let output = command.args(arguments).output().expect("the program of this crate");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim_end().to_string()
}

/// The guard itself: nsenter has become it.
pub fn end(mut child: Child, signal: Signal) -> String {
    kill(Pid::from_raw(child.id().cast_signed()), signal).expect("a process");
    child.wait().expect("a child").to_string()
}

pub fn all_changes_are_undone() -> Result<(), String> {
    let site = Site::open()?;
    let before = site.state();
    for (signal, status) in [(Signal::SIGTERM, "exit status: 0"), (Signal::SIGKILL, "signal: 9 (SIGKILL)")] {
        let (child, changes) = site.shape(&["--qdisc", "tbf"]);
        let during = site.state();
        let twin = during
            .lines()
            .find_map(|line| line.split_whitespace().find(|word| word.starts_with("ifb-airwnd")));
        let twin = twin.expect("a device for what arrives");
        assert!(during.contains("qdisc tbf a1f0: dev wan root"), "{during}");
        assert!(during.contains(&format!("qdisc tbf a1f0: dev {twin} root")), "{during}");
        assert!(during.contains(&format!("mirred (Egress Redirect to device {twin})")), "{during}");
        assert_eq!(changes.len(), 3, "{changes:?}");
        assert_eq!(end(child, signal), status);
        site.await_state("everything is undone", |state| state == before);
    }
    // One direction, without a device.
    let (child, changes) = site.shape(&["--qdisc", "tbf", "--only", "up"]);
    assert_eq!(changes, ["changed: wan: root qdisc a1f0: tbf, for the uplink"]);
    end(child, Signal::SIGINT);
    assert_eq!(site.state(), before);
    Ok(())
}

/// As those of PPP, tunnels and modems with raw IP.
pub fn an_interface_without_a_link_address_is_guarded() -> Result<(), String> {
    let site = Site::open()?;
    site.ends[0].shell("ip tuntap add tun0 mode tun; ip link set tun0 up");
    for (arguments, ready) in
        [(&["--forward", "tun0"][..], "guarding\n"), (&["shape", "tun0", "--qdisc", "tbf"], "shaping\n")]
    {
        let (child, _) = site.start(arguments, ready);
        assert_eq!(end(child, Signal::SIGTERM), "exit status: 0");
    }
    assert_eq!(
        site.guard(&["--forward", "lan"]),
        "airwnd-guard: interface lan: does not exist; ip link lists all"
    );
    Ok(())
}

pub fn what_others_have_made_is_left_alone() -> Result<(), String> {
    let site = Site::open()?;
    let wan = &site.ends[0];
    wan.shell("tc qdisc add dev wan root handle 8: tbf rate 1mbit burst 3k limit 30k");
    let before = site.state();
    assert_eq!(
        site.guard(&["shape", "wan"]),
        "airwnd-guard: interface wan: has the qdisc tbf of something else; end that, or remove the qdisc with: tc qdisc del \
         dev wan root"
    );
    assert_eq!(site.state(), before);
    wan.shell("tc qdisc del dev wan root; tc qdisc add dev wan clsact");
    wan.shell("tc filter add dev wan egress prio 7 protocol ip u32 match u32 0 0 classid 1:1");
    let before = site.state();
    let (child, _) = site.shape(&["--qdisc", "tbf"]);
    let refused = "airwnd-guard: interface wan: shaped by another guard; if none runs, undo it with: airwnd guard shape wan \
                   --undo";
    assert_eq!(site.guard(&["shape", "wan"]), refused);
    assert_eq!(site.guard(&["shape", "wan", "--only", "down"]), refused);
    end(child, Signal::SIGTERM);
    assert_eq!(site.state(), before);
    assert_eq!(site.guard(&["shape", "wan", "--undo"]), "wan: there are no shapers");
    assert_eq!(
        site.guard(&["shape", "lan"]),
        "airwnd-guard: interface lan: does not exist; ip link lists all"
    );
    Ok(())
}

/// Both processes are killed at the same time, as by a control group.
pub fn what_is_left_is_removed_on_request() -> Result<(), String> {
    let site = Site::open()?;
    let before = site.state();
    let (child, _) = site.shape(&["--qdisc", "tbf"]);
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let keepers = fs::read_to_string(children).expect("a process");
    let keeper = keepers.trim().parse().expect("one keeper");
    // A process that is stopped cannot undo anything before it is killed.
    kill(Pid::from_raw(keeper), Signal::SIGSTOP).expect("a process");
    kill(Pid::from_raw(keeper), Signal::SIGKILL).expect("a process");
    end(child, Signal::SIGKILL);
    assert!(site.state().contains("qdisc tbf a1f0: dev wan root"));
    assert_eq!(site.guard(&["shape", "wan", "--undo"]), "wan: removed the shapers");
    assert_eq!(site.state(), before);
    Ok(())
}

/// A guard that is stopped adapts no rate.
pub fn a_guard_that_is_stopped_is_undone() -> Result<(), String> {
    let site = Site::open()?;
    let before = site.state();
    let (mut child, _) = site.shape(&["--qdisc", "tbf"]);
    let process = Pid::from_raw(child.id().cast_signed());
    kill(process, Signal::SIGSTOP).expect("a process");
    site.await_state("everything is undone", |state| state == before);
    kill(process, Signal::SIGCONT).expect("a process");
    assert_eq!(child.wait().expect("a child").to_string(), "exit status: 2");
    assert_eq!(site.state(), before);
    Ok(())
}

pub fn traffic_of_both_directions_is_seen() -> Result<(), String> {
    let site = Site::open()?;
    let (child, _) = site.shape(&["--qdisc", "tbf"]);
    let this = std::env::current_exe().expect("its path");
    let this = this.to_str().expect("plain text");
    let mut server =
        site.ends[1].enter(this).args([roles::SENDER, PORT]).stdout(Stdio::piped()).spawn().expect("nsenter");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("text");
    assert_eq!(line, "listening\n");
    let mut client = site.ends[0]
        .enter(this)
        .args([roles::CLIENT, &format!("192.0.2.2:{PORT}"), "connect"])
        .spawn()
        .expect("nsenter");
    let mut state = serde_json::Value::Null;
    for _ in 0..ATTEMPTS {
        state = serde_json::from_str(&site.guard(&["status", "--json"])).expect("the state of one guard");
        if state["shape"]["flows"] == 1 && state["shape"]["up"]["load_kbps"].as_f64() > Some(0.0) {
            break;
        }
        sleep(PAUSE);
    }
    let status = site.guard(&["status"]);
    for process in [&mut client, &mut server] {
        process.kill().expect("a child");
        process.wait().expect("a child");
    }
    end(child, Signal::SIGTERM);
    assert_eq!(state["shape"]["flows"], 1, "{state}");
    assert!(
        state["shape"]["down"]["load_kbps"].as_f64() > state["shape"]["up"]["load_kbps"].as_f64(),
        "{state}"
    );
    assert!(status.contains(", shape wan by tbf: down - Mbit/s (passes "), "{status}");
    Ok(())
}
