//! Transfer of a given number of bytes.

use super::{FlowContext, Source, Transport, Write};
use crate::scenario::size::Size;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Transfer: a given number of bytes over one TCP connection, which is then closed.
///
/// The flow completion time is measured from the first SYN to the in-order arrival of the last byte.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "DFCSD 2019 §5.1: flows of 64 KB to 10 MB")]
pub struct Params {
    /// Bytes to send: a constant such as `"1MiB"`, or a [distribution](size.md) from which each flow draws.
    #[param(basic, default = Size::fixed(Bytes(1 << 20)), unit = "B", source = "a typical object")]
    pub size: Size,
}

/// A source of one transfer.
pub struct Transfer {
    size: Bytes,
}

impl Transfer {
    /// Creates a source with the size of the context, or with a drawn size.
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
