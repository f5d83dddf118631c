//! Everything that the program changes on the machine, and how it is undone.

use super::tc::{self, Discipline};
use crate::{Error, links};
use airwnd_netns::Netlink;
use airwnd_shape::capacity::Way;
use airwnd_units::BitRate;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage as Request;
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::io;

/// Interface whose traffic is shaped.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub name: String,
    pub index: u32,
}

impl Interface {
    pub fn named(name: &str) -> Result<Interface, Error> {
        Ok(Interface { name: name.to_string(), index: links::index(name)? })
    }

    /// Name of the device that carries what arrives. Names have at most 15 characters, those of interfaces may all have.
    pub fn twin(&self) -> String {
        format!("ifb-airwnd{}", self.index)
    }
}

/// The shapers of an interface, which stay until [`undo`] removes them.
pub(super) struct Shapers {
    netlink: Netlink,
    discipline: Discipline,
    /// Interfaces of both directions; `None`: this direction is not shaped.
    down: Option<u32>,
    up: Option<u32>,
    /// Rates that are set.
    rates: [Option<BitRate>; 2],
}

impl Shapers {
    /// Makes shapers without limits. `discipline`: `None`: the best one that the kernel has. After an error nothing has
    /// changed.
    pub fn make(
        interface: &Interface,
        ways: &[Way],
        discipline: Option<Discipline>,
    ) -> Result<Shapers, Error> {
        let mut netlink = open().map_err(|why| failed(interface, "cannot reach the kernel", &why))?;
        refuse_others(&mut netlink, interface)?;
        let made = make(&mut netlink, interface, ways, discipline);
        if made.is_err() {
            let _ = undo(interface);
        }
        let (discipline, down, up) = made?;
        Ok(Shapers { netlink, discipline, down, up, rates: [None; 2] })
    }

    /// Lists what was changed, one line each.
    pub fn changes(&self, interface: &Interface) -> Vec<String> {
        let Interface { name, .. } = interface;
        let (twin, discipline) = (interface.twin(), self.discipline);
        let mut lines = Vec::new();
        if self.up.is_some() {
            lines.push(format!("{name}: root qdisc a1f0: {discipline}, for the uplink"));
        }
        if self.down.is_some() {
            lines.push(format!("{twin}: new device with root qdisc a1f0: {discipline}, for the downlink"));
            lines.push(format!("{name}: clsact, with filter {} that redirects to {twin}", tc::PRIORITY));
        }
        lines
    }

    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// Sets the rate of a direction, unless it is near the former one; `None`: no limit.
    pub fn set(&mut self, way: Way, rate: Option<BitRate>) -> io::Result<()> {
        let (place, index) = match way {
            Way::Down => (0, self.down),
            Way::Up => (1, self.up),
        };
        let Some(index) = index.filter(|_| is_other(self.rates[place], rate)) else { return Ok(()) };
        let message = tc::change(index, self.discipline, way, rate);
        self.netlink.request(Request::NewQueueDiscipline(message), 0, |_| {})?;
        self.rates[place] = rate;
        Ok(())
    }
}

/// Whether a rate differs by more than one percent.
fn is_other(former: Option<BitRate>, rate: Option<BitRate>) -> bool {
    match (former, rate) {
        (Some(former), Some(rate)) => former.0.abs_diff(rate.0) > former.0 / 100,
        (former, rate) => former != rate,
    }
}

/// Removes the shapers of an interface, whatever of them exists; returns whether anything did. The kernel gives the
/// interface its default queue discipline back.
pub(super) fn undo(interface: &Interface) -> Result<bool, Error> {
    let failed = |why: io::Error| failed(interface, "cannot remove the shapers", &why);
    let mut netlink = open().map_err(failed)?;
    let qdiscs = qdiscs(&mut netlink, interface.index).map_err(failed)?;
    let has_root = qdiscs.iter().any(|qdisc| qdisc.header.handle == tc::HANDLE);
    let twin = link(&mut netlink, &interface.twin());
    let is_ours = |filter: &TcMessage| filter.header.info >> 16 == u32::from(tc::PRIORITY);
    let mut filters = filters(&mut netlink, interface.index).map_err(failed)?;
    let mut delete = |message| match netlink.request(message, 0, |_| {}) {
        // Removed meanwhile.
        Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::EINVAL)) => Ok(()),
        outcome => outcome.map_err(failed),
    };
    if has_root {
        delete(Request::DelQueueDiscipline(tc::root(interface.index)))?;
    }
    if filters.iter().any(is_ours) {
        delete(Request::DelTrafficFilter(tc::redirect(interface.index, 0)))?;
    }
    filters.retain(|filter| !is_ours(filter));
    if twin.is_some() && filters.is_empty() {
        delete(Request::DelQueueDiscipline(tc::clsact(interface.index)))?;
    }
    if let Some(index) = twin {
        let mut link = LinkMessage::default();
        link.header.index = index;
        delete(Request::DelLink(link))?;
    }
    Ok(has_root || twin.is_some())
}

fn open() -> io::Result<Netlink> {
    Netlink::open(NETLINK_ROUTE)
}

fn make(
    netlink: &mut Netlink,
    interface: &Interface,
    ways: &[Way],
    discipline: Option<Discipline>,
) -> Result<(Discipline, Option<u32>, Option<u32>), Error> {
    let fresh = NLM_F_CREATE | NLM_F_EXCL;
    let down = if ways.contains(&Way::Down) {
        let no_device = |why: io::Error| {
            let what = "cannot make a device for what arrives (ifb, CONFIG_IFB; on OpenWrt: kmod-ifb)";
            failed(interface, what, &why)
        };
        netlink.request(Request::NewLink(tc::ifb(&interface.twin())), fresh, |_| {}).map_err(no_device)?;
        Some(link(netlink, &interface.twin()).ok_or_else(|| no_device(io::ErrorKind::NotFound.into()))?)
    } else {
        None
    };
    let up = ways.contains(&Way::Up).then_some(interface.index);
    let places = || down.map(|index| (index, Way::Down)).into_iter().chain(up.map(|index| (index, Way::Up)));
    let mut outcome = Err(Error::new("no queue discipline"));
    for candidate in Discipline::ALL.into_iter().filter(|one| discipline.is_none_or(|wanted| wanted == *one))
    {
        outcome = places()
            .try_for_each(|(index, way)| {
                tc::create(index, candidate, way).into_iter().try_for_each(|message| {
                    netlink.request(Request::NewQueueDiscipline(message), fresh, |_| {})
                })
            })
            .map(|()| candidate)
            .map_err(|why| failed(interface, &format!("cannot make the qdisc {candidate}"), &why));
        if outcome.is_ok() {
            break;
        }
        for (index, _) in places() {
            let _ = netlink.request(Request::DelQueueDiscipline(tc::root(index)), 0, |_| {});
        }
    }
    let discipline = outcome?;
    if let Some(twin) = down {
        let no_filter =
            |why: io::Error| failed(interface, "cannot redirect what arrives (u32, mirred)", &why);
        match netlink.request(Request::NewQueueDiscipline(tc::clsact(interface.index)), fresh, |_| {}) {
            Err(why) if why.raw_os_error() == Some(libc::EEXIST) => {}
            outcome => outcome.map_err(no_filter)?,
        }
        let message = Request::NewTrafficFilter(tc::redirect(interface.index, twin));
        netlink.request(message, fresh, |_| {}).map_err(no_filter)?;
    }
    Ok((discipline, down, up))
}

/// Refuses an interface that something else shapes already.
fn refuse_others(netlink: &mut Netlink, interface: &Interface) -> Result<(), Error> {
    let name = &interface.name;
    let qdiscs = qdiscs(netlink, interface.index)
        .map_err(|why| failed(interface, "cannot list queue disciplines", &why))?;
    // The kernel's defaults have no handle.
    let root =
        qdiscs.iter().find(|qdisc| qdisc.header.parent == TcHandle::ROOT && qdisc.header.handle.major != 0);
    let is_shaped = link(netlink, &interface.twin()).is_some();
    if is_shaped || root.is_some_and(|qdisc| qdisc.header.handle == tc::HANDLE) {
        return Err(Error::new(format!(
            "interface {name}: shaped by another guard; if none runs, undo it with: airwnd guard shape {name} --undo"
        )));
    }
    match root {
        None => Ok(()),
        Some(qdisc) => {
            let kind = qdisc.attributes.iter().find_map(|attribute| match attribute {
                TcAttribute::Kind(kind) => Some(kind.as_str()),
                _ => None,
            });
            let kind = kind.unwrap_or("unknown");
            Err(Error::new(format!(
                "interface {name}: has the qdisc {kind} of something else; end that, or remove the qdisc with: \
                 tc qdisc del dev {name} root"
            )))
        }
    }
}

fn qdiscs(netlink: &mut Netlink, index: u32) -> io::Result<Vec<TcMessage>> {
    let mut found = Vec::new();
    netlink.dump(Request::GetQueueDiscipline(TcMessage::default()), |entry| {
        if let Request::NewQueueDiscipline(qdisc) = entry
            && qdisc.header.index == index.cast_signed()
        {
            found.push(qdisc);
        }
    })?;
    Ok(found)
}

fn filters(netlink: &mut Netlink, index: u32) -> io::Result<Vec<TcMessage>> {
    let mut found = Vec::new();
    for parent in [tc::INCOMING, tc::OUTGOING] {
        let listed = netlink.dump(Request::GetTrafficFilter(tc::filters(index, parent)), |entry| {
            if let Request::NewTrafficFilter(filter) = entry {
                found.push(filter);
            }
        });
        match listed {
            // There is no clsact, or no interface any more.
            Err(why) if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::ENOENT | libc::ENODEV)) => {}
            listed => listed?,
        }
    }
    Ok(found)
}

/// Index of a device; `None`: there is none.
fn link(netlink: &mut Netlink, name: &str) -> Option<u32> {
    netlink.link_of_name(name).ok().map(|link| link.header.index)
}

fn failed(interface: &Interface, what: &str, why: &io::Error) -> Error {
    if why.raw_os_error() == Some(libc::EPERM) {
        return Error::new(
            "no permission to shape traffic; run it with: sudo, or with the capability CAP_NET_ADMIN",
        );
    }
    Error::failed(format!("interface {}: {what}", interface.name), why)
}
