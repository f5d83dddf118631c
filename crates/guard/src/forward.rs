//! The guard on a router.

use crate::Error;
use crate::maps::Maps;
use crate::{links, names, processes};
use airwnd_netns::Netlink;
use airwnd_units::{Span, Time};
use aya::programs::SchedClassifier;
use aya::programs::tc::{self, TcAttachType, TcError};
use aya::{Ebpf, include_bytes_aligned};
use netlink_sys::protocols::NETLINK_ROUTE;

/// Programs with the direction of the packets that they see.
const PROGRAMS: [(&str, TcAttachType); 2] =
    [("airwnd_data", TcAttachType::Egress), ("airwnd_acks", TcAttachType::Ingress)];
/// Link types (`if_arp.h`) whose packets begin with an Ethernet header: Ethernet, loopback.
const ETHERNET: [u16; 2] = [1, 772];
/// Bytes of an Ethernet header.
const ETHERNET_HEADER: u64 = 14;
/// Link types whose packets begin with the IP header: none (TUN, WireGuard), PPP, raw IP, tunnels.
const NO_HEADER: [u16; 5] = [65534, 512, 519, 768, 769];

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/forward.bpf.o"));

/// Programs for the packets of an interface towards receivers, attached until the value is dropped or the process ends.
pub(crate) struct Forward {
    pub interface: String,
    pub index: u32,
    pub maps: Maps,
    /// Whether detaching the programs needs CAP_NET_ADMIN.
    pub needs_net_admin: bool,
    _ebpf: Ebpf,
}

impl Forward {
    /// Loads the programs.
    pub fn load() -> Result<Ebpf, Error> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|why| Error::not_loaded(&why))?;
        for (name, _) in PROGRAMS {
            classifier(&mut ebpf, name).load().map_err(|why| Error::not_loaded(&why))?;
        }
        Ok(ebpf)
    }

    /// Loads the programs and attaches them to `interface`.
    pub fn open(interface: &str) -> Result<Forward, Error> {
        let index = links::index(interface)?;
        let header = link_header(interface, index)?;
        let mut ebpf = Forward::load()?;
        let maps = Maps::take(&mut ebpf, header)?;
        let mut needs_net_admin = false;
        for (name, direction) in PROGRAMS {
            needs_net_admin |= detach_old(interface, name, direction)?;
            classifier(&mut ebpf, name)
                .attach(interface, direction)
                .map_err(|why| Error::failed(format!("cannot attach to interface {interface}"), &why))?;
        }
        Ok(Forward { interface: interface.to_string(), index, maps, needs_net_admin, _ebpf: ebpf })
    }
}

fn classifier<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut SchedClassifier {
    let program = ebpf.program_mut(name).expect("the object has this program");
    program.try_into().expect("a classifier")
}

impl Drop for Forward {
    fn drop(&mut self) {
        // The programs do nothing from now on, and are detached when the object is dropped.
        let _ = self.maps.allow_until(Time::ZERO, Span::ZERO);
    }
}

/// Since Linux 6.6 programs are detached when their process ends, so that a program that is there belongs to a guard.
/// Before, they stay, and do nothing. Returns whether they do.
fn detach_old(interface: &str, name: &str, direction: TcAttachType) -> Result<bool, Error> {
    match SchedClassifier::query_tcx(interface, direction) {
        Ok((_, programs)) => match programs.iter().find(|program| program.name_as_str() == Some(name)) {
            None => Ok(false),
            Some(program) => {
                let holder = processes::with_program(program.id());
                let holder = holder.map(|process| names::described(&process)).unwrap_or_default();
                Err(Error::new(format!("interface {interface}: guarded by another process already{holder}")))
            }
        },
        Err(_) => {
            let failed =
                |why: TcError| Error::failed(format!("cannot attach to interface {interface}"), &why);
            match tc::qdisc_add_clsact(interface) {
                Err(TcError::NetlinkError(_)) | Ok(()) => {}
                Err(why) => return Err(failed(why)),
            }
            // There is none after a regular end.
            let _ = tc::qdisc_detach_program(interface, direction, name);
            Ok(true)
        }
    }
}

/// Bytes before the IP header of packets of an interface.
fn link_header(interface: &str, index: u32) -> Result<u64, Error> {
    // getifaddrs(3) leaves out interfaces without a link address, such as those of PPP.
    let kind = Netlink::open(NETLINK_ROUTE).and_then(|mut netlink| netlink.link_type_of_index(index));
    match kind.map_err(|why| Error::failed(format!("interface {interface}"), &why))? {
        kind if ETHERNET.contains(&kind) => Ok(ETHERNET_HEADER),
        kind if NO_HEADER.contains(&kind) => Ok(0),
        kind => Err(Error::new(format!("interface {interface}: link type {kind} is not supported"))),
    }
}

#[cfg(test)]
pub(crate) mod tests;
