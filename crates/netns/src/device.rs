//! A TUN device with addresses, and what the caller holds of it.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;

use crate::diag::Diag;
use crate::route::{LinkStats, Route};
use crate::setup::DeviceSetup;
use crate::{DEVICE, Error, tun};

/// Time for the kernel to take an address into use: it needs less than a pause unless the machine is overloaded.
const PAUSE: Duration = Duration::from_millis(1);
const ATTEMPTS: u32 = 10_000;

/// A TUN device. It disappears, with its routes, when `tun` is closed.
#[derive(Debug)]
pub struct Device {
    /// A read returns what the namespace has sent, a write delivers; neither blocks. [`DeviceSetup::framing`] says what
    /// each carries.
    pub tun: OwnedFd,
    /// Lists the TCP connections of the device's namespace.
    pub diag: Diag,
    /// Reads counters of the namespace's devices.
    pub route: Route,
    /// Name in the namespace.
    pub name: String,
    /// Whether the device has an IPv6 address.
    pub ipv6: bool,
}

impl Device {
    /// Counters of the device.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn stats(&mut self) -> io::Result<LinkStats> {
        self.route.link_stats(&self.name)
    }

    /// Creates a device in the current network namespace; `%d` in `name` stands for the first free number.
    pub(crate) fn create(name: &str, setup: &DeviceSetup) -> Result<Self, Error> {
        let socket = |why| Error::failed("cannot open a netlink socket", why);
        let route = Route::open().map_err(socket)?;
        let diag = Diag::open().map_err(socket)?;
        let (tun, name) = tun::create(name, setup.framing)?;
        let ipv6 = setup.v6.is_some() && has_ipv6();
        let mut device = Self { tun, diag, route, name, ipv6 };
        silence(&device.name, ipv6)?;
        device.configure(setup).map_err(not_configured)?;
        Ok(device)
    }

    fn configure(&mut self, setup: &DeviceSetup) -> io::Result<()> {
        let index = self.route.index(&self.name)?;
        self.route.dimension(index, setup.mtu, setup.queue_packets)?;
        self.route.up(index)?;
        self.route.add_address(index, setup.v4.into(), 24)?;
        match setup.v6 {
            Some(v6) if self.ipv6 => {
                self.route.add_address(index, v6.into(), 64)?;
                self.wait_until_local(v6.into())?;
            }
            _ => {}
        }
        let behind = setup.behind.iter().filter(|(network, _)| network.is_ipv4() || self.ipv6);
        for (network, prefix) in behind {
            self.route.add_route(index, *network, *prefix)?;
        }
        Ok(())
    }

    /// The kernel accepts an IPv6 address first and makes it its own later, in a work queue. Packets to it that
    /// come between are dropped.
    fn wait_until_local(&mut self, address: IpAddr) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            if self.route.is_local(address)? {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        Err(io::Error::other(format!("the kernel does not use its address {address}")))
    }

    /// Brings up `lo` of a new namespace.
    pub(crate) fn bring_up_loopback(&mut self) -> Result<(), Error> {
        let mut up = || {
            let loopback = self.route.index("lo")?;
            self.route.up(loopback)
        };
        up().map_err(not_configured)
    }

    /// Sends everything without another route to the device.
    pub(crate) fn route_everything(&mut self) -> Result<(), Error> {
        let mut add = || {
            let index = self.route.index(&self.name)?;
            self.route.add_default_route(index, false)?;
            if self.ipv6 { self.route.add_default_route(index, true) } else { Ok(()) }
        };
        add().map_err(not_configured)
    }

    pub(crate) fn fds(&self) -> [RawFd; 3] {
        [self.tun.as_raw_fd(), self.diag.as_raw_fd(), self.route.as_raw_fd()]
    }

    /// The device whose [`fds`](Self::fds) another process has sent.
    pub(crate) fn received(name: String, ipv6: bool, fds: Vec<OwnedFd>) -> Result<Self, Error> {
        let [tun, diag, route] =
            fds.try_into().map_err(|_| Error::new("a device came without its descriptors"))?;
        Ok(Self { tun, diag: Diag::from(diag), route: Route::from(route), name, ipv6 })
    }
}

fn not_configured(why: io::Error) -> Error {
    match why.raw_os_error() {
        Some(libc::EEXIST) => {
            Error::new("another session here uses the same networks; run one after the other")
        }
        Some(code) => Error::refused("cannot configure a TUN device", Errno::from_raw(code)),
        None => Error::failed("cannot configure a TUN device", why),
    }
}

pub(crate) fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// An idle device carries no packet: no link-local address, no router solicitation, no duplicate detection.
fn silence(device: &str, ipv6: bool) -> Result<(), Error> {
    let settings: &[(&str, &str)] = match (ipv6, has_ipv6()) {
        (true, _) => &[
            ("disable_ipv6", "0"),
            ("addr_gen_mode", "1"),
            ("router_solicitations", "0"),
            ("accept_ra", "0"),
            ("accept_dad", "0"),
        ],
        (false, true) => &[("disable_ipv6", "1")],
        (false, false) => &[],
    };
    settings.iter().try_for_each(|(name, value)| sysctl(&format!("net/ipv6/conf/{device}/{name}"), value))
}

/// Forwards packets between the devices of the current network namespace, which is not the host's.
pub(crate) fn forward_packets() -> Result<(), Error> {
    forwarding(has_ipv6()).iter().try_for_each(|(path, value)| sysctl(path, value))
}

/// Without ICMP redirects: the ends of a link share a network, but none reaches another one directly.
fn forwarding(ipv6: bool) -> Vec<(String, &'static str)> {
    let mut sysctls = vec![("net/ipv4/ip_forward".to_string(), "1")];
    for device in ["all", "default", DEVICE] {
        sysctls.push((format!("net/ipv4/conf/{device}/send_redirects"), "0"));
    }
    if ipv6 {
        sysctls.push(("net/ipv6/conf/all/forwarding".to_string(), "1"));
    }
    sysctls
}

pub(crate) fn sysctl(path: &str, value: &str) -> Result<(), Error> {
    fs::write(format!("/proc/sys/{path}"), value).map_err(|why| {
        let name = path.replace('/', ".");
        let allowed = match why.kind() {
            // The only one that depends on the host's settings.
            io::ErrorKind::PermissionDenied if path == "net/ipv4/tcp_congestion_control" => {
                ": a namespace may have those of the host's net.ipv4.tcp_allowed_congestion_control only"
            }
            _ => "",
        };
        Error::failed(format!("cannot set sysctl {name} to {value}{allowed}"), why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_ipv6_has_none_of_its_sysctls() {
        let has_ipv6_path = |ipv6| forwarding(ipv6).iter().any(|(path, _)| path.starts_with("net/ipv6/"));
        assert!(has_ipv6_path(true));
        assert!(!has_ipv6_path(false));
    }
}
