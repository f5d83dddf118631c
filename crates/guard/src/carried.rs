//! Traffic that the interfaces of the flows carry beside them.

use airwnd_units::Bytes;
use std::collections::{HashMap, HashSet};

/// Bytes that an interface has carried, with the headers of its link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Towards the receivers of the guarded flows.
    pub down: Bytes,
    /// From them.
    pub up: Bytes,
}

/// The interfaces of the flows, by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interfaces(HashMap<u32, Interface>);

/// An interface of flows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interface {
    /// Its counters when they were first read.
    since: Option<Carried>,
    /// Payload that flows under a rule have received since then.
    controlled: Bytes,
    /// Bytes beside that towards the receivers, headers included, which are a twentieth of full segments. They never
    /// decrease: payload is counted a little later than the interface counts it.
    pub others: Bytes,
    /// Bytes from the receivers.
    pub sent: Bytes,
}

impl Interfaces {
    /// Returns the interface with this index, which is new if there was no flow.
    pub fn of_flow(&mut self, index: u32) -> &mut Interface {
        self.0.entry(index).or_default()
    }

    /// Returns the indices.
    pub fn indices(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Notes the counters of an interface.
    pub fn note(&mut self, index: u32, carried: Carried) {
        if let Some(interface) = self.0.get_mut(&index) {
            interface.note(carried);
        }
    }

    /// Removes all others.
    pub fn keep(&mut self, used: &HashSet<u32>) {
        self.0.retain(|index, _| used.contains(index));
    }
}

impl Interface {
    /// Adds payload of a flow under a rule.
    pub fn receive(&mut self, new: Bytes) {
        self.controlled += new;
    }

    fn note(&mut self, carried: Carried) {
        let Carried { down, up } = carried;
        // Another interface may have got the index.
        let Some(since) = self.since.filter(|since| since.down <= down && since.up <= up) else {
            *self = Interface { since: Some(carried), ..Interface::default() };
            return;
        };
        let down = down - since.down;
        self.others = self.others.max(down - self.controlled.min(down));
        self.sent = up - since.up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(down: u64, up: u64) -> Carried {
        Carried { down: Bytes(down), up: Bytes(up) }
    }

    #[test]
    fn other_traffic_is_what_flows_under_a_rule_have_not_received() {
        let mut interfaces = Interfaces::default();
        interfaces.of_flow(3).receive(Bytes(70_000));
        interfaces.note(3, carried(1_000_000, 500_000));
        interfaces.of_flow(3).receive(Bytes(1000));
        interfaces.note(3, carried(1_003_000, 500_400));
        let interface = *interfaces.of_flow(3);
        assert_eq!((interface.others, interface.sent), (Bytes(2000), Bytes(400)));
        // An observation that comes later than the counters.
        interfaces.of_flow(3).receive(Bytes(1500));
        interfaces.note(3, carried(1_003_000, 500_400));
        assert_eq!(interfaces.of_flow(3).others, Bytes(2000));
        interfaces.note(3, carried(1_004_500, 500_400));
        assert_eq!(interfaces.of_flow(3).others, Bytes(2000));
        interfaces.note(3, carried(1_004_600, 500_400));
        assert_eq!(interfaces.of_flow(3).others, Bytes(2100));
    }

    #[test]
    fn an_interface_with_the_index_of_another_begins_anew() {
        let mut interfaces = Interfaces::default();
        interfaces.of_flow(3);
        interfaces.note(3, carried(1000, 1000));
        interfaces.note(3, carried(9000, 2000));
        interfaces.note(3, carried(10, 10));
        interfaces.note(3, carried(40, 20));
        let interface = *interfaces.of_flow(3);
        assert_eq!((interface.others, interface.sent), (Bytes(30), Bytes(10)));
    }

    #[test]
    fn interfaces_without_flows_are_not_kept() {
        let mut interfaces = Interfaces::default();
        interfaces.note(7, carried(1, 1));
        assert_eq!(interfaces.indices().count(), 0);
        interfaces.of_flow(7);
        interfaces.of_flow(8);
        interfaces.keep(&HashSet::from([8]));
        assert_eq!(interfaces.indices().collect::<Vec<_>>(), [8]);
    }
}
