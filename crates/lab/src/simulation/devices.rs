//! State shared by the connections of a UE.

use super::Flow;
use airwnd_cell::BlockFigures;
use airwnd_kernel::Direction;
use airwnd_rwnd::{Device, QueuedMeter};
use airwnd_tcp::{Config, Endpoint};
use airwnd_units::{Bytes, Span, Time};

/// Blocks in which a UE's decoded bytes are compared with its channel reports: those of this many TTIs, if it has all PRBs.
const ENOUGH_TTIS: f64 = 10.0;

/// Traffic of the UEs, by direction of the data.
pub(crate) struct Devices {
    /// Downlink and uplink of each UE.
    ways: Vec<[Way; 2]>,
    /// State of the links to the UEs; `None` if no controller requires it.
    pub links: Option<Box<Links>>,
}

/// Traffic of a UE in a direction.
#[derive(Clone, Default)]
struct Way {
    /// Numbers of the flows with open connections whose control counts the connections of the device.
    open: Vec<u32>,
    /// Bytes received by those connections that have ended, and their minimum RTT sample.
    ended: (Bytes, Option<Span>),
    /// Bytes of other traffic that have arrived.
    others: Bytes,
    /// Bytes that have been sent.
    sent: Bytes,
    /// Arrivals in the presence of a queue, and bytes received at the last view.
    queued: (QueuedMeter, Bytes),
}

/// Packets of a TCP connection, as required by an oracle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// IP bytes of a full segment, its payload, and IP bytes of its ACK.
    pub segment: Bytes,
    pub payload: Bytes,
    pub ack: Bytes,
    /// Segments per ACK (delayed ACK).
    pub acked: u64,
}

impl Sizes {
    pub fn of(config: &Config) -> Sizes {
        // IPv4 and TCP, and timestamps with their padding (RFC 7323 appendix A).
        let headers = Bytes(if config.timestamps { 52 } else { 40 });
        let payload = Bytes(config.mss.into());
        Sizes { segment: payload + headers, payload, ack: headers, acked: config.delayed_ack_count.into() }
    }
}

/// Sharing of links and cells on the paths to the UEs, as required by an oracle.
pub(crate) struct Links {
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
    /// Bytes per slot (a TTI of LTE) that its cell would carry if it served this UE alone, by its channel reports; `None` before the
    /// first update.
    pub whole_cell: Option<f64>,
    /// PRBs of its blocks, and their decoded bytes.
    pub blocks: (u64, u64),
    /// Mean part of the carriers' PRBs that its blocks take.
    pub taken: f64,
    /// Recently decoded bytes, and those that the PRBs of these blocks would carry by the channel reports.
    pub decoded: f64,
    pub reported: f64,
}

impl UeState {
    /// Notes the blocks so far, over `ttis` since the last time. `prbs`: PRBs of its carriers. Weights of the new blocks:
    /// in the part of the PRBs, and in the bytes.
    pub fn note_blocks(&mut self, blocks: &BlockFigures, prbs: f64, ttis: f64, weights: [f64; 2]) {
        let now = (blocks.prbs_sum, blocks.decoded_bytes);
        let before = std::mem::replace(&mut self.blocks, now);
        let whole_ttis = (now.0 - before.0) as f64 / prbs;
        self.taken += weights[0] * (whole_ttis / ttis - self.taken);
        let kept = 1.0 - weights[1];
        self.decoded = kept * self.decoded + (now.1 - before.1) as f64;
        self.reported = kept * self.reported + whole_ttis * self.whole_cell.unwrap_or(0.0);
    }

    /// Bytes per slot that its cell would carry if it served this UE alone. In comparison with the channel reports, a
    /// block has the MCS of its worst RBG, some blocks are sent again, and a channel-aware scheduler selects good RBGs:
    /// recent blocks show the balance.
    pub fn whole_cell_decoded(&self) -> f64 {
        let whole = self.whole_cell.unwrap_or(0.0);
        if self.reported > ENOUGH_TTIS * whole { whole * self.decoded / self.reported } else { whole }
    }
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
fn min(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    [one, other].into_iter().flatten().min()
}

/// Adds a connection to those that have ended.
fn end(ended: &mut (Bytes, Option<Span>), receiver: &Endpoint) {
    *ended = (ended.0 + receiver.bytes_arrived(), min(ended.1, receiver.min_receiver_rtt()));
}

impl Devices {
    /// Creates the state without traffic.
    pub fn new(ues: usize) -> Devices {
        Devices { ways: vec![<[Way; 2]>::default(); ues], links: None }
    }

    /// Adds a connection with data in this direction.
    pub fn open(&mut self, ue: u32, direction: Direction, flow: u32) {
        self.way(ue, direction).open.push(flow);
    }

    /// Removes a connection with data in this direction, whose bytes remain those of the device.
    pub fn close(&mut self, ue: u32, direction: Direction, flow: u32, receiver: &Endpoint) {
        let way = self.way(ue, direction);
        if let Some(place) = way.open.iter().position(|number| *number == flow) {
            way.open.remove(place);
            end(&mut way.ended, receiver);
        }
    }

    /// Returns the device state for a connection that receives data in this direction. Removes connections that have
    /// ended.
    pub fn view(&mut self, ue: u32, direction: Direction, flows: &[Flow]) -> Device {
        let mut device = Device::default();
        let sent = self.way(ue, direction.reverse()).sent;
        let Way { open, ended, others, queued: (meter, received), .. } = self.way(ue, direction);
        let mut live = (Bytes::ZERO, None);
        open.retain(|number| {
            let receiver = flows[*number as usize].receiving().expect("open flows have connections");
            let received = receiver.bytes_received();
            let is_first = device.connections == 0;
            if !receiver.state().is_open() {
                end(ended, receiver);
                return false;
            }
            live = (live.0 + receiver.bytes_arrived(), min(live.1, receiver.min_receiver_rtt()));
            device.min_received = if is_first { received } else { device.min_received.min(received) };
            device.max_received = device.max_received.max(received);
            device.connections += 1;
            true
        });
        device.received = ended.0 + live.0;
        (device.others, device.sent) = (*others, sent);
        device.min_rtt = min(ended.1, live.1);
        *received = device.received;
        device.queued = Some(meter.total());
        device
    }

    /// Notes a packet of this size that is sent in this direction.
    #[inline]
    pub fn send(&mut self, ue: u32, direction: Direction, size: Bytes) {
        self.way(ue, direction).sent += size;
    }

    /// Notes the arrival of a packet of this size of other traffic.
    pub fn arrive_beside(&mut self, ue: u32, direction: Direction, size: Bytes) {
        self.way(ue, direction).others += size;
    }

    /// Notes the arrival of `new` bytes, after the view before it, with this queueing delay.
    pub fn arrive(&mut self, now: Time, ue: u32, direction: Direction, new: Bytes, queueing_delay: Span) {
        let (meter, received) = &mut self.way(ue, direction).queued;
        meter.add(now, *received + new, queueing_delay);
    }

    fn way(&mut self, ue: u32, direction: Direction) -> &mut Way {
        &mut self.ways[ue as usize][direction as usize]
    }
}
