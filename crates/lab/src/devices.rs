//! What a device knows of its connections together.

use crate::path::{End, Flow};
use airwnd_tcp::State;
use airwnd_tcp::rwnd::Device;

/// The connections of each terminal that receive data, each way.
pub(crate) struct Devices {
    /// Numbers of flows by terminal: downloads, uploads.
    open: Vec<[Vec<u32>; 2]>,
}

impl Devices {
    pub fn new(ues: usize) -> Devices {
        Devices { open: (0..ues).map(|_| [Vec::new(), Vec::new()]).collect() }
    }

    /// A connection opens whose data this end sends.
    pub fn open(&mut self, ue: u32, sender: End, flow: u32) {
        self.open[ue as usize][sender as usize].push(flow);
    }

    /// A connection that this end has sent to is given up.
    pub fn close(&mut self, ue: u32, sender: End, flow: u32) {
        self.open[ue as usize][sender as usize].retain(|number| *number != flow);
    }

    /// What one of the connections that this end sends to is told; forgets those that have ended.
    pub fn view(&mut self, ue: u32, sender: End, flows: &[Flow]) -> Device {
        let mut device = Device::default();
        self.open[ue as usize][sender as usize].retain(|number| {
            let Some(receiver) = flows[*number as usize].receiving() else { return false };
            let received = receiver.bytes_received();
            let is_first = device.connections == 0;
            match receiver.state() {
                State::Listen | State::SynReceived | State::Established => {}
                _ => return false,
            }
            device.least_received = if is_first { received } else { device.least_received.min(received) };
            device.most_received = device.most_received.max(received);
            device.connections += 1;
            true
        });
        device
    }
}
