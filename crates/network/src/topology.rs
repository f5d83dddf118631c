//! What a network is made of: links, media, cells, and each device's route over them.

use crate::legs::Legs;
use airwnd_cell::handover::Forwarding;
use airwnd_cell::{Ran, UeId};
use airwnd_kernel::{Direction, Key};
use airwnd_links::aqm::Backlog;
use airwnd_links::link::wifi::Medium;
use airwnd_links::link::{Figures, Link, Managed};
use airwnd_units::Time;

/// A link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkId(pub u32);

/// A shared medium of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumId(pub u32);

/// A link, both directions.
pub struct Duplex {
    /// Its name in results.
    pub name: String,
    /// The group, the device or the cell that has it to itself; `None`: it is shared by all that are routed over it.
    pub of: Option<String>,
    /// Towards the devices.
    pub down: OneWay,
    /// Towards the servers.
    pub up: OneWay,
}

impl Duplex {
    /// One of its directions.
    pub fn one_way(&self, direction: Direction) -> &OneWay {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    pub(crate) fn one_way_mut(&mut self, direction: Direction) -> &mut OneWay {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

/// One direction of a link.
pub enum OneWay {
    /// Behind a drop-tail queue.
    Plain(Link<Key>),
    /// Behind a queue discipline.
    Managed(Managed),
}

impl OneWay {
    /// The link behind the queue.
    pub fn link(&self) -> &Link<Key> {
        match self {
            OneWay::Plain(link) => link,
            OneWay::Managed(managed) => managed.link(),
        }
    }

    pub(crate) fn link_mut(&mut self) -> &mut Link<Key> {
        match self {
            OneWay::Plain(link) => link,
            OneWay::Managed(managed) => managed.link_mut(),
        }
    }

    /// What waits, without the packet in transmission.
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        match self {
            OneWay::Plain(link) => Backlog { bytes: link.waiting_bytes(now), packets: link.waiting(now) },
            OneWay::Managed(managed) => managed.backlog(now),
        }
    }

    /// Number of packets inside: waiting, in transmission or in flight.
    pub(crate) fn inside(&self) -> usize {
        match self {
            OneWay::Plain(link) => link.inside().count(),
            OneWay::Managed(managed) => managed.inside(),
        }
    }

    /// What it did until now.
    pub fn figures(&self, now: Time) -> Figures {
        match self {
            OneWay::Plain(link) => link.figures(now),
            OneWay::Managed(managed) => managed.figures(now),
        }
    }
}

/// An access point and its stations on one channel.
pub struct SharedMedium {
    /// Its name in results.
    pub name: String,
    /// The group or the device that has it to itself; `None`: it is shared by all that are routed over it.
    pub of: Option<String>,
    /// The channel.
    pub medium: Medium<Key>,
    /// When its next event is scheduled, if one is.
    pub(crate) due: Option<Time>,
}

/// One hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over this link.
    Link(LinkId),
    /// Over this medium, to or from a station.
    Medium {
        /// The medium.
        medium: MediumId,
        /// The device's station number, as [`Medium::join`] gave it.
        station: u32,
    },
    /// Over the S1-U link of the cell that has the device.
    S1u,
    /// Over the air: into the queue of the device's bearer; the downlink route ends behind it.
    Air,
    /// Out of the network.
    End,
}

/// The cells, and the links between gateway and cells and between cells.
pub struct Access {
    /// The cells and UEs; devices are their UEs, by number.
    pub ran: Box<Ran>,
    /// S1-U of each cell.
    pub s1u: Vec<LinkId>,
    /// X2 from each cell to the others, if UEs may change cells.
    pub x2: Option<Vec<LinkId>>,
    /// What happens to packets at a cell that the UE has left.
    pub forwarding: Forwarding,
}

/// Links, media, cells, and each device's route over them, before packets flow.
pub struct Topology {
    pub(crate) links: Vec<Duplex>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) routes: Routes,
    pub(crate) access: Option<Access>,
}

impl Topology {
    /// The link between servers and gateway, which is part of every route. Serving and packet gateway are one: the S5 link
    /// between them has 10 Gbit/s and no delay in ns-3.
    pub const SERVER_LINK: LinkId = LinkId(0);

    /// A network without devices behind a server link.
    pub fn new(server: Duplex) -> Topology {
        Topology { links: vec![server], media: Vec::new(), routes: Routes::default(), access: None }
    }

    /// Adds a link; it carries packets once a route or [`Access`] names it.
    pub fn add_link(&mut self, link: Duplex) -> LinkId {
        self.links.push(link);
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds a shared medium under its name in results.
    pub fn add_medium(&mut self, name: String, of: Option<String>, medium: Medium<Key>) -> MediumId {
        self.media.push(SharedMedium { name, of, medium, due: None });
        MediumId(self.media.len() as u32 - 1)
    }

    /// The medium itself, for stations to join.
    pub fn medium_mut(&mut self, medium: MediumId) -> &mut Medium<Key> {
        &mut self.media[medium.0 as usize].medium
    }

    /// Number of devices so far.
    pub fn devices(&self) -> usize {
        self.routes.devices()
    }

    /// Puts cells at the end of the routes. Call it before [`Topology::add_device`].
    ///
    /// # Panics
    ///
    /// If there are devices already, or if the numbers of the X2 links are not consecutive.
    pub fn set_access(&mut self, access: Access) {
        assert!(self.routes.first.is_empty(), "cells come before routes");
        let x2 = access.x2.as_deref().unwrap_or_default();
        assert!(
            x2.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1),
            "X2 links are added one after the other"
        );
        self.access = Some(access);
    }

    /// Adds a device behind these links and media, named from the gateway on; S1-U and the air follow where there are
    /// cells. Returns the device's number.
    pub fn add_device(&mut self, via: &[Hop]) -> u32 {
        let server = Hop::Link(Topology::SERVER_LINK);
        let s1u = self.access.is_some().then_some(Hop::S1u);
        let links: Vec<Hop> = [server].into_iter().chain(via.iter().copied()).chain(s1u).collect();
        self.routes.add(&links, self.access.is_some())
    }

    /// The legs of all devices.
    pub(crate) fn legs(&self) -> Vec<Legs> {
        let Some(access) = &self.access else { return Vec::new() };
        (0..access.ran.ues() as u32).map(|ue| Legs::new(access.ran.cell_of(UeId(ue)).0)).collect()
    }
}

/// The routes of all devices.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// The hops of all routes, one route behind the other.
    hops: Vec<Hop>,
    /// The index of each device's first hop, downlink and uplink.
    first: Vec<[u32; 2]>,
}

impl Routes {
    fn add(&mut self, links: &[Hop], over_the_air: bool) -> u32 {
        let air = over_the_air.then_some(Hop::Air);
        let down = self.hops.len() as u32;
        self.hops.extend(links.iter().copied().chain(air.or(Some(Hop::End))));
        let up = self.hops.len() as u32;
        self.hops.extend(air.into_iter().chain(links.iter().rev().copied()));
        self.hops.push(Hop::End);
        self.first.push([down, up]);
        self.first.len() as u32 - 1
    }

    pub fn devices(&self) -> usize {
        self.first.len()
    }

    /// The index of a route's first hop.
    pub fn first(&self, device: u32, direction: Direction) -> u32 {
        self.first[device as usize][direction as usize]
    }

    pub fn hop(&self, index: u32) -> Hop {
        self.hops[index as usize]
    }

    /// The hops of a route.
    pub fn hops(&self, device: u32, direction: Direction) -> &[Hop] {
        let [down, up] = self.first[device as usize];
        let next = self.first.get(device as usize + 1).map_or(self.hops.len() as u32, |[down, _]| *down);
        let (from, to) = match direction {
            Direction::Down => (down, up),
            Direction::Up => (up, next),
        };
        &self.hops[from as usize..to as usize]
    }
}
