//! Marks and drops by queues and the radio.

use crate::ledger::Cause;
use airwnd_kernel::Key;
use airwnd_links::aqm::{self, QueueEvents, Waiting};

/// Marks and drops of the last operation, in chronological order. [`Network`](crate::Network) applies them to its
/// packets.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub marks: Vec<Key>,
    pub drops: Vec<(Key, Cause)>,
}

impl QueueEvents for Effects {
    fn dropped(&mut self, packet: Waiting, cause: aqm::Cause) {
        let cause = match cause {
            aqm::Cause::Full => Cause::LinkQueue,
            aqm::Cause::Early => Cause::LinkEarly,
        };
        self.drops.push((packet.packet, cause));
    }

    fn marked(&mut self, packet: Key) {
        self.marks.push(packet);
    }
}
