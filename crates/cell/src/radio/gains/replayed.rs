//! The links of a UE whose channel is a recorded one.

use super::{Link, OUTDATED};
use crate::identity::CellId;
use airwnd_units::{Db, Dbm};

/// Loss to the cells that a UE with a recorded channel does not receive.
const OUT_OF_REACH: Db = Db(300.0);

/// The recorded channel of a UE at a time.
#[derive(Clone, Copy)]
pub(super) struct Replayed {
    /// The only cell in reach.
    pub cell: CellId,
    /// Received power per PRB.
    pub power: Dbm,
    /// Whether the uplink has the same loss.
    pub has_loss: bool,
}

impl Replayed {
    /// Sets a link, which a cell with this power per PRB has been computed for.
    pub fn set(&self, link: &mut Link, sent: Dbm) {
        if link.cell != self.cell {
            (link.power, link.uplink_loss) = (sent - OUT_OF_REACH, OUT_OF_REACH);
        } else {
            link.power = self.power;
            if self.has_loss {
                link.uplink_loss = sent - self.power;
            }
        }
        link.valid_within = OUTDATED;
    }
}
