//! Internal events of a network.

use crate::topology::{LinkId, MediumId};
use airwnd_kernel::{Direction, Event};

#[derive(Clone, Copy, Debug)]
pub(crate) enum NetworkEvent {
    /// The next packet leaves the queue before a link.
    Departure(LinkId, Direction),
    /// The first packet in flight on a link reaches the link's far end; on an impaired link, the next one.
    Arrival(LinkId, Direction),
    /// A transmission begins or ends on a shared medium.
    Medium(MediumId),
    /// One TTI ends and the next one begins.
    Tti,
    /// The uplink blocks of a TTI end.
    UplinkEnd,
    /// Packets of decoded blocks leave their receivers.
    Decoded,
    /// UEs move; measurements and handovers are due.
    Mobility,
}

impl Event for NetworkEvent {
    /// Among events of the same instant packets move first, so that the TTI can use them.
    fn class(&self) -> u8 {
        match self {
            NetworkEvent::Departure(..) | NetworkEvent::Arrival(..) | NetworkEvent::Medium(_) => 0,
            NetworkEvent::Tti | NetworkEvent::UplinkEnd | NetworkEvent::Decoded => 1,
            NetworkEvent::Mobility => 2,
        }
    }
}
