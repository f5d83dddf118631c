//! Parts of a side, and the messages between its processes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Where a standard stream of the command leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// The caller's stream.
    #[default]
    Inherit,
    /// `/dev/null`.
    Null,
    /// A pipe; its other end is in [`Process`](crate::Process).
    Piped,
}

/// Description of a TUN device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// Address, in a network of 24 bits.
    pub v4: Ipv4Addr,
    /// Address, in a network of 64 bits. `None`: no IPv6. Ignored if the kernel has no IPv6.
    pub v6: Option<Ipv6Addr>,
    /// Networks behind the other end, with their prefix lengths, that are routed to the device besides its own.
    pub behind: Vec<(IpAddr, u8)>,
    /// MTU in bytes, at least 1280 with IPv6.
    pub mtu: u32,
    /// Packets that the device queues until the caller reads them. When the queue is full the device drops;
    /// [`LinkStats::tx_dropped`](crate::LinkStats) counts that.
    pub queue_packets: u32,
    /// Content of a read and of a write of the device.
    pub framing: Framing,
}

/// Content of a read and of a write of a TUN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// One IP packet.
    Packet,
    /// A `struct virtio_net_hdr` of 10 bytes (VIRTIO 1.2 §5.1.6) and one IP packet, which may stand for several TCP
    /// segments and may have a checksum to be completed.
    Offload,
}

impl DeviceSetup {
    /// MTU 1500, queue of 1000 packets, each read and written alone.
    pub fn new(v4: Ipv4Addr, v6: Option<Ipv6Addr>) -> Self {
        Self { v4, v6, behind: Vec::new(), mtu: 1500, queue_packets: 1000, framing: Framing::Packet }
    }
}

/// Networks to which a [`Gateway`](crate::Gateway) leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outside {
    /// Services of this host.
    Host,
    /// Services of this host, and whatever it reaches.
    Internet,
}

/// Description of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Name in messages: `server`, `ue-0`.
    pub name: String,
    /// The device `link`.
    pub device: DeviceSetup,
    /// Number of sides around this one: 0 for the side of a caller outside, one more than
    /// [`Outer::depth`](crate::Outer::depth) otherwise.
    pub depth: u8,
    /// Lines of `/etc/hosts`, besides those of `localhost` and of the host's name.
    pub hosts: Vec<(String, IpAddr)>,
    /// Name servers of `/etc/resolv.conf`. Empty: every query fails at once.
    pub nameservers: Vec<IpAddr>,
    /// Sysctls of the namespace as paths below `/proc/sys`, with their values: `net/ipv4/tcp_ecn`, `1`.
    pub sysctls: Vec<(String, String)>,
    /// Forward packets that are not for the side itself.
    pub forwards: bool,
    /// Network with which a [`Gateway`](crate::Gateway) connects the side: the default route is left to it.
    pub outside: Option<Outside>,
    /// Command and arguments. Empty: the side has no command.
    pub command: Vec<String>,
    /// Variables of the command, besides those of the caller.
    pub env: Vec<(String, String)>,
    /// The command's standard input.
    pub stdin: Stdio,
    /// The command's standard output.
    pub stdout: Stdio,
    /// The command's standard error.
    pub stderr: Stdio,
    /// Make the command the foreground process group of the caller's terminal until it ends, for a shell or any
    /// single command: Ctrl-C reaches it and not the caller. Without effect if standard input is no terminal or
    /// the caller is in the background. `false`: the command is in the caller's process group.
    pub terminal: bool,
}

impl Setup {
    /// A side outside of others without command, with inherited streams.
    pub fn new(name: &str, device: DeviceSetup) -> Self {
        Self {
            name: name.to_string(),
            device,
            depth: 0,
            hosts: Vec::new(),
            nameservers: Vec::new(),
            sysctls: Vec::new(),
            forwards: false,
            outside: None,
            command: Vec::new(),
            env: Vec::new(),
            stdin: Stdio::Inherit,
            stdout: Stdio::Inherit,
            stderr: Stdio::Inherit,
            terminal: false,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It ended itself with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl Exit {
    /// The status as a shell gives it: 128 and the signal's number for a killed command.
    pub fn code(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

/// From the caller to the helper and init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first message: the side to make, and the caller's process id.
    Make { setup: Box<Setup>, caller: i32 },
    /// Instead of it: a program to run in the namespaces of the caller until it or the caller ends.
    Watch { command: Vec<String>, caller: i32 },
    /// Start the command.
    Start,
    /// Send a signal to the command.
    Signal(i32),
}

/// From the helper and init to the caller.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The helper: init has this process id, outside.
    Init(i32),
    /// Init: the device exists; with the descriptors of a [`Device`](crate::Device).
    Ready { name: String, ipv6: bool },
    /// The command is running.
    Started,
    /// An order failed. The text is a whole message.
    Failed(String),
    /// The command has ended.
    Ended(Exit),
}

/// From a caller inside to init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Asks for the side's depth.
    Depth,
    /// Asks for a device in the side's namespace.
    Add(DeviceSetup),
}

/// The answer of init to a caller inside.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Depth(u8),
    /// With the descriptors of a [`Device`](crate::Device).
    Added {
        name: String,
        ipv6: bool,
    },
    Failed(String),
}
