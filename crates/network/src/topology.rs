//! Topology of a network: links, media, cells, and each device's route over them.

use crate::legs::Legs;
use airwnd_cell::handover::Forwarding;
use airwnd_cell::{Ran, UeId};
use airwnd_kernel::{Direction, Key};
use airwnd_links::aqm::Backlog;
use airwnd_links::link::wifi::Medium;
use airwnd_links::link::{Figures, Link, Managed};
use airwnd_units::Time;

/// Number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkId(pub u32);

/// Number of a shared medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumId(pub u32);

/// A link with both directions.
pub struct Duplex {
    /// Name in results.
    pub name: String,
    /// The group, device or cell with exclusive use of the link; `None`: shared by all devices routed over it.
    pub owner: Option<String>,
    /// Towards the devices.
    pub down: OneWay,
    /// Towards the servers.
    pub up: OneWay,
}

impl Duplex {
    /// Returns one direction.
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
    /// A link behind a drop-tail queue.
    Plain(Link<Key>),
    /// A link behind a queue discipline.
    Managed(Managed),
}

impl OneWay {
    /// Returns the link behind the queue.
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

    /// Returns the backlog, without the packet in transmission.
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        match self {
            OneWay::Plain(link) => Backlog { bytes: link.waiting_bytes(now), packets: link.waiting(now) },
            OneWay::Managed(managed) => managed.backlog(now),
        }
    }

    /// Returns the number of packets inside: waiting, in transmission or in flight.
    pub(crate) fn inside(&self) -> usize {
        match self {
            OneWay::Plain(link) => link.inside().count(),
            OneWay::Managed(managed) => managed.inside(),
        }
    }

    /// Returns the statistics until now.
    pub fn figures(&self, now: Time) -> Figures {
        match self {
            OneWay::Plain(link) => link.figures(now),
            OneWay::Managed(managed) => managed.figures(now),
        }
    }
}

/// An access point and its stations on one 802.11 channel.
pub struct SharedMedium {
    /// Name in results.
    pub name: String,
    /// The group or device with exclusive use of the medium; `None`: shared by all devices routed over it.
    pub owner: Option<String>,
    /// The channel.
    pub medium: Medium<Key>,
    /// Time of its next scheduled event, if any.
    pub(crate) due: Option<Time>,
}

/// One hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A link.
    Link(LinkId),
    /// A shared medium, to or from a station.
    Medium {
        /// The medium.
        medium: MediumId,
        /// The device's station number, as returned by [`Medium::join`].
        station: u32,
    },
    /// The S1-U link of the cell that serves the device.
    S1u,
    /// The air: the packet enters the queue of the device's bearer.
    Air,
    /// The end of the route.
    End,
}

/// The cells, and their S1-U and X2 links.
pub struct Access {
    /// The cells and UEs; UE numbers equal device numbers.
    pub ran: Box<Ran>,
    /// S1-U link of each cell.
    pub s1u: Vec<LinkId>,
    /// X2 link from each cell to the others; `None`: UEs do not change cells.
    pub x2: Option<Vec<LinkId>>,
    /// Treatment of packets at a cell that the UE has left.
    pub forwarding: Forwarding,
}

/// Links, media, cells, and each device's route over them, to build a network from.
pub struct Topology {
    pub(crate) links: Vec<Duplex>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) routes: Routes,
    pub(crate) access: Option<Access>,
}

impl Topology {
    /// The link between servers and gateway, which is part of every route. Serving gateway and packet gateway are one
    /// node: in ns-3 the S5 link between them has 10 Gbit/s and no delay.
    pub const SERVER_LINK: LinkId = LinkId(0);

    /// Creates a topology without devices behind a server link.
    pub fn new(server: Duplex) -> Topology {
        Topology { links: vec![server], media: Vec::new(), routes: Routes::default(), access: None }
    }

    /// Adds a link; it carries packets once a route or [`Access`] refers to it.
    pub fn add_link(&mut self, link: Duplex) -> LinkId {
        self.links.push(link);
        LinkId(self.links.len() as u32 - 1)
    }

    /// Iterates over all links in the order in which they were added.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Duplex)> {
        (0..).map(LinkId).zip(&self.links)
    }

    /// Adds a shared medium with its name in results.
    pub fn add_medium(&mut self, name: String, owner: Option<String>, medium: Medium<Key>) -> MediumId {
        self.media.push(SharedMedium { name, owner, medium, due: None });
        MediumId(self.media.len() as u32 - 1)
    }

    /// Returns a medium mutably, for stations to join.
    pub fn medium_mut(&mut self, medium: MediumId) -> &mut Medium<Key> {
        &mut self.media[medium.0 as usize].medium
    }

    /// Returns the number of devices so far.
    pub fn devices(&self) -> usize {
        self.routes.devices()
    }

    /// Adds cells at the end of the routes. Call it before [`Topology::add_device`].
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

    /// Adds a device behind these links and media, listed from the gateway on; S1-U and the air are appended if the
    /// network has cells, then the link `own` of the device itself, if it has one. Returns the device's number.
    pub fn add_device(&mut self, via: &[Hop], own: Option<LinkId>) -> u32 {
        let server = Hop::Link(Topology::SERVER_LINK);
        let radio = self.access.is_some().then_some([Hop::S1u, Hop::Air]);
        let hops = [server].into_iter().chain(via.iter().copied());
        let hops = hops.chain(radio.into_iter().flatten()).chain(own.map(Hop::Link));
        self.routes.go_on_behind_the_air |= own.is_some();
        self.routes.add(&hops.collect::<Vec<_>>())
    }

    /// Returns the legs of all devices.
    pub(crate) fn legs(&self) -> Vec<Legs> {
        let Some(access) = &self.access else { return Vec::new() };
        (0..access.ran.ues() as u32).map(|ue| Legs::new(access.ran.cell_of(UeId(ue)).0)).collect()
    }
}

/// The routes of all devices.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// The hops of all routes, concatenated.
    hops: Vec<Hop>,
    /// Index of each device's first hop, downlink and uplink.
    first: Vec<[u32; 2]>,
    /// Whether a device has a link of its own behind the air.
    pub go_on_behind_the_air: bool,
}

impl Routes {
    fn add(&mut self, hops: &[Hop]) -> u32 {
        let down = self.hops.len() as u32;
        self.hops.extend(hops.iter().copied().chain([Hop::End]));
        let up = self.hops.len() as u32;
        self.hops.extend(hops.iter().rev().copied().chain([Hop::End]));
        self.first.push([down, up]);
        self.first.len() as u32 - 1
    }

    pub fn devices(&self) -> usize {
        self.first.len()
    }

    /// Returns the index of a route's first hop.
    pub fn first(&self, device: u32, direction: Direction) -> u32 {
        self.first[device as usize][direction as usize]
    }

    pub fn hop(&self, index: u32) -> Hop {
        self.hops[index as usize]
    }

    /// Returns the hops of a route.
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
