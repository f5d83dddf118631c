//! A download without end.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::params;
use airwnd_units::Time;

params! {
    /// Bulk: one TCP connection that always has data to send.
    pub struct Params ("ns-3 BulkSendApplication") {}
}

/// The endless source.
pub struct Bulk;

impl Bulk {
    /// There is nothing to set.
    pub fn new(_params: Params, _ctx: &FlowContext) -> Self {
        Bulk
    }
}

impl Source for Bulk {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn write(&mut self, _now: Time) -> Write {
        Write::Endless
    }
}
