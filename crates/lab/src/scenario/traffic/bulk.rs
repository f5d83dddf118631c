//! An unlimited transfer.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::Time;

/// Bulk: one TCP connection that always has data to send.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 BulkSendApplication")]
pub struct Params {}

/// An unlimited source.
pub struct Bulk;

impl Bulk {
    /// Creates the source.
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
