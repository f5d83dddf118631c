//! What a device knows of its connections together.

use super::Flow;
use airwnd_kernel::Direction;
use airwnd_rwnd::Device;
use airwnd_units::{Bytes, Time};

/// The connections of each UE that receive data, each way.
pub(crate) struct Devices {
    /// Numbers of flows by UE: downloads, uploads.
    open: Vec<[Vec<u32>; 2]>,
    /// What is known of the links to them; none if nobody wants to know.
    pub links: Option<Box<Links>>,
}

/// Who shares the links and the cells on the ways to the UEs, as far as an oracle has to know.
pub(crate) struct Links {
    /// IP bytes of a full segment, its payload, and IP bytes of its ACK.
    pub segment: Bytes,
    pub payload: Bytes,
    pub ack: Bytes,
    /// Segments that an ACK waits for.
    pub acked: u64,
    /// When was looked last.
    pub seen: Option<Time>,
    pub of_links: Vec<Share>,
    pub of_cells: Vec<Share>,
    pub ues: Vec<UeState>,
    pub flows: Vec<Taken>,
}

/// Who shares a link or a cell.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    /// Devices with a connection whose sender has more to send than it may: they take what they get.
    pub greedy: u32,
    /// Other devices that receive something.
    pub modest: u32,
    /// What comes besides what the greedy connections take: bits in a second on a link, the part of the time in a cell.
    pub taken: f64,
}

impl Share {
    /// The part of a whole that is for one of the greedy, itself counted or not: an equal one of what the others leave,
    /// but no less than an equal one among all.
    pub fn part(&self, whole: f64, is_counted: bool) -> f64 {
        let greedy = f64::from(self.greedy + u32::from(!is_counted));
        ((whole - self.taken) / greedy).max(whole / (greedy + f64::from(self.modest)))
    }
}

/// A UE at the last look.
#[derive(Clone, Copy, Default)]
pub(crate) struct UeState {
    pub is_greedy: bool,
    pub receives: bool,
    /// Bytes in a TTI that its cell would carry to it alone; none before the first look.
    pub whole_cell: Option<f64>,
    /// Bytes of its blocks, and how many of them its cell sends to it in a TTI.
    pub granted: Bytes,
    pub grants: f64,
}

/// A flow at the last look.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub received: Bytes,
    /// Bits in a second.
    pub rate: f64,
    /// It takes what it needs, not what it gets.
    pub counts: bool,
}

impl Devices {
    pub fn new(ues: usize) -> Devices {
        Devices { open: (0..ues).map(|_| [Vec::new(), Vec::new()]).collect(), links: None }
    }

    /// A connection opens whose data goes in this direction.
    pub fn open(&mut self, ue: u32, direction: Direction, flow: u32) {
        self.open[ue as usize][direction as usize].push(flow);
    }

    /// A connection whose data went in this direction is given up.
    pub fn close(&mut self, ue: u32, direction: Direction, flow: u32) {
        self.open[ue as usize][direction as usize].retain(|number| *number != flow);
    }

    /// What is known to a connection that receives data in this direction; forgets connections that have ended.
    pub fn view(&mut self, ue: u32, direction: Direction, flows: &[Flow]) -> Device {
        let mut device = Device::default();
        self.open[ue as usize][direction as usize].retain(|number| {
            let Some(receiver) = flows[*number as usize].receiving() else { return false };
            let received = receiver.bytes_received();
            let is_first = device.connections == 0;
            if !receiver.state().is_open() {
                return false;
            }
            device.least_received = if is_first { received } else { device.least_received.min(received) };
            device.most_received = device.most_received.max(received);
            device.connections += 1;
            true
        });
        device
    }
}
