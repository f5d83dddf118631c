//! State shared by the connections of a UE.

use super::Flow;
use airwnd_kernel::Direction;
use airwnd_rwnd::Device;
use airwnd_units::{Bytes, Span, Time};

/// Open connections of each UE, by direction of the data.
pub(crate) struct Devices {
    /// Numbers of flows by UE: downloads, uploads.
    open: Vec<[Vec<u32>; 2]>,
    /// Bytes received by connections that have ended, and their minimum RTT sample, by UE and direction.
    ended: Vec<[(Bytes, Option<Span>); 2]>,
    /// State of the links to the UEs; `None` if no controller requires it.
    pub links: Option<Box<Links>>,
}

/// Sharing of links and cells on the paths to the UEs, as required by an oracle.
pub(crate) struct Links {
    /// IP bytes of a full segment, its payload, and IP bytes of its ACK.
    pub segment: Bytes,
    pub payload: Bytes,
    pub ack: Bytes,
    /// Segments per ACK (delayed ACK).
    pub acked: u64,
    /// Time of the last update.
    pub updated: Option<Time>,
    pub of_links: Vec<Share>,
    pub of_cells: Vec<Share>,
    pub ues: Vec<UeState>,
    pub flows: Vec<Taken>,
}

/// Sharing of a link or cell.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    /// UEs with a backlogged connection (its sender has more data than it may send). They share the remaining capacity.
    pub greedy: u32,
    /// Other UEs that receive data.
    pub modest: u32,
    /// Capacity used by other than backlogged connections: bit/s on a link, fraction of the time in a cell.
    pub taken: f64,
}

impl Share {
    /// Returns the share of a backlogged UE of the capacity `whole`: an equal share of the remaining capacity, but at
    /// least an equal share among all UEs. `is_counted`: the UE is included in `greedy`.
    pub fn part(&self, whole: f64, is_counted: bool) -> f64 {
        let greedy = f64::from(self.greedy + u32::from(!is_counted));
        ((whole - self.taken) / greedy).max(whole / (greedy + f64::from(self.modest)))
    }
}

/// State of a UE at the last update.
#[derive(Clone, Copy, Default)]
pub(crate) struct UeState {
    pub is_greedy: bool,
    pub receives: bool,
    /// Bytes per TTI that its cell would carry if it served this UE alone; `None` before the first update.
    pub whole_cell: Option<f64>,
    /// Total bytes of its transport blocks.
    pub granted: Bytes,
    /// Mean bytes of its transport blocks per TTI.
    pub grants: f64,
}

/// State of a flow at the last update.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub received: Bytes,
    /// Mean rate in bit/s.
    pub rate: f64,
    /// Set if the flow receives data but is not backlogged.
    pub counts: bool,
}

/// Returns the smaller of two durations, if any is known.
fn least(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    [one, other].into_iter().flatten().min()
}

impl Devices {
    pub fn new(ues: usize) -> Devices {
        Devices {
            open: (0..ues).map(|_| [Vec::new(), Vec::new()]).collect(),
            ended: vec![[(Bytes::ZERO, None); 2]; ues],
            links: None,
        }
    }

    /// Adds a connection with data in this direction.
    pub fn open(&mut self, ue: u32, direction: Direction, flow: u32) {
        self.open[ue as usize][direction as usize].push(flow);
    }

    /// Removes a connection with data in this direction.
    pub fn close(&mut self, ue: u32, direction: Direction, flow: u32) {
        self.open[ue as usize][direction as usize].retain(|number| *number != flow);
    }

    /// Returns the device state for a connection that receives data in this direction. Removes connections that have
    /// ended.
    pub fn view(&mut self, ue: u32, direction: Direction, flows: &[Flow]) -> Device {
        let mut device = Device::default();
        let ended = &mut self.ended[ue as usize][direction as usize];
        let mut live = (Bytes::ZERO, None);
        self.open[ue as usize][direction as usize].retain(|number| {
            let Some(receiver) = flows[*number as usize].receiving() else { return false };
            let received = receiver.bytes_received();
            let is_first = device.connections == 0;
            if !receiver.state().is_open() {
                *ended = (ended.0 + receiver.bytes_arrived(), least(ended.1, receiver.least_receiver_rtt()));
                return false;
            }
            live = (live.0 + receiver.bytes_arrived(), least(live.1, receiver.least_receiver_rtt()));
            device.least_received = if is_first { received } else { device.least_received.min(received) };
            device.most_received = device.most_received.max(received);
            device.connections += 1;
            true
        });
        device.received = ended.0 + live.0;
        device.least_rtt = least(ended.1, live.1);
        device
    }
}
