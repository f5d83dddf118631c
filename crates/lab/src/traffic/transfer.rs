//! A file.

use super::{FlowContext, Source, Transport, Write};
use crate::size::Size;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Transfer: a number of bytes over one TCP connection, which is then closed.
///
/// Its flow completion time runs from the first SYN to the arrival of the last byte in order.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "DFCSD 2019 §5.1: flows of 64 KB to 10 MB")]
pub struct Params {
    /// Bytes to send: as `"1MiB"`, or a [rule](size.md) by which each flow draws its own.
    #[param(default = Size::fixed(Bytes(1 << 20)), unit = "B", source = "a typical object")]
    pub size: Size,
}

/// A source of one object.
pub struct Transfer {
    size: Bytes,
}

impl Transfer {
    /// A source of an object of the size that is drawn, or that the flow brings along.
    pub fn new(params: Params, ctx: &FlowContext) -> Self {
        let mut stream = ctx.stream;
        Transfer { size: ctx.size.unwrap_or_else(|| params.size.0.build().draw(&mut stream)) }
    }
}

impl Source for Transfer {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn ends(&self) -> bool {
        true
    }
    fn takes_size(&self) -> bool {
        true
    }
    fn write(&mut self, _now: Time) -> Write {
        Write::Whole(self.size)
    }
    fn size(&self) -> Option<Bytes> {
        Some(self.size)
    }
}
