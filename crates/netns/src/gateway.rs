//! This host and the Internet as the other end, without root: through `pasta`.
//!
//! pasta (<https://passt.top>) runs as a process of the user in the host's network, with a TAP device in the side's
//! namespace. What enters the device leaves through ordinary sockets of the host: pasta terminates TCP connections
//! and opens its own. The side translates addresses, since pasta knows one address only, in front of it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{MsgFlags, Shutdown, shutdown};
use nix::unistd::{getegid, geteuid};

use crate::error::Error;
use crate::nft::nft;
use crate::programs::{NFT, PASTA, find, require};
use crate::setup::{DeviceSetup, Order, Outside, Report, Setup};
use crate::side::{Side, spawn_helper};
use crate::{DEVICE, socket};

/// The TAP device in the side's namespace.
const TAP: &str = "host";
/// The side's address on this device.
const NEAR: Ipv4Addr = Ipv4Addr::new(100, 64, 255, 2);
/// The address behind which pasta places the host's 127.0.0.1.
const HOST: Ipv4Addr = Ipv4Addr::new(100, 64, 255, 1);
/// Some address on the Internet (RFC 5737).
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Time for pasta to configure its device: it needs some milliseconds unless the machine is overloaded.
const PAUSE: Duration = Duration::from_millis(1);
const ATTEMPTS: u32 = 10_000;
/// Message of pasta that is no error, where there is no system log.
const NOISE: &str = "Failed to send";

/// A running `pasta`, for IPv4. It ends when the value is dropped, and with the process.
#[derive(Debug)]
pub struct Gateway {
    helper: Child,
    socket: OwnedFd,
}

impl Gateway {
    /// Makes a side that forwards packets between its device and `outside`. The host's services, also those that
    /// listen at 127.0.0.1 only, answer to TCP and UDP at the side's IPv4 address. `helper` is as for
    /// [`Side::prepare`].
    ///
    /// # Errors
    ///
    /// As for a side; pasta or nft are missing, or refuse.
    pub fn prepare(helper: &[String], setup: &Setup, outside: Outside) -> Result<(Side, Self), Error> {
        require("cannot reach this host's network without root", &[PASTA, NFT])?;
        let mut setup = setup.clone();
        (setup.outside, setup.forwards) = (Some(outside), true);
        let mut side = Side::prepare(helper, &setup)?;
        let gateway = Self::open(helper, &mut side, setup.device.mtu)?;
        Ok((side, gateway))
    }

    fn open(helper: &[String], side: &mut Side, mtu: u32) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::failed("cannot start pasta", why);
        // A pipe could fill up.
        let mut messages =
            File::from(memfd_create(c"pasta", MFdFlags::MFD_CLOEXEC).map_err(|why| failed(why.into()))?);
        let streams = [Stdio::null(), Stdio::null(), messages.try_clone().map_err(failed)?.into()];
        let (child, socket) = spawn_helper(helper, streams).map_err(failed)?;
        let mut gateway = Self { helper: child, socket };
        let order =
            Order::Watch { command: command(side.pid(), mtu), caller: std::process::id().cast_signed() };
        socket::send(&gateway.socket, &order, &[]).map_err(failed)?;
        match socket::receive(&gateway.socket, MsgFlags::empty()).map_err(failed)? {
            Some((Report::Started, _)) => {}
            Some((Report::Failed(why), _)) => return Err(Error::new(why)),
            _ => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
        for _ in 0..ATTEMPTS {
            if side.device.route.is_reached(IpAddr::from(FAR)).map_err(failed)? {
                return Ok(gateway);
            }
            if gateway.helper.try_wait().map_err(failed)?.is_some() {
                return Err(Error::new(format!("pasta: {}", reason(&mut messages))));
            }
            thread::sleep(PAUSE);
        }
        Err(failed(io::ErrorKind::TimedOut.into()))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // The helper sees the end of the socket, kills pasta and waits for it.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Both);
        let _ = self.helper.wait();
    }
}

/// pasta in the namespaces of process `pid`, without its forwarding of ports, which would occupy those of the host.
fn command(pid: i32, mtu: u32) -> Vec<String> {
    let program = find(&PASTA).unwrap_or_default();
    let mut words = vec![program.to_string_lossy().into_owned()];
    let fixed = "--foreground --quiet --ipv4-only --config-net --netmask 24 --no-dhcp --no-dhcpv6 --no-ndp --no-ra \
                 --tcp-ports none --udp-ports none --tcp-ns none --udp-ns none";
    words.extend(fixed.split_whitespace().map(str::to_string));
    // Without this option, pasta started by root without capabilities changes to the user `nobody`.
    let identity = format!("{}:{}", geteuid(), getegid());
    let own = [
        ("--ns-ifname", TAP.to_string()),
        ("--address", NEAR.to_string()),
        ("--gateway", HOST.to_string()),
        ("--mtu", mtu.to_string()),
        ("--runas", identity),
    ];
    words.extend(own.into_iter().flat_map(|(option, value)| [option.to_string(), value]));
    words.push(pid.to_string());
    words
}

fn reason(messages: &mut File) -> String {
    let mut text = String::new();
    let _ = messages.rewind().and_then(|()| messages.read_to_string(&mut text));
    let last = text.lines().rfind(|line| !line.starts_with(NOISE) && !line.trim().is_empty());
    last.unwrap_or("ended without a message").trim().to_string()
}

/// Translates addresses in the side's namespace.
pub(crate) fn translate(outside: Outside, device: &DeviceSetup) -> Result<(), Error> {
    nft(&rules(outside, device.v4))
}

fn rules(outside: Outside, server: Ipv4Addr) -> String {
    let to_host =
        format!("iifname \"{DEVICE}\" ip daddr {server} meta l4proto {{ tcp, udp }} dnat to {HOST}");
    let others = match outside {
        Outside::Host => format!("oifname \"{TAP}\" ip daddr != {HOST} drop"),
        Outside::Internet => String::new(),
    };
    let chains = [
        ("prerouting", "nat hook prerouting priority dstnat", to_host),
        ("postrouting", "nat hook postrouting priority srcnat", format!("oifname \"{TAP}\" masquerade")),
        ("forward", "filter hook forward priority filter", others),
    ];
    let chains = chains.map(|(name, place, rule)| format!("chain {name} {{\ntype {place}\n{rule}\n}}\n"));
    format!("table ip airwnd {{\n{}}}\n", chains.concat())
}
